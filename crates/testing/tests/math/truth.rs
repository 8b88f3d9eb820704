//! Accuracy of functions. f32 is compared with f64; f64 with numbers that `crates/math/derive/samples.py` computed with
//! many digits.

use heddle_compiler::math::MathFunction;
use heddle_ir::Type;
use heddle_testing::generate::Random;

/// Evaluates a function: from the bits of each parameter to the bits of the results.
pub(crate) type Call<'a> = &'a dyn Fn(&[Vec<u64>]) -> Vec<u64>;

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
        "fmod" => libm::fmod,
        "hypot" => libm::hypot,
        "pow" => libm::pow,
        _ => return None,
    })
}

/// Returns the distance between a result and the true value, in ulps of f32; infinity where their kinds differ.
pub(crate) fn ulps_f32(result: f32, truth: f64) -> f64 {
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
pub(crate) fn edges() -> Vec<f32> {
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
pub(crate) struct Worst {
    pub(crate) ulps: f64,
    pub(crate) at: Vec<f64>,
}

impl Worst {
    fn see(&mut self, ulps: f64, at: &[f64]) {
        if ulps > self.ulps {
            *self = Worst { ulps, at: at.to_vec() };
        }
    }
}

/// The greatest error of a function.
pub(crate) fn worst_of(own: &MathFunction, call: Call<'_>) -> Worst {
    if own.ty == Type::F32 { worst_of_f32(own, call) } else { worst_of_f64(own, call) }
}

/// The greatest error of a function of f32.
fn worst_of_f32(own: &MathFunction, call: Call<'_>) -> Worst {
    let name = if own.name == "erff" { "erf" } else { own.name.trim_end_matches('f') };
    let mut worst = Worst::default();
    if let Some(truth) = unary(name) {
        let mut samples = samples_f32().peekable();
        while samples.peek().is_some() {
            let bits: Vec<u64> = samples.by_ref().take(1 << 16).map(u64::from).collect();
            for (&x, &y) in bits.iter().zip(&call(std::slice::from_ref(&bits))) {
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
    for (&(x, y), &z) in pairs.iter().zip(&call(&columns)) {
        let (x, y) = (f64::from(x), f64::from(y));
        worst.see(ulps_f32(f32::from_bits(z as u32), truth(x, y)), &[x, y]);
    }
    worst
}

/// Each edge with each, and numbers of all sizes.
fn pairs() -> Vec<(f32, f32)> {
    let edges = edges();
    let mut all: Vec<(f32, f32)> = edges.iter().flat_map(|&x| edges.iter().map(move |&y| (x, y))).collect();
    let mut random = Random::new(1);
    for index in 0..500_000 {
        let any = |random: &mut Random| f32::from_bits(random.bits() as u32);
        let (x, y) = (any(&mut random), any(&mut random));
        let near = |bits: f32| f32::from_bits(0x3f00_0000 + (bits.to_bits() & 0xff_ffff));
        all.push(match index % 5 {
            0 => (x, y),
            1 => (x.abs(), (y.to_bits() % 2000) as f32 / 16.0 - 60.0),
            2 => (near(x), (y.to_bits() as i32) as f32 * f32::from_bits(0x3480_0000)),
            // Powers as large and as small as there are normal ones, where an error of the logarithm counts most.
            3 => (near(x), ((y.to_bits() % 2560) as f32 / 10.0 - 128.0) / near(x).log2()),
            _ => (x, (y.to_bits() % 80) as f32 - 40.0),
        });
    }
    all
}

/// High-precision values: `name argument… = nearest result, and its distance from the true value, in units of 2^-10
/// ULP`.
const F64_SAMPLES: &str = include_str!("../../../../tests/math/f64.txt");

/// The greatest error of a function of f64.
fn worst_of_f64(own: &MathFunction, call: Call<'_>) -> Worst {
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
    for (index, (&y, &(nearest, missing))) in call(&columns).iter().zip(&truths).enumerate() {
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
        let mut any = || random.bits();
        let number = |index| match index % 2 {
            0 => any(),
            _ => (any() & 0x800f_ffff_ffff_ffff) | (1000 + any() % 50) << 52,
        };
        (0..200_000).map(number).collect()
    };
    let columns: Vec<Vec<u64>> = (0..own.params).map(|_| column()).collect();
    for (index, &y) in call(&columns).iter().enumerate() {
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
