//! Generated nests of loops with marks, briefly: the plugin's code is right, and code with a planted fault is noticed.

use heddle_testing::native::c::loops::plugin;
use heddle_testing::native::c::nests::{FORMS, NestFault, run_batch};
use heddle_testing::native::hed::TargetWorkshops;
use heddle_testing::native::{InstructionSet, NativeTally};

fn run(name: &str, seeds: std::ops::Range<u64>, fault: Option<NestFault>) -> Option<NativeTally> {
    if let Err(reason) = plugin() {
        println!("not run: {reason}");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("heddle-{name}-{}", std::process::id()));
    let bench = TargetWorkshops::new(&folder, &[InstructionSet::Sse42]).expect("clang is there");
    let tally = run_batch(&bench, seeds, fault);
    _ = std::fs::remove_dir_all(&folder);
    Some(tally)
}

#[test]
fn vector_code_of_marked_nests_is_right() {
    let Some(tally) = run("marked-nests", 1..25, None) else { return };
    let found = |find: &heddle_testing::native::NativeFind| {
        format!("seed {}, {}: {}", find.pair.seed, find.pair.form, find.reason)
    };
    let finds: Vec<String> = tally.finds.iter().map(found).collect();
    assert!(finds.is_empty(), "{}", finds.join("\n"));
    assert!(tally.all_pairs() >= 24 * FORMS.len() as u64);
}

/// Remainders of both dimensions, lane numbers and the order of rows: code that is wrong in one of them leaves other arrays.
#[test]
fn planted_faults_of_nests_are_noticed() {
    for fault in NestFault::ALL {
        let Some(tally) = run("wrong-nests", 1..9, Some(fault)) else { return };
        assert!(!tally.finds.is_empty(), "{fault:?}");
        assert!(
            tally.finds.iter().all(|find| find.reason.contains("out[") || find.reason.contains("more[")),
            "{tally}"
        );
    }
}
