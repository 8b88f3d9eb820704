//! Complex transforms of one size: of single sequences, and of many in lanes.

use crate::block::LaneBlock;
use crate::factors::{balanced_factor, fast_size, rounded_root};
use crate::passes::LanePasses;
use crate::simd::FftReal;
use crate::view::{SequencesView, with_scratch};
use heddle_blas::batch::for_each;

/// Least number of rows of a matrix that a long sequence is made.
const LEAST_FACTOR: usize = 6;

/// Largest size of which batches in any arrangement are faster in lanes than as matrices.
const LARGEST_IN_LANES: usize = 256;

/// Algorithm for a size.
#[derive(Debug)]
enum SequenceAlgorithm<R> {
    /// In lanes only.
    Lanes(LanePasses<R>),
    /// A matrix for single sequences.
    Matrix {
        /// All of it, for many sequences.
        whole: LanePasses<R>,
        /// Transforms of the columns: their size is the number of rows.
        columns: LanePasses<R>,
        /// Transforms of the rows.
        rows: LanePasses<R>,
        /// Lanes of a block of columns, and of rows.
        lanes: [usize; 2],
        /// Roots for each block of columns, as [`LaneBlock::factors`] takes them.
        roots: Vec<R>,
    },
    /// A convolution of a size whose transforms are fast.
    Convolution {
        /// Transforms of that size.
        inner: Box<SequencePlan<R>>,
        /// `exp(-πi k² / size)`.
        chirp: Vec<[R; 2]>,
        /// Transform of the conjugated chirp, divided by the inner size.
        filter: Vec<[R; 2]>,
    },
}

/// Plan for transforms of one size.
#[derive(Debug)]
pub struct SequencePlan<R> {
    /// Elements of a sequence.
    pub size: usize,
    algorithm: SequenceAlgorithm<R>,
}

/// Direction of a transform: the sign of the exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Negative.
    Forward,
    /// Positive.
    Inverse,
}

/// Returns the lanes of blocks for some sequences.
fn block_lanes<R: FftReal>(size: usize, count: usize) -> usize {
    let mut lanes = R::lanes().max(if count > R::lanes() { 16 } else { 0 });
    while lanes < count && 2 * lanes * size <= 2048 {
        lanes *= 2;
    }
    lanes.min(count.next_multiple_of(R::lanes()))
}

impl<R: FftReal> SequencePlan<R> {
    /// Plans transforms of a size of at least 1.
    pub fn new(size: usize) -> Self {
        let algorithm = match LanePasses::new(size) {
            None => Self::convolution(size),
            Some(whole) => match balanced_factor(size, LEAST_FACTOR) {
                Some(factor) => Self::matrix(whole, factor),
                None => SequenceAlgorithm::Lanes(whole),
            },
        };
        SequencePlan { size, algorithm }
    }

    fn matrix(whole: LanePasses<R>, rows: usize) -> SequenceAlgorithm<R> {
        let size = whole.size;
        let columns = size / rows;
        let (Some(of_columns), Some(of_rows)) = (LanePasses::new(rows), LanePasses::new(columns)) else {
            return SequenceAlgorithm::Lanes(whole);
        };
        let lanes = [block_lanes::<R>(rows, columns), block_lanes::<R>(columns, rows)];
        let plane = rows * lanes[0];
        let mut roots = vec![R::ZERO; columns.div_ceil(lanes[0]) * 2 * plane];
        for (block, roots) in roots.chunks_mut(2 * plane).enumerate() {
            let (re, im) = roots.split_at_mut(plane);
            for (at, (re, im)) in re.iter_mut().zip(im).enumerate() {
                let (element, column) = (at / lanes[0], block * lanes[0] + at % lanes[0]);
                [*re, *im] = rounded_root((element * column) as u64, size as u64);
            }
        }
        SequenceAlgorithm::Matrix { whole, columns: of_columns, rows: of_rows, lanes, roots }
    }

    fn convolution(size: usize) -> SequenceAlgorithm<R> {
        let inner = SequencePlan::new(fast_size(2 * size - 1));
        let square = |k: usize| (k as u128 * k as u128 % (2 * size as u128)) as u64;
        let chirp: Vec<[R; 2]> = (0..size).map(|k| rounded_root(square(k), 2 * size as u64)).collect();
        // In double precision: rounding its numbers would be an error of all outputs.
        let mut filter = vec![[0.0f64; 2]; inner.size];
        for k in 0..size {
            let [re, im] = rounded_root::<f64>(square(k), 2 * size as u64);
            let value = [re / inner.size as f64, -im / inner.size as f64];
            filter[k] = value;
            filter[(inner.size - k) % inner.size] = value;
        }
        let view = SequencesView::complex(filter.as_mut_ptr().cast::<f64>(), 1, 0);
        let exact = SequencePlan::<f64>::new(inner.size);
        // SAFETY: the view is of the filter.
        unsafe { exact.transform_one(view, view, Direction::Forward) };
        let filter = filter.into_iter().map(|value| value.map(R::from_f64)).collect();
        SequenceAlgorithm::Convolution { inner: Box::new(inner), chirp, filter }
    }

    /// True if single sequences are as fast as sequences in lanes.
    pub fn prefers_single(&self) -> bool {
        !matches!(self.algorithm, SequenceAlgorithm::Lanes(_)) && self.size > LARGEST_IN_LANES
    }

    /// Transforms some sequences. A target may be its source.
    ///
    /// # Safety
    /// The sequences are there; sources and targets that are not the same do not overlap.
    pub unsafe fn transform(
        &self,
        source: SequencesView<R>,
        target: SequencesView<R>,
        count: usize,
        direction: Direction,
    ) {
        let are_near = source.lane.abs() == 2 && target.lane.abs() == 2;
        let is_small = self.size <= LARGEST_IN_LANES && count >= R::lanes();
        let passes = match &self.algorithm {
            SequenceAlgorithm::Lanes(passes) => passes,
            SequenceAlgorithm::Matrix { whole, .. } if count > 1 && (are_near || is_small) => whole,
            _ => {
                let each = |lane: usize| {
                    // SAFETY: the caller's promise.
                    unsafe { self.transform_one(source.from(lane), target.from(lane), direction) }
                };
                // SAFETY: sequences are apart.
                return unsafe { for_each(count, self.work(), each) };
            }
        };
        let lanes = block_lanes::<R>(self.size, count);
        let swapped = direction == Direction::Inverse;
        let all = LaneBlock {
            passes,
            source,
            target,
            count,
            lanes,
            swap_source: swapped,
            swap_target: swapped,
            factors: None,
        };
        // SAFETY: the caller's promise.
        unsafe { all.run(self.work()) };
    }

    /// Returns about as many multiplications as a transform takes.
    pub(crate) fn work(&self) -> usize {
        self.size * (2 + self.size.ilog2() as usize)
    }

    /// Transforms one sequence.
    ///
    /// # Safety
    /// As for [`SequencePlan::transform`].
    pub unsafe fn transform_one(
        &self,
        source: SequencesView<R>,
        target: SequencesView<R>,
        direction: Direction,
    ) {
        match &self.algorithm {
            // SAFETY: the caller's promise.
            SequenceAlgorithm::Lanes(_) => unsafe { self.transform(source, target, 1, direction) },
            SequenceAlgorithm::Matrix { columns, rows, lanes, roots, .. } => {
                with_scratch(2 * self.size, |between| {
                    let between = SequencesView::complex(between, 1, columns.size as isize);
                    // SAFETY: the caller's promise; the scratch memory has room for the sequence.
                    unsafe {
                        self.columns(columns, rows.size, lanes[0], roots, source, between, direction);
                        self.rows(rows, columns.size, lanes[1], between, target, direction);
                    }
                });
            }
            SequenceAlgorithm::Convolution { inner, chirp, filter } => {
                with_scratch(2 * inner.size, |work| {
                    // SAFETY: the caller's promise; the scratch memory has room for the inner sequence.
                    unsafe { self.convolve(inner, chirp, filter, work, source, target, direction) }
                });
            }
        }
    }

    /// Transforms the columns of the matrix, and stores each as a row.
    ///
    /// # Safety
    /// As for [`SequencePlan::transform`].
    #[allow(clippy::too_many_arguments)]
    unsafe fn columns(
        &self,
        passes: &LanePasses<R>,
        columns: usize,
        lanes: usize,
        roots: &[R],
        source: SequencesView<R>,
        between: SequencesView<R>,
        direction: Direction,
    ) {
        let matrix =
            SequencesView { element: columns as isize * source.element, lane: source.element, ..source };
        let all = LaneBlock {
            passes,
            source: matrix,
            target: between,
            count: columns,
            lanes,
            swap_source: direction == Direction::Inverse,
            swap_target: false,
            factors: Some(roots),
        };
        // SAFETY: the caller's promise.
        unsafe { all.run(passes.size * 8) };
    }

    /// Transforms what [`SequencePlan::columns`] has stored.
    ///
    /// # Safety
    /// As for [`SequencePlan::transform`].
    unsafe fn rows(
        &self,
        passes: &LanePasses<R>,
        rows: usize,
        lanes: usize,
        between: SequencesView<R>,
        target: SequencesView<R>,
        direction: Direction,
    ) {
        let source = SequencesView { element: between.lane, lane: between.element, ..between };
        let matrix =
            SequencesView { element: rows as isize * target.element, lane: target.element, ..target };
        let all = LaneBlock {
            passes,
            source,
            target: matrix,
            count: rows,
            lanes,
            swap_source: false,
            swap_target: direction == Direction::Inverse,
            factors: None,
        };
        // SAFETY: the caller's promise.
        unsafe { all.run(passes.size * 8) };
    }

    /// Transforms one sequence by a convolution.
    ///
    /// # Safety
    /// As for [`SequencePlan::transform`].
    #[allow(clippy::too_many_arguments)]
    unsafe fn convolve(
        &self,
        inner: &SequencePlan<R>,
        chirp: &[[R; 2]],
        filter: &[[R; 2]],
        work: *mut R,
        source: SequencesView<R>,
        target: SequencesView<R>,
        direction: Direction,
    ) {
        let view = SequencesView::complex(work, 1, 0);
        let swapped = direction == Direction::Inverse;
        // SAFETY: the caller's promise; the scratch memory has room for the inner sequence.
        unsafe {
            let numbers = std::slice::from_raw_parts_mut(work.cast::<[R; 2]>(), inner.size);
            for (k, (number, factor)) in numbers.iter_mut().zip(chirp).enumerate() {
                let at = source.at(k, 0);
                let pair = [at.read(), source.imaginary.map_or(R::ZERO, |im| at.offset(im).read())];
                *number = product(swap(pair, swapped), *factor);
            }
            numbers[self.size..].fill([R::ZERO; 2]);
            inner.transform_one(view, view, Direction::Forward);
            let numbers = std::slice::from_raw_parts_mut(work.cast::<[R; 2]>(), inner.size);
            for (number, factor) in numbers.iter_mut().zip(filter) {
                *number = product(*number, *factor);
            }
            inner.transform_one(view, view, Direction::Inverse);
            let numbers = std::slice::from_raw_parts_mut(work.cast::<[R; 2]>(), inner.size);
            for (k, (number, factor)) in numbers.iter().zip(chirp).enumerate() {
                let [re, im] = swap(product(*number, *factor), swapped);
                let at = target.at(k, 0);
                at.write(re);
                if let Some(distance) = target.imaginary {
                    at.offset(distance).write(im);
                }
            }
        }
    }
}

fn swap<R>([re, im]: [R; 2], swapped: bool) -> [R; 2] {
    if swapped { [im, re] } else { [re, im] }
}

/// Returns the product of complex numbers.
#[inline(always)]
pub(crate) fn product<R: FftReal>(a: [R; 2], b: [R; 2]) -> [R; 2] {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}
