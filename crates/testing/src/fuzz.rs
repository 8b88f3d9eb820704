//! Runs of the fuzzer: seeds dealt out to threads, finds collected and shrunk.

use crate::coverage::Coverage;
use crate::generate::{GeneratedProgram, generate};
use crate::kernels::ComparisonCounts;
use crate::properties::Topic;
use crate::shrink::{print, shrink};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of seeds per batch.
const BATCH: u64 = 64;
/// Maximum number of finds that are shrunk and reported.
const MOST_FINDS: usize = 10;

/// Parameters of a fuzzing run.
#[derive(Clone, Copy, Debug)]
pub struct FuzzPlan {
    /// The property.
    pub topic: &'static Topic,
    /// The first seed.
    pub seed: u64,
    /// When to stop.
    pub time: Duration,
    /// After how many programs to stop.
    pub count: Option<u64>,
    /// On how many threads.
    pub jobs: usize,
}

/// A program that does not have the property.
#[derive(Clone, Debug)]
pub struct FuzzFind {
    /// The seed that it was generated from.
    pub seed: u64,
    /// Error message.
    pub reason: String,
    /// Shrunk program, with a header of seed, property and input.
    pub text: String,
}

/// Result of a fuzzing run.
#[derive(Clone, Debug)]
pub struct FuzzReport {
    /// The seeds that were tried, all of them.
    pub seeds: Range<u64>,
    /// Coverage of the programs.
    pub coverage: Coverage,
    /// Of the topic `kernels`, what was compared.
    pub compared: Option<ComparisonCounts>,
    /// The programs that do not have the property, by seed.
    pub finds: Vec<FuzzFind>,
    /// Finds beyond those.
    pub more_finds: u64,
    /// Wall-clock time.
    pub time: Duration,
}

/// Checks a case; a panic is a find too.
pub fn check(topic: &Topic, case: &GeneratedProgram) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| (topic.check)(case))).unwrap_or_else(|panic| Err(message(&*panic)))
}

/// Does something that may panic; the error is its message.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    format!("panic: {text}")
}

/// Checks the property for programs from the plan's first seed on. `progress` receives the numbers of programs and
/// finds so far.
///
/// Free threads take batches of seeds, but every seed of the reported range is tried, and its result depends on nothing
/// else: the finds of a range are deterministic.
pub fn fuzz(plan: &FuzzPlan, progress: &(dyn Fn(u64, usize) + Sync)) -> FuzzReport {
    let start = Instant::now();
    let next = AtomicU64::new(plan.seed);
    let end = plan.count.map_or(u64::MAX, |count| plan.seed.saturating_add(count));
    let totals = Mutex::new((Coverage::default(), ComparisonCounts::default()));
    let compares = plan.topic.name == "kernels";
    let found: Mutex<Vec<(u64, String)>> = Mutex::new(Vec::new());
    let profile = (plan.topic.profile)();
    let quiet = QuietPanics::new();
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs {
            scope.spawn(|| {
                let (mut covered, mut compared) = (Coverage::default(), ComparisonCounts::default());
                while start.elapsed() < plan.time {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    if first >= end {
                        break;
                    }
                    for seed in first..(first + BATCH).min(end) {
                        let tried = catch_unwind(|| generate(seed, &profile));
                        let reason = match tried {
                            Ok(case) => {
                                covered.note(&case);
                                if compares {
                                    compared.merge(&ComparisonCounts::of(&case));
                                }
                                check(plan.topic, &case).err()
                            }
                            Err(panic) => Some(format!("generator: {}", message(&*panic))),
                        };
                        if let Some(reason) = reason {
                            found.lock().expect("no thread panics").push((seed, reason));
                        }
                    }
                    let finds = found.lock().expect("no thread panics").len();
                    progress(next.load(Ordering::Relaxed).min(end) - plan.seed, finds);
                }
                let mut totals = totals.lock().expect("no thread panics");
                totals.0.merge(&covered);
                totals.1.merge(&compared);
            });
        }
    });
    let time = start.elapsed();
    let mut found = found.into_inner().expect("no thread panics");
    found.sort();
    let more_finds = found.len().saturating_sub(MOST_FINDS) as u64;
    found.truncate(MOST_FINDS);
    let finds = found.into_iter().map(|(seed, reason)| shrunk(plan.topic, seed, reason)).collect();
    drop(quiet);
    let (coverage, compared) = totals.into_inner().expect("no thread panics");
    let compared = compares.then_some(compared);
    // A batch that was begun was finished.
    let seeds = plan.seed..next.load(Ordering::Relaxed).min(end);
    FuzzReport { seeds, coverage, compared, finds, more_finds, time }
}

fn shrunk(topic: &'static Topic, seed: u64, reason: String) -> FuzzFind {
    let Ok(case) = catch_unwind(|| generate(seed, &(topic.profile)())) else {
        return FuzzFind { seed, reason, text: String::new() };
    };
    // A timeout is a different find.
    let is_long = |reason: &str| reason.contains("steps is reached");
    let fails = |case: &GeneratedProgram| {
        check(topic, case).err().is_some_and(|found| is_long(&reason) || !is_long(&found))
    };
    let small = shrink(&case, &fails);
    let text = print(&small, topic.command, &check(topic, &small).err().unwrap_or_default());
    FuzzFind { seed, reason, text }
}

/// Suppresses the messages of panics, which are finds here, and restores the old hook when dropped.
pub(crate) struct QuietPanics;

impl QuietPanics {
    pub(crate) fn new() -> QuietPanics {
        std::panic::set_hook(Box::new(|_| {}));
        QuietPanics
    }
}

impl Drop for QuietPanics {
    fn drop(&mut self) {
        let _ = std::panic::take_hook();
    }
}
