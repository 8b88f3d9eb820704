//! Computes trip counts of loops in advance.

use super::refusal::{SpreadRefusal, refuse};
use super::{HeaderPhi, HeaderPhiKind, is_invariant};
use heddle_ir::builder::Builder;
use heddle_ir::entity::EntitySet;
use heddle_ir::inst::Detail;
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Block, Diagnostic, Function, Op, Value};

/// Recognized loop counter, from which the backedge-taken count follows.
pub(super) struct LoopCounter {
    /// Initial value of the induction variable.
    init: Value,
    /// Offset of the compared value from the induction variable: the step if the incremented value is compared, else 0.
    ahead: i128,
    step: i128,
    bound: Value,
    /// The loop continues while this holds of counter and bound.
    continues: IntPredicate,
}

/// Recognizes the loop counter in the condition of the latch.
pub(super) fn find_counter(
    func: &Function,
    inside: &EntitySet<Block>,
    latch: Block,
    header_phis: &[HeaderPhi],
) -> Result<LoopCounter, Diagnostic> {
    let end = func.terminator(latch);
    let no_count = || refuse(func, end, SpreadRefusal::NoCount);
    let end = end.ok_or_else(no_count)?;
    let branch = func.inst(end);
    let (&[condition], &[then, _]) = (&branch.args[..], branch.targets()) else { return Err(no_count()) };
    let comparison = func.def_inst(condition).map(|inst| func.inst(inst)).ok_or_else(no_count)?;
    let Detail::IntCompare(predicate) = comparison.detail else { return Err(no_count()) };
    let &[full_exit, right] = &comparison.args[..] else { return Err(no_count()) };
    let (counter, bound, predicate) = match is_invariant(func, inside, right) {
        true => (full_exit, right, predicate),
        false => (right, full_exit, predicate.swapped()),
    };
    if !is_invariant(func, inside, bound) || !func.value_type(bound).scalar().is_int() {
        return Err(no_count());
    }
    let continues = if inside.contains(then) { predicate } else { predicate.negated() };
    let header_phi =
        header_phis.iter().find(|header_phi| counter == header_phi.value || counter == header_phi.next);
    let header_phi = header_phi.ok_or_else(no_count)?;
    let HeaderPhiKind::Induction { init, step, is_pointer: false } = header_phi.kind else {
        return Err(no_count());
    };
    let scalar = func.value_type(step).scalar();
    let bits = func.constant(step).and_then(|constant| constant.splat_bits()).ok_or_else(no_count)?;
    let unused = 128 - scalar.bits();
    let step = (bits << unused) as i128 >> unused;
    let ahead = if counter == header_phi.next { step } else { 0 };
    let flags = func.def_inst(header_phi.next).map(|inst| func.inst(inst).flags);
    let keeps = |flag| flags.is_some_and(|flags| flags.has(flag));
    let ends = match continues {
        IntPredicate::Ne => step == 1 || step == -1,
        IntPredicate::Ult => step > 0 && keeps(Flag::Nuw) || step == 1 && ahead == 0,
        IntPredicate::Slt => step > 0 && keeps(Flag::Nsw) || step == 1 && ahead == 0,
        IntPredicate::Sgt => step < 0 && keeps(Flag::Nsw) || step == -1 && ahead == 0,
        _ => false,
    };
    if !ends {
        return Err(no_count());
    }
    Ok(LoopCounter { init, ahead, step, bound, continues })
}

impl LoopCounter {
    /// Emits the backedge-taken count, in the counter's type.
    pub(super) fn backedge_count(&self, builder: &mut Builder<'_>) -> Value {
        let scalar = builder.func.value_type(self.init).scalar();
        let ahead = builder.int(scalar, self.ahead);
        let full_preheader = builder.op(Op::Add, &[self.init, ahead]);
        let is_up = self.step > 0;
        let far = match is_up {
            true => builder.op(Op::Sub, &[self.bound, full_preheader]),
            false => builder.op(Op::Sub, &[full_preheader, self.bound]),
        };
        if self.continues == IntPredicate::Ne {
            return far;
        }
        // Number of steps that start before the bound.
        let (zero, one) = (builder.int(scalar, 0), builder.int(scalar, 1));
        let size = builder.int(scalar, self.step.abs());
        let before = builder.op(Op::Sub, &[far, one]);
        let whole = builder.op(Op::Udiv, &[before, size]);
        let times = builder.op(Op::Add, &[whole, one]);
        let continues = builder.icmp(self.continues, full_preheader, self.bound);
        builder.select(continues, times, zero)
    }
}
