//! LLVM vectorizes loops of the source where an option requests it.

use heddle_ir::text::parse_module;
use heddle_llvm::{Cpu, EmitOptions, OptimizeOptions, SourceLoops, emit, optimize};

/// A loop that adds contiguous numbers.
const TEXT: &str = "
func @f(v0: ptr, v1: ptr, v2: i64) {
block0:
  br block1
block1:
  v3 = phi i64 [block0: 0], [block1: v9]
  v4 = shl v3, 2
  v5 = ptradd v0, v4
  v6 = load i32, v5
  v7 = add v6, 1
  v8 = ptradd v1, v4
  store v7, v8
  v9 = add v3, 1
  v10 = icmp ult v9, v2
  br v10, block1, block2
block2:
  ret
}
";

fn has_vectors(loops: SourceLoops) -> bool {
    let module = parse_module(TEXT).unwrap_or_else(|errors| panic!("{errors:?}"));
    let llvm = emit(&module, EmitOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    optimize(&llvm, &Cpu::host(), OptimizeOptions { loops, ..OptimizeOptions::default() })
        .unwrap_or_else(|error| panic!("{error}"));
    llvm.text().lines().any(|line| line.contains(" x i32>"))
}

#[test]
fn loops_are_vectorized_on_demand() {
    assert!(has_vectors(SourceLoops::Vectorized));
    assert!(!has_vectors(SourceLoops::Scalar));
}
