//! Shuffles by an index per lane use the machine's permutations.

use heddle_ir::text::parse_module;
use heddle_llvm::{CodegenLevel, Cpu, EmitOptions, Jit, OptimizeOptions, emit, optimize};

/// Returns a function that shuffles words, in memory.
fn shuffle_text(lanes: usize, ty: &str, index: &str) -> String {
    format!(
        "func @f(v0: ptr, v1: ptr, v2: ptr) {{\nblock0:\n  v3 = load <{lanes} x {ty}>, v0 align 1\n  v4 = load <{lanes} x {index}>, v1 align 1\n  v5 = shuffle v3, v4\n  store v5, v2 align 1\n  ret\n}}\n"
    )
}

/// Checks shuffles of so many lanes natively; returns the optimized LLVM IR for a CPU.
fn check(cpu: &Cpu, lanes: usize, ty: &str, index: &str) -> String {
    let text = shuffle_text(lanes, ty, index);
    let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let options = EmitOptions { entries: true, ..EmitOptions::default() };
    let llvm = emit(&module, options).unwrap_or_else(|error| panic!("{error}"));
    optimize(&llvm, cpu, OptimizeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let optimized = llvm.text();
    let jit = Jit::new(llvm, CodegenLevel::Default, &[]).unwrap_or_else(|error| panic!("{error}"));
    let entry = jit.entry("f").unwrap_or_else(|error| panic!("{error}"));
    let words: Vec<u32> = (0..lanes as u32).map(|lane| 0x3f00_0001 + 77 * lane).collect();
    for (factor, offset) in [(1, 0), (1, 1), (7, 3), (lanes - 1, lanes - 1), (0, lanes - 1), (0, lanes / 2)] {
        let numbers: Vec<usize> = (0..lanes).map(|lane| (factor * lane + offset) % lanes).collect();
        let input: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let bytes = if index == "i8" { 1 } else { 4 };
        let indices: Vec<u8> =
            numbers.iter().flat_map(|&number| (number as u32).to_le_bytes()[..bytes].to_vec()).collect();
        let mut found = vec![0u8; 4 * lanes];
        let places = [input.as_ptr().addr(), indices.as_ptr().addr(), found.as_mut_ptr().addr()];
        let arguments = places.map(|place| (place as u128).to_le_bytes()).concat();
        // SAFETY: the function reads the words and their indices and writes as many words; all are there.
        unsafe { entry.call(&arguments, &mut []) };
        let expected: Vec<u8> = numbers.iter().flat_map(|&number| words[number].to_le_bytes()).collect();
        assert_eq!(found, expected, "{lanes} lanes of {ty} by {factor}, {offset}");
    }
    optimized
}

#[test]
fn lanes_of_several_registers_are_permuted() {
    let host = Cpu::host();
    let narrower = Cpu::named("avx2").unwrap_or_else(|error| panic!("{error}"));
    let has_both = host.is_x86() && host.vector_bits() > narrower.vector_bits();
    for cpu in [Some(host), has_both.then_some(narrower)].into_iter().flatten() {
        for lanes in [4, 8, 16, 24, 32, 64] {
            for (ty, index) in [("i32", "i32"), ("f32", "i32"), ("i32", "i8")] {
                let text = check(&cpu, lanes, ty, index);
                let is_wide = lanes.is_power_of_two() && lanes as u32 * 32 > cpu.vector_bits();
                if cpu.is_x86() && cpu.vector_bits() >= 256 && is_wide {
                    assert!(text.contains("@llvm.x86.avx") && !text.contains("insertelement"), "{text}");
                }
            }
        }
    }
}
