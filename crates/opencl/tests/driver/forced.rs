//! Kernels compute the same whatever is forced in the place of what models choose: workloads of the benchmark, small, against
//! what the host finds.

use crate::place::{command, compile, scratch};
use std::path::Path;
use std::process::Command;

/// Forced options.
const FORCED: &[&str] = &[
    "guards=force",
    "guards=needed",
    "branches=fold",
    "branches=fold,guards=needed",
    "versions=force",
    "versions=none",
    "fuse=force",
    "fuse=no",
    "flatten=force",
    "flatten=no",
    "strips=force",
    "strips=no",
    "ssrqp=cost",
    "ssrqp=no",
];
/// Numbers of lanes, which are forced as well.
const LANES: &[&str] = &["1", "4", "registers", "64"];
/// Workloads with few work-items: divergent branches and loops, barriers, local memory, atomics, structures of loops.
const WORKLOADS: &[&str] = &["cascade-random", "tree", "scan", "dct", "histogram-atomic", "nqueens"];
/// Tolerance against the host's results.
const TOLERANCE: f64 = 1e-4;

fn is_right(driver: &Path, sources: &Path, workload: &str, (variable, value): (&str, &str)) {
    let arguments = [&sources.display().to_string(), workload, "0"];
    let mut run = command(&driver.display().to_string(), &arguments);
    let output = run.env(variable, value).stdin(std::process::Stdio::null()).output().expect("it starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    let worst = printed.split(';').nth(3).and_then(|figure| figure.parse::<f64>().ok());
    assert!(
        output.status.success() && messages.is_empty() && worst.is_some_and(|worst| worst <= TOLERANCE),
        "{workload} with {variable}={value}: {}\n{printed}{messages}",
        output.status
    );
}

#[test]
fn what_is_forced_changes_no_result() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testing/src/bench/opencl");
    let driver = scratch().join("workloads");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-march=native", "-o"]).arg(&driver);
    let files = ["driver.c", "workloads.c", "unseen.c"].map(|file| sources.join(file));
    compiler.args(files).args(["-lOpenCL", "-lm"]);
    let output = compiler.output().expect("cc starts; ./x setup brings it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let options = FORCED.iter().map(|text| ("HEDDLE_OPTIONS", *text));
    let ways: Vec<_> = options.chain(LANES.iter().map(|text| ("HEDDLE_LANES", *text))).collect();
    for workload in WORKLOADS {
        for way in &ways {
            is_right(&driver, &sources, workload, *way);
        }
    }
}

#[test]
fn misspelled_options_are_reported() {
    let program = crate::place::compile("vector_add.c");
    let output = command(&program.display().to_string(), &[]).env("HEDDLE_OPTIONS", "guards=most").output();
    let output = output.expect("it starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && messages.contains("HEDDLE_OPTIONS") && messages.contains("most"),
        "{messages}"
    );
}

#[test]
fn the_device_is_found_by_the_type_of_the_environment() {
    let program = compile("device-type.c").display().to_string();
    // By the types of CPUs, GPUs, accelerators, the default one and all: the type that it reports.
    for (value, wanted) in [("", "2 -1 -1 2 2 "), ("cpu", "2 -1 -1 2 2 "), ("gpu", "-1 4 -1 4 4 ")] {
        let output = command(&program, &[]).env("HEDDLE_DEVICE_TYPE", value).output().expect("it starts");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), wanted, "{value}");
    }
    let output = command(&program, &[]).env("HEDDLE_DEVICE_TYPE", "fpga").output().expect("it starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(messages.contains("write cpu, gpu or accelerator"), "{messages}");
}
