//! Quoting of names and strings in LLVM's text.

use std::fmt::Write as _;

/// Returns a text in quotes, with LLVM's escapes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | 0..=0x1f | 0x7f.. => {
                let _ = write!(out, "\\{byte:02X}");
            }
            _ => out.push(byte.into()),
        }
    }
    out.push('"');
    out
}
