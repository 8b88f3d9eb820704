//! Modules, libraries, functions, and linking.

use super::pointer::{In, Out, Text};
use crate::core::context::{self, ensure_device};
use crate::core::error::{Answer, Error, ensure, say};
use crate::core::image::{self, Text as Ptx};
use crate::core::module::{self, FUNCTIONS, Function, MODULES, Module, Refused};
use crate::core::registry::Table;
use crate::cuda::*;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers of options for the compiler that a driver may have.
const INFO_LOG: u32 = 3;
const INFO_LOG_BYTES: u32 = 4;
const ERROR_LOG: u32 = 5;
const ERROR_LOG_BYTES: u32 = 6;

/// Where the application wants to have logs: buffers and their sizes, by the numbers of options.
struct Logs {
    info: (u64, usize),
    error: (u64, usize),
    /// Where the sizes are told back.
    sizes: [Option<Out<u64>>; 2],
}

impl Logs {
    fn new(count: u32, options: In<u32>, values: Out<u64>) -> Answer<Logs> {
        let mut logs = Logs { info: (0, 0), error: (0, 0), sizes: [None; 2] };
        let numbers = options.list(count as usize)?;
        let given = values.as_input().list(count as usize)?;
        for (index, (number, value)) in numbers.into_iter().zip(given).enumerate() {
            let place = Out::<u64>::at(values.address() + 8 * index as u64);
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

    /// Writes what is to be said, and how much that is.
    fn write(&self, error: &str) {
        for ((buffer, room), (text, size)) in
            [self.info, self.error].into_iter().zip(["", error].into_iter().zip(self.sizes))
        {
            if buffer != 0 && room > 0 {
                // There is room for the zero byte at least.
                let _ = Out::<c_char>::at(buffer).write_text(text.as_bytes(), room);
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

fn load(image: Ptx, logs: &Logs) -> Answer<Handle> {
    match module::text(image).and_then(|text| Module::load(&text)) {
        Ok(module) => {
            logs.write("");
            Ok(module.handle)
        }
        Err(Refused { code, reason }) => {
            logs.write(&reason);
            if !logs.has_error_log() {
                say(format_args!("{reason}"));
            }
            Err(Error(code))
        }
    }
}

fn no_logs() -> Logs {
    Logs { info: (0, 0), error: (0, 0), sizes: [None; 2] }
}

fn file(path: Text) -> Answer<Ptx> {
    let bytes = std::fs::read(path.get()?).map_err(|_| Error(CUDA_ERROR_FILE_NOT_FOUND))?;
    Ok(image::ptx_of(&bytes))
}

fn variable(start: Out<CUdeviceptr>, bytes: Out<usize>, module: &Module, name: Text) -> Answer<()> {
    let (found, size) = module.variable(&name.get()?)?;
    start.write_if(found);
    bytes.write_if(size as usize);
    Ok(())
}

fn all_functions(places: Out<Handle>, count: u32, module: Handle) -> Answer<()> {
    let module = MODULES.find(module)?;
    places.ensure()?;
    for number in 0..module.count().min(count as usize) {
        places.write_at(number, module.function_at(number)?);
    }
    Ok(())
}

/// What is put together before it is loaded: texts of PTX, of which one defines what another one declares.
#[derive(Debug, Default)]
struct Linking {
    texts: Mutex<Vec<String>>,
    /// What came out; the application reads it as long as this is there.
    done: Mutex<Vec<u8>>,
}

static LINKINGS: Table<Linking> = Table::new();

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The numbers of what can be linked: PTX, fat binaries; and of libraries, of which the device has its own one.
const INPUT_PTX: u32 = 1;
const INPUT_FAT_BINARY: u32 = 2;
const INPUT_LIBRARY: u32 = 4;
const DEVICE_LIBRARY: &[u8] = b"cuda_device_runtime.o";

/// Whether a library is that of the device, by the one file that is in it.
fn is_device_library(kind: u32, bytes: &[u8]) -> bool {
    kind == INPUT_LIBRARY && bytes.windows(DEVICE_LIBRARY.len()).any(|window| window == DEVICE_LIBRARY)
}

fn add_to_linking(state: Handle, kind: u32, image: Ptx, logs: &Logs) -> Answer<()> {
    let linking = LINKINGS.find(state)?;
    if !matches!(kind, INPUT_PTX | INPUT_FAT_BINARY) {
        let reason = "only PTX can be linked, and fat binaries that hold PTX";
        logs.write(reason);
        say(format_args!("{reason}"));
        return Err(Error(CUDA_ERROR_NOT_SUPPORTED));
    }
    let text = module::text(image)?;
    heddle_ptx::parse(&text).map_err(|diagnostics| {
        let reason = diagnostics.first().map(ToString::to_string).unwrap_or_default();
        logs.write(&reason);
        Error(CUDA_ERROR_INVALID_PTX)
    })?;
    lock(&linking.texts).push(text);
    Ok(())
}

entries! {
    fn cuModuleLoadData(module: Out<Handle>, image: In<c_void>) {
        context::current()?;
        module.ensure()?;
        module.write(load(image.image()?, &no_logs())?)
    }

    fn cuModuleLoadDataEx(
        module: Out<Handle>, image: In<c_void>, count: u32, options: In<u32>, values: Out<u64>,
    ) {
        context::current()?;
        module.ensure()?;
        module.write(load(image.image()?, &Logs::new(count, options, values)?)?)
    }

    fn cuModuleLoadFatBinary(module: Out<Handle>, image: In<c_void>) {
        context::current()?;
        module.ensure()?;
        module.write(load(image.image()?, &no_logs())?)
    }

    fn cuModuleLoad(module: Out<Handle>, path: Text) {
        context::current()?;
        module.ensure()?;
        module.write(load(file(path)?, &no_logs())?)
    }

    fn cuModuleUnload | cuLibraryUnload (module: Handle) {
        context::ensure_initialized()?;
        Module::unload(module)
    }

    fn cuModuleGetLoadingMode(mode: Out<u32>) {
        // Kernels are compiled when they are launched.
        context::ensure_initialized()?;
        mode.write(2)
    }

    fn cuModuleGetFunction | cuLibraryGetKernel (function: Out<Handle>, module: Handle, name: Text) {
        context::ensure_initialized()?;
        function.ensure()?;
        function.write(MODULES.find(module)?.function(&name.get()?)?)
    }

    fn cuModuleGetFunctionCount | cuLibraryGetKernelCount (count: Out<u32>, module: Handle) {
        context::ensure_initialized()?;
        count.write(MODULES.find(module)?.count() as u32)
    }

    fn cuModuleEnumerateFunctions | cuLibraryEnumerateKernels (functions: Out<Handle>, count: u32, module: Handle) {
        context::ensure_initialized()?;
        all_functions(functions, count, module)
    }

    fn cuModuleGetGlobal_v2(start: Out<CUdeviceptr>, bytes: Out<usize>, module: Handle, name: Text) {
        context::ensure_initialized()?;
        variable(start, bytes, &*MODULES.find(module)?, name)
    }

    fn cuLibraryLoadData(
        library: Out<Handle>, image: In<c_void>, options: In<u32>, values: Out<u64>, count: u32,
        _library_options: In<u32>, _library_values: In<u64>, _library_count: u32,
    ) {
        context::ensure_initialized()?;
        library.ensure()?;
        library.write(load(image.image()?, &Logs::new(count, options, values)?)?)
    }

    fn cuLibraryLoadFromFile(
        library: Out<Handle>, path: Text, options: In<u32>, values: Out<u64>, count: u32,
        _library_options: In<u32>, _library_values: In<u64>, _library_count: u32,
    ) {
        context::ensure_initialized()?;
        library.ensure()?;
        library.write(load(file(path)?, &Logs::new(count, options, values)?)?)
    }

    fn cuLibraryGetModule(module: Out<Handle>, library: Handle) {
        context::current()?;
        module.write(MODULES.find(library)?.handle)
    }

    fn cuLibraryGetGlobal | cuLibraryGetManaged (
        start: Out<CUdeviceptr>, bytes: Out<usize>, library: Handle, name: Text,
    ) {
        context::ensure_initialized()?;
        variable(start, bytes, &*MODULES.find(library)?, name)
    }

    fn cuKernelGetFunction(function: Out<Handle>, kernel: Handle) {
        context::current()?;
        function.write(FUNCTIONS.find(kernel)?.handle)
    }

    fn cuKernelGetLibrary(library: Out<Handle>, kernel: Handle) {
        library.write(FUNCTIONS.find(kernel)?.module.handle)
    }

    fn cuFuncGetModule(module: Out<Handle>, function: Handle) {
        module.write(FUNCTIONS.find(function)?.module.handle)
    }

    fn cuFuncGetName | cuKernelGetName (name: Out<*const c_char>, function: Handle) {
        // The function keeps it; as on a GPU it is valid as long as the module.
        name.write(FUNCTIONS.find(function)?.name.as_ptr())
    }

    fn cuFuncGetParamInfo | cuKernelGetParamInfo (
        function: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>,
    ) {
        let param = FUNCTIONS.find(function)?.param(index)?;
        offset.write(param.offset as usize)?;
        bytes.write_if(param.bytes as usize);
        Ok(())
    }

    fn cuFuncIsLoaded(state: Out<u32>, function: Handle) {
        FUNCTIONS.find(function)?;
        state.write(1)
    }

    fn cuFuncLoad(function: Handle) {
        FUNCTIONS.find(function).map(|_| ())
    }

    fn cuFuncGetAttribute(value: Out<i32>, number: u32, function: Handle) {
        value.write(FUNCTIONS.find(function)?.attribute(number)?)
    }

    fn cuKernelGetAttribute(value: Out<i32>, number: u32, kernel: Handle, device: CUdevice) {
        ensure_device(device)?;
        value.write(FUNCTIONS.find(kernel)?.attribute(number)?)
    }

    fn cuFuncSetAttribute(function: Handle, number: u32, value: i32) {
        FUNCTIONS.find(function)?.set_attribute(number, value)
    }

    fn cuKernelSetAttribute(number: u32, value: i32, kernel: Handle, device: CUdevice) {
        ensure_device(device)?;
        FUNCTIONS.find(kernel)?.set_attribute(number, value)
    }

    fn cuFuncSetCacheConfig | cuFuncSetSharedMemConfig (function: Handle, config: u32) {
        FUNCTIONS.find(function)?;
        ensure(config <= 3, CUDA_ERROR_INVALID_VALUE)
    }

    fn cuKernelSetCacheConfig(kernel: Handle, config: u32, device: CUdevice) {
        ensure_device(device)?;
        FUNCTIONS.find(kernel)?;
        ensure(config <= 3, CUDA_ERROR_INVALID_VALUE)
    }

    fn cuLinkCreate_v2 | cuLinkCreate (_count: u32, _options: In<u32>, _values: In<u64>, state: Out<Handle>) {
        context::current()?;
        state.ensure()?;
        state.write(LINKINGS.publish(Arc::default()))
    }

    fn cuLinkAddData_v2 | cuLinkAddData (
        state: Handle, kind: u32, data: In<c_void>, size: usize, _name: Text, count: u32, options: In<u32>,
        values: Out<u64>,
    ) {
        let logs = Logs::new(count, options, values)?;
        let bytes = data.bytes(size)?;
        if is_device_library(kind, bytes) {
            return LINKINGS.find(state).map(|_| ());
        }
        add_to_linking(state, kind, image::ptx_of(bytes), &logs)
    }

    fn cuLinkAddFile_v2 | cuLinkAddFile (
        state: Handle, kind: u32, path: Text, count: u32, options: In<u32>, values: Out<u64>,
    ) {
        let logs = Logs::new(count, options, values)?;
        let bytes = std::fs::read(path.get()?).map_err(|_| Error(CUDA_ERROR_FILE_NOT_FOUND))?;
        if is_device_library(kind, &bytes) {
            return LINKINGS.find(state).map(|_| ());
        }
        add_to_linking(state, kind, image::ptx_of(&bytes), &logs)
    }

    fn cuLinkComplete(state: Handle, image: Out<u64>, size: Out<usize>) {
        let linking = LINKINGS.find(state)?;
        image.ensure()?;
        let texts = lock(&linking.texts);
        let text = module::link(&texts).map_err(Error::from)?;
        let mut done = lock(&linking.done);
        *done = text.into_bytes();
        done.push(0);
        image.write(done.as_ptr().expose_provenance() as u64)?;
        size.write_if(done.len());
        Ok(())
    }

    fn cuLinkDestroy(state: Handle) {
        LINKINGS.remove(state).map(|_| ())
    }
}

/// The function of a handle.
pub fn function(handle: Handle) -> Answer<Arc<Function>> {
    FUNCTIONS.find(handle)
}
