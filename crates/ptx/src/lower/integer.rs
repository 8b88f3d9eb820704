//! Lowering of integer arithmetic, bit operations, comparisons and selects.

use super::body::FunctionLowering;
use super::{LowerResult, layout, refuse};
use crate::check::{ResolvedInst, ResolvedOperand, wide};
use crate::module::NumberValue;
use crate::operation::IntegerOp;
use crate::words::Word;
use heddle_ir::words::{FloatPredicate, IntPredicate};
use heddle_ir::{Op, Scalar, Value};

/// Selectors of the special modes of `prmt`, by the two lowest bits of the operand.
const SELECTORS: [(Word, [u16; 4]); 6] = [
    (Word::F4e, [0x3210, 0x4321, 0x5432, 0x6543]),
    (Word::B4e, [0x5670, 0x6701, 0x7012, 0x0123]),
    (Word::Rc8, [0x0000, 0x1111, 0x2222, 0x3333]),
    (Word::Ecl, [0x3210, 0x3211, 0x3222, 0x3333]),
    (Word::Ecr, [0x0000, 0x1110, 0x2210, 0x3210]),
    (Word::Rc16, [0x1010, 0x3232, 0x1010, 0x3232]),
];

impl FunctionLowering<'_, '_, '_> {
    pub(crate) fn integer(&mut self, inst: &ResolvedInst, operation: IntegerOp, ty: Word) -> LowerResult<()> {
        if let Some(half) = ty.half() {
            let mut parts = Vec::new();
            for arg in &inst.args[1..] {
                let value = self.read(arg, ty)?;
                parts.push(self.emit.halves(value, layout::scalar(half)));
            }
            let mut results = [parts[0][0]; 2];
            for (index, result) in results.iter_mut().enumerate() {
                let args: Vec<Value> = parts.iter().map(|both| both[index]).collect();
                *result = self.integer_op(inst, operation, half, &args)?;
            }
            let value = self.emit.packed(results);
            self.write(&inst.args[0], value, false);
            return Ok(());
        }
        let is_wide = inst.words.contains(&Word::Wide);
        let mut args = Vec::new();
        let kinds = crate::table::specs(inst.form);
        for (index, arg) in inst.args.iter().enumerate().skip(1) {
            let of = kinds.get(index).map(|spec| spec.role);
            let ty = match of {
                Some(crate::table::OperandRole::Value(crate::table::OperandType::Fixed(ty))) => ty,
                Some(crate::table::OperandRole::Value(crate::table::OperandType::Wide)) => wide(ty),
                Some(crate::table::OperandRole::Predicate) => Word::Pred,
                _ => ty,
            };
            args.push(self.read(arg, ty)?);
        }
        if operation == IntegerOp::Prmt {
            let modes = SELECTORS.iter().find(|(word, _)| inst.words.contains(word));
            if let Some((_, selectors)) = modes {
                let table = selectors.iter().rev().fold(0u64, |table, &one| table << 16 | u64::from(one));
                let table = self.emit.int(Scalar::I64, table.into());
                let three = self.emit.int32(3);
                let which = self.emit.op(Op::And, &[args[2], three]);
                let four = self.emit.int32(4);
                let by = self.emit.op(Op::Shl, &[which, four]);
                let by = self.emit.resize(by, Scalar::I64, false);
                let chosen = self.emit.op(Op::Lshr, &[table, by]);
                args[2] = self.emit.resize(chosen, Scalar::I32, false);
            }
        }
        let value = self.integer_op(inst, operation, ty, &args)?;
        let signed = if is_wide { wide(ty).is_signed() } else { ty.is_signed() };
        self.write(&inst.args[0], value, signed);
        if operation == IntegerOp::Lop3 && inst.args.len() > 5 {
            let zero = self.is_zero(value);
            let set = self.emit.not(zero);
            let op = if inst.words.contains(&Word::And) { Op::And } else { Op::Or };
            let other = args[4];
            self.write_second(&inst.args[0], |lower| lower.emit.op(op, &[set, other]));
        }
        Ok(())
    }

    fn integer_op(
        &mut self,
        inst: &ResolvedInst,
        op: IntegerOp,
        ty: Word,
        args: &[Value],
    ) -> LowerResult<Value> {
        let words = &inst.words;
        let has = |word: Word| words.contains(&word);
        let signed = ty.is_signed();
        let scalar = layout::scalar(ty);
        let bits = scalar.bits();
        let takes_carry = matches!(op, IntegerOp::Addc | IntegerOp::Subc | IntegerOp::Madc);
        let e = &mut self.emit;
        let by_sign = |signed_op: Op, unsigned: Op| if signed { signed_op } else { unsigned };
        Ok(match op {
            IntegerOp::Add if has(Word::Sat) => e.op(Op::SaddSat, args),
            IntegerOp::Sub if has(Word::Sat) => e.op(Op::SsubSat, args),
            IntegerOp::Add | IntegerOp::Addc => {
                return Ok(self.add_with_carry(args[0], args[1], takes_carry, has(Word::Cc)));
            }
            IntegerOp::Sub | IntegerOp::Subc => {
                return Ok(self.sub_with_borrow(args[0], args[1], takes_carry, has(Word::Cc)));
            }
            IntegerOp::Mul if has(Word::Wide) => {
                let to = layout::int(bits * 2);
                let [a, b] = [args[0], args[1]].map(|arg| e.resize(arg, to, signed));
                e.op(Op::Mul, &[a, b])
            }
            IntegerOp::Mul if has(Word::Hi) => self.high(args[0], args[1], signed),
            IntegerOp::Mul => e.op(Op::Mul, &args[..2]),
            IntegerOp::Mad | IntegerOp::Madc => {
                let product = if has(Word::Wide) {
                    let to = layout::int(bits * 2);
                    let [a, b] = [args[0], args[1]].map(|arg| e.resize(arg, to, signed));
                    e.op(Op::Mul, &[a, b])
                } else if has(Word::Hi) {
                    self.high(args[0], args[1], signed)
                } else {
                    e.op(Op::Mul, &args[..2])
                };
                if has(Word::Sat) {
                    return Ok(self.emit.op(Op::SaddSat, &[product, args[2]]));
                }
                return Ok(self.add_with_carry(product, args[2], takes_carry, has(Word::Cc)));
            }
            IntegerOp::Mul24 | IntegerOp::Mad24 => {
                let [a, b] = [args[0], args[1]].map(|arg| {
                    let eight = e.int32(8);
                    let up = e.op(Op::Shl, &[arg, eight]);
                    let arg = e.op(by_sign(Op::Ashr, Op::Lshr), &[up, eight]);
                    e.resize(arg, Scalar::I64, signed)
                });
                let mut product = e.op(Op::Mul, &[a, b]);
                if has(Word::Hi) {
                    let by = e.int(Scalar::I64, 16);
                    product = e.op(Op::Lshr, &[product, by]);
                }
                let product = e.resize(product, Scalar::I32, false);
                match args.get(2) {
                    Some(&more) if has(Word::Sat) => e.op(Op::SaddSat, &[product, more]),
                    Some(&more) => e.op(Op::Add, &[product, more]),
                    None => product,
                }
            }
            IntegerOp::Sad => {
                let most = e.op(by_sign(Op::Smax, Op::Umax), &args[..2]);
                let min = e.op(by_sign(Op::Smin, Op::Umin), &args[..2]);
                let apart = e.op(Op::Sub, &[most, min]);
                e.op(Op::Add, &[apart, args[2]])
            }
            IntegerOp::Div | IntegerOp::Rem => {
                return Ok(self.divide(args[0], args[1], signed, op == IntegerOp::Rem));
            }
            IntegerOp::Abs => e.op(Op::Abs, &args[..1]),
            IntegerOp::Neg => {
                let zero = e.int(scalar, 0);
                e.op(Op::Sub, &[zero, args[0]])
            }
            IntegerOp::Min | IntegerOp::Max => {
                let op = match op {
                    IntegerOp::Min => by_sign(Op::Smin, Op::Umin),
                    _ => by_sign(Op::Smax, Op::Umax),
                };
                let value = e.op(op, &args[..2]);
                if has(Word::Relu) {
                    let zero = e.int(scalar, 0);
                    e.op(Op::Smax, &[value, zero])
                } else {
                    value
                }
            }
            IntegerOp::Popc | IntegerOp::Clz => {
                let count = e.op(if op == IntegerOp::Popc { Op::Ctpop } else { Op::Ctlz }, &args[..1]);
                e.resize(count, Scalar::I32, false)
            }
            IntegerOp::Brev => e.op(Op::Bitreverse, &args[..1]),
            IntegerOp::Bfind => self.find_first(args[0], signed, has(Word::Shiftamt)),
            IntegerOp::Fns => self.find_nth(args[0], args[1], args[2]),
            IntegerOp::Bfe => self.extract(args[0], args[1], args[2], signed),
            IntegerOp::Bfi => self.insert(args[0], args[1], args[2], args[3]),
            IntegerOp::Szext => self.extend(args[0], args[1], signed, has(Word::Wrap)),
            IntegerOp::Bmsk => {
                let mut from = args[0];
                let mut count = args[1];
                if has(Word::Wrap) {
                    let mask = e.int32(31);
                    from = e.op(Op::And, &[from, mask]);
                    count = e.op(Op::And, &[count, mask]);
                }
                let ones = self.low_ones(Scalar::I32, count);
                self.shift(Op::Shl, ones, from)
            }
            IntegerOp::And => e.op(Op::And, &args[..2]),
            IntegerOp::Or => e.op(Op::Or, &args[..2]),
            IntegerOp::Xor => e.op(Op::Xor, &args[..2]),
            IntegerOp::Not => e.not(args[0]),
            IntegerOp::Cnot => {
                let zero = self.is_zero(args[0]);
                self.emit.resize(zero, scalar, false)
            }
            IntegerOp::Shl => self.shift(Op::Shl, args[0], args[1]),
            IntegerOp::Shr => self.shift(by_sign(Op::Ashr, Op::Lshr), args[0], args[1]),
            IntegerOp::Shf => {
                let count = if has(Word::Clamp) {
                    let most = e.int32(32);
                    e.op(Op::Umin, &[args[2], most])
                } else {
                    let mask = e.int32(31);
                    e.op(Op::And, &[args[2], mask])
                };
                let count = e.resize(count, Scalar::I64, false);
                let both = e.packed([args[0], args[1]]);
                if has(Word::L) {
                    let up = e.op(Op::Shl, &[both, count]);
                    let by = e.int(Scalar::I64, 32);
                    let up = e.op(Op::Lshr, &[up, by]);
                    e.resize(up, Scalar::I32, false)
                } else {
                    let down = e.op(Op::Lshr, &[both, count]);
                    e.resize(down, Scalar::I32, false)
                }
            }
            IntegerOp::Lop3 => {
                let Some(table) = e.constant(args[3]) else {
                    return refuse("the table of `lop3` is not a constant", "write a number");
                };
                self.by_table(table as u8, args[0], args[1], args[2])
            }
            IntegerOp::Prmt => self.permute(args[0], args[1], args[2]),
        })
    }

    fn high(&mut self, a: Value, b: Value, signed: bool) -> Value {
        let scalar = self.emit.scalar(a);
        let to = layout::int(scalar.bits() * 2);
        let [a, b] = [a, b].map(|arg| self.emit.resize(arg, to, signed));
        let product = self.emit.op(Op::Mul, &[a, b]);
        let by = self.emit.int(to, scalar.bits().into());
        let high = self.emit.op(Op::Lshr, &[product, by]);
        self.emit.resize(high, scalar, false)
    }

    fn add_with_carry(&mut self, a: Value, b: Value, takes: bool, gives: bool) -> Value {
        let scalar = self.emit.scalar(a);
        let sum = self.emit.op(Op::Add, &[a, b]);
        let mut carries = gives.then(|| self.emit.icmp(IntPredicate::Ult, sum, a));
        let mut result = sum;
        if takes {
            let carry = self.get(self.carry);
            let carry = self.emit.resize(carry, scalar, false);
            result = self.emit.op(Op::Add, &[sum, carry]);
            if let Some(first) = carries {
                let second = self.emit.icmp(IntPredicate::Ult, result, sum);
                carries = Some(self.emit.op(Op::Or, &[first, second]));
            }
        }
        if let Some(carry) = carries {
            self.set(self.carry, carry);
        }
        result
    }

    /// Subtracts. The carry is that of a sum with the complement, as on GPUs: set where nothing is borrowed.
    fn sub_with_borrow(&mut self, a: Value, b: Value, takes: bool, gives: bool) -> Value {
        let scalar = self.emit.scalar(a);
        let difference = self.emit.op(Op::Sub, &[a, b]);
        let mut borrows = gives.then(|| self.emit.icmp(IntPredicate::Ult, a, b));
        let mut result = difference;
        if takes {
            let carry = self.get(self.carry);
            let borrow = self.emit.not(carry);
            let borrow = self.emit.resize(borrow, scalar, false);
            result = self.emit.op(Op::Sub, &[difference, borrow]);
            if let Some(first) = borrows {
                let second = self.emit.icmp(IntPredicate::Ult, difference, borrow);
                borrows = Some(self.emit.op(Op::Or, &[first, second]));
            }
        }
        if let Some(borrow) = borrows {
            let carry = self.emit.not(borrow);
            self.set(self.carry, carry);
        }
        result
    }

    /// Divides with results for all operands: by zero, quotient and remainder are all ones, as on GPUs.
    fn divide(&mut self, a: Value, b: Value, signed: bool, remainder: bool) -> Value {
        let e = &mut self.emit;
        let scalar = e.scalar(a);
        let (zero, one, ones) = (e.int(scalar, 0), e.int(scalar, 1), e.int(scalar, -1));
        let by_zero = e.icmp(IntPredicate::Eq, b, zero);
        let mut is_bad = by_zero;
        if signed {
            // The minimum by -1 gives the minimum, as by 1.
            let min = e.int(scalar, i128::MIN >> (128 - scalar.bits()));
            let from_least = e.icmp(IntPredicate::Eq, a, min);
            let by_ones = e.icmp(IntPredicate::Eq, b, ones);
            let overflows = e.op(Op::And, &[from_least, by_ones]);
            is_bad = e.op(Op::Or, &[by_zero, overflows]);
        }
        let divisor = e.select(is_bad, one, b);
        let op = match (signed, remainder) {
            (true, false) => Op::Sdiv,
            (true, true) => Op::Srem,
            (false, false) => Op::Udiv,
            (false, true) => Op::Urem,
        };
        let result = e.op(op, &[a, divisor]);
        e.select(by_zero, ones, result)
    }

    /// Shifts by an amount that may exceed the width.
    pub(crate) fn shift(&mut self, op: Op, value: Value, by: Value) -> Value {
        let e = &mut self.emit;
        let scalar = e.scalar(value);
        let bits = scalar.bits();
        if let Some(by) = e.constant(by) {
            let amount = (by as u32).min(if op == Op::Ashr { bits - 1 } else { bits });
            if amount == bits {
                return e.int(scalar, 0);
            }
            let by = e.int(scalar, amount.into());
            return e.op(op, &[value, by]);
        }
        let from = e.scalar(by);
        let most = e.int(from, i128::from(bits) - 1);
        let amount = e.op(Op::Umin, &[by, most]);
        let amount = e.resize(amount, scalar, false);
        let shifted = e.op(op, &[value, amount]);
        if op == Op::Ashr {
            return shifted;
        }
        let is_over = e.icmp(IntPredicate::Ugt, by, most);
        let zero = e.int(scalar, 0);
        e.select(is_over, zero, shifted)
    }

    /// Returns a mask of the lowest `count` bits.
    fn low_ones(&mut self, scalar: Scalar, count: Value) -> Value {
        let ones = self.emit.int(scalar, -1);
        let up = self.shift(Op::Shl, ones, count);
        self.emit.not(up)
    }

    fn find_first(&mut self, value: Value, signed: bool, as_shift: bool) -> Value {
        let e = &mut self.emit;
        let scalar = e.scalar(value);
        let mut value = value;
        if signed {
            let by = e.int(scalar, i128::from(scalar.bits()) - 1);
            let sign = e.op(Op::Ashr, &[value, by]);
            value = e.op(Op::Xor, &[value, sign]);
        }
        let zeros = e.op(Op::Ctlz, &[value]);
        let zeros = e.resize(zeros, Scalar::I32, false);
        let last = e.int32(i128::from(scalar.bits()) - 1);
        let place = if as_shift { zeros } else { e.op(Op::Sub, &[last, zeros]) };
        let none = self.is_zero(value);
        let ones = self.emit.int32(-1);
        self.emit.select(none, ones, place)
    }

    /// Finds the position of the `count`th set bit from `base` upwards, or downwards if `count` is negative.
    fn find_nth(&mut self, mask: Value, base: Value, count: Value) -> Value {
        let e = &mut self.emit;
        let zero = e.int32(0);
        let down = e.icmp(IntPredicate::Slt, count, zero);
        let one = e.int32(1);
        let unexpected = e.op(Op::Abs, &[count]);
        let unexpected = e.op(Op::Umax, &[unexpected, one]);
        let here = e.icmp(IntPredicate::Eq, count, zero);
        let mut result = e.int32(-1);
        for place in 0..32 {
            let e = &mut self.emit;
            let at = e.int32(place);
            let bit = e.int32(1 << place);
            let own = e.op(Op::And, &[mask, bit]);
            let up_to = e.int32(i128::from(u32::MAX >> (31 - place)));
            let from_here = e.int32(i128::from(u32::MAX << place));
            // Set bits between the base and this position, inclusive.
            let span = e.select(down, from_here, up_to);
            let among = e.op(Op::And, &[mask, span]);
            let from_base = self.low_ones(Scalar::I32, base);
            let e = &mut self.emit;
            let above = e.not(from_base);
            let one = e.int32(1);
            let next = e.op(Op::Add, &[base, one]);
            let up_to_base = self.low_ones(Scalar::I32, next);
            let e = &mut self.emit;
            let side = e.select(down, up_to_base, above);
            let among = e.op(Op::And, &[among, side]);
            let rank = e.op(Op::Ctpop, &[among]);
            let fits = e.icmp(IntPredicate::Eq, rank, unexpected);
            let zero = e.int32(0);
            let is_set = e.icmp(IntPredicate::Ne, own, zero);
            let own_side = e.op(Op::And, &[bit, side]);
            let on_side = e.icmp(IntPredicate::Ne, own_side, zero);
            let is_base = e.icmp(IntPredicate::Eq, base, at);
            let no = e.bool(false);
            let yes = e.bool(true);
            let allowed = e.select(here, is_base, yes);
            let found = e.op(Op::And, &[fits, is_set]);
            let found = e.op(Op::And, &[found, on_side]);
            let found = e.select(allowed, found, no);
            result = e.select(found, at, result);
        }
        // PTX leaves a base above 31 and the least number open; GPUs find nothing from such a base, and position 0 by that number.
        let e = &mut self.emit;
        let (places, none, zero) = (e.int32(32), e.int32(-1), e.int32(0));
        let is_place = e.icmp(IntPredicate::Ult, base, places);
        let result = e.select(is_place, result, none);
        let least = e.int32(i128::from(i32::MIN));
        let is_least = e.icmp(IntPredicate::Eq, count, least);
        e.select(is_least, zero, result)
    }

    /// Position and length of a field: their lowest eight bits for words of 32 bits, else all, as on GPUs.
    fn place(&mut self, scalar: Scalar, field: [Value; 2]) -> [Value; 2] {
        if scalar != Scalar::I32 {
            return field;
        }
        let byte = self.emit.int32(255);
        field.map(|number| self.emit.op(Op::And, &[number, byte]))
    }

    fn extract(&mut self, value: Value, from: Value, count: Value, signed: bool) -> Value {
        let scalar = self.emit.scalar(value);
        let bits = i128::from(scalar.bits());
        let [from, count] = self.place(scalar, [from, count]);
        let moved = self.shift(if signed { Op::Ashr } else { Op::Lshr }, value, from);
        if !signed {
            let mask = self.low_ones(scalar, count);
            return self.emit.op(Op::And, &[moved, mask]);
        }
        let width = self.emit.int32(bits);
        let gap = self.emit.op(Op::UsubSat, &[width, count]);
        let up = self.shift(Op::Shl, moved, gap);
        let down = self.shift(Op::Ashr, up, gap);
        let none = self.is_zero(count);
        let zero = self.emit.int(scalar, 0);
        self.emit.select(none, zero, down)
    }

    fn insert(&mut self, field: Value, into: Value, from: Value, count: Value) -> Value {
        let scalar = self.emit.scalar(field);
        let [from, count] = self.place(scalar, [from, count]);
        let ones = self.low_ones(scalar, count);
        let mask = self.shift(Op::Shl, ones, from);
        let moved = self.shift(Op::Shl, field, from);
        let e = &mut self.emit;
        let field = e.op(Op::And, &[moved, mask]);
        let keep = e.not(mask);
        let rest = e.op(Op::And, &[into, keep]);
        e.op(Op::Or, &[rest, field])
    }

    fn extend(&mut self, value: Value, count: Value, signed: bool, wrap: bool) -> Value {
        let mut count = count;
        if wrap {
            let mask = self.emit.int32(31);
            count = self.emit.op(Op::And, &[count, mask]);
        }
        let width = self.emit.int32(32);
        let gap = self.emit.op(Op::UsubSat, &[width, count]);
        let up = self.shift(Op::Shl, value, gap);
        let down = self.shift(if signed { Op::Ashr } else { Op::Lshr }, up, gap);
        let none = self.is_zero(count);
        let zero = self.emit.int32(0);
        self.emit.select(none, zero, down)
    }

    /// Computes any function of three bits from its truth table: the result is bit `4 a + 2 b + c`.
    fn by_table(&mut self, table: u8, a: Value, b: Value, c: Value) -> Value {
        let upper = self.by_two(table >> 4, b, c);
        let lower = self.by_two(table & 15, b, c);
        self.mixed(a, upper, lower)
    }

    fn by_two(&mut self, table: u8, b: Value, c: Value) -> Value {
        let mut one = |table: u8| match table & 3 {
            0 => self.emit.int32(0),
            1 => self.emit.not(c),
            2 => c,
            _ => self.emit.int32(-1),
        };
        let (upper, lower) = (one(table >> 2), one(table));
        self.mixed(b, upper, lower)
    }

    /// Selects bitwise: bits of `then` where `by` is set, else of `otherwise`.
    fn mixed(&mut self, by: Value, then: Value, otherwise: Value) -> Value {
        if then == otherwise {
            return then;
        }
        let e = &mut self.emit;
        let apart = match (e.constant(then), e.constant(otherwise)) {
            (_, Some(0)) => return e.op(Op::And, &[by, then]),
            (Some(0), _) => {
                let other = e.not(by);
                return e.op(Op::And, &[other, otherwise]);
            }
            (Some(bits), _) if bits == Scalar::I32.bit_mask() => return e.op(Op::Or, &[by, otherwise]),
            _ => e.op(Op::Xor, &[then, otherwise]),
        };
        let chosen = e.op(Op::And, &[apart, by]);
        e.op(Op::Xor, &[chosen, otherwise])
    }

    /// Selects four of eight bytes, each by four bits of the selector: its index, and whether its sign is replicated.
    fn permute(&mut self, a: Value, b: Value, selector: Value) -> Value {
        let e = &mut self.emit;
        let both = e.packed([a, b]);
        let mut result = e.int32(0);
        for place in 0..4 {
            let by = e.int32(place * 4);
            let code = e.op(Op::Lshr, &[selector, by]);
            let seven = e.int32(7);
            let number = e.op(Op::And, &[code, seven]);
            let three = e.int32(3);
            let shift = e.op(Op::Shl, &[number, three]);
            let shift = e.resize(shift, Scalar::I64, false);
            let moved = e.op(Op::Lshr, &[both, shift]);
            let byte = e.resize(moved, Scalar::I8, false);
            let last = e.int(Scalar::I8, 7);
            let sign = e.op(Op::Ashr, &[byte, last]);
            let eight = e.int32(8);
            let flag = e.op(Op::And, &[code, eight]);
            let zero = e.int32(0);
            let wants_sign = e.icmp(IntPredicate::Ne, flag, zero);
            let byte = e.select(wants_sign, sign, byte);
            let byte = e.resize(byte, Scalar::I32, false);
            let up = e.int32(place * 8);
            let byte = e.op(Op::Shl, &[byte, up]);
            result = e.op(Op::Or, &[result, byte]);
        }
        result
    }

    /// Lowers `dp4a` and `dp2a`: a sum of products of bytes, or of halves and bytes.
    pub(crate) fn dot(&mut self, inst: &ResolvedInst, of_bytes: bool) -> LowerResult<()> {
        let types: Vec<Word> = inst.words.iter().copied().filter(|word| word.is_type()).collect();
        let [first, second] = [types[0].is_signed(), types[1].is_signed()];
        let a = self.read(&inst.args[1], Word::B32)?;
        let b = self.read(&inst.args[2], Word::B32)?;
        let mut sum = self.read(&inst.args[3], Word::B32)?;
        let (count, part) = if of_bytes { (4, Scalar::I8) } else { (2, Scalar::I16) };
        let start = if inst.words.contains(&Word::Hi) { 16 } else { 0 };
        for index in 0..count {
            let e = &mut self.emit;
            let by = e.int32(index * i128::from(part.bits()));
            let left = e.op(Op::Lshr, &[a, by]);
            let left = e.resize(left, part, false);
            let left = e.resize(left, Scalar::I32, first);
            let by = e.int32(start + index * 8);
            let right = e.op(Op::Lshr, &[b, by]);
            let right = e.resize(right, Scalar::I8, false);
            let right = e.resize(right, Scalar::I32, second);
            let product = e.op(Op::Mul, &[left, right]);
            sum = e.op(Op::Add, &[sum, product]);
        }
        self.write(&inst.args[0], sum, first || second);
        Ok(())
    }

    // Comparisons and selects.

    pub(crate) fn select_by_predicate(&mut self, inst: &ResolvedInst, ty: Word) -> LowerResult<()> {
        let [a, b] = [&inst.args[1], &inst.args[2]].map(|arg| self.read(arg, ty));
        let (a, b) = (a?, b?);
        let condition = self.read(&inst.args[3], Word::Pred)?;
        let value = self.emit.select(condition, a, b);
        self.write(&inst.args[0], value, false);
        Ok(())
    }

    pub(crate) fn select_by_sign(&mut self, inst: &ResolvedInst, ty: Word) -> LowerResult<()> {
        let first = inst.words.iter().copied().find(|word| word.is_type()).unwrap_or(ty);
        let [a, b] = [&inst.args[1], &inst.args[2]].map(|arg| self.read(arg, first));
        let (a, b) = (a?, b?);
        let by = self.read(&inst.args[3], ty)?;
        let condition = if ty == Word::F32 {
            let by = if inst.words.contains(&Word::Ftz) { self.flushed(by) } else { by };
            let zero = self.emit.float(Scalar::F32, 0.0);
            self.emit.fcmp(FloatPredicate::Oge, by, zero)
        } else {
            let zero = self.emit.int32(0);
            self.emit.icmp(IntPredicate::Sge, by, zero)
        };
        let value = self.emit.select(condition, a, b);
        self.write(&inst.args[0], value, false);
        Ok(())
    }

    /// Lowers `setp`, and `set`, which makes numbers of predicates.
    pub(crate) fn compare(&mut self, inst: &ResolvedInst, is_setp: bool, ty: Word) -> LowerResult<()> {
        let types: Vec<Word> = inst.words.iter().copied().filter(|word| word.is_type()).collect();
        let a = self.read(&inst.args[1], ty)?;
        let b = self.read(&inst.args[2], ty)?;
        let with = match inst.args.get(3) {
            Some(arg) => Some(self.read(arg, Word::Pred)?),
            None => None,
        };
        let combine = [(Word::And, Op::And), (Word::Or, Op::Or), (Word::Xor, Op::Xor)];
        let op = combine.iter().find(|(word, _)| inst.words.contains(word)).map(|&(_, op)| op);
        let combined = |lower: &mut Self, value: Value| match (op, with) {
            (Some(op), Some(with)) => lower.emit.op(op, &[value, with]),
            _ => value,
        };
        if let Some(half) = ty.half() {
            let scalar = layout::scalar(half);
            let (a, b) = (self.emit.halves(a, scalar), self.emit.halves(b, scalar));
            let low = self.relation(inst, half, a[0], b[0])?;
            let high = self.relation(inst, half, a[1], b[1])?;
            if is_setp {
                let first = combined(self, low);
                let second = combined(self, high);
                self.write(&inst.args[0], first, false);
                self.write_second(&inst.args[0], |_| second);
            } else {
                let to = types[0].half().unwrap_or(Word::F16);
                let [low, high] = [low, high].map(|value| self.truth(value, to));
                let value = self.emit.packed([low, high]);
                self.write(&inst.args[0], value, false);
            }
            return Ok(());
        }
        let holds = self.relation(inst, ty, a, b)?;
        let value = combined(self, holds);
        if is_setp {
            self.write(&inst.args[0], value, false);
            self.write_second(&inst.args[0], |lower| {
                let other = lower.emit.not(holds);
                combined(lower, other)
            });
        } else {
            let value = self.truth(value, types[0]);
            self.write(&inst.args[0], value, types[0].is_signed());
        }
        Ok(())
    }

    /// Converts a predicate to the result of `set`: all ones, or 1.0.
    fn truth(&mut self, value: Value, ty: Word) -> Value {
        let scalar = layout::scalar(ty);
        let (yes, no) = match scalar.is_float() {
            true => (self.emit.float(scalar, 1.0), self.emit.float(scalar, 0.0)),
            false => (self.emit.int(scalar, -1), self.emit.int(scalar, 0)),
        };
        self.emit.select(value, yes, no)
    }

    fn relation(&mut self, inst: &ResolvedInst, ty: Word, a: Value, b: Value) -> LowerResult<Value> {
        use FloatPredicate as F;
        use IntPredicate as I;
        let signed = ty.is_signed();
        if ty.is_float() {
            let predicate = inst.words.iter().find_map(|word| {
                Some(match word {
                    Word::Eq => F::Oeq,
                    Word::Ne => F::One,
                    Word::Lt => F::Olt,
                    Word::Le => F::Ole,
                    Word::Gt => F::Ogt,
                    Word::Ge => F::Oge,
                    Word::Equ => F::Ueq,
                    Word::Neu => F::Une,
                    Word::Ltu => F::Ult,
                    Word::Leu => F::Ule,
                    Word::Gtu => F::Ugt,
                    Word::Geu => F::Uge,
                    Word::Num => F::Ord,
                    Word::Nan => F::Uno,
                    _ => return None,
                })
            });
            let Some(predicate) = predicate else {
                return refuse("unknown comparison of floats", "use `lt`, `ltu` and so on");
            };
            let (mut a, mut b) = (a, b);
            if inst.words.contains(&Word::Ftz) {
                (a, b) = (self.flushed(a), self.flushed(b));
            }
            return Ok(self.emit.fcmp(predicate, a, b));
        }
        let predicate = inst.words.iter().find_map(|word| {
            Some(match word {
                Word::Eq => I::Eq,
                Word::Ne => I::Ne,
                Word::Lt if signed => I::Slt,
                Word::Le if signed => I::Sle,
                Word::Gt if signed => I::Sgt,
                Word::Ge if signed => I::Sge,
                Word::Lt | Word::Lo => I::Ult,
                Word::Le | Word::Ls => I::Ule,
                Word::Gt | Word::Hi => I::Ugt,
                Word::Ge | Word::Hs => I::Uge,
                _ => return None,
            })
        });
        match predicate {
            Some(predicate) => Ok(self.emit.icmp(predicate, a, b)),
            None => refuse("unknown comparison of integers", "use `lt`, `lo` and so on"),
        }
    }

    /// Returns the value of a constant operand.
    pub(crate) fn constant(arg: Option<&ResolvedOperand>) -> Option<u64> {
        match arg {
            Some(ResolvedOperand::Number(NumberValue::Int(value))) => Some(*value),
            _ => None,
        }
    }
}
