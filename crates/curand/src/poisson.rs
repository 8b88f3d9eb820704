//! Discrete distributions, laid out as cuRAND's device interface reads them: Marsaglia, Tsang & Wang's square histogram,
//! "Fast generation of discrete random variables", JSS 2004.

use crate::distributions::{normal_quantile, uniform_double};

/// Largest mean.
pub const LARGEST_MEAN: f64 = 400_000.0;
/// Mean from which on the normal distribution stands in.
const NORMAL_MEAN: f64 = 2_000.0;
/// `CURAND_M2` and `CURAND_DISCRETE_GAUSS`
const METHOD_HISTOGRAM: i32 = 5;
const METHOD_NORMAL: i32 = 7;

/// `curandHistogramM2_st`
#[repr(C)]
struct Histogram {
    thresholds: *const f64,
    host_thresholds: *const f64,
    others: *const u32,
    host_others: *const u32,
    host_gen: u32,
}

/// `curandDistributionM2Shift_st`
#[repr(C)]
struct ShiftedHistogram {
    histogram: *const Histogram,
    host_histogram: *const Histogram,
    shift: u32,
    length: u32,
    host_gen: u32,
}

/// `curandDiscreteDistribution_st`, followed by what it points to.
#[repr(C)]
#[allow(missing_debug_implementations)]
pub struct DiscreteDistribution {
    self_host: *const DiscreteDistribution,
    table: *const ShiftedHistogram,
    host_table: *const ShiftedHistogram,
    stddev: f64,
    mean: f64,
    method: i32,
    host_gen: u32,
    shifted: ShiftedHistogram,
    histogram: Histogram,
    thresholds: Vec<f64>,
    others: Vec<u32>,
}

// SAFETY: its pointers lead into itself, and nobody writes it after it is made.
unsafe impl Send for DiscreteDistribution {}

impl DiscreteDistribution {
    /// Makes a Poisson distribution, whose address stays.
    pub fn poisson(mean: f64) -> Box<DiscreteDistribution> {
        // Beyond 12 deviations there is nothing that 32 bits can meet.
        let reach = 12.0 * mean.sqrt() + 24.0;
        let shift = (mean - reach).max(0.0) as u32;
        let count = if mean < NORMAL_MEAN { (mean + reach) as usize - shift as usize } else { 1 };
        let ln_mean = mean.ln();
        let probabilities: Vec<f64> = (0..count)
            .map(|i| {
                let value = f64::from(shift) + i as f64;
                (value * ln_mean - mean - libm::lgamma(value + 1.0)).exp()
            })
            .collect();
        let (thresholds, others) = square_histogram(&probabilities);
        let null = std::ptr::null();
        let mut made = Box::new(DiscreteDistribution {
            self_host: std::ptr::null(),
            table: std::ptr::null(),
            host_table: std::ptr::null(),
            stddev: mean.sqrt(),
            mean,
            method: if mean < NORMAL_MEAN { METHOD_HISTOGRAM } else { METHOD_NORMAL },
            host_gen: 0,
            shifted: ShiftedHistogram {
                histogram: std::ptr::null(),
                host_histogram: std::ptr::null(),
                shift,
                length: count as u32,
                host_gen: 0,
            },
            histogram: Histogram {
                thresholds: null,
                host_thresholds: null,
                others: std::ptr::null(),
                host_others: std::ptr::null(),
                host_gen: 0,
            },
            thresholds,
            others,
        });
        let (thresholds, others) = (made.thresholds.as_ptr(), made.others.as_ptr());
        made.histogram =
            Histogram { thresholds, host_thresholds: thresholds, others, host_others: others, host_gen: 0 };
        let histogram = &raw const made.histogram;
        (made.shifted.histogram, made.shifted.host_histogram) = (histogram, histogram);
        let table = &raw const made.shifted;
        (made.table, made.host_table) = (table, table);
        made.self_host = &raw const *made;
        made
    }

    /// Returns the value for 32 bits.
    pub fn value(&self, bits: u32) -> u32 {
        let u = uniform_double(bits);
        if self.method == METHOD_NORMAL {
            return (self.stddev * normal_quantile(u.min(1.0 - f64::EPSILON)) + self.mean + 0.5) as u32;
        }
        let column = (self.shifted.length as f64 * u) as usize;
        self.shifted.shift + if u < self.thresholds[column] { column as u32 } else { self.others[column] }
    }
}

/// Returns columns of one width: the threshold below which a column means itself, and the value that it means above.
fn square_histogram(probabilities: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let count = probabilities.len();
    let total: f64 = probabilities.iter().sum();
    let mut heights: Vec<f64> = probabilities.iter().map(|p| p / total * count as f64).collect();
    let mut thresholds: Vec<f64> = (1..=count).map(|column| column as f64 / count as f64).collect();
    let mut others: Vec<u32> = (0..count as u32).collect();
    let (mut low, mut high): (Vec<usize>, Vec<usize>) = (0..count).partition(|i| heights[*i] < 1.0);
    while let (Some(short), Some(&tall)) = (low.pop(), high.last()) {
        thresholds[short] = (short as f64 + heights[short]) / count as f64;
        others[short] = tall as u32;
        heights[tall] -= 1.0 - heights[short];
        if heights[tall] < 1.0 {
            high.pop();
            low.push(tall);
        }
    }
    // The largest bits are rounded to 1, and meet the column after the last.
    thresholds.push(0.0);
    others.push(count as u32 - 1);
    (thresholds, others)
}
