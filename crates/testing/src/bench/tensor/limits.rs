//! Limits of nests: measured rates of the machine, and the time that the counts of a nest take by them.

use super::ways::{ScratchFolder, StepCounts, machine, sources};
use crate::bench::kit::BenchReport;
use crate::bench::loops::done;
use std::fmt::{self, Display};
use std::process::Command;

/// Rates of this machine: vectors in a nanosecond, and gigabytes of copies in a second.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct MachinePeaks {
    /// Bytes of a vector.
    vector: f64,
    load: f64,
    /// Loads from two lines of the cache.
    load_across: f64,
    store: f64,
    fma: f64,
    add: f64,
    integer: f64,
    shuffle: f64,
    /// Bytes that are read and written, and the rate of it; ascending.
    copies: Vec<(f64, f64)>,
}

/// Times in seconds that a run needs at least.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct NestLimits {
    /// By the ports, with all loads that are written.
    pub(super) as_written: f64,
    /// By the ports, with each cell loaded once.
    pub(super) with_reuse: f64,
    /// By the rate of copies; 0 for a sum of terms, whose cells are read often.
    pub(super) memory: f64,
}

impl NestLimits {
    /// Returns the limit that no order of loads avoids.
    pub(super) fn bound(&self) -> f64 {
        self.with_reuse.max(self.memory)
    }
}

impl MachinePeaks {
    fn read(text: &str) -> Option<MachinePeaks> {
        let mut peaks = MachinePeaks::default();
        for line in text.lines() {
            let (name, numbers) = line.strip_prefix("peak;")?.split_once(';')?;
            let (rate, bytes) = numbers.split_once(';')?;
            let (rate, bytes): (f64, f64) = (rate.parse().ok()?, bytes.parse().ok()?);
            match name {
                "vector" => peaks.vector = rate,
                "load" => peaks.load = rate,
                "load across" => peaks.load_across = rate,
                "store" => peaks.store = rate,
                "fma" => peaks.fma = rate,
                "add" => peaks.add = rate,
                "integer" => peaks.integer = rate,
                "shuffle" => peaks.shuffle = rate,
                "copy" => peaks.copies.push((bytes, rate)),
                _ => return None,
            }
        }
        (peaks.vector > 0.0 && peaks.load > 0.0 && !peaks.copies.is_empty()).then_some(peaks)
    }

    /// Returns the rate of copies of the smallest measured size that is not smaller, or of the largest.
    fn copy_rate(&self, footprint: f64) -> f64 {
        let larger = self.copies.iter().find(|(bytes, _)| *bytes >= footprint);
        larger.or(self.copies.last()).map_or(f64::INFINITY, |(_, rate)| *rate)
    }

    pub(super) fn limits(&self, counts: &StepCounts) -> NestLimits {
        // Integers are computed by more ports than floats; bytes and 16-bit numbers are loaded as such.
        let arithmetic = if counts.loaded < 4.0 { self.integer } else { self.fma };
        let vectors = |count: f64, bytes: f64| count * counts.steps * bytes / self.vector;
        let computed = vectors(counts.operations, counts.lane) / arithmetic;
        let stored = vectors(counts.stores, counts.stored) / self.store;
        let by_ports =
            |loads: f64| 1e-9 * (vectors(loads, counts.loaded) / self.load).max(stored).max(computed);
        let moved = counts.steps * (counts.cells * counts.loaded + counts.stores * counts.stored);
        let memory = if counts.stores > 0.0 { 1e-9 * moved / self.copy_rate(counts.footprint) } else { 0.0 };
        NestLimits { as_written: by_ports(counts.loads), with_reuse: by_ports(counts.cells), memory }
    }
}

impl Display for MachinePeaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MachinePeaks { vector, load, load_across, store, fma, add, integer, shuffle, copies } = self;
        write!(
            f,
            "vectors of {vector} bytes in a nanosecond: loaded {load:.1} ({load_across:.1} from two lines), stored {store:.1}, multiplied and added {fma:.1}, "
        )?;
        write!(
            f,
            "added {add:.1}, added as integers {integer:.1}, shuffled {shuffle:.1}; copied, GB/s read and written:"
        )?;
        for (bytes, rate) in copies {
            write!(f, " {rate:.0} ({:.0} KiB)", bytes / 1024.0)?;
        }
        Ok(())
    }
}

/// Measures this machine with the vectors of the machine that nests are compiled for.
pub(super) fn measure(report: &mut BenchReport) -> Result<MachinePeaks, String> {
    report.progress("timing: peaks");
    let folder = ScratchFolder::new("peaks")?;
    let program = folder.path().join("peaks");
    let mut command = Command::new("clang-22");
    command.arg("-O2").arg(format!("-march={}", machine())).arg("-o").arg(&program);
    done(command.args(["peaks.c", "../loops/given.c"].map(|name| sources().join(name))))?;
    let output = done(&mut Command::new(&program))?;
    let text = String::from_utf8_lossy(&output);
    MachinePeaks::read(&text).ok_or_else(|| format!("not understood: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "peak;vector;64;0\npeak;load;8;0\npeak;load across;4;0\npeak;store;4;0\npeak;fma;8;0\npeak;add;8;0\npeak;integer;16;0\n\
                        peak;shuffle;4;0\npeak;copy;500;1000\npeak;copy;100;100000\n";

    #[test]
    fn limits_follow_from_counts_and_rates() {
        let peaks = MachinePeaks::read(TEXT).expect("it is understood");
        // Five loads of doubles are 0.625 vectors, at 8 a nanosecond; one store is 0.125 vectors, at 4; five operations as loads.
        let mut counts = StepCounts {
            steps: 8000.0,
            loads: 5.0,
            cells: 1.0,
            stores: 1.0,
            operations: 2.0,
            lane: 8.0,
            loaded: 8.0,
            stored: 8.0,
            footprint: 50_000.0,
        };
        let limits = peaks.limits(&counts);
        let near = |seconds: f64, nanoseconds: f64| (seconds * 1e9 - nanoseconds).abs() < 1e-6;
        assert!(
            near(limits.as_written, 625.0) && near(limits.with_reuse, 250.0) && near(limits.memory, 1280.0)
        );
        assert_eq!(limits.bound(), limits.memory);
        counts.footprint = 1e9;
        assert_eq!(peaks.limits(&counts).memory, limits.memory);
        counts.footprint = 900.0;
        assert!(near(peaks.limits(&counts).memory, 256.0));
        counts.stores = 0.0;
        assert_eq!(peaks.limits(&counts).memory, 0.0);
        assert_eq!(MachinePeaks::read("peak;speed;1;0\n"), None);
    }
}
