//! Arrays, texture objects and surface objects.

use super::memory::{ChannelFormat, CudartExtent};
use super::{read, write};
use crate::MAJOR;
use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::{CudartError, CudartResult, INVALID_VALUE, NOT_SUPPORTED, done, ensure};
use crate::state::ready;

/// `cudaErrorInvalidChannelDescriptor`.
const INVALID_CHANNELS: i32 = 20;

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct DriverArray {
    extent: CudartExtent,
    format: u32,
    channels: u32,
    flags: u32,
}

/// `cudaResourceDesc` in words of 64 bits, without the fields that CUDA 13 appends.
type Resource = [u64; 8];
/// `CUDA_RESOURCE_DESC` in words of 64 bits.
type DriverResource = [u64; 18];

/// `cudaTextureDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CudartTextureModes {
    addressing: [u32; 3],
    filter: u32,
    read_mode: u32,
    is_srgb: i32,
    border: [u32; 4],
    is_normalized: i32,
    anisotropy: u32,
    mipmap_filter: u32,
    level_bias: u32,
    levels: [u32; 2],
    lacks_trilinear: i32,
    is_seamless: i32,
}

/// Kinds of resources.
const ARRAY: u32 = 0;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;

/// Kinds of channels (`cudaChannelFormatKind`).
const SIGNED: i32 = 0;
const UNSIGNED: i32 = 1;
const FLOAT: i32 = 2;

/// Kind and bits of a channel, and the driver's format (`CUarray_format`).
const FORMATS: [(i32, i32, u32); 8] = [
    (UNSIGNED, 8, 1),
    (UNSIGNED, 16, 2),
    (UNSIGNED, 32, 3),
    (SIGNED, 8, 8),
    (SIGNED, 16, 9),
    (SIGNED, 32, 10),
    (FLOAT, 16, 0x10),
    (FLOAT, 32, 0x20),
];

/// Returns format and channels as the driver numbers them.
fn driver_format(channels: ChannelFormat) -> CudartResult<(u32, u32)> {
    let wrong = CudartError(INVALID_CHANNELS);
    let width = channels.bits[0];
    let count = channels.bits.iter().take_while(|&&bits| bits != 0).count();
    let alike = channels.bits[..count].iter().all(|&bits| bits == width);
    if !alike || channels.bits[count..].iter().any(|&bits| bits != 0) || !matches!(count, 1 | 2 | 4) {
        return Err(wrong);
    }
    match FORMATS.iter().find(|(kind, bits, _)| (*kind, *bits) == (channels.kind, width)) {
        Some(&(_, _, format)) => Ok((format, count as u32)),
        None if (SIGNED..=FLOAT).contains(&channels.kind) => Err(wrong),
        None => Err(CudartError(NOT_SUPPORTED)),
    }
}

/// Returns the channels of a driver's format.
fn channels_of(format: u32, count: u32) -> ChannelFormat {
    let found = FORMATS.iter().find(|(_, _, number)| *number == format);
    let (kind, bits) = found.map_or((FLOAT, 32), |&(kind, bits, _)| (kind, bits));
    let mut all = [0; 4];
    all[..count.min(4) as usize].fill(bits);
    ChannelFormat { bits: all, kind }
}

fn channels_at(resource: &Resource) -> ChannelFormat {
    let [low, high, kind] = [resource[2], resource[3], resource[4]];
    let halves = |word: u64| [word as i32, (word >> 32) as i32];
    let ([x, y], [z, w]) = (halves(low), halves(high));
    ChannelFormat { bits: [x, y, z, w], kind: kind as i32 }
}

/// Returns a resource as the driver takes it.
fn driver_resource(resource: &Resource) -> CudartResult<DriverResource> {
    let mut all = [0; 18];
    all[0] = resource[0] & 0xffff_ffff;
    all[1] = resource[1];
    let kind = all[0] as u32;
    if matches!(kind, LINEAR | PITCHED) {
        let (format, count) = driver_format(channels_at(resource))?;
        all[2] = u64::from(format) | u64::from(count) << 32;
        all[3..6].copy_from_slice(&resource[5..8]);
    }
    Ok(all)
}

/// Returns a resource as programs see it.
fn resource_of_driver(all: &DriverResource) -> Resource {
    let mut resource = [0; 8];
    resource[..2].copy_from_slice(&all[..2]);
    if matches!(all[0] as u32, LINEAR | PITCHED) {
        let ChannelFormat { bits: [x, y, z, w], kind } = channels_of(all[2] as u32, (all[2] >> 32) as u32);
        let pair = |low: i32, high: i32| u64::from(low as u32) | u64::from(high as u32) << 32;
        resource[2..5].copy_from_slice(&[pair(x, y), pair(z, w), pair(kind, 0)]);
        resource[5..8].copy_from_slice(&all[3..6]);
    }
    resource
}

/// Writes a resource, and zeros into the fields that CUDA 13 appends.
///
/// # Safety
/// The place is there, or null.
unsafe fn write_resource(place: *mut Resource, all: &DriverResource) -> CudartResult<()> {
    // SAFETY: the caller's promise.
    unsafe { write(place, resource_of_driver(all)) }?;
    if MAJOR > 12 {
        // SAFETY: as above; after it are reserved words of the structure.
        unsafe { place.add(1).cast::<[u64; 10]>().write_unaligned([0; 10]) };
    }
    Ok(())
}

/// Returns the modes of a texture as programs see them. Texels that do not stay integers are read as normalized floats.
fn modes_of_driver(all: &[u32; 26], resource: &DriverResource) -> CudartResult<CudartTextureModes> {
    let (is_narrow, _) = integers_of(resource)?;
    let has = |bit: u32| all[4] >> bit & 1;
    Ok(CudartTextureModes {
        addressing: [all[0], all[1], all[2]],
        filter: all[3],
        read_mode: u32::from(is_narrow && has(0) == 0),
        is_srgb: has(4) as i32,
        border: [all[10], all[11], all[12], all[13]],
        is_normalized: has(1) as i32,
        anisotropy: all[5],
        mipmap_filter: all[6],
        level_bias: all[7],
        levels: [all[8], all[9]],
        lacks_trilinear: has(5) as i32,
        is_seamless: has(6) as i32,
    })
}

/// Returns the resource of a texture object.
fn resource_of(object: u64) -> CudartResult<DriverResource> {
    ready()?;
    let mut all: DriverResource = [0; 18];
    // SAFETY: the place is there; the driver looks the handle up.
    done(unsafe { driver::cuTexObjectGetResourceDesc(all.as_mut_ptr().cast(), object) })?;
    Ok(all)
}

/// Returns the bytes of a texel of an array.
pub(super) fn texel_bytes(array: DriverHandle) -> CudartResult<usize> {
    let array = array_of(array)?;
    let bytes = channels_of(array.format, array.channels).bits.iter().sum::<i32>() / 8;
    Ok(bytes as usize)
}

/// Returns the texels of a row of an array.
pub(super) fn array_width(array: DriverHandle) -> CudartResult<usize> {
    Ok(array_of(array)?.extent.width)
}

fn array_of(array: DriverHandle) -> CudartResult<DriverArray> {
    let extent = CudartExtent { width: 0, height: 0, depth: 0 };
    let mut description = DriverArray { extent, format: 0, channels: 0, flags: 0 };
    // SAFETY: the place is there; the driver looks the handle up.
    done(unsafe { driver::cuArray3DGetDescriptor_v2((&raw mut description).cast(), array) })?;
    Ok(description)
}

/// # Safety
/// The places are there, or null.
unsafe fn allocate(
    array: *mut DriverHandle,
    channels: *const ChannelFormat,
    extent: CudartExtent,
    flags: u32,
) -> CudartResult<()> {
    ready()?;
    // SAFETY: the caller's promise.
    let (format, count) = driver_format(unsafe { read(channels) }?)?;
    let description = DriverArray { extent, format, channels: count, flags };
    // SAFETY: the caller's promise.
    done(unsafe { driver::cuArray3DCreate_v2(array, (&raw const description).cast()) })
}

/// True if texels of a resource are integers of 8 or 16 bits, or of 32 bits.
fn integers_of(resource: &DriverResource) -> CudartResult<(bool, bool)> {
    let format = match resource[0] as u32 {
        ARRAY => array_of(resource[1] as DriverHandle)?.format,
        _ => resource[2] as u32,
    };
    Ok((matches!(format, 1 | 2 | 8 | 9), matches!(format, 3 | 10)))
}

entries! {
    fn cudaMallocArray(
        array: *mut DriverHandle, channels: *const ChannelFormat, width: usize, height: usize, flags: u32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { allocate(array, channels, CudartExtent { width, height, depth: 0 }, flags) }
    }

    fn cudaMalloc3DArray(
        array: *mut DriverHandle, channels: *const ChannelFormat, extent: CudartExtent, flags: u32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { allocate(array, channels, extent, flags) }
    }

    fn cudaFreeArray(array: DriverHandle) {
        ready()?;
        if array == 0 {
            return Ok(());
        }
        // SAFETY: the driver looks the handle up.
        done(unsafe { driver::cuArrayDestroy(array) })
    }

    fn cudaArrayGetInfo(
        channels: *mut ChannelFormat, extent: *mut CudartExtent, flags: *mut u32, array: DriverHandle,
    ) {
        ready()?;
        let description = array_of(array)?;
        if !channels.is_null() {
            // SAFETY: the caller's promise.
            unsafe { write(channels, channels_of(description.format, description.channels)) }?;
        }
        if !extent.is_null() {
            // SAFETY: the caller's promise.
            unsafe { write(extent, description.extent) }?;
        }
        if !flags.is_null() {
            // SAFETY: the caller's promise.
            unsafe { write(flags, description.flags) }?;
        }
        Ok(())
    }

    fn cudaGetChannelDesc(channels: *mut ChannelFormat, array: DriverHandle) {
        ready()?;
        let description = array_of(array)?;
        // SAFETY: the caller's promise.
        unsafe { write(channels, channels_of(description.format, description.channels)) }
    }

    fn cudaCreateTextureObject(
        object: *mut u64, resource: *const Resource, modes: *const CudartTextureModes, view: Ptr,
    ) {
        ready()?;
        ensure(view.is_null(), NOT_SUPPORTED)?;
        // SAFETY: the caller's promise.
        let (resource, modes) = unsafe { (read(resource)?, read(modes)?) };
        let resource = driver_resource(&resource)?;
        let mut all = [0u32; 26];
        let (is_narrow, is_wide) = integers_of(&resource)?;
        // Integers of 32 bits have no normalized floats.
        ensure(modes.read_mode == 0 || !is_wide, INVALID_VALUE)?;
        let stays = modes.read_mode == 0 && (is_narrow || is_wide);
        let is_normalized = modes.is_normalized != 0;
        let is_srgb = modes.is_srgb != 0;
        all[..3].copy_from_slice(&modes.addressing);
        all[3] = modes.filter;
        all[4] = u32::from(stays) | u32::from(is_normalized) << 1 | u32::from(is_srgb) << 4;
        all[4] |= u32::from(modes.lacks_trilinear != 0) << 5 | u32::from(modes.is_seamless != 0) << 6;
        all[5] = modes.anisotropy;
        all[6] = modes.mipmap_filter;
        all[7] = modes.level_bias;
        all[8..10].copy_from_slice(&modes.levels);
        all[10..14].copy_from_slice(&modes.border);
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuTexObjectCreate(object, resource.as_ptr().cast(), all.as_ptr().cast(), view) })
    }

    fn cudaDestroyTextureObject(object: u64) {
        ready()?;
        // SAFETY: the driver looks the handle up.
        done(unsafe { driver::cuTexObjectDestroy(object) })
    }

    fn cudaGetTextureObjectResourceDesc(resource: *mut Resource, object: u64) {
        // SAFETY: the caller's promise.
        unsafe { write_resource(resource, &resource_of(object)?) }
    }

    fn cudaGetTextureObjectTextureDesc(modes: *mut CudartTextureModes, object: u64) {
        let resource = resource_of(object)?;
        let mut all = [0u32; 26];
        // SAFETY: the place is there; the driver looks the handle up.
        done(unsafe { driver::cuTexObjectGetTextureDesc(all.as_mut_ptr().cast(), object) })?;
        // SAFETY: the caller's promise.
        unsafe { write(modes, modes_of_driver(&all, &resource)?) }
    }

    fn cudaGetSurfaceObjectResourceDesc(resource: *mut Resource, object: u64) {
        ready()?;
        let mut all: DriverResource = [0; 18];
        // SAFETY: the place is there; the driver looks the handle up.
        done(unsafe { driver::cuSurfObjectGetResourceDesc(all.as_mut_ptr().cast(), object) })?;
        // SAFETY: the caller's promise.
        unsafe { write_resource(resource, &all) }
    }

    fn cudaCreateSurfaceObject(object: *mut u64, resource: *const Resource) {
        ready()?;
        // SAFETY: the caller's promise.
        let resource = driver_resource(&unsafe { read(resource) }?)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuSurfObjectCreate(object, resource.as_ptr().cast()) })
    }

    fn cudaDestroySurfaceObject(object: u64) {
        ready()?;
        // SAFETY: the driver looks the handle up.
        done(unsafe { driver::cuSurfObjectDestroy(object) })
    }
}
