//! Answers `to_global`, `to_local` and `to_private` where the address spaces of a pointer are known.
//!
//! A generic pointer comes from casts of pointers with a space, through offsets, selects and φs. The answer follows the
//! same way as a bit that tells whether the pointer is in the wanted space:
//!
//! ```text
//!   %p = phi ptr addrspace(4) [ %g, %a ], [ %l, %b ]        %is = phi i1 [ true, %a ], [ false, %b ]
//!   %q = call @__to_global(%p)                              %q  = select i1 %is, (cast %p), null
//! ```
//!
//! Functions that ask about their own parameters are inlined first.

use crate::view::{LlvmModule, Val, attribute_kind};
use llvm_sys::LLVMOpcode::{self, LLVMAddrSpaceCast, LLVMFreeze, LLVMGetElementPtr, LLVMPHI, LLVMSelect};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMCallConv};
use std::collections::{HashMap, HashSet};

/// clang's functions for `to_global`, `to_local` and `to_private`, with the address spaces that they test for.
pub(crate) const SPACE_QUERIES: [(&str, u32); 3] =
    [("__to_global", 1), ("__to_local", 3), ("__to_private", 0)];

/// Generic address space of the target `spir64`.
const GENERIC_SPACE: u32 = 4;

/// Limit of instructions between a query and the casts that it leads to.
const MAX_STEPS: usize = 256;

const NO_NAME: *const std::ffi::c_char = c"".as_ptr();

/// Returns the functions with a direct call of a function.
fn callers(func: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut found = Vec::new();
    // SAFETY: uses of a live function, each by a live user.
    unsafe {
        let mut usage = LLVMGetFirstUse(func);
        while !usage.is_null() {
            let user = LLVMGetUser(usage);
            if !LLVMIsACallInst(user).is_null() && LLVMGetCalledValue(user) == func {
                found.push(LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)));
            }
            usage = LLVMGetNextUse(usage);
        }
    }
    found
}

/// Marks functions with queries, and what calls them, to be inlined by LLVM's passes; kernels and `noinline` functions stay.
pub(crate) fn inline_space_queries(module: &LlvmModule) {
    let never = attribute_kind("noinline");
    let is_query =
        |func: &Val<'_>| func.is_declaration() && SPACE_QUERIES.iter().any(|(name, _)| *name == func.name());
    let mut work: Vec<LLVMValueRef> =
        module.functions().filter(is_query).flat_map(|func| callers(func.0)).collect();
    let mut seen = HashSet::new();
    while let Some(func) = work.pop() {
        // SAFETY: a live function of the module.
        let is_kept = unsafe {
            LLVMGetFunctionCallConv(func) == LLVMCallConv::LLVMSPIRKERNELCallConv as u32
                || !LLVMGetEnumAttributeAtIndex(func, LLVMAttributeFunctionIndex, never).is_null()
        };
        if is_kept || !seen.insert(func) {
            continue;
        }
        // SAFETY: as above; the attribute is of the module's context.
        unsafe {
            let attribute = LLVMCreateEnumAttribute(module.context(), attribute_kind("alwaysinline"), 0);
            LLVMAddAttributeAtIndex(func, LLVMAttributeFunctionIndex, attribute);
        }
        work.extend(callers(func));
    }
}

/// Replaces queries by a pointer of the space or by null.
pub(crate) fn resolve_space_queries(module: &LlvmModule) {
    for (name, wanted) in SPACE_QUERIES {
        for call in module.calls_of(name) {
            // SAFETY: a live call of a function from a generic pointer to one of the space; it is erased once, without uses.
            unsafe {
                let (pointer, ty) = (LLVMGetOperand(call, 0), LLVMTypeOf(call));
                let Some(origins) = PointerOrigins::of(pointer) else { continue };
                let builder = LLVMCreateBuilderInContext(module.context());
                let is_wanted = origins.write_bit(builder, pointer, wanted);
                LLVMPositionBuilderBefore(builder, call);
                let null = LLVMConstNull(ty);
                let cast = || LLVMBuildAddrSpaceCast(builder, pointer, ty, NO_NAME);
                let result = match LLVMIsAConstantInt(is_wanted).is_null() {
                    true => LLVMBuildSelect(builder, is_wanted, cast(), null, NO_NAME),
                    false if LLVMConstIntGetZExtValue(is_wanted) != 0 => cast(),
                    false => null,
                };
                LLVMDisposeBuilder(builder);
                LLVMReplaceAllUsesWith(call, result);
                LLVMInstructionEraseFromParent(call);
            }
        }
    }
}

/// Origin of a generic pointer.
enum PointerOrigin {
    /// Cast from a pointer of a space; none for null and undefined pointers.
    Space(Option<u32>),
    /// Offset from a pointer.
    Same(LLVMValueRef),
    Select([LLVMValueRef; 2]),
    Phi,
}

/// Origins of all pointers that a pointer may be.
struct PointerOrigins {
    origins: HashMap<LLVMValueRef, PointerOrigin>,
    /// Pointers, each after the ones that it is made of; φs are in any order.
    order: Vec<LLVMValueRef>,
}

impl PointerOrigins {
    /// Finds the origins of a pointer; none if one is unknown.
    ///
    /// # Safety
    /// The value is live and a pointer.
    unsafe fn of(pointer: LLVMValueRef) -> Option<PointerOrigins> {
        let mut found = PointerOrigins { origins: HashMap::new(), order: Vec::new() };
        // A pointer is visited twice: before and after the ones that it is made of.
        let mut work = vec![(pointer, false)];
        while let Some((pointer, is_done)) = work.pop() {
            if is_done {
                found.order.push(pointer);
                continue;
            }
            if found.origins.contains_key(&pointer) {
                continue;
            }
            if found.origins.len() == MAX_STEPS {
                return None;
            }
            // SAFETY: live, a pointer.
            let origin = unsafe { origin_of(pointer)? };
            work.push((pointer, true));
            match origin {
                PointerOrigin::Space(_) => {}
                PointerOrigin::Same(base) => work.push((base, false)),
                PointerOrigin::Select(sides) => work.extend(sides.map(|side| (side, false))),
                PointerOrigin::Phi => {
                    // SAFETY: a live φ of pointers.
                    let count = unsafe { LLVMCountIncoming(pointer) };
                    // SAFETY: as above; the index is below the count.
                    work.extend(
                        (0..count).map(|index| unsafe { (LLVMGetIncomingValue(pointer, index), false) }),
                    );
                }
            }
            found.origins.insert(pointer, origin);
        }
        Some(found)
    }

    /// Writes the bits that tell which pointers are in a space; returns the one of a pointer.
    ///
    /// # Safety
    /// The origins are of this pointer, and their values are live.
    unsafe fn write_bit(&self, builder: LLVMBuilderRef, pointer: LLVMValueRef, wanted: u32) -> LLVMValueRef {
        let mut bits: HashMap<LLVMValueRef, LLVMValueRef> = HashMap::new();
        // SAFETY: a select's bit stands at the select, after those of its sides; a φ's bit at the φ. Each incoming bit is
        // where its pointer is.
        unsafe {
            let bit = LLVMInt1TypeInContext(LLVMGetTypeContext(LLVMTypeOf(pointer)));
            let is_phi = |origin: &PointerOrigin| matches!(origin, PointerOrigin::Phi);
            for &phi in self.order.iter().filter(|&it| is_phi(&self.origins[it])) {
                LLVMPositionBuilderBefore(builder, phi);
                bits.insert(phi, LLVMBuildPhi(builder, bit, NO_NAME));
            }
            for &pointer in &self.order {
                let made = match &self.origins[&pointer] {
                    PointerOrigin::Phi => continue,
                    PointerOrigin::Space(space) => LLVMConstInt(bit, u64::from(*space == Some(wanted)), 0),
                    PointerOrigin::Same(base) => bits[base],
                    PointerOrigin::Select([yes, no]) => {
                        LLVMPositionBuilderBefore(builder, pointer);
                        let condition = LLVMGetOperand(pointer, 0);
                        LLVMBuildSelect(builder, condition, bits[yes], bits[no], NO_NAME)
                    }
                };
                bits.insert(pointer, made);
            }
            for &phi in self.order.iter().filter(|&it| is_phi(&self.origins[it])) {
                for index in 0..LLVMCountIncoming(phi) {
                    let mut value = bits[&LLVMGetIncomingValue(phi, index)];
                    let mut block = LLVMGetIncomingBlock(phi, index);
                    LLVMAddIncoming(bits[&phi], &mut value, &mut block, 1);
                }
            }
        }
        bits[&pointer]
    }
}

/// Returns how a pointer is made, if it is known.
///
/// # Safety
/// The value is live and a pointer.
unsafe fn origin_of(pointer: LLVMValueRef) -> Option<PointerOrigin> {
    // SAFETY: a live pointer; casts and address computations have one as their first operand.
    unsafe {
        let space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
        if space != GENERIC_SPACE {
            return Some(PointerOrigin::Space(Some(space)));
        }
        if LLVMIsNull(pointer) != 0 || LLVMIsUndef(pointer) != 0 {
            return Some(PointerOrigin::Space(None));
        }
        let is_constant = !LLVMIsAConstantExpr(pointer).is_null();
        let opcode: LLVMOpcode = match is_constant {
            true => LLVMGetConstOpcode(pointer),
            false if LLVMIsAInstruction(pointer).is_null() => return None,
            false => LLVMGetInstructionOpcode(pointer),
        };
        match opcode {
            LLVMAddrSpaceCast | LLVMGetElementPtr | LLVMFreeze => {
                Some(PointerOrigin::Same(LLVMGetOperand(pointer, 0)))
            }
            LLVMSelect => {
                Some(PointerOrigin::Select([LLVMGetOperand(pointer, 1), LLVMGetOperand(pointer, 2)]))
            }
            LLVMPHI => Some(PointerOrigin::Phi),
            _ => None,
        }
    }
}
