//! Versions of loops for the machine's vector registers.

use std::sync::OnceLock;

/// Instruction set that loops are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum VectorLevel {
    /// The target's own.
    Portable,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512: F, BW, DQ, VL.
    Avx512,
}

/// Returns the best level that the machine has, up to that of `HEDDLE_CPU` where it names one.
pub fn level() -> VectorLevel {
    static LEVEL: OnceLock<VectorLevel> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let limit = match std::env::var("HEDDLE_CPU").as_deref() {
            Ok("sse4.2") => VectorLevel::Portable,
            Ok("avx2") => VectorLevel::Avx2,
            _ => VectorLevel::Avx512,
        };
        detected().min(limit)
    })
}

#[cfg(target_arch = "x86_64")]
fn detected() -> VectorLevel {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx2 && avx512) {
        (_, true) => VectorLevel::Avx512,
        (true, false) => VectorLevel::Avx2,
        _ => VectorLevel::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detected() -> VectorLevel {
    VectorLevel::Portable
}

/// Defines functions whose bodies are compiled once for each [`VectorLevel`], and chosen when they are called.
macro_rules! vectorized {
    // SAFETY: the pattern of a function, whose documentation has the promises.
    ($(
        $(#[$doc:meta])*
        $visibility:vis unsafe fn $name:ident<$($type:ident: $bound:ident),*>($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)?
        $body:block
    )*) => {$(
        // SAFETY: the documentation has the promises.
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        $visibility unsafe fn $name<$($type: $bound),*>($($argument: $kind),*) $(-> $result)? {
            // SAFETY: each version has the promises of the function.
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            unsafe fn portable<$($type: $bound),*>($($argument: $kind),*) $(-> $result)? $body

            // SAFETY: as above, on a machine with the instructions.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            unsafe fn avx2<$($type: $bound),*>($($argument: $kind),*) $(-> $result)? {
                // SAFETY: the caller's promise.
                unsafe { portable::<$($type),*>($($argument),*) }
            }

            // SAFETY: as above, on a machine with the instructions.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            unsafe fn avx512<$($type: $bound),*>($($argument: $kind),*) $(-> $result)? {
                // SAFETY: the caller's promise.
                unsafe { portable::<$($type),*>($($argument),*) }
            }

            // SAFETY: the caller's promise; the machine has the instructions of its level.
            unsafe {
                match $crate::vectors::level() {
                    #[cfg(target_arch = "x86_64")]
                    $crate::vectors::VectorLevel::Avx512 => avx512::<$($type),*>($($argument),*),
                    #[cfg(target_arch = "x86_64")]
                    $crate::vectors::VectorLevel::Avx2 => avx2::<$($type),*>($($argument),*),
                    _ => portable::<$($type),*>($($argument),*),
                }
            }
        }
    )*};
}

pub(crate) use vectorized;
