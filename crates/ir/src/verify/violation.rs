//! What is wrong with a function or module, where, and why.

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

/// The most bytes that one `alloca` may ask for.
pub const MAX_ALLOCA_BYTES: u64 = 1 << 32;

/// The most bytes that a global may have.
pub const MAX_GLOBAL_BYTES: u64 = 1 << 40;

/// Where a violation stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ViolationLocation {
    /// In the module, outside of its functions.
    Module,
    /// In the function's head.
    Function,
    /// In the head of a block.
    Block(Block),
    /// At an instruction of a block.
    Inst(Block, Inst),
}

/// One broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The function; none for the module's own violations.
    pub function: Option<Arc<str>>,
    /// Where it stands.
    pub place: ViolationLocation,
    /// What is wrong, and why.
    pub fault: ViolationKind,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(f, "@{function}: ")?;
        }
        match self.place {
            ViolationLocation::Module | ViolationLocation::Function => {}
            ViolationLocation::Block(block) => write!(f, "{block}: ")?,
            ViolationLocation::Inst(block, inst) => write!(f, "{block}: {inst}: ")?,
        }
        self.fault.fmt(f)
    }
}

/// What in a function speaks in the terms of lanes, which one thread does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum LaneConstruct {
    /// A predicate on a block.
    #[error("a predicate on a block")]
    Predicate,
    /// An instruction that passive lanes execute.
    #[error("`total`")]
    Total,
    /// What a φ gives to lanes that are elsewhere.
    #[error("`shadow`")]
    Shadow,
    /// An op that asks about lanes, or combines them though its operand is no vector.
    #[error("`{0}` on scalars")]
    Op(Op),
}

/// Why a declared or used name does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DeclarationMismatch {
    /// Function against kernel, or another work-group size.
    #[error("its kind")]
    Kind,
    /// Types, shapes or facts of parameters.
    #[error("its parameters")]
    Params,
    /// Types or shapes of results.
    #[error("its results")]
    Results,
    /// What a call may do.
    #[error("its effects")]
    Effects,
}

/// What is wrong, and why. The module's head lists the rules by stage.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ViolationKind {
    // Structure.
    /// There is no block.
    #[error("the function has no entry block")]
    NoEntry,
    /// The block is no name of this function.
    #[error("{0} is no block of this function")]
    UnknownBlock(Block),
    /// The instruction is no name of this function.
    #[error("{0} is no instruction of this function")]
    UnknownInst(Inst),
    /// Something leads to the entry.
    #[error("the entry block cannot be gone to, but {from} goes there")]
    EntryPredecessor {
        /// What goes there.
        from: Block,
    },
    /// A φ in the entry.
    #[error("the entry block has no predecessor, so there is nothing for a φ to join")]
    EntryPhi,
    /// The last instruction is no terminator, or there is none.
    #[error("the block does not end in a terminator")]
    NoTerminator,
    /// A terminator that is not the last instruction.
    #[error("`{0}` stands inside the block: a terminator is its last instruction")]
    TerminatorInside(Op),
    /// A φ behind something else.
    #[error("a φ stands at the start of its block, before everything else")]
    PhiNotAtStart,
    /// A terminator goes to a block that stands nowhere.
    #[error("it goes to {0}, which is not in the function")]
    UnplacedTarget(Block),
    /// A φ has a value for a block that does not lead here.
    #[error("it has a value for {0}, which is no predecessor")]
    PhiStranger(Block),
    /// A φ has two values for one block.
    #[error("it has more than one value for {0}")]
    PhiTwice(Block),
    /// A φ lacks a value.
    #[error("it has no value for predecessor {first}{}", and_others(*.others))]
    PhiMissing {
        /// The first predecessor without a value.
        first: Block,
        /// How many others there are.
        others: usize,
    },
    /// Two cases of a switch are alike.
    #[error("case {0} occurs more than once")]
    SwitchTwice(u128),
    /// A name that nothing in the function defines.
    #[error("{0} is not defined: no parameter, constant or placed instruction gives it")]
    Undefined(Value),
    /// The instruction's origin is not in the function's table.
    #[error("{0} is not in the function's table of origins")]
    UnknownOrigin(crate::function::Origin),

    // The head of a function.
    /// Parameters without a name.
    #[error("the signature has {expected} parameters, the function names {found}")]
    ParamCount {
        /// In the signature.
        expected: usize,
        /// Named.
        found: usize,
    },
    /// A parameter's name has another type.
    #[error("{value} is {found}, but the signature says {expected}")]
    ParamType {
        /// The parameter.
        value: Value,
        /// In the signature.
        expected: Type,
        /// The value's.
        found: Type,
    },
    /// What is said of a parameter or result makes no sense.
    #[error("{what} {index}: {reason}")]
    Signature {
        /// Parameter or result.
        what: &'static str,
        /// Which, from 0.
        index: usize,
        /// Why not.
        reason: Cow<'static, str>,
    },
    /// A kernel gives results, or its work-group is empty.
    #[error("a kernel {0}")]
    Kernel(&'static str),

    // Types and details.
    /// The ops table says no.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// The results are not what the operands give.
    #[error("it gives {}, but its results are {}", list(.expected), list(.found))]
    Results {
        /// By the ops table.
        expected: Vec<Type>,
        /// Of the names it defines.
        found: Vec<Type>,
    },
    /// `ret` does not fit the signature.
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
    /// A constant holds bits that its type has not, or an illegal number of lanes.
    #[error("constant {value}: {reason}")]
    Constant {
        /// The constant.
        value: Value,
        /// Why not.
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
    /// A fast-math flag where nothing is a float.
    #[error("`{flag}` speaks of floats, but this `{op}` has none")]
    FloatFlag {
        /// The op.
        op: Op,
        /// The flag.
        flag: Flag,
    },
    /// An alignment that is no power of two.
    #[error("an alignment is a power of two, not {0}")]
    Align(u32),
    /// A base that is no object.
    #[error("base {0} is neither an alloca, nor a pointer parameter, nor the address of a global")]
    Base(Value),
    /// An atomic operation without ordering.
    #[error("`{0}` needs an ordering and a scope")]
    NotAtomic(Op),
    /// An ordering on something that cannot be atomic.
    #[error("`{0}` cannot be atomic")]
    CannotBeAtomic(Op),
    /// An ordering that makes no sense here.
    #[error("`{op}` cannot be `{ordering}`{}", if *.on_failure { " on failure" } else { "" })]
    Ordering {
        /// The op.
        op: Op,
        /// The ordering.
        ordering: AtomicOrdering,
        /// Whether it is the ordering on failure.
        on_failure: bool,
    },
    /// An atomic access to what no machine reads at once.
    #[error("an atomic access is to a scalar of whole bytes, not to {0}")]
    AtomicType(Type),
    /// An atomic access that may straddle.
    #[error("an atomic access to {ty} is aligned to at least {}, not {align}", .ty.bytes())]
    AtomicAlign {
        /// What is accessed.
        ty: Type,
        /// The alignment it has.
        align: u32,
    },
    /// A barrier for others than a brush or a group.
    #[error("a barrier is for a brush or a group, not for `{0}`")]
    BarrierScope(SyncScope),
    /// Memory that nothing writes is written.
    #[error("memory in the constant space is never written")]
    WritesConstant,
    /// Memory promised not to change is written.
    #[error("`invariant` memory does not change: it cannot be written")]
    WritesInvariant,
    /// An alloca that is too big.
    #[error("an alloca of {0} bytes: the most is {MAX_ALLOCA_BYTES}")]
    AllocaBytes(u64),
    /// Class bits that mean nothing.
    #[error("{0} has bits beyond the ten classes of floats")]
    FloatClasses(u16),
    /// Branch weights that say nothing.
    #[error("weights belong to a branch with two targets, and one of them is not 0")]
    Weights,
    /// Launching a function that already works on vectors.
    #[error("a launched function is written for one lane: it cannot take or give {0}")]
    LaunchedVector(Type),

    // SSA.
    /// A use that the definition does not dominate.
    #[error("{value} is used where its definition{} does not dominate", in_block(*.defined_in))]
    NotDominated {
        /// The value.
        value: Value,
        /// Where it is defined, if in another block.
        defined_in: Option<Block>,
    },
    /// An incoming value that its definition does not dominate.
    #[error(
        "{value} comes from {from}, but its definition in {defined_in} does not dominate the end of that"
    )]
    IncomingNotDominated {
        /// The value.
        value: Value,
        /// The predecessor.
        from: Block,
        /// Where it is defined.
        defined_in: Block,
    },

    // Predicates.
    /// The predicate is no truth value.
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
        /// Where it is defined.
        defined_in: Block,
    },
    /// The block computes its own predicate with an instruction that is not total.
    #[error("`{op}` is not `total`, but {predicate}, the predicate of this block, is defined {}", if *.defines {
        "by it"
    } else {
        "behind it"
    })]
    PredicateBehindPassive {
        /// The op.
        op: Op,
        /// The predicate.
        predicate: Value,
        /// Whether it is the defining instruction itself.
        defines: bool,
    },

    // Stages.
    /// A vector before there are any.
    #[error("{ty} at stage {stage}: vectors and masks are for stage wide and for code that launches")]
    EarlyVector {
        /// The type.
        ty: Type,
        /// The stage.
        stage: Stage,
    },
    /// A predicate before there are any.
    #[error("a predicate on a block at stage {0}: predicates are for stage linear")]
    EarlyPredicate(Stage),
    /// Control never comes here.
    #[error("control never comes here")]
    Unreachable,
    /// A cycle with two entries.
    #[error("a cycle goes back to {to}, which does not dominate {from}: control flow is not reducible")]
    Irreducible {
        /// Where the edge leaves.
        from: Block,
        /// Where it goes.
        to: Block,
    },
    /// More than one return.
    #[error("{first} returns already: there is one `ret` in a function")]
    SecondReturn {
        /// The block of the first.
        first: Block,
    },
    /// A switch that should be branches.
    #[error("a `switch` at stage {0}: it is to be lowered to branches")]
    SwitchLeft(Stage),
    /// A loop is entered from several blocks.
    #[error("the loop is entered from {first} and from {second}: it needs one preheader")]
    Preheaders {
        /// The first.
        first: Block,
        /// Another.
        second: Block,
    },
    /// The only block that enters a loop goes elsewhere, too.
    #[error("{preheader} enters the loop, but goes to {other} as well: it is no preheader")]
    PreheaderBranches {
        /// What enters.
        preheader: Block,
        /// Where else it goes.
        other: Block,
    },
    /// A loop has several latches.
    #[error("the loop goes back from {first} and from {second}: it needs one latch")]
    Latches {
        /// The first.
        first: Block,
        /// Another.
        second: Block,
    },
    /// An exit block that others go to, too.
    #[error("the loop at {header} leaves to this block, but {from} comes here from outside of that loop")]
    SharedExit {
        /// The loop's header.
        header: Block,
        /// What comes from elsewhere.
        from: Block,
    },
    /// A value leaves its loop without a φ.
    #[error("{value} leaves the loop at {header} without a φ in an exit block")]
    NotClosed {
        /// The value.
        value: Value,
        /// The loop's header.
        header: Block,
    },
    /// Lanes are spoken of where there are none.
    #[error("{0} in code that one thread runs")]
    OneThread(LaneConstruct),
    /// A launch where none is left.
    #[error("a `launch` at stage wide: it is to be a call")]
    LateLaunch,
    /// A launch from a kernel.
    #[error("a kernel is itself launched: `launch` is for sequential code")]
    LaunchInKernel,

    // Modules.
    /// Two things of one name.
    #[error("@{0} occurs more than once")]
    NameTwice(Arc<str>),
    /// Something without a name.
    #[error("a {0} has no name")]
    NoName(&'static str),
    /// A function that is neither defined nor declared.
    #[error("@{0} is neither defined nor declared in the module")]
    UnknownFunction(Arc<str>),
    /// A caller's knowledge of its callee is wrong.
    #[error("what is known of @{name} here differs from its definition in {mismatch}")]
    Differs {
        /// The callee.
        name: Arc<str>,
        /// In what.
        mismatch: DeclarationMismatch,
    },
    /// A function that is said not to be convergent asks which lane it is, or what others do.
    #[error("`{0}` in a function that is not `convergent`")]
    Convergent(Op),
    /// The head of a declared function.
    #[error("@{name}: {fault}")]
    Declaration {
        /// The function.
        name: Arc<str>,
        /// What is wrong.
        fault: Box<ViolationKind>,
    },
    /// The address of what is not there.
    #[error("there is no global @{0}")]
    UnknownGlobal(Arc<str>),
    /// The address of a global in another space.
    #[error("@{name} lies in the {found} space, not in the {expected} space", found = .found.name(), expected = .expected.name())]
    GlobalSpace {
        /// The global.
        name: Arc<str>,
        /// The space of the address.
        expected: Space,
        /// The global's space.
        found: Space,
    },
    /// A global that cannot be.
    #[error("@{name}: {reason}")]
    Global {
        /// The global.
        name: Arc<str>,
        /// Why not.
        reason: GlobalViolationKind,
    },
    /// A source file that is not in the module's table.
    #[error("{0} is no file of this module")]
    UnknownFile(crate::module::File),
    /// Lock-step code calls sequential code that launches.
    #[error("lock-step code comes here by {}, but a launch inside of a launch has no meaning", way(.path))]
    NestedLaunch {
        /// The functions on the way, the launched one or kernel first, this one last.
        path: Vec<Arc<str>>,
    },
}

/// Why a global cannot be.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GlobalViolationKind {
    /// No power of two.
    #[error("an alignment is a power of two, not {0}")]
    Align(u32),
    /// Too big.
    #[error("a global has at most {MAX_GLOBAL_BYTES} bytes")]
    Bytes,
    /// A value has bits that its type has not.
    #[error("an initial value does not fit {0}")]
    Bits(Scalar),
    /// It holds the address of what is not there.
    #[error("there is no global @{0} to hold the address of")]
    Address(Arc<str>),
    /// It is defined elsewhere, and here as well.
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

/// Everything that is wrong with a function or module: at least one violation.
///
/// Its `Display` prints the functions, and below each line what is wrong with it. Of long functions it leaves out the
/// blocks where all is well.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{text}")]
pub struct Violations {
    list: Vec<Violation>,
    text: String,
}

impl Violations {
    pub(super) fn new(stage: Stage, list: Vec<Violation>, places: &str) -> Violations {
        let plural = if list.len() == 1 { "" } else { "s" };
        let text = format!("{} violation{plural} at stage {stage}:{places}", list.len());
        Violations { list, text }
    }

    /// The violations, function by function in the order of their places.
    pub fn as_slice(&self) -> &[Violation] {
        &self.list
    }

    /// The same, by iteration.
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
pub(super) struct Report {
    function: Arc<str>,
    pub(super) list: Vec<Violation>,
}

impl Report {
    pub(super) fn new(function: &str) -> Report {
        Report { function: function.into(), list: Vec::new() }
    }

    pub(super) fn at(&mut self, place: ViolationLocation, fault: ViolationKind) {
        self.list.push(Violation { function: Some(self.function.clone()), place, fault });
    }
}
