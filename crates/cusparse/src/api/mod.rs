//! The C interface: one function for each entry of the library.

/// Defines routines, each with its entries for kinds of numbers.
macro_rules! routines {
    ($($routines:tt)*) => {
        heddle_hostcall::library_routines! { "cusparse", crate::status::SparseResult<()>; $($routines)* }
    };
}

/// Defines entries that take no kind of numbers.
macro_rules! entries {
    ($($entries:tt)*) => { heddle_hostcall::library_entries! { $($entries)* } };
}

/// Defines entries with two names, the second one for what is only read.
macro_rules! constant_entries {
    ($(fn $name:ident, $constant:ident $arguments:tt $body:block)*) => {
        entries! { $( fn $name $arguments $body fn $constant $arguments $body )* }
    };
}

/// Computes an expression with the type `T` of a `cudaDataType`.
macro_rules! with_kind {
    ($kind:expr, $type:ident => $body:expr) => {
        match $kind {
            0 => {
                type $type = f32;
                $body
            }
            1 => {
                type $type = f64;
                $body
            }
            4 => {
                type $type = heddle_blas::C32;
                $body
            }
            5 => {
                type $type = heddle_blas::C64;
                $body
            }
            _ => Err($crate::status::SparseError($crate::status::NOT_SUPPORTED)),
        }
    };
}

pub mod helper;
pub mod describe;
pub mod vectors;
pub mod products;
pub mod sums;
pub mod systems;
pub mod dense;
pub mod indices;
pub mod incomplete;
pub mod refused;

pub(crate) use heddle_blas::{C32, C64};

/// Reads `cusparseOperation_t`.
pub(crate) fn transpose(value: i32) -> crate::status::SparseResult<heddle_blas::Transpose> {
    use heddle_blas::Transpose;
    crate::status::valid((0..=2).contains(&value))?;
    Ok([Transpose::No, Transpose::Yes, Transpose::Conjugate][value as usize])
}

/// Returns a length; negative ones are errors.
pub(crate) fn length(value: i64) -> crate::status::SparseResult<usize> {
    crate::status::valid(value >= 0)?;
    Ok(value as usize)
}
