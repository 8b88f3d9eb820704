//! Where variables lie: words of parameters, the window of shared memory.

use super::{KernelWord, LowerOptions, LowerResult, PtxKernel, PtxParam, refuse};
use crate::check::VarRef;
use crate::module::{PtxFunction, PtxItem, PtxModule, PtxStatement, PtxVariable};
use crate::words::Word;
use heddle_ir::module::{Param, ReturnValue, Signature};
use heddle_ir::{Scalar, Space, Type};
use rustc_hash::FxHashMap;

/// The most words that a parameter may have.
const MOST_WORDS: u64 = 8192;

/// The scalar that holds a value of a type.
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

/// The integer of this many bits.
pub(crate) fn int(bits: u32) -> Scalar {
    Scalar::int(bits).unwrap_or(Scalar::I32)
}

/// The words of a parameter: their type, and how many.
pub(crate) fn words(variable: &PtxVariable<'_>) -> LowerResult<(Scalar, u64)> {
    if variable.dims.is_empty() && variable.vector.is_none() {
        return Ok((scalar(variable.ty), 1));
    }
    let Some(bytes) = variable.bytes() else {
        return refuse("a parameter has no fixed size", "pass the address of an array");
    };
    let mut width = variable.alignment().min(8);
    while width > 1 && bytes % width != 0 {
        width /= 2;
    }
    let count = bytes / width;
    if count > MOST_WORDS {
        return refuse(format!("a parameter has more than {MOST_WORDS} words"), "pass its address");
    }
    Ok((int(width as u32 * 8), count))
}

/// The type that a kernel's parameter is passed as.
fn passed(variable: &PtxVariable<'_>, scalar: Scalar, is_kernel: bool) -> Param {
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

/// What callers know of a function.
pub(crate) fn signature(function: &PtxFunction<'_>) -> LowerResult<Signature> {
    let mut signature = Signature::new(&[], &[]);
    for variable in &function.params {
        let (scalar, count) = words(variable)?;
        let param = passed(variable, scalar, function.is_kernel);
        signature.params.extend(std::iter::repeat_n(param, count as usize));
    }
    for variable in &function.returns {
        let (scalar, count) = words(variable)?;
        let result = ReturnValue { ty: Type::Scalar(scalar), shape: None };
        signature.results.extend(std::iter::repeat_n(result, count as usize));
    }
    Ok(signature)
}

/// How a kernel's parameters lie in a buffer.
pub(crate) fn buffer(function: &PtxFunction<'_>, name: &str, shared_bytes: u64) -> PtxKernel {
    let (mut list, mut params) = (Vec::new(), Vec::new());
    let mut at = 0u64;
    for variable in &function.params {
        let Ok((scalar, count)) = words(variable) else { continue };
        at = at.next_multiple_of(variable.alignment());
        let offset = at;
        for _ in 0..count {
            list.push(KernelWord { offset: at, scalar: passed(variable, scalar, true).ty.scalar() });
            at += u64::from(scalar.bytes());
        }
        params.push(PtxParam { offset, bytes: at - offset });
    }
    let numbers = function.directives.iter().find(|(name, _)| *name == "maxntid").map(|(_, numbers)| numbers);
    let most_threads =
        numbers.map(|numbers| numbers.iter().fold(1u64, |all, &size| all.saturating_mul(size)));
    let locals = function.body.iter().flatten().filter_map(|statement| match statement {
        PtxStatement::Variable(variable) if variable.space == Word::Local => variable.bytes(),
        _ => None,
    });
    let local_bytes = locals.fold(0, u64::saturating_add);
    PtxKernel { name: name.into(), words: list, params, bytes: at, shared_bytes, local_bytes, most_threads }
}

/// The window of shared memory: one object of the work-group.
pub(crate) struct SharedWindow {
    /// What it is called.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) align: u32,
    /// Bytes that launches ask for.
    pub(crate) dynamic: u64,
    /// Whether launches tell how many those are.
    pub(crate) told_by_launches: bool,
    /// By the place in the source of its declaration, where a variable lies.
    places: FxHashMap<usize, u64>,
}

impl SharedWindow {
    /// Variables of the module and of functions lie one behind the other, those of different kernels in the same place.
    pub(crate) fn new(module: &PtxModule<'_>, options: LowerOptions) -> SharedWindow {
        let mut shared = SharedWindow {
            name: "ptx.shared".into(),
            bytes: 0,
            align: 1,
            dynamic: options.dynamic_shared,
            told_by_launches: options.told_by_launches,
            places: FxHashMap::default(),
        };
        let mut open: Vec<&PtxVariable<'_>> = Vec::new();
        let mut end = 0;
        let mut single = None;
        let mut count = 0;
        let mut put = |variable: &PtxVariable<'_>, end: &mut u64, shared: &mut SharedWindow| {
            let align = variable.alignment();
            shared.align = shared.align.max(align as u32);
            let at = end.next_multiple_of(align);
            shared.places.insert(variable.at, at);
            *end = at.saturating_add(variable.bytes().unwrap_or(0)).min(1 << 40);
            count += 1;
            single = Some(variable.name);
        };
        let is_shared = |variable: &&PtxVariable<'_>| variable.space == Word::Shared;
        for item in &module.items {
            match item {
                PtxItem::Variable(variable) if is_shared(&variable) => match variable.bytes() {
                    Some(_) => put(variable, &mut end, &mut shared),
                    None => open.push(variable),
                },
                _ => {}
            }
        }
        let bodies = |kernels: bool| {
            module.items.iter().filter_map(move |item| match item {
                PtxItem::Function(function) if function.is_kernel == kernels => function.body.as_deref(),
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
        for variable in bodies(false).flat_map(within) {
            put(variable, &mut end, &mut shared);
        }
        let base = end;
        for body in bodies(true) {
            let mut kernel_end = base;
            for variable in within(body) {
                match variable.bytes() {
                    Some(_) => put(variable, &mut kernel_end, &mut shared),
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
                put(variable, &mut here, &mut shared);
            }
            end = end.saturating_add(options.dynamic_shared);
        }
        if let (1, Some(name)) = (count, single) {
            shared.name = module.names.text(name).into();
        }
        shared.bytes = end;
        shared
    }

    /// Where a variable lies in the window.
    pub(crate) fn offset(&self, variable: &PtxVariable<'_>) -> u64 {
        self.places.get(&variable.at).copied().unwrap_or(0)
    }
}

/// The variable that is meant.
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
