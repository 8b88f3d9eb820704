//! Incomplete factors: `csrilu02`, `csric02`.

use super::helper::{DescriptionHandle, description};
use super::sums::compressed;
use super::{C32, C64, length};
use crate::context::{SparseContext, SparseHandle};
use crate::descriptor::{Descriptor, PivotReportHandle, SparseAddress};
use crate::elements::SparseElements;
use crate::status::{NOT_SUPPORTED, SparseError, SparseResult, ZERO_PIVOT, put, valid};
use heddle_blas::{Number, Transpose};
use heddle_solver::sparse_rows::{factor_incomplete, factor_incomplete_positive};

/// Returns the first row that has no element on the diagonal, or -1.
///
/// # Safety
/// The matrix is there.
unsafe fn missing_pivot<T: Number>(a: &SparseElements<T>) -> i32 {
    let mut is_there = vec![false; a.rows];
    // SAFETY: the caller's promise.
    unsafe { a.for_each(|i, j, _, _| is_there[i] |= i == j) };
    is_there.iter().position(|it| !it).map_or(-1, |row| row as i32 + a.base as i32)
}

/// Factors in place, and keeps the first row without a pivot in a report. The report is read by the host: capturing is refused.
///
/// # Safety
/// The matrix and the report are there.
unsafe fn factor<T: Number>(
    context: &SparseContext,
    a: SparseElements<T>,
    info: PivotReportHandle,
    is_positive: bool,
) -> SparseResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let report = Descriptor::of(info)?;
        report.row = context.compute(|| {
            let mut rows = a.load(Transpose::No);
            let singular = if is_positive {
                factor_incomplete_positive(&mut rows)
            } else {
                factor_incomplete(&mut rows)
            };
            // Elements keep their places, sorted or not.
            a.for_each(|i, j, p, _| {
                if let Ok(at) = rows[i].binary_search_by_key(&j, |it| it.0) {
                    *a.values.add(p) = rows[i][at].1;
                }
            });
            singular.map_or(-1, |row| row as i32 + a.base as i32)
        })?;
    }
    Ok(())
}

/// Answers the first row without a pivot.
///
/// # Safety
/// Pointers are null or valid as the interface requires.
unsafe fn zero_pivot(handle: SparseHandle, info: PivotReportHandle, position: *mut i32) -> SparseResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        SparseContext::of(handle)?;
        let row = Descriptor::of(info)?.row;
        put(position, row)?;
        if row >= 0 { Err(SparseError(ZERO_PIVOT)) } else { Ok(()) }
    }
}

entries! {
    fn cusparseXcsrilu02_zeroPivot(handle: SparseHandle, info: PivotReportHandle, position: *mut i32) {
        zero_pivot(handle, info, position)
    }
    fn cusparseXcsric02_zeroPivot(handle: SparseHandle, info: PivotReportHandle, position: *mut i32) {
        zero_pivot(handle, info, position)
    }
}

routines! {
    fn work_size[
        "Scsrilu02_bufferSize": f32, "Dcsrilu02_bufferSize": f64, "Ccsrilu02_bufferSize": C32,
        "Zcsrilu02_bufferSize": C64,
        "Scsric02_bufferSize": f32, "Dcsric02_bufferSize": f64, "Ccsric02_bufferSize": C32, "Zcsric02_bufferSize": C64,
    ](
        handle: SparseHandle, _m: i32, _count: i32, of: DescriptionHandle, _values: *mut T, _offsets: *mut i32,
        _indices: *mut i32,
        info: PivotReportHandle, size: *mut i32,
    ) {
        SparseContext::of(handle)?;
        description(of)?;
        Descriptor::of(info)?;
        put(size, 1)
    }

    fn wide_work_size[
        "Scsrilu02_bufferSizeExt": f32, "Dcsrilu02_bufferSizeExt": f64, "Ccsrilu02_bufferSizeExt": C32,
        "Zcsrilu02_bufferSizeExt": C64,
        "Scsric02_bufferSizeExt": f32, "Dcsric02_bufferSizeExt": f64, "Ccsric02_bufferSizeExt": C32,
        "Zcsric02_bufferSizeExt": C64,
    ](
        handle: SparseHandle, _m: i32, _count: i32, of: DescriptionHandle, _values: *mut T, _offsets: *mut i32,
        _indices: *mut i32,
        info: PivotReportHandle, size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        description(of)?;
        Descriptor::of(info)?;
        put(size, 1)
    }

    fn analysis[
        "Scsrilu02_analysis": f32, "Dcsrilu02_analysis": f64, "Ccsrilu02_analysis": C32, "Zcsrilu02_analysis": C64,
        "Scsric02_analysis": f32, "Dcsric02_analysis": f64, "Ccsric02_analysis": C32, "Zcsric02_analysis": C64,
    ](
        handle: SparseHandle, m: i32, count: i32, of: DescriptionHandle, values: *mut T, offsets: *mut i32,
        indices: *mut i32,
        info: PivotReportHandle, _policy: i32, _buffer: SparseAddress,
    ) {
        let (context, m) = (SparseContext::of(handle)?, length(m.into())?);
        let a = compressed(of, (m, m), count, values, offsets, indices)?;
        let report = Descriptor::of(info)?;
        report.row = context.compute(|| missing_pivot(&a))?;
        Ok(())
    }

    fn csrilu02["Scsrilu02": f32, "Dcsrilu02": f64, "Ccsrilu02": C32, "Zcsrilu02": C64](
        handle: SparseHandle, m: i32, count: i32, of: DescriptionHandle, values: *mut T, offsets: *mut i32,
        indices: *mut i32,
        info: PivotReportHandle, _policy: i32, _buffer: SparseAddress,
    ) {
        let (context, m) = (SparseContext::of(handle)?, length(m.into())?);
        factor(context, compressed(of, (m, m), count, values, offsets, indices)?, info, false)
    }

    fn csric02["Scsric02": f32, "Dcsric02": f64, "Ccsric02": C32, "Zcsric02": C64](
        handle: SparseHandle, m: i32, count: i32, of: DescriptionHandle, values: *mut T, offsets: *mut i32,
        indices: *mut i32,
        info: PivotReportHandle, _policy: i32, _buffer: SparseAddress,
    ) {
        let (context, m) = (SparseContext::of(handle)?, length(m.into())?);
        factor(context, compressed(of, (m, m), count, values, offsets, indices)?, info, true)
    }

    fn numeric_boost[
        "Scsrilu02_numericBoost": f32, "Dcsrilu02_numericBoost": f64, "Ccsrilu02_numericBoost": C32,
        "Zcsrilu02_numericBoost": C64,
    ](handle: SparseHandle, info: PivotReportHandle, is_on: i32, _tolerance: *mut f64, _value: *mut T) {
        SparseContext::of(handle)?;
        Descriptor::of(info)?;
        valid((0..=1).contains(&is_on))?;
        // Small pivots stay as they are.
        if is_on == 1 { Err(SparseError(NOT_SUPPORTED)) } else { Ok(()) }
    }
}
