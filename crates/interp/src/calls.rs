//! Calls: a frame for the active lanes, and what becomes of results in the others.

use crate::brush::{Brush, LaneFault, RunContext};
use crate::fault::{ExecutionFault, FaultKind};
use crate::frame::{CallFrame, LaneState, RegisterFile};
use crate::lane_partition::LanePartition;
use crate::lanes::LaneMask;
use crate::limits::LimitKind;
use crate::profile::TripCounters;
use crate::program::PreparedFunction;
use crate::reconvergence::StackEntry;
use crate::run::PassiveSemantics;
use crate::schedule::{InvocationCursor, Scheduler};
use heddle_ir::{Inst, InstData};

const NOWHERE: u32 = u32::MAX;

impl<M: LaneMask> Brush<'_, '_, M> {
    /// Starts a function with these lanes.
    pub(crate) fn push_frame(
        &mut self,
        code: usize,
        registers: RegisterFile<M>,
        mask: M,
        call: Option<Inst>,
        track: InvocationCursor,
        world: &mut RunContext<'_>,
    ) -> Result<(), ExecutionFault> {
        let func = self.program.codes[code].func;
        let fault = |kind| ExecutionFault::new(kind, &func.name);
        if self.frames.len() as u64 >= world.budget.limits.calls {
            return Err(fault(world.budget.exceeded(LimitKind::Calls)));
        }
        self.check_shared(code, &registers, mask, world).map_err(fault)?;
        self.program.codes[code].prepare(world.options, &mut world.budget).map_err(fault)?;
        let entry = func.entry();
        let node = match world.options.scheduler {
            Scheduler::Ipdom => NOWHERE,
            _ => self.program.codes[code].control().start(func),
        };
        let mut places = LanePartition::new();
        places.put(LaneState::At { node, target: entry }, mask);
        let is_entry = call.is_none();
        let results = func.signature.results.iter().filter(|_| is_entry);
        let results =
            results.map(|result| vec![None; self.lanes * usize::from(result.ty.lanes().unwrap_or(1))]);
        let stack = match world.options.scheduler {
            Scheduler::Ipdom => vec![StackEntry { lanes: mask, at: Some(entry), until: None }],
            _ => Vec::new(),
        };
        self.frames.push(CallFrame {
            code,
            registers,
            places,
            from: LanePartition::new(),
            block: None,
            next: None,
            reads_predicate: None,
            control: M::NONE,
            active: M::NONE,
            results: results.collect(),
            mark: world.memory.mark(self.level),
            call,
            track,
            stack,
            rounds: TripCounters::default(),
            step: 0,
        });
        Ok(())
    }

    /// Checks that generic pointers that are declared to be shared do not lead each lane to an object of its own.
    fn check_shared(
        &self,
        code: usize,
        registers: &RegisterFile<M>,
        mask: M,
        world: &RunContext<'_>,
    ) -> Result<(), FaultKind> {
        if self.lanes == 1 {
            return Ok(());
        }
        let code = &self.program.codes[code];
        for (param, &value) in code.func.signature.params.iter().zip(code.func.params()) {
            if !param.is_shared_pointer(code.func.kind) {
                continue;
            }
            let row = code.slot(value).first;
            let own =
                |lane| registers.get(row, lane).is_some_and(|it| world.memory.is_own(it as u64, self.level));
            if mask.lanes().any(own) {
                return Err(FaultKind::BrokenPromise("`uniform` of a generic pointer"));
            }
        }
        Ok(())
    }

    /// Calls a function with the active lanes, or with all of them.
    pub(crate) fn call(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        world: &mut RunContext<'_>,
    ) -> Result<(), LaneFault> {
        let mask = if data.is_total() { M::first(self.lanes) } else { self.frame().active };
        let Some(declaration) = code.func.callee_of(data) else {
            return Err((FaultKind::Misplaced("the callee is not declared".into()), None));
        };
        let Some(callee) = self.program.find_declared(declaration) else {
            let done = self.call_known(inst, data, code, declaration, mask, world);
            self.advance(inst, code);
            return done;
        };
        self.advance(inst, code);
        if mask.is_none() {
            self.write_nothing(inst, code, mask, world);
            return Ok(());
        }
        let callee_code = &self.program.codes[callee];
        let mut registers = self.new_registers(callee_code, world).map_err(|kind| (kind, None))?;
        for (&param, &arg) in callee_code.func.params().iter().zip(&data.args) {
            for (to, from) in callee_code.slot(param).rows().zip(code.slot(arg).rows()) {
                registers.copy_from(&self.frame().registers, from, to);
            }
        }
        let track = world.course.call(&self.frame().track, inst);
        self.push_frame(callee, registers, mask, Some(inst), track, world).map_err(|fault| (fault.kind, None))
    }

    /// Gives the results of the finished function on top to its caller.
    pub(crate) fn finish_frame(&mut self, world: &mut RunContext<'_>) -> Result<(), ExecutionFault> {
        let frame = self.frames.pop().expect("a running brush has a frame");
        world.memory.release(self.level, frame.mark, &mut world.budget);
        world.budget.give_back(frame.registers.cost());
        let Some(call) = frame.call else {
            self.finished = frame.results;
            return Ok(());
        };
        self.spare.push(frame.registers);
        let code = &self.program.codes[self.frame().code];
        self.write_nothing(call, code, frame.places.lanes(LaneState::Returned), world);
        Ok(())
    }

    /// What happens to the results of an instruction in lanes that did not execute it.
    #[inline]
    pub(crate) fn write_nothing(
        &mut self,
        inst: Inst,
        code: &PreparedFunction<'_>,
        executed: M,
        world: &RunContext<'_>,
    ) {
        if world.options.semantics == PassiveSemantics::Freezing {
            return;
        }
        let others = M::first(self.lanes) & !executed;
        if others.is_none() {
            return;
        }
        let frame = self.frame_mut();
        for &value in code.func.results(inst) {
            code.slot(value).rows().for_each(|row| frame.registers.fill(row, others, None));
        }
    }
}
