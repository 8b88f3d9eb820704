//! Unrolls small loops before LLVM's own pipeline runs, which unrolls none.
//!
//! ```text
//!     for (y = -1; y <= 1; y++)                 the loop: one load for each tap of each work-item
//!       for (x = -1; x <= 1; x++)               unrolled: one block, whose offsets in a row are constants
//!         sum += image[(r + y) * w + c + x];
//!
//!     for (k = 0; k < 5; k++) o[k] = a[k];      loop idiom: memcpy(o, a, 20), and both arrays stay in memory
//!                                               unrolled: five assignments, and LLVM promotes both arrays
//!
//!     for (k = 0; k < 9; k++)                   the loop: its indices are not known until the table is read
//!       sum += a[(x - dx[k] + w) % w];          unrolled: nine constants, and contiguous accesses
//! ```
//!
//! The third loop is beyond LLVM's size limit, which counts nothing of this. Loops with tables or private arrays that the counter indexes
//! have a limit of their own.

use crate::import::work_items::is_barrier;
use crate::private_arrays::arrays_of;
use crate::view::{Bb, LlvmModule, Val, attribute_kind, take_error};
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use llvm_sys::error::LLVMErrorRef;
use llvm_sys::transforms::pass_builder::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMOpcode, LLVMValueKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::CStr;

/// Passes that inline helpers, so that trip counts and arrays passed to them are known in one function.
const INLINING: &CStr =
    c"always-inline,function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>),cgscc(inline)";
/// Passes that unroll loops of constant trip count, up to LLVM's size limit.
const UNROLLING: &CStr =
    c"sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop(loop-rotate,indvars,loop-unroll-full),sroa";

/// Maximum depth of loops in loops that are unrolled for their arrays.
const MOST_ROUNDS: usize = 3;
/// Maximum trip count of a loop that is unrolled for its arrays, and of instructions that it becomes.
const MOST_ITERATIONS: u64 = 16;
/// Maximum trip count where all indices of the arrays become constants: lattices of fluids have 27 directions.
const MOST_COUNTED_ITERATIONS: u64 = 32;
const MOST_INSTRUCTIONS: usize = 800;
/// Maximum number of operations between a counter and an index.
const MOST_OPERATIONS: u32 = 6;
/// Maximum number of addresses in an array that are looked at.
const MOST_ADDRESSES: usize = 256;
/// Word of LLVM's that a loop is to be unrolled whatever its size, up to a limit that it has for such words.
const UNROLL_FULLY: &str = "llvm.loop.unroll.full";

/// Attribute that keeps LLVM from duplicating calls, and so from unrolling loops round them.
const UNIQUE: &str = "noduplicate";

/// Unrolls the small loops of constant trip count of all functions. Loops round barriers stay: each copy of a barrier
/// would be a state of its own, which costs compile time and gains nothing.
pub(crate) fn unroll_small_loops(module: &LlvmModule) -> Result<(), String> {
    if !module.functions().any(may_gain) {
        return Ok(());
    }
    // SAFETY: module and options are live; the passes see the module only.
    run(INLINING, |passes, options| unsafe {
        LLVMRunPasses(module.raw(), passes, std::ptr::null_mut(), options)
    })?;
    let is_optimized = |func: &Val<'_>| {
        let kind = attribute_kind("optnone");
        func.attribute(LLVMAttributeFunctionIndex, kind).is_none()
    };
    let functions: Vec<Val<'_>> =
        module.functions().filter(|func| may_gain(*func)).filter(is_optimized).collect();
    let barriers: Vec<Val<'_>> = module.functions().filter(|func| is_barrier(&func.name())).collect();
    barriers.iter().for_each(|barrier| barrier.set_attribute(UNIQUE));
    let run_on = |func: &Val<'_>, passes: &CStr| {
        // SAFETY: function and options are live.
        run(passes, |passes, options| unsafe {
            LLVMRunPassesOnFunction(func.0, passes, std::ptr::null_mut(), options)
        })
    };
    let unrolled = functions.iter().try_for_each(|func| {
        run_on(func, UNROLLING)?;
        for _ in 0..MOST_ROUNDS {
            let latches = array_loops(module, *func);
            if latches.is_empty() {
                break;
            }
            latches.into_iter().for_each(|latch| request_full_unrolling(module, latch));
            run_on(func, UNROLLING)?;
        }
        Ok(())
    });
    barriers.iter().for_each(|barrier| barrier.remove_attribute(UNIQUE));
    unrolled
}

/// Runs passes with default options; the error is LLVM's message.
fn run(
    passes: &CStr,
    on: impl FnOnce(*const std::ffi::c_char, LLVMPassBuilderOptionsRef) -> LLVMErrorRef,
) -> Result<(), String> {
    // SAFETY: the options live during the call; an error is taken over once.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        let error = on(passes.as_ptr(), options);
        LLVMDisposePassBuilderOptions(options);
        take_error(error)
    }
}

/// True if a function has a loop, or an array that a caller's loop may use.
fn may_gain(func: Val<'_>) -> bool {
    !func.is_declaration() && (has_loop(func) || arrays_of(func).next().is_some())
}

/// True if a branch leads to its own block or to an earlier one, as clang emits each loop.
fn has_loop(func: Val<'_>) -> bool {
    let mut seen = FxHashSet::default();
    func.blocks().into_iter().any(|block| {
        seen.insert(block);
        let successors = block.terminator().map(Val::successors).unwrap_or_default();
        successors.iter().any(|successor| seen.contains(successor))
    })
}

/// Returns the branches that repeat loops of a small constant trip count in which the counter indexes a constant table or a private array.
fn array_loops<'m>(module: &LlvmModule, func: Val<'m>) -> Vec<Val<'m>> {
    let kind = module.metadata_kind("llvm.loop");
    let blocks = func.reverse_postorder();
    let places: FxHashMap<Bb<'m>, usize> =
        blocks.iter().enumerate().map(|(at, &block)| (block, at)).collect();
    let mut predecessors: FxHashMap<Bb<'m>, Vec<Bb<'m>>> = FxHashMap::default();
    for &block in &blocks {
        for successor in block.terminator().map(Val::successors).unwrap_or_default() {
            predecessors.entry(successor).or_default().push(block);
        }
    }
    let of_latch = |&latch: &Bb<'m>| {
        let branch = latch.terminator()?;
        let headers = branch.successors();
        let (header, (counter, trips)) =
            headers.iter().find_map(|&header| Some((header, constant_counter(branch, latch, header)?)))?;
        let (mut body, mut open) = (FxHashSet::from_iter([header]), vec![latch]);
        while let Some(block) = open.pop() {
            if body.insert(block) {
                open.extend(predecessors.get(&block).into_iter().flatten());
            }
        }
        // Other loops in it would be copied.
        let repeats = |block: &Bb<'m>| {
            let successors = block.terminator().map(Val::successors).unwrap_or_default();
            successors.iter().any(|to| places[to] <= places[block] && (*block, *to) != (latch, header))
        };
        if body.iter().any(repeats) {
            return None;
        }
        let insts: Vec<Val<'m>> = body.iter().flat_map(|block| block.insts().collect::<Vec<_>>()).collect();
        let is_small = trips <= MOST_COUNTED_ITERATIONS && insts.len() * trips as usize <= MOST_INSTRUCTIONS;
        let has_hint = branch.metadata(kind).is_some_and(has_unroll_hint);
        if !is_small || has_hint {
            return None;
        }
        let mut arrays = insts.iter().filter_map(|&inst| indexed_array(inst, counter)).peekable();
        arrays.peek()?;
        (trips <= MOST_ITERATIONS || arrays.all(has_counted_indices)).then_some(branch)
    };
    blocks.iter().filter_map(of_latch).collect()
}

/// True if a loop says already whether it is to be unrolled.
fn has_unroll_hint(node: Val<'_>) -> bool {
    let parts = node.metadata_parts().into_iter().skip(1).flatten().filter(Val::is_metadata);
    let mut names =
        parts.filter_map(|part| part.metadata_parts().first().copied().flatten()?.metadata_text());
    names.any(|name| name.starts_with("llvm.loop.unroll."))
}

/// Returns the counter that a branch to a header compares with a constant, and the number of its values.
fn constant_counter<'m>(branch: Val<'m>, latch: Bb<'m>, header: Bb<'m>) -> Option<(Val<'m>, u64)> {
    let test = branch.condition().filter(|test| is(*test, LLVMOpcode::LLVMICmp))?;
    let (next, bound) = (test.operand(0), constant(test.operand(1))?);
    if !is(next, LLVMOpcode::LLVMAdd) {
        return None;
    }
    let (counter, step) = (next.operand(0), constant(next.operand(1))?);
    if !is(counter, LLVMOpcode::LLVMPHI) || counter.block() != header {
        return None;
    }
    let start = counter.incoming().into_iter().find(|&(_, from)| from != latch)?;
    let trips = bound.checked_sub(constant(start.0)?)?.checked_div(step)?;
    u64::try_from(trips).ok().filter(|&trips| trips > 0).map(|trips| (counter, trips))
}

/// True for an instruction of this opcode.
fn is(value: Val<'_>, op: LLVMOpcode) -> bool {
    value.kind() == LLVMValueKind::LLVMInstructionValueKind && value.opcode() == op
}

/// Value of a constant as a signed number.
fn constant(value: Val<'_>) -> Option<i64> {
    let bits = value.ty().is_int(32).then_some(32).or(value.ty().is_int(64).then_some(64))?;
    let value = value.bits()?;
    Some(if bits == 32 { i64::from(value as u32 as i32) } else { value as u64 as i64 })
}

/// Constant table or private array that an instruction addresses at an index that a counter gives.
fn indexed_array<'m>(inst: Val<'m>, counter: Val<'m>) -> Option<Val<'m>> {
    if !is(inst, LLVMOpcode::LLVMGetElementPtr) {
        return None;
    }
    let mut base = inst.operand(0);
    while is_derived(base) {
        base = base.operand(0);
    }
    let is_table = base.kind() == LLVMValueKind::LLVMGlobalVariableValueKind && base.is_global_constant();
    let is_array = is_table || is(base, LLVMOpcode::LLVMAlloca);
    (is_array && inst.operands().skip(1).any(|index| comes_from(index, counter, 0))).then_some(base)
}

/// True for an address of a part of another one. Helpers take pointers of the generic address space since OpenCL C 2.0.
fn is_derived(address: Val<'_>) -> bool {
    is(address, LLVMOpcode::LLVMGetElementPtr) || is(address, LLVMOpcode::LLVMAddrSpaceCast)
}

/// True for a table, and for an array whose indices are sums of constants and counters.
fn has_counted_indices(array: Val<'_>) -> bool {
    let mut open = if is(array, LLVMOpcode::LLVMAlloca) { vec![array] } else { Vec::new() };
    let mut addresses = 0;
    while let Some(address) = open.pop() {
        addresses += 1;
        let users = address.users(MOST_ADDRESSES);
        let derived: Vec<Val<'_>> = users.into_iter().filter(|&user| is_derived(user)).collect();
        if addresses > MOST_ADDRESSES
            || derived.iter().any(|it| it.operands().skip(1).any(|index| !is_counted(index, 0)))
        {
            return false;
        }
        open.extend(derived);
    }
    true
}

/// True for a sum of constants and of counters whose first value is a constant.
fn is_counted(index: Val<'_>, depth: u32) -> bool {
    let is_step = |value: Val<'_>| {
        is(value, LLVMOpcode::LLVMAdd) && value.operand(0) == index && constant(value.operand(1)).is_some()
    };
    let is_counter = || index.incoming().into_iter().all(|(it, _)| constant(it).is_some() || is_step(it));
    constant(index).is_some()
        || is(index, LLVMOpcode::LLVMPHI) && is_counter()
        || is_sum(index)
            && depth < MOST_OPERATIONS
            && index.operands().all(|operand| is_counted(operand, depth + 1))
}

/// True for the operations that indices are computed by.
fn is_sum(value: Val<'_>) -> bool {
    use LLVMOpcode::{LLVMAdd, LLVMMul, LLVMOr, LLVMSExt, LLVMShl, LLVMSub, LLVMTrunc, LLVMZExt};
    const SUMS: [LLVMOpcode; 8] = [LLVMAdd, LLVMSub, LLVMMul, LLVMShl, LLVMOr, LLVMSExt, LLVMZExt, LLVMTrunc];
    SUMS.into_iter().any(|op| is(value, op))
}

fn comes_from<'m>(value: Val<'m>, counter: Val<'m>, depth: u32) -> bool {
    value == counter
        || is_sum(value)
            && depth < MOST_OPERATIONS
            && value.operands().any(|operand| comes_from(operand, counter, depth + 1))
}

/// Asks LLVM to unroll the loop that a branch repeats.
fn request_full_unrolling(module: &LlvmModule, branch: Val<'_>) {
    // SAFETY: module and branch are live; what stands in for the node, whose first part is the node itself, is replaced by it, which frees
    // it; metadata lives in the context.
    unsafe {
        let context = module.context();
        let word = LLVMMDStringInContext2(context, UNROLL_FULLY.as_ptr().cast(), UNROLL_FULLY.len());
        let hint = LLVMMDNodeInContext2(context, [word].as_mut_ptr(), 1);
        let stand_in = LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0);
        let node = LLVMMDNodeInContext2(context, [stand_in, hint].as_mut_ptr(), 2);
        LLVMMetadataReplaceAllUsesWith(stand_in, node);
        LLVMSetMetadata(branch.0, module.metadata_kind("llvm.loop"), LLVMMetadataAsValue(context, node));
    }
}
