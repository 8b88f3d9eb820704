//! Compares the control flow that linearization keeps with three other methods, counted by the interpreter.
//!
//! Every result runs and is checked. Each kind of if-conversion is defined by the branches that it linearizes besides
//! the divergent ones. Partial linearization then does the work, which favours the other methods: they linearize as
//! well as ours does.
//!
//! A branch in a block without active lanes may go anywhere, and the interpreter's choice depends on its history. Where
//! a program seems to execute more blocks, the count is therefore the minimum over several choices.
//!
//! * *Full if-conversion* linearizes every branch that does not control a loop exit.
//! * *Bounded if-conversion* linearizes the smallest single-entry, single-exit region around a divergent branch, except
//!   inner regions without divergent branches.
//! * *Karrenberg & Hack* (CC 2012, 3.3) do not skip divergent blocks: `karrenberg` finds edges by their method. It
//!   fails on some graphs; these are not counted.

mod karrenberg;

use crate::differential::is_deterministic;
use crate::execution::{ObservedPart, difference, observe, options};
use crate::generate::{GeneratedProgram, ProgramClass};
use crate::uniformity::free_branches;
use heddle_analysis::{ControlTables, PostDominatorTree};
use heddle_compiler::divergence::{divergent_branches, uniform_loops};
use heddle_interp::{PassiveSemantics, RunOptions, Scheduler};
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function, Module};
use heddle_transform::boscc::{self, GuardPolicy};
use heddle_transform::canonicalize;
use heddle_transform::linearize::{linearize_edges, linearize_with};
use karrenberg::linearize_as_karrenberg;
use rustc_hash::FxHashSet;

/// Random choices per branch without active lanes, and their number where a program seems to execute more blocks.
const CHOICES: [u64; 2] = [12, 400];

/// Linearization method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinearizationMethod {
    /// Partial linearization: divergent branches alone.
    Partial,
    /// All branches.
    Full,
    /// All branches of a region.
    Bounded,
    /// Edges to divergent blocks lead to the first one not yet executed.
    Karrenberg,
}

impl LinearizationMethod {
    /// All of them, ours first.
    pub const ALL: [LinearizationMethod; 4] = [
        LinearizationMethod::Partial,
        LinearizationMethod::Full,
        LinearizationMethod::Bounded,
        LinearizationMethod::Karrenberg,
    ];

    /// Name of the method.
    pub fn name(self) -> &'static str {
        match self {
            LinearizationMethod::Partial => "partial linearization",
            LinearizationMethod::Full => "full if-conversion",
            LinearizationMethod::Bounded => "SESE-bounded if-conversion",
            LinearizationMethod::Karrenberg => "Karrenberg & Hack",
        }
    }
}

/// Control flow left in a program.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RetainedControlFlow {
    /// The branches in the text.
    pub branches: u64,
    /// The blocks that runs on all inputs execute.
    pub blocks: u64,
    /// The fewest that they execute, as branches without lanes go.
    pub fewest: u64,
    /// Those of the blocks without lanes.
    pub empty: u64,
}

impl RetainedControlFlow {
    /// Adds up.
    pub fn add(&mut self, other: RetainedControlFlow) {
        self.branches += other.branches;
        self.blocks += other.blocks;
        self.fewest += other.fewest;
        self.empty += other.empty;
    }

    /// True if this program keeps less control flow than the other.
    pub fn is_worse(&self, other: RetainedControlFlow) -> bool {
        let executes_more = self.blocks > other.blocks && self.fewest > other.fewest;
        self.branches < other.branches || executes_more
    }
}

/// Comparison of partial linearization with another method.
#[derive(Clone, Default, Debug)]
pub struct MethodComparison {
    /// Programs that the other method can linearize.
    pub programs: u32,
    /// Control flow that partial linearization keeps in these programs.
    pub ours: RetainedControlFlow,
    /// Control flow that the other method keeps.
    pub other: RetainedControlFlow,
    /// The seeds of those of which we keep less.
    pub worse: Vec<u64>,
}

impl MethodComparison {
    /// Adds a program's results to each method's comparison.
    pub fn note(all: &mut [MethodComparison; 4], seed: u64, kept: RetainedByMethod) {
        let Some(ours) = kept[0] else { return };
        for (against, other) in all.iter_mut().zip(kept) {
            let Some(other) = other else { continue };
            against.programs += 1;
            against.ours.add(ours);
            against.other.add(other);
            if ours.is_worse(other) {
                against.worse.push(seed);
            }
        }
    }
}

/// Linearizes a program by all methods and runs the results. `None` if it launches or cannot be linearized; no count
/// for a method that fails on it.
pub fn retained(case: &GeneratedProgram) -> Result<Option<RetainedByMethod>, String> {
    let few = retained_of(case, CHOICES[0])?;
    let is_worse =
        |ours: RetainedControlFlow| few.iter().flatten().flatten().any(|&other| ours.is_worse(other));
    match few.and_then(|few| few[0]) {
        Some(ours) if is_worse(ours) => retained_of(case, CHOICES[1]),
        _ => Ok(few),
    }
}

/// Control flow kept by each method, where it can handle the program.
pub type RetainedByMethod = [Option<RetainedControlFlow>; 4];

fn retained_of(case: &GeneratedProgram, choices: u64) -> Result<Option<RetainedByMethod>, String> {
    if case.traits.class == ProgramClass::Launch || case.traits.barriers {
        return Ok(None);
    }
    let mut all = [None; 4];
    let mut expected = Vec::new();
    for (way, kept) in LinearizationMethod::ALL.into_iter().zip(&mut all) {
        let module = match folded(case, way)? {
            MethodResult::LinearEdges(module) => module,
            MethodResult::Impossible => continue,
            MethodResult::Refused => return Ok(None),
        };
        let retained = kept.insert(RetainedControlFlow::default());
        let branches = |func: &Function| func.blocks().filter(|&it| func.successors(it).len() > 1).count();
        retained.branches = module.functions.iter().map(|func| branches(func) as u64).sum();
        for (index, input) in case.inputs.iter().enumerate() {
            let options = RunOptions { semantics: PassiveSemantics::Oblivious, ..options(input) };
            let fails = |reason: String| format!("{}, input {index}: {reason}", way.name());
            let ran = observe(case, &module, input, &options).map_err(|fault| fails(fault.to_string()))?;
            retained.blocks += ran.counters.steps;
            retained.empty += ran.counters.empty_steps;
            let mut fewest = ran.counters.steps;
            for seed in (0..choices).filter(|_| ran.counters.empty_steps > 0) {
                let options = RunOptions { scheduler: Scheduler::Random(seed), ..options.clone() };
                let ran =
                    observe(case, &module, input, &options).map_err(|fault| fails(fault.to_string()))?;
                fewest = fewest.min(ran.counters.steps);
            }
            retained.fewest += fewest;
            if way == LinearizationMethod::Partial {
                expected.push(ran);
            } else if is_deterministic(case)
                && let Some(difference) = difference(case, &expected[index], &ran, ObservedPart::Whole)
            {
                return Err(fails(difference));
            }
        }
    }
    Ok(Some(all))
}

/// Result of linearizing a module.
enum MethodResult {
    LinearEdges(Module),
    /// There is no such order of blocks.
    Impossible,
    /// The program cannot be linearized.
    Refused,
}

fn folded(case: &GeneratedProgram, way: LinearizationMethod) -> Result<MethodResult, String> {
    let mut module = case.module.clone();
    let mut is_possible = true;
    for func in &mut module.functions {
        canonicalize(func);
        uniform_loops(func).map_err(|reason| reason.to_string())?;
        let options = boscc::GuardOptions { policy: GuardPolicy::Needed, ..boscc::GuardOptions::default() };
        let divergent = divergent_branches(func)?;
        boscc::guard_regions(func, &divergent, &options).map_err(|it| it.to_string())?;
        let divergent = divergent_branches(func)?;
        let control = ControlTables::new(func);
        let free = free_branches(&control.cfg);
        let folds = match way {
            LinearizationMethod::Partial | LinearizationMethod::Karrenberg => EntitySet::new(),
            LinearizationMethod::Full => free.clone(),
            LinearizationMethod::Bounded => in_divergent_regions(&control, &divergent, &free),
        };
        let folds = divergent.iter().chain(folds.iter()).collect();
        let done = linearize_with(func, &folds, |cfg, cycles, index, folds, dead_ends| {
            let other = match way {
                LinearizationMethod::Karrenberg => {
                    linearize_as_karrenberg(cfg, cycles, index, folds, dead_ends)
                }
                _ => None,
            };
            is_possible &= way != LinearizationMethod::Karrenberg || other.is_some();
            other.unwrap_or_else(|| linearize_edges(cfg, cycles, index, folds, dead_ends))
        });
        if done.is_err() {
            return Ok(MethodResult::Refused);
        }
    }
    Ok(if is_possible { MethodResult::LinearEdges(module) } else { MethodResult::Impossible })
}

/// The branches whose smallest single-entry, single-exit region is that of a divergent branch.
fn in_divergent_regions(
    control: &ControlTables,
    divergent: &EntitySet<Block>,
    free: &EntitySet<Block>,
) -> EntitySet<Block> {
    let post_dominators = PostDominatorTree::new(&control.cfg);
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
