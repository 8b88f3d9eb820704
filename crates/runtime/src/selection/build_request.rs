//! Requests to load or compile the code of a candidate, and who pays for them.

/// Weight of compilation on a processor that is idle otherwise.
pub(super) const IDLE_WEIGHT: f64 = 0.1;

/// Code that is to be loaded from the cache or compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BuildRequest {
    pub(crate) code: usize,
    /// True if the code is to be compiled, since it is not in the cache.
    pub(crate) compiles: bool,
    pub(crate) payment: BuildPayment,
}

/// Account that a build's time is charged to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BuildPayment {
    /// The budget pays for the whole time.
    Budget,
    /// The budget pays for a part: the work is for an idle processor.
    IdleProcessor,
    /// The time that the model promises to save.
    Promise,
}

impl BuildRequest {
    /// True if the build may take a processor that others need.
    pub(crate) fn is_paid(self) -> bool {
        self.payment != BuildPayment::IdleProcessor
    }

    /// Weight of the build's time in the budget.
    pub(super) fn weight(self) -> f64 {
        match self.payment {
            BuildPayment::Budget => 1.0,
            BuildPayment::IdleProcessor => IDLE_WEIGHT,
            BuildPayment::Promise => 0.0,
        }
    }
}
