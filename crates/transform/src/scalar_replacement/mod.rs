//! Scalar replacement: values that a lane has loaded, stored or computed before are kept, also from one iteration to the next.
//!
//! Requires: Stage::Canonical.  Ensures: Stage::Canonical.
//! Invariant: blocks and calls keep their names; what is new is loads, operations, address arithmetic, φs, and empty blocks on
//! critical edges where something is inserted. A lane loads nothing that it did not load before, unless that is proved to be
//! there: so no lane can fault where it did not. Unless values are hoisted out of branches, no way through the function
//! computes more than before.
//! After: Fukuhara & Takimoto, Scalar Replacement Considering Branch Divergence (2021). Differs in: solutions are fixed
//! points, where the algorithm of A.1 keeps answers that were given while others were open; loads are hoisted only where they
//! are anticipated or cannot fault, and not in front of loops that hold nothing; values are forwarded from stores; hoisting
//! has one target, a branch that dominates; insertion by costs.
//!
//! Each load, and each operation that costs something, asks what its value is on the ways that lead to it (`question`). If it
//! is there on all, or on some and may be inserted on the others, φs take its place (`emit`). If not, it may be hoisted out of
//! divergent branches (`hoist`): a warp passes both sides anyway.
//!
//! What lanes write is between two loads of another lane in no order that the code tells of, if they race. Where they may
//! ([`RaceSemantics::Ordered`]), memory that lanes share and the function writes is followed inside of a block only.

mod address;
mod anticipation;
mod emit;
mod hoist;
mod memory;
mod model;
mod question;
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

/// Where values are inserted and hoisted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum ReplacementVariant {
    /// Inserted wherever that lengthens no way: scalar replacement as for sequential code.
    Srqp,
    /// Inserted only where no divergent branch decides.
    Esrqp,
    /// The same, and hoisted out of all branches.
    SsrqpS,
    /// The same, and hoisted out of divergent branches.
    #[default]
    Ssrqp,
    /// Inserted where that is done less often than what it saves, be it into sides of divergent branches; hoisted or not, by
    /// what the function costs then. Or nothing, if nothing pays.
    Cost,
}

impl ReplacementVariant {
    /// All of them.
    pub const ALL: [ReplacementVariant; 5] = [
        ReplacementVariant::Srqp,
        ReplacementVariant::Esrqp,
        ReplacementVariant::SsrqpS,
        ReplacementVariant::Ssrqp,
        ReplacementVariant::Cost,
    ];

    /// The word for it.
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

/// How scalars are replaced.
#[derive(Clone, Copy, Default, Debug)]
pub struct ReplacementOptions {
    /// Where values go.
    pub variant: ReplacementVariant,
    /// What is known of races.
    pub races: RaceSemantics,
    /// What the code is for, if costs are asked.
    pub machine: MachineModel,
}

/// A rule of those that keep programs right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplacementRule {
    /// Stores change what they may touch.
    Aliases,
    /// Barriers, atomics and calls change what lanes share.
    Fences,
    /// Operands are what they were only as far as their definitions.
    Definitions,
    /// φs are replaced by what comes along the edge.
    Edges,
    /// What is inserted is anticipated.
    Anticipation,
    /// What is hoisted is there, for lanes that do not need it.
    Harmless,
    /// Lanes that may race are looked at.
    Races,
    /// Loads have the type of what they are replaced by.
    Types,
    /// Values that stand for others promise no more.
    Promises,
}

impl ReplacementRule {
    /// All of them.
    pub const ALL: [ReplacementRule; 9] = [
        ReplacementRule::Aliases,
        ReplacementRule::Fences,
        ReplacementRule::Definitions,
        ReplacementRule::Edges,
        ReplacementRule::Anticipation,
        ReplacementRule::Harmless,
        ReplacementRule::Races,
        ReplacementRule::Types,
        ReplacementRule::Promises,
    ];
}

/// Where values may be inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InsertionPolicy {
    /// Wherever they are anticipated.
    Anywhere,
    /// Where all lanes are together.
    Together,
    /// Where a brush comes by less often than where they are needed.
    Seldom,
}

/// Out of which branches values are hoisted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HoistingPolicy {
    None,
    /// None, but it is seen whether something could be hoisted out of divergent ones.
    Seen,
    Divergent,
    All,
}

/// Where values go.
#[derive(Clone, Copy, Debug)]
struct ReplacementPolicy {
    insertion: InsertionPolicy,
    hoisting: HoistingPolicy,
}

/// What was done to a function.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ReplacementStatistics {
    /// Loads that are gone.
    pub loads: usize,
    /// Operations that are gone.
    pub operations: usize,
    /// Instructions that were inserted at the ends of blocks.
    pub inserted: usize,
    /// Instructions that were hoisted out of branches.
    pub hoisted: usize,
    /// φs that carry values.
    pub phis: usize,
}

impl ReplacementStatistics {
    /// Adds up.
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
            "{loads} loads and {operations} operations are replaced by values that are there; {inserted} are inserted, \
             {hoisted} hoisted, {phis} φs carry values"
        )
    }
}

/// The most often that a function is looked at with insertions, and then without.
const MOST_ROUNDS: usize = 4;

/// Replaces loads and operations by values that are there.
pub fn replace_scalars(func: &mut Function, options: &ReplacementOptions) -> ReplacementStatistics {
    replace_scalars_without(func, options, None)
}

/// The same without one of the rules: wrong, so that tests can see whether they notice.
pub fn replace_scalars_without(
    func: &mut Function,
    options: &ReplacementOptions,
    without: Option<ReplacementRule>,
) -> ReplacementStatistics {
    if crate::divergent_loops::is_sequential(func) || !has_candidates(func) || sees_passive_lanes(func) {
        return ReplacementStatistics::default();
    }
    let policies: &[ReplacementPolicy] = match options.variant {
        ReplacementVariant::Srqp => {
            &[ReplacementPolicy { insertion: InsertionPolicy::Anywhere, hoisting: HoistingPolicy::None }]
        }
        ReplacementVariant::Esrqp => {
            &[ReplacementPolicy { insertion: InsertionPolicy::Together, hoisting: HoistingPolicy::None }]
        }
        ReplacementVariant::SsrqpS => {
            &[ReplacementPolicy { insertion: InsertionPolicy::Together, hoisting: HoistingPolicy::All }]
        }
        ReplacementVariant::Ssrqp => {
            &[ReplacementPolicy { insertion: InsertionPolicy::Together, hoisting: HoistingPolicy::Divergent }]
        }
        ReplacementVariant::Cost => &[
            ReplacementPolicy { insertion: InsertionPolicy::Seldom, hoisting: HoistingPolicy::Seen },
            ReplacementPolicy { insertion: InsertionPolicy::Seldom, hoisting: HoistingPolicy::Divergent },
        ],
    };
    if let [policy] = policies {
        let prepared = ReplacementAnalyses::new(func);
        return prepared.replace(func, options, *policy, without).0;
    }
    let costs = |func: &Function| {
        let control = ControlTables::new(func);
        let initial = InitialShapes::declared(func, options.machine.geometry());
        model::cost(func, &control, &divergence(func, &control, &initial), options.machine)
    };
    let mut source = func.clone();
    let prepared = ReplacementAnalyses::new(&mut source);
    let (mut least, mut best) = (None, None);
    // Where nothing can be hoisted, those that may hoist do the same as those that may not.
    let mut could_hoist = true;
    for &policy in policies {
        if policy.hoisting == HoistingPolicy::Divergent && !could_hoist {
            continue;
        }
        let mut trial = source.clone();
        let (replaced, could) = prepared.replace(&mut trial, options, policy, without);
        could_hoist = could;
        if replaced == ReplacementStatistics::default() {
            continue;
        }
        // What only computes addresses that nothing reads any more is no cost.
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

/// What diverges, whatever the brush.
fn facts(func: &Function, control: &ControlTables) -> Divergence {
    let geometry = Geometry { dimensions: MAX_DIMENSIONS as u32, ..Geometry::unknown() };
    divergence(func, control, &InitialShapes::declared(func, geometry))
}

/// What is known of a function whose critical edges are split, before anything is replaced.
struct ReplacementAnalyses {
    /// How many blocks it had before.
    blocks: usize,
    control: ControlTables,
    post_dominators: PostDominatorTree,
    facts: Divergence,
    together: EntitySet<Block>,
    frequency: BlockFrequencies,
}

impl ReplacementAnalyses {
    fn new(func: &mut Function) -> ReplacementAnalyses {
        let blocks = func.block_count();
        let flow = CfgAnalyses::new(func);
        let forest = flow.forest();
        // Exits of loops stay as they are, so that they are left from those loops only.
        let stays =
            |edge: Edge| forest.innermost(edge.from).is_none_or(|cycle| forest.contains(cycle, edge.to));
        split_critical_edges(func, stays);
        let control = ControlTables::new(func);
        let facts = facts(func, &control);
        ReplacementAnalyses {
            blocks,
            post_dominators: PostDominatorTree::new(&control.cfg),
            together: facts.region_of_nondivergence(&control),
            frequency: model::frequencies(func, &control, &facts),
            facts,
            control,
        }
    }

    /// Replaces scalars of that function, or of a copy of it; and whether something could be hoisted, if that was to be seen.
    fn replace(
        &self,
        func: &mut Function,
        options: &ReplacementOptions,
        policy: ReplacementPolicy,
        without: Option<ReplacementRule>,
    ) -> (ReplacementStatistics, bool) {
        let ReplacementAnalyses { control, post_dominators, facts, together, frequency, .. } = self;
        let races = options.races;
        let (mut replaced, mut could_hoist) = (ReplacementStatistics::default(), false);
        // Where nothing is found with insertions, nothing is found without.
        'rounds: for inserts in [true, false] {
            for _ in 0..MOST_ROUNDS {
                let around = RoundContext {
                    control,
                    post_dominators,
                    facts,
                    together,
                    frequency,
                    races,
                    policy,
                    inserts,
                    without,
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

/// Whether lanes read what they did not compute.
fn sees_passive_lanes(func: &Function) -> bool {
    func.blocks().any(|block| {
        func.predicate(block).is_some() || crate::simplify::values::sees_passive_lanes(func, block)
    })
}

/// Takes out blocks that were put on edges, where nothing was inserted.
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
