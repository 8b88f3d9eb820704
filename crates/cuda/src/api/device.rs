//! The driver and its one device.

use super::pointer::{CudaInput, CudaOutput, CudaString};
use crate::attributes::{DeviceAttribute, LAST_DEVICE_ATTRIBUTE};
use crate::core::context::{ensure_device, ensure_initialized, initialize};
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::graph_memory;
use crate::core::launch::{
    BLOCKS_PER_PROCESSOR, MOST_BLOCKS, MOST_THREADS_ALONG, THREADS_PER_PROCESSOR, processors,
};
use crate::core::memory;
use crate::core::module::{MOST_SHARED, MOST_SHARED_UNASKED, MOST_THREADS};
use crate::core::texture::{MOST_LAYERS, MOST_LINEAR, MOST_PLANE, MOST_VOLUME};
use crate::cuda::*;
use heddle_runtime::machine_memory;
use std::ffi::{c_char, c_void};

/// PCI address that the device reports.
const BUS: &str = "0000:00:00.0";

/// Numbers of attributes of features that the device has (`CU_DEVICE_ATTRIBUTE_…`): waits for values in memory and writes of them, with
/// 64 bits and by `NOR`, in both versions of the interface, and virtual memory management.
const CAN_USE_STREAM_MEM_OPS_V1: u32 = 92;
const CAN_USE_64_BIT_STREAM_MEM_OPS_V1: u32 = 93;
const CAN_USE_STREAM_WAIT_VALUE_NOR_V1: u32 = 94;
const VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: u32 = 102;
const CAN_USE_64_BIT_STREAM_MEM_OPS: u32 = 122;
const CAN_USE_STREAM_WAIT_VALUE_NOR: u32 = 123;

/// Returns an attribute by number; none of an unknown one.
fn attribute(number: u32) -> Option<i32> {
    use DeviceAttribute::*;
    if matches!(
        number,
        CAN_USE_STREAM_MEM_OPS_V1
            | CAN_USE_64_BIT_STREAM_MEM_OPS_V1
            | CAN_USE_STREAM_WAIT_VALUE_NOR_V1
            | VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
            | CAN_USE_64_BIT_STREAM_MEM_OPS
            | CAN_USE_STREAM_WAIT_VALUE_NOR
    ) {
        return Some(1);
    }
    let Some(attribute) = DeviceAttribute::from_number(number) else {
        return (1..=LAST_DEVICE_ATTRIBUTE).contains(&number).then_some(0);
    };
    Some(match attribute {
        MaxThreadsPerBlock => MOST_THREADS as i32,
        MaxBlockDimX | MaxBlockDimY | MaxBlockDimZ => MOST_THREADS_ALONG[number as usize - 2] as i32,
        MaxGridDimX | MaxGridDimY | MaxGridDimZ => MOST_BLOCKS[number as usize - 5] as i32,
        MaxSharedMemoryPerBlock => MOST_SHARED_UNASKED as i32,
        // Constant memory is memory, but programs expect PTX's limit.
        TotalConstantMemory => 64 << 10,
        WarpSize => WARP as i32,
        MaxPitch => i32::MAX,
        MaxRegistersPerBlock | MaxRegistersPerMultiprocessor => 65536,
        // In kilohertz; no program can rely on them.
        ClockRate | MemoryClockRate => 1_000_000,
        Texture1dWidth
        | Texture2dWidth
        | Texture2dHeight
        | Texture2dLayeredWidth
        | Texture2dLayeredHeight => MOST_PLANE as i32,
        Texture1dLayeredWidth | Texture2dGatherWidth | Texture2dGatherHeight => MOST_PLANE as i32,
        Texture2dLinearWidth | Texture2dLinearHeight => MOST_PLANE as i32,
        Surface1dWidth | Surface2dWidth | Surface2dHeight | Surface1dLayeredWidth => MOST_PLANE as i32,
        Surface2dLayeredWidth | Surface2dLayeredHeight => MOST_PLANE as i32,
        Texture3dWidth | Texture3dHeight | Texture3dDepth => MOST_VOLUME as i32,
        Surface3dWidth | Surface3dHeight | Surface3dDepth => MOST_VOLUME as i32,
        Texture1dLayeredLayers | Texture2dLayeredLayers | Surface1dLayeredLayers | Surface2dLayeredLayers => {
            MOST_LAYERS as i32
        }
        Texture1dLinearWidth => MOST_LINEAR as i32,
        Texture2dLinearPitch => i32::MAX,
        TextureAlignment | SurfaceAlignment | TexturePitchAlignment => 512,
        MultiprocessorCount => processors() as i32,
        GlobalMemoryBusWidth => 64,
        L2CacheSize => 1 << 20,
        MaxThreadsPerMultiprocessor => THREADS_PER_PROCESSOR as i32,
        ComputeCapabilityMajor => CAPABILITY[0],
        ComputeCapabilityMinor => CAPABILITY[1],
        MaxSharedMemoryPerMultiprocessor => 100 << 10,
        SingleToDoublePrecisionPerfRatio => 2,
        MaxSharedMemoryPerBlockOptin => MOST_SHARED as i32,
        MaxBlocksPerMultiprocessor => BLOCKS_PER_PROCESSOR as i32,
        // The device shares the host's memory and its addresses.
        Integrated | CanMapHostMemory | UnifiedAddressing | ManagedMemory | HostNativeAtomicSupported => 1,
        PageableMemoryAccess | ConcurrentManagedAccess | CanUseHostPointerForRegisteredMem => 1,
        CanFlushRemoteWrites | HostRegisterSupported | PageableMemoryAccessUsesHostPageTables => 1,
        DirectManagedMemAccessFromHost | ReadOnlyHostRegisterSupported | MemoryPoolsSupported => 1,
        ConcurrentKernels | StreamPrioritiesSupported | ComputePreemptionSupported | CooperativeLaunch => 1,
        GlobalL1CacheSupported | LocalL1CacheSupported => 1,
    })
}

fn code_text(code: CUresult) -> CudaResult<*const c_char> {
    error_name(code).map(std::ffi::CStr::as_ptr).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
}

entries! {
    fn cuInit(flags: u32) {
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        initialize();
        Ok(())
    }

    fn cuDriverGetVersion(version: CudaOutput<i32>) {
        version.write(VERSION)
    }

    fn cuGetErrorName(code: CUresult, name: CudaOutput<*const c_char>) {
        name.write(code_text(code).unwrap_or(std::ptr::null()))?;
        code_text(code).map(|_| ())
    }

    fn cuGetErrorString(code: CUresult, text: CudaOutput<*const c_char>) {
        text.write(code_text(code).unwrap_or(std::ptr::null()))?;
        code_text(code).map(|_| ())
    }

    fn cuDeviceGet(device: CudaOutput<CUdevice>, number: i32) {
        ensure_device(number)?;
        device.write(number)
    }

    fn cuDeviceGetCount(count: CudaOutput<i32>) {
        ensure_initialized()?;
        count.write(1)
    }

    fn cuDeviceGetName(name: CudaOutput<c_char>, room: i32, device: CUdevice) {
        ensure_device(device)?;
        name.write_text(b"Heddle (CPU)", usize::try_from(room).unwrap_or(0))
    }

    fn cuDeviceGetUuid | cuDeviceGetUuid_v2 (uuid: CudaOutput<[u8; 16]>, device: CUdevice) {
        ensure_device(device)?;
        uuid.write(*b"Heddle on a CPU.")
    }

    fn cuDeviceGetLuid(luid: CudaOutput<[u8; 8]>, mask: CudaOutput<u32>, device: CUdevice) {
        ensure_device(device)?;
        luid.write(*b"Heddle  ")?;
        mask.write(1)
    }

    fn cuDeviceTotalMem_v2(bytes: CudaOutput<usize>, device: CUdevice) {
        ensure_device(device)?;
        bytes.write(machine_memory::total_bytes())
    }

    fn cuDeviceGetAttribute(value: CudaOutput<i32>, number: u32, device: CUdevice) {
        ensure_device(device)?;
        value.write(attribute(number).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?)
    }

    fn cuDeviceGetProperties(properties: CudaOutput<[i32; 14]>, device: CUdevice) {
        ensure_device(device)?;
        let of = |number| attribute(number).unwrap_or(0);
        properties.write([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map(of))
    }

    fn cuDeviceComputeCapability(major: CudaOutput<i32>, minor: CudaOutput<i32>, device: CUdevice) {
        ensure_device(device)?;
        major.write(CAPABILITY[0])?;
        minor.write(CAPABILITY[1])
    }

    fn cuDeviceGetPCIBusId(id: CudaOutput<c_char>, room: i32, device: CUdevice) {
        ensure_device(device)?;
        id.write_text(BUS.as_bytes(), usize::try_from(room).unwrap_or(0))
    }

    fn cuDeviceGetByPCIBusId(device: CudaOutput<CUdevice>, id: CudaString) {
        ensure_initialized()?;
        ensure(id.get()? == BUS, CUDA_ERROR_INVALID_DEVICE)?;
        device.write(0)
    }

    fn cuDeviceCanAccessPeer(can: CudaOutput<i32>, device: CUdevice, peer: CUdevice) {
        ensure_device(device)?;
        ensure_device(peer)?;
        can.write(0)
    }

    fn cuDeviceGetP2PAttribute(_value: CudaOutput<i32>, _number: u32, device: CUdevice, peer: CUdevice) {
        ensure_device(device)?;
        ensure_device(peer)?;
        // A device is no peer of itself.
        Err(CudaError(CUDA_ERROR_INVALID_DEVICE))
    }

    fn cuDeviceGetExecAffinitySupport(supported: CudaOutput<i32>, _kind: u32, device: CUdevice) {
        ensure_device(device)?;
        supported.write(0)
    }

    fn cuDeviceGetDefaultMemPool | cuDeviceGetMemPool (pool: CudaOutput<CudaHandle>, device: CUdevice) {
        ensure_device(device)?;
        pool.write(memory::default_pool())
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(width: CudaOutput<usize>, _format: u32, _channels: u32, device: CUdevice) {
        ensure_device(device)?;
        width.write(MOST_LINEAR)
    }

    fn cuProfilerStart | cuProfilerStop () {
        ensure_initialized()
    }

    fn cuFlushGPUDirectRDMAWrites(_target: u32, _scope: u32) {
        // Nothing else writes to the device's memory.
        ensure_initialized()
    }

    fn cuDeviceGraphMemTrim(device: CUdevice) {
        ensure_device(device)
    }

    fn cuDeviceGetGraphMemAttribute(device: CUdevice, number: u32, value: CudaOutput<u64>) {
        ensure_device(device)?;
        ensure(number <= 3, CUDA_ERROR_INVALID_VALUE)?;
        value.write(graph_memory::attribute(number))
    }

    fn cuDeviceSetGraphMemAttribute(device: CUdevice, number: u32, value: CudaInput<c_void>) {
        ensure_device(device)?;
        // Maxima can be reset.
        ensure(matches!(number, 1 | 3) && !value.is_null(), CUDA_ERROR_INVALID_VALUE)?;
        graph_memory::reset_attribute(number);
        Ok(())
    }
}
