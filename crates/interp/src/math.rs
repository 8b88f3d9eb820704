//! Built-in functions: the C math library.
//!
//! `libm` computes them, so results are the same bits on every machine.

use crate::elementwise::format;
use heddle_ir::Scalar;

/// Evaluates the function for one lane; none if there is no such function of these types.
pub(crate) fn call(name: &str, params: &[Scalar], result: Scalar, args: &[u128]) -> Option<u128> {
    if params.iter().any(|&param| param != result) {
        return None;
    }
    let bits = match result {
        Scalar::F64 => {
            let number = |index: usize| args.get(index).map(|&bits| f64::from_bits(bits as u64));
            let value = match args.len() {
                1 => unary64(name)?(number(0)?),
                2 => binary64(name)?(number(0)?, number(1)?),
                _ => return None,
            };
            u128::from(value.to_bits())
        }
        Scalar::F32 => {
            let number = |index: usize| args.get(index).map(|&bits| f32::from_bits(bits as u32));
            let value = match args.len() {
                1 => unary32(name)?(number(0)?),
                2 => binary32(name)?(number(0)?, number(1)?),
                _ => return None,
            };
            u128::from(value.to_bits())
        }
        _ => return None,
    };
    let format = format(result);
    Some(if format.is_nan(bits) { format.canonical_nan() } else { bits })
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
