//! The C interface: one function for each entry of the library.

/// Defines an entry that calls a function with integers (`Int`) of one size.
macro_rules! sized_entry {
    ($function:expr, $entry:expr, $int:ty, ($($argument:ident: $kind:ty),* $(,)?)) => {
        const _: () = {
            type Int = $int;
            #[unsafe(export_name = concat!("cublas", $entry))]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn entry($($argument: $kind),*) -> $crate::status::Status {
                // SAFETY: the caller's promise.
                $crate::status::answer(move || unsafe { $function($($argument),*) })
            }
        };
    };
}

/// Defines routines, each with its entries: for each kind of numbers, and for integers (`Int`) of 32 and 64 bits.
macro_rules! routines {
    ($(fn $name:ident [$($entry:literal: $type:ty),* $(,)?] $arguments:tt $body:block)*) => {$(
        routines! { @generic $name $arguments $body }
        $(
            heddle_hostcall::items_of_kind! { $type =>
                sized_entry! { $name::<T, Int>, $entry, i32, $arguments }
                sized_entry! { $name::<T, Int>, concat!($entry, "_64"), i64, $arguments }
            }
        )*
    )*};
    (@generic $name:ident ($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        // SAFETY: pointers are null or valid as the interface requires.
        #[allow(clippy::too_many_arguments)]
        unsafe fn $name<T: heddle_blas::Number, Int: $crate::arguments::Index>(
            $($argument: $kind),*
        ) -> $crate::status::CublasResult<()> {
            // SAFETY: the caller's promise.
            unsafe { $body }
        }
    };
}

/// Defines entries that take no kind of numbers: with one form, or after `both` with integers (`Int`) of 32 and 64 bits.
macro_rules! entries {
    (both $(fn $name:ident[$entry:literal] $arguments:tt $body:block)*) => {$(
        entries! { @generic $name $arguments $body }
        sized_entry! { $name::<Int>, $entry, i32, $arguments }
        sized_entry! { $name::<Int>, concat!($entry, "_64"), i64, $arguments }
    )*};
    (@generic $name:ident ($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        // SAFETY: pointers are null or valid as the interface requires.
        #[allow(clippy::too_many_arguments)]
        unsafe fn $name<Int: $crate::arguments::Index>($($argument: $kind),*) -> $crate::status::CublasResult<()> {
            // SAFETY: the caller's promise.
            unsafe { $body }
        }
    };
    ($($entries:tt)*) => { heddle_hostcall::library_entries! { $($entries)* } };
}

pub mod helper;
pub mod level1;
pub mod level2;
pub mod level3;
pub mod batched;
pub mod mixed;
pub mod refused;

pub(crate) use heddle_blas::{C32, C64, Re};
