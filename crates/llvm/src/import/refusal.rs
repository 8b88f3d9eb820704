//! What cannot be taken, named.

use heddle_ir::diagnostic::{Code, Diagnostic, Place};
use std::fmt;

/// Something of an LLVM module that the IR cannot hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The function or global, without `@`.
    pub name: String,
    /// The instruction, as LLVM prints it, if it is one.
    pub instruction: Option<String>,
    /// File, line and column of the source, if known.
    pub place: Option<(String, u32, u32)>,
    /// Why.
    pub reason: String,
    /// What to do about it.
    pub way_out: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line, column)) = &self.place {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        write!(f, "@{} is not taken", self.name)?;
        if let Some(instruction) = &self.instruction {
            write!(f, ", because of `{instruction}`")?;
        }
        write!(f, ": {}", self.reason)?;
        if !self.way_out.is_empty() {
            write!(f, "; {}", self.way_out)?;
        }
        Ok(())
    }
}

impl From<&Refusal> for Diagnostic {
    fn from(refusal: &Refusal) -> Diagnostic {
        let (file, line, column) = match &refusal.place {
            Some((file, line, column)) => (Some(&**file), *line, *column),
            None => (None, 0, 0),
        };
        let inst = refusal.instruction.clone();
        let place = Place { func: Some(refusal.name.clone()), inst, ..Place::of_line(file, line, column) };
        let text = format!("it is not taken: {}", refusal.reason);
        Diagnostic::warning(Code::NotImported, text).at(place).way_out(&*refusal.way_out)
    }
}

/// Why something is not taken, before it is known where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Why {
    pub(crate) reason: String,
    pub(crate) way_out: String,
}

/// What an import gives, or why not.
pub(crate) type Take<T> = Result<T, Why>;

impl Why {
    pub(crate) fn new(reason: impl Into<String>, way_out: impl Into<String>) -> Why {
        Why { reason: reason.into(), way_out: way_out.into() }
    }
}
