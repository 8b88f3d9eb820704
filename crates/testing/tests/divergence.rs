//! Some thousand generated programs against what the divergence analysis claims of them.

use heddle_analysis::divergence::Rule;
use heddle_testing::generate::{Class, Profile, generate};
use heddle_testing::properties::divergence_holds;
use heddle_testing::shapes_oracle::Checked;

#[test]
fn no_run_contradicts_a_claim() {
    let mut lanes = Checked::default();
    let mut predicated = Checked::default();
    for seed in 0..2500 {
        let case = generate(seed, &Profile::default());
        let checked = divergence_holds(&case, None).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
        match case.traits.class {
            Class::Predicated => predicated.add(&checked),
            _ => lanes.add(&checked),
        }
    }
    for (name, checked) in [("canonical", &lanes), ("predicated", &predicated)] {
        println!(
            "{name}: {} executions, {:.1} % uniform, of these {:.1} % proved; {:.1} % of uniform branches proved; {} \
             loads from a shared copy",
            checked.executions,
            100.0 * checked.uniform as f64 / checked.executions as f64,
            100.0 * checked.proved as f64 / checked.uniform as f64,
            100.0 * checked.proved_branches as f64 / checked.branches.max(1) as f64,
            checked.shared_loads,
        );
    }
    // The tests of the tests: enough was looked at, and enough was claimed.
    assert!(lanes.executions > 500_000, "{lanes:?}");
    assert!(lanes.proved * 10 > lanes.uniform * 3, "{lanes:?}");
    assert!(lanes.shared_loads > 1000, "{lanes:?}");
}

#[test]
fn runs_contradict_the_analysis_without_any_of_its_rules() {
    let mut unnoticed = Vec::new();
    for rule in Rule::ALL {
        let found = (0..4000).find(|&seed| {
            let case = generate(seed, &Profile::default());
            divergence_holds(&case, Some(rule)).is_err()
        });
        match found {
            Some(seed) => println!("without {rule:?}: seed {seed}"),
            None => unnoticed.push(rule),
        }
    }
    assert!(unnoticed.is_empty(), "nothing contradicts the analysis without {unnoticed:?}");
}
