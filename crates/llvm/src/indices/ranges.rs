//! Counters of 32 bits, where the tests before and at the end of a loop show that no more are needed.

use super::counters::{Counter, LinearPhi, opcode_of};
use super::flow::{Flow, KnownComparison, SimpleLoop, fact_of_edge, inverse, swapped};
use super::rewriter::{Rewriter, WrapFlags};
use crate::view::Val;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

const NARROW: u32 = 32;
const WIDE: u32 = 64;

/// 64-bit value that holds a number of 32 bits.
#[derive(Clone, Copy, Debug)]
enum Extended<'m> {
    Constant(i64),
    Signed(Val<'m>),
    Unsigned { value: Val<'m>, is_nonnegative: bool },
}

/// Reading of the lower 32 bits of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    Signed,
    Unsigned,
    /// Below 2^31: both readings agree.
    Nonnegative,
}

/// Replaces a counter by one of 32 bits, if all its values fit; true if it did.
pub(super) fn narrow_counter<'m>(
    flow: &Flow<'m>,
    found: &SimpleLoop<'m>,
    counter: &Counter<'m>,
    rewriter: &Rewriter<'m>,
) -> bool {
    let facts = flow.facts(found.entering, found.header);
    let extended = |value| extended(value).or_else(|| masked(value, &facts));
    let (Some(start), Some(end)) = (extended(counter.linear.start), extended(counter.test.bound)) else {
        return false;
    };
    let reading = reading(start, end, counter, &facts);
    if let Some(reading) = reading {
        rebuild(found, counter, [start, end], reading, rewriter);
    }
    reading.is_some()
}

/// Replaces an index that goes down from a number that is not negative by one of 32 bits, if the test of the next iteration bounds
/// it from below.
pub(super) fn narrow_descending<'m>(
    flow: &Flow<'m>,
    found: &SimpleLoop<'m>,
    index: &LinearPhi<'m>,
    step: i64,
    rewriter: &Rewriter<'m>,
) {
    let facts = flow.facts(found.entering, found.header);
    let start = match extended(index.start).or_else(|| masked(index.start, &facts)) {
        Some(Extended::Constant(first)) if i32::try_from(first).is_ok_and(|first| first >= 0) => {
            rewriter.constant(NARROW, first)
        }
        Some(Extended::Signed(value)) if exceeds(&facts, value, -1, true) => value,
        Some(Extended::Unsigned { value, is_nonnegative })
            if is_nonnegative || exceeds(&facts, value, -1, true) =>
        {
            value
        }
        _ => return,
    };
    let Some(bound) = lower_bound(found, index) else { return };
    let fits = |value: i64| i32::try_from(value).is_ok();
    if step >= 0 || !fits(step) || !fits(bound.least - 1) {
        return;
    }
    // Values that begin iterations after the first are not below this, and the last one goes down by one more step.
    let least = if bound.is_of_next { bound.least } else { bound.least + step };
    if !fits(least + step) {
        return;
    }
    let extend_signed = |value| rewriter.cast(LLVMOpcode::LLVMSExt, value, WIDE);
    let phi = rewriter.phi(found.header, rewriter.int(NARROW), &[(start, found.entering)]);
    let narrow_step = rewriter.constant(NARROW, step);
    let flags = WrapFlags { nuw: false, nsw: true };
    let next = rewriter.before(index.next).binary(LLVMOpcode::LLVMAdd, phi, narrow_step, flags);
    let wide_next = extend_signed(next);
    rewriter.add_incoming(phi, next, found.latch);
    let tested = if bound.is_of_next { next } else { phi };
    rewriter.before(bound.comparison);
    let below = rewriter.constant(NARROW, bound.least - 1);
    let goes_on = LLVMIntPredicate::LLVMIntSGT;
    let predicate = if bound.is_inverse { inverse(goes_on) } else { goes_on };
    rewriter.replace(bound.comparison, rewriter.compare(predicate, tested, below));
    rewriter.after_phis(found.header);
    let wide = if least >= 0 { rewriter.extend_nonnegative(phi, WIDE) } else { extend_signed(phi) };
    rewriter.replace(index.phi, wide);
    rewriter.replace(index.next, wide_next);
}

/// Lower bound of an index in iterations that are followed by another one.
#[derive(Clone, Copy, Debug)]
struct LowerBound<'m> {
    comparison: Val<'m>,
    /// True if the comparison holds where no iteration follows.
    is_inverse: bool,
    /// True for the next iteration's value, false for the value that begins the iteration.
    is_of_next: bool,
    least: i64,
}

/// Recognizes a signed test for the next iteration: of an index or its next value, plus a constant, against a constant.
fn lower_bound<'m>(found: &SimpleLoop<'m>, index: &LinearPhi<'m>) -> Option<LowerBound<'m>> {
    let branch = found.latch.terminator()?;
    let fact = fact_of_edge(found.latch, found.header)?;
    let (predicate, sum, bound) = match fact.left.bits() {
        None => (fact.predicate, fact.left, fact.right),
        Some(_) => (swapped(fact.predicate), fact.right, fact.left),
    };
    let small = |value: Val<'m>| i32::try_from(value.bits()? as i64).ok().map(i64::from);
    let above = match predicate {
        LLVMIntPredicate::LLVMIntSGT => 1,
        LLVMIntPredicate::LLVMIntSGE => 0,
        _ => return None,
    };
    let is_index = |value| value == index.next || value == index.phi;
    let (tested, added) = match opcode_of(sum)? {
        _ if is_index(sum) => (sum, 0),
        LLVMOpcode::LLVMAdd if is_index(sum.operand(0)) => (sum.operand(0), small(sum.operand(1))?),
        _ => return None,
    };
    Some(LowerBound {
        comparison: branch.condition()?,
        is_inverse: branch.successors().first() != Some(&found.header),
        is_of_next: tested == index.next,
        least: small(bound)? + above - added,
    })
}

/// Recognizes an extension of 32 bits.
fn extended(value: Val<'_>) -> Option<Extended<'_>> {
    if let Some(bits) = value.bits() {
        return Some(Extended::Constant(bits as i64));
    }
    let opcode = opcode_of(value)?;
    let is_extension = matches!(opcode, LLVMOpcode::LLVMSExt | LLVMOpcode::LLVMZExt);
    if !is_extension || value.operand(0).ty().int_bits() != NARROW {
        return None;
    }
    let source = value.operand(0);
    Some(match opcode {
        LLVMOpcode::LLVMSExt => Extended::Signed(source),
        _ => Extended::Unsigned { value: source, is_nonnegative: value.has_nneg() },
    })
}

/// Recognizes the lower bits of a number as the extension of its truncation, which a known comparison has: LLVM writes
/// `zext (trunc %x)` as a mask, of 31 bits where the truncation is known not to be negative.
fn masked<'m>(value: Val<'m>, facts: &[KnownComparison<'m>]) -> Option<Extended<'m>> {
    if opcode_of(value)? != LLVMOpcode::LLVMAnd {
        return None;
    }
    let mask = value.operand(1).bits()?;
    let is_truncation = |side: &Val<'m>| {
        let is_cut = opcode_of(*side) == Some(LLVMOpcode::LLVMTrunc);
        is_cut && side.operand(0) == value.operand(0) && side.ty().is_int(NARROW)
    };
    let source = facts.iter().flat_map(|fact| [fact.left, fact.right]).find(is_truncation)?;
    let is_nonnegative = exceeds(facts, source, -1, true);
    let is_whole = mask == u128::from(u32::MAX) || mask == i32::MAX as u128 && is_nonnegative;
    is_whole.then_some(Extended::Unsigned { value: source, is_nonnegative })
}

/// Returns a reading in which 32 bits hold all values of a counter, the one at the exit included.
///
/// The last test but one bounds each value that begins an iteration, and the first value precedes all tests. A test for
/// inequality bounds only what starts below the end.
fn reading<'m>(
    start: Extended<'m>,
    end: Extended<'m>,
    counter: &Counter<'m>,
    facts: &[KnownComparison<'m>],
) -> Option<Reading> {
    use Extended::{Constant, Signed, Unsigned};
    use LLVMIntPredicate::{LLVMIntNE, LLVMIntSLT, LLVMIntULT};
    let predicate = counter.test.predicate;
    if let (Constant(first), Constant(last)) = (start, end) {
        let fits = first >= 0 && first < last && last <= i64::from(i32::MAX) - counter.step;
        let is_reached = predicate != LLVMIntNE || (last - first) % counter.step == 0;
        let is_bounded = matches!(predicate, LLVMIntNE | LLVMIntSLT | LLVMIntULT);
        return (fits && is_reached && is_bounded).then_some(Reading::Nonnegative);
    }
    if counter.step != 1 || !matches!(predicate, LLVMIntNE | LLVMIntSLT | LLVMIntULT) {
        return None;
    }
    let end_is_signed = match end {
        Signed(_) | Unsigned { is_nonnegative: true, .. } => true,
        // The upper half of the numbers is excluded by a signed test of the source.
        Unsigned { value, .. } => exceeds(facts, value, -1, true),
        Constant(last) => (i64::from(i32::MIN)..=i64::from(i32::MAX)).contains(&last),
    };
    let is_below = |is_signed| match predicate {
        LLVMIntNE => is_less(facts, start, end, is_signed),
        _ => is_below_top(facts, start, is_signed),
    };
    let start_is_nonnegative = match start {
        Constant(first) => (0..=i64::from(i32::MAX)).contains(&first),
        Signed(value) => exceeds(facts, value, -1, true),
        Unsigned { value, is_nonnegative } => is_nonnegative || exceeds(facts, value, -1, true),
    };
    let start_is_signed = match start {
        Constant(first) => (i64::from(i32::MIN)..=i64::from(i32::MAX)).contains(&first),
        Signed(_) => true,
        Unsigned { .. } => start_is_nonnegative,
    };
    // An unsigned test of 64 bits takes negative numbers for large ones.
    let is_signed_test = predicate != LLVMIntULT || start_is_nonnegative;
    if end_is_signed && start_is_signed && is_signed_test && is_below(true) {
        let reading = if start_is_nonnegative { Reading::Nonnegative } else { Reading::Signed };
        return Some(reading);
    }
    let start_is_unsigned = match start {
        Constant(first) => (0..=i64::from(u32::MAX)).contains(&first),
        Signed(_) => start_is_nonnegative,
        Unsigned { .. } => true,
    };
    let end_is_unsigned = matches!(end, Unsigned { .. });
    (start_is_unsigned && end_is_unsigned && is_below(false)).then_some(Reading::Unsigned)
}

fn source<'m>(extended: Extended<'m>) -> Option<Val<'m>> {
    match extended {
        Extended::Constant(_) => None,
        Extended::Signed(value) | Extended::Unsigned { value, .. } => Some(value),
    }
}

/// True if the facts show that one number is below another.
fn is_less<'m>(
    facts: &[KnownComparison<'m>],
    start: Extended<'m>,
    end: Extended<'m>,
    is_signed: bool,
) -> bool {
    let less = if is_signed { LLVMIntPredicate::LLVMIntSLT } else { LLVMIntPredicate::LLVMIntULT };
    match (start, source(start), source(end)) {
        (Extended::Constant(first), _, Some(end)) => exceeds(facts, end, first, is_signed),
        (_, Some(start), Some(end)) => facts.iter().any(|fact| {
            fact.predicate == less && (fact.left, fact.right) == (start, end)
                || swapped(fact.predicate) == less && (fact.right, fact.left) == (start, end)
        }),
        _ => false,
    }
}

/// True if the facts show that a number is not the greatest of 32 bits.
fn is_below_top<'m>(facts: &[KnownComparison<'m>], start: Extended<'m>, is_signed: bool) -> bool {
    let top = if is_signed { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
    let less = if is_signed { LLVMIntPredicate::LLVMIntSLT } else { LLVMIntPredicate::LLVMIntULT };
    match (start, source(start)) {
        (Extended::Constant(first), _) => first < top,
        (_, Some(start)) => facts.iter().any(|fact| {
            fact.predicate == less && fact.left == start
                || swapped(fact.predicate) == less && fact.right == start
        }),
        _ => false,
    }
}

/// True if the facts show that a number of 32 bits exceeds a constant.
fn exceeds<'m>(facts: &[KnownComparison<'m>], value: Val<'m>, least: i64, is_signed: bool) -> bool {
    use LLVMIntPredicate::*;
    facts.iter().any(|fact| {
        let (predicate, other) = if fact.left == value {
            (fact.predicate, fact.right)
        } else if fact.right == value {
            (swapped(fact.predicate), fact.left)
        } else {
            return false;
        };
        let Some(bits) = other.bits() else { return false };
        let other = if is_signed { i64::from(bits as u32 as i32) } else { i64::from(bits as u32) };
        match (predicate, is_signed) {
            (LLVMIntSGT, true) | (LLVMIntUGT, false) => other >= least,
            (LLVMIntSGE, true) | (LLVMIntUGE, false) | (LLVMIntEQ, _) => other > least,
            (LLVMIntNE, false) => other == 0 && least == 0,
            _ => false,
        }
    })
}

/// Builds the counter of 32 bits and its test; the old counter becomes an extension.
fn rebuild<'m>(
    found: &SimpleLoop<'m>,
    counter: &Counter<'m>,
    [start, end]: [Extended<'m>; 2],
    reading: Reading,
    rewriter: &Rewriter<'m>,
) {
    let narrow = |extended| match extended {
        Extended::Constant(value) => rewriter.constant(NARROW, value),
        Extended::Signed(value) | Extended::Unsigned { value, .. } => value,
    };
    let extend = |value| match reading {
        Reading::Signed => rewriter.cast(LLVMOpcode::LLVMSExt, value, WIDE),
        Reading::Unsigned => rewriter.cast(LLVMOpcode::LLVMZExt, value, WIDE),
        Reading::Nonnegative => rewriter.extend_nonnegative(value, WIDE),
    };
    let flags = WrapFlags { nuw: reading != Reading::Signed, nsw: reading != Reading::Unsigned };
    let phi = rewriter.phi(found.header, rewriter.int(NARROW), &[(narrow(start), found.entering)]);
    let step = rewriter.constant(NARROW, counter.step);
    let next = rewriter.before(counter.linear.next).binary(LLVMOpcode::LLVMAdd, phi, step, flags);
    let wide_next = extend(next);
    rewriter.add_incoming(phi, next, found.latch);
    let comparison = counter.test.comparison;
    rewriter.before(comparison);
    let sides = if counter.test.side == 0 { [next, narrow(end)] } else { [narrow(end), next] };
    let predicate = match reading {
        Reading::Unsigned => ordered(comparison.int_predicate(), counter, false),
        _ => ordered(comparison.int_predicate(), counter, true),
    };
    let test = rewriter.compare(predicate, sides[0], sides[1]);
    rewriter.replace(comparison, test);
    rewriter.after_phis(found.header);
    rewriter.replace(counter.linear.phi, extend(phi));
    rewriter.replace(counter.linear.next, wide_next);
}

/// Returns the ordered predicate of a test. The counter never passes its end, so inequality means that it is below.
fn ordered(predicate: LLVMIntPredicate, counter: &Counter<'_>, is_signed: bool) -> LLVMIntPredicate {
    use LLVMIntPredicate::*;
    let (less, not_less) = if is_signed { (LLVMIntSLT, LLVMIntSGE) } else { (LLVMIntULT, LLVMIntUGE) };
    let predicate = if counter.test.side == 0 { predicate } else { swapped(predicate) };
    let goes_on = matches!(predicate, LLVMIntNE | LLVMIntSLT | LLVMIntULT);
    let predicate = if goes_on { less } else { not_less };
    if counter.test.side == 0 { predicate } else { swapped(predicate) }
}
