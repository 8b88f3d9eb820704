//! Steps of a strided value, one per dimension of the brush.

use heddle_ir::types::MAX_DIMENSIONS;

/// One step per dimension.
pub type Steps<T> = [T; MAX_DIMENSIONS];

/// Steps along the dimensions, each of minimum magnitude modulo 2^width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Strides(Steps<i64>);

impl Strides {
    /// No step along any dimension.
    pub const NONE: Strides = Strides([0; MAX_DIMENSIONS]);

    /// Steps for numbers of this width; none if one does not fit 64 bits.
    pub fn new(width: u32, steps: Steps<i128>) -> Option<Strides> {
        let mut strides = [0; MAX_DIMENSIONS];
        for (stride, step) in strides.iter_mut().zip(steps) {
            *stride = i64::try_from(signed(width, step)).ok()?;
        }
        Some(Strides(strides))
    }

    /// Returns the step along a dimension; 0 after the last.
    pub fn along(self, dimension: usize) -> i64 {
        self.0.get(dimension).copied().unwrap_or(0)
    }

    /// Returns all steps.
    pub const fn all(self) -> Steps<i64> {
        self.0
    }

    /// Returns all steps as `i128`.
    pub fn wide(self) -> Steps<i128> {
        self.0.map(i128::from)
    }

    /// True if all steps are 0.
    pub fn is_zero(self) -> bool {
        self == Strides::NONE
    }

    /// Returns the number of low zero bits common to all steps; 64 if all steps are 0.
    pub fn zeros(self) -> u32 {
        self.0.iter().fold(0, |all, stride| all | stride).trailing_zeros()
    }

    /// Returns the steps up to the last nonzero one, at least one.
    pub fn shown(&self) -> &[i64] {
        let last = self.0.iter().rposition(|&stride| stride != 0).unwrap_or(0);
        &self.0[..=last]
    }
}

/// Returns the signed number modulo 2^width, of minimum magnitude; `number` if the width is 0.
pub(crate) fn signed(width: u32, number: i128) -> i128 {
    match width {
        1..=127 => number << (128 - width) >> (128 - width),
        _ => number,
    }
}

/// Returns the unsigned number modulo 2^width. Widths are below 127.
pub(crate) fn unsigned(width: u32, number: i128) -> i128 {
    number & ((1 << width.min(126)) - 1)
}
