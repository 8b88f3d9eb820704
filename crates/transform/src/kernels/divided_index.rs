//! Kernels of one dimension whose work-items take their index apart, as kernels of several dimensions.
//!
//! ```text
//!     int i = global_id 0, x = i % w, y = i / w;       int x = global_id 0, y = global_id 1, i = y * w + x;
//! ```
//!
//! A launch of n work-items runs as one of w by n / w. Lanes along a row have one `y`, without a division; columns are seen, and the launch can
//! be cut into groups of short rows. Divisors are constants, parameters and products of them; a quotient or a remainder that is divided again
//! is two dimensions. Where w does not divide n, the last row is longer, and the bounded kernel leaves the work-items from n on out.
//!
//! The index is a number of several digits, whose radices are the extents of the dimensions but the last; quotients and remainders are the
//! higher and the lower digits of it.
//!
//! Loops over the grid are taken apart first, for launches in which they run once ([`single_iteration`]), and a guard of the index is left to
//! the launch ([`remove_guard`]).
//!
//! Requires: Stage::Source.  Ensures: for positive extents and indices below 2³¹, the same work-items, in another order. The order of work-items
//! is not defined, and the kernel observes nothing of the launch but the index.

use super::index_extents::{IndexExtent, extent, is_index, is_never, power_of_two};
use super::index_guard::remove_guard;
use super::insts_of;
use super::linear_indices::linearize;
use super::single_iteration::{SingleIteration, single_iteration};
use crate::inline::split_after;
use crate::remove_dead;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{DeclaredShape, Param};
use heddle_ir::ops::Observed;
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Function, Inst, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Kernel for launches of several dimensions, which does what another one does in launches of one.
#[derive(Clone, Debug)]
pub struct DividedIndex {
    /// The kernel.
    pub kernel: Function,
    /// The kernel with a last parameter: the number of work-items, in 64 bits. Those beyond it do nothing.
    pub bounded: Function,
    /// Extents of its launches, from dimension 0 on. The last dimension has what is left.
    pub extents: Vec<IndexExtent>,
    /// Minimum of work-items of launches, which are fewer than [`MOST_ITERATIONS`] if there is one: loops over the grid run once in them.
    ///
    /// [`MOST_ITERATIONS`]: super::MOST_ITERATIONS
    pub limits: Vec<IndexExtent>,
    /// Number from which on work-items of the kernel do nothing, which those of these forms do not ask.
    pub bound: Option<IndexExtent>,
}

/// Dimensions beyond the first one.
const MOST: usize = 2;

/// Minimum of work-items along dimension 0: shorter rows leave lanes without work.
pub const SHORTEST_ROW: u64 = 64;

/// True if an instruction observes the launch, or the place of its work-item in it.
pub fn observes_launch(data: &InstData) -> bool {
    let observed = [Observed::Group, Observed::Launch, Observed::Position, Observed::Lanes];
    observed.iter().any(|&it| data.observes(it))
}

/// Divides the index of a kernel into dimensions, under another name. None if it observes more than its index, or does not divide it by an
/// extent. `is_observer` tells functions that observe the launch.
pub fn divided_index(
    func: &Function,
    name: &str,
    is_observer: impl Fn(&str) -> bool,
) -> Option<DividedIndex> {
    let (mut kernel, limits) = match single_iteration(func) {
        Some(SingleIteration { kernel, limits }) => (kernel, limits),
        None => (func.clone(), Vec::new()),
    };
    let bound = remove_guard(&mut kernel);
    while remove_dead(&mut kernel) {}
    for inst in insts_of(&kernel) {
        let data = kernel.inst(inst);
        let calls = kernel.callee_of(data).is_some_and(|callee| is_observer(&callee.name));
        if calls || observes_launch(data) && !is_root(data) {
            return None;
        }
    }
    let mut digits = IndexDigits::default();
    while !digits.find(&kernel) {}
    if digits.radices.is_empty() {
        return None;
    }
    kernel.name = name.to_string();
    digits.replace(&mut kernel)?;
    linearize(&mut kernel);
    while remove_dead(&mut kernel) {}
    let bounded = bounded(&kernel, &digits.radices)?;
    Some(DividedIndex { kernel, bounded, extents: digits.radices, limits, bound })
}

/// True if an instruction reads the index that is divided.
fn is_root(data: &InstData) -> bool {
    data.op == Op::GlobalId && data.detail == Detail::Dimension(Some(0))
}

/// Digits of the index, the lowest first, times a factor.
#[derive(Clone, PartialEq, Debug)]
struct ScaledDigits {
    digits: Range<usize>,
    factor: IndexExtent,
}

/// Where a number ends below one of its digits.
enum DigitBoundary {
    /// Before this digit.
    At(usize),
    /// Within a digit, which is to be split: the lower part has this extent.
    Within(usize, IndexExtent),
}

/// Digits of the index that a kernel tells apart, and the values that consist of them.
#[derive(Default)]
struct IndexDigits {
    /// Extents of the digits but the last one.
    radices: Vec<IndexExtent>,
    values: FxHashMap<Value, ScaledDigits>,
    /// Subtractions of the higher digits and of something else, with the latter and the lower digits.
    differences: Vec<(Inst, Value, Range<usize>)>,
}

impl IndexDigits {
    /// Product of extents of digits; none for the last digit, or if it is too large.
    fn product(&self, digits: Range<usize>) -> Option<IndexExtent> {
        let radices = self.radices.get(digits)?;
        radices.iter().try_fold(IndexExtent::constant(1), |product, it| product.times(it))
    }

    /// Number of digits.
    fn count(&self) -> usize {
        self.radices.len() + 1
    }

    /// Place where a number of these digits is cut by a division; none if it is cut within digits of which the extent is no factor.
    fn boundary(&self, digits: &Range<usize>, divisor: &IndexExtent) -> Option<DigitBoundary> {
        let mut rest = divisor.clone();
        for digit in digits.clone() {
            if rest.as_constant() == Some(1) {
                return Some(DigitBoundary::At(digit));
            }
            let Some(radix) = self.radices.get(digit) else {
                return Some(DigitBoundary::Within(digit, rest));
            };
            match rest.divided_by(radix) {
                Some(higher) => rest = higher,
                None => return radix.divided_by(&rest).map(|_| DigitBoundary::Within(digit, rest)),
            }
        }
        (rest.as_constant() == Some(1)).then_some(DigitBoundary::At(digits.end))
    }

    /// Splits a digit. False if there would be too many of them, or the lowest one would be short.
    fn split(&mut self, digit: usize, lower: IndexExtent) -> bool {
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
                    Err((digit, lower)) => {
                        if self.split(digit, lower) {
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
    ) -> Result<Option<ScaledDigits>, (usize, IndexExtent)> {
        let (Some(digits), Some(divisor)) = (digits, divisor) else { return Ok(None) };
        let cut = match self.boundary(digits, &divisor) {
            None => return Ok(None),
            Some(DigitBoundary::Within(digit, lower)) => return Err((digit, lower)),
            Some(DigitBoundary::At(cut)) => cut,
        };
        let part = if is_quotient { cut..digits.end } else { digits.start..cut };
        Ok((!part.is_empty()).then(|| ScaledDigits { digits: part, factor: IndexExtent::constant(1) }))
    }

    /// Digits that the result of an instruction consists of, or the digit that is to be split for it.
    fn digits_of(
        &mut self,
        func: &Function,
        inst: Inst,
    ) -> Result<Option<ScaledDigits>, (usize, IndexExtent)> {
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
    ) -> Result<Option<ScaledDigits>, (usize, IndexExtent)> {
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
            match self.part(Some(&digits), Some(power(bits - shift)), is_quotient)? {
                Some(part) => digits = part.digits,
                None => return Ok(None),
            }
        }
        let is_known = high > shift;
        Ok(is_known.then(|| ScaledDigits { digits, factor: power(low.max(shift)) }))
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
        let lower = |high: &ScaledDigits| {
            let lower = number.digits.start..high.digits.start;
            let product = self.product(lower.clone())?.times(&number.factor)?;
            let is_rest = !lower.is_empty() && high.digits.end == number.digits.end && high.factor == product;
            is_rest.then(|| ScaledDigits { digits: lower, factor: number.factor.clone() })
        };
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

/// True for the wider one of the types of indices, which have 32 and 64 bits.
fn is_wide(func: &Function, value: Value) -> bool {
    func.value_type(value) == Type::I64
}

/// Flags of operations on indices, which are below 2³¹.
fn no_wrap() -> Flags {
    Flags::NONE.with(Flag::Nuw).with(Flag::Nsw)
}

/// Reads the index along a dimension, in 64 bits.
fn global_id(builder: &mut Builder<'_>, dimension: usize) -> Value {
    let query = InstData::new(Op::GlobalId, [], Detail::Dimension(Some(dimension as u8)));
    builder.value(query, Some(Type::I64))
}

/// True if an extent is a product of numbers of 32 bits.
fn is_narrow(func: &Function, extent: &IndexExtent) -> bool {
    let is_narrow =
        |&(number, _): &(u32, i64)| func.params().get(number as usize).is_some_and(|&it| !is_wide(func, it));
    extent.factors().iter().all(is_narrow)
}

/// Computes an extent, in 64 bits or, if it is narrow, in 32.
fn extent_value(builder: &mut Builder<'_>, extent: &IndexExtent, wide: bool) -> Option<Value> {
    let ty = if wide { Type::I64 } else { Type::I32 };
    let constant = i128::from(extent.constant_factor());
    let mut product =
        (constant != 1 || extent.factors().is_empty()).then(|| builder.int(ty.scalar(), constant));
    for &(number, added) in extent.factors() {
        let mut factor = *builder.func.params().get(number as usize)?;
        if added != 0 {
            let added = builder.int(builder.func.value_type(factor).scalar(), added.into());
            factor = builder.op(Op::Add, &[factor, added]);
        }
        if wide && !is_wide(builder.func, factor) {
            factor = builder.op_to(Op::Zext, ty, &[factor]);
        }
        product = Some(match product {
            Some(product) => builder.op_with(Op::Mul, &[product, factor], no_wrap()),
            None => factor,
        });
    }
    product
}

/// A number in 32 and in 64 bits, of one in one of them.
fn in_both(builder: &mut Builder<'_>, number: Value) -> [Value; 2] {
    match is_wide(builder.func, number) {
        true => [builder.op_to(Op::Trunc, Type::I32, &[number]), number],
        false => [number, builder.op_to(Op::Zext, Type::I64, &[number])],
    }
}

/// Number of some digits of the index, of the indices along dimensions, in 32 and in 64 bits. It is computed in the type of the extents.
fn combined(
    builder: &mut Builder<'_>,
    radices: &[IndexExtent],
    indices: &[[Value; 2]],
    digits: &Range<usize>,
) -> Option<[Value; 2]> {
    let (&last, lower) = indices.get(digits.clone())?.split_last()?;
    let radices = radices.get(digits.start..digits.start + lower.len())?;
    if lower.is_empty() {
        return Some(last);
    }
    let wide = !radices.iter().all(|it| is_narrow(builder.func, it));
    let mut number = last[usize::from(wide)];
    for (index, radix) in lower.iter().zip(radices).rev() {
        let radix = extent_value(builder, radix, wide)?;
        let start = builder.op_with(Op::Mul, &[number, radix], no_wrap());
        number = builder.op_with(Op::Add, &[start, index[usize::from(wide)]], no_wrap());
    }
    Some(in_both(builder, number))
}

impl IndexDigits {
    /// Replaces the values of a kernel that consist of digits by the indices along dimensions.
    fn replace(&self, func: &mut Function) -> Option<()> {
        let first = func.first_non_phi(func.entry())?;
        let mut builder = Builder::new(func, InsertPoint::Before(first));
        let index = |dimension| {
            let index = global_id(&mut builder, dimension);
            in_both(&mut builder, index)
        };
        let indices: Vec<[Value; 2]> = (0..self.count()).map(index).collect();
        let mut numbers: FxHashMap<Range<usize>, [Value; 2]> = FxHashMap::default();
        let mut number = |func: &mut Function, digits: &Range<usize>| {
            if let Some(&number) = numbers.get(digits) {
                return Some(number);
            }
            let mut builder = Builder::new(func, InsertPoint::Before(first));
            let number = combined(&mut builder, &self.radices, &indices, digits)?;
            numbers.insert(digits.clone(), number);
            Some(number)
        };
        let mut replacements: FxHashMap<Value, Value> = FxHashMap::default();
        // In the order of the code: same input, same output.
        for inst in insts_of(func) {
            let Some(result) = func.result(inst) else { continue };
            let Some(ScaledDigits { digits, factor }) = self.values.get(&result) else { continue };
            let factor = match factor.as_constant() {
                Some(1) => None,
                // A product has its factor; a mask's is a power of two.
                Some(factor) if func.inst(inst).op == Op::And => Some(factor),
                _ => continue,
            };
            let wide = usize::from(is_wide(func, result));
            let mut by = number(func, digits)?[wide];
            if let Some(factor) = factor {
                let mut builder = Builder::new(func, InsertPoint::Before(first));
                let factor = builder.int([Scalar::I32, Scalar::I64][wide], factor.into());
                by = builder.op(Op::Mul, &[by, factor]);
            }
            replacements.insert(result, by);
        }
        for (inst, rest, digits) in &self.differences {
            let wide = usize::from(is_wide(func, *rest));
            let column = number(func, digits)?[wide];
            let data = func.inst_mut(*inst);
            data.args = [column, *rest].into_iter().collect();
            data.flags = Flags::NONE;
        }
        func.map_values(|value| replacements.get(&value).copied().unwrap_or(value));
        Some(())
    }
}

/// Adds a parameter to a divided kernel, and lets work-items do nothing whose index is not below it.
fn bounded(kernel: &Function, radices: &[IndexExtent]) -> Option<Function> {
    let mut func = kernel.clone();
    func.name.push_str(".bounded");
    let count = func.add_param(Param { shape: Some(DeclaredShape::Uniform), ..Param::new(Type::I64) });
    let first = func.first_non_phi(func.entry())?;
    let mut builder = Builder::new(&mut func, InsertPoint::Before(first));
    let mut index = global_id(&mut builder, radices.len());
    for (dimension, radix) in radices.iter().enumerate().rev() {
        let extent = extent_value(&mut builder, radix, true)?;
        let start = builder.op_with(Op::Mul, &[index, extent], no_wrap());
        let inner = global_id(&mut builder, dimension);
        index = builder.op_with(Op::Add, &[start, inner], no_wrap());
    }
    let is_inside = builder.icmp(IntPredicate::Ult, index, count);
    let last = func.def_inst(is_inside)?;
    let entry = func.entry();
    let body = split_after(&mut func, last);
    let end = func.append_block();
    Builder::new(&mut func, InsertPoint::End(entry)).branch(is_inside, body, end);
    Builder::new(&mut func, InsertPoint::End(end)).ret(&[]);
    Some(func)
}
