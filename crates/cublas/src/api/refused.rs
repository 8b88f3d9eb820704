//! Entries for what the library does not have.
//!
//! They take no argument: nothing that they are handed is looked at.

use crate::status::{NOT_SUPPORTED, Status};
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

macro_rules! refused {
    ($($name:ident)*) => {
        /// Their names.
        pub const REFUSED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[doc = concat!("`", stringify!($name), "` of the library, which is not supported.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> Status {
                report_refused(stringify!($name));
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

/// Reports once that an unsupported entry is called, if `HEDDLE_REPORT=1` asks for that.
fn report_refused(entry: &'static str) {
    static REPORTED: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    if std::env::var_os("HEDDLE_REPORT").is_none_or(|value| value != "1") {
        return;
    }
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !reported.contains(&entry) {
        reported.push(entry);
        // Ignore write errors: nobody can receive the message.
        let _ = writeln!(
            std::io::stderr(),
            "heddle: {entry} is not supported: it returns CUBLAS_STATUS_NOT_SUPPORTED"
        );
    }
}
