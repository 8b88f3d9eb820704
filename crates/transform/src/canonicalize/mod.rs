//! Brings a function into the form that the later passes start from.
//!
//! Requires: Stage::Source.  Ensures: Stage::Canonical.
//! Invariant: blocks keep their names, and instructions stay where they are, once each; what is new is empty blocks,
//! branches, comparisons and φs.
//!
//! Why lanes that ran together still do (design §4.5: what the result does, its source does under some legal greedy
//! schedule). Take any greedy schedule of the result and leave out the new blocks; it is to be one of the source.
//! A new block stands on edges that exist or on the way from one branch to its targets; nothing happens in it, and it
//! leads, going forward, exactly where the edges on which it stands led. So a lane in it holds up the same blocks that
//! it held up in the source, where it already stood at the block behind; and the block behind runs only when the new
//! block is empty, so no lane comes late that would have been in time. Which of two blocks that do not wait for each
//! other goes first may come out differently, which a greedy schedule is free to choose.
//!
//! Two conventions of the oracle make this exact. Lanes on an edge back to a loop's header wait until the rest of
//! their iteration is over, as if all such edges went through one latch: `loop_form` then adds that latch and changes
//! nothing. And an irreducible cycle stands for its dispatch-header form: `dispatch` writes it down. Under a block
//! predicate, lanes that pass a branch passively follow one of the active lanes, here as there.
//!
//! Predicates are kept where they are, although stage Canonical has none: a source with predicates gets the form
//! of Canonical, but for that, and the pipeline refuses it.

pub(crate) mod critical_edges;
pub(crate) mod dispatch;
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
    for step in [dispatch::make_reducible, loop_form::dedicate_exits, loop_form::isolate_headers] {
        if step(func, &flow) {
            flow = CfgAnalyses::new(func);
        }
    }
    lcssa::close_loops(func, &flow);
}
