//! Shared parts of the benchmarks: interleaved timing, growth exponents, tables, aims.

use crate::say_line;
use rustix::time::{ClockId, clock_gettime};
use std::fmt::{self, Display, Write as _};
use std::hint::black_box;
use std::io::IsTerminal as _;

/// Times of one measurement in seconds, ascending and not empty.
#[derive(Clone, Debug)]
pub struct Sample {
    times: Vec<f64>,
}

impl Sample {
    /// Creates a sample of these times, if there are any.
    pub fn of(times: Vec<f64>) -> Option<Sample> {
        (!times.is_empty()).then(|| Sample::new(times))
    }

    fn new(mut times: Vec<f64>) -> Sample {
        assert!(!times.is_empty(), "a sample holds a time");
        times.sort_by(f64::total_cmp);
        Sample { times }
    }

    /// The middle one.
    pub fn median(&self) -> f64 {
        let (lower, upper) = ((self.times.len() - 1) / 2, self.times.len() / 2);
        (self.times[lower] + self.times[upper]) / 2.0
    }

    /// Returns the minimum: the time without interference.
    pub fn least(&self) -> f64 {
        self.times[0]
    }

    /// The distance of the quartiles, as a share of the median.
    pub fn spread(&self) -> f64 {
        let last = self.times.len() - 1;
        (self.times[last - last / 4] - self.times[last / 4]) / self.median()
    }
}

/// Times each task `rounds` times, interleaved. A task returns its own time, so that it can exclude its setup:
/// [`timed`].
pub fn interleaved(rounds: usize, tasks: &mut [Box<dyn FnMut() -> f64 + '_>]) -> Vec<Sample> {
    let mut times = vec![Vec::with_capacity(rounds); tasks.len()];
    for _ in 0..rounds.max(1) {
        for (task, times) in tasks.iter_mut().zip(&mut times) {
            times.push(task());
        }
    }
    times.into_iter().map(Sample::new).collect()
}

/// Returns the work's result and the CPU seconds of this thread; other load on the machine does not count.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = thread_seconds();
    let result = work();
    (result, thread_seconds() - start)
}

/// Returns the mean seconds of the work per input. Inputs are processed in sequence and results kept until the last is
/// done, so that many small inputs touch as much memory as a large one.
pub fn timed_each<I, T>(inputs: impl IntoIterator<Item = I>, work: impl FnMut(I) -> T) -> f64 {
    let inputs: Vec<I> = inputs.into_iter().collect();
    let count = inputs.len().max(1) as f64;
    let (results, seconds) = timed(|| inputs.into_iter().map(work).collect::<Vec<T>>());
    drop(black_box(results));
    seconds / count
}

/// Returns, for each size, the number of copies that add up to the last and largest size.
pub fn copies(sizes: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let largest = sizes.last().copied().unwrap_or(0);
    sizes.iter().map(move |&size| (largest / size.max(1)).max(1))
}

fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Fits the exponent `e` of `time = c · size^e` by least squares on the logarithms.
pub fn growth_exponent(points: &[(f64, f64)]) -> f64 {
    assert!(points.len() >= 6, "growth is fitted to at least six sizes");
    let logs: Vec<(f64, f64)> = points.iter().map(|(size, time)| (size.ln(), time.ln())).collect();
    let count = logs.len() as f64;
    let mean_x = logs.iter().map(|log| log.0).sum::<f64>() / count;
    let mean_y = logs.iter().map(|log| log.1).sum::<f64>() / count;
    let above: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let below: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    above / below
}

/// The geometric mean.
pub fn geomean(figures: &[f64]) -> f64 {
    (figures.iter().map(|figure| figure.ln()).sum::<f64>() / figures.len() as f64).exp()
}

/// Table with a header and aligned columns: the first to the left, the others to the right.
#[derive(Clone, Debug)]
pub struct ReportTable {
    rows: Vec<Vec<String>>,
}

impl ReportTable {
    /// A table with this head.
    pub fn new(head: &[&str]) -> ReportTable {
        ReportTable { rows: vec![head.iter().map(|&cell| cell.into()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl Display for ReportTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width_of).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(line, "{cell:<width$}")?,
                    _ => write!(line, "  {cell:>width$}")?,
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Bound on a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AimBound {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

/// A target and how near the figure came.
#[derive(Clone, PartialEq, Debug)]
pub struct Aim {
    /// Name of the figure.
    pub name: String,
    /// Measured value.
    pub figure: f64,
    /// Required bound.
    pub target: AimBound,
    /// Unit of both; may be empty.
    pub unit: &'static str,
}

impl Aim {
    /// True if the figure is within its bound.
    pub fn is_met(&self) -> bool {
        match self.target {
            AimBound::AtLeast(bound) => self.figure >= bound,
            AimBound::AtMost(bound) => self.figure <= bound,
        }
    }
}

impl Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (relation, bound) = match self.target {
            AimBound::AtLeast(bound) => (">=", bound),
            AimBound::AtMost(bound) => ("<=", bound),
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let verdict = if self.is_met() { "ok" } else { "missed" };
        write!(f, "aim {}: {:.3}{unit} ({relation} {bound}{unit}) {verdict}", self.name, self.figure)
    }
}

/// Output of a benchmark: tables as they are completed, aims at the end, and errors.
#[derive(Default, Debug)]
pub struct BenchReport {
    aims: Vec<Aim>,
    wrong: Vec<String>,
    /// The family that alone is measured, and whether there is one of this name.
    only: Option<(String, bool)>,
    resumes: bool,
    is_quick: bool,
}

impl BenchReport {
    /// A report on one family of programs, or on all that a benchmark measures.
    pub fn on(family: Option<String>) -> BenchReport {
        BenchReport { only: family.map(|name| (name, false)), ..BenchReport::default() }
    }

    /// Returns the report with resumption from an interrupted run enabled.
    pub fn resuming(self) -> BenchReport {
        BenchReport { resumes: true, ..self }
    }

    /// Returns the report with few launches for each measurement.
    pub fn quick(self) -> BenchReport {
        BenchReport { is_quick: true, ..self }
    }

    /// True if each measurement is to take few launches.
    pub fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// True if kept measurements are to be resumed.
    pub fn resumes(&self) -> bool {
        self.resumes
    }

    /// True if this family is selected.
    pub fn is_on(&mut self, family: &str) -> bool {
        let Some((only, is_found)) = &mut self.only else { return true };
        *is_found |= only == family;
        only == family
    }

    /// True if no single family is selected.
    pub fn is_full(&self) -> bool {
        self.only.is_none()
    }

    /// A text for the reader.
    pub fn say(&mut self, text: impl Display) {
        say_line!("{text}");
    }

    /// Notes an aim.
    pub fn aim(&mut self, name: impl Into<String>, figure: f64, target: AimBound, unit: &'static str) {
        self.aims.push(Aim { name: name.into(), figure, target, unit });
    }

    /// Notes that something computes what it should, or does not.
    pub fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(what());
        }
    }

    /// Writes an intermediate result to the terminal.
    pub fn note(&mut self, text: impl Display) {
        self.progress("");
        eprintln!("{text}");
    }

    /// Writes a progress line to the terminal.
    pub fn progress(&mut self, text: impl Display) {
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K{text}");
        }
    }

    /// Prints the aims, or all errors; returns true without errors.
    pub fn finish(mut self) -> bool {
        self.progress("");
        if let Some((only, false)) = &self.only {
            self.wrong.push(format!("there is no family `{only}` of which it measures the growth"));
        }
        for wrong in &self.wrong {
            say_line!("wrong: {wrong}");
        }
        for aim in &self.aims {
            say_line!("{aim}");
        }
        self.wrong.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_measured_by_its_exponent() {
        let sizes = (0..6).map(|log| f64::from(100 << log));
        let square: Vec<(f64, f64)> = sizes.clone().map(|size| (size, 3e-9 * size * size)).collect();
        let linear: Vec<(f64, f64)> = sizes.map(|size| (size, 5e-9 * size)).collect();
        assert!((growth_exponent(&square) - 2.0).abs() < 1e-9);
        assert!((growth_exponent(&linear) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn each_size_comes_in_as_many_copies_as_the_largest_has_room_for() {
        assert_eq!(copies(&[25, 50, 100]).collect::<Vec<_>>(), [4, 2, 1]);
        let mut seen = Vec::new();
        assert!(timed_each([1, 2, 3], |input| seen.push(input)) >= 0.0);
        assert_eq!(seen, [1, 2, 3]);
    }

    #[test]
    fn samples_have_middle_and_spread() {
        let sample = Sample::new(vec![4.0, 1.0, 3.0, 2.0, 100.0]);
        assert_eq!((sample.least(), sample.median(), sample.spread()), (1.0, 3.0, 2.0 / 3.0));
        assert_eq!(Sample::new(vec![2.0, 1.0]).median(), 1.5);
        assert!((geomean(&[1.0, 4.0]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn tasks_take_turns() {
        let order = std::cell::RefCell::new(Vec::new());
        let task = |number: u32| -> Box<dyn FnMut() -> f64> { Box::new(move || f64::from(number)) };
        let mut tasks: Vec<Box<dyn FnMut() -> f64 + '_>> = vec![
            Box::new(|| {
                order.borrow_mut().push(1);
                1.0
            }),
            Box::new(|| {
                order.borrow_mut().push(2);
                2.0
            }),
            task(3),
        ];
        let samples = interleaved(3, &mut tasks);
        assert_eq!(samples.iter().map(Sample::median).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
        assert_eq!(*order.borrow(), [1, 2, 1, 2, 1, 2]);
    }

    #[test]
    fn aims_say_whether_they_are_met() {
        let aim = |figure, target, unit| Aim { name: "a.b".into(), figure, target, unit }.to_string();
        assert_eq!(aim(61.25, AimBound::AtLeast(50.0), "M/s"), "aim a.b: 61.250 M/s (>= 50 M/s) ok");
        assert_eq!(aim(1.2, AimBound::AtMost(1.15), ""), "aim a.b: 1.200 (<= 1.15) missed");
        assert_eq!(aim(f64::NAN, AimBound::AtMost(1.15), ""), "aim a.b: NaN (<= 1.15) missed");
    }

    #[test]
    fn columns_are_aligned() {
        let mut table = ReportTable::new(&["family", "ms"]);
        table.row(["chain".into(), "1.50".into()]);
        table.row(["φ".into(), "1234.00".into()]);
        assert_eq!(table.to_string(), "family       ms\nchain      1.50\nφ       1234.00\n");
    }
}
