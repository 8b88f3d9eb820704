//! Rules for single instructions: operands, results, detail, flags and memory attributes.

use super::structure::PlacedInst;
use super::violation::{MAX_ALLOCA_BYTES, ViolationKind, ViolationLocation, ViolationSink};
use crate::constant::Constant;
use crate::entity::EntitySet;
use crate::inst::{Access, Detail, InstData};
use crate::module::{DeclaredShape, FunctionKind, Signature};
use crate::ops::{Effect, Op, ResultConstraint};
use crate::types::{MAX_DIMENSIONS, MAX_LANES, Scalar, Space, Type};
use crate::typing::result_types;
use crate::words::{AtomicOrdering, Flag, Flags, SyncScope};
use crate::{Function, Inst, Value, ValueDef};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Checks the signature and the values of the parameters.
pub(super) fn check_head(func: &Function, report: &mut ViolationSink) {
    check_signature(&func.signature, func.kind, &mut |fault| report.at(ViolationLocation::Function, fault));
    let (expected, found) = (func.signature.params.len(), func.params().len());
    if expected != found {
        report.at(ViolationLocation::Function, ViolationKind::ParamCount { expected, found });
    }
    for (param, &value) in func.signature.params.iter().zip(func.params()) {
        let (expected, found) = (param.ty, func.value_type(value));
        if expected != found {
            report.at(ViolationLocation::Function, ViolationKind::ParamType { value, expected, found });
        }
    }
}

/// Checks the attributes of a signature.
pub(super) fn check_signature(
    signature: &Signature,
    kind: FunctionKind,
    found: &mut dyn FnMut(ViolationKind),
) {
    for (index, param) in signature.params.iter().enumerate() {
        let mut wrong =
            |reason: Cow<'static, str>| found(ViolationKind::Signature { what: "parameter", index, reason });
        check_shape(param.ty, &param.shape, &mut wrong);
        if !param.align.is_power_of_two() {
            wrong("its alignment is not a power of two".into());
        }
        if !param.ty.scalar().is_ptr() && (param.noalias || param.readonly || param.dereferenceable != 0) {
            wrong("it is not a pointer, so memory attributes do not apply".into());
        }
    }
    for (index, result) in signature.results.iter().enumerate() {
        let mut wrong =
            |reason: Cow<'static, str>| found(ViolationKind::Signature { what: "result", index, reason });
        check_shape(result.ty, &result.shape, &mut wrong);
    }
    if let FunctionKind::Kernel(size) = kind {
        if !signature.results.is_empty() {
            found(ViolationKind::Kernel("returns nothing"));
        }
        if size.is_some_and(|size| size.contains(&0)) {
            found(ViolationKind::Kernel("has no empty work-group"));
        }
    }
}

fn check_shape(ty: Type, shape: &Option<DeclaredShape>, wrong: &mut dyn FnMut(Cow<'static, str>)) {
    if !has_legal_lanes(ty) {
        wrong(lanes_of_vectors());
    }
    if let Some(DeclaredShape::Linear(strides)) = shape {
        if strides.len() > MAX_DIMENSIONS {
            wrong(format!("a brush has at most {MAX_DIMENSIONS} dimensions to stride along").into());
        }
        if ty.scalar().is_float() {
            wrong("a float has no stride".into());
        }
    }
}

fn lanes_of_vectors() -> Cow<'static, str> {
    format!("a vector has 1 to {MAX_LANES} lanes").into()
}

fn has_legal_lanes(ty: Type) -> bool {
    ty.lanes().is_none_or(|lanes| (1..=MAX_LANES).contains(&lanes.into()))
}

/// Rules for constants; each is checked once, at its first use.
pub(super) struct ConstantRules<'f> {
    func: &'f Function,
    checked: EntitySet<Value>,
}

impl<'f> ConstantRules<'f> {
    pub(super) fn new(func: &'f Function) -> ConstantRules<'f> {
        ConstantRules { func, checked: EntitySet::new() }
    }

    pub(super) fn check(
        &mut self,
        used: impl Iterator<Item = Value>,
        location: ViolationLocation,
        report: &mut ViolationSink,
    ) {
        for value in used {
            if self.func.value_def(value) == ValueDef::Const
                && self.checked.insert(value)
                && let Some(constant) = self.func.constant(value)
                && let Some(reason) = wrong_constant(constant)
            {
                report.at(location, ViolationKind::Constant { value, reason });
            }
        }
    }
}

pub(super) fn check(func: &Function, site: &PlacedInst<'_>, report: &mut ViolationSink) {
    let PlacedInst { inst, data, location, .. } = *site;
    // Typing needs the types of all operands.
    if data.args.iter().all(|&arg| func.value_def(arg) != ValueDef::None) {
        check_types(func, inst, data, location, report);
    }
    check_flags(func, inst, data, location, report);
    check_memory(func, inst, data, location, report);
    check_detail(data, location, report);
}

fn wrong_constant(constant: &Constant) -> Option<Cow<'static, str>> {
    let (scalar, lanes) = match constant {
        Constant::Poison(ty) if !has_legal_lanes(*ty) => return Some(lanes_of_vectors()),
        Constant::Poison(_) | Constant::Address(..) => return None,
        Constant::Scalar(scalar, bits) => (*scalar, std::slice::from_ref(bits)),
        Constant::Vector(scalar, lanes) => (*scalar, &**lanes),
    };
    if lanes.is_empty() || lanes.len() > MAX_LANES as usize {
        return Some(lanes_of_vectors());
    }
    lanes.iter().any(|bits| bits & !scalar.bit_mask() != 0).then(|| "its bits do not fit its type".into())
}

fn check_types(
    func: &Function,
    inst: Inst,
    data: &InstData,
    location: ViolationLocation,
    report: &mut ViolationSink,
) {
    let operands: SmallVec<[Type; 4]> = data.args.iter().map(|&arg| func.value_type(arg)).collect();
    let found: SmallVec<[Type; 2]> =
        func.results(inst).iter().map(|&result| func.value_type(result)).collect();
    // Operands other than constants are reported at their definitions.
    for &ty in found.iter().filter(|&&ty| !has_legal_lanes(ty)) {
        report.at(location, ViolationKind::Lanes(ty));
    }
    if operands.iter().chain(&found).any(|&ty| !has_legal_lanes(ty)) {
        return;
    }
    let written = match data.op.info().gives {
        ResultConstraint::Written(_) => found.first().copied(),
        _ => None,
    };
    let callee = func.callee_of(data).map(|callee| &**callee);
    match result_types(data, &operands, written, callee) {
        Err(error) => report.at(location, ViolationKind::Type(error)),
        Ok(expected) if expected[..] != found[..] => {
            report
                .at(location, ViolationKind::Results { expected: expected.to_vec(), found: found.to_vec() });
        }
        Ok(_) => {}
    }
    if data.op == Op::Ret && !func.signature.results.iter().map(|result| &result.ty).eq(&operands) {
        let expected = func.signature.results.iter().map(|result| result.ty).collect();
        report.at(location, ViolationKind::Return { expected, found: operands.to_vec() });
    }
    if let (Op::Launch, Some(callee)) = (data.op, callee) {
        let signature = &callee.signature;
        let inside = signature.params.iter().map(|param| param.ty);
        if let Some(ty) =
            inside.chain(signature.results.iter().map(|result| result.ty)).find(|ty| ty.is_vector())
        {
            report.at(location, ViolationKind::LaunchedVector(ty));
        }
    }
}

fn check_flags(
    func: &Function,
    inst: Inst,
    data: &InstData,
    location: ViolationLocation,
    report: &mut ViolationSink,
) {
    let op = data.op;
    let info = op.info();
    let may_be_total = !matches!(info.effect, Effect::Terminator | Effect::Joins) && op != Op::Mask;
    let allowed = if may_be_total { info.flags.with(Flag::Total) } else { info.flags };
    for flag in data.flags.without(allowed).iter() {
        report.at(location, ViolationKind::Flag { op, flag });
    }
    let fast = data.flags.intersection(info.flags).intersection(Flags::FAST);
    let mut values = data.args.iter().chain(func.results(inst));
    let has_float = |value: &Value| {
        func.value_def(*value) != ValueDef::None && func.value_type(*value).scalar().is_float()
    };
    if let Some(flag) = fast.iter().next()
        && !values.any(has_float)
    {
        report.at(location, ViolationKind::FloatFlag { op, flag });
    }
}

fn check_memory(
    func: &Function,
    inst: Inst,
    data: &InstData,
    location: ViolationLocation,
    report: &mut ViolationSink,
) {
    let op = data.op;
    for access in data.accesses() {
        if !access.align.is_power_of_two() {
            report.at(location, ViolationKind::Align(access.align));
        }
        if let Some(base) = access.base
            && func.value_def(base) != ValueDef::None
            && !func.is_object(base)
        {
            report.at(location, ViolationKind::Base(base));
        }
        if access.atomic.is_some() && matches!(data.detail, Detail::Transfer(_)) {
            report.at(location, ViolationKind::CannotBeAtomic(op));
        }
    }
    let type_of = |value: Value| match func.value_def(value) {
        ValueDef::None => None,
        _ => Some(func.value_type(value)),
    };
    let writes = matches!(op.info().effect, Effect::Writes | Effect::ReadsWrites);
    if writes {
        let address = data.address().and_then(type_of).map(Type::scalar);
        if address == Some(Scalar::Ptr(Space::Constant)) {
            report.at(location, ViolationKind::WritesConstant);
        }
        if data.flags.has(Flag::Invariant) && op.info().flags.has(Flag::Invariant) {
            report.at(location, ViolationKind::WritesInvariant);
        }
    }
    match &data.detail {
        Detail::Access(access) => {
            let accessed = match op {
                Op::Load => func.result(inst).and_then(type_of),
                Op::Store => data.args.first().copied().and_then(type_of),
                _ if access.atomic.is_some() => {
                    report.at(location, ViolationKind::CannotBeAtomic(op));
                    return;
                }
                _ => return,
            };
            check_atomic(op, access, accessed, location, report);
        }
        Detail::Rmw(_, access) | Detail::CompareExchange(access, _) => {
            if access.atomic.is_none() {
                report.at(location, ViolationKind::NotAtomic(op));
            }
            check_atomic(op, access, data.args.get(1).copied().and_then(type_of), location, report);
        }
        _ => {}
    }
}

fn check_atomic(
    op: Op,
    access: &Access,
    accessed: Option<Type>,
    location: ViolationLocation,
    report: &mut ViolationSink,
) {
    let Some((ordering, _)) = access.atomic else { return };
    let makes_sense = match op {
        Op::Load => !matches!(ordering, AtomicOrdering::Release | AtomicOrdering::AcqRel),
        Op::Store => !matches!(ordering, AtomicOrdering::Acquire | AtomicOrdering::AcqRel),
        _ => ordering != AtomicOrdering::Unordered,
    };
    if !makes_sense {
        report.at(location, ViolationKind::Ordering { op, ordering, on_failure: false });
    }
    match accessed {
        None => {}
        Some(ty) if ty.is_vector() || ty == Type::I1 => report.at(location, ViolationKind::AtomicType(ty)),
        Some(ty) if access.align < ty.bytes() => {
            report.at(location, ViolationKind::AtomicAlign { ty, align: access.align });
        }
        Some(_) => {}
    }
}

fn check_detail(data: &InstData, location: ViolationLocation, report: &mut ViolationSink) {
    let op = data.op;
    match &data.detail {
        Detail::CompareExchange(_, ordering)
            if matches!(
                ordering,
                AtomicOrdering::Unordered | AtomicOrdering::Release | AtomicOrdering::AcqRel
            ) =>
        {
            report.at(location, ViolationKind::Ordering { op, ordering: *ordering, on_failure: true });
        }
        Detail::Fence(ordering, _)
            if matches!(ordering, AtomicOrdering::Unordered | AtomicOrdering::Relaxed) =>
        {
            report.at(location, ViolationKind::Ordering { op, ordering: *ordering, on_failure: false });
        }
        Detail::Barrier(scope) if !matches!(scope, SyncScope::Brush | SyncScope::Group) => {
            report.at(location, ViolationKind::BarrierScope(*scope));
        }
        Detail::Alloca { bytes, align } => {
            if !align.is_power_of_two() {
                report.at(location, ViolationKind::Align(*align));
            }
            if *bytes > MAX_ALLOCA_BYTES {
                report.at(location, ViolationKind::AllocaBytes(*bytes));
            }
        }
        Detail::FloatClass(bits) if *bits >= 1 << 10 => {
            report.at(location, ViolationKind::FloatClasses(*bits))
        }
        Detail::Branch(targets, Some(weights)) if targets.len() != 2 || **weights == [0, 0] => {
            report.at(location, ViolationKind::Weights);
        }
        _ => {}
    }
}
