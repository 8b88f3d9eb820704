//! Outputs of the conformance suite's programs, and results of its tests as lines of a file.

use std::fmt::{self, Display, Formatter};

/// Outcome of a test of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestOutcome {
    Passed,
    Failed,
    /// A signal ended the program.
    Crashed,
    TimedOut,
    /// The program says that the device lacks the feature.
    Skipped,
}

impl TestOutcome {
    /// All outcomes in the order of the table's columns.
    pub(crate) const ALL: [TestOutcome; 5] = [
        TestOutcome::Passed,
        TestOutcome::Failed,
        TestOutcome::Crashed,
        TestOutcome::TimedOut,
        TestOutcome::Skipped,
    ];

    fn name(self) -> &'static str {
        match self {
            TestOutcome::Passed => "passed",
            TestOutcome::Failed => "failed",
            TestOutcome::Crashed => "crashed",
            TestOutcome::TimedOut => "timed out",
            TestOutcome::Skipped => "skipped",
        }
    }

    /// True if the test neither passed nor was skipped.
    pub(crate) fn is_bad(self) -> bool {
        !matches!(self, TestOutcome::Passed | TestOutcome::Skipped)
    }
}

/// Result of a test of the suite.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestResult {
    /// Path of the program and its arguments.
    pub(crate) row: String,
    pub(crate) test: String,
    pub(crate) outcome: TestOutcome,
    pub(crate) seconds: f64,
    /// First message of a failure, last line before a limit, or reason of a skip; may be empty.
    pub(crate) message: String,
}

impl TestResult {
    /// Returns the result as a line of a file.
    pub(crate) fn line(&self) -> String {
        let fields =
            [&self.row, &self.test, self.outcome.name(), &format!("{:.2}", self.seconds), &self.message];
        fields.map(|field| field.replace(['\t', '\n'], " ")).join("\t")
    }

    /// Parses a line of a file; none if it was cut off.
    pub(crate) fn parse(line: &str) -> Option<TestResult> {
        let mut fields = line.split('\t');
        let (row, test, outcome) = (fields.next()?, fields.next()?, fields.next()?);
        let outcome = TestOutcome::ALL.into_iter().find(|it| it.name() == outcome)?;
        let (seconds, message) = (fields.next()?.parse().ok()?, fields.next()?);
        Some(TestResult { row: row.into(), test: test.into(), outcome, seconds, message: message.into() })
    }
}

impl Display for TestResult {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}, {:.1} s", self.row, self.test, self.outcome.name(), self.seconds)?;
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}

/// Returns the names that a program prints for `--list`: one a line, after a tab.
pub(crate) fn listed_tests(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.strip_prefix('\t')).map(str::trim_end);
    names.filter(|name| !name.is_empty() && !name.contains(char::is_whitespace)).map(String::from).collect()
}

/// Longest message in characters.
const MESSAGE_LENGTH: usize = 200;

/// Returns a line without the folders of paths, at most as long as a message may be.
fn shortened(line: &str) -> String {
    let words = line.split_whitespace().map(|word| match word.rfind('/') {
        Some(at) if word.contains("/test_") || word.starts_with('/') => &word[at + 1..],
        _ => word,
    });
    let text = words.collect::<Vec<_>>().join(" ");
    text.char_indices().nth(MESSAGE_LENGTH).map_or(text.clone(), |(at, _)| text[..at].to_string() + "…")
}

/// True for a line that may say why a test failed.
fn is_failure(line: &str) -> bool {
    let words =
        ["error:", "fail", "assert", "heddle:", "mismatch", "incorrect", "expected", "terminate called"];
    let lower = line.to_lowercase();
    words.iter().any(|word| lower.contains(word)) || lower.starts_with("error")
}

/// True for a line that only counts failures, or that tells that a test failed.
fn is_total(line: &str) -> bool {
    line.starts_with("FAILED ") || line.ends_with(" FAILED") || line.starts_with("PASSED ")
}

/// Returns the first line that says why a test failed, or else the last line.
fn first_failure(text: &str) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines().find(|line| is_failure(line) && !is_total(line));
    shortened(first.or_else(|| lines().rfind(|line| !is_total(line))).unwrap_or_default())
}

/// Returns the reason of a skip: the line that names the test, or the one before it.
fn skip_reason(test: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let own = format!("{test} test not supported");
    let reason = match lines.iter().position(|line| *line == own) {
        Some(at) if at > 0 && lines[at - 1] != format!("{test}...") => Some(lines[at - 1]),
        _ => lines.iter().find(|line| line.to_lowercase().contains("skip")).copied(),
    };
    shortened(reason.unwrap_or_default())
}

/// Judges a test by the exit code or the signal of its process, and by the text that it printed.
pub(crate) fn judge_test(
    test: &str,
    code: Option<i32>,
    signal: Option<i32>,
    is_late: bool,
    text: &str,
) -> (TestOutcome, String) {
    if is_late && (code == Some(124) || signal.is_some() || code == Some(137)) {
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        return (TestOutcome::TimedOut, shortened(line.unwrap_or_default()));
    }
    // A shell and `timeout` tell of a signal by a code above 128.
    let signal = signal.or(code.filter(|code| (129..160).contains(code)).map(|code| code - 128));
    if let Some(signal) = signal {
        let name = match signal {
            4 => "SIGILL".into(),
            6 => "SIGABRT".into(),
            7 => "SIGBUS".into(),
            8 => "SIGFPE".into(),
            9 => "SIGKILL".into(),
            11 => "SIGSEGV".into(),
            _ => format!("signal {signal}"),
        };
        let message = first_failure(text);
        return (TestOutcome::Crashed, [name, message].join(" ").trim_end().to_string());
    }
    if code != Some(0) {
        return (TestOutcome::Failed, first_failure(text));
    }
    // Some programs end no line of theirs before it.
    let passed = format!("{test} passed");
    let says_so = |line: &str| {
        let before = line.trim().strip_suffix(&passed);
        before.is_some_and(|it| !it.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    if text.lines().any(says_so) {
        return (TestOutcome::Passed, String::new());
    }
    (TestOutcome::Skipped, skip_reason(test, text))
}

#[cfg(test)]
mod tests {
    use super::{TestOutcome, TestResult, judge_test, listed_tests};

    #[test]
    fn listed_names_follow_a_tab() {
        let text = "Compilation mode specified: online\n\tadd_rows\n\tmul_rows \n\nTests:\n\ttwo words\n\t\n";
        assert_eq!(listed_tests(text), ["add_rows", "mul_rows"]);
    }

    fn judged(code: i32, text: &str) -> (TestOutcome, String) {
        judge_test("add_rows", Some(code), None, false, text)
    }

    #[test]
    fn passed_tests_say_so() {
        let text =
            "Requesting Default device\nadd_rows...\nadd_rows passed\nPASSED sub-test.\nPASSED test.\n";
        assert_eq!(judged(0, text), (TestOutcome::Passed, String::new()));
        assert_eq!(judged(0, "add_rows...\nTesting...add_rows passed\n").0, TestOutcome::Passed);
        // Another test's line proves nothing.
        assert_eq!(judged(0, "add_rows...\npadd_rows passed\n").0, TestOutcome::Skipped);
        assert_eq!(judged(0, "add_rows...\nmul_rows passed\n").0, TestOutcome::Skipped);
    }

    #[test]
    fn skipped_tests_have_their_reason() {
        let text = "add_rows...\nThe device has no rows.\nadd_rows test not supported\nPASSED test.\n";
        assert_eq!(judged(0, text), (TestOutcome::Skipped, "The device has no rows.".into()));
        let text = "add_rows...\nadd_rows skipped (requires at least OpenCL version 9.0)\n";
        assert_eq!(
            judged(0, text),
            (TestOutcome::Skipped, "add_rows skipped (requires at least OpenCL version 9.0)".into())
        );
        assert_eq!(
            judged(0, "add_rows...\nadd_rows test not supported\n"),
            (TestOutcome::Skipped, String::new())
        );
    }

    #[test]
    fn failures_have_their_first_message() {
        let text = "add_rows...\nERROR: row 3 is wrong! (CL_INVALID_VALUE from /x/suite/test_rows.cpp:17)\n\
                    ERROR: row 4 is wrong!\nadd_rows FAILED\nFAILED test.\n";
        assert_eq!(
            judged(1, text),
            (TestOutcome::Failed, "ERROR: row 3 is wrong! (CL_INVALID_VALUE from test_rows.cpp:17)".into())
        );
        let text = "add_rows...\nValue 3 != 4\nadd_rows FAILED\nFAILED test.\n";
        assert_eq!(judged(1, text), (TestOutcome::Failed, "Value 3 != 4".into()));
        assert_eq!(judged(1, ""), (TestOutcome::Failed, String::new()));
        let long = judged(1, &format!("ERROR: {}\n", "é".repeat(500))).1;
        assert_eq!(long.chars().count(), 201);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn crashes_name_the_signal() {
        let crashed = judge_test("add_rows", None, Some(11), false, "add_rows...\n");
        assert_eq!(crashed, (TestOutcome::Crashed, "SIGSEGV add_rows...".into()));
        let text = "add_rows...\nprog: x.cpp:3: Assertion `a' failed.\n";
        let aborted = judge_test("add_rows", Some(134), None, false, text);
        assert_eq!(aborted, (TestOutcome::Crashed, "SIGABRT prog: x.cpp:3: Assertion `a' failed.".into()));
    }

    #[test]
    fn late_tests_time_out() {
        let late = judge_test("a", Some(124), None, true, "a...\nrow 3\n\n");
        assert_eq!(late, (TestOutcome::TimedOut, "row 3".into()));
        assert_eq!(judge_test("a", None, Some(9), true, "a...\n").0, TestOutcome::TimedOut);
        // The code of a program that ended in time is its own.
        assert_eq!(judge_test("a", Some(124), None, false, "a...\n").0, TestOutcome::Failed);
    }

    #[test]
    fn results_are_lines() {
        let result = TestResult {
            row: "rows/test_rows use_pitches".into(),
            test: "add_rows".into(),
            outcome: TestOutcome::TimedOut,
            seconds: 12.5,
            message: "one\ttwo".into(),
        };
        let line = result.line();
        assert_eq!(line, "rows/test_rows use_pitches\tadd_rows\ttimed out\t12.50\tone two");
        assert_eq!(TestResult::parse(&line).map(|it| it.line()), Some(line.clone()));
        assert_eq!(TestResult::parse(&line[..40]), None);
        assert_eq!(result.to_string(), "rows/test_rows use_pitches add_rows: timed out, 12.5 s: one\ttwo");
    }
}
