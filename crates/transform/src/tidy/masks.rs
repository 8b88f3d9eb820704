//! Simplifies mask operations. A defined result implies defined operands, so an operand may replace it.

use heddle_ir::{Function, Inst, Type, Value};

use super::{choice, is_bool, negated};

/// Operand that a select is equal to.
pub(super) fn select(func: &Function, inst: Inst) -> Option<Value> {
    let &[mask, then, otherwise] = &func.inst(inst).args[..] else { return None };
    if is_bool(func, mask, true) || then == otherwise {
        return Some(then);
    }
    if is_bool(func, mask, false) {
        return Some(otherwise);
    }
    let is_mask = func.value_type(then) == Type::I1;
    (is_mask && is_bool(func, then, true) && is_bool(func, otherwise, false)).then_some(mask)
}

/// Operand that an `or` is equal to, or the predicate of the block whose two edges it joins.
pub(super) fn or(func: &mut Function, inst: Inst) -> Option<Value> {
    let &[a, b] = &func.inst(inst).args[..] else { return None };
    if func.value_type(a) != Type::I1 {
        return None;
    }
    if a == b || is_bool(func, b, false) || is_bool(func, a, true) {
        return Some(a);
    }
    if is_bool(func, a, false) || is_bool(func, b, true) {
        return Some(b);
    }
    if are_opposite(func, a, b) {
        return Some(func.make_bool(true));
    }
    let edge = |value| choice(func, value).filter(|&[_, _, otherwise]| is_bool(func, otherwise, false));
    match (edge(a), edge(b)) {
        // m or (m and c)
        (Some([parent, ..]), _) if parent == b => Some(b),
        (_, Some([parent, ..])) if parent == a => Some(a),
        (Some([p, c, _]), Some([q, d, _])) if p == q && are_opposite(func, c, d) => Some(p),
        _ => None,
    }
}

pub(super) fn and(func: &Function, inst: Inst) -> Option<Value> {
    let &[a, b] = &func.inst(inst).args[..] else { return None };
    if func.value_type(a) != Type::I1 {
        return None;
    }
    if a == b || is_bool(func, b, true) || is_bool(func, a, false) {
        return Some(a);
    }
    (is_bool(func, a, true) || is_bool(func, b, false)).then_some(b)
}

pub(super) fn xor(func: &Function, inst: Inst) -> Option<Value> {
    let &[a, b] = &func.inst(inst).args[..] else { return None };
    if func.value_type(a) != Type::I1 {
        return None;
    }
    if is_bool(func, b, true) {
        return negated(func, a);
    }
    is_bool(func, b, false).then_some(a)
}

fn are_opposite(func: &Function, a: Value, b: Value) -> bool {
    negated(func, a) == Some(b) || negated(func, b) == Some(a)
}
