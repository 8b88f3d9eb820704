//! Repairs SSA form: replaces uses of a value that its definition no longer dominates.
//!
//! A variable has a value at its definitions and a φ at each of its joins. A use takes the nearest of these up the dominator
//! tree. A φ is created at its first use, so none is dead. The joins must contain their own iterated dominance frontier as far as the
//! first definition dominates it, and that definition must dominate all uses; then every use finds one.

use heddle_analysis::{Cfg, DominanceFrontier, DominatorTree};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, Inst, Type, Value};

use crate::edges::{prepend_phi, set_incoming};

/// Tables shared by the repairs of all variables of a function.
#[derive(Debug)]
pub(crate) struct SsaRepair<'a> {
    cfg: &'a Cfg,
    dominators: &'a DominatorTree,
    frontier: DominanceFrontier<'a>,
    /// Position in the dominator tree's pre-order.
    number: SecondaryMap<Block, u32>,
}

/// Use of a value: the block is the user's, or the predecessor for a φ operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UseSite {
    pub(crate) inst: Inst,
    pub(crate) operand: usize,
    pub(crate) block: Block,
}

/// φ created by a repair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepairPhi {
    pub(crate) block: Block,
    pub(crate) inst: Inst,
    pub(crate) value: Value,
}

/// Variable under repair.
#[derive(Debug)]
pub(crate) struct RepairVariable<'a> {
    repair: &'a SsaRepair<'a>,
    ty: Type,
    /// Definitions and joins, in the dominator tree's pre-order.
    sites: Vec<VariableDef>,
    phis: Vec<RepairPhi>,
    num_filled: usize,
}

#[derive(Debug)]
struct VariableDef {
    block: Block,
    /// Its value, once known.
    value: Option<Value>,
    /// Nearest site up the dominator tree.
    above: Option<u32>,
}

impl<'a> SsaRepair<'a> {
    pub(crate) fn new(cfg: &'a Cfg, dominators: &'a DominatorTree) -> Self {
        let mut number = SecondaryMap::with_len(cfg.num_blocks());
        for (position, &block) in dominators.pre_order().iter().enumerate() {
            number[block] = position as u32;
        }
        Self { cfg, dominators, frontier: DominanceFrontier::new(cfg, dominators), number }
    }

    /// Returns the iterated dominance frontier of these blocks.
    pub(crate) fn iterated_frontier(&self, joins: &[Block]) -> Vec<Block> {
        self.frontier.iterated(joins.iter().copied())
    }

    /// Rewrites uses of a variable with these definitions, of which the first dominates all others.
    pub(crate) fn rename(&self, func: &mut Function, definitions: &[(Block, Value)], reads: &[UseSite]) {
        let blocks: Vec<Block> = definitions.iter().skip(1).map(|&(block, _)| block).collect();
        let joins = self.iterated_frontier(&blocks);
        let mut variable = self.variable_from(func, definitions, joins);
        let names: Vec<Value> = reads.iter().map(|read| variable.read(func, read.block)).collect();
        variable.finish(func);
        for (read, name) in reads.iter().zip(names) {
            func.inst_mut(read.inst).args[read.operand] = name;
        }
    }

    /// Creates a variable with one definition and these joins.
    pub(crate) fn variable(
        &'a self,
        func: &Function,
        definition: (Block, Value),
        joins: impl IntoIterator<Item = Block>,
    ) -> RepairVariable<'a> {
        self.variable_from(func, &[definition], joins)
    }

    /// Creates a variable with several definitions, of which the first dominates all others, and these joins.
    pub(crate) fn variable_from(
        &'a self,
        func: &Function,
        definitions: &[(Block, Value)],
        joins: impl IntoIterator<Item = Block>,
    ) -> RepairVariable<'a> {
        let (block, value) = definitions[0];
        let site = |&(block, value): &(Block, Value)| VariableDef { block, value: Some(value), above: None };
        let mut sites: Vec<VariableDef> = definitions.iter().map(site).collect();
        let joins = joins.into_iter().filter(|&join| self.dominators.strictly_dominates(block, join));
        sites.extend(joins.map(|block| VariableDef { block, value: None, above: None }));
        sites.sort_by_key(|site| self.number[site.block]);
        sites.dedup_by_key(|site| site.block);
        let mut open: Vec<u32> = Vec::new();
        for index in 0..sites.len() {
            let block = sites[index].block;
            while open.last().is_some_and(|&top| !self.dominators.dominates(sites[top as usize].block, block))
            {
                open.pop();
            }
            sites[index].above = open.last().copied();
            open.push(index as u32);
        }
        RepairVariable { repair: self, ty: func.value_type(value), sites, phis: Vec::new(), num_filled: 0 }
    }
}

impl RepairVariable<'_> {
    /// Returns the variable's value in a block: after its φs, and after the definition if the block has one.
    pub(crate) fn read(&mut self, func: &mut Function, block: Block) -> Value {
        let site = self.nearest(block);
        self.value_of(func, site)
    }

    /// Returns the variable's value before the φs of the block, for a shadow.
    pub(crate) fn read_above(&mut self, func: &mut Function, block: Block) -> Value {
        let above = self.repair.dominators.idom(block).unwrap_or(block);
        self.read(func, above)
    }

    /// Fills in the operands of all φs created by uses, and returns the φs in creation order.
    pub(crate) fn finish(mut self, func: &mut Function) -> Vec<RepairPhi> {
        while let Some(&RepairPhi { block, inst, .. }) = self.phis.get(self.num_filled) {
            self.num_filled += 1;
            let mut preds = self.repair.cfg.preds(block).to_vec();
            preds.sort_unstable();
            preds.dedup();
            let incoming: Vec<(Block, Value)> =
                preds.into_iter().map(|pred| (pred, self.read(func, pred))).collect();
            set_incoming(func, inst, incoming);
        }
        self.phis
    }

    fn nearest(&self, block: Block) -> usize {
        let number = self.repair.number[block];
        let behind = self.sites.partition_point(|site| self.repair.number[site.block] <= number);
        let mut site = behind.checked_sub(1);
        while let Some(index) = site {
            if self.repair.dominators.dominates(self.sites[index].block, block) {
                return index;
            }
            site = self.sites[index].above.map(|above| above as usize);
        }
        panic!("{block} reads a value whose definition in {} does not dominate it", self.sites[0].block);
    }

    fn value_of(&mut self, func: &mut Function, site: usize) -> Value {
        let block = self.sites[site].block;
        *self.sites[site].value.get_or_insert_with(|| {
            let value = prepend_phi(func, block, InstData::phi([], None), self.ty);
            let inst = func.def_inst(value).expect("a φ defines its result");
            self.phis.push(RepairPhi { block, inst, value });
            value
        })
    }
}
