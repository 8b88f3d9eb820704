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
//! The index is a number of several digits ([`IndexDigits`]), whose radices are the extents of the dimensions but the last.
//!
//! Requires: Stage::Source.  Ensures: for positive extents and indices below 2³¹, the same work-items, in another order. The order of work-items
//! is not defined, and the kernel observes nothing of the launch but the index.

use super::index_digits::{IndexDigits, MaskedSum, ScaledDigits};
use super::index_extents::{ExtentFactor, IndexExtent};
use super::insts_of;
use super::linear_indices::linearize;
use crate::inline::split_after;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{DeclaredShape, Param};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Function, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Divides the index of a kernel of one dimension, which is below a constant if one is given. Returns the extents of its dimensions but the
/// last, none if no extent divides the index.
pub(super) fn divide(kernel: &mut Function, bound: Option<u64>) -> Vec<IndexExtent> {
    let digits = IndexDigits::of(kernel, bound);
    if digits.radices.is_empty() {
        return Vec::new();
    }
    let mut divided = kernel.clone();
    if digits.replace(&mut divided).is_none() {
        return Vec::new();
    }
    linearize(&mut divided);
    *kernel = divided;
    digits.radices
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
    let is_narrow = |number: u32| func.params().get(number as usize).is_some_and(|&it| !is_wide(func, it));
    extent.factors().iter().all(|it| is_narrow(it.parameter) && it.subtracted.is_none_or(is_narrow))
}

/// Computes an extent, in 64 bits or, if it is narrow, in 32.
fn extent_value(builder: &mut Builder<'_>, extent: &IndexExtent, wide: bool) -> Option<Value> {
    let ty = if wide { Type::I64 } else { Type::I32 };
    let constant = i128::from(extent.constant_factor());
    let mut product =
        (constant != 1 || extent.factors().is_empty()).then(|| builder.int(ty.scalar(), constant));
    for &ExtentFactor { parameter, subtracted, added } in extent.factors() {
        let mut factor = *builder.func.params().get(parameter as usize)?;
        if let Some(subtracted) = subtracted {
            let mut other = *builder.func.params().get(subtracted as usize)?;
            match [factor, other].map(|it| is_wide(builder.func, it)) {
                [true, false] => other = builder.op_to(Op::Zext, Type::I64, &[other]),
                [false, true] => factor = builder.op_to(Op::Zext, Type::I64, &[factor]),
                _ => {}
            }
            factor = builder.op(Op::Sub, &[factor, other]);
        }
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
        for &MaskedSum { inst, ref digits, power, added } in &self.masked_sums {
            let wide = usize::from(is_wide(func, func.inst(inst).args[0]));
            let number = number(func, digits)?[wide];
            let mut builder = Builder::new(func, InsertPoint::Before(first));
            let scalar = [Scalar::I32, Scalar::I64][wide];
            let [power, added] = [power.into(), added].map(|it| builder.int(scalar, it));
            let start = builder.op(Op::Mul, &[number, power]);
            let sum = builder.op(Op::Add, &[start, added]);
            func.inst_mut(inst).args[0] = sum;
        }
        for (inst, digits, is_zero) in &self.comparisons {
            let wide = usize::from(is_wide(func, func.inst(*inst).args[0]));
            let digits = number(func, digits)?[wide];
            let zero = func.make_int([Scalar::I32, Scalar::I64][wide], 0);
            let predicate = if *is_zero { IntPredicate::Eq } else { IntPredicate::Ne };
            let data = func.inst_mut(*inst);
            data.args = [digits, zero].into_iter().collect();
            data.detail = Detail::IntCompare(predicate);
        }
        func.map_values(|value| replacements.get(&value).copied().unwrap_or(value));
        Some(())
    }
}

/// Adds a parameter to a divided kernel, and lets work-items do nothing whose index is not below it.
pub(super) fn bounded(kernel: &Function, radices: &[IndexExtent]) -> Option<Function> {
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
