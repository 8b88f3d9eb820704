//! Divisions in loops that walk over work-items by a step that lanes share.
//!
//! ```text
//!     for (i = id; i < n; i += step)      i is i₀ + lane in each iteration
//!       … i % s … i / s …
//! ```
//!
//! If `i₀`, the step and `s` are multiples of the number of lanes, the lanes are in one block of `s` work-items in each iteration: the
//! quotient is uniform, the remainder strided. The region's fast version tests that once, before the loop.
//!
//! Signed indices must not become negative. With `i₀` and the step not negative, and `n` at least a step below the end of the type, no
//! lane wraps around: it continues only below `n`.

use super::builder::VersionBuilder;
use super::candidates::IndexShape;
use crate::block_copier::BlockCopier;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::Detail;
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Constant, Function, Inst, Op, Value};

/// Index that advances by a uniform step: a φ of a start and the sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LaneRecurrence {
    pub(super) phi: Inst,
    /// The sum of φ and step.
    pub(super) next: Inst,
    pub(super) start: Value,
    pub(super) step: Value,
    /// The loop continues only where the sum is below, as a signed number.
    pub(super) bound: Option<Value>,
}

/// Division of such an index by a uniform value.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopDivision {
    pub(super) inst: Inst,
    pub(super) index: LaneRecurrence,
    /// `freeze` of the φ, where that is the dividend.
    pub(super) frozen: Option<Inst>,
    pub(super) by: Value,
}

/// Index of a loop in the fast version.
#[derive(Clone, Copy)]
pub(super) struct LoopRewrite {
    index: LaneRecurrence,
    is_signed: bool,
    /// Start in each lane, and step.
    start: Value,
    step: Value,
}

/// Division of such an index in the fast version, with its divisor and the lane number.
#[derive(Clone, Copy)]
pub(super) struct DivisionRewrite {
    division: LoopDivision,
    by: Value,
    lane: Value,
}

/// Indices of loops and their divisions in the fast version.
#[derive(Default)]
pub(super) struct StridedLoops {
    pub(super) indices: Vec<LoopRewrite>,
    pub(super) divisions: Vec<DivisionRewrite>,
}

impl LoopDivision {
    /// Recognizes a division. `shape` returns the shapes of values that can be computed before the region.
    pub(super) fn find(
        region: &Function,
        inst: Inst,
        shape: &dyn Fn(Value) -> Option<IndexShape>,
    ) -> Option<LoopDivision> {
        let data = region.inst(inst);
        let (Op::Udiv | Op::Urem | Op::Sdiv | Op::Srem, &[dividend, by]) = (data.op, &data.args[..]) else {
            return None;
        };
        if data.is_total() || shape(by) != Some(IndexShape::Uniform) {
            return None;
        }
        let mut definition = region.def_inst(dividend)?;
        let frozen = (region.inst(definition).op == Op::Freeze).then_some(definition);
        if frozen.is_some() {
            definition = region.def_inst(region.inst(definition).args[0])?;
        }
        let index = LaneRecurrence::find(region, definition, shape)?;
        let is_signed = matches!(data.op, Op::Sdiv | Op::Srem);
        (!is_signed || index.bound.is_some()).then_some(LoopDivision { inst, index, frozen, by })
    }
}

impl LaneRecurrence {
    fn find(
        region: &Function,
        phi: Inst,
        shape: &dyn Fn(Value) -> Option<IndexShape>,
    ) -> Option<LaneRecurrence> {
        let data = region.inst(phi);
        let value = region.result(phi)?;
        if data.op != Op::Phi || data.shadow().is_some() {
            return None;
        }
        let edges: Vec<_> = data.incoming().collect();
        let &[one, other] = &edges[..] else { return None };
        for ((_, start), (latch, next)) in [(one, other), (other, one)] {
            let Some(sum) = region.def_inst(next).filter(|&sum| region.inst(sum).op == Op::Add) else {
                continue;
            };
            let step = match region.inst(sum).args[..] {
                [index, step] if index == value => step,
                [step, index] if index == value => step,
                _ => continue,
            };
            let shapes = [shape(start), shape(step)];
            if shapes == [Some(IndexShape::Strided), Some(IndexShape::Uniform)] {
                let block = region.layout.block_of(phi)?;
                let bound = || {
                    let branch = region.inst(region.terminator(latch)?);
                    let (&[condition], &[then, otherwise]) = (&branch.args[..], branch.targets()) else {
                        return None;
                    };
                    let comparison = region.inst(region.def_inst(condition)?);
                    let Detail::IntCompare(predicate) = comparison.detail else { return None };
                    let &[left, right] = &comparison.args[..] else { return None };
                    let (bound, predicate) = match () {
                        () if left == next => (right, predicate),
                        () if right == next => (left, predicate.swapped()),
                        () => return None,
                    };
                    let continues = match () {
                        () if then == otherwise => return None,
                        () if then == block => predicate,
                        () if otherwise == block => predicate.negated(),
                        () => return None,
                    };
                    let is_known =
                        continues == IntPredicate::Slt && shape(bound) == Some(IndexShape::Uniform);
                    is_known.then_some(bound)
                };
                return Some(LaneRecurrence { phi, next: sum, start, step, bound: bound() });
            }
        }
        None
    }
}

impl VersionBuilder<'_> {
    /// Emits what the rewrites of divisions in loops need, and adds their conditions to others.
    pub(super) fn add_loops(
        &mut self,
        divisions: &[LoopDivision],
        conditions: &mut Option<Value>,
    ) -> StridedLoops {
        let mut found = StridedLoops::default();
        for division in divisions {
            let is_signed = |it: &LoopDivision| matches!(self.old.inst(it.inst).op, Op::Sdiv | Op::Srem);
            let divides_signed = is_signed(division);
            if found.indices.iter().all(|it| it.index != division.index) {
                let is_signed = divisions.iter().any(|it| it.index == division.index && is_signed(it));
                let (rewrite, holds) = self.loop_rewrite(division.index, is_signed);
                *conditions = Some(self.and_frozen(*conditions, holds));
                found.indices.push(rewrite);
            }
            let by = self.base(division.by);
            let by = self.divisor(by, divides_signed);
            let holds = self.is_multiple_of_lanes(by);
            *conditions = Some(self.and_frozen(*conditions, holds));
            let lane = self.lane(self.func.value_type(by).scalar());
            found.divisions.push(DivisionRewrite { division: *division, by, lane });
        }
        found
    }

    /// Emits the start and the step of an index in the fast version, and the test that lane 0's index is a multiple of the lanes in each
    /// iteration; that of signed divisions also tests that no index wraps around or is negative.
    fn loop_rewrite(&mut self, index: LaneRecurrence, is_signed: bool) -> (LoopRewrite, Value) {
        let (start, step) = (self.frozen_base(index.start), self.frozen_base(index.step));
        let scalar = self.func.value_type(start).scalar();
        let (starts, steps) = (self.is_multiple_of_lanes(start), self.is_multiple_of_lanes(step));
        let mut holds = self.emit(Op::And, &[starts, steps], Flags::NONE);
        if let Some(bound) = index.bound.filter(|_| is_signed) {
            let bound = self.base(bound);
            let zero = self.func.make_int(scalar, 0);
            let end = scalar.bit_mask() / 2 - u128::from(self.lanes - 1);
            let end = self.func.make_const(Constant::Scalar(scalar, end));
            let last = self.emit(Op::Sub, &[end, step], Flags::NONE);
            for (predicate, left, right) in [
                (IntPredicate::Sge, start, zero),
                (IntPredicate::Sge, step, zero),
                (IntPredicate::Sle, start, last),
                (IntPredicate::Sle, bound, last),
            ] {
                let one = self.compare(predicate, left, right);
                holds = self.emit(Op::And, &[holds, one], Flags::NONE);
            }
        }
        let lane = self.lane(scalar);
        let start = self.emit(Op::Add, &[start, lane], Flags::NONE);
        (LoopRewrite { index, is_signed, start, step }, holds)
    }

    /// Emits a division of lane 0's index before that of a copy. Returns values of the copy with their replacements.
    pub(super) fn rewrite_division(
        &mut self,
        copier: &mut BlockCopier<'_>,
        rewrite: &DivisionRewrite,
    ) -> Vec<(Value, Value)> {
        let &DivisionRewrite { division: LoopDivision { inst, index, frozen, .. }, by, lane } = rewrite;
        let result_of = |inst| self.old.result(inst).expect("what is rewritten gives a value");
        let [result, phi] = [inst, index.phi].map(result_of);
        let frozen = frozen.map(result_of);
        let [result, phi] = [result, phi].map(|value| copier.value(&mut self.func, value));
        let frozen = frozen.map(|value| copier.value(&mut self.func, value));
        let Some(copied) = self.func.def_inst(result) else { return Vec::new() };
        let (op, origin) = (self.func.inst(copied).op, self.func.inst(copied).origin);
        let mut builder = Builder::new(&mut self.func, InsertPoint::Before(copied));
        builder.set_origin(origin);
        let first = builder.op(Op::Sub, &[phi, lane]);
        let mut value = builder.op(op, &[first, by]);
        if matches!(op, Op::Urem | Op::Srem) {
            value = builder.op_with(Op::Add, &[value, lane], Flags::of(&[Flag::Nuw, Flag::Nsw]));
        }
        // The index is not poison, so all its frozen copies are itself.
        frozen.map(|frozen| (frozen, phi)).into_iter().chain([(result, value)]).collect()
    }

    /// Makes an index of a copy start and step as tested.
    pub(super) fn rewrite_loop(&mut self, copier: &mut BlockCopier<'_>, rewrite: &LoopRewrite) {
        let &LoopRewrite { index, is_signed, start, step } = rewrite;
        let [phi, next] = [index.phi, index.next].map(|inst| {
            let result = self.old.result(inst).expect("it gives a value");
            let value = copier.value(&mut self.func, result);
            (value, self.func.def_inst(value).expect("it was copied"))
        });
        // No lane wraps around where signed numbers are divided.
        let flags = if is_signed { Flags::of(&[Flag::Nuw, Flag::Nsw]) } else { Flags::NONE };
        let sum = self.func.inst_mut(next.1);
        sum.args = [phi.0, step].into_iter().collect();
        sum.flags = flags;
        for arg in &mut self.func.inst_mut(phi.1).args {
            if *arg != next.0 {
                *arg = start;
            }
        }
    }
}
