//! Rules of addresses that are not poison at barriers.

use heddle_faults::transform::kernels::{KernelOptions, lower_kernels};
use heddle_faults::{ACCESSED, with_fault};
use heddle_ir::text::parse_module;
use std::path::Path;

/// Rules with the kernel of the file in which more values take lane 0's for all without them.
const RULES: [(&str, &str); 3] =
    [("GuardedAccess", "guarded"), ("LaterAccess", "later"), ("WaitingAccess", "waits")];

/// The lowered functions of a kernel.
fn lowered(text: &str, kernel: &str) -> String {
    let mut module = parse_module(text).expect("the file parses");
    let options = KernelOptions::rows([8].into_iter().collect());
    lower_kernels(&mut module, &options).expect("the kernels are lowered");
    module.functions.retain(|it| it.name.split('.').next() == Some(kernel));
    module.to_string()
}

#[test]
fn every_rule_is_needed() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels/accessed.hed");
    let text = std::fs::read_to_string(file).expect("the file is there");
    assert_eq!(RULES.map(|(rule, _)| rule).as_slice(), ACCESSED.iter().map(|it| it.name).collect::<Vec<_>>());
    for (rule, kernel) in RULES {
        let fault = crate::fault(ACCESSED, rule);
        for other in ["advances", "indexed"] {
            let changed = with_fault(fault, || lowered(&text, other));
            assert!(changed == lowered(&text, other), "{rule} changes the kernel {other}");
        }
        let changed = with_fault(fault, || lowered(&text, kernel));
        assert!(changed != lowered(&text, kernel), "the kernel {kernel} does not notice {rule}");
    }
}
