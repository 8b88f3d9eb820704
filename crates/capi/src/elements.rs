//! Functions of numbers over arrays: include/heddle/program.h.

use crate::program::HeddleKernel;
use crate::{guarded, messages_of};
use heddle_library::ElementwiseFunction;
use std::ffi::{c_char, c_uint, c_void};
use std::ptr;

/// `heddle_elements`.
#[derive(Debug)]
pub struct HeddleElements(ElementwiseFunction);

/// `heddle_elements_new`.
///
/// # Safety
/// The kernel is null or live; sizes are null or as many as `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_elements_new(
    kernel: *const HeddleKernel,
    sizes: *const usize,
    count: usize,
) -> *mut HeddleElements {
    // SAFETY: as the caller says.
    let kernel = unsafe { kernel.as_ref() }.and_then(|kernel| kernel.kernel.as_ref());
    let (Some(kernel), false) = (kernel, sizes.is_null()) else { return ptr::null_mut() };
    // SAFETY: as the caller says.
    let sizes = unsafe { std::slice::from_raw_parts(sizes, count) };
    guarded(ptr::null_mut(), || {
        let made = ElementwiseFunction::new(kernel.clone(), sizes);
        made.map_or(ptr::null_mut(), |function| Box::into_raw(Box::new(HeddleElements(function))))
    })
}

/// `heddle_elements_add`.
///
/// # Safety
/// The function and the kernel are null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_elements_add(
    elements: *const HeddleElements,
    layout: c_uint,
    kernel: *const HeddleKernel,
) {
    // SAFETY: as the caller says.
    let (elements, kernel) = unsafe { (elements.as_ref(), kernel.as_ref()) };
    if let (Some(elements), Some(kernel)) = (elements, kernel.and_then(|kernel| kernel.kernel.as_ref())) {
        guarded((), || elements.0.add(layout, kernel.clone()));
    }
}

/// `heddle_elements_free`.
///
/// # Safety
/// The function is null, or comes from `heddle_elements_new` and is freed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_elements_free(elements: *mut HeddleElements) {
    if !elements.is_null() {
        // SAFETY: as the caller says.
        drop(unsafe { Box::from_raw(elements) });
    }
}

/// `heddle_elements_loop`.
///
/// # Safety
/// The function is null or live; the others are as NumPy gives them to the loop of a ufunc with as many operands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_elements_loop(
    operands: *const *mut u8,
    count: *const isize,
    steps: *const isize,
    elements: *mut c_void,
) {
    // SAFETY: as the caller says.
    let Some(elements) = (unsafe { elements.cast::<HeddleElements>().as_ref() }) else { return };
    let many = elements.0.operands();
    // SAFETY: as the caller says.
    let (operands, steps, count) = unsafe {
        (std::slice::from_raw_parts(operands, many), std::slice::from_raw_parts(steps, many), count.read())
    };
    let status = float_status();
    // SAFETY: as the caller says.
    guarded((), || unsafe { elements.0.call(operands, steps, usize::try_from(count).unwrap_or(0)) });
    set_float_status(status);
}

/// `heddle_elements_flag`.
///
/// # Safety
/// The function is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_elements_flag(elements: *const HeddleElements) -> *const u8 {
    // SAFETY: as the caller says.
    unsafe { elements.as_ref() }.map_or(ptr::null(), |elements| elements.0.failure_flag().as_ptr().cast())
}

/// `heddle_elements_failure`.
///
/// # Safety
/// The function is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_elements_failure(elements: *const HeddleElements) -> *mut c_char {
    // SAFETY: as the caller says.
    let Some(elements) = (unsafe { elements.as_ref() }) else { return ptr::null_mut() };
    let failure = elements.0.take_failure();
    failure.map_or(ptr::null_mut(), |failure| messages_of(&failure.diagnostics).into_raw())
}

/// Returns the control and status register of vector arithmetic. Lanes that a mask switches off may set its flags, of
/// which NumPy would warn.
#[cfg(target_arch = "x86_64")]
fn float_status() -> u32 {
    let mut status = 0u32;
    // SAFETY: stores four bytes at the address.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut status, options(nostack)) };
    status
}

/// Sets the control and status register of vector arithmetic.
#[cfg(target_arch = "x86_64")]
fn set_float_status(status: u32) {
    // SAFETY: loads a value of this register from the address.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const status, options(nostack, readonly)) };
}

#[cfg(not(target_arch = "x86_64"))]
fn float_status() -> u32 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn set_float_status(_: u32) {}
