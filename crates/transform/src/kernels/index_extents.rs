//! Extents of an index that is taken apart into digits: products of parameters and constants.

use heddle_ir::inst::Detail;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Function, Op, Type, Value};
use std::fmt;

/// Maximum number of parameters of a product, which may be one of itself.
const MOST_FACTORS: usize = 8;

/// Sum of a parameter and a constant, from which another parameter may be subtracted. Parameters are numbered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ExtentFactor {
    pub(super) parameter: u32,
    pub(super) subtracted: Option<u32>,
    pub(super) added: i64,
}

/// Product of a positive constant and of sums of parameters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct IndexExtent {
    constant: u64,
    /// In order.
    factors: Vec<ExtentFactor>,
}

impl IndexExtent {
    /// A constant.
    pub(super) fn constant(constant: u64) -> IndexExtent {
        IndexExtent { constant, factors: Vec::new() }
    }

    /// A parameter.
    pub fn parameter(parameter: u32) -> IndexExtent {
        IndexExtent::sum(ExtentFactor { parameter, subtracted: None, added: 0 })
    }

    fn sum(factor: ExtentFactor) -> IndexExtent {
        IndexExtent { constant: 1, factors: vec![factor] }
    }

    /// Its value, if it is a constant.
    pub(super) fn as_constant(&self) -> Option<u64> {
        self.factors.is_empty().then_some(self.constant)
    }

    /// Its sums of parameters.
    pub(super) fn factors(&self) -> &[ExtentFactor] {
        &self.factors
    }

    /// Its constant factor.
    pub(super) fn constant_factor(&self) -> u64 {
        self.constant
    }

    /// The product of two; none if its constant is too large for an index, or if it has too many factors.
    pub(super) fn times(&self, other: &IndexExtent) -> Option<IndexExtent> {
        let constant = self.constant.checked_mul(other.constant).filter(|&it| it < 1 << 31)?;
        let mut factors = [&self.factors[..], &other.factors[..]].concat();
        factors.sort_unstable();
        (factors.len() <= MOST_FACTORS).then_some(IndexExtent { constant, factors })
    }

    /// The factor by which another extent is multiplied to be this one; none if it does not divide this one.
    pub(super) fn divided_by(&self, other: &IndexExtent) -> Option<IndexExtent> {
        let mut factors = self.factors.clone();
        for factor in &other.factors {
            factors.remove(factors.iter().position(|it| it == factor)?);
        }
        let divides = self.constant.is_multiple_of(other.constant);
        divides.then(|| IndexExtent { constant: self.constant / other.constant, factors })
    }

    /// Its value in a launch with these values of the parameters, which are not negative; none if a factor is not positive, or the product
    /// too large for an index.
    pub fn value(&self, parameter: impl Fn(u32) -> Option<u64>) -> Option<u64> {
        // Numbers below 2³¹ are the same with and without a sign.
        let small = |number: u32| i64::try_from(parameter(number)?).ok().filter(|&it| it < 1 << 31);
        self.factors.iter().try_fold(self.constant, |product, factor| {
            let subtracted = factor.subtracted.map_or(Some(0), small)?;
            let sum = (small(factor.parameter)? - subtracted).checked_add(factor.added)?;
            let factor = u64::try_from(sum).ok().filter(|&it| it > 0)?;
            product.checked_mul(factor).filter(|&it| it < 1 << 31)
        })
    }
}

/// As a product of arguments, which are counted from 0.
impl fmt::Display for IndexExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if self.constant != 1 || self.factors.is_empty() {
            write!(f, "{}", self.constant)?;
            separator = " * ";
        }
        for factor in &self.factors {
            write!(f, "{separator}{factor}")?;
            separator = " * ";
        }
        Ok(())
    }
}

impl fmt::Display for ExtentFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExtentFactor { parameter, subtracted, added } = *self;
        let subtracted = subtracted.map(|it| format!(" - argument {it}")).unwrap_or_default();
        match added {
            0 if subtracted.is_empty() => write!(f, "argument {parameter}"),
            0 => write!(f, "(argument {parameter}{subtracted})"),
            1.. => write!(f, "(argument {parameter}{subtracted} + {added})"),
            _ => write!(f, "(argument {parameter}{subtracted} - {})", added.unsigned_abs()),
        }
    }
}

pub(super) fn is_index(ty: Type) -> bool {
    ty == Type::I32 || ty == Type::I64
}

/// True if a condition never holds where all of these parameters are positive extents: it compares a product of them with 0 or -1.
pub(super) fn is_never(func: &Function, condition: Value, whole: &IndexExtent) -> bool {
    let Some(data) = func.def_inst(condition).map(|inst| func.inst(inst)) else { return false };
    match (data.op, &data.args[..]) {
        (Op::And, parts) => parts.iter().any(|&it| is_never(func, it, whole)),
        (Op::Or, parts) => parts.iter().all(|&it| is_never(func, it, whole)),
        (Op::Icmp, &[number, other]) if data.detail == Detail::IntCompare(IntPredicate::Eq) => {
            let is_part = extent(func, number).is_some_and(|it| whole.divided_by(&it).is_some());
            is_part && matches!(func.signed_constant(other), Some(-1 | 0))
        }
        _ => false,
    }
}

/// Returns the extent that a divisor is where it is positive: converted, at least 1, or 1 where a division would trap.
pub(super) fn extent(func: &Function, value: Value) -> Option<IndexExtent> {
    if !is_index(func.value_type(value)) {
        return None;
    }
    if let Some(constant) = func.signed_constant(value) {
        let constant = u64::try_from(constant).ok()?;
        return (1..1 << 31).contains(&constant).then(|| IndexExtent::constant(constant));
    }
    let Some(inst) = func.def_inst(value) else {
        let number = func.params().iter().position(|&it| it == value)?;
        return Some(IndexExtent::parameter(number as u32));
    };
    let data = func.inst(inst);
    let is_one = |value: Value| func.unsigned_constant(value) == Some(1);
    match (data.op, &data.args[..]) {
        (Op::Trunc | Op::Sext | Op::Zext | Op::Freeze, &[number]) => extent(func, number),
        (Op::Umax | Op::Smax, &[number, least]) if is_one(least) => extent(func, number),
        (Op::Umax | Op::Smax, &[least, number]) if is_one(least) => extent(func, number),
        (Op::Select, &[condition, one, number]) if is_one(one) => {
            extent(func, number).filter(|it| is_never(func, condition, it))
        }
        (Op::Mul, &[one, other]) => extent(func, one)?.times(&extent(func, other)?),
        (Op::Shl, &[number, by]) => extent(func, number)?.times(&power_of_two(func, by)?),
        (Op::Add | Op::Sub | Op::Xor, _) => sum_of_parameters(func, value).map(IndexExtent::sum),
        _ => None,
    }
}

/// Returns the extent that is one more than a value, if the value is not negative: a constant, or a sum of parameters.
pub(super) fn successor(func: &Function, mut value: Value) -> Option<IndexExtent> {
    while let Some(data) = func.def_inst(value).map(|inst| func.inst(inst))
        && let (Op::Trunc | Op::Sext | Op::Zext | Op::Freeze, &[number]) = (data.op, &data.args[..])
    {
        value = number;
    }
    if !is_index(func.value_type(value)) {
        return None;
    }
    if let Some(constant) = func.signed_constant(value) {
        let next = u64::try_from(constant.checked_add(1)?).ok()?;
        return (1..1 << 31).contains(&next).then(|| IndexExtent::constant(next));
    }
    let sum = sum_of_parameters(func, value)?;
    Some(IndexExtent::sum(ExtentFactor { added: sum.added.checked_add(1)?, ..sum }))
}

/// Matches a sum of at most two parameters, of which one is subtracted, and of constants. All is of one width, so that the sum is exact
/// where it is an index, whatever wraps around before.
fn sum_of_parameters(func: &Function, value: Value) -> Option<ExtentFactor> {
    let (mut plus, mut minus, mut sum) = (None, None, 0i64);
    let mut open = vec![(value, 1i64)];
    for _ in 0..MOST_FACTORS {
        let Some((value, sign)) = open.pop() else { break };
        if let Some(constant) = func.signed_constant(value) {
            sum = sum.checked_add(sign.checked_mul(i64::try_from(constant).ok()?)?)?;
            continue;
        }
        if let Some(parameter) = parameter_of(func, value) {
            let one = if sign > 0 { &mut plus } else { &mut minus };
            one.replace(parameter).is_none().then_some(())?;
            continue;
        }
        let data = func.inst(func.def_inst(value)?);
        match (data.op, &data.args[..]) {
            (Op::Add, &[one, other]) => open.extend([(one, sign), (other, sign)]),
            (Op::Sub, &[one, other]) => open.extend([(one, sign), (other, -sign)]),
            // `!x` is `-x - 1`.
            (Op::Xor, &[number, ones]) if func.signed_constant(ones) == Some(-1) => {
                sum = sum.checked_sub(sign)?;
                open.push((number, -sign));
            }
            _ => return None,
        }
    }
    open.is_empty().then_some(ExtentFactor { parameter: plus?, subtracted: minus, added: sum })
}

/// Number of the parameter that a value is, in a type of indices.
fn parameter_of(func: &Function, mut value: Value) -> Option<u32> {
    while is_index(func.value_type(value)) {
        let Some(inst) = func.def_inst(value) else {
            return func.params().iter().position(|&it| it == value).map(|number| number as u32);
        };
        let data = func.inst(inst);
        value = match (data.op, &data.args[..]) {
            (Op::Trunc | Op::Sext | Op::Zext | Op::Freeze, &[number]) => number,
            _ => return None,
        };
    }
    None
}

/// The power of two that a constant number of bits shifts by.
pub(super) fn power_of_two(func: &Function, bits: Value) -> Option<IndexExtent> {
    let bits = func.unsigned_constant(bits).filter(|&it| it < 31)?;
    Some(IndexExtent::constant(1 << bits))
}

/// Dimension along which a value is this query, in one of the types of indices.
pub(super) fn queried(func: &Function, mut value: Value, op: Op) -> Option<u8> {
    while let Some(inst) = func.def_inst(value).filter(|_| is_index(func.value_type(value))) {
        let data = func.inst(inst);
        match (data.op, &data.args[..], &data.detail) {
            (Op::Trunc | Op::Sext | Op::Zext | Op::Freeze, &[number], _) => value = number,
            (query, _, &Detail::Dimension(dimension)) if query == op => return dimension,
            _ => return None,
        }
    }
    None
}

/// True if a value is this query along dimension 0, in one of the types of indices.
pub(super) fn is_query(func: &Function, value: Value, op: Op) -> bool {
    queried(func, value, op) == Some(0)
}
