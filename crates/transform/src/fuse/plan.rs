//! Plans a fusion: aligns the elements of both sides and estimates the gain.
//!
//! Elements of the chains are aligned, and isomorphic regions block by block. The need for a select depends on what else is
//! merged, so the alignment is repeated with the previous result; the first one assumes that whatever can be merged is. The
//! plan with the best complete estimate wins.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::{ControlTables, CycleForest};
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Constant, Function, Inst, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::Cell;

use super::align::{AlignmentMatrix, AlignmentStep};
use super::cost::MachineModel;
use super::identity::{MergeOperand, MergedInst, is_mergeable, merge};
use super::sides::{BranchSide, FusionRefusal, SideElement, SideRegion, UnifiableBranch, straight};
use crate::address_pattern::AddressPattern;
use crate::target::AccessDirection;

/// Maximum number of alignments.
const ROUNDS: usize = 3;
/// Assumed trip count of loops.
const TRIPS: i64 = 8;
/// Maximum loop depth that raises the weight.
const MAX_DEPTH: usize = 4;
/// Maximum number of matrix cells: for the chains, and in each alignment for all regions.
const MAX_CELLS: usize = 1 << 16;

/// Two blocks to merge.
#[derive(Clone, Debug)]
pub(super) struct PairedBlocks {
    pub(super) left: Block,
    pub(super) right: Block,
    /// True if the targets of the right block's branch are swapped.
    pub(super) swapped: bool,
    pub(super) phis: Vec<(Inst, Inst)>,
    pub(super) insts: [Vec<Inst>; 2],
    pub(super) steps: Vec<AlignmentStep>,
    weight: i64,
}

/// Two regions to merge.
#[derive(Clone, Debug)]
pub(super) struct PairedRegions {
    /// True if the targets of the branch into the right region are swapped.
    pub(super) swapped: bool,
    /// Pairs of blocks, definitions before uses.
    pub(super) blocks: Vec<PairedBlocks>,
    pub(super) exit_phis: Vec<(Inst, Inst)>,
}

/// Alignment of a branch's sides, with its estimated gain.
#[derive(Clone, Debug)]
pub(super) struct FusionPlan {
    pub(super) steps: Vec<AlignmentStep>,
    pub(super) regions: FxHashMap<(usize, usize), PairedRegions>,
    pub(super) matrix: AlignmentMatrix,
    /// In tenths of a plain operation.
    pub(super) profit: i64,
    /// Cost of new selects and branches, and of gaps that all lanes execute. Merging has no other effect where lanes do not
    /// diverge.
    overhead: i64,
    /// Cost of both sides before fusion.
    sides: i64,
}

/// A plan must gain at least this fraction of the sides' cost, since costs are no more exact: one in `MIN_GAIN`.
const MIN_GAIN: i64 = 20;

impl FusionPlan {
    /// True if the gain exceeds the error of the costs.
    pub(super) fn is_profitable(&self) -> bool {
        self.profit > 0 && self.profit >= self.sides / MIN_GAIN
    }

    /// Scales the gain by the profiled fraction of divergent executions.
    pub(super) fn scale_by_divergence(&mut self, share: f64) {
        self.profit = (share * self.profit as f64 - (1.0 - share) * self.overhead as f64).floor() as i64;
        self.sides = (share * self.sides as f64).floor() as i64;
    }

    /// Returns the numbers of merged elements of the chains and of merged blocks of regions.
    pub(super) fn merged(&self) -> (usize, usize) {
        let pairs = self.steps.iter().filter(|step| matches!(step, AlignmentStep::Both(..))).count();
        (pairs - self.regions.len(), self.regions.values().map(|region| region.blocks.len()).sum())
    }
}

/// Merged pairs of values, by the left one.
#[derive(Clone, Default)]
struct ValuePairs {
    of: FxHashMap<Value, Value>,
    /// Left values of pairs that compute the same operation on the same operands.
    same: FxHashSet<Value>,
}

/// Function and analyses that planning uses.
pub(super) struct FusionContext<'a> {
    pub(super) func: &'a Function,
    pub(super) control: &'a ControlTables,
    pub(super) facts: &'a Divergence,
    pub(super) machine: MachineModel,
}

/// Planner of one branch.
struct BranchPlanner<'a> {
    context: &'a FusionContext<'a>,
    branch: &'a UnifiableBranch,
    pairs: ValuePairs,
    /// True to assume that whatever can be merged is merged.
    is_first: bool,
    /// Remaining budget of matrix cells for regions.
    cells: Cell<usize>,
}

impl FusionContext<'_> {
    /// Returns the most profitable plan for a branch.
    pub(super) fn plan(&self, branch: &UnifiableBranch) -> Result<FusionPlan, FusionRefusal> {
        let (left, right) = (branch.left.elements.len(), branch.right.elements.len());
        if left.saturating_mul(right) > MAX_CELLS {
            return Err(FusionRefusal::Long(left, right));
        }
        let mut planner = BranchPlanner {
            context: self,
            branch,
            pairs: ValuePairs::default(),
            is_first: true,
            cells: Cell::new(MAX_CELLS),
        };
        let mut best = planner.align();
        for _ in 1..ROUNDS {
            planner.pairs = planner.pairs_of(&best);
            planner.is_first = false;
            planner.cells.set(MAX_CELLS);
            let next = planner.align();
            if next.profit <= best.profit {
                break;
            }
            best = next;
        }
        Ok(best)
    }
}

impl BranchPlanner<'_> {
    fn func(&self) -> &Function {
        self.context.func
    }

    fn align(&self) -> FusionPlan {
        let (left, right) = (&self.branch.left, &self.branch.right);
        let mut regions: FxHashMap<(usize, usize), PairedRegions> = FxHashMap::default();
        let gap = self.context.machine.branch();
        let matrix = AlignmentMatrix::new(left.elements.len(), right.elements.len(), gap, |i, j| {
            match (left.elements[i], right.elements[j]) {
                (SideElement::Inst(a), SideElement::Inst(b)) => self.gain(a, b),
                (SideElement::NestedRegion(a), SideElement::NestedRegion(b)) => {
                    let (paired, gain) = self.pair_regions(&left.regions[a], &right.regions[b])?;
                    regions.insert((a, b), paired);
                    Some(gain)
                }
                _ => None,
            }
        });
        let steps = matrix.alignment();
        let chosen: FxHashSet<(usize, usize)> = steps
            .iter()
            .filter_map(|&step| match step {
                AlignmentStep::Both(i, j) => match (left.elements[i], right.elements[j]) {
                    (SideElement::NestedRegion(a), SideElement::NestedRegion(b)) => Some((a, b)),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        regions.retain(|key, _| chosen.contains(key));
        let mut plan = FusionPlan { steps, regions, matrix, profit: 0, overhead: 0, sides: self.sides() };
        (plan.profit, plan.overhead) = self.estimate(&plan);
        plan
    }

    /// Returns the gain of merging two instructions, minus the selects of their operands.
    fn gain(&self, left: Inst, right: Inst) -> Option<i64> {
        let merged = self.merge(left, right)?;
        let selects: i64 = self.operands(&merged).map(|(a, b)| self.select_cost(a, b)).sum();
        Some(self.saving(left, right, &merged) - selects)
    }

    fn merge(&self, left: Inst, right: Inst) -> Option<MergedInst> {
        let mut merged = merge(self.func(), left, right)?;
        let is_new_fma =
            merged.op == Op::Fma && [left, right].iter().any(|&inst| self.func().inst(inst).op != Op::Fma);
        if is_new_fma && !self.context.machine.has_fma() {
            return None;
        }
        orient(&mut merged, |a, b| self.select_cost(a, b));
        Some(merged)
    }

    fn operands<'m>(
        &self,
        merged: &'m MergedInst,
    ) -> impl Iterator<Item = (&'m MergeOperand, &'m MergeOperand)> {
        merged.left.iter().zip(&merged.right)
    }

    /// Returns the cost of selecting between two operands; 0 if they agree.
    fn select_cost(&self, left: &MergeOperand, right: &MergeOperand) -> i64 {
        let func = self.func();
        let is_poison = |operand: &MergeOperand| matches!(operand.constant(func), Some(Constant::Poison(_)));
        if is_poison(left) || is_poison(right) {
            return 0;
        }
        if let (Some(a), Some(b)) = (left.constant(func), right.constant(func)) {
            return if a == b { 0 } else { self.context.machine.select(a.ty()) };
        }
        let agree = match (left, right) {
            (&MergeOperand::Value(a), &MergeOperand::Value(b)) => self.have_same_value(a, b),
            _ => false,
        };
        let ty = match (left, right) {
            (&MergeOperand::Value(value), _) | (_, &MergeOperand::Value(value)) => func.value_type(value),
            (MergeOperand::Constant(constant), _) => constant.ty(),
        };
        if agree { 0 } else { self.context.machine.select(ty) }
    }

    /// True if one value will replace both.
    fn have_same_value(&self, left: Value, right: Value) -> bool {
        if left == right || self.pairs.of.get(&left) == Some(&right) {
            return true;
        }
        let func = self.func();
        let (Some(a), Some(b)) = (func.def_inst(left), func.def_inst(right)) else { return false };
        let is_inside = |side: &BranchSide, inst| {
            func.layout.block_of(inst).is_some_and(|block| side.blocks.contains(block))
        };
        let may_be = || match (func.inst(a).op, func.inst(b).op) {
            (Op::Phi, Op::Phi) => func.value_type(left) == func.value_type(right),
            _ => merge(func, a, b).is_some(),
        };
        self.is_first && is_inside(&self.branch.left, a) && is_inside(&self.branch.right, b) && may_be()
    }

    /// Returns the cost of both instructions minus that of the merged one.
    fn saving(&self, left: Inst, right: Inst, merged: &MergedInst) -> i64 {
        let (func, facts, machine) = (self.func(), self.context.facts, self.context.machine);
        let (a, b) = (self.cost(left), self.cost(right));
        let together = match merged.op.info().effect {
            Effect::Callee => a.max(b),
            Effect::Reads | Effect::Writes => {
                let address = |inst| func.inst(inst).address();
                let (Some(x), Some(y)) = (address(left), address(right)) else { return 0 };
                let is_same = x == y
                    || self.pairs.of.get(&x) == Some(&y) && self.pairs.same.contains(&x)
                    || self.is_first && self.have_same_value(x, y);
                let ty = match merged.op {
                    Op::Load => func.results(left).first().map(|&value| func.value_type(value)),
                    _ => func.inst(left).args.first().map(|&value| func.value_type(value)),
                };
                let Some(ty) = ty else { return 0 };
                let access_pattern = if is_same {
                    AddressPattern::estimated(facts, x, ty.scalar())
                } else {
                    AddressPattern::Scattered
                };
                machine.access(AccessDirection::of(merged.op), ty, access_pattern)
            }
            _ => {
                let is_uniform =
                    |inst: Inst| func.result(inst).is_some_and(|value| facts.fact(value).is_uniform());
                let stays = is_uniform(left) && is_uniform(right);
                if stays && self.operands(merged).all(|(a, b)| self.select_cost(a, b) == 0) {
                    a.max(b)
                } else {
                    let ty = func.results(left).first().map(|&value| func.value_type(value));
                    let of = func.inst(left).args.first().map(|&value| func.value_type(value));
                    let ty = if matches!(merged.op, Op::Icmp | Op::Fcmp) { of } else { ty };
                    let of_one = |side: &[MergeOperand]| {
                        side.get(1).and_then(|operand| operand.constant(func)).cloned()
                    };
                    let by = (of_one(&merged.left), of_one(&merged.right));
                    let is_known = by.0.is_some() && by.0 == by.1;
                    ty.map_or(0, |ty| match is_known {
                        true => machine.operation_by_constant(merged.op, ty),
                        false => machine.operation(merged.op, ty),
                    })
                }
            }
        };
        a + b - together
    }

    /// Returns the cost of both sides.
    fn sides(&self) -> i64 {
        let blocks = self.branch.left.blocks.iter().chain(self.branch.right.blocks.iter());
        let of = |block| straight(self.func(), block).map(|inst| self.cost(inst)).sum::<i64>();
        blocks.map(|block| self.weight(block) * of(block)).sum()
    }

    fn cost(&self, inst: Inst) -> i64 {
        let func = self.func();
        let data = func.inst(inst);
        let accessed = match data.op {
            Op::Load => func.result(inst),
            Op::Store => data.args.first().copied(),
            _ => None,
        };
        let pattern = data.address().zip(accessed).map(|(address, accessed)| {
            AddressPattern::estimated(self.context.facts, address, func.value_type(accessed).scalar())
        });
        self.context.machine.inst(func, self.context.facts, inst, pattern)
    }

    /// Returns the additional cost of an access that is not merged, but whose address is: contiguous lanes become scattered.
    fn scatter_penalty(&self, inst: Inst) -> i64 {
        let (func, machine) = (self.func(), self.context.machine);
        let data = func.inst(inst);
        let accessed = match data.op {
            Op::Load => func.result(inst),
            Op::Store => data.args.first().copied(),
            _ => None,
        };
        let Some((value, address)) = accessed.zip(data.address()) else { return 0 };
        let is_merged = |(left, right): (&Value, &Value)| {
            (*left == address || *right == address) && !self.pairs.same.contains(left)
        };
        if !self.pairs.of.iter().any(is_merged) {
            return 0;
        }
        let ty = func.value_type(value);
        let cost = |access_pattern| machine.access(AccessDirection::of(data.op), ty, access_pattern);
        (cost(AddressPattern::Scattered)
            - cost(AddressPattern::estimated(self.context.facts, address, ty.scalar())))
        .max(0)
    }

    /// Returns the penalty for unmerged divisions by constants that both sides have. After the merged code, LLVM combines them to
    /// one division by a selected constant, which has no vector form, even if other operations lie between.
    fn division_penalty(&self, kept: &[(Inst, i64)]) -> i64 {
        let (func, machine) = (self.func(), self.context.machine);
        if machine == MachineModel::Warps {
            return 0;
        }
        let is_known = |&&(inst, _): &&(Inst, i64)| {
            let data = func.inst(inst);
            let is_quotient = matches!(data.op, Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem);
            is_quotient && func.constant(data.args[1]).is_some()
        };
        let of = |side: &BranchSide| -> Vec<(Inst, i64)> {
            let is_in = |inst| func.layout.block_of(inst).is_some_and(|block| side.blocks.contains(block));
            kept.iter().filter(is_known).copied().filter(|&(inst, _)| is_in(inst)).collect()
        };
        let (lefts, rights) = (of(&self.branch.left), of(&self.branch.right));
        let left_cost = |&(inst, weight): &(Inst, i64)| {
            let data = func.inst(inst);
            let has_mate = rights.iter().any(|&(other, _)| func.inst(other).op == data.op);
            if has_mate { weight * machine.operation(data.op, func.value_type(data.args[0])) } else { 0 }
        };
        lefts.iter().map(left_cost).sum()
    }

    fn weight(&self, block: Block) -> i64 {
        let depth = |block| self.context.control.cycles.depth_of_block(block);
        let deeper = depth(block).saturating_sub(depth(self.branch.block));
        TRIPS.pow(deeper.min(MAX_DEPTH) as u32)
    }

    /// Aligns two regions block by block and returns the gain; none if they are not isomorphic.
    fn pair_regions(&self, left: &SideRegion, right: &SideRegion) -> Option<(PairedRegions, i64)> {
        let func = self.func();
        let (swapped, pairs) = isomorphism(func, &self.context.control.cycles, left, right)?;
        let counterpart: FxHashMap<Block, Block> =
            pairs.iter().map(|&(a, b, _)| (a, b)).chain([(left.from, right.from)]).collect();
        let mut blocks = Vec::with_capacity(pairs.len());
        let mut gain = self.branch_gain(left.from, right.from, swapped);
        for (a, b, swapped) in pairs {
            let insts = [a, b].map(|block| straight(func, block).collect::<Vec<Inst>>());
            let [lefts, rights] = &insts;
            let cells = lefts.len().saturating_mul(rights.len());
            self.cells.set(self.cells.get().checked_sub(cells)?);
            let gap = self.context.machine.branch();
            let matrix =
                AlignmentMatrix::new(lefts.len(), rights.len(), gap, |i, j| self.gain(lefts[i], rights[j]));
            let weight = self.weight(a).max(self.weight(b));
            gain += weight * (matrix.profit() + self.branch_gain(a, b, swapped));
            let (steps, phis) = (matrix.alignment(), self.pair_phis(a, b, &counterpart));
            blocks.push(PairedBlocks { left: a, right: b, swapped, phis, insts, steps, weight });
        }
        let joins = |exit| exit != self.branch.join;
        let exit_phis = match joins(left.exit) && joins(right.exit) {
            true => self.pair_phis(left.exit, right.exit, &counterpart),
            false => Vec::new(),
        };
        Some((PairedRegions { swapped, blocks, exit_phis }, gain))
    }

    /// Returns the gain of merging two divergent branches.
    fn branch_gain(&self, left: Block, right: Block, swapped: bool) -> i64 {
        let func = self.func();
        let condition = |block| {
            let data = func.inst(func.terminator(block)?);
            (data.targets().len() == 2).then(|| data.args[0])
        };
        let (Some(a), Some(b)) = (condition(left), condition(right)) else { return 0 };
        let machine = self.context.machine;
        let parts = |block| self.context.facts.is_divergent_branch(block);
        let saved = if parts(left) && parts(right) { machine.branch() } else { -machine.branch() };
        let chosen = self.select_cost(&MergeOperand::Value(a), &MergeOperand::Value(b));
        saved - chosen - if swapped { machine.select(func.value_type(a)) } else { 0 }
    }

    /// Pairs φs of two merged blocks that agree in some operands.
    fn pair_phis(
        &self,
        left: Block,
        right: Block,
        counterpart: &FxHashMap<Block, Block>,
    ) -> Vec<(Inst, Inst)> {
        let func = self.func();
        let mut free: Vec<Inst> = func.phis(right).collect();
        let mut pairs = Vec::new();
        for a in func.phis(left) {
            let ty = |phi: Inst| func.result(phi).map(|value| func.value_type(value));
            let score = |b: &Inst| {
                let agreeing = func.inst(a).incoming().filter(|&(pred, x)| {
                    let other = counterpart.get(&pred).and_then(|&from| func.inst(*b).incoming_from(from));
                    other.is_some_and(|y| self.have_same_value(x, y))
                });
                if ty(a) == ty(*b) { agreeing.count() } else { 0 }
            };
            let best = (0..free.len()).max_by_key(|&at| (score(&free[at]), usize::MAX - at));
            if let Some(at) = best.filter(|&at| score(&free[at]) > 0) {
                pairs.push((a, free.remove(at)));
            }
        }
        pairs
    }

    /// Returns the pairs of values that a plan merges.
    fn pairs_of(&self, plan: &FusionPlan) -> ValuePairs {
        let mut pairs = ValuePairs::default();
        let (left, right) = (&self.branch.left, &self.branch.right);
        for &step in &plan.steps {
            let AlignmentStep::Both(i, j) = step else { continue };
            match (left.elements[i], right.elements[j]) {
                (SideElement::Inst(a), SideElement::Inst(b)) => self.add_pair(&mut pairs, a, b),
                (SideElement::NestedRegion(a), SideElement::NestedRegion(b)) => {
                    let Some(paired) = plan.regions.get(&(a, b)) else { continue };
                    for block in &paired.blocks {
                        block.phis.iter().for_each(|&(a, b)| self.add_pair(&mut pairs, a, b));
                        for &step in &block.steps {
                            if let AlignmentStep::Both(i, j) = step {
                                self.add_pair(&mut pairs, block.insts[0][i], block.insts[1][j]);
                            }
                        }
                    }
                    paired.exit_phis.iter().for_each(|&(a, b)| self.add_pair(&mut pairs, a, b));
                }
                _ => {}
            }
        }
        pairs
    }

    fn add_pair(&self, pairs: &mut ValuePairs, left: Inst, right: Inst) {
        let func = self.func();
        let is_same = func.inst(left).op == func.inst(right).op
            && merge(func, left, right).is_some_and(|mut merged| {
                let same = |a: &MergeOperand, b: &MergeOperand| match (a, b) {
                    (MergeOperand::Value(a), MergeOperand::Value(b)) => {
                        a == b || pairs.of.get(a) == Some(b) && pairs.same.contains(a)
                    }
                    _ => a == b,
                };
                orient(&mut merged, |a, b| i64::from(!same(a, b)));
                self.operands(&merged).all(|(a, b)| same(a, b))
            });
        for (&a, &b) in func.results(left).iter().zip(func.results(right)) {
            pairs.of.insert(a, b);
            if is_same {
                pairs.same.insert(a);
            }
        }
    }

    /// Estimates a plan: all savings, each select once, branches around gaps, and selects that the join no longer needs. The
    /// second result is the cost of the selects and branches.
    fn estimate(&self, plan: &FusionPlan) -> (i64, i64) {
        let after = BranchPlanner {
            context: self.context,
            branch: self.branch,
            pairs: self.pairs_of(plan),
            is_first: false,
            cells: Cell::new(0),
        };
        let mut estimate = FusionCost {
            planner: &after,
            selects: FxHashSet::default(),
            kept: Vec::new(),
            sum: 0,
            overhead: 0,
        };
        // The branch itself.
        estimate.sum += self.context.machine.branch();
        let (left, right) = (&self.branch.left, &self.branch.right);
        let elements = |step: AlignmentStep| match step {
            AlignmentStep::Both(i, j) => [Some(left.elements[i]), Some(right.elements[j])],
            AlignmentStep::Left(i) => [Some(left.elements[i]), None],
            AlignmentStep::Right(j) => [None, Some(right.elements[j])],
        };
        estimate.gaps(&plan.steps, 1, |step| elements(step).into_iter().flatten().collect());
        for &step in &plan.steps {
            match elements(step) {
                [Some(SideElement::Inst(a)), Some(SideElement::Inst(b))] => estimate.pair(a, b, 1),
                [Some(SideElement::NestedRegion(a)), Some(SideElement::NestedRegion(b))] => {
                    let Some(paired) = plan.regions.get(&(a, b)) else { continue };
                    let (a, b) = (&left.regions[a], &right.regions[b]);
                    estimate.sum += after.branch_gain(a.from, b.from, paired.swapped);
                    for block in &paired.blocks {
                        estimate.sum +=
                            block.weight * after.branch_gain(block.left, block.right, block.swapped);
                        estimate.gaps(&block.steps, block.weight, |step| match step {
                            AlignmentStep::Left(i) => vec![SideElement::Inst(block.insts[0][i])],
                            AlignmentStep::Right(j) => vec![SideElement::Inst(block.insts[1][j])],
                            AlignmentStep::Both(..) => Vec::new(),
                        });
                        for &step in &block.steps {
                            if let AlignmentStep::Both(i, j) = step {
                                estimate.pair(block.insts[0][i], block.insts[1][j], block.weight);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        if let (Some(a), Some(b)) = (left.last(self.branch.join), right.last(self.branch.join)) {
            estimate.join(a, b);
        }
        estimate.spend(after.division_penalty(&estimate.kept));
        (estimate.sum, estimate.overhead)
    }
}

struct FusionCost<'a, 'p> {
    planner: &'a BranchPlanner<'p>,
    selects: FxHashSet<(Value, Value)>,
    /// Unmerged instructions with their weights.
    kept: Vec<(Inst, i64)>,
    sum: i64,
    overhead: i64,
}

impl FusionCost<'_, '_> {
    fn pair(&mut self, left: Inst, right: Inst, weight: i64) {
        let planner = self.planner;
        let Some(merged) = planner.merge(left, right) else { return };
        self.sum += weight * planner.saving(left, right, &merged);
        for (a, b) in planner.operands(&merged) {
            let cost = planner.select_cost(a, b);
            let is_known = match (a, b) {
                (&MergeOperand::Value(a), &MergeOperand::Value(b)) if cost > 0 => {
                    !self.selects.insert((a, b))
                }
                _ => false,
            };
            self.spend(if is_known { 0 } else { weight * cost });
        }
    }

    /// Subtracts the branches around gaps that are not speculated.
    fn gaps(
        &mut self,
        steps: &[AlignmentStep],
        weight: i64,
        elements: impl Fn(AlignmentStep) -> Vec<SideElement>,
    ) {
        let machine = self.planner.context.machine;
        let is_pair = |step: &AlignmentStep| matches!(step, AlignmentStep::Both(..));
        for gap in steps.chunk_by(|a, b| is_pair(a) == is_pair(b)).filter(|gap| !is_pair(&gap[0])) {
            let elements: Vec<SideElement> = gap.iter().flat_map(|&step| elements(step)).collect();
            let is_executed = is_speculatable(self.planner.func(), machine, &elements);
            if !is_executed {
                self.spend(weight * machine.branch());
            }
            let lone = |element: &SideElement| match *element {
                SideElement::Inst(inst) => Some(inst),
                SideElement::NestedRegion(_) => None,
            };
            let lone: Vec<Inst> = elements.iter().filter_map(lone).collect();
            if is_executed {
                // Diverging lanes execute it in any case, others execute the other side's part too: about half of the cost.
                let cost: i64 = lone.iter().map(|&inst| self.planner.cost(inst)).sum();
                self.overhead += weight * cost / 2;
            }
            let moved: i64 = lone.iter().map(|&inst| self.planner.scatter_penalty(inst)).sum();
            self.spend(weight * moved);
            self.kept.extend(lone.iter().map(|&inst| (inst, weight)));
        }
    }

    fn spend(&mut self, cost: i64) {
        self.sum -= cost;
        self.overhead += cost;
    }

    /// Adds the selects of the join's φs that are no longer needed. On a warp, where φs are free, subtracts the new selects instead.
    fn join(&mut self, left: Block, right: Block) {
        let planner = self.planner;
        let func = planner.func();
        for phi in func.phis(planner.branch.join) {
            let [Some(a), Some(b)] = [left, right].map(|block| func.inst(phi).incoming_from(block)) else {
                continue;
            };
            let machine = planner.context.machine;
            let select = machine.select(func.value_type(a));
            let is_chosen = planner.have_same_value(a, b) || self.selects.contains(&(a, b));
            match machine {
                _ if a == b => {}
                MachineModel::Vectors(..) if is_chosen => self.sum += select,
                MachineModel::Warps if !is_chosen => self.spend(select),
                _ => {}
            }
        }
    }
}

/// Swaps the right operands of a commutative instruction if that is cheaper.
pub(super) fn orient(merged: &mut MergedInst, mut cost: impl FnMut(&MergeOperand, &MergeOperand) -> i64) {
    if !merged.commutes {
        return;
    }
    let [a, b] = [&merged.left[0], &merged.left[1]];
    let [x, y] = [&merged.right[0], &merged.right[1]];
    if cost(a, y) + cost(b, x) < cost(a, x) + cost(b, y) {
        merged.right.swap(0, 1);
    }
}

/// True if all lanes may and should execute a gap without a branch. Lanes of the other side never read its results, so these
/// may be poison.
pub(super) fn is_speculatable(func: &Function, machine: MachineModel, gap: &[SideElement]) -> bool {
    let mut cost = 0;
    gap.iter().all(|element| match element {
        SideElement::Inst(inst) => {
            let data = func.inst(*inst);
            let ty = func.result(*inst).map(|value| func.value_type(value));
            cost += ty.map_or(0, |ty| machine.operation(data.op, ty));
            data.op.info().effect == Effect::Pure
                && is_mergeable(func, data)
                && cost <= machine.max_speculated_cost()
        }
        SideElement::NestedRegion(_) => false,
    })
}

/// Block of the left region, its counterpart in the right one, and true if the targets of their branches are swapped.
type BlockPair = (Block, Block, bool);

/// Returns the isomorphism of two regions: pairs of blocks, and true if the targets of the branches into the regions are
/// swapped. None if the regions are not isomorphic.
fn isomorphism(
    func: &Function,
    cycles: &CycleForest,
    left: &SideRegion,
    right: &SideRegion,
) -> Option<(bool, Vec<BlockPair>)> {
    if left.blocks.len() != right.blocks.len() {
        return None;
    }
    let mut counterpart: FxHashMap<Block, Block> = FxHashMap::from_iter([(left.exit, right.exit)]);
    let mut left_of: FxHashMap<Block, Block> = FxHashMap::from_iter([(right.exit, left.exit)]);
    let mut swaps: FxHashMap<Block, bool> = FxHashMap::default();
    let mut worklist = vec![(left.from, right.from)];
    while let Some((a, b)) = worklist.pop() {
        let (from, to) = (func.successors(a), func.successors(b));
        let fits = |swapped: bool| {
            let other = |at: usize| if swapped { to[to.len() - 1 - at] } else { to[at] };
            let fits = |at: usize| match (counterpart.get(&from[at]), left_of.get(&other(at))) {
                (None, None) => true,
                (Some(mate), Some(left)) => *mate == other(at) && *left == from[at],
                _ => false,
            };
            let are_alike = from.len() < 2 || (from[0] == from[1]) == (to[0] == to[1]);
            are_alike && (0..from.len()).all(fits)
        };
        if from.len() != to.len() || from.len() > 2 {
            return None;
        }
        let swapped = [false, true].into_iter().find(|&swapped| fits(swapped))?;
        swaps.insert(a, swapped);
        for at in 0..from.len() {
            let other = if swapped { to[to.len() - 1 - at] } else { to[at] };
            if counterpart.insert(from[at], other).is_none() {
                left_of.insert(other, from[at]);
                worklist.push((from[at], other));
            }
        }
    }
    let is_header = |block| cycles.headed_by(block).is_some();
    let pairs: Option<Vec<BlockPair>> =
        left.blocks.iter().map(|&a| Some((a, *counterpart.get(&a)?, *swaps.get(&a)?))).collect();
    let pairs = pairs?;
    pairs.iter().all(|&(a, b, _)| is_header(a) == is_header(b)).then(|| (swaps[&left.from], pairs))
}
