//! Devices.

use super::info::Info;
use super::platform::extension_version;
use super::pointer::{ClInput, ClOutput};
use crate::cl::*;
use crate::core::device::*;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::event::now;
use crate::core::image::{MAX_BUFFER_WIDTH, MAX_LAYERS, MAX_PLANE, MAX_VOLUME};
use crate::core::mutable_command::MUTABLE_FIELDS;
use crate::core::platform::{
    EXTENSIONS, Platform, SPIRV_MINOR_VERSIONS, VENDOR, VERSION, VERSION_3_0, VERSION_3_1, platform,
};
use crate::core::registry::{find, handle_of, publish, references, release, retain};
use crate::core::svm::SVM_TYPES;
use std::ffi::c_void;
use std::sync::{Arc, LazyLock};

/// Version of the language without a build option.
const OPENCL_C_1_2: u32 = 1 << 22 | 2 << 12;
/// `-cl-std` versions, newest first, as `cl_version` packs them.
const LANGUAGES: [u32; 6] = [VERSION_3_1, VERSION_3_0, 2 << 22, OPENCL_C_1_2, 1 << 22 | 1 << 12, 1 << 22];
/// Optional features of OpenCL C 3.0.
const FEATURES: [&str; 29] = [
    "__opencl_c_atomic_order_acq_rel",
    "__opencl_c_atomic_order_seq_cst",
    "__opencl_c_atomic_scope_device",
    "__opencl_c_atomic_scope_all_devices",
    "__opencl_c_generic_address_space",
    "__opencl_c_program_scope_global_variables",
    "__opencl_c_work_group_collective_functions",
    "__opencl_c_subgroups",
    "__opencl_c_int64",
    "__opencl_c_fp64",
    "__opencl_c_images",
    "__opencl_c_3d_image_writes",
    "__opencl_c_read_write_images",
    "__opencl_c_integer_dot_product_input_4x8bit",
    "__opencl_c_integer_dot_product_input_4x8bit_packed",
    "__opencl_c_ext_fp16_global_atomic_load_store",
    "__opencl_c_ext_fp16_global_atomic_add",
    "__opencl_c_ext_fp16_global_atomic_min_max",
    "__opencl_c_ext_fp16_local_atomic_load_store",
    "__opencl_c_ext_fp16_local_atomic_add",
    "__opencl_c_ext_fp16_local_atomic_min_max",
    "__opencl_c_ext_fp32_global_atomic_add",
    "__opencl_c_ext_fp32_global_atomic_min_max",
    "__opencl_c_ext_fp32_local_atomic_add",
    "__opencl_c_ext_fp32_local_atomic_min_max",
    "__opencl_c_ext_fp64_global_atomic_add",
    "__opencl_c_ext_fp64_global_atomic_min_max",
    "__opencl_c_ext_fp64_local_atomic_add",
    "__opencl_c_ext_fp64_local_atomic_min_max",
];
const FLOATS: u64 = CL_FP_DENORM
    | CL_FP_INF_NAN
    | CL_FP_ROUND_TO_NEAREST
    | CL_FP_ROUND_TO_ZERO
    | CL_FP_ROUND_TO_INF
    | CL_FP_FMA;
/// Capabilities of shared virtual memory: all memory is the host's.
pub const SVM: u64 = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER
    | CL_DEVICE_SVM_FINE_GRAIN_BUFFER
    | CL_DEVICE_SVM_FINE_GRAIN_SYSTEM
    | CL_DEVICE_SVM_ATOMICS;
/// Capabilities of each kind of unified shared memory: accesses, atomic ones, both also during launches.
const USM: u64 = CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL
    | CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL
    | CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL
    | CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL;
/// Inputs of integer dot products: packed bytes and vectors of bytes.
const DOT_PRODUCTS: u64 = 3;
/// Atomic operations on floats of any width in global and in local memory: accesses, sums, minima and maxima.
const FLOAT_ATOMICS: u64 = 7 | 7 << 16;
const ATOMICS: u64 = CL_DEVICE_ATOMIC_ORDER_RELAXED
    | CL_DEVICE_ATOMIC_ORDER_ACQ_REL
    | CL_DEVICE_ATOMIC_ORDER_SEQ_CST
    | CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM
    | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP
    | CL_DEVICE_ATOMIC_SCOPE_DEVICE
    | CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES;

/// Returns the devices that a list names, each once.
pub fn devices(count: cl_uint, list: ClInput<ClHandle>) -> ClResult<Vec<Arc<Device>>> {
    let handles = list.list(count as usize)?;
    ensure(!handles.is_empty(), CL_INVALID_VALUE)?;
    let mut devices: Vec<Arc<Device>> = Vec::new();
    for handle in handles {
        let device = find::<Device>(handle)?;
        if !devices.iter().any(|known| Arc::ptr_eq(known, &device)) {
            devices.push(device);
        }
    }
    Ok(devices)
}

/// Returns the devices that a list names among these; all of them without a list.
pub fn devices_among(
    known: &[Arc<Device>],
    count: cl_uint,
    list: ClInput<ClHandle>,
) -> ClResult<Vec<Arc<Device>>> {
    if count == 0 && list.is_null() {
        return Ok(known.to_vec());
    }
    let devices = devices(count, list)?;
    let is_known = |device: &Arc<Device>| known.iter().any(|other| Arc::ptr_eq(other, device));
    ensure(devices.iter().all(is_known), CL_INVALID_DEVICE)?;
    Ok(devices)
}

/// Returns the device of a handle if it is one of these.
pub fn device_among(known: &[Arc<Device>], handle: ClHandle) -> ClResult<Arc<Device>> {
    let device = find::<Device>(handle)?;
    ensure(known.iter().any(|other| Arc::ptr_eq(other, &device)), CL_INVALID_DEVICE)?;
    Ok(device)
}

/// Returns the handles of devices.
pub fn handles(devices: &[Arc<Device>]) -> Vec<ClHandle> {
    devices.iter().map(|device| handle_of(&**device)).collect()
}

/// Reads partition properties: a scheme and its value with the terminating zero, or counts of compute units up to the first that is
/// not positive. Reads no more counts than there can be.
fn partition_properties(list: ClInput<isize>, units: usize) -> Vec<isize> {
    list.until(|list| match list {
        [] => false,
        [CL_DEVICE_PARTITION_BY_COUNTS, counts @ ..] => {
            counts.last().is_some_and(|&last| last <= 0) || counts.len() > units
        }
        [CL_DEVICE_PARTITION_EQUALLY | CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, ..] => list.len() == 3,
        _ => true,
    })
}

/// Type that the device reports: that of a CPU, or the one of `HEDDLE_DEVICE_TYPE`, for programs that take GPUs only.
fn device_type() -> u64 {
    static TYPE: LazyLock<u64> = LazyLock::new(|| {
        let text = std::env::var("HEDDLE_DEVICE_TYPE").unwrap_or_default();
        match text.trim() {
            "" | "cpu" => CL_DEVICE_TYPE_CPU,
            "gpu" => CL_DEVICE_TYPE_GPU,
            "accelerator" => CL_DEVICE_TYPE_ACCELERATOR,
            other => {
                eprintln!(
                    "heddle: unknown value `{other}` of HEDDLE_DEVICE_TYPE\nhelp: write cpu, gpu or accelerator"
                );
                CL_DEVICE_TYPE_CPU
            }
        }
    });
    *TYPE
}

/// True if the device is among devices of these types.
pub(crate) fn requests_device(kinds: u64) -> Result<bool, ClError> {
    let known = CL_DEVICE_TYPE_DEFAULT
        | CL_DEVICE_TYPE_CPU
        | CL_DEVICE_TYPE_GPU
        | CL_DEVICE_TYPE_ACCELERATOR
        | CL_DEVICE_TYPE_CUSTOM;
    ensure(kinds == CL_DEVICE_TYPE_ALL || (kinds != 0 && kinds & !known == 0), CL_INVALID_DEVICE_TYPE)?;
    Ok(kinds & (device_type() | CL_DEVICE_TYPE_DEFAULT) != 0)
}

entries! {
    fn clGetDeviceIDs(of: ClHandle, kinds: u64, count: cl_uint, devices: ClOutput<ClHandle>, there: ClOutput<cl_uint>) {
        if !of.is_null() {
            find::<Platform>(of)?;
        }
        let is_requested = requests_device(kinds)?;
        ensure((count == 0) == devices.is_null() && !(devices.is_null() && there.is_null()), CL_INVALID_VALUE)?;
        if !is_requested {
            there.write(0);
            return Err(ClError(CL_DEVICE_NOT_FOUND));
        }
        devices.write(handle_of(&**device()));
        there.write(1);
        Ok(())
    }

    fn clGetDeviceInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        let device = find::<Device>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_DEVICE_TYPE => info.value(device_type()),
            CL_DEVICE_VENDOR_ID => info.value(0u32),
            CL_DEVICE_MAX_COMPUTE_UNITS => info.value(device.compute_units()),
            CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS => info.value(3u32),
            CL_DEVICE_MAX_WORK_ITEM_SIZES => info.list(&[MAX_WORK_GROUP_SIZE; 3]),
            CL_DEVICE_MAX_WORK_GROUP_SIZE => info.value(MAX_WORK_GROUP_SIZE),
            // Lanes are work-items: code with vectors as wide as registers would have as many registers to each of them.
            CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR
            | CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT
            | CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT
            | CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG
            | CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF
            | CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT
            | CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE
            | CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR
            | CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT
            | CL_DEVICE_NATIVE_VECTOR_WIDTH_INT
            | CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG
            | CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF
            | CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT
            | CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE => info.value(1u32),
            CL_DEVICE_MAX_CLOCK_FREQUENCY => info.value(device.machine.clock),
            CL_DEVICE_ADDRESS_BITS => info.value(usize::BITS),
            CL_DEVICE_MAX_MEM_ALLOC_SIZE => info.value(device.max_allocation()),
            CL_DEVICE_IMAGE_SUPPORT => info.truth(true),
            CL_DEVICE_MAX_READ_IMAGE_ARGS
            | CL_DEVICE_MAX_WRITE_IMAGE_ARGS
            | CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS => info.value(128u32),
            CL_DEVICE_MAX_SAMPLERS => info.value(64u32),
            // In texels.
            CL_DEVICE_IMAGE_PITCH_ALIGNMENT | CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT => info.value(1u32),
            CL_DEVICE_IMAGE2D_MAX_WIDTH | CL_DEVICE_IMAGE2D_MAX_HEIGHT => info.value(MAX_PLANE),
            CL_DEVICE_IMAGE3D_MAX_WIDTH | CL_DEVICE_IMAGE3D_MAX_HEIGHT | CL_DEVICE_IMAGE3D_MAX_DEPTH => {
                info.value(MAX_VOLUME)
            }
            CL_DEVICE_IMAGE_MAX_BUFFER_SIZE => info.value(MAX_BUFFER_WIDTH),
            CL_DEVICE_IMAGE_MAX_ARRAY_SIZE => info.value(MAX_LAYERS),
            CL_DEVICE_MAX_PARAMETER_SIZE => info.value(MAX_PARAMETER_SIZE),
            CL_DEVICE_MEM_BASE_ADDR_ALIGN => info.value(8 * BASE_ALIGN as u32),
            CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE => info.value(BASE_ALIGN as u32),
            CL_DEVICE_SINGLE_FP_CONFIG => info.value(FLOATS | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT),
            CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT
            | CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT
            | CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT => info.value(FLOAT_ATOMICS),
            CL_DEVICE_DOUBLE_FP_CONFIG | CL_DEVICE_HALF_FP_CONFIG => info.value(FLOATS),
            CL_DEVICE_GLOBAL_MEM_CACHE_TYPE => info.value(CL_READ_WRITE_CACHE),
            CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE => info.value(device.machine.cache_line),
            CL_DEVICE_GLOBAL_MEM_CACHE_SIZE => info.value(device.machine.cache),
            CL_DEVICE_GLOBAL_MEM_SIZE => info.value(device.machine.memory),
            CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE => info.value(device.max_allocation()),
            CL_DEVICE_MAX_CONSTANT_ARGS => info.value(64u32),
            CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE => info.value(MAX_GLOBAL_VARIABLE_SIZE),
            CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE => info.value(MAX_GLOBAL_VARIABLE_SIZE),
            CL_DEVICE_LOCAL_MEM_TYPE => info.value(CL_GLOBAL),
            CL_DEVICE_LOCAL_MEM_SIZE => info.value(LOCAL_MEMORY as u64),
            CL_DEVICE_ERROR_CORRECTION_SUPPORT => info.truth(false),
            CL_DEVICE_HOST_UNIFIED_MEMORY => info.truth(true),
            CL_DEVICE_PROFILING_TIMER_RESOLUTION => info.value(1usize),
            CL_DEVICE_ENDIAN_LITTLE => info.truth(cfg!(target_endian = "little")),
            CL_DEVICE_AVAILABLE | CL_DEVICE_COMPILER_AVAILABLE | CL_DEVICE_LINKER_AVAILABLE => info.truth(true),
            CL_DEVICE_EXECUTION_CAPABILITIES => info.value(CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL),
            CL_DEVICE_QUEUE_ON_HOST_PROPERTIES => {
                info.value(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
            }
            CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR => {
                info.value(CL_COMMAND_BUFFER_CAPABILITY_KERNEL_PRINTF_KHR | CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR)
            }
            CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES_KHR => info.value(MUTABLE_FIELDS),
            CL_DEVICE_SVM_TYPE_CAPABILITIES_KHR => info.list(&SVM_TYPES),
            CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR => {
                info.value(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
            }
            CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR => info.value(0u64),
            CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES => info.value(0u64),
            CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE
            | CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE
            | CL_DEVICE_MAX_ON_DEVICE_QUEUES
            | CL_DEVICE_MAX_ON_DEVICE_EVENTS => info.value(0u32),
            CL_DEVICE_BUILT_IN_KERNELS => info.text(""),
            CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION => info.bytes(&[]),
            CL_DEVICE_IL_VERSION => {
                info.text(&SPIRV_MINOR_VERSIONS.map(|minor| format!("SPIR-V_1.{minor}")).join(" "))
            }
            CL_DEVICE_ILS_WITH_VERSION => {
                info.versions(SPIRV_MINOR_VERSIONS.iter().map(|minor| ("SPIR-V", 1 << 22 | minor << 12)))
            }
            CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR => info.strings(&heddle_spirv::EXTENDED_SETS),
            CL_DEVICE_SPIRV_EXTENSIONS_KHR => info.strings(&heddle_spirv::EXTENSIONS),
            CL_DEVICE_SPIRV_CAPABILITIES_KHR => info.list(&heddle_spirv::CAPABILITIES.map(|it| it as u32)),
            CL_DEVICE_PLATFORM => info.value(handle_of(&**platform())),
            CL_DEVICE_NAME => info.text(&device.machine.name),
            CL_DEVICE_VENDOR => info.text(VENDOR),
            CL_DRIVER_VERSION => info.text(env!("CARGO_PKG_VERSION")),
            CL_DEVICE_PROFILE => info.text("FULL_PROFILE"),
            CL_DEVICE_VERSION => info.text(VERSION),
            CL_DEVICE_NUMERIC_VERSION => info.value(VERSION_3_1),
            CL_DEVICE_OPENCL_C_VERSION => info.text("OpenCL C 1.2 Heddle"),
            CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR => info.value(OPENCL_C_1_2),
            CL_DEVICE_OPENCL_C_ALL_VERSIONS => info.versions(LANGUAGES.map(|version| ("OpenCL C", version))),
            CL_DEVICE_OPENCL_C_FEATURES => info.versions(FEATURES.map(|name| (name, VERSION_3_0))),
            CL_DEVICE_EXTENSIONS => info.text(&EXTENSIONS.join(" ")),
            CL_DEVICE_EXTENSIONS_WITH_VERSION => info.versions(EXTENSIONS.map(|name| (name, extension_version(name)))),
            // The form of a version; no conformance run is registered.
            // No version was passed: the first day of the form that the suite asks for.
            CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED => info.text("v0000-01-01-00"),
            CL_DEVICE_PRINTF_BUFFER_SIZE => info.value(1usize << 20),
            CL_DEVICE_PREFERRED_INTEROP_USER_SYNC => info.truth(true),
            CL_DEVICE_PARENT_DEVICE => {
                let parent = device.origin.as_ref().map(|origin| handle_of(&*origin.parent));
                info.value(parent.unwrap_or(std::ptr::null_mut()))
            }
            CL_DEVICE_PARTITION_MAX_SUB_DEVICES => info.value(device.max_sub_devices()),
            CL_DEVICE_PARTITION_PROPERTIES => info.list(&device.partition_schemes()),
            CL_DEVICE_PARTITION_TYPE => {
                info.list(device.origin.as_ref().map_or(&[][..], |origin| &origin.properties))
            }
            CL_DEVICE_PARTITION_AFFINITY_DOMAIN => info.value(device.affinity_domains()),
            CL_DEVICE_REFERENCE_COUNT => info.value(references(&*device)),
            CL_DEVICE_SVM_CAPABILITIES => info.value(SVM),
            CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL
            | CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL
            | CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL
            | CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL => info.value(USM),
            CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL => info.value(0u64),
            CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT
            | CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT
            | CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT => info.value(0u32),
            CL_DEVICE_MAX_PIPE_ARGS
            | CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS
            | CL_DEVICE_PIPE_MAX_PACKET_SIZE => info.value(0u32),
            CL_DEVICE_MAX_NUM_SUB_GROUPS => {
                let smallest = device.sub_group_sizes()[0];
                info.value(MAX_WORK_GROUP_SIZE.div_ceil(smallest) as u32)
            }
            CL_DEVICE_SUB_GROUP_SIZES_INTEL => info.list(&device.sub_group_sizes()),
            CL_DEVICE_UUID_KHR => info.bytes(&device.uuid()),
            CL_DRIVER_UUID_KHR => info.bytes(&uuid_of(VERSION)),
            // Identifiers of Windows.
            CL_DEVICE_LUID_VALID_KHR => info.truth(false),
            CL_DEVICE_LUID_KHR => info.bytes(&[0; 8]),
            CL_DEVICE_NODE_MASK_KHR => info.value(0u32),
            CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR => info.value(DOT_PRODUCTS),
            // Six truths: no product is a single instruction.
            CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR
            | CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4X8BIT_PACKED_KHR => info.list(&[0u32; 6]),
            // Those of a group run one after the other, up to the next barrier.
            CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS => info.truth(false),
            CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES | CL_DEVICE_ATOMIC_FENCE_CAPABILITIES => info.value(ATOMICS),
            CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT => info.truth(true),
            CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT => info.truth(true),
            CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT => info.truth(true),
            CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES => info.value(0u64),
            CL_DEVICE_PIPE_SUPPORT => info.truth(false),
            CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => info.value(device.lanes()),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clCreateSubDevices(
        of: ClHandle, properties: ClInput<isize>, count: cl_uint, devices: ClOutput<ClHandle>, there: ClOutput<cl_uint>,
    ) {
        let device = find::<Device>(of)?;
        ensure(!properties.is_null(), CL_INVALID_VALUE)?;
        let parts = device.partition(&partition_properties(properties, device.compute_units() as usize))?;
        ensure(devices.is_null() || count as usize >= parts.len(), CL_INVALID_VALUE)?;
        there.write(parts.len() as cl_uint);
        if !devices.is_null() {
            for (index, part) in parts.into_iter().enumerate() {
                devices.write_at(index, publish(part));
            }
        }
        Ok(())
    }

    fn clRetainDevice(of: ClHandle) {
        // Root devices are not counted.
        if find::<Device>(of)?.origin.is_none() { Ok(()) } else { retain::<Device>(of) }
    }

    fn clReleaseDevice(of: ClHandle) {
        if find::<Device>(of)?.origin.is_none() { Ok(()) } else { release::<Device>(of).map(|_| ()) }
    }

    fn clGetDeviceAndHostTimer(of: ClHandle, device_time: ClOutput<u64>, host_time: ClOutput<u64>) {
        find::<Device>(of)?;
        ensure(!device_time.is_null() && !host_time.is_null(), CL_INVALID_VALUE)?;
        let now = now();
        device_time.write(now);
        host_time.write(now);
        Ok(())
    }

    fn clGetHostTimer(of: ClHandle, host_time: ClOutput<u64>) {
        find::<Device>(of)?;
        ensure(!host_time.is_null(), CL_INVALID_VALUE)?;
        host_time.write(now());
        Ok(())
    }
}
