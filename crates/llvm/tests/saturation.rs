//! Saturating vector conversions use vector instructions.

use heddle_ir::text::parse_module;
use heddle_llvm::{CodegenLevel, Cpu, EmitOptions, Jit, OptimizeOptions, emit, optimize};

/// Returns numbers around the bounds of all integer types, between them, and NaN.
fn numbers() -> Vec<f64> {
    let ends = [7, 8, 15, 16, 24, 31, 32, 53, 63, 64].map(|bits| 2f64.powi(bits));
    let around = |end: f64| [end - 1.0, end - 0.5, end, end + 1.0, end * 1.000001, end * 0.999999];
    let mut all: Vec<f64> = ends.into_iter().flat_map(around).collect();
    all.extend([0.0, 0.25, 0.999, 1.5, 100.7, 1e-40, 1e30, f64::MAX, f64::INFINITY, f64::NAN]);
    let negative: Vec<f64> = all.iter().map(|number| -number).collect();
    all.extend(negative);
    all.resize(all.len().next_multiple_of(16), 0.0);
    all
}

/// Returns the results of native code for vectors of 16 numbers.
fn converted(op: &str, float: &str, bits: usize, numbers: &[u8]) -> Vec<u8> {
    let bytes = if float == "f32" { 4 } else { 8 };
    let text = format!(
        "func @f(v0: ptr, v1: ptr) {{\nblock0:\n  v2 = load <16 x {float}>, v0 align 1\n  v3 = {op} <16 x i{bits}>, v2\n  store v3, v1 align 1\n  ret\n}}\n"
    );
    let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let options = EmitOptions { entries: true, ..EmitOptions::default() };
    let llvm = emit(&module, options).unwrap_or_else(|error| panic!("{error}"));
    optimize(&llvm, &Cpu::host(), OptimizeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(!(Cpu::host().is_x86() && llvm.text().contains(".sat.")), "{}", llvm.text());
    let jit = Jit::new(llvm, CodegenLevel::Default, &[]).unwrap_or_else(|error| panic!("{error}"));
    let entry = jit.entry("f").unwrap_or_else(|error| panic!("{error}"));
    let mut result = Vec::new();
    for numbers in numbers.chunks(16 * bytes) {
        let mut part = vec![0u8; 2 * bits];
        let places = [numbers.as_ptr().addr(), part.as_mut_ptr().addr()];
        let arguments = places.map(|place| (place as u128).to_le_bytes()).concat();
        // SAFETY: the function reads sixteen numbers and writes as many; both are there.
        unsafe { entry.call(&arguments, &mut []) };
        result.extend(part);
    }
    result
}

/// Rust's scalar casts are the reference.
macro_rules! check {
    ($float:ty, $name:literal, $($op:literal $int:ty),*) => {{
        let numbers: Vec<$float> = numbers().into_iter().map(|number| number as $float).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        $({
            let size = size_of::<$int>();
            let found = converted($op, $name, 8 * size, &bytes);
            for (number, found) in numbers.iter().zip(found.chunks(size)) {
                let expected = (*number as $int).to_le_bytes();
                assert_eq!(found, expected, "{number:?} to {}", stringify!($int));
            }
        })*
    }};
}

#[test]
fn vectors_saturate_as_scalars_do() {
    check!(f32, "f32", "fptosi_sat" i8, "fptosi_sat" i16, "fptosi_sat" i32, "fptosi_sat" i64);
    check!(f32, "f32", "fptoui_sat" u8, "fptoui_sat" u16, "fptoui_sat" u32, "fptoui_sat" u64);
    check!(f64, "f64", "fptosi_sat" i8, "fptosi_sat" i16, "fptosi_sat" i32, "fptosi_sat" i64);
    check!(f64, "f64", "fptoui_sat" u8, "fptoui_sat" u16, "fptoui_sat" u32, "fptoui_sat" u64);
}
