//! Structure of sparse matrices: conversions between rows and bounds, sorting, transposition.

use super::dense::transpose_compressed;
use super::helper::{DescriptionHandle, description};
use super::length;
use crate::context::{SparseContext, SparseHandle};
use crate::descriptor::{SparseAddress, one_kind};
use crate::elements::{IndexArray, SparseElements, SparseLayout};
use crate::status::{SparseResult, put, valid};

/// Sorts coordinates by the first ones, then by the second ones, and a permutation with them, if there is one.
///
/// # Safety
/// The arrays are there.
unsafe fn sort_coordinates(
    context: &SparseContext,
    count: usize,
    first: *mut i32,
    second: *mut i32,
    permutation: *mut i32,
) -> SparseResult<()> {
    valid(count == 0 || !first.is_null() && !second.is_null())?;
    // SAFETY: the caller's promise.
    context.submit(move || unsafe {
        let place = |i: usize| if permutation.is_null() { 0 } else { *permutation.add(i) };
        let mut found: Vec<(i32, i32, i32)> =
            (0..count).map(|i| (*first.add(i), *second.add(i), place(i))).collect();
        found.sort_by_key(|it| (it.0, it.1));
        for (i, (one, other, place)) in found.into_iter().enumerate() {
            first.add(i).write(one);
            second.add(i).write(other);
            if !permutation.is_null() {
                permutation.add(i).write(place);
            }
        }
    })
}

/// Sorts the indices of each line, and a permutation with them, if there is one.
///
/// # Safety
/// The arrays are there.
unsafe fn sort_lines(
    context: &SparseContext,
    lines: i32,
    of: DescriptionHandle,
    offsets: *const i32,
    indices: *mut i32,
    permutation: *mut i32,
) -> SparseResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let (lines, base) = (length(lines.into())?, description(of)?.base);
        valid(!offsets.is_null())?;
        context.submit(move || {
            for line in 0..lines {
                let bound = |line: usize| (*offsets.add(line) - base).max(0) as usize;
                let positions = bound(line)..bound(line + 1);
                let place = |p: usize| if permutation.is_null() { 0 } else { *permutation.add(p) };
                let mut found: Vec<(i32, i32)> =
                    positions.clone().map(|p| (*indices.add(p), place(p))).collect();
                found.sort_by_key(|it| it.0);
                for (p, (index, place)) in positions.zip(found) {
                    indices.add(p).write(index);
                    if !permutation.is_null() {
                        permutation.add(p).write(place);
                    }
                }
            }
        })
    }
}

/// Answers the size of a work area.
///
/// # Safety
/// Pointers are null or valid as the interface requires.
unsafe fn work_size(handle: SparseHandle, size: *mut usize) -> SparseResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        SparseContext::of(handle)?;
        put(size, 1)
    }
}

entries! {
    fn cusparseXcoo2csr(handle: SparseHandle, rows: *const i32, count: i32, m: i32, offsets: *mut i32, base: i32) {
        let context = SparseContext::of(handle)?;
        let (count, m) = (length(count.into())?, length(m.into())?);
        valid((0..=1).contains(&base) && !offsets.is_null() && (count == 0 || !rows.is_null()))?;
        context.submit(move || {
            let mut lengths = vec![0; m];
            for p in 0..count {
                if let Some(length) = lengths.get_mut((*rows.add(p) - base) as usize) { *length += 1; }
            }
            let mut end = base;
            offsets.write(end);
            for (i, length) in lengths.into_iter().enumerate() {
                end += length;
                offsets.add(i + 1).write(end);
            }
        })
    }
    fn cusparseXcsr2coo(handle: SparseHandle, offsets: *const i32, count: i32, m: i32, rows: *mut i32, base: i32) {
        let context = SparseContext::of(handle)?;
        let (count, m) = (length(count.into())?, length(m.into())?);
        valid((0..=1).contains(&base) && !offsets.is_null() && (count == 0 || !rows.is_null()))?;
        context.submit(move || {
            for i in 0..m {
                let bound = |i: usize| ((*offsets.add(i) - base).max(0) as usize).min(count);
                for p in bound(i)..bound(i + 1) { rows.add(p).write(i as i32 + base); }
            }
        })
    }
    fn cusparseCreateIdentityPermutation(handle: SparseHandle, n: i32, permutation: *mut i32) {
        let (context, n) = (SparseContext::of(handle)?, length(n.into())?);
        valid(n == 0 || !permutation.is_null())?;
        context.submit(move || (0..n).for_each(|i| permutation.add(i).write(i as i32)))
    }
    fn cusparseXcoosort_bufferSizeExt(
        handle: SparseHandle, _m: i32, _n: i32, _count: i32, _rows: *const i32, _columns: *const i32, size: *mut usize,
    ) {
        work_size(handle, size)
    }
    fn cusparseXcoosortByRow(
        handle: SparseHandle, _m: i32, _n: i32, count: i32, rows: *mut i32, columns: *mut i32,
        permutation: *mut i32, _buffer: SparseAddress,
    ) {
        sort_coordinates(SparseContext::of(handle)?, length(count.into())?, rows, columns, permutation)
    }
    fn cusparseXcoosortByColumn(
        handle: SparseHandle, _m: i32, _n: i32, count: i32, rows: *mut i32, columns: *mut i32,
        permutation: *mut i32, _buffer: SparseAddress,
    ) {
        sort_coordinates(SparseContext::of(handle)?, length(count.into())?, columns, rows, permutation)
    }
    fn cusparseXcsrsort_bufferSizeExt(
        handle: SparseHandle, _m: i32, _n: i32, _count: i32, _offsets: *const i32, _indices: *const i32,
        size: *mut usize,
    ) {
        work_size(handle, size)
    }
    fn cusparseXcsrsort(
        handle: SparseHandle, m: i32, _n: i32, _count: i32, of: DescriptionHandle, offsets: *const i32,
        indices: *mut i32,
        permutation: *mut i32, _buffer: SparseAddress,
    ) {
        sort_lines(SparseContext::of(handle)?, m, of, offsets, indices, permutation)
    }
    fn cusparseXcscsort_bufferSizeExt(
        handle: SparseHandle, _m: i32, _n: i32, _count: i32, _offsets: *const i32, _indices: *const i32,
        size: *mut usize,
    ) {
        work_size(handle, size)
    }
    fn cusparseXcscsort(
        handle: SparseHandle, _m: i32, n: i32, _count: i32, of: DescriptionHandle, offsets: *const i32,
        indices: *mut i32,
        permutation: *mut i32, _buffer: SparseAddress,
    ) {
        sort_lines(SparseContext::of(handle)?, n, of, offsets, indices, permutation)
    }
    fn cusparseCsr2cscEx2_bufferSize(
        handle: SparseHandle, _m: i32, _n: i32, _count: i32, _values: SparseAddress, _offsets: *mut i32,
        _indices: *mut i32,
        _to_values: SparseAddress, _to_offsets: *mut i32, _to_indices: *mut i32, kind: i32, _action: i32,
        _base: i32, _algorithm: i32,
        size: *mut usize,
    ) {
        one_kind(kind, &[])?;
        work_size(handle, size)
    }
    fn cusparseCsr2cscEx2(
        handle: SparseHandle, m: i32, n: i32, count: i32, values: SparseAddress, offsets: *mut i32,
        indices: *mut i32, to_values: SparseAddress,
        to_offsets: *mut i32, to_indices: *mut i32, kind: i32, action: i32, base: i32, _algorithm: i32,
        _buffer: SparseAddress,
    ) {
        let context = SparseContext::of(handle)?;
        let (m, n, count) = (length(m.into())?, length(n.into())?, length(count.into())?);
        valid((0..=1).contains(&action) && (0..=1).contains(&base) && !offsets.is_null() && !to_offsets.is_null())?;
        // Without values, indices stand for them: the structure of a kind that is as large.
        valid(action == 1 || !indices.is_null() || count == 0)?;
        let (kind, values) = if action == 1 { (kind, values) } else { (0, indices.cast()) };
        with_kind!(kind, T => {
            let elements = |rows, columns, values: SparseAddress, offsets, indices| SparseElements {
                layout: SparseLayout::Rows, rows, columns, count, offsets: IndexArray::Narrow(offsets),
                indices: IndexArray::Narrow(indices), values: values.cast::<T>(), base: base.into(),
            };
            let (from, to) = (elements(m, n, values, offsets, indices), elements(n, m, to_values, to_offsets, to_indices));
            transpose_compressed::<T>(context, from, to, action == 1)
        })
    }
}
