//! The one platform.

use crate::cl::*;
use crate::core::registry::{ObjectHandle, publish};
use std::sync::{Arc, OnceLock};

/// The platform.
#[derive(Debug, Default)]
pub struct Platform {
    handle: ObjectHandle<Platform>,
}

crate::object!(Platform, CL_INVALID_PLATFORM);

/// Name of the platform and its device.
pub const NAME: &str = "Heddle";
/// The vendor.
pub const VENDOR: &str = "Heddle";
/// OpenCL version string of the platform.
pub const VERSION: &str = concat!("OpenCL 3.1 Heddle ", env!("CARGO_PKG_VERSION"));
/// Supported extensions.
pub const EXTENSIONS: [&str; 40] = [
    "cl_khr_icd",
    "cl_khr_byte_addressable_store",
    "cl_khr_fp16",
    "cl_khr_fp64",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_subgroups",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_non_uniform_vote",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_clustered_reduce",
    "cl_khr_subgroup_rotate",
    "cl_intel_required_subgroup_size",
    "cl_ext_float_atomics",
    "cl_khr_expect_assume",
    "cl_khr_extended_async_copies",
    "cl_khr_extended_bit_ops",
    "cl_khr_integer_dot_product",
    "cl_khr_extended_versioning",
    "cl_khr_il_program",
    "cl_khr_spirv_queries",
    "cl_khr_create_command_queue",
    "cl_khr_priority_hints",
    "cl_khr_command_buffer",
    "cl_khr_command_buffer_mutable_dispatch",
    "cl_khr_device_uuid",
    "cl_khr_suggested_local_work_size",
    "cl_ext_buffer_device_address",
    "cl_intel_unified_shared_memory",
    "cl_khr_unified_svm",
    "cl_khr_3d_image_writes",
    "cl_khr_depth_images",
    "cl_khr_image2d_from_buffer",
];
/// Minor versions of SPIR-V 1 that programs may be in, newest first.
pub const SPIRV_MINOR_VERSIONS: [u32; 7] = [6, 5, 4, 3, 2, 1, 0];
/// 3.1 as `cl_version` packs it.
pub const VERSION_3_1: u32 = 3 << 22 | 1 << 12;
/// 3.0 as `cl_version` packs it.
pub const VERSION_3_0: u32 = 3 << 22;

/// Returns the platform, with a published handle.
pub fn platform() -> &'static Arc<Platform> {
    static PLATFORM: OnceLock<Arc<Platform>> = OnceLock::new();
    PLATFORM.get_or_init(|| {
        let platform = Arc::new(Platform::default());
        publish(platform.clone());
        platform
    })
}
