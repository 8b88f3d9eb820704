//! Entries for what the library does not have: several devices, callbacks, code for kernels.
//!
//! They take no argument: nothing that they are handed is looked at.

use crate::status::NOT_SUPPORTED;

heddle_hostcall::refused_entries! {
    NOT_SUPPORTED, "CUFFT_NOT_SUPPORTED":
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
