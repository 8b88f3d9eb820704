//! Exported symbols.

use crate::place::{driver, folder};
use heddle_cuda::api::lookup::ENTRIES;
use heddle_cuda::api::refused::REFUSED;
use std::collections::BTreeSet;
use std::process::Command;

fn printed(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).arg(driver()).output().expect("binutils are there");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_driver_has_its_name_and_calls_its_own_functions() {
    let text = printed("readelf", &["-d"]);
    assert!(text.contains("[libcuda.so.1]"), "{text}");
    assert!(text.contains("SYMBOLIC"), "without -Bsymbolic calls may go to another driver:\n{text}");
}

#[test]
fn every_entry_of_the_interface_is_there() {
    let text = printed("nm", &["-D", "--defined-only"]);
    let exported: BTreeSet<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let entries: BTreeSet<&str> = ENTRIES.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(entries.len() > 600);
    for name in entries.iter().chain([&"ptx_run"]) {
        assert!(exported.contains(name), "{name} is not exported");
    }
    let unknown: Vec<&&str> =
        exported.iter().filter(|name| name.starts_with("cu") && !entries.contains(*name)).collect();
    assert!(unknown.is_empty(), "entries that cuda.h does not have: {unknown:?}");
    assert!(REFUSED.iter().all(|name| entries.contains(name)));
}

/// Libraries: entries of all versions, how many there are at least, and names.
const LIBRARIES: [(&str, usize, &[&str]); 4] = [
    (include_str!("../../../cublas/entries.txt"), 501, &["libcublas.so.12", "libcublas.so.13"]),
    (include_str!("../../../cufft/entries.txt"), 75, &["libcufft.so.11", "libcufft.so.12"]),
    (include_str!("../../../cusolver/entries.txt"), 615, &["libcusolver.so.11", "libcusolver.so.12"]),
    (include_str!("../../../cusparse/entries.txt"), 487, &["libcusparse.so.12"]),
];

#[test]
fn every_entry_of_a_library_is_there_in_its_version() {
    for (entries, least, names) in LIBRARIES {
        assert!(entries.lines().count() >= least);
        for name in names {
            let output = Command::new("nm").args(["-D", "--defined-only"]).arg(folder().join(name)).output();
            let text = String::from_utf8_lossy(&output.expect("binutils are there").stdout).into_owned();
            let exported: BTreeSet<&str> =
                text.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
            for entry in entries.lines() {
                let symbol = format!("{entry}@@{name}");
                assert!(exported.contains(&*symbol), "{symbol} is not exported");
            }
        }
    }
}
