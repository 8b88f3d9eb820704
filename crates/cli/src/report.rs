//! Messages for people: coloured on a terminal, plain elsewhere.

use crate::{CliError, CliResult};
use anstyle::{AnsiColor, Style};
use heddle_compiler::context::PassTime;
use heddle_compiler::ir::diagnostic::{DiagnosticLocation, Excerpt, Severity};
use heddle_compiler::ir::verify::Stage;
use heddle_compiler::ir::{Code, Diagnostic, Module};
use heddle_compiler::{Profile, Session, SourceModule};
use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
/// Of larger sources no lines are shown.
const MOST_SOURCE_BYTES: u64 = 1 << 24;
const TITLE: Style = Style::new().bold();

/// Prints to the standard output.
macro_rules! say {
    ($($text:tt)*) => { $crate::report::print(format_args!($($text)*)) };
}

/// Prints a line to the standard output.
macro_rules! say_line {
    ($($text:tt)*) => { $crate::report::print(format_args!("{}\n", format_args!($($text)*))) };
}

/// Prints to the standard output. What reads that may stop reading, as `head` does: then there is no more to do. If it
/// cannot be written for another reason, that is an error.
pub(crate) fn print(text: fmt::Arguments<'_>) {
    let Err(reason) = anstream::stdout().write_fmt(text) else { return };
    if reason.kind() != io::ErrorKind::BrokenPipe {
        tell(&Diagnostic::error(Code::Output, format!("the output cannot be written: {reason}")));
        std::process::exit(2);
    }
    std::process::exit(0);
}

/// Says what is wrong. If that is not read, the exit code tells.
pub(crate) fn error(message: &str) {
    let _ = writeln!(anstream::stderr(), "{ERROR}error{ERROR:#}: {}", message.trim_end());
}

/// Says what is worth knowing.
pub(crate) fn note(message: &str) {
    let _ = writeln!(anstream::stderr(), "{NOTE}note{NOTE:#}: {}", message.trim_end());
}

/// Says what follows.
pub(crate) fn title(message: &str) {
    say_line!("{TITLE}{message}{TITLE:#}");
}

/// The line of the source that an error or a warning is about, if its file can be read.
fn excerpt_of(diagnostic: &Diagnostic) -> Option<Excerpt> {
    let place = &diagnostic.place;
    let is_plain = diagnostic.severity == Severity::Remark || diagnostic.excerpt.is_some();
    let file = place.file.as_ref().filter(|_| !is_plain && place.line > 0 && place.column > 0)?;
    let metadata = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    if metadata.len() > MOST_SOURCE_BYTES {
        return None;
    }
    let text = std::fs::read(file).ok()?;
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let before: usize = lines.clone().take(place.line as usize - 1).map(<[u8]>::len).sum();
    let line = lines.clone().nth(place.line as usize - 1)?;
    let column = (place.column as usize - 1).min(line.len());
    let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let word = line[column..].iter().take_while(is_of_word).count().max(1);
    Some(Excerpt::of(&text, before + column..before + column + word).1)
}

/// Says a diagnostic as bad as it is, with its code.
pub(crate) fn tell(diagnostic: &Diagnostic) {
    let shown = excerpt_of(diagnostic)
        .map(|excerpt| Diagnostic { excerpt: Some(Box::new(excerpt)), ..diagnostic.clone() });
    let diagnostic = shown.as_ref().unwrap_or(diagnostic);
    let style = match diagnostic.severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Remark => NOTE,
    };
    let text = diagnostic.to_string();
    let (first, rest) =
        text.split_once('\n').map_or((&*text, String::new()), |(first, rest)| (first, format!("\n{rest}")));
    let severity = if diagnostic.severity == Severity::Remark { "note" } else { diagnostic.severity.name() };
    let _ = writeln!(
        anstream::stderr(),
        "{style}{severity}{style:#}: {first} [{}]{}",
        diagnostic.code,
        rest.trim_end()
    );
}

/// Says why there is no result.
pub(crate) fn fail(reason: impl Into<heddle_compiler::DiagnosticError>) -> CliError {
    let reason = reason.into();
    reason.diagnostics.iter().for_each(tell);
    let is_usage = reason.diagnostics.iter().any(|diagnostic| {
        matches!(diagnostic.code, Code::UnknownPass | Code::Output)
            || diagnostic.code == Code::Unreadable && diagnostic.place.func.is_none()
    });
    if is_usage { CliError::Misused } else { CliError::Program }
}

/// Reads a module from a file and checks it against a stage: a `.hed` file, or what LLVM or clang reads.
pub(crate) fn read_module(path: &Path, stage: Stage) -> Result<Module, CliError> {
    read(&Session::default(), path, stage, &[]).map(|source| source.module)
}

/// Reads what `heddle profile --json` has written.
pub(crate) fn read_profile(path: &Path) -> Result<Arc<Profile>, CliError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|reason| {
        let diagnostic = Diagnostic::error(Code::Unreadable, reason.to_string());
        fail(diagnostic.at(DiagnosticLocation::of_line(Some(&file), 0, 0)))
    })?;
    Ok(Arc::new(Profile::from_json(&text, &file).map_err(fail)?))
}

/// Reads PTX, for launches with this much dynamic shared memory.
pub(crate) fn read_ptx(path: &Path, dynamic_shared: u64) -> Result<Module, CliError> {
    let source = Session::default().read_ptx_file(path, dynamic_shared).map_err(fail)?;
    source.refused.iter().for_each(tell);
    Ok(source.module)
}

/// Reads a module for a session, with the LLVM module that it was imported from, if any. `clang` holds clang's options.
pub(crate) fn read(
    session: &Session,
    path: &Path,
    stage: Stage,
    clang: &[String],
) -> Result<SourceModule, CliError> {
    let clang: Vec<&str> = clang.iter().map(String::as_str).collect();
    let source = session.read(path, stage, &clang).map_err(fail)?;
    source.refused.iter().for_each(tell);
    Ok(source)
}

/// Writes a result to a file, or prints it.
pub(crate) fn write(path: Option<&Path>, bytes: &[u8]) -> CliResult {
    match path {
        Some(path) => std::fs::write(path, bytes).map_err(|reason| {
            let place = DiagnosticLocation::of_line(Some(&path.display().to_string()), 0, 0);
            fail(Diagnostic::error(Code::Output, reason.to_string()).at(place))
        }),
        None => {
            say!("{}", String::from_utf8_lossy(bytes));
            Ok(())
        }
    }
}

/// Says how long passes took.
pub(crate) fn say_times(times: &[PassTime]) {
    let total: std::time::Duration = times.iter().map(|it| it.time).sum();
    for PassTime { name, time } in times {
        let share = 100.0 * time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        note(&format!("  {:9.3} ms {share:5.1} %  {name}", time.as_secs_f64() * 1e3));
    }
    note(&format!("  {:9.3} ms         in all", total.as_secs_f64() * 1e3));
}

/// A stage by its name, for clap.
pub(crate) fn parse_stage(word: &str) -> Result<Stage, String> {
    Stage::from_name(word).ok_or_else(|| {
        let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
        format!("the stages are {}", names.join(", "))
    })
}
