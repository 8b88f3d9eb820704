//! Rules of scalar replacement.

use crate::{fault, transform_test};
use heddle_faults::SCALAR_REPLACEMENT;
use heddle_faults::transform::scalar_replacement::{self as woven, ReplacementOptions, ReplacementVariant};
use heddle_faults::transform::{RaceSemantics, canonicalize, fuse, replace_scalars};
use heddle_faults::with_fault;
use heddle_ir::{Function, Module, Op, parse_bytes};
use heddle_testing::caught::all_are_caught;
use heddle_testing::file_test::{RunPasses, failures_with_passes};
use heddle_testing::generate::generate;
use heddle_testing::scalars::{profile, replaces_by};
use heddle_transform::fuse::MachineModel;
use heddle_transform::scalar_replacement as original;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum number of programs until a fault must show; the number needed depends on the generator.
const MOST_PROGRAMS: u64 = 20_000;

/// Rules that generated programs rarely need: each with the file whose runs do.
const RARE: &[(&str, &str, RunPasses)] = &[
    ("Fences", "ssrqp-fences.hed", |module, _| without(module, "Fences")),
    ("Races", "ssrqp-races.hed", |module, _| without(module, "Races")),
    ("Types", "ssrqp-types.hed", |module, _| without(module, "Types")),
];

fn without(module: &mut Module, rule: &str) -> Result<(), String> {
    for func in &mut module.functions {
        canonicalize(func);
        with_fault(fault(SCALAR_REPLACEMENT, rule), || replace_scalars(func, &ReplacementOptions::default()));
    }
    Ok(())
}

/// Options of the harness, for the woven pass.
fn woven_options(options: &original::ReplacementOptions) -> ReplacementOptions {
    let is_same = |variant: &&ReplacementVariant| variant.name() == options.variant.name();
    ReplacementOptions {
        variant: *ReplacementVariant::ALL.iter().find(is_same).expect("the variants are the same"),
        races: match options.races {
            heddle_transform::RaceSemantics::Excluded => RaceSemantics::Excluded,
            heddle_transform::RaceSemantics::Ordered => RaceSemantics::Ordered,
        },
        machine: match options.machine {
            MachineModel::Warps => fuse::MachineModel::Warps,
            MachineModel::Vectors(target, lanes) => fuse::MachineModel::Vectors(target, lanes),
        },
    }
}

fn original_statistics(made: &woven::ReplacementStatistics) -> original::ReplacementStatistics {
    let &woven::ReplacementStatistics { loads, operations, inserted, hoisted, phis } = made;
    original::ReplacementStatistics { loads, operations, inserted, hoisted, phis }
}

#[test]
fn every_rule_is_needed() {
    for (rule, file, fault) in RARE {
        let failures = failures_with_passes(&transform_test(file), *fault).expect("the file is there");
        assert!(!failures.is_empty(), "{file} does not catch {rule}");
    }
    let is_rare = |rule: &str| rule == "Promises" || RARE.iter().any(|&(rare, ..)| rare == rule);
    let frequent = SCALAR_REPLACEMENT.iter().filter(|fault| !is_rare(fault.name));
    let faults = frequent.map(|&fault| (fault.name, fault));
    all_are_caught(faults, &[("Aliases", 334)], MOST_PROGRAMS, |seed, fault| {
        let pass = |func: &mut Function, options: &original::ReplacementOptions| {
            original_statistics(&with_fault(fault, || replace_scalars(func, &woven_options(options))))
        };
        let case = generate(seed, &profile());
        !matches!(catch_unwind(AssertUnwindSafe(|| replaces_by(&case, &pass))), Ok(Ok(_)))
    });
}

/// The function of a file, with its scalars replaced.
fn replaced(name: &str, variant: ReplacementVariant) -> Function {
    let text = std::fs::read(transform_test(name)).expect("the file is there");
    let mut func = parse_bytes(&text).expect("the file is right").functions.remove(0);
    canonicalize(&mut func);
    let options =
        ReplacementOptions { variant, races: RaceSemantics::Excluded, ..ReplacementOptions::default() };
    replace_scalars(&mut func, &options);
    func
}

/// A merged value keeps only the flags that both values have.
#[test]
fn promises_are_those_of_both() {
    let promises = |func: &Function| {
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        insts.any(|inst| func.inst(inst).op == Op::Mul && !func.inst(inst).flags.is_empty())
    };
    let run = || replaced("ssrqp-promises.hed", ReplacementVariant::Srqp);
    assert!(!promises(&run()));
    let wrong = with_fault(fault(SCALAR_REPLACEMENT, "Promises"), run);
    assert!(promises(&wrong), "the rule is not needed");
}
