//! Loops of wide code that all lanes leave within an iteration of one another.
//!
//! ```text
//!     for (i = get_global_id(0); i < n; i += get_global_size(0))      lanes: i, i + 1, …, i + W - 1; the step is large
//! ```
//!
//! The mask of such a loop is full until its last iteration: lanes wait for no other, and branches on one lane's activity
//! are predicted well. Both are false of loops that end by data, such as the length of a row.

use heddle_analysis::{Cycle, CycleForest};
use heddle_ir::{Constant, Function, Op, Type, Value};
use rustc_hash::FxHashSet;

/// Values that are looked at, at most.
const BUDGET: usize = 64;

/// True if a mask depends only on comparisons of numbers that grow by one from lane to lane, and by at least the number of lanes from
/// iteration to iteration of the loop.
pub(crate) fn is_regular_mask(func: &Function, cycles: &CycleForest, cycle: Cycle, mask: Value) -> bool {
    let mut walk = RegularWalk { func, cycles, cycle, seen: FxHashSet::default(), has_compare: false };
    walk.is_mask(mask) && walk.has_compare
}

struct RegularWalk<'a> {
    func: &'a Function,
    cycles: &'a CycleForest,
    cycle: Cycle,
    seen: FxHashSet<Value>,
    has_compare: bool,
}

impl RegularWalk<'_> {
    /// True for a mask of regular comparisons. A value that the walk has come to before is judged there.
    fn is_mask(&mut self, mask: Value) -> bool {
        let func = self.func;
        if func.constant(mask).is_some() || !self.seen.insert(mask) {
            return true;
        }
        if self.seen.len() > BUDGET {
            return false;
        }
        // The mask of a brush that is not full.
        let Some(inst) = func.def_inst(mask) else { return true };
        let data = func.inst(inst);
        match data.op {
            Op::And | Op::Or | Op::Xor | Op::Select | Op::Freeze | Op::Phi => {
                data.args.iter().all(|&arg| !func.value_type(arg).is_vector() || self.is_mask(arg))
            }
            Op::Icmp => {
                self.has_compare = true;
                let lanes = func.value_type(mask).lanes().unwrap_or(1);
                data.args.iter().all(|&arg| self.is_number(arg, i64::from(lanes)))
            }
            Op::Splat => true,
            _ => false,
        }
    }

    /// True for a number that grows by one from lane to lane, or is equal in all lanes.
    fn is_number(&mut self, value: Value, lanes: i64) -> bool {
        let func = self.func;
        if !func.value_type(value).is_vector() {
            return !self.has_small_step(value, lanes);
        }
        if func.constant(value).is_some() || !self.seen.insert(value) {
            return true;
        }
        let Some(inst) = func.def_inst(value).filter(|_| self.seen.len() <= BUDGET) else { return false };
        let data = func.inst(inst);
        let are_numbers = |walk: &mut Self| data.args.iter().all(|&arg| walk.is_number(arg, lanes));
        match data.op {
            // A counter in a vector: the step is the other operand.
            Op::Add if self.is_small_constant(data.args[1], lanes) && self.is_counter(data.args[0]) => false,
            Op::Add | Op::Sub | Op::Zext | Op::Sext | Op::Trunc | Op::Freeze | Op::Phi | Op::Splat => {
                are_numbers(self)
            }
            _ => false,
        }
    }

    /// True for a scalar that each iteration increases by a constant below the number of lanes.
    fn has_small_step(&self, value: Value, lanes: i64) -> bool {
        let func = self.func;
        let is_small_add = |it: Value| {
            let data = func.def_inst(it).map(|inst| func.inst(inst)).filter(|data| data.op == Op::Add);
            data.is_some_and(|data| {
                self.is_small_constant(data.args[1], lanes) && self.is_counter(data.args[0])
            })
        };
        let incoming = func.def_inst(value).filter(|_| self.is_counter(value));
        is_small_add(value)
            || incoming.is_some_and(|inst| func.inst(inst).args.iter().any(|&arg| is_small_add(arg)))
    }

    /// True for a φ at the head of the loop.
    fn is_counter(&self, value: Value) -> bool {
        self.func.def_inst(value).is_some_and(|inst| {
            self.func.inst(inst).op == Op::Phi
                && self.func.layout.block_of(inst) == Some(self.cycles.header(self.cycle))
        })
    }

    fn is_small_constant(&self, value: Value, lanes: i64) -> bool {
        let ty: Type = self.func.value_type(value);
        let Some(bits) = self.func.constant(value).and_then(Constant::splat_bits) else { return false };
        let unused = 128 - ty.scalar().bits().min(128);
        let number = (bits << unused) as i128 >> unused;
        number.abs() < i128::from(lanes)
    }
}
