//! Launches: converts CUDA launch parameters to those of the runtime.

use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure, say};
use crate::core::module::{CudaFunction, MOST_SHARED};
use crate::core::texture;
use crate::core::verify::{self, OracleOutcome};
use crate::cuda::*;
use heddle_runtime::faults::KernelFault;
use heddle_runtime::{LaunchArgument, LaunchError, NdRange, Pool};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum resident threads and blocks per multiprocessor, for occupancy queries.
pub const THREADS_PER_PROCESSOR: u32 = 1536;
/// See [`THREADS_PER_PROCESSOR`].
pub const BLOCKS_PER_PROCESSOR: u32 = 24;

/// Maximum number of blocks along each dimension.
pub const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// Maximum number of threads of a block along each dimension.
pub const MOST_THREADS_ALONG: [u32; 3] = [1024, 1024, 64];

/// Grid, block and shared memory size of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchSize {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared: u32,
}

/// A launch with its parameters.
#[derive(Clone, Debug)]
pub struct CudaLaunch {
    /// The kernel.
    pub function: Arc<CudaFunction>,
    /// Size of the launch.
    pub size: LaunchSize,
    /// The buffer of parameters.
    pub params: Vec<u8>,
    /// True if all blocks run concurrently, so that they may wait for each other.
    is_cooperative: bool,
}

/// Serializes cooperative launches: the blocks of a module share one barrier.
static COOPERATING: Mutex<()> = Mutex::new(());

/// Returns the number of multiprocessors: the worker threads.
pub fn processors() -> u32 {
    Pool::of_process().threads() as u32
}

impl CudaLaunch {
    /// Builds a launch after checking its arguments.
    pub fn new(function: Arc<CudaFunction>, size: LaunchSize, mut params: Vec<u8>) -> CudaResult<CudaLaunch> {
        let within = |sizes: [u32; 3], most: [u32; 3]| (0..3).all(|at| (1..=most[at]).contains(&sizes[at]));
        ensure(within(size.grid, MOST_BLOCKS), CUDA_ERROR_INVALID_VALUE)?;
        ensure(within(size.block, MOST_THREADS_ALONG), CUDA_ERROR_INVALID_VALUE)?;
        let threads: u32 = size.block.iter().product();
        ensure(threads <= function.most_threads(), CUDA_ERROR_INVALID_VALUE)?;
        let fixed = function.kernel.info().required_local;
        ensure(fixed.is_none_or(|fixed| fixed == size.block), CUDA_ERROR_INVALID_VALUE)?;
        let shared = u64::from(size.shared);
        ensure(shared <= function.most_dynamic.load(Ordering::Relaxed) as u64, CUDA_ERROR_INVALID_VALUE)?;
        ensure(shared + function.layout().shared_bytes <= MOST_SHARED, CUDA_ERROR_INVALID_VALUE)?;
        let needed = function.layout().bytes as usize;
        ensure(params.len() >= needed, CUDA_ERROR_INVALID_VALUE)?;
        params.truncate(needed);
        Ok(CudaLaunch { function, size, params, is_cooperative: false })
    }

    /// Makes the launch cooperative.
    pub fn cooperative(self) -> CudaResult<CudaLaunch> {
        let threads = self.size.block.iter().product();
        let at_once = self.function.active_blocks(threads, self.size.shared.into()) as u64;
        let fits = self.blocks() <= at_once * u64::from(processors());
        ensure(fits, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)?;
        Ok(CudaLaunch { is_cooperative: true, ..self })
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> u64 {
        self.size.grid.iter().map(|&count| u64::from(count)).product()
    }

    /// Runs the launch and waits for its end.
    pub fn run(&self) -> CudaResult<()> {
        let LaunchSize { grid, block, shared } = self.size;
        let global = [0, 1, 2].map(|at| u64::from(grid[at]) * u64::from(block[at]));
        let range = NdRange::new(&global).and_then(|range| range.with_local(&block.map(u64::from)));
        let range = range.map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let args: Vec<LaunchArgument<'_>> = self
            .function
            .layout()
            .words
            .iter()
            .map(|word| {
                let start = word.offset as usize;
                let bytes = &self.params[start..start + word.scalar.bytes() as usize];
                let handle = <[u8; 8]>::try_from(bytes).ok().filter(|_| self.function.kernel.takes_images());
                let handle = handle.map(u64::from_ne_bytes);
                match handle.and_then(|handle| Some((handle, texture::fields_of(handle)?))) {
                    Some((handle, fields)) => {
                        LaunchArgument::Image(std::ptr::with_exposed_provenance_mut(handle as usize), fields)
                    }
                    None => LaunchArgument::Bytes(bytes),
                }
            })
            .collect();
        let expected = match (&self.function.module.text, self.is_cooperative) {
            (None, _) => None,
            (Some(_), true) => Some(OracleOutcome::Unknown("blocks wait for each other".into())),
            (Some(text), false) => Some(verify::expect(self, text)),
        };
        let stick = |CudaError(code)| CudaError(context::stick(code));
        if let Some(expected @ OracleOutcome::Illegal(..)) = &expected {
            return expected.compare(self).map_err(stick);
        }
        let own;
        let (pool, _cooperating) = match self.is_cooperative {
            true => {
                own = Pool::at_once(self.blocks() as usize);
                (&own, Some(COOPERATING.lock().unwrap_or_else(PoisonError::into_inner)))
            }
            false => (Pool::of_process(), None),
        };
        let _telling = self.function.module.tell(shared);
        // SAFETY: what a kernel does with its parameters is the application's promise, as it is on any device.
        let done = unsafe { self.function.kernel.launch_with_local(&args, &range, shared.into(), pool) };
        if let (Ok(()), Some(expected)) = (&done, &expected) {
            expected.compare(self).map_err(stick)?;
        }
        done.map_err(|reason| {
            say(format_args!("{reason}"));
            CudaError(match reason {
                LaunchError::Memory { .. } => CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                LaunchError::Build(_) => CUDA_ERROR_NOT_SUPPORTED,
                LaunchError::DivergentBarrier { .. } => context::stick(CUDA_ERROR_LAUNCH_FAILED),
                LaunchError::Fault { fault, .. } => context::stick(code_of_fault(fault)),
                LaunchError::Timeout { .. } => context::stick(CUDA_ERROR_LAUNCH_TIMEOUT),
                _ => CUDA_ERROR_INVALID_VALUE,
            })
        })
    }
}

fn code_of_fault(fault: KernelFault) -> CUresult {
    match fault {
        KernelFault::Access(_) => CUDA_ERROR_ILLEGAL_ADDRESS,
        KernelFault::Bus(_) => CUDA_ERROR_MISALIGNED_ADDRESS,
        KernelFault::Assertion => CUDA_ERROR_ASSERT,
        KernelFault::NoFunction => CUDA_ERROR_INVALID_PC,
        _ => CUDA_ERROR_LAUNCH_FAILED,
    }
}
