//! Rewrites one divergent loop to a uniform one: blocks, masks, trackers, dispatch.
//!
//! A retained uniform exit has two blocks of its own, J and K, where waiting lanes join live ones:
//!
//! ```text
//!     GuardH (or the K before) ─────────┐
//!        │ live                         │ waiting lanes
//!        ▼                              ▼
//!        e: v5 = …; br J ────────────►  J: v6 = phi i1 [e: v5], [GuardH: true] shadow(true)
//!                                          v7 = all v6
//!        S  ◄────────────────────────┐     br v7, Disp, K            uniform: all leave, or none
//!        │                      live └─ K: br live, S, L             (or the next J)
//! ```
//!
//! Without live lanes, all leave there, too: a lane that continues thus tells the next iteration to skip the test.
//!
//! J has a φ for each value that crosses it and is read after it ([`super::rejoin`]); waiting lanes bring poison. Lanes
//! that have just left by a divergent exit before e reach J as well, through their E. There live and trackers are updated,
//! for a joint exit and for lanes that continue.

use heddle_analysis::Cycle;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Constant, Function, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

use super::LoopMembership;
use super::exits::{LoopExit, UniformLoopPlan};
use super::rejoin::Rejoin;
use super::trackers::{LiveOut, TakenExit, Tracker, Trackers};
use crate::edges::{append_jump, phis, replace_predecessors, retarget, set_incoming, set_latch_value};

/// New blocks of a loop.
#[derive(Debug)]
pub(super) struct UniformLoopBlocks {
    /// NewH.
    header: Block,
    guard: Block,
    /// E of each rerouted exit.
    edges: Vec<Block>,
    /// J and K of each retained exit.
    joins: Vec<(Block, Block)>,
    /// L.
    latch: Block,
    /// Disp, and one further block for each exit but the last two. They are in the next outer loop.
    dispatch: Vec<Block>,
}

impl UniformLoopBlocks {
    pub(super) fn new(
        func: &mut Function,
        membership: &mut LoopMembership<'_>,
        cycle: Cycle,
        plan: &UniformLoopPlan,
    ) -> UniformLoopBlocks {
        let before =
            func.layout.prev_block(plan.header).expect("a loop has a preheader, so it is not the entry");
        let header = func.insert_block_after(before);
        let guard = func.insert_block_after(header);
        let edges: Vec<Block> = plan.rerouted.iter().map(|exit| func.insert_block_after(exit.from)).collect();
        let joins: Vec<(Block, Block)> = (plan.retained.iter())
            .map(|exit| {
                let join = func.insert_block_after(exit.from);
                (join, func.insert_block_after(join))
            })
            .collect();
        let behind_latch = plan.rerouted.iter().position(|exit| exit.from == plan.latch);
        let latch = func.insert_block_after(behind_latch.map_or(plan.latch, |index| edges[index]));
        let mut dispatch = vec![func.insert_block_after(latch)];
        for _ in 2..plan.targets.len() {
            let last = dispatch[dispatch.len() - 1];
            dispatch.push(func.insert_block_after(last));
        }
        let inside = [header, guard, latch].into_iter().chain(edges.iter().copied());
        for block in inside.chain(joins.iter().flat_map(|&(join, guard)| [join, guard])) {
            membership.new_block_loop[block] = Some(cycle);
        }
        for &block in &dispatch {
            membership.new_block_loop[block] = membership.forest.parent(cycle);
        }
        UniformLoopBlocks { header, guard, edges, joins, latch, dispatch }
    }

    /// Returns the predecessor with waiting lanes of each J, and finally of L.
    fn waiting(&self) -> Vec<Block> {
        std::iter::once(self.guard).chain(self.joins.iter().map(|&(_, guard)| guard)).collect()
    }

    /// Returns the rerouted exits that lead to each J, and finally to L, with their E.
    fn left(&self, plan: &UniformLoopPlan) -> Vec<Vec<(LoopExit, Block)>> {
        let mut left = vec![Vec::new(); self.joins.len() + 1];
        for ((exit, &retained_before), &edge) in
            plan.rerouted.iter().zip(&plan.retained_before).zip(&self.edges)
        {
            left[retained_before].push((*exit, edge));
        }
        left
    }

    /// Returns the joins of waiting and live lanes.
    pub(super) fn rejoins(&self, plan: &UniformLoopPlan) -> Vec<Rejoin> {
        let edges = plan.retained.iter().zip(&self.joins).zip(self.waiting()).zip(self.left(plan));
        edges
            .map(|(((exit, &(join, _)), waiting), left)| {
                let left = left.iter().map(|&(_, edge)| edge);
                Rejoin { join, from: exit.from, waiting: std::iter::once(waiting).chain(left).collect() }
            })
            .collect()
    }
}

/// Makes the loop uniform. Returns its new exit edges.
pub(super) fn make_uniform(
    func: &mut Function,
    membership: &LoopMembership<'_>,
    cycle: Cycle,
    plan: &UniformLoopPlan,
    blocks: &UniformLoopBlocks,
) -> Vec<LoopExit> {
    let trackers = Trackers::new(func, membership, cycle, plan);
    let live = make_header(func, plan, blocks);
    let headers: Vec<Value> =
        trackers.all.iter().map(|tracker| create_tracker_phi(func, plan, blocks, tracker)).collect();
    let carried_values = move_header_phis(func, membership, cycle, plan, blocks);
    append_any(func, blocks.header, live, [blocks.guard, blocks.dispatch[0]]);

    connect_blocks(func, plan, blocks, live);

    let mut state = TrackerState { live, trackers: headers.clone() };
    let mut leaving: Vec<(Block, Vec<Value>)> = vec![(blocks.header, headers.clone())];
    let stations = blocks.waiting().into_iter().zip(blocks.left(plan));
    for (index, (waiting, left)) in stations.enumerate() {
        let from = plan.retained.get(index).map_or(plan.latch, |exit| exit.from);
        let spare_update = trackers
            .all
            .iter()
            .map(|tracker| spare_update(func, membership, (cycle, blocks), tracker, &left, from));
        let exit_join = ExitJoin { waiting, left: &left, spare_update: spare_update.collect() };
        match plan.retained.get(index) {
            Some(exit) => {
                let (join, guard) = blocks.joins[index];
                let next = blocks.joins.get(index + 1).map_or(blocks.latch, |&(join, _)| join);
                let together = state.merge_at_exit(func, &trackers, exit, join, &exit_join);
                leaving.push((join, together));
                match move_exit_branch(func, exit, (join, guard), &exit_join, blocks.dispatch[0]) {
                    // No block is between the exit and L.
                    continuation if continuation == next => append_jump(func, guard, next),
                    continuation => append_branch(func, guard, state.live, [continuation, next]),
                }
            }
            None => {
                let updates = HeaderUpdates { live, trackers: &headers, carried_values: &carried_values };
                updates.complete(func, plan, blocks, &trackers, &exit_join, &state);
            }
        }
    }
    append_jump(func, blocks.latch, blocks.header);
    let outside = merge_trackers(func, blocks, &trackers, &leaving);
    dispatch(func, plan, blocks, &trackers, &outside)
}

/// Join of lanes that have left and lanes that continue: J or L.
struct ExitJoin<'a> {
    /// Predecessor with the lanes that left before.
    waiting: Block,
    /// Exits by which lanes leave now, with their E.
    left: &'a [(LoopExit, Block)],
    /// Value that each tracker may take for continuing lanes, if any.
    spare_update: Vec<Option<Value>>,
}

/// Returns a value that a tracker may take for continuing lanes, which do not read it before an exit sets it. The value of the lanes that
/// leave now serves them as well if it is available: one blend by the live mask then suffices.
fn spare_update(
    func: &Function,
    membership: &LoopMembership<'_>,
    (cycle, blocks): (Cycle, &UniformLoopBlocks),
    tracker: &Tracker,
    left: &[(LoopExit, Block)],
    from: Block,
) -> Option<Value> {
    let is_there = |&value: &Value| {
        let block_of_def = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
        block_of_def.is_none_or(|block_of_def| match membership.new_block_loop[block_of_def] {
            Some(_) => block_of_def == blocks.header,
            None => {
                !membership.contains(cycle, block_of_def)
                    || membership.dominators.dominates(block_of_def, from)
            }
        })
    };
    // Only some exits set the mask of the exit taken.
    let is_read_once_set = is_poison(func, tracker.initial);
    let mut updates = left.iter().filter(|_| is_read_once_set).filter_map(|(exit, _)| tracker.update(exit));
    updates.find(is_there)
}

impl ExitJoin<'_> {
    /// Returns the φ operands of all predecessors but that of continuing lanes.
    fn incoming<'a>(
        &'a self,
        waits: Value,
        leaves: impl Fn(&LoopExit) -> Value + 'a,
    ) -> impl Iterator<Item = (Block, Value)> + 'a {
        std::iter::once((self.waiting, waits))
            .chain(self.left.iter().map(move |(exit, edge)| (*edge, leaves(exit))))
    }
}

/// Values on the path through the loop body.
struct TrackerState {
    /// Mask of lanes still in the loop.
    live: Value,
    /// Current value of each tracker.
    trackers: Vec<Value>,
}

impl TrackerState {
    /// Merges lanes that have left and live lanes before a retained exit. Returns the value of each tracker if all leave there.
    fn merge_at_exit(
        &mut self,
        func: &mut Function,
        trackers: &Trackers,
        exit: &LoopExit,
        join: Block,
        exit_join: &ExitJoin<'_>,
    ) -> Vec<Value> {
        let [yes, no] = [true, false].map(|value| func.make_bool(value));
        if !exit_join.left.is_empty() {
            let incoming: Vec<_> =
                std::iter::once((exit.from, yes)).chain(exit_join.incoming(no, |_| no)).collect();
            self.live = append_phi(func, join, Type::I1, &incoming, Some(no));
        }
        let mut together = Vec::with_capacity(trackers.all.len());
        let mut chosen = Vec::new();
        for ((tracker, current), spare_update) in
            trackers.all.iter().zip(&mut self.trackers).zip(&exit_join.spare_update)
        {
            let before = *current;
            let goes_on = spare_update.unwrap_or(before);
            let incoming: Vec<_> =
                exit_join.incoming(before, |exit| tracker.update(exit).unwrap_or(before)).collect();
            let differs = |value: Value| incoming.iter().any(|&(_, other)| other != value);
            if differs(before) {
                let all: Vec<_> =
                    std::iter::once((exit.from, goes_on)).chain(incoming.iter().copied()).collect();
                *current = append_phi(func, join, tracker.ty, &all, None);
            }
            together.push(match tracker.update(exit) {
                None => *current,
                Some(value) if value == goes_on && differs(before) => *current,
                // The φ already holds the other lanes' values.
                Some(value) if spare_update.is_some() && differs(before) => {
                    chosen.push((together.len(), value));
                    *current
                }
                // No waiting lane needs the tracker.
                Some(value) if is_poison(func, before) && !differs(before) => value,
                Some(value) => {
                    let all: Vec<_> = std::iter::once((exit.from, value)).chain(incoming).collect();
                    append_phi(func, join, tracker.ty, &all, None)
                }
            });
        }
        for (number, value) in chosen {
            let select = InstData::plain(Op::Select, [self.live, value, together[number]]);
            together[number] = append(func, join, select, trackers.all[number].ty);
        }
        together
    }
}

/// φs of NewH.
struct HeaderUpdates<'a> {
    live: Value,
    trackers: &'a [Value],
    /// Values carried by the original header, and their updates.
    carried_values: &'a [(Value, Value)],
}

impl HeaderUpdates<'_> {
    /// Completes each φ with the values of lanes that left, continue, and leave.
    fn complete(
        &self,
        func: &mut Function,
        plan: &UniformLoopPlan,
        blocks: &UniformLoopBlocks,
        trackers: &Trackers,
        exit_join: &ExitJoin<'_>,
        state: &TrackerState,
    ) {
        // If the last retained exit is at the old latch, lanes are already joined.
        let are_together = plan.retained.last().is_some_and(|exit| exit.from == plan.latch);
        let merge = |func: &mut Function, header, left, stays, leaves: &dyn Fn(&LoopExit) -> Value| {
            let ty = func.value_type(header);
            let others = exit_join.left.iter().map(|(exit, edge)| (*edge, leaves(exit)));
            let incoming: Vec<(Block, Value)> =
                [(exit_join.waiting, left), (plan.latch, stays)].into_iter().chain(others).collect();
            let update = match are_together || incoming.iter().all(|&(_, value)| value == stays) {
                true => stays,
                false => append_phi(func, blocks.latch, ty, &incoming, None),
            };
            set_latch_value(func, header, blocks.latch, update);
        };
        let [yes, no] = [true, false].map(|value| func.make_bool(value));
        let stays = if are_together { state.live } else { yes };
        merge(func, self.live, no, stays, &|_| no);
        let kept = trackers.all.iter().zip(self.trackers).zip(&state.trackers);
        for (((tracker, &header), &current), spare_update) in kept.zip(&exit_join.spare_update) {
            if tracker.is_rerouted {
                let goes_on = spare_update.unwrap_or(current);
                let goes_on = if are_together { current } else { goes_on };
                merge(func, header, current, goes_on, &|exit| tracker.update(exit).unwrap_or(current));
            }
        }
        for &(header, next) in self.carried_values {
            let ty = func.value_type(header);
            let nothing = func.make_poison(ty);
            merge(func, header, nothing, next, &|_| nothing);
        }
    }
}

/// Creates the live mask in NewH, without its update.
fn make_header(func: &mut Function, plan: &UniformLoopPlan, blocks: &UniformLoopBlocks) -> Value {
    let [yes, no] = [true, false].map(|value| func.make_bool(value));
    append_phi(func, blocks.header, Type::I1, &[(plan.preheader, yes)], Some(no))
}

/// Creates a tracker's φ in NewH, without its update, if it needs one.
fn create_tracker_phi(
    func: &mut Function,
    plan: &UniformLoopPlan,
    blocks: &UniformLoopBlocks,
    tracker: &Tracker,
) -> Value {
    if !tracker.is_rerouted {
        return tracker.initial;
    }
    append_phi(func, blocks.header, tracker.ty, &[(plan.preheader, tracker.initial)], None)
}

/// Moves the φs of H to NewH. Returns those that need an update, with their values for continuing lanes.
fn move_header_phis(
    func: &mut Function,
    membership: &LoopMembership<'_>,
    cycle: Cycle,
    plan: &UniformLoopPlan,
    blocks: &UniformLoopBlocks,
) -> Vec<(Value, Value)> {
    let moved = phis(func, plan.header);
    for &phi in &moved {
        func.layout.remove_inst(phi);
        func.layout.append_inst(phi, blocks.header);
    }
    let mut carried_values = Vec::new();
    for phi in moved {
        let mut incoming: Vec<(Block, Value)> = func.inst(phi).incoming().collect();
        let (source, next) = incoming
            .iter_mut()
            .find_map(|(source, value)| (*source == plan.latch).then_some((source, *value)))
            .expect("a φ of a header has a value from the latch");
        *source = blocks.latch;
        let block_of_def = func.def_inst(next).and_then(|inst| func.layout.block_of(inst));
        if block_of_def != Some(blocks.header) && membership.defines(func, cycle, next) {
            incoming.retain(|&(source, _)| source != blocks.latch);
            carried_values.push((func.results(phi)[0], next));
        }
        // A value defined in NewH or before the loop needs no merge: waiting lanes may keep it.
        set_incoming(func, phi, incoming);
    }
    carried_values
}

/// Connects the blocks in and around the loop, except for the branches at each J and after Disp.
fn connect_blocks(func: &mut Function, plan: &UniformLoopPlan, blocks: &UniformLoopBlocks, live: Value) {
    retarget(func, plan.preheader, plan.header, blocks.header);
    retarget(func, plan.latch, plan.header, blocks.latch);
    let next =
        |retained_before: usize| blocks.joins.get(retained_before).map_or(blocks.latch, |&(join, _)| join);
    for ((exit, &retained_before), &edge) in
        plan.rerouted.iter().zip(&plan.retained_before).zip(&blocks.edges)
    {
        retarget(func, exit.from, exit.to, edge);
        append_jump(func, edge, next(retained_before));
    }
    append_branch(func, blocks.guard, live, [plan.header, next(0)]);
}

/// Moves the branch of a uniform exit to J, where lanes are joined. Returns the block where the loop continues.
fn move_exit_branch(
    func: &mut Function,
    exit: &LoopExit,
    (join, guard): (Block, Block),
    exit_join: &ExitJoin<'_>,
    dispatch: Block,
) -> Block {
    let branch = func.terminator(exit.from).expect("an exiting block has a terminator");
    let leaves_if_true = func.inst(branch).targets()[0] == exit.to;
    let condition = func.inst(branch).args[0];
    // Waiting lanes leave with the others: they bring the neutral value. Without live lanes, all leave.
    let neutral = func.make_bool(leaves_if_true);
    let incoming: Vec<_> =
        std::iter::once((exit.from, condition)).chain(exit_join.incoming(neutral, |_| neutral)).collect();
    let requested = func.make_inst(InstData::phi(incoming, Some(neutral)), &[Type::I1]);
    // Selects of trackers may follow the φs.
    match phis(func, join).last() {
        Some(&last) => func.layout.insert_inst_after(requested, last),
        None => func.layout.prepend_inst(requested, join),
    }
    let requested = func.results(requested)[0];
    let op = if leaves_if_true { Op::All } else { Op::Any };
    let together = append(func, join, InstData::plain(op, [requested]), Type::I1);
    let mut continuation = exit.to;
    let data = func.inst_mut(branch);
    data.args[0] = together;
    for target in data.targets_mut() {
        if *target == exit.to {
            *target = dispatch;
        } else {
            continuation = std::mem::replace(target, guard);
        }
    }
    func.layout.remove_inst(branch);
    func.layout.append_inst(branch, join);
    append_jump(func, exit.from, join);
    let moved = FxHashMap::from_iter([(exit.from, smallvec![guard])]);
    replace_predecessors(func, continuation, &moved);
    continuation
}

/// Returns the value of each tracker in Disp, whose predecessors are NewH and each J.
fn merge_trackers(
    func: &mut Function,
    blocks: &UniformLoopBlocks,
    trackers: &Trackers,
    leaving: &[(Block, Vec<Value>)],
) -> Vec<Value> {
    let mut outside = Vec::with_capacity(trackers.all.len());
    for (index, tracker) in trackers.all.iter().enumerate() {
        let incoming: Vec<(Block, Value)> = leaving.iter().map(|(from, all)| (*from, all[index])).collect();
        let first = incoming[0].1;
        outside.push(match incoming.iter().all(|&(_, value)| value == first) {
            true => first,
            false => append_phi(func, blocks.dispatch[0], tracker.ty, &incoming, None),
        });
    }
    outside
}

/// Branches each lane to its exit.
fn dispatch(
    func: &mut Function,
    plan: &UniformLoopPlan,
    blocks: &UniformLoopBlocks,
    trackers: &Trackers,
    outside: &[Value],
) -> Vec<LoopExit> {
    let last = blocks.dispatch.len() - 1;
    let mut exits = Vec::with_capacity(plan.targets.len());
    for (index, (&to, live_outs)) in plan.targets.iter().zip(&trackers.live_outs).enumerate() {
        let from = blocks.dispatch[index.min(last)];
        let otherwise =
            if index < last { blocks.dispatch[index + 1] } else { plan.targets[plan.targets.len() - 1] };
        let has_branch = index + 1 < plan.targets.len();
        match &trackers.taken_exit {
            TakenExit::Masks(masks) if has_branch => {
                append_branch(func, from, outside[masks[index]], [to, otherwise]);
            }
            TakenExit::Number(taken_exit) if has_branch => {
                let number = func.make_int(Scalar::I32, index as i128);
                let equal = Detail::IntCompare(IntPredicate::Eq);
                let is_this = append(
                    func,
                    from,
                    InstData::new(Op::Icmp, [outside[*taken_exit], number], equal),
                    Type::I1,
                );
                append_branch(func, from, is_this, [to, otherwise]);
            }
            _ if index == 0 => append_jump(func, from, to),
            // The previous dispatch block branches here.
            _ => {}
        }
        for &(phi, live_out) in live_outs {
            let value = match live_out {
                LiveOut::Invariant(value) => value,
                LiveOut::Tracked(tracker) => outside[tracker],
            };
            set_incoming(func, phi, [(from, value)]);
        }
        exits.push(LoopExit { from, to, source: plan.header, is_direct: false });
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

/// Ends a block with a branch on whether the condition holds in any lane.
fn append_any(func: &mut Function, block: Block, condition: Value, targets: [Block; 2]) {
    let any = append(func, block, InstData::plain(Op::Any, [condition]), Type::I1);
    append_branch(func, block, any, targets);
}
