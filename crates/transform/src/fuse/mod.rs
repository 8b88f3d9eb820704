//! Branch fusion: merges code that both sides of a divergent branch have, so all lanes execute it once.
//!
//! Requires: Stage::Canonical.  Ensures: Stage::Canonical.
//! Invariants: each lane executes the same operations in the same order, except for speculated operations whose results
//! it does not read; so no lane faults where it did not. Operands from the side that a lane does not take are never
//! observable. Calls keep their numbers.
//! After: Coutinho, Sampaio, Pereira & Meira, PACT'11, IV-A. Differs in: sides of several blocks, with isomorphic nested
//! branches and loops merged block by block; operands of either order; loads and stores of different addresses; costs of
//! a machine; several branches, the most profitable first.
//!
//! Fusion interleaves the lanes of both sides, where one side ran before the other. Only racing lanes can observe that:
//! [`RaceSemantics`] says whether to preserve the order.

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

/// Options of branch fusion.
#[derive(Clone, Copy, Default, Debug)]
pub struct FuseOptions {
    /// Machine whose costs decide.
    pub machine: MachineModel,
    /// Assumption about data races between lanes.
    pub races: RaceSemantics,
    /// True to fuse uniform branches too, and branches without profit.
    pub force: bool,
    /// True to include profitability matrices in the remarks.
    pub explain: bool,
}

/// Result of fusion for one two-way branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BranchFusion {
    /// Block that the branch ends.
    pub block: Block,
    /// Source location of the branch.
    pub loc: Option<SourceLoc>,
    /// Reason why the branch was not fused.
    pub refused: Option<FusionRefusal>,
    /// Number of merged pairs of instructions, those in regions excluded.
    pub insts: usize,
    /// Number of merged pairs of blocks in regions.
    pub blocks: usize,
    /// Gain by the machine's costs, in tenths of a plain operation.
    pub profit: i64,
    /// Text of the remark, with the matrix on request.
    pub text: String,
}

/// Result of fusion for a function.
#[derive(Clone, Default, Debug)]
pub struct FusionResult {
    /// Results for its branches, fused ones first.
    pub branches: Vec<BranchFusion>,
    /// Source blocks that lanes pass in a block, in a legal order, where they differ from the block itself. The replay of
    /// schedules reads them.
    pub passed: BTreeMap<Block, Vec<Block>>,
}

impl FusionResult {
    /// Iterates over the fused branches.
    pub fn fused(&self) -> impl Iterator<Item = &BranchFusion> {
        self.branches.iter().filter(|fusion| fusion.refused.is_none())
    }

    /// Adds the source blocks of one more fusion; its blocks may be results of earlier ones.
    fn add_passed_blocks(&mut self, passed: Vec<(Block, Vec<Block>)>) {
        let known = |block: &Block| self.passed.get(block).cloned().unwrap_or_else(|| vec![*block]);
        let passed: Vec<(Block, Vec<Block>)> =
            passed.into_iter().map(|(block, of)| (block, of.iter().flat_map(known).collect())).collect();
        self.passed.extend(passed);
    }
}

/// Maximum number of rounds over a function.
const MAX_ROUNDS: usize = 8;

/// Fuses branches where that is profitable.
pub fn fuse(func: &mut Function, options: &FuseOptions) -> FusionResult {
    fuse_profiled(func, options, &BTreeMap::new())
}

/// Fuses branches where that is profitable. `divergence_rates` holds profiled fractions of divergent executions, by block.
pub fn fuse_profiled(
    func: &mut Function,
    options: &FuseOptions,
    divergence_rates: &BTreeMap<Block, f64>,
) -> FusionResult {
    let mut done = FusionResult::default();
    if crate::divergent_loops::is_sequential(func) {
        return done;
    }
    let mut settled: EntitySet<Inst> = EntitySet::new();
    for round in 0.. {
        let (found, refused) = candidates(func, options, divergence_rates, &settled);
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
        for FusionCandidate { branch, plan, report } in chosen {
            let emitted = emit::emit(func, &branch, &plan, options.machine);
            emitted.branches.into_iter().for_each(|inst| _ = settled.insert(inst));
            done.add_passed_blocks(emitted.passed);
            done.branches.push(report);
        }
    }
    done
}

struct FusionCandidate {
    branch: UnifiableBranch,
    plan: FusionPlan,
    report: BranchFusion,
}

/// Returns the candidates for fusion, and the refused branches.
fn candidates(
    func: &Function,
    options: &FuseOptions,
    divergence_rates: &BTreeMap<Block, f64>,
    settled: &EntitySet<Inst>,
) -> (Vec<FusionCandidate>, Vec<BranchFusion>) {
    let control = ControlTables::new(func);
    let post_dominators = PostDominatorTree::new(&control.cfg);
    let finder = SideFinder::new(func, &control, &post_dominators, options.races);
    // Without sides nothing can be fused, and the divergence analysis is needed for explanations only.
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
        let report = |refused, plan: Option<&FusionPlan>, text| {
            let (insts, blocks) = plan.map_or((0, 0), FusionPlan::merged);
            let profit = plan.map_or(0, |plan| plan.profit);
            BranchFusion { block, loc: func.loc(terminator), refused, insts, blocks, profit, text }
        };
        let planned = branch.and_then(|branch| best_order(&planner, branch));
        match planned {
            Err(reason) => refused.push(report(Some(reason), None, explain::refused(func, block, reason))),
            Ok((branch, mut plan)) => {
                let share = divergence_rates.get(&block).copied();
                share.into_iter().for_each(|share| plan.scale_by_divergence(share));
                let text = explain::planned(func, &branch, &plan, share, options);
                if plan.is_profitable() || options.force && plan.merged() != (0, 0) {
                    let report = report(None, Some(&plan), text);
                    found.push(FusionCandidate { branch, plan, report });
                } else {
                    refused.push(report(Some(FusionRefusal::Unprofitable(plan.profit)), Some(&plan), text));
                }
            }
        }
    }
    (found, refused)
}

/// Returns the better of two plans: for the sides in program order, and in a canonical order.
fn best_order(
    planner: &FusionContext<'_>,
    branch: UnifiableBranch,
) -> Result<(UnifiableBranch, FusionPlan), FusionRefusal> {
    let plan = planner.plan(&branch)?;
    let sides = [&branch.left, &branch.right].map(|side| reorder::canonical_order(planner.func, side));
    if sides[0] == branch.left.elements && sides[1] == branch.right.elements {
        return Ok((branch, plan));
    }
    let mut ordered = branch.clone();
    [ordered.left.elements, ordered.right.elements] = sides;
    let other = planner.plan(&ordered)?;
    Ok(if other.profit > plan.profit { (ordered, other) } else { (branch, plan) })
}

/// Selects candidates to fuse in one round: the most profitable first, no two of them overlapping.
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

/// Gives the join a single predecessor in each side's chain. Returns true if the function changed.
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
