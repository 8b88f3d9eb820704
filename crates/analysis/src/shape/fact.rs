//! What is known of a value: its shape, and what rules need beside it.

use super::congruence::{Congruence, MOST_BITS};
use super::{Domain, Shape};
use heddle_ir::Constant;

/// How far the lanes agree that execute an instruction together.
///
/// A shape relates the lanes of one brush; a level relates brushes. At level `Group`, all brushes of a work-group hold
/// the same in the same lanes, so that a uniform value is one value for the whole group. It is a statement about the
/// data that flows into a value: whether all brushes take the same path to it is for the divergence analysis to say,
/// which lowers the level of φs and of values that outlive a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum UniformityLevel {
    /// Each brush has its own.
    Brush,
    /// The brushes of a work-group agree.
    Group,
    /// All brushes of the launch agree.
    #[default]
    Launch,
}

impl UniformityLevel {
    /// The widest level at which both hold.
    #[must_use]
    pub fn join(self, other: UniformityLevel) -> UniformityLevel {
        self.min(other)
    }

    /// The word of reports.
    pub const fn name(self) -> &'static str {
        match self {
            UniformityLevel::Brush => "brush",
            UniformityLevel::Group => "group",
            UniformityLevel::Launch => "launch",
        }
    }
}

/// In which of the lanes of its definition mask a value may be ⊤.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Poison {
    /// In none.
    #[default]
    Never,
    /// In all of them or in none.
    Uniform,
    /// In any.
    Any,
}

impl Poison {
    /// The least that covers both.
    #[must_use]
    pub fn join(self, other: Poison) -> Poison {
        self.max(other)
    }
}

/// Whether the lanes of a strided value lie on a line without wrapping around: whether there is a number `b` in ℤ such
/// that each lane, read as an integer of that kind, *is* `b` plus its steps, not only modulo 2^width.
///
/// Steps are those of [`Strides`](super::Strides), least in magnitude. `b` itself need not be an integer of the type:
/// lane 0 may be inactive. It agrees with the base modulo 2^width. Uniform values are straight, varying ones are not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NoWrap {
    /// As unsigned integers.
    pub unsigned: bool,
    /// As signed integers.
    pub signed: bool,
}

impl NoWrap {
    /// Both ways.
    pub const BOTH: NoWrap = NoWrap { unsigned: true, signed: true };
    /// Neither way, as far as is known.
    pub const NEITHER: NoWrap = NoWrap { unsigned: false, signed: false };

    /// What holds of both.
    #[must_use]
    pub const fn and(self, other: NoWrap) -> NoWrap {
        NoWrap { unsigned: self.unsigned && other.unsigned, signed: self.signed && other.signed }
    }

    /// What holds of either.
    #[must_use]
    pub const fn or(self, other: NoWrap) -> NoWrap {
        NoWrap { unsigned: self.unsigned || other.unsigned, signed: self.signed || other.signed }
    }
}

/// What is known of a value. The default is that nothing has reached it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fact {
    /// How its lanes relate.
    pub shape: Shape,
    /// Whether its lanes wrap around.
    pub no_wrap: NoWrap,
    /// How far its brushes agree.
    pub level: UniformityLevel,
    /// Where it may be ⊤.
    pub poison: Poison,
}

impl Default for Fact {
    fn default() -> Fact {
        Fact::BOTTOM
    }
}

impl Fact {
    /// Nothing has reached the value. Below everything.
    pub const BOTTOM: Fact = Fact {
        shape: Shape::Undefined,
        no_wrap: NoWrap::BOTH,
        level: UniformityLevel::Launch,
        poison: Poison::Never,
    };

    /// Anything.
    pub const TOP: Fact = Fact {
        shape: Shape::VARYING,
        no_wrap: NoWrap::NEITHER,
        level: UniformityLevel::Brush,
        poison: Poison::Any,
    };

    /// ⊤ in all lanes: no lane holds a value, so that it joins with anything.
    pub const POISON: Fact = Fact { poison: Poison::Uniform, ..Fact::BOTTOM };

    /// A value of this shape that is never ⊤, of the least level.
    pub fn of_shape(shape: Shape) -> Fact {
        Fact { shape, no_wrap: NoWrap::NEITHER, level: UniformityLevel::Brush, poison: Poison::Never }
            .settled()
    }

    /// A constant.
    pub fn of_constant(constant: &Constant) -> Fact {
        let domain = Domain::of(constant.ty());
        let base = match constant {
            Constant::Poison(_) => return Fact::POISON,
            Constant::Scalar(_, bits) if domain.width() > 0 => {
                Congruence::new(*bits as i128, domain.width().min(MOST_BITS))
            }
            _ => Congruence::ANY,
        };
        Fact { level: UniformityLevel::Launch, ..Fact::of_shape(Shape::uniform(base)) }
    }

    /// The same at this level.
    #[must_use]
    pub const fn at(self, level: UniformityLevel) -> Fact {
        Fact { level, ..self }
    }

    /// The same, ⊤ as far as this says.
    #[must_use]
    pub const fn with_poison(self, poison: Poison) -> Fact {
        Fact { poison, ..self }
    }

    /// Whether all lanes hold one value.
    pub fn is_uniform(self) -> bool {
        self.shape.is_uniform()
    }

    /// The level up to which the value is one: none if not even the lanes of a brush agree.
    pub fn uniform_level(self) -> Option<UniformityLevel> {
        self.is_uniform().then_some(self.level)
    }

    /// Whether nothing has reached the value.
    pub fn is_bottom(self) -> bool {
        self.shape.is_undefined() && self.poison == Poison::Never
    }

    /// The least fact that covers both: of a φ whose lanes all come along one edge, of a uniform choice.
    #[must_use]
    pub fn join(self, other: Fact) -> Fact {
        Fact {
            shape: self.shape.join(other.shape),
            no_wrap: self.no_wrap.and(other.no_wrap),
            level: self.level.join(other.level),
            poison: self.poison.join(other.poison),
        }
        .settled()
    }

    /// What holds where each lane has the one value or the other: of a varying choice, of a φ where paths meet again.
    #[must_use]
    pub fn mixed(self, other: Fact, domain: Domain) -> Fact {
        let poison = match self.poison.join(other.poison) {
            Poison::Uniform => Poison::Any,
            poison => poison,
        };
        let joined = self.join(other);
        let shape = match (self.shape, other.shape) {
            (Shape::Undefined, shape) | (shape, Shape::Undefined) => shape,
            _ => match joined.shape {
                // ResultShape agree on a base only if it is known in full.
                Shape::Strided { base, .. } if base.constant(domain.width()).is_none() => {
                    Shape::varying(domain.width(), joined.shape.each())
                }
                shape => shape,
            },
        };
        Fact { shape, poison, level: UniformityLevel::Brush, ..joined }.settled()
    }

    /// What follows from the shape alone.
    #[must_use]
    pub(crate) fn settled(mut self) -> Fact {
        match self.shape {
            Shape::Varying { .. } => self.no_wrap = NoWrap::NEITHER,
            Shape::Undefined => self.no_wrap = NoWrap::BOTH,
            Shape::Strided { strides, .. } if strides.is_zero() => self.no_wrap = NoWrap::BOTH,
            Shape::Strided { .. } => {}
        }
        self
    }
}
