//! Requirements of the loader, and the driver's properties seen through it.
// covers: cl_khr_icd

use crate::place::{driver, run};
use std::process::Command;

#[test]
fn the_driver_calls_its_own_functions() {
    let output = Command::new("readelf").arg("-d").arg(driver()).output().expect("binutils are there");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("SYMBOLIC"),
        "without -Bsymbolic calls go to the loader and back for ever:\n{text}"
    );
    assert!(!text.contains("libOpenCL"), "the driver does not need the loader:\n{text}");
}

#[test]
fn clinfo_shows_the_platform_and_its_device() {
    let output = run("clinfo", &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let line = |name: &str| {
        let found = text.lines().find_map(|line| line.trim().strip_prefix(name));
        found.unwrap_or_else(|| panic!("no `{name}` in:\n{text}")).trim().to_string()
    };
    assert!(line("Platform Name").starts_with("Heddle"));
    assert!(line("Platform Version").starts_with("OpenCL 3.1"));
    assert_eq!(line("Device Type"), "CPU");
    assert_eq!(line("Number of devices"), "1");
    assert!(!text.contains(": error"), "a question has no answer:\n{text}");
}
