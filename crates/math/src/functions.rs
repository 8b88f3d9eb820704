//! The table of functions, by name.

use heddle_ir::Type;

/// A function of the library.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// Its name in C.
    pub name: &'static str,
    /// The type of its parameters and its result.
    pub ty: Type,
    /// How many parameters it has.
    pub params: usize,
    /// Its text, at most one unit in the last place off.
    pub exact: &'static str,
    /// Its text, at most four units off, if that is another one.
    pub fast: Option<&'static str>,
}

macro_rules! functions {
    ($($name:ident $ty:ident $params:literal)*) => {
        /// All functions, in the order of their names.
        pub const FUNCTIONS: &[Own] = &[$(Own {
            name: stringify!($name),
            ty: Type::$ty,
            params: $params,
            exact: include_str!(concat!("../hed/", stringify!($name), ".hed")),
            fast: None,
        }),*];
    };
}

functions! {
    acos F64 1
    acosf F32 1
    asin F64 1
    asinf F32 1
    atan F64 1
    atan2f F32 2
    atanf F32 1
    cbrtf F32 1
    cos F64 1
    cosf F32 1
    coshf F32 1
    erff F32 1
    exp F64 1
    exp10 F64 1
    exp10f F32 1
    exp2 F64 1
    exp2f F32 1
    expf F32 1
    expm1 F64 1
    expm1f F32 1
    hypotf F32 2
    log F64 1
    log10 F64 1
    log10f F32 1
    log1p F64 1
    log1pf F32 1
    log2 F64 1
    log2f F32 1
    logf F32 1
    powf F32 2
    sin F64 1
    sinf F32 1
    sinhf F32 1
    tanf F32 1
    tanhf F32 1
}
