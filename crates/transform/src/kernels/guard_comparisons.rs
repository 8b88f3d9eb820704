//! Comparisons that hold in a block, since a branch before it has decided them.

use super::index_guard;
use super::index_ranges::integer_bits;
use heddle_analysis::ControlTables;
use heddle_ir::inst::Detail;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Function, Op, Value};

/// Maximum number of branches before a block that are followed.
const MOST_GUARDS: usize = 16;

/// Comparison that holds where an instruction is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GuardComparison<V> {
    pub(super) left: V,
    pub(super) predicate: IntPredicate,
    pub(super) right: V,
}

/// Returns the comparisons that hold in a block, as branches before it say.
pub(super) fn comparisons_before(
    func: &Function,
    control: &ControlTables,
    mut block: Block,
) -> Vec<GuardComparison<Value>> {
    let mut found = Vec::new();
    for _ in 0..MOST_GUARDS {
        let Some(before) = control.dominators.idom(block) else { break };
        // A loop comes back to its header.
        let is_only = |&pred: &Block| pred == before || control.dominators.dominates(block, pred);
        let branch = func.terminator(before).map(|inst| func.inst(inst));
        if let Some(branch) = branch
            && let (Op::Br, &[condition], &[then, otherwise]) =
                (branch.op, &branch.args[..], branch.targets())
            && then != otherwise
            && control.cfg.preds(block).iter().all(is_only)
        {
            let holds = then == block;
            for comparison in index_guard::parts(func, condition, holds) {
                let data = func.def_inst(comparison).map(|inst| func.inst(inst));
                if let Some((&Detail::IntCompare(predicate), &[left, right])) =
                    data.map(|data| (&data.detail, &data.args[..]))
                    && integer_bits(func, left).is_some()
                {
                    let predicate = if holds { predicate } else { predicate.negated() };
                    found.push(GuardComparison { left, predicate, right });
                }
            }
        }
        block = before;
    }
    found
}
