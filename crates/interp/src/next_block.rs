//! Choice of the next block of a brush, and of the branch targets of passive lanes.

use crate::brush::{Brush, RunContext};
use crate::control_graph::{ControlGraph, ControlNode};
use crate::fault::FaultKind;
use crate::frame::LaneState;
use crate::lane_partition::LanePartition;
use crate::lanes::LaneMask;
use crate::limits::Budget;
use crate::program::PreparedFunction;
use heddle_ir::{Block, InstData};

/// Returns the waiting nodes that no other waiting node reaches.
fn schedulable(control: &ControlGraph, waiting: &[u32], budget: &mut Budget) -> Result<Vec<u32>, FaultKind> {
    let mut schedulable = Vec::with_capacity(waiting.len());
    'lane_states: for &node in waiting {
        for &other in waiting {
            if control.reaches(other, node, budget)? {
                continue 'lane_states;
            }
        }
        schedulable.push(node);
    }
    Ok(schedulable)
}

impl<M: LaneMask> Brush<'_, '_, M> {
    /// Picks the next block of the greedy, random or replayed schedule. Lanes at latches and dispatch headers advance first.
    pub(crate) fn pick_block(
        &mut self,
        control: &ControlGraph,
        cx: &mut RunContext<'_>,
    ) -> Result<Option<Block>, FaultKind> {
        loop {
            if !cx.recorder.is_replayed() && !cx.rng.is_random() {
                let Some(first) = self.first_waiting_node(control) else { return Ok(None) };
                match control.node(first) {
                    ControlNode::Block(block) => return Ok(Some(block)),
                    ControlNode::Latch(_) | ControlNode::DispatchHeader(_) => {
                        self.advance_lanes(control, first)
                    }
                }
                continue;
            }
            let mut waiting: Vec<u32> = Vec::with_capacity(self.lanes);
            for (state, _) in self.frame().lane_states.iter() {
                if let LaneState::Waiting { node, .. } = state
                    && !waiting.contains(&node)
                {
                    waiting.push(node);
                }
            }
            waiting.sort_unstable_by_key(|&node| control.rank(node));
            let Some(&first) = waiting.first() else { return Ok(None) };
            let mut chosen = first;
            if cx.rng.is_random() && waiting.len() > 1 {
                let schedulable = schedulable(control, &waiting, &mut cx.budget)?;
                chosen = schedulable[cx.rng.below(schedulable.len())];
            } else if let Some(block) = cx.recorder.next(&mut self.frame_mut().cursor) {
                let is_waiting =
                    |(state, _)| matches!(state, LaneState::Waiting { target, .. } if target == block);
                let is_waiting = self.frame().lane_states.iter().any(is_waiting);
                // Lanes at latches and dispatch headers advance first where the block needs it; then those whose blocks are
                // not in the schedule.
                let is_block = |node: u32| is_waiting && control.node(node) == ControlNode::Block(block);
                let is_before_block =
                    |node: u32| is_waiting && !matches!(control.node(node), ControlNode::Block(_));
                let schedulable = schedulable(control, &waiting, &mut cx.budget)?;
                let find =
                    |suits: &dyn Fn(u32) -> bool| schedulable.iter().copied().find(|&node| suits(node));
                let frame = self.frame();
                let mut is_unscheduled = |node: &u32| {
                    let mut lane_states = frame.lane_states.iter();
                    lane_states.any(|(state, _)| match state {
                        LaneState::Waiting { node: other, target } => {
                            other == *node && !cx.recorder.is_scheduled(&frame.cursor, target)
                        }
                        LaneState::Parked { .. } | LaneState::Returned => false,
                    })
                };
                let next = find(&is_block).or_else(|| find(&is_before_block));
                chosen = match next.or_else(|| schedulable.iter().copied().find(|node| is_unscheduled(node)))
                {
                    Some(node) => node,
                    None if is_waiting => return Err(FaultKind::IllegalSchedule(block)),
                    None => {
                        self.frame_mut().cursor.skip_step();
                        continue;
                    }
                };
                if is_block(chosen) {
                    self.frame_mut().cursor.skip_step();
                }
            }
            match control.node(chosen) {
                ControlNode::Block(block) => return Ok(Some(block)),
                ControlNode::Latch(_) | ControlNode::DispatchHeader(_) => self.advance_lanes(control, chosen),
            }
        }
    }

    /// Returns the waiting node that is first in the greedy order.
    fn first_waiting_node(&self, control: &ControlGraph) -> Option<u32> {
        let nodes = self.frame().lane_states.iter().filter_map(|(state, _)| match state {
            LaneState::Waiting { node, .. } => Some(node),
            LaneState::Parked { .. } | LaneState::Returned => None,
        });
        nodes.min_by_key(|&node| control.rank(node))
    }

    /// Advances the lanes at a latch or dispatch header to the node after it.
    fn advance_lanes(&mut self, control: &ControlGraph, from: u32) {
        let lane_states = &mut self.frame_mut().lane_states;
        for (state, members) in lane_states.clone().iter() {
            if let LaneState::Waiting { node, target } = state
                && node == from
            {
                lane_states
                    .put(LaneState::Waiting { node: control.next_node(node, target), target }, members);
            }
        }
    }

    /// Chooses the targets of lanes at the block with a false predicate. They follow an active lane if there is one. Else
    /// they follow the condition if it is equal in all of them, and otherwise take any target.
    pub(crate) fn choose_passive_targets(
        &self,
        destinations: &mut LanePartition<Block, M>,
        data: &InstData,
        code: &PreparedFunction<'_>,
        cx: &mut RunContext<'_>,
    ) {
        let frame = self.frame();
        let passive = frame.control & !frame.active;
        if passive.is_none() {
            return;
        }
        let mut options: Vec<Block> = frame.active.lanes().filter_map(|lane| destinations.of(lane)).collect();
        if options.is_empty() {
            options = data.targets().to_vec();
            if !cx.rng.is_random()
                && let ([target, _], Some(&condition)) = (data.targets(), data.args.first())
            {
                let row = code.slot(condition).first;
                let bits = frame.control.lanes().map(|lane| frame.registers.get(row, lane));
                let known =
                    bits.clone().next().flatten().filter(|&bit| bits.clone().all(|other| other == Some(bit)));
                match known {
                    Some(1) => options = vec![*target],
                    Some(_) => options = vec![data.targets()[1]],
                    None => options.rotate_left(cx.counters.empty_steps as usize % 2),
                }
            }
        }
        if let Some(&choice) = options.get(cx.rng.below(options.len())) {
            destinations.put(choice, passive);
        }
    }
}
