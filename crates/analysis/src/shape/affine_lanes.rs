//! Affine form of a strided operand, for transfer functions.

use super::strides::{Steps, signed};
use super::{Congruence, Fact, Geometry, NoWrap, Shape};

/// Lanes `b + steps·lane` modulo 2^width, with `b` in `base`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AffineLanes {
    pub(crate) width: u32,
    pub(crate) steps: Steps<i128>,
    pub(crate) base: Congruence,
    /// No-wrap facts from flags or from the base.
    pub(crate) no_wrap: NoWrap,
    /// No-wrap facts from the base alone; where set, the known bits of `b` modulo 2^width hold for `b` in ℤ.
    pub(crate) by_base: NoWrap,
}

impl AffineLanes {
    /// Returns the affine form of a strided value.
    pub(crate) fn of(fact: Fact, width: u32, geometry: &Geometry) -> Option<AffineLanes> {
        let Shape::Strided { strides, base } = fact.shape else { return None };
        let line = AffineLanes::new(width, strides.wide(), base, fact.no_wrap);
        let by_base = line.no_wrap_by_base(geometry);
        Some(AffineLanes { no_wrap: fact.no_wrap.or(by_base), by_base, ..line })
    }

    /// Builds an affine form.
    pub(crate) fn new(width: u32, steps: Steps<i128>, base: Congruence, no_wrap: NoWrap) -> AffineLanes {
        AffineLanes { width, steps, base, no_wrap, by_base: NoWrap::NEITHER }
    }

    /// Derives no-wrap facts from the base alone.
    ///
    /// If `b = r + 2^k q` and `0 <= r + steps·lane < 2^k` for all lanes, all lanes have the upper bits `q`. None wraps, signed
    /// or unsigned, if `k` is less than the width. With all bits of `b` known, lanes are compared with the ends of the range.
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

    /// Returns the known part of each lane, `r + steps·lane` in ℤ. The lane is that plus a common multiple of 2^k.
    pub(crate) fn known_parts(&self, geometry: &Geometry) -> Option<Vec<i128>> {
        let residue = i128::from(self.base.residue());
        let offsets = geometry.offsets(self.steps)?;
        Some(offsets.into_iter().map(|offset| offset + residue).collect())
    }

    /// Returns the shape.
    pub(crate) fn shape(&self) -> Shape {
        Shape::strided(self.width, self.steps, self.base)
    }

    /// Returns the shape with its no-wrap facts. Steps too long for the width are reduced in the shape; the facts do not hold
    /// for the reduced steps.
    pub(crate) fn lanes(&self) -> ResultShape {
        let is_short = self.steps.iter().all(|&step| signed(self.width, step) == step);
        let no_wrap = if is_short { self.no_wrap } else { NoWrap::NEITHER };
        ResultShape { shape: self.shape(), no_wrap }
    }
}

/// Shape and no-wrap facts of a result.
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
    /// Unknown lanes.
    pub(crate) const VARYING: ResultShape = ResultShape { shape: Shape::VARYING, no_wrap: NoWrap::NEITHER };
    /// One unknown value in all lanes.
    pub(crate) const UNIFORM: ResultShape = ResultShape { shape: Shape::UNIFORM, no_wrap: NoWrap::BOTH };
    /// Poison in all lanes.
    pub(crate) const POISON: ResultShape = ResultShape { shape: Shape::Undefined, no_wrap: NoWrap::BOTH };

    /// A number with these known bits, uniform or not.
    pub(crate) fn number(is_uniform: bool, width: u32, known: Congruence) -> ResultShape {
        match is_uniform {
            true => Shape::uniform(known.known(width)).into(),
            false => Shape::varying(width, known).into(),
        }
    }

    /// A truth value that is the same constant in all lanes.
    pub(crate) fn truth(value: bool) -> ResultShape {
        Shape::uniform(Congruence::new(value.into(), 1)).into()
    }
}
