//! Lowers masked loads and stores that the CPU has no instruction for: of bytes and 16-bit elements on AVX2, of all elements on SSE.
//!
//! LLVM 22.1 branches for each lane and carries the vector from block to block: a Sobel filter of bytes with 32 lanes, nine masked loads
//! under one mask, became 5,400 lines of assembly and ran sixteen times as long as on AVX-512.
//!
//! * A load reads the whole vector, if any lane is active and the vector lies in one page: then the page of an active lane is mapped, and
//!   so are all bytes. A processor does not fault on bytes that nothing uses, and no value of them is selected.
//! * A store writes the whole vector if all lanes are active. It must not write bytes of inactive lanes, since other threads may.
//! * Other accesses go through a copy of the vector on the stack, in a loop over the active lanes.
//!
//! ```text
//!   %bits = bitcast <32 x i1> %mask to i32            %bits = bitcast <32 x i1> %mask to i32
//!   br (%bits != 0 and %p & 4095 <= 4096 - 32)        br (%bits == -1)
//!     %r = select %mask, (load %p), %otherwise          store %value, %p
//!   else                                              else
//!     loop over the bits                                loop over the bits
//! ```
//!
//! Each kind of access is a function that is written as text, called, and inlined. The lowering runs after LLVM's passes, which move whole
//! masked accesses, but not branches, and before the rewrite of masks.

use crate::cpu::Cpu;
use crate::generate::LlvmPasses;
use crate::link::link_text;
use crate::prefetch::MASKED_LOAD;
use crate::single_lanes::MASKED_STORE;
use crate::view::{LlvmModule, Val, attribute_kind, c_text};
use heddle_ir::Diagnostic;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMTypeKind};
use std::collections::BTreeMap;

/// Bytes of the smallest page.
const PAGE: u32 = 4096;
/// Lanes of lowered accesses: fewer are faster lane by lane, more have no integer register for their mask.
const LANES: std::ops::RangeInclusive<u32> = 4..=64;

/// Alignment of the copy of a vector, which moves no function's stack pointer.
const STACK_ALIGN: u32 = 16;
/// Most accesses are whole: the ends of rows are not.
const LIKELY: &str = "!0 = !{!\"branch_weights\", i32 16, i32 1}\n";

/// Lowers masked accesses without an instruction. Runs after LLVM's passes, from [`optimize`](crate::optimize).
pub(crate) fn lower_unmasked_accesses(module: &LlvmModule, cpu: &Cpu) -> Result<(), Diagnostic> {
    let loads = module.calls_of(MASKED_LOAD).into_iter().map(|call| (call, false));
    let stores = module.calls_of(MASKED_STORE).into_iter().map(|call| (call, true));
    let of_call = |(call, writes)| Some((call, LoweredAccess::of(call, writes, cpu)?));
    let found: Vec<(LLVMValueRef, LoweredAccess)> = loads.chain(stores).filter_map(of_call).collect();
    if found.is_empty() {
        return Ok(());
    }
    let functions: BTreeMap<String, String> =
        found.iter().map(|(_, access)| (access.name(), access.function())).collect();
    link_text(module, &functions.values().map(String::as_str).chain([LIKELY]).collect::<String>())?;
    for (call, access) in found {
        // SAFETY: a live call of a masked access, which nothing keeps.
        unsafe { call_function(module, call, &access.name()) };
    }
    for name in functions.keys() {
        let name = c_text(name);
        // SAFETY: the module is live, and the function is linked.
        unsafe {
            LLVMSetLinkage(
                LLVMGetNamedFunction(module.raw(), name.as_ptr()),
                LLVMLinkage::LLVMInternalLinkage,
            );
        }
    }
    LlvmPasses::of_lowered_accesses(cpu)?.run(module)
}

/// True if the CPU has no masked accesses to elements of these bits.
fn lacks_masks(cpu: &Cpu, bits: u32) -> bool {
    cpu.is_x86()
        && match cpu.vector_bits() {
            512.. => false,
            256.. => bits < 32,
            _ => true,
        }
}

/// Replaces a masked access by a call of a function with its operands.
///
/// # Safety
/// A live call of a masked access in this module, which nothing keeps; the module has the function, of the same type.
unsafe fn call_function(module: &LlvmModule, call: LLVMValueRef, name: &str) {
    let name = c_text(name);
    // SAFETY: live; the new call precedes the old one and has its operands and type.
    unsafe {
        let func = LLVMGetNamedFunction(module.raw(), name.as_ptr());
        let mut operands: Vec<LLVMValueRef> =
            (0..LLVMGetNumArgOperands(call)).map(|index| LLVMGetOperand(call, index)).collect();
        let builder = LLVMCreateBuilderInContext(module.context());
        LLVMPositionBuilderBefore(builder, call);
        let ty = LLVMGlobalGetValueType(func);
        let count = operands.len() as u32;
        let result = LLVMBuildCall2(builder, ty, func, operands.as_mut_ptr(), count, c"".as_ptr());
        LLVMDisposeBuilder(builder);
        LLVMReplaceAllUsesWith(call, result);
        LLVMInstructionEraseFromParent(call);
    }
}

/// Masked access that becomes a function.
struct LoweredAccess {
    writes: bool,
    lanes: u32,
    /// LLVM's name of the element type.
    element: &'static str,
    /// Bytes of an element.
    size: u32,
    align: u64,
}

impl LoweredAccess {
    /// Returns how an access is lowered; none for accesses that LLVM lowers well.
    fn of(call: LLVMValueRef, writes: bool, cpu: &Cpu) -> Option<LoweredAccess> {
        let (address, mask) = if writes { (1, 2) } else { (0, 1) };
        // SAFETY: a live call of a masked access, with these operands; its vector is the value that is stored, or the result.
        let (is_constant, element, lanes) = unsafe {
            let is_constant = |index| LLVMIsConstant(LLVMGetOperand(call, index)) != 0;
            let ty = LLVMTypeOf(if writes { LLVMGetOperand(call, 0) } else { call });
            (is_constant(mask) || is_constant(address), LLVMGetElementType(ty), LLVMGetVectorSize(ty))
        };
        // SAFETY: a live type; the width is read of integers only.
        let (kind, width) = unsafe {
            let kind = LLVMGetTypeKind(element);
            let is_int = kind == LLVMTypeKind::LLVMIntegerTypeKind;
            (kind, if is_int { LLVMGetIntTypeWidth(element) } else { 0 })
        };
        let (element, size) = match (kind, width) {
            (LLVMTypeKind::LLVMIntegerTypeKind, 8) => ("i8", 1),
            (LLVMTypeKind::LLVMIntegerTypeKind, 16) => ("i16", 2),
            (LLVMTypeKind::LLVMIntegerTypeKind, 32) => ("i32", 4),
            (LLVMTypeKind::LLVMIntegerTypeKind, 64) => ("i64", 8),
            (LLVMTypeKind::LLVMHalfTypeKind, _) => ("half", 2),
            (LLVMTypeKind::LLVMBFloatTypeKind, _) => ("bfloat", 2),
            (LLVMTypeKind::LLVMFloatTypeKind, _) => ("float", 4),
            (LLVMTypeKind::LLVMDoubleTypeKind, _) => ("double", 8),
            _ => return None,
        };
        if is_constant || !LANES.contains(&lanes) || !lacks_masks(cpu, 8 * size) {
            return None;
        }
        let align = Val::of(call)?.call_attribute(address + 1, attribute_kind("align")).unwrap_or(1);
        Some(LoweredAccess { writes, lanes, element, size, align })
    }

    fn name(&self) -> String {
        let verb = if self.writes { "store" } else { "load" };
        format!("heddle.{verb}.{}.{}.{}", self.lanes, self.element, self.align)
    }

    /// Text of the function.
    fn function(&self) -> String {
        let LoweredAccess { lanes, element, align, .. } = self;
        let vector = format!("<{lanes} x {element}>");
        let element_align = (*align).min(self.size.into());
        let bytes = lanes * self.size;
        let name = self.name();
        let head = format!(
            "  %copy = alloca {vector}, align {STACK_ALIGN}
  %bits = bitcast <{lanes} x i1> %mask to i{lanes}
  %any = icmp ne i{lanes} %bits, 0\n"
        );
        // From one active lane to the next one, which has its bytes moved.
        let each = |from: &str, to: &str| {
            let aligned =
                |pointer: &str| if pointer == "%copy" { u64::from(self.size) } else { element_align };
            format!(
                "  br i1 %any, label %lane, label %last
lane:
  %left = phi i{lanes} [ %bits, %some ], [ %rest, %lane ]
  %index = call i{lanes} @llvm.cttz.i{lanes}(i{lanes} %left, i1 true)
  %from = getelementptr {element}, ptr {from}, i{lanes} %index
  %to = getelementptr {element}, ptr {to}, i{lanes} %index
  %moved = load {element}, ptr %from, align {}
  store {element} %moved, ptr %to, align {}
  %below = add i{lanes} %left, -1
  %rest = and i{lanes} %left, %below
  %more = icmp ne i{lanes} %rest, 0
  br i1 %more, label %lane, label %last
last:\n",
                aligned(from),
                aligned(to)
            )
        };
        match self.writes {
            true => format!(
                "define void @{name}({vector} %value, ptr %p, <{lanes} x i1> %mask) alwaysinline nounwind {{
{head}  %all = icmp eq i{lanes} %bits, -1
  br i1 %all, label %whole, label %some, !prof !0
whole:
  store {vector} %value, ptr %p, align {align}
  ret void
some:
  store {vector} %value, ptr %copy, align {STACK_ALIGN}
{}  ret void
}}\n",
                each("%copy", "%p")
            ),
            false => format!(
                "define {vector} @{name}(ptr %p, <{lanes} x i1> %mask, {vector} %otherwise) alwaysinline nounwind {{
{head}{}  br i1 %fits, label %whole, label %some, !prof !0
whole:
  %loaded = load {vector}, ptr %p, align {align}
  %chosen = select <{lanes} x i1> %mask, {vector} %loaded, {vector} %otherwise
  ret {vector} %chosen
some:
  store {vector} %otherwise, ptr %copy, align {STACK_ALIGN}
{}  %collected = load {vector}, ptr %copy, align {STACK_ALIGN}
  ret {vector} %collected
}}\n",
                fits(bytes, *align),
                each("%p", "%copy")
            ),
        }
    }
}

/// Computes `%fits`: a lane is active, and the whole vector lies in one page.
fn fits(bytes: u32, align: u64) -> String {
    if align >= bytes.into() {
        return "  %fits = or i1 %any, false\n".into();
    }
    let most = PAGE - bytes;
    format!(
        "  %address = ptrtoint ptr %p to i64
  %offset = and i64 %address, {}
  %inside = icmp ule i64 %offset, {most}
  %fits = and i1 %any, %inside\n",
        PAGE - 1
    )
}
