//! Running a kernel over its work-items.

use crate::core::kernel::divide;
use crate::core::memory::Address;
use heddle_ir::Module;
use heddle_llvm::{KernelInfo, LlvmModule};
use heddle_runtime as runtime;
use heddle_runtime::{BuildServices, KernelCache, LaunchForecast, Pool, environment};
use rustc_hash::FxHashSet;
use std::fmt::Display;

/// Index space of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClNdRange {
    /// Dimensions, 1 to 3. Sizes beyond are 1, offsets 0.
    pub dims: u32,
    /// Work-items along each dimension.
    pub global: [usize; 3],
    /// Work-group size, if given; the last group may be smaller.
    pub local: Option<[usize; 3]>,
    /// Global offset along each dimension.
    pub offset: [usize; 3],
}

/// Argument as passed to the kernel.
#[derive(Clone, Debug)]
pub enum ClLaunchArgument {
    /// A value.
    Bytes(Vec<u8>),
    /// A pointer to memory that kernel and host share.
    Pointer(Address),
    /// The descriptor of an image.
    Image(Address, runtime::DescriptorFields),
    /// A sampler, by its bits.
    Sampler(u32),
    /// Local memory of this size in bytes.
    Local(usize),
}

/// Executable of a program: its launchable kernels.
#[derive(Debug)]
pub struct ClExecutable {
    program: runtime::KernelModule,
    /// Launchable kernels.
    pub kernels: Vec<KernelInfo>,
    /// Prepared form of each launchable kernel, in the same order.
    ready: Vec<runtime::PreparedKernel>,
    /// Refused kernels and the reasons.
    refused: Vec<(String, String)>,
    /// True if the last group along a dimension may be smaller than the others.
    pub allows_rest: bool,
}

impl ClLaunchArgument {
    fn of_runtime(&self) -> runtime::LaunchArgument<'_> {
        match self {
            ClLaunchArgument::Bytes(bytes) => runtime::LaunchArgument::Bytes(bytes),
            ClLaunchArgument::Pointer(address) => runtime::LaunchArgument::Pointer(address.pointer()),
            ClLaunchArgument::Image(address, fields) => {
                runtime::LaunchArgument::Image(address.pointer(), *fields)
            }
            ClLaunchArgument::Sampler(bits) => runtime::LaunchArgument::Sampler(*bits),
            ClLaunchArgument::Local(bytes) => runtime::LaunchArgument::Local(*bytes as u64),
        }
    }
}

impl ClNdRange {
    fn of_runtime(&self) -> Result<runtime::NdRange, runtime::RangeError> {
        let dims = self.dims as usize;
        let [global, offset] = [self.global, self.offset].map(|sizes| sizes.map(|size| size as u64));
        let range = runtime::NdRange::new(&global[..dims])?.with_offset(&offset[..dims])?;
        match self.local {
            None => Ok(range),
            Some(local) => range.with_local(&local.map(|size| size as u64)[..dims]),
        }
    }
}

/// Formats errors as lines of the build log.
fn errors<T: Display>(reasons: impl IntoIterator<Item = T>) -> String {
    reasons.into_iter().map(|reason| format!("error: {reason}\n")).collect()
}

/// Returns the name of a kernel that requires sub-groups of an unsupported size, and the reason.
fn wrong_sub_group_size(kernel: &KernelInfo) -> Option<(String, String)> {
    let (reason, help) = runtime::sub_group_size_error(kernel.required_lanes?)?;
    Some((kernel.name.clone(), format!("{reason}\nhelp: {help}")))
}

impl ClExecutable {
    /// Makes a program ready to run, of a module and its bitcode. Kernels are compiled when they are launched, and at once where remarks
    /// or reports are wanted. Warnings and the error are for the build log. Refused kernels are left out, as long as there is another one.
    pub fn new(
        llvm: &LlvmModule,
        bitcode: &[u8],
        allows_rest: bool,
        wants_remarks: bool,
    ) -> Result<(ClExecutable, String), String> {
        let mut kernels = heddle_llvm::kernels(llvm);
        let imported = heddle_llvm::import(llvm);
        let mut module = imported.module;
        heddle_math::provide_prefixed(&mut module).map_err(|reason| errors([reason]))?;
        let mut refused = Vec::new();
        let recursive = runtime::recursive_functions(&module);
        let refusals = imported.refused.iter().chain(&recursive);
        let refusals = refusals.filter_map(|message| Some((message.place.func.as_deref()?, message)));
        let lacking = runtime::with_callers(&module, refusals);
        let lacks = |name: &str| lacking.get(name).map(|message| (name.to_string(), message.to_string()));
        refused.extend(kernels.iter().filter_map(|kernel| lacks(&kernel.name)));
        refused.extend(kernels.iter().filter_map(wrong_sub_group_size));
        let lacking: FxHashSet<String> = lacking.into_keys().map(Into::into).collect();
        module.functions.retain(|func| !lacking.contains(&func.name));
        if refused.len() == kernels.len() && !refused.is_empty() {
            return Err(errors(imported.refused.iter().chain(&recursive)));
        }
        let undefined = runtime::undefined_functions(&module);
        if !undefined.is_empty() {
            return Err(errors(undefined));
        }
        let required = |kernel: &KernelInfo| Some((kernel.name.clone(), kernel.required_lanes?));
        let required_lanes = kernels.iter().filter_map(required).collect();
        let kept = KernelCache::of_user(bitcode);
        let watch = environment::watch();
        // Reports come in the order of kernels.
        let has_report = wants_remarks || watch.is_some();
        let program = runtime::KernelModule::making(
            module,
            &environment::options(),
            BuildServices { kept, watch, trials: environment::trials(), required_lanes },
        )
        .map_err(|reason| errors([reason]))?;
        let mut warnings = String::new();
        for (name, reason) in &refused {
            warnings.push_str(&format!("warning: the kernel `{name}` cannot be launched: {reason}\n"));
        }
        if has_report {
            for (kernel, compiled) in program.kernels().iter().zip(program.compile_for_report()) {
                // A kernel without code is refused by its launches.
                let cost = compiled.unwrap_or_else(|reason| {
                    let reason = reason.diagnostic(program.module());
                    format!("warning: the kernel `{}` cannot be launched: {reason}\n", kernel.name)
                });
                if wants_remarks {
                    warnings.push_str(&cost);
                }
            }
        }
        kernels.retain(|kernel| refused.iter().all(|(name, _)| *name != kernel.name));
        let ready = |kernel: &KernelInfo| {
            program.kernel(&kernel.name).ok_or_else(|| errors([format!("no kernel `{}`", kernel.name)]))
        };
        let ready = kernels.iter().map(ready).collect::<Result<_, _>>()?;
        program.compile_ahead(environment::threads());
        Ok((ClExecutable { program, kernels, ready, refused, allows_rest }, warnings))
    }

    /// Returns the reason why a kernel cannot be launched.
    pub fn refusal(&self, name: &str) -> Option<&str> {
        self.refused.iter().find(|(known, _)| known == name).map(|(_, reason)| &**reason)
    }

    /// Compiles a kernel for usual launches.
    pub fn compile_before_launch(&self, kernel: usize) {
        self.ready[kernel].compile_before_launch(environment::threads());
    }

    /// Compiles a kernel for arguments and a range. The error is the reason of a failure.
    pub fn prepare(
        &self,
        kernel: usize,
        given: &[ClLaunchArgument],
        range: &ClNdRange,
    ) -> Result<(), String> {
        let range = range.of_runtime().map_err(|reason| reason.to_string())?;
        let arguments = self.arguments(kernel, given);
        self.ready[kernel].prepare(&arguments, &range).map_err(|reason| reason.to_string())
    }

    /// Returns the module that the kernels are compiled from.
    pub fn module(&self) -> &Module {
        self.program.module()
    }

    /// Returns the lanes that a kernel is compiled for.
    pub fn lanes(&self, kernel: &str) -> u32 {
        self.program.kernel(kernel).map_or(1, |kernel| kernel.lanes())
    }

    /// Returns the work-group size for a range: one that divides the range if the kernel cannot observe it.
    pub fn local_size(&self, kernel: &str, range: &ClNdRange) -> Result<[usize; 3], String> {
        let ready =
            self.program.kernel(kernel).ok_or_else(|| "the program does not define it".to_string())?;
        if !ready.info().sees_groups && ready.info().required_local.is_none() {
            return Ok(divide(range.global));
        }
        let range = range.of_runtime().map_err(|reason| reason.to_string())?;
        Ok(ready.local_size(&range).map(|size| size as usize))
    }

    /// Returns the expected cost of running a kernel over a range.
    pub fn outlook(
        &self,
        kernel: usize,
        given: &[ClLaunchArgument],
        range: &ClNdRange,
        pool: &Pool,
    ) -> LaunchForecast {
        let Ok(range) = range.of_runtime() else { return LaunchForecast::default() };
        self.ready[kernel].outlook(&self.arguments(kernel, given), &range, pool)
    }

    /// Arguments of the kernel's form in the IR.
    fn arguments<'a>(
        &self,
        kernel: usize,
        given: &'a [ClLaunchArgument],
    ) -> Vec<runtime::LaunchArgument<'a>> {
        let given: Vec<_> = given.iter().map(ClLaunchArgument::of_runtime).collect();
        runtime::in_pieces(&self.kernels[kernel], &given)
    }

    /// Runs a kernel. The error is the reason of a failure.
    ///
    /// # Safety
    /// The arguments point to live memory, and the kernel stays within it.
    pub unsafe fn run(
        &self,
        kernel: usize,
        given: &[ClLaunchArgument],
        range: &ClNdRange,
        pool: &Pool,
    ) -> Result<(), String> {
        let arguments = self.arguments(kernel, given);
        let range = range.of_runtime().map_err(|reason| reason.to_string())?;
        // SAFETY: the caller's promise.
        let done = unsafe { self.ready[kernel].launch(&arguments, &range, pool) };
        done.map_err(|reason| reason.to_string())
    }
}
