//! Induction variables and trip counts of loops.

use heddle_ir::builder::Builder;
use heddle_ir::entity::EntitySet;
use heddle_ir::inst::Detail;
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Block, Function, Inst, Op, Scalar, Type, Value};

/// Induction variable: a header φ that grows by a loop-invariant step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InductionVariable {
    /// The φ's value.
    pub(crate) value: Value,
    /// Its value along the back edge.
    pub(crate) next: Value,
    pub(crate) init: Value,
    pub(crate) step: Value,
    pub(crate) is_pointer: bool,
}

/// True if a value is loop-invariant.
pub(crate) fn is_invariant(func: &Function, inside: &EntitySet<Block>, value: Value) -> bool {
    !block_of(func, value).is_some_and(|block| inside.contains(block))
}

fn block_of(func: &Function, value: Value) -> Option<Block> {
    func.def_inst(value).and_then(|inst| func.layout.block_of(inst))
}

/// Recognizes an induction variable in a φ of a loop's header.
pub(crate) fn find_induction(
    func: &Function,
    phi: Inst,
    is_inside: impl Fn(Block) -> bool,
) -> Option<InductionVariable> {
    let value = func.result(phi)?;
    let (mut init, mut next) = (None, None);
    for (from, incoming) in func.inst(phi).incoming() {
        (if is_inside(from) { &mut next } else { &mut init }).get_or_insert(incoming);
    }
    let (init, next) = (init?, next?);
    let data = func.inst(func.def_inst(next)?);
    let step = match (data.op, &data.args[..]) {
        (Op::Add | Op::PtrAdd, &[base, step]) if base == value => step,
        (Op::Add, &[step, base]) if base == value => step,
        _ => return None,
    };
    let is_pointer = data.op == Op::PtrAdd;
    let is_invariant = !block_of(func, step).is_some_and(is_inside);
    is_invariant.then_some(InductionVariable { value, next, init, step, is_pointer })
}

/// Recognized loop counter, from which the backedge-taken count follows.
pub(crate) struct LoopCounter {
    /// Initial value of the induction variable.
    pub(crate) init: Value,
    /// Offset of the compared value from the induction variable: the step if the incremented value is compared, else 0.
    ahead: i128,
    step: i128,
    pub(crate) bound: Value,
    /// The loop continues while this holds of counter and bound.
    continues: IntPredicate,
}

/// Recognizes the loop counter in the condition of the latch, which is the loop's only exit.
pub(crate) fn find_counter(
    func: &Function,
    inside: &EntitySet<Block>,
    latch: Block,
    inductions: &[InductionVariable],
) -> Option<LoopCounter> {
    let branch = func.inst(func.terminator(latch)?);
    let (&[condition], &[then, _]) = (&branch.args[..], branch.targets()) else { return None };
    let comparison = func.inst(func.def_inst(condition)?);
    let Detail::IntCompare(predicate) = comparison.detail else { return None };
    let &[left, right] = &comparison.args[..] else { return None };
    let (counter, bound, predicate) = match is_invariant(func, inside, right) {
        true => (left, right, predicate),
        false => (right, left, predicate.swapped()),
    };
    if !is_invariant(func, inside, bound) || !func.value_type(bound).scalar().is_int() {
        return None;
    }
    let continues = if inside.contains(then) { predicate } else { predicate.negated() };
    let induction = inductions.iter().find(|it| counter == it.value || counter == it.next)?;
    let &InductionVariable { next, init, step, is_pointer: false, .. } = induction else { return None };
    let scalar = func.value_type(step).scalar();
    let step = func.signed_constant(step)?;
    let ahead = if counter == next { step } else { 0 };
    let flags = func.def_inst(next).map(|inst| func.inst(inst).flags);
    let keeps = |flag| flags.is_some_and(|flags| flags.has(flag));
    // A loop that continues at its bound, too, ends if some number is beyond that.
    let ones = scalar.bit_mask();
    let constant = func.constant(bound).and_then(|constant| constant.splat_bits());
    let is_constant_but = |end: u128| constant.is_some_and(|bits| bits != end);
    let ends = match continues {
        IntPredicate::Ne => step == 1 || step == -1,
        IntPredicate::Ule if !is_constant_but(ones) => false,
        IntPredicate::Sle if !is_constant_but(ones >> 1) => false,
        IntPredicate::Sge if !is_constant_but(ones ^ ones >> 1) => false,
        IntPredicate::Ult | IntPredicate::Ule => step > 0 && keeps(Flag::Nuw) || step == 1 && ahead == 0,
        IntPredicate::Slt | IntPredicate::Sle => step > 0 && keeps(Flag::Nsw) || step == 1 && ahead == 0,
        IntPredicate::Sgt | IntPredicate::Sge => step < 0 && keeps(Flag::Nsw) || step == -1 && ahead == 0,
        _ => false,
    };
    ends.then_some(LoopCounter { init, ahead, step, bound, continues })
}

impl LoopCounter {
    /// Emits the backedge-taken count, in the counter's type.
    pub(crate) fn backedge_count(&self, builder: &mut Builder<'_>) -> Value {
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
        let before = match self.continues {
            IntPredicate::Ule | IntPredicate::Sle | IntPredicate::Sge => far,
            _ => builder.op(Op::Sub, &[far, one]),
        };
        let whole = builder.op(Op::Udiv, &[before, size]);
        let times = builder.op(Op::Add, &[whole, one]);
        let continues = builder.icmp(self.continues, full_preheader, self.bound);
        builder.select(continues, times, zero)
    }
}

/// Converts an integer to another integer type by truncation or zero extension.
pub(crate) fn resize(builder: &mut Builder<'_>, value: Value, to: Type) -> Value {
    let from = builder.func.value_type(value);
    match to.scalar().bits().cmp(&from.scalar().bits()) {
        std::cmp::Ordering::Equal => value,
        std::cmp::Ordering::Less => builder.op_to(Op::Trunc, to, &[value]),
        std::cmp::Ordering::Greater => builder.op_to(Op::Zext, to, &[value]),
    }
}

/// Returns the backedge-taken count of a loop and its trip count, which is 0 for 2^64 iterations.
pub(crate) fn trip_count(builder: &mut Builder<'_>, counter: &LoopCounter) -> (Value, Value) {
    let back = counter.backedge_count(builder);
    let back = resize(builder, back, Scalar::I64.into());
    let one = builder.int(Scalar::I64, 1);
    (back, builder.op(Op::Add, &[back, one]))
}
