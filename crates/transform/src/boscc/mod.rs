//! Guards regions against execution with an empty mask: branches on superword condition codes (BOSCC).
//!
//! Requires: Stage::Uniform.  Ensures: Stage::Uniform; after linearization, each block in the result and all that it
//! dominates run only if a lane is active there.
//! Invariants: no code is duplicated; blocks keep their names and instructions. New are `any`, `all`, `mask`, branches
//! and their blocks. No lane computes anything else than before.
//! After: Moll, The Region Vectorizer, 9.2. Differs in: an arm may be guarded from either side; a block that is no arm,
//! or the second arm of a branch, is guarded by a vote on its own mask.
//!
//! An *arm* is the only-predecessor target of a divergent branch. The vote precedes the branch, so that a skipped arm
//! needs no mask:
//!
//! ```text
//!     A: …                          A: …; v9 = any v5          for the other target: v9 = all v5
//!        br v5, B, C                   br v9, N, C                                   br v9, C, N
//!                                   N: br v5, B, C             divergent, as before
//! ```
//!
//! The new branch is uniform and N dominates B. So linearization keeps the branch (Theorem 5), and it skips all that B
//! dominates. Seen from C this is the all-true guard: if *all* lanes go to C, nothing of B runs. Of the two arms of a
//! branch, the one that is more likely empty is guarded like this, and it comes first in linear code. The other arm
//! follows it, so it gets a vote of its own, as does a block with several predecessors:
//!
//! ```text
//!     M: v7 = mask                  never empty before linearization, maybe empty after it
//!        v8 = any v7 total
//!        br v8, B, J                J: where all lanes of B continue; not dominated by B
//! ```
//!
//! With an empty mask only `total` values are defined. If A may run with an empty mask, its vote is therefore `total`,
//! on `select mask, v5, false`; vector code is the same.
//!
//! Guards nest: each is an edit of one branch, and an inner vote runs only if the outer one was not empty. A cascade of
//! tests thus has its most biased test before all others.
//!
//! Where a factor of the condition is uniform, no vote is needed to branch on it (`uniform_factors`).
//!
//! `model` places guards by the cost of a region, its probability of being empty, and the cost of a guard. Barriers and
//! `total` instructions with effects must not run with an empty mask; they are always guarded.

mod gadget;
mod likelihood;
mod model;
mod uniform_factors;

use std::collections::BTreeMap;

use heddle_analysis::{ControlDependence, ControlTables, Edge, PostDominatorTree};
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function, InstData, Op};
use heddle_ir::{Code, Diagnostic};

use crate::linearize::iteration_graph;
use crate::linearize::refusal::{lane_source, requires_lane};
use gadget::GuardEditor;
use model::GuardCostModel;
pub use uniform_factors::{guard_by_uniform_factors, has_factors};

/// Policy for guards without an explicit request.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum GuardPolicy {
    /// Where the cost model predicts a gain.
    #[default]
    Model,
    /// Wherever it is possible.
    Force,
    /// Only where something must not run with an empty mask.
    Needed,
}

/// Explicit request for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuardRequest {
    /// Skip the block if none of the lanes goes there.
    AllFalse,
    /// Skip the other arm of its branch if all lanes go to this block.
    AllTrue,
    /// Don't guard the block.
    None,
}

/// Options of guard placement.
#[derive(Clone, Debug)]
pub struct GuardOptions {
    /// Policy for blocks without a request.
    pub policy: GuardPolicy,
    /// Vector registers that a 32-bit value of a brush fills.
    pub registers: u32,
    /// Requests by block.
    pub requests: BTreeMap<Block, GuardRequest>,
    /// Profiled fraction of visits with no active lane on each edge, by branching block.
    pub untaken: BTreeMap<Block, [f64; 2]>,
}

impl Default for GuardOptions {
    fn default() -> GuardOptions {
        GuardOptions {
            policy: GuardPolicy::default(),
            registers: 1,
            requests: BTreeMap::new(),
            untaken: BTreeMap::new(),
        }
    }
}

/// Placement of a guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GuardPlacement {
    /// Before the branch of this block, for this target slot.
    Arm(Block, usize),
    /// At the block's own entry; with an empty mask control continues at this block.
    Entry(Block),
}

/// Inserts guards. `divergent` holds the blocks with divergent branches. Returns the guarded blocks, in the order of
/// the block index.
pub fn guard_regions(
    func: &mut Function,
    divergent: &EntitySet<Block>,
    options: &GuardOptions,
) -> Result<Vec<Block>, Diagnostic> {
    // Sequential code has no empty masks.
    if crate::divergent_loops::is_sequential(func) {
        return Ok(Vec::new());
    }
    let control = ControlTables::new(func);
    let post_dominators = PostDominatorTree::new(&iteration_graph(&control.cfg, &control.cycles));
    let planner = GuardPlanner { func, control: &control, post_dominators: &post_dominators, divergent };
    let plan = planner.plan(options)?;
    let occupied = planner.occupied(&plan);
    let occupied: Vec<bool> = plan
        .iter()
        .map(|(_, guard)| match guard {
            GuardPlacement::Arm(from, _) => occupied.contains(*from),
            GuardPlacement::Entry(_) => false,
        })
        .collect();
    let mut editor = GuardEditor::new(&control.cfg);
    // Arms first: guards at entries redirect the edges that these add.
    for (&(block, guard), &is_occupied) in plan.iter().zip(&occupied) {
        if let GuardPlacement::Arm(from, slot) = guard {
            editor.guard_arm(func, (from, slot), block, is_occupied);
        }
    }
    editor.finish_arms(func);
    for &(block, guard) in &plan {
        if let GuardPlacement::Entry(after) = guard {
            editor.guard_entry(func, block, after);
        }
    }
    Ok(plan.into_iter().map(|(block, _)| block).collect())
}

/// Branch and slot of which a block is the arm, if it is one.
fn arm_of(control: &ControlTables, divergent: &EntitySet<Block>, block: Block) -> Option<(Block, usize)> {
    let &[from] = control.cfg.preds(block) else { return None };
    let targets = control.cfg.succs(from);
    let slot = targets.iter().position(|&to| to == block)?;
    let is_conditional = targets.len() == 2 && targets[0] != targets[1];
    (is_conditional && divergent.contains(from)).then_some((from, slot))
}

struct GuardPlanner<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    post_dominators: &'a PostDominatorTree,
    divergent: &'a EntitySet<Block>,
}

impl GuardPlanner<'_> {
    fn plan(&self, options: &GuardOptions) -> Result<Vec<(Block, GuardPlacement)>, Diagnostic> {
        let mut forced: BTreeMap<Block, bool> = BTreeMap::new();
        // Requests apply to all functions of a module, so a block may be missing here.
        for (&block, &request) in
            options.requests.iter().filter(|(block, _)| self.control.index.number(**block).is_some())
        {
            match request {
                GuardRequest::None => _ = forced.insert(block, false),
                GuardRequest::AllFalse => _ = forced.insert(block, true),
                GuardRequest::AllTrue => _ = forced.insert(self.sibling(block)?, true),
            }
        }
        for block in self.blocks_to_guard() {
            forced.entry(block).or_insert(true);
        }
        let model = GuardCostModel::new(self.func, self.control, options);
        // The arm of each branch that is guarded before the branch.
        let mut first: BTreeMap<Block, Block> = BTreeMap::new();
        let mut guarded = Vec::new();
        for &block in self.control.index.order() {
            let arm = self.arm(block);
            let arm = arm.filter(|&(from, slot)| !self.is_already_guarded(from, slot));
            let is_chosen = match (forced.get(&block), options.policy) {
                (Some(&guarded), _) => guarded,
                (None, GuardPolicy::Needed) => false,
                (None, GuardPolicy::Force) => arm.is_some() || self.is_guardable_join(block),
                (None, GuardPolicy::Model) => arm.is_some_and(|(from, slot)| model.pays(block, from, slot)),
            };
            if !is_chosen {
                continue;
            }
            if let Some((from, slot)) = arm {
                let is_rarer = |&other: &Block| {
                    model.empty_probability(from, slot) > model.empty_probability(from, 1 - slot)
                        && other != block
                };
                let entry = first.entry(from).or_insert(block);
                if is_rarer(entry) {
                    *entry = block;
                }
            }
            guarded.push((block, arm));
        }
        let mut plan = Vec::with_capacity(guarded.len());
        for (block, arm) in guarded {
            let guard = match arm {
                Some((from, slot)) if first.get(&from) == Some(&block) => Ok(GuardPlacement::Arm(from, slot)),
                _ => self.continuation(block).map(GuardPlacement::Entry),
            };
            match guard {
                Ok(guard) => plan.push((block, guard)),
                Err(reason) if options.requests.contains_key(&block) => {
                    return Err(self.refuse(block, reason));
                }
                // Linearization diagnoses a required guard that is missing.
                Err(_) => {}
            }
        }
        Ok(plan)
    }

    /// Error: a requested guard is impossible.
    fn refuse(&self, block: Block, reason: &'static str) -> Diagnostic {
        let diagnostic = Diagnostic::error(Code::NoGuard, format!("no guard for {block}: {reason}"));
        diagnostic.of_func(&self.func.name)
    }

    fn arm(&self, block: Block) -> Option<(Block, usize)> {
        arm_of(self.control, self.divergent, block)
    }

    /// Other arm of the branch whose arm this block is.
    fn sibling(&self, block: Block) -> Result<Block, Diagnostic> {
        let from =
            self.control.cfg.preds(block).iter().copied().filter(|from| self.divergent.contains(*from));
        let mut others =
            from.flat_map(|from| self.control.cfg.succs(from)).copied().filter(|&to| to != block);
        match (others.next(), others.next()) {
            (Some(other), None) if self.arm(other).is_some() => Ok(other),
            _ => Err(self.refuse(block, "no divergent branch has another arm next to it")),
        }
    }

    /// True if the block is a join that not all lanes of its dominator reach, and that can be guarded at its entry.
    fn is_guardable_join(&self, block: Block) -> bool {
        self.control.cfg.preds(block).len() > 1
            && !self.shares_lanes(block)
            && self.continuation(block).is_ok()
    }

    fn shares_lanes(&self, block: Block) -> bool {
        let above = self.control.dominators.idom(block);
        above.is_none_or(|above| self.post_dominators.post_dominates(block, above))
    }

    /// Block in the same loop where all lanes of a block continue, outside of what it dominates.
    fn continuation(&self, block: Block) -> Result<Block, &'static str> {
        let ControlTables { cfg, cycles, dominators, .. } = self.control;
        if !cfg.is_reachable(block) || dominators.idom(block).is_none() {
            return Err("it is the entry, or unreachable");
        }
        if cycles.headed_by(block).is_some() {
            return Err("it is a loop header; guard its preheader");
        }
        if self.shares_lanes(block) {
            return Err("all lanes of the block above reach it");
        }
        let mut after = self.post_dominators.ipdom(block);
        while let Some(next) = after.filter(|&next| dominators.dominates(block, next)) {
            after = self.post_dominators.ipdom(next);
        }
        let cycle = cycles.innermost(block);
        let is_near = |next: &Block| cycles.innermost(*next) == cycle && cycles.headed_by(*next).is_none();
        after.filter(is_near).ok_or("no block after it in the same loop can be the join")
    }

    /// True if a vote already restricts a branch to the case that a lane takes this slot.
    fn is_already_guarded(&self, from: Block, slot: usize) -> bool {
        let (func, cfg) = (self.func, &self.control.cfg);
        let condition = |block| func.terminator(block).and_then(|inst| func.inst(inst).args.first().copied());
        let &[voting] = cfg.preds(from) else { return false };
        let vote = condition(voting).and_then(|value| func.def_inst(value)).map(|inst| func.inst(inst));
        let op = if slot == 0 { Op::Any } else { Op::All };
        let is_this = |data: &&InstData| data.op == op && data.args.first().copied() == condition(from);
        vote.filter(is_this).is_some() && cfg.succs(voting).get(slot) == Some(&from)
    }

    /// Blocks that never run with an empty mask after linearization, given these guards.
    fn occupied(&self, plan: &[(Block, GuardPlacement)]) -> EntitySet<Block> {
        let guarded: EntitySet<Block> = plan.iter().map(|&(block, _)| block).collect();
        let mut occupied = self.uniformly_reached();
        for &block in self.control.index.order() {
            let Some(above) = self.control.dominators.idom(block) else { continue };
            let is_occupied = guarded.contains(block)
                || self.arm(block).is_some_and(|(from, slot)| self.is_already_guarded(from, slot))
                || occupied.contains(above)
                    && (self.shares_lanes(block)
                        || self.control.cfg.preds(block) == [above] && !self.divergent.contains(above));
            if is_occupied {
                occupied.insert(block);
            }
        }
        occupied
    }

    /// Blocks that must not run with an empty mask, or the blocks that their lanes come from. The entry is never empty.
    fn blocks_to_guard(&self) -> Vec<Block> {
        let ControlTables { cfg, dominators, index, .. } = self.control;
        let requires =
            |block: &Block| self.func.block_insts(*block).any(|inst| requires_lane(self.func.inst(inst)));
        let post_dominators = PostDominatorTree::new(cfg);
        let dependence = ControlDependence::new(&post_dominators);
        let lane_source = |block| lane_source(&dependence, dominators, self.divergent, block);
        let sources = index.order().iter().copied().filter(requires).map(lane_source);
        sources.filter(|&lane_source| dominators.idom(lane_source).is_some()).collect()
    }

    /// Blocks that depend on uniform branches only.
    fn uniformly_reached(&self) -> EntitySet<Block> {
        let ControlTables { cfg, cycles, dominators, index, .. } = self.control;
        let mut uniform: EntitySet<Block> = EntitySet::new();
        for &block in index.order() {
            let is_back = |from| cycles.is_retreating(Edge { from, to: block });
            let is_uniform = match dominators.idom(block) {
                None => true,
                Some(above) if self.shares_lanes(block) => uniform.contains(above),
                Some(_) => {
                    let mut preds = cfg.preds(block).iter().filter(|&&from| !is_back(from));
                    preds.all(|&from| uniform.contains(from) && !self.divergent.contains(from))
                }
            };
            if is_uniform {
                uniform.insert(block);
            }
        }
        uniform
    }
}
