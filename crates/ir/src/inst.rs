//! Instruction data: op, operands, detail, flags and origin. The layout holds their order.

use crate::function::{Callee, Origin};
use crate::list::EntityList;
use crate::ops::{Observed, Op};
use crate::types::Space;
use crate::words::{AtomicOrdering, Flag, Flags, FloatPredicate, IntPredicate, Reduction, Rmw, SyncScope};
use crate::{Block, Value};
use smallvec::SmallVec;

/// Operands of an instruction.
pub type Args = EntityList<Value>;
/// Blocks that an instruction refers to.
pub type BlockList = EntityList<Block>;
/// Weights of a branch's two targets. Boxed, since few branches have them.
pub type BranchWeights = Box<[u32; 2]>;

/// Data of an instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InstData {
    /// The op.
    pub op: Op,
    /// All value operands. For a φ, the incoming values, then the shadow; for a launch, the arguments, then the mask.
    pub args: Args,
    /// Immediate data of the op, in its [`InstFormat`](crate::ops::InstFormat).
    pub detail: Detail,
    /// Flags, `total` included.
    pub flags: Flags,
    /// Source location and metadata.
    pub origin: Origin,
}

/// Immediate data of an instruction: everything but op, value operands and flags.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Detail {
    /// None.
    None,
    /// For `icmp`.
    IntCompare(IntPredicate),
    /// For `fcmp`.
    FloatCompare(FloatPredicate),
    /// For a geometry query; without dimension, the linear index or total size.
    Dimension(Option<u8>),
    /// For loads, stores and other accesses of one address.
    Access(Access),
    /// For a copy: the write, then the read.
    Transfer(Box<(Access, Access)>),
    /// For `atomic_rmw`.
    Rmw(Rmw, Access),
    /// For `cmpxchg`: the access and the failure ordering.
    CompareExchange(Access, AtomicOrdering),
    /// For `fence`.
    Fence(AtomicOrdering, SyncScope),
    /// For `barrier`: the lanes that wait.
    Barrier(SyncScope),
    /// For `alloca`.
    Alloca {
        /// Size in bytes.
        bytes: u64,
        /// Alignment in bytes, a power of two.
        align: u32,
    },
    /// For `reduce`.
    Reduce(Reduction),
    /// For `scan`; an exclusive scan starts from the neutral element.
    Scan {
        /// The combining operation.
        by: Reduction,
        /// True for an exclusive scan.
        before: bool,
    },
    /// For `permute`: for each result lane, an index into the concatenation of both vectors.
    Permute(Box<[u16]>),
    /// For `fclass`: LLVM's class bits.
    FloatClass(u16),
    /// For a φ: the predecessor of each incoming value. A shadow is one more operand.
    Phi(BlockList),
    /// For `br`: targets, and weights if known.
    Branch(BlockList, Option<BranchWeights>),
    /// For `switch`.
    Switch(Box<SwitchDetail>),
    /// For `call`.
    Call(Callee),
    /// For `launch`.
    Launch(Box<LaunchDetail>),
}

/// Attributes of a memory access. The address space is in the pointer's type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Alignment of the address in bytes, a power of two.
    pub align: u32,
    /// Bytes at the address that are always safe to read.
    pub dereferenceable: u32,
    /// Object that the address points into: an alloca, a parameter or a global's address.
    pub base: Option<Value>,
    /// Ordering and scope of an atomic access.
    pub atomic: Option<(AtomicOrdering, SyncScope)>,
}

impl Access {
    /// A non-atomic access with this alignment and no other attributes.
    pub const fn aligned(align: u32) -> Access {
        Access { align, dereferenceable: 0, base: None, atomic: None }
    }
}

/// Cases and targets of a `switch`.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct SwitchDetail {
    /// Case values as bits, all different.
    pub cases: Vec<u128>,
    /// The default target, then one for each case.
    pub targets: Vec<Block>,
}

/// Callee and brush of a `launch`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LaunchDetail {
    /// The launched region.
    pub callee: Callee,
    /// Lanes along each dimension of the brush.
    pub brush: SmallVec<[u32; 3]>,
    /// True if the last operand is the mask of participating lanes.
    pub masked: bool,
}

impl LaunchDetail {
    /// Number of lanes.
    pub fn lanes(&self) -> u32 {
        self.brush.iter().fold(1, |lanes, &dim| lanes.saturating_mul(dim))
    }
}

impl InstData {
    /// Creates an instruction without detail, flags or origin.
    pub fn plain(op: Op, args: impl IntoIterator<Item = Value>) -> InstData {
        InstData::new(op, args, Detail::None)
    }

    /// Creates an instruction without flags or origin.
    pub fn new(op: Op, args: impl IntoIterator<Item = Value>, detail: Detail) -> InstData {
        InstData { op, args: args.into_iter().collect(), detail, flags: Flags::NONE, origin: Origin::NONE }
    }

    /// Creates `br target`.
    pub fn jump(target: Block) -> InstData {
        InstData::new(Op::Br, [], Detail::Branch([target].into(), None))
    }

    /// Creates `br condition, then, otherwise`.
    pub fn branch(condition: Value, then: Block, otherwise: Block) -> InstData {
        InstData::new(Op::Br, [condition], Detail::Branch([then, otherwise].into(), None))
    }

    /// Creates `phi [block: value] …`, with an optional shadow.
    pub fn phi(incoming: impl IntoIterator<Item = (Block, Value)>, shadow: Option<Value>) -> InstData {
        let (blocks, mut args): (BlockList, Args) = incoming.into_iter().unzip();
        args.extend(shadow);
        InstData::new(Op::Phi, args, Detail::Phi(blocks))
    }

    /// True if all lanes execute it, active or not.
    pub fn is_total(&self) -> bool {
        self.flags.has(Flag::Total)
    }

    /// Sets the `total` flag.
    #[must_use]
    pub fn total(mut self) -> InstData {
        self.flags = self.flags.with(Flag::Total);
        self
    }

    /// Successors of a terminator, in order; empty for other instructions.
    pub fn targets(&self) -> &[Block] {
        match &self.detail {
            Detail::Branch(targets, _) => targets,
            Detail::Switch(switch) => &switch.targets,
            _ => &[],
        }
    }

    /// Successors of a terminator, mutably.
    pub fn targets_mut(&mut self) -> &mut [Block] {
        match &mut self.detail {
            Detail::Branch(targets, _) => targets,
            Detail::Switch(switch) => &mut switch.targets,
            _ => &mut [],
        }
    }

    /// Incoming edges of a φ: predecessor and value. Empty for other instructions.
    pub fn incoming(&self) -> impl DoubleEndedIterator<Item = (Block, Value)> + ExactSizeIterator + '_ {
        let blocks: &[Block] = match &self.detail {
            Detail::Phi(blocks) => blocks,
            _ => &[],
        };
        blocks.iter().copied().zip(self.args.iter().copied())
    }

    /// The value that a φ takes from a predecessor.
    pub fn incoming_from(&self, pred: Block) -> Option<Value> {
        self.incoming().find(|&(from, _)| from == pred).map(|(_, value)| value)
    }

    /// The φ's value in lanes that do not enter its block.
    pub fn shadow(&self) -> Option<Value> {
        match &self.detail {
            Detail::Phi(blocks) => self.args.get(blocks.len()).copied(),
            _ => None,
        }
    }

    /// The access of a memory operation; for a copy, the write.
    pub fn access(&self) -> Option<&Access> {
        self.accesses().next()
    }

    /// The accesses of a memory operation; for a copy, the write, then the read.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
        let [first, second] = match &self.detail {
            Detail::Access(access) | Detail::Rmw(_, access) | Detail::CompareExchange(access, _) => {
                [Some(access), None]
            }
            Detail::Transfer(both) => [Some(&both.0), Some(&both.1)],
            _ => [None, None],
        };
        first.into_iter().chain(second)
    }

    /// The accesses, which may change.
    pub fn accesses_mut(&mut self) -> impl Iterator<Item = &mut Access> {
        let [first, second] = match &mut self.detail {
            Detail::Access(access) | Detail::Rmw(_, access) | Detail::CompareExchange(access, _) => {
                [Some(access), None]
            }
            Detail::Transfer(both) => [Some(&mut both.0), Some(&mut both.1)],
            _ => [None, None],
        };
        first.into_iter().chain(second)
    }

    /// True if other lanes, brushes or devices observe the order of this access: it is atomic or volatile.
    pub fn is_ordered(&self) -> bool {
        self.flags.has(Flag::Volatile) || self.access().is_some_and(|access| access.atomic.is_some())
    }

    /// True if the instruction observes this, by its op, its scope or the attributes of its access.
    pub fn observes(&self, what: Observed) -> bool {
        match (what, &self.detail) {
            (Observed::Progress, Detail::Barrier(scope)) => *scope != SyncScope::Lane,
            (Observed::Lanes, Detail::Barrier(scope)) => *scope == SyncScope::Brush,
            (Observed::Order, _) => self.op.observes(what) || self.is_ordered(),
            _ => self.op.observes(what),
        }
    }

    /// The address of a memory operation; for a copy, the destination.
    pub fn address(&self) -> Option<Value> {
        let index = match self.op {
            Op::Store | Op::MaskedStore | Op::Scatter => 1,
            Op::Load
            | Op::MaskedLoad
            | Op::Gather
            | Op::AtomicRmw
            | Op::CompareExchange
            | Op::Memset
            | Op::Memcpy
            | Op::Memmove => 0,
            _ => return None,
        };
        self.args.get(index).copied()
    }

    /// Replaces every value that the instruction refers to, hints included.
    pub fn map_values(&mut self, mut map: impl FnMut(Value) -> Value) {
        for arg in &mut self.args {
            *arg = map(*arg);
        }
        for access in self.accesses_mut() {
            access.base = access.base.map(&mut map);
        }
    }
}

/// Address space of an `alloca`'s result.
pub(crate) const ALLOCA_SPACE: Space = Space::Private;
