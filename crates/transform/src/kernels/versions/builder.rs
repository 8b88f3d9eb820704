//! Builds the fast version: conditions before the region, and a copy of the region with replacements.

use super::candidates::{IndexShape, LaneRewrite, RewriteCandidate, RewriteCandidates};
use super::strided_loops::{LoopDivision, StridedLoops};
use crate::block_copier::BlockCopier;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Type, Value, ValueDef};

pub(super) struct VersionBuilder<'a> {
    pub(super) old: &'a Function,
    found: &'a RewriteCandidates,
    pub(super) lanes: u32,
    pub(super) func: Function,
    /// Block that tests the conditions.
    entry: Block,
    /// Values computed before the region: uniform ones, and lane 0's of strided ones.
    bases: SecondaryMap<Value, Option<Value>>,
    /// Safe divisors, by original divisor and signedness.
    divisors: Vec<(Value, bool, Value)>,
}

impl<'a> VersionBuilder<'a> {
    pub(super) fn new(old: &'a Function, found: &'a RewriteCandidates, lanes: u32) -> VersionBuilder<'a> {
        let mut func = Function::new(old.name.clone(), old.signature.clone());
        func.kind = old.kind;
        let entry = func.append_block();
        VersionBuilder {
            old,
            found,
            lanes,
            func,
            entry,
            bases: SecondaryMap::with_len(old.value_count()),
            divisors: Vec::new(),
        }
    }

    pub(super) fn write(
        mut self,
        blocks: &[Block],
        chosen: &[RewriteCandidate],
        divisions: &[LoopDivision],
    ) -> Function {
        self.make_bases(chosen, divisions);
        let mut all: Option<Value> = None;
        let mut known: Vec<(LaneRewrite, Value, Option<Value>)> = Vec::new();
        for candidate in chosen {
            let RewriteCandidate { rewrite, steps, uniform, .. } = *candidate;
            if rewrite == LaneRewrite::Frozen {
                continue;
            }
            // A remainder and its quotient share one condition.
            let launch_params = match rewrite {
                LaneRewrite::Quotient { is_signed } => LaneRewrite::Remainder { is_signed },
                other => other,
            };
            if known.contains(&(launch_params, steps, uniform)) {
                continue;
            }
            known.push((launch_params, steps, uniform));
            let holds = self.condition(candidate);
            all = Some(self.and_frozen(all, holds));
        }
        let loops = self.add_loops(divisions, &mut all);
        let mut rewritten: Vec<(Inst, Value)> =
            chosen.iter().map(|candidate| (candidate.inst, self.rewritten(candidate))).collect();
        self.rewrite_aligned(chosen, &mut rewritten);
        let holds = all.unwrap_or_else(|| self.func.make_bool(true));
        // A frozen value may differ between lanes, so lane 0 decides.
        let holds = self.emit(Op::First, &[holds], Flags::NONE);
        let fast = self.copy(blocks, &rewritten, &loops);
        let slow = self.copy(blocks, &[], &StridedLoops::default());
        Builder::new(&mut self.func, InsertPoint::End(self.entry)).branch(holds, fast, slow);
        self.func
    }

    /// Rewrites operands that a condition makes multiples of the number of lanes in lane 0: comparisons of such indices are uniform.
    fn rewrite_aligned(&mut self, chosen: &[RewriteCandidate], rewritten: &mut Vec<(Inst, Value)>) {
        let is_aligned = |it: &&RewriteCandidate| {
            matches!(it.rewrite, LaneRewrite::KeepsLanes | LaneRewrite::DropsLanes | LaneRewrite::Shift)
        };
        for candidate in chosen.iter().filter(is_aligned) {
            let Some(inst) = self.old.def_inst(candidate.steps) else { continue };
            let is_candidate = self.found.of[inst].is_some();
            if is_candidate || rewritten.iter().any(|&(other, _)| other == inst) {
                continue;
            }
            let base = self.base(candidate.steps);
            let index = self.aligned_index(base);
            rewritten.push((inst, index));
        }
    }

    /// Emits the index of each lane, given lane 0's, which is a multiple of the number of lanes.
    fn aligned_index(&mut self, base: Value) -> Value {
        let scalar = self.func.value_type(base).scalar();
        let high = self.func.make_int(scalar, -i128::from(self.lanes));
        let base = self.emit(Op::And, &[base, high], Flags::NONE);
        let lane = self.lane(scalar);
        self.emit(Op::Add, &[base, lane], Flags::of(&[Flag::Nuw, Flag::Nsw]))
    }

    /// Freezes a condition and adds it to others.
    pub(super) fn and_frozen(&mut self, others: Option<Value>, holds: Value) -> Value {
        let holds = self.emit(Op::Freeze, &[holds], Flags::NONE);
        others.map_or(holds, |others| self.emit(Op::And, &[others, holds], Flags::NONE))
    }

    /// Returns lane 0's value before the region, frozen.
    pub(super) fn frozen_base(&mut self, value: Value) -> Value {
        let base = self.base(value);
        let frozen = self.emit(Op::Freeze, &[base], Flags::NONE);
        self.emit(Op::First, &[frozen], Flags::NONE)
    }

    /// Emits the test that a value is a multiple of the number of lanes, and not 0 if it is a divisor of at least 1.
    pub(super) fn is_multiple_of_lanes(&mut self, value: Value) -> Value {
        let scalar = self.func.value_type(value).scalar();
        let bits = self.func.make_int(scalar, i128::from(self.lanes) - 1);
        let low = self.emit(Op::And, &[value, bits], Flags::NONE);
        let zero = self.func.make_int(scalar, 0);
        self.compare(IntPredicate::Eq, low, zero)
    }

    /// Computes the operands of conditions and rewritten operations before the region.
    fn make_bases(&mut self, chosen: &[RewriteCandidate], divisions: &[LoopDivision]) {
        let mut needed: EntitySet<Value> = EntitySet::new();
        let mut work: Vec<Value> = chosen.iter().flat_map(RewriteCandidate::operands).collect();
        for LoopDivision { index, by, .. } in divisions {
            work.extend([index.start, index.step, *by].into_iter().chain(index.bound));
        }
        while let Some(value) = work.pop() {
            if !needed.insert(value) {
                continue;
            }
            let Some(inst) = self.old.def_inst(value) else { continue };
            match self.found.of[inst] {
                Some(number) => work.extend(self.found.candidates[number].operands()),
                None => work.extend(self.old.inst(inst).args.iter().copied()),
            }
        }
        for (&old, &new) in self.old.params().iter().zip(self.func.params().to_vec().iter()) {
            if !needed.contains(old) {
                continue;
            }
            self.bases[old] = Some(match self.found.shapes[old] {
                Some(IndexShape::Strided) => {
                    let lane = self.lane(self.old.value_type(old).scalar());
                    self.emit(Op::Sub, &[new, lane], Flags::NONE)
                }
                _ => new,
            });
        }
        let insts: Vec<Inst> = self.old.blocks().flat_map(|block| self.old.block_insts(block)).collect();
        for inst in insts {
            let Some(result) = self.old.result(inst).filter(|&it| needed.contains(it)) else { continue };
            let base = match self.found.of[inst] {
                Some(number) => self.base_of(&self.found.candidates[number]),
                None => {
                    let data = self.old.inst(inst).clone();
                    let args: Vec<Value> = data.args.iter().map(|&arg| self.base(arg)).collect();
                    let is_step = self.found.shapes[result] == Some(IndexShape::Strided);
                    let op = if data.op == Op::Zext && is_step { Op::Sext } else { data.op };
                    self.insert(InstData::plain(op, args), self.old.value_type(result))
                }
            };
            self.bases[result] = Some(base);
        }
    }

    /// Returns the value that represents `value` before the region.
    pub(super) fn base(&mut self, value: Value) -> Value {
        match (self.bases[value], self.old.constant(value)) {
            (Some(base), _) => base,
            (None, Some(constant)) => self.func.make_const(constant.clone()),
            (None, None) => self.func.make_poison(self.old.value_type(value)),
        }
    }

    /// Returns lane 0's result of a rewritten operation.
    fn base_of(&mut self, candidate: &RewriteCandidate) -> Value {
        let RewriteCandidate { inst, rewrite, steps, uniform } = *candidate;
        if let LaneRewrite::Chosen { arm, .. } = rewrite {
            return self.base(arm);
        }
        let op = self.old.inst(inst).op;
        if let LaneRewrite::Decided { holds, .. } = rewrite {
            let number = match (holds, op) {
                (false, _) => 0,
                (true, Op::Sext) => -1,
                (true, _) => 1,
            };
            let ty = self.old.value_type(self.old.result(inst).expect("it gives a value"));
            return self.func.make_int(ty.scalar(), number);
        }
        let first = self.base(steps);
        let ty = self.old.value_type(self.old.result(inst).expect("it gives a value"));
        if rewrite == LaneRewrite::Frozen {
            // One frozen value for all lanes.
            let frozen = self.emit(Op::Freeze, &[first], Flags::NONE);
            return self.emit(Op::First, &[frozen], Flags::NONE);
        }
        if let LaneRewrite::SignedLowBits { cut } = rewrite {
            let cut = self.func.make_int(ty.scalar(), cut.into());
            let shifted = self.emit(Op::Shl, &[first, cut], Flags::NONE);
            return self.emit(Op::Ashr, &[shifted, cut], Flags::NONE);
        }
        let Some(uniform) = uniform else {
            return self.insert(InstData::plain(op, [first]), ty);
        };
        let mut other = self.base(uniform);
        if let LaneRewrite::Remainder { is_signed } | LaneRewrite::Quotient { is_signed } = rewrite {
            other = self.divisor(other, is_signed);
        }
        self.emit(op, &[first, other], Flags::NONE)
    }

    /// Returns a divisor that is replaced by 1 where the fast version does not divide by it.
    pub(super) fn divisor(&mut self, by: Value, is_signed: bool) -> Value {
        if self.func.constant(by).is_some() {
            return by;
        }
        let known = self.divisors.iter().find(|&&(old, signed, _)| (old, signed) == (by, is_signed));
        if let Some(&(_, _, divisor)) = known {
            return divisor;
        }
        let scalar = self.func.value_type(by).scalar();
        let one = self.func.make_int(scalar, 1);
        let predicate = if is_signed { IntPredicate::Sge } else { IntPredicate::Uge };
        let frozen = self.emit(Op::Freeze, &[by], Flags::NONE);
        let frozen = self.emit(Op::First, &[frozen], Flags::NONE);
        let divides = self.compare(predicate, frozen, one);
        let divisor = self.emit(Op::Select, &[divides, frozen, one], Flags::NONE);
        self.divisors.push((by, is_signed, divisor));
        divisor
    }

    /// Emits the condition under which a candidate may be rewritten.
    fn condition(&mut self, candidate: &RewriteCandidate) -> Value {
        let first = self.base(candidate.steps);
        let scalar = self.func.value_type(first).scalar();
        let reach = i128::from(self.lanes) - 1;
        let other = candidate.uniform.map(|uniform| self.base(uniform));
        match (candidate.rewrite, other) {
            (LaneRewrite::Extension { is_signed }, _) => self.is_below_end(first, is_signed),
            (LaneRewrite::Remainder { is_signed } | LaneRewrite::Quotient { is_signed }, Some(by)) => {
                let (least, below) = match is_signed {
                    true => (IntPredicate::Sge, IntPredicate::Sle),
                    false => (IntPredicate::Uge, IntPredicate::Ule),
                };
                let fits = self.is_below_end(first, is_signed);
                let lanes = self.func.make_int(scalar, self.lanes.into());
                let is_wide = self.compare(least, by, lanes);
                let divisor = self.divisor(by, is_signed);
                let remainder = if is_signed { Op::Srem } else { Op::Urem };
                let rest = self.emit(remainder, &[first, divisor], Flags::NONE);
                let last = self.emit(Op::Sub, &[by, lanes], Flags::NONE);
                let is_within = self.compare(below, rest, last);
                let mut all = self.emit(Op::And, &[fits, is_wide], Flags::NONE);
                all = self.emit(Op::And, &[all, is_within], Flags::NONE);
                if is_signed {
                    let zero = self.func.make_int(scalar, 0);
                    let is_positive = self.compare(IntPredicate::Sge, first, zero);
                    all = self.emit(Op::And, &[all, is_positive], Flags::NONE);
                }
                all
            }
            (LaneRewrite::Shift, Some(amount)) => {
                let is_aligned = self.is_multiple_of_lanes(first);
                let bits = self.func.make_int(scalar, self.lanes.trailing_zeros().into());
                let drops = self.compare(IntPredicate::Uge, amount, bits);
                self.emit(Op::And, &[is_aligned, drops], Flags::NONE)
            }
            (LaneRewrite::KeepsLanes | LaneRewrite::DropsLanes, Some(mask)) => {
                let is_aligned = self.is_multiple_of_lanes(first);
                let has_none = self.is_multiple_of_lanes(mask);
                self.emit(Op::And, &[is_aligned, has_none], Flags::NONE)
            }
            (LaneRewrite::LowBits, Some(mask)) => {
                let [zero, one, reach] = [0, 1, reach].map(|number| self.func.make_int(scalar, number));
                let next = self.emit(Op::Add, &[mask, one], Flags::NONE);
                let both = self.emit(Op::And, &[mask, next], Flags::NONE);
                let is_filled = self.compare(IntPredicate::Eq, both, zero);
                let is_wide = self.compare(IntPredicate::Uge, mask, reach);
                let last = self.emit(Op::Sub, &[mask, reach], Flags::NONE);
                let low = self.emit(Op::And, &[first, mask], Flags::NONE);
                let fits = self.compare(IntPredicate::Ule, low, last);
                let all = self.emit(Op::And, &[is_filled, is_wide], Flags::NONE);
                self.emit(Op::And, &[all, fits], Flags::NONE)
            }
            (LaneRewrite::SignedLowBits { cut }, _) => {
                let number = self.base_of(candidate);
                let greatest = (scalar.bit_mask() >> 1 >> cut) - u128::from(self.lanes - 1);
                let last = self.func.make_const(Constant::Scalar(scalar, greatest));
                self.compare(IntPredicate::Sle, number, last)
            }
            (LaneRewrite::Chosen { predicate, .. } | LaneRewrite::Decided { predicate, .. }, Some(bound)) => {
                self.all_compare(first, predicate, bound)
            }
            (LaneRewrite::Difference, Some(less)) => self.all_compare(first, IntPredicate::Uge, less),
            (LaneRewrite::Frozen, _) => self.func.make_bool(true),
            (_, None) => self.func.make_bool(false),
        }
    }

    /// Emits the test that the indices of all lanes compare in this way with a number, given lane 0's.
    fn all_compare(&mut self, first: Value, predicate: IntPredicate, bound: Value) -> Value {
        let scalar = self.func.value_type(first).scalar();
        use IntPredicate::{Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        // The distance has no sign: below the number it is exact, and where lanes pass the end of the type it is small.
        let least = match predicate {
            Ne | Slt | Ult => self.lanes,
            Sle | Ule => self.lanes - 1,
            Sgt | Sge | Ugt | Uge => {
                let is_signed = matches!(predicate, Sgt | Sge);
                let compares = self.compare(predicate, first, bound);
                let fits = self.is_below_end(first, is_signed);
                return self.emit(Op::And, &[compares, fits], Flags::NONE);
            }
            IntPredicate::Eq => return self.func.make_bool(false),
        };
        let distance = self.emit(Op::Sub, &[bound, first], Flags::NONE);
        let least = self.func.make_int(scalar, least.into());
        let is_apart = self.compare(Uge, distance, least);
        if predicate == Ne {
            return is_apart;
        }
        let compares = self.compare(predicate, first, bound);
        self.emit(Op::And, &[compares, is_apart], Flags::NONE)
    }

    /// Emits the test that no lane wraps, given lane 0's value.
    fn is_below_end(&mut self, first: Value, is_signed: bool) -> Value {
        let scalar = self.func.value_type(first).scalar();
        let end = if is_signed { scalar.bit_mask() >> 1 } else { scalar.bit_mask() };
        let last = self.func.make_const(Constant::Scalar(scalar, end - u128::from(self.lanes - 1)));
        let predicate = if is_signed { IntPredicate::Sle } else { IntPredicate::Ule };
        self.compare(predicate, first, last)
    }

    /// Returns the replacement for a candidate's result in each lane.
    fn rewritten(&mut self, candidate: &RewriteCandidate) -> Value {
        let result = self.old.result(candidate.inst).expect("what is rewritten gives a value");
        // A `freeze` must be evaluated only once.
        let base = match self.bases[result] {
            Some(base) => base,
            None => self.base_of(candidate),
        };
        let flags = match candidate.rewrite {
            LaneRewrite::Frozen if self.found.shapes[result] == Some(IndexShape::Uniform) => return base,
            LaneRewrite::Frozen | LaneRewrite::Chosen { .. } => Flags::NONE,
            LaneRewrite::KeepsLanes => return self.aligned_index(base),
            LaneRewrite::Quotient { .. }
            | LaneRewrite::DropsLanes
            | LaneRewrite::Shift
            | LaneRewrite::Decided { .. } => return base,
            LaneRewrite::Remainder { is_signed: false } | LaneRewrite::LowBits | LaneRewrite::Difference => {
                Flags::of(&[Flag::Nuw])
            }
            LaneRewrite::Extension { is_signed: true } | LaneRewrite::SignedLowBits { .. } => {
                Flags::of(&[Flag::Nsw])
            }
            _ => Flags::of(&[Flag::Nuw, Flag::Nsw]),
        };
        let lane = self.lane(self.func.value_type(base).scalar());
        self.emit(Op::Add, &[base, lane], flags)
    }

    /// Copies the region's blocks with these replacements. Returns the entry of the copy.
    fn copy(&mut self, blocks: &[Block], rewritten: &[(Inst, Value)], loops: &StridedLoops) -> Block {
        let mut copier = BlockCopier::new(self.old);
        for (&old, &new) in self.old.params().iter().zip(self.func.params().to_vec().iter()) {
            copier.set(&mut self.func, old, new);
        }
        copier.copy_blocks(&mut self.func, blocks);
        let mut instead: Vec<(Value, Value)> = Vec::new();
        for &(inst, value) in rewritten {
            let result = self.old.result(inst).expect("what is rewritten gives a value");
            instead.push((copier.value(&mut self.func, result), value));
        }
        for rewrite in &loops.divisions {
            for pair in self.rewrite_division(&mut copier, rewrite) {
                if !instead.contains(&pair) {
                    instead.push(pair);
                }
            }
        }
        let start = copier.block(blocks[0]).expect("all blocks were copied");
        let mut replaced: SecondaryMap<Value, Option<Value>> =
            SecondaryMap::with_len(self.func.value_count());
        instead.iter().for_each(|&(from, to)| replaced[from] = Some(to));
        let copies: Vec<Block> = blocks.iter().filter_map(|&block| copier.block(block)).collect();
        for &block in &copies {
            self.func.map_values_of_block(block, |value| replaced[value].unwrap_or(value));
        }
        for rewrite in &loops.indices {
            self.rewrite_loop(&mut copier, rewrite);
        }
        for (from, _) in instead {
            if let ValueDef::Result(inst, _) = self.func.value_def(from) {
                self.func.remove_inst(inst);
            }
        }
        // Allocas belong to the entry block.
        let objects: Vec<Inst> =
            self.func.block_insts(start).filter(|&inst| self.func.inst(inst).op == Op::Alloca).collect();
        for inst in objects.into_iter().rev() {
            self.func.layout.remove_inst(inst);
            self.func.layout.prepend_inst(inst, self.entry);
        }
        start
    }

    /// Emits the lane number along the first dimension.
    pub(super) fn lane(&mut self, scalar: Scalar) -> Value {
        let data = InstData::new(Op::Lane, [], Detail::Dimension(Some(0)));
        self.insert(data, scalar.into())
    }

    fn insert(&mut self, data: InstData, to: Type) -> Value {
        let is_written = matches!(data.op.info().gives, heddle_ir::ops::ResultConstraint::Written(_));
        Builder::new(&mut self.func, InsertPoint::End(self.entry)).value(data, is_written.then_some(to))
    }

    pub(super) fn emit(&mut self, op: Op, args: &[Value], flags: Flags) -> Value {
        Builder::new(&mut self.func, InsertPoint::End(self.entry)).op_with(op, args, flags)
    }

    pub(super) fn compare(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        Builder::new(&mut self.func, InsertPoint::End(self.entry)).icmp(predicate, a, b)
    }
}
