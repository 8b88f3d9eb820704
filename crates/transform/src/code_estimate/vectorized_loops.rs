//! Loops of one-lane code that LLVM vectorizes.

use super::CodeEstimate;
use heddle_analysis::Cycle;
use heddle_ir::ops::{Effect, Observed};
use heddle_ir::{Block, Inst, Op, Value};

/// Maximum depth of operations to look into.
const MAX_DEPTH: u32 = 12;
/// Iterations of vectors below which the loop's checks and its rest take what vectors gain.
const MIN_VECTORS: f64 = 4.0;
/// Part of the lanes that vectors gain.
const GAIN: f64 = 0.5;

impl CodeEstimate<'_> {
    /// Share of an innermost loop's time that remains where LLVM vectorizes it: where iterations take contiguous elements, one after the
    /// other, in code with one lane and without branches.
    pub(super) fn vectorized_share(&self, cycle: Cycle, blocks: &[Block]) -> f64 {
        if self.brush.lanes != 1.0 {
            return 1.0;
        }
        let insts = || blocks.iter().flat_map(|&block| self.func.block_insts(block));
        let branches = insts()
            .filter(|&inst| {
                let data = self.func.inst(inst);
                data.op == Op::Br && !data.args.is_empty()
            })
            .count();
        let widest = insts().filter_map(|inst| self.element_bits(cycle, inst)).max().unwrap_or(0);
        if branches != 1 || widest == 0 || !insts().all(|inst| self.is_vectorizable(cycle, inst)) {
            return 1.0;
        }
        let lanes = f64::from(self.target.vector_bits) / f64::from(widest.max(8));
        let is_short = self.constant_trips(cycle).is_some_and(|trips| trips < MIN_VECTORS * lanes);
        if is_short { 1.0 } else { 1.0 / (lanes * GAIN).max(1.0) }
    }

    /// Bits of the elements that an access takes from one iteration to the next, or of a number that collects them: LLVM takes as many
    /// iterations at once as a register holds of the widest.
    fn element_bits(&self, cycle: Cycle, inst: Inst) -> Option<u32> {
        let data = self.func.inst(inst);
        let value = match data.op {
            Op::Load | Op::Phi => self.func.result(inst)?,
            Op::Store => data.args[0],
            _ => return None,
        };
        let walker = data.address().unwrap_or(value);
        let step = self.step(cycle, walker, MAX_DEPTH);
        let is_counted = if data.op == Op::Phi { step.is_none() } else { step != Some(0) };
        is_counted.then(|| self.func.value_type(value).scalar().bits())
    }

    fn is_vectorizable(&self, cycle: Cycle, inst: Inst) -> bool {
        let data = self.func.inst(inst);
        let walks = |value: Value, address: Value, may_stay: bool| {
            let size = i64::from(self.func.value_type(value).bytes());
            let step = self.step(cycle, address, MAX_DEPTH);
            step == Some(size) || may_stay && step == Some(0)
        };
        if data.observes(Observed::Order) {
            return false;
        }
        match data.op {
            Op::Load => self.func.result(inst).is_some_and(|value| walks(value, data.args[0], true)),
            Op::Store => walks(data.args[0], data.args[1], false),
            Op::Phi => self.is_steady_phi(cycle, inst),
            Op::Br => true,
            Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem | Op::Call => false,
            op => op.info().effect == Effect::Pure,
        }
    }

    /// True for a number that grows by a constant, or collects integers in any order.
    fn is_steady_phi(&self, cycle: Cycle, phi: Inst) -> bool {
        let Some(value) = self.func.result(phi) else { return false };
        if self.step(cycle, value, MAX_DEPTH).is_some() {
            return true;
        }
        let Some(next) = self.next_of(cycle, phi).and_then(|next| self.func.def_inst(next)) else {
            return false;
        };
        let data = self.func.inst(next);
        let is_any_order = matches!(
            data.op,
            Op::Add | Op::And | Op::Or | Op::Xor | Op::Smin | Op::Smax | Op::Umin | Op::Umax
        );
        is_any_order && data.args.contains(&value)
    }

    /// Value that a header's φ takes from the previous iteration.
    fn next_of(&self, cycle: Cycle, phi: Inst) -> Option<Value> {
        let data = self.func.inst(phi);
        let is_header = self.func.layout.block_of(phi) == Some(self.cycles.header(cycle));
        let is_inside = |&(from, _): &(Block, Value)| self.cycles.contains(cycle, from);
        data.incoming().find(is_inside).map(|(_, value)| value).filter(|_| is_header)
    }

    /// Number by which a scalar grows in each iteration, if it is constant.
    fn step(&self, cycle: Cycle, value: Value, depth: u32) -> Option<i64> {
        let Some(inst) = self.func.def_inst(value) else { return Some(0) };
        if !self.func.layout.block_of(inst).is_some_and(|block| self.cycles.contains(cycle, block)) {
            return Some(0);
        }
        let data = self.func.inst(inst);
        let depth = depth.checked_sub(1)?;
        let number = |value: Value| self.func.i64_constant(value);
        let of = |at: usize| self.step(cycle, data.args[at], depth);
        match data.op {
            Op::Phi if self.func.layout.block_of(inst) == Some(self.cycles.header(cycle)) => {
                number(self.induction(cycle, inst)?.step)
            }
            Op::Add | Op::PtrAdd => of(0)?.checked_add(of(1)?),
            Op::Sub => of(0)?.checked_sub(of(1)?),
            Op::Mul => of(0)?.checked_mul(number(data.args[1])?),
            Op::Shl => of(0)?.checked_mul(1i64.checked_shl(u32::try_from(number(data.args[1])?).ok()?)?),
            Op::Sext | Op::Zext | Op::Trunc | Op::Freeze | Op::SpaceCast => of(0),
            Op::Load | Op::Call => None,
            op if op.info().effect == Effect::Pure => {
                (0..data.args.len()).all(|at| of(at) == Some(0)).then_some(0)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{in_loop, kernel};

    /// Time of a loop over elements of 32 bits with one lane.
    fn walk(step: u32, carried: &str, body: &str, end: &str) -> f64 {
        in_loop(
            carried,
            &format!("  v2 = shl v1, {step}\n  v3 = ptradd v0, v2\n  v4 = load i32, v3\n{body}"),
            end,
        )
    }

    #[test]
    fn loops_over_contiguous_elements_are_vectorized() {
        let sum = "  v5 = phi i32 [block0: 0], [block1: v6]";
        let integers = walk(2, sum, "  v6 = add v5, v4", "v20");
        assert!(integers < 0.5 * walk(3, sum, "  v6 = add v5, v4", "v20"), "every other element");
        assert!(integers < 0.5 * walk(2, sum, "  v6 = add v5, v4\n  v7 = udiv v4, v6", "v20"), "a division");
        let order = walk(2, sum, "  v8 = sub v4, v5\n  v6 = mul v8, 3", "v20");
        assert!(integers < 0.5 * order, "an order");
        let store = walk(2, "", "  v6 = add v4, 1\n  store v6, v3", "v20");
        assert!(store < 0.5 * walk(2, "", "  v6 = add v4, 1\n  store v6, v0", "v20"), "one cell");
        let chain = walk(
            2,
            "  v5 = phi ptr(global) [block0: v0], [block1: v6]",
            "  v6 = load ptr(global), v5",
            "v20",
        );
        assert!(integers < 0.5 * chain, "a chain");
        let few = |step| walk(step, sum, "  v6 = add v5, v4", "8");
        assert!(few(2) > 0.9 * few(3), "few iterations");
    }

    /// Time of a loop that counts the bytes that are one value.
    fn count_bytes(step: u32, end: u32, matching: &str) -> f64 {
        kernel(
            1,
            &format!(
                "\
block0:
  br block1
block1:
  v1 = phi i64 [block0: 0], [block1: v9]
  v5 = phi i32 [block0: 0], [block1: v6]
  v2 = shl v1, {step}
  v3 = ptradd v0, v2
  v4 = load i8, v3
  v7 = icmp eq v4, 7
  v8 = {matching}
  v6 = add v5, v8
  v9 = add v1, 1
  v10 = icmp ult v9, {end}
  br v10, block1, block2
block2:
  store v5, v0
  ret"
            ),
        )
    }

    #[test]
    fn counts_of_bytes_are_vectorized_by_the_width_of_the_count() {
        // 64 iterations are four registers of counts, though one register of bytes.
        let bytes = count_bytes(0, 64, "zext i32, v7");
        assert!(bytes < 0.5 * count_bytes(1, 64, "zext i32, v7"), "every other byte");
        assert!(
            count_bytes(0, 32, "zext i32, v7") > 0.8 * count_bytes(1, 32, "zext i32, v7"),
            "few iterations"
        );
        assert!(bytes < 0.5 * count_bytes(0, 64, "udiv v5, 3"), "a division");
    }
}
