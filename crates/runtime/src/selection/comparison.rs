//! Paired comparison of two codes: ratio of their times on equal or neighbouring work, with its standard error.

use std::collections::VecDeque;

/// Number of samples that are kept; older ones are dropped.
const MAX_SAMPLES: usize = 64;
/// Factor by which a disturbed sample's ratio differs from the median ratio.
const DISTURBED: f64 = 3.0;
/// Ratio of a candidate that is dropped after its first samples.
const FAR_SLOWER: f64 = 1.5;

/// Times of the incumbent and of the candidate on work of one size.
#[derive(Clone, Copy, Debug)]
struct TimePair {
    incumbent: f64,
    candidate: f64,
}

impl TimePair {
    fn ratio(&self) -> f64 {
        self.candidate / self.incumbent.max(f64::MIN_POSITIVE)
    }
}

/// Samples of an incumbent and a candidate.
#[derive(Clone, Default, Debug)]
pub(crate) struct PairedComparison {
    samples: VecDeque<TimePair>,
    count: usize,
}

/// Time of the candidate divided by that of the incumbent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RatioEstimate {
    pub(crate) ratio: f64,
    /// Standard error of the ratio.
    pub(crate) error: f64,
    /// Number of samples.
    pub(crate) count: usize,
}

impl RatioEstimate {
    /// Bounds of the ratio, wider where the error comes from few samples.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        let factor = if self.count < 8 { 3.0 } else { 2.2 };
        (self.ratio - factor * self.error, self.ratio + factor * self.error)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Time for a work-item over launches, given as times and numbers of work-items. A few launches that took many times as long for a
/// work-item as the median do not count: another process ran during them.
pub(crate) fn undisturbed_pace(launches: &[[f64; 2]]) -> f64 {
    const FAR: f64 = 8.0;
    let pace = |[time, items]: &[f64; 2]| time / items.max(1.0);
    let center = median(launches.iter().map(pace).collect());
    let is_usual = |it: &&[f64; 2]| pace(it) < FAR * center;
    let rare = launches.iter().filter(is_usual).count() * 10 >= launches.len() * 9;
    let counted = launches.iter().filter(|it| !rare || is_usual(it));
    let [time, items] = counted.fold([0.0; 2], |sum, it| [sum[0] + it[0], sum[1] + it[1]]);
    time / f64::max(items, 1.0)
}

impl PairedComparison {
    /// Adds the times of both codes for the same number of work-items.
    pub(crate) fn add(&mut self, incumbent: f64, candidate: f64) {
        if self.samples.len() == MAX_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(TimePair { incumbent, candidate });
        self.count += 1;
    }

    /// Number of samples so far, dropped ones included.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// True if the candidate is so slow in each of its first samples that more are not worth their cost.
    pub(crate) fn is_far_slower(&self) -> bool {
        let samples = self.undisturbed();
        let least = samples.iter().map(TimePair::ratio).fold(f64::MAX, f64::min);
        samples.len() >= 3 && least > FAR_SLOWER || samples.len() == 2 && least > 2.0 * FAR_SLOWER
    }

    /// Samples without those in which another process ran during one of both slices: their ratio is far from the median
    /// although one of the slices had the usual amount of work. Many such samples are the kernel's own variation.
    fn undisturbed(&self) -> Vec<TimePair> {
        let median_of = |value: fn(&TimePair) -> f64| median(self.samples.iter().map(value).collect());
        let center = median_of(TimePair::ratio).max(f64::MIN_POSITIVE);
        let (incumbent, candidate) = (median_of(|it| it.incumbent), median_of(|it| it.candidate));
        let is_usual = |it: &TimePair| {
            let has_more_work = it.incumbent > DISTURBED * incumbent && it.candidate > DISTURBED * candidate;
            (it.ratio() / center).ln().abs() < DISTURBED.ln() || has_more_work
        };
        let usual: Vec<TimePair> = self.samples.iter().filter(|it| is_usual(it)).copied().collect();
        match usual.len() * 4 >= self.samples.len() * 3 {
            true => usual,
            false => self.samples.iter().copied().collect(),
        }
    }

    /// Ratio of the sums of times, so that samples count by their work; none of fewer than two samples.
    pub(crate) fn estimate(&self) -> Option<RatioEstimate> {
        let samples = self.undisturbed();
        let count = samples.len();
        let total: f64 = samples.iter().map(|it| it.incumbent).sum();
        if count < 2 || total <= 0.0 {
            return None;
        }
        let ratio = samples.iter().map(|it| it.candidate).sum::<f64>() / total;
        let squares: f64 = samples.iter().map(|it| (it.candidate - ratio * it.incumbent).powi(2)).sum();
        let error = (squares * count as f64 / (count - 1) as f64).sqrt() / total;
        Some(RatioEstimate { ratio, error, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(samples: impl IntoIterator<Item = [f64; 2]>) -> PairedComparison {
        let mut comparison = PairedComparison::default();
        samples.into_iter().for_each(|[incumbent, candidate]| comparison.add(incumbent, candidate));
        comparison
    }

    #[test]
    fn samples_count_by_their_work() {
        // A search: levels without work, for which the candidate is faster, and one that has work.
        let levels = (0..32).map(|level| if level % 8 == 3 { [40.0, 200.0] } else { [1.0, 0.2] });
        assert!(comparison(levels).estimate().is_some_and(|it| it.ratio > 4.0));
    }

    #[test]
    fn a_disturbed_sample_does_not_count() {
        let samples = (0..16).map(|at| if at == 5 { [10.0, 9000.0] } else { [10.0, 8.0] });
        let estimate = comparison(samples).estimate().expect("there are samples");
        assert!((estimate.ratio - 0.8).abs() < 1e-9 && estimate.error < 1e-9, "{estimate:?}");
        // Code that is far slower is dropped although a slice of the incumbent was disturbed.
        let samples = (0..5).map(|at| if at == 0 { [60.0, 12.0] } else { [1.0, 12.0] });
        assert!(comparison(samples).is_far_slower());
        // One disturbed slice of a candidate does not drop it.
        assert!(!comparison([[10.0, 8.0], [10.0, 9000.0], [10.0, 8.0]]).is_far_slower());
        assert!(comparison([[10.0, 16.0], [1.0, 2.0], [10.0, 90.0]]).is_far_slower());
    }

    #[test]
    fn the_error_is_that_of_the_ratio() {
        let noisy = (0..64).map(|at| [1.0, if at % 2 == 0 { 0.9 } else { 1.1 }]);
        let estimate = comparison(noisy).estimate().expect("there are samples");
        assert!(
            (estimate.ratio - 1.0).abs() < 1e-9 && (estimate.error - 0.0126).abs() < 1e-3,
            "{estimate:?}"
        );
        assert_eq!(comparison([[1.0, 1.0]]).estimate(), None);
    }
}
