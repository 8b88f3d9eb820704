//! Time that accesses lose to the first-level cache.

use super::CodeEstimate;
use crate::induction::find_induction;
use heddle_analysis::{AddressSum, Cycle, underlying_object};
use heddle_ir::{Block, Constant, Inst, Op, Scalar, Space, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes of a line.
const LINE: i64 = 64;
/// Share of the iterations from which on a block counts; the others are slow versions of contiguous accesses.
const USUAL: f64 = 0.5;
/// Time for a line from the second-level cache, in tenths of a cycle.
const LINE_TIME: f64 = 60.0;
/// Lines that one set of the first-level cache holds.
const WAYS: usize = 8;
/// Sets of the first-level cache.
const SETS: i64 = 64;

/// Number of lines so many bytes apart that the first-level cache holds at a time; one set of them if the distance is unknown.
fn held_lines(distance: Option<i64>) -> f64 {
    let all = SETS.trailing_zeros();
    let sets = distance.map_or(1, |distance| SETS >> (distance / LINE).trailing_zeros().min(all));
    WAYS as f64 * sets as f64
}

impl CodeEstimate<'_> {
    /// Time of an iteration that accesses lose which are far apart in each lane, as of rows: the lines of all lanes are in the same few sets
    /// of the first-level cache, and evict one another before the next iteration uses them.
    pub(super) fn conflicts(&self, blocks: &[Block], count: impl Fn(Block) -> f64) -> f64 {
        /// Lines that stay in the few sets.
        const FEW_SETS: f64 = 16.0;
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
        let excess = (self.brush.lanes * roots.len() as f64 / FEW_SETS).log2().max(0.0);
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
        let trips = self.constant_trips(cycle);
        let mut lines: FxHashMap<Value, f64> = FxHashMap::default();
        for &block in blocks.iter().filter(|&&block| count(block) >= USUAL) {
            for inst in self.func.block_insts(block) {
                let Some((value, address)) = self.contiguous_access(inst) else { continue };
                let held = self.held_lines_of_walk(cycle, address);
                // The next brush finds the lines of a short walk.
                if held.is_some_and(|held| trips.is_none_or(|trips| trips > held)) {
                    let bytes = f64::from(self.func.value_type(value).bytes());
                    let own = (bytes / LINE as f64).max(1.0) * count(block);
                    let known = lines.entry(underlying_object(self.func, address)).or_default();
                    *known = known.max(own);
                }
            }
        }
        LINE_TIME * lines.values().sum::<f64>()
    }

    /// Time of code outside loops for lines that it uses part of. The next brush does not find the rest where more lines than a set holds
    /// are a multiple of the sets apart, as those of many arrays of one size in one object.
    pub(super) fn evicted_lines(&self, count: impl Fn(Block) -> f64) -> f64 {
        let mut objects: FxHashMap<_, FxHashMap<i64, f64>> = FxHashMap::default();
        for &block in self.order.iter().filter(|&&block| self.cycles.innermost(block).is_none()) {
            for inst in self.func.block_insts(block) {
                let Some((value, address)) = self.contiguous_access(inst) else { continue };
                let AddressSum { root, terms, offset } = AddressSum::of(self.func, address);
                let unused = (1.0 - f64::from(self.func.value_type(value).bytes()) / LINE as f64).max(0.0);
                let known = objects.entry((root, terms)).or_default();
                let known = known.entry(offset.div_euclid(LINE)).or_default();
                *known = known.max(unused * count(block));
            }
        }
        let of_object = |lines: FxHashMap<i64, f64>| {
            let mut sets: FxHashMap<i64, Vec<f64>> = FxHashMap::default();
            for (line, unused) in lines {
                sets.entry(line.rem_euclid(SETS)).or_default().push(unused);
            }
            sets.into_values().filter(|lines| lines.len() > WAYS).flatten().sum::<f64>()
        };
        LINE_TIME * objects.into_values().map(of_object).sum::<f64>()
    }

    /// Returns the value and the address of a contiguous access to global memory.
    fn contiguous_access(&self, inst: Inst) -> Option<(Value, Value)> {
        let data = self.func.inst(inst);
        let value = match data.op {
            Op::Load | Op::MaskedLoad => self.func.result(inst)?,
            Op::Store | Op::MaskedStore => *data.args.first()?,
            _ => return None,
        };
        let address = data.address()?;
        let is_shared = self.func.value_type(address).scalar() == Scalar::Ptr(Space::Global);
        is_shared.then_some((value, address))
    }

    /// Number of lines that the cache holds at a time of those that an address walks along; none if iterations share lines. An address by
    /// an unknown distance is taken to reach a new line in each iteration.
    fn held_lines_of_walk(&self, cycle: Cycle, address: Value) -> Option<f64> {
        /// Values that are looked at, at most.
        const BUDGET: usize = 64;
        let header = self.cycles.header(cycle);
        let small = |value: Value| {
            let bits = self.func.constant(value)?.splat_bits()?;
            let unused = 128 - self.func.value_type(value).scalar().bits();
            i64::try_from((bits as i128) << unused >> unused).ok().map(i64::abs)
        };
        // Unknown scales count as those of a line.
        let (mut next, mut seen) = (vec![(address, 1i64, true)], FxHashSet::default());
        while let Some((value, scale, is_known)) = next.pop().filter(|_| seen.len() < BUDGET) {
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
                        let is_known = is_known && self.func.constant(induction.step).is_some();
                        return Some(held_lines(is_known.then_some(step)));
                    }
                }
                (Op::Mul, &[a, b]) => {
                    let (factor, rest) = match small(b) {
                        Some(factor) => (factor, a),
                        None => (LINE, a),
                    };
                    let (scale, is_known) = (scale.saturating_mul(factor), is_known && small(b).is_some());
                    next.push((rest, scale, is_known));
                    next.extend(small(b).is_none().then_some((b, scale, is_known)));
                }
                (Op::Shl, &[a, by]) => {
                    let factor = small(by).map_or(LINE, |by| 1 << by.clamp(0, 32));
                    next.push((a, scale.saturating_mul(factor), is_known && small(by).is_some()));
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
                ) => next.extend(args.iter().map(|&arg| (arg, scale, is_known))),
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::code_estimate::tests::{in_loop, straight};

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
        assert!(
            walk("mul v1, 128", "256") < 1.1 * walk("mul v1, 4", "256"),
            "half of the sets hold all lines"
        );
        assert!(
            walk("mul v1, 128", "257") > 1.5 * walk("mul v1, 4", "257"),
            "one line more than the sets hold"
        );
        assert!(walk("mul v1, 4096", "16") > 1.5 * walk("mul v1, 4", "16"), "lines of one set");
        assert!(walk("mul v1, v20", "64") > 1.5 * walk("mul v1, 4", "64"), "a distance that is not known");
    }

    /// Code that loads from ten arrays of so many bytes.
    fn arrays(bytes: u32, lanes: u32) -> f64 {
        let load = |number: u32| {
            let [address, value] = [1, 2].map(|it| 10 + 2 * number + it);
            format!(
                "  v{address} = ptradd v0, i64 {}\n  v{value} = load <{lanes} x f32>, v{address}\n",
                number * bytes
            )
        };
        straight(lanes, &(0..10).map(load).collect::<String>())
    }

    #[test]
    fn arrays_of_one_size_evict_one_another() {
        let apart = arrays(4096 + 64, 8);
        assert!(arrays(4096, 8) > 1.5 * apart, "all lines are in one set");
        assert!(arrays(4096, 16) < 1.2 * arrays(4096 + 64, 16), "whole lines are used");
    }
}
