//! Programs and their kernels.

use crate::code::{BuildError, Globals, GroupCode, VariantSpec, code, report};
use crate::code_choice::CodeChoices;
use crate::compile_ahead::LaunchStage;
use crate::forced::ForcedOptions;
use crate::kept::KernelCache;
use crate::kernel_facts::{KernelFacts, kernels_of};
use crate::memory::cache_bytes;
use crate::processors::{lower_priority, thread_time};
use crate::range::{GroupForm, Groups};
use crate::second_forms::{SecondForm, add_second_forms};
use crate::selection::{
    BuildRequest, ClassReport, LaunchClass, Selection, TrialBudget, Trials, parse_choices,
};
use crate::statistics::{account_line, choices_text, class_lines};
use crate::vector_code::{CodeForm, CodeVariant};
use heddle_compiler::report::reachable;
use heddle_compiler::{KernelReport, PassPolicy};
use heddle_ir::{Diagnostic, Module};
use heddle_llvm::{Cpu, catch_fatal_errors, limit_scheduling};
use heddle_math::Accuracy;
use heddle_transform::kernels::{VectorDimension, vector_dimension};
use heddle_transform::{KnownImages, KnownStrides, RaceSemantics, TargetInfo, VersioningPolicy};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Options of a kernel's compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuildOptions {
    /// Lanes of a brush; none is what the machine's registers hold of 32 bits.
    pub lanes: Option<u32>,
    /// Lanes of the brushes of kernels that see their brush (votes, shuffles, the number of a lane), if a language fixes that.
    /// They lie in the linear order of the group.
    pub warp: Option<u32>,
    /// Accuracy of mathematical functions.
    pub math: Accuracy,
    /// Options that replace the choices of models.
    pub forced: ForcedOptions,
}

impl Default for BuildOptions {
    fn default() -> BuildOptions {
        BuildOptions { lanes: None, warp: None, math: Accuracy::Exact, forced: ForcedOptions::default() }
    }
}

impl BuildOptions {
    /// The lanes of a brush on a machine.
    pub fn lanes_on(&self, cpu: &Cpu) -> u32 {
        self.lanes.unwrap_or(cpu.vector_bits() / 32)
    }

    /// Cost table of a machine.
    pub(crate) fn target(&self, cpu: &Cpu) -> TargetInfo {
        TargetInfo::of_cpu(cpu.family(), cpu.vector_bits(), cpu.is_x86())
    }

    /// Options of the vectorizer.
    pub(crate) fn of_passes(&self, cpu: &Cpu) -> heddle_compiler::VectorizeOptions {
        let target = self.target(cpu);
        // OpenCL and CUDA make races undefined.
        let races = RaceSemantics::Excluded;
        let options = heddle_compiler::VectorizeOptions {
            math: Some(self.math),
            target,
            races,
            ..heddle_compiler::VectorizeOptions::default()
        };
        self.forced.over(options)
    }
}

/// Receives the [`KernelReport`] of each compiled kernel, and the code that run-time selection chose.
pub type ReportSink = Arc<dyn Fn(&dyn fmt::Display) + Send + Sync>;

/// Services of a build: cache, reports, run-time selection.
#[derive(Clone, Default)]
pub struct BuildServices {
    /// Where objects are kept.
    pub kept: Option<KernelCache>,
    /// Sink of kernel reports. With one, kernels are compiled even if the cache has them.
    pub watch: Option<ReportSink>,
    /// Use of run-time selection.
    pub trials: Trials,
    /// Lanes of the kernels whose source fixes them, by name.
    pub required_lanes: BTreeMap<String, u32>,
}

impl fmt::Debug for BuildServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuildServices").field("kept", &self.kept).finish_non_exhaustive()
    }
}

/// A module with kernels, which share its globals.
#[derive(Clone, Debug)]
pub struct KernelModule {
    inner: Arc<KernelModuleInner>,
}

struct KernelModuleInner {
    module: Module,
    options: BuildOptions,
    /// The lanes of a brush.
    lanes: u32,
    globals: Option<Globals>,
    /// Its kernels, then their second forms.
    kernels: Vec<KernelFacts>,
    /// Second form of each kernel.
    second_forms: Vec<Option<SecondForm>>,
    making: BuildServices,
    /// Functions that the program declares, and where they are.
    outside: Vec<(String, usize)>,
    codes: Mutex<KernelCodes>,
    /// Signalled when a compilation has ended.
    compiled: Condvar,
    /// Vector dimension of each kernel, once a launch needs it.
    dimensions: Vec<OnceLock<VectorDimension>>,
    /// Codes that the launches of each kernel chose among.
    choices: Vec<CodeChoices>,
    /// Stage of each kernel before its first launch.
    stages: Vec<LaunchStage>,
    /// Launches of each kernel that bounded its indices or did not, by a hash of their numbers.
    bounded: Vec<Mutex<[Option<BoundedLaunch>; BOUNDED_LAUNCHES]>>,
    /// Strides that each kernel has code for.
    strides: Vec<Mutex<Vec<KnownStrides>>>,
    /// Formats of images that each kernel has code for.
    images: Vec<Mutex<Vec<KnownImages>>>,
}

/// Number of combinations of strides that a kernel has code for, in the order of their first launches. Launches with others run code for all
/// strides.
const MOST_STRIDES: usize = 8;

/// Number of combinations of images' formats that a kernel has code for, in the order of their first launches. Launches with others run code
/// for all formats.
const MOST_FORMATS: usize = 4;

/// Number of launches of a kernel whose bounds are kept.
pub(crate) const BOUNDED_LAUNCHES: usize = 16;

/// Numbers of a launch, and whether they bound the indices of its kernel.
pub(crate) struct BoundedLaunch {
    pub(crate) sizes: [[u64; 3]; 3],
    pub(crate) parameters: Vec<Option<u64>>,
    pub(crate) holds: bool,
}

/// True if a kernel has code for these properties of launches, or gets it because it has code for few.
fn takes<T: PartialEq>(known: &Mutex<Vec<T>>, properties: T, most: usize) -> bool {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = known.contains(&properties);
    if !is_known && known.len() < most {
        known.push(properties);
        return true;
    }
    is_known
}

/// Code of one kernel for some launches, by the kernel's number.
type CodeKey = (usize, CodeVariant);

/// Code of a module's kernels.
#[derive(Default)]
struct KernelCodes {
    ready: FxHashMap<CodeKey, Arc<GroupCode>>,
    /// Code that a thread compiles now.
    compiling: FxHashSet<CodeKey>,
    /// Code that is compiled ahead, or is about to be, until a launch uses it.
    ahead: FxHashSet<CodeKey>,
    /// Code that is compiled for a report only: without the report it would not be there.
    reported: FxHashSet<CodeKey>,
}

impl KernelCodes {
    /// Code that is compiled, but not for a report only.
    fn find(&self, key: &CodeKey) -> Option<&Arc<GroupCode>> {
        self.ready.get(key).filter(|_| !self.reported.contains(key))
    }
}

/// Programs whose launches are reported at the end of the process.
static PROGRAMS: Mutex<Vec<Weak<KernelModuleInner>>> = Mutex::new(Vec::new());

/// Reports and keeps the choices of all programs. For the end of the process, which waits for no lock.
pub(crate) fn report_all_programs() {
    let programs = PROGRAMS.try_lock().map(|mut programs| std::mem::take(&mut *programs)).unwrap_or_default();
    for inner in programs.iter().filter_map(Weak::upgrade) {
        inner.report();
    }
}

impl KernelModuleInner {
    /// Reports the launches of each kernel and the codes that stay, and keeps the choices.
    fn report(&self) {
        let Ok(codes) = self.codes.try_lock() else { return };
        for (number, info) in self.kernels.iter().enumerate() {
            let mut own: Vec<_> = codes.ready.iter().filter(|((kernel, _), _)| *kernel == number).collect();
            own.sort_by_key(|((_, variant), _)| *variant);
            let mut total = TrialBudget::default();
            own.iter().for_each(|(_, code)| total += code.selection.total());
            if let Some(watch) = self.making.watch.as_ref().filter(|_| total.launches > 0) {
                let classes: String = own.iter().map(|(_, code)| class_lines(&code.selection)).collect();
                watch(&format_args!("{}{classes}", account_line(&info.name, &total)));
            }
            for (_, code) in own.iter().filter(|(_, code)| code.selection.has_news()) {
                self.keep_choices(info, code);
            }
        }
    }

    fn choices_key(&self, kept: &KernelCache, kernel: &KernelFacts, variant: CodeVariant) -> Vec<u8> {
        let (cpu, options) = (Cpu::host(), &self.options);
        kept.key_of(&format!("choices {cpu:?} {options:?} {variant:?} @{}\n", kernel.name))
    }

    /// Keeps the choices of a kernel for other processes.
    fn keep_choices(&self, kernel: &KernelFacts, first: &GroupCode) {
        let Some(kept) = self.making.kept.as_ref().filter(|_| self.making.trials == Trials::On) else {
            return;
        };
        let text = choices_text(&kernel.name, &first.selection);
        kept.keep_choices(&self.choices_key(kept, kernel, first.variant), &text);
    }
}

impl Drop for KernelModuleInner {
    fn drop(&mut self) {
        self.report();
    }
}

impl fmt::Debug for KernelModuleInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelModule").field("kernels", &self.kernels).finish_non_exhaustive()
    }
}

impl KernelModule {
    /// A program of a module at stage Source.
    pub fn new(module: Module, options: &BuildOptions) -> Result<KernelModule, BuildError> {
        KernelModule::making(module, options, BuildServices::default())
    }

    /// Builds a module with a cache, reports and run-time selection.
    pub fn making(
        module: Module,
        options: &BuildOptions,
        making: BuildServices,
    ) -> Result<KernelModule, BuildError> {
        // SAFETY: there are none.
        unsafe { KernelModule::with_functions(module, options, making, &[]) }
    }

    /// A program that calls functions of the driver's by the names that it declares them with.
    ///
    /// # Safety
    /// At each address is a function of C that takes and gives what the program declares, as long as the program is there.
    pub unsafe fn with_functions(
        mut module: Module,
        options: &BuildOptions,
        making: BuildServices,
        functions: &[(&str, usize)],
    ) -> Result<KernelModule, BuildError> {
        crate::exit::watch();
        // Without the limit code is the same, but takes longer to compile.
        let _ = limit_scheduling();
        let globals = Globals::new(&module)?;
        let mut kernels = kernels_of(&module, &making.required_lanes);
        let second_forms = match options.forced.versions() {
            VersioningPolicy::None => vec![None; kernels.len()],
            _ => add_second_forms(&mut module, &kernels),
        };
        if second_forms.iter().any(Option::is_some) {
            kernels = kernels_of(&module, &making.required_lanes);
            // Second forms have no guards any more, which tell numbers of elements from strides.
            for (first, form) in second_forms.iter().enumerate() {
                let name = &kernels[first].name;
                let Some(func) = module.functions.iter().find(|it| it.name == *name) else { continue };
                for number in form.iter().flat_map(SecondForm::numbers) {
                    kernels[number].stride_parameters.retain(|it| !it.bounds_an_index(func));
                }
            }
        }
        if options.forced.versions() == VersioningPolicy::None {
            for kernel in &mut kernels {
                kernel.distinct_objects.clear();
                kernel.index_ranges = None;
                kernel.stride_parameters.clear();
            }
        }
        let dimensions = kernels.iter().map(|_| OnceLock::new()).collect();
        let choices = kernels.iter().map(|_| CodeChoices::default()).collect();
        let stages = kernels.iter().map(|_| LaunchStage::default()).collect();
        let bounded = kernels.iter().map(|_| Mutex::default()).collect();
        let strides = kernels.iter().map(|_| Mutex::default()).collect();
        let images = kernels.iter().map(|_| Mutex::default()).collect();
        let lanes = options.lanes_on(&Cpu::host());
        let outside = functions.iter().map(|&(name, address)| (name.to_string(), address)).collect();
        let (codes, compiled) = (Mutex::default(), Condvar::new());
        let inner = KernelModuleInner {
            module,
            options: *options,
            lanes,
            globals,
            kernels,
            second_forms,
            making,
            outside,
            codes,
            compiled,
            dimensions,
            choices,
            stages,
            bounded,
            strides,
            images,
        };
        let inner = Arc::new(inner);
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        programs.retain(|program| program.strong_count() > 0);
        programs.push(Arc::downgrade(&inner));
        Ok(KernelModule { inner })
    }

    /// Options of its compilation.
    pub fn options(&self) -> &BuildOptions {
        &self.inner.options
    }

    /// The module that it was made of.
    pub fn module(&self) -> &Module {
        &self.inner.module
    }

    /// Its kernels, in the order of the module.
    pub fn kernels(&self) -> &[KernelFacts] {
        &self.inner.kernels[..self.inner.second_forms.len()]
    }

    /// Kernel of a number.
    pub(crate) fn numbered(&self, number: usize) -> PreparedKernel {
        PreparedKernel { program: self.clone(), number }
    }

    /// Second form of the kernel of a number.
    pub(crate) fn second_form(&self, number: usize) -> Option<&SecondForm> {
        self.inner.second_forms.get(number)?.as_ref()
    }

    /// Facts of the kernel of a number, which may be a second form.
    pub(crate) fn facts(&self, number: usize) -> &KernelFacts {
        &self.inner.kernels[number]
    }

    /// Where a global of the program is, and how many bytes it has.
    pub fn global(&self, name: &str) -> Option<(usize, u64)> {
        let globals = self.inner.globals.as_ref()?;
        let global = self.inner.module.globals.iter().find(|global| &*global.name == name)?;
        Some((globals.address(name)?, global.bytes()))
    }

    fn codes(&self) -> MutexGuard<'_, KernelCodes> {
        self.inner.codes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<PreparedKernel> {
        Some(self.numbered(self.kernels().iter().position(|kernel| kernel.name == name)?))
    }

    /// Compiles all kernels for usual launches, for a report: launches choose their code as if it were not compiled. Returns the warnings
    /// of each kernel, a line each, or why it has no code. Kernels that take images are reported at their launches.
    pub fn compile_for_report(&self) -> Vec<Result<String, BuildError>> {
        let kernels = (0..self.kernels().len()).map(|number| self.numbered(number));
        let report = |kernel: PreparedKernel| match kernel.takes_images() {
            true => Ok(String::new()),
            false => kernel.compile_for_report().map(|code| code.warnings.clone()),
        };
        kernels.map(report).collect()
    }
}

/// A thread that compiles needs as much stack.
pub(crate) const STACK: usize = 64 << 20;

/// A kernel of a program.
#[derive(Clone, Debug)]
pub struct PreparedKernel {
    program: KernelModule,
    number: usize,
}

/// A kernel whose program may be gone.
#[derive(Debug)]
pub(crate) struct WeakKernel {
    program: Weak<KernelModuleInner>,
    number: usize,
}

impl PartialEq for WeakKernel {
    fn eq(&self, other: &WeakKernel) -> bool {
        self.program.ptr_eq(&other.program) && self.number == other.number
    }
}

impl WeakKernel {
    /// True if its program still exists.
    pub(crate) fn exists(&self) -> bool {
        self.program.strong_count() > 0
    }

    /// The kernel, if its program still exists.
    pub(crate) fn upgrade(&self) -> Option<PreparedKernel> {
        let program = KernelModule { inner: self.program.upgrade()? };
        Some(PreparedKernel { program, number: self.number })
    }
}

impl PreparedKernel {
    /// Its program.
    pub fn program(&self) -> &KernelModule {
        &self.program
    }

    /// Number of instructions of the kernel and of all functions that it reaches.
    pub(crate) fn reached_instructions(&self) -> usize {
        let program = self.program_module();
        let reached = reachable(program, &self.info().name);
        let functions = program.functions.iter().filter(|func| reached.contains(&func.name));
        functions.flat_map(|func| func.blocks().map(|block| func.block_insts(block).count())).sum()
    }

    /// Properties of the kernel.
    pub fn info(&self) -> &KernelFacts {
        self.program.facts(self.number)
    }

    /// Number of the kernel in its program.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Options of the program's compilation.
    pub fn options(&self) -> &BuildOptions {
        &self.program.inner.options
    }

    pub(crate) fn program_module(&self) -> &Module {
        &self.program.inner.module
    }

    pub(crate) fn choices(&self) -> &CodeChoices {
        &self.program.inner.choices[self.number]
    }

    /// Passes a line to the sink of reports, if there is one.
    pub(crate) fn watch(&self, text: &dyn fmt::Display) {
        if let Some(watch) = &self.program.inner.making.watch {
            watch(text);
        }
    }

    /// Estimates that a process before has kept.
    pub(crate) fn kept_estimates(&self) -> Option<String> {
        let kept = self.program.inner.making.kept.as_ref()?;
        kept.find_estimates(&self.estimates_key(kept))
    }

    pub(crate) fn keep_estimates(&self, text: &str) {
        if let Some(kept) = &self.program.inner.making.kept {
            kept.keep_estimates(&self.estimates_key(kept), text);
        }
    }

    fn estimates_key(&self, kept: &KernelCache) -> Vec<u8> {
        let (cpu, options) = (Cpu::host(), self.options());
        kept.key_of(&format!("estimates {cpu:?} {options:?} @{}\n", self.info().name))
    }

    /// Why it has no code, with the names of the files of its program.
    pub fn diagnostic(&self, reason: &BuildError) -> Diagnostic {
        reason.diagnostic(&self.program.inner.module)
    }

    /// Reports of the code that launches have needed so far. For code from the cache, the passes run again.
    pub fn reports(&self) -> Vec<KernelReport> {
        let mut reports = self.reports_of_form();
        reports.extend(self.second_forms().iter().flat_map(PreparedKernel::reports_of_form));
        reports
    }

    fn reports_of_form(&self) -> Vec<KernelReport> {
        let codes = self.program.codes();
        let own = codes.ready.iter().filter(|((number, _), _)| *number == self.number);
        let mut own: Vec<(CodeVariant, Arc<GroupCode>)> =
            own.map(|((_, variant), code)| (*variant, Arc::clone(code))).collect();
        drop(codes);
        own.sort_by_key(|(variant, _)| *variant);
        let again = |variant| {
            let make = |variant, options| {
                let kernel = self.clone();
                let work =
                    move || report(&kernel.program.inner.module, &kernel.info().name, variant, &options);
                catch_fatal_errors(STACK, work)?
            };
            self.in_some_form(variant, make).ok()
        };
        own.into_iter().filter_map(|(variant, code)| code.report.clone().or_else(|| again(variant))).collect()
    }

    /// Vector dimension that the model chooses for it.
    pub fn vector_dimension(&self) -> &VectorDimension {
        let inner = &*self.program.inner;
        inner.dimensions[self.number].get_or_init(|| vector_dimension(&inner.module, &self.info().name))
    }

    /// Variant and size of groups of launches whose range is not known.
    pub(crate) fn usual_launch(&self) -> (CodeVariant, [u32; 3]) {
        let axes = self.vector_dimension().axes;
        let usual = CodeVariant::usual(self.info(), self.lanes(), axes);
        let usual = CodeVariant { promises: self.info().usual_promises(), ..usual };
        let form = if self.info().sees_groups { GroupForm::Seen } else { self.unseen_form(axes) };
        let [width, height] = self.info().square.map_or_else(|| form.usual_extents(), |width| [width; 2]);
        (usual, usual.local.unwrap_or_else(|| axes.to_dimensions([width, height, 1])))
    }

    /// The lanes of its brushes.
    pub fn lanes(&self) -> u32 {
        let info = self.info();
        let fixed = info.required_lanes.or(self.options().warp.filter(|_| info.observes_brush));
        fixed.unwrap_or(self.program.inner.lanes)
    }

    pub(crate) fn trials(&self) -> Trials {
        self.program.inner.making.trials
    }

    /// True if the code for some launches is compiled, or is being compiled ahead.
    pub(crate) fn is_compiled(&self, variant: &CodeVariant) -> bool {
        let (codes, key) = (self.program.codes(), (self.number, *variant));
        codes.find(&key).is_some() || codes.ahead.contains(&key)
    }

    /// The code for some launches, if it was compiled before.
    pub(crate) fn code_if_ready(&self, variant: CodeVariant) -> Option<Arc<GroupCode>> {
        self.program.codes().find(&(self.number, variant)).map(Arc::clone)
    }

    /// The code for some launches, compiled at the first of them. Waits for a thread that compiles it already.
    pub(crate) fn code(&self, variant: CodeVariant) -> Result<Arc<GroupCode>, BuildError> {
        let mut codes = self.program.codes();
        codes.reported.remove(&(self.number, variant));
        let was_ahead = !codes.ahead.is_empty() && codes.ahead.remove(&(self.number, variant));
        if was_ahead {
            drop(codes);
            crate::compile_ahead::add_use();
            codes = self.program.codes();
        }
        self.code_of(variant, codes)
    }

    fn code_of<'p>(
        &'p self,
        variant: CodeVariant,
        mut codes: MutexGuard<'p, KernelCodes>,
    ) -> Result<Arc<GroupCode>, BuildError> {
        let key = (self.number, variant);
        let inner = &*self.program.inner;
        loop {
            if let Some(code) = codes.ready.get(&key) {
                return Ok(Arc::clone(code));
            }
            if codes.compiling.insert(key) {
                break;
            }
            codes = inner.compiled.wait(codes).unwrap_or_else(PoisonError::into_inner);
        }
        drop(codes);
        let busy = crate::exit::busy();
        let made = self.made(variant);
        drop(busy);
        let mut codes = self.program.codes();
        codes.compiling.remove(&key);
        if let Ok(code) = &made {
            codes.ready.insert(key, Arc::clone(code));
        }
        inner.compiled.notify_all();
        made
    }

    /// Compiles the code of usual launches in each form, which is kept on disk, too.
    pub fn prepare_usual(&self) -> Result<(), BuildError> {
        self.compile_usual()?;
        self.second_form().map_or(Ok(()), |kernel| kernel.compile_usual().map(drop))
    }

    /// True if it reads or writes images or textures.
    pub fn takes_images(&self) -> bool {
        self.info().takes_images
    }

    /// True if the kernel has code for these formats of images, or gets it.
    pub(crate) fn takes_formats(&self, images: KnownImages) -> bool {
        takes(&self.program.inner.images[self.number], images, MOST_FORMATS)
    }

    /// True if the kernel has code for these strides, or gets it.
    pub(crate) fn takes_strides(&self, strides: KnownStrides) -> bool {
        takes(&self.program.inner.strides[self.number], strides, MOST_STRIDES)
    }

    /// Launches whose numbers were compared with the bounds of the indices.
    pub(crate) fn bounded_launches(&self) -> MutexGuard<'_, [Option<BoundedLaunch>; BOUNDED_LAUNCHES]> {
        self.program.inner.bounded[self.number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compiles the code of usual launches, unless it is compiled already, without a consequence for launches.
    fn compile_for_report(&self) -> Result<Arc<GroupCode>, BuildError> {
        let variant = self.foreseen_variant(true).unwrap_or_else(|| self.usual_launch().0);
        let mut codes = self.program.codes();
        if !codes.ready.contains_key(&(self.number, variant)) {
            codes.reported.insert((self.number, variant));
        }
        self.code_of(variant, codes)
    }

    /// Compiles the code of usual launches.
    pub(crate) fn compile_usual(&self) -> Result<Arc<GroupCode>, BuildError> {
        let (usual, local) = self.usual_launch();
        self.code(self.chosen_variant(usual, local, true, None))
    }

    /// Stage before its first launch.
    pub(crate) fn stage(&self) -> &LaunchStage {
        &self.program.inner.stages[self.number]
    }

    /// Compiles the code of usual launches, unless a launch has begun meanwhile; false if it has.
    pub(crate) fn compile_unlaunched(&self) -> bool {
        if self.stage().is_launched() {
            return false;
        }
        let (usual, local) = self.usual_launch();
        let variant = self.chosen_variant(usual, local, true, None);
        if self.stage().is_launched() {
            return false;
        }
        let mut codes = self.program.codes();
        codes.reported.remove(&(self.number, variant));
        codes.ahead.insert((self.number, variant));
        // A launch reports why there is no code.
        let _ = self.code_of(variant, codes);
        true
    }

    /// The kernel, without keeping its program.
    pub(crate) fn downgrade(&self) -> WeakKernel {
        WeakKernel { program: Arc::downgrade(&self.program.inner), number: self.number }
    }

    /// Loads the code of usual launches if the cache has it, and chooses it for them; false if it has not.
    pub(crate) fn load_usual(&self) -> bool {
        let Some(variant) = self.foreseen_variant(false) else { return false };
        let is_reported = {
            let (codes, key) = (self.program.codes(), (self.number, variant));
            if codes.find(&key).is_some() {
                return true;
            }
            codes.reported.contains(&key)
        };
        // The cache has it because of the report.
        if is_reported {
            return false;
        }
        let (making, options) = (self.program.inner.making.clone(), *self.options());
        let _busy = crate::exit::busy();
        let Ok(Some(mut code)) = self.compiled(variant, options, making, true).0 else { return false };
        code.selection = self.selection(&code);
        self.program.codes().ready.entry((self.number, variant)).or_insert_with(|| Arc::new(code));
        let (usual, local) = self.usual_launch();
        self.chosen_variant(usual, local, true, None);
        true
    }

    /// Candidates for launches in groups of this size, with the model's predictions.
    pub(crate) fn candidates(&self, first: &GroupCode, groups: &Groups) -> Vec<VariantSpec> {
        let local = groups.local().map(|size| size as u32);
        let (options, lanes) = (self.options(), self.lanes());
        let (base, traits) = (first.variant, &first.traits);
        let mut variants = self.variants_of(base, local, groups.is_uniform());
        let of_lanes = |wanted: u32| {
            let lanes = |it: &&CodeVariant| it.brush.iter().product::<u32>() == wanted;
            variants.iter().filter(|it| it.form == CodeForm::Usual).find(lanes).copied().unwrap_or(base)
        };
        let (usual, double) = (of_lanes(lanes), of_lanes(2 * lanes));
        // Code that half of the work-items need may be code that whole brushes do not.
        let folds = options.forced.leaves_guards_open() && traits.has_converted_branches;
        variants.extend(folds.then_some(CodeVariant { form: CodeForm::Guarded, ..usual }));
        // Memory that does not fit into the caches need not be loaded into them before it is overwritten.
        if self.min_streamed_items().is_some_and(|least| least <= groups.items()) {
            variants.extend([usual, double].map(|it| CodeVariant { form: CodeForm::Streaming, ..it }));
        }
        // Work-items that iterate more often than others keep only their own lanes.
        if options.forced.refill() == PassPolicy::IfProfitable {
            variants.extend([double, usual].into_iter().filter_map(|it| it.lane_refill(local)));
        }
        let choice = self.choice_of(&base, local);
        let of_first = choice.as_ref().and_then(|it| it.time_of(&base));
        let promise = |variant: &CodeVariant| {
            let plain = CodeVariant { form: CodeForm::Usual, ..*variant };
            let estimate = |it: &CodeVariant| Some(choice.as_ref()?.time_of(it)? / of_first?);
            let by_form = || Some(estimate(&plain)? * traits.ratio_of_form(variant.form));
            estimate(variant).or_else(by_form).unwrap_or_else(|| traits.promise(variant, &base))
        };
        let mut specs: Vec<VariantSpec> = Vec::new();
        for variant in variants {
            let spec = VariantSpec { variant, promise: promise(&variant) };
            if variant != base && !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        specs
    }

    /// True if the runtime chooses the size of groups.
    pub(crate) fn chooses_groups(&self, variant: &CodeVariant) -> bool {
        variant.single || !self.info().sees_groups && self.info().required_local.is_none()
    }

    /// Class of launches with these groups on so many threads.
    pub(crate) fn class(&self, variant: &CodeVariant, groups: &Groups, threads: usize) -> LaunchClass {
        match self.chooses_groups(variant) {
            true => LaunchClass::new(groups.items(), [0; 3], true, threads),
            false => {
                let local = groups.local().map(|size| size as u32);
                LaunchClass::new(groups.items(), local, groups.is_uniform(), threads)
            }
        }
    }

    /// Begins a class of launches, with the code that a process before has chosen for it.
    pub(crate) fn open_class(&self, first: &GroupCode, class: LaunchClass, groups: &Groups) {
        let number = first.selection.open_class(class, || self.candidates(first, groups));
        let Some((number, variant)) =
            number.and_then(|it| Some((it, first.selection.with_spec(it, |spec| spec.variant)?)))
        else {
            return;
        };
        let _busy = crate::exit::busy();
        let found = self.compiled_candidate(variant, true).0.ok().flatten();
        first.selection.add_chosen_code(number, found.map(Arc::new));
    }

    /// Code of a candidate, loaded or compiled, and the processor time that it took.
    pub(crate) fn compiled_candidate(
        &self,
        variant: CodeVariant,
        is_lookup: bool,
    ) -> (Result<Option<GroupCode>, BuildError>, Duration) {
        let inner = &*self.program.inner;
        let options = BuildOptions { lanes: Some(variant.brush.iter().product()), ..inner.options };
        let making = BuildServices { watch: None, ..inner.making.clone() };
        self.compiled(variant, options, making, is_lookup)
    }

    /// Starts a thread that loads a candidate from the cache or compiles it. Unless it is paid for, the thread has the lowest
    /// priority; such a thread never ends where all processors are busy.
    pub(crate) fn build_candidate(&self, first: &Arc<GroupCode>, request: BuildRequest) {
        /// At each priority one candidate of the process is compiled at a time.
        static BUILDING: [Mutex<()>; 2] = [Mutex::new(()), Mutex::new(())];
        let Some(variant) = first.selection.with_spec(request.code, |spec| spec.variant) else { return };
        let (kernel, code) = (self.clone(), Arc::clone(first));
        let build = move || {
            if !request.is_paid() {
                lower_priority();
            }
            let _turn =
                BUILDING[usize::from(request.is_paid())].lock().unwrap_or_else(PoisonError::into_inner);
            let Some(_busy) = crate::exit::busy_in_background() else {
                // The process ends; to drop code would use LLVM.
                loop {
                    thread::park();
                }
            };
            let (built, time) = kernel.compiled_candidate(variant, !request.compiles);
            // A variant that cannot be compiled is no candidate any more.
            code.selection.end_build(request, time, built.ok().flatten().map(Arc::new));
        };
        // Where the system has no more threads, the candidate is none.
        if thread::Builder::new().name("heddle-compiler".into()).spawn(build).is_err() {
            first.selection.end_build(request, Duration::ZERO, None);
        }
    }

    /// Reports the choice of a class, after a launch of so many work-items, and keeps it.
    pub(crate) fn end_examination(&self, first: &GroupCode, report: &ClassReport, items: u64) {
        self.program.inner.keep_choices(self.info(), first);
        let Some(watch) = &self.program.inner.making.watch else { return };
        let variant =
            |number| first.selection.with_spec(number, |spec| spec.variant.to_string()).unwrap_or_default();
        let other =
            |&(code, ratio): &(usize, u64)| format!("{:.2} ({})", ratio as f64 / 1000.0, variant(code));
        let others: Vec<String> = report.others.iter().map(other).collect();
        let tried = match &others[..] {
            [] => String::new(),
            others => format!("; the trials of the others took {}", others.join(", ")),
        };
        let (name, best) = (&self.info().name, variant(report.incumbent));
        watch(&format_args!("kernel {name}: launches of about {items} work-items use {best}{tried}\n"));
    }

    /// Selection for the first code of a variant, with the choices of processes before.
    fn selection(&self, code: &GroupCode) -> Selection<VariantSpec, GroupCode> {
        let inner = &*self.program.inner;
        let is_fixed = inner.options.lanes.is_some() || self.info().observes_brush;
        let trials = if is_fixed { Trials::Off } else { inner.making.trials };
        let kept = inner.making.kept.as_ref().filter(|_| trials != Trials::Off);
        let text =
            kept.and_then(|kept| kept.find_choices(&inner.choices_key(kept, self.info(), code.variant)));
        let choices = text.map(|text| parse_choices(&text)).unwrap_or_default();
        Selection::new(
            VariantSpec { variant: code.variant, promise: 1.0 },
            trials,
            code.compile_time,
            choices,
        )
    }

    /// Builds code for some launches; if a pass refuses it, for one work-item at a time.
    fn in_some_form<T>(
        &self,
        variant: CodeVariant,
        make: impl Fn(CodeVariant, BuildOptions) -> Result<T, BuildError>,
    ) -> Result<T, BuildError> {
        let options = self.options();
        make(variant, *options).or_else(|reason| {
            let is_free = options.lanes.is_none() && !self.info().observes_brush;
            if !is_free || variant.brush == [1; 3] || !matches!(reason, BuildError::Pass { .. }) {
                return Err(reason);
            }
            // One work-item at a time may go where several may not: its private objects are where their addresses say.
            let alone = BuildOptions { lanes: Some(1), ..*options };
            make(CodeVariant { brush: [1; 3], ..variant }, alone).map_err(|_| reason)
        })
    }

    /// Compiles the code for some launches, or loads it from the cache.
    fn made(&self, variant: CodeVariant) -> Result<Arc<GroupCode>, BuildError> {
        let making = &self.program.inner.making;
        let make = |variant, options| {
            let built = self.compiled(variant, options, making.clone(), false).0?;
            built.ok_or_else(|| BuildError::Unknown(self.info().name.clone()))
        };
        let mut code = self.in_some_form(variant, make)?;
        code.selection = self.selection(&code);
        Ok(Arc::new(code))
    }

    /// Number of work-items from which on a launch stores more than the caches hold; none if stores past the caches are no choice.
    fn min_streamed_items(&self) -> Option<u64> {
        let is_open = self.options().forced.leaves_stores_open();
        cache_bytes().filter(|_| is_open)?.checked_div(self.info().stored_bytes)
    }

    /// Compiles the kernel for some launches, or loads its code from the cache; with `is_lookup` it is only loaded. Returns the processor
    /// time, too. Runs on a thread of its own: the program continues whatever LLVM does, and the caller may have little stack.
    fn compiled(
        &self,
        variant: CodeVariant,
        options: BuildOptions,
        making: BuildServices,
        is_lookup: bool,
    ) -> (Result<Option<GroupCode>, BuildError>, Duration) {
        let kernel = self.clone();
        let work = move || {
            let start = thread_time();
            let inner = &*kernel.program.inner;
            let (globals, name) = (inner.globals.as_ref(), &kernel.info().name);
            let code =
                code(&inner.module, globals, &inner.outside, name, variant, &options, &making, is_lookup);
            (code, thread_time().saturating_sub(start))
        };
        catch_fatal_errors(STACK, work).unwrap_or_else(|reason| (Err(reason.into()), Duration::ZERO))
    }
}
