//! Sums and products of the indices along dimensions, each index once.
//!
//! ```text
//!     ((i - b) + (b - q) * w) * c + q     where i = q * w + x, q = b * c + h     x * c + h + b * (w * c)
//! ```
//!
//! Compilers factor what an address has in common, before its indices are known to be digits of one number.
//!
//! Parts that were computed in 32 bits, and do not wrap there, count as sums of 64 bits where such a sum has their index, too.
//!
//! Ensures: the same numbers, modulo 2 to their width. An expression that had an index more than once is a sum of products of one each.

use super::index_extents::{is_index, queried};
use super::insts_of;
use crate::widen::AddressPolynomial;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::Detail;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Function, Op, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Values and a number whose product is part of what an index is multiplied by.
type IndexFactor = (SmallVec<[Value; 2]>, u64);

/// Maximum number of operations of an expression that are counted.
const MOST_OPERATIONS: usize = 64;

/// True for the index along a dimension.
fn is_dimension(func: &Function, value: Value) -> bool {
    let Some(data) = func.def_inst(value).map(|inst| func.inst(inst)) else { return false };
    match (data.op, &data.args[..]) {
        (Op::Trunc, &[number]) => is_dimension(func, number),
        (Op::GlobalId, _) => matches!(data.detail, Detail::Dimension(Some(_))),
        _ => false,
    }
}

/// Operands of an operation that an expression consists of.
fn operands(func: &Function, value: Value) -> Option<&[Value]> {
    let data = func.inst(func.def_inst(value)?);
    let is_part =
        matches!(data.op, Op::Add | Op::Sub | Op::Mul | Op::Shl) && is_index(func.value_type(value));
    is_part.then_some(&data.args[..])
}

/// Adds how often an expression names indices along dimensions.
fn count_indices(func: &Function, value: Value, operations: &mut usize, count: &mut usize) {
    *operations += 1;
    match operands(func, value) {
        Some(parts) if *operations < MOST_OPERATIONS => {
            parts.iter().for_each(|&part| count_indices(func, part, operations, count));
        }
        _ => *count += usize::from(is_dimension(func, value)),
    }
}

/// Operands of a sum or product of 32 bits that does not wrap around as an unsigned number.
fn narrow_operands(func: &Function, value: Value) -> Option<[Value; 2]> {
    let data = func.inst(func.def_inst(value)?);
    let is_whole = matches!(data.op, Op::Add | Op::Mul) && data.flags.has(Flag::Nuw);
    (is_whole && func.value_type(value) == Type::I32).then(|| [data.args[0], data.args[1]])
}

/// Number that an extended one is, in 32 bits.
fn extended(func: &Function, value: Value) -> Option<Value> {
    let data = func.inst(func.def_inst(value)?);
    (data.op == Op::Zext && narrow_operands(func, data.args[0]).is_some()).then(|| data.args[0])
}

/// Adds the indices of an expression: their dimensions. `extensions` are its parts of 32 bits.
fn find_indices(func: &Function, value: Value, dimensions: &mut Vec<u8>, extensions: &mut Vec<Value>) {
    if dimensions.len() + extensions.len() >= MOST_OPERATIONS {
        return;
    }
    if let Some(narrow) = extended(func, value) {
        extensions.push(value);
        return find_indices(func, narrow, dimensions, extensions);
    }
    let narrow = narrow_operands(func, value);
    let parts = narrow.as_ref().map(|parts| &parts[..]).or_else(|| operands(func, value));
    match parts {
        Some(parts) => {
            parts.iter().for_each(|&part| find_indices(func, part, dimensions, extensions));
        }
        None => dimensions.extend(queried(func, value, Op::GlobalId)),
    }
}

/// Computes a number of 32 bits in 64 bits. Indices along dimensions are below 2³¹.
fn widen(func: &mut Function, value: Value, at: InsertPoint) -> Value {
    if let Some(parts) = narrow_operands(func, value)
        && let Some(op) = func.def_inst(value).map(|inst| func.inst(inst).op)
    {
        let parts = parts.map(|part| widen(func, part, at));
        return Builder::new(func, at).op_with(op, &parts, Flags::of(&[Flag::Nuw, Flag::Nsw]));
    }
    let whole = func.def_inst(value).map(|inst| func.inst(inst)).filter(|data| data.op == Op::Trunc);
    match whole.map(|data| data.args[0]).filter(|&whole| is_dimension(func, whole)) {
        Some(whole) if func.value_type(whole) == Type::I64 => whole,
        _ => Builder::new(func, at).op_to(Op::Zext, Type::I64, &[value]),
    }
}

/// Computes parts of expressions in 64 bits that other parts have the same indices as.
fn widen_parts(func: &mut Function) {
    let mut is_changed = false;
    for value in insts_of(func).into_iter().filter_map(|inst| func.result(inst)).collect::<Vec<_>>() {
        if func.value_type(value) != Type::I64 || operands(func, value).is_none() {
            continue;
        }
        let (mut dimensions, mut extensions) = (Vec::new(), Vec::new());
        find_indices(func, value, &mut dimensions, &mut extensions);
        let count = dimensions.len();
        dimensions.sort_unstable();
        dimensions.dedup();
        if extensions.is_empty() || dimensions.len() == count {
            continue;
        }
        for extension in extensions {
            let Some(inst) = func.def_inst(extension) else { continue };
            let Some(narrow) = extended(func, extension) else { continue };
            let wide = widen(func, narrow, InsertPoint::Before(inst));
            func.map_values(|value| if value == extension { wide } else { value });
            is_changed = true;
        }
    }
    if is_changed {
        // Extensions of one parameter become one factor.
        crate::simplify(func);
    }
}

/// Rewrites the expressions of a kernel that have an index more than once.
pub(super) fn linearize(func: &mut Function) {
    widen_parts(func);
    let insts = insts_of(func).into_iter();
    let is_part = |inst| func.result(inst).is_some_and(|it| operands(func, it).is_some());
    let outer = insts.filter(|&inst| !is_part(inst));
    let used: Vec<Value> = outer.flat_map(|inst| func.inst(inst).args.iter().copied()).collect();
    let mut replacements: FxHashMap<Value, Value> = FxHashMap::default();
    for value in used {
        if operands(func, value).is_none() || replacements.contains_key(&value) {
            continue;
        }
        let mut before = 0;
        count_indices(func, value, &mut 0, &mut before);
        let expression = AddressPolynomial::new(func, value);
        let indices = |factors: &[Value]| factors.iter().filter(|&&it| is_dimension(func, it)).count();
        let counts: Vec<usize> = expression.terms().map(|(factors, _)| indices(&factors)).collect();
        let is_linear = counts.iter().all(|&count| count <= 1);
        if is_linear
            && counts.iter().sum::<usize>() < before
            && let Some(sum) = emit(func, value, &expression)
        {
            replacements.insert(value, sum);
        }
    }
    func.map_values(|value| replacements.get(&value).copied().unwrap_or(value));
}

/// Computes an expression at its place, each index times the sum of its factors.
fn emit(func: &mut Function, value: Value, expression: &AddressPolynomial) -> Option<Value> {
    let inst = func.def_inst(value)?;
    let scalar = func.value_type(value).scalar();
    let mut by_index: BTreeMap<Option<Value>, Vec<IndexFactor>> = BTreeMap::new();
    for (factors, times) in expression.terms() {
        let (indices, others): (SmallVec<[Value; 2]>, SmallVec<[Value; 2]>) =
            factors.iter().copied().partition(|&it| is_dimension(func, it));
        by_index.entry(indices.first().copied()).or_default().push((others, times));
    }
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    let mut sum = None;
    for (index, products) in by_index {
        let mut factor = None;
        for (values, times) in products {
            let times = builder.int(scalar, i128::from(times as i64));
            let is_one = builder.func.unsigned_constant(times) == Some(1);
            let first = (!is_one || values.is_empty()).then_some(times);
            let product = values.into_iter().fold(first, |product, value| {
                Some(product.map_or(value, |product| builder.op(Op::Mul, &[product, value])))
            })?;
            factor = Some(factor.map_or(product, |factor| builder.op(Op::Add, &[factor, product])));
        }
        let factor = factor?;
        let is_one = builder.func.unsigned_constant(factor) == Some(1);
        let term = match index {
            Some(index) if is_one => index,
            Some(index) => builder.op(Op::Mul, &[index, factor]),
            None => factor,
        };
        sum = Some(sum.map_or(term, |sum| builder.op(Op::Add, &[sum, term])));
    }
    Some(sum.unwrap_or_else(|| builder.int(scalar, 0)))
}
