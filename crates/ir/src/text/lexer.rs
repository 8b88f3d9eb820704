//! Lexer: characters to tokens.

use std::ops::Range;

/// Kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    /// One or more line ends.
    Newline,
    /// `add`, `v7`, `block3`, `i32`.
    Word,
    /// `-12`, `0x1f`, `1.5e-3`, `-inf`, and `4x2`.
    Number,
    /// `@name`, `@"a name"`.
    Name,
    /// `"text"`.
    Text,
    /// `->`.
    Arrow,
    /// One of `( ) [ ] { } < > , : = + - !`.
    Sign(u8),
    /// An invalid character or an unterminated quote.
    Stray,
    /// The end of the text.
    End,
}

/// A token: kind and byte range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    start: u32,
    end: u32,
}

/// Source text with its tokens; the last token is `End`.
#[derive(Debug)]
pub(super) struct TokenizedText<'s> {
    pub(super) source: &'s str,
    pub(super) tokens: Vec<Token>,
}

impl<'s> TokenizedText<'s> {
    pub(super) fn new(source: &'s str) -> TokenizedText<'s> {
        TokenizedText { source, tokens: tokens(source) }
    }

    pub(super) fn span(&self, token: u32) -> Range<usize> {
        let token = self.tokens[token as usize];
        token.start as usize..token.end as usize
    }

    pub(super) fn kind(&self, token: u32) -> TokenKind {
        self.tokens[token as usize].kind
    }

    pub(super) fn text(&self, token: u32) -> &'s str {
        &self.source[self.span(token)]
    }

    /// The line of a token, from 1.
    pub(super) fn line(&self, token: u32) -> usize {
        let start = self.span(token).start;
        1 + self.source.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count()
    }
}

/// True if the byte may occur in an unquoted name.
pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'-')
}

fn tokens(source: &str) -> Vec<Token> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::with_capacity(source.len() / 3);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let (kind, end) = match byte {
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b';' => {
                at += run(&bytes[at..], |byte| byte != b'\n');
                continue;
            }
            b'\n' => {
                if tokens.last().is_none_or(|last: &Token| last.kind == TokenKind::Newline) {
                    at += 1;
                    continue;
                }
                (TokenKind::Newline, at + 1)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                (TokenKind::Word, at + run(&bytes[at..], |byte| byte.is_ascii_alphanumeric() || byte == b'_'))
            }
            b'0'..=b'9' => (TokenKind::Number, at + number(&bytes[at..])),
            b'-' if bytes.get(at + 1) == Some(&b'>') => (TokenKind::Arrow, at + 2),
            b'-' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                (TokenKind::Number, at + 1 + number(&bytes[at + 1..]))
            }
            b'-' if bytes[at + 1..].starts_with(b"inf") => (TokenKind::Number, at + 4),
            b'@' if bytes.get(at + 1) == Some(&b'"') => quoted(bytes, at + 1, TokenKind::Name),
            b'@' => match run(&bytes[at + 1..], is_name_byte) {
                0 => (TokenKind::Stray, at + 1),
                length => (TokenKind::Name, at + 1 + length),
            },
            b'"' => quoted(bytes, at, TokenKind::Text),
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b',' | b':' | b'=' | b'+' | b'-'
            | b'!' => (TokenKind::Sign(byte), at + 1),
            _ => (TokenKind::Stray, at + source[at..].chars().next().map_or(1, char::len_utf8)),
        };
        tokens.push(Token { kind, start: at as u32, end: end as u32 });
        at = end;
    }
    tokens.push(Token { kind: TokenKind::End, start: at as u32, end: at as u32 });
    tokens
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !belongs(byte)).unwrap_or(bytes.len())
}

fn number(bytes: &[u8]) -> usize {
    let is_hex = bytes.starts_with(b"0x");
    let mut end = 0;
    while let Some(&byte) = bytes.get(end) {
        let is_exponent_sign =
            matches!(byte, b'+' | b'-') && !is_hex && matches!(bytes[end - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || is_exponent_sign) {
            break;
        }
        end += 1;
    }
    end
}

fn quoted(bytes: &[u8], open: usize, kind: TokenKind) -> (TokenKind, usize) {
    let mut at = open + 1;
    loop {
        match bytes.get(at) {
            Some(b'"') => return (kind, at + 1),
            None | Some(b'\n') => return (TokenKind::Stray, at),
            Some(b'\\') if bytes.get(at + 1).is_some_and(|&byte| byte != b'\n') => at += 2,
            Some(_) => at += 1,
        }
    }
}
