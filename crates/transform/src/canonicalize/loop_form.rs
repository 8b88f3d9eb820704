//! Gives every loop a preheader, a unique latch and dedicated exits (LLVM's LoopSimplify).
//!
//! ```text
//!     block0  block1                 block0  block1
//!         │    │                         │    │
//!         ▼    ▼                         ▼    ▼
//!        block2 ◄──┐                     block6        preheader: the only predecessor outside of the loop,
//!        │    │    │                       │           with a single successor
//!        ▼    ▼    │                       ▼
//!    block3  block4┤                     block2 ◄── block7      latch: the only source of back edges
//!        │    │                          │    │       ▲ ▲
//!        ▼    └────┘ (both go back)      block3  block4…
//!     block5 ◄─ block0                   │
//!                                        ▼
//!                                      block8 ─► block5         exit: entered from the loop only
//! ```
//!
//! All changes are empty blocks on existing edges, each with a single successor. An empty block has no effect, and the waiting
//! relations of its successor hold for it, too. So a greedy schedule of the result, without the new blocks, is one of the
//! source, where lanes on a back edge wait for the rest of their iteration as at a latch.

use heddle_analysis::{Cfg, Cycle, CycleForest};
use heddle_ir::{Block, Function};
use rustc_hash::FxHashMap;

use crate::cfg_analyses::CfgAnalyses;
use crate::edges::funnel;

/// Splits exits shared by different loops. Returns true if there were any. Requires a reducible graph.
pub(crate) fn dedicate_exits(func: &mut Function, flow: &CfgAnalyses) -> bool {
    let mut changed = false;
    for exit in flow.cfg.blocks() {
        let groups = mixed_exits(&flow.cfg, flow.forest(), exit);
        if !groups.is_empty() {
            funnel(func, exit, &groups);
            changed = true;
        }
    }
    changed
}

/// Returns the exiting predecessors of a block by loop, or none if it is a dedicated exit: all its predecessors are then in one innermost
/// loop, and it is a dedicated exit of every loop that they leave.
fn mixed_exits(cfg: &Cfg, forest: &CycleForest, exit: Block) -> Vec<Vec<Block>> {
    let mut groups: Vec<Vec<Block>> = Vec::new();
    let mut group_of: FxHashMap<Cycle, usize> = FxHashMap::default();
    let mut has_others = false;
    for &pred in cfg.preds(exit) {
        let left = forest.innermost(pred).filter(|&cycle| !forest.contains(cycle, exit));
        let Some(cycle) = left else {
            has_others = true;
            continue;
        };
        let group = *group_of.entry(cycle).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        push_distinct(&mut groups[group], pred);
    }
    if groups.len() + usize::from(has_others) == 1 { Vec::new() } else { groups }
}

/// Inserts missing preheaders and latches. Returns true if any was missing. Requires a reducible graph and an entry without
/// predecessors.
pub(crate) fn isolate_headers(func: &mut Function, flow: &CfgAnalyses) -> bool {
    let (cfg, forest) = (&flow.cfg, flow.forest());
    let mut changed = false;
    for cycle in forest.cycles() {
        debug_assert!(forest.is_reducible(cycle) && forest.header(cycle) != cfg.entry());
        let groups = mixed_entries(cfg, forest, cycle);
        if !groups.is_empty() {
            funnel(func, forest.header(cycle), &groups);
            changed = true;
        }
    }
    changed
}

/// Returns the predecessors of a loop's header that need a block of their own: those outside, unless there is a preheader; those
/// inside, unless there is a unique latch.
fn mixed_entries(cfg: &Cfg, forest: &CycleForest, cycle: Cycle) -> Vec<Vec<Block>> {
    let (mut outside, mut inside) = (Vec::new(), Vec::new());
    for &pred in cfg.preds(forest.header(cycle)) {
        push_distinct(if forest.contains(cycle, pred) { &mut inside } else { &mut outside }, pred);
    }
    let mut groups = Vec::new();
    if !matches!(outside[..], [pred] if cfg.succs(pred).len() == 1) {
        groups.push(outside);
    }
    if inside.len() > 1 {
        groups.push(inside);
    }
    groups
}

/// Adds a block to a list in which equal blocks are adjacent.
fn push_distinct(list: &mut Vec<Block>, block: Block) {
    if list.last() != Some(&block) {
        list.push(block);
    }
}
