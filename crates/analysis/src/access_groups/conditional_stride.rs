//! Strides of the terms of an address, unconditional or under run-time conditions.

use heddle_ir::inst::Detail;
use heddle_ir::types::MAX_LANES;
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Block, Inst, Op, Value};
use smallvec::SmallVec;

use super::condition::{ConditionPurpose, StrideCondition, UniformBound, interpret, range_of};
use super::{AccessGroupFinder, AccessGroupKey};
use crate::address::Extension;
use crate::shape::Shape;

/// Maximum recursion depth, and maximum number of conditions per group.
const MAX_DEPTH: usize = 3;
const MAX_CONDITIONS: usize = 3;
/// Maximum number of parts of a sum, and of bounds of a clamped value, that are visited.
const MAX_PARTS: usize = 32;
/// Width of an address in bits.
const ADDRESS: u32 = 64;

/// Stride of a number, read as signed or unsigned: its lanes are affine and do not wrap if the conditions hold.
struct ConditionalStride {
    stride: i128,
    /// Minimum and maximum over all lanes of the brush, if known.
    range: Option<(i128, i128)>,
    conditions: SmallVec<[StrideCondition; MAX_CONDITIONS]>,
}

impl AccessGroupFinder<'_> {
    fn width(&self, value: Value) -> u32 {
        self.func.value_type(value).scalar().bits()
    }

    fn constant(&self, value: Value, extension: Extension) -> Option<i128> {
        match extension {
            Extension::Signed => self.func.signed_constant(value),
            Extension::Unsigned => Some(self.func.unsigned_constant(value)? as i128),
        }
    }

    /// True if the value is known to have zeros where the constant has ones.
    pub(super) fn are_disjoint(&self, value: Value, constant: Value) -> bool {
        let Some(constant) = self.func.unsigned_constant(constant) else { return false };
        let zeros = self.divergence.shape(value).each().zeros();
        constant < 1 << zeros.min(ADDRESS)
    }

    /// Returns the stride of the addresses with this key in a block, and its conditions.
    pub(super) fn group_stride(
        &self,
        key: &AccessGroupKey,
        block: Block,
    ) -> Option<(i64, Vec<StrideCondition>)> {
        let mut stride = self.lane_stride(key.root, block)?;
        let mut conditions: Vec<StrideCondition> = Vec::new();
        for (term, factor) in &key.terms {
            let fact = self.divergence.fact_at(self.func, self.control, term.value, block);
            let cannot_wrap = self.width(term.value) == ADDRESS
                || match term.extension {
                    Extension::Signed => fact.no_wrap.signed,
                    Extension::Unsigned => fact.no_wrap.unsigned,
                }
                || key.multiples.contains(term) && self.spans_less_than_half(term.value, block);
            let own = match self.lane_stride(term.value, block).filter(|_| cannot_wrap) {
                Some(own) => own,
                None => {
                    let line = self.stride_of(term.value, term.extension, block, 0)?;
                    conditions.extend(line.conditions);
                    line.stride as i64
                }
            };
            stride = stride.wrapping_add(own.wrapping_mul(*factor));
        }
        conditions.sort_unstable();
        conditions.dedup();
        (conditions.len() <= MAX_CONDITIONS).then_some((stride, conditions))
    }

    /// True if a value within half of its range cannot wrap: two lanes differ by less than half of all numbers, and so do the
    /// strides between them, so the two differences are equal.
    fn spans_less_than_half(&self, value: Value, block: Block) -> bool {
        let lanes = self.geometry.width().unwrap_or(MAX_LANES);
        let reach = |stride: i64| i128::from(stride).unsigned_abs() * u128::from(lanes.saturating_sub(1));
        let Some(half) = self.width(value).checked_sub(1) else { return false };
        self.lane_stride(value, block).is_some_and(|stride| reach(stride) < 1 << half)
    }

    /// Returns the stride of a value, modulo 2^width.
    pub(super) fn lane_stride(&self, value: Value, block: Block) -> Option<i64> {
        let shape = self.divergence.fact_at(self.func, self.control, value, block).shape;
        let steps = shape.strides()?.all();
        // Each row or plane of lanes must continue where the last one ended.
        let goes_on = |step: i64, dimension: usize| {
            let before =
                (0..dimension).map(|at| self.geometry.extent(at).map(i64::from)).product::<Option<i64>>();
            self.geometry.extent(dimension) == Some(1)
                || before.is_some_and(|before| step == steps[0].wrapping_mul(before))
        };
        let is_line = || (1..steps.len()).all(|dimension| goes_on(steps[dimension], dimension));
        (shape.is_uniform() || is_line()).then_some(steps[0])
    }

    fn is_uniform(&self, value: Value, block: Block) -> bool {
        self.divergence.fact_at(self.func, self.control, value, block).is_uniform()
    }

    /// True if the operands still have the values that the instruction read, in all lanes: no divergent loop was left since.
    fn is_current(&self, inst: Inst, block: Block) -> bool {
        let cycles = &self.control.cycles;
        let mut enclosing = self.func.layout.block_of(inst).and_then(|at| cycles.innermost(at));
        while let Some(cycle) = enclosing.filter(|&cycle| !cycles.contains(cycle, block)) {
            if self.divergence.is_divergent_loop(cycle) {
                return false;
            }
            enclosing = cycles.parent(cycle);
        }
        true
    }

    /// Returns the stride of a value with a constant base.
    fn constant_stride(&self, value: Value, extension: Extension, block: Block) -> Option<ConditionalStride> {
        let lanes = i128::from(self.geometry.width()?);
        if self.geometry.extent(0) != self.geometry.width() {
            return None;
        }
        let fact = self.divergence.fact_at(self.func, self.control, value, block);
        let Shape::Strided { strides, base } = fact.shape else { return None };
        let width = self.width(value);
        let first = interpret(base.constant(width)?.into(), width, extension == Extension::Signed);
        let stride = i128::from(strides.along(0));
        let last = first + stride * (lanes - 1);
        let range = (first.min(last), first.max(last));
        let (min, max) = range_of(width, extension == Extension::Signed);
        let fits = min <= range.0 && range.1 <= max;
        fits.then(|| ConditionalStride { stride, range: Some(range), conditions: SmallVec::new() })
    }

    /// Returns the stride of a value, under conditions if needed.
    fn stride_of(
        &self,
        value: Value,
        extension: Extension,
        block: Block,
        depth: usize,
    ) -> Option<ConditionalStride> {
        if depth > MAX_DEPTH || self.width(value) > ADDRESS {
            return None;
        }
        if let Some(line) = self.constant_stride(value, extension, block) {
            return Some(line);
        }
        if let Some(inst) = self.func.def_inst(value).filter(|&inst| self.is_current(inst, block)) {
            let data = self.func.inst(inst);
            match (data.op, extension) {
                (Op::Zext, _) => return self.stride_of(data.args[0], Extension::Unsigned, block, depth + 1),
                (Op::Sext, Extension::Signed) => {
                    return self.stride_of(data.args[0], Extension::Signed, block, depth + 1);
                }
                // A low-bit mask is a truncation and a zero extension.
                (Op::And, _) => {
                    let mask = self.constant(data.args[1], Extension::Unsigned).filter(|&mask| mask > 0);
                    let width = mask.filter(|mask| mask & (mask + 1) == 0).map(|mask| mask.count_ones());
                    if let Some(width) = width.filter(|&width| width < self.width(value)) {
                        return self.low_bits_stride(data.args[0], width, Extension::Unsigned, block);
                    }
                }
                _ => {}
            }
        }
        self.sum_stride(value, extension, block, depth)
            .or_else(|| self.low_bits_stride(value, self.width(value), extension, block))
            .or_else(|| self.clamped_stride(value, extension, block))
            .or_else(|| self.chosen_stride(value, extension, block, depth))
    }

    /// Returns the stride of the low bits of a strided value: no lane wraps if lane 0 is far enough from the end.
    fn low_bits_stride(
        &self,
        value: Value,
        width: u32,
        extension: Extension,
        block: Block,
    ) -> Option<ConditionalStride> {
        let stride = self.lane_stride(value, block).filter(|&stride| stride != 0)?;
        let is_signed = extension == Extension::Signed;
        let reach = i128::from(stride) * (i128::from(self.geometry.width()?) - 1);
        let (min, max) = range_of(width, is_signed);
        let (min, max) = (min - reach.min(0), max - reach.max(0));
        let is_truncated = width < self.width(value);
        let condition = StrideCondition {
            value,
            stride,
            width,
            is_truncated,
            is_signed,
            min,
            max,
            purpose: ConditionPurpose::NoWrap,
            bound: None,
        };
        let conditions = SmallVec::from_iter([condition]);
        (min <= max).then(|| ConditionalStride { stride: stride.into(), range: None, conditions })
    }

    /// Returns the stride of a strided value clamped to uniform bounds, under the condition that all lanes are within them.
    fn clamped_stride(&self, value: Value, extension: Extension, block: Block) -> Option<ConditionalStride> {
        let op = |inst: Inst| self.func.inst(inst).op;
        let width = self.width(value);
        let is_signed = match op(self.func.def_inst(value)?) {
            Op::Smin | Op::Smax => true,
            Op::Umin | Op::Umax => false,
            _ => return None,
        };
        let own = if is_signed { Extension::Signed } else { Extension::Unsigned };
        // Both readings of the value must be the same number.
        let (read_low, read_high) = range_of(width, extension == Extension::Signed);
        let (low, high) = range_of(width, is_signed);
        let (mut low, mut high) = (low.max(read_low), high.min(read_high));
        let mut bounds: SmallVec<[(Value, bool); MAX_CONDITIONS]> = SmallVec::new();
        let mut inner = value;
        for _ in 0..MAX_PARTS {
            let Some(inst) = self.func.def_inst(inner).filter(|&inst| self.is_current(inst, block)) else {
                break;
            };
            let is_upper = match (op(inst), is_signed) {
                (Op::Smin, true) | (Op::Umin, false) => true,
                (Op::Smax, true) | (Op::Umax, false) => false,
                _ => break,
            };
            let [mut of, mut by] = [0, 1].map(|arg| self.func.inst(inst).args[arg]);
            if self.is_uniform(of, block) {
                std::mem::swap(&mut of, &mut by);
            }
            match self.constant(by, own) {
                Some(constant) if is_upper => high = high.min(constant),
                Some(constant) => low = low.max(constant),
                None if !self.is_uniform(by, block) || bounds.len() == MAX_CONDITIONS => return None,
                None => bounds.push((by, is_upper)),
            }
            inner = of;
        }
        let stride = self.lane_stride(inner, block).filter(|&stride| stride != 0)?;
        let reach = stride.checked_mul(i64::from(self.geometry.width()?) - 1)?;
        let (min, max) = (low - i128::from(reach.min(0)), high - i128::from(reach.max(0)));
        // With constant lanes, lane 0 may always be out of bounds.
        let known = self.constant_stride(inner, own, block).and_then(|line| line.range);
        let is_out = |(first, last): (i128, i128)| first < low || last > high;
        if min > max || known.is_some_and(is_out) {
            return None;
        }
        let within = |(min, max), bound| StrideCondition {
            value: inner,
            stride,
            width,
            is_truncated: false,
            is_signed,
            min,
            max,
            purpose: ConditionPurpose::InBounds,
            bound,
        };
        let bound = |(value, is_upper)| {
            let reach = if is_upper { reach.max(0) } else { reach.min(0) };
            Some(UniformBound { value, is_upper, reach })
        };
        // The first condition excludes wrapping.
        let mut bounds = bounds.into_iter().map(bound);
        let mut conditions = SmallVec::from_iter([within((min, max), bounds.next().flatten())]);
        conditions.extend(bounds.map(|bound| within(range_of(width, is_signed), bound)));
        Some(ConditionalStride { stride: stride.into(), range: None, conditions })
    }

    /// Returns the stride of a choice between two numbers by a comparison of an index with a uniform number (`x == n - 1 ? 0 : x + 1`), under
    /// the condition that all lanes choose the same one.
    fn chosen_stride(
        &self,
        value: Value,
        extension: Extension,
        block: Block,
        depth: usize,
    ) -> Option<ConditionalStride> {
        let current = |value: Value| self.func.def_inst(value).filter(|&inst| self.is_current(inst, block));
        let chosen = self.func.inst(current(value)?);
        let (Op::Select, &[condition, one, other]) = (chosen.op, &chosen.args[..]) else { return None };
        let comparison = self.func.inst(current(condition)?);
        let (&Detail::IntCompare(predicate), &[a, b]) = (&comparison.detail, &comparison.args[..]) else {
            return None;
        };
        let is_of_index = |&(index, by, _): &(Value, Value, IntPredicate)| {
            !self.is_uniform(index, block) && self.is_uniform(by, block)
        };
        let orders = [(a, b, predicate), (b, a, predicate.swapped())];
        let (index, by, predicate) = orders.into_iter().find(is_of_index)?;
        let is_int = self.func.value_type(index).scalar().is_int() && self.width(index) <= ADDRESS;
        let stride = self.lane_stride(index, block).filter(|&stride| is_int && stride != 0)?;
        [(predicate, one), (predicate.negated(), other)].into_iter().find_map(|(predicate, arm)| {
            let condition = self.comparison_of_all_lanes(predicate, index, by, stride)?;
            let mut line =
                self.stride_of(arm, extension, block, depth + 1).filter(|line| line.stride != 0)?;
            line.conditions.push(condition);
            (line.conditions.len() <= MAX_CONDITIONS).then_some(line)
        })
    }

    /// Returns the condition under which a strided index compares with a uniform number in all lanes as a predicate says; none for `Eq`.
    fn comparison_of_all_lanes(
        &self,
        predicate: IntPredicate,
        index: Value,
        by: Value,
        stride: i64,
    ) -> Option<StrideCondition> {
        use IntPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let is_signed = matches!(predicate, Sge | Sgt | Sle | Slt);
        let own = if is_signed { Extension::Signed } else { Extension::Unsigned };
        let width = self.width(index);
        let (low, high) = range_of(width, is_signed);
        let known = self.constant(by, own);
        let (is_below, is_strict) = match predicate {
            Eq => return None,
            // The index ends at the number, or begins with it.
            Ne => (known != Some(low), true),
            Ult | Slt => (true, true),
            Ule | Sle => (true, false),
            Ugt | Sgt => (false, true),
            Uge | Sge => (false, false),
        };
        let reach = stride.checked_mul(i64::from(self.geometry.width()?) - 1)?;
        let apart = i64::from(is_strict);
        let (closest, is_upper) =
            if is_below { (reach.max(0) + apart, true) } else { (reach.min(0) - apart, false) };
        // No lane wraps, and none is beyond the number.
        let (mut min, mut max) = (low - i128::from(reach.min(0)), high - i128::from(reach.max(0)));
        match known {
            Some(number) if is_below => max = max.min(number - i128::from(closest)),
            Some(number) => min = min.max(number - i128::from(closest)),
            None if is_below => max -= i128::from(apart),
            None => min += i128::from(apart),
        }
        let bound = known.is_none().then_some(UniformBound { value: by, is_upper, reach: closest });
        let condition = StrideCondition {
            value: index,
            stride,
            width,
            is_truncated: false,
            is_signed,
            min,
            max,
            purpose: ConditionPurpose::OneArm,
            bound,
        };
        (min <= max).then_some(condition)
    }

    /// Returns the stride of a sum of a multiple of one uniform value and constant lanes, if no lane wraps.
    fn sum_stride(
        &self,
        value: Value,
        extension: Extension,
        block: Block,
        depth: usize,
    ) -> Option<ConditionalStride> {
        let width = self.width(value);
        let (min, max) = range_of(width, extension == Extension::Signed);
        // The sum modulo 2^width: `factor * uniform`, plus a number within `range`.
        let mut uniform: Option<(Value, i128)> = None;
        let mut sum = ConditionalStride { stride: 0, range: Some((0, 0)), conditions: SmallVec::new() };
        let mut parts: SmallVec<[(Value, i128); 8]> = SmallVec::from_iter([(value, 1)]);
        let mut seen = 0;
        while let Some((part, factor)) = parts.pop() {
            seen += 1;
            if seen > MAX_PARTS || factor.unsigned_abs() > 1 << 40 {
                return None;
            }
            let (low, high) = sum.range?;
            if let Some(constant) = self.constant(part, extension) {
                sum.range = Some((low + factor * constant, high + factor * constant));
                continue;
            }
            if self.is_uniform(part, block) {
                let (known, old) = uniform.unwrap_or((part, 0));
                if known != part {
                    return None;
                }
                uniform = Some((part, old + factor));
                continue;
            }
            if self.push_operands_modulo(part, factor, block, &mut parts) {
                continue;
            }
            let line = match self.constant_stride(part, extension, block) {
                Some(line) => line,
                None => self.identity_stride(part, extension, block, depth)?,
            };
            let (first, last) = line.range?;
            let (first, last) = (factor * first, factor * last);
            sum.range = Some((low + first.min(last), high + first.max(last)));
            sum.stride += factor * line.stride;
            sum.conditions.extend(line.conditions);
        }
        let (low, high) = sum.range?;
        match uniform.filter(|&(_, factor)| factor != 0) {
            None => (min <= low && high <= max).then_some(sum),
            Some((value, factor)) => {
                // min <= factor * u + low, factor * u + high <= max
                let (from, to) = (min - low, max - high);
                let (from, to) = match factor {
                    1.. => (ceiling(from, factor), to.div_euclid(factor)),
                    _ => (ceiling(-to, -factor), (-from).div_euclid(-factor)),
                };
                let (from, to) = (from.max(min), to.min(max));
                if from > to || sum.conditions.len() == MAX_CONDITIONS {
                    return None;
                }
                let is_signed = extension == Extension::Signed;
                sum.conditions.push(StrideCondition {
                    value,
                    stride: 0,
                    width,
                    is_truncated: false,
                    is_signed,
                    min: from,
                    max: to,
                    purpose: ConditionPurpose::NoWrap,
                    bound: None,
                });
                sum.range = None;
                Some(sum)
            }
        }
    }

    /// Pushes the operands of a sum or a multiple, modulo 2^width; false if the value is neither.
    fn push_operands_modulo(
        &self,
        value: Value,
        factor: i128,
        block: Block,
        parts: &mut SmallVec<[(Value, i128); 8]>,
    ) -> bool {
        let Some(inst) = self.func.def_inst(value).filter(|&inst| self.is_current(inst, block)) else {
            return false;
        };
        let data = self.func.inst(inst);
        match data.op {
            Op::Add => parts.extend([(data.args[0], factor), (data.args[1], factor)]),
            Op::Or if data.flags.has(Flag::Disjoint) => {
                parts.extend([(data.args[0], factor), (data.args[1], factor)]);
            }
            Op::Sub => parts.extend([(data.args[0], factor), (data.args[1], -factor)]),
            Op::Mul => match self.constant(data.args[1], Extension::Signed) {
                Some(constant) if constant.unsigned_abs() < 1 << 40 => {
                    parts.push((data.args[0], factor * constant));
                }
                _ => return false,
            },
            Op::Shl => match self.constant(data.args[1], Extension::Unsigned) {
                Some(amount) if (0..i128::from(self.width(value).min(40))).contains(&amount) => {
                    parts.push((data.args[0], factor << amount));
                }
                _ => return false,
            },
            _ => return false,
        }
        true
    }

    /// Returns the stride of an operation that is the identity if its uniform operand is large enough, or one.
    fn identity_stride(
        &self,
        value: Value,
        extension: Extension,
        block: Block,
        depth: usize,
    ) -> Option<ConditionalStride> {
        let inst = self.func.def_inst(value).filter(|&inst| self.is_current(inst, block))?;
        let data = self.func.inst(inst);
        let is_signed = match data.op {
            Op::Urem | Op::Udiv | Op::Umin => false,
            Op::Srem | Op::Sdiv | Op::Smin => true,
            Op::Mul | Op::Shl => extension == Extension::Signed,
            _ => return None,
        };
        let [mut of, mut by] = [data.args[0], data.args[1]];
        let commutes = matches!(data.op, Op::Umin | Op::Smin | Op::Mul);
        if commutes && self.is_uniform(of, block) {
            std::mem::swap(&mut of, &mut by);
        }
        if !self.is_uniform(by, block) || self.func.constant(by).is_some() {
            return None;
        }
        let width = self.width(value);
        let inner = if is_signed { Extension::Signed } else { Extension::Unsigned };
        let mut line = self.stride_of(of, inner, block, depth + 1)?;
        let (low, high) = line.range?;
        let max = range_of(width, is_signed).1;
        let (min, max) = match data.op {
            Op::Mul => (1, 1),
            Op::Shl => (0, 0),
            Op::Umin | Op::Smin => (high, max),
            // Remainders and quotients of negative numbers round in the other direction.
            _ if low < 0 || high == max => return None,
            _ => (high + 1, max),
        };
        // Both readings of the result must be the same number.
        if range_of(width, extension == Extension::Signed).1 < high
            || range_of(width, extension == Extension::Signed).0 > low
        {
            return None;
        }
        if matches!(data.op, Op::Udiv | Op::Sdiv) {
            (line.stride, line.range) = (0, Some((0, 0)));
        }
        if line.conditions.len() == MAX_CONDITIONS {
            return None;
        }
        line.conditions.push(StrideCondition {
            value: by,
            stride: 0,
            width,
            is_truncated: false,
            is_signed,
            min,
            max,
            purpose: ConditionPurpose::InBounds,
            bound: None,
        });
        Some(line)
    }
}

fn ceiling(number: i128, by: i128) -> i128 {
    -(-number).div_euclid(by)
}

#[cfg(test)]
mod tests {
    #[test]
    fn quotients_are_rounded_up() {
        assert_eq!([-7, -6, 0, 6, 7].map(|number| super::ceiling(number, 3)), [-2, -2, 0, 2, 3]);
    }
}
