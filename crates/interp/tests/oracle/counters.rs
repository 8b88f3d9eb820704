//! Counters of a run.

use crate::run_over_words;
use heddle_interp::{LaneSet, LaunchGeometry, RunCounters, RunOptions};

#[test]
fn steps_branches_and_operations_are_counted() {
    let text = "func @f(v0: ptr(global)) {\nblock0:\n  v1 = lane i32\n  v2 = icmp ult v1, 2\n  br v2, block1, block2\n\
                block1:\n  v3 = add v1, 1\n  br block2\nblock2:\n  v4 = icmp ult v1, 8\n  br v4, block3, block4\n\
                block3 [false]:\n  v5 = add v1, 1\n  v6 = add v1, 1 total\n  br block4\nblock4:\n  ret\n}\n";
    let (outcome, _) = run_over_words(text, &RunOptions::lanes(4)).unwrap();
    let expected = RunCounters {
        steps: 5,
        empty_steps: 1,
        divergent_branches: 1,
        uniform_branches: 1,
        // 8: two operations in all lanes; 2: one in two lanes; 4: one in all lanes; 4: a total one.
        lane_operations: 8 + 2 + 4 + 4,
        barriers: 0,
    };
    assert_eq!(outcome.counters, expected);
    let active: Vec<bool> = outcome.schedule.steps().map(|step| step.is_active).collect();
    assert_eq!(active, [true, true, true, false, true]);
}

#[test]
fn barriers_are_counted_for_each_group() {
    let text = "kernel @k(v0: ptr(global)) {\nblock0:\n  barrier group\n  barrier brush\n  barrier group\n  ret\n}\n";
    let geometry = LaunchGeometry { dims: 1, local: [6, 1, 1], groups: [3, 1, 1], offset: [0; 3] };
    let options = RunOptions { geometry: Some(geometry), ..RunOptions::lanes(4) };
    let (outcome, _) = run_over_words(text, &options).unwrap();
    assert_eq!(outcome.counters.barriers, 6);
}

#[test]
fn the_trace_tells_each_step() {
    let text = "func @f(v0: ptr(global)) {\nblock0:\n  v1 = lane i32\n  v2 = icmp eq v1, 0\n  br block1\n\
                block1 [v2]:\n  v3 = add v1, 7\n  br block2\nblock2:\n  ret\n}\n";
    let options = RunOptions { trace: true, entry_mask: LaneSet::from_iter([0, 1]), ..RunOptions::lanes(3) };
    let (outcome, _) = run_over_words(text, &options).unwrap();
    let lanes = |set: LaneSet| set.iter().filter(|&lane| lane < 2).collect::<Vec<_>>();
    let steps: Vec<_> = outcome
        .trace
        .steps
        .iter()
        .map(|step| (step.block.as_u32(), lanes(step.control), lanes(step.predicate), lanes(step.active)))
        .collect();
    let (both, one) = (vec![0, 1], vec![0]);
    let expected = [
        (0, both.clone(), both.clone(), both.clone()),
        (1, both.clone(), one.clone(), one),
        (2, both.clone(), both.clone(), both),
    ];
    assert_eq!(steps, expected);
}
