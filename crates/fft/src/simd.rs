//! Vectors of the machine's instruction sets.

use crate::block::{LaneBlock, run_block};
use heddle_blas::Real;
use heddle_blas::vectors::{VectorLevel, level};

/// Vector of real numbers.
///
/// # Safety
/// Methods need the instruction set, and loads and stores the memory.
#[allow(missing_docs)]
pub unsafe trait Simd: Copy {
    type Number: FftReal;
    const LANES: usize;
    /// # Safety
    /// As for the trait.
    unsafe fn load(from: *const Self::Number) -> Self;
    /// # Safety
    /// As for the trait.
    unsafe fn store(self, to: *mut Self::Number);
    /// # Safety
    /// As for the trait.
    unsafe fn splat(value: Self::Number) -> Self;
    /// # Safety
    /// As for the trait.
    unsafe fn add(self, other: Self) -> Self;
    /// # Safety
    /// As for the trait.
    unsafe fn sub(self, other: Self) -> Self;
    /// # Safety
    /// As for the trait.
    unsafe fn mul(self, other: Self) -> Self;
    /// Returns `self * other + sum`.
    /// # Safety
    /// As for the trait.
    unsafe fn fma(self, other: Self, sum: Self) -> Self;
    /// Returns `sum - self * other`.
    /// # Safety
    /// As for the trait.
    unsafe fn fnma(self, other: Self, sum: Self) -> Self;
    /// Loads real and imaginary parts of as many complex numbers.
    /// # Safety
    /// As for the trait.
    unsafe fn load_pairs(from: *const Self::Number) -> (Self, Self);
    /// Stores real and imaginary parts.
    /// # Safety
    /// As for the trait.
    unsafe fn store_pairs(to: *mut Self::Number, re: Self, im: Self);
}

/// Real number that transforms compute with.
pub trait FftReal: Real {
    /// Lanes of the machine's vectors.
    fn lanes() -> usize;
    /// Transforms the sequences of a block.
    ///
    /// # Safety
    /// The sequences are there, and the scratch memory has room for two buffers of real and imaginary parts.
    unsafe fn run(block: &LaneBlock<'_, Self>, scratch: *mut Self);
}

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

macro_rules! machine_vector {
    (
        $vector:ident: $number:ty, $lanes:literal, $load:ident, $store:ident, $splat:ident, $add:ident, $sub:ident, $mul:ident,
        $fma:ident, $fnma:ident, |$a:ident, $b:ident| $apart:expr, |$re:ident, $im:ident| $together:expr
    ) => {
        // SAFETY: the methods do what they say on machines with the instructions, by the caller's promise.
        #[cfg(target_arch = "x86_64")]
        unsafe impl Simd for $vector {
            type Number = $number;
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                // SAFETY: as for the trait.
                unsafe { $load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                // SAFETY: as for the trait.
                unsafe { $store(to, self) }
            }
            #[inline(always)]
            unsafe fn splat(value: $number) -> Self {
                // SAFETY: as for the trait.
                unsafe { $splat(value) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: as for the trait.
                unsafe { $add(self, other) }
            }
            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                // SAFETY: as for the trait.
                unsafe { $sub(self, other) }
            }
            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                // SAFETY: as for the trait.
                unsafe { $mul(self, other) }
            }
            #[inline(always)]
            unsafe fn fma(self, other: Self, sum: Self) -> Self {
                // SAFETY: as for the trait.
                unsafe { $fma(self, other, sum) }
            }
            #[inline(always)]
            unsafe fn fnma(self, other: Self, sum: Self) -> Self {
                // SAFETY: as for the trait.
                unsafe { $fnma(self, other, sum) }
            }
            #[inline(always)]
            unsafe fn load_pairs(from: *const $number) -> (Self, Self) {
                // SAFETY: as for the trait.
                unsafe {
                    let ($a, $b) = ($load(from), $load(from.add($lanes)));
                    $apart
                }
            }
            #[inline(always)]
            unsafe fn store_pairs(to: *mut $number, $re: Self, $im: Self) {
                // SAFETY: as for the trait.
                unsafe {
                    let (first, second) = $together;
                    $store(to, first);
                    $store(to.add($lanes), second);
                }
            }
        }
    };
}

machine_vector! {
    __m512: f32, 16, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_fmadd_ps, _mm512_fnmadd_ps,
    |a, b| {
        let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        (_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b))
    },
    |re, im| {
        let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        (_mm512_permutex2var_ps(re, low, im), _mm512_permutex2var_ps(re, high, im))
    }
}
machine_vector! {
    __m512d: f64, 8, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd, _mm512_fmadd_pd, _mm512_fnmadd_pd,
    |a, b| {
        let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
        let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
        (_mm512_permutex2var_pd(a, even, b), _mm512_permutex2var_pd(a, odd, b))
    },
    |re, im| {
        let low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
        let high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
        (_mm512_permutex2var_pd(re, low, im), _mm512_permutex2var_pd(re, high, im))
    }
}
machine_vector! {
    __m256: f32, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps,
    |a, b| {
        let (low, high) = (_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
        (_mm256_shuffle_ps::<0x88>(low, high), _mm256_shuffle_ps::<0xdd>(low, high))
    },
    |re, im| {
        let (low, high) = (_mm256_unpacklo_ps(re, im), _mm256_unpackhi_ps(re, im));
        (_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high))
    }
}
machine_vector! {
    __m256d: f64, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_fmadd_pd, _mm256_fnmadd_pd,
    |a, b| {
        let (low, high) = (_mm256_permute2f128_pd::<0x20>(a, b), _mm256_permute2f128_pd::<0x31>(a, b));
        (_mm256_unpacklo_pd(low, high), _mm256_unpackhi_pd(low, high))
    },
    |re, im| {
        let (low, high) = (_mm256_unpacklo_pd(re, im), _mm256_unpackhi_pd(re, im));
        (_mm256_permute2f128_pd::<0x20>(low, high), _mm256_permute2f128_pd::<0x31>(low, high))
    }
}

/// Vector on machines without one of their own.
#[derive(Clone, Copy, Debug)]
pub struct PortableVector<R>([R; 4]);

impl<R: FftReal> PortableVector<R> {
    #[inline(always)]
    fn of(each: impl Fn(usize) -> R) -> Self {
        PortableVector([each(0), each(1), each(2), each(3)])
    }
}

// SAFETY: the methods do what they say.
unsafe impl<R: FftReal> Simd for PortableVector<R> {
    type Number = R;
    const LANES: usize = 4;
    #[inline(always)]
    unsafe fn load(from: *const R) -> Self {
        // SAFETY: as for the trait.
        PortableVector(unsafe { from.cast::<[R; 4]>().read() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut R) {
        // SAFETY: as for the trait.
        unsafe { to.cast::<[R; 4]>().write(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: R) -> Self {
        PortableVector([value; 4])
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self::of(|i| self.0[i] + other.0[i])
    }
    #[inline(always)]
    // SAFETY: as for the trait.
    unsafe fn sub(self, other: Self) -> Self {
        Self::of(|i| self.0[i] - other.0[i])
    }
    #[inline(always)]
    // SAFETY: as for the trait.
    unsafe fn mul(self, other: Self) -> Self {
        Self::of(|i| self.0[i] * other.0[i])
    }
    #[inline(always)]
    // SAFETY: as for the trait.
    unsafe fn fma(self, other: Self, sum: Self) -> Self {
        Self::of(|i| self.0[i] * other.0[i] + sum.0[i])
    }
    #[inline(always)]
    // SAFETY: as for the trait.
    unsafe fn fnma(self, other: Self, sum: Self) -> Self {
        Self::of(|i| sum.0[i] - self.0[i] * other.0[i])
    }
    #[inline(always)]
    // SAFETY: as for the trait.
    unsafe fn load_pairs(from: *const R) -> (Self, Self) {
        // SAFETY: as for the trait.
        let pairs = unsafe { from.cast::<[[R; 2]; 4]>().read() };
        (Self::of(|i| pairs[i][0]), Self::of(|i| pairs[i][1]))
    }
    #[inline(always)]
    unsafe fn store_pairs(to: *mut R, re: Self, im: Self) {
        let pairs: [[R; 2]; 4] = std::array::from_fn(|i| [re.0[i], im.0[i]]);
        // SAFETY: as for the trait.
        unsafe { to.cast::<[[R; 2]; 4]>().write(pairs) }
    }
}

macro_rules! real {
    ($number:ty, $avx512:ident $lanes512:literal, $avx2:ident $lanes2:literal) => {
        impl FftReal for $number {
            fn lanes() -> usize {
                match level() {
                    VectorLevel::Avx512 => $lanes512,
                    VectorLevel::Avx2 => $lanes2,
                    VectorLevel::Portable => 4,
                }
            }

            // SAFETY: the caller's promise, on a machine with the instructions.
            unsafe fn run(block: &LaneBlock<'_, Self>, scratch: *mut Self) {
                // SAFETY: the caller's promise, on a machine with the instructions.
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                unsafe fn avx512(block: &LaneBlock<'_, $number>, scratch: *mut $number) {
                    // SAFETY: as above.
                    unsafe { run_block::<$avx512>(block, scratch) }
                }
                // SAFETY: the caller's promise, on a machine with the instructions.
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2,fma")]
                unsafe fn avx2(block: &LaneBlock<'_, $number>, scratch: *mut $number) {
                    // SAFETY: as above.
                    unsafe { run_block::<$avx2>(block, scratch) }
                }
                // SAFETY: the machine has the instructions of its level.
                unsafe {
                    match level() {
                        #[cfg(target_arch = "x86_64")]
                        VectorLevel::Avx512 => avx512(block, scratch),
                        #[cfg(target_arch = "x86_64")]
                        VectorLevel::Avx2 => avx2(block, scratch),
                        _ => run_block::<PortableVector<$number>>(block, scratch),
                    }
                }
            }
        }
    };
}

real! { f32, __m512 16, __m256 8 }
real! { f64, __m512d 8, __m256d 4 }
