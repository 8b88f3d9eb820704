//! Entries whose types are arguments: halves, bytes and others, and sums of another type.

use super::batched::MatrixBatch;
use super::level3::stored;
use super::{C32, C64};
use crate::arguments::{Index, transpose};
use crate::context::{Context, Handle};
use crate::status::{CublasError, CublasResult, NOT_SUPPORTED, valid};
use heddle_blas::batch::for_each;
use heddle_blas::convert::{self, ElementType};
use heddle_blas::gemm::Product;
use heddle_blas::view::{View, ViewMut, Written};
use heddle_blas::{Number, Real, Transpose, level1};

/// Type of real or complex elements: `cudaDataType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct DataType {
    part: ElementType,
    is_complex: bool,
}

impl DataType {
    /// Reads `cudaDataType`.
    fn of(value: i32) -> CublasResult<DataType> {
        let (part, is_complex) = match value {
            0 => (ElementType::F32, false),
            1 => (ElementType::F64, false),
            2 => (ElementType::F16, false),
            3 => (ElementType::I8, false),
            4 => (ElementType::F32, true),
            5 => (ElementType::F64, true),
            6 => (ElementType::F16, true),
            7 => (ElementType::I8, true),
            10 => (ElementType::I32, false),
            14 => (ElementType::Bf16, false),
            15 => (ElementType::Bf16, true),
            _ => return Err(CublasError(NOT_SUPPORTED)),
        };
        Ok(DataType { part, is_complex })
    }

    const fn real(part: ElementType) -> DataType {
        DataType { part, is_complex: false }
    }

    /// Reads an element.
    ///
    /// # Safety
    /// It is there.
    unsafe fn load(self, place: *const u8, index: isize) -> C64 {
        // SAFETY: the caller's promise.
        unsafe {
            if self.is_complex {
                let re = convert::load(self.part, place, 2 * index);
                return C64::from_parts(re, convert::load(self.part, place, 2 * index + 1));
            }
            C64::from_real(convert::load(self.part, place, index))
        }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// It is there.
    unsafe fn store(self, place: *mut u8, index: isize, value: C64) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.is_complex {
                convert::store(self.part, place, 2 * index, value.re);
                convert::store(self.part, place, 2 * index + 1, value.im);
            } else {
                convert::store(self.part, place, index, value.re);
            }
        }
    }

    /// Reads a vector.
    ///
    /// # Safety
    /// It is there.
    unsafe fn vector(self, n: usize, place: *const u8, increment: isize) -> Vec<C64> {
        // SAFETY: the caller's promise.
        (0..n).map(|i| unsafe { self.load(place, position(i, n, increment)) }).collect()
    }

    /// Writes a vector.
    ///
    /// # Safety
    /// It is there.
    unsafe fn write(self, values: &[C64], place: *mut u8, increment: isize) {
        for (i, value) in values.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { self.store(place, position(i, values.len(), increment), *value) };
        }
    }

    fn bytes(self) -> usize {
        let part = match self.part {
            ElementType::I8 => 1,
            ElementType::F16 | ElementType::Bf16 => 2,
            ElementType::F32 | ElementType::I32 => 4,
            ElementType::F64 => 8,
        };
        if self.is_complex { 2 * part } else { part }
    }
}

/// Returns the position of a vector's element: with a negative increment, it begins at its end.
fn position(i: usize, n: usize, increment: isize) -> isize {
    let (i, n) = (i as isize, n as isize);
    if increment < 0 { (i - n + 1) * increment } else { i * increment }
}

/// Scalar argument whose type is an argument.
#[derive(Clone, Copy)]
enum TypedScalar {
    Value(C64),
    Later(DataType, *const u8),
}

impl TypedScalar {
    /// Takes the argument, as the pointer mode says.
    ///
    /// # Safety
    /// The pointer is valid then.
    unsafe fn take(context: &Context, kind: DataType, place: *const u8) -> TypedScalar {
        if context.is_device_mode.get() {
            TypedScalar::Later(kind, place)
        } else {
            // SAFETY: the caller's promise.
            TypedScalar::Value(unsafe { kind.load(place, 0) })
        }
    }

    /// Returns the value for the work.
    ///
    /// # Safety
    /// The place is there.
    unsafe fn get(self) -> C64 {
        match self {
            TypedScalar::Value(value) => value,
            // SAFETY: the caller's promise.
            TypedScalar::Later(kind, place) => unsafe { kind.load(place, 0) },
        }
    }
}

/// How products of some types are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProductTypes {
    Single,
    Double,
    ComplexSingle,
    ComplexDouble,
    /// Operands become floats, or doubles where sums are integers: those hold them exactly.
    Converted {
        operands: ElementType,
        result: ElementType,
    },
}

/// Returns how a product of some types is computed, and the type of its scalars.
fn product_types(compute: i32, a: i32, b: i32, c: i32) -> CublasResult<(ProductTypes, DataType)> {
    use ElementType::{Bf16, F16, F32, F64, I8, I32};
    let (a, b, c) = (DataType::of(a)?, DataType::of(b)?, DataType::of(c)?);
    let refused = Err(CublasError(NOT_SUPPORTED));
    if a != b || a.is_complex != c.is_complex {
        return refused;
    }
    let converted = ProductTypes::Converted { operands: a.part, result: c.part };
    match compute {
        // CUBLAS_COMPUTE_16F
        64 | 65 if !a.is_complex && (a.part, c.part) == (F16, F16) => Ok((converted, DataType::real(F16))),
        // CUBLAS_COMPUTE_32F and its faster forms
        68 | 69 | 74 | 75 | 77 | 78 => match (a.is_complex, a.part, c.part) {
            (false, F32, F32) => Ok((ProductTypes::Single, DataType::real(F32))),
            (true, F32, F32) => Ok((ProductTypes::ComplexSingle, c)),
            (false, F16, F16 | F32) | (false, Bf16, Bf16 | F32) | (false, I8, F32) => {
                Ok((converted, DataType::real(F32)))
            }
            _ => refused,
        },
        // CUBLAS_COMPUTE_64F
        70 | 71 | 79 if (a.part, c.part) == (F64, F64) => {
            Ok((if a.is_complex { ProductTypes::ComplexDouble } else { ProductTypes::Double }, c))
        }
        // CUBLAS_COMPUTE_32I
        72 | 73 if !a.is_complex && (a.part, c.part) == (I8, I32) => Ok((converted, DataType::real(I32))),
        _ => refused,
    }
}

/// Matrices of a product or a batch, by their bytes.
#[derive(Clone, Copy)]
struct TypedBatch {
    matrices: MatrixBatch<u8>,
    ld: i64,
}

/// Arguments of a product whose types are arguments.
struct TypedProduct {
    handle: Handle,
    trans: (i32, i32),
    size: (usize, usize, usize),
    alpha: *const u8,
    a: TypedBatch,
    b: TypedBatch,
    beta: *const u8,
    c: TypedBatch,
    count: usize,
    types: CublasResult<(ProductTypes, DataType)>,
}

/// Size and operands of one product.
#[derive(Clone, Copy)]
struct OneProduct {
    trans: (Transpose, Transpose),
    size: (usize, usize, usize),
    alpha: C64,
    beta: C64,
    a: (*const u8, isize),
    b: (*const u8, isize),
    c: (*mut u8, isize),
}

impl OneProduct {
    /// Multiplies matrices as they are.
    ///
    /// # Safety
    /// They are there.
    unsafe fn run<T: Number>(self, of: impl Fn(C64) -> T) {
        let (m, n, k) = self.size;
        let a = View::new(self.a.0.cast::<T>(), self.a.1).operand(self.trans.0);
        let b = View::new(self.b.0.cast::<T>(), self.b.1).operand(self.trans.1);
        let c = ViewMut::new(self.c.0.cast::<T>(), self.c.1);
        // SAFETY: the caller's promise.
        unsafe {
            Product { m, n, k, alpha: of(self.alpha), a, b, beta: of(self.beta), c, written: Written::All }
                .run()
        }
    }

    /// Converts the operands, multiplies them, and converts the result.
    ///
    /// # Safety
    /// The matrices are there.
    unsafe fn run_converted<R: Real>(self, operands: ElementType, result: ElementType) {
        let (m, n, k) = self.size;
        let ((rows_a, columns_a), (rows_b, columns_b)) =
            (stored(self.trans.0, m, k), stored(self.trans.1, k, n));
        let (alpha, beta) = (R::from_f64(self.alpha.re), R::from_f64(self.beta.re));
        let mut product = vec![R::ZERO; m * n];
        // SAFETY: the caller's promise.
        unsafe {
            if alpha != R::ZERO {
                let a = convert::load_matrix::<R>(operands, self.a.0, rows_a, columns_a, self.a.1);
                let b = convert::load_matrix::<R>(operands, self.b.0, rows_b, columns_b, self.b.1);
                let a = View::new(a.as_ptr(), rows_a as isize).operand(self.trans.0);
                let b = View::new(b.as_ptr(), rows_b as isize).operand(self.trans.1);
                let c = ViewMut::new(product.as_mut_ptr(), m as isize);
                Product { m, n, k, alpha, a, b, beta: R::ZERO, c, written: Written::All }.run();
            }
            convert::store_matrix(result, self.c.0, (m, n, self.c.1), &product, beta);
        }
    }
}

impl TypedProduct {
    /// Checks the arguments, and submits the products.
    ///
    /// # Safety
    /// Pointers are valid as the interface requires.
    unsafe fn submit(self) -> CublasResult<()> {
        let TypedProduct { size: (m, n, k), a, b, c, count, .. } = self;
        // SAFETY: the caller's promise; the results do not overlap.
        unsafe {
            let context = Context::of(self.handle)?;
            let trans = (transpose(self.trans.0)?, transpose(self.trans.1)?);
            let lda = a.ld.leading(stored(trans.0, m, k).0)?;
            let ldb = b.ld.leading(stored(trans.1, k, n).0)?;
            let ldc = c.ld.leading(m)?;
            let (types, scale) = self.types?;
            valid(!self.alpha.is_null() && !self.beta.is_null())?;
            if m == 0 || n == 0 || count == 0 {
                return Ok(());
            }
            let alpha = TypedScalar::take(context, scale, self.alpha);
            let beta = TypedScalar::take(context, scale, self.beta);
            context.submit(move || {
                let (alpha, beta) = (alpha.get(), beta.get());
                for_each(count, m * n * k, |item| {
                    let (a, b) =
                        ((a.matrices.at(item).cast_const(), lda), (b.matrices.at(item).cast_const(), ldb));
                    let one = OneProduct {
                        trans,
                        size: (m, n, k),
                        alpha,
                        beta,
                        a,
                        b,
                        c: (c.matrices.at(item), ldc),
                    };
                    match types {
                        ProductTypes::Single => one.run(|scalar| scalar.re as f32),
                        ProductTypes::Double => one.run(|scalar| scalar.re),
                        ProductTypes::ComplexSingle => {
                            one.run(|scalar| C32::from_parts(scalar.re as f32, scalar.im as f32))
                        }
                        ProductTypes::ComplexDouble => one.run(|scalar| scalar),
                        ProductTypes::Converted { operands, result: ElementType::I32 } => {
                            one.run_converted::<f64>(operands, ElementType::I32);
                        }
                        ProductTypes::Converted { operands, result } => {
                            one.run_converted::<f32>(operands, result)
                        }
                    }
                });
            })
        }
    }
}

/// Returns matrices at equal distances, in elements of some type.
fn strided(first: *const u8, kind: i32, distance: i64, ld: i64) -> TypedBatch {
    let bytes = DataType::of(kind).map_or(0, DataType::bytes);
    TypedBatch { matrices: MatrixBatch::Strided(first.cast_mut(), distance as isize * bytes as isize), ld }
}

/// `CUBLAS_COMPUTE_32F` and `CUBLAS_COMPUTE_16F`
const COMPUTE_32F: i32 = 68;
const COMPUTE_16F: i32 = 64;
/// `CUDA_R_16F`
const R_16F: i32 = 2;

entries! { both
    fn gemm_ex["GemmEx"](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const u8, a: *const u8, a_type: i32, lda: Int, b: *const u8,
        b_type: i32, ldb: Int, beta: *const u8, c: *mut u8, c_type: i32, ldc: Int, compute: i32, _algorithm: i32,
    ) {
        Context::of(handle)?;
        TypedProduct {
            handle, trans: (transa, transb), size: (m.length()?, n.length()?, k.length()?), alpha, a: strided(a, a_type, 0, lda.wide()),
            b: strided(b, b_type, 0, ldb.wide()), beta, c: strided(c, c_type, 0, ldc.wide()), count: 1,
            types: product_types(compute, a_type, b_type, c_type),
        }.submit()
    }

    fn gemm_strided_ex["GemmStridedBatchedEx"](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const u8, a: *const u8, a_type: i32, lda: Int, stride_a: i64,
        b: *const u8, b_type: i32, ldb: Int, stride_b: i64, beta: *const u8, c: *mut u8, c_type: i32, ldc: Int, stride_c: i64, count: Int,
        compute: i32, _algorithm: i32,
    ) {
        Context::of(handle)?;
        TypedProduct {
            handle, trans: (transa, transb), size: (m.length()?, n.length()?, k.length()?), alpha, a: strided(a, a_type, stride_a, lda.wide()),
            b: strided(b, b_type, stride_b, ldb.wide()), beta, c: strided(c, c_type, stride_c, ldc.wide()), count: count.length()?,
            types: product_types(compute, a_type, b_type, c_type),
        }.submit()
    }

    fn gemm_batched_ex["GemmBatchedEx"](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const u8, a: *const *const u8, a_type: i32, lda: Int,
        b: *const *const u8, b_type: i32, ldb: Int, beta: *const u8, c: *const *const u8, c_type: i32, ldc: Int, count: Int, compute: i32,
        _algorithm: i32,
    ) {
        Context::of(handle)?;
        let batch = |matrices, ld| TypedBatch { matrices: MatrixBatch::pointers(matrices), ld };
        TypedProduct {
            handle, trans: (transa, transb), size: (m.length()?, n.length()?, k.length()?), alpha, a: batch(a, lda.wide()),
            b: batch(b, ldb.wide()), beta, c: batch(c, ldc.wide()), count: count.length()?,
            types: product_types(compute, a_type, b_type, c_type),
        }.submit()
    }

    fn sgemm_ex["SgemmEx"](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const u8, a: *const u8, a_type: i32, lda: Int, b: *const u8,
        b_type: i32, ldb: Int, beta: *const u8, c: *mut u8, c_type: i32, ldc: Int,
    ) {
        gemm_ex(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, COMPUTE_32F, -1)
    }

    fn cgemm_ex["CgemmEx"](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const u8, a: *const u8, a_type: i32, lda: Int, b: *const u8,
        b_type: i32, ldb: Int, beta: *const u8, c: *mut u8, c_type: i32, ldc: Int,
    ) {
        gemm_ex(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, COMPUTE_32F, -1)
    }

    fn cgemm3m_ex["Cgemm3mEx"](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const u8, a: *const u8, a_type: i32, lda: Int, b: *const u8,
        b_type: i32, ldb: Int, beta: *const u8, c: *mut u8, c_type: i32, ldc: Int,
    ) {
        gemm_ex(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, COMPUTE_32F, -1)
    }

    fn hgemm["Hgemm"](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const u8, a: *const u8, lda: Int, b: *const u8, ldb: Int,
        beta: *const u8, c: *mut u8, ldc: Int,
    ) {
        gemm_ex(handle, transa, transb, m, n, k, alpha, a, R_16F, lda, b, R_16F, ldb, beta, c, R_16F, ldc, COMPUTE_16F, -1)
    }

    fn hgemm_strided["HgemmStridedBatched"](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const u8, a: *const u8, lda: Int, stride_a: i64, b: *const u8,
        ldb: Int, stride_b: i64, beta: *const u8, c: *mut u8, ldc: Int, stride_c: i64, count: Int,
    ) {
        gemm_strided_ex(
            handle, transa, transb, m, n, k, alpha, a, R_16F, lda, stride_a, b, R_16F, ldb, stride_b, beta, c, R_16F, ldc, stride_c, count,
            COMPUTE_16F, -1,
        )
    }

    fn hgemm_batched["HgemmBatched"](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const u8, a: *const *const u8, lda: Int, b: *const *const u8,
        ldb: Int, beta: *const u8, c: *const *const u8, ldc: Int, count: Int,
    ) {
        gemm_batched_ex(
            handle, transa, transb, m, n, k, alpha, a, R_16F, lda, b, R_16F, ldb, beta, c, R_16F, ldc, count, COMPUTE_16F, -1,
        )
    }

    fn axpy_ex["AxpyEx"](
        handle: Handle, n: Int, alpha: *const u8, alpha_type: i32, x: *const u8, x_type: i32, incx: Int, y: *mut u8, y_type: i32, incy: Int,
        execution: i32,
    ) {
        let context = Context::of(handle)?;
        let (alpha_type, x_type, y_type) = (DataType::of(alpha_type)?, DataType::of(x_type)?, DataType::of(y_type)?);
        DataType::of(execution)?;
        valid(!alpha.is_null())?;
        let (n, incx, incy) = (n.wide().max(0) as usize, incx.wide() as isize, incy.wide() as isize);
        let alpha = TypedScalar::take(context, alpha_type, alpha);
        context.submit(move || {
            let (x, mut sums) = (x_type.vector(n, x, incx), y_type.vector(n, y, incy));
            level1::axpy(n, alpha.get(), x.as_ptr(), 1, sums.as_mut_ptr(), 1);
            y_type.write(&sums, y, incy);
        })
    }

    fn scal_ex["ScalEx"](handle: Handle, n: Int, alpha: *const u8, alpha_type: i32, x: *mut u8, x_type: i32, incx: Int, execution: i32) {
        let context = Context::of(handle)?;
        let (alpha_type, x_type) = (DataType::of(alpha_type)?, DataType::of(x_type)?);
        DataType::of(execution)?;
        valid(!alpha.is_null())?;
        let (n, incx) = (n.wide().max(0) as usize, incx.wide() as isize);
        if incx <= 0 { return Ok(()); }
        let alpha = TypedScalar::take(context, alpha_type, alpha);
        context.submit(move || {
            let mut products = x_type.vector(n, x, incx);
            level1::scal(n, alpha.get(), products.as_mut_ptr(), 1);
            x_type.write(&products, x, incx);
        })
    }

    fn dot_ex["DotEx"](
        handle: Handle, n: Int, x: *const u8, x_type: i32, incx: Int, y: *const u8, y_type: i32, incy: Int, result: *mut u8, result_type: i32,
        execution: i32,
    ) {
        submit_dot(handle, n.wide(), (x, x_type, incx.wide()), (y, y_type, incy.wide()), (result, result_type), execution, false)
    }

    fn dotc_ex["DotcEx"](
        handle: Handle, n: Int, x: *const u8, x_type: i32, incx: Int, y: *const u8, y_type: i32, incy: Int, result: *mut u8, result_type: i32,
        execution: i32,
    ) {
        submit_dot(handle, n.wide(), (x, x_type, incx.wide()), (y, y_type, incy.wide()), (result, result_type), execution, true)
    }

    fn nrm2_ex["Nrm2Ex"](handle: Handle, n: Int, x: *const u8, x_type: i32, incx: Int, result: *mut u8, result_type: i32, execution: i32) {
        let context = Context::of(handle)?;
        let (x_type, result_type) = (DataType::of(x_type)?, DataType::of(result_type)?);
        DataType::of(execution)?;
        valid(!result.is_null())?;
        let (n, incx) = (n.wide().max(0) as usize, incx.wide() as isize);
        let n = if incx > 0 { n } else { 0 };
        context.submit(move || {
            let x = x_type.vector(n, x, incx);
            result_type.store(result, 0, C64::from_real(level1::nrm2(n, x.as_ptr(), 1)));
        })
    }

    fn asum_ex["AsumEx"](handle: Handle, n: Int, x: *const u8, x_type: i32, incx: Int, result: *mut u8, result_type: i32, execution: i32) {
        let context = Context::of(handle)?;
        let (x_type, result_type) = (DataType::of(x_type)?, DataType::of(result_type)?);
        DataType::of(execution)?;
        valid(!result.is_null())?;
        let (n, incx) = (n.wide().max(0) as usize, incx.wide() as isize);
        let n = if incx > 0 { n } else { 0 };
        context.submit(move || {
            let x = x_type.vector(n, x, incx);
            result_type.store(result, 0, C64::from_real(level1::asum(n, x.as_ptr(), 1)));
        })
    }

    fn amax_ex["IamaxEx"](handle: Handle, n: Int, x: *const u8, x_type: i32, incx: Int, result: *mut Int) {
        submit_extreme(handle, n.wide(), (x, x_type, incx.wide()), result, false)
    }

    fn amin_ex["IaminEx"](handle: Handle, n: Int, x: *const u8, x_type: i32, incx: Int, result: *mut Int) {
        submit_extreme(handle, n.wide(), (x, x_type, incx.wide()), result, true)
    }

    fn copy_ex["CopyEx"](handle: Handle, n: Int, x: *const u8, x_type: i32, incx: Int, y: *mut u8, y_type: i32, incy: Int) {
        let context = Context::of(handle)?;
        let (x_type, y_type) = (DataType::of(x_type)?, DataType::of(y_type)?);
        let (n, incx, incy) = (n.wide().max(0) as usize, incx.wide() as isize, incy.wide() as isize);
        context.submit(move || y_type.write(&x_type.vector(n, x, incx), y, incy))
    }

    fn swap_ex["SwapEx"](handle: Handle, n: Int, x: *mut u8, x_type: i32, incx: Int, y: *mut u8, y_type: i32, incy: Int) {
        let context = Context::of(handle)?;
        let (x_type, y_type) = (DataType::of(x_type)?, DataType::of(y_type)?);
        let (n, incx, incy) = (n.wide().max(0) as usize, incx.wide() as isize, incy.wide() as isize);
        context.submit(move || {
            let (from_x, from_y) = (x_type.vector(n, x, incx), y_type.vector(n, y, incy));
            x_type.write(&from_y, x, incx);
            y_type.write(&from_x, y, incy);
        })
    }
}

/// Submits a sum of products.
///
/// # Safety
/// Pointers are valid as the interface requires.
unsafe fn submit_dot(
    handle: Handle,
    n: i64,
    (x, x_type, incx): (*const u8, i32, i64),
    (y, y_type, incy): (*const u8, i32, i64),
    (result, result_type): (*mut u8, i32),
    execution: i32,
    conj: bool,
) -> CublasResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = Context::of(handle)?;
        let (x_type, y_type, result_type) =
            (DataType::of(x_type)?, DataType::of(y_type)?, DataType::of(result_type)?);
        DataType::of(execution)?;
        valid(!result.is_null())?;
        let n = n.max(0) as usize;
        context.submit(move || {
            let (x, y) = (x_type.vector(n, x, incx as isize), y_type.vector(n, y, incy as isize));
            result_type.store(result, 0, level1::dot(n, x.as_ptr(), 1, y.as_ptr(), 1, conj));
        })
    }
}

/// Submits a search for the largest or smallest magnitude.
///
/// # Safety
/// Pointers are valid as the interface requires.
unsafe fn submit_extreme<Int: Index>(
    handle: Handle,
    n: i64,
    (x, x_type, incx): (*const u8, i32, i64),
    result: *mut Int,
    least: bool,
) -> CublasResult<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let context = Context::of(handle)?;
        let x_type = DataType::of(x_type)?;
        valid(!result.is_null())?;
        let n = if incx > 0 { n.max(0) as usize } else { 0 };
        context.submit(move || {
            let x = x_type.vector(n, x, incx as isize);
            result.write_unaligned(Int::narrow(level1::find_extreme(n, x.as_ptr(), 1, least) as i64));
        })
    }
}
