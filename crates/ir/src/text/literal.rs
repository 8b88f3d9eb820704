//! Literals: prints and parses the bits of a scalar.

use super::errors::short;
use crate::constant::Constant;
use crate::types::{Scalar, Type};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Appends the constant, without its type.
pub(super) fn write_constant(out: &mut String, constant: &Constant) {
    match constant {
        Constant::Poison(_) => out.push_str("poison"),
        Constant::Scalar(scalar, bits) => write_scalar(out, *scalar, *bits),
        Constant::Vector(scalar, lanes) => match constant.splat_bits() {
            Some(bits) => {
                out.push_str("splat ");
                write_scalar(out, *scalar, bits);
            }
            None => {
                out.push('<');
                for (index, &bits) in lanes.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    write_scalar(out, *scalar, bits);
                }
                out.push('>');
            }
        },
        Constant::Address(_, name) => super::names::write_name(out, name),
    }
}

/// Appends a scalar, given as bits.
pub fn write_scalar(out: &mut String, scalar: Scalar, bits: u128) {
    let written = match scalar {
        _ if bits & !scalar.bit_mask() != 0 => write!(out, "{bits:#x}"),
        Scalar::I1 => write!(out, "{}", bits == 1),
        Scalar::Ptr(_) if bits == 0 => write!(out, "null"),
        Scalar::Ptr(_) => write!(out, "{bits:#x}"),
        scalar => match BinaryFormat::of(scalar) {
            Some(format) if format.is_nan(bits) && bits == format.nan() => write!(out, "nan"),
            Some(format) if format.is_nan(bits) => write!(out, "{bits:#x}"),
            Some(format) => write_float(out, format, bits),
            None => {
                let unused = 128 - scalar.bits();
                write!(out, "{}", (bits << unused) as i128 >> unused)
            }
        },
    };
    written.expect("a string takes all text");
}

fn write_float(out: &mut String, format: &BinaryFormat, bits: u128) -> std::fmt::Result {
    match format.bits {
        64 => write!(out, "{:?}", f64::from_bits(bits as u64)),
        32 => write!(out, "{:?}", f32::from_bits(bits as u32)),
        _ => {
            let exact = format.value(bits);
            let shortest = (0..8)
                .map(|digits| format!("{exact:.digits$e}"))
                .find(|text| format.read(text) == Some(bits))
                .and_then(|text| text.parse().ok());
            write!(out, "{:?}", shortest.unwrap_or(exact))
        }
    }
}

/// Parses a number or word as the bits of a scalar, or returns an error message.
pub fn read_scalar(text: &str, scalar: Scalar) -> Result<u128, String> {
    let shown = short(text);
    let does_not_fit = || format!("`{shown}` does not fit {scalar}");
    let format = BinaryFormat::of(scalar);
    match (text, scalar) {
        ("true" | "false", Scalar::I1) => return Ok(u128::from(text == "true")),
        ("null", Scalar::Ptr(_)) => return Ok(0),
        ("true" | "false" | "null" | "inf" | "nan", _) if format.is_none() => {
            return Err(format!("`{shown}` is not a value of type {scalar}"));
        }
        _ => {}
    }
    let no_number = || format!("`{shown}` is not a number");
    if let Some(digits) = text.strip_prefix("0x") {
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(no_number());
        }
        let bits = u128::from_str_radix(digits, 16).map_err(|_| does_not_fit())?;
        return if bits & !scalar.bit_mask() == 0 { Ok(bits) } else { Err(does_not_fit()) };
    }
    let (is_negative, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (true, magnitude),
        None => (false, text),
    };
    let is_decimal = magnitude.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(format) = format {
        return match text {
            "nan" => Ok(format.nan()),
            "inf" => Ok(format.infinity()),
            "-inf" => Ok(format.infinity() | format.sign()),
            _ if is_decimal => Err(format!("`{shown}` is an integer; as {scalar} it is `{shown}.0`")),
            _ if !magnitude
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) =>
            {
                Err(no_number())
            }
            _ => match format.read(text) {
                None => Err(no_number()),
                Some(bits) if bits & !format.sign() == format.infinity() => Err(does_not_fit()),
                Some(bits) => Ok(bits),
            },
        };
    }
    if !is_decimal {
        return Err(format!("`{shown}` is not a value of type {scalar}"));
    }
    if scalar.is_ptr() {
        return Err(format!("`{shown}` is not an address: write `null` or `0x…`"));
    }
    let magnitude: u128 = magnitude.parse().map_err(|_| does_not_fit())?;
    let most = if is_negative { 1 << (scalar.bits() - 1) } else { scalar.bit_mask() };
    match magnitude <= most {
        true if is_negative => Ok(magnitude.wrapping_neg() & scalar.bit_mask()),
        true => Ok(magnitude),
        false => Err(does_not_fit()),
    }
}

/// Builds the vector constant with these bits in its lanes.
pub(super) fn vector(ty: Type, lanes: &[u128]) -> Constant {
    Constant::Vector(ty.scalar(), lanes.into())
}

/// A binary floating-point format.
struct BinaryFormat {
    /// Total number of bits.
    bits: u32,
    /// Number of fraction bits.
    fraction: u32,
    /// Minimum exponent of a normal number.
    least: i32,
}

impl BinaryFormat {
    fn of(scalar: Scalar) -> Option<&'static BinaryFormat> {
        Some(match scalar {
            Scalar::F16 => &BinaryFormat { bits: 16, fraction: 10, least: -14 },
            Scalar::BF16 => &BinaryFormat { bits: 16, fraction: 7, least: -126 },
            Scalar::F32 => &BinaryFormat { bits: 32, fraction: 23, least: -126 },
            Scalar::F64 => &BinaryFormat { bits: 64, fraction: 52, least: -1022 },
            _ => return None,
        })
    }

    fn sign(&self) -> u128 {
        1 << (self.bits - 1)
    }

    fn infinity(&self) -> u128 {
        self.sign() - (1 << self.fraction)
    }

    /// The NaN of the literal `nan`: quiet, positive, without payload.
    fn nan(&self) -> u128 {
        self.infinity() | 1 << (self.fraction - 1)
    }

    fn is_nan(&self, bits: u128) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// The value of a bit pattern, in a format narrower than f64.
    fn value(&self, bits: u128) -> f64 {
        let sign = if bits & self.sign() == 0 { 1.0 } else { -1.0 };
        let exponent = ((bits & (self.sign() - 1)) >> self.fraction) as i32;
        let fraction = (bits & ((1 << self.fraction) - 1)) as f64;
        let hidden = if exponent == 0 { 0.0 } else { (1u64 << self.fraction) as f64 };
        if bits & (self.sign() - 1) == self.infinity() {
            return sign * f64::INFINITY;
        }
        let quantum = exponent.max(1) - 1 + self.least - self.fraction as i32;
        sign * (hidden + fraction) * 2f64.powi(quantum)
    }

    /// Parses a decimal number: rounds to nearest, ties to even; overflow gives infinity.
    fn read(&self, text: &str) -> Option<u128> {
        match self.bits {
            64 => text.parse::<f64>().ok().map(|number| number.to_bits().into()),
            32 => text.parse::<f32>().ok().map(|number| number.to_bits().into()),
            _ => {
                let number: f64 = text.parse().ok()?;
                let sign = if number.is_sign_negative() { self.sign() } else { 0 };
                Some(sign | self.round(number.abs(), text))
            }
        }
    }

    /// Rounds a positive double, itself rounded from the text, to this format; the text breaks ties.
    fn round(&self, number: f64, text: &str) -> u128 {
        if number.is_infinite() {
            return self.infinity();
        }
        let exponent = (number.to_bits() >> 52) as i32 - 1023;
        let quantum = exponent.max(self.least) - self.fraction as i32;
        let scaled = number * 2f64.powi(-quantum);
        let rounded = match scaled - scaled.floor() == 0.5 {
            true => match compare_decimal(text, &format!("{number:.400e}")) {
                Ordering::Less => scaled.floor(),
                Ordering::Equal => scaled.round_ties_even(),
                Ordering::Greater => scaled.ceil(),
            },
            false => scaled.round(),
        };
        let above_least = (quantum + self.fraction as i32 - self.least) as u128;
        let bits = (above_least << self.fraction) + rounded as u128;
        bits.min(self.infinity())
    }
}

/// Compares the magnitudes of two decimal numbers, neither of them zero.
fn compare_decimal(a: &str, b: &str) -> Ordering {
    /// Significant digits without surrounding zeros, and the exponent of the first.
    fn normal(text: &str) -> (i64, Vec<u8>) {
        let text = text.trim_start_matches('-');
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = digits.iter().take_while(|&&digit| digit == b'0').count();
        let trailing = digits.iter().rev().take_while(|&&digit| digit == b'0').count();
        let exponent = exponent.parse::<i64>().unwrap_or(0) + whole.len() as i64 - leading as i64;
        (exponent, digits.get(leading..digits.len() - trailing).unwrap_or_default().to_vec())
    }
    normal(a).cmp(&normal(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(scalar: Scalar, bits: u128) -> String {
        let mut out = String::new();
        write_scalar(&mut out, scalar, bits);
        out
    }

    #[test]
    fn every_half_comes_back() {
        for scalar in [Scalar::F16, Scalar::BF16] {
            for bits in 0..=0xffff {
                let text = text(scalar, bits);
                assert_eq!(read_scalar(&text, scalar), Ok(bits), "{scalar} {text}");
            }
        }
    }

    #[test]
    fn floats_are_short() {
        assert_eq!(text(Scalar::F16, 0x3c00), "1.0");
        assert_eq!(text(Scalar::F16, 0x2e66), "0.1");
        assert_eq!(text(Scalar::F16, 0x7bff), "65500.0");
        assert_eq!(text(Scalar::F16, 0x0001), "6e-8");
        assert_eq!(text(Scalar::BF16, 0x7f7f), "3.39e38");
        assert_eq!(text(Scalar::F32, 0.1f32.to_bits().into()), "0.1");
        assert_eq!(text(Scalar::F64, 1e300f64.to_bits().into()), "1e300");
        assert_eq!(text(Scalar::F64, (-0f64).to_bits().into()), "-0.0");
        assert_eq!(text(Scalar::F32, 0x7fc0_0000), "nan");
        assert_eq!(text(Scalar::F32, 0xffc0_0000), "0xffc00000");
        assert_eq!(text(Scalar::F32, 0xff80_0000), "-inf");
    }

    #[test]
    fn halves_are_rounded_once() {
        // The midpoint between 1 and the next half float, and decimals too close to it for a double to distinguish.
        let near = |tail: &str| read_scalar(&format!("1.00048828125{tail}"), Scalar::F16);
        assert_eq!(near(""), Ok(0x3c00));
        assert_eq!(near("0000000000000000000000"), Ok(0x3c00));
        assert_eq!(near("0000000000000000000001"), Ok(0x3c01));
        assert_eq!(read_scalar("1.000488281249999999999999999", Scalar::F16), Ok(0x3c00));
        assert_eq!(read_scalar("1.0014648437499999999999999999", Scalar::F16), Ok(0x3c01));
        assert_eq!(read_scalar("1.00146484375", Scalar::F16), Ok(0x3c02));
        assert_eq!(read_scalar("65519.99", Scalar::F16), Ok(0x7bff));
        assert!(read_scalar("65520.0", Scalar::F16).is_err());
    }

    #[test]
    fn integers_of_both_signs() {
        assert_eq!(text(Scalar::I8, 0xff), "-1");
        assert_eq!(text(Scalar::I128, 1 << 127), i128::MIN.to_string());
        assert_eq!(read_scalar("255", Scalar::I8), Ok(255));
        assert_eq!(read_scalar("-128", Scalar::I8), Ok(128));
        assert_eq!(read_scalar("0xff", Scalar::I8), Ok(255));
        assert_eq!(read_scalar("-1", Scalar::I1), Ok(1));
        assert_eq!(read_scalar(&i128::MIN.to_string(), Scalar::I128), Ok(1 << 127));
        assert_eq!(read_scalar(&u128::MAX.to_string(), Scalar::I128), Ok(u128::MAX));
        for text in ["256", "-129", "0x100", "0x", "0x+1", "1.5", "1_0", "4x2", "nan", "null", "true", ""] {
            assert!(read_scalar(text, Scalar::I8).is_err(), "{text}");
        }
        for text in ["1", "1.5.2", "1e", "1e400", "1x0", "true", "null", "1.0f", "--1.0", "0x1ffffffff"] {
            assert!(read_scalar(text, Scalar::F32).is_err(), "{text}");
        }
    }
}
