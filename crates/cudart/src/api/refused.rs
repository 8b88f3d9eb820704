//! Entries for what the runtime does not have.
//!
//! They take no argument: nothing that they are handed is looked at.

use crate::errors::{CudartCode, CudartError, NOT_SUPPORTED};
use crate::state::{answer, report_refused};

macro_rules! refused {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the runtime, which is not supported.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> CudartCode {
                report_refused(stringify!($name));
                answer(|| Err(CudartError(NOT_SUPPORTED)))
            }
        )*
    };
}

refused! {
    __cudaGetProcAddress __cudaRegisterHostVar __cudaRegisterUnifiedTable
    cudaArrayGetMemoryRequirements cudaArrayGetPlane cudaArrayGetSparseProperties
    cudaDestroyExternalMemory cudaDestroyExternalSemaphore cudaDevResourceGenerateDesc
    cudaDevSmResourceSplit cudaDevSmResourceSplitByCount cudaDeviceGetDevResource
    cudaDeviceGetExecutionCtx cudaDeviceGetHostAtomicCapabilities cudaDeviceGetNvSciSyncAttributes
    cudaDeviceGetP2PAtomicCapabilities cudaDeviceGetTexture1DLinearMaxWidth
    cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification
    cudaEGLStreamConsumerAcquireFrame cudaEGLStreamConsumerConnect
    cudaEGLStreamConsumerConnectWithFlags cudaEGLStreamConsumerDisconnect
    cudaEGLStreamConsumerReleaseFrame cudaEGLStreamProducerConnect cudaEGLStreamProducerDisconnect
    cudaEGLStreamProducerPresentFrame cudaEGLStreamProducerReturnFrame cudaEventCreateFromEGLSync
    cudaExecutionCtxDestroy cudaExecutionCtxGetDevResource cudaExecutionCtxGetDevice
    cudaExecutionCtxGetId cudaExecutionCtxRecordEvent cudaExecutionCtxStreamCreate
    cudaExecutionCtxSynchronize cudaExecutionCtxWaitEvent cudaExternalMemoryGetMappedBuffer
    cudaExternalMemoryGetMappedMipmappedArray cudaFreeMipmappedArray cudaFuncGetParamCount
    cudaGLGetDevices cudaGLMapBufferObject cudaGLMapBufferObjectAsync cudaGLRegisterBufferObject
    cudaGLSetBufferObjectMapFlags cudaGLSetGLDevice cudaGLUnmapBufferObject
    cudaGLUnmapBufferObjectAsync cudaGLUnregisterBufferObject cudaGetExportTable
    cudaGetMipmappedArrayLevel cudaGetTextureObjectResourceViewDesc
    cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode cudaGraphAddNode
    cudaGraphAddNode_v2 cudaGraphConditionalHandleCreate cudaGraphConditionalHandleCreate_v2
    cudaGraphExecExternalSemaphoresSignalNodeSetParams
    cudaGraphExecExternalSemaphoresWaitNodeSetParams cudaGraphExecGetId cudaGraphExecNodeSetParams
    cudaGraphExternalSemaphoresSignalNodeGetParams cudaGraphExternalSemaphoresSignalNodeSetParams
    cudaGraphExternalSemaphoresWaitNodeGetParams cudaGraphExternalSemaphoresWaitNodeSetParams
    cudaGraphGetId cudaGraphNodeGetContainingGraph cudaGraphNodeGetLocalId cudaGraphNodeGetParams
    cudaGraphNodeGetToolsId cudaGraphNodeSetParams cudaGraphicsEGLRegisterImage
    cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage cudaGraphicsMapResources
    cudaGraphicsResourceGetMappedEglFrame cudaGraphicsResourceGetMappedMipmappedArray
    cudaGraphicsResourceGetMappedPointer cudaGraphicsResourceSetMapFlags
    cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources cudaGraphicsUnregisterResource
    cudaGraphicsVDPAURegisterOutputSurface cudaGraphicsVDPAURegisterVideoSurface cudaGreenCtxCreate
    cudaImportExternalMemory cudaImportExternalSemaphore cudaIpcCloseMemHandle cudaIpcGetEventHandle
    cudaIpcGetMemHandle cudaIpcOpenEventHandle cudaIpcOpenMemHandle cudaKernelSetAttributeForDevice
    cudaLaunchCooperativeKernelMultiDevice cudaLaunchHostFunc_v2 cudaLaunchHostFunc_v2_ptsz
    cudaLibraryGetUnifiedFunction cudaLogsCurrent cudaLogsDumpToFile cudaLogsDumpToMemory
    cudaLogsRegisterCallback cudaLogsUnregisterCallback cudaMallocMipmappedArray
    cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
    cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz cudaMemGetDefaultMemPool
    cudaMemGetLocationInfo cudaMemGetMemPool cudaMemPoolExportPointer
    cudaMemPoolExportToShareableHandle cudaMemPoolImportFromShareableHandle cudaMemPoolImportPointer
    cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz cudaMemSetMemPool
    cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DWithAttributesAsync
    cudaMemcpy3DWithAttributesAsync_ptsz cudaMipmappedArrayGetMemoryRequirements
    cudaMipmappedArrayGetSparseProperties cudaOccupancyMaxActiveClusters
    cudaOccupancyMaxPotentialClusterSize cudaSetDoubleForDevice cudaSetDoubleForHost
    cudaSignalExternalSemaphoresAsync cudaSignalExternalSemaphoresAsync_ptsz
    cudaSignalExternalSemaphoresAsync_v2 cudaSignalExternalSemaphoresAsync_v2_ptsz
    cudaStreamBeginRecaptureToGraph cudaStreamBeginRecaptureToGraph_ptsz cudaStreamGetDevResource
    cudaStreamGetDevResource_ptsz cudaSubgridCreate cudaSubgridWorkerGridCreate
    cudaSubgridWorksetCreate cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice
    cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz
    cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2_ptsz
}
