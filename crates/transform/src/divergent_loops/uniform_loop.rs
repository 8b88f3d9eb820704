//! Builds the uniform form of one divergent loop: blocks, masks, trackers, dispatch.
//!
//! A uniform exit that stays has two blocks of its own, J and K, where the lanes that wait join those that are live:
//!
//! ```text
//!     GuardH (or the K before) ─────────┐
//!        │ live                         │ lanes that wait
//!        ▼                              ▼
//!        e: v5 = …; br J ────────────►  J: v6 = phi i1 [e: v5], [GuardH: false] shadow(false)
//!                                          v7 = any v6
//!        S  ◄────────────────────────┐     br v7, Disp, K            uniform: all leave, or none
//!        │                      live └─ K: br live, S, L             (or the next J)
//! ```
//!
//! J has a φ for each value that crosses it and is read behind ([`super::rejoin`]); those lanes that wait bring ⊤.

use heddle_analysis::Cycle;
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Constant, Function, Op, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

use super::Nest;
use super::exits::{Exit, Plan};
use super::rejoin::Rejoin;
use super::trackers::{LiveOut, Tracker, Trackers};
use crate::edges::{append_jump, phis, replace_predecessors, retarget, set_incoming};

/// The new blocks of a loop.
#[derive(Debug)]
pub(super) struct LoopBlocks {
    /// NewH.
    header: Block,
    guard: Block,
    /// For each exit that goes round: E.
    edges: Vec<Block>,
    /// For each exit that stays: J and K.
    joins: Vec<(Block, Block)>,
    /// L.
    latch: Block,
    /// Disp, and one more block for each exit but the last two. They are in the next outer loop.
    dispatch: Vec<Block>,
}

impl LoopBlocks {
    pub(super) fn new(func: &mut Function, nest: &mut Nest<'_>, cycle: Cycle, plan: &Plan) -> LoopBlocks {
        let before =
            func.layout.prev_block(plan.header).expect("a loop has a preheader, so it is not the entry");
        let header = func.insert_block_after(before);
        let guard = func.insert_block_after(header);
        let edges: Vec<Block> = plan.rebound.iter().map(|exit| func.insert_block_after(exit.from)).collect();
        let joins: Vec<(Block, Block)> = (plan.retained.iter())
            .map(|exit| {
                let join = func.insert_block_after(exit.from);
                (join, func.insert_block_after(join))
            })
            .collect();
        let behind_latch = plan.rebound.iter().position(|exit| exit.from == plan.latch);
        let latch = func.insert_block_after(behind_latch.map_or(plan.latch, |index| edges[index]));
        let mut dispatch = vec![func.insert_block_after(latch)];
        for _ in 2..plan.targets.len() {
            let last = dispatch[dispatch.len() - 1];
            dispatch.push(func.insert_block_after(last));
        }
        let inside = [header, guard, latch].into_iter().chain(edges.iter().copied());
        for block in inside.chain(joins.iter().flat_map(|&(join, guard)| [join, guard])) {
            nest.new_home[block] = Some(cycle);
        }
        for &block in &dispatch {
            nest.new_home[block] = nest.forest.parent(cycle);
        }
        LoopBlocks { header, guard, edges, joins, latch, dispatch }
    }

    /// Where lanes that wait come from to each J, and behind the last one to L.
    fn waiting(&self) -> Vec<Block> {
        std::iter::once(self.guard).chain(self.joins.iter().map(|&(_, guard)| guard)).collect()
    }

    /// Where paths with and without the loop's values meet.
    pub(super) fn rejoins(&self, plan: &Plan) -> Vec<Rejoin> {
        let edges = plan.retained.iter().zip(&self.joins).zip(self.waiting());
        edges.map(|((exit, &(join, _)), waiting)| Rejoin { join, from: exit.from, waiting }).collect()
    }
}

/// Makes the loop uniform and returns its new exits' edges.
pub(super) fn make_uniform(
    func: &mut Function,
    nest: &Nest<'_>,
    cycle: Cycle,
    plan: &Plan,
    blocks: &LoopBlocks,
) -> Vec<Exit> {
    let trackers = Trackers::new(func, nest, cycle, plan);
    let live = make_header(func, plan, blocks);
    let headers: Vec<Value> = trackers.all.iter().map(|tracker| open(func, plan, blocks, tracker)).collect();
    let carried = move_carried(func, nest, cycle, plan, blocks);
    append_any(func, blocks.header, live, [blocks.guard, blocks.dispatch[0]]);

    // Lanes that left, lanes that go round, lanes that leave.
    let waiting = blocks.waiting();
    let last_waiting = waiting[waiting.len() - 1];
    let [yes, no] = [true, false].map(|value| func.make_bool(value));
    let merge = |func: &mut Function, ty, left, stays, leaves: &dyn Fn(&Exit) -> Value| {
        let sources = plan.rebound.iter().zip(&blocks.edges).map(|(exit, &edge)| (edge, leaves(exit)));
        let incoming: Vec<(Block, Value)> =
            [(last_waiting, left), (plan.latch, stays)].into_iter().chain(sources).collect();
        append_phi(func, blocks.latch, ty, &incoming, None)
    };
    let update = merge(func, Type::I1, no, yes, &|_| no);
    close(func, live, blocks.latch, update);
    for (tracker, &header) in trackers.all.iter().zip(&headers) {
        if tracker.goes_round(plan) {
            let leaves = |exit: &Exit| tracker.updates.get(&exit.from).copied().unwrap_or(header);
            let update = merge(func, tracker.ty, header, header, &leaves);
            close(func, header, blocks.latch, update);
        }
    }
    for (header, next) in carried {
        let ty = func.value_type(header);
        let nothing = func.make_poison(ty);
        let update = merge(func, ty, nothing, next, &|_| nothing);
        close(func, header, blocks.latch, update);
    }
    append_jump(func, blocks.latch, blocks.header);

    lead(func, plan, blocks, live);
    let outside = leave(func, plan, blocks, &trackers, &headers);
    dispatch(func, plan, blocks, &trackers, &outside)
}

/// Starts NewH with its live mask, still without its update.
fn make_header(func: &mut Function, plan: &Plan, blocks: &LoopBlocks) -> Value {
    let [yes, no] = [true, false].map(|value| func.make_bool(value));
    append_phi(func, blocks.header, Type::I1, &[(plan.preheader, yes)], Some(no))
}

/// Gives a tracker its φ in NewH, still without its update, if it needs one.
fn open(func: &mut Function, plan: &Plan, blocks: &LoopBlocks, tracker: &Tracker) -> Value {
    if !tracker.goes_round(plan) {
        return tracker.initial;
    }
    append_phi(func, blocks.header, tracker.ty, &[(plan.preheader, tracker.initial)], None)
}

/// Moves the φs of H to NewH. Returns those that need an update, and what they become for lanes that go round.
fn move_carried(
    func: &mut Function,
    nest: &Nest<'_>,
    cycle: Cycle,
    plan: &Plan,
    blocks: &LoopBlocks,
) -> Vec<(Value, Value)> {
    let moved = phis(func, plan.header);
    for &phi in &moved {
        func.layout.remove_inst(phi);
        func.layout.append_inst(phi, blocks.header);
    }
    let mut carried = Vec::new();
    for phi in moved {
        let mut incoming: Vec<(Block, Value)> = func.inst(phi).incoming().collect();
        let (source, next) = incoming
            .iter_mut()
            .find_map(|(source, value)| (*source == plan.latch).then_some((source, *value)))
            .expect("a φ of a header has a value from the latch");
        *source = blocks.latch;
        let home = func.def_inst(next).and_then(|inst| func.layout.block_of(inst));
        if home != Some(blocks.header) && nest.defines(func, cycle, next) {
            incoming.retain(|&(source, _)| source != blocks.latch);
            carried.push((func.results(phi)[0], next));
        }
        // What is defined in NewH or before the loop comes round as it is: lanes that wait may keep it.
        set_incoming(func, phi, incoming);
    }
    carried
}

/// Adds the edge from L to a φ of NewH.
fn close(func: &mut Function, header: Value, latch: Block, update: Value) {
    let phi = func.def_inst(header).expect("a φ of the header");
    let incoming: Vec<(Block, Value)> = func.inst(phi).incoming().chain([(latch, update)]).collect();
    set_incoming(func, phi, incoming);
}

/// Leads control into, around and out of the loop, but for what happens behind Disp.
fn lead(func: &mut Function, plan: &Plan, blocks: &LoopBlocks, live: Value) {
    retarget(func, plan.preheader, plan.header, blocks.header);
    retarget(func, plan.latch, plan.header, blocks.latch);
    for (exit, &edge) in plan.rebound.iter().zip(&blocks.edges) {
        retarget(func, exit.from, exit.to, edge);
        append_jump(func, edge, blocks.latch);
    }
    // Lanes that wait go from one J to the next, and in the end to L.
    let waiting = blocks.waiting();
    let next: Vec<Block> = blocks.joins.iter().map(|&(join, _)| join).chain([blocks.latch]).collect();
    append_branch(func, blocks.guard, live, [plan.header, next[0]]);
    for (index, (exit, &(join, guard))) in plan.retained.iter().zip(&blocks.joins).enumerate() {
        let behind = rejoin_exit(func, exit, join, guard, waiting[index], blocks.dispatch[0]);
        append_branch(func, guard, live, [behind, next[index + 1]]);
    }
}

/// Moves the decision of a uniform exit from its block to J; returns the block where the loop goes on.
fn rejoin_exit(
    func: &mut Function,
    exit: &Exit,
    join: Block,
    guard: Block,
    waiting: Block,
    dispatch: Block,
) -> Block {
    let branch = func.terminator(exit.from).expect("an exiting block has a terminator");
    let leaves_if_true = func.inst(branch).targets()[0] == exit.to;
    let condition = func.inst(branch).args[0];
    // Lanes that wait leave when the others do: they bring the neutral value.
    let neutral = func.make_bool(!leaves_if_true);
    let asked =
        append_phi(func, join, Type::I1, &[(exit.from, condition), (waiting, neutral)], Some(neutral));
    let op = if leaves_if_true { Op::Any } else { Op::All };
    let together = append(func, join, InstData::plain(op, [asked]), Type::I1);
    let mut behind = exit.to;
    let data = func.inst_mut(branch);
    data.args[0] = together;
    for target in data.targets_mut() {
        if *target == exit.to {
            *target = dispatch;
        } else {
            behind = std::mem::replace(target, guard);
        }
    }
    func.layout.remove_inst(branch);
    func.layout.append_inst(branch, join);
    append_jump(func, exit.from, join);
    let moved = FxHashMap::from_iter([(exit.from, smallvec![guard])]);
    replace_predecessors(func, behind, &moved);
    behind
}

/// What each tracker is in Disp, where lanes may come from NewH and from each J.
fn leave(
    func: &mut Function,
    plan: &Plan,
    blocks: &LoopBlocks,
    trackers: &Trackers,
    headers: &[Value],
) -> Vec<Value> {
    let waiting = blocks.waiting();
    let mut outside = Vec::with_capacity(headers.len());
    for (tracker, &header) in trackers.all.iter().zip(headers) {
        let mut incoming = vec![(blocks.header, header)];
        for ((exit, &(join, _)), &waiting) in plan.retained.iter().zip(&blocks.joins).zip(&waiting) {
            let value = match tracker.updates.get(&exit.from) {
                None => header,
                // Nobody who waits needs it.
                Some(&value) if is_poison(func, header) => value,
                Some(&value) => {
                    let first = func.layout.first_inst(join).expect("J has a φ");
                    let incoming = [(exit.from, value), (waiting, header)];
                    let phi = func.make_inst(InstData::phi(incoming, None), &[tracker.ty]);
                    func.layout.insert_inst_after(phi, first);
                    func.results(phi)[0]
                }
            };
            incoming.push((join, value));
        }
        outside.push(match incoming.iter().all(|&(_, value)| value == header) {
            true => header,
            false => append_phi(func, blocks.dispatch[0], tracker.ty, &incoming, None),
        });
    }
    outside
}

/// Sends each lane to its exit.
fn dispatch(
    func: &mut Function,
    plan: &Plan,
    blocks: &LoopBlocks,
    trackers: &Trackers,
    outside: &[Value],
) -> Vec<Exit> {
    let last = blocks.dispatch.len() - 1;
    let mut exits = Vec::with_capacity(plan.targets.len());
    for (index, (&to, live_outs)) in plan.targets.iter().zip(&trackers.live_outs).enumerate() {
        let from = blocks.dispatch[index.min(last)];
        let otherwise =
            if index < last { blocks.dispatch[index + 1] } else { plan.targets[plan.targets.len() - 1] };
        match trackers.masks.get(index) {
            Some(&mask) => append_branch(func, from, outside[mask], [to, otherwise]),
            None if index == 0 => append_jump(func, from, to),
            // The block before has led here.
            None => {}
        }
        for &(phi, live_out) in live_outs {
            let value = match live_out {
                LiveOut::Invariant(value) => value,
                LiveOut::Tracked(tracker) => outside[tracker],
            };
            set_incoming(func, phi, [(from, value)]);
        }
        exits.push(Exit { from, to, source: plan.header, is_own: false });
    }
    exits
}

fn is_poison(func: &Function, value: Value) -> bool {
    matches!(func.constant(value), Some(Constant::Poison(_)))
}

fn append(func: &mut Function, block: Block, data: InstData, ty: Type) -> Value {
    let inst = func.make_inst(data, &[ty]);
    func.layout.append_inst(inst, block);
    func.results(inst)[0]
}

fn append_phi(
    func: &mut Function,
    block: Block,
    ty: Type,
    incoming: &[(Block, Value)],
    shadow: Option<Value>,
) -> Value {
    append(func, block, InstData::phi(incoming.iter().copied(), shadow), ty)
}

fn append_branch(func: &mut Function, block: Block, condition: Value, [then, otherwise]: [Block; 2]) {
    let branch = func.make_inst(InstData::branch(condition, then, otherwise), &[]);
    func.layout.append_inst(branch, block);
}

/// Ends a block with a branch that asks whether any lane says so.
fn append_any(func: &mut Function, block: Block, condition: Value, targets: [Block; 2]) {
    let any = append(func, block, InstData::plain(Op::Any, [condition]), Type::I1);
    append_branch(func, block, any, targets);
}
