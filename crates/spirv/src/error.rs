//! Errors of the reader and of the lowering.

use spirv::Op;
use thiserror::Error;

/// Result of a step.
pub(crate) type SpirvResult<T> = Result<T, SpirvError>;

/// Extent of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpirvErrorKind {
    /// The module breaks a rule of SPIR-V, and no kernel of it is compiled.
    Invalid,
    /// Heddle lacks a feature; only kernels that reach it are refused.
    Unsupported,
}

/// Error at a word of a module.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{} at word {word}{}: {reason}", title(*.kind), instruction_text(.instruction))]
pub struct SpirvError {
    /// Extent.
    pub kind: SpirvErrorKind,
    /// Offset of the instruction, in words from the start of the module.
    pub word: usize,
    /// Name of the instruction.
    pub instruction: Option<String>,
    /// Reason, with ids and their names.
    pub reason: String,
    /// Remedy.
    pub help: String,
}

fn title(kind: SpirvErrorKind) -> &'static str {
    match kind {
        SpirvErrorKind::Invalid => "invalid SPIR-V",
        SpirvErrorKind::Unsupported => "unsupported SPIR-V",
    }
}

fn instruction_text(name: &Option<String>) -> String {
    name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default()
}

/// Help for modules that break a rule.
const VALIDATE: &str = "check the module with spirv-val, and report the error to the tool that wrote it";

/// Returns the name of an opcode in the specification.
pub(crate) fn opcode_name(op: Op) -> String {
    format!("Op{op:?}")
}

impl SpirvError {
    /// Makes an error for a broken rule.
    pub(crate) fn invalid(word: usize, reason: impl Into<String>) -> SpirvError {
        SpirvError {
            kind: SpirvErrorKind::Invalid,
            word,
            instruction: None,
            reason: reason.into(),
            help: VALIDATE.into(),
        }
    }

    /// Makes an error for a missing feature.
    pub(crate) fn unsupported(word: usize, reason: impl Into<String>, help: impl Into<String>) -> SpirvError {
        SpirvError {
            kind: SpirvErrorKind::Unsupported,
            word,
            instruction: None,
            reason: reason.into(),
            help: help.into(),
        }
    }

    /// Adds the instruction's name, unless there is one.
    pub(crate) fn of(mut self, name: impl FnOnce() -> String) -> SpirvError {
        self.instruction.get_or_insert_with(name);
        self
    }
}
