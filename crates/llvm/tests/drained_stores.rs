//! A sequentially consistent store is emitted in the order `release` only where a later operation of its block waits for it.

use heddle_ir::text::parse_module;
use heddle_llvm::{EmitOptions, emit};

/// Returns the orders of the stores that a function with these instructions has in LLVM IR.
fn orders(body: &str) -> Vec<&'static str> {
    let text = format!("func @f(v0: ptr, v1: ptr, v2: i32) {{\nblock0:\n{body}  ret\n}}\n");
    let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let llvm = emit(&module, EmitOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let emitted = llvm.text();
    let stores = emitted.lines().filter(|line| line.contains("store "));
    stores
        .map(|line| match () {
            () if line.contains(" seq_cst") => "seq_cst",
            () if line.contains(" release") => "release",
            () => "plain",
        })
        .collect()
}

const ONE: &str = "  store v2, v0 atomic seq_cst system\n";
const OTHER: &str = "  store v2, v1 atomic seq_cst device\n";

#[test]
fn a_later_store_exchange_or_fence_waits_for_the_store() {
    assert_eq!(orders(ONE), ["seq_cst"]);
    assert_eq!(orders(&[ONE, OTHER, ONE].concat()), ["release", "release", "seq_cst"]);
    let plain = "  store v2, v1\n  v3 = load i32, v1\n  v4 = add v3, v2\n";
    assert_eq!(orders(&[ONE, plain, OTHER].concat()), ["release", "plain", "seq_cst"]);
    for last in [
        "  v5 = atomic_rmw add v1, v2 seq_cst device\n",
        "  v5, v6 = cmpxchg v1, v2, v2 seq_cst, relaxed device\n",
        "  fence seq_cst device\n",
    ] {
        assert_eq!(orders(&[ONE, last].concat()), ["release"], "{last}");
    }
}

#[test]
fn what_may_not_pass_the_store_comes_before_the_wait() {
    for between in [
        "  v5 = load i32, v1 atomic seq_cst device\n",
        "  v5 = load i32, v1 atomic acquire device\n",
        "  v5 = atomic_rmw add v1, v2 relaxed device\n",
        "  v5 = load volatile i32, v1\n",
        "  fence seq_cst lane\n  v5 = load i32, v1 atomic seq_cst device\n",
        "  br block1\nblock1:\n",
    ] {
        assert_eq!(orders(&[ONE, between, OTHER].concat()), ["seq_cst", "seq_cst"], "{between}");
    }
    assert_eq!(orders(&[ONE, "  fence seq_cst lane\n"].concat()), ["seq_cst"]);
    assert_eq!(orders(&["  store v2, v0 atomic seq_cst lane\n", OTHER].concat()), ["seq_cst", "seq_cst"]);
    assert_eq!(orders(&["  store v2, v0 atomic relaxed device\n", OTHER].concat()), ["plain", "seq_cst"]);
}
