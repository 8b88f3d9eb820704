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
    /// The outer loop of a nest holds no loop or several.
    NotOneInnerLoop(usize),
    /// The outer loop of a nest has an effect outside of the inner one.
    OutsideOfInnerLoop,
    /// A level of a nest gives a value to what follows it.
    ReductionInNest,
}

impl SpreadRefusal {
    fn text(self) -> String {
        match self {
            SpreadRefusal::NotOneLoop(count) => format!("function with {count} outermost loops"),
            SpreadRefusal::NotCanonical => "loop without a preheader, or with several latches".into(),
            SpreadRefusal::Exits(count) => {
                format!("the loop has {count} exits, and no iteration after the one that leaves may run")
            }
            SpreadRefusal::LeftInTheMiddle => "the loop exits in the middle of an iteration".into(),
            SpreadRefusal::NoCount => "the trip count of the loop is not known before it runs".into(),
            SpreadRefusal::Recurrence => "the loop carries a value from one iteration to the next".into(),
            SpreadRefusal::PartialResult => {
                "a reduction's value before the last iteration is read after the loop".into()
            }
            SpreadRefusal::NotOneInnerLoop(count) => {
                format!("the outer loop of the nest holds {count} loops")
            }
            SpreadRefusal::OutsideOfInnerLoop => {
                "the outer loop of the nest has an effect outside of the inner one".into()
            }
            SpreadRefusal::ReductionInNest => {
                "a level of the nest computes a value for what follows it".into()
            }
        }
    }

    const fn help(self) -> &'static str {
        match self {
            SpreadRefusal::NotOneLoop(_) => "move one loop into a function of its own",
            SpreadRefusal::NotCanonical => "run `canonicalize` first",
            SpreadRefusal::Exits(_) => "let the loop run to its end and store what it found",
            SpreadRefusal::LeftInTheMiddle => "test at the end of iterations, and once before the loop",
            SpreadRefusal::NoCount => {
                "count iterations by a constant step, up to a bound that does not change"
            }
            SpreadRefusal::Recurrence => "if it is a reduction, use it for nothing else in the loop",
            SpreadRefusal::PartialResult => "read the final value",
            SpreadRefusal::NotOneInnerLoop(_) => "let the outer loop hold the inner one alone",
            SpreadRefusal::OutsideOfInnerLoop => "write in the inner loop, or in a nest of its own",
            SpreadRefusal::ReductionInNest => "store the value in the inner loop",
        }
    }
}

/// Returns the diagnostic, at an instruction if one is to blame.
pub(super) fn refuse(func: &Function, inst: Option<Inst>, reason: SpreadRefusal) -> Diagnostic {
    let diagnostic = Diagnostic::error(Code::MarkedLoop, reason.text()).help(reason.help());
    match inst {
        Some(inst) => diagnostic.at(DiagnosticLocation::line_of(func, inst)),
        None => diagnostic.of_func(&func.name),
    }
}
