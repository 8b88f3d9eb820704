//! Branch fusion: what both sides of a divergent branch do is done once, for all lanes.
//!
//! Requires: Stage::Canonical.  Ensures: Stage::Canonical.
//! Invariants: each lane executes what it executed, in its order, but for harmless operations whose results it does not
//! read; so no lane can fault where it did not. Operands of the side that a lane does not take are never observable.
//! Calls keep their numbers.
//! After: Coutinho, Sampaio, Pereira & Meira, PACT'11, IV-A. Differs in: sides of several blocks, with nested branches and
//! loops of one shape laid on top of each other; operands of either order; loads and stores of different addresses;
//! costs of a machine; several branches, the most profitable first.
//!
//! Lanes of both sides run side by side behind fusion, where one side ran before the other. That can be told only by
//! lanes that race: [`RaceSemantics`] says whether they do.

pub mod align;
pub(crate) mod cost;
mod emit;
mod explain;
mod identity;
mod plan;
mod reorder;
mod sides;

use crate::races::RaceSemantics;
use heddle_analysis::{ControlTables, InitialShapes, PostDominatorTree, divergence};
use heddle_ir::entity::EntitySet;
use heddle_ir::function::SourceLoc;
use heddle_ir::{Block, Function, Inst};
use std::collections::BTreeMap;

pub use cost::MachineModel;
pub use sides::FusionRefusal;

use crate::edges::funnel;
use plan::{FusionContext, FusionPlan};
use sides::{SideFinder, UnifiableBranch};

/// What is fused.
#[derive(Clone, Copy, Default, Debug)]
pub struct FuseOptions {
    /// What the code is for.
    pub machine: MachineModel,
    /// Whether lanes race.
    pub races: RaceSemantics,
    /// Whether branches are fused that do not diverge, and where it does not pay.
    pub force: bool,
    /// Whether matrices are told.
    pub explain: bool,
}

/// What became of a branch with two targets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BranchFusion {
    /// The block that it ends.
    pub block: Block,
    /// Where it came from.
    pub loc: Option<SourceLoc>,
    /// Why it is as it was, if it is.
    pub refused: Option<FusionRefusal>,
    /// How many instructions of its sides, apart from those in regions, stand for two.
    pub insts: usize,
    /// How many blocks of regions do.
    pub blocks: usize,
    /// What merging gains by the costs of the machine, in tenths of a plain operation.
    pub profit: i64,
    /// All that in words, with the matrix if it was asked for.
    pub text: String,
}

/// What became of a function.
#[derive(Clone, Default, Debug)]
pub struct FusionResult {
    /// What became of its branches, the fused ones first.
    pub branches: Vec<BranchFusion>,
    /// Which blocks of the source lanes pass in a block, in an order in which they may, where it is not that block alone. For
    /// those that replay a schedule.
    pub passed: BTreeMap<Block, Vec<Block>>,
}

impl FusionResult {
    /// The branches that were fused.
    pub fn fused(&self) -> impl Iterator<Item = &BranchFusion> {
        self.branches.iter().filter(|fusion| fusion.refused.is_none())
    }

    /// Adds what one more fusion made of blocks that earlier ones may have made.
    fn pass(&mut self, passed: Vec<(Block, Vec<Block>)>) {
        let known = |block: &Block| self.passed.get(block).cloned().unwrap_or_else(|| vec![*block]);
        let passed: Vec<(Block, Vec<Block>)> =
            passed.into_iter().map(|(block, of)| (block, of.iter().flat_map(known).collect())).collect();
        self.passed.extend(passed);
    }
}

/// The most often that a function is looked at again.
const MAX_ROUNDS: usize = 8;

/// Fuses branches where it pays.
pub fn fuse(func: &mut Function, options: &FuseOptions) -> FusionResult {
    fuse_profiled(func, options, &BTreeMap::new())
}

/// The same, where a run has told of some blocks at which share of their executions lanes part.
pub fn fuse_profiled(
    func: &mut Function,
    options: &FuseOptions,
    parted: &BTreeMap<Block, f64>,
) -> FusionResult {
    let mut done = FusionResult::default();
    if crate::divergent_loops::is_sequential(func) {
        return done;
    }
    let mut settled: EntitySet<Inst> = EntitySet::new();
    for round in 0.. {
        let (found, refused) = candidates(func, options, parted, &settled);
        let chosen = if round < MAX_ROUNDS { most_profitable(found) } else { Vec::new() };
        if chosen.is_empty() {
            done.branches.extend(refused);
            break;
        }
        if chosen
            .iter()
            .map(|candidate| add_landings(func, &candidate.branch))
            .fold(false, |any, added| any | added)
        {
            continue;
        }
        for FusionCandidate { branch, plan, told } in chosen {
            let emitted = emit::emit(func, &branch, &plan, options.machine);
            emitted.branches.into_iter().for_each(|inst| _ = settled.insert(inst));
            done.pass(emitted.passed);
            done.branches.push(told);
        }
    }
    done
}

struct FusionCandidate {
    branch: UnifiableBranch,
    plan: FusionPlan,
    told: BranchFusion,
}

/// The branches that can be fused with profit, and what speaks against the others.
fn candidates(
    func: &Function,
    options: &FuseOptions,
    parted: &BTreeMap<Block, f64>,
    settled: &EntitySet<Inst>,
) -> (Vec<FusionCandidate>, Vec<BranchFusion>) {
    let control = ControlTables::new(func);
    let post_dominators = PostDominatorTree::new(&control.cfg);
    let finder = SideFinder::new(func, &control, &post_dominators, options.races);
    // Without sides nothing can be fused, and what diverges need not be known, unless it is asked why.
    if !options.explain && !control.index.order().iter().any(|&block| finder.has_sides(block)) {
        return (Vec::new(), Vec::new());
    }
    let facts = divergence(func, &control, &InitialShapes::declared(func, options.machine.geometry()));
    let planner = FusionContext { func, control: &control, facts: &facts, machine: options.machine };
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for &block in control.index.order() {
        let Some(terminator) = func.terminator(block).filter(|&inst| !settled.contains(inst)) else {
            continue;
        };
        if !options.force && !facts.is_divergent_branch(block) {
            continue;
        }
        let Some(branch) = finder.unifiable(block) else { continue };
        let told = |refused, plan: Option<&FusionPlan>, text| {
            let (insts, blocks) = plan.map_or((0, 0), FusionPlan::merged);
            let profit = plan.map_or(0, |plan| plan.profit);
            BranchFusion { block, loc: func.loc(terminator), refused, insts, blocks, profit, text }
        };
        let planned = branch.and_then(|branch| best_order(&planner, branch));
        match planned {
            Err(reason) => refused.push(told(Some(reason), None, explain::refused(block, reason))),
            Ok((branch, mut plan)) => {
                let share = parted.get(&block).copied();
                share.into_iter().for_each(|share| plan.part_at(share));
                let text = explain::planned(func, &branch, &plan, share, options);
                if plan.pays() || options.force && plan.merged() != (0, 0) {
                    let told = told(None, Some(&plan), text);
                    found.push(FusionCandidate { branch, plan, told });
                } else {
                    refused.push(told(Some(FusionRefusal::Unprofitable(plan.profit)), Some(&plan), text));
                }
            }
        }
    }
    (found, refused)
}

/// The plan for a branch, with the instructions of its sides as they stand, or in an order that is more alike.
fn best_order(
    planner: &FusionContext<'_>,
    branch: UnifiableBranch,
) -> Result<(UnifiableBranch, FusionPlan), FusionRefusal> {
    let plan = planner.plan(&branch)?;
    let sides = [&branch.left, &branch.right].map(|side| reorder::by_height(planner.func, side));
    if sides[0] == branch.left.elements && sides[1] == branch.right.elements {
        return Ok((branch, plan));
    }
    let mut ordered = branch.clone();
    [ordered.left.elements, ordered.right.elements] = sides;
    let other = planner.plan(&ordered)?;
    Ok(if other.profit > plan.profit { (ordered, other) } else { (branch, plan) })
}

/// The candidates to fuse at once: the most profitable first, none inside of another.
fn most_profitable(mut found: Vec<FusionCandidate>) -> Vec<FusionCandidate> {
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.plan.profit));
    let mut touched: EntitySet<Block> = EntitySet::new();
    found.retain(|FusionCandidate { branch, .. }| {
        let sides = || branch.left.blocks.iter().chain(branch.right.blocks.iter());
        let all = || sides().chain([branch.block]);
        let is_free = all().all(|block| !touched.contains(block));
        if is_free {
            all().for_each(|block| _ = touched.insert(block));
        }
        is_free
    });
    found
}

/// Lets each side come to the join from one block of its chain. Tells whether anything had to be done.
fn add_landings(func: &mut Function, branch: &UnifiableBranch) -> bool {
    let ends = |side: &sides::BranchSide| -> Option<Vec<Block>> {
        let region = side.regions.last().filter(|region| region.exit == branch.join)?;
        let leads = |&block: &Block| func.successors(block).contains(&branch.join);
        Some(region.blocks.iter().chain([&region.from]).copied().filter(leads).collect())
    };
    let groups: Vec<Vec<Block>> = [&branch.left, &branch.right].into_iter().filter_map(ends).collect();
    if !groups.is_empty() {
        funnel(func, branch.join, &groups);
    }
    !groups.is_empty()
}
