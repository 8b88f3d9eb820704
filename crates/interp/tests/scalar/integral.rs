//! Rounding to integers against counts of halves.

use heddle_interp::scalar::FloatFormat::{self, BF16, F16, F32, F64};
use heddle_interp::scalar::integral::{ceil, floor, round, round_even, truncate};

use crate::exact::{Exact, Number, is_nearest, number};
use crate::sample::{Random, float_corners};

fn check(format: FloatFormat, a: u128) {
    let operations =
        [("floor", floor as fn(_, _) -> _), ("ceil", ceil), ("truncate", truncate), ("round", round)];
    let operations = operations.into_iter().chain([("round_even", round_even as fn(_, _) -> _)]);
    for (name, operation) in operations {
        let result: u128 = operation(format, a);
        let context = format!("{name} {format:?} {a:#x} = {result:#x}");
        let exact = match number(format, a) {
            Number::Nan => {
                assert_eq!(result, format.canonical_nan(), "{context}");
                continue;
            }
            Number::Finite(exact) if exact.exponent < 0 => exact,
            _ => {
                assert_eq!(result, a, "{context}");
                continue;
            }
        };
        // The significand is whole · 2^places + rest, and the rest against half of 2^places decides.
        let (count, places) = (exact.count.low(64), exact.exponent.unsigned_abs().min(70));
        let (whole, rest) = (count >> places, count & ((1 << places) - 1));
        let half = 1u128 << (places - 1);
        let up = match name {
            "floor" => exact.negative && rest != 0,
            "ceil" => !exact.negative && rest != 0,
            "truncate" => false,
            "round" => rest >= half,
            _ => rest > half || rest == half && whole % 2 == 1,
        };
        let expected = Exact::new(exact.negative, whole + u128::from(up), 0);
        assert!(is_nearest(format, result, &expected), "{context}");
    }
}

#[test]
fn every_narrow_float_and_samples_of_the_wide_ones() {
    (0..=0xffff).for_each(|a| [F16, BF16].into_iter().for_each(|format| check(format, a)));
    let mut random = Random::new(51);
    for format in [F32, F64] {
        float_corners(format).into_iter().for_each(|a| check(format, a));
        let one = (format.max_exponent() as u128) << format.fraction_bits();
        for _ in 0..20_000 {
            check(format, random.float(format));
            check(format, random.float_near(format, one));
        }
    }
}

#[test]
fn corner_cases() {
    let half = 0x3f00_0000;
    assert_eq!(round(F32, half), 0x3f80_0000, "half goes away from zero");
    assert_eq!(round_even(F32, half), 0, "half goes to the even integer");
    assert_eq!(round_even(F32, 0x3fc0_0000), 0x4000_0000, "and so does one and a half");
    assert_eq!(round(F32, 0x3eff_ffff), 0, "just below a half: adding a half first would give one");
    assert_eq!(round(F32, 0x4b00_0001), 0x4b00_0001, "2^23 + 1 is an integer already");
    assert_eq!(ceil(F32, 0xbf00_0000), 0x8000_0000, "the zero keeps the sign");
    assert_eq!(truncate(F32, 0x8000_0001), 0x8000_0000);
    assert_eq!(floor(F32, 0x8000_0001), 0xbf80_0000);
    assert_eq!(floor(F16, 0xfc00), 0xfc00);
}
