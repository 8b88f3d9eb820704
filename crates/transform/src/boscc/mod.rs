//! Guards against running without lanes: branches on superword condition codes (BOSCC), as edits of the graph.
//!
//! Requires: Stage::Uniform.  Ensures: Stage::Uniform; every block named in the result, and all that it dominates, is
//! executed behind linearization only if a lane comes there.
//! Invariants: no code is duplicated; blocks keep their names and instructions; what is new is `any`, `all`, `mask`,
//! branches and the blocks that hold them. Nothing changes what any lane computes.
//! After: Moll, The Region Vectorizer, 9.2. Differs in: an arm is guarded from either side, and a block that is no arm,
//! or both arms of a branch, by asking its own mask.
//!
//! An *arm* is the target of one divergent branch. The question is put in front of the branch, so that no mask is
//! computed in vain:
//!
//! ```text
//!     A: …                          A: …; v9 = any v5          for the other target: v9 = all v5
//!        br v5, B, C                   br v9, N, C                                   br v9, C, N
//!                                   N: br v5, B, C             divergent, as before
//! ```
//!
//! The new branch is uniform, N dominates B, so linearization keeps it (Theorem 5), and with it goes all that B
//! dominates. Seen from C it is the other form: if *all* lanes go to C, they go there straight, and nothing of B is
//! executed. Of a branch with two arms the one that is more likely to be empty is guarded like this, and it comes first
//! in linear code. The other arm must follow it on one of the two ways, so it asks for itself, as does a block that
//! several branches lead to:
//!
//! ```text
//!     M: v7 = mask                  before linearization somebody is always there; behind it maybe not
//!        v8 = any v7 total
//!        br v8, B, J                J: where all lanes of B come in the end, and B does not dominate
//! ```
//!
//! Where no lane is, only what is `total` is defined. So if A itself may run without lanes, its question is `total` too,
//! about `select mask, v5, false`; that is the same to vector code.
//!
//! Guards nest by themselves: each is an edit of one branch, and an arm inside an arm is only asked for where the outer
//! one was not empty. So a cascade of tests comes out with its most biased test in front of all the rest.
//!
//! Where guards are placed is told by `model`: what a region costs, how likely it is empty, what a guard costs.
//! Barriers and `total` instructions with effects, which must not run without lanes, are always guarded.

mod gadget;
mod model;

use std::collections::BTreeMap;

use heddle_analysis::{ControlDependence, ControlTables, Edge, PostDominators};
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function, InstData, Op};
use heddle_ir::{Code, Diagnostic};

use crate::linearize::iteration_graph;
use crate::linearize::refusal::{lane_source, requires_lane};
use gadget::GuardEditor;
use model::GuardCostModel;

/// Where guards are placed that were not asked for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum GuardPolicy {
    /// Where they are likely to pay.
    #[default]
    Model,
    /// Wherever they can be.
    Force,
    /// Only where something must not run without lanes.
    Needed,
}

/// What is asked for a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuardRequest {
    /// It is skipped if no lane comes there.
    AllFalse,
    /// What its branch leads to otherwise is skipped if all lanes come there.
    AllTrue,
    /// It is not guarded.
    None,
}

/// Where guards are placed.
#[derive(Clone, Default, Debug)]
pub struct GuardOptions {
    /// In general.
    pub policy: GuardPolicy,
    /// For these blocks.
    pub requests: BTreeMap<Block, GuardRequest>,
    /// Of the branches of these blocks, as far as a run has told: how often no lane took each way, as a share.
    pub untaken: BTreeMap<Block, [f64; 2]>,
}

/// How a block can be guarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GuardPlacement {
    /// In front of the branch of this block, whose target it is for this answer.
    Arm(Block, usize),
    /// At its own entry; if it is empty, control goes to this block.
    Entry(Block),
}

/// Places guards. The blocks of `divergent` have branches that lanes part at. Returns the blocks that are guarded, in
/// the order of the block index.
pub fn guard_regions(
    func: &mut Function,
    divergent: &EntitySet<Block>,
    options: &GuardOptions,
) -> Result<Vec<Block>, Diagnostic> {
    // Where one thread runs, it is there.
    if crate::divergent_loops::is_sequential(func) {
        return Ok(Vec::new());
    }
    let control = ControlTables::new(func);
    let post_dominators = PostDominators::new(&iteration_graph(&control.cfg, &control.cycles));
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
    // Arms first: what asks for itself takes in the edges that they make.
    for (&(block, guard), &is_occupied) in plan.iter().zip(&occupied) {
        if let GuardPlacement::Arm(from, slot) = guard {
            editor.guard_arm(func, (from, slot), block, is_occupied);
        }
    }
    editor.finish_arms(func);
    for &(block, guard) in &plan {
        if let GuardPlacement::Entry(behind) = guard {
            editor.guard_entry(func, block, behind);
        }
    }
    Ok(plan.into_iter().map(|(block, _)| block).collect())
}

struct GuardPlanner<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    post_dominators: &'a PostDominators,
    divergent: &'a EntitySet<Block>,
}

impl GuardPlanner<'_> {
    fn plan(&self, options: &GuardOptions) -> Result<Vec<(Block, GuardPlacement)>, Diagnostic> {
        let mut forced: BTreeMap<Block, bool> = BTreeMap::new();
        // The same blocks are asked for in all functions of a module.
        for (&block, &asked) in
            options.requests.iter().filter(|(block, _)| self.control.index.number(**block).is_some())
        {
            match asked {
                GuardRequest::None => _ = forced.insert(block, false),
                GuardRequest::AllFalse => _ = forced.insert(block, true),
                GuardRequest::AllTrue => _ = forced.insert(self.sibling(block)?, true),
            }
        }
        for block in self.must_guard() {
            forced.entry(block).or_insert(true);
        }
        let model = GuardCostModel::new(self.func, self.control, &options.untaken);
        // Which arm of each branch is asked for in front of it.
        let mut first: BTreeMap<Block, Block> = BTreeMap::new();
        let mut wanted = Vec::new();
        for &block in self.control.index.order() {
            let arm = self.arm(block);
            let arm = arm.filter(|&(from, slot)| !self.is_already_guarded(from, slot));
            let is_wanted = match (forced.get(&block), options.policy) {
                (Some(&wanted), _) => wanted,
                (None, GuardPolicy::Needed) => false,
                (None, GuardPolicy::Force) => arm.is_some() || self.is_guardable_join(block),
                (None, GuardPolicy::Model) => arm.is_some_and(|(from, slot)| model.pays(block, from, slot)),
            };
            if !is_wanted {
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
            wanted.push((block, arm));
        }
        let mut plan = Vec::with_capacity(wanted.len());
        for (block, arm) in wanted {
            let guard = match arm {
                Some((from, slot)) if first.get(&from) == Some(&block) => Ok(GuardPlacement::Arm(from, slot)),
                _ => self.continuation(block).map(GuardPlacement::Entry),
            };
            match guard {
                Ok(guard) => plan.push((block, guard)),
                Err(reason) if options.requests.contains_key(&block) => {
                    return Err(self.refuse(block, reason));
                }
                // Linearization refuses what needs a guard and has none.
                Err(_) => {}
            }
        }
        Ok(plan)
    }

    /// Why a guard that was asked for is not there.
    fn refuse(&self, block: Block, reason: &'static str) -> Diagnostic {
        let told = Diagnostic::error(Code::NoGuard, format!("{block} cannot be guarded: {reason}"));
        told.of_func(&self.func.name)
    }

    /// The divergent branch, and its answer, that alone leads to this block.
    fn arm(&self, block: Block) -> Option<(Block, usize)> {
        let &[from] = self.control.cfg.preds(block) else { return None };
        let targets = self.control.cfg.succs(from);
        let slot = targets.iter().position(|&to| to == block)?;
        let parts = targets.len() == 2 && targets[0] != targets[1];
        (parts && self.divergent.contains(from)).then_some((from, slot))
    }

    /// The other arm of the branch that leads to this block.
    fn sibling(&self, block: Block) -> Result<Block, Diagnostic> {
        let from =
            self.control.cfg.preds(block).iter().copied().filter(|from| self.divergent.contains(*from));
        let mut others =
            from.flat_map(|from| self.control.cfg.succs(from)).copied().filter(|&to| to != block);
        match (others.next(), others.next()) {
            (Some(other), None) if self.arm(other).is_some() => Ok(other),
            _ => Err(self.refuse(block, "no divergent branch has another arm beside it")),
        }
    }

    /// Whether several branches lead to the block, and not all lanes of its dominator come there.
    fn is_guardable_join(&self, block: Block) -> bool {
        self.control.cfg.preds(block).len() > 1
            && !self.shares_lanes(block)
            && self.continuation(block).is_ok()
    }

    fn shares_lanes(&self, block: Block) -> bool {
        let above = self.control.dominators.idom(block);
        above.is_none_or(|above| self.post_dominators.post_dominates(block, above))
    }

    /// Where all lanes of a block come in the end that it does not dominate, in the same loop.
    fn continuation(&self, block: Block) -> Result<Block, &'static str> {
        let ControlTables { cfg, cycles, dominators, .. } = self.control;
        if !cfg.is_reachable(block) || dominators.idom(block).is_none() {
            return Err("it is the entry, or never reached");
        }
        if cycles.headed_by(block).is_some() {
            return Err("it is the header of a loop; its preheader can be");
        }
        if self.shares_lanes(block) {
            return Err("all lanes that come to the block above come there");
        }
        let mut behind = self.post_dominators.ipdom(block);
        while let Some(next) = behind.filter(|&next| dominators.dominates(block, next)) {
            behind = self.post_dominators.ipdom(next);
        }
        let home = cycles.innermost(block);
        let is_near = |next: &Block| cycles.innermost(*next) == home && cycles.headed_by(*next).is_none();
        behind.filter(is_near).ok_or("there is no place behind it in the same loop to go on at")
    }

    /// Whether control only comes to a branch if some lane gives this answer.
    fn is_already_guarded(&self, from: Block, slot: usize) -> bool {
        let (func, cfg) = (self.func, &self.control.cfg);
        let condition = |block| func.terminator(block).and_then(|inst| func.inst(inst).args.first().copied());
        let &[asking] = cfg.preds(from) else { return false };
        let vote = condition(asking).and_then(|value| func.def_inst(value)).map(|inst| func.inst(inst));
        let op = if slot == 0 { Op::Any } else { Op::All };
        let is_this = |data: &&InstData| data.op == op && data.args.first().copied() == condition(from);
        vote.filter(is_this).is_some() && cfg.succs(asking).get(slot) == Some(&from)
    }

    /// The blocks that do not run without lanes behind linearization, given these guards.
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

    /// The blocks that must not run without lanes, or those that bring their lanes. What is brought by the entry is never
    /// without.
    fn must_guard(&self) -> Vec<Block> {
        let ControlTables { cfg, dominators, index, .. } = self.control;
        let needs =
            |block: &Block| self.func.block_insts(*block).any(|inst| requires_lane(self.func.inst(inst)));
        let post_dominators = PostDominators::new(cfg);
        let dependence = ControlDependence::new(&post_dominators);
        let lane_source = |block| lane_source(&dependence, dominators, self.divergent, block);
        let sources = index.order().iter().copied().filter(needs).map(lane_source);
        sources.filter(|&lane_source| dominators.idom(lane_source).is_some()).collect()
    }

    /// Blocks that only uniform branches decide about.
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
