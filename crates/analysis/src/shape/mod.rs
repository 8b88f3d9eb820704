//! Shapes: how the lanes of a value relate to each other. The stride-alignment lattice and its transfer functions.
//!
//! # What a shape says
//!
//! A brush has `m0 × … × m(d-1)` lanes; lane `l` stands at `(l0, …, l(d-1))`, dimension 0 running fastest. Take one
//! execution of an instruction by a brush. Its *definition mask* is the set of the active lanes, or of all lanes if
//! the instruction is `total`. A shape speaks of the lanes in that mask whose value is not ⊤, and of no others: a lane
//! that is not active, or holds ⊤, fits every shape (thesis 6.2). Integers and addresses of `n` bits are numbers
//! modulo 2^n.
//!
//! * [`Shape::Undefined`]: there is no such lane. Either the instruction has not been reached, or every lane holds ⊤.
//! * [`Shape::Strided`] with strides `s` and base `c`: there is a number `b` in `c` such that each such lane holds
//!   `b + s0·l0 + … + s(d-1)·l(d-1)` modulo 2^n. `b` is what lane 0 would hold; lane 0 need not be active. With all
//!   strides 0 the shape is *uniform*: one value in all those lanes.
//! * [`Shape::Varying`] with congruence `c`: each such lane holds a number of `c`.
//!
//! An alignment is the power-of-two part of the congruence (see [`Congruence`]): of the base for strided shapes, of
//! every lane for varying ones. Values that are no integers and no addresses (floats, vectors, masks), and truth
//! values, are uniform or varying; of floats and vectors no congruence is known.
//!
//! A [`Fact`] is a shape with what else is known of the value: how far beyond the brush its lanes agree ([`UniformityLevel`]),
//! whether it may be ⊤ ([`Poison`]), and whether its lanes form a line without wrapping around ([`NoWrap`]).
//!
//! # Why fixed points are reached
//!
//! `Undefined` is below everything; strides never change but by going to `Varying`; the known bits of a congruence
//! only get fewer. So no chain of shapes is longer than `2n + 3`, and one of facts longer by the few steps of level,
//! poison and straightness. Transfer functions need not be monotone for that, if a solver joins each new fact to the
//! last one.
//!
//! # Why transfer functions are right
//!
//! Each works on numbers in ℤ or modulo 2^n as its comment says, and all are checked against the oracle's scalar
//! semantics over all shapes and all values at small widths; docs/analysis-shapes.md lists where they are not the best.
//!
//! After: Moll, thesis, chapter 10 and section 11.3. Differs in: a congruence for an alignment (sound under
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

pub use congruence::Congruence;
pub use fact::{Fact, NoWrap, Poison, UniformityLevel};
pub use geometry::{Activation, Geometry, GroupExtent, MemoryUniformity, TransferContext};
pub use operation::{DetachedInst, Domain};
pub use strides::{Steps, Strides};
pub(crate) use transfer::are_shared;
pub use transfer::{ResultFacts, apply, declared_fact, transfer};

/// How the lanes of a value relate; the module's head says what each variant means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Shape {
    /// No lane holds a value.
    #[default]
    Undefined,
    /// Lane 0's number, and the same step for each step along a dimension of the brush. Uniform if no step is one.
    Strided {
        /// The steps.
        strides: Strides,
        /// What is known of lane 0's number.
        base: Congruence,
    },
    /// ResultShape are unrelated.
    Varying {
        /// What is known of each lane's number.
        each: Congruence,
    },
}

impl Shape {
    /// One value in all lanes.
    pub const UNIFORM: Shape = Shape::Strided { strides: Strides::NONE, base: Congruence::ANY };
    /// Anything.
    pub const VARYING: Shape = Shape::Varying { each: Congruence::ANY };

    /// One number in all lanes.
    pub const fn uniform(base: Congruence) -> Shape {
        Shape::Strided { strides: Strides::NONE, base }
    }

    /// The strided shape of numbers of this width; steps are taken modulo 2^width.
    ///
    /// Truth values are not strided, and neither are wide integers with steps beyond 64 bits: they are varying.
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

    /// The shape of unrelated numbers of this width: uniform if all their bits are known.
    pub fn varying(width: u32, each: Congruence) -> Shape {
        let each = each.known(width);
        match each.constant(width) {
            Some(_) => Shape::uniform(each),
            None => Shape::Varying { each },
        }
    }

    /// Whether all lanes hold one value.
    pub fn is_uniform(self) -> bool {
        self.strides().is_some_and(Strides::is_zero)
    }

    /// Whether lanes are unrelated.
    pub const fn is_varying(self) -> bool {
        matches!(self, Shape::Varying { .. })
    }

    /// Whether no lane holds a value.
    pub const fn is_undefined(self) -> bool {
        matches!(self, Shape::Undefined)
    }

    /// The steps, if the shape is strided.
    pub const fn strides(self) -> Option<Strides> {
        match self {
            Shape::Strided { strides, .. } => Some(strides),
            _ => None,
        }
    }

    /// What is known of lane 0's number: of a varying shape as of any lane's.
    pub const fn base(self) -> Congruence {
        match self {
            Shape::Undefined => Congruence::ANY,
            Shape::Strided { base, .. } => base,
            Shape::Varying { each } => each,
        }
    }

    /// What is known of every lane's number (thesis Fig. 10.8).
    pub fn each(self) -> Congruence {
        match self {
            Shape::Strided { strides, base } => base.known(strides.zeros()),
            other => other.base(),
        }
    }

    /// The largest power of two known to divide lane 0's number (of a varying shape every lane's), at most 2^63.
    pub fn align(self) -> u64 {
        self.base().align()
    }

    /// The number that all lanes hold, if it is known and of at most 64 bits.
    pub fn constant(self, width: u32) -> Option<u64> {
        if self.is_uniform() { self.base().constant(width) } else { None }
    }

    /// The step from lane to lane, if it is the same between all neighbours of a one-dimensional brush.
    pub fn stride(self) -> Option<i64> {
        self.strides().filter(|strides| strides.all()[1..].iter().all(|&step| step == 0)).map(|s| s.along(0))
    }

    /// Whether this shape allows nothing that `other` does not.
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

    /// The least shape that allows what either does.
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

    /// What is known if both hold. Of two shapes with different strides the first is kept: where no more than one lane
    /// is active, both may hold.
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
                // What all lanes have in common holds of lane 0's number as far as the strides do not disturb it.
                met(base.meet(each.known(strides.zeros())), strided, strides)
            }
        }
    }
}
