//! SparseVectorHandle vectors with dense ones: `Gather`, `Scatter`, `Axpby`, `Rot`, `SpVV`.

use super::transpose;
use crate::context::{SparseContext, SparseHandle};
use crate::descriptor::{
    DenseVector, DenseVectorHandle, Descriptor, SparseAddress, SparseVector, SparseVectorHandle, one_kind,
};
use crate::status::{NOT_SUPPORTED, SparseResult, ensure, put, valid};
use heddle_blas::{Number, Transpose};

/// Finds two vectors, which have one size and kind.
///
/// # Safety
/// The descriptors are there, or null.
unsafe fn pair(x: SparseVectorHandle, y: DenseVectorHandle) -> SparseResult<(SparseVector, DenseVector)> {
    // SAFETY: the caller's promise.
    let (x, y) = unsafe { (*Descriptor::of(x)?, *Descriptor::of(y)?) };
    valid(x.size == y.size)?;
    one_kind(x.kind, &[y.kind])?;
    Ok((x, y))
}

/// `y = alpha · x + beta · y`
///
/// # Safety
/// The vectors and the scalars are there.
unsafe fn axpby<T: Number>(
    context: &SparseContext,
    alpha: SparseAddress,
    x: SparseVector,
    beta: SparseAddress,
    y: DenseVector,
) -> SparseResult<()> {
    let (elements, to, size) = (x.elements::<T>()?, y.values.cast::<T>(), y.size as usize);
    // SAFETY: the caller's promise.
    unsafe {
        let (alpha, beta) = (context.scalar(alpha.cast::<T>()), context.scalar(beta.cast::<T>()));
        context.submit(move || {
            let (alpha, beta) = (alpha.get(), beta.get());
            for i in 0..size {
                *to.add(i) = if beta == T::ZERO { T::ZERO } else { beta * *to.add(i) };
            }
            elements.for_each(|_, j, _, value| *to.add(j) += alpha * value);
        })
    }
}

/// Rotates a sparse and a dense vector.
///
/// # Safety
/// The vectors and the scalars are there.
unsafe fn rot<T: Number>(
    context: &SparseContext,
    (c, s): (SparseAddress, SparseAddress),
    x: SparseVector,
    y: DenseVector,
) -> SparseResult<()> {
    ensure(!T::IS_COMPLEX, NOT_SUPPORTED)?;
    let (elements, to) = (x.elements::<T>()?, y.values.cast::<T>());
    // SAFETY: the caller's promise.
    unsafe {
        let (c, s) = (context.scalar(c.cast::<T>()), context.scalar(s.cast::<T>()));
        context.submit(move || {
            let (c, s) = (c.get(), s.get());
            elements.for_each(|_, j, p, value| {
                let other = *to.add(j);
                *elements.values.add(p) = c * value + s * other;
                *to.add(j) = c * other - s * value;
            });
        })
    }
}

entries! {
    fn cusparseGather(handle: SparseHandle, y: DenseVectorHandle, x: SparseVectorHandle) {
        let (context, (x, y)) = (SparseContext::of(handle)?, pair(x, y)?);
        with_kind!(x.kind, T => {
            let (elements, from) = (x.elements::<T>()?, y.values.cast::<T>());
            context.submit(move || elements.for_each(|_, j, p, _| *elements.values.add(p) = *from.add(j)))
        })
    }
    fn cusparseScatter(handle: SparseHandle, x: SparseVectorHandle, y: DenseVectorHandle) {
        let (context, (x, y)) = (SparseContext::of(handle)?, pair(x, y)?);
        with_kind!(x.kind, T => {
            let (elements, to) = (x.elements::<T>()?, y.values.cast::<T>());
            context.submit(move || elements.for_each(|_, j, _, value| *to.add(j) = value))
        })
    }
    fn cusparseAxpby(
        handle: SparseHandle, alpha: SparseAddress, x: SparseVectorHandle, beta: SparseAddress,
        y: DenseVectorHandle,
    ) {
        let (context, (x, y)) = (SparseContext::of(handle)?, pair(x, y)?);
        valid(!alpha.is_null() && !beta.is_null())?;
        with_kind!(x.kind, T => axpby::<T>(context, alpha, x, beta, y))
    }
    fn cusparseRot(
        handle: SparseHandle, c: SparseAddress, s: SparseAddress, x: SparseVectorHandle, y: DenseVectorHandle,
    ) {
        let (context, (x, y)) = (SparseContext::of(handle)?, pair(x, y)?);
        valid(!c.is_null() && !s.is_null())?;
        with_kind!(x.kind, T => rot::<T>(context, (c, s), x, y))
    }
    fn cusparseSpVV_bufferSize(
        handle: SparseHandle, op: i32, x: SparseVectorHandle, y: DenseVectorHandle, _result: SparseAddress,
        kind: i32, size: *mut usize,
    ) {
        SparseContext::of(handle)?;
        transpose(op)?;
        let (x, _) = pair(x, y)?;
        one_kind(x.kind, &[kind])?;
        put(size, 1)
    }
    fn cusparseSpVV(
        handle: SparseHandle, op: i32, x: SparseVectorHandle, y: DenseVectorHandle, result: SparseAddress,
        kind: i32, _buffer: SparseAddress,
    ) {
        let (context, op, (x, y)) = (SparseContext::of(handle)?, transpose(op)?, pair(x, y)?);
        one_kind(x.kind, &[kind])?;
        valid(!result.is_null())?;
        with_kind!(x.kind, T => {
            let (elements, from) = (x.elements::<T>()?, y.values.cast::<T>());
            context.submit(move || {
                let mut sum = T::ZERO;
                elements.for_each(|_, j, _, value| sum += value.conj_if(op == Transpose::Conjugate) * *from.add(j));
                result.cast::<T>().write_unaligned(sum);
            })
        })
    }
}
