//! Diagnostics: errors, warnings and remarks of the whole compiler, as one type.
//!
//! Text, JSON and LLVM's remarks are renderings of it. A pass that refuses a function returns one as its error, with
//! the location, the text, the reasons (notes) and a help. A [`Code`] is stable: tools and docs/diagnostics.md use it.

use crate::function::{Function, SourceLoc};
use crate::module::Module;
use crate::words::words;
use crate::{Block, Inst, Value};
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
        "The message lists what the parser accepts at that position; docs/text.md is the syntax.";
    InvalidIr = "invalid-ir",
        "A program can be read, but violates a rule of its stage.",
        "The head of the verifier (`crates/ir/src/verify/mod.rs`) lists the rules by stage.";
    FrontEnd = "front-end",
        "clang reports errors, or no clang of the right version is installed.",
        "Correct what clang names; `./x setup` installs clang.";
    Unreadable = "unreadable",
        "A file is missing, or LLVM cannot read what is in it.",
        "Write LLVM IR with clang 22, or with a rustc of that LLVM.";
    NotImported = "not-imported",
        "A function of LLVM IR uses a feature that lock-step code does not support.",
        "The message names it; the rest of the module is imported.";
    UnknownFunction = "unknown-function",
        "The module has no function of this name.",
        "The message lists the functions. C++ names are mangled: declare the function `extern \"C\"`.";
    UnknownPass = "unknown-pass",
        "No pass has this name.",
        "`heddle opt --help` lists the passes.";
    PassArgument = "pass-argument",
        "A pass without options has an argument.",
        "Leave out the colon and what follows it.";
    PassOption = "pass-option",
        "An argument of a pass, or another option, is malformed.",
        "The message lists the accepted values.";
    ParameterShapes = "parameter-shapes",
        "The number of shapes differs from the number of parameters.",
        "Write one for each parameter of the source, in order.";
    LaunchesLanes = "launches-lanes",
        "Vector code is requested for a function that one thread runs: it launches lanes itself.",
        "Vectorize the function that it launches.";
    NeedsLaunch = "needs-launch",
        "A kernel uses work-item indices, and nothing launches it.",
        "Launch it over work-groups; a function that takes its index as a parameter needs none.";
    KernelForm = "kernel-form",
        "A kernel cannot run work-group by work-group.",
        "The message names the reason and the alternative.";
    Launch = "launch",
        "A kernel cannot be launched with these arguments, or over this range.",
        "The message names the argument and the expected type.";
    SeesBrush = "sees-brush",
        "Several brushes are to run next to each other, but the code observes the lanes of its brush.",
        "Run one brush at a time.";
    EarlyPredicate = "early-predicate",
        "A block has a predicate before control flow is linearized.",
        "Write a branch around it.";
    PassiveLiveOut = "passive-live-out",
        "A value is read after a divergent loop, but changes in lanes that have left.",
        "Read a `freeze` of it, inside of the loop.";
    DivergentLoop = "divergent-loop",
        "A pass needs uniform loops, and a loop may diverge.",
        "Run `loops` first.";
    DivergentExit = "divergent-exit",
        "A divergent branch decides which lanes leave a loop.",
        "Run `loops` first.";
    MarkedLoop = "marked-loop",
        "The iterations of a loop cannot run in lanes.",
        "The message names the value, exit or access, and the alternative.";
    NeedsLanes = "needs-lanes",
        "An instruction is not speculatable, and its block may run with an empty mask.",
        "Run `boscc` first, which guards it.";
    NoGuard = "no-guard",
        "A guard is requested for a block that cannot have one.",
        "Choose another block, or leave the choice to the cost model.";
    NoVectorForm = "no-vector-form",
        "An instruction has no vector form, and cannot run lane by lane either.",
        "The message names the alternative.";
    NoAbiForm = "no-abi-form",
        "The vector ABI has no signature for a function with these types and this number of lanes.",
        "Use another number of lanes, or LLVM IR, which keeps Heddle's own signature.";
    NotEmitted = "not-emitted",
        "A module cannot be written as LLVM IR.",
        "Run the pass that the message names first.";
    WrongTarget = "wrong-target",
        "The module is for another machine than the requested one.",
        "Compile the source for that machine.";
    CodeGeneration = "code-generation",
        "LLVM generates no machine code for a module.",
        "The message is LLVM's.";
    NotLinked = "not-linked",
        "Vector code and the module of its source cannot be linked.",
        "The message names the symbol and the alternative.";
    Output = "output",
        "A result cannot be written.",
        "The message is the system's.";
    Cancelled = "cancelled",
        "The caller cancelled the request.",
        "Ask again.";
    Internal = "internal",
        "Heddle produced code that its own checks reject: an internal error.",
        "Report it with the input.";
    AccessForm = "access-form",
        "The lowering of an access group, with its cost and that of the alternative.",
        "`versions=force` and `versions=none` override the choice.";
    PrivateArray = "private-array",
        "Where a private array lives: in registers, interleaved by lane, in one copy for all lanes, or in a copy for each lane.",
        "Constant indices, one element size and no use of its address other than accesses keep it out of per-lane memory.";
    BrushCount = "brush-count",
        "The number of brushes next to each other, and the figures that decided it.",
        "`--brushes` overrides the choice.";
    Nest = "nest",
        "A nest of divergent loops was flattened, or why not.",
        "`flatten:force`, `flatten:none` and `flatten:block1` override the choice.";
    Fusion = "fusion",
        "The sides of a divergent branch were fused, or why not.",
        "`fuse:force` overrides the choice; `heddle opt --explain` prints the matrices.";
    Scalars = "scalars",
        "Numbers of loads and operations that scalar replacement removed.",
        "`ssrqp:esrqp` and the other variants select where values may be inserted.";
    Waits = "waits",
        "A loop waits for another lane, so lanes advance one block a round.",
        "Code is faster without waiting: combine the lanes' values, or use an atomic operation.";
    WaitsTogether = "waits-together",
        "A loop waits for another lane, and another operation needs the lanes together.",
        "Move one of the two out of the function.";
    LaneByLane = "lane-by-lane",
        "An instruction has no vector form and runs one lane at a time.",
        "Declare a vector form, `#pragma omp declare simd`, for external functions.";
    ScalarWins = "scalar-wins",
        "By the cost model, scalar code is faster than the vector code of a loop.",
        "Access contiguous memory, do more work per loaded value, or leave the loop scalar.";
    CodeShape = "code-shape",
        "Summary of a function: branches, loads and stores, instructions.",
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

/// Lowering of loads or stores: the values of an `access-form` remark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessLowering {
    /// Number of accesses.
    pub accesses: usize,
    /// True for stores.
    pub is_store: bool,
    /// Names of the accessed objects in the source, in quotes; empty if unknown.
    pub objects: Vec<String>,
    /// The lowering that was considered, as an adjective: `contiguous`.
    pub lowering: String,
    /// Run-time condition of the lowering; empty if there is none.
    pub condition: String,
    /// True if the condition only says that a narrow index does not wrap around: a wider one needs none.
    pub is_wrap_test: bool,
    /// True if the lowering was chosen.
    pub is_chosen: bool,
    /// Cost of the lowering, and of separate accesses, by the target's table; none without a cost model.
    pub costs: Option<LoweringCosts>,
}

/// Costs of a lowering, for one remark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoweringCosts {
    /// Cost of the lowering.
    pub together: u32,
    /// Cost of separate accesses.
    pub separate: u32,
    /// Name of the target.
    pub target: &'static str,
    /// Number of remarks with these costs.
    pub times: usize,
}

impl fmt::Display for AccessLowering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AccessLowering { accesses, is_store, objects, lowering, condition, is_chosen, costs, .. } = self;
        match (accesses, is_store) {
            (0 | 1, false) => f.write_str("load")?,
            (0 | 1, true) => f.write_str("store")?,
            (count, false) => write!(f, "{count} loads")?,
            (count, true) => write!(f, "{count} stores")?,
        }
        if !objects.is_empty() {
            write!(f, " of {}", objects.join(", "))?;
        }
        let gap = if condition.is_empty() { "" } else { " where " };
        match is_chosen {
            true => write!(f, ": {lowering}{gap}{condition}")?,
            false => write!(f, ": not {lowering}{gap}{condition}")?,
        }
        let Some(LoweringCosts { together, separate, target, times }) = costs else { return Ok(()) };
        let each = if *times > 1 { " each" } else { "" };
        match is_chosen {
            true => write!(f, "; cost {together} instead of {separate}{each} on {target}"),
            false => {
                write!(f, "; it would cost {together}, and separate accesses {separate},{each} on {target}")
            }
        }
    }
}

/// An error, a warning or a remark.
///
/// `Display` writes location and text on a line, then the excerpt, the notes and the help, each on lines of its own.
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
    /// The values of an `access-form` remark.
    pub access: Option<Box<AccessLowering>>,
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
            access: None,
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

    /// Creates the remark on the lowering of an access.
    pub fn access(access: AccessLowering) -> Diagnostic {
        Diagnostic {
            access: Some(Box::new(access.clone())),
            ..Diagnostic::remark(Code::AccessForm, access.to_string())
        }
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
        if !self.help.is_empty() {
            write!(f, "\n  help: {}", self.help)?;
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

    /// Describes a block for a message: the line of its branch in the source; else its number.
    pub fn describe_block(&self, block: Block) -> String {
        let line = self.terminator(block).and_then(|inst| self.loc(inst)).map_or(0, |loc| loc.line);
        if line > 0 { format!("line {line}") } else { block.to_string() }
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
    fn help_comes_last_on_a_line_of_its_own() {
        let place = DiagnosticLocation { line: 8, column: 3, ..DiagnosticLocation::of_func("sum") };
        let message = Diagnostic::error(Code::NoVectorForm, "it has none")
            .at(place)
            .help("write another")
            .note("for a reason");
        assert_eq!(message.to_string(), "line 8:3: @sum: it has none\n  for a reason\n  help: write another");
        assert_eq!(
            message.clone().in_file("sum.c").to_string().lines().next(),
            Some("sum.c:8:3: @sum: it has none")
        );
    }

    #[test]
    fn an_error_is_small() {
        assert!(size_of::<Diagnostic>() <= 128);
    }
}
