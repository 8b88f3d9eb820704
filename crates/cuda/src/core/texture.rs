//! CUDA arrays, and the descriptors of texture and surface objects.
//!
//! An array is host memory without gaps. The handle of a texture or surface object is the address of its descriptor, which
//! kernels read (`crates/builtins/cl/texture.cl`).

use crate::attributes::{AddressMode, ArrayFormat};
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::memory::{self, AllocationKind};
use crate::core::registry::HandleTable;
use crate::cuda::*;
use heddle_builtins::texel::{ComponentOrder, ImageDescriptor, TexelKind, TextureDescriptor, srgb_table};
use heddle_runtime::{DescriptorFields, SamplingModes, descriptor_offsets};
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const _: () = assert!(offset_of!(TextureDescriptor, image) == 0);
const _: () = assert!(offset_of!(TextureDescriptor, samplers) == descriptor_offsets::SAMPLERS);
const _: () = assert!(offset_of!(TextureDescriptor, has_border) == descriptor_offsets::HAS_BORDER);
const _: () = assert!(offset_of!(TextureDescriptor, is_float) == descriptor_offsets::IS_FLOAT);

/// Maximum width of textures of linear memory.
pub const MOST_LINEAR: usize = 1 << 27;
/// Maximum width and height of arrays with at most two dimensions, and maximum size of volumes.
pub const MOST_PLANE: usize = 131_072;
/// See [`MOST_PLANE`].
pub const MOST_VOLUME: usize = 16384;
/// Maximum number of layers.
pub const MOST_LAYERS: usize = 2048;

/// Flags of arrays that are supported.
const KNOWN_FLAGS: u32 = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER;

/// Format of texels: `CUarray_format`, and the number of channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TexelFormat {
    /// `CU_AD_FORMAT_…`.
    pub format: u32,
    /// Channels: 1, 2 or 4.
    pub channels: u32,
}

impl TexelFormat {
    /// Returns how channels are stored; integers as integers.
    fn kind(self) -> CudaResult<TexelKind> {
        ensure(matches!(self.channels, 1 | 2 | 4), CUDA_ERROR_INVALID_VALUE)?;
        let Some(format) = ArrayFormat::from_number(self.format) else {
            // Block-compressed, planar and normalized formats.
            let is_known = matches!(self.format, 0xb0..=0xb2 | 0x91..=0x9f | 0xc0..=0xcb);
            return Err(CudaError(if is_known {
                CUDA_ERROR_NOT_SUPPORTED
            } else {
                CUDA_ERROR_INVALID_VALUE
            }));
        };
        Ok(match format {
            ArrayFormat::UnsignedInt8 => TexelKind::Uint8,
            ArrayFormat::UnsignedInt16 => TexelKind::Uint16,
            ArrayFormat::UnsignedInt32 => TexelKind::Uint32,
            ArrayFormat::SignedInt8 => TexelKind::Sint8,
            ArrayFormat::SignedInt16 => TexelKind::Sint16,
            ArrayFormat::SignedInt32 => TexelKind::Sint32,
            ArrayFormat::Half => TexelKind::Half,
            ArrayFormat::Float => TexelKind::Float,
        })
    }

    /// Returns the bytes of a texel.
    pub fn bytes(self) -> CudaResult<usize> {
        Ok(self.kind()?.bytes() * self.channels as usize)
    }
}

/// Texels in memory: start, format, shape.
#[derive(Clone, Copy, Debug)]
pub struct TexelMemory {
    /// Address of the first texel.
    pub start: u64,
    /// Format.
    pub format: TexelFormat,
    /// Width, height and depth; 1 along dimensions that it lacks.
    pub size: [usize; 3],
    /// Layers; 1 without any.
    pub layers: usize,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Bytes from slice to slice.
    pub slice: usize,
}

/// CUDA array.
#[derive(Debug)]
pub struct CudaArray {
    /// Its texels.
    pub memory: TexelMemory,
    /// Width, height and depth as the application gave them.
    pub extent: [usize; 3],
    /// Flags.
    pub flags: u32,
}

/// All arrays.
pub static ARRAYS: HandleTable<CudaArray> = HandleTable::new();

impl CudaArray {
    /// Creates an array.
    pub fn create(extent: [usize; 3], format: TexelFormat, flags: u32) -> CudaResult<CudaHandle> {
        let bytes = format.bytes()?;
        ensure(flags & !KNOWN_FLAGS == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        let [width, height, depth] = extent;
        let is_layered = flags & CUDA_ARRAY3D_LAYERED != 0;
        ensure(width > 0 && (!is_layered || depth > 0), CUDA_ERROR_INVALID_VALUE)?;
        ensure(is_layered || depth == 0 || height > 0, CUDA_ERROR_INVALID_VALUE)?;
        let most = if depth > 0 && !is_layered { MOST_VOLUME } else { MOST_PLANE };
        ensure(width <= most && height <= most && depth <= most, CUDA_ERROR_INVALID_VALUE)?;
        ensure(!is_layered || depth <= MOST_LAYERS, CUDA_ERROR_INVALID_VALUE)?;
        let (slices, layers) = if is_layered { (1, depth) } else { (depth.max(1), 1) };
        let (rows, pitch) = (height.max(1), width * bytes);
        let slice = pitch.checked_mul(rows).ok_or(CudaError(CUDA_ERROR_OUT_OF_MEMORY))?;
        let all = slice.checked_mul(slices.max(layers)).ok_or(CudaError(CUDA_ERROR_OUT_OF_MEMORY))?;
        // Kernels compute offsets of rows in 32 bits.
        ensure(i32::try_from(all).is_ok(), CUDA_ERROR_OUT_OF_MEMORY)?;
        let start = memory::allocate(all, AllocationKind::Array, 0)?;
        let memory = TexelMemory { start, format, size: [width, rows, slices], layers, pitch, slice };
        Ok(ARRAYS.publish(Arc::new(CudaArray { memory, extent, flags })))
    }

    /// Destroys an array.
    pub fn destroy(handle: CudaHandle) -> CudaResult<()> {
        let array = ARRAYS.remove(handle)?;
        memory::free(array.memory.start, |kind| kind == AllocationKind::Array)
    }
}

/// Reading of texels: modes of `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug)]
pub struct TextureModes {
    /// `CU_TR_ADDRESS_MODE_…` along each dimension.
    pub addressing: [u32; 3],
    /// True for linear filters.
    pub is_linear: bool,
    /// True if integers stay integers.
    pub is_integer: bool,
    /// True if coordinates are from 0 to 1.
    pub is_normalized: bool,
    /// True if bytes are sRGB.
    pub is_srgb: bool,
    /// Border color.
    pub border: [f32; 4],
}

/// Resource and modes as the application gave them.
pub type ObjectDescriptions = ([u64; 18], Option<[u32; 26]>);

/// Descriptor and descriptions of a live texture or surface object.
#[derive(Debug)]
struct TextureObject {
    descriptor: Box<TextureDescriptor>,
    descriptions: ObjectDescriptions,
}

/// Returns the fields of a live object's descriptor that code may know.
pub fn fields_of(handle: u64) -> Option<DescriptorFields> {
    let objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    let TextureDescriptor { image, samplers, has_border, is_float, .. } = *objects.get(&handle)?.descriptor;
    let modes = SamplingModes { samplers, has_border: has_border != 0, is_float: is_float != 0 };
    Some(DescriptorFields { layout: image.layout, order: image.order, modes: Some(modes) })
}

static OBJECTS: Mutex<BTreeMap<u64, TextureObject>> = Mutex::new(BTreeMap::new());

fn address_of<T: ?Sized>(object: &T) -> u64 {
    (&raw const *object).cast::<u8>().expose_provenance() as u64
}

/// Returns memory for accesses outside of surfaces: zeros to read, and bytes to write.
fn outside() -> [u64; 2] {
    static OUTSIDE: OnceLock<[u64; 2]> = OnceLock::new();
    *OUTSIDE.get_or_init(|| {
        let zeros: &'static [u64; 2] = Box::leak(Box::new([0; 2]));
        let sink: &'static mut [u64; 2] = Box::leak(Box::new([0; 2]));
        let places = [address_of(zeros), (&raw mut *sink).expose_provenance() as u64];
        places.iter().for_each(|&place| memory::note_variable(place as usize, 16));
        memory::note_variable(address_of(srgb_table()) as usize, 1024);
        places
    })
}

const CLAMP_TO_EDGE: u32 = 2;
const CLAMP: u32 = 4;
const REPEAT: u32 = 6;
const MIRRORED: u32 = 8;

/// Returns the sampler along a dimension: bits of OpenCL C's `CLK_…`.
fn sampler(addressing: u32, modes: &TextureModes) -> CudaResult<u32> {
    let addressing = AddressMode::from_number(addressing).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
    let mode = match (addressing, modes.is_normalized) {
        (AddressMode::Wrap, true) => REPEAT,
        (AddressMode::Mirror, true) => MIRRORED,
        // Coordinates that are not normalized neither wrap nor mirror.
        (AddressMode::Wrap | AddressMode::Clamp | AddressMode::Mirror, _) => CLAMP_TO_EDGE,
        (AddressMode::Border, _) => CLAMP,
    };
    Ok(mode | if modes.is_linear { 0x20 } else { 0x10 } | u32::from(modes.is_normalized))
}

/// Creates a texture object.
pub fn create_texture(
    texels: &TexelMemory,
    is_linear_memory: bool,
    modes: &TextureModes,
    descriptions: ObjectDescriptions,
) -> CudaResult<u64> {
    use TexelKind::*;
    let stored = texels.format.kind()?;
    let kind = match stored {
        Uint8 if modes.is_srgb && !modes.is_integer && texels.format.channels == 4 => Srgb8,
        Uint8 if !modes.is_integer => Unorm8,
        Sint8 if !modes.is_integer => Snorm8,
        Uint16 if !modes.is_integer => Unorm16,
        Sint16 if !modes.is_integer => Snorm16,
        stored => stored,
    };
    // Filters weigh floats only.
    ensure(!modes.is_linear || !kind.is_int(), CUDA_ERROR_INVALID_VALUE)?;
    let modes = match is_linear_memory {
        // Reads outside of linear memory return zeros.
        true => TextureModes {
            addressing: [AddressMode::Border as u32; 3],
            border: [0.0; 4],
            is_linear: false,
            ..*modes
        },
        false => *modes,
    };
    let mut samplers = [0; 3];
    for (bits, &addressing) in samplers.iter_mut().zip(&modes.addressing) {
        *bits = sampler(addressing, &modes)?;
    }
    create(texels, kind, &modes, samplers, descriptions)
}

/// Creates a surface object.
pub fn create_surface(array: &CudaArray, resource: [u64; 18]) -> CudaResult<u64> {
    let modes = TextureModes {
        addressing: [AddressMode::Clamp as u32; 3],
        is_linear: false,
        is_integer: true,
        is_normalized: false,
        is_srgb: false,
        border: [0.0; 4],
    };
    create(&array.memory, array.memory.format.kind()?, &modes, [CLAMP_TO_EDGE | 0x10; 3], (resource, None))
}

fn create(
    texels: &TexelMemory,
    kind: TexelKind,
    modes: &TextureModes,
    samplers: [u32; 3],
    descriptions: ObjectDescriptions,
) -> CudaResult<u64> {
    let small = |value: usize| i32::try_from(value).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE));
    let [zeros, sink] = outside();
    let image = ImageDescriptor {
        data: texels.start,
        texels: texels.start,
        srgb: address_of(srgb_table()),
        row_pitch: i32::try_from(texels.pitch).unwrap_or(i32::MAX),
        slice_pitch: i32::try_from(texels.slice).unwrap_or(i32::MAX),
        size: [small(texels.size[0])?, small(texels.size[1])?, small(texels.size[2])?],
        layers: small(texels.layers)?,
        layout: kind.code(texels.format.channels),
        order: ComponentOrder::InOrder as i32,
        border_alpha: 0.0,
        channel_type: texels.format.format,
        channel_order: texels.format.channels,
    };
    let descriptor = Box::new(TextureDescriptor {
        image,
        samplers,
        border: modes.border,
        has_border: i32::from(modes.addressing.contains(&3)),
        is_float: i32::from(!kind.is_int()),
        texel_bytes: small(texels.format.bytes()?)?,
        zeros,
        sink,
    });
    let handle = address_of(&*descriptor);
    memory::note_variable(handle as usize, size_of::<TextureDescriptor>() as u64);
    let mut objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    objects.insert(handle, TextureObject { descriptor, descriptions });
    Ok(handle)
}

/// Destroys a texture (`is_texture`) or surface object.
pub fn destroy_object(handle: u64, is_texture: bool) -> CudaResult<()> {
    let mut objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = objects.get(&handle).is_some_and(|object| object.descriptions.1.is_some() == is_texture);
    ensure(found, CUDA_ERROR_INVALID_VALUE)?;
    if let Some(object) = objects.remove(&handle) {
        memory::forget_variable(address_of(&*object.descriptor) as usize);
    }
    Ok(())
}

/// Returns the descriptions of a texture (`is_texture`) or surface object.
pub fn descriptions(handle: u64, is_texture: bool) -> CudaResult<ObjectDescriptions> {
    let objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    let object = objects.get(&handle).filter(|object| object.descriptions.1.is_some() == is_texture);
    object.map(|object| object.descriptions).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
}
