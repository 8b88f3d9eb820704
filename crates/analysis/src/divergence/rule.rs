//! Named rules of the divergence analysis. Tests disable one each and expect the oracle to notice.

/// Rule by which a value, state or block becomes divergent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DivergenceRule {
    /// φs at joins of an influence region mix their operands.
    Sync,
    /// A region may continue at another branch.
    Leads,
    /// Exit φs mix values of different iterations.
    Temporal,
    /// Divergent exits have an influence region after the loop.
    Leaving,
    /// Blocks of an influence region run without some lanes.
    Apart,
    /// Later iterations of a divergent loop run without some lanes.
    Late,
    /// A varying predicate makes a block run without some lanes.
    Predicate,
    /// A shadow φ varies where lanes are missing.
    Shadow,
    /// A value defined under a smaller mask may be poison.
    SmallerMask,
    /// φs that mix poison with a value may be poison in some lanes.
    MixedPoison,
    /// Private objects hold the written values.
    Written,
    /// A predicated write keeps the old contents in inactive lanes.
    PredicatedWrite,
    /// Private objects differ at joins of lanes with different writes.
    MixedState,
    /// Private objects differ after a divergent loop.
    TemporalState,
    /// Unknown private memory differs between lanes.
    Unknown,
    /// Result summaries hold for uniform arguments only.
    Arguments,
}

impl DivergenceRule {
    /// All rules.
    pub const ALL: [DivergenceRule; 16] = [
        DivergenceRule::Sync,
        DivergenceRule::Leads,
        DivergenceRule::Temporal,
        DivergenceRule::Leaving,
        DivergenceRule::Apart,
        DivergenceRule::Late,
        DivergenceRule::Predicate,
        DivergenceRule::Shadow,
        DivergenceRule::SmallerMask,
        DivergenceRule::MixedPoison,
        DivergenceRule::Written,
        DivergenceRule::PredicatedWrite,
        DivergenceRule::MixedState,
        DivergenceRule::TemporalState,
        DivergenceRule::Unknown,
        DivergenceRule::Arguments,
    ];
}
