//! Widens lane-wise operations, allocas, fences, barriers and assumptions.

use super::access_plan::gathers_words;
use super::value_reps::ValueRep;
use super::widener::Widener;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::{Flags, SyncScope};
use heddle_ir::{Constant, Inst, Op, Scalar, Type, Value};

impl Widener<'_> {
    /// Widens an operation without effects: on scalars if the result is one, else on vectors.
    pub(super) fn lane_wise(&mut self, inst: Inst) {
        let mut data = self.old.inst(inst).clone();
        let result = self.old.result(inst).expect("what works on each lane gives a value");
        let ty = self.old.value_type(result);
        let kind = self.reps.of(result);
        let args: Vec<Value> = data.args.to_vec();
        let written = matches!(data.op.info().gives, heddle_ir::ops::ResultConstraint::Written(_));
        match kind {
            ValueRep::Vector => {
                for (index, &arg) in args.iter().enumerate() {
                    let may_be_one = data.op == Op::Select && index == 0 && self.reps.is_uniform(arg);
                    data.args[index] = if may_be_one { self.scalar(arg) } else { self.vector(arg) };
                }
                let value = self.emit(data, written.then(|| self.wide_type(ty)));
                self.define(inst, value);
            }
            ValueRep::Scalar(_) => {
                for (index, &arg) in args.iter().enumerate() {
                    data.args[index] = self.scalar(arg);
                }
                // Lane 0 may be inactive; flags could make its result poison.
                if !args.iter().all(|&arg| self.reps.is_uniform(arg)) {
                    data.flags = data.flags.without(Flags::POISON);
                }
                let value = self.emit(data, written.then_some(ty));
                self.define(inst, value);
            }
        }
    }

    /// Widens a division; inactive lanes must not trap.
    pub(super) fn division(&mut self, inst: Inst) {
        let data = self.old.inst(inst);
        let [dividend, divisor] = [data.args[0], data.args[1]];
        let is_signed = matches!(data.op, Op::Sdiv | Op::Srem);
        let ty = self.old.value_type(divisor);
        if let Some(float) = self.exact_float_type(inst) {
            return self.divide_floats(inst, float);
        }
        if self.predicate_of(inst).is_none() || self.never_traps(divisor, is_signed) {
            return self.lane_wise(inst);
        }
        let mut data = data.clone();
        let result = self.old.result(inst).expect("a division gives a value");
        let one = Constant::splat(ty, 1);
        if self.reps.of(result) == ValueRep::Vector {
            let mask = self.mask(inst).expect("some lanes are passive");
            let wide = self.wide_type(ty);
            let (above, below) = (self.vector(dividend), self.vector(divisor));
            let ones = self.new.make_const(Constant::splat(wide, 1));
            let below = self.emit(InstData::plain(Op::Select, [mask, below, ones]), None);
            data.args = [above, below].into_iter().collect();
        } else {
            let any = self.any_active_lane(inst).expect("some lanes are passive");
            let (above, below) = (self.scalar(dividend), self.scalar(divisor));
            let one = self.new.make_const(one);
            let below = self.emit(InstData::plain(Op::Select, [any, below, one]), None);
            data.args = [above, below].into_iter().collect();
            if !(self.reps.is_uniform(dividend) && self.reps.is_uniform(divisor)) {
                data.flags = data.flags.without(Flags::POISON);
            }
        }
        let value = self.emit(data, None);
        self.define(inst, value);
    }

    /// Float type in which a vector of integers is divided exactly. Machines without vector division would serialize an
    /// integer division; constant divisors become multiplications instead.
    ///
    /// A non-integer quotient is at least `1 / divisor` away from the next integer. Rounding to `p` bits moves it by at most
    /// `quotient / 2^p`, which is less while the dividend is below `2^p`. So truncation gives the integer quotient.
    fn exact_float_type(&self, inst: Inst) -> Option<Scalar> {
        let data = self.old.inst(inst);
        let result = self.old.result(inst)?;
        if self.reps.of(result) != ValueRep::Vector || self.old.constant(data.args[1]).is_some() {
            return None;
        }
        match self.old.value_type(result).scalar() {
            Scalar::I8 | Scalar::I16 => Some(Scalar::F32),
            Scalar::I32 => Some(Scalar::F64),
            _ => None,
        }
    }

    /// Divides floats, which never traps, and truncates; the remainder follows from the quotient.
    fn divide_floats(&mut self, inst: Inst, float: Scalar) {
        let data = self.old.inst(inst);
        let (op, args) = (data.op, [data.args[0], data.args[1]]);
        let (to_float, to_int) = match op {
            Op::Sdiv | Op::Srem => (Op::Sitofp, Op::Fptosi),
            _ => (Op::Uitofp, Op::Fptoui),
        };
        let [above, below] = args.map(|arg| self.vector(arg));
        let ty = self.new.value_type(above);
        let floats = [above, below]
            .map(|value| self.emit(InstData::plain(to_float, [value]), Some(ty.with_scalar(float))));
        let quotient = self.emit(InstData::plain(Op::Fdiv, floats), None);
        let mut value = self.emit(InstData::plain(to_int, [quotient]), Some(ty));
        if matches!(op, Op::Srem | Op::Urem) {
            let whole = self.emit(InstData::plain(Op::Mul, [value, below]), None);
            value = self.emit(InstData::plain(Op::Sub, [above, whole]), None);
        }
        self.define(inst, value);
    }

    /// True if division by this value is defined for every dividend.
    fn never_traps(&self, divisor: Value, is_signed: bool) -> bool {
        let Some(&Constant::Scalar(scalar, bits)) = self.old.constant(divisor) else { return false };
        bits != 0 && !(is_signed && bits == scalar.bit_mask())
    }

    /// Widens an alloca: one object for all lanes, or an array with one for each.
    pub(super) fn alloca(&mut self, inst: Inst) {
        let mut data = self.old.inst(inst).clone();
        let stride = self.objects.stride(inst);
        if let (Detail::Alloca { bytes, .. }, true) = (&mut data.detail, stride != 0) {
            *bytes = self.objects.size(inst) * u64::from(self.lanes);
            let narrow = match stride {
                1 => Scalar::I8,
                2 => Scalar::I16,
                _ => Scalar::I32,
            };
            let target = &self.options.target;
            let has_words = |address| gathers_words(self.objects, target, address, narrow);
            if self.old.result(inst).is_some_and(has_words) {
                *bytes += 4 - stride;
            }
        }
        if let Detail::Alloca { bytes, .. } = &mut data.detail {
            *bytes = (*bytes).max(self.accesses.tables.size(inst));
        }
        let value = self.emit_object(data);
        self.define(inst, value);
    }

    /// Widens an address addition in an interleaved object: the offset is scaled by the number of lanes.
    pub(super) fn interleaved_ptr_add(&mut self, inst: Inst) {
        let data = self.old.inst(inst);
        let [address, offset] = [data.args[0], data.args[1]];
        let result = self.old.result(inst).expect("it gives an address");
        let is_vector = self.reps.of(result) == ValueRep::Vector;
        let [address, mut offset] =
            [address, offset].map(|value| if is_vector { self.vector(value) } else { self.scalar(value) });
        let found = self.new.value_type(offset);
        if found.scalar().bits() < 64 {
            offset = self.emit(InstData::plain(Op::Sext, [offset]), Some(found.with_scalar(Scalar::I64)));
        } else if found.scalar().bits() > 64 {
            offset = self.emit(InstData::plain(Op::Trunc, [offset]), Some(found.with_scalar(Scalar::I64)));
        }
        let ty = self.new.value_type(offset);
        let scale = self.new.make_const(Constant::splat(ty, self.lanes.into()));
        let offset = self.emit(InstData::plain(Op::Mul, [offset, scale]), None);
        let value = self.emit(InstData::plain(Op::PtrAdd, [address, offset]), None);
        self.define(inst, value);
    }

    /// Widens barriers and fences. A barrier executes only if a lane is active; an extra fence is harmless.
    pub(super) fn synchronize(&mut self, inst: Inst) {
        let data = self.old.inst(inst).clone();
        let waits = data.detail == Detail::Barrier(SyncScope::Group);
        let condition = if waits { self.any_active_lane(inst) } else { None };
        self.emit_if(condition, |widener| {
            widener.insert(data, None);
            Vec::new()
        });
    }

    /// Widens an assumption; drops it if not all lanes make it.
    pub(super) fn assume(&mut self, inst: Inst) {
        if self.predicate_of(inst).is_some() {
            return;
        }
        let mut data = self.old.inst(inst).clone();
        let condition = data.args[0];
        data.args[0] =
            if self.reps.is_uniform(condition) { self.scalar(condition) } else { self.vector(condition) };
        self.insert(data, None);
    }

    /// All-true mask.
    pub(super) fn all_true(&mut self) -> Value {
        let ty = Type::Vector(Scalar::I1, self.lanes);
        self.new.make_const(Constant::splat(ty, 1))
    }
}
