//! Checks strip-mining of loops over rows: stage Canonical, and refinement.

use crate::differential::{differential, is_deterministic};
use crate::generate::{GeneratedProgram, GeneratorProfile, ProgramClass};
use crate::uniform_loops::canonical;
use heddle_compiler::divergence::analyze_divergence;
use heddle_ir::Function;
use heddle_ir::verify::{Stage, verify_module};
use heddle_transform::row_strips::{StripOptions, StripPolicy, strip_rows};
use heddle_transform::{RaceSemantics, TargetInfo};

/// Programs with loops over rows.
pub fn profile() -> GeneratorProfile {
    GeneratorProfile {
        classes: [
            (ProgramClass::Lanes, 80),
            (ProgramClass::Racy, 0),
            (ProgramClass::Kernel, 14),
            (ProgramClass::Launch, 6),
            (ProgramClass::Predicated, 0),
        ],
        row_loops: 85,
        calls: 40,
        horizontals: 12,
        uniform_branch: 40,
        ..GeneratorProfile::source()
    }
}

/// Counts of loops.
#[derive(Clone, Copy, Default, Debug)]
pub struct StripCounts {
    /// Programs.
    pub programs: usize,
    /// Programs with loops that were strip-mined.
    pub changed: usize,
    /// Loops that were strip-mined, in all variants.
    pub loops: usize,
}

impl StripCounts {
    /// Adds up.
    pub fn add(&mut self, other: &StripCounts) {
        self.programs += other.programs;
        self.changed += other.changed;
        self.loops += other.loops;
    }
}

/// Strip-mining for this many lanes; returns the number of loops.
pub type StripPass<'a> = &'a dyn Fn(&mut Function, u32, RaceSemantics) -> usize;

/// Checks that a program whose loops are strip-mined refines its source.
pub fn strips(case: &GeneratedProgram) -> Result<StripCounts, String> {
    strips_by(case, &strip)
}

/// As [`strips`], with any pass.
pub fn strips_by(case: &GeneratedProgram, by: StripPass<'_>) -> Result<StripCounts, String> {
    let mut counts = StripCounts { programs: 1, ..StripCounts::default() };
    if !is_deterministic(case) {
        return Ok(counts);
    }
    let before = canonical(case);
    for races in [RaceSemantics::Excluded, RaceSemantics::Ordered] {
        let mut module = before.clone();
        let loops: usize = module.functions.iter_mut().map(|func| by(func, lanes(case), races)).sum();
        if loops > 0 {
            counts.loops += loops;
            counts.changed = 1;
            verify_module(&module, Stage::Canonical).map_err(|violations| violations.to_string())?;
            differential(case, &before, &module).map_err(|reason| format!("races {races:?}: {reason}"))?;
        }
    }
    Ok(counts)
}

/// Checks that programs with strips are widened as any program is.
pub fn widens(case: &GeneratedProgram) -> Result<(), String> {
    let mut module = canonical(case);
    let races = if is_deterministic(case) { RaceSemantics::Excluded } else { RaceSemantics::Ordered };
    let loops: usize = module.functions.iter_mut().map(|func| strip(func, lanes(case), races)).sum();
    if loops == 0 {
        return Ok(());
    }
    crate::wide::widens(&GeneratedProgram { module, ..case.clone() })
}

fn strip(func: &mut Function, lanes: u32, races: RaceSemantics) -> usize {
    let options = StripOptions { policy: StripPolicy::Force, lanes, target: TargetInfo::AVX512, races };
    strip_rows(func, analyze_divergence, &options)
}

fn lanes(case: &GeneratedProgram) -> u32 {
    [4, 8, 16][(case.seed % 3) as usize]
}
