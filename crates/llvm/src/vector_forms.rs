//! Vector forms that a module says to be elsewhere: `declare simd`, and libraries of vector functions.

use crate::view::LlvmModule;
use llvm_sys::LLVMOpcode;
use std::collections::BTreeSet;

/// The names of vector forms of functions that a module only declares, in the vector ABI: attributes of theirs, as `declare
/// simd` makes them, and those of calls (`vector-function-abi-variant`), as LLVM writes them for libraries.
pub fn vector_form_names(module: &LlvmModule) -> Vec<String> {
    let mut names = BTreeSet::new();
    for func in module.functions() {
        if func.is_declaration() {
            names.extend(func.text_attributes().into_iter().filter(|name| name.starts_with("_ZGV")));
        }
        for inst in func.blocks().into_iter().flat_map(|block| block.insts()) {
            if inst.opcode() != LLVMOpcode::LLVMCall {
                continue;
            }
            // Each as `_ZGV_LLVM_N4v_f(_ZGVbN4v_f)`.
            let list = inst.call_text_attribute("vector-function-abi-variant").unwrap_or_default();
            let inner = list.split(',').filter_map(|one| one.trim().split_once('(')?.1.strip_suffix(')'));
            names.extend(inner.filter(|name| name.starts_with("_ZGV")).map(String::from));
        }
    }
    names.into_iter().collect()
}
