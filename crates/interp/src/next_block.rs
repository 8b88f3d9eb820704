//! Which block a brush runs next, and where lanes go that are at a branch without being active.

use crate::brush::{Brush, RunContext};
use crate::control::{ControlGraph, ControlNode};
use crate::fault::FaultKind;
use crate::frame::LaneState;
use crate::lane_partition::LanePartition;
use crate::lanes::LaneMask;
use crate::limits::Budget;
use crate::program::PreparedFunction;
use heddle_ir::{Block, InstData};

/// Of the places where lanes wait, those that no other of them leads to.
fn legal(control: &ControlGraph, waiting: &[u32], budget: &mut Budget) -> Result<Vec<u32>, FaultKind> {
    let mut legal = Vec::with_capacity(waiting.len());
    'places: for &node in waiting {
        for &other in waiting {
            if control.leads_to(other, node, budget)? {
                continue 'places;
            }
        }
        legal.push(node);
    }
    Ok(legal)
}

impl<M: LaneMask> Brush<'_, '_, M> {
    /// The next block of the greedy schedule, after lanes at latches and entrances have moved on.
    pub(crate) fn pick(
        &mut self,
        control: &ControlGraph,
        world: &mut RunContext<'_>,
    ) -> Result<Option<Block>, FaultKind> {
        loop {
            if !world.course.is_replayed() && !world.rng.is_random() {
                let Some(first) = self.first_in_order(control) else { return Ok(None) };
                match control.node(first) {
                    ControlNode::Block(block) => return Ok(Some(block)),
                    ControlNode::Latch(_) | ControlNode::Entrance(_) => self.move_on(control, first),
                }
                continue;
            }
            let mut waiting: Vec<u32> = Vec::with_capacity(self.lanes);
            for (place, _) in self.frame().places.iter() {
                if let LaneState::At { node, .. } = place
                    && !waiting.contains(&node)
                {
                    waiting.push(node);
                }
            }
            waiting.sort_unstable_by_key(|&node| control.rank(node));
            let Some(&first) = waiting.first() else { return Ok(None) };
            let mut chosen = first;
            if world.rng.is_random() && waiting.len() > 1 {
                let legal = legal(control, &waiting, &mut world.budget)?;
                chosen = legal[world.rng.below(legal.len())];
            } else if let Some(block) = world.course.next(&mut self.frame_mut().track) {
                let is_aim = |(place, _)| matches!(place, LaneState::At { target, .. } if target == block);
                let is_aim = self.frame().places.iter().any(is_aim);
                // Lanes at latches and entrances move on first where the block needs it; then those whose blocks the
                // schedule does not tell of.
                let is_block = |node: u32| is_aim && control.node(node) == ControlNode::Block(block);
                let moves = |node: u32| is_aim && !matches!(control.node(node), ControlNode::Block(_));
                let legal = legal(control, &waiting, &mut world.budget)?;
                let find = |suits: &dyn Fn(u32) -> bool| legal.iter().copied().find(|&node| suits(node));
                let frame = self.frame();
                let mut is_free = |node: &u32| {
                    let mut places = frame.places.iter();
                    places.any(|(place, _)| match place {
                        LaneState::At { node: at, target } => {
                            at == *node && !world.course.tells_of(&frame.track, target)
                        }
                        LaneState::Returned => false,
                    })
                };
                let next = find(&is_block).or_else(|| find(&moves));
                chosen = match next.or_else(|| legal.iter().copied().find(|node| is_free(node))) {
                    Some(node) => node,
                    None if is_aim => return Err(FaultKind::IllegalSchedule(block)),
                    None => {
                        self.frame_mut().track.pass_over();
                        continue;
                    }
                };
                if is_block(chosen) {
                    self.frame_mut().track.pass_over();
                }
            }
            match control.node(chosen) {
                ControlNode::Block(block) => return Ok(Some(block)),
                ControlNode::Latch(_) | ControlNode::Entrance(_) => self.move_on(control, chosen),
            }
        }
    }

    /// Of the places where lanes wait, the first in the greedy order.
    fn first_in_order(&self, control: &ControlGraph) -> Option<u32> {
        let nodes = self.frame().places.iter().filter_map(|(place, _)| match place {
            LaneState::At { node, .. } => Some(node),
            LaneState::Returned => None,
        });
        nodes.min_by_key(|&node| control.rank(node))
    }

    /// Lets the lanes at a latch or an entrance go on to the place behind it.
    fn move_on(&mut self, control: &ControlGraph, from: u32) {
        let places = &mut self.frame_mut().places;
        for (place, party) in places.clone().iter() {
            if let LaneState::At { node, target } = place
                && node == from
            {
                places.put(LaneState::At { node: control.behind(node, target), target }, party);
            }
        }
    }

    /// Says where lanes go that are at the block with a false predicate: with an active lane if there is one, else
    /// as the condition says if it is known and the same for all, else anywhere.
    pub(crate) fn guide(
        &self,
        goes: &mut LanePartition<Block, M>,
        data: &InstData,
        code: &PreparedFunction<'_>,
        world: &mut RunContext<'_>,
    ) {
        let frame = self.frame();
        let passive = frame.control & !frame.active;
        if passive.is_none() {
            return;
        }
        let mut options: Vec<Block> = frame.active.lanes().filter_map(|lane| goes.of(lane)).collect();
        if options.is_empty() {
            options = data.targets().to_vec();
            if !world.rng.is_random()
                && let ([target, _], Some(&condition)) = (data.targets(), data.args.first())
            {
                let row = code.slot(condition).first;
                let bits = frame.control.lanes().map(|lane| frame.registers.get(row, lane));
                let known =
                    bits.clone().next().flatten().filter(|&bit| bits.clone().all(|other| other == Some(bit)));
                match known {
                    Some(1) => options = vec![*target],
                    Some(_) => options = vec![data.targets()[1]],
                    None => options.rotate_left(world.counters.empty_steps as usize % 2),
                }
            }
        }
        if let Some(&choice) = options.get(world.rng.below(options.len())) {
            goes.put(choice, passive);
        }
    }
}
