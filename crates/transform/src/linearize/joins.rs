//! Paths of the edges into a join after linearization, and evaluation of a variable along them.
//!
//! ```text
//!     block2                  The edges into block5 were block2 ─► block5, block3 ─► block5, block4 ─► block5. If every
//!        │                    path to block5 passed all of them, block5 could select by the edge masks itself. Here
//!        ▼                    block3 kept its branch, and block4 does not always run. So block5 needs a variable that
//!     block3 ─────┐           is updated on the way: set after block2, unchanged on block3's edge, overwritten in
//!        │        │           block4 for the lanes active there, and merged in block5.
//!        ▼        ▼
//!     block4 ─► block5
//! ```
//!
//! The variable has one update for each predecessor of the join in the old graph, on the new edge that carries the old
//! one. The graph has no back edges, so the variable starts anew in each iteration. Updates on different edges concern
//! different lanes: a lane takes one edge into the join.

use heddle_analysis::{Cfg, DominanceFrontier, DominatorTree};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::{Block, Constant, Function, Inst, InstData, Type, Value};
use std::cell::OnceCell;

use super::LinearGraphs;
use crate::edges::{phis, prepend_phi, set_incoming};

/// Linearized graph without back edges, with the tables that evaluation needs.
pub(super) struct JoinGraph<'a> {
    dag: &'a Cfg,
    dominators: &'a DominatorTree,
    frontier: DominanceFrontier<'a>,
    /// Position in the pre-order of the dominator tree.
    position: SecondaryMap<Block, u32>,
}

impl<'a> JoinGraph<'a> {
    pub(super) fn new(dag: &'a Cfg, dominators: &'a DominatorTree) -> Self {
        let mut position = SecondaryMap::with_len(dag.num_blocks());
        for (number, &block) in dominators.pre_order().iter().enumerate() {
            position[block] = number as u32;
        }
        Self { dag, dominators, frontier: DominanceFrontier::new(dag, dominators), position }
    }

    pub(super) fn preds(&self, block: Block) -> &[Block] {
        self.dag.preds(block)
    }

    pub(super) fn dominates(&self, above: Block, below: Block) -> bool {
        self.dominators.dominates(above, below)
    }
}

/// Block with its forward edges before and after linearization.
pub(super) struct JoinPoint<'a> {
    graphs: &'a LinearGraphs<'a>,
    pub(super) block: Block,
    /// Old predecessors, each once, in the order of the block index.
    pub(super) sources: Vec<Block>,
    /// True if the predecessors are the same as before.
    pub(super) is_unchanged: bool,
    /// True if every path here passes all old edges.
    pub(super) all_edges_pass: bool,
    /// Old φs.
    pub(super) phis: Vec<Inst>,
    /// First instruction after the φs.
    head: Inst,
    plan: OnceCell<EvaluationPlan>,
}

impl<'a> JoinPoint<'a> {
    pub(super) fn new(func: &Function, graphs: &'a LinearGraphs<'a>, block: Block) -> Self {
        let mut sources: Vec<Block> = graphs
            .cfg
            .preds(block)
            .iter()
            .copied()
            .filter(|&from| !graphs.is_back_edge(from, block) && carrier(graphs, from, block).is_some())
            .collect();
        sources.sort_unstable_by_key(|&from| graphs.number(from));
        sources.dedup();
        let preds = graphs.joins.preds(block);
        let is_direct = |&from: &Block| carrier(graphs, from, block) == Some(block);
        let is_source = |pred: &Block| {
            sources.binary_search_by_key(&graphs.number(*pred), |&from| graphs.number(from)).is_ok()
        };
        let is_unchanged =
            sources.iter().all(is_direct) && sources.len() == preds.len() && preds.iter().all(is_source);
        let passes = |&from: &Block| match carrier(graphs, from, block) {
            Some(to) if graphs.edges.is_kept(from) => {
                graphs.joins.preds(to).len() == 1 && graphs.joins.dominates(to, block)
            }
            _ => graphs.joins.dominates(from, block),
        };
        let all_edges_pass = sources.iter().all(passes);
        Self {
            graphs,
            block,
            sources,
            is_unchanged,
            all_edges_pass,
            phis: phis(func, block),
            head: func.first_non_phi(block).expect("a complete block has a terminator"),
            plan: OnceCell::new(),
        }
    }

    /// Inserts an instruction after the φs, and after earlier insertions.
    pub(super) fn insert(&self, func: &mut Function, data: InstData, ty: Type) -> Value {
        let inst = func.make_inst(data, &[ty]);
        func.layout.insert_inst_before(inst, self.head);
        func.results(inst)[0]
    }

    /// Evaluates a variable at the join. `update` returns its value after an edge, given the source's number and the value
    /// before. Paths without a value give `default`. `make_phi` makes the φs, that of the join included.
    pub(super) fn evaluate(
        &self,
        func: &mut Function,
        default: Value,
        mut update: impl FnMut(&mut Function, usize, Option<Value>) -> Option<Value>,
        mut make_phi: impl FnMut(&mut Function, Block, InstData) -> Value,
    ) -> JoinInputs {
        let plan = self.plan.get_or_init(|| EvaluationPlan::new(self));
        let mut values: Vec<Option<Value>> = vec![None; plan.sites.len()];
        let mut at_join = JoinInputs::default();
        for &number in &plan.needed {
            let site = &plan.sites[number];
            let read = |values: &[Option<Value>], at: Option<usize>| at.and_then(|at| values[at]);
            values[number] = match &site.kind {
                UpdateSiteKind::Update { source, before } => update(func, *source, read(&values, *before)),
                UpdateSiteKind::Join(incoming) => {
                    let incoming: Vec<(Block, Option<Value>)> = incoming
                        .iter()
                        .map(|edge| {
                            let before = read(&values, edge.before);
                            let value = match edge.update {
                                Some(source) => update(func, source, before),
                                None => before,
                            };
                            (edge.pred, value)
                        })
                        .collect();
                    if site.block == self.block {
                        at_join.edges =
                            incoming.iter().map(|&(pred, value)| (pred, value.unwrap_or(default))).collect();
                    }
                    self.join(func, site.block, &incoming, default, &mut make_phi)
                }
            };
        }
        at_join.value = plan.root.and_then(|root| values[root]);
        at_join
    }

    fn join(
        &self,
        func: &mut Function,
        block: Block,
        incoming: &[(Block, Option<Value>)],
        default: Value,
        make_phi: &mut impl FnMut(&mut Function, Block, InstData) -> Value,
    ) -> Option<Value> {
        let first = incoming.iter().find_map(|&(_, value)| value)?;
        // Poison may become any value that is defined everywhere.
        let is_free =
            func.def_inst(first).is_none() && matches!(func.constant(default), Some(Constant::Poison(_)));
        let fallback = if is_free { first } else { default };
        if incoming.iter().all(|&(_, value)| value.unwrap_or(fallback) == first) {
            return Some(first);
        }
        let filled = incoming.iter().map(|&(pred, value)| (pred, value.unwrap_or(default)));
        let value = make_phi(func, block, InstData::phi(filled, None));
        if block != self.block
            && let Some(latch) = latch_of(self.graphs, block)
        {
            let phi = func.def_inst(value).expect("a φ defines its result");
            let all: Vec<_> = func.inst(phi).incoming().chain([(latch, value)]).collect();
            set_incoming(func, phi, all);
        }
        Some(value)
    }

    /// Returns a function that inserts a new φ.
    pub(super) fn new_phi(ty: Type) -> impl FnMut(&mut Function, Block, InstData) -> Value {
        move |func, block, data| prepend_phi(func, block, data, ty)
    }
}

/// Result of an evaluation.
#[derive(Default)]
pub(super) struct JoinInputs {
    /// Value at the join, if there is one.
    pub(super) value: Option<Value>,
    /// Value from each predecessor, if the join merges edges.
    pub(super) edges: Vec<(Block, Value)>,
}

/// Latch of a loop header.
pub(super) fn latch_of(graphs: &LinearGraphs<'_>, header: Block) -> Option<Block> {
    graphs.cycles.unique_latch(graphs.cfg, graphs.cycles.headed_by(header)?)
}

/// New successor that carries the edge between two blocks.
pub(super) fn carrier(graphs: &LinearGraphs<'_>, from: Block, to: Block) -> Option<Block> {
    let succs = graphs.cfg.succs(from);
    let slot = succs.iter().position(|&succ| succ == to)?;
    graphs.edges.carrier(from, slot, slot + 1 == succs.len())
}

/// Evaluation order of a variable.
struct EvaluationPlan {
    /// Sites in the pre-order of the dominator tree. A site's value holds from the start of its block.
    sites: Vec<UpdateSite>,
    /// Sites that are read, in order of dependence.
    needed: Vec<usize>,
    /// Site that the join reads.
    root: Option<usize>,
}

struct UpdateSite {
    block: Block,
    /// Nearest site above in the dominator tree.
    above: Option<usize>,
    kind: UpdateSiteKind,
}

enum UpdateSiteKind {
    /// The only edge into the block updates the variable.
    Update { source: usize, before: Option<usize> },
    /// A φ merges edges.
    Join(Vec<UpdateEdge>),
}

struct UpdateEdge {
    pred: Block,
    before: Option<usize>,
    update: Option<usize>,
}

impl EvaluationPlan {
    fn new(join: &JoinPoint<'_>) -> EvaluationPlan {
        let JoinPoint { graphs, block: target, sources, .. } = join;
        let joins = &graphs.joins;
        let carriers: Vec<Block> =
            sources.iter().map(|&from| carrier(graphs, from, *target).expect("a source goes on")).collect();
        let mut sites: Vec<UpdateSite> = Vec::new();
        let mut add =
            |block: Block, kind: UpdateSiteKind| sites.push(UpdateSite { block, above: None, kind });
        for (source, &to) in carriers.iter().enumerate() {
            match joins.preds(to).len() {
                1 => add(to, UpdateSiteKind::Update { source, before: None }),
                _ => add(to, UpdateSiteKind::Join(Vec::new())),
            }
        }
        let last = graphs.number(*target);
        let is_before = |block: Block| graphs.number(block) < last;
        for block in joins.frontier.iterated_while(carriers.iter().copied(), is_before) {
            if graphs.number(block) <= last {
                add(block, UpdateSiteKind::Join(Vec::new()));
            }
        }
        sites.sort_by_key(|site| joins.position[site.block]);
        sites.dedup_by_key(|site| site.block);
        let mut open: Vec<usize> = Vec::new();
        for index in 0..sites.len() {
            let block = sites[index].block;
            while open.last().is_some_and(|&top| !joins.dominates(sites[top].block, block)) {
                open.pop();
            }
            sites[index].above = open.last().copied();
            open.push(index);
        }
        let mut plan = EvaluationPlan { sites, needed: Vec::new(), root: None };
        plan.root = plan.nearest(joins, *target);
        plan.connect(join, &carriers);
        plan
    }

    /// Collects the sites that are read, from the join backwards.
    fn connect(&mut self, join: &JoinPoint<'_>, carriers: &[Block]) {
        let joins = &join.graphs.joins;
        let mut is_needed = vec![false; self.sites.len()];
        let mut worklist: Vec<usize> = self.root.into_iter().collect();
        while let Some(number) = worklist.pop() {
            if std::mem::replace(&mut is_needed[number], true) {
                continue;
            }
            self.needed.push(number);
            let block = self.sites[number].block;
            if let UpdateSiteKind::Update { source, .. } = self.sites[number].kind {
                let before = self.nearest(joins, join.sources[source]);
                self.sites[number].kind = UpdateSiteKind::Update { source, before };
                worklist.extend(before);
                continue;
            }
            let mut edges = Vec::with_capacity(joins.preds(block).len());
            for &pred in joins.preds(block) {
                let before = self.nearest(joins, pred);
                let update = join
                    .sources
                    .binary_search_by_key(&join.graphs.number(pred), |&from| join.graphs.number(from))
                    .ok()
                    .filter(|&source| carriers[source] == block);
                worklist.extend(before);
                edges.push(UpdateEdge { pred, before, update });
            }
            self.sites[number].kind = UpdateSiteKind::Join(edges);
        }
        self.needed.sort_by_key(|&number| join.graphs.number(self.sites[number].block));
    }

    /// Site whose value holds in a block.
    fn nearest(&self, joins: &JoinGraph<'_>, block: Block) -> Option<usize> {
        let position = joins.position[block];
        let mut site =
            self.sites.partition_point(|site| joins.position[site.block] <= position).checked_sub(1);
        while let Some(index) = site {
            if joins.dominates(self.sites[index].block, block) {
                return site;
            }
            site = self.sites[index].above;
        }
        None
    }
}
