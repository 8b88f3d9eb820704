//! Expected numbers of iterations of loops.

use super::{CodeEstimate, VOTE_DEPTH};
use crate::induction::{InductionVariable, find_induction};
use crate::regular_exits::is_regular_mask;
use heddle_analysis::Cycle;
use heddle_ir::inst::Detail;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Constant, Inst, Op, Value};
use rustc_hash::FxHashSet;

/// Iterations of a loop whose number is not known.
const UNKNOWN_TRIPS: f64 = 16.0;
/// Additional iterations, as a share, of a loop that lanes leave one by one, for each doubling of the lanes.
const SPREAD: f64 = 0.2;
/// Share of that in loops over the digits of numbers, or by halves: their iterations differ by the logarithm of what lanes begin with.
const SHRINKING_SPREAD: f64 = 0.25;

impl CodeEstimate<'_> {
    /// Expected number of iterations of a loop.
    pub(super) fn trips(&self, cycle: Cycle) -> f64 {
        if let Some(trips) = self.constant_trips(cycle) {
            return trips;
        }
        let ends_by_lanes = self.cycles.blocks(cycle).iter().any(|&block| {
            let leaves = self.cfg.succs(block).iter().any(|&to| !self.cycles.contains(cycle, to));
            let mut parts = Vec::new();
            if let Some(condition) = self.condition(block).filter(|_| leaves) {
                self.add_varying_parts(cycle, condition, VOTE_DEPTH, &mut parts);
            }
            let is_open = |&inst: &Inst| {
                let data = self.func.inst(inst);
                data.op == Op::Any && !is_regular_mask(self.func, &self.cycles, cycle, data.args[0])
            };
            parts.iter().any(is_open)
        });
        let spread =
            if ends_by_lanes && !self.runs_over_chunks(cycle) { SPREAD * self.brush.spread } else { 0.0 };
        let trips = match self.shrinking_trips(cycle) {
            Some(most) => most.min(UNKNOWN_TRIPS * (1.0 + spread * SHRINKING_SPREAD)),
            None => UNKNOWN_TRIPS * (1.0 + spread),
        };
        trips / self.strip_length(cycle).min(UNKNOWN_TRIPS)
    }

    /// True if each lane counts from its own start to a bound that is computed from the start, as in `for (i = s; i < min(s + n, end); i++)`:
    /// only lanes whose chunk is cut leave early.
    fn runs_over_chunks(&self, cycle: Cycle) -> bool {
        let compares = self.compares_of_exits(cycle);
        !compares.is_empty() && compares.into_iter().all(|compare| self.ends_chunk(cycle, compare))
    }

    /// True if a comparison ends a loop over a chunk.
    fn ends_chunk(&self, cycle: Cycle, compare: Inst) -> bool {
        let &[counter, bound] = &self.func.inst(compare).args[..] else { return false };
        let is_sum = |op: Op| matches!(op, Op::Add | Op::Sub);
        let counters = self.operands_through(counter, is_sum);
        let header = self.cycles.header(cycle);
        let mut starts = Vec::new();
        for phi in counters.iter().filter_map(|&it| self.func.def_inst(it)) {
            if self.func.inst(phi).op == Op::Phi && self.func.layout.block_of(phi) == Some(header) {
                let outside =
                    self.func.inst(phi).incoming().filter(|&(from, _)| !self.cycles.contains(cycle, from));
                starts.extend(outside.map(|(_, start)| start));
            }
        }
        let is_clamped = |op: Op| is_sum(op) || matches!(op, Op::Umin | Op::Umax | Op::Smin | Op::Smax);
        let of_bound = self.operands_through(bound, is_clamped);
        let is_own = |value: Value| {
            let is_splat = self.func.def_inst(value).is_some_and(|inst| self.func.inst(inst).op == Op::Splat);
            self.func.value_type(value).is_vector() && self.func.constant(value).is_none() && !is_splat
        };
        let of_starts = starts.into_iter().flat_map(|start| self.operands_through(start, is_sum));
        of_starts.filter(|&it| is_own(it)).any(|it| of_bound.contains(&it))
    }

    /// Collects a value and the operands that it is computed from by some operations.
    pub(super) fn operands_through(&self, value: Value, is_passed: impl Fn(Op) -> bool) -> Vec<Value> {
        /// Values that are looked at, at most.
        const BUDGET: usize = 16;
        let mut found = vec![value];
        let mut at = 0;
        while at < found.len() && found.len() < BUDGET {
            let inst = self.func.def_inst(found[at]).filter(|&inst| is_passed(self.func.inst(inst).op));
            found.extend(inst.into_iter().flat_map(|inst| self.func.inst(inst).args.iter().copied()));
            at += 1;
        }
        found
    }

    /// Largest number of iterations of a loop that ends when a number has become small, and shifts or divides it by a constant.
    fn shrinking_trips(&self, cycle: Cycle) -> Option<f64> {
        let compares = self.compares_of_exits(cycle);
        compares
            .into_iter()
            .find_map(|compare| self.trips_of_shrinking(cycle, self.func.inst(compare).args[0]))
    }

    /// Integer comparisons of a loop that its exits depend on, also by the masks that its iterations pass on.
    fn compares_of_exits(&self, cycle: Cycle) -> Vec<Inst> {
        /// Values that are looked at, at most.
        const BUDGET: usize = 32;
        let is_inside = |block: Block| self.cycles.contains(cycle, block);
        let leaves = |block: Block| self.cfg.succs(block).iter().any(|&to| !is_inside(to));
        let leaving = self.cycles.blocks(cycle).iter().copied().filter(|&block| leaves(block));
        let mut next: Vec<Value> = leaving.filter_map(|block| self.condition(block)).collect();
        let (mut seen, mut compares) = (FxHashSet::default(), Vec::new());
        while let Some(value) = next.pop().filter(|_| seen.len() < BUDGET) {
            let Some(inst) = self.func.def_inst(value).filter(|&inst| seen.insert(inst)) else { continue };
            let data = self.func.inst(inst);
            match data.op {
                _ if !self.func.layout.block_of(inst).is_some_and(is_inside) => {}
                Op::Icmp => compares.push(inst),
                Op::Any | Op::And | Op::Xor | Op::Select | Op::Freeze => next.extend(&data.args),
                Op::Phi => {
                    next.extend(data.incoming().filter(|&(from, _)| is_inside(from)).map(|(_, value)| value))
                }
                _ => {}
            }
        }
        compares
    }

    /// Iterations until nothing is left of a number that each iteration shifts or divides.
    fn trips_of_shrinking(&self, cycle: Cycle, compared: Value) -> Option<f64> {
        let header = self.cycles.header(cycle);
        let mut phis = self.func.block_insts(header).filter(|&inst| self.func.inst(inst).op == Op::Phi);
        phis.find_map(|phi| {
            let number = self.func.result(phi)?;
            let mut inside =
                self.func.inst(phi).incoming().filter(|(from, _)| self.cycles.contains(cycle, *from));
            let (_, next) = inside.next()?;
            let lost = self.bits_lost(next, number, VOTE_DEPTH)?;
            let is_compared = compared == number || self.bits_lost(compared, number, VOTE_DEPTH).is_some();
            is_compared.then(|| (f64::from(self.func.value_type(number).scalar().bits()) / lost).ceil())
        })
    }

    /// Bits by which a value is shorter than the number that it is made from.
    fn bits_lost(&self, value: Value, number: Value, depth: u32) -> Option<f64> {
        let data = self.func.inst(self.func.def_inst(value)?);
        let by = || self.func.constant(*data.args.get(1)?).and_then(Constant::splat_bits).map(|by| by as f64);
        match data.op {
            Op::Lshr | Op::Ashr if data.args[0] == number => by().filter(|&by| by >= 1.0),
            Op::Udiv | Op::Sdiv if data.args[0] == number => by().filter(|&by| by >= 2.0).map(f64::log2),
            Op::Select | Op::Freeze if depth > 0 => {
                data.args.iter().find_map(|&arg| self.bits_lost(arg, number, depth - 1))
            }
            _ => None,
        }
    }

    /// Number of iterations of the source in an iteration of a loop that passes have strip-mined; 1 for other loops.
    fn strip_length(&self, cycle: Cycle) -> f64 {
        let length = || {
            let latch = self.cycles.unique_latch(&self.cfg, cycle)?;
            let condition = *self.func.inst(self.func.terminator(latch)?).args.first()?;
            let condition = self.func.def_inst(self.unfrozen(condition))?;
            let counter = self.counter(cycle, *self.func.inst(condition).args.first()?)?;
            self.func.i64_constant(counter.step).filter(|_| self.is_of_pass(condition))
        };
        length().map_or(1.0, |step| step.max(1) as f64)
    }

    /// Collects the operands of a conjunction that a loop computes; the others hold as long as the loop runs.
    fn add_varying_parts(&self, cycle: Cycle, condition: Value, depth: u32, parts: &mut Vec<Inst>) {
        let Some(inst) = self.func.def_inst(self.unfrozen(condition)) else { return };
        let is_inside =
            self.func.layout.block_of(inst).is_some_and(|block| self.cycles.contains(cycle, block));
        let data = self.func.inst(inst);
        match data.op {
            _ if !is_inside => {}
            Op::And | Op::Select if depth > 0 => {
                for &part in &data.args {
                    self.add_varying_parts(cycle, part, depth - 1, parts);
                }
            }
            _ => parts.push(inst),
        }
    }

    /// Number of iterations of a loop that counts from a constant to a constant.
    pub(super) fn constant_trips(&self, cycle: Cycle) -> Option<f64> {
        let latch = self.cycles.unique_latch(&self.cfg, cycle)?;
        let mut parts = Vec::new();
        self.add_varying_parts(cycle, self.condition(latch)?, VOTE_DEPTH, &mut parts);
        parts.into_iter().find_map(|condition| self.trips_by(cycle, condition))
    }

    /// Number of iterations of a loop whose latch compares a counter with a constant.
    fn trips_by(&self, cycle: Cycle, condition: Inst) -> Option<f64> {
        let compared = self.func.inst(condition);
        let Detail::IntCompare(predicate) = compared.detail else { return None };
        let constant = |value: Value| self.func.i64_constant(value).map(|number| number as f64);
        let counter = self.counter(cycle, compared.args[0])?;
        let (end, start) = (constant(compared.args[1])?, constant(counter.init)?);
        let step = constant(counter.step).filter(|&step| step != 0.0)?;
        let is_next = counter.next == compared.args[0];
        let is_closed = matches!(
            predicate,
            IntPredicate::Ule | IntPredicate::Sle | IntPredicate::Uge | IntPredicate::Sge
        );
        let trips = (end - start) / step + f64::from(u8::from(!is_next)) + f64::from(u8::from(is_closed));
        (1.0..1e6).contains(&trips).then_some(trips)
    }

    /// Induction variable of a loop that has this value, before or after its step.
    fn counter(&self, cycle: Cycle, value: Value) -> Option<InductionVariable> {
        let mut inductions =
            self.func.phis(self.cycles.header(cycle)).filter_map(|phi| self.induction(cycle, phi));
        inductions.find(|it| value == it.value || value == it.next)
    }

    /// Induction variable of a φ of a loop's header.
    pub(super) fn induction(&self, cycle: Cycle, phi: Inst) -> Option<InductionVariable> {
        find_induction(self.func, phi, |block| self.cycles.contains(cycle, block))
    }
}
