//! Attributes of functions, parameters and calls.

use super::{Ty, Val, attribute_kind, copy_text};
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMAttributeRef;
use std::ffi::c_uint;
use std::marker::PhantomData;

impl<'m> Val<'m> {
    /// Returns the value of a function attribute (`index` as in LLVM: 0 the result, then the parameters, `!0` the
    /// function).
    pub(crate) fn attribute(self, index: u32, kind: u32) -> Option<u64> {
        // SAFETY: live; a function.
        let attribute = unsafe { LLVMGetEnumAttributeAtIndex(self.0, index, kind) };
        // SAFETY: live, and not null.
        (!attribute.is_null()).then(|| unsafe { LLVMGetEnumAttributeValue(attribute) })
    }

    /// Returns the names of a function's string attributes.
    pub(crate) fn text_attributes(self) -> Vec<String> {
        let index = llvm_sys::LLVMAttributeFunctionIndex;
        // SAFETY: live; a function, and the buffer holds all its attributes.
        unsafe {
            let count = LLVMGetAttributeCountAtIndex(self.0, index) as usize;
            let mut all = vec![std::ptr::null_mut(); count];
            LLVMGetAttributesAtIndex(self.0, index, all.as_mut_ptr());
            all.retain(|&attribute| LLVMIsStringAttribute(attribute) != 0);
            all.into_iter()
                .map(|attribute| {
                    let mut len = 0;
                    let text = LLVMGetStringAttributeKind(attribute, &mut len);
                    copy_text(text, len as usize)
                })
                .collect()
        }
    }

    /// Returns the value of a function's string attribute.
    pub(crate) fn text_attribute(self, name: &str) -> Option<String> {
        // SAFETY: live; a function, and the length of the name matches.
        unsafe {
            let attribute = LLVMGetStringAttributeAtIndex(
                self.0,
                llvm_sys::LLVMAttributeFunctionIndex,
                name.as_ptr().cast(),
                name.len() as c_uint,
            );
            let mut len = 0;
            (!attribute.is_null()).then(|| {
                let text = LLVMGetStringAttributeValue(attribute, &mut len);
                copy_text(text, len as usize)
            })
        }
    }

    /// Adds an attribute without a value to a function.
    pub(crate) fn set_attribute(self, name: &str) {
        // SAFETY: live; a function, whose context owns the attribute.
        unsafe {
            let context = LLVMGetModuleContext(LLVMGetGlobalParent(self.0));
            let attribute = LLVMCreateEnumAttribute(context, attribute_kind(name), 0);
            LLVMAddAttributeAtIndex(self.0, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        }
    }

    /// Removes an attribute without a value from a function.
    pub(crate) fn remove_attribute(self, name: &str) {
        let kind = attribute_kind(name);
        // SAFETY: live; a function.
        unsafe {
            LLVMRemoveEnumAttributeAtIndex(self.0, llvm_sys::LLVMAttributeFunctionIndex, kind);
        }
    }

    /// Sets a string attribute of a function.
    pub(crate) fn set_text_attribute(self, name: &str, value: &str) {
        // SAFETY: live; a function, whose context owns the attribute, and the lengths match.
        unsafe {
            let context = LLVMGetModuleContext(LLVMGetGlobalParent(self.0));
            let attribute = LLVMCreateStringAttribute(
                context,
                name.as_ptr().cast(),
                name.len() as u32,
                value.as_ptr().cast(),
                value.len() as u32,
            );
            LLVMAddAttributeAtIndex(self.0, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        }
    }

    /// Returns the value of a call's string attribute.
    pub(crate) fn call_text_attribute(self, name: &str) -> Option<String> {
        // SAFETY: live; a call, and the length of the name matches.
        unsafe {
            let attribute = LLVMGetCallSiteStringAttribute(
                self.0,
                llvm_sys::LLVMAttributeFunctionIndex,
                name.as_ptr().cast(),
                name.len() as c_uint,
            );
            let mut len = 0;
            (!attribute.is_null()).then(|| {
                let text = LLVMGetStringAttributeValue(attribute, &mut len);
                copy_text(text, len as usize)
            })
        }
    }

    /// Returns the attribute handle.
    pub(crate) fn attribute_ref(self, index: u32, kind: u32) -> Option<LLVMAttributeRef> {
        // SAFETY: live; a function.
        let attribute = unsafe { LLVMGetEnumAttributeAtIndex(self.0, index, kind) };
        (!attribute.is_null()).then_some(attribute)
    }

    /// Returns the value of a call's attribute.
    pub(crate) fn call_attribute(self, index: u32, kind: u32) -> Option<u64> {
        // SAFETY: live; a call.
        let attribute = unsafe { LLVMGetCallSiteEnumAttribute(self.0, index, kind) };
        // SAFETY: live, and not null; a type attribute has no number.
        (!attribute.is_null()).then(|| unsafe {
            if LLVMIsEnumAttribute(attribute) != 0 { LLVMGetEnumAttributeValue(attribute) } else { 0 }
        })
    }

    /// Returns the type of a call's type attribute (such as `byval`).
    pub(crate) fn call_type_attribute(self, index: u32, kind: u32) -> Option<Ty<'m>> {
        // SAFETY: live; a call.
        let attribute = unsafe { LLVMGetCallSiteEnumAttribute(self.0, index, kind) };
        // SAFETY: live, and not null.
        unsafe {
            (!attribute.is_null() && LLVMIsTypeAttribute(attribute) != 0)
                .then(|| Ty(LLVMGetTypeAttributeValue(attribute), PhantomData))
        }
    }

    // Instructions.

    /// Returns the type of a function's type attribute.
    pub(crate) fn type_attribute(self, index: u32, kind: u32) -> Option<Ty<'m>> {
        let attribute = self.attribute_ref(index, kind)?;
        // SAFETY: live; an attribute with a type, as all of those kinds are.
        unsafe { Some(Ty(LLVMGetTypeAttributeValue(attribute), PhantomData)) }
    }
}
