//! Messages for people: coloured on a terminal, plain elsewhere.

use crate::Failure;
use anstyle::{AnsiColor, Style};
use heddle::ir::verify::{Stage, verify_module};
use heddle::ir::{Module, parse_bytes};
use heddle_llvm::{Language, LlvmModule, language_of};
use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const TITLE: Style = Style::new().bold();

/// Prints to the standard output.
macro_rules! say {
    ($($text:tt)*) => { $crate::report::print(format_args!($($text)*)) };
}

/// Prints a line to the standard output.
macro_rules! say_line {
    ($($text:tt)*) => { $crate::report::print(format_args!("{}\n", format_args!($($text)*))) };
}

/// Prints to the standard output. Who reads that may stop reading, as `head` does: then there is no more to do. If it
/// cannot be written for another reason, that is an error.
pub(crate) fn print(text: fmt::Arguments<'_>) {
    let Err(reason) = anstream::stdout().write_fmt(text) else { return };
    if reason.kind() != io::ErrorKind::BrokenPipe {
        error(&format!("the output cannot be written: {reason}"));
        std::process::exit(2);
    }
    std::process::exit(0);
}

/// Says what is wrong. If nobody listens, the exit code tells.
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

/// Reads a module from a file and checks it against a stage: a `.hed` file, or what LLVM or clang reads.
pub(crate) fn read_module(path: &Path, stage: Stage) -> Result<Module, Failure> {
    read_with_source(path, stage, None).map(|(module, _)| module)
}

/// The same, with the module of LLVM that it was imported from, if it was.
pub(crate) fn read_with_source(
    path: &Path,
    stage: Stage,
    triple: Option<&str>,
) -> Result<(Module, Option<LlvmModule>), Failure> {
    let shown = path.display();
    if language_of(path).is_some() {
        return import_module(path, triple).map(|(module, llvm)| (module, Some(llvm)));
    }
    let source = if path == Path::new("-") {
        let mut source = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut source).map(|_| source)
    } else {
        std::fs::read(path)
    };
    let source = source.map_err(|reason| Failure::Usage(format!("{shown}: {reason}")))?;
    let module = parse_bytes(&source).map_err(|diagnostics| {
        diagnostics.iter().for_each(|diagnostic| error(&format!("{shown}:{diagnostic}")));
        Failure::Program
    })?;
    match verify_module(&module, stage) {
        Ok(()) => Ok((module, None)),
        Err(violations) => {
            error(&format!("{shown}: {violations}"));
            Err(Failure::Program)
        }
    }
}

/// Imports what LLVM or clang reads. What is not taken is said; it is an error only if nothing is left.
fn import_module(path: &Path, triple: Option<&str>) -> Result<(Module, LlvmModule), Failure> {
    let fail = |message: String| {
        error(&message);
        Failure::Program
    };
    let is_for_cpus = matches!(language_of(path), Some(Language::C | Language::Cpp));
    let target = triple.filter(|_| is_for_cpus).map(|triple| format!("--target={triple}"));
    let llvm = heddle_llvm::compile(path, 1, target.as_deref().as_slice())
        .map_err(|reason| fail(reason.to_string()))?;
    let imported = heddle_llvm::import(&llvm);
    let is_empty = imported.module.functions.is_empty();
    for refusal in &imported.refused {
        if is_empty { error(&refusal.to_string()) } else { note(&refusal.to_string()) }
    }
    if is_empty {
        return Err(fail(format!("{}: there is no function that can be taken", path.display())));
    }
    verify_module(&imported.module, Stage::Source)
        .map_err(|violations| fail(format!("{}: {violations}", path.display())))?;
    Ok((imported.module, llvm))
}

/// A stage by its name, for clap.
pub(crate) fn parse_stage(word: &str) -> Result<Stage, String> {
    Stage::from_name(word).ok_or_else(|| {
        let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
        format!("the stages are {}", names.join(", "))
    })
}
