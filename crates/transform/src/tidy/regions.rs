//! Blocks that only lead on.
//!
//! ```text
//!     block1: br v2, block3, block4        block1: br v2, block4, block4        block1: br block4
//!     block3: br block4
//! ```
//!
//! An edge may lead past such a block if the φs behind it can tell what they would have got: from a block that led
//! there already they must get the same. Loops keep their preheaders and latches.

use heddle_analysis::{Cfg, CycleForest, Edge};
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, Op};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::edges::{replace_predecessors, retarget};

/// The most φs of a block whose edges are compared.
const MOST_PHIS: usize = 64;

/// Leads edges past empty blocks; tells whether there were any.
pub(super) fn skip_empty(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let cycles = CycleForest::new(&cfg);
    let mut changed = false;
    let blocks: Vec<Block> = func.blocks().collect();
    // What is skipped changes who leads where, so a block is looked at with those that are now in front of it.
    let mut preds: FxHashMap<Block, SmallVec<[Block; 2]>> = FxHashMap::default();
    for &block in &blocks {
        let mut all: SmallVec<[Block; 2]> = cfg.preds(block).iter().copied().collect();
        all.sort_unstable();
        all.dedup();
        preds.insert(block, all);
    }
    for block in blocks {
        let Some(to) = leads_on(func, block) else { continue };
        let is_back = cycles.is_retreating(Edge { from: block, to });
        if block == func.entry() || to == block || is_back || cycles.headed_by(to).is_some() {
            continue;
        }
        let sources = preds[&block].clone();
        if sources.is_empty() || !phis_can_tell(func, block, to, &sources, &preds[&to]) {
            continue;
        }
        let others = preds[&to].clone();
        let new = sources.iter().copied().filter(|source| !others.contains(source)).collect();
        replace_predecessors(func, to, &FxHashMap::from_iter([(block, new)]));
        sources.iter().for_each(|&source| retarget(func, source, block, to));
        let mut all: SmallVec<[Block; 2]> = others.into_iter().filter(|&pred| pred != block).collect();
        all.extend(sources.iter().copied());
        all.sort_unstable();
        all.dedup();
        preds.insert(to, all);
        preds.remove(&block);
        let jump = func.terminator(block).expect("the block leads on");
        func.remove_inst(jump);
        func.set_predicate(block, None);
        func.remove_block(block);
        changed = true;
    }
    changed | join_branches(func)
}

/// Where a block leads that does nothing else.
fn leads_on(func: &Function, block: Block) -> Option<Block> {
    let first = func.layout.first_inst(block)?;
    match func.inst(first).targets() {
        &[to] if func.inst(first).op == Op::Br => Some(to),
        _ => None,
    }
}

/// Whether sources that led to the block already bring what they would bring by the other.
fn phis_can_tell(func: &Function, block: Block, to: Block, sources: &[Block], others: &[Block]) -> bool {
    let both: Vec<Block> =
        sources.iter().copied().filter(|source| others.binary_search(source).is_ok()).collect();
    if both.is_empty() {
        return true;
    }
    if func.phis(to).nth(MOST_PHIS).is_some() {
        return false;
    }
    func.phis(to).all(|phi| {
        let incoming: FxHashMap<Block, _> = func.inst(phi).incoming().collect();
        both.iter().all(|source| incoming.get(source) == incoming.get(&block))
    })
}

/// Makes jumps of branches that lead to one block.
fn join_branches(func: &mut Function) -> bool {
    let leads_to_one = |block: &Block| {
        let targets = func.successors(*block);
        targets.len() == 2 && targets[0] == targets[1]
    };
    let blocks: Vec<Block> = func.blocks().filter(leads_to_one).collect();
    for &block in &blocks {
        let branch = func.terminator(block).expect("the block branches");
        let data = func.inst(branch);
        *func.inst_mut(branch) = InstData { origin: data.origin, ..InstData::jump(data.targets()[0]) };
    }
    !blocks.is_empty()
}
