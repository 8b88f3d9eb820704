//! Splits critical edges: from a block that branches to one where edges join.

use heddle_analysis::{Cfg, CycleForest, Edge};
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, ValueDef};

use crate::edges::{funnel, phis, set_incoming};

/// Puts an empty block on each critical edge for which `asked` says so. Parallel edges count as one.
///
/// Stage Canonical is kept: the new block on an edge that leaves a loop is an exit of the loop and gets φs for what
/// passes through, and one on an edge back is the new latch.
pub fn split_critical_edges(func: &mut Function, mut asked: impl FnMut(Edge) -> bool) {
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    for to in cfg.blocks() {
        let mut sources: Vec<Block> = cfg.preds(to).to_vec();
        sources.dedup();
        if sources.len() < 2 {
            continue;
        }
        sources.retain(|&from| cfg.succs(from).iter().any(|&other| other != to) && asked(Edge { from, to }));
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

/// Gives the new block of a loop's exit φs for what passes through it.
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
