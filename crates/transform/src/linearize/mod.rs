//! Folds divergent branches into straight-line, predicated code and keeps uniform ones.
//!
//! Requires: Stage::Uniform, no branch in `divergent` has a say in how a loop is left.  Ensures: Stage::Linear.
//! Invariants: no block is added and no branch; blocks keep their names and their topological order; a block whose
//! predicate is uniform has none.
//! After: S. Moll, *The Region Vectorizer*, chapter 8.
//!
//! ```text
//!     block2: br v13, block3, block5      block2: br block3             v13 diverges, so block2 goes to one target
//!        │         │                          │                         and the other one is deferred;
//!        │         ▼                          ▼
//!        │    block3: br v2, …           block3 [v13]: br v2, …         v2 does not, so block3 keeps its branch,
//!        │     │         │                   │         │                relative to those that are there;
//!        │     │         ▼                   │         ▼
//!        │     │      block4                 │    block4 [v13]
//!        ▼     ▼         │                   ▼         │
//!     block5 ◄───────────┘                block5 ◄─────┘                all lanes of block2 comes to block5.
//! ```
//!
//! * [`linearize_edges()`] finds the new edges: Listing 8 on the graph without back edges.
//! * `masks` says which lanes are meant by an edge or a block.
//! * `joins` finds where masks and values of a join are to be had: at the join, where all edges come past, or under
//!   way, where branches were kept.
//! * `select_phis` turns φs into selects, or leaves them, or both.
//! * `clean_masks` finds masks that are others.
//! * `dominance_repair` repairs what a dead end cut off.
//! * `refusal` says what cannot be folded; [`find_linearizable_branches()`] what can, wanted or not.
//! * `empty_loops` leads control out of kept loops that no lane is in.
//!
//! Everything happens in the order of the block index, on the graph without back edges: an edge into a join that
//! stands for "taken in this iteration" has nothing to do with the iteration before.
//!
//! *Dead ends.* Listing 8 is about graphs with one exit. A block that ends in `unreachable`, and the latch of a loop
//! without exits, count as if they also led to the `ret`. If nothing is deferred there, that edge is dropped again. If
//! something is, `unreachable` becomes a jump (a lane that comes there has no say any more), and the endless loop gets its
//! only exit, for when no lane is in it. That is the one case in which a branch is added.

mod clean_masks;
mod empty_loops;
mod linear_edges;
mod linearizable;
mod joins;
mod masks;
mod dominance_repair;
pub mod refusal;
mod select_phis;

pub use linear_edges::{LinearEdges, linearize_edges};
pub use linearizable::find_linearizable_branches;

use heddle_analysis::{BlockIndex, Cfg, CycleForest, Dominators, PostDominators};
use heddle_ir::Diagnostic;
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function, InstData, Op, Value};

use crate::canonicalize::unreachable::remove_unreachable;

/// Folds the branches of these blocks; a block that leads to one place only has none. What is refused stays as it was.
pub fn linearize(func: &mut Function, divergent: &EntitySet<Block>) -> Result<(), Diagnostic> {
    linearize_with(func, divergent, linearize_edges)
}

/// The same, where the new edges are found in another way. Each lane that took an edge must come to its target by all ways
/// that lead on from where control goes instead.
pub fn linearize_with(
    func: &mut Function,
    divergent: &EntitySet<Block>,
    find_edges: impl FnOnce(&Cfg, &CycleForest, &BlockIndex, &EntitySet<Block>, &EntitySet<Block>) -> LinearEdges,
) -> Result<(), Diagnostic> {
    debug_assert!(
        func.blocks().all(|block| func.predicate(block).is_none()),
        "@{} has predicates already",
        func.name
    );
    let first_new = func.inst_count();
    let is_conditional = |block: &Block| func.successors(*block).windows(2).any(|pair| pair[0] != pair[1]);
    let divergent =
        &func.blocks().filter(|block| divergent.contains(*block) && is_conditional(block)).collect();
    let (cfg, dead_ends) = closed_graph(func);
    let cycles = CycleForest::new(&cfg);
    let dominators = Dominators::new(&cfg);
    let index = BlockIndex::new(&cfg, &dominators, &cycles);
    refusal::check_exits(func, &cfg, &cycles, &dominators, &index, divergent)?;
    let folded = find_edges(&cfg, &cycles, &index, divergent, &dead_ends);
    let dag = forward_graph(&cfg, &cycles, &index, &folded);
    let dag_dominators = Dominators::new(&dag);

    let graphs = LinearGraphs {
        post_dominators: PostDominators::new(&iteration_graph(&cfg, &cycles)),
        cfg: &cfg,
        cycles: &cycles,
        dominators: &dominators,
        index: &index,
        folded: &folded,
        dead_ends: &dead_ends,
        joins: joins::JoinGraph::new(&dag, &dag_dominators),
    };
    refusal::check_lanes(func, &graphs, divergent)?;
    let mut masks = masks::EdgeMasks::new(&graphs);
    let mut replacements = select_phis::PhiReplacements::default();
    for &block in index.order() {
        let join = joins::JoinPoint::new(func, &graphs, block);
        masks.predicate(func, &join);
        select_phis::select_phis(func, &graphs, &mut masks, &join, &mut replacements);
    }
    set_targets(func, &graphs);
    replacements.apply(func);
    empty_loops::exit_empty_loops(func, &graphs);
    remove_unreachable(func);
    clean_masks::clean_masks(func, first_new);
    dominance_repair::restore_dominance(func);
    Ok(())
}

/// What is known of the control flow, before and behind.
struct LinearGraphs<'a> {
    /// The graph as it was, with the edges out of dead ends.
    cfg: &'a Cfg,
    cycles: &'a CycleForest,
    dominators: &'a Dominators,
    /// Of the graph as seen from within an iteration.
    post_dominators: PostDominators,
    index: &'a BlockIndex,
    folded: &'a LinearEdges,
    dead_ends: &'a EntitySet<Block>,
    /// The new graph, without back edges.
    joins: joins::JoinGraph<'a>,
}

impl LinearGraphs<'_> {
    fn is_back_edge(&self, from: Block, to: Block) -> bool {
        self.cycles.is_retreating(heddle_analysis::Edge { from, to })
    }

    /// Whether all lanes that come to the one block come to the other, and control with them.
    fn shares_lanes(&self, above: Block, below: Block) -> bool {
        self.post_dominators.post_dominates(below, above) && self.joins.dominates(above, below)
    }

    fn number(&self, block: Block) -> usize {
        self.index.number(block).expect("the block is reachable")
    }
}

/// The function's graph, where dead ends lead to the `ret`, and the dead ends.
fn closed_graph(func: &Function) -> (Cfg, EntitySet<Block>) {
    let mut edges: Vec<(Block, Block)> =
        func.blocks().flat_map(|from| func.successors(from).iter().map(move |&to| (from, to))).collect();
    let ends_in = |block: Block, op: Op| func.terminator(block).is_some_and(|inst| func.inst(inst).op == op);
    let mut dead_ends = EntitySet::new();
    let cfg = Cfg::from_edges(func.block_count(), func.entry(), edges.iter().copied());
    let Some(ret) = func.blocks().find(|&block| ends_in(block, Op::Ret)) else { return (cfg, dead_ends) };
    for block in func.blocks().filter(|&block| ends_in(block, Op::Unreachable)) {
        dead_ends.insert(block);
    }
    let cycles = CycleForest::new(&cfg);
    for cycle in cycles.cycles() {
        if cycles.exiting_edges(&cfg, cycle).next().is_none()
            && let Some(latch) = cycles.unique_latch(&cfg, cycle)
        {
            dead_ends.insert(latch);
        }
    }
    if dead_ends.is_empty() {
        return (cfg, dead_ends);
    }
    // Behind the block's own edges, since slots are counted.
    edges.extend(dead_ends.iter().map(|block| (block, ret)));
    (Cfg::from_edges(func.block_count(), func.entry(), edges), dead_ends)
}

/// The graph as it was, where what goes back leaves the loop instead: a uniform loop is a unit, and what comes only in
/// the next iteration does not come now.
pub fn iteration_graph(cfg: &Cfg, cycles: &CycleForest) -> Cfg {
    let mut edges = Vec::with_capacity(cfg.num_edges());
    for edge in cfg.edges() {
        match cycles.headed_by(edge.to).filter(|_| cycles.is_retreating(edge)) {
            Some(cycle) => edges.extend(cycles.exits(cfg, cycle).into_iter().map(|exit| (edge.from, exit))),
            None => edges.push((edge.from, edge.to)),
        }
    }
    Cfg::from_edges(cfg.num_blocks(), cfg.entry(), edges)
}

/// The new graph, without back edges.
fn forward_graph(cfg: &Cfg, cycles: &CycleForest, index: &BlockIndex, folded: &LinearEdges) -> Cfg {
    let edges = index.order().iter().flat_map(|&from| {
        let forward = move |to: &Block| !cycles.is_retreating(heddle_analysis::Edge { from, to: *to });
        folded.targets(from).iter().copied().filter(forward).map(move |to| (from, to))
    });
    Cfg::from_edges(cfg.num_blocks(), cfg.entry(), edges)
}

/// Writes the new edges into the terminators.
fn set_targets(func: &mut Function, graphs: &LinearGraphs<'_>) {
    for &block in graphs.index.order() {
        let targets = graphs.folded.targets(block);
        let terminator = func.terminator(block).expect("a complete block has a terminator");
        if targets.is_empty() || func.inst(terminator).targets() == targets {
            continue;
        }
        if func.inst(terminator).targets().len() == targets.len() {
            func.inst_mut(terminator).targets_mut().copy_from_slice(targets);
            continue;
        }
        let origin = func.inst(terminator).origin;
        let data = match *targets {
            [target] => InstData::jump(target),
            // Only endless loops get a branch; `empty_loops` has made its condition.
            _ => {
                debug_assert!(graphs.dead_ends.contains(block), "{block} got a branch");
                let always = func.make_bool(true);
                InstData::branch(always, targets[0], targets[1])
            }
        };
        func.remove_inst(terminator);
        let inst = func.make_inst(InstData { origin, ..data }, &[]);
        func.layout.append_inst(inst, block);
    }
}

/// The condition of a block's branch.
fn condition(func: &Function, block: Block) -> Option<Value> {
    let inst = func.inst(func.terminator(block)?);
    (inst.op == Op::Br).then(|| inst.args.first().copied()).flatten()
}
