//! Branches that can go one way only become jumps.
//!
//! An edge that no lane takes still says who waits for whom. Without it a block may run earlier than it might have; it
//! runs with the same lanes, because those that it no longer waits for would not have come. But an edge that keeps a
//! cycle together, or a second entry of one, decides which lanes meet in one iteration:
//!
//! ```text
//!     block1 ◄─────┐    If block2 never goes back, it is outside of the loop when that edge is gone. Lanes that come
//!       │  ╲       │    to block2 in different iterations, and ran it apart, would then run it together, after the
//!       ▼   ▼      │    loop: a horizontal tells the difference.
//!     block2  block3
//!       ╎└──►      ╎
//!       └╌╌╌╌╌╌╌╌╌╌┘
//! ```
//!
//! So where a function has horizontals, barriers or calls that depend on who is active, edges go only if all blocks that
//! remain reachable keep their cycles; and none goes as long as it has irreducible cycles.

use heddle_analysis::{Cfg, CycleForest};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::{Effect, Op};
use heddle_ir::{Block, Constant, Function};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::edges::replace_predecessors;

/// Straightens branches on constants and branches whose targets agree; tells whether there were any. Blocks may become
/// unreachable.
pub(crate) fn straighten(func: &mut Function) -> bool {
    let certain: Vec<(Block, Block)> = func
        .blocks()
        .filter_map(|block| {
            let terminator = func.terminator(block)?;
            Some((block, only_target(func, func.inst(terminator))?))
        })
        .collect();
    if certain.is_empty() {
        return false;
    }
    let certain = if is_convergent(func) { with_same_cycles(func, certain) } else { certain };
    let mut lost: FxHashMap<Block, FxHashMap<Block, SmallVec<[Block; 2]>>> = FxHashMap::default();
    let mut targets: Vec<Block> = Vec::new();
    for &(block, only) in &certain {
        let inst = func.terminator(block).expect("the block branches");
        let gone: FxHashSet<Block> =
            func.inst(inst).targets().iter().copied().filter(|&target| target != only).collect();
        let origin = func.inst(inst).origin;
        *func.inst_mut(inst) = InstData { origin, ..InstData::jump(only) };
        for target in gone {
            let sources = lost.entry(target).or_insert_with(|| {
                targets.push(target);
                FxHashMap::default()
            });
            sources.insert(block, SmallVec::new());
        }
    }
    for target in targets {
        replace_predecessors(func, target, &lost[&target]);
    }
    !certain.is_empty()
}

/// Whether something in the function depends on which lanes are active with it.
fn is_convergent(func: &Function) -> bool {
    func.blocks().flat_map(|block| func.block_insts(block)).any(|inst| {
        let data = func.inst(inst);
        match data.op.info().effect {
            Effect::Horizontal => true,
            Effect::Synchronizes => data.op == Op::Barrier,
            Effect::Callee => func.callee_of(data).is_none_or(|callee| callee.signature.effects.convergent),
            _ => false,
        }
    })
}

/// Those of the branches whose straightening leaves the cycles of all blocks that stay as they are.
fn with_same_cycles(func: &Function, mut certain: Vec<(Block, Block)>) -> Vec<(Block, Block)> {
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    let keeps_edges = |&(block, only): &(Block, Block)| func.successors(block).iter().all(|&to| to == only);
    if !forest.is_graph_reducible() {
        certain.retain(keeps_edges);
        return certain;
    }
    let only: FxHashMap<Block, Block> = certain.iter().copied().collect();
    let edges = cfg.edges().filter(|edge| only.get(&edge.from).is_none_or(|&only| edge.to == only));
    let edges = edges.map(|edge| (edge.from, edge.to));
    let after = Cfg::from_edges(cfg.num_blocks(), cfg.entry(), edges);
    let forest_after = CycleForest::new(&after);
    let header = |forest: &CycleForest, block| forest.innermost(block).map(|cycle| forest.header(cycle));
    let around = |forest: &CycleForest, block| {
        let outer = forest.headed_by(block).and_then(|cycle| forest.parent(cycle));
        outer.map(|cycle| forest.header(cycle))
    };
    let is_same = after.blocks().filter(|&block| after.is_reachable(block)).all(|block| {
        header(&forest, block) == header(&forest_after, block)
            && around(&forest, block) == around(&forest_after, block)
    });
    if !is_same {
        // An edge that is in no cycle keeps none together.
        let is_in_cycle = |from: Block, to: Block| {
            let mut cycle = forest.innermost(from);
            while let Some(inner) = cycle {
                if forest.contains(inner, to) {
                    return true;
                }
                cycle = forest.parent(inner);
            }
            false
        };
        certain.retain(|&(block, only)| {
            func.successors(block).iter().all(|&to| to == only || !is_in_cycle(block, to))
        });
    }
    certain
}

/// Where a branch with several edges goes, if that is certain.
fn only_target(func: &Function, data: &InstData) -> Option<Block> {
    let (&first, others) = data.targets().split_first()?;
    match &data.detail {
        Detail::Branch(..) if others.is_empty() => return None,
        _ if others.iter().all(|&other| other == first) => return Some(first),
        _ => {}
    }
    let Some(Constant::Scalar(_, bits)) = func.constant(*data.args.first()?) else { return None };
    match &data.detail {
        Detail::Branch(targets, _) => Some(targets[usize::from(*bits == 0)]),
        Detail::Switch(switch) => {
            let case = switch.cases.iter().position(|case| case == bits);
            Some(switch.targets[case.map_or(0, |case| case + 1)])
        }
        _ => None,
    }
}
