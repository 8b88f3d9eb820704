//! Flattens nests of divergent loops: one loop, in which each lane does what is next for itself.
//!
//! Requires: Stage::Canonical.  Ensures: Stage::Canonical.
//! Invariant: blocks keep their names, and instructions stay where they are, once each; what is new is empty blocks,
//! branches, comparisons and φs. Each lane executes what it executed, in the same order; only which lanes are together
//! changes. A nest that is flattened has one back edge, and one exiting block, which is its latch.
//! After: Bulavintsev, Flattening of Data-Dependent Nested Loops, section III. Differs in where the nest is cut, in
//! one latch for all ways round and out, and in the model.
//!
//! ```text
//!       P                      P
//!       │                      │
//!       ▼                      ▼                state: what each lane does next. At first the payload A, then
//!   ┌►  A                  ┌►  N ───┐           always an iteration of B
//!   │   │                  │   │    ▼
//!   │   ▼                  │   ▼    A ◄─┐       lanes that leave B go on with C and with the A of the next
//!   │ ┌►B                  │   B    │   │       iteration, while the others wait at L for one iteration of B at
//!   │ └─┤                  │  ╱ ╲   │   │       most
//!   │   ▼                  │ │   ▼  │   │
//!   └── C                  │ │   C ─│───┘       C goes to A, no longer back: if no way round A and C passes by B
//!       │                  │ ▼   ▼  ▼           (else it goes to L, and the lane's state is A)
//!       ▼                  └───  L
//!       X                        ▼              L: one exit. Lanes that have left C, or B, for good, wait for
//!                                X              those of this iteration, no longer
//! ```
//!
//! The paper cuts between C and A. Cut between A and B, N asks nothing that lanes differ in, even if A is where the outer
//! loop is left, and no way out passes by L: a stack of reconvergence points at immediate post-dominators joins lanes at
//! L in each iteration, as the greedy schedule does.
//!
//! Several inner loops are as many states. Loops inside of each other are flattened from the innermost on. What is
//! defined before B and read in it or behind goes round in φs, for those states in which it is live (`carry`).
//!
//! Lanes are in different iterations then, so what lanes tell each other must not depend on it: `refusal` finds what
//! does. Whether it pays is told by `model`.

mod carry;
mod model;
mod refusal;
mod rewrite;

use crate::fuse::MachineModel;
use crate::races::RaceSemantics;
use std::collections::BTreeMap;
use std::fmt;

use heddle_analysis::divergence::Divergence;
use heddle_analysis::{ControlTables, Cycle, CycleForest};
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function};

use crate::canonicalize::lcssa;
use crate::cfg_analyses::CfgAnalyses;
pub use model::{FlattenEstimate, JointIterations, TripCounts};
pub use refusal::{FlattenRefusal, FlattenRule};
use rewrite::LoopNest;

/// Which nests are flattened, of those that may be.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum FlattenPolicy {
    /// Those of divergent loops where it is likely to pay; on a CPU only where it is known how often inner loops go round.
    #[default]
    Model,
    /// All.
    Force,
    /// None.
    None,
}

/// How nests are flattened.
#[derive(Clone, Debug)]
pub struct FlattenOptions {
    /// Which ones.
    pub policy: FlattenPolicy,
    /// What is known of races.
    pub races: RaceSemantics,
    /// The lanes that run together, for the model.
    pub lanes: u32,
    /// What the code is for, for the model.
    pub machine: MachineModel,
    /// How often inner loops go round, by their headers, where it is known.
    pub trips: BTreeMap<Block, TripCounts>,
    /// The headers of outer loops that are flattened whatever the policy says.
    pub asked: EntitySet<Block>,
}

impl Default for FlattenOptions {
    fn default() -> FlattenOptions {
        FlattenOptions {
            policy: FlattenPolicy::Model,
            races: RaceSemantics::Ordered,
            lanes: 32,
            machine: MachineModel::Warps,
            trips: BTreeMap::new(),
            asked: EntitySet::new(),
        }
    }
}

/// What became of a nest.
#[derive(Clone, PartialEq, Debug)]
pub enum FlattenVerdict {
    /// It is one loop.
    Flattened,
    /// It would not pay, by the estimate, or nothing was to be flattened.
    Left,
    /// It may not be flattened.
    Refused(FlattenRefusal),
}

/// What was decided of a nest.
#[derive(Clone, PartialEq, Debug)]
pub struct FlattenDecision {
    /// The function.
    pub func: String,
    /// The header of the outer loop.
    pub outer: Block,
    /// The headers of the inner loops that it is about.
    pub inner: Vec<Block>,
    /// What became of it.
    pub verdict: FlattenVerdict,
    /// What the model makes of it, unless it was refused before.
    pub estimate: Option<FlattenEstimate>,
}

impl fmt::Display for FlattenDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the loop at {}", self.outer)?;
        let inner: Vec<String> = self.inner.iter().map(Block::to_string).collect();
        write!(f, " with the one inside at {}", inner.join(" and "))?;
        match &self.verdict {
            FlattenVerdict::Flattened => write!(f, " is flattened")?,
            FlattenVerdict::Left => write!(f, " is left as it is")?,
            FlattenVerdict::Refused(reason) => write!(f, " cannot be flattened: {reason}")?,
        }
        match &self.estimate {
            Some(estimate) => write!(f, ": {estimate}"),
            None => Ok(()),
        }
    }
}

/// The facts that flattening asks for: none for code that one thread executes.
pub type FlattenAnalyses = Option<(ControlTables, Divergence)>;

/// Flattens the nests of a function. `facts` tells of the function as it is then; it is asked once for each level of
/// nests.
pub fn flatten(
    func: &mut Function,
    facts: impl FnMut(&Function) -> FlattenAnalyses,
    options: &FlattenOptions,
) -> Vec<FlattenDecision> {
    flatten_without(func, facts, options, None)
}

/// The same, where one rule of those that refuse is not applied: what comes out may be wrong, which tests are to notice.
pub fn flatten_without(
    func: &mut Function,
    mut facts: impl FnMut(&Function) -> FlattenAnalyses,
    options: &FlattenOptions,
    without: Option<FlattenRule>,
) -> Vec<FlattenDecision> {
    let mut decisions = Vec::new();
    let mut options = options.clone();
    // The outer loops that nothing is left to decide of, by their headers.
    let mut settled: EntitySet<Block> = EntitySet::new();
    while let Some((control, divergence)) = facts(func) {
        let memory = refusal::SharedMemoryEffects::new(func, &control, &divergence, without);
        let nests = choose(func, &control, &memory, &options, &mut settled, &mut decisions);
        if nests.is_empty() {
            break;
        }
        let liveness = heddle_analysis::Liveness::new(func, &control.cfg);
        let mut flattened = Vec::with_capacity(nests.len());
        for (nest, trips) in &nests {
            let made = rewrite::rewrite(func, nest);
            settled.insert(made.header);
            options.trips.extend(trips.clone().map(|trips| (made.header, trips)));
            flattened.push(made);
        }
        let flow = CfgAnalyses::new(func);
        for ((nest, _), made) in nests.iter().zip(&flattened) {
            carry::carry(func, &flow, &liveness, nest, made);
        }
        lcssa::close_loops(func, &flow);
    }
    decisions
}

/// Whether there is a loop in a loop: else there is nothing to flatten.
pub fn has_nests(func: &Function) -> bool {
    holds_nests(CfgAnalyses::new(func).forest())
}

fn holds_nests(forest: &CycleForest) -> bool {
    forest.cycles().any(|cycle| forest.parent(cycle).is_some())
}

/// The nests to flatten next, none inside of another, and how often lanes go round what they become. Those inside of others come
/// first.
fn choose(
    func: &Function,
    control: &ControlTables,
    memory: &refusal::SharedMemoryEffects<'_>,
    options: &FlattenOptions,
    settled: &mut EntitySet<Block>,
    decisions: &mut Vec<FlattenDecision>,
) -> Vec<(LoopNest, Option<TripCounts>)> {
    let forest = &control.cycles;
    let mut nests = Vec::new();
    let mut holds_chosen: EntitySet<Cycle> = EntitySet::new();
    if !holds_nests(forest) {
        return nests;
    }
    let costs = model::FlattenCosts::new(func, control, options);
    for outer in forest.cycles().rev() {
        if holds_chosen.contains(outer) {
            if let Some(around) = forest.parent(outer) {
                holds_chosen.insert(around);
            }
            continue;
        }
        let header = forest.header(outer);
        let is_asked = options.asked.contains(header);
        if options.policy == FlattenPolicy::None && !is_asked {
            continue;
        }
        let is_forced = options.policy == FlattenPolicy::Force || is_asked;
        let is_known = |inner: &Cycle| options.trips.contains_key(&forest.header(*inner));
        let is_candidate = |&inner: &Cycle| is_forced || memory.divergence.is_divergent_loop(inner);
        let inner: Vec<Cycle> = forest.children(outer).iter().copied().filter(is_candidate).collect();
        if inner.is_empty() || !settled.insert(header) {
            continue;
        }
        let mut decision = FlattenDecision {
            func: func.name.clone(),
            outer: header,
            inner: inner.iter().map(|&inner| forest.header(inner)).collect(),
            verdict: FlattenVerdict::Left,
            estimate: None,
        };
        match memory.check(outer, options.races) {
            Err(reason) => decision.verdict = FlattenVerdict::Refused(reason),
            Ok(()) => {
                let (estimate, trips) = costs.estimate(outer, &inner, options);
                // On a CPU a guess costs more than it brings: lanes that go round as often are then apart for nothing. And what a
                // run has not shown is not worth one.
                let may_guess = matches!(options.machine, MachineModel::Warps) && options.trips.is_empty();
                let is_told = may_guess || inner.iter().any(is_known);
                if is_forced || is_told && estimate.pays() {
                    decision.verdict = FlattenVerdict::Flattened;
                    nests.push((LoopNest::new(control, outer, &inner), trips));
                    if let Some(around) = forest.parent(outer) {
                        holds_chosen.insert(around);
                    }
                }
                decision.estimate = Some(estimate);
            }
        }
        decisions.push(decision);
    }
    nests
}
