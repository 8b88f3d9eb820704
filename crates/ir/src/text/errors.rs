//! Syntax errors and their diagnostics.

use crate::diagnostic::{Code, Diagnostic};
use std::borrow::Cow;
use std::ops::Range;

/// Maximum number of errors reported for one text.
const MAX_ERRORS: usize = 20;

/// Token of an error that is already reported: the caller gives up silently.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported;

#[derive(Debug)]
struct SyntaxError {
    span: Range<usize>,
    message: String,
    expected: Vec<String>,
}

/// Errors collected so far.
#[derive(Default, Debug)]
pub(super) struct SyntaxErrors {
    errors: Vec<SyntaxError>,
}

impl SyntaxErrors {
    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// True if the maximum is reached, so that parsing should stop.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    pub(super) fn push(&mut self, span: Range<usize>, message: impl Into<String>) -> Reported {
        self.push_expecting(span, message, [""; 0])
    }

    /// Adds an error with the tokens expected at its position.
    pub(super) fn push_expecting<S: Into<String>>(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        expected: impl IntoIterator<Item = S>,
    ) -> Reported {
        if !self.is_full() {
            let expected = expected.into_iter().map(Into::into).collect();
            self.errors.push(SyntaxError { span, message: message.into(), expected });
        }
        Reported
    }

    /// Returns the diagnostics in source order.
    pub(super) fn into_diagnostics(mut self, source: &[u8]) -> Vec<Diagnostic> {
        self.errors.sort_by_key(|error| error.span.start);
        self.errors
            .into_iter()
            .map(|error| {
                let expected = error.expected.into_boxed_slice();
                let diagnostic = Diagnostic::error(Code::Syntax, error.message).in_text(source, error.span);
                Diagnostic { expected, ..diagnostic }
            })
            .collect()
    }
}

/// Shortens a piece of the text for a message and drops control characters.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    const MAX_CHARS: usize = 40;
    let is_plain = |c: char| !c.is_control();
    match text.char_indices().nth(MAX_CHARS) {
        None if text.chars().all(is_plain) => Cow::Borrowed(text),
        cut => {
            let start = text[..cut.map_or(text.len(), |(at, _)| at)].chars().filter(|&c| is_plain(c));
            Cow::Owned(start.chain(cut.map(|_| '…')).collect())
        }
    }
}

/// Returns the candidate closest to the word, if it is close enough for a suggestion.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 40 {
        return None;
    }
    let most = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(word.as_bytes(), candidate.as_bytes()), candidate))
        .filter(|&(distance, _)| distance <= most)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance with insertions, deletions, substitutions and transpositions.
fn edit_distance(from: &[u8], to: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let mut least = (above[j] + usize::from(a != b)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_words() {
        assert_eq!(nearest("addd", ["add", "and", "sub"]), Some("add"));
        assert_eq!(nearest("lsrh", ["shl", "lshr"]), Some("lshr"));
        assert_eq!(nearest("frobnicate", ["add", "and"]), None);
    }
}
