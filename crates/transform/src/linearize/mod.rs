//! Linearizes divergent branches into predicated straight-line code and keeps uniform ones.
//!
//! Requires: Stage::Uniform; no branch in `divergent` influences how a loop exits.  Ensures: Stage::Linear.
//! Invariants: no block and no branch is added; blocks keep their names and their topological order; a block whose
//! predicate is uniform has none.
//! After: S. Moll, *The Region Vectorizer*, chapter 8.
//!
//! ```text
//!     block2: br v13, block3, block5      block2: br block3             v13 is divergent: block2 gets one successor,
//!        │         │                          │                         the other target is deferred;
//!        │         ▼                          ▼
//!        │    block3: br v2, …           block3 [v13]: br v2, …         v2 is uniform: block3 keeps its branch,
//!        │     │         │                   │         │                relative to its active lanes;
//!        │     │         ▼                   │         ▼
//!        │     │      block4                 │    block4 [v13]
//!        ▼     ▼         │                   ▼         │
//!     block5 ◄───────────┘                block5 ◄─────┘                all lanes of block2 reach block5.
//! ```
//!
//! * [`linearize_edges()`] computes the new edges: Listing 8 on the graph without back edges.
//! * `masks` computes edge masks and predicates.
//! * `joins` determines where a join's masks and values are computed: at the join if every path passes all its edges,
//!   else along the paths between kept branches.
//! * `select_phis` replaces φs by selects, wholly or in part.
//! * `clean_masks` simplifies disjunctions of masks.
//! * `dominance_repair` inserts φs where dead ends break dominance.
//! * `refusal` diagnoses what cannot be linearized; [`find_linearizable_branches()`] returns what can be.
//! * `empty_loops` exits kept loops whose mask is empty.
//!
//! All steps follow the block index on the graph without back edges: the mask of an edge into a join stands for "taken
//! in this iteration" and is independent of earlier iterations.
//!
//! *Dead ends.* Listing 8 assumes a single exit. Blocks that end in `unreachable`, and latches of loops without exits, get
//! an artificial edge to the `ret`. If no block is deferred there, the edge is dropped again. Otherwise `unreachable`
//! becomes a jump (its lanes have undefined behaviour), and the endless loop gets an exit for the case that its mask is
//! empty. Only this case adds a branch.

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

use heddle_analysis::{BlockIndex, Cfg, CycleForest, DominatorTree, PostDominatorTree};
use heddle_ir::Diagnostic;
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function, InstData, Op, Value};

use crate::canonicalize::unreachable::remove_unreachable;

/// Linearizes the branches of these blocks; jumps are ignored. A function that is refused stays unchanged.
pub fn linearize(func: &mut Function, divergent: &EntitySet<Block>) -> Result<(), Diagnostic> {
    linearize_with(func, divergent, linearize_edges)
}

/// Linearizes with another algorithm for the new edges. Each lane that took an old edge must reach its target on every
/// path from the new successor.
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
    let dominators = DominatorTree::new(&cfg);
    let index = BlockIndex::new(&cfg, &dominators, &cycles);
    refusal::check_exits(func, &cfg, &cycles, &dominators, &index, divergent)?;
    let edges = find_edges(&cfg, &cycles, &index, divergent, &dead_ends);
    let dag = forward_graph(&cfg, &cycles, &index, &edges);
    let dag_dominators = DominatorTree::new(&dag);

    let graphs = LinearGraphs {
        post_dominators: PostDominatorTree::new(&iteration_graph(&cfg, &cycles)),
        cfg: &cfg,
        cycles: &cycles,
        dominators: &dominators,
        index: &index,
        edges: &edges,
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

/// Control flow before and after linearization.
struct LinearGraphs<'a> {
    /// Old graph, with the artificial edges out of dead ends.
    cfg: &'a Cfg,
    cycles: &'a CycleForest,
    dominators: &'a DominatorTree,
    /// Post-dominators of the graph of a single iteration.
    post_dominators: PostDominatorTree,
    index: &'a BlockIndex,
    edges: &'a LinearEdges,
    dead_ends: &'a EntitySet<Block>,
    /// New graph, without back edges.
    joins: joins::JoinGraph<'a>,
}

impl LinearGraphs<'_> {
    fn is_back_edge(&self, from: Block, to: Block) -> bool {
        self.cycles.is_retreating(heddle_analysis::Edge { from, to })
    }

    /// True if the same lanes reach both blocks, and control reaches the lower one from the upper one only.
    fn shares_lanes(&self, above: Block, below: Block) -> bool {
        self.post_dominators.post_dominates(below, above) && self.joins.dominates(above, below)
    }

    fn number(&self, block: Block) -> usize {
        self.index.number(block).expect("the block is reachable")
    }
}

/// Returns the function's graph with edges from dead ends to the `ret`, and the dead ends.
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
    // After the block's own edges, since edges are numbered.
    edges.extend(dead_ends.iter().map(|block| (block, ret)));
    (Cfg::from_edges(func.block_count(), func.entry(), edges), dead_ends)
}

/// Graph of a single iteration: back edges lead to the loop's exits instead. A uniform loop is a unit, so what only the
/// next iteration reaches is not reached.
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

/// New graph without back edges.
fn forward_graph(cfg: &Cfg, cycles: &CycleForest, index: &BlockIndex, linear: &LinearEdges) -> Cfg {
    let edges = index.order().iter().flat_map(|&from| {
        let forward = move |to: &Block| !cycles.is_retreating(heddle_analysis::Edge { from, to: *to });
        linear.targets(from).iter().copied().filter(forward).map(move |to| (from, to))
    });
    Cfg::from_edges(cfg.num_blocks(), cfg.entry(), edges)
}

/// Writes the new edges into the terminators.
fn set_targets(func: &mut Function, graphs: &LinearGraphs<'_>) {
    for &block in graphs.index.order() {
        let targets = graphs.edges.targets(block);
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
            // Only endless loops get a branch; `empty_loops` sets its condition.
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

/// Condition of a block's branch.
fn condition(func: &Function, block: Block) -> Option<Value> {
    let inst = func.inst(func.terminator(block)?);
    (inst.op == Op::Br).then(|| inst.args.first().copied()).flatten()
}
