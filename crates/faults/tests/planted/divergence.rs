//! Rules of the divergence analysis.

use crate::fault;
use crate::harness::divergence_property::divergence_holds;
use crate::harness::shapes_oracle::{Claims, check_trace};
use heddle_faults::DIVERGENCE;
use heddle_faults::analysis::InitialShapes;
use heddle_faults::analysis::shape::{Activation, Geometry};
use heddle_faults::{PlantedFault, with_fault};
use heddle_interp::{RunOptions, Scheduler};
use heddle_runs::line::RunLine;
use heddle_testing::file_test::find_files;
use heddle_testing::generate::{GeneratorProfile, generate};
use std::path::Path;

/// Returns the first file test whose runs contradict the claims of the analysis with a fault.
fn a_file_contradicts(fault: PlantedFault) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/divergence");
    for path in find_files(&root).expect("there are tests") {
        let text = std::fs::read_to_string(&path).expect("a test can be read");
        let Ok(module) = heddle_ir::parse_module(&text) else { continue };
        let runs = text.lines().filter_map(|line| line.strip_prefix("; run:"));
        for run in runs.filter_map(|line| RunLine::parse(line.trim()).ok()) {
            let claims: Vec<_> = module
                .functions
                .iter()
                .map(|func| {
                    let initial = InitialShapes::declared(func, Geometry::brush(&run.options.brush));
                    let initial = initial.with_entry(Activation::Full);
                    with_fault(fault, || Claims::new(func, initial, &run.options.brush))
                })
                .collect();
            for scheduler in std::iter::once(Scheduler::Greedy).chain((1..=6).map(Scheduler::Random)) {
                let options = RunOptions { trace: true, scheduler, ..run.options.clone() };
                let Ok(Ok(outcome)) = run.run(&module, &options).map(|ran| ran.outcome) else { continue };
                if let Err(reason) = check_trace(&module, &claims, &outcome.trace) {
                    return Some(format!("{}: {reason}", path.file_name()?.display()));
                }
            }
        }
    }
    None
}

#[test]
fn runs_contradict_the_analysis_without_any_of_its_rules() {
    let mut unnoticed = Vec::new();
    for &fault in DIVERGENCE {
        let seed = || {
            (0..1000).find(|&seed| {
                let case = generate(seed, &GeneratorProfile::default());
                with_fault(fault, || divergence_holds(&case)).is_err()
            })
        };
        match a_file_contradicts(fault).or_else(|| seed().map(|seed| format!("seed {seed}"))) {
            Some(found) => println!("{}: {found}", fault.name),
            None => unnoticed.push(fault.name),
        }
    }
    assert!(unnoticed.is_empty(), "nothing contradicts the analysis without {unnoticed:?}");
}

/// Without a rule for private objects, generated programs soon contradict the claims.
#[test]
fn private_cells_show_which_rules_are_missing() {
    for rule in ["Written", "MixedState", "TemporalState"] {
        let fault = fault(DIVERGENCE, rule);
        let is_noticed = |seed: &u64| {
            let case = generate(*seed, &GeneratorProfile::default());
            with_fault(fault, || divergence_holds(&case)).is_err()
        };
        let found = (0..600).find(is_noticed);
        println!("{rule}: contradicted by seed {found:?}");
        assert!(found.is_some(), "{rule}");
    }
}
