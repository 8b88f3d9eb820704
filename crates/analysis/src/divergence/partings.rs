//! What lanes do that have parted: at branches, and behind loops that they leave apart.

use heddle_ir::entity::Entity;
use heddle_ir::{Block, Constant, Value};

use super::incoming::distinct;
use super::solver::{Item, Solver};
use super::table::{Outcome, Source};
use super::{Agreement, Rule};
use crate::alloca_ssa::{State, StateDef};
use crate::cycles::Cycle;
use crate::shape::Level;
use crate::sync_dependence::{Join, Parting};

/// How many branches that lead to each other are followed where ⊤ meets a value.
const MOST_LED: usize = 16;

impl Solver<'_> {
    /// Lanes part at this block, or as if they did.
    pub(super) fn part(&mut self, block: Block, limit: Agreement) {
        let mut at = block;
        loop {
            self.parted[at] = limit;
            let parting = self.sync.of_branch(at);
            let source = Source::Branch(at);
            self.apply(source, &parting, self.control.cycles.innermost(at), limit);
            let Some(then) = parting.then.filter(|_| self.follows(Rule::Leads)) else { return };
            if limit.is_none() {
                self.outcomes.push((source, Outcome::Leads(then)));
            }
            if self.parted[then] <= limit {
                return;
            }
            at = then;
        }
    }

    /// Lanes leave a loop apart.
    pub(super) fn leave(&mut self, cycle: Cycle) {
        if !self.follows(Rule::Leaving) {
            return;
        }
        let mut before: Option<Vec<bool>> = None;
        for limit in [None, Some(Level::Brush), Some(Level::Group)] {
            let exits = &self.exits[cycle.index()];
            let apart: Vec<bool> = exits.iter().map(|&agreement| agreement <= limit).collect();
            if !apart.contains(&true) || before.as_ref() == Some(&apart) {
                continue;
            }
            let parting = self.sync.of_loop(cycle, |number| apart[number as usize]);
            let source = Source::Loop(cycle);
            self.apply(source, &parting, self.control.cycles.parent(cycle), limit);
            if let Some(then) = parting.then.filter(|_| self.follows(Rule::Leads)) {
                if limit.is_none() {
                    self.outcomes.push((source, Outcome::Leads(then)));
                }
                if limit < self.parted[then] {
                    self.part(then, limit);
                }
            }
            before = Some(apart);
        }
    }

    pub(super) fn apply(
        &mut self,
        source: Source,
        parting: &Parting,
        around: Option<Cycle>,
        limit: Agreement,
    ) {
        if limit.is_none() && self.follows(Rule::Apart) {
            for &block in &parting.apart {
                if self.apart.insert(block) {
                    self.outcomes.push((source, Outcome::RunsApart(block)));
                }
            }
        }
        for join in &parting.joins {
            for inst in self.func.phis(join.block) {
                let values = self.incoming.of(self.func, inst, &join.from);
                if values.len() < 2 {
                    continue;
                }
                let func = self.func;
                let is_poison = |value: &Value| matches!(func.constant(*value), Some(Constant::Poison(_)));
                // The branch that this one leads to looks at some of the edges only.
                let is_alone = values.iter().any(is_poison) && {
                    self.is_one_of(parting, join, Item::Inst(inst), |solver, from| {
                        let values = solver.incoming.of(func, inst, from);
                        values.iter().filter(|value| !is_poison(value)).count() < 2
                    })
                };
                if is_alone {
                    if limit.is_none()
                        && self.follows(Rule::MixedPoison)
                        && self.mixed_with_poison.insert(inst)
                    {
                        self.push(Item::Inst(inst));
                    }
                    continue;
                }
                if limit.is_none() {
                    self.outcomes.push((source, Outcome::Mixes(inst)));
                }
                if limit < self.mixed[inst] && self.follows(Rule::Sync) {
                    self.mixed[inst] = limit;
                    self.push(Item::Inst(inst));
                }
            }
            for at in 0..self.ssa.joined_at(join.block).len() {
                let state = self.ssa.joined_at(join.block)[at];
                let StateDef::Join { incoming, .. } = &self.ssa.state(state).def else { continue };
                let states = distinct(incoming, &join.from);
                if states.len() < 2 {
                    continue;
                }
                if self.leaves_unread(source, state, &states) {
                    continue;
                }
                // As with φs: ⊤ beside one state is no difference.
                let is_undefined = |state: &State| self.ssa.state(*state).is_undefined;
                let is_alone = states.iter().any(is_undefined) && {
                    self.is_one_of(parting, join, Item::State(state), |solver, from| {
                        let StateDef::Join { incoming, .. } = &solver.ssa.state(state).def else {
                            return true;
                        };
                        let states = distinct(incoming, from);
                        states.iter().filter(|state| !solver.ssa.state(**state).is_undefined).count() < 2
                    })
                };
                if is_alone {
                    if limit.is_none() && self.follows(Rule::MixedPoison) {
                        self.mixed_states_with_poison.insert(state);
                        self.push(Item::State(state));
                    }
                    continue;
                }
                if limit.is_none() {
                    self.outcomes.push((source, Outcome::MixesState(state)));
                }
                if limit < self.mixed_states[state.index()] && self.follows(Rule::MixedState) {
                    self.mixed_states[state.index()] = limit;
                    self.push(Item::State(state));
                }
            }
        }
        let Some(cycle) = around else { return };
        for &number in &parting.exits {
            if limit.is_none() {
                self.outcomes.push((source, Outcome::Leaves(cycle, number)));
            }
            if limit < self.exits[cycle.index()][number as usize] {
                self.exits[cycle.index()][number as usize] = limit;
                let header = self.control.cycles.header(cycle);
                let key = self.control.index.number(header).expect("a header is reachable");
                self.leaving.insert(key, cycle);
                let edge = self.sync.exits(cycle)[number as usize];
                self.func.phis(edge.to).for_each(|inst| self.push(Item::Inst(inst)));
                for at in 0..self.ssa.joined_at(edge.to).len() {
                    self.push(Item::State(self.ssa.joined_at(edge.to)[at]));
                }
                if limit < self.loops[cycle.index()] {
                    self.loops[cycle.index()] = limit;
                    for inst in self.open.get(&cycle).cloned().unwrap_or_default() {
                        self.push(Item::Inst(inst));
                    }
                }
            }
        }
    }

    /// Whether lanes meet here that have left a loop by different exits, have written nothing since, and nothing reads
    /// what they bring: while some went round the others waited behind the loop.
    fn leaves_unread(&self, source: Source, join: State, states: &[State]) -> bool {
        let Source::Loop(cycle) = source else { return false };
        let is_of_exit = |state: &State| match &self.ssa.state(*state).def {
            StateDef::Join { block, incoming } => {
                let of_loop = |(from, _): &(Block, State)| self.control.cycles.contains(cycle, *from);
                !self.control.cycles.contains(cycle, *block) && incoming.iter().all(of_loop)
            }
            _ => false,
        };
        !self.ssa.state(join).is_read && states.iter().all(is_of_exit)
    }

    /// Whether this holds of the predecessors of a join that lanes come from which part like this, those after a branch
    /// that it leads to included; after a few such branches of all of them, which is found once.
    fn is_one_of(
        &mut self,
        parting: &Parting,
        join: &Join,
        item: Item,
        holds: impl Fn(&Self, &[Block]) -> bool,
    ) -> bool {
        let mut from = join.from.clone();
        let mut next = parting.then;
        for _ in 0..MOST_LED {
            let Some(at) = next else {
                from.sort_unstable();
                from.dedup();
                return holds(self, &from);
            };
            let parting = self.sync.of_branch(at);
            let same = parting.joins.iter().filter(|other| other.block == join.block);
            same.for_each(|other| from.extend_from_slice(&other.from));
            next = parting.then;
        }
        if let Some(&known) = self.one_of_all.get(&item) {
            return known;
        }
        let mut all = self.control.cfg.preds(join.block).to_vec();
        all.sort_unstable();
        all.dedup();
        let answer = holds(self, &all);
        self.one_of_all.insert(item, answer);
        answer
    }
}
