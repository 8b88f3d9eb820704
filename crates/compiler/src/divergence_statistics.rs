//! Statistics of a loop's divergence: branches, loops, accesses and objects by whether lanes share them.

use heddle_analysis::cycles::Cycle;
use heddle_analysis::shape::Geometry;
use heddle_analysis::{Activation, ControlTables, Divergence, InitialShapes, divergence};
use heddle_ir::{Block, Function, Op};
use std::fmt;

/// Counts over a loop's body. Pairs count uniform, then divergent entities; triples count by mask: none, uniform, varying.
///
/// After: Moll, thesis, Fig. 13.1.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DivergenceStatistics {
    /// Branches.
    pub branches: [usize; 2],
    /// Inner loops.
    pub loops: [usize; 2],
    /// Exits of divergent inner loops.
    pub exits: [usize; 2],
    /// Loads.
    pub loads: [usize; 3],
    /// Stores.
    pub stores: [usize; 3],
    /// Private objects: shared by all lanes, one for each lane.
    pub objects: [usize; 2],
}

impl DivergenceStatistics {
    /// Counts the blocks that `is_counted` selects, in a function that all lanes enter.
    pub(crate) fn of_blocks(func: &Function, is_counted: impl Fn(Block) -> bool) -> DivergenceStatistics {
        let control = ControlTables::new(func);
        let initial = InitialShapes::declared(func, Geometry::unknown()).with_entry(Activation::Full);
        let facts = divergence(func, &control, &initial);
        let mut counts = DivergenceStatistics::default();
        let is_inner =
            |cycle: &Cycle| control.cycles.depth(*cycle) > 0 && is_counted(control.cycles.header(*cycle));
        for cycle in control.cycles.cycles().filter(is_inner) {
            counts.count_loop(&facts, cycle);
        }
        let is_in_loop = |block: &Block| control.cycles.depth_of_block(*block) > 0 && is_counted(*block);
        for block in func.blocks() {
            if is_in_loop(&block) {
                counts.count_block(func, &facts, block);
            }
            let objects = func.block_insts(block).filter(|&inst| func.inst(inst).op == Op::Alloca);
            objects.for_each(|inst| counts.objects[usize::from(facts.object_agreement(inst).is_none())] += 1);
        }
        counts
    }

    fn count_loop(&mut self, facts: &Divergence, cycle: Cycle) {
        let is_divergent = facts.is_divergent_loop(cycle);
        self.loops[usize::from(is_divergent)] += 1;
        for (_, agreement) in facts.exits(cycle).iter().filter(|_| is_divergent) {
            self.exits[usize::from(agreement.is_none())] += 1;
        }
    }

    fn count_block(&mut self, func: &Function, facts: &Divergence, block: Block) {
        if func.successors(block).len() > 1 {
            self.branches[usize::from(facts.is_divergent_branch(block))] += 1;
        }
        let mask = match facts.activation(block) {
            Activation::Full => 0,
            Activation::Uniform => 1,
            Activation::Varying => 2,
        };
        for inst in func.block_insts(block) {
            match func.inst(inst).op {
                Op::Load => self.loads[mask] += 1,
                Op::Store => self.stores[mask] += 1,
                _ => {}
            }
        }
    }
}

impl fmt::Display for DivergenceStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DivergenceStatistics { branches, loops, exits, loads, stores, objects } = self;
        let two = |[uniform, divergent]: &[usize; 2]| format!("{uniform} uniform and {divergent} divergent");
        let masks = |[all, uniform, varying]: &[usize; 3]| {
            format!("{all} without a mask, {uniform} with a uniform and {varying} with a varying one")
        };
        write!(
            f,
            "branches: {}; inner loops: {}; exits of divergent ones: {}; loads: {}; stores: {}; objects: {} for all lanes and {} for each",
            two(branches),
            two(loops),
            two(exits),
            masks(loads),
            masks(stores),
            objects[0],
            objects[1]
        )
    }
}
