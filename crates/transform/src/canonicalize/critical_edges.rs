//! Splits critical edges: those from a block with several successors to one with several predecessors.

use heddle_analysis::{Cfg, CycleForest, Edge};
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, ValueDef};

use crate::edges::{funnel, phis, set_incoming};

/// Splits each critical edge that `requested` selects. Parallel edges count as one.
///
/// Keeps Stage::Canonical: a new block on an exit edge is an exit of the loop and gets φs for the values that cross it; one on
/// a back edge is the new latch.
pub fn split_critical_edges(func: &mut Function, mut requested: impl FnMut(Edge) -> bool) {
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    for to in cfg.blocks() {
        let mut sources: Vec<Block> = cfg.preds(to).to_vec();
        sources.dedup();
        if sources.len() < 2 {
            continue;
        }
        sources
            .retain(|&from| cfg.succs(from).iter().any(|&other| other != to) && requested(Edge { from, to }));
        let groups: Vec<Vec<Block>> = sources.iter().map(|&from| vec![from]).collect();
        if groups.is_empty() {
            continue;
        }
        let new_blocks = funnel(func, to, &groups);
        for (&from, &new) in sources.iter().zip(&new_blocks) {
            if forest.innermost(from).is_some_and(|cycle| !forest.contains(cycle, to)) {
                close(func, from, new, to);
            }
        }
    }
}

/// Adds φs for the values that cross the new exit block of a loop.
fn close(func: &mut Function, from: Block, new: Block, to: Block) {
    let jump = func.terminator(new).expect("a new block ends in a jump");
    for phi in phis(func, to) {
        let mut incoming: Vec<_> = func.inst(phi).incoming().collect();
        let passing = incoming.iter_mut().find(|(source, _)| *source == new);
        let Some((_, value)) = passing else { continue };
        if !matches!(func.value_def(*value), ValueDef::Result(..)) {
            continue;
        }
        let ty = func.value_type(*value);
        let closing = func.make_inst(InstData::phi([(from, *value)], None), &[ty]);
        func.layout.insert_inst_before(closing, jump);
        *value = func.results(closing)[0];
        set_incoming(func, phi, incoming);
    }
}
