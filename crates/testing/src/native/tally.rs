//! Counts of native runs: pairs, refusals, time per phase, finds.

use super::target::InstructionSet;
use crate::coverage::Coverage;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// Program with a number of lanes on an instruction set.
#[derive(Clone, Debug)]
pub struct TestedPair {
    /// The seed of the program.
    pub seed: u64,
    /// The instruction set.
    pub target: InstructionSet,
    /// Specialization: its lanes and further options.
    pub form: String,
}

/// Failing pair.
#[derive(Clone, Debug)]
pub struct NativeFind {
    /// Program and target; empty if the find concerns a whole batch.
    pub pair: TestedPair,
    /// Error message.
    pub reason: String,
}

/// Phase of the work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// Programs are generated.
    Generate,
    /// clang compiles them.
    Clang,
    /// LLVM IR is imported.
    Import,
    /// Computes the expected results.
    Expect,
    /// The pipeline makes vector code.
    Vectorize,
    /// LLVM IR is emitted.
    Emit,
    /// LLVM makes machine code.
    Codegen,
    /// Programs are linked.
    Link,
    /// Programs run.
    Run,
    /// Compares the results.
    Compare,
}

/// Counts of a run.
#[derive(Clone, Default, Debug)]
pub struct NativeTally {
    /// Programs with at least one pair.
    pub programs: u64,
    /// Programs that this topic is not about.
    pub passed_by: u64,
    /// Passed and failed pairs by instruction set and lanes.
    pub pairs: BTreeMap<(InstructionSet, String), [u64; 2]>,
    /// Forms without vector code, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Coverage of the programs.
    pub coverage: Coverage,
    /// Counts of features not in `coverage`.
    pub features: BTreeMap<&'static str, u64>,
    /// Errors found.
    pub finds: Vec<NativeFind>,
    /// Where the time went, on the clock.
    pub times: BTreeMap<Phase, Duration>,
}

impl NativeTally {
    /// Runs and times a phase.
    pub fn timed<T>(&mut self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        *self.times.entry(phase).or_default() += start.elapsed();
        result
    }

    /// Counts a pair.
    pub fn note(&mut self, pair: TestedPair, lanes: &str, wrong: Option<String>) {
        let counts = self.pairs.entry((pair.target, lanes.into())).or_default();
        counts[usize::from(wrong.is_some())] += 1;
        if let Some(reason) = wrong {
            self.finds.push(NativeFind { pair, reason });
        }
    }

    /// Counts a specialization without vector code, by reason.
    pub fn refuse(&mut self, reason: &str) {
        // Numbers distinguish programs, not reasons.
        let mut short: String = reason.lines().next().unwrap_or_default().chars().take(160).collect();
        short.retain(|letter| !letter.is_ascii_digit());
        *self.refused.entry(short).or_default() += 1;
    }

    /// All pairs.
    pub fn all_pairs(&self) -> u64 {
        self.pairs.values().flatten().sum()
    }

    /// Adds what another run counted.
    pub fn merge(&mut self, other: &NativeTally) {
        self.programs += other.programs;
        self.passed_by += other.passed_by;
        for (key, [right, wrong]) in &other.pairs {
            let into = self.pairs.entry(key.clone()).or_default();
            into[0] += right;
            into[1] += wrong;
        }
        other.refused.iter().for_each(|(key, count)| *self.refused.entry(key.clone()).or_default() += count);
        other.features.iter().for_each(|(key, count)| *self.features.entry(key).or_default() += count);
        other.times.iter().for_each(|(&phase, &time)| *self.times.entry(phase).or_default() += time);
        self.coverage.merge(&other.coverage);
        self.finds.extend(other.finds.iter().cloned());
    }
}

impl fmt::Display for NativeTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut by_target: BTreeMap<InstructionSet, [u64; 2]> = BTreeMap::new();
        let mut by_lanes: BTreeMap<&str, u64> = BTreeMap::new();
        for ((target, lanes), [right, wrong]) in &self.pairs {
            let into = by_target.entry(*target).or_default();
            into[0] += right;
            into[1] += wrong;
            *by_lanes.entry(lanes).or_default() += right + wrong;
        }
        for (target, [right, wrong]) in by_target {
            writeln!(f, "  {:<8} {:>8} pairs, {wrong} wrong", target.name(), right + wrong)?;
        }
        let lanes: Vec<String> = by_lanes.iter().map(|(lanes, count)| format!("{lanes}: {count}")).collect();
        writeln!(f, "  pairs by lanes: {}", lanes.join(", "))?;
        let refused: u64 = self.refused.values().sum();
        writeln!(f, "  {refused} forms refused, {} programs passed by", self.passed_by)?;
        for (reason, count) in &self.refused {
            writeln!(f, "    {count} x {reason}")?;
        }
        let all: f64 = self.times.values().map(Duration::as_secs_f64).sum();
        let times: Vec<String> = self
            .times
            .iter()
            .map(|(phase, time)| {
                let share = 100.0 * time.as_secs_f64() / all.max(1e-9);
                format!("{} {share:.0} %", format!("{phase:?}").to_lowercase())
            })
            .collect();
        write!(f, "  time: {}", times.join(", "))
    }
}
