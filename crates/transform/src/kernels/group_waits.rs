//! Lets the brushes of a group advance while work-items wait in loops for others of the group.
//!
//! One thread runs the brushes of a group one after the other, each to its next barrier. A brush that polls memory which a later one
//! writes would never end. So a kernel with such loops becomes one whose work-items meet at a barrier in one place, the *hub*, in
//! each iteration of these loops, and before each barrier and horizontal operation (the *sites*):
//!
//! ```text
//!     loop:  … poll …; jump hub as site 0        hub:  busy = round, if the site is no barrier
//!     b:     jump hub as site 1                        barrier group
//!            barrier group                             switch (may go on ? site : hub) [0: loop, 1: b, hub]
//! ```
//!
//! * A work-item that polls goes on in each round.
//! * Lanes at horizontal operations wait for lanes of their brush that poll, and go on at the first site in a loop-compact order: lanes
//!   that leave a loop wait for those inside, as they do in lock step.
//! * Work-items at barriers go on when no work-item of the group polls or is at a horizontal operation. They reach the barrier itself then,
//!   so those that wait at different ones are still found.
//!
//! Each round runs all brushes of the group once, so only kernels with such loops pay. A loop waits for the group if it polls local memory,
//! memory at the scope of the group, or any memory in a kernel without barriers. Loops around barriers need nothing.

use super::inline::is_group_barrier;
use crate::cfg_analyses::CfgAnalyses;
use crate::edges::{append_jump, replace_predecessors, retarget, set_incoming};
use crate::meeting_points::is_meeting_point;
use crate::progress::group_wait_edges;
use crate::ssa_repair::{SsaRepair, find_broken_uses};
use heddle_analysis::{BlockIndex, Cfg, DominatorTree};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Access, Detail, InstData, SwitchDetail};
use heddle_ir::module::{Global, GlobalInit};
use heddle_ir::words::{AtomicOrdering, Flags, IntPredicate, Reduction, Rmw, SyncScope};
use heddle_ir::{Block, Constant, Function, Inst, Module, Op, Scalar, Space, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Local object that holds the last round with work-items that are not at barriers.
const BUSY: &str = "kernel.busy";

const ACCESS: Access =
    Access { atomic: Some((AtomicOrdering::Relaxed, SyncScope::Group)), ..Access::aligned(4) };

/// Site at which work-items enter the hub, and the block where they go on.
struct HubSite {
    arrival: Block,
    resumption: Block,
}

/// True if work-items of a function may wait in a loop for others of their group.
pub(super) fn has_group_waits(func: &Function) -> bool {
    !group_wait_edges(func).is_empty()
}

/// Adds the object in which hubs count, if a function needs it. It is the first one: dynamic local memory follows the last.
pub(super) fn add_busy_object(module: &mut Module) {
    if module.functions.iter().any(has_group_waits) {
        let init = vec![GlobalInit::Poison(4)];
        module.globals.insert(0, Global { name: BUSY.into(), space: Space::Local, align: 4, init });
    }
}

/// Gives a kernel whose work-items wait for others of their group a hub; true if it did.
pub(super) fn meet_at_hub(kernel: &mut Function, lanes: u32) -> bool {
    let edges = group_wait_edges(kernel);
    if edges.is_empty() {
        return false;
    }
    let order = loop_compact_order(kernel);
    let mut sites: Vec<HubSite> =
        edges.into_iter().map(|(latch, header)| split_edge(kernel, latch, header)).collect();
    let polls = sites.len();
    if lanes > 1 {
        sites.extend(split_at_horizontals(kernel, &order));
    }
    let barriers: Vec<Inst> = kernel
        .blocks()
        .flat_map(|block| kernel.block_insts(block))
        .filter(|&inst| is_group_barrier(kernel.inst(inst)))
        .collect();
    let barriers: Vec<HubSite> = barriers.into_iter().map(|inst| split_before(kernel, inst)).collect();
    let busy = sites.len();
    sites.extend(barriers);
    add_hub(kernel, &sites, polls, busy);
    clear_busy(kernel);
    true
}

/// Returns the blocks in a topological order in which those of a loop follow each other.
fn loop_compact_order(func: &Function) -> Vec<Block> {
    let flow = CfgAnalyses::new(func);
    BlockIndex::new(&flow.cfg, flow.dominators(), flow.forest()).order().to_vec()
}

/// Inserts a site on the edges from a block to another one.
fn split_edge(func: &mut Function, from: Block, to: Block) -> HubSite {
    let [arrival, resumption] = [func.append_block(), func.append_block()];
    retarget(func, from, to, arrival);
    let replacement = FxHashMap::from_iter([(from, SmallVec::from_slice(&[resumption]))]);
    replace_predecessors(func, to, &replacement);
    append_jump(func, resumption, to);
    HubSite { arrival, resumption }
}

/// Splits a block before an instruction.
fn split_before(func: &mut Function, inst: Inst) -> HubSite {
    let arrival = func.layout.block_of(inst).expect("the instruction stands in a block");
    let resumption = func.insert_block_after(arrival);
    let mut next = Some(inst);
    while let Some(at) = next {
        next = func.layout.next_inst(at);
        func.layout.remove_inst(at);
        func.layout.append_inst(at, resumption);
    }
    let mut successors = func.successors(resumption).to_vec();
    successors.sort_unstable();
    successors.dedup();
    let replacement = FxHashMap::from_iter([(arrival, SmallVec::from_slice(&[resumption]))]);
    successors.into_iter().for_each(|successor| replace_predecessors(func, successor, &replacement));
    HubSite { arrival, resumption }
}

/// Splits blocks before their first horizontal operation. Lanes enter the kernel, and code after a barrier, together.
fn split_at_horizontals(kernel: &mut Function, blocks: &[Block]) -> Vec<HubSite> {
    let (mut sites, entry) = (Vec::new(), kernel.entry());
    for &block in blocks.iter().filter(|&&block| block != entry) {
        let found = kernel.block_insts(block).find(|&inst| is_meeting_point(kernel, inst));
        if let Some(inst) = found.filter(|&inst| !is_group_barrier(kernel.inst(inst))) {
            sites.push(split_before(kernel, inst));
        }
    }
    sites
}

fn busy_address(func: &mut Function) -> Value {
    func.make_const(Constant::Address(Space::Local, BUSY.into()))
}

/// Adds the hub. Sites before `polls` are those of loops that poll, those before `busy` those of horizontal operations.
fn add_hub(func: &mut Function, sites: &[HubSite], polls: usize, busy: usize) {
    let hub = func.append_block();
    let numbers: Vec<Value> =
        (0..sites.len()).map(|number| func.make_int(Scalar::I32, number as i128)).collect();
    let zero = func.make_int(Scalar::I32, 0);
    let object = busy_address(func);
    for site in sites {
        append_jump(func, site.arrival, hub);
    }
    let arrivals: Vec<(Block, Value)> =
        sites.iter().zip(numbers).map(|(it, number)| (it.arrival, number)).collect();
    let mut builder = Builder::new(func, InsertPoint::End(hub));
    let site = builder.phi(Type::I32, &arrivals, None);
    let round = builder.phi(Type::I32, &[(hub, zero)], None);
    let one = builder.int(Scalar::I32, 1);
    let next = builder.op(Op::Add, &[round, one]);
    let [polls_end, busy_end] = [polls, busy].map(|it| builder.int(Scalar::I32, it as i128));
    let polls_on = builder.icmp(IntPredicate::Ult, site, polls_end);
    let is_busy = builder.icmp(IntPredicate::Ult, site, busy_end);
    let mark = builder.select(is_busy, next, zero);
    builder.inst(InstData::new(Op::AtomicRmw, [object, mark], Detail::Rmw(Rmw::Umax, ACCESS)), None);
    builder.inst(InstData::new(Op::Barrier, [], Detail::Barrier(SyncScope::Group)), None);
    let load = InstData { flags: Flags::NONE, ..InstData::new(Op::Load, [object], Detail::Access(ACCESS)) };
    let last = builder.value(load, Some(Type::I32));
    // Brushes that are in the next round already have marked it.
    let none_is_busy = builder.icmp(IntPredicate::Ult, last, next);
    let mut goes_on = builder.select(is_busy, polls_on, none_is_busy);
    if busy > polls {
        let others = builder.int(Scalar::I32, -1);
        let own = builder.select(is_busy, site, others);
        // The first site of the brush: lanes that poll come before all others.
        let first = InstData::new(Op::Reduce, [own], Detail::Reduce(Reduction::Umin));
        let first = builder.value(first, None);
        let is_first = builder.icmp(IntPredicate::Eq, site, first);
        let at_horizontal = builder.select(polls_on, polls_on, is_first);
        goes_on = builder.select(is_busy, at_horizontal, none_is_busy);
    }
    let again = builder.int(Scalar::I32, sites.len() as i128);
    let target = builder.select(goes_on, site, again);
    let switch = SwitchDetail {
        cases: (0..sites.len() as u128).collect(),
        targets: std::iter::once(hub).chain(sites.iter().map(|it| it.resumption)).collect(),
    };
    builder.inst(InstData::new(Op::Switch, [target], Detail::Switch(Box::new(switch))), None);
    for (phi, from_arrivals) in [(site, None), (round, Some(next))] {
        let phi = func.def_inst(phi).expect("a φ defines its result");
        let of_arrivals = arrivals.iter().map(|&(block, number)| (block, from_arrivals.unwrap_or(number)));
        let again = from_arrivals.unwrap_or(site);
        set_incoming(func, phi, of_arrivals.chain([(hub, again)]).collect::<Vec<_>>());
    }
    repair(func, next, zero);
}

/// Repairs SSA form. The count of rounds is 0 before the hub.
fn repair(func: &mut Function, rounds: Value, zero: Value) {
    let (cfg, entry) = (Cfg::new(func), func.entry());
    let dominators = DominatorTree::new(&cfg);
    let blocks: Vec<Block> = func.blocks().collect();
    for inst in blocks.iter().flat_map(|&block| func.block_insts(block)).collect::<Vec<_>>() {
        let Some(block) = func.layout.block_of(inst) else { continue };
        func.retain_bases(inst, |func, base| {
            let at = func.def_inst(base).and_then(|object| func.layout.block_of(object));
            at.is_none_or(|at| dominators.dominates(at, block))
        });
    }
    let broken = find_broken_uses(func, &dominators, blocks, |block| block);
    let repair = SsaRepair::new(&cfg, &dominators);
    for (value, (block, reads)) in broken {
        let before = if value == rounds { zero } else { func.make_poison(func.value_type(value)) };
        repair.rename(func, &[(entry, before), (block, value)], &reads);
    }
}

/// Clears the count before the first round.
fn clear_busy(func: &mut Function) {
    let entry = func.entry();
    let object = busy_address(func);
    let zero = func.make_int(Scalar::I32, 0);
    let last = func.block_insts(entry).take_while(|&inst| func.inst(inst).op == Op::Alloca).last();
    let at = last.map_or(InsertPoint::Start(entry), InsertPoint::After);
    let mut builder = Builder::new(func, at);
    // All work-items store the same value, so their order does not matter.
    builder.inst(InstData::new(Op::Store, [zero, object], Detail::Access(ACCESS)), None);
    builder.inst(InstData::new(Op::Barrier, [], Detail::Barrier(SyncScope::Group)), None);
}
