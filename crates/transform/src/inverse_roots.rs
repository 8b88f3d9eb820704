//! Replaces quotients by square roots with inverse square roots, where the program's accuracy bounds allow it.
//!
//! Requires: Stage::Source.  Ensures: Stage::Source.
//! Invariant: the decision is independent of the number of lanes, so all code of a program computes the same values.
//!
//! OpenCL C allows an error of 2.5 ulp for a quotient and 3 ulp for a root, and states it as a fact of each (`fpmath`).
//! `rsqrt` has an error of at most 2 ulp:
//!
//! ```text
//!     v2 = sqrt v1                        v3 = rsqrt v1
//!     v3 = fdiv 1.0, v2                   v5 = rsqrt v1;  v6 = fmul v4, v5
//!     v6 = fdiv v4, v2
//! ```
//!
//! A root alone and a quotient alone stay: refining an estimate takes as long as the exact operation.

use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::PrimaryMap;
use heddle_ir::function::MetadataKind;
use heddle_ir::module::{MetadataNode, MetadataOperand};
use heddle_ir::words::Flag;
use heddle_ir::{Function, Inst, Module, Op, Scalar, Type};

/// Error bound in ulp that a quotient and a root must allow.
const REQUIRED_ULPS: f32 = 2.5;

/// Replaces quotients by roots in all functions; returns their number.
pub fn invert_roots(module: &mut Module) -> usize {
    let bound = |fact: MetadataNode| match module.facts[fact].as_slice() {
        &[MetadataOperand::Number(Scalar::F32, bits)] => f32::from_bits(bits as u32),
        _ => 0.0,
    };
    let loose: PrimaryMap<MetadataNode, bool> =
        module.facts.keys().map(|fact| bound(fact) >= REQUIRED_ULPS).collect();
    let is_loose = |fact: MetadataNode| loose[fact];
    module.functions.iter_mut().map(|func| invert_roots_of(func, &is_loose)).sum()
}

fn invert_roots_of(func: &mut Function, is_loose: &impl Fn(MetadataNode) -> bool) -> usize {
    let is_inexact = |func: &Function, inst: Inst, flag: Flag| {
        let data = func.inst(inst);
        let tags = func.origin(data.origin).tags.iter();
        data.flags.has(flag) || tags.clone().any(|&(tag, fact)| tag == MetadataKind::Fpmath && is_loose(fact))
    };
    let root_below = |func: &Function, inst: Inst| {
        let data = func.inst(inst);
        let is_quotient = data.op == Op::Fdiv && func.value_type(data.args[0]) == Type::Scalar(Scalar::F32);
        let root = func.def_inst(*data.args.get(1).filter(|_| is_quotient)?)?;
        let is_root = func.inst(root).op == Op::Sqrt;
        (is_root && is_inexact(func, inst, Flag::Arcp) && is_inexact(func, root, Flag::Afn)).then_some(root)
    };
    let all: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    let found: Vec<(Inst, Inst)> =
        all.into_iter().filter_map(|inst| Some((inst, root_below(func, inst)?))).collect();
    for &(quotient, root) in &found {
        let x = func.inst(root).args[0];
        let above = func.inst(quotient).args[0];
        let is_one = func.constant(above).and_then(|it| it.splat_bits()) == Some(1f32.to_bits().into());
        let origin = func.inst(quotient).origin;
        if is_one {
            let data = func.inst_mut(quotient);
            data.op = Op::Rsqrt;
            data.args = [x].into_iter().collect();
            continue;
        }
        let flags = func.inst(quotient).flags;
        let mut builder = Builder::new(func, InsertPoint::Before(quotient));
        builder.set_origin(origin);
        let inverse = builder.op_with(Op::Rsqrt, &[x], flags);
        let data = func.inst_mut(quotient);
        data.op = Op::Fmul;
        data.args = [above, inverse].into_iter().collect();
    }
    found.len()
}
