//! LLVM module: declarations, variables, functions, kernels with clang's metadata, lines.

use crate::SpirvOptions;
use crate::binary::SpirvInst;
use crate::error::{SpirvError, SpirvErrorKind, SpirvResult};
use crate::function::{ANY, FunctionBody, FunctionWriter};
use crate::inlining::inlined_functions;
use crate::module::{
    EntryPoint, ExtendedSet, ModeOperands, SpirvFunction, SpirvModule, is_intrinsic, is_reserved,
};
use crate::refusal::refusal;
use crate::text::quoted;
use crate::types::{NumberKind, SpirvTypeKind};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{
    Decoration, ExecutionMode, FunctionControl, FunctionParameterAttribute, LinkageType,
    NonsemanticShaderDebuginfo100Op, Op,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Prefix of functions that stand for unsupported features. Their attributes hold the reason and the help.
pub const UNSUPPORTED: &str = "heddle.unsupported.";
/// Attribute of the reason.
pub const REASON: &str = "heddle-reason";
/// Attribute of the help.
pub const HELP: &str = "heddle-help";

/// Text that does not depend on the module.
const HEAD: &str = "target datalayout = \"e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-G1\"
target triple = \"spir64-unknown-unknown\"
";

/// Most bytes of text that a module of some size becomes.
const MIN_LIMIT: usize = 64 << 20;
const BYTES_PER_WORD: usize = 512;

/// Parts of the LLVM module that functions add to.
pub(crate) struct ModuleWriter {
    declarations: BTreeMap<String, String>,
    /// Symbols that the module defines.
    defined: FxHashSet<String>,
    metadata: Vec<String>,
    locations: FxHashMap<(u32, Option<String>, u32, u32), u32>,
    files: FxHashMap<String, u32>,
    scopes: FxHashMap<(u32, u32), u32>,
    unit: Option<u32>,
    size: usize,
    pub(crate) limit: usize,
    pub(crate) has_exact_quotients: bool,
    has_strict_aliasing: bool,
    pub(crate) has_finite_math: bool,
    /// Tags of accesses by the type of the number.
    alias_tags: FxHashMap<String, u32>,
    /// Name of the module in locations.
    module_file: String,
    /// Functions that LLVM inlines.
    inlined: FxHashSet<u32>,
}

impl ModuleWriter {
    fn new(words: usize) -> ModuleWriter {
        ModuleWriter {
            declarations: BTreeMap::new(),
            defined: FxHashSet::default(),
            metadata: Vec::new(),
            locations: FxHashMap::default(),
            files: FxHashMap::default(),
            scopes: FxHashMap::default(),
            unit: None,
            size: 0,
            limit: MIN_LIMIT.saturating_add(words.saturating_mul(BYTES_PER_WORD)),
            has_exact_quotients: false,
            has_strict_aliasing: false,
            has_finite_math: false,
            alias_tags: FxHashMap::default(),
            module_file: String::new(),
            inlined: FxHashSet::default(),
        }
    }

    /// Bytes of the functions written so far.
    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// Declares a function, unless the module defines or declares it.
    pub(crate) fn declare(&mut self, name: &str, result: &str, params: &str, attributes: &str) {
        if !self.defined.contains(name) && !self.declarations.contains_key(name) {
            let text = format!("declare spir_func {result} @{}({params}) {attributes}\n", quoted(name));
            self.declarations.insert(name.into(), text);
        }
    }

    /// Declares an intrinsic of LLVM.
    pub(crate) fn declare_plain(&mut self, name: &str, result: &str, params: &str) {
        if !self.declarations.contains_key(name) {
            self.declarations.insert(name.into(), format!("declare {result} @{name}({params})\n"));
        }
    }

    /// Adds a metadata node and returns its number.
    fn node(&mut self, text: String) -> u32 {
        self.metadata.push(text);
        (self.metadata.len() - 1) as u32
    }

    /// Returns the tag of accesses to numbers of a type, if types tell memory apart.
    pub(crate) fn alias_tag(&mut self, ty: &str) -> Option<u32> {
        if !self.has_strict_aliasing {
            return None;
        }
        if let Some(&tag) = self.alias_tags.get(ty) {
            return Some(tag);
        }
        // Equal nodes are one node in LLVM.
        let root = self.node("!{!\"SPIR-V\"}".into());
        let node = self.node(format!("!{{!{}, !{root}, i64 0}}", quoted(ty)));
        let tag = self.node(format!("!{{!{node}, !{node}, i64 0}}"));
        self.alias_tags.insert(ty.into(), tag);
        Some(tag)
    }

    fn file(&mut self, name: &str) -> u32 {
        if let Some(&node) = self.files.get(name) {
            return node;
        }
        let node = self.node(format!("!DIFile(filename: {}, directory: \"\")", quoted(name)));
        self.files.insert(name.into(), node);
        node
    }

    /// Adds the subprogram of a function and returns its number.
    pub(crate) fn subprogram(
        &mut self,
        module: &SpirvModule<'_>,
        func: &SpirvFunction<'_>,
        name: &str,
    ) -> u32 {
        let lines = func.body.iter().filter_map(|inst| line_of(module, inst));
        let (file, line) = lines.map(|(file, line, _)| (file, line)).next().unwrap_or((None, func.at as u32));
        let module_file = self.module_file.clone();
        let file = self.file(file.as_deref().unwrap_or(&module_file));
        let unit = match self.unit {
            Some(unit) => unit,
            None => {
                let unit = self.node(format!(
                    "distinct !DICompileUnit(language: DW_LANG_C99, file: !{file}, producer: \"Heddle\", \
                     isOptimized: false, runtimeVersion: 0, emissionKind: LineTablesOnly)"
                ));
                self.unit = Some(unit);
                unit
            }
        };
        let ty = self.node("!DISubroutineType(types: !{})".into());
        self.node(format!(
            "distinct !DISubprogram(name: {}, scope: !{file}, file: !{file}, line: {line}, type: !{ty}, \
             scopeLine: {line}, spFlags: DISPFlagDefinition, unit: !{unit})",
            quoted(name)
        ))
    }

    /// Returns the node of a location.
    pub(crate) fn location(&mut self, subprogram: u32, file: Option<&str>, line: u32, column: u32) -> u32 {
        let key = (subprogram, file.map(Into::into), line, column);
        if let Some(&node) = self.locations.get(&key) {
            return node;
        }
        let scope = match file {
            Some(file) => {
                let file = self.file(file);
                match self.scopes.get(&(subprogram, file)) {
                    Some(&scope) => scope,
                    None => {
                        let scope = self.node(format!(
                            "!DILexicalBlockFile(scope: !{subprogram}, file: !{file}, discriminator: 0)"
                        ));
                        self.scopes.insert((subprogram, file), scope);
                        scope
                    }
                }
            }
            None => subprogram,
        };
        let column = column.min(u16::MAX.into());
        let node = self.node(format!("!DILocation(line: {line}, column: {column}, scope: !{scope})"));
        self.locations.insert(key, node);
        node
    }

    /// True for an instruction that gives a line.
    pub(crate) fn is_line(&self, module: &SpirvModule<'_>, inst: &SpirvInst<'_>) -> bool {
        inst.op == Some(Op::ExtInst) && line_of(module, inst).is_some()
    }

    /// Body of a function that reaches an unsupported feature.
    fn refused(&mut self, error: &SpirvError, result: &str) -> String {
        // Named by its reason: linked modules have one declaration of each name.
        let name = format!("{UNSUPPORTED}{:016x}", hash(&format!("{error}\n{}", error.help)));
        let attributes = format!(
            "{ANY} {}={} {}={}",
            quoted(REASON),
            quoted(&error.to_string()),
            quoted(HELP),
            quoted(&error.help)
        );
        self.declare(&name, "void", "", &attributes);
        let end = if result == "void" { "ret void".into() } else { format!("ret {result} poison") };
        format!("entry:\n  call spir_func void @{}() {ANY}\n  {end}\n", quoted(&name))
    }
}

/// FNV-1a hash of a text.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Returns the file, line and column that an instruction sets.
pub(crate) fn line_of(module: &SpirvModule<'_>, inst: &SpirvInst<'_>) -> Option<(Option<String>, u32, u32)> {
    match inst.op? {
        Op::Line => {
            let file = module.strings.get(inst.words.first()?).cloned();
            Some((file, *inst.words.get(1)?, *inst.words.get(2)?))
        }
        Op::ExtInst => {
            let [_, _, set, number, source, line, _, column, ..] = *inst.words else { return None };
            let is_line = module.sets.get(&set) == Some(&ExtendedSet::ShaderDebug)
                && number == NonsemanticShaderDebuginfo100Op::DebugLine as u32;
            if !is_line {
                return None;
            }
            let source = module.debug.get(&source).and_then(|source| source.words.get(4));
            let file = source.and_then(|file| module.strings.get(file)).cloned();
            let number = |id| module.constant_bits(id).map(|bits| bits as u32);
            Some((file, number(line)?, number(column).unwrap_or(0)))
        }
        _ => None,
    }
}

/// Returns LLVM's attributes of a parameter, each after a space.
pub(crate) fn param_attributes(
    module: &SpirvModule<'_>,
    id: u32,
    ty: u32,
    is_kernel: bool,
) -> SpirvResult<String> {
    let mut list: Vec<String> = Vec::new();
    if is_kernel {
        list.push("noundef".into());
    }
    let text_of = |list: &[String]| list.iter().map(|word| format!(" {word}")).collect::<String>();
    let Some((_, pointee)) = module.types.pointer(ty) else { return Ok(text_of(&list)) };
    let mut align = None;
    for (kind, words) in module.decorations_of(id) {
        let number = words.first().copied();
        match kind {
            Decoration::FuncParamAttr => {
                let of = module.types.get(pointee).filter(|_| module.types.is_sized(pointee));
                match (number.and_then(FunctionParameterAttribute::from_u32), of) {
                    (Some(FunctionParameterAttribute::ByVal), Some(of)) => {
                        list.push(format!("byval({})", of.text));
                        align.get_or_insert(of.align);
                    }
                    // A kernel writes its result to memory like any other.
                    (Some(FunctionParameterAttribute::Sret), Some(of)) if !is_kernel => {
                        list.push(format!("sret({})", of.text));
                    }
                    (Some(FunctionParameterAttribute::NoAlias), _) => list.push("noalias".into()),
                    (Some(FunctionParameterAttribute::NoWrite), _) => list.push("readonly".into()),
                    (Some(FunctionParameterAttribute::NoReadWrite), _) => list.push("readnone".into()),
                    _ => {}
                }
            }
            Decoration::Restrict => list.push("noalias".into()),
            Decoration::Alignment => {
                let given =
                    number.map(u64::from).filter(|align| align.is_power_of_two() && *align <= 1 << 16);
                align = given.or(align);
            }
            Decoration::MaxByteOffset => {
                if let Some(bytes) = number.filter(|&bytes| bytes > 0) {
                    list.push(format!("dereferenceable({bytes})"));
                }
            }
            _ => {}
        }
    }
    // The weaker of two attributes that exclude one another goes.
    let is_unused = list.iter().any(|it| it == "readnone");
    let mut unique: Vec<String> = Vec::new();
    for word in list.into_iter().filter(|it| !is_unused || it != "readonly") {
        if !unique.contains(&word) {
            unique.push(word);
        }
    }
    let align = align.map(|align| format!(" align {align}")).unwrap_or_default();
    Ok(text_of(&unique) + &align)
}

/// Checks that a function has one parameter at most for the memory of its result, among the first two, and not by value.
fn check_result_parameter(module: &SpirvModule<'_>, func: &SpirvFunction<'_>) -> SpirvResult<()> {
    let mut has_one = false;
    for (index, &(id, _)) in func.params.iter().enumerate() {
        let has = |attribute: FunctionParameterAttribute| {
            module.decorations_of(id).any(|(kind, words)| {
                kind == Decoration::FuncParamAttr && words.first() == Some(&(attribute as u32))
            })
        };
        let is_result = has(FunctionParameterAttribute::Sret);
        if is_result && (has_one || index > 1 || has(FunctionParameterAttribute::ByVal)) {
            let reason = format!("{} cannot be the memory of the function's result", module.show(id));
            return Err(SpirvError::invalid(func.at, reason));
        }
        has_one |= is_result;
    }
    Ok(())
}

/// Returns the text of a checked module as LLVM IR.
pub(crate) fn write_module(
    module: &SpirvModule<'_>,
    words: usize,
    options: &SpirvOptions,
) -> SpirvResult<String> {
    let mut output = ModuleWriter::new(words);
    output.has_exact_quotients = options.has_exact_quotients;
    output.has_strict_aliasing = options.has_strict_aliasing;
    output.has_finite_math = options.has_finite_math;
    output.module_file = if options.file.is_empty() { "program.spv".into() } else { options.file.clone() };
    for entry in &module.entries {
        output.defined.insert(entry.name.clone());
    }
    for function in module.functions.iter().filter(|function| !function.body.is_empty()) {
        output.defined.extend(module.symbols.get(&function.id).cloned());
    }
    let variables = write_variables(module)?;
    let called = called_functions(module);
    output.inlined = inlined_functions(module);
    let mut functions = String::new();
    for function in &module.functions {
        let is_kernel = module.entries.iter().any(|entry| entry.function == function.id);
        if !is_kernel || called.contains(&function.id) {
            let text = write_function(module, &mut output, function, None)?;
            functions.push_str(&text);
        }
        for entry in module.entries.iter().filter(|entry| entry.function == function.id) {
            let text = write_function(module, &mut output, function, Some(entry))?;
            functions.push_str(&text);
        }
        output.size = functions.len();
        if output.size > output.limit {
            let reason = "the program becomes too long";
            return Err(SpirvError::unsupported(function.at, reason, "keep large constants in buffers"));
        }
    }
    let mut text = String::from(HEAD);
    text.push_str(&module.types.definitions);
    text.push_str(&variables);
    text.push_str(&functions);
    output.declarations.values().for_each(|declaration| text.push_str(declaration));
    if let Some(unit) = output.unit {
        let flag = output.node("!{i32 2, !\"Debug Info Version\", i32 3}".into());
        let _ = writeln!(text, "!llvm.dbg.cu = !{{!{unit}}}\n!llvm.module.flags = !{{!{flag}}}");
    }
    for (number, node) in output.metadata.iter().enumerate() {
        let _ = writeln!(text, "!{number} = {node}");
    }
    Ok(text)
}

fn called_functions(module: &SpirvModule<'_>) -> FxHashSet<u32> {
    let calls = module.functions.iter().flat_map(|function| &function.body);
    let calls = calls.filter(|inst| inst.op == Some(Op::FunctionCall));
    calls.filter_map(|inst| inst.words.get(2).copied()).collect()
}

fn write_variables(module: &SpirvModule<'_>) -> SpirvResult<String> {
    let mut text = String::new();
    for variable in module.variables.iter().filter(|variable| variable.builtin.is_none()) {
        let Some(of) = module.types.get(variable.pointee) else { continue };
        let linkage = module.linkage(variable.id).map(|linkage| linkage.kind);
        let is_import = linkage == Some(LinkageType::Import);
        let linkage = match linkage {
            Some(LinkageType::Import) => "external ",
            Some(LinkageType::Export) => "",
            Some(LinkageType::LinkOnceODR) => "linkonce_odr ",
            _ => "internal ",
        };
        let is_constant =
            variable.space == 2 || module.decoration(variable.id, Decoration::Constant).is_some();
        let kind = if is_constant { "constant" } else { "global" };
        let initial = match variable.initializer.filter(|_| !is_import) {
            Some(id) => match module.constants.get(&id) {
                Some(constant) => constant.text.to_string(),
                None => module.symbol_text(id),
            },
            None if is_import => String::new(),
            None if variable.space == 3 => "undef".into(),
            None => "zeroinitializer".into(),
        };
        let decorated = module.decoration(variable.id, Decoration::Alignment);
        let align = decorated.and_then(|words| words.first()).map_or(of.align, |&align| u64::from(align));
        let align = align.max(of.align);
        if !align.is_power_of_two() || align > 1 << 16 {
            return Err(SpirvError::invalid(
                variable.at,
                format!("the alignment {align} is no power of two"),
            ));
        }
        let symbol = module.symbol_text(variable.id);
        // clang's local variables have no initializer, and LLVM ignores one.
        let initial = if variable.space == 3 && !is_import { "undef".into() } else { initial };
        let _ = writeln!(
            text,
            "{symbol} = {linkage}addrspace({}) {kind} {} {initial}, align {align}",
            variable.space, of.text
        );
    }
    Ok(text)
}

/// Writes a function, as a kernel if it is one.
fn write_function(
    module: &SpirvModule<'_>,
    output: &mut ModuleWriter,
    function: &SpirvFunction<'_>,
    entry: Option<&EntryPoint>,
) -> SpirvResult<String> {
    let text_of = |ty: u32| module.types.get(ty).map_or("void", |ty| &ty.text);
    let result = text_of(function.result);
    let symbol = module.symbols.get(&function.id).map_or("", String::as_str);
    let name = entry.map_or(symbol, |entry| &entry.name);
    let control = FunctionControl::from_bits_truncate(function.control);
    let mut attributes = String::from(ANY);
    check_result_parameter(module, function)?;
    let linkage = module.linkage(function.id).map(|linkage| linkage.kind);
    if function.body.is_empty() {
        if linkage != Some(LinkageType::Import) {
            let reason = format!("{} has neither a body nor the linkage Import", module.show(function.id));
            return Err(SpirvError::invalid(function.at, reason).of(|| "OpFunction".into()));
        }
        let imported = module.linkage(function.id).map(|linkage| linkage.name).unwrap_or_default();
        if control.contains(FunctionControl::CONST) {
            attributes.push_str(" willreturn memory(none)");
        } else if control.contains(FunctionControl::PURE) {
            attributes.push_str(" willreturn memory(read)");
        }
        let mut params = Vec::new();
        for &(id, ty) in &function.params {
            params.push(format!("{}{}", text_of(ty), param_attributes(module, id, ty, false)?));
        }
        if is_intrinsic(name) {
            output.declare_plain(name, result, &params.join(", "));
            return Ok(String::new());
        }
        if is_reserved(&imported) {
            let reason = format!("the function `{}` is not OpenCL's", imported.escape_debug());
            let error = SpirvError::unsupported(function.at, reason, "call functions of OpenCL");
            let params: Vec<&str> = function.params.iter().map(|&(_, ty)| text_of(ty)).collect();
            let body = output.refused(&error, result);
            let params = params.join(", ");
            return Ok(format!(
                "define internal spir_func {result} @{}({params}) {ANY} {{\n{body}}}\n",
                quoted(name)
            ));
        }
        output.declare(name, result, &params.join(", "), &attributes);
        return Ok(String::new());
    }
    if entry.is_none() {
        if output.inlined.contains(&function.id) {
            attributes.push_str(" alwaysinline");
        } else if control.contains(FunctionControl::DONT_INLINE) {
            attributes.push_str(" noinline");
        }
    }
    let modes = match entry {
        Some(_) => kernel_modes(module, function),
        None => Ok(String::new()),
    };
    let body = modes.and_then(|modes| {
        let name = module.names.get(&function.id).map_or(name, String::as_str);
        Ok((FunctionWriter::write(module, output, function, name)?, modes))
    });
    let (FunctionBody { text, subprogram }, modes) = match body {
        Ok(body) => body,
        Err(error) if error.kind == SpirvErrorKind::Unsupported => {
            (FunctionBody { text: output.refused(&error, result), subprogram: None }, String::new())
        }
        Err(error) => return Err(error),
    };
    let mut params = Vec::new();
    for &(id, ty) in &function.params {
        params.push(format!("{}{} %v{id}", text_of(ty), param_attributes(module, id, ty, entry.is_some())?));
    }
    let (linkage, convention) = match (entry, linkage) {
        (Some(_), _) => ("", "spir_kernel"),
        (None, Some(LinkageType::Export)) => ("", "spir_func"),
        (None, Some(LinkageType::LinkOnceODR)) => ("linkonce_odr ", "spir_func"),
        (None, _) => ("internal ", "spir_func"),
    };
    let mut metadata = String::new();
    if entry.is_some() {
        metadata = kernel_arguments(module, function);
        metadata.push_str(&modes);
    }
    if let Some(subprogram) = subprogram {
        let _ = write!(metadata, " !dbg !{subprogram}");
    }
    let symbol = quoted(name);
    let params = params.join(", ");
    Ok(format!(
        "define {linkage}{convention} {result} @{symbol}({params}) {attributes}{metadata} {{\n{text}}}\n"
    ))
}

/// Use of an execution mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ModeUse {
    Size,
    SizeHint,
    SubGroupSize,
    SubGroups,
    VectorHint,
    /// Contraction is a permission; the others hold anyway, or are left to the device.
    Nothing,
}

/// Returns the use of an execution mode; none if Heddle lacks it.
pub(crate) fn mode_use(mode: ExecutionMode) -> Option<ModeUse> {
    use ExecutionMode::*;
    Some(match mode {
        LocalSize | LocalSizeId => ModeUse::Size,
        LocalSizeHint | LocalSizeHintId => ModeUse::SizeHint,
        SubgroupSize => ModeUse::SubGroupSize,
        SubgroupsPerWorkgroup | SubgroupsPerWorkgroupId => ModeUse::SubGroups,
        VecTypeHint => ModeUse::VectorHint,
        ContractionOff
        | DenormPreserve
        | DenormFlushToZero
        | SignedZeroInfNanPreserve
        | RoundingModeRTE
        | FloatingPointModeIEEEINTEL
        | MaximallyReconvergesKHR
        | SubgroupUniformControlFlowKHR
        | FPFastMathDefault
        | MaxWorkgroupSizeINTEL
        | MaxWorkDimINTEL
        | NoGlobalOffsetINTEL
        | NumSIMDWorkitemsINTEL
        | SchedulerTargetFmaxMhzINTEL
        | MaximumRegistersINTEL
        | MaximumRegistersIdINTEL
        | NamedMaximumRegistersINTEL => ModeUse::Nothing,
        _ => return None,
    })
}

/// Returns the metadata of a kernel's execution modes, each after a space.
fn kernel_modes(module: &SpirvModule<'_>, function: &SpirvFunction<'_>) -> SpirvResult<String> {
    let mut text = String::new();
    if module.types.get(function.result).map(|ty| &ty.kind) != Some(&SpirvTypeKind::Void) {
        return Err(SpirvError::invalid(function.at, "a kernel returns a value"));
    }
    for ModeOperands { mode, words, at } in module.modes.get(&function.id).into_iter().flatten() {
        let size = || -> SpirvResult<String> {
            let is_id = matches!(mode, ExecutionMode::LocalSizeId | ExecutionMode::LocalSizeHintId);
            let number = |&word: &u32| match is_id {
                true => module.constant_bits(word).map(|bits| bits as u32),
                false => Some(word),
            };
            match words.iter().map(number).collect::<Option<Vec<u32>>>().as_deref() {
                Some([x, y, z]) if [x, y, z].iter().all(|size| **size > 0) => {
                    Ok(format!("!{{i32 {x}, i32 {y}, i32 {z}}}"))
                }
                _ => Err(SpirvError::invalid(*at, "the size is not three positive numbers")),
            }
        };
        match mode_use(*mode) {
            Some(ModeUse::Size) => {
                let _ = write!(text, " !reqd_work_group_size {}", size()?);
            }
            Some(ModeUse::SizeHint) => {
                let _ = write!(text, " !work_group_size_hint {}", size()?);
            }
            Some(ModeUse::SubGroupSize) => {
                let lanes = words.first().copied().unwrap_or(0);
                let _ = write!(text, " !intel_reqd_sub_group_size !{{i32 {lanes}}}");
            }
            Some(ModeUse::SubGroups) => {
                let word = words.first().copied().unwrap_or(0);
                let count = match mode {
                    ExecutionMode::SubgroupsPerWorkgroup => Some(u64::from(word)),
                    _ => module.constant_bits(word),
                };
                let count = count.and_then(|count| u32::try_from(count).ok()).filter(|&count| count > 0);
                let count = count.ok_or_else(|| {
                    SpirvError::invalid(*at, "the number of sub-groups is no positive constant")
                })?;
                let _ = write!(text, " !heddle.sub_groups !{{i32 {count}}}");
            }
            Some(ModeUse::VectorHint) => {
                let hint = words.first().copied().unwrap_or(0);
                let count = if hint >> 16 <= 1 { 1 } else { hint >> 16 };
                let kinds = ["i8", "i16", "i32", "i64", "half", "float", "double"];
                if let Some(kind) = kinds.get((hint & 0xffff) as usize).filter(|_| count <= 16) {
                    let ty = if count == 1 { (*kind).into() } else { format!("<{count} x {kind}>") };
                    let _ = write!(text, " !vec_type_hint !{{{ty} undef, i32 1}}");
                }
            }
            Some(ModeUse::Nothing) => {}
            None => {
                let lacking = ("it is not supported", "write the kernel without it");
                let (reason, help) = refusal(&format!("{mode:?}")).unwrap_or(lacking);
                let reason = format!("the execution mode {mode:?}: {reason}");
                return Err(SpirvError::unsupported(*at, reason, help).of(|| "OpExecutionMode".into()));
            }
        }
    }
    Ok(text)
}

/// Returns the metadata of a kernel's arguments as clang writes it.
fn kernel_arguments(module: &SpirvModule<'_>, function: &SpirvFunction<'_>) -> String {
    let mut spaces = Vec::new();
    let mut lists: [Vec<String>; 5] = Default::default();
    let names: Vec<String> = argument_types(module, function).unwrap_or_default();
    for (index, &(id, ty)) in function.params.iter().enumerate() {
        let is_value = module.decorations_of(id).any(|(kind, words)| {
            kind == Decoration::FuncParamAttr
                && words.first() == Some(&(FunctionParameterAttribute::ByVal as u32))
        });
        let pointer = module.types.pointer(ty).filter(|_| !is_value);
        let kind = module.types.get(ty).map(|ty| &ty.kind);
        let image = if let Some(SpirvTypeKind::Image(image)) = kind { Some(image) } else { None };
        let space = pointer.map_or(u32::from(image.is_some()), |(space, _)| space);
        spaces.push(format!("i32 {space}"));
        let mut qualifiers = Vec::new();
        let has = |wanted| {
            module.decorations_of(id).any(|(kind, words)| {
                kind == Decoration::FuncParamAttr && words.first() == Some(&(wanted as u32))
            })
        };
        if pointer.is_some() {
            let is_constant = pointer.is_some_and(|(space, _)| space == 2);
            if is_constant || has(FunctionParameterAttribute::NoWrite) {
                qualifiers.push("const");
            }
            if has(FunctionParameterAttribute::NoAlias)
                || module.decoration(id, Decoration::Restrict).is_some()
            {
                qualifiers.push("restrict");
            }
            if module.decoration(id, Decoration::Volatile).is_some() {
                qualifiers.push("volatile");
            }
        }
        let name = match (names.get(index), pointer) {
            (Some(name), _) => name.clone(),
            (None, Some((_, pointee))) => format!("{}*", type_name(module, pointee)),
            (None, None) if is_value => {
                module.types.pointer(ty).map_or_else(String::new, |(_, pointee)| type_name(module, pointee))
            }
            (None, None) => type_name(module, ty),
        };
        lists[0].push(image.map_or("none", |image| image.qualifier()).into());
        lists[1].push(name.clone());
        // By this name the driver knows images and samplers.
        let is_object = image.is_some() || kind == Some(&SpirvTypeKind::Sampler);
        lists[2].push(if is_object { type_name(module, ty) } else { name });
        lists[3].push(qualifiers.join(" "));
        lists[4].push(module.names.get(&id).cloned().unwrap_or_default());
    }
    let kinds = ["access_qual", "type", "base_type", "type_qual", "name"];
    let mut text = format!(" !kernel_arg_addr_space !{{{}}}", spaces.join(", "));
    for (kind, list) in kinds.iter().zip(&lists) {
        let list: Vec<String> = list.iter().map(|word| format!("!{}", quoted(word))).collect();
        let _ = write!(text, " !kernel_arg_{kind} !{{{}}}", list.join(", "));
    }
    text
}

/// Returns the types of a kernel's arguments that a tool kept in a string: `kernel_arg_type.NAME.T1,T2,`.
fn argument_types(module: &SpirvModule<'_>, function: &SpirvFunction<'_>) -> Option<Vec<String>> {
    let entry = module.entries.iter().find(|entry| entry.function == function.id)?;
    let prefix = format!("kernel_arg_type.{}.", entry.name);
    let mut lists = module.strings.values().filter_map(|text| text.strip_prefix(&prefix));
    let list: Vec<String> = lists.next()?.trim_end_matches(',').split(',').map(Into::into).collect();
    (list.len() == function.params.len()).then_some(list)
}

/// Name of a type in OpenCL C. The sign of integers is unknown.
fn type_name(module: &SpirvModule<'_>, ty: u32) -> String {
    if let Some(number) = module.types.number(ty) {
        let name = match number.kind {
            NumberKind::Bool => "bool",
            NumberKind::Int(8) => "char",
            NumberKind::Int(16) => "short",
            NumberKind::Int(32) => "int",
            NumberKind::Int(_) => "long",
            NumberKind::Float(16) => "half",
            NumberKind::Float(32) => "float",
            NumberKind::Float(_) => "double",
            NumberKind::BFloat => "bfloat16",
        };
        return if number.is_vector { format!("{name}{}", number.count) } else { name.into() };
    }
    match module.types.get(ty).map(|ty| &ty.kind) {
        Some(SpirvTypeKind::Pointer { pointee, .. }) if *pointee != ty => {
            match module.types.pointer(*pointee) {
                // Pointers may refer to each other; one level is named.
                Some(_) => "void**".into(),
                None => format!("{}*", type_name(module, *pointee)),
            }
        }
        Some(SpirvTypeKind::Struct { .. }) => {
            let name = module.names.get(&ty).map_or("struct", String::as_str);
            name.trim_start_matches("struct.").to_string()
        }
        Some(SpirvTypeKind::Image(image)) => format!("{}_t", image.name),
        Some(SpirvTypeKind::Sampler) => "sampler_t".into(),
        _ => "void".into(),
    }
}
