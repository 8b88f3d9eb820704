//! Ranges of integers, and how operations change them.
//!
//! A range holds for values that are not poison: the value is an integer of the range, modulo 2^width. So one range may be read as
//! signed, or as unsigned if it has no negative numbers.

use heddle_ir::{Function, Inst, Op, Value};

/// Inclusive range of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntegerRange {
    /// Minimum.
    pub min: i128,
    /// Maximum.
    pub max: i128,
}

impl IntegerRange {
    /// Creates a range.
    pub fn new(min: i128, max: i128) -> IntegerRange {
        IntegerRange { min, max }
    }

    /// Returns the range of the signed numbers of a width of up to 64 bits.
    pub fn signed(bits: u32) -> IntegerRange {
        IntegerRange::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    }

    /// True if the other range has all numbers of this one.
    pub fn is_within(self, other: IntegerRange) -> bool {
        other.min <= self.min && self.max <= other.max
    }

    /// True if no number is negative.
    pub fn is_nonnegative(self) -> bool {
        self.min >= 0
    }

    fn joined(self, other: IntegerRange) -> IntegerRange {
        IntegerRange::new(self.min.min(other.min), self.max.max(other.max))
    }

    fn product(self, other: IntegerRange) -> Option<IntegerRange> {
        let mut ends = [0; 4];
        for (at, end) in ends.iter_mut().enumerate() {
            let (a, b) = ([self.min, self.max][at / 2], [other.min, other.max][at % 2]);
            *end = a.checked_mul(b)?;
        }
        ends.into_iter().map(|end| IntegerRange::new(end, end)).reduce(IntegerRange::joined)
    }
}

/// Returns the range of an integer operation's result, from those of its operands of up to 64 bits. The result of a sum, a product, a
/// shift to the left or a truncation is the exact one, which may need more bits.
pub fn result_range(
    func: &Function,
    inst: Inst,
    range_of: impl Fn(Value) -> Option<IntegerRange>,
) -> Option<IntegerRange> {
    let data = func.inst(inst);
    let range = |at: usize| data.args.get(at).and_then(|&arg| range_of(arg));
    let width = |at: usize| func.value_type(data.args[at]).scalar().bits();
    operation_range(data.op, data.args.len(), width, range)
}

/// Returns the range of the exact result of an integer operation on so many operands of these widths and ranges.
pub fn operation_range(
    op: Op,
    operands: usize,
    width: impl Fn(usize) -> u32,
    range: impl Fn(usize) -> Option<IntegerRange>,
) -> Option<IntegerRange> {
    let nonnegative = |at: usize| range(at).filter(|range| range.is_nonnegative());
    // A range without numbers beyond the signed ones is read as signed.
    let signed = |at: usize| range(at).filter(|range| range.is_within(IntegerRange::signed(width(at))));
    let number = |at: usize| range(at).filter(|range| range.min == range.max).map(|range| range.min);
    let amount = || number(1).filter(|&by| (0..i128::from(width(0))).contains(&by));
    let divisor = || number(1).filter(|&by| by > 0);
    let signed_divisor = || signed(1).and_then(|_| divisor());
    let quotient = |by: i128| nonnegative(0).map(|range| IntegerRange::new(range.min / by, range.max / by));
    let shifted = |range: IntegerRange, by: i128| IntegerRange::new(range.min >> by, range.max >> by);
    let up_to = |max: i128| IntegerRange::new(0, max);
    match op {
        Op::Add => {
            let (a, b) = (range(0)?, range(1)?);
            Some(IntegerRange::new(a.min + b.min, a.max + b.max))
        }
        Op::Sub => {
            let (a, b) = (range(0)?, range(1)?);
            Some(IntegerRange::new(a.min - b.max, a.max - b.min))
        }
        Op::Mul => range(0)?.product(range(1)?),
        Op::Shl => {
            let factor = 1 << amount()?;
            range(0)?.product(IntegerRange::new(factor, factor))
        }
        Op::Trunc => range(0),
        Op::Zext => nonnegative(0).or_else(|| range(0).map(|_| up_to((1 << width(0)) - 1))),
        Op::Sext => signed(0),
        Op::And => [nonnegative(0), nonnegative(1)].into_iter().flatten().map(|it| it.max).min().map(up_to),
        Op::Or | Op::Xor => {
            let most = nonnegative(0)?.max.max(nonnegative(1)?.max);
            Some(up_to((most as u128 + 1).next_power_of_two() as i128 - 1))
        }
        Op::Lshr => match (range(0)?, amount()?) {
            (range, by) if range.is_nonnegative() => Some(shifted(range, by)),
            (_, 0) => None,
            (_, by) => Some(up_to((1 << (i128::from(width(0)) - by)) - 1)),
        },
        Op::Ashr => Some(shifted(signed(0)?, amount()?)),
        Op::Urem => {
            let below = nonnegative(1).map(|by| by.max - 1).filter(|&max| max >= 0);
            nonnegative(0).map(|range| range.max).into_iter().chain(below).min().map(up_to)
        }
        Op::Srem => Some(up_to(signed(0).and(nonnegative(0))?.max.min(signed_divisor()? - 1))),
        Op::Udiv => divisor().and_then(quotient).or_else(|| nonnegative(0).map(|range| up_to(range.max))),
        Op::Sdiv => signed(0).and_then(|_| quotient(signed_divisor()?)),
        Op::Smin => {
            let (a, b) = (signed(0)?, signed(1)?);
            Some(IntegerRange::new(a.min.min(b.min), a.max.min(b.max)))
        }
        Op::Smax => {
            let (a, b) = (signed(0)?, signed(1)?);
            Some(IntegerRange::new(a.min.max(b.min), a.max.max(b.max)))
        }
        Op::Umin => match (nonnegative(0), nonnegative(1)) {
            (Some(a), Some(b)) => Some(IntegerRange::new(a.min.min(b.min), a.max.min(b.max))),
            // The other one is any number.
            (a, b) => a.or(b).map(|range| up_to(range.max)),
        },
        Op::Umax => {
            let (a, b) = (nonnegative(0)?, nonnegative(1)?);
            Some(IntegerRange::new(a.min.max(b.min), a.max.max(b.max)))
        }
        Op::Select => Some(range(1)?.joined(range(2)?)),
        Op::Phi => (0..operands).map(range).reduce(|a, b| Some(a?.joined(b?)))?,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{ExactResult, evaluate_integer};
    use heddle_ir::text::parse_module;

    /// Numbers of a sequence that is the same in each run.
    fn next(state: &mut u64) -> i128 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i128::from(*state >> 40)
    }

    #[test]
    fn results_are_in_their_ranges() {
        let ops = ["add", "sub", "mul", "shl", "and", "or", "xor", "lshr", "ashr", "urem", "srem", "udiv"];
        let mut state = 1;
        let mut known = 0;
        for op in ops.into_iter().chain([
            "sdiv",
            "smin",
            "smax",
            "umin",
            "umax",
            "zext i16,",
            "sext i16,",
            "trunc i1,",
        ]) {
            let operands = if op.ends_with(',') { "v0" } else { "v0, v1" };
            let text = format!("func @f(v0: i8, v1: i8) {{\nblock0:\n  v2 = {op} {operands}\n  ret\n}}\n");
            let module = parse_module(&text).expect("it is well-formed");
            let func = &module.functions[0];
            let inst = func.def_inst(Value::from_u32(2)).expect("it is computed");
            let data = func.inst(inst);
            let to = func.value_type(Value::from_u32(2)).scalar().bits();
            for _ in 0..2000 {
                let mut ranges = [IntegerRange::signed(8); 2];
                for range in &mut ranges {
                    // Read as signed, or as unsigned; of one number, often.
                    let first = next(&mut state) % 256 - 128 * (next(&mut state) % 2);
                    let end = if first < 0 { 127 } else { 255 };
                    let length = (next(&mut state) % 3) * (next(&mut state) % (end - first + 1));
                    let last = if first < 128 { 127.max(first) } else { end };
                    *range = IntegerRange::new(first, (first + length).min(last));
                }
                let range_of = |value: Value| Some(ranges[usize::from(value == Value::from_u32(1))]);
                let Some(range) = result_range(func, inst, range_of) else { continue };
                for _ in 0..8 {
                    let pick = ranges.map(|it| it.min + next(&mut state) % (it.max - it.min + 1));
                    let bits = pick.map(|number| (number & 255) as u128);
                    let count = data.args.len();
                    let result = evaluate_integer(data.op, data.flags, &data.detail, 8, to, &bits[..count]);
                    let Some(ExactResult::Bits(bits)) = result else { continue };
                    let distance = (bits as i128 - range.min).rem_euclid(1 << to);
                    assert!(range.min + distance <= range.max, "{op} of {pick:?} is not in {range:?}");
                    known += 1;
                }
            }
        }
        assert!(known > 100_000, "{known} results had ranges");
    }
}
