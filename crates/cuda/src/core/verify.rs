//! `HEDDLE_VERIFY=1`: before a launch the oracle does the same on a copy of the memory. A kernel that leaves its allocations, or whose
//! access is not aligned, is named by line and not launched; the first difference from the oracle is named, too. Each of them is an
//! error of the launch that later calls return as well.
//!
//! The oracle has all memory that the driver knows, where the host has it, so addresses are numbers as they are to PTX. What it
//! does not do (functions of the host, much memory, launches whose blocks wait for each other) is reported, and the launch counts as
//! it is.

use crate::core::error::{CudaError, CudaResult, say};
use crate::core::host;
use crate::core::launch::CudaLaunch;
use crate::core::memory;
use crate::cuda::{
    CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_MISALIGNED_ADDRESS, CUresult, WARP,
};
use heddle_interp::{
    Argument, Datum, FaultKind, LaunchGeometry, Memory, MemoryObject, RunLimits, RunOptions, run,
};
use heddle_ir::diagnostic::Diagnostic;
use heddle_ir::{Module, Space};
use heddle_math::Accuracy;
use rustc_hash::FxHashSet;

/// Maximum memory that is copied, in bytes.
const MOST_BYTES: usize = 1 << 30;

/// Verdict of the oracle on a launch.
#[derive(Debug)]
pub enum OracleOutcome {
    /// Final memory contents.
    Memory(Vec<MemoryObject>),
    /// Access that ends the launch, and the error that it has.
    Illegal(CUresult, String),
    /// None: the oracle cannot repeat the launch.
    Unknown(String),
}

/// Runs a launch on the oracle.
pub fn expect(launch: &CudaLaunch, text: &str) -> OracleOutcome {
    repeat(launch, text).unwrap_or_else(OracleOutcome::Unknown)
}

fn repeat(launch: &CudaLaunch, text: &str) -> Result<OracleOutcome, String> {
    let diagnostic =
        |diagnostics: Vec<Diagnostic>| diagnostics.first().map(ToString::to_string).unwrap_or_default();
    let options = heddle_ptx::LowerOptions {
        dynamic_shared: launch.size.shared.into(),
        ..heddle_ptx::LowerOptions::default()
    };
    let source = heddle_ptx::parse(text).map_err(diagnostic)?;
    let mut module = heddle_ptx::lower(&source, "module.ptx", options).map_err(diagnostic)?.module;
    heddle_builtins::provide_textures(&mut module).map_err(|broken| broken.to_string())?;
    heddle_math::provide(&mut module, Accuracy::Exact).map_err(|broken| broken.to_string())?;
    let name = &launch.function.kernel.info().name;
    if let Some(callee) = called_host_function(&module, name) {
        return Err(format!("the kernel calls the host function `{callee}`"));
    }
    for global in &mut module.globals {
        if global.space == Space::Constant {
            global.space = Space::Global;
        }
    }
    let known = memory::all();
    let total: usize = known.iter().map(|piece| piece.bytes).sum();
    if total > MOST_BYTES {
        return Err(format!("{total} bytes of memory are too much to copy"));
    }
    let place = |name: &str| launch.function.module.place_of(name);
    let mut memory = Memory::new();
    memory.place(known.iter().map(|piece| {
        let own = module.globals.iter().find(|global| place(&global.name) == Some(piece.start));
        (piece.start as u64, own.map(|global| global.name.to_string()), memory::copy_of(piece))
    }));
    let words = launch.function.layout().words.iter();
    let arguments: Vec<Argument> = words
        .map(|word| {
            let (start, size) = (word.offset as usize, word.scalar.bytes() as usize);
            let mut bits = [0; 16];
            bits[..size].copy_from_slice(&launch.params[start..start + size]);
            Argument::Uniform(Datum::Bits(u128::from_le_bytes(bits)))
        })
        .collect();
    let (local, groups) = (launch.size.block, launch.size.grid);
    let options = RunOptions {
        geometry: Some(LaunchGeometry { dims: 3, local, groups, offset: [0; 3] }),
        limits: RunLimits { steps: u64::MAX, memory: 8 << 30, ..RunLimits::default() },
        fused: true,
        ..RunOptions::lanes(WARP)
    };
    match run(&module, name, &arguments, &mut memory, &options) {
        Ok(_) => Ok(OracleOutcome::Memory(memory.placed().to_vec())),
        Err(fault) => {
            let diagnostic = fault.located_message(&module);
            match fault.kind {
                FaultKind::OutOfBounds { .. } => {
                    let text = format!("access outside of all allocations: {diagnostic}");
                    Ok(OracleOutcome::Illegal(CUDA_ERROR_ILLEGAL_ADDRESS, text))
                }
                FaultKind::Misaligned { .. } => {
                    let text = format!("misaligned access: {diagnostic}");
                    Ok(OracleOutcome::Illegal(CUDA_ERROR_MISALIGNED_ADDRESS, text))
                }
                FaultKind::Limit { .. } => Err(format!("time limit: {diagnostic}")),
                _ => Err(format!("the interpreter stops: {diagnostic}")),
            }
        }
    }
}

/// Returns the name of a host function that a kernel may call.
fn called_host_function(module: &Module, kernel: &str) -> Option<String> {
    let of_host = host::functions();
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    let mut work = vec![kernel];
    while let Some(name) = work.pop() {
        if of_host.iter().any(|(host, _)| *host == name) {
            return Some(name.to_string());
        }
        let Some(func) = module.function(name).filter(|_| seen.insert(name)) else { continue };
        work.extend(func.callees.values().map(|callee| &*callee.name));
    }
    None
}

impl OracleOutcome {
    /// Compares the memory with the oracle's and reports the result; the error is that of the launch.
    pub fn compare(&self, launch: &CudaLaunch) -> CudaResult<()> {
        let mut found = Ok(());
        let diagnostic = match self {
            OracleOutcome::Unknown(reason) => format!("not verified: {reason}"),
            OracleOutcome::Illegal(code, reason) => {
                found = Err(CudaError(*code));
                reason.clone()
            }
            OracleOutcome::Memory(objects) => {
                let known = memory::all();
                let differing = objects.iter().find_map(|object| {
                    let piece = known.iter().find(|piece| piece.start as u64 == object.address)?;
                    let diagnostic = object.first_difference(&memory::copy_of(piece))?;
                    let what = object.name.as_deref().unwrap_or("memory");
                    Some(format!(
                        "differs from the interpreter: {what} at {:#x}, {diagnostic}",
                        object.address
                    ))
                });
                if differing.is_some() {
                    found = Err(CudaError(CUDA_ERROR_LAUNCH_FAILED));
                }
                let threads =
                    launch.size.block.iter().fold(launch.blocks(), |all, &size| all * u64::from(size));
                differing.unwrap_or_else(|| format!("{threads} threads agree with the interpreter"))
            }
        };
        say(format_args!("@{}: {diagnostic}", launch.function.kernel.info().name));
        found
    }
}
