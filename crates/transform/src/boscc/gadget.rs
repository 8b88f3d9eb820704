//! Inserts guards: before a branch, or at the entry of a block.

use std::collections::BTreeMap;

use heddle_analysis::Cfg;
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, Op, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::edges::{add_incoming, phis, replace_predecessors, retarget};

/// Editor of the control-flow graph that keeps predecessors up to date.
pub(super) struct GuardEditor {
    preds: SecondaryMap<Block, SmallVec<[Block; 2]>>,
    /// Per block, pending replacements of φ predecessors. [`GuardEditor::finish_arms`] applies them at once: a join may
    /// have an edge from each of many guards.
    replaced: BTreeMap<Block, FxHashMap<Block, SmallVec<[Block; 2]>>>,
}

impl GuardEditor {
    pub(super) fn new(cfg: &Cfg) -> GuardEditor {
        let mut preds: SecondaryMap<Block, SmallVec<[Block; 2]>> = SecondaryMap::with_len(cfg.num_blocks());
        for block in cfg.blocks() {
            preds[block] = cfg.preds(block).iter().copied().collect();
            preds[block].sort_unstable();
            preds[block].dedup();
        }
        GuardEditor { preds, replaced: BTreeMap::new() }
    }

    /// Inserts a vote before a block's branch: does any lane take this target? If the block may run with an empty mask, the
    /// vote is total.
    pub(super) fn guard_arm(
        &mut self,
        func: &mut Function,
        (from, slot): (Block, usize),
        arm: Block,
        is_occupied: bool,
    ) {
        let branch = func.terminator(from).expect("a complete block has a terminator");
        let condition = func.inst(branch).args[0];
        let op = if slot == 0 { Op::Any } else { Op::All };
        self.split_branch(func, (from, slot), arm, |func| match is_occupied {
            true => append(func, from, InstData::plain(op, [condition])),
            false => {
                let mask = append(func, from, InstData::plain(Op::Mask, []));
                let neutral = func.make_bool(op == Op::All);
                let active = InstData::plain(Op::Select, [mask, condition, neutral]).total();
                let active = append(func, from, active);
                append(func, from, InstData::plain(op, [active]).total())
            }
        });
    }

    /// Inserts a uniform branch before a block's branch, which skips an arm: for the first target where the condition is false, for the
    /// second one where it is true. Returns the block of the branch that was there.
    pub(super) fn split_branch(
        &mut self,
        func: &mut Function,
        (from, slot): (Block, usize),
        arm: Block,
        condition: impl FnOnce(&mut Function) -> Value,
    ) -> Block {
        let branch = func.terminator(from).expect("a complete block has a terminator");
        let other = func.inst(branch).targets()[1 - slot];
        let rest = func.insert_block_after(from);
        func.layout.remove_inst(branch);
        func.layout.append_inst(branch, rest);
        let targets = if slot == 0 { [rest, other] } else { [other, rest] };
        let condition = condition(func);
        append_branch(func, from, condition, targets);
        self.replaced.entry(arm).or_default().insert(from, smallvec![rest]);
        self.replaced.entry(other).or_default().insert(from, smallvec![from, rest]);
        self.preds[rest] = smallvec![from];
        self.preds[arm] = smallvec![rest];
        self.preds[other].push(rest);
        rest
    }

    /// Updates the φs that guards of arms affect.
    pub(super) fn finish_arms(&mut self, func: &mut Function) {
        for (block, replaced) in std::mem::take(&mut self.replaced) {
            replace_predecessors(func, block, &replaced);
        }
    }

    /// Inserts a vote at the entry of a block; with an empty mask control continues at another block.
    pub(super) fn guard_entry(&mut self, func: &mut Function, block: Block, after: Block) {
        let before = func.layout.prev_block(block).expect("a block that is not the entry is after one");
        let voting = func.insert_block_after(before);
        for &from in &self.preds[block] {
            retarget(func, from, block, voting);
        }
        self.preds[voting] = std::mem::replace(&mut self.preds[block], smallvec![voting]);
        for phi in phis(func, block) {
            func.layout.remove_inst(phi);
            func.layout.append_inst(phi, voting);
        }
        let mask = append(func, voting, InstData::plain(Op::Mask, []));
        let vote = append(func, voting, InstData::plain(Op::Any, [mask]).total());
        append_branch(func, voting, vote, [block, after]);
        for phi in phis(func, after) {
            let poison = func.make_poison(func.value_type(func.results(phi)[0]));
            add_incoming(func, phi, voting, poison);
        }
        self.preds[after].push(voting);
    }
}

pub(super) fn append(func: &mut Function, block: Block, data: InstData) -> Value {
    let inst = func.make_inst(data, &[Type::I1]);
    func.layout.append_inst(inst, block);
    func.results(inst)[0]
}

fn append_branch(func: &mut Function, block: Block, condition: Value, [then, otherwise]: [Block; 2]) {
    let branch = func.make_inst(InstData::branch(condition, then, otherwise), &[]);
    func.layout.append_inst(branch, block);
}
