//! Replaces results by available values: folded ones, φs with a single value, and earlier computations (dominator-based CSE).
//!
//! A single walk down the dominator tree. An instruction that a dominating block has already computed is replaced by the earlier one,
//! which keeps only the flags of both. Exceptions are instructions that depend on the active lanes (horizontals, `mask`),
//! on memory, or on when they execute; and
//!
//! * under a block predicate, only values computed without one, or under the same one, are available;
//! * in LCSSA form, only values computed in no inner loop are used, so the form is preserved. A φ with a single value in a
//!   loop's exit is not a copy, since it closes the loop;
//! * in a function with `total` instructions or shadows, which observe passive lanes, results are replaced by constants
//!   only.

use heddle_analysis::{CycleForest, DominatorTree};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::Effects;
use heddle_ir::ops::{Effect, Op};
use heddle_ir::types::Type;
use heddle_ir::words::Flags;
use heddle_ir::{Block, Constant, Function, Inst, Value, ValueDef};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::hash::BuildHasher as _;

use super::ReplacementLimits;
use super::fold::{FoldedResult, fold};
use crate::cfg_analyses::CfgAnalyses;

/// Summary of one replacement pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplacementSummary {
    /// True if anything was replaced.
    pub(crate) any: bool,
    /// True if another pass may find more: a value was replaced after one of its users was visited.
    pub(crate) may_find_more: bool,
    /// True if a branch condition became constant.
    pub(crate) branches_change: bool,
}

/// Replaces results by available values.
pub(super) fn replace_values(
    func: &mut Function,
    flow: &CfgAnalyses,
    limits: ReplacementLimits,
) -> ReplacementSummary {
    let replaced_by = SecondaryMap::with_len(func.value_count());
    let available = AvailableInsts {
        by_operand: SecondaryMap::with_len(func.value_count()),
        ..AvailableInsts::default()
    };
    let mut pass = ValueReplacer {
        func,
        dominators: flow.dominators(),
        forest: flow.forest(),
        limits,
        replaced_by,
        available,
        phis: Vec::new(),
        any: false,
        branches_change: false,
    };
    for block in flow.dominator_preorder(pass.func) {
        pass.visit(block);
    }
    let ValueReplacer { func, mut replaced_by, phis, any, branches_change, .. } = pass;
    let mut may_find_more = false;
    if any {
        let mut late = |value| {
            let now = resolve(&mut replaced_by, value);
            may_find_more |= now != value;
            now
        };
        // φs read along back edges, whose values were replaced later. All other users come after their operands, except in unreachable
        // code.
        phis.into_iter().for_each(|phi| func.inst_mut(phi).map_values(&mut late));
        let unreachable: Vec<Block> = func.blocks().filter(|&block| !flow.cfg.is_reachable(block)).collect();
        unreachable.into_iter().for_each(|block| func.map_values_of_block(block, &mut late));
    }
    ReplacementSummary { any, may_find_more, branches_change }
}

/// True if a block reads values in lanes that did not execute their definitions.
pub(crate) fn observes_passive_lanes(func: &Function, block: Block) -> bool {
    func.block_insts(block).any(|inst| func.inst(inst).is_total() || func.inst(inst).shadow().is_some())
}

type Replacements = SecondaryMap<Value, Option<Value>>;

/// Returns the current replacement of a value. Halves paths on the way, so that they stay short.
fn resolve(replaced_by: &mut Replacements, mut value: Value) -> Value {
    while let Some(next) = replaced_by[value] {
        if let Some(behind) = replaced_by[next] {
            replaced_by[value] = Some(behind);
        }
        value = next;
    }
    value
}

/// Key under which two instructions compute the same result.
#[derive(PartialEq, Eq, Hash)]
struct ComputationKey<'f> {
    op: Op,
    args: SmallVec<[Value; 4]>,
    detail: &'f Detail,
    flags: Flags,
    results: SmallVec<[Type; 1]>,
}

impl<'f> ComputationKey<'f> {
    fn new(func: &'f Function, inst: Inst) -> ComputationKey<'f> {
        let data = func.inst(inst);
        let mut args: SmallVec<[Value; 4]> = data.args.iter().copied().collect();
        if is_commutative(data.op) && args[1] < args[0] {
            args.swap(0, 1);
        }
        let results = func.results(inst).iter().map(|&result| func.value_type(result)).collect();
        ComputationKey {
            op: data.op,
            args,
            detail: &data.detail,
            flags: data.flags.without(Flags::POISON),
            results,
        }
    }
}

/// Latest instruction with each key. One that does not dominate the current block never will again.
#[derive(Default)]
struct AvailableInsts {
    /// By the operand defined last: most values have few users, which are close.
    by_operand: SecondaryMap<Value, [Option<Inst>; 2]>,
    /// Others by the hash of their key; colliding keys displace each other.
    by_hash: FxHashMap<u32, Option<Inst>>,
}

impl AvailableInsts {
    /// Returns the slot for an instruction with this key, whether occupied or empty.
    fn slot(&mut self, func: &Function, key: &ComputationKey<'_>) -> &mut Option<Inst> {
        let results = key.args.iter().copied().filter(|&arg| func.def_inst(arg).is_some());
        if let Some(operand) = results.max() {
            let is_right =
                |slot: &Option<Inst>| slot.is_none_or(|earlier| ComputationKey::new(func, earlier) == *key);
            // The index first: a borrow of the result would last too long.
            if let Some(at) = self.by_operand[operand].iter().position(is_right) {
                return &mut self.by_operand[operand][at];
            }
        }
        self.by_hash.entry(FxBuildHasher.hash_one(key) as u32).or_default()
    }
}

struct ValueReplacer<'a> {
    func: &'a mut Function,
    dominators: &'a DominatorTree,
    forest: &'a CycleForest,
    limits: ReplacementLimits,
    replaced_by: Replacements,
    available: AvailableInsts,
    /// φs visited so far.
    phis: Vec<Inst>,
    any: bool,
    /// True if a branch condition became constant.
    branches_change: bool,
}

impl ValueReplacer<'_> {
    fn visit(&mut self, block: Block) {
        let mut next = self.func.layout.first_inst(block);
        while let Some(inst) = next {
            next = self.func.layout.next_inst(inst);
            let replaced_by = &mut self.replaced_by;
            let mut is_new = false;
            let data = self.func.inst_mut(inst);
            data.map_values(|value| {
                let now = resolve(replaced_by, value);
                is_new |= now != value;
                now
            });
            if data.op == Op::Phi {
                self.phis.push(inst);
            }
            if is_new && data.op.is_terminator() {
                let requested = data.args.first().copied();
                self.branches_change |= requested.is_some_and(|value| self.func.constant(value).is_some());
            }
            if let Some(result) = self.func.result(inst)
                && let Some(value) = self.value_for(inst, result, block)
            {
                self.replace(result, value);
            } else {
                self.merge(inst, block);
            }
        }
        if let Some(predicate) = self.func.predicate(block) {
            let predicate = resolve(&mut self.replaced_by, predicate);
            self.func.set_predicate(block, Some(predicate));
        }
    }

    fn replace(&mut self, old: Value, new: Value) {
        let new = resolve(&mut self.replaced_by, new);
        if old != new {
            self.replaced_by[old] = Some(new);
            self.any = true;
        }
    }

    /// Returns a replacement for an instruction's result.
    fn value_for(&mut self, inst: Inst, result: Value, block: Block) -> Option<Value> {
        let ty = self.func.value_type(result);
        let data = self.func.inst(inst);
        let folded = match data.op {
            Op::Phi => self.only_incoming(data, result, block).map(FoldedResult::Value),
            _ => fold(self.func, data, ty),
        };
        let value = match folded? {
            FoldedResult::Value(value) => value,
            FoldedResult::Bits(bits) => self.func.make_const(Constant::splat(ty, bits)),
            FoldedResult::Poison => self.func.make_poison(ty),
        };
        let is_constant = self.func.value_def(value) == ValueDef::Const;
        (is_constant || !self.limits.constants_only && self.preserves_lcssa(value, block)).then_some(value)
    }

    /// Returns the single value of a φ, ignoring itself and poison, if the value is available at the φ.
    fn only_incoming(&self, data: &InstData, result: Value, block: Block) -> Option<Value> {
        if data.shadow().is_some() {
            return None;
        }
        let mut only = None;
        let mut has_poison = false;
        for (_, value) in data.incoming() {
            if value == result {
                continue;
            }
            if matches!(self.func.constant(value), Some(Constant::Poison(_))) {
                has_poison = true;
                continue;
            }
            if *only.get_or_insert(value) != value {
                return None;
            }
        }
        let Some(value) = only else {
            // All operands are poison or the φ itself.
            return data.incoming().map(|(_, value)| value).find(|&value| value != result);
        };
        let is_available = match self.func.def_inst(value).and_then(|inst| self.func.layout.block_of(inst)) {
            Some(def_block) => !has_poison || self.dominators.strictly_dominates(def_block, block),
            None => true,
        };
        is_available.then_some(value)
    }

    /// True if a use of the value in this block preserves LCSSA form.
    fn preserves_lcssa(&self, value: Value, block: Block) -> bool {
        let def_block = self.func.def_inst(value).and_then(|inst| self.func.layout.block_of(inst));
        let cycle = def_block.and_then(|def_block| self.forest.innermost(def_block));
        !self.limits.preserve_lcssa || cycle.is_none_or(|cycle| self.forest.contains(cycle, block))
    }

    /// Replaces the instruction by an earlier one with the same key, or records it for later ones.
    fn merge(&mut self, inst: Inst, block: Block) {
        if self.limits.constants_only || !self.is_mergeable(inst) {
            return;
        }
        let key = ComputationKey::new(self.func, inst);
        let earlier = self.available.slot(self.func, &key).replace(inst);
        let is_same = |earlier: &Inst| ComputationKey::new(self.func, *earlier) == key;
        let Some(earlier) = earlier.filter(is_same).filter(|&earlier| self.is_available(earlier, block))
        else {
            return;
        };
        *self.available.slot(self.func, &key) = Some(earlier);
        let (kept, dropped) = (self.func.inst(earlier), self.func.inst(inst));
        let flags = kept.flags.intersection(dropped.flags);
        let origin = self.func.origin(kept.origin).merged(self.func.origin(dropped.origin));
        let origin = self.func.make_origin(origin);
        let kept = self.func.inst_mut(earlier);
        (kept.flags, kept.origin) = (flags, origin);
        let pairs: Vec<(Value, Value)> =
            self.func.results(inst).iter().copied().zip(self.func.results(earlier).iter().copied()).collect();
        for (old, new) in pairs {
            self.replace(old, new);
        }
    }

    /// True if an earlier instruction's result is available in this block and may be used.
    fn is_available(&self, earlier: Inst, block: Block) -> bool {
        let Some(def_block) = self.func.layout.block_of(earlier) else { return false };
        let predicate = self.func.predicate(def_block);
        self.dominators.dominates(def_block, block)
            && (predicate.is_none() || predicate == self.func.predicate(block))
            && self.preserves_lcssa(self.func.results(earlier)[0], block)
    }

    fn is_mergeable(&self, inst: Inst) -> bool {
        let data = self.func.inst(inst);
        !self.func.results(inst).is_empty()
            && match data.op.info().effect {
                Effect::Pure | Effect::Traps => true,
                Effect::Callee => {
                    let callee = self.func.callee_of(data);
                    data.op == Op::Call
                        && callee.is_some_and(|callee| callee.signature.effects == Effects::PURE)
                }
                _ => false,
            }
    }
}

pub(crate) fn is_commutative(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Mul
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Umin
            | Op::Umax
            | Op::Smin
            | Op::Smax
            | Op::Fadd
            | Op::Fmul
    )
}
