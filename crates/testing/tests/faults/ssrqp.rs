//! Rules of scalar replacement left out, one at a time: each is caught. And what generated programs cover of it.

use crate::caught::all_are_caught;
use heddle_ir::{Function, Module, Op, parse_bytes};
use heddle_testing::file_test::{RunPasses, failures_with_passes};
use heddle_testing::generate::generate;
use heddle_testing::scalars::{ReplacementCounts, profile, replaces, replaces_by};
use heddle_transform::scalar_replacement::{
    ReplacementOptions, ReplacementRule, ReplacementVariant, replace_scalars_without,
};
use heddle_transform::{RaceSemantics, canonicalize, replace_scalars};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Maximum number of programs until a fault must show; the number needed depends on the generator.
const MOST_PROGRAMS: u64 = 20_000;

/// Rules that generated programs rarely need: each with the file whose runs do.
const RARE: &[(ReplacementRule, &str, RunPasses)] = &[
    (ReplacementRule::Fences, "ssrqp-fences.hed", |module, _| without(module, ReplacementRule::Fences)),
    (ReplacementRule::Races, "ssrqp-races.hed", |module, _| without(module, ReplacementRule::Races)),
    (ReplacementRule::Types, "ssrqp-types.hed", |module, _| without(module, ReplacementRule::Types)),
];

fn without(module: &mut Module, rule: ReplacementRule) -> Result<(), String> {
    for func in &mut module.functions {
        canonicalize(func);
        replace_scalars_without(func, &ReplacementOptions::default(), Some(rule));
    }
    Ok(())
}

#[test]
fn every_rule_is_needed() {
    for (rule, file, fault) in RARE {
        let failures = failures_with_passes(&path(file), *fault).expect("the file is there");
        assert!(!failures.is_empty(), "{file} does not catch {rule:?}");
    }
    let is_rare = |rule: ReplacementRule| {
        rule == ReplacementRule::Promises || RARE.iter().any(|&(rare, ..)| rare == rule)
    };
    let rules = ReplacementRule::ALL
        .into_iter()
        .filter(|&rule| !is_rare(rule))
        .map(|rule| (format!("{rule:?}"), rule));
    all_are_caught(rules, &[("Aliases", 334)], MOST_PROGRAMS, |seed, rule| {
        let pass = |func: &mut Function, options: &ReplacementOptions| {
            replace_scalars_without(func, options, Some(rule))
        };
        let case = generate(seed, &profile());
        !matches!(catch_unwind(AssertUnwindSafe(|| replaces_by(&case, &pass))), Ok(Ok(_)))
    });
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transform").join(name)
}

/// The function of a file, with its scalars replaced without a rule.
fn replaced(name: &str, variant: ReplacementVariant, without: Option<ReplacementRule>) -> Function {
    let text = std::fs::read(path(name)).expect("the file is there");
    let mut func = parse_bytes(&text).expect("the file is right").functions.remove(0);
    canonicalize(&mut func);
    let options =
        ReplacementOptions { variant, races: RaceSemantics::Excluded, ..ReplacementOptions::default() };
    match without {
        None => replace_scalars(&mut func, &options),
        rule => replace_scalars_without(&mut func, &options, rule),
    };
    func
}

/// A merged value keeps only the flags that both values have.
#[test]
fn promises_are_those_of_both() {
    let promises = |func: &Function| {
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        insts.any(|inst| func.inst(inst).op == Op::Mul && !func.inst(inst).flags.is_empty())
    };
    let [right, wrong] = [None, Some(ReplacementRule::Promises)]
        .map(|rule| replaced("ssrqp-promises.hed", ReplacementVariant::Srqp, rule));
    assert!(!promises(&right));
    assert!(promises(&wrong), "the rule is not needed");
}

#[test]
fn generated_programs_cover_it() {
    let mut all = ReplacementCounts::default();
    for seed in 0..150 {
        let case = generate(seed, &profile());
        all.add(&replaces(&case).unwrap_or_else(|reason| panic!("seed {seed}: {reason}")));
    }
    println!("{all:?}");
    let found = all.all;
    assert!(all.changed * 2 > all.programs, "{all:?}");
    assert!(found.loads > 300 && found.inserted > 80 && found.hoisted > 300 && found.phis > 25, "{all:?}");
}
