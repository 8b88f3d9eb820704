//! The compiler behind every door: a [`Session`] reads sources, takes a [`Request`] and makes one [`Artifact`] of it, or
//! says why not.
//!
//! ```
//! use heddle::{Request, Session};
//! # fn main() -> Result<(), heddle::Failure> {
//! let session = Session::default();
//! let source = session.parse_hed("func @twice(v0: i32) -> i32 {\nblock0:\n  v1 = shl v0, 1\n  ret v1\n}\n")?;
//! let artifact = session.vectorize(source, &Request::new("twice", "8".parse()?))?;
//! assert_eq!(artifact.wide, "twice.w8");
//! assert!(artifact.module.to_string().contains("<8 x i32>"));
//! # Ok(())
//! # }
//! ```

use crate::context::{Context, PassTime};
use crate::options::{Brush, Options, ParamShape};
use crate::pipeline::{run, vectorization};
use crate::report::{Report, branches, reachable_from};
use crate::vector_abi::{Form, Isa, add_abi_form, declare_forms};
use heddle_ir::diagnostic::{Place, Severity};
use heddle_ir::module::DeclaredShape;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Code, Detail, Diagnostic, Function, Module, Value, parse_bytes};
use heddle_llvm::{
    CodeLevel, CompileError, Cpu, EmitOptions, Imported, Jit, Language, LlvmModule, ObjectCache, Output,
    Refusal, cut_out, emit, generate, import, keep_private_but, language_of, link, optimize, share_globals,
    vector_form_names,
};
use heddle_transform::Target;
use heddle_transform::specialize::enter_with_mask;
use heddle_transform::widen::wide_name;
use serde_json::{Map, Value as Json};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Why there is no result: at least one error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// All that there is to say, errors and what may help to understand them, in order.
    pub diagnostics: Vec<Diagnostic>,
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Failure {
        Failure { diagnostics: vec![diagnostic] }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.diagnostics.iter().map(Diagnostic::to_string).collect();
        f.write_str(&texts.join("\n"))
    }
}

impl std::error::Error for Failure {}

/// Diagnostics as JSON, an array of objects: `severity`, `code`, `file`, `line`, `column`, `function`, `instruction` (as far
/// as known), `text`, `way_out`, `notes`.
pub fn diagnostics_json(diagnostics: &[Diagnostic]) -> String {
    let place = |object: &mut Map<String, Json>, place: &Place| {
        let mut set = |key: &str, value: Option<Json>| value.map(|value| object.insert(key.into(), value));
        set("file", place.file.clone().map(Json::from));
        set("line", (place.line > 0).then(|| place.line.into()));
        set("column", (place.column > 0).then(|| place.column.into()));
        set("function", place.func.clone().map(Json::from));
        set("instruction", place.inst.clone().map(Json::from));
    };
    let one = |told: &Diagnostic| {
        let mut object = Map::new();
        object.insert("severity".into(), told.severity.name().into());
        object.insert("code".into(), told.code.name().into());
        place(&mut object, &told.place);
        object.insert("text".into(), told.text.clone().into());
        if !told.way_out.is_empty() {
            object.insert("way_out".into(), told.way_out.clone().into());
        }
        let notes = told.notes.iter().map(|note| {
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

/// A module that was read.
#[derive(Debug)]
pub struct Source {
    /// As lock-step code.
    pub module: Module,
    /// The module of LLVM that it was imported from, if it was.
    pub llvm: Option<LlvmModule>,
    /// Functions that were not taken, and why.
    pub refused: Vec<Diagnostic>,
}

impl From<Module> for Source {
    fn from(module: Module) -> Source {
        Source { module, llvm: None, refused: Vec::new() }
    }
}

/// A function to make vector code of.
#[derive(Clone, Debug)]
pub struct Request {
    /// The function.
    pub func: String,
    /// Its lanes, of one brush.
    pub brush: Brush,
    /// What lanes share of its parameters, of the first in order or of those named; nothing said is `varying`.
    pub shapes: Vec<ParamShape>,
    /// Whether one more parameter is wanted, a mask of the lanes that are there.
    pub is_masked: bool,
}

impl Request {
    /// All parameters vary, and all lanes are there.
    pub fn new(func: &str, brush: Brush) -> Request {
        Request { func: func.into(), brush, shapes: Vec::new(), is_masked: false }
    }
}

/// Vector code of a function.
#[derive(Debug)]
pub struct Artifact {
    /// The function that was asked for.
    pub func: String,
    /// The module at stage Wide.
    pub module: Module,
    /// The name of the wide form in it.
    pub wide: String,
    /// What became of the function.
    pub report: Report,
    /// How long each pass took.
    pub times: Vec<PassTime>,
    shapes: Vec<DeclaredShape>,
    is_masked: bool,
    llvm: Option<LlvmModule>,
    cpu: Cpu,
}

/// The compiler: a machine, options, caches. One session may serve many threads.
#[derive(Debug)]
pub struct Session {
    /// The machine that code is for.
    pub cpu: Cpu,
    /// How vector code is made.
    pub options: Options,
    /// Whether what passes need and ensure is checked around each of them.
    pub verify: bool,
    /// Where compiled code is kept; none compiles it each time.
    pub cache: Option<ObjectCache>,
    cancelled: Arc<AtomicBool>,
}

impl Default for Session {
    fn default() -> Session {
        Session::new(Cpu::host())
    }
}

/// An error without a place.
fn error(code: Code, reason: &dyn fmt::Display) -> Diagnostic {
    Diagnostic::error(code, reason.to_string())
}

impl Session {
    /// For a machine, by the costs of that machine; with Heddle's own mathematical functions.
    pub fn new(cpu: Cpu) -> Session {
        let target = Target::of_cpu(&cpu.name, cpu.vector_bits(), cpu.is_x86());
        let math = Some(heddle_math::Accuracy::Exact);
        let options = Options { target, math, ..Options::default() };
        Session { cpu, options, verify: false, cache: None, cancelled: Arc::default() }
    }

    /// Ends what the session does in other threads, between two passes; it does nothing any more after that.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Reads a program in Heddle's own text form.
    pub fn parse_hed(&self, text: impl AsRef<[u8]>) -> Result<Source, Failure> {
        self.parse_hed_at(text, Stage::Source)
    }

    /// The same, at another stage.
    pub fn parse_hed_at(&self, text: impl AsRef<[u8]>, stage: Stage) -> Result<Source, Failure> {
        let module = parse_bytes(text.as_ref()).map_err(|diagnostics| Failure { diagnostics })?;
        verify_module(&module, stage).map_err(|violations| error(Code::InvalidIr, &violations))?;
        Ok(module.into())
    }

    /// Reads a file: `.hed`, LLVM IR, or what clang compiles to it. `clang` goes to clang.
    pub fn read(&self, path: &Path, stage: Stage, clang: &[&str]) -> Result<Source, Failure> {
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
            let source = heddle_llvm::read_source(path).map_err(|reason| error(Code::Unreadable, &reason))?;
            // Headers are looked for beside the file.
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let mut words = vec!["-cl-std=CL3.0".to_string(), "-I".into(), folder.display().to_string()];
            words.extend(clang.iter().map(ToString::to_string));
            return self.compile_opencl(&source, &file, &words);
        }
        let is_for_cpus = matches!(language, Some(Language::C | Language::Cpp));
        let triple = self.cpu.triple.as_deref().filter(|_| is_for_cpus);
        let target = triple.map(|triple| format!("--target={triple}"));
        let arguments: Vec<&str> = target.as_deref().into_iter().chain(clang.iter().copied()).collect();
        let llvm = heddle_llvm::compile(path, 1, &arguments).map_err(|reason| {
            let code = match reason {
                CompileError::Read(_) | CompileError::File { .. } => Code::Unreadable,
                CompileError::NoClang { .. } | CompileError::Refused { .. } => Code::FrontEnd,
            };
            error(code, &reason)
        })?;
        self.import(llvm, &file)
    }

    /// Reads a file of PTX, for launches with this much dynamic shared memory.
    pub fn read_ptx_file(&self, path: &Path, dynamic_shared: u64) -> Result<Source, Failure> {
        let file = path.display().to_string();
        let text = std::fs::read(path).map_err(|reason| unreadable(&file, &reason))?;
        self.read_ptx(&String::from_utf8_lossy(&text), &file, heddle_ptx::Options { dynamic_shared })
    }

    /// Reads PTX; `file` is its name in messages. What is not taken is told in the source; it is an error only if nothing is
    /// left.
    pub fn read_ptx(&self, text: &str, file: &str, options: heddle_ptx::Options) -> Result<Source, Failure> {
        let wrong = |diagnostics| Failure { diagnostics }.in_file(file);
        let lowered = heddle_ptx::parse(text)
            .and_then(|module| heddle_ptx::lower(&module, file, options))
            .map_err(wrong)?;
        let refused: Vec<Diagnostic> = lowered.refused.into_iter().map(|told| told.in_file(file)).collect();
        if lowered.module.functions.is_empty() {
            let none = error(Code::NotImported, &"there is no function that can be taken").in_file(file);
            return Err(Failure { diagnostics: refused.into_iter().chain([none]).collect() });
        }
        let refused =
            refused.into_iter().map(|told| Diagnostic { severity: Severity::Warning, ..told }).collect();
        Ok(Source { module: lowered.module, llvm: None, refused })
    }

    /// Writes PTX of a module before it is made linear: branches that all lanes take together as `bra.uni`. `approximate` says
    /// that functions of the C library may become PTX's approximations, as they do in what came from PTX.
    pub fn ptx(&self, module: &Module, approximate: bool) -> Result<String, Failure> {
        let facts = crate::ptx::facts(module);
        let options = heddle_ptx::RaiseOptions { approximate, ..heddle_ptx::RaiseOptions::default() };
        heddle_ptx::raise(module, &facts, &options).map_err(|diagnostics| Failure { diagnostics })
    }

    /// Takes a module of LLVM; `file` is its name in messages. What is not taken is told in the source; it is an error only
    /// if nothing is left.
    pub fn import(&self, llvm: LlvmModule, file: &str) -> Result<Source, Failure> {
        let Imported { module, refused } = import(&llvm);
        imported(module, &refused, Vec::new(), llvm, file)
    }

    /// Compiles OpenCL C with the options of `clBuildProgram`, together with the builtins that it calls; `name` is its
    /// name in messages.
    pub fn compile_opencl(&self, source: &str, name: &str, options: &[String]) -> Result<Source, Failure> {
        let program = heddle_builtins::compile(source, name, options).map_err(|log| {
            error(Code::FrontEnd, &format!("{name}: clang refuses it:\n{}", log.trim_end()))
        })?;
        let warnings = program.warnings.trim_end();
        let told = (!warnings.is_empty())
            .then(|| Diagnostic::warning(Code::FrontEnd, format!("{name}:\n{warnings}")));
        imported(program.module, &program.refused, told.into_iter().collect(), program.llvm, name)
    }

    /// Makes vector code of a function and of what it calls. Other functions go.
    pub fn vectorize(&self, source: impl Into<Source>, request: &Request) -> Result<Artifact, Failure> {
        let Source { mut module, llvm, refused } = source.into();
        let llvm = llvm.filter(LlvmModule::is_for_host);
        self.check_machine(llvm.as_ref())?;
        if let Some(llvm) = llvm.as_ref().filter(|_| self.cpu.is_x86()) {
            let names = vector_form_names(llvm);
            declare_forms(
                &mut module,
                names.iter().map(String::as_str),
                Isa::of_bits(self.cpu.vector_bits()),
            );
        }
        let Request { func: asked, brush, shapes, is_masked } = request;
        let known: Vec<String> = module.functions.iter().map(|func| func.name.clone()).collect();
        retain_reachable(&mut module, asked);
        let Some(func) = module.function_mut(asked) else { return Err(missing(asked, known, &refused)) };
        declare_shapes(func, shapes)?;
        let declared = func.signature.params.iter().map(|param| param.shape.clone());
        let declared = declared.map(|shape| shape.unwrap_or(DeclaredShape::Varying)).collect();
        if let Some(region) = launched(func) {
            let text = format!("it launches @{region}: one thread runs it, and lanes run @{region}");
            let told = Diagnostic::error(Code::LaunchesLanes, text).of_func(asked);
            return Err(told.way_out("vectorize that").into());
        }
        let before = branches(&module, asked);
        let masked = format!("{asked}.masked");
        let entered = if *is_masked { &masked } else { asked };
        if let Some(mut func) = module.function(asked).filter(|_| *is_masked).cloned() {
            func.name = masked.clone();
            enter_with_mask(&mut func);
            module.functions.push(func);
            retain_reachable(&mut module, &masked);
        }
        let options = Options {
            params: self.options.params.clone().or(Some(DeclaredShape::Varying)),
            ..self.options.clone()
        };
        let mut context = Context::verifying(self.verify).cancelled_by(&self.cancelled);
        run(&mut module, &vectorization(brush, &options), &mut context)?;
        let lanes = context.side_by_side.unwrap_or(1).saturating_mul(brush.lanes());
        let all = brush.times(context.side_by_side.unwrap_or(1))?;
        let wide = wide_name(entered, all.extents());
        let mut report = Report { lanes, branches: [before, branches(&module, &wide)], ..Report::default() };
        report.count(&module, &wide);
        let told = context.remarks.into_iter().map(|remark| remark.told.in_module(&module));
        report.remarks = told.collect();
        Ok(Artifact {
            func: asked.clone(),
            module,
            wide,
            report,
            times: context.times,
            shapes: declared,
            is_masked: *is_masked,
            llvm,
            cpu: self.cpu.clone(),
        })
    }

    fn check_machine(&self, source: Option<&LlvmModule>) -> Result<(), Diagnostic> {
        let Some(source) = source.filter(|it| it.is_x86() != self.cpu.is_x86()) else { return Ok(()) };
        let told = Diagnostic::error(Code::WrongTarget, format!("it is LLVM IR for {}", source.triple()));
        Err(match &self.cpu.triple {
            Some(triple) => told.way_out(format!("let clang make it with --target={triple}")),
            None => told,
        })
    }
}

impl Failure {
    /// With a file where none is named.
    #[must_use]
    pub fn in_file(self, file: &str) -> Failure {
        Failure { diagnostics: self.diagnostics.into_iter().map(|told| told.in_file(file)).collect() }
    }
}

/// What an import gave, with what else there is to tell.
fn imported(
    module: Module,
    refused: &[Refusal],
    mut told: Vec<Diagnostic>,
    llvm: LlvmModule,
    file: &str,
) -> Result<Source, Failure> {
    told.extend(refused.iter().map(Into::into));
    if module.functions.is_empty() {
        told.push(error(Code::NotImported, &format!("{file}: there is no function that can be taken")));
        return Err(Failure { diagnostics: told });
    }
    verify_module(&module, Stage::Source)
        .map_err(|violations| error(Code::Internal, &format!("{file}: {violations}")))?;
    Ok(Source { module, llvm: Some(llvm), refused: told })
}

fn unreadable(file: &str, reason: &std::io::Error) -> Diagnostic {
    error(Code::Unreadable, reason).at(Place::of_line(Some(file), 0, 0))
}

/// There is no such function: because it was refused, or because its name is another.
fn missing(name: &str, known: Vec<String>, refused: &[Diagnostic]) -> Failure {
    let own: Vec<Diagnostic> =
        refused.iter().filter(|told| told.place.func.as_deref() == Some(name)).cloned().collect();
    if !own.is_empty() {
        let as_error = |told: Diagnostic| Diagnostic { severity: Severity::Error, ..told };
        return Failure { diagnostics: own.into_iter().map(as_error).collect() };
    }
    let told = Diagnostic::error(Code::UnknownFunction, format!("there is no function @{name}"));
    let known: Vec<String> = known.into_iter().map(|name| format!("@{name}")).collect();
    match known.is_empty() {
        true => told.into(),
        false => told.way_out(format!("there are {}", known.join(", "))).into(),
    }
}

/// Declares what is said of parameters, by their order or by their names.
fn declare_shapes(func: &mut Function, shapes: &[ParamShape]) -> Result<(), Diagnostic> {
    let refuse = |text: String, way_out: String| {
        Err(Diagnostic::error(Code::ParameterShapes, text).of_func(&func.name).way_out(way_out))
    };
    let expected = func.signature.params.len();
    let in_order = shapes.iter().filter(|it| it.name.is_none()).count();
    if in_order > expected || in_order != 0 && shapes.len() == in_order && in_order != expected {
        let text = format!("it has {expected} parameters, and {in_order} shapes are given");
        return refuse(
            text,
            "give one for each, as in `uniform,varying,linear:4`, or by name: `n=uniform`".into(),
        );
    }
    let mut said: Vec<Option<DeclaredShape>> = vec![None; expected];
    for (index, ParamShape { name, shape }) in shapes.iter().enumerate() {
        let Some(name) = name else {
            said[index] = Some(shape.clone());
            continue;
        };
        // A parameter that is taken apart gives its name to all that it consists of.
        let is_meant = |&&value: &&Value| func.name_of(value) == Some(name) || value.to_string() == *name;
        let meant: Vec<usize> = (0..expected).filter(|&index| is_meant(&&func.params()[index])).collect();
        if meant.is_empty() {
            let names: Vec<String> = func.params().iter().map(|&param| func.describe(param)).collect();
            return refuse(format!("it has no parameter `{name}`"), format!("it has {}", names.join(", ")));
        }
        meant.into_iter().for_each(|index| said[index] = Some(shape.clone()));
    }
    for (param, shape) in func.signature.params.iter_mut().zip(said) {
        param.shape = shape.or(param.shape.take());
    }
    Ok(())
}

/// Leaves of a module a function and what it calls.
pub fn retain_reachable(module: &mut Module, name: &str) {
    retain_all_reachable(module, &[name]);
}

/// Leaves of a module some functions and what they call.
pub fn retain_all_reachable(module: &mut Module, names: &[&str]) {
    let wanted = reachable_from(module, names.iter().map(ToString::to_string).collect());
    module.functions.retain(|func| wanted.contains(&func.name));
}

/// What a function launches first, if anything.
fn launched(func: &Function) -> Option<String> {
    let mut details =
        func.blocks().flat_map(|block| func.block_insts(block)).map(|inst| &func.inst(inst).detail);
    details.find_map(|detail| match detail {
        Detail::Launch(launch) => Some(func.callees[launch.callee].name.clone()),
        _ => None,
    })
}

impl Artifact {
    /// Adds the form of the vector ABI to the module; its name. Where there is none: why.
    pub fn add_abi_form(&mut self) -> Result<String, Diagnostic> {
        if !self.cpu.is_x86() {
            let text = "the forms of the vector ABI are made for x86 only";
            return Err(Diagnostic::error(Code::NoAbiForm, text).of_func(&self.func));
        }
        let isa = Isa::of_bits(self.cpu.vector_bits());
        let lanes = self.report.lanes;
        let form = Form { name: &self.func, lanes, shapes: &self.shapes, isa, is_masked: self.is_masked };
        add_abi_form(&mut self.module, &self.wide, &form).map_err(|reason| error(Code::NoAbiForm, &reason))
    }

    /// The module of LLVM with the code, which LLVM's passes have been through. Only the function of this name is seen from
    /// outside.
    pub fn llvm(&self, seen: &str) -> Result<LlvmModule, Diagnostic> {
        let code = self.emit(EmitOptions::default())?;
        keep_private_but(&code, &[seen]);
        if let Some(source) = &self.llvm {
            share_globals(&code, source);
        }
        optimize(&code, &self.cpu).map_err(|reason| error(Code::CodeGeneration, &reason))?;
        Ok(code)
    }

    /// Gives the wide form another name.
    pub fn rename(&mut self, name: &str) {
        if let Some(func) = self.module.function_mut(&self.wide) {
            func.name = name.into();
            self.wide = name.into();
        }
    }

    /// The code by itself, the wide form seen by its name.
    pub fn code(&self, output: Output) -> Result<Vec<u8>, Diagnostic> {
        let code = self.llvm(&self.wide)?;
        generate(&code, &self.cpu, output).map_err(|reason| error(Code::CodeGeneration, &reason))
    }

    fn emit(&self, options: EmitOptions) -> Result<LlvmModule, Diagnostic> {
        emit(&self.module, options).map_err(|reason| error(Code::NotEmitted, &reason))
    }

    /// The code as text, bitcode, assembly or object. As LLVM IR it stands beside all that its source has; as assembly or
    /// object by itself, to be linked with that. Without a form of the vector ABI it has Heddle's name, which is told.
    pub fn write(&mut self, output: Output) -> Result<(Vec<u8>, Option<Diagnostic>), Diagnostic> {
        let is_ir = matches!(output, Output::Text | Output::Bitcode);
        let (name, told) = match self.add_abi_form() {
            Ok(name) => (name, None),
            Err(told) if is_ir || !self.cpu.is_x86() => {
                let note = format!("it is @{}", self.wide);
                (self.wide.clone(), Some(Diagnostic { severity: Severity::Remark, ..told }.note(note)))
            }
            Err(told) => return Err(told),
        };
        let failed = |reason: &dyn fmt::Display| error(Code::CodeGeneration, reason);
        let begin = Instant::now();
        let code = self.llvm(&name)?;
        self.times.push(PassTime { name: "LLVM's passes", time: begin.elapsed() });
        let begin = Instant::now();
        let bytes = match &self.llvm {
            None => generate(&code, &self.cpu, output).map_err(|reason| failed(&reason))?,
            Some(source) => {
                link(source, &code).map_err(|reason| failed(&reason))?;
                if !is_ir {
                    cut_out(source, &[&name]).map_err(|reason| failed(&reason))?;
                }
                generate(source, &self.cpu, output).map_err(|reason| failed(&reason))?
            }
        };
        self.times.push(PassTime { name: "code generation", time: begin.elapsed() });
        Ok((bytes, told))
    }

    /// The code, callable in this process.
    pub fn jit(&mut self) -> Result<Jit, Diagnostic> {
        let begin = Instant::now();
        let code = self.llvm(&self.wide)?;
        self.times.push(PassTime { name: "LLVM's passes", time: begin.elapsed() });
        let begin = Instant::now();
        let jit =
            Jit::new(code, CodeLevel::Default, &[]).map_err(|reason| error(Code::CodeGeneration, &reason))?;
        self.times.push(PassTime { name: "code generation", time: begin.elapsed() });
        Ok(jit)
    }
}
