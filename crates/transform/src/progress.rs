//! Guarantees forward progress of lanes that wait in a loop for other lanes.
//!
//! Requires: Stage::Source.  Ensures: Stage::Source, and no lane waits in a loop for a lane that waits after it.
//!
//! Lanes that have left a loop wait for those still inside. If one of them holds the lock on which the others spin, all of
//! them hang. A function with such a loop becomes a single dispatch loop, in which each lane executes one block per iteration:
//!
//! ```text
//!     block0:  …  br head                       values of the entry are available in all blocks
//!     head:    v9 = phi i32 [block0: 1], …      number of the lane's next block; 0 is the end
//!              switch v9, end [1: block1, 2: block2]
//!     block1:  v4 = load …, slot                values of other blocks are kept in private objects
//!              …
//!              v8 = select v5, 1, 2
//!              br head
//! ```
//!
//! All lanes meet at the head after each block, so each lane advances in every iteration. Called functions that wait are inlined before:
//! their callers would wait for all lanes to return.
//!
//! In a function with horizontal operations only the blocks between them become a dispatch loop: lanes that leave these blocks
//! meet behind the loop. Loops whose lanes cannot wait for a lane that went another way stay in lock step
//! (`meeting_points`). A loop around a horizontal operation that lanes leave one by one is refused.
//!
//! A loop *waits* if all of its exits depend on polling accesses: a volatile or atomic load, an exchange, or another access that
//! is idempotent, at a loop-invariant address that the loop does not write otherwise. A loop that retries a value computed from
//! what it read (`cmpxchg` of the value just read) does not wait: some lane leaves it in each iteration.

use crate::edges::append_jump;
use crate::inline::{inline_calls, split_after};
use crate::meeting_points::{MeetingPoints, is_meeting_point};
use crate::specialize::sequential_functions;
use crate::widen::{Remark, RemarkKind};
use heddle_analysis::{Cfg, Cycle, CycleForest, underlying_object};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::{Detail, InstData, SwitchDetail};
use heddle_ir::ops::Effect;
use heddle_ir::words::{IntPredicate, Rmw, SyncScope};
use heddle_ir::{Block, Code, Diagnostic, Function, Inst, Module, Op, Scalar, Space, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Loop that waits for another lane: operation and location of its polling access.
#[derive(Clone, PartialEq, Eq, Debug)]
struct WaitLoop {
    op: Op,
    location: DiagnosticLocation,
}

/// Lowers functions in which lanes wait for each other to dispatch loops. Returns a remark for each loop that waits.
pub fn keep_progress(module: &mut Module) -> Result<Vec<Remark>, Diagnostic> {
    let sequential = sequential_functions(module);
    let polled: Vec<PolledMemory> = module.functions.iter().map(PolledMemory::new).collect();
    // A loop that calls one of these may wait.
    let polling: FxHashSet<String> = module
        .functions
        .iter()
        .zip(&polled)
        .filter(|(_, polled)| **polled == PolledMemory::Shared)
        .map(|(func, _)| func.name.clone())
        .collect();
    let mut remarks: Vec<Remark> = Vec::new();
    // Functions that wait, themselves or through inlined callees.
    let mut waiting: FxHashMap<String, WaitLoop> = FxHashMap::default();
    for (func, &polled) in module.functions.iter().zip(&polled) {
        if sequential.contains(&func.name) {
            continue;
        }
        if let Some(inst) = find_wait(func, polled, &polling) {
            let op = func.inst(inst).op;
            let text = format!("the loop waits by `{op}` for another lane: lanes advance one block a round");
            let remark = Diagnostic::remark(Code::Waits, text).at(DiagnosticLocation::line_of(func, inst));
            remarks.push(Remark { kind: RemarkKind::ForwardProgress, accesses: 0, diagnostic: remark });
            waiting.insert(
                func.name.clone(),
                WaitLoop { op, location: DiagnosticLocation::line_of(func, inst) },
            );
        }
    }
    if waiting.is_empty() {
        return Ok(remarks);
    }
    inline_calls(module, |site| {
        let Some(wait) = waiting.get(&site.callee.name).cloned() else { return false };
        waiting.entry(site.caller.name.clone()).or_insert(wait);
        true
    });
    for func in &mut module.functions {
        // Sequential code continues when all launched lanes have returned.
        let mut callees = func.callees.values().filter(|_| !sequential.contains(&func.name));
        let called = callees.find_map(|callee| waiting.get(&callee.name));
        if let Some(wait) = called {
            let text = "cannot inline the waiting function here";
            return Err(
                refuse(wait, text).help("remove its recursion, and declared shapes of its parameters")
            );
        }
        if !waiting.contains_key(&func.name) {
            continue;
        }
        if let Some(inst) = find_cross_lane_inst(func) {
            let op = func.inst(inst).op;
            if let Err(wait) = lower_regions_between_meetings(func, &polling) {
                let text = format!("lanes advance one by one, but `{op}` needs them together");
                let wait = wait.unwrap_or_else(|| waiting[&func.name].clone());
                return Err(
                    refuse(&wait, &text).help("take it out of the loop, or let no lane wait for another")
                );
            }
            continue;
        }
        lower_to_dispatch_loops(func, None);
    }
    Ok(remarks)
}

fn refuse(wait: &WaitLoop, text: &str) -> Diagnostic {
    let text = format!("the loop waits by `{}` for another lane: {text}", wait.op);
    Diagnostic::error(Code::WaitsTogether, text).at(wait.location.clone())
}

fn insts(func: &Function) -> impl Iterator<Item = Inst> + '_ {
    func.blocks().flat_map(|block| func.block_insts(block))
}

/// Returns an instruction that communicates across lanes.
fn find_cross_lane_inst(func: &Function) -> Option<Inst> {
    insts(func).find(|&inst| is_meeting_point(func, inst))
}

/// Memory that a function polls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum PolledMemory {
    Nothing,
    /// Private objects only.
    Private,
    Shared,
}

impl PolledMemory {
    fn new(func: &Function) -> PolledMemory {
        let of_inst = |inst: Inst| {
            let data = func.inst(inst);
            match data.address() {
                _ if !is_poll(data) => PolledMemory::Nothing,
                Some(address) if is_private(func, address) => PolledMemory::Private,
                _ => PolledMemory::Shared,
            }
        };
        insts(func).map(of_inst).max().unwrap_or(PolledMemory::Nothing)
    }
}

/// True if an instruction reads memory that other groups may write meanwhile, in a way that loops may wait by.
pub fn polls(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let is_shared =
        |address: Value| func.value_type(address) != Type::ptr(Space::Local) && !is_private(func, address);
    is_poll(data) && data.address().is_none_or(is_shared)
}

/// True if an access may observe a new value of another lane each time and is idempotent.
fn is_poll(data: &InstData) -> bool {
    match data.op {
        Op::Load => data.is_ordered(),
        Op::CompareExchange => true,
        Op::AtomicRmw => matches!(
            data.detail,
            Detail::Rmw(
                Rmw::Exchange
                    | Rmw::And
                    | Rmw::Or
                    | Rmw::Smin
                    | Rmw::Smax
                    | Rmw::Umin
                    | Rmw::Umax
                    | Rmw::Fmin
                    | Rmw::Fmax,
                _
            )
        ),
        _ => false,
    }
}

/// True if an address is in a private object of the lane.
pub(crate) fn is_private(func: &Function, address: Value) -> bool {
    let object = underlying_object(func, address);
    let is_alloca = func.def_inst(object).is_some_and(|inst| func.inst(inst).op == Op::Alloca);
    is_alloca || func.value_type(object) == Type::ptr(Space::Private)
}

/// Returns the access by which a loop of the function waits for a lane that advances without it.
fn find_wait(func: &Function, polled: PolledMemory, polling: &FxHashSet<String>) -> Option<Inst> {
    let calls_one = || func.callees.values().any(|callee| polling.contains(&callee.name));
    if func.layout.entry().is_none() || polled == PolledMemory::Nothing && !calls_one() {
        return None;
    }
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    let meeting_points = MeetingPoints::new(func, &cfg, &forest);
    let has_meeting_points = find_cross_lane_inst(func).is_some();
    forest.cycles().find_map(|cycle| {
        let mut waits = wait_edges(func, &cfg, &forest, cycle, polling);
        let (_, inst) = waits.next()?;
        (!has_meeting_points || meeting_points.parts_lanes(cycle)).then_some(inst)
    })
}

/// Returns the edges back of loops that wait by loads for other work-items of their group: latch and header. Loops around barriers of
/// the group wait at these.
pub(crate) fn group_wait_edges(func: &Function) -> Vec<(Block, Block)> {
    if func.layout.entry().is_none() || PolledMemory::new(func) != PolledMemory::Shared {
        return Vec::new();
    }
    let (cfg, polling) = (Cfg::new(func), FxHashSet::default());
    let forest = CycleForest::new(&cfg);
    let is_barrier = |inst: Inst| func.inst(inst).detail == Detail::Barrier(SyncScope::Group);
    let has_barriers = insts(func).any(is_barrier);
    let mut edges = Vec::new();
    for cycle in forest.cycles() {
        let blocks = forest.blocks(cycle);
        if has_barriers && blocks.iter().flat_map(|&block| func.block_insts(block)).any(is_barrier) {
            continue;
        }
        let waits = wait_edges(func, &cfg, &forest, cycle, &polling);
        let of_group =
            |inst: Inst| func.inst(inst).op == Op::Load && (!has_barriers || is_of_group(func, inst));
        let header = forest.header(cycle);
        edges.extend(waits.filter(|&(_, inst)| of_group(inst)).map(|(latch, _)| (latch, header)));
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// True if only work-items of the same group write what an access polls.
fn is_of_group(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let is_local = data.address().is_some_and(|address| {
        let local = Type::ptr(Space::Local);
        func.value_type(address) == local || func.value_type(underlying_object(func, address)) == local
    });
    let scope = data.accesses().find_map(|access| access.atomic.map(|(_, scope)| scope));
    is_local || matches!(scope, Some(SyncScope::Group | SyncScope::Brush))
}

fn may_wait(func: &Function, data: &InstData, polling: &FxHashSet<String>) -> bool {
    is_poll(data)
        || data.op == Op::Call && func.callee_of(data).is_some_and(|callee| polling.contains(&callee.name))
}

/// Returns the latches by whose edges back lanes of a loop wait, and the accesses that they poll. Loops that share a header are one cycle,
/// so each edge back counts with the blocks that lead to it.
fn wait_edges<'a>(
    func: &'a Function,
    cfg: &'a Cfg,
    forest: &'a CycleForest,
    cycle: Cycle,
    polling: &'a FxHashSet<String>,
) -> impl Iterator<Item = (Block, Inst)> + 'a {
    let header = forest.header(cycle);
    let mut latches: Vec<Block> = cfg.preds(header).to_vec();
    latches.retain(|&block| forest.contains(cycle, block));
    latches.sort_unstable();
    latches.dedup();
    let whole: FxHashSet<Block> = forest.blocks(cycle).iter().copied().collect();
    let of_cycle = WaitFinder { func, blocks: whole.clone(), polling }.polling_access_of_exits(cfg);
    let is_shared = latches.len() > 1;
    latches.into_iter().filter_map(move |latch| {
        let of_edge = || {
            let mut blocks: FxHashSet<Block> = [header].into_iter().collect();
            let mut work = vec![latch];
            while let Some(block) = work.pop() {
                if blocks.insert(block) {
                    work.extend(cfg.preds(block).iter().filter(|block| whole.contains(block)));
                }
            }
            WaitFinder { func, blocks, polling }.polling_access_of_exits(cfg)
        };
        let inst = of_cycle.or_else(|| is_shared.then(of_edge).flatten())?;
        Some((latch, inst))
    })
}

struct WaitFinder<'a> {
    func: &'a Function,
    /// Blocks of the loop.
    blocks: FxHashSet<Block>,
    polling: &'a FxHashSet<String>,
}

impl WaitFinder<'_> {
    /// Returns the instruction that defines a value, if it is in the loop.
    fn inside(&self, value: Value) -> Option<Inst> {
        let inst = self.func.def_inst(value)?;
        let block = self.func.layout.block_of(inst)?;
        self.blocks.contains(&block).then_some(inst)
    }

    /// Searches the instructions of the loop that a value depends on.
    fn find<T>(&self, value: Value, mut found: impl FnMut(Inst) -> Option<T>) -> Option<T> {
        let mut seen: FxHashSet<Inst> = FxHashSet::default();
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            let Some(inst) = self.inside(value).filter(|&inst| seen.insert(inst)) else { continue };
            if let Some(found) = found(inst) {
                return Some(found);
            }
            work.extend(self.func.inst(inst).args.iter().copied());
        }
        None
    }

    /// Returns a polling access if all exits of the loop depend on one.
    fn polling_access_of_exits(&self, cfg: &Cfg) -> Option<Inst> {
        let mut decides = None;
        // By number, so that each run finds the same access.
        let mut blocks: Vec<Block> = self.blocks.iter().copied().collect();
        blocks.sort_unstable();
        for block in blocks {
            if cfg.succs(block).iter().all(|next| self.blocks.contains(next)) {
                continue;
            }
            let last = self.func.terminator(block);
            let requested = last.and_then(|inst| self.func.inst(inst).args.first().copied());
            decides = Some(self.polling_access(requested?)?);
        }
        decides
    }

    /// Returns the polling access that a condition depends on.
    fn polling_access(&self, condition: Value) -> Option<Inst> {
        self.find(condition, |inst| {
            let data = self.func.inst(inst);
            let wait = match data.op {
                Op::Call => may_wait(self.func, data, self.polling),
                _ => is_poll(data) && self.is_stable(inst),
            };
            wait.then_some(inst)
        })
    }

    /// True if an access observes the same value in each iteration unless another lane writes.
    fn is_stable(&self, inst: Inst) -> bool {
        let data = self.func.inst(inst);
        let Some(address) = data.address() else { return false };
        if is_private(self.func, address) || self.is_address_variant(address) {
            return false;
        }
        let retries_read_value = data.op == Op::CompareExchange
            && self
                .find(data.args[1], |from| {
                    let data = self.func.inst(from);
                    let reads = matches!(data.op, Op::Load | Op::AtomicRmw | Op::CompareExchange);
                    let is_shared = data.address().is_some_and(|address| !is_private(self.func, address));
                    (reads && is_shared).then_some(())
                })
                .is_some();
        !retries_read_value && !self.is_written(inst, address)
    }

    /// True if an address varies between iterations: it depends on a φ or on a load from shared memory.
    fn is_address_variant(&self, address: Value) -> bool {
        self.find(address, |inst| {
            let data = self.func.inst(inst);
            let reads_shared = data.op.info().effect != Effect::Pure
                && data.address().is_none_or(|address| !is_private(self.func, address));
            (data.op == Op::Phi || reads_shared).then_some(())
        })
        .is_some()
    }

    /// True if the loop writes to the address by another access.
    fn is_written(&self, access: Inst, address: Value) -> bool {
        let blocks = self.blocks.iter();
        blocks.flat_map(|&block| self.func.block_insts(block)).any(|inst| {
            let data = self.func.inst(inst);
            let writes = matches!(data.op.info().effect, Effect::Writes | Effect::ReadsWrites);
            inst != access && writes && data.address() == Some(address) && !is_poll(data)
        })
    }
}

/// Lowers the blocks around each loop that waits, up to the meeting points, to a dispatch loop. The error is a loop around a meeting
/// point, if one is known.
fn lower_regions_between_meetings(
    func: &mut Function,
    polling: &FxHashSet<String>,
) -> Result<(), Option<WaitLoop>> {
    split_at_meeting_points(func);
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    let meeting_points = MeetingPoints::new(func, &cfg, &forest);
    let mut regions: Vec<Vec<Block>> = Vec::new();
    for cycle in forest.cycles() {
        let wait = wait_edges(func, &cfg, &forest, cycle, polling).next();
        let Some((_, inst)) = wait.filter(|_| meeting_points.parts_lanes(cycle)) else { continue };
        if meeting_points.is_around(cycle) {
            let location = DiagnosticLocation::line_of(func, inst);
            return Err(Some(WaitLoop { op: func.inst(inst).op, location }));
        }
        let header = forest.header(cycle);
        if !regions.iter().any(|region| region.contains(&header)) {
            regions.push(meeting_points.region_of(header));
        }
    }
    lower_to_dispatch_loops(func, Some(regions));
    Ok(())
}

/// Splits blocks before their first meeting point and behind their last.
fn split_at_meeting_points(func: &mut Function) {
    let blocks: Vec<Block> = func.blocks().collect();
    for block in blocks {
        let insts: Vec<Inst> = func.block_insts(block).collect();
        let is_one = |inst: &Inst| is_meeting_point(func, *inst);
        let (Some(first), Some(last)) = (insts.iter().position(is_one), insts.iter().rposition(is_one))
        else {
            continue;
        };
        let before = insts[..first].last().copied().filter(|&inst| func.inst(inst).op != Op::Phi);
        let has_more = last + 2 < insts.len();
        for inst in [has_more.then_some(insts[last]), before].into_iter().flatten() {
            let from = func.layout.block_of(inst).expect("the instruction stands in a block");
            let rest = split_after(func, inst);
            append_jump(func, from, rest);
        }
    }
}

/// Lowers a function, or these regions of it, to dispatch loops that execute one block per iteration.
fn lower_to_dispatch_loops(func: &mut Function, regions: Option<Vec<Vec<Block>>>) {
    let old_entry = func.entry();
    let targets_entry = func.blocks().any(|block| func.successors(block).contains(&old_entry));
    let entry = match targets_entry {
        true => {
            let entry = func.new_block();
            func.layout.prepend_block(entry);
            Builder::new(func, InsertPoint::End(entry)).jump(old_entry);
            entry
        }
        false => old_entry,
    };
    let blocks: Vec<Block> = func.blocks().filter(|&block| block != entry).collect();
    let mut rounds = DispatchLoop { func, entry, slots: SecondaryMap::new() };
    rounds.move_to_memory(&blocks);
    for region in regions.unwrap_or_else(|| vec![blocks]) {
        let region: Vec<Block> = region.into_iter().filter(|&block| block != entry).collect();
        rounds.redirect_to_head(&region);
    }
}

struct DispatchLoop<'a> {
    func: &'a mut Function,
    entry: Block,
    /// Private object that holds a value for other blocks.
    slots: SecondaryMap<Value, Option<Value>>,
}

impl DispatchLoop<'_> {
    /// Returns the block that defines a value, if other blocks need it kept in memory.
    fn block_defining(&self, value: Value) -> Option<Block> {
        let inst = self.func.def_inst(value)?;
        self.func.layout.block_of(inst).filter(|&block| block != self.entry)
    }

    fn slot(&mut self, value: Value) -> Value {
        if let Some(slot) = self.slots[value] {
            return slot;
        }
        let slot = self.object(self.func.value_type(value));
        self.slots[value] = Some(slot);
        slot
    }

    /// Allocates a private object for values of a type.
    fn object(&mut self, ty: Type) -> Value {
        let bytes = u64::from(ty.bytes()).max(1);
        let align = (bytes.next_power_of_two() as u32).min(16);
        let data = InstData::new(Op::Alloca, [], Detail::Alloca { bytes, align });
        let alloca = self.func.make_inst(data, &[Type::ptr(Space::Private)]);
        self.func.layout.prepend_inst(alloca, self.entry);
        self.func.results(alloca)[0]
    }

    /// Moves values that cross blocks, and φs, to private objects.
    fn move_to_memory(&mut self, blocks: &[Block]) {
        let mut kept: Vec<Value> = Vec::new();
        for block in std::iter::once(self.entry).chain(blocks.iter().copied()) {
            let insts: Vec<Inst> = self.func.block_insts(block).collect();
            let mut loaded: FxHashMap<Value, Value> = FxHashMap::default();
            for inst in insts {
                if self.func.inst(inst).op == Op::Phi {
                    continue;
                }
                let args = self.func.inst(inst).args.clone();
                for (index, &arg) in args.iter().enumerate() {
                    let read = self.read(arg, block, inst, &mut loaded, &mut kept);
                    self.func.inst_mut(inst).args[index] = read;
                }
                let entry = self.entry;
                self.func.retain_bases(inst, |func, base| {
                    let at = func.def_inst(base).and_then(|object| func.layout.block_of(object));
                    at.is_none_or(|at| at == entry || at == block)
                });
                // After all of the block's reads: it may read what it writes.
                if self.func.inst(inst).op.is_terminator() {
                    self.store_phi_operands(block, inst, &mut loaded, &mut kept);
                }
            }
        }
        // φs become loads at the start of their block, in order.
        for &block in blocks {
            let phis: Vec<Inst> = self.func.phis(block).collect();
            let mut first = None;
            for phi in phis {
                let value = self.func.results(phi)[0];
                let slot = self.slot(value);
                let at = match first {
                    None => InsertPoint::Start(block),
                    Some(last) => InsertPoint::After(last),
                };
                let ty = self.func.value_type(value);
                let load = Builder::new(self.func, at).load(ty, slot, 1);
                first = self.func.def_inst(load);
                self.func.map_values_of_block(block, |used| if used == value { load } else { used });
                self.func.remove_inst(phi);
            }
        }
        kept.sort_unstable();
        kept.dedup();
        for value in kept {
            // The slot of a φ is written by the predecessors.
            let Some(inst) = self.func.def_inst(value) else { continue };
            let slot = self.slot(value);
            Builder::new(self.func, InsertPoint::After(inst)).store(value, slot, 1);
        }
    }

    /// Returns a value as a block reads it before an instruction.
    fn read(
        &mut self,
        value: Value,
        block: Block,
        before: Inst,
        loaded: &mut FxHashMap<Value, Value>,
        kept: &mut Vec<Value>,
    ) -> Value {
        if self.block_defining(value).is_none_or(|block_defining| block_defining == block) {
            return value;
        }
        if let Some(&known) = loaded.get(&value) {
            return known;
        }
        let (slot, ty) = (self.slot(value), self.func.value_type(value));
        kept.push(value);
        let load = Builder::new(self.func, InsertPoint::Before(before)).load(ty, slot, 1);
        loaded.insert(value, load);
        load
    }

    /// Stores the φ operands of the successors. All loads precede all stores.
    fn store_phi_operands(
        &mut self,
        block: Block,
        end: Inst,
        loaded: &mut FxHashMap<Value, Value>,
        kept: &mut Vec<Value>,
    ) {
        let mut next: Vec<Block> = self.func.inst(end).targets().to_vec();
        next.sort_unstable();
        next.dedup();
        let mut writes: Vec<(Value, Value)> = Vec::new();
        for target in next {
            let phis: Vec<Inst> = self.func.phis(target).collect();
            for phi in phis {
                let Some(value) = self.func.inst(phi).incoming_from(block) else { continue };
                let value = self.read(value, block, end, loaded, kept);
                let slot = self.slot(self.func.results(phi)[0]);
                writes.push((slot, value));
            }
        }
        for (slot, value) in writes {
            Builder::new(self.func, InsertPoint::Before(end)).store(value, slot, 1);
        }
    }

    /// Redirects the edges to blocks of a region to one head, which switches to each lane's next block. Lanes that leave the region
    /// meet behind the loop, and part there to where they go. Edges from outside have a block before the head: lanes that come back
    /// to the region go round a cycle of their own, and do not join those that have not left.
    fn redirect_to_head(&mut self, region: &[Block]) {
        let mut numbers: FxHashMap<Block, i128> = region.iter().copied().zip(1..).collect();
        let inside: FxHashSet<Block> = region.iter().copied().collect();
        let sources: Vec<Block> = self.func.blocks().collect();
        let [before, head, end] = [(); 3].map(|()| self.func.append_block());
        let types: Vec<Type> = self.func.signature.results.iter().map(|result| result.ty).collect();
        let results: Vec<Value> = types.iter().map(|&ty| self.object(ty)).collect();
        let [mut first, mut next]: [Vec<(Block, Value)>; 2] = Default::default();
        let mut exits: Vec<Block> = Vec::new();
        let mut returns = region.len() + 1 == sources.len();
        for block in sources {
            let Some(last) = self.func.terminator(block) else { continue };
            let data = self.func.inst(last).clone();
            let targets = data.targets();
            let is_inside = inside.contains(&block);
            if !is_inside && !targets.iter().all(|target| inside.contains(target)) {
                for (index, target) in targets.iter().enumerate() {
                    let Some(&number) = numbers.get(target).filter(|_| inside.contains(target)) else {
                        continue;
                    };
                    let edge = self.func.append_block();
                    append_jump(self.func, edge, before);
                    first.push((edge, self.func.make_int(Scalar::I32, number)));
                    self.func.inst_mut(last).targets_mut()[index] = edge;
                }
                continue;
            }
            if !is_inside && targets.is_empty() {
                continue;
            }
            for &target in targets {
                let known = numbers.len() as i128 + 1;
                numbers.entry(target).or_insert_with(|| {
                    exits.push(target);
                    known
                });
            }
            let mut builder = Builder::new(self.func, InsertPoint::Before(last));
            builder.set_origin(data.origin);
            let number =
                |builder: &mut Builder<'_>, target: &Block| builder.int(Scalar::I32, numbers[target]);
            let state = match (&data.detail, data.op) {
                (Detail::Branch(targets, _), _) => {
                    let first = number(&mut builder, &targets[0]);
                    match (data.args.first(), targets.get(1)) {
                        (Some(&condition), Some(other)) => {
                            let other = number(&mut builder, other);
                            builder.select(condition, first, other)
                        }
                        _ => first,
                    }
                }
                (Detail::Switch(switch), _) => {
                    let mut state = number(&mut builder, &switch.targets[0]);
                    let scalar = builder.func.value_type(data.args[0]).scalar();
                    for (&case, target) in switch.cases.iter().zip(&switch.targets[1..]) {
                        let case = builder.int(scalar, case as i128);
                        let is_it = builder.icmp(IntPredicate::Eq, data.args[0], case);
                        let target = number(&mut builder, target);
                        state = builder.select(is_it, target, state);
                    }
                    state
                }
                (_, Op::Ret) => {
                    returns = true;
                    for (&slot, &value) in results.iter().zip(&data.args) {
                        builder.store(value, slot, 1);
                    }
                    builder.int(Scalar::I32, 0)
                }
                _ => continue,
            };
            let (edges, target) = if is_inside { (&mut next, head) } else { (&mut first, before) };
            edges.push((block, state));
            *self.func.inst_mut(last) = InstData { origin: data.origin, ..InstData::jump(target) };
        }
        let mut builder = Builder::new(self.func, InsertPoint::End(before));
        let state = builder.phi(Scalar::I32.into(), &first, None);
        builder.jump(head);
        next.insert(0, (before, state));
        let mut builder = Builder::new(self.func, InsertPoint::End(head));
        let state = builder.phi(Scalar::I32.into(), &next, None);
        let cases = (1..=region.len() as u128).collect();
        let targets = std::iter::once(end).chain(region.iter().copied()).collect();
        let switch = |cases, targets| Detail::Switch(Box::new(SwitchDetail { cases, targets }));
        builder.inst(InstData::new(Op::Switch, [state], switch(cases, targets)), None);
        let mut last = end;
        if !exits.is_empty() {
            let cases = exits.iter().map(|exit| numbers[exit] as u128).collect();
            last = if returns { self.func.append_block() } else { exits[0] };
            let targets = std::iter::once(last).chain(exits.iter().copied()).collect();
            let data = InstData::new(Op::Switch, [state], switch(cases, targets));
            Builder::new(self.func, InsertPoint::End(end)).inst(data, None);
        }
        if exits.is_empty() || returns {
            let mut builder = Builder::new(self.func, InsertPoint::End(last));
            let values: Vec<Value> =
                types.iter().zip(&results).map(|(&ty, &slot)| builder.load(ty, slot, 1)).collect();
            builder.ret(&values);
        }
    }
}
