//! Numbers of distributions from bits, by the formulas of cuRAND's device interface.

/// 2⁻³² and 2⁻⁵³
const INV_32: f64 = 1.0 / 4_294_967_296.0;
const INV_53: f64 = 1.0 / 9_007_199_254_740_992.0;

/// Returns a float between 0 and 1, without 0.
#[inline(always)]
pub fn uniform(bits: u32) -> f32 {
    bits as f32 * INV_32 as f32 + (INV_32 / 2.0) as f32
}

/// Returns a double between 0 and 1, without 0, from 32 bits.
#[inline(always)]
pub fn uniform_double(bits: u32) -> f64 {
    f64::from(bits) * INV_32 + INV_32
}

/// Returns a double between 0 and 1, without 0, from 64 bits.
#[inline(always)]
pub fn uniform_double_wide(bits: u64) -> f64 {
    (bits >> 11) as f64 * INV_53 + INV_53 / 2.0
}

/// Returns a double between 0 and 1, without 0, from two draws.
#[inline(always)]
pub fn uniform_double_of_two([x, y]: [u32; 2]) -> f64 {
    (u64::from(x) ^ (u64::from(y) << 21)) as f64 * INV_53 + INV_53 / 2.0
}

/// Returns two normal floats from uniform ones.
#[inline(always)]
pub fn normal_pair(x: f32, turn: f32) -> [f32; 2] {
    let radius = (-2.0 * x.ln()).sqrt();
    let (sin, cos) = turn.sin_cos();
    [radius * sin, radius * cos]
}

/// Returns an angle from 32 bits.
#[inline(always)]
pub fn angle(bits: u32) -> f32 {
    const FACTOR: f32 = INV_32 as f32 * std::f32::consts::TAU;
    bits as f32 * FACTOR + FACTOR / 2.0
}

/// Returns two normal doubles from uniform ones.
#[inline(always)]
pub fn normal_pair_double(x: f64, y: f64) -> [f64; 2] {
    let radius = (-2.0 * x.ln()).sqrt();
    let (sin, cos) = (y * std::f64::consts::TAU).sin_cos();
    [radius * sin, radius * cos]
}

/// Returns the normal number below which a share `p` of all lies: Acklam's rational approximation, improved by one step of Halley's method.
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];
    let polynomial = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    // Mirroring keeps small shares exact.
    if p > 0.5 {
        return -normal_quantile((1.0 - p).max(INV_53 / 2.0));
    }
    let x = if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    } else {
        let q = p - 0.5;
        let r = q * q;
        polynomial(&A, r) * q / (polynomial(&B, r) * r + 1.0)
    };
    let error = 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2) - p;
    let step = error * std::f64::consts::TAU.sqrt() * (x * x / 2.0).exp();
    x - step / (1.0 + x * step / 2.0)
}
