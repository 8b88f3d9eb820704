//! Private objects: agreement of lanes on their contents, and objects that one shared copy can replace.

use heddle_ir::entity::Entity;
use heddle_ir::{Inst, Op};

use super::facts::agreement_on;
use super::solver::{DivergenceSolver, WorklistItem};
use super::{ALL_AGREE, Agreement, SlotFact};
use crate::alloca_ssa::{self, AllocaSlot, SlotState, SlotStateDef, SlotStateUser};
use crate::cfg::Edge;
use crate::shape::{Fact, Poison, UniformityLevel};
use smallvec::SmallVec;

impl DivergenceSolver<'_> {
    pub(super) fn visit_state(&mut self, state: SlotState) {
        let (new, may_hold_poison) = match &self.ssa.state(state).def {
            SlotStateDef::Undefined => (ALL_AGREE, false),
            SlotStateDef::Write { inst, before } => {
                let (written, poison) = self.write_agreement(*inst);
                let old = before.map_or(ALL_AGREE, |before| self.state_agreements[before.index()]);
                let had = before.is_some_and(|before| self.may_hold_poison[before.index()]);
                (written.min(old), poison || had)
            }
            SlotStateDef::Join { block, incoming } => {
                let limit = self.state_limits[state.index()];
                let mut poison = limit.is_none() || self.poison_states.contains(state);
                let mut agreement = limit;
                for &(from, incoming) in incoming {
                    agreement = agreement.min(self.state_agreements[incoming.index()]);
                    poison |= self.may_hold_poison[incoming.index()];
                    let is_defined = !self.ssa.state(incoming).is_undefined;
                    let defined_in = self.ssa.block_of(self.func, incoming).filter(|_| is_defined);
                    if let Some(defined_in) = defined_in {
                        let limit = self.edge_limit_from(Edge { from, to: *block }, defined_in);
                        agreement = agreement.min(limit);
                        poison |= limit.is_none();
                    }
                }
                (agreement, poison)
            }
        };
        let agreement = new.min(self.state_agreements[state.index()]);
        let may_hold_poison = may_hold_poison || self.may_hold_poison[state.index()];
        if agreement != self.state_agreements[state.index()]
            || may_hold_poison != self.may_hold_poison[state.index()]
        {
            self.state_agreements[state.index()] = agreement;
            self.may_hold_poison[state.index()] = may_hold_poison;
            for at in 0..self.ssa.users(state).len() {
                match self.ssa.users(state)[at] {
                    SlotStateUser::Inst(inst) => self.push(WorklistItem::Inst(inst)),
                    SlotStateUser::State(state) => self.push(WorklistItem::State(state)),
                }
            }
        }
    }

    /// Returns the agreement of lanes on the data and the address that an instruction writes; and whether some lanes may
    /// write poison.
    pub(super) fn write_agreement(&self, inst: Inst) -> (Agreement, bool) {
        let data = self.func.inst(inst);
        let block = self.func.layout.block_of(inst).expect("a writing instruction stands in a block");
        if data.op == Op::Alloca {
            return (ALL_AGREE, false);
        }
        if alloca_ssa::is_volatile(data) || data.is_total() {
            return (None, true);
        }
        let read = data.args.iter().map(|&arg| self.operand_fact(arg, inst, block));
        let read: SmallVec<[Fact; 3]> = read.collect();
        let mut agreement = read.iter().map(|&fact| agreement_on(fact)).min().unwrap_or(ALL_AGREE);
        let mut poison = read.iter().any(|fact| fact.poison == Poison::Any);
        if let Some(predicate) = self.func.predicate(block) {
            let fact = self.facts[predicate];
            agreement = agreement.min(agreement_on(fact));
            poison |= !fact.is_uniform();
        }
        if matches!(data.op, Op::Memcpy | Op::Memmove) {
            for state in self.ssa.read_by(inst) {
                agreement = agreement.min(self.state_agreements[state.index()]);
                poison |= self.may_hold_poison[state.index()];
            }
            if alloca_ssa::reads_unknown(self.func, &self.ssa.points_to, inst) {
                (agreement, poison) = (None, true);
            } else if self.ssa.read_by(inst).is_empty() {
                // Lanes of one brush read shared memory at the same time.
                agreement = agreement.min(Some(UniformityLevel::Brush));
            }
        }
        (agreement, poison)
    }

    /// Computes the sharing level of each slot.
    pub(super) fn slot_facts(&self) -> Vec<SlotFact> {
        let infos = self.ssa.slots().iter();
        let mut slots: Vec<SlotFact> = infos
            .map(|info| SlotFact { alloca: info.alloca, bytes: info.bytes.clone(), shared: ALL_AGREE })
            .collect();
        let mut lower = |slot: AllocaSlot, agreement: Agreement| {
            let shared = &mut slots[slot.index()].shared;
            *shared = (*shared).min(agreement);
        };
        let num_ends = self.control.cfg.blocks().filter(|&block| {
            self.control.cfg.is_reachable(block) && self.control.cfg.succs(block).is_empty()
        });
        let is_endless = self.control.cycles.cycles().any(|cycle| self.sync.exits(cycle).is_empty());
        // Divergent lanes that never reconverge have no join.
        let may_not_meet = (is_endless || num_ends.count() > 1)
            .then(|| self.control.index.order().iter().map(|&block| self.branches[block]).min())
            .flatten();
        for (number, info) in self.ssa.states().iter().enumerate() {
            match &info.def {
                SlotStateDef::Undefined => {}
                SlotStateDef::Write { inst, .. } => {
                    lower(info.slot, self.write_agreement(*inst).0);
                    lower(info.slot, may_not_meet.unwrap_or(ALL_AGREE));
                }
                SlotStateDef::Join { block, incoming } => {
                    lower(info.slot, self.state_limits[number]);
                    for &(from, incoming) in incoming.iter().filter(|_| info.is_read) {
                        let is_defined = !self.ssa.state(incoming).is_undefined;
                        let defined_in = self.ssa.block_of(self.func, incoming).filter(|_| is_defined);
                        if let Some(defined_in) = defined_in {
                            lower(info.slot, self.edge_limit_from(Edge { from, to: *block }, defined_in));
                        }
                    }
                }
            }
        }
        slots
    }
}
