//! Violations of the verifier's rules: kind, location and message.

use super::Stage;
use crate::ops::Op;
use crate::types::{MAX_LANES, Scalar, Space, Type};
use crate::typing::TypeError;
use crate::words::{AtomicOrdering, Flag, SyncScope};
use crate::{Block, Inst, Value};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Maximum size of an `alloca` in bytes.
pub const MAX_ALLOCA_BYTES: u64 = 1 << 32;

/// Maximum size of a global in bytes.
pub const MAX_GLOBAL_BYTES: u64 = 1 << 40;

/// Location of a violation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ViolationLocation {
    /// The module, outside of its functions.
    Module,
    /// The function's head.
    Function,
    /// The head of a block.
    Block(Block),
    /// An instruction of a block.
    Inst(Block, Inst),
}

/// A violated rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The function; none for violations of the module itself.
    pub function: Option<Arc<str>>,
    /// The location.
    pub location: ViolationLocation,
    /// The violated rule, with its details.
    pub kind: ViolationKind,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(f, "@{function}: ")?;
        }
        match self.location {
            ViolationLocation::Module | ViolationLocation::Function => {}
            ViolationLocation::Block(block) => write!(f, "{block}: ")?,
            ViolationLocation::Inst(block, inst) => write!(f, "{block}: {inst}: ")?,
        }
        self.kind.fmt(f)
    }
}

/// Construct that refers to lanes, in code that one thread executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum LaneConstruct {
    /// A predicate on a block.
    #[error("a predicate on a block")]
    Predicate,
    /// An instruction that inactive lanes execute.
    #[error("`total`")]
    Total,
    /// A φ's value for lanes that do not enter.
    #[error("`shadow`")]
    Shadow,
    /// An op that queries lanes, or combines them with a scalar operand.
    #[error("`{0}` on scalars")]
    Op(Op),
}

/// Difference between a declaration and its definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DeclarationMismatch {
    /// Function or kernel, or the work-group size.
    #[error("its kind")]
    Kind,
    /// Types, shapes or attributes of parameters.
    #[error("its parameters")]
    Params,
    /// Types or shapes of results.
    #[error("its results")]
    Results,
    /// Side effects of a call.
    #[error("its effects")]
    Effects,
}

/// Kind of a violation. The verifier's module head lists the rules by stage.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ViolationKind {
    // Structure.
    /// The function has no block.
    #[error("the function has no entry block")]
    NoEntry,
    /// The block number is out of range.
    #[error("{0} is not a block of this function")]
    UnknownBlock(Block),
    /// The instruction number is out of range.
    #[error("{0} is not an instruction of this function")]
    UnknownInst(Inst),
    /// The entry has a predecessor.
    #[error("branch from {from} to the entry block")]
    EntryPredecessor {
        /// The predecessor.
        from: Block,
    },
    /// A φ in the entry.
    #[error("φ in the entry block, which has no predecessor")]
    EntryPhi,
    /// The last instruction is no terminator, or there is none.
    #[error("the block does not end in a terminator")]
    NoTerminator,
    /// A terminator that is not the last instruction.
    #[error("`{0}` stands inside the block: a terminator is its last instruction")]
    TerminatorInside(Op),
    /// A φ after another instruction.
    #[error("a φ stands at the start of its block, before everything else")]
    PhiNotAtStart,
    /// A target that is not in the layout.
    #[error("branch to {0}, which is not in the function")]
    UnplacedTarget(Block),
    /// A φ with a value for a block that is no predecessor.
    #[error("it has a value for {0}, which is not a predecessor")]
    PhiStranger(Block),
    /// A φ with two values for one block.
    #[error("it has more than one value for {0}")]
    PhiTwice(Block),
    /// A φ without a value for a predecessor.
    #[error("it has no value for predecessor {first}{}", and_others(*.others))]
    PhiMissing {
        /// The first predecessor without a value.
        first: Block,
        /// Number of further predecessors without a value.
        others: usize,
    },
    /// Equal cases of a switch.
    #[error("case {0} occurs more than once")]
    SwitchTwice(u128),
    /// A value without definition.
    #[error("{0} is not defined by a parameter, a constant or an instruction in a block")]
    Undefined(Value),
    /// The instruction's origin is not in the function's table.
    #[error("{0} is not in the function's table of origins")]
    UnknownOrigin(crate::function::Origin),

    // The head of a function.
    /// The numbers of parameters in the signature and in the function differ.
    #[error("the signature has {expected} parameters, the function names {found}")]
    ParamCount {
        /// In the signature.
        expected: usize,
        /// Defined in the function.
        found: usize,
    },
    /// A parameter's value has another type than the signature's.
    #[error("{value} is {found}, but the signature says {expected}")]
    ParamType {
        /// The parameter.
        value: Value,
        /// In the signature.
        expected: Type,
        /// The value's.
        found: Type,
    },
    /// Invalid attribute of a parameter or result.
    #[error("{what} {index}: {reason}")]
    Signature {
        /// Parameter or result.
        what: &'static str,
        /// Its index, from 0.
        index: usize,
        /// Reason.
        reason: Cow<'static, str>,
    },
    /// A kernel with results or with an empty work-group.
    #[error("a kernel {0}")]
    Kernel(&'static str),

    // Types and details.
    /// The instruction is ill-typed.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// The results differ from those that typing computes.
    #[error("the terminator returns {}, but the results are {}", list(.expected), list(.found))]
    Results {
        /// By the ops table.
        expected: Vec<Type>,
        /// Of the values that it defines.
        found: Vec<Type>,
    },
    /// The operands of `ret` do not match the signature.
    #[error("the function returns {}, not {}", list(.expected), list(.found))]
    Return {
        /// By the signature.
        expected: Vec<Type>,
        /// By the operands.
        found: Vec<Type>,
    },
    /// A vector without lanes or with too many.
    #[error("{0} has no legal number of lanes: a vector has 1 to {MAX_LANES}")]
    Lanes(Type),
    /// A constant with excess bits or an illegal number of lanes.
    #[error("constant {value}: {reason}")]
    Constant {
        /// The constant.
        value: Value,
        /// Reason.
        reason: Cow<'static, str>,
    },
    /// A flag that the op does not take.
    #[error("`{op}` does not take the flag `{flag}`")]
    Flag {
        /// The op.
        op: Op,
        /// The flag.
        flag: Flag,
    },
    /// A fast-math flag without a float among operands and results.
    #[error("flag `{flag}` applies to floats, but this `{op}` has none")]
    FloatFlag {
        /// The op.
        op: Op,
        /// The flag.
        flag: Flag,
    },
    /// An alignment that is no power of two.
    #[error("an alignment is a power of two, not {0}")]
    Align(u32),
    /// A base that is not an object.
    #[error("base {0} is neither an alloca, nor a pointer parameter, nor the address of a global")]
    Base(Value),
    /// An atomic operation without ordering.
    #[error("`{0}` needs an ordering and a scope")]
    NotAtomic(Op),
    /// An ordering on something that cannot be atomic.
    #[error("`{0}` cannot be atomic")]
    CannotBeAtomic(Op),
    /// An ordering that the op does not allow.
    #[error("`{op}` cannot be `{ordering}`{}", if *.on_failure { " on failure" } else { "" })]
    Ordering {
        /// The op.
        op: Op,
        /// The ordering.
        ordering: AtomicOrdering,
        /// True if it is the ordering on failure.
        on_failure: bool,
    },
    /// An atomic access to an unsuitable type.
    #[error("an atomic access is to a scalar of whole bytes, not to {0}")]
    AtomicType(Type),
    /// An underaligned atomic access.
    #[error("an atomic access to {ty} is aligned to at least {}, not {align}", .ty.bytes())]
    AtomicAlign {
        /// The accessed type.
        ty: Type,
        /// The alignment.
        align: u32,
    },
    /// A barrier of a scope other than brush and group.
    #[error("a barrier is for a brush or a group, not for `{0}`")]
    BarrierScope(SyncScope),
    /// A write to the constant space.
    #[error("memory in the constant space is never written")]
    WritesConstant,
    /// A write to memory promised not to change.
    #[error("`invariant` memory does not change: it cannot be written")]
    WritesInvariant,
    /// An alloca above the maximum size.
    #[error("an alloca of {0} bytes: the most is {MAX_ALLOCA_BYTES}")]
    AllocaBytes(u64),
    /// Undefined class bits.
    #[error("{0} has bits beyond the ten classes of floats")]
    FloatClasses(u16),
    /// Branch weights without two targets, or both 0.
    #[error("weights belong to a branch with two targets, and one of them is not 0")]
    Weights,
    /// A launch of a function with vectors in its signature.
    #[error("a launched function is written for one lane: it cannot take or give {0}")]
    LaunchedVector(Type),

    // SSA.
    /// A use that the definition does not dominate.
    #[error("{value} is used where its definition{} does not dominate", in_block(*.defined_in))]
    NotDominated {
        /// The value.
        value: Value,
        /// The defining block, if it is another one.
        defined_in: Option<Block>,
    },
    /// An incoming value whose definition does not dominate the end of the predecessor.
    #[error(
        "{value} comes from {from}, but its definition in {defined_in} does not dominate the end of that"
    )]
    IncomingNotDominated {
        /// The value.
        value: Value,
        /// The predecessor.
        from: Block,
        /// The defining block.
        defined_in: Block,
    },

    // Predicates.
    /// A predicate that is not an `i1`.
    #[error("predicate {value} is {found}, not i1")]
    PredicateType {
        /// The predicate.
        value: Value,
        /// Its type.
        found: Type,
    },
    /// The predicate's definition does not dominate the block.
    #[error("predicate {value} is defined in {defined_in}, which does not dominate the block")]
    PredicateNotDominated {
        /// The predicate.
        value: Value,
        /// The defining block.
        defined_in: Block,
    },
    /// An instruction that is not total, in a block that computes its own predicate after it.
    #[error("`{op}` is not `total`, but {predicate}, the predicate of this block, is defined {}", if *.defines {
        "by it"
    } else {
        "after it"
    })]
    PredicateBehindPassive {
        /// The op.
        op: Op,
        /// The predicate.
        predicate: Value,
        /// True if the instruction itself defines the predicate.
        defines: bool,
    },

    // Stages.
    /// A vector before stage Wide.
    #[error("{ty} at stage {stage}: vectors and masks belong to stage wide and to code that launches")]
    EarlyVector {
        /// The type.
        ty: Type,
        /// The stage.
        stage: Stage,
    },
    /// A predicate before stage Linear.
    #[error("a predicate on a block at stage {0}: predicates belong to stage linear")]
    EarlyPredicate(Stage),
    /// An unreachable block.
    #[error("unreachable block")]
    Unreachable,
    /// A retreating edge whose target does not dominate its source.
    #[error("irreducible control flow: the back edge to {to} starts at {from}, which {to} does not dominate")]
    Irreducible {
        /// Source of the edge.
        from: Block,
        /// Target of the edge.
        to: Block,
    },
    /// More than one `ret`.
    #[error("{first} returns already: a function has one `ret`")]
    SecondReturn {
        /// The block of the first one.
        first: Block,
    },
    /// A switch after stage Source.
    #[error("a `switch` at stage {0}: lower it to branches")]
    SwitchLeft(Stage),
    /// A loop with several entering blocks.
    #[error("the loop has two entering edges, from {first} and {second}: it needs one preheader")]
    Preheaders {
        /// The first.
        first: Block,
        /// Another.
        second: Block,
    },
    /// The entering block of a loop has another successor.
    #[error("{preheader} enters the loop, but also branches to {other}: it is not a preheader")]
    PreheaderBranches {
        /// The entering block.
        preheader: Block,
        /// The other successor.
        other: Block,
    },
    /// A loop with several latches.
    #[error("the loop has two back edges, from {first} and {second}: it needs one latch")]
    Latches {
        /// The first.
        first: Block,
        /// Another.
        second: Block,
    },
    /// An exit block with predecessors outside of the loop.
    #[error("exit of the loop at {header} with an edge from {from}, outside of the loop")]
    SharedExit {
        /// The loop's header.
        header: Block,
        /// The predecessor outside.
        from: Block,
    },
    /// A value that leaves its loop without a φ (LCSSA).
    #[error("{value} leaves the loop at {header} without a φ in an exit block")]
    NotClosed {
        /// The value.
        value: Value,
        /// The loop's header.
        header: Block,
    },
    /// A construct for lanes in code that one thread executes.
    #[error("{0} in code that one thread runs")]
    OneThread(LaneConstruct),
    /// A launch at stage Wide.
    #[error("a `launch` at stage wide: it must be a call")]
    LateLaunch,
    /// A launch in a kernel.
    #[error("a kernel is itself launched: `launch` is for sequential code")]
    LaunchInKernel,

    // Modules.
    /// A name that occurs more than once.
    #[error("@{0} occurs more than once")]
    NameTwice(Arc<str>),
    /// An item without a name.
    #[error("a {0} has no name")]
    NoName(&'static str),
    /// A function that is neither defined nor declared.
    #[error("@{0} is neither defined nor declared in the module")]
    UnknownFunction(Arc<str>),
    /// A caller's declaration that differs from the definition.
    #[error("declaration of @{name} differs from its definition in {mismatch}")]
    Differs {
        /// The callee.
        name: Arc<str>,
        /// The difference.
        mismatch: DeclarationMismatch,
    },
    /// A query of the lane's index or of other lanes, in a function that is not convergent.
    #[error("`{0}` in a function that is not `convergent`")]
    Convergent(Op),
    /// A violation in the head of a declared function.
    #[error("@{name}: {fault}")]
    Declaration {
        /// The function.
        name: Arc<str>,
        /// The violation.
        fault: Box<ViolationKind>,
    },
    /// The address of an unknown global.
    #[error("no global @{0}")]
    UnknownGlobal(Arc<str>),
    /// The address of a global in another space than the global's.
    #[error("@{name} is in the {found} space, not in the {expected} space", found = .found.name(), expected = .expected.name())]
    GlobalSpace {
        /// The global.
        name: Arc<str>,
        /// The space of the address.
        expected: Space,
        /// The global's space.
        found: Space,
    },
    /// An invalid global.
    #[error("@{name}: {reason}")]
    Global {
        /// The global.
        name: Arc<str>,
        /// Reason.
        reason: GlobalViolationKind,
    },
    /// A source file that is not in the module's table.
    #[error("{0} is not a file of this module")]
    UnknownFile(crate::module::File),
    /// Lock-step code that reaches a launch through calls.
    #[error("lock-step code reaches this by {}, but launches do not nest", way(.path))]
    NestedLaunch {
        /// The call chain: the kernel or launched function first, this function last.
        path: Vec<Arc<str>>,
    },
}

/// Kind of an invalid global.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GlobalViolationKind {
    /// An alignment that is not a power of two.
    #[error("an alignment is a power of two, not {0}")]
    Align(u32),
    /// A size above the maximum.
    #[error("a global has at most {MAX_GLOBAL_BYTES} bytes")]
    Bytes,
    /// A value with excess bits.
    #[error("an initial value does not fit {0}")]
    Bits(Scalar),
    /// The address of an unknown global.
    #[error("no global @{0} to hold the address of")]
    Address(Arc<str>),
    /// `extern` together with other contents.
    #[error("`extern` stands alone: what another module defines has no contents here")]
    Extern,
}

fn and_others(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " (nor for 1 other)".into(),
        _ => format!(" (nor for {count} others)"),
    }
}

fn in_block(block: Option<Block>) -> String {
    block.map_or(String::new(), |block| format!(" in {block}"))
}

fn list(types: &[Type]) -> String {
    match types {
        [] => "nothing".into(),
        types => types.iter().map(Type::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn way(names: &[Arc<str>]) -> String {
    names.iter().map(|name| format!("@{name}")).collect::<Vec<_>>().join(" -> ")
}

/// All violations of a function or module: at least one.
///
/// `Display` prints the functions, with each violation below its line. It elides valid blocks of long functions.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{text}")]
pub struct Violations {
    list: Vec<Violation>,
    text: String,
}

impl Violations {
    pub(super) fn new(stage: Stage, list: Vec<Violation>, locations: &str) -> Violations {
        let plural = if list.len() == 1 { "" } else { "s" };
        let text = format!("{} violation{plural} at stage {stage}:{locations}", list.len());
        Violations { list, text }
    }

    /// The violations, function by function, in layout order.
    pub fn as_slice(&self) -> &[Violation] {
        &self.list
    }

    /// Iterates over the violations, in the same order.
    pub fn iter(&self) -> std::slice::Iter<'_, Violation> {
        self.list.iter()
    }
}

impl<'a> IntoIterator for &'a Violations {
    type Item = &'a Violation;
    type IntoIter = std::slice::Iter<'a, Violation>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Collects the violations of one function.
pub(super) struct ViolationSink {
    function: Arc<str>,
    pub(super) list: Vec<Violation>,
}

impl ViolationSink {
    pub(super) fn new(function: &str) -> ViolationSink {
        ViolationSink { function: function.into(), list: Vec::new() }
    }

    pub(super) fn at(&mut self, location: ViolationLocation, kind: ViolationKind) {
        self.list.push(Violation { function: Some(self.function.clone()), location, kind });
    }
}
