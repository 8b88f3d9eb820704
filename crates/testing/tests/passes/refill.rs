//! Loops whose lanes take new iterations when they are done with theirs: they leave in memory what one thread leaves there, with
//! any number of lanes, in lock-step and as vector code.

use heddle_compiler::Session;
use heddle_interp::RunOptions;
use heddle_ir::{Module, parse_module};
use heddle_testing::refill_cases::{RefillCase, generate_refill_case};
use heddle_transform::{LoopPromises, canonicalize, refill_lanes};

const PARALLEL: LoopPromises = LoopPromises { is_parallel: true };

/// The module of a case, with its loop refilled.
fn refilled(case: &RefillCase) -> Module {
    let mut module = case.module.clone();
    let func = &mut module.functions[0];
    canonicalize(func);
    assert!(refill_lanes(func, PARALLEL).expect("it can be spread"), "no lane waits");
    module
}

#[test]
fn refilled_loops_do_what_one_thread_does() {
    let session = Session::default();
    for seed in 0..60 {
        let case = generate_refill_case(seed);
        let expected = case.expected();
        let module = refilled(&case);
        for lanes in [1, 2, 3, 4, 7, 16] {
            let found = case.outcome(&module, "f", &RunOptions::lanes(lanes));
            assert_eq!(found.as_ref(), Ok(&expected), "seed {seed}, {lanes} lanes");
        }
        let lanes = [2, 4, 8][seed as usize % 3];
        let mut wide = module.clone();
        let width = format!("W={lanes}");
        session.run_passes(&mut wide, &["vectorize", &width], true, |_, _| {}).expect("it has vector code");
        let options = RunOptions { stands_for: Some(vec![lanes]), ..RunOptions::lanes(1) };
        let found = case.outcome(&wide, &format!("f.w{lanes}"), &options);
        assert_eq!(found.as_ref(), Ok(&expected), "seed {seed}, vector code of {lanes} lanes");
    }
}

/// Loops in which no lane waits, or in which it would be seen which lanes are together, stay as they are.
#[test]
fn what_gains_nothing_or_would_tell_stays() {
    let with = |inner: &str| {
        format!(
            "func @f(v0: ptr uniform, v1: i64 uniform) {{\nblock0:\n br block1\nblock1:\n v2 = phi i64 [block0: 0], [block3: v9]\n \
             v3 = shl v2, 2\n v4 = ptradd v0, v3\n br block2\nblock2:\n v5 = phi i64 [block1: 0], [block2: v6]\n v6 = add v5, 1\n \
             {inner}\n br v7, block2, block3\nblock3:\n v8 = phi i64 [block2: v6]\n store v8, v4 align 4\n v9 = add v2, 1\n \
             v10 = icmp ne v9, v1\n br v10, block1, block4\nblock4:\n ret\n}}\n"
        )
    };
    for (inner, is_refilled) in [
        ("v7 = icmp ult v6, v2", true),
        ("v7 = icmp ult v6, v1", false),
        ("v20 = icmp ult v6, v2\n v7 = any v20", false),
        ("fence seq_cst device\n v7 = icmp ult v6, v2", false),
    ] {
        let text = with(inner);
        let mut module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let func = &mut module.functions[0];
        canonicalize(func);
        let before = func.clone();
        assert_eq!(refill_lanes(func, PARALLEL).expect("it can be spread"), is_refilled, "{inner}");
        assert!(is_refilled || func.to_string() == before.to_string(), "{inner}");
        let promises = LoopPromises::default();
        assert!(!refill_lanes(&mut before.clone(), promises).expect("it can be spread"), "{inner}");
    }
}
