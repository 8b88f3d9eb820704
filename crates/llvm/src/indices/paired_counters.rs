//! Counters of 64 bits next to one of 32 bits that counts the same.
//!
//! Loop strength reduction tests a counter of 64 bits, and keeps the index of the source where it is divided or compared:
//!
//! ```text
//!   for (i = y * 16 + x; i < 324; i += 256)     T = (sext y * 16 + sext x) - 256; i = y * 16 + x; p = a + 4 * (sext y * 16 + sext x)
//!     a[i] = i / 18;                            *p = i / 18; p += 1024; i += 256; T += 256; until T >= 68
//! ```
//!
//! The sums of 32 bits do not wrap, so `T` is `sext i - 256`. The test before the loop and the one at its end bound `i`.

use super::counters::{Counter, index_of, opcode_of};
use super::flow::{Flow, SimpleLoop, swapped};
use super::rewriter::{Rewriter, WrapFlags};
use crate::view::Val;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};

const NARROW: u32 = 32;
const WIDE: u32 = 64;
/// Maximum number of additions in the start of a counter.
const MAX_DEPTH: u32 = 4;

/// Computes a counter, and pointers that step along, from a φ of 32 bits with the same values.
pub(super) fn merge_with_index<'m>(
    flow: &Flow<'m>,
    found: &SimpleLoop<'m>,
    counter: &Counter<'m>,
    rewriter: &Rewriter<'m>,
) {
    let linear = counter.linear;
    let (start, added) = match constant_addend(linear.start) {
        Some((start, added)) => (start, added),
        None => (linear.start, 0),
    };
    let pair = |phi: &Val<'m>| {
        let (first, step) = linear_of(found, *phi)?;
        (step == counter.step && is_extension(start, first, MAX_DEPTH)).then_some((*phi, first))
    };
    let phis: Vec<Val<'m>> =
        found.header.insts().take_while(|inst| inst.opcode() == LLVMOpcode::LLVMPHI).collect();
    let Some((narrow, first)) = phis.iter().find_map(pair) else { return };
    let Some(end) = end_of(flow, found, counter, first, added) else { return };
    let test = &counter.test;
    let step = rewriter.constant(NARROW, counter.step);
    let promise = WrapFlags { nuw: false, nsw: true };
    let next = rewriter.before(test.comparison).binary(LLVMOpcode::LLVMAdd, narrow, step, promise);
    let end = rewriter.constant(NARROW, end);
    let sides = if test.side == 0 { [next, end] } else { [end, next] };
    let comparison = rewriter.compare(test.comparison.int_predicate(), sides[0], sides[1]);
    rewriter.replace(test.comparison, comparison);
    let index = rewriter.after_phis(found.header).cast(LLVMOpcode::LLVMSExt, narrow, WIDE);
    let value =
        rewriter.binary(LLVMOpcode::LLVMAdd, index, rewriter.constant(WIDE, added), WrapFlags::default());
    for phi in phis.into_iter().filter(|phi| phi.ty().kind() == LLVMTypeKind::LLVMPointerTypeKind) {
        let Some((base, bytes)) = stepping_pointer(found, phi, first, counter.step, rewriter) else {
            continue;
        };
        let bytes = rewriter.constant(WIDE, bytes);
        let offset = rewriter.binary(LLVMOpcode::LLVMMul, index, bytes, WrapFlags::default());
        rewriter.replace(phi, rewriter.offset(base, offset));
    }
    rewriter.replace(linear.phi, value);
}

/// Splits a sum with a constant of 32 bits.
fn constant_addend(sum: Val<'_>) -> Option<(Val<'_>, i64)> {
    let added = (opcode_of(sum)? == LLVMOpcode::LLVMAdd).then(|| sum.operand(1).bits()).flatten()?;
    i32::try_from(added as i64).ok().map(|added| (sum.operand(0), added.into()))
}

/// Returns the values with which the iterations of a φ of the header begin, and with which they end.
fn incoming<'m>(found: &SimpleLoop<'m>, phi: Val<'m>) -> Option<(Val<'m>, Val<'m>)> {
    let incoming = phi.incoming();
    let along = |from| incoming.iter().find(|&&(_, block)| block == from).map(|&(value, _)| value);
    Some((along(found.entering)?, along(found.latch)?))
}

/// Returns the start and the step of a φ of 32 bits.
fn linear_of<'m>(found: &SimpleLoop<'m>, phi: Val<'m>) -> Option<(Val<'m>, i64)> {
    let (first, next) = phi.ty().is_int(NARROW).then(|| incoming(found, phi)).flatten()?;
    let is_sum = opcode_of(next)? == LLVMOpcode::LLVMAdd && next.operand(0) == phi;
    let step = is_sum.then(|| next.operand(1).bits()).flatten()?;
    Some((first, (step as u32 as i32).into()))
}

/// True if a value is the sign extension of one of 32 bits, or the sum of those of its operands, which does not wrap.
fn is_extension<'m>(value: Val<'m>, narrow: Val<'m>, depth: u32) -> bool {
    match opcode_of(value) {
        Some(LLVMOpcode::LLVMSExt) => value.operand(0) == narrow,
        // SPIR-V's back end extends the lower half of a number by two shifts.
        Some(LLVMOpcode::LLVMAShr) => {
            let shifted = value.operand(0);
            let by_half = |it: Val<'m>| it.operand(1).bits() == Some(NARROW.into());
            opcode_of(shifted) == Some(LLVMOpcode::LLVMShl)
                && by_half(value)
                && by_half(shifted)
                && opcode_of(narrow) == Some(LLVMOpcode::LLVMTrunc)
                && narrow.operand(0) == shifted.operand(0)
        }
        Some(LLVMOpcode::LLVMAdd) if depth > 0 => {
            let is_exact = opcode_of(narrow) == Some(LLVMOpcode::LLVMAdd) && narrow.has_nsw();
            let [a, b] = [value.operand(0), value.operand(1)];
            let are = |c, d| is_extension(a, c, depth - 1) && is_extension(b, d, depth - 1);
            is_exact
                && (are(narrow.operand(0), narrow.operand(1)) || are(narrow.operand(1), narrow.operand(0)))
        }
        _ => false,
    }
}

/// Returns the end of the φ with this start, if the tests before and at the end of the loop bound the sums of 32 bits.
fn end_of<'m>(
    flow: &Flow<'m>,
    found: &SimpleLoop<'m>,
    counter: &Counter<'m>,
    first: Val<'m>,
    added: i64,
) -> Option<i64> {
    use LLVMIntPredicate::{LLVMIntSLE, LLVMIntSLT};
    if counter.step <= 0 || counter.test.predicate != LLVMIntSLT {
        return None;
    }
    let end = (counter.test.bound.bits()? as i64).checked_sub(added)?;
    let facts = flow.facts(found.entering, found.header);
    let tops = facts.iter().filter_map(|fact| {
        let (predicate, other) = if fact.left == first {
            (fact.predicate, fact.right)
        } else if fact.right == first {
            (swapped(fact.predicate), fact.left)
        } else {
            return None;
        };
        let other = i64::from(other.bits()? as u32 as i32);
        match predicate {
            LLVMIntSLT => Some(other - 1),
            LLVMIntSLE => Some(other),
            _ => None,
        }
    });
    // The greatest number that begins an iteration, and the one that ends it.
    let most = tops.min()?.max(end.checked_sub(1)?).checked_add(counter.step)?;
    let fits = |value: i64| i32::try_from(value).is_ok();
    (fits(end) && fits(most)).then_some(end)
}

/// Returns the base of a pointer that starts at a multiple of an index and steps along with it, and the bytes of the multiple.
fn stepping_pointer<'m>(
    found: &SimpleLoop<'m>,
    phi: Val<'m>,
    first: Val<'m>,
    step: i64,
    rewriter: &Rewriter<'m>,
) -> Option<(Val<'m>, i64)> {
    let (start, next) = incoming(found, phi)?;
    let is_address = |value: Val<'m>| opcode_of(value) == Some(LLVMOpcode::LLVMGetElementPtr);
    if !is_address(start) || !is_address(next) || next.operand(0) != phi {
        return None;
    }
    let (passed, unit) = index_of(next, rewriter)?;
    let (index, scale) = index_of(start, rewriter)?;
    let (index, times) = match opcode_of(index)? {
        LLVMOpcode::LLVMShl => {
            (index.operand(0), 1i64.checked_shl(u32::try_from(index.operand(1).bits()?).ok()?)?)
        }
        LLVMOpcode::LLVMMul => (index.operand(0), index.operand(1).bits()? as i64),
        _ => (index, 1),
    };
    let bytes = times.checked_mul(scale)?;
    let is_along = (passed.bits()? as i64).checked_mul(unit)? == bytes.checked_mul(step)?;
    (is_along && is_extension(index, first, MAX_DEPTH)).then(|| (start.operand(0), bytes))
}
