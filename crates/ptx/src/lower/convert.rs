//! Lowering of `cvt`: integers and floats of all widths, with all roundings.

use super::body::FunctionLowering;
use super::float::rounding;
use super::{LowerResult, layout};
use crate::check::ResolvedInst;
use crate::words::Word;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Op, Scalar, Value};

impl FunctionLowering<'_, '_, '_> {
    pub(crate) fn convert(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let types: Vec<Word> = inst.words.iter().copied().filter(|word| word.is_type()).collect();
        let (to, from) = (types[0], types[1]);
        if inst.words.contains(&Word::Pack) {
            return self.convert_packed(inst, to);
        }
        if self.convert_narrow(inst, to, from)? {
            return Ok(());
        }
        if let (Some(half), Word::F32) = (to.half(), from) {
            let high = self.read(&inst.args[1], from)?;
            let low = self.read(&inst.args[2], from)?;
            let [low, high] = [low, high].map(|value| self.float_to_float(inst, value, half));
            let value = self.emit.packed([low, high]);
            self.write(&inst.args[0], value, false);
            return Ok(());
        }
        let value = self.read(&inst.args[1], from)?;
        let value = match (to.is_float(), from.is_float()) {
            _ if to == Word::Tf32 => {
                let value = if inst.words.contains(&Word::Relu) { self.relu(value) } else { value };
                self.rounded_to_tf32(value, rounding(&inst.words))
            }
            (false, false) => {
                let value = if inst.words.contains(&Word::Sat) { self.clamp(value, from, to) } else { value };
                self.emit.resize(value, layout::scalar(to), from.is_signed())
            }
            (false, true) => self.float_to_int(inst, value, from, to),
            (true, false) => {
                let value = self.int_to_float(value, from, to, rounding(&inst.words));
                match inst.words.contains(&Word::Sat) {
                    true => self.clamped(value),
                    false => value,
                }
            }
            (true, true) => self.float_to_float(inst, value, to),
        };
        self.write(&inst.args[0], value, to.is_signed());
        Ok(())
    }

    /// Clamps an integer to the range of another type. It keeps its type.
    fn clamp(&mut self, value: Value, from: Word, to: Word) -> Value {
        let scalar = self.emit.scalar(value);
        let (from_bits, to_bits) = (scalar.bits(), to.bits().unwrap_or(32));
        let mut value = value;
        if !to.is_signed() && from.is_signed() {
            let zero = self.emit.int(scalar, 0);
            value = self.emit.op(Op::Smax, &[value, zero]);
        }
        let value_bits = if to.is_signed() { to_bits - 1 } else { to_bits };
        let own_bits = if from.is_signed() { from_bits - 1 } else { from_bits };
        if value_bits < own_bits {
            let most = self.emit.bits(scalar, u128::MAX >> (128 - value_bits));
            value = self.emit.op(if from.is_signed() { Op::Smin } else { Op::Umin }, &[value, most]);
            if to.is_signed() && from.is_signed() {
                let min = self.emit.int(scalar, -(1i128 << value_bits));
                value = self.emit.op(Op::Smax, &[value, min]);
            }
        }
        value
    }

    fn convert_packed(&mut self, inst: &ResolvedInst, to: Word) -> LowerResult<()> {
        let part = layout::int(to.bits().unwrap_or(8));
        let mut narrow = [self.emit.int32(0); 2];
        for (index, result) in narrow.iter_mut().enumerate() {
            let value = self.read(&inst.args[1 + index], Word::S32)?;
            let value = self.clamp(value, Word::S32, to);
            *result = self.emit.resize(value, part, false);
        }
        let mut value = self.emit.packed([narrow[1], narrow[0]]);
        if let Some(arg) = inst.args.get(3) {
            let above = self.read(arg, Word::B32)?;
            let by = self.emit.int32(16);
            let above = self.emit.op(Op::Shl, &[above, by]);
            let below = self.emit.resize(value, Scalar::I32, false);
            value = self.emit.op(Op::Or, &[above, below]);
        }
        self.write(&inst.args[0], value, false);
        Ok(())
    }

    /// Rounds an `f32` to ten fraction bits. As on GPUs, `.rna` only cuts the bits of a NaN, which others replace by one.
    fn rounded_to_tf32(&mut self, value: Value, mode: Word) -> Value {
        let bits = self.emit.bitcast(value, Scalar::I32);
        let added = match mode {
            Word::Rz => self.emit.int32(0),
            Word::Rna => self.emit.int32(0x1000),
            _ => {
                let by = self.emit.int32(13);
                let last = self.emit.op(Op::Lshr, &[bits, by]);
                let one = self.emit.int32(1);
                let last = self.emit.op(Op::And, &[last, one]);
                let half = self.emit.int32(0xfff);
                self.emit.op(Op::Add, &[last, half])
            }
        };
        let rounded = self.emit.op(Op::Add, &[bits, added]);
        let mask = self.emit.int32(!0x1fff);
        let rounded = self.emit.op(Op::And, &[rounded, mask]);
        let special = self.emit.is_class(value, 0x207);
        let cut = self.emit.op(Op::And, &[bits, mask]);
        let result = self.emit.select(special, cut, rounded);
        if mode == Word::Rna {
            return result;
        }
        let is_nan = self.emit.is_class(value, 3);
        let nan = self.emit.int32(0x7fff_e000);
        self.emit.select(is_nan, nan, result)
    }

    fn float_to_int(&mut self, inst: &ResolvedInst, value: Value, from: Word, to: Word) -> Value {
        let has = |word: Word| inst.words.contains(&word);
        let mut value = value;
        if has(Word::Ftz) {
            value = self.flushed(value);
        }
        let op = match () {
            () if has(Word::Rni) || has(Word::Rn) => Some(Op::RoundEven),
            () if has(Word::Rmi) || has(Word::Rm) => Some(Op::Floor),
            () if has(Word::Rpi) || has(Word::Rp) => Some(Op::Ceil),
            () => None,
        };
        if let Some(op) = op {
            value = self.emit.op(op, &[value]);
        }
        let scalar = layout::scalar(to);
        let op = if to.is_signed() { Op::FptosiSat } else { Op::FptouiSat };
        let number = self.emit.to(op, scalar, value);
        if from != Word::F64 && scalar.bits() < 64 {
            return number;
        }
        let is_nan = self.emit.is_class(value, 3);
        let high = self.emit.bits(scalar, 1 << (scalar.bits() - 1));
        self.emit.select(is_nan, high, number)
    }

    fn int_to_float(&mut self, value: Value, from: Word, to: Word, mode: Word) -> Value {
        let scalar = layout::scalar(to);
        let op = if from.is_signed() { Op::Sitofp } else { Op::Uitofp };
        if mode == Word::Rn {
            return self.emit.to(op, scalar, value);
        }
        let near = self.emit.to(op, Scalar::F64, value);
        let error = match from.bits() {
            Some(64) => self.error_of_double(value, near, from.is_signed()),
            _ => self.emit.float(Scalar::F64, 0.0),
        };
        match scalar {
            Scalar::F64 => self.moved(near, error, mode),
            _ => self.directed(near, error, scalar, mode),
        }
    }

    /// Computes the difference between a 64-bit integer and the nearest double. Its halves are exact as doubles. The upper
    /// one is zero or larger than the lower one, so the sum minus the upper half is exact.
    fn error_of_double(&mut self, value: Value, near: Value, signed: bool) -> Value {
        let by = self.emit.int(Scalar::I64, 32);
        let high = self.emit.op(if signed { Op::Ashr } else { Op::Lshr }, &[value, by]);
        let high = self.emit.op(Op::Shl, &[high, by]);
        let high = self.emit.to(if signed { Op::Sitofp } else { Op::Uitofp }, Scalar::F64, high);
        let low = self.emit.resize(value, Scalar::I32, false);
        let low = self.emit.to(Op::Uitofp, Scalar::F64, low);
        let taken = self.emit.op(Op::Fsub, &[near, high]);
        self.emit.op(Op::Fsub, &[low, taken])
    }

    fn float_to_float(&mut self, inst: &ResolvedInst, value: Value, to: Word) -> Value {
        let has = |word: Word| inst.words.contains(&word);
        let (from, scalar) = (self.emit.scalar(value), layout::scalar(to));
        let mut value = value;
        if has(Word::Ftz) && from == Scalar::F32 {
            value = self.flushed(value);
        }
        let integral = match () {
            () if has(Word::Rni) => Some(Op::RoundEven),
            () if has(Word::Rzi) => Some(Op::Truncate),
            () if has(Word::Rmi) => Some(Op::Floor),
            () if has(Word::Rpi) => Some(Op::Ceil),
            () => None,
        };
        if let Some(op) = integral {
            value = self.emit.op(op, &[value]);
        }
        let mode = rounding(&inst.words);
        value = match (from, scalar) {
            _ if from == scalar => value,
            (Scalar::F16 | Scalar::BF16, Scalar::F16 | Scalar::BF16) => {
                let single = self.emit.to(Op::Fpext, Scalar::F32, value);
                self.narrowed(single, scalar, mode)
            }
            _ if from.bits() < scalar.bits() => self.emit.to(Op::Fpext, scalar, value),
            _ => self.narrowed(value, scalar, mode),
        };
        if has(Word::Ftz) && scalar == Scalar::F32 {
            value = self.flushed(value);
        }
        if has(Word::Sat) {
            value = self.clamped(value);
        }
        if has(Word::Relu) {
            value = self.relu(value);
        }
        value
    }

    fn narrowed(&mut self, value: Value, to: Scalar, mode: Word) -> Value {
        if mode == Word::Rn {
            return self.emit.to(Op::Fptrunc, to, value);
        }
        let wide = match self.emit.scalar(value) {
            Scalar::F64 => value,
            _ => self.emit.to(Op::Fpext, Scalar::F64, value),
        };
        if mode == Word::Rna {
            return self.emit.to(Op::Fptrunc, to, value);
        }
        let zero = self.emit.float(Scalar::F64, 0.0);
        self.directed(wide, zero, to, mode)
    }

    /// Tests that a value has none of these bits.
    pub(crate) fn has_none(&mut self, value: Value, bits: Value) -> Value {
        let common = self.emit.op(Op::And, &[value, bits]);
        let zero = self.emit.int(self.emit.scalar(common), 0);
        self.emit.icmp(IntPredicate::Eq, common, zero)
    }
}
