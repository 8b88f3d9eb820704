//! Makes a function smaller without changing what it does: constants, copies, repetitions, dead code, dead branches.
//!
//! Requires: Stage::Source or Stage::Canonical (values of passive lanes are frozen), or Stage::Wide (one thread; what holds in
//! every lane of a vector is folded).  Ensures: the same stage.
//! Invariant: horizontals, barriers and `mask` are never moved or merged, and run with the lanes that they ran with:
//! blocks stay apart, and an edge that no lane takes goes only where that changes neither which lanes meet nor which
//! block waits for which (`branches`). So every schedule of the result is one of the source.
//!
//! The replacement of a value by one that dominates it is right lane by lane: a lane that reads it has run both
//! definitions, the replaced one last, and nothing that they depend on has run since without running them again.
//! The form of Canonical stays: cycles keep their blocks, and closed loops are kept closed. For the stages between this pass is
//! too bold but for functions with `total` instructions or shadows, where it replaces by constants only.

pub(crate) mod branches;
pub(crate) mod dead;
mod floats;
pub(crate) mod fold;
pub(crate) mod values;
mod votes;

use heddle_analysis::CycleForest;
use heddle_ir::Function;

use crate::canonicalize::{lcssa, unreachable};
use crate::cfg_analyses::CfgAnalyses;

/// The most rounds; each costs linear time. A round is repeated for what the last one uncovered, mostly once.
const MAX_ROUNDS: usize = 16;

/// What may not take the place of a value.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// What would be read outside of the loop that defines it: loops are closed.
    keep_closed: bool,
    /// What is no constant: lanes read what they did not compute.
    constants_only: bool,
}

impl Limits {
    fn new(func: &Function, forest: &CycleForest) -> Limits {
        let mut limits = Limits { keep_closed: true, constants_only: false };
        // Block by block, so that a large function comes by once.
        for block in func.blocks() {
            limits.keep_closed = limits.keep_closed && lcssa::is_block_closed(func, forest, block);
            limits.constants_only |= values::sees_passive_lanes(func, block);
        }
        limits
    }
}

/// Simplifies a function; tells whether anything changed.
pub fn simplify(func: &mut Function) -> bool {
    let mut flow = CfgAnalyses::new(func);
    let mut limits = Limits::new(func, flow.forest());
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
        // What passive lanes were to see may be gone by now.
        limits.constants_only =
            limits.constants_only && func.blocks().any(|block| values::sees_passive_lanes(func, block));
        let replaced = values::replace_values(func, &flow, limits);
        let removed = dead::remove_dead(func);
        changed |= straightened || replaced.any || removed;
        if !straightened && !replaced.is_late && !replaced.branches_change {
            break;
        }
        may_replace = replaced.is_late;
    }
    if votes::carry_votes(func, &flow) {
        dead::remove_dead(func);
        changed = true;
    }
    changed
}
