//! Some thousand generated programs against what the divergence analysis claims of them.

use heddle_analysis::shape::Geometry;
use heddle_analysis::{Activation, InitialShapes, UniformityLevel};
use heddle_interp::RunOptions;
use heddle_ir::Value;
use heddle_runs::line::RunLine;
use heddle_testing::divergence_property::divergence_holds;
use heddle_testing::generate::{GeneratorProfile, ProgramClass, generate};
use heddle_testing::shapes_oracle::{CheckCounts, Claims, check_trace};
use std::path::Path;

#[test]
fn no_run_contradicts_a_claim() {
    let mut lanes = CheckCounts::default();
    let mut predicated = CheckCounts::default();
    for seed in 0..2500 {
        let case = generate(seed, &GeneratorProfile::default());
        let checked = divergence_holds(&case).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
        match case.traits.class {
            ProgramClass::Predicated => predicated.add(&checked),
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
    println!("{} addresses compared, {} of them on condition", lanes.addresses, lanes.conditional);
    assert!(lanes.addresses > 10_000, "{lanes:?}");
    println!("{} comparisons of brushes", lanes.across_brushes);
    assert!(lanes.across_brushes > 10_000, "{lanes:?}");
}

/// True if the runs of a file contradict its claims after a change.
fn is_contradicted(name: &str, change: &dyn Fn(&mut Claims<'_>)) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/divergence").join(name);
    let text = std::fs::read_to_string(path).expect("a test can be read");
    let module = heddle_ir::parse_module(&text).expect("a test is well-formed");
    let runs = text.lines().filter_map(|line| line.strip_prefix("; run:"));
    runs.filter_map(|line| RunLine::parse(line.trim()).ok()).any(|run| {
        let claims: Vec<_> = module
            .functions
            .iter()
            .map(|func| {
                let initial = InitialShapes::declared(func, Geometry::brush(&run.options.brush));
                let brush = &run.options.brush;
                let mut claims = Claims::new(func, initial.with_entry(Activation::Full), brush)?;
                change(&mut claims);
                Some(claims)
            })
            .collect();
        let options = RunOptions { trace: true, ..run.options.clone() };
        let ran = run.run(&module, &options).expect("the run can be made");
        ran.outcome.is_ok_and(|outcome| check_trace(&module, &claims, &outcome.trace).is_err())
    })
}

#[test]
fn wrong_groups_and_regions_are_contradicted() {
    for name in ["access-groups.hed", "access-conditions.hed", "region.hed"] {
        assert!(!is_contradicted(name, &|_| {}), "{name}");
    }
    // One group of a function after the other.
    for number in 0..5 {
        let change = |claims: &mut Claims<'_>| {
            if let Some(group) = claims.accesses.groups_mut().get_mut(number) {
                group.stride += 1;
            }
        };
        assert!(is_contradicted("access-groups.hed", &change), "group {number}");
    }
    let offsets = |claims: &mut Claims<'_>| {
        for group in claims.accesses.groups_mut() {
            if let [_, .., last] = &mut group.accesses[..] {
                last.offset += 4;
            }
        }
    };
    assert!(is_contradicted("access-groups.hed", &offsets));
    // Conditions that allow one number more, of which a run makes use.
    for (func, number) in [
        ("remainder", 0),
        ("remainder", 1),
        ("narrow", 0),
        ("narrow", 1),
        ("clamped", 0),
        ("clamped", 1),
        ("neighbours", 0),
        ("neighbours", 1),
        ("ordered", 0),
        ("ordered", 1),
        ("down", 0),
    ] {
        let change = |claims: &mut Claims<'_>| {
            if claims.func.name == func {
                for condition in &mut claims.accesses.groups_mut()[number].conditions {
                    condition.min -= 1;
                    condition.max += 1;
                    if let Some(bound) = &mut condition.bound {
                        bound.reach -= if bound.is_upper { 1 } else { -1 };
                    }
                }
            }
        };
        assert!(is_contradicted("access-conditions.hed", &change), "@{func}, group {number}");
    }
    for (func, block) in [("nested", 2), ("nested", 3), ("loops", 1), ("later", 2)] {
        let change = |claims: &mut Claims<'_>| {
            if claims.func.name == func {
                claims.region.insert(heddle_ir::Block::from_u32(block));
            }
        };
        assert!(is_contradicted("region.hed", &change), "@{func}, block{block}");
    }
}

#[test]
fn wrong_levels_are_contradicted() {
    let file = "levels.hed";
    assert!(!is_contradicted(file, &|_| {}));
    // v2 is the group's number; v9 and v15 depend on branches and trip counts that are uniform only in the group.
    for value in [2, 9, 15].map(Value::from_u32) {
        let change = |claims: &mut Claims<'_>| {
            if claims.func.name != "levels" {
                return;
            }
            let fact = claims.divergence.fact(value);
            assert_eq!(fact.level, UniformityLevel::Group);
            claims.divergence.claim(value, fact.with_level(UniformityLevel::Launch));
        };
        assert!(is_contradicted(file, &change), "{value}");
    }
    let branch = |claims: &mut Claims<'_>| {
        if claims.func.name == "levels" {
            claims.divergence.claim_branch(heddle_ir::Block::from_u32(2), Some(UniformityLevel::Launch));
        }
    };
    assert!(is_contradicted(file, &branch));
    let exits = |claims: &mut Claims<'_>| {
        for cycle in claims.control.cycles.cycles() {
            claims.divergence.claim_exits(cycle, Some(UniformityLevel::Launch));
        }
    };
    assert!(is_contradicted(file, &exits));
    // Brushes of one group.
    let first = |claims: &mut Claims<'_>| {
        if claims.func.name == "brushes" {
            for value in [2, 3].map(Value::from_u32) {
                let fact = claims.divergence.fact(value);
                claims.divergence.claim(value, fact.with_level(UniformityLevel::Group));
            }
        }
    };
    assert!(is_contradicted(file, &first));
}
