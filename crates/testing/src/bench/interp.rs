//! The interpreter: lane-operations a second, and what a small run costs from start to end.

use super::kernels::{BenchKernel, KERNELS, PreparedBenchKernel, SMALL};
use super::kit::{AimBound, BenchReport, ReportTable, geomean, interleaved, timed};
use heddle_interp::Memory;

const LEAST_SPEED: f64 = 50.0;
const MOST_MICROSECONDS: f64 = 20.0;
/// Iterations of a kernel's loop: few, so that a run ends before it is disturbed.
const KERNEL_ROUNDS: u32 = 2000;
/// Seconds of them all together: machines that are shared are slower for a second now and then.
const REPETITIONS: usize = 400;
const SMALL_ROUNDS: u32 = 2;

pub(super) fn run(report: &mut BenchReport) {
    let mut table =
        ReportTable::new(&["kernel", "W", "lane-operations", "M/s", "median M/s", "M steps/s", "spread"]);
    let prepared: Vec<PreparedBenchKernel> = KERNELS.iter().map(BenchKernel::prepare).collect();
    for lanes in [8, 32] {
        report.progress(format_args!("interpreter, {lanes} lanes"));
        for kernel in &prepared {
            let is_right = [1, 2, 3, 500].iter().all(|&rounds| kernel.is_right(lanes, rounds));
            report.check(is_right, || {
                format!("{} at W = {lanes} does not compute what it should", kernel.name())
            });
        }
        let mut tasks: Vec<Box<dyn FnMut() -> f64 + '_>> = Vec::new();
        for kernel in &prepared {
            let mut memory = Memory::new();
            tasks.push(Box::new(move || timed(|| kernel.run(lanes, KERNEL_ROUNDS, &mut memory)).1));
        }
        let samples = interleaved(REPETITIONS, &mut tasks);
        drop(tasks);
        let mut speeds = Vec::new();
        for (kernel, sample) in prepared.iter().zip(&samples) {
            let Some(outcome) = kernel.run(lanes, KERNEL_ROUNDS, &mut Memory::new()) else { continue };
            let operations = outcome.counters.lane_operations as f64 / 1e6;
            speeds.push(operations / sample.least());
            table.row([
                kernel.name().to_string(),
                lanes.to_string(),
                outcome.counters.lane_operations.to_string(),
                format!("{:.1}", operations / sample.least()),
                format!("{:.1}", operations / sample.median()),
                format!("{:.2}", outcome.counters.steps as f64 / 1e6 / sample.least()),
                format!("{:.0} %", 100.0 * sample.spread()),
            ]);
        }
        let least = speeds.iter().copied().fold(f64::INFINITY, f64::min);
        let target = AimBound::AtLeast(LEAST_SPEED);
        report.aim(format!("interp.w{lanes}"), geomean(&speeds), target, "M/s");
        report.aim(format!("interp.w{lanes}.least"), least, target, "M/s");
    }
    report.progress("");
    report.say(format_args!("The interpreter (least of {REPETITIONS} times)\n\n{table}"));
    small_run(report);
}

/// Measures the fixed cost of a run.
fn small_run(report: &mut BenchReport) {
    let small = SMALL.prepare();
    let is_right = [1, 2, 3, 7].iter().all(|&rounds| small.is_right(4, rounds));
    report.check(is_right, || "the small run does not compute what it should".into());
    let mut memory = Memory::new();
    let runs = 50;
    let mut tasks: Vec<Box<dyn FnMut() -> f64 + '_>> =
        vec![Box::new(|| timed(|| (0..runs).for_each(|_| _ = small.run(4, SMALL_ROUNDS, &mut memory))).1)];
    let samples = interleaved(REPETITIONS, &mut tasks);
    drop(tasks);
    let microseconds = samples[0].least() * 1e6 / f64::from(runs);
    let Some(outcome) = small.run(4, SMALL_ROUNDS, &mut Memory::new()) else { return };
    let mut table =
        ReportTable::new(&["small run", "W", "instructions", "lane-operations", "steps", "µs", "spread"]);
    table.row([
        "from start to end".to_string(),
        "4".into(),
        small.instructions().to_string(),
        outcome.counters.lane_operations.to_string(),
        outcome.counters.steps.to_string(),
        format!("{microseconds:.1}"),
        format!("{:.0} %", 100.0 * samples[0].spread()),
    ]);
    report.say(table);
    report.aim("interp.small", microseconds, AimBound::AtMost(MOST_MICROSECONDS), "µs");
}
