//! Freezes lane numbers of extractions and insertions, so that the code generator keeps them in range.
//!
//! An element beyond the vector is poison, and may be computed where nothing uses it. LLVM 22.1 keeps vectors in memory for a
//! variable lane, and clears the upper bits of its number, unless these are known to be zero. That is also "known" of what is in range
//! only while it is no poison: `31 - ctlz(mask, true)` of an empty mask reads, or writes, far from the vector. Of a frozen number
//! nothing is known that does not hold for poison.

use crate::view::{LlvmModule, Val};
use llvm_sys::LLVMOpcode as Code;
use llvm_sys::core::*;

/// Freezes lane numbers. Runs after LLVM's passes, which find more without.
pub(crate) fn freeze_lane_indices(module: &LlvmModule) {
    for func in module.functions().filter(|func| !func.is_declaration()) {
        let insts = func.blocks().into_iter().flat_map(|block| block.insts().collect::<Vec<_>>());
        let open: Vec<(Val<'_>, u32)> = insts.filter_map(open_index).collect();
        for (inst, operand) in open {
            // SAFETY: the context is live; the freeze is of the index and precedes the instruction.
            unsafe {
                let builder = LLVMCreateBuilderInContext(module.context());
                LLVMPositionBuilderBefore(builder, inst.0);
                let frozen = LLVMBuildFreeze(builder, inst.operand(operand).0, c"".as_ptr());
                LLVMSetOperand(inst.0, operand, frozen);
                LLVMDisposeBuilder(builder);
            }
        }
    }
}

/// Returns an instruction with the operand that numbers a lane, if something may be wrongly known of it.
fn open_index(inst: Val<'_>) -> Option<(Val<'_>, u32)> {
    let operand = match inst.opcode() {
        Code::LLVMExtractElement => 1,
        Code::LLVMInsertElement => 2,
        _ => return None,
    };
    let mut index = inst.operand(operand);
    // SAFETY: live.
    while unsafe { !LLVMIsAInstruction(index.0).is_null() } {
        match index.opcode() {
            Code::LLVMZExt | Code::LLVMSExt | Code::LLVMTrunc => index = index.operand(0),
            // A lane of a vector of numbers: part of a shuffle, which the code generator recognizes as it is.
            Code::LLVMExtractElement | Code::LLVMFreeze => return None,
            _ => return Some((inst, operand)),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::cpu::Cpu;
    use crate::generate::{CodeFormat, OptimizeOptions, generate, optimize};
    use crate::read::read_ir;

    const TEXT: &str = "
target triple = \"x86_64-unknown-linux-gnu\"
define i32 @last(ptr %in, i32 %mask, i32 %other) {
  %v = load <32 x i32>, ptr %in
  %zeros = call i32 @llvm.ctlz.i32(i32 %mask, i1 false)
  %lane = sub i32 31, %zeros
  %x = extractelement <32 x i32> %v, i32 %lane
  %any = icmp ne i32 %mask, 0
  %chosen = select i1 %any, i32 %x, i32 %other
  ret i32 %chosen
}
declare i32 @llvm.ctlz.i32(i32, i1)
";

    /// The number of the lane is masked, although LLVM's passes find out that it is in range where it counts.
    #[test]
    fn lanes_of_empty_masks_are_in_range() {
        for cpu in ["sse4.2", "avx2", "avx512"] {
            let cpu = Cpu::named(cpu).unwrap_or_else(|error| panic!("{error}"));
            let module = read_ir("last.ll", TEXT.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            optimize(&module, &cpu, OptimizeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
            assert!(module.text().contains("freeze"), "{}", module.text());
            let assembly = generate(&module, &cpu, CodeFormat::Assembly);
            let assembly =
                String::from_utf8_lossy(&assembly.unwrap_or_else(|error| panic!("{error}"))).into_owned();
            assert!(assembly.contains("andl\t$31"), "{assembly}");
        }
    }
}
