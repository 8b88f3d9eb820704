//! Running a kernel over its work-items.

use crate::core::kernel::divide;
use crate::core::memory::Address;
use heddle_ir::{Code as Cause, Diagnostic, Module};
use heddle_llvm::{Cpu, KernelInfo, LlvmModule};
use heddle_runtime as runtime;
use heddle_runtime::{Kept, Making, Outlook, Pool, environment};
use rustc_hash::FxHashSet;
use std::fmt::Display;

/// What the build log says of a program with code.
#[derive(Default, Debug)]
pub struct BuildWarnings {
    /// Kernels that cannot be launched.
    pub refused: String,
    /// What of the others costs much.
    pub costs: String,
}

/// The work-items of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClNdRange {
    /// Dimensions, 1 to 3. Sizes beyond are 1, offsets 0.
    pub dims: u32,
    /// Work-items each way.
    pub global: [usize; 3],
    /// Work-items of a group each way, if that is said; the last group may have fewer.
    pub local: Option<[usize; 3]>,
    /// The least global index each way.
    pub offset: [usize; 3],
}

/// An argument, as a kernel gets it.
#[derive(Clone, Debug)]
pub enum ClLaunchArgument {
    /// A value.
    Bytes(Vec<u8>),
    /// A pointer to memory that kernel and host share.
    Pointer(Address),
    /// As much local memory.
    Local(usize),
}

/// A program made ready to run.
#[derive(Debug)]
pub struct ClExecutable {
    program: runtime::KernelModule,
    /// Its kernels, those that can be launched.
    pub kernels: Vec<KernelInfo>,
    /// The same in the same order, ready to be launched.
    ready: Vec<runtime::PreparedKernel>,
    /// Those that cannot, and why.
    refused: Vec<(String, String)>,
    /// Whether the last group each way may be smaller than the others.
    pub allows_rest: bool,
}

impl ClLaunchArgument {
    fn of_runtime(&self) -> runtime::LaunchArgument<'_> {
        match self {
            ClLaunchArgument::Bytes(bytes) => runtime::LaunchArgument::Bytes(bytes),
            ClLaunchArgument::Pointer(address) => runtime::LaunchArgument::Pointer(address.pointer()),
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

/// Why there is no code, as lines of the build log.
fn errors<T: Display>(reasons: impl IntoIterator<Item = T>) -> String {
    reasons.into_iter().map(|reason| format!("error: {reason}\n")).collect()
}

impl ClExecutable {
    /// Makes a program ready to run, of a module and its bitcode. Warnings and the error are for the build log. What has no
    /// code is left out, as long as there is another kernel.
    pub fn new(
        llvm: &LlvmModule,
        bitcode: &[u8],
        allows_rest: bool,
    ) -> Result<(ClExecutable, BuildWarnings), String> {
        let mut kernels = heddle_llvm::kernels(llvm);
        let imported = heddle_llvm::import(llvm);
        let mut module = imported.module;
        heddle_math::provide_prefixed(&mut module).map_err(|reason| errors([reason]))?;
        let mut refused = Vec::new();
        let refusals = imported.refused.iter().filter_map(|told| Some((told.place.func.as_deref()?, told)));
        let lacking = runtime::with_callers(&module, refusals);
        // What a kernel calls and nothing defines is an error of linking, whatever else there is.
        let is_undefined = |told: &Diagnostic| told.code == Cause::UnknownFunction;
        if kernels.iter().any(|kernel| lacking.get(&*kernel.name).is_some_and(|told| is_undefined(told))) {
            return Err(errors(imported.refused.iter().filter(|told| is_undefined(told))));
        }
        let lacks = |name: &str| lacking.get(name).map(|told| (name.to_string(), told.to_string()));
        refused.extend(kernels.iter().filter_map(|kernel| lacks(&kernel.name)));
        let lacking: FxHashSet<String> = lacking.into_keys().map(Into::into).collect();
        module.functions.retain(|func| !lacking.contains(&func.name));
        if refused.len() == kernels.len() && !refused.is_empty() {
            return Err(errors(imported.refused));
        }
        let undefined = runtime::undefined_functions(&module);
        if !undefined.is_empty() {
            return Err(errors(undefined));
        }
        let kept = Kept::of_user(bitcode);
        let watch = environment::watch();
        // Reports come in the order of the kernels.
        let threads = if watch.is_some() { 1 } else { environment::threads() };
        let program = runtime::KernelModule::making(
            module,
            &environment::options(),
            Making { kept, watch, trials: environment::trials() },
        )
        .map_err(|reason| errors([reason]))?;
        let mut warnings = BuildWarnings::default();
        for (kernel, prepared) in program.kernels().iter().zip(program.prepare(threads)) {
            match prepared {
                Ok(told) => warnings.costs.push_str(&told),
                Err(reason) => {
                    refused.push((kernel.name.clone(), reason.diagnostic(program.module()).to_string()));
                }
            }
        }
        if refused.len() == kernels.len() && !refused.is_empty() {
            return Err(errors(refused.into_iter().map(|(_, reason)| reason)));
        }
        for (name, reason) in &refused {
            warnings
                .refused
                .push_str(&format!("warning: the kernel `{name}` cannot be launched: {reason}\n"));
        }
        kernels.retain(|kernel| refused.iter().all(|(name, _)| *name != kernel.name));
        let ready = |kernel: &KernelInfo| {
            program
                .kernel(&kernel.name)
                .ok_or_else(|| errors([format!("there is no kernel `{}`", kernel.name)]))
        };
        let ready = kernels.iter().map(ready).collect::<Result<_, _>>()?;
        Ok((ClExecutable { program, kernels, ready, refused, allows_rest }, warnings))
    }

    /// Why a kernel that the program has cannot be launched.
    pub fn refusal(&self, name: &str) -> Option<&str> {
        self.refused.iter().find(|(known, _)| known == name).map(|(_, reason)| &**reason)
    }

    /// Has the code of a kernel for launches over a range compiled. The error says why there is none.
    pub fn prepare(&self, kernel: usize, range: &ClNdRange) -> Result<(), String> {
        let range = range.of_runtime().map_err(|reason| reason.to_string())?;
        self.ready[kernel].prepare(&range).map_err(|reason| reason.to_string())
    }

    /// The module that its kernels are compiled from.
    pub fn module(&self) -> &Module {
        self.program.module()
    }

    /// The lanes that its kernels are compiled for.
    pub fn lanes(&self) -> u32 {
        self.program.options().lanes_on(&Cpu::host())
    }

    /// The size of the groups in which a kernel is launched over a range; one that divides it where no work-item can
    /// tell.
    pub fn local_size(&self, kernel: &str, range: &ClNdRange) -> Result<[usize; 3], String> {
        let ready = self.program.kernel(kernel).ok_or_else(|| "it is not in its program".to_string())?;
        if !ready.info().sees_groups && ready.info().required_local.is_none() {
            return Ok(divide(range.global));
        }
        let range = range.of_runtime().map_err(|reason| reason.to_string())?;
        Ok(ready.local_size(&range).map(|size| size as usize))
    }

    /// What is known of running a kernel over its work-items.
    pub fn outlook(&self, kernel: usize, range: &ClNdRange) -> Outlook {
        let range = range.of_runtime().ok();
        range.map(|range| self.ready[kernel].outlook(&range, Pool::of_process())).unwrap_or_default()
    }

    /// Runs a kernel. The error says what it did wrong.
    ///
    /// # Safety
    /// The arguments lead to memory that is there, and the kernel stays inside of it.
    pub unsafe fn run(
        &self,
        kernel: usize,
        given: &[ClLaunchArgument],
        range: &ClNdRange,
    ) -> Result<(), String> {
        let given: Vec<runtime::LaunchArgument<'_>> =
            given.iter().map(ClLaunchArgument::of_runtime).collect();
        let arguments = runtime::in_pieces(&self.kernels[kernel], &given);
        let range = range.of_runtime().map_err(|reason| reason.to_string())?;
        // SAFETY: the caller's promise.
        let done = unsafe { self.ready[kernel].launch(&arguments, &range, Pool::of_process()) };
        done.map_err(|reason| reason.to_string())
    }
}
