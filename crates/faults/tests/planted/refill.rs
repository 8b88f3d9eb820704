//! Rules of lane refill.

use heddle_faults::REFILL;
use heddle_faults::transform::{LoopPromises, canonicalize, refill_lanes};
use heddle_faults::{PlantedFault, with_fault};
use heddle_interp::RunOptions;
use heddle_ir::Module;
use heddle_testing::refill_cases::{RefillCase, generate_refill_case};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Refills the loop of a case by the faulty pass.
fn refilled(case: &RefillCase, fault: PlantedFault) -> Module {
    let mut module = case.module.clone();
    let func = &mut module.functions[0];
    canonicalize(func);
    let refilled = with_fault(fault, || refill_lanes(func, LoopPromises { is_parallel: true }));
    assert!(refilled.expect("it can be spread"), "no lane waits");
    module
}

#[test]
fn every_planted_fault_is_caught() {
    for &fault in REFILL {
        let is_caught = |&seed: &u64| {
            let case = generate_refill_case(seed);
            let module = refilled(&case, fault);
            let found = catch_unwind(AssertUnwindSafe(|| case.outcome(&module, "f", &RunOptions::lanes(4))));
            found.ok().is_none_or(|found| found.as_ref() != Ok(&case.expected()))
        };
        let caught = (0..60).filter(is_caught).count();
        println!("{}: {caught} of 60", fault.name);
        assert!(caught > 5, "{}: {caught} of 60", fault.name);
    }
}
