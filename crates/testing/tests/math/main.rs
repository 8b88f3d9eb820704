//! The mathematical functions: how far off they are, and that their bits are the same wherever they run.
//!
//! `HEDDLE_ULP=all` looks at each f32 there is, for hours; otherwise at one in some thousands. f64 is held against numbers that
//! `crates/math/derive/samples.py` computed with many digits.

use heddle::math::{Accuracy, FUNCTIONS, Own};
use heddle::{Artifact, Brush, Request, Session};
use heddle_interp::{Argument, Datum, Memory, RunOptions, run};
use heddle_ir::text::parse_module;
use heddle_ir::{Code, Module, Type};
use heddle_llvm::{CodeLevel, Cpu, EmitOptions, Jit, compile, emit, import, optimize, slot_bytes};
use heddle_testing::generate::Random;
use heddle_transform::Target;
use std::path::{Path, PathBuf};

/// The bound of `Accuracy::Exact`.
const MOST_ULPS: f64 = 1.0;
/// The bound of `Accuracy::Fast`.
const MOST_ULPS_FAST: f64 = 4.0;

/// A module with one function that calls another.
fn caller(own: &Own) -> Module {
    let ty = if own.ty == Type::F32 { "f32" } else { "f64" };
    let types = vec![ty; own.params].join(", ");
    let params: Vec<String> = (0..own.params).map(|index| format!("v{index}: {ty}")).collect();
    let args: Vec<String> = (0..own.params).map(|index| format!("v{index}")).collect();
    let text = format!(
        "declare @{name}({types}) -> {ty} pure\nfunc @f({params}) -> {ty} {{\nblock0:\n  v9 = call @{name}({args})\n  ret v9\n}}\n",
        name = own.name,
        params = params.join(", "),
        args = args.join(", ")
    );
    parse_module(&text).unwrap_or_else(|messages| panic!("{}\n{text}", messages[0]))
}

/// A function as native vector code.
struct Wide {
    jit: Jit,
    name: String,
    lanes: usize,
    ty: Type,
}

impl Wide {
    fn new(module: Module, name: &str, lanes: usize, accuracy: Accuracy) -> Wide {
        let ty = module.function(name).expect("it is there").signature.results[0].ty;
        let mut session = Session::default();
        (session.options.math, session.options.target) = (Some(accuracy), Target::default());
        let request = Request::new(name, Brush::new(&[lanes as u32]).expect("it is a brush"));
        let made = session.vectorize(module, &request).unwrap_or_else(|error| panic!("{error}"));
        let Artifact { module, wide, report, .. } = made;
        let serialized = report.remarks.iter().find(|told| told.code == Code::LaneByLane);
        assert_eq!(serialized, None);
        let options = EmitOptions { entries: true, ..EmitOptions::default() };
        let llvm = emit(&module, options).unwrap_or_else(|error| panic!("{error}\n{module}"));
        optimize(&llvm, &Cpu::host()).unwrap_or_else(|error| panic!("{error}"));
        let jit = Jit::new(llvm, CodeLevel::Default, &[]).unwrap_or_else(|error| panic!("{error}"));
        Wide { jit, name: wide, lanes, ty }
    }

    /// The bits of the results for the bits of each parameter.
    fn call(&self, columns: &[Vec<u64>]) -> Vec<u64> {
        let entry = self.jit.entry(&self.name).unwrap_or_else(|error| panic!("{error}"));
        let size = if self.ty == Type::F32 { 4 } else { 8 };
        let slot = slot_bytes(Type::Vector(self.ty.scalar(), self.lanes as u16));
        let mut results = Vec::with_capacity(columns[0].len());
        let mut out = vec![0; slot];
        for first in (0..columns[0].len()).step_by(self.lanes) {
            let mut arguments = Vec::with_capacity(slot * columns.len());
            for column in columns {
                let start = arguments.len();
                for lane in 0..self.lanes {
                    let bits = column.get(first + lane).copied().unwrap_or(0);
                    arguments.extend_from_slice(&bits.to_le_bytes()[..size]);
                }
                arguments.resize(start + slot, 0);
            }
            // SAFETY: functions of numbers have no undefined behaviour; both slices are made of whole slots.
            unsafe { entry.call(&arguments, &mut out) };
            for lane in 0..self.lanes.min(columns[0].len() - first) {
                let mut bytes = [0; 8];
                bytes[..size].copy_from_slice(&out[lane * size..][..size]);
                results.push(u64::from_le_bytes(bytes));
            }
        }
        results
    }
}

fn unary(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "acos" => libm::acos,
        "asin" => libm::asin,
        "atan" => libm::atan,
        "cbrt" => libm::cbrt,
        "cos" => libm::cos,
        "cosh" => libm::cosh,
        "erf" => libm::erf,
        "exp" => libm::exp,
        "exp10" => libm::exp10,
        "exp2" => libm::exp2,
        "expm1" => libm::expm1,
        "log" => libm::log,
        "log10" => libm::log10,
        "log1p" => libm::log1p,
        "log2" => libm::log2,
        "sin" => libm::sin,
        "sinh" => libm::sinh,
        "tan" => libm::tan,
        "tanh" => libm::tanh,
        _ => return None,
    })
}

fn binary(name: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match name {
        "atan2" => libm::atan2,
        "hypot" => libm::hypot,
        "pow" => libm::pow,
        _ => return None,
    })
}

/// How many units in the last place of f32 lie between a result and the true value; infinitely many where they are of
/// different kinds.
fn ulps_f32(result: f32, truth: f64) -> f64 {
    const BEYOND: f64 = (1u128 << 127) as f64 * 2.0;
    let nearest = truth as f32;
    if truth.is_nan() || result.is_nan() {
        return if truth.is_nan() && result.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if result == 0.0 && nearest == 0.0 {
        return if result.is_sign_negative() == nearest.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    let finite = |x: f64| x.clamp(-BEYOND, BEYOND);
    let exponent = (truth.abs().to_bits() >> 52) as i32 - 1023;
    let unit = f64::from_bits(((exponent.clamp(-126, 127) - 23 + 1023) as u64) << 52);
    (finite(result.into()) - finite(truth)).abs() / unit
}

/// Where mathematical functions are apt to go wrong.
fn edges() -> Vec<f32> {
    let mut all = vec![
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        2.5,
        16777216.0,
        16777215.0,
        f32::INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::from_bits(0x7f_ffff),
        88.72284,
        88.72283,
        103.97208,
        104.0,
        127.99999,
        128.0,
        149.0,
        150.0,
        38.53184,
        45.1,
        1599.9999,
        1600.0,
        1600.0001,
        0.70710677,
        std::f32::consts::SQRT_2,
        0.99999994,
        1.0000001,
        1e30,
        4.0,
        10.0,
    ];
    all.extend((1..40).map(|quarter| (f64::from(quarter) * std::f64::consts::FRAC_PI_2) as f32));
    all.extend((0..all.len()).map(|index| -all[index]).collect::<Vec<_>>());
    all
}

fn samples_f32() -> impl Iterator<Item = u32> {
    let step = if std::env::var("HEDDLE_ULP").is_ok_and(|word| word == "all") { 1 } else { 4099 };
    edges().into_iter().map(f32::to_bits).chain((0..=u32::MAX).step_by(step))
}

/// The greatest error, and where it is.
#[derive(Default)]
struct Worst {
    ulps: f64,
    at: Vec<f64>,
}

impl Worst {
    fn see(&mut self, ulps: f64, at: &[f64]) {
        if ulps > self.ulps {
            *self = Worst { ulps, at: at.to_vec() };
        }
    }
}

fn print_and_judge(name: &str, bound: f64, worst: &Worst, wrong: &mut Vec<String>) {
    let line = format!("{name:8} {:.3} ULP at {:?}", worst.ulps, worst.at);
    println!("{line}");
    if worst.ulps > bound {
        wrong.push(line);
    }
}

/// The greatest error of a function of f32.
fn worst_of_f32(own: &Own, accuracy: Accuracy) -> Worst {
    let name = if own.name == "erff" { "erf" } else { own.name.trim_end_matches('f') };
    let wide = Wide::new(caller(own), "f", 16, accuracy);
    let mut worst = Worst::default();
    if let Some(truth) = unary(name) {
        let mut samples = samples_f32().peekable();
        while samples.peek().is_some() {
            let bits: Vec<u64> = samples.by_ref().take(1 << 16).map(u64::from).collect();
            for (&x, &y) in bits.iter().zip(&wide.call(std::slice::from_ref(&bits))) {
                let x = f64::from(f32::from_bits(x as u32));
                worst.see(ulps_f32(f32::from_bits(y as u32), truth(x)), &[x]);
            }
        }
        return worst;
    }
    let truth = binary(name).unwrap_or_else(|| panic!("nothing to compare {name} with"));
    let pairs = pairs();
    let columns: [Vec<u64>; 2] = [
        pairs.iter().map(|pair| pair.0.to_bits().into()).collect(),
        pairs.iter().map(|pair| pair.1.to_bits().into()).collect(),
    ];
    for (&(x, y), &z) in pairs.iter().zip(&wide.call(&columns)) {
        let (x, y) = (f64::from(x), f64::from(y));
        worst.see(ulps_f32(f32::from_bits(z as u32), truth(x, y)), &[x, y]);
    }
    worst
}

#[test]
fn f32_is_within_one_unit() {
    let mut wrong = Vec::new();
    for own in FUNCTIONS.iter().filter(|own| own.ty == Type::F32) {
        print_and_judge(own.name, MOST_ULPS, &worst_of_f32(own, Accuracy::Exact), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn fast_is_within_four_units() {
    let mut wrong = Vec::new();
    for own in FUNCTIONS.iter().filter(|own| own.fast.is_some()) {
        let worst = match own.ty {
            Type::F32 => worst_of_f32(own, Accuracy::Fast),
            _ => worst_of_f64(own, Accuracy::Fast),
        };
        print_and_judge(&format!("fast {}", own.name), MOST_ULPS_FAST, &worst, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each edge with each, and numbers of all sizes.
fn pairs() -> Vec<(f32, f32)> {
    let edges = edges();
    let mut all: Vec<(f32, f32)> = edges.iter().flat_map(|&x| edges.iter().map(move |&y| (x, y))).collect();
    let mut random = Random::new(1);
    for index in 0..400_000 {
        let any = |random: &mut Random| f32::from_bits(random.between(0, u32::MAX));
        let (x, y) = (any(&mut random), any(&mut random));
        let near = |bits: f32| f32::from_bits(0x3f00_0000 + (bits.to_bits() & 0xff_ffff));
        all.push(match index % 4 {
            0 => (x, y),
            1 => (x.abs(), (y.to_bits() % 2000) as f32 / 16.0 - 60.0),
            2 => (near(x), (y.to_bits() as i32) as f32 * f32::from_bits(0x3480_0000)),
            _ => (x, (y.to_bits() % 80) as f32 - 40.0),
        });
    }
    all
}

/// What many digits say: `name argument… = nearest result, and what is missing to the true value, in units of 2^-10 ULP`.
const F64_SAMPLES: &str = include_str!("../../../tests/math/f64.txt");

/// The greatest error of a function of f64.
fn worst_of_f64(own: &Own, accuracy: Accuracy) -> Worst {
    let wide = Wide::new(caller(own), "f", 8, accuracy);
    let mut worst = Worst::default();
    let (mut columns, mut truths) = (vec![Vec::new(); own.params], Vec::new());
    for line in F64_SAMPLES.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() != Some(&own.name) {
            continue;
        }
        let bits = |word: &str| u64::from_str_radix(word, 16).unwrap_or_else(|_| panic!("{line}"));
        for (column, word) in columns.iter_mut().zip(&words[1..]) {
            column.push(bits(word));
        }
        let missing: f64 = words[own.params + 3].parse().unwrap_or_else(|_| panic!("{line}"));
        truths.push((f64::from_bits(bits(words[own.params + 2])), missing / 1024.0));
    }
    assert!(truths.len() > 100, "{} samples of {}", truths.len(), own.name);
    for (index, (&y, &(nearest, missing))) in wide.call(&columns).iter().zip(&truths).enumerate() {
        let result = f64::from_bits(y);
        let ulps = if nearest.is_nan() || result.is_nan() {
            if nearest.is_nan() && result.is_nan() { 0.0 } else { f64::INFINITY }
        } else if result == 0.0 && nearest == 0.0 {
            if result.is_sign_negative() == nearest.is_sign_negative() { 0.0 } else { f64::INFINITY }
        } else if result.is_infinite() || nearest.is_infinite() {
            if result == nearest { 0.0 } else { f64::INFINITY }
        } else {
            let exponent = (nearest.abs().to_bits() >> 52).max(1);
            let unit =
                f64::from_bits(if exponent > 52 { (exponent - 52) << 52 } else { 1 << (exponent - 1) });
            ((result - nearest) / unit - missing).abs()
        };
        let at: Vec<f64> = columns.iter().map(|column| f64::from_bits(column[index])).collect();
        worst.see(ulps, &at);
    }
    // Many more, against a library that is itself nearly right, to find what is far off.
    let mut random = Random::new(7);
    let mut column = || -> Vec<u64> {
        let mut any =
            || u64::from(random.between(0, u32::MAX)) << 32 | u64::from(random.between(0, u32::MAX));
        let number = |index| match index % 2 {
            0 => any(),
            _ => (any() & 0x800f_ffff_ffff_ffff) | (1000 + any() % 50) << 52,
        };
        (0..200_000).map(number).collect()
    };
    let columns: Vec<Vec<u64>> = (0..own.params).map(|_| column()).collect();
    for (index, &y) in wide.call(&columns).iter().enumerate() {
        let at: Vec<f64> = columns.iter().map(|column| f64::from_bits(column[index])).collect();
        let expected = match (unary(own.name), binary(own.name)) {
            (Some(peer), _) => peer(at[0]),
            (_, Some(peer)) => peer(at[0], at[1]),
            _ => panic!("nothing to compare {} with", own.name),
        };
        let result = f64::from_bits(y);
        let is_near = expected.is_nan() && result.is_nan()
            || expected == result
            || (expected.to_bits() as i64).abs_diff(y as i64) <= 5;
        if !is_near {
            worst.see(f64::INFINITY, &[at, vec![result, expected]].concat());
        }
    }
    worst
}

#[test]
fn f64_is_within_one_unit() {
    let mut wrong = Vec::new();
    for own in FUNCTIONS.iter().filter(|own| own.ty == Type::F64) {
        print_and_judge(own.name, MOST_ULPS, &worst_of_f64(own, Accuracy::Exact), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn same(a: u64, b: u64, ty: Type) -> bool {
    let is_nan = |bits: u64| match ty {
        Type::F32 => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    };
    a == b || is_nan(a) && is_nan(b)
}

/// What the oracle says of each lane.
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
            let any = u64::from(random.between(0, u32::MAX));
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
