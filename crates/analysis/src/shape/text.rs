//! Text form of shapes: `uniform`, `strided 4 align 4`, `strided (4, 64)`, `varying align 8`.
//!
//! The plain form prints alignments, but none for constants. The alternate form (`{:#}`) prints all known bits of the base:
//! `strided 1 from 0 mod 4294967296`, `uniform from 3 mod 8`.

use super::{Congruence, Shape};
use std::fmt;

fn write_base(f: &mut fmt::Formatter<'_>, base: Congruence) -> fmt::Result {
    match (f.alternate(), base.bits()) {
        (_, 0) => Ok(()),
        (true, 1..64) => write!(f, " from {} mod {}", base.residue(), 1u64 << base.bits()),
        (true, _) => write!(f, " from {} mod 2^64", base.residue()),
        (false, bits) if base.zeros() == 0 || base.zeros() == bits && bits >= 31 => Ok(()),
        (false, _) => write!(f, " align {}", base.align()),
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Undefined => f.write_str("undefined"),
            Shape::Varying { each } => {
                f.write_str("varying")?;
                write_base(f, *each)
            }
            Shape::Strided { strides, base } => {
                match strides.shown() {
                    _ if strides.is_zero() => f.write_str("uniform")?,
                    [stride] => write!(f, "strided {stride}")?,
                    several => {
                        f.write_str("strided (")?;
                        for (index, stride) in several.iter().enumerate() {
                            write!(f, "{}{stride}", if index > 0 { ", " } else { "" })?;
                        }
                        f.write_str(")")?;
                    }
                }
                write_base(f, *base)
            }
        }
    }
}

impl Shape {
    /// Returns the kind: `undefined`, `uniform`, `strided` or `varying`.
    pub fn kind(self) -> &'static str {
        match self {
            Shape::Undefined => "undefined",
            Shape::Strided { strides, .. } if strides.is_zero() => "uniform",
            Shape::Strided { .. } => "strided",
            Shape::Varying { .. } => "varying",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_in_words() {
        let strided = |steps, residue, bits| Shape::strided(32, steps, Congruence::new(residue, bits));
        for (shape, plain, full) in [
            (Shape::Undefined, "undefined", "undefined"),
            (Shape::UNIFORM, "uniform", "uniform"),
            (Shape::VARYING, "varying", "varying"),
            (strided([1, 0, 0, 0], 0, 32), "strided 1", "strided 1 from 0 mod 4294967296"),
            (strided([4, 0, 0, 0], 0, 2), "strided 4 align 4", "strided 4 from 0 mod 4"),
            (strided([4, 64, 0, 0], 4, 3), "strided (4, 64) align 4", "strided (4, 64) from 4 mod 8"),
            (strided([0, -1, 0, 0], 0, 0), "strided (0, -1)", "strided (0, -1)"),
            (Shape::varying(32, Congruence::aligned(8, 32)), "varying align 8", "varying from 0 mod 8"),
            (strided(Default::default(), 5, 32), "uniform", "uniform from 5 mod 4294967296"),
        ] {
            assert_eq!(shape.to_string(), plain);
            assert_eq!(format!("{shape:#}"), full);
            assert_eq!(plain.split(' ').next(), Some(shape.kind()));
        }
    }
}
