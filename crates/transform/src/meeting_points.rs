//! Decides whether a lane that waits in a loop can wait for a lane that went another way.
//!
//! Lanes meet at a *meeting point*: a horizontal operation or a barrier. Lanes leave a loop together if all its exits are decided
//! by horizontal operations. Otherwise lanes that leave the loop, or that take a path around it, advance without those that wait
//! only up to the next meeting point. A loop whose lanes wait for memory that no such path writes waits for other brushes or groups,
//! and may stay in lock step:
//!
//! ```text
//!     do status = load volatile previous; while (any (status == 0))     lanes leave together
//!
//!     do status = load volatile previous; while (status == 0)           no lane that left writes before the vote
//!     done = all (status == 2)
//! ```

use heddle_analysis::{Cfg, Cycle, CycleForest};
use heddle_ir::ops::{Effect, Observed};
use heddle_ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashSet;

use crate::progress::is_private;

/// True if an instruction communicates across lanes.
pub(crate) fn is_meeting_point(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    data.op.info().effect == Effect::Horizontal || data.observes(Observed::Progress) || data.is_total()
}

/// Part of a block between meeting points: the one before the first, or the one after the last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum BlockPart {
    /// The block has no meeting point.
    Whole(Block),
    Start(Block),
    End(Block),
}

pub(crate) struct MeetingPoints<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    forest: &'a CycleForest,
    /// Blocks with a meeting point.
    blocks: FxHashSet<Block>,
}

impl<'a> MeetingPoints<'a> {
    pub(crate) fn new(func: &'a Function, cfg: &'a Cfg, forest: &'a CycleForest) -> MeetingPoints<'a> {
        let meets = |&block: &Block| func.block_insts(block).any(|inst| is_meeting_point(func, inst));
        MeetingPoints { func, cfg, forest, blocks: func.blocks().filter(meets).collect() }
    }

    /// True if lanes that left the loop, or went around it, may write to shared memory before they meet those that wait.
    pub(crate) fn parts_lanes(&self, cycle: Cycle) -> bool {
        let exits = self.forest.exits(self.cfg, cycle);
        let mut exiting =
            self.forest.exiting_edges(self.cfg, cycle).map(|edge| self.func.terminator(edge.from));
        if exiting.all(|last| last.is_some_and(|last| self.is_common(self.func.inst(last).args.first()))) {
            return false;
        }
        let behind = self.reach(exits.iter().map(|&exit| self.entered(exit)), |part| self.successors(part));
        let header = self.entered(self.forest.header(cycle));
        // Lanes in a block that leads to the loop enter it together with those that wait.
        let before = self.reach([header], |part| self.predecessors(part));
        let around = self.around(self.forest.header(cycle));
        let around = around.difference(&before).filter(|part| !self.is_inside(cycle, **part));
        behind
            .iter()
            .filter(|part| !self.is_inside(cycle, **part))
            .chain(around)
            .any(|&part| self.writes(part))
    }

    /// True if the loop contains a meeting point.
    pub(crate) fn is_around(&self, cycle: Cycle) -> bool {
        self.forest.blocks(cycle).iter().any(|block| self.blocks.contains(block))
    }

    /// Returns the blocks that are connected with a block by paths without meeting points, in layout order.
    pub(crate) fn region_of(&self, block: Block) -> Vec<Block> {
        let around = self.around(block);
        self.func.blocks().filter(|&block| around.contains(&BlockPart::Whole(block))).collect()
    }

    fn around(&self, block: Block) -> FxHashSet<BlockPart> {
        self.reach([self.entered(block)], |part| {
            let mut next = self.successors(part);
            next.extend(self.predecessors(part));
            next
        })
    }

    fn is_inside(&self, cycle: Cycle, part: BlockPart) -> bool {
        let (BlockPart::Whole(block) | BlockPart::Start(block) | BlockPart::End(block)) = part;
        self.forest.contains(cycle, block)
    }

    /// True if all active lanes have the same value, computed from horizontal operations and constants.
    fn is_common(&self, value: Option<&Value>) -> bool {
        let mut work: Vec<Value> = value.copied().into_iter().collect();
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        while let Some(value) = work.pop() {
            if self.func.constant(value).is_some() || !seen.insert(value) {
                continue;
            }
            let Some(inst) = self.func.def_inst(value) else { return false };
            let data = self.func.inst(inst);
            match data.op {
                Op::Any | Op::All | Op::Ballot | Op::Popcount | Op::Reduce => {}
                Op::Phi | Op::Lane => return false,
                op if op.info().effect == Effect::Pure => work.extend(&data.args),
                _ => return false,
            }
        }
        true
    }

    fn reach(
        &self,
        from: impl IntoIterator<Item = BlockPart>,
        next: impl Fn(BlockPart) -> Vec<BlockPart>,
    ) -> FxHashSet<BlockPart> {
        let mut work: Vec<BlockPart> = from.into_iter().collect();
        let mut reached: FxHashSet<BlockPart> = work.iter().copied().collect();
        while let Some(part) = work.pop() {
            work.extend(next(part).into_iter().filter(|&part| reached.insert(part)));
        }
        reached
    }

    /// Returns the part of a block in which lanes enter it.
    fn entered(&self, block: Block) -> BlockPart {
        if self.blocks.contains(&block) { BlockPart::Start(block) } else { BlockPart::Whole(block) }
    }

    fn successors(&self, part: BlockPart) -> Vec<BlockPart> {
        match part {
            BlockPart::Start(_) => Vec::new(),
            BlockPart::Whole(block) | BlockPart::End(block) => {
                self.cfg.succs(block).iter().map(|&to| self.entered(to)).collect()
            }
        }
    }

    fn predecessors(&self, part: BlockPart) -> Vec<BlockPart> {
        let left = |&block: &Block| match self.blocks.contains(&block) {
            true => BlockPart::End(block),
            false => BlockPart::Whole(block),
        };
        match part {
            BlockPart::End(_) => Vec::new(),
            BlockPart::Whole(block) | BlockPart::Start(block) => {
                self.cfg.preds(block).iter().map(left).collect()
            }
        }
    }

    /// True if a part of a block may write to memory that lanes share.
    fn writes(&self, part: BlockPart) -> bool {
        let (BlockPart::Whole(block) | BlockPart::Start(block) | BlockPart::End(block)) = part;
        let insts: Vec<Inst> = self.func.block_insts(block).collect();
        let meets = |inst: &Inst| is_meeting_point(self.func, *inst);
        let insts = match part {
            BlockPart::Whole(_) => &insts[..],
            BlockPart::Start(_) => &insts[..insts.iter().position(meets).unwrap_or(insts.len())],
            BlockPart::End(_) => &insts[insts.iter().rposition(meets).unwrap_or(0)..],
        };
        insts.iter().any(|&inst| self.is_shared_write(inst))
    }

    fn is_shared_write(&self, inst: Inst) -> bool {
        let data = self.func.inst(inst);
        match data.op {
            Op::Call | Op::Launch => {
                self.func.callee_of(data).is_none_or(|callee| callee.signature.effects.writes)
            }
            _ => {
                matches!(data.op.info().effect, Effect::Writes | Effect::ReadsWrites)
                    && data.address().is_some_and(|address| !is_private(self.func, address))
            }
        }
    }
}
