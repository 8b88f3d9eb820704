//! Each topic of the fuzzer, briefly; and what the generator and the shrinker promise.

use heddle_ir::Module;
use heddle_ir::ops::Op;
use heddle_ir::verify::verify_module;
use heddle_runs::line::RunLine;
use heddle_testing::coverage::Coverage;
use heddle_testing::differential::differential;
use heddle_testing::fuzz::{FuzzPlan, fuzz};
use heddle_testing::generate::{GeneratedProgram, GeneratorProfile, ProgramClass, generate};
use heddle_testing::properties::{TOPICS, stage};
use heddle_testing::shrink::{print, shrink, weight};
use std::time::Duration;

#[test]
fn every_topic_holds_of_the_first_programs() {
    for topic in TOPICS {
        let plan = FuzzPlan { topic, seed: 0, time: Duration::from_secs(600), count: Some(400), jobs: 2 };
        let report = fuzz(&plan, &|_, _| {});
        assert_eq!(report.seeds, 0..400);
        let finds: Vec<String> = report
            .finds
            .iter()
            .map(|find| format!("{}: {}\n{}", topic.name, find.reason, find.text))
            .collect();
        assert!(finds.is_empty(), "{}", finds.join("\n"));
    }
}

#[test]
fn the_default_profile_covers_what_it_should() {
    let mut coverage = Coverage::default();
    for seed in 0..12_000 {
        coverage.note(&generate(seed, &GeneratorProfile::default()));
    }
    assert_eq!(coverage.lacks(), Vec::<String>::new(), "{coverage}");
}

#[test]
fn the_same_seed_gives_the_same_program() {
    for seed in 0..200 {
        let [a, b] = [(); 2].map(|()| generate(seed, &GeneratorProfile::default()));
        assert_eq!(a.module.to_string(), b.module.to_string(), "seed {seed}");
        assert_eq!(a.inputs, b.inputs, "seed {seed}");
    }
    let texts = (0..200).map(|seed| generate(seed, &GeneratorProfile::default()).module.to_string());
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 200, "different seeds give different programs");
}

#[test]
fn a_program_that_refines_itself_does_and_one_that_stores_less_does_not() {
    let mut caught = 0;
    for seed in 0..100 {
        let case = generate(seed, &GeneratorProfile::default());
        assert_eq!(differential(&case, &case.module, &case.module), Ok(()), "seed {seed}");
        caught += u32::from(differential(&case, &case.module, &without_stores(&case)).is_err());
    }
    assert!(caught > 60, "{caught} of 100 programs miss their stores");
}

fn without_stores(case: &GeneratedProgram) -> Module {
    let mut module = case.module.clone();
    for func in &mut module.functions {
        for block in func.blocks().collect::<Vec<_>>() {
            for inst in func.block_insts(block).collect::<Vec<_>>() {
                if func.inst(inst).op == Op::Store {
                    func.remove_inst(inst);
                }
            }
        }
    }
    module
}

#[test]
fn what_is_shrunk_is_small_well_formed_and_still_fails() {
    let fails = |case: &GeneratedProgram| differential(case, &case.module, &without_stores(case)).is_err();
    let mut shrunk = 0;
    for seed in 0..12 {
        let case = generate(seed, &GeneratorProfile::default());
        if case.traits.class == ProgramClass::Launch || !fails(&case) {
            continue;
        }
        let small = shrink(&case, &fails);
        assert!(fails(&small), "seed {seed}");
        assert!(verify_module(&small.module, stage(&small)).is_ok(), "seed {seed}");
        // An address, a store, a return, and what addresses of lanes are computed from.
        assert!(weight(&small.module) <= 12, "seed {seed}: {}", small.module);
        let text = print(&small, "verify", "a store is missing");
        let again = heddle_ir::parse_module(&text).expect("a shrunk program parses, its header included");
        assert_eq!(again.to_string(), small.module.to_string(), "seed {seed}");
        let run = text.lines().find_map(|line| line.strip_prefix("; run: ")).expect("it says how to run");
        let run = RunLine::parse(run).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let ran = run.run(&again, &run.options).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(ran.outcome.is_ok(), "seed {seed}: {:?}", ran.outcome);
        shrunk += 1;
    }
    assert!(shrunk > 5, "{shrunk} programs were shrunk");
}
