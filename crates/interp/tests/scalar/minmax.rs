//! Extrema against tables, and against the order of exact numbers.

use heddle_interp::scalar::FloatFormat::{self, F32};
use heddle_interp::scalar::minmax::{
    SignedZeros, maximum, maximumnum, maxnum, maxnum_allowed, minimum, minimumnum, minnum, minnum_allowed,
};
use heddle_interp::scalar::same_float;

use crate::sample::{Random, float_corners};

const ONE: u128 = 0x3f80_0000;
const QUIET: u128 = 0xffc0_1234;
const SIGNALING: u128 = 0x7f80_0001;
const NAN: u128 = 0x7fc0_0000;
const MINUS_ZERO: u128 = 0x8000_0000;

#[test]
fn nans_and_zeros() {
    use SignedZeros::{Either, Ordered};
    for (a, b) in [(QUIET, ONE), (ONE, QUIET)] {
        assert_eq!(
            [minnum(F32, a, b), maxnum(F32, a, b), minimumnum(F32, a, b), maximumnum(F32, a, b)],
            [ONE; 4]
        );
        assert_eq!([minimum(F32, a, b), maximum(F32, a, b)], [NAN; 2]);
        assert_eq!(minnum_allowed(F32, a, b, Either), [ONE; 2]);
    }
    for (a, b) in [(SIGNALING, ONE), (ONE, SIGNALING)] {
        assert_eq!(
            [minnum(F32, a, b), maxnum(F32, a, b), minimumnum(F32, a, b), maximumnum(F32, a, b)],
            [ONE; 4]
        );
        assert_eq!([minimum(F32, a, b), maximum(F32, a, b)], [NAN; 2]);
        assert_eq!(minnum_allowed(F32, a, b, Ordered), [ONE, NAN]);
        assert_eq!(maxnum_allowed(F32, a, b, Ordered), [ONE, NAN]);
    }
    for (a, b) in [(QUIET, SIGNALING), (SIGNALING, QUIET), (QUIET, QUIET), (SIGNALING, SIGNALING)] {
        let results = [minnum, maxnum, minimumnum, maximumnum, minimum, maximum].map(|op| op(F32, a, b));
        assert_eq!(results, [NAN; 6]);
        assert_eq!(minnum_allowed(F32, a, b, Either), [NAN; 2]);
    }
    for (a, b) in [(0, MINUS_ZERO), (MINUS_ZERO, 0)] {
        assert_eq!([minnum, minimumnum, minimum].map(|op| op(F32, a, b)), [MINUS_ZERO; 3]);
        assert_eq!([maxnum, maximumnum, maximum].map(|op| op(F32, a, b)), [0; 3]);
        assert_eq!(minnum_allowed(F32, a, b, Ordered), [MINUS_ZERO; 2]);
        assert_eq!(maxnum_allowed(F32, a, b, Ordered), [0; 2]);
        assert_eq!(minnum_allowed(F32, a, b, Either), [MINUS_ZERO, 0]);
        assert_eq!(maxnum_allowed(F32, a, b, Either), [0, MINUS_ZERO]);
    }
    assert_eq!(minnum_allowed(F32, 0, 0, Either), [0; 2], "no zero of another sign comes from nowhere");
    assert_eq!(maxnum_allowed(F32, MINUS_ZERO, MINUS_ZERO, Either), [MINUS_ZERO; 2]);
}

/// Without NaNs the order is that of patterns read as sign and magnitude.
fn check(format: FloatFormat, a: u128, b: u128) {
    let key = |v: u128| {
        let magnitude = (v & !format.sign_mask()) as i128;
        if v & format.sign_mask() != 0 { -1 - magnitude } else { magnitude }
    };
    let (lesser, greater) = if key(a) < key(b) { (a, b) } else { (b, a) };
    match (format.is_nan(a), format.is_nan(b)) {
        (false, false) => {
            for operation in [minnum, minimumnum, minimum] {
                assert_eq!(operation(format, a, b), lesser, "{format:?} {a:#x} {b:#x}");
            }
            for operation in [maxnum, maximumnum, maximum] {
                assert_eq!(operation(format, a, b), greater, "{format:?} {a:#x} {b:#x}");
            }
        }
        (a_is_nan, _) => {
            let other = if a_is_nan { b } else { a };
            for operation in [minnum, maxnum, minimumnum, maximumnum] {
                assert!(same_float(format, operation(format, a, b), other), "{format:?} {a:#x} {b:#x}");
            }
            assert_eq!(minimum(format, a, b), format.canonical_nan());
            assert_eq!(maximum(format, a, b), format.canonical_nan());
        }
    }
    for zeros in [SignedZeros::Ordered, SignedZeros::Either] {
        assert_eq!(minnum_allowed(format, a, b, zeros)[0], minnum(format, a, b));
        assert_eq!(maxnum_allowed(format, a, b, zeros)[0], maxnum(format, a, b));
    }
}

#[test]
fn corners_and_random_pairs_in_every_format() {
    let mut random = Random::new(41);
    for format in FloatFormat::ALL {
        let corners = float_corners(format);
        corners.iter().for_each(|&a| corners.iter().for_each(|&b| check(format, a, b)));
        for _ in 0..5_000 {
            let a = random.float(format);
            check(format, a, random.float(format));
            check(format, a, a ^ format.sign_mask());
            check(format, a, a ^ 1);
        }
    }
}
