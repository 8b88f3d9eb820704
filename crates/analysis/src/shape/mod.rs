//! Shape lattice: relation between the lanes of a value, with strides and alignments, and its transfer functions.
//!
//! # Meaning of a shape
//!
//! A brush has `m0 × … × m(d-1)` lanes; lane `l` has the coordinates `(l0, …, l(d-1))`, dimension 0 fastest. Take one
//! execution of an instruction by a brush. Its *definition mask* is the set of the active lanes, or of all lanes if the
//! instruction is `total`. A shape describes the lanes in that mask whose value is not poison. An inactive lane or a
//! poison lane fits every shape (thesis 6.2). Integers and addresses of `n` bits are numbers modulo 2^n.
//!
//! * [`Shape::Undefined`]: there is no such lane. The instruction is unreached, or every lane holds poison.
//! * [`Shape::Strided`] with strides `s` and base `c`: there is a number `b` in `c` such that each such lane holds
//!   `b + s0·l0 + … + s(d-1)·l(d-1)` modulo 2^n. `b` is the value of lane 0 if it were active. With all strides 0 the shape
//!   is *uniform*: one value in all those lanes.
//! * [`Shape::Varying`] with congruence `c`: each such lane holds a number of `c`.
//!
//! An alignment is the power-of-two part of the congruence (see [`Congruence`]): of the base for strided shapes, of every
//! lane for varying ones. Truth values, and values other than integers and addresses (floats, vectors, masks), are uniform
//! or varying. Floats and vectors have no known congruence.
//!
//! A [`Fact`] is a shape with three more properties: the scope beyond the brush within which lanes agree
//! ([`UniformityLevel`]), the lanes that may be poison ([`Poison`]), and no-wrap facts ([`NoWrap`]).
//!
//! # Termination
//!
//! `Undefined` is below everything; strides change only to `Varying`; the known bits of a congruence only decrease. So a
//! chain of shapes has at most `2n + 3` elements. A chain of facts is longer by the few steps of level, poison and no-wrap
//! facts. Transfer functions need not be monotone if the solver joins each new fact with the last one.
//!
//! # Soundness
//!
//! Each transfer function works in ℤ or modulo 2^n as its comment states. Tests compare all of them with the oracle's
//! scalar semantics over all shapes and all values at small widths. docs/analysis-shapes.md lists where they are imprecise.
//!
//! After: Moll, thesis, chapter 10 and section 11.3. Differs in: a congruence instead of an alignment (sound under
//! wrap-around, exact for constants); strides per brush dimension; comparisons by non-crossing, for all predicates.

mod congruence;
mod strides;
mod fact;
mod geometry;
mod operation;
mod transfer;
mod affine_lanes;
mod arithmetic;
mod compare;
mod convert;
mod division;
mod bits;
mod concrete;
mod horizontal;
mod query;
mod text;

pub(crate) use affine_lanes::AffineLanes;
pub use congruence::Congruence;
pub use fact::{Fact, NoWrap, Poison, UniformityLevel};
pub use geometry::{Activation, Geometry, GroupExtent, MemoryUniformity, TransferContext};
pub use operation::{DetachedInst, Domain};
pub use strides::{Steps, Strides};
pub(crate) use strides::{signed, unsigned};
pub(crate) use transfer::are_uniform_arguments;
pub use transfer::{ResultFacts, apply, declared_fact, transfer};

/// Relation between the lanes of a value; the module head defines each variant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Shape {
    /// No lane holds a value.
    #[default]
    Undefined,
    /// Affine lanes: lane 0's number plus a step per brush dimension. Uniform if all steps are 0.
    Strided {
        /// Step along each dimension.
        strides: Strides,
        /// Known bits of lane 0's number.
        base: Congruence,
    },
    /// Unrelated lanes.
    Varying {
        /// Known bits of each lane's number.
        each: Congruence,
    },
}

impl Shape {
    /// One unknown value in all lanes.
    pub const UNIFORM: Shape = Shape::Strided { strides: Strides::NONE, base: Congruence::ANY };
    /// Unknown lanes.
    pub const VARYING: Shape = Shape::Varying { each: Congruence::ANY };

    /// One number in all lanes.
    pub const fn uniform(base: Congruence) -> Shape {
        Shape::Strided { strides: Strides::NONE, base }
    }

    /// Strided shape of numbers of this width; steps are taken modulo 2^width.
    ///
    /// Truth values are never strided, nor are wide integers with steps beyond 64 bits: these are varying.
    pub fn strided(width: u32, steps: Steps<i128>, base: Congruence) -> Shape {
        let base = base.known(width);
        let strides = match Strides::new(width, steps) {
            Some(strides) if strides.is_zero() || width > 1 => strides,
            _ => {
                let zeros = steps.iter().map(|step| step.trailing_zeros()).min().unwrap_or(0);
                return Shape::varying(width, base.known(zeros));
            }
        };
        Shape::Strided { strides, base }
    }

    /// Shape of unrelated numbers of this width: uniform if all their bits are known.
    pub fn varying(width: u32, each: Congruence) -> Shape {
        let each = each.known(width);
        match each.constant(width) {
            Some(_) => Shape::uniform(each),
            None => Shape::Varying { each },
        }
    }

    /// True if all lanes hold one value.
    pub fn is_uniform(self) -> bool {
        self.strides().is_some_and(Strides::is_zero)
    }

    /// True if lanes are unrelated.
    pub const fn is_varying(self) -> bool {
        matches!(self, Shape::Varying { .. })
    }

    /// True if no lane holds a value.
    pub const fn is_undefined(self) -> bool {
        matches!(self, Shape::Undefined)
    }

    /// Returns the steps of a strided shape.
    pub const fn strides(self) -> Option<Strides> {
        match self {
            Shape::Strided { strides, .. } => Some(strides),
            _ => None,
        }
    }

    /// Returns the known bits of lane 0's number; for a varying shape, those of each lane.
    pub const fn base(self) -> Congruence {
        match self {
            Shape::Undefined => Congruence::ANY,
            Shape::Strided { base, .. } => base,
            Shape::Varying { each } => each,
        }
    }

    /// Returns the known bits of every lane's number (thesis Fig. 10.8).
    pub fn each(self) -> Congruence {
        match self {
            Shape::Strided { strides, base } => base.known(strides.zeros()),
            other => other.base(),
        }
    }

    /// Returns the maximum power of two known to divide lane 0's number (each lane's if varying), at most 2^63.
    pub fn align(self) -> u64 {
        self.base().align()
    }

    /// Returns the number that all lanes hold, if it is known and has at most 64 bits.
    pub fn constant(self, width: u32) -> Option<u64> {
        if self.is_uniform() { self.base().constant(width) } else { None }
    }

    /// Returns the stride of a one-dimensional brush; none if other dimensions have steps.
    pub fn stride(self) -> Option<i64> {
        self.strides().filter(|strides| strides.all()[1..].iter().all(|&step| step == 0)).map(|s| s.along(0))
    }

    /// True if `other` allows everything that this shape does.
    pub fn is_below(self, other: Shape) -> bool {
        match (self, other) {
            (Shape::Undefined, _) => true,
            (_, Shape::Undefined) => false,
            (Shape::Strided { strides, base }, Shape::Strided { strides: others, base: other }) => {
                strides == others && base.implies(other)
            }
            (Shape::Varying { .. }, Shape::Strided { .. }) => false,
            (_, Shape::Varying { each }) => self.each().implies(each),
        }
    }

    /// Least upper bound.
    #[must_use]
    pub fn join(self, other: Shape) -> Shape {
        match (self, other) {
            (Shape::Undefined, shape) | (shape, Shape::Undefined) => shape,
            (Shape::Strided { strides, base }, Shape::Strided { strides: others, base: other })
                if strides == others =>
            {
                Shape::Strided { strides, base: base.join(other) }
            }
            _ => Shape::Varying { each: self.each().join(other.each()) },
        }
    }

    /// Greatest lower bound, approximately: of two shapes with different strides the first is kept. Both may hold if at most
    /// one lane is active.
    #[must_use]
    pub fn meet(self, other: Shape) -> Shape {
        let met = |congruence: Option<Congruence>, shape: fn(Strides, Congruence) -> Shape, strides| {
            congruence.map_or(Shape::Undefined, |congruence| shape(strides, congruence))
        };
        let strided = |strides, base| Shape::Strided { strides, base };
        match (self, other) {
            (Shape::Undefined, _) | (_, Shape::Undefined) => Shape::Undefined,
            (Shape::Strided { strides, base }, Shape::Strided { strides: others, base: other })
                if strides == others =>
            {
                met(base.meet(other), strided, strides)
            }
            (Shape::Strided { .. }, Shape::Strided { .. }) => self,
            (Shape::Varying { each }, Shape::Varying { each: other }) => {
                met(each.meet(other), |_, each| Shape::Varying { each }, Strides::NONE)
            }
            (Shape::Strided { strides, base }, Shape::Varying { each })
            | (Shape::Varying { each }, Shape::Strided { strides, base }) => {
                // The common bits of all lanes hold for lane 0's number up to the zeros of the strides.
                met(base.meet(each.known(strides.zeros())), strided, strides)
            }
        }
    }
}
