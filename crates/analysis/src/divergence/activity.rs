//! Activation of blocks: the lanes that are active in each block.

use heddle_ir::entity::EntitySet;
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Inst};

use super::facts::agreement_on;
use super::solver::{DivergenceSolver, WorklistItem};
use crate::control_tables::ControlTables;
use crate::dominators::PostDominatorTree;
use crate::shape::Activation;

impl DivergenceSolver<'_> {
    /// Updates the activation of all blocks; true if an instruction that depends on it was queued.
    pub(super) fn update_activation(&mut self) -> bool {
        let is_late = |cycle| self.loop_agreement(cycle).is_none();
        let lacks = self.sync.partial_blocks(&self.region_roots, is_late);
        let mut is_new = false;
        for at in 0..self.control.index.order().len() {
            let block = self.control.index.order()[at];
            let new = self.block_activation(block, &lacks);
            if new == self.activation[block] {
                continue;
            }
            self.activation[block] = new;
            for inst in self.func.block_insts(block) {
                let data = self.func.inst(inst);
                let asks = data.op.info().effect == Effect::Horizontal || data.shadow().is_some();
                // Its results may be missing in some lanes where a `total` instruction uses them.
                let users = self.func.results(inst).iter().flat_map(|&result| self.uses.of(result));
                let total: Vec<Inst> =
                    users.copied().filter(|&user| self.func.inst(user).is_total()).collect();
                for user in total.into_iter().chain(asks.then_some(inst)) {
                    is_new = true;
                    self.push(WorklistItem::Inst(user));
                }
            }
        }
        is_new
    }

    pub(super) fn block_activation(&self, block: Block, lacks: &EntitySet<Block>) -> Activation {
        let by_predicate = match self.func.predicate(block) {
            None => Activation::Full,
            Some(predicate) => {
                let fact = self.facts[predicate];
                match (fact.shape.constant(1), agreement_on(fact)) {
                    (Some(1), _) => Activation::Full,
                    (_, Some(_)) => Activation::Uniform,
                    _ => Activation::Varying,
                }
            }
        };
        match by_predicate {
            Activation::Varying => Activation::Varying,
            _ if lacks.contains(block) => Activation::Varying,
            Activation::Full if self.always_executed.contains(block) => Activation::Full,
            _ => Activation::Uniform,
        }
    }
}

/// Returns the blocks on every path from the entry to a return.
pub(super) fn always_executed(control: &ControlTables) -> EntitySet<Block> {
    let post_dominators = PostDominatorTree::new(&control.cfg);
    let entry = control.cfg.entry();
    std::iter::successors(Some(entry), |&block| post_dominators.ipdom(block)).collect()
}
