//! Lowers shuffles of lanes that take several registers, on x86.
//!
//! An index per lane is emitted as one extraction and one insertion per lane. LLVM 22.1 finds the instruction for it only in
//! vectors of one register; for wider ones it stores the vector and loads each lane. Permutations of registers replace these
//! chains, with a choice by the bits of the index that number the register:
//!
//! ```text
//!   %r = lanes of <32 x i32> %v by %i        %low = vpermi2d %v[0..16], %i[0..16], %v[16..32]
//!                                            %high = vpermi2d %v[0..16], %i[16..32], %v[16..32]
//! ```
//!
//! Decision: shuffles with constant indices and vectors of one register remain as they are, since LLVM does well there.

use crate::cpu::Cpu;
use crate::view::{LlvmModule, Val, call_intrinsic, shuffle};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode as Code, LLVMTypeKind};

const NO_NAME: *const std::ffi::c_char = c"".as_ptr();
/// Metadata kind on the last insertion of a shuffle by an index per lane.
pub(crate) const LANE_SHUFFLE: &str = "heddle.shuffle";
/// Maximum number of registers of a vector.
const MAX_PIECES: u32 = 8;

/// Replaces shuffles of several registers by permutations of registers. Runs before LLVM's passes, from
/// [`optimize`](crate::optimize).
pub(crate) fn permute_registers(module: &LlvmModule, cpu: &Cpu) {
    let bits = cpu.vector_bits();
    if !cpu.is_x86() || bits < 256 {
        return;
    }
    let kind = module.metadata_kind(LANE_SHUFFLE);
    for func in module.functions().filter(|func| !func.is_declaration()) {
        let insts = func.blocks().into_iter().flat_map(|block| block.insts().collect::<Vec<_>>());
        let is_last =
            |inst: &Val<'_>| inst.opcode() == Code::LLVMInsertElement && inst.metadata(kind).is_some();
        let found: Vec<Val<'_>> = insts.filter(is_last).collect();
        found.into_iter().for_each(|last| permute(module, last, bits / 32));
    }
}

/// Returns the vector and the indices of a shuffle that ends with an insertion.
fn vector_and_index(last: Val<'_>) -> Option<(Val<'_>, Val<'_>)> {
    let is_extraction = |value: Val<'_>| {
        // SAFETY: live.
        unsafe { !LLVMIsAExtractElementInst(value.0).is_null() }
    };
    let lane = last.operand(1);
    let number = is_extraction(lane).then(|| lane.operand(1)).filter(|number| is_extraction(*number))?;
    let (vector, index) = (lane.operand(0), number.operand(0));
    (!index.is_constant() && vector.ty().0 == last.ty().0).then_some((vector, index))
}

/// Replaces a shuffle of 32-bit lanes; `size` is the number of lanes of a register.
fn permute(module: &LlvmModule, last: Val<'_>, size: u32) {
    let Some((vector, index)) = vector_and_index(last) else { return };
    let count = last.ty().count() as u32;
    let pieces = count / size;
    if !count.is_power_of_two() || !(2..=MAX_PIECES).contains(&pieces) {
        return;
    }
    // SAFETY: the context is live; values and types are of the module. New instructions precede the last insertion and have its type.
    // An index beyond the vector gives poison, so any result serves there.
    unsafe {
        let lane = LLVMGetElementType(last.ty().0);
        let is_word = match LLVMGetTypeKind(lane) {
            LLVMTypeKind::LLVMFloatTypeKind => true,
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(lane) == 32,
            _ => false,
        };
        if !is_word {
            return;
        }
        let word = LLVMInt32TypeInContext(module.context());
        let words = LLVMVectorType(word, count);
        let builder = LLVMCreateBuilderInContext(module.context());
        LLVMPositionBuilderBefore(builder, last.0);
        let bits = LLVMBuildBitCast(builder, vector.0, words, NO_NAME);
        let index = LLVMBuildIntCast2(builder, index.0, words, 0, NO_NAME);
        let piece_of = |of: LLVMValueRef, piece: u32| {
            let lanes: Vec<_> = (piece * size..(piece + 1) * size).map(Some).collect();
            shuffle(builder, of, of, &lanes)
        };
        let sources: Vec<LLVMValueRef> = (0..pieces).map(|piece| piece_of(bits, piece)).collect();
        let mut permuted: Vec<LLVMValueRef> = (0..pieces)
            .map(|piece| permuted_piece(module, builder, &sources, piece_of(index, piece), size))
            .collect();
        let mut lanes = size;
        while permuted.len() > 1 {
            lanes *= 2;
            let all: Vec<_> = (0..lanes).map(Some).collect();
            permuted = permuted.chunks(2).map(|pair| shuffle(builder, pair[0], pair[1], &all)).collect();
        }
        let result = LLVMBuildBitCast(builder, permuted[0], last.ty().0, NO_NAME);
        LLVMDisposeBuilder(builder);
        LLVMReplaceAllUsesWith(last.0, result);
        LLVMInstructionEraseFromParent(last.0);
    }
}

/// Emits the lanes of several registers that a register of indices names.
///
/// # Safety
/// Live registers of 32-bit integers, a power of two and at least two, and a builder positioned after them.
unsafe fn permuted_piece(
    module: &LlvmModule,
    builder: LLVMBuilderRef,
    sources: &[LLVMValueRef],
    index: LLVMValueRef,
    size: u32,
) -> LLVMValueRef {
    // SAFETY: live; the intrinsics take registers of so many words, and the CPU has their instructions.
    unsafe {
        let word = LLVMInt32TypeInContext(module.context());
        let splat = |value: u32| {
            let mut words = vec![LLVMConstInt(word, value.into(), 0); size as usize];
            LLVMConstVector(words.as_mut_ptr(), size)
        };
        let call =
            |name: &str, args: &mut [LLVMValueRef]| call_intrinsic(module, builder, name, &mut [], args);
        let (mut found, mut span): (Vec<LLVMValueRef>, u32) = match size {
            16 => {
                let name = "llvm.x86.avx512.vpermi2var.d.512";
                (sources.chunks(2).map(|pair| call(name, &mut [pair[0], index, pair[1]])).collect(), 2 * size)
            }
            _ => {
                let name = "llvm.x86.avx2.permd";
                (sources.iter().map(|&source| call(name, &mut [source, index])).collect(), size)
            }
        };
        while found.len() > 1 {
            let bit = LLVMBuildAnd(builder, index, splat(span), NO_NAME);
            let is_upper = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntNE, bit, splat(0), NO_NAME);
            found = found
                .chunks(2)
                .map(|pair| LLVMBuildSelect(builder, is_upper, pair[1], pair[0], NO_NAME))
                .collect();
            span *= 2;
        }
        found[0]
    }
}
