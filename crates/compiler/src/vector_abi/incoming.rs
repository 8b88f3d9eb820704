//! Adapters that foreign code calls: they join register-sized parts and call the wide function.

use super::{AbiLayout, AbiMask, AbiVariant, is_set, permute};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::function::OriginData;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::Signature;
use heddle_ir::{Diagnostic, Function, Module, Op, Scalar, Type, Value};
use std::sync::Arc;

/// Adds a variant to a module that has the wide function, and returns the variant's name.
pub fn add_abi_variant(
    module: &mut Module,
    wide: &str,
    variant: &AbiVariant<'_>,
) -> Result<String, Diagnostic> {
    let Some(wide) = module.function(wide) else {
        return variant.refuse(format!("internal error: no @{wide}"));
    };
    let loc = wide.blocks().flat_map(|block| wide.block_insts(block)).find_map(|inst| wide.loc(inst));
    let wide = wide.declaration();
    let layout = variant.layout(&wide.signature)?;
    let name = variant.mangled_name();
    let mut func = Function::new(name.clone(), Signature::new(&layout.params, &layout.result_types));
    let origin = func.make_origin(OriginData { loc, ..OriginData::default() });
    let block = func.append_block();
    let mut builder = Builder::new(&mut func, InsertPoint::End(block));
    builder.set_origin(origin);
    let mut incoming = builder.func.params().to_vec().into_iter();
    let target = if layout.in_memory { incoming.next() } else { None };
    let mut args = arguments(&mut builder, variant, &layout, &wide.signature, &mut incoming);
    match layout.mask {
        Some(AbiMask::Lanes(_)) => {
            let whole = join(&mut builder, incoming.collect());
            args.push(is_set(&mut builder, whole));
        }
        Some(AbiMask::Bits(_, parts)) => {
            let bits: Vec<Value> = incoming.collect();
            let masks = bits.into_iter().map(|bits| mask_of_bits(&mut builder, bits, parts.lanes)).collect();
            args.push(join(&mut builder, masks));
        }
        None => {}
    }
    let callee = builder.func.make_callee(&Arc::new(wide));
    let call = builder.inst(InstData::new(Op::Call, args, Detail::Call(callee)), None);
    let mut value = builder.func.result(call);
    if let (Some(whole), Some(parts)) = (value, layout.result) {
        if builder.func.value_type(whole).scalar() == Scalar::I1 {
            value = Some(builder.op_to(Op::Zext, Type::Vector(Scalar::I8, variant.lanes as u16), &[whole]));
        }
        if let (Some(whole), Some(target)) = (value, target) {
            builder.store(whole, target, parts.ty().bytes());
            value = Some(target);
        }
    }
    builder.ret(&value.into_iter().collect::<Vec<_>>());
    module.functions.push(func);
    Ok(name)
}

/// Builds the arguments of the wide function except the mask.
fn arguments(
    builder: &mut Builder<'_>,
    variant: &AbiVariant<'_>,
    layout: &AbiLayout,
    signature: &Signature,
    incoming: &mut impl Iterator<Item = Value>,
) -> Vec<Value> {
    let mut args = Vec::new();
    for (parts, param) in layout.param_parts.iter().zip(variant.params_without_mask(signature)) {
        let count = parts.map_or(1, |parts| parts.count.into());
        let values: Vec<Value> = incoming.by_ref().take(count).collect();
        let whole = join(builder, values);
        let is_mask = param.ty.scalar() == Scalar::I1 && param.ty.is_vector();
        args.push(if is_mask { is_set(builder, whole) } else { whole });
    }
    args
}

/// Concatenates vectors.
fn join(builder: &mut Builder<'_>, mut parts: Vec<Value>) -> Value {
    while parts.len() > 1 {
        parts = parts
            .chunks(2)
            .map(|pair| {
                let lanes = builder.func.value_type(pair[0]).lanes().unwrap_or(1) * 2;
                permute(builder, [pair[0], pair[pair.len() - 1]], 0..lanes)
            })
            .collect();
    }
    parts[0]
}

/// Converts an integer of bits to a mask.
fn mask_of_bits(builder: &mut Builder<'_>, bits: Value, lanes: u16) -> Value {
    let width = lanes.max(8);
    let int = Scalar::int(width.into()).unwrap_or(Scalar::I64);
    let cut = match builder.func.value_type(bits) == Type::Scalar(int) {
        true => bits,
        false => builder.op_to(Op::Trunc, int.into(), &[bits]),
    };
    let all = builder.op_to(Op::Bitcast, Type::Vector(Scalar::I1, width), &[cut]);
    if width == lanes {
        return all;
    }
    permute(builder, [all, all], 0..lanes)
}
