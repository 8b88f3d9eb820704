//! Fast-math flags that make poison. The others (`nsz`, `arcp`, `contract`, `afn`, `reassoc`) only allow more results
//! than the one computed here, so an interpreter may ignore them.

use super::format::FloatFormat;

/// Assumptions on the arguments and the result of a float operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FastMath {
    /// No argument is a NaN, nor is the result.
    pub nnan: bool,
    /// No argument is an infinity, nor is the result.
    pub ninf: bool,
}

impl FastMath {
    /// True if an argument or result satisfies the assumptions.
    #[inline]
    pub fn admits(self, format: FloatFormat, a: u128) -> bool {
        !(self.nnan && format.is_nan(a) || self.ninf && format.is_infinite(a))
    }

    /// Returns the result of an operation within one format; poison if an argument or the result violates an assumption.
    /// Other operations check each of their floats with [`Self::admits`].
    #[inline]
    pub fn guard(self, format: FloatFormat, arguments: &[u128], result: u128) -> Option<u128> {
        let kept = arguments.iter().all(|&a| self.admits(format, a)) && self.admits(format, result);
        kept.then_some(result)
    }
}
