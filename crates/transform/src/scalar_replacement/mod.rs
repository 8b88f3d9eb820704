//! Scalar replacement: reuses values that a lane has loaded, stored or computed before, also across iterations.
//!
//! Requires: Stage::Canonical.  Ensures: Stage::Canonical.
//! Invariant: blocks and calls keep their names; the pass adds loads, operations, address arithmetic, φs, and blocks on split
//! critical edges where it inserts code. A lane loads nothing new unless the address is proved dereferenceable, so no lane
//! faults where it did not. Without hoisting out of branches, no path through the function computes more than before.
//! After: Fukuhara & Takimoto, Scalar Replacement Considering Branch Divergence (2021). Differs in: solutions are fixed
//! points, where the algorithm of A.1 keeps answers given under open assumptions; loads are hoisted only where they are
//! anticipated or cannot fault, and not before loops without the value; values are forwarded from stores; hoisting has one
//! target, a dominating branch; insertion by costs.
//!
//! Each load and each costly operation propagates a query for its value backwards (`query`). If the value is available on
//! all paths, or on some and may be inserted on the others, φs replace the instruction (`emit`). Otherwise it may be hoisted
//! out of divergent branches (`hoist`), since a warp executes both sides anyway.
//!
//! Writes of other, racing lanes are unordered with a lane's loads. If lanes may race ([`RaceSemantics::Ordered`]), queries for
//! shared memory that the function writes stay inside their block.

mod anticipation;
pub(crate) mod emit;
mod hoist;
pub(crate) mod memory;
mod model;
mod query;
mod round;

use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, Edge, InitialShapes, PostDominatorTree, divergence};
use heddle_ir::entity::EntitySet;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::{Block, Function, Op, Value};

use std::fmt;

use crate::canonicalize::{lcssa, split_critical_edges};
use crate::cfg_analyses::CfgAnalyses;
use crate::fuse::MachineModel;
use crate::races::RaceSemantics;
use model::BlockFrequencies;
use round::{ReplacementRound, RoundContext, is_costly};

/// Placement of inserted and hoisted values.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum ReplacementVariant {
    /// Inserts wherever no path gets longer: scalar replacement as for sequential code.
    Srqp,
    /// Inserts only in blocks that no divergent branch controls.
    Esrqp,
    /// Inserts as `Esrqp`, and hoists out of all branches.
    SsrqpS,
    /// Inserts as `Esrqp`, and hoists out of divergent branches.
    #[default]
    Ssrqp,
    /// Inserts in blocks that run less often than the replaced instruction, also in sides of divergent branches; hoists if that
    /// reduces the function's estimated cost. Changes nothing if no placement pays.
    Cost,
}

impl ReplacementVariant {
    /// All variants.
    pub const ALL: [ReplacementVariant; 5] = [
        ReplacementVariant::Srqp,
        ReplacementVariant::Esrqp,
        ReplacementVariant::SsrqpS,
        ReplacementVariant::Ssrqp,
        ReplacementVariant::Cost,
    ];

    /// Returns the variant's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            ReplacementVariant::Srqp => "srqp",
            ReplacementVariant::Esrqp => "esrqp",
            ReplacementVariant::SsrqpS => "ssrqp_s",
            ReplacementVariant::Ssrqp => "ssrqp",
            ReplacementVariant::Cost => "cost",
        }
    }
}

/// Options of scalar replacement.
#[derive(Clone, Copy, Default, Debug)]
pub struct ReplacementOptions {
    /// Placement of inserted and hoisted values.
    pub variant: ReplacementVariant,
    /// Assumption about data races between lanes.
    pub races: RaceSemantics,
    /// Machine for the cost model.
    pub machine: MachineModel,
}

/// Blocks in which values may be inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InsertionPolicy {
    /// Wherever they are anticipated.
    Anywhere,
    /// Where no divergent branch controls.
    Convergent,
    /// Where a brush passes less often than at the replaced instruction.
    LessFrequent,
}

/// Branches that values are hoisted out of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HoistingPolicy {
    None,
    /// None, but records whether hoisting out of divergent branches is possible.
    Probe,
    Divergent,
    All,
}

/// Placement of values in one trial.
#[derive(Clone, Copy, Debug)]
struct ReplacementPolicy {
    insertion: InsertionPolicy,
    hoisting: HoistingPolicy,
}

/// Counts of changes to a function.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ReplacementStatistics {
    /// Replaced loads.
    pub loads: usize,
    /// Replaced operations.
    pub operations: usize,
    /// Instructions inserted at the ends of blocks.
    pub inserted: usize,
    /// Instructions hoisted out of branches.
    pub hoisted: usize,
    /// New φs.
    pub phis: usize,
}

impl ReplacementStatistics {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &ReplacementStatistics) {
        self.loads += other.loads;
        self.operations += other.operations;
        self.inserted += other.inserted;
        self.hoisted += other.hoisted;
        self.phis += other.phis;
    }
}

impl fmt::Display for ReplacementStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReplacementStatistics { loads, operations, inserted, hoisted, phis } = self;
        write!(
            f,
            "scalar replacement: {loads} loads and {operations} operations replaced; {inserted} inserted, {hoisted} hoisted, {phis} φs carry values"
        )
    }
}

/// Maximum number of rounds with insertions, and of rounds without.
const MAX_ROUNDS: usize = 4;

/// Replaces loads and operations by available values.
pub fn replace_scalars(func: &mut Function, options: &ReplacementOptions) -> ReplacementStatistics {
    if crate::divergent_loops::is_sequential(func) || !has_candidates(func) || sees_passive_lanes(func) {
        return ReplacementStatistics::default();
    }
    let policies: &[ReplacementPolicy] = match options.variant {
        ReplacementVariant::Srqp => {
            &[ReplacementPolicy { insertion: InsertionPolicy::Anywhere, hoisting: HoistingPolicy::None }]
        }
        ReplacementVariant::Esrqp => {
            &[ReplacementPolicy { insertion: InsertionPolicy::Convergent, hoisting: HoistingPolicy::None }]
        }
        ReplacementVariant::SsrqpS => {
            &[ReplacementPolicy { insertion: InsertionPolicy::Convergent, hoisting: HoistingPolicy::All }]
        }
        ReplacementVariant::Ssrqp => &[ReplacementPolicy {
            insertion: InsertionPolicy::Convergent,
            hoisting: HoistingPolicy::Divergent,
        }],
        ReplacementVariant::Cost => &[
            ReplacementPolicy { insertion: InsertionPolicy::LessFrequent, hoisting: HoistingPolicy::Probe },
            ReplacementPolicy {
                insertion: InsertionPolicy::LessFrequent,
                hoisting: HoistingPolicy::Divergent,
            },
        ],
    };
    if let [policy] = policies {
        let prepared = ReplacementAnalyses::new(func);
        return prepared.replace(func, options, *policy).0;
    }
    let costs = |func: &Function| {
        let control = ControlTables::new(func);
        let initial = InitialShapes::declared(func, options.machine.geometry());
        model::cost(func, &control, &divergence(func, &control, &initial), options.machine)
    };
    let mut source = func.clone();
    let prepared = ReplacementAnalyses::new(&mut source);
    let (mut least, mut best) = (None, None);
    // If nothing can be hoisted, the policy with hoisting gives the same result.
    let mut could_hoist = true;
    for &policy in policies {
        if policy.hoisting == HoistingPolicy::Divergent && !could_hoist {
            continue;
        }
        let mut trial = source.clone();
        let (replaced, could) = prepared.replace(&mut trial, options, policy);
        could_hoist = could;
        if replaced == ReplacementStatistics::default() {
            continue;
        }
        // Dead address computations do not count.
        crate::simplify::dead::remove_dead(&mut trial);
        let (cost, least) = (costs(&trial), least.get_or_insert_with(|| costs(func)));
        if cost < *least {
            *least = cost;
            best = Some((trial, replaced));
        }
    }
    let Some((trial, replaced)) = best else { return ReplacementStatistics::default() };
    *func = trial;
    replaced
}

/// Analyzes divergence for an unknown brush.
fn analyze_divergence(func: &Function, control: &ControlTables) -> Divergence {
    let geometry = Geometry { dimensions: MAX_DIMENSIONS as u32, ..Geometry::unknown() };
    divergence(func, control, &InitialShapes::declared(func, geometry))
}

/// Analyses of the function after its critical edges are split.
struct ReplacementAnalyses {
    /// Number of blocks before the split.
    blocks: usize,
    control: ControlTables,
    post_dominators: PostDominatorTree,
    facts: Divergence,
    convergent_blocks: EntitySet<Block>,
    frequency: BlockFrequencies,
}

impl ReplacementAnalyses {
    fn new(func: &mut Function) -> ReplacementAnalyses {
        let blocks = func.block_count();
        let flow = CfgAnalyses::new(func);
        let forest = flow.forest();
        // Exit edges of loops are not split, so each exit block keeps its loop as the only predecessor.
        let stays =
            |edge: Edge| forest.innermost(edge.from).is_none_or(|cycle| forest.contains(cycle, edge.to));
        split_critical_edges(func, stays);
        let control = ControlTables::new(func);
        let facts = analyze_divergence(func, &control);
        ReplacementAnalyses {
            blocks,
            post_dominators: PostDominatorTree::new(&control.cfg),
            convergent_blocks: facts.region_of_nondivergence(&control),
            frequency: model::frequencies(func, &control, &facts),
            facts,
            control,
        }
    }

    /// Replaces scalars in the function or a copy of it. Returns the counts, and true if hoisting was possible.
    fn replace(
        &self,
        func: &mut Function,
        options: &ReplacementOptions,
        policy: ReplacementPolicy,
    ) -> (ReplacementStatistics, bool) {
        let ReplacementAnalyses { control, post_dominators, facts, convergent_blocks, frequency, .. } = self;
        let races = options.races;
        let (mut replaced, mut could_hoist) = (ReplacementStatistics::default(), false);
        // If a round with insertions changes nothing, one without does not either.
        'rounds: for inserts in [true, false] {
            for _ in 0..MAX_ROUNDS {
                let around = RoundContext {
                    control,
                    post_dominators,
                    facts,
                    convergent_blocks,
                    frequency,
                    races,
                    policy,
                    inserts,
                };
                let mut round = ReplacementRound::new(func, around);
                round.run();
                could_hoist |= round.could_hoist;
                let found = round.finish();
                replaced.add(&found);
                if found == ReplacementStatistics::default() {
                    break 'rounds;
                }
            }
        }
        drop_empty_blocks(func, self.blocks);
        lcssa::close_loops(func, &CfgAnalyses::new(func));
        (replaced, could_hoist)
    }
}

fn has_candidates(func: &Function) -> bool {
    let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
    insts.any(|inst| func.inst(inst).op == Op::Load || is_costly(func, inst))
}

/// True if lanes read values of lanes that are not active.
fn sees_passive_lanes(func: &Function) -> bool {
    func.blocks().any(|block| {
        func.predicate(block).is_some() || crate::simplify::values::observes_passive_lanes(func, block)
    })
}

/// Removes blocks on split edges that are still empty.
fn drop_empty_blocks(func: &mut Function, before: usize) {
    use crate::edges::{phis, retarget, set_incoming};
    let flow = CfgAnalyses::new(func);
    let new: Vec<Block> = func.blocks().filter(|block| block.as_u32() as usize >= before).collect();
    for block in new {
        let (&[from], &[to]) = (flow.cfg.preds(block), func.successors(block)) else { continue };
        let is_empty = func.layout.first_inst(block) == func.terminator(block);
        if !is_empty || func.successors(from).contains(&to) {
            continue;
        }
        for phi in phis(func, to) {
            let incoming: Vec<(Block, Value)> = func
                .inst(phi)
                .incoming()
                .map(|(pred, value)| (if pred == block { from } else { pred }, value))
                .collect();
            set_incoming(func, phi, incoming);
        }
        retarget(func, from, block, to);
        func.remove_block(block);
    }
}
