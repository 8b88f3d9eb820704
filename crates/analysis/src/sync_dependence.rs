//! Sync dependence: joins and divergent loop exits in the influence region of a divergent branch.
//! Requires: a reducible graph.
//!
//! Every block is a barrier (Def. 18). A block therefore runs once per *instance*: once per iteration of the enclosing
//! loops, with all lanes that reach it in that iteration. Lanes that diverge at a branch stay apart until they share an
//! instance again. The effects of a divergent branch `b` follow from pairs of paths from `b` that share no instance but
//! their ends:
//!
//! * `z` is a *join* of `b` if two such paths reach `z` by different edges: its φs may mix the values of these edges.
//! * An exit edge of an enclosing loop is *divergent* if one path takes it while the other one starts another iteration.
//!
//! ```text
//!       b          Labels propagate along edges in block-index order. A block with one label passes it on. A block
//!      ╱ ╲         where different labels meet is a join and passes on a label of its own. Two positions have different
//!     x   y        labels if and only if disjoint paths from `b` reach them (thesis, Theorem 2). So the joins of `b`
//!     │╲  │        are the blocks where labels meet, and an exit edge is divergent if its label differs from the
//!     │ z◄┤        latch's.
//!     │   │
//!     └─►w◄        x and y have labels x and y; z is a join with its own label; w sees x, y and z, so it is a join too.
//! ```
//!
//! A lane that leaves a loop by a divergent exit waits after it until all lanes have left. To the enclosing code the loop
//! is one *partially divergent* node (Def. 21) with several outgoing edges, at least one of them divergent. The other
//! exits share one label there, because all lanes still in the loop take them together.
//!
//! These shortcuts keep the total near-linear over many branches:
//!
//! * A walk ends when a single label is live: the lanes have reconverged, or the rest cannot differ.
//! * An inner loop is a single node. So is the region between a block and its closest post-dominator (of the same loop, on
//!   forward paths) if the block dominates it: lanes enter and leave such a region with one label.
//! * If a walk visits a branch `c` and all other live labels are at targets of `c`, the rest of the walk equals the
//!   influence region of `c`. The result refers to it ([`InfluenceRegion::continues_at`]).
//! * The same holds for a test before `c` that branches past `c` or to a target of it.
//! * The same holds if other blocks are pending that no unvisited edge enters: the walk visits them first. A chain of
//!   checks, each with an edge into a chain of clean-ups (two rails with rungs), costs one walk along both.
//! * The region after a loop depends on its divergent exits alone, not on the branches that cause them.
//!
//! Regions are not shared if the targets of one branch stay away from the next branch, for example if each check of a chain
//! enters the second of two chains of clean-ups elsewhere. Such a walk visits all blocks up to the last join, per branch.
//!
//! After: Moll, thesis, chapter 7 (Listings 4-7, Appendix A). Differs in three points. Exits are edges, not blocks, so an
//! exit block with several edges joins only the divergent ones. A join knows the edges that reached it, so a φ with one
//! value on all of them stays uniform. The recursion over loops is inverted, because a loop's divergent exits are the union
//! over the branches inside.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use heddle_ir::Block;
use heddle_ir::entity::{Entity, EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::block_index::BlockIndex;
use crate::cfg::{Cfg, Edge};
use crate::cycles::{Cycle, CycleForest};
use crate::dominators::DominatorTree;
use crate::tree::{JumpPointerForest, NONE};

/// Block where diverged lanes may reconverge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// Block of the join.
    pub block: Block,
    /// Predecessors whose edges carry different labels, in order; at least two.
    pub from: SmallVec<[Block; 4]>,
}

/// Influence region of a divergent branch or of a loop's divergent exits, within the enclosing loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InfluenceRegion {
    /// Joins, in block-index order.
    pub joins: Vec<Join>,
    /// Divergent exits of the enclosing loop, as indices into [`SyncDependence::exits`], in order.
    pub divergent_exits: Vec<u32>,
    /// Blocks that some of the diverged lanes execute without the others. Each stands for all blocks that it dominates in
    /// the enclosing loop, and for the loop that it heads.
    pub blocks: Vec<Block>,
    /// Branch whose region is part of this one. A join of both regions lists its edges in both; they have one edge in
    /// common.
    pub continues_at: Option<Block>,
}

/// Computes influence regions on demand and caches those of branches.
#[derive(Debug)]
pub struct SyncDependence<'a> {
    cfg: &'a Cfg,
    dominators: &'a DominatorTree,
    cycles: &'a CycleForest,
    index: &'a BlockIndex,
    exits: Vec<Vec<Edge>>,
    /// Block at which a walk may continue after a block.
    bypass: SecondaryMap<Block, Option<Block>>,
    /// Block at which a walk may continue after a loop.
    loop_bypass: Vec<Option<Block>>,
    /// Length of the longest acyclic path from the entry to each block.
    depth: SecondaryMap<Block, u32>,
    cached: SecondaryMap<Block, Option<Box<InfluenceRegion>>>,
    labels: SecondaryMap<Block, u32>,
    steps: u64,
}

/// Label of an unreached block. Joins use their block number as label; seeds use the numbers after the last block.
const UNREACHED: u32 = u32::MAX;
/// Limits of the early visits before a branch: pending blocks, predecessors of each, and blocks visited per branch.
const MAX_PENDING: usize = 4;
const MAX_PREDS: usize = 8;
const MAX_EARLY_VISITS: usize = 4;
/// Limits of the search for shared regions: targets per branch, and blocks skipped on the path to each target.
const MAX_TARGETS: usize = 8;
const MAX_PASSED_BLOCKS: usize = 3;
/// Maximum size of a cached region.
const MAX_CACHED_SIZE: usize = 64;

impl<'a> SyncDependence<'a> {
    /// Prepares the tables for queries.
    ///
    /// # Panics
    /// If the graph is irreducible.
    pub fn new(
        cfg: &'a Cfg,
        dominators: &'a DominatorTree,
        cycles: &'a CycleForest,
        index: &'a BlockIndex,
    ) -> Self {
        assert!(cycles.is_graph_reducible(), "control divergence is known on reducible graphs only");
        let mut exits: Vec<Vec<Edge>> = vec![Vec::new(); cycles.num_cycles()];
        for edge in cfg.edges() {
            let mut enclosing = cycles.innermost(edge.from);
            while let Some(cycle) = enclosing.filter(|&cycle| !cycles.contains(cycle, edge.to)) {
                exits[cycle.index()].push(edge);
                enclosing = cycles.parent(cycle);
            }
        }
        exits.iter_mut().for_each(|edges| {
            edges.sort_unstable();
            edges.dedup();
        });
        let mut this = Self {
            cfg,
            dominators,
            cycles,
            index,
            exits,
            bypass: SecondaryMap::with_len(cfg.num_blocks()),
            loop_bypass: vec![None; cycles.num_cycles()],
            depth: depths(cfg, index),
            cached: SecondaryMap::with_len(cfg.num_blocks()),
            labels: SecondaryMap::filled(UNREACHED, cfg.num_blocks()),
            steps: 0,
        };
        this.find_bypasses();
        this
    }

    /// Returns the distinct exit edges of a loop, in order.
    pub fn exits(&self, cycle: Cycle) -> &[Edge] {
        &self.exits[cycle.index()]
    }

    /// Returns the number of blocks that all walks have visited so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the influence region of the branch at the end of a block.
    pub fn branch_region(&mut self, branch: Block) -> InfluenceRegion {
        if let Some(region) = &self.cached[branch] {
            return InfluenceRegion::clone(region);
        }
        let mut seeds: Vec<Edge> =
            self.cfg.succs(branch).iter().map(|&to| Edge { from: branch, to }).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let first = self.cfg.num_blocks() as u32;
        let seeds: Vec<(Edge, u32)> = seeds.into_iter().zip(first..).collect();
        let region = self.walk(self.cycles.innermost(branch), &seeds);
        // Caching every region takes quadratic space if regions are not shared.
        if region.joins.len() + region.blocks.len() <= MAX_CACHED_SIZE {
            self.cached[branch] = Some(Box::new(region.clone()));
        }
        region
    }

    /// Returns the influence region after a loop with these divergent exits.
    pub fn loop_region(&mut self, cycle: Cycle, is_divergent_exit: impl Fn(u32) -> bool) -> InfluenceRegion {
        let together = self.cfg.num_blocks() as u32;
        let seeds: Vec<(Edge, u32)> = (0..)
            .zip(&self.exits[cycle.index()])
            .map(|(number, &edge)| {
                (edge, if is_divergent_exit(number) { together + 1 + number } else { together })
            })
            .collect();
        self.walk(self.cycles.parent(cycle), &seeds)
    }

    /// Returns the blocks that may run without some lanes, given the blocks of all regions ([`InfluenceRegion::blocks`])
    /// and the divergent loops. Lanes that have left a divergent loop are missing in its later iterations.
    pub fn partial_blocks(
        &self,
        roots: &EntitySet<Block>,
        is_divergent_loop: impl Fn(Cycle) -> bool,
    ) -> EntitySet<Block> {
        let mut entered = EntitySet::new();
        let mut is_divergent_nest = vec![false; self.cycles.num_cycles()];
        for cycle in self.cycles.cycles() {
            let is_inside = self.cycles.parent(cycle).is_some_and(|parent| is_divergent_nest[parent.index()]);
            is_divergent_nest[cycle.index()] = is_inside || is_divergent_loop(cycle);
        }
        for &block in self.dominators.pre_order() {
            // A dominator inside a loop that does not contain the block stands for the loop: all lanes that entered leave.
            let above = self.dominators.idom(block).map(|above| {
                self.cycles.outermost_without(above, block).map_or(above, |cycle| self.cycles.header(cycle))
            });
            if roots.contains(block) || above.is_some_and(|above| entered.contains(above)) {
                entered.insert(block);
            }
        }
        let is_partial =
            |block| self.cycles.innermost(block).is_some_and(|cycle: Cycle| is_divergent_nest[cycle.index()]);
        let reachable = self.dominators.pre_order().iter().copied();
        reachable.filter(|&block| entered.contains(block) || is_partial(block)).collect()
    }

    /// Propagates labels from these edges through the enclosing loop, or through the function.
    fn walk(&mut self, enclosing: Option<Cycle>, seeds: &[(Edge, u32)]) -> InfluenceRegion {
        let mut walk = LabelWalk::default();
        for &(edge, label) in seeds {
            self.push(&mut walk, enclosing, edge, label);
        }
        let mut continues_at = None;
        while walk.live_labels.len() > 1 || walk.may_not_reconverge {
            let Some(Reverse((_, block))) = walk.pending.pop() else { break };
            self.steps += 1;
            walk.blocks.push(block);
            let label = self.labels[block];
            let inner = self.cycles.headed_by(block).filter(|_| self.cycles.innermost(block) != enclosing);
            if inner.is_none() && self.cfg.succs(block).len() > 1 {
                self.visit_ready_early(&mut walk, enclosing, block);
            }
            if inner.is_none() && self.continues_as_branch(&walk, enclosing, block) {
                continues_at = Some(block);
                for &to in self.cfg.succs(block) {
                    self.push(&mut walk, enclosing, Edge { from: block, to }, label);
                }
                for passed in self.passed_blocks(enclosing, block) {
                    walk.pending.retain(|&Reverse((_, other))| other != passed);
                    walk.blocks.push(passed);
                    self.propagate(&mut walk, enclosing, passed, None);
                }
                // The live label at a target of the branch differs from the labels of all exits, or of all but one.
                break;
            }
            self.propagate(&mut walk, enclosing, block, inner);
        }
        self.finish(walk, enclosing, continues_at)
    }

    /// Propagates the label of a visited block along its outgoing edges.
    fn propagate(
        &mut self,
        walk: &mut LabelWalk,
        enclosing: Option<Cycle>,
        block: Block,
        inner: Option<Cycle>,
    ) {
        let label = self.labels[block];
        walk.release(label);
        let bypass = match inner {
            Some(cycle) => self.loop_bypass[cycle.index()],
            None => self.bypass[block],
        };
        if let Some(next) = bypass {
            self.push(walk, enclosing, Edge { from: block, to: next }, label);
        } else if let Some(cycle) = inner {
            walk.may_not_reconverge |= self.exits[cycle.index()].is_empty();
            for at in 0..self.exits[cycle.index()].len() {
                let edge = self.exits[cycle.index()][at];
                self.push(walk, enclosing, edge, label);
            }
        } else {
            walk.may_not_reconverge |= self.cfg.succs(block).is_empty();
            for &to in self.cfg.succs(block) {
                self.push(walk, enclosing, Edge { from: block, to }, label);
            }
        }
    }

    /// Visits pending blocks without unvisited predecessors early, so that fewer are pending at a branch. Labels are the
    /// same in any topological order. This order exposes shared regions with several joins next to each other, as from a
    /// chain of checks to a chain of clean-ups.
    fn visit_ready_early(&mut self, walk: &mut LabelWalk, enclosing: Option<Cycle>, branch: Block) {
        let before = self.index.number(branch);
        let landing_blocks = self.landing_blocks(enclosing, branch);
        for _ in 0..MAX_EARLY_VISITS {
            if walk.pending.len() > MAX_PENDING {
                return;
            }
            let waiting = || walk.pending.iter().map(|&Reverse((_, block))| block);
            let is_ready = |block: Block| {
                let others = waiting().filter(|&other| other != block).chain([branch]);
                let min_depth = others.map(|other| self.depth[other]).min().unwrap_or(0);
                let is_behind = |pred: Block| {
                    // The header stands for a loop, which is a single node.
                    let node = self.cycles.outermost_without(pred, branch);
                    let pred = node.map_or(pred, |cycle| self.cycles.header(cycle));
                    match self.labels[pred] {
                        // A block at no greater depth is unreachable from pending blocks, and so is one before the branch.
                        UNREACHED => self.depth[pred] <= min_depth || self.index.number(pred) < before,
                        _ => !waiting().any(|other| other == pred),
                    }
                };
                let preds = self.cfg.preds(block);
                let forward = |pred: &&Block| {
                    let number = self.index.number(**pred);
                    number.is_some() && number < self.index.number(block)
                };
                !landing_blocks.contains(&block)
                    && preds.len() <= MAX_PREDS
                    && self.cycles.headed_by(block).is_none()
                    && preds.iter().filter(forward).all(|&pred| pred != branch && is_behind(pred))
            };
            let found =
                walk.pending.iter().map(|&Reverse(entry)| entry).filter(|&(_, block)| is_ready(block)).min();
            let Some((_, block)) = found else { return };
            walk.pending.retain(|&Reverse((_, other))| other != block);
            self.steps += 1;
            walk.blocks.push(block);
            self.propagate(walk, enclosing, block, None);
        }
    }

    fn finish(
        &mut self,
        walk: LabelWalk,
        enclosing: Option<Cycle>,
        continues_at: Option<Block>,
    ) -> InfluenceRegion {
        let mut joins: Vec<Join> = Vec::new();
        for (&block, from) in &walk.reached_from {
            if self.labels[block] == block.as_u32() {
                let mut from = from.clone();
                from.sort_unstable();
                from.dedup();
                joins.push(Join { block, from });
            }
            self.labels[block] = UNREACHED;
        }
        joins.sort_unstable_by_key(|join| self.index.number(join.block));
        let mut divergent_exits: Vec<u32> = Vec::new();
        if let Some(cycle) = enclosing {
            // Lanes in the next iteration have one of the live labels. Without a live label no lane starts one, and exits
            // are divergent if their labels differ.
            let first = walk.exit_labels.first().map(|&(_, label)| label);
            let is_divergent = |label: u32| match walk.live_labels.len() {
                0 => walk.exit_labels.iter().any(|&(_, other)| Some(other) != first),
                1 => !walk.live_labels.contains_key(&label),
                _ => true,
            };
            let number =
                |edge: Edge| self.exits[cycle.index()].binary_search(&edge).expect("an exit is listed");
            divergent_exits = walk
                .exit_labels
                .iter()
                .filter(|&&(_, label)| is_divergent(label))
                .map(|&(edge, _)| number(edge) as u32)
                .collect();
            divergent_exits.sort_unstable();
            divergent_exits.dedup();
        }
        InfluenceRegion { joins, divergent_exits, blocks: walk.blocks, continues_at }
    }

    fn push(&mut self, walk: &mut LabelWalk, enclosing: Option<Cycle>, edge: Edge, label: u32) {
        if let Some(cycle) = enclosing {
            if !self.cycles.contains(cycle, edge.to) {
                walk.exit_labels.push((edge, label));
                return;
            }
            if self.cycles.header(cycle) == edge.to {
                // The latch: lanes reconverge here, by different edges if there are several.
                let old = walk.latch_label;
                let new = match old {
                    None => label,
                    Some(old) if old == label => old,
                    Some(_) => edge.to.as_u32(),
                };
                if let Some(old) = old {
                    walk.release(old);
                }
                walk.hold(new);
                walk.latch_label = Some(new);
                self.labels[edge.to] = new;
                walk.reached_from.entry(edge.to).or_default().push(edge.from);
                return;
            }
        }
        let old = self.labels[edge.to];
        let new = match old {
            UNREACHED => {
                let number = self.index.number(edge.to).expect("a reachable block has a number");
                walk.pending.push(Reverse((number, edge.to)));
                label
            }
            old if old == label => old,
            _ => edge.to.as_u32(),
        };
        if old != UNREACHED {
            walk.release(old);
        }
        walk.hold(new);
        self.labels[edge.to] = new;
        walk.reached_from.entry(edge.to).or_default().push(edge.from);
    }

    /// True if the rest of the walk equals the influence region of this branch, the block visited last.
    fn continues_as_branch(&self, walk: &LabelWalk, enclosing: Option<Cycle>, branch: Block) -> bool {
        if walk.latch_label.is_some() || walk.may_not_reconverge || self.cycles.innermost(branch) != enclosing
        {
            return false;
        }
        if walk.pending.len() > MAX_TARGETS * (MAX_PASSED_BLOCKS + 1) {
            return false;
        }
        let targets = self.landing_blocks(enclosing, branch);
        let label = self.labels[branch];
        if targets.len() < 2 {
            return false;
        }
        let passed_blocks = self.passed_blocks(enclosing, branch);
        if !walk
            .pending
            .iter()
            .all(|Reverse((_, block))| targets.contains(block) || passed_blocks.contains(block))
        {
            return false;
        }
        let mut distinct = targets.clone();
        distinct.dedup();
        // At most one target gets or has the label of the branch; the others become joins with labels of their own. That
        // target must not become a join later, since the region of the branch does not know its other edges.
        let is_followed = |&&to: &&Block| self.labels[to] == UNREACHED || self.labels[to] == label;
        distinct.len() == targets.len()
            && distinct.iter().filter(is_followed).count() <= 1
            && distinct.iter().all(|&to| self.labels[to] != label || self.has_only_visited_preds(to, branch))
    }

    /// Returns the ends of the straight-line paths from the targets of a branch, in order, one per distinct target. Empty if
    /// the branch has more than [`MAX_TARGETS`] targets.
    fn landing_blocks(&self, enclosing: Option<Cycle>, branch: Block) -> SmallVec<[Block; 8]> {
        let distinct_targets = self.distinct_targets(branch);
        let mut landing_blocks: SmallVec<[Block; 8]> = distinct_targets
            .iter()
            .map(|&to| self.straight_path(enclosing, branch, to).last().unwrap_or(to))
            .collect();
        landing_blocks.sort_unstable();
        landing_blocks
    }

    /// Returns the blocks that these paths skip, in path order.
    fn passed_blocks(&self, enclosing: Option<Cycle>, branch: Block) -> SmallVec<[Block; 8]> {
        let mut blocks = SmallVec::new();
        for to in self.distinct_targets(branch) {
            let straight_path: SmallVec<[Block; MAX_PASSED_BLOCKS + 1]> =
                self.straight_path(enclosing, branch, to).collect();
            blocks.extend(straight_path.iter().copied().take(straight_path.len() - 1));
        }
        blocks
    }

    /// Returns the distinct targets of a branch, in order; empty if there are more than [`MAX_TARGETS`].
    fn distinct_targets(&self, branch: Block) -> SmallVec<[Block; 8]> {
        let targets = self.cfg.succs(branch);
        if targets.len() > MAX_TARGETS {
            return SmallVec::new();
        }
        let mut distinct_targets = SmallVec::from_slice(targets);
        distinct_targets.sort_unstable();
        distinct_targets.dedup();
        distinct_targets
    }

    /// Follows single-successor blocks from a target of a branch while only visited lanes can enter them.
    fn straight_path(
        &self,
        enclosing: Option<Cycle>,
        branch: Block,
        from: Block,
    ) -> impl Iterator<Item = Block> + '_ {
        let next = move |&at: &Block| {
            let [to] = self.cfg.succs(at) else { return None };
            let is_passage = self.cycles.innermost(at) == enclosing
                && (self.cfg.preds(at).len() == 1 || at == from && self.has_only_visited_preds(at, branch));
            let stays_in_level = enclosing
                .is_none_or(|cycle| self.cycles.contains(cycle, *to) && self.cycles.header(cycle) != *to);
            (is_passage && stays_in_level).then_some(*to)
        };
        std::iter::successors(Some(from), next).take(MAX_PASSED_BLOCKS + 1)
    }

    /// True if all predecessors of a block are the branch or were visited before it.
    fn has_only_visited_preds(&self, block: Block, branch: Block) -> bool {
        let [number, last] = [block, branch].map(|block| self.index.number(block));
        let preds = self.cfg.preds(block);
        number > last && preds.len() <= MAX_PREDS && preds.iter().all(|&pred| self.index.number(pred) <= last)
    }

    /// Computes local post-dominators per nesting level. The nodes of a level are the blocks directly in a loop and its
    /// direct inner loops. Edges that leave the level or enter the next iteration lead to the root.
    fn find_bypasses(&mut self) {
        let num_blocks = self.cfg.num_blocks();
        let root = (num_blocks + self.cycles.num_cycles()) as u32;
        let mut tree = JumpPointerForest::new(root as usize + 1);
        for &block in self.index.order().iter().rev() {
            let targets = self.cfg.succs(block).iter().copied();
            let own = self.attach_to_postdominator(
                &mut tree,
                block.as_u32(),
                self.cycles.innermost(block),
                root,
                targets,
            );
            if let Some(cycle) = self.cycles.headed_by(block) {
                let targets = self.exits[cycle.index()].iter().map(|edge| edge.to);
                let node = num_blocks as u32 + cycle.as_u32();
                let postdom =
                    self.attach_to_postdominator(&mut tree, node, self.cycles.parent(cycle), root, targets);
                self.loop_bypass[cycle.index()] =
                    postdom.filter(|&postdom| self.dominators.dominates(block, postdom));
            }
            self.bypass[block] = own.filter(|&postdom| self.dominators.dominates(block, postdom));
        }
    }

    /// Attaches a node below the nearest common post-dominator of its targets; returns that node's first block.
    fn attach_to_postdominator(
        &self,
        tree: &mut JumpPointerForest,
        node: u32,
        enclosing: Option<Cycle>,
        root: u32,
        targets: impl Iterator<Item = Block>,
    ) -> Option<Block> {
        let mut postdom = NONE;
        for to in targets {
            let stays_in_level = enclosing
                .is_none_or(|cycle| self.cycles.contains(cycle, to) && self.cycles.header(cycle) != to);
            let target = match self.cycles.headed_by(to) {
                _ if !stays_in_level => root,
                Some(cycle) => self.cfg.num_blocks() as u32 + cycle.as_u32(),
                None => to.as_u32(),
            };
            postdom = if postdom == NONE { target } else { tree.nearest_common(postdom, target) };
        }
        let postdom = if postdom == NONE { root } else { postdom };
        tree.attach(node, postdom);
        match postdom {
            postdom if postdom == root => None,
            postdom if postdom < self.cfg.num_blocks() as u32 => Some(Block::from_u32(postdom)),
            cycle => Some(self.cycles.header(Cycle::from_u32(cycle - self.cfg.num_blocks() as u32))),
        }
    }
}

/// Returns the length of the longest acyclic path from the entry to each block.
fn depths(cfg: &Cfg, index: &BlockIndex) -> SecondaryMap<Block, u32> {
    let mut depth: SecondaryMap<Block, u32> = SecondaryMap::with_len(cfg.num_blocks());
    for &block in index.order() {
        for &to in cfg.succs(block) {
            if index.number(to) > index.number(block) {
                depth[to] = depth[to].max(depth[block] + 1);
            }
        }
    }
    depth
}

/// State of one label propagation.
#[derive(Default)]
struct LabelWalk {
    /// Reached but unvisited blocks, by block index.
    pending: BinaryHeap<Reverse<(usize, Block)>>,
    /// Labels of pending blocks and of the latch, with their counts.
    live_labels: FxHashMap<u32, u32>,
    /// Label of the latch, once reached.
    latch_label: Option<u32>,
    /// Reached exit edges with their labels.
    exit_labels: Vec<(Edge, u32)>,
    /// Predecessors from which each block was reached.
    reached_from: FxHashMap<Block, SmallVec<[Block; 4]>>,
    blocks: Vec<Block>,
    /// True if lanes may have returned or stay in an endless loop: later blocks then never have all lanes.
    may_not_reconverge: bool,
}

impl LabelWalk {
    fn hold(&mut self, label: u32) {
        *self.live_labels.entry(label).or_default() += 1;
    }

    fn release(&mut self, label: u32) {
        if let Some(count) = self.live_labels.get_mut(&label) {
            *count -= 1;
            if *count == 0 {
                self.live_labels.remove(&label);
            }
        }
    }
}

/// All effects of a single divergent branch, in all enclosing loops (thesis, Listing 7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlDivergence {
    /// Joins with the predecessors of their different edges, in block order.
    pub joins: Vec<Join>,
    /// Divergent exits per loop. Outside of the loop, lanes may hold values of different iterations.
    pub divergent_exits: Vec<(Cycle, Edge)>,
    /// Blocks that may run without some lanes.
    pub partial_blocks: EntitySet<Block>,
}

impl SyncDependence<'_> {
    /// Returns all effects of divergence at the branch of this block.
    pub fn control_divergence(&mut self, branch: Block) -> ControlDivergence {
        let mut joins: FxHashMap<Block, SmallVec<[Block; 4]>> = FxHashMap::default();
        let mut divergent_exits = Vec::new();
        let mut roots = EntitySet::new();
        let mut merge = |found: &InfluenceRegion| {
            for join in &found.joins {
                joins.entry(join.block).or_default().extend_from_slice(&join.from);
            }
            for &block in &found.blocks {
                roots.insert(block);
            }
        };
        let mut left: Vec<u32> = Vec::new();
        let mut next = Some(branch);
        while let Some(at) = next {
            let region = self.branch_region(at);
            merge(&region);
            left.extend_from_slice(&region.divergent_exits);
            next = region.continues_at;
        }
        let mut enclosing = self.cycles.innermost(branch);
        while let Some(cycle) = enclosing.filter(|_| !left.is_empty()) {
            divergent_exits.extend(left.iter().map(|&number| (cycle, self.exits(cycle)[number as usize])));
            let region = self.loop_region(cycle, |number| left.contains(&number));
            merge(&region);
            left.clone_from(&region.divergent_exits);
            let mut next = region.continues_at;
            while let Some(at) = next {
                let region = self.branch_region(at);
                merge(&region);
                left.extend_from_slice(&region.divergent_exits);
                next = region.continues_at;
            }
            enclosing = self.cycles.parent(cycle);
        }
        let mut joins: Vec<Join> = joins.into_iter().map(|(block, from)| Join { block, from }).collect();
        joins.iter_mut().for_each(|join| {
            join.from.sort_unstable();
            join.from.dedup();
        });
        joins.sort_unstable_by_key(|join| join.block);
        divergent_exits.sort_unstable();
        divergent_exits.dedup();
        let partial_blocks =
            self.partial_blocks(&roots, |cycle| divergent_exits.iter().any(|&(left, _)| left == cycle));
        ControlDivergence { joins, divergent_exits, partial_blocks }
    }
}
