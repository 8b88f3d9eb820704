//! What can go wrong when a program runs.

use crate::limits::LimitKind;
use heddle_ir::{Block, Inst, Module, Value};
use std::fmt;
use thiserror::Error;

/// An error of the program, its input or its schedule, with its place.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct ExecutionFault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The function in which it happened.
    pub func: String,
    /// The block.
    pub block: Option<Block>,
    /// The instruction.
    pub inst: Option<Inst>,
    /// The text of the instruction.
    pub text: Option<String>,
    /// The lane.
    pub lane: Option<u32>,
}

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FaultKind {
    /// A branch, a predicate or an assumption depends on ⊤ in a lane that would act on it.
    #[error("control depends on {0}, which is poison")]
    ControlOnPoison(Value),
    /// A divisor is ⊤.
    #[error("the divisor {0} is poison")]
    PoisonDivisor(Value),
    /// A compare-and-exchange compares ⊤.
    #[error("it compares {0}, which is poison")]
    PoisonComparison(Value),
    /// A compare-and-exchange finds ⊤ in memory.
    #[error("it compares what the memory holds, which is poison")]
    PoisonInMemory,
    /// An address is ⊤.
    #[error("the address {0} is poison")]
    PoisonAddress(Value),
    /// A size is ⊤.
    #[error("the size {0} is poison")]
    PoisonSize(Value),
    /// An address lies in no object, or the access reaches beyond it.
    #[error("{bytes} bytes at {address:#x} lie in no object{}", near.as_deref().map_or(String::new(), |near| format!(" ({near})")))]
    OutOfBounds {
        /// The address.
        address: u64,
        /// The size of the access.
        bytes: u64,
        /// What lies there.
        near: Option<String>,
    },
    /// The address is not aligned as the access says.
    #[error("the address {address:#x} is not aligned to {align}")]
    Misaligned {
        /// The address.
        address: u64,
        /// The alignment that the access promises.
        align: u32,
    },
    /// The access promises bytes that are not there, or a base that is not the object.
    #[error("the access promises {0}, which does not hold")]
    BrokenPromise(&'static str),
    /// A write to constant memory.
    #[error("constant memory is never written")]
    WriteToConstant,
    /// The regions of a copy overlap.
    #[error("the two regions of the copy overlap")]
    OverlappingCopy,
    /// A division has no result.
    #[error("{0}")]
    Trap(#[from] crate::scalar::Trap),
    /// An assumption does not hold.
    #[error("the assumption does not hold")]
    BrokenAssumption,
    /// `unreachable` was reached.
    #[error("`unreachable` is reached")]
    Unreachable,
    /// A lane with a false predicate is at a `ret` or `unreachable`.
    #[error("a lane with a false predicate ends here")]
    PassiveReturn,
    /// The function returns ⊤.
    #[error("it returns {0}, which is poison")]
    PoisonResult(Value),
    /// A limit is reached.
    #[error(
        "the limit of {value} {} is reached{}; `--{}` raises it",
        limit.unit(), if *empty { " while blocks ran with no active lane" } else { "" }, limit.option()
    )]
    Limit {
        /// Which one.
        limit: LimitKind,
        /// Its value.
        value: u64,
        /// Whether the last steps had no active lane.
        empty: bool,
    },
    /// Launches nest too deeply.
    #[error("launches nest deeper than {0}")]
    Nesting(u32),
    /// The function is not known.
    #[error("@{0} is only declared, and no function of these types that the interpreter knows")]
    UnknownFunction(String),
    /// A fault in a region that sequential code launches.
    #[error("in the region: {0}")]
    InRegion(Box<ExecutionFault>),
    /// An instruction that cannot run here.
    #[error("{0}")]
    Misplaced(String),
    /// Some lanes of the group wait at a barrier that others do not reach.
    #[error("{0}")]
    DivergentBarrier(String),
    /// A block is scheduled that may not be.
    #[error("the schedule asks for {0}, but lanes that lead to it wait elsewhere")]
    IllegalSchedule(Block),
    /// The arguments do not fit the function.
    #[error("{0}")]
    Arguments(String),
}

impl ExecutionFault {
    /// A fault without a place.
    pub fn new(kind: FaultKind, func: &str) -> ExecutionFault {
        ExecutionFault { kind, func: func.into(), block: None, inst: None, text: None, lane: None }
    }

    /// The message, behind file and line of the source where the module that ran tells them.
    pub fn told(&self, module: &Module) -> String {
        let place = module.function(&self.func).zip(self.inst).and_then(|(func, inst)| func.loc(inst));
        let file = place.and_then(|place| module.files.get(place.file));
        match (place, file) {
            (Some(place), Some(file)) => format!("{file}:{}: {self}", place.line),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for ExecutionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in @{}", self.func)?;
        if let Some(block) = self.block {
            write!(f, ", {block}")?;
        }
        match (&self.text, self.inst) {
            (Some(text), _) => write!(f, ", `{text}`")?,
            (None, Some(inst)) => write!(f, ", {inst}")?,
            (None, None) => {}
        }
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        write!(f, ": {}", self.kind)
    }
}
