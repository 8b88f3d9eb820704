//! The C interface: one function for each entry of the library.

/// Defines routines, each with its entries: for each kind of numbers, and for integers (`Int`) of 32 and 64 bits.
macro_rules! routines {
    ($(fn $name:ident [$($entry:literal: $type:ty),* $(,)?] $arguments:tt $body:block)*) => {$(
        routines! { @generic $name $arguments $body }
        $(
            const _: () = {
                type T = $type;
                routines! { @entry $name, $entry, i32, $arguments }
                routines! { @entry $name, concat!($entry, "_64"), i64, $arguments }
            };
        )*
    )*};
    (@generic $name:ident ($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        // SAFETY: pointers are null or valid as the interface requires.
        #[allow(clippy::too_many_arguments)]
        unsafe fn $name<T: heddle_blas::Number, Int: $crate::arguments::Index>(
            $($argument: $kind),*
        ) -> $crate::status::CublasResult<()> {
            // SAFETY: the caller's promise: pointers lead to what the interface says.
            unsafe { $body }
        }
    };
    (@entry $name:ident, $entry:expr, $int:ty, ($($argument:ident: $kind:ty),* $(,)?)) => {
        const _: () = {
            type Int = $int;
            #[unsafe(export_name = concat!("cublas", $entry))]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn entry($($argument: $kind),*) -> $crate::status::Status {
                // SAFETY: the caller's promise.
                $crate::context::answer(move || unsafe { $name::<T, Int>($($argument),*) })
            }
        };
    };
}

pub mod level1;
pub mod level3;
pub mod helper;

/// Real type of a kind of numbers.
pub(crate) type Re<T> = <T as heddle_blas::Number>::Real;
/// Complex numbers in single precision.
pub(crate) type C32 = heddle_blas::Complex<f32>;
/// Complex numbers in double precision.
pub(crate) type C64 = heddle_blas::Complex<f64>;
