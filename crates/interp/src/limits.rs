//! What a run may use before it is stopped.
//!
//! Whatever a program does, its run ends, and holds no more memory than it may: what costs time is counted as work, what
//! costs memory as bytes, both about as much as it costs, before it is done.

use crate::fault::FaultKind;

/// How many bytes are filled or copied in the time of one unit of work.
pub(crate) const BYTES_PER_WORK: u64 = 32;

/// The limits of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunLimits {
    /// The most blocks that may be executed.
    pub steps: u64,
    /// The most work: an instruction in a lane is 1, other things are what they take in comparison.
    pub work: u64,
    /// The most bytes held at once: objects, values of running functions, traces, notes on races.
    pub memory: u64,
    /// The most calls inside of each other.
    pub calls: u64,
}

impl Default for RunLimits {
    fn default() -> RunLimits {
        RunLimits { steps: 1_000_000, work: 1_000_000_000, memory: 1 << 30, calls: 256 }
    }
}

impl RunLimits {
    /// No limits but those of the machine.
    pub const NONE: RunLimits =
        RunLimits { steps: u64::MAX, work: u64::MAX, memory: u64::MAX, calls: u64::MAX };

    /// The value of a limit.
    pub fn get(&self, limit: LimitKind) -> u64 {
        match limit {
            LimitKind::Steps => self.steps,
            LimitKind::Work => self.work,
            LimitKind::Memory => self.memory,
            LimitKind::Calls => self.calls,
        }
    }

    /// The value of a limit, to change it.
    pub fn get_mut(&mut self, limit: LimitKind) -> &mut u64 {
        match limit {
            LimitKind::Steps => &mut self.steps,
            LimitKind::Work => &mut self.work,
            LimitKind::Memory => &mut self.memory,
            LimitKind::Calls => &mut self.calls,
        }
    }
}

/// One of the limits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LimitKind {
    /// Blocks executed.
    Steps,
    /// Work done.
    Work,
    /// Bytes held.
    Memory,
    /// Calls inside of each other.
    Calls,
}

impl LimitKind {
    /// All of them.
    pub const ALL: &'static [LimitKind] =
        &[LimitKind::Steps, LimitKind::Work, LimitKind::Memory, LimitKind::Calls];

    /// The option that sets it: `--limit N` of the command, `limit=N` of a run in a line.
    pub fn option(self) -> &'static str {
        match self {
            LimitKind::Steps => "limit",
            LimitKind::Work => "limit-work",
            LimitKind::Memory => "limit-memory",
            LimitKind::Calls => "limit-calls",
        }
    }

    /// What it counts.
    pub fn unit(self) -> &'static str {
        match self {
            LimitKind::Steps => "steps",
            LimitKind::Work => "units of work",
            LimitKind::Memory => "bytes",
            LimitKind::Calls => "calls inside of each other",
        }
    }
}

/// What a run has used of its limits. Steps and calls are counted where they happen.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) limits: RunLimits,
    work: u64,
    memory: u64,
}

impl Budget {
    pub(crate) fn new(limits: RunLimits) -> Budget {
        Budget { limits, work: 0, memory: 0 }
    }

    pub(crate) fn exceeded(&self, limit: LimitKind) -> FaultKind {
        FaultKind::Limit { limit, value: self.limits.get(limit), empty: false }
    }

    /// Counts work that is about to be done.
    #[inline]
    pub(crate) fn work(&mut self, amount: u64) -> Result<(), FaultKind> {
        self.work = self.work.saturating_add(amount);
        if self.work > self.limits.work { Err(self.exceeded(LimitKind::Work)) } else { Ok(()) }
    }

    /// Counts bytes that are about to be held.
    #[inline]
    pub(crate) fn hold(&mut self, bytes: u64) -> Result<(), FaultKind> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.limits.memory { Err(self.exceeded(LimitKind::Memory)) } else { Ok(()) }
    }

    /// Counts bytes that are held no more.
    pub(crate) fn give_back(&mut self, bytes: u64) {
        self.memory = self.memory.saturating_sub(bytes);
    }
}
