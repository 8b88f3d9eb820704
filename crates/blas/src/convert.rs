//! Numbers of other types than routines compute with: halves and integers.

use crate::{Number, Real};

/// Type of elements in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementType {
    /// IEEE half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Signed integer of 8 bits.
    I8,
    /// Signed integer of 32 bits.
    I32,
}

/// Converts a half to single precision.
#[inline(always)]
pub fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // Halves that are shifted into place have an exponent that is too small by 112; infinities and NaNs need another 112.
    let scaled = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
    let bits = if magnitude >= 0x0f80_0000 { magnitude | 0x7f80_0000 } else { scaled.to_bits() };
    f32::from_bits(bits | sign)
}

/// Converts to the nearest half, ties to even.
#[inline(always)]
pub fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00
    } else if magnitude >= 0x477f_f000 {
        0x7c00
    } else if magnitude < 0x3880_0000 {
        // Adding a number whose last bit is that of the smallest half rounds to multiples of it.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000
    } else {
        (magnitude + 0x0fff + ((magnitude >> 13) & 1) - 0x3800_0000) >> 13
    };
    sign | half as u16
}

/// Converts the upper half of a number of single precision.
#[inline(always)]
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Converts to the nearest number of 16 bits with the exponent of single precision, ties to even.
#[inline(always)]
pub fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

/// Reads an element as a number to compute with.
///
/// # Safety
/// The element is there.
#[inline(always)]
pub unsafe fn load<R: Real>(kind: ElementType, place: *const u8, index: isize) -> R {
    // SAFETY: the caller's promise.
    unsafe {
        R::from_f64(match kind {
            ElementType::F16 => f16_to_f32(*place.cast::<u16>().wrapping_offset(index)).into(),
            ElementType::Bf16 => bf16_to_f32(*place.cast::<u16>().wrapping_offset(index)).into(),
            ElementType::F32 => (*place.cast::<f32>().wrapping_offset(index)).into(),
            ElementType::F64 => *place.cast::<f64>().wrapping_offset(index),
            ElementType::I8 => (*place.cast::<i8>().wrapping_offset(index)).into(),
            ElementType::I32 => (*place.cast::<i32>().wrapping_offset(index)).into(),
        })
    }
}

/// Writes a number as an element.
///
/// # Safety
/// The element is there.
#[inline(always)]
pub unsafe fn store<R: Real>(kind: ElementType, place: *mut u8, index: isize, value: R) {
    let value = value.to_f64();
    // SAFETY: the caller's promise.
    unsafe {
        match kind {
            ElementType::F16 => *place.cast::<u16>().wrapping_offset(index) = f32_to_f16(value as f32),
            ElementType::Bf16 => *place.cast::<u16>().wrapping_offset(index) = f32_to_bf16(value as f32),
            ElementType::F32 => *place.cast::<f32>().wrapping_offset(index) = value as f32,
            ElementType::F64 => *place.cast::<f64>().wrapping_offset(index) = value,
            ElementType::I8 => *place.cast::<i8>().wrapping_offset(index) = value as i8,
            // Sums beyond 32 bits wrap around, as those of integers do.
            ElementType::I32 => *place.cast::<i32>().wrapping_offset(index) = value as i64 as i32,
        }
    }
}

/// Returns the elements of a matrix by columns.
///
/// # Safety
/// The matrix is there.
pub unsafe fn load_matrix<R: Real>(
    kind: ElementType,
    place: *const u8,
    rows: usize,
    columns: usize,
    ld: isize,
) -> Vec<R> {
    let mut numbers = Vec::with_capacity(rows * columns);
    for j in 0..columns as isize {
        for i in 0..rows as isize {
            // SAFETY: the caller's promise.
            numbers.push(unsafe { load(kind, place, i + j * ld) });
        }
    }
    numbers
}

/// Writes `product + beta · C` to a matrix, whose elements are not read if `beta` is zero.
///
/// # Safety
/// The matrix is there.
pub unsafe fn store_matrix<R: Number<Real = R> + Real>(
    kind: ElementType,
    place: *mut u8,
    (rows, columns, ld): (usize, usize, isize),
    product: &[R],
    beta: R,
) {
    for j in 0..columns {
        for i in 0..rows {
            let index = i as isize + j as isize * ld;
            let value = product[i + j * rows];
            // SAFETY: the caller's promise.
            unsafe {
                let value = if beta == R::ZERO { value } else { value + beta * load(kind, place, index) };
                store(kind, place, index, value);
            }
        }
    }
}
