//! Resource limits of a run.
//!
//! Every run terminates within bounded memory, whatever the program does. Time is counted as work and memory as bytes, in
//! proportion to actual cost and before it is spent.

use crate::fault::FaultKind;

/// Bytes filled or copied in one unit of work.
pub(crate) const BYTES_PER_WORK: u64 = 32;

/// Limits of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunLimits {
    /// Maximum number of executed blocks.
    pub steps: u64,
    /// Maximum work: 1 for an instruction in a lane, other costs in proportion.
    pub work: u64,
    /// Maximum number of live bytes: objects, registers, traces, race detector.
    pub memory: u64,
    /// Maximum depth of calls.
    pub calls: u64,
}

impl Default for RunLimits {
    fn default() -> RunLimits {
        RunLimits { steps: 1_000_000, work: 1_000_000_000, memory: 1 << 30, calls: 256 }
    }
}

impl RunLimits {
    /// No limits.
    pub const NONE: RunLimits =
        RunLimits { steps: u64::MAX, work: u64::MAX, memory: u64::MAX, calls: u64::MAX };

    /// Returns the value of a limit.
    pub fn get(&self, limit: LimitKind) -> u64 {
        match limit {
            LimitKind::Steps => self.steps,
            LimitKind::Work => self.work,
            LimitKind::Memory => self.memory,
            LimitKind::Calls => self.calls,
        }
    }

    /// Returns the value of a limit, mutably.
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
    /// Executed blocks.
    Steps,
    /// Work.
    Work,
    /// Live bytes.
    Memory,
    /// Depth of calls.
    Calls,
}

impl LimitKind {
    /// All limits.
    pub const ALL: &'static [LimitKind] =
        &[LimitKind::Steps, LimitKind::Work, LimitKind::Memory, LimitKind::Calls];

    /// Returns the option that sets it: `--limit N` of the command, `limit=N` in a run line.
    pub fn option(self) -> &'static str {
        match self {
            LimitKind::Steps => "limit",
            LimitKind::Work => "limit-work",
            LimitKind::Memory => "limit-memory",
            LimitKind::Calls => "limit-calls",
        }
    }

    /// Returns the unit.
    pub fn unit(self) -> &'static str {
        match self {
            LimitKind::Steps => "steps",
            LimitKind::Work => "units of work",
            LimitKind::Memory => "bytes",
            LimitKind::Calls => "calls inside of each other",
        }
    }
}

/// Resources used by a run. Steps and calls are counted elsewhere.
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

    /// Charges work before it is done.
    #[inline]
    pub(crate) fn work(&mut self, amount: u64) -> Result<(), FaultKind> {
        self.work = self.work.saturating_add(amount);
        if self.work > self.limits.work { Err(self.exceeded(LimitKind::Work)) } else { Ok(()) }
    }

    /// Charges bytes before they are allocated.
    #[inline]
    pub(crate) fn hold(&mut self, bytes: u64) -> Result<(), FaultKind> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.limits.memory { Err(self.exceeded(LimitKind::Memory)) } else { Ok(()) }
    }

    /// Releases bytes.
    pub(crate) fn give_back(&mut self, bytes: u64) {
        self.memory = self.memory.saturating_sub(bytes);
    }
}
