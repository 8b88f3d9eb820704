//! Data-race semantics of the source language.

/// Semantics of conflicting accesses by different lanes without a barrier between them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum RaceSemantics {
    /// Races are defined: every outcome must be one of the source under some greedy schedule.
    #[default]
    Ordered,
    /// Races are undefined behaviour, as in C, OpenCL and CUDA.
    Excluded,
}
