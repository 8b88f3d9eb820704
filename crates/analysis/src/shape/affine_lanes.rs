//! A strided operand, ready to compute with: the line that its lanes lie on.

use super::strides::{Steps, signed};
use super::{Congruence, Fact, Geometry, NoWrap, Shape};

/// The lanes' numbers are `b + steps·lane` modulo 2^width, `b` in `base`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AffineLanes {
    pub(crate) width: u32,
    pub(crate) steps: Steps<i128>,
    pub(crate) base: Congruence,
    /// What is known of wrapping, by promises or by the base.
    pub(crate) no_wrap: NoWrap,
    /// Of that what the base alone tells: then what is known of `b` modulo 2^width is true of `b` in ℤ.
    pub(crate) by_base: NoWrap,
}

impl AffineLanes {
    /// The line of a strided value.
    pub(crate) fn of(fact: Fact, width: u32, geometry: &Geometry) -> Option<AffineLanes> {
        let Shape::Strided { strides, base } = fact.shape else { return None };
        let line = AffineLanes::new(width, strides.wide(), base, fact.no_wrap);
        let by_base = line.no_wrap_by_base(geometry);
        Some(AffineLanes { no_wrap: fact.no_wrap.or(by_base), by_base, ..line })
    }

    /// A line of which this is known.
    pub(crate) fn new(width: u32, steps: Steps<i128>, base: Congruence, no_wrap: NoWrap) -> AffineLanes {
        AffineLanes { width, steps, base, no_wrap, by_base: NoWrap::NEITHER }
    }

    /// Whether the base alone rules out that lanes wrap around.
    ///
    /// If `b = r + 2^k q` and `0 <= r + steps·lane < 2^k` for all lanes, all lanes have the upper bits `q`: none wraps
    /// around, signed or unsigned, if `k` is less than the width. If all bits of `b` are known, lanes are compared
    /// with the ends of the range.
    fn no_wrap_by_base(&self, geometry: &Geometry) -> NoWrap {
        if self.width == 0 {
            return NoWrap::NEITHER;
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
        NoWrap { unsigned: fits, signed: is_signed_line }
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
    pub(crate) fn lanes(&self) -> ResultShape {
        let is_short = self.steps.iter().all(|&step| signed(self.width, step) == step);
        let no_wrap = if is_short { self.no_wrap } else { NoWrap::NEITHER };
        ResultShape { shape: self.shape(), no_wrap }
    }
}

/// What a rule says of a result: its shape and its straightness.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultShape {
    pub(crate) shape: Shape,
    pub(crate) no_wrap: NoWrap,
}

impl From<Shape> for ResultShape {
    fn from(shape: Shape) -> ResultShape {
        ResultShape { shape, no_wrap: NoWrap::NEITHER }
    }
}

impl ResultShape {
    /// Anything.
    pub(crate) const VARYING: ResultShape = ResultShape { shape: Shape::VARYING, no_wrap: NoWrap::NEITHER };
    /// One value, unknown.
    pub(crate) const UNIFORM: ResultShape = ResultShape { shape: Shape::UNIFORM, no_wrap: NoWrap::BOTH };
    /// ⊤ everywhere.
    pub(crate) const POISON: ResultShape = ResultShape { shape: Shape::Undefined, no_wrap: NoWrap::BOTH };

    /// A number of which this is known, uniform or not.
    pub(crate) fn number(is_uniform: bool, width: u32, known: Congruence) -> ResultShape {
        match is_uniform {
            true => Shape::uniform(known.known(width)).into(),
            false => Shape::varying(width, known).into(),
        }
    }

    /// A truth value of which all lanes hold this.
    pub(crate) fn truth(value: bool) -> ResultShape {
        Shape::uniform(Congruence::new(value.into(), 1)).into()
    }
}
