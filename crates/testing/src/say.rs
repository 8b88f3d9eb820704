//! Output of fuzzers and benchmarks.

use std::fmt::Arguments;
use std::io::Write as _;

/// Prints a line to the standard output.
#[macro_export]
macro_rules! say_line {
    ($($text:tt)*) => { $crate::say::line(format_args!($($text)*)) };
}

/// Prints a line to the standard output. What reads that may stop reading, as `head` does: the exit code tells still.
pub fn line(text: Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
