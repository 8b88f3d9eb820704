//! Gathers and scatters of all lanes as an access for each lane, on CPUs that have no faster ones.
//!
//! LLVM 22.1 splits them, too, but extracts addresses of 64 bits: for an index of 32 bits it extends and adds vectors, and takes each
//! address out of them. Here the index itself is taken out, and the access adds it to the base:
//!
//! ```text
//!   %p = getelementptr i8, ptr %base, <8 x i64> (zext <8 x i32> %i)       vpextrd  $1, %xmm0, %eax
//!   %v = call <8 x i32> @llvm.masked.gather(<8 x ptr> %p, all, …)         vpinsrd  $1, (%rdi,%rax), %xmm1, %xmm1
//! ```
//!
//! On Zen 3 four dependent gathers of eight lanes take 14.5 ns instead of 20.7; its own gathers take 19.3. Runs after LLVM's passes, which
//! would move the loads of a lane on their own.

use crate::cpu::Cpu;
use crate::view::{LlvmModule, Val, attribute_kind};
use llvm_sys::LLVMOpcode as Code;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;

/// Name prefixes of the intrinsics.
const GATHER: &str = "llvm.masked.gather.";
const SCATTER: &str = "llvm.masked.scatter.";
/// Lanes of accesses that are split: wider ones are many instructions.
const LANES: std::ops::RangeInclusive<u32> = 2..=32;
/// Maximum number of instructions between an access and its index.
const MAX_STEPS: u32 = 8;
/// Maximum number of bits of an index that is cheaper to take out than an address.
const NARROW: u32 = 32;

/// True for CPUs whose gathers LLVM splits. It splits all scatters of less than 512 bits.
fn splits_gathers(cpu: &Cpu) -> bool {
    let slow = ["x86-64", "znver", "haswell", "broadwell", "core-avx", "nehalem", "westmere", "sandybridge"];
    slow.iter().any(|name| cpu.name.starts_with(name))
}

/// Splits gathers and scatters of all lanes by indices of at most 32 bits.
pub(crate) fn split_scattered_accesses(module: &LlvmModule, cpu: &Cpu) {
    if !cpu.is_x86() || cpu.vector_bits() > 256 {
        return;
    }
    let gathers = if splits_gathers(cpu) { module.calls_of(GATHER) } else { Vec::new() };
    let loads = gathers.into_iter().map(|call| (call, false));
    let stores = module.calls_of(SCATTER).into_iter().map(|call| (call, true));
    for (call, is_store) in loads.chain(stores) {
        let Some(call) = Val::of(call) else { continue };
        let first = u32::from(is_store);
        let access = ScatteredAccess {
            call,
            stored: is_store.then(|| call.operand(0)),
            addresses: call.operand(first),
            align: call.call_attribute(first + 1, attribute_kind("align")).unwrap_or(1),
        };
        let mask = call.operand(first + 1);
        // SAFETY: a live vector of integers.
        let all = unsafe { LLVMConstAllOnes(mask.ty().0) };
        let is_wide = !LANES.contains(&access.lanes());
        if mask.0 == all && !is_wide && has_narrow_index(access.addresses, MAX_STEPS) {
            // SAFETY: a live access of this module, which nothing keeps.
            unsafe { access.split(module) };
        }
    }
}

/// Gather or scatter.
struct ScatteredAccess<'m> {
    call: Val<'m>,
    /// Vector that a scatter stores.
    stored: Option<Val<'m>>,
    addresses: Val<'m>,
    align: u64,
}

impl ScatteredAccess<'_> {
    fn lanes(&self) -> u32 {
        u32::try_from(self.addresses.ty().count()).unwrap_or(u32::MAX)
    }

    /// Replaces it by an access for each lane, in lane order.
    ///
    /// # Safety
    /// Live, of all lanes, in this module, and nothing keeps the call.
    unsafe fn split(&self, module: &LlvmModule) {
        let call = self.call.0;
        // SAFETY: live; the new instructions precede the call and have its operands, place and facts.
        unsafe {
            let builder = LLVMCreateBuilderInContext(module.context());
            LLVMPositionBuilderBefore(builder, call);
            LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(call));
            let tbaa = LLVMGetMDKindIDInContext(module.context(), c"tbaa".as_ptr(), 4);
            let facts = LLVMGetMetadata(call, tbaa);
            let name = c"".as_ptr();
            let mut loaded = self.stored.is_none().then(|| LLVMGetPoison(LLVMTypeOf(call)));
            for lane in 0..self.lanes() {
                let number = LLVMConstInt(LLVMInt32TypeInContext(module.context()), lane.into(), 0);
                let address = of_lane(builder, self.addresses, number, lane, MAX_STEPS);
                let access = match self.stored {
                    Some(stored) => {
                        let value = LLVMBuildExtractElement(builder, stored.0, number, name);
                        LLVMBuildStore(builder, value, address)
                    }
                    None => LLVMBuildLoad2(builder, self.call.ty().element().0, address, name),
                };
                LLVMSetAlignment(access, self.align as u32);
                if !facts.is_null() {
                    LLVMSetMetadata(access, tbaa, facts);
                }
                loaded = loaded.map(|all| LLVMBuildInsertElement(builder, all, access, number, name));
            }
            LLVMDisposeBuilder(builder);
            if let Some(loaded) = loaded {
                LLVMReplaceAllUsesWith(call, loaded);
            }
            LLVMInstructionEraseFromParent(call);
        }
    }
}

/// Opcode of an instruction; none of other values.
fn opcode(value: Val<'_>) -> Option<Code> {
    // SAFETY: live.
    let is_inst = unsafe { !LLVMIsAInstruction(value.0).is_null() };
    is_inst.then(|| value.opcode())
}

/// True if a vector of addresses or offsets depends on an extended index.
fn has_narrow_index(vector: Val<'_>, steps: u32) -> bool {
    if steps == 0 || !vector.ty().is_vector() {
        return false;
    }
    match opcode(vector) {
        Some(Code::LLVMGetElementPtr) if vector.operand_count() == 2 => {
            [1, 0].into_iter().any(|index| has_narrow_index(vector.operand(index), steps - 1))
        }
        Some(Code::LLVMShl) if vector.operand(1).is_constant() => {
            has_narrow_index(vector.operand(0), steps - 1)
        }
        Some(Code::LLVMZExt | Code::LLVMSExt) => vector.operand(0).ty().element().int_bits() <= NARROW,
        _ => false,
    }
}

/// Emits the address or offset of a lane: what vectors of 64 bits do to its index, done to the index of the lane.
///
/// # Safety
/// A builder before a user of the vector, and the number of a lane as a constant.
unsafe fn of_lane(
    builder: LLVMBuilderRef,
    vector: Val<'_>,
    number: LLVMValueRef,
    lane: u32,
    steps: u32,
) -> LLVMValueRef {
    if !vector.ty().is_vector() {
        return vector.0;
    }
    if let Some(element) = vector.is_constant().then(|| vector.aggregate_element(lane)).flatten() {
        return element.0;
    }
    // SAFETY: live operands, which dominate the user of the vector; the operations are those of the vector.
    unsafe {
        let name = c"".as_ptr();
        let extract = |vector: Val<'_>| LLVMBuildExtractElement(builder, vector.0, number, name);
        let of = |index| of_lane(builder, vector.operand(index), number, lane, steps - 1);
        match opcode(vector).filter(|_| steps > 0) {
            Some(Code::LLVMGetElementPtr) if vector.operand_count() == 2 => {
                LLVMBuildGEP2(builder, vector.gep_type().0, of(0), [of(1)].as_mut_ptr(), 1, name)
            }
            Some(Code::LLVMShl) if vector.operand(1).is_constant() => {
                LLVMBuildShl(builder, of(0), of(1), name)
            }
            Some(extension @ (Code::LLVMZExt | Code::LLVMSExt)) => {
                let wide = vector.ty().element();
                LLVMBuildCast(builder, extension, extract(vector.operand(0)), wide.0, name)
            }
            Some(Code::LLVMShuffleVector) if is_splat(vector) => vector.operand(0).operand(1).0,
            _ => extract(vector),
        }
    }
}

/// True for a shuffle that repeats a scalar, which was inserted as lane 0.
fn is_splat(shuffle: Val<'_>) -> bool {
    let first = shuffle.operand(0);
    opcode(first) == Some(Code::LLVMInsertElement)
        && first.operand(2).bits() == Some(0)
        && shuffle.shuffle_mask().iter().all(|&lane| lane == Some(0))
}
