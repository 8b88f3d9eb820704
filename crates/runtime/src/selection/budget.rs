//! Accounts of run-time selection: time run, and time lost to exploration.
//!
//! All times are nanoseconds of processor time, summed over threads.

use std::ops::AddAssign;

/// Share of the time run that exploration may cost.
const SHARE: f64 = 0.05;

/// Time run and time lost to exploration, of a kernel or of one class of its launches.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TrialBudget {
    /// Number of launches.
    pub(crate) launches: u64,
    /// Time of all launches.
    pub(crate) run: f64,
    /// Time of candidates in excess of the best known code, and of their compilation unless it is invested.
    pub(crate) lost: f64,
    /// Time of compilations that the model's promise repays.
    pub(crate) invested: f64,
    /// Expected loss of explorations that are under way.
    reserved: f64,
}

impl TrialBudget {
    /// Loss that the next exploration may cause; negative after one that cost more than expected.
    pub(crate) fn allowance(&self) -> f64 {
        SHARE * self.run - self.lost - self.reserved
    }

    /// Sets the expected loss of an exploration aside.
    pub(crate) fn reserve(&mut self, expected: f64) {
        self.reserved += expected;
    }

    /// Replaces the expected loss of an exploration by the actual one.
    pub(crate) fn settle(&mut self, expected: f64, actual: f64) {
        self.reserved = (self.reserved - expected).max(0.0);
        self.lost += actual.max(0.0);
    }

    /// Adds a launch.
    pub(crate) fn add_launch(&mut self, time: f64) {
        self.launches += 1;
        self.run += time;
    }

    /// Lost time as a fraction of the time run.
    pub(crate) fn lost_share(&self) -> f64 {
        self.lost / self.run.max(1.0)
    }
}

impl AddAssign for TrialBudget {
    fn add_assign(&mut self, other: TrialBudget) {
        self.launches += other.launches;
        self.run += other.run;
        self.lost += other.lost;
        self.invested += other.invested;
        self.reserved += other.reserved;
    }
}
