//! GPU scheduling: a stack of reconvergence points at immediate post-dominators.
//!
//! After: Coutinho et al., PACT'11, section II; also for unstructured control flow, as in hardware.

use crate::brush::Brush;
use crate::lane_partition::LanePartition;
use crate::lanes::LaneMask;
use crate::program::PreparedFunction;
use heddle_ir::Block;

/// Stack entry: these lanes continue at `at` and reconverge at `until`.
#[derive(Clone, Debug)]
pub(crate) struct StackEntry<M> {
    pub(crate) lanes: M,
    pub(crate) at: Option<Block>,
    pub(crate) until: Option<Block>,
}

impl<M: LaneMask> Brush<'_, '_, M> {
    /// Picks the next block from the reconvergence stack.
    pub(crate) fn pick_from_stack(&mut self) -> Option<Block> {
        let stack = &mut self.frame_mut().stack;
        while let Some(top) = stack.last() {
            match top.at {
                Some(block) if !top.lanes.is_none() && top.at != top.until => return Some(block),
                _ => stack.pop(),
            };
        }
        None
    }

    /// Splits the top of the reconvergence stack by the destinations of its lanes.
    pub(crate) fn split_stack(
        &mut self,
        code: &PreparedFunction<'_>,
        block: Block,
        destinations: &LanePartition<Block, M>,
    ) {
        let post_dominator = code.post_dominators().immediate(block);
        let stack = &mut self.frame_mut().stack;
        let Some(top) = stack.last_mut() else { return };
        let mut parts: Vec<(Option<Block>, M)> = Vec::new();
        for lane in top.lanes.lanes() {
            let destination = destinations.of(lane);
            match parts.iter_mut().find(|(target, _)| *target == destination) {
                Some((_, lanes)) => *lanes |= M::of(lane),
                None => parts.push((destination, M::of(lane))),
            }
        }
        match parts[..] {
            [(target, _)] => top.at = target,
            _ => {
                top.at = post_dominator;
                for (target, lanes) in parts.into_iter().rev() {
                    stack.push(StackEntry { lanes, at: target, until: post_dominator });
                }
            }
        }
        // Lanes that return are removed from every entry.
        let returned =
            destinations.iter().fold(self.frame().control, |returned, (_, members)| returned & !members);
        self.frame_mut().stack.iter_mut().for_each(|entry| entry.lanes &= !returned);
    }
}
