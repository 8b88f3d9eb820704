//! Spreads the iterations of a marked loop over lanes, with lane refill: a lane that has finished its iteration takes the next
//! one while other lanes are still in an inner loop.
//!
//! Requires: Stage::Canonical; a function with a single outermost loop, entered by all lanes with equal arguments.
//! Ensures: Stage::Source, in lock-step: the lanes together execute what one thread did before.
//! Invariant: each iteration runs once, in one lane; a lane takes no iteration before it has finished its own.
//! After: Moll's thesis, 9.3, and Krzikalla et al. (2016), cited there, who do it by hand: new work-items replace
//! iterations that leave a loop early. Differs in: lanes wait in the inner loop until half of them are done.
//!
//! ```text
//!   preheader            preheader
//!       │                    │
//!     header ◄──┐          again ◄───────────────┐   does this lane continue a paused iteration?
//!      ...      │            ├─ no ─► taking     │   if not, it takes the next free iteration
//!       │       │            │          ├────────┼─► out: none is left
//!    ┌► inner   │            │        header     │
//!    │   ...    │   ──►      │          ...      │
//!    └───┤      │          entry ◄──────┘        │
//!       ...     │            │                   │
//!     latch ────┘        ┌► waiting ── no ──┐    │   is this lane still in the inner loop?
//!       │                │   │              │    │
//!      exit              │  inner           │    │
//!                        │   ... ─► left ─► │    │   it leaves; its live-outs are kept
//!                        └─ check ◄─────────┘    │   are more than half of the lanes still in it?
//!                            ├─────► pausing ────┤   if not, those pause if iterations are left for the others
//!                            └► ... latch ───────┘   the others finish their iteration
//! ```
//!
//! All lanes leave the inner loop together, so its lanes need a single mask. Values that an iteration has computed before the
//! inner loop are carried around the outer loop for paused lanes and are poison in others.

use super::pointers::declare_loaded_pointers;
use super::{HeaderPhiKind, LoopLiveOut, LoopPromises, LoopSpreader, SpreadableLoop};
use super::{find_live_outs, find_outermost_loop, query, spread_loop};
use crate::cfg_analyses::CfgAnalyses;
use crate::edges::{append_jump, phis, retarget, set_incoming, set_latch_value};
use crate::induction::{LoopCounter, trip_count};
use crate::ssa_repair::{SsaRepair, find_broken_uses};
use heddle_analysis::shape::{Activation, Geometry};
use heddle_analysis::{Cfg, ControlTables, Cycle, CycleForest, InitialShapes, divergence};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::EntitySet;
use heddle_ir::function::Origin;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::Observed;
use heddle_ir::words::{IntPredicate, Reduction};
use heddle_ir::{Block, Diagnostic, Function, Inst, Op, Scalar, Type, Value};
use std::collections::BTreeMap;

/// Inner loop in which lanes wait for each other.
struct WaitingLoop {
    preheader: Block,
    header: Block,
    latch: Block,
    blocks: EntitySet<Block>,
    /// Exit edges, without duplicates.
    exits: Vec<(Block, Block)>,
}

/// Spreads the iterations of the function's outermost loop over lanes, which take new ones once half of them are done. Returns false
/// and leaves the function unchanged if there is no inner loop in which lanes would wait.
pub fn refill_lanes(func: &mut Function, promises: LoopPromises) -> Result<bool, Diagnostic> {
    let [mut spread, mut work] = [(); 2].map(|()| func.clone());
    spread_loop(&mut spread, promises)?;
    declare_loaded_pointers(&mut work);
    let (marked, counter) = find_outermost_loop(&work, promises)?;
    let live_outs = find_live_outs(&work, &marked)?;
    let is_void = (live_outs.iter()).all(|(_, live_out)| matches!(live_out, LoopLiveOut::Invariant(_)))
        && marked.header_phis.iter().all(|round| matches!(round.kind, HeaderPhiKind::Induction { .. }));
    if !promises.is_parallel || !is_void || observes_other_lanes(&work, &marked) {
        return Ok(false);
    }
    let Some(inner) = find_inner(&work, &spread, &marked) else { return Ok(false) };
    refill(&mut work, &marked, &counter, &inner);
    *func = work;
    Ok(true)
}

/// True if the loop communicates across lanes, has ordered accesses, or allocates objects.
fn observes_other_lanes(func: &Function, marked: &SpreadableLoop) -> bool {
    let tells = |inst: Inst| {
        let data = func.inst(inst);
        let is_convergent = func.callee_of(data).is_some_and(|callee| callee.signature.effects.convergent);
        is_convergent
            || data.is_total()
            || data.op == Op::Alloca
            || [Observed::Lanes, Observed::Order].into_iter().any(|what| data.observes(what))
    };
    marked.blocks.iter().any(|&block| func.block_insts(block).any(tells))
}

/// Returns the unique inner loop that lanes enter or leave separately. `spread` is the function with lanes in lock-step.
fn find_inner(func: &Function, spread: &Function, marked: &SpreadableLoop) -> Option<WaitingLoop> {
    let control = ControlTables::new(spread);
    let shapes = InitialShapes::declared(spread, Geometry::unknown()).with_entry(Activation::Full);
    let facts = divergence(spread, &control, &shapes);
    let outer = control.cycles.headed_by(marked.header)?;
    let parts = |cycle: &&Cycle| {
        let cycle = **cycle;
        let preheader = control.cycles.preheader(&control.cfg, cycle);
        facts.is_divergent_loop(cycle)
            || preheader.is_some_and(|block| facts.activation(block) == Activation::Varying)
    };
    let mut candidates = control.cycles.children(outer).iter().filter(parts);
    let (first, None) = (candidates.next()?, candidates.next()) else { return None };
    let header = control.cycles.header(*first);
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    let cycle = forest.headed_by(header)?;
    let (preheader, latch) = (forest.preheader(&cfg, cycle)?, forest.unique_latch(&cfg, cycle)?);
    let mut exits: Vec<(Block, Block)> =
        forest.exiting_edges(&cfg, cycle).map(|edge| (edge.from, edge.to)).collect();
    exits.dedup();
    let blocks = forest.blocks(cycle).iter().copied().collect();
    Some(WaitingLoop { preheader, header, latch, blocks, exits })
}

/// Exit blocks of the inner loop, and the operands of their φs per exit edge.
struct InnerExits {
    /// For each exit edge, the index of its exit block.
    number: Vec<usize>,
    blocks: Vec<Block>,
    /// φs of the exit blocks: block index, φ, and its value along each exit edge.
    reads: Vec<(usize, Inst, Vec<Option<Value>>)>,
}

/// Collects the exit blocks of the inner loop. Empty blocks that all lead to one block are merged into one.
fn find_inner_exits(func: &mut Function, inner: &WaitingLoop) -> InnerExits {
    let mut targets: Vec<Block> = Vec::new();
    for &(_, to) in &inner.exits {
        if !targets.contains(&to) {
            targets.push(to);
        }
    }
    let joined = targets.first().and_then(|&first| func.successors(first).first().copied());
    let only_jumps = |&target: &Block| {
        let Some(end) = func.first_non_phi(target) else { return false };
        func.inst(end).op == Op::Br && func.successors(target) == joined.as_slice()
    };
    if let Some(join) = joined.filter(|_| targets.len() > 1 && targets.iter().all(only_jumps)) {
        let through = func.insert_block_after(targets[0]);
        let mut reads = Vec::new();
        for phi in phis(func, join) {
            let resolve = |func: &Function, &(from, to): &(Block, Block)| {
                let value = func.inst(phi).incoming_from(to)?;
                let inner_phi = func.def_inst(value).filter(|&it| func.layout.block_of(it) == Some(to));
                inner_phi.map_or(Some(value), |it| func.inst(it).incoming_from(from))
            };
            let values: Vec<_> = inner.exits.iter().map(|exit| resolve(func, exit)).collect();
            // The merged block gets a φ, like those of other exit blocks.
            let ty = func.value_type(func.results(phi)[0]);
            let between = func.make_inst(InstData::phi([], None), &[ty]);
            func.layout.append_inst(between, through);
            let value = func.results(between)[0];
            let others = func.inst(phi).incoming().filter(|(from, _)| !targets.contains(from));
            let all: Vec<(Block, Value)> = others.chain([(through, value)]).collect();
            set_incoming(func, phi, all);
            reads.push((0, between, values));
        }
        append_jump(func, through, join);
        for &target in &targets {
            func.remove_block(target);
        }
        return InnerExits { number: vec![0; inner.exits.len()], blocks: vec![through], reads };
    }
    let position = |to: Block| targets.iter().position(|&target| target == to).unwrap_or(0);
    let number: Vec<usize> = inner.exits.iter().map(|&(_, to)| position(to)).collect();
    let mut reads = Vec::new();
    for (at, &target) in targets.iter().enumerate() {
        for phi in phis(func, target) {
            let values = (inner.exits.iter())
                .map(|&(from, to)| (to == target).then(|| func.inst(phi).incoming_from(from)).flatten());
            reads.push((at, phi, values.collect()));
        }
    }
    InnerExits { number, blocks: targets, reads }
}

/// Blocks of the inner loop in which per-lane values are carried.
struct StateCarrier {
    /// Start and end of an iteration of the inner loop.
    waiting: Block,
    check: Block,
    entry: Block,
    /// Predecessors of `check`: lanes that stay, and those that leave along each exit edge.
    stays: Block,
    left: Vec<Block>,
}

impl StateCarrier {
    /// Creates φs for a value at the start and at the end of an iteration. Entering lanes bring `first`. Lanes that have left have `outside`,
    /// or keep their value.
    fn carry(
        &self,
        func: &mut Function,
        ty: Type,
        first: Value,
        outside: Option<Value>,
        next: Option<Value>,
        leaving: &dyn Fn(usize) -> Option<Value>,
    ) -> [Value; 2] {
        let none = func.make_poison(ty);
        let mut builder = Builder::new(func, InsertPoint::End(self.waiting));
        let start = builder.phi(ty, &[(self.entry, first)], None);
        let mut incoming = vec![(self.waiting, outside.unwrap_or(start))];
        incoming.push((self.stays, next.unwrap_or(none)));
        for (number, &block) in self.left.iter().enumerate() {
            incoming.push((block, leaving(number).unwrap_or(none)));
        }
        builder.set_insert_point(InsertPoint::End(self.check));
        let end = builder.phi(ty, &incoming, None);
        set_latch_value(func, start, self.check, end);
        [start, end]
    }
}

/// Branches to the exit block of each lane that has left. Returns the testing blocks.
fn dispatch(func: &mut Function, behind: &InnerExits, carrier: &StateCarrier, apart: Block) -> Vec<Block> {
    let mut tests = vec![func.insert_block_after(apart)];
    if behind.blocks.len() == 1 {
        append_jump(func, tests[0], behind.blocks[0]);
        return tests;
    }
    let numbers: Vec<Value> =
        (behind.number.iter()).map(|&at| func.make_int(Scalar::I32, at as i128)).collect();
    let ty = Type::Scalar(Scalar::I32);
    let none = func.make_poison(ty);
    let [_, taken] = carrier.carry(func, ty, none, None, None, &|edge| Some(numbers[edge]));
    for at in 2..behind.blocks.len() {
        tests.push(func.insert_block_after(tests[at - 2]));
    }
    for (at, &test) in tests.iter().enumerate() {
        let mut builder = Builder::new(func, InsertPoint::End(test));
        let this = builder.int(Scalar::I32, at as i128);
        let is_this = builder.icmp(IntPredicate::Eq, taken, this);
        let otherwise = tests.get(at + 1).copied().unwrap_or(behind.blocks[at + 1]);
        builder.branch(is_this, behind.blocks[at], otherwise);
    }
    tests
}

fn refill(func: &mut Function, marked: &SpreadableLoop, counter: &LoopCounter, inner: &WaitingLoop) {
    let &SpreadableLoop { preheader, header, latch, exit, .. } = marked;
    let end = func.terminator(preheader).expect("a preheader ends in a jump");
    let origin = func.terminator(latch).map_or(Origin::NONE, |inst| func.inst(inst).origin);
    let mut builder = Builder::new(func, InsertPoint::Before(end));
    builder.set_origin(origin);
    let (_, count) = trip_count(&mut builder, counter);
    let width = query(&mut builder, Op::Width, None);
    let one = builder.int(Scalar::I64, 1);
    let half = builder.op(Op::Lshr, &[width, one]);

    let again = func.insert_block_after(preheader);
    let taking = func.insert_block_after(again);
    let entry = func.insert_block_after(inner.preheader);
    let waiting = func.insert_block_after(entry);
    let stays = func.insert_block_after(inner.latch);
    let left: Vec<Block> = inner.exits.iter().map(|&(from, _)| func.insert_block_after(from)).collect();
    let check = func.insert_block_after(stays);
    let apart = func.insert_block_after(check);
    let pausing = func.insert_block_after(apart);
    let done = func.insert_block_after(latch);
    let round = func.insert_block_after(done);
    let out = func.insert_block_after(round);

    retarget(func, preheader, header, again);
    retarget(func, inner.preheader, inner.header, entry);
    retarget(func, inner.latch, inner.header, stays);
    for (&(from, to), &block) in inner.exits.iter().zip(&left) {
        retarget(func, from, to, block);
        append_jump(func, block, check);
    }
    let end = func.terminator(latch).expect("a latch ends in a branch");
    func.remove_inst(end);
    for [from, to] in [[latch, done], [done, round], [pausing, round], [stays, check]] {
        append_jump(func, from, to);
    }
    let behind = find_inner_exits(func, inner);

    // Values that paused lanes carry around the outer loop.
    let [no, yes] = [false, true].map(|value| func.make_bool(value));
    let mut builder = Builder::new(func, InsertPoint::End(round));
    builder.set_origin(origin);
    let is_pausing = builder.phi(Type::I1, &[(pausing, yes), (done, no)], None);
    builder.set_insert_point(InsertPoint::End(again));
    let zero = builder.int(Scalar::I64, 0);
    let continues_iteration = builder.phi(Type::I1, &[(preheader, no), (round, is_pausing)], None);
    let base = builder.phi(Scalar::I64.into(), &[(preheader, zero)], None);
    let carrier = StateCarrier { waiting, check, entry, stays, left };
    let [is_in, stays_in] = carrier.carry(func, Type::I1, yes, Some(no), Some(yes), &|_| Some(no));
    let mut begun: BTreeMap<Value, Value> = BTreeMap::new();
    for phi in phis(func, inner.header) {
        let value = func.results(phi)[0];
        let ty = func.value_type(value);
        let ends = [inner.preheader, inner.latch].map(|block| func.inst(phi).incoming_from(block));
        let [Some(init), Some(next)] = ends else { continue };
        let none = func.make_poison(ty);
        let mut builder = Builder::new(func, InsertPoint::End(entry));
        let entered = builder.phi(ty, &[(inner.preheader, init)], None);
        let [start, end] = carrier.carry(builder.func, ty, entered, Some(none), Some(next), &|_| None);
        builder.set_insert_point(InsertPoint::End(round));
        let paused = builder.phi(ty, &[(pausing, end), (done, none)], None);
        builder.set_insert_point(InsertPoint::End(again));
        let kind = builder.phi(ty, &[(preheader, none), (round, paused)], None);
        let entered = func.def_inst(entered).expect("a φ defines it");
        set_incoming(func, entered, [(again, kind), (inner.preheader, init)]);
        begun.insert(value, start);
        func.remove_inst(phi);
    }

    // Live-outs of the inner loop, and the exit that each lane takes.
    let mut ends = Vec::new();
    for (_, phi, values) in &behind.reads {
        let ty = func.value_type(func.results(*phi)[0]);
        let none = func.make_poison(ty);
        let [_, end] = carrier.carry(func, ty, none, None, None, &|edge| values[edge]);
        ends.push(end);
    }
    let tests = dispatch(func, &behind, &carrier, apart);
    for ((at, phi, _), &end) in behind.reads.iter().zip(&ends) {
        set_incoming(func, *phi, [(tests[(*at).min(tests.len() - 1)], end)]);
    }

    // Lanes without an iteration take the next free ones, in order.
    append_jump(func, round, again);
    append_jump(func, entry, waiting);
    let mut builder = Builder::new(func, InsertPoint::End(waiting));
    builder.set_origin(origin);
    builder.branch(is_in, inner.header, check);
    builder.set_insert_point(InsertPoint::End(again));
    let takes = builder.op(Op::Xor, &[continues_iteration, yes]);
    let one_of_this = builder.op_to(Op::Zext, Scalar::I32.into(), &[takes]);
    let before = Detail::Scan { by: Reduction::Add, before: true };
    let before = builder.value(InstData::new(Op::Scan, [one_of_this], before), None);
    let before = builder.op_to(Op::Zext, Scalar::I64.into(), &[before]);
    let number = builder.op(Op::Add, &[base, before]);
    let taken = builder.op_to(Op::Popcount, Scalar::I64.into(), &[takes]);
    let next_base = builder.op(Op::Add, &[base, taken]);
    let are_left = builder.icmp(IntPredicate::Ult, next_base, count);
    let few = builder.select(are_left, half, zero);
    builder.branch(continues_iteration, entry, taking);
    set_latch_value(builder.func, base, round, next_base);
    builder.set_insert_point(InsertPoint::End(taking));
    let is_one = builder.icmp(IntPredicate::Ult, number, count);
    builder.branch(is_one, header, out);
    builder.set_insert_point(InsertPoint::End(check));
    let are_in = builder.op_to(Op::Popcount, Scalar::I64.into(), &[stays_in]);
    let is_few = builder.icmp(IntPredicate::Ule, are_in, few);
    builder.branch(is_few, apart, waiting);
    builder.set_insert_point(InsertPoint::End(apart));
    builder.branch(stays_in, pausing, tests[0]);

    // An iteration starts with its number.
    builder.set_insert_point(InsertPoint::Start(header));
    for round in &marked.header_phis {
        begun.insert(round.value, LoopSpreader::at_iteration(&mut builder, round, number));
    }
    for round in &marked.header_phis {
        func.remove_inst(round.phi);
    }
    func.map_values(|value| begun.get(&value).copied().unwrap_or(value));
    append_jump(func, out, exit);
    for phi in phis(func, exit) {
        let Some(value) = func.inst(phi).incoming_from(latch) else { continue };
        set_incoming(func, phi, [(out, value)]);
    }
    let mut reading = vec![entry, round, check, waiting];
    reading.extend(&behind.blocks);
    carry(func, marked, inner, RefillBlocks { start: preheader, done, reading });
}

/// Blocks where lanes in different states meet.
struct RefillBlocks {
    start: Block,
    done: Block,
    /// Blocks outside of the original loop that read its values.
    reading: Vec<Block>,
}

/// Carries values around the outer loop for paused lanes.
fn carry(func: &mut Function, marked: &SpreadableLoop, inner: &WaitingLoop, seams: RefillBlocks) {
    let flow = CfgAnalyses::new(func);
    let blocks = (marked.blocks.iter().copied())
        .filter(|block| !seams.reading.contains(block) && func.layout.is_placed(*block))
        .chain(seams.reading.iter().copied());
    // Paused lanes skip the definitions.
    let mut broken = find_broken_uses(func, flow.dominators(), blocks, |block| block);
    broken.retain(|_, &mut (at, _)| marked.inside.contains(at) && !inner.blocks.contains(at));
    let repair = SsaRepair::new(&flow.cfg, flow.dominators());
    for (value, (def_block, reads)) in broken {
        let none = func.make_poison(func.value_type(value));
        let definitions = [(seams.start, none), (def_block, value), (seams.done, none)];
        repair.rename(func, &definitions, &reads);
    }
}
