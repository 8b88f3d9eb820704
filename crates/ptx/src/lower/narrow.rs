//! Lowering of conversions to and from pairs of floats of eight bits.
//!
//! A float of 32 bits is rounded in its bits: a normal number by adding half of the last place that stays, a subnormal one by
//! adding a number whose last place is the step of subnormal results. All conversions are saturating.

use super::LowerResult;
use super::body::FunctionLowering;
use crate::check::ResolvedInst;
use crate::words::Word;
use heddle_ir::words::{FloatPredicate, IntPredicate};
use heddle_ir::{Op, Scalar, Value};

/// Format of a float of eight bits.
#[derive(Clone, Copy)]
struct NarrowFormat {
    /// Number of fraction bits.
    fraction: u32,
    /// Exponent of the smallest normal number.
    least: i32,
    /// Largest finite number.
    most: f32,
}

const E4M3: NarrowFormat = NarrowFormat { fraction: 3, least: -6, most: 448.0 };
const E5M2: NarrowFormat = NarrowFormat { fraction: 2, least: -14, most: 57344.0 };
/// Bits of the NaN of both formats.
const NAN: i128 = 0x7f;

/// Returns the format of a pair of floats of eight bits.
fn format_of(ty: Word) -> Option<NarrowFormat> {
    match ty {
        Word::E4m3x2 => Some(E4M3),
        Word::E5m2x2 => Some(E5M2),
        _ => None,
    }
}

/// Returns the bits of a power of two.
fn power_of_two(exponent: i32) -> i128 {
    i128::from(127 + exponent) << 23
}

impl FunctionLowering<'_, '_, '_> {
    /// Lowers `cvt` with pairs of floats of eight bits; false for other conversions.
    pub(super) fn convert_narrow(&mut self, inst: &ResolvedInst, to: Word, from: Word) -> LowerResult<bool> {
        let has_relu = inst.words.contains(&Word::Relu);
        if let Some(format) = format_of(to) {
            let values = if from == Word::F32 {
                // The first operand is the upper one.
                [self.read(&inst.args[2], from)?, self.read(&inst.args[1], from)?]
            } else {
                let both = self.read(&inst.args[1], Word::B32)?;
                let both = self.emit.halves(both, Scalar::F16);
                both.map(|half| self.emit.to(Op::Fpext, Scalar::F32, half))
            };
            let bytes = values.map(|value| {
                let value = if has_relu { self.relu(value) } else { value };
                self.rounded_to_narrow(value, format)
            });
            let value = self.emit.packed(bytes);
            self.write(&inst.args[0], value, false);
            return Ok(true);
        }
        let Some(format) = format_of(from) else { return Ok(false) };
        let both = self.read(&inst.args[1], Word::B16)?;
        let bytes = self.emit.halves(both, Scalar::I8);
        let halves = bytes.map(|byte| {
            let half = self.widened_narrow(byte, format);
            let half = if has_relu { self.relu(half) } else { half };
            self.with_nan(byte, half, format)
        });
        let value = self.emit.packed(halves);
        self.write(&inst.args[0], value, false);
        Ok(true)
    }

    /// Rounds an `f32` to nearest, ties to even. Numbers beyond the largest one become that.
    fn rounded_to_narrow(&mut self, value: Value, format: NarrowFormat) -> Value {
        let NarrowFormat { fraction, least, most } = format;
        let e = &mut self.emit;
        let size = e.op(Op::Fabs, &[value]);
        let limit = e.float(Scalar::F32, most);
        let size = e.op(Op::Fmin, &[size, limit]);
        let bits = e.bitcast(size, Scalar::I32);
        let dropped = 23 - fraction;
        let (by, one) = (e.int32(dropped.into()), e.int32(1));
        let last = e.op(Op::Lshr, &[bits, by]);
        let last = e.op(Op::And, &[last, one]);
        // Also moves the exponent to the bias of the format.
        let half = e.int32((1i128 << (dropped - 1)) - 1 - power_of_two(least - 1));
        let normal = e.op(Op::Add, &[bits, half]);
        let normal = e.op(Op::Add, &[normal, last]);
        let normal = e.op(Op::Lshr, &[normal, by]);
        let step = power_of_two(least - fraction as i32 + 23);
        let step_bits = e.int32(step);
        let step = e.bitcast(step_bits, Scalar::F32);
        let small = e.op(Op::Fadd, &[size, step]);
        let small = e.bitcast(small, Scalar::I32);
        let small = e.op(Op::Sub, &[small, step_bits]);
        let bound = e.int32(power_of_two(least));
        let bound = e.bitcast(bound, Scalar::F32);
        let is_small = e.fcmp(FloatPredicate::Olt, size, bound);
        let number = e.select(is_small, small, normal);
        let whole = e.bitcast(value, Scalar::I32);
        let (down, sign) = (e.int32(24), e.int32(0x80));
        let sign_bit = e.op(Op::Lshr, &[whole, down]);
        let sign_bit = e.op(Op::And, &[sign_bit, sign]);
        let number = e.op(Op::Or, &[number, sign_bit]);
        let nan = e.int32(NAN);
        let is_nan = e.fcmp(FloatPredicate::Uno, value, value);
        let number = e.select(is_nan, nan, number);
        e.resize(number, Scalar::I8, false)
    }

    /// Widens a byte to an `f16`, which is exact.
    fn widened_narrow(&mut self, byte: Value, format: NarrowFormat) -> Value {
        let e = &mut self.emit;
        let wide = e.resize(byte, Scalar::I16, false);
        let eight = e.int(Scalar::I16, 8);
        let top = e.op(Op::Shl, &[wide, eight]);
        if format.fraction == E5M2.fraction {
            // The upper half of an `f16`.
            return e.bitcast(top, Scalar::F16);
        }
        let (size_mask, sign_mask, up) =
            (e.int(Scalar::I16, NAN), e.bits(Scalar::I16, 0x8000), e.int(Scalar::I16, 7));
        let size = e.op(Op::And, &[wide, size_mask]);
        let placed = e.op(Op::Shl, &[size, up]);
        let number = e.bitcast(placed, Scalar::F16);
        // The exponents' biases are 15 and 7.
        let scale = e.float(Scalar::F16, 256.0);
        let number = e.op(Op::Fmul, &[number, scale]);
        let bits = e.bitcast(number, Scalar::I16);
        let sign = e.op(Op::And, &[top, sign_mask]);
        let bits = e.op(Op::Or, &[bits, sign]);
        e.bitcast(bits, Scalar::F16)
    }

    /// Gives the NaN of conversions, 0x7fff, for each NaN of the format.
    fn with_nan(&mut self, byte: Value, half: Value, format: NarrowFormat) -> Value {
        let e = &mut self.emit;
        let largest = if format.fraction == E5M2.fraction { 0x7c } else { 0x7e };
        let (size_mask, largest) = (e.int(Scalar::I8, NAN), e.int(Scalar::I8, largest));
        let size = e.op(Op::And, &[byte, size_mask]);
        let is_nan = e.icmp(IntPredicate::Ugt, size, largest);
        let nan = e.int(Scalar::I16, 0x7fff);
        let nan = e.bitcast(nan, Scalar::F16);
        e.select(is_nan, nan, half)
    }
}
