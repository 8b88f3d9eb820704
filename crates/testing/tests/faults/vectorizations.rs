//! Wrong vectorizations made by hand, each from a right text by a small edit: the right text passes its run, the wrong
//! one does not, under some scheduler and some semantics. `--nocapture` prints what caught which.

use heddle_interp::{PassiveSemantics, RunOptions, Scheduler};
use heddle_ir::parse_module;
use heddle_ir::verify::{Stage, verify_module};
use heddle_runs::line::RunLine;

const STEPS_UNIFORM: &str = include_str!("../../../../tests/ir/steps-uniform.hed");
const STEPS_LINEAR: &str = include_str!("../../../../tests/ir/steps-linear.hed");
const STEPS_WIDE: &str = include_str!("../../../../tests/ir/steps-wide.hed");
const LOGSTAR_TRACKED: &str = include_str!("../../../../tests/thesis/logstar-tracked.hed");
const LOGSTAR_WIDE: &str = include_str!("../../../../tests/thesis/logstar-wide.hed");
const SAFELOG_LINEAR: &str = include_str!("../../../../tests/thesis/fig-4.1-safelog-linear.hed");
const SAFELOG_WIDE: &str = include_str!("../../../../tests/thesis/fig-4.1-safelog-wide.hed");
const ACTIVATION: &str = include_str!("../../../../tests/thesis/fig-4.6-activation.hed");
const SHADOW: &str = include_str!("../../../../tests/thesis/fig-4.10-shadow.hed");
const NODE_SPLITTING: &str = include_str!("../../../../tests/thesis/fig-12.1-node-splitting.hed");
const PREDICATES: &str = include_str!("../../../../tests/oracle/predicates.hed");
const REVERSED_IN_PLACE: &str = "\
kernel @reversed_in_place(v0: ptr(global)) {
block0:
  v1 = local_id i64, 0
  v2 = local_size i64, 0
  v3 = sub v2, v1
  v4 = sub v3, 1
  v5 = shl v4, 2
  v6 = ptradd v0, v5
  v7 = load i32, v6
  v8 = shl v1, 2
  v9 = ptradd v0, v8
  barrier group
  store v7, v9
  ret
}
";

const STEPS: &str = "@steps(&a, 1, true) lanes=4 with a: i32 [9, 1, 6, 2] -> a: [13, 11, 2, 11]";
const STEPS_UNFLAGGED: &str = "@steps(&a, 1, false) lanes=4 with a: i32 [9, 1, 6, 2] -> a: [3, 1, 2, 1]";
const STEPS_OF_VECTORS: &str = "@steps.w4(&a, 1, true) with a: i32 [9, 1, 6, 2] -> a: [13, 11, 2, 11]";
const TRACKED: &str = "@logstar_tracked([88.38, 1.5]) lanes=2 -> [3, 1]";
const OF_VECTORS: &str = "@logstar_wide(<88.38, 1.5>) -> <3, 1>";
const SAFELOG: &str = "@safelog([1.0, -1.0, 7.38905609893065, 0.0]) lanes=4 -> [0.0, -1.0, 2.0, 0.0]";
const SAFELOG_OF_VECTORS: &str = "@safelog(<1.0, -1.0, 7.38905609893065, 0.0>) -> <0.0, -1.0, 2.0, 0.0>";
const ACTIVATED: &str =
    "@activation([false, true], &a) lanes=2 with a: i32 zero 2 -> [true, false]; a: [2, 1]";
const JOINED: &str = "@joined(&m, &d, [true, true, false, false], [true, false, true, false]) lanes=4 with m: i1 zero 4; d: i32 zero 4 -> m: [true, true, true, false]; d: [1, 1, 2, 0]";
const SELECTED: &str = "@selected(&m, &d, [true, true, false, false], [true, false, true, false]) lanes=4 with m: i1 poison 4; d: i32 zero 4 -> m: [true, true, true, false]; d: [1, 1, 2, 0]";
const GUARDS: &str = "@guards(&a, [true, false], [5, 0]) lanes=2 with a: i32 [10] -> [2, 0]";
const COUNTED: &str = "@unstructured([true, true, false, false], [false, true, true, true], &c) lanes=4 with c: i32 zero 2 -> c: [1, 3]";
const REVERSED: &str = "@reversed_in_place(&a) lanes=2 local=4 with a: i32 [1, 2, 3, 4] -> a: [4, 3, 2, 1]";

struct Wrong {
    what: &'static str,
    stage: Stage,
    right: &'static str,
    run: &'static str,
    edit: (&'static str, &'static str),
}

const fn wrong(
    what: &'static str,
    stage: Stage,
    right: &'static str,
    run: &'static str,
    edit: (&'static str, &'static str),
) -> Wrong {
    Wrong { what, stage, right, run, edit }
}

use Stage::{Linear, Source, Uniform, Wide};

const ALL: &[Wrong] = &[
    wrong(
        "predicate of a division dropped",
        Linear,
        PREDICATES,
        GUARDS,
        ("block1 [v1]:\n  v3 = load", "block1:\n  v3 = load"),
    ),
    wrong("predicate of a store dropped", Linear, ACTIVATION, ACTIVATED, ("block2 [v1]:", "block2:")),
    wrong(
        "store sunk out of its predicate",
        Linear,
        ACTIVATION,
        ACTIVATED,
        ("  store i32 2, v5\n  br block3\nblock3:", "  br block3\nblock3:\n  store i32 2, v5"),
    ),
    wrong("predicate of the other branch", Linear, ACTIVATION, ACTIVATED, ("block2 [v1]:", "block2 [v0]:")),
    wrong(
        "shadow lost",
        Source,
        SHADOW,
        JOINED,
        (" shadow(false)\n  store v6, v11 total\n  store v5", "\n  store v6, v11 total\n  store v5"),
    ),
    wrong("shadow true", Source, SHADOW, JOINED, ("shadow(false)", "shadow(true)")),
    wrong(
        "total dropped on a store of a mask",
        Linear,
        SHADOW,
        SELECTED,
        ("v5 = select v2, 1, v9\n  store v6, v11 total", "v5 = select v2, 1, v9\n  store v6, v11"),
    ),
    wrong("latch update forgotten", Uniform, STEPS_UNIFORM, STEPS, ("[block8: v10]", "[block8: v18]")),
    wrong(
        "lanes that wait lose what they left with",
        Uniform,
        STEPS_UNIFORM,
        STEPS,
        ("[block7: v18], [block1: v10]", "[block7: poison], [block1: v10]"),
    ),
    wrong(
        "live mask not updated",
        Uniform,
        STEPS_UNIFORM,
        STEPS,
        ("[block1: true], [block8: false]", "[block1: true], [block8: true]"),
    ),
    wrong(
        "guard of the loop's body dropped",
        Uniform,
        STEPS_UNIFORM,
        STEPS,
        ("br v17, block1, block9", "br true, block1, block9"),
    ),
    wrong("counter read after the loop", Uniform, STEPS_UNIFORM, STEPS, ("[block10: v18]", "[block10: v8]")),
    wrong("exit when some lane leaves", Uniform, STEPS_UNIFORM, STEPS, ("v19 = any v17", "v19 = all v17")),
    wrong(
        "select arms swapped in a blend",
        Linear,
        STEPS_LINEAR,
        STEPS,
        ("select v13, v14, v16 total", "select v13, v16, v14 total"),
    ),
    wrong("blend skipped", Linear, STEPS_LINEAR, STEPS, ("[block4: v26]", "[block4: v14]")),
    wrong(
        "total dropped on a blend",
        Linear,
        STEPS_LINEAR,
        STEPS,
        ("select v13, v14, v16 total", "select v13, v14, v16"),
    ),
    wrong(
        "edge mask by `and`",
        Linear,
        STEPS_LINEAR,
        STEPS,
        ("v25 = select v17, v20, false total", "v25 = and v17, v20 total"),
    ),
    wrong(
        "live mask by `and`",
        Linear,
        STEPS_LINEAR,
        STEPS,
        ("v21 = select v17, v11, false", "v21 = and v17, v11"),
    ),
    wrong(
        "uniform branch replaced by the divergent one",
        Linear,
        STEPS_LINEAR,
        STEPS_UNFLAGGED,
        ("br v2, block4, block5", "br v13, block4, block5"),
    ),
    wrong(
        "tracker's arms swapped",
        Linear,
        STEPS_LINEAR,
        STEPS,
        ("v22 = select v17, v10, v18", "v22 = select v17, v18, v10"),
    ),
    wrong("exit taken too early", Linear, STEPS_LINEAR, STEPS, ("v19 = any v17", "v19 = all v17")),
    wrong(
        "counter used outside instead of the tracker",
        Linear,
        LOGSTAR_TRACKED,
        TRACKED,
        ("select v6, v13, 0", "select v6, v3, 0"),
    ),
    wrong(
        "tracker forgets what it held",
        Linear,
        LOGSTAR_TRACKED,
        TRACKED,
        ("[block1: v13]", "[block1: v12]"),
    ),
    wrong(
        "`and` for an edge mask",
        Linear,
        LOGSTAR_TRACKED,
        TRACKED,
        ("v9 = select v8, v5, false total", "v9 = and v8, v5 total"),
    ),
    wrong(
        "total dropped on a live mask",
        Linear,
        LOGSTAR_TRACKED,
        TRACKED,
        ("v9 = select v8, v5, false total", "v9 = select v8, v5, false"),
    ),
    wrong(
        "total dropped on a tracker",
        Linear,
        LOGSTAR_TRACKED,
        TRACKED,
        ("v13 = select v11, v3, v12 total", "v13 = select v11, v3, v12"),
    ),
    wrong("live mask stays", Linear, LOGSTAR_TRACKED, TRACKED, ("[block1: v9]", "[block1: v8]")),
    wrong("any became all", Linear, LOGSTAR_TRACKED, TRACKED, ("any v9 total", "all v9 total")),
    wrong(
        "blend dropped after a predicate",
        Linear,
        SAFELOG_LINEAR,
        SAFELOG,
        ("select v1, v3, v0", "select true, v3, v0"),
    ),
    wrong("guard asks for all lanes", Linear, SAFELOG_LINEAR, SAFELOG, ("any v1", "all v1")),
    wrong(
        "φ of a kept branch swapped",
        Linear,
        SAFELOG_LINEAR,
        SAFELOG,
        ("[block0: v0], [block3: v5]", "[block0: v5], [block3: v0]"),
    ),
    wrong(
        "wide select arms swapped",
        Wide,
        LOGSTAR_WIDE,
        OF_VECTORS,
        ("select v11, v15, v12", "select v11, v12, v15"),
    ),
    wrong(
        "wide mask complement forgotten",
        Wide,
        LOGSTAR_WIDE,
        OF_VECTORS,
        ("xor v5, splat true", "xor v5, splat false"),
    ),
    wrong(
        "wide tracker not read",
        Wide,
        LOGSTAR_WIDE,
        OF_VECTORS,
        ("select v6, v13, splat 0", "select v6, v15, splat 0"),
    ),
    wrong("wide any became all", Wide, LOGSTAR_WIDE, OF_VECTORS, ("any v9", "all v9")),
    wrong(
        "wide tracker misses the last round",
        Wide,
        STEPS_WIDE,
        STEPS_OF_VECTORS,
        ("v22 = select v17, v28, v18", "v22 = select v11, v28, v18"),
    ),
    wrong(
        "wide counter of the round before",
        Wide,
        STEPS_WIDE,
        STEPS_OF_VECTORS,
        ("splat <4 x i32>, v10", "splat <4 x i32>, v8"),
    ),
    wrong(
        "wide blend swapped",
        Wide,
        STEPS_WIDE,
        STEPS_OF_VECTORS,
        ("select v13, v14, v18", "select v13, v18, v14"),
    ),
    wrong(
        "wide blend dropped",
        Wide,
        SAFELOG_WIDE,
        SAFELOG_OF_VECTORS,
        ("select v1, v3, v0", "select splat true, v3, v0"),
    ),
    wrong(
        "store hoisted past a barrier",
        Source,
        REVERSED_IN_PLACE,
        REVERSED,
        ("barrier group\n  store v7, v9", "store v7, v9\n  barrier group"),
    ),
    wrong(
        "load sunk past a barrier",
        Source,
        REVERSED_IN_PLACE,
        REVERSED,
        (
            "  v7 = load i32, v6\n  v8 = shl v1, 2\n  v9 = ptradd v0, v8\n  barrier group\n",
            "  v8 = shl v1, 2\n  v9 = ptradd v0, v8\n  barrier group\n  v7 = load i32, v6\n",
        ),
    ),
    wrong(
        "total dropped on a call",
        Source,
        NODE_SPLITTING,
        COUNTED,
        (
            "call @outside(v2, v3) total\n  br block4\nblock4:\n  ret\n}\n\nfunc @split",
            "call @outside(v2, v3)\n  br block4\nblock4:\n  ret\n}\n\nfunc @split",
        ),
    ),
];

/// Returns the errors of the run under each scheduler and semantics.
fn objections(text: &str, stage: Stage, run: &str) -> Vec<String> {
    let module = parse_module(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    let run = RunLine::parse(run).expect("the run is well written");
    let semantics = match stage {
        Source => vec![PassiveSemantics::Freezing],
        _ => vec![PassiveSemantics::Freezing, PassiveSemantics::Oblivious],
    };
    let mut found = Vec::new();
    for &semantics in &semantics {
        for scheduler in std::iter::once(Scheduler::Greedy).chain((0..8).map(Scheduler::Random)) {
            let shown = format!("{semantics:?}, {scheduler:?}");
            let options = RunOptions { semantics, scheduler, ..run.options.clone() };
            let ran = run.run(&module, &options).expect("the run fits the text");
            if let Some(difference) = run.check(&module, &ran).expect("the expectation fits the text") {
                found.push(format!("{shown}: {difference}"));
            }
        }
    }
    found
}

#[test]
fn every_wrong_vectorization_is_caught() {
    let mut missed = Vec::new();
    println!("{:<50} {:<12} the oracle", "what is wrong", "verifier");
    for wrong in ALL {
        let right = wrong.right.split("\n; output\n").next().unwrap_or_default();
        assert_eq!(objections(right, wrong.stage, wrong.run), Vec::<String>::new(), "{}", wrong.what);
        assert_eq!(right.matches(wrong.edit.0).count(), 1, "{}: the edit fits at one place", wrong.what);
        let text = right.replace(wrong.edit.0, wrong.edit.1);
        let module = parse_module(&text).unwrap_or_else(|errors| panic!("{}: {}", wrong.what, errors[0]));
        let verifier = if verify_module(&module, wrong.stage).is_ok() { "accepts" } else { "objects" };
        match objections(&text, wrong.stage, wrong.run).first() {
            Some(first) => println!("{:<50} {:<12} {first}", wrong.what, verifier),
            None => missed.push(wrong.what),
        }
    }
    assert!(ALL.len() >= 30);
    assert_eq!(missed, Vec::<&str>::new());
}
