//! Replaces branches with a single possible target by jumps.
//!
//! Even a dead edge determines which lanes wait for others, and which lanes meet in one iteration:
//!
//! ```text
//!     block1 ◄─────┐    If block2 never branches back, removing that edge puts it outside of the loop. Lanes that reach
//!       │  ╲       │    block2 in different iterations, and ran it separately, would then run it together, after the
//!       ▼   ▼      │    loop: a horizontal observes the difference.
//!     block2  block3
//!       ╎└──►      ╎
//!       └╌╌╌╌╌╌╌╌╌╌┘
//! ```
//!
//! The result must refine the source, so an edge is removed only if the remaining reachable blocks keep their cycles
//! and still reach the same blocks. The arms of an `if` and exits of loops qualify. Where the search for another path
//! takes too long, or a cycle is irreducible, the branch stays.

use heddle_analysis::{Cfg, Cycle, CycleForest};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::{Block, Constant, Function};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::cfg_analyses::CfgAnalyses;
use crate::edges::replace_predecessors;

/// Straightens branches on constants and branches with equal targets. Returns true if there were any. May leave unreachable
/// blocks.
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
    let certain = find_removable(flow, certain);
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

/// Maximum number of blocks searched for another path to one block.
const MAX_SEARCH: usize = 256;

/// Maximum number of attempts with fewer branches.
const MAX_TRIES: usize = 4;

/// Returns the branches that can be straightened together without changing cycles or reachability.
fn find_removable(flow: &CfgAnalyses, mut certain: Vec<(Block, Block)>) -> Vec<(Block, Block)> {
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
            certain.retain(|&(block, only)| still_reaches(before, &after, cycles, block, only));
            if certain.len() == count {
                return certain;
            }
        } else {
            // An edge in no cycle holds none together.
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

/// True if the reachable blocks of `after` are in the same cycles.
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

/// Returns the innermost cycle that contains both blocks.
fn common_cycle(cycles: &CycleForest, a: Block, b: Block) -> Option<Cycle> {
    let mut cycle = cycles.innermost(a);
    while let Some(inner) = cycle.filter(|&inner| !cycles.contains(inner, b)) {
        cycle = cycles.parent(inner);
    }
    cycle
}

/// True if a block that jumps to `only` in `after` still reaches all blocks that it reached before, if they are reachable at all.
fn still_reaches(before: &Cfg, after: &Cfg, cycles: &CycleForest, block: Block, only: Block) -> bool {
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
        } else if !reaches(after, cycles, only, block, lost) {
            return false;
        }
    }
    true
}

/// True if `block`, with the edge to `start`, reaches `end` without another iteration of a cycle that contains both.
fn reaches(after: &Cfg, cycles: &CycleForest, start: Block, block: Block, end: Block) -> bool {
    let common = common_cycle(cycles, block, end);
    let header = common.map(|cycle| cycles.header(cycle));
    if header == Some(end) {
        // All blocks of a cycle reach its header.
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

/// Returns the single possible target of a branch with several edges.
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
