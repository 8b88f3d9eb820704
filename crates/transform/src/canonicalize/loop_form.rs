//! Gives every loop a preheader, a latch and exits of its own.
//!
//! ```text
//!     block0  block1                 block0  block1
//!         │    │                         │    │
//!         ▼    ▼                         ▼    ▼
//!        block2 ◄──┐                     block6        preheader: the only block before the loop,
//!        │    │    │                       │           and it goes nowhere else
//!        ▼    ▼    │                       ▼
//!    block3  block4┤                     block2 ◄── block7      latch: the only block that goes back
//!        │    │                          │    │       ▲ ▲
//!        ▼    └────┘ (both go back)      block3  block4…
//!     block5 ◄─ block0                   │
//!                                        ▼
//!                                      block8 ─► block5         exit: entered from the loop only
//! ```
//!
//! All of it is empty blocks on edges that exist, each with one successor. An empty block runs nothing; every block
//! that its successor waits for or is awaited by stands in the same relation to it; so a greedy schedule of the
//! result, without the new blocks, is one of the source, where lanes on a back edge wait for the rest of their
//! iteration as if at a latch.

use heddle_analysis::{Cfg, Cycle, CycleForest};
use heddle_ir::{Block, Function};

use crate::edges::funnel;

/// Establishes the form. Every cycle must be a natural loop, and the entry must have no predecessor.
pub(crate) fn shape_loops(func: &mut Function) {
    dedicate_exits(func);
    isolate_headers(func);
}

/// Separates edges that leave different loops. A block's predecessors that leave a loop must all be in the same
/// innermost one, and there must be no others: then the block is a dedicated exit of every loop that they leave.
fn dedicate_exits(func: &mut Function) {
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    for exit in cfg.blocks() {
        let left = |pred: Block| forest.innermost(pred).filter(|&cycle| !forest.contains(cycle, exit));
        let mut groups: Vec<(Cycle, Vec<Block>)> = Vec::new();
        let mut group_of = rustc_hash::FxHashMap::default();
        let mut has_others = false;
        for &pred in cfg.preds(exit) {
            let Some(cycle) = left(pred) else {
                has_others = true;
                continue;
            };
            let group = *group_of.entry(cycle).or_insert_with(|| {
                groups.push((cycle, Vec::new()));
                groups.len() - 1
            });
            push_distinct(&mut groups[group].1, pred);
        }
        if groups.len() + usize::from(has_others) > 1 && !groups.is_empty() {
            let groups: Vec<Vec<Block>> = groups.into_iter().map(|(_, group)| group).collect();
            funnel(func, exit, &groups);
        }
    }
}

/// Makes the preheader and the latch of every loop.
fn isolate_headers(func: &mut Function) {
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    for cycle in forest.cycles() {
        let header = forest.header(cycle);
        debug_assert!(forest.is_reducible(cycle) && header != cfg.entry());
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for &pred in cfg.preds(header) {
            push_distinct(if forest.contains(cycle, pred) { &mut inside } else { &mut outside }, pred);
        }
        let has_preheader = matches!(outside[..], [pred] if cfg.succs(pred).len() == 1);
        let mut groups = Vec::new();
        if !has_preheader {
            groups.push(outside);
        }
        if inside.len() > 1 {
            groups.push(inside);
        }
        if !groups.is_empty() {
            funnel(func, header, &groups);
        }
    }
}

/// Adds a block to a list in which equal blocks come one after the other.
fn push_distinct(list: &mut Vec<Block>, block: Block) {
    if list.last() != Some(&block) {
        list.push(block);
    }
}
