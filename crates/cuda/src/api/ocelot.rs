//! `ptx_run`: a text of PTX is run at once, as simulated GPUs ask for it.

use super::pointer::{CudaInput, CudaString};
use crate::attributes::FunctionAttribute;
use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::launch::{CudaLaunch, LaunchSize};
use crate::core::module::{CudaFunction, CudaModule, FUNCTIONS, LoadError, MODULES};
use crate::cuda::*;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The kernels of texts that were run; when there are more, all are forgotten.
const MOST_KEPT: usize = 1024;

static KEPT: Mutex<Option<FxHashMap<String, Arc<CudaFunction>>>> = Mutex::new(None);

fn function(text: &str) -> CudaResult<Arc<CudaFunction>> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    if let Some(function) = kept.get(text) {
        return Ok(Arc::clone(function));
    }
    let module = CudaModule::load(text).map_err(|refused: LoadError| {
        crate::core::error::say(format_args!("{}", refused.reason));
        CudaError(refused.code)
    })?;
    let function = FUNCTIONS.find(module.function_at(0)?)?;
    if kept.len() >= MOST_KEPT {
        for (_, function) in kept.drain() {
            // It was loaded here, and is unloaded once.
            let _ = CudaModule::unload(function.module.handle);
        }
    }
    ensure(MODULES.find(module.handle).is_ok(), CUDA_ERROR_INVALID_HANDLE)?;
    kept.insert(text.to_string(), Arc::clone(&function));
    Ok(function)
}

fn run(text: CudaString, values: &[u64], block: [i32; 3], grid: [i32; 3], shared: i32) -> CudaResult<()> {
    context::initialize();
    let function = function(&text.get()?)?;
    let layout = function.layout();
    ensure(values.len() >= layout.params.len(), CUDA_ERROR_INVALID_VALUE)?;
    let mut params = vec![0; layout.bytes as usize];
    for (param, value) in layout.params.iter().zip(values) {
        let start = param.offset as usize;
        let bytes = value.to_le_bytes();
        let size = (param.bytes as usize).min(bytes.len());
        params[start..start + size].copy_from_slice(&bytes[..size]);
    }
    let sizes = |sizes: [i32; 3]| sizes.map(|size| u32::try_from(size).unwrap_or(0));
    let shared = u32::try_from(shared).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
    if u64::from(shared) + function.layout().shared_bytes <= crate::core::module::MOST_SHARED {
        let most = FunctionAttribute::MaxDynamicSharedSizeBytes;
        function.set_attribute(most, function.attribute(most).max(shared as i32))?;
    }
    CudaLaunch::new(function, LaunchSize { grid: sizes(grid), block: sizes(block), shared }, params)?.run()
}

/// Runs the first kernel of a PTX text with these parameters of up to 64 bits each, and waits for its end. Returns 0 or an
/// error code of `cuda.h`.
///
/// # Safety
/// The text ends in a zero byte, there are so many parameters, and the kernel does nothing undefined with them.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn ptx_run(
    text: CudaString,
    count: i32,
    values: CudaInput<u64>,
    block_x: i32,
    block_y: i32,
    block_z: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    shared: i32,
) -> CUresult {
    super::answer(|| {
        let values = values.list(usize::try_from(count).unwrap_or(0))?;
        run(text, &values, [block_x, block_y, block_z], [grid_x, grid_y, grid_z], shared)
    })
}
