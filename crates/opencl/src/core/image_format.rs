//! Formats of images: orders and types of channels, and texels in memory.
//!
//! `crates/builtins/cl/texel.h` decodes texels in kernels.

use crate::cl::*;
use crate::core::error::{ClError, ClResult, ensure};
use heddle_builtins::texel::{ComponentOrder, TexelKind};
use heddle_llvm::f16_bits;

/// Order and type of channels, as `cl_image_format` holds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageFormat {
    /// Channel order (`CL_RGBA`, …).
    pub order: u32,
    /// Channel type (`CL_UNORM_INT8`, …).
    pub data_type: u32,
}

/// Texels of a format in memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TexelLayout {
    kind: TexelKind,
    order: ComponentOrder,
    /// Channels in memory; 1 for packed ones.
    channels: u32,
    /// Alpha of the border color.
    pub border_alpha: f32,
    /// True if kernels may write the format.
    pub is_writable: bool,
}

const ORDERS: [u32; 18] = [
    CL_R,
    CL_A,
    CL_RG,
    CL_RA,
    CL_RGB,
    CL_RGBA,
    CL_BGRA,
    CL_ARGB,
    CL_INTENSITY,
    CL_LUMINANCE,
    CL_RX,
    CL_RGX,
    CL_RGBX,
    CL_DEPTH,
    CL_SRGB,
    CL_SRGBX,
    CL_SRGBA,
    CL_SBGRA,
];
const TYPES: [u32; 16] = [
    CL_SNORM_INT8,
    CL_SNORM_INT16,
    CL_UNORM_INT8,
    CL_UNORM_INT16,
    CL_UNORM_SHORT_565,
    CL_UNORM_SHORT_555,
    CL_UNORM_INT_101010,
    CL_SIGNED_INT8,
    CL_SIGNED_INT16,
    CL_SIGNED_INT32,
    CL_UNSIGNED_INT8,
    CL_UNSIGNED_INT16,
    CL_UNSIGNED_INT32,
    CL_HALF_FLOAT,
    CL_FLOAT,
    CL_UNORM_INT_101010_2,
];

/// True if the specification allows the type with the order.
fn is_combination(order: u32, data_type: u32) -> bool {
    use CL_UNORM_INT8 as U8;
    let packed = [CL_UNORM_SHORT_565, CL_UNORM_SHORT_555, CL_UNORM_INT_101010];
    match order {
        CL_RGB | CL_RGBX => packed.contains(&data_type),
        CL_INTENSITY | CL_LUMINANCE => {
            [U8, CL_UNORM_INT16, CL_SNORM_INT8, CL_SNORM_INT16, CL_HALF_FLOAT, CL_FLOAT].contains(&data_type)
        }
        CL_BGRA | CL_ARGB | CL_ABGR => {
            [U8, CL_SNORM_INT8, CL_SIGNED_INT8, CL_UNSIGNED_INT8].contains(&data_type)
        }
        CL_DEPTH => [CL_UNORM_INT16, CL_FLOAT].contains(&data_type),
        CL_SRGB | CL_SRGBX | CL_SRGBA | CL_SBGRA => data_type == U8,
        CL_RGBA => !packed.contains(&data_type),
        _ => !packed.contains(&data_type) && data_type != CL_UNORM_INT_101010_2,
    }
}

/// Clamps a value times the maximum to a range and rounds to the nearest integer, ties to even.
fn normalized(value: f32, maximum: f32, least: f32) -> i64 {
    // The comparison of `max` turns NaN into the lower bound, as kernels do.
    (value * maximum).max(least).min(maximum).round_ties_even() as i64
}

/// Returns the sRGB byte of a linear value.
fn srgb_byte(value: f32) -> i64 {
    let linear = f64::from(value).clamp(0.0, 1.0);
    let curved = if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    (curved * 255.0).round_ties_even() as i64
}

impl ImageFormat {
    /// Formats of images that kernels can read.
    pub fn all() -> impl Iterator<Item = (ImageFormat, TexelLayout)> {
        let orders = ORDERS.into_iter().chain([CL_ABGR]);
        orders
            .flat_map(|order| TYPES.map(|data_type| ImageFormat { order, data_type }))
            .filter_map(|format| Some((format, format.layout().ok()?)))
    }

    /// Returns the layout of the format's texels.
    pub fn layout(self) -> ClResult<TexelLayout> {
        let is_known =
            (ORDERS.contains(&self.order) || self.order == CL_ABGR) && TYPES.contains(&self.data_type);
        let allowed = is_known && is_combination(self.order, self.data_type);
        ensure(allowed, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        use ComponentOrder::*;
        let is_srgb = matches!(self.order, CL_SRGBA | CL_SBGRA);
        let (order, channels) = match self.order {
            CL_R | CL_RX | CL_DEPTH | CL_RGB | CL_RGBX => (InOrder, 1),
            CL_RG | CL_RGX => (InOrder, 2),
            CL_RGBA if self.data_type == CL_UNORM_INT_101010_2 => (InOrder, 1),
            CL_RGBA | CL_SRGBA => (InOrder, 4),
            CL_A => (Alpha, 1),
            CL_RA => (RedAlpha, 2),
            CL_INTENSITY => (Intensity, 1),
            CL_LUMINANCE => (Luminance, 1),
            CL_BGRA | CL_SBGRA => (Bgra, 4),
            CL_ARGB => (Argb, 4),
            CL_ABGR => (Abgr, 4),
            _ => return Err(ClError(CL_IMAGE_FORMAT_NOT_SUPPORTED)),
        };
        let kind = match self.data_type {
            CL_UNORM_INT8 if is_srgb => TexelKind::Srgb8,
            CL_UNORM_INT8 => TexelKind::Unorm8,
            CL_SNORM_INT8 => TexelKind::Snorm8,
            CL_UNORM_INT16 => TexelKind::Unorm16,
            CL_SNORM_INT16 => TexelKind::Snorm16,
            CL_HALF_FLOAT => TexelKind::Half,
            CL_FLOAT => TexelKind::Float,
            CL_SIGNED_INT8 => TexelKind::Sint8,
            CL_SIGNED_INT16 => TexelKind::Sint16,
            CL_SIGNED_INT32 => TexelKind::Sint32,
            CL_UNSIGNED_INT8 => TexelKind::Uint8,
            CL_UNSIGNED_INT16 => TexelKind::Uint16,
            CL_UNSIGNED_INT32 => TexelKind::Uint32,
            CL_UNORM_SHORT_565 => TexelKind::Packed565,
            CL_UNORM_SHORT_555 => TexelKind::Packed555,
            CL_UNORM_INT_101010 => TexelKind::Packed101010,
            _ => TexelKind::Packed101010A2,
        };
        let is_opaque = matches!(self.order, CL_R | CL_RG | CL_RGB | CL_LUMINANCE | CL_DEPTH);
        let border_alpha = if is_opaque { 1.0 } else { 0.0 };
        Ok(TexelLayout { kind, order, channels, border_alpha, is_writable: !is_srgb })
    }
}

impl TexelLayout {
    /// Returns the number by which kernels know the layout.
    pub fn code(&self) -> i32 {
        self.kind.code(self.channels)
    }

    /// Returns the number by which kernels know the order.
    pub fn order_code(&self) -> i32 {
        self.order as i32
    }

    /// Returns the bytes of a texel.
    pub fn bytes(&self) -> usize {
        self.kind.bytes() * self.channels as usize
    }

    /// Encodes a color, four numbers of 32 bits, as `clEnqueueFillImage` takes it.
    pub fn encode(&self, color: [u32; 4]) -> Vec<u8> {
        use ComponentOrder::*;
        let [red, green, blue, alpha] = color;
        let stored = match self.order {
            InOrder | Intensity | Luminance => color,
            Alpha => [alpha, 0, 0, 0],
            RedAlpha => [red, alpha, 0, 0],
            Bgra => [blue, green, red, alpha],
            Argb => [alpha, red, green, blue],
            Abgr => [alpha, blue, green, red],
        };
        let part = |index: usize, maximum: f32| normalized(f32::from_bits(stored[index]), maximum, 0.0);
        let packed = match self.kind {
            TexelKind::Packed565 => Some(part(0, 31.0) << 11 | part(1, 63.0) << 5 | part(2, 31.0)),
            TexelKind::Packed555 => Some(part(0, 31.0) << 10 | part(1, 31.0) << 5 | part(2, 31.0)),
            TexelKind::Packed101010 => Some(part(0, 1023.0) << 20 | part(1, 1023.0) << 10 | part(2, 1023.0)),
            TexelKind::Packed101010A2 => {
                Some(part(0, 1023.0) << 22 | part(1, 1023.0) << 12 | part(2, 1023.0) << 2 | part(3, 3.0))
            }
            _ => None,
        };
        let channel_bytes = self.bytes() / self.channels as usize;
        if let Some(bits) = packed {
            return bits.to_le_bytes()[..channel_bytes].to_vec();
        }
        let channels = (0..self.channels as usize).flat_map(|index| {
            // Alpha of sRGB is linear; it is last in memory.
            let is_linear = self.kind == TexelKind::Srgb8 && index == 3;
            self.channel_bits(stored[index], is_linear).to_le_bytes().into_iter().take(channel_bytes)
        });
        channels.collect()
    }

    fn channel_bits(&self, bits: u32, is_linear: bool) -> i64 {
        use TexelKind::*;
        let (value, signed) = (f32::from_bits(bits), i64::from(bits as i32));
        match self.kind {
            Srgb8 if !is_linear => srgb_byte(value),
            Unorm8 | Srgb8 => normalized(value, 255.0, 0.0),
            Snorm8 => normalized(value, 127.0, -128.0),
            Unorm16 => normalized(value, 65535.0, 0.0),
            Snorm16 => normalized(value, 32767.0, -32768.0),
            Half => f16_bits(f64::from(value)).into(),
            Sint8 => signed.clamp(-128, 127),
            Sint16 => signed.clamp(-32768, 32767),
            Uint8 => i64::from(bits).min(0xff),
            Uint16 => i64::from(bits).min(0xffff),
            Float | Sint32 | Uint32 | Packed565 | Packed555 | Packed101010 | Packed101010A2 => bits.into(),
        }
    }
}
