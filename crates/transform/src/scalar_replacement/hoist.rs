//! Hoisting out of divergent branches: a diverged warp executes both sides, so all lanes may compute before the branch what only
//! one side needs. Values of both sides are then computed once, and more becomes redundant.
//!
//! ```text
//!     block0: br v1, block1, block2        block0: v9 = load A[i]
//!        │            │                            br v1, block1, block2
//!        ▼            ▼
//!     block1: …    block2: load A[i]       both sides have v9
//! ```
//!
//! The search climbs the dominator tree from the instruction as long as the query propagates through all blocks between with
//! one expression. Each divergent branch that controls the instruction is a candidate; a uniform one is passed only if all
//! lanes after it need the value. A lane that does not need the value must not fault or race: such loads are hoisted only from
//! dereferenceable memory that nothing in the function writes.

use heddle_analysis::{AddressSum, PostDominatorTree};
use heddle_ir::ops::Effect;
use heddle_ir::words::Flags;
use heddle_ir::{Block, Constant, Detail, Function, Op, Value, ValueDef};
use smallvec::SmallVec;

use super::anticipation::is_anticipated_behind;
use super::memory::{MemoryEffect, dereferenceable_bytes};
use super::query::{LookupResult, QueryPropagation, QuerySubject, ReplacementContext, ValueQuery};

/// Maximum number of dominators to climb, and to search for accesses.
const MAX_CLIMBS: usize = 16;
/// Maximum number of accesses to examine in each.
const MAX_ACCESSES: usize = 64;
/// Maximum number of values in an address's computation.
const MAX_VALUES: usize = 32;
/// Minimum distance of objects in bytes: memory between accessed bytes closer than that belongs to their object.
const MIN_OBJECT_DISTANCE: i64 = 4096;

/// Target of hoisting.
#[derive(Debug)]
pub(super) struct HoistTarget {
    /// Block at whose end the value is computed.
    pub(super) block: Block,
    /// Expression there.
    pub(super) query: ValueQuery,
    /// Alignment that holds for all lanes, for loads.
    pub(super) align: u32,
}

/// Returns the highest block to hoist the query's value to, out of branches that `parts` selects.
pub(super) fn target(
    program: &ReplacementContext<'_>,
    subject: &QuerySubject,
    propagation: &mut QueryPropagation,
    post_dominators: &PostDominatorTree,
    parts: impl Fn(Block) -> bool,
) -> Option<HoistTarget> {
    let ReplacementContext { control, .. } = *program;
    let origin = propagation.states[0].block;
    let (mut at, mut dependent) = (origin, origin);
    let mut best = None;
    for _ in 0..MAX_CLIMBS {
        let Some(above) = control.dominators.idom(at) else { break };
        let is_left =
            control.cycles.innermost(above).is_some_and(|cycle| !control.cycles.contains(cycle, origin));
        let Some(state) = state_at(propagation, above).filter(|_| !is_left) else { break };
        if !post_dominators.post_dominates(dependent, above) {
            let is_needed = is_anticipated_behind(program, subject, propagation, state);
            let query = &propagation.states[state].query;
            if parts(above) && is_needed {
                best = Some(HoistTarget { block: above, query: query.clone(), align: subject.align });
            } else if parts(above) && is_safe_to_speculate(program, subject, query, above) {
                let align = match query {
                    ValueQuery::Load(address) => known_align(program.func, address).min(subject.align),
                    ValueQuery::Operation(_) => 0,
                };
                best = Some(HoistTarget { block: above, query: query.clone(), align });
            } else if !is_needed {
                break;
            }
            dependent = above;
        }
        at = above;
    }
    best
}

/// Returns the state of a dominating block, if the query propagates on all paths from it.
fn state_at(propagation: &QueryPropagation, block: Block) -> Option<usize> {
    let mut found: Option<usize> = None;
    let mut seen = vec![false; propagation.states.len()];
    let mut work = vec![0usize];
    while let Some(number) = work.pop() {
        let state = &propagation.states[number];
        if state.block == block && number > 0 {
            let is_other = |other: usize| propagation.states[other].query != state.query;
            if state.is_cut || found.is_some_and(is_other) {
                return None;
            }
            found = Some(number);
            continue;
        }
        if state.found != LookupResult::Predecessors {
            return None;
        }
        for &pred in &state.preds {
            if !std::mem::replace(&mut seen[pred as usize], true) {
                work.push(pred as usize);
            }
        }
    }
    found
}

/// True if lanes that do not need the value may compute it at the end of a block.
fn is_safe_to_speculate(
    program: &ReplacementContext<'_>,
    subject: &QuerySubject,
    query: &ValueQuery,
    block: Block,
) -> bool {
    let ReplacementContext { func, control, memory, .. } = *program;
    let ValueQuery::Load(address) = query else { return subject.op.info().effect != Effect::Traps };
    let bytes = u64::from(subject.ty.bytes());
    if !subject.is_constant && memory.is_written(func, address, bytes) {
        return false;
    }
    let message = func.inst(subject.inst).access().map_or(0, |access| access.dereferenceable);
    // The attribute `dereferenceable` presumes a defined address, which other lanes may not have.
    if dereferenceable_bytes(func, address) >= bytes
        || u64::from(message) >= bytes && is_defined(func, address)
    {
        return true;
    }
    // Dominators access the address, or bytes before and after it.
    let (mut least, mut most) = (i64::MAX, i64::MIN);
    let mut at = Some(block);
    for _ in 0..MAX_CLIMBS {
        let Some(here) = at else { break };
        for entry in memory.of(here).iter().rev().take(MAX_ACCESSES) {
            let (other, length) = match &entry.effect {
                MemoryEffect::Load { address, ty, .. } | MemoryEffect::Store { address, ty, .. } => {
                    (address, ty.bytes())
                }
                _ => continue,
            };
            if other.root == address.root && other.terms == address.terms {
                let from = other.offset.wrapping_sub(address.offset);
                least = least.min(from);
                most = most.max(from.saturating_add(length.into()));
            }
        }
        at = control.dominators.idom(here);
    }
    least <= 0 && most >= bytes as i64 && most.saturating_sub(least) <= MIN_OBJECT_DISTANCE
}

/// True if an address cannot be poison.
fn is_defined(func: &Function, address: &AddressSum) -> bool {
    let mut seen: SmallVec<[Value; 16]> = address.values().collect();
    let mut next = 0;
    while let Some(&value) = seen.get(next) {
        next += 1;
        let inst = match func.value_def(value) {
            ValueDef::Param(_) => continue,
            ValueDef::Const if matches!(func.constant(value), Some(Constant::Poison(_))) => return false,
            ValueDef::Const => continue,
            ValueDef::Result(inst, _) => inst,
            ValueDef::None => return false,
        };
        let data = func.inst(inst);
        let is_simple = match data.op {
            Op::Freeze | Op::Alloca => continue,
            Op::Phi | Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor | Op::PtrAdd => true,
            Op::Zext | Op::Sext | Op::Trunc | Op::SpaceCast => true,
            _ => matches!(data.detail, Detail::Dimension(_)),
        };
        if !is_simple || !data.flags.intersection(Flags::POISON).is_empty() || seen.len() > MAX_VALUES {
            return false;
        }
        for &arg in &data.args {
            if !seen.contains(&arg) {
                seen.push(arg);
            }
        }
    }
    true
}

/// Returns an alignment that the address has in all lanes.
fn known_align(func: &Function, address: &AddressSum) -> u32 {
    let root = match func.value_def(address.root) {
        ValueDef::Param(index) => func.signature.params[index as usize].align,
        ValueDef::Result(inst, _) => match func.inst(inst).detail {
            Detail::Alloca { align, .. } => align,
            _ => 1,
        },
        _ => 1,
    };
    let bits = address.terms.iter().fold(address.offset, |bits, (_, factor)| bits | factor);
    let factors =
        if bits == 0 { u32::MAX } else { 1u32.checked_shl(bits.trailing_zeros()).unwrap_or(1 << 31) };
    root.max(1).min(factors)
}
