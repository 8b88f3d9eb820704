//! Typed view of LLVM's C interface: handles that cannot outlive their module.
//!
//! Each handle borrows from the [`LlvmModule`] that it was reached through; nothing here changes or frees its target
//! while the module is borrowed. The SAFETY comments below call this "live".

mod module;
mod types;
mod value;
mod global;
mod instruction;
mod attributes;
mod metadata;
mod build;

use llvm_sys::core::*;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use llvm_sys::prelude::{LLVMBasicBlockRef, LLVMContextRef, LLVMModuleRef, LLVMTypeRef, LLVMValueRef};
use llvm_sys::target::LLVMTargetDataRef;
use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;

pub(crate) use build::{call_intrinsic, shuffle};

/// LLVM module in its own context.
#[derive(Debug)]
pub struct LlvmModule {
    context: LLVMContextRef,
    raw: LLVMModuleRef,
}

// SAFETY: the module lives in a context that is its own, and LLVM binds neither to a thread.
unsafe impl Send for LlvmModule {}

/// LLVM type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Ty<'m>(pub(crate) LLVMTypeRef, PhantomData<&'m LlvmModule>);

/// LLVM value: an instruction, argument, constant, global or function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Val<'m>(pub(crate) LLVMValueRef, PhantomData<&'m LlvmModule>);

/// LLVM basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Bb<'m>(pub(crate) LLVMBasicBlockRef, PhantomData<&'m LlvmModule>);

/// LLVM data layout of a module's target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataLayout<'m>(LLVMTargetDataRef, PhantomData<&'m LlvmModule>);

/// Takes ownership of a message that LLVM allocated.
///
/// # Safety
/// `text` is null or a message that LLVM allocated and that nothing else frees.
pub(crate) unsafe fn take_message(text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a message that LLVM allocated ends in a zero byte and is freed here, once.
    unsafe {
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        message
    }
}

/// Converts an error to its message, and frees it.
///
/// # Safety
///
/// `error` is null or an error that LLVM returned and that nothing else takes.
pub(crate) unsafe fn take_error(error: LLVMErrorRef) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the error is taken over here, once; its message ends in a zero byte and is freed once.
    unsafe {
        let text = LLVMGetErrorMessage(error);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(text);
        Err(message)
    }
}

/// Copies text that LLVM owns.
///
/// # Safety
/// `text` is null or points to `len` bytes that live during the call.
pub(crate) unsafe fn copy_text(text: *const c_char, len: usize) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees the bytes.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) }).into_owned()
}

/// Iterates over a linked list of values.
fn chain<'m>(first: Val<'m>, next: impl Fn(Val<'m>) -> LLVMValueRef) -> impl Iterator<Item = Val<'m>> {
    std::iter::successors(Some(first), move |&value| Val::of(next(value)))
}

/// Returns the kind id of an attribute.
pub(crate) fn attribute_kind(name: &str) -> u32 {
    // SAFETY: the text is `len` bytes.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

/// Returns the id of an intrinsic, 0 for unknown names.
pub(crate) fn intrinsic_id(name: &str) -> u32 {
    // SAFETY: the text is `len` bytes.
    unsafe { LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()) }
}

/// Returns the name of an intrinsic without type suffixes.
///
/// `id` must be valid: from 1 to the id of a known name.
fn intrinsic_name(id: u32) -> String {
    let mut len = 0;
    // SAFETY: the number is that of an intrinsic, whose name is static text.
    unsafe { copy_text(LLVMIntrinsicGetName(id, &mut len), len) }
}

/// Returns the name of an intrinsic function without type suffixes.
pub(crate) fn intrinsic_name_of(func: Val<'_>) -> String {
    match func.intrinsic_id() {
        0 => func.name(),
        id => intrinsic_name(id),
    }
}

/// Returns the names of all intrinsics, by id.
pub fn intrinsic_names() -> Vec<String> {
    // Ids are dense and grouped by target; xcore is the last target.
    let last = intrinsic_id("llvm.xcore.zext");
    (1..=last).map(intrinsic_name).collect()
}

/// Returns the version of the linked LLVM.
pub fn version() -> (u32, u32, u32) {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the out-pointers are valid.
    unsafe { LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    (major, minor, patch)
}

/// Converts text to a C string, cut at a zero byte.
pub(crate) fn c_text(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}
