//! The rules by which something comes to vary, by name: tests leave one out and see whether the oracle notices.

/// The rules by which something comes to vary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DivergenceRule {
    /// φs where parted lanes meet mix what they bring.
    Sync,
    /// A parting may go on as that at another branch.
    Leads,
    /// Exit φs mix what lanes bring from different rounds.
    Temporal,
    /// Lanes that leave a loop apart are parted behind it.
    Leaving,
    /// Blocks that lanes execute apart are not for all.
    Apart,
    /// In a loop that lanes leave apart, some are missing later.
    Late,
    /// A predicate that varies makes a block not for all.
    Predicate,
    /// A shadow φ varies where lanes are missing.
    Shadow,
    /// What was defined under a smaller mask may be ⊤.
    SmallerMask,
    /// φs that mix ⊤ with a value may be ⊤ in some lanes.
    MixedPoison,
    /// Private objects hold what is written to them.
    Written,
    /// Lanes that a predicate keeps from writing keep what was there.
    PredicatedWrite,
    /// Private objects differ where parted lanes meet that wrote differently.
    MixedState,
    /// Private objects differ behind a loop that lanes leave apart.
    TemporalState,
    /// Private memory of which nothing is known differs.
    Unknown,
    /// What a function returns for shared arguments says nothing of others.
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
