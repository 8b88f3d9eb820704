//! What an instruction is, apart from where it stands.

use crate::function::{Callee, Origin};
use crate::list::List;
use crate::ops::Op;
use crate::types::Space;
use crate::words::{AtomicOrdering, Flag, Flags, FloatPredicate, IntPredicate, Reduction, Rmw, SyncScope};
use crate::{Block, Value};
use smallvec::SmallVec;

/// The operands of an instruction.
pub type Args = List<Value>;
/// The blocks that an instruction names.
pub type BlockList = List<Block>;
/// How often each of the two targets of a branch is taken. Few branches know, so this is thin.
pub type BranchWeights = Box<[u32; 2]>;

/// An instruction: op, operands, what refines the op, what it promises, where it came from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InstData {
    /// What it does.
    pub op: Op,
    /// All value operands. Of a φ the incoming values, then the shadow; of a launch the arguments, then the mask.
    pub args: Args,
    /// What refines the op, as its [`Format`](crate::ops::Format) says.
    pub detail: Detail,
    /// What it promises, and whether it is `total`.
    pub flags: Flags,
    /// Where it came from.
    pub origin: Origin,
}

/// What refines an op.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Detail {
    /// Nothing.
    None,
    /// Of `icmp`.
    IntCompare(IntPredicate),
    /// Of `fcmp`.
    FloatCompare(FloatPredicate),
    /// Of a geometry query; none asks for the linear index or the whole.
    Dimension(Option<u8>),
    /// Of a load, a store and their kin.
    Access(Access),
    /// Of a copy: how it writes, how it reads.
    Transfer(Box<(Access, Access)>),
    /// Of `atomic_rmw`.
    Rmw(Rmw, Access),
    /// Of `cmpxchg`: ordering on failure beside that of the access.
    CompareExchange(Access, AtomicOrdering),
    /// Of `fence`.
    Fence(AtomicOrdering, SyncScope),
    /// Of `barrier`: which lanes wait.
    Barrier(SyncScope),
    /// Of `alloca`.
    Alloca {
        /// Size in bytes.
        bytes: u64,
        /// Alignment in bytes, a power of two.
        align: u32,
    },
    /// Of `reduce`.
    Reduce(Reduction),
    /// Of `scan`; `before` leaves out the lane itself and starts from the neutral element.
    Scan {
        /// How lanes combine.
        by: Reduction,
        /// Whether the lane itself is left out.
        before: bool,
    },
    /// Of `permute`: an index into both vectors side by side for each lane of the result.
    Permute(Box<[u16]>),
    /// Of `fclass`: LLVM's class bits.
    FloatClass(u16),
    /// Of a φ: the predecessor of each incoming value; a shadow is one more operand.
    Phi(BlockList),
    /// Of `br`: its targets, and how often each is taken, if known.
    Branch(BlockList, Option<BranchWeights>),
    /// Of `switch`.
    Switch(Box<SwitchDetail>),
    /// Of `call`.
    Call(Callee),
    /// Of `launch`.
    Launch(Box<LaunchDetail>),
}

/// How a memory operation touches memory. The space is in the pointer's type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Alignment of the address in bytes, a power of two.
    pub align: u32,
    /// Bytes from the address on that may be read whatever the program does.
    pub dereferenceable: u32,
    /// The object that the address points into: an alloca, a parameter or a global's address.
    pub base: Option<Value>,
    /// How an atomic access orders others; none if it is not atomic.
    pub atomic: Option<(AtomicOrdering, SyncScope)>,
}

impl Access {
    /// A plain access with this alignment and nothing else known.
    pub const fn aligned(align: u32) -> Access {
        Access { align, dereferenceable: 0, base: None, atomic: None }
    }
}

/// The cases of a `switch`.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct SwitchDetail {
    /// The bits of each case, all different.
    pub cases: Vec<u128>,
    /// The default block, then one for each case.
    pub targets: Vec<Block>,
}

/// The geometry of a `launch`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LaunchDetail {
    /// The region.
    pub callee: Callee,
    /// Lanes along each dimension of the brush.
    pub brush: SmallVec<[u32; 3]>,
    /// Whether the last operand is the mask of the lanes that take part.
    pub masked: bool,
}

impl LaunchDetail {
    /// The number of lanes.
    pub fn lanes(&self) -> u32 {
        self.brush.iter().fold(1, |lanes, &dim| lanes.saturating_mul(dim))
    }
}

impl InstData {
    /// An instruction without detail, flags or origin.
    pub fn plain(op: Op, args: impl IntoIterator<Item = Value>) -> InstData {
        InstData::new(op, args, Detail::None)
    }

    /// An instruction without flags or origin.
    pub fn new(op: Op, args: impl IntoIterator<Item = Value>, detail: Detail) -> InstData {
        InstData { op, args: args.into_iter().collect(), detail, flags: Flags::NONE, origin: Origin::NONE }
    }

    /// `br target`.
    pub fn jump(target: Block) -> InstData {
        InstData::new(Op::Br, [], Detail::Branch([target].into(), None))
    }

    /// `br condition, then, otherwise`.
    pub fn branch(condition: Value, then: Block, otherwise: Block) -> InstData {
        InstData::new(Op::Br, [condition], Detail::Branch([then, otherwise].into(), None))
    }

    /// `phi [block: value] …`, with a shadow if there is one.
    pub fn phi(incoming: impl IntoIterator<Item = (Block, Value)>, shadow: Option<Value>) -> InstData {
        let (blocks, mut args): (BlockList, Args) = incoming.into_iter().unzip();
        args.extend(shadow);
        InstData::new(Op::Phi, args, Detail::Phi(blocks))
    }

    /// Whether all lanes execute it, active or not.
    pub fn is_total(&self) -> bool {
        self.flags.has(Flag::Total)
    }

    /// The same instruction, `total`.
    #[must_use]
    pub fn total(mut self) -> InstData {
        self.flags = self.flags.with(Flag::Total);
        self
    }

    /// The blocks that control may go to next, in order; empty unless this is a terminator.
    pub fn targets(&self) -> &[Block] {
        match &self.detail {
            Detail::Branch(targets, _) => targets,
            Detail::Switch(switch) => &switch.targets,
            _ => &[],
        }
    }

    /// The same, to change them.
    pub fn targets_mut(&mut self) -> &mut [Block] {
        match &mut self.detail {
            Detail::Branch(targets, _) => targets,
            Detail::Switch(switch) => &mut switch.targets,
            _ => &mut [],
        }
    }

    /// The incoming edges of a φ: predecessor and value. Empty for anything else.
    pub fn incoming(&self) -> impl DoubleEndedIterator<Item = (Block, Value)> + ExactSizeIterator + '_ {
        let blocks: &[Block] = match &self.detail {
            Detail::Phi(blocks) => blocks,
            _ => &[],
        };
        blocks.iter().copied().zip(self.args.iter().copied())
    }

    /// What a φ gives to lanes that do not enter its block.
    pub fn shadow(&self) -> Option<Value> {
        match &self.detail {
            Detail::Phi(blocks) => self.args.get(blocks.len()).copied(),
            _ => None,
        }
    }

    /// The access of a memory operation (of a copy the writing one).
    pub fn access(&self) -> Option<&Access> {
        match &self.detail {
            Detail::Access(access) | Detail::Rmw(_, access) | Detail::CompareExchange(access, _) => {
                Some(access)
            }
            Detail::Transfer(both) => Some(&both.0),
            _ => None,
        }
    }

    /// The address that a memory operation touches (of a copy the one written).
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

    /// Replaces every value that the instruction names, hints included.
    pub fn map_values(&mut self, mut map: impl FnMut(Value) -> Value) {
        for arg in &mut self.args {
            *arg = map(*arg);
        }
        let mut map_base = |access: &mut Access| access.base = access.base.map(&mut map);
        match &mut self.detail {
            Detail::Access(access) | Detail::Rmw(_, access) | Detail::CompareExchange(access, _) => {
                map_base(access);
            }
            Detail::Transfer(both) => {
                map_base(&mut both.0);
                map_base(&mut both.1);
            }
            _ => {}
        }
    }
}

/// The private space's result type of `alloca`.
pub(crate) const ALLOCA_SPACE: Space = Space::Private;
