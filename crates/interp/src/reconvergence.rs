//! The GPU's way to schedule: a stack of reconvergence points at immediate post-dominators.
//!
//! After: Coutinho et al., PACT'11, section II; as hardware does it, also for unstructured control flow.

use crate::brush::Brush;
use crate::lane_partition::LanePartition;
use crate::lanes::LaneMask;
use crate::program::PreparedFunction;
use heddle_ir::Block;

/// A reconvergence point: these lanes go on at `at`, and meet others at `until`.
#[derive(Clone, Debug)]
pub(crate) struct StackEntry<M> {
    pub(crate) lanes: M,
    pub(crate) at: Option<Block>,
    pub(crate) until: Option<Block>,
}

impl<M: LaneMask> Brush<'_, '_, M> {
    /// The next block of the reconvergence stack.
    pub(crate) fn pick_by_stack(&mut self) -> Option<Block> {
        let stack = &mut self.frame_mut().stack;
        while let Some(top) = stack.last() {
            match top.at {
                Some(block) if !top.lanes.is_none() && top.at != top.until => return Some(block),
                _ => stack.pop(),
            };
        }
        None
    }

    /// Splits the lanes on top of the reconvergence stack by where they go.
    pub(crate) fn split_stack(
        &mut self,
        code: &PreparedFunction<'_>,
        block: Block,
        goes: &LanePartition<Block, M>,
    ) {
        let meets = code.post_dominators().immediate(block);
        let stack = &mut self.frame_mut().stack;
        let Some(top) = stack.last_mut() else { return };
        let mut parts: Vec<(Option<Block>, M)> = Vec::new();
        for lane in top.lanes.lanes() {
            let goes = goes.of(lane);
            match parts.iter_mut().find(|(target, _)| *target == goes) {
                Some((_, lanes)) => *lanes |= M::of(lane),
                None => parts.push((goes, M::of(lane))),
            }
        }
        match parts[..] {
            [(target, _)] => top.at = target,
            _ => {
                top.at = meets;
                for (target, lanes) in parts.into_iter().rev() {
                    stack.push(StackEntry { lanes, at: target, until: meets });
                }
            }
        }
        // Lanes that return are gone from every entry.
        let gone = goes.iter().fold(self.frame().control, |gone, (_, party)| gone & !party);
        self.frame_mut().stack.iter_mut().for_each(|entry| entry.lanes &= !gone);
    }
}
