//! Stockham's passes over lanes.
//!
//! Element `i` of lane `q` is at `i * lanes + q`, real and imaginary parts in arrays of their own. A pass of radix r over sequences
//! of n = r·m elements in s lanes reads elements p + m·j and writes them at r·p + k; then there are s·r lanes of m elements each.

use crate::factors::{radices, rounded_root};
use crate::simd::{FftReal, Simd};
use heddle_blas::{Number as _, Real as _};

/// Pass of one radix.
#[derive(Debug)]
struct RadixPass<R> {
    radix: usize,
    /// Elements of a transform divided by the radix.
    rest: usize,
    /// For each p below `rest` and k from 1 below the radix, the root that multiplies an output.
    roots: Vec<[R; 2]>,
    /// Cosines and sines of multiples of a turn divided by an odd radix.
    circle: Vec<[R; 2]>,
}

/// Passes of transforms of one size.
#[derive(Debug)]
pub struct LanePasses<R> {
    /// Elements of a transform.
    pub size: usize,
    passes: Vec<RadixPass<R>>,
}

impl<R: FftReal> LanePasses<R> {
    /// Plans a size; a prime factor may be too large.
    pub fn new(size: usize) -> Option<Self> {
        let mut rest = size;
        let passes = radices(size)?.into_iter().map(|radix| {
            let whole = rest;
            rest /= radix;
            let of = |p: usize| (1..radix).map(move |k| rounded_root((p * k) as u64, whole as u64));
            RadixPass {
                radix,
                rest,
                roots: (0..rest).flat_map(of).collect(),
                circle: (0..radix)
                    .map(|k| {
                        let [cos, sin] = rounded_root::<R>(k as u64, radix as u64);
                        [cos, -sin]
                    })
                    .collect(),
            }
        });
        let passes = passes.collect();
        Some(LanePasses { size, passes })
    }

    /// Transforms the lanes; the result is in the second buffer if that is returned true. A buffer has the real parts first.
    ///
    /// # Safety
    /// Each buffer has room for real and imaginary parts, `plane` apart; lanes are whole vectors of the machine.
    #[inline(always)]
    pub(crate) unsafe fn run<V: Simd<Number = R>>(
        &self,
        lanes: usize,
        plane: usize,
        buffers: [*mut R; 2],
    ) -> bool {
        let mut stride = lanes;
        let mut is_second = false;
        for pass in &self.passes {
            let (from, to) = (buffers[usize::from(is_second)], buffers[usize::from(!is_second)]);
            // SAFETY: the caller's promise.
            unsafe {
                match pass.radix {
                    2 => pass.run::<V, 2>(stride, plane, from, to),
                    3 => pass.run::<V, 3>(stride, plane, from, to),
                    4 => pass.run::<V, 4>(stride, plane, from, to),
                    5 => pass.run::<V, 5>(stride, plane, from, to),
                    7 => pass.run::<V, 7>(stride, plane, from, to),
                    8 => pass.run::<V, 8>(stride, plane, from, to),
                    11 => pass.run::<V, 11>(stride, plane, from, to),
                    13 => pass.run::<V, 13>(stride, plane, from, to),
                    17 => pass.run::<V, 17>(stride, plane, from, to),
                    19 => pass.run::<V, 19>(stride, plane, from, to),
                    23 => pass.run::<V, 23>(stride, plane, from, to),
                    29 => pass.run::<V, 29>(stride, plane, from, to),
                    _ => pass.run::<V, 31>(stride, plane, from, to),
                }
            }
            stride *= pass.radix;
            is_second = !is_second;
        }
        is_second
    }
}

impl<R: FftReal> RadixPass<R> {
    /// # Safety
    /// As for [`LanePasses::run`].
    #[inline(always)]
    unsafe fn run<V: Simd<Number = R>, const N: usize>(
        &self,
        stride: usize,
        plane: usize,
        from: *const R,
        to: *mut R,
    ) {
        let step = self.rest * stride;
        for p in 0..self.rest {
            // SAFETY: there are as many roots; elements are below the plane's size by the caller's promise.
            unsafe {
                let roots = self.roots.as_ptr().add(p * (N - 1));
                let (from, to) = (from.add(p * stride), to.add(p * N * stride));
                let mut q = 0;
                while q < stride {
                    let mut values: [(V, V); N] = std::array::from_fn(|j| {
                        let at = from.add(j * step + q);
                        (V::load(at), V::load(at.add(plane)))
                    });
                    butterfly::<V, N>(&mut values, &self.circle);
                    for (k, (mut re, mut im)) in values.into_iter().enumerate() {
                        if k > 0 && self.rest > 1 {
                            let [cos, sin] = *roots.add(k - 1);
                            (re, im) = times(re, im, V::splat(cos), V::splat(sin));
                        }
                        let at = to.add(k * stride + q);
                        re.store(at);
                        im.store(at.add(plane));
                    }
                    q += V::LANES;
                }
            }
        }
    }
}

/// Returns the product of complex numbers.
///
/// # Safety
/// The machine has the instructions.
#[inline(always)]
pub(crate) unsafe fn times<V: Simd>(re: V, im: V, cos: V, sin: V) -> (V, V) {
    // SAFETY: the caller's promise.
    unsafe { (im.fnma(sin, re.mul(cos)), im.fma(cos, re.mul(sin))) }
}

/// # Safety
/// The machine has the instructions.
#[inline(always)]
unsafe fn two<V: Simd>(a: (V, V), b: (V, V)) -> [(V, V); 2] {
    // SAFETY: the caller's promise.
    unsafe { [(a.0.add(b.0), a.1.add(b.1)), (a.0.sub(b.0), a.1.sub(b.1))] }
}

/// Returns the transform of four numbers.
///
/// # Safety
/// The machine has the instructions.
#[inline(always)]
unsafe fn four<V: Simd>(x: [(V, V); 4]) -> [(V, V); 4] {
    // SAFETY: the caller's promise.
    unsafe {
        let ([a, b], [c, d]) = (two(x[0], x[2]), two(x[1], x[3]));
        let [first, third] = two(a, c);
        // The second is b - i d.
        [first, (b.0.add(d.1), b.1.sub(d.0)), third, (b.0.sub(d.1), b.1.add(d.0))]
    }
}

/// Transforms some numbers; the circle has the roots for odd radices.
///
/// # Safety
/// The machine has the instructions.
#[inline(always)]
unsafe fn butterfly<V: Simd, const N: usize>(x: &mut [(V, V); N], circle: &[[V::Number; 2]]) {
    // SAFETY: the caller's promise.
    unsafe {
        match N {
            2 => [x[0], x[1]] = two(x[0], x[1]),
            4 => [x[0], x[1], x[2], x[3]] = four([x[0], x[1], x[2], x[3]]),
            8 => {
                let even = four([x[0], x[2], x[4], x[6]]);
                let odd = four([x[1], x[3], x[5], x[7]]);
                let half = V::splat(V::Number::from_f64(std::f64::consts::FRAC_1_SQRT_2));
                let one = (odd[1].0.add(odd[1].1).mul(half), odd[1].1.sub(odd[1].0).mul(half));
                let three_re = odd[3].1.sub(odd[3].0).mul(half);
                let three_im = odd[3].0.add(odd[3].1).mul(half);
                [x[0], x[4]] = two(even[0], odd[0]);
                [x[1], x[5]] = two(even[1], one);
                // The root is -i.
                x[2] = (even[2].0.add(odd[2].1), even[2].1.sub(odd[2].0));
                x[6] = (even[2].0.sub(odd[2].1), even[2].1.add(odd[2].0));
                x[3] = (even[3].0.add(three_re), even[3].1.sub(three_im));
                x[7] = (even[3].0.sub(three_re), even[3].1.add(three_im));
            }
            _ => {
                let zero = V::splat(V::Number::ZERO);
                let mut total = x[0];
                let first = x[0];
                let mut pairs = [(zero, zero, zero, zero); 16];
                for k in 1..=N / 2 {
                    let [sum, difference] = two(x[k], x[N - k]);
                    total = (total.0.add(sum.0), total.1.add(sum.1));
                    pairs[k] = (sum.0, sum.1, difference.0, difference.1);
                }
                for j in 1..=N / 2 {
                    let (mut re, mut im) = first;
                    let (mut turned_re, mut turned_im) = (zero, zero);
                    for k in 1..=N / 2 {
                        let [cos, sin] = circle[j * k % N];
                        let (cos, sin) = (V::splat(cos), V::splat(sin));
                        let (sum_re, sum_im, difference_re, difference_im) = pairs[k];
                        re = sum_re.fma(cos, re);
                        im = sum_im.fma(cos, im);
                        turned_re = difference_re.fma(sin, turned_re);
                        turned_im = difference_im.fma(sin, turned_im);
                    }
                    x[j] = (re.add(turned_im), im.sub(turned_re));
                    x[N - j] = (re.sub(turned_im), im.add(turned_re));
                }
                x[0] = total;
            }
        }
    }
}
