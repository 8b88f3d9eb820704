//! Launches and occupancy.

use super::module::function;
use super::pointer::{CudaInput, CudaOutput};
use crate::core::command::{KernelCommand, StreamCommand};
use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::launch::{CudaLaunch, LaunchSize, processors};
use crate::core::launch_attributes::{AttributeHolder, AttributeValue, LaunchAttributes};
use crate::core::module::CudaFunction;
use crate::core::stream::CudaStream;
use crate::cuda::*;
use std::sync::Arc;

/// Keys of the `extra` list: end, parameter buffer, buffer size.
const EXTRA_END: u64 = 0;
const EXTRA_BUFFER: u64 = 1;
const EXTRA_SIZE: u64 = 2;
/// Maximum length of the `extra` list; a longer one is invalid.
const MOST_EXTRA: usize = 4;

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: CudaHandle,
    attributes: u64,
    count: u32,
}

/// `CUlaunchAttribute`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    id: u32,
    pad: u32,
    value: AttributeValue,
}

/// Collects parameters, passed one by one or through `extra`, into a kernel's parameter buffer.
pub fn params(function: &CudaFunction, each: CudaInput<u64>, extra: CudaInput<u64>) -> CudaResult<Vec<u8>> {
    let layout = function.layout();
    let bytes = layout.bytes as usize;
    if !each.is_null() {
        let mut buffer = vec![0; bytes];
        for (param, place) in layout.params.iter().zip(each.list(layout.params.len())?) {
            let (start, size) = (param.offset as usize, param.bytes as usize);
            buffer[start..start + size].copy_from_slice(CudaInput::at(place).bytes(size)?);
        }
        return Ok(buffer);
    }
    if extra.is_null() {
        ensure(bytes == 0, CUDA_ERROR_INVALID_VALUE)?;
        return Ok(Vec::new());
    }
    let (mut start, mut size) = (None, None);
    for index in 0..MOST_EXTRA {
        let at = |word: usize| CudaInput::<u64>::at(extra.address() + 8 * (2 * index + word) as u64).read();
        match at(0)? {
            EXTRA_END => break,
            EXTRA_BUFFER => start = Some(at(1)?),
            EXTRA_SIZE => size = Some(CudaInput::<usize>::at(at(1)?).read()?),
            _ => return Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
    }
    let (start, size) = start.zip(size).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
    ensure(size >= bytes, CUDA_ERROR_INVALID_VALUE)?;
    if bytes == 0 { Ok(Vec::new()) } else { Ok(CudaInput::at(start).bytes(bytes)?.to_vec()) }
}

/// Builds a launch after checking its arguments.
pub fn prepare(
    function: Arc<CudaFunction>,
    size: LaunchSize,
    each: CudaInput<u64>,
    extra: CudaInput<u64>,
) -> CudaResult<CudaLaunch> {
    let params = params(&function, each, extra)?;
    CudaLaunch::new(function, size, params)
}

fn launch(
    function: CudaHandle,
    size: LaunchSize,
    stream: CudaHandle,
    params: (CudaInput<u64>, CudaInput<u64>),
    attributes: LaunchAttributes,
) -> CudaResult<()> {
    let stream = CudaStream::find(stream)?;
    let launch = prepare(super::module::function(function)?, size, params.0, params.1)?;
    stream.submit(StreamCommand::Launch(Box::new(KernelCommand::new(launch, attributes)?)))
}

/// Returns the block size of best occupancy: the largest one, as vector code needs many lanes.
fn potential_block(function: &CudaFunction, limit: i32) -> u32 {
    let most = function.most_threads();
    if limit > 0 { most.min(limit as u32) } else { most }
}

entries! {
    fn cuLaunchKernel | cuLaunchKernel_ptsz (
        function: CudaHandle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: CudaHandle, each: CudaInput<u64>, extra: CudaInput<u64>,
    ) {
        context::current()?;
        let size = LaunchSize { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared };
        launch(function, size, stream, (each, extra), LaunchAttributes::default())
    }

    fn cuLaunchCooperativeKernel | cuLaunchCooperativeKernel_ptsz (
        function: CudaHandle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: CudaHandle, each: CudaInput<u64>,
    ) {
        context::current()?;
        let size = LaunchSize { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared };
        let mut attributes = LaunchAttributes::default();
        attributes.set_cooperative(true);
        launch(function, size, stream, (each, CudaInput::at(0)), attributes)
    }

    fn cuLaunchKernelEx | cuLaunchKernelEx_ptsz (config: CudaInput<Config>, function: CudaHandle, each: CudaInput<u64>, extra: CudaInput<u64>) {
        context::current()?;
        let config = config.read()?;
        let mut attributes = LaunchAttributes::default();
        for attribute in CudaInput::<Attribute>::at(config.attributes).list(config.count as usize)? {
            attributes.set(AttributeHolder::Launch, attribute.id, attribute.value)?;
        }
        let size = LaunchSize { grid: config.grid, block: config.block, shared: config.shared };
        launch(function, size, config.stream, (each, extra), attributes)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor | cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (
        blocks: CudaOutput<i32>, handle: CudaHandle, threads: i32, dynamic: usize, _flags: u32,
    ) {
        let function = function(handle)?;
        ensure(threads > 0, CUDA_ERROR_INVALID_VALUE)?;
        blocks.write(function.active_blocks(threads as u32, dynamic as u64))
    }

    fn cuOccupancyMaxPotentialBlockSize | cuOccupancyMaxPotentialBlockSizeWithFlags (
        grid: CudaOutput<i32>, block: CudaOutput<i32>, handle: CudaHandle, _dynamic_of: u64, dynamic: usize, limit: i32, _flags: u32,
    ) {
        let function = function(handle)?;
        let threads = potential_block(&function, limit);
        block.write(threads as i32)?;
        grid.write(function.active_blocks(threads, dynamic as u64).max(1) * processors() as i32)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: CudaOutput<usize>, handle: CudaHandle, blocks: i32, threads: i32) {
        let function = function(handle)?;
        ensure(blocks > 0 && threads > 0, CUDA_ERROR_INVALID_VALUE)?;
        let all = crate::core::module::MOST_SHARED / blocks as u64;
        bytes.write(all.saturating_sub(function.layout().shared_bytes) as usize)
    }
}
