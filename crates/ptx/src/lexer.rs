//! Lexer of PTX.
//!
//! Invariant: a token is a range of the source, and not empty except at the end.

/// Kind of token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PtxTokenKind {
    /// Identifier: an operation, a register, a variable, a label.
    Name,
    /// Dot and keyword: a directive, a type or a modifier. The text is without the dot.
    Dotted,
    /// Number.
    Number,
    /// String literal, with its quotes.
    Text,
    /// Punctuation character.
    Sign(u8),
    /// Character that starts no token.
    Unknown,
    /// End of the source.
    End,
}

/// Token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PtxToken<'s> {
    pub(crate) kind: PtxTokenKind,
    /// Offset in bytes.
    pub(crate) at: usize,
    pub(crate) text: &'s str,
}

impl PtxToken<'_> {
    /// Returns its range in the source.
    pub(crate) fn span(&self) -> std::ops::Range<usize> {
        let dot = usize::from(self.kind == PtxTokenKind::Dotted);
        self.at..self.at + self.text.len() + dot
    }
}

/// Splits a source into tokens.
pub(crate) struct PtxLexer<'s> {
    source: &'s str,
    at: usize,
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

impl<'s> PtxLexer<'s> {
    pub(crate) fn new(source: &'s str) -> PtxLexer<'s> {
        PtxLexer { source, at: 0 }
    }

    fn skip_blanks(&mut self) {
        let bytes = self.source.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => self.at += 1,
                b'/' if bytes.get(self.at + 1) == Some(&b'/') => {
                    self.at = bytes[self.at..]
                        .iter()
                        .position(|&b| b == b'\n')
                        .map_or(bytes.len(), |n| self.at + n);
                }
                b'/' if bytes.get(self.at + 1) == Some(&b'*') => {
                    let end = self.source[self.at + 2..].find("*/");
                    self.at = end.map_or(bytes.len(), |n| self.at + n + 4);
                }
                _ => return,
            }
        }
    }

    /// Returns the next token.
    pub(crate) fn next(&mut self) -> PtxToken<'s> {
        self.skip_blanks();
        let bytes = self.source.as_bytes();
        let start = self.at;
        let run = |from: usize, holds: fn(u8) -> bool| {
            bytes[from..].iter().position(|&byte| !holds(byte)).map_or(bytes.len(), |count| from + count)
        };
        let Some(&first) = bytes.get(start) else {
            return PtxToken { kind: PtxTokenKind::End, at: start, text: "" };
        };
        let next = bytes.get(start + 1).copied().unwrap_or(0);
        let (kind, end) = match first {
            b'0'..=b'9' => (PtxTokenKind::Number, self.number_end(start)),
            b'%' if is_name(next) => (PtxTokenKind::Name, run(start + 1, is_name)),
            _ if is_name(first) => (PtxTokenKind::Name, run(start, is_name)),
            b'.' if is_name(next) => {
                let end = run(start + 1, |byte| is_name(byte) || byte == b':');
                // `.b8 x: ` has no colon in its keyword; a single one is punctuation.
                let text = self.source[start + 1..end].trim_end_matches(':');
                self.at = start + 1 + text.len();
                return PtxToken { kind: PtxTokenKind::Dotted, at: start, text };
            }
            b'"' => match bytes[start + 1..].iter().position(|&byte| matches!(byte, b'"' | b'\n')) {
                Some(count) if bytes[start + 1 + count] == b'"' => (PtxTokenKind::Text, start + 2 + count),
                _ => (PtxTokenKind::Unknown, start + 1),
            },
            b'!'..=b'~' => (PtxTokenKind::Sign(first), start + 1),
            _ => {
                let width = self.source[start..].chars().next().map_or(1, char::len_utf8);
                (PtxTokenKind::Unknown, start + width)
            }
        };
        self.at = end;
        PtxToken { kind, at: start, text: &self.source[start..end] }
    }

    /// Returns the end of a number: `12`, `0x1fU`, `0f3F800000`, `1.5e-3`.
    fn number_end(&self, start: usize) -> usize {
        let bytes = self.source.as_bytes();
        let mut end = start;
        let is_hex = bytes[start] == b'0'
            && matches!(bytes.get(start + 1), Some(b'x' | b'X' | b'f' | b'F' | b'd' | b'D'));
        while let Some(&byte) = bytes.get(end) {
            let is_exponent_sign =
                matches!(byte, b'+' | b'-') && !is_hex && matches!(bytes[end - 1], b'e' | b'E');
            let is_point = byte == b'.' && !is_hex && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
            if !byte.is_ascii_alphanumeric() && !is_exponent_sign && !is_point {
                break;
            }
            end += 1;
        }
        end
    }
}
