//! Emitter of IR instructions at the end of a block.
//!
//! It records type errors instead of returning them, so that lowering code composes expressions.

use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::function::Origin;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::module::{Declaration, Effects, FunctionKind, Signature};
use heddle_ir::words::{Flags, FloatPredicate, IntPredicate};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Space, Type, Value};
use std::sync::Arc;

/// Function under construction, and the insertion point.
pub(crate) struct IrEmitter {
    pub(crate) func: Function,
    pub(crate) block: Block,
    pub(crate) origin: Origin,
    /// First type error.
    pub(crate) broken: Option<String>,
}

impl IrEmitter {
    pub(crate) fn inst(&mut self, mut data: InstData, written: Option<Type>) -> Option<Inst> {
        data.origin = self.origin;
        let op = data.op;
        match Builder::new(&mut self.func, InsertPoint::End(self.block)).try_inst(data, written) {
            Ok(inst) => Some(inst),
            Err(error) => {
                self.broken.get_or_insert_with(|| format!("`{op}`: {error}"));
                None
            }
        }
    }

    pub(crate) fn value(&mut self, data: InstData, written: Option<Type>) -> Value {
        let inst = self.inst(data, written);
        match inst.and_then(|inst| self.func.results(inst).first().copied()) {
            Some(value) => value,
            None => self.func.make_poison(Type::I32),
        }
    }

    pub(crate) fn op(&mut self, op: Op, args: &[Value]) -> Value {
        self.value(InstData::plain(op, args.iter().copied()), None)
    }

    pub(crate) fn to(&mut self, op: Op, to: Scalar, arg: Value) -> Value {
        self.value(InstData::plain(op, [arg]), Some(Type::Scalar(to)))
    }

    pub(crate) fn icmp(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        self.value(InstData::new(Op::Icmp, [a, b], Detail::IntCompare(predicate)), None)
    }

    pub(crate) fn fcmp(&mut self, predicate: FloatPredicate, a: Value, b: Value) -> Value {
        self.value(InstData::new(Op::Fcmp, [a, b], Detail::FloatCompare(predicate)), None)
    }

    pub(crate) fn select(&mut self, condition: Value, then: Value, otherwise: Value) -> Value {
        self.op(Op::Select, &[condition, then, otherwise])
    }

    /// Tests whether a float is in one of LLVM's classes.
    pub(crate) fn is_class(&mut self, value: Value, classes: u16) -> Value {
        self.value(InstData::new(Op::FloatClass, [value], Detail::FloatClass(classes)), None)
    }

    pub(crate) fn query(&mut self, op: Op, dimension: Option<u8>) -> Value {
        self.value(InstData::new(op, [], Detail::Dimension(dimension)), Some(Type::I32))
    }

    pub(crate) fn scalar(&self, value: Value) -> Scalar {
        self.func.value_type(value).scalar()
    }

    // Constants.

    pub(crate) fn int(&mut self, scalar: Scalar, value: i128) -> Value {
        self.func.make_int(scalar, value)
    }

    pub(crate) fn int32(&mut self, value: i128) -> Value {
        self.func.make_int(Scalar::I32, value)
    }

    pub(crate) fn bool(&mut self, value: bool) -> Value {
        self.func.make_bool(value)
    }

    pub(crate) fn bits(&mut self, scalar: Scalar, bits: u128) -> Value {
        self.func.make_const(Constant::Scalar(scalar, bits & scalar.bit_mask()))
    }

    /// Returns the nearest float constant.
    pub(crate) fn float(&mut self, scalar: Scalar, value: f32) -> Value {
        let bits = match scalar {
            Scalar::F64 => u128::from(f64::from(value).to_bits()),
            Scalar::BF16 => u128::from(value.to_bits() >> 16),
            Scalar::F16 => {
                // Callers pass only short fractions in the range of a half.
                let bits = value.to_bits();
                let exponent = (bits >> 23 & 0xff) as i32 - 127 + 15;
                let half = if value == 0.0 { 0 } else { (exponent as u32) << 10 | bits >> 13 & 0x3ff };
                u128::from(half | bits >> 31 << 15)
            }
            _ => u128::from(value.to_bits()),
        };
        self.bits(scalar, bits)
    }

    pub(crate) fn global(&mut self, space: Space, name: &Arc<str>) -> Value {
        self.func.make_const(Constant::Address(space, Arc::clone(name)))
    }

    pub(crate) fn constant(&self, value: Value) -> Option<u128> {
        match self.func.constant(value) {
            Some(Constant::Scalar(_, bits)) => Some(*bits),
            _ => None,
        }
    }

    // Conversions.

    /// Casts the bits to an integer or float type of the same width.
    pub(crate) fn bitcast(&mut self, value: Value, to: Scalar) -> Value {
        match self.scalar(value) == to {
            true => value,
            false => match self.constant(value) {
                Some(bits) if self.scalar(value).bits() == to.bits() => self.bits(to, bits),
                _ => self.before_bitcast(value, to).unwrap_or_else(|| self.to(Op::Bitcast, to, value)),
            },
        }
    }

    /// Returns the operand of the bitcast that made a value, if it has this type: untyped registers hold floats as integers.
    fn before_bitcast(&self, value: Value, to: Scalar) -> Option<Value> {
        let data = self.func.inst(self.func.def_inst(value)?);
        let from = *data.args.first()?;
        (data.op == Op::Bitcast && self.scalar(from) == to).then_some(from)
    }

    /// Returns the bits of a value as an integer.
    pub(crate) fn as_int(&mut self, value: Value) -> Value {
        let scalar = self.scalar(value);
        match scalar.is_float() {
            true => self.bitcast(value, super::layout::int(scalar.bits())),
            false => value,
        }
    }

    /// Truncates or extends an integer.
    pub(crate) fn resize(&mut self, value: Value, to: Scalar, signed: bool) -> Value {
        let from = self.scalar(value);
        if from == to {
            return value;
        }
        if let Some(bits) = self.constant(value) {
            let gap = 128 - from.bits();
            let extended = if signed { ((bits << gap) as i128 >> gap) as u128 } else { bits };
            return self.bits(to, extended);
        }
        match from.bits().cmp(&to.bits()) {
            std::cmp::Ordering::Less => self.to(if signed { Op::Sext } else { Op::Zext }, to, value),
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => self.to(Op::Trunc, to, value),
        }
    }

    pub(crate) fn not(&mut self, value: Value) -> Value {
        let scalar = self.scalar(value);
        let ones = self.int(scalar, -1);
        self.op(Op::Xor, &[value, ones])
    }

    /// Splits a packed value into its halves, lower one first.
    pub(crate) fn halves(&mut self, value: Value, half: Scalar) -> [Value; 2] {
        let whole = self.scalar(value);
        let part = super::layout::int(half.bits());
        let low = self.resize(value, part, false);
        let by = self.int(whole, half.bits().into());
        let high = self.op(Op::Lshr, &[value, by]);
        let high = self.resize(high, part, false);
        [low, high].map(|value| self.bitcast(value, half))
    }

    /// Packs two halves.
    pub(crate) fn packed(&mut self, [low, high]: [Value; 2]) -> Value {
        let [low, high] = [low, high].map(|value| self.as_int(value));
        let bits = self.scalar(low).bits();
        let whole = super::layout::int(bits * 2);
        let low = self.resize(low, whole, false);
        let high = self.resize(high, whole, false);
        let by = self.int(whole, bits.into());
        let high = self.op(Op::Shl, &[high, by]);
        self.op(Op::Or, &[low, high])
    }

    // Memory and calls.

    pub(crate) fn load(&mut self, to: Scalar, address: Value, access: Access, flags: Flags) -> Value {
        let data = InstData { flags, ..InstData::new(Op::Load, [address], Detail::Access(access)) };
        self.value(data, Some(Type::Scalar(to)))
    }

    pub(crate) fn store(&mut self, value: Value, address: Value, access: Access, flags: Flags) {
        let data = InstData { flags, ..InstData::new(Op::Store, [value, address], Detail::Access(access)) };
        self.inst(data, None);
    }

    /// Adds a byte offset to an address.
    pub(crate) fn add_bytes(&mut self, address: Value, offset: i64) -> Value {
        if offset == 0 {
            return address;
        }
        let offset = self.int(Scalar::I64, offset.into());
        self.op(Op::PtrAdd, &[address, offset])
    }

    pub(crate) fn call(&mut self, declaration: &Arc<Declaration>, args: &[Value]) -> Vec<Value> {
        let callee = self.func.make_callee(declaration);
        let inst = self.inst(InstData::new(Op::Call, args.iter().copied(), Detail::Call(callee)), None);
        inst.map_or(Vec::new(), |inst| self.func.results(inst).to_vec())
    }

    /// Calls a function of the C library.
    pub(crate) fn math(&mut self, name: &str, args: &[Value]) -> Value {
        let params: Vec<Type> = args.iter().map(|&arg| self.func.value_type(arg)).collect();
        let result = params[0];
        let signature = Signature { effects: Effects::PURE, ..Signature::new(&params, &[result]) };
        let declaration = Declaration { name: name.into(), kind: FunctionKind::Function, signature };
        let results = self.call(&Arc::new(declaration), args);
        results.first().copied().unwrap_or(args[0])
    }
}
