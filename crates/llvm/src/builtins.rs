//! Runtime functions that compiled code may need and the system libraries may lack: conversions to and from f16 and
//! bf16, which libgcc has only since GCC 12 and 13, and which executables do not always export to loaded libraries; functions
//! of libm that LLVM calls for atomics.

/// Returns the symbols and their addresses.
pub(crate) fn builtins() -> [(&'static str, usize); 7] {
    let double: extern "C" fn(f64) -> f32 = bf16_of_f64;
    let single: extern "C" fn(f32) -> f32 = bf16_of_f32;
    let double_to_half: extern "C" fn(f64) -> f32 = f16_of_f64;
    let single_to_half: extern "C" fn(f32) -> f32 = f16_of_f32;
    let half_to_single: extern "C" fn(f32) -> f32 = f32_of_f16;
    let least: extern "C" fn(f32, f32) -> f32 = least;
    let greatest: extern "C" fn(f32, f32) -> f32 = greatest;
    [
        ("fminf", least as usize),
        ("fmaxf", greatest as usize),
        ("__truncdfbf2", double as usize),
        ("__truncsfbf2", single as usize),
        ("__truncdfhf2", double_to_half as usize),
        ("__truncsfhf2", single_to_half as usize),
        ("__extendhfsf2", half_to_single as usize),
    ]
}

/// Minimum of floats; LLVM calls it for atomic minima of f16.
extern "C" fn least(a: f32, b: f32) -> f32 {
    a.min(b)
}

/// Maximum of floats; LLVM calls it for atomic maxima of f16.
extern "C" fn greatest(a: f32, b: f32) -> f32 {
    a.max(b)
}

/// Returns 16 bits in the lower half of an f32 register, as bf16 and f16 are passed.
fn returned(bits: u16) -> f32 {
    f32::from_bits(bits.into())
}

/// Rounds to nearest, ties to even.
fn round(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

extern "C" fn bf16_of_f32(value: f32) -> f32 {
    returned(round(value))
}

extern "C" fn bf16_of_f64(value: f64) -> f32 {
    let near = value as f32;
    if near.is_nan() || f64::from(near) == value {
        return returned(round(near));
    }
    // Truncate and set the last bit (round to odd), so that the second rounding is correct.
    let bits = near.to_bits() - u32::from(f64::from(near).abs() > value.abs());
    returned(round(f32::from_bits(bits | 1)))
}

/// Returns the bits of the nearest f16, ties to even.
pub fn f16_bits(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    if value.is_nan() {
        return sign | 0x7e00 | (bits >> 42) as u16 & 0x3ff;
    }
    if value.abs() >= 65520.0 {
        return sign | 0x7c00;
    }
    // Subnormals have the spacing of the smallest normal numbers.
    let exponent = ((bits >> 52 & 0x7ff) as i32 - 1023).max(-14);
    let steps = (value.abs() * 2f64.powi(10 - exponent)).round_ties_even() as u16;
    // The leading bit is implicit; a carry increments the exponent.
    sign | (((exponent + 14) as u16) << 10).wrapping_add(steps)
}

extern "C" fn f16_of_f64(value: f64) -> f32 {
    returned(f16_bits(value))
}

extern "C" fn f16_of_f32(value: f32) -> f32 {
    returned(f16_bits(value.into()))
}

extern "C" fn f32_of_f16(value: f32) -> f32 {
    let bits = value.to_bits() & 0xffff;
    let sign = f32::from_bits((bits & 0x8000) << 16 | 1f32.to_bits());
    let (exponent, mantissa) = ((bits >> 10 & 0x1f) as i32, bits & 0x3ff);
    let size = match exponent {
        0 => mantissa as f32 * 2f32.powi(-24),
        31 if mantissa != 0 => f32::from_bits(0x7fc0_0000 | mantissa << 13),
        31 => f32::INFINITY,
        _ => (1024 + mantissa) as f32 * 2f32.powi(exponent - 25),
    };
    size.copysign(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bf16(value: f64) -> u32 {
        bf16_of_f64(value).to_bits()
    }

    #[test]
    fn conversions_round_once() {
        assert_eq!(bf16(1.0), 0x3f80);
        // A tie rounds to even, and anything above the tie rounds up.
        assert_eq!(bf16(1.0 + 2f64.powi(-8)), 0x3f80);
        assert_eq!(bf16(1.0 + 2f64.powi(-8) + 2f64.powi(-50)), 0x3f81);
        assert_eq!(bf16(-1.0 - 3.0 * 2f64.powi(-8)), 0xbf82);
        assert_eq!(bf16(-1.0 - 3.0 * 2f64.powi(-8) + 2f64.powi(-50)), 0xbf81);
        assert_eq!(bf16(1e300), 0x7f80);
        assert_eq!(bf16(f64::NEG_INFINITY), 0xff80);
        assert_eq!(bf16(1e-300), 0);
        assert_eq!(bf16(f64::NAN) & 0x7fff, 0x7fc0);
    }

    #[test]
    fn halves_round_once_and_come_back() {
        let f16 = |value: f64| f16_of_f64(value).to_bits();
        assert_eq!(f16(1.0), 0x3c00);
        assert_eq!(f16(1.0 + 2f64.powi(-11)), 0x3c00);
        assert_eq!(f16(1.0 + 2f64.powi(-11) + 2f64.powi(-50)), 0x3c01);
        assert_eq!(f16(-1.0 - 3.0 * 2f64.powi(-11)), 0xbc02);
        assert_eq!(f16(65519.9), 0x7bff);
        assert_eq!(f16(65520.0), 0x7c00);
        assert_eq!(f16(2f64.powi(-25)), 0);
        assert_eq!(f16(-2f64.powi(-25) * 1.001), 0x8001);
        assert_eq!(f16(2f64.powi(-14) - 2f64.powi(-26)), 0x400);
        assert_eq!(f16(f64::NAN) & 0x7c00, 0x7c00);
        for bits in 0..=0xffffu32 {
            let single = f32_of_f16(f32::from_bits(bits));
            assert_eq!(single.is_nan(), bits & 0x7fff > 0x7c00);
            assert!(single.is_nan() || f16_of_f32(single).to_bits() == bits, "{bits:x}");
        }
    }
}
