//! Prefetches: of masked accesses for CPUs whose prefetcher ignores them, and of what follows an access with the flag `ahead`.

use heddle_ir::text::parse_module;
use heddle_llvm::{Cpu, EmitOptions, LlvmModule, OptimizeOptions, emit, optimize};

/// A masked load and store of two cache lines each; a load with a constant mask; a load of a stack object.
const TEXT: &str = "
func @f(v0: ptr, v1: ptr, v2: <32 x i1>, v3: i64) {
block0:
  v4 = masked_load <32 x i32>, v0, v2, splat 0
  masked_store v4, v1, v2
  v5 = masked_load <32 x i32>, v1, splat true, poison
  store v5, v0
  v6 = alloca 256 align 128
  store v5, v6
  v7 = ptradd v6, v3
  v8 = masked_load <32 x i32>, v7, v2, v5
  store v8, v1
  ret
}
";

/// Returns the kinds of prefetches in the code for a CPU: 0 read, 1 write.
fn prefetches(cpu: &str) -> Vec<char> {
    let module = parse_module(TEXT).unwrap_or_else(|errors| panic!("{errors:?}"));
    let llvm = emit(&module, EmitOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let cpu = Cpu::named(cpu).unwrap_or_else(|error| panic!("{error}"));
    optimize(&llvm, &cpu, OptimizeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    kinds_of_prefetches(&llvm)
}

fn kinds_of_prefetches(llvm: &LlvmModule) -> Vec<char> {
    let text = llvm.text();
    let calls = text.lines().filter(|line| line.contains("call void @llvm.prefetch"));
    let purpose = |line: &str| line.split_once(", i32 ").and_then(|(_, rest)| rest.chars().next());
    calls.filter_map(purpose).collect()
}

#[test]
fn lines_under_open_masks_are_announced_where_that_helps() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    assert_eq!(prefetches("znver4"), ['0', '0', '1', '1']);
    assert_eq!(prefetches("sapphirerapids"), []);
    assert_eq!(prefetches("znver3"), []);
}

/// A store and a load of two cache lines each, what follows which is accessed next; a store without a hint.
const HINTED: &str = "
func @f(v0: ptr, v1: ptr, v2: <32 x i1>) {
block0:
  v3 = load ahead <32 x i32>, v0
  store ahead v3, v1
  v4 = ptradd v1, i64 4096
  store v3, v4
  masked_store ahead v3, v0, v2
  ret
}
";

#[test]
fn lines_that_follow_are_fetched_where_a_hint_says_so() {
    let module = parse_module(HINTED).unwrap_or_else(|errors| panic!("{errors:?}"));
    let llvm = emit(&module, EmitOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(kinds_of_prefetches(&llvm), ['0', '0', '1', '1', '1', '1']);
    let distances: Vec<String> = llvm.text().matches("i64 256").map(String::from).collect();
    assert_eq!(distances.len(), 3, "{}", llvm.text());
}
