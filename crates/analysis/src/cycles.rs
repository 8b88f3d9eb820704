//! Cycle forest: nested loops, including irreducible cycles with several entries.
//!
//! A cycle's header `h` is its first block in the depth-first search. The cycle is the strongly connected component of `h`
//! among the descendants of `h` in that search. Cycles nest: without its header, a cycle decomposes into its inner cycles.
//! A cycle entered at its header only is reducible: it is a natural loop, the union over all back edges to `h`, as in 2.4
//! of the thesis. In a reducible graph every cycle is a natural loop.
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
//! After: Havlak's loop nesting in Ramalingam's near-linear form. Headers are processed inner ones first, and each cycle
//! found collapses into its header. Non-tree edges are added when the nearest common ancestor of their ends is processed,
//! since no cycle below it contains both ends.

use heddle_ir::Block;
use heddle_ir::entity::{Entity, EntitySet, SecondaryMap};

use crate::cfg::{Cfg, Edge};
use crate::lists::Lists;
use crate::order::DepthFirstOrder;
use crate::tree::{AncestorTree, NONE};

heddle_ir::entity! {
    /// Cycle of the forest, numbered in reverse post-order of the headers: parents come before children.
    pub Cycle, "cycle"
}

/// All cycles of a graph and their nesting.
#[derive(Clone, Debug)]
pub struct CycleForest {
    tree: AncestorTree<Cycle>,
    headers: Vec<Block>,
    innermost: SecondaryMap<Block, Option<Cycle>>,
    /// Blocks by innermost cycle, in reverse post-order, indexed by the cycle's pre-order position.
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
        let enclosing = |block: Block| nesting.enclosing[block].and_then(|header| by_header[header]);
        let parent = |cycle: u32| enclosing(headers[cycle as usize]).map_or(NONE, Cycle::as_u32);
        let order: Vec<u32> = (0..headers.len() as u32).collect();
        let tree = AncestorTree::new(headers.len(), parent, &order);

        let mut innermost = SecondaryMap::<Block, Option<Cycle>>::with_len(cfg.num_blocks());
        for block in search.reverse_post_order() {
            innermost[block] = by_header[block].or_else(|| enclosing(block));
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

    /// Returns the number of cycles.
    pub fn num_cycles(&self) -> usize {
        self.headers.len()
    }

    /// Returns all cycles, outer ones before inner ones.
    pub fn cycles(&self) -> impl DoubleEndedIterator<Item = Cycle> + ExactSizeIterator + use<> {
        (0..self.headers.len()).map(Cycle::new)
    }

    /// Returns the outermost cycles.
    pub fn outermost(&self) -> impl Iterator<Item = Cycle> + '_ {
        self.cycles().filter(|&cycle| self.parent(cycle).is_none())
    }

    /// Returns the enclosing cycle.
    pub fn parent(&self, cycle: Cycle) -> Option<Cycle> {
        self.tree.parent(cycle)
    }

    /// Returns the direct inner cycles.
    pub fn children(&self, cycle: Cycle) -> &[Cycle] {
        self.tree.children(cycle)
    }

    /// Returns the number of enclosing cycles.
    pub fn depth(&self, cycle: Cycle) -> usize {
        self.tree.depth(cycle) as usize
    }

    /// Returns the innermost cycle of the block.
    #[inline]
    pub fn innermost(&self, block: Block) -> Option<Cycle> {
        self.innermost[block]
    }

    /// Returns the number of cycles that contain the block.
    pub fn depth_of_block(&self, block: Block) -> usize {
        self.innermost[block].map_or(0, |cycle| self.depth(cycle) + 1)
    }

    /// True if the cycle contains the block.
    #[inline]
    pub fn contains(&self, cycle: Cycle, block: Block) -> bool {
        self.innermost[block].is_some_and(|inner| self.tree.is_ancestor(cycle, inner))
    }

    /// True if `inner` is `outer` or nested in it.
    pub fn is_nested(&self, outer: Cycle, inner: Cycle) -> bool {
        self.tree.is_ancestor(outer, inner)
    }

    /// Returns the outermost cycle that contains `block` but not `other`.
    pub fn outermost_without(&self, block: Block, other: Block) -> Option<Cycle> {
        self.tree.highest(self.innermost[block]?, |cycle| !self.contains(cycle, other))
    }

    /// Returns the block where the depth-first search enters the cycle; the only entry of a reducible cycle.
    #[inline]
    pub fn header(&self, cycle: Cycle) -> Block {
        self.headers[cycle.index()]
    }

    /// Returns the cycle with this header.
    #[inline]
    pub fn headed_by(&self, block: Block) -> Option<Cycle> {
        self.innermost[block].filter(|&cycle| self.header(cycle) == block)
    }

    /// Returns the blocks of the cycle: the header, then other blocks in no inner cycle, then those in inner cycles.
    pub fn blocks(&self, cycle: Cycle) -> &[Block] {
        let first = self.tree.position(cycle);
        self.members.concat(first..first + self.tree.subtree(cycle).len())
    }

    /// True if the cycle is a natural loop, entered at its header only.
    pub fn is_reducible(&self, cycle: Cycle) -> bool {
        self.is_reducible[cycle.index()]
    }

    /// True if every cycle of the graph is a natural loop.
    pub fn is_graph_reducible(&self) -> bool {
        self.num_irreducible == 0
    }

    /// True if the edge leads to the header of a cycle that contains its source. Without these edges the graph is acyclic. In
    /// a reducible graph they are the back edges.
    #[inline]
    pub fn is_retreating(&self, edge: Edge) -> bool {
        self.headed_by(edge.to).is_some_and(|cycle| self.contains(cycle, edge.from))
    }

    /// Returns all retreating edges, by source.
    pub fn retreating_edges<'a>(&'a self, cfg: &'a Cfg) -> impl Iterator<Item = Edge> + 'a {
        cfg.edges().filter(|&edge| self.is_retreating(edge))
    }

    /// Returns the entry blocks of the cycle: the header, then others in the order of [`Self::blocks`].
    pub fn entries(&self, cfg: &Cfg, cycle: Cycle) -> Vec<Block> {
        if self.is_reducible(cycle) {
            return vec![self.header(cycle)];
        }
        // The header of every cycle is an entry, and the entry of the graph is a header or in no cycle.
        let is_entry = |&&block: &&Block| cfg.preds(block).iter().any(|&pred| !self.contains(cycle, pred));
        let others = self.blocks(cycle)[1..].iter().filter(is_entry).copied();
        std::iter::once(self.header(cycle)).chain(others).collect()
    }

    /// Returns the blocks of the cycle that branch to its header, in the order of the header's predecessors.
    pub fn latches(&self, cfg: &Cfg, cycle: Cycle) -> Vec<Block> {
        let inside = cfg.preds(self.header(cycle)).iter().copied();
        distinct(inside.filter(|&pred| self.contains(cycle, pred)))
    }

    /// Returns the latch if there is exactly one.
    pub fn unique_latch(&self, cfg: &Cfg, cycle: Cycle) -> Option<Block> {
        unique(cfg.preds(self.header(cycle)).iter().copied().filter(|&pred| self.contains(cycle, pred)))
    }

    /// Returns the only predecessor outside of a reducible cycle. It may have other successors. None if the cycle contains
    /// the function's entry.
    pub fn preheader(&self, cfg: &Cfg, cycle: Cycle) -> Option<Block> {
        if !self.is_reducible(cycle) {
            return None;
        }
        unique(cfg.preds(self.header(cycle)).iter().copied().filter(|&pred| !self.contains(cycle, pred)))
    }

    /// Returns the edges that leave the cycle, by source in the order of [`Self::blocks`].
    pub fn exiting_edges<'a>(&'a self, cfg: &'a Cfg, cycle: Cycle) -> impl Iterator<Item = Edge> + 'a {
        self.blocks(cycle)
            .iter()
            .flat_map(|&from| cfg.succs(from).iter().map(move |&to| Edge { from, to }))
            .filter(move |edge| !self.contains(cycle, edge.to))
    }

    /// Returns the exit blocks outside of the cycle, in order.
    pub fn exits(&self, cfg: &Cfg, cycle: Cycle) -> Vec<Block> {
        let mut exits: Vec<Block> = self.exiting_edges(cfg, cycle).map(|edge| edge.to).collect();
        exits.sort_unstable();
        exits.dedup();
        exits
    }

    /// Marks irreducible cycles, which have an entry other than the header. An edge enters a path of cycles in the forest: a
    /// count at the lower end and its negation above the upper end mark them all.
    fn find_irreducible(&mut self, cfg: &Cfg) {
        let mut irregular_entries = vec![0i64; self.num_cycles()];
        for block in cfg.blocks() {
            let entered = cfg.preds(block).iter().filter_map(|&pred| self.outermost_without(block, pred));
            let Some(outermost) = entered.min_by_key(|&cycle| self.depth(cycle)) else { continue };
            let lowest = match self.headed_by(block) {
                // The header of a cycle is an ordinary block of the enclosing cycles. If there are none, or the edge enters
                // none of them, the two counts cancel.
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

/// Returns the only distinct element.
fn unique(blocks: impl IntoIterator<Item = Block>) -> Option<Block> {
    let mut blocks = blocks.into_iter();
    let first = blocks.next()?;
    blocks.all(|block| block == first).then_some(first)
}

/// Returns the distinct elements in order of first occurrence.
fn distinct(blocks: impl IntoIterator<Item = Block>) -> Vec<Block> {
    let mut seen = rustc_hash::FxHashSet::default();
    blocks.into_iter().filter(|&block| seen.insert(block)).collect()
}

/// Headers of the innermost cycles.
struct CycleNesting {
    is_header: EntitySet<Block>,
    /// Header of the innermost cycle of a block; of a header, that of the enclosing cycle.
    enclosing: SecondaryMap<Block, Option<Block>>,
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

        let mut nesting = Self { is_header: EntitySet::new(), enclosing: SecondaryMap::with_len(num_blocks) };
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
                // The block is a strict descendant of the header in the search, so its parent is a descendant or the header.
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
                nesting.enclosing[block] = Some(header);
                collapsed.representative[block] = header;
            }
        }
        nesting
    }
}

/// Graph in which the cycles found so far are single nodes, represented by their headers.
struct CollapsedGraph {
    representative: SecondaryMap<Block, Block>,
    /// Non-tree edges as a linked list per target: source and next edge.
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

    /// Returns the header of the outermost cycle found so far around this block, or the block.
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
