//! Source names of values, from debug records of clang and rustc.

use crate::view::{LlvmModule, Val, copy_text, take_message};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMDbgRecordKind, LLVMValueKind};

/// Operand index of a variable node's name.
const NAME: usize = 1;

/// Returns the values that hold source variables from this instruction on, with the variables' names. A parameter
/// that is a fragment of a source parameter has its name. Other records of fragments or of computed expressions are
/// ignored.
pub(crate) fn named_values<'m>(module: &'m LlvmModule, inst: Val<'m>) -> Vec<(Val<'m>, String)> {
    let mut named = Vec::new();
    // SAFETY: instruction, records and what they refer to live as long as the module; each record is read as its kind
    // has.
    unsafe {
        let mut record = LLVMGetFirstDbgRecord(inst.0);
        while !record.is_null() {
            if LLVMDbgRecordGetKind(record) == LLVMDbgRecordKind::LLVMDbgRecordValue
                && let Some(value) = Val::of(LLVMDbgVariableRecordGetValue(record, 0))
                && names_value(module, LLVMDbgVariableRecordGetExpression(record), value)
                && let Some(name) = variable_name(module, LLVMDbgVariableRecordGetVariable(record))
            {
                named.push((value, name));
            }
            record = LLVMGetNextDbgRecord(record);
        }
    }
    named
}

/// True if the expression is the value itself, or a parameter's fragment of a variable.
///
/// # Safety
/// The expression is live in the context of the module.
unsafe fn names_value(module: &LlvmModule, expression: LLVMMetadataRef, value: Val<'_>) -> bool {
    // SAFETY: the expression is live in the module's context; the text is taken over.
    let text =
        unsafe { take_message(LLVMPrintValueToString(LLVMMetadataAsValue(module.context(), expression))) };
    let is_part = text.contains("!DIExpression(DW_OP_LLVM_fragment,");
    text.ends_with("!DIExpression()") || is_part && value.kind() == LLVMValueKind::LLVMArgumentValueKind
}

/// Returns the name of a variable.
///
/// # Safety
/// The variable is null, or live in the context of the module.
unsafe fn variable_name(module: &LlvmModule, variable: LLVMMetadataRef) -> Option<String> {
    if variable.is_null() {
        return None;
    }
    // SAFETY: the variable is a live node; the buffer holds all operands; a string lives with its context.
    unsafe {
        let node = LLVMMetadataAsValue(module.context(), variable);
        let mut operands = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
        LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
        let name = operands.get(NAME).copied().filter(|name| !name.is_null())?;
        let mut len = 0;
        let text = LLVMGetMDString(name, &mut len);
        (!text.is_null()).then(|| copy_text(text, len as usize)).filter(|name| !name.is_empty())
    }
}
