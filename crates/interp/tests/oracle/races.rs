//! The race detector finds races, and accepts accesses ordered by barriers or made by atomics.

use crate::run_over_words;
use heddle_interp::{LaunchGeometry, RunOptions, Scheduler};

/// Runs a kernel with this body. `v1` is the local id, `v2` its word and `v3` the first word.
fn race(body: &str, lanes: u32, local: u32, groups: u32) -> Option<String> {
    let text = format!(
        "kernel @k(v0: ptr(global)) {{\nblock0:\n  v1 = local_id i64, 0\n  v4 = shl v1, 2\n  v2 = ptradd v0, v4\n  \
         v3 = ptradd v0, i64 0\n  v5 = trunc i32, v1\n{body}  ret\n}}\n"
    );
    let mut found = Vec::new();
    for scheduler in [Scheduler::Greedy, Scheduler::Random(1), Scheduler::Random(2), Scheduler::Ipdom] {
        let geometry =
            LaunchGeometry { dims: 1, local: [local, 1, 1], groups: [groups, 1, 1], offset: [0; 3] };
        let options = RunOptions {
            detect_races: true,
            geometry: Some(geometry),
            scheduler,
            ..RunOptions::lanes(lanes)
        };
        let (outcome, _) = run_over_words(&text, &options).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        found.push(outcome.race.map(|race| race.to_string()));
    }
    let is_racy = |race: &Option<String>| race.is_some();
    assert!(found.iter().all(|race| is_racy(race) == is_racy(&found[0])), "{body}: {found:?}");
    found.swap_remove(0)
}

#[test]
fn what_nothing_orders_is_a_race() {
    let next = "  v6 = add v1, 1\n  v7 = shl v6, 2\n  v8 = ptradd v0, v7\n";
    for body in [
        "  store v5, v3\n".to_string(),
        "  store v5, v2\n  v9 = load i32, v3\n".into(),
        format!("{next}  v9 = load i32, v8\n  store v5, v2\n"),
        format!("{next}  store v5, v2\n  barrier group\n  v9 = load i32, v8\n  store v5, v2\n"),
        "  store v5, v3 atomic relaxed device\n  v9 = load i32, v3\n".into(),
        "  v9 = load i32, v3\n  v10 = atomic_rmw add v3, i32 1 relaxed device\n".into(),
        "  memset v3, i8 1, i64 4\n".into(),
        "  store v5, v3\n  v9 = atomic_rmw add v3, i32 1 relaxed device\n".into(),
        "  v9 = load i32, v3\n  v10 = load i32, v3 atomic relaxed device\n  v11 = atomic_rmw add v3, i32 1 relaxed device\n"
            .into(),
        "  v9 = trunc i8, v1\n  v10 = ptradd v0, v1\n  store i16 1, v10 align 1\n".into(),
    ] {
        assert!(race(&body, 4, 4, 1).is_some(), "in one brush:\n{body}");
        assert!(race(&body, 2, 8, 1).is_some(), "across brushes:\n{body}");
        assert!(race(&body, 1, 4, 1).is_some(), "each lane a brush:\n{body}");
    }
}

#[test]
fn what_is_ordered_or_apart_is_none() {
    let next = "  v6 = add v1, 1\n  v7 = shl v6, 2\n  v8 = ptradd v0, v7\n";
    for body in [
        "  v9 = load i32, v3\n".to_string(),
        "  store v5, v2\n  v9 = load i32, v2\n".into(),
        format!("{next}  store v5, v2\n  barrier group\n  v9 = load i32, v8\n"),
        format!("{next}  v9 = load i32, v8\n  barrier group\n  store v9, v2\n"),
        "  v9 = atomic_rmw add v3, i32 1 relaxed device\n".into(),
        "  store v5, v3 atomic relaxed device\n  v9 = load i32, v3 atomic relaxed device\n".into(),
        "  v9 = alloca 4 align 4\n  store v5, v9\n  v10 = load i32, v9\n".into(),
        "  v9 = ptradd v0, v1\n  store i8 1, v9\n".into(),
    ] {
        for (lanes, local) in [(4, 4), (2, 8), (1, 4)] {
            assert_eq!(race(&body, lanes, local, 1), None, "{lanes} lanes, {local} items:\n{body}");
        }
    }
}

#[test]
fn a_barrier_orders_no_other_group() {
    let body = "  v6 = icmp eq v1, 0\n  barrier group\n  store v5, v2\n";
    assert_eq!(race(body, 2, 4, 1), None);
    assert!(race(body, 2, 4, 2).is_some());
}

#[test]
fn a_race_names_its_place() {
    assert_eq!(
        race("  store v5, v3\n", 2, 2, 1).as_deref(),
        Some("lane 1 writes byte 0 of a, which lane 0 accesses too")
    );
}

#[test]
fn a_launch_is_ordered_with_what_is_around_it() {
    let text = "func @host(v0: ptr(global)) {\nblock0:\n  store i32 1, v0\n  launch 4 @region(v0)\n  launch 4 @region(v0)\n  \
                v1 = load i32, v0\n  store v1, v0\n  ret\n}\n\nfunc @region(v0: ptr(global) uniform) {\nblock0:\n  \
                v1 = lane i64\n  v2 = add v1, 1\n  v3 = shl v2, 2\n  v4 = ptradd v0, v3\n  v5 = load i32, v0\n  \
                store v5, v4\n  ret\n}\n";
    let options = RunOptions { detect_races: true, ..RunOptions::lanes(1) };
    let (outcome, _) = run_over_words(text, &options).unwrap();
    assert_eq!(outcome.race, None);
    let racy = text.replace("store v5, v4\n", "store v5, v0\n");
    let (outcome, _) = run_over_words(&racy, &options).unwrap();
    assert!(outcome.race.is_some(), "the lanes of one launch write one word");
}

#[test]
fn the_two_lanes_of_a_race_differ() {
    // The lane that writes is also the last one that read.
    let body = "  v9 = load i32, v3\n  v10 = icmp eq v1, 1\n  br v10, block1, block2\nblock1:\n  store v5, v3\n  \
                br block2\nblock2:\n";
    let message = race(body, 2, 2, 1);
    assert_eq!(message.as_deref(), Some("lane 1 writes byte 0 of a, which lane 0 accesses too"));
}
