//! General product: `C = alpha · A · B + beta · C`.
//!
//! After: Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication", TOMS 2008: a block of the left operand stays in the
//! second cache, a panel of the right one in the first. Threads compute different blocks of the result, each with operands that it
//! packs itself: they never wait for each other.

use crate::kernel::{ProductKernel, TILE};
use crate::vectors::vectorized;
use crate::view::{Structure, View, ViewMut, Written};
use crate::{Number, Triangle};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::OnceLock;

/// Bytes of a block of the left operand.
const BLOCK_BYTES: usize = 512 << 10;
/// Steps of the sum that are packed at once.
const DEPTH: usize = 320;
/// Bytes of the packed right operand.
const RIGHT_BYTES: usize = 4 << 20;
/// Rows and columns that are transposed at once.
const BLOCK: usize = 8;
/// Multiplications below which nothing is packed.
const SMALL: usize = 512;
/// Multiplications that are worth another thread.
pub(crate) const THREAD_WORK: usize = 4 << 20;

/// Returns the number of threads that large products use: `HEDDLE_THREADS`, or as many as the machine runs at once.
pub fn thread_count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let requested = std::env::var("HEDDLE_THREADS").ok().and_then(|text| text.trim().parse().ok());
        let machine = || std::thread::available_parallelism().map_or(1, |count| count.get());
        requested.filter(|&count| count > 0).unwrap_or_else(machine)
    })
}

/// Operands and result of a product.
#[derive(Clone, Copy, Debug)]
pub struct Product<T> {
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Summands of each element.
    pub k: usize,
    /// Factor of the product.
    pub alpha: T,
    /// The left operand.
    pub a: View<T>,
    /// The right operand.
    pub b: View<T>,
    /// Factor of the earlier result, which is not read if this is zero.
    pub beta: T,
    /// The result.
    pub c: ViewMut<T>,
    /// Part of the result that is written.
    pub written: Written,
}

impl<T: Number> Product<T> {
    /// Returns the product by which the transpose of the result is computed.
    fn transposed(self) -> Product<T> {
        Product {
            m: self.n,
            n: self.m,
            a: self.b.transposed(),
            b: self.a.transposed(),
            c: self.c.transposed(),
            written: self.written.transposed(),
            ..self
        }
    }

    /// Computes the product.
    ///
    /// # Safety
    /// The operands and the result are there, and the result overlaps no operand.
    pub unsafe fn run(self) {
        if self.m == 0 || self.n == 0 {
            return;
        }
        if self.alpha == T::ZERO || self.k == 0 {
            // SAFETY: the caller's promise.
            return unsafe { scale(self.m, self.n, self.beta, self.c, self.written) };
        }
        if self.c.row != 1 && self.c.column == 1 {
            // SAFETY: the caller's promise.
            return unsafe { self.transposed().run() };
        }
        let work = self.m.saturating_mul(self.n).saturating_mul(self.k);
        let threads = if work < 2 * THREAD_WORK { 1 } else { thread_count().min(work / THREAD_WORK) };
        // SAFETY: the caller's promise; threads write different parts of the result.
        unsafe {
            if threads == 1 {
                return self.compute(0..self.m, 0..self.n);
            }
            std::thread::scope(|scope| {
                let mut parts = self.parts(threads);
                let own = parts.pop();
                for (rows, columns) in parts {
                    let (own_rows, own_columns) = (rows.clone(), columns.clone());
                    let thread = std::thread::Builder::new();
                    // Without another thread, this one computes the block.
                    if thread.spawn_scoped(scope, move || self.compute(rows, columns)).is_err() {
                        self.compute(own_rows, own_columns);
                    }
                }
                if let Some((rows, columns)) = own {
                    self.compute(rows, columns);
                }
            });
        }
    }

    /// Returns rows and columns of the blocks of the result that threads compute.
    fn parts(&self, threads: usize) -> Vec<(Range<usize>, Range<usize>)> {
        let cuts = |length: usize, parts: usize, step: usize, at: &dyn Fn(f64) -> f64| -> Vec<Range<usize>> {
            let cut = |part: usize| match part == parts {
                true => length,
                false => (at(part as f64 / parts as f64) * length as f64) as usize / step * step,
            };
            (0..parts).map(|part| cut(part)..cut(part + 1)).filter(|range| !range.is_empty()).collect()
        };
        match self.written.triangle() {
            None => {
                let mut down = 1;
                while down * 2 <= threads
                    && threads.is_multiple_of(down * 2)
                    && self.m / down > self.n / (threads / down)
                {
                    down *= 2;
                }
                let rows = cuts(self.m, down, 48, &|share| share);
                let columns = cuts(self.n, threads / down, 8, &|share| share);
                rows.iter()
                    .flat_map(|rows| columns.iter().map(|columns| (rows.clone(), columns.clone())))
                    .collect()
            }
            // Each part has about as many elements of the triangle.
            Some(Triangle::Upper) => {
                let columns = cuts(self.n, threads, 8, &f64::sqrt);
                columns.into_iter().map(|columns| (0..columns.end.min(self.m), columns)).collect()
            }
            Some(Triangle::Lower) => {
                let columns = cuts(self.n, threads, 8, &|share| 1.0 - (1.0 - share).sqrt());
                columns.into_iter().map(|columns| (columns.start.min(self.m)..self.m, columns)).collect()
            }
        }
    }

    /// Computes a block of the result on this thread.
    ///
    /// # Safety
    /// As for [`Product::run`]; nobody else writes the block.
    unsafe fn compute(&self, rows: Range<usize>, columns: Range<usize>) {
        if rows.len() * columns.len() * self.k <= SMALL {
            // SAFETY: the caller's promise.
            return unsafe { self.compute_plainly(rows, columns) };
        }
        let kernel = T::product_kernel(rows.len(), columns.len());
        let parts = if T::IS_COMPLEX { 2 } else { 1 };
        let bytes = size_of::<T>() * DEPTH;
        let block_rows = (BLOCK_BYTES / bytes / kernel.rows).max(1) * kernel.rows;
        let block_columns = (RIGHT_BYTES / bytes / kernel.columns).max(1) * kernel.columns;
        PACKED.with_borrow_mut(|packed| {
            for j in columns.clone().step_by(block_columns) {
                let n = block_columns.min(columns.end - j);
                for p in (0..self.k).step_by(DEPTH) {
                    let k = DEPTH.min(self.k - p);
                    let (left, right) = packed;
                    let padded = n.next_multiple_of(kernel.columns) * k * parts;
                    let right: *mut T::Real = right.room(padded);
                    // SAFETY: the buffers have room; the caller's promise for the operands and the result.
                    unsafe {
                        pack(self.b.transposed(), j..j + n, p..p + k, kernel.columns, right);
                        for i in rows.clone().step_by(block_rows) {
                            let m = block_rows.min(rows.end - i);
                            if !self.touches(&(i..i + m), &(j..j + n)) {
                                continue;
                            }
                            let left: *mut T::Real = left.room(m.next_multiple_of(kernel.rows) * k * parts);
                            pack(self.a, i..i + m, p..p + k, kernel.rows, left);
                            let beta = if p == 0 { self.beta } else { T::ONE };
                            self.multiply(&kernel, beta, k, (i..i + m, left), (j..j + n, right));
                        }
                    }
                }
            }
        });
    }

    /// True if a block of the result has elements that are written.
    fn touches(&self, rows: &Range<usize>, columns: &Range<usize>) -> bool {
        match self.written.triangle() {
            None => true,
            Some(Triangle::Lower) => rows.end > columns.start,
            Some(Triangle::Upper) => columns.end > rows.start,
        }
    }

    /// True if all elements of a block are written, and none is on the diagonal.
    fn is_whole(&self, rows: &Range<usize>, columns: &Range<usize>) -> bool {
        match self.written.triangle() {
            None => true,
            Some(Triangle::Lower) => rows.start >= columns.end,
            Some(Triangle::Upper) => columns.start >= rows.end,
        }
    }

    /// Multiplies packed blocks.
    ///
    /// # Safety
    /// They are packed for the kernel and as long; the result is there.
    unsafe fn multiply(
        &self,
        kernel: &ProductKernel<T::Real>,
        beta: T,
        k: usize,
        (rows, left): (Range<usize>, *const T::Real),
        (columns, right): (Range<usize>, *const T::Real),
    ) {
        let mut tile = Tile([T::Real::ZERO; TILE]);
        // Sums that need no factor are stored as they are.
        let is_plain = !T::IS_COMPLEX && self.alpha == T::ONE && beta == T::ZERO;
        let is_stored = is_plain && self.c.row == 1 && self.c.column >= 0;
        let parts = if T::IS_COMPLEX { 2 } else { 1 };
        for j in columns.clone().step_by(kernel.columns) {
            let tile_columns = j..columns.end.min(j + kernel.columns);
            for i in rows.clone().step_by(kernel.rows) {
                let tile_rows = i..rows.end.min(i + kernel.rows);
                if !self.touches(&tile_rows, &tile_columns) {
                    continue;
                }
                // SAFETY: panels follow each other in the blocks; the tile has room.
                unsafe {
                    let left = left.add((i - rows.start) * k * parts);
                    let right = right.add((j - columns.start) * k * parts);
                    let c = self.c.from(i, j);
                    let is_full = tile_rows.len() == kernel.rows && tile_columns.len() == kernel.columns;
                    if is_stored && is_full && self.is_whole(&tile_rows, &tile_columns) {
                        (kernel.run)(k, left, right, c.at(0, 0).cast::<T::Real>(), self.c.column as usize);
                        continue;
                    }
                    (kernel.run)(k, left, right, tile.0.as_mut_ptr(), parts * kernel.rows);
                    if self.is_whole(&tile_rows, &tile_columns) {
                        add_tile(
                            &tile.0,
                            kernel.rows,
                            tile_rows.len(),
                            tile_columns.len(),
                            self.alpha,
                            beta,
                            c,
                        );
                    } else {
                        let read = |i: usize, j: usize| tile_element::<T>(&tile.0, kernel.rows, i, j);
                        for j in 0..tile_columns.len() {
                            for i in 0..tile_rows.len() {
                                self.put(tile_rows.start + i, tile_columns.start + j, beta, read(i, j));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Writes an element of the result, if it is in the part that is written.
    ///
    /// # Safety
    /// It is there.
    #[inline(always)]
    unsafe fn put(&self, i: usize, j: usize, beta: T, sum: T) {
        if !is_written(self.written, i, j) {
            return;
        }
        let place = self.c.at(i, j);
        // SAFETY: the caller's promise.
        unsafe {
            let scaled = self.alpha * sum;
            let value = if beta == T::ZERO { scaled } else { scaled + beta * place.read() };
            let is_real = i == j && matches!(self.written, Written::Hermitian(_));
            place.write(if is_real { T::from_real(value.re()) } else { value });
        }
    }

    /// Computes a block without packing.
    ///
    /// # Safety
    /// As for [`Product::compute`].
    unsafe fn compute_plainly(&self, rows: Range<usize>, columns: Range<usize>) {
        for j in columns {
            for i in rows.clone() {
                if is_written(self.written, i, j) {
                    let mut sum = T::ZERO;
                    for p in 0..self.k {
                        // SAFETY: the caller's promise.
                        sum += unsafe { self.a.get(i, p) * self.b.get(p, j) };
                    }
                    // SAFETY: the caller's promise.
                    unsafe { self.put(i, j, self.beta, sum) };
                }
            }
        }
    }
}

/// True if an element is in the part that is written.
#[inline(always)]
fn is_written(written: Written, i: usize, j: usize) -> bool {
    match written.triangle() {
        None => true,
        Some(Triangle::Lower) => i >= j,
        Some(Triangle::Upper) => i <= j,
    }
}

/// Sums of a tile, which whole vectors load and store.
#[repr(C, align(64))]
struct Tile<R>([R; TILE]);

/// Returns an element of a tile.
#[inline(always)]
fn tile_element<T: Number>(tile: &[T::Real; TILE], rows: usize, i: usize, j: usize) -> T {
    if T::IS_COMPLEX {
        T::from_parts(tile[2 * j * rows + i], tile[(2 * j + 1) * rows + i])
    } else {
        T::from_real(tile[j * rows + i])
    }
}

vectorized! {
    /// Adds a tile of sums to the result.
    ///
    /// # Safety
    /// The result is there.
    unsafe fn add_tile<T: Number>(
        tile: &[T::Real; TILE], rows: usize, m: usize, n: usize, alpha: T, beta: T, c: ViewMut<T>,
    ) {
        for j in 0..n {
            if c.row == 1 {
                // SAFETY: the caller's promise.
                let column = unsafe { std::slice::from_raw_parts_mut(c.at(0, j), m) };
                if beta == T::ZERO {
                    for (i, place) in column.iter_mut().enumerate() {
                        *place = alpha * tile_element::<T>(tile, rows, i, j);
                    }
                } else if beta == T::ONE {
                    for (i, place) in column.iter_mut().enumerate() {
                        *place = alpha * tile_element::<T>(tile, rows, i, j) + *place;
                    }
                } else {
                    for (i, place) in column.iter_mut().enumerate() {
                        *place = alpha * tile_element::<T>(tile, rows, i, j) + beta * *place;
                    }
                }
            } else {
                for i in 0..m {
                    let place = c.at(i, j);
                    let sum = alpha * tile_element::<T>(tile, rows, i, j);
                    // SAFETY: the caller's promise.
                    unsafe { place.write(if beta == T::ZERO { sum } else { sum + beta * place.read() }) };
                }
            }
        }
    }

    /// Packs rows of a matrix in panels of some rows, column by column, and fills the last panel with zeros.
    ///
    /// # Safety
    /// The matrix is there, and the destination has room.
    unsafe fn pack<T: Number>(
        matrix: View<T>, rows: Range<usize>, columns: Range<usize>, panel: usize, into: *mut T::Real,
    ) {
        let parts = if T::IS_COMPLEX { 2 } else { 1 };
        let depth = columns.len();
        let is_plain = matrix.structure == Structure::General && !T::IS_COMPLEX;
        let mut into = into;
        for first in rows.clone().step_by(panel) {
            let count = panel.min(rows.end - first);
            // SAFETY: the caller's promise.
            unsafe {
                if count < panel {
                    into.write_bytes(0, panel * depth * parts);
                }
                if is_plain && matrix.row == 1 {
                    for (step, p) in columns.clone().enumerate() {
                        let from = matrix.at(first, p).cast::<T::Real>();
                        copy_numbers(from, into.add(step * panel), count);
                    }
                } else if is_plain {
                    let from = |row: usize| matrix.at(first + row, columns.start).cast::<T::Real>();
                    let (mut row, blocks) = (0, if matrix.column == 1 { depth / BLOCK } else { 0 });
                    while row + BLOCK <= count {
                        for block in 0..blocks {
                            let from = (0..BLOCK).map(|next| from(row + next).add(block * BLOCK));
                            let mut rows = [[T::Real::ZERO; BLOCK]; BLOCK];
                            for (row, from) in rows.iter_mut().zip(from) {
                                *row = from.cast::<[T::Real; BLOCK]>().read();
                            }
                            for step in 0..BLOCK {
                                let column: [T::Real; BLOCK] = std::array::from_fn(|next| rows[next][step]);
                                into.add((block * BLOCK + step) * panel + row).cast::<[T::Real; BLOCK]>().write(column);
                            }
                        }
                        for next in row..row + BLOCK {
                            for step in blocks * BLOCK..depth {
                                *into.add(step * panel + next) = *from(next).wrapping_offset(step as isize * matrix.column);
                            }
                        }
                        row += BLOCK;
                    }
                    for row in row..count {
                        for step in 0..depth {
                            *into.add(step * panel + row) = *from(row).wrapping_offset(step as isize * matrix.column);
                        }
                    }
                } else if matrix.structure == Structure::General {
                    for row in 0..count {
                        for step in 0..depth {
                            let value = (*matrix.at(first + row, columns.start + step)).conj_if(matrix.conj);
                            *into.add((parts * step) * panel + row) = value.re();
                            *into.add((parts * step + 1) * panel + row) = value.im();
                        }
                    }
                } else {
                    for (step, p) in columns.clone().enumerate() {
                        for row in 0..count {
                            let value = matrix.get(first + row, p);
                            *into.add(parts * step * panel + row) = value.re();
                            if T::IS_COMPLEX {
                                *into.add((parts * step + 1) * panel + row) = value.im();
                            }
                        }
                    }
                }
                into = into.add(panel * depth * parts);
            }
        }
    }
}

/// Copies numbers, in line where there are few.
///
/// # Safety
/// Both places are there.
#[inline(always)]
unsafe fn copy_numbers<R: Copy>(from: *const R, to: *mut R, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match count {
            32 => to.cast::<[R; 32]>().write(from.cast::<[R; 32]>().read()),
            48 => to.cast::<[R; 48]>().write(from.cast::<[R; 48]>().read()),
            24 => to.cast::<[R; 24]>().write(from.cast::<[R; 24]>().read()),
            16 => to.cast::<[R; 16]>().write(from.cast::<[R; 16]>().read()),
            8 => to.cast::<[R; 8]>().write(from.cast::<[R; 8]>().read()),
            _ => to.copy_from_nonoverlapping(from, count),
        }
    }
}

/// Scales the written part of a matrix; a factor of zero does not read it.
///
/// # Safety
/// The matrix is there.
pub unsafe fn scale<T: Number>(m: usize, n: usize, beta: T, c: ViewMut<T>, written: Written) {
    let is_hermitian = matches!(written, Written::Hermitian(_));
    if beta == T::ONE && !is_hermitian {
        return;
    }
    for j in 0..n {
        for i in 0..m {
            if is_written(written, i, j) {
                let place = c.at(i, j);
                // SAFETY: the caller's promise.
                unsafe {
                    let value = if beta == T::ZERO { T::ZERO } else { beta * place.read() };
                    place.write(if is_hermitian && i == j { T::from_real(value.re()) } else { value });
                }
            }
        }
    }
}

/// Memory for packed operands that a thread keeps.
struct PackBuffer {
    lines: Vec<Tile<f64>>,
}

impl PackBuffer {
    /// Returns room for numbers.
    fn room<R>(&mut self, count: usize) -> *mut R {
        let lines = (count * size_of::<R>()).div_ceil(size_of::<Tile<f64>>());
        if self.lines.len() < lines {
            self.lines.clear();
            self.lines.resize_with(lines, || Tile([0.0; TILE]));
        }
        self.lines.as_mut_ptr().cast()
    }
}

thread_local! {
    static PACKED: RefCell<(PackBuffer, PackBuffer)> =
        const { RefCell::new((PackBuffer { lines: Vec::new() }, PackBuffer { lines: Vec::new() })) };
}
