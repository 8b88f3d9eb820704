//! Entries for what the library does not have: several devices, callbacks, code for kernels.
//!
//! They take no argument: nothing that they are handed is looked at.

use crate::status::{CufftStatus, NOT_SUPPORTED};
use heddle_hostcall::report_refused;

macro_rules! refused {
    ($($name:ident)*) => {
        /// Their names.
        pub const REFUSED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[doc = concat!("`", stringify!($name), "` of the library, which is not supported.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> CufftStatus {
                report_refused(stringify!($name), "CUFFT_NOT_SUPPORTED");
                NOT_SUPPORTED
            }
        )*
    };
}

refused! {
    cufftDebug cufftDescriptionCreate cufftDescriptionDestroy cufftDescriptionGetTraitInt64
    cufftDescriptionSetTraitInt64 cufftDeviceCreate cufftDeviceDestroy cufftDeviceGetDatabaseStr
    cufftDeviceGetDatabaseStrSize cufftDeviceGetDeviceFunctionTraitInt64 cufftDeviceGetDeviceFunctions
    cufftDeviceGetLTOIRSizes cufftDeviceGetLTOIRs cufftDeviceGetNumDeviceFunctions
    cufftDeviceGetNumLTOIRs cufftDeviceGetSemanticVersion cufftDeviceGetVersion cufftDeviceIsSupported
    cufftXtClearCallback cufftXtExecDescriptor cufftXtExecDescriptorC2C cufftXtExecDescriptorC2R
    cufftXtExecDescriptorD2Z cufftXtExecDescriptorR2C cufftXtExecDescriptorZ2D cufftXtExecDescriptorZ2Z
    cufftXtFree cufftXtMakePlanGuru64 cufftXtMalloc cufftXtMemcpy cufftXtQueryPlan cufftXtSetCallback
    cufftXtSetCallbackSharedSize cufftXtSetGPUs cufftXtSetJITCallback
}
