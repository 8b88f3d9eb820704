//! Conversions against exact numbers, and against the host's conversions where it has them.

use heddle_interp::scalar::FloatFormat::{self, BF16, F16, F32, F64};
use heddle_interp::scalar::convert::{
    fpext, fptosi, fptosi_sat, fptoui, fptoui_sat, fptrunc, sitofp, uitofp,
};
use heddle_interp::scalar::rounding::{Dyadic, round};
use heddle_interp::scalar::same_float;

use crate::exact::{Exact, Number, is_nearest, number};
use crate::sample::{Random, float_corners, integer_corners};

fn check_reformat(from: FloatFormat, to: FloatFormat, a: u128, result: u128) {
    let right = match number(from, a) {
        Number::Nan => result == to.canonical_nan(),
        Number::Infinite { negative } => result == to.infinity(negative),
        Number::Finite(exact) => is_nearest(to, result, &exact),
    };
    assert!(right, "{from:?} {a:#x} to {to:?} = {result:#x}");
}

#[test]
fn fptrunc_rounds_once_to_nearest_even() {
    for a in (0..1u64 << 32).step_by(12_289) {
        check_reformat(F32, F16, a.into(), fptrunc(F32, F16, a.into()));
        check_reformat(F32, BF16, a.into(), fptrunc(F32, BF16, a.into()));
    }
    let mut random = Random::new(31);
    for (from, to) in [(F32, F16), (F32, BF16), (F64, F16), (F64, BF16), (F64, F32)] {
        let check = |a: u128| check_reformat(from, to, a, fptrunc(from, to, a));
        float_corners(from).into_iter().for_each(check);
        (0..20_000).for_each(|_| check(random.float(from)));
        // Around each float of the target and around the midpoint to its successor.
        for _ in 0..20_000 {
            let below = fpext(to, from, random.float(to));
            let half_step = 1u128 << (from.fraction_bits() - to.fraction_bits() - 1);
            for center in [below, below ^ half_step] {
                [center, center ^ 1, center.saturating_sub(1), center + 1].into_iter().for_each(check);
            }
        }
    }
}

/// Significands of 128 bits, wider than any float's, with exponents down to where only their top bit counts.
#[test]
fn wide_significands_of_any_exponent_round_once() {
    let mut random = Random::new(37);
    for format in FloatFormat::ALL {
        let least = format.least_exponent();
        let check = |significand: u128, exponent: i64| {
            let result = round(format, Dyadic { negative: true, significand, exponent });
            let right = is_nearest(format, result, &Exact::new(true, significand, exponent));
            assert!(right, "{format:?} {significand:#x} * 2^{exponent} = {result:#x}");
        };
        for below in 60..=132 {
            for significand in [1 << 127, (1 << 127) + 1, u128::MAX, 3 << 126, (1 << 127) - 1] {
                check(significand, least - below);
            }
        }
        for _ in 0..10_000 {
            let exponent = least - 130 + random.below(2 * format.max_exponent() as u64 + 200) as i64;
            check(random.integer(128), exponent);
        }
        for exponent in [i64::MIN, i64::MAX] {
            let result = round(format, Dyadic { negative: false, significand: 1 << 127, exponent });
            assert_eq!(result, if exponent < 0 { 0 } else { format.infinity(false) });
        }
    }
}

#[test]
fn every_narrow_float_survives_the_way_up_and_back() {
    for from in [F16, BF16] {
        for a in 0..=0xffff {
            for to in [F32, F64] {
                let wide = fpext(from, to, a);
                check_reformat(from, to, a, wide);
                assert!(same_float(from, fptrunc(to, from, wide), a), "{from:?} {a:#x} through {to:?}");
            }
        }
    }
}

#[test]
fn single_and_double_agree_with_the_host() {
    let mut random = Random::new(32);
    for _ in 0..100_000 {
        let (single, double) = (random.float(F32), random.float(F64));
        let host_double = f64::from(f32::from_bits(single as u32)).to_bits();
        assert!(same_float(F64, fpext(F32, F64, single), host_double.into()), "{single:#x}");
        let host_single = (f64::from_bits(double as u64) as f32).to_bits();
        assert!(same_float(F32, fptrunc(F64, F32, double), host_single.into()), "{double:#x}");
    }
}

/// Computes the integer part by halving or doubling; `None` for NaNs, infinities and beyond 130 bits.
fn integer_part(format: FloatFormat, a: u128) -> Option<(bool, Exact)> {
    let Number::Finite(exact) = number(format, a) else { return None };
    if exact.exponent > 130 && !exact.is_zero() {
        return None;
    }
    let mut count = exact.count.low(64);
    for _ in exact.exponent..0 {
        count /= 2;
    }
    Some((exact.negative, Exact::new(exact.negative, count, exact.exponent.max(0))))
}

fn check_to_integer(format: FloatFormat, bits: u32, a: u128) {
    let part = integer_part(format, a);
    let limit = |exponent: u32| Exact::new(false, 1, exponent.into());
    let unsigned_fits = part
        .as_ref()
        .is_some_and(|(negative, v)| v.is_zero() || !negative && v.compare(&limit(bits)).is_lt());
    let signed_fits = part.as_ref().is_some_and(|(negative, v)| {
        let order = v.compare(&limit(bits - 1));
        order.is_lt() || *negative && order.is_eq()
    });
    let value = part.map(|(negative, v)| {
        let low = v.count.shl(v.exponent).low(bits);
        if negative { low.wrapping_neg() & (u128::MAX >> (128 - bits)) } else { low }
    });
    let context = format!("{format:?} {a:#x} to i{bits}");
    let unsigned = value.filter(|_| unsigned_fits);
    let signed = value.filter(|_| signed_fits);
    assert_eq!(fptoui(format, bits, a), unsigned, "fptoui {context}");
    assert_eq!(fptosi(format, bits, a), signed, "fptosi {context}");
    let ones = u128::MAX >> (128 - bits);
    let sign = 1u128 << (bits - 1);
    let (below, above) = match number(format, a) {
        Number::Nan => (0, 0),
        _ if format.is_negative(a) => (0, sign),
        _ => (ones, sign - 1),
    };
    assert_eq!(fptoui_sat(format, bits, a), unsigned.unwrap_or(below), "fptoui.sat {context}");
    assert_eq!(fptosi_sat(format, bits, a), signed.unwrap_or(above), "fptosi.sat {context}");
}

#[test]
fn floats_to_integers() {
    let mut random = Random::new(33);
    for bits in [1, 8, 16, 32, 64, 128] {
        for format in FloatFormat::ALL {
            float_corners(format).into_iter().for_each(|a| check_to_integer(format, bits, a));
            (0..3_000).for_each(|_| check_to_integer(format, bits, random.float(format)));
            for exponent in [bits - 1, bits] {
                let field = format.max_exponent() + i64::from(exponent);
                let edge = ((field as u128) << format.fraction_bits()).min(format.infinity(false));
                for a in [edge - 1, edge, edge + 1] {
                    check_to_integer(format, bits, a);
                    check_to_integer(format, bits, a | format.sign_mask());
                }
            }
        }
    }
    for a in 0..=0xffff {
        [1, 8, 16].into_iter().for_each(|bits| check_to_integer(F16, bits, a));
        [8, 128].into_iter().for_each(|bits| check_to_integer(BF16, bits, a));
    }
}

#[test]
fn saturating_conversions_agree_with_the_host() {
    let mut random = Random::new(34);
    for _ in 0..20_000 {
        let a = random.float(F64);
        let value = f64::from_bits(a as u64);
        assert_eq!(fptosi_sat(F64, 8, a), (value as i8 as u8).into());
        assert_eq!(fptoui_sat(F64, 32, a), (value as u32).into());
        assert_eq!(fptosi_sat(F64, 64, a), (value as i64 as u64).into());
        assert_eq!(fptosi_sat(F64, 128, a), value as i128 as u128);
        assert_eq!(fptoui_sat(F64, 128, a), value as u128);
    }
}

fn check_from_integer(bits: u32, format: FloatFormat, a: u128) {
    let negative = a >> (bits - 1) == 1;
    let signed = if negative { (1u128 << (bits - 1)) - (a & !(1 << (bits - 1))) } else { a };
    let right = |result: u128, exact: Exact| {
        if exact.is_zero() { result == 0 } else { is_nearest(format, result, &exact) }
    };
    let from_unsigned = uitofp(bits, format, a, false);
    let context = format!("i{bits} {a:#x} to {format:?}");
    assert!(right(from_unsigned.unwrap(), Exact::new(false, a, 0)), "uitofp {context} = {from_unsigned:x?}");
    assert_eq!(uitofp(bits, format, a, true), from_unsigned.filter(|_| !negative), "uitofp nneg {context}");
    let from_signed = sitofp(bits, format, a);
    assert!(right(from_signed, Exact::new(negative, signed, 0)), "sitofp {context} = {from_signed:#x}");
}

#[test]
fn integers_to_floats_with_one_rounding() {
    let mut random = Random::new(35);
    for format in FloatFormat::ALL {
        (0..=0xffff).for_each(|a| check_from_integer(16, format, a));
        for bits in [1, 8, 32, 64, 128] {
            let ones = u128::MAX >> (128 - bits);
            integer_corners(bits).into_iter().for_each(|a| check_from_integer(bits, format, a));
            (0..3_000).for_each(|_| check_from_integer(bits, format, random.integer(bits)));
            // A midpoint with one more bit far below: a double rounding would lose that bit and then round the tie.
            for _ in 0..2_000 {
                let top = random.below(u64::from(bits)) as u32;
                let significand = random.wide() & format.fraction_mask() | 1 << format.fraction_bits();
                let doubled = significand << 1 | 1;
                let length = format.fraction_bits() + 1;
                let midpoint =
                    if top >= length { doubled << (top - length) } else { doubled >> (length - top) };
                let far_bit = 1u128 << random.below(u64::from(top) + 1);
                [midpoint & ones, (midpoint | far_bit) & ones, midpoint.saturating_sub(far_bit) & ones]
                    .into_iter()
                    .for_each(|a| check_from_integer(bits, format, a));
            }
        }
    }
}

#[test]
fn integers_to_single_and_double_agree_with_the_host() {
    let mut random = Random::new(36);
    for _ in 0..20_000 {
        let a = random.integer(128);
        assert_eq!(uitofp(128, F32, a, false), Some((a as f32).to_bits().into()), "{a:#x}");
        assert_eq!(sitofp(128, F64, a), (a as i128 as f64).to_bits().into(), "{a:#x}");
        let low = a & u128::from(u64::MAX);
        assert_eq!(sitofp(64, F32, low), (low as u64 as i64 as f32).to_bits().into(), "{low:#x}");
    }
}

#[test]
fn corner_cases() {
    assert_eq!(fptrunc(F32, F16, 0x477f_efff), 0x7bff, "just below 65520 is 65504");
    assert_eq!(fptrunc(F32, F16, 0x477f_f000), 0x7c00, "65520 is a tie, and the even side is infinity");
    assert_eq!(fptrunc(F32, F16, 0x3300_0000), 0, "2^-25 is a tie between 0 and the least subnormal");
    assert_eq!(fptrunc(F32, F16, 0x3300_0001), 1);
    assert_eq!(fptrunc(F32, F16, 0xb300_0000), 0x8000, "what vanishes keeps its sign");
    assert_eq!(fptrunc(F32, F16, 0x387f_f000), 0x0400, "the tie below the least normal carries into it");
    assert_eq!(fptrunc(F32, BF16, 0x3f80_8000), 0x3f80, "a tie goes to the even side, here down");
    assert_eq!(fptrunc(F32, BF16, 0x3f81_8000), 0x3f82, "and here up");
    assert_eq!(fptrunc(F32, BF16, 0x7f80_0001), 0x7fc0, "a NaN with a low payload stays a NaN");
    assert_eq!(fptrunc(F32, BF16, 0x7f7f_ffff), 0x7f80);
    assert_eq!(fptoui(F32, 8, 0xbf7f_ffff), Some(0), "-0.99 has the integer part 0");
    assert_eq!(fptoui(F32, 8, 0xbf80_0000), None);
    assert_eq!(fptoui(F32, 8, 0x437f_ff00), Some(255), "255.996");
    assert_eq!(fptosi(F32, 8, 0xc300_8000), Some(0x80), "-128.5");
    assert_eq!(fptosi(F32, 8, 0xc301_0000), None, "-129");
    assert_eq!(fptosi(F32, 1, 0xbf80_0000), Some(1), "-1 is the i1 that is true");
    assert_eq!(fptosi(F32, 1, 0x3f80_0000), None, "1 is no signed i1");
    assert_eq!(uitofp(64, F16, 0xffef, false), Some(0x7bff), "65519");
    assert_eq!(uitofp(64, F16, 0xfff0, false), Some(0x7c00), "65520 becomes infinite");
    assert_eq!(uitofp(64, F32, 0x8000_0080_0000_0000, false), Some(0x5f00_0000), "a tie to the even side");
    assert_eq!(
        uitofp(64, F32, 0x8000_0080_0000_0001, false),
        Some(0x5f00_0001),
        "a tie but for the last bit"
    );
    assert_eq!(sitofp(64, BF16, 0x0101_0000_0000_0001), 0x5b81, "the last of 57 bits decides");
    assert_eq!(sitofp(1, F32, 1), 0xbf80_0000, "the i1 that is true is -1");
    assert_eq!(uitofp(128, F32, u128::MAX, false), Some(0x7f80_0000), "2^128 - 1 rounds to infinity");
    assert_eq!(uitofp(8, F32, 0x80, true), None);
}
