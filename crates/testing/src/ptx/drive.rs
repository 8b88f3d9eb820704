//! Runs of the topic: seeds dealt out to threads.

use super::check::{PtxCounts, check};
use super::generate::generate;
use crate::fuzz::{QuietPanics, quietly};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of seeds per batch.
const BATCH: u64 = 8;

/// Result of a run.
#[derive(Clone, Debug)]
pub struct PtxReport {
    /// The seeds that were tried, all of them.
    pub seeds: Range<u64>,
    /// Counts of the tested programs.
    pub counts: PtxCounts,
    /// Failing programs and their errors.
    pub finds: Vec<(u64, String)>,
    /// Wall-clock time.
    pub time: Duration,
}

/// Checks programs from a seed on, for some time or up to a count. `progress` hears of programs and finds so far.
pub fn drive(
    seed: u64,
    count: Option<u64>,
    time: Duration,
    jobs: usize,
    progress: &(dyn Fn(u64, usize) + Sync),
) -> PtxReport {
    let start = Instant::now();
    let next = AtomicU64::new(seed);
    let end = count.map_or(u64::MAX, |count| seed.saturating_add(count));
    let all: Mutex<(PtxCounts, Vec<(u64, String)>)> = Mutex::default();
    let quiet = QuietPanics::new();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                let mut counts = PtxCounts::default();
                while start.elapsed() < time {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    if first >= end {
                        break;
                    }
                    for seed in first..(first + BATCH).min(end) {
                        let outcome = quietly(|| check(&generate(seed), &mut counts)).unwrap_or_else(Err);
                        if let Err(reason) = outcome {
                            all.lock().expect("no thread panics").1.push((seed, reason));
                        }
                    }
                    let finds = all.lock().expect("no thread panics").1.len();
                    progress(next.load(Ordering::Relaxed).min(end) - seed, finds);
                }
                all.lock().expect("no thread panics").0.merge(&counts);
            });
        }
    });
    drop(quiet);
    let (counts, mut finds) = all.into_inner().expect("no thread panics");
    finds.sort();
    // A batch that was begun was finished.
    PtxReport { seeds: seed..next.load(Ordering::Relaxed).min(end), counts, finds, time: start.elapsed() }
}
