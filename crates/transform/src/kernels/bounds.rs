//! Computes upper bounds of index arithmetic and extends operands of operations that cannot wrap.
//!
//! Unsigned source arithmetic carries no no-wrap flags, though a work-item index times a tile width is far from wrapping.
//! Where the bound proves that, the extension moves from the result to the operands:
//!
//! ```text
//!     v3 = mul i32 v1, 16                 v1 is an index in a group, so v3 is below 2^24
//!     v4 = zext i64, v3           ──►     v5 = zext i64, v1;  v4 = mul i64 v5, 16
//! ```
//!
//! Signed arithmetic promises not to wrap (`nsw`), so its results are extended likewise, if they are linear in work-item
//! indices: 64-bit vectors of other numbers take twice the registers.
//!
//! Signed divisions of numbers that are not negative become unsigned ones, and those by powers of two shifts and masks.
//!
//! Addresses are then strided like the index. A constant below 0 is taken as such: an index less 1 does not wrap, though it may be
//! negative, which no upper bound tells.
//!
//! Sizes and indices of a group are bounded together: `(z * h + y) * w + x` is the linear index of a work-item, below the number of
//! work-items, though each of its numbers alone may be as large.
//!
//! Requires: Stage::Source, after `launch_params`.  Ensures: Stage::Source, and equal values.

use super::SMALL_LAUNCH;
use super::launch_params::{GroupDescriptorField, LaunchParams, MAX_WORK_ITEMS};
use heddle_analysis::{Cfg, IntegerRange, result_range};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::EntitySet;
use heddle_ir::inst::InstData;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Constant, Function, Inst, Op, Type, Value};
use rustc_hash::FxHashMap;

/// Maximum depth of operand trees to extend.
const MAX_DEPTH: usize = 6;

/// Number that is an index below a product of sizes of the group, times a product of other sizes; without dimensions of an index, it is
/// the second product.
///
/// Below, `w`, `h` and `x`, `y` are sizes and indices along dimensions 0 and 1: `y * w` has index `h` and scale `w`, and `y * w + x`
/// has index `h * w`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct GroupNumber {
    /// Dimensions of the sizes above the index, one bit each.
    index: u8,
    /// Dimensions of the sizes that it is multiplied by.
    scale: u8,
}

impl GroupNumber {
    fn maximum(self) -> u128 {
        u128::from(MAX_WORK_ITEMS) - u128::from(self.index != 0)
    }

    /// Returns the product of two numbers that share no dimension.
    fn times(self, other: GroupNumber) -> Option<GroupNumber> {
        let is_apart = (self.index | self.scale) & (other.index | other.scale) == 0;
        let has_one_index = self.index == 0 || other.index == 0;
        (is_apart && has_one_index)
            .then_some(GroupNumber { index: self.index | other.index, scale: self.scale | other.scale })
    }

    /// Returns the sum of an index of parts and an index in a part.
    fn plus(self, inner: GroupNumber) -> Option<GroupNumber> {
        let is_in_part = inner.index != 0 && inner.index | inner.scale == self.scale;
        (self.index != 0 && is_in_part)
            .then_some(GroupNumber { index: self.index | inner.index, scale: inner.scale })
    }
}

/// Upper bounds of values.
struct UpperBounds {
    /// Maximum of a value that is not poison.
    maximum: FxHashMap<Value, u128>,
    /// Products of sizes and indices of the group.
    group_numbers: FxHashMap<Value, GroupNumber>,
    /// Results that do not wrap: wider arithmetic gives the same number.
    exact: EntitySet<Value>,
    /// Sums of an index and a negative constant, which do not wrap as signed numbers.
    lowered: EntitySet<Value>,
    /// Results that promise not to wrap as signed numbers, and are linear in work-item indices.
    promised: EntitySet<Value>,
    /// Extensions of these.
    extended: FxHashMap<(Value, Type), Value>,
    /// Work-item indices, and what is linear in them. Guesses: φs count as what enters them first.
    linear: EntitySet<Value>,
    /// Results that depend on more than uniform values.
    varying: EntitySet<Value>,
    /// Indices and sizes, which are never poison, and truncations of these that cut off no bits.
    never_poison: EntitySet<Value>,
}

/// Extends operands instead of results that do not wrap. `is_small` promises that all indices and sizes of the launch are below
/// [`SMALL_LAUNCH`].
pub(super) fn extend_operands(func: &mut Function, launch_params: &LaunchParams, is_small: bool) {
    let mut bounds = UpperBounds {
        maximum: FxHashMap::default(),
        group_numbers: FxHashMap::default(),
        exact: EntitySet::new(),
        lowered: EntitySet::new(),
        promised: EntitySet::new(),
        extended: FxHashMap::default(),
        linear: EntitySet::new(),
        varying: EntitySet::new(),
        never_poison: EntitySet::new(),
    };
    for &item in &launch_params.items {
        bounds.linear.insert(item);
        bounds.varying.insert(item);
        bounds.never_poison.insert(item);
    }
    bounds.maximum.extend(launch_params.items.iter().map(|&item| (item, u128::from(MAX_WORK_ITEMS) - 1)));
    for (along, id) in launch_params.ids.into_iter().enumerate() {
        bounds.group_numbers.extend(id.map(|id| (id, GroupNumber { index: 1 << along, scale: 0 })));
    }
    for &(field, value) in &launch_params.fields {
        bounds.never_poison.insert(value);
        if let GroupDescriptorField::LocalSize(along) = field {
            bounds.group_numbers.insert(value, GroupNumber { index: 0, scale: 1 << along });
        }
        let is_size =
            matches!(field, GroupDescriptorField::LocalSize(_) | GroupDescriptorField::EnqueuedSize(_));
        let small = u128::from(SMALL_LAUNCH) - 1;
        let known = if is_size { Some(u128::from(MAX_WORK_ITEMS)) } else { is_small.then_some(small) };
        bounds.maximum.extend(known.map(|known| (value, known)));
    }
    let mut became: FxHashMap<Value, Value> = FxHashMap::default();
    for block in Cfg::new(func).blocks() {
        for inst in func.block_insts(block).collect::<Vec<_>>() {
            if let (Some(same), Some(result)) = (bounds.pass_through(func, inst), func.result(inst)) {
                let same = became.get(&same).copied().unwrap_or(same);
                bounds.maximum.extend(bounds.upper_bound(func, same).map(|maximum| (result, maximum)));
                became.insert(result, same);
                continue;
            }
            make_unsigned(func, &bounds, inst);
            bounds.record(func, inst);
            if matches!(func.inst(inst).op, Op::Zext | Op::Sext) {
                match (extend_promised(func, &mut bounds, inst), func.result(inst)) {
                    (Some(extended), Some(result)) => _ = became.insert(result, extended),
                    _ => extend(func, &bounds, inst),
                }
            }
        }
    }
    func.map_values(|value| became.get(&value).copied().unwrap_or(value));
}

/// Returns the unsigned and the signed maximum of an integer type.
fn limits(ty: Type) -> Option<[u128; 2]> {
    let bits = ty.scalar().bits();
    (matches!(ty, Type::Scalar(_)) && ty.scalar().is_int() && (2..=64).contains(&bits))
        .then(|| [(1 << bits) - 1, (1 << (bits - 1)) - 1])
}

impl UpperBounds {
    fn upper_bound(&self, func: &Function, value: Value) -> Option<u128> {
        let [most, _] = limits(func.value_type(value))?;
        let constant = func.unsigned_constant(value).map(|bits| bits & most);
        constant.or_else(|| self.maximum.get(&value).copied())
    }

    /// Records the bound of an instruction's result.
    fn record(&mut self, func: &Function, inst: Inst) {
        let Some(result) = func.result(inst) else { return };
        self.record_linear(func, inst, result);
        if self.lowers_index(func, inst) {
            self.lowered.insert(result);
        }
        let in_group = self.group_number(func, inst);
        self.group_numbers.extend(in_group.map(|number| (result, number)));
        let in_group = in_group.map(GroupNumber::maximum);
        let Some(maximum) = in_group.or_else(|| self.result_bound(func, inst, result)) else { return };
        let Some([most, signed]) = limits(func.value_type(result)) else { return };
        let computes = matches!(func.inst(inst).op, Op::Add | Op::Mul | Op::Shl);
        if computes && maximum <= signed {
            self.exact.insert(result);
        }
        // A wrapped result may be anything.
        if maximum <= most {
            self.maximum.insert(result, maximum);
        }
        let data = func.inst(inst);
        let is_whole = matches!(data.op, Op::Trunc | Op::Zext | Op::Sext) && maximum <= signed;
        if is_whole && self.never_poison.contains(data.args[0]) {
            self.never_poison.insert(result);
        }
    }

    /// Returns the product of sizes and indices of the group that an instruction computes.
    fn group_number(&self, func: &Function, inst: Inst) -> Option<GroupNumber> {
        let data = func.inst(inst);
        let [_, signed] = limits(func.value_type(func.result(inst)?))?;
        let number = |at: usize| data.args.get(at).and_then(|arg| self.group_numbers.get(arg)).copied();
        match data.op {
            _ if data.is_total() || signed < u128::from(MAX_WORK_ITEMS) => None,
            Op::Zext | Op::Sext | Op::Trunc => number(0),
            Op::Mul => number(0)?.times(number(1)?),
            Op::Add => number(0)?.plus(number(1)?).or_else(|| number(1)?.plus(number(0)?)),
            _ => None,
        }
    }

    /// Records whether a result is linear in work-item indices, and whether it promises not to wrap.
    fn record_linear(&mut self, func: &Function, inst: Inst, result: Value) {
        let data = func.inst(inst);
        if !data.args.iter().any(|&arg| self.varying.contains(arg)) && !matches!(data.op, Op::Call) {
            return;
        }
        self.varying.insert(result);
        let is_linear = |arg: Value| self.linear.contains(arg) || !self.varying.contains(arg);
        let is_kept = match (data.op, &data.args[..]) {
            (Op::Trunc | Op::Zext | Op::Sext | Op::Add | Op::Sub | Op::Phi, args) => {
                args.iter().all(|&arg| is_linear(arg))
            }
            (Op::Mul, &[a, b]) => {
                is_linear(a) && is_linear(b) && [a, b].iter().any(|&arg| !self.varying.contains(arg))
            }
            (Op::Shl, &[a, b]) => is_linear(a) && func.constant(b).is_some(),
            _ => false,
        };
        if is_kept && !data.is_total() {
            self.linear.insert(result);
            let computes = matches!(data.op, Op::Add | Op::Sub | Op::Mul | Op::Shl);
            if computes && data.flags.has(Flag::Nsw) {
                self.promised.insert(result);
            }
        }
    }

    /// True for the sum of a number that is not negative and a negative constant.
    fn lowers_index(&self, func: &Function, inst: Inst) -> bool {
        let data = func.inst(inst);
        let &[index, constant] = &data.args[..] else { return false };
        let Some([_, signed]) = limits(func.value_type(index)) else { return false };
        let is_negative = func.unsigned_constant(constant).is_some_and(|bits| bits > signed);
        let is_index = || self.upper_bound(func, index).is_some_and(|maximum| maximum <= signed);
        data.op == Op::Add && is_negative && !data.is_total() && is_index()
    }

    /// Returns the operand that an instruction passes through unchanged because it cuts off no bits.
    fn pass_through(&self, func: &Function, inst: Inst) -> Option<Value> {
        let data = func.inst(inst);
        let ty = func.value_type(func.result(inst)?);
        let [most, signed] = limits(ty)?;
        let number = |value: Value| func.unsigned_constant(value);
        let below = computed_by(func, *data.args.first()?);
        let (inner, limit) = match data.op {
            _ if data.is_total() => return None,
            Op::Zext | Op::Sext => {
                let below = below.filter(|below| below.op == Op::Trunc)?;
                let [_, signed] = limits(func.value_type(data.args[0]))?;
                (below.args[0], signed)
            }
            Op::Ashr | Op::Lshr => {
                let below = below.filter(|below| below.op == Op::Shl && below.args[1] == data.args[1])?;
                (below.args[0], signed >> number(data.args[1]).filter(|&amount| amount < 64)?)
            }
            Op::And => (data.args[0], number(data.args[1]).filter(|mask| ((mask & most) + 1) & mask == 0)?),
            Op::Freeze => (Some(data.args[0]).filter(|&it| self.never_poison.contains(it))?, most),
            _ => return None,
        };
        let is_all = func.value_type(inner) == ty && self.upper_bound(func, inner)? <= limit;
        is_all.then_some(inner)
    }

    /// Returns the number of this type that a truncation cuts no bits off.
    fn before_truncation(&self, func: &Function, value: Value, ty: Type) -> Option<Value> {
        let data = computed_by(func, value).filter(|data| data.op == Op::Trunc && !data.is_total())?;
        let [most, _] = limits(func.value_type(value))?;
        let is_whole = func.value_type(data.args[0]) == ty && self.upper_bound(func, data.args[0])? <= most;
        is_whole.then_some(data.args[0])
    }

    /// Returns the maximum of an instruction's exact result, before truncation to its type.
    fn result_bound(&self, func: &Function, inst: Inst, result: Value) -> Option<u128> {
        let data = func.inst(inst);
        let is_bounded = matches!(data.op, Op::Add | Op::Mul | Op::Shl | Op::Lshr | Op::And | Op::Udiv)
            || matches!(data.op, Op::Urem | Op::Select | Op::Zext | Op::Trunc | Op::Sext);
        if !is_bounded || data.is_total() {
            return None;
        }
        let range_of = |value: Value| {
            let maximum = i128::try_from(self.upper_bound(func, value)?).ok()?;
            Some(IntegerRange::new(if func.constant(value).is_some() { maximum } else { 0 }, maximum))
        };
        let maximum = u128::try_from(result_range(func, inst, range_of)?.max).ok()?;
        // `nsw` with non-negative operands keeps the sum below the signed maximum.
        let [_, signed] = limits(func.value_type(result))?;
        match data.op == Op::Add && data.flags.has(Flag::Nsw) {
            true => data.args.iter().all(|&arg| self.is_positive(func, arg)).then_some(maximum.min(signed)),
            false => Some(maximum),
        }
    }

    /// True if an integer is not negative as a signed number, or poison.
    fn is_positive(&self, func: &Function, value: Value) -> bool {
        let limits = limits(func.value_type(value)).zip(self.upper_bound(func, value));
        limits.is_some_and(|([_, signed], maximum)| maximum <= signed)
    }
}

/// Replaces a signed division or remainder of numbers that are not negative by an unsigned one, and an unsigned one by a power of two
/// by a shift or a mask.
fn make_unsigned(func: &mut Function, bounds: &UpperBounds, inst: Inst) {
    let data = func.inst(inst).clone();
    let &[number, divisor] = &data.args[..] else { return };
    let is_quotient = match data.op {
        Op::Udiv | Op::Sdiv => true,
        Op::Urem | Op::Srem => false,
        Op::Sub => return restore_remainder(func, inst, number, divisor),
        _ => return,
    };
    let is_signed = matches!(data.op, Op::Sdiv | Op::Srem);
    if data.is_total() || is_signed && !data.args.iter().all(|&arg| bounds.is_positive(func, arg)) {
        return;
    }
    let ty = func.value_type(number);
    let power = func.unsigned_constant(divisor).filter(|bits| bits.is_power_of_two());
    let (op, second) = match (is_quotient, power) {
        (true, Some(power)) => (Op::Lshr, func.make_int(ty.scalar(), power.trailing_zeros().into())),
        (false, Some(power)) => (Op::And, func.make_int(ty.scalar(), power as i128 - 1)),
        (true, None) => (Op::Udiv, divisor),
        (false, None) => (Op::Urem, divisor),
    };
    *func.inst_mut(inst) = InstData { origin: data.origin, ..InstData::plain(op, [number, second]) };
}

/// Replaces `x - (x >> k) * 2^k`, a remainder that LLVM took apart, by `x & (2^k - 1)`.
fn restore_remainder(func: &mut Function, inst: Inst, number: Value, subtrahend: Value) {
    let Some(product) = computed_by(func, subtrahend) else { return };
    let &[quotient, factor] = &product.args[..] else { return };
    let Some(shift) = computed_by(func, quotient).filter(|shift| shift.op == Op::Lshr) else { return };
    let amount = func.unsigned_constant(shift.args[1]).and_then(|amount| u32::try_from(amount).ok());
    let power = amount.and_then(|amount| 1u128.checked_shl(amount));
    let is_restored = match product.op {
        Op::Mul => func.unsigned_constant(factor) == power,
        Op::Shl => func.unsigned_constant(factor) == amount.map(u128::from),
        _ => false,
    };
    let is_whole = [&product, &shift, func.inst(inst)].iter().all(|data| !data.is_total());
    let Some(power) = power.filter(|_| is_restored && is_whole && shift.args[0] == number) else { return };
    let ty = func.value_type(number);
    let mask = func.make_int(ty.scalar(), power as i128 - 1);
    let origin = func.inst(inst).origin;
    *func.inst_mut(inst) = InstData { origin, ..InstData::plain(Op::And, [number, mask]) };
}

/// Replaces an extension of a result that does not wrap by the same operation on extended operands.
fn extend(func: &mut Function, bounds: &UpperBounds, inst: Inst) {
    let data = func.inst(inst).clone();
    let Some(ty) = func.result(inst).map(|result| func.value_type(result)) else { return };
    let is_lowered = data.op == Op::Sext && bounds.lowered.contains(data.args[0]);
    if !(is_lowered || bounds.exact.contains(data.args[0])) || limits(ty).is_none() {
        return;
    }
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    builder.set_origin(data.origin);
    let Some(computed) = computed_by(builder.func, data.args[0]) else { return };
    let Some([a, mut b]) = operands(&mut builder, bounds, &computed, ty, 0) else { return };
    if let Some(&Constant::Scalar(from, bits)) =
        builder.func.constant(computed.args[1]).filter(|_| is_lowered)
    {
        let less = from.bit_mask() - bits + 1;
        b = builder.func.make_int(ty.scalar(), -(less as i128));
    }
    let now = InstData { origin: data.origin, ..InstData::plain(computed.op, [a, b]) };
    *func.inst_mut(inst) = now;
}

/// Returns the value that a sign extension of a result that promises not to wrap equals.
fn extend_promised(func: &mut Function, bounds: &mut UpperBounds, inst: Inst) -> Option<Value> {
    let data = func.inst(inst);
    let (source, ty) = (data.args[0], func.value_type(func.result(inst)?));
    let keeps_sign = data.op == Op::Sext || data.flags.has(Flag::Nneg);
    limits(ty).filter(|_| keeps_sign)?;
    extend_once(func, bounds, source, ty, 0)
}

/// Emits the extension of a result that promises not to wrap after the result, on extended operands: extensions of one number in
/// several blocks are one value.
fn extend_once(
    func: &mut Function,
    bounds: &mut UpperBounds,
    value: Value,
    ty: Type,
    depth: usize,
) -> Option<Value> {
    if let Some(&extended) = bounds.extended.get(&(value, ty)) {
        return Some(extended);
    }
    let inst = func.def_inst(value).filter(|_| depth < MAX_DEPTH && bounds.promised.contains(value))?;
    let data = func.inst(inst).clone();
    let &[a, b] = &data.args[..] else { return None };
    let a = signed_operand(func, bounds, inst, a, ty, depth + 1);
    let b = match data.op {
        Op::Shl => extended(&mut Builder::new(func, InsertPoint::Before(inst)), bounds, b, ty, depth + 1),
        _ => signed_operand(func, bounds, inst, b, ty, depth + 1),
    };
    let mut builder = Builder::new(func, InsertPoint::After(inst));
    builder.set_origin(data.origin);
    let extended = builder.op(data.op, &[a, b]);
    bounds.extended.insert((value, ty), extended);
    Some(extended)
}

/// Returns the sign extension of an operand of an instruction.
fn signed_operand(
    func: &mut Function,
    bounds: &mut UpperBounds,
    inst: Inst,
    operand: Value,
    ty: Type,
    depth: usize,
) -> Value {
    let is_positive = bounds.is_positive(func, operand);
    if !is_positive && let Some(extended) = extend_once(func, bounds, operand, ty, depth) {
        return extended;
    }
    if let Some(number) = func.signed_constant(operand) {
        return func.make_int(ty.scalar(), number);
    }
    let origin = func.inst(inst).origin;
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    builder.set_origin(origin);
    match is_positive {
        true => extended(&mut builder, bounds, operand, ty, depth),
        false => builder.value(InstData::plain(Op::Sext, [operand]), Some(ty)),
    }
}

/// Returns the instruction that defines a value.
fn computed_by(func: &Function, value: Value) -> Option<InstData> {
    func.def_inst(value).map(|inst| func.inst(inst).clone())
}

/// Extends both operands of an operation.
fn operands(
    builder: &mut Builder<'_>,
    bounds: &UpperBounds,
    data: &InstData,
    ty: Type,
    depth: usize,
) -> Option<[Value; 2]> {
    let &[a, b] = &data.args[..] else { return None };
    Some([a, b].map(|value| extended(builder, bounds, value, ty, depth + 1)))
}

fn extended(builder: &mut Builder<'_>, bounds: &UpperBounds, value: Value, ty: Type, depth: usize) -> Value {
    if let Some(bits) = builder.func.unsigned_constant(value) {
        return builder.func.make_const(Constant::Scalar(ty.scalar(), bits));
    }
    if depth < MAX_DEPTH
        && bounds.exact.contains(value)
        && let Some(data) = computed_by(builder.func, value)
        && let Some([a, b]) = operands(builder, bounds, &data, ty, depth)
    {
        return builder.op(data.op, &[a, b]);
    }
    if let Some(whole) = bounds.before_truncation(builder.func, value, ty) {
        return whole;
    }
    // For non-negative values both extensions agree.
    let is_positive = bounds.is_positive(builder.func, value);
    let flags = if is_positive { Flags::of(&[Flag::Nneg]) } else { Flags::NONE };
    builder.value(InstData { flags, ..InstData::plain(Op::Zext, [value]) }, Some(ty))
}
