//! Entries for what the library does not have.
//!
//! They take no argument: nothing that they are handed is looked at.

use crate::status::{NOT_SUPPORTED, Status};
use heddle_hostcall::report_refused;

macro_rules! refused {
    ($($name:ident)*) => {
        /// Their names.
        pub const REFUSED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[doc = concat!("`", stringify!($name), "` of the library, which is not supported.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> Status {
                report_refused(stringify!($name), "CUBLAS_STATUS_NOT_SUPPORTED");
                NOT_SUPPORTED
            }
        )*
    };
}

refused! {
    cublasCgelsBatched cublasCgeqrfBatched cublasCherk3mEx cublasCherk3mEx_64 cublasCherkEx
    cublasCherkEx_64 cublasCsyrk3mEx cublasCsyrk3mEx_64 cublasCsyrkEx cublasCsyrkEx_64 cublasDgelsBatched
    cublasDgemmGroupedBatched cublasDgemmGroupedBatched_64 cublasDgeqrfBatched cublasGemmGroupedBatchedEx
    cublasGemmGroupedBatchedEx_64 cublasGetEmulationSpecialValuesSupport
    cublasGetFixedPointEmulationMantissaBitCountPointer cublasGetFixedPointEmulationMantissaBitOffset
    cublasGetFixedPointEmulationMantissaControl cublasGetFixedPointEmulationMaxMantissaBitCount
    cublasHSHgemvBatched cublasHSHgemvBatched_64 cublasHSHgemvStridedBatched
    cublasHSHgemvStridedBatched_64 cublasHSSgemvBatched cublasHSSgemvBatched_64
    cublasHSSgemvStridedBatched cublasHSSgemvStridedBatched_64 cublasRotEx cublasRotEx_64 cublasRotgEx
    cublasRotmEx cublasRotmEx_64 cublasRotmgEx cublasSetEmulationSpecialValuesSupport
    cublasSetFixedPointEmulationMantissaBitCountPointer cublasSetFixedPointEmulationMantissaBitOffset
    cublasSetFixedPointEmulationMantissaControl cublasSetFixedPointEmulationMaxMantissaBitCount
    cublasSgelsBatched cublasSgemmGroupedBatched cublasSgemmGroupedBatched_64 cublasSgeqrfBatched
    cublasTSSgemvBatched cublasTSSgemvBatched_64 cublasTSSgemvStridedBatched
    cublasTSSgemvStridedBatched_64 cublasTSTgemvBatched cublasTSTgemvBatched_64
    cublasTSTgemvStridedBatched cublasTSTgemvStridedBatched_64 cublasUint8gemmBias cublasZgelsBatched
    cublasZgeqrfBatched
}
