//! Nothing of LLVM 22 is missing from the tables.
#![forbid(unsafe_code)]

use heddle_llvm::{ImportSupport, coverage};

#[test]
fn every_instruction_and_intrinsic_is_done_or_refused_with_a_reason() {
    let coverage = coverage();
    assert_eq!(coverage.missing().collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(coverage.instructions.len() >= 67 && coverage.intrinsics.len() > 16_000);
    for (name, verdict) in coverage.instructions.iter().chain(&coverage.intrinsics) {
        if let ImportSupport::Refused(reason) = verdict {
            assert!(reason.contains(": "), "{name}: `{reason}` has no help");
        }
    }
}

#[test]
fn a_name_that_no_table_knows_is_missing() {
    let mut coverage = coverage();
    coverage.intrinsics.push(("llvm.new".into(), ImportSupport::Missing));
    assert_eq!(coverage.missing().collect::<Vec<_>>(), ["llvm.new"]);
}
