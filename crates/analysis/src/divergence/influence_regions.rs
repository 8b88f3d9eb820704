//! Application of influence regions to φs, private objects and loop exits.

use heddle_ir::entity::Entity;
use heddle_ir::{Block, Constant, Value};

use super::Agreement;
use super::incoming::distinct;
use super::solver::{DivergenceSolver, WorklistItem};
use super::table::{DivergenceEffect, DivergenceOrigin};
use crate::alloca_ssa::{SlotState, SlotStateDef};
use crate::cycles::Cycle;
use crate::shape::UniformityLevel;
use crate::sync_dependence::{InfluenceRegion, Join};

/// Maximum number of chained regions that are followed where poison meets a value.
const MAX_REGIONS: usize = 16;

impl DivergenceSolver<'_> {
    /// Applies the influence region of a divergent branch, and of the branches at which it continues.
    pub(super) fn apply_branch(&mut self, block: Block, limit: Agreement) {
        let mut at = block;
        loop {
            self.applied_limits[at] = limit;
            let region = self.sync.branch_region(at);
            let source = DivergenceOrigin::Branch(at);
            self.apply_region(source, &region, self.control.cycles.innermost(at), limit);
            let Some(then) = region.continues_at else { return };
            if limit.is_none() {
                self.effects.push((source, DivergenceEffect::ContinuesAt(then)));
            }
            if self.applied_limits[then] <= limit {
                return;
            }
            at = then;
        }
    }

    /// Applies the influence region after a loop with divergent exits.
    pub(super) fn apply_loop(&mut self, cycle: Cycle) {
        let mut before: Option<Vec<bool>> = None;
        for limit in [None, Some(UniformityLevel::Brush), Some(UniformityLevel::Group)] {
            let exits = &self.exit_agreements[cycle.index()];
            let apart: Vec<bool> = exits.iter().map(|&agreement| agreement <= limit).collect();
            if !apart.contains(&true) || before.as_ref() == Some(&apart) {
                continue;
            }
            let region = self.sync.loop_region(cycle, |number| apart[number as usize]);
            let source = DivergenceOrigin::Loop(cycle);
            self.apply_region(source, &region, self.control.cycles.parent(cycle), limit);
            if let Some(then) = region.continues_at {
                if limit.is_none() {
                    self.effects.push((source, DivergenceEffect::ContinuesAt(then)));
                }
                if limit < self.applied_limits[then] {
                    self.apply_branch(then, limit);
                }
            }
            before = Some(apart);
        }
    }

    pub(super) fn apply_region(
        &mut self,
        source: DivergenceOrigin,
        region: &InfluenceRegion,
        enclosing: Option<Cycle>,
        limit: Agreement,
    ) {
        if limit.is_none() {
            for &block in &region.blocks {
                if self.region_roots.insert(block) {
                    self.effects.push((source, DivergenceEffect::PartialBlock(block)));
                }
            }
        }
        for join in &region.joins {
            for inst in self.func.phis(join.block) {
                let values = self.incoming.of(self.func, inst, &join.from);
                if values.len() < 2 {
                    continue;
                }
                let func = self.func;
                let is_poison = |value: &Value| matches!(func.constant(*value), Some(Constant::Poison(_)));
                // The branch at which the region continues covers only some of the edges.
                let is_single = values.iter().any(is_poison) && {
                    self.holds_for_all_preds(region, join, WorklistItem::Inst(inst), |solver, from| {
                        let values = solver.incoming.of(func, inst, from);
                        values.iter().filter(|value| !is_poison(value)).count() < 2
                    })
                };
                if is_single {
                    if limit.is_none() && self.poison_phis.insert(inst) {
                        self.push(WorklistItem::Inst(inst));
                    }
                    continue;
                }
                if limit.is_none() {
                    self.effects.push((source, DivergenceEffect::MixedPhi(inst)));
                }
                if limit < self.phi_limits[inst] {
                    self.phi_limits[inst] = limit;
                    self.push(WorklistItem::Inst(inst));
                }
            }
            for at in 0..self.ssa.joined_at(join.block).len() {
                let state = self.ssa.joined_at(join.block)[at];
                let SlotStateDef::Join { incoming, .. } = &self.ssa.state(state).def else { continue };
                let states = distinct(incoming, &join.from);
                if states.len() < 2 {
                    continue;
                }
                if self.is_unread_exit_join(source, state, &states) {
                    continue;
                }
                // As for φs: poison on one edge makes no difference.
                let is_undefined = |state: &SlotState| self.ssa.state(*state).is_undefined;
                let is_single = states.iter().any(is_undefined) && {
                    self.holds_for_all_preds(region, join, WorklistItem::State(state), |solver, from| {
                        let SlotStateDef::Join { incoming, .. } = &solver.ssa.state(state).def else {
                            return true;
                        };
                        let states = distinct(incoming, from);
                        states.iter().filter(|state| !solver.ssa.state(**state).is_undefined).count() < 2
                    })
                };
                if is_single {
                    if limit.is_none() {
                        self.poison_states.insert(state);
                        self.push(WorklistItem::State(state));
                    }
                    continue;
                }
                if limit.is_none() {
                    self.effects.push((source, DivergenceEffect::MixedState(state)));
                }
                if limit < self.state_limits[state.index()] {
                    self.state_limits[state.index()] = limit;
                    self.push(WorklistItem::State(state));
                }
            }
        }
        let Some(cycle) = enclosing else { return };
        for &number in &region.divergent_exits {
            if limit.is_none() {
                self.effects.push((source, DivergenceEffect::DivergentExit(cycle, number)));
            }
            if limit < self.exit_agreements[cycle.index()][number as usize] {
                self.exit_agreements[cycle.index()][number as usize] = limit;
                let header = self.control.cycles.header(cycle);
                let key = self.control.index.number(header).expect("a header is reachable");
                self.pending_loops.insert(key, cycle);
                let edge = self.sync.exits(cycle)[number as usize];
                self.func.phis(edge.to).for_each(|inst| self.push(WorklistItem::Inst(inst)));
                for at in 0..self.ssa.joined_at(edge.to).len() {
                    self.push(WorklistItem::State(self.ssa.joined_at(edge.to)[at]));
                }
                if limit < self.loop_agreements[cycle.index()] {
                    self.loop_agreements[cycle.index()] = limit;
                    for inst in self.escaping_uses.get(&cycle).cloned().unwrap_or_default() {
                        self.push(WorklistItem::Inst(inst));
                    }
                }
            }
        }
    }

    /// True if the join merges states of different exits of one loop, and nothing reads it. No lane has written since, and
    /// lanes that left early waited after the loop while others iterated.
    fn is_unread_exit_join(&self, source: DivergenceOrigin, join: SlotState, states: &[SlotState]) -> bool {
        let DivergenceOrigin::Loop(cycle) = source else { return false };
        let is_of_exit = |state: &SlotState| match &self.ssa.state(*state).def {
            SlotStateDef::Join { block, incoming } => {
                let of_loop = |(from, _): &(Block, SlotState)| self.control.cycles.contains(cycle, *from);
                !self.control.cycles.contains(cycle, *block) && incoming.iter().all(of_loop)
            }
            _ => false,
        };
        !self.ssa.state(join).is_read && states.iter().all(is_of_exit)
    }

    /// True if the predicate holds for all predecessors of a join in this region and the regions at which it continues.
    /// After [`MAX_REGIONS`] regions the predicate is evaluated once for all predecessors, and the result is cached.
    fn holds_for_all_preds(
        &mut self,
        region: &InfluenceRegion,
        join: &Join,
        item: WorklistItem,
        holds: impl Fn(&Self, &[Block]) -> bool,
    ) -> bool {
        let mut from = join.from.clone();
        let mut next = region.continues_at;
        for _ in 0..MAX_REGIONS {
            let Some(at) = next else {
                from.sort_unstable();
                from.dedup();
                return holds(self, &from);
            };
            let region = self.sync.branch_region(at);
            let same = region.joins.iter().filter(|other| other.block == join.block);
            same.for_each(|other| from.extend_from_slice(&other.from));
            next = region.continues_at;
        }
        if let Some(&known) = self.single_incoming.get(&item) {
            return known;
        }
        let mut all = self.control.cfg.preds(join.block).to_vec();
        all.sort_unstable();
        all.dedup();
        let answer = holds(self, &all);
        self.single_incoming.insert(item, answer);
        answer
    }
}
