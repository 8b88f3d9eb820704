//! The declared functions that the interpreter knows: the mathematical library, by its C names.
//!
//! `libm` computes them, so that they give the same bits on every machine; a NaN is the canonical one.

use crate::elementwise::format;
use heddle_ir::Scalar;

/// The value of the function for one lane; none if there is no such function of these types.
pub(crate) fn call(name: &str, params: &[Scalar], result: Scalar, args: &[u128]) -> Option<u128> {
    if params.iter().any(|&param| param != result) {
        return None;
    }
    let bits = match (result, args) {
        (Scalar::F64, &[x]) => unary64(name).map(|f| f(f64::from_bits(x as u64)).to_bits().into()),
        (Scalar::F64, &[x, y]) => {
            binary64(name).map(|f| f(f64::from_bits(x as u64), f64::from_bits(y as u64)).to_bits().into())
        }
        (Scalar::F32, &[x]) => unary32(name).map(|f| f(f32::from_bits(x as u32)).to_bits().into()),
        (Scalar::F32, &[x, y]) => {
            binary32(name).map(|f| f(f32::from_bits(x as u32), f32::from_bits(y as u32)).to_bits().into())
        }
        _ => None,
    }?;
    let of = format(result);
    Some(if of.is_nan(bits) { of.canonical_nan() } else { bits })
}

macro_rules! by_name {
    ($table:ident: $type:ty { $($name:ident)* }) => {
        fn $table(name: &str) -> Option<$type> {
            match name { $(stringify!($name) => Some(libm::$name),)* _ => None }
        }
    };
}

by_name!(unary64: fn(f64) -> f64 {
    acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp10 exp2 expm1 log log10 log1p log2 sin sinh tan
    tanh tgamma lgamma
});
by_name!(unary32: fn(f32) -> f32 {
    acosf acoshf asinf asinhf atanf atanhf cbrtf cosf coshf erff erfcf expf exp10f exp2f expm1f logf log10f log1pf
    log2f sinf sinhf tanf tanhf tgammaf lgammaf
});
by_name!(binary64: fn(f64, f64) -> f64 { atan2 fdim hypot pow remainder nextafter });
by_name!(binary32: fn(f32, f32) -> f32 { atan2f fdimf hypotf powf remainderf nextafterf });
