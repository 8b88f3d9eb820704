//! Level 3: products of matrices.

use super::{C32, C64};
use crate::arguments::transpose;
use crate::context::{Context, Handle};
use crate::status::valid;
use heddle_blas::Transpose;
use heddle_blas::gemm::Product;
use heddle_blas::view::{View, ViewMut, Written};

/// Returns rows and columns of an operand as it is stored.
pub(crate) fn stored(transpose: Transpose, rows: usize, columns: usize) -> (usize, usize) {
    if transpose == Transpose::No { (rows, columns) } else { (columns, rows) }
}

routines! {
    fn gemm["Sgemm_v2": f32, "Dgemm_v2": f64, "Cgemm_v2": C32, "Zgemm_v2": C64](
        handle: Handle, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int,
        b: *const T, ldb: Int, beta: *const T, c: *mut T, ldc: Int,
    ) {
        let context = Context::of(handle)?;
        let (transa, transb) = (transpose(transa)?, transpose(transb)?);
        let (m, n, k) = (m.length()?, n.length()?, k.length()?);
        let lda = lda.leading(stored(transa, m, k).0)?;
        let ldb = ldb.leading(stored(transb, k, n).0)?;
        let ldc = ldc.leading(m)?;
        valid(!alpha.is_null() && !beta.is_null())?;
        if m == 0 || n == 0 { return Ok(()); }
        let (alpha, beta) = (context.scalar(alpha), context.scalar(beta));
        context.submit(move || {
            Product {
                m, n, k, alpha: alpha.get(), beta: beta.get(), written: Written::All,
                a: View::new(a, lda).operand(transa), b: View::new(b, ldb).operand(transb), c: ViewMut::new(c, ldc),
            }.run();
        })
    }
}
