//! One round over all instructions: propagates a query for each, then replaces it, hoists it, or leaves it.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::{ControlTables, PostDominatorTree};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::types::{Scalar, Space, Type};
use heddle_ir::words::Flag;
use heddle_ir::{Block, Function, Inst, Op, Value};
use smallvec::SmallVec;

use super::anticipation::is_anticipated;
use super::memory::{MemoryEffect, MemoryTable};
use super::model::BlockFrequencies;
use super::query::{
    OperationTable, QueryPropagation, QuerySubject, ReplacementContext, ValueQuery, operands,
};
use super::{HoistingPolicy, InsertionPolicy, ReplacementPolicy, ReplacementStatistics, emit, hoist};
use crate::races::RaceSemantics;

/// Analyses and settings of a round.
#[derive(Clone, Copy)]
pub(super) struct RoundContext<'a> {
    pub(super) control: &'a ControlTables,
    pub(super) post_dominators: &'a PostDominatorTree,
    pub(super) facts: &'a Divergence,
    /// Blocks that no divergent branch controls.
    pub(super) convergent_blocks: &'a EntitySet<Block>,
    pub(super) frequency: &'a BlockFrequencies,
    pub(super) races: RaceSemantics,
    pub(super) policy: ReplacementPolicy,
    /// True if values may be inserted or hoisted.
    pub(super) inserts: bool,
}

/// State of one round over all instructions.
pub(super) struct ReplacementRound<'a> {
    func: &'a mut Function,
    around: RoundContext<'a>,
    memory: MemoryTable,
    operations: OperationTable,
    /// Replacements of values.
    replacements: SecondaryMap<Value, Option<Value>>,
    /// Instructions whose values are replaced.
    removed: EntitySet<Inst>,
    done: ReplacementStatistics,
    /// True if something could be hoisted.
    pub(super) could_hoist: bool,
}

impl<'a> ReplacementRound<'a> {
    pub(super) fn new(func: &'a mut Function, around: RoundContext<'a>) -> ReplacementRound<'a> {
        let memory = MemoryTable::new(func, around.control);
        let mut operations = OperationTable::default();
        for &block in around.control.index.order() {
            for inst in func.block_insts(block).filter(|&inst| is_costly(func, inst)) {
                operations.insert(func, block, inst);
            }
        }
        let replacements = SecondaryMap::with_len(func.value_count());
        let (removed, done) = (EntitySet::new(), ReplacementStatistics::default());
        ReplacementRound { func, around, memory, operations, replacements, removed, done, could_hoist: false }
    }

    /// Visits each instruction, definitions before uses.
    pub(super) fn run(&mut self) {
        for &block in self.around.control.index.order() {
            let mut entry = 0;
            let mut next = self.func.layout.first_inst(block);
            while let Some(inst) = next {
                next = self.func.layout.next_inst(inst);
                let is_entry = self.memory.of(block).get(entry).is_some_and(|known| known.inst == inst);
                if let Some((subject, query)) = self.subject(block, inst, entry) {
                    self.process_inst(block, &subject, query, entry);
                }
                entry += usize::from(is_entry);
            }
        }
    }

    /// Returns the query of an instruction; none if it is no candidate.
    fn subject(&self, block: Block, inst: Inst, entry: usize) -> Option<(QuerySubject, ValueQuery)> {
        let func = &*self.func;
        let data = func.inst(inst);
        let ty = func.value_type(func.result(inst)?);
        let subject = QuerySubject {
            inst,
            op: data.op,
            ty,
            detail: data.detail.clone(),
            flags: data.flags,
            align: 0,
            is_constant: false,
            stays_in_block: false,
            observes_other_lanes: self.around.races == RaceSemantics::Ordered,
        };
        if is_costly(func, inst) {
            return Some((subject, ValueQuery::Operation(operands(data.op, &data.args))));
        }
        let known = self.memory.of(block).get(entry).filter(|known| known.inst == inst)?;
        let MemoryEffect::Load { address, align, .. } = &known.effect else { return None };
        let is_constant = data.flags.has(Flag::Invariant)
            || func.value_type(address.root) == Type::Scalar(Scalar::Ptr(Space::Constant));
        let observes_other_lanes = subject.observes_other_lanes;
        let stays_in_block =
            observes_other_lanes && !is_constant && self.memory.is_written(func, address, ty.bytes().into());
        Some((
            QuerySubject { align: *align, is_constant, stays_in_block, ..subject },
            ValueQuery::Load(address.clone()),
        ))
    }

    fn process_inst(&mut self, block: Block, subject: &QuerySubject, query: ValueQuery, entry: usize) {
        let ReplacementRound { func, memory, operations, removed, .. } = &*self;
        let RoundContext {
            control,
            post_dominators,
            facts,
            convergent_blocks,
            frequency,
            policy,
            inserts,
            ..
        } = self.around;
        let program = ReplacementContext { func, control, memory, operations, removed };
        let mut propagation = QueryPropagation::new(&program, subject, block, query, entry);
        let may_insert = |preds: &[Block]| match policy.insertion {
            _ if preds.iter().any(|&pred| control.cfg.succs(pred).len() > 1) => false,
            InsertionPolicy::Anywhere => true,
            InsertionPolicy::Convergent => preds.iter().all(|&pred| convergent_blocks.contains(pred)),
            InsertionPolicy::LessFrequent => {
                preds.iter().map(|&pred| frequency[pred]).sum::<f64>() < frequency[block]
            }
        };
        propagation.solve(|propagation, state| {
            let missing = |&pred: &u32| {
                let pred = &propagation.states[pred as usize];
                (!pred.is_available).then_some(pred.block)
            };
            let missing: SmallVec<[Block; 4]> =
                propagation.states[state].preds.iter().filter_map(missing).collect();
            inserts && may_insert(&missing) && is_anticipated(&program, subject, propagation, state)
        });
        if propagation.is_answered() {
            self.replace_inst(subject, &propagation);
            return;
        }
        let is_requested = match policy.hoisting {
            HoistingPolicy::Probe => !self.could_hoist,
            hoisting => hoisting != HoistingPolicy::None,
        };
        let parts =
            |branch: Block| policy.hoisting == HoistingPolicy::All || facts.is_divergent_branch(branch);
        if inserts
            && is_requested
            && let Some(target) = hoist::target(&program, subject, &mut propagation, post_dominators, parts)
        {
            match policy.hoisting {
                HoistingPolicy::Probe => self.could_hoist = true,
                _ => self.hoist(subject, &target),
            }
        }
    }

    /// Moves the computation of an instruction to the end of a dominating block.
    fn hoist(&mut self, subject: &QuerySubject, target: &hoist::HoistTarget) {
        let hoisted = QuerySubject { align: target.align, ..subject.clone() };
        let made = emit::compute(self.func, &hoisted, &target.query, target.block);
        let Some((inst, old)) = made.zip(self.func.result(subject.inst)) else { return };
        self.record(subject, target.block, inst);
        self.replacements[old] = self.func.result(inst);
        self.removed.insert(subject.inst);
        self.done.hoisted += 1;
    }

    /// Records an instruction that was added at the end of a block.
    fn record(&mut self, subject: &QuerySubject, block: Block, inst: Inst) {
        if subject.op == Op::Load {
            self.memory.append(self.func, block, inst);
        } else {
            self.operations.insert(self.func, block, inst);
        }
    }

    /// Replaces an instruction by the available value.
    fn replace_inst(&mut self, subject: &QuerySubject, propagation: &QueryPropagation) {
        let Some(emitted) = emit::emit(self.func, subject, propagation) else { return };
        let Some(old) = self.func.result(subject.inst) else { return };
        for &(block, inst) in &emitted.inserted {
            self.record(subject, block, inst);
        }
        for inst in emitted.sources {
            drop_promises(self.func, inst, subject);
        }
        self.done.inserted += emitted.inserted.len();
        if subject.op == Op::Load {
            self.done.loads += 1;
        } else {
            self.done.operations += 1;
        }
        if self.resolve(emitted.value) == old {
            return;
        }
        self.replacements[old] = Some(emitted.value);
        self.removed.insert(subject.inst);
        self.done.phis += self.drop_trivial(&emitted.phis);
    }

    /// Returns the current replacement of a value, with path compression.
    fn resolve(&mut self, mut value: Value) -> Value {
        while let Some(next) = self.replacements[value] {
            if let Some(behind) = self.replacements[next] {
                self.replacements[value] = Some(behind);
            }
            value = next;
        }
        value
    }

    /// Replaces trivial φs. Returns the number of φs that remain.
    fn drop_trivial(&mut self, phis: &[Inst]) -> usize {
        let mut left = phis.to_vec();
        loop {
            let before = left.len();
            left.retain(|&phi| {
                let Some(own) = self.func.result(phi) else { return false };
                let values: Vec<Value> = self.func.inst(phi).args.iter().copied().collect();
                let mut only = None;
                for value in values {
                    let value = self.resolve(value);
                    if value != own && *only.get_or_insert(value) != value {
                        return true;
                    }
                }
                let Some(only) = only else { return true };
                self.replacements[own] = Some(only);
                self.removed.insert(phi);
                false
            });
            if left.len() == before {
                return before;
            }
        }
    }

    /// Rewrites all uses to the replacements and removes replaced instructions.
    pub(super) fn finish(mut self) -> ReplacementStatistics {
        if !self.removed.is_empty() {
            let mut replacements = std::mem::take(&mut self.replacements);
            for number in 0..self.func.value_count() {
                let value = Value::from_u32(number as u32);
                let mut at = value;
                while let Some(next) = replacements[at] {
                    at = next;
                }
                if at != value {
                    replacements[value] = Some(at);
                }
            }
            self.func.map_values(|value| replacements[value].unwrap_or(value));
            for inst in self.removed.iter() {
                self.func.remove_inst(inst);
            }
        }
        self.done
    }
}

/// Drops the promises of a reused instruction that the replaced one does not make.
fn drop_promises(func: &mut Function, inst: Inst, subject: &QuerySubject) {
    let (kept, dropped) = (func.inst(inst), func.inst(subject.inst));
    if kept.op == Op::Store || inst == subject.inst {
        return;
    }
    let (flags, origin) = (kept.flags, kept.origin);
    let merged = func.origin(origin).merged(func.origin(dropped.origin));
    let promised = flags.intersection(dropped.flags);
    let flags = if kept.op == Op::Load { flags } else { promised };
    let origin = func.make_origin(merged);
    let kept = func.inst_mut(inst);
    (kept.flags, kept.origin) = (flags, origin);
}

/// True if an operation is a candidate. Products by constants are address arithmetic, as cheap as a φ.
pub(super) fn is_costly(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    if data.op == Op::Mul {
        return data.args.iter().all(|&arg| func.constant(arg).is_none());
    }
    matches!(
        data.op,
        Op::Udiv
            | Op::Sdiv
            | Op::Urem
            | Op::Srem
            | Op::Fadd
            | Op::Fsub
            | Op::Fmul
            | Op::Fdiv
            | Op::Frem
            | Op::Sqrt
            | Op::Rsqrt
            | Op::Fma
            | Op::Fmuladd
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::RoundEven
            | Op::Truncate
    )
}
