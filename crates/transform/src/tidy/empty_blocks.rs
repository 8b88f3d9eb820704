//! Removes blocks that only jump.
//!
//! ```text
//!     block1: br v2, block3, block4        block1: br v2, block4, block4        block1: br block4
//!     block3: br block4
//! ```
//!
//! A predecessor may bypass such a block if the φs after it keep their values: a block that is already a predecessor
//! must supply the same values on both edges. Loops keep their preheaders and latches.

use std::collections::BTreeMap;

use heddle_analysis::{Cfg, Edge};
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::cfg_analyses::CfgAnalyses;
use crate::edges::{phis, retarget, set_incoming};

/// Maximum number of φs to compare in a block.
const MAX_PHIS: usize = 64;

/// Redirects edges past empty blocks; true if there were any.
pub(super) fn skip_empty_blocks(func: &mut Function, flow: &CfgAnalyses) -> bool {
    let cycles = flow.forest();
    let mut sources_of = EdgeSources { cfg: &flow.cfg, added: FxHashMap::default() };
    let mut joins: BTreeMap<Block, PredecessorEdits> = BTreeMap::new();
    let blocks: Vec<Block> = func.blocks().collect();
    let mut changed = false;
    // Branches whose targets may coincide: those that do already, and those that are redirected.
    let mut agreeing: Vec<Block> =
        blocks.iter().copied().filter(|&block| targets_coincide(flow.cfg.succs(block))).collect();
    for block in blocks {
        let Some(to) = jump_target_of_empty(func, block) else { continue };
        let is_back = cycles.is_retreating(Edge { from: block, to });
        if block == func.entry() || to == block || is_back || cycles.headed_by(to).is_some() {
            continue;
        }
        let sources = sources_of.of(func, block);
        let (both, new): (Vec<Block>, Vec<Block>) =
            sources.iter().partition(|&&source| has_edge(func, source, to));
        if sources.is_empty() {
            continue;
        }
        if func.phis(to).next().is_some() {
            let join = joins.entry(to).or_insert_with(|| PredecessorEdits::new(func, to));
            if !both.is_empty() && !join.phis_agree(func, block, to, &both) {
                continue;
            }
            join.replace(block, &new);
        }
        sources.iter().for_each(|&source| retarget(func, source, block, to));
        agreeing.extend(&sources);
        sources_of.added.entry(to).or_default().extend(new);
        let jump = func.terminator(block).expect("the block leads on");
        func.remove_inst(jump);
        func.set_predicate(block, None);
        func.remove_block(block);
        changed = true;
    }
    joins.into_iter().for_each(|(to, join)| join.finish(func, to));
    changed | simplify_branches(func, agreeing)
}

/// Predecessors of each block, kept up to date while blocks are removed.
struct EdgeSources<'a> {
    cfg: &'a Cfg,
    /// Predecessors gained by removals.
    added: FxHashMap<Block, Vec<Block>>,
}

impl EdgeSources<'_> {
    /// Predecessors of a block, sorted.
    fn of(&self, func: &Function, block: Block) -> SmallVec<[Block; 4]> {
        let added = self.added.get(&block).into_iter().flatten();
        let all = self.cfg.preds(block).iter().chain(added).copied();
        let mut sources: SmallVec<[Block; 4]> = all.filter(|&from| has_edge(func, from, block)).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }
}

fn has_edge(func: &Function, from: Block, to: Block) -> bool {
    func.successors(from).contains(&to)
}

/// Pending edits of a block's φ predecessors.
struct PredecessorEdits {
    /// Index of the φ operand for each predecessor.
    position: FxHashMap<Block, usize>,
    /// For each removed predecessor, its own predecessors, which may be removed as well.
    replaced: FxHashMap<Block, Vec<Block>>,
}

impl PredecessorEdits {
    /// Sorts the edges of all φs like those of the first.
    fn new(func: &mut Function, to: Block) -> PredecessorEdits {
        let phis = phis(func, to);
        let sources = phis.first().into_iter().flat_map(|&phi| func.inst(phi).incoming());
        let position: FxHashMap<Block, usize> =
            sources.enumerate().map(|(at, (source, _))| (source, at)).collect();
        for phi in phis.into_iter().skip(1) {
            let mut incoming: Vec<(Block, Value)> = func.inst(phi).incoming().collect();
            if !incoming.is_sorted_by_key(|(source, _)| position[source]) {
                incoming.sort_unstable_by_key(|(source, _)| position[source]);
                set_incoming(func, phi, incoming);
            }
        }
        PredecessorEdits { position, replaced: FxHashMap::default() }
    }

    /// True if sources that are predecessors already supply the values that come through the block.
    fn phis_agree(&self, func: &Function, block: Block, to: Block, both: &[Block]) -> bool {
        if func.phis(to).nth(MAX_PHIS).is_some() {
            return false;
        }
        func.phis(to).all(|phi| {
            let operand = |source: &Block| func.inst(phi).args[self.position[source]];
            both.iter().all(|source| operand(source) == operand(&block))
        })
    }

    fn replace(&mut self, block: Block, new: &[Block]) {
        let position = self.position[&block];
        self.position.extend(new.iter().map(|&source| (source, position)));
        self.replaced.insert(block, new.to_vec());
    }

    fn finish(self, func: &mut Function, to: Block) {
        for phi in phis(func, to) {
            let mut incoming: Vec<(Block, Value)> = Vec::with_capacity(self.position.len());
            for (source, value) in func.inst(phi).incoming() {
                let mut work = vec![source];
                while let Some(source) = work.pop() {
                    match self.replaced.get(&source) {
                        None => incoming.push((source, value)),
                        Some(sources) => work.extend(sources.iter().rev()),
                    }
                }
            }
            set_incoming(func, phi, incoming);
        }
    }
}

/// Target of a block that only jumps.
fn jump_target_of_empty(func: &Function, block: Block) -> Option<Block> {
    let first = func.layout.first_inst(block).filter(|&inst| func.layout.next_inst(inst).is_none())?;
    match func.inst(first).targets() {
        &[to] if func.inst(first).op == Op::Br => Some(to),
        _ => None,
    }
}

/// True if both targets of a branch are the same.
fn targets_coincide(targets: &[Block]) -> bool {
    targets.len() == 2 && targets[0] == targets[1]
}

/// Replaces branches with a single target by jumps.
fn simplify_branches(func: &mut Function, blocks: Vec<Block>) -> bool {
    let mut changed = false;
    for block in blocks {
        let Some(branch) = func.terminator(block) else { continue };
        let data = func.inst(branch);
        if targets_coincide(data.targets()) {
            *func.inst_mut(branch) = InstData { origin: data.origin, ..InstData::jump(data.targets()[0]) };
            changed = true;
        }
    }
    changed
}
