//! Schedules: which of the blocks where lanes wait runs next, and which ones ran.

use crate::fault::FaultKind;
use crate::limits::Budget;
use heddle_ir::{Block, Inst};
use rustc_hash::{FxHashMap, FxHashSet};

/// Which block runs next, of those where lanes wait and to which no other of those leads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Scheduler {
    /// The first one in a fixed order.
    #[default]
    Greedy,
    /// Any of them, by this seed. Branches of blocks without active lanes go anywhere.
    Random(u64),
    /// As this schedule says, call by call. Steps to blocks where no lane waits are passed over, and what it does not
    /// tell is free, so that the schedule of a transformed program can be replayed on its source. A block that it has no
    /// active step for runs where lanes in it are in the way. A schedule only chooses between legal steps: whatever it says,
    /// what runs is a legal schedule, so an outcome of a replay is one of the program.
    Replay(Schedule),
    /// A stack of reconvergence points at immediate post-dominators, as GPUs have it. FREEZING only.
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

/// What a run executed, each invocation of a function by itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// The invocations that executed something, in the order in which they began to.
    pub invocations: Vec<Invocation>,
}

/// A function, entered once by a brush.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    /// What entered it.
    pub origin: InvocationOrigin,
    /// The blocks that it executed, in order.
    pub steps: Vec<ScheduleStep>,
}

/// Where an invocation comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InvocationOrigin {
    /// The run itself.
    Run {
        /// The number of the group in the launch.
        group: u32,
        /// The number of the brush in its group.
        brush: u32,
    },
    /// A call or a launch.
    Inst {
        /// The number of the invocation that it belongs to.
        invocation: u32,
        /// The number of the step there.
        step: u32,
        /// The instruction.
        inst: Inst,
    },
}

/// A block that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScheduleStep {
    /// The block.
    pub block: Block,
    /// Whether it had active lanes. One without is none that a replay asks for.
    pub is_active: bool,
}

impl Schedule {
    /// That of one brush which calls nothing and executes these blocks.
    pub fn of_blocks(blocks: impl IntoIterator<Item = Block>) -> Schedule {
        let steps = blocks.into_iter().map(|block| ScheduleStep { block, is_active: true }).collect();
        Schedule {
            invocations: vec![Invocation { origin: InvocationOrigin::Run { group: 0, brush: 0 }, steps }],
        }
    }

    /// The steps of all invocations, one after the other.
    pub fn steps(&self) -> impl Iterator<Item = &ScheduleStep> {
        self.invocations.iter().flat_map(|invocation| &invocation.steps)
    }
}

/// The schedule of a run: what is noted of it, and what it follows.
#[derive(Debug, Default)]
pub(crate) struct ScheduleRecorder<'a> {
    noted: Schedule,
    followed: Option<ReplayedSchedule<'a>>,
    /// The blocks that an invocation is told to execute, of the one that was asked for last.
    told: Option<(u32, FxHashSet<Block>)>,
}

/// A schedule that is replayed.
#[derive(Debug)]
struct ReplayedSchedule<'a> {
    invocations: &'a [Invocation],
    by_origin: FxHashMap<InvocationOrigin, u32>,
}

/// Where a running invocation stands in the course.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InvocationCursor {
    origin: InvocationOrigin,
    /// Its number, once it has executed something.
    noted: Option<u32>,
    /// The number of the invocation that it follows, if there is one, and how many of its steps lie behind.
    followed: Option<(u32, u32)>,
}

impl<'a> ScheduleRecorder<'a> {
    pub(crate) fn new(scheduler: &'a Scheduler) -> ScheduleRecorder<'a> {
        let Scheduler::Replay(Schedule { invocations }) = scheduler else {
            return ScheduleRecorder::default();
        };
        let by_origin = invocations.iter().map(|invocation| invocation.origin).zip(0..).collect();
        ScheduleRecorder {
            followed: Some(ReplayedSchedule { invocations, by_origin }),
            ..ScheduleRecorder::default()
        }
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.followed.is_some()
    }

    /// What was executed.
    pub(crate) fn into_noted(self) -> Schedule {
        self.noted
    }

    /// The beginning of an invocation by the run itself.
    pub(crate) fn enter(&self, group: u32, brush: u32) -> InvocationCursor {
        let origin = InvocationOrigin::Run { group, brush };
        InvocationCursor { origin, noted: None, followed: self.follow(origin) }
    }

    /// The beginning of an invocation by an instruction of a running one.
    pub(crate) fn call(&self, caller: &InvocationCursor, inst: Inst) -> InvocationCursor {
        let invocation = caller.noted.unwrap_or_default();
        let noted = self.noted.invocations.get(invocation as usize);
        let step = noted.map_or(0, |noted| noted.steps.len() as u32).saturating_sub(1);
        let followed = caller.followed.and_then(|(invocation, behind)| {
            self.follow(InvocationOrigin::Inst { invocation, step: behind.checked_sub(1)?, inst })
        });
        InvocationCursor { origin: InvocationOrigin::Inst { invocation, step, inst }, noted: None, followed }
    }

    /// The beginning of what is replayed of an invocation.
    fn follow(&self, origin: InvocationOrigin) -> Option<(u32, u32)> {
        let invocation = self.followed.as_ref()?.by_origin.get(&origin)?;
        Some((*invocation, 0))
    }

    /// Notes that a block is executed.
    pub(crate) fn note(
        &mut self,
        track: &mut InvocationCursor,
        block: Block,
        budget: &mut Budget,
    ) -> Result<(), FaultKind> {
        budget.hold(size_of::<ScheduleStep>() as u64)?;
        let number = match track.noted {
            Some(number) => number,
            None => {
                budget.hold(size_of::<Invocation>() as u64)?;
                let number = self.noted.invocations.len() as u32;
                self.noted.invocations.push(Invocation { origin: track.origin, steps: Vec::new() });
                *track.noted.insert(number)
            }
        };
        self.noted.invocations[number as usize].steps.push(ScheduleStep { block, is_active: true });
        Ok(())
    }

    /// Notes that the last block has no active lanes.
    pub(crate) fn note_empty(&mut self, track: &InvocationCursor) {
        let noted = track.noted.and_then(|number| self.noted.invocations.get_mut(number as usize));
        if let Some(step) = noted.and_then(|noted| noted.steps.last_mut()) {
            step.is_active = false;
        }
    }

    /// Whether the replayed schedule says when a block is executed.
    pub(crate) fn tells_of(&mut self, track: &InvocationCursor, block: Block) -> bool {
        let (Some(followed), Some((invocation, _))) = (&self.followed, track.followed) else { return false };
        let (number, told) = self.told.get_or_insert_default();
        if *number != invocation || told.is_empty() {
            *number = invocation;
            let steps = followed.invocations[invocation as usize].steps.iter();
            *told = steps.filter(|step| step.is_active).map(|step| step.block).collect();
        }
        told.contains(&block)
    }

    /// The block that the replayed schedule asks for next, if it asks for one; the track stands before its step then.
    pub(crate) fn next(&self, track: &mut InvocationCursor) -> Option<Block> {
        let followed = self.followed.as_ref()?;
        let (invocation, behind) = track.followed.as_mut()?;
        let steps = &followed.invocations[*invocation as usize].steps;
        let ahead = steps.get(*behind as usize..)?.iter().position(|step| step.is_active)?;
        *behind += ahead as u32;
        Some(steps[*behind as usize].block)
    }
}

impl InvocationCursor {
    /// Goes on behind the step that is asked for.
    pub(crate) fn pass_over(&mut self) {
        if let Some((_, behind)) = &mut self.followed {
            *behind += 1;
        }
    }
}

/// A small generator of numbers for random choices (SplitMix64); without a seed it always gives 0.
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
