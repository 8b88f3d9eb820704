//! Memory: getting it, what is known of it, pools.

use super::{own_stream, read, write};
use crate::MAJOR;
use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::{CudartResult, INVALID_VALUE, done, ensure};
use crate::program::variable;
use crate::state::ready;
use std::ffi::c_void;

/// `cudaPitchedPtr`, returned by `cudaMalloc3D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PitchedPointer {
    /// The first byte.
    pub start: Ptr,
    /// The bytes from row to row.
    pub pitch: usize,
    /// The bytes of a row.
    pub width: usize,
    /// The rows.
    pub height: usize,
}

/// `cudaExtent`: size of a 3D allocation.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CudartExtent {
    /// The bytes of a row.
    pub width: usize,
    /// The rows of a slice.
    pub height: usize,
    /// The slices.
    pub depth: usize,
}

/// `cudaChannelFormatDesc`: bits of each component, and their kind.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelFormat {
    /// Bits of each component.
    pub bits: [i32; 4],
    /// Kind of the components.
    pub kind: i32,
}

/// `cudaCreateChannelDesc` of the runtime.
#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: i32) -> ChannelFormat {
    ChannelFormat { bits: [x, y, z, w], kind }
}

/// `cudaPointerAttributes`. CUDA 13 appends reserved fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PointerAttributes {
    kind: i32,
    device: i32,
    of_device: Ptr,
    of_host: Ptr,
}

/// Numbers of attributes of pointers, as the driver has them.
const MEMORY_TYPE: i32 = 2;
const IS_MANAGED: i32 = 8;

/// Kinds of memory: of the host, of the device, of both.
const HOST: i32 = 1;
const MANAGED: i32 = 3;

fn pitched(place: *mut Ptr, pitch: *mut usize, width: usize, height: usize) -> CudartResult<()> {
    ready()?;
    if width == 0 || height == 0 {
        // SAFETY: the caller's promise.
        return unsafe { write(place, std::ptr::null_mut()).and_then(|()| write(pitch, 0)) };
    }
    // SAFETY: as above.
    done(unsafe { driver::cuMemAllocPitch_v2(place, pitch, width, height, 4) })
}

/// Memory of no bytes is a null pointer.
fn get(place: *mut Ptr, bytes: usize, from: impl FnOnce() -> i32) -> CudartResult<()> {
    ready()?;
    if bytes == 0 {
        // SAFETY: the caller's promise.
        return unsafe { write(place, std::ptr::null_mut()) };
    }
    done(from())
}

/// True if the driver does not know the memory. The device accesses all memory of the host, so advice on it is no error.
fn is_pageable(place: *const c_void) -> bool {
    let mut kind = 0i32;
    // SAFETY: the place is there; the driver looks the pointer up.
    unsafe { driver::cuPointerGetAttribute((&raw mut kind).cast(), MEMORY_TYPE, place.cast_mut()) != 0 }
}

/// Advises on memory. A location is a device's number, or a structure of kind and number.
fn advise(
    place: *const c_void,
    bytes: usize,
    advice: i32,
    location: u64,
    is_structure: bool,
) -> CudartResult<()> {
    ensure((1..=6).contains(&advice), INVALID_VALUE)?;
    if is_pageable(place) {
        return Ok(());
    }
    // SAFETY: the driver looks the pointer up.
    done(unsafe {
        match is_structure {
            true => driver::cuMemAdvise_v2(place, bytes, advice, location),
            false => driver::cuMemAdvise(place, bytes, advice, location as i32),
        }
    })
}

/// Prefetches memory to a location as above.
fn prefetch(
    (place, bytes): (*const c_void, usize),
    location: u64,
    is_structure: bool,
    flags: u32,
    stream: DriverHandle,
) -> CudartResult<()> {
    ready()?;
    if is_pageable(place) {
        return Ok(());
    }
    // SAFETY: the driver looks the pointer up.
    done(unsafe {
        match is_structure {
            true => driver::cuMemPrefetchAsync_v2(place, bytes, location, flags, stream),
            false => driver::cuMemPrefetchAsync(place, bytes, location as i32, stream),
        }
    })
}

entries! {
    fn cudaMalloc(place: *mut Ptr, bytes: usize) {
        // SAFETY: the caller's promise.
        get(place, bytes, || unsafe { driver::cuMemAlloc_v2(place, bytes) })
    }

    fn cudaMallocHost(place: *mut Ptr, bytes: usize) {
        // SAFETY: the caller's promise.
        get(place, bytes, || unsafe { driver::cuMemHostAlloc(place, bytes, 0) })
    }

    fn cudaHostAlloc(place: *mut Ptr, bytes: usize, flags: u32) {
        // SAFETY: the caller's promise.
        get(place, bytes, || unsafe { driver::cuMemHostAlloc(place, bytes, flags) })
    }

    fn cudaMallocManaged(place: *mut Ptr, bytes: usize, flags: u32) {
        ready()?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuMemAllocManaged(place, bytes, flags) })
    }

    fn cudaMallocPitch(place: *mut Ptr, pitch: *mut usize, width: usize, height: usize) {
        pitched(place, pitch, width, height)
    }

    fn cudaMalloc3D(place: *mut PitchedPointer, extent: CudartExtent) {
        let (mut start, mut pitch) = (std::ptr::null_mut(), 0);
        let rows = extent.height.saturating_mul(extent.depth);
        pitched(&mut start, &mut pitch, extent.width, rows)?;
        // SAFETY: the caller's promise.
        unsafe { write(place, PitchedPointer { start, pitch, width: extent.width, height: extent.height }) }
    }

    fn cudaFree(place: Ptr) {
        ready()?;
        if place.is_null() {
            return Ok(());
        }
        // SAFETY: the driver looks the pointer up.
        done(unsafe { driver::cuMemFree_v2(place) })
    }

    fn cudaFreeHost(place: Ptr) {
        ready()?;
        if place.is_null() {
            return Ok(());
        }
        // SAFETY: the driver looks the pointer up.
        done(unsafe { driver::cuMemFreeHost(place) })
    }

    fn cudaGetSymbolAddress(place: *mut Ptr, symbol: usize) {
        // SAFETY: the caller's promise.
        unsafe { write(place, variable(symbol)?.0) }
    }

    fn cudaGetSymbolSize(bytes: *mut usize, symbol: usize) {
        // SAFETY: the caller's promise.
        unsafe { write(bytes, variable(symbol)?.1) }
    }

    fn cudaPointerGetAttributes(about: *mut PointerAttributes, pointer: Ptr) {
        ready()?;
        let (mut kind, mut is_managed) = (0i32, 0i32);
        // SAFETY: the places are there; the driver looks the pointer up.
        let is_known = unsafe {
            driver::cuPointerGetAttribute((&raw mut is_managed).cast(), IS_MANAGED, pointer);
            driver::cuPointerGetAttribute((&raw mut kind).cast(), MEMORY_TYPE, pointer) == 0
        };
        let null = std::ptr::null_mut();
        let (kind, device, of_device, of_host) = match (is_known, kind, is_managed != 0) {
            (false, ..) => (0, -2, null, pointer),
            (_, _, true) => (MANAGED, 0, pointer, pointer),
            (_, HOST, _) => (HOST, 0, pointer, pointer),
            (_, kind, _) => (kind, 0, pointer, null),
        };
        // SAFETY: the caller's promise.
        unsafe { write(about, PointerAttributes { kind, device, of_device, of_host }) }?;
        if MAJOR > 12 {
            // SAFETY: as above; after it are places for eight numbers.
            unsafe { about.add(1).cast::<[u64; 8]>().write_unaligned([0; 8]) };
        }
        Ok(())
    }

    fn cudaMemAdvise(place: *const c_void, bytes: usize, advice: i32, location: u64) {
        ready()?;
        advise(place, bytes, advice, location, MAJOR > 12)
    }

    fn cudaMemAdvise_v2(place: *const c_void, bytes: usize, advice: i32, location: u64) {
        ready()?;
        advise(place, bytes, advice, location, true)
    }

    fn cudaMemPrefetchAsync(place: *const c_void, bytes: usize, location: u64, at_flags: usize, after: usize) {
        let (flags, stream) = if MAJOR > 12 { (at_flags as u32, after) } else { (0, at_flags) };
        prefetch((place, bytes), location, MAJOR > 12, flags, stream)
    }

    fn cudaMemPrefetchAsync_ptsz(place: *const c_void, bytes: usize, location: u64, at_flags: usize, after: usize) {
        let (flags, stream) = if MAJOR > 12 { (at_flags as u32, after) } else { (0, at_flags) };
        prefetch((place, bytes), location, MAJOR > 12, flags, own_stream(stream))
    }

    fn cudaMemPrefetchAsync_v2 | cudaMemPrefetchAsync_v2_ptsz in stream (
        place: *const c_void, bytes: usize, location: u64, flags: u32, stream: DriverHandle,
    ) {
        prefetch((place, bytes), location, true, flags, stream)
    }

    fn cudaMemPoolCreate(pool: *mut DriverHandle, about: *const c_void) {
        ready()?;
        // SAFETY: the caller's promise.
        unsafe { read(about.cast::<u8>()) }?;
        // SAFETY: as above.
        done(unsafe { driver::cuMemPoolCreate(pool, about) })
    }

    fn cudaMallocAsync | cudaMallocAsync_ptsz in stream (place: *mut Ptr, bytes: usize, stream: DriverHandle) {
        // SAFETY: the caller's promise.
        get(place, bytes, || unsafe { driver::cuMemAllocAsync(place, bytes, stream) })
    }

    fn cudaFreeAsync | cudaFreeAsync_ptsz in stream (place: Ptr, stream: DriverHandle) {
        ready()?;
        if place.is_null() {
            return Ok(());
        }
        // SAFETY: the driver looks the pointer up.
        done(unsafe { driver::cuMemFreeAsync(place, stream) })
    }
}

forward! {
    fn cudaHostGetDevicePointer(place: *mut Ptr, host: Ptr, flags: u32) => cuMemHostGetDevicePointer_v2;
    fn cudaHostGetFlags(flags: *mut u32, host: Ptr) => cuMemHostGetFlags;
    fn cudaHostRegister(host: Ptr, bytes: usize, flags: u32) => cuMemHostRegister_v2;
    fn cudaHostUnregister(host: Ptr) => cuMemHostUnregister;
    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) => cuMemGetInfo_v2;
    fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz in stream (
        place: *mut Ptr, bytes: usize, pool: DriverHandle, stream: DriverHandle,
    ) => cuMemAllocFromPoolAsync;
    fn cudaMemRangeGetAttribute(
        data: Ptr, size: usize, number: i32, place: *const c_void, bytes: usize,
    ) => cuMemRangeGetAttribute;
    fn cudaMemRangeGetAttributes(
        data: *const Ptr, sizes: *const usize, numbers: *const i32, count: usize, place: *const c_void, bytes: usize,
    ) => cuMemRangeGetAttributes;
    fn cudaMemPoolDestroy(pool: DriverHandle) => cuMemPoolDestroy;
    fn cudaMemPoolSetAttribute(pool: DriverHandle, number: i32, value: Ptr) => cuMemPoolSetAttribute;
    fn cudaMemPoolGetAttribute(pool: DriverHandle, number: i32, value: Ptr) => cuMemPoolGetAttribute;
    fn cudaMemPoolTrimTo(pool: DriverHandle, bytes: usize) => cuMemPoolTrimTo;
    fn cudaMemPoolSetAccess(pool: DriverHandle, list: *const c_void, count: usize) => cuMemPoolSetAccess;
    fn cudaMemPoolGetAccess(flags: *mut i32, pool: DriverHandle, place: *const c_void) => cuMemPoolGetAccess;
}
