//! Turns stores of whole vectors into nontemporal stores.
//!
//! Requires: Stage::Wide.  Ensures: Stage::Wide.
//! Invariant: the same values are stored to the same addresses. Readers in other threads follow a fence after the code.
//!
//! A store to a cache line that is not cached first loads the line. Data that exceeds the caches and is not read again
//! soon gains nothing from that. Nontemporal stores bypass the caches; they take whole vectors at aligned addresses:
//!
//! ```text
//!     store v1, v0                v2 = is v0 a multiple of the vector's bytes, or of a line's
//!                           ──►   br v2, streamed, cached      streamed: store v1, v0 nontemporal
//! ```
//!
//! Functions with atomic accesses or fences are skipped, since nontemporal stores are not ordered with them.

use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::Detail;
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Block, Function, Inst, Module, Op, Scalar, Space, Type};

/// Size of a cache line in bytes.
const CACHE_LINE: u32 = 64;
/// Minimum size in bytes of a store that is worth an alignment check.
const MIN_BYTES: u32 = 32;

/// Makes vector stores to global memory nontemporal where they are aligned; returns their number.
pub fn stream_stores(module: &mut Module) -> usize {
    module.functions.iter_mut().map(stream_stores_of).sum()
}

fn stream_stores_of(func: &mut Function) -> usize {
    let all: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    let is_ordered = |&inst: &Inst| {
        let data = func.inst(inst);
        data.op == Op::Fence || data.access().is_some_and(|access| access.atomic.is_some())
    };
    if all.iter().any(is_ordered) {
        return 0;
    }
    let found: Vec<Inst> = all.into_iter().filter(|&inst| can_be_streamed(func, inst)).collect();
    found.iter().for_each(|&inst| stream(func, inst));
    found.len()
}

fn can_be_streamed(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let (Op::Store, &[stored, address]) = (data.op, &data.args[..]) else { return false };
    let ty = func.value_type(stored);
    let is_plain = !data.flags.has(Flag::Volatile) && !data.flags.has(Flag::Nontemporal);
    is_plain
        && ty.is_vector()
        && ty.scalar().bits() >= 32
        && ty.bytes() >= MIN_BYTES
        && ty.bytes().is_power_of_two()
        && func.value_type(address) == Type::ptr(Space::Global)
}

fn stream(func: &mut Function, inst: Inst) {
    let mut data = func.inst(inst).clone();
    let Detail::Access(mut access) = data.detail else { return };
    let align = func.value_type(data.args[0]).bytes().min(CACHE_LINE);
    let is_known = access.align >= align;
    access.align = access.align.max(align);
    data.detail = Detail::Access(access);
    data.flags = data.flags.with(Flag::Nontemporal);
    if is_known {
        *func.inst_mut(inst) = data;
        return;
    }
    let after = crate::inline::split_after(func, inst);
    let before = func.layout.block_of(inst).expect("the store stands in a block");
    let [streamed, cached]: [Block; 2] = [(); 2].map(|()| func.insert_block_after(before));
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    builder.set_origin(data.origin);
    let address = builder.op_to(Op::Ptrtoint, Scalar::I64.into(), &[data.args[1]]);
    let [mask, zero] = [i128::from(align) - 1, 0].map(|number| builder.int(Scalar::I64, number));
    let low = builder.op(Op::And, &[address, mask]);
    let is_aligned = builder.icmp(IntPredicate::Eq, low, zero);
    builder.func.layout.remove_inst(inst);
    builder.set_insert_point(InsertPoint::End(before));
    builder.branch(is_aligned, streamed, cached);
    builder.set_insert_point(InsertPoint::End(streamed));
    builder.inst(data, None);
    builder.jump(after);
    builder.set_insert_point(InsertPoint::End(cached));
    builder.jump(after);
    func.layout.prepend_inst(inst, cached);
}
