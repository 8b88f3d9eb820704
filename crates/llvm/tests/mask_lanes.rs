//! A lane of a mask by its number is a bit of a register, without a store of all lanes.

use heddle_ir::text::parse_module;
use heddle_llvm::{
    CodeFormat, CodegenLevel, Cpu, EmitOptions, Jit, LlvmModule, OptimizeOptions, emit, generate, optimize,
};

const CPUS: [&str; 3] = ["sse4.2", "x86-64-v3", "x86-64-v4"];

/// Compiles `f(numbers, index, out)`, which replaces the numbers up to 0 by 0, and stores a lane of the mask of the others.
fn compiled(cpu: &str, lanes: usize) -> LlvmModule {
    let text = format!(
        "func @f(v0: ptr, v1: ptr, v2: ptr) {{\nblock0:\n  v4 = load <{lanes} x i32>, v0 align 4\n  v5 = icmp sgt v4, splat 0\n  \
         v9 = select v5, v4, splat 0\n  store v9, v0 align 4\n  v6 = load i32, v1 align 4\n  v7 = extract v5, v6\n  v8 = zext i32, v7\n  store v8, v2 align 4\n  ret\n}}\n"
    );
    let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let options = EmitOptions { entries: true, ..EmitOptions::default() };
    let llvm = emit(&module, options).unwrap_or_else(|error| panic!("{error}"));
    let cpu = Cpu::named(cpu).unwrap_or_else(|error| panic!("{error}"));
    optimize(&llvm, &cpu, OptimizeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    llvm
}

#[test]
fn masks_are_not_stored_for_a_lane() {
    for (name, lanes) in CPUS.into_iter().flat_map(|name| [4, 8, 16, 32, 64].map(|lanes| (name, lanes))) {
        let llvm = compiled(name, lanes);
        let cpu = Cpu::named(name).unwrap_or_else(|error| panic!("{error}"));
        let assembly = generate(&llvm, &cpu, CodeFormat::Assembly).unwrap_or_else(|error| panic!("{error}"));
        let assembly = String::from_utf8_lossy(&assembly).into_owned();
        assert!(!assembly.contains("(%rsp,"), "{name}, {lanes} lanes: {assembly}");
    }
}

#[test]
fn lanes_are_those_of_the_mask() {
    let host = Cpu::host();
    if !host.is_x86() {
        return;
    }
    let widths = [0, 256, 512];
    let here = CPUS.into_iter().zip(widths).filter(|&(_, bits)| host.vector_bits() >= bits);
    for (cpu, lanes) in here.flat_map(|(cpu, _)| [2, 4, 8, 16, 32, 64, 128].map(|lanes| (cpu, lanes))) {
        let jit = Jit::new(compiled(cpu, lanes), CodegenLevel::Default, &[]);
        let jit = jit.unwrap_or_else(|error| panic!("{error}"));
        let entry = jit.entry("f").unwrap_or_else(|error| panic!("{error}"));
        let numbers: Vec<i32> = (0..lanes as i32).map(|lane| lane * 7 % 5 - 2).collect();
        for (index, &number) in (0u32..).zip(&numbers) {
            let (mut out, mut changed) = (7u32, numbers.clone());
            let places = [
                changed.as_mut_ptr().expose_provenance(),
                std::ptr::from_ref(&index).addr(),
                std::ptr::from_mut(&mut out).expose_provenance(),
            ];
            let arguments = places.map(|place| (place as u128).to_le_bytes()).concat();
            // SAFETY: the vector, the index and the result are there.
            unsafe { entry.call(&arguments, &mut []) };
            assert_eq!(out, u32::from(number > 0), "{cpu}: lane {index} of {lanes}");
        }
    }
}
