//! Copies and fills.

use super::pointer::{CudaInput, CudaOutput};
use crate::core::command::{CopyCommand, CopyDescription, StreamCommand};
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::memory::{CopySide, MemoryCopy, MemoryFill};
use crate::core::stream::CudaStream;
use crate::core::texture::{ARRAYS, TexelMemory};
use crate::cuda::*;
use std::ffi::c_void;

/// One side of a copy in two dimensions, as applications describe it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Side2d {
    x: usize,
    y: usize,
    memory_type: u32,
    host: u64,
    device: CUdeviceptr,
    array: u64,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Copy2d {
    from: Side2d,
    to: Side2d,
    width: usize,
    height: usize,
}

/// One side of a copy in three dimensions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Side3d {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    memory_type: u32,
    host: u64,
    device: CUdeviceptr,
    array: u64,
    reserved: u64,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`, and `CUDA_MEMCPY3D_PEER`, whose contexts are the reserved fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Copy3d {
    from: Side3d,
    to: Side3d,
    width: usize,
    height: usize,
    depth: usize,
}

fn start(memory_type: u32, host: u64, device: CUdeviceptr) -> CudaResult<(u64, bool)> {
    Ok(match memory_type {
        CU_MEMORYTYPE_HOST => (host, false),
        CU_MEMORYTYPE_DEVICE => (device, true),
        CU_MEMORYTYPE_UNIFIED => (device, CopySide::any(device).is_known),
        _ => return Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
    })
}

impl Side2d {
    /// Returns the side of a copy of one slice.
    fn widened(self) -> Side3d {
        let Side2d { x, y, memory_type, host, device, array, pitch } = self;
        Side3d { x, y, z: 0, level: 0, memory_type, host, device, array, reserved: 0, pitch, height: 0 }
    }
}

impl Side3d {
    fn side(&self, width: usize, rows: usize) -> CudaResult<CopySide> {
        ensure(self.level == 0, CUDA_ERROR_INVALID_VALUE)?;
        if self.memory_type == CU_MEMORYTYPE_ARRAY {
            return self.array_side(width, rows);
        }
        let (start, is_known) = start(self.memory_type, self.host, self.device)?;
        let pitch = if self.pitch == 0 { width } else { self.pitch };
        let height = if self.height == 0 { rows } else { self.height };
        let slice = pitch.checked_mul(height);
        let offset = self.y.checked_mul(pitch).and_then(|rows| rows.checked_add(self.x));
        let offset = slice.zip(offset).and_then(|(slice, rest)| self.z.checked_mul(slice)?.checked_add(rest));
        let first = offset.and_then(|offset| start.checked_add(offset as u64));
        let (first, slice) = first.zip(slice).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        ensure(start != 0, CUDA_ERROR_INVALID_VALUE)?;
        Ok(CopySide { start: first, pitch, slice, is_known })
    }

    /// Side of a copy of bytes in memory.
    fn line(side: &CopySide, bytes: usize) -> Side3d {
        let (memory_type, host, device) = match side.is_known {
            true => (CU_MEMORYTYPE_DEVICE, 0, side.start),
            false => (CU_MEMORYTYPE_HOST, side.start, 0),
        };
        let (array, reserved, pitch, height) = (0, 0, bytes, 1);
        Side3d { x: 0, y: 0, z: 0, level: 0, memory_type, host, device, array, reserved, pitch, height }
    }

    fn words(&self) -> [u64; 11] {
        let [x, y, z, level] = [self.x, self.y, self.z, self.level].map(|word| word as u64);
        let [pitch, height] = [self.pitch, self.height].map(|word| word as u64);
        let memory_type = self.memory_type.into();
        [x, y, z, level, memory_type, self.host, self.device, self.array, self.reserved, pitch, height]
    }
}

impl Side3d {
    /// Returns the part of an array: rows lie within it along each dimension.
    fn array_side(&self, width: usize, rows: usize) -> CudaResult<CopySide> {
        let array = ARRAYS.find(self.array).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let TexelMemory { start, size, layers, pitch, slice, format } = array.memory;
        let fits = |at: usize, length: usize, end: usize| at.checked_add(length).is_some_and(|to| to <= end);
        let is_inside = fits(self.x, width, size[0] * format.bytes()?)
            && fits(self.y, rows, size[1])
            && fits(self.z, 0, size[2].max(layers));
        ensure(is_inside, CUDA_ERROR_INVALID_VALUE)?;
        let first = start + (self.z * slice + self.y * pitch + self.x) as u64;
        Ok(CopySide { start: first, pitch, slice, is_known: true })
    }
}

/// Returns the bytes of an array from an offset on, as copies without rows see them.
fn in_array(array: CudaHandle, offset: usize) -> CudaResult<CopySide> {
    let array = ARRAYS.find(array)?;
    let start = array.memory.start.checked_add(offset as u64).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
    Ok(CopySide::device(start))
}

impl Copy2d {
    fn command(self) -> CudaResult<StreamCommand> {
        let Copy2d { from, to, width, height } = self;
        Copy3d { from: from.widened(), to: to.widened(), width, height, depth: 1 }.command()
    }
}

impl Copy3d {
    fn copy(&self) -> CudaResult<MemoryCopy> {
        let to = self.to.side(self.width, self.height)?;
        let from = self.from.side(self.width, self.height)?;
        Ok(MemoryCopy { to, from, width: self.width, height: self.height, depth: self.depth })
    }

    fn description(&self) -> CopyDescription {
        let mut words = [0; 25];
        words[..11].copy_from_slice(&self.from.words());
        words[11..22].copy_from_slice(&self.to.words());
        words[22..].copy_from_slice(&[self.width, self.height, self.depth].map(|word| word as u64));
        words
    }

    /// Returns the command, after a check.
    pub fn command(&self) -> CudaResult<StreamCommand> {
        let copy = self.copy()?;
        copy.check()?;
        Ok(StreamCommand::Copy(Box::new(CopyCommand::new(copy, self.description()))))
    }
}

/// The legacy stream.
const LEGACY: CudaHandle = 0;

/// Stream of a copy; none for copies that end in their call, on the legacy stream.
type CopyStream = Option<CudaHandle>;

fn submit(command: StreamCommand, stream: CopyStream) -> CudaResult<()> {
    match stream {
        Some(stream) => CudaStream::find(stream)?.submit(command),
        None => CudaStream::find(LEGACY)?.submit_and_wait(command),
    }
}

fn line(to: CopySide, from: CopySide, bytes: usize, stream: CopyStream) -> CudaResult<()> {
    let copy = MemoryCopy::line(to, from, bytes);
    copy.check()?;
    let (from, to) = (Side3d::line(&from, bytes), Side3d::line(&to, bytes));
    let description = Copy3d { from, to, width: bytes, height: 1, depth: 1 }.description();
    submit(StreamCommand::Copy(Box::new(CopyCommand::new(copy, description))), stream)
}

fn fill(start: CUdeviceptr, value: u32, size: usize, width: usize, stream: CudaHandle) -> CudaResult<()> {
    rows(MemoryFill { start, pitch: 0, value, size, width, height: 1 }, stream)
}

fn rows(fill: MemoryFill, stream: CudaHandle) -> CudaResult<()> {
    fill.check()?;
    CudaStream::find(stream)?.submit(StreamCommand::Fill(fill))
}

entries! {
    fn cuMemcpy | cuMemcpy_ptds (to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        line(CopySide::any(to), CopySide::any(from), bytes, None)
    }

    fn cuMemcpyAsync | cuMemcpyAsync_ptsz (to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CudaHandle) {
        line(CopySide::any(to), CopySide::any(from), bytes, Some(stream))
    }

    fn cuMemcpyHtoD_v2 | cuMemcpyHtoD_v2_ptds (to: CUdeviceptr, from: CudaInput<c_void>, bytes: usize) {
        line(CopySide::device(to), CopySide::host(from.address()), bytes, None)
    }

    fn cuMemcpyHtoDAsync_v2 | cuMemcpyHtoDAsync_v2_ptsz (
        to: CUdeviceptr, from: CudaInput<c_void>, bytes: usize, stream: CudaHandle,
    ) {
        line(CopySide::device(to), CopySide::host(from.address()), bytes, Some(stream))
    }

    fn cuMemcpyDtoH_v2 | cuMemcpyDtoH_v2_ptds (to: CudaOutput<c_void>, from: CUdeviceptr, bytes: usize) {
        line(CopySide::host(to.address()), CopySide::device(from), bytes, None)
    }

    fn cuMemcpyDtoHAsync_v2 | cuMemcpyDtoHAsync_v2_ptsz (
        to: CudaOutput<c_void>, from: CUdeviceptr, bytes: usize, stream: CudaHandle,
    ) {
        line(CopySide::host(to.address()), CopySide::device(from), bytes, Some(stream))
    }

    fn cuMemcpyDtoD_v2 | cuMemcpyDtoD_v2_ptds (to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        line(CopySide::device(to), CopySide::device(from), bytes, None)
    }

    fn cuMemcpyDtoDAsync_v2 | cuMemcpyDtoDAsync_v2_ptsz (
        to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CudaHandle,
    ) {
        line(CopySide::device(to), CopySide::device(from), bytes, Some(stream))
    }

    fn cuMemcpyPeer | cuMemcpyPeer_ptds (
        to: CUdeviceptr, _to_context: CudaHandle, from: CUdeviceptr, _from_context: CudaHandle, bytes: usize,
    ) {
        line(CopySide::device(to), CopySide::device(from), bytes, None)
    }

    fn cuMemcpyPeerAsync | cuMemcpyPeerAsync_ptsz (
        to: CUdeviceptr, _to_context: CudaHandle, from: CUdeviceptr, _from_context: CudaHandle, bytes: usize, stream: CudaHandle,
    ) {
        line(CopySide::device(to), CopySide::device(from), bytes, Some(stream))
    }

    fn cuMemcpy2D_v2 | cuMemcpy2D_v2_ptds | cuMemcpy2DUnaligned_v2 | cuMemcpy2DUnaligned_v2_ptds (copy: CudaInput<Copy2d>) {
        submit(copy.read()?.command()?, None)
    }

    fn cuMemcpy2DAsync_v2 | cuMemcpy2DAsync_v2_ptsz (copy: CudaInput<Copy2d>, stream: CudaHandle) {
        submit(copy.read()?.command()?, Some(stream))
    }

    fn cuMemcpy3D_v2 | cuMemcpy3D_v2_ptds | cuMemcpy3DPeer | cuMemcpy3DPeer_ptds (copy: CudaInput<Copy3d>) {
        submit(copy.read()?.command()?, None)
    }

    fn cuMemcpy3DAsync_v2 | cuMemcpy3DAsync_v2_ptsz | cuMemcpy3DPeerAsync | cuMemcpy3DPeerAsync_ptsz (
        copy: CudaInput<Copy3d>, stream: CudaHandle,
    ) {
        submit(copy.read()?.command()?, Some(stream))
    }

    fn cuMemcpyHtoA_v2 | cuMemcpyHtoA_v2_ptds (
        to: CudaHandle, offset: usize, from: CudaInput<c_void>, bytes: usize,
    ) {
        line(in_array(to, offset)?, CopySide::host(from.address()), bytes, None)
    }

    fn cuMemcpyHtoAAsync_v2 | cuMemcpyHtoAAsync_v2_ptsz (
        to: CudaHandle, offset: usize, from: CudaInput<c_void>, bytes: usize, stream: CudaHandle,
    ) {
        line(in_array(to, offset)?, CopySide::host(from.address()), bytes, Some(stream))
    }

    fn cuMemcpyAtoH_v2 | cuMemcpyAtoH_v2_ptds (
        to: CudaOutput<c_void>, from: CudaHandle, offset: usize, bytes: usize,
    ) {
        line(CopySide::host(to.address()), in_array(from, offset)?, bytes, None)
    }

    fn cuMemcpyAtoHAsync_v2 | cuMemcpyAtoHAsync_v2_ptsz (
        to: CudaOutput<c_void>, from: CudaHandle, offset: usize, bytes: usize, stream: CudaHandle,
    ) {
        line(CopySide::host(to.address()), in_array(from, offset)?, bytes, Some(stream))
    }

    fn cuMemcpyDtoA_v2 | cuMemcpyDtoA_v2_ptds (to: CudaHandle, offset: usize, from: CUdeviceptr, bytes: usize) {
        line(in_array(to, offset)?, CopySide::device(from), bytes, None)
    }

    fn cuMemcpyAtoD_v2 | cuMemcpyAtoD_v2_ptds (to: CUdeviceptr, from: CudaHandle, offset: usize, bytes: usize) {
        line(CopySide::device(to), in_array(from, offset)?, bytes, None)
    }

    fn cuMemcpyAtoA_v2 | cuMemcpyAtoA_v2_ptds (
        to: CudaHandle, to_offset: usize, from: CudaHandle, from_offset: usize, bytes: usize,
    ) {
        line(in_array(to, to_offset)?, in_array(from, from_offset)?, bytes, None)
    }

    fn cuMemcpyBatchAsync | cuMemcpyBatchAsync_ptsz (
        to: CudaInput<CUdeviceptr>, from: CudaInput<CUdeviceptr>, sizes: CudaInput<usize>, count: usize, _attributes: CudaInput<c_void>,
        _starts: CudaInput<usize>, _attribute_count: usize, failed: CudaOutput<usize>, stream: CudaHandle,
    ) {
        let (to, from, sizes) = (to.list(count)?, from.list(count)?, sizes.list(count)?);
        for (index, ((to, from), bytes)) in to.into_iter().zip(from).zip(sizes).enumerate() {
            let done = line(CopySide::any(to), CopySide::any(from), bytes, Some(stream));
            if done.is_err() {
                failed.write_if(index);
            }
            done?;
        }
        Ok(())
    }

    fn cuMemsetD8_v2 | cuMemsetD8_v2_ptds (start: CUdeviceptr, value: u8, count: usize) {
        fill(start, value.into(), 1, count, LEGACY)
    }

    fn cuMemsetD16_v2 | cuMemsetD16_v2_ptds (start: CUdeviceptr, value: u16, count: usize) {
        fill(start, value.into(), 2, count, LEGACY)
    }

    fn cuMemsetD32_v2 | cuMemsetD32_v2_ptds (start: CUdeviceptr, value: u32, count: usize) {
        fill(start, value, 4, count, LEGACY)
    }

    fn cuMemsetD8Async | cuMemsetD8Async_ptsz (start: CUdeviceptr, value: u8, count: usize, stream: CudaHandle) {
        fill(start, value.into(), 1, count, stream)
    }

    fn cuMemsetD16Async | cuMemsetD16Async_ptsz (start: CUdeviceptr, value: u16, count: usize, stream: CudaHandle) {
        fill(start, value.into(), 2, count, stream)
    }

    fn cuMemsetD32Async | cuMemsetD32Async_ptsz (start: CUdeviceptr, value: u32, count: usize, stream: CudaHandle) {
        fill(start, value, 4, count, stream)
    }

    fn cuMemsetD2D8_v2 | cuMemsetD2D8_v2_ptds (
        start: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize,
    ) {
        rows(MemoryFill { start, pitch, value: value.into(), size: 1, width, height }, LEGACY)
    }

    fn cuMemsetD2D16_v2 | cuMemsetD2D16_v2_ptds (
        start: CUdeviceptr, pitch: usize, value: u16, width: usize, height: usize,
    ) {
        rows(MemoryFill { start, pitch, value: value.into(), size: 2, width, height }, LEGACY)
    }

    fn cuMemsetD2D32_v2 | cuMemsetD2D32_v2_ptds (
        start: CUdeviceptr, pitch: usize, value: u32, width: usize, height: usize,
    ) {
        rows(MemoryFill { start, pitch, value, size: 4, width, height }, LEGACY)
    }

    fn cuMemsetD2D8Async | cuMemsetD2D8Async_ptsz (
        start: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize, stream: CudaHandle,
    ) {
        rows(MemoryFill { start, pitch, value: value.into(), size: 1, width, height }, stream)
    }

    fn cuMemsetD2D16Async | cuMemsetD2D16Async_ptsz (
        start: CUdeviceptr, pitch: usize, value: u16, width: usize, height: usize, stream: CudaHandle,
    ) {
        rows(MemoryFill { start, pitch, value: value.into(), size: 2, width, height }, stream)
    }

    fn cuMemsetD2D32Async | cuMemsetD2D32Async_ptsz (
        start: CUdeviceptr, pitch: usize, value: u32, width: usize, height: usize, stream: CudaHandle,
    ) {
        rows(MemoryFill { start, pitch, value, size: 4, width, height }, stream)
    }
}
