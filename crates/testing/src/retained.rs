//! How much control flow linearization keeps, beside three other ways to fold a graph, counted by the interpreter.
//!
//! Each of the others is given by the branches that it folds beside the divergent ones, and these are then folded by
//! partial linearization, so that all run and all are checked. That flatters them: what they fold they fold as well as
//! we do.
//!
//! A branch in a block without lanes may go anywhere; what the interpreter chooses there depends on what it did before.
//! So where a program seems to execute more blocks, the fewest count that any of several choices give.
//!
//! * *Full if-conversion* folds every branch that has no say in how a loop is left.
//! * *Bounded if-conversion* folds all of the smallest single-entry, single-exit region around a divergent branch, but
//!   regions inside that have none of their own.
//! * *Karrenberg & Hack* (CC 2012, 3.3) let no divergent block be skipped: edges to such blocks lead to the first that
//!   is not yet scheduled. So a uniform branch between two of them is lost.

use crate::differential::is_deterministic;
use crate::execution::{Part, difference, observe, options};
use crate::generate::{Case, Class};
use crate::uniformity::free_branches;
use heddle::pipeline::{divergent_branches, uniform_loops};
use heddle_analysis::baselines::divergent_blocks;
use heddle_analysis::{ControlTables, PostDominators};
use heddle_interp::{Options, Scheduler, Semantics};
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function, Module};
use heddle_transform::boscc::{self, Policy};
use heddle_transform::{canonicalize, linearize};
use rustc_hash::FxHashSet;

/// How often branches without lanes choose anew.
const CHOICES: u64 = 12;

/// A way to fold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Partial linearization: divergent branches alone.
    Partial,
    /// All branches.
    Full,
    /// All branches of a region.
    Bounded,
    /// What leads to divergent blocks.
    Karrenberg,
}

impl Way {
    /// All of them, ours first.
    pub const ALL: [Way; 4] = [Way::Partial, Way::Full, Way::Bounded, Way::Karrenberg];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Way::Partial => "partial linearization",
            Way::Full => "full if-conversion",
            Way::Bounded => "SESE-bounded if-conversion",
            Way::Karrenberg => "stand-in for Karrenberg & Hack",
        }
    }
}

/// What is left of a program's control flow.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Retained {
    /// The branches in the text.
    pub branches: u64,
    /// The blocks that runs on all inputs execute.
    pub blocks: u64,
    /// The fewest that they execute, as branches without lanes go.
    pub fewest: u64,
    /// Those of the blocks without lanes.
    pub empty: u64,
}

impl Retained {
    /// Adds up.
    pub fn add(&mut self, other: Retained) {
        self.branches += other.branches;
        self.blocks += other.blocks;
        self.fewest += other.fewest;
        self.empty += other.empty;
    }

    /// Whether less is kept than by the other.
    pub fn is_worse(&self, other: Retained) -> bool {
        let executes_more = self.blocks > other.blocks && self.fewest > other.fewest;
        self.branches < other.branches || executes_more
    }
}

/// Folds a program in all ways and runs the results; none if it launches, or has what cannot be folded.
pub fn retained(case: &Case) -> Result<Option<[Retained; 4]>, String> {
    if case.traits.class == Class::Launch || case.traits.barriers {
        return Ok(None);
    }
    let mut all = [Retained::default(); 4];
    let mut expected = Vec::new();
    for (way, retained) in Way::ALL.into_iter().zip(&mut all) {
        let Some(module) = folded(case, way)? else { return Ok(None) };
        let branches = |func: &Function| func.blocks().filter(|&it| func.successors(it).len() > 1).count();
        retained.branches = module.functions.iter().map(|func| branches(func) as u64).sum();
        for (index, input) in case.inputs.iter().enumerate() {
            let options = Options { semantics: Semantics::Oblivious, ..options(input) };
            let fails = |reason: String| format!("{}, input {index}: {reason}", way.name());
            let ran = observe(case, &module, input, &options).map_err(|fault| fails(fault.to_string()))?;
            retained.blocks += ran.counters.steps;
            retained.empty += ran.counters.empty_steps;
            let mut fewest = ran.counters.steps;
            for seed in (0..CHOICES).filter(|_| ran.counters.empty_steps > 0) {
                let options = Options { scheduler: Scheduler::Random(seed), ..options.clone() };
                let ran =
                    observe(case, &module, input, &options).map_err(|fault| fails(fault.to_string()))?;
                fewest = fewest.min(ran.counters.steps);
            }
            retained.fewest += fewest;
            if way == Way::Partial {
                expected.push(ran);
            } else if is_deterministic(case)
                && let Some(difference) = difference(case, &expected[index], &ran, Part::Whole)
            {
                return Err(fails(difference));
            }
        }
    }
    Ok(Some(all))
}

fn folded(case: &Case, way: Way) -> Result<Option<Module>, String> {
    let mut module = case.module.clone();
    for func in &mut module.functions {
        canonicalize(func);
        uniform_loops(func).map_err(|reason| reason.to_string())?;
        let options = boscc::Options { policy: Policy::Needed, ..boscc::Options::default() };
        let divergent = divergent_branches(func)?;
        boscc::guard_regions(func, &divergent, &options).map_err(|it| it.to_string())?;
        let divergent = divergent_branches(func)?;
        let control = ControlTables::new(func);
        let free = free_branches(&control.cfg);
        let folds = match way {
            Way::Partial => EntitySet::new(),
            Way::Full => free.clone(),
            Way::Bounded => in_divergent_regions(&control, &divergent, &free),
            Way::Karrenberg => between_divergent_blocks(&control, &divergent, &free),
        };
        let folds = divergent.iter().chain(folds.iter()).collect();
        if linearize(func, &folds).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(module))
}

/// The branches whose smallest single-entry, single-exit region is that of a divergent branch.
fn in_divergent_regions(
    control: &ControlTables,
    divergent: &EntitySet<Block>,
    free: &EntitySet<Block>,
) -> EntitySet<Block> {
    let post_dominators = PostDominators::new(&control.cfg);
    let region = |branch: Block| {
        let mut entry = branch;
        let mut exit = post_dominators.ipdom(branch)?;
        loop {
            let above = control.dominators.nearest_common(entry, exit)?;
            let below = post_dominators.nearest_common(above, exit)?;
            if (above, below) == (entry, exit) {
                return Some((entry, exit));
            }
            (entry, exit) = (above, below);
        }
    };
    let regions: FxHashSet<Option<(Block, Block)>> = divergent.iter().map(region).collect();
    free.iter().filter(|&branch| regions.contains(&region(branch))).collect()
}

/// The branches all of whose targets are divergent blocks.
fn between_divergent_blocks(
    control: &ControlTables,
    divergent: &EntitySet<Block>,
    free: &EntitySet<Block>,
) -> EntitySet<Block> {
    let blocks: EntitySet<Block> = divergent
        .iter()
        .flat_map(|branch| divergent_blocks(control, branch).iter().collect::<Vec<_>>())
        .collect();
    free.iter().filter(|&branch| control.cfg.succs(branch).iter().all(|&to| blocks.contains(to))).collect()
}
