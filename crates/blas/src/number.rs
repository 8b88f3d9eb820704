//! Numbers that routines compute with.

use crate::kernel::{self, ProductKernel};
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// Real or complex number in one of two precisions.
pub trait Number:
    Copy
    + Debug
    + Default
    + PartialEq
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + 'static
{
    /// Type of real and imaginary parts.
    type Real: Real;

    /// True for complex numbers.
    const IS_COMPLEX: bool;
    /// One.
    const ONE: Self;
    /// Zero.
    const ZERO: Self;

    /// Returns the number with these parts; a real number ignores the imaginary one.
    fn from_parts(re: Self::Real, im: Self::Real) -> Self;
    /// Returns the real part.
    fn re(self) -> Self::Real;
    /// Returns the imaginary part.
    fn im(self) -> Self::Real;
    /// Returns the conjugate.
    fn conj(self) -> Self;

    /// Returns a real number as one of this type.
    #[inline(always)]
    fn from_real(re: Self::Real) -> Self {
        Self::from_parts(re, Self::Real::ZERO)
    }

    /// Returns the conjugate if that is wanted.
    #[inline(always)]
    fn conj_if(self, wanted: bool) -> Self {
        if wanted { self.conj() } else { self }
    }

    /// Returns the sum of the parts' magnitudes, by which BLAS compares.
    #[inline(always)]
    fn magnitude(self) -> Self::Real {
        self.re().abs() + self.im().abs()
    }

    /// Returns the absolute value, without overflow of intermediate results.
    fn modulus(self) -> Self::Real;

    /// Returns the innermost loop of products, for the machine's registers and the size of the result.
    fn product_kernel(m: usize, n: usize) -> ProductKernel<Self::Real>;
}

/// Real number.
pub trait Real: Number<Real = Self> + PartialOrd {
    /// Returns the absolute value.
    fn abs(self) -> Self;
    /// Returns the square root.
    fn sqrt(self) -> Self;
    /// Returns the value in double precision.
    fn to_f64(self) -> f64;
    /// Returns the nearest value to one of double precision.
    fn from_f64(value: f64) -> Self;
    /// Returns the innermost loop of products of complex numbers with such parts.
    fn complex_product_kernel() -> ProductKernel<Self>;
}

macro_rules! real {
    ($($type:ident)*) => {$(
        impl Number for $type {
            type Real = $type;
            const IS_COMPLEX: bool = false;
            const ONE: $type = 1.0;
            const ZERO: $type = 0.0;

            #[inline(always)]
            fn from_parts(re: $type, _im: $type) -> $type {
                re
            }
            #[inline(always)]
            fn re(self) -> $type {
                self
            }
            #[inline(always)]
            fn im(self) -> $type {
                0.0
            }
            #[inline(always)]
            fn conj(self) -> $type {
                self
            }
            #[inline(always)]
            fn modulus(self) -> $type {
                self.abs()
            }
            fn product_kernel(m: usize, n: usize) -> ProductKernel<$type> {
                kernel::$type(m, n)
            }
        }

        impl Real for $type {
            #[inline(always)]
            fn abs(self) -> $type {
                $type::abs(self)
            }
            #[inline(always)]
            fn sqrt(self) -> $type {
                $type::sqrt(self)
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast)]
            fn from_f64(value: f64) -> $type {
                value as $type
            }
            fn complex_product_kernel() -> ProductKernel<$type> {
                kernel::complex::$type()
            }
        }
    )*};
}

real! { f32 f64 }

/// Complex number, as C stores it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Complex<R> {
    /// The real part.
    pub re: R,
    /// The imaginary part.
    pub im: R,
}

/// Complex number in single precision.
pub type C32 = Complex<f32>;
/// Complex number in double precision.
pub type C64 = Complex<f64>;
/// Real type of a kind of numbers.
pub type Re<T> = <T as Number>::Real;

impl<R: Real> Add for Complex<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
}

impl<R: Real> Sub for Complex<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Complex { re: self.re - other.re, im: self.im - other.im }
    }
}

impl<R: Real> Mul for Complex<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl<R: Real> Div for Complex<R> {
    type Output = Self;
    /// Divides by Smith's method, which scales by the larger part of the divisor.
    #[inline]
    fn div(self, other: Self) -> Self {
        if other.re.abs() >= other.im.abs() {
            let ratio = other.im / other.re;
            let scale = other.re + other.im * ratio;
            Complex { re: (self.re + self.im * ratio) / scale, im: (self.im - self.re * ratio) / scale }
        } else {
            let ratio = other.re / other.im;
            let scale = other.re * ratio + other.im;
            Complex { re: (self.re * ratio + self.im) / scale, im: (self.im * ratio - self.re) / scale }
        }
    }
}

impl<R: Real> Neg for Complex<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Complex { re: -self.re, im: -self.im }
    }
}

impl<R: Real> AddAssign for Complex<R> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<R: Real> SubAssign for Complex<R> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<R: Real> Number for Complex<R> {
    type Real = R;
    const IS_COMPLEX: bool = true;
    const ONE: Self = Complex { re: R::ONE, im: R::ZERO };
    const ZERO: Self = Complex { re: R::ZERO, im: R::ZERO };

    #[inline(always)]
    fn from_parts(re: R, im: R) -> Self {
        Complex { re, im }
    }
    #[inline(always)]
    fn re(self) -> R {
        self.re
    }
    #[inline(always)]
    fn im(self) -> R {
        self.im
    }
    #[inline(always)]
    fn conj(self) -> Self {
        Complex { re: self.re, im: -self.im }
    }
    #[inline]
    fn modulus(self) -> R {
        R::from_f64(self.re.to_f64().hypot(self.im.to_f64()))
    }
    fn product_kernel(_m: usize, _n: usize) -> ProductKernel<R> {
        R::complex_product_kernel()
    }
}
