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

use heddle_ir::Function;

use crate::canonicalize::{lcssa, unreachable};

/// The most rounds; each costs linear time. A round is repeated for what the last one uncovered, mostly once.
const MAX_ROUNDS: usize = 16;

/// Simplifies a function; tells whether anything changed.
pub fn simplify(func: &mut Function) -> bool {
    let is_closed = lcssa::is_closed(func);
    let mut changed = false;
    let mut may_replace = true;
    for _ in 0..MAX_ROUNDS {
        let straightened = branches::straighten(func);
        if straightened {
            unreachable::remove_unreachable(func);
        } else if !may_replace {
            break;
        }
        let replaced = values::replace_values(func, is_closed);
        let removed = dead::remove_dead(func);
        changed |= straightened || replaced.any || removed;
        if !straightened && !replaced.is_late && !replaced.branches_change {
            break;
        }
        may_replace = replaced.is_late;
    }
    changed
}
