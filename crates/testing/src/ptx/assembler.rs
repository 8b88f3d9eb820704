//! NVIDIA's assembler, which `./x ptxas` installs: its errors on a text.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the assembler's path, if it is installed.
pub fn assembler() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let path = own.ancestors().nth(3)?.join("tools/ptxas/ptxas");
    path.exists().then_some(path)
}

/// Returns the assembler's errors for a GPU, each with the line that it refers to.
pub fn refused_by(assembler: &Path, text: &str, gpu: &str) -> Result<Vec<String>, String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("heddle-ptx-{}-{number}.ptx", std::process::id()));
    std::fs::write(&file, text).map_err(|reason| reason.to_string())?;
    let output = Command::new(assembler).args(["-O0", "-arch", gpu, "-o", "/dev/null"]).arg(&file).output();
    let _ = std::fs::remove_file(&file);
    let output = output.map_err(|reason| reason.to_string())?;
    let printed = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<String> = printed.lines().filter_map(|line| parse_error(line, text)).collect();
    match output.status.success() || !errors.is_empty() {
        true => Ok(errors),
        false => Err(printed.into_owned()),
    }
}

/// Parses an error message; appends the line of the text that it refers to.
fn parse_error(line: &str, text: &str) -> Option<String> {
    let (place, error) = line.split_once("error   : ")?;
    let number: usize = place.rsplit("line ").next()?.trim_end_matches([';', ' ']).parse().ok()?;
    let source = text.lines().nth(number.checked_sub(1)?)?;
    Some(format!("{}: {error}", source.trim()))
}
