//! One broken rule at a time: the function before the edit verifies, the one after it has exactly these faults.

use heddle_ir::entity::Entity as _;
use heddle_ir::function::{Callee, Loc, Origin, OriginData};
use heddle_ir::inst::{Access, Launch, Switch};
use heddle_ir::module::{Declaration, DeclaredShape, Effects, File, Global, Init, Kind, Param, Signature};
use heddle_ir::verify::{Fault, Place, verify, verify_module};
use heddle_ir::words::{Flag, Ordering, Reduction, Rmw, Scope};
use heddle_ir::{
    At, Block, Builder, Constant, Detail, Function, Inst, InstData, Module, Op, Scalar, Space, Stage, Type,
    Value,
};
use smallvec::smallvec;
use std::collections::BTreeSet;
use std::sync::Arc;

const GLOBAL: Type = Type::ptr(Space::Global);
const V4: Type = Type::Vector(Scalar::I32, 4);

fn block(number: u32) -> Block {
    Block::from_u32(number)
}

/// The instruction at this place of a block.
fn inst(func: &Function, number: u32, index: usize) -> Inst {
    func.block_insts(block(number)).nth(index).unwrap()
}

fn result(func: &Function, number: u32, index: usize) -> Value {
    func.results(inst(func, number, index))[0]
}

fn data(func: &mut Function, number: u32, index: usize) -> &mut InstData {
    let inst = inst(func, number, index);
    func.inst_mut(inst)
}

fn int(func: &mut Function, value: i128) -> Value {
    func.make_int(Scalar::I32, value)
}

/// Puts an instruction before the one at this place.
fn put(func: &mut Function, number: u32, index: usize, data: InstData, written: Option<Type>) -> Inst {
    let next = inst(func, number, index);
    Builder::new(func, At::Before(next)).inst(data, written)
}

fn access(op: Op, args: &[Value], access: Access) -> InstData {
    InstData::new(op, args.iter().copied(), Detail::Access(access))
}

fn atomic(align: u32, ordering: Ordering) -> Access {
    Access { atomic: Some((ordering, Scope::Device)), ..Access::aligned(align) }
}

/// A loop around an `if`, in canonical form:
///
///     block0 -> block1 -> block2 -> block3 -> block4, block1 -> block3, block3 -> block1
fn looping() -> Function {
    let mut func = Function::new("f", Signature::new(&[GLOBAL, Type::I32, Type::I1], &[Type::I32]));
    let &[pointer, limit, flag] = func.params() else { unreachable!() };
    let blocks: Vec<Block> = (0..5).map(|_| func.append_block()).collect();
    let one = int(&mut func, 1);
    let mut b = Builder::new(&mut func, At::End(blocks[0]));
    let start = b.load(Type::I32, pointer, 4);
    b.jump(blocks[1]);
    b.go(At::End(blocks[1]));
    let counter = b.phi(Type::I32, &[(blocks[0], start), (blocks[3], start)], None);
    let next = b.op(Op::Add, &[counter, one]);
    b.branch(flag, blocks[2], blocks[3]);
    b.go(At::End(blocks[2]));
    let more = b.op(Op::Add, &[next, limit]);
    b.jump(blocks[3]);
    b.go(At::End(blocks[3]));
    let joined = b.phi(Type::I32, &[(blocks[1], next), (blocks[2], more)], None);
    let again = b.icmp(heddle_ir::words::IntPredicate::Ult, joined, limit);
    b.branch(again, blocks[1], blocks[4]);
    b.go(At::End(blocks[4]));
    let out = b.phi(Type::I32, &[(blocks[3], joined)], None);
    b.store(out, pointer, 4);
    b.ret(&[out]);
    data(&mut func, 1, 0).args[1] = joined;
    func
}

/// Predicated straight code; block1 computes its own predicate:
///
///     block0 -> block1 [v4]: -> block2 [v2]: -> block3
fn predicated() -> Function {
    let mut func = Function::new("f", Signature::new(&[GLOBAL, Type::I32, Type::I1], &[]));
    let &[pointer, number, flag] = func.params() else { unreachable!() };
    let blocks: Vec<Block> = (0..4).map(|_| func.append_block()).collect();
    let no = func.make_bool(false);
    let mut b = Builder::new(&mut func, At::End(blocks[0]));
    b.jump(blocks[1]);
    b.go(At::End(blocks[1]));
    b.phi(Type::I32, &[(blocks[0], number)], None);
    let not = b.inst(InstData::plain(Op::Xor, [flag, flag]).total(), None);
    let not = b.func.results(not)[0];
    let mine = b.inst(InstData::plain(Op::Select, [flag, not, no]).total(), None);
    let mine = b.func.results(mine)[0];
    b.op(Op::Add, &[number, number]);
    b.jump(blocks[2]);
    b.go(At::End(blocks[2]));
    b.store(number, pointer, 4);
    b.jump(blocks[3]);
    b.go(At::End(blocks[3]));
    b.ret(&[]);
    func.set_predicate(blocks[1], Some(mine));
    func.set_predicate(blocks[2], Some(flag));
    func
}

/// Sequential code that launches.
fn launching() -> Function {
    let region = region();
    let mut func = Function::new("main", Signature::new(&[GLOBAL, Type::I32, Type::mask(4)], &[Type::I32]));
    let &[pointer, number, mask] = func.params() else { unreachable!() };
    let callee = func.make_callee(&Arc::new(region.declaration()));
    let entry = func.append_block();
    let mut b = Builder::new(&mut func, At::End(entry));
    let all = b.op_to(Op::Splat, V4, &[number]);
    let launch = Launch { callee, brush: smallvec![2, 2], masked: true };
    let lanes =
        b.value(InstData::new(Op::Launch, [pointer, all, mask], Detail::Launch(Box::new(launch))), None);
    let sum = b.value(InstData::new(Op::Reduce, [lanes], Detail::Reduce(Reduction::Add)), None);
    b.ret(&[sum]);
    func
}

/// What `launching` launches.
fn region() -> Function {
    let mut signature = Signature::new(&[GLOBAL, Type::I32], &[Type::I32]);
    signature.params[0].shape = Some(DeclaredShape::Uniform);
    let mut func = Function::new("region", signature);
    let &[pointer, number] = func.params() else { unreachable!() };
    let entry = func.append_block();
    let mut b = Builder::new(&mut func, At::End(entry));
    let sum = b.value(InstData::new(Op::Reduce, [number], Detail::Reduce(Reduction::Add)), None);
    b.store(sum, pointer, 4);
    b.ret(&[sum]);
    func
}

/// Vector code of one thread.
fn wide() -> Function {
    let mut func = Function::new("f.w4", Signature::new(&[GLOBAL, V4], &[]));
    let &[pointer, vector] = func.params() else { unreachable!() };
    let entry = func.append_block();
    let mut b = Builder::new(&mut func, At::End(entry));
    let twice = b.op(Op::Add, &[vector, vector]);
    b.value(InstData::new(Op::Reduce, [twice], Detail::Reduce(Reduction::Add)), None);
    b.store(twice, pointer, 16);
    b.ret(&[]);
    func
}

/// Memory of every kind.
fn touching() -> Function {
    let constant = Type::ptr(Space::Constant);
    let mut func = Function::new("f", Signature::new(&[GLOBAL, constant, Type::I32, Type::I64], &[]));
    let &[pointer, table, number, size] = func.params() else { unreachable!() };
    let entry = func.append_block();
    let byte = func.make_int(Scalar::I8, 7);
    let mut b = Builder::new(&mut func, At::End(entry));
    let object = b.value(InstData::new(Op::Alloca, [], Detail::Alloca { bytes: 16, align: 8 }), None); // 0
    b.load(Type::I32, table, 4); // 1
    b.store(number, object, 4); // 2
    let both = Box::new((Access::aligned(4), Access::aligned(8)));
    b.inst(InstData::new(Op::Memcpy, [pointer, table, size], Detail::Transfer(both)), None); // 3
    b.inst(access(Op::Memset, &[pointer, byte, size], Access::aligned(1)), None); // 4
    let rmw = Detail::Rmw(Rmw::Add, atomic(4, Ordering::Relaxed));
    b.inst(InstData::new(Op::AtomicRmw, [pointer, number], rmw), None); // 5
    let exchange = Detail::CompareExchange(atomic(4, Ordering::AcqRel), Ordering::Acquire);
    b.inst(InstData::new(Op::CompareExchange, [pointer, number, number], exchange), None); // 6
    b.inst(InstData::new(Op::Fence, [], Detail::Fence(Ordering::SeqCst, Scope::System)), None); // 7
    b.inst(InstData::new(Op::Barrier, [], Detail::Barrier(Scope::Group)), None); // 8
    b.inst(access(Op::Load, &[pointer], atomic(4, Ordering::Acquire)), Some(Type::I32)); // 9
    b.inst(access(Op::Store, &[number, pointer], atomic(4, Ordering::Release)), None); // 10
    b.ret(&[]); // 11
    func
}

/// The access of the instruction at this place of the entry block.
fn touch(func: &mut Function, index: usize) -> &mut Access {
    match &mut data(func, 0, index).detail {
        Detail::Access(access) | Detail::Rmw(_, access) | Detail::CompareExchange(access, _) => access,
        Detail::Transfer(both) => &mut both.1,
        Detail::Alloca { .. } => panic!("an alloca touches nothing"),
        _ => panic!("no access"),
    }
}

/// Appends a block that ends in this, whatever that is.
fn append(func: &mut Function, data: InstData) -> Block {
    let new = func.append_block();
    let inst = func.make_inst(data, &[]);
    func.layout.append_inst(inst, new);
    new
}

/// Puts a new block on all edges from one block to another, φs included.
fn split(func: &mut Function, from: u32, to: u32) -> Block {
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

/// Adds a way from a block to another: its jump becomes a branch on the flag; φs get their first value.
fn add_edge(func: &mut Function, from: u32, to: u32) {
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

struct Case {
    faults: &'static [&'static str],
    stage: Stage,
    good: fn() -> Function,
    edit: fn(&mut Function),
}

use Stage::{Canonical, Linear, Source, Uniform, Wide};

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Structure.
    Case { faults: &["NoEntry"], stage: Source, good: looping, edit: |f| {
        for number in 0..5 { f.remove_block(block(number)) }
    } },
    Case { faults: &["UnknownBlock"], stage: Source, good: looping, edit: |f| {
        f.layout.append_block(block(9));
        let inst = f.make_inst(InstData::plain(Op::Unreachable, []), &[]);
        f.layout.append_inst(inst, block(9));
    } },
    Case { faults: &["UnknownInst"], stage: Source, good: looping, edit: |f| {
        f.layout.prepend_inst(Inst::from_u32(99), block(2));
    } },
    Case { faults: &["UnknownInst", "NoTerminator"], stage: Source, good: looping, edit: |f| {
        let last = f.terminator(block(4)).unwrap();
        f.remove_inst(last);
        f.layout.append_inst(Inst::from_u32(99), block(4));
        let more = f.append_block();
        f.layout.append_inst(Inst::from_u32(98), more);
    } },
    Case { faults: &["EntryPredecessor"], stage: Source, good: looping, edit: |f| {
        append(f, InstData::jump(block(0)));
    } },
    Case { faults: &["EntryPhi"], stage: Source, good: looping, edit: |f| {
        let phi = f.make_inst(InstData::phi([], None), &[Type::I32]);
        f.layout.prepend_inst(phi, block(0));
    } },
    Case { faults: &["NoTerminator"], stage: Source, good: looping, edit: |f| { f.append_block(); } },
    Case { faults: &["NoTerminator"], stage: Source, good: looping, edit: |f| {
        let last = f.terminator(block(4)).unwrap();
        f.remove_inst(last);
    } },
    Case { faults: &["TerminatorInside"], stage: Source, good: looping, edit: |f| {
        put(f, 2, 0, InstData::jump(block(3)), None);
    } },
    Case { faults: &["PhiNotAtStart"], stage: Source, good: looping, edit: |f| {
        let add = inst(f, 1, 1);
        let limit = f.params()[1];
        let phi = f.make_inst(InstData::phi([(block(0), limit), (block(3), limit)], None), &[Type::I32]);
        f.layout.insert_inst_after(phi, add);
    } },
    Case { faults: &["UnplacedTarget"], stage: Source, good: looping, edit: |f| {
        let nowhere = f.new_block();
        let flag = f.params()[2];
        *data(f, 2, 1) = InstData::branch(flag, block(3), nowhere);
    } },
    Case { faults: &["PhiMissing", "UnplacedTarget"], stage: Source, good: looping, edit: |f| {
        let last = f.terminator(block(4)).unwrap();
        f.remove_inst(last);
        let (flag, far) = (f.params()[2], Block::from_u32(u32::MAX - 1));
        let last = f.make_inst(InstData::branch(flag, far, block(3)), &[]);
        f.layout.append_inst(last, block(4));
    } },
    Case { faults: &["PhiStranger"], stage: Source, good: looping, edit: |f| {
        let value = f.params()[1];
        *data(f, 4, 0) = InstData::phi([(block(3), value), (block(1), value)], None);
    } },
    Case { faults: &["PhiTwice"], stage: Source, good: looping, edit: |f| {
        let value = f.params()[1];
        *data(f, 4, 0) = InstData::phi([(block(3), value), (block(3), value)], None);
    } },
    Case { faults: &["PhiMissing"], stage: Source, good: looping, edit: |f| {
        *data(f, 1, 0) = InstData::phi([], None);
    } },
    Case { faults: &["PhiMissing"], stage: Source, good: looping, edit: |f| {
        append(f, InstData::jump(block(4)));     // an unreachable predecessor counts, too
    } },
    Case { faults: &["SwitchTwice"], stage: Source, good: || {
        let mut f = looping();
        let number = f.params()[1];
        let switch = Switch { cases: vec![3, 4], targets: vec![block(1), block(1), block(1)] };
        *data(&mut f, 0, 1) = InstData::new(Op::Switch, [number], Detail::Switch(Box::new(switch)));
        f
    }, edit: |f| {
        if let Detail::Switch(switch) = &mut data(f, 0, 1).detail { switch.cases[1] = 3 }
    } },
    Case { faults: &["Undefined"], stage: Source, good: looping, edit: |f| {
        data(f, 2, 0).args[1] = Value::from_u32(4_000_000);
    } },
    Case { faults: &["Undefined"], stage: Source, good: looping, edit: |f| {
        let dead = inst(f, 1, 1);
        f.remove_inst(dead);
    } },
    Case { faults: &["Undefined"], stage: Source, good: looping, edit: |f| {
        let unplaced = inst(f, 1, 1);
        f.layout.remove_inst(unplaced);
    } },
    Case { faults: &["Undefined"], stage: Source, good: touching, edit: |f| {
        touch(f, 9).base = Some(Value::from_u32(77));
    } },
    Case { faults: &["UnknownOrigin"], stage: Source, good: || {
        let mut f = looping();
        let known = f.make_origin(OriginData { loc: Some(Loc { file: File::from_u32(0), line: 1, column: 0 }), ..OriginData::default() });
        data(&mut f, 2, 0).origin = known;
        f
    }, edit: |f| data(f, 2, 0).origin = Origin::from_u32(2) },

    // The head.
    Case { faults: &["ParamCount"], stage: Source, good: looping, edit: |f| {
        f.signature.params.push(Param::new(Type::I32));
    } },
    Case { faults: &["ParamType"], stage: Source, good: looping, edit: |f| f.signature.params[1].ty = Type::I64 },
    Case { faults: &["Signature"], stage: Source, good: looping, edit: |f| f.signature.params[0].align = 3 },
    Case { faults: &["Signature"], stage: Source, good: looping, edit: |f| f.signature.params[1].noalias = true },
    Case { faults: &["Signature"], stage: Source, good: looping, edit: |f| {
        f.signature.params[1].shape = Some(DeclaredShape::Linear(smallvec![1, 2, 3, 4, 5]));
    } },
    Case { faults: &["Signature"], stage: Source, good: || {
        let mut f = looping();
        f.signature.params[0].dereferenceable = 8;
        f
    }, edit: |f| {
        f.signature.results[0].shape = Some(DeclaredShape::Linear(smallvec![1, 2, 3, 4, 5]));
    } },
    Case { faults: &["Signature", "Return"], stage: Source, good: looping, edit: |f| {
        f.signature.results[0] = heddle_ir::module::Returned {
            ty: Type::F32, shape: Some(DeclaredShape::Linear(smallvec![1])),
        };
    } },
    Case { faults: &["Signature"], stage: Wide, good: wide, edit: |f| {
        *f = Function::new("f", Signature::new(&[Type::Vector(Scalar::I8, 513)], &[]));
        append(f, InstData::plain(Op::Unreachable, []));
    } },
    Case { faults: &["Kernel"], stage: Source, good: looping, edit: |f| f.kind = Kind::Kernel(None) },
    Case { faults: &["Kernel"], stage: Source, good: || {
        let mut f = predicated();
        f.kind = Kind::Kernel(Some([8, 1, 1]));
        f
    }, edit: |f| f.kind = Kind::Kernel(Some([8, 0, 1])) },

    // Types and details.
    Case { faults: &["Type"], stage: Source, good: looping, edit: |f| data(f, 2, 0).args[1] = f.params()[0] },
    Case { faults: &["Type"], stage: Source, good: looping, edit: |f| data(f, 2, 0).args.truncate(1) },
    Case { faults: &["Type"], stage: Source, good: looping, edit: |f| {
        data(f, 2, 0).detail = Detail::Dimension(Some(7));
    } },
    Case { faults: &["Type"], stage: Source, good: looping, edit: |f| {
        data(f, 2, 0).detail = Detail::Branch([block(77)].into(), None);
    } },
    Case { faults: &["Type"], stage: Source, good: looping, edit: |f| {
        *data(f, 2, 0) = InstData::new(Op::Call, [], Detail::Call(Callee::from_u32(3)));
    } },
    Case { faults: &["Results"], stage: Source, good: looping, edit: |f| {
        *data(f, 2, 0) = InstData::plain(Op::Ctpop, [f.params()[2]]);
    } },
    Case { faults: &["Results"], stage: Source, good: looping, edit: |f| {
        let add = InstData::plain(Op::Add, [f.params()[1], f.params()[1]]);
        let add = f.make_inst(add, &[]);
        f.layout.prepend_inst(add, block(2));
    } },
    Case { faults: &["Return"], stage: Source, good: looping, edit: |f| {
        data(f, 4, 2).args.clear();
    } },
    Case { faults: &["Return"], stage: Source, good: looping, edit: |f| {
        data(f, 4, 2).args[0] = f.params()[2];
    } },
    Case { faults: &["Lanes"], stage: Wide, good: wide, edit: |f| {
        let scalar = f.make_int(Scalar::I32, 1);
        let splat = f.make_inst(InstData::plain(Op::Splat, [scalar]), &[Type::Vector(Scalar::I32, 0)]);
        f.layout.prepend_inst(splat, block(0));
    } },
    Case { faults: &["Lanes"], stage: Wide, good: wide, edit: |f| {
        let scalar = f.make_int(Scalar::I32, 1);
        let splat = f.make_inst(InstData::plain(Op::Splat, [scalar]), &[Type::Vector(Scalar::I32, 60_000)]);
        f.layout.prepend_inst(splat, block(0));
        let all = f.results(splat)[0];
        let permute = InstData::new(Op::Permute, [all, all], Detail::Permute(Box::new([0])));
        let permute = f.make_inst(permute, &[Type::Vector(Scalar::I32, 1)]);
        f.layout.insert_inst_after(permute, splat);
    } },
    Case { faults: &["Constant"], stage: Source, good: looping, edit: |f| {
        data(f, 2, 0).args[1] = f.make_const(Constant::Scalar(Scalar::I32, 1 << 32));
    } },
    Case { faults: &["Constant", "Type"], stage: Wide, good: wide, edit: |f| {
        data(f, 0, 0).args[1] = f.make_const(Constant::Vector(Scalar::I32, vec![0; 65_536 + 3].into()));
    } },
    Case { faults: &["Constant"], stage: Wide, good: wide, edit: |f| {
        data(f, 0, 0).args[1] = f.make_const(Constant::Poison(Type::Vector(Scalar::I32, 0)));
    } },
    Case { faults: &["Constant"], stage: Source, good: predicated, edit: |f| {
        let wrong = f.make_const(Constant::Scalar(Scalar::I1, 2));
        f.set_predicate(block(2), Some(wrong));
    } },
    Case { faults: &["Flag"], stage: Source, good: || {
        let mut f = looping();
        data(&mut f, 2, 0).flags = heddle_ir::words::Flags::of(&[Flag::Nuw, Flag::Nsw, Flag::Total]);
        f
    }, edit: |f| data(f, 2, 0).flags = data(f, 2, 0).flags.with(Flag::Exact) },
    Case { faults: &["Flag"], stage: Source, good: looping, edit: |f| {
        data(f, 1, 0).flags = data(f, 1, 0).flags.with(Flag::Total);
    } },
    Case { faults: &["Flag"], stage: Source, good: looping, edit: |f| {
        data(f, 1, 2).flags = data(f, 1, 2).flags.with(Flag::Total);
    } },
    Case { faults: &["Flag"], stage: Source, good: || {
        let mut f = looping();
        put(&mut f, 2, 0, InstData::plain(Op::Mask, []), None);
        f
    }, edit: |f| data(f, 2, 0).flags = data(f, 2, 0).flags.with(Flag::Total) },
    Case { faults: &["FloatFlag"], stage: Source, good: || {
        let mut f = looping();
        let (flag, number) = (f.params()[2], f.params()[1]);
        let float = f.make_const(Constant::Scalar(Scalar::F32, 0));
        put(&mut f, 2, 0, InstData { flags: heddle_ir::words::Flags::FAST, ..InstData::plain(Op::Select, [flag, float, float]) }, None);
        put(&mut f, 2, 0, InstData::plain(Op::Select, [flag, number, number]), None);
        f
    }, edit: |f| data(f, 2, 0).flags = data(f, 2, 0).flags.with(Flag::Nnan) },
    Case { faults: &["Align"], stage: Source, good: touching, edit: |f| touch(f, 1).align = 12 },
    Case { faults: &["Align"], stage: Source, good: touching, edit: |f| touch(f, 3).align = 0 },
    Case { faults: &["Align"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 0).detail = Detail::Alloca { bytes: 16, align: 6 };
    } },
    Case { faults: &["Base"], stage: Source, good: || {
        let mut f = touching();
        touch(&mut f, 2).base = Some(result(&f, 0, 0));
        touch(&mut f, 1).base = Some(f.params()[1]);
        touch(&mut f, 9).base = Some(f.make_const(Constant::Address(Space::Global, "g".into())));
        f
    }, edit: |f| touch(f, 9).base = Some(f.params()[2]) },
    Case { faults: &["Base"], stage: Source, good: touching, edit: |f| {
        let (pointer, size) = (f.params()[0], f.params()[3]);
        put(f, 0, 0, InstData::plain(Op::PtrAdd, [pointer, size]), None);
        touch(f, 10).base = Some(result(f, 0, 0));
    } },
    Case { faults: &["Base"], stage: Source, good: touching, edit: |f| {
        touch(f, 10).base = Some(f.make_const(Constant::Scalar(Scalar::Ptr(Space::Global), 64)));
    } },
    Case { faults: &["NotAtomic"], stage: Source, good: touching, edit: |f| touch(f, 5).atomic = None },
    Case { faults: &["NotAtomic"], stage: Source, good: touching, edit: |f| touch(f, 6).atomic = None },
    Case { faults: &["CannotBeAtomic"], stage: Source, good: touching, edit: |f| {
        touch(f, 4).atomic = Some((Ordering::SeqCst, Scope::System));
    } },
    Case { faults: &["CannotBeAtomic"], stage: Source, good: touching, edit: |f| {
        touch(f, 3).atomic = Some((Ordering::SeqCst, Scope::System));
    } },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| *touch(f, 9) = atomic(4, Ordering::Release) },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| *touch(f, 9) = atomic(4, Ordering::AcqRel) },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| *touch(f, 10) = atomic(4, Ordering::Acquire) },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| *touch(f, 5) = atomic(4, Ordering::Unordered) },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 6).detail = Detail::CompareExchange(atomic(4, Ordering::SeqCst), Ordering::Release);
    } },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 7).detail = Detail::Fence(Ordering::Relaxed, Scope::Group);
    } },
    Case { faults: &["AtomicType"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 10).args[0] = f.make_bool(true);
    } },
    Case { faults: &["AtomicType"], stage: Wide, good: wide, edit: |f| *touch(f, 2) = atomic(16, Ordering::SeqCst) },
    Case { faults: &["AtomicAlign"], stage: Source, good: touching, edit: |f| touch(f, 9).align = 2 },
    Case { faults: &["BarrierScope"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 8).detail = Detail::Barrier(Scope::Device);
    } },
    Case { faults: &["WritesConstant"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 4).args[0] = f.params()[1];
    } },
    Case { faults: &["WritesConstant"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 2).args[1] = f.params()[1];
    } },
    Case { faults: &["WritesInvariant"], stage: Source, good: || {
        let mut f = touching();
        data(&mut f, 0, 1).flags = heddle_ir::words::Flags::ACCESS;
        f
    }, edit: |f| data(f, 0, 2).flags = heddle_ir::words::Flags::ACCESS },
    Case { faults: &["AllocaBytes"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 0).detail = Detail::Alloca { bytes: u64::MAX, align: 1 };
    } },
    Case { faults: &["FloatClasses"], stage: Source, good: || {
        let mut f = looping();
        let float = f.make_const(Constant::Scalar(Scalar::F32, 0));
        put(&mut f, 2, 0, InstData::new(Op::FloatClass, [float], Detail::FloatClass(0x3ff)), None);
        f
    }, edit: |f| data(f, 2, 0).detail = Detail::FloatClass(0x400) },
    Case { faults: &["Weights"], stage: Source, good: || {
        let mut f = looping();
        data(&mut f, 1, 2).detail = Detail::Branch([block(2), block(3)].into(), Some(Box::new([0, 1])));
        f
    }, edit: |f| data(f, 1, 2).detail = Detail::Branch([block(2), block(3)].into(), Some(Box::new([0, 0]))) },
    Case { faults: &["Weights"], stage: Source, good: looping, edit: |f| {
        data(f, 2, 1).detail = Detail::Branch([block(3)].into(), Some(Box::new([1, 1])));
    } },
    Case { faults: &["LaunchedVector"], stage: Source, good: launching, edit: |f| {
        let mut known = Declaration::clone(f.callees.values().next().unwrap());
        known.signature.params[0].ty = V4;
        *f.callees.values_mut().next().unwrap() = Arc::new(known);
        data(f, 0, 1).args[0] = result(f, 0, 0);
    } },

    // SSA.
    Case { faults: &["NotDominated"], stage: Source, good: looping, edit: |f| {
        data(f, 3, 1).args[0] = result(f, 2, 0);        // another block
    } },
    Case { faults: &["NotDominated"], stage: Source, good: looping, edit: |f| {
        data(f, 2, 0).args[0] = result(f, 2, 0);        // itself
    } },
    Case { faults: &["NotDominated"], stage: Source, good: touching, edit: |f| {
        let object = inst(f, 0, 0);
        let last = inst(f, 0, 11);
        f.layout.remove_inst(object);
        f.layout.insert_inst_before(object, last);      // behind its use
    } },
    Case { faults: &["NotDominated"], stage: Source, good: || {
        let mut f = touching();
        touch(&mut f, 9).base = Some(result(&f, 0, 0)); // a base is a use
        f
    }, edit: |f| {
        let object = InstData::new(Op::Alloca, [], Detail::Alloca { bytes: 1, align: 1 });
        put(f, 0, 11, object, None);
        touch(f, 9).base = Some(result(f, 0, 11));
    } },
    Case { faults: &["NotDominated"], stage: Source, good: || {
        let mut f = looping();
        let next = result(&f, 1, 1);
        data(&mut f, 3, 0).args.push(next);             // a shadow from above
        append(&mut f, InstData::jump(block(5)));       // and a loop that control never enters
        f
    }, edit: |f| data(f, 3, 0).args[2] = result(f, 3, 0) },
    Case { faults: &["NotDominated"], stage: Source, good: || {
        let mut f = looping();                          // unreachable: anything that is defined will do
        let more = result(&f, 2, 0);
        append(&mut f, InstData::plain(Op::Ret, [more]));
        f
    }, edit: |f| {
        let number = f.params()[1];
        put(f, 5, 0, InstData::plain(Op::Add, [number, number]), None);
        data(f, 4, 2).args[0] = result(f, 5, 0);
    } },
    Case { faults: &["IncomingNotDominated"], stage: Source, good: looping, edit: |f| {
        data(f, 3, 0).args[0] = result(f, 2, 0);
    } },
    Case { faults: &["IncomingNotDominated"], stage: Source, good: || {
        let mut f = looping();
        data(&mut f, 1, 0).args[1] = result(&f, 1, 0);   // its own value, by the latch
        f
    }, edit: |f| data(f, 1, 0).args[0] = result(f, 1, 0) },

    // Predicates.
    Case { faults: &["Undefined"], stage: Linear, good: predicated, edit: |f| {
        f.set_predicate(block(2), Some(Value::from_u32(99)));
    } },
    Case { faults: &["PredicateType"], stage: Linear, good: predicated, edit: |f| {
        f.set_predicate(block(2), Some(f.params()[1]));
    } },
    Case { faults: &["PredicateNotDominated"], stage: Linear, good: predicated, edit: |f| {
        f.set_predicate(block(0), Some(result(f, 1, 1)));
    } },
    Case { faults: &["PredicateBehindPassive"], stage: Linear, good: predicated, edit: |f| {
        data(f, 1, 1).flags = heddle_ir::words::Flags::NONE;
    } },
    Case { faults: &["PredicateBehindPassive"], stage: Linear, good: predicated, edit: |f| {
        data(f, 1, 2).flags = heddle_ir::words::Flags::NONE;
    } },
    Case { faults: &["PredicateBehindPassive"], stage: Source, good: || {
        let mut f = predicated();                       // a φ may come before, and may be the predicate
        let flag = f.params()[2];
        let phi = f.make_inst(InstData::phi([(block(0), flag)], None), &[Type::I1]);
        f.layout.prepend_inst(phi, block(1));
        f.set_predicate(block(1), Some(f.results(phi)[0]));
        f
    }, edit: |f| {
        let mask = put(f, 1, 3, InstData::plain(Op::Mask, []), None);
        f.set_predicate(block(1), Some(f.results(mask)[0]));
    } },

    // Stages.
    Case { faults: &["EarlyVector"], stage: Source, good: looping, edit: |f| {
        let number = f.params()[1];
        put(f, 2, 0, InstData::plain(Op::Splat, [number]), Some(V4));
    } },
    Case { faults: &["EarlyVector"], stage: Linear, good: predicated, edit: |f| *f = wide() },
    Case { faults: &["EarlyPredicate"], stage: Canonical, good: looping, edit: |f| {
        f.set_predicate(block(2), Some(f.params()[2]));
    } },
    Case { faults: &["EarlyPredicate"], stage: Uniform, good: looping, edit: |f| {
        f.set_predicate(block(0), Some(f.params()[2]));
    } },
    Case { faults: &["Unreachable"], stage: Canonical, good: looping, edit: |f| {
        append(f, InstData::plain(Op::Unreachable, []));
    } },
    Case { faults: &["Unreachable"], stage: Linear, good: predicated, edit: |f| {
        append(f, InstData::plain(Op::Unreachable, []));
    } },
    Case { faults: &["Irreducible"], stage: Linear, good: looping, edit: |f| {
        add_edge(f, 2, 4);
        let number = f.params()[1];
        data(f, 4, 0).args[1] = number;
        add_edge(f, 0, 3);
    } },
    Case { faults: &["SecondReturn"], stage: Linear, good: || {
        let mut f = looping();
        let end = append(&mut f, InstData::plain(Op::Unreachable, []));
        add_edge(&mut f, 2, end.as_u32());
        f
    }, edit: |f| {
        let number = f.params()[1];
        *data(f, 5, 0) = InstData::plain(Op::Ret, [number]);
    } },
    Case { faults: &["SwitchLeft"], stage: Canonical, good: looping, edit: |f| {
        let switch = Switch { cases: vec![0], targets: vec![block(3), block(3)] };
        *data(f, 2, 1) = InstData::new(Op::Switch, [f.params()[1]], Detail::Switch(Box::new(switch)));
    } },
    Case { faults: &["Preheaders"], stage: Canonical, good: looping, edit: |f| {
        let one = split(f, 0, 1);
        add_edge(f, 0, 5);
        let two = append(f, InstData::jump(one));
        data(f, 0, 1).targets_mut()[1] = two;
        data(f, 6, 0).targets_mut()[0] = block(1);
        let phi = inst(f, 1, 0);
        let (number, joined) = (f.params()[1], result(f, 3, 0));
        *f.inst_mut(phi) = InstData::phi([(one, number), (two, number), (block(3), joined)], None);
    } },
    Case { faults: &["PreheaderBranches"], stage: Canonical, good: looping, edit: |f| {
        let end = append(f, InstData::plain(Op::Unreachable, []));
        add_edge(f, 0, end.as_u32());
    } },
    Case { faults: &["Latches"], stage: Canonical, good: looping, edit: |f| {
        add_edge(f, 2, 1);
        let next = result(f, 1, 1);
        data(f, 1, 0).args[2] = next;
    } },
    Case { faults: &["SharedExit"], stage: Uniform, good: looping, edit: |f| {
        let around = split(f, 0, 1);
        add_edge(f, 0, 4);
        data(f, 0, 1).targets_mut()[0] = around;
    } },
    Case { faults: &["NotClosed"], stage: Canonical, good: looping, edit: |f| {
        data(f, 4, 1).args[0] = result(f, 3, 0);
    } },
    Case { faults: &["NotClosed"], stage: Canonical, good: looping, edit: |f| {
        let (joined, number) = (result(f, 3, 0), f.params()[1]);
        *data(f, 4, 0) = InstData::phi([(block(3), number)], Some(joined));  // a shadow is used in the φ's block
    } },
    Case { faults: &["OneThread"], stage: Wide, good: wide, edit: |f| {
        data(f, 0, 0).flags = data(f, 0, 0).flags.with(Flag::Total);
    } },
    Case { faults: &["OneThread"], stage: Wide, good: wide, edit: |f| {
        let yes = f.make_bool(true);
        f.set_predicate(block(0), Some(yes));
    } },
    Case { faults: &["OneThread"], stage: Wide, good: wide, edit: |f| {
        put(f, 0, 0, InstData::new(Op::Lane, [], Detail::Dimension(None)), Some(Type::I32));
    } },
    Case { faults: &["OneThread"], stage: Wide, good: wide, edit: |f| {
        let yes = f.make_bool(true);
        put(f, 0, 0, InstData::plain(Op::Any, [yes]), None);
    } },
    Case { faults: &["OneThread"], stage: Source, good: launching, edit: |f| {
        put(f, 0, 0, InstData::plain(Op::Mask, []), None);
    } },
    Case { faults: &["OneThread"], stage: Linear, good: launching, edit: |f| {
        data(f, 0, 1).flags = data(f, 0, 1).flags.with(Flag::Total);
    } },
    Case { faults: &["OneThread"], stage: Wide, good: looping, edit: |f| {
        let number = f.params()[1];
        data(f, 3, 0).args.push(number);
    } },
    Case { faults: &["LateLaunch"], stage: Wide, good: wide, edit: |f| *f = launching() },
    Case { faults: &["LaunchInKernel"], stage: Source, good: || {
        let mut f = launching();
        f.signature.results.clear();
        data(&mut f, 0, 3).args.clear();
        f
    }, edit: |f| f.kind = Kind::Kernel(None) },
];

/// A kernel that calls, sequential code that launches it, a declared function, and globals.
fn module() -> Module {
    let mut module = Module::default();
    module.files.push("a.cl".into());
    let table = vec![Init::Values(Scalar::I16, vec![1, 2]), Init::Zero(4), Init::Address("hidden".into(), 8)];
    module.globals.push(Global { name: "table".into(), space: Space::Constant, align: 8, init: table });
    module.globals.push(Global {
        name: "hidden".into(),
        space: Space::Global,
        align: 1,
        init: vec![Init::Poison(16)],
    });
    let declared = Arc::new(Declaration {
        name: "sin".into(),
        kind: Kind::Function,
        signature: Signature { effects: Effects::PURE, ..Signature::new(&[Type::F32], &[Type::F32]) },
    });
    module.declarations.push(declared.clone());
    let mut region = region();
    let callee = region.make_callee(&declared);
    let half = region.make_const(Constant::Scalar(Scalar::F32, 0x3f00_0000));
    put(&mut region, 0, 0, InstData::new(Op::Call, [half], Detail::Call(callee)), None);
    let table = region.make_const(Constant::Address(Space::Constant, "table".into()));
    put(&mut region, 0, 0, access(Op::Load, &[table], Access::aligned(2)), Some(Type::I16));
    let loc = Some(Loc { file: File::from_u32(0), line: 3, column: 1 });
    data(&mut region, 0, 0).origin = region.make_origin(OriginData { loc, ..OriginData::default() });
    module.functions.push(launching());
    module.functions.push(region);
    module
}

/// The instruction at this place of the region.
fn in_region(module: &mut Module, index: usize) -> &mut InstData {
    data(&mut module.functions[1], 0, index)
}

/// Adds a function that calls another.
fn add_caller(module: &mut Module, name: &str, kind: Kind, callee: usize) {
    let declaration = Arc::new(module.functions[callee].declaration());
    let mut func = Function::new(name, Signature::new(&[], &[]));
    func.kind = kind;
    let entry = func.append_block();
    let callee = func.make_callee(&declaration);
    let args: Vec<Value> =
        declaration.signature.params.iter().map(|param| func.make_poison(param.ty)).collect();
    let mut b = Builder::new(&mut func, At::End(entry));
    b.inst(InstData::new(Op::Call, args, Detail::Call(callee)), None);
    b.ret(&[]);
    module.functions.push(func);
}

/// What the region calls, to change what it knows of it.
fn known(module: &mut Module) -> &mut Declaration {
    Arc::make_mut(module.functions[1].callees.values_mut().next().unwrap())
}

type ModuleCase = (&'static [&'static str], fn(&mut Module));

#[rustfmt::skip]
const MODULE_CASES: &[ModuleCase] = &[
    (&["NameTwice"], |m| m.globals.push(Global { name: "main".into(), ..m.globals[1].clone() })),
    (&["NameTwice"], |m| { m.declarations.push(m.declarations[0].clone()); m.declarations.push(m.declarations[0].clone()) }),
    (&["NoName"], |m| m.functions[0].name.clear()),
    (&["UnknownFunction"], |m| m.declarations.clear()),
    (&["UnknownFunction"], |m| known(m).name = "cos".into()),
    (&["Differs"], |m| known(m).kind = Kind::Kernel(None)),
    (&["Differs"], |m| known(m).signature.params[0].shape = Some(DeclaredShape::Uniform)),
    (&["Differs"], |m| known(m).signature.results[0].shape = Some(DeclaredShape::Uniform)),
    (&["Differs"], |m| known(m).signature.effects = Effects::ANY),
    (&["Declaration"], |m| m.declarations.push(Arc::new(Declaration {
        name: "k".into(), kind: Kind::Kernel(None), signature: Signature::new(&[], &[Type::I32]),
    }))),
    (&["UnknownGlobal"], |m| {
        in_region(m, 0).args[0] = m.functions[1].make_const(Constant::Address(Space::Constant, "nothing".into()));
    }),
    (&["GlobalSpace"], |m| m.globals[0].space = Space::Global),
    (&["Global"], |m| m.globals[0].align = 3),
    (&["Global"], |m| m.globals[0].init[0] = Init::Values(Scalar::I16, vec![1 << 16])),
    (&["Global"], |m| m.globals[0].init[1] = Init::Zero(u64::MAX)),
    (&["Global"], |m| m.globals[0].init[2] = Init::Address("nothing".into(), 0)),
    (&["UnknownFile"], |m| {
        let loc = Some(Loc { file: File::from_u32(1), line: 3, column: 1 });
        in_region(m, 0).origin = m.functions[1].make_origin(OriginData { loc, ..OriginData::default() });
    }),
    (&["Convergent"], |m| {
        add_caller(m, "between", Kind::Function, 1);
        m.functions.last_mut().unwrap().signature.effects.convergent = false;
    }),
    (&["NestedLaunch"], |m| { add_caller(m, "between", Kind::Function, 0); add_caller(m, "k", Kind::Kernel(None), 2) }),
    (&["NestedLaunch"], |m| {
        // What is launched launches itself.
        let mut func = launching();
        func.name = "region".into();
        func.signature.params.truncate(2);
        m.functions[1] = func;
    }),
];

fn names<'a>(violations: impl IntoIterator<Item = &'a heddle_ir::verify::Violation>) -> BTreeSet<String> {
    let name = |fault: &Fault| {
        let text = format!("{fault:?}");
        text.chars().take_while(|c| c.is_alphanumeric()).collect()
    };
    violations.into_iter().map(|violation| name(&violation.fault)).collect()
}

fn expected(faults: &[&str]) -> BTreeSet<String> {
    faults.iter().map(|fault| fault.to_string()).collect()
}

#[test]
fn each_rule_is_enforced_where_it_is_broken_and_only_there() {
    for (index, case) in CASES.iter().enumerate() {
        let mut func = (case.good)();
        if let Err(violations) = verify(&func, case.stage) {
            panic!("case {index}, {:?}, before the edit: {violations}", case.faults);
        }
        (case.edit)(&mut func);
        let Err(violations) = verify(&func, case.stage) else {
            panic!("case {index}: {:?} at stage {} is not noticed", case.faults, case.stage);
        };
        assert_eq!(names(&violations), expected(case.faults), "case {index}: {violations}");
    }
}

#[test]
fn each_rule_of_modules_is_enforced() {
    verify_module(&module(), Source).unwrap();
    for (index, (faults, edit)) in MODULE_CASES.iter().enumerate() {
        let mut module = module();
        edit(&mut module);
        let Err(violations) = verify_module(&module, Source) else {
            panic!("case {index}: {faults:?} is not noticed");
        };
        let found = names(&violations);
        let wanted = expected(faults);
        assert!(wanted.is_subset(&found), "case {index}: {violations}");
        // Lock-step code that gets to a launch has vectors where none may be.
        assert!(wanted == found || wanted.contains("NestedLaunch"), "case {index}: {violations}");
    }
}

macro_rules! variants {
    ($($variant:ident)*) => {
        const VARIANTS: &[&str] = &[$(stringify!($variant)),*];
        /// Does not compile while a variant is missing above.
        #[expect(dead_code)]
        fn is_complete(fault: Fault) {
            match fault { $(Fault::$variant { .. } => {})* }
        }
    };
}

variants! {
    NoEntry UnknownBlock UnknownInst EntryPredecessor EntryPhi NoTerminator TerminatorInside PhiNotAtStart
    UnplacedTarget PhiStranger PhiTwice PhiMissing SwitchTwice Undefined UnknownOrigin
    ParamCount ParamType Signature Kernel
    Type Results Return Lanes Constant Flag FloatFlag Align Base NotAtomic CannotBeAtomic Ordering AtomicType
    AtomicAlign BarrierScope WritesConstant WritesInvariant AllocaBytes FloatClasses Weights LaunchedVector
    NotDominated IncomingNotDominated
    PredicateType PredicateNotDominated PredicateBehindPassive
    EarlyVector EarlyPredicate Unreachable Irreducible SecondReturn SwitchLeft Preheaders
    PreheaderBranches Latches SharedExit NotClosed OneThread LateLaunch LaunchInKernel
    NameTwice NoName UnknownFunction Differs Declaration UnknownGlobal GlobalSpace Global UnknownFile NestedLaunch
    Convergent
}

#[test]
fn every_fault_has_a_case() {
    let cases = CASES.iter().map(|case| case.faults).chain(MODULE_CASES.iter().map(|(faults, _)| *faults));
    let shown: BTreeSet<&str> = cases.flatten().copied().collect();
    let missing: Vec<_> = VARIANTS.iter().filter(|variant| !shown.contains(*variant)).collect();
    assert!(missing.is_empty(), "no case breaks {missing:?}");
}

#[test]
fn what_is_fine_at_its_stages_is_fine() {
    for stage in [Source, Canonical, Uniform, Linear] {
        verify(&looping(), stage).unwrap();
        verify(&launching(), stage).unwrap();
        verify(&region(), stage).unwrap();
    }
    for stage in [Source, Linear] {
        verify(&predicated(), stage).unwrap();
    }
    verify(&wide(), Wide).unwrap();
    verify(&looping(), Wide).unwrap();
    // A second edge to one block is one predecessor.
    let mut func = looping();
    let flag = func.params()[2];
    *data(&mut func, 2, 1) = InstData::branch(flag, block(3), block(3));
    *data(&mut func, 0, 1) = InstData::branch(flag, block(1), block(1));
    verify(&func, Canonical).unwrap();
    // A kernel may be called like any function.
    let mut module = module();
    add_caller(&mut module, "k", Kind::Kernel(None), 1);
    add_caller(&mut module, "g", Kind::Function, 2);
    verify_module(&module, Source).unwrap();
}

#[test]
fn all_violations_are_told_in_the_order_of_their_places() {
    let mut func = looping();
    func.signature.params[0].align = 0;
    data(&mut func, 2, 0).flags = heddle_ir::words::Flags::of(&[Flag::Exact, Flag::Volatile]);
    data(&mut func, 0, 0).detail = Detail::Access(Access::aligned(7));
    append(&mut func, InstData::plain(Op::Unreachable, []));
    let violations = verify(&func, Canonical).unwrap_err();
    let places: Vec<Place> = violations.iter().map(|violation| violation.place).collect();
    let (load, add) = (inst(&func, 0, 0), inst(&func, 2, 0));
    let expected = [
        Place::Function,
        Place::Inst(block(0), load),
        Place::Inst(block(2), add),
        Place::Inst(block(2), add),
        Place::Block(block(5)),
    ];
    assert_eq!(places, expected, "{violations}");
    let text = "\
5 violations at stage canonical:
func @f(v0: ptr(global) align 0, v1: i32, v2: i1) -> i32 {
; ^ parameter 0: its alignment is no power of two
block0:
  v4 = load i32, v0 align 7
  ; ^ an alignment is a power of two, not 7
  br block1
block1:
";
    assert!(violations.to_string().starts_with(text), "{violations}");
    assert!(
        violations.to_string().ends_with("block5:\n; ^ control never comes here\n  unreachable\n}"),
        "{violations}"
    );
}

#[test]
fn stages_are_words() {
    for stage in Stage::ALL {
        assert_eq!(Stage::from_name(&stage.to_string()), Some(*stage));
    }
    assert_eq!(Stage::from_name("linear"), Some(Linear));
    assert_eq!(Block::new(0), block(0));
}
