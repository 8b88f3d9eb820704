//! Dataflow fact of a value: shape, no-wrap facts, level and poison.

use super::congruence::{Congruence, MAX_BITS};
use super::{Domain, Shape};
use heddle_ir::Constant;

/// Scope within which the lanes that execute an instruction together agree.
///
/// A shape relates the lanes of one brush; a level relates brushes. At level `Group`, corresponding lanes of all brushes of
/// a work-group hold the same value, so a uniform value is one value for the group. A level describes the data that flows
/// into a value. The divergence analysis lowers it for φs and for values that outlive a loop, since brushes may take
/// different paths to them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum UniformityLevel {
    /// Each brush has its own value.
    Brush,
    /// The brushes of a work-group agree.
    Group,
    /// All brushes of the launch agree.
    #[default]
    Launch,
}

impl UniformityLevel {
    /// Widest level at which both hold.
    #[must_use]
    pub fn join(self, other: UniformityLevel) -> UniformityLevel {
        self.min(other)
    }

    /// Returns the name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            UniformityLevel::Brush => "brush",
            UniformityLevel::Group => "group",
            UniformityLevel::Launch => "launch",
        }
    }
}

/// Lanes of the definition mask in which a value may be poison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Poison {
    /// No lane.
    #[default]
    Never,
    /// All lanes or none.
    Uniform,
    /// Any lanes.
    Any,
}

impl Poison {
    /// Least upper bound.
    #[must_use]
    pub fn join(self, other: Poison) -> Poison {
        self.max(other)
    }
}

/// No-wrap facts of the lanes of a strided value, like `nuw` and `nsw`.
///
/// The lanes do not wrap if there is a number `b` in ℤ such that each lane, read as an unsigned or signed integer, equals
/// `b` plus its steps, not only modulo 2^width. Steps are those of [`Strides`](super::Strides), of minimum magnitude. `b`
/// agrees with the base modulo 2^width. It need not be an integer of the type, since lane 0 may be inactive. Uniform
/// values never wrap; varying ones have no such facts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NoWrap {
    /// No wrap as unsigned integers.
    pub unsigned: bool,
    /// No wrap as signed integers.
    pub signed: bool,
}

impl NoWrap {
    /// No wrap in either reading.
    pub const BOTH: NoWrap = NoWrap { unsigned: true, signed: true };
    /// No known facts.
    pub const NEITHER: NoWrap = NoWrap { unsigned: false, signed: false };

    /// Facts that hold for both.
    #[must_use]
    pub const fn and(self, other: NoWrap) -> NoWrap {
        NoWrap { unsigned: self.unsigned && other.unsigned, signed: self.signed && other.signed }
    }

    /// Facts that hold for either.
    #[must_use]
    pub const fn or(self, other: NoWrap) -> NoWrap {
        NoWrap { unsigned: self.unsigned || other.unsigned, signed: self.signed || other.signed }
    }
}

/// Dataflow fact of a value. The default is bottom: nothing has reached the value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fact {
    /// Relation between the lanes.
    pub shape: Shape,
    /// No-wrap facts of the lanes.
    pub no_wrap: NoWrap,
    /// Scope within which brushes agree.
    pub level: UniformityLevel,
    /// Lanes that may be poison.
    pub poison: Poison,
}

impl Default for Fact {
    fn default() -> Fact {
        Fact::BOTTOM
    }
}

impl Fact {
    /// Bottom of the lattice: nothing has reached the value.
    pub const BOTTOM: Fact = Fact {
        shape: Shape::Undefined,
        no_wrap: NoWrap::BOTH,
        level: UniformityLevel::Launch,
        poison: Poison::Never,
    };

    /// Top of the lattice: any lanes.
    pub const TOP: Fact = Fact {
        shape: Shape::VARYING,
        no_wrap: NoWrap::NEITHER,
        level: UniformityLevel::Brush,
        poison: Poison::Any,
    };

    /// Poison in all lanes: no lane holds a value, so it joins with anything.
    pub const POISON: Fact = Fact { poison: Poison::Uniform, ..Fact::BOTTOM };

    /// A value of this shape that is never poison, at the lowest level.
    pub fn of_shape(shape: Shape) -> Fact {
        Fact { shape, no_wrap: NoWrap::NEITHER, level: UniformityLevel::Brush, poison: Poison::Never }
            .normalized()
    }

    /// Fact of a constant.
    pub fn of_constant(constant: &Constant) -> Fact {
        let domain = Domain::of(constant.ty());
        let base = match constant {
            Constant::Poison(_) => return Fact::POISON,
            Constant::Scalar(_, bits) if domain.width() > 0 => {
                Congruence::new(*bits as i128, domain.width().min(MAX_BITS))
            }
            _ => Congruence::ANY,
        };
        Fact { level: UniformityLevel::Launch, ..Fact::of_shape(Shape::uniform(base)) }
    }

    /// Sets the level.
    #[must_use]
    pub const fn with_level(self, level: UniformityLevel) -> Fact {
        Fact { level, ..self }
    }

    /// Sets the lanes that may be poison.
    #[must_use]
    pub const fn with_poison(self, poison: Poison) -> Fact {
        Fact { poison, ..self }
    }

    /// True if all lanes hold one value.
    pub fn is_uniform(self) -> bool {
        self.shape.is_uniform()
    }

    /// Returns the level within which the value is uniform; none if the lanes of a brush differ.
    pub fn uniform_level(self) -> Option<UniformityLevel> {
        self.is_uniform().then_some(self.level)
    }

    /// True if nothing has reached the value.
    pub fn is_bottom(self) -> bool {
        self.shape.is_undefined() && self.poison == Poison::Never
    }

    /// Least upper bound: a φ whose lanes take one edge, or a uniform select.
    #[must_use]
    pub fn join(self, other: Fact) -> Fact {
        Fact {
            shape: self.shape.join(other.shape),
            no_wrap: self.no_wrap.and(other.no_wrap),
            level: self.level.join(other.level),
            poison: self.poison.join(other.poison),
        }
        .normalized()
    }

    /// Mixture in which each lane has one of the two values: a varying select, or a φ where diverged lanes meet.
    #[must_use]
    pub fn blend(self, other: Fact, domain: Domain) -> Fact {
        let poison = match self.poison.join(other.poison) {
            Poison::Uniform => Poison::Any,
            poison => poison,
        };
        let joined = self.join(other);
        let shape = match (self.shape, other.shape) {
            (Shape::Undefined, shape) | (shape, Shape::Undefined) => shape,
            _ => match joined.shape {
                // Lanes agree on a base only if it is constant.
                Shape::Strided { base, .. } if base.constant(domain.width()).is_none() => {
                    Shape::varying(domain.width(), joined.shape.each())
                }
                shape => shape,
            },
        };
        Fact { shape, poison, level: UniformityLevel::Brush, ..joined }.normalized()
    }

    /// Normalizes the no-wrap facts to those that the shape implies.
    #[must_use]
    pub(crate) fn normalized(mut self) -> Fact {
        match self.shape {
            Shape::Varying { .. } => self.no_wrap = NoWrap::NEITHER,
            Shape::Undefined => self.no_wrap = NoWrap::BOTH,
            Shape::Strided { strides, .. } if strides.is_zero() => self.no_wrap = NoWrap::BOTH,
            Shape::Strided { .. } => {}
        }
        self
    }
}
