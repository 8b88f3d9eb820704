//! Repairs uses that their definitions no longer dominate.
//!
//! Linearization preserves dominance on graphs with one exit. A dead end gets a successor, so a path may bypass a
//! definition that dominated the successor before. No active lane takes that path, so the value is poison there.

use heddle_analysis::{Cfg, DominatorTree};
use heddle_ir::Function;

use crate::ssa_repair::{SsaRepair, find_broken_uses};

/// Inserts φs for uses that their definitions don't dominate.
pub(super) fn restore_dominance(func: &mut Function) {
    let cfg = Cfg::new(func);
    let dominators = DominatorTree::new(&cfg);
    let cut_off = find_broken_uses(func, &dominators, func.blocks(), |block| block);
    if cut_off.is_empty() {
        return;
    }
    let repair = SsaRepair::new(&cfg, &dominators);
    for (value, (definition, reads)) in cut_off {
        let poison = func.make_poison(func.value_type(value));
        repair.rename(func, &[(func.entry(), poison), (definition, value)], &reads);
    }
}
