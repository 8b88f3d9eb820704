//! Schedules: policies that choose the next block, and records of the executed blocks.

use crate::fault::FaultKind;
use crate::limits::Budget;
use heddle_ir::{Block, Inst};
use rustc_hash::{FxHashMap, FxHashSet};

/// Policy that chooses the next block, among the nodes that no other waiting node reaches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Scheduler {
    /// First node in a fixed topological order.
    #[default]
    Greedy,
    /// Any of them, by this seed. Branches of blocks without active lanes take any target.
    Random(u64),
    /// Follows this schedule, call by call. Skips steps to blocks where no lane waits, and leaves unscheduled blocks
    /// free, so that the schedule of a transformed program replays on its source. A block without an active step runs
    /// where its lanes block a scheduled one. Every replay is a legal schedule, and its outcome one of the program.
    Replay(Schedule),
    /// Stack of reconvergence points at immediate post-dominators, as on GPUs. FREEZING only.
    Ipdom,
}

impl Scheduler {
    pub(crate) fn seed(&self) -> Option<u64> {
        match self {
            Scheduler::Random(seed) => Some(*seed),
            _ => None,
        }
    }
}

/// Blocks executed by a run, grouped by invocation of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Invocations that executed a block, in the order of their first one.
    pub invocations: Vec<Invocation>,
}

/// One activation of a function by a brush.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    /// Caller.
    pub origin: InvocationOrigin,
    /// Executed blocks, in order.
    pub steps: Vec<ScheduleStep>,
}

/// Caller of an invocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InvocationOrigin {
    /// The run itself.
    Run {
        /// Number of the group in the launch.
        group: u32,
        /// Number of the brush in its group.
        brush: u32,
    },
    /// A call or a launch.
    Inst {
        /// Number of the calling invocation.
        invocation: u32,
        /// Number of the step in it.
        step: u32,
        /// Instruction.
        inst: Inst,
    },
}

/// Executed block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScheduleStep {
    /// Block.
    pub block: Block,
    /// True if it had active lanes. A replay ignores steps without.
    pub is_active: bool,
}

impl Schedule {
    /// Creates the schedule of one brush that calls nothing and executes these blocks.
    pub fn of_blocks(blocks: impl IntoIterator<Item = Block>) -> Schedule {
        let steps = blocks.into_iter().map(|block| ScheduleStep { block, is_active: true }).collect();
        Schedule {
            invocations: vec![Invocation { origin: InvocationOrigin::Run { group: 0, brush: 0 }, steps }],
        }
    }

    /// Iterates over the steps of all invocations.
    pub fn steps(&self) -> impl Iterator<Item = &ScheduleStep> {
        self.invocations.iter().flat_map(|invocation| &invocation.steps)
    }
}

/// Recorder of a run's schedule, with the schedule that it replays.
#[derive(Debug, Default)]
pub(crate) struct ScheduleRecorder<'a> {
    recorded: Schedule,
    replayed: Option<ReplayedSchedule<'a>>,
    /// Scheduled blocks of the replayed invocation that was queried last.
    scheduled: Option<(u32, FxHashSet<Block>)>,
}

/// Schedule that is replayed.
#[derive(Debug)]
struct ReplayedSchedule<'a> {
    invocations: &'a [Invocation],
    by_origin: FxHashMap<InvocationOrigin, u32>,
}

/// Position of a running invocation in the recorded and the replayed schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InvocationCursor {
    origin: InvocationOrigin,
    /// Number in the recorded schedule, once it has executed a block.
    recorded: Option<u32>,
    /// Number of the replayed invocation, and the number of its steps already taken.
    replayed: Option<(u32, u32)>,
}

impl<'a> ScheduleRecorder<'a> {
    pub(crate) fn new(scheduler: &'a Scheduler) -> ScheduleRecorder<'a> {
        let Scheduler::Replay(Schedule { invocations }) = scheduler else {
            return ScheduleRecorder::default();
        };
        let by_origin = invocations.iter().map(|invocation| invocation.origin).zip(0..).collect();
        ScheduleRecorder {
            replayed: Some(ReplayedSchedule { invocations, by_origin }),
            ..ScheduleRecorder::default()
        }
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.replayed.is_some()
    }

    /// Returns the recorded schedule.
    pub(crate) fn into_schedule(self) -> Schedule {
        self.recorded
    }

    /// Starts an invocation by the run itself.
    pub(crate) fn enter(&self, group: u32, brush: u32) -> InvocationCursor {
        let origin = InvocationOrigin::Run { group, brush };
        InvocationCursor { origin, recorded: None, replayed: self.find_replayed(origin) }
    }

    /// Starts an invocation by an instruction of a running one.
    pub(crate) fn call(&self, caller: &InvocationCursor, inst: Inst) -> InvocationCursor {
        let invocation = caller.recorded.unwrap_or_default();
        let recorded = self.recorded.invocations.get(invocation as usize);
        let step = recorded.map_or(0, |recorded| recorded.steps.len() as u32).saturating_sub(1);
        let replayed = caller.replayed.and_then(|(invocation, taken)| {
            self.find_replayed(InvocationOrigin::Inst { invocation, step: taken.checked_sub(1)?, inst })
        });
        InvocationCursor {
            origin: InvocationOrigin::Inst { invocation, step, inst },
            recorded: None,
            replayed,
        }
    }

    /// Finds the start of the replayed invocation with this origin.
    fn find_replayed(&self, origin: InvocationOrigin) -> Option<(u32, u32)> {
        let invocation = self.replayed.as_ref()?.by_origin.get(&origin)?;
        Some((*invocation, 0))
    }

    /// Records that a block is executed.
    pub(crate) fn record(
        &mut self,
        cursor: &mut InvocationCursor,
        block: Block,
        budget: &mut Budget,
    ) -> Result<(), FaultKind> {
        budget.hold(size_of::<ScheduleStep>() as u64)?;
        let number = match cursor.recorded {
            Some(number) => number,
            None => {
                budget.hold(size_of::<Invocation>() as u64)?;
                let number = self.recorded.invocations.len() as u32;
                self.recorded.invocations.push(Invocation { origin: cursor.origin, steps: Vec::new() });
                *cursor.recorded.insert(number)
            }
        };
        self.recorded.invocations[number as usize].steps.push(ScheduleStep { block, is_active: true });
        Ok(())
    }

    /// Records that the last block has no active lanes.
    pub(crate) fn mark_empty(&mut self, cursor: &InvocationCursor) {
        let recorded = cursor.recorded.and_then(|number| self.recorded.invocations.get_mut(number as usize));
        if let Some(step) = recorded.and_then(|recorded| recorded.steps.last_mut()) {
            step.is_active = false;
        }
    }

    /// True if the replayed schedule contains the block.
    pub(crate) fn is_scheduled(&mut self, cursor: &InvocationCursor, block: Block) -> bool {
        let (Some(replayed), Some((invocation, _))) = (&self.replayed, cursor.replayed) else { return false };
        let (number, scheduled) = self.scheduled.get_or_insert_default();
        if *number != invocation || scheduled.is_empty() {
            *number = invocation;
            let steps = replayed.invocations[invocation as usize].steps.iter();
            *scheduled = steps.filter(|step| step.is_active).map(|step| step.block).collect();
        }
        scheduled.contains(&block)
    }

    /// Returns the next block of the replayed schedule, and moves the cursor to its step.
    pub(crate) fn next(&self, cursor: &mut InvocationCursor) -> Option<Block> {
        let replayed = self.replayed.as_ref()?;
        let (invocation, taken) = cursor.replayed.as_mut()?;
        let steps = &replayed.invocations[*invocation as usize].steps;
        let ahead = steps.get(*taken as usize..)?.iter().position(|step| step.is_active)?;
        *taken += ahead as u32;
        Some(steps[*taken as usize].block)
    }
}

impl InvocationCursor {
    /// Moves past the current step of the replayed schedule.
    pub(crate) fn skip_step(&mut self) {
        if let Some((_, taken)) = &mut self.replayed {
            *taken += 1;
        }
    }
}

/// Pseudo-random generator (SplitMix64); without a seed it always returns 0.
#[derive(Clone, Debug)]
pub(crate) struct Rng(Option<u64>);

impl Rng {
    pub(crate) fn new(seed: Option<u64>) -> Rng {
        Rng(seed)
    }

    pub(crate) fn is_random(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        let Some(state) = &mut self.0 else { return 0 };
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % count.max(1) as u64) as usize
    }
}
