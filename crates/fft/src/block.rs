//! Transforms of as many sequences as there are lanes: loaded into planes, transformed, stored.

use crate::passes::{LanePasses, times};
use crate::simd::{FftReal, Simd};
use crate::view::{SequencesView, with_scratch};
use heddle_blas::Number as _;
use heddle_blas::batch::for_each;

/// Sequences that are transformed in lanes, as many at once as there are lanes.
#[derive(Clone, Copy, Debug)]
pub struct LaneBlock<'a, R> {
    /// Passes of the size.
    pub passes: &'a LanePasses<R>,
    /// Sequences that are read.
    pub source: SequencesView<R>,
    /// Sequences that are written, after all are read.
    pub target: SequencesView<R>,
    /// Number of sequences.
    pub count: usize,
    /// Lanes of a block with those that have no sequence: whole vectors.
    pub lanes: usize,
    /// True if real and imaginary parts change places when they are loaded.
    pub swap_source: bool,
    /// True if real and imaginary parts change places when they are stored.
    pub swap_target: bool,
    /// Numbers that multiply the outputs: for each block, for each element all lanes, first real parts, then imaginary ones.
    pub factors: Option<&'a [R]>,
}

impl<R: FftReal> LaneBlock<'_, R> {
    /// Transforms the sequences block by block, on several threads if a sequence takes many multiplications (`work`).
    ///
    /// # Safety
    /// The sequences are there; sources and targets that are not the same do not overlap.
    pub(crate) unsafe fn run(&self, work: usize) {
        let (size, lanes) = (self.passes.size, self.lanes);
        let plane = size * lanes;
        let part = |number: usize| {
            let first = number * lanes;
            let part = LaneBlock {
                source: self.source.from(first),
                target: self.target.from(first),
                count: lanes.min(self.count - first),
                factors: self.factors.map(|all| &all[2 * number * plane..][..2 * plane]),
                ..*self
            };
            // SAFETY: the caller's promise; there is room for two buffers of real and imaginary parts.
            with_scratch(4 * plane, |scratch| unsafe { R::run(&part, scratch) });
        };
        // SAFETY: sequences are apart.
        unsafe { for_each(self.count.div_ceil(lanes), lanes * work, part) };
    }
}

/// Transforms the sequences of a block.
///
/// # Safety
/// The sequences are there, the scratch memory has room for two buffers, and the machine has the instructions.
#[inline(always)]
pub(crate) unsafe fn run_block<V: Simd>(block: &LaneBlock<'_, V::Number>, scratch: *mut V::Number) {
    let plane = block.passes.size * block.lanes;
    let buffers = [scratch, scratch.wrapping_add(2 * plane)];
    // SAFETY: the caller's promise; the scratch memory has both buffers.
    unsafe {
        load::<V>(block, buffers[0]);
        let result = buffers[usize::from(block.passes.run::<V>(block.lanes, plane, buffers))];
        if let Some(factors) = block.factors {
            multiply::<V>(block, factors, result);
        }
        store::<V>(block, result);
    }
}

/// # Safety
/// The planes are there, and the machine has the instructions.
#[inline(always)]
unsafe fn multiply<V: Simd>(block: &LaneBlock<'_, V::Number>, factors: &[V::Number], planes: *mut V::Number) {
    let plane = block.passes.size * block.lanes;
    assert!(factors.len() >= 2 * plane, "each element has a factor");
    // SAFETY: the caller's promise.
    unsafe {
        for at in (0..plane).step_by(V::LANES) {
            let (re, im) = (planes.add(at), planes.add(plane + at));
            let (cos, sin) = (V::load(factors.as_ptr().add(at)), V::load(factors.as_ptr().add(plane + at)));
            let product = times(V::load(re), V::load(im), cos, sin);
            product.0.store(re);
            product.1.store(im);
        }
    }
}

/// Reads the sequences into planes.
///
/// # Safety
/// As for [`run_block`].
#[inline(always)]
unsafe fn load<V: Simd>(block: &LaneBlock<'_, V::Number>, planes: *mut V::Number) {
    let (size, lanes, source) = (block.passes.size, block.lanes, block.source);
    let plane = size * lanes;
    let (real, imaginary) = if block.swap_source { (plane, 0) } else { (0, plane) };
    // SAFETY: the caller's promise.
    unsafe {
        let (real, imaginary) = (planes.add(real), planes.add(imaginary));
        let (mut whole, mut whole_rows) = (0, 0);
        if source.imaginary == Some(1) && source.lane == 2 {
            whole = block.count / V::LANES * V::LANES;
            whole_rows = size;
            for i in 0..size {
                for q in (0..whole).step_by(V::LANES) {
                    let (re, im) = V::load_pairs(source.at(i, q));
                    re.store(real.add(i * lanes + q));
                    im.store(imaginary.add(i * lanes + q));
                }
            }
        } else if source.imaginary == Some(1) && source.element == 2 {
            // Pairs move as they are: eight elements of the lanes of a vector at a time.
            const ROWS: usize = 8;
            whole = block.count / V::LANES * V::LANES;
            whole_rows = size / ROWS * ROWS;
            let mut tile = [[V::Number::ZERO; 2]; ROWS * 16];
            for q in (0..whole).step_by(V::LANES) {
                for i in (0..whole_rows).step_by(ROWS) {
                    for lane in 0..V::LANES {
                        let from = source.at(i, q + lane).cast::<[V::Number; 2]>();
                        for row in 0..ROWS {
                            tile[row * V::LANES + lane] = from.add(row).read();
                        }
                    }
                    for row in 0..ROWS {
                        let (re, im) = V::load_pairs(tile.as_ptr().add(row * V::LANES).cast());
                        re.store(real.add((i + row) * lanes + q));
                        im.store(imaginary.add((i + row) * lanes + q));
                    }
                }
            }
        }
        for i in 0..size {
            for q in if i < whole_rows { whole } else { 0 }..block.count {
                let at = source.at(i, q);
                real.add(i * lanes + q).write(at.read());
                let im = source.imaginary.map_or(V::Number::ZERO, |im| at.offset(im).read());
                imaginary.add(i * lanes + q).write(im);
            }
            for q in block.count..lanes {
                real.add(i * lanes + q).write(V::Number::ZERO);
                imaginary.add(i * lanes + q).write(V::Number::ZERO);
            }
        }
    }
}

/// Writes the sequences from planes.
///
/// # Safety
/// As for [`run_block`].
#[inline(always)]
unsafe fn store<V: Simd>(block: &LaneBlock<'_, V::Number>, planes: *const V::Number) {
    let (size, lanes, target) = (block.passes.size, block.lanes, block.target);
    let plane = size * lanes;
    let (real, imaginary) = if block.swap_target { (plane, 0) } else { (0, plane) };
    // SAFETY: the caller's promise.
    unsafe {
        let (real, imaginary) = (planes.add(real), planes.add(imaginary));
        let (mut whole, mut whole_rows) = (0, 0);
        if target.imaginary == Some(1) && target.lane == 2 {
            whole = block.count / V::LANES * V::LANES;
            whole_rows = size;
            for i in 0..size {
                for q in (0..whole).step_by(V::LANES) {
                    let at = i * lanes + q;
                    V::store_pairs(target.at(i, q), V::load(real.add(at)), V::load(imaginary.add(at)));
                }
            }
        } else if target.imaginary == Some(1) && target.element == 2 {
            const ROWS: usize = 8;
            whole = block.count / V::LANES * V::LANES;
            whole_rows = size / ROWS * ROWS;
            let mut tile = [[V::Number::ZERO; 2]; ROWS * 16];
            for q in (0..whole).step_by(V::LANES) {
                for i in (0..whole_rows).step_by(ROWS) {
                    for row in 0..ROWS {
                        let at = (i + row) * lanes + q;
                        let to = tile.as_mut_ptr().add(row * V::LANES).cast();
                        V::store_pairs(to, V::load(real.add(at)), V::load(imaginary.add(at)));
                    }
                    for lane in 0..V::LANES {
                        let to = target.at(i, q + lane).cast::<[V::Number; 2]>();
                        for row in 0..ROWS {
                            to.add(row).write(tile[row * V::LANES + lane]);
                        }
                    }
                }
            }
        }
        for i in 0..size {
            for q in if i < whole_rows { whole } else { 0 }..block.count {
                let at = target.at(i, q);
                at.write(real.add(i * lanes + q).read());
                if let Some(im) = target.imaginary {
                    at.offset(im).write(imaginary.add(i * lanes + q).read());
                }
            }
        }
    }
}
