//! Diagnostics: errors, warnings and remarks of the whole compiler, as one type.
//!
//! Text, JSON and LLVM's remarks are renderings of it. A pass that refuses a function returns one as its error, with
//! the location, the text, the reasons (notes) and a help. A [`Code`] is stable: tools and docs/diagnostics.md use it.

use crate::function::{Function, SourceLoc};
use crate::module::Module;
use crate::words::words;
use crate::{Inst, Value};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

words! {
    /// Severity of a diagnostic.
    Severity {
        /// No result is produced.
        Error = "error",
        /// A result is produced, but it may not be the intended one.
        Warning = "warning",
        /// A choice of the compiler, with its reason.
        Remark = "remark",
    }
}

/// Declares the codes: variant, name, cause, help.
macro_rules! codes {
    ($($variant:ident = $name:literal, $cause:literal, $help:literal;)*) => {
        words! {
            /// Code of a diagnostic. Names are stable.
            Code { $(#[doc = $cause] $variant = $name,)* }
        }

        impl Code {
            /// Explanation of the code, as a sentence.
            pub const fn cause(self) -> &'static str {
                match self { $(Code::$variant => $cause,)* }
            }

            /// General remedy; a diagnostic may carry a more specific one.
            pub const fn help(self) -> &'static str {
                match self { $(Code::$variant => $help,)* }
            }
        }
    };
}

codes! {
    Syntax = "syntax",
        "The text of a program cannot be read.",
        "The message says what was expected at the place it marks; docs/text.md is the syntax.";
    InvalidIr = "invalid-ir",
        "A program can be read, but breaks a rule of its stage.",
        "The head of the verifier (`crates/ir/src/verify/mod.rs`) lists the rules by stage.";
    FrontEnd = "front-end",
        "clang refuses the source, or there is no clang of the right version.",
        "Mend what clang names; `./x setup` installs clang.";
    Unreadable = "unreadable",
        "A file is missing, or LLVM cannot read what is in it.",
        "Write LLVM IR with clang 22, or with a rustc of that LLVM.";
    NotImported = "not-imported",
        "A function of LLVM IR has something that lock-step code cannot hold.",
        "The message names it; the rest of the module is taken.";
    UnknownFunction = "unknown-function",
        "There is no function of this name in the module.",
        "The message lists those that there are. C++ names are mangled: declare the function `extern \"C\"`.";
    UnknownPass = "unknown-pass",
        "There is no pass of this name.",
        "`heddle opt --help` lists the passes.";
    PassOption = "pass-option",
        "What stands behind the name of a pass, or another option, is not understood.",
        "The message says what can be written.";
    ParameterShapes = "parameter-shapes",
        "Shapes are given for another number of parameters than the function has.",
        "Give one for each parameter of the source, in order.";
    LaunchesLanes = "launches-lanes",
        "Vector code is asked for of a function that one thread runs: it launches lanes itself.",
        "Ask for the function that it launches.";
    NeedsLaunch = "needs-launch",
        "A kernel asks for its place in a launch, and nothing launches it.",
        "Launch it over work-groups; a function that takes its index as a parameter needs none.";
    KernelForm = "kernel-form",
        "A kernel has something that keeps it from running work-group by work-group.",
        "The message names it, and what to write instead.";
    Launch = "launch",
        "A kernel cannot be launched with these arguments, or over this range.",
        "The message names the argument, and what the kernel takes.";
    SeesBrush = "sees-brush",
        "Several brushes are to run side by side, but the code asks which lanes are beside it, and would see them as one.",
        "Run one brush at a time.";
    EarlyPredicate = "early-predicate",
        "A block has a predicate before control flow is linearized.",
        "Write a branch around it.";
    PassiveLiveOut = "passive-live-out",
        "A value is read behind a divergent loop, but goes on changing in lanes that have left.",
        "Let the loop `freeze` it, and read that.";
    DivergentLoop = "divergent-loop",
        "A pass needs loops that all lanes leave together, and one may diverge.",
        "Run `loops` before.";
    DivergentExit = "divergent-exit",
        "A branch at which lanes part decides which of them leave a loop.",
        "Run `loops` before.";
    MarkedLoop = "marked-loop",
        "A loop's iterations cannot run side by side in lanes, or what one of them needs is not known before it runs.",
        "The message says which value, exit or access it is, and what could be written in its place.";
    NeedsLanes = "needs-lanes",
        "An instruction must not run where no lane is, and its block may run without one.",
        "Run `boscc` before, which guards it.";
    NoGuard = "no-guard",
        "A guard was asked for in front of a block that cannot have one.",
        "Ask for another block, or let the model choose.";
    NoVectorForm = "no-vector-form",
        "An instruction has no vector form, and cannot run lane by lane either.",
        "The message says what could stand in its place.";
    NoAbiForm = "no-abi-form",
        "The vector ABI has no form of a function with such values for so many lanes.",
        "Ask for other lanes, or for LLVM IR, which keeps the form that Heddle makes.";
    NotEmitted = "not-emitted",
        "A module cannot be written as LLVM IR.",
        "Run the pass that the message names before.";
    WrongTarget = "wrong-target",
        "A module is for another kind of machine than code is asked for.",
        "Let the front end make it for that machine.";
    CodeGeneration = "code-generation",
        "LLVM generates no machine code of a module.",
        "The message is LLVM's.";
    NotLinked = "not-linked",
        "Vector code and the module of its source do not come together.",
        "The message names the symbol that is in the way, and what to write instead.";
    Output = "output",
        "A result cannot be written.",
        "The message is the system's.";
    Cancelled = "cancelled",
        "The caller has taken the request back.",
        "Ask again.";
    Internal = "internal",
        "Heddle made something that its own checks refuse: a mistake in Heddle.",
        "Report it with the input.";
    AccessForm = "access-form",
        "How loads or stores are done together, and what the alternatives would cost.",
        "`versions=force` and `versions=none` choose otherwise.";
    PrivateArray = "private-array",
        "Where a private array lives: in registers, interleaved by lane, in one copy for all lanes, or in a copy for each lane.",
        "Constant indices, one element size and no use of its address other than accesses keep it out of per-lane memory.";
    BrushCount = "brush-count",
        "How many brushes run side by side, and by which figures.",
        "`--brushes` chooses otherwise.";
    Nest = "nest",
        "What became of a nest of divergent loops: one loop, or why not.",
        "`flatten:force`, `flatten:none` and `flatten:block1` choose otherwise.";
    Fusion = "fusion",
        "What became of a divergent branch whose sides do alike: done once, or why not.",
        "`fuse:force` chooses otherwise; `heddle opt --explain` prints the matrices.";
    Scalars = "scalars",
        "How many loads and operations of a function were replaced by values that lanes have.",
        "`ssrqp:esrqp` and the other variants choose where values may be inserted.";
    Waits = "waits",
        "A loop waits for what another lane does, so lanes go on one block a round.",
        "Code is faster where no lane waits for another: combine what lanes do, or use an atomic operation.";
    WaitsTogether = "waits-together",
        "A loop waits for what another lane does, and something else wants lanes to be together.",
        "Take one of the two out of the function.";
    LaneByLane = "lane-by-lane",
        "Something has no vector form and is done for one lane after the other.",
        "Give the compiler a form for vectors: `#pragma omp declare simd` for functions defined elsewhere.";
    ScalarWins = "scalar-wins",
        "By the model of the machine, scalar code of all lanes would keep it less busy than the vector code of a loop does.",
        "Let lanes access what lies side by side, do more with what each of them reads, or leave the loop to scalar code.";
    CodeShape = "code-shape",
        "What became of a function: branches, loads and stores, instructions.",
        "";
}

/// Location that a diagnostic refers to. Every part is optional.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DiagnosticLocation {
    /// The file's name.
    pub file: Option<String>,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// The function, without `@`.
    pub func: Option<String>,
    /// The instruction as text (its op or the whole of it), or a command-line option.
    pub inst: Option<String>,
    /// The file's number in a module; [`Diagnostic::in_module`] resolves it to a name.
    pub number: Option<crate::module::File>,
}

impl DiagnosticLocation {
    /// Location of a line in a file.
    pub fn of_line(file: Option<&str>, line: u32, column: u32) -> DiagnosticLocation {
        DiagnosticLocation { file: file.map(Into::into), line, column, ..DiagnosticLocation::default() }
    }

    /// Location of a function.
    pub fn of_func(func: &str) -> DiagnosticLocation {
        DiagnosticLocation { func: Some(func.into()), ..DiagnosticLocation::default() }
    }

    /// Location of an option, as the user wrote it.
    pub fn of_option(word: &str) -> DiagnosticLocation {
        DiagnosticLocation { inst: Some(word.into()), ..DiagnosticLocation::default() }
    }

    /// Location of an instruction.
    pub fn of_inst(func: &Function, inst: Inst) -> DiagnosticLocation {
        let inst_name = func.inst(inst).op.name().to_string();
        DiagnosticLocation { inst: Some(inst_name), ..DiagnosticLocation::line_of(func, inst) }
    }

    /// Line and function of an instruction, without the instruction's text.
    pub fn line_of(func: &Function, inst: Inst) -> DiagnosticLocation {
        DiagnosticLocation::of_func(&func.name).at(func.loc(inst))
    }

    /// Sets file, line and column, if a source location is known.
    #[must_use]
    pub fn at(mut self, loc: Option<SourceLoc>) -> DiagnosticLocation {
        if let Some(loc) = loc {
            (self.number, self.line, self.column) = (Some(loc.file), loc.line, loc.column);
        }
        self
    }

    fn in_module(&mut self, module: &Module) {
        if let Some(name) = self.number.and_then(|file| module.files.get(file)) {
            self.file.get_or_insert_with(|| name.clone());
        }
    }

    fn is_known(&self) -> bool {
        *self != DiagnosticLocation::default()
    }
}

impl fmt::Display for DiagnosticLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<Cow<'_, str>> = Vec::new();
        parts.extend(self.file.as_deref().map(Cow::from));
        let unnamed = if self.file.is_none() && self.func.is_some() { "line " } else { "" };
        match (self.line, self.column) {
            (0, _) => {}
            (line, 0) => parts.push(format!("{unnamed}{line}").into()),
            (line, column) => parts.push(format!("{unnamed}{line}:{column}").into()),
        }
        let mut text = parts.join(":");
        let mut add = |part: String| {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&part);
        };
        if let Some(func) = &self.func {
            add(format!("@{func}"));
        }
        if let Some(inst) = &self.inst {
            add(format!("`{inst}`"));
        }
        f.write_str(&text)
    }
}

/// Source line with a marked range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// The line; for a long line, the part around the location.
    pub text: String,
    /// The marked characters, as a range of `text`.
    pub marked: Range<usize>,
}

/// Maximum number of characters in an excerpt.
const EXCERPT: usize = 100;

impl Excerpt {
    /// Computes line, column and excerpt of a byte range.
    pub fn of(source: &[u8], span: Range<usize>) -> (DiagnosticLocation, Excerpt) {
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
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (
            DiagnosticLocation::of_line(None, number(line), number(column + 1)),
            Excerpt { text: excerpt, marked: first..first + width },
        )
    }
}

/// Additional reason or context of a diagnostic, with an optional location of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The location.
    pub place: Option<Box<DiagnosticLocation>>,
    /// The message.
    pub text: String,
}

/// An error, a warning or a remark.
///
/// `Display` writes location, text and help as one sentence, then the excerpt and the notes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The code.
    pub code: Code,
    /// The location.
    pub place: Box<DiagnosticLocation>,
    /// The message, without the location.
    pub text: String,
    /// Tokens that the parser accepts at this position; only for syntax errors.
    pub expected: Box<[String]>,
    /// The reasons.
    pub notes: Vec<Note>,
    /// The remedy; empty if the code's general one is the best known.
    pub help: String,
    /// The source line.
    pub excerpt: Option<Box<Excerpt>>,
}

impl Diagnostic {
    /// Creates a diagnostic without location.
    pub fn new(severity: Severity, code: Code, text: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity,
            code,
            place: Box::default(),
            text: text.into(),
            expected: Box::default(),
            notes: Vec::new(),
            help: String::new(),
            excerpt: None,
        }
    }

    /// Creates an error.
    pub fn error(code: Code, text: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, text)
    }

    /// Creates a warning.
    pub fn warning(code: Code, text: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, text)
    }

    /// Creates a remark.
    pub fn remark(code: Code, text: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Remark, code, text)
    }

    /// Sets the location.
    #[must_use]
    pub fn at(mut self, place: DiagnosticLocation) -> Diagnostic {
        *self.place = place;
        self
    }

    /// Sets the location to a function.
    #[must_use]
    pub fn of_func(self, func: &str) -> Diagnostic {
        self.at(DiagnosticLocation::of_func(func))
    }

    /// Sets the location to an instruction.
    #[must_use]
    pub fn of_inst(self, func: &Function, inst: Inst) -> Diagnostic {
        self.at(DiagnosticLocation::of_inst(func, inst))
    }

    /// Sets the help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = help.into();
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(Note { place: None, text: text.into() });
        self
    }

    /// Adds a note with a location.
    #[must_use]
    pub fn note_at(mut self, place: DiagnosticLocation, text: impl Into<String>) -> Diagnostic {
        self.notes.push(Note { place: Some(Box::new(place)), text: text.into() });
        self
    }

    /// Sets line, column and excerpt from a byte range of a text.
    #[must_use]
    pub fn in_text(mut self, source: &[u8], span: Range<usize>) -> Diagnostic {
        let (place, excerpt) = Excerpt::of(source, span);
        (*self.place, self.excerpt) = (place, Some(Box::new(excerpt)));
        self
    }

    /// Resolves file numbers to names.
    #[must_use]
    pub fn in_module(mut self, module: &Module) -> Diagnostic {
        self.place.in_module(module);
        self.notes
            .iter_mut()
            .filter_map(|note| note.place.as_mut())
            .for_each(|place| place.in_module(module));
        self
    }

    /// Sets the file, if none is set.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Diagnostic {
        self.place.file.get_or_insert_with(|| file.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_known() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.text)?;
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        if let Some(excerpt) = &self.excerpt {
            let Excerpt { text, marked } = &**excerpt;
            write!(f, "\n    {text}\n    {}{}", " ".repeat(marked.start), "^".repeat(marked.len()))?;
        }
        for note in &self.notes {
            match &note.place {
                Some(place) => write!(f, "\n  {place}: {}", note.text)?,
                None => write!(f, "\n  {}", note.text)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

impl From<Diagnostic> for String {
    fn from(diagnostic: Diagnostic) -> String {
        diagnostic.to_string()
    }
}

impl Function {
    /// Describes a value for a message: its source name or an expression over such names, in quotes; else its number.
    pub fn describe(&self, value: Value) -> String {
        match self.expression(value) {
            Some(words) => format!("`{words}`"),
            None => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_shown_in_part() {
        let source = format!("{}ä!{}", "x".repeat(500), "y".repeat(500));
        let at = 502;
        let (place, excerpt) = Excerpt::of(source.as_bytes(), at..at + 1);
        assert_eq!((place.line, place.column), (1, 502));
        assert_eq!(excerpt.text.chars().nth(excerpt.marked.start), Some('!'));
        assert!(excerpt.text.chars().count() <= EXCERPT + 2);
    }

    #[test]
    fn a_diagnostic_reads_as_a_sentence() {
        let place = DiagnosticLocation { line: 8, column: 3, ..DiagnosticLocation::of_func("sum") };
        let told = Diagnostic::error(Code::NoVectorForm, "it has none")
            .at(place)
            .help("write another")
            .note("for a reason");
        assert_eq!(told.to_string(), "line 8:3: @sum: it has none; write another\n  for a reason");
        assert_eq!(
            told.clone().in_file("sum.c").to_string().lines().next(),
            Some("sum.c:8:3: @sum: it has none; write another")
        );
    }

    #[test]
    fn an_error_is_small() {
        assert!(size_of::<Diagnostic>() <= 128);
    }
}
