//! Inverse roots are estimated only where requested; estimates keep their error bound.

use heddle_llvm::{CodegenLevel, Cpu, Jit, LlvmModule, OptimizeOptions, optimize, read_ir};
use heddle_testing::not_run::not_run;

/// A function that reads numbers from `%in` and writes the inverse of the root of each to `%out`.
fn text(lanes: u32, printed: &str) -> String {
    let ty = if lanes == 1 { "float".to_string() } else { format!("<{lanes} x float>") };
    let one = if lanes == 1 { "1.0" } else { "splat (float 1.0)" };
    format!(
        "define void @heddle.entry.f(ptr %in, ptr %out) {{
  %x = load {ty}, ptr %in, align 4
  %root = call {ty} @llvm.sqrt({ty} %x)
  %inverse = fdiv {ty} {one}, %root{printed}
  store {ty} %inverse, ptr %out, align 4
  ret void
}}
!0 = !{{}}
"
    )
}

fn optimized(text: &str, cpu: &Cpu) -> LlvmModule {
    let module = read_ir("roots.ll", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    optimize(&module, cpu, OptimizeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    module.verify().unwrap_or_else(|reason| panic!("{reason}\n{}", module.text()));
    module
}

fn cpu_named(name: &str) -> Cpu {
    Cpu::named(name).unwrap_or_else(|error| panic!("{error}"))
}

const RSQRT_MARK: &str = ", !heddle.rsqrt !0";

#[test]
fn estimates_are_used_where_machine_and_source_permit() {
    let count = |printed: &str, cpu: &str| {
        let text = optimized(&text(16, printed), &cpu_named(cpu)).text();
        text.matches("call <16 x float> @llvm.x86.avx512.rsqrt14").count()
    };
    assert_eq!(count(RSQRT_MARK, "avx512"), 1);
    assert_eq!(count("", "avx512"), 0);
    assert_eq!(count(RSQRT_MARK, "avx2"), 0);
}

/// Runs a function on these numbers, in vectors of `lanes` lanes.
fn run(lanes: u32, numbers: &[f32]) -> Vec<f32> {
    let module = optimized(&text(lanes, RSQRT_MARK), &Cpu::host());
    let jit = Jit::new(module, CodegenLevel::Default, &[]).unwrap_or_else(|error| panic!("{error}"));
    let entry = jit.entry("f").unwrap_or_else(|error| panic!("{error}"));
    let lanes = lanes as usize;
    let mut found = Vec::new();
    for some in numbers.chunks(lanes) {
        let mut input = vec![0u8; 4 * lanes];
        let mut output = vec![0u8; 4 * lanes];
        for (place, number) in input.chunks_mut(4).zip(some) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        // SAFETY: the function reads and writes as many floats as the buffers hold.
        unsafe { entry.call(&input, &mut output) };
        let number = |at: usize| f32::from_le_bytes([0, 1, 2, 3].map(|byte| output[4 * at + byte]));
        found.extend((0..some.len()).map(number));
    }
    found
}

/// Returns the error in ulps.
fn units_off(found: f32, exact: f64) -> f64 {
    let near = exact as f32;
    let unit = f64::from(f32::from_bits(near.to_bits() + 1)) - f64::from(near);
    (f64::from(found) - exact).abs() / unit
}

#[test]
fn estimates_are_as_exact_as_promised() {
    if Cpu::host().vector_bits() < 512 {
        return not_run("estimates of roots", "this machine has no AVX-512");
    }
    let special = [
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        -1.0,
        f32::MAX,
        1e-45,
        3e-39,
        f32::MIN_POSITIVE,
    ];
    // All exponents, those of subnormal numbers among them, and mantissas all over.
    let positive = (0..0x7f80_0000u32).step_by(20_011).map(f32::from_bits);
    let numbers: Vec<f32> = special.into_iter().chain(positive).collect();
    let expected = run(16, &numbers);
    let mut worst = 0f64;
    for (&x, &found) in numbers.iter().zip(&expected) {
        let exact = 1.0 / f64::from(x).sqrt();
        match exact {
            _ if exact.is_nan() => assert!(found.is_nan(), "{found} of {x}"),
            _ if exact.is_finite() && exact != 0.0 => worst = worst.max(units_off(found, exact)),
            _ => assert_eq!(found.to_bits(), (exact as f32).to_bits(), "{x}"),
        }
    }
    assert!(worst <= 1.5, "{worst} units");
    // Any number of lanes gives the same results.
    for lanes in [1, 2, 3, 4, 5, 8, 12, 24, 32, 33, 64] {
        for (at, (found, expected)) in run(lanes, &numbers).into_iter().zip(&expected).enumerate() {
            assert_eq!(found.to_bits(), expected.to_bits(), "{} in {lanes} lanes", numbers[at]);
        }
    }
}
