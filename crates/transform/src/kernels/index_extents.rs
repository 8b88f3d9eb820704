//! Extents of an index that is taken apart into digits: products of parameters and constants.

use heddle_ir::inst::Detail;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Function, Op, Type, Value};
use std::fmt;

/// Maximum number of parameters of a product, which may be one of itself.
const MOST_FACTORS: usize = 8;

/// Product of a positive constant and of parameters, to each of which a constant may be added.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct IndexExtent {
    constant: u64,
    /// Numbers of parameters, and what is added to them, in order.
    factors: Vec<(u32, i64)>,
}

impl IndexExtent {
    /// A constant.
    pub(super) fn constant(constant: u64) -> IndexExtent {
        IndexExtent { constant, factors: Vec::new() }
    }

    /// A parameter.
    pub fn parameter(parameter: u32) -> IndexExtent {
        IndexExtent { constant: 1, factors: vec![(parameter, 0)] }
    }

    /// Its value, if it is a constant.
    pub(super) fn as_constant(&self) -> Option<u64> {
        self.factors.is_empty().then_some(self.constant)
    }

    /// Its parameters, each with the constant that is added to it.
    pub(super) fn factors(&self) -> &[(u32, i64)] {
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
        self.factors.iter().try_fold(self.constant, |product, &(number, added)| {
            // Numbers below 2³¹ are the same with and without a sign.
            let parameter = i64::try_from(parameter(number)?).ok().filter(|&it| it < 1 << 31)?;
            let factor = u64::try_from(parameter.checked_add(added)?).ok().filter(|&it| it > 0)?;
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
        for &(number, added) in &self.factors {
            write!(f, "{separator}")?;
            match added {
                0 => write!(f, "argument {number}")?,
                1.. => write!(f, "(argument {number} + {added})")?,
                _ => write!(f, "(argument {number} - {})", added.unsigned_abs())?,
            }
            separator = " * ";
        }
        Ok(())
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
        (Op::Add, &[number, added]) => {
            let added = i64::try_from(func.signed_constant(added)?).ok()?;
            match extent(func, number)? {
                IndexExtent { constant: 1, factors } if let [(parameter, 0)] = factors[..] => {
                    Some(IndexExtent { constant: 1, factors: vec![(parameter, added)] })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the extent that is one more than a value, if the value is not negative: a constant, or a parameter to which a constant is added.
pub(super) fn successor(func: &Function, mut value: Value) -> Option<IndexExtent> {
    let mut added = 1;
    while is_index(func.value_type(value)) {
        if let Some(constant) = func.signed_constant(value) {
            let next = u64::try_from(constant.checked_add(1)?).ok()?;
            return (1..1 << 31).contains(&next).then(|| IndexExtent::constant(next));
        }
        let Some(inst) = func.def_inst(value) else {
            let number = func.params().iter().position(|&it| it == value)?;
            return Some(IndexExtent { constant: 1, factors: vec![(number as u32, added)] });
        };
        let data = func.inst(inst);
        value = match (data.op, &data.args[..]) {
            (Op::Trunc | Op::Sext | Op::Zext | Op::Freeze, &[number]) => number,
            (Op::Add, &[number, constant]) if added == 1 => {
                added = i64::try_from(func.signed_constant(constant)?).ok()?.checked_add(1)?;
                number
            }
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
