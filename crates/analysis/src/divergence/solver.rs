//! The fixpoint: what is looked at again, and in which order.

use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use heddle_ir::entity::{Entity, EntitySet, SecondaryMap};
use heddle_ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::activity::always_executed;
use super::facts::agreement_on;
use super::incoming::{Incoming, MOST_EDGES};
use super::table::{Divergence, Outcome, Source};
use super::{ALL_AGREE, Agreement, InitialShapes, Rule};
use crate::alloca_ssa::{AllocaSsa, State, StateDef};
use crate::cfg::Edge;
use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::shape::{Activation, Fact};
use crate::sync_dependence::SyncDependence;
use crate::uses::Uses;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Item {
    Inst(Inst),
    State(State),
}

pub(super) struct Solver<'a> {
    pub(super) func: &'a Function,
    pub(super) control: &'a ControlTables,
    pub(super) initial: &'a InitialShapes,
    pub(super) sync: SyncDependence<'a>,
    pub(super) uses: Uses,
    pub(super) ssa: AllocaSsa,
    pub(super) facts: SecondaryMap<Value, Fact>,
    pub(super) queue: VecDeque<Item>,
    /// Joins of many edges, for when all else is settled.
    pub(super) dense: VecDeque<Item>,
    pub(super) incoming: Incoming,
    pub(super) is_queued: SecondaryMap<Inst, bool>,
    pub(super) is_state_queued: Vec<bool>,
    /// Per block, the agreement at its branch that has been seen.
    pub(super) branches: SecondaryMap<Block, Agreement>,
    /// Branches whose agreement has fallen, by block index.
    pub(super) parting: BinaryHeap<(usize, Block)>,
    /// Per block, the limit with which its parting was applied.
    pub(super) parted: SecondaryMap<Block, Agreement>,
    pub(super) exits: Vec<Vec<Agreement>>,
    /// Per loop, the least of these.
    pub(super) loops: Vec<Agreement>,
    /// Loops with an exit whose agreement has fallen, by block index of the header.
    pub(super) leaving: BTreeMap<usize, Cycle>,
    /// Per φ, how far the lanes agree that meet there with different values.
    pub(super) mixed: SecondaryMap<Inst, Agreement>,
    /// φs where lanes meet of which some bring ⊤.
    pub(super) mixed_with_poison: EntitySet<Inst>,
    pub(super) mixed_states: Vec<Agreement>,
    /// States where lanes meet of which some hold ⊤.
    pub(super) mixed_states_with_poison: EntitySet<State>,
    pub(super) agreement: Vec<Agreement>,
    pub(super) may_hold_poison: Vec<bool>,
    pub(super) apart: EntitySet<Block>,
    pub(super) activation: SecondaryMap<Block, Activation>,
    /// The blocks that every complete run executes.
    pub(super) always: EntitySet<Block>,
    /// Per predicate, the instructions under it that write to private objects.
    pub(super) predicated: FxHashMap<Value, Vec<Inst>>,
    /// Uses outside of the loop that defines the value.
    pub(super) open: FxHashMap<Cycle, Vec<Inst>>,
    /// Joins of which it has been asked whether they bring one thing, ⊤ aside, along all their edges.
    pub(super) one_of_all: FxHashMap<Item, bool>,
    pub(super) outcomes: Vec<(Source, Outcome)>,
    pub(super) without: Option<Rule>,
}

impl<'a> Solver<'a> {
    pub(super) fn new(func: &'a Function, control: &'a ControlTables, initial: &'a InitialShapes) -> Self {
        let sync = SyncDependence::new(&control.cfg, &control.dominators, &control.cycles, &control.index);
        let uses = Uses::new(func, control);
        let ssa = AllocaSsa::new(func, control, &uses);
        let exits = control.cycles.cycles().map(|cycle| vec![ALL_AGREE; sync.exits(cycle).len()]).collect();
        let (num_states, num_blocks) = (ssa.states().len(), control.cfg.num_blocks());
        let mut solver = Self {
            func,
            control,
            initial,
            sync,
            uses,
            facts: SecondaryMap::with_len(func.value_count()),
            queue: VecDeque::new(),
            dense: VecDeque::new(),
            incoming: Incoming::default(),
            is_queued: SecondaryMap::with_len(func.inst_count()),
            is_state_queued: vec![false; num_states],
            branches: SecondaryMap::filled(ALL_AGREE, num_blocks),
            parting: BinaryHeap::new(),
            parted: SecondaryMap::filled(ALL_AGREE, num_blocks),
            loops: vec![ALL_AGREE; control.cycles.num_cycles()],
            exits,
            leaving: BTreeMap::new(),
            mixed: SecondaryMap::with_default(ALL_AGREE),
            mixed_with_poison: EntitySet::new(),
            mixed_states: vec![ALL_AGREE; num_states],
            mixed_states_with_poison: EntitySet::new(),
            agreement: vec![ALL_AGREE; num_states],
            may_hold_poison: vec![false; num_states],
            ssa,
            apart: EntitySet::new(),
            activation: SecondaryMap::filled(Activation::Full, num_blocks),
            always: always_executed(control),
            predicated: FxHashMap::default(),
            open: FxHashMap::default(),
            one_of_all: FxHashMap::default(),
            outcomes: Vec::new(),
            without: None,
        };
        solver.start();
        solver
    }

    pub(super) fn start(&mut self) {
        for (&param, &fact) in self.func.params().iter().zip(&self.initial.params) {
            self.facts[param] = fact;
        }
        for &block in self.control.index.order() {
            for inst in self.func.block_insts(block) {
                for &arg in &self.func.inst(inst).args {
                    self.note_constant(arg);
                }
                self.find_open_uses(inst, block);
                if self.func.inst(inst).op == Op::Phi {
                    self.incoming.note(self.func, inst);
                }
                self.push(Item::Inst(inst));
            }
            if let Some(predicate) = self.func.predicate(block) {
                self.note_constant(predicate);
                let writes = |inst: &Inst| !self.ssa.written_by(*inst).is_empty();
                let writing = self.func.block_insts(block).filter(writes);
                self.predicated.entry(predicate).or_default().extend(writing);
            }
        }
        (0..self.ssa.states().len()).for_each(|state| self.push(Item::State(State::new(state))));
    }

    pub(super) fn follows(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    pub(super) fn note_constant(&mut self, value: Value) {
        if let Some(constant) = self.func.constant(value) {
            self.facts[value] = Fact::of_constant(constant);
        }
    }

    pub(super) fn find_open_uses(&mut self, inst: Inst, block: Block) {
        let data = self.func.inst(inst);
        let places = data.incoming().map(|(from, _)| from).chain(std::iter::repeat(block));
        for (&arg, used_in) in data.args.iter().zip(places) {
            let Some(defined_in) = self.func.def_inst(arg).and_then(|inst| self.func.layout.block_of(inst))
            else {
                continue;
            };
            let mut around = self.control.cycles.innermost(defined_in);
            while let Some(cycle) = around.filter(|&cycle| !self.control.cycles.contains(cycle, used_in)) {
                self.open.entry(cycle).or_default().push(inst);
                around = self.control.cycles.parent(cycle);
            }
        }
    }

    pub(super) fn push(&mut self, item: Item) {
        let is_queued = match item {
            Item::Inst(inst) => &mut self.is_queued[inst],
            Item::State(state) => &mut self.is_state_queued[state.index()],
        };
        if !std::mem::replace(is_queued, true) {
            let is_dense = match item {
                Item::Inst(inst) => self.incoming.has_many(inst),
                Item::State(state) => match &self.ssa.state(state).def {
                    StateDef::Join { incoming, .. } => incoming.len() > MOST_EDGES,
                    _ => false,
                },
            };
            if is_dense { self.dense.push_back(item) } else { self.queue.push_back(item) }
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

    /// Data first, then branches, later ones first, then joins of many edges, then loops, inner ones first.
    pub(super) fn settle(&mut self) {
        loop {
            if let Some(item) = self.queue.pop_front() {
                self.visit_item(item);
            } else if let Some((_, block)) = self.parting.pop() {
                let limit = self.branches[block];
                if limit < self.parted[block] {
                    self.part(block, limit);
                }
            } else if let Some(item) = self.dense.pop_front() {
                self.visit_item(item);
            } else if let Some((_, cycle)) = self.leaving.pop_last() {
                self.leave(cycle);
            } else {
                return;
            }
        }
    }

    fn visit_item(&mut self, item: Item) {
        match item {
            Item::Inst(inst) => {
                self.is_queued[inst] = false;
                self.visit(inst);
            }
            Item::State(state) => {
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
            Op::Phi => SmallVec::from_iter([self.phi(inst, block)]),
            _ => self.results(inst, block),
        };
        for (&result, fact) in self.func.results(inst).iter().zip(facts) {
            let old = self.facts[result];
            let new = old.join(fact);
            if new != old {
                self.facts[result] = new;
                for at in 0..self.uses.of(result).len() {
                    let user = self.uses.of(result)[at];
                    self.push(Item::Inst(user));
                }
                if !self.predicated.is_empty() {
                    for inst in self.predicated.get(&result).cloned().unwrap_or_default() {
                        self.push_written(inst);
                    }
                }
            }
        }
        self.push_written(inst);
    }

    pub(super) fn push_written(&mut self, inst: Inst) {
        for at in 0..self.ssa.written_by(inst).len() {
            self.push(Item::State(self.ssa.written_by(inst)[at]));
        }
    }

    pub(super) fn loop_agreement(&self, cycle: Cycle) -> Agreement {
        self.loops[cycle.index()]
    }

    pub(super) fn visit_branch(&mut self, inst: Inst, block: Block) {
        let data = self.func.inst(inst);
        let (Some(&condition), [first, others @ ..]) = (data.args.first(), data.targets()) else { return };
        if others.iter().all(|to| to == first) {
            return;
        }
        let agreement = agreement_on(self.seen(condition, inst, block));
        if agreement < self.branches[block] {
            self.branches[block] = agreement;
            let number = self.control.index.number(block).expect("queued blocks are reachable");
            self.parting.push((number, block));
        }
    }

    pub(super) fn finish(self) -> Divergence {
        let exits = self.control.cycles.cycles().map(|cycle| {
            let edges = self.sync.exits(cycle).iter().copied();
            edges.zip(self.exits[cycle.index()].iter().copied()).collect()
        });
        let exits: Vec<Vec<(Edge, Agreement)>> = exits.collect();
        let slots = self.slots();
        let apart = self.sync.spread(&self.apart, |cycle| self.loop_agreement(cycle).is_none());
        Divergence {
            slots,
            exits,
            apart,
            facts: self.facts,
            branches: self.branches,
            activation: self.activation,
            ssa: self.ssa,
            agreement: self.agreement,
            outcomes: self.outcomes,
            is_closed: self.open.is_empty(),
        }
    }
}
