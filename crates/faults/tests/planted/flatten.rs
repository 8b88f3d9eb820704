//! Rules by which flattening refuses nests.

use crate::fault;
use heddle_compiler::divergence::analyze_divergence;
use heddle_faults::FLATTEN;
use heddle_faults::transform::flatten::{FlattenOptions, FlattenPolicy, FlattenVerdict, flatten};
use heddle_faults::with_fault;
use heddle_interp::{self as interp, Argument, Datum, Memory, Scheduler};
use heddle_ir::{Module, Space, parse_module};
use heddle_transform::canonicalize;
use std::collections::BTreeSet;

/// Nests that must not be flattened, with three iterations of the outer loop: declarations, and the payload with its
/// result `v20`. Lanes 0 and 1 run it, lane 0 with fewer iterations of the inner loop.
const TELLING: &[(&str, &str, &str)] = &[
    ("ObservesLanes", "", "v19 = icmp eq v0, v0\n v20 = popcount i32, v19"),
    ("Waits", "", "barrier brush\n v20 = add v3, 0"),
    ("Ordered", "", "v20 = atomic_rmw add v1, i32 1 relaxed device"),
    (
        "Calls",
        "func @count(v0: ptr(global)) -> i32 {\nblock0:\n v1 = atomic_rmw add v0, i32 1 relaxed device\n ret v1\n}\n",
        "v20 = call @count(v1)",
    ),
    ("SharedWrite", "", "v20 = load i32, v1 align 4\n v30 = add v20, 1\n store v30, v1 align 4"),
    ("SharedRead", "", "v20 = load i32, v1 align 4"),
];

fn telling(declarations: &str, payload: &str) -> Module {
    let text = format!(
        "{declarations}func @main(v0: i32, v1: ptr(global)) -> i32 {{\nblock0:\n v40 = lane i32\n v41 = icmp ult v40, 2\n \
         br v41, block5, block6\nblock5:\n br block1\nblock1:\n v2 = phi i32 [block5: 0], [block3: v10]\n \
         v3 = phi i32 [block5: 0], [block3: v9]\n {payload}\n v4 = mul v3, 10\n v5 = add v4, v20\n br block2\nblock2:\n \
         v6 = phi i32 [block1: 0], [block2: v7]\n v7 = add v6, 1\n v8 = icmp ult v7, v0\n br v8, block2, block3\nblock3:\n \
         v9 = phi i32 [block2: v5]\n v10 = add v2, 1\n v11 = icmp ult v10, 3\n br v11, block1, block4\nblock4:\n \
         v12 = phi i32 [block3: v9]\n br block7\nblock6:\n br block8\nblock8:\n br block9\nblock9:\n {}\n br block7\nblock7:\n \
         v13 = phi i32 [block4: v12], [block9: 0]\n ret v13\n}}\n",
        if payload.contains("store") || payload.contains("atomic") || payload.contains("call") {
            ""
        } else {
            "store i32 7, v1 align 4"
        }
    );
    let mut module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    module.functions.iter_mut().for_each(canonicalize);
    module
}

/// All that lanes are seen to return: numbers, or a fault.
fn outcomes(module: &Module, lanes: u32, seeds: u64) -> BTreeSet<String> {
    let schedulers = std::iter::once(Scheduler::Greedy).chain((0..seeds).map(Scheduler::Random));
    schedulers
        .map(|scheduler| {
            let mut memory = Memory::new();
            let address = memory.add(Space::Global, Some("a"), 16, vec![0; 4]);
            let trips = [1, 4, 1, 1][..lanes as usize].iter().map(|&bits| Datum::Bits(bits)).collect();
            let args = [Argument::Varying(trips), Argument::Uniform(Datum::Bits(address.into()))];
            let options = interp::RunOptions { scheduler, ..interp::RunOptions::lanes(lanes) };
            match interp::run(module, "main", &args, &mut memory, &options) {
                Ok(outcome) => format!("{:?}", outcome.results),
                Err(fault) => fault.to_string(),
            }
        })
        .collect()
}

/// Each refusal is necessary: without it, the result shows behaviour that the source never has.
#[test]
fn every_rule_that_refuses_is_needed() {
    for &(rule, declarations, payload) in TELLING {
        let before = telling(declarations, payload);
        // Lanes 2 and 3 run outside the nest.
        let lanes = if rule == "SharedRead" { 4 } else { 2 };
        let expected = outcomes(&before, lanes, 400);
        let flattened = || {
            let mut module = before.clone();
            let main = module.functions.last_mut().expect("a function");
            let options = FlattenOptions { policy: FlattenPolicy::Force, ..FlattenOptions::default() };
            let verdict = flatten(main, analyze_divergence, &options).pop().expect("a nest").verdict;
            (module, verdict)
        };
        let (_, verdict) = flattened();
        assert!(matches!(verdict, FlattenVerdict::Refused(_)), "{rule}: not refused");
        let (module, verdict) = with_fault(fault(FLATTEN, rule), flattened);
        assert_eq!(verdict, FlattenVerdict::Flattened, "{rule}");
        let found = outcomes(&module, lanes, 100);
        assert!(found.difference(&expected).next().is_some(), "{rule} refuses in vain: {found:?}");
    }
}
