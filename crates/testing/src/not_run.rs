//! Tests that cannot run on this machine. The missing tool is printed, and repeated at the end of `./x test`.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Names the file that `./x test` collects such lines in.
const LIST: &str = "HEDDLE_NOT_RUN";

/// Reports that a test, or a part of it, is skipped, and why.
pub fn not_run(test: &str, reason: &str) {
    let line = format!("{test}: {}\n", reason.lines().next().unwrap_or_default());
    print!("not run: {line}");
    let Some(path) = std::env::var_os(LIST) else { return };
    // Each line is a single write, so that lines of several processes do not mix.
    let written = OpenOptions::new().create(true).append(true).open(&path);
    if let Err(reason) = written.and_then(|mut file| file.write_all(line.as_bytes())) {
        println!("{}: {reason}", path.display());
    }
}
