//! Platforms, and how the loader finds the driver.

use super::dispatch;
use super::info::Info;
use super::pointer::{ClOutput, ClString};
use crate::cl::*;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::platform::{EXTENSIONS, NAME, Platform, VENDOR, VERSION, VERSION_3_1, platform};
use crate::core::registry::{find, handle_of};
use crate::core::svm::SVM_TYPES;
use heddle_runtime::exit;
use std::ffi::c_void;

/// Returns the version of an extension as `cl_version` packs it.
pub fn extension_version(name: &str) -> u32 {
    match name {
        "cl_khr_integer_dot_product" => 2 << 22,
        "cl_ext_buffer_device_address" => 1 << 22 | 2,
        // Their interfaces are not final.
        "cl_khr_command_buffer" => 9 << 12 | 8,
        "cl_khr_command_buffer_mutable_dispatch" => 9 << 12 | 5,
        "cl_khr_unified_svm" => 9 << 12,
        _ => 1 << 22,
    }
}

fn find_platforms(count: cl_uint, platforms: ClOutput<ClHandle>, there: ClOutput<cl_uint>) -> ClResult<()> {
    ensure(
        (count == 0) == platforms.is_null() && !(platforms.is_null() && there.is_null()),
        CL_INVALID_VALUE,
    )?;
    // Nothing is compiled before a program has the platform.
    exit::watch();
    platforms.write(handle_of(&**platform()));
    there.write(1);
    Ok(())
}

entries! {
    fn clGetPlatformIDs(count: cl_uint, platforms: ClOutput<ClHandle>, there: ClOutput<cl_uint>) {
        find_platforms(count, platforms, there)
    }

    fn clIcdGetPlatformIDsKHR(count: cl_uint, platforms: ClOutput<ClHandle>, there: ClOutput<cl_uint>) {
        find_platforms(count, platforms, there)
    }

    fn clGetPlatformInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        // Null is the platform that the implementation chooses.
        if !of.is_null() {
            find::<Platform>(of)?;
        }
        let info = Info::new(size, value, needed);
        match name {
            CL_PLATFORM_PROFILE => info.text("FULL_PROFILE"),
            CL_PLATFORM_VERSION => info.text(VERSION),
            CL_PLATFORM_NUMERIC_VERSION => info.value(VERSION_3_1),
            CL_PLATFORM_NAME => info.text(NAME),
            CL_PLATFORM_VENDOR => info.text(VENDOR),
            CL_PLATFORM_EXTENSIONS => info.text(&EXTENSIONS.join(" ")),
            CL_PLATFORM_EXTENSIONS_WITH_VERSION => {
                info.versions(EXTENSIONS.iter().map(|&name| (name, extension_version(name))))
            }
            CL_PLATFORM_HOST_TIMER_RESOLUTION => info.value(1u64),
            CL_PLATFORM_SVM_TYPE_CAPABILITIES_KHR => info.list(&SVM_TYPES),
            CL_PLATFORM_ICD_SUFFIX_KHR => info.text("HEDDLE"),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clUnloadPlatformCompiler(of: ClHandle) {
        find::<Platform>(of).map(|_| ())
    }

    fn clUnloadCompiler() {
        Ok(())
    }
}

/// `clGetExtensionFunctionAddress` of the specification.
///
/// # Safety
/// The name is null or ends in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetExtensionFunctionAddress(name: ClString) -> *mut c_void {
    name.get().map_or(std::ptr::null_mut(), |name| dispatch::extension(&name))
}

/// `clGetExtensionFunctionAddressForPlatform` of the specification.
///
/// # Safety
/// The name is null or ends in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetExtensionFunctionAddressForPlatform(
    of: ClHandle,
    name: ClString,
) -> *mut c_void {
    match (find::<Platform>(of), name.get()) {
        (Ok(_), Some(name)) => dispatch::extension(&name),
        _ => std::ptr::null_mut(),
    }
}
