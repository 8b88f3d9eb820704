//! Calls of foreign vector variants: a call of an external function becomes a call of its variant, if the module declares one
//! under its mangled name.
//!
//! `widen` calls the adapter `NAME.whole`, which takes whole vectors; the adapter is defined here and calls `NAME` with
//! register-sized parts.

use super::{AbiLayout, AbiMask, AbiVariant, VectorIsa, is_set, permute};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{Declaration, DeclaredShape, FunctionKind, Param, ReturnValue, Signature};
use heddle_ir::types::MAX_LANES;
use heddle_ir::{Constant, Function, Module, Op, Scalar, Space, Type, Value};
use heddle_transform::widen::VectorVariant;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Suffix of the adapter's name.
const ADAPTER_SUFFIX: &str = ".whole";

/// Demangled name of a variant.
struct AbiName<'a> {
    name: &'a str,
    lanes: u32,
    shapes: Vec<DeclaredShape>,
    isa: VectorIsa,
    is_masked: bool,
}

impl AbiName<'_> {
    fn variant(&self) -> AbiVariant<'_> {
        let AbiName { name, lanes, ref shapes, isa, is_masked } = *self;
        AbiVariant { name, lanes, shapes, isa, is_masked }
    }
}

/// Splits a number off the start of a text.
fn split_number(text: &str) -> (Option<i64>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

/// Demangles the name of a variant; none if it is no such name, or uses a kind of parameter that Heddle lacks.
fn demangle(text: &str) -> Option<AbiName<'_>> {
    let mut letters = text.strip_prefix("_ZGV")?.chars();
    let isa = VectorIsa::of_letter(letters.next()?)?;
    let is_masked = match letters.next()? {
        'M' => true,
        'N' => false,
        _ => return None,
    };
    let (lanes, mut rest) = split_number(letters.as_str());
    let lanes = u32::try_from(lanes?).ok().filter(|&lanes| lanes <= MAX_LANES)?;
    let mut shapes = Vec::new();
    while let Some(tail) = rest.strip_prefix(['v', 'u', 'l']) {
        let letter = &rest[..1];
        rest = tail;
        shapes.push(match letter {
            "v" => DeclaredShape::Varying,
            "u" => DeclaredShape::Uniform,
            _ => {
                let tail = rest.strip_prefix('n');
                let (stride, behind) = split_number(tail.unwrap_or(rest));
                rest = behind;
                let stride = stride.unwrap_or(1);
                DeclaredShape::Linear([if tail.is_some() { -stride } else { stride }][..].into())
            }
        });
        // Alignment of a pointer.
        if let Some(tail) = rest.strip_prefix('a') {
            rest = split_number(tail).1;
        }
    }
    let name = rest.strip_prefix('_').filter(|name| !name.is_empty())?;
    Some(AbiName { name, lanes, shapes, isa, is_masked })
}

/// Returns the signature of the adapter.
fn adapter_signature(signature: &Signature, named: &AbiName<'_>) -> Signature {
    let vector = |ty: Type| Type::Vector(ty.scalar(), named.lanes as u16);
    let params = signature.params.iter().zip(&named.shapes).map(|(param, shape)| match shape {
        DeclaredShape::Varying => Param::new(vector(param.ty)),
        DeclaredShape::Uniform | DeclaredShape::Linear(_) => Param::new(param.ty),
    });
    let mask = named.is_masked.then(|| Param::new(vector(Type::I1)));
    let results = signature.results.iter().map(|result| ReturnValue { ty: vector(result.ty), shape: None });
    Signature { params: params.chain(mask).collect(), results: results.collect(), effects: signature.effects }
}

/// Declares the named variants that the instruction set can call, if the module declares their scalar functions.
pub fn declare_variants<'n>(module: &mut Module, names: impl IntoIterator<Item = &'n str>, isa: VectorIsa) {
    let mut known: FxHashSet<String> =
        module.declarations.iter().map(|declaration| declaration.name.clone()).collect();
    let scalar: FxHashMap<String, Arc<Declaration>> =
        module.declarations.iter().map(|it| (it.name.clone(), Arc::clone(it))).collect();
    for text in names {
        let Some(named) = demangle(text).filter(|named| named.isa == isa) else { continue };
        let Some(callee) = scalar.get(named.name) else { continue };
        if callee.signature.params.len() != named.shapes.len() || !known.insert(text.into()) {
            continue;
        }
        // Functions whose signature the ABI cannot express are called lane by lane.
        let Ok(layout) = named.variant().layout(&adapter_signature(&callee.signature, &named)) else {
            continue;
        };
        let effects = callee.signature.effects;
        let signature = Signature { effects, ..Signature::new(&layout.params, &layout.result_types) };
        module.declarations.push(Arc::new(Declaration {
            name: text.into(),
            kind: FunctionKind::Function,
            signature,
        }));
    }
}

/// Returns the declared variants for a brush, by scalar function, whose types conform to the ABI.
pub(crate) fn declared_variants(module: &Module, brush: &[u32]) -> FxHashMap<String, Vec<VectorVariant>> {
    let mut known: FxHashMap<String, Vec<VectorVariant>> = FxHashMap::default();
    let declared: FxHashMap<&str, &Declaration> =
        module.declarations.iter().map(|it| (&*it.name, &**it)).collect();
    let lanes = brush.first().copied().filter(|_| brush.iter().skip(1).all(|&extent| extent == 1));
    for declaration in &module.declarations {
        let Some(named) = demangle(&declaration.name).filter(|named| Some(named.lanes) == lanes) else {
            continue;
        };
        if !declared.get(named.name).is_some_and(|callee| has_types(declaration, callee, &named)) {
            continue;
        }
        let name = format!("{}{ADAPTER_SUFFIX}", declaration.name);
        let variant = VectorVariant { name, shapes: named.shapes, is_masked: named.is_masked };
        known.entry(named.name.into()).or_default().push(variant);
    }
    known
}

/// True if the declared types of a variant conform to the ABI.
fn has_types(declaration: &Declaration, callee: &Declaration, named: &AbiName<'_>) -> bool {
    let signature = &declaration.signature;
    let layout = named.variant().layout(&adapter_signature(&callee.signature, named));
    callee.signature.params.len() == named.shapes.len()
        && layout.is_ok_and(|layout| {
            signature.params.iter().map(|param| param.ty).eq(layout.params)
                && signature.results.iter().map(|result| result.ty).eq(layout.result_types)
        })
}

/// Defines the adapters that wide code calls.
pub(crate) fn define_call_adapters(module: &mut Module) {
    let declared: FxHashMap<String, Arc<Declaration>> =
        module.declarations.iter().map(|it| (it.name.clone(), Arc::clone(it))).collect();
    let mut made: FxHashSet<String> = module.functions.iter().map(|func| func.name.clone()).collect();
    let mut new = Vec::new();
    for callee in module.functions.iter().flat_map(|func| func.callees.values()) {
        let target = callee.name.strip_suffix(ADAPTER_SUFFIX).and_then(|name| declared.get(name));
        let Some(target) = target.filter(|_| !made.contains(&callee.name)) else { continue };
        let Some(named) = demangle(&target.name) else { continue };
        let Ok(layout) = named.variant().layout(&callee.signature) else { continue };
        made.insert(callee.name.clone());
        new.push(build_adapter(callee, target, &named.variant(), &layout));
    }
    module.functions.extend(new);
}

/// Builds an adapter.
fn build_adapter(
    whole: &Declaration,
    target: &Arc<Declaration>,
    variant: &AbiVariant<'_>,
    layout: &AbiLayout,
) -> Function {
    let lanes = variant.lanes as u16;
    let mut func = Function::new(whole.name.clone(), whole.signature.clone());
    let block = func.append_block();
    let mut builder = Builder::new(&mut func, InsertPoint::End(block));
    let mut incoming = builder.func.params().to_vec().into_iter();
    let mut args = Vec::new();
    let memory = layout.result.filter(|_| layout.in_memory).map(|parts| {
        let detail = Detail::Alloca {
            bytes: u64::from(parts.ty().bytes()) * u64::from(parts.count),
            align: parts.ty().bytes(),
        };
        let object = builder.value(InstData::new(Op::Alloca, [], detail), None);
        builder.op_to(Op::SpaceCast, Type::ptr(Space::Generic), &[object])
    });
    args.extend(memory);
    for (parts, mut value) in layout.param_parts.iter().zip(incoming.by_ref()) {
        let Some(parts) = parts else {
            args.push(value);
            continue;
        };
        if builder.func.value_type(value).scalar() == Scalar::I1 {
            value = builder.op_to(Op::Zext, Type::Vector(parts.element, lanes), &[value]);
        }
        args.extend(split(&mut builder, value, parts.lanes, parts.count));
    }
    match (layout.mask, incoming.next()) {
        (Some(AbiMask::Lanes(parts)), Some(mask)) => {
            let whole = builder.op_to(Op::Sext, Type::Vector(parts.element, lanes), &[mask]);
            args.extend(split(&mut builder, whole, parts.lanes, parts.count));
        }
        (Some(AbiMask::Bits(scalar, parts)), Some(mask)) => {
            for part in split(&mut builder, mask, parts.lanes, parts.count) {
                args.push(bits_of_mask(&mut builder, part, scalar));
            }
        }
        _ => {}
    }
    let callee = builder.func.make_callee(target);
    let call = builder.inst(InstData::new(Op::Call, args, Detail::Call(callee)), None);
    let mut value = builder.func.result(call);
    if let (Some(address), Some(parts)) = (memory, layout.result) {
        value = Some(builder.load(Type::Vector(parts.element, lanes), address, parts.ty().bytes()));
    }
    if let (Some(bytes), Some(result)) = (value, whole.signature.results.first())
        && result.ty.scalar() == Scalar::I1
    {
        value = Some(is_set(&mut builder, bytes));
    }
    builder.ret(&value.into_iter().collect::<Vec<_>>());
    func
}

/// Splits a vector into `count` vectors of `lanes` lanes.
fn split(builder: &mut Builder<'_>, whole: Value, lanes: u16, count: u16) -> Vec<Value> {
    match count {
        1 => vec![whole],
        _ => (0..count)
            .map(|part| permute(builder, [whole, whole], part * lanes..(part + 1) * lanes))
            .collect(),
    }
}

/// Converts a mask to an integer of bits, zero-extended.
fn bits_of_mask(builder: &mut Builder<'_>, mut mask: Value, scalar: Scalar) -> Value {
    let lanes = builder.func.value_type(mask).lanes().unwrap_or(1);
    let width = lanes.max(8);
    if lanes < width {
        let none = builder.func.make_const(Constant::splat(Type::Vector(Scalar::I1, lanes), 0));
        mask = permute(builder, [mask, none], (0..width).map(|lane| lane.min(lanes)));
    }
    let int = Scalar::int(width.into()).unwrap_or(Scalar::I64);
    let bits = builder.op_to(Op::Bitcast, int.into(), &[mask]);
    if int == scalar { bits } else { builder.op_to(Op::Zext, scalar.into(), &[bits]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["_ZGVbN4v_f", "_ZGVdM8uvl_g_h", "_ZGVeN16l4ln8u__Z3foof"] {
            let named = demangle(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(named.variant().mangled_name(), text);
        }
        assert_eq!(demangle("_ZGVbN2ua16v_f").map(|named| named.shapes.len()), Some(2));
        for text in [
            "f",
            "_ZGVcN4v_f",
            "_ZGVbX4v_f",
            "_ZGVbNv_f",
            "_ZGVbN4v",
            "_ZGVbN4v_",
            "_ZGVbN4R4v_f",
            "_ZGVbN4ls2_f",
            "_ZGV_LLVM_N4v_f",
        ] {
            assert!(demangle(text).is_none(), "{text}");
        }
    }
}
