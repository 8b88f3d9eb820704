//! Rules on types, flags and details of instructions.

use crate::Case;
use crate::samples::{
    V4, atomic, block, data, launching, looping, predicated, put, result, touch, touching, wide,
};
use heddle_ir::Stage::{Source, Wide};
use heddle_ir::function::Callee;
use heddle_ir::module::Declaration;
use heddle_ir::words::{AtomicOrdering, Flag, Flags, SyncScope};
use heddle_ir::{Constant, Detail, InstData, Op, Scalar, Space, Type};
use std::sync::Arc;

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
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
        data(&mut f, 2, 0).flags = Flags::of(&[Flag::Nuw, Flag::Nsw, Flag::Total]);
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
        put(&mut f, 2, 0, InstData { flags: Flags::FAST, ..InstData::plain(Op::Select, [flag, float, float]) }, None);
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
        touch(f, 4).atomic = Some((AtomicOrdering::SeqCst, SyncScope::System));
    } },
    Case { faults: &["CannotBeAtomic"], stage: Source, good: touching, edit: |f| {
        touch(f, 3).atomic = Some((AtomicOrdering::SeqCst, SyncScope::System));
    } },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| *touch(f, 9) = atomic(4, AtomicOrdering::Release) },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| *touch(f, 9) = atomic(4, AtomicOrdering::AcqRel) },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| *touch(f, 10) = atomic(4, AtomicOrdering::Acquire) },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| *touch(f, 5) = atomic(4, AtomicOrdering::Unordered) },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 6).detail = Detail::CompareExchange(atomic(4, AtomicOrdering::SeqCst), AtomicOrdering::Release);
    } },
    Case { faults: &["Ordering"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 7).detail = Detail::Fence(AtomicOrdering::Relaxed, SyncScope::Group);
    } },
    Case { faults: &["AtomicType"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 10).args[0] = f.make_bool(true);
    } },
    Case { faults: &["AtomicType"], stage: Wide, good: wide, edit: |f| *touch(f, 2) = atomic(16, AtomicOrdering::SeqCst) },
    Case { faults: &["AtomicAlign"], stage: Source, good: touching, edit: |f| touch(f, 9).align = 2 },
    Case { faults: &["BarrierScope"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 8).detail = Detail::Barrier(SyncScope::Device);
    } },
    Case { faults: &["WritesConstant"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 4).args[0] = f.params()[1];
    } },
    Case { faults: &["WritesConstant"], stage: Source, good: touching, edit: |f| {
        data(f, 0, 2).args[1] = f.params()[1];
    } },
    Case { faults: &["WritesInvariant"], stage: Source, good: || {
        let mut f = touching();
        data(&mut f, 0, 1).flags = Flags::ACCESS;
        f
    }, edit: |f| data(f, 0, 2).flags = Flags::ACCESS },
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

];
