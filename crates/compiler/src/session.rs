//! Compiler sessions: a [`Session`] reads sources, takes a [`VectorizeRequest`] and returns one [`Artifact`] or diagnostics.
//!
//! ```
//! use heddle_compiler::{Session, VectorizeRequest};
//! # fn main() -> Result<(), heddle_compiler::DiagnosticError> {
//! let session = Session::default();
//! let source = session.parse_hed("func @twice(v0: i32) -> i32 {\nblock0:\n  v1 = shl v0, 1\n  ret v1\n}\n")?;
//! let artifact = session.vectorize(source, &VectorizeRequest::new("twice", "8".parse()?))?;
//! assert_eq!(artifact.wide, "twice.w8");
//! assert!(artifact.module.to_string().contains("<8 x i32>"));
//! # Ok(())
//! # }
//! ```

use crate::context::{PassContext, PassTime};
use crate::options::{BrushExtents, ParamShape, VectorizeOptions};
use crate::passes::{Pass, PassInfo};
use crate::pipeline::{parse_passes, run, vectorization_passes};
use crate::profile::Profile;
use crate::report::{VectorReport, branches, reachable_from};
use crate::scalar_wins::scalar_wins;
use crate::vector_abi::{AbiVariant, VectorIsa, add_abi_variant, declare_variants};
use heddle_ir::diagnostic::{DiagnosticLocation, Severity};
use heddle_ir::module::{DeclaredShape, FunctionKind};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Code, Detail, Diagnostic, Function, Inst, Module, Op, Value, parse_bytes};
use heddle_llvm::{
    CodeFormat, CodegenLevel, Cpu, EmitOptions, ImportedModule, Jit, Language, LlvmModule, ObjectCache,
    OptimizeOptions, cleaned_copy, emit, generate, import, internalize_except, language_of, link, optimize,
    param_scalar_counts, read_foreign_ir, reduce_to_functions, share_globals, simplify, vector_variant_names,
};
use heddle_spirv::SpirvOptions;
use heddle_transform::specialize::enter_with_mask;
use heddle_transform::widen::wide_name;
use heddle_transform::{Remark, TargetInfo};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value as Json};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Error that carries at least one diagnostic of severity error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiagnosticError {
    /// Errors, and notes that help to understand them, in order.
    pub diagnostics: Vec<Diagnostic>,
}

impl From<Diagnostic> for DiagnosticError {
    fn from(diagnostic: Diagnostic) -> DiagnosticError {
        DiagnosticError { diagnostics: vec![diagnostic] }
    }
}

impl fmt::Display for DiagnosticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.diagnostics.iter().map(Diagnostic::to_string).collect();
        f.write_str(&texts.join("\n"))
    }
}

impl std::error::Error for DiagnosticError {}

/// Returns diagnostics as a JSON array of objects: `severity`, `code`, `file`, `line`, `column`, `function`, `instruction`
/// (where known), `text`, `help`, `notes`.
pub fn diagnostics_json(diagnostics: &[Diagnostic]) -> String {
    let place = |object: &mut Map<String, Json>, place: &DiagnosticLocation| {
        let mut set = |key: &str, value: Option<Json>| value.map(|value| object.insert(key.into(), value));
        set("file", place.file.clone().map(Json::from));
        set("line", (place.line > 0).then(|| place.line.into()));
        set("column", (place.column > 0).then(|| place.column.into()));
        set("function", place.func.clone().map(Json::from));
        set("instruction", place.inst.clone().map(Json::from));
    };
    let one = |diagnostic: &Diagnostic| {
        let mut object = Map::new();
        object.insert("severity".into(), diagnostic.severity.name().into());
        object.insert("code".into(), diagnostic.code.name().into());
        place(&mut object, &diagnostic.place);
        object.insert("text".into(), diagnostic.text.clone().into());
        if !diagnostic.help.is_empty() {
            object.insert("help".into(), diagnostic.help.clone().into());
        }
        let notes = diagnostic.notes.iter().map(|note| {
            let mut object = Map::new();
            note.place.iter().for_each(|it| place(&mut object, it));
            object.insert("text".into(), note.text.clone().into());
            Json::Object(object)
        });
        object.insert("notes".into(), notes.collect());
        Json::Object(object)
    };
    Json::Array(diagnostics.iter().map(one).collect()).to_string()
}

/// Module that a session has read.
#[derive(Debug)]
pub struct SourceModule {
    /// Lock-step code.
    pub module: Module,
    /// LLVM module that `module` was imported from, if any.
    pub llvm: Option<LlvmModule>,
    /// Definitions that the importer refused, with the reasons.
    pub refused: Vec<Diagnostic>,
}

impl From<Module> for SourceModule {
    fn from(module: Module) -> SourceModule {
        SourceModule { module, llvm: None, refused: Vec::new() }
    }
}

/// Request to vectorize one function.
#[derive(Clone, Debug)]
pub struct VectorizeRequest {
    /// Name of the function.
    pub func: String,
    /// Lanes of one brush.
    pub brush: BrushExtents,
    /// Shapes of the source's parameters, in order or by name; the default is `varying`.
    pub shapes: Vec<ParamShape>,
    /// True if the vector code takes an additional mask of the active lanes.
    pub is_masked: bool,
    /// Profile of an earlier run of the program.
    pub profile: Option<Arc<Profile>>,
}

impl VectorizeRequest {
    /// Creates a request without a mask, in which all parameters are varying.
    pub fn new(func: &str, brush: BrushExtents) -> VectorizeRequest {
        VectorizeRequest { func: func.into(), brush, shapes: Vec::new(), is_masked: false, profile: None }
    }
}

/// Vector code of a function.
#[derive(Debug)]
pub struct Artifact {
    /// Name of the requested function.
    pub func: String,
    /// Module at stage Wide.
    pub module: Module,
    /// Name of the wide function in `module`.
    pub wide: String,
    /// Statistics and remarks of the compilation.
    pub report: VectorReport,
    /// Wall-clock time of each pass.
    pub times: Vec<PassTime>,
    shapes: Vec<DeclaredShape>,
    is_masked: bool,
    /// Location of the first work-item query; none for functions that are no kernels.
    work_item_query: Option<DiagnosticLocation>,
    /// Source parameter that LLVM splits into several values, with their number.
    split_param: Option<(String, usize)>,
    llvm: Option<LlvmModule>,
    cpu: Cpu,
}

/// Compiler for one machine, with options and a cache. Threads may share a session.
#[derive(Debug)]
pub struct Session {
    /// Machine to generate code for.
    pub cpu: Cpu,
    /// Options of the vectorizer.
    pub options: VectorizeOptions,
    /// True to verify the required and ensured stage around each pass.
    pub verify: bool,
    /// Cache of compiled code; none compiles each time.
    pub cache: Option<ObjectCache>,
    cancelled: Arc<AtomicBool>,
}

impl Default for Session {
    fn default() -> Session {
        Session::new(Cpu::host())
    }
}

/// Returns an error without a location.
fn error(code: Code, reason: &dyn fmt::Display) -> Diagnostic {
    Diagnostic::error(code, reason.to_string())
}

impl Session {
    /// Creates a session with the machine's cost table and Heddle's own mathematical functions.
    pub fn new(cpu: Cpu) -> Session {
        let target = TargetInfo::of_cpu(cpu.family(), cpu.vector_bits(), cpu.is_x86());
        let math = Some(heddle_math::Accuracy::Exact);
        let options = VectorizeOptions { target, math, ..VectorizeOptions::default() };
        Session { cpu, options, verify: false, cache: None, cancelled: Arc::default() }
    }

    /// Cancels compilations in other threads before their next pass. The session compiles nothing afterwards.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Parses a program in Heddle's text format.
    pub fn parse_hed(&self, text: impl AsRef<[u8]>) -> Result<SourceModule, DiagnosticError> {
        self.parse_hed_at(text, Stage::Source)
    }

    /// Parses a program in Heddle's text format at a given stage.
    pub fn parse_hed_at(
        &self,
        text: impl AsRef<[u8]>,
        stage: Stage,
    ) -> Result<SourceModule, DiagnosticError> {
        let module = parse_bytes(text.as_ref()).map_err(|diagnostics| DiagnosticError { diagnostics })?;
        verify_module(&module, stage).map_err(|violations| error(Code::InvalidIr, &violations))?;
        Ok(module.into())
    }

    /// Reads a file: `.hed`, PTX, LLVM IR, or a language that clang compiles. `clang` holds arguments for clang.
    pub fn read(&self, path: &Path, stage: Stage, clang: &[&str]) -> Result<SourceModule, DiagnosticError> {
        let file = path.display().to_string();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            return self.read_ptx_file(path, 0);
        }
        let language = language_of(path);
        if language.is_none() {
            let text = match path == Path::new("-") {
                true => {
                    let mut text = Vec::new();
                    std::io::Read::read_to_end(&mut std::io::stdin(), &mut text).map(|_| text)
                }
                false => std::fs::read(path),
            };
            let text = text.map_err(|reason| unreadable(&file, &reason))?;
            return self.parse_hed_at(text, stage).map_err(|failure| failure.in_file(&file));
        }
        if language == Some(Language::OpenCl) {
            let source = heddle_llvm::read_source(path)?;
            // Headers are searched in the file's folder.
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let mut words = vec!["-cl-std=CL3.0".to_string(), "-I".into(), folder.display().to_string()];
            words.extend(clang.iter().map(ToString::to_string));
            return self.compile_opencl(&source, &file, &words);
        }
        if language == Some(Language::Spirv) {
            let bytes = std::fs::read(path).map_err(|reason| unreadable(&file, &reason))?;
            let words: Vec<String> = clang.iter().map(ToString::to_string).collect();
            return self.compile_spirv(&bytes, &file, &words);
        }
        std::fs::metadata(path).map_err(|reason| unreadable(&file, &reason))?;
        let is_for_cpus = matches!(language, Some(Language::C | Language::Cpp));
        let triple = self.cpu.triple.as_deref().filter(|_| is_for_cpus);
        let target = triple.map(|triple| format!("--target={triple}"));
        let arguments: Vec<&str> = target.as_deref().into_iter().chain(clang.iter().copied()).collect();
        if language == Some(Language::Ir) {
            let bytes = std::fs::read(path).map_err(|reason| unreadable(&file, &reason))?;
            return self.read_llvm(&bytes, &file);
        }
        let llvm = heddle_llvm::compile(path, 1, &arguments)?;
        self.import(llvm, &file)
    }

    /// Reads LLVM IR as text or bitcode, optimized or not; `file` names it in diagnostics.
    pub fn read_llvm(&self, bytes: &[u8], file: &str) -> Result<SourceModule, DiagnosticError> {
        let llvm = read_foreign_ir(file, bytes)?;
        let ImportedModule { module, refused } = import(&cleaned_copy(&llvm)?);
        source_from_import(module, refused, llvm, file)
    }

    /// Reads a PTX file for launches with the given number of bytes of dynamic shared memory.
    pub fn read_ptx_file(&self, path: &Path, dynamic_shared: u64) -> Result<SourceModule, DiagnosticError> {
        let file = path.display().to_string();
        let text = std::fs::read(path).map_err(|reason| unreadable(&file, &reason))?;
        self.read_ptx(
            &String::from_utf8_lossy(&text),
            &file,
            heddle_ptx::LowerOptions { dynamic_shared, ..heddle_ptx::LowerOptions::default() },
        )
    }

    /// Reads PTX; `file` names it in diagnostics. Refused functions are warnings in the source, unless nothing is left.
    pub fn read_ptx(
        &self,
        text: &str,
        file: &str,
        options: heddle_ptx::LowerOptions,
    ) -> Result<SourceModule, DiagnosticError> {
        let wrong = |diagnostics| DiagnosticError { diagnostics }.in_file(file);
        let lowered = heddle_ptx::parse(text)
            .and_then(|module| heddle_ptx::lower(&module, file, options))
            .map_err(wrong)?;
        let refused: Vec<Diagnostic> =
            lowered.refused.into_iter().map(|diagnostic| diagnostic.in_file(file)).collect();
        if lowered.module.functions.is_empty() {
            let none = error(Code::NotImported, &"no function could be imported").in_file(file);
            return Err(DiagnosticError { diagnostics: refused.into_iter().chain([none]).collect() });
        }
        let refused = refused
            .into_iter()
            .map(|diagnostic| Diagnostic { severity: Severity::Warning, ..diagnostic })
            .collect();
        Ok(SourceModule { module: lowered.module, llvm: None, refused })
    }

    /// Writes a module that is not linearized yet as PTX; uniform branches become `bra.uni`. With `approximate`, functions of
    /// the C library may become PTX's approximations, as code that came from PTX had them.
    pub fn ptx(&self, module: &Module, approximate: bool) -> Result<String, DiagnosticError> {
        let facts = crate::ptx::analyze_for_ptx(module);
        let options = heddle_ptx::RaiseOptions { approximate, ..heddle_ptx::RaiseOptions::default() };
        heddle_ptx::raise(module, &facts, &options).map_err(|diagnostics| DiagnosticError { diagnostics })
    }

    /// Imports an LLVM module; `file` names it in diagnostics. Refused functions are recorded in the source, unless nothing is
    /// left.
    pub fn import(&self, llvm: LlvmModule, file: &str) -> Result<SourceModule, DiagnosticError> {
        let ImportedModule { module, refused } = import(&llvm);
        source_from_import(module, refused, llvm, file)
    }

    /// Compiles OpenCL C with the options of `clBuildProgram` and adds the builtins that it calls; `name` names it in
    /// diagnostics.
    pub fn compile_opencl(
        &self,
        source: &str,
        name: &str,
        options: &[String],
    ) -> Result<SourceModule, DiagnosticError> {
        let program = heddle_builtins::compile(source, name, options)
            .map_err(|log| heddle_llvm::clang_error(name, &log))?;
        let warnings = program.warnings.trim_end();
        let mut diagnostics = Vec::new();
        if !warnings.is_empty() {
            let place = DiagnosticLocation::of_line(Some(name), 0, 0);
            let first = Diagnostic::warning(Code::FrontEnd, "clang warns").at(place);
            diagnostics.push(warnings.lines().fold(first, |diagnostic, line| diagnostic.note(line)));
        }
        diagnostics.extend(program.refused);
        source_from_import(program.module, diagnostics, program.llvm, name)
    }

    /// Compiles a SPIR-V module with the options of `clBuildProgram` and adds the builtins that it calls; `name` names it in
    /// diagnostics.
    pub fn compile_spirv(
        &self,
        bytes: &[u8],
        name: &str,
        options: &[String],
    ) -> Result<SourceModule, DiagnosticError> {
        let program = heddle_builtins::compile_spirv(bytes, name, &SpirvOptions::default(), options)?;
        source_from_import(program.module, program.refused, program.llvm, name)
    }

    /// Vectorizes a function and its callees; removes all other functions.
    pub fn vectorize(
        &self,
        source: impl Into<SourceModule>,
        request: &VectorizeRequest,
    ) -> Result<Artifact, DiagnosticError> {
        let SourceModule { mut module, llvm, refused } = source.into();
        let llvm = llvm.filter(LlvmModule::is_for_host);
        self.check_machine(llvm.as_ref())?;
        if let Some(llvm) = llvm.as_ref().filter(|_| self.cpu.is_x86()) {
            let names = vector_variant_names(llvm);
            declare_variants(
                &mut module,
                names.iter().map(String::as_str),
                VectorIsa::of_bits(self.cpu.vector_bits()),
            );
        }
        let VectorizeRequest { func: requested, brush, shapes, is_masked, profile } = request;
        if module.function(requested).is_none() {
            return Err(missing_function(requested, &module, &refused));
        }
        retain_reachable(&mut module, requested);
        let warnings = relevant_refusals(&module, refused);
        let Some(func) = module.function_mut(requested) else {
            return Err(missing_function(requested, &module, &[]));
        };
        let params = source_params(func, llvm.as_ref().and_then(|llvm| param_scalar_counts(llvm, requested)));
        declare_shapes(func, &params, shapes)?;
        let split_param = params.iter().find(|param| param.len() > 1);
        let split_param = split_param.map(|param| (func.describe(func.params()[param.start]), param.len()));
        let declared = func.signature.params.iter().map(|param| param.shape.clone());
        let declared = declared.map(|shape| shape.unwrap_or(DeclaredShape::Varying)).collect();
        if let Some(region) = first_launch(func) {
            let text = format!("one thread runs this function; lanes run @{region}, which it launches");
            let diagnostic = Diagnostic::error(Code::LaunchesLanes, text).of_func(requested);
            return Err(diagnostic.help("vectorize that").into());
        }
        let work_item_query = find_work_item_query(func);
        let before = branches(&module, requested);
        let masked = format!("{requested}.masked");
        let entered = if *is_masked { &masked } else { requested };
        if let Some(mut func) = module.function(requested).filter(|_| *is_masked).cloned() {
            func.name = masked.clone();
            enter_with_mask(&mut func);
            module.functions.push(func);
            retain_reachable(&mut module, &masked);
        }
        let options = VectorizeOptions {
            params: self.options.params.clone().or(Some(DeclaredShape::Varying)),
            ..self.options.clone()
        };
        let mut context = PassContext::verifying(self.verify).cancelled_by(&self.cancelled);
        if let Some(profile) = profile {
            context = context.profiled(profile.clone(), &mut module)?;
        }
        run(&mut module, &vectorization_passes(brush, &options), &mut context)?;
        let lanes = context.side_by_side.unwrap_or(1).saturating_mul(brush.lanes());
        let all = brush.times(context.side_by_side.unwrap_or(1))?;
        let wide = wide_name(entered, all.extents());
        let mut report = VectorReport {
            lanes,
            brushes: context.side_by_side.unwrap_or(1),
            branches: [before, branches(&module, &wide)],
            ..VectorReport::default()
        };
        report.count(&module, &wide);
        let diagnostics = context.remarks.into_iter().map(|remark| remark.diagnostic.in_module(&module));
        report.remarks = diagnostics.collect();
        report.remarks.extend(scalar_wins(&module, &wide, requested, lanes, &options.target));
        report.warnings = warnings;
        Ok(Artifact {
            func: requested.clone(),
            module,
            wide,
            report,
            times: context.times,
            shapes: declared,
            is_masked: *is_masked,
            work_item_query,
            split_param,
            llvm,
            cpu: self.cpu.clone(),
        })
    }

    /// Vectorizes, by the declared shapes of their parameters, all functions that nothing in the module calls or launches.
    pub fn widen_module(
        &self,
        module: &mut Module,
        brush: &BrushExtents,
        context: &mut PassContext<'_>,
    ) -> Result<(), Diagnostic> {
        run(module, &vectorization_passes(brush, &self.options), context)
    }

    /// Parses a list of passes in the syntax of `heddle opt`.
    pub fn parse_passes(words: &[&str]) -> Result<Vec<Pass>, Diagnostic> {
        parse_passes(words)
    }

    /// Runs passes in order; remarks and times are left in the context.
    pub fn run(
        &self,
        module: &mut Module,
        passes: &[Pass],
        context: &mut PassContext<'_>,
    ) -> Result<(), Diagnostic> {
        run(module, passes, context)
    }

    /// Parses and runs passes in the syntax of `heddle opt`; `watch` observes the module after each pass.
    pub fn run_passes(
        &self,
        module: &mut Module,
        words: &[&str],
        verify: bool,
        watch: impl FnMut(&PassInfo, &Module),
    ) -> Result<Vec<Remark>, Diagnostic> {
        let mut context = PassContext::verifying(verify).watched(watch).cancelled_by(&self.cancelled);
        run(module, &parse_passes(words)?, &mut context)?;
        Ok(context.remarks)
    }

    /// JIT-compiles a module of single-threaded functions, through the session's cache if there is one.
    pub fn jit(
        &self,
        module: &Module,
        emission: EmitOptions,
        level: CodegenLevel,
    ) -> Result<Jit, Diagnostic> {
        let code = emit(module, emission).map_err(|diagnostic| diagnostic.in_module(module))?;
        // The minimal level runs no IR passes.
        if level != CodegenLevel::Minimal {
            simplify(&code);
        }
        match &self.cache {
            Some(cache) => Jit::cached(code, level, &[], cache),
            None => Jit::new(code, level, &[]),
        }
    }

    fn check_machine(&self, source: Option<&LlvmModule>) -> Result<(), Diagnostic> {
        let Some(source) = source.filter(|it| it.is_x86() != self.cpu.is_x86()) else { return Ok(()) };
        let text = format!("LLVM IR for another machine, {}", source.triple());
        let diagnostic = Diagnostic::error(Code::WrongTarget, text);
        Err(match &self.cpu.triple {
            Some(triple) => diagnostic.help(format!("compile with --target={triple}")),
            None => diagnostic.help("compile for this machine, or select that one with `--target`"),
        })
    }
}

impl DiagnosticError {
    /// Sets the file of diagnostics that name none.
    #[must_use]
    pub fn in_file(self, file: &str) -> DiagnosticError {
        DiagnosticError {
            diagnostics: self.diagnostics.into_iter().map(|diagnostic| diagnostic.in_file(file)).collect(),
        }
    }
}

/// Builds the source of an imported LLVM module; an error if the module has no function.
fn source_from_import(
    module: Module,
    mut diagnostics: Vec<Diagnostic>,
    llvm: LlvmModule,
    file: &str,
) -> Result<SourceModule, DiagnosticError> {
    if module.functions.is_empty() {
        if diagnostics.is_empty() {
            let none = error(Code::NotImported, &"the file defines no function");
            diagnostics.push(none.at(DiagnosticLocation::of_line(Some(file), 0, 0)));
        }
        return Err(DiagnosticError { diagnostics: diagnostics.into_iter().map(as_error).collect() });
    }
    verify_module(&module, Stage::Source)
        .map_err(|violations| error(Code::Internal, &format!("{file}: {violations}")))?;
    Ok(SourceModule { module, llvm: Some(llvm), refused: diagnostics })
}

fn unreadable(file: &str, reason: &std::io::Error) -> Diagnostic {
    error(Code::Unreadable, reason).at(DiagnosticLocation::of_line(Some(file), 0, 0))
}

/// Keeps refusals of definitions that the module calls (they are treated as external), and the front end's warnings.
fn relevant_refusals(module: &Module, refused: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let callees = module.functions.iter().flat_map(|func| func.callees.values());
    let needed: FxHashSet<&str> = callees.map(|callee| &*callee.name).collect();
    let is_needed = |diagnostic: &Diagnostic| match &diagnostic.place.func {
        Some(name) => needed.contains(&**name),
        None => true,
    };
    refused.into_iter().filter(is_needed).collect()
}

/// Returns the location of a kernel's first work-item query, or else of the kernel; none if the function is no kernel.
fn find_work_item_query(func: &Function) -> Option<DiagnosticLocation> {
    use Op::{
        EnqueuedSize, GlobalId, GlobalOffset, GlobalSize, GroupId, LocalId, LocalSize, NumGroups, WorkDim,
    };
    if !matches!(func.kind, FunctionKind::Kernel(_)) {
        return None;
    }
    let asks = |&inst: &Inst| {
        let op = func.inst(inst).op;
        matches!(
            op,
            EnqueuedSize
                | GlobalId
                | GlobalOffset
                | GlobalSize
                | GroupId
                | LocalId
                | LocalSize
                | NumGroups
                | WorkDim
        )
    };
    let first = func.blocks().flat_map(|block| func.block_insts(block)).find(asks);
    Some(first.map_or_else(
        || DiagnosticLocation::of_func(&func.name),
        |inst| DiagnosticLocation::line_of(func, inst),
    ))
}

/// Explains why a function is missing: it was refused, it is only declared, or it has another name.
fn missing_function(name: &str, module: &Module, refused: &[Diagnostic]) -> DiagnosticError {
    let own: Vec<Diagnostic> =
        refused.iter().filter(|diagnostic| diagnostic.place.func.as_deref() == Some(name)).cloned().collect();
    if !own.is_empty() {
        return DiagnosticError { diagnostics: own.into_iter().map(as_error).collect() };
    }
    if module.declarations.iter().any(|declaration| declaration.name == name) {
        let diagnostic = Diagnostic::error(Code::UnknownFunction, "declared, but not defined").of_func(name);
        return diagnostic.help("add the file that defines it").into();
    }
    let diagnostic = Diagnostic::error(Code::UnknownFunction, format!("no function @{name}"));
    let known: Vec<String> = module.functions.iter().map(|func| format!("@{}", func.name)).collect();
    let mangled =
        module.functions.iter().find(|func| func.name.starts_with("_Z") && func.name.contains(name));
    match (mangled, known.is_empty()) {
        (Some(func), _) => diagnostic
            .help(format!("its mangled name is @{}: declare it `extern \"C\"`, or use that name", func.name))
            .into(),
        (None, true) => diagnostic.into(),
        (None, false) => diagnostic.help(format!("the functions are {}", known.join(", "))).into(),
    }
}

fn as_error(diagnostic: Diagnostic) -> Diagnostic {
    Diagnostic { severity: Severity::Error, ..diagnostic }
}

/// Returns the IR parameters of each source parameter, since vectors and structures are split. `parts` are the counts per
/// parameter of the LLVM function; several of these may belong to one source parameter and share its name.
fn source_params(func: &Function, parts: Option<Vec<usize>>) -> Vec<Range<usize>> {
    let count = func.params().len();
    let parts = parts.filter(|parts| parts.iter().sum::<usize>() == count).unwrap_or_else(|| vec![1; count]);
    let mut all: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for part in parts.into_iter().filter(|&part| part > 0) {
        let name = func.name_of(func.params()[at]);
        match all.last_mut() {
            Some(last) if name.is_some() && func.name_of(func.params()[last.start]) == name => {
                last.end += part
            }
            _ => all.push(at..at + part),
        }
        at += part;
    }
    all
}

/// Declares the shapes of source parameters, by order or by name.
fn declare_shapes(
    func: &mut Function,
    params: &[Range<usize>],
    shapes: &[ParamShape],
) -> Result<(), Diagnostic> {
    let refuse = |text: String, help: String| {
        Err(Diagnostic::error(Code::ParameterShapes, text).of_func(&func.name).help(help))
    };
    let expected = params.len();
    let in_order = shapes.iter().filter(|it| it.name.is_none()).count();
    if in_order > expected || in_order != 0 && shapes.len() == in_order && in_order != expected {
        let text = format!("{in_order} shapes for {expected} parameters");
        return refuse(
            text,
            "write one shape for each parameter, as in `uniform,varying,linear:4`, or by name: `n=uniform`"
                .into(),
        );
    }
    let mut stated: Vec<Option<DeclaredShape>> = vec![None; expected];
    for (index, ParamShape { name, shape }) in shapes.iter().enumerate() {
        let Some(name) = name else {
            stated[index] = Some(shape.clone());
            continue;
        };
        let first = |param: &Range<usize>| func.params()[param.start];
        let is_meant = |value: Value| func.name_of(value) == Some(name) || value.to_string() == *name;
        let Some(meant) = params.iter().position(|param| is_meant(first(param))) else {
            let names: Vec<String> = params.iter().map(|param| func.describe(first(param))).collect();
            return refuse(
                format!("no parameter `{name}`"),
                format!("the parameters are {}", names.join(", ")),
            );
        };
        stated[meant] = Some(shape.clone());
    }
    for (param, shape) in params.iter().zip(stated) {
        for part in &mut func.signature.params[param.clone()] {
            part.shape = shape.clone().or(part.shape.take());
        }
    }
    Ok(())
}

/// Removes all functions but one and its callees.
pub fn retain_reachable(module: &mut Module, name: &str) {
    retain_all_reachable(module, &[name]);
}

/// Removes all functions but the named ones and their callees.
pub fn retain_all_reachable(module: &mut Module, names: &[&str]) {
    let wanted = reachable_from(module, names.iter().map(ToString::to_string).collect());
    module.functions.retain(|func| wanted.contains(&func.name));
}

/// Returns the first function that a function launches.
fn first_launch(func: &Function) -> Option<String> {
    let mut details =
        func.blocks().flat_map(|block| func.block_insts(block)).map(|inst| &func.inst(inst).detail);
    details.find_map(|detail| match detail {
        Detail::Launch(launch) => Some(func.callees[launch.callee].name.clone()),
        _ => None,
    })
}

impl Artifact {
    /// Adds the variant of the vector ABI to the module and returns its name, or the reason why there is none.
    pub fn add_abi_variant(&mut self) -> Result<String, Diagnostic> {
        if !self.cpu.is_x86() {
            let text = "vector ABI on a CPU other than x86";
            return Err(Diagnostic::error(Code::NoAbiForm, text).of_func(&self.func));
        }
        if let Some((name, count)) = &self.split_param {
            let text = format!("{name} is split into {count} values, which does not match the C prototype");
            let diagnostic = Diagnostic::error(Code::NoAbiForm, text).of_func(&self.func);
            return Err(diagnostic
                .help("pass it by address, or write LLVM IR (`.ll`), which keeps Heddle's own signature"));
        }
        let isa = VectorIsa::of_bits(self.cpu.vector_bits());
        let lanes = self.report.lanes;
        let form =
            AbiVariant { name: &self.func, lanes, shapes: &self.shapes, isa, is_masked: self.is_masked };
        add_abi_variant(&mut self.module, &self.wide, &form)
    }

    /// Returns the code as an optimized LLVM module in which only the function `seen` is visible from outside.
    pub fn llvm(&self, seen: &str) -> Result<LlvmModule, Diagnostic> {
        self.optimized(seen, self.emit(EmitOptions::default())?)
    }

    fn optimized(&self, seen: &str, code: LlvmModule) -> Result<LlvmModule, Diagnostic> {
        internalize_except(&code, &[seen]);
        if let Some(source) = &self.llvm {
            share_globals(&code, source);
        }
        optimize(&code, &self.cpu, OptimizeOptions::default())?;
        Ok(code)
    }

    /// Renames the wide function.
    pub fn rename(&mut self, name: &str) {
        if let Some(func) = self.module.function_mut(&self.wide) {
            func.name = name.into();
            self.wide = name.into();
        }
    }

    /// Generates the code without its source's module; the wide function keeps its name.
    pub fn code(&self, output: CodeFormat) -> Result<Vec<u8>, Diagnostic> {
        let code = self.llvm(&self.wide)?;
        generate(&code, &self.cpu, output)
    }

    fn emit(&self, options: EmitOptions) -> Result<LlvmModule, Diagnostic> {
        emit(&self.module, options).map_err(|diagnostic| match diagnostic.code {
            Code::NeedsLaunch => self.needs_launch(diagnostic),
            _ => self.attribute_to_source(diagnostic),
        })
    }

    /// Explains that work-item queries need a launch.
    fn needs_launch(&self, diagnostic: Diagnostic) -> Diagnostic {
        let Some(place) = &self.work_item_query else {
            let diagnostic = self.attribute_to_source(diagnostic);
            // The source has another name for the instruction.
            let inst = diagnostic.place.inst.clone().filter(|_| diagnostic.place.line == 0);
            let place = DiagnosticLocation { inst, ..(*diagnostic.place).clone() };
            return diagnostic.at(place);
        };
        let text = "this kernel needs a launch, which defines the indices of its work-items";
        let help = "run the program on Heddle's OpenCL driver (`./x install`), or write a function that takes the index as a parameter";
        let diagnostic = Diagnostic::error(Code::NeedsLaunch, text).at(place.clone()).help(help);
        diagnostic.in_module(&self.module)
    }

    /// Attributes a diagnostic of a wide function to the function it was made from.
    fn attribute_to_source(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        if let Some(name) = diagnostic.place.func.take() {
            let suffix = self.wide.rsplit_once(".w").map_or("", |(_, brush)| brush);
            let of_source = name.strip_suffix(suffix).and_then(|name| name.strip_suffix(".w"));
            let of_source = of_source.map(|name| name.strip_suffix(".masked").unwrap_or(name));
            diagnostic.place.func = Some(of_source.unwrap_or(&name).to_string());
        }
        diagnostic.in_module(&self.module)
    }

    /// Generates text, bitcode, assembly or an object. LLVM IR contains the source's module as well; assembly and objects hold
    /// the vector code only, to be linked with it. Without a variant of the vector ABI the code has Heddle's name, and a
    /// remark is returned.
    pub fn write(&mut self, output: CodeFormat) -> Result<(Vec<u8>, Option<Diagnostic>), Diagnostic> {
        let is_ir = matches!(output, CodeFormat::Text | CodeFormat::Bitcode);
        let (name, diagnostic) = match self.add_abi_variant() {
            Ok(name) => (name, None),
            Err(diagnostic) if is_ir || !self.cpu.is_x86() => {
                let note = format!("vectorize @{}", self.wide);
                (self.wide.clone(), Some(Diagnostic { severity: Severity::Remark, ..diagnostic }.note(note)))
            }
            Err(diagnostic) => return Err(diagnostic),
        };
        let begin = Instant::now();
        let code = self.llvm(&name)?;
        self.times.push(PassTime { name: "LLVM's passes", time: begin.elapsed() });
        let begin = Instant::now();
        let bytes = match &self.llvm {
            None => generate(&code, &self.cpu, output)?,
            Some(source) => {
                link(source, &code)?;
                if !is_ir {
                    reduce_to_functions(source, &[&name])?;
                }
                generate(source, &self.cpu, output)?
            }
        };
        self.times.push(PassTime { name: "code generation", time: begin.elapsed() });
        Ok((bytes, diagnostic))
    }

    /// JIT-compiles the code.
    pub fn jit(&mut self) -> Result<Jit, Diagnostic> {
        let begin = Instant::now();
        let code = self.emit(EmitOptions::default())?;
        // No debugger reads it, and line tables cost time.
        code.strip_debug_info();
        let code = self.optimized(&self.wide, code)?;
        self.times.push(PassTime { name: "LLVM's passes", time: begin.elapsed() });
        let begin = Instant::now();
        let jit = Jit::new(code, CodegenLevel::Default, &[])?;
        // Looking up the address generates the code.
        jit.address(&self.wide)?;
        self.times.push(PassTime { name: "code generation", time: begin.elapsed() });
        Ok(jit)
    }
}
