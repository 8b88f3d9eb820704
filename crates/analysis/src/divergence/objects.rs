//! Private objects: how far lanes agree on what they hold, and which of them one copy can serve.

use heddle_ir::entity::Entity;
use heddle_ir::{Inst, Op};

use super::facts::agreement_on;
use super::solver::{Item, Solver};
use super::{ALL_AGREE, Agreement, Rule, SlotFact};
use crate::alloca_ssa::{self, Slot, State, StateDef, StateUser};
use crate::cfg::Edge;
use crate::shape::{Fact, Level, Poison};
use smallvec::SmallVec;

impl Solver<'_> {
    pub(super) fn visit_state(&mut self, state: State) {
        let (new, may_hold_poison) = match &self.ssa.state(state).def {
            StateDef::Undefined => (ALL_AGREE, false),
            StateDef::Write { inst, before } => {
                let (written, poison) = self.written(*inst);
                let old = before.map_or(ALL_AGREE, |before| self.agreement[before.index()]);
                let had = before.is_some_and(|before| self.may_hold_poison[before.index()]);
                (written.min(old), poison || had)
            }
            StateDef::Join { block, incoming } => {
                let limit = self.mixed_states[state.index()];
                let mut poison = limit.is_none() || self.mixed_states_with_poison.contains(state);
                let mut agreement = limit;
                for &(from, incoming) in incoming {
                    agreement = agreement.min(self.agreement[incoming.index()]);
                    poison |= self.may_hold_poison[incoming.index()];
                    let is_defined = !self.ssa.state(incoming).is_undefined;
                    let defined_in = self.ssa.block_of(self.func, incoming).filter(|_| is_defined);
                    if let Some(defined_in) = defined_in.filter(|_| self.follows(Rule::TemporalState)) {
                        let limit = self.edge_limit_from(Edge { from, to: *block }, defined_in);
                        agreement = agreement.min(limit);
                        poison |= limit.is_none();
                    }
                }
                (agreement, poison)
            }
        };
        let agreement = new.min(self.agreement[state.index()]);
        let may_hold_poison = may_hold_poison || self.may_hold_poison[state.index()];
        if agreement != self.agreement[state.index()]
            || may_hold_poison != self.may_hold_poison[state.index()]
        {
            self.agreement[state.index()] = agreement;
            self.may_hold_poison[state.index()] = may_hold_poison;
            for at in 0..self.ssa.users(state).len() {
                match self.ssa.users(state)[at] {
                    StateUser::Inst(inst) => self.push(Item::Inst(inst)),
                    StateUser::State(state) => self.push(Item::State(state)),
                }
            }
        }
    }

    /// How far lanes agree on what an instruction writes, and where; and whether it may be ⊤ in some of them.
    pub(super) fn written(&self, inst: Inst) -> (Agreement, bool) {
        let data = self.func.inst(inst);
        let block = self.func.layout.block_of(inst).expect("a writing instruction stands in a block");
        if data.op == Op::Alloca || !self.follows(Rule::Written) {
            return (ALL_AGREE, false);
        }
        if alloca_ssa::is_volatile(data) || data.is_total() {
            return (None, true);
        }
        let read = data.args.iter().map(|&arg| self.seen(arg, inst, block));
        let read: SmallVec<[Fact; 3]> = read.collect();
        let mut agreement = read.iter().map(|&fact| agreement_on(fact)).min().unwrap_or(ALL_AGREE);
        let mut poison = read.iter().any(|fact| fact.poison == Poison::Any);
        if let Some(predicate) = self.func.predicate(block).filter(|_| self.follows(Rule::PredicatedWrite)) {
            let fact = self.facts[predicate];
            agreement = agreement.min(agreement_on(fact));
            poison |= !fact.is_uniform();
        }
        if matches!(data.op, Op::Memcpy | Op::Memmove) {
            for state in self.ssa.read_by(inst) {
                agreement = agreement.min(self.agreement[state.index()]);
                poison |= self.may_hold_poison[state.index()];
            }
            if alloca_ssa::reads_unknown(self.func, &self.ssa.points_to, inst) {
                (agreement, poison) = (None, true);
            } else if self.ssa.read_by(inst).is_empty() {
                // Shared memory, read at one moment by the lanes of one brush.
                agreement = agreement.min(Some(Level::Brush));
            }
        }
        (agreement, poison)
    }

    /// Which slots one copy can serve.
    pub(super) fn slots(&self) -> Vec<SlotFact> {
        let infos = self.ssa.slots().iter();
        let mut slots: Vec<SlotFact> = infos
            .map(|info| SlotFact { alloca: info.alloca, bytes: info.bytes.clone(), shared: ALL_AGREE })
            .collect();
        let mut lower = |slot: Slot, agreement: Agreement| {
            let shared = &mut slots[slot.index()].shared;
            *shared = (*shared).min(agreement);
        };
        let num_ends = self.control.cfg.blocks().filter(|&block| {
            self.control.cfg.is_reachable(block) && self.control.cfg.succs(block).is_empty()
        });
        let is_endless = self.control.cycles.cycles().any(|cycle| self.sync.exits(cycle).is_empty());
        // Lanes that run apart and never meet show at no join.
        let may_not_meet = (is_endless || num_ends.count() > 1)
            .then(|| self.control.index.order().iter().map(|&block| self.branches[block]).min())
            .flatten();
        for (number, info) in self.ssa.states().iter().enumerate() {
            match &info.def {
                StateDef::Undefined => {}
                StateDef::Write { inst, .. } => {
                    lower(info.slot, self.written(*inst).0);
                    lower(info.slot, may_not_meet.unwrap_or(ALL_AGREE));
                }
                StateDef::Join { block, incoming } => {
                    lower(info.slot, self.mixed_states[number]);
                    for &(from, incoming) in incoming.iter().filter(|_| info.is_read) {
                        let is_defined = !self.ssa.state(incoming).is_undefined;
                        let defined_in = self.ssa.block_of(self.func, incoming).filter(|_| is_defined);
                        if let Some(defined_in) = defined_in.filter(|_| self.follows(Rule::TemporalState)) {
                            lower(info.slot, self.edge_limit_from(Edge { from, to: *block }, defined_in));
                        }
                    }
                }
            }
        }
        slots
    }
}
