//! A callee is vectorized for what its arguments are: what comes out of a call and its form are the instructions that inlining
//! the callee before vectorization would have given.

use heddle_compiler::Session;
use heddle_ir::{Function, Module, Op, parse_bytes};
use heddle_transform::inline::inline_calls;

const PASSES: [&str; 7] =
    ["canonicalize", "specialize:8", "loops", "linearize", "tidy", "widen:8", "simplify"];

/// Callers with what they call: of each the first function is the entry.
const CASES: &[(&str, &str)] = &[
    (
        "a uniform pointer and a linear index",
        "\
func @f(v0: ptr uniform, v1: i64 linear(1)) -> f32 {
block0:
  v2 = call @at(v0, v1)
  v3 = add v1, 100
  v4 = call @at(v0, v3)
  v5 = fadd v2, v4
  ret v5
}

func @at(v0: ptr, v1: i64) -> f32 {
block0:
  v2 = shl v1, 2
  v3 = ptradd v0, v2
  v4 = load f32, v3
  ret v4
}
",
    ),
    (
        "fields of structures side by side",
        "\
func @f(v0: ptr uniform align 16, v1: i64 uniform) -> f32 {
block0:
  v2 = lane i64
  v3 = shl v1, 3
  v4 = add v2, v3
  v5 = call @at(v0, v4)
  ret v5
}

func @at(v0: ptr, v1: i64) -> f32 {
block0:
  v2 = shl v1, 3
  v3 = ptradd v0, v2
  v4 = load f32, v3
  v5 = ptradd v3, i64 4
  v6 = load f32, v5
  v7 = fmul v4, v6
  ret v7
}
",
    ),
    (
        "an index of 32 bits, aligned so that it does not wrap around",
        "\
func @f(v0: ptr uniform, v1: i32 uniform) -> f32 {
block0:
  v2 = lane i32
  v3 = shl v1, 3
  v4 = add v2, v3
  v5 = call @at(v0, v4)
  ret v5
}

func @at(v0: ptr, v1: i32) -> f32 {
block0:
  v2 = sext i64, v1
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = load f32, v4
  ret v5
}
",
    ),
    (
        "a pointer that steps, backwards, and a store",
        "\
func @f(v0: ptr uniform, v1: ptr uniform, v2: i64 linear(-4), v3: i32 varying) {
block0:
  v4 = ptradd v0, v2
  call @put(v4, v1, v3)
  ret
}

func @put(v0: ptr, v1: ptr, v2: i32) effects(reads, writes) {
block0:
  v3 = load i32, v1
  v4 = add v3, v2
  store v4, v0
  ret
}
",
    ),
    (
        "a loop in the callee",
        "\
func @f(v0: ptr uniform, v1: i64 linear(1), v2: i64 uniform) -> f32 {
block0:
  v3 = call @sum(v0, v1, v2)
  ret v3
}

func @sum(v0: ptr, v1: i64, v2: i64) -> f32 {
block0:
  br block1
block1:
  v3 = phi i64 [block0: 0], [block1: v9]
  v4 = phi f32 [block0: 0.0], [block1: v10]
  v5 = mul v3, v2
  v6 = add v5, v1
  v7 = shl v6, 2
  v8 = ptradd v0, v7
  v11 = load f32, v8
  v10 = fadd v4, v11
  v9 = add v3, 1
  v12 = icmp slt v9, 9
  br v12, block1, block2
block2:
  ret v10
}
",
    ),
    (
        "a callee of a callee",
        "\
func @f(v0: ptr uniform, v1: i64 linear(1)) -> f32 {
block0:
  v2 = call @twice(v0, v1)
  ret v2
}

func @twice(v0: ptr, v1: i64) -> f32 {
block0:
  v2 = sub v1, 1
  v3 = call @at(v0, v2)
  v4 = call @at(v0, v1)
  v5 = fadd v3, v4
  ret v5
}

func @at(v0: ptr, v1: i64) -> f32 {
block0:
  v2 = shl v1, 2
  v3 = ptradd v0, v2
  v4 = load f32, v3
  ret v4
}
",
    ),
];

fn run(module: &mut Module, passes: &[&str], verify: bool) {
    Session::default()
        .run_passes(module, passes, verify, |_, _| ())
        .unwrap_or_else(|message| panic!("{message}"));
}

/// Operations with their types, whatever their order.
fn operations(func: &Function) -> Vec<String> {
    let insts = func.blocks().flat_map(|block| func.block_insts(block));
    let written = insts.filter(|&inst| func.inst(inst).op != Op::Br).map(|inst| {
        let data = func.inst(inst);
        let types: Vec<String> = func
            .results(inst)
            .iter()
            .chain(&data.args)
            .map(|&value| func.value_type(value).to_string())
            .collect();
        format!("{} {}", data.op, types.join(" "))
    });
    let mut all: Vec<String> = written.collect();
    all.sort();
    all
}

/// Returns the instructions of the entry and of its callees, with inlining before or after the passes.
fn vectorized(text: &str, is_inlined_before: bool) -> Vec<String> {
    let mut module = parse_bytes(text.as_bytes()).unwrap_or_else(|message| panic!("{message:?}\n{text}"));
    if is_inlined_before {
        run(&mut module, &["inline"], true);
    }
    run(&mut module, &PASSES, true);
    if !is_inlined_before {
        let count = inline_calls(&mut module, |_| true);
        assert!(count > 0, "nothing is called\n{module}");
        // By itself it is taken for one of stage Source.
        run(&mut module, &["simplify"], false);
    }
    operations(module.function("f.w8").unwrap_or_else(|| panic!("no wide form\n{module}")))
}

#[test]
fn a_call_gives_the_code_that_inlining_would() {
    for (name, text) in CASES {
        assert_eq!(vectorized(text, false), vectorized(text, true), "{name}");
    }
}

#[test]
fn private_addresses_give_no_facts() {
    let text = "\
func @f(v0: i32 varying) -> i32 {
block0:
  v1 = alloca 4 align 4
  v2 = space_cast ptr, v1
  store v0, v1
  v3 = call @get(v2)
  ret v3
}

func @get(v0: ptr) -> i32 {
block0:
  v1 = load i32, v0
  ret v1
}
";
    let mut module = parse_bytes(text.as_bytes()).expect("it is well-formed");
    run(&mut module, &PASSES[..2], true);
    assert!(module.function("get.v").is_some(), "{module}");
}
