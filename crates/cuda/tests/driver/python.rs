//! Python packages that reach the driver, from pinned wheels in a virtual environment of their own.

use crate::place::{passes, python, run, source};

fn script_passes(name: &str, environment: &[(&str, &str)]) {
    passes(python(), &[&source(name)], environment);
}

#[test]
fn tinygrad_computes_and_trains() {
    script_passes("tinygrad_operations.py", &[("DEV", "CUDA:PTX")]);
}

#[test]
fn numba_runs_kernels() {
    script_passes("numba_kernels.py", &[]);
}

#[test]
fn cuda_python_compiles_links_and_captures() {
    script_passes("cuda_python.py", &[]);
}

#[test]
fn launches_are_verified_and_name_the_line_that_leaves_memory() {
    let output = run(python(), &[&source("verified.py")], &[("HEDDLE_VERIFY", "1")]);
    let (printed, message) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && printed.ends_with("passed\n"), "{printed}{message}");
    let lines: Vec<&str> = message.lines().filter(|line| line.starts_with("heddle: @")).collect();
    assert_eq!(lines.len(), 4, "{message}");
    assert_eq!(lines[0], "heddle: @shifted: 128 threads agree with the interpreter");
    // The first access that the threads of the third block do.
    assert!(
        lines[1]
            .starts_with("heddle: @shifted: access outside of all allocations: module.ptx:18: in @shifted"),
        "{message}"
    );
    let asserts = "heddle: @checked: not verified: the kernel calls the host function `__assertfail`";
    assert_eq!(lines[2], asserts);
    assert!(lines[3].starts_with("heddle: @crooked: misaligned access: module.ptx:"), "{message}");
}

#[test]
fn warps_wait_for_each_other() {
    for cpu in ["znver3", "avx512"] {
        script_passes("waits.py", &[("HEDDLE_CPU", cpu)]);
    }
}

#[test]
fn kernels_are_kept_for_other_processes() {
    let folder = crate::place::scratch().join("cuda-cache-of-its-own");
    let _ = std::fs::remove_dir_all(&folder);
    let entries = || {
        let entries = std::fs::read_dir(folder.join("objects")).into_iter().flatten();
        let written = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.expect("the folder can be listed");
            (entry.path(), entry.metadata().and_then(|about| about.modified()).expect("it is there"))
        };
        entries.map(written).collect::<std::collections::BTreeMap<_, _>>()
    };
    let place = folder.display().to_string();
    passes(python(), &[&source("ptx_run.py")], &[("HEDDLE_CACHE_DIR", &place)]);
    let first = entries();
    assert!(first.len() >= 2, "each of two kernels is kept: {first:?}");
    passes(python(), &[&source("ptx_run.py")], &[("HEDDLE_CACHE_DIR", &place)]);
    assert_eq!(entries(), first, "what is kept is not made again");
}
