//! Divergence analysis by gated SSA. The condition of a divergent branch becomes an operand of the φs at the branch's
//! immediate post-dominator, and of values from the influence region that are used after it. The rest is reachability.
//!
//! ```text
//!     branch p      influence region: all blocks on paths from the branch to its immediate post-dominator; the whole loop
//!      /    \       if a path from the branch leads to the next iteration
//!     a      b
//!      \    /
//!     x = φ(a, b), p        and v' = φ(v, v), p for each v from the region that is used after it
//! ```
//!
//! After: Coutinho, Sampaio, Quintão Pereira, Meira, *Divergence Analysis and Optimizations*, PACT 2011, section III,
//! Theorem 3.3 and Fig. 7. Uses after the region count as renamed, instead of a rewrite of the function. Literally, Fig. 7
//! gates a φ only for operands defined in the region; the text says *every* φ at the post-dominator. Implemented here: φs
//! with an operand from the region, or with different operands on edges from it.
//!
//! Unsound: the paper's machine reconverges at immediate post-dominators only. Where lanes meet earlier (in unstructured
//! control flow, at one of several loop exits), φs and values from different iterations count as uniform. A branch without
//! a post-dominator has no effect. Imprecise: every φ at the post-dominator that reads from the region varies, even if a
//! uniform branch decides it.

use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function, Op, Value};

use super::{BaselineResult, VaryingMarks, propagate};
use crate::control_tables::ControlTables;
use crate::divergence::InitialShapes;
use crate::dominators::PostDominatorTree;

/// Computes data and sync dependence, with joins at immediate post-dominators only.
pub fn coutinho(func: &Function, control: &ControlTables, initial: &InitialShapes) -> BaselineResult {
    let post_dominators = PostDominatorTree::new(&control.cfg);
    propagate(func, control, initial, |marks, branch| {
        if let Some(meeting) = post_dominators.ipdom(branch) {
            gate(marks, control, branch, meeting);
        }
    })
}

/// Returns the blocks on paths from a branch to its immediate post-dominator, without the latter. The branch's block is
/// one of them if a path leads back to it.
fn influence_region(control: &ControlTables, branch: Block, meeting: Block) -> EntitySet<Block> {
    let mut region = EntitySet::new();
    let mut work = vec![branch];
    while let Some(block) = work.pop() {
        for &succ in control.cfg.succs(block) {
            if succ != meeting && region.insert(succ) {
                work.push(succ);
            }
        }
    }
    region
}

fn gate(marks: &mut VaryingMarks<'_>, control: &ControlTables, branch: Block, meeting: Block) {
    let func = marks.func;
    let region = influence_region(control, branch, meeting);
    let is_defined_inside = |value: Value| {
        let block = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
        block.is_some_and(|block| region.contains(block))
    };
    // Step 1.a.
    for phi in func.phis(meeting) {
        let data = func.inst(phi);
        let from_region = data.incoming().filter(|(from, _)| *from == branch || region.contains(*from));
        let mut values: Vec<Value> = from_region.map(|(_, value)| value).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > 1 || values.iter().any(|&value| is_defined_inside(value)) {
            marks.mark_results(phi);
        }
    }
    // Step 1.b.
    for block in region.iter() {
        for inst in func.block_insts(block) {
            for &value in func.results(inst) {
                for at in 0..marks.uses.of(value).len() {
                    let user = marks.uses.of(value)[at];
                    let used_in = func.layout.block_of(user).expect("a user is in a block");
                    let data = func.inst(user);
                    let is_behind = |place: Block| control.dominators.dominates(meeting, place);
                    let sees = match data.op == Op::Phi {
                        true => data.incoming().any(|(from, it)| it == value && is_behind(from)),
                        false => is_behind(used_in),
                    };
                    if sees {
                        marks.mark_use(user, value);
                    }
                }
            }
        }
    }
}
