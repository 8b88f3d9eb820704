//! Entries for what the library does not have.
//!
//! They take no argument: nothing that they are handed is looked at.

use crate::status::NOT_SUPPORTED;

heddle_hostcall::refused_entries! {
    NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED":
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
