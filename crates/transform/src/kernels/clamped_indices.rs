//! Clamped indices: `x = min(global_id, w - 1)` or `x < w ? x : w - 1` instead of a guard.
//!
//! Work-items from w on do again what number w - 1 does. Where a kernel only stores, once is enough: what one of them stores, another one may
//! not read, since nothing orders them.
//!
//! Ensures: the kernel does the same in launches that end at the bounds.

use super::index_extents::{IndexExtent, is_index, successor};
use super::index_guard::{IndexBounds, bound};
use super::insts_of;
use crate::simplify::dead::has_effects;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::{Function, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// True if a work-item may do this again without another effect.
fn is_repeatable(func: &Function, data: &InstData) -> bool {
    !has_effects(func, data) || data.op.is_terminator() || data.op == Op::Store && !data.is_ordered()
}

/// Values that are the index along a dimension: converted, or at least 0, as all indices are.
fn indices(func: &Function, dimension: u8) -> FxHashSet<Value> {
    let mut indices = FxHashSet::default();
    loop {
        let before = indices.len();
        for inst in insts_of(func) {
            let data = func.inst(inst);
            let is_zero = |value: Value| func.unsigned_constant(value) == Some(0);
            let is_index_again = match (data.op, &data.args[..]) {
                (Op::GlobalId, _) => data.detail == Detail::Dimension(Some(dimension)),
                (Op::Trunc | Op::Sext | Op::Zext | Op::Freeze, number) => indices.contains(&number[0]),
                (Op::Smax, &[number, least]) => indices.contains(&number) && is_zero(least),
                _ => false,
            };
            let result = func.result(inst).filter(|&it| is_index_again && is_index(func.value_type(it)));
            indices.extend(result);
        }
        if indices.len() == before {
            return indices;
        }
    }
}

/// Returns the index that an instruction clamps, and the number of different results; none if it does not clamp one.
fn clamp(
    func: &Function,
    data: &InstData,
    dimension: u8,
    indices: &FxHashSet<Value>,
) -> Option<(Value, IndexExtent)> {
    let is_index = |value: &Value| indices.contains(value);
    match (data.op, &data.args[..]) {
        (Op::Smin | Op::Umin, &[one, other]) => {
            let (index, last) = if is_index(&one) { (one, other) } else { (other, one) };
            Some((index, successor(func, last)?))
        }
        (Op::Select, &[condition, then, otherwise]) => {
            let holds = is_index(&then);
            let (index, last) = if holds { (then, otherwise) } else { (otherwise, then) };
            let (compared, end) = bound(func, condition, holds)?;
            (compared == dimension && successor(func, last)? == end).then_some((index, end))
        }
        _ => None,
    }
}

/// Returns the values that clamp the index along a dimension, each with the index, and the number of different ones; none if the index is used
/// otherwise.
fn clamps(func: &Function, dimension: u8) -> Option<(FxHashMap<Value, Value>, IndexExtent)> {
    let indices = indices(func, dimension);
    let (mut clamped, mut last) = (FxHashMap::default(), None);
    let (mut comparisons, mut compared) = (FxHashSet::default(), FxHashSet::default());
    for inst in insts_of(func) {
        let data = func.inst(inst);
        let result = func.result(inst);
        let is_clamp = data.args.iter().any(|arg| indices.contains(arg));
        if !is_clamp {
            // A condition that clamps does nothing else.
            compared.extend(data.args.iter().copied());
            continue;
        }
        let result = result?;
        if indices.contains(&result) {
            continue;
        }
        if data.op == Op::Icmp {
            comparisons.insert(result);
            continue;
        }
        let (index, end) = clamp(func, data, dimension, &indices)?;
        if last.get_or_insert_with(|| end.clone()) != &end {
            return None;
        }
        clamped.insert(result, index);
    }
    comparisons.is_disjoint(&compared).then(|| Some((clamped, last?)))?
}

/// Removes the clamps of indices without bounds. Adds their ends.
pub(super) fn remove_clamps(func: &mut Function, bounds: &mut IndexBounds) {
    if !insts_of(func).into_iter().all(|inst| is_repeatable(func, func.inst(inst))) {
        return;
    }
    for (dimension, bound) in (0..).zip(bounds).filter(|(_, bound)| bound.is_none()) {
        if let Some((clamped, end)) = clamps(func, dimension) {
            func.map_values(|value| clamped.get(&value).copied().unwrap_or(value));
            *bound = Some(end);
        }
    }
}
