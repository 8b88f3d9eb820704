//! Rules on blocks, edges, φs and function heads.

use crate::Case;
use crate::samples::{append, block, data, inst, looping, predicated, put, touch, touching, wide};
use heddle_ir::Stage::{Source, Wide};
use heddle_ir::function::{Origin, OriginData, SourceLoc};
use heddle_ir::inst::SwitchDetail;
use heddle_ir::module::{DeclaredShape, File, FunctionKind, Param, Signature};
use heddle_ir::{Block, Detail, Function, Inst, InstData, Op, Scalar, Type, Value};
use smallvec::smallvec;

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
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
        let switch = SwitchDetail { cases: vec![3, 4], targets: vec![block(1), block(1), block(1)] };
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
        let known = f.make_origin(OriginData { loc: Some(SourceLoc { file: File::from_u32(0), line: 1, column: 0 }), ..OriginData::default() });
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
        f.signature.results[0] = heddle_ir::module::ReturnValue {
            ty: Type::F32, shape: Some(DeclaredShape::Linear(smallvec![1])),
        };
    } },
    Case { faults: &["Signature"], stage: Wide, good: wide, edit: |f| {
        *f = Function::new("f", Signature::new(&[Type::Vector(Scalar::I8, 513)], &[]));
        append(f, InstData::plain(Op::Unreachable, []));
    } },
    Case { faults: &["Kernel"], stage: Source, good: looping, edit: |f| f.kind = FunctionKind::Kernel(None) },
    Case { faults: &["Kernel"], stage: Source, good: || {
        let mut f = predicated();
        f.kind = FunctionKind::Kernel(Some([8, 1, 1]));
        f
    }, edit: |f| f.kind = FunctionKind::Kernel(Some([8, 0, 1])) },

];
