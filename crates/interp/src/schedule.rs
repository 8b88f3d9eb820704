//! Schedulers: which of the blocks where lanes wait runs next.

use heddle_ir::{Block, Inst};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Which block runs next, of those where lanes wait and to which no other of those leads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Scheduler {
    /// The first one in a fixed order.
    #[default]
    Greedy,
    /// Any of them, by this seed. Branches of blocks without active lanes go anywhere.
    Random(u64),
    /// As this schedule says, call by call. Steps to blocks where no lane waits are passed over, and what it does not
    /// tell is free, so that the schedule of a transformed program can be replayed on its source.
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

/// What a run executed, each activation of a function by itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// The activations, in the order in which they began.
    pub activations: Vec<Activation>,
}

/// A function, entered once by a brush.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Activation {
    /// What called or launched it; none where the run itself did.
    pub caller: Option<Caller>,
    /// The blocks that it executed, in order.
    pub steps: Vec<Step>,
}

/// A call as it was executed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Caller {
    /// The number of the activation that it belongs to.
    pub activation: u32,
    /// The number of the step there.
    pub step: u32,
    /// The instruction.
    pub inst: Inst,
}

/// A block that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// The block.
    pub block: Block,
    /// Whether it had active lanes. One without is none that a replay asks for.
    pub is_active: bool,
}

impl Schedule {
    /// That of a run which calls nothing and executes these blocks.
    pub fn of_blocks(blocks: impl IntoIterator<Item = Block>) -> Schedule {
        let steps = blocks.into_iter().map(|block| Step { block, is_active: true }).collect();
        Schedule { activations: vec![Activation { caller: None, steps }] }
    }

    /// The steps of all activations, one after the other.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.activations.iter().flat_map(|activation| &activation.steps)
    }
}

/// The schedule of a run: what is noted of it, and what it follows.
#[derive(Debug, Default)]
pub(crate) struct Course<'a> {
    pub(crate) noted: Schedule,
    followed: Option<Followed<'a>>,
}

/// A schedule that is replayed.
#[derive(Debug)]
struct Followed<'a> {
    activations: &'a [Activation],
    /// The activations that each call began, and those that none began; the next one first.
    begun: FxHashMap<Option<Caller>, VecDeque<u32>>,
}

/// Where a running activation stands in the course.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Track {
    noted: u32,
    /// The activation that it follows, if there is one, and how many of its steps lie behind.
    followed: Option<(u32, u32)>,
}

impl<'a> Course<'a> {
    pub(crate) fn new(scheduler: &'a Scheduler) -> Course<'a> {
        let Scheduler::Replay(schedule) = scheduler else { return Course::default() };
        let activations = &schedule.activations[..];
        let mut begun: FxHashMap<Option<Caller>, VecDeque<u32>> = FxHashMap::default();
        for (number, activation) in (0..).zip(activations) {
            begun.entry(activation.caller).or_default().push_back(number);
        }
        Course { noted: Schedule::default(), followed: Some(Followed { activations, begun }) }
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.followed.is_some()
    }

    /// Begins an activation, which this instruction of a running one asked for.
    pub(crate) fn begin(&mut self, caller: Option<(Track, Inst)>) -> Track {
        let followed = self.followed.as_mut().and_then(|followed| followed.find(caller));
        let caller = caller.map(|(track, inst)| {
            let activation = track.noted;
            let step = self.noted.activations[activation as usize].steps.len() as u32 - 1;
            Caller { activation, step, inst }
        });
        let noted = self.noted.activations.len() as u32;
        self.noted.activations.push(Activation { caller, steps: Vec::new() });
        Track { noted, followed: followed.map(|activation| (activation, 0)) }
    }

    /// Notes that a block is executed.
    pub(crate) fn note(&mut self, track: Track, block: Block) {
        let steps = &mut self.noted.activations[track.noted as usize].steps;
        steps.push(Step { block, is_active: true });
    }

    /// Notes that the last block has no active lanes.
    pub(crate) fn note_empty(&mut self, track: Track) {
        if let Some(step) = self.noted.activations[track.noted as usize].steps.last_mut() {
            step.is_active = false;
        }
    }

    /// The block that the replayed schedule asks for next, if it asks for one; a track that stands before its step.
    pub(crate) fn next(&self, track: &mut Track) -> Option<Block> {
        let followed = self.followed.as_ref()?;
        let (activation, step) = track.followed.as_mut()?;
        let steps = &followed.activations[*activation as usize].steps;
        let ahead = steps.get(*step as usize..)?.iter().position(|step| step.is_active)?;
        *step += ahead as u32;
        Some(steps[*step as usize].block)
    }
}

impl Followed<'_> {
    /// The activation that answers this one.
    fn find(&mut self, caller: Option<(Track, Inst)>) -> Option<u32> {
        let caller = match caller {
            None => None,
            Some((track, inst)) => {
                let (activation, behind) = track.followed?;
                Some(Caller { activation, step: behind.checked_sub(1)?, inst })
            }
        };
        self.begun.get_mut(&caller)?.pop_front()
    }
}

impl Track {
    /// Goes on behind the step that is asked for.
    pub(crate) fn pass_over(&mut self) {
        if let Some((_, step)) = &mut self.followed {
            *step += 1;
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
