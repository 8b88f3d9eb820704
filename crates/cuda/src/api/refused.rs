//! Entries for unsupported features.
//!
//! They declare no parameters, as they read none.

use crate::core::error::report_refused;
use crate::cuda::{CUDA_ERROR_NOT_SUPPORTED, CUresult};

macro_rules! refused {
    ($($name:ident)*) => {
        /// Their names.
        pub const REFUSED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[doc = concat!("`", stringify!($name), "` of `cuda.h`, which is not supported.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> CUresult {
                report_refused(stringify!($name));
                CUDA_ERROR_NOT_SUPPORTED
            }
        )*
    };
}

refused! {
    cuArray3DCreate cuArray3DGetDescriptor cuArrayCreate cuArrayGetDescriptor cuArrayGetMemoryRequirements
    cuArrayGetPlane cuArrayGetSparseProperties cuCheckpointProcessCheckpoint
    cuCheckpointProcessGetRestoreThreadId cuCheckpointProcessGetState cuCheckpointProcessLock
    cuCheckpointProcessRestore cuCheckpointProcessUnlock cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal
    cuCoredumpSetAttribute cuCoredumpSetAttributeGlobal cuCtxFromGreenCtx cuCtxGetDevResource
    cuCtxGetExecAffinity cuCtxRecordEvent cuCtxWaitEvent cuDestroyExternalMemory cuDestroyExternalSemaphore
    cuDevResourceGenerateDesc cuDevSmResourceSplitByCount cuDeviceGetDevResource cuDeviceGetNvSciSyncAttributes
    cuDeviceRegisterAsyncNotification cuDeviceTotalMem cuDeviceUnregisterAsyncNotification
    cuExternalMemoryGetMappedBuffer cuExternalMemoryGetMappedMipmappedArray cuFuncSetBlockShape
    cuFuncSetSharedSize cuGetExportTable cuGraphAddExternalSemaphoresSignalNode
    cuGraphAddExternalSemaphoresWaitNode cuGraphAddNode cuGraphAddNode_v2 cuGraphConditionalHandleCreate
    cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams
    cuGraphExecNodeSetParams cuGraphExternalSemaphoresSignalNodeGetParams
    cuGraphExternalSemaphoresSignalNodeSetParams cuGraphExternalSemaphoresWaitNodeGetParams
    cuGraphExternalSemaphoresWaitNodeSetParams cuGraphNodeSetParams cuGraphicsMapResources
    cuGraphicsMapResources_ptsz cuGraphicsResourceGetMappedMipmappedArray cuGraphicsResourceGetMappedPointer
    cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags cuGraphicsResourceSetMapFlags_v2
    cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources cuGraphicsUnmapResources_ptsz
    cuGraphicsUnregisterResource cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxGetDevResource
    cuGreenCtxRecordEvent cuGreenCtxStreamCreate cuGreenCtxWaitEvent cuImportExternalMemory
    cuImportExternalSemaphore cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle cuIpcOpenEventHandle
    cuIpcOpenMemHandle cuIpcOpenMemHandle_v2 cuLaunch cuLaunchCooperativeKernelMultiDevice cuLaunchGrid
    cuLaunchGridAsync cuLibraryGetUnifiedFunction cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory
    cuLogsRegisterCallback cuLogsUnregisterCallback cuMemAlloc cuMemAllocHost cuMemAllocPitch
    cuMemBatchDecompressAsync cuMemBatchDecompressAsync_ptsz cuMemExportToShareableHandle cuMemFree
    cuMemGetAddressRange cuMemGetHandleForAddressRange cuMemGetInfo cuMemHostGetDevicePointer
    cuMemImportFromShareableHandle cuMemMapArrayAsync cuMemMapArrayAsync_ptsz cuMemPoolExportPointer
    cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemPoolImportPointer cuMemcpy2D
    cuMemcpy2DAsync cuMemcpy2DUnaligned cuMemcpy3D cuMemcpy3DAsync cuMemcpy3DBatchAsync
    cuMemcpy3DBatchAsync_ptsz cuMemcpyAtoA cuMemcpyAtoD cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyDtoA cuMemcpyDtoD
    cuMemcpyDtoDAsync cuMemcpyDtoH cuMemcpyDtoHAsync cuMemcpyHtoA cuMemcpyHtoAAsync cuMemcpyHtoD
    cuMemcpyHtoDAsync cuMemsetD16 cuMemsetD2D16 cuMemsetD2D32 cuMemsetD2D8 cuMemsetD32 cuMemsetD8
    cuMipmappedArrayCreate cuMipmappedArrayDestroy cuMipmappedArrayGetLevel
    cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties cuModuleGetGlobal
    cuModuleGetSurfRef cuModuleGetTexRef cuMulticastAddDevice cuMulticastBindAddr cuMulticastBindMem
    cuMulticastCreate cuMulticastGetGranularity cuMulticastUnbind cuOccupancyMaxActiveClusters
    cuOccupancyMaxPotentialClusterSize cuParamSetSize cuParamSetTexRef cuParamSetf cuParamSeti cuParamSetv
    cuProfilerInitialize cuSignalExternalSemaphoresAsync cuSignalExternalSemaphoresAsync_ptsz
    cuStreamGetGreenCtx cuSurfRefGetArray cuSurfRefSetArray cuTensorMapEncodeIm2col cuTensorMapEncodeIm2colWide
    cuTensorMapEncodeTiled cuTensorMapReplaceAddress cuTexObjectGetResourceViewDesc cuTexRefCreate
    cuTexRefDestroy cuTexRefGetAddress cuTexRefGetAddressMode cuTexRefGetAddress_v2 cuTexRefGetArray
    cuTexRefGetBorderColor cuTexRefGetFilterMode cuTexRefGetFlags cuTexRefGetFormat cuTexRefGetMaxAnisotropy
    cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray
    cuTexRefSetAddress cuTexRefSetAddress2D cuTexRefSetAddress2D_v2 cuTexRefSetAddress2D_v3
    cuTexRefSetAddressMode cuTexRefSetAddress_v2 cuTexRefSetArray cuTexRefSetBorderColor cuTexRefSetFilterMode
    cuTexRefSetFlags cuTexRefSetFormat cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode
    cuTexRefSetMipmapLevelBias cuTexRefSetMipmapLevelClamp cuTexRefSetMipmappedArray
    cuWaitExternalSemaphoresAsync cuWaitExternalSemaphoresAsync_ptsz
}
