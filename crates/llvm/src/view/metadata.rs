//! Metadata of instructions and functions: nodes of strings, numbers and nodes.

use super::{Val, copy_text};
use llvm_sys::LLVMValueKind;
use llvm_sys::core::*;

impl<'m> Val<'m> {
    /// Returns an instruction's metadata node of this kind.
    pub(crate) fn metadata(self, kind: u32) -> Option<Val<'m>> {
        // SAFETY: live; an instruction.
        unsafe { Val::of(LLVMGetMetadata(self.0, kind)) }
    }

    /// Returns a function's metadata node of this kind.
    pub(crate) fn function_metadata(self, kind: u32) -> Option<Val<'m>> {
        // SAFETY: live; a function of a module, whose context the node is of. The list is freed after its last use.
        unsafe {
            let mut count = 0;
            let entries = LLVMGlobalCopyAllMetadata(self.0, &mut count);
            let found = (0..count as u32).find(|&at| LLVMValueMetadataEntriesGetKind(entries, at) == kind);
            let node = found.map(|at| LLVMValueMetadataEntriesGetMetadata(entries, at));
            LLVMDisposeValueMetadataEntries(entries);
            let context = LLVMGetModuleContext(LLVMGetGlobalParent(self.0));
            node.and_then(|node| Val::of(LLVMMetadataAsValue(context, node)))
        }
    }

    /// True for metadata as a value.
    pub(crate) fn is_metadata(&self) -> bool {
        self.kind() == LLVMValueKind::LLVMMetadataAsValueValueKind
    }

    /// Returns the text of a metadata string.
    pub(crate) fn metadata_text(self) -> Option<String> {
        // SAFETY: live; a metadata string of the given length.
        unsafe {
            if !self.is_metadata() || LLVMIsAMDString(self.0).is_null() {
                return None;
            }
            let mut len = 0;
            let text = LLVMGetMDString(self.0, &mut len);
            Some(copy_text(text, len as usize))
        }
    }

    /// Returns the operands of a metadata node; empty for other values.
    pub(crate) fn metadata_parts(self) -> Vec<Option<Val<'m>>> {
        // SAFETY: live; a node of metadata as a value, with the given number of operands.
        unsafe {
            if !self.is_metadata() || LLVMIsAMDNode(self.0).is_null() {
                return Vec::new();
            }
            let count = LLVMGetMDNodeNumOperands(self.0) as usize;
            let mut operands = vec![std::ptr::null_mut(); count];
            LLVMGetMDNodeOperands(self.0, operands.as_mut_ptr());
            operands.into_iter().map(Val::of).collect()
        }
    }

    /// Returns the numbers in an instruction's metadata node of this kind.
    pub(crate) fn metadata_numbers(self, kind: u32) -> Option<Vec<Option<u64>>> {
        let number = |value: Val<'m>| {
            let is_int = value.kind() == LLVMValueKind::LLVMConstantIntValueKind;
            // SAFETY: live; a constant integer that fits.
            (is_int && value.ty().int_bits() <= 64).then(|| unsafe { LLVMConstIntGetZExtValue(value.0) })
        };
        let parts = self.metadata(kind)?.metadata_parts();
        Some(parts.into_iter().map(|part| part.and_then(number)).collect())
    }
}
