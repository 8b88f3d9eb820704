//! The driver's entries that the runtime calls, looked up when they are needed.

use crate::errors::{CudartCode, INSUFFICIENT_DRIVER, NOT_SUPPORTED};
pub use heddle_hostcall::address;
use heddle_hostcall::library;
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

/// Any pointer.
pub type Ptr = *mut c_void;
/// Handle of a driver object.
pub type DriverHandle = usize;

macro_rules! driver {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        $(
            /// # Safety
            /// As `cuda.h` says.
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub unsafe fn $name($($argument: $type),*) -> CudartCode {
                static ADDRESS: OnceLock<usize> = OnceLock::new();
                let name = const {
                    match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name has no zero byte"),
                    }
                };
                let address = *ADDRESS.get_or_init(|| address(name));
                if address == 0 {
                    return if library() == 0 { INSUFFICIENT_DRIVER } else { NOT_SUPPORTED };
                }
                // SAFETY: the driver has a function of this type by this name.
                let function = unsafe {
                    std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> CudartCode>(address)
                };
                // SAFETY: the caller's promise.
                unsafe { function($($argument),*) }
            }
        )*
    };
}

driver! {
    fn cuInit(flags: u32);
    fn cuDriverGetVersion(version: *mut i32);
    fn cuDeviceGetCount(count: *mut i32);
    fn cuDeviceGetName(name: *mut c_char, room: i32, device: i32);
    fn cuDeviceGetUuid_v2(uuid: *mut u8, device: i32);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32);
    fn cuDeviceGetAttribute(value: *mut i32, number: i32, device: i32);
    fn cuDeviceGetPCIBusId(name: *mut c_char, room: i32, device: i32);
    fn cuDeviceGetByPCIBusId(device: *mut i32, name: *const c_char);
    fn cuDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32);
    fn cuDeviceGetP2PAttribute(value: *mut i32, number: i32, device: i32, peer: i32);
    fn cuFlushGPUDirectRDMAWrites(target: i32, scope: i32);
    fn cuDeviceGetDefaultMemPool(pool: *mut DriverHandle, device: i32);
    fn cuDeviceGetMemPool(pool: *mut DriverHandle, device: i32);
    fn cuDeviceSetMemPool(device: i32, pool: DriverHandle);
    fn cuDevicePrimaryCtxRetain(context: *mut DriverHandle, device: i32);
    fn cuDevicePrimaryCtxReset_v2(device: i32);
    fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32);
    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32);
    fn cuCtxGetCurrent(context: *mut DriverHandle);
    fn cuCtxSetCurrent(context: DriverHandle);
    fn cuCtxSynchronize();
    fn cuCtxGetLimit(value: *mut usize, limit: i32);
    fn cuCtxSetLimit(limit: i32, value: usize);
    fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32);
    fn cuGetProcAddress_v2(name: *const c_char, place: *mut Ptr, version: i32, flags: u64, status: *mut i32);
    fn cuModuleLoadData(module: *mut DriverHandle, image: *const c_void);
    fn cuModuleLoadDataEx(
        module: *mut DriverHandle, image: *const c_void, count: u32, options: *const u32, values: *mut Ptr,
    );
    fn cuModuleUnload(module: DriverHandle);
    fn cuModuleGetFunction(function: *mut DriverHandle, module: DriverHandle, name: *const c_char);
    fn cuModuleGetGlobal_v2(start: *mut Ptr, bytes: *mut usize, module: DriverHandle, name: *const c_char);
    fn cuLibraryLoadData(
        library: *mut DriverHandle, image: *const c_void, options: Ptr, values: Ptr, count: u32, library_options: Ptr,
        library_values: Ptr, library_count: u32,
    );
    fn cuLibraryLoadFromFile(
        library: *mut DriverHandle, path: *const c_char, options: Ptr, values: Ptr, count: u32, library_options: Ptr,
        library_values: Ptr, library_count: u32,
    );
    fn cuLibraryUnload(library: DriverHandle);
    fn cuLibraryGetKernel(kernel: *mut DriverHandle, library: DriverHandle, name: *const c_char);
    fn cuLibraryGetGlobal(start: *mut Ptr, bytes: *mut usize, library: DriverHandle, name: *const c_char);
    fn cuLibraryGetManaged(start: *mut Ptr, bytes: *mut usize, library: DriverHandle, name: *const c_char);
    fn cuLibraryGetKernelCount(count: *mut u32, library: DriverHandle);
    fn cuLibraryEnumerateKernels(kernels: *mut DriverHandle, count: u32, library: DriverHandle);
    fn cuFuncGetAttribute(value: *mut i32, number: i32, function: DriverHandle);
    fn cuFuncSetAttribute(function: DriverHandle, number: i32, value: i32);
    fn cuFuncSetCacheConfig(function: DriverHandle, config: i32);
    fn cuFuncGetName(name: *mut *const c_char, function: DriverHandle);
    fn cuFuncGetParamInfo(function: DriverHandle, index: usize, offset: *mut usize, bytes: *mut usize);
    fn cuLaunchKernel(
        function: DriverHandle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: DriverHandle, each: *const Ptr, extra: *const Ptr,
    );
    fn cuLaunchCooperativeKernel(
        function: DriverHandle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: DriverHandle, each: *const Ptr,
    );
    fn cuLaunchKernelEx(config: *const c_void, function: DriverHandle, each: *const Ptr, extra: *const Ptr);
    fn cuLaunchHostFunc(stream: DriverHandle, function: Ptr, data: Ptr);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut i32, function: DriverHandle, threads: i32, shared: usize, flags: u32,
    );
    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: DriverHandle, blocks: i32, threads: i32);
    fn cuMemAlloc_v2(place: *mut Ptr, bytes: usize);
    fn cuMemAllocPitch_v2(place: *mut Ptr, pitch: *mut usize, width: usize, height: usize, element: u32);
    fn cuMemAllocManaged(place: *mut Ptr, bytes: usize, flags: u32);
    fn cuMemAllocAsync(place: *mut Ptr, bytes: usize, stream: DriverHandle);
    fn cuMemAllocFromPoolAsync(place: *mut Ptr, bytes: usize, pool: DriverHandle, stream: DriverHandle);
    fn cuMemFree_v2(place: Ptr);
    fn cuMemFreeAsync(place: Ptr, stream: DriverHandle);
    fn cuMemHostAlloc(place: *mut Ptr, bytes: usize, flags: u32);
    fn cuMemFreeHost(place: Ptr);
    fn cuMemHostGetDevicePointer_v2(place: *mut Ptr, host: Ptr, flags: u32);
    fn cuMemHostGetFlags(flags: *mut u32, host: Ptr);
    fn cuMemHostRegister_v2(host: Ptr, bytes: usize, flags: u32);
    fn cuMemHostUnregister(host: Ptr);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemcpy(to: Ptr, from: Ptr, bytes: usize);
    fn cuMemcpyAsync(to: Ptr, from: Ptr, bytes: usize, stream: DriverHandle);
    fn cuMemcpy2D_v2(copy: *const c_void);
    fn cuMemcpy2DAsync_v2(copy: *const c_void, stream: DriverHandle);
    fn cuMemcpy3D_v2(copy: *const c_void);
    fn cuMemcpy3DAsync_v2(copy: *const c_void, stream: DriverHandle);
    fn cuMemcpyBatchAsync(
        to: *const Ptr, from: *const Ptr, sizes: *const usize, count: usize, attributes: *const c_void, starts: *const usize,
        attribute_count: usize, failed: *mut usize, stream: DriverHandle,
    );
    fn cuMemsetD8_v2(place: Ptr, value: u8, bytes: usize);
    fn cuMemsetD8Async(place: Ptr, value: u8, bytes: usize, stream: DriverHandle);
    fn cuMemsetD2D8_v2(place: Ptr, pitch: usize, value: u8, width: usize, height: usize);
    fn cuMemsetD2D8Async(place: Ptr, pitch: usize, value: u8, width: usize, height: usize, stream: DriverHandle);
    fn cuMemPoolCreate(pool: *mut DriverHandle, about: *const c_void);
    fn cuMemPoolDestroy(pool: DriverHandle);
    fn cuMemPoolSetAttribute(pool: DriverHandle, number: i32, value: Ptr);
    fn cuMemPoolGetAttribute(pool: DriverHandle, number: i32, value: Ptr);
    fn cuMemPoolTrimTo(pool: DriverHandle, bytes: usize);
    fn cuMemPoolSetAccess(pool: DriverHandle, list: *const c_void, count: usize);
    fn cuMemPoolGetAccess(flags: *mut i32, pool: DriverHandle, place: *const c_void);
    fn cuMemAdvise(place: *const c_void, bytes: usize, advice: i32, device: i32);
    fn cuMemAdvise_v2(place: *const c_void, bytes: usize, advice: i32, location: u64);
    fn cuMemPrefetchAsync(place: *const c_void, bytes: usize, device: i32, stream: DriverHandle);
    fn cuMemPrefetchAsync_v2(place: *const c_void, bytes: usize, location: u64, flags: u32, stream: DriverHandle);
    fn cuMemRangeGetAttribute(data: Ptr, size: usize, number: i32, place: *const c_void, bytes: usize);
    fn cuMemRangeGetAttributes(
        data: *const Ptr, sizes: *const usize, numbers: *const i32, count: usize, place: *const c_void, bytes: usize,
    );
    fn cuPointerGetAttribute(value: Ptr, number: i32, pointer: Ptr);
    fn cuStreamCreate(stream: *mut DriverHandle, flags: u32);
    fn cuStreamCreateWithPriority(stream: *mut DriverHandle, flags: u32, priority: i32);
    fn cuStreamDestroy_v2(stream: DriverHandle);
    fn cuStreamQuery(stream: DriverHandle);
    fn cuStreamSynchronize(stream: DriverHandle);
    fn cuStreamWaitEvent(stream: DriverHandle, event: DriverHandle, flags: u32);
    fn cuStreamAddCallback(stream: DriverHandle, callback: Ptr, data: Ptr, flags: u32);
    fn cuStreamAttachMemAsync(stream: DriverHandle, place: Ptr, bytes: usize, flags: u32);
    fn cuStreamGetPriority(stream: DriverHandle, priority: *mut i32);
    fn cuStreamGetFlags(stream: DriverHandle, flags: *mut u32);
    fn cuStreamGetId(stream: DriverHandle, id: *mut u64);
    fn cuStreamGetAttribute(stream: DriverHandle, id: u32, value: Ptr);
    fn cuStreamSetAttribute(stream: DriverHandle, id: u32, value: *const c_void);
    fn cuStreamCopyAttributes(to: DriverHandle, from: DriverHandle);
    fn cuStreamBeginCapture_v2(stream: DriverHandle, mode: i32);
    fn cuStreamBeginCaptureToGraph(
        stream: DriverHandle, graph: DriverHandle, nodes: *const DriverHandle, edges: *const c_void, count: usize, mode: i32,
    );
    fn cuStreamEndCapture(stream: DriverHandle, graph: *mut DriverHandle);
    fn cuStreamIsCapturing(stream: DriverHandle, status: *mut i32);
    fn cuStreamGetCaptureInfo_v2(
        stream: DriverHandle, status: *mut i32, id: *mut u64, graph: *mut DriverHandle, nodes: Ptr, count: *mut usize,
    );
    fn cuStreamGetCaptureInfo_v3(
        stream: DriverHandle, status: *mut i32, id: *mut u64, graph: *mut DriverHandle, nodes: Ptr, edges: Ptr,
        count: *mut usize,
    );
    fn cuStreamUpdateCaptureDependencies_v2(
        stream: DriverHandle, nodes: *const DriverHandle, edges: *const c_void, count: usize, flags: u32,
    );
    fn cuThreadExchangeStreamCaptureMode(mode: *mut i32);
    fn cuEventCreate(event: *mut DriverHandle, flags: u32);
    fn cuEventDestroy_v2(event: DriverHandle);
    fn cuEventQuery(event: DriverHandle);
    fn cuEventSynchronize(event: DriverHandle);
    fn cuEventRecord(event: DriverHandle, stream: DriverHandle);
    fn cuEventRecordWithFlags(event: DriverHandle, stream: DriverHandle, flags: u32);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: DriverHandle, end: DriverHandle);
    fn cuGraphCreate(graph: *mut DriverHandle, flags: u32);
    fn cuGraphDestroy(graph: DriverHandle);
    fn cuGraphClone(clone: *mut DriverHandle, graph: DriverHandle);
    fn cuGraphInstantiateWithFlags(executable: *mut DriverHandle, graph: DriverHandle, flags: u64);
    fn cuGraphLaunch(executable: DriverHandle, stream: DriverHandle);
    fn cuGraphUpload(executable: DriverHandle, stream: DriverHandle);
    fn cuGraphExecDestroy(executable: DriverHandle);
    fn cuGraphExecUpdate_v2(executable: DriverHandle, graph: DriverHandle, result: Ptr);
    fn cuGraphGetNodes(graph: DriverHandle, nodes: *mut DriverHandle, count: *mut usize);
    fn cuGraphGetRootNodes(graph: DriverHandle, nodes: *mut DriverHandle, count: *mut usize);
    fn cuGraphNodeGetType(node: DriverHandle, kind: *mut i32);
    fn cuGraphDestroyNode(node: DriverHandle);
    fn cuGraphAddEmptyNode(node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize);
    fn cuGraphAddChildGraphNode(node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, child: DriverHandle);
    fn cuGraphAddHostNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: *const c_void,
    );
    fn cuGraphAddKernelNode_v2(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: *const c_void,
    );
    fn cuGraphExecKernelNodeSetParams_v2(executable: DriverHandle, node: DriverHandle, params: *const c_void);
    fn cuGraphAddMemcpyNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, copy: *const c_void, context: DriverHandle,
    );
    fn cuGraphAddMemsetNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: *const c_void, context: DriverHandle,
    );
    fn cuGraphAddMemAllocNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, params: Ptr,
    );
    fn cuGraphAddMemFreeNode(node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, start: Ptr);
    fn cuGraphMemAllocNodeGetParams(node: DriverHandle, params: Ptr);
    fn cuGraphMemFreeNodeGetParams(node: DriverHandle, start: Ptr);
    fn cuGraphAddEventRecordNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, event: DriverHandle,
    );
    fn cuGraphAddEventWaitNode(
        node: *mut DriverHandle, graph: DriverHandle, before: *const DriverHandle, count: usize, event: DriverHandle,
    );
    fn cuGraphAddDependencies_v2(
        graph: DriverHandle, from: *const DriverHandle, to: *const DriverHandle, edges: *const c_void, count: usize,
    );
    fn cuGraphRemoveDependencies_v2(
        graph: DriverHandle, from: *const DriverHandle, to: *const DriverHandle, edges: *const c_void, count: usize,
    );
    fn cuGraphGetEdges_v2(
        graph: DriverHandle, from: *mut DriverHandle, to: *mut DriverHandle, edges: Ptr, count: *mut usize,
    );
    fn cuGraphNodeGetDependencies_v2(node: DriverHandle, nodes: *mut DriverHandle, edges: Ptr, count: *mut usize);
    fn cuGraphNodeGetDependentNodes_v2(node: DriverHandle, nodes: *mut DriverHandle, edges: Ptr, count: *mut usize);
    fn cuGraphNodeFindInClone(node: *mut DriverHandle, original: DriverHandle, clone: DriverHandle);
    fn cuGraphDebugDotPrint(graph: DriverHandle, path: *const c_char, flags: u32);
    fn cuUserObjectCreate(object: *mut DriverHandle, data: Ptr, destructor: Ptr, references: u32, flags: u32);
    fn cuUserObjectRetain(object: DriverHandle, count: u32);
    fn cuUserObjectRelease(object: DriverHandle, count: u32);
    fn cuGraphRetainUserObject(graph: DriverHandle, object: DriverHandle, count: u32, flags: u32);
    fn cuGraphReleaseUserObject(graph: DriverHandle, object: DriverHandle, count: u32);
    fn cuGraphKernelNodeGetParams_v2(node: DriverHandle, params: Ptr);
    fn cuGraphKernelNodeGetAttribute(node: DriverHandle, id: u32, value: Ptr);
    fn cuGraphKernelNodeSetAttribute(node: DriverHandle, id: u32, value: *const c_void);
    fn cuGraphKernelNodeCopyAttributes(to: DriverHandle, from: DriverHandle);
    fn cuGraphMemcpyNodeGetParams(node: DriverHandle, copy: Ptr);
    fn cuGraphMemsetNodeGetParams(node: DriverHandle, params: Ptr);
    fn cuGraphHostNodeGetParams(node: DriverHandle, params: Ptr);
    fn cuGraphChildGraphNodeGetGraph(node: DriverHandle, graph: *mut DriverHandle);
    fn cuGraphEventRecordNodeGetEvent(node: DriverHandle, event: *mut DriverHandle);
    fn cuGraphEventRecordNodeSetEvent(node: DriverHandle, event: DriverHandle);
    fn cuGraphEventWaitNodeGetEvent(node: DriverHandle, event: *mut DriverHandle);
    fn cuGraphEventWaitNodeSetEvent(node: DriverHandle, event: DriverHandle);
    fn cuGraphExecEventWaitNodeSetEvent(executable: DriverHandle, node: DriverHandle, event: DriverHandle);
    fn cuGraphInstantiateWithParams(executable: *mut DriverHandle, graph: DriverHandle, params: Ptr);
    fn cuGraphExecGetFlags(executable: DriverHandle, flags: *mut u64);
    fn cuGraphKernelNodeSetParams_v2(node: DriverHandle, params: *const c_void);
    fn cuGraphMemcpyNodeSetParams(node: DriverHandle, copy: *const c_void);
    fn cuGraphMemsetNodeSetParams(node: DriverHandle, params: *const c_void);
    fn cuGraphHostNodeSetParams(node: DriverHandle, params: *const c_void);
    fn cuGraphExecMemcpyNodeSetParams(
        executable: DriverHandle, node: DriverHandle, copy: *const c_void, context: DriverHandle,
    );
    fn cuGraphExecMemsetNodeSetParams(
        executable: DriverHandle, node: DriverHandle, params: *const c_void, context: DriverHandle,
    );
    fn cuGraphExecHostNodeSetParams(executable: DriverHandle, node: DriverHandle, params: *const c_void);
    fn cuGraphExecChildGraphNodeSetParams(executable: DriverHandle, node: DriverHandle, child: DriverHandle);
    fn cuGraphExecEventRecordNodeSetEvent(executable: DriverHandle, node: DriverHandle, event: DriverHandle);
    fn cuGraphNodeSetEnabled(executable: DriverHandle, node: DriverHandle, is_enabled: u32);
    fn cuGraphNodeGetEnabled(executable: DriverHandle, node: DriverHandle, is_enabled: *mut u32);
    fn cuDeviceGetGraphMemAttribute(device: i32, number: i32, value: Ptr);
    fn cuDeviceSetGraphMemAttribute(device: i32, number: i32, value: Ptr);
    fn cuDeviceGraphMemTrim(device: i32);
    fn cuArray3DCreate_v2(array: *mut DriverHandle, description: *const c_void);
    fn cuArray3DGetDescriptor_v2(description: Ptr, array: DriverHandle);
    fn cuArrayDestroy(array: DriverHandle);
    fn cuTexObjectCreate(object: *mut u64, resource: *const c_void, texture: *const c_void, view: Ptr);
    fn cuTexObjectDestroy(object: u64);
    fn cuTexObjectGetResourceDesc(resource: Ptr, object: u64);
    fn cuTexObjectGetTextureDesc(texture: Ptr, object: u64);
    fn cuSurfObjectGetResourceDesc(resource: Ptr, object: u64);
    fn cuSurfObjectCreate(object: *mut u64, resource: *const c_void);
    fn cuSurfObjectDestroy(object: u64);
    fn cuProfilerStart();
    fn cuProfilerStop();
}
