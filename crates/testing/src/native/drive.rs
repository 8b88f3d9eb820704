//! Driver of the native topics: distributes batches of seeds over threads, reduces finds and writes them to files.

use super::hed::TargetWorkshops;
use super::tally::{NativeFind, NativeTally};
use super::target::InstructionSet;
use super::{c, hed};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A run that is to end before this is one of small batches: what is begun is finished.
const SHORT: Duration = Duration::from_secs(60);
/// Maximum number of finds that are reduced.
const MOST_SHRUNK: usize = 3;

/// Program generator of a topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NativeProgramKind {
    /// Generated programs.
    Hed,
    /// Generated C.
    C(c::FpContract),
    /// Generated loops with pragmas.
    Loops,
    /// Generated nests of loops with pragmas.
    Nests,
}

/// A property of native code.
#[derive(Clone, Copy, Debug)]
pub struct NativeTopic {
    /// Its name on the command line.
    pub name: &'static str,
    /// Property, as a sentence.
    pub says: &'static str,
    /// Programs that are compiled together, where there is time.
    pub batch: u64,
    /// And where there is not: still more than a hundred functions.
    pub small_batch: u64,
    /// True if it runs when no topic is named.
    pub is_in_slice: bool,
    kind: NativeProgramKind,
}

/// The topics that compile and run what they check.
pub const NATIVE_TOPICS: &[NativeTopic] = &[
    NativeTopic {
        name: "native",
        says: "native vector code of generated programs computes in each lane what the oracle does",
        batch: 128,
        small_batch: 32,
        is_in_slice: true,
        kind: NativeProgramKind::Hed,
    },
    NativeTopic {
        name: "c",
        says: "native vector code of generated C computes in each lane what clang's scalar code does",
        batch: 100,
        small_batch: 12,
        is_in_slice: true,
        kind: NativeProgramKind::C(c::FpContract::Off),
    },
    NativeTopic {
        name: "c-contract",
        says: "the same with -ffp-contract=on, where products may be rounded or not before they are added to",
        batch: 100,
        small_batch: 12,
        is_in_slice: false,
        kind: NativeProgramKind::C(c::FpContract::On),
    },
    NativeTopic {
        name: "marked-loops",
        says: "what the plugin makes of generated loops with pragmas computes what clang's scalar code does",
        batch: 24,
        small_batch: 8,
        is_in_slice: false,
        kind: NativeProgramKind::Loops,
    },
    NativeTopic {
        name: "marked-nests",
        says: "what the plugin makes of generated nests of loops computes what clang's scalar code does, for each brush",
        batch: 48,
        small_batch: 12,
        is_in_slice: false,
        kind: NativeProgramKind::Nests,
    },
];

/// The native topic of this name.
pub fn native_topic(name: &str) -> Option<&'static NativeTopic> {
    NATIVE_TOPICS.iter().find(|topic| topic.name == name)
}

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct NativePlan {
    /// The property.
    pub topic: &'static NativeTopic,
    /// The first seed.
    pub seed: u64,
    /// When to stop.
    pub time: Duration,
    /// After how many programs to stop.
    pub count: Option<u64>,
    /// On how many threads.
    pub jobs: usize,
    /// For which instruction sets.
    pub targets: Vec<InstructionSet>,
    /// Where to work, and where finds go.
    pub folder: PathBuf,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct NativeReport {
    /// The seeds that were tried, all of them.
    pub seeds: Range<u64>,
    /// Counts.
    pub tally: NativeTally,
    /// The files of finds.
    pub files: Vec<PathBuf>,
    /// Wall-clock time.
    pub time: Duration,
    /// CPU time, where the system reports it.
    pub cpu: Option<f64>,
    /// Coverage of the programs, in words.
    pub covered: Vec<String>,
    /// Features that too few programs have.
    pub lacks: Vec<String>,
}

impl NativeReport {
    /// Pairs for each second that a core worked, or that passed where nothing else is known.
    pub fn rate(&self) -> f64 {
        let seconds = self.cpu.unwrap_or(self.time.as_secs_f64());
        self.tally.all_pairs() as f64 / seconds.max(1e-3)
    }
}

/// Seconds that this process and the ones that it waited for have worked.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().unwrap_or(0)).sum();
    Some(ticks as f64 / 100.0)
}

/// Checks programs from the plan's first seed on, in whole batches. `progress` hears of programs and finds so far.
pub fn drive(plan: &NativePlan, progress: &(dyn Fn(u64, usize) + Sync)) -> Result<NativeReport, String> {
    let worked = cpu_seconds();
    let folder = plan.folder.join(format!("{}-{}", plan.topic.name, std::process::id()));
    let next = AtomicU64::new(plan.seed);
    let end = plan.count.map_or(u64::MAX, |count| plan.seed.saturating_add(count));
    let batch = if plan.time < SHORT { plan.topic.small_batch } else { plan.topic.batch };
    let all = Mutex::new(NativeTally::default());
    let quiet = crate::fuzz::QuietPanics::new();
    let benches: Vec<TargetWorkshops> = (0..plan.jobs)
        .map(|job| TargetWorkshops::new(&folder.join(format!("job{job}")), &plan.targets))
        .collect::<Result<_, String>>()?;
    // Workshops take a second or two, which may be all of a slice.
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (job, bench) in benches.iter().enumerate() {
            let (next, all, folder) = (&next, &all, &folder);
            scope.spawn(move || {
                while start.elapsed() < plan.time {
                    let first = next.fetch_add(batch, Ordering::Relaxed);
                    if first >= end {
                        break;
                    }
                    let seeds = first..(first + batch).min(end);
                    // LLVM may end the process: the remaining files show where.
                    let note =
                        format!("{} --seed {} --count {}\n", plan.topic.name, first, seeds.end - first);
                    let _ = std::fs::write(folder.join(format!("job{job}/doing")), note);
                    let tally = match plan.topic.kind {
                        NativeProgramKind::Hed => hed::run_batch(bench, seeds),
                        NativeProgramKind::C(contract) => c::run_batch(bench, seeds, contract),
                        NativeProgramKind::Loops => {
                            c::loops::run_batch(bench, seeds, c::loops::LoopMark::Right)
                        }
                        NativeProgramKind::Nests => c::nests::run_batch(bench, seeds, None),
                    };
                    let mut all = all.lock().expect("no thread panics");
                    all.merge(&tally);
                    progress(next.load(Ordering::Relaxed).min(end) - plan.seed, all.finds.len());
                }
            });
        }
    });
    let (time, cpu) = (start.elapsed(), worked.zip(cpu_seconds()).map(|(from, to)| to - from));
    let mut tally = all.into_inner().expect("no thread panics");
    tally.finds.sort_by_key(|find| (find.pair.seed, find.pair.target));
    let mut files = Vec::new();
    let mut reported: Vec<u64> = Vec::new();
    for find in &tally.finds {
        if !reported.contains(&find.pair.seed) && reported.len() < MOST_SHRUNK {
            reported.push(find.pair.seed);
            files.push(write_down(plan, &folder, find)?);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    drop(quiet);
    let (covered, lacks) = match plan.topic.kind {
        NativeProgramKind::Hed => (hed::covered(&tally), hed::lacks(&tally)),
        NativeProgramKind::C(_) => (c::covered(&tally), c::lacks(&tally)),
        NativeProgramKind::Loops => (c::loops::covered(&tally), c::loops::lacks(&tally)),
        NativeProgramKind::Nests => (c::nests::covered(&tally), c::nests::lacks(&tally)),
    };
    // A batch that was begun was finished.
    let seeds = plan.seed..next.load(Ordering::Relaxed).min(end).max(plan.seed);
    Ok(NativeReport { seeds, tally, files, time, cpu, covered, lacks })
}

fn write_down(plan: &NativePlan, folder: &std::path::Path, find: &NativeFind) -> Result<PathBuf, String> {
    let shrinking = folder.join("shrink");
    let (text, extension) = match plan.topic.kind {
        NativeProgramKind::Hed => (hed::shrunk(&shrinking, find), "hed"),
        NativeProgramKind::C(contract) => (c::reduced(&shrinking, find, contract), "c"),
        NativeProgramKind::Loops => (c::loops::reduced(&shrinking, find), "c"),
        NativeProgramKind::Nests => (c::nests::reduced(&shrinking, find), "c"),
    };
    let path = plan.folder.join(format!("{}-{}.{extension}", plan.topic.name, find.pair.seed));
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
