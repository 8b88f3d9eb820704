//! Questions: what a value would be on the ways that lead to where it is computed.
//!
//! A question starts at an instruction and goes backwards, block by block. In each block it becomes a *state*: what is asked
//! there, in terms of the values that the block ends with. A state is answered in its block (the value is loaded, stored or
//! computed there; or it is lost, since memory may change, or an operand is made there), or it goes on to the predecessors:
//! a φ of the block is replaced by what comes along the edge. So `A[i]` becomes `A[i + 1]` on the way back round a loop. A
//! block is asked at most two different questions, and the states of one instruction are few.
//!
//! ```text
//!     block1: load A[0] is inserted here     A[0]: lost
//!         │                                    │
//!         ▼                                    ▼
//!     block2: v2 = phi 0, v4 ◄─┐             A[v2]: goes on; available, since what is lost may be inserted
//!     load A[v2]               │               ▲
//!     v4 = add v2, 1           │             A[v4]: the next line answers it
//!     load A[v4] ──────────────┘
//! ```
//!
//! Availability is the greatest solution: a state that depends on itself is available unless something says otherwise. That
//! alone would carry insertions through loops that hold nothing; so a state is *real* if the value is there on one of its ways
//! for sure, which is the least solution, and values are inserted only where they meet a real one, and only where lanes
//! that come there need them in any case (`anticipation`, which does not look behind such loops either).

use heddle_analysis::{ControlTables, DominatorTree};
use heddle_ir::entity::EntitySet;
use heddle_ir::inst::{Args, Detail};
use heddle_ir::types::Type;
use heddle_ir::words::Flags;
use heddle_ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::ReplacementRule;
use super::address::LinearAddress;
use super::memory::{MemoryEffect, MemoryEntry, MemoryTable};
use crate::simplify::values::is_commutative;

/// The most states of a question.
const MOST_STATES: usize = 96;
/// The most memory operations that are looked at for it.
pub(super) const MOST_LOOKS: usize = 2000;
/// How often a block is asked different questions.
const MOST_VISITS: usize = 2;

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ValueQuery {
    /// The value at an address.
    Load(LinearAddress),
    /// An operation on these operands.
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

/// What a question is about.
#[derive(Clone, Debug)]
pub(super) struct QuerySubject {
    pub(super) inst: Inst,
    pub(super) op: Op,
    pub(super) ty: Type,
    /// Of an operation, what makes it the same.
    pub(super) detail: Detail,
    pub(super) flags: Flags,
    /// Of a load.
    pub(super) align: u32,
    /// Whether memory does not change.
    pub(super) is_constant: bool,
    /// Whether other lanes may write there, at a time that cannot be told.
    pub(super) keeps_to_block: bool,
    /// Whether what other lanes write counts.
    pub(super) between_lanes: bool,
    /// The rule that is left out.
    pub(super) without: Option<ReplacementRule>,
}

/// The function, as it is while a question is answered.
#[derive(Clone, Copy)]
pub(super) struct ReplacementContext<'a> {
    pub(super) func: &'a Function,
    pub(super) control: &'a ControlTables,
    pub(super) memory: &'a MemoryTable,
    pub(super) operations: &'a OperationTable,
    /// What other values stand for already.
    pub(super) gone: &'a EntitySet<Inst>,
}

impl ReplacementContext<'_> {
    /// Whether the value of an instruction that is gone promises no more than the subject does. Of one that stays, promises
    /// are taken back.
    fn may_serve(&self, inst: Inst, subject: &QuerySubject) -> bool {
        if inst == subject.inst || !self.gone.contains(inst) {
            return true;
        }
        let data = self.func.inst(inst);
        let (known, asked) =
            (self.func.origin(data.origin), self.func.origin(self.func.inst(subject.inst).origin));
        data.flags.intersection(Flags::POISON).without(subject.flags).is_empty()
            && known.tags.iter().all(|tag| asked.tags.contains(tag))
    }
}

/// Where operations are computed.
#[derive(Default, Debug)]
pub(super) struct OperationTable {
    at: FxHashMap<(Block, Op, Args), SmallVec<[Inst; 1]>>,
}

impl OperationTable {
    pub(super) fn insert(&mut self, func: &Function, block: Block, inst: Inst) {
        let data = func.inst(inst);
        self.at.entry((block, data.op, operands(data.op, &data.args))).or_default().push(inst);
    }

    /// An operation like the subject in a block, on these operands.
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

/// Operands in an order that does not depend on how they were written.
pub(super) fn operands(op: Op, args: &[Value]) -> Args {
    let mut args: Args = args.iter().copied().collect();
    if is_commutative(op) && args[1] < args[0] {
        args.swap(0, 1);
    }
    args
}

/// What a state's block says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LookupResult {
    /// This value, by this instruction.
    Value(Value, Inst),
    /// Nothing: it is not there, and what comes before does not help.
    Lost,
    /// Whatever predecessors say.
    Above,
}

/// A question in a block.
#[derive(Clone, Debug)]
pub(super) struct QueryState {
    pub(super) block: Block,
    /// In terms of the values behind the block; of the first state, at the instruction.
    pub(super) query: ValueQuery,
    pub(super) found: LookupResult,
    /// The states of the predecessors, if it goes on: a block and a state for each.
    pub(super) preds: SmallVec<[u32; 2]>,
    pub(super) is_available: bool,
    is_real: bool,
    /// Whether its block was asked too often, and is not asked again.
    pub(super) is_cut: bool,
    /// Whether it is available only because predecessors get it inserted.
    pub(super) is_completed: bool,
    pub(super) is_anticipated: Option<bool>,
}

/// A question and its states. The first one is where it is asked.
#[derive(Debug)]
pub(super) struct QueryPropagation {
    pub(super) states: Vec<QueryState>,
    of_block: FxHashMap<Block, SmallVec<[u32; 2]>>,
    pub(super) looks: usize,
}

impl QueryPropagation {
    /// Goes back from an instruction; `before` is its number among the memory operations of its block.
    pub(super) fn new(
        program: &ReplacementContext<'_>,
        subject: &QuerySubject,
        block: Block,
        query: ValueQuery,
        before: usize,
    ) -> QueryPropagation {
        let mut question = QueryPropagation { states: Vec::new(), of_block: FxHashMap::default(), looks: 0 };
        let start = question.add(block, query);
        let mut next = start as usize;
        while next < question.states.len() {
            if question.states[next].is_cut {
                next += 1;
                continue;
            }
            let at = question.states[next].block;
            let limit = if next == 0 { before } else { program.memory.of(at).len() };
            let mut found = question.local(program, subject, next, limit);
            if found == LookupResult::Above && next == 0 && subject.keeps_to_block {
                found = LookupResult::Lost;
            }
            if found == LookupResult::Above {
                match question.go_on(program, subject, next) {
                    Some(preds) => question.states[next].preds = preds,
                    None => found = LookupResult::Lost,
                }
            }
            question.states[next].found = found;
            next += 1;
            // What comes behind the last state that there may be is lost, as it was made.
            if next >= MOST_STATES || question.looks > MOST_LOOKS {
                break;
            }
        }
        question
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

    /// The states of a block, but for the first.
    pub(super) fn of_block(&self, block: Block) -> &[u32] {
        self.of_block.get(&block).map_or(&[], |states| states)
    }

    /// What the block of a state says, of its first `limit` memory operations.
    fn local(
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
                    match answer(program, subject, address, entry) {
                        LookupResult::Above => {}
                        found => return found,
                    }
                }
            }
            ValueQuery::Operation(args) => {
                self.looks += 1;
                let known = program.operations.of(program, subject, *block, args);
                // They stand in order, so that of its own block the first is before it, or it itself.
                let is_before = |&inst: &Inst| state > 0 || inst != subject.inst;
                if let Some(inst) = known.filter(is_before)
                    && let Some(value) = func.result(inst)
                {
                    return if program.may_serve(inst, subject) {
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
        let is_checked = subject.without != Some(ReplacementRule::Definitions);
        if is_checked && query.values().into_iter().any(is_made_here) {
            LookupResult::Lost
        } else {
            LookupResult::Above
        }
    }

    /// The states of the predecessors. None if there is no predecessor, or nothing can be asked there.
    fn go_on(
        &mut self,
        program: &ReplacementContext<'_>,
        subject: &QuerySubject,
        state: usize,
    ) -> Option<SmallVec<[u32; 2]>> {
        let QueryState { block, query, .. } = self.states[state].clone();
        let mut preds: SmallVec<[Block; 4]> = program.control.cfg.preds(block).iter().copied().collect();
        preds.sort_unstable();
        preds.dedup();
        if preds.is_empty() || block == program.func.entry() || self.looks + preds.len() > MOST_LOOKS {
            return None;
        }
        self.looks += preds.len();
        let mut states = SmallVec::new();
        for pred in preds {
            let query = along(program.func, subject, &query, pred, block)?;
            let known = self.of_block(pred).iter().copied();
            let same = known.clone().find(|&state| self.states[state as usize].query == query);
            let is_new = known.count() < MOST_VISITS;
            states.push(match same {
                Some(state) => state,
                None if is_new && self.states.len() < MOST_STATES => self.add(pred, query),
                // Asked too often: nothing is known there, but it may be inserted.
                None => {
                    let number = self.states.len() as u32;
                    if self.states.len() >= 2 * MOST_STATES {
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

    /// Finds what is available. `may_complete` says whether what is missing may be inserted, all of it.
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
                    LookupResult::Above if state.preds.iter().all(is_there) => (true, false),
                    LookupResult::Above => {
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

    /// Whether the value is there where it is asked for.
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

/// What a memory operation says of the value at an address behind it.
fn answer(
    program: &ReplacementContext<'_>,
    subject: &QuerySubject,
    address: &LinearAddress,
    entry: &MemoryEntry,
) -> LookupResult {
    let ReplacementContext { func, memory, .. } = *program;
    let is_alone = !subject.between_lanes || memory.is_own(func, address);
    let is_same = |ty: &Type| {
        *ty == subject.ty
            || subject.without == Some(ReplacementRule::Types) && ty.bytes() == subject.ty.bytes()
    };
    match &entry.touch {
        MemoryEffect::Load { address: other, ty, .. } if other == address && is_same(ty) => {
            let value = func.result(entry.inst).filter(|_| program.may_serve(entry.inst, subject));
            return value.map_or(LookupResult::Lost, |value| LookupResult::Value(value, entry.inst));
        }
        MemoryEffect::Store { address: other, ty, value } if is_alone && other == address && is_same(ty) => {
            return LookupResult::Value(*value, entry.inst);
        }
        _ => {}
    }
    let bytes = subject.ty.bytes().into();
    let is_left_out = match subject.without {
        Some(ReplacementRule::Aliases) => !matches!(entry.touch, MemoryEffect::Fence),
        Some(ReplacementRule::Fences) => matches!(entry.touch, MemoryEffect::Fence),
        _ => subject.is_constant,
    };
    let changes = !is_left_out && memory.changes(func, entry, address, bytes, subject.between_lanes);
    if changes { LookupResult::Lost } else { LookupResult::Above }
}

/// What is asked at the end of a predecessor.
pub(super) fn along(
    func: &Function,
    subject: &QuerySubject,
    query: &ValueQuery,
    from: Block,
    to: Block,
) -> Option<ValueQuery> {
    let incoming = |value: Value| {
        let phi = func.def_inst(value).filter(|&inst| func.layout.block_of(inst) == Some(to));
        let is_replaced =
            |&inst: &Inst| func.inst(inst).op == Op::Phi && subject.without != Some(ReplacementRule::Edges);
        let phi = phi.filter(is_replaced);
        phi.and_then(|phi| func.inst(phi).incoming().find(|&(pred, _)| pred == from))
            .map_or(value, |(_, value)| value)
    };
    Some(match query {
        ValueQuery::Load(address) => ValueQuery::Load(address.replaced(func, incoming)?),
        ValueQuery::Operation(args) => {
            let args: SmallVec<[Value; 4]> = args.iter().map(|&arg| incoming(arg)).collect();
            ValueQuery::Operation(operands(subject.op, &args))
        }
    })
}

/// Whether what a query is about is the same in a block that control goes to as it was before.
pub(super) fn lasts(func: &Function, dominators: &DominatorTree, query: &ValueQuery, to: Block) -> bool {
    query.values().into_iter().all(|value| {
        let home = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
        home.is_none_or(|home| dominators.strictly_dominates(home, to))
    })
}
