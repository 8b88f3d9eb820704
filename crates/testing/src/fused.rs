//! Checks branch fusion: stage Canonical, refinement, no new fault, no new race.

use crate::differential::{BlockProjection, SourceReference};
use crate::generate::{GeneratedProgram, ProgramClass};
use crate::uniform_loops::canonical;
use heddle_interp::{PassiveSemantics, Schedule};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Function, Module};
use heddle_transform::fuse::MachineModel;
use heddle_transform::{FuseOptions, FusionResult, RaceSemantics, TargetInfo, fuse};

/// Fuses the branches of a function.
pub type FusePass = fn(&mut Function, &FuseOptions) -> FusionResult;

/// Counts of fused branches.
#[derive(Clone, Copy, Default, Debug)]
pub struct FuseCounts {
    /// Programs.
    pub programs: u32,
    /// Those in which something was, where every branch is fused that can be.
    pub changed: u32,
    /// Branches that were.
    pub forced: u32,
    /// Branches that were because it pays.
    pub paid: u32,
    /// Branches of which regions were.
    pub with_regions: u32,
}

impl FuseCounts {
    /// Adds up.
    pub fn add(&mut self, other: &FuseCounts) {
        self.programs += other.programs;
        self.changed += other.changed;
        self.forced += other.forced;
        self.paid += other.paid;
        self.with_regions += other.with_regions;
    }
}

/// Fuses what pays and what can be, and checks both.
pub fn fuses(case: &GeneratedProgram) -> Result<FuseCounts, String> {
    fuses_by(case, fuse)
}

/// As `fuses`, with any pass.
pub fn fuses_by(case: &GeneratedProgram, by: FusePass) -> Result<FuseCounts, String> {
    let mut done = FuseCounts { programs: 1, ..FuseCounts::default() };
    if case.traits.class == ProgramClass::Predicated {
        return Ok(done);
    }
    let lanes = case.inputs.first().map_or(8, |input| input.lanes());
    let races = if case.traits.order_dependent { RaceSemantics::Ordered } else { RaceSemantics::Excluded };
    let cpu = MachineModel::Vectors(TargetInfo::AVX512, lanes);
    for (machine, races, force) in [
        (cpu, races, true),
        (MachineModel::Warps, RaceSemantics::Ordered, true),
        (MachineModel::Warps, races, false),
        (cpu, races, false),
    ] {
        let options = FuseOptions { machine, races, force, explain: false };
        let mut module = canonical(case);
        let mut fused = 0;
        let mut projection = BlockProjection::default();
        for func in &mut module.functions {
            let fusions = by(func, &options);
            fused += fusions.fused().count() as u32;
            done.with_regions += fusions.fused().filter(|fusion| fusion.blocks > 0).count() as u32;
            projection.passed.push(fusions.passed);
        }
        if fused == 0 {
            continue;
        }
        let fails = |reason: String| format!("{options:?}: {reason}");
        verify_module(&module, Stage::Canonical).map_err(|violations| fails(violations.to_string()))?;
        for (index, input) in case.inputs.iter().enumerate() {
            SourceReference::new(case, &case.module, input)
                .and_then(|reference| {
                    let project = |after: &Module, schedule: &mut Schedule| {
                        *schedule = projection.apply(after, &case.entry, schedule);
                    };
                    reference.projected(Box::new(project)).check(&module, &[PassiveSemantics::Freezing])
                })
                .map_err(|reason| fails(format!("input {index}: {reason}")))?;
        }
        if force {
            done.forced += fused;
        } else {
            done.paid += fused;
        }
    }
    done.changed = u32::from(done.forced > 0);
    Ok(done)
}

/// Checks that what comes out of fusion is widened as any program is.
pub fn widens(case: &GeneratedProgram) -> Result<(), String> {
    if case.traits.class == ProgramClass::Predicated {
        return Ok(());
    }
    let races = if case.traits.order_dependent { RaceSemantics::Ordered } else { RaceSemantics::Excluded };
    let options = FuseOptions { races, force: case.seed.is_multiple_of(2), ..FuseOptions::default() };
    let mut module = canonical(case);
    let mut fused = 0;
    for func in &mut module.functions {
        fused += fuse(func, &options).fused().count();
    }
    match fused {
        0 => Ok(()),
        _ => crate::wide::widens(&GeneratedProgram { module, ..case.clone() }),
    }
}
