//! Lowering of floating-point arithmetic, with PTX's rounding modes, flushes and clamps.
//!
//! Directed rounding takes the nearest value and moves it by one ulp if it is on the wrong side of the exact result. The sum
//! `t + e` decides that, where `t` is a double and `e` its error.

use super::body::FunctionLowering;
use super::{LowerResult, layout, refuse};
use crate::check::ResolvedInst;
use crate::operation::FloatOp;
use crate::words::Word;
use heddle_ir::inst::Detail;
use heddle_ir::words::{FloatPredicate, IntPredicate};
use heddle_ir::{Op, Scalar, Value};

// Masks of LLVM's float classes.
const NAN: u16 = 3;
const INFINITE: u16 = 0x204;
const SUBNORMAL: u16 = 0x90;
const FINITE: u16 = 0x1f8;
const NORMAL_OR_ZERO: u16 = 0x168;

/// Returns the rounding mode of an instruction; nearest by default.
pub(crate) fn rounding(words: &[Word]) -> Word {
    let known = [Word::Rz, Word::Rm, Word::Rp, Word::Rna];
    known.into_iter().find(|word| words.contains(word)).unwrap_or(Word::Rn)
}

impl FunctionLowering<'_, '_, '_> {
    /// Flushes subnormal numbers to zero of the same sign.
    pub(crate) fn flushed(&mut self, value: Value) -> Value {
        if self.is_flushed(value) {
            return value;
        }
        let scalar = self.emit.scalar(value);
        let is_small = self.emit.is_class(value, SUBNORMAL);
        let zero = self.emit.float(scalar, 0.0);
        let zero = self.emit.op(Op::Copysign, &[zero, value]);
        self.emit.select(is_small, zero, value)
    }

    /// The number that a value is the flushed one of, as [`flushed`](Self::flushed) emits it.
    fn source_of_flushed(&self, value: Value) -> Option<Value> {
        let data = self.emit.func.inst(self.emit.func.def_inst(value)?);
        let (Op::Select, &[is_small, _, number]) = (data.op, &data.args[..]) else { return None };
        let test = self.emit.func.inst(self.emit.func.def_inst(is_small)?);
        (test.detail == Detail::FloatClass(SUBNORMAL) && test.args[0] == number).then_some(number)
    }

    /// True if a value is known to be no subnormal number.
    fn is_flushed(&self, value: Value) -> bool {
        if let Some(bits) = self.emit.constant(value) {
            return self.emit.scalar(value) == Scalar::F32 && !f32::from_bits(bits as u32).is_subnormal();
        }
        let Some(inst) = self.emit.func.def_inst(value) else { return false };
        let data = self.emit.func.inst(inst);
        match data.op {
            Op::Fneg | Op::Fabs | Op::Fmin | Op::Fmax => data.args.iter().all(|&arg| self.is_flushed(arg)),
            _ => self.source_of_flushed(value).is_some(),
        }
    }

    /// True if a value is from 0 to 1, as [`clamped`](Self::clamped) emits it.
    fn is_clamped(&self, value: Value) -> bool {
        let func = &self.emit.func;
        let number = self.source_of_flushed(value).unwrap_or(value);
        let operands = |value: Value, op: Op| {
            let data = func.inst(func.def_inst(value)?);
            (data.op == op).then(|| [data.args[0], data.args[1]])
        };
        let is = |value: Value, number: f32| self.emit.constant(value) == Some(number.to_bits().into());
        let bounds =
            operands(number, Op::Fmin).and_then(|[inner, one]| Some((one, operands(inner, Op::Fmax)?[1])));
        bounds.is_some_and(|(one, zero)| is(one, 1.0) && is(zero, 0.0))
    }

    /// `fma.rm` of a factor from 0 to 1 whose sum is in [2^23, 2^24], where neighbouring numbers are 1 apart; none of others. `expf` of CUDA
    /// splits its argument by it.
    ///
    /// The nearest sum `r` exceeds the exact one if the rest of the product, whose sign is exact, is negative: then `r - 1` is the result.
    fn floor_in_units(&mut self, args: &[Value]) -> Option<Value> {
        let &[factor, scale, start] = args else { return None };
        let number = |value: Value| Some(f32::from_bits(self.emit.constant(value)? as u32));
        let (by, from) = (number(scale)?, number(start)?);
        let (low, high) = (2f32.powi(23), 2f32.powi(24));
        if !self.is_clamped(factor) || by.is_nan() || by <= 0.0 || from < low || by > high - from {
            return None;
        }
        let near = self.emit.op(Op::Fma, args);
        let whole = self.emit.op(Op::Fsub, &[start, near]);
        let rest = self.emit.op(Op::Fma, &[factor, scale, whole]);
        let [zero, one] = [0.0, 1.0].map(|it| self.emit.float(Scalar::F32, it));
        let exceeds = self.emit.fcmp(FloatPredicate::Olt, rest, zero);
        let less = self.emit.op(Op::Fsub, &[near, one]);
        Some(self.emit.select(exceeds, less, near))
    }

    /// Clamps to at least 0; NaN stays.
    pub(crate) fn relu(&mut self, value: Value) -> Value {
        let zero = self.emit.float(self.emit.scalar(value), 0.0);
        self.emit.op(Op::Fmaximum, &[value, zero])
    }

    /// Clamps to 0 to 1; NaN becomes 0.
    pub(crate) fn clamped(&mut self, value: Value) -> Value {
        let scalar = self.emit.scalar(value);
        let (zero, one) = (self.emit.float(scalar, 0.0), self.emit.float(scalar, 1.0));
        let value = self.emit.op(Op::Fmax, &[value, zero]);
        self.emit.op(Op::Fmin, &[value, one])
    }

    /// Lowers `testp`, which asks for classes of numbers.
    pub(crate) fn test_class(&mut self, inst: &ResolvedInst, ty: Word) -> LowerResult<()> {
        let value = self.read(&inst.args[1], ty)?;
        let classes = inst.words.iter().find_map(|word| {
            Some(match word {
                Word::Finite => FINITE,
                Word::Infinite => INFINITE,
                Word::Notanumber => NAN,
                Word::Number => FINITE | INFINITE,
                Word::Normal => NORMAL_OR_ZERO,
                Word::Subnormal => SUBNORMAL,
                _ => return None,
            })
        });
        let value = self.emit.is_class(value, classes.unwrap_or(NAN));
        self.write(&inst.args[0], value, false);
        Ok(())
    }

    pub(crate) fn float(&mut self, inst: &ResolvedInst, operation: FloatOp, ty: Word) -> LowerResult<()> {
        let types: Vec<Word> = inst.words.iter().copied().filter(|word| word.is_type()).collect();
        if let Some(half) = ty.half() {
            let scalar = layout::scalar(half);
            let mut parts = Vec::new();
            for arg in &inst.args[1..] {
                let value = self.read(arg, ty)?;
                parts.push(self.emit.halves(value, scalar));
            }
            let mut results = [parts[0][0]; 2];
            for (index, result) in results.iter_mut().enumerate() {
                let args: Vec<Value> = parts.iter().map(|both| both[index]).collect();
                *result = self.float_op(inst, operation, scalar, args)?;
            }
            let value = self.emit.packed(results);
            self.write(&inst.args[0], value, false);
            return Ok(());
        }
        // The mixed forms take halves and compute in `f32`.
        let specs = crate::table::specs(inst.form);
        let scalar = layout::scalar(types[0]);
        let mut args = Vec::new();
        for (index, arg) in inst.args.iter().enumerate().skip(1) {
            let is_narrow = matches!(
                specs.get(index).map(|spec| spec.role),
                Some(crate::table::OperandRole::Value(crate::table::OperandType::Second))
            );
            let value = self.read(arg, if is_narrow { ty } else { types[0] })?;
            args.push(match self.emit.scalar(value) == scalar {
                true => value,
                false => self.emit.to(Op::Fpext, scalar, value),
            });
        }
        let value = self.float_op(inst, operation, scalar, args)?;
        self.write(&inst.args[0], value, false);
        Ok(())
    }

    fn float_op(
        &mut self,
        inst: &ResolvedInst,
        operation: FloatOp,
        scalar: Scalar,
        mut args: Vec<Value>,
    ) -> LowerResult<Value> {
        let words = &inst.words;
        let has = |word: Word| words.contains(&word);
        let ftz = has(Word::Ftz);
        if ftz {
            for arg in &mut args {
                *arg = self.flushed(*arg);
            }
        }
        let mode = rounding(words);
        if operation == FloatOp::Fma
            && (scalar, mode) == (Scalar::F32, Word::Rm)
            && !has(Word::Sat)
            && !has(Word::Relu)
            && let Some(value) = self.floor_in_units(&args)
        {
            return Ok(value);
        }
        let mut value = match operation {
            FloatOp::Neg => self.emit.op(Op::Fneg, &args),
            FloatOp::Abs => self.emit.op(Op::Fabs, &args),
            FloatOp::Copysign => self.emit.op(Op::Copysign, &[args[1], args[0]]),
            FloatOp::Min | FloatOp::Max => self.least_or_most(inst, operation == FloatOp::Min, &args),
            FloatOp::Sin => self.call_library("sinf", &args),
            FloatOp::Cos => self.call_library("cosf", &args),
            FloatOp::Lg2 => self.call_library("log2f", &args),
            FloatOp::Ex2 => self.call_library("exp2f", &args),
            FloatOp::Tanh => self.call_library("tanhf", &args),
            FloatOp::Rsqrt if scalar == Scalar::F32 => self.emit.op(Op::Rsqrt, &args),
            FloatOp::Rsqrt => {
                let root = self.emit.op(Op::Sqrt, &args);
                let one = self.emit.float(scalar, 1.0);
                self.emit.op(Op::Fdiv, &[one, root])
            }
            FloatOp::Add => self.rounded(Op::Fadd, scalar, &args, mode)?,
            FloatOp::Sub => {
                args[1] = self.emit.op(Op::Fneg, &args[1..2]);
                self.rounded(Op::Fadd, scalar, &args, mode)?
            }
            FloatOp::Mul => self.rounded(Op::Fmul, scalar, &args, mode)?,
            FloatOp::Fma | FloatOp::Mad => self.rounded(Op::Fma, scalar, &args, mode)?,
            FloatOp::Sqrt => self.rounded(Op::Sqrt, scalar, &args, mode)?,
            FloatOp::Rcp => {
                args.insert(0, self.emit.float(scalar, 1.0));
                self.rounded(Op::Fdiv, scalar, &args, mode)?
            }
            FloatOp::Div => {
                let quotient = self.rounded(Op::Fdiv, scalar, &args, mode)?;
                match has(Word::Approx) {
                    true => self.approximate_quotient(quotient, &args),
                    false => quotient,
                }
            }
        };
        if ftz {
            value = self.flushed(value);
        }
        if has(Word::Sat) {
            value = self.clamped(value);
        }
        if has(Word::Relu) {
            value = self.relu(value);
        }
        Ok(value)
    }

    /// Gives zero, or NaN for an infinite dividend, where the divisor's reciprocal is below the normal numbers, as PTX says
    /// of approximate quotients.
    fn approximate_quotient(&mut self, quotient: Value, args: &[Value]) -> Value {
        let size = self.emit.op(Op::Fabs, &args[1..2]);
        let bound = self.emit.float(Scalar::F32, 2f32.powi(126));
        let is_large = self.emit.fcmp(FloatPredicate::Ogt, size, bound);
        let zero = self.emit.float(Scalar::F32, 0.0);
        let zero = self.emit.op(Op::Copysign, &[zero, args[1]]);
        let product = self.emit.op(Op::Fmul, &[args[0], zero]);
        self.emit.select(is_large, product, quotient)
    }

    /// Calls a function of the C library, in `f32`.
    fn call_library(&mut self, name: &str, args: &[Value]) -> Value {
        let scalar = self.emit.scalar(args[0]);
        if scalar == Scalar::F32 {
            return self.emit.math(name, &args[..1]);
        }
        let single = self.emit.to(Op::Fpext, Scalar::F32, args[0]);
        let single = self.emit.math(name, &[single]);
        self.emit.to(Op::Fptrunc, scalar, single)
    }

    fn least_or_most(&mut self, inst: &ResolvedInst, min: bool, args: &[Value]) -> Value {
        let with_nan = inst.words.contains(&Word::NanToo);
        let op = match (min, with_nan) {
            (true, false) => Op::Fmin,
            (true, true) => Op::Fminimum,
            (false, false) => Op::Fmax,
            (false, true) => Op::Fmaximum,
        };
        let xorsign = inst.words.contains(&Word::Xorsign);
        let of = |lower: &mut Self, value: Value| match xorsign {
            true => lower.emit.op(Op::Fabs, &[value]),
            false => value,
        };
        let mut value = of(self, args[0]);
        for &arg in &args[1..] {
            let arg = of(self, arg);
            value = self.emit.op(op, &[value, arg]);
        }
        if xorsign {
            let int = layout::int(self.emit.scalar(value).bits());
            let mut signs = self.emit.int(int, 0);
            for &arg in args {
                let bits = self.emit.bitcast(arg, int);
                signs = self.emit.op(Op::Xor, &[signs, bits]);
            }
            let signs = self.emit.bitcast(signs, self.emit.scalar(value));
            value = self.emit.op(Op::Copysign, &[value, signs]);
        }
        value
    }

    /// Computes a sum, product, fused product, quotient or square root in this rounding mode.
    fn rounded(&mut self, op: Op, scalar: Scalar, args: &[Value], mode: Word) -> LowerResult<Value> {
        if mode == Word::Rn {
            return Ok(self.emit.op(op, args));
        }
        if scalar == Scalar::F64 {
            return self.rounded_double(op, args, mode);
        }
        let wide: Vec<Value> = args.iter().map(|&arg| self.emit.to(Op::Fpext, Scalar::F64, arg)).collect();
        let (sum, error) = match op {
            Op::Fadd => self.exact_sum(wide[0], wide[1]),
            Op::Fma => {
                let product = self.emit.op(Op::Fmul, &wide[..2]);
                self.exact_sum(product, wide[2])
            }
            Op::Fmul => {
                let product = self.emit.op(Op::Fmul, &wide);
                (product, self.emit.float(Scalar::F64, 0.0))
            }
            Op::Fdiv => {
                let quotient = self.emit.op(Op::Fdiv, &wide);
                let minus = self.emit.op(Op::Fneg, &[quotient]);
                let rest = self.emit.op(Op::Fma, &[minus, wide[1], wide[0]]);
                let one = self.emit.float(Scalar::F64, 1.0);
                let sign = self.emit.op(Op::Copysign, &[one, wide[1]]);
                (quotient, self.emit.op(Op::Fmul, &[rest, sign]))
            }
            _ => {
                let root = self.emit.op(Op::Sqrt, &wide);
                let minus = self.emit.op(Op::Fneg, &[root]);
                (root, self.emit.op(Op::Fma, &[minus, root, wide[0]]))
            }
        };
        let result = self.directed(sum, error, scalar, mode);
        if mode == Word::Rm && matches!(op, Op::Fadd | Op::Fma) {
            let first = match op {
                Op::Fadd => wide[0],
                _ => self.emit.op(Op::Fmul, &wide[..2]),
            };
            return Ok(self.negative_zero(result, sum, first, wide[wide.len() - 1]));
        }
        Ok(result)
    }

    fn rounded_double(&mut self, op: Op, args: &[Value], mode: Word) -> LowerResult<Value> {
        let result = self.emit.op(op, args);
        let error = match op {
            Op::Fadd => self.exact_sum(args[0], args[1]).1,
            Op::Fmul => self.error_of_product(args[0], args[1], result),
            Op::Fdiv => self.error_of_quotient(args[0], args[1], result),
            Op::Sqrt => {
                // Scales small numbers up by an even power of two, so that the error is representable.
                let small = self.emit.float(Scalar::F64, f32::MIN_POSITIVE);
                let is_small = self.emit.fcmp(FloatPredicate::Olt, args[0], small);
                let one = self.emit.float(Scalar::F64, 1.0);
                let (up, root_up) = (self.power_of_two(200), self.power_of_two(100));
                let up = self.emit.select(is_small, up, one);
                let root_up = self.emit.select(is_small, root_up, one);
                let number = self.emit.op(Op::Fmul, &[args[0], up]);
                let root = self.emit.op(Op::Fmul, &[result, root_up]);
                let minus = self.emit.op(Op::Fneg, &[root]);
                self.emit.op(Op::Fma, &[minus, root, number])
            }
            _ => {
                return refuse(
                    "fused products of these types have no other rounding than to nearest",
                    "use `.rn`",
                );
            }
        };
        let infinite = self.emit.is_class(result, INFINITE);
        let mut finite = self.emit.bool(true);
        for &arg in args {
            let one = self.emit.is_class(arg, FINITE);
            finite = self.emit.op(Op::And, &[finite, one]);
        }
        if op == Op::Fdiv {
            // A quotient by zero is infinite exactly.
            let zero = self.emit.float(Scalar::F64, 0.0);
            let is_divisor = self.emit.fcmp(FloatPredicate::One, args[1], zero);
            finite = self.emit.op(Op::And, &[finite, is_divisor]);
        }
        let overflowed = self.emit.op(Op::And, &[infinite, finite]);
        let one = self.emit.float(Scalar::F64, -1.0);
        let minus = self.emit.op(Op::Fneg, &[result]);
        let back = self.emit.op(Op::Copysign, &[one, minus]);
        let error = self.emit.select(overflowed, back, error);
        let moved = self.moved(result, error, mode);
        if mode == Word::Rm && op == Op::Fadd {
            return Ok(self.negative_zero(moved, result, args[0], args[1]));
        }
        Ok(moved)
    }

    fn power_of_two(&mut self, exponent: i64) -> Value {
        self.emit.bits(Scalar::F64, ((1023 + exponent) as u128) << 52)
    }

    /// Computes the error of a product of doubles. Its sign is correct even for the smallest products.
    fn error_of_product(&mut self, a: Value, b: Value, product: Value) -> Value {
        let minus = self.emit.op(Op::Fneg, &[product]);
        let plain = self.emit.op(Op::Fma, &[a, b, minus]);
        // Recomputes a small product, scaled by 2^500.
        let (size_a, size_b) = (self.emit.op(Op::Fabs, &[a]), self.emit.op(Op::Fabs, &[b]));
        let a_is_less = self.emit.fcmp(FloatPredicate::Olt, size_a, size_b);
        let less = self.emit.select(a_is_less, a, b);
        let more = self.emit.select(a_is_less, b, a);
        let up = self.power_of_two(500);
        let less = self.emit.op(Op::Fmul, &[less, up]);
        let large = self.emit.op(Op::Fmul, &[less, more]);
        let minus = self.emit.op(Op::Fneg, &[large]);
        let rest = self.emit.op(Op::Fma, &[less, more, minus]);
        let known = self.emit.op(Op::Fmul, &[product, up]);
        let apart = self.emit.op(Op::Fsub, &[large, known]);
        let zero = self.emit.float(Scalar::F64, 0.0);
        let differs = self.emit.fcmp(FloatPredicate::One, apart, zero);
        let scaled = self.emit.select(differs, apart, rest);
        // A product that underflows to zero: the error has the sign of the exact product.
        let sign_a = self.emit.bitcast(a, Scalar::I64);
        let sign_b = self.emit.bitcast(b, Scalar::I64);
        let sign = self.emit.op(Op::Xor, &[sign_a, sign_b]);
        let sign = self.emit.bitcast(sign, Scalar::F64);
        let one = self.emit.float(Scalar::F64, 1.0);
        let whole = self.emit.op(Op::Copysign, &[one, sign]);
        let a_is_zero = self.emit.fcmp(FloatPredicate::Oeq, a, zero);
        let b_is_zero = self.emit.fcmp(FloatPredicate::Oeq, b, zero);
        let is_exact = self.emit.op(Op::Or, &[a_is_zero, b_is_zero]);
        let whole = self.emit.select(is_exact, zero, whole);
        let size = self.emit.op(Op::Fabs, &[product]);
        let min = self.power_of_two(-900);
        let is_small = self.emit.fcmp(FloatPredicate::Olt, size, min);
        let is_gone = self.emit.fcmp(FloatPredicate::Oeq, product, zero);
        let small = self.emit.select(is_gone, whole, scaled);
        self.emit.select(is_small, small, plain)
    }

    /// Computes a number with the sign of the error of a quotient of doubles; 0 if the quotient is exact.
    ///
    /// The error of the significands' quotient is exact by `fma`. It is that of the quotient, unless this one is below the normal numbers or the least of them.
    fn error_of_quotient(&mut self, a: Value, b: Value, quotient: Value) -> Value {
        let (significand_a, exponent_a) = self.significand(a);
        let (significand_b, exponent_b) = self.significand(b);
        let zero = self.emit.float(Scalar::F64, 0.0);
        let near = self.emit.op(Op::Fdiv, &[significand_a, significand_b]);
        let minus = self.emit.op(Op::Fneg, &[near]);
        let rest = self.emit.op(Op::Fma, &[minus, significand_b, significand_a]);
        let one = self.emit.float(Scalar::F64, 1.0);
        let sign = self.emit.op(Op::Copysign, &[one, significand_b]);
        let rest = self.emit.op(Op::Fmul, &[rest, sign]);
        // Scales a subnormal quotient up, in two steps, and compares it with the other one.
        let up = self.emit.op(Op::Sub, &[exponent_b, exponent_a]);
        let limit = self.emit.int(Scalar::I64, 1100);
        let up = self.emit.op(Op::Smin, &[up, limit]);
        let none = self.emit.int(Scalar::I64, 0);
        let up = self.emit.op(Op::Smax, &[up, none]);
        let step = self.emit.int(Scalar::I64, 1);
        let half = self.emit.op(Op::Lshr, &[up, step]);
        let other_half = self.emit.op(Op::Sub, &[up, half]);
        let mut known = quotient;
        for power in [half, other_half] {
            let bias = self.emit.int(Scalar::I64, 1023);
            let power = self.emit.op(Op::Add, &[power, bias]);
            let width = self.emit.int(Scalar::I64, 52);
            let power = self.emit.op(Op::Shl, &[power, width]);
            let power = self.emit.bitcast(power, Scalar::F64);
            known = self.emit.op(Op::Fmul, &[known, power]);
        }
        let apart = self.emit.op(Op::Fsub, &[near, known]);
        let differs = self.emit.fcmp(FloatPredicate::One, apart, zero);
        let scaled = self.emit.select(differs, apart, rest);
        // The least normal number may have been rounded from a subnormal one.
        let size = self.emit.op(Op::Fabs, &[quotient]);
        let bound = self.power_of_two(-1021);
        let is_small = self.emit.fcmp(FloatPredicate::Olt, size, bound);
        let mut error = self.emit.select(is_small, scaled, rest);
        for arg in [a, b] {
            let is_finite = self.emit.is_class(arg, FINITE);
            let is_not_zero = self.emit.fcmp(FloatPredicate::One, arg, zero);
            let is_number = self.emit.op(Op::And, &[is_finite, is_not_zero]);
            error = self.emit.select(is_number, error, zero);
        }
        error
    }

    /// Returns the significand of a double, from 1 to less than 2 and with its sign, and its exponent. Those of zeros, infinities
    /// and NaNs mean nothing.
    fn significand(&mut self, value: Value) -> (Value, Value) {
        let is_small = self.emit.is_class(value, SUBNORMAL);
        let up = self.power_of_two(54);
        let larger = self.emit.op(Op::Fmul, &[value, up]);
        let normal = self.emit.select(is_small, larger, value);
        let bits = self.emit.bitcast(normal, Scalar::I64);
        let width = self.emit.int(Scalar::I64, 52);
        let exponent = self.emit.op(Op::Lshr, &[bits, width]);
        let field = self.emit.int(Scalar::I64, 0x7ff);
        let exponent = self.emit.op(Op::And, &[exponent, field]);
        let [raised, not_raised] = [54, 0].map(|by| self.emit.int(Scalar::I64, by));
        let by = self.emit.select(is_small, raised, not_raised);
        let exponent = self.emit.op(Op::Sub, &[exponent, by]);
        let rest = self.emit.int(Scalar::I64, (0x800f_ffff_ffff_ffff_u64 as i64).into());
        let bits = self.emit.op(Op::And, &[bits, rest]);
        let one = self.emit.int(Scalar::I64, 1023 << 52);
        let bits = self.emit.op(Op::Or, &[bits, one]);
        (self.emit.bitcast(bits, Scalar::F64), exponent)
    }

    /// Computes a sum and its error. After: Knuth's two-sum.
    fn exact_sum(&mut self, a: Value, b: Value) -> (Value, Value) {
        let e = &mut self.emit;
        let sum = e.op(Op::Fadd, &[a, b]);
        let b_part = e.op(Op::Fsub, &[sum, a]);
        let a_part = e.op(Op::Fsub, &[sum, b_part]);
        let b_lack = e.op(Op::Fsub, &[b, b_part]);
        let a_lack = e.op(Op::Fsub, &[a, a_part]);
        (sum, e.op(Op::Fadd, &[a_lack, b_lack]))
    }

    /// Handles exact zero sums in rounding towards minus infinity: -0 unless both operands are +0.
    fn negative_zero(&mut self, result: Value, sum: Value, a: Value, b: Value) -> Value {
        let e = &mut self.emit;
        let zero = e.float(e.scalar(sum), 0.0);
        let is_zero = e.fcmp(FloatPredicate::Oeq, sum, zero);
        let int = layout::int(e.scalar(a).bits());
        let (a, b) = (e.bitcast(a, int), e.bitcast(b, int));
        let sign = e.op(Op::Or, &[a, b]);
        let sign = e.bitcast(sign, e.scalar(sum));
        let scalar = e.scalar(result);
        let sign = match scalar == e.scalar(sum) {
            true => sign,
            false => {
                let one = e.float(Scalar::F64, 1.0);
                let one = e.op(Op::Copysign, &[one, sign]);
                e.to(Op::Fptrunc, scalar, one)
            }
        };
        let zero = e.float(scalar, 0.0);
        let zero = e.op(Op::Copysign, &[zero, sign]);
        e.select(is_zero, zero, result)
    }

    /// Rounds `sum + error` to a narrower format.
    pub(crate) fn directed(&mut self, sum: Value, error: Value, to: Scalar, mode: Word) -> Value {
        let near = self.emit.to(Op::Fptrunc, to, sum);
        if mode == Word::Rn {
            return near;
        }
        let back = self.emit.to(Op::Fpext, Scalar::F64, near);
        let apart = self.emit.op(Op::Fsub, &[sum, back]);
        let zero = self.emit.float(Scalar::F64, 0.0);
        let differs = self.emit.fcmp(FloatPredicate::One, apart, zero);
        let side = self.emit.select(differs, apart, error);
        self.moved(near, side, mode)
    }

    /// Moves to the next value if the exact one is on the other side; `side` is positive if the exact value is larger.
    pub(crate) fn moved(&mut self, near: Value, side: Value, mode: Word) -> Value {
        let scalar = self.emit.scalar(near);
        let int = layout::int(scalar.bits());
        let zero = self.emit.float(self.emit.scalar(side), 0.0);
        let less = self.emit.fcmp(FloatPredicate::Olt, side, zero);
        let more = self.emit.fcmp(FloatPredicate::Ogt, side, zero);
        let bits = self.emit.bitcast(near, int);
        let none = self.emit.int(int, 0);
        let is_negative = self.emit.icmp(IntPredicate::Slt, bits, none);
        let (one, minus) = (self.emit.int(int, 1), self.emit.int(int, -1));
        let down_step = self.emit.select(is_negative, one, minus);
        let up_step = self.emit.select(is_negative, minus, one);
        let own_zero = self.emit.float(scalar, 0.0);
        let is_zero = self.emit.fcmp(FloatPredicate::Oeq, near, own_zero);
        let least_down = self.emit.bits(int, 1 << (int.bits() - 1) | 1);
        let down = self.emit.op(Op::Add, &[bits, down_step]);
        let down = self.emit.select(is_zero, least_down, down);
        let up = self.emit.op(Op::Add, &[bits, up_step]);
        let up = self.emit.select(is_zero, one, up);
        let is_positive = self.emit.not(is_negative);
        let not_zero = self.emit.not(is_zero);
        let moved = match mode {
            Word::Rm => self.emit.select(less, down, bits),
            Word::Rp => self.emit.select(more, up, bits),
            _ => {
                let shrink_down = self.emit.op(Op::And, &[less, is_positive]);
                let shrink_up = self.emit.op(Op::And, &[more, is_negative]);
                let shrinks = self.emit.op(Op::Or, &[shrink_down, shrink_up]);
                let shrinks = self.emit.op(Op::And, &[shrinks, not_zero]);
                let nearer = self.emit.op(Op::Add, &[bits, minus]);
                self.emit.select(shrinks, nearer, bits)
            }
        };
        self.emit.bitcast(moved, scalar)
    }
}
