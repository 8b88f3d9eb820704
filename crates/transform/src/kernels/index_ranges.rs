//! Kernels whose indices are known not to wrap around in a launch.
//!
//! ```text
//!     uint i = y * w + x;  out[i] = in[i + 1];
//! ```
//!
//! Unsigned arithmetic may wrap around, and PTX has no flag that excludes it. Extended to an address, such an index is contiguous only where no
//! lane wraps. Extents and arguments of a launch bound it: mostly it is far from wrapping, and code for these launches needs no tests.
//!
//! Requires: Stage::Source.  Ensures: where [`IndexRanges::hold`], promised instructions keep their promises in all work-items.

use super::guard_comparisons::{GuardComparison, comparisons_before};
use super::insts_of;
use super::known_ranges::KnownRanges;
use crate::induction::{InductionVariable, find_induction};
use heddle_analysis::{ControlTables, Cycle, DepthFirstOrder, IntegerRange};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::EntitySet;
use heddle_ir::function::ValueDef;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Block, Function, Inst, Op, Scalar, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Maximum number of instructions whose ranges are computed at a launch.
const MOST_STEPS: usize = 512;
/// Extents and arguments of a launch in which promises hold, or are not made.
const USUAL_NUMBER: u64 = 256;
/// Size of a group along each dimension in such a launch.
const USUAL_GROUP: u64 = 16;

/// Extents, group size and integer arguments of a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchNumbers<'a> {
    /// Number of work-items along each dimension.
    pub global: [u64; 3],
    /// Minimum of the indices along each dimension.
    pub offset: [u64; 3],
    /// Size of a group along each dimension.
    pub local: [u64; 3],
    /// Values of the parameters that are integers.
    pub parameters: &'a [Option<u64>],
}

/// Promise about an instruction that launches keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IndexPromise {
    /// The result does not wrap around as a signed number.
    NoWrap,
    /// The operand of an extension is not negative.
    NonNegative,
    /// The result is this value: no bits are cut off.
    Whole(Value),
    /// Both operands of a division are below 2^31.
    Narrow,
    /// No operand of an unsigned minimum or maximum is negative.
    Signed,
}

/// Loop counter whose range follows from a comparison in each iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BoundedCounter<V> {
    pub(super) init: V,
    pub(super) step: i128,
    pub(super) bound: V,
    /// The loop continues while this holds.
    pub(super) continues: IntPredicate,
    /// True if the next value is compared, not this one.
    pub(super) compares_next: bool,
    /// True if the next value promises not to wrap as a signed number.
    pub(super) is_promised: bool,
}

/// Operand whose range a launch knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RangeOperand {
    Constant(IntegerRange),
    /// Parameter of this number and width.
    Parameter(usize, u32),
    /// Result of an earlier step.
    Step(usize),
    /// Any number of this width.
    Any(u32),
    /// No integer.
    None,
}

/// Instruction whose range is computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RangeStep {
    pub(super) inst: Inst,
    pub(super) op: Op,
    /// Width of the result.
    pub(super) bits: u32,
    /// Dimension of a query of the launch.
    pub(super) dimension: Option<u8>,
    /// True if a result that needs more bits is poison.
    pub(super) is_promised: bool,
    /// True if the result is any number.
    pub(super) is_any: bool,
    /// True if it is `x - x / m * m`, with x and m as its operands.
    pub(super) is_remainder: bool,
    pub(super) operands: SmallVec<[(RangeOperand, u32); 2]>,
    /// Comparisons of operands with numbers, which hold.
    pub(super) guards: Vec<(usize, IntPredicate, RangeOperand)>,
    pub(super) counter: Option<BoundedCounter<RangeOperand>>,
}

/// Ranges of a kernel's indices: what to compute at a launch, and what has to hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexRanges {
    /// Instructions whose ranges are computed, operands first.
    pub(super) steps: Vec<RangeStep>,
    /// Steps that keep promises.
    promises: Vec<(usize, IndexPromise)>,
    /// For each promise to keep a value whole, the value and the range of those that stay whole.
    pub(super) whole: Vec<(usize, RangeOperand, IntegerRange)>,
}

impl IndexRanges {
    /// Returns the promises of a kernel that most launches keep; none if there are none.
    pub fn of(func: &Function) -> Option<IndexRanges> {
        let mut candidates = candidates(func);
        if candidates.is_empty() {
            return None;
        }
        let control = ControlTables::new(func);
        if !control.cycles.is_graph_reducible() {
            return None;
        }
        let source = RangeSource::new(func, &control, &candidates);
        let parameters = vec![Some(USUAL_NUMBER); func.params().len()];
        let usual = LaunchNumbers {
            global: [USUAL_NUMBER; 3],
            offset: [0; 3],
            local: [USUAL_GROUP; 3],
            parameters: &parameters,
        };
        let all = source.ranges(&candidates)?;
        let known = KnownRanges::new(&all, &usual);
        let kept: Vec<bool> = all.promises.iter().map(|&promise| known.keeps(promise)).collect();
        let mut kept = kept.into_iter();
        candidates.retain(|_| kept.next() == Some(true));
        if candidates.is_empty() {
            return None;
        }
        RangeSource::new(func, &control, &candidates).ranges(&candidates)
    }

    /// True if a launch of the kernel keeps all promises.
    pub fn hold(&self, launch: &LaunchNumbers<'_>) -> bool {
        let known = KnownRanges::new(self, launch);
        self.promises.iter().all(|&promise| known.keeps(promise))
    }

    /// Notes the promises in the kernel, and divides in 32 bits where that is enough.
    pub fn promise(&self, func: &mut Function) {
        let mut became: FxHashMap<Value, Value> = FxHashMap::default();
        for &(step, promise) in &self.promises {
            let inst = self.steps[step].inst;
            let data = func.inst_mut(inst);
            match promise {
                IndexPromise::NoWrap => data.flags = data.flags.with(Flag::Nsw),
                // Signed extensions of sums are sums of signed extensions, as sums do not wrap as signed numbers.
                IndexPromise::NonNegative => data.op = Op::Sext,
                IndexPromise::Signed => data.op = if data.op == Op::Umin { Op::Smin } else { Op::Smax },
                IndexPromise::Whole(value) => {
                    became.extend(func.result(inst).map(|result| (result, value)));
                }
                IndexPromise::Narrow => {
                    became.extend(func.result(inst).zip(narrow_division(func, inst)));
                }
            }
        }
        let last = |mut value: Value| {
            while let Some(&next) = became.get(&value) {
                value = next;
            }
            value
        };
        func.map_values(last);
    }
}

/// Instructions of a kernel that promises depend on, operands first.
struct RangeSource<'f> {
    func: &'f Function,
    steps: Vec<Inst>,
    counters: Vec<(Inst, BoundedCounter<Value>)>,
    guards: Vec<(Inst, GuardComparison<Value>)>,
}

impl<'f> RangeSource<'f> {
    fn new(
        func: &'f Function,
        control: &ControlTables,
        promises: &[(Inst, IndexPromise)],
    ) -> RangeSource<'f> {
        let counters = counters(func, control);
        let mut source = RangeSource { func, steps: Vec::new(), counters, guards: Vec::new() };
        source.keep_steps(control, promises);
        source.guards = guards(func, control, &source.steps);
        source.keep_steps(control, promises);
        source
    }

    /// Keeps the instructions that promises depend on.
    fn keep_steps(&mut self, control: &ControlTables, promises: &[(Inst, IndexPromise)]) {
        let func = self.func;
        let mut needed: FxHashSet<Inst> = FxHashSet::default();
        let mut open: Vec<Inst> = promises.iter().map(|&(inst, _)| inst).collect();
        while let Some(inst) = open.pop() {
            let is_integer = func.result(inst).is_some_and(|result| integer_bits(func, result).is_some());
            if !is_integer || !needed.insert(inst) {
                continue;
            }
            let counter = self.counters.iter().find(|(phi, _)| *phi == inst);
            let mut operands = match counter {
                Some((_, counter)) => vec![counter.init, counter.bound],
                None => func.inst(inst).args.to_vec(),
            };
            let guards = self.guards.iter().filter(|(at, _)| *at == inst);
            operands.extend(guards.flat_map(|(_, guard)| [guard.left, guard.right]));
            open.extend(operands.into_iter().filter_map(|operand| func.def_inst(operand)));
        }
        let order = DepthFirstOrder::new(&control.cfg);
        let insts = order.reverse_post_order().flat_map(|block| func.block_insts(block));
        self.steps = insts.filter(|inst| needed.contains(inst)).collect();
        self.counters.retain(|(phi, _)| needed.contains(phi));
        self.guards.retain(|(inst, _)| needed.contains(inst));
    }

    /// Returns the steps of a launch, and its promises; none if there are too many steps.
    fn ranges(&self, promises: &[(Inst, IndexPromise)]) -> Option<IndexRanges> {
        if self.steps.len() > MOST_STEPS {
            return None;
        }
        let func = self.func;
        let results = self.steps.iter().enumerate().map(|(step, &inst)| (inst, step));
        let places: FxHashMap<Inst, usize> = results.collect();
        // A step before knows nothing of those that follow.
        let operand = |before: usize, value: Value| -> RangeOperand {
            // A condition that is extended is 0 or -1.
            if func.value_type(value) == Type::I1 {
                return RangeOperand::Any(1);
            }
            let Some(bits) = integer_bits(func, value) else { return RangeOperand::None };
            if let Some(number) = func.signed_constant(value) {
                return RangeOperand::Constant(IntegerRange::new(number, number));
            }
            if let ValueDef::Param(number) = func.value_def(value) {
                return RangeOperand::Parameter(number as usize, bits);
            }
            let place = func.def_inst(value).and_then(|inst| places.get(&inst)).copied();
            place.filter(|&place| place < before).map_or(RangeOperand::Any(bits), RangeOperand::Step)
        };
        let step = |(place, &inst): (usize, &Inst)| {
            let data = func.inst(inst);
            let result = func.result(inst)?;
            let of = |value: Value| operand(place, value);
            let width = |value: Value| func.value_type(value).scalar().bits();
            let counter = self.counters.iter().find(|(phi, _)| *phi == inst).map(|&(_, counter)| {
                let BoundedCounter { step, continues, compares_next, is_promised, .. } = counter;
                let (init, bound) = (of(counter.init), of(counter.bound));
                BoundedCounter { init, step, bound, continues, compares_next, is_promised }
            });
            let remainder = remainder(func, inst);
            let args = remainder.as_ref().map_or(&data.args[..], |args| &args[..]);
            let mut guards = Vec::new();
            for (_, guard) in self.guards.iter().filter(|(at, _)| *at == inst) {
                let sides = [
                    (guard.left, guard.predicate, guard.right),
                    (guard.right, guard.predicate.swapped(), guard.left),
                ];
                for (value, predicate, other) in sides {
                    let places = args.iter().enumerate().filter(|&(_, &arg)| arg == value);
                    guards.extend(places.map(|(at, _)| (at, predicate, of(other))));
                }
            }
            Some(RangeStep {
                inst,
                op: data.op,
                bits: integer_bits(func, result)?,
                dimension: match data.detail {
                    Detail::Dimension(dimension) => dimension,
                    _ => None,
                },
                is_promised: has_wrap_flags(data.op) && data.flags.has(Flag::Nsw),
                is_any: data.is_total(),
                is_remainder: remainder.is_some(),
                operands: args.iter().map(|&arg| (of(arg), width(arg))).collect(),
                guards,
                counter,
            })
        };
        let steps: Vec<RangeStep> = self.steps.iter().enumerate().map(step).collect::<Option<_>>()?;
        let (mut kept, mut whole) = (Vec::new(), Vec::new());
        for &(inst, promise) in promises {
            let &place = places.get(&inst)?;
            if let IndexPromise::Whole(value) = promise {
                whole.push((place, operand(place, value), kept_range(func, inst)?.1));
            }
            kept.push((place, promise));
        }
        Some(IndexRanges { steps, promises: kept, whole })
    }
}

/// Width of an integer that has a range.
pub(super) fn integer_bits(func: &Function, value: Value) -> Option<u32> {
    let ty = func.value_type(value);
    let bits = ty.scalar().bits();
    (matches!(ty, Type::Scalar(_)) && ty.scalar().is_int() && (2..=64).contains(&bits)).then_some(bits)
}

/// Returns x and m of a difference `x - x / m * m`, where LLVM may have replaced m by `max(m, 1)` in the division.
fn remainder(func: &Function, inst: Inst) -> Option<[Value; 2]> {
    let operands = |value: Value, op: Op| {
        let data = func.inst(func.def_inst(value)?);
        match data.args[..] {
            [one, other] if data.op == op => Some([one, other]),
            _ => None,
        }
    };
    let data = func.inst(inst);
    let (Op::Sub, &[x, product]) = (data.op, &data.args[..]) else { return None };
    let [one, other] = operands(product, Op::Mul)?;
    [[one, other], [other, one]].into_iter().find_map(|[quotient, m]| {
        let [of, by] = operands(quotient, Op::Udiv)?;
        let is_divisor = by == m
            || operands(by, Op::Umax)
                .is_some_and(|[value, least]| value == m && func.unsigned_constant(least) == Some(1));
        (of == x && is_divisor).then_some([x, m])
    })
}

/// True if an operation may promise not to wrap.
fn has_wrap_flags(op: Op) -> bool {
    matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Shl)
}

/// Returns the value that an instruction cuts bits off, and the range of those that stay whole.
fn kept_range(func: &Function, inst: Inst) -> Option<(Value, IntegerRange)> {
    let data = func.inst(inst);
    let result = func.result(inst)?;
    let bits = integer_bits(func, result)?;
    let inner = func.inst(func.def_inst(*data.args.first()?)?);
    let (whole, kept) = match (data.op, inner.op) {
        (Op::Zext | Op::Sext, Op::Trunc) => {
            let all = IntegerRange::signed(integer_bits(func, data.args[0]).filter(|&bits| bits >= 32)?);
            let is_signed = data.op == Op::Sext;
            (inner.args[0], if is_signed { all } else { IntegerRange::new(0, all.max) })
        }
        (Op::Ashr, Op::Shl) if inner.args[1] == data.args[1] => {
            let cut = func.unsigned_constant(data.args[1]).filter(|&cut| cut + 32 <= u128::from(bits))?;
            (inner.args[0], IntegerRange::signed(bits - cut as u32))
        }
        (Op::And, _) => {
            // Shorter masks mostly cut off bits.
            let is_mask = |mask: &i128| *mask >= (1 << 31) - 1 && mask & (mask + 1) == 0;
            let mask = func.signed_constant(data.args[1]).filter(is_mask)?;
            (data.args[0], IntegerRange::new(0, mask))
        }
        _ => return None,
    };
    (func.value_type(whole) == func.value_type(result)).then_some((whole, kept))
}

/// Returns the instructions that may get promises: those that addresses are computed by, and divisions of 64 bits.
fn candidates(func: &Function) -> Vec<(Inst, IndexPromise)> {
    let reach = address_operands(func);
    let candidate = |inst: Inst| {
        let data = func.inst(inst);
        let result = func.result(inst)?;
        let bits = integer_bits(func, result)?;
        if data.is_total() {
            return None;
        }
        if matches!(data.op, Op::Udiv | Op::Urem | Op::Sdiv | Op::Srem) {
            return (bits == 64).then_some((inst, IndexPromise::Narrow));
        }
        if !reach.contains(result) {
            return None;
        }
        let promise = match data.op {
            Op::Umin | Op::Umax => IndexPromise::Signed,
            _ if kept_range(func, inst).is_some() => IndexPromise::Whole(kept_range(func, inst)?.0),
            op if has_wrap_flags(op) && bits == 32 && !data.flags.has(Flag::Nsw) => IndexPromise::NoWrap,
            Op::Zext if integer_bits(func, data.args[0])? == 32 && !data.flags.has(Flag::Nneg) => {
                IndexPromise::NonNegative
            }
            _ => return None,
        };
        Some((inst, promise))
    };
    insts_of(func).into_iter().filter_map(candidate).collect()
}

/// Returns the integers that addresses are computed from, but for those that are loaded.
fn address_operands(func: &Function) -> EntitySet<Value> {
    let mut reach: EntitySet<Value> = EntitySet::new();
    let offsets = insts_of(func).into_iter().map(|inst| func.inst(inst)).filter_map(|data| match data.op {
        Op::PtrAdd => data.args.get(1),
        Op::Inttoptr => data.args.first(),
        _ => None,
    });
    let mut open: Vec<Value> = offsets.copied().collect();
    while let Some(value) = open.pop() {
        if !reach.insert(value) {
            continue;
        }
        let data = func.def_inst(value).map(|inst| func.inst(inst));
        if let Some(data) = data.filter(|data| !matches!(data.op, Op::Load | Op::Call)) {
            open.extend(data.args.iter().copied().filter(|&arg| integer_bits(func, arg).is_some()));
        }
    }
    reach
}

/// Returns the comparisons that hold at instructions, about their operands.
fn guards(func: &Function, control: &ControlTables, steps: &[Inst]) -> Vec<(Inst, GuardComparison<Value>)> {
    let mut by_block: FxHashMap<Block, Vec<GuardComparison<Value>>> = FxHashMap::default();
    let mut found = Vec::new();
    for &inst in steps {
        let Some(block) = func.layout.block_of(inst) else { continue };
        // A φ has its operands where control comes from.
        if func.inst(inst).op == Op::Phi {
            continue;
        }
        let known = by_block.entry(block).or_insert_with(|| comparisons_before(func, control, block));
        let args = &func.inst(inst).args;
        let is_about = |it: &&GuardComparison<Value>| args.contains(&it.left) || args.contains(&it.right);
        found.extend(known.iter().filter(is_about).map(|&guard| (inst, guard)));
    }
    found
}

/// Returns the loop counters of a function whose ranges follow from those of other values.
fn counters(func: &Function, control: &ControlTables) -> Vec<(Inst, BoundedCounter<Value>)> {
    let mut found = Vec::new();
    for cycle in control.cycles.cycles() {
        let Some(latch) = control.cycles.unique_latch(&control.cfg, cycle) else { continue };
        let inside: EntitySet<Block> = control.cycles.blocks(cycle).iter().copied().collect();
        for phi in func.phis(control.cycles.header(cycle)) {
            let is_inside = |block| inside.contains(block);
            let Some(induction) = find_induction(func, phi, is_inside) else { continue };
            if func.inst(phi).args.len() != 2 || induction.is_pointer {
                continue;
            }
            let counter = |exit| counter(func, control, cycle, exit, latch, &inside, &induction);
            let exits = control.cycles.exiting_edges(&control.cfg, cycle);
            found.extend(exits.filter_map(|edge| counter(edge.from)).next().map(|counter| (phi, counter)));
        }
    }
    found
}

/// Returns the counter whose comparison ends a block that each iteration comes to.
fn counter(
    func: &Function,
    control: &ControlTables,
    cycle: Cycle,
    exit: Block,
    latch: Block,
    inside: &EntitySet<Block>,
    induction: &InductionVariable,
) -> Option<BoundedCounter<Value>> {
    integer_bits(func, induction.value)?;
    let step = func.signed_constant(induction.step).filter(|&step| step != 0)?;
    if control.cycles.innermost(exit) != Some(cycle) || !control.dominators.dominates(exit, latch) {
        return None;
    }
    let branch = func.inst(func.terminator(exit)?);
    let (Op::Br, &[condition], &[then, otherwise]) = (branch.op, &branch.args[..], branch.targets()) else {
        return None;
    };
    let comparison = func.inst(func.def_inst(condition)?);
    let Detail::IntCompare(predicate) = comparison.detail else { return None };
    let &[left, right] = &comparison.args[..] else { return None };
    let is_counter = |value: Value| value == induction.value || value == induction.next;
    let (compared, bound, predicate) = match is_counter(left) {
        true => (left, right, predicate),
        false => (right, left, predicate.swapped()),
    };
    if !is_counter(compared) {
        return None;
    }
    let continues = match (inside.contains(then), inside.contains(otherwise)) {
        (true, false) => predicate,
        (false, true) => predicate.negated(),
        _ => return None,
    };
    use IntPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    let is_end = match continues {
        Slt | Sle | Ult | Ule => step > 0,
        Sgt | Sge | Ugt | Uge => step < 0,
        Ne => step.abs() == 1,
        Eq => false,
    };
    if !is_end {
        return None;
    }
    let next = func.inst(func.def_inst(induction.next)?);
    Some(BoundedCounter {
        init: induction.init,
        step,
        bound,
        continues,
        compares_next: compared == induction.next,
        is_promised: next.flags.has(Flag::Nsw),
    })
}

/// Emits a division of 64 bits in 32. Returns its result.
fn narrow_division(func: &mut Function, inst: Inst) -> Option<Value> {
    let data = func.inst(inst).clone();
    let &[a, b] = &data.args[..] else { return None };
    let op = match data.op {
        Op::Sdiv => Op::Udiv,
        Op::Srem => Op::Urem,
        op => op,
    };
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    builder.set_origin(data.origin);
    let narrow = [a, b].map(|value| match builder.func.unsigned_constant(value) {
        Some(number) => builder.int(Scalar::I32, number as i128),
        None => builder.op_to(Op::Trunc, Type::I32, &[value]),
    });
    let result = builder.op_with(op, &narrow, data.flags);
    let nneg = Flags::of(&[Flag::Nneg]);
    Some(builder.value(InstData { flags: nneg, ..InstData::plain(Op::Zext, [result]) }, Some(Type::I64)))
}
