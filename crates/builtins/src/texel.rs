//! Descriptors of images and textures in memory, as `cl/texel.h` and `cl/texture.cl` read them.

use std::sync::OnceLock;

/// True if a function of this name is one of the library that accesses images or textures.
pub fn accesses_images(name: &str) -> bool {
    ["heddle.image.", "heddle.texture."].iter().any(|prefix| name.starts_with(prefix))
}

/// Encoding of a channel, or of a whole texel if its channels are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum TexelKind {
    Unorm8,
    Snorm8,
    Unorm16,
    Snorm16,
    Half,
    Float,
    Srgb8,
    Sint8,
    Sint16,
    Sint32,
    Uint8,
    Uint16,
    Uint32,
    Packed565,
    Packed555,
    Packed101010,
    Packed101010A2,
}

impl TexelKind {
    /// All kinds, by name.
    pub const NAMED: [(&'static str, TexelKind); 17] = [
        ("unorm8", TexelKind::Unorm8),
        ("snorm8", TexelKind::Snorm8),
        ("unorm16", TexelKind::Unorm16),
        ("snorm16", TexelKind::Snorm16),
        ("half", TexelKind::Half),
        ("float", TexelKind::Float),
        ("srgb8", TexelKind::Srgb8),
        ("sint8", TexelKind::Sint8),
        ("sint16", TexelKind::Sint16),
        ("sint32", TexelKind::Sint32),
        ("uint8", TexelKind::Uint8),
        ("uint16", TexelKind::Uint16),
        ("uint32", TexelKind::Uint32),
        ("565", TexelKind::Packed565),
        ("555", TexelKind::Packed555),
        ("101010", TexelKind::Packed101010),
        ("101010_2", TexelKind::Packed101010A2),
    ];

    /// Returns the number by which kernels know texels of so many channels: 1, 2 or 4.
    pub fn code(self, channels: u32) -> i32 {
        self as i32 * 4 + channels.ilog2() as i32
    }

    /// Returns the bytes of a channel, or of a texel with packed channels.
    pub fn bytes(self) -> usize {
        use TexelKind::*;
        match self {
            Unorm8 | Snorm8 | Srgb8 | Sint8 | Uint8 => 1,
            Unorm16 | Snorm16 | Half | Sint16 | Uint16 | Packed565 | Packed555 => 2,
            Float | Sint32 | Uint32 | Packed101010 | Packed101010A2 => 4,
        }
    }

    /// True if texels are read as integers.
    pub fn is_int(self) -> bool {
        use TexelKind::*;
        matches!(self, Sint8 | Sint16 | Sint32 | Uint8 | Uint16 | Uint32)
    }
}

/// Position of the color's components in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum ComponentOrder {
    /// The first ones of red, green, blue and alpha.
    InOrder,
    Alpha,
    RedAlpha,
    Intensity,
    Luminance,
    Bgra,
    Argb,
    Abgr,
}

/// Descriptor of an image. Fields without a unit count texels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ImageDescriptor {
    /// Address of the first texel, for writing.
    pub data: u64,
    /// Address of the data again, for images that no work-item writes.
    pub texels: u64,
    /// Address of the linear values of the sRGB bytes ([`srgb_table`]).
    pub srgb: u64,
    /// Bytes from row to row.
    pub row_pitch: i32,
    /// Bytes from slice to slice, or from layer to layer.
    pub slice_pitch: i32,
    /// Width, height and depth; 1 along dimensions that it lacks.
    pub size: [i32; 3],
    /// Layers; 1 if it is no array.
    pub layers: i32,
    /// [`TexelKind::code`].
    pub layout: i32,
    /// [`ComponentOrder`] as a number.
    pub order: i32,
    /// Alpha of OpenCL's border color.
    pub border_alpha: f32,
    /// Channel type that queries answer.
    pub channel_type: u32,
    /// Channel order that queries answer.
    pub channel_order: u32,
}

/// Descriptor of a CUDA texture or surface.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TextureDescriptor {
    /// Image that it reads or writes.
    pub image: ImageDescriptor,
    /// Sampler along each dimension: bits of OpenCL C's `CLK_…`.
    pub samplers: [u32; 3],
    /// Border color.
    pub border: [f32; 4],
    /// 1 if indices are outside of the image along some dimension.
    pub has_border: i32,
    /// 1 if texels are read as floats.
    pub is_float: i32,
    /// Bytes of a texel.
    pub texel_bytes: i32,
    /// Address of 16 zeros, which reads outside of a surface give.
    pub zeros: u64,
    /// Address of 16 bytes for writes outside of a surface.
    pub sink: u64,
}

/// Returns the linear values of all sRGB bytes.
fn srgb_values() -> [f32; 256] {
    std::array::from_fn(|byte| {
        let curved = byte as f64 / 255.0;
        let linear = if curved <= 0.04045 { curved / 12.92 } else { ((curved + 0.055) / 1.055).powf(2.4) };
        linear as f32
    })
}

/// Returns the table of the linear values of all sRGB bytes.
pub fn srgb_table() -> &'static [f32; 256] {
    static TABLE: OnceLock<[f32; 256]> = OnceLock::new();
    TABLE.get_or_init(srgb_values)
}
