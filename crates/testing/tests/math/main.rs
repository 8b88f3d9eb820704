//! The mathematical functions: how far off they are, and that their bits are the same wherever they run.
//!
//! `HEDDLE_ULP=all` looks at each f32 there is, for hours; otherwise at one in some thousands.

mod library;
mod text;
mod truth;
mod wide;

use heddle_compiler::Session;
use heddle_compiler::math::{Accuracy, FUNCTIONS, MathFunction};
use heddle_interp::{Argument, Datum, Memory, RunOptions, run};
use heddle_ir::text::parse_module;
use heddle_ir::{Module, Type};
use heddle_llvm::{compile, import};
use heddle_testing::generate::Random;
use library::Library;
use std::path::{Path, PathBuf};
use truth::{Worst, edges, ulps_f32, worst_of};
use wide::{Wide, caller};

/// The bound of `Accuracy::Exact`.
const MOST_ULPS: f64 = 1.0;
/// The bound of `Accuracy::Fast`.
const MOST_ULPS_FAST: f64 = 4.0;

/// The greatest error of a function in vectors.
fn worst_in_vectors(own: &MathFunction, accuracy: Accuracy) -> Worst {
    let lanes = if own.ty == Type::F32 { 16 } else { 8 };
    let wide = Wide::new(caller(own), "f", lanes, accuracy);
    worst_of(own, &|columns| wide.call(columns))
}

/// Prints the errors of functions; none may be greater than a bound.
fn judge(
    bound: f64,
    functions: impl Iterator<Item = &'static MathFunction>,
    worst_of: &dyn Fn(&MathFunction) -> Worst,
) {
    let mut wrong = Vec::new();
    for own in functions {
        let worst = worst_of(own);
        let line = format!("{:8} {:.3} ULP at {:?}", own.name, worst.ulps, worst.at);
        println!("{line}");
        if worst.ulps > bound {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn all_of(ty: Type) -> impl Iterator<Item = &'static MathFunction> {
    FUNCTIONS.iter().filter(move |own| own.ty == ty)
}

#[test]
fn f32_is_within_one_unit() {
    judge(MOST_ULPS, all_of(Type::F32), &|own| worst_in_vectors(own, Accuracy::Exact));
}

#[test]
fn f64_is_within_one_unit() {
    judge(MOST_ULPS, all_of(Type::F64), &|own| worst_in_vectors(own, Accuracy::Exact));
}

#[test]
fn fast_is_within_four_units() {
    let faster = FUNCTIONS.iter().filter(|own| own.fast.is_some());
    judge(MOST_ULPS_FAST, faster, &|own| worst_in_vectors(own, Accuracy::Fast));
}

/// The sources of the functions as a library over arrays, which clang builds with the plugin, all of its loops marked.
#[test]
fn marked_loops_over_the_sources_are_within_one_unit_and_have_the_bits_of_scalar_code() {
    let Some([scalar, vector]) = Library::both() else { return };
    for own in FUNCTIONS {
        assert!(vector.is_vectorized(own), "{}: {}", own.name, vector.printed[own.name]);
    }
    judge(MOST_ULPS, FUNCTIONS.iter(), &|own| {
        worst_of(own, &|columns| {
            let (expected, found) = (scalar.call(own, columns), vector.call(own, columns));
            let differs = expected.iter().zip(&found).position(|(&a, &b)| !same(a, b, own.ty));
            let at = |index: usize| columns.iter().map(|column| column[index]).collect::<Vec<u64>>();
            assert_eq!(differs.map(at), None, "{}: vector code has other bits than scalar code", own.name);
            found
        })
    });
}

fn same(a: u64, b: u64, ty: Type) -> bool {
    let is_nan = |bits: u64| match ty {
        Type::F32 => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    };
    a == b || is_nan(a) && is_nan(b)
}

/// Returns the interpreter's results by lane.
fn by_oracle(module: &Module, name: &str, columns: &[Vec<u64>]) -> Vec<u64> {
    let lanes = columns[0].len();
    let column =
        |bits: &Vec<u64>| Argument::Varying(bits.iter().map(|&bits| Datum::Bits(bits.into())).collect());
    let args: Vec<Argument> = columns.iter().map(column).collect();
    let outcome = run(module, name, &args, &mut Memory::new(), &RunOptions::lanes(lanes as u32))
        .unwrap_or_else(|fault| panic!("@{name}: {fault}"));
    let bits = |datum: &Datum| match datum {
        Datum::Bits(bits) => *bits as u64,
        Datum::Poison => panic!("@{name} gives poison"),
    };
    outcome.results[0].iter().map(bits).collect()
}

#[test]
fn bits_are_the_same_on_the_oracle_and_in_vectors_of_any_width() {
    for own in FUNCTIONS {
        let mut random = Random::new(3);
        let mut number = |round: u32| {
            let any = random.bits() & u64::from(u32::MAX);
            match (own.ty, round % 3) {
                (Type::F32, 0) => any,
                (Type::F32, _) => u64::from((any as i32 as f32 / 3e8).to_bits()),
                (_, 0) => any << 32 | any,
                _ => (f64::from(any as i32) / 3e8).to_bits(),
            }
        };
        let mut columns: Vec<Vec<u64>> =
            (0..own.params).map(|_| (0..96).map(&mut number).collect()).collect();
        for (index, edge) in edges().into_iter().enumerate().take(32) {
            let bits = if own.ty == Type::F32 { edge.to_bits().into() } else { f64::from(edge).to_bits() };
            columns.iter_mut().for_each(|column| column[index] = bits);
        }
        let mut scalar = caller(own);
        Session::default()
            .run_passes(&mut scalar, &["math:exact"], true, |_, _| {})
            .unwrap_or_else(|error| panic!("{error}"));
        let expected = by_oracle(&scalar, "f", &columns);
        for lanes in [2, 4, 8, 16, 32] {
            let found = Wide::new(caller(own), "f", lanes, Accuracy::Exact).call(&columns);
            for index in 0..expected.len() {
                let at: Vec<u64> = columns.iter().map(|column| column[index]).collect();
                assert!(
                    same(expected[index], found[index], own.ty),
                    "{} of {at:x?} in {lanes} lanes: {:x} on the oracle, {:x} natively",
                    own.name,
                    expected[index],
                    found[index]
                );
            }
        }
    }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/math").join(name)
}

#[test]
fn divergent_programs_get_the_same_bits_natively_as_on_the_oracle() {
    let llvm =
        compile(&file("divergent.c"), 1, &["-ffp-contract=off"]).unwrap_or_else(|error| panic!("{error}"));
    let imported = import(&llvm);
    assert!(imported.refused.is_empty(), "{}", imported.refused[0]);
    let mut random = Random::new(5);
    for name in ["arms", "rounds", "angles"] {
        let mut column = || -> Vec<u64> {
            let number = |_| u64::from((random.between(0, 16000) as f32 / 1000.0 - 8.0).to_bits());
            (0..32).map(number).collect()
        };
        let columns = [column(), column()];
        let mut scalar = imported.module.clone();
        Session::default()
            .run_passes(&mut scalar, &["math:exact"], true, |_, _| {})
            .unwrap_or_else(|error| panic!("{error}"));
        let expected = by_oracle(&scalar, name, &columns);
        for lanes in [4, 8, 16] {
            let found = Wide::new(imported.module.clone(), name, lanes, Accuracy::Exact).call(&columns);
            assert_eq!(expected, found, "@{name}, {lanes} lanes");
        }
    }
}

#[test]
fn an_error_of_two_units_is_noticed() {
    let off = f32::from_bits(1.0f32.to_bits() + 2);
    assert!(
        ulps_f32(off, 1.0) > MOST_ULPS && ulps_f32(f32::from_bits(1.0f32.to_bits() + 1), 1.0) <= MOST_ULPS
    );
    assert!(ulps_f32(0.0, -0.0) > MOST_ULPS && ulps_f32(1.0, f64::NAN) > MOST_ULPS);
    assert!(ulps_f32(f32::INFINITY, 3.4e38) > MOST_ULPS && ulps_f32(f32::INFINITY, 1e300) == 0.0);
}

#[test]
fn floats_of_16_bits_go_by_way_of_f32() {
    let llvm = compile(&file("half.ll"), 1, &[]).unwrap_or_else(|error| panic!("{error}"));
    let imported = import(&llvm);
    assert!(imported.refused.is_empty(), "{}", imported.refused[0]);
    let mut module = imported.module;
    Session::default()
        .run_passes(&mut module, &["math:exact"], true, |_, _| {})
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(module.declarations.is_empty(), "{:?}", module.declarations);
    // sin 1 and e.
    assert_eq!(by_oracle(&module, "f", &[vec![0x3c00, 0]]), [0x3abb, 0]);
    assert_eq!(by_oracle(&module, "g", &[vec![0x3f80, 0]]), [0x402e, 0x3f80]);
}

#[test]
fn functions_that_are_the_programs_own_stay_its_own() {
    let text = "func @expf(v0: f32) -> f32 {\nblock0:\n  ret v0\n}\nfunc @f(v0: f32) -> f32 {\nblock0:\n  v1 = call @expf(v0)\n  ret v1\n}\n";
    let mut module = parse_module(text).expect("it parses");
    Session::default().run_passes(&mut module, &["math:exact"], true, |_, _| {}).expect("it runs");
    assert_eq!(module.functions.len(), 2);
    // Nor is what has other types than C's function.
    let text = "declare @expf(f64) -> f64 pure\nfunc @f(v0: f64) -> f64 {\nblock0:\n  v1 = call @expf(v0)\n  ret v1\n}\n";
    let mut module = parse_module(text).expect("it parses");
    Session::default().run_passes(&mut module, &["math:exact"], true, |_, _| {}).expect("it runs");
    assert_eq!((module.functions.len(), module.declarations.len()), (1, 1));
}
