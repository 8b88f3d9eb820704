//! Query propagation: looks for the value of an instruction on all paths that lead to it.
//!
//! A query starts at an instruction and propagates backwards, block by block. In each block it becomes a *state*: the query in
//! terms of the values at the end of the block. A state is decided in its block (the value is loaded, stored or computed there;
//! or it is lost, since memory may change, or an operand is defined there), or it propagates to the predecessors, with the φs of
//! the block replaced by the operands of the edge. So `A[i]` becomes `A[i + 1]` along a back edge. A block has at most two
//! different states, and their total number is bounded.
//!
//! ```text
//!     block1: load A[0] is inserted here     A[0]: lost
//!         │                                    │
//!         ▼                                    ▼
//!     block2: v2 = phi 0, v4 ◄─┐             A[v2]: propagates; available, since the lost state permits insertion
//!     load A[v2]               │               ▲
//!     v4 = add v2, 1           │             A[v4]: decided by the next line
//!     load A[v4] ──────────────┘
//! ```
//!
//! Availability is the greatest fixed point: a state that depends on itself is available unless some path contradicts. That
//! alone would insert values before loops that do not have them. So a state is *real* if some path certainly has the value,
//! which is the least fixed point. Values are inserted only at joins with a real predecessor, and only if all lanes there need
//! them (`anticipation`, which does not look past loops without the value either).

use heddle_analysis::{AddressSum, ControlTables, DominatorTree};
use heddle_ir::entity::EntitySet;
use heddle_ir::inst::{Args, Detail};
use heddle_ir::types::Type;
use heddle_ir::words::Flags;
use heddle_ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::memory::{MemoryEffect, MemoryEntry, MemoryTable};
use crate::simplify::values::is_commutative;

/// Maximum number of states of a query.
const MAX_STATES: usize = 96;
/// Maximum number of memory operations that a query visits.
pub(super) const MAX_LOOKS: usize = 2000;
/// Maximum number of different states of a block.
const MAX_VISITS: usize = 2;

/// Expression whose value a query looks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ValueQuery {
    /// Value in memory at an address.
    Load(AddressSum),
    /// Operation on these operands.
    Operation(Args),
}

impl ValueQuery {
    fn values(&self) -> SmallVec<[Value; 4]> {
        match self {
            ValueQuery::Load(address) => address.values().collect(),
            ValueQuery::Operation(args) => args.iter().copied().collect(),
        }
    }
}

/// Instruction that a query belongs to.
#[derive(Clone, Debug)]
pub(super) struct QuerySubject {
    pub(super) inst: Inst,
    pub(super) op: Op,
    pub(super) ty: Type,
    /// Detail that an equal operation has.
    pub(super) detail: Detail,
    pub(super) flags: Flags,
    /// Alignment, for loads.
    pub(super) align: u32,
    /// True if the memory is constant.
    pub(super) is_constant: bool,
    /// True if racing lanes may write the memory, so the query stays in its block.
    pub(super) stays_in_block: bool,
    /// True if writes of other lanes count.
    pub(super) observes_other_lanes: bool,
}

/// Function and tables that query propagation uses.
#[derive(Clone, Copy)]
pub(super) struct ReplacementContext<'a> {
    pub(super) func: &'a Function,
    pub(super) control: &'a ControlTables,
    pub(super) memory: &'a MemoryTable,
    pub(super) operations: &'a OperationTable,
    /// Replaced instructions.
    pub(super) removed: &'a EntitySet<Inst>,
}

impl ReplacementContext<'_> {
    /// True if the value of a replaced instruction makes no promise that the subject does not make. Promises of an instruction
    /// that stays are dropped later.
    fn may_reuse(&self, inst: Inst, subject: &QuerySubject) -> bool {
        if inst == subject.inst || !self.removed.contains(inst) {
            return true;
        }
        let data = self.func.inst(inst);
        let (known, requested) =
            (self.func.origin(data.origin), self.func.origin(self.func.inst(subject.inst).origin));
        data.flags.intersection(Flags::POISON).without(subject.flags).is_empty()
            && known.tags.iter().all(|tag| requested.tags.contains(tag))
    }
}

/// Operations by block, op and operands.
#[derive(Default, Debug)]
pub(super) struct OperationTable {
    at: FxHashMap<(Block, Op, Args), SmallVec<[Inst; 1]>>,
}

impl OperationTable {
    pub(super) fn insert(&mut self, func: &Function, block: Block, inst: Inst) {
        let data = func.inst(inst);
        self.at.entry((block, data.op, operands(data.op, &data.args))).or_default().push(inst);
    }

    /// Returns the first operation in a block that equals the subject on these operands.
    pub(super) fn of(
        &self,
        program: &ReplacementContext<'_>,
        subject: &QuerySubject,
        block: Block,
        args: &Args,
    ) -> Option<Inst> {
        let found = self.at.get(&(block, subject.op, args.clone()))?;
        let is_same = |&&inst: &&Inst| {
            let data = program.func.inst(inst);
            data.detail == subject.detail
                && data.flags.without(Flags::POISON) == subject.flags.without(Flags::POISON)
                && program.func.result(inst).is_some_and(|value| program.func.value_type(value) == subject.ty)
        };
        found.iter().find(is_same).copied()
    }
}

/// Returns operands in canonical order if the op is commutative.
pub(super) fn operands(op: Op, args: &[Value]) -> Args {
    let mut args: Args = args.iter().copied().collect();
    if is_commutative(op) && args[1] < args[0] {
        args.swap(0, 1);
    }
    args
}

/// Decision about a state in its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LookupResult {
    /// Available as this value, from this instruction.
    Value(Value, Inst),
    /// Not available, and predecessors do not help.
    Lost,
    /// Decided by the predecessors.
    Predecessors,
}

/// Query at the end of a block.
#[derive(Clone, Debug)]
pub(super) struct QueryState {
    pub(super) block: Block,
    /// Expression in terms of the values at the end of the block; of the first state, at the instruction.
    pub(super) query: ValueQuery,
    pub(super) found: LookupResult,
    /// States of the predecessors, if the query propagates.
    pub(super) preds: SmallVec<[u32; 2]>,
    pub(super) is_available: bool,
    is_real: bool,
    /// True if the block has too many states, so this one is not examined.
    pub(super) is_cut: bool,
    /// True if it is available only with insertions in predecessors.
    pub(super) is_completed: bool,
    pub(super) is_anticipated: Option<bool>,
}

/// Query and its states. The first one is at the instruction.
#[derive(Debug)]
pub(super) struct QueryPropagation {
    pub(super) states: Vec<QueryState>,
    of_block: FxHashMap<Block, SmallVec<[u32; 2]>>,
    pub(super) looks: usize,
}

impl QueryPropagation {
    /// Propagates a query from an instruction; `before` is the number of memory operations before it in its block.
    pub(super) fn new(
        program: &ReplacementContext<'_>,
        subject: &QuerySubject,
        block: Block,
        query: ValueQuery,
        before: usize,
    ) -> QueryPropagation {
        let mut propagation =
            QueryPropagation { states: Vec::new(), of_block: FxHashMap::default(), looks: 0 };
        let start = propagation.add(block, query);
        let mut next = start as usize;
        while next < propagation.states.len() {
            if propagation.states[next].is_cut {
                next += 1;
                continue;
            }
            let at = propagation.states[next].block;
            let limit = if next == 0 { before } else { program.memory.of(at).len() };
            let mut found = propagation.decide_in_block(program, subject, next, limit);
            if found == LookupResult::Predecessors && next == 0 && subject.stays_in_block {
                found = LookupResult::Lost;
            }
            if found == LookupResult::Predecessors {
                match propagation.propagate(program, subject, next) {
                    Some(preds) => propagation.states[next].preds = preds,
                    None => found = LookupResult::Lost,
                }
            }
            propagation.states[next].found = found;
            next += 1;
            // States beyond the limit stay lost.
            if next >= MAX_STATES || propagation.looks > MAX_LOOKS {
                break;
            }
        }
        propagation
    }

    fn add(&mut self, block: Block, query: ValueQuery) -> u32 {
        let number = self.states.len() as u32;
        self.states.push(QueryState {
            block,
            query,
            found: LookupResult::Lost,
            preds: SmallVec::new(),
            is_available: true,
            is_real: false,
            is_cut: false,
            is_completed: false,
            is_anticipated: None,
        });
        if number > 0 {
            self.of_block.entry(block).or_default().push(number);
        }
        number
    }

    /// Returns the states of a block, without the first state.
    pub(super) fn of_block(&self, block: Block) -> &[u32] {
        self.of_block.get(&block).map_or(&[], |states| states)
    }

    /// Decides a state within its block, from the first `limit` memory operations.
    fn decide_in_block(
        &mut self,
        program: &ReplacementContext<'_>,
        subject: &QuerySubject,
        state: usize,
        limit: usize,
    ) -> LookupResult {
        let ReplacementContext { func, memory, .. } = *program;
        let QueryState { block, query, .. } = &self.states[state];
        match query {
            ValueQuery::Load(address) => {
                for entry in memory.of(*block)[..limit].iter().rev() {
                    self.looks += 1;
                    match decide_by_memory(program, subject, address, entry) {
                        LookupResult::Predecessors => {}
                        found => return found,
                    }
                }
            }
            ValueQuery::Operation(args) => {
                self.looks += 1;
                let known = program.operations.of(program, subject, *block, args);
                // Entries are in block order, so the first one precedes the subject or is the subject.
                let is_before = |&inst: &Inst| state > 0 || inst != subject.inst;
                if let Some(inst) = known.filter(is_before)
                    && let Some(value) = func.result(inst)
                {
                    return if program.may_reuse(inst, subject) {
                        LookupResult::Value(value, inst)
                    } else {
                        LookupResult::Lost
                    };
                }
            }
        }
        let is_made_here = |value: Value| {
            func.def_inst(value).is_some_and(|inst| {
                func.layout.block_of(inst) == Some(*block) && func.inst(inst).op != Op::Phi
            })
        };
        if query.values().into_iter().any(is_made_here) {
            LookupResult::Lost
        } else {
            LookupResult::Predecessors
        }
    }

    /// Returns the states of the predecessors; none if there are none, or if the query cannot propagate.
    fn propagate(
        &mut self,
        program: &ReplacementContext<'_>,
        subject: &QuerySubject,
        state: usize,
    ) -> Option<SmallVec<[u32; 2]>> {
        let QueryState { block, query, .. } = self.states[state].clone();
        let mut preds: SmallVec<[Block; 4]> = program.control.cfg.preds(block).iter().copied().collect();
        preds.sort_unstable();
        preds.dedup();
        if preds.is_empty() || block == program.func.entry() || self.looks + preds.len() > MAX_LOOKS {
            return None;
        }
        self.looks += preds.len();
        let mut states = SmallVec::new();
        for pred in preds {
            let query = translate_across(program.func, subject, &query, pred, block)?;
            let known = self.of_block(pred).iter().copied();
            let same = known.clone().find(|&state| self.states[state as usize].query == query);
            let is_new = known.count() < MAX_VISITS;
            states.push(match same {
                Some(state) => state,
                None if is_new && self.states.len() < MAX_STATES => self.add(pred, query),
                // Over the limit: unknown there, but the value may be inserted.
                None => {
                    let number = self.states.len() as u32;
                    if self.states.len() >= 2 * MAX_STATES {
                        return None;
                    }
                    self.add(pred, query);
                    self.of_block.get_mut(&pred)?.pop();
                    self.states[number as usize].is_cut = true;
                    number
                }
            });
        }
        Some(states)
    }

    /// Computes availability. `may_complete` decides whether all missing values of a state may be inserted.
    pub(super) fn solve(&mut self, mut may_complete: impl FnMut(&mut QueryPropagation, usize) -> bool) {
        loop {
            self.find_real();
            let mut changed = false;
            for number in (0..self.states.len()).rev() {
                let state = &self.states[number];
                if !state.is_available {
                    continue;
                }
                let is_there = |&pred: &u32| self.states[pred as usize].is_available;
                let (is_available, is_completed) = match state.found {
                    LookupResult::Value(..) => (true, false),
                    LookupResult::Lost => (false, false),
                    LookupResult::Predecessors if state.preds.iter().all(is_there) => (true, false),
                    LookupResult::Predecessors => {
                        let mut there = state.preds.iter().filter(|pred| is_there(pred));
                        let meets_real = there.any(|&pred| self.states[pred as usize].is_real);
                        let may = meets_real && may_complete(self, number);
                        (may, may)
                    }
                };
                let state = &mut self.states[number];
                changed |= state.is_available != is_available;
                (state.is_available, state.is_completed) = (is_available, is_completed);
            }
            if !changed {
                self.find_real();
                return;
            }
        }
    }

    /// True if the value is available at the instruction.
    pub(super) fn is_answered(&self) -> bool {
        self.states[0].is_available && self.states[0].is_real
    }

    fn find_real(&mut self) {
        for state in &mut self.states {
            state.is_real = state.is_available && matches!(state.found, LookupResult::Value(..));
        }
        loop {
            let mut changed = false;
            for number in (0..self.states.len()).rev() {
                let state = &self.states[number];
                if state.is_available && !state.is_real {
                    let is_real = state.preds.iter().any(|&pred| self.states[pred as usize].is_real);
                    changed |= is_real;
                    self.states[number].is_real = is_real;
                }
            }
            if !changed {
                return;
            }
        }
    }
}

/// Decides a query from one memory operation that precedes it.
fn decide_by_memory(
    program: &ReplacementContext<'_>,
    subject: &QuerySubject,
    address: &AddressSum,
    entry: &MemoryEntry,
) -> LookupResult {
    let ReplacementContext { func, memory, .. } = *program;
    let is_alone = !subject.observes_other_lanes || memory.is_unescaped_private(func, address);
    let is_same = |ty: &Type| *ty == subject.ty;
    match &entry.effect {
        MemoryEffect::Load { address: other, ty, .. } if other == address && is_same(ty) => {
            let value = func.result(entry.inst).filter(|_| program.may_reuse(entry.inst, subject));
            return value.map_or(LookupResult::Lost, |value| LookupResult::Value(value, entry.inst));
        }
        MemoryEffect::Store { address: other, ty, value } if is_alone && other == address && is_same(ty) => {
            return LookupResult::Value(*value, entry.inst);
        }
        _ => {}
    }
    let bytes = subject.ty.bytes().into();
    let changes =
        !subject.is_constant && memory.changes(func, entry, address, bytes, subject.observes_other_lanes);
    if changes { LookupResult::Lost } else { LookupResult::Predecessors }
}

/// Translates a query across an edge, to the end of the predecessor.
pub(super) fn translate_across(
    func: &Function,
    subject: &QuerySubject,
    query: &ValueQuery,
    from: Block,
    to: Block,
) -> Option<ValueQuery> {
    let incoming = |value: Value| {
        let phi = func.def_inst(value).filter(|&inst| func.layout.block_of(inst) == Some(to));
        let is_replaced = |&inst: &Inst| func.inst(inst).op == Op::Phi;
        let phi = phi.filter(is_replaced);
        phi.and_then(|phi| func.inst(phi).incoming_from(from)).unwrap_or(value)
    };
    Some(match query {
        ValueQuery::Load(address) => ValueQuery::Load(address.replaced(func, incoming)?),
        ValueQuery::Operation(args) => {
            let args: SmallVec<[Value; 4]> = args.iter().map(|&arg| incoming(arg)).collect();
            ValueQuery::Operation(operands(subject.op, &args))
        }
    })
}

/// True if the operands of a query dominate a block, so they are unchanged on entry to it.
pub(super) fn operands_dominate(
    func: &Function,
    dominators: &DominatorTree,
    query: &ValueQuery,
    to: Block,
) -> bool {
    query.values().into_iter().all(|value| {
        let def_block = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
        def_block.is_none_or(|def_block| dominators.strictly_dominates(def_block, to))
    })
}
