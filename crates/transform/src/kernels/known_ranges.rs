//! Ranges of a kernel's indices in a launch, computed from its extents and arguments.

use super::index_ranges::{
    BoundedCounter, IndexPromise, IndexRanges, LaunchNumbers, RangeOperand, RangeStep,
};
use heddle_analysis::{IntegerRange, operation_range};
use heddle_ir::Op;
use heddle_ir::words::IntPredicate;
use smallvec::SmallVec;

/// Ranges of steps in a launch. Each is one of signed numbers of the result's width.
pub(super) struct KnownRanges<'a> {
    ranges: &'a IndexRanges,
    launch: &'a LaunchNumbers<'a>,
    /// Ranges of results, and whether their exact ones are the same.
    results: SmallVec<[(IntegerRange, bool); 32]>,
}

impl<'a> KnownRanges<'a> {
    pub(super) fn new(ranges: &'a IndexRanges, launch: &'a LaunchNumbers<'a>) -> KnownRanges<'a> {
        let mut known = KnownRanges { ranges, launch, results: SmallVec::new() };
        for step in &ranges.steps {
            let result = known.result(step);
            known.results.push(result.unwrap_or_else(|| (IntegerRange::signed(step.bits), false)));
        }
        known
    }

    fn of(&self, operand: RangeOperand) -> Option<IntegerRange> {
        match operand {
            RangeOperand::Constant(range) => Some(range),
            RangeOperand::Parameter(number, bits) => {
                let value = self.launch.parameters.get(number).copied().flatten();
                let known = value.map(|value| {
                    let unused = 128 - bits;
                    let value = (i128::from(value) << unused) >> unused;
                    IntegerRange::new(value, value)
                });
                Some(known.unwrap_or_else(|| IntegerRange::signed(bits)))
            }
            RangeOperand::Step(step) => self.results.get(step).map(|&(range, _)| range),
            RangeOperand::Any(bits) => Some(IntegerRange::signed(bits)),
            RangeOperand::None => None,
        }
    }

    /// Returns the range of a step's operand where the step is executed.
    fn of_operand(&self, step: &RangeStep, at: usize) -> Option<IntegerRange> {
        let mut range = self.of(step.operands.get(at)?.0)?;
        for &(_, predicate, other) in step.guards.iter().filter(|(of, ..)| *of == at) {
            range = self.of(other).map_or(range, |other| restricted(range, predicate, other));
        }
        Some(range)
    }

    /// Returns the exact range of a step's result, which may need more bits than it has.
    fn exact(&self, step: &RangeStep) -> Option<IntegerRange> {
        let width = |at: usize| step.operands.get(at).map_or(0, |&(_, width)| width);
        let count = step.operands.len();
        let ranges: SmallVec<[Option<IntegerRange>; 2]> =
            (0..count).map(|at| self.of_operand(step, at)).collect();
        if step.is_remainder {
            let [of, by] = [0, 1].map(|at| ranges.get(at).copied().flatten());
            let is_exact = of.is_some_and(IntegerRange::is_nonnegative) && by.is_some_and(|by| by.min > 0);
            return is_exact.then(|| operation_range(Op::Urem, count, width, |at| ranges[at])).flatten();
        }
        operation_range(step.op, count, width, |at| ranges.get(at).copied().flatten())
    }

    /// Returns the range of a step's result, and true if it is the exact one; none if it is any number.
    fn result(&self, step: &RangeStep) -> Option<(IntegerRange, bool)> {
        let all = IntegerRange::signed(step.bits);
        if let Some(counter) = &step.counter {
            return Some((self.counter(counter, all)?, true));
        }
        let exact = match step.op {
            _ if step.is_any => None,
            Op::Freeze => self.of_operand(step, 0),
            op => {
                step.dimension.and_then(|along| queried(op, along, self.launch)).or_else(|| self.exact(step))
            }
        }?;
        if exact.is_within(all) {
            return Some((exact, true));
        }
        // Numbers beyond would be poison.
        let (min, max) = (exact.min.max(all.min), exact.max.min(all.max));
        (step.is_promised && min <= max).then(|| (IntegerRange::new(min, max), false))
    }

    /// True if the launch keeps a promise.
    pub(super) fn keeps(&self, (place, promise): (usize, IndexPromise)) -> bool {
        let step = &self.ranges.steps[place];
        let operand = |at: usize| self.of_operand(step, at);
        match promise {
            IndexPromise::NoWrap => self.results[place].1,
            IndexPromise::NonNegative => operand(0).is_some_and(IntegerRange::is_nonnegative),
            IndexPromise::Signed => {
                [0, 1].into_iter().all(|at| operand(at).is_some_and(IntegerRange::is_nonnegative))
            }
            IndexPromise::Narrow => {
                let small = IntegerRange::new(0, (1 << 31) - 1);
                [0, 1].into_iter().all(|at| operand(at).is_some_and(|range| range.is_within(small)))
            }
            IndexPromise::Whole(_) => {
                let whole = self.ranges.whole.iter().find(|(of, ..)| *of == place);
                whole.is_some_and(|&(_, value, kept)| {
                    self.of(value).is_some_and(|range| range.is_within(kept))
                })
            }
        }
    }

    /// Returns the range of a counter; none if it may wrap around.
    fn counter(&self, counter: &BoundedCounter<RangeOperand>, all: IntegerRange) -> Option<IntegerRange> {
        let BoundedCounter { step, continues, compares_next, is_promised, .. } = *counter;
        let (init, bound) = (self.of(counter.init)?, self.of(counter.bound)?);
        use IntPredicate::{Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let is_unsigned = matches!(continues, Ult | Ule | Ugt | Uge);
        if is_unsigned && !(init.is_nonnegative() && bound.is_nonnegative()) {
            return None;
        }
        // A counter that leaves its loop at a number has to come to it.
        let starts_before = |start: i128, end: i128| if compares_next { start < end } else { start <= end };
        // The last number for which the loop continues.
        let last = match (continues, step > 0) {
            (Slt | Ult, true) => bound.max - 1,
            (Sle | Ule, true) => bound.max,
            (Sgt | Ugt, false) => bound.min + 1,
            (Sge | Uge, false) => bound.min,
            (Ne, true) if starts_before(init.max, bound.min) => bound.max - 1,
            (Ne, false) if starts_before(bound.max, init.min) => bound.min + 1,
            _ => return None,
        };
        // A counter that is compared is followed by one more.
        let end = if compares_next { last } else { last + step };
        let range = match step > 0 {
            true => IntegerRange::new(init.min, init.max.max(end)),
            false => IntegerRange::new(init.min.min(end), init.max),
        };
        let next = IntegerRange::new(range.min + step, range.max + step);
        let wraps =
            |range: IntegerRange| !range.is_within(all) || is_unsigned && step < 0 && !range.is_nonnegative();
        let next_wraps = compares_next && wraps(next) && (is_unsigned || !is_promised);
        (!wraps(range) && !next_wraps).then_some(range)
    }
}

/// Returns the numbers of a range for which a comparison with a number of another range may hold.
fn restricted(range: IntegerRange, predicate: IntPredicate, other: IntegerRange) -> IntegerRange {
    use IntPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    let IntegerRange { mut min, mut max } = range;
    let are_unsigned = range.is_nonnegative() && other.is_nonnegative();
    match predicate {
        Sgt => min = min.max(other.min + 1),
        Sge => min = min.max(other.min),
        Slt => max = max.min(other.max - 1),
        Sle => max = max.min(other.max),
        Ugt if are_unsigned => min = min.max(other.min + 1),
        Uge if are_unsigned => min = min.max(other.min),
        // Below a nonnegative number, compared as unsigned, are nonnegative numbers only.
        Ult if other.is_nonnegative() => (min, max) = (min.max(0), max.min(other.max - 1)),
        Ule if other.is_nonnegative() => (min, max) = (min.max(0), max.min(other.max)),
        Eq => (min, max) = (min.max(other.min), max.min(other.max)),
        Ne if other.min == other.max && min == other.min => min += 1,
        Ne if other.min == other.max && max == other.min => max -= 1,
        _ => {}
    }
    // Nothing comes to a place for which no number is left.
    if min <= max { IntegerRange::new(min, max) } else { range }
}

/// Range of a query of the launch along a dimension.
fn queried(op: Op, dimension: u8, launch: &LaunchNumbers<'_>) -> Option<IntegerRange> {
    let along = usize::from(dimension);
    let of = |numbers: [u64; 3]| numbers.get(along).map(|&number| i128::from(number));
    let (global, offset, local) = (of(launch.global)?, of(launch.offset)?, of(launch.local)?);
    let groups = (global + local - 1) / local.max(1);
    let (min, max) = match op {
        Op::GlobalId => (offset, offset + global - 1),
        Op::LocalId => (0, local - 1),
        Op::GroupId => (0, groups - 1),
        Op::NumGroups => (groups, groups),
        // The last group may be smaller.
        Op::LocalSize => (1, local),
        Op::EnqueuedSize => (local, local),
        Op::GlobalSize => (global, global),
        Op::GlobalOffset => (offset, offset),
        _ => return None,
    };
    (min <= max).then(|| IntegerRange::new(min, max))
}
