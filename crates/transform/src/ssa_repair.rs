//! Repairs SSA form: replaces uses of a value that its definition no longer dominates.
//!
//! A variable has a value at its definitions and a φ at each of its joins. A use takes the nearest of these up the dominator
//! tree. A φ is created at its first use, so none is dead. The joins must contain their own iterated dominance frontier as far as the
//! first definition dominates it, and that definition must dominate all uses; then every use finds one.

use heddle_analysis::{Cfg, DominanceFrontier, DominatorTree};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::{Block, Function, Inst, Type, Value};
use std::collections::BTreeMap;

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

/// Position of a use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UseSlot {
    Operand(Inst, usize),
    Shadow(Inst, usize),
    Predicate,
}

/// Use of a value and the block where the value must be available: the predecessor for a φ operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UseSite {
    pub(crate) block: Block,
    pub(crate) slot: UseSlot,
}

impl UseSite {
    /// Replaces the used value.
    pub(crate) fn set(self, func: &mut Function, value: Value) {
        match self.slot {
            UseSlot::Operand(inst, index) | UseSlot::Shadow(inst, index) => {
                func.inst_mut(inst).args[index] = value;
            }
            UseSlot::Predicate => func.set_predicate(self.block, Some(value)),
        }
    }
}

/// Returns the uses in a block, in order.
pub(crate) fn uses_in(func: &Function, block: Block) -> impl Iterator<Item = (Value, UseSite)> + '_ {
    let predicate = func.predicate(block).map(|value| (value, UseSite { block, slot: UseSlot::Predicate }));
    let operands = func.block_insts(block).flat_map(move |inst| {
        let data = func.inst(inst);
        let read = move |index| match &data.detail {
            Detail::Phi(from) => match from.get(index) {
                Some(&pred) => UseSite { block: pred, slot: UseSlot::Operand(inst, index) },
                None => UseSite { block, slot: UseSlot::Shadow(inst, index) },
            },
            _ => UseSite { block, slot: UseSlot::Operand(inst, index) },
        };
        data.args.iter().enumerate().map(move |(index, &value)| (value, read(index)))
    });
    predicate.into_iter().chain(operands)
}

/// Returns the values, with their blocks, and their uses in `blocks` that the definitions do not dominate. `read_in` maps the block of a
/// use to the one where the value is read.
pub(crate) fn find_broken_uses(
    func: &Function,
    dominators: &DominatorTree,
    blocks: impl IntoIterator<Item = Block>,
    read_in: impl Fn(Block) -> Block,
) -> BTreeMap<Value, (Block, Vec<UseSite>)> {
    let mut broken: BTreeMap<Value, (Block, Vec<UseSite>)> = BTreeMap::new();
    for (value, read) in blocks.into_iter().flat_map(|block| uses_in(func, block)) {
        let read = UseSite { block: read_in(read.block), ..read };
        let def_block = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
        if let Some(def_block) = def_block.filter(|&above| !dominators.dominates(above, read.block)) {
            broken.entry(value).or_insert_with(|| (def_block, Vec::new())).1.push(read);
        }
    }
    broken
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
        let names: Vec<Value> = reads.iter().map(|&read| variable.read_at(func, read)).collect();
        variable.finish(func);
        reads.iter().zip(names).for_each(|(read, name)| read.set(func, name));
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

    /// Returns the variable's value at a use; at a shadow, before the φs of its block.
    pub(crate) fn read_at(&mut self, func: &mut Function, site: UseSite) -> Value {
        let above = match site.slot {
            UseSlot::Shadow(..) => self.repair.dominators.idom(site.block),
            _ => None,
        };
        self.read(func, above.unwrap_or(site.block))
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
