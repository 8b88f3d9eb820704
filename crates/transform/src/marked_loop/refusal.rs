//! Diagnostics for loops that cannot be spread over lanes.

use heddle_ir::diagnostic::{Code, Diagnostic, DiagnosticLocation};
use heddle_ir::{Function, Inst};

/// Reason why a loop cannot be spread over lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SpreadRefusal {
    /// The function has no outermost loop or several.
    NotOneLoop(usize),
    /// The loop lacks a preheader or a unique latch.
    NotCanonical,
    /// The loop has several exits or none.
    Exits(usize),
    /// The exit is not at the latch, so the last iteration is incomplete.
    LeftInTheMiddle,
    /// The trip count cannot be computed in advance.
    NoCount,
    /// An iteration depends on a value of the previous one.
    Recurrence,
    /// A live-out is a reduction's value before the last iteration.
    PartialResult,
}

impl SpreadRefusal {
    fn text(self) -> String {
        match self {
            SpreadRefusal::NotOneLoop(count) => format!("the function has {count} outermost loops"),
            SpreadRefusal::NotCanonical => "the loop has no preheader, or several latches".into(),
            SpreadRefusal::Exits(count) => {
                format!(
                    "the loop is left in {count} ways, and no iteration behind the one that leaves may run"
                )
            }
            SpreadRefusal::LeftInTheMiddle => "the loop is left in the middle of an iteration".into(),
            SpreadRefusal::NoCount => "the trip count of the loop is not known before it runs".into(),
            SpreadRefusal::Recurrence => "the loop carries a value from one iteration to the next".into(),
            SpreadRefusal::PartialResult => {
                "a reduction is used behind the loop as it was before the last iteration".into()
            }
        }
    }

    const fn help(self) -> &'static str {
        match self {
            SpreadRefusal::NotOneLoop(_) => "take one loop out into a function of its own",
            SpreadRefusal::NotCanonical => "run `canonicalize` before",
            SpreadRefusal::Exits(_) => "let it run on, and remember what was found",
            SpreadRefusal::LeftInTheMiddle => "test at the end of iterations, and once in front of the loop",
            SpreadRefusal::NoCount => "count iterations by a constant step, up to a bound that stays",
            SpreadRefusal::Recurrence => "if it is a sum or the like, use it for nothing else in the loop",
            SpreadRefusal::PartialResult => "use the whole of it",
        }
    }
}

/// Returns the diagnostic, at an instruction if one is to blame.
pub(super) fn refuse(func: &Function, inst: Option<Inst>, reason: SpreadRefusal) -> Diagnostic {
    let told = Diagnostic::error(Code::MarkedLoop, reason.text()).help(reason.help());
    match inst {
        Some(inst) => told.at(DiagnosticLocation::line_of(func, inst)),
        None => told.of_func(&func.name),
    }
}
