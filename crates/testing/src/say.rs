//! Output of fuzzers and benchmarks.

use std::fmt::Arguments;
use std::io::Write as _;

/// Prints a line to the standard output.
#[macro_export]
macro_rules! say_line {
    ($($text:tt)*) => { $crate::say::line(format_args!($($text)*)) };
}

/// Prints a line to the standard output. Write errors are ignored: the reader may stop reading, as `head` does, and the
/// exit code still reports the result.
pub fn line(text: Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
