//! All conversions of scalars: pairs of types, rounding modes, saturation, against Rust's arithmetic.

use crate::half::{ENABLE, of_half};
use crate::{by_oracle, compiled};
use heddle_llvm::f16_bits;
use std::fmt::Write as _;

/// Name, bits, and whether it is signed or a float.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Signed(u32),
    Unsigned(u32),
    Half,
    Single,
    Double,
}
use Kind::*;

const TYPES: [(&str, Kind); 11] = [
    ("char", Signed(8)),
    ("uchar", Unsigned(8)),
    ("short", Signed(16)),
    ("ushort", Unsigned(16)),
    ("int", Signed(32)),
    ("uint", Unsigned(32)),
    ("long", Signed(64)),
    ("ulong", Unsigned(64)),
    ("half", Half),
    ("float", Single),
    ("double", Double),
];

/// A value that any of the types has.
#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i128),
    Real(f64),
}

fn decode(kind: Kind, bits: u64) -> Number {
    match kind {
        Signed(width) => Number::Whole(i128::from((bits << (64 - width)) as i64 >> (64 - width))),
        Unsigned(width) => Number::Whole(i128::from(bits << (64 - width) >> (64 - width))),
        Half => Number::Real(of_half(bits as u16)),
        Single => Number::Real(f32::from_bits(bits as u32).into()),
        Double => Number::Real(f64::from_bits(bits)),
    }
}

fn encode(kind: Kind, value: i128) -> u64 {
    match kind {
        Signed(width) | Unsigned(width) => value as u64 & (u64::MAX >> (64 - width)),
        Half | Single | Double => unreachable!("whole numbers only"),
    }
}

fn range(kind: Kind) -> (i128, i128) {
    match kind {
        Signed(width) => (-(1 << (width - 1)), (1 << (width - 1)) - 1),
        Unsigned(width) => (0, (1 << width) - 1),
        Half | Single | Double => unreachable!("whole numbers only"),
    }
}

/// The float of a type for a number, by a mode.
fn to_float(kind: Kind, number: Number, mode: &str) -> u64 {
    if kind == Half {
        return to_half(number, mode);
    }
    // The nearest, and whether the number lies below or above it.
    let (near, order) = match (number, kind) {
        (Number::Whole(value), Single) => (f64::from(value as f32), value.cmp(&(value as f32 as i128))),
        (Number::Whole(value), _) => (value as f64, value.cmp(&(value as f64 as i128))),
        (Number::Real(value), Single) => {
            let near = value as f32;
            (f64::from(near), value.partial_cmp(&near.into()).unwrap_or(std::cmp::Ordering::Equal))
        }
        (Number::Real(value), _) => (value, std::cmp::Ordering::Equal),
    };
    let is_negative = match number {
        Number::Whole(value) => value < 0,
        Number::Real(value) => value < 0.0,
    };
    let up = match mode {
        "_rtp" => true,
        "_rtz" => is_negative,
        _ => false,
    };
    let down = match mode {
        "_rtn" => true,
        "_rtz" => !is_negative,
        _ => false,
    };
    match kind {
        Single => {
            let near = near as f32;
            let float = match order {
                std::cmp::Ordering::Greater if up => near.next_up(),
                std::cmp::Ordering::Less if down => near.next_down(),
                _ => near,
            };
            float.to_bits().into()
        }
        _ => match order {
            std::cmp::Ordering::Greater if up => near.next_up().to_bits(),
            std::cmp::Ordering::Less if down => near.next_down().to_bits(),
            _ => near.to_bits(),
        },
    }
}

/// The half for a number, by a mode: a double holds each number that a half does not, or is far beyond all halves.
fn to_half(number: Number, mode: &str) -> u64 {
    let value = match number {
        Number::Whole(value) => value as f64,
        Number::Real(value) => value,
    };
    let near = f16_bits(value);
    let away = |bits: u16| if bits & 0x7fff == 0 { bits } else { bits - 1 };
    // Steps upwards and downwards, by the bits.
    let up = |bits: u16| {
        if bits == 0x8000 {
            1
        } else if bits > 0x8000 {
            away(bits)
        } else {
            bits + 1
        }
    };
    let down = |bits: u16| up(bits ^ 0x8000) ^ 0x8000;
    let is_upward = mode == "_rtp" || mode == "_rtz" && value < 0.0;
    let is_downward = mode == "_rtn" || mode == "_rtz" && value > 0.0;
    u64::from(match of_half(near).partial_cmp(&value) {
        Some(std::cmp::Ordering::Less) if is_upward => up(near),
        Some(std::cmp::Ordering::Greater) if is_downward => down(near),
        _ => near,
    })
}

/// Returns the bits that a conversion must give; `None` where the specification leaves them open.
fn expected(from: Kind, to: Kind, bits: u64, mode: &str, saturates: bool) -> Option<u64> {
    let number = decode(from, bits);
    if matches!(to, Half | Single | Double) {
        return Some(to_float(to, number, mode));
    }
    let (least, most) = range(to);
    let value = match number {
        Number::Whole(value) if saturates => value.clamp(least, most),
        Number::Whole(value) => return Some(encode(to, value)),
        Number::Real(value) => {
            let whole = match mode {
                "_rte" => value.round_ties_even(),
                "_rtp" => value.ceil(),
                "_rtn" => value.floor(),
                _ => value.trunc(),
            };
            // `as` saturates, and makes 0 of what is no number.
            let exact = whole as i128;
            let fits = !whole.is_nan() && (least..=most).contains(&exact);
            if !fits && !saturates {
                return None;
            }
            exact.clamp(least, most)
        }
    };
    Some(encode(to, value))
}

fn samples(kind: Kind) -> Vec<u64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let whole: Vec<i128> = [7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63, 64]
        .into_iter()
        .flat_map(|bit| [-2, -1, 0, 1, 2].map(|by| (1i128 << bit) + by))
        .collect();
    let mut list: Vec<u64> = match kind {
        Signed(width) | Unsigned(width) => {
            let of = |value: &i128| [*value as u64, value.wrapping_neg() as u64];
            whole.iter().flat_map(of).map(|bits| bits & (u64::MAX >> (64 - width))).collect()
        }
        Single => whole
            .iter()
            .flat_map(|&value| {
                [value as f32, -(value as f32), (value as f32).next_down(), value as f32 / 1024.0]
            })
            .map(|x| x.to_bits().into())
            .collect(),
        // All of them, but each of the small ones once.
        Half => (0..=u64::from(u16::MAX)).filter(|bits| bits & 0x7fff > 0x3000 || bits % 5 == 0).collect(),
        Double => whole
            .iter()
            .flat_map(|&value| {
                [value as f64, -(value as f64), (value as f64).next_down(), value as f64 / 1024.0]
            })
            .map(f64::to_bits)
            .collect(),
    };
    let halves = [
        65504.0,
        65519.9,
        65520.0,
        6e-8,
        2.9e-8,
        1.00049,
        2049.0,
        0.0,
        0.5,
        1.5,
        2.5,
        0.49999,
        1e-40,
        1e-310,
        3.4028235e38,
        3.5e38,
        1e300,
    ];
    for &value in halves.iter().chain(&[f64::NAN, f64::INFINITY]) {
        match kind {
            Single => list.extend([value as f32, -value as f32].map(|x| u64::from(x.to_bits()))),
            Double => list.extend([value, -value].map(f64::to_bits)),
            _ => {}
        }
    }
    let width = match kind {
        Signed(width) | Unsigned(width) => width,
        Half => 16,
        Single => 32,
        Double => 64,
    };
    list.extend((0..32).map(|_| next() >> (next() % 64) & (u64::MAX >> (64 - width))));
    list.sort_unstable();
    list.dedup();
    list
}

const MODES: [&str; 5] = ["", "_rte", "_rtz", "_rtp", "_rtn"];

#[test]
fn all_pairs_modes_and_saturations() {
    let mut checked = 0u64;
    for (from, from_kind) in TYPES {
        let mut source = String::from(ENABLE);
        let mut calls = Vec::new();
        for (to, to_kind) in TYPES {
            for mode in MODES {
                for saturates in [false, true] {
                    if saturates && matches!(to_kind, Half | Single | Double) {
                        continue;
                    }
                    let sat = if saturates { "_sat" } else { "" };
                    let name = format!("convert_{to}{sat}{mode}");
                    _ = writeln!(source, "{to} call_{name}({from} x) {{ return {name}(x); }}");
                    calls.push((name, to_kind, mode, saturates));
                }
            }
        }
        let module = compiled(&source);
        let samples = samples(from_kind);
        for (name, to_kind, mode, saturates) in calls {
            let found = &by_oracle(&module, &format!("call_{name}"), std::slice::from_ref(&samples))[0];
            for (&bits, &found) in samples.iter().zip(found) {
                let Some(expected) = expected(from_kind, to_kind, bits, mode, saturates) else { continue };
                let is_nan = |bits: u64| matches!(decode(to_kind, bits), Number::Real(x) if x.is_nan());
                let same = expected == found || is_nan(expected) && is_nan(found);
                let value = decode(from_kind, bits);
                assert!(same, "{name}({from} {value:?}) is {found:x}, not {expected:x}");
                checked += 1;
            }
        }
    }
    println!("{checked} conversions");
    assert!(checked > 80_000, "{checked}");
}

/// The reference itself knows one mode from another.
#[test]
fn a_wrong_mode_is_noticed() {
    let third = 0x3fd5_5555_5555_5555;
    assert_ne!(
        to_float(Single, Number::Real(f64::from_bits(third)), "_rtp"),
        to_float(Single, Number::Real(f64::from_bits(third)), "_rtn")
    );
    assert_ne!(
        expected(Double, Signed(32), 2.5f64.to_bits(), "_rte", false),
        expected(Double, Signed(32), 2.5f64.to_bits(), "_rtp", false)
    );
    assert_eq!(to_half(Number::Whole(70_000), "_rtz"), 0x7bff);
    assert_eq!(to_half(Number::Real(-1e-9), "_rtn"), 0x8001);
    assert_eq!(expected(Double, Unsigned(8), 300f64.to_bits(), "", true), Some(255));
    assert_eq!(expected(Double, Unsigned(8), 300f64.to_bits(), "", false), None);
}
