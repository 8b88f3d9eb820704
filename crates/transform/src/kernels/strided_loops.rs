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

use super::versions::IndexShape;
use heddle_ir::inst::Detail;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Function, Inst, Op, Value};

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
