//! Import of function declarations: signature, attributes, effects.

use super::refusal::{ImportRefusal, ImportResult};
use super::types::{AddressSpaceMap, TypeTable};
use crate::view::{LlvmModule, Val, attribute_kind};
use heddle_ir::Type;
use heddle_ir::module::{Declaration, Effects, FunctionKind, Param, ReturnValue, Signature};

const FUNCTION: u32 = u32::MAX;
/// Calling conventions of kernels: PTX, SPIR, AMDGPU.
const KERNELS: [u32; 3] = [71, 76, 91];

/// Mathematical functions of the C library. They may set `errno`, which imported programs do not read.
const PURE: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fdim",
    "hypot",
    "log",
    "log10",
    "log1p",
    "log2",
    "nextafter",
    "pow",
    "remainder",
    "sin",
    "sinh",
    "tan",
    "tanh",
];

/// True for names of mathematical functions without side effects.
pub(super) fn is_pure_math(name: &str) -> bool {
    PURE.contains(&name) || name.strip_suffix('f').is_some_and(|name| PURE.contains(&name))
}

/// Returns the declaration of a function.
pub(super) fn declaration<'m>(func: Val<'m>, types: &TypeTable<'m>) -> ImportResult<Declaration> {
    let ty = func.value_type();
    let name = func.name();
    if name.is_empty() {
        return Err(ImportRefusal::new("function without a name", "name it"));
    }
    if ty.is_var_arg() {
        return Err(ImportRefusal::new(
            "variable number of arguments",
            "give the function a fixed number of arguments",
        ));
    }
    for attribute in ["swifterror", "swiftself", "inalloca", "preallocated", "nest"] {
        let kind = attribute_kind(attribute);
        if (0..func.params().len() as u32).any(|index| func.attribute(index + 1, kind).is_some()) {
            return Err(ImportRefusal::new(
                format!("parameter attribute `{attribute}`"),
                "use the calling convention of C",
            ));
        }
    }
    let kind = match func.call_conv() {
        conv if KERNELS.contains(&conv) => FunctionKind::Kernel(None),
        _ => FunctionKind::Function,
    };
    if kind != FunctionKind::Function && !types.leaves(ty.result())?.is_empty() {
        let reason = "kernel with a result";
        return Err(ImportRefusal::new(reason, "write the value to memory"));
    }
    let odd = |ty| types.odd_bits(ty);
    if let Some(bits) = func.params().into_iter().map(|param| param.ty()).chain([ty.result()]).find_map(odd) {
        let reason =
            format!("integers of {bits} bits as parameters or results, which no calling convention has");
        return Err(ImportRefusal::new(reason, "use the next wider type in the source"));
    }
    let mut params = Vec::new();
    for (index, param) in func.params().into_iter().enumerate() {
        let leaves = types.leaves(param.ty())?;
        if func.is_declaration() && param.ty().is_vector() {
            let reason = "external function with a vector parameter";
            return Err(ImportRefusal::new(reason, "define it in the same module"));
        }
        let of = |name| func.attribute(index as u32 + 1, attribute_kind(name));
        for leaf in leaves.iter() {
            let mut taken = Param::new(Type::Scalar(leaf.scalar));
            if leaf.scalar.is_ptr() && leaves.len() == 1 {
                taken.noalias = of("noalias").is_some();
                taken.readonly = of("readonly").is_some() || of("readnone").is_some();
                taken.dereferenceable = of("dereferenceable").unwrap_or(0);
                let align = of("align").or_else(|| of("alignstack")).unwrap_or(1);
                taken.align = u32::try_from(align).ok().filter(|align| align.is_power_of_two()).unwrap_or(1);
            }
            params.push(taken);
        }
    }
    let results = types.leaves(ty.result())?;
    if func.is_declaration() && ty.result().is_vector() {
        let reason = "external function with a vector result";
        return Err(ImportRefusal::new(reason, "define it in the same module"));
    }
    let results: Vec<ReturnValue> =
        results.iter().map(|leaf| ReturnValue { ty: Type::Scalar(leaf.scalar), shape: None }).collect();
    let effects = if func.is_declaration() { effects(func, &name, types.spaces) } else { Effects::ANY };
    Ok(Declaration { name, kind, signature: Signature { params, results, effects } })
}

/// Returns the number of scalars of each parameter of a function, in declaration order.
pub fn param_scalar_counts(llvm: &LlvmModule, name: &str) -> Option<Vec<usize>> {
    let types = TypeTable::new(llvm);
    let func = llvm.functions().find(|func| func.name() == name)?;
    let parts =
        func.params().into_iter().map(|param| types.leaves(param.ty()).ok().map(|leaves| leaves.len()));
    parts.collect()
}

/// Returns LLVM's `memory` attribute: two bits per location kind, 1 reads, 2 writes.
fn memory_of(func: Val<'_>) -> u64 {
    func.attribute(FUNCTION, attribute_kind("memory")).unwrap_or(u64::MAX)
}

/// True for a function that neither reads nor writes memory.
pub(super) fn touches_no_memory(func: Val<'_>) -> bool {
    memory_of(func) == 0
}

/// Returns the effects of calling an external function.
fn effects(func: Val<'_>, name: &str, spaces: AddressSpaceMap) -> Effects {
    let has = |name| func.attribute(FUNCTION, attribute_kind(name)).is_some();
    if is_pure_math(name) && spaces == AddressSpaceMap::Host {
        return Effects::PURE;
    }
    let memory = memory_of(func);
    let any = |bits: u64| (0..32).any(|kind| memory >> (2 * kind) & bits != 0);
    Effects {
        reads: any(1),
        writes: any(2),
        traps: !has("speculatable"),
        convergent: has("convergent"),
        endless: !has("willreturn"),
    }
}
