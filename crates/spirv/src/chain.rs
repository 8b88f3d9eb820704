//! Access chains as the operands of `getelementptr`.

use crate::binary::SpirvInst;
use crate::error::SpirvResult;
use crate::module::SpirvModule;
use crate::types::{NumberKind, SpirvTypeKind};
use spirv::Op;
use std::fmt::Write as _;

/// Index of a chain.
#[derive(Clone, Debug)]
pub(crate) struct ChainIndex {
    pub(crate) ty: u32,
    /// LLVM's text, without the type.
    pub(crate) text: String,
    /// Its bits if it is constant.
    pub(crate) bits: Option<u64>,
}

/// Operands of `getelementptr`.
#[derive(Clone, Debug)]
pub(crate) struct AccessChain {
    /// Address space.
    pub(crate) space: u32,
    /// Text of the type that the first index counts.
    pub(crate) element: String,
    /// Text of the indices, each after a comma; empty for the base itself.
    pub(crate) indices: String,
    pub(crate) in_bounds: bool,
}

/// Checks a chain and returns its operands.
pub(crate) fn address(
    module: &SpirvModule<'_>,
    inst: &SpirvInst<'_>,
    op: Op,
    base: u32,
    indices: &[ChainIndex],
) -> SpirvResult<AccessChain> {
    let Some((space, pointee)) = module.types.pointer(base) else {
        return Err(inst.invalid("the base of the chain is no pointer"));
    };
    walk(module, inst, op, space, pointee, indices)
}

/// Checks a chain from a type, and returns its operands.
pub(crate) fn walk(
    module: &SpirvModule<'_>,
    inst: &SpirvInst<'_>,
    op: Op,
    space: u32,
    pointee: u32,
    indices: &[ChainIndex],
) -> SpirvResult<AccessChain> {
    let in_bounds = matches!(
        op,
        Op::InBoundsAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::UntypedInBoundsAccessChainKHR
            | Op::UntypedInBoundsPtrAccessChainKHR
    );
    let has_element = matches!(
        op,
        Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::UntypedPtrAccessChainKHR
            | Op::UntypedInBoundsPtrAccessChainKHR
    );
    let Some(of) = module.types.get(pointee).filter(|_| module.types.is_sized(pointee)) else {
        return Err(module.undefined(inst, pointee, "type with a size"));
    };
    let element = of.text.clone();
    let mut text = String::new();
    let integer = |index: &ChainIndex| -> SpirvResult<&'static str> {
        match module.types.get(index.ty).map(|ty| &ty.kind) {
            Some(SpirvTypeKind::Number(kind @ NumberKind::Int(_))) => Ok(kind.text()),
            _ => Err(inst.invalid("an index of the chain is no integer")),
        }
    };
    let mut rest = indices.iter();
    if has_element {
        let first = rest.next().ok_or_else(|| inst.invalid("the instruction is too short"))?;
        let _ = write!(text, ", {} {}", integer(first)?, first.text);
    }
    let mut ty = pointee;
    for index in rest {
        if text.is_empty() {
            text.push_str(", i64 0");
        }
        let kind = integer(index)?;
        let is_struct = matches!(module.types.get(ty).map(|ty| &ty.kind), Some(SpirvTypeKind::Struct { .. }));
        let bits = index.bits.filter(|_| is_struct);
        let is_bits = module.types.number(ty).is_some_and(|it| it.kind == NumberKind::Bool);
        let member = module.types.member(ty, bits).filter(|_| !is_bits);
        let Some(member) = member.filter(|_| bits.is_some() || !is_struct) else {
            let reason = "an index of the chain selects no part of its type";
            return Err(inst.invalid(reason));
        };
        // A member of a struct may have a type that is declared ahead, which ends the chain.
        match bits {
            Some(bits) => write!(text, ", i32 {bits}"),
            None => write!(text, ", {kind} {}", index.text),
        }
        .unwrap_or_default();
        ty = member;
    }
    Ok(AccessChain { space, element, indices: text, in_bounds })
}
