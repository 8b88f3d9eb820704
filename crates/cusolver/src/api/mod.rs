//! The C interface: one function for each entry of the library.

/// Defines routines of a prefix, each with its entries for kinds of numbers.
macro_rules! routines {
    ($(fn $name:ident [$($entry:literal: $type:ty),* $(,)?] $arguments:tt $body:block)*) => {$(
        routines! { @generic $name $arguments $body }
        $( routines! { @entry $name $entry, $type, $arguments } )*
    )*};
    (@generic $name:ident ($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        // SAFETY: pointers are null or valid as the interface requires.
        #[allow(clippy::too_many_arguments)]
        unsafe fn $name<T: heddle_blas::Number>($($argument: $kind),*) -> $crate::status::SolverResult<()> {
            // SAFETY: the caller's promise.
            unsafe { $body }
        }
    };
    (@entry $name:ident $entry:literal, $type:ty, ($($argument:ident: $kind:ty),* $(,)?)) => {
        heddle_hostcall::items_of_kind! { $type =>
            #[unsafe(export_name = concat!("cusolver", $entry))]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn entry($($argument: $kind),*) -> $crate::status::SolverStatus {
                // SAFETY: the caller's promise.
                $crate::status::answer(move || unsafe { $name::<T>($($argument),*) })
            }
        }
    };
}

/// Defines entries that take no kind of numbers.
macro_rules! entries {
    ($($entries:tt)*) => { heddle_hostcall::library_entries! { $($entries)* } };
}

pub mod helper;
pub mod linear;
pub mod orthogonal;
pub mod spectral;
pub mod work;
pub mod iterative;
pub mod wide;
pub mod sparse;
pub mod refused;

pub(crate) use heddle_blas::{C32, C64, Re};
