//! Faults: errors of a running program.

use crate::limits::LimitKind;
use heddle_ir::{Block, Inst, Module, Value};
use std::fmt;
use thiserror::Error;

/// Error of the program, its input or its schedule, with its location.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct ExecutionFault {
    /// Kind of fault.
    pub kind: FaultKind,
    /// Function in which it occurred.
    pub func: String,
    /// Block.
    pub block: Option<Block>,
    /// Instruction.
    pub inst: Option<Inst>,
    /// Text of the instruction.
    pub text: Option<String>,
    /// Lane.
    pub lane: Option<u32>,
}

/// Kind of fault.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FaultKind {
    /// A branch, predicate or assumption depends on poison in a lane that acts on it.
    #[error("control depends on {0}, which is poison")]
    ControlOnPoison(Value),
    /// A divisor is poison.
    #[error("the divisor {0} is poison")]
    PoisonDivisor(Value),
    /// A compare-and-exchange compares poison.
    #[error("it compares {0}, which is poison")]
    PoisonComparison(Value),
    /// A compare-and-exchange finds poison in memory.
    #[error("it compares what the memory holds, which is poison")]
    PoisonInMemory,
    /// An address is poison.
    #[error("the address {0} is poison")]
    PoisonAddress(Value),
    /// A size is poison.
    #[error("the size {0} is poison")]
    PoisonSize(Value),
    /// An address is outside of all objects, or the access extends past the end of one.
    #[error("{bytes} bytes at {address:#x} lie in no object{}", near.as_deref().map_or(String::new(), |near| format!(" ({near})")))]
    OutOfBounds {
        /// Address.
        address: u64,
        /// Bytes accessed.
        bytes: u64,
        /// Nearby object.
        near: Option<String>,
    },
    /// The address is less aligned than the access declares.
    #[error("the address {address:#x} is not aligned to {align}")]
    Misaligned {
        /// Address.
        address: u64,
        /// Declared alignment.
        align: u32,
    },
    /// A `dereferenceable` or `base` attribute of an access does not hold.
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
    /// A lane with a false predicate reaches a `ret` or `unreachable`.
    #[error("a lane with a false predicate ends here")]
    PassiveReturn,
    /// The entry function returns poison.
    #[error("it returns {0}, which is poison")]
    PoisonResult(Value),
    /// A limit is reached.
    #[error(
        "the limit of {value} {} is reached{}; `--{}` raises it",
        limit.unit(), if *empty { " while blocks ran with no active lane" } else { "" }, limit.option()
    )]
    Limit {
        /// Limit.
        limit: LimitKind,
        /// Its value.
        value: u64,
        /// True if the last steps, more than half of the limit, had no active lane.
        empty: bool,
    },
    /// Launches nest too deeply.
    #[error("launches nest deeper than {0}")]
    Nesting(u32),
    /// The function is neither defined nor built in.
    #[error("@{0} is only declared, and no function of these types that the interpreter knows")]
    UnknownFunction(String),
    /// A fault in a region launched by sequential code.
    #[error("in the region: {0}")]
    InRegion(Box<ExecutionFault>),
    /// An instruction that cannot run here.
    #[error("{0}")]
    Misplaced(String),
    /// Only some lanes of the group reach a barrier.
    #[error("{0}")]
    DivergentBarrier(String),
    /// The schedule asks for a block that must not run yet.
    #[error("the schedule asks for {0}, but lanes that lead to it wait elsewhere")]
    IllegalSchedule(Block),
    /// The arguments do not match the function.
    #[error("{0}")]
    Arguments(String),
}

impl ExecutionFault {
    /// Creates a fault without a block or instruction.
    pub fn new(kind: FaultKind, func: &str) -> ExecutionFault {
        ExecutionFault { kind, func: func.into(), block: None, inst: None, text: None, lane: None }
    }

    /// Returns the message, prefixed with file and line if the module has them.
    pub fn located_message(&self, module: &Module) -> String {
        let loc = module.function(&self.func).zip(self.inst).and_then(|(func, inst)| func.loc(inst));
        let file = loc.and_then(|loc| module.files.get(loc.file));
        match (loc, file) {
            (Some(loc), Some(file)) => format!("{file}:{}: {self}", loc.line),
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
