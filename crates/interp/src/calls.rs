//! Calls: a frame for the active lanes; results stay or become poison in the others.

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
    /// Pushes a frame for a function that these lanes enter.
    pub(crate) fn push_frame(
        &mut self,
        code: usize,
        registers: RegisterFile<M>,
        mask: M,
        call: Option<Inst>,
        cursor: InvocationCursor,
        cx: &mut RunContext<'_>,
    ) -> Result<(), ExecutionFault> {
        let func = self.program.functions[code].func;
        let fault = |kind| ExecutionFault::new(kind, &func.name);
        if self.frames.len() as u64 >= cx.budget.limits.calls {
            return Err(fault(cx.budget.exceeded(LimitKind::Calls)));
        }
        self.check_shared(code, &registers, mask, cx).map_err(fault)?;
        self.program.functions[code].prepare(cx.options, &mut cx.budget).map_err(fault)?;
        let entry = func.entry();
        let node = match cx.options.scheduler {
            Scheduler::Ipdom => NOWHERE,
            _ => self.program.functions[code].control().start(func),
        };
        let mut lane_states = LanePartition::new();
        lane_states.put(LaneState::Waiting { node, target: entry }, mask);
        let is_entry = call.is_none();
        let results = func.signature.results.iter().filter(|_| is_entry);
        let results =
            results.map(|result| vec![None; self.lanes * usize::from(result.ty.lanes().unwrap_or(1))]);
        let stack = match cx.options.scheduler {
            Scheduler::Ipdom => vec![StackEntry { lanes: mask, at: Some(entry), until: None }],
            _ => Vec::new(),
        };
        self.frames.push(CallFrame {
            code,
            registers,
            lane_states,
            from: LanePartition::new(),
            block: None,
            next: None,
            reads_predicate: None,
            control: M::NONE,
            active: M::NONE,
            results: results.collect(),
            mark: cx.memory.mark(self.level),
            call,
            cursor,
            stack,
            trips: TripCounters::default(),
            step: 0,
        });
        Ok(())
    }

    /// Checks that no generic pointer declared as shared points to an object private to each lane.
    fn check_shared(
        &self,
        code: usize,
        registers: &RegisterFile<M>,
        mask: M,
        cx: &RunContext<'_>,
    ) -> Result<(), FaultKind> {
        if self.lanes == 1 {
            return Ok(());
        }
        let code = &self.program.functions[code];
        for (param, &value) in code.func.signature.params.iter().zip(code.func.params()) {
            if !param.is_shared_pointer(code.func.kind) {
                continue;
            }
            let row = code.slot(value).first;
            let own = |lane| {
                registers.get(row, lane).is_some_and(|it| cx.memory.is_lane_private(it as u64, self.level))
            };
            if mask.lanes().any(own) {
                return Err(FaultKind::BrokenPromise("`uniform` of a generic pointer"));
            }
        }
        Ok(())
    }

    /// Calls a function with the active lanes, or with all lanes if the call is total.
    pub(crate) fn call(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        cx: &mut RunContext<'_>,
    ) -> Result<(), LaneFault> {
        let mask = if data.is_total() { M::first(self.lanes) } else { self.frame().active };
        let Some(declaration) = code.func.callee_of(data) else {
            return Err((FaultKind::Misplaced("the callee is not declared".into()), None));
        };
        let Some(callee) = self.program.find_callee(declaration) else {
            let done = self.call_builtin(inst, data, code, declaration, mask, cx);
            self.advance(inst, code);
            return done;
        };
        self.advance(inst, code);
        if mask.is_none() {
            self.write_passive_results(inst, code, mask, cx);
            return Ok(());
        }
        let callee_code = &self.program.functions[callee];
        let mut registers = self.new_registers(callee_code, cx).map_err(|kind| (kind, None))?;
        for (&param, &arg) in callee_code.func.params().iter().zip(&data.args) {
            for (to, from) in callee_code.slot(param).rows().zip(code.slot(arg).rows()) {
                registers.copy_from(&self.frame().registers, from, to);
            }
        }
        let cursor = cx.recorder.call(&self.frame().cursor, inst);
        self.push_frame(callee, registers, mask, Some(inst), cursor, cx).map_err(|fault| (fault.kind, None))
    }

    /// Pops the finished function's frame. Results are in the caller's registers already; those of the entry are kept.
    pub(crate) fn finish_frame(&mut self, cx: &mut RunContext<'_>) -> Result<(), ExecutionFault> {
        let frame = self.frames.pop().expect("a running brush has a frame");
        cx.memory.release(self.level, frame.mark, &mut cx.budget);
        cx.budget.give_back(frame.registers.cost());
        let Some(call) = frame.call else {
            self.finished = frame.results;
            return Ok(());
        };
        self.free_registers.push(frame.registers);
        let code = &self.program.functions[self.frame().code];
        self.write_passive_results(call, code, frame.lane_states.lanes(LaneState::Returned), cx);
        Ok(())
    }

    /// Applies the semantics of passive lanes to the results of an instruction: keeps them, or makes them poison.
    #[inline]
    pub(crate) fn write_passive_results(
        &mut self,
        inst: Inst,
        code: &PreparedFunction<'_>,
        executed: M,
        cx: &RunContext<'_>,
    ) {
        if cx.options.semantics == PassiveSemantics::Freezing {
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
