//! Copies and fills.

use super::memory::{CudartExtent, PitchedPointer};
use super::texture::{array_width, texel_bytes};
use super::{own_stream, pointer_at, read};
use crate::MAJOR;
use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::{
    CudartError, CudartResult, INVALID_DEVICE, INVALID_DIRECTION, INVALID_VALUE, done, ensure,
};
use crate::program::variable;
use crate::state::ready;
use std::ffi::c_void;

/// Memory of either side, as the driver numbers it: it looks pointers up.
const ANY: u32 = 4;
/// Memory of the host, as the driver numbers it.
const OF_HOST: u32 = 1;
/// An array, as the driver numbers it.
const OF_ARRAY: u32 = 3;

/// Direction of a copy that goes wherever pointers lead (`cudaMemcpyDefault`).
const WHEREVER: i32 = 4;

/// A side of a copy of rows, as the driver takes it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Side2 {
    x: usize,
    y: usize,
    kind: u32,
    host: usize,
    device: usize,
    array: usize,
    pitch: usize,
}

impl Side2 {
    fn memory((start, pitch): (Ptr, usize)) -> Side2 {
        Side2 { x: 0, y: 0, kind: ANY, host: 0, device: start.expose_provenance(), array: 0, pitch }
    }

    fn array((array, x, y): (DriverHandle, usize, usize)) -> Side2 {
        Side2 { x, y, kind: OF_ARRAY, host: 0, device: 0, array, pitch: 0 }
    }
}

/// A copy of rows, as the driver takes it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Copy2 {
    from: Side2,
    to: Side2,
    width: usize,
    height: usize,
}

/// A side of a copy of slices, as the driver takes it.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
struct Side3 {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: u32,
    host: usize,
    device: usize,
    array: usize,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// A copy of slices, as the driver takes it.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Copy3 {
    from: Side3,
    to: Side3,
    width: usize,
    height: usize,
    depth: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Params3 {
    from_array: usize,
    from_at: CudartExtent,
    from: PitchedPointer,
    to_array: usize,
    to_at: CudartExtent,
    to: PitchedPointer,
    extent: CudartExtent,
    kind: i32,
}

/// `cudaMemcpy3DPeerParms`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PeerParams3 {
    from_array: usize,
    from_at: CudartExtent,
    from: PitchedPointer,
    from_device: i32,
    to_array: usize,
    to_at: CudartExtent,
    to: PitchedPointer,
    to_device: i32,
    extent: CudartExtent,
}

impl PeerParams3 {
    /// Returns the copy within the only device.
    fn of_driver(&self) -> CudartResult<Copy3> {
        ensure(self.from_device == 0 && self.to_device == 0, INVALID_DEVICE)?;
        let PeerParams3 { from_array, from_at, from, to_array, to_at, to, extent, .. } = *self;
        Params3 { from_array, from_at, from, to_array, to_at, to, extent, kind: WHEREVER }.of_driver()
    }
}

impl Params3 {
    /// So many bytes side by side.
    pub fn of_line(to: Ptr, from: Ptr, bytes: usize, kind: i32) -> Params3 {
        let at = CudartExtent { width: 0, height: 0, depth: 0 };
        let memory = |start: Ptr| PitchedPointer { start, pitch: bytes, width: bytes, height: 1 };
        let extent = CudartExtent { width: bytes, height: 1, depth: 1 };
        let (from, to) = (memory(from), memory(to));
        Params3 { from_array: 0, from_at: at, from, to_array: 0, to_at: at, to, extent, kind }
    }

    /// Returns the parameters of a copy of the driver's.
    pub fn of_copy(copy: &Copy3) -> CudartResult<Params3> {
        let Copy3 { from, to, width, height, depth } = copy;
        let texel = |side: &Side3| if side.kind == OF_ARRAY { texel_bytes(side.array) } else { Ok(1) };
        let (from_texel, to_texel) = (texel(from)?.max(1), texel(to)?.max(1));
        let at = |side: &Side3, texel: usize| CudartExtent {
            width: side.x / texel,
            height: side.y,
            depth: side.z,
        };
        let memory = |side: &Side3| PitchedPointer {
            start: pointer_at(if side.kind == OF_HOST { side.host } else { side.device }),
            pitch: side.pitch,
            width: if side.kind == OF_ARRAY { 0 } else { *width },
            height: side.height,
        };
        let array = |side: &Side3| if side.kind == OF_ARRAY { side.array } else { 0 };
        let kind = match (from.kind, to.kind) {
            (ANY, _) | (_, ANY) => WHEREVER,
            (from, to) => i32::from(from != OF_HOST) * 2 + i32::from(to != OF_HOST),
        };
        Ok(Params3 {
            from_array: array(from),
            from_at: at(from, from_texel),
            from: memory(from),
            to_array: array(to),
            to_at: at(to, to_texel),
            to: memory(to),
            extent: CudartExtent { width: width / from_texel.max(to_texel), height: *height, depth: *depth },
            kind,
        })
    }

    /// As the driver takes it.
    pub fn of_driver(&self) -> CudartResult<Copy3> {
        ensure_direction(self.kind)?;
        // Widths and offsets count texels where there are arrays, else bytes.
        let texel = |array: usize| if array == 0 { Ok(1) } else { texel_bytes(array) };
        let (from, to) = (texel(self.from_array)?, texel(self.to_array)?);
        ensure(self.from_array == 0 || self.to_array == 0 || from == to, INVALID_VALUE)?;
        let side = |at: CudartExtent, memory: PitchedPointer, array: usize, texel: usize| Side3 {
            x: at.width.saturating_mul(texel),
            y: at.height,
            z: at.depth,
            level: 0,
            kind: if array == 0 { ANY } else { OF_ARRAY },
            host: 0,
            device: memory.start.expose_provenance(),
            array,
            reserved: 0,
            pitch: memory.pitch,
            height: memory.height,
        };
        let CudartExtent { width, height, depth } = self.extent;
        Ok(Copy3 {
            from: side(self.from_at, self.from, self.from_array, from),
            to: side(self.to_at, self.to, self.to_array, to),
            width: width.checked_mul(from.max(to)).ok_or(CudartError(INVALID_VALUE))?,
            height,
            depth,
        })
    }
}

/// A copy goes from host or device to host or device, or wherever pointers lead.
fn ensure_direction(kind: i32) -> CudartResult<()> {
    ensure((0..=WHEREVER).contains(&kind), INVALID_DIRECTION)
}

fn rows(to: (Ptr, usize), from: (Ptr, usize), width: usize, height: usize, kind: i32) -> CudartResult<Copy2> {
    ensure_direction(kind)?;
    Ok(Copy2 { from: Side2::memory(from), to: Side2::memory(to), width, height })
}

/// Copies rows on a stream; without one, on the legacy stream.
///
/// # Safety
/// Memory of the host is there.
unsafe fn copy_rows(
    to: Side2,
    from: Side2,
    (width, height, kind): (usize, usize, i32),
    stream: Option<DriverHandle>,
) -> CudartResult<()> {
    ready()?;
    ensure_direction(kind)?;
    let copy = Copy2 { from, to, width, height };
    // SAFETY: the caller's promise.
    done(unsafe {
        match stream {
            Some(stream) => driver::cuMemcpy2DAsync_v2(about(&copy), stream),
            None => driver::cuMemcpy2D_v2(about(&copy)),
        }
    })
}

/// Returns the part of an array that `bytes` bytes from a texel on are in: whole rows, or a piece of one.
fn rows_of(array: DriverHandle, bytes: usize) -> CudartResult<(usize, usize)> {
    let row = texel_bytes(array)?.saturating_mul(array_width(array)?);
    if bytes <= row {
        return Ok((bytes, 1));
    }
    // A last row that is not whole would take a copy of its own.
    ensure(bytes.is_multiple_of(row), INVALID_VALUE)?;
    Ok((row, bytes / row))
}

fn about<T>(copy: &T) -> *const c_void {
    std::ptr::from_ref(copy).cast()
}

/// Copies bytes of one array to another on the legacy stream.
fn copy_between_arrays(
    (to, to_x, to_y): (DriverHandle, usize, usize),
    (from, x, y): (DriverHandle, usize, usize),
    bytes: usize,
    kind: i32,
) -> CudartResult<()> {
    ready()?;
    let (width, height) = rows_of(to, bytes)?;
    ensure((width, height) == rows_of(from, bytes)?, INVALID_VALUE)?;
    // SAFETY: the driver looks the arrays up.
    unsafe {
        copy_rows(Side2::array((to, to_x, to_y)), Side2::array((from, x, y)), (width, height, kind), None)
    }
}

/// Fills slices with a byte on a stream; without one, on the legacy stream.
fn fill_slices(
    memory: PitchedPointer,
    value: i32,
    extent: CudartExtent,
    stream: Option<DriverHandle>,
) -> CudartResult<()> {
    ready()?;
    let slice = memory.pitch.saturating_mul(memory.height);
    for z in 0..extent.depth {
        let start = memory.start.cast::<u8>().wrapping_add(z.wrapping_mul(slice)).cast();
        let CudartExtent { width, height, .. } = extent;
        // SAFETY: the driver looks the pointer up.
        done(unsafe {
            match stream {
                Some(stream) => {
                    driver::cuMemsetD2D8Async(start, memory.pitch, value as u8, width, height, stream)
                }
                None => driver::cuMemsetD2D8_v2(start, memory.pitch, value as u8, width, height),
            }
        })?;
    }
    Ok(())
}

/// Arguments of a batch of copies.
#[derive(Clone, Copy)]
struct CopyBatch {
    to: *const Ptr,
    from: *const Ptr,
    sizes: *const usize,
    count: usize,
    attributes: *const c_void,
    starts: *const usize,
    attribute_count: usize,
}

/// Starts a batch of copies. Programs of CUDA 12 pass a place for the index of a copy that fails, then the stream; others the stream.
///
/// # Safety
/// The lists are there.
unsafe fn copy_batch(batch: CopyBatch, eighth: usize, ninth: usize, is_own: bool) -> CudartResult<()> {
    ready()?;
    let (failed, stream) =
        if MAJOR > 12 { (std::ptr::null_mut(), eighth) } else { (pointer_at(eighth), ninth) };
    let stream = if is_own { own_stream(stream) } else { stream };
    let CopyBatch { to, from, sizes, count, attributes, starts, attribute_count } = batch;
    // SAFETY: the caller's promise.
    done(unsafe {
        driver::cuMemcpyBatchAsync(
            to,
            from,
            sizes,
            count,
            attributes,
            starts,
            attribute_count,
            failed,
            stream,
        )
    })
}

/// The place in a variable from an offset on, where so many bytes are in it.
pub(super) fn place_in(symbol: usize, offset: usize, bytes: usize) -> CudartResult<Ptr> {
    let (start, size) = variable(symbol)?;
    ensure(offset.checked_add(bytes).is_some_and(|end| end <= size), INVALID_VALUE)?;
    Ok(start.cast::<u8>().wrapping_add(offset).cast())
}

entries! {
    fn cudaMemcpy | cudaMemcpy_ptds (to: Ptr, from: Ptr, bytes: usize, kind: i32) {
        ready()?;
        ensure_direction(kind)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpy(to, from, bytes) })
    }

    fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz in stream (to: Ptr, from: Ptr, bytes: usize, kind: i32, stream: DriverHandle) {
        ready()?;
        ensure_direction(kind)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpyAsync(to, from, bytes, stream) })
    }

    fn cudaMemcpyPeer(to: Ptr, _to_device: i32, from: Ptr, _from_device: i32, bytes: usize) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpy(to, from, bytes) })
    }

    fn cudaMemcpyPeerAsync(to: Ptr, _to_device: i32, from: Ptr, _from_device: i32, bytes: usize, stream: DriverHandle) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpyAsync(to, from, bytes, stream) })
    }

    fn cudaMemcpy2D | cudaMemcpy2D_ptds (
        to: Ptr, to_pitch: usize, from: Ptr, from_pitch: usize, width: usize, height: usize, kind: i32,
    ) {
        ready()?;
        let copy = rows((to, to_pitch), (from, from_pitch), width, height, kind)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpy2D_v2(about(&copy)) })
    }

    fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz in stream (
        to: Ptr, to_pitch: usize, from: Ptr, from_pitch: usize, width: usize, height: usize, kind: i32, stream: DriverHandle,
    ) {
        ready()?;
        let copy = rows((to, to_pitch), (from, from_pitch), width, height, kind)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpy2DAsync_v2(about(&copy), stream) })
    }

    fn cudaMemcpy3D | cudaMemcpy3D_ptds (params: *const Params3) {
        ready()?;
        // SAFETY: the caller's promise.
        let copy = unsafe { read(params) }?.of_driver()?;
        // SAFETY: as above.
        done(unsafe { driver::cuMemcpy3D_v2(about(&copy)) })
    }

    fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz in stream (params: *const Params3, stream: DriverHandle) {
        ready()?;
        // SAFETY: the caller's promise.
        let copy = unsafe { read(params) }?.of_driver()?;
        // SAFETY: as above.
        done(unsafe { driver::cuMemcpy3DAsync_v2(about(&copy), stream) })
    }

    fn cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds (
        to: DriverHandle, x: usize, y: usize, from: Ptr, pitch: usize, width: usize, height: usize, kind: i32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { copy_rows(Side2::array((to, x, y)), Side2::memory((from, pitch)), (width, height, kind), None) }
    }

    fn cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz in stream (
        to: DriverHandle, x: usize, y: usize, from: Ptr, pitch: usize, width: usize, height: usize, kind: i32, stream: DriverHandle,
    ) {
        let (to, from) = (Side2::array((to, x, y)), Side2::memory((from, pitch)));
        // SAFETY: the caller's promise.
        unsafe { copy_rows(to, from, (width, height, kind), Some(stream)) }
    }

    fn cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds (
        to: Ptr, pitch: usize, from: DriverHandle, x: usize, y: usize, width: usize, height: usize, kind: i32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { copy_rows(Side2::memory((to, pitch)), Side2::array((from, x, y)), (width, height, kind), None) }
    }

    fn cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz in stream (
        to: Ptr, pitch: usize, from: DriverHandle, x: usize, y: usize, width: usize, height: usize, kind: i32, stream: DriverHandle,
    ) {
        let (to, from) = (Side2::memory((to, pitch)), Side2::array((from, x, y)));
        // SAFETY: the caller's promise.
        unsafe { copy_rows(to, from, (width, height, kind), Some(stream)) }
    }

    fn cudaMemcpy2DArrayToArray | cudaMemcpy2DArrayToArray_ptds (
        to: DriverHandle, to_x: usize, to_y: usize, from: DriverHandle, x: usize, y: usize, width: usize, height: usize, kind: i32,
    ) {
        let (to, from) = (Side2::array((to, to_x, to_y)), Side2::array((from, x, y)));
        // SAFETY: the caller's promise.
        unsafe { copy_rows(to, from, (width, height, kind), None) }
    }

    fn cudaMemcpyToArray | cudaMemcpyToArray_ptds (
        to: DriverHandle, x: usize, y: usize, from: Ptr, bytes: usize, kind: i32,
    ) {
        ready()?;
        let (width, height) = rows_of(to, bytes)?;
        // SAFETY: the caller's promise.
        unsafe { copy_rows(Side2::array((to, x, y)), Side2::memory((from, width)), (width, height, kind), None) }
    }

    fn cudaMemcpyFromArray | cudaMemcpyFromArray_ptds (
        to: Ptr, from: DriverHandle, x: usize, y: usize, bytes: usize, kind: i32,
    ) {
        ready()?;
        let (width, height) = rows_of(from, bytes)?;
        // SAFETY: the caller's promise.
        unsafe { copy_rows(Side2::memory((to, width)), Side2::array((from, x, y)), (width, height, kind), None) }
    }

    fn cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz in stream (
        to: DriverHandle, x: usize, y: usize, from: Ptr, bytes: usize, kind: i32, stream: DriverHandle,
    ) {
        ready()?;
        let (width, height) = rows_of(to, bytes)?;
        let (to, from) = (Side2::array((to, x, y)), Side2::memory((from, width)));
        // SAFETY: the caller's promise.
        unsafe { copy_rows(to, from, (width, height, kind), Some(stream)) }
    }

    fn cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz in stream (
        to: Ptr, from: DriverHandle, x: usize, y: usize, bytes: usize, kind: i32, stream: DriverHandle,
    ) {
        ready()?;
        let (width, height) = rows_of(from, bytes)?;
        let (to, from) = (Side2::memory((to, width)), Side2::array((from, x, y)));
        // SAFETY: the caller's promise.
        unsafe { copy_rows(to, from, (width, height, kind), Some(stream)) }
    }

    fn cudaMemcpyArrayToArray | cudaMemcpyArrayToArray_ptds (
        to: DriverHandle, to_x: usize, to_y: usize, from: DriverHandle, x: usize, y: usize, bytes: usize, kind: i32,
    ) {
        copy_between_arrays((to, to_x, to_y), (from, x, y), bytes, kind)
    }

    fn cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds (params: *const PeerParams3) {
        ready()?;
        // SAFETY: the caller's promise.
        let copy = unsafe { read(params) }?.of_driver()?;
        // SAFETY: as above.
        done(unsafe { driver::cuMemcpy3D_v2(about(&copy)) })
    }

    fn cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz in stream (params: *const PeerParams3, stream: DriverHandle) {
        ready()?;
        // SAFETY: the caller's promise.
        let copy = unsafe { read(params) }?.of_driver()?;
        // SAFETY: as above.
        done(unsafe { driver::cuMemcpy3DAsync_v2(about(&copy), stream) })
    }

    fn cudaMemcpyBatchAsync(
        to: *const Ptr, from: *const Ptr, sizes: *const usize, count: usize, attributes: *const c_void, starts: *const usize,
        attribute_count: usize, eighth: usize, ninth: usize,
    ) {
        let batch = CopyBatch { to, from, sizes, count, attributes, starts, attribute_count };
        // SAFETY: the caller's promise.
        unsafe { copy_batch(batch, eighth, ninth, false) }
    }

    fn cudaMemcpyBatchAsync_ptsz(
        to: *const Ptr, from: *const Ptr, sizes: *const usize, count: usize, attributes: *const c_void, starts: *const usize,
        attribute_count: usize, eighth: usize, ninth: usize,
    ) {
        let batch = CopyBatch { to, from, sizes, count, attributes, starts, attribute_count };
        // SAFETY: the caller's promise.
        unsafe { copy_batch(batch, eighth, ninth, true) }
    }

    fn cudaMemcpyWithAttributesAsync | cudaMemcpyWithAttributesAsync_ptsz in stream (
        to: Ptr, from: Ptr, bytes: usize, _attributes: Ptr, stream: DriverHandle,
    ) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpyAsync(to, from, bytes, stream) })
    }

    fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds (symbol: usize, from: Ptr, bytes: usize, offset: usize, kind: i32) {
        ensure_direction(kind)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpy(place_in(symbol, offset, bytes)?, from, bytes) })
    }

    fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds (
        to: Ptr, symbol: usize, bytes: usize, offset: usize, kind: i32,
    ) {
        ensure_direction(kind)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpy(to, place_in(symbol, offset, bytes)?, bytes) })
    }

    fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz in stream (
        symbol: usize, from: Ptr, bytes: usize, offset: usize, kind: i32, stream: DriverHandle,
    ) {
        ensure_direction(kind)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpyAsync(place_in(symbol, offset, bytes)?, from, bytes, stream) })
    }

    fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz in stream (
        to: Ptr, symbol: usize, bytes: usize, offset: usize, kind: i32, stream: DriverHandle,
    ) {
        ensure_direction(kind)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemcpyAsync(to, place_in(symbol, offset, bytes)?, bytes, stream) })
    }

    fn cudaMemset | cudaMemset_ptds (place: Ptr, value: i32, bytes: usize) {
        ready()?;
        // SAFETY: the driver looks the pointer up.
        done(unsafe { driver::cuMemsetD8_v2(place, value as u8, bytes) })
    }

    fn cudaMemsetAsync | cudaMemsetAsync_ptsz in stream (place: Ptr, value: i32, bytes: usize, stream: DriverHandle) {
        ready()?;
        // SAFETY: the driver looks the pointer up.
        done(unsafe { driver::cuMemsetD8Async(place, value as u8, bytes, stream) })
    }

    fn cudaMemset2D | cudaMemset2D_ptds (place: Ptr, pitch: usize, value: i32, width: usize, height: usize) {
        ready()?;
        // SAFETY: the driver looks the pointer up.
        done(unsafe { driver::cuMemsetD2D8_v2(place, pitch, value as u8, width, height) })
    }

    fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz in stream (
        place: Ptr, pitch: usize, value: i32, width: usize, height: usize, stream: DriverHandle,
    ) {
        ready()?;
        // SAFETY: the driver looks the pointer up.
        done(unsafe { driver::cuMemsetD2D8Async(place, pitch, value as u8, width, height, stream) })
    }

    fn cudaMemset3D | cudaMemset3D_ptds (memory: PitchedPointer, value: i32, extent: CudartExtent) {
        fill_slices(memory, value, extent, None)
    }

    fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz in stream (
        memory: PitchedPointer, value: i32, extent: CudartExtent, stream: DriverHandle,
    ) {
        fill_slices(memory, value, extent, Some(stream))
    }
}
