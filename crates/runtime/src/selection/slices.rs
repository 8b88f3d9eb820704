//! Slices of a launch that the incumbent and a candidate run on neighbouring work.
//!
//! A launch is cut into pairs of slices. Some pairs, spread over the launch, are tried: one slice runs by the incumbent, the other by
//! the candidate, in alternating order. The rest runs by the incumbent. A pair is tried only while the loss so far plus its expected
//! loss stays below the limit of the launch; while the candidate's pace is unknown, one pair is tried at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of pairs that are tried in one launch.
const MAX_PAIRS: u64 = 32;
/// Margin on the measured ratio of a candidate, when the loss of its next slice is estimated.
const MARGIN: f64 = 0.25;

/// Times of a pair of slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlicePair {
    /// Nanoseconds for a work-item, of the incumbent and of the candidate.
    pub(crate) paces: [f64; 2],
    /// Time and work-items of the candidate's slice.
    pub(crate) time: f64,
    pub(crate) items: f64,
}

impl SlicePair {
    /// Time that the incumbent would have taken less; negative if the candidate is faster.
    fn loss(&self) -> f64 {
        self.time - self.items * self.paces[0]
    }
}

/// Slices that a launch may try.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SlicePlan {
    /// Number of work-groups in a slice, and its expected time.
    pub(crate) groups: u64,
    pub(crate) time: f64,
    /// Distance between tried pairs, in pairs.
    pub(crate) stride: u64,
    /// Expected ratio of the candidate, an upper bound if it never ran.
    pub(crate) ratio: f64,
    pub(crate) is_known: bool,
    /// Loss that the launch may have.
    pub(crate) limit: f64,
}

impl SlicePlan {
    /// Plan for a launch of so many groups, of which each takes so long.
    pub(crate) fn new(groups: u64, group_time: f64, slice_time: f64, ratio: Option<f64>, worst: f64) -> Self {
        let per_slice = ((slice_time / group_time.max(0.01)).ceil() as u64).max(1);
        let pairs = groups / (2 * per_slice);
        SlicePlan {
            groups: per_slice,
            time: per_slice as f64 * group_time,
            stride: (pairs / MAX_PAIRS).max(1),
            ratio: ratio.unwrap_or(worst),
            is_known: ratio.is_some(),
            limit: 0.0,
        }
    }

    /// Expected loss of one slice.
    pub(crate) fn slice_loss(&self) -> f64 {
        (self.ratio - 1.0).max(0.0) * self.time
    }
}

/// Slices of one launch.
#[derive(Debug)]
pub(crate) struct SliceTrial {
    plan: SlicePlan,
    /// Different for each launch, so that other pairs are tried.
    salt: u64,
    state: Mutex<SliceLedger>,
}

#[derive(Default, Debug)]
struct SliceLedger {
    running: u64,
    lost: f64,
    pairs: Vec<SlicePair>,
}

/// Mixes bits of a number.
fn mix(number: u64) -> u64 {
    let number = (number ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (number ^ (number >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
}

impl SliceTrial {
    pub(crate) fn new(plan: SlicePlan, salt: u64) -> SliceTrial {
        SliceTrial { plan, salt: mix(salt), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, SliceLedger> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of work-groups in a slice.
    pub(crate) fn groups(&self) -> u64 {
        self.plan.groups
    }

    /// True if the pair with this number is one of those that may be tried.
    pub(crate) fn is_sampled(&self, pair: u64) -> bool {
        let block = pair / self.plan.stride;
        mix(block ^ self.salt) % self.plan.stride == pair % self.plan.stride
    }

    /// Begins a pair, if the launch can pay it: 0 if the incumbent comes first, 1 if the candidate does.
    pub(crate) fn begin(&self, pair: u64) -> Option<usize> {
        let mut state = self.state();
        let tried = state.pairs.len() as u64 + state.running;
        let measured = match &state.pairs[..] {
            [] if self.plan.is_known => Some(self.plan.ratio),
            [] => None,
            pairs => {
                let [incumbent, candidate] = pairs
                    .iter()
                    .fold([0.0; 2], |sum: [f64; 2], pair| [sum[0] + pair.paces[0], sum[1] + pair.paces[1]]);
                Some(
                    (candidate / incumbent.max(f64::MIN_POSITIVE)).max(if pairs.len() < 4 {
                        self.plan.ratio.min(2.0)
                    } else {
                        0.0
                    }) + MARGIN,
                )
            }
        };
        if tried >= MAX_PAIRS || measured.is_none() && state.running > 0 {
            return None;
        }
        let loss = (measured.unwrap_or(self.plan.ratio) - 1.0).max(0.0) * self.plan.time;
        if state.lost.max(0.0) + loss * (state.running + 1) as f64 > self.plan.limit {
            return None;
        }
        state.running += 1;
        Some((mix(pair ^ self.salt) % 2) as usize)
    }

    /// Ends a pair.
    pub(crate) fn end(&self, pair: SlicePair) {
        let mut state = self.state();
        state.running -= 1;
        state.lost += pair.loss();
        state.pairs.push(pair);
    }

    /// Takes the pairs that were tried.
    pub(crate) fn take(&self) -> SliceTimes {
        let mut state = self.state();
        SliceTimes { loss: state.lost.max(0.0), pairs: std::mem::take(&mut state.pairs) }
    }
}

/// Measurements of a launch with slices of a candidate.
#[derive(Clone, Default, Debug)]
pub(crate) struct SliceTimes {
    pub(crate) loss: f64,
    pub(crate) pairs: Vec<SlicePair>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(limit: f64, ratio: Option<f64>) -> SliceTrial {
        let plan = SlicePlan::new(100_000, 100.0, 6000.0, ratio, 12.0);
        SliceTrial::new(SlicePlan { limit, ..plan }, 7)
    }

    fn pair(ratio: f64) -> SlicePair {
        SlicePair { paces: [1.0, ratio], time: 6000.0 * ratio, items: 6000.0 }
    }

    #[test]
    fn pairs_are_spread_over_the_launch() {
        let trial = trial(1e9, None);
        assert_eq!((trial.plan.groups, trial.plan.stride), (60, 26));
        let sampled: Vec<u64> = (0..833).filter(|&pair| trial.is_sampled(pair)).collect();
        assert!((31..=33).contains(&sampled.len()), "{sampled:?}");
        assert!(sampled.windows(2).all(|it| it[1] - it[0] < 2 * 26));
    }

    #[test]
    fn an_unknown_candidate_runs_one_slice_first() {
        let trial = trial(70_000.0, None);
        assert!(trial.begin(0).is_some());
        assert_eq!(trial.begin(1), None);
        // It is slow: what is left of the limit pays no further slice.
        trial.end(pair(9.0));
        assert_eq!(trial.begin(2), None);
        assert_eq!(trial.take().loss, 48_000.0);
    }

    #[test]
    fn a_launch_loses_no_more_than_its_limit() {
        for ratio in [0.5, 1.1, 1.5, 3.0] {
            let trial = trial(20_000.0, Some(ratio));
            let mut count = 0;
            for number in 0..100 {
                if trial.begin(number).is_some() {
                    trial.end(pair(ratio));
                    count += 1;
                }
            }
            assert!(trial.take().loss <= 20_000.0 && count <= MAX_PAIRS, "{ratio}: {count}");
            assert!(count > 0, "{ratio}");
        }
    }
}
