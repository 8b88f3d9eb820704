//! Types and their data layout.

use super::{DataLayout, LlvmModule, Ty, take_message};
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::target::{
    LLVMABIAlignmentOfType, LLVMABISizeOfType, LLVMOffsetOfElement, LLVMPointerSizeForAS, LLVMStoreSizeOfType,
};
use std::marker::PhantomData;

impl<'m> DataLayout<'m> {
    pub(crate) fn size(self, ty: Ty<'m>) -> u64 {
        // SAFETY: live; callers pass sized types only.
        unsafe { LLVMABISizeOfType(self.0, ty.0) }
    }

    pub(crate) fn store_size(self, ty: Ty<'m>) -> u64 {
        // SAFETY: live; callers pass sized types only.
        unsafe { LLVMStoreSizeOfType(self.0, ty.0) }
    }

    pub(crate) fn align(self, ty: Ty<'m>) -> u32 {
        // SAFETY: live; callers pass sized types only.
        unsafe { LLVMABIAlignmentOfType(self.0, ty.0) }
    }

    pub(crate) fn field_offset(self, ty: Ty<'m>, index: u32) -> u64 {
        // SAFETY: live; the type is a sized struct with a field of this index.
        unsafe { LLVMOffsetOfElement(self.0, ty.0, index) }
    }

    pub(crate) fn pointer_bytes(self, space: u32) -> u32 {
        // SAFETY: live.
        unsafe { LLVMPointerSizeForAS(self.0, space) }
    }
}

impl<'m> Ty<'m> {
    pub(crate) fn int(module: &'m LlvmModule, bits: u32) -> Ty<'m> {
        // SAFETY: a live context, and a number of bits that LLVM permits.
        Ty(unsafe { LLVMIntTypeInContext(module.context(), bits) }, PhantomData)
    }

    /// True for an integer type of this width.
    pub(crate) fn is_int(self, bits: u32) -> bool {
        self.kind() == LLVMTypeKind::LLVMIntegerTypeKind && self.int_bits() == bits
    }

    pub(crate) fn kind(self) -> LLVMTypeKind {
        // SAFETY: live.
        unsafe { LLVMGetTypeKind(self.0) }
    }

    pub(crate) fn is_sized(self) -> bool {
        // SAFETY: live.
        unsafe { LLVMTypeIsSized(self.0) != 0 }
    }

    pub(crate) fn int_bits(self) -> u32 {
        // SAFETY: live; callers pass integers only.
        unsafe { LLVMGetIntTypeWidth(self.0) }
    }

    pub(crate) fn address_space(self) -> u32 {
        // SAFETY: live; callers pass pointers only.
        unsafe { LLVMGetPointerAddressSpace(self.0) }
    }

    /// Returns the number of elements of an array or vector, or of fields of a struct.
    pub(crate) fn count(self) -> u64 {
        // SAFETY: live; each function gets its own kind of type.
        unsafe {
            match self.kind() {
                LLVMTypeKind::LLVMArrayTypeKind => LLVMGetArrayLength2(self.0),
                LLVMTypeKind::LLVMVectorTypeKind => LLVMGetVectorSize(self.0).into(),
                LLVMTypeKind::LLVMStructTypeKind => LLVMCountStructElementTypes(self.0).into(),
                _ => 0,
            }
        }
    }

    /// Returns the element type of an array or vector.
    pub(crate) fn element(self) -> Ty<'m> {
        // SAFETY: live; callers pass arrays and vectors only.
        Ty(unsafe { LLVMGetElementType(self.0) }, PhantomData)
    }

    /// Returns a field type of a struct.
    pub(crate) fn field(self, index: u32) -> Ty<'m> {
        // SAFETY: live; the struct has a field of this index.
        Ty(unsafe { LLVMStructGetTypeAtIndex(self.0, index) }, PhantomData)
    }

    pub(crate) fn is_struct(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMStructTypeKind
    }

    pub(crate) fn is_vector(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVectorTypeKind
    }

    pub(crate) fn result(self) -> Ty<'m> {
        // SAFETY: live; a function type.
        Ty(unsafe { LLVMGetReturnType(self.0) }, PhantomData)
    }

    /// Returns the number of fixed parameters of a function type.
    pub(crate) fn param_count(self) -> usize {
        // SAFETY: live; a function type.
        unsafe { LLVMCountParamTypes(self.0) as usize }
    }

    pub(crate) fn is_var_arg(self) -> bool {
        // SAFETY: live; a function type.
        unsafe { LLVMIsFunctionVarArg(self.0) != 0 }
    }

    pub(crate) fn text(self) -> String {
        // SAFETY: live; the text is taken over.
        unsafe { take_message(LLVMPrintTypeToString(self.0)) }
    }

    /// Returns the integer type of this many bits in the same context.
    pub(crate) fn same_bits_int(self, bits: u32) -> Ty<'m> {
        // SAFETY: live.
        Ty(unsafe { LLVMIntTypeInContext(LLVMGetTypeContext(self.0), bits) }, PhantomData)
    }
}
