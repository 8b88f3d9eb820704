//! Arrays, texture objects and surface objects.

use super::pointer::{CudaInput, CudaOutput};
use crate::core::context;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::memory::{ensure_range, find};
use crate::core::stream::CudaStream;
use crate::core::texture::{
    ARRAYS, CudaArray, MOST_LINEAR, TexelFormat, TexelMemory, TextureModes, create_surface, create_texture,
    descriptions, destroy_object,
};
use crate::cuda::*;
use std::ffi::c_void;

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ArrayDescription {
    width: usize,
    height: usize,
    format: u32,
    channels: u32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ArrayDescription3d {
    extent: [usize; 3],
    format: u32,
    channels: u32,
    flags: u32,
}

/// `CUDA_RESOURCE_DESC` in words of 64 bits: the kind, and what it says of the memory.
type ResourceDescription = [u64; 18];
/// `CUDA_TEXTURE_DESC` in words of 32 bits.
type TextureDescription = [u32; 26];

/// Kinds of resources.
const ARRAY: u32 = 0;
const MIPMAPPED: u32 = 1;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;

fn array_of(resource: &ResourceDescription) -> CudaResult<std::sync::Arc<CudaArray>> {
    ARRAYS.find(resource[1]).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
}

fn texels_of(resource: &ResourceDescription) -> CudaResult<TexelMemory> {
    let format = TexelFormat { format: resource[2] as u32, channels: (resource[2] >> 32) as u32 };
    match resource[0] as u32 {
        ARRAY => Ok(array_of(resource)?.memory),
        MIPMAPPED => Err(CudaError(CUDA_ERROR_NOT_SUPPORTED)),
        LINEAR => {
            let (start, bytes) = (resource[1], resource[3] as usize);
            ensure_range(start, bytes)?;
            let width = bytes / format.bytes()?;
            ensure((1..=MOST_LINEAR).contains(&width), CUDA_ERROR_INVALID_VALUE)?;
            Ok(TexelMemory { start, format, size: [width, 1, 1], layers: 1, pitch: bytes, slice: bytes })
        }
        PITCHED => {
            let [start, _, width, height, pitch] = [1, 2, 3, 4, 5].map(|word| resource[word]);
            let (width, height, pitch) = (width as usize, height as usize, pitch as usize);
            let row = width.checked_mul(format.bytes()?).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
            ensure(width > 0 && height > 0 && pitch >= row, CUDA_ERROR_INVALID_VALUE)?;
            let rows = (height - 1).checked_mul(pitch).and_then(|rows| rows.checked_add(row));
            let bytes = rows.filter(|&bytes| i32::try_from(bytes).is_ok());
            ensure_range(start, bytes.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?)?;
            ensure(find(start).is_some(), CUDA_ERROR_INVALID_VALUE)?;
            Ok(TexelMemory { start, format, size: [width, height, 1], layers: 1, pitch, slice: 0 })
        }
        _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
    }
}

fn modes_of(texture: &TextureDescription) -> CudaResult<TextureModes> {
    ensure(texture[3] <= 1, CUDA_ERROR_INVALID_VALUE)?;
    let flags = texture[4];
    Ok(TextureModes {
        addressing: [texture[0], texture[1], texture[2]],
        is_linear: texture[3] == 1,
        is_integer: flags & CU_TRSF_READ_AS_INTEGER != 0,
        is_normalized: flags & CU_TRSF_NORMALIZED_COORDINATES != 0,
        is_srgb: flags & CU_TRSF_SRGB != 0,
        border: [10, 11, 12, 13].map(|word| f32::from_bits(texture[word])),
    })
}

entries! {
    fn cuArrayCreate_v2(array: CudaOutput<CudaHandle>, description: CudaInput<ArrayDescription>) {
        context::ensure_initialized()?;
        array.ensure()?;
        let ArrayDescription { width, height, format, channels } = description.read()?;
        array.write(CudaArray::create([width, height, 0], TexelFormat { format, channels }, 0)?)
    }

    fn cuArray3DCreate_v2(array: CudaOutput<CudaHandle>, description: CudaInput<ArrayDescription3d>) {
        context::ensure_initialized()?;
        array.ensure()?;
        let ArrayDescription3d { extent, format, channels, flags } = description.read()?;
        array.write(CudaArray::create(extent, TexelFormat { format, channels }, flags)?)
    }

    fn cuArrayGetDescriptor_v2(description: CudaOutput<ArrayDescription>, array: CudaHandle) {
        let array = ARRAYS.find(array)?;
        let TexelFormat { format, channels } = array.memory.format;
        description.write(ArrayDescription { width: array.extent[0], height: array.extent[1], format, channels })
    }

    fn cuArray3DGetDescriptor_v2(description: CudaOutput<ArrayDescription3d>, array: CudaHandle) {
        let array = ARRAYS.find(array)?;
        let TexelFormat { format, channels } = array.memory.format;
        description.write(ArrayDescription3d { extent: array.extent, format, channels, flags: array.flags })
    }

    fn cuArrayDestroy(array: CudaHandle) {
        context::ensure_initialized()?;
        // Streams may still use the memory.
        CudaStream::synchronize_all();
        CudaArray::destroy(array)
    }

    fn cuTexObjectCreate(
        object: CudaOutput<u64>, resource: CudaInput<ResourceDescription>, texture: CudaInput<TextureDescription>,
        view: CudaInput<c_void>,
    ) {
        context::ensure_initialized()?;
        object.ensure()?;
        let (resource, texture) = (resource.read()?, texture.read()?);
        // Views reinterpret formats or choose levels of mipmaps.
        ensure(view.address() == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        let (texels, modes) = (texels_of(&resource)?, modes_of(&texture)?);
        let is_linear_memory = resource[0] as u32 == LINEAR;
        object.write(create_texture(&texels, is_linear_memory, &modes, (resource, Some(texture)))?)
    }

    fn cuTexObjectDestroy(object: u64) {
        context::ensure_initialized()?;
        CudaStream::synchronize_all();
        destroy_object(object, true)
    }

    fn cuTexObjectGetResourceDesc(resource: CudaOutput<ResourceDescription>, object: u64) {
        resource.write(descriptions(object, true)?.0)
    }

    fn cuTexObjectGetTextureDesc(texture: CudaOutput<TextureDescription>, object: u64) {
        texture.write(descriptions(object, true)?.1.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?)
    }

    fn cuSurfObjectCreate(object: CudaOutput<u64>, resource: CudaInput<ResourceDescription>) {
        context::ensure_initialized()?;
        object.ensure()?;
        let resource = resource.read()?;
        ensure(resource[0] as u32 == ARRAY, CUDA_ERROR_INVALID_VALUE)?;
        object.write(create_surface(&*array_of(&resource)?, resource)?)
    }

    fn cuSurfObjectDestroy(object: u64) {
        context::ensure_initialized()?;
        CudaStream::synchronize_all();
        destroy_object(object, false)
    }

    fn cuSurfObjectGetResourceDesc(resource: CudaOutput<ResourceDescription>, object: u64) {
        resource.write(descriptions(object, false)?.0)
    }
}
