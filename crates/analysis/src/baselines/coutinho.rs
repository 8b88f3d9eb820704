//! Divergence analysis by gated SSA: where lanes may part, the branch's condition becomes an operand of the φs at the
//! branch's immediate post-dominator, and of what is computed in between and used behind it. The rest is reachability.
//!
//! ```text
//!     branch p      influence region: all on paths from the branch to its immediate post-dominator,
//!      /    \       that is the whole loop if the branch goes round one
//!     a      b
//!      \    /
//!     x = φ(a, b), p        and v' = φ(v, v), p for each v from the region that is used behind
//! ```
//!
//! After: Coutinho, Sampaio, Quintão Pereira, Meira, *Divergence UniformityAnalysis and Optimizations*, PACT 2011, section III,
//! Theorem 3.3 and Fig. 7. Instead of rewriting the function, uses behind the region count as renamed. By its letter Fig. 7
//! gates a φ only for operands defined in the region; the text says *every* φ at the post-dominator. Taken here: a φ
//! with an operand from the region, or with different operands along edges from it.
//!
//! Where it is wrong: its machine lets lanes meet at immediate post-dominators only. Where they meet before (out of
//! structured control flow, at one of several exits of a loop), φs and values from different rounds of the loop are
//! taken for uniform. And a branch without a post-dominator has no effect. Where it is coarse: every φ at the
//! post-dominator varies that reads from the region, whichever branch decides.

use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function, Op, Value};

use super::{BaselineResult, VaryingMarks, propagate};
use crate::control_tables::ControlTables;
use crate::divergence::InitialShapes;
use crate::dominators::PostDominatorTree;

/// What varies by data and sync dependence, if lanes meet at immediate post-dominators.
pub fn coutinho(func: &Function, control: &ControlTables, initial: &InitialShapes) -> BaselineResult {
    let post_dominators = PostDominatorTree::new(&control.cfg);
    propagate(func, control, initial, |marks, branch| {
        if let Some(meeting) = post_dominators.ipdom(branch) {
            gate(marks, control, branch, meeting);
        }
    })
}

/// The blocks on paths from a branch to its immediate post-dominator, without the latter. The branch's own block is
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
            marks.vary_results(phi);
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
                        marks.vary_use(user, value);
                    }
                }
            }
        }
    }
}
