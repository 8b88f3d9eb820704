//! What is wrong with a text, and where.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The most errors that one text is told of.
const MOST: usize = 20;
/// The most characters of a line that an excerpt shows.
const EXCERPT: usize = 100;

/// An error in a text. Prints its place and message, then the line with a caret below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What could stand there instead, if that is known.
    pub expected: Vec<String>,
    /// The line; of a long one the part around the place.
    pub excerpt: String,
    /// The characters of the excerpt that are meant.
    pub marked: Range<usize>,
}

impl Diagnostic {
    fn new(source: &[u8], span: Range<usize>, message: String, expected: Vec<String>) -> Diagnostic {
        let start = span.start.min(source.len());
        let is_newline = |&byte: &u8| byte == b'\n';
        let line_start = source[..start].iter().rposition(is_newline).map_or(0, |at| at + 1);
        let line_end = source[start..].iter().position(is_newline).map_or(source.len(), |at| start + at);
        let line = 1 + source[..line_start].iter().filter(|byte| is_newline(byte)).count();
        let characters = |range: Range<usize>| String::from_utf8_lossy(&source[range]).chars().count();
        let column = characters(line_start..start);
        let width = characters(start..span.end.clamp(start, line_end)).max(1);

        let text = String::from_utf8_lossy(&source[line_start..line_end]);
        let skipped = column.saturating_sub(EXCERPT / 2);
        let skipped = if column + width < EXCERPT { 0 } else { skipped };
        let mut excerpt = String::new();
        if skipped > 0 {
            excerpt.push('…');
        }
        let shown = text.trim_end().chars().skip(skipped).take(EXCERPT);
        excerpt.extend(shown.map(|c| if c.is_control() { ' ' } else { c }));
        if text.trim_end().chars().nth(skipped + EXCERPT).is_some() {
            excerpt.push('…');
        }
        let first = column - skipped + usize::from(skipped > 0);
        let width = width.min((skipped + EXCERPT).saturating_sub(column).max(1));
        Diagnostic { line, column: column + 1, message, expected, excerpt, marked: first..first + width }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        writeln!(f, "    {}", self.excerpt)?;
        write!(f, "    {}{}", " ".repeat(self.marked.start), "^".repeat(self.marked.len()))
    }
}

impl std::error::Error for Diagnostic {}

/// An error is reported: whoever meets this gives up and says nothing more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported;

#[derive(Debug)]
struct Error {
    span: Range<usize>,
    message: String,
    expected: Vec<String>,
}

/// The errors found so far.
#[derive(Default, Debug)]
pub(super) struct Errors {
    errors: Vec<Error>,
}

impl Errors {
    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Whether there are so many that it makes no sense to go on.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= MOST
    }

    pub(super) fn push(&mut self, span: Range<usize>, message: impl Into<String>) -> Reported {
        self.push_expecting(span, message, [""; 0])
    }

    /// The same, where it is known what could stand there.
    pub(super) fn push_expecting<S: Into<String>>(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        expected: impl IntoIterator<Item = S>,
    ) -> Reported {
        if !self.is_full() {
            let expected = expected.into_iter().map(Into::into).collect();
            self.errors.push(Error { span, message: message.into(), expected });
        }
        Reported
    }

    /// The diagnostics, in the order of the text.
    pub(super) fn into_diagnostics(mut self, source: &[u8]) -> Vec<Diagnostic> {
        self.errors.sort_by_key(|error| error.span.start);
        self.errors
            .into_iter()
            .map(|error| Diagnostic::new(source, error.span, error.message, error.expected))
            .collect()
    }
}

/// A part of the text, to be told in a message: no longer than is good for one.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    const MOST: usize = 40;
    let is_plain = |c: char| !c.is_control();
    match text.char_indices().nth(MOST) {
        None if text.chars().all(is_plain) => Cow::Borrowed(text),
        cut => {
            let start = text[..cut.map_or(text.len(), |(at, _)| at)].chars().filter(|&c| is_plain(c));
            Cow::Owned(start.chain(cut.map(|_| '…')).collect())
        }
    }
}

/// The candidate most like the word, if one is alike enough to be meant.
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

/// The least number of insertions, removals, replacements and swaps of neighbours that turn one word into the other.
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

    #[test]
    fn long_lines_are_shown_in_part() {
        let source = format!("{}ä!{}", "x".repeat(500), "y".repeat(500));
        let at = 502;
        let diagnostic = Diagnostic::new(source.as_bytes(), at..at + 1, "here".into(), vec![]);
        assert_eq!((diagnostic.line, diagnostic.column), (1, 502));
        assert_eq!(diagnostic.excerpt.chars().nth(diagnostic.marked.start), Some('!'));
        assert!(diagnostic.excerpt.chars().count() <= EXCERPT + 2);
    }
}
