//! Flattens nests of divergent loops into one loop, in which each lane proceeds independently.
//!
//! Requires: Stage::Canonical.  Ensures: Stage::Canonical.
//! Invariant: blocks keep their names, and instructions stay in place; the pass adds only empty blocks, branches, comparisons
//! and φs. Each lane executes the same operations in the same order; only the sets of lanes that run together change. A
//! flattened nest has one back edge, and one exiting block, its latch.
//! After: Bulavintsev, Flattening of Data-Dependent Nested Loops, section III. Differs in the cut of the nest, in a single
//! latch for all back edges and exits, and in the cost model.
//!
//! ```text
//!       P                      P
//!       │                      │
//!       ▼                      ▼                state: the next block of each lane. Initially the payload A, then
//!   ┌►  A                  ┌►  N ───┐           always an iteration of B
//!   │   │                  │   │    ▼
//!   │   ▼                  │   ▼    A ◄─┐       lanes that leave B continue with C and with the A of the next
//!   │ ┌►B                  │   B    │   │       iteration, while the others wait at L for at most one iteration
//!   │ └─┤                  │  ╱ ╲   │   │       of B
//!   │   ▼                  │ │   ▼  │   │
//!   └── C                  │ │   C ─│───┘       C jumps to A directly if no path through A and C bypasses B
//!       │                  │ ▼   ▼  ▼           (else it jumps to L, with the state A)
//!       ▼                  └───  L
//!       X                        ▼              L: the only exit. Lanes that have left C or B for good wait for the
//!                                X              others of this iteration, no longer
//! ```
//!
//! The paper cuts between C and A. Cut between A and B, N's branch is uniform even if A has the exit of the outer loop, and
//! all exits pass L. So a stack of reconvergence points at immediate post-dominators joins lanes at L in each iteration, as
//! the greedy schedule does.
//!
//! Several inner loops become several states. Nested nests are flattened from the innermost outward. `carry` adds φs for
//! values that are defined before B and read in B or later, in the states in which they are live.
//!
//! Lanes end up in different iterations, so nothing may observe which lanes are together: `refusal` finds what does. `model`
//! estimates the gain.

mod carry;
mod model;
mod refusal;
mod rewrite;

use crate::fuse::MachineModel;
use crate::races::RaceSemantics;
use std::collections::BTreeMap;

use heddle_analysis::divergence::Divergence;
use heddle_analysis::{ControlTables, Cycle, CycleForest};
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function};

use crate::canonicalize::lcssa;
use crate::cfg_analyses::CfgAnalyses;
pub use model::{FlattenEstimate, JointIterations, TripCounts};
pub use refusal::{FlattenRefusal, FlattenRule};
use rewrite::LoopNest;

/// Nests to flatten, if that is legal.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum FlattenPolicy {
    /// Nests of divergent loops with an estimated gain; on a CPU only with known trip counts.
    #[default]
    Model,
    /// All nests.
    Force,
    /// None.
    None,
}

/// Options of flattening.
#[derive(Clone, Debug)]
pub struct FlattenOptions {
    /// Nests to flatten.
    pub policy: FlattenPolicy,
    /// Assumption about data races between lanes.
    pub races: RaceSemantics,
    /// Number of lanes that run together, for the model.
    pub lanes: u32,
    /// Machine, for the model.
    pub machine: MachineModel,
    /// Known trip counts, by loop header.
    pub trips: BTreeMap<Block, TripCounts>,
    /// Headers of outer loops to flatten regardless of the policy.
    pub requested: EntitySet<Block>,
}

impl Default for FlattenOptions {
    fn default() -> FlattenOptions {
        FlattenOptions {
            policy: FlattenPolicy::Model,
            races: RaceSemantics::Ordered,
            lanes: 32,
            machine: MachineModel::Warps,
            trips: BTreeMap::new(),
            requested: EntitySet::new(),
        }
    }
}

/// Outcome for a nest.
#[derive(Clone, PartialEq, Debug)]
pub enum FlattenVerdict {
    /// The nest is one loop now.
    Flattened,
    /// Not profitable by the model, or excluded by the policy.
    Unchanged,
    /// Illegal to flatten.
    Refused(FlattenRefusal),
}

/// Decision about a nest.
#[derive(Clone, PartialEq, Debug)]
pub struct FlattenDecision {
    /// Name of the function.
    pub func: String,
    /// Header of the outer loop.
    pub outer: Block,
    /// Headers of the inner loops to flatten.
    pub inner: Vec<Block>,
    /// Outcome.
    pub verdict: FlattenVerdict,
    /// Estimate of the model; none if the nest was refused before.
    pub estimate: Option<FlattenEstimate>,
}

impl FlattenDecision {
    /// Describes the decision; `source` is the function before it was flattened.
    pub fn describe(&self, source: &Function) -> String {
        let inner: Vec<String> = self.inner.iter().map(|&block| source.describe_block(block)).collect();
        let nest = format!(
            "loop at {} with the inner loop at {}",
            source.describe_block(self.outer),
            inner.join(" and ")
        );
        let verdict = match &self.verdict {
            FlattenVerdict::Flattened => "flattened".to_string(),
            FlattenVerdict::Unchanged => "not flattened".into(),
            FlattenVerdict::Refused(reason) => format!("not flattened: {reason}"),
        };
        match &self.estimate {
            Some(estimate) => format!("{nest} {verdict}: {estimate}"),
            None => format!("{nest} {verdict}"),
        }
    }
}

/// Analyses that flattening needs; none for code that one thread executes.
pub type FlattenAnalyses = Option<(ControlTables, Divergence)>;

/// Flattens the nests of a function. `facts` analyzes the function's current state; it is called once per level of nests.
pub fn flatten(
    func: &mut Function,
    mut facts: impl FnMut(&Function) -> FlattenAnalyses,
    options: &FlattenOptions,
) -> Vec<FlattenDecision> {
    let mut decisions = Vec::new();
    let mut options = options.clone();
    // Headers of outer loops that are decided.
    let mut settled: EntitySet<Block> = EntitySet::new();
    while let Some((control, divergence)) = facts(func) {
        let memory = refusal::SharedMemoryEffects::new(func, &control, &divergence);
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

/// True if a function has nested loops.
pub fn has_nests(func: &Function) -> bool {
    holds_nests(CfgAnalyses::new(func).forest())
}

fn holds_nests(forest: &CycleForest) -> bool {
    forest.cycles().any(|cycle| forest.parent(cycle).is_some())
}

/// Chooses disjoint nests to flatten next, inner ones first, with the trip counts of the flattened loops.
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
    let mut contains_chosen: EntitySet<Cycle> = EntitySet::new();
    if !holds_nests(forest) {
        return nests;
    }
    let costs = model::FlattenCosts::new(func, control, options);
    for outer in forest.cycles().rev() {
        if contains_chosen.contains(outer) {
            if let Some(around) = forest.parent(outer) {
                contains_chosen.insert(around);
            }
            continue;
        }
        let header = forest.header(outer);
        let is_requested = options.requested.contains(header);
        if options.policy == FlattenPolicy::None && !is_requested {
            continue;
        }
        let is_forced = options.policy == FlattenPolicy::Force || is_requested;
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
            verdict: FlattenVerdict::Unchanged,
            estimate: None,
        };
        match memory.check(outer, options.races) {
            Err(reason) => decision.verdict = FlattenVerdict::Refused(reason),
            Ok(()) => {
                let (estimate, trips) = costs.estimate(outer, &inner, options);
                // On a CPU guesses do not pay: lanes with equal trip counts would diverge for nothing. Nor do loops that a
                // profiled run did not reach.
                let may_guess = matches!(options.machine, MachineModel::Warps) && options.trips.is_empty();
                let has_trip_counts = may_guess || inner.iter().any(is_known);
                if is_forced || has_trip_counts && estimate.pays() {
                    decision.verdict = FlattenVerdict::Flattened;
                    nests.push((LoopNest::new(control, outer, &inner), trips));
                    if let Some(around) = forest.parent(outer) {
                        contains_chosen.insert(around);
                    }
                }
                decision.estimate = Some(estimate);
            }
        }
        decisions.push(decision);
    }
    nests
}
