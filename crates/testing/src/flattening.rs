//! Checks that flattened nests are single loops and keep their meaning; property of the topic `flatten`.

use crate::differential::{BOTH, ProjectSchedule, SourceReference, is_deterministic};
use crate::execution::{ObservedPart, difference, observe, options, options_with, prepare};
use crate::generate::{GeneratedProgram, GeneratorProfile, ProgramClass, ProgramInput};
use crate::uniform_loops::{self, canonical};
use heddle_analysis::{Cfg, CycleForest};
use heddle_compiler::divergence::{analyze_divergence, uniform_loops};
use heddle_interp::{InvocationOrigin, RunOptions, Schedule, Scheduler, run};
use heddle_ir::entity::EntitySet;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Block, Function, Module};
use heddle_transform::RaceSemantics;
use heddle_transform::flatten::{self, FlattenDecision, FlattenPolicy, FlattenVerdict};

/// Nests of loops, mostly of lanes that share what they read.
pub fn profile() -> GeneratorProfile {
    GeneratorProfile {
        classes: [
            (ProgramClass::Lanes, 58),
            (ProgramClass::Racy, 12),
            (ProgramClass::Kernel, 24),
            (ProgramClass::Launch, 6),
            (ProgramClass::Predicated, 0),
        ],
        horizontals: 30,
        atomics: 15,
        nests: 100,
        webs: 25,
        calls: 15,
        uniform_loops: false,
        ..GeneratorProfile::source()
    }
}

/// Counts of flattened and refused nests.
#[derive(Clone, Copy, Default, Debug)]
pub struct FlattenCounts {
    /// Nests that are one loop now.
    pub nests: usize,
    /// Those of them that hold one that had been flattened before.
    pub deep: usize,
    /// Those with several inner loops.
    pub several: usize,
    /// Nests that were refused.
    pub refused: usize,
}

impl FlattenCounts {
    /// Adds up.
    pub fn add(&mut self, other: &FlattenCounts) {
        self.nests += other.nests;
        self.deep += other.deep;
        self.several += other.several;
        self.refused += other.refused;
    }
}

/// A pass that flattens.
pub type FlattenPass<'a> = &'a dyn Fn(&mut Function, &flatten::FlattenOptions) -> Vec<FlattenDecision>;

/// The pass, with the facts of the pipeline.
pub fn flatten_function(func: &mut Function, options: &flatten::FlattenOptions) -> Vec<FlattenDecision> {
    flatten::flatten(func, analyze_divergence, options)
}

/// Checks that all nests that may be flattened become one loop, and that the program refines its source.
pub fn flattens(case: &GeneratedProgram) -> Result<FlattenCounts, String> {
    flattens_by(case, &flatten_function)
}

/// As `flattens`, with any pass.
pub fn flattens_by(case: &GeneratedProgram, pass: FlattenPass<'_>) -> Result<FlattenCounts, String> {
    let mut found = FlattenCounts::default();
    let excluded = if is_deterministic(case) { &[RaceSemantics::Excluded][..] } else { &[] };
    for &races in excluded.iter().chain(&[RaceSemantics::Ordered]) {
        let options = flatten::FlattenOptions {
            policy: FlattenPolicy::Force,
            races,
            ..flatten::FlattenOptions::default()
        };
        let mut module = canonical(case);
        let mut decisions = Vec::new();
        for func in &mut module.functions {
            let blocks = func.block_count();
            let decided = pass(func, &options);
            for decision in decided.iter().filter(|decision| decision.verdict == FlattenVerdict::Flattened) {
                found.nests += 1;
                found.several += usize::from(decision.inner.len() > 1);
                found.deep +=
                    usize::from(decision.inner.iter().any(|inner| inner.as_u32() as usize >= blocks));
            }
            found.refused += decided
                .iter()
                .filter(|decision| matches!(decision.verdict, FlattenVerdict::Refused(_)))
                .count();
            decisions.push(decided);
        }
        check(case, &module, &decisions).map_err(|reason| format!("races {races:?}: {reason}"))?;
    }
    Ok(found)
}

fn check(case: &GeneratedProgram, module: &Module, decisions: &[Vec<FlattenDecision>]) -> Result<(), String> {
    verify_module(module, Stage::Canonical).map_err(|violations| violations.to_string())?;
    let is_flattened = |decision: &&FlattenDecision| decision.verdict == FlattenVerdict::Flattened;
    let mut is_changed = false;
    for (func, decisions) in module.functions.iter().zip(decisions) {
        let forest = CycleForest::new(&Cfg::new(func));
        for decision in decisions.iter().filter(is_flattened) {
            is_changed = true;
            let mut headers = std::iter::once(&decision.outer).chain(&decision.inner);
            if let Some(header) = headers.find(|&&header| forest.headed_by(header).is_some()) {
                return Err(format!(
                    "@{}: {header} still heads a loop: {}",
                    func.name,
                    decision.describe(func)
                ));
            }
        }
    }
    if !is_changed {
        return Ok(());
    }
    for (index, input) in case.inputs.iter().enumerate() {
        let fails = |reason: String| format!("input {index}, {reason}");
        let project = without_nests(canonical(case), &case.entry, decisions);
        let reference = SourceReference::new(case, &case.module, input).map_err(fails)?.projected(project);
        reference.check(module, &BOTH[..1]).map_err(fails)?;
        if is_deterministic(case) {
            same_steps(case, module, input).map_err(fails)?;
            let [expected, found] = [Scheduler::Greedy, Scheduler::Ipdom].map(|scheduler| {
                observe(case, module, input, &options_with(input, scheduler))
                    .map_err(|fault| fault.to_string())
            });
            if let Some(difference) = difference(case, &expected?, &found?, ObservedPart::Whole) {
                return Err(fails(format!("ipdom: {difference}")));
            }
        }
    }
    if case.seed.is_multiple_of(2) && is_deterministic(case) {
        let mut module = module.clone();
        module.functions.iter_mut().try_for_each(uniform_loops).map_err(|reason| reason.to_string())?;
        uniform_loops::check(case, &module).map_err(|reason| format!("without divergent loops: {reason}"))?;
    }
    Ok(())
}

/// Checks that what comes out is widened as any program is.
pub fn widens(case: &GeneratedProgram) -> Result<(), String> {
    let races = if is_deterministic(case) { RaceSemantics::Excluded } else { RaceSemantics::Ordered };
    let options =
        flatten::FlattenOptions { policy: FlattenPolicy::Force, races, ..flatten::FlattenOptions::default() };
    let mut module = canonical(case);
    let decided = module.functions.iter_mut().flat_map(|func| flatten_function(func, &options));
    match decided.filter(|decision| decision.verdict == FlattenVerdict::Flattened).count() {
        0 => Ok(()),
        _ => crate::wide::widens(&GeneratedProgram { module, ..case.clone() }),
    }
}

/// Schedules of the result do not carry over to nests that were flattened in a module: there, lanes are together in
/// iterations in which they never are in the source.
pub(crate) fn without_nests(
    module: Module,
    entry: &str,
    decisions: &[Vec<FlattenDecision>],
) -> ProjectSchedule<'static> {
    let mut inside: Vec<EntitySet<Block>> = Vec::new();
    for (func, decisions) in module.functions.iter().zip(decisions) {
        let forest = CycleForest::new(&Cfg::new(func));
        let flattened = decisions.iter().filter(|decision| decision.verdict == FlattenVerdict::Flattened);
        let loops = flattened.filter_map(|decision| {
            forest
                .headed_by(decision.outer)
                .filter(|_| (decision.outer.as_u32() as usize) < func.block_count())
        });
        inside.push(loops.flat_map(|cycle| forest.blocks(cycle)).copied().collect());
    }
    let entry = entry.to_string();
    Box::new(move |_, schedule: &mut Schedule| {
        let number = |name: &str| module.functions.iter().position(|func| func.name == name);
        let mut functions: Vec<Option<usize>> = Vec::new();
        for invocation in &mut schedule.invocations {
            let func = match invocation.origin {
                InvocationOrigin::Run { .. } => number(&entry),
                InvocationOrigin::Inst { invocation, inst, .. } => {
                    functions[invocation as usize].and_then(|caller| {
                        let func = &module.functions[caller];
                        number(&func.callee_of(func.inst(inst))?.name)
                    })
                }
            };
            functions.push(func);
            let Some(inside) = func.map(|func| &inside[func]) else { continue };
            for step in &mut invocation.steps {
                step.is_active &= !inside.contains(step.block);
            }
        }
    })
}

/// Checks that each lane executes the blocks that it executed, in the same order, and new ones in between.
fn same_steps(case: &GeneratedProgram, module: &Module, input: &ProgramInput) -> Result<(), String> {
    let before = canonical(case);
    let steps = |module: &Module| -> Result<Vec<Vec<(u32, Block)>>, String> {
        let (mut memory, args) = prepare(case, input);
        let options = RunOptions { trace: true, ..options(input) };
        let outcome =
            run(module, &case.entry, &args, &mut memory, &options).map_err(|fault| fault.to_string())?;
        let mut steps = Vec::new();
        for step in &outcome.trace.steps {
            let is_old = (step.block.as_u32() as usize) < before.functions[step.func as usize].block_count();
            let lanes = outcome.trace.lanes as usize;
            let first = (step.group as usize * 128 + step.brush as usize) * lanes;
            steps.resize(steps.len().max(first + lanes), Vec::new());
            for lane in (0..lanes).filter(|lane| is_old && step.active.contains(*lane)) {
                steps[first + lane].push((step.func, step.block));
            }
        }
        Ok(steps)
    };
    let (expected, found) = (steps(&before)?, steps(module)?);
    for (lane, (expected, found)) in expected.iter().zip(&found).enumerate() {
        if expected != found {
            return Err(format!("lane {lane} executes other blocks, or in another order"));
        }
    }
    Ok(())
}
