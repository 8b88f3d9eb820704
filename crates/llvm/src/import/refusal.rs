//! Reasons for refusing unsupported input.

use heddle_ir::diagnostic::{Code, Diagnostic, DiagnosticLocation};

/// Reason for a refusal, without its source location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ImportRefusal {
    pub(crate) code: Code,
    pub(crate) reason: String,
    pub(crate) help: String,
}

/// Result of an import step.
pub(crate) type ImportResult<T> = Result<T, ImportRefusal>;

impl ImportRefusal {
    pub(crate) fn new(reason: impl Into<String>, help: impl Into<String>) -> ImportRefusal {
        ImportRefusal { code: Code::NotImported, reason: reason.into(), help: help.into() }
    }

    /// Refuses a call of an undefined function.
    pub(crate) fn undefined(reason: impl Into<String>, help: impl Into<String>) -> ImportRefusal {
        ImportRefusal { code: Code::UnknownFunction, ..ImportRefusal::new(reason, help) }
    }
}

impl ImportRefusal {
    /// Returns the diagnostic for a function or global.
    pub(crate) fn of(self, name: &str) -> Diagnostic {
        Diagnostic::warning(self.code, self.reason).of_func(name).help(self.help)
    }

    /// Returns the diagnostic for an instruction; without debug location it shows LLVM's text.
    pub(crate) fn of_inst(
        self,
        name: &str,
        instruction: String,
        at: Option<(String, u32, u32)>,
    ) -> Diagnostic {
        let diagnostic = self.of(name);
        match at {
            Some((file, line, column)) => {
                let place = DiagnosticLocation {
                    func: Some(name.into()),
                    ..DiagnosticLocation::of_line(Some(&file), line, column)
                };
                diagnostic.at(place).note(format!("in LLVM IR: `{instruction}`"))
            }
            None => {
                let place =
                    DiagnosticLocation { inst: Some(instruction), ..DiagnosticLocation::of_func(name) };
                diagnostic.at(place)
            }
        }
    }
}
