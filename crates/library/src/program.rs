//! Programs, kernels, launches.

use crate::argument::{Arguments, KernelArgument};
use heddle_builtins::split_build_options;
use heddle_compiler::{DiagnosticError, KernelReport, Session, SourceModule};
use heddle_ir::{Code, Diagnostic, Module};
use heddle_llvm::{KernelInfo, KernelParam};
use heddle_runtime as runtime;
use heddle_runtime::{BuildServices, KernelCache, LaunchError, NdRange, Pool, RangeError};
use std::sync::Arc;

/// A program in OpenCL C, compiled in this process.
#[derive(Clone, Debug)]
pub struct Program {
    program: runtime::KernelModule,
    kernels: Arc<[KernelInfo]>,
    message: Arc<[Diagnostic]>,
}

/// Name of programs in messages.
const NAME: &str = "program.cl";

impl Program {
    /// A program of its source.
    pub fn from_opencl_c(source: &str) -> Result<Program, DiagnosticError> {
        Program::from_opencl_c_with(source, "")
    }

    /// Compiles with the options of `clBuildProgram`: `-DN=4 -cl-std=CL3.0 -cl-fast-relaxed-math`.
    pub fn from_opencl_c_with(source: &str, options: &str) -> Result<Program, DiagnosticError> {
        let mut words = split_build_options(options);
        // The types of parameters are written down only then.
        words.push("-cl-kernel-arg-info".into());
        let _busy = runtime::exit::busy();
        Program::from_module(Session::default().compile_opencl(source, NAME, &words)?)
    }

    /// Compiles SPIR-V with the options of `clBuildProgram`.
    pub fn from_spirv(words: &[u8], options: &str) -> Result<Program, DiagnosticError> {
        let _busy = runtime::exit::busy();
        let read = Session::default().compile_spirv(words, NAME, &split_build_options(options))?;
        Program::from_module(read)
    }

    fn from_module(read: SourceModule) -> Result<Program, DiagnosticError> {
        let undefined = runtime::undefined_functions(&read.module);
        if !undefined.is_empty() {
            let diagnostics = undefined.into_iter().map(|message| message.in_file(NAME)).collect();
            return Err(DiagnosticError { diagnostics });
        }
        let kernels = read.llvm.as_ref().map(heddle_llvm::kernels).unwrap_or_default();
        let kept = read.llvm.as_ref().and_then(|llvm| KernelCache::of_user(llvm.bitcode()));
        let trials = runtime::environment::trials();
        let making = BuildServices { kept, trials, ..BuildServices::default() };
        let program = runtime::KernelModule::making(read.module, &runtime::BuildOptions::default(), making)
            .map_err(|reason| reason.diagnostic(&Module::default()))?;
        Ok(Program { program, kernels: kernels.into(), message: read.refused.into() })
    }

    /// Returns the warnings: clang's, and functions that were refused.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.message
    }

    /// The names of its kernels, in the order of the source.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.program.kernels().iter().map(|kernel| &*kernel.name)
    }

    /// Compiles all kernels as most launches take them, and keeps them on disk; returns why some have no code.
    pub fn prepare_kernels(&self) -> Vec<DiagnosticError> {
        let kernels = self.program.kernels().iter().filter_map(|info| self.program.kernel(&info.name));
        let refused = kernels.filter_map(|kernel| Some((kernel.prepare_usual().err()?, kernel)));
        refused.map(|(reason, kernel)| kernel.diagnostic(&reason).in_file(NAME).into()).collect()
    }

    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Result<Kernel, DiagnosticError> {
        let info = self.kernels.iter().find(|kernel| kernel.name == name);
        if let (Some(kernel), Some(info)) = (self.program.kernel(name), info) {
            return Ok(Kernel { kernel, info: info.clone() });
        }
        let own = self.message.iter().filter(|message| message.place.func.as_deref() == Some(name));
        let own: Vec<Diagnostic> = own.cloned().collect();
        if !own.is_empty() {
            return Err(DiagnosticError { diagnostics: own });
        }
        let message = Diagnostic::error(Code::UnknownFunction, format!("no kernel `{name}`"));
        let known: Vec<&str> = self.kernel_names().collect();
        let known = if known.is_empty() {
            "the program has none".into()
        } else {
            format!("the kernels are {}", known.join(", "))
        };
        Err(message.in_file(NAME).help(known).into())
    }
}

/// A kernel of a program.
#[derive(Clone, Debug)]
pub struct Kernel {
    kernel: runtime::PreparedKernel,
    info: KernelInfo,
}

/// Conversion into an index space: a number, an array of up to three, or an [`NdRange`], which may also have an offset
/// and a work-group size.
pub trait IntoRange {
    /// The work-items.
    fn into_range(self) -> Result<NdRange, RangeError>;
}

impl IntoRange for NdRange {
    fn into_range(self) -> Result<NdRange, RangeError> {
        Ok(self)
    }
}

impl IntoRange for Result<NdRange, RangeError> {
    fn into_range(self) -> Result<NdRange, RangeError> {
        self
    }
}

impl IntoRange for usize {
    fn into_range(self) -> Result<NdRange, RangeError> {
        [self].into_range()
    }
}

impl<const N: usize> IntoRange for [usize; N] {
    fn into_range(self) -> Result<NdRange, RangeError> {
        NdRange::new(&self.map(|size| size as u64))
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns the parameters as declared.
    pub fn parameters(&self) -> &[KernelParam] {
        &self.info.params
    }

    /// Returns the number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.info.params.len()
    }

    /// Says whether an argument fits the parameter of this number.
    pub fn check(&self, index: usize, argument: &KernelArgument<'_>) -> Result<(), DiagnosticError> {
        self.given(index, argument).map(drop)
    }

    fn given<'g>(
        &self,
        index: usize,
        argument: &'g KernelArgument<'_>,
    ) -> Result<runtime::LaunchArgument<'g>, DiagnosticError> {
        let Some(parameter) = self.info.params.get(index) else {
            let text = format!("no parameter {index}: the kernel has {}", self.parameter_count());
            return Err(self.refuse(&text));
        };
        argument.given(parameter).map_err(|reason| {
            let name = parameter.name.as_deref().unwrap_or("?");
            self.refuse(&format!("argument {index}, `{name}`: {reason}"))
        })
    }

    /// Reports how the kernel was compiled for the launches so far.
    pub fn reports(&self) -> Vec<KernelReport> {
        self.kernel.reports()
    }

    /// Launches the kernel over a range of work-items, and comes back when all are done. The first launch compiles it, or
    /// finds what an earlier process kept on disk.
    ///
    /// # Safety
    /// With these arguments the kernel does nothing undefined: it stays inside of its slices and of local memory, its
    /// work-items do not race, and all of a group come to the same barriers. Any pointer in a structure leads where the kernel
    /// goes with it.
    pub unsafe fn launch<'a>(
        &self,
        range: impl IntoRange,
        arguments: impl Arguments<'a>,
    ) -> Result<(), DiagnosticError> {
        let range = range.into_range().map_err(|reason| self.refuse(&reason))?;
        let arguments = arguments.into_arguments();
        let expected = self.parameter_count();
        if arguments.len() != expected {
            let text = format!("expected {expected} arguments, found {}", arguments.len());
            return Err(self.refuse(&text));
        }
        let given = arguments.iter().enumerate().map(|(index, argument)| self.given(index, argument));
        let given: Vec<runtime::LaunchArgument<'_>> = given.collect::<Result<_, _>>()?;
        let given = runtime::in_pieces(&self.info, &given);
        // SAFETY: the arguments are of the types of the parameters, and borrowed until it comes back; the caller promises the
        // rest.
        let done = unsafe { self.kernel.launch(&given, &range, Pool::of_process()) };
        done.map_err(|error| self.launch_failure(error))
    }

    /// Returns the kernel in the runtime's form.
    pub(crate) fn prepared(&self) -> &runtime::PreparedKernel {
        &self.kernel
    }

    /// Returns the diagnostics of a failed launch.
    pub(crate) fn launch_failure(&self, error: LaunchError) -> DiagnosticError {
        match error {
            LaunchError::Build(reason) => self.kernel.diagnostic(&reason).in_file(NAME).into(),
            other => self.refuse(&other),
        }
    }

    pub(crate) fn refuse(&self, reason: &dyn std::fmt::Display) -> DiagnosticError {
        Diagnostic::error(Code::Launch, reason.to_string()).of_func(self.name()).into()
    }
}
