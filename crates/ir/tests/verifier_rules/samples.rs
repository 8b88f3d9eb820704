//! Valid functions, and edits of them.

use heddle_ir::inst::{Access, LaunchDetail};
use heddle_ir::module::{DeclaredShape, Signature};
use heddle_ir::words::{AtomicOrdering, IntPredicate, Reduction, Rmw, SyncScope};
use heddle_ir::{
    Block, Builder, Detail, Function, InsertPoint, Inst, InstData, Op, Scalar, Space, Type, Value,
};
use smallvec::smallvec;
use std::sync::Arc;

pub(crate) const GLOBAL: Type = Type::ptr(Space::Global);
pub(crate) const V4: Type = Type::Vector(Scalar::I32, 4);

pub(crate) fn block(number: u32) -> Block {
    Block::from_u32(number)
}

/// The instruction at this index of a block.
pub(crate) fn inst(func: &Function, number: u32, index: usize) -> Inst {
    func.block_insts(block(number)).nth(index).unwrap()
}

pub(crate) fn result(func: &Function, number: u32, index: usize) -> Value {
    func.results(inst(func, number, index))[0]
}

pub(crate) fn data(func: &mut Function, number: u32, index: usize) -> &mut InstData {
    let inst = inst(func, number, index);
    func.inst_mut(inst)
}

pub(crate) fn int(func: &mut Function, value: i128) -> Value {
    func.make_int(Scalar::I32, value)
}

/// Inserts an instruction before the one at this index.
pub(crate) fn put(
    func: &mut Function,
    number: u32,
    index: usize,
    data: InstData,
    written: Option<Type>,
) -> Inst {
    let next = inst(func, number, index);
    Builder::new(func, InsertPoint::Before(next)).inst(data, written)
}

pub(crate) fn access(op: Op, args: &[Value], access: Access) -> InstData {
    InstData::new(op, args.iter().copied(), Detail::Access(access))
}

pub(crate) fn atomic(align: u32, ordering: AtomicOrdering) -> Access {
    Access { atomic: Some((ordering, SyncScope::Device)), ..Access::aligned(align) }
}

/// A loop around an `if`, in canonical form:
///
///     block0 -> block1 -> block2 -> block3 -> block4, block1 -> block3, block3 -> block1
pub(crate) fn looping() -> Function {
    let mut func = Function::new("f", Signature::new(&[GLOBAL, Type::I32, Type::I1], &[Type::I32]));
    let &[pointer, limit, flag] = func.params() else { unreachable!() };
    let blocks: Vec<Block> = (0..5).map(|_| func.append_block()).collect();
    let one = int(&mut func, 1);
    let mut b = Builder::new(&mut func, InsertPoint::End(blocks[0]));
    let start = b.load(Type::I32, pointer, 4);
    b.jump(blocks[1]);
    b.set_insert_point(InsertPoint::End(blocks[1]));
    let counter = b.phi(Type::I32, &[(blocks[0], start), (blocks[3], start)], None);
    let next = b.op(Op::Add, &[counter, one]);
    b.branch(flag, blocks[2], blocks[3]);
    b.set_insert_point(InsertPoint::End(blocks[2]));
    let more = b.op(Op::Add, &[next, limit]);
    b.jump(blocks[3]);
    b.set_insert_point(InsertPoint::End(blocks[3]));
    let joined = b.phi(Type::I32, &[(blocks[1], next), (blocks[2], more)], None);
    let again = b.icmp(IntPredicate::Ult, joined, limit);
    b.branch(again, blocks[1], blocks[4]);
    b.set_insert_point(InsertPoint::End(blocks[4]));
    let out = b.phi(Type::I32, &[(blocks[3], joined)], None);
    b.store(out, pointer, 4);
    b.ret(&[out]);
    data(&mut func, 1, 0).args[1] = joined;
    func
}

/// Predicated straight code; block1 computes its own predicate:
///
///     block0 -> block1 [v4]: -> block2 [v2]: -> block3
pub(crate) fn predicated() -> Function {
    let mut func = Function::new("f", Signature::new(&[GLOBAL, Type::I32, Type::I1], &[]));
    let &[pointer, number, flag] = func.params() else { unreachable!() };
    let blocks: Vec<Block> = (0..4).map(|_| func.append_block()).collect();
    let no = func.make_bool(false);
    let mut b = Builder::new(&mut func, InsertPoint::End(blocks[0]));
    b.jump(blocks[1]);
    b.set_insert_point(InsertPoint::End(blocks[1]));
    b.phi(Type::I32, &[(blocks[0], number)], None);
    let not = b.inst(InstData::plain(Op::Xor, [flag, flag]).total(), None);
    let not = b.func.results(not)[0];
    let mine = b.inst(InstData::plain(Op::Select, [flag, not, no]).total(), None);
    let mine = b.func.results(mine)[0];
    b.op(Op::Add, &[number, number]);
    b.jump(blocks[2]);
    b.set_insert_point(InsertPoint::End(blocks[2]));
    b.store(number, pointer, 4);
    b.jump(blocks[3]);
    b.set_insert_point(InsertPoint::End(blocks[3]));
    b.ret(&[]);
    func.set_predicate(blocks[1], Some(mine));
    func.set_predicate(blocks[2], Some(flag));
    func
}

/// Sequential code that launches.
pub(crate) fn launching() -> Function {
    let region = region();
    let mut func = Function::new("main", Signature::new(&[GLOBAL, Type::I32, Type::mask(4)], &[Type::I32]));
    let &[pointer, number, mask] = func.params() else { unreachable!() };
    let callee = func.make_callee(&Arc::new(region.declaration()));
    let entry = func.append_block();
    let mut b = Builder::new(&mut func, InsertPoint::End(entry));
    let all = b.op_to(Op::Splat, V4, &[number]);
    let launch = LaunchDetail { callee, brush: smallvec![2, 2], masked: true };
    let lanes =
        b.value(InstData::new(Op::Launch, [pointer, all, mask], Detail::Launch(Box::new(launch))), None);
    let sum = b.value(InstData::new(Op::Reduce, [lanes], Detail::Reduce(Reduction::Add)), None);
    b.ret(&[sum]);
    func
}

/// The region that `launching` launches.
pub(crate) fn region() -> Function {
    let mut signature = Signature::new(&[GLOBAL, Type::I32], &[Type::I32]);
    signature.params[0].shape = Some(DeclaredShape::Uniform);
    let mut func = Function::new("region", signature);
    let &[pointer, number] = func.params() else { unreachable!() };
    let entry = func.append_block();
    let mut b = Builder::new(&mut func, InsertPoint::End(entry));
    let sum = b.value(InstData::new(Op::Reduce, [number], Detail::Reduce(Reduction::Add)), None);
    b.store(sum, pointer, 4);
    b.ret(&[sum]);
    func
}

/// Vector code of one thread.
pub(crate) fn wide() -> Function {
    let mut func = Function::new("f.w4", Signature::new(&[GLOBAL, V4], &[]));
    let &[pointer, vector] = func.params() else { unreachable!() };
    let entry = func.append_block();
    let mut b = Builder::new(&mut func, InsertPoint::End(entry));
    let twice = b.op(Op::Add, &[vector, vector]);
    b.value(InstData::new(Op::Reduce, [twice], Detail::Reduce(Reduction::Add)), None);
    b.store(twice, pointer, 16);
    b.ret(&[]);
    func
}

/// Memory accesses of every kind.
pub(crate) fn touching() -> Function {
    let constant = Type::ptr(Space::Constant);
    let mut func = Function::new("f", Signature::new(&[GLOBAL, constant, Type::I32, Type::I64], &[]));
    let &[pointer, table, number, size] = func.params() else { unreachable!() };
    let entry = func.append_block();
    let byte = func.make_int(Scalar::I8, 7);
    let mut b = Builder::new(&mut func, InsertPoint::End(entry));
    let object = b.value(InstData::new(Op::Alloca, [], Detail::Alloca { bytes: 16, align: 8 }), None); // 0
    b.load(Type::I32, table, 4); // 1
    b.store(number, object, 4); // 2
    let both = Box::new((Access::aligned(4), Access::aligned(8)));
    b.inst(InstData::new(Op::Memcpy, [pointer, table, size], Detail::Transfer(both)), None); // 3
    b.inst(access(Op::Memset, &[pointer, byte, size], Access::aligned(1)), None); // 4
    let rmw = Detail::Rmw(Rmw::Add, atomic(4, AtomicOrdering::Relaxed));
    b.inst(InstData::new(Op::AtomicRmw, [pointer, number], rmw), None); // 5
    let exchange = Detail::CompareExchange(atomic(4, AtomicOrdering::AcqRel), AtomicOrdering::Acquire);
    b.inst(InstData::new(Op::CompareExchange, [pointer, number, number], exchange), None); // 6
    b.inst(InstData::new(Op::Fence, [], Detail::Fence(AtomicOrdering::SeqCst, SyncScope::System)), None); // 7
    b.inst(InstData::new(Op::Barrier, [], Detail::Barrier(SyncScope::Group)), None); // 8
    b.inst(access(Op::Load, &[pointer], atomic(4, AtomicOrdering::Acquire)), Some(Type::I32)); // 9
    b.inst(access(Op::Store, &[number, pointer], atomic(4, AtomicOrdering::Release)), None); // 10
    b.ret(&[]); // 11
    func
}

/// The access of the instruction at this index of the entry block.
pub(crate) fn touch(func: &mut Function, index: usize) -> &mut Access {
    match &mut data(func, 0, index).detail {
        Detail::Access(access) | Detail::Rmw(_, access) | Detail::CompareExchange(access, _) => access,
        Detail::Transfer(both) => &mut both.1,
        Detail::Alloca { .. } => panic!("an alloca touches nothing"),
        _ => panic!("no access"),
    }
}

/// Appends a block that ends in this instruction.
pub(crate) fn append(func: &mut Function, data: InstData) -> Block {
    let new = func.append_block();
    let inst = func.make_inst(data, &[]);
    func.layout.append_inst(inst, new);
    new
}

/// Puts a new block on all edges from one block to another, φs included.
pub(crate) fn split(func: &mut Function, from: u32, to: u32) -> Block {
    let new = append(func, InstData::jump(block(to)));
    let last = func.terminator(block(from)).unwrap();
    for target in func.inst_mut(last).targets_mut() {
        if *target == block(to) {
            *target = new;
        }
    }
    let phis: Vec<Inst> = func.phis(block(to)).collect();
    for phi in phis {
        if let Detail::Phi(blocks) = &mut func.inst_mut(phi).detail {
            blocks.iter_mut().filter(|pred| **pred == block(from)).for_each(|pred| *pred = new);
        }
    }
    new
}

/// Adds an edge: turns a block's jump into a branch on the flag; φs get their first value for it.
pub(crate) fn add_edge(func: &mut Function, from: u32, to: u32) {
    let flag = func.params()[2];
    let last = func.terminator(block(from)).unwrap();
    let before = func.inst(last).targets()[0];
    *func.inst_mut(last) = InstData::branch(flag, before, block(to));
    let phis: Vec<Inst> = func.phis(block(to)).collect();
    for phi in phis {
        let value = func.params()[1];
        let data = func.inst_mut(phi);
        if let Detail::Phi(blocks) = &mut data.detail {
            data.args.insert(blocks.len(), value);
            blocks.push(block(from));
        }
    }
}
