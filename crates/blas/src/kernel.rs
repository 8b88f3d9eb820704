//! Innermost loops of products: a tile of the result in registers, from packed panels of both operands.
//!
//! A panel of the left operand has, for each step of the sum, the tile's rows one after the other; one of the right operand the
//! tile's columns. Complex numbers are packed as all real parts of a step, then all imaginary ones, and so is each column of the tile.

use crate::Real;
use crate::vectors::{VectorLevel, level};

/// Product of two panels.
#[derive(Clone, Copy, Debug)]
pub struct ProductKernel<R> {
    /// Rows of the tile.
    pub rows: usize,
    /// Columns of the tile.
    pub columns: usize,
    /// Sets a tile, whose columns are some numbers apart, to the sum of `depth` products: `run(depth, left, right, tile, distance)`.
    /// # Safety
    /// The panels and the tile are there.
    pub run: unsafe fn(usize, *const R, *const R, *mut R, usize),
}

/// Real numbers of the largest tile.
pub(crate) const TILE: usize = 512;

macro_rules! real_kernel {
    (
        $name:ident: $real:ty, $features:literal, $lanes:literal, $vectors:literal x $columns:literal,
        $zero:ident, $splat:ident, $load:ident, $fma:ident, $store:ident
    ) => {
        /// # Safety
        /// As for [`ProductKernel::run`]; the machine has the instructions.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name(
            depth: usize,
            left: *const $real,
            right: *const $real,
            tile: *mut $real,
            distance: usize,
        ) {
            use std::arch::x86_64::*;
            let (mut left, mut right) = (left, right);
            let mut sums = [[$zero(); $vectors]; $columns];
            // SAFETY: the panels have as many numbers, and the tile has room for the sums.
            unsafe {
                for _ in 0..depth {
                    let mut rows = [$zero(); $vectors];
                    for v in 0..$vectors {
                        rows[v] = $load(left.add(v * $lanes));
                    }
                    for j in 0..$columns {
                        let factor = $splat(*right.add(j));
                        for v in 0..$vectors {
                            sums[j][v] = $fma(rows[v], factor, sums[j][v]);
                        }
                    }
                    left = left.add($vectors * $lanes);
                    right = right.add($columns);
                }
                for j in 0..$columns {
                    for v in 0..$vectors {
                        $store(tile.add(j * distance + v * $lanes), sums[j][v]);
                    }
                }
            }
        }
    };
}

macro_rules! complex_kernel {
    (
        $name:ident: $real:ty, $features:literal, $lanes:literal, $vectors:literal x $columns:literal,
        $zero:ident, $splat:ident, $load:ident, $fma:ident, $fnma:ident, $store:ident
    ) => {
        /// # Safety
        /// As for [`ProductKernel::run`]; the machine has the instructions.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name(
            depth: usize,
            left: *const $real,
            right: *const $real,
            tile: *mut $real,
            distance: usize,
        ) {
            use std::arch::x86_64::*;
            let (mut left, mut right) = (left, right);
            let (mut re, mut im) = ([[$zero(); $vectors]; $columns], [[$zero(); $vectors]; $columns]);
            // SAFETY: the panels have as many numbers, and the tile has room for the sums.
            unsafe {
                for _ in 0..depth {
                    let (mut left_re, mut left_im) = ([$zero(); $vectors], [$zero(); $vectors]);
                    for v in 0..$vectors {
                        left_re[v] = $load(left.add(v * $lanes));
                        left_im[v] = $load(left.add(($vectors + v) * $lanes));
                    }
                    for j in 0..$columns {
                        let factor = $splat(*right.add(j));
                        for v in 0..$vectors {
                            re[j][v] = $fma(left_re[v], factor, re[j][v]);
                            im[j][v] = $fma(left_im[v], factor, im[j][v]);
                        }
                        let factor = $splat(*right.add($columns + j));
                        for v in 0..$vectors {
                            re[j][v] = $fnma(left_im[v], factor, re[j][v]);
                            im[j][v] = $fma(left_re[v], factor, im[j][v]);
                        }
                    }
                    left = left.add(2 * $vectors * $lanes);
                    right = right.add(2 * $columns);
                }
                for j in 0..$columns {
                    for v in 0..$vectors {
                        $store(tile.add(j * distance + v * $lanes), re[j][v]);
                        $store(tile.add(j * distance + ($vectors + v) * $lanes), im[j][v]);
                    }
                }
            }
        }
    };
}

real_kernel! { f32_avx512_wide: f32, "avx512f", 16, 2 x 12, _mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_fmadd_ps, _mm512_storeu_ps }
real_kernel! { f64_avx512_wide: f64, "avx512f", 8, 2 x 12, _mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_fmadd_pd, _mm512_storeu_pd }
real_kernel! { f32_avx512: f32, "avx512f", 16, 3 x 8, _mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_fmadd_ps, _mm512_storeu_ps }
real_kernel! { f64_avx512: f64, "avx512f", 8, 3 x 8, _mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_fmadd_pd, _mm512_storeu_pd }
real_kernel! { f32_avx2: f32, "avx2,fma", 8, 2 x 6, _mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_fmadd_ps, _mm256_storeu_ps }
real_kernel! { f64_avx2: f64, "avx2,fma", 4, 2 x 6, _mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_fmadd_pd, _mm256_storeu_pd }
complex_kernel! { c32_avx512: f32, "avx512f", 16, 1 x 12, _mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_fmadd_ps, _mm512_fnmadd_ps, _mm512_storeu_ps }
complex_kernel! { c64_avx512: f64, "avx512f", 8, 1 x 12, _mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_fmadd_pd, _mm512_fnmadd_pd, _mm512_storeu_pd }
complex_kernel! { c32_avx2: f32, "avx2,fma", 8, 1 x 6, _mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps, _mm256_storeu_ps }
complex_kernel! { c64_avx2: f64, "avx2,fma", 4, 1 x 6, _mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_fmadd_pd, _mm256_fnmadd_pd, _mm256_storeu_pd }

/// Rows and columns of tiles on machines without a kernel of their own.
const PORTABLE: usize = 8;
const PORTABLE_COMPLEX: usize = 4;

/// # Safety
/// As for [`ProductKernel::run`].
unsafe fn portable<R: Real>(depth: usize, left: *const R, right: *const R, tile: *mut R, distance: usize) {
    let mut sums = [[R::ZERO; PORTABLE]; PORTABLE];
    for step in 0..depth {
        // SAFETY: the panels have as many numbers.
        let (rows, columns) = unsafe {
            let rows = left.add(step * PORTABLE).cast::<[R; PORTABLE]>().read();
            (rows, right.add(step * PORTABLE).cast::<[R; PORTABLE]>().read())
        };
        for (sums, factor) in sums.iter_mut().zip(columns) {
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum += row * factor;
            }
        }
    }
    for (j, sums) in sums.into_iter().enumerate() {
        // SAFETY: the tile has room for the sums.
        unsafe { tile.add(j * distance).cast::<[R; PORTABLE]>().write(sums) };
    }
}

/// # Safety
/// As for [`ProductKernel::run`].
unsafe fn portable_complex<R: Real>(
    depth: usize,
    left: *const R,
    right: *const R,
    tile: *mut R,
    distance: usize,
) {
    const N: usize = PORTABLE_COMPLEX;
    let mut sums = [[[R::ZERO; N]; 2]; N];
    for step in 0..depth {
        // SAFETY: the panels have as many numbers.
        let ([rows_re, rows_im], [columns_re, columns_im]) = unsafe {
            let rows = left.add(step * 2 * N).cast::<[[R; N]; 2]>().read();
            (rows, right.add(step * 2 * N).cast::<[[R; N]; 2]>().read())
        };
        for (j, [sums_re, sums_im]) in sums.iter_mut().enumerate() {
            for i in 0..N {
                sums_re[i] += rows_re[i] * columns_re[j] - rows_im[i] * columns_im[j];
                sums_im[i] += rows_re[i] * columns_im[j] + rows_im[i] * columns_re[j];
            }
        }
    }
    for (j, sums) in sums.into_iter().enumerate() {
        // SAFETY: the tile has room for the sums.
        unsafe { tile.add(j * distance).cast::<[[R; N]; 2]>().write(sums) };
    }
}

impl<R> ProductKernel<R> {
    /// Returns the kernel whose tiles cover less beyond a result of `m` rows and `n` columns.
    fn or(self, other: ProductKernel<R>, m: usize, n: usize) -> ProductKernel<R> {
        let covered =
            |kernel: &ProductKernel<R>| m.next_multiple_of(kernel.rows) * n.next_multiple_of(kernel.columns);
        if covered(&other) < covered(&self) { other } else { self }
    }
}

macro_rules! choose {
    (
        $real:ty, $avx512:ident $rows512:literal x $columns512:literal, $avx2:ident $rows2:literal x $columns2:literal,
        $portable:ident $size:ident
    ) => {
        match level() {
            #[cfg(target_arch = "x86_64")]
            VectorLevel::Avx512 => ProductKernel { rows: $rows512, columns: $columns512, run: $avx512 },
            #[cfg(target_arch = "x86_64")]
            VectorLevel::Avx2 => ProductKernel { rows: $rows2, columns: $columns2, run: $avx2 },
            _ => ProductKernel { rows: $size, columns: $size, run: $portable::<$real> },
        }
    };
}

pub(crate) fn f32(m: usize, n: usize) -> ProductKernel<f32> {
    let kernel = choose!(f32, f32_avx512 48 x 8, f32_avx2 16 x 6, portable PORTABLE);
    kernel.or(choose!(f32, f32_avx512_wide 32 x 12, f32_avx2 16 x 6, portable PORTABLE), m, n)
}

pub(crate) fn f64(m: usize, n: usize) -> ProductKernel<f64> {
    let kernel = choose!(f64, f64_avx512 24 x 8, f64_avx2 8 x 6, portable PORTABLE);
    kernel.or(choose!(f64, f64_avx512_wide 16 x 12, f64_avx2 8 x 6, portable PORTABLE), m, n)
}

/// Kernels for complex numbers.
pub(crate) mod complex {
    use super::*;

    pub(crate) fn f32() -> ProductKernel<f32> {
        choose!(f32, c32_avx512 16 x 12, c32_avx2 8 x 6, portable_complex PORTABLE_COMPLEX)
    }

    pub(crate) fn f64() -> ProductKernel<f64> {
        choose!(f64, c64_avx512 8 x 12, c64_avx2 4 x 6, portable_complex PORTABLE_COMPLEX)
    }
}
