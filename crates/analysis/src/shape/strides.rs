//! The steps of a strided value, one for each dimension of the brush.

use heddle_ir::types::MAX_DIMENSIONS;

/// A step for each dimension.
pub type Steps<T> = [T; MAX_DIMENSIONS];

/// The steps along the dimensions, each the least in magnitude that is right modulo 2^width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Strides(Steps<i64>);

impl Strides {
    /// No step along any dimension.
    pub const NONE: Strides = Strides([0; MAX_DIMENSIONS]);

    /// The steps for numbers of this width; none if one of them does not fit 64 bits.
    pub fn new(width: u32, steps: Steps<i128>) -> Option<Strides> {
        let mut strides = [0; MAX_DIMENSIONS];
        for (stride, step) in strides.iter_mut().zip(steps) {
            *stride = i64::try_from(signed(width, step)).ok()?;
        }
        Some(Strides(strides))
    }

    /// The step along a dimension; 0 beyond the last.
    pub fn along(self, dimension: usize) -> i64 {
        self.0.get(dimension).copied().unwrap_or(0)
    }

    /// All steps.
    pub const fn all(self) -> Steps<i64> {
        self.0
    }

    /// All steps, wide enough to compute with.
    pub fn wide(self) -> Steps<i128> {
        self.0.map(i128::from)
    }

    /// Whether no step is one.
    pub fn is_zero(self) -> bool {
        self == Strides::NONE
    }

    /// How many low bits of all steps are zero: 64 if all steps are.
    pub fn zeros(self) -> u32 {
        self.0.iter().fold(0, |all, stride| all | stride).trailing_zeros()
    }

    /// The steps up to the last dimension that has one, at least one of them.
    pub fn shown(&self) -> &[i64] {
        let last = self.0.iter().rposition(|&stride| stride != 0).unwrap_or(0);
        &self.0[..=last]
    }
}

/// The number modulo 2^width that is least in magnitude (of two the negative one); `number` itself if the width is 0.
pub(crate) fn signed(width: u32, number: i128) -> i128 {
    match width {
        1..=127 => number << (128 - width) >> (128 - width),
        _ => number,
    }
}

/// The number modulo 2^width from 0 on. Widths are below 127.
pub(crate) fn unsigned(width: u32, number: i128) -> i128 {
    number & ((1 << width.min(126)) - 1)
}
