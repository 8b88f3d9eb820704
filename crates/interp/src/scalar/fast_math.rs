//! The fast-math flags that make poison. The others (`nsz`, `arcp`, `contract`, `afn`, `reassoc`) only allow more
//! results than the one computed here, so an interpreter may ignore them.

use super::format::FloatFormat;

/// Promises about the arguments and the result of a float operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FastMath {
    /// Neither an argument nor the result is a NaN.
    pub nnan: bool,
    /// Neither an argument nor the result is an infinity.
    pub ninf: bool,
}

impl FastMath {
    /// Does this argument or result keep the promises?
    #[inline]
    pub fn admits(self, format: FloatFormat, a: u128) -> bool {
        !(self.nnan && format.is_nan(a) || self.ninf && format.is_infinite(a))
    }

    /// The result of an operation within one format: poison if an argument or the result breaks a promise. An
    /// operation between formats, or one whose result is no float, asks [`Self::admits`] for each of its floats.
    #[inline]
    pub fn guard(self, format: FloatFormat, arguments: &[u128], result: u128) -> Option<u128> {
        let kept = arguments.iter().all(|&a| self.admits(format, a)) && self.admits(format, result);
        kept.then_some(result)
    }
}
