//! Entries that nvcc calls in compiled programs: registration of images, kernels and variables, and launches.

use super::{own_stream, write};
use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::{
    CudartError, CudartResult, INVALID_CONFIGURATION, INVALID_HANDLE, INVALID_VALUE, MISSING_CONFIGURATION,
    done, ensure,
};
use crate::program;
use crate::state::{Configuration, Dim3, answer, pop, push, ready};
use std::ffi::{CStr, CString, c_char, c_void};

/// The number of an image from what the program holds for it.
fn image(handle: usize) -> usize {
    // A handle of 0 is none.
    handle.wrapping_sub(1)
}

/// A text of the program's.
///
/// # Safety
/// It is one, or null.
unsafe fn text(text: *const c_char) -> CString {
    // SAFETY: the caller's promise.
    if text.is_null() { CString::default() } else { unsafe { CStr::from_ptr(text) }.into() }
}

/// Notes an image with device code.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(start: *const c_void) -> usize {
    program::add_image(start.expose_provenance()) + 1
}

/// Ends the list of what is in an image.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(handle: usize) {
    answer(|| program::place_managed(image(handle)));
}

/// Forgets an image.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(handle: usize) {
    program::remove_image(image(handle));
}

/// Asks whether managed variables are there, which is so from the start.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_handle: usize) -> c_char {
    1
}

/// Notes a kernel by the function that the program calls for it.
///
/// # Safety
/// The name is a text.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: usize,
    host: usize,
    _device: Ptr,
    name: *const c_char,
    _most_threads: i32,
    _thread: Ptr,
    _block: Ptr,
    _block_size: Ptr,
    _grid_size: Ptr,
    _warp: Ptr,
) {
    // SAFETY: the caller's promise.
    program::add_kernel(image(handle), host, unsafe { text(name) });
}

/// Notes a variable by the one that the program names.
///
/// # Safety
/// The name is a text.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: usize,
    host: usize,
    _device: Ptr,
    name: *const c_char,
    _is_external: i32,
    _bytes: usize,
    _is_constant: i32,
    _is_global: i32,
) {
    // SAFETY: the caller's promise.
    program::add_variable(image(handle), host, unsafe { text(name) });
}

/// Notes a managed variable, and where the program reads its address.
///
/// # Safety
/// The name is a text, and the place is there.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: usize,
    place: usize,
    _device: Ptr,
    name: *const c_char,
    _is_external: i32,
    _bytes: usize,
    _is_constant: i32,
    _is_global: i32,
) {
    // SAFETY: the caller's promise.
    let name = unsafe { text(name) };
    program::add_variable(image(handle), place, name.clone());
    program::add_managed(image(handle), place, name);
}

/// Keeps the sizes of a launch until its kernel is called.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: DriverHandle,
) -> u32 {
    push(Configuration { grid, block, shared, stream });
    0
}

fn launch(
    kernel: DriverHandle,
    grid: Dim3,
    block: Dim3,
    arguments: *const Ptr,
    shared: usize,
    stream: DriverHandle,
    is_cooperative: bool,
) -> CudartResult<()> {
    ready()?;
    let shared = u32::try_from(shared).map_err(|_| CudartError(INVALID_VALUE))?;
    let has_threads = [grid.x, grid.y, grid.z, block.x, block.y, block.z].iter().all(|&size| size > 0);
    ensure(has_threads, INVALID_CONFIGURATION)?;
    let mut most = 0;
    // SAFETY: the place is there; the driver looks the handle up.
    done(unsafe { driver::cuFuncGetAttribute(&mut most, 0, kernel) })?;
    let threads = u64::from(block.x).saturating_mul(block.y.into()).saturating_mul(block.z.into());
    ensure(threads <= most as u64, INVALID_CONFIGURATION)?;
    // SAFETY: the caller's promise: arguments are those of the kernel.
    let code = unsafe {
        if is_cooperative {
            driver::cuLaunchCooperativeKernel(
                kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, arguments,
            )
        } else {
            driver::cuLaunchKernel(
                kernel,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared,
                stream,
                arguments,
                std::ptr::null(),
            )
        }
    };
    done(code)
}

/// `cudaFuncAttributes`, as far as all versions have it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    threads: i32,
    registers: i32,
    ptx: i32,
    binary: i32,
    cached: i32,
    dynamic: i32,
    carveout: i32,
    /// Clusters, and what may be added.
    rest: [i32; 22],
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: DriverHandle,
    attributes: usize,
    count: u32,
}

/// The driver's layout of these parameters.
#[repr(C)]
struct DriverConfig {
    grid: Dim3,
    block: Dim3,
    shared: u32,
    stream: DriverHandle,
    attributes: usize,
    count: u32,
}

entries! {
    fn __cudaPopCallConfiguration(grid: *mut Dim3, block: *mut Dim3, shared: *mut usize, stream: *mut DriverHandle) {
        let sizes = pop().ok_or(CudartError(MISSING_CONFIGURATION))?;
        // SAFETY: the caller's promise.
        unsafe {
            write(grid, sizes.grid)?;
            write(block, sizes.block)?;
            write(shared, sizes.shared)?;
            write(stream, sizes.stream)
        }
    }

    fn cudaLaunchKernel | cudaLaunchKernel_ptsz in stream (
        host: usize, grid: Dim3, block: Dim3, arguments: *const Ptr, shared: usize, stream: DriverHandle,
    ) {
        launch(program::kernel(host)?, grid, block, arguments, shared, stream, false)
    }

    fn __cudaLaunchKernel | __cudaLaunchKernel_ptsz in stream (
        kernel: DriverHandle, grid: Dim3, block: Dim3, arguments: *const Ptr, shared: usize, stream: DriverHandle,
    ) {
        match launch(kernel, grid, block, arguments, shared, stream, false) {
            // The address of a kernel that was not found (see `__cudaGetKernel`): the search fails again, with its reason.
            Err(CudartError(INVALID_HANDLE)) => {
                launch(program::kernel(kernel)?, grid, block, arguments, shared, stream, false)
            }
            result => result,
        }
    }

    fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz in stream (
        host: usize, grid: Dim3, block: Dim3, arguments: *const Ptr, shared: usize, stream: DriverHandle,
    ) {
        launch(program::kernel(host)?, grid, block, arguments, shared, stream, true)
    }

    fn __cudaGetKernel(kernel: *mut DriverHandle, host: usize) {
        let found = program::kernel(host);
        // Programs ask once, ignore the error, and launch.
        // SAFETY: the caller's promise.
        unsafe { write(kernel, *found.as_ref().unwrap_or(&host)) }?;
        found.map(|_| ())
    }

    fn cudaGetKernel(kernel: *mut DriverHandle, host: usize) {
        // SAFETY: the caller's promise.
        unsafe { write(kernel, program::kernel(host)?) }
    }

    fn cudaGetFuncBySymbol(function: *mut DriverHandle, host: usize) {
        // SAFETY: the caller's promise.
        unsafe { write(function, program::kernel(host)?) }
    }

    fn cudaFuncGetName(name: *mut *const c_char, host: usize) {
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuFuncGetName(name, program::kernel(host)?) })
    }

    fn cudaFuncGetParamInfo(host: usize, index: usize, offset: *mut usize, bytes: *mut usize) {
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuFuncGetParamInfo(program::kernel(host)?, index, offset, bytes) })
    }

    fn cudaFuncGetAttributes(about: *mut Attributes, host: usize) {
        let kernel = program::kernel(host)?;
        let attribute = |number: i32| {
            let mut value = 0;
            // SAFETY: the place is there.
            done(unsafe { driver::cuFuncGetAttribute(&mut value, number, kernel) })?;
            Ok(value)
        };
        let message = Attributes {
            threads: attribute(0)?,
            shared: attribute(1)? as usize,
            constant: attribute(2)? as usize,
            local: attribute(3)? as usize,
            registers: attribute(4)?,
            ptx: attribute(5)?,
            binary: attribute(6)?,
            cached: attribute(7)?,
            dynamic: attribute(8)?,
            carveout: attribute(9)?,
            rest: [0; 22],
        };
        // SAFETY: the caller's promise.
        unsafe { write(about, message) }
    }

    fn cudaFuncSetAttribute(host: usize, number: i32, value: i32) {
        // SAFETY: it takes no pointer.
        done(unsafe { driver::cuFuncSetAttribute(program::kernel(host)?, number, value) })
    }

    fn cudaFuncSetCacheConfig(host: usize, config: i32) {
        // SAFETY: it takes no pointer.
        done(unsafe { driver::cuFuncSetCacheConfig(program::kernel(host)?, config) })
    }

    fn cudaFuncSetSharedMemConfig(host: usize, config: i32) {
        program::kernel(host)?;
        ensure((0..=2).contains(&config), INVALID_VALUE)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, host: usize, threads: i32, shared: usize) {
        let kernel = program::kernel(host)?;
        // SAFETY: the caller's promise.
        done(unsafe {
            driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0)
        })
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut i32, host: usize, threads: i32, shared: usize, flags: u32,
    ) {
        let kernel = program::kernel(host)?;
        // SAFETY: the caller's promise.
        done(unsafe {
            driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, flags)
        })
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, host: usize, blocks: i32, threads: i32) {
        let kernel = program::kernel(host)?;
        // SAFETY: the caller's promise.
        done(unsafe { driver::cuOccupancyAvailableDynamicSMemPerBlock(bytes, kernel, blocks, threads) })
    }
}

fn launch_by(config: *const LaunchConfig, host: usize, arguments: *const Ptr, own: bool) -> CudartResult<()> {
    let kernel = program::kernel(host)?;
    // SAFETY: the caller's promise.
    let config = unsafe { super::read(config) }?;
    let config = DriverConfig {
        grid: config.grid,
        block: config.block,
        shared: u32::try_from(config.shared).map_err(|_| CudartError(INVALID_VALUE))?,
        stream: if own { own_stream(config.stream) } else { config.stream },
        attributes: config.attributes,
        count: config.count,
    };
    // SAFETY: as above.
    done(unsafe {
        driver::cuLaunchKernelEx(std::ptr::from_ref(&config).cast(), kernel, arguments, std::ptr::null())
    })
}

entries! {
    fn cudaLaunchKernelExC(config: *const LaunchConfig, host: usize, arguments: *const Ptr) {
        launch_by(config, host, arguments, false)
    }

    fn cudaLaunchKernelExC_ptsz(config: *const LaunchConfig, host: usize, arguments: *const Ptr) {
        launch_by(config, host, arguments, true)
    }
}

forward! {
    fn cudaLibraryLoadData(
        library: *mut DriverHandle, image: *const c_void, options: Ptr, values: Ptr, count: u32, library_options: Ptr,
        library_values: Ptr, library_count: u32,
    ) => cuLibraryLoadData;
    fn cudaLibraryLoadFromFile(
        library: *mut DriverHandle, path: *const c_char, options: Ptr, values: Ptr, count: u32, library_options: Ptr,
        library_values: Ptr, library_count: u32,
    ) => cuLibraryLoadFromFile;
    fn cudaLibraryUnload(library: DriverHandle) => cuLibraryUnload;
    fn cudaLibraryGetKernel(kernel: *mut DriverHandle, library: DriverHandle, name: *const c_char) => cuLibraryGetKernel;
    fn cudaLibraryGetGlobal(
        start: *mut Ptr, bytes: *mut usize, library: DriverHandle, name: *const c_char,
    ) => cuLibraryGetGlobal;
    fn cudaLibraryGetManaged(
        start: *mut Ptr, bytes: *mut usize, library: DriverHandle, name: *const c_char,
    ) => cuLibraryGetManaged;
    fn cudaLibraryGetKernelCount(count: *mut u32, library: DriverHandle) => cuLibraryGetKernelCount;
    fn cudaLibraryEnumerateKernels(kernels: *mut DriverHandle, count: u32, library: DriverHandle) => cuLibraryEnumerateKernels;
}
