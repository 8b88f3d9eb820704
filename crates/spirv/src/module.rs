//! Checked module: types, constants, variables, decorations, entry points and the instructions of functions.
//!
//! Ensures: each id is defined once; types and constants are defined before their uses; functions consist of parameters and
//! blocks that end in one terminator. Checks of instructions in functions are with their lowering.

use crate::SpirvOptions;
use crate::binary::{SpirvBinary, SpirvInst};
use crate::constant::{ConstantValue, SpirvConstant};
use crate::debug_names::debug_names;
use crate::error::{SpirvError, SpirvErrorKind, SpirvResult};
use crate::refusal::refusal;
use crate::support::is_known_decoration;
use crate::types::{NumberKind, SpirvTypeKind, SpirvTypes, space_of};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{
    AddressingModel, BuiltIn, Decoration, ExecutionMode, ExecutionModel, LinkageType, MemoryModel, Op,
};

/// Extended instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExtendedSet {
    OpenCl,
    OpenClDebug,
    ShaderDebug,
    /// Instructions without an effect on the program.
    NonSemantic,
    Unknown,
}

/// Variable of the module.
#[derive(Clone, Debug)]
pub(crate) struct GlobalVariable {
    pub(crate) id: u32,
    pub(crate) ty: u32,
    pub(crate) space: u32,
    pub(crate) pointee: u32,
    pub(crate) initializer: Option<u32>,
    pub(crate) builtin: Option<BuiltIn>,
    pub(crate) at: usize,
}

/// SymbolLinkage of a function or a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SymbolLinkage {
    pub(crate) name: String,
    pub(crate) kind: LinkageType,
}

/// Function.
#[derive(Clone, Debug)]
pub(crate) struct SpirvFunction<'w> {
    pub(crate) id: u32,
    pub(crate) at: usize,
    pub(crate) result: u32,
    pub(crate) control: u32,
    /// Ids and types of the parameters.
    pub(crate) params: Vec<(u32, u32)>,
    /// Instructions from the first label on.
    pub(crate) body: Vec<SpirvInst<'w>>,
}

/// Kernel, and its execution modes.
#[derive(Clone, Debug)]
pub(crate) struct EntryPoint {
    pub(crate) function: u32,
    pub(crate) name: String,
    pub(crate) at: usize,
}

/// Execution mode with its words, or with ids of constants.
#[derive(Clone, Debug)]
pub(crate) struct ModeOperands<'w> {
    pub(crate) mode: ExecutionMode,
    pub(crate) words: &'w [u32],
    pub(crate) at: usize,
}

/// Checked module.
#[derive(Debug)]
pub(crate) struct SpirvModule<'w> {
    pub(crate) types: SpirvTypes,
    pub(crate) constants: FxHashMap<u32, SpirvConstant>,
    pub(crate) variables: Vec<GlobalVariable>,
    pub(crate) variable_of: FxHashMap<u32, usize>,
    pub(crate) functions: Vec<SpirvFunction<'w>>,
    pub(crate) function_of: FxHashMap<u32, usize>,
    pub(crate) entries: Vec<EntryPoint>,
    pub(crate) modes: FxHashMap<u32, Vec<ModeOperands<'w>>>,
    pub(crate) names: FxHashMap<u32, String>,
    pub(crate) strings: FxHashMap<u32, String>,
    pub(crate) sets: FxHashMap<u32, ExtendedSet>,
    decorations: FxHashMap<u32, Vec<(Decoration, &'w [u32])>>,
    /// Debug instructions before functions, by id.
    pub(crate) debug: FxHashMap<u32, SpirvInst<'w>>,
    /// Ids whose definition Heddle lacks, with the reason.
    missing: FxHashMap<u32, SpirvError>,
    /// Instructions that the grammar lacks; they may define any id.
    unknown: Option<SpirvError>,
    /// Names of globals and functions in LLVM IR.
    pub(crate) symbols: FxHashMap<u32, String>,
    used_symbols: FxHashSet<String>,
    bound: u32,
}

/// True for instructions without a result.
pub(crate) fn has_no_result(op: Op) -> bool {
    use Op::*;
    ends_block(op)
        || matches!(
            op,
            Nop | Line
                | NoLine
                | Store
                | CopyMemory
                | CopyMemorySized
                | ControlBarrier
                | MemoryBarrier
                | AtomicStore
                | AtomicFlagClear
                | Label
                | GroupWaitEvents
                | LifetimeStart
                | LifetimeStop
                | LoopMerge
                | SelectionMerge
                | AssumeTrueKHR
                | LoopControlINTEL
                | RestoreMemoryINTEL
                | SubgroupBlockWriteINTEL
                | SubgroupBlockPrefetchINTEL
                | UntypedPrefetchKHR
                | ControlBarrierArriveINTEL
                | ControlBarrierWaitINTEL
                | ImageWrite
                | MaskedScatterINTEL
        )
}

/// True for instructions before the functions that the reader takes first, or that it has no use for.
pub(crate) fn is_annotation(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Nop | SourceContinued
            | Source
            | SourceExtension
            | Name
            | MemberName
            | Line
            | NoLine
            | Extension
            | Capability
            | EntryPoint
            | ExecutionMode
            | ExecutionModeId
            | Decorate
            | DecorateId
            | DecorateString
            | MemberDecorate
            | MemberDecorateString
            | DecorationGroup
            | GroupDecorate
            | GroupMemberDecorate
            | ModuleProcessed
            | AliasDomainDeclINTEL
            | AliasScopeDeclINTEL
            | AliasScopeListDeclINTEL
    )
}

/// True for instructions that end a block.
pub(crate) fn ends_block(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Branch | BranchConditional | Switch | Return | ReturnValue | Unreachable | Kill | TerminateInvocation
    )
}

/// True for an intrinsic of LLVM that tools leave in modules, and that computes a number.
pub(crate) fn is_intrinsic(name: &str) -> bool {
    const NAMES: [&str; 22] = [
        "uadd.sat",
        "usub.sat",
        "sadd.sat",
        "ssub.sat",
        "ushl.sat",
        "sshl.sat",
        "umin",
        "umax",
        "smin",
        "smax",
        "abs",
        "ctpop",
        "ctlz",
        "cttz",
        "bswap",
        "bitreverse",
        "fshl",
        "fshr",
        "fabs",
        "minnum",
        "maxnum",
        "copysign",
    ];
    let Some((name, ty)) = name.strip_prefix("llvm.").and_then(|rest| rest.rsplit_once('.')) else {
        return false;
    };
    NAMES.contains(&name) && ty.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// True for names that a module may not give to its functions.
pub(crate) fn is_reserved(name: &str) -> bool {
    (name.starts_with("llvm.") || name.starts_with("heddle.")) && !is_intrinsic(name)
}

impl<'w> SpirvModule<'w> {
    /// Reads a module.
    pub(crate) fn read(binary: &'w SpirvBinary, options: &SpirvOptions) -> SpirvResult<SpirvModule<'w>> {
        let insts = binary.instructions()?;
        let mut module = SpirvModule {
            types: SpirvTypes::default(),
            constants: FxHashMap::default(),
            variables: Vec::new(),
            variable_of: FxHashMap::default(),
            functions: Vec::new(),
            function_of: FxHashMap::default(),
            entries: Vec::new(),
            modes: FxHashMap::default(),
            names: FxHashMap::default(),
            strings: FxHashMap::default(),
            sets: FxHashMap::default(),
            decorations: FxHashMap::default(),
            debug: FxHashMap::default(),
            missing: FxHashMap::default(),
            unknown: None,
            symbols: FxHashMap::default(),
            used_symbols: FxHashSet::default(),
            bound: binary.bound,
        };
        // Names and decorations stand before what they belong to, functions' symbols behind their uses.
        let start = insts.iter().position(|inst| inst.op == Some(Op::Function)).unwrap_or(insts.len());
        let (head, rest) = insts.split_at(start);
        for inst in head {
            module.annotation(inst).map_err(|error| error.of(|| inst.name()))?;
        }
        module.name_functions(rest)?;
        let mut has_model = false;
        for inst in head {
            let op = inst.op;
            match module.global(inst, options) {
                Ok(()) => has_model |= op == Some(Op::MemoryModel),
                Err(error) => module.fail(inst, error)?,
            }
        }
        if !has_model {
            return Err(SpirvError::invalid(binary.len(), "the memory model is missing"));
        }
        for (id, name) in debug_names(&module, head).into_iter().chain(debug_names(&module, rest)) {
            module.names.entry(id).or_insert(name);
        }
        module.functions(rest)?;
        for entry in &module.entries {
            let Some(&index) = module.function_of.get(&entry.function) else {
                let reason = format!("%{} is no function", entry.function);
                return Err(SpirvError::invalid(entry.at, reason).of(|| "OpEntryPoint".into()));
            };
            if module.functions[index].body.is_empty() {
                let reason = format!("{} has no body", module.show(entry.function));
                return Err(SpirvError::invalid(entry.at, reason).of(|| "OpEntryPoint".into()));
            }
        }
        Ok(module)
    }

    /// Records a missing feature under the id that it defines; other errors are passed on.
    fn fail(&mut self, inst: &SpirvInst<'w>, error: SpirvError) -> SpirvResult<()> {
        let error = error.of(|| inst.name());
        let Some(op) = inst.op.filter(|_| error.kind == SpirvErrorKind::Unsupported) else {
            return Err(error);
        };
        let name = format!("{op:?}");
        let id = if name.starts_with("Type") {
            inst.words.first()
        } else if matches!(op, Op::MemoryModel | Op::Capability | Op::Extension | Op::EntryPoint) {
            None
        } else {
            inst.words.get(1)
        };
        match id {
            Some(&id) => {
                self.missing.insert(id, error);
                Ok(())
            }
            None => Err(error),
        }
    }

    /// Text of an id in messages: its number and its name.
    pub(crate) fn show(&self, id: u32) -> String {
        match self.names.get(&id) {
            Some(name) => format!("%{id} `{}`", name.escape_debug()),
            None => format!("%{id}"),
        }
    }

    /// Error for an id without a suitable definition.
    pub(crate) fn undefined(&self, inst: &SpirvInst<'_>, id: u32, wanted: &str) -> SpirvError {
        if let Some(missing) = self.missing.get(&id) {
            let reason = format!("{} is of word {}: {}", self.show(id), missing.word, missing.reason);
            return inst.unsupported(reason, missing.help.clone());
        }
        if let Some(unknown) = &self.unknown {
            return unknown.clone();
        }
        inst.invalid(format!("{} is no {wanted}", self.show(id)))
    }

    /// Returns the first decoration of a kind, with its operands.
    pub(crate) fn decoration(&self, id: u32, kind: Decoration) -> Option<&'w [u32]> {
        self.decorations_of(id).find(|(found, _)| *found == kind).map(|(_, words)| words)
    }

    /// Returns the decorations of an id.
    pub(crate) fn decorations_of(&self, id: u32) -> impl Iterator<Item = (Decoration, &'w [u32])> {
        self.decorations.get(&id).into_iter().flatten().copied()
    }

    /// Returns the linkage of an id.
    pub(crate) fn linkage(&self, id: u32) -> Option<SymbolLinkage> {
        let words = self.decoration(id, Decoration::LinkageAttributes)?;
        let inst = SpirvInst { op: None, number: 0, at: 0, words };
        let mut operands = inst.operands();
        let name = operands.string().ok()?;
        Some(SymbolLinkage { name, kind: LinkageType::from_u32(operands.word().ok()?)? })
    }

    /// Returns the bits of a constant number.
    pub(crate) fn constant_bits(&self, id: u32) -> Option<u64> {
        match &self.constants.get(&id)?.value {
            ConstantValue::Numbers(bits) if bits.len() == 1 => Some(bits[0]),
            _ => None,
        }
    }

    /// Reads names, decorations, modes and entry points.
    fn annotation(&mut self, inst: &SpirvInst<'w>) -> SpirvResult<()> {
        let mut operands = inst.operands();
        match inst.op {
            Some(Op::Name) => {
                let (id, name) = (operands.word()?, operands.string()?);
                if !name.is_empty() {
                    self.names.insert(id, name);
                }
            }
            Some(Op::Decorate | Op::DecorateId | Op::DecorateString) => {
                let id = operands.word()?;
                if let Some(kind) = Decoration::from_u32(operands.word()?) {
                    self.decorations.entry(id).or_default().push((kind, operands.rest()));
                }
            }
            Some(Op::GroupDecorate) => {
                let group = operands.word()?;
                let list = self.decorations.get(&group).cloned().unwrap_or_default();
                for &id in operands.rest() {
                    self.decorations.entry(id).or_default().extend(list.iter().copied());
                }
            }
            Some(Op::EntryPoint) => {
                let (model, function) = (operands.word()?, operands.word()?);
                let name = operands.string()?;
                if ExecutionModel::from_u32(model) != Some(ExecutionModel::Kernel) {
                    let reason = format!("the entry point `{}` is no kernel", name.escape_debug());
                    return Err(inst.unsupported(reason, "write a module for OpenCL"));
                }
                if name.is_empty() {
                    return Err(inst.invalid("a kernel has no name"));
                }
                if self.entries.iter().any(|entry| entry.name == name) {
                    return Err(inst.invalid(format!("there are two kernels `{}`", name.escape_debug())));
                }
                self.entries.push(EntryPoint { function, name, at: inst.at });
            }
            Some(Op::ExecutionMode | Op::ExecutionModeId) => {
                let (function, mode) = (operands.word()?, operands.word()?);
                if let Some(mode) = ExecutionMode::from_u32(mode) {
                    let mode = ModeOperands { mode, words: operands.rest(), at: inst.at };
                    self.modes.entry(function).or_default().push(mode);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives functions their names in LLVM IR: kernels and functions with a linkage first, which keep theirs.
    fn name_functions(&mut self, insts: &[SpirvInst<'w>]) -> SpirvResult<()> {
        for entry in &self.entries {
            self.used_symbols.insert(entry.name.clone());
        }
        let functions = insts.iter().filter(|inst| inst.op == Some(Op::Function));
        let ids: Vec<u32> = functions.map(|inst| inst.operand(1)).collect::<SpirvResult<_>>()?;
        for &id in &ids {
            if let Some(linkage) = self.linkage(id) {
                // Two imports of one name are one function; a kernel keeps its name.
                let is_kernel = self.entries.iter().any(|entry| entry.name == linkage.name);
                if !is_kernel && !linkage.name.is_empty() && !is_reserved(&linkage.name) {
                    self.used_symbols.insert(linkage.name.clone());
                    self.symbols.insert(id, linkage.name);
                }
            }
        }
        for id in ids {
            self.name_symbol(id, "function");
        }
        Ok(())
    }

    /// Gives a function or variable without a linkage a name that nothing else has.
    fn name_symbol(&mut self, id: u32, kind: &str) {
        if self.symbols.contains_key(&id) {
            return;
        }
        let named = self.names.get(&id).filter(|name| {
            let reserved = ["_Z", "llvm.", "heddle.", "__", "printf"];
            !reserved.iter().any(|prefix| name.starts_with(prefix)) && !self.used_symbols.contains(*name)
        });
        let symbol = named.cloned().unwrap_or_else(|| {
            let base = self.names.get(&id).map_or(kind, |name| name.as_str());
            format!("spirv.{base}.{id}")
        });
        self.used_symbols.insert(symbol.clone());
        self.symbols.insert(id, symbol);
    }

    /// Checks that an id is in bounds and defined once.
    fn define(&self, inst: &SpirvInst<'_>, id: u32) -> SpirvResult<()> {
        if id == 0 || id >= self.bound {
            return Err(inst.invalid(format!("%{id} is not below the bound {}", self.bound)));
        }
        let is_known = self.types.get(id).is_some()
            || self.constants.contains_key(&id)
            || self.variable_of.contains_key(&id)
            || self.function_of.contains_key(&id)
            || self.strings.contains_key(&id)
            || self.sets.contains_key(&id);
        if is_known {
            return Err(inst.invalid(format!("{} is defined twice", self.show(id))));
        }
        Ok(())
    }

    /// Reads an instruction before the functions.
    fn global(&mut self, inst: &SpirvInst<'w>, options: &SpirvOptions) -> SpirvResult<()> {
        let mut operands = inst.operands();
        let Some(op) = inst.op else {
            let reason = format!("the opcode {} is unknown", inst.number);
            let error = inst.unsupported(reason, "write a module without the extension that it belongs to");
            self.unknown.get_or_insert(error);
            return Ok(());
        };
        match op {
            Op::MemoryModel => {
                let (addressing, model) = (operands.word()?, operands.word()?);
                if MemoryModel::from_u32(model) != Some(MemoryModel::OpenCL) {
                    let reason = format!("the memory model {model} is not OpenCL's");
                    return Err(inst.unsupported(reason, "write a module for OpenCL"));
                }
                if AddressingModel::from_u32(addressing) != Some(AddressingModel::Physical64) {
                    let reason = "pointers are not of 64 bits";
                    return Err(inst.unsupported(reason, "use the addressing model Physical64"));
                }
            }
            Op::String => {
                let (id, text) = (operands.word()?, operands.string()?);
                self.define(inst, id)?;
                self.strings.insert(id, text);
            }
            Op::ExtInstImport => {
                let (id, name) = (operands.word()?, operands.string()?);
                self.define(inst, id)?;
                let set = match &*name {
                    "OpenCL.std" => ExtendedSet::OpenCl,
                    "OpenCL.DebugInfo.100" => ExtendedSet::OpenClDebug,
                    "NonSemantic.Shader.DebugInfo.100" | "NonSemantic.Shader.DebugInfo.200" => {
                        ExtendedSet::ShaderDebug
                    }
                    name if name.starts_with("NonSemantic.") => ExtendedSet::NonSemantic,
                    _ => ExtendedSet::Unknown,
                };
                self.sets.insert(id, set);
            }
            Op::ExtInst | Op::ExtInstWithForwardRefsKHR => {
                self.debug.insert(inst.operand(1)?, *inst);
            }
            Op::TypeForwardPointer => self.types.declare_pointer(inst)?,
            Op::Variable | Op::UntypedVariableKHR => {
                let (ty, id, class) = (operands.word()?, operands.word()?, operands.word()?);
                self.define(inst, id)?;
                let Some((space, mut pointee)) = self.types.pointer(ty) else {
                    return Err(self.undefined(inst, ty, "pointer type"));
                };
                if op == Op::UntypedVariableKHR {
                    pointee = operands.word()?;
                }
                if space_of(inst, class)? != space {
                    return Err(inst.invalid("the storage classes of variable and type differ"));
                }
                if !self.types.is_sized(pointee) {
                    return Err(self.undefined(inst, pointee, "type with a size"));
                }
                let builtin = self.decoration(id, Decoration::BuiltIn);
                let builtin = builtin.and_then(|words| BuiltIn::from_u32(*words.first()?));
                if builtin.is_none() && !matches!(space, 1..=3) {
                    let reason =
                        format!("{} is neither a builtin nor in memory of the device", self.show(id));
                    return Err(inst.unsupported(reason, "declare it in CrossWorkgroup or Workgroup memory"));
                }
                let initializer = operands.optional();
                if let Some(initializer) = initializer {
                    let is_fit =
                        self.initializer_type(initializer).is_some_and(|of| self.same_type(of, pointee));
                    if !is_fit {
                        return Err(self.undefined(inst, initializer, "constant of the variable's type"));
                    }
                }
                self.variable_of.insert(id, self.variables.len());
                self.variables.push(GlobalVariable {
                    id,
                    ty,
                    space,
                    pointee,
                    initializer,
                    builtin,
                    at: inst.at,
                });
                if builtin.is_none() {
                    match self.linkage(id) {
                        Some(linkage) if !linkage.name.is_empty() && !linkage.name.starts_with("llvm.") => {
                            if !self.used_symbols.insert(linkage.name.clone()) {
                                let name = linkage.name.escape_debug();
                                return Err(inst.invalid(format!("there are two symbols `{name}`")));
                            }
                            self.symbols.insert(id, linkage.name);
                        }
                        _ => self.name_symbol(id, "variable"),
                    }
                }
            }
            _ if format!("{op:?}").starts_with("Type") => {
                let id = operands.word()?;
                self.define(inst, id)?;
                let is_packed = self.decoration(id, Decoration::CPacked).is_some();
                let mut types = std::mem::take(&mut self.types);
                let done = types.add(inst, op, |id| self.constant_bits(id), is_packed);
                self.types = types;
                if let Err(error) = done {
                    // An operand may be of a feature that Heddle lacks.
                    let lacking = inst.words.iter().skip(1).find(|id| self.missing.contains_key(id));
                    return Err(match lacking {
                        Some(&id) => self.undefined(inst, id, "type"),
                        None => error,
                    });
                }
            }
            _ if format!("{op:?}").contains("Constant") || op == Op::Undef => {
                let id = inst.operand(1)?;
                self.define(inst, id)?;
                let constant = self.read_constant(inst, op, options)?;
                self.constants.insert(id, constant);
            }
            _ if is_annotation(op) => {}
            _ => match refusal(&inst.name()) {
                Some((reason, help)) => return Err(inst.unsupported(reason, help)),
                None => return Err(inst.invalid("the instruction is outside of a function")),
            },
        }
        Ok(())
    }

    /// Returns an error if an id has a decoration that Heddle lacks.
    pub(crate) fn check_decorations(&self, inst: &SpirvInst<'_>, id: u32) -> SpirvResult<()> {
        let refused = self.decorations_of(id).find(|(kind, _)| !is_known_decoration(*kind));
        let Some((kind, _)) = refused else { return Ok(()) };
        match refusal(&format!("{kind:?}")) {
            Some((reason, help)) => {
                let reason = format!("{} has the decoration {kind:?}: {reason}", self.show(id));
                Err(inst.unsupported(reason, help))
            }
            None => Ok(()),
        }
    }

    /// Type of what an initializer may be: a constant or the address of a variable.
    fn initializer_type(&self, id: u32) -> Option<u32> {
        let variable = || self.variable_of.get(&id).map(|&index| self.variables[index].ty);
        self.constants.get(&id).map(|constant| constant.ty).or_else(variable)
    }

    /// True if LLVM has one type for both.
    pub(crate) fn same_type(&self, left: u32, right: u32) -> bool {
        left == right
            || matches!((self.types.get(left), self.types.get(right)),
                (Some(left), Some(right)) if left.text == right.text && !left.text.is_empty())
    }

    /// True for the type of integers of a width.
    pub(crate) fn is_int(&self, ty: u32, bits: u32) -> bool {
        self.types.get(ty).is_some_and(|ty| ty.kind == SpirvTypeKind::Number(NumberKind::Int(bits)))
    }

    /// Splits the second part of a module into functions.
    fn functions(&mut self, insts: &[SpirvInst<'w>]) -> SpirvResult<()> {
        let mut open: Option<(SpirvFunction<'w>, Vec<u32>)> = None;
        for inst in insts {
            let invalid = |reason: &str| Err(inst.invalid(reason));
            match (inst.op, &mut open) {
                (Some(Op::Function), None) => {
                    let mut operands = inst.operands();
                    let (result, id) = (operands.word()?, operands.word()?);
                    let (control, ty) = (operands.word()?, operands.word()?);
                    self.define(inst, id)?;
                    let of = self.types.get(ty).map(|ty| ty.kind.clone());
                    let Some(SpirvTypeKind::Function { result: declared, params }) = of else {
                        return Err(self.undefined(inst, ty, "function type"));
                    };
                    if declared != result {
                        return invalid("the result's type differs from the function type's");
                    }
                    self.function_of.insert(id, self.functions.len());
                    let function = SpirvFunction {
                        id,
                        at: inst.at,
                        result,
                        control,
                        params: Vec::new(),
                        body: Vec::new(),
                    };
                    open = Some((function, params));
                }
                (Some(Op::FunctionParameter), Some((function, params))) if function.body.is_empty() => {
                    let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                    let index = function.params.len();
                    if params.get(index) != Some(&ty) {
                        return invalid("a parameter's type differs from the function type's");
                    }
                    function.params.push((id, ty));
                }
                (Some(Op::FunctionEnd), Some((function, params))) => {
                    if function.params.len() != params.len() {
                        return invalid("the function has other parameters than its type");
                    }
                    let last = function.body.iter().rev().find_map(|inst| {
                        inst.op.filter(|op| !matches!(op, Op::Line | Op::NoLine | Op::ExtInst))
                    });
                    if last.is_some_and(|op| !ends_block(op)) {
                        return invalid("the last block has no terminator");
                    }
                    self.functions.extend(open.take().map(|(function, _)| function));
                }
                (Some(Op::Line | Op::NoLine | Op::Nop), None) => {}
                (Some(Op::ExtInst), None) => {}
                (_, None) => return invalid("the instruction is outside of a function"),
                (Some(Op::Function), Some(_)) => return invalid("a function is inside of another one"),
                (Some(Op::Line | Op::NoLine), Some((function, _))) if function.body.is_empty() => {}
                (op, Some((function, _))) => {
                    if function.body.is_empty() && !matches!(op, Some(Op::Label)) {
                        return invalid("a block begins without a label");
                    }
                    function.body.push(*inst);
                }
            }
        }
        match open {
            Some((function, _)) => Err(SpirvError::invalid(function.at, "the function has no end")),
            None => Ok(()),
        }
    }
}
