//! Integer operations against mathematics at small widths, native integers at their widths, and lists of bits.

use heddle_interp::scalar::{Trap, bitwise, convert, integer, shift};

use crate::exact::{Exact, Natural};
use crate::sample::{Random, integer_corners};

/// The integers of a small width, as pattern, unsigned value and signed value.
fn small(bits: u32) -> impl Iterator<Item = (u128, i64, i64)> + Clone {
    let count = 1i64 << bits;
    (0..count).map(move |v| (v as u128, v, if 2 * v >= count { v - count } else { v }))
}

/// Checks each operation at width `bits` against its value in the integers: reduced modulo the width, poison if a flag is
/// violated.
fn check_small(bits: u32) {
    let count = 1i64 << bits;
    let (least, greatest) = (-count / 2, count / 2 - 1);
    let wrap = |v: i64| v.rem_euclid(count) as u128;
    let keep = |v: i64, promises: &[bool]| promises.iter().all(|&kept| kept).then(|| wrap(v));
    let in_unsigned = |v: i64| (0..count).contains(&v);
    let in_signed = |v: i64| (least..=greatest).contains(&v);
    let flags = [(false, false), (false, true), (true, false), (true, true)];
    for (a, ua, sa) in small(bits) {
        for (b, ub, sb) in small(bits) {
            for (nuw, nsw) in flags {
                let kept = |u: i64, s: i64| [!nuw || in_unsigned(u), !nsw || in_signed(s)];
                let context = format!("i{bits} {a:#x} {b:#x} {nuw} {nsw}");
                let sum = keep(sa + sb, &kept(ua + ub, sa + sb));
                assert_eq!(integer::add(bits, a, b, nuw, nsw), sum, "add {context}");
                let difference = keep(sa - sb, &kept(ua - ub, sa - sb));
                assert_eq!(integer::sub(bits, a, b, nuw, nsw), difference, "sub {context}");
                let product = keep(sa * sb, &kept(ua * ub, sa * sb));
                assert_eq!(integer::mul(bits, a, b, nuw, nsw), product, "mul {context}");
                let shifted = (ub < i64::from(bits)).then(|| {
                    let factor = 1i64 << ub;
                    keep(sa * factor, &kept(ua * factor, sa * factor))
                });
                assert_eq!(shift::shl(bits, a, b, nuw, nsw), shifted.flatten(), "shl {context}");
            }
            for exact in [false, true] {
                let context = format!("i{bits} {a:#x} {b:#x} {exact}");
                let quotient = |x: i64, y: i64| match y {
                    0 => Err(Trap::DivisionByZero),
                    _ => Ok((!exact || x % y == 0).then(|| wrap(x / y))),
                };
                assert_eq!(integer::udiv(bits, a, b, exact), quotient(ua, ub), "udiv {context}");
                let overflow = sa == least && sb == -1;
                let signed = if overflow { Err(Trap::DivisionOverflow) } else { quotient(sa, sb) };
                assert_eq!(integer::sdiv(bits, a, b, exact), signed, "sdiv {context}");
                let floored = |x: i64| {
                    let divisor = 1i64 << ub.min(40);
                    let allowed = ub < i64::from(bits) && (!exact || x % divisor == 0);
                    allowed.then(|| wrap(x.div_euclid(divisor)))
                };
                assert_eq!(shift::lshr(bits, a, b, exact), floored(ua), "lshr {context}");
                assert_eq!(shift::ashr(bits, a, b, exact), floored(sa), "ashr {context}");
            }
            let context = format!("i{bits} {a:#x} {b:#x}");
            let remainder = |x: i64, y: i64| if y == 0 { Err(Trap::DivisionByZero) } else { Ok(wrap(x % y)) };
            assert_eq!(integer::urem(bits, a, b), remainder(ua, ub), "urem {context}");
            let overflow = sa == least && sb == -1;
            let signed = if overflow { Err(Trap::DivisionOverflow) } else { remainder(sa, sb) };
            assert_eq!(integer::srem(bits, a, b), signed, "srem {context}");
            assert_eq!(integer::umin(bits, a, b), wrap(ua.min(ub)), "umin {context}");
            assert_eq!(integer::umax(bits, a, b), wrap(ua.max(ub)), "umax {context}");
            assert_eq!(integer::smin(bits, a, b), wrap(sa.min(sb)), "smin {context}");
            assert_eq!(integer::smax(bits, a, b), wrap(sa.max(sb)), "smax {context}");
            let held_unsigned = |v: i64| wrap(v.clamp(0, count - 1));
            let held_signed = |v: i64| wrap(v.clamp(least, greatest));
            assert_eq!(integer::uadd_sat(bits, a, b), held_unsigned(ua + ub), "uadd_sat {context}");
            assert_eq!(integer::usub_sat(bits, a, b), held_unsigned(ua - ub), "usub_sat {context}");
            assert_eq!(integer::sadd_sat(bits, a, b), held_signed(sa + sb), "sadd_sat {context}");
            assert_eq!(integer::ssub_sat(bits, a, b), held_signed(sa - sb), "ssub_sat {context}");
        }
        for poison in [false, true] {
            let absolute = (!poison || sa != least).then(|| wrap(sa.abs()));
            assert_eq!(integer::abs(bits, a, poison), absolute, "abs i{bits} {a:#x} {poison}");
        }
    }
}

#[test]
fn every_pair_of_small_integers() {
    [1, 2, 3, 5, 8].into_iter().for_each(check_small);
}

/// Bits, lowest first.
fn list(bits: u32, a: u128) -> Vec<bool> {
    (0..bits).map(|at| a >> at & 1 == 1).collect()
}

fn number(list: &[bool]) -> u128 {
    list.iter().rev().fold(0, |number, &bit| number << 1 | u128::from(bit))
}

fn check_bit_lists(bits: u32, a: u128, b: u128, amount: u128) {
    let (left, right) = (list(bits, a), list(bits, b));
    let zip = |op: fn(bool, bool) -> bool| {
        number(&left.iter().zip(&right).map(|(&x, &y)| op(x, y)).collect::<Vec<_>>())
    };
    assert_eq!(bitwise::and(bits, a, b), zip(|x, y| x && y));
    assert_eq!(bitwise::xor(bits, a, b), zip(|x, y| x != y));
    let union = zip(|x, y| x || y);
    let overlap = left.iter().zip(&right).any(|(&x, &y)| x && y);
    assert_eq!(bitwise::or(bits, a, b, false), Some(union));
    assert_eq!(bitwise::or(bits, a, b, true), (!overlap).then_some(union));

    assert_eq!(bitwise::ctpop(bits, a), left.iter().filter(|&&bit| bit).count() as u128);
    let leading = left.iter().rev().take_while(|&&bit| !bit).count() as u128;
    let trailing = left.iter().take_while(|&&bit| !bit).count() as u128;
    assert_eq!(bitwise::ctlz(bits, a, false), Some(leading));
    assert_eq!(bitwise::cttz(bits, a, false), Some(trailing));
    assert_eq!(bitwise::ctlz(bits, a, true), (a != 0).then_some(leading));
    assert_eq!(bitwise::cttz(bits, a, true), (a != 0).then_some(trailing));
    assert_eq!(bitwise::bitreverse(bits, a), number(&left.iter().rev().copied().collect::<Vec<_>>()));
    if bits.is_multiple_of(8) {
        let swapped: Vec<bool> = left.chunks(8).rev().flatten().copied().collect();
        assert_eq!(bitwise::bswap(bits, a), number(&swapped), "bswap i{bits} {a:#x}");
    }

    let both: Vec<bool> = right.iter().chain(&left).copied().collect();
    let (width, turned) = (bits as usize, (amount % u128::from(bits)) as usize);
    let context = format!("i{bits} {a:#x} {b:#x} by {amount}");
    assert_eq!(
        shift::fshl(bits, a, b, amount),
        number(&both[width - turned..2 * width - turned]),
        "fshl {context}"
    );
    assert_eq!(shift::fshr(bits, a, b, amount), number(&both[turned..width + turned]), "fshr {context}");

    let shifted = |fill: bool| {
        let kept = left.iter().skip(amount as usize).copied();
        number(&kept.chain(std::iter::repeat(fill)).take(width).collect::<Vec<_>>())
    };
    let (in_range, lost) =
        (amount < u128::from(bits), left.iter().take(amount.min(200) as usize).any(|&bit| bit));
    assert_eq!(shift::lshr(bits, a, amount, false), in_range.then(|| shifted(false)), "lshr {context}");
    assert_eq!(
        shift::ashr(bits, a, amount, false),
        in_range.then(|| shifted(left[width - 1])),
        "ashr {context}"
    );
    assert_eq!(shift::lshr(bits, a, amount, true).is_some(), in_range && !lost, "lshr exact {context}");
    assert_eq!(shift::ashr(bits, a, amount, true).is_some(), in_range && !lost, "ashr exact {context}");
    let up = |nuw, nsw| shift::shl(bits, a, amount, nuw, nsw);
    if in_range {
        let kept = std::iter::repeat_n(false, amount as usize).chain(left.iter().copied());
        let result: Vec<bool> = kept.take(width).collect();
        let lost = &left[width - amount as usize..];
        assert_eq!(up(false, false), Some(number(&result)), "shl {context}");
        assert_eq!(up(true, false).is_some(), lost.iter().all(|&bit| !bit), "shl nuw {context}");
        assert_eq!(
            up(false, true).is_some(),
            lost.iter().all(|&bit| bit == result[width - 1]),
            "shl nsw {context}"
        );
    } else {
        assert_eq!([up(false, false), up(true, false), up(false, true)], [None; 3], "shl {context}");
    }

    for to in [1, 7, 8, 16, 32, 64, 128] {
        let resized = |fill: bool| {
            number(&left.iter().copied().chain(std::iter::repeat(fill)).take(to as usize).collect::<Vec<_>>())
        };
        if to < bits {
            let lost = &left[to as usize..];
            let (zeros, signs) =
                (lost.iter().all(|&bit| !bit), lost.iter().all(|&bit| bit == left[to as usize - 1]));
            for (nuw, nsw) in [(false, false), (false, true), (true, false), (true, true)] {
                let expected = ((!nuw || zeros) && (!nsw || signs)).then(|| resized(false));
                assert_eq!(
                    convert::trunc(bits, to, a, nuw, nsw),
                    expected,
                    "trunc {context} to i{to} {nuw} {nsw}"
                );
            }
        } else if to > bits {
            assert_eq!(convert::zext(bits, to, a, false), Some(resized(false)));
            assert_eq!(convert::zext(bits, to, a, true), (!left[width - 1]).then(|| resized(false)));
            assert_eq!(convert::sext(bits, to, a), resized(left[width - 1]));
        }
    }
}

#[test]
fn bit_operations_against_lists_of_bits() {
    for bits in [1, 2, 5] {
        let all = 0..1u128 << bits;
        for a in all.clone() {
            for b in all.clone() {
                all.clone().for_each(|amount| check_bit_lists(bits, a, b, amount));
            }
        }
    }
    for a in 0..256 {
        (0..256).for_each(|amount| check_bit_lists(8, a, (a * 167) & 0xff, amount));
    }
    let mut random = Random::new(11);
    for bits in [16, 32, 64, 65, 127, 128] {
        for a in integer_corners(bits) {
            integer_corners(bits)
                .into_iter()
                .for_each(|amount| check_bit_lists(bits, a, random.integer(bits), amount));
        }
        for _ in 0..500 {
            let amount = random.below(u64::from(bits) + 3).into();
            check_bit_lists(bits, random.integer(bits), random.integer(bits), amount);
        }
    }
}

/// Checks against native integers of the same width.
macro_rules! check_native {
    ($bits:expr, $unsigned:ty, $signed:ty, $a:expr, $b:expr) => {{
        let (bits, a, b) = ($bits, $a, $b);
        let (ua, ub) = (a as $unsigned, b as $unsigned);
        let (sa, sb) = (a as $signed, b as $signed);
        let from_signed = |v: $signed| v as $unsigned as u128;
        let wide = |v: $unsigned| v as u128;
        let context = format!("i{bits} {a:#x} {b:#x}");
        assert_eq!(integer::add(bits, a, b, false, false), Some(wide(ua.wrapping_add(ub))), "add {context}");
        assert_eq!(integer::add(bits, a, b, true, false), ua.checked_add(ub).map(wide), "add nuw {context}");
        assert_eq!(
            integer::add(bits, a, b, false, true),
            sa.checked_add(sb).map(from_signed),
            "add nsw {context}"
        );
        assert_eq!(integer::sub(bits, a, b, false, false), Some(wide(ua.wrapping_sub(ub))), "sub {context}");
        assert_eq!(integer::sub(bits, a, b, true, false), ua.checked_sub(ub).map(wide), "sub nuw {context}");
        assert_eq!(
            integer::sub(bits, a, b, false, true),
            sa.checked_sub(sb).map(from_signed),
            "sub nsw {context}"
        );
        assert_eq!(integer::mul(bits, a, b, false, false), Some(wide(ua.wrapping_mul(ub))), "mul {context}");
        assert_eq!(integer::mul(bits, a, b, true, false), ua.checked_mul(ub).map(wide), "mul nuw {context}");
        assert_eq!(
            integer::mul(bits, a, b, false, true),
            sa.checked_mul(sb).map(from_signed),
            "mul nsw {context}"
        );
        assert_eq!(
            integer::udiv(bits, a, b, false).ok().flatten(),
            ua.checked_div(ub).map(wide),
            "udiv {context}"
        );
        assert_eq!(integer::urem(bits, a, b).ok(), ua.checked_rem(ub).map(wide), "urem {context}");
        let quotient = sa.checked_div(sb).map(from_signed);
        assert_eq!(integer::sdiv(bits, a, b, false).ok().flatten(), quotient, "sdiv {context}");
        assert_eq!(integer::srem(bits, a, b).ok(), sa.checked_rem(sb).map(from_signed), "srem {context}");
        assert_eq!(integer::uadd_sat(bits, a, b), wide(ua.saturating_add(ub)), "uadd_sat {context}");
        assert_eq!(integer::usub_sat(bits, a, b), wide(ua.saturating_sub(ub)), "usub_sat {context}");
        assert_eq!(integer::sadd_sat(bits, a, b), from_signed(sa.saturating_add(sb)), "sadd_sat {context}");
        assert_eq!(integer::ssub_sat(bits, a, b), from_signed(sa.saturating_sub(sb)), "ssub_sat {context}");
        assert_eq!(integer::abs(bits, a, false), Some(from_signed(sa.wrapping_abs())), "abs {context}");
        assert_eq!(integer::abs(bits, a, true), sa.checked_abs().map(from_signed), "abs poison {context}");
        assert_eq!(integer::umin(bits, a, b), wide(ua.min(ub)), "umin {context}");
        assert_eq!(integer::umax(bits, a, b), wide(ua.max(ub)), "umax {context}");
        assert_eq!(integer::smin(bits, a, b), from_signed(sa.min(sb)), "smin {context}");
        assert_eq!(integer::smax(bits, a, b), from_signed(sa.max(sb)), "smax {context}");
    }};
}

#[test]
fn arithmetic_against_native_integers() {
    let mut random = Random::new(12);
    for bits in [16, 32, 64, 128] {
        let corners = integer_corners(bits);
        let mut pairs: Vec<(u128, u128)> =
            corners.iter().flat_map(|&a| corners.iter().map(move |&b| (a, b))).collect();
        pairs.extend((0..5_000).map(|_| (random.integer(bits), random.integer(bits))));
        for (a, b) in pairs {
            match bits {
                16 => check_native!(16, u16, i16, a, b),
                32 => check_native!(32, u32, i32, a, b),
                64 => check_native!(64, u64, i64, a, b),
                _ => check_native!(128, u128, i128, a, b),
            }
        }
    }
}

/// Exact numbers are the reference at the widest types, where native arithmetic is under test. At odd widths a flag can
/// hold in 128 bits and be violated in the type.
#[test]
fn wide_arithmetic_against_exact_numbers() {
    let mut random = Random::new(13);
    for bits in [33, 65, 127, 128] {
        let two_to = |exponent: u32| Exact::new(false, 1, exponent.into());
        let read = |a: u128, signed: bool| {
            let negative = signed && a >> (bits - 1) == 1;
            let exact = Exact::new(false, a, 0);
            if negative { exact.add(&Exact { negative: true, ..two_to(bits) }) } else { exact }
        };
        let wrap = |v: &Exact| {
            let low = v.count.shl(v.exponent).low(bits);
            if v.negative { low.wrapping_neg() & (u128::MAX >> (128 - bits)) } else { low }
        };
        let in_unsigned = |v: &Exact| v.is_zero() || !v.negative && v.compare(&two_to(bits)).is_lt();
        let in_signed = |v: &Exact| {
            let order = v.compare(&two_to(bits - 1));
            order.is_lt() || v.negative && order.is_eq()
        };
        for _ in 0..8_000 {
            let (a, b) = (random.integer(bits), random.integer(bits));
            let (ua, ub, sa, sb) = (read(a, false), read(b, false), read(a, true), read(b, true));
            let minus = |v: &Exact| Exact { negative: !v.negative, ..v.clone() };
            let check = |name: &str,
                         op: fn(u32, u128, u128, bool, bool) -> Option<u128>,
                         u: Exact,
                         s: Exact| {
                let context = format!("{name} i{bits} {a:#x} {b:#x}");
                let result = wrap(&s);
                assert_eq!(op(bits, a, b, false, false), Some(result), "{context}");
                assert_eq!(op(bits, a, b, true, false), in_unsigned(&u).then_some(result), "{context} nuw");
                assert_eq!(op(bits, a, b, false, true), in_signed(&s).then_some(result), "{context} nsw");
            };
            check("add", integer::add, ua.add(&ub), sa.add(&sb));
            check("sub", integer::sub, ua.add(&minus(&ub)), sa.add(&minus(&sb)));
            check("mul", integer::mul, ua.mul(&ub), sa.mul(&sb));
            if b != 0 {
                let quotient = integer::udiv(bits, a, b, false).unwrap().unwrap();
                let rest = integer::urem(bits, a, b).unwrap();
                let back = Natural::new(quotient).mul(&Natural::new(b)).add(&Natural::new(rest));
                assert!(rest < b && back == Natural::new(a), "udiv and urem i{bits} {a:#x} {b:#x}");
                let exact = integer::udiv(bits, a, b, true).unwrap();
                assert_eq!(exact, (rest == 0).then_some(quotient));
            }
        }
    }
}

/// (operation, result) at i8 for error-prone cases, as in docs/scalar.md.
#[test]
fn corner_cases() {
    use Trap::{DivisionByZero, DivisionOverflow};
    assert_eq!(integer::sdiv(8, 0x80, 0xff, false), Err(DivisionOverflow));
    assert_eq!(integer::sdiv(8, 0x80, 0xff, true), Err(DivisionOverflow));
    assert_eq!(integer::srem(8, 0x80, 0xff), Err(DivisionOverflow));
    assert_eq!(integer::sdiv(8, 0x80, 0, false), Err(DivisionByZero));
    assert_eq!(integer::srem(8, 0, 0), Err(DivisionByZero));
    assert_eq!(integer::udiv(8, 0x80, 0xff, false), Ok(Some(0)));
    assert_eq!(integer::sdiv(8, 0xf9, 2, false), Ok(Some(0xfd)), "-7 / 2 = -3");
    assert_eq!(integer::srem(8, 0xf9, 2), Ok(0xff), "-7 % 2 = -1");
    assert_eq!(integer::sdiv(1, 1, 1, false), Err(DivisionOverflow), "in i1 the only nonzero divisor is -1");
    assert_eq!(integer::sdiv(1, 0, 1, false), Ok(Some(0)));
    assert_eq!(integer::add(1, 1, 1, false, true), None, "-1 + -1 = -2 is not an i1");
    assert_eq!(integer::mul(1, 1, 1, false, true), None, "-1 * -1 = 1 is not an i1");
    assert_eq!(integer::mul(1, 1, 1, true, false), Some(1));
    assert_eq!(integer::abs(8, 0x80, false), Some(0x80));
    assert_eq!(integer::abs(8, 0x80, true), None);
    assert_eq!(shift::shl(8, 1, 8, false, false), None);
    assert_eq!(shift::shl(8, 1, 7, false, true), None, "the lost zeros differ from the new sign");
    assert_eq!(shift::shl(8, 0xff, 7, false, true), Some(0x80), "-1 * 128 = -128 fits");
    assert_eq!(shift::shl(8, 0xff, 7, true, false), None);
    assert_eq!(shift::lshr(8, 0, 8, false), None);
    assert_eq!(shift::ashr(8, 0xff, 8, false), None);
    assert_eq!(shift::shl(1, 1, 1, false, false), None, "an i1 can only be shifted by zero");
    assert_eq!(shift::shl(128, 1, 128, false, false), None);
    assert_eq!(shift::shl(128, 1, 1 << 64, false, false), None, "an amount is not cut to 32 or 64 bits");
    assert_eq!(shift::fshl(8, 0x12, 0x34, 8), 0x12);
    assert_eq!(shift::fshr(8, 0x12, 0x34, 8), 0x34);
    assert_eq!(shift::fshl(8, 0x12, 0x34, 255), 0x1a, "255 modulo 8 is 7");
    assert_eq!(shift::fshl(1, 0, 1, 1), 0, "amounts modulo one are zero");
    assert_eq!(bitwise::ctlz(8, 0, false), Some(8));
    assert_eq!(bitwise::cttz(1, 0, false), Some(1));
    assert_eq!(bitwise::bswap(8, 0x5a), 0x5a);
    assert_eq!(integer::ssub_sat(8, 0, 0x80), 0x7f);
}

/// Contract of patterns: upper bits of arguments are ignored, those of results are zero.
#[test]
fn upper_bits_are_ignored_and_never_set() {
    let mut random = Random::new(14);
    type Operation = fn(u32, u128, u128) -> Option<u128>;
    let operations: [Operation; 24] = [
        |n, a, b| integer::add(n, a, b, false, true),
        |n, a, b| integer::sub(n, a, b, true, false),
        |n, a, b| integer::mul(n, a, b, false, true),
        |n, a, b| integer::udiv(n, a, b, true).ok().flatten(),
        |n, a, b| integer::sdiv(n, a, b, false).ok().flatten(),
        |n, a, b| integer::urem(n, a, b).ok(),
        |n, a, b| integer::srem(n, a, b).ok(),
        |n, a, b| Some(integer::umin(n, a, b)),
        |n, a, b| Some(integer::smax(n, a, b)),
        |n, a, b| Some(integer::sadd_sat(n, a, b)),
        |n, a, b| Some(integer::usub_sat(n, a, b)),
        |n, a, _| integer::abs(n, a, true),
        |n, a, b| shift::shl(n, a, b, true, true),
        |n, a, b| shift::lshr(n, a, b, true),
        |n, a, b| shift::ashr(n, a, b, false),
        |n, a, b| Some(shift::fshl(n, a, b, a)),
        |n, a, b| Some(shift::fshr(n, a, b, b)),
        |n, a, b| bitwise::or(n, a, b, true),
        |n, a, b| Some(bitwise::xor(n, a, b)),
        |n, a, _| Some(bitwise::ctpop(n, a)),
        |n, a, _| bitwise::ctlz(n, a, true),
        |n, a, _| bitwise::cttz(n, a, false),
        |n, a, _| Some(bitwise::bitreverse(n, a)),
        |n, a, _| convert::trunc(128, n, convert::sext(n, 128, a), false, true),
    ];
    for bits in [1, 5, 8, 33, 64, 127] {
        let ones = u128::MAX >> (128 - bits);
        for operation in operations {
            for _ in 0..300 {
                let (a, b) = (random.integer(bits), u128::from(random.below(u64::from(bits) + 2)));
                let (dirty_a, dirty_b) = (a | random.wide() & !ones, b | random.wide() & !ones);
                let clean = operation(bits, a, b & ones);
                assert_eq!(operation(bits, dirty_a, dirty_b), clean, "i{bits} {a:#x} {b:#x}");
                assert!(clean.is_none_or(|result| result <= ones));
            }
        }
    }
}
