//! Anticipation: true if all lanes in a block compute a value there or later, so it may be computed earlier.
//!
//! The search goes forward, from a block to its successors, until it meets the value or an operation that changes it. An
//! address has several names on the way: those of the query's states that led here, since `A[i + 1]` is `A[i]` in the next
//! iteration. Uses after a loop without the value do not count, as the loop may not end; nor do uses after a call that may not
//! return.

use heddle_analysis::AddressSum;
use heddle_ir::ops::Effect;
use heddle_ir::types::{Scalar, Space, Type};
use heddle_ir::words::Flag;
use heddle_ir::{Block, Inst};
use smallvec::SmallVec;

use super::memory::MemoryEffect;
use super::query::{
    LookupResult, MAX_LOOKS, QueryPropagation, QuerySubject, ReplacementContext, ValueQuery,
    operands_dominate,
};

/// Maximum number of blocks to visit.
const MAX_BLOCKS: usize = 48;

type QueryNames = SmallVec<[ValueQuery; 2]>;

/// Block, and the names of the value on entry.
struct AnticipationNode {
    block: Block,
    names: QueryNames,
    /// Successors, if these decide.
    next: SmallVec<[usize; 2]>,
    holds: bool,
}

/// True if all lanes that enter the block of a propagating state need its value.
pub(super) fn is_anticipated(
    program: &ReplacementContext<'_>,
    subject: &QuerySubject,
    propagation: &mut QueryPropagation,
    state: usize,
) -> bool {
    if let Some(known) = propagation.states[state].is_anticipated {
        return known;
    }
    let names = QueryNames::from_elem(propagation.states[state].query.clone(), 1);
    let start = (propagation.states[state].block, names);
    let holds = walk(program, subject, propagation, [start].into_iter().collect());
    propagation.states[state].is_anticipated = Some(holds);
    holds
}

/// True if all lanes that leave the block of a state need its value afterwards.
pub(super) fn is_anticipated_behind(
    program: &ReplacementContext<'_>,
    subject: &QuerySubject,
    propagation: &mut QueryPropagation,
    state: usize,
) -> bool {
    let names = QueryNames::from_elem(propagation.states[state].query.clone(), 1);
    let block = propagation.states[state].block;
    let succs = program.control.cfg.succs(block);
    let starts = succs.iter().map(|&to| (to, names_after(program, propagation, block, &names, to))).collect();
    !succs.is_empty() && walk(program, subject, propagation, starts)
}

/// True if all paths from all starts meet the value.
fn walk(
    program: &ReplacementContext<'_>,
    subject: &QuerySubject,
    propagation: &mut QueryPropagation,
    starts: SmallVec<[(Block, QueryNames); 2]>,
) -> bool {
    let mut ahead: Vec<AnticipationNode> = Vec::new();
    let num_starts = starts.len();
    for (block, names) in starts {
        ahead.push(AnticipationNode { block, names, next: SmallVec::new(), holds: false });
    }
    let mut at = 0;
    while at < ahead.len() {
        match decide_in_block(program, subject, propagation, &ahead[at]) {
            Some(holds) => ahead[at].holds = holds,
            None => {
                let AnticipationNode { block, names, .. } = &ahead[at];
                let (block, names) = (*block, names.clone());
                let mut next = SmallVec::new();
                for &to in program.control.cfg.succs(block) {
                    let names = names_after(program, propagation, block, &names, to);
                    let known = ahead.iter().position(|other| other.block == to && other.names == names);
                    next.push(known.unwrap_or(ahead.len()));
                    if known.is_none() {
                        ahead.push(AnticipationNode {
                            block: to,
                            names,
                            next: SmallVec::new(),
                            holds: false,
                        });
                    }
                }
                ahead[at].next = next;
            }
        }
        at += 1;
        if ahead.len() > MAX_BLOCKS {
            return false;
        }
    }
    // Least fixed point: cycles without the value do not hold.
    loop {
        let mut changed = false;
        for number in (0..ahead.len()).rev() {
            let AnticipationNode { next, holds, .. } = &ahead[number];
            if !holds && !next.is_empty() && next.iter().all(|&next| ahead[next].holds) {
                ahead[number].holds = true;
                changed = true;
            }
        }
        if !changed {
            return ahead[..num_starts].iter().all(|ahead| ahead.holds);
        }
    }
}

/// Decides anticipation within a block; none leaves it to the successors.
fn decide_in_block(
    program: &ReplacementContext<'_>,
    subject: &QuerySubject,
    propagation: &mut QueryPropagation,
    ahead: &AnticipationNode,
) -> Option<bool> {
    let ReplacementContext { func, memory, .. } = *program;
    if ahead.names.is_empty() || propagation.looks > 2 * MAX_LOOKS {
        return Some(false);
    }
    let traps = subject.op.info().effect == Effect::Traps;
    for entry in memory.of(ahead.block) {
        propagation.looks += 1;
        let stops = matches!(entry.effect, MemoryEffect::MayNotReturn | MemoryEffect::Fence);
        for name in &ahead.names {
            let ValueQuery::Load(address) = name else { continue };
            if let MemoryEffect::Load { address: other, ty, align } = &entry.effect
                && other == address
                && *ty == subject.ty
                && *align >= subject.align
                && makes_redundant(program, subject, entry.inst, address)
            {
                return Some(true);
            }
            let bytes = subject.ty.bytes().into();
            if !subject.is_constant
                && memory.changes(func, entry, address, bytes, subject.observes_other_lanes)
            {
                return Some(false);
            }
        }
        if stops && (subject.align > 0 || traps) {
            return Some(false);
        }
    }
    for name in &ahead.names {
        if let ValueQuery::Operation(args) = name
            && program.operations.of(program, subject, ahead.block, args).is_some()
        {
            return Some(true);
        }
    }
    func.successors(ahead.block).is_empty().then_some(false)
}

/// True if an available value makes the load redundant. A query for constant memory may propagate past writes; a load of the
/// same address that is not known to be constant cannot use its result.
fn makes_redundant(
    program: &ReplacementContext<'_>,
    subject: &QuerySubject,
    load: Inst,
    address: &AddressSum,
) -> bool {
    let ReplacementContext { func, memory, .. } = *program;
    let is_constant = func.inst(load).flags.has(Flag::Invariant)
        || func.value_type(address.root) == Type::Scalar(Scalar::Ptr(Space::Constant));
    !subject.is_constant || is_constant || !memory.is_written(func, address, subject.ty.bytes().into())
}

/// Returns the names of the value after an edge.
fn names_after(
    program: &ReplacementContext<'_>,
    propagation: &QueryPropagation,
    from: Block,
    names: &[ValueQuery],
    to: Block,
) -> QueryNames {
    let ReplacementContext { func, control, .. } = *program;
    let mut there: QueryNames =
        names.iter().filter(|name| operands_dominate(func, &control.dominators, name, to)).cloned().collect();
    let start = (propagation.states[0].block == to).then_some(0);
    for number in propagation.of_block(to).iter().copied().chain(start) {
        let state = &propagation.states[number as usize];
        let leads_here = |&pred: &u32| {
            let pred = &propagation.states[pred as usize];
            pred.block == from && names.contains(&pred.query)
        };
        if state.found == LookupResult::Predecessors
            && state.preds.iter().any(leads_here)
            && !there.contains(&state.query)
        {
            there.push(state.query.clone());
        }
    }
    there
}
