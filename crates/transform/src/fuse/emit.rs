//! Emits the code of a fused branch.
//!
//! ```text
//!     A: …; selects; merged …          operations of both sides, merged
//!        br v5, G, H                   a gap: operations of one side, under the branch's condition
//!     G: …; br M    H: …; br M         φs at M for later reads: poison on the other side's edge
//!     M: selects; merged …
//!        br J
//! ```
//!
//! After: Coutinho et al., PACT'11, IV-A c). Differs in: gaps of both sides at one position share a branch; all lanes execute a
//! speculatable gap; after a gap, a φ chooses operands in place of a select.
//!
//! The emitter maps values of the sides to their *current* replacement: a merged instruction, or the φ after the gap that
//! defines them, which the first read creates.

use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::{BranchWeights, Detail, InstData};
use heddle_ir::words::Flags;
use heddle_ir::{Block, Constant, Function, Inst, Op, Value};
use rustc_hash::FxHashMap;

use super::align::AlignmentStep;
use super::cost::MachineModel;
use super::identity::{MergeOperand, merge};
use super::plan::{FusionPlan, PairedRegions, is_speculatable, orient};
use super::sides::{BranchSide, SideElement, SideRegion, UnifiableBranch};
use crate::edges::{append_jump, phis, prepend_phi, retarget, set_incoming};

/// Straight sequence of merged code with gaps: the one of the chains, or that of a pair of blocks.
type Strand = u32;

/// Position in a strand, by the number of gaps before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct EmitPosition {
    strand: Strand,
    gaps: u32,
}

/// Gap that has its own blocks.
#[derive(Clone, Copy, Debug)]
struct FusionGap {
    /// Position before the gap.
    position: EmitPosition,
    /// Block after the gap.
    join: Block,
    /// Predecessors of `join` for the lanes of the left and of the right side.
    ends: [Block; 2],
}

/// Current replacement of a value of a side.
#[derive(Clone, Copy, Debug)]
enum CurrentValue {
    /// Value that dominates the current position.
    Value(Value),
    /// Value inside of a gap, on one side of it; a read after the gap needs a φ.
    InGap(usize, GapSide, Value),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GapSide {
    Left,
    Right,
}

/// φ whose operands are filled in after its region is emitted.
struct PendingPhi {
    phi: Inst,
    left: Option<InstData>,
    right: Option<InstData>,
}

struct FusionEmitter<'a> {
    func: &'a mut Function,
    branch: &'a UnifiableBranch,
    machine: MachineModel,
    current: FxHashMap<Value, CurrentValue>,
    /// Positions of values defined since the branch.
    positions: FxHashMap<Value, EmitPosition>,
    gaps: Vec<FusionGap>,
    blends: FxHashMap<(Strand, Value, Value), Value>,
    here: Block,
    /// Insertion point; none is the end of `here`.
    before: Option<Inst>,
    position: EmitPosition,
    strands: Strand,
    /// Current end of each source block, with its position.
    end_of: SecondaryMap<Block, Option<(Block, EmitPosition)>>,
    /// φs and terminators of the dissolved blocks.
    phis: FxHashMap<Block, Vec<Inst>>,
    terminators: FxHashMap<Block, Inst>,
    done: EmittedFusion,
}

/// Result of emitting a fused branch.
#[derive(Default)]
pub(super) struct EmittedFusion {
    /// Branches around gaps.
    pub(super) branches: Vec<Inst>,
    /// Source blocks that lanes pass in a block, in order, where they differ from the block itself.
    pub(super) passed: Vec<(Block, Vec<Block>)>,
}

/// Emits the fused code of a branch.
pub(super) fn emit(
    func: &mut Function,
    branch: &UnifiableBranch,
    plan: &FusionPlan,
    machine: MachineModel,
) -> EmittedFusion {
    let lasts = [&branch.left, &branch.right]
        .map(|side| side.last(branch.join).expect("a region that led to the join has got a block after it"));
    let position = EmitPosition { strand: 0, gaps: 0 };
    let mut emitter = FusionEmitter {
        here: branch.block,
        branch,
        machine,
        current: FxHashMap::default(),
        positions: FxHashMap::default(),
        gaps: Vec::new(),
        blends: FxHashMap::default(),
        before: None,
        position,
        strands: 1,
        end_of: SecondaryMap::with_len(func.block_count()),
        phis: FxHashMap::default(),
        terminators: FxHashMap::default(),
        done: EmittedFusion::default(),
        func,
    };
    let taken = emitter.detach_code(plan);
    let [left, right] = [&branch.left, &branch.right].map(|side| side.straight_from(side.chain[0]));
    let passed = [branch.block].into_iter().chain(left).chain(right).collect();
    emitter.done.passed.push((branch.block, passed));
    let elements = [&branch.left.elements[..], &branch.right.elements[..]];
    let ends = emitter.emit_steps(&plan.steps, elements, Some(plan));
    let ends = ends.unwrap_or([emitter.here; 2]);
    emitter.emit_join(ends, lasts);
    for block in taken.blocks {
        emitter.func.remove_block(block);
    }
    for inst in taken.insts {
        if emitter.func.layout.block_of(inst).is_none() {
            emitter.func.remove_inst(inst);
        }
    }
    emitter.done
}

/// Code of the sides that was taken out of the layout.
struct DetachedCode {
    insts: Vec<Inst>,
    /// Blocks that are not reused.
    blocks: Vec<Block>,
}

impl FusionEmitter<'_> {
    /// Removes the instructions of all rewritten blocks from the layout.
    fn detach_code(&mut self, plan: &FusionPlan) -> DetachedCode {
        let mut taken = DetachedCode { insts: Vec::new(), blocks: Vec::new() };
        let branch = self.branch;
        taken.blocks.extend(branch.left.chain.iter().chain(&branch.right.chain));
        let mut emptied = taken.blocks.clone();
        let paired = plan.regions.values().flat_map(|region| &region.blocks);
        for pair in paired {
            emptied.extend([pair.left, pair.right]);
            taken.blocks.push(pair.right);
        }
        taken.blocks.sort_unstable();
        emptied.sort_unstable();
        for block in emptied {
            self.phis.insert(block, phis(self.func, block));
            self.terminators.extend(self.func.terminator(block).map(|inst| (block, inst)));
            while let Some(inst) = self.func.layout.first_inst(block) {
                self.func.layout.remove_inst(inst);
                taken.insts.push(inst);
            }
        }
        let terminator = self.func.terminator(branch.block).expect("the branch stands");
        self.func.layout.remove_inst(terminator);
        taken.insts.push(terminator);
        taken
    }

    /// Emits aligned elements. Returns the predecessors of the join if a gap ends the chains.
    fn emit_steps(
        &mut self,
        steps: &[AlignmentStep],
        elements: [&[SideElement]; 2],
        plan: Option<&FusionPlan>,
    ) -> Option<[Block; 2]> {
        let [left, right] = elements;
        let branch = self.branch;
        let is_pair = |step: &AlignmentStep| matches!(step, AlignmentStep::Both(..));
        let mut rest = steps;
        while let Some((&first, behind)) = rest.split_first() {
            if let AlignmentStep::Both(i, j) = first {
                match (left[i], right[j]) {
                    (SideElement::Inst(a), SideElement::Inst(b)) => self.emit_merged(a, b),
                    (SideElement::NestedRegion(a), SideElement::NestedRegion(b)) => {
                        let paired = plan.and_then(|plan| plan.regions.get(&(a, b)));
                        let paired = paired.expect("regions that are aligned are planned");
                        self.emit_merged_region(&branch.left.regions[a], &branch.right.regions[b], paired);
                    }
                    _ => unreachable!("an instruction is never next to a region"),
                }
                rest = behind;
                continue;
            }
            let length = rest.iter().position(is_pair).unwrap_or(rest.len());
            let (gap, behind) = rest.split_at(length);
            let lefts = gap.iter().filter_map(|step| match step {
                AlignmentStep::Left(i) => Some(left[*i]),
                _ => None,
            });
            let rights = gap.iter().filter_map(|step| match step {
                AlignmentStep::Right(j) => Some(right[*j]),
                _ => None,
            });
            let is_last = behind.is_empty() && plan.is_some();
            let ends = self.emit_gap([lefts.collect(), rights.collect()], is_last);
            if ends.is_some() {
                return ends;
            }
            rest = behind;
        }
        None
    }

    /// Jumps to the join and sets the operands of its φs.
    fn emit_join(&mut self, ends: [Block; 2], lasts: [Block; 2]) {
        let join = self.branch.join;
        let are_together = ends[0] == ends[1];
        for phi in phis(self.func, join) {
            let data = self.func.inst(phi);
            let [Some(left), Some(right)] = lasts.map(|block| data.incoming_from(block)) else { continue };
            let mut incoming: Vec<(Block, Value)> =
                data.incoming().filter(|(from, _)| !lasts.contains(from)).collect();
            if are_together {
                let value = self.select_operand(&MergeOperand::Value(left), &MergeOperand::Value(right));
                incoming.push((ends[0], value));
            } else {
                incoming.extend([(ends[0], self.current_value(left)), (ends[1], self.current_value(right))]);
            }
            set_incoming(self.func, phi, incoming);
        }
        if are_together {
            append_jump(self.func, ends[0], join);
        }
    }

    fn at(&self) -> InsertPoint {
        self.before.map_or(InsertPoint::End(self.here), InsertPoint::Before)
    }

    fn append(&mut self, inst: Inst) {
        match self.before {
            Some(next) => self.func.layout.insert_inst_before(inst, next),
            None => self.func.layout.append_inst(inst, self.here),
        }
    }

    fn set_current(&mut self, value: Value, now: Value) {
        self.current.insert(value, CurrentValue::Value(now));
    }

    /// Returns the current replacement of a value; creates the φ after a gap if needed.
    fn current_value(&mut self, value: Value) -> Value {
        match self.current.get(&value) {
            None => value,
            Some(&CurrentValue::Value(now)) => now,
            Some(&CurrentValue::InGap(gap, gap_side, inside)) => {
                let nothing = self.func.make_poison(self.func.value_type(inside));
                let sides = match gap_side {
                    GapSide::Left => [inside, nothing],
                    GapSide::Right => [nothing, inside],
                };
                let joined = self.join_of_gap(gap, sides);
                self.set_current(value, joined);
                joined
            }
        }
    }

    /// Returns a φ after a gap.
    fn join_of_gap(&mut self, gap: usize, sides: [Value; 2]) -> Value {
        let FusionGap { position, join, ends } = self.gaps[gap];
        let key = (position.strand, sides[0], sides[1]);
        if let Some(&known) = self.blends.get(&key) {
            return known;
        }
        let ty = self.func.value_type(sides[0]);
        let incoming = [(ends[0], sides[0]), (ends[1], sides[1])];
        let value = prepend_phi(self.func, join, InstData::phi(incoming, None), ty);
        self.positions.insert(value, EmitPosition { gaps: position.gaps + 1, ..position });
        self.blends.insert(key, value);
        value
    }

    /// Returns the replacement of a value that dominates a gap.
    fn before_gap(&self, value: Value, gap: usize) -> Option<Value> {
        let now = match self.current.get(&value) {
            None => value,
            Some(&CurrentValue::Value(now)) => now,
            Some(CurrentValue::InGap(..)) => return None,
        };
        let position = self.gaps[gap].position;
        let is_there = |made: &EmitPosition| made.strand == position.strand && made.gaps <= position.gaps;
        self.positions.get(&now).is_none_or(is_there).then_some(now)
    }

    /// Returns the operand of a merged instruction: the left value for lanes of the left side, else the right one.
    fn select_operand(&mut self, left: &MergeOperand, right: &MergeOperand) -> Value {
        if let (&MergeOperand::Value(x), &MergeOperand::Value(y)) = (left, right) {
            let [a, b] =
                [x, y].map(|value| self.current.get(&value).copied().unwrap_or(CurrentValue::Value(value)));
            let joined = match (a, b) {
                (CurrentValue::InGap(gap, _, a), CurrentValue::InGap(other, _, b)) if gap == other => {
                    Some((gap, [a, b]))
                }
                (CurrentValue::InGap(gap, _, a), _) => self.before_gap(y, gap).map(|b| (gap, [a, b])),
                (_, CurrentValue::InGap(gap, _, b)) => self.before_gap(x, gap).map(|a| (gap, [a, b])),
                _ => None,
            };
            if let Some((gap, sides)) = joined {
                let value = self.join_of_gap(gap, sides);
                for (name, now) in [(x, a), (y, b)] {
                    if matches!(now, CurrentValue::InGap(..)) {
                        self.set_current(name, value);
                    }
                }
                return value;
            }
        }
        let [a, b] = [left, right].map(|operand| match operand {
            MergeOperand::Value(value) => self.current_value(*value),
            MergeOperand::Constant(constant) => self.func.make_const(constant.clone()),
        });
        let is_poison = |value| matches!(self.func.constant(value), Some(Constant::Poison(_)));
        if a == b || is_poison(b) {
            return a;
        }
        if is_poison(a) {
            return b;
        }
        let key = (self.position.strand, a, b);
        if let Some(&known) = self.blends.get(&key) {
            return known;
        }
        let at = self.at();
        let value = Builder::new(self.func, at).select(self.branch.condition, a, b);
        self.positions.insert(value, self.position);
        self.blends.insert(key, value);
        value
    }

    /// Emits one instruction in place of two.
    fn emit_merged(&mut self, left: Inst, right: Inst) {
        let mut merged = merge(self.func, left, right).expect("only what can be merged is aligned");
        orient(&mut merged, |a, b| i64::from(!self.have_same_value(a, b)));
        let args: Vec<Value> =
            merged.left.iter().zip(&merged.right).map(|(a, b)| self.select_operand(a, b)).collect();
        let origin = self.common_origin(left, right);
        let detail = match merged.detail {
            Detail::Access(mut access) => {
                access.base = self.base(access.base);
                Detail::Access(access)
            }
            detail => detail,
        };
        let data = InstData { flags: merged.flags, origin, ..InstData::new(merged.op, args, detail) };
        *self.func.inst_mut(left) = data;
        self.append(left);
        self.replace_both(left, right);
    }

    fn common_origin(&mut self, left: Inst, right: Inst) -> heddle_ir::function::Origin {
        let [a, b] = [left, right].map(|inst| self.func.origin(self.func.inst(inst).origin).clone());
        self.func.make_origin(a.merged(&b))
    }

    /// Replaces the results of both instructions by those of the left one.
    fn replace_both(&mut self, left: Inst, right: Inst) {
        let [a, b] = [left, right].map(|inst| self.func.results(inst).to_vec());
        for (a, b) in a.into_iter().zip(b) {
            self.positions.insert(a, self.position);
            self.set_current(a, a);
            self.set_current(b, a);
        }
    }

    /// True if both operands have the same replacement.
    fn have_same_value(&self, left: &MergeOperand, right: &MergeOperand) -> bool {
        let now = |value: &Value| match self.current.get(value) {
            Some(&CurrentValue::Value(now)) => now,
            _ => *value,
        };
        match (left, right) {
            (MergeOperand::Value(a), MergeOperand::Value(b)) => now(a) == now(b),
            _ => left.constant(self.func).is_some() && left.constant(self.func) == right.constant(self.func),
        }
    }

    /// Renames the operands of an instruction to their replacements.
    fn rename_operands(&mut self, inst: Inst) {
        let mut data = self.func.inst(inst).clone();
        for arg in &mut data.args {
            *arg = self.current_value(*arg);
        }
        for access in data.accesses_mut() {
            access.base = self.base(access.base);
        }
        *self.func.inst_mut(inst) = data;
    }

    /// Returns the base object of an access if it is still available under its name.
    fn base(&self, base: Option<Value>) -> Option<Value> {
        base.filter(|base| match self.current.get(base) {
            None => true,
            Some(CurrentValue::Value(now)) => now == base,
            Some(CurrentValue::InGap(..)) => false,
        })
    }

    /// Emits elements of the sides that are not merged. Returns the ends of both sides if the chains end here.
    fn emit_gap(&mut self, elements: [Vec<SideElement>; 2], is_last: bool) -> Option<[Block; 2]> {
        let all: Vec<SideElement> = elements.iter().flatten().copied().collect();
        if is_speculatable(self.func, self.machine, &all) {
            for element in all {
                let SideElement::Inst(inst) = element else { continue };
                self.rename_operands(inst);
                // Lanes of the other side may violate the flags' promises.
                let data = self.func.inst_mut(inst);
                data.flags = data.flags.without(Flags::POISON);
                self.append(inst);
                for value in self.func.results(inst).to_vec() {
                    self.positions.insert(value, self.position);
                    self.set_current(value, value);
                }
            }
            return None;
        }
        let from = self.here;
        let position = self.position;
        let mut starts = [None; 2];
        let mut ends = [from; 2];
        let mut behind = from;
        let sides = [(&self.branch.left, GapSide::Left), (&self.branch.right, GapSide::Right)];
        let mut defined: Vec<(GapSide, Value)> = Vec::new();
        for (at, (side, gap_side)) in sides.into_iter().enumerate() {
            if elements[at].is_empty() {
                continue;
            }
            let start = self.func.insert_block_after(behind);
            self.here = start;
            defined.extend(self.emit_side(side, &elements[at]).into_iter().map(|value| (gap_side, value)));
            starts[at] = Some(start);
            ends[at] = self.here;
            behind = self.here;
        }
        let join = if is_last { self.branch.join } else { self.func.insert_block_after(behind) };
        let condition = self.branch.condition;
        let [then, otherwise] = starts.map(|start| start.unwrap_or(join));
        let terminator = self.func.make_inst(InstData::branch(condition, then, otherwise), &[]);
        self.func.layout.append_inst(terminator, from);
        self.done.branches.push(terminator);
        for end in ends.into_iter().filter(|&end| end != from) {
            append_jump(self.func, end, join);
        }
        if is_last {
            return Some(ends);
        }
        self.gaps.push(FusionGap { position, join, ends });
        let gap = self.gaps.len() - 1;
        for (gap_side, value) in defined {
            self.current.insert(value, CurrentValue::InGap(gap, gap_side, value));
        }
        self.position.gaps += 1;
        self.here = join;
        None
    }

    /// Emits elements of one side unmerged. Returns the values they define.
    fn emit_side(&mut self, side: &BranchSide, elements: &[SideElement]) -> Vec<Value> {
        let mut defined = Vec::new();
        for &element in elements {
            match element {
                SideElement::Inst(inst) => {
                    self.rename_operands(inst);
                    self.append(inst);
                    defined.extend_from_slice(self.func.results(inst));
                }
                SideElement::NestedRegion(number) => {
                    self.emit_side_region(side, &side.regions[number], &mut defined)
                }
            }
        }
        defined
    }

    /// Moves a region of one side into the current position.
    fn emit_side_region(&mut self, side: &BranchSide, region: &SideRegion, defined: &mut Vec<Value>) {
        let (from, here) = (region.from, self.here);
        let exit = self.func.insert_block_after(here);
        let inner: Vec<Inst> = region.blocks.iter().flat_map(|&block| self.func.block_insts(block)).collect();
        let terminator = self.terminators[&from];
        self.rename_operands(terminator);
        self.append(terminator);
        for &inst in &inner {
            self.rename_operands(inst);
            if let Detail::Phi(blocks) = &mut self.func.inst_mut(inst).detail {
                blocks.iter_mut().filter(|block| **block == from).for_each(|block| *block = here);
            }
            defined.extend_from_slice(self.func.results(inst));
        }
        for &block in region.blocks.iter().chain([&here]) {
            retarget(self.func, block, region.exit, exit);
        }
        self.here = exit;
        self.done.passed.push((exit, side.straight_from(region.exit)));
        for phi in self.phis.remove(&region.exit).unwrap_or_default() {
            self.rename_operands(phi);
            if let Detail::Phi(blocks) = &mut self.func.inst_mut(phi).detail {
                blocks.iter_mut().filter(|block| **block == from).for_each(|block| *block = here);
            }
            self.append(phi);
            defined.extend_from_slice(self.func.results(phi));
        }
    }

    /// Emits one region for two isomorphic ones.
    fn emit_merged_region(&mut self, left: &SideRegion, right: &SideRegion, paired: &PairedRegions) {
        let (from, outer) = (self.here, self.position);
        let last = paired.blocks.last().map_or(from, |pair| pair.left);
        let exit = self.func.insert_block_after(last);
        self.emit_merged_branch((left.from, right.from), paired.swapped, (left.exit, exit));
        self.end_of[left.from] = Some((from, outer));
        let mut pending = Vec::new();
        for pair in &paired.blocks {
            self.begin_strand();
            self.here = pair.left;
            self.emit_merged_phis((pair.left, pair.right), &pair.phis, &mut pending);
            let elements = pair
                .insts
                .each_ref()
                .map(|insts| insts.iter().map(|&inst| SideElement::Inst(inst)).collect::<Vec<_>>());
            self.emit_steps(&pair.steps, [&elements[0], &elements[1]], None);
            self.emit_merged_branch((pair.left, pair.right), pair.swapped, (left.exit, exit));
            self.end_of[pair.left] = Some((self.here, self.position));
            self.done.passed.push((pair.left, vec![pair.left, pair.right]));
        }
        self.here = exit;
        let passed = [(&self.branch.left, left), (&self.branch.right, right)]
            .map(|(side, region)| side.straight_from(region.exit));
        self.done.passed.push((exit, passed.concat()));
        self.position = EmitPosition { gaps: outer.gaps + 1, ..outer };
        self.emit_merged_phis((left.exit, right.exit), &paired.exit_phis, &mut pending);
        self.fill_phis(pending, (left, right), paired);
        (self.here, self.before) = (exit, None);
        self.position = EmitPosition { gaps: outer.gaps + 1, ..outer };
    }

    /// Begins a new strand.
    fn begin_strand(&mut self) {
        self.position = EmitPosition { strand: self.strands, gaps: 0 };
        self.strands += 1;
    }

    /// Ends a block with one branch for two; `exit` replaces the exit of the left region.
    fn emit_merged_branch(
        &mut self,
        (left, right): (Block, Block),
        swapped: bool,
        (old, exit): (Block, Block),
    ) {
        let [a, b] = [left, right].map(|block| self.terminators[&block]);
        let origin = self.common_origin(a, b);
        let data = self.func.inst(a).clone();
        let weights = self.common_weights(a, b, swapped);
        let targets =
            data.targets().iter().map(|&target| if target == old { exit } else { target }).collect();
        let args = match (data.args.first(), self.func.inst(b).args.first()) {
            (Some(&x), Some(&y)) => {
                let y = if swapped { self.negated(y) } else { y };
                vec![self.select_operand(&MergeOperand::Value(x), &MergeOperand::Value(y))]
            }
            _ => Vec::new(),
        };
        let data = InstData { origin, ..InstData::new(Op::Br, args, Detail::Branch(targets, weights)) };
        *self.func.inst_mut(a) = data;
        self.append(a);
    }

    fn negated(&mut self, condition: Value) -> Value {
        let condition = self.current_value(condition);
        let truth = self.func.make_bool(true);
        let at = self.at();
        let value = Builder::new(self.func, at).op(Op::Xor, &[condition, truth]);
        self.positions.insert(value, self.position);
        value
    }

    fn common_weights(&self, left: Inst, right: Inst, swapped: bool) -> Option<BranchWeights> {
        let of = |inst: Inst| match &self.func.inst(inst).detail {
            Detail::Branch(_, weights) => weights.clone(),
            _ => None,
        };
        let (mut a, b) = (of(left)?, of(right)?);
        let at = |index: usize| if swapped { 1 - index } else { index };
        for (index, weight) in a.iter_mut().enumerate() {
            *weight = weight.saturating_add(b[at(index)]);
        }
        Some(a)
    }

    /// Emits the φs of two blocks, one for each pair; their operands stay pending.
    fn emit_merged_phis(
        &mut self,
        (left, right): (Block, Block),
        pairs: &[(Inst, Inst)],
        pending: &mut Vec<PendingPhi>,
    ) {
        let lefts = self.phis.remove(&left).unwrap_or_default();
        let rights = self.phis.remove(&right).unwrap_or_default();
        let alone = rights.into_iter().filter(|b| pairs.iter().all(|(_, other)| other != b));
        let sides =
            lefts.into_iter().map(|a| (Some(a), pairs.iter().find(|pair| pair.0 == a).map(|pair| pair.1)));
        let sides: Vec<(Option<Inst>, Option<Inst>)> = sides.chain(alone.map(|b| (None, Some(b)))).collect();
        for (a, b) in sides {
            let Some(phi) = a.or(b) else { continue };
            let of = |inst: Option<Inst>| inst.map(|inst| self.func.inst(inst).clone());
            pending.push(PendingPhi { phi, left: of(a), right: of(b) });
            if let (Some(a), Some(b)) = (a, b) {
                let origin = self.common_origin(a, b);
                self.func.inst_mut(a).origin = origin;
            }
            self.append(phi);
            self.replace_both(phi, b.unwrap_or(phi));
        }
    }

    /// Fills in the operands of pending φs from both sides.
    fn fill_phis(
        &mut self,
        pending: Vec<PendingPhi>,
        (left, right): (&SideRegion, &SideRegion),
        paired: &PairedRegions,
    ) {
        let pairs = paired.blocks.iter().map(|pair| (pair.left, pair.right)).chain([(left.from, right.from)]);
        let left_of: FxHashMap<Block, Block> = pairs.map(|(a, b)| (b, a)).collect();
        for PendingPhi { phi, left, right } in pending {
            let left_incoming = left.iter().flat_map(InstData::incoming);
            let right_incoming = right.iter().flat_map(InstData::incoming);
            let right_incoming: Vec<(Block, Value)> =
                right_incoming.map(|(from, value)| (left_of[&from], value)).collect();
            let ways: Vec<(Block, Option<Value>, Option<Value>)> = match left.is_some() {
                true => left_incoming
                    .map(|(from, x)| {
                        let y = right_incoming.iter().find(|&&(other, _)| other == from);
                        (from, Some(x), y.map(|&(_, y)| y))
                    })
                    .collect(),
                false => right_incoming.iter().map(|&(from, y)| (from, None, Some(y))).collect(),
            };
            let mut incoming = Vec::with_capacity(ways.len());
            for (from, x, y) in ways {
                let (end, position) = self.end_of[from].expect("a block that leads on is written");
                (self.here, self.position) = (end, position);
                self.before = self.func.terminator(end);
                let value = match (x, y) {
                    (Some(x), Some(y)) => {
                        self.select_operand(&MergeOperand::Value(x), &MergeOperand::Value(y))
                    }
                    (Some(value), None) | (None, Some(value)) => self.current_value(value),
                    (None, None) => continue,
                };
                incoming.push((end, value));
            }
            set_incoming(self.func, phi, incoming);
        }
    }
}
