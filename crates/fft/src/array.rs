//! Transforms of batches of arrays with one or more dimensions.

use crate::real::RealPlan;
use crate::sequence::{Direction, SequencePlan};
use crate::simd::FftReal;
use crate::view::{SequencesView, with_scratch};
use heddle_blas::batch::for_each;

/// Kind of a transform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransformKind {
    /// Complex numbers into complex numbers.
    Complex,
    /// Real numbers into half a spectrum.
    RealToComplex,
    /// Half a spectrum into real numbers.
    ComplexToReal,
}

/// Arrangement of a batch in memory, in elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayLayout {
    /// From one element of each dimension to the next; the last dimension has the smallest.
    pub strides: Vec<isize>,
    /// From one array to the next.
    pub batch: isize,
}

impl ArrayLayout {
    /// Returns the layout of arrays in memory of these sizes, with a distance between elements and one between arrays.
    pub fn embedded(sizes: &[usize], stride: isize, batch: isize) -> Self {
        let mut strides = vec![stride; sizes.len()];
        for i in (1..sizes.len()).rev() {
            strides[i - 1] = strides[i] * sizes[i] as isize;
        }
        ArrayLayout { strides, batch }
    }
}

/// Plan for transforms of arrays of one shape.
#[derive(Debug)]
pub struct ArrayTransform<R> {
    sizes: Vec<usize>,
    kind: TransformKind,
    batch: usize,
    /// Plans of all dimensions; the last one of real transforms has `real`.
    plans: Vec<Option<SequencePlan<R>>>,
    real: Option<RealPlan<R>>,
}

/// Sequences of a dimension: those next to each other, and starts of such groups.
struct Axis {
    /// From one element of a sequence to the next, in source and target.
    strides: [isize; 2],
    /// Number of sequences next to each other, and the distance from one to the next.
    lanes: usize,
    lane: [isize; 2],
    /// Sizes and strides of the other dimensions.
    outer: Vec<(usize, [isize; 2])>,
}

impl Axis {
    /// Returns the starts of a group, in elements.
    fn start(&self, mut group: usize) -> [isize; 2] {
        let mut start = [0; 2];
        for &(count, strides) in self.outer.iter().rev() {
            let index = (group % count) as isize;
            start = [start[0] + index * strides[0], start[1] + index * strides[1]];
            group /= count;
        }
        start
    }

    fn groups(&self) -> usize {
        self.outer.iter().map(|(count, _)| count).product()
    }
}

impl<R: FftReal> ArrayTransform<R> {
    /// Plans transforms of arrays with one or more sizes of at least 1.
    pub fn new(sizes: &[usize], kind: TransformKind, batch: usize) -> Self {
        let last = sizes.len().saturating_sub(1);
        let is_real = kind != TransformKind::Complex;
        let plan = |(dimension, &size): (usize, &usize)| {
            (!is_real || dimension != last).then(|| SequencePlan::new(size))
        };
        ArrayTransform {
            sizes: sizes.to_vec(),
            kind,
            batch,
            plans: sizes.iter().enumerate().map(plan).collect(),
            real: sizes.last().filter(|_| is_real).map(|&size| RealPlan::new(size)),
        }
    }

    /// Returns the complex numbers of each dimension.
    fn spectrum(&self) -> Vec<usize> {
        let mut sizes = self.sizes.clone();
        if let (Some(last), Some(_)) = (sizes.last_mut(), &self.real) {
            *last = *last / 2 + 1;
        }
        sizes
    }

    /// Returns the sequences of a dimension.
    fn axis(&self, dimension: usize, sizes: &[usize], from: &ArrayLayout, to: &ArrayLayout) -> Axis {
        let mut others: Vec<(usize, [isize; 2])> = (0..sizes.len())
            .filter(|&other| other != dimension)
            .map(|other| (sizes[other], [from.strides[other], to.strides[other]]))
            .collect();
        others.insert(0, (self.batch, [from.batch, to.batch]));
        // Those next to each other are the lanes.
        let nearest = others.iter().enumerate().filter(|(_, (count, _))| *count > 1);
        let nearest =
            nearest.min_by_key(|(_, (_, strides))| strides[1].unsigned_abs()).map_or(0, |(at, _)| at);
        let (lanes, lane) = others.remove(nearest);
        Axis { strides: [from.strides[dimension], to.strides[dimension]], lanes, lane, outer: others }
    }

    /// Transforms a batch. The target may begin at the source's address if each array has its own memory there.
    ///
    /// # Safety
    /// The arrays are there by their layouts, and do not overlap but in the same places.
    pub unsafe fn run(
        &self,
        source: *const R,
        from: &ArrayLayout,
        target: *mut R,
        to: &ArrayLayout,
        direction: Direction,
    ) {
        let Some(last) = self.sizes.len().checked_sub(1) else { return };
        if self.batch == 0 {
            return;
        }
        let source = source.cast_mut();
        // SAFETY: the caller's promise.
        unsafe {
            match self.kind {
                TransformKind::Complex => {
                    self.complex(last, &self.sizes, [source, target], [from, to], direction);
                    for dimension in (0..last).rev() {
                        self.complex(dimension, &self.sizes, [target, target], [to, to], direction);
                    }
                }
                TransformKind::RealToComplex => {
                    self.real(source, from, target, to, Direction::Forward);
                    for dimension in (0..last).rev() {
                        let sizes = self.spectrum();
                        self.complex(dimension, &sizes, [target, target], [to, to], Direction::Forward);
                    }
                }
                TransformKind::ComplexToReal if last == 0 => {
                    self.real(target, to, source, from, Direction::Inverse);
                }
                TransformKind::ComplexToReal => {
                    // The source stays as it is.
                    let sizes = self.spectrum();
                    let elements: usize = sizes.iter().product();
                    let between = ArrayLayout::embedded(&sizes, 1, elements as isize);
                    with_scratch(2 * elements * self.batch, |work: *mut R| {
                        self.complex(0, &sizes, [source, work], [from, &between], Direction::Inverse);
                        for dimension in 1..last {
                            self.complex(dimension, &sizes, [work, work], [&between; 2], Direction::Inverse);
                        }
                        self.real(target, to, work, &between, Direction::Inverse);
                    });
                }
            }
        }
    }

    /// Transforms complex sequences of a dimension.
    ///
    /// # Safety
    /// As for [`ArrayTransform::run`].
    unsafe fn complex(
        &self,
        dimension: usize,
        sizes: &[usize],
        pointers: [*mut R; 2],
        layouts: [&ArrayLayout; 2],
        direction: Direction,
    ) {
        let Some(plan) = &self.plans[dimension] else { return };
        let axis = self.axis(dimension, sizes, layouts[0], layouts[1]);
        let views = [0, 1].map(|i| SequencesView::complex(pointers[i], axis.strides[i], axis.lane[i]));
        let group = |group: usize| {
            let start = axis.start(group);
            let [source, target] = [0, 1].map(|i| views[i].offset(2 * start[i]));
            // SAFETY: the caller's promise.
            unsafe { plan.transform(source, target, axis.lanes, direction) };
        };
        let work = axis.lanes * plan.work();
        // SAFETY: groups are apart.
        unsafe { for_each(axis.groups(), work, group) };
    }

    /// Transforms between the last dimension's real numbers and spectra.
    ///
    /// # Safety
    /// As for [`ArrayTransform::run`].
    unsafe fn real(
        &self,
        real: *mut R,
        of_real: &ArrayLayout,
        complex: *mut R,
        of_complex: &ArrayLayout,
        direction: Direction,
    ) {
        let Some(plan) = &self.real else { return };
        let axis = self.axis(self.sizes.len() - 1, &self.sizes, of_real, of_complex);
        let real = SequencesView::real(real, axis.strides[0], axis.lane[0]);
        let complex = SequencesView::complex(complex, axis.strides[1], axis.lane[1]);
        let group = |group: usize| {
            let start = axis.start(group);
            // SAFETY: the caller's promise.
            unsafe {
                plan.transform(real.offset(start[0]), complex.offset(2 * start[1]), axis.lanes, direction)
            };
        };
        let work = axis.lanes * plan.work();
        // SAFETY: groups are apart.
        unsafe { for_each(axis.groups(), work, group) };
    }
}
