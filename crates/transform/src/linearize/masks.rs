//! Predicates of blocks and masks of edges.
//!
//! A block inherits the predicate of its immediate dominator if it post-dominates it: the same lanes are active. (Loops
//! in between are uniform.) Otherwise it gets the disjunction of its incoming edges. So the targets of a kept branch
//! inherit the predicate of its block, and a block with a uniform predicate has none (Theorem 4).
//!
//! The mask of an edge out of a linearized branch is `select predicate, condition, false`, or with `xor condition, true`.
//! The condition is not total: in inactive lanes it is poison, and a total use of it would be undefined. The `select`
//! ignores it there; `and` would not (design §4.1). The parts of a predicate are total, because they decide about
//! inactive lanes; they are defined in all lanes of the function.

use heddle_ir::function::Origin;
use heddle_ir::{Block, Function, InstData, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::joins::JoinPoint;
use super::{LinearGraphs, condition};

/// Masks made so far. `None` is all-true.
pub(super) struct EdgeMasks<'a> {
    graphs: &'a LinearGraphs<'a>,
    predicates: FxHashMap<Block, Value>,
    edges: FxHashMap<(Block, Block), Value>,
    negations: FxHashMap<Block, Value>,
}

impl<'a> EdgeMasks<'a> {
    pub(super) fn new(graphs: &'a LinearGraphs<'a>) -> Self {
        Self {
            graphs,
            predicates: FxHashMap::default(),
            edges: FxHashMap::default(),
            negations: FxHashMap::default(),
        }
    }

    /// Predicate of a block.
    pub(super) fn of_block(&self, block: Block) -> Option<Value> {
        self.predicates.get(&block).copied()
    }

    /// Computes and sets a block's predicate, given those of the blocks before.
    pub(super) fn predicate(&mut self, func: &mut Function, join: &JoinPoint<'_>) {
        let block = join.block;
        let predicate = match self.graphs.dominators.idom(block) {
            None => None,
            Some(above) if self.graphs.shares_lanes(above, block) => self.of_block(above),
            Some(_) if join.all_edges_pass => self.join_edges(func, join),
            Some(_) => self.collect_edges(func, join),
        };
        if let Some(value) = predicate {
            self.predicates.insert(block, value);
            func.set_predicate(block, Some(value));
        }
    }

    /// Disjunction of all edges, computed at the join.
    fn join_edges(&mut self, func: &mut Function, join: &JoinPoint<'_>) -> Option<Value> {
        let mut masks = Vec::with_capacity(join.sources.len());
        for &from in &join.sources {
            masks.push(self.of_edge(func, join, from, true)?);
        }
        let mut seen = FxHashSet::default();
        let distinct = masks.into_iter().filter(|&mask| seen.insert(mask));
        distinct.reduce(|all, mask| join.insert(func, InstData::plain(Op::Or, [all, mask]).total(), Type::I1))
    }

    /// Disjunction of all edges, collected along the paths to the join.
    fn collect_edges(&mut self, func: &mut Function, join: &JoinPoint<'_>) -> Option<Value> {
        let (always, never) = (func.make_bool(true), func.make_bool(false));
        let collected = join.evaluate(
            func,
            never,
            |func, source, before| {
                let from = join.sources[source];
                let mask = self.of_edge(func, join, from, true);
                Some(match (before.filter(|&before| before != never), mask) {
                    (_, None) => always,
                    (None, Some(mask)) => mask,
                    (Some(before), Some(mask)) if before == always || before == mask => before,
                    (Some(before), Some(mask)) => {
                        let both = InstData::plain(Op::Or, [before, mask]).total();
                        insert_at_end(func, from, both, Type::I1)
                    }
                })
            },
            JoinPoint::new_phi(Type::I1),
        );
        collected.value.filter(|&value| value != always)
    }

    /// Mask of the edge from a source to the join. It is computed at the join if every path passes the source, else at the
    /// end of the source. In a block that gains a predicate it has to be total.
    pub(super) fn of_edge(
        &mut self,
        func: &mut Function,
        join: &JoinPoint<'_>,
        from: Block,
        is_total: bool,
    ) -> Option<Value> {
        let parent = self.of_block(from);
        let succs = self.graphs.cfg.succs(from);
        let is_linearized = !self.graphs.edges.is_kept(from) && succs.iter().any(|&succ| succ != succs[0]);
        let condition = condition(func, from).filter(|_| is_linearized);
        let Some(condition) = condition else { return parent };
        if let Some(&mask) = self.edges.get(&(from, join.block)) {
            return Some(mask);
        }
        let origin = origin_of_branch(func, from);
        let taken = match succs[0] == join.block {
            true => condition,
            false => self.negated(func, from, condition),
        };
        let mask = match parent {
            None => taken,
            Some(parent) => {
                let never = func.make_bool(false);
                let data = InstData { origin, ..InstData::plain(Op::Select, [parent, taken, never]) };
                match join.all_edges_pass {
                    true if is_total => join.insert(func, data.total(), Type::I1),
                    true => join.insert(func, data, Type::I1),
                    false => insert_at_end(func, from, data.total(), Type::I1),
                }
            }
        };
        self.edges.insert((from, join.block), mask);
        Some(mask)
    }

    fn negated(&mut self, func: &mut Function, block: Block, condition: Value) -> Value {
        *self.negations.entry(block).or_insert_with(|| {
            let always = func.make_bool(true);
            let origin = origin_of_branch(func, block);
            let data = InstData { origin, ..InstData::plain(Op::Xor, [condition, always]) };
            insert_at_end(func, block, data, Type::I1)
        })
    }

    /// Number of instructions that an edge's mask would add.
    pub(super) fn cost(&self, func: &Function, join: &JoinPoint<'_>, from: Block) -> usize {
        let succs = self.graphs.cfg.succs(from);
        let is_linearized = !self.graphs.edges.is_kept(from) && succs.iter().any(|&succ| succ != succs[0]);
        if !is_linearized || condition(func, from).is_none() || self.edges.contains_key(&(from, join.block)) {
            return 0;
        }
        let is_negated = succs[0] != join.block && !self.negations.contains_key(&from);
        usize::from(self.of_block(from).is_some()) + usize::from(is_negated)
    }
}

fn origin_of_branch(func: &Function, block: Block) -> Origin {
    func.terminator(block).map_or(Origin::NONE, |inst| func.inst(inst).origin)
}

/// Inserts an instruction before the terminator.
pub(super) fn insert_at_end(func: &mut Function, block: Block, data: InstData, ty: Type) -> Value {
    let terminator = func.terminator(block).expect("a complete block has a terminator");
    let inst = func.make_inst(data, &[ty]);
    func.layout.insert_inst_before(inst, terminator);
    func.results(inst)[0]
}
