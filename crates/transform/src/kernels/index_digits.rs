//! Digits of an index that a kernel takes apart.
//!
//! An index that is divided is a number of several digits: quotients and remainders are its higher and its lower digits, and `y * w + x` is
//! both of them again. A divisor within a digit splits it.

use super::index_extents::{IndexExtent, extent, is_index, is_never, power_of_two};
use super::insts_of;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Function, Inst, Op, Value};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Dimensions beyond the first one.
const MOST: usize = 2;

/// Minimum of work-items along dimension 0: shorter rows leave lanes without work.
pub const SHORTEST_ROW: u64 = 64;

/// True if an instruction reads the index that is divided.
fn is_root(data: &InstData) -> bool {
    data.op == Op::GlobalId && data.detail == Detail::Dimension(Some(0))
}

/// Digits of the index, the lowest first, times a factor.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ScaledDigits {
    pub(super) digits: Range<usize>,
    pub(super) factor: IndexExtent,
}

/// Mask of a sum of a number and a multiple of a power of two below which the mask has no bits: lower digits of the number do not count.
pub(super) struct MaskedSum {
    /// The mask.
    pub(super) inst: Inst,
    /// Digits of the number from the power on.
    pub(super) digits: Range<usize>,
    pub(super) power: u64,
    pub(super) added: i128,
}

/// Digit that is to be split, so that a number ends within it.
struct DigitSplit {
    digit: usize,
    /// Extent of its lower part.
    lower: IndexExtent,
}

/// Digits of the index that a kernel tells apart, and the values that consist of them.
#[derive(Default)]
pub(super) struct IndexDigits {
    /// Extents of the digits but the last one.
    pub(super) radices: Vec<IndexExtent>,
    /// Constant that the index is below.
    bound: Option<u64>,
    pub(super) values: FxHashMap<Value, ScaledDigits>,
    /// Subtractions of the higher digits and of something else, with the latter and the lower digits.
    pub(super) differences: Vec<(Inst, Value, Range<usize>)>,
    /// Comparisons that tell whether some digits are zero, with these, and whether they hold if so.
    pub(super) comparisons: Vec<(Inst, Range<usize>, bool)>,
    /// Masks of neighbours: `(i + 128) & 16256`.
    pub(super) masked_sums: Vec<MaskedSum>,
}

impl IndexDigits {
    /// Product of extents of digits; none for the last digit, or if it is too large.
    fn product(&self, digits: Range<usize>) -> Option<IndexExtent> {
        let radices = self.radices.get(digits)?;
        radices.iter().try_fold(IndexExtent::constant(1), |product, it| product.times(it))
    }

    /// Number of digits.
    pub(super) fn count(&self) -> usize {
        self.radices.len() + 1
    }

    /// Digit before which a number of these digits is cut by a division, or the digit that is to be split for it; none if it is cut within
    /// digits of which the extent is no factor.
    fn cut(&self, digits: &Range<usize>, divisor: &IndexExtent) -> Result<Option<usize>, DigitSplit> {
        let mut lower = divisor.clone();
        for digit in digits.clone() {
            if lower.as_constant() == Some(1) {
                return Ok(Some(digit));
            }
            let Some(radix) = self.radices.get(digit) else { return Err(DigitSplit { digit, lower }) };
            match lower.divided_by(radix) {
                Some(higher) => lower = higher,
                None if radix.divided_by(&lower).is_some() => return Err(DigitSplit { digit, lower }),
                None => return Ok(None),
            }
        }
        Ok((lower.as_constant() == Some(1)).then_some(digits.end))
    }

    /// Splits a digit. False if there would be too many of them, or the lowest one would be short.
    fn split(&mut self, DigitSplit { digit, lower }: DigitSplit) -> bool {
        let is_short = digit == 0 && lower.as_constant().is_some_and(|it| it < SHORTEST_ROW);
        if is_short || self.radices.len() == MOST {
            return false;
        }
        if let Some(radix) = self.radices.get_mut(digit) {
            let Some(higher) = radix.divided_by(&lower) else { return false };
            *radix = higher;
        }
        self.radices.insert(digit, lower);
        true
    }

    /// Finds the digits of an index, which is below a constant if one is given, and the values that consist of them.
    pub(super) fn of(func: &Function, bound: Option<u64>) -> IndexDigits {
        let mut digits = IndexDigits { bound, ..IndexDigits::default() };
        while !digits.find(func) {}
        let insts = insts_of(func);
        digits.comparisons = insts.iter().filter_map(|&inst| digits.comparison_of(func, inst)).collect();
        digits.masked_sums = insts.iter().filter_map(|&inst| digits.masked_sum_of(func, inst)).collect();
        digits
    }

    /// True if the index is below a number.
    fn is_below(&self, number: u64) -> bool {
        self.bound.is_some_and(|bound| bound <= number)
    }

    /// Finds the values that consist of digits. False if a digit was split, so that they have to be found again.
    fn find(&mut self, func: &Function) -> bool {
        self.values.clear();
        self.differences.clear();
        loop {
            let before = self.values.len();
            for inst in insts_of(func) {
                let Some(result) = func.result(inst).filter(|it| !self.values.contains_key(it)) else {
                    continue;
                };
                if !is_index(func.value_type(result)) {
                    continue;
                }
                match self.digits_of(func, inst) {
                    Ok(Some(digits)) => _ = self.values.insert(result, digits),
                    Ok(None) => {}
                    Err(split) => {
                        if self.split(split) {
                            return false;
                        }
                    }
                }
            }
            if self.values.len() == before {
                return true;
            }
        }
    }

    /// Digits of a value without a factor.
    fn plain(&self, value: Value) -> Option<&Range<usize>> {
        self.values.get(&value).filter(|it| it.factor.as_constant() == Some(1)).map(|it| &it.digits)
    }

    /// The quotient or the remainder of a number by a divisor, or the digit that is to be split.
    fn part(
        &self,
        digits: Option<&Range<usize>>,
        divisor: Option<IndexExtent>,
        is_quotient: bool,
    ) -> Result<Option<ScaledDigits>, DigitSplit> {
        let (Some(digits), Some(divisor)) = (digits, divisor) else { return Ok(None) };
        let whole = || ScaledDigits { digits: digits.clone(), factor: IndexExtent::constant(1) };
        if divisor.as_constant().is_some_and(|it| self.is_below(it)) {
            return Ok((!is_quotient).then(whole));
        }
        let Some(cut) = self.cut(digits, &divisor)? else { return Ok(None) };
        let part = if is_quotient { cut..digits.end } else { digits.start..cut };
        Ok((!part.is_empty()).then(|| ScaledDigits { digits: part, factor: IndexExtent::constant(1) }))
    }

    /// Digits that the result of an instruction consists of, or the digit that is to be split for it.
    fn digits_of(&mut self, func: &Function, inst: Inst) -> Result<Option<ScaledDigits>, DigitSplit> {
        let data = func.inst(inst);
        let known = |value: Value| self.values.get(&value);
        Ok(match (data.op, &data.args[..]) {
            _ if is_root(data) => {
                Some(ScaledDigits { digits: 0..self.count(), factor: IndexExtent::constant(1) })
            }
            (Op::Trunc | Op::Sext | Op::Zext | Op::Freeze, &[number]) => {
                known(number).filter(|it| self.is_small(it)).cloned()
            }
            (Op::Select, &[condition, _, number]) => {
                let whole = self.product(0..self.radices.len());
                let is_chosen = whole.is_some_and(|whole| is_never(func, condition, &whole));
                known(number).filter(|_| is_chosen).cloned()
            }
            (Op::Udiv | Op::Sdiv, &[number, by]) if !data.is_total() => {
                return self.part(self.plain(number), extent(func, by), true);
            }
            (Op::Urem | Op::Srem, &[number, by]) if !data.is_total() => {
                return self.part(self.plain(number), extent(func, by), false);
            }
            (Op::Lshr | Op::Ashr, &[number, by]) => {
                return self.part(self.plain(number), power_of_two(func, by), true);
            }
            (Op::And, &[number, mask]) => return self.masked(func, number, mask),
            (Op::Shl, &[number, by]) => known(number).zip(power_of_two(func, by)).and_then(scale),
            (Op::Mul, &[one, other]) => [(one, other), (other, one)]
                .into_iter()
                .find_map(|(number, by)| known(number).zip(extent(func, by)))
                .and_then(scale),
            (Op::Add, &[one, other]) => known(one).zip(known(other)).and_then(|(one, other)| {
                [(one, other), (other, one)].into_iter().find_map(|(low, high)| self.joined(low, high))
            }),
            (Op::Sub, &[number, taken]) => {
                let known = known(number).cloned();
                known.and_then(|number| self.difference(func, inst, &number, taken))
            }
            _ => None,
        })
    }

    /// Digits that a comparison tells to be zero, and whether it holds if they are: `i < w` and `i >= w` tell about `i / w`,
    /// `i == i / w * w` about `i % w`.
    fn comparison_of(&self, func: &Function, inst: Inst) -> Option<(Inst, Range<usize>, bool)> {
        let data = func.inst(inst);
        let (Op::Icmp, &Detail::IntCompare(predicate), &[a, b]) = (data.op, &data.detail, &data.args[..])
        else {
            return None;
        };
        use IntPredicate::{Eq, Ne, Sge, Slt, Uge, Ult};
        let orders = [(a, b, predicate), (b, a, predicate.swapped())];
        let (digits, is_zero) =
            orders.into_iter().find_map(|(number, other, predicate)| match predicate {
                Eq | Ne => {
                    let lower = self.lower_digits(self.values.get(&number)?, self.values.get(&other)?)?;
                    Some((lower.digits, predicate == Eq))
                }
                Ult | Slt | Uge | Sge => {
                    let digits = self.plain(number)?;
                    let cut = self.cut(digits, &extent(func, other)?).ok()??;
                    (cut < digits.end).then_some((cut..digits.end, matches!(predicate, Ult | Slt)))
                }
                _ => None,
            })?;
        Some((inst, digits, is_zero))
    }

    /// Lower digits of a number, whose higher ones are another number.
    fn lower_digits(&self, number: &ScaledDigits, high: &ScaledDigits) -> Option<ScaledDigits> {
        let lower = number.digits.start..high.digits.start;
        let product = self.product(lower.clone())?.times(&number.factor)?;
        let is_rest = !lower.is_empty() && high.digits.end == number.digits.end && high.factor == product;
        is_rest.then(|| ScaledDigits { digits: lower, factor: number.factor.clone() })
    }

    /// True for numbers that are at most the index: conversions keep them.
    fn is_small(&self, scaled: &ScaledDigits) -> bool {
        let start = scaled.digits.start;
        (0..=start).any(|lower| self.product(lower..start).as_ref() == Some(&scaled.factor))
    }

    /// Digits that a mask of consecutive bits leaves.
    fn masked(
        &self,
        func: &Function,
        number: Value,
        mask: Value,
    ) -> Result<Option<ScaledDigits>, DigitSplit> {
        let (Some(scaled), Some(mask)) = (self.values.get(&number), func.signed_constant(mask)) else {
            return Ok(None);
        };
        // The factor is a power of two, as its constant is, and the mask has ones from `low` up to `high`.
        let Some(factor) = scaled.factor.as_constant().filter(|it| it.is_power_of_two()) else {
            return Ok(None);
        };
        let low = mask.trailing_zeros();
        if low >= 31 {
            return Ok(None);
        }
        let ones = mask >> low;
        if ones & ones.wrapping_add(1) != 0 {
            return Ok(None);
        }
        let high = ones.trailing_ones() + low;
        let power = |bits: u32| IndexExtent::constant(1 << bits);
        let shift = factor.trailing_zeros();
        let mut digits = scaled.digits.clone();
        for (bits, is_quotient) in [(high, false), (low, true)] {
            // The upper end first, since quotients have fewer digits.
            if bits <= shift || bits - shift >= 31 {
                continue;
            }
            let is_whole = || 1u64.checked_shl(bits).is_some_and(|end| self.is_below(end));
            if !is_quotient && self.is_small(scaled) && is_whole() {
                continue;
            }
            match self.part(Some(&digits), Some(power(bits - shift)), is_quotient)? {
                Some(part) => digits = part.digits,
                None => return Ok(None),
            }
        }
        let is_known = high > shift;
        Ok(is_known.then(|| ScaledDigits { digits, factor: power(low.max(shift)) }))
    }

    /// Mask of a sum whose number has digits below the mask.
    fn masked_sum_of(&self, func: &Function, inst: Inst) -> Option<MaskedSum> {
        let data = func.inst(inst);
        let (Op::And, &[sum, mask]) = (data.op, &data.args[..]) else { return None };
        let low = func.signed_constant(mask)?.trailing_zeros();
        let sum = func.inst(func.def_inst(sum)?);
        let (Op::Add, &[number, added]) = (sum.op, &sum.args[..]) else { return None };
        let (scaled, added) = (self.values.get(&number)?, func.signed_constant(added)?);
        let shift = scaled.factor.as_constant().filter(|it| it.is_power_of_two())?.trailing_zeros();
        let power =
            1u64.checked_shl(low).filter(|_| low < 31 && low > shift && added.trailing_zeros() >= low)?;
        let cut = self.cut(&scaled.digits, &IndexExtent::constant(power >> shift)).ok()??;
        let digits = cut..scaled.digits.end;
        (!digits.is_empty()).then_some(MaskedSum { inst, digits, power, added })
    }

    /// Sum of a number and of its higher digits.
    fn joined(&self, low: &ScaledDigits, high: &ScaledDigits) -> Option<ScaledDigits> {
        let product = self.product(low.digits.clone())?.times(&low.factor)?;
        let joins = low.digits.end == high.digits.start && high.factor == product;
        joins.then(|| ScaledDigits { digits: low.digits.start..high.digits.end, factor: low.factor.clone() })
    }

    /// Lower digits of a number from which its higher ones are subtracted: `i - i / w * w`, also as `i - (i / w * w + z)`.
    fn difference(
        &mut self,
        func: &Function,
        inst: Inst,
        number: &ScaledDigits,
        taken: Value,
    ) -> Option<ScaledDigits> {
        let lower = |high: &ScaledDigits| self.lower_digits(number, high);
        if let Some(high) = self.values.get(&taken) {
            return lower(high);
        }
        let sum = func.inst(func.def_inst(taken)?);
        let (Op::Add, &[one, other]) = (sum.op, &sum.args[..]) else { return None };
        let (low, rest) = [(one, other), (other, one)]
            .into_iter()
            .find_map(|(high, rest)| Some((lower(self.values.get(&high)?)?, rest)))?;
        let is_new = self.differences.iter().all(|(it, ..)| *it != inst);
        if is_new && low.factor.as_constant() == Some(1) {
            self.differences.push((inst, rest, low.digits));
        }
        None
    }
}

/// A number times an extent.
fn scale((scaled, by): (&ScaledDigits, IndexExtent)) -> Option<ScaledDigits> {
    Some(ScaledDigits { digits: scaled.digits.clone(), factor: scaled.factor.times(&by)? })
}
