//! Generated loops with pragmas, briefly: the plugin's code is right, loops with a dependence are refused, and a mark that lies
//! is noticed.

use heddle_testing::native::c::loops::{LoopMark, plugin, run_batch};
use heddle_testing::native::hed::TargetWorkshops;
use heddle_testing::native::{InstructionSet, NativeTally};

fn run(name: &str, seeds: std::ops::Range<u64>, mark: LoopMark) -> Option<NativeTally> {
    if let Err(reason) = plugin() {
        println!("not run: {reason}");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("heddle-{name}-{}", std::process::id()));
    let bench = TargetWorkshops::new(&folder, &[InstructionSet::Sse42]).expect("clang is there");
    let tally = run_batch(&bench, seeds, mark);
    _ = std::fs::remove_dir_all(&folder);
    Some(tally)
}

#[test]
fn vector_code_of_marked_loops_is_right() {
    let Some(tally) = run("marked-loops", 1..13, LoopMark::Right) else { return };
    let finds: Vec<String> = tally
        .finds
        .iter()
        .map(|find| format!("seed {}, {}: {}", find.pair.seed, find.pair.form, find.reason))
        .collect();
    assert!(finds.is_empty(), "{}", finds.join("\n"));
    assert_eq!(tally.all_pairs(), 12 * 4);
}

/// Some loops marked as independent despite a dependence compute other results: the harness would notice if the plugin
/// did not refuse them.
#[test]
fn a_mark_that_lies_is_noticed() {
    let Some(tally) = run("careless-loops", 1..120, LoopMark::Careless) else { return };
    assert!(!tally.finds.is_empty(), "{tally}");
}
