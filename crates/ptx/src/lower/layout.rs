//! Layout of variables: words of parameters, the window of shared memory.

use super::{KernelWord, LowerOptions, LowerResult, PtxKernel, PtxParam, refuse};
use crate::check::VarRef;
use crate::module::{PtxFunction, PtxItem, PtxModule, PtxStatement, PtxVariable};
use crate::names::Symbol;
use crate::words::Word;
use heddle_ir::module::{Param, ReturnValue, Signature};
use heddle_ir::{Scalar, Space, Type};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of words of a parameter.
const MAX_WORDS: u64 = 8192;

/// Returns the IR type of a PTX type.
pub(crate) fn scalar(ty: Word) -> Scalar {
    match ty {
        Word::Pred => Scalar::I1,
        Word::F16 => Scalar::F16,
        Word::Bf16 => Scalar::BF16,
        Word::F32 => Scalar::F32,
        Word::F64 => Scalar::F64,
        other => int(other.bits().unwrap_or(32)),
    }
}

/// Returns the integer type of this width.
pub(crate) fn int(bits: u32) -> Scalar {
    Scalar::int(bits).unwrap_or(Scalar::I32)
}

/// Returns the type and the number of the words of a parameter.
pub(crate) fn param_words(variable: &PtxVariable<'_>) -> LowerResult<(Scalar, u64)> {
    if variable.dims.is_empty() && variable.vector.is_none() {
        return Ok((scalar(variable.ty), 1));
    }
    let Some(bytes) = variable.bytes() else {
        return refuse("parameter without a fixed size", "pass the address of an array");
    };
    let mut width = variable.alignment().min(8);
    while width > 1 && bytes % width != 0 {
        width /= 2;
    }
    let count = bytes / width;
    if count > MAX_WORDS {
        return refuse(format!("parameter with more than {MAX_WORDS} words"), "pass its address");
    }
    Ok((int(width as u32 * 8), count))
}

/// Returns the IR parameter for a word of a parameter.
fn ir_param(variable: &PtxVariable<'_>, scalar: Scalar, is_kernel: bool) -> Param {
    let mut param = Param::new(Type::Scalar(scalar));
    if let (true, Some((to, align)), Scalar::I64) = (is_kernel, &variable.pointer, scalar) {
        let space = match to {
            Some(Word::Global) => Space::Global,
            Some(Word::Const) => Space::Constant,
            _ => Space::Generic,
        };
        param.ty = Type::ptr(space);
        param.align = align
            .and_then(|align| u32::try_from(align).ok())
            .filter(|align| align.is_power_of_two())
            .unwrap_or(1);
    }
    param
}

/// Builds the signature of a function.
pub(crate) fn signature(function: &PtxFunction<'_>) -> LowerResult<Signature> {
    signature_of(&function.params, &function.returns, function.is_kernel)
}

/// Builds the signature of functions with these parameters and results.
pub(crate) fn signature_of(
    params: &[PtxVariable<'_>],
    returns: &[PtxVariable<'_>],
    is_kernel: bool,
) -> LowerResult<Signature> {
    let mut signature = Signature::new(&[], &[]);
    for variable in params {
        let (scalar, count) = param_words(variable)?;
        let param = ir_param(variable, scalar, is_kernel);
        signature.params.extend(std::iter::repeat_n(param, count as usize));
    }
    for variable in returns {
        let (scalar, count) = param_words(variable)?;
        let result = ReturnValue { ty: Type::Scalar(scalar), shape: None };
        signature.results.extend(std::iter::repeat_n(result, count as usize));
    }
    Ok(signature)
}

/// Computes the parameter layout and resources of a kernel.
pub(crate) fn kernel_layout(function: &PtxFunction<'_>, name: &str, shared_bytes: u64) -> PtxKernel {
    let (mut list, mut params) = (Vec::new(), Vec::new());
    let mut at = 0u64;
    for variable in &function.params {
        let Ok((scalar, count)) = param_words(variable) else { continue };
        at = at.next_multiple_of(variable.alignment());
        let offset = at;
        for _ in 0..count {
            list.push(KernelWord { offset: at, scalar: ir_param(variable, scalar, true).ty.scalar() });
            at += u64::from(scalar.bytes());
        }
        params.push(PtxParam { offset, bytes: at - offset });
    }
    let numbers = function.directives.iter().find(|(name, _)| *name == "maxntid").map(|(_, numbers)| numbers);
    let max_threads = numbers.map(|numbers| numbers.iter().fold(1u64, |all, &size| all.saturating_mul(size)));
    let locals = function.body.iter().flatten().filter_map(|statement| match statement {
        PtxStatement::Variable(variable) if variable.space == Word::Local => variable.bytes(),
        _ => None,
    });
    let local_bytes = locals.fold(0, u64::saturating_add);
    PtxKernel { name: name.into(), words: list, params, bytes: at, shared_bytes, local_bytes, max_threads }
}

/// Bytes of shared memory that are reserved for cooperative groups, at the start of the window; NVIDIA's headers use 288.
pub(crate) const RESERVED_BYTES: u32 = 512;

/// Bytes of reserved memory that are zero at the start of a work-group: the barriers of tiles of several warps.
pub(crate) const ZEROED_BYTES: i64 = 32;

/// Returns true if a function names a register of the reserved shared memory.
pub(crate) fn names_reserved(module: &PtxModule<'_>, function: &PtxFunction<'_>) -> bool {
    let mut is_named = false;
    for statement in function.body.iter().flatten() {
        let PtxStatement::Instruction(instruction) = statement else { continue };
        for operand in &instruction.operands {
            operand.names(&mut |name| is_named |= module.names.text(name).starts_with("%reserved_smem"));
        }
    }
    is_named
}

/// Functions that use reserved shared memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReservedUse {
    None,
    /// Only kernels that name it.
    Kernels,
    /// A function that each kernel may call.
    Functions,
}

impl ReservedUse {
    fn new(module: &PtxModule<'_>) -> ReservedUse {
        let mut found = ReservedUse::None;
        for item in &module.items {
            match item {
                PtxItem::Function(function) if names_reserved(module, function) => match function.is_kernel {
                    true if found == ReservedUse::None => found = ReservedUse::Kernels,
                    true => {}
                    false => found = ReservedUse::Functions,
                },
                _ => {}
            }
        }
        found
    }
}

/// Window of shared memory: one object of the work-group.
pub(crate) struct SharedWindow {
    /// Name of the object.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) align: u32,
    /// Bytes of dynamic shared memory.
    pub(crate) dynamic: u64,
    /// Reads the dynamic size from the object [`super::LAUNCH`].
    pub(crate) launch_objects: bool,
    pub(crate) reserved: ReservedUse,
    /// Offset of each variable, by the source offset of its declaration.
    offsets: FxHashMap<usize, u64>,
}

impl SharedWindow {
    /// Lays out the shared variables. Those of the module and of functions are adjacent; those of different kernels overlap, and
    /// so do those of the module that only one kernel names (`nvcc -rdc=true` declares variables of kernels there).
    pub(crate) fn new(module: &PtxModule<'_>, options: LowerOptions) -> SharedWindow {
        let mut shared = SharedWindow {
            name: "ptx.shared".into(),
            bytes: 0,
            align: 1,
            dynamic: options.dynamic_shared,
            launch_objects: options.launch_objects,
            reserved: ReservedUse::new(module),
            offsets: FxHashMap::default(),
        };
        let mut open: Vec<&PtxVariable<'_>> = Vec::new();
        let mut end = 0;
        if shared.reserved != ReservedUse::None {
            (shared.align, end) = (8, RESERVED_BYTES.into());
        }
        let mut single = None;
        let mut count = 0;
        let mut place_variable = |variable: &PtxVariable<'_>, end: &mut u64, shared: &mut SharedWindow| {
            let align = variable.alignment();
            shared.align = shared.align.max(align as u32);
            let at = end.next_multiple_of(align);
            shared.offsets.insert(variable.at, at);
            *end = at.saturating_add(variable.bytes().unwrap_or(0)).min(1 << 40);
            count += 1;
            single = Some(variable.name);
        };
        let users = kernels_of_shared(module);
        let mut owned: FxHashMap<usize, Vec<&PtxVariable<'_>>> = FxHashMap::default();
        for item in &module.items {
            let PtxItem::Variable(variable) = item else { continue };
            match (variable.bytes(), users.get(&variable.name)) {
                _ if variable.space != Word::Shared => {}
                (None, _) => open.push(variable),
                (Some(_), Some(&Some(kernel))) => owned.entry(kernel).or_default().push(variable),
                (Some(_), _) => place_variable(variable, &mut end, &mut shared),
            }
        }
        let bodies = |kernels: bool| {
            module.items.iter().enumerate().filter_map(move |(index, item)| match item {
                PtxItem::Function(function) if function.is_kernel == kernels => {
                    function.body.as_deref().map(|body| (index, body))
                }
                _ => None,
            })
        };
        let within = |body| {
            let body: &[PtxStatement<'_>] = body;
            body.iter().filter_map(|statement| match statement {
                PtxStatement::Variable(variable) if variable.space == Word::Shared => Some(variable),
                _ => None,
            })
        };
        for variable in bodies(false).flat_map(|(_, body)| within(body)) {
            place_variable(variable, &mut end, &mut shared);
        }
        let base = end;
        for (index, body) in bodies(true) {
            let mut kernel_end = base;
            for &variable in owned.get(&index).into_iter().flatten() {
                place_variable(variable, &mut kernel_end, &mut shared);
            }
            for variable in within(body) {
                match variable.bytes() {
                    Some(_) => place_variable(variable, &mut kernel_end, &mut shared),
                    None => open.push(variable),
                }
            }
            end = end.max(kernel_end);
        }
        if !open.is_empty() {
            let align = open.iter().map(|variable| variable.alignment()).max().unwrap_or(1).max(16);
            end = end.next_multiple_of(align);
            for variable in open {
                let mut here = end;
                place_variable(variable, &mut here, &mut shared);
            }
            end = end.saturating_add(options.dynamic_shared);
        }
        if let (1, Some(name)) = (count, single) {
            shared.name = module.names.text(name).into();
        }
        shared.bytes = end;
        shared
    }

    /// Returns the offset of a variable in the window.
    pub(crate) fn offset(&self, variable: &PtxVariable<'_>) -> u64 {
        self.offsets.get(&variable.at).copied().unwrap_or(0)
    }
}

/// Returns the kernel that names each shared variable of the module, by index of the item; none if others name it, too.
fn kernels_of_shared(module: &PtxModule<'_>) -> FxHashMap<Symbol, Option<usize>> {
    let mut users: FxHashMap<Symbol, Option<usize>> = FxHashMap::default();
    let mut shared = FxHashSet::default();
    for item in &module.items {
        if let PtxItem::Variable(variable) = item
            && variable.space == Word::Shared
        {
            shared.insert(variable.name);
        }
    }
    for (index, item) in module.items.iter().enumerate() {
        let PtxItem::Function(function) = item else { continue };
        let user = function.is_kernel.then_some(index);
        for statement in function.body.iter().flatten() {
            let PtxStatement::Instruction(instruction) = statement else { continue };
            for operand in &instruction.operands {
                operand.names(&mut |name| {
                    if shared.contains(&name) {
                        let known = users.entry(name).or_insert(user);
                        *known = if *known == user { user } else { None };
                    }
                });
            }
        }
    }
    users
}

/// Returns the variable of a reference.
pub(crate) fn variable<'a, 's>(
    module: &'a PtxModule<'s>,
    vars: &[&'a PtxVariable<'s>],
    var: VarRef,
) -> Option<&'a PtxVariable<'s>> {
    match var {
        VarRef::Local(index) => vars.get(index as usize).copied(),
        VarRef::Module(index) => match module.items.get(index) {
            Some(PtxItem::Variable(variable)) => Some(variable),
            _ => None,
        },
    }
}
