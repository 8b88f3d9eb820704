//! Compiled group functions.

use crate::program::Options;
use heddle::Brush;
use heddle::context::Context;
use heddle::ir::module::{Global, Kind};
use heddle::ir::{Diagnostic, Module, Space};
use heddle::pipeline::{run, vectorization};
use heddle::session::retain_reachable;
use heddle_llvm::{
    CodeLevel, Cpu, EmitError, EmitOptions, Jit, JitError, emit, entry_name, keep_private_but, optimize,
    share_globals,
};
use heddle_transform::kernels::Refusal;
use heddle_transform::{Fold, GroupFunction, KernelOptions, lower_kernels};
use thiserror::Error;

/// Why a kernel has no code.
#[derive(Debug, Error)]
pub enum BuildError {
    /// There is no such kernel in the program.
    #[error("there is no kernel @{0} in the program")]
    Unknown(String),
    /// It cannot be run by groups.
    #[error(transparent)]
    Kernel(#[from] Refusal),
    /// A pass refuses it.
    #[error("@{kernel}: {reason}")]
    Pass {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: Box<Diagnostic>,
    },
    /// What came out means nothing to LLVM.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// LLVM has no code for it.
    #[error(transparent)]
    Jit(#[from] JitError),
}

/// For what launches code is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Variant {
    pub(crate) fold: Fold,
    /// Whether all numbers of a launch are below 2^31.
    pub(crate) is_small: bool,
    /// The size of all groups, if the code is for no other.
    pub(crate) local: Option<[u32; 3]>,
}

/// A group function that can be called.
pub(crate) struct GroupCode {
    jit: Jit,
    entry: extern "C" fn(*const u8, *mut u8),
    /// What it needs.
    pub(crate) info: GroupFunction,
    /// The lanes of its brushes.
    pub(crate) lanes: u32,
}

// SAFETY: the JIT is only kept for its code, which any thread may run, and is ended by the last owner alone.
unsafe impl Send for GroupCode {}
// SAFETY: as above; nothing of the JIT is changed through a shared reference.
unsafe impl Sync for GroupCode {}

impl std::fmt::Debug for GroupCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupCode").field("jit", &self.jit).field("info", &self.info).finish_non_exhaustive()
    }
}

impl GroupCode {
    /// Runs one group.
    ///
    /// # Safety
    /// The slots hold what the kernel takes and the place, local memory and scratch memory of the group, as large as it needs
    /// them; and the kernel does nothing undefined with them.
    pub(crate) unsafe fn call(&self, slots: &[u8]) {
        (self.entry)(slots.as_ptr(), std::ptr::null_mut());
    }
}

/// The globals of a program that its kernels share, as long as the program is there.
pub(crate) struct Globals {
    /// Keeps what the addresses point to.
    _jit: Jit,
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
        let jit = Jit::new(emit(&module, EmitOptions::default())?, CodeLevel::Default, &[])?;
        let mut symbols = Vec::new();
        for global in &module.globals {
            symbols.push((global.name.to_string(), jit.address(&global.name)? as usize));
        }
        Ok(Some(Globals { _jit: jit, module, symbols }))
    }
}

/// What is compiled: a kernel of a program.
pub(crate) struct Compilation<'a> {
    pub(crate) program: &'a Module,
    pub(crate) globals: Option<&'a Globals>,
    /// Functions of the driver's, and where they are.
    pub(crate) outside: &'a [(String, usize)],
    pub(crate) kernel: &'a str,
    /// The lanes of its brushes.
    pub(crate) lanes: u32,
    pub(crate) options: &'a Options,
}

/// Compiles a kernel for some launches.
pub(crate) fn compile(what: &Compilation<'_>, variant: Variant) -> Result<GroupCode, BuildError> {
    let Compilation { program, globals, outside, kernel, lanes, options } = *what;
    let cpu = Cpu::host();
    let (mut module, info) = lower(program, kernel, variant, lanes)?;
    let wrong = |reason| BuildError::Pass { kernel: kernel.to_string(), reason: Box::new(reason) };
    let passes = vectorization(&Brush::new(&[lanes]).map_err(wrong)?, &options.of_passes(&cpu));
    run(&mut module, &passes, &mut Context::new()).map_err(wrong)?;
    let llvm = emit(&module, EmitOptions { entries: true, ..EmitOptions::default() })?;
    let entry = entry_name(kernel);
    keep_private_but(&llvm, &[&entry]);
    let mut symbols: Vec<(&str, usize)> =
        outside.iter().map(|(name, address)| (&**name, *address)).collect();
    if let Some(globals) = globals {
        share_globals(&llvm, &emit(&globals.module, EmitOptions::default())?);
        symbols.extend(globals.symbols.iter().map(|(name, address)| (&**name, *address)));
    }
    optimize(&llvm, &cpu)?;
    let jit = Jit::new(llvm, CodeLevel::Default, &symbols)?;
    let address = jit.address(&entry)?;
    // SAFETY: the address is that of an entry, which is compiled with this type and lives as long as the JIT.
    let entry = unsafe { std::mem::transmute::<usize, extern "C" fn(*const u8, *mut u8)>(address as usize) };
    Ok(GroupCode { jit, entry, info, lanes })
}

/// The group function of one kernel, and the regions that it launches.
fn lower(
    program: &Module,
    kernel: &str,
    variant: Variant,
    lanes: u32,
) -> Result<(Module, GroupFunction), BuildError> {
    let unknown = || BuildError::Unknown(kernel.to_string());
    let mut module = program.clone();
    retain_reachable(&mut module, kernel);
    for func in &mut module.functions {
        func.kind = match func.kind {
            Kind::Kernel(sizes) if func.name == kernel => Kind::Kernel(variant.local.or(sizes)),
            // A kernel that another one calls is a function like any other.
            _ => Kind::Function,
        };
    }
    let options = KernelOptions { lanes, fold: variant.fold, is_small: variant.is_small };
    let info = lower_kernels(&mut module, &options)?.into_iter().next().ok_or_else(unknown)?;
    Ok((module, info))
}
