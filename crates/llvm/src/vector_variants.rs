//! Vector variants that a module declares: `declare simd`, and vector math libraries.

use crate::view::LlvmModule;
use llvm_sys::LLVMOpcode;
use std::collections::BTreeSet;

/// Returns the vector ABI names of declared functions' vector variants: from function attributes, which `declare
/// simd` makes, and from call attributes (`vector-function-abi-variant`), which LLVM writes for vector libraries.
pub fn vector_variant_names(module: &LlvmModule) -> Vec<String> {
    let mut names = BTreeSet::new();
    for func in module.functions() {
        if func.is_declaration() {
            names.extend(func.text_attributes().into_iter().filter(|name| name.starts_with("_ZGV")));
        }
        for inst in func.blocks().into_iter().flat_map(|block| block.insts()) {
            if inst.opcode() != LLVMOpcode::LLVMCall {
                continue;
            }
            // Entry format: `_ZGV_LLVM_N4v_f(_ZGVbN4v_f)`.
            let list = inst.call_text_attribute("vector-function-abi-variant").unwrap_or_default();
            let inner = list.split(',').filter_map(|one| one.trim().split_once('(')?.1.strip_suffix(')'));
            names.extend(inner.filter(|name| name.starts_with("_ZGV")).map(String::from));
        }
    }
    names.into_iter().collect()
}
