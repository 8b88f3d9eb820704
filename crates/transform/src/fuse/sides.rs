//! Finds branches whose two sides can be merged, and the elements of their sides.
//!
//! After: Coutinho et al., PACT'11, Definition 4.1. Differs in: a side may have several blocks. Its *chain* are the blocks
//! that all its lanes pass; between them lie *regions* with one entry and one exit: nested branches and loops.
//!
//! ```text
//!     A: br v5, L, R                 left side: L … J, right side: R … J
//!        │       ╲                   elements of the left side: instructions of L, region {x, y}, instructions of M
//!     L: …        R: …
//!     ╱ ╲         │                  chain of the left side: L, M
//!    x   y        │
//!     ╲ ╱         │
//!     M: …        │
//!        ╲       ╱
//!         J: φs
//! ```

use heddle_analysis::{ControlTables, PostDominatorTree, underlying_object};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::InstData;
use heddle_ir::ops::Effect;
use heddle_ir::types::Space;
use heddle_ir::words::Flag;
use heddle_ir::{Block, Function, Inst, Op, Value};
use thiserror::Error;

use super::RaceSemantics;

/// Maximum number of blocks of a side; enclosing branches visit them again.
const MAX_BLOCKS: usize = 64;

/// Reason why a branch is not fused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum FusionRefusal {
    /// Definition 4.1.
    #[error("one of its targets leads to the other, so no lane has a side to itself")]
    OneSided,
    /// More than one entry or exit.
    #[error("its sides are entered or left at {0} by other ways than this branch and its join")]
    Shared(Block),
    /// The sides never meet.
    #[error("its sides do not meet again in the same loop")]
    NoJoin,
    /// Too large.
    #[error("a side has more than {MAX_BLOCKS} blocks")]
    Large,
    /// The matrix would be too large.
    #[error("its sides are too long to be aligned: {0} by {1} elements")]
    Long(usize, usize),
    /// An operation observes or waits for the active lanes.
    #[error("`{0}` in a side depends on, or waits for, the active lanes")]
    Convergent(Op),
    /// All lanes execute it, whichever side they take.
    #[error("a `total` instruction or a predicate in a side concerns more lanes than those of the side")]
    Total,
    /// Other lanes could observe the order of accesses.
    #[error("other lanes may observe `{0}` in a side; exclude races (`fuse:races=excluded`)")]
    Ordered(Op),
    /// An atomic or volatile access, or a call that may make one.
    #[error("`{0}` in a side must keep its position in the order of all lanes' accesses")]
    Fixed(Op),
    /// A φ that `simplify` removes.
    #[error("{0} has a φ of one value; run `simplify` first")]
    Unsimplified(Block),
    /// The gain is not positive, or smaller than the error of the costs.
    #[error("merging its sides gains {0} tenths of an operation")]
    Unprofitable(i64),
}

/// Element of a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SideElement {
    /// Instruction of the chain.
    Inst(Inst),
    /// Region, by index into the side's regions.
    NestedRegion(usize),
}

/// Single-entry, single-exit region between two blocks of the chain.
#[derive(Clone, Debug)]
pub(super) struct SideRegion {
    /// Block of the chain that branches into the region.
    pub(super) from: Block,
    /// Blocks in reverse post-order.
    pub(super) blocks: Vec<Block>,
    /// Block after the region: of the chain, or the join.
    pub(super) exit: Block,
}

/// One side of a branch.
#[derive(Clone, Debug)]
pub(super) struct BranchSide {
    pub(super) blocks: EntitySet<Block>,
    pub(super) chain: Vec<Block>,
    pub(super) regions: Vec<SideRegion>,
    pub(super) elements: Vec<SideElement>,
}

impl BranchSide {
    /// Returns the chain block that jumps to the join; none if a region precedes the join.
    pub(super) fn last(&self, join: Block) -> Option<Block> {
        let last = *self.chain.last()?;
        let leads_on = self.regions.last().is_some_and(|region| region.exit == join);
        (!leads_on).then_some(last)
    }

    /// Returns the blocks of the chain from `block` to the next region.
    pub(super) fn straight_from(&self, block: Block) -> Vec<Block> {
        let behind = self.chain.iter().skip_while(|&&other| other != block);
        let mut straight = Vec::new();
        for &block in behind {
            straight.push(block);
            if self.regions.iter().any(|region| region.from == block) {
                break;
            }
        }
        straight
    }
}

/// Branch with two sides that can be merged.
#[derive(Clone, Debug)]
pub(super) struct UnifiableBranch {
    pub(super) block: Block,
    pub(super) condition: Value,
    pub(super) join: Block,
    pub(super) left: BranchSide,
    pub(super) right: BranchSide,
}

/// Search for the sides of branches.
pub(super) struct SideFinder<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    post_dominators: &'a PostDominatorTree,
    races: RaceSemantics,
    /// Position in reverse post-order.
    number: SecondaryMap<Block, u32>,
}

impl<'a> SideFinder<'a> {
    pub(super) fn new(
        func: &'a Function,
        control: &'a ControlTables,
        post_dominators: &'a PostDominatorTree,
        races: RaceSemantics,
    ) -> SideFinder<'a> {
        let order = heddle_analysis::order::DepthFirstOrder::new(&control.cfg);
        let mut number = SecondaryMap::with_len(control.cfg.num_blocks());
        for (at, block) in (0..).zip(order.reverse_post_order()) {
            number[block] = at;
        }
        SideFinder { func, control, post_dominators, races, number }
    }

    /// Returns the sides of a block's branch; none if it is no conditional branch.
    pub(super) fn unifiable(&self, block: Block) -> Option<Result<UnifiableBranch, FusionRefusal>> {
        let data = self.func.inst(self.func.terminator(block)?);
        let (&[condition], &[left, right]) = (&data.args[..], data.targets()) else { return None };
        (data.op == Op::Br && left != right).then(|| self.sides(block, condition, left, right))
    }

    /// True if a block ends in a branch with two nonempty sides that meet again.
    pub(super) fn has_sides(&self, block: Block) -> bool {
        let targets = self.func.terminator(block).map(|inst| self.func.inst(inst)).map(|data| data.targets());
        matches!(targets, Some(&[left, right]) if left != right && self.join(block, left, right).is_ok())
    }

    /// Returns the block where the sides of a branch meet.
    fn join(&self, block: Block, left: Block, right: Block) -> Result<Block, FusionRefusal> {
        let join = self.post_dominators.ipdom(block).ok_or(FusionRefusal::NoJoin)?;
        if join == left || join == right {
            return Err(FusionRefusal::OneSided);
        }
        let cycle = self.control.cycles.innermost(block);
        if self.control.cycles.innermost(join) != cycle
            || cycle.is_some_and(|cycle| self.control.cycles.header(cycle) == join)
        {
            return Err(FusionRefusal::NoJoin);
        }
        Ok(join)
    }

    fn sides(
        &self,
        block: Block,
        condition: Value,
        left: Block,
        right: Block,
    ) -> Result<UnifiableBranch, FusionRefusal> {
        let join = self.join(block, left, right)?;
        let left = self.side(block, left, join)?;
        let right = self.side(block, right, join)?;
        if let Some(shared) = left.blocks.iter().find(|&shared| right.blocks.contains(shared)) {
            return Err(FusionRefusal::Shared(shared));
        }
        Ok(UnifiableBranch { block, condition, join, left, right })
    }

    fn side(&self, from: Block, entry: Block, join: Block) -> Result<BranchSide, FusionRefusal> {
        let cfg = &self.control.cfg;
        let blocks = self.between(&[entry], join)?;
        let mut members: EntitySet<Block> = blocks.iter().copied().collect();
        for &block in &blocks {
            let is_inside = |&pred: &Block| members.contains(pred) || block == entry && pred == from;
            if block == from || !cfg.preds(block).iter().all(is_inside) {
                return Err(FusionRefusal::Shared(block));
            }
            self.check(block)?;
        }
        if cfg.preds(entry) != [from] {
            return Err(FusionRefusal::Shared(entry));
        }
        let mut side = BranchSide {
            blocks: EntitySet::new(),
            chain: Vec::new(),
            regions: Vec::new(),
            elements: Vec::new(),
        };
        std::mem::swap(&mut side.blocks, &mut members);
        let mut here = entry;
        let mut is_exit = false;
        loop {
            if !is_exit && self.func.phis(here).next().is_some() {
                return Err(FusionRefusal::Unsimplified(here));
            }
            side.chain.push(here);
            side.elements.extend(straight(self.func, here).map(SideElement::Inst));
            let next = match cfg.succs(here) {
                &[next] if next == join => break,
                &[next] if cfg.preds(next) == [here] => {
                    is_exit = false;
                    next
                }
                succs => {
                    let exit = self.exit_of(here, succs, join)?;
                    let blocks = self.between(succs, exit)?;
                    self.check_region(here, &blocks, exit, join)?;
                    side.elements.push(SideElement::NestedRegion(side.regions.len()));
                    side.regions.push(SideRegion { from: here, blocks, exit });
                    if exit == join {
                        break;
                    }
                    is_exit = true;
                    exit
                }
            };
            here = next;
        }
        Ok(side)
    }

    /// Returns the exit of the region that starts at `succs`; of a loop, the block after it.
    fn exit_of(&self, here: Block, succs: &[Block], join: Block) -> Result<Block, FusionRefusal> {
        let mut exit = self.post_dominators.ipdom(here).ok_or(FusionRefusal::NoJoin)?;
        if let &[header] = succs {
            let cycle = self.control.cycles.headed_by(header).ok_or(FusionRefusal::Shared(header))?;
            while self.control.cycles.contains(cycle, exit) {
                exit = self.post_dominators.ipdom(exit).ok_or(FusionRefusal::NoJoin)?;
            }
        }
        // The join post-dominates all blocks of the sides.
        let is_inside = exit == join || self.post_dominators.post_dominates(join, exit);
        if is_inside { Ok(exit) } else { Err(FusionRefusal::NoJoin) }
    }

    /// Checks that a region has one entry edge source, and its exit no other predecessors. The join was checked before.
    fn check_region(
        &self,
        from: Block,
        blocks: &[Block],
        exit: Block,
        join: Block,
    ) -> Result<(), FusionRefusal> {
        let members: EntitySet<Block> = blocks.iter().copied().collect();
        let mut entered = blocks.iter().copied().chain((exit != join).then_some(exit));
        let is_inside = |&pred: &Block| pred == from || members.contains(pred);
        match entered.find(|&block| !self.control.cfg.preds(block).iter().all(is_inside)) {
            Some(block) => Err(FusionRefusal::Shared(block)),
            None => Ok(()),
        }
    }

    /// Returns the blocks on paths from `entries` to `end`, in reverse post-order.
    fn between(&self, entries: &[Block], end: Block) -> Result<Vec<Block>, FusionRefusal> {
        let mut seen = EntitySet::new();
        let mut blocks = Vec::new();
        let mut worklist = entries.to_vec();
        while let Some(block) = worklist.pop() {
            if block == end || !seen.insert(block) {
                continue;
            }
            if blocks.len() == MAX_BLOCKS {
                return Err(FusionRefusal::Large);
            }
            if self.control.cfg.succs(block).is_empty() {
                return Err(FusionRefusal::NoJoin);
            }
            blocks.push(block);
            worklist.extend(self.control.cfg.succs(block));
        }
        blocks.sort_unstable_by_key(|&block| self.number[block]);
        Ok(blocks)
    }

    /// Checks that fusion can handle all instructions of a block.
    fn check(&self, block: Block) -> Result<(), FusionRefusal> {
        if self.func.predicate(block).is_some() {
            return Err(FusionRefusal::Total);
        }
        self.func.block_insts(block).try_for_each(|inst| self.check_inst(self.func.inst(inst)))
    }

    fn check_inst(&self, data: &InstData) -> Result<(), FusionRefusal> {
        if data.is_total() || data.shadow().is_some() {
            return Err(FusionRefusal::Total);
        }
        match data.op.info().effect {
            Effect::Horizontal | Effect::Synchronizes => Err(FusionRefusal::Convergent(data.op)),
            Effect::Callee => {
                let effects = self.func.callee_of(data).map(|callee| callee.signature.effects);
                match effects {
                    Some(effects) if effects.convergent => Err(FusionRefusal::Convergent(data.op)),
                    Some(effects) if !effects.writes && !effects.reads => Ok(()),
                    _ => Err(FusionRefusal::Fixed(data.op)),
                }
            }
            Effect::Reads | Effect::Writes | Effect::ReadsWrites => {
                let is_fixed = data.flags.has(Flag::Volatile)
                    || data.access().is_none_or(|access| access.atomic.is_some())
                    || matches!(data.op, Op::AtomicRmw | Op::CompareExchange);
                match self.races {
                    _ if is_fixed => Err(FusionRefusal::Fixed(data.op)),
                    RaceSemantics::Ordered if !self.is_unobservable(data) => {
                        Err(FusionRefusal::Ordered(data.op))
                    }
                    _ => Ok(()),
                }
            }
            Effect::Terminator if !matches!(data.op, Op::Br) => Err(FusionRefusal::NoJoin),
            _ => Ok(()),
        }
    }

    /// True if no other lane can observe the time of an access.
    fn is_unobservable(&self, data: &InstData) -> bool {
        let Some(address) = data.address().filter(|_| matches!(data.op, Op::Load | Op::Store)) else {
            return false;
        };
        if data.op == Op::Load && data.flags.has(Flag::Invariant)
            || self.func.value_type(address).scalar() == heddle_ir::Scalar::Ptr(Space::Constant)
        {
            return true;
        }
        // Does the address point into a private object of the lane?
        let object = self.func.def_inst(underlying_object(self.func, address));
        object.is_some_and(|inst| self.func.inst(inst).op == Op::Alloca)
    }
}

/// Iterates over a block's instructions between its φs and its terminator.
pub(super) fn straight(func: &Function, block: Block) -> impl Iterator<Item = Inst> + '_ {
    func.block_insts(block).filter(|&inst| {
        let op = func.inst(inst).op;
        op != Op::Phi && !op.is_terminator()
    })
}
