//! Compiled group functions.

use crate::exit::{make_tables, step};
use crate::faults::{KernelFault, KernelThread};
use crate::launch::LaunchForecast;
use crate::processors::thread_time;
use crate::program::{BuildOptions, BuildServices};
use crate::selection::{CandidateSpec, CodeTraits, Selection, Trials};
use crate::vector_code::{CodeForm, CodeVariant, GroupFunctions, VectorCode, source_loops};
use heddle_compiler::KernelReport;
use heddle_compiler::context::PassContext;
use heddle_compiler::ir::diagnostic::DiagnosticLocation;
use heddle_compiler::ir::module::Global;
use heddle_compiler::ir::words::Flag;
use heddle_compiler::ir::{Code, Diagnostic, Function, Module, Op, Space};
use heddle_llvm::{
    CodegenLevel, Cpu, EmitOptions, Jit, OptimizeOptions, PRINT, compile_host_object, define_printf_bodies,
    emit, entry_name, inline_single_calls, internalize_except, optimize, share_globals, stack_bytes,
};
use heddle_transform::{GroupFunction, KernelOptions, estimate_regions, instruction_count};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;

/// Why a kernel has no code.
#[derive(Debug, Error)]
pub enum BuildError {
    /// There is no such kernel in the program.
    #[error("no kernel @{0} in the program")]
    Unknown(String),
    /// A pass refuses it.
    #[error("@{kernel}: {reason}")]
    Pass {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: Box<Diagnostic>,
    },
    /// It cannot be run by groups, or LLVM has no code for it.
    #[error(transparent)]
    Refused(#[from] Diagnostic),
}

impl BuildError {
    /// Diagnostic for users, with the names of the program's files.
    pub fn diagnostic(&self, program: &Module) -> Diagnostic {
        match self {
            BuildError::Unknown(name) => {
                Diagnostic::error(Code::UnknownFunction, format!("no kernel @{name}"))
            }
            BuildError::Pass { reason, .. } => (**reason).clone(),
            BuildError::Refused(message) => message.clone().in_module(program),
        }
    }
}

/// Memory that a group function needs for each group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GroupRequirements {
    /// Local memory of the program's own objects.
    pub(crate) local_bytes: u64,
    /// Scratch memory of a brush.
    pub(crate) brush_bytes: u64,
    /// Bytes of stack; the maximum if unknown.
    pub(crate) stack_bytes: u64,
    /// Offset of its status in scratch memory; none if its work-items cannot wait at different barriers.
    pub(crate) status_offset: Option<u64>,
}

/// Machine code, which any thread may drop by a call of LLVM.
#[derive(Debug)]
struct JitCode(Option<Jit>);

impl Drop for JitCode {
    fn drop(&mut self) {
        match crate::exit::busy_in_background() {
            Some(_busy) => self.0 = None,
            // The process ends, and takes the memory back.
            None => std::mem::forget(self.0.take()),
        }
    }
}

/// A group function that can be called.
pub(crate) struct GroupCode {
    jit: JitCode,
    entry: extern "C" fn(*const u8, *mut u8),
    /// Memory for each group.
    pub(crate) needs: GroupRequirements,
    /// Report of its kernel; none if the code was loaded from the cache.
    pub(crate) report: Option<KernelReport>,
    /// Warnings about costly code, a line each.
    pub(crate) warnings: String,
    /// Launches and layout that it is specialized for.
    pub(crate) variant: CodeVariant,
    /// Options that it was lowered with.
    pub(crate) options: KernelOptions,
    /// Properties that predict the time of other codes.
    pub(crate) traits: CodeTraits,
    /// Processor time that its compilation took.
    pub(crate) compile_time: Duration,
    /// Selection among this code and others; without effect in others.
    pub(crate) selection: Selection<VariantSpec, GroupCode>,
    /// Nanoseconds for 1024 work-items, as the last launches took them.
    pace: AtomicU64,
}

/// Maximum stack use of code that runs on the stack of any thread.
const SLIM: u64 = 16 << 10;
/// Nanoseconds that a launch may take which the caller does at once: some times as long as it takes to wake another thread,
/// which then is not there for the groups.
const BRIEF: f64 = 100_000.0;
/// The pace of what was not run yet.
const UNKNOWN: u64 = u64::MAX;

// SAFETY: the JIT is only kept for its code, which any thread may run, and is ended by the last owner alone.
unsafe impl Send for GroupCode {}
// SAFETY: as above; nothing of the JIT is changed through a shared reference.
unsafe impl Sync for GroupCode {}

impl std::fmt::Debug for GroupCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupCode")
            .field("jit", &self.jit)
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

impl GroupCode {
    /// Runs one group on a thread of its launch. Returns its fault, if any.
    ///
    /// # Safety
    /// The slots hold what the kernel takes and the place, local memory and scratch memory of the group, as large as it needs
    /// them; and the kernel does nothing undefined with them but fault.
    pub(crate) unsafe fn call(&self, thread: &KernelThread, slots: &[u8]) -> Option<KernelFault> {
        // SAFETY: the caller's promise.
        unsafe { thread.call(self.entry, slots.as_ptr()) }
    }

    /// Notes for how long threads worked on a launch of so many work-items, all together.
    pub(crate) fn took(&self, items: u64, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let now = time.saturating_mul(1024) / items.max(1);
        let before = self.pace.load(Ordering::Relaxed);
        // One launch that had little to do does not say that the next one has.
        let pace = if before == UNKNOWN { now } else { now.max(before / 2) };
        self.pace.store(pace.min(UNKNOWN - 1), Ordering::Relaxed);
    }

    /// Nanoseconds for a work-item; none before the first launch.
    pub(crate) fn pace(&self) -> Option<f64> {
        let pace = self.pace.load(Ordering::Relaxed);
        (pace != UNKNOWN).then_some(pace as f64 / 1024.0)
    }

    /// Forecast for a launch of so many work-items by so many threads.
    pub(crate) fn outlook(&self, items: u64, threads: usize) -> LaunchForecast {
        let is_soon = |pace: f64| pace * items as f64 <= BRIEF * threads as f64;
        let is_slim = self.needs.stack_bytes <= SLIM;
        LaunchForecast { is_slim, is_brief: is_slim && self.pace().is_some_and(is_soon) }
    }
}

/// Variant of a kernel's code, with the model's prediction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VariantSpec {
    pub(crate) variant: CodeVariant,
    pub(crate) promise: f64,
}

impl PartialEq for VariantSpec {
    fn eq(&self, other: &VariantSpec) -> bool {
        self.variant == other.variant
    }
}

impl CandidateSpec for VariantSpec {
    fn promise(&self) -> f64 {
        self.promise
    }

    fn key(&self) -> u64 {
        self.variant.key()
    }
}

/// Selection that never leaves the code of a variant.
fn fixed_selection(variant: CodeVariant) -> Selection<VariantSpec, GroupCode> {
    Selection::new(VariantSpec { variant, promise: 1.0 }, Trials::Off, Duration::ZERO, Vec::new())
}

/// The globals of a program that its kernels share, as long as the program is there.
pub(crate) struct Globals {
    /// Keeps what the addresses point to.
    _jit: JitCode,
    module: Module,
    symbols: Vec<(String, usize)>,
}

// SAFETY: the JIT is only kept for the memory of the globals, and is ended by the last owner alone.
unsafe impl Send for Globals {}
// SAFETY: as above; nothing of the JIT is changed through a shared reference.
unsafe impl Sync for Globals {}

impl Globals {
    /// Where a global is.
    pub(crate) fn address(&self, name: &str) -> Option<usize> {
        self.symbols.iter().find(|(known, _)| known == name).map(|&(_, address)| address)
    }

    /// Memory for the globals of a program, with what they contain at first.
    pub(crate) fn new(program: &Module) -> Result<Option<Globals>, BuildError> {
        // Heddle's own, tables of mathematical functions, every module has for itself.
        let is_kept = |global: &&Global| global.space != Space::Local && !global.name.starts_with("heddle.");
        let module = Module {
            globals: program.globals.iter().filter(is_kept).cloned().collect(),
            ..Module::default()
        };
        if module.globals.is_empty() {
            return Ok(None);
        }
        let jit = Jit::new(emit(&module, EmitOptions::default())?, CodegenLevel::Default, &[])?;
        let mut symbols = Vec::new();
        for global in &module.globals {
            symbols.push((global.name.to_string(), jit.address(&global.name)? as usize));
        }
        Ok(Some(Globals { _jit: JitCode(Some(jit)), module, symbols }))
    }
}

/// Result of a compilation.
pub(crate) struct CompiledKernel {
    pub(crate) needs: GroupRequirements,
    /// Warnings about costly code, a line each.
    pub(crate) warnings: String,
    pub(crate) traits: CodeTraits,
    /// Processor time that it took.
    pub(crate) compile_time: Duration,
    pub(crate) object: Vec<u8>,
}

/// Loads the code of a kernel for some launches from the cache, or compiles it. With `is_lookup` it is only loaded; none if it is not
/// there. Functions outside of the program have addresses.
#[expect(clippy::too_many_arguments, reason = "one caller, which has all of them in one place")]
pub(crate) fn code(
    program: &Module,
    globals: Option<&Globals>,
    outside: &[(String, usize)],
    kernel: &str,
    variant: CodeVariant,
    options: &BuildOptions,
    making: &BuildServices,
    is_lookup: bool,
) -> Result<Option<GroupCode>, BuildError> {
    let cpu = Cpu::host();
    let kept = making.kept.as_ref();
    let key = kept.map(|kept| kept.key_of(&format!("{cpu:?} {options:?} {variant:?} @{kernel}\n")));
    let known = kept.zip(key.as_deref()).filter(|_| making.watch.is_none() || is_lookup);
    let found = match known {
        Some((kept, key)) if is_lookup => kept.find(key).ok_or(None),
        Some((kept, key)) => kept.find_or_lock(key),
        None => Err(None),
    };
    let (made, report) = match found {
        Ok(known) => (known, None),
        Err(_) if is_lookup => return Ok(None),
        // The lock is held until the object is kept.
        Err(_lock) => {
            let (made, report) = compile(program, globals, kernel, variant, options, &cpu)?;
            if let (Some(kept), Some(key)) = (kept, &key) {
                kept.keep(key, &made);
            }
            if let Some(watch) = &making.watch {
                watch(&report);
            }
            (made, Some(report))
        }
    };
    let symbols = globals.iter().flat_map(|globals| &globals.symbols).chain(outside);
    let mut symbols: Vec<(&str, usize)> = symbols.map(|(name, address)| (&**name, *address)).collect();
    symbols.push((PRINT, crate::print::address()));
    let jit = Jit::of_object(&made.object, &symbols)?;
    let address = jit.address(&entry_name(kernel))?;
    // SAFETY: the address is that of an entry, which is compiled with this type and lives as long as the JIT.
    let entry = unsafe { std::mem::transmute::<usize, extern "C" fn(*const u8, *mut u8)>(address as usize) };
    Ok(Some(GroupCode {
        jit: JitCode(Some(jit)),
        entry,
        needs: made.needs,
        report,
        warnings: made.warnings,
        options: variant.options(),
        variant,
        traits: made.traits,
        compile_time: made.compile_time,
        selection: fixed_selection(variant),
        pace: AtomicU64::new(UNKNOWN),
    }))
}

/// True if a function has non-temporal stores.
fn has_streamed_stores(func: &Function) -> bool {
    let mut insts = func.blocks().flat_map(|block| func.block_insts(block)).map(|inst| func.inst(inst));
    insts.any(|data| data.op == Op::Store && data.flags.has(Flag::Nontemporal))
}

/// Vector code of a kernel for some launches, the data for calls, and its report.
fn vector_code(
    program: &Module,
    kernel: &str,
    variant: CodeVariant,
    options: &BuildOptions,
    cpu: &Cpu,
) -> Result<(Module, GroupFunction, KernelReport), BuildError> {
    let forced = match variant.form {
        CodeForm::Guarded => options.forced.with_guards(),
        CodeForm::Streaming => options.forced.with_streamed_stores(),
        _ => options.forced,
    };
    let options = &BuildOptions { forced, ..*options };
    let groups = GroupFunctions::forced(program, &[kernel], variant, &forced)?;
    let VectorCode { module, mut groups, mut reports, .. } =
        groups.vectorize(program, cpu, options, &mut PassContext::new())?;
    if variant.form == CodeForm::Streaming && !module.functions.iter().any(has_streamed_stores) {
        let text = "no whole vectors are stored";
        return Err(Diagnostic::error(Code::KernelForm, text).into());
    }
    let unknown = || BuildError::Unknown(kernel.to_string());
    let (info, report) = (groups.pop().ok_or_else(unknown)?, reports.pop().ok_or_else(unknown)?);
    Ok((module, info, report))
}

/// Compiles a kernel to vector code for its report only.
pub(crate) fn report(
    program: &Module,
    kernel: &str,
    variant: CodeVariant,
    options: &BuildOptions,
) -> Result<KernelReport, BuildError> {
    vector_code(program, kernel, variant, options, &Cpu::host()).map(|(_, _, report)| report)
}

/// Estimated cost of a kernel's vector code.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct EstimatedCost {
    /// Time for a work-item, in tenths of a cycle.
    pub(crate) time: f64,
    /// Machine instructions, which LLVM's time is proportional to.
    pub(crate) instructions: f64,
}

/// Estimates a kernel's vector code; none if there is no estimate.
pub(crate) fn estimate(
    program: &Module,
    kernel: &str,
    variant: CodeVariant,
    options: &BuildOptions,
) -> Result<Option<EstimatedCost>, BuildError> {
    let cpu = Cpu::host();
    let target = options.target(&cpu);
    let code = |variant: CodeVariant, options: &BuildOptions| {
        vector_code(program, kernel, variant, options, &cpu).map(|(module, ..)| module)
    };
    let module = code(variant, options)?;
    let mut times = estimate_regions(&module, kernel, &target);
    if variant.form == CodeForm::Mixed {
        // The other regions run one work-item after the other.
        let single = CodeVariant { brush: [1; 3], form: CodeForm::Usual, ..variant };
        let single = code(single, &BuildOptions { lanes: Some(1), ..*options })?;
        for (region, time) in estimate_regions(&single, kernel, &target) {
            times.entry(region).or_insert(time);
        }
    }
    let instructions = instruction_count(&module, &target);
    Ok((!times.is_empty()).then(|| EstimatedCost { time: times.values().sum(), instructions }))
}

/// Compiles a kernel of a program for some launches, to an object.
fn compile(
    program: &Module,
    globals: Option<&Globals>,
    kernel: &str,
    variant: CodeVariant,
    options: &BuildOptions,
    cpu: &Cpu,
) -> Result<(CompiledKernel, KernelReport), BuildError> {
    make_tables();
    let start = thread_time();
    let (module, info, report) = vector_code(program, kernel, variant, options, cpu)?;
    let traits = CodeTraits::new(&module, &report, &options.target(cpu));
    let llvm = emit(&module, EmitOptions { entries: true, ..EmitOptions::default() })?;
    define_printf_bodies(&llvm);
    internalize_except(&llvm, &[&entry_name(kernel)]);
    if let Some(globals) = globals {
        share_globals(&llvm, &emit(&globals.module, EmitOptions::default())?);
    }
    inline_single_calls(&llvm, cpu)?;
    step();
    let loops = source_loops(&module, &variant.brush, &options.target(cpu));
    optimize(&llvm, cpu, OptimizeOptions { loops, ..OptimizeOptions::default() })?;
    step();
    let object = compile_host_object(&llvm, CodegenLevel::Default)?;
    step();
    let needs = GroupRequirements {
        local_bytes: info.local_bytes,
        brush_bytes: info.brush_bytes,
        stack_bytes: stack_bytes(&llvm).unwrap_or(u64::MAX),
        status_offset: info.status_offset,
    };
    let compile_time = thread_time().saturating_sub(start);
    Ok((CompiledKernel { needs, warnings: warnings(&report, program), traits, compile_time, object }, report))
}

/// Returns warnings about costly code of a kernel, a line each.
fn warnings(report: &KernelReport, program: &Module) -> String {
    let file = program.files.values().next().map(|file| &**file);
    let mut text = String::new();
    let mut warn = |lines: &[String], what: &str, help: &str| {
        for line in lines {
            let (file, line) = match line.rsplit_once(':') {
                Some((file, line)) => (Some(file), line),
                None => (file, &**line),
            };
            let place = DiagnosticLocation::of_line(file, line.parse().unwrap_or(0), 0);
            text.push_str(&format!("{place}: warning: {what} in `{}`\n  help: {help}\n", report.kernel));
        }
    };
    warn(
        &report.always_scattered_lines(),
        "gather or scatter: work-items of a vector access memory that is not contiguous",
        "let neighbouring work-items access neighbouring elements",
    );
    warn(&report.lane_by_lane_lines, "one work-item at a time", "move it out of loops");
    text
}
