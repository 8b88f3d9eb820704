//! Stack usage of a module's functions.

use crate::view::LlvmModule;
use llvm_sys::LLVMOpcode;

/// Returns the total bytes of all allocas of a module: without recursion no call chain uses more, except for register
/// spills. None if an alloca has a run-time size.
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
