//! Checks the divergent-loop transform: stage Uniform, refinement, and the same meaning under FREEZING and OBLIVIOUS.

use crate::differential::{differential, is_deterministic};
use crate::execution::{ObservedPart, difference, observe, options_with, prepare};
use crate::generate::{GeneratedProgram, ProgramClass};
use heddle_compiler::divergence;
use heddle_interp::{LaneSuccessor, PassiveSemantics, RunOptions, Scheduler, run};
use heddle_ir::entity::Entity as _;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Block, Function, Inst, Module, Op};
use heddle_transform::{LoopFacts, canonicalize, make_loops_uniform};
use rustc_hash::FxHashSet;

/// Makes loops uniform by several kinds of facts, from knowing nothing to what the runs on the case's inputs show, and
/// checks each result.
pub fn loops(case: &GeneratedProgram) -> Result<(), String> {
    if case.traits.class == ProgramClass::Predicated {
        return Ok(());
    }
    for (name, facts) in facts(case)? {
        uniform(case, &facts)
            .and_then(|module| check(case, &module))
            .map_err(|reason| format!("{name} facts: {reason}"))?;
    }
    let mut module = canonical(case);
    module
        .functions
        .iter_mut()
        .try_for_each(divergence::uniform_loops)
        .map_err(|reason| reason.to_string())?;
    check(case, &module).map_err(|reason| format!("the pipeline: {reason}"))
}

/// The case's module at stage Canonical.
pub fn canonical(case: &GeneratedProgram) -> Module {
    let mut module = case.module.clone();
    module.functions.iter_mut().for_each(canonicalize);
    module
}

/// The case's module at stage Uniform, by the facts of each function.
pub fn uniform(case: &GeneratedProgram, facts: &[LoopFacts]) -> Result<Module, String> {
    let mut module = canonical(case);
    for (func, facts) in module.functions.iter_mut().zip(facts) {
        make_loops_uniform(func, facts).map_err(|reason| reason.to_string())?;
    }
    Ok(module)
}

/// The facts to try, each for all functions; all different.
pub fn facts(case: &GeneratedProgram) -> Result<Vec<(&'static str, Vec<LoopFacts>)>, String> {
    let module = canonical(case);
    let of_each = |facts: fn(&Function) -> LoopFacts| module.functions.iter().map(facts).collect();
    let mut all: Vec<(&str, Vec<LoopFacts>)> = vec![
        ("pessimistic", of_each(LoopFacts::pessimistic)),
        ("the analysis'", of_each(divergence::loop_facts)),
    ];
    if is_deterministic(case) && !case.traits.fmuladd {
        let diverging = diverging_branches(case, &module)?;
        let observed = |(index, func)| {
            LoopFacts::from_uniform_branches(func, |block, _| !diverging.contains(&(index, block)))
        };
        all.push(("observed", (0u32..).zip(&module.functions).map(observed).collect()));
    }
    all.dedup_by(|a, b| a.1 == b.1);
    Ok(all)
}

/// Returns the branches, by function, that diverge in a greedy run on one of the case's inputs.
fn diverging_branches(case: &GeneratedProgram, module: &Module) -> Result<FxHashSet<(u32, Block)>, String> {
    let mut diverging = FxHashSet::default();
    for input in &case.inputs {
        let (mut memory, args) = prepare(case, input);
        let options = RunOptions { trace: true, ..options_with(input, Scheduler::Greedy) };
        let outcome = run(module, &case.entry, &args, &mut memory, &options)
            .map_err(|fault| format!("the canonical program fails: {fault}"))?;
        for step in outcome.trace.steps {
            let mut targets = (0..).zip(&step.next).filter_map(|(lane, next)| match next {
                LaneSuccessor::Block(block) if step.active.contains(lane) => Some(block),
                _ => None,
            });
            let first = targets.next();
            if targets.any(|target| Some(target) != first) {
                diverging.insert((step.func, step.block));
            }
        }
    }
    Ok(diverging)
}

/// Checks a module whose loops were made uniform.
pub fn check(case: &GeneratedProgram, module: &Module) -> Result<(), String> {
    verify_module(module, Stage::Uniform).map_err(|violations| violations.to_string())?;
    differential(case, &case.module, module)?;
    let asks_all = with_total_votes(&canonical(case), module);
    for (index, input) in case.inputs.iter().enumerate() {
        let fails = |what: &str, reason: String| format!("input {index}, {what}: {reason}");
        for scheduler in [Scheduler::Greedy, Scheduler::Random(case.seed), Scheduler::Random(!case.seed)] {
            let freezing = options_with(input, scheduler.clone());
            let oblivious =
                RunOptions { semantics: PassiveSemantics::Oblivious, ..options_with(input, scheduler) };
            let expected = observe(case, module, input, &freezing)
                .map_err(|fault| fails("freezing", fault.to_string()))?;
            for (what, module) in [("oblivious", module), ("oblivious, asking all lanes", &asks_all)] {
                let found = observe(case, module, input, &oblivious)
                    .map_err(|fault| fails(what, fault.to_string()))?;
                if found.schedule != expected.schedule {
                    return Err(fails(what, "the schedule is another one than under freezing".into()));
                }
                if let Some(difference) = difference(case, &expected, &found, ObservedPart::Whole) {
                    return Err(fails(what, difference));
                }
            }
        }
        if is_deterministic(case) {
            let greedy = options_with(input, Scheduler::Greedy);
            let ipdom = options_with(input, Scheduler::Ipdom);
            let [expected, found] = [&greedy, &ipdom].map(|options| {
                observe(case, module, input, options).map_err(|fault| fails("ipdom", fault.to_string()))
            });
            if let Some(difference) = difference(case, &expected?, &found?, ObservedPart::Whole) {
                return Err(fails("ipdom", difference));
            }
        }
    }
    Ok(())
}

/// Returns the module with the transformation's votes extended to all lanes, active or not. Shadows must make the
/// result independent of it, since linearization only masks inactive lanes.
fn with_total_votes(before: &Module, module: &Module) -> Module {
    let mut module = module.clone();
    for (before, func) in before.functions.iter().zip(&mut module.functions) {
        let is_new = |inst: &Inst| inst.index() >= before.inst_count();
        let insts = func.blocks().flat_map(|block| func.block_insts(block)).filter(is_new);
        let votes: Vec<Inst> =
            insts.filter(|&inst| matches!(func.inst(inst).op, Op::Any | Op::All)).collect();
        for inst in votes {
            let total = func.inst(inst).clone().total();
            *func.inst_mut(inst) = total;
        }
    }
    module
}
