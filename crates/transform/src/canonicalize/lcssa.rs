//! Establishes loop-closed SSA form (LCSSA): uses outside of a loop read its values only through φs in its exits.
//!
//! ```text
//!     block1: v10 = add v8, 1              block1: v10 = add v8, 1
//!             br v11, block1, block2               br v11, block1, block2
//!     block2: v12 = and v10, 1             block2: v16 = phi i32 [block1: v10]
//!                                                  v12 = and v16, 1
//! ```
//!
//! A use after several exits gets φs where their values join, too. A φ in an inner loop's exit may itself be a value of an outer
//! loop with uses outside of that, so the pass proceeds outward, one loop at a time. Loops must have dedicated exits. Base hints
//! name objects and stay.

use heddle_analysis::{Cfg, Cycle, CycleForest};
use heddle_ir::{Block, Function, Value};
use rustc_hash::FxHashMap;

use crate::cfg_analyses::CfgAnalyses;
use crate::ssa_repair::{SsaRepair, UseSite, UseSlot, uses_in};

/// True if a block uses no value outside of the loop that defines it.
pub(crate) fn is_block_closed(func: &Function, forest: &CycleForest, block: Block) -> bool {
    uses_in(func, block).all(|(value, read)| escaped_loop(func, forest, value, read.block).is_none())
}

/// Establishes loop-closed SSA form.
pub(crate) fn close_loops(func: &mut Function, flow: &CfgAnalyses) {
    let (cfg, forest) = (&flow.cfg, flow.forest());
    if forest.num_cycles() == 0 {
        return;
    }
    // The last value is processed first: each φ is prepended, so an exit's φs end up in the order of the values.
    let mut worklist = escaping_values(func, forest);
    if worklist.is_empty() {
        return;
    }
    let repair = SsaRepair::new(cfg, flow.dominators());
    let exits = exits(cfg, forest);
    while let Some((value, block, cycle, uses)) = worklist.pop() {
        let exits = &exits[cycle as usize];
        let joins = match exits[..] {
            [_] => Vec::new(),
            _ => repair.iterated_frontier(exits),
        };
        let mut variable = repair.variable(func, (block, value), exits.iter().copied().chain(joins));
        let mut uses_of: FxHashMap<Value, Vec<UseSite>> = FxHashMap::default();
        for read in uses {
            let new = variable.read_at(func, read);
            read.set(func, new);
            uses_of.entry(new).or_default().push(read);
        }
        let made = variable.finish(func);
        for phi in &made {
            for (index, (pred, value)) in func.inst(phi.inst).incoming().enumerate() {
                let slot = UseSlot::Operand(phi.inst, index);
                uses_of.entry(value).or_default().push(UseSite { block: pred, slot });
            }
        }
        for phi in made.iter().rev() {
            let Some(cycle) = forest.innermost(phi.block) else { continue };
            let mut uses = uses_of.remove(&phi.value).unwrap_or_default();
            uses.retain(|read| !forest.contains(cycle, read.block));
            if !uses.is_empty() {
                worklist.push((phi.value, phi.block, number(cycle), uses));
            }
        }
    }
}

fn number(cycle: Cycle) -> u32 {
    cycle.as_u32()
}

/// Returns the exits of each cycle.
fn exits(cfg: &Cfg, forest: &CycleForest) -> Vec<Vec<Block>> {
    let mut exits: Vec<Vec<Block>> = vec![Vec::new(); forest.num_cycles()];
    for to in cfg.blocks() {
        for &from in cfg.preds(to) {
            let mut escaped_loop = forest.innermost(from).filter(|&cycle| !forest.contains(cycle, to));
            while let Some(cycle) = escaped_loop {
                let exits = &mut exits[number(cycle) as usize];
                // An exit is entered from one loop only, so the last entry is the only possible duplicate.
                if exits.last() == Some(&to) {
                    break;
                }
                exits.push(to);
                escaped_loop = forest.parent(cycle).filter(|&cycle| !forest.contains(cycle, to));
            }
        }
    }
    exits
}

/// Returns the innermost loop that defines a value, if a use in `block` is outside of it.
fn escaped_loop(func: &Function, forest: &CycleForest, value: Value, block: Block) -> Option<Cycle> {
    let def_block = func.layout.block_of(func.def_inst(value)?)?;
    // Most values are used in their own block, without any lookup.
    let cycle = if def_block == block { None } else { forest.innermost(def_block) };
    cycle.filter(|&cycle| !forest.contains(cycle, block))
}

/// Returns the values used outside of the innermost loop that defines them, in order of definition.
fn escaping_values(func: &Function, forest: &CycleForest) -> Vec<(Value, Block, u32, Vec<UseSite>)> {
    let mut uses_of: FxHashMap<Value, Vec<UseSite>> = FxHashMap::default();
    for (value, read) in func.blocks().flat_map(|block| uses_in(func, block)) {
        if escaped_loop(func, forest, value, read.block).is_some() {
            uses_of.entry(value).or_default().push(read);
        }
    }
    if uses_of.is_empty() {
        return Vec::new();
    }
    let mut escaping_values = Vec::with_capacity(uses_of.len());
    for block in func.blocks() {
        let Some(cycle) = forest.innermost(block) else { continue };
        for value in func.block_insts(block).flat_map(|inst| func.results(inst)) {
            if let Some(uses) = uses_of.remove(value) {
                escaping_values.push((*value, block, number(cycle), uses));
            }
        }
    }
    escaping_values
}
