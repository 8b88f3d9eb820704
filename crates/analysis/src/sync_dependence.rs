//! Control divergence: where lanes that part at a branch meet again, and which loops they leave apart.
//!
//! Every block is a barrier (Def. 18), so a block runs once for each *instance*: once in each round of the loops
//! around it, with all lanes that come there in that round. Lanes part at a branch and are *apart* until they have an
//! instance in common again; in between no branch binds them to each other. So all that a divergent branch `b` does
//! shows in pairs of paths from `b` that have no instance in common but their ends:
//!
//! * `z` is a *join* of `b` if two such paths end in `z` by different edges: its φs may mix what came along them;
//! * a loop around `b` is *left apart* by an exit edge if one path takes that edge while the other one goes round.
//!
//! ```text
//!       b          Labels are pushed along the edges in block-index order. A block with one label passes it on; one
//!      ╱ ╲         where different labels meet is a join and passes on a label of its own. Two places have different
//!     x   y        labels if and only if disjoint paths lead to them from `b` (thesis, Theorem 2). So the joins of
//!     │╲  │        `b` are the blocks where labels meet, and an exit edge is left apart if its label is not the
//!     │ z◄┤        latch's.
//!     │   │
//!     └─►w◄        x and y have labels x and y; z is a join, with its own; w sees x, y and z's, and is one too.
//! ```
//!
//! A lane that leaves a loop apart waits behind it until all lanes have left. So for the code around it the loop is one node
//! that is *partially divergent* (Def. 21): lanes go on from different edges, of which at least one is left apart.
//! Seen from there, the edges not left apart share one label: all lanes that are still together take them together.
//!
//! What makes this near-linear over many branches:
//!
//! * A walk ends when a single label is alive: from there on lanes are together, or it no longer matters.
//! * Inner loops are single nodes, and so are regions between a block and its closest post-dominator (of the same
//!   loop, on forward paths) if it dominates that one: a lane that goes in comes out there, with the label unchanged.
//! * If a walk is at a branch `c`, and all other labels alive are at targets of `c`, what is left is what lanes that
//!   part at `c` do: the result refers to that of `c` instead of repeating it ([`InfluenceRegion::then`]).
//! * So it is where a question is asked in front of `c` that leads past it or to a target of it.
//! * So it is if others wait elsewhere that nothing else leads to any more: they go on first. A chain of checks, each
//!   with a way into a chain of clean-ups (two rails with rungs), costs no more than one walk along both.
//! * What happens behind a loop depends on the edges left apart alone, not on the branches.
//!
//! Partings are not shared where the ways of a branch never come near the next branch's: as if each check of a chain led
//! into the second of two chains of clean-ups at some other place. There a walk goes on until all ways meet, and the
//! time is that of the blocks in between for each branch.
//!
//! Requires a reducible graph.
//!
//! After: Moll, thesis, chapter 7 (Listings 4-7, Appendix A). Differs in: edges, not blocks, are exits, so that an
//! exit block with several edges joins exactly those that lanes leave apart by; a join knows the edges that it was
//! reached by (a φ with one value on all of these is not touched); the recursion over loops is turned inside out,
//! for a loop's edges left apart are the union over the branches inside.

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

/// A block where lanes that are apart may meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// The block.
    pub block: Block,
    /// The predecessors that they may come from, in order: two at least.
    pub from: SmallVec<[Block; 4]>,
}

/// What lanes do that part at a branch, or that leave a loop apart, up to the end of the loop around.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InfluenceRegion {
    /// Where they may meet, in block-index order.
    pub joins: Vec<Join>,
    /// The edges by which they may leave the loop around apart, as numbers of [`SyncDependence::exits`], in order.
    pub divergent_exits: Vec<u32>,
    /// Blocks that some lanes execute while others, apart from them, do not. With each block, all that it dominates
    /// in the loop around is meant, and loops whose header it is.
    pub blocks: Vec<Block>,
    /// The branch whose parting is a part of this one as well. A join that both name has its edges in both, and one
    /// of them in common.
    pub continues_at: Option<Block>,
}

/// Answers queries for partings; remembers those of branches.
#[derive(Debug)]
pub struct SyncDependence<'a> {
    cfg: &'a Cfg,
    dominators: &'a DominatorTree,
    cycles: &'a CycleForest,
    index: &'a BlockIndex,
    exits: Vec<Vec<Edge>>,
    /// Where a walk may go on after a block.
    bypass: SecondaryMap<Block, Option<Block>>,
    /// Where a walk may go on after a loop.
    loop_bypass: Vec<Option<Block>>,
    /// Per block, the length of the longest way to it that does not go round.
    depth: SecondaryMap<Block, u32>,
    cached: SecondaryMap<Block, Option<Box<InfluenceRegion>>>,
    labels: SecondaryMap<Block, u32>,
    steps: u64,
}

/// The label of a block that none has reached. Joins have the numbers of their blocks, seeds those behind.
const UNREACHED: u32 = u32::MAX;
/// How many blocks may wait beside a branch that is looked at closely, how many edges may lead to each of them, and how
/// many are taken before their turn.
const MAX_PENDING: usize = 4;
const MAX_PREDS: usize = 8;
const MAX_EARLY_VISITS: usize = 4;
/// How many targets a branch has that is looked at closely, and how many blocks are left behind on the way to each.
const MAX_TARGETS: usize = 8;
const MAX_PASSED_BLOCKS: usize = 3;
/// The greatest size of a parting that is remembered.
const MAX_CACHED_SIZE: usize = 64;

impl<'a> SyncDependence<'a> {
    /// Prepares for queries.
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
            let mut around = cycles.innermost(edge.from);
            while let Some(cycle) = around.filter(|&cycle| !cycles.contains(cycle, edge.to)) {
                exits[cycle.index()].push(edge);
                around = cycles.parent(cycle);
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

    /// The distinct edges that leave a loop, in order.
    pub fn exits(&self, cycle: Cycle) -> &[Edge] {
        &self.exits[cycle.index()]
    }

    /// How many blocks all walks so far have visited.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// What lanes do that part at this block.
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
        // Where partings are not shared, to keep them all would take quadratic space.
        if region.joins.len() + region.blocks.len() <= MAX_CACHED_SIZE {
            self.cached[branch] = Some(Box::new(region.clone()));
        }
        region
    }

    /// What lanes do behind a loop that leave it apart by these of its exits.
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

    /// The blocks that some lanes execute without others, given what [`InfluenceRegion::apart`] names and the loops that some
    /// lanes leave apart: in later rounds of these, those that have left are missing everywhere.
    pub fn partial_blocks(
        &self,
        roots: &EntitySet<Block>,
        is_divergent_loop: impl Fn(Cycle) -> bool,
    ) -> EntitySet<Block> {
        let mut entered = EntitySet::new();
        let mut lacks = vec![false; self.cycles.num_cycles()];
        for cycle in self.cycles.cycles() {
            let is_inside = self.cycles.parent(cycle).is_some_and(|parent| lacks[parent.index()]);
            lacks[cycle.index()] = is_inside || is_divergent_loop(cycle);
        }
        for &block in self.dominators.pre_order() {
            // A dominator in a loop that the block is not in stands for the loop: all lanes that entered it come out.
            let above = self.dominators.idom(block).map(|above| {
                self.cycles.outermost_without(above, block).map_or(above, |cycle| self.cycles.header(cycle))
            });
            if roots.contains(block) || above.is_some_and(|above| entered.contains(above)) {
                entered.insert(block);
            }
        }
        let is_late = |block| self.cycles.innermost(block).is_some_and(|cycle: Cycle| lacks[cycle.index()]);
        let reachable = self.dominators.pre_order().iter().copied();
        reachable.filter(|&block| entered.contains(block) || is_late(block)).collect()
    }

    /// Pushes labels from these edges through the loop around, or through the function.
    fn walk(&mut self, around: Option<Cycle>, seeds: &[(Edge, u32)]) -> InfluenceRegion {
        let mut walk = LabelWalk::default();
        for &(edge, label) in seeds {
            self.push(&mut walk, around, edge, label);
        }
        let mut continues_at = None;
        while walk.live_labels.len() > 1 || walk.may_not_reconverge {
            let Some(Reverse((_, block))) = walk.pending.pop() else { break };
            self.steps += 1;
            walk.blocks.push(block);
            let label = self.labels[block];
            let inner = self.cycles.headed_by(block).filter(|_| self.cycles.innermost(block) != around);
            if inner.is_none() && self.cfg.succs(block).len() > 1 {
                self.visit_ready_early(&mut walk, around, block);
            }
            if inner.is_none() && self.continues_as_branch(&walk, around, block) {
                continues_at = Some(block);
                for &to in self.cfg.succs(block) {
                    self.push(&mut walk, around, Edge { from: block, to }, label);
                }
                for passed in self.passed_blocks(around, block) {
                    walk.pending.retain(|&Reverse((_, other))| other != passed);
                    walk.blocks.push(passed);
                    self.propagate(&mut walk, around, passed, None);
                }
                // The label alive at a target of the branch is another than that of any exit, or of all but one.
                break;
            }
            self.propagate(&mut walk, around, block, inner);
        }
        self.finish(walk, around, continues_at)
    }

    /// Pushes the label of a block that has been taken along all ways that lead on from it.
    fn propagate(&mut self, walk: &mut LabelWalk, around: Option<Cycle>, block: Block, inner: Option<Cycle>) {
        let label = self.labels[block];
        walk.release(label);
        let bypass = match inner {
            Some(cycle) => self.loop_bypass[cycle.index()],
            None => self.bypass[block],
        };
        if let Some(behind) = bypass {
            self.push(walk, around, Edge { from: block, to: behind }, label);
        } else if let Some(cycle) = inner {
            walk.may_not_reconverge |= self.exits[cycle.index()].is_empty();
            for at in 0..self.exits[cycle.index()].len() {
                let edge = self.exits[cycle.index()][at];
                self.push(walk, around, edge, label);
            }
        } else {
            walk.may_not_reconverge |= self.cfg.succs(block).is_empty();
            for &to in self.cfg.succs(block) {
                self.push(walk, around, Edge { from: block, to }, label);
            }
        }
    }

    /// Takes blocks before their turn that nothing leads to any more, so that fewer wait beside a branch. Any
    /// topological order gives the same labels; in this one partings are recognized that lead to several joins side by
    /// side, as from a chain of checks to a chain of clean-ups.
    fn visit_ready_early(&mut self, walk: &mut LabelWalk, around: Option<Cycle>, branch: Block) {
        let before = self.index.number(branch);
        let landing_blocks = self.landing_blocks(around, branch);
        for _ in 0..MAX_EARLY_VISITS {
            if walk.pending.len() > MAX_PENDING {
                return;
            }
            let waiting = || walk.pending.iter().map(|&Reverse((_, block))| block);
            let may_go = |block: Block| {
                let others = waiting().filter(|&other| other != block).chain([branch]);
                let least = others.map(|other| self.depth[other]).min().unwrap_or(0);
                let is_behind = |pred: Block| {
                    // A loop is one node, its header stands for it.
                    let node = self.cycles.outermost_without(pred, branch);
                    let pred = node.map_or(pred, |cycle| self.cycles.header(cycle));
                    match self.labels[pred] {
                        // Nothing leads to where it is not deeper. What is before the branch is never reached any more.
                        UNREACHED => self.depth[pred] <= least || self.index.number(pred) < before,
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
                walk.pending.iter().map(|&Reverse(entry)| entry).filter(|&(_, block)| may_go(block)).min();
            let Some((_, block)) = found else { return };
            walk.pending.retain(|&Reverse((_, other))| other != block);
            self.steps += 1;
            walk.blocks.push(block);
            self.propagate(walk, around, block, None);
        }
    }

    fn finish(
        &mut self,
        walk: LabelWalk,
        around: Option<Cycle>,
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
        if let Some(cycle) = around {
            // Lanes that go round have one of the labels alive. If there are none they never do; then exits differ
            // from each other.
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

    fn push(&mut self, walk: &mut LabelWalk, around: Option<Cycle>, edge: Edge, label: u32) {
        if let Some(cycle) = around {
            if !self.cycles.contains(cycle, edge.to) {
                walk.exit_labels.push((edge, label));
                return;
            }
            if self.cycles.header(cycle) == edge.to {
                // The latch: lanes that come there meet, by different edges if there are several.
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

    /// Whether what is still to come is what lanes do that part at this branch, the last block taken.
    fn continues_as_branch(&self, walk: &LabelWalk, around: Option<Cycle>, branch: Block) -> bool {
        if walk.latch_label.is_some() || walk.may_not_reconverge || self.cycles.innermost(branch) != around {
            return false;
        }
        if walk.pending.len() > MAX_TARGETS * (MAX_PASSED_BLOCKS + 1) {
            return false;
        }
        let targets = self.landing_blocks(around, branch);
        let label = self.labels[branch];
        if targets.len() < 2 {
            return false;
        }
        let passed_blocks = self.passed_blocks(around, branch);
        if !walk
            .pending
            .iter()
            .all(|Reverse((_, block))| targets.contains(block) || passed_blocks.contains(block))
        {
            return false;
        }
        let mut distinct = targets.clone();
        distinct.dedup();
        // One target at most gets the label from here, or has it; the others become joins, with labels of their own.
        // What has it must not become a join later: the parting at the branch does not know of its other edges.
        let is_followed = |&&to: &&Block| self.labels[to] == UNREACHED || self.labels[to] == label;
        distinct.len() == targets.len()
            && distinct.iter().filter(is_followed).count() <= 1
            && distinct.iter().all(|&to| self.labels[to] != label || self.has_only_visited_preds(to, branch))
    }

    /// Where lanes come to that take one or the other way at a branch, ways on which nothing else happens left behind:
    /// in order, each as often as there are different ways to it. Nothing if there are many ways.
    fn landing_blocks(&self, around: Option<Cycle>, branch: Block) -> SmallVec<[Block; 8]> {
        let distinct_targets = self.distinct_targets(branch);
        let mut landing_blocks: SmallVec<[Block; 8]> = distinct_targets
            .iter()
            .map(|&to| self.straight_path(around, branch, to).last().unwrap_or(to))
            .collect();
        landing_blocks.sort_unstable();
        landing_blocks
    }

    /// The blocks on these ways, each before those behind it.
    fn passed_blocks(&self, around: Option<Cycle>, branch: Block) -> SmallVec<[Block; 8]> {
        let mut blocks = SmallVec::new();
        for to in self.distinct_targets(branch) {
            let straight_path: SmallVec<[Block; MAX_PASSED_BLOCKS + 1]> =
                self.straight_path(around, branch, to).collect();
            blocks.extend(straight_path.iter().copied().take(straight_path.len() - 1));
        }
        blocks
    }

    /// The distinct targets of a branch, in order; none if there are many.
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

    /// A target of a branch and the blocks behind it, as long as there is one way out, and no other lane comes in that is
    /// not there yet.
    fn straight_path(
        &self,
        around: Option<Cycle>,
        branch: Block,
        from: Block,
    ) -> impl Iterator<Item = Block> + '_ {
        let next = move |&at: &Block| {
            let [to] = self.cfg.succs(at) else { return None };
            let is_passage = self.cycles.innermost(at) == around
                && (self.cfg.preds(at).len() == 1 || at == from && self.has_only_visited_preds(at, branch));
            let goes_on = around
                .is_none_or(|cycle| self.cycles.contains(cycle, *to) && self.cycles.header(cycle) != *to);
            (is_passage && goes_on).then_some(*to)
        };
        std::iter::successors(Some(from), next).take(MAX_PASSED_BLOCKS + 1)
    }

    /// Whether nothing but this branch, and what was taken before it, leads to a block.
    fn has_only_visited_preds(&self, block: Block, branch: Block) -> bool {
        let [number, last] = [block, branch].map(|block| self.index.number(block));
        let preds = self.cfg.preds(block);
        number > last && preds.len() <= MAX_PREDS && preds.iter().all(|&pred| self.index.number(pred) <= last)
    }

    /// Local post-dominators, level by level: the nodes of a level are the blocks directly in a loop and the loops
    /// directly in it. What leaves the level or goes round leads to the root.
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
                let behind =
                    self.attach_to_postdominator(&mut tree, node, self.cycles.parent(cycle), root, targets);
                self.loop_bypass[cycle.index()] =
                    behind.filter(|&behind| self.dominators.dominates(block, behind));
            }
            self.bypass[block] = own.filter(|&behind| self.dominators.dominates(block, behind));
        }
    }

    /// Hangs a node under the closest node that all its targets lead to, and gives the block where that starts.
    fn attach_to_postdominator(
        &self,
        tree: &mut JumpPointerForest,
        node: u32,
        around: Option<Cycle>,
        root: u32,
        targets: impl Iterator<Item = Block>,
    ) -> Option<Block> {
        let mut behind = NONE;
        for to in targets {
            let goes_on =
                around.is_none_or(|cycle| self.cycles.contains(cycle, to) && self.cycles.header(cycle) != to);
            let target = match self.cycles.headed_by(to) {
                _ if !goes_on => root,
                Some(cycle) => self.cfg.num_blocks() as u32 + cycle.as_u32(),
                None => to.as_u32(),
            };
            behind = if behind == NONE { target } else { tree.nearest_common(behind, target) };
        }
        let behind = if behind == NONE { root } else { behind };
        tree.attach(node, behind);
        match behind {
            behind if behind == root => None,
            behind if behind < self.cfg.num_blocks() as u32 => Some(Block::from_u32(behind)),
            cycle => Some(self.cycles.header(Cycle::from_u32(cycle - self.cfg.num_blocks() as u32))),
        }
    }
}

/// The lengths of the longest ways from the entry to each block that do not go round.
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

/// The state of one walk.
#[derive(Default)]
struct LabelWalk {
    /// Blocks reached and not taken, by block index.
    pending: BinaryHeap<Reverse<(usize, Block)>>,
    /// Labels of these and of the latch, with how many have each.
    live_labels: FxHashMap<u32, u32>,
    /// The label of the latch, once it is reached.
    latch_label: Option<u32>,
    /// Exit edges reached, with their labels.
    exit_labels: Vec<(Edge, u32)>,
    /// Where each reached block was reached from.
    reached_from: FxHashMap<Block, SmallVec<[Block; 4]>>,
    blocks: Vec<Block>,
    /// Whether lanes may have returned, or stay in a loop for ever: then those behind are never all.
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

/// All that a single divergent branch does, in all loops around it (thesis, Listing 7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlDivergence {
    /// Where lanes meet by different edges, with these edges' sources, in block order.
    pub joins: Vec<Join>,
    /// The edges by which lanes leave a loop apart: outside of the loop, its values may be those of different rounds.
    pub divergent_exits: Vec<(Cycle, Edge)>,
    /// The blocks that some lanes execute without others.
    pub partial_blocks: EntitySet<Block>,
}

impl SyncDependence<'_> {
    /// All that lanes do that part at this block.
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
        let mut around = self.cycles.innermost(branch);
        while let Some(cycle) = around.filter(|_| !left.is_empty()) {
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
            around = self.cycles.parent(cycle);
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
