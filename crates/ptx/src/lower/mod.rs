//! Lowering of a PTX module to a module of the IR at stage Source.
//!
//! Registers become SSA values (`flow.rs`, `body.rs`). Parameters become words that are passed by value (`layout.rs`).
//! Shared variables become parts of one local object, so a shared address is an offset in it, whatever its width
//! (`layout.rs`). A warp is a brush of 32 lanes. A function with an unsupported construct is left out with a diagnostic.

mod layout;
mod flow;
mod emit;
mod body;
mod integer;
mod video;
mod float;
mod convert;
mod narrow;
mod memory;
mod warp;
mod meeting;
mod mbarrier;
mod matrix;
mod product;
mod fragment;
mod texture;
mod call;
mod indirect;
mod idioms;
mod bounds;

use crate::check::{GlobalRef, GlobalScope, resolve};
use crate::module::{Linkage, NumberValue, PtxFunction, PtxInitializer, PtxItem, PtxModule, PtxVariable};
use crate::parser::MAX_ERRORS;
use crate::words::Word;
use body::lower_body;
use heddle_ir::diagnostic::{Code, Diagnostic};
use heddle_ir::module::{Declaration, FunctionKind, Global, GlobalInit};
use heddle_ir::verify::{Stage, verify};
use heddle_ir::{Scalar, Space, Type};
pub use indirect::NO_FUNCTION;
use indirect::{FunctionAddresses, define_dispatchers};
pub(crate) use layout::RESERVED_BYTES;
use layout::{SharedWindow, signature};
pub use meeting::NO_ARRIVAL;
use product::define_products;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Options of the lowering.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LowerOptions {
    /// Size of dynamic shared memory in bytes.
    pub dynamic_shared: u64,
    /// Reads the size of dynamic shared memory from the object [`LAUNCH`] and the workspace of cooperative launches from an
    /// object, both filled in by launches.
    pub launch_objects: bool,
}

/// Parameter of the IR's kernel: one word of a PTX parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelWord {
    /// Offset in the parameter buffer.
    pub offset: u64,
    /// Type.
    pub scalar: Scalar,
}

/// Parameter of a PTX kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PtxParam {
    /// Offset in the parameter buffer.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Parameter layout and resources of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PtxKernel {
    /// Name.
    pub name: String,
    /// Parameters of the IR's kernel, by offset in the buffer.
    pub words: Vec<KernelWord>,
    /// PTX parameters that consist of those words.
    pub params: Vec<PtxParam>,
    /// Size of the buffer in bytes.
    pub bytes: u64,
    /// Bytes of shared memory of its variables.
    pub shared_bytes: u64,
    /// Bytes of local memory of its variables.
    pub local_bytes: u64,
    /// Maximum number of threads of a block, from `.maxntid`.
    pub max_threads: Option<u64>,
}

/// Result of the lowering.
#[derive(Clone, Debug)]
pub struct LoweredModule {
    /// Module at stage Source.
    pub module: heddle_ir::Module,
    /// Lowered kernels.
    pub kernels: Vec<PtxKernel>,
    /// Refused functions and variables, in module order.
    pub refused: Vec<Diagnostic>,
}

/// Reason of a refusal, with help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PtxRefusal {
    pub(crate) reason: String,
    pub(crate) help: String,
}

pub(crate) type LowerResult<T> = Result<T, PtxRefusal>;

pub(crate) fn refuse<T>(reason: impl Into<String>, help: impl Into<String>) -> LowerResult<T> {
    Err(PtxRefusal { reason: reason.into(), help: help.into() })
}

/// Context shared by all functions of a module.
pub(crate) struct LoweringContext<'a, 's> {
    pub(crate) module: &'a PtxModule<'s>,
    pub(crate) shared: SharedWindow,
    /// Name and space of each variable that is a global of the IR, by index of the item.
    pub(crate) objects: FxHashMap<usize, (Arc<str>, Space)>,
    /// Declaration of each function, by index of the item.
    pub(crate) declarations: FxHashMap<usize, LowerResult<Arc<Declaration>>>,
    /// Addresses of functions.
    pub(crate) addresses: FunctionAddresses,
    pub(crate) files: FxHashMap<u32, heddle_ir::module::File>,
    /// The PTX file itself, for locations without `.loc`.
    pub(crate) own_file: heddle_ir::module::File,
    /// Start of each line of the source.
    pub(crate) lines: Vec<usize>,
}

impl LoweringContext<'_, '_> {
    /// Returns line and column of an offset in the source.
    pub(crate) fn line(&self, at: usize) -> (u32, u32) {
        let line = self.lines.partition_point(|&start| start <= at);
        let start = self.lines.get(line.wrapping_sub(1)).copied().unwrap_or(0);
        (line as u32, (at - start) as u32 + 1)
    }
}

/// Global that counts reads of the clock.
pub(crate) const CLOCK: &str = "ptx.clock";
/// Global with the size of dynamic shared memory in bytes, 32 bits wide.
pub const LAUNCH: &str = "ptx.launch";
/// Global with the workspace of a cooperative launch: its size and a counter at which blocks wait.
pub(crate) const WORKSPACE: &str = "ptx.workspace";
/// Global in which `bar.red` counts.
pub(crate) const VOTES: &str = "ptx.votes";
/// Function that prints values from a private object of the thread.
const OUTPUT: &str = "vprintf";

/// Lowers a module. `path` names it in locations.
pub fn lower(
    source: &PtxModule<'_>,
    path: &str,
    options: LowerOptions,
) -> Result<LoweredModule, Vec<Diagnostic>> {
    let globals = GlobalScope::new(source);
    let mut malformed = Vec::new();
    let mut module = heddle_ir::Module::default();
    let own_file = module.files.push(path.into());
    let mut files = FxHashMap::default();
    let mut refused = Vec::new();
    for item in &source.items {
        if let PtxItem::File { number, name, .. } = item
            && let Ok(number) = u32::try_from(*number)
        {
            let file = module.files.push((*name).into());
            files.insert(number, file);
        }
    }
    let text = source.source.as_bytes();
    let newlines = text.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at + 1);
    let mut context = LoweringContext {
        module: source,
        shared: SharedWindow::new(source, options),
        objects: FxHashMap::default(),
        declarations: FxHashMap::default(),
        addresses: FunctionAddresses::new(source, &globals),
        files,
        own_file,
        lines: std::iter::once(0).chain(newlines).collect(),
    };
    objects(&mut context, &globals, &mut module, &mut refused);
    for (index, item) in source.items.iter().enumerate() {
        if let PtxItem::Function(function) = item {
            context.declarations.insert(index, declaration(source, function));
        }
    }
    let mut kernels = Vec::new();
    let mut taken = FxHashSet::default();
    for (index, item) in source.items.iter().enumerate() {
        let PtxItem::Function(function) = item else { continue };
        let Some(GlobalRef::Function(defined)) = globals.by_name.get(&function.name) else { continue };
        if function.body.is_none() || *defined != index {
            continue;
        }
        let name = source.names.text(function.name);
        let Some(declaration) = context.declarations.get(&index).cloned() else { continue };
        let done = declaration
            .map_err(|refusal| refusal_diagnostic(source, function, function.at, refusal))
            .and_then(|declaration| {
                let body = resolve(source, &globals, function).map_err(|errors| {
                    let error = first(&errors, name);
                    malformed.extend(errors);
                    error
                })?;
                let mut func = lower_body(&context, &body, &declaration)
                    .map_err(|(at, refusal)| refusal_diagnostic(source, function, at, refusal))?;
                idioms::recognize(&mut func);
                bounds::set_flags(&mut func);
                verify(&func, Stage::Source).map_err(|violations| {
                    Diagnostic::error(
                        Code::Internal,
                        format!("internal error: malformed function\n{violations}"),
                    )
                    .of_func(name)
                })?;
                Ok(func)
            });
        match done {
            Ok(func) => {
                if function.is_kernel {
                    let shared_bytes = context.shared.bytes;
                    kernels.push(layout::kernel_layout(function, name, shared_bytes));
                }
                taken.insert(name);
                module.functions.push(func);
            }
            Err(diagnostic) => refused.push(diagnostic),
        }
    }
    // A module of which nothing is left is malformed, if any of its functions is.
    if module.functions.is_empty() && malformed.iter().any(|error| error.code != Code::NotImported) {
        malformed.truncate(MAX_ERRORS);
        return Err(malformed);
    }
    define_dispatchers(&context, options, &mut module);
    define_products(&mut module);
    runtime_objects(&context, &mut module);
    let mut known: FxHashSet<String> = module.functions.iter().map(|func| func.name.clone()).collect();
    let mut missing = Vec::new();
    for callee in module.functions.iter().flat_map(|func| func.callees.values()) {
        if known.insert(callee.name.clone()) {
            missing.push(Arc::clone(callee));
        }
    }
    module.declarations.extend(missing);
    Ok(LoweredModule { module, kernels, refused })
}

/// Returns the first error of a function.
fn first(errors: &[Diagnostic], name: &str) -> Diagnostic {
    let mut error =
        errors.first().cloned().unwrap_or_else(|| Diagnostic::error(Code::Internal, "unknown reason"));
    error.place.func.get_or_insert_with(|| name.into());
    error
}

fn refusal_diagnostic(
    source: &PtxModule<'_>,
    function: &PtxFunction<'_>,
    at: usize,
    refusal: PtxRefusal,
) -> Diagnostic {
    let name = source.names.text(function.name);
    let span = crate::check::span(source.source, at);
    let mut diagnostic = Diagnostic::error(Code::NotImported, refusal.reason)
        .in_text(source.source.as_bytes(), span)
        .help(refusal.help);
    diagnostic.place.func = Some(name.into());
    diagnostic
}

fn declaration(source: &PtxModule<'_>, function: &PtxFunction<'_>) -> LowerResult<Arc<Declaration>> {
    let numbers = function.directives.iter().find(|(name, _)| *name == "reqntid").map(|(_, numbers)| numbers);
    let size = numbers.map(|numbers| {
        let at = |index: usize| numbers.get(index).map_or(1, |&n| u32::try_from(n).unwrap_or(u32::MAX));
        [at(0), at(1), at(2)]
    });
    let kind = if function.is_kernel { FunctionKind::Kernel(size) } else { FunctionKind::Function };
    let mut signature = signature(function)?;
    if let (None, OUTPUT, [_, values]) =
        (&function.body, source.names.text(function.name), &mut signature.params[..])
    {
        // A pointer passed as an integer would escape.
        values.ty = Type::ptr(Space::Private);
    }
    Ok(Arc::new(Declaration { name: source.names.text(function.name).into(), kind, signature }))
}

/// Creates globals for the module's variables in global and constant memory.
fn objects(
    context: &mut LoweringContext<'_, '_>,
    globals: &GlobalScope,
    module: &mut heddle_ir::Module,
    refused: &mut Vec<Diagnostic>,
) {
    let source = context.module;
    for (index, item) in source.items.iter().enumerate() {
        let PtxItem::Variable(variable) = item else { continue };
        if !matches!(globals.by_name.get(&variable.name), Some(GlobalRef::Variable(first)) if *first == index)
        {
            continue;
        }
        let space = match variable.space {
            Word::Global => Space::Global,
            Word::Const => Space::Constant,
            _ => continue,
        };
        let name: Arc<str> = source.names.text(variable.name).into();
        match initial_value(source, globals, &context.addresses, variable) {
            Ok(init) => {
                let align = variable.alignment() as u32;
                context.objects.insert(index, (Arc::clone(&name), space));
                module.globals.push(Global { name, space, align, init });
            }
            Err(refusal) => {
                let span = crate::check::span(source.source, variable.at);
                let text = format!("@{name}: {}", refusal.reason);
                refused.push(
                    Diagnostic::error(Code::NotImported, text)
                        .in_text(source.source.as_bytes(), span)
                        .help(refusal.help),
                );
            }
        }
    }
}

fn push_bits(parts: &mut Vec<GlobalInit>, scalar: Scalar, bits: u128) {
    match parts.last_mut() {
        Some(GlobalInit::Values(_, values)) => values.push(bits),
        _ => parts.push(GlobalInit::Values(scalar, vec![bits])),
    }
}

/// Maximum size of a variable in bytes.
const MAX_BYTES: u64 = 1 << 40;

fn initial_value(
    source: &PtxModule<'_>,
    globals: &GlobalScope,
    addresses: &FunctionAddresses,
    variable: &PtxVariable<'_>,
) -> LowerResult<Vec<GlobalInit>> {
    if variable.linkage == Some(Linkage::Extern) {
        return refuse("undefined variable", "define it in this module, or link the module that does");
    }
    let scalar = layout::scalar(variable.ty);
    let width = u64::from(scalar.bytes());
    let mut parts: Vec<GlobalInit> = Vec::new();
    let mut used = 0;
    for part in variable.init.iter().flatten() {
        match part {
            PtxInitializer::Open | PtxInitializer::Close => continue,
            PtxInitializer::Number(number) => {
                let bits = match (number.value, scalar) {
                    (NumberValue::Int(value), _) => u128::from(value),
                    (NumberValue::Single(bits), Scalar::F64) => {
                        u128::from(f64::from(f32::from_bits(bits)).to_bits())
                    }
                    (NumberValue::Single(bits), _) => u128::from(bits),
                    (NumberValue::Double(bits), Scalar::F32) => {
                        u128::from((f64::from_bits(bits) as f32).to_bits())
                    }
                    (NumberValue::Double(bits), _) => u128::from(bits),
                } & scalar.bit_mask();
                push_bits(&mut parts, scalar, bits);
            }
            PtxInitializer::Address { name, offset, .. } => {
                let text = source.names.text(*name);
                let index = match globals.by_name.get(name) {
                    Some(GlobalRef::Variable(index)) => index,
                    Some(GlobalRef::Function(index)) if width == 8 && offset.is_none() => {
                        push_bits(&mut parts, scalar, addresses.of_item(*index).into());
                        used += width;
                        continue;
                    }
                    _ => {
                        return refuse(
                            format!("the address of `{text}` is no initial value"),
                            "use 64-bit addresses of variables and functions",
                        );
                    }
                };
                let in_shared =
                    matches!(&source.items[*index], PtxItem::Variable(of) if of.space == Word::Shared);
                if in_shared || width != 8 || source.items[*index].is_extern() {
                    return refuse(
                        format!("address of `{text}` as initial value"),
                        "use 64-bit addresses of global or constant variables",
                    );
                }
                let offset = match offset.map(|offset| offset.value) {
                    Some(NumberValue::Int(value)) => value as i64,
                    _ => 0,
                };
                parts.push(GlobalInit::Address(text.into(), offset));
            }
        }
        used += width;
    }
    let bytes = match variable.bytes() {
        Some(bytes) => bytes,
        None if variable.dims.first() == Some(&None) && variable.init.is_some() => used,
        None => return refuse("variable of unknown size", "define it in this module"),
    };
    if bytes > MAX_BYTES || used > bytes {
        return refuse("variable or initial value too large", "make it smaller");
    }
    if bytes > used {
        parts.push(GlobalInit::Zero(bytes - used));
    }
    Ok(parts)
}

/// Creates the globals that lowered code uses: shared memory window, clock, vote counter, launch objects.
fn runtime_objects(context: &LoweringContext<'_, '_>, module: &mut heddle_ir::Module) {
    let mut uses = FxHashSet::default();
    for func in &module.functions {
        for block in func.blocks() {
            for inst in func.block_insts(block) {
                for &arg in func.inst(inst).args.iter() {
                    if let Some(heddle_ir::Constant::Address(_, name)) = func.constant(arg) {
                        uses.insert(Arc::clone(name));
                    }
                }
            }
        }
    }
    let mut add = |name: &str, space: Space, align: u32, init: GlobalInit| {
        if uses.contains(name) {
            module.globals.push(Global { name: name.into(), space, align, init: vec![init] });
        }
    };
    add(VOTES, Space::Local, 4, GlobalInit::Poison(4));
    add(meeting::COUNTS, Space::Local, 8, GlobalInit::Poison(meeting::COUNTS_BYTES));
    // The last local object: a launch places dynamic shared memory after it.
    add(
        &context.shared.name,
        Space::Local,
        context.shared.align,
        GlobalInit::Poison(context.shared.bytes.max(1)),
    );
    add(CLOCK, Space::Global, 8, GlobalInit::Zero(8));
    add(LAUNCH, Space::Global, 8, GlobalInit::Zero(8));
    add(WORKSPACE, Space::Global, 8, GlobalInit::Zero(8));
}
