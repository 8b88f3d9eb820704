//! Parameters of kernels, and launches in one call: include/heddle/program.h.

use crate::program::{HeddleKernel, bytes_at, index_space, sizes_at, wrong};
use crate::{c_text, guarded, messages_of};
use heddle_ir::Space;
use heddle_library::{DiagnosticError, KernelArgument, ParamPassing};
use std::ffi::{CString, c_char, c_uint, c_void};
use std::ptr;

/// `heddle_kind`: a value by its bytes.
const VALUE: c_uint = 0;
/// `heddle_kind`: memory that all work-items share.
const MEMORY: c_uint = 1;
/// `heddle_kind`: memory of a work-group.
const LOCAL: c_uint = 2;
/// `heddle_kind`: images, samplers and others that no argument fits.
const UNSUPPORTED: c_uint = 3;

/// `heddle_parameter`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeddleParameter {
    name: *const c_char,
    type_name: *const c_char,
    qualifiers: *const c_char,
    kind: c_uint,
    size: usize,
    read_only: bool,
}

/// `heddle_argument`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeddleArgument {
    kind: c_uint,
    memory: *mut c_void,
    size: usize,
}

/// `heddle_kernel_parameter_count`.
///
/// # Safety
/// The kernel is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_parameter_count(kernel: *const HeddleKernel) -> usize {
    // SAFETY: as the caller says.
    unsafe { kernel.as_ref() }.map_or(0, |kernel| kernel.declared.len())
}

/// `heddle_kernel_parameter`.
///
/// # Safety
/// The kernel is null or live; the parameter is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_parameter(
    kernel: *const HeddleKernel,
    index: usize,
    parameter: *mut HeddleParameter,
) -> bool {
    // SAFETY: as the caller says.
    let Some(kernel) = (unsafe { kernel.as_ref() }) else { return false };
    let known = kernel.kernel.as_ref().and_then(|kernel| kernel.parameters().get(index));
    let (Some(known), Some([name, type_name, qualifiers])) = (known, kernel.declared.get(index)) else {
        return false;
    };
    let (kind, size) = match &known.passing {
        ParamPassing::Pointer(Space::Local) => (LOCAL, 0),
        ParamPassing::Pointer(_) => (MEMORY, size_of::<*mut c_void>()),
        ParamPassing::Value { bytes, .. } | ParamPassing::Copy { bytes, .. } => (VALUE, *bytes),
        ParamPassing::Image(_) | ParamPassing::Sampler | ParamPassing::Opaque => (UNSUPPORTED, 0),
    };
    let is_constant = known.passing == ParamPassing::Pointer(Space::Constant);
    let described = HeddleParameter {
        name: name.as_ptr(),
        type_name: type_name.as_ptr(),
        qualifiers: qualifiers.as_ptr(),
        kind,
        size,
        read_only: is_constant || known.qualifiers.split(' ').any(|word| word == "const"),
    };
    if parameter.is_null() {
        return false;
    }
    // SAFETY: as the caller says.
    unsafe { parameter.write(described) };
    true
}

/// Converts a caller's argument.
///
/// # Safety
/// A value's memory is null or has so many bytes.
unsafe fn argument_of(given: &HeddleArgument) -> Result<KernelArgument<'static>, DiagnosticError> {
    Ok(match given.kind {
        // SAFETY: as the caller says.
        VALUE => KernelArgument::bytes(unsafe { bytes_at(given.memory, given.size) }),
        MEMORY if given.size == 0 => KernelArgument::address(given.memory.cast()),
        MEMORY => KernelArgument::raw_memory(given.memory.cast(), given.size),
        LOCAL => KernelArgument::local_bytes(given.size as u64),
        other => return Err(wrong(&format!("unknown kind {other} of an argument"))),
    })
}

/// `heddle_kernel_call`.
///
/// # Safety
/// The kernel is null or live; sizes are null or have a number for each dimension; arguments are null or as many as `count`; and
/// with them the kernel does nothing undefined.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_call(
    kernel: *const HeddleKernel,
    dimensions: c_uint,
    global: *const usize,
    local: *const usize,
    arguments: *const HeddleArgument,
    count: usize,
) -> *mut c_char {
    // SAFETY: as the caller says.
    let (kernel, global, local) =
        unsafe { (kernel.as_ref(), sizes_at(global, dimensions), sizes_at(local, dimensions)) };
    let given: &[HeddleArgument] = match arguments.is_null() {
        true => &[],
        // SAFETY: as the caller says.
        false => unsafe { std::slice::from_raw_parts(arguments, count) },
    };
    let done = guarded(Err(wrong("internal error")), || {
        let kernel = kernel.and_then(|kernel| kernel.kernel.as_ref()).ok_or_else(|| wrong("no kernel"))?;
        // SAFETY: as the caller says.
        let given = given.iter().map(|argument| unsafe { argument_of(argument) });
        let given: Vec<KernelArgument<'static>> = given.collect::<Result<_, _>>()?;
        // SAFETY: as the caller says.
        unsafe { kernel.launch(index_space(global, local)?, given) }
    });
    match done {
        Ok(()) => ptr::null_mut(),
        Err(failure) => messages_of(&failure.diagnostics).into_raw(),
    }
}

/// `heddle_kernel_describe`.
///
/// # Safety
/// The kernel is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_kernel_describe(kernel: *const HeddleKernel) -> *mut c_char {
    // SAFETY: as the caller says.
    let kernel = unsafe { kernel.as_ref() }.and_then(|kernel| kernel.kernel.as_ref());
    let Some(kernel) = kernel else { return ptr::null_mut() };
    guarded(ptr::null_mut(), || {
        let reports = kernel.reports();
        c_text(&reports.iter().map(ToString::to_string).collect::<String>()).into_raw()
    })
}

/// `heddle_text_free`.
///
/// # Safety
/// The text is null, or comes from a function that says so and is freed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// `heddle_version`.
#[unsafe(no_mangle)]
pub extern "C" fn heddle_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
