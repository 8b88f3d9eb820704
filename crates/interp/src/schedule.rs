//! Schedulers: which of the blocks where lanes wait runs next.

use heddle_ir::Block;

/// Which block runs next, of those where lanes wait and to which no other of those leads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Scheduler {
    /// The first one in a fixed order.
    #[default]
    Greedy,
    /// Any of them, by this seed. Branches of blocks without active lanes go anywhere.
    Random(u64),
    /// As these steps say; steps to blocks where no lane waits are passed over, so that the schedule of a
    /// transformed program can be replayed on its source.
    Replay(Vec<Step>),
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

    pub(crate) fn replay(&self) -> Option<Vec<std::collections::VecDeque<Step>>> {
        let Scheduler::Replay(steps) = self else { return None };
        let brushes = steps.iter().map(|step| step.brush as usize + 1).max().unwrap_or(0);
        let mut queues = vec![std::collections::VecDeque::new(); brushes];
        steps.iter().for_each(|&step| queues[step.brush as usize].push_back(step));
        Some(queues)
    }
}

/// A block that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// The number of the brush in its group.
    pub brush: u32,
    /// The number of the function in the module.
    pub func: u32,
    /// The block.
    pub block: Block,
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
