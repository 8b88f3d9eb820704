//! Transforms between real numbers and the half of their spectrum that is not redundant.
//!
//! Pairs of an even number of real numbers are one complex sequence of half the size; an odd number has zeros as imaginary parts.

use crate::factors::rounded_root;
use crate::sequence::{Direction, SequencePlan, product};
use crate::simd::FftReal;
use crate::view::{SequencesView, with_scratch};
use heddle_blas::batch::for_each;

/// Plan for real transforms of one size.
#[derive(Debug)]
pub struct RealPlan<R> {
    /// Real numbers of a sequence.
    pub size: usize,
    complex: SequencePlan<R>,
    /// `exp(-2πi k / size)`, below half the size.
    roots: Vec<[R; 2]>,
}

/// Sequences that share their work: as many as wide vectors have lanes.
const GROUP: usize = 16;

impl<R: FftReal> RealPlan<R> {
    /// Plans transforms of a size of at least 1.
    pub fn new(size: usize) -> Self {
        let is_even = size.is_multiple_of(2);
        RealPlan {
            size,
            complex: SequencePlan::new(if is_even { size / 2 } else { size }),
            roots: if is_even {
                (0..size / 2).map(|k| rounded_root(k as u64, size as u64)).collect()
            } else {
                Vec::new()
            },
        }
    }

    /// Returns about as many multiplications as a transform takes.
    pub(crate) fn work(&self) -> usize {
        self.size * (2 + self.size.ilog2() as usize) / 2
    }

    /// Transforms real sequences forward, or half spectra to them. `real` has real numbers and `complex` complex ones, by distances of
    /// its own; they may begin at one address, where a sequence and its spectrum have the same memory.
    ///
    /// # Safety
    /// The sequences are there.
    pub unsafe fn transform(
        &self,
        real: SequencesView<R>,
        complex: SequencesView<R>,
        count: usize,
        direction: Direction,
    ) {
        let group = if self.complex.prefers_single() { 1 } else { GROUP };
        let each = |index: usize| {
            let first = index * group;
            let (real, complex, count) = (real.from(first), complex.from(first), group.min(count - first));
            with_scratch(2 * self.complex.size * count, |work| {
                // Sequences of the group lie one next to the other.
                let work = SequencesView::complex(work, count as isize, 1);
                // SAFETY: the caller's promise; the scratch memory has room for the group.
                unsafe {
                    match direction {
                        Direction::Forward => self.forward(real, complex, work, count),
                        Direction::Inverse => self.inverse(complex, real, work, count),
                    }
                }
            });
        };
        let work = group * self.work();
        // SAFETY: sequences are apart.
        unsafe { for_each(count.div_ceil(group), work, each) };
    }

    /// Transforms real sequences of a group.
    ///
    /// # Safety
    /// As for [`RealPlan::transform`].
    unsafe fn forward(
        &self,
        real: SequencesView<R>,
        target: SequencesView<R>,
        work: SequencesView<R>,
        count: usize,
    ) {
        let half = self.size / 2;
        // SAFETY: the caller's promise.
        unsafe {
            if self.size % 2 == 1 {
                self.complex.transform(real, work, count, Direction::Forward);
                for k in 0..=half {
                    for q in 0..count {
                        target.at(k, q).cast::<[R; 2]>().write(work.at(k, q).cast::<[R; 2]>().read());
                    }
                }
                return;
            }
            let pairs = SequencesView::real_pairs(real.pointer, real.element, real.lane);
            self.complex.transform(pairs, work, count, Direction::Forward);
            for q in 0..count {
                let at = |k: usize| work.at(k, q).cast::<[R; 2]>().read();
                let put = |k: usize, value: [R; 2]| target.at(k, q).cast::<[R; 2]>().write(value);
                let [re, im] = at(0);
                put(0, [re + im, R::ZERO]);
                put(half, [re - im, R::ZERO]);
                if half.is_multiple_of(2) && half > 0 {
                    let [re, im] = at(half / 2);
                    put(half / 2, [re, -im]);
                }
                if work.element == 2 && target.element == 2 && half > 0 {
                    // Neighbours, for which loops become vectors.
                    let input = std::slice::from_raw_parts(work.at(1, q).cast::<[R; 2]>(), half - 1);
                    let output = std::slice::from_raw_parts_mut(target.at(1, q).cast::<[R; 2]>(), half - 1);
                    let (low, high) = output.split_at_mut((half - 1) / 2);
                    let inputs = input.iter().zip(input.iter().rev());
                    let outputs = low.iter_mut().zip(high.iter_mut().rev());
                    for ((inputs, outputs), root) in inputs.zip(outputs).zip(&self.roots[1..]) {
                        [*outputs.0, *outputs.1] = spectrum_pair(*inputs.0, *inputs.1, *root);
                    }
                } else {
                    for k in 1..half.div_ceil(2) {
                        let [low, high] = spectrum_pair(at(k), at(half - k), self.roots[k]);
                        put(k, low);
                        put(half - k, high);
                    }
                }
            }
        }
    }

    /// Transforms half spectra of a group.
    ///
    /// # Safety
    /// As for [`RealPlan::transform`].
    unsafe fn inverse(
        &self,
        source: SequencesView<R>,
        real: SequencesView<R>,
        work: SequencesView<R>,
        count: usize,
    ) {
        let half = self.size / 2;
        // SAFETY: the caller's promise.
        unsafe {
            for q in 0..count {
                let at = |k: usize| source.at(k, q).cast::<[R; 2]>().read();
                let put = |k: usize, value: [R; 2]| work.at(k, q).cast::<[R; 2]>().write(value);
                let [first, _] = at(0);
                if self.size % 2 == 1 {
                    put(0, [first, R::ZERO]);
                    for k in 1..=half {
                        let [re, im] = at(k);
                        put(k, [re, im]);
                        put(self.size - k, [re, -im]);
                    }
                    continue;
                }
                let [last, _] = at(half);
                put(0, [first + last, first - last]);
                for k in 1..half.div_ceil(2) {
                    let ([a, b], [c, d]) = (at(k), at(half - k));
                    let (even, odd) = ([a + c, b - d], [a - c, b + d]);
                    let [cos, sin] = self.roots[k];
                    let [re, im] = product(odd, [cos, -sin]);
                    put(k, [even[0] - im, even[1] + re]);
                    put(half - k, [even[0] + im, re - even[1]]);
                }
                if half.is_multiple_of(2) && half > 0 {
                    let [re, im] = at(half / 2);
                    put(half / 2, [re + re, -(im + im)]);
                }
            }
            let target = if self.size % 2 == 1 {
                real
            } else {
                SequencesView::real_pairs(real.pointer, real.element, real.lane)
            };
            self.complex.transform(work, target, count, Direction::Inverse);
        }
    }
}

/// Returns two numbers of a spectrum from those of the complex sequence, and the root of the first.
#[inline(always)]
fn spectrum_pair<R: FftReal>([a, b]: [R; 2], [c, d]: [R; 2], root: [R; 2]) -> [[R; 2]; 2] {
    let half = R::from_f64(0.5);
    // The spectra of the even numbers, and of the odd ones.
    let (even, odd) = ([half * (a + c), half * (b - d)], [half * (b + d), half * (c - a)]);
    let turned = product(odd, root);
    [[even[0] + turned[0], even[1] + turned[1]], [even[0] - turned[0], turned[1] - even[1]]]
}
