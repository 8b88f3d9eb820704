//! How much of the stack a module's functions ask for.

use crate::view::LlvmModule;
use llvm_sys::LLVMOpcode;

/// Bytes of all variables that functions of a module lay on the stack, each once: where nothing recurses, no chain of calls
/// has more, but for what does not fit into registers. None if some are of a size that only running them tells.
pub fn stack_bytes(module: &LlvmModule) -> Option<u64> {
    let layout = module.layout();
    let blocks = module.functions().flat_map(|func| func.blocks());
    let mut all = blocks.flat_map(|block| block.insts());
    all.try_fold(0u64, |sum, inst| {
        if inst.opcode() != LLVMOpcode::LLVMAlloca {
            return Some(sum);
        }
        let count = inst.operand(0).bits().and_then(|bits| u64::try_from(bits).ok())?;
        sum.checked_add(layout.size(inst.allocated_type()).checked_mul(count)?)
    })
}
