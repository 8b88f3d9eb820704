//! A strided operand, ready to compute with: the line that its lanes lie on.

use super::strides::{Steps, signed};
use super::{Congruence, Fact, Geometry, Shape, Straight};

/// The lanes' numbers are `b + steps·lane` modulo 2^width, `b` in `base`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) width: u32,
    pub(crate) steps: Steps<i128>,
    pub(crate) base: Congruence,
    /// What is known of wrapping, by promises or by the base.
    pub(crate) straight: Straight,
    /// Of that what the base alone tells: then what is known of `b` modulo 2^width is true of `b` in ℤ.
    pub(crate) by_base: Straight,
}

impl Line {
    /// The line of a strided value.
    pub(crate) fn of(fact: Fact, width: u32, geometry: &Geometry) -> Option<Line> {
        let Shape::Strided { strides, base } = fact.shape else { return None };
        let line = Line::new(width, strides.wide(), base, fact.straight);
        let by_base = line.straight_by_base(geometry);
        Some(Line { straight: fact.straight.or(by_base), by_base, ..line })
    }

    /// A line of which this is known.
    pub(crate) fn new(width: u32, steps: Steps<i128>, base: Congruence, straight: Straight) -> Line {
        Line { width, steps, base, straight, by_base: Straight::NEITHER }
    }

    /// Whether the base alone rules out that lanes wrap around.
    ///
    /// If `b = r + 2^k q` and `0 <= r + steps·lane < 2^k` for all lanes, all lanes have the upper bits `q`: none wraps
    /// around, signed or unsigned, if `k` is less than the width. If all bits of `b` are known, lanes are compared
    /// with the ends of the range.
    fn straight_by_base(&self, geometry: &Geometry) -> Straight {
        if self.width == 0 {
            return Straight::NEITHER;
        }
        let (least, greatest) = geometry.span(self.steps);
        let residue = i128::from(self.base.residue());
        let within = |least: i128, greatest: i128, bits: u32, residue: i128| {
            residue + least >= -(1 << bits) && residue + greatest < (1 << bits) && least <= greatest
        };
        let fits = residue + least >= 0 && residue + greatest < 1 << self.base.bits();
        let is_signed_line = match self.base.constant(self.width) {
            Some(_) => within(least, greatest, self.width - 1, signed(self.width, residue)),
            None => fits,
        };
        Straight { unsigned: fits, signed: is_signed_line }
    }

    pub(crate) fn is_uniform(&self) -> bool {
        self.steps == Steps::default()
    }

    /// The known part of each lane, `r + steps·lane` in ℤ: the lane is that plus a multiple of 2^k that lanes share.
    pub(crate) fn known_parts(&self, geometry: &Geometry) -> Option<Vec<i128>> {
        let residue = i128::from(self.base.residue());
        let offsets = geometry.offsets(self.steps)?;
        Some(offsets.into_iter().map(|offset| offset + residue).collect())
    }

    /// The shape of the line.
    pub(crate) fn shape(&self) -> Shape {
        Shape::strided(self.width, self.steps, self.base)
    }

    /// The line's shape with its straightness, for a line whose steps may be too long for its width: what is straight
    /// with long steps is not straight with the short ones that the shape keeps.
    pub(crate) fn lanes(&self) -> Lanes {
        let is_short = self.steps.iter().all(|&step| signed(self.width, step) == step);
        let straight = if is_short { self.straight } else { Straight::NEITHER };
        Lanes { shape: self.shape(), straight }
    }
}

/// What a rule says of a result: its shape and its straightness.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    pub(crate) shape: Shape,
    pub(crate) straight: Straight,
}

impl From<Shape> for Lanes {
    fn from(shape: Shape) -> Lanes {
        Lanes { shape, straight: Straight::NEITHER }
    }
}

impl Lanes {
    /// Anything.
    pub(crate) const VARYING: Lanes = Lanes { shape: Shape::VARYING, straight: Straight::NEITHER };
    /// One value, unknown.
    pub(crate) const UNIFORM: Lanes = Lanes { shape: Shape::UNIFORM, straight: Straight::BOTH };
    /// ⊤ everywhere.
    pub(crate) const POISON: Lanes = Lanes { shape: Shape::Undefined, straight: Straight::BOTH };

    /// A number of which this is known, uniform or not.
    pub(crate) fn number(is_uniform: bool, width: u32, known: Congruence) -> Lanes {
        match is_uniform {
            true => Shape::uniform(known.known(width)).into(),
            false => Shape::varying(width, known).into(),
        }
    }

    /// A truth value of which all lanes hold this.
    pub(crate) fn truth(value: bool) -> Lanes {
        Shape::uniform(Congruence::new(value.into(), 1)).into()
    }
}
