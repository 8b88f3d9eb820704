//! Options of all drivers in the environment of the process.

use crate::forced::ForcedOptions;
use crate::program::{BuildOptions, ReportSink};
use crate::selection::Trials;
use heddle_ir::types::MAX_LANES;
use heddle_llvm::Cpu;
use std::io::Write as _;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// True if a variable is 1.
pub fn is_on(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value.trim() == "1")
}

/// Number of worker threads: `HEDDLE_THREADS`, or as many as the machine runs at once.
pub fn threads() -> usize {
    let requested = std::env::var("HEDDLE_THREADS").ok().and_then(|text| text.trim().parse().ok());
    let there = || std::thread::available_parallelism().map_or(1, usize::from);
    requested.filter(|&count: &usize| (1..=1024).contains(&count)).unwrap_or_else(there)
}

/// Use of run-time selection: `HEDDLE_TRIALS`, one of `off`, `kept` and `on`.
pub fn trials() -> Trials {
    static TRIALS: LazyLock<Trials> = LazyLock::new(|| {
        let text = std::env::var("HEDDLE_TRIALS").unwrap_or_default();
        match text.trim() {
            "off" => Trials::Off,
            "kept" => Trials::Kept,
            "" | "on" => Trials::On,
            other => {
                eprintln!("heddle: unknown value `{other}` of HEDDLE_TRIALS\nhelp: write off, kept or on");
                Trials::On
            }
        }
    });
    *TRIALS
}

/// Number of the code that launches begin with, among those that estimates choose from: `HEDDLE_CODE`.
pub(crate) fn forced_code() -> Option<usize> {
    static CODE: LazyLock<Option<usize>> =
        LazyLock::new(|| std::env::var("HEDDLE_CODE").ok()?.trim().parse().ok());
    *CODE
}

/// Time after which a launch is ended: `HEDDLE_WATCHDOG`, in seconds; none by default.
pub fn watchdog() -> Option<Duration> {
    static WATCHDOG: LazyLock<Option<Duration>> = LazyLock::new(|| {
        let text = std::env::var("HEDDLE_WATCHDOG").ok()?;
        let seconds = text.trim().parse::<f64>().ok().filter(|&seconds| seconds > 0.0);
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if time.is_none() {
            eprintln!("heddle: HEDDLE_WATCHDOG: `{text}` is no number of seconds");
        }
        time
    });
    *WATCHDOG
}

/// True if `HEDDLE_VERIFY=1` compares launches with the oracle.
pub fn is_verified() -> bool {
    static IS_VERIFIED: LazyLock<bool> = LazyLock::new(|| is_on("HEDDLE_VERIFY"));
    *IS_VERIFIED
}

/// True if `HEDDLE_REPORT=1` asks for reports of kernels.
pub fn reports() -> bool {
    static REPORTS: LazyLock<bool> = LazyLock::new(|| is_on("HEDDLE_REPORT"));
    *REPORTS
}

/// Writes reports to the standard error, if `HEDDLE_REPORT=1`.
pub fn watch() -> Option<ReportSink> {
    // Write errors are ignored: there is no other place for a report.
    reports().then(|| -> ReportSink { Arc::new(|message| _ = write!(std::io::stderr().lock(), "{message}")) })
}

/// Build options: `HEDDLE_LANES` lanes (a power of two, or `registers` for the 32-bit lanes of a vector register; by default the
/// fastest number), and the choices that `HEDDLE_OPTIONS` forces.
pub fn options() -> BuildOptions {
    static OPTIONS: LazyLock<BuildOptions> = LazyLock::new(|| {
        if let Some(error) = Cpu::host_error() {
            eprintln!("heddle: {error}");
        }
        let requested = std::env::var("HEDDLE_LANES").ok().and_then(|text| match text.trim() {
            "registers" => Some(BuildOptions::default().lanes_on(&Cpu::host())),
            number => number.parse().ok(),
        });
        let lanes = requested.filter(|&lanes: &u32| lanes.is_power_of_two() && lanes <= MAX_LANES);
        let forced = std::env::var("HEDDLE_OPTIONS").ok().map(|text| text.trim().parse());
        let forced = forced.unwrap_or_else(|| Ok(ForcedOptions::default())).unwrap_or_else(|message| {
            eprintln!("heddle: HEDDLE_OPTIONS: {message}");
            ForcedOptions::default()
        });
        // The oracle, next to which launches run, has no estimates.
        let forced = if is_verified() { forced.with_exact_roots() } else { forced };
        BuildOptions { lanes, forced, ..BuildOptions::default() }
    });
    *OPTIONS
}
