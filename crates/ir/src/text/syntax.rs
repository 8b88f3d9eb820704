//! What the parser makes of the tokens: instructions whose names and literals mean nothing yet.
//!
//! A `u32` named like a token is the index of one, for messages and for what is read later.

use crate::Block;
use crate::function::{MetadataKind, SourceLoc};
use crate::inst::Detail;
use crate::module::{FunctionKind, Global, MetadataNode, MetadataOperand, Signature};
use crate::ops::Op;
use crate::types::Type;
use crate::words::{AtomicOrdering, Flags, Rmw, SyncScope};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// A module as written.
#[derive(Default, Debug)]
pub(super) struct Tree {
    pub(super) files: Vec<String>,
    pub(super) facts: Vec<Vec<MetadataOperand>>,
    pub(super) globals: Vec<GlobalItem>,
    pub(super) functions: Vec<FunctionItem>,
    /// `file0` of locations, to be checked.
    pub(super) file_uses: Vec<Numbered>,
    /// `fact0` of instructions, to be checked.
    pub(super) fact_uses: Vec<Numbered>,
}

/// A number and the token that it stands in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered {
    pub(super) number: u32,
    pub(super) token: u32,
}

/// A global. Broken ones have a name only.
#[derive(Debug)]
pub(super) struct GlobalItem {
    pub(super) name: Arc<str>,
    pub(super) token: u32,
    pub(super) global: Option<Global>,
    /// The names in its contents.
    pub(super) uses: Vec<(Arc<str>, u32)>,
}

/// A function or a declaration. Where the head is broken there is no signature.
#[derive(Debug)]
pub(super) struct FunctionItem {
    pub(super) name: String,
    pub(super) token: u32,
    pub(super) kind: FunctionKind,
    pub(super) signature: Option<Signature>,
    pub(super) body: Option<Body>,
}

/// What stands between the braces.
#[derive(Default, Debug)]
pub(super) struct Body {
    pub(super) params: Vec<Numbered>,
    pub(super) blocks: Vec<BlockItem>,
    pub(super) insts: Vec<InstItem>,
    /// The blocks that instructions name.
    pub(super) block_uses: Vec<Numbered>,
    /// Above all numbers of values.
    pub(super) value_bound: u32,
    /// Above all numbers of blocks.
    pub(super) block_bound: u32,
    /// Whether definitions are missing because their lines or numbers were refused.
    pub(super) is_partial: bool,
}

/// A block.
#[derive(Debug)]
pub(super) struct BlockItem {
    pub(super) block: Block,
    pub(super) token: u32,
    pub(super) predicate: Option<Operand>,
    pub(super) insts: Range<usize>,
}

/// An instruction. Of a broken line only the results are known.
#[derive(Debug)]
pub(super) struct InstItem {
    pub(super) results: SmallVec<[Numbered; 1]>,
    /// The token of the op.
    pub(super) token: u32,
    pub(super) what: Option<Box<What>>,
}

/// What an instruction does.
#[derive(Debug)]
pub(super) struct What {
    pub(super) op: Op,
    pub(super) flags: Flags,
    pub(super) written: Option<Type>,
    pub(super) operands: SmallVec<[Operand; 3]>,
    pub(super) detail: DetailItem,
    pub(super) loc: Option<SourceLoc>,
    pub(super) tags: SmallVec<[(MetadataKind, MetadataNode); 2]>,
}

/// An operand, with its type if one is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) token: u32,
    pub(super) ty: Option<Type>,
    pub(super) what: OperandItem,
}

/// What an operand is.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperandItem {
    /// `v7`.
    Value(u32),
    /// `@table`, at this token.
    Global(u32),
    /// A literal that starts at this token.
    Literal(u32),
}

/// What refines the op, as far as it can be told without types and names.
#[derive(Debug)]
pub(super) enum DetailItem {
    Known(Detail),
    Access(AccessItem),
    Transfer([AccessItem; 2]),
    Rmw(Rmw, AccessItem),
    CompareExchange(AccessItem, AtomicOrdering),
    /// The literals of the cases, by their tokens, and the targets.
    Switch(Vec<u32>, Vec<Block>),
    Call(u32),
    Launch {
        callee: u32,
        brush: SmallVec<[u32; 3]>,
        masked: bool,
    },
}

/// The attributes of an access.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct AccessItem {
    pub(super) align: Option<u32>,
    pub(super) dereferenceable: u32,
    pub(super) base: Option<Operand>,
    pub(super) atomic: Option<(AtomicOrdering, SyncScope)>,
}
