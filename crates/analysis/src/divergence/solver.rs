//! Worklist solver of the divergence analysis.

use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use heddle_ir::entity::{Entity, EntitySet, SecondaryMap};
use heddle_ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::activity::always_executed;
use super::facts::agreement_on;
use super::incoming::{IncomingIndex, MAX_EDGES};
use super::table::{Divergence, DivergenceEffect, DivergenceOrigin};
use super::{ALL_AGREE, Agreement, InitialShapes};
use crate::alloca_ssa::{AllocaSsa, SlotState, SlotStateDef};
use crate::cfg::Edge;
use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::shape::{Activation, Fact};
use crate::sync_dependence::SyncDependence;
use crate::uses::UseLists;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum WorklistItem {
    Inst(Inst),
    State(SlotState),
}

pub(super) struct DivergenceSolver<'a> {
    pub(super) func: &'a Function,
    pub(super) control: &'a ControlTables,
    pub(super) initial: &'a InitialShapes,
    pub(super) sync: SyncDependence<'a>,
    pub(super) uses: UseLists,
    pub(super) ssa: AllocaSsa,
    pub(super) facts: SecondaryMap<Value, Fact>,
    pub(super) queue: VecDeque<WorklistItem>,
    /// Joins with many edges, evaluated after all other work.
    pub(super) deferred: VecDeque<WorklistItem>,
    pub(super) incoming: IncomingIndex,
    pub(super) is_queued: SecondaryMap<Inst, bool>,
    pub(super) is_state_queued: Vec<bool>,
    /// Agreement at each block's branch as of its last visit.
    pub(super) branches: SecondaryMap<Block, Agreement>,
    /// Branches whose agreement has dropped, by block index.
    pub(super) pending_branches: BinaryHeap<(usize, Block)>,
    /// Limit with which each branch's influence region was applied.
    pub(super) applied_limits: SecondaryMap<Block, Agreement>,
    pub(super) exit_agreements: Vec<Vec<Agreement>>,
    /// Minimum exit agreement of each loop.
    pub(super) loop_agreements: Vec<Agreement>,
    /// Loops with an exit whose agreement has dropped, by block index of the header.
    pub(super) pending_loops: BTreeMap<usize, Cycle>,
    /// Agreement of the lanes that meet at each φ with different values.
    pub(super) phi_limits: SecondaryMap<Inst, Agreement>,
    /// φs at which some of the joining lanes bring poison.
    pub(super) poison_phis: EntitySet<Inst>,
    pub(super) state_limits: Vec<Agreement>,
    /// States at which some of the joining lanes hold poison.
    pub(super) poison_states: EntitySet<SlotState>,
    pub(super) state_agreements: Vec<Agreement>,
    pub(super) may_hold_poison: Vec<bool>,
    pub(super) region_roots: EntitySet<Block>,
    pub(super) activation: SecondaryMap<Block, Activation>,
    /// Blocks on every path from the entry to a return.
    pub(super) always_executed: EntitySet<Block>,
    /// Instructions that write to private objects, by the predicate of their block.
    pub(super) predicated_writes: FxHashMap<Value, Vec<Inst>>,
    /// Uses outside of the loop that defines the value.
    pub(super) escaping_uses: FxHashMap<Cycle, Vec<Inst>>,
    /// Cache: joins whose edges all carry one item, poison aside.
    pub(super) single_incoming: FxHashMap<WorklistItem, bool>,
    pub(super) effects: Vec<(DivergenceOrigin, DivergenceEffect)>,
}

impl<'a> DivergenceSolver<'a> {
    pub(super) fn new(func: &'a Function, control: &'a ControlTables, initial: &'a InitialShapes) -> Self {
        let sync = SyncDependence::new(&control.cfg, &control.dominators, &control.cycles, &control.index);
        let uses = UseLists::new(func, control);
        let ssa = AllocaSsa::new(func, control, &uses);
        let exit_agreements =
            control.cycles.cycles().map(|cycle| vec![ALL_AGREE; sync.exits(cycle).len()]).collect();
        let (num_states, num_blocks) = (ssa.states().len(), control.cfg.num_blocks());
        let mut solver = Self {
            func,
            control,
            initial,
            sync,
            uses,
            facts: SecondaryMap::with_len(func.value_count()),
            queue: VecDeque::new(),
            deferred: VecDeque::new(),
            incoming: IncomingIndex::default(),
            is_queued: SecondaryMap::with_len(func.inst_count()),
            is_state_queued: vec![false; num_states],
            branches: SecondaryMap::filled(ALL_AGREE, num_blocks),
            pending_branches: BinaryHeap::new(),
            applied_limits: SecondaryMap::filled(ALL_AGREE, num_blocks),
            loop_agreements: vec![ALL_AGREE; control.cycles.num_cycles()],
            exit_agreements,
            pending_loops: BTreeMap::new(),
            phi_limits: SecondaryMap::with_default(ALL_AGREE),
            poison_phis: EntitySet::new(),
            state_limits: vec![ALL_AGREE; num_states],
            poison_states: EntitySet::new(),
            state_agreements: vec![ALL_AGREE; num_states],
            may_hold_poison: vec![false; num_states],
            ssa,
            region_roots: EntitySet::new(),
            activation: SecondaryMap::filled(Activation::Full, num_blocks),
            always_executed: always_executed(control),
            predicated_writes: FxHashMap::default(),
            escaping_uses: FxHashMap::default(),
            single_incoming: FxHashMap::default(),
            effects: Vec::new(),
        };
        solver.initialize();
        solver
    }

    pub(super) fn initialize(&mut self) {
        for (&param, &fact) in self.func.params().iter().zip(&self.initial.params) {
            self.facts[param] = fact;
        }
        for &block in self.control.index.order() {
            for inst in self.func.block_insts(block) {
                for &arg in &self.func.inst(inst).args {
                    self.set_constant(arg);
                }
                self.find_escaping_uses(inst, block);
                if self.func.inst(inst).op == Op::Phi {
                    self.incoming.add(self.func, inst);
                }
                self.push(WorklistItem::Inst(inst));
            }
            if let Some(predicate) = self.func.predicate(block) {
                self.set_constant(predicate);
                let writes = |inst: &Inst| !self.ssa.written_by(*inst).is_empty();
                let writing = self.func.block_insts(block).filter(writes);
                self.predicated_writes.entry(predicate).or_default().extend(writing);
            }
        }
        (0..self.ssa.states().len()).for_each(|state| self.push(WorklistItem::State(SlotState::new(state))));
    }

    pub(super) fn set_constant(&mut self, value: Value) {
        if let Some(constant) = self.func.constant(value) {
            self.facts[value] = Fact::of_constant(constant);
        }
    }

    pub(super) fn find_escaping_uses(&mut self, inst: Inst, block: Block) {
        let data = self.func.inst(inst);
        let places = data.incoming().map(|(from, _)| from).chain(std::iter::repeat(block));
        for (&arg, used_in) in data.args.iter().zip(places) {
            let Some(defined_in) = self.func.def_inst(arg).and_then(|inst| self.func.layout.block_of(inst))
            else {
                continue;
            };
            let mut enclosing = self.control.cycles.innermost(defined_in);
            while let Some(cycle) = enclosing.filter(|&cycle| !self.control.cycles.contains(cycle, used_in)) {
                self.escaping_uses.entry(cycle).or_default().push(inst);
                enclosing = self.control.cycles.parent(cycle);
            }
        }
    }

    pub(super) fn push(&mut self, item: WorklistItem) {
        let is_queued = match item {
            WorklistItem::Inst(inst) => &mut self.is_queued[inst],
            WorklistItem::State(state) => &mut self.is_state_queued[state.index()],
        };
        if !std::mem::replace(is_queued, true) {
            let is_dense = match item {
                WorklistItem::Inst(inst) => self.incoming.has_many(inst),
                WorklistItem::State(state) => match &self.ssa.state(state).def {
                    SlotStateDef::Join { incoming, .. } => incoming.len() > MAX_EDGES,
                    _ => false,
                },
            };
            if is_dense { self.deferred.push_back(item) } else { self.queue.push_back(item) }
        }
    }

    pub(super) fn solve(&mut self) {
        loop {
            self.settle();
            if !self.update_activation() {
                break;
            }
        }
    }

    /// Processes the worklists: data, then branches (later ones first), dense joins, and loops (inner ones first).
    pub(super) fn settle(&mut self) {
        loop {
            if let Some(item) = self.queue.pop_front() {
                self.visit_item(item);
            } else if let Some((_, block)) = self.pending_branches.pop() {
                let limit = self.branches[block];
                if limit < self.applied_limits[block] {
                    self.apply_branch(block, limit);
                }
            } else if let Some(item) = self.deferred.pop_front() {
                self.visit_item(item);
            } else if let Some((_, cycle)) = self.pending_loops.pop_last() {
                self.apply_loop(cycle);
            } else {
                return;
            }
        }
    }

    fn visit_item(&mut self, item: WorklistItem) {
        match item {
            WorklistItem::Inst(inst) => {
                self.is_queued[inst] = false;
                self.visit(inst);
            }
            WorklistItem::State(state) => {
                self.is_state_queued[state.index()] = false;
                self.visit_state(state);
            }
        }
    }

    pub(super) fn visit(&mut self, inst: Inst) {
        let data = self.func.inst(inst);
        let block = self.func.layout.block_of(inst).expect("a queued instruction stands in a block");
        let facts = match data.op {
            Op::Br | Op::Switch => {
                self.visit_branch(inst, block);
                return;
            }
            Op::Phi => SmallVec::from_iter([self.phi_fact(inst, block)]),
            _ => self.result_facts(inst, block),
        };
        for (&result, fact) in self.func.results(inst).iter().zip(facts) {
            let old = self.facts[result];
            let new = old.join(fact);
            if new != old {
                self.facts[result] = new;
                for at in 0..self.uses.of(result).len() {
                    let user = self.uses.of(result)[at];
                    self.push(WorklistItem::Inst(user));
                }
                if !self.predicated_writes.is_empty() {
                    for inst in self.predicated_writes.get(&result).cloned().unwrap_or_default() {
                        self.push_written(inst);
                    }
                }
            }
        }
        self.push_written(inst);
    }

    pub(super) fn push_written(&mut self, inst: Inst) {
        for at in 0..self.ssa.written_by(inst).len() {
            self.push(WorklistItem::State(self.ssa.written_by(inst)[at]));
        }
    }

    pub(super) fn loop_agreement(&self, cycle: Cycle) -> Agreement {
        self.loop_agreements[cycle.index()]
    }

    pub(super) fn visit_branch(&mut self, inst: Inst, block: Block) {
        let data = self.func.inst(inst);
        let (Some(&condition), [first, others @ ..]) = (data.args.first(), data.targets()) else { return };
        if others.iter().all(|to| to == first) {
            return;
        }
        let agreement = agreement_on(self.operand_fact(condition, inst, block));
        if agreement < self.branches[block] {
            self.branches[block] = agreement;
            let number = self.control.index.number(block).expect("queued blocks are reachable");
            self.pending_branches.push((number, block));
        }
    }

    pub(super) fn finish(self) -> Divergence {
        let exits = self.control.cycles.cycles().map(|cycle| {
            let edges = self.sync.exits(cycle).iter().copied();
            edges.zip(self.exit_agreements[cycle.index()].iter().copied()).collect()
        });
        let exits: Vec<Vec<(Edge, Agreement)>> = exits.collect();
        let slots = self.slot_facts();
        let partial_blocks =
            self.sync.partial_blocks(&self.region_roots, |cycle| self.loop_agreement(cycle).is_none());
        Divergence {
            slots,
            exits,
            partial_blocks,
            facts: self.facts,
            branches: self.branches,
            activation: self.activation,
            ssa: self.ssa,
            state_agreements: self.state_agreements,
            effects: self.effects,
            is_lcssa: self.escaping_uses.is_empty(),
        }
    }
}
