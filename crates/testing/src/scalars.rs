//! Checks scalar replacement: stage Canonical, refinement, no new fault, no new race, and no path with more
//! computations unless values are hoisted.

use crate::differential::{BlockProjection, ProjectSchedule, SourceReference, is_deterministic};
use crate::execution::{options, prepare};
use crate::generate::{GeneratedProgram, GeneratorProfile, ProgramClass, ProgramInput, Random};
use crate::uniform_loops::canonical;
use heddle_interp::{PassiveSemantics, RunOptions, Schedule, run};
use heddle_ir::ops::Effect;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Block, Function, Inst, Module, Op};
use heddle_transform::fuse::MachineModel;
use heddle_transform::scalar_replacement::{ReplacementOptions, ReplacementStatistics, ReplacementVariant};
use heddle_transform::{FuseOptions, RaceSemantics, TargetInfo, flatten, fuse, replace_scalars};

/// Scalar replacement pass.
pub type ReplaceScalarsPass<'a> = &'a dyn Fn(&mut Function, &ReplacementOptions) -> ReplacementStatistics;

/// Programs that go through memory again and again.
pub fn profile() -> GeneratorProfile {
    GeneratorProfile {
        classes: [
            (ProgramClass::Lanes, 66),
            (ProgramClass::Racy, 10),
            (ProgramClass::Kernel, 16),
            (ProgramClass::Launch, 8),
            (ProgramClass::Predicated, 0),
        ],
        uniform_branch: 40,
        webs: 25,
        horizontals: 20,
        walks: 70,
        ..GeneratorProfile::source()
    }
}

/// As `profile`, with similar arms and loop nests.
pub fn orders_profile() -> GeneratorProfile {
    GeneratorProfile { similar_arms: 40, nests: 100, horizontals: 25, ..profile() }
}

/// Counts of replaced scalars.
#[derive(Clone, Copy, Default, Debug)]
pub struct ReplacementCounts {
    /// Programs.
    pub programs: usize,
    /// Those in which something was.
    pub changed: usize,
    /// All of it, by all variants.
    pub all: ReplacementStatistics,
}

impl ReplacementCounts {
    /// Adds up.
    pub fn add(&mut self, other: &ReplacementCounts) {
        self.programs += other.programs;
        self.changed += other.changed;
        self.all.add(&other.all);
    }
}

/// Replaces scalars by all variants, and checks what comes out.
pub fn replaces(case: &GeneratedProgram) -> Result<ReplacementCounts, String> {
    replaces_by(case, &replace_scalars)
}

/// As `replaces`, with any pass.
pub fn replaces_by(case: &GeneratedProgram, by: ReplaceScalarsPass<'_>) -> Result<ReplacementCounts, String> {
    let mut counted = ReplacementCounts { programs: 1, ..ReplacementCounts::default() };
    let excluded = if is_deterministic(case) { &[RaceSemantics::Excluded][..] } else { &[] };
    let before = canonical(case);
    for &races in excluded.iter().chain(&[RaceSemantics::Ordered]) {
        for variant in ReplacementVariant::ALL {
            let mut module = before.clone();
            let mut replaced = ReplacementStatistics::default();
            for func in &mut module.functions {
                replaced.add(&by(func, &ReplacementOptions { variant, races, machine: machine(case) }));
            }
            if replaced != ReplacementStatistics::default() {
                counted.all.add(&replaced);
                counted.changed = 1;
                check(case, &before, &module, variant)
                    .map_err(|reason| format!("{}, races {races:?}: {reason}", variant.name()))?;
            }
        }
    }
    Ok(counted)
}

/// Machine model to optimize for: warps or vectors.
fn machine(case: &GeneratedProgram) -> MachineModel {
    let lanes = case.inputs.first().map_or(8, |input| input.lanes());
    if case.seed.is_multiple_of(2) {
        MachineModel::Warps
    } else {
        MachineModel::Vectors(TargetInfo::AVX512, lanes)
    }
}

/// Checks that what comes out is widened as any program is.
pub fn widens(case: &GeneratedProgram) -> Result<(), String> {
    let mut module = canonical(case);
    let races = if is_deterministic(case) { RaceSemantics::Excluded } else { RaceSemantics::Ordered };
    let variant = ReplacementVariant::ALL[(case.seed % ReplacementVariant::ALL.len() as u64) as usize];
    let options = ReplacementOptions { variant, races, machine: machine(case) };
    let mut replaced = ReplacementStatistics::default();
    module.functions.iter_mut().for_each(|func| replaced.add(&replace_scalars(func, &options)));
    if replaced == ReplacementStatistics::default() {
        return Ok(());
    }
    crate::wide::widens(&GeneratedProgram { module, ..case.clone() })
}

/// Checks that scalar replacement, fusion and flattening compose in any order. Schedules of the result are projected
/// onto the source pass by pass, the last pass first.
pub fn orders(case: &GeneratedProgram) -> Result<(), String> {
    let races = if is_deterministic(case) { RaceSemantics::Excluded } else { RaceSemantics::Ordered };
    let mut module = canonical(case);
    let mut random = Random::new(case.seed);
    let (mut applied, mut projects): (_, Vec<ProjectSchedule<'_>>) = (Vec::new(), Vec::new());
    for _ in 0..random.between(3, 5) {
        let pass = random.below(3);
        let variant = random.pick(ReplacementVariant::ALL.as_slice());
        let before = module.clone();
        let machine = machine(case);
        match pass {
            0 => {
                applied.push(variant.name());
                let options = ReplacementOptions { variant, races, machine };
                module.functions.iter_mut().for_each(|func| _ = replace_scalars(func, &options));
            }
            1 => {
                applied.push("fuse");
                let options = FuseOptions { machine, races, force: true, explain: false };
                let passed = module.functions.iter_mut().map(|func| fuse(func, &options).passed).collect();
                let (projection, after) = (BlockProjection { passed }, module.clone());
                projects.push(Box::new(move |_, schedule| {
                    *schedule = projection.apply(&after, &case.entry, schedule);
                }));
            }
            _ => {
                applied.push("flatten");
                let policy = flatten::FlattenPolicy::Force;
                let options = flatten::FlattenOptions { policy, races, ..flatten::FlattenOptions::default() };
                let decisions: Vec<_> = (module.functions.iter_mut())
                    .map(|func| crate::flattening::flatten_function(func, &options))
                    .collect();
                projects.push(crate::flattening::without_nests(before, &case.entry, &decisions));
            }
        }
    }
    let fails = |reason: String| format!("{}: {reason}", applied.join(", "));
    verify_module(&module, Stage::Canonical).map_err(|violations| fails(violations.to_string()))?;
    for (index, input) in case.inputs.iter().enumerate() {
        let project = |after: &Module, schedule: &mut Schedule| {
            projects.iter().rev().for_each(|project| project(after, schedule));
        };
        SourceReference::new(case, &case.module, input)
            .and_then(|reference| {
                reference.projected(Box::new(project)).check(&module, &[PassiveSemantics::Freezing])
            })
            .map_err(|reason| fails(format!("input {index}: {reason}")))?;
    }
    Ok(())
}

fn check(
    case: &GeneratedProgram,
    before: &Module,
    module: &Module,
    variant: ReplacementVariant,
) -> Result<(), String> {
    verify_module(module, Stage::Canonical).map_err(|violations| violations.to_string())?;
    for (index, input) in case.inputs.iter().enumerate() {
        let fails = |reason: String| format!("input {index}: {reason}");
        SourceReference::new(case, &case.module, input)
            .and_then(|reference| reference.check(module, &[PassiveSemantics::Freezing]))
            .map_err(fails)?;
        if is_deterministic(case) && matches!(variant, ReplacementVariant::Srqp | ReplacementVariant::Esrqp) {
            let [expected, found] = [before, module].map(|module| work(case, module, input));
            for (lane, (expected, found)) in expected?.into_iter().zip(found?).enumerate() {
                if found > expected {
                    return Err(fails(format!(
                        "lane {lane} computes {found} values, where it were {expected}"
                    )));
                }
            }
        }
    }
    Ok(())
}

/// Counts the non-trivial loads and operations that each lane executes.
fn work(case: &GeneratedProgram, module: &Module, input: &ProgramInput) -> Result<Vec<usize>, String> {
    let (mut memory, args) = prepare(case, input);
    let options = RunOptions { trace: true, ..options(input) };
    let outcome =
        run(module, &case.entry, &args, &mut memory, &options).map_err(|fault| fault.to_string())?;
    let of_block = |func: &Function, block: Block| {
        let is_counted = |inst: Inst| {
            let data = func.inst(inst);
            // Products by constants are address arithmetic.
            let is_product = data.op == Op::Mul && data.args.iter().all(|&arg| func.constant(arg).is_none());
            let is_counted =
                matches!(data.op, Op::Load | Op::Fadd | Op::Fsub | Op::Fmul | Op::Fdiv | Op::Fma);
            is_product || is_counted || data.op.info().effect == Effect::Traps
        };
        func.block_insts(block).filter(|&inst| is_counted(inst)).count()
    };
    let mut work = Vec::new();
    for step in &outcome.trace.steps {
        let lanes = outcome.trace.lanes as usize;
        let first = (step.group as usize * 128 + step.brush as usize) * lanes;
        work.resize(work.len().max(first + lanes), 0);
        let count = of_block(&module.functions[step.func as usize], step.block);
        for lane in (0..lanes).filter(|lane| step.active.contains(*lane)) {
            work[first + lane] += count;
        }
    }
    Ok(work)
}
