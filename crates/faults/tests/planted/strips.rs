//! Rules of strip-mining.

use crate::{fault, transform_test};
use heddle_compiler::divergence::analyze_divergence;
use heddle_faults::ROW_STRIPS;
use heddle_faults::transform::row_strips::{StripOptions, StripPolicy, strip_rows};
use heddle_faults::transform::{RaceSemantics, canonicalize};
use heddle_faults::with_fault;
use heddle_ir::{Function, Module};
use heddle_testing::caught::all_are_caught;
use heddle_testing::file_test::{RunPasses, failures_with_passes};
use heddle_testing::generate::generate;
use heddle_testing::strips::{profile, strips_by};
use heddle_transform::TargetInfo;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum number of programs until a fault must show.
const MOST_PROGRAMS: u64 = 5000;

/// Rules that generated programs rarely need: each with the file whose runs do.
const RARE: &[(&str, &str, RunPasses)] = &[
    ("EachIteration", "strips-conditional.hed", |module, _| without(module, "EachIteration")),
    ("Effects", "strips-effects.hed", |module, _| without(module, "Effects")),
];

fn without(module: &mut Module, rule: &str) -> Result<(), String> {
    for func in &mut module.functions {
        canonicalize(func);
        with_fault(fault(ROW_STRIPS, rule), || strip(func, 8, RaceSemantics::Excluded));
    }
    Ok(())
}

fn strip(func: &mut Function, lanes: u32, races: RaceSemantics) -> usize {
    let options = StripOptions { policy: StripPolicy::Force, lanes, target: TargetInfo::AVX512, races };
    strip_rows(func, analyze_divergence, &options)
}

#[test]
fn every_rule_is_needed() {
    for (rule, file, fault) in RARE {
        let failures = failures_with_passes(&transform_test(file), *fault).expect("the file is there");
        assert!(!failures.is_empty(), "{file} does not catch {rule}");
    }
    let frequent = ROW_STRIPS.iter().filter(|fault| RARE.iter().all(|(rare, ..)| *rare != fault.name));
    all_are_caught(frequent.map(|&fault| (fault.name, fault)), &[], MOST_PROGRAMS, |seed, fault| {
        let pass = |func: &mut Function, lanes: u32, races: heddle_transform::RaceSemantics| {
            let races = match races {
                heddle_transform::RaceSemantics::Excluded => RaceSemantics::Excluded,
                heddle_transform::RaceSemantics::Ordered => RaceSemantics::Ordered,
            };
            with_fault(fault, || strip(func, lanes, races))
        };
        let case = generate(seed, &profile());
        !matches!(catch_unwind(AssertUnwindSafe(|| strips_by(&case, &pass))), Ok(Ok(_)))
    });
}
