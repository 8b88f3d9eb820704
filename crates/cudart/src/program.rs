//! Registry of the program's device code images, with their kernels and variables.
//!
//! An image is loaded on first use, by the thread that needs it. Those of programs with few kernels are loaded when the context is made: the
//! driver compiles their kernels meanwhile.

use crate::driver::{self, DriverHandle, Ptr};
use crate::errors::{CudartError, CudartResult, INVALID_FUNCTION, INVALID_SYMBOL, SUCCESS, done};
use crate::state::ready;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::ffi::{CString, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Device code image.
#[derive(Debug)]
struct Image {
    address: usize,
    module: Option<DriverHandle>,
}

/// Kernel or variable: its image, its name there, and the driver's handle.
#[derive(Debug)]
struct Symbol {
    image: usize,
    name: CString,
    found: Option<DriverHandle>,
}

/// Managed variable and where to store its address.
#[derive(Debug)]
struct ManagedVariable {
    image: usize,
    name: CString,
    place: usize,
}

#[derive(Debug)]
struct ProgramRegistry {
    images: Vec<Image>,
    kernels: FxHashMap<usize, Symbol>,
    variables: FxHashMap<usize, Symbol>,
    managed: Vec<ManagedVariable>,
}

fn registry() -> MutexGuard<'static, ProgramRegistry> {
    static REGISTRY: Mutex<ProgramRegistry> = Mutex::new(ProgramRegistry {
        images: Vec::new(),
        kernels: FxHashMap::with_hasher(FxBuildHasher),
        variables: FxHashMap::with_hasher(FxBuildHasher),
        managed: Vec::new(),
    });
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes an image, and gives its number.
pub fn add_image(address: usize) -> usize {
    let mut registry = registry();
    registry.images.push(Image { address, module: None });
    registry.images.len() - 1
}

/// Notes a kernel of an image by the function that the program calls for it.
pub fn add_kernel(image: usize, host: usize, name: CString) {
    registry().kernels.insert(host, Symbol { image, name, found: None });
}

/// Notes a variable of an image by the one that the program names.
pub fn add_variable(image: usize, host: usize, name: CString) {
    registry().variables.insert(host, Symbol { image, name, found: None });
}

/// Notes a managed variable, whose address the program reads at a place.
pub fn add_managed(image: usize, place: usize, name: CString) {
    registry().managed.push(ManagedVariable { image, name, place });
}

/// Forgets an image with all that is in it.
pub fn remove_image(number: usize) {
    let mut registry = registry();
    registry.kernels.retain(|_, symbol| symbol.image != number);
    registry.variables.retain(|_, symbol| symbol.image != number);
    registry.managed.retain(|managed| managed.image != number);
    if let Some(image) = registry.images.get_mut(number) {
        image.address = 0;
        if let Some(module) = image.module.take() {
            // SAFETY: it takes no pointer. Where the driver has gone before, it says so.
            unsafe { driver::cuModuleUnload(module) };
        }
    }
}

impl ProgramRegistry {
    fn module(&mut self, number: usize, missing: i32) -> CudartResult<DriverHandle> {
        let image =
            self.images.get_mut(number).filter(|image| image.address != 0).ok_or(CudartError(missing))?;
        if let Some(module) = image.module {
            return Ok(module);
        }
        let mut module = 0;
        let start = std::ptr::with_exposed_provenance::<c_void>(image.address);
        // SAFETY: the program has registered it as an image.
        done(unsafe { driver::cuModuleLoadData(&mut module, start) })?;
        image.module = Some(module);
        Ok(module)
    }

    /// Loads an image that may never be used: an error is that of its first use, which loads it again.
    fn load_silently(&mut self, number: usize) {
        const ERROR_LOG: u32 = 5;
        const ERROR_LOG_BYTES: u32 = 6;
        let Some(image) = self.images.get_mut(number) else { return };
        if image.address == 0 || image.module.is_some() {
            return;
        }
        // With a log the driver writes no messages.
        let mut log = [0u8; 256];
        let (mut module, options) = (0, [ERROR_LOG, ERROR_LOG_BYTES]);
        let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
        let start = std::ptr::with_exposed_provenance::<c_void>(image.address);
        // SAFETY: the program has registered it as an image; there are two options with their values, and the log has so many bytes.
        let code = unsafe {
            driver::cuModuleLoadDataEx(&mut module, start, 2, options.as_ptr(), values.as_mut_ptr())
        };
        image.module = (code == SUCCESS).then_some(module);
    }
}

/// Loads all images, if the program has few kernels.
pub fn load_few() {
    /// Number of kernels up to which the driver compiles those of a module before their launch.
    const FEW: usize = 8;
    let mut registry = registry();
    if registry.kernels.len() <= FEW {
        (0..registry.images.len()).for_each(|number| registry.load_silently(number));
    }
}

/// The kernel that the program calls by a function. What is none is taken for a handle.
pub fn kernel(host: usize) -> CudartResult<DriverHandle> {
    ready()?;
    let mut registry = registry();
    let Some(symbol) = registry.kernels.get(&host) else {
        let mut name = std::ptr::null();
        // SAFETY: the place is there; the driver looks a handle up.
        return match unsafe { driver::cuFuncGetName(&mut name, host) } {
            0 => Ok(host),
            _ => Err(CudartError(INVALID_FUNCTION)),
        };
    };
    if let Some(found) = symbol.found {
        return Ok(found);
    }
    let (image, name) = (symbol.image, symbol.name.clone());
    let module = registry.module(image, INVALID_FUNCTION)?;
    let mut found = 0;
    // SAFETY: the place is there, and the name is a text.
    done(unsafe { driver::cuModuleGetFunction(&mut found, module, name.as_ptr()) })?;
    if let Some(symbol) = registry.kernels.get_mut(&host) {
        symbol.found = Some(found);
    }
    Ok(found)
}

/// Returns the function that the program calls for a kernel; the handle itself of a kernel that it has not registered.
pub fn host_of(kernel: DriverHandle) -> usize {
    let registry = registry();
    // Programs may register several functions for one kernel: the same one is found each time.
    let hosts = registry.kernels.iter().filter(|(_, symbol)| symbol.found == Some(kernel));
    hosts.map(|(&host, _)| host).min().unwrap_or(kernel)
}

/// Returns the start of the variable that the program names, and its bytes.
pub fn variable(host: usize) -> CudartResult<(Ptr, usize)> {
    ready()?;
    let mut registry = registry();
    let symbol = registry.variables.get(&host).ok_or(CudartError(INVALID_SYMBOL))?;
    let (image, name) = (symbol.image, symbol.name.clone());
    let module = registry.module(image, INVALID_SYMBOL)?;
    let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: the places are there, and the name is a text.
    done(unsafe { driver::cuModuleGetGlobal_v2(&mut start, &mut bytes, module, name.as_ptr()) })?;
    Ok((start, bytes))
}

/// Tells the program where its managed variables are.
pub fn place_managed(image: usize) -> CudartResult<()> {
    if !registry().managed.iter().any(|managed| managed.image == image) {
        return Ok(());
    }
    ready()?;
    let mut registry = registry();
    let module = registry.module(image, INVALID_SYMBOL)?;
    for managed in registry.managed.iter().filter(|managed| managed.image == image) {
        let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
        // SAFETY: the places are there, the name is a text, and the program has registered where it reads the address.
        unsafe {
            done(driver::cuModuleGetGlobal_v2(&mut start, &mut bytes, module, managed.name.as_ptr()))?;
            std::ptr::with_exposed_provenance_mut::<Ptr>(managed.place).write(start);
        }
    }
    Ok(())
}
