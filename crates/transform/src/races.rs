//! What the language of a program says of races, as far as passes may rely on it.

/// Whether lanes may write what others read or write with no barrier between.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum RaceSemantics {
    /// They may, and every outcome must be one of the source under some greedy schedule.
    #[default]
    Ordered,
    /// They do not: the language makes it undefined, as C, OpenCL and CUDA do.
    Excluded,
}
