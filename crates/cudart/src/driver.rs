//! The driver's entries that the runtime calls, looked up when they are needed.

use crate::errors::{Code, INSUFFICIENT_DRIVER, NOT_SUPPORTED};
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::OnceLock;

/// Any pointer.
pub type Ptr = *mut c_void;
/// What the driver gives for an object.
pub type Handle = usize;

/// The driver that lies beside this library, or that the loader finds.
fn library() -> usize {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        // SAFETY: an all-zero record is one; the address is of this library, and what the system tells of it is a text.
        let own = unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            let own: fn() -> usize = library;
            match libc::dladdr(own as *const c_void, &mut info) != 0 && !info.dli_fname.is_null() {
                true => CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned(),
                false => String::new(),
            }
        };
        let beside = std::path::Path::new(&own).with_file_name("libcuda.so.1");
        let beside = CString::new(beside.to_string_lossy().as_ref()).unwrap_or_default();
        for path in [beside.as_c_str(), c"libcuda.so.1"] {
            // SAFETY: the path is a text; what a driver does when it is opened is its own affair.
            let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
            if !library.is_null() {
                return library.expose_provenance();
            }
        }
        0
    })
}

/// Where an entry is, or 0.
pub fn address(name: &CStr) -> usize {
    match library() {
        0 => 0,
        // SAFETY: the library stays open, and the name is a text.
        library => unsafe { libc::dlsym(std::ptr::with_exposed_provenance_mut(library), name.as_ptr()) }
            .expose_provenance(),
    }
}

macro_rules! driver {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        $(
            /// # Safety
            /// As `cuda.h` says.
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub unsafe fn $name($($argument: $type),*) -> Code {
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
                    std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> Code>(address)
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
    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: i32);
    fn cuDeviceGetMemPool(pool: *mut Handle, device: i32);
    fn cuDeviceSetMemPool(device: i32, pool: Handle);
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: i32);
    fn cuDevicePrimaryCtxReset_v2(device: i32);
    fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32);
    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32);
    fn cuCtxGetCurrent(context: *mut Handle);
    fn cuCtxSetCurrent(context: Handle);
    fn cuCtxSynchronize();
    fn cuCtxGetLimit(value: *mut usize, limit: i32);
    fn cuCtxSetLimit(limit: i32, value: usize);
    fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32);
    fn cuGetProcAddress_v2(name: *const c_char, place: *mut Ptr, version: i32, flags: u64, status: *mut i32);
    fn cuModuleLoadData(module: *mut Handle, image: *const c_void);
    fn cuModuleUnload(module: Handle);
    fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    fn cuModuleGetGlobal_v2(start: *mut Ptr, bytes: *mut usize, module: Handle, name: *const c_char);
    fn cuLibraryLoadData(
        library: *mut Handle, image: *const c_void, options: Ptr, values: Ptr, count: u32, library_options: Ptr,
        library_values: Ptr, library_count: u32,
    );
    fn cuLibraryLoadFromFile(
        library: *mut Handle, path: *const c_char, options: Ptr, values: Ptr, count: u32, library_options: Ptr,
        library_values: Ptr, library_count: u32,
    );
    fn cuLibraryUnload(library: Handle);
    fn cuLibraryGetKernel(kernel: *mut Handle, library: Handle, name: *const c_char);
    fn cuLibraryGetGlobal(start: *mut Ptr, bytes: *mut usize, library: Handle, name: *const c_char);
    fn cuLibraryGetManaged(start: *mut Ptr, bytes: *mut usize, library: Handle, name: *const c_char);
    fn cuLibraryGetKernelCount(count: *mut u32, library: Handle);
    fn cuLibraryEnumerateKernels(kernels: *mut Handle, count: u32, library: Handle);
    fn cuFuncGetAttribute(value: *mut i32, number: i32, function: Handle);
    fn cuFuncSetAttribute(function: Handle, number: i32, value: i32);
    fn cuFuncSetCacheConfig(function: Handle, config: i32);
    fn cuFuncGetName(name: *mut *const c_char, function: Handle);
    fn cuFuncGetParamInfo(function: Handle, index: usize, offset: *mut usize, bytes: *mut usize);
    fn cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: Handle, each: *const Ptr, extra: *const Ptr,
    );
    fn cuLaunchCooperativeKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: Handle, each: *const Ptr,
    );
    fn cuLaunchKernelEx(config: *const c_void, function: Handle, each: *const Ptr, extra: *const Ptr);
    fn cuLaunchHostFunc(stream: Handle, function: Ptr, data: Ptr);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut i32, function: Handle, threads: i32, shared: usize, flags: u32,
    );
    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: Handle, blocks: i32, threads: i32);
    fn cuMemAlloc_v2(place: *mut Ptr, bytes: usize);
    fn cuMemAllocPitch_v2(place: *mut Ptr, pitch: *mut usize, width: usize, height: usize, element: u32);
    fn cuMemAllocManaged(place: *mut Ptr, bytes: usize, flags: u32);
    fn cuMemAllocAsync(place: *mut Ptr, bytes: usize, stream: Handle);
    fn cuMemAllocFromPoolAsync(place: *mut Ptr, bytes: usize, pool: Handle, stream: Handle);
    fn cuMemFree_v2(place: Ptr);
    fn cuMemFreeAsync(place: Ptr, stream: Handle);
    fn cuMemHostAlloc(place: *mut Ptr, bytes: usize, flags: u32);
    fn cuMemFreeHost(place: Ptr);
    fn cuMemHostGetDevicePointer_v2(place: *mut Ptr, host: Ptr, flags: u32);
    fn cuMemHostGetFlags(flags: *mut u32, host: Ptr);
    fn cuMemHostRegister_v2(host: Ptr, bytes: usize, flags: u32);
    fn cuMemHostUnregister(host: Ptr);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemcpy(to: Ptr, from: Ptr, bytes: usize);
    fn cuMemcpyAsync(to: Ptr, from: Ptr, bytes: usize, stream: Handle);
    fn cuMemcpy2D_v2(copy: *const c_void);
    fn cuMemcpy2DAsync_v2(copy: *const c_void, stream: Handle);
    fn cuMemcpy3D_v2(copy: *const c_void);
    fn cuMemcpy3DAsync_v2(copy: *const c_void, stream: Handle);
    fn cuMemsetD8_v2(place: Ptr, value: u8, bytes: usize);
    fn cuMemsetD8Async(place: Ptr, value: u8, bytes: usize, stream: Handle);
    fn cuMemsetD2D8_v2(place: Ptr, pitch: usize, value: u8, width: usize, height: usize);
    fn cuMemsetD2D8Async(place: Ptr, pitch: usize, value: u8, width: usize, height: usize, stream: Handle);
    fn cuMemPoolCreate(pool: *mut Handle, about: *const c_void);
    fn cuMemPoolDestroy(pool: Handle);
    fn cuMemPoolSetAttribute(pool: Handle, number: i32, value: Ptr);
    fn cuMemPoolGetAttribute(pool: Handle, number: i32, value: Ptr);
    fn cuMemPoolTrimTo(pool: Handle, bytes: usize);
    fn cuMemPoolSetAccess(pool: Handle, list: *const c_void, count: usize);
    fn cuMemPoolGetAccess(flags: *mut i32, pool: Handle, place: *const c_void);
    fn cuPointerGetAttribute(value: Ptr, number: i32, pointer: Ptr);
    fn cuStreamCreate(stream: *mut Handle, flags: u32);
    fn cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32);
    fn cuStreamDestroy_v2(stream: Handle);
    fn cuStreamQuery(stream: Handle);
    fn cuStreamSynchronize(stream: Handle);
    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32);
    fn cuStreamAddCallback(stream: Handle, callback: Ptr, data: Ptr, flags: u32);
    fn cuStreamAttachMemAsync(stream: Handle, place: Ptr, bytes: usize, flags: u32);
    fn cuStreamGetPriority(stream: Handle, priority: *mut i32);
    fn cuStreamGetFlags(stream: Handle, flags: *mut u32);
    fn cuStreamGetId(stream: Handle, id: *mut u64);
    fn cuStreamBeginCapture_v2(stream: Handle, mode: i32);
    fn cuStreamEndCapture(stream: Handle, graph: *mut Handle);
    fn cuStreamIsCapturing(stream: Handle, status: *mut i32);
    fn cuStreamGetCaptureInfo_v2(
        stream: Handle, status: *mut i32, id: *mut u64, graph: *mut Handle, nodes: Ptr, count: *mut usize,
    );
    fn cuThreadExchangeStreamCaptureMode(mode: *mut i32);
    fn cuEventCreate(event: *mut Handle, flags: u32);
    fn cuEventDestroy_v2(event: Handle);
    fn cuEventQuery(event: Handle);
    fn cuEventSynchronize(event: Handle);
    fn cuEventRecord(event: Handle, stream: Handle);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle);
    fn cuGraphCreate(graph: *mut Handle, flags: u32);
    fn cuGraphDestroy(graph: Handle);
    fn cuGraphClone(clone: *mut Handle, graph: Handle);
    fn cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, flags: u64);
    fn cuGraphLaunch(executable: Handle, stream: Handle);
    fn cuGraphUpload(executable: Handle, stream: Handle);
    fn cuGraphExecDestroy(executable: Handle);
    fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, result: Ptr);
    fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize);
    fn cuGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize);
    fn cuGraphNodeGetType(node: Handle, kind: *mut i32);
    fn cuGraphDestroyNode(node: Handle);
    fn cuGraphAddEmptyNode(node: *mut Handle, graph: Handle, before: *const Handle, count: usize);
    fn cuGraphAddChildGraphNode(node: *mut Handle, graph: Handle, before: *const Handle, count: usize, child: Handle);
    fn cuGraphAddHostNode(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize, params: *const c_void,
    );
    fn cuGraphAddKernelNode_v2(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize, params: *const c_void,
    );
    fn cuGraphExecKernelNodeSetParams_v2(executable: Handle, node: Handle, params: *const c_void);
    fn cuGraphAddMemcpyNode(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize, copy: *const c_void, context: Handle,
    );
    fn cuGraphAddMemsetNode(
        node: *mut Handle, graph: Handle, before: *const Handle, count: usize, params: *const c_void, context: Handle,
    );
    fn cuProfilerStart();
    fn cuProfilerStop();
}
