//! Modules, libraries, functions, and linking.

use super::pointer::{CudaInput, CudaOutput, CudaString};
use crate::attributes::FunctionAttribute;
use crate::core::context::{self, ensure_device};
use crate::core::error::{CudaError, CudaResult, ensure, say};
use crate::core::image::{self, PtxText};
use crate::core::module::{self, CudaFunction, CudaModule, FUNCTIONS, LoadError, MODULES};
use crate::core::registry::HandleTable;
use crate::cuda::*;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers of options for the compiler that a driver may have.
const INFO_LOG: u32 = 3;
const INFO_LOG_BYTES: u32 = 4;
const ERROR_LOG: u32 = 5;
const ERROR_LOG_BYTES: u32 = 6;

/// Log buffers of the application and their sizes, from the compiler options.
struct Logs {
    info: (u64, usize),
    error: (u64, usize),
    /// Output slots for the sizes.
    sizes: [Option<CudaOutput<u64>>; 2],
}

impl Logs {
    fn new(count: u32, options: CudaInput<u32>, values: CudaOutput<u64>) -> CudaResult<Logs> {
        let mut logs = Logs { info: (0, 0), error: (0, 0), sizes: [None; 2] };
        let numbers = options.list(count as usize)?;
        let given = values.as_input().list(count as usize)?;
        for (index, (number, value)) in numbers.into_iter().zip(given).enumerate() {
            let place = CudaOutput::<u64>::at(values.address() + 8 * index as u64);
            match number {
                INFO_LOG => logs.info.0 = value,
                ERROR_LOG => logs.error.0 = value,
                INFO_LOG_BYTES => {
                    logs.info.1 = value as u32 as usize;
                    logs.sizes[0] = Some(place);
                }
                ERROR_LOG_BYTES => {
                    logs.error.1 = value as u32 as usize;
                    logs.sizes[1] = Some(place);
                }
                _ => {}
            }
        }
        Ok(logs)
    }

    /// Writes the logs and their sizes.
    fn write(&self, error: &str) {
        for ((buffer, room), (text, size)) in
            [self.info, self.error].into_iter().zip(["", error].into_iter().zip(self.sizes))
        {
            if buffer != 0 && room > 0 {
                // The buffer holds the zero byte at least.
                let _ = CudaOutput::<c_char>::at(buffer).write_text(text.as_bytes(), room);
            }
            if let Some(size) = size {
                size.write_if(text.len().min(room.saturating_sub(1)) as u64);
            }
        }
    }

    fn has_error_log(&self) -> bool {
        self.error.0 != 0 && self.error.1 > 0
    }
}

fn load(image: PtxText, logs: &Logs) -> CudaResult<CudaHandle> {
    match module::text(image).and_then(|text| CudaModule::load(&text)) {
        Ok(module) => {
            logs.write("");
            Ok(module.handle)
        }
        Err(LoadError { code, reason }) => {
            logs.write(&reason);
            if !logs.has_error_log() {
                say(format_args!("{reason}"));
            }
            Err(CudaError(code))
        }
    }
}

fn no_logs() -> Logs {
    Logs { info: (0, 0), error: (0, 0), sizes: [None; 2] }
}

fn file(path: CudaString) -> CudaResult<PtxText> {
    let bytes = std::fs::read(path.get()?).map_err(|_| CudaError(CUDA_ERROR_FILE_NOT_FOUND))?;
    Ok(image::ptx_of(&bytes))
}

fn variable(
    start: CudaOutput<CUdeviceptr>,
    bytes: CudaOutput<usize>,
    module: &CudaModule,
    name: CudaString,
) -> CudaResult<()> {
    let (found, size) = module.variable(&name.get()?)?;
    start.write_if(found);
    bytes.write_if(size as usize);
    Ok(())
}

fn all_functions(places: CudaOutput<CudaHandle>, count: u32, module: CudaHandle) -> CudaResult<()> {
    let module = MODULES.find(module)?;
    places.ensure()?;
    for number in 0..module.count().min(count as usize) {
        places.write_at(number, module.function_at(number)?);
    }
    Ok(())
}

/// Link job: PTX texts whose declarations are resolved among each other.
#[derive(Debug, Default)]
struct PtxLinker {
    texts: Mutex<Vec<String>>,
    /// Linked image; the application may read it until the job is destroyed.
    done: Mutex<Vec<u8>>,
}

static LINKINGS: HandleTable<PtxLinker> = HandleTable::new();

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The numbers of what can be linked: PTX, fat binaries; and of libraries, of which the device has its own one.
const INPUT_PTX: u32 = 1;
const INPUT_FAT_BINARY: u32 = 2;
const INPUT_LIBRARY: u32 = 4;
const DEVICE_LIBRARY: &[u8] = b"cuda_device_runtime.o";

/// True if a library is the device's own, judged by its only member.
fn is_device_library(kind: u32, bytes: &[u8]) -> bool {
    kind == INPUT_LIBRARY && bytes.windows(DEVICE_LIBRARY.len()).any(|window| window == DEVICE_LIBRARY)
}

fn add_to_linking(state: CudaHandle, kind: u32, image: PtxText, logs: &Logs) -> CudaResult<()> {
    let linking = LINKINGS.find(state)?;
    if !matches!(kind, INPUT_PTX | INPUT_FAT_BINARY) {
        let reason = "only PTX, and fat binaries that hold PTX, can be linked";
        logs.write(reason);
        say(format_args!("{reason}"));
        return Err(CudaError(CUDA_ERROR_NOT_SUPPORTED));
    }
    let text = module::text(image)?;
    heddle_ptx::parse(&text).map_err(|diagnostics| {
        let reason = diagnostics.first().map(ToString::to_string).unwrap_or_default();
        logs.write(&reason);
        CudaError(CUDA_ERROR_INVALID_PTX)
    })?;
    lock(&linking.texts).push(text);
    Ok(())
}

/// Returns the function attribute of a number.
fn function_attribute(number: u32) -> CudaResult<FunctionAttribute> {
    FunctionAttribute::from_number(number).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
}

entries! {
    fn cuModuleLoadData(module: CudaOutput<CudaHandle>, image: CudaInput<c_void>) {
        context::current()?;
        module.ensure()?;
        module.write(load(image.image()?, &no_logs())?)
    }

    fn cuModuleLoadDataEx(
        module: CudaOutput<CudaHandle>, image: CudaInput<c_void>, count: u32, options: CudaInput<u32>, values: CudaOutput<u64>,
    ) {
        context::current()?;
        module.ensure()?;
        module.write(load(image.image()?, &Logs::new(count, options, values)?)?)
    }

    fn cuModuleLoadFatBinary(module: CudaOutput<CudaHandle>, image: CudaInput<c_void>) {
        context::current()?;
        module.ensure()?;
        module.write(load(image.image()?, &no_logs())?)
    }

    fn cuModuleLoad(module: CudaOutput<CudaHandle>, path: CudaString) {
        context::current()?;
        module.ensure()?;
        module.write(load(file(path)?, &no_logs())?)
    }

    fn cuModuleUnload | cuLibraryUnload (module: CudaHandle) {
        context::ensure_initialized()?;
        CudaModule::unload(module)
    }

    fn cuModuleGetLoadingMode(mode: CudaOutput<u32>) {
        // Kernels of large modules are compiled when they are launched.
        context::ensure_initialized()?;
        mode.write(2)
    }

    fn cuModuleGetFunction | cuLibraryGetKernel (function: CudaOutput<CudaHandle>, module: CudaHandle, name: CudaString) {
        context::ensure_initialized()?;
        function.ensure()?;
        function.write(MODULES.find(module)?.function(&name.get()?)?)
    }

    fn cuModuleGetFunctionCount | cuLibraryGetKernelCount (count: CudaOutput<u32>, module: CudaHandle) {
        context::ensure_initialized()?;
        count.write(MODULES.find(module)?.count() as u32)
    }

    fn cuModuleEnumerateFunctions | cuLibraryEnumerateKernels (functions: CudaOutput<CudaHandle>, count: u32, module: CudaHandle) {
        context::ensure_initialized()?;
        all_functions(functions, count, module)
    }

    fn cuModuleGetGlobal_v2(start: CudaOutput<CUdeviceptr>, bytes: CudaOutput<usize>, module: CudaHandle, name: CudaString) {
        context::ensure_initialized()?;
        variable(start, bytes, &*MODULES.find(module)?, name)
    }

    fn cuLibraryLoadData(
        library: CudaOutput<CudaHandle>, image: CudaInput<c_void>, options: CudaInput<u32>, values: CudaOutput<u64>, count: u32,
        _library_options: CudaInput<u32>, _library_values: CudaInput<u64>, _library_count: u32,
    ) {
        context::ensure_initialized()?;
        library.ensure()?;
        library.write(load(image.image()?, &Logs::new(count, options, values)?)?)
    }

    fn cuLibraryLoadFromFile(
        library: CudaOutput<CudaHandle>, path: CudaString, options: CudaInput<u32>, values: CudaOutput<u64>, count: u32,
        _library_options: CudaInput<u32>, _library_values: CudaInput<u64>, _library_count: u32,
    ) {
        context::ensure_initialized()?;
        library.ensure()?;
        library.write(load(file(path)?, &Logs::new(count, options, values)?)?)
    }

    fn cuLibraryGetModule(module: CudaOutput<CudaHandle>, library: CudaHandle) {
        context::current()?;
        module.write(MODULES.find(library)?.handle)
    }

    fn cuLibraryGetGlobal | cuLibraryGetManaged (
        start: CudaOutput<CUdeviceptr>, bytes: CudaOutput<usize>, library: CudaHandle, name: CudaString,
    ) {
        context::ensure_initialized()?;
        variable(start, bytes, &*MODULES.find(library)?, name)
    }

    fn cuKernelGetFunction(function: CudaOutput<CudaHandle>, kernel: CudaHandle) {
        context::current()?;
        function.write(FUNCTIONS.find(kernel)?.handle)
    }

    fn cuKernelGetLibrary(library: CudaOutput<CudaHandle>, kernel: CudaHandle) {
        library.write(FUNCTIONS.find(kernel)?.module.handle)
    }

    fn cuFuncGetModule(module: CudaOutput<CudaHandle>, function: CudaHandle) {
        module.write(FUNCTIONS.find(function)?.module.handle)
    }

    fn cuFuncGetName | cuKernelGetName (name: CudaOutput<*const c_char>, function: CudaHandle) {
        // The function keeps it; as on a GPU it is valid as long as the module.
        name.write(FUNCTIONS.find(function)?.name.as_ptr())
    }

    fn cuFuncGetParamInfo | cuKernelGetParamInfo (
        function: CudaHandle, index: usize, offset: CudaOutput<usize>, bytes: CudaOutput<usize>,
    ) {
        let param = FUNCTIONS.find(function)?.param(index)?;
        offset.write(param.offset as usize)?;
        bytes.write_if(param.bytes as usize);
        Ok(())
    }

    fn cuFuncIsLoaded(state: CudaOutput<u32>, function: CudaHandle) {
        FUNCTIONS.find(function)?;
        state.write(1)
    }

    fn cuFuncLoad(function: CudaHandle) {
        FUNCTIONS.find(function).map(|_| ())
    }

    fn cuFuncGetAttribute(value: CudaOutput<i32>, number: u32, function: CudaHandle) {
        let function = FUNCTIONS.find(function)?;
        value.write(function.attribute(function_attribute(number)?))
    }

    fn cuKernelGetAttribute(value: CudaOutput<i32>, number: u32, kernel: CudaHandle, device: CUdevice) {
        ensure_device(device)?;
        let kernel = FUNCTIONS.find(kernel)?;
        value.write(kernel.attribute(function_attribute(number)?))
    }

    fn cuFuncSetAttribute(function: CudaHandle, number: u32, value: i32) {
        FUNCTIONS.find(function)?.set_attribute(function_attribute(number)?, value)
    }

    fn cuKernelSetAttribute(number: u32, value: i32, kernel: CudaHandle, device: CUdevice) {
        ensure_device(device)?;
        FUNCTIONS.find(kernel)?.set_attribute(function_attribute(number)?, value)
    }

    fn cuFuncSetCacheConfig | cuFuncSetSharedMemConfig (function: CudaHandle, config: u32) {
        FUNCTIONS.find(function)?;
        ensure(config <= 3, CUDA_ERROR_INVALID_VALUE)
    }

    fn cuKernelSetCacheConfig(kernel: CudaHandle, config: u32, device: CUdevice) {
        ensure_device(device)?;
        FUNCTIONS.find(kernel)?;
        ensure(config <= 3, CUDA_ERROR_INVALID_VALUE)
    }

    fn cuLinkCreate_v2 | cuLinkCreate (_count: u32, _options: CudaInput<u32>, _values: CudaInput<u64>, state: CudaOutput<CudaHandle>) {
        context::current()?;
        state.ensure()?;
        state.write(LINKINGS.publish(Arc::default()))
    }

    fn cuLinkAddData_v2 | cuLinkAddData (
        state: CudaHandle, kind: u32, data: CudaInput<c_void>, size: usize, _name: CudaString, count: u32, options: CudaInput<u32>,
        values: CudaOutput<u64>,
    ) {
        let logs = Logs::new(count, options, values)?;
        let bytes = data.bytes(size)?;
        if is_device_library(kind, bytes) {
            return LINKINGS.find(state).map(|_| ());
        }
        add_to_linking(state, kind, image::ptx_of(bytes), &logs)
    }

    fn cuLinkAddFile_v2 | cuLinkAddFile (
        state: CudaHandle, kind: u32, path: CudaString, count: u32, options: CudaInput<u32>, values: CudaOutput<u64>,
    ) {
        let logs = Logs::new(count, options, values)?;
        let bytes = std::fs::read(path.get()?).map_err(|_| CudaError(CUDA_ERROR_FILE_NOT_FOUND))?;
        if is_device_library(kind, &bytes) {
            return LINKINGS.find(state).map(|_| ());
        }
        add_to_linking(state, kind, image::ptx_of(&bytes), &logs)
    }

    fn cuLinkComplete(state: CudaHandle, image: CudaOutput<u64>, size: CudaOutput<usize>) {
        let linking = LINKINGS.find(state)?;
        image.ensure()?;
        let texts = lock(&linking.texts);
        ensure(!texts.is_empty(), CUDA_ERROR_INVALID_VALUE)?;
        let text = module::text(image::link(&texts)).map_err(|error| {
            say(format_args!("{}", error.reason));
            CudaError::from(error)
        })?;
        let mut done = lock(&linking.done);
        *done = text.into_bytes();
        done.push(0);
        image.write(done.as_ptr().expose_provenance() as u64)?;
        size.write_if(done.len());
        Ok(())
    }

    fn cuLinkDestroy(state: CudaHandle) {
        LINKINGS.remove(state).map(|_| ())
    }
}

/// Looks up the function of a handle.
pub fn function(handle: CudaHandle) -> CudaResult<Arc<CudaFunction>> {
    FUNCTIONS.find(handle)
}
