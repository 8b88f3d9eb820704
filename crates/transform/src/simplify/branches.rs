//! Branches that can go one way only become jumps.
//!
//! An edge that no lane takes still says which lanes wait for which, and which lanes meet in one iteration:
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
//! The result may only do what the source may do, so an edge goes only if the blocks that remain reachable keep their
//! cycles and still lead to the same blocks. The arms of an `if` and exits of loops do; where a search for the other way
//! takes too long, or a cycle is irreducible, the branch stays as it is.

use heddle_analysis::{Cfg, Cycle, CycleForest};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::{Block, Constant, Function};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::cfg_analyses::CfgAnalyses;
use crate::edges::replace_predecessors;

/// Straightens branches on constants and branches whose targets agree; tells whether there were any. Blocks may become
/// unreachable.
pub(crate) fn straighten(func: &mut Function, flow: &CfgAnalyses) -> bool {
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
    let certain = harmless(flow, certain);
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

/// How far to look for another way to one block.
const MAX_SEARCH: usize = 256;

/// How often to try again with fewer branches.
const MAX_TRIES: usize = 4;

/// Those of the branches whose straightening, all together, changes no cycle and keeps what leads to what.
fn harmless(flow: &CfgAnalyses, mut certain: Vec<(Block, Block)>) -> Vec<(Block, Block)> {
    let (before, cycles) = (&flow.cfg, flow.forest());
    let keeps_edges = |&(block, only): &(Block, Block)| before.succs(block).iter().all(|&to| to == only);
    if certain.iter().all(keeps_edges) {
        return certain;
    }
    for _ in 0..MAX_TRIES {
        if !cycles.is_graph_reducible() {
            break;
        }
        let only: FxHashMap<Block, Block> = certain.iter().copied().collect();
        let edges = before.edges().filter(|edge| only.get(&edge.from).is_none_or(|&only| edge.to == only));
        let after = Cfg::from_edges(
            before.num_blocks(),
            before.entry(),
            edges.map(|edge| (edge.from, edge.to)).collect::<Vec<_>>(),
        );
        let count = certain.len();
        if has_same_cycles(cycles, &after) {
            certain.retain(|&(block, only)| still_leads(before, &after, cycles, block, only));
            if certain.len() == count {
                return certain;
            }
        } else {
            // An edge that is in no cycle keeps none together.
            certain.retain(|&(block, only)| {
                before.succs(block).iter().all(|&to| to == only || common_cycle(cycles, block, to).is_none())
            });
            if certain.len() == count {
                break;
            }
        }
    }
    certain.retain(keeps_edges);
    certain
}

/// Whether the blocks that are reachable in `after` are in the same cycles.
fn has_same_cycles(cycles: &CycleForest, after: &Cfg) -> bool {
    let cycles_after = CycleForest::new(after);
    let header = |cycles: &CycleForest, block| cycles.innermost(block).map(|cycle| cycles.header(cycle));
    let around = |cycles: &CycleForest, block| {
        let outer = cycles.headed_by(block).and_then(|cycle| cycles.parent(cycle));
        outer.map(|cycle| cycles.header(cycle))
    };
    after.blocks().filter(|&block| after.is_reachable(block)).all(|block| {
        header(cycles, block) == header(&cycles_after, block)
            && around(cycles, block) == around(&cycles_after, block)
    })
}

/// The innermost cycle that both blocks are in.
fn common_cycle(cycles: &CycleForest, a: Block, b: Block) -> Option<Cycle> {
    let mut cycle = cycles.innermost(a);
    while let Some(inner) = cycle.filter(|&inner| !cycles.contains(inner, b)) {
        cycle = cycles.parent(inner);
    }
    cycle
}

/// Whether a block that goes to `only` in `after` still leads to all blocks that it led to before, as far as they are
/// reachable.
fn still_leads(before: &Cfg, after: &Cfg, cycles: &CycleForest, block: Block, only: Block) -> bool {
    let mut seen: FxHashSet<Block> = FxHashSet::default();
    let mut worklist: Vec<Block> = before.succs(block).iter().copied().filter(|&to| to != only).collect();
    while let Some(lost) = worklist.pop() {
        if !seen.insert(lost) {
            continue;
        }
        if seen.len() > MAX_SEARCH {
            return false;
        }
        if !after.is_reachable(lost) {
            worklist.extend(before.succs(lost));
        } else if !leads(after, cycles, only, block, lost) {
            return false;
        }
    }
    true
}

/// Whether `block`, which goes to `start`, leads to `end` without going round a cycle that both are in.
fn leads(after: &Cfg, cycles: &CycleForest, start: Block, block: Block, end: Block) -> bool {
    let common = common_cycle(cycles, block, end);
    let header = common.map(|cycle| cycles.header(cycle));
    if header == Some(end) {
        // All blocks of a cycle lead back to its header.
        return true;
    }
    let mut seen: FxHashSet<Block> = FxHashSet::default();
    let mut worklist = vec![start];
    while let Some(here) = worklist.pop() {
        if here == end {
            return true;
        }
        let is_outside = common.is_some_and(|cycle| !cycles.contains(cycle, here));
        if Some(here) == header || is_outside || !seen.insert(here) {
            continue;
        }
        if seen.len() > MAX_SEARCH {
            return false;
        }
        worklist.extend(after.succs(here));
    }
    false
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
