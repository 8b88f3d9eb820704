//! Barriers at which the threads of a block wait apart: different instructions, parts of the block, arrivals without waiting.
//!
//! `barrier group` of the IR is one instruction for all threads that have not exited. A kernel whose threads may wait apart has
//! that barrier in one place, the *hub*. Each wait counts its thread as arrived and jumps to the hub, which goes on with the
//! threads whose wait is over:
//!
//! ```text
//!     site 0:  arrive; jump hub            hub:  barrier group
//!     site 1:  arrive; jump hub                  over = all that the barrier waits for have arrived
//!                                                progress = round, if over
//!                                                barrier group
//!                                                switch (over ? site : progress == round ? hub : stuck)
//!                                                    [0: after site 0, 1: after site 1, hub, stuck]
//! ```
//!
//! Arrivals are counted in a group object that is never reset: a barrier that is over keeps the counts at its end as the next
//! base. A count of threads in a barrier is a count of warps, times 32; a warp whose remaining threads arrive together counts
//! as a whole. Where no thread can go on, the launch fails by name.
//!
//! Decision: only kernels that need it have a hub, since all values that are live at any of its barriers have spill slots. They are
//! those with counts, arrivals, barrier numbers in registers, and those in which a branch on the thread's index leads to
//! different barriers. The search may miss a branch: then threads at different barriers fail the launch, as they do in functions.

use super::body::FunctionLowering;
use super::flow::{PtxBlock, PtxTerminator, operation};
use super::{LowerResult, PtxRefusal, layout};
use crate::check::{ResolvedInst, ResolvedOperand, ResolvedStatement, SpecialRegister};
use crate::operation::PtxOperation;
use crate::words::Word;
use heddle_ir::entity::Entity as _;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::module::{Declaration, Effects, FunctionKind, Signature};
use heddle_ir::words::{AtomicOrdering, Flags, IntPredicate, Rmw, SyncScope};
use heddle_ir::{Op, Scalar, Space, Value};
use std::sync::Arc;

/// Function of the driver that ends a launch whose threads wait for others that never arrive.
pub const NO_ARRIVAL: &str = "heddle_no_arrival";
/// Object of the group in which the hub counts.
pub(crate) const COUNTS: &str = "ptx.arrivals";
/// Number of the barriers of a block.
const BARRIERS: i64 = 16;
/// Maximum number of warps of a block.
const WARPS: i64 = 32;
/// Size of the counts of a barrier: threads, threads of whole warps, votes, and their base.
const BARRIER_BYTES: i64 = 24;
/// Offset of the round in which a wait was last over.
const PROGRESS: i64 = 0;
/// Offset of the number of threads that have exited.
const EXITED: i64 = 4;
/// Offset of the counts of barriers.
const OF_BARRIERS: i64 = 8;
/// Offset of the numbers of threads of each warp that have exited.
const OF_WARPS: i64 = OF_BARRIERS + BARRIERS * BARRIER_BYTES;
/// Size of the object.
pub(crate) const COUNTS_BYTES: u64 = (OF_WARPS + 4 * WARPS) as u64;

/// Access to a count.
const ACCESS: Access =
    Access { atomic: Some((AtomicOrdering::Relaxed, SyncScope::Group)), ..Access::aligned(4) };

/// Counts of a barrier, by index.
const KINDS: std::ops::Range<usize> = 0..3;
const THREADS: usize = 0;
const WARP_THREADS: usize = 1;
const VOTES: usize = 2;

/// Hub of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct BarrierMeeting {
    /// First of its slots.
    first: usize,
    /// Barriers with constant numbers; none if a number is in a register.
    numbers: Option<Vec<i64>>,
    /// True if a barrier has a count of threads.
    has_counts: bool,
    /// True if a barrier takes votes.
    has_votes: bool,
    /// True if a wait is for a barrier, and not all are for barrier objects.
    has_barriers: bool,
}

/// Slots of the hub, after the first one: where a thread waits, for which barrier, for how many threads.
const SITE: usize = 0;
const NUMBER: usize = 1;
const NEEDED: usize = 2;
const ROUND: usize = 3;
/// Counts when the wait was over.
const SEEN: usize = 4;
/// Votes of the barrier that is over.
const VOTED: usize = 7;
const SLOTS: usize = 8;

/// Number of threads of a wait that is over at once.
const NO_WAIT: i128 = 0xffff_ffff;

impl BarrierMeeting {
    /// Returns its slots.
    pub(crate) fn slots(&self) -> std::ops::Range<usize> {
        self.first..self.first + SLOTS
    }
}

/// True if threads wait for others at an instruction.
fn is_wait(inst: &ResolvedInst) -> bool {
    let has = |word: Word| inst.words.contains(&word);
    match operation(inst) {
        PtxOperation::Bar => !has(Word::Warp) && !has(Word::Arrive) && !has(Word::Cluster),
        PtxOperation::Mbarrier => has(Word::TestWait) || has(Word::TryWait),
        _ => false,
    }
}

/// Branches on the index of the thread.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct DivergentPaths {
    /// Some lead to different waits.
    wait_apart: bool,
    /// Some lead to waits, or to the end of the kernel.
    exit_apart: bool,
}

/// True for barriers of the block: waits and arrivals.
fn is_block_barrier(inst: &ResolvedInst) -> bool {
    is_barrier(inst) && !inst.words.contains(&Word::Warp) && !inst.words.contains(&Word::Cluster)
}

/// True for `bar` and `barrier`, of all scopes.
fn is_barrier(inst: &ResolvedInst) -> bool {
    operation(inst) == PtxOperation::Bar
}

/// Returns the operands of a barrier: its number, and how many threads it waits for.
fn operands(inst: &ResolvedInst) -> (Option<&ResolvedOperand>, Option<&ResolvedOperand>) {
    let operands = match inst.words.contains(&Word::Red) {
        true => inst.args.get(1..inst.args.len().saturating_sub(1)).unwrap_or_default(),
        false => &inst.args[..],
    };
    (operands.first(), operands.get(1))
}

impl FunctionLowering<'_, '_, '_> {
    /// True if a barrier is for all threads of the block.
    fn is_for_all(&self, count: Option<&ResolvedOperand>) -> bool {
        let Some(count) = count else { return true };
        let fixed = self.body.function.directives.iter().find(|(name, _)| *name == "reqntid");
        let threads = fixed.map(|(_, sizes)| sizes.iter().product::<u64>());
        threads.is_some() && Self::constant(Some(count)) == threads
    }

    /// Returns a reason why a barrier cannot be a `barrier group` where it is; none if it can.
    pub(super) fn needs_hub(&self, inst: &ResolvedInst) -> Option<PtxRefusal> {
        let refusal =
            |reason: &str, help: &str| Some(PtxRefusal { reason: reason.into(), help: help.into() });
        let (number, count) = operands(inst);
        if inst.words.contains(&Word::Arrive) {
            return refusal("arrival at a barrier in a function", "inline the function in the kernel");
        }
        if Self::constant(number).is_none_or(|number| number >= BARRIERS as u64) {
            return refusal("the barrier number is not a constant below 16", "write one");
        }
        if !self.is_for_all(count) {
            return refusal(
                "barrier for a part of the threads in a function",
                "omit the number of threads, inline the function in the kernel, or fix the size of the work-group with `.reqntid`",
            );
        }
        None
    }

    /// Gives a kernel whose threads may wait apart a hub.
    pub(crate) fn plan_meeting(&mut self, ptx_blocks: &mut Vec<PtxBlock>) {
        if !self.body.function.is_kernel {
            return;
        }
        let insts = || {
            self.body.steps.iter().filter_map(|step| match step {
                ResolvedStatement::Inst(inst) => Some(inst),
                ResolvedStatement::Label(_) => None,
            })
        };
        let barriers = || insts().filter(|inst| is_block_barrier(inst));
        // A constant beyond the last barrier is refused.
        let is_beyond = |inst: &ResolvedInst| {
            Self::constant(operands(inst).0).is_some_and(|number| number >= BARRIERS as u64)
        };
        if barriers().any(is_beyond) {
            return;
        }
        let needs = barriers().any(|inst| self.needs_hub(inst).is_some());
        if !needs && insts().filter(|inst| is_wait(inst)).count() < 2 {
            return;
        }
        let divergent = self.find_divergent_paths(ptx_blocks);
        if !needs && !divergent.wait_apart {
            return;
        }
        let mut numbers: Option<Vec<i64>> =
            barriers().map(|inst| Self::constant(operands(inst).0).map(|number| number as i64)).collect();
        if let Some(numbers) = &mut numbers {
            numbers.sort_unstable();
            numbers.dedup();
        }
        let meeting = BarrierMeeting {
            first: self.slots.len(),
            numbers,
            has_counts: barriers().any(|inst| !self.is_for_all(operands(inst).1)),
            has_votes: barriers().any(|inst| inst.words.contains(&Word::Red)),
            has_barriers: barriers().any(is_wait),
        };
        self.slots.extend([Scalar::I32; SLOTS]);
        self.current.resize(self.slots.len(), None);
        self.meeting = Some(meeting);
        self.split_at_waits(ptx_blocks, divergent.exit_apart);
    }

    /// Ends blocks at waits, and appends the hub. With `yields`, a barrier that counts warps comes after a yield, so that the
    /// threads of the warp that exit have done so.
    fn split_at_waits(&self, ptx_blocks: &mut Vec<PtxBlock>, yields: bool) {
        let mut waits: Vec<usize> = Vec::new();
        let mut resumed: Vec<usize> = Vec::new();
        let mut at = 0;
        while at < ptx_blocks.len() {
            let block = ptx_blocks[at].clone();
            // The first step after a yield is the one that yielded.
            let has_yielded = block.resumes.is_none() && resumed.contains(&at);
            let first_wait = block.steps.clone().find_map(|step| {
                let ResolvedStatement::Inst(inst) = &self.body.steps[step] else { return None };
                let is_own = has_yielded && step == block.steps.start;
                let is_counted = is_block_barrier(inst) && !self.is_for_all(operands(inst).1);
                let is_yield = !is_own && (!is_barrier(inst) && is_wait(inst) || yields && is_counted);
                (is_yield || is_barrier(inst) && is_wait(inst)).then_some((step, is_yield))
            });
            if let Some((step, is_yield)) = first_wait {
                let rest = PtxBlock {
                    steps: step + usize::from(!is_yield)..block.steps.end,
                    resumes: (!is_yield).then_some(step),
                    ..block
                };
                ptx_blocks[at].steps.end = step;
                ptx_blocks[at].end = PtxTerminator::Wait { step, is_yield, site: waits.len(), hub: 0 };
                waits.push(at);
                resumed.push(ptx_blocks.len());
                ptx_blocks.push(rest);
            }
            at += 1;
        }
        let [hub, stuck] = [ptx_blocks.len(), ptx_blocks.len() + 1];
        for &block in &waits {
            if let PtxTerminator::Wait { hub: target, .. } = &mut ptx_blocks[block].end {
                *target = hub;
            }
        }
        let empty = |end| PtxBlock { steps: 0..0, guarded: false, resumes: None, end };
        ptx_blocks.push(empty(PtxTerminator::Meet { resumed, hub, stuck }));
        ptx_blocks.push(empty(PtxTerminator::Stuck));
    }

    /// Finds branches on the index of the thread that lead to different waits, and to waits or the end of the kernel.
    fn find_divergent_paths(&self, ptx_blocks: &[PtxBlock]) -> DivergentPaths {
        let mut sites = 0;
        let own_site: Vec<Option<usize>> = ptx_blocks
            .iter()
            .map(|block| {
                let steps = &self.body.steps[block.steps.clone()];
                let waits = steps
                    .iter()
                    .filter(|step| matches!(step, ResolvedStatement::Inst(inst) if is_wait(inst)));
                let count = waits.count();
                sites += count;
                (count > 0).then(|| sites - count)
            })
            .collect();
        let varying = self.slots_by_thread();
        // First waits on the paths from each block; the bit after them is the end of the kernel.
        let words = sites / 64 + 1;
        let mut first = vec![vec![0u64; words]; ptx_blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for block in (0..ptx_blocks.len()).rev() {
                let mut now = vec![0u64; words];
                let end = (ptx_blocks[block].end == PtxTerminator::Return).then_some(sites);
                match own_site[block].or(end) {
                    Some(site) => now[site / 64] |= 1 << (site % 64),
                    None => {
                        for target in ptx_blocks[block].end.targets() {
                            now.iter_mut().zip(&first[target]).for_each(|(now, next)| *now |= next);
                        }
                    }
                }
                changed |= now != first[block];
                first[block] = now;
            }
        }
        let end = 1 << (sites % 64);
        let mut divergent = DivergentPaths::default();
        for block in ptx_blocks {
            let is_varying = match &block.end {
                PtxTerminator::Branch { guard, .. } => varying[guard.index()],
                PtxTerminator::Switch { step, .. } => {
                    matches!(&self.body.steps[*step], ResolvedStatement::Inst(inst)
                        if matches!(inst.args.first(), Some(ResolvedOperand::Reg(reg)) if varying[reg.index()]))
                }
                _ => false,
            };
            if !is_varying {
                continue;
            }
            let mut sides: Vec<Vec<u64>> =
                block.end.targets().iter().map(|&target| first[target].clone()).collect();
            let differ = |sides: &[Vec<u64>]| sides.windows(2).any(|pair| pair[0] != pair[1]);
            divergent.exit_apart |= differ(&sides) && sides.iter().any(|side| side[words - 1] & end != 0);
            sides.iter_mut().for_each(|side| side[words - 1] &= !end);
            sides.retain(|side| side.iter().any(|&word| word != 0));
            divergent.wait_apart |= differ(&sides);
        }
        divergent
    }

    /// Returns the slots that are computed from the thread's index, without regard to branches and loads of the same address.
    fn slots_by_thread(&self) -> Vec<bool> {
        fn is_of_thread(arg: &ResolvedOperand) -> bool {
            match arg {
                ResolvedOperand::Special(special) => matches!(
                    special,
                    SpecialRegister::Tid(_)
                        | SpecialRegister::Laneid
                        | SpecialRegister::Warpid
                        | SpecialRegister::LanemaskEq
                        | SpecialRegister::LanemaskLt
                        | SpecialRegister::LanemaskLe
                        | SpecialRegister::LanemaskGt
                        | SpecialRegister::LanemaskGe
                ),
                ResolvedOperand::Vector(parts) => parts.iter().any(is_of_thread),
                _ => false,
            }
        }
        let mut varying = vec![false; self.slots.len()];
        let mut in_memory = false;
        let mut changed = true;
        while changed {
            changed = false;
            for step in &self.body.steps {
                let ResolvedStatement::Inst(inst) = step else { continue };
                let has = |word: Word| inst.words.contains(&word);
                let operation = operation(inst);
                if is_barrier(inst) {
                    continue;
                }
                let is_private = !has(Word::Shared) && !has(Word::Global) && !has(Word::Const);
                let mut is_varying = inst.args.iter().any(is_of_thread)
                    || matches!(
                        operation,
                        PtxOperation::Atom
                            | PtxOperation::Elect
                            | PtxOperation::Match
                            | PtxOperation::Activemask
                    )
                    || operation == PtxOperation::Ld && is_private && in_memory;
                let mut written = Vec::new();
                self.effects(inst, false, &mut |slot| is_varying |= varying[slot], &mut |slot| {
                    written.push(slot)
                });
                if !is_varying {
                    continue;
                }
                if operation == PtxOperation::St && is_private && !in_memory {
                    in_memory = true;
                    changed = true;
                }
                for slot in written {
                    changed |= !std::mem::replace(&mut varying[slot], true);
                }
            }
        }
        varying
    }

    // Effects on slots.

    /// Reports the slots of a wait.
    pub(crate) fn arrival_effects(
        &self,
        step: usize,
        read: &mut dyn FnMut(usize),
        write: &mut dyn FnMut(usize),
    ) {
        let (ResolvedStatement::Inst(inst), Some(meeting)) = (&self.body.steps[step], &self.meeting) else {
            return;
        };
        self.effects(inst, true, read, &mut |_| ());
        [SITE, NUMBER, NEEDED].into_iter().for_each(|slot| write(meeting.first + slot));
    }

    /// Reports the slots of the hub.
    pub(crate) fn hub_effects(&self, read: &mut dyn FnMut(usize), write: &mut dyn FnMut(usize)) {
        let Some(meeting) = &self.meeting else { return };
        [SITE, NUMBER, NEEDED, ROUND].into_iter().for_each(|slot| read(meeting.first + slot));
        write(meeting.first + ROUND);
        if meeting.has_barriers {
            (SEEN..=VOTED).for_each(|slot| write(meeting.first + slot));
        }
    }

    /// Reports the slots of the start of a block after a barrier.
    pub(crate) fn resumption_effects(
        &self,
        block: &PtxBlock,
        read: &mut dyn FnMut(usize),
        write: &mut dyn FnMut(usize),
    ) {
        let (Some(step), Some(meeting)) = (block.resumes, &self.meeting) else { return };
        read(meeting.first + NUMBER);
        (SEEN..=VOTED).for_each(|slot| read(meeting.first + slot));
        if let ResolvedStatement::Inst(inst) = &self.body.steps[step] {
            self.effects(inst, true, &mut |_| (), write);
        }
    }

    // Code.

    fn counts_at(&mut self, offset: i64) -> Value {
        let object = self.emit.global(Space::Local, &COUNTS.into());
        self.emit.add_bytes(object, offset)
    }

    /// Returns the address of the counts of a barrier.
    fn counts_of(&mut self, number: Value) -> Value {
        if let Some(number) = self.emit.constant(number) {
            return self.counts_at(OF_BARRIERS + number as i64 * BARRIER_BYTES);
        }
        let base = self.counts_at(OF_BARRIERS);
        let number = self.emit.resize(number, Scalar::I64, false);
        let bytes = self.emit.int(Scalar::I64, BARRIER_BYTES.into());
        let offset = self.emit.op(Op::Mul, &[number, bytes]);
        self.emit.op(Op::PtrAdd, &[base, offset])
    }

    fn load_count(&mut self, address: Value, offset: i64) -> Value {
        let address = self.emit.add_bytes(address, offset);
        self.emit.load(Scalar::I32, address, ACCESS, Flags::NONE)
    }

    fn add_count(&mut self, address: Value, offset: i64, amount: Value) {
        let address = self.emit.add_bytes(address, offset);
        let add = InstData::new(Op::AtomicRmw, [address, amount], Detail::Rmw(Rmw::Add, ACCESS));
        self.emit.inst(add, None);
    }

    /// Returns the address of the number of exited threads of the thread's warp, and the number of the warp.
    fn warp_count(&mut self) -> (Value, Value) {
        let index = self.linear_id();
        let by = self.emit.int32(5);
        let warp = self.emit.op(Op::Lshr, &[index, by]);
        let base = self.counts_at(OF_WARPS);
        let number = self.emit.resize(warp, Scalar::I64, false);
        let four = self.emit.int(Scalar::I64, 4);
        let offset = self.emit.op(Op::Mul, &[number, four]);
        (self.emit.op(Op::PtrAdd, &[base, offset]), warp)
    }

    /// Clears the counts at the start of a kernel.
    pub(crate) fn begin_meeting(&mut self) {
        let Some(meeting) = self.meeting.clone() else { return };
        let barrier = |number: i64| {
            let start = OF_BARRIERS + number * BARRIER_BYTES;
            start..start + BARRIER_BYTES
        };
        let of_warps = meeting.has_counts.then_some(OF_WARPS..COUNTS_BYTES as i64);
        let numbers = meeting.numbers.clone().unwrap_or_else(|| (0..BARRIERS).collect());
        let cleared = std::iter::once(0..OF_BARRIERS).chain(numbers.into_iter().map(barrier)).chain(of_warps);
        let access = Access { align: 8, ..ACCESS };
        let zero = self.emit.int(Scalar::I64, 0);
        for offset in cleared.flat_map(|range| range.step_by(8)) {
            // All threads store the same value, so their order does not matter.
            let address = self.counts_at(offset);
            self.emit.store(zero, address, access, Flags::NONE);
        }
        self.group_barrier();
        for slot in meeting.slots() {
            let zero = self.emit.int32(0);
            self.set(slot, zero);
        }
    }

    /// Counts the thread as arrived at a barrier; returns the barrier's number and how many threads it waits for.
    fn count_arrival(&mut self, inst: &ResolvedInst) -> LowerResult<[Value; 2]> {
        let has_counts = self.meeting.as_ref().is_some_and(|meeting| meeting.has_counts);
        let (number, count) = operands(inst);
        let number = match number {
            Some(number) => self.read(number, Word::U32)?,
            None => self.emit.int32(0),
        };
        let mask = self.emit.int32((BARRIERS - 1).into());
        let number = match self.emit.constant(number) {
            Some(_) => number,
            None => self.emit.op(Op::And, &[number, mask]),
        };
        let needed = match count.filter(|_| !self.is_for_all(count)) {
            Some(count) => self.read(count, Word::U32)?,
            None => self.emit.int32(0),
        };
        let counts = self.counts_of(number);
        let one = self.emit.int32(1);
        let vote = match inst.args.last() {
            Some(ResolvedOperand::Reg(reg))
                if self.body.regs[*reg] != Word::Pred && inst.words.contains(&Word::Red) =>
            {
                return super::refuse("the operand of the vote is not a predicate", "write one");
            }
            Some(vote) if inst.words.contains(&Word::Red) => {
                let vote = self.read(vote, Word::Pred)?;
                // Threads that have exited do not vote, so `and` counts those that vote no.
                let vote = if inst.words.contains(&Word::And) { self.emit.not(vote) } else { vote };
                Some(self.emit.resize(vote, Scalar::I32, false))
            }
            _ => None,
        };
        if has_counts {
            let amount = self.arriving_of_warp();
            self.add_count(counts, 4 * WARP_THREADS as i64, amount);
        }
        if let Some(vote) = vote {
            self.add_count(counts, 4 * VOTES as i64, vote);
        }
        self.add_count(counts, 4 * THREADS as i64, one);
        Ok([number, needed])
    }

    /// Returns what the first of the lanes that arrive together counts for, and 0 for the others: 32 if they are all of the warp
    /// that have not exited, else their number.
    fn arriving_of_warp(&mut self) -> Value {
        let (exited, warp) = self.warp_count();
        let exited = self.load_count(exited, 0);
        let size = self.group_size();
        let e = &mut self.emit;
        let yes = e.bool(true);
        let active = e.value(InstData::plain(Op::Ballot, [yes]), Some(Scalar::I32.into()));
        let here = e.op(Op::Ctpop, &[active]);
        let whole = e.int32(32);
        let first = e.op(Op::Mul, &[warp, whole]);
        let rest = e.op(Op::Sub, &[size, first]);
        let of_warp = e.op(Op::Umin, &[rest, whole]);
        let arrived = e.op(Op::Add, &[here, exited]);
        let is_whole = e.icmp(IntPredicate::Eq, arrived, of_warp);
        let amount = e.select(is_whole, whole, here);
        let leader = e.op(Op::Cttz, &[active]);
        let lane = e.query(Op::Lane, None);
        let is_leader = e.icmp(IntPredicate::Eq, leader, lane);
        let zero = e.int32(0);
        e.select(is_leader, amount, zero)
    }

    /// Lowers an arrival without a wait.
    pub(super) fn arrive_at_barrier(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        self.count_arrival(inst).map(|_| ())
    }

    /// Lowers the part of a wait before the hub.
    pub(crate) fn arrive_at_hub(
        &mut self,
        inst: &ResolvedInst,
        is_yield: bool,
        site: usize,
    ) -> LowerResult<()> {
        let Some(first) = self.meeting.as_ref().map(|meeting| meeting.first) else { return Ok(()) };
        let [number, needed] = match is_yield {
            false => self.count_arrival(inst)?,
            true => {
                let any =
                    self.meeting.as_ref().and_then(|meeting| meeting.numbers.as_ref()?.first().copied());
                [any.unwrap_or(0).into(), NO_WAIT].map(|number| self.emit.int32(number))
            }
        };
        let site = self.emit.int32(site as i128);
        for (slot, value) in [(SITE, site), (NUMBER, number), (NEEDED, needed)] {
            self.set(first + slot, value);
        }
        Ok(())
    }

    /// Emits the hub; returns the index of its target: a site of `sites`, the stuck block, or more for the hub.
    pub(crate) fn meet(&mut self, sites: usize) -> Value {
        let Some(meeting) = self.meeting.clone() else { return self.emit.int32(0) };
        let first = meeting.first;
        self.group_barrier();
        let one = self.emit.int32(1);
        let round = self.get(first + ROUND);
        let round = self.emit.op(Op::Add, &[round, one]);
        self.set(first + ROUND, round);
        let is_over = match meeting.has_barriers {
            true => self.is_wait_over(&meeting),
            false => self.emit.bool(true),
        };
        let progress = self.counts_at(PROGRESS);
        // The last round in which a thread went on: rounds ascend.
        let zero = self.emit.int32(0);
        let reached = self.emit.select(is_over, round, zero);
        let keep = InstData::new(Op::AtomicRmw, [progress, reached], Detail::Rmw(Rmw::Umax, ACCESS));
        self.emit.inst(keep, None);
        self.group_barrier();
        let last = self.load_count(progress, 0);
        let goes_on = self.emit.icmp(IntPredicate::Eq, last, round);
        let site = self.get(first + SITE);
        let [stuck, hub] = [sites, sites + 1].map(|number| self.emit.int32(number as i128));
        let waits = self.emit.select(goes_on, hub, stuck);
        self.emit.select(is_over, site, waits)
    }

    fn is_wait_over(&mut self, meeting: &BarrierMeeting) -> Value {
        let first = meeting.first;
        let number = match meeting.numbers.as_deref() {
            Some(&[number]) => self.emit.int32(number.into()),
            _ => self.get(first + NUMBER),
        };
        let counts = self.counts_of(number);
        let mut arrived = [None; KINDS.end];
        for kind in KINDS {
            if kind == WARP_THREADS && !meeting.has_counts || kind == VOTES && !meeting.has_votes {
                continue;
            }
            let now = self.load_count(counts, 4 * kind as i64);
            let base = self.load_count(counts, 4 * (kind + KINDS.end) as i64);
            self.set(first + SEEN + kind, now);
            arrived[kind] = Some(self.emit.op(Op::Sub, &[now, base]));
        }
        if let Some(votes) = arrived[VOTES] {
            self.set(first + VOTED, votes);
        }
        let object = self.counts_at(0);
        let exited = self.load_count(object, EXITED);
        let size = self.group_size();
        let needed = self.get(first + NEEDED);
        let e = &mut self.emit;
        let zero = e.int32(0);
        let threads = arrived[THREADS].unwrap_or(zero);
        let arrived_or_exited = e.op(Op::Add, &[threads, exited]);
        let mut is_over = e.icmp(IntPredicate::Uge, arrived_or_exited, size);
        if let Some(of_warps) = arrived[WARP_THREADS] {
            let is_counted_over = e.icmp(IntPredicate::Uge, of_warps, needed);
            let is_for_all = e.icmp(IntPredicate::Eq, needed, zero);
            is_over = e.select(is_for_all, is_over, is_counted_over);
        }
        let none = e.int32(NO_WAIT);
        let is_no_wait = e.icmp(IntPredicate::Eq, needed, none);
        let yes = e.bool(true);
        e.select(is_no_wait, yes, is_over)
    }

    /// Lowers the part of a barrier after the hub: its next base, and the result of a vote.
    pub(crate) fn resume(&mut self, inst: &ResolvedInst) {
        let Some(meeting) = self.meeting.clone() else { return };
        let first = meeting.first;
        let number = match Self::constant(operands(inst).0) {
            Some(number) => self.emit.int32(number.into()),
            None => self.get(first + NUMBER),
        };
        let counts = self.counts_of(number);
        for kind in KINDS {
            if kind == WARP_THREADS && !meeting.has_counts || kind == VOTES && !meeting.has_votes {
                continue;
            }
            // All threads store the same value, so their order does not matter.
            let seen = self.get(first + SEEN + kind);
            let base = self.emit.add_bytes(counts, 4 * (kind + KINDS.end) as i64);
            self.emit.store(seen, base, ACCESS, Flags::NONE);
        }
        if inst.words.contains(&Word::Red) {
            let votes = self.get(first + VOTED);
            let value = self.outcome_of_votes(inst, votes);
            self.write(&inst.args[0], value, false);
        }
    }

    /// Counts a thread that exits.
    pub(crate) fn leave_meeting(&mut self) {
        let Some(meeting) = self.meeting.clone().filter(|meeting| meeting.has_barriers) else { return };
        let one = self.emit.int32(1);
        let object = self.counts_at(0);
        self.add_count(object, EXITED, one);
        if meeting.has_counts {
            let (of_warp, _) = self.warp_count();
            self.add_count(of_warp, 0, one);
        }
    }

    /// Ends the launch by name: the threads wait for others that never arrive.
    pub(crate) fn report_stuck(&mut self) {
        if !self.cx.shared.launch_objects {
            self.trap();
            return;
        }
        let Some(first) = self.meeting.as_ref().map(|meeting| meeting.first) else { return };
        let number = self.get(first + NUMBER);
        let signature =
            Signature { effects: Effects::ANY, ..Signature::new(&[layout::scalar(Word::U32).into()], &[]) };
        let declaration = Declaration { name: NO_ARRIVAL.into(), kind: FunctionKind::Function, signature };
        self.emit.call(&Arc::new(declaration), &[number]);
    }
}
