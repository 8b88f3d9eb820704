//! Loops, and cycles with several entries: one nested forest for all graphs.
//!
//! A cycle's header `h` is its first block in the depth-first search; the cycle is the strongly connected
//! component of `h` among the blocks that descend from `h` in that search. Cycles nest: without its header, a
//! cycle falls apart into the next inner ones. A cycle that is entered at its header only is reducible; it is
//! then a natural loop, the union over all back edges to `h`, and all words for loops mean what they do in 2.4
//! of the thesis. In a reducible graph every cycle is one.
//!
//! ```text
//!     block0                          block0
//!       │                             │    │
//!       ▼                             ▼    ▼
//!     block1 ◄──┐                 block1 ◄─► block2
//!       │       │
//!       ▼       │                 one cycle, header block1, entries block1
//!     block2 ───┘                 and block2: irreducible
//!       │
//!       ▼      one loop: header block1, latch block2,
//!     block3   exit block3, preheader block0
//! ```
//!
//! After Havlak's loop nesting, in Ramalingam's near-linear form: headers are taken inner ones first, each found
//! cycle collapses into its header, and an edge that is no edge of the depth-first tree takes part from the
//! moment that the nearest common ancestor of its ends is considered, since no cycle below contains both ends.

use heddle_ir::Block;
use heddle_ir::entity::{Entity, EntitySet, SecondaryMap};

use crate::cfg::{Cfg, Edge};
use crate::lists::Lists;
use crate::order::DepthFirstOrder;
use crate::tree::{AncestorTree, NONE};

heddle_ir::entity! {
    /// A cycle of the forest. Numbers follow the reverse post-order of headers, so parents come before children.
    pub Cycle, "cycle"
}

/// All cycles of a graph and how they nest.
#[derive(Clone, Debug)]
pub struct CycleForest {
    tree: AncestorTree<Cycle>,
    headers: Vec<Block>,
    innermost: SecondaryMap<Block, Option<Cycle>>,
    /// By pre-order position of a cycle: the blocks whose innermost cycle it is, in reverse post-order.
    members: Lists<Block>,
    is_reducible: Vec<bool>,
    num_irreducible: usize,
}

impl CycleForest {
    /// Finds the cycles of all reachable blocks.
    pub fn new(cfg: &Cfg) -> Self {
        let search = DepthFirstOrder::new(cfg);
        let nesting = CycleNesting::new(cfg, &search);

        let mut headers = Vec::new();
        let mut by_header = SecondaryMap::<Block, Option<Cycle>>::with_len(cfg.num_blocks());
        for block in search.reverse_post_order() {
            if nesting.is_header.contains(block) {
                by_header[block] = Some(Cycle::new(headers.len()));
                headers.push(block);
            }
        }
        let around = |block: Block| nesting.around[block].and_then(|header| by_header[header]);
        let parent = |cycle: u32| around(headers[cycle as usize]).map_or(NONE, Cycle::as_u32);
        let order: Vec<u32> = (0..headers.len() as u32).collect();
        let tree = AncestorTree::new(headers.len(), parent, &order);

        let mut innermost = SecondaryMap::<Block, Option<Cycle>>::with_len(cfg.num_blocks());
        for block in search.reverse_post_order() {
            innermost[block] = by_header[block].or_else(|| around(block));
        }
        let members = Lists::new(
            headers.len(),
            search
                .reverse_post_order()
                .filter_map(|block| innermost[block].map(|cycle| (tree.position(cycle), block))),
        );
        let num_cycles = headers.len();
        let mut forest = Self {
            tree,
            headers,
            innermost,
            members,
            is_reducible: vec![true; num_cycles],
            num_irreducible: 0,
        };
        forest.find_irreducible(cfg);
        forest
    }

    /// The number of cycles.
    pub fn num_cycles(&self) -> usize {
        self.headers.len()
    }

    /// All cycles, outer ones before inner ones.
    pub fn cycles(&self) -> impl DoubleEndedIterator<Item = Cycle> + ExactSizeIterator + use<> {
        (0..self.headers.len()).map(Cycle::new)
    }

    /// The cycles that are in no other.
    pub fn outermost(&self) -> impl Iterator<Item = Cycle> + '_ {
        self.cycles().filter(|&cycle| self.parent(cycle).is_none())
    }

    /// The next outer cycle.
    pub fn parent(&self, cycle: Cycle) -> Option<Cycle> {
        self.tree.parent(cycle)
    }

    /// The next inner cycles.
    pub fn children(&self, cycle: Cycle) -> &[Cycle] {
        self.tree.children(cycle)
    }

    /// The number of cycles around this one.
    pub fn depth(&self, cycle: Cycle) -> usize {
        self.tree.depth(cycle) as usize
    }

    /// The smallest cycle that the block is in.
    #[inline]
    pub fn innermost(&self, block: Block) -> Option<Cycle> {
        self.innermost[block]
    }

    /// The number of cycles that the block is in.
    pub fn depth_of_block(&self, block: Block) -> usize {
        self.innermost[block].map_or(0, |cycle| self.depth(cycle) + 1)
    }

    /// Whether the block is in the cycle.
    #[inline]
    pub fn contains(&self, cycle: Cycle, block: Block) -> bool {
        self.innermost[block].is_some_and(|inner| self.tree.is_ancestor(cycle, inner))
    }

    /// Whether `inner` is `outer` or nested in it.
    pub fn is_nested(&self, outer: Cycle, inner: Cycle) -> bool {
        self.tree.is_ancestor(outer, inner)
    }

    /// The largest cycle that contains `block` but not `other`.
    pub fn outermost_without(&self, block: Block, other: Block) -> Option<Cycle> {
        self.tree.highest(self.innermost[block]?, |cycle| !self.contains(cycle, other))
    }

    /// The block where the depth-first search enters the cycle; the only entry if the cycle is reducible.
    #[inline]
    pub fn header(&self, cycle: Cycle) -> Block {
        self.headers[cycle.index()]
    }

    /// The cycle whose header this is.
    #[inline]
    pub fn headed_by(&self, block: Block) -> Option<Cycle> {
        self.innermost[block].filter(|&cycle| self.header(cycle) == block)
    }

    /// The blocks of the cycle: its header, then others that are in no inner cycle, then those that are.
    pub fn blocks(&self, cycle: Cycle) -> &[Block] {
        let first = self.tree.position(cycle);
        self.members.concat(first..first + self.tree.subtree(cycle).len())
    }

    /// Whether the cycle is a natural loop: entered at its header only.
    pub fn is_reducible(&self, cycle: Cycle) -> bool {
        self.is_reducible[cycle.index()]
    }

    /// Whether every cycle of the graph is a natural loop.
    pub fn is_graph_reducible(&self) -> bool {
        self.num_irreducible == 0
    }

    /// Whether the edge goes back to the header of a cycle that it is in; without these edges the graph is
    /// acyclic. In a reducible graph they are the back edges.
    #[inline]
    pub fn is_retreating(&self, edge: Edge) -> bool {
        self.headed_by(edge.to).is_some_and(|cycle| self.contains(cycle, edge.from))
    }

    /// All retreating edges, by source.
    pub fn retreating_edges<'a>(&'a self, cfg: &'a Cfg) -> impl Iterator<Item = Edge> + 'a {
        cfg.edges().filter(|&edge| self.is_retreating(edge))
    }

    /// The blocks at which the cycle is entered, the header first, others in the order of [`Self::blocks`].
    pub fn entries(&self, cfg: &Cfg, cycle: Cycle) -> Vec<Block> {
        if self.is_reducible(cycle) {
            return vec![self.header(cycle)];
        }
        // The header of every cycle is an entry, and the entry of the graph is a header or in no cycle.
        let is_entry = |&&block: &&Block| cfg.preds(block).iter().any(|&pred| !self.contains(cycle, pred));
        let others = self.blocks(cycle)[1..].iter().filter(is_entry).copied();
        std::iter::once(self.header(cycle)).chain(others).collect()
    }

    /// The blocks of the cycle that branch to its header, in the order of the header's predecessors.
    pub fn latches(&self, cfg: &Cfg, cycle: Cycle) -> Vec<Block> {
        let inside = cfg.preds(self.header(cycle)).iter().copied();
        distinct(inside.filter(|&pred| self.contains(cycle, pred)))
    }

    /// The only latch, if there is one only.
    pub fn unique_latch(&self, cfg: &Cfg, cycle: Cycle) -> Option<Block> {
        unique(cfg.preds(self.header(cycle)).iter().copied().filter(|&pred| self.contains(cycle, pred)))
    }

    /// The only block from which the cycle is entered, at its header only. It may have other successors. A cycle
    /// with the function's entry has none: no block outside of it leads there.
    pub fn preheader(&self, cfg: &Cfg, cycle: Cycle) -> Option<Block> {
        if !self.is_reducible(cycle) {
            return None;
        }
        unique(cfg.preds(self.header(cycle)).iter().copied().filter(|&pred| !self.contains(cycle, pred)))
    }

    /// The edges that leave the cycle, by source in the order of [`Self::blocks`].
    pub fn exiting_edges<'a>(&'a self, cfg: &'a Cfg, cycle: Cycle) -> impl Iterator<Item = Edge> + 'a {
        self.blocks(cycle)
            .iter()
            .flat_map(|&from| cfg.succs(from).iter().map(move |&to| Edge { from, to }))
            .filter(move |edge| !self.contains(cycle, edge.to))
    }

    /// The blocks outside of the cycle to which its edges lead, in order.
    pub fn exits(&self, cfg: &Cfg, cycle: Cycle) -> Vec<Block> {
        let mut exits: Vec<Block> = self.exiting_edges(cfg, cycle).map(|edge| edge.to).collect();
        exits.sort_unstable();
        exits.dedup();
        exits
    }

    /// An entry other than the header makes a cycle irreducible. The cycles that an edge enters are a path in
    /// the forest, so one count at its lower end and one against it above its upper end mark them all.
    fn find_irreducible(&mut self, cfg: &Cfg) {
        let mut irregular_entries = vec![0i64; self.num_cycles()];
        for block in cfg.blocks() {
            let entered = cfg.preds(block).iter().filter_map(|&pred| self.outermost_without(block, pred));
            let Some(outermost) = entered.min_by_key(|&cycle| self.depth(cycle)) else { continue };
            let lowest = match self.headed_by(block) {
                // The header of one cycle is an ordinary block of all those around; if there are none, or the
                // edge enters none of them, the two counts fall on the same place.
                Some(cycle) => self.parent(cycle),
                None => self.innermost(block),
            };
            if let Some(lowest) = lowest {
                irregular_entries[lowest.index()] += 1;
                if let Some(above) = self.parent(outermost) {
                    irregular_entries[above.index()] -= 1;
                }
            }
        }
        for cycle in self.cycles().rev() {
            let count = irregular_entries[cycle.index()];
            if let Some(parent) = self.parent(cycle) {
                irregular_entries[parent.index()] += count;
            }
            self.is_reducible[cycle.index()] = count == 0;
            self.num_irreducible += usize::from(count != 0);
        }
    }
}

/// The only element, however often it comes.
fn unique(blocks: impl IntoIterator<Item = Block>) -> Option<Block> {
    let mut blocks = blocks.into_iter();
    let first = blocks.next()?;
    blocks.all(|block| block == first).then_some(first)
}

/// The elements in the order in which they first come.
fn distinct(blocks: impl IntoIterator<Item = Block>) -> Vec<Block> {
    let mut seen = rustc_hash::FxHashSet::default();
    blocks.into_iter().filter(|&block| seen.insert(block)).collect()
}

/// Which header is around which block.
struct CycleNesting {
    is_header: EntitySet<Block>,
    /// The header of the innermost cycle around a block; for a header, around its cycle.
    around: SecondaryMap<Block, Option<Block>>,
}

impl CycleNesting {
    fn new(cfg: &Cfg, search: &DepthFirstOrder) -> Self {
        let num_blocks = cfg.num_blocks();
        let order: Vec<u32> = search.pre_order().iter().map(|block| block.as_u32()).collect();
        let parent = |block| search.parent(Block::from_u32(block)).map_or(NONE, Block::as_u32);
        let search_tree = AncestorTree::<Block>::new(num_blocks, parent, &order);
        let is_retreating = |edge: &Edge| search_tree.is_ancestor(edge.to, edge.from);
        let late_edges: Vec<(usize, Edge)> = cfg
            .edges()
            .filter(|edge| !is_retreating(edge) && search.parent(edge.to) != Some(edge.from))
            .filter_map(|edge| Some((search_tree.nearest_common(edge.from, edge.to)?.index(), edge)))
            .collect();
        let late_edges = Lists::new(num_blocks, late_edges.iter().copied());

        let mut nesting = Self { is_header: EntitySet::new(), around: SecondaryMap::with_len(num_blocks) };
        let mut collapsed = CollapsedGraph::new(cfg);
        let mut taken_by: SecondaryMap<Block, Option<Block>> = SecondaryMap::with_len(num_blocks);
        let mut body = Vec::new();
        for &header in search.pre_order().iter().rev() {
            for &edge in late_edges.get(header.index()) {
                collapsed.add_edge(edge);
            }
            taken_by[header] = Some(header);
            let mut take = |block: Block, body: &mut Vec<Block>| {
                if taken_by[block].replace(header) != Some(header) {
                    body.push(block);
                }
            };
            for &pred in cfg.preds(header) {
                if search_tree.is_ancestor(header, pred) {
                    nesting.is_header.insert(header);
                    take(collapsed.find(pred), &mut body);
                }
            }
            let mut next = 0;
            while let Some(&block) = body.get(next) {
                next += 1;
                // The block is a strict descendant of the header in the search, so its parent is one or is the
                // header.
                if let Some(parent) = search.parent(block) {
                    take(collapsed.find(parent), &mut body);
                }
                let mut edge = collapsed.first_edge[block];
                while let Some(&(source, following)) = collapsed.edges.get(edge as usize) {
                    take(collapsed.find(source), &mut body);
                    edge = following;
                }
            }
            for block in body.drain(..) {
                nesting.around[block] = Some(header);
                collapsed.representative[block] = header;
            }
        }
        nesting
    }
}

/// The graph in which the cycles found so far are single nodes, named by their headers.
struct CollapsedGraph {
    representative: SecondaryMap<Block, Block>,
    /// The edges that took part late, as a linked list per target: source and next edge.
    first_edge: SecondaryMap<Block, u32>,
    edges: Vec<(Block, u32)>,
}

impl CollapsedGraph {
    fn new(cfg: &Cfg) -> Self {
        let mut representative = SecondaryMap::filled(cfg.entry(), cfg.num_blocks());
        for block in cfg.blocks() {
            representative[block] = block;
        }
        Self { representative, first_edge: SecondaryMap::filled(NONE, cfg.num_blocks()), edges: Vec::new() }
    }

    /// The header of the outermost cycle found so far around this block, or the block.
    fn find(&mut self, mut block: Block) -> Block {
        while self.representative[block] != block {
            let above = self.representative[self.representative[block]];
            self.representative[block] = above;
            block = above;
        }
        block
    }

    fn add_edge(&mut self, edge: Edge) {
        let target = self.find(edge.to);
        let following = std::mem::replace(&mut self.first_edge[target], self.edges.len() as u32);
        self.edges.push((edge.from, following));
    }
}
