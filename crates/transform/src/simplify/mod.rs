//! Simplifies a function: constant folding, copy propagation, common subexpressions, dead code, dead branches,
//! nested selects of vectors.
//!
//! Requires: Stage::Source or Stage::Canonical (values of passive lanes are frozen), or Stage::Wide (a single thread; vectors
//! fold where all lanes do).  Ensures: the same stage.
//! Invariant: horizontals, barriers and `mask` are neither moved nor merged, and execute with the same lanes as before. Blocks are
//! not merged, and a dead edge is removed only if neither the lanes that meet nor the waiting relations of blocks
//! change (`branches`). So every schedule of the result is one of the source.
//!
//! Replacing a value by one that dominates it is correct for each lane: a lane that reads it has executed both
//! definitions, the replaced one last, and their operands have not been recomputed since without them.
//! Canonical form is kept: cycles keep their blocks, and LCSSA form is preserved. At the stages between, the pass is too
//! aggressive except for functions with `total` instructions or shadows, where it replaces by constants only.

pub(crate) mod branches;
pub(crate) mod dead;
mod floats;
pub(crate) mod fold;
mod nested_selects;
pub(crate) mod values;
mod votes;

use heddle_analysis::CycleForest;
use heddle_ir::Function;

use crate::canonicalize::{lcssa, unreachable};
use crate::cfg_analyses::CfgAnalyses;

/// Maximum number of rounds, each in linear time. A further round handles what the previous one uncovered; mostly one suffices.
const MAX_ROUNDS: usize = 16;

/// Restrictions on replacement values.
#[derive(Clone, Copy, Debug)]
struct ReplacementLimits {
    /// Preserves LCSSA form: no use outside of the loop that defines the value.
    preserve_lcssa: bool,
    /// Allows constants only: lanes read values that they did not compute.
    constants_only: bool,
}

impl ReplacementLimits {
    fn new(func: &Function, forest: &CycleForest) -> ReplacementLimits {
        let mut limits = ReplacementLimits { preserve_lcssa: true, constants_only: false };
        // Block by block, so that a large function is traversed only once.
        for block in func.blocks() {
            limits.preserve_lcssa = limits.preserve_lcssa && lcssa::is_block_closed(func, forest, block);
            limits.constants_only |= values::observes_passive_lanes(func, block);
        }
        limits
    }
}

/// Simplifies a function. Returns true if anything changed.
pub fn simplify(func: &mut Function) -> bool {
    let mut flow = CfgAnalyses::new(func);
    let mut limits = ReplacementLimits::new(func, flow.forest());
    let mut changed = false;
    let mut may_replace = true;
    for _ in 0..MAX_ROUNDS {
        let straightened = branches::straighten(func, &flow);
        if straightened {
            unreachable::remove_unreachable(func);
            flow = CfgAnalyses::new(func);
        } else if !may_replace {
            break;
        }
        // The observers of passive lanes may be gone by now.
        limits.constants_only =
            limits.constants_only && func.blocks().any(|block| values::observes_passive_lanes(func, block));
        let replaced = values::replace_values(func, &flow, limits);
        let removed = dead::remove_dead(func);
        changed |= straightened || replaced.any || removed;
        if !straightened && !replaced.may_find_more && !replaced.branches_change {
            break;
        }
        may_replace = replaced.may_find_more;
    }
    let merged = nested_selects::merge_selects(func);
    if votes::carry_votes(func, &flow) || merged {
        dead::remove_dead(func);
        changed = true;
    }
    changed
}
