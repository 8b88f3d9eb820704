//! Time that accesses in loops lose to the first-level cache.

use super::CodeEstimate;
use crate::induction::find_induction;
use heddle_analysis::{Cycle, underlying_object};
use heddle_ir::{Block, Constant, Inst, Op, Scalar, Space, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes of a line.
const LINE: i64 = 64;
/// Share of the iterations from which on a block counts; the others are slow versions of contiguous accesses.
const USUAL: f64 = 0.5;
/// Time for a line from the second-level cache, in tenths of a cycle.
const LINE_TIME: f64 = 60.0;
/// Number of iterations whose lines stay in one set of the first-level cache.
const FEW_ITERATIONS: f64 = 8.0;

impl CodeEstimate<'_> {
    /// Time of an iteration that accesses lose which are far apart in each lane, as of rows: the lines of all lanes are in the same few sets
    /// of the first-level cache, and evict one another before the next iteration uses them.
    pub(super) fn conflicts(&self, blocks: &[Block], count: impl Fn(Block) -> f64) -> f64 {
        /// Lines that stay in the cache.
        const WAYS: f64 = 16.0;
        let is_far = |address: Value| {
            let space = self.func.value_type(address).scalar();
            space == Scalar::Ptr(Space::Global) && self.has_far_lanes(address, blocks)
        };
        let is_apart = |&(block, inst): &(Block, Inst)| {
            let data = self.func.inst(inst);
            matches!(data.op, Op::Gather | Op::Scatter)
                && count(block) >= USUAL
                && data.address().is_some_and(is_far)
        };
        let of_block = |&block: &Block| self.func.block_insts(block).map(move |inst| (block, inst));
        let apart: Vec<(Block, Inst)> = blocks.iter().flat_map(of_block).filter(is_apart).collect();
        let address = |&(_, inst): &(Block, Inst)| self.func.inst(inst).address();
        let roots: FxHashSet<Value> =
            apart.iter().filter_map(address).map(|at| underlying_object(self.func, at)).collect();
        let excess = (self.brush.lanes * roots.len() as f64 / WAYS).log2().max(0.0);
        apart.iter().map(|&(block, inst)| f64::from(self.time_of(inst).busy) * excess * count(block)).sum()
    }

    /// True if lanes walk along rows: their addresses are a number that is not known apart, or a line of the cache and more, as by a
    /// multiplication of their indices. No lane loads a part of an address: what it loads is spread over the sets of the cache.
    fn has_far_lanes(&self, address: Value, blocks: &[Block]) -> bool {
        /// Values that are looked at, at most.
        const BUDGET: usize = 64;
        let is_varying = |value: Value| match self.func.def_inst(value) {
            Some(inst) => self.func.value_type(value).is_vector() && self.func.inst(inst).op != Op::Splat,
            None => self.func.constant(value).is_some_and(|it| it.splat_bits().is_none()),
        };
        let (mut next, mut seen) = (vec![(address, 1i64)], FxHashSet::default());
        let (mut is_far, mut moves) = (false, false);
        while let Some((value, scale)) = next.pop().filter(|_| seen.len() < BUDGET) {
            let Some(inst) = self.func.def_inst(value) else {
                is_far |= scale >= LINE && is_varying(value);
                continue;
            };
            if !seen.insert(value) {
                continue;
            }
            let data = self.func.inst(inst);
            let number =
                || data.args.get(1).and_then(|&by| self.func.constant(by)).and_then(Constant::splat_bits);
            let is_vector = self.func.value_type(value).is_vector();
            moves |=
                data.op == Op::Phi && self.func.layout.block_of(inst).is_some_and(|it| blocks.contains(&it));
            match data.op {
                Op::Gather | Op::MaskedLoad => return false,
                Op::Load if is_vector => return false,
                Op::Load | Op::Call => {}
                Op::Mul | Op::Shl => {
                    let factor = match (data.op, number().and_then(|it| i64::try_from(it).ok())) {
                        (Op::Shl, Some(by)) => u32::try_from(by).ok().and_then(|by| 1i64.checked_shl(by)),
                        (Op::Mul, by) => by,
                        _ => None,
                    };
                    match factor.and_then(|factor| scale.checked_mul(factor)) {
                        Some(scale) => next.push((data.args[0], scale)),
                        None => {
                            is_far |= data.args.iter().any(|&it| is_varying(it));
                            next.extend(data.args.iter().map(|&it| (it, scale)));
                        }
                    }
                }
                _ => next.extend(data.args.iter().map(|&it| (it, scale))),
            }
        }
        is_far && moves
    }

    /// Time of an iteration for lines that no earlier iteration has used, as in a column: the next brushes, which use the rest of them, come when
    /// later lines have evicted them. Accesses to one object share lines.
    pub(super) fn new_lines(&self, cycle: Cycle, blocks: &[Block], count: impl Fn(Block) -> f64) -> f64 {
        if self.constant_trips(cycle).is_some_and(|trips| trips <= FEW_ITERATIONS) {
            return 0.0;
        }
        let mut lines: FxHashMap<Value, f64> = FxHashMap::default();
        for &block in blocks.iter().filter(|&&block| count(block) >= USUAL) {
            for inst in self.func.block_insts(block) {
                let data = self.func.inst(inst);
                let value = match data.op {
                    Op::Load | Op::MaskedLoad => self.func.result(inst),
                    Op::Store | Op::MaskedStore => data.args.first().copied(),
                    _ => None,
                };
                let (Some(value), Some(address)) = (value, data.address()) else { continue };
                let is_shared = self.func.value_type(address).scalar() == Scalar::Ptr(Space::Global);
                if is_shared && self.steps_to_new_line(cycle, address) {
                    let bytes = f64::from(self.func.value_type(value).bytes());
                    let own = (bytes / LINE as f64).max(1.0) * count(block);
                    let known = lines.entry(underlying_object(self.func, address)).or_default();
                    *known = known.max(own);
                }
            }
        }
        LINE_TIME * lines.values().sum::<f64>()
    }

    /// True if each iteration moves an address by a line and more, or by a number that is not known.
    fn steps_to_new_line(&self, cycle: Cycle, address: Value) -> bool {
        /// Values that are looked at, at most.
        const BUDGET: usize = 64;
        let header = self.cycles.header(cycle);
        let small = |value: Value| {
            let bits = self.func.constant(value)?.splat_bits()?;
            let unused = 128 - self.func.value_type(value).scalar().bits();
            i64::try_from((bits as i128) << unused >> unused).ok().map(i64::abs)
        };
        let (mut next, mut seen) = (vec![(address, 1i64)], FxHashSet::default());
        while let Some((value, scale)) = next.pop().filter(|_| seen.len() < BUDGET) {
            let Some(inst) = self.func.def_inst(value).filter(|_| seen.insert(value)) else { continue };
            let data = self.func.inst(inst);
            match (data.op, &data.args[..]) {
                (Op::Phi, _) if self.func.layout.block_of(inst) == Some(header) => {
                    let induction =
                        find_induction(self.func, inst, |block| self.cycles.contains(cycle, block));
                    let Some(induction) = induction else { continue };
                    let step = match self.func.constant(induction.step) {
                        Some(_) => small(induction.step).map_or(1, |step| step.saturating_mul(scale)),
                        None => LINE,
                    };
                    if step >= LINE {
                        return true;
                    }
                }
                (Op::Mul, &[a, b]) => {
                    let (factor, rest) = match small(b) {
                        Some(factor) => (factor, a),
                        None => (LINE, a),
                    };
                    next.push((rest, scale.saturating_mul(factor)));
                    next.extend(small(b).is_none().then_some((b, scale.saturating_mul(factor))));
                }
                (Op::Shl, &[a, by]) => {
                    let factor = small(by).map_or(LINE, |by| 1 << by.clamp(0, 32));
                    next.push((a, scale.saturating_mul(factor)));
                }
                (
                    Op::Add
                    | Op::Sub
                    | Op::PtrAdd
                    | Op::Zext
                    | Op::Sext
                    | Op::Trunc
                    | Op::Freeze
                    | Op::Splat
                    | Op::Extract,
                    args,
                ) => next.extend(args.iter().map(|&arg| (arg, scale))),
                _ => {}
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use crate::code_estimate::tests::in_loop;

    /// A loop that loads at an offset which its counter `v1` gives.
    fn walk(offset: &str, end: &str) -> f64 {
        let body = format!("  v2 = {offset}\n  v3 = ptradd v0, v2\n  v4 = load i32, v3\n  store v4, v0");
        in_loop("", &body, end)
    }

    #[test]
    fn columns_take_a_line_in_each_iteration_and_rows_do_not() {
        let row = walk("mul v1, 4", "v20");
        assert!(walk("mul v1, v20", "v20") > 1.5 * row, "a column");
        assert!(walk("mul v1, 256", "v20") > 1.5 * row, "a column of four lines a row");
        assert!(walk("mul v1, 256", "8") < 1.1 * walk("mul v1, 4", "8"), "few rows");
    }
}
