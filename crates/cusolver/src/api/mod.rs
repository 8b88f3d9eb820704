//! The C interface: one function for each entry of the library.

/// Defines routines, each with its entries for kinds of numbers.
macro_rules! routines {
    ($($routines:tt)*) => {
        heddle_hostcall::library_routines! { "cusolver", crate::status::SolverResult<()>; $($routines)* }
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
