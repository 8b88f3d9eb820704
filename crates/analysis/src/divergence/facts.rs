//! Transfer of facts: operands as an instruction reads them, and its results.

use std::borrow::Cow;

use heddle_ir::entity::Entity;
use heddle_ir::{Block, Function, Inst, Op, Value, ValueDef};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::incoming::MAX_EDGES;
use super::solver::DivergenceSolver;
use super::{ALL_AGREE, Agreement};
use crate::alloca_ssa;
use crate::cfg::Edge;
use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::shape::{
    Activation, Domain, Fact, MemoryUniformity, Poison, TransferContext, are_uniform_arguments, transfer,
};

/// Level at which lanes agree on a value. A value without a defined lane agrees at every level.
pub(crate) fn agreement_on(fact: Fact) -> Agreement {
    if fact.shape.is_undefined() { ALL_AGREE } else { fact.uniform_level() }
}

/// Weakens a fact about one iteration's values for lanes that leave the loop in different iterations.
pub(super) fn limited(fact: Fact, limit: Agreement, domain: Domain) -> Fact {
    match limit {
        None => fact.blend(fact, domain),
        Some(limit) => fact.with_level(fact.level.join(limit)),
    }
}

/// Returns the level at which lanes agree on the exits of all loops between a value's definition and a use.
pub(super) fn loop_exit_limit(
    func: &Function,
    control: &ControlTables,
    value: Value,
    block: Block,
    loop_agreement: impl Fn(Cycle) -> Agreement,
) -> Agreement {
    let defined_in = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
    let mut enclosing = defined_in.and_then(|defined_in| control.cycles.innermost(defined_in));
    let mut limit = ALL_AGREE;
    while let Some(cycle) = enclosing.filter(|&cycle| !control.cycles.contains(cycle, block)) {
        limit = limit.min(loop_agreement(cycle));
        enclosing = control.cycles.parent(cycle);
    }
    limit
}

impl DivergenceSolver<'_> {
    /// Returns the fact of an operand at its use.
    pub(super) fn operand_fact(&self, value: Value, inst: Inst, block: Block) -> Fact {
        let mut fact = self.facts[value];
        let ValueDef::Result(defined_by, _) = self.func.value_def(value) else { return fact };
        let Some(defined_in) = self.func.layout.block_of(defined_by) else { return fact };
        if !self.escaping_uses.is_empty() {
            let limit =
                loop_exit_limit(self.func, self.control, value, block, |cycle| self.loop_agreement(cycle));
            fact = limited(fact, limit, Domain::of(self.func.value_type(value)));
        }
        let definition = self.func.inst(defined_by);
        if !definition.is_total() && definition.op != Op::Mask && definition.shadow().is_none() {
            let predicate = self.func.predicate(defined_in).filter(|_| definition.op != Op::Phi);
            let data = self.func.inst(inst);
            let is_wider = if data.is_total() {
                predicate.is_some()
                    || self.initial.entry == Activation::Varying
                    || self.activation[defined_in] == Activation::Varying
            } else {
                let may_differ = || data.op == Op::Phi || predicate != self.func.predicate(block);
                predicate.is_some() && may_differ()
            };
            if is_wider && !fact.is_bottom() {
                fact = fact.with_poison(Poison::Any);
            }
        }
        fact
    }

    pub(super) fn result_facts(&mut self, inst: Inst, block: Block) -> SmallVec<[Fact; 2]> {
        let data = self.func.inst(inst);
        let operands: SmallVec<[Fact; 4]> =
            data.args.iter().map(|&arg| self.operand_fact(arg, inst, block)).collect();
        let activation = match data.is_total() {
            true => Activation::Full,
            false => self.initial.entry.max(self.activation[block]),
        };
        let states = self.ssa.read_by(inst);
        let is_private = !states.is_empty();
        let agreement =
            states.iter().map(|state| self.state_agreements[state.index()]).min().unwrap_or(ALL_AGREE);
        let reads = matches!(data.op, Op::Load | Op::AtomicRmw | Op::CompareExchange);
        let is_unknown = reads && alloca_ssa::reads_unknown(self.func, &self.ssa.points_to, inst);
        let is_alike = reads && agreement.is_some() && !is_unknown;
        let callee = self.func.callee_of(data).filter(|_| data.op == Op::Call);
        let has_summary = are_uniform_arguments(&operands);
        let summary = callee.and_then(|callee| self.initial.callees.of(&callee.name));
        let context = TransferContext {
            geometry: Cow::Borrowed(&self.initial.geometry),
            activation,
            memory: if is_alike { MemoryUniformity::Uniform } else { MemoryUniformity::PerLane },
            results: summary.filter(|_| has_summary),
        };
        let mut facts = transfer(self.func, inst, &operands, &context);
        if data.op == Op::Load && is_private {
            let may_be_poison = states.iter().any(|state| self.may_hold_poison[state.index()]);
            for fact in &mut facts {
                if may_be_poison && !fact.is_bottom() {
                    *fact = fact.with_poison(Poison::Any);
                }
            }
        }
        facts
    }

    /// Returns the fact of a φ: one of its values if all lanes take the same edge, else a mixture.
    pub(super) fn phi_fact(&self, inst: Inst, block: Block) -> Fact {
        let data = self.func.inst(inst);
        let domain = self
            .func
            .results(inst)
            .first()
            .map_or(Domain::Opaque, |&result| Domain::of(self.func.value_type(result)));
        let limit = self.phi_limits[inst];
        let mut fact = Fact::BOTTOM;
        let mut values: SmallVec<[Value; MAX_EDGES]> = SmallVec::new();
        let mut many: FxHashSet<Value> = FxHashSet::default();
        let is_dense = self.incoming.has_many(inst);
        for (from, value) in data.incoming() {
            let seen = limited(
                self.operand_fact(value, inst, from),
                self.edge_limit(Edge { from, to: block }, value),
                domain,
            );
            let is_new = |values: &[Value]| limit.is_none() && !values.contains(&value);
            if is_dense && limit.is_none() && many.insert(value) {
                fact = if many.len() == 1 { seen } else { fact.blend(seen, domain) };
            } else if !is_dense && is_new(&values) {
                fact = if values.is_empty() { seen } else { fact.blend(seen, domain) };
                values.push(value);
            } else {
                fact = fact.join(seen);
            }
        }
        if let Some(limit) = limit {
            fact = fact.with_level(fact.level.join(limit));
        }
        if self.poison_phis.contains(inst) && !fact.is_bottom() {
            fact = fact.with_poison(Poison::Any);
        }
        if let Some(shadow) = data.shadow()
            && (self.initial.entry == Activation::Varying || self.activation[block] == Activation::Varying)
        {
            fact = fact.blend(self.operand_fact(shadow, inst, block).with_poison(Poison::Any), domain);
        }
        fact
    }

    /// Returns the level at which lanes agree on the iteration that defined a value which they carry along an exit edge.
    pub(super) fn edge_limit(&self, edge: Edge, value: Value) -> Agreement {
        let defined_in = self.func.def_inst(value).and_then(|inst| self.func.layout.block_of(inst));
        match defined_in {
            Some(defined_in) => self.edge_limit_from(edge, defined_in),
            None => ALL_AGREE,
        }
    }

    pub(super) fn edge_limit_from(&self, edge: Edge, defined_in: Block) -> Agreement {
        let cycles = &self.control.cycles;
        let mut limit = ALL_AGREE;
        let mut enclosing = cycles.innermost(edge.from);
        while let Some(cycle) = enclosing.filter(|&cycle| !cycles.contains(cycle, edge.to)) {
            if cycles.contains(cycle, defined_in) {
                let number = self.sync.exits(cycle).binary_search(&edge).expect("an exit is listed");
                limit = limit.min(self.exit_agreements[cycle.index()][number]);
            }
            enclosing = cycles.parent(cycle);
        }
        limit
    }
}
