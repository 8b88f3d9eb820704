//! Classes of patterns, equality of results, and the fast-math flags that make poison.

use heddle_interp::scalar::format::is_fpclass;
use heddle_interp::scalar::{FastMath, FloatClass, FloatFormat, same_float};

use crate::exact::{Number, number};
use crate::sample::{Random, float_corners};

/// Returns the bit of `llvm.is.fpclass`, from the table in its documentation and the value of the pattern.
fn class_bit(format: FloatFormat, a: u128) -> u32 {
    match number(format, a) {
        Number::Nan => u32::from(a >> (format.fraction_bits() - 1) & 1 == 1),
        Number::Infinite { negative: true } => 2,
        Number::Infinite { negative: false } => 9,
        Number::Finite(exact) => {
            let hidden = exact.count.bits() > i64::from(format.fraction_bits());
            match (exact.negative, exact.is_zero(), hidden) {
                (true, _, true) => 3,
                (true, false, false) => 4,
                (true, true, _) => 5,
                (false, true, _) => 6,
                (false, false, false) => 7,
                (false, _, true) => 8,
            }
        }
    }
}

fn check(format: FloatFormat, a: u128) {
    let bit = class_bit(format, a);
    for tested in 0..10 {
        assert_eq!(is_fpclass(format, a, 1 << tested), tested == bit, "{format:?} {a:#x}");
    }
    assert!(
        is_fpclass(format, a, 0x3ff)
            && !is_fpclass(format, a, 0x3ff & !(1 << bit))
            && !is_fpclass(format, a, 0)
    );
    assert_eq!(format.is_nan(a), bit <= 1);
    assert_eq!(format.is_signaling_nan(a), bit == 0);
    assert_eq!(format.is_infinite(a), bit == 2 || bit == 9);
    assert_eq!(format.is_finite(a), (3..=8).contains(&bit));
    assert_eq!(format.is_zero(a), bit == 5 || bit == 6);
    assert_eq!(format.is_subnormal(a), bit == 4 || bit == 7);
}

#[test]
fn classes() {
    let mut random = Random::new(61);
    for format in FloatFormat::ALL {
        float_corners(format).into_iter().for_each(|a| check(format, a));
        (0..5_000).for_each(|_| check(format, random.float(format)));
    }
    (0..=0xffff)
        .for_each(|a| [FloatFormat::F16, FloatFormat::BF16].into_iter().for_each(|format| check(format, a)));
    assert_eq!(FloatClass::PositiveInfinity.mask(), 0x200);
}

#[test]
fn canonical_nans() {
    assert_eq!(FloatFormat::ALL.map(FloatFormat::canonical_nan), [0x7e00, 0x7fc0, 0x7fc0_0000, 0x7ff8 << 48]);
    assert_eq!(
        FloatFormat::ALL.map(|format| format.infinity(true)),
        [0xfc00, 0xff80, 0xff80_0000, 0xfff0 << 48]
    );
}

#[test]
fn all_nans_are_one_and_the_zeros_are_two() {
    let format = FloatFormat::F16;
    assert!(same_float(format, 0x7e00, 0xfc01));
    assert!(!same_float(format, 0x7e00, 0x7c00));
    assert!(!same_float(format, 0, 0x8000));
    for a in 0..=0xffff {
        assert!(same_float(format, a, a));
        assert_eq!(same_float(format, a, a ^ 0x8000), a & 0x7fff > 0x7c00);
    }
}

#[test]
fn promises_about_nans_and_infinities() {
    let (one, infinity, nan) = (0x3c00, 0xfc00, 0xfe01);
    let format = FloatFormat::F16;
    for (nnan, ninf) in [(false, false), (false, true), (true, false), (true, true)] {
        let flags = FastMath { nnan, ninf };
        assert_eq!(flags.guard(format, &[one, one], one), Some(one));
        assert_eq!(
            flags.guard(format, &[one, nan], one),
            (!nnan).then_some(one),
            "an argument breaks the promise"
        );
        assert_eq!(flags.guard(format, &[one], nan), (!nnan).then_some(nan), "the result breaks it");
        assert_eq!(flags.guard(format, &[infinity], one), (!ninf).then_some(one));
        assert_eq!(flags.guard(format, &[], infinity), (!ninf).then_some(infinity));
    }
}
