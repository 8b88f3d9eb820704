//! Expected executions of blocks, and mispredictions of branches.

use super::{COMPUTED_DEPTH, CodeEstimate, VOTE_DEPTH};
use crate::regular_exits::is_regular_mask;
use crate::timing::is_mask;
use heddle_analysis::Cycle;
use heddle_ir::inst::Detail;
use heddle_ir::ops::Effect;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Constant, Inst, Op, Scalar, Space, Value};
use rustc_hash::FxHashMap;

/// Probability that a guarded region runs because a lane needs it.
const GUARD: f64 = 0.75;
/// Probability that a branch enters a loop that its other way passes by: most loops have work.
const LOOP_ENTRY: f64 = 0.9;
/// Probability that data equal one number, where a loop is only for these.
const EQUAL_DATA: f64 = 0.25;
/// Probability, for each lane, that a run-time check chooses the slow version: more lanes seldomer lie in one block.
const SLOW_VERSION: f64 = 0.003;
/// Probability that the rest of a loop runs whose iterations passes take in strips, and that there is nothing but a rest.
const STRIP_REST: f64 = 0.05;
/// Share of mispredictions of a branch that depends on data, and of one that depends on the activity of lanes.
const MISPREDICTED: [f64; 2] = [0.25, 0.1];

impl CodeEstimate<'_> {
    /// Expected number of mispredicted branches of a call.
    pub(super) fn mispredictions(&self, counts: &FxHashMap<Block, f64>) -> f64 {
        let of_branch = |block: Block| {
            let count = counts.get(&block).copied().unwrap_or(0.0);
            let stays = self.cfg.succs(block).iter().filter(|&&it| match self.cycles.innermost(block) {
                Some(cycle) => self.cycles.contains(cycle, it),
                None => true,
            });
            let has_two = stays.count() > 1;
            match self.condition(block).filter(|_| self.cfg.succs(block).len() > 1) {
                Some(condition)
                    if has_two && (self.is_skip(block, condition) || self.loop_entry(block).is_some()) =>
                {
                    count * MISPREDICTED[1]
                }
                Some(condition) if has_two && !self.is_version_check(block, condition) => {
                    let is_regular = self.is_vote(condition, VOTE_DEPTH) || self.is_lane_check(condition);
                    match self.is_regular_lane_check(block, condition)
                        || self.is_of_index(condition, COMPUTED_DEPTH)
                    {
                        true => 0.0,
                        false => count * MISPREDICTED[usize::from(is_regular)],
                    }
                }
                _ => 0.0,
            }
        };
        let of_loop = |cycle: Cycle| match self.constant_trips(cycle) {
            Some(_) => 0.0,
            None => counts.get(&self.cycles.header(cycle)).copied().unwrap_or(0.0) / self.trips(cycle),
        };
        let branches: f64 = self.order.iter().map(|&block| of_branch(block)).sum();
        branches + self.cycles.cycles().map(of_loop).sum::<f64>()
    }

    /// True if a branch skips a guarded region where all lanes take the other way. The ways of a version meet behind both.
    fn is_skip(&self, from: Block, condition: Value) -> bool {
        let is_all = self.func.def_inst(condition).is_some_and(|inst| self.func.inst(inst).op == Op::All);
        is_all && self.cfg.succs(from).first().is_some_and(|&to| self.cfg.preds(to).len() > 1)
    }

    /// True if lanes vote on a condition, perhaps together with conditions that are equal in all lanes.
    fn is_vote(&self, condition: Value, depth: u32) -> bool {
        let condition = self.unfrozen(condition);
        let Some(inst) = self.func.def_inst(condition) else { return false };
        let data = self.func.inst(inst);
        match data.op {
            Op::Any => true,
            Op::And | Op::Or | Op::Xor | Op::Select if depth > 0 => {
                data.args.iter().any(|&it| self.is_vote(it, depth - 1))
            }
            _ => false,
        }
    }

    /// Expected number of executions of each block in a call.
    pub(super) fn execution_counts(&self) -> FxHashMap<Block, f64> {
        let mut counts: FxHashMap<Block, f64> = FxHashMap::default();
        let mut entered: FxHashMap<Cycle, f64> = FxHashMap::default();
        for &block in &self.order {
            let cycle = self.cycles.headed_by(block);
            let mut count = if block == self.cfg.entry() { 1.0 } else { 0.0 };
            for &from in self.cfg.preds(block) {
                if cycle.is_some_and(|cycle| self.cycles.contains(cycle, from)) {
                    continue;
                }
                // Each entry of a loop leaves it by one of its exits, all of which count alike.
                let mut left = None;
                let mut around = self.cycles.innermost(from);
                while let Some(cycle) = around.filter(|&it| !self.cycles.contains(it, block)) {
                    left = Some(cycle);
                    around = self.cycles.parent(cycle);
                }
                count += match left {
                    Some(cycle) => {
                        let exits = self.cycles.exiting_edges(&self.cfg, cycle).count().max(1);
                        entered.get(&cycle).copied().unwrap_or(0.0) / exits as f64
                    }
                    None => counts.get(&from).copied().unwrap_or(0.0) * self.probability(from, block),
                };
            }
            if let Some(cycle) = cycle {
                entered.insert(cycle, count);
                count *= self.trips(cycle);
            }
            counts.insert(block, count);
        }
        counts
    }

    /// Probability that control goes from a block to a successor, if it stays in the loop.
    fn probability(&self, from: Block, to: Block) -> f64 {
        let inside = |&&it: &&Block| match self.cycles.innermost(from) {
            Some(cycle) => self.cycles.contains(cycle, it),
            None => true,
        };
        let succs = self.cfg.succs(from);
        let stays: Vec<&Block> = succs.iter().filter(inside).collect();
        if stays.len() < 2 {
            return 1.0;
        }
        let Some(terminator) = self.func.terminator(from) else { return 1.0 };
        let data = self.func.inst(terminator);
        if data.op != Op::Br || stays.len() != 2 {
            return 1.0 / stays.len() as f64;
        }
        let is_first = succs.first() == Some(&to);
        let of_entry = |entry: Block, likely: f64| if succs[0] == entry { likely } else { 1.0 - likely };
        let first = match (data.args.first().map(|&it| self.unfrozen(it)), self.loop_entry(from)) {
            (Some(condition), _) if self.is_skip(from, condition) => 1.0 - GUARD,
            // One lane with work is enough.
            (Some(condition), Some(entry)) if self.is_vote(condition, VOTE_DEPTH) => {
                of_entry(entry, 1.0 - (1.0 - LOOP_ENTRY) * (1.0 - GUARD) / 0.5)
            }
            (Some(condition), _) if self.is_vote(condition, VOTE_DEPTH) || self.is_lane_check(condition) => {
                GUARD
            }
            (Some(condition), _)
                if self.is_version_check(from, condition) && self.is_strip_check(condition) =>
            {
                1.0 - STRIP_REST
            }
            (Some(condition), _) if self.is_version_check(from, condition) => {
                1.0 - (SLOW_VERSION * self.brush.lanes).min(0.5)
            }
            (_, Some(entry)) => of_entry(entry, LOOP_ENTRY),
            (Some(condition), None) => match self.way_of_equal_data(from, condition) {
                Some(way) if self.leads_to_loop(from, way) => of_entry(way, EQUAL_DATA),
                _ => 0.5,
            },
            _ => 0.5,
        };
        if is_first { first } else { 1.0 - first }
    }

    /// Successor of a branch from which a loop is entered, if that is the usual way and the other successor is shared with other branches:
    ///
    /// * a test before the loop, or one that depends on no data, asks whether there is work;
    /// * of two ways with loops, the shared one is for the cases that several tests single out;
    /// * data that equal one number are the exception: a breadth-first search has few nodes of a level.
    fn loop_entry(&self, from: Block) -> Option<Block> {
        let &[one, other] = self.cfg.succs(from) else { return None };
        let is_computed = self.condition(from).is_some_and(|it| !self.depends_on_data(it, COMPUTED_DEPTH));
        let equal = self.condition(from).and_then(|it| self.way_of_equal_data(from, it));
        let is_entry = |entry: Block, shared: Block| {
            let is_next = |header: Block| entry == header || self.cfg.succs(entry) == [header];
            let is_usual = is_computed || self.leads_to_loop(from, shared);
            equal != Some(entry)
                && self.cfg.preds(entry).len() == 1
                && self.cfg.preds(shared).len() > 1
                && self.loops_after(from, entry).any(|header| is_usual || is_next(header))
        };
        match (is_entry(one, other), is_entry(other, one)) {
            (true, false) => Some(one),
            (false, true) => Some(other),
            _ => None,
        }
    }

    /// Headers of loops that a successor of a branch dominates, which are not those round the branch.
    fn loops_after(&self, from: Block, entry: Block) -> impl Iterator<Item = Block> {
        let cycles = self.cycles.cycles().filter(move |&cycle| !self.cycles.contains(cycle, from));
        cycles
            .map(|cycle| self.cycles.header(cycle))
            .filter(move |&header| self.dominators.dominates(entry, header))
    }

    fn leads_to_loop(&self, from: Block, entry: Block) -> bool {
        self.loops_after(from, entry).next().is_some()
    }

    /// Returns the successor of a branch that is for equal data, if its condition, or the vote of one, is an equality.
    fn way_of_equal_data(&self, from: Block, condition: Value) -> Option<Block> {
        let through = |op: Op| matches!(op, Op::Any | Op::All | Op::And | Op::Select | Op::Freeze);
        let compares = self.operands_through(condition, through).into_iter();
        let detail = compares
            .filter(|&it| self.depends_on_data(it, COMPUTED_DEPTH))
            .filter_map(|it| self.func.def_inst(it))
            .find_map(|inst| match self.func.inst(inst).detail {
                Detail::IntCompare(predicate) => Some(predicate),
                _ => None,
            });
        let &[then, otherwise] = self.cfg.succs(from) else { return None };
        match detail? {
            IntPredicate::Eq => Some(then),
            IntPredicate::Ne => Some(otherwise),
            _ => None,
        }
    }

    /// True if a value is computed from parameters and counters only: neighbours in a launch mostly agree on it.
    fn is_of_index(&self, value: Value, depth: u32) -> bool {
        let Some(inst) = self.func.def_inst(value) else { return true };
        let data = self.func.inst(inst);
        match data.op {
            Op::Phi => self.cycles.cycles().any(|cycle| self.induction(cycle, inst).is_some()),
            op => {
                let is_pure = op.info().effect == Effect::Pure && op != Op::Call;
                is_pure && depth > 0 && data.args.iter().all(|&it| self.is_of_index(it, depth - 1))
            }
        }
    }

    /// True if a value is computed from memory that kernels write.
    fn depends_on_data(&self, value: Value, depth: u32) -> bool {
        let Some(inst) = self.func.def_inst(value) else { return false };
        let data = self.func.inst(inst);
        match data.op {
            Op::Load | Op::MaskedLoad | Op::Gather => data.address().is_some_and(|address| {
                self.func.value_type(address).scalar() != Scalar::Ptr(Space::Constant)
            }),
            Op::Call => true,
            Op::Phi => false,
            _ => depth > 0 && data.args.iter().any(|&it| self.depends_on_data(it, depth - 1)),
        }
    }

    /// True if the branch of a block chooses a version: passes have added it without a source location, or its condition compares with
    /// almost the largest number of the type. Conditions of the source lose their locations where LLVM moves them, but not their branches.
    fn is_version_check(&self, block: Block, condition: Value) -> bool {
        /// Distance to the largest number: no more than there are lanes.
        const MARGIN: u128 = 1024;
        let Some(inst) = self.func.def_inst(condition) else { return false };
        let data = self.func.inst(inst);
        let is_near_end = |&end: &Value| {
            let bits = self.func.value_type(end).scalar().bits().clamp(1, 127);
            let number = self.func.constant(end).and_then(Constant::splat_bits);
            number.is_some_and(|it| {
                let largest = |bits: u32| (1u128 << bits) - 1;
                [largest(bits), largest(bits - 1)].iter().any(|&most| it <= most && most - it < MARGIN)
            })
        };
        let is_upper_bound = matches!(
            data.detail,
            Detail::IntCompare(IntPredicate::Ule | IntPredicate::Sle | IntPredicate::Ult | IntPredicate::Slt)
        );
        // The branch, or what freezes its condition.
        let is_added = || {
            let branch = self.func.terminator(block);
            let frozen = branch.and_then(|it| self.func.def_inst(*self.func.inst(it).args.first()?));
            let is_freeze = |&it: &Inst| self.func.inst(it).op == Op::Freeze;
            branch.is_some_and(|it| self.is_of_pass(it))
                || frozen.filter(is_freeze).is_some_and(|it| self.is_of_pass(it))
        };
        self.is_of_pass(inst) && is_added() || is_upper_bound && data.args.get(1).is_some_and(is_near_end)
    }

    /// True if a condition compares the number of a loop's iterations with those in whole strips.
    fn is_strip_check(&self, condition: Value) -> bool {
        let conjuncts = self.operands_through(condition, |op| op == Op::And);
        conjuncts.into_iter().filter_map(|it| self.func.def_inst(it)).any(|inst| {
            let data = self.func.inst(inst);
            matches!(data.detail, Detail::IntCompare(IntPredicate::Ne | IntPredicate::Eq))
                && data.args.first().is_some_and(|&whole| self.is_rounded_down(whole))
        })
    }

    /// True if a number is another one without its last bits.
    fn is_rounded_down(&self, whole: Value) -> bool {
        let Some(data) = self.func.def_inst(whole).map(|inst| self.func.inst(inst)) else { return false };
        let mask = data.args.get(1).and_then(|&it| self.func.i64_constant(it));
        data.op == Op::And && mask.is_some_and(|mask| mask < -1 && mask.unsigned_abs().is_power_of_two())
    }

    /// True if passes have made an instruction, as far as locations tell.
    pub(super) fn is_of_pass(&self, inst: Inst) -> bool {
        self.has_locations && self.func.loc(inst).is_none()
    }

    /// True if a condition is whether one lane is active.
    fn is_lane_check(&self, condition: Value) -> bool {
        self.func.def_inst(condition).is_some_and(|inst| {
            let data = self.func.inst(inst);
            data.op == Op::Extract && is_mask(self.func.value_type(data.args[0]))
        })
    }

    /// True if a condition is the activity of a lane under a mask that is full or empty in almost all iterations.
    fn is_regular_lane_check(&self, block: Block, condition: Value) -> bool {
        let Some(inst) = self.func.def_inst(condition).filter(|_| self.is_lane_check(condition)) else {
            return false;
        };
        // The loop over lanes lies inside of the loop whose exit makes the mask.
        let around = self.cycles.innermost(block).and_then(|it| self.cycles.parent(it));
        around.is_some_and(|cycle| {
            is_regular_mask(self.func, &self.cycles, cycle, self.func.inst(inst).args[0])
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::code_estimate::tests::kernel;

    /// A branch round forty operations.
    fn branch(condition: &str) -> f64 {
        let work: String = (0..40).map(|at| format!("  v{} = fma v1, v1, v1\n", 10 + at)).collect();
        kernel(
            16,
            &format!(
                "block0:\n  v1 = load <16 x f32>, v0\n{condition}\n  br v2, block1, block2\nblock1:\n{work}  br block2\nblock2:\n  ret"
            ),
        )
    }

    #[test]
    fn sides_of_a_branch_share_its_executions() {
        let guarded = branch("  v3 = fcmp olt v1, splat 0.0\n  v2 = any v3");
        let checked = branch("  v3 = load i32, v0\n  v2 = icmp ult v3, 4294967295");
        assert!(checked > guarded);
        // Code without any locations has conditions of the source, too.
        assert!(checked > branch("  v3 = load i32, v0\n  v2 = icmp eq v3, 0"));
    }

    #[test]
    fn conditions_on_indices_are_foreseen() {
        let of_data = branch("  v3 = load i32, v0\n  v2 = icmp eq v3, 0");
        assert!(branch("  v2 = icmp eq v0, v0") < 0.9 * of_data);
    }

    /// Forty operations of 64 lanes that a check of passes seldom leads to.
    fn rare(check: &str) -> f64 {
        let work: String = (0..40).map(|at| format!("  v{} = fma v1, v1, v1\n", 10 + at)).collect();
        kernel(
            64,
            &format!(
                "\
block0:
  v1 = load <64 x f32>, v0 at file0:1:1
  v2 = load i64, v0 at file0:1:1
  v3 = and v2, -16
  v4 = {check}
  br v4, block2, block1
block1:
{work}  br block2
block2:
  ret"
            ),
        )
    }

    #[test]
    fn more_lanes_do_not_make_the_rest_of_strips_likelier() {
        let version = rare("icmp ult v3, v2");
        assert!(rare("icmp ne v3, 0") < 0.7 * version);
        assert!(rare("icmp eq v3, v2") < 0.7 * version);
        assert!(rare("icmp ne v2, 0") > 0.9 * version, "not a number of whole strips");
    }

    /// A loop of unknown length behind a branch.
    fn guarded_loop(condition: &str) -> f64 {
        kernel(
            8,
            &format!(
                "\
block0:
  v1 = load <8 x f32>, v0
  v2 = load i32, v0
{condition}
  br v3, block1, block4
block1:
  br block2
block2:
  v4 = phi i32 [block1: 0], [block2: v6]
  v5 = fma v1, v1, v1
  v6 = add v4, 1
  v7 = icmp ult v6, v2
  br v7, block2, block3
block3:
  br block4
block4:
  ret"
            ),
        )
    }

    #[test]
    fn branches_before_loops_mostly_enter_them() {
        let certain = guarded_loop("  v3 = icmp ult v2, 4294967295");
        let before = guarded_loop("  v3 = icmp ne v2, 0");
        assert!(before > 0.8 * certain, "{before} {certain}");
        assert!(guarded_loop("  v3 = icmp eq v2, 7") < 0.5 * before);
    }

    /// A loop of unknown length that a branch passes by if there is no work.
    fn skipped_loop(at: &str) -> f64 {
        kernel(
            8,
            &format!(
                "\
block0:
  v1 = load <8 x f32>, v0 at file0:1:1
  v2 = load i32, v0 at file0:1:1
  v3 = icmp slt v2, 1
  br v3, block4, block1{at}
block1:
  br block2
block2:
  v4 = phi i32 [block1: 0], [block2: v6]
  v5 = fma v1, v1, v1 at file0:2:1
  v6 = add v4, 1 at file0:2:1
  v7 = icmp ult v6, v2 at file0:2:1
  br v7, block2, block3 at file0:2:1
block3:
  br block4
block4:
  ret at file0:3:1"
            ),
        )
    }

    #[test]
    fn branches_of_the_source_choose_no_version() {
        // The condition has lost its location.
        assert!(skipped_loop(" at file0:2:1") > 2.0 * skipped_loop(""));
    }
}
