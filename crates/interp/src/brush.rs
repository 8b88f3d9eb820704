//! Execution of a brush: `W` lanes in lock-step, each with its own control state, one block at a time.
//!
//! A block executes as in thesis 4.7: φs under the control mask, then the predicate, then instructions under the
//! activation, then the terminator. A call pushes a frame; a barrier suspends the whole brush.

use crate::fault::{ExecutionFault, FaultKind};
use crate::frame::{CallFrame, LaneState, RegisterFile};
use crate::lane_partition::LanePartition;
use crate::lanes::{LaneMask, LaneSet};
use crate::limits::{Budget, LimitKind};
use crate::memory::Memory;
use crate::profile::RunProfile;
use crate::program::{PreparedFunction, PreparedModule, RegisterSlot};
use crate::race::{Race, RaceDetector};
use crate::reconvergence::StackEntry;
use crate::run::{BrushPosition, Datum, PassiveSemantics, RunCounters, RunOptions};
use crate::schedule::{Rng, ScheduleRecorder, Scheduler};
use crate::trace::{LaneSuccessor, Trace, TraceStep};
use heddle_ir::words::SyncScope;
use heddle_ir::{Block, Detail, Inst, InstData, Op, Value};

/// Fault, with the lane that caused it.
pub(crate) type LaneFault = (FaultKind, Option<usize>);

const MAX_NESTING: u32 = 8;
const TRACE_STEP_COST: u64 = 256;
const NOWHERE: u32 = u32::MAX;

/// State shared by all brushes of a run.
#[derive(Debug)]
pub(crate) struct RunContext<'a> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) detector: Option<RaceDetector>,
    pub(crate) race: Option<Race>,
    pub(crate) options: &'a RunOptions,
    pub(crate) budget: Budget,
    pub(crate) counters: RunCounters,
    pub(crate) recorder: ScheduleRecorder<'a>,
    pub(crate) trace: Trace,
    pub(crate) profile: Option<RunProfile>,
    pub(crate) rng: Rng,
    /// Number of events so far that order accesses of the running group: barriers, and starts and ends of launches.
    pub(crate) epoch: u32,
    /// Blocks executed without active lanes since the last one with some.
    pub(crate) empty_streak: u64,
    /// Nesting depth of launches.
    pub(crate) nesting: u32,
}

impl RunContext<'_> {
    /// Shuffles the numbers if the scheduler is random, else keeps their order.
    pub(crate) fn shuffle(&mut self, order: &mut [usize]) {
        if self.rng.is_random() {
            for index in (1..order.len()).rev() {
                order.swap(index, self.rng.below(index + 1));
            }
        }
    }
}

/// Reason for which a brush stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopReason {
    Finished,
    /// At a barrier: index of its function, call depth, and instruction.
    AtBarrier {
        code: usize,
        depth: usize,
        inst: Inst,
    },
    /// Between two blocks, where other brushes of the group go on.
    Preempted,
}

/// Outcome of an arrival at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrival {
    /// All lanes that have not exited are there.
    Complete,
    /// Other lanes run on: they exit, or the barrier is divergent.
    Parks,
}

/// Lanes that wait at a barrier while others run on to their exit.
#[derive(Debug)]
struct ParkedLanes<M> {
    inst: Inst,
    scope: SyncScope,
    /// Frames of the calls that they are in.
    frames: Vec<CallFrame<M>>,
    /// State of the outermost frame.
    block: Block,
    next: Option<Inst>,
    control: M,
    active: M,
    stack: Vec<StackEntry<M>>,
    step: usize,
}

/// `W` lanes that run in lock-step.
#[derive(Debug)]
pub(crate) struct Brush<'p, 'm, M> {
    pub(crate) program: &'p PreparedModule<'m>,
    pub(crate) position: BrushPosition,
    pub(crate) dims: Vec<u32>,
    pub(crate) lanes: usize,
    pub(crate) level: usize,
    pub(crate) number: u32,
    pub(crate) frames: Vec<CallFrame<M>>,
    pub(crate) finished: Vec<Vec<Option<u128>>>,
    parked: Option<ParkedLanes<M>>,
    /// Pending φ copies and the values read for them, where φs read φs. Empty between blocks.
    copies: Vec<PhiCopy<M>>,
    copied: Vec<Option<u128>>,
    /// Register files of finished functions, for reuse.
    pub(crate) free_registers: Vec<RegisterFile<M>>,
}

/// Copy by a φ for some lanes: from the rows of a value, or poison.
#[derive(Clone, Copy, Debug)]
struct PhiCopy<M> {
    from: Option<RegisterSlot>,
    to: RegisterSlot,
    lanes: M,
}

impl<M: LaneMask> PhiCopy<M> {
    fn run(self, registers: &mut RegisterFile<M>) {
        for (element, row) in self.to.rows().enumerate() {
            match self.from {
                Some(from) => registers.copy(from.row(element), row, self.lanes),
                None => registers.fill(row, self.lanes, None),
            }
        }
    }
}

impl<'p, 'm, M: LaneMask> Brush<'p, 'm, M> {
    pub(crate) fn new(
        program: &'p PreparedModule<'m>,
        entry: usize,
        args: &[Vec<Datum>],
        position: BrushPosition,
        number: u32,
        cx: &mut RunContext<'_>,
    ) -> Result<Brush<'p, 'm, M>, ExecutionFault> {
        let options = cx.options;
        let present = |lane: usize| {
            position.local[lane].is_some()
                && options.only_lane.is_none_or(|only| only as usize == lane)
                && options.entry_mask.contains(lane)
        };
        let lanes = position.local.len();
        let mask = (0..lanes).filter(|&lane| present(lane)).fold(M::NONE, |mask, lane| mask | M::of(lane));
        Brush::with_mask(program, entry, args, position, options.brush.clone(), number, mask, None, cx)
    }

    #[expect(clippy::too_many_arguments, reason = "a launch and a run give the same parts")]
    pub(crate) fn with_mask(
        program: &'p PreparedModule<'m>,
        entry: usize,
        args: &[Vec<Datum>],
        position: BrushPosition,
        dims: Vec<u32>,
        number: u32,
        mask: M,
        host: Option<(&Brush<'_, '_, M>, Inst)>,
        cx: &mut RunContext<'_>,
    ) -> Result<Brush<'p, 'm, M>, ExecutionFault> {
        let lanes = position.local.len();
        let level = cx.memory.open_level(lanes, host.map(|(host, _)| host.level));
        let mut brush = Brush {
            program,
            position,
            dims,
            lanes,
            level,
            number,
            frames: Vec::new(),
            finished: Vec::new(),
            parked: None,
            copies: Vec::new(),
            copied: Vec::new(),
            free_registers: Vec::new(),
        };
        let code = &program.functions[entry];
        let registers = brush.new_registers(code, cx);
        let mut registers = registers.map_err(|kind| ExecutionFault::new(kind, &code.func.name))?;
        for (&param, datums) in code.func.params().iter().zip(args) {
            let slot = code.slot(param);
            for (index, datum) in datums.iter().enumerate() {
                registers.set(slot.row(index % slot.elements), index / slot.elements, datum.bits());
            }
        }
        let cursor = match host {
            None => cx.recorder.enter(brush.position.group_number, number),
            Some((host, launch)) => cx.recorder.call(&host.frame().cursor, launch),
        };
        brush.push_frame(entry, registers, mask, None, cursor, cx)?;
        Ok(brush)
    }

    pub(crate) fn new_registers(
        &mut self,
        code: &PreparedFunction<'_>,
        cx: &mut RunContext<'_>,
    ) -> Result<RegisterFile<M>, FaultKind> {
        cx.budget.hold(RegisterFile::<M>::cost_of(code.rows, self.lanes))?;
        cx.budget.work((code.rows * self.lanes) as u64 / 4)?;
        let mut registers = self.free_registers.pop().unwrap_or_else(|| RegisterFile::new(self.lanes));
        registers.reset(code.rows);
        for (value, elements) in &code.constants {
            for (row, &element) in code.slot(*value).rows().zip(elements) {
                registers.fill(row, M::first(self.lanes), element);
            }
        }
        Ok(registers)
    }

    /// Takes the results of the entry function, once it has finished.
    pub(crate) fn take_results(&mut self) -> Vec<Vec<Datum>> {
        let results = std::mem::take(&mut self.finished);
        results.into_iter().map(|result| result.into_iter().map(Datum::from).collect()).collect()
    }

    /// Runs to the next barrier or the end, or so many blocks.
    pub(crate) fn resume(
        &mut self,
        blocks: u64,
        cx: &mut RunContext<'_>,
    ) -> Result<StopReason, ExecutionFault> {
        let mut left = blocks;
        while let Some(frame) = self.frames.last() {
            let Some(inst) = frame.next else {
                if left == 0 {
                    return Ok(StopReason::Preempted);
                }
                left -= 1;
                if self.start_block(cx)? {
                    continue;
                }
                match self.parked.take_if(|_| self.frames.len() == 1) {
                    Some(parked) => match self.unpark(parked, cx) {
                        Some(stopped) => return Ok(stopped),
                        None => continue,
                    },
                    None => self.finish_frame(cx)?,
                }
                continue;
            };
            let program = self.program;
            let code = &program.functions[frame.code];
            if frame.reads_predicate == Some(inst)
                && let Some(predicate) = frame.block.and_then(|block| code.func.predicate(block))
            {
                self.read_predicate(code, predicate, cx)?;
            }
            let data = code.func.inst(inst);
            let result = match data.op {
                Op::Br | Op::Switch | Op::Ret | Op::Unreachable => self.terminate(data, code, cx),
                Op::Call => self.call(inst, data, code, cx),
                Op::Barrier => {
                    let arrival = self.arrive(inst, data);
                    self.advance(inst, code);
                    match arrival {
                        Ok((Arrival::Complete, scope)) => match self.stop_at(inst, scope) {
                            Some(stopped) => return Ok(stopped),
                            None => continue,
                        },
                        Ok((Arrival::Parks, scope)) => {
                            self.park(inst, scope);
                            continue;
                        }
                        Err(kind) => Err((kind, None)),
                    }
                }
                _ => {
                    let done = self.execute(inst, data, code, cx);
                    self.advance(inst, code);
                    done
                }
            };
            result.map_err(|(kind, lane)| self.fault(code, inst, kind, lane))?;
        }
        Ok(StopReason::Finished)
    }

    pub(crate) fn advance(&mut self, inst: Inst, code: &PreparedFunction<'_>) {
        self.frame_mut().next = code.func.layout.next_inst(inst);
    }

    pub(crate) fn frame(&self) -> &CallFrame<M> {
        self.frames.last().expect("a running brush has a frame")
    }

    pub(crate) fn frame_mut(&mut self) -> &mut CallFrame<M> {
        self.frames.last_mut().expect("a running brush has a frame")
    }

    pub(crate) fn fault(
        &self,
        code: &PreparedFunction<'_>,
        inst: Inst,
        kind: FaultKind,
        lane: Option<usize>,
    ) -> ExecutionFault {
        ExecutionFault {
            kind,
            func: code.func.name.clone(),
            block: code.func.layout.block_of(inst),
            inst: Some(inst),
            text: Some(heddle_ir::text::print_operation(code.func, inst)),
            lane: lane.map(|lane| lane as u32),
        }
    }

    // Scheduling.

    /// Starts the next block. Returns false when all lanes have returned.
    fn start_block(&mut self, cx: &mut RunContext<'_>) -> Result<bool, ExecutionFault> {
        let program = self.program;
        let code = &program.functions[self.frame().code];
        let block = match cx.options.scheduler {
            Scheduler::Ipdom => self.pick_from_stack(),
            _ => self
                .pick_block(code.control(), cx)
                .map_err(|kind| ExecutionFault::new(kind, &code.func.name))?,
        };
        let Some(block) = block else { return Ok(false) };
        let control = match (&cx.options.scheduler, self.frame().stack.last()) {
            (Scheduler::Ipdom, Some(top)) => top.lanes,
            (Scheduler::Ipdom, None) => M::NONE,
            _ => {
                let node = code.control().block_node(block);
                self.frame().lane_states.lanes(LaneState::Waiting { node, target: block })
            }
        };
        self.enter(code, block, control, cx)?;
        Ok(true)
    }

    fn enter(
        &mut self,
        code: &PreparedFunction<'_>,
        block: Block,
        control: M,
        cx: &mut RunContext<'_>,
    ) -> Result<(), ExecutionFault> {
        let fault =
            |kind| ExecutionFault { block: Some(block), ..ExecutionFault::new(kind, &code.func.name) };
        let value = cx.budget.limits.steps;
        if cx.counters.steps >= value {
            let empty = cx.empty_streak > value / 2;
            return Err(fault(FaultKind::Limit { limit: LimitKind::Steps, value, empty }));
        }
        cx.counters.steps += 1;
        cx.recorder.record(&mut self.frame_mut().cursor, block, &mut cx.budget).map_err(fault)?;
        let oblivious = cx.options.semantics == PassiveSemantics::Oblivious;
        let next = self.run_phis(code, block, control, oblivious, &mut cx.budget).map_err(fault)?;
        let comes = |lane: usize| control.has(lane) && self.frame().from.of(lane).is_some();
        let is_entered = cx.options.trace && !control.is_none() && !(0..self.lanes).any(comes);
        let params: &[Value] = if is_entered { code.func.params() } else { &[] };
        let args = self.values_in_lanes(code, params, cx).map_err(fault)?;
        let frame = self.frames.last_mut().expect("a running brush has a frame");
        frame.block = Some(block);
        frame.control = control;
        frame.next = next;
        if cx.options.trace {
            cx.budget.hold(TRACE_STEP_COST + 32 * self.lanes as u64).map_err(fault)?;
            frame.step = cx.trace.steps.len();
            cx.trace.lanes = self.lanes as u32;
            cx.trace.steps.push(TraceStep {
                brush: self.number,
                group: self.position.group_number,
                func: frame.code as u32,
                depth: self.frames.len() as u32 - 1,
                block,
                from: (0..self.lanes).map(|lane| self.frame().from.of(lane)).collect(),
                control: control.to_set(),
                predicate: LaneSet::NONE,
                active: LaneSet::NONE,
                next: Vec::new(),
                args,
                values: Vec::new(),
            });
        }
        let Some(value) = code.func.predicate(block) else {
            self.activate(M::first(self.lanes), cx);
            return Ok(());
        };
        // A predicate that its own block computes is read after its definition. All instructions before that are total.
        if let Some(inst) = code.func.def_inst(value)
            && code.func.layout.block_of(inst) == Some(block)
            && code.func.inst(inst).op != Op::Phi
        {
            let frame = self.frame_mut();
            frame.reads_predicate = code.func.layout.next_inst(inst);
            frame.active = control;
            return Ok(());
        }
        self.read_predicate(code, value, cx)
    }

    /// Reads the predicate of the running block and activates its lanes.
    fn read_predicate(
        &mut self,
        code: &PreparedFunction<'_>,
        predicate: Value,
        cx: &mut RunContext<'_>,
    ) -> Result<(), ExecutionFault> {
        self.frame_mut().reads_predicate = None;
        let mask = self.read_mask(code, predicate, self.frame().control).map_err(|(kind, lane)| {
            let mut fault = ExecutionFault::new(kind, &code.func.name);
            (fault.block, fault.lane) = (self.frame().block, lane.map(|lane| lane as u32));
            fault
        })?;
        self.activate(mask, cx);
        Ok(())
    }

    /// Sets the active lanes of the running block: the lanes in it whose predicate holds.
    fn activate(&mut self, predicate: M, cx: &mut RunContext<'_>) {
        let lanes = self.lanes;
        let frame = self.frame_mut();
        frame.active = frame.control & predicate;
        if frame.active.is_none() {
            cx.recorder.mark_empty(&frame.cursor);
            cx.counters.empty_steps += 1;
            cx.empty_streak += 1;
        } else {
            cx.empty_streak = 0;
        }
        if let (Some(profile), Some(block)) = (&mut cx.profile, frame.block) {
            profile.record_block(frame.code, block, frame.active.count() as usize, lanes);
        }
        if cx.options.trace {
            let step = &mut cx.trace.steps[frame.step];
            (step.predicate, step.active) = (predicate.to_set(), frame.active.to_set());
        }
    }

    /// Returns the lanes where a truth value holds. Poison in a lane of `needed` is a fault; elsewhere it counts as false.
    pub(crate) fn read_mask(
        &self,
        code: &PreparedFunction<'_>,
        value: Value,
        needed: M,
    ) -> Result<M, LaneFault> {
        let (row, registers) = (code.slot(value).first, &self.frame().registers);
        let poison = registers.poison(row);
        if let Some(lane) = (needed & poison).lanes().next() {
            return Err((FaultKind::ControlOnPoison(value), Some(lane)));
        }
        Ok(M::of_bits(registers.row(row)) & !poison)
    }

    /// Executes the φs of the block in parallel: reads all operands before it writes. Returns the first instruction after.
    fn run_phis(
        &mut self,
        code: &PreparedFunction<'_>,
        block: Block,
        control: M,
        oblivious: bool,
        budget: &mut Budget,
    ) -> Result<Option<Inst>, FaultKind> {
        let frame = self.frames.last_mut().expect("a running brush has a frame");
        let registers = &mut frame.registers;
        let are_interdependent = code.interdependent_phis.contains(block);
        let mut next = code.func.layout.first_inst(block);
        while let Some(phi) = next {
            let data = code.func.inst(phi);
            if data.op != Op::Phi {
                break;
            }
            next = code.func.layout.next_inst(phi);
            let Some(result) = code.func.result(phi) else { continue };
            let to = code.slot(result);
            budget.work((data.args.len() + to.elements) as u64)?;
            let mut give = |source: Option<Value>, lanes: M| {
                let copy = PhiCopy { from: source.map(|source| code.slot(source)), to, lanes };
                match are_interdependent {
                    true => self.copies.push(copy),
                    false => copy.run(registers),
                }
            };
            let mut rest = control;
            for (from, members) in frame.from.iter().filter(|(_, members)| !(*members & control).is_none()) {
                let edge = data.incoming().find(|(block, _)| *block == from);
                give(edge.map(|(_, value)| value), members & control);
                rest &= !members;
            }
            if !rest.is_none() {
                give(None, rest);
            }
            let shadow = data.shadow();
            if shadow.is_some() || oblivious {
                give(shadow, M::first(self.lanes) & !control);
            }
        }
        for PhiCopy { from, lanes, .. } in &self.copies {
            for row in from.iter().flat_map(|from| from.rows()) {
                self.copied.extend((*lanes).lanes().map(|lane| registers.get(row, lane)));
            }
        }
        let mut copied = self.copied.drain(..);
        for copy in self.copies.drain(..) {
            if copy.from.is_none() {
                copy.run(registers);
                continue;
            }
            for row in copy.to.rows() {
                copy.lanes.lanes().for_each(|lane| registers.set(row, lane, copied.next().flatten()));
            }
        }
        Ok(next)
    }

    // Terminators.

    fn terminate(
        &mut self,
        data: &InstData,
        code: &PreparedFunction<'_>,
        cx: &mut RunContext<'_>,
    ) -> Result<(), LaneFault> {
        let lanes = self.lanes;
        let frame = self.frame();
        let (control, active) = (frame.control, frame.active);
        let block = frame.block.expect("a terminator runs in a block");
        // Lanes without a destination return.
        let mut destinations: LanePartition<Block, M> = LanePartition::new();
        match (&data.detail, data.op) {
            (_, Op::Unreachable) if !active.is_none() => {
                return Err((FaultKind::Unreachable, active.lanes().next()));
            }
            (_, Op::Unreachable) => {
                return Err((FaultKind::PassiveReturn, control.lanes().next()));
            }
            (_, Op::Ret) => {
                if let Some(lane) = (control & !active).lanes().next() {
                    return Err((FaultKind::PassiveReturn, Some(lane)));
                }
                self.store_results(data, code, active)?;
            }
            (Detail::Branch(targets, _), _) => {
                let taken = match data.args.first() {
                    None => M::EVERY,
                    Some(&condition) => self.read_mask(code, condition, active)?,
                };
                destinations.put(targets[0], active & taken);
                if let Some(&otherwise) = targets.get(1) {
                    destinations.put(otherwise, active & !taken);
                }
            }
            (Detail::Switch(switch), _) => {
                let value = data.args[0];
                let row = code.slot(value).first;
                let compared = u64::from(active.count()).saturating_mul(switch.cases.len() as u64);
                cx.budget.work(compared).map_err(|kind| (kind, None))?;
                for lane in active.lanes() {
                    let Some(bits) = self.frame().registers.get(row, lane) else {
                        return Err((FaultKind::ControlOnPoison(value), Some(lane)));
                    };
                    let case = switch.cases.iter().position(|&case| case == bits);
                    destinations.put(switch.targets[case.map_or(0, |case| case + 1)], M::of(lane));
                }
            }
            _ => {}
        }
        if data.op != Op::Ret {
            self.choose_passive_targets(&mut destinations, data, code, cx);
            self.count_branch(&destinations, active, data, cx);
        }
        self.profile_edges(code, block, data, &destinations, cx).map_err(|kind| (kind, None))?;
        self.trace_values(code, block, cx).map_err(|kind| (kind, None))?;
        let frame = self.frames.last_mut().expect("a running brush has a frame");
        frame.from.put(block, control);
        let mut returned = control;
        for (target, members) in destinations.iter() {
            let node = match cx.options.scheduler {
                Scheduler::Ipdom => NOWHERE,
                _ => code.control().edge_node(block, target),
            };
            frame.lane_states.put(LaneState::Waiting { node, target }, members);
            returned &= !members;
        }
        frame.lane_states.put(LaneState::Returned, returned);
        if cx.options.trace {
            let next = (0..lanes).map(|lane| match frame.lane_states.of(lane) {
                Some(LaneState::Waiting { target, .. } | LaneState::Parked { target }) => {
                    LaneSuccessor::Block(target)
                }
                Some(LaneState::Returned) => LaneSuccessor::Returned,
                None => LaneSuccessor::Absent,
            });
            cx.trace.steps[frame.step].next = next.collect();
        }
        (frame.block, frame.next) = (None, None);
        if cx.options.scheduler == Scheduler::Ipdom {
            self.split_stack(code, block, &destinations);
        }
        Ok(())
    }

    fn count_branch(
        &self,
        destinations: &LanePartition<Block, M>,
        active: M,
        data: &InstData,
        cx: &mut RunContext<'_>,
    ) {
        if data.targets().len() > 1 && !active.is_none() {
            match destinations.iter().filter(|(_, members)| !(*members & active).is_none()).count() {
                1 => cx.counters.uniform_branches += 1,
                _ => cx.counters.divergent_branches += 1,
            }
        }
    }

    fn store_results(
        &mut self,
        data: &InstData,
        code: &PreparedFunction<'_>,
        active: M,
    ) -> Result<(), LaneFault> {
        let (frame, callers) = self.frames.split_last_mut().expect("a running brush has a frame");
        if let (Some(caller), Some(call)) = (callers.last_mut(), frame.call) {
            let calling = &self.program.functions[caller.code];
            for (&value, &result) in data.args.iter().zip(calling.func.results(call)) {
                for (from, to) in code.slot(value).rows().zip(calling.slot(result).rows()) {
                    caller.registers.copy_lanes_from(&frame.registers, from, to, active);
                }
            }
            return Ok(());
        }
        for (result, &value) in frame.results.iter_mut().zip(&data.args) {
            let slot = code.slot(value);
            for lane in active.lanes() {
                for element in 0..slot.elements {
                    let bits = frame.registers.get(slot.row(element), lane);
                    if bits.is_none() && slot.elements == 1 {
                        return Err((FaultKind::PoisonResult(value), Some(lane)));
                    }
                    result[lane * slot.elements + element] = bits;
                }
            }
        }
        Ok(())
    }

    fn trace_values(
        &self,
        code: &PreparedFunction<'_>,
        block: Block,
        cx: &mut RunContext<'_>,
    ) -> Result<(), FaultKind> {
        if !cx.options.trace {
            return Ok(());
        }
        let results = code.func.block_insts(block).flat_map(|inst| code.func.results(inst).iter().copied());
        let results: Vec<Value> = results.collect();
        cx.trace.steps[self.frame().step].values = self.values_in_lanes(code, &results, cx)?;
        Ok(())
    }

    /// Returns the values of these in each lane.
    fn values_in_lanes(
        &self,
        code: &PreparedFunction<'_>,
        values: &[Value],
        cx: &mut RunContext<'_>,
    ) -> Result<Vec<(Value, Vec<Datum>)>, FaultKind> {
        let frame = self.frame();
        let mut all = Vec::with_capacity(values.len());
        for &value in values {
            let slot = code.slot(value);
            cx.budget.hold((slot.elements * self.lanes * size_of::<Datum>()) as u64 + 32)?;
            let rows = slot.rows();
            let lanes = (0..self.lanes).flat_map(|lane| rows.clone().map(move |row| (row, lane)));
            all.push((value, lanes.map(|(row, lane)| frame.registers.get(row, lane).into()).collect()));
        }
        Ok(all)
    }

    // Barriers.

    /// Arrives at a barrier with the active lanes. Lanes that have exited are not waited for.
    fn arrive(&self, inst: Inst, data: &InstData) -> Result<(Arrival, SyncScope), FaultKind> {
        let Detail::Barrier(scope) = data.detail else {
            return Err(FaultKind::Misplaced("the barrier has no scope".into()));
        };
        let active = self.frame().active;
        let outermost = &self.frames[0];
        let mut arrival = Arrival::Complete;
        for lane in 0..self.lanes {
            let is_missing = match outermost.lane_states.of(lane) {
                None | Some(LaneState::Returned) => false,
                Some(LaneState::Parked { .. }) => true,
                Some(LaneState::Waiting { .. }) if outermost.control.has(lane) => !active.has(lane),
                Some(LaneState::Waiting { .. }) => {
                    arrival = Arrival::Parks;
                    false
                }
            };
            if is_missing {
                let at = self.parked.as_ref().map_or(inst, |parked| parked.inst);
                let other = if at == inst { "" } else { ", but waits at another one" };
                return Err(FaultKind::DivergentBarrier(format!(
                    "lane {lane} of the brush does not reach this barrier together with the others{other}"
                )));
            }
        }
        Ok((arrival, scope))
    }

    /// Returns where the brush stops if all its lanes are at a barrier; none if the barrier is for the brush alone.
    fn stop_at(&self, inst: Inst, scope: SyncScope) -> Option<StopReason> {
        match scope {
            SyncScope::Lane | SyncScope::Brush => None,
            SyncScope::Group | SyncScope::Device | SyncScope::System => {
                Some(StopReason::AtBarrier { code: self.frame().code, depth: self.frames.len(), inst })
            }
        }
    }

    /// Sets the lanes at a barrier aside, so that the others run on.
    fn park(&mut self, inst: Inst, scope: SyncScope) {
        let frames = self.frames.split_off(1);
        let outermost = self.frame_mut();
        let Some(block) = outermost.block.take() else { return };
        let control = std::mem::replace(&mut outermost.control, M::NONE);
        outermost.lane_states.put(LaneState::Parked { target: block }, control);
        let parked = ParkedLanes {
            inst,
            scope,
            frames,
            block,
            next: outermost.next.take(),
            control,
            active: std::mem::replace(&mut outermost.active, M::NONE),
            stack: outermost.stack.clone(),
            step: outermost.step,
        };
        outermost.stack.iter_mut().for_each(|entry| entry.lanes &= !control);
        self.parked = Some(parked);
    }

    /// Goes on with lanes that were set aside, once all others have exited.
    fn unpark(&mut self, parked: ParkedLanes<M>, cx: &RunContext<'_>) -> Option<StopReason> {
        let program = self.program;
        let outermost = self.frame_mut();
        let node = match cx.options.scheduler {
            Scheduler::Ipdom => NOWHERE,
            _ => program.functions[outermost.code].control().block_node(parked.block),
        };
        let returned = outermost.lane_states.lanes(LaneState::Returned);
        outermost.lane_states.put(LaneState::Waiting { node, target: parked.block }, parked.control);
        (outermost.block, outermost.next) = (Some(parked.block), parked.next);
        (outermost.control, outermost.active) = (parked.control, parked.active);
        outermost.stack = parked.stack;
        outermost.step = parked.step;
        outermost.stack.iter_mut().for_each(|entry| entry.lanes &= !returned);
        self.frames.extend(parked.frames);
        self.stop_at(parked.inst, parked.scope)
    }

    /// Runs a region that sequential code launched to its end.
    pub(crate) fn run_region(&mut self, cx: &mut RunContext<'_>) -> Result<Vec<Vec<Datum>>, ExecutionFault> {
        if cx.nesting >= MAX_NESTING {
            let name = &self.program.functions[self.frame().code].func.name;
            return Err(ExecutionFault::new(FaultKind::Nesting(MAX_NESTING), name));
        }
        cx.nesting += 1;
        let stopped = self.resume(u64::MAX, cx)?;
        cx.nesting -= 1;
        if let StopReason::AtBarrier { code, inst, .. } = stopped {
            let reason = "a launched region is no work-group: it has no barriers of this scope";
            let kind = FaultKind::Misplaced(reason.into());
            return Err(self.fault(&self.program.functions[code], inst, kind, None));
        }
        cx.memory.close_level(&mut cx.budget);
        Ok(self.take_results())
    }
}
