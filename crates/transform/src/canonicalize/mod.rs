//! Brings a function into canonical form, from which later passes start.
//!
//! Requires: Stage::Source.  Ensures: Stage::Canonical.
//! Invariant: blocks keep their names, and instructions keep their places, once each. New are empty blocks, branches,
//! comparisons and φs.
//!
//! Lanes that ran together still do (design §4.5: the result refines its source under some legal greedy schedule).
//! Proof: take any greedy schedule of the result and leave out the new blocks; it must be one of the source. A new block is
//! on existing edges, or between a branch and its targets. It is empty, and its forward successors are those of the edges
//! that it is on. So a lane in it blocks the same blocks as in the source, where it was already at the successor. The
//! successor runs only when the new block is empty, so no lane is late that was in time before. Of two blocks that do not
//! wait for each other, either may run first; a greedy schedule is free to choose.
//!
//! Two conventions of the oracle make this exact. First, lanes on a back edge wait for the rest of their iteration, as if
//! all back edges shared a latch: `loop_form` adds that latch and changes nothing. Second, an irreducible cycle denotes
//! its form with a dispatch header: `irreducible` makes it explicit. Under a block predicate, lanes that pass a branch
//! passively follow one of the active lanes, in source and result alike.
//!
//! Predicates are kept, although stage Canonical has none: a source with predicates gets the canonical form
//! otherwise, and the pipeline refuses it.

pub(crate) mod critical_edges;
pub(crate) mod irreducible;
pub(crate) mod lcssa;
pub(crate) mod loop_form;
pub(crate) mod returns;
pub(crate) mod switches;
pub(crate) mod unreachable;

pub use critical_edges::split_critical_edges;

use heddle_ir::Function;

use crate::cfg_analyses::CfgAnalyses;

/// Brings a function to stage Canonical.
pub fn canonicalize(func: &mut Function) {
    unreachable::remove_unreachable(func);
    switches::lower_switches(func);
    returns::unify_returns(func);
    let mut flow = CfgAnalyses::new(func);
    for step in [irreducible::make_reducible, loop_form::dedicate_exits, loop_form::isolate_headers] {
        if step(func, &flow) {
            flow = CfgAnalyses::new(func);
        }
    }
    lcssa::close_loops(func, &flow);
}
