//! What compiled code calls and the machine's own libraries may lack: conversions to bf16, which libgcc has only
//! since GCC 13.

/// The symbols with the addresses of their functions.
pub(crate) fn builtins() -> [(&'static str, usize); 2] {
    let double: extern "C" fn(f64) -> f32 = bf16_of_f64;
    let single: extern "C" fn(f32) -> f32 = bf16_of_f32;
    [("__truncdfbf2", double as usize), ("__truncsfbf2", single as usize)]
}

/// A bf16 is returned in the lower bits of the register in which an f32 is.
fn returned(bits: u16) -> f32 {
    f32::from_bits(bits.into())
}

/// To nearest, ties to even.
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
    // Cut instead of rounded, and the last bit set because something was cut: so the second rounding sees it.
    let bits = near.to_bits() - u32::from(f64::from(near).abs() > value.abs());
    returned(round(f32::from_bits(bits | 1)))
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
        // A tie goes to even, and what is a little above the tie goes up, however little.
        assert_eq!(bf16(1.0 + 2f64.powi(-8)), 0x3f80);
        assert_eq!(bf16(1.0 + 2f64.powi(-8) + 2f64.powi(-50)), 0x3f81);
        assert_eq!(bf16(-1.0 - 3.0 * 2f64.powi(-8)), 0xbf82);
        assert_eq!(bf16(-1.0 - 3.0 * 2f64.powi(-8) + 2f64.powi(-50)), 0xbf81);
        assert_eq!(bf16(1e300), 0x7f80);
        assert_eq!(bf16(f64::NEG_INFINITY), 0xff80);
        assert_eq!(bf16(1e-300), 0);
        assert_eq!(bf16(f64::NAN) & 0x7fff, 0x7fc0);
    }
}
