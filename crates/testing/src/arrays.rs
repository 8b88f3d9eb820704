//! Checks that programs keep their meaning when their private arrays are lowered; property of the topics `arrays` and
//! `arrays-widen`.

use crate::differential::differential;
use crate::generate::{GeneratedProgram, GeneratorProfile, ProgramClass};
use crate::properties::stage;
use heddle_ir::verify::verify_module;
use heddle_ir::{Function, Module, Op};
use heddle_transform::lower_private_arrays;

/// Pass that lowers the private arrays of a function; returns the number of arrays that are in registers.
pub type LowerArraysPass<'a> = &'a dyn Fn(&mut Function) -> usize;

/// Programs with private arrays, some of them accessed in several sizes.
pub fn profile() -> GeneratorProfile {
    GeneratorProfile {
        classes: [
            (ProgramClass::Lanes, 70),
            (ProgramClass::Racy, 5),
            (ProgramClass::Kernel, 17),
            (ProgramClass::Launch, 8),
            (ProgramClass::Predicated, 0),
        ],
        privates: 100,
        views: 60,
        ..GeneratorProfile::source()
    }
}

/// Counts of what programs show.
#[derive(Clone, Copy, Default, Debug)]
pub struct ArrayCounts {
    /// Programs.
    pub programs: usize,
    /// Programs that the pass changed.
    pub changed: usize,
    /// Arrays in registers.
    pub promoted: usize,
    /// Copies and fills of the source, and those that are left.
    pub transfers: [usize; 2],
}

impl ArrayCounts {
    /// Adds up.
    pub fn add(&mut self, other: &ArrayCounts) {
        self.programs += other.programs;
        self.changed += other.changed;
        self.promoted += other.promoted;
        (0..2).for_each(|at| self.transfers[at] += other.transfers[at]);
    }
}

/// Checks that a program with lowered arrays refines its source.
pub fn lowers(case: &GeneratedProgram) -> Result<ArrayCounts, String> {
    lowers_by(case, &lower_private_arrays)
}

/// As [`lowers`], with any pass.
pub fn lowers_by(case: &GeneratedProgram, by: LowerArraysPass<'_>) -> Result<ArrayCounts, String> {
    let mut module = case.module.clone();
    let mut counts = ArrayCounts { programs: 1, ..ArrayCounts::default() };
    counts.transfers[0] = transfers(&module);
    counts.promoted = module.functions.iter_mut().map(by).sum();
    counts.transfers[1] = transfers(&module);
    counts.changed = usize::from(module.to_string() != case.module.to_string());
    verify_module(&module, stage(case)).map_err(|violations| violations.to_string())?;
    differential(case, &case.module, &module)?;
    Ok(counts)
}

/// Checks that programs with lowered arrays are widened as any program is.
pub fn widens(case: &GeneratedProgram) -> Result<(), String> {
    let mut module = case.module.clone();
    module.functions.iter_mut().for_each(|func| _ = lower_private_arrays(func));
    crate::wide::widens(&GeneratedProgram { module, ..case.clone() })
}

fn transfers(module: &Module) -> usize {
    let insts = module.functions.iter().flat_map(|func| {
        func.blocks().flat_map(|block| func.block_insts(block)).map(move |inst| func.inst(inst).op)
    });
    insts.filter(|op| matches!(op, Op::Memcpy | Op::Memmove | Op::Memset)).count()
}
