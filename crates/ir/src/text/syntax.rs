//! Syntax tree: instructions with unresolved names and literals.
//!
//! A `u32` named `token` is a token index, kept for messages and for literals that are read later.

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

/// Syntax tree of a module.
#[derive(Default, Debug)]
pub(super) struct SyntaxTree {
    pub(super) files: Vec<String>,
    pub(super) facts: Vec<Vec<MetadataOperand>>,
    pub(super) globals: Vec<GlobalItem>,
    pub(super) functions: Vec<FunctionItem>,
    /// References to files, for example `file0` in a location, still unchecked.
    pub(super) file_uses: Vec<EntityToken>,
    /// References to metadata nodes (`fact0`), still unchecked.
    pub(super) fact_uses: Vec<EntityToken>,
}

/// Number of an entity, and its token.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntityToken {
    pub(super) number: u32,
    pub(super) token: u32,
}

/// A global; `global` is none after a syntax error.
#[derive(Debug)]
pub(super) struct GlobalItem {
    pub(super) name: Arc<str>,
    pub(super) token: u32,
    pub(super) global: Option<Global>,
    /// Names that the initializer refers to.
    pub(super) uses: Vec<(Arc<str>, u32)>,
}

/// A function or declaration; `signature` is none after a syntax error in the head.
#[derive(Debug)]
pub(super) struct FunctionItem {
    pub(super) name: String,
    pub(super) token: u32,
    pub(super) kind: FunctionKind,
    pub(super) signature: Option<Signature>,
    pub(super) body: Option<BodyItem>,
}

/// Body of a function.
#[derive(Default, Debug)]
pub(super) struct BodyItem {
    pub(super) params: Vec<EntityToken>,
    pub(super) blocks: Vec<BlockItem>,
    pub(super) insts: Vec<InstItem>,
    /// Blocks that instructions refer to.
    pub(super) block_uses: Vec<EntityToken>,
    /// Upper bound of all value numbers.
    pub(super) value_bound: u32,
    /// Upper bound of all block numbers.
    pub(super) block_bound: u32,
    /// True if syntax errors left definitions out.
    pub(super) is_partial: bool,
}

/// A block.
#[derive(Debug)]
pub(super) struct BlockItem {
    pub(super) block: Block,
    pub(super) token: u32,
    pub(super) predicate: Option<OperandItem>,
    pub(super) insts: Range<usize>,
}

/// An instruction; `spec` is none after a syntax error, since only the results are known.
#[derive(Debug)]
pub(super) struct InstItem {
    pub(super) results: SmallVec<[EntityToken; 1]>,
    /// The token of the op.
    pub(super) token: u32,
    pub(super) spec: Option<Box<InstSpec>>,
}

/// Op, flags, operands and detail of an instruction.
#[derive(Debug)]
pub(super) struct InstSpec {
    pub(super) op: Op,
    pub(super) flags: Flags,
    pub(super) written: Option<Type>,
    pub(super) operands: SmallVec<[OperandItem; 3]>,
    pub(super) detail: DetailItem,
    pub(super) loc: Option<SourceLoc>,
    pub(super) tags: SmallVec<[(MetadataKind, MetadataNode); 2]>,
}

/// An operand, with its explicit type if it has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperandItem {
    pub(super) token: u32,
    pub(super) ty: Option<Type>,
    pub(super) form: OperandForm,
}

/// Form of an operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperandForm {
    /// `v7`.
    Value(u32),
    /// `@table`, at this token.
    Global(u32),
    /// A literal that starts at this token.
    Literal(u32),
}

/// Detail of an instruction before types and names are resolved.
#[derive(Debug)]
pub(super) enum DetailItem {
    Known(Detail),
    Access(AccessItem),
    Transfer([AccessItem; 2]),
    Rmw(Rmw, AccessItem),
    CompareExchange(AccessItem, AtomicOrdering),
    /// Literals of the cases, by token, and the targets.
    Switch(Vec<u32>, Vec<Block>),
    Call(u32),
    Launch {
        callee: u32,
        brush: SmallVec<[u32; 3]>,
        masked: bool,
    },
}

/// Attributes of a memory access.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct AccessItem {
    pub(super) align: Option<u32>,
    pub(super) dereferenceable: u32,
    pub(super) base: Option<OperandItem>,
    pub(super) atomic: Option<(AtomicOrdering, SyncScope)>,
}
