//! Edges of the linearized graph: partial linearization (Listing 8), on the graph without back edges.
//!
//! Blocks are visited in the order of the block index. A block with a divergent branch gets one successor: the first
//! among its targets and its deferred blocks. The others are deferred to that successor. A uniform branch gets a new
//! target for each old one, in the same way.
//!
//! *Deferral in near-linear time.* Listing 8 copies the set of blocks deferred to `b` along each edge; here it is stored
//! once. All blocks deferred to `b` will post-dominate `b`, in the order of the index. So once their minimum `t` is
//! known, the rest can be deferred to `t`, whichever path leads there. A block passes only `t` along each edge, and
//! melds the rest, a mergeable heap, into that of `t`. (Other paths to `t` may defer more blocks, which every lane on
//! the way to `t` has to pass as well; this changes no minimum before `t`.)
//!
//! *Loops* (8.3). A block deferred to a header is deferred to all blocks of the loop, and is none of them. It leaves with
//! the exits; the latch, the last block of the loop, ignores it on its back edge.

use heddle_analysis::{BlockIndex, Cfg, CycleForest, Edge};
use heddle_ir::Block;
use heddle_ir::entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;

/// Successors of each block in the linearized graph.
#[derive(Clone, Debug)]
pub struct LinearEdges {
    targets: SecondaryMap<Block, SmallVec<[Block; 2]>>,
    /// Dead ends whose added edge was dropped.
    dropped: EntitySet<Block>,
    /// Number of steps: blocks, edges, and comparisons of deferred blocks.
    pub steps: usize,
    /// Number of uniform branches whose targets became one.
    pub coincided: usize,
}

impl LinearEdges {
    /// Edges from another algorithm: the targets of each block, and the dead ends that remain.
    pub fn new(targets: SecondaryMap<Block, SmallVec<[Block; 2]>>, dropped: EntitySet<Block>) -> LinearEdges {
        LinearEdges { targets, dropped, steps: 0, coincided: 0 }
    }

    /// New targets of a block: one for each old one, in order, if its branch is kept, else a single one.
    pub fn targets(&self, block: Block) -> &[Block] {
        &self.targets[block]
    }

    /// True if the block keeps its branch.
    pub fn is_kept(&self, block: Block) -> bool {
        self.targets[block].len() > 1
    }

    /// New successor that carries an old edge. `is_last` marks the last edge of a block; none if that edge of a dead end
    /// was dropped.
    pub fn carrier(&self, block: Block, slot: usize, is_last: bool) -> Option<Block> {
        let targets = self.targets(block);
        if is_last && self.dropped.contains(block) {
            return None;
        }
        if self.is_kept(block) { targets.get(slot).copied() } else { targets.first().copied() }
    }
}

/// Linearizes the branches of the blocks in `divergent`. The last edge of a block in `dead_ends` is artificial: it is
/// dropped if no block is deferred there.
///
/// # Panics
/// If a divergent branch has a back edge (debug builds).
pub fn linearize_edges(
    cfg: &Cfg,
    cycles: &CycleForest,
    index: &BlockIndex,
    divergent: &EntitySet<Block>,
    dead_ends: &EntitySet<Block>,
) -> LinearEdges {
    let mut edges = LinearEdges {
        targets: SecondaryMap::filled(SmallVec::new(), cfg.num_blocks()),
        dropped: EntitySet::new(),
        steps: 0,
        coincided: 0,
    };
    let mut deferred = DeferralHeaps {
        index,
        nodes: Vec::new(),
        root: SecondaryMap::filled(NONE, cfg.num_blocks()),
        spare: Vec::new(),
        steps: 0,
    };
    for &block in index.order() {
        let first = deferred.take_first(block);
        let mut succs = cfg.succs(block);
        if dead_ends.contains(block) && first.is_none() {
            succs = &succs[..succs.len() - 1];
            edges.dropped.insert(block);
        }
        let is_back = |to: Block| cycles.is_retreating(Edge { from: block, to });
        let mut targets: SmallVec<[Block; 2]> = SmallVec::new();
        if divergent.contains(block) || succs.is_empty() {
            let mut all: SmallVec<[Block; 4]> = succs.iter().copied().chain(first).collect();
            debug_assert!(!all.iter().any(|&to| is_back(to)), "the divergent branch of {block} goes back");
            all.sort_unstable_by_key(|&to| index.number(to));
            all.dedup();
            all.windows(2).for_each(|pair| deferred.defer(pair[0], pair[1]));
            targets.extend(all.first().copied());
        } else {
            for &succ in succs {
                targets.push(match first {
                    _ if is_back(succ) => succ,
                    None => succ,
                    Some(first) => deferred.choose(first, succ),
                });
            }
            let goes_on = |&to: &Block| targets[0] == to;
            if targets.len() > 1 && targets.iter().all(goes_on) {
                edges.coincided += usize::from(succs.iter().any(|&succ| succ != succs[0]));
                targets.truncate(1);
            }
        }
        edges.steps += 1 + succs.len();
        edges.targets[block] = targets;
    }
    edges.steps += deferred.steps;
    edges
}

const NONE: u32 = u32::MAX;

/// Deferred blocks: a pairing heap for each block, in one pool of nodes.
struct DeferralHeaps<'a> {
    index: &'a BlockIndex,
    nodes: Vec<HeapNode>,
    root: SecondaryMap<Block, u32>,
    spare: Vec<u32>,
    steps: usize,
}

#[derive(Clone, Copy)]
struct HeapNode {
    number: u32,
    child: u32,
    sibling: u32,
}

impl DeferralHeaps<'_> {
    /// Returns the first of two blocks and defers the other to it.
    fn choose(&mut self, a: Block, b: Block) -> Block {
        let (first, second) = if self.index.number(a) <= self.index.number(b) { (a, b) } else { (b, a) };
        if first != second {
            self.defer(first, second);
        }
        first
    }

    fn defer(&mut self, at: Block, block: Block) {
        let number = self.index.number(block).expect("a target is reachable") as u32;
        let node = self.nodes.len() as u32;
        self.nodes.push(HeapNode { number, child: NONE, sibling: NONE });
        self.root[at] = self.meld(self.root[at], node);
    }

    /// Removes and returns the first block deferred to a block; the others are deferred to the result.
    fn take_first(&mut self, at: Block) -> Option<Block> {
        let mut heap = std::mem::replace(&mut self.root[at], NONE);
        if heap == NONE {
            return None;
        }
        let number = self.nodes[heap as usize].number;
        while heap != NONE && self.nodes[heap as usize].number == number {
            heap = self.without_first(heap);
        }
        let first = self.index.order()[number as usize];
        self.root[first] = self.meld(self.root[first], heap);
        Some(first)
    }

    fn meld(&mut self, a: u32, b: u32) -> u32 {
        if a == NONE || b == NONE {
            return if a == NONE { b } else { a };
        }
        self.steps += 1;
        let is_less = self.nodes[a as usize].number <= self.nodes[b as usize].number;
        let (above, below) = if is_less { (a, b) } else { (b, a) };
        self.nodes[below as usize].sibling = self.nodes[above as usize].child;
        self.nodes[above as usize].child = below;
        above
    }

    fn without_first(&mut self, heap: u32) -> u32 {
        let mut children = std::mem::take(&mut self.spare);
        let mut child = self.nodes[heap as usize].child;
        while child != NONE {
            let sibling = std::mem::replace(&mut self.nodes[child as usize].sibling, NONE);
            children.push(child);
            child = sibling;
        }
        let mut pairs = 0;
        for at in (0..children.len()).step_by(2) {
            children[pairs] = self.meld(children[at], children.get(at + 1).copied().unwrap_or(NONE));
            pairs += 1;
        }
        let merged = children[..pairs].iter().rev().fold(NONE, |heap, &pair| self.meld(heap, pair));
        children.clear();
        self.spare = children;
        merged
    }
}
