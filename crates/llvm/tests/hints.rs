//! Nontemporal loads compile, also where LLVM uses a single lane of a vector.

use heddle_ir::text::parse_module;
use heddle_llvm::{CodegenLevel, Cpu, EmitOptions, Jit, OptimizeOptions, emit, optimize};

/// LLVM narrows the vector load to one byte, and could not select that with the hint.
const TEXT: &str = "
func @f(v0: ptr, v1: ptr) {
block0:
  v2 = masked_load nontemporal <16 x i32>, v0, splat true, poison
  v3 = extract v2, i32 0
  v4 = trunc i8, v3
  memset v1, v4, i64 4
  ret
}
";

#[test]
fn one_lane_of_a_hinted_load_is_used() {
    for level in [CodegenLevel::Minimal, CodegenLevel::Default] {
        let module = parse_module(TEXT).unwrap_or_else(|errors| panic!("{errors:?}"));
        let options = EmitOptions { entries: true, ..EmitOptions::default() };
        let llvm = emit(&module, options).unwrap_or_else(|error| panic!("{error}"));
        if level == CodegenLevel::Default {
            optimize(&llvm, &Cpu::host(), OptimizeOptions::default())
                .unwrap_or_else(|error| panic!("{error}"));
        }
        let jit = Jit::new(llvm, level, &[]).unwrap_or_else(|error| panic!("{error}"));
        let entry = jit.entry("f").unwrap_or_else(|error| panic!("{error}"));
        let (from, mut to) = ([0x0403_0205; 16], [0u32; 2]);
        let places = [(&raw const from).addr(), (&raw mut to).addr()];
        let arguments = places.map(|place| (place as u128).to_le_bytes()).concat();
        // SAFETY: the function reads the one and writes the start of the other; both live.
        unsafe { entry.call(&arguments, &mut []) };
        assert_eq!(to, [0x0505_0505, 0]);
    }
}
