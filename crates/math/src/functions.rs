//! Table of library functions, by name.

use heddle_ir::Type;

/// Library function.
#[derive(Clone, Copy, Debug)]
pub struct MathFunction {
    /// C name.
    pub name: &'static str,
    /// Type of parameters and result.
    pub ty: Type,
    /// Number of parameters.
    pub params: usize,
    /// IR text, within one unit in the last place.
    pub exact: &'static str,
    /// IR text within four units, if it differs.
    pub fast: Option<&'static str>,
}

macro_rules! text {
    (exact $name:ident) => {
        None
    };
    (fast $name:ident) => {
        Some(include_str!(concat!("../hed/fast/", stringify!($name), ".hed")))
    };
}

macro_rules! functions {
    ($($name:ident $ty:ident $params:literal $quickest:ident)*) => {
        /// All functions, sorted by name.
        pub const FUNCTIONS: &[MathFunction] = &[$(MathFunction {
            name: stringify!($name),
            ty: Type::$ty,
            params: $params,
            exact: include_str!(concat!("../hed/", stringify!($name), ".hed")),
            fast: text!($quickest $name),
        }),*];
    };
}

functions! {
    acos F64 1 fast
    acosf F32 1 fast
    asin F64 1 fast
    asinf F32 1 fast
    atan F64 1 fast
    atan2 F64 2 fast
    atan2f F32 2 fast
    atanf F32 1 fast
    cbrt F64 1 exact
    cbrtf F32 1 exact
    cos F64 1 fast
    cosf F32 1 fast
    cosh F64 1 exact
    coshf F32 1 exact
    erff F32 1 exact
    exp F64 1 exact
    exp10 F64 1 exact
    exp10f F32 1 exact
    exp2 F64 1 exact
    exp2f F32 1 exact
    expf F32 1 exact
    expm1 F64 1 exact
    expm1f F32 1 exact
    fmod F64 2 exact
    fmodf F32 2 exact
    hypot F64 2 exact
    hypotf F32 2 exact
    log F64 1 fast
    log10 F64 1 fast
    log10f F32 1 fast
    log1p F64 1 fast
    log1pf F32 1 fast
    log2 F64 1 fast
    log2f F32 1 fast
    logf F32 1 fast
    pow F64 2 exact
    powf F32 2 fast
    sin F64 1 fast
    sinf F32 1 fast
    sinh F64 1 exact
    sinhf F32 1 exact
    tan F64 1 fast
    tanf F32 1 fast
    tanh F64 1 fast
    tanhf F32 1 fast
}
