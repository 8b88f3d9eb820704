//! NVIDIA's assembler accepts the emitted PTX, for the oldest supported GPU and for a new one.
//!
//! `./x ptxas` installs it under the target folder, in a pinned version.

use heddle_compiler::Session;
use heddle_ptx::{LowerOptions, lower, parse};
use heddle_testing::not_run::not_run;
use heddle_testing::ptx::assembler;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the assembler's path, if it is installed.
fn ptxas() -> Option<PathBuf> {
    let path = assembler();
    if path.is_none() {
        not_run("NVIDIA's assembler", "`./x ptxas` brings it, from PyPI");
    }
    path
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ptx").join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
    files.sort();
    files
}

#[test]
fn the_assembler_takes_what_goes_out() {
    let Some(ptxas) = ptxas() else { return };
    let folder = std::env::temp_dir().join(format!("heddle-ptxas-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let session = Session::default();
    let mut wrong = Vec::new();
    let mut taken = 0;
    for path in files("nvrtc").into_iter().chain(files("clang")).chain(files("written")) {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let parsed = parse(&text).unwrap_or_else(|errors| panic!("{}: {}", path.display(), errors[0]));
        let lowered =
            lower(&parsed, "k.ptx", LowerOptions { dynamic_shared: 256, ..LowerOptions::default() })
                .unwrap_or_else(|errors| panic!("{}: {}", path.display(), errors[0]));
        for passes in [&[][..], &["simplify"], &["simplify", "canonicalize"]] {
            let mut module = lowered.module.clone();
            Session::default()
                .run_passes(&mut module, passes, true, |_, _| ())
                .unwrap_or_else(|error| panic!("{error}"));
            // Kernels that the file test expects to be refused.
            let Ok(out) = session.ptx(&module, true) else { continue };
            // Votes and reductions of warps are of newer GPUs.
            let out = out.replace(".target sm_75", ".target sm_80");
            let file = folder.join("out.ptx");
            std::fs::write(&file, &out).expect("a file can be written");
            for arch in ["sm_80", "sm_120"] {
                let done = Command::new(&ptxas)
                    .arg(format!("-arch={arch}"))
                    .arg(&file)
                    .arg("-o")
                    .arg(folder.join("out.cubin"))
                    .output()
                    .expect("the assembler runs");
                taken += 1;
                if !done.status.success() {
                    let printed =
                        String::from_utf8_lossy(&done.stderr).lines().take(3).collect::<Vec<_>>().join("\n");
                    wrong.push(format!("{} after {passes:?}, {arch}: {printed}", path.display()));
                }
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(taken > 20, "only {taken} texts went out");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
