//! Simplifies selects and φs.

use heddle_analysis::DominatorTree;
use heddle_ir::{Block, Constant, Function, Inst, Op, Value};

use super::{choice, is_bool, negated};

/// Simplifies the operands of a select: an arm that selects by the same mask, and a negated mask.
pub(super) fn simplify_arms(func: &mut Function, inst: Inst) -> bool {
    if func.inst(inst).op != Op::Select {
        return false;
    }
    let &[mut mask, mut then, mut otherwise] = &func.inst(inst).args[..] else { return false };
    let before = [mask, then, otherwise];
    // Masks of edges keep their form: the simplification of `or` matches it.
    if let Some(positive) = negated(func, mask).filter(|_| !is_bool(func, otherwise, false)) {
        (mask, then, otherwise) = (positive, otherwise, then);
    }
    if let Some([_, inner, _]) = choice(func, then).filter(|arm| arm[0] == mask) {
        then = inner;
    }
    if let Some([_, _, inner]) = choice(func, otherwise).filter(|arm| arm[0] == mask) {
        otherwise = inner;
    }
    let after = [mask, then, otherwise];
    func.inst_mut(inst).args.copy_from_slice(&after);
    before != after
}

/// Single value of a φ, other than itself and poison.
pub(super) fn only_value(
    func: &Function,
    dominators: &DominatorTree,
    block: Block,
    phi: Inst,
) -> Option<Value> {
    let data = func.inst(phi);
    let own = func.results(phi)[0];
    if data.shadow().is_some() {
        return None;
    }
    let is_poison = |value: Value| matches!(func.constant(value), Some(Constant::Poison(_)));
    let mut values =
        data.incoming().map(|(_, value)| value).filter(|&value| value != own && !is_poison(value));
    let first = values.next()?;
    let definition = func.def_inst(first).and_then(|inst| func.layout.block_of(inst));
    let is_available = definition.is_none_or(|above| dominators.strictly_dominates(above, block));
    (values.all(|value| value == first) && is_available).then_some(first)
}
