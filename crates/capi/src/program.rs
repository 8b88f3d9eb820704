//! Programs in OpenCL C: include/heddle/program.h.

use crate::{c_text, guarded, messages_of, text_of};
use heddle_compiler::DiagnosticError;
use heddle_ir::{Code, Diagnostic};
use heddle_library::{Kernel, KernelArgument, KernelParam, NdRange, Program, RangeError};
use std::ffi::{CString, c_char, c_uint, c_void};
use std::ptr;

/// A program, or none, with what there is to say.
#[derive(Debug)]
pub struct HeddleProgram {
    program: Option<Program>,
    messages: CString,
    /// Names of its kernels.
    names: Vec<CString>,
}

/// A kernel, or none, with its arguments and what there is to say.
#[derive(Debug)]
pub struct HeddleKernel {
    pub(crate) kernel: Option<Kernel>,
    arguments: Vec<Option<KernelArgument<'static>>>,
    /// Name, type and qualifiers of each parameter.
    pub(crate) declared: Vec<[CString; 3]>,
    messages: CString,
    report: CString,
}

pub(crate) fn wrong(text: &str) -> DiagnosticError {
    Diagnostic::error(Code::Launch, text).into()
}

/// `heddle_program_from_opencl_c`.
///
/// # Safety
/// Texts are null or end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_program_from_opencl_c(
    source: *const c_char,
    options: *const c_char,
) -> *mut HeddleProgram {
    // SAFETY: as the caller says.
    let (text, words) = unsafe { (text_of(source), text_of(options)) };
    guarded(ptr::null_mut(), || {
        HeddleProgram::publish(match text {
            Some(text) if options.is_null() || words.is_some() => {
                Program::from_opencl_c_with(text, words.unwrap_or(""))
            }
            _ => Err(wrong("source and options must be UTF-8, and the source must not be null")),
        })
    })
}

/// `heddle_program_from_spirv`.
///
/// # Safety
/// The words are null or have so many bytes; options are null or end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_program_from_spirv(
    words: *const c_void,
    size: usize,
    options: *const c_char,
) -> *mut HeddleProgram {
    // SAFETY: as the caller says.
    let (bytes, text) = unsafe { (bytes_at(words, size), text_of(options)) };
    guarded(ptr::null_mut(), || {
        HeddleProgram::publish(match options.is_null() || text.is_some() {
            true => Program::from_spirv(bytes, text.unwrap_or("")),
            false => Err(wrong("options must be UTF-8")),
        })
    })
}

impl HeddleProgram {
    fn publish(made: Result<Program, DiagnosticError>) -> *mut HeddleProgram {
        let (program, messages, names) = match made {
            Ok(program) => {
                let messages = messages_of(program.diagnostics());
                let names = program.kernel_names().map(c_text).collect();
                (Some(program), messages, names)
            }
            Err(failure) => (None, messages_of(&failure.diagnostics), Vec::new()),
        };
        Box::into_raw(Box::new(HeddleProgram { program, messages, names }))
    }
}

/// Returns a caller's memory; no bytes if it is null.
///
/// # Safety
/// The memory is null or has so many bytes, and lives during the call.
pub(crate) unsafe fn bytes_at<'a>(memory: *const c_void, size: usize) -> &'a [u8] {
    match memory.is_null() {
        true => &[],
        // SAFETY: as the caller says.
        false => unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), size) },
    }
}

/// `heddle_program_kernel_count`.
///
/// # Safety
/// The program is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_program_kernel_count(program: *const HeddleProgram) -> usize {
    // SAFETY: as the caller says.
    unsafe { program.as_ref() }.map_or(0, |program| program.names.len())
}

/// `heddle_program_kernel_name`.
///
/// # Safety
/// The program is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_program_kernel_name(
    program: *const HeddleProgram,
    index: usize,
) -> *const c_char {
    // SAFETY: as the caller says.
    let name = unsafe { program.as_ref() }.and_then(|program| program.names.get(index));
    name.map_or(ptr::null(), |name| name.as_ptr())
}

/// `heddle_program_free`.
///
/// # Safety
/// The program is null, or comes from `heddle_program_from_opencl_c` and is freed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_program_free(program: *mut HeddleProgram) {
    if !program.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(program) });
    }
}

/// `heddle_program_ok`.
///
/// # Safety
/// The program is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_program_ok(program: *const HeddleProgram) -> bool {
    // SAFETY: as the caller says.
    unsafe { program.as_ref() }.is_some_and(|program| program.program.is_some())
}

/// `heddle_program_messages`.
///
/// # Safety
/// The program is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_program_messages(program: *const HeddleProgram) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { program.as_ref() }.map_or(ptr::null(), |program| program.messages.as_ptr())
}

/// `heddle_program_kernel`.
///
/// # Safety
/// The program is null or live; the name is null or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_program_kernel(
    program: *const HeddleProgram,
    name: *const c_char,
) -> *mut HeddleKernel {
    // SAFETY: as the caller says.
    let (program, name) = unsafe { (program.as_ref(), text_of(name)) };
    guarded(ptr::null_mut(), || {
        let made = match (program.and_then(|program| program.program.as_ref()), name) {
            (Some(program), Some(name)) => program.kernel(name),
            (None, _) => Err(wrong("no program")),
            (_, None) => Err(wrong("the kernel's name must be UTF-8")),
        };
        let (kernel, messages) = match made {
            Ok(kernel) => (Some(kernel), CString::default()),
            Err(failure) => (None, messages_of(&failure.diagnostics)),
        };
        let parameters = kernel.as_ref().map(Kernel::parameters).unwrap_or_default();
        let arguments = vec![None; parameters.len()];
        let texts = |parameter: &KernelParam| {
            let name = parameter.name.as_deref().unwrap_or_default();
            [name, &parameter.type_name, &parameter.qualifiers].map(c_text)
        };
        let declared = parameters.iter().map(texts).collect();
        let report = CString::default();
        Box::into_raw(Box::new(HeddleKernel { kernel, arguments, declared, messages, report }))
    })
}

/// `heddle_kernel_free`.
///
/// # Safety
/// The kernel is null, or comes from `heddle_program_kernel` and is freed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_free(kernel: *mut HeddleKernel) {
    if !kernel.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(kernel) });
    }
}

/// `heddle_kernel_ok`.
///
/// # Safety
/// The kernel is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_ok(kernel: *const HeddleKernel) -> bool {
    // SAFETY: as the caller says.
    unsafe { kernel.as_ref() }.is_some_and(|kernel| kernel.kernel.is_some())
}

/// `heddle_kernel_messages`.
///
/// # Safety
/// The kernel is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_messages(kernel: *const HeddleKernel) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { kernel.as_ref() }.map_or(ptr::null(), |kernel| kernel.messages.as_ptr())
}

impl HeddleKernel {
    /// Runs a fallible operation on the kernel and keeps its messages. An invalid kernel keeps its first message.
    fn diagnostic(
        &mut self,
        call: impl FnOnce(&Kernel, &mut [Option<KernelArgument<'static>>]) -> Result<(), DiagnosticError>,
    ) -> bool {
        let HeddleKernel { kernel: Some(kernel), arguments, messages, .. } = self else { return false };
        let done = guarded(Err(wrong("internal error")), || call(kernel, arguments));
        *messages = done.as_ref().err().map(|failure| messages_of(&failure.diagnostics)).unwrap_or_default();
        done.is_ok()
    }

    fn set(&mut self, index: usize, argument: KernelArgument<'static>) -> bool {
        self.diagnostic(|kernel, arguments| {
            kernel.check(index, &argument)?;
            if let Some(place) = arguments.get_mut(index) {
                *place = Some(argument);
            }
            Ok(())
        })
    }
}

/// `heddle_kernel_set_value`.
///
/// # Safety
/// The kernel is null, or live and used by no other thread; the value is null or has so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_set_value(
    kernel: *mut HeddleKernel,
    index: usize,
    value: *const c_void,
    size: usize,
) -> bool {
    // SAFETY: as the caller says.
    let Some(kernel) = (unsafe { kernel.as_mut() }) else { return false };
    // SAFETY: as the caller says.
    let bytes = unsafe { bytes_at(value, size) };
    kernel.set(index, KernelArgument::bytes(bytes))
}

/// `heddle_kernel_set_memory`.
///
/// # Safety
/// The kernel is null, or live and used by no other thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_set_memory(
    kernel: *mut HeddleKernel,
    index: usize,
    memory: *mut c_void,
) -> bool {
    // SAFETY: as the caller says.
    unsafe { kernel.as_mut() }.is_some_and(|kernel| kernel.set(index, KernelArgument::address(memory.cast())))
}

/// `heddle_kernel_set_local`.
///
/// # Safety
/// The kernel is null, or live and used by no other thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_set_local(
    kernel: *mut HeddleKernel,
    index: usize,
    size: usize,
) -> bool {
    // SAFETY: as the caller says.
    unsafe { kernel.as_mut() }
        .is_some_and(|kernel| kernel.set(index, KernelArgument::local_bytes(size as u64)))
}

/// `heddle_kernel_launch`.
///
/// # Safety
/// The kernel is null, or live and used by no other thread; sizes are null or have a number for each dimension; and with its
/// arguments the kernel does nothing undefined.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_launch(
    kernel: *mut HeddleKernel,
    dimensions: c_uint,
    global: *const usize,
    local: *const usize,
) -> bool {
    // SAFETY: as the caller says.
    let Some(kernel) = (unsafe { kernel.as_mut() }) else { return false };
    // SAFETY: as the caller says.
    let (global, local) = unsafe { (sizes_at(global, dimensions), sizes_at(local, dimensions)) };
    kernel.diagnostic(|kernel, arguments| {
        let mut given = Vec::new();
        for (index, argument) in arguments.iter().enumerate() {
            given.push(argument.clone().ok_or_else(|| wrong(&format!("argument {index} is not set")))?);
        }
        // SAFETY: as the caller says.
        unsafe { kernel.launch(index_space(global, local)?, given) }
    })
}

/// Returns a caller's sizes; none if they are null.
///
/// # Safety
/// Sizes are null or have a number for each of up to three dimensions.
pub(crate) unsafe fn sizes_at(sizes: *const usize, dimensions: c_uint) -> Option<Vec<u64>> {
    let count = usize::try_from(dimensions).ok().filter(|count| (1..=3).contains(count))?;
    // SAFETY: as the caller says.
    let sizes = (!sizes.is_null()).then(|| unsafe { std::slice::from_raw_parts(sizes, count) })?;
    Some(sizes.iter().map(|&size| size as u64).collect())
}

/// Returns the work-items of a launch.
pub(crate) fn index_space(
    global: Option<Vec<u64>>,
    local: Option<Vec<u64>>,
) -> Result<Result<NdRange, RangeError>, DiagnosticError> {
    let global = global.ok_or_else(|| wrong("a launch has 1 to 3 dimensions, and a size for each"))?;
    Ok(NdRange::new(&global).and_then(|range| match local {
        Some(local) => range.with_local(&local),
        None => Ok(range),
    }))
}

/// `heddle_kernel_report`.
///
/// # Safety
/// The kernel is null, or live and used by no other thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_report(kernel: *mut HeddleKernel) -> *const c_char {
    // SAFETY: as the caller says.
    let Some(kernel) = (unsafe { kernel.as_mut() }) else { return ptr::null() };
    let reports = kernel.kernel.as_ref().map(Kernel::reports).unwrap_or_default();
    kernel.report = c_text(&reports.iter().map(ToString::to_string).collect::<String>());
    kernel.report.as_ptr()
}
