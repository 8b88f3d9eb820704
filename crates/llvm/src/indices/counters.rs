//! Counters that go up by one, in place of loop strength reduction's counters and pointers.

use super::flow::{Flow, SimpleLoop};
use super::rewriter::{Rewriter, WrapFlags};
use crate::view::Val;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind, LLVMValueKind};

/// Counters' width.
const BITS: u32 = 64;
/// Maximum number of users of a counter that counts down, with one to spare.
const MAX_USERS: usize = 3;

/// φ of a header that grows by the same step in each iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinearPhi<'m> {
    pub(super) phi: Val<'m>,
    pub(super) start: Val<'m>,
    /// Its value in the next iteration.
    pub(super) next: Val<'m>,
    step: Step<'m>,
}

/// Step of a φ, in bytes for pointers.
#[derive(Clone, Copy, Debug)]
enum Step<'m> {
    Constant(i64),
    /// Multiple of a loop-invariant value.
    Invariant(Val<'m>, i64),
}

/// Comparison at the end of a loop that decides on the next iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopTest<'m> {
    pub(super) comparison: Val<'m>,
    /// Condition of the next iteration, with the counter on the left.
    pub(super) predicate: LLVMIntPredicate,
    pub(super) bound: Val<'m>,
    /// Index of the counter among the operands.
    pub(super) side: u32,
}

/// Counter of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter<'m> {
    pub(super) linear: LinearPhi<'m>,
    pub(super) step: i64,
    pub(super) test: LoopTest<'m>,
}

/// Counter from which a loop's other linear φs are computed.
#[derive(Clone, Copy, Debug)]
pub(super) enum RestoredIndex<'m> {
    /// Counter that goes up to the bound of the loop's test.
    Counter(Counter<'m>),
    /// Index of a constant step, which the loop's test may compare or not.
    Index(LinearPhi<'m>, i64),
}

/// Gives a loop a counter that goes up, and computes its other linear φs from it. If the loop's test counts nothing or counts
/// down, pointers that step along are computed from an index that steps along.
pub(super) fn restore_counter<'m>(
    flow: &Flow<'m>,
    found: &SimpleLoop<'m>,
    rewriter: &Rewriter<'m>,
) -> Option<RestoredIndex<'m>> {
    let phis = found.header.insts().take_while(|inst| inst.opcode() == LLVMOpcode::LLVMPHI);
    let mut linear: Vec<LinearPhi<'m>> =
        phis.filter_map(|phi| linear_phi(flow, found, phi, rewriter)).collect();
    let tested = linear.iter().enumerate().find_map(|(index, phi)| Some((index, test_of(found, phi.next)?)));
    let descends = |&(index, test): &(usize, LoopTest<'m>)| {
        let phi = &linear[index];
        index_step(phi).is_some_and(|step| step < 0) && !is_countdown(phi, &test)
    };
    let Some((index, test)) = tested.filter(|it| !descends(it)) else {
        let tested = tested.map(|(index, _)| index);
        let index = tested.or_else(|| linear.iter().position(|phi| index_step(phi).is_some()))?;
        let index = linear.swap_remove(index);
        let step = index_step(&index)?;
        linear.retain(is_pointer);
        compute_from(&index, step, linear, found, rewriter);
        return Some(RestoredIndex::Index(index, step));
    };
    let tested = linear.swap_remove(index);
    let Step::Constant(step) = tested.step else { return None };
    let counter = if is_countdown(&tested, &test) {
        count_up(found, &tested, &test, rewriter)
    } else {
        let is_index = !is_pointer(&tested) && step > 0;
        is_index.then_some(Counter { linear: tested, step, test })?
    };
    compute_from(&counter.linear, counter.step, linear, found, rewriter);
    Some(RestoredIndex::Counter(counter))
}

fn is_pointer(phi: &LinearPhi<'_>) -> bool {
    phi.phi.ty().kind() == LLVMTypeKind::LLVMPointerTypeKind
}

/// Returns the step of an index.
fn index_step(phi: &LinearPhi<'_>) -> Option<i64> {
    match phi.step {
        Step::Constant(step) if !is_pointer(phi) && step != 0 => Some(step),
        _ => None,
    }
}

/// Replaces linear φs by what is computed from another one.
fn compute_from<'m>(
    index: &LinearPhi<'m>,
    step: i64,
    linear: Vec<LinearPhi<'m>>,
    found: &SimpleLoop<'m>,
    rewriter: &Rewriter<'m>,
) {
    for phi in linear {
        if let Some(value) = value_from(&phi, index, step, found, rewriter) {
            rewriter.replace(phi.phi, value);
        }
    }
}

/// Recognizes a linear φ of 64 bits or of pointers.
fn linear_phi<'m>(
    flow: &Flow<'m>,
    found: &SimpleLoop<'m>,
    phi: Val<'m>,
    rewriter: &Rewriter<'m>,
) -> Option<LinearPhi<'m>> {
    let is_pointer = match phi.ty().kind() {
        LLVMTypeKind::LLVMPointerTypeKind => true,
        _ if phi.ty().is_int(BITS) => false,
        _ => return None,
    };
    let incoming = phi.incoming();
    let along = |from| incoming.iter().find(|&&(_, block)| block == from).map(|&(value, _)| value);
    let (start, next) = (along(found.entering)?, along(found.latch)?);
    let (step, scale) = match opcode_of(next)? {
        LLVMOpcode::LLVMAdd if !is_pointer && next.operand(0) == phi => (next.operand(1), 1),
        LLVMOpcode::LLVMAdd if !is_pointer && next.operand(1) == phi => (next.operand(0), 1),
        LLVMOpcode::LLVMGetElementPtr if is_pointer && next.operand(0) == phi => index_of(next, rewriter)?,
        _ => return None,
    };
    let step = match step.bits() {
        Some(bits) => Step::Constant((bits as i64).checked_mul(scale)?),
        None if flow.is_defined_above(step, found.header) => Step::Invariant(step, scale),
        None => return None,
    };
    Some(LinearPhi { phi, start, next, step })
}

/// Returns the only index of an address, of 64 bits, and the bytes that it counts.
pub(super) fn index_of<'m>(address: Val<'m>, rewriter: &Rewriter<'m>) -> Option<(Val<'m>, i64)> {
    let is_plain = address.operand_count() == 2 && address.operand(1).ty().is_int(BITS);
    let scale = i64::try_from(rewriter.size(address.gep_type())).ok()?;
    is_plain.then(|| (address.operand(1), scale))
}

/// Returns the test at the end of a loop, if it compares this value.
fn test_of<'m>(found: &SimpleLoop<'m>, next: Val<'m>) -> Option<LoopTest<'m>> {
    let branch = found.latch.terminator().filter(|inst| inst.opcode() == LLVMOpcode::LLVMBr)?;
    let comparison = branch.condition()?;
    let [then, otherwise] = branch.successors()[..] else { return None };
    if opcode_of(comparison)? != LLVMOpcode::LLVMICmp || then == otherwise {
        return None;
    }
    let (left, right) = (comparison.operand(0), comparison.operand(1));
    let predicate = comparison.int_predicate();
    let predicate = if then == found.header { predicate } else { super::flow::inverse(predicate) };
    if left == next {
        Some(LoopTest { comparison, predicate, bound: right, side: 0 })
    } else if right == next {
        Some(LoopTest { comparison, predicate: super::flow::swapped(predicate), bound: left, side: 1 })
    } else {
        None
    }
}

/// True if a counter only says how many iterations are left.
fn is_countdown(tested: &LinearPhi<'_>, test: &LoopTest<'_>) -> bool {
    matches!(tested.step, Step::Constant(-1))
        && test.predicate == LLVMIntPredicate::LLVMIntNE
        && test.bound.bits() == Some(0)
        && tested.phi.users(MAX_USERS).len() == 1
        && tested.next.users(MAX_USERS).len() == 2
}

/// Replaces a counter of iterations that are left: from `end - start` down to 0 becomes from `start` up to `end`, modulo 2^64.
fn count_up<'m>(
    found: &SimpleLoop<'m>,
    tested: &LinearPhi<'m>,
    test: &LoopTest<'m>,
    rewriter: &Rewriter<'m>,
) -> Counter<'m> {
    let (start, end) = span_of(tested.start, rewriter);
    let phi = rewriter.phi(found.header, rewriter.int(BITS), &[(start, found.entering)]);
    let one = rewriter.constant(BITS, 1);
    let next = rewriter.before(tested.next).binary(LLVMOpcode::LLVMAdd, phi, one, WrapFlags::default());
    rewriter.add_incoming(phi, next, found.latch);
    rewriter.set_operand(test.comparison, test.side, next);
    rewriter.set_operand(test.comparison, 1 - test.side, end);
    rewriter.delete(tested.phi);
    rewriter.delete(tested.next);
    let linear = LinearPhi { phi, start, next, step: Step::Constant(1) };
    Counter { linear, step: 1, test: LoopTest { bound: end, ..*test } }
}

/// Splits a number of iterations into where they start and where they end.
fn span_of<'m>(count: Val<'m>, rewriter: &Rewriter<'m>) -> (Val<'m>, Val<'m>) {
    match opcode_of(count) {
        Some(LLVMOpcode::LLVMSub) => (count.operand(1), count.operand(0)),
        Some(LLVMOpcode::LLVMAdd) if count.operand(1).bits().is_some_and(|bits| (bits as i64) < 0) => {
            let start = (count.operand(1).bits().unwrap_or_default() as i64).wrapping_neg();
            (rewriter.constant(BITS, start), count.operand(0))
        }
        _ => (rewriter.constant(BITS, 0), count),
    }
}

/// Emits the value of a linear φ, computed from an index of this step; none where that is no simpler.
fn value_from<'m>(
    phi: &LinearPhi<'m>,
    index: &LinearPhi<'m>,
    index_step: i64,
    found: &SimpleLoop<'m>,
    rewriter: &Rewriter<'m>,
) -> Option<Val<'m>> {
    let (times, scale) = match phi.step {
        Step::Constant(step) if step.checked_rem(index_step) == Some(0) => {
            (rewriter.constant(BITS, step / index_step), 1)
        }
        Step::Invariant(step, scale) if index_step == 1 => (step, scale),
        _ => return None,
    };
    let is_pointer = is_pointer(phi);
    let start = index.start;
    let before_first = is_pointer.then(|| base_before(phi.start, start, times, rewriter)).flatten();
    // A start of `base + times * start` leaves the counter as the only thing that varies.
    let base = match start.bits() {
        Some(_) => before_first.unwrap_or(phi.start),
        None if is_pointer => before_first?,
        None if is_product(phi.start, start, times.bits()?) => rewriter.constant(BITS, 0),
        None => return None,
    };
    rewriter.after_phis(found.header);
    let multiple = |a, b| rewriter.binary(LLVMOpcode::LLVMMul, a, b, WrapFlags::default());
    let times = multiple(times, rewriter.constant(BITS, scale));
    let mut passed = multiple(index.phi, times);
    if let Some(first) = start.bits().filter(|&first| first != 0 && before_first.is_none()) {
        let first = multiple(rewriter.constant(BITS, first as i64), times);
        passed = rewriter.binary(LLVMOpcode::LLVMSub, passed, first, WrapFlags::default());
    }
    Some(match is_pointer {
        true => rewriter.offset(base, passed),
        false => rewriter.binary(LLVMOpcode::LLVMAdd, base, passed, WrapFlags::default()),
    })
}

/// Returns the base of an address `base + times * start`.
fn base_before<'m>(
    address: Val<'m>,
    start: Val<'m>,
    times: Val<'m>,
    rewriter: &Rewriter<'m>,
) -> Option<Val<'m>> {
    if opcode_of(address)? != LLVMOpcode::LLVMGetElementPtr {
        return None;
    }
    let ((index, scale), times) = (index_of(address, rewriter)?, times.bits()?);
    let has_passed = match (index.bits(), start.bits()) {
        (Some(index), Some(start)) => {
            (index as i64).checked_mul(scale)? == (start as i64).checked_mul(times as i64)?
        }
        _ => {
            let scale = u128::try_from(scale).ok()?;
            scale > 0 && times % scale == 0 && is_product(index, start, times / scale)
        }
    };
    has_passed.then(|| address.operand(0))
}

/// True if a value is the product of a start and a constant.
fn is_product<'m>(value: Val<'m>, start: Val<'m>, times: u128) -> bool {
    if value == start {
        return times == 1;
    }
    let factor = || value.operand(1).bits();
    match opcode_of(value) {
        Some(LLVMOpcode::LLVMShl) if value.operand(0) == start => {
            factor().is_some_and(|shift| shift < 64 && 1 << shift == times)
        }
        Some(LLVMOpcode::LLVMMul) if value.operand(0) == start => factor() == Some(times),
        _ => false,
    }
}

/// Returns the opcode of an instruction.
pub(super) fn opcode_of(value: Val<'_>) -> Option<LLVMOpcode> {
    (value.kind() == LLVMValueKind::LLVMInstructionValueKind).then(|| value.opcode())
}
