//! Checks that programs become linear and keep their meaning; property of the topic `linearize`.

use crate::differential::{BOTH, differential_in, is_deterministic};
use crate::execution::{ObservedPart, difference, observe, options, options_with, prepare};
use crate::generate::{GeneratedProgram, ProgramClass, Random};
use crate::uniformity::free_branches;
use heddle_analysis::{Cfg, CycleForest};
use heddle_compiler::divergence::{divergent_branches, uniform_loops};
use heddle_interp::{RunOptions, Scheduler, run};
use heddle_ir::Diagnostic;
use heddle_ir::entity::EntitySet;
use heddle_ir::verify::{Stage, verify, verify_module};
use heddle_ir::{Block, Function, Module, Op};
use heddle_transform::boscc::{self, GuardPolicy};
use heddle_transform::{canonicalize, linearize, tidy};
use rustc_hash::FxHashSet;

/// Effect of linearization on a program.
#[derive(Clone, Copy, Default, Debug)]
pub struct LinearizeCounts {
    /// The functions that became linear, and those that were refused and stayed.
    pub functions: [usize; 2],
    /// Linearized branches, and branches kept.
    pub branches: [usize; 2],
    /// The loops of linear functions.
    pub loops: usize,
    /// The instructions that choose, in linear functions, beyond those that were there.
    pub selects: usize,
    /// The blocks guarded.
    pub guarded: usize,
    /// Questions whether anyone is in a loop.
    pub guards: usize,
    /// Blocks that a greedy run executes without active lanes.
    pub empty_steps: u64,
}

impl LinearizeCounts {
    /// Adds up.
    pub fn add(&mut self, other: &LinearizeCounts) {
        for at in 0..2 {
            self.functions[at] += other.functions[at];
            self.branches[at] += other.branches[at];
        }
        self.loops += other.loops;
        self.selects += other.selects;
        self.guards += other.guards;
        self.guarded += other.guarded;
        self.empty_steps += other.empty_steps;
    }
}

/// Pass that linearizes these branches.
pub type LinearizePass = fn(&mut Function, &EntitySet<Block>) -> Result<(), Diagnostic>;

/// Pass that guards code that may run without active lanes; returns the guarded blocks.
pub type GuardPass = fn(&mut Function, &EntitySet<Block>) -> Vec<Block>;

/// Checks that functions become linear, after uniform loops and by the divergence analysis, and that the program
/// refines its source. Some uniform branches are linearized too.
pub fn linearizes(case: &GeneratedProgram) -> Result<LinearizeCounts, String> {
    linearizes_by(case, linearize)
}

/// As `linearizes`, with any pass.
pub fn linearizes_by(case: &GeneratedProgram, pass: LinearizePass) -> Result<LinearizeCounts, String> {
    let needed: GuardPass = |func, divergent| guarded(func, divergent, GuardPolicy::Needed);
    let (module, done) = linear_module(case, needed, pass, true)?;
    check(case, &module, done.linearized)
}

/// Checks that guarded regions do not run without lanes, and that the program refines its source.
pub fn guards(case: &GeneratedProgram) -> Result<LinearizeCounts, String> {
    guards_by(case, |func, divergent| guarded(func, divergent, GuardPolicy::Force))
}

/// As `guards`, with any pass.
pub fn guards_by(case: &GeneratedProgram, guard: GuardPass) -> Result<LinearizeCounts, String> {
    let (module, done) = linear_module(case, guard, linearize, false)?;
    for input in &case.inputs {
        for semantics in BOTH.into_iter().filter(|_| done.linearized.functions[1] == 0) {
            let (mut memory, args) = prepare(case, input);
            let options = RunOptions { trace: true, semantics, ..options(input) };
            let outcome =
                run(&module, &case.entry, &args, &mut memory, &options).map_err(|fault| fault.to_string())?;
            let is_guarded = |func: u32, block| done.guarded.contains(&(func, block));
            let mut steps = outcome.trace.steps.iter();
            if let Some(step) = steps.find(|step| step.active.is_empty() && is_guarded(step.func, step.block))
            {
                return Err(format!("{} is guarded and runs without lanes", step.block));
            }
        }
    }
    check(case, &module, done.linearized)
}

/// A pass that clears up.
pub type TidyPass = fn(&mut Function);

/// Checks that cleanup after linearization keeps the function linear and its meaning; returns the number of removed
/// instructions.
pub fn tidies(case: &GeneratedProgram) -> Result<usize, String> {
    tidies_by(case, |func| _ = tidy(func))
}

/// As `tidies`, with any pass.
pub fn tidies_by(case: &GeneratedProgram, pass: TidyPass) -> Result<usize, String> {
    let forces = case.seed.is_multiple_of(2);
    let guard: GuardPass = match forces {
        true => |func, divergent| guarded(func, divergent, GuardPolicy::Force),
        false => |func, divergent| guarded(func, divergent, GuardPolicy::Needed),
    };
    let (mut module, done) = match case.traits.class {
        ProgramClass::Predicated => (case.module.clone(), LinearizedProgram::default()),
        _ => linear_module(case, guard, linearize, true)?,
    };
    let count = |module: &Module| -> usize {
        let blocks = module.functions.iter().flat_map(|func| func.blocks().map(move |block| (func, block)));
        blocks.map(|(func, block)| func.block_insts(block).count()).sum()
    };
    if done.linearized.functions[1] > 0 {
        return Ok(0);
    }
    let linear = module.clone();
    module.functions.iter_mut().for_each(pass);
    verify_module(&module, Stage::Linear).map_err(|violations| violations.to_string())?;
    // No lane waits in linear code, so both runs take the same path, except that one skips blocks that the other runs
    // empty.
    let schedulers = [Scheduler::Greedy, Scheduler::Random(case.seed)];
    let schedulers = if is_deterministic(case) { &schedulers[..] } else { &schedulers[..1] };
    for (index, input) in case.inputs.iter().enumerate() {
        for (semantics, scheduler) in
            BOTH.into_iter().flat_map(|it| schedulers.iter().map(move |by| (it, by)))
        {
            let options = RunOptions { semantics, ..options_with(input, scheduler.clone()) };
            let ran = |what: &str, module: &Module| {
                observe(case, module, input, &options)
                    .map_err(|fault| format!("input {index}, {what}: {fault}"))
            };
            let (before, after) = (ran("linear", &linear)?, ran("cleared up", &module)?);
            if let Some(difference) = difference(case, &before, &after, ObservedPart::Whole) {
                return Err(format!("input {index}, {semantics:?}, {scheduler:?}: {difference}"));
            }
        }
    }
    Ok(count(&linear).saturating_sub(count(&module)))
}

fn guarded(func: &mut Function, divergent: &EntitySet<Block>, policy: GuardPolicy) -> Vec<Block> {
    let options = boscc::GuardOptions { policy, ..boscc::GuardOptions::default() };
    boscc::guard_regions(func, divergent, &options).expect("the requested guards are possible")
}

fn check(
    case: &GeneratedProgram,
    module: &Module,
    mut done: LinearizeCounts,
) -> Result<LinearizeCounts, String> {
    for input in &case.inputs {
        let ran = observe(case, module, input, &options(input)).map_err(|fault| fault.to_string())?;
        done.empty_steps += ran.counters.empty_steps;
        if done.functions[1] == 0
            && case.traits.class != ProgramClass::Launch
            && ran.counters.divergent_branches > 0
        {
            return Err("a branch diverges".into());
        }
    }
    // Functions that stayed as they were may have temporal divergence.
    let semantics = if done.functions[1] == 0 { &BOTH[..] } else { &BOTH[..1] };
    differential_in(case, &case.module, module, semantics)?;
    Ok(done)
}

#[derive(Default)]
struct LinearizedProgram {
    linearized: LinearizeCounts,
    /// Blocks that are guarded, with the number of their function.
    guarded: FxHashSet<(u32, Block)>,
}

fn linear_module(
    case: &GeneratedProgram,
    guard: GuardPass,
    pass: LinearizePass,
    folds_more: bool,
) -> Result<(Module, LinearizedProgram), String> {
    let mut random = Random::new(case.seed ^ 0x11ed);
    let mut module = case.module.clone();
    let mut all = LinearizedProgram::default();
    for (number, func) in (0..).zip(&mut module.functions) {
        let done = &mut all.linearized;
        canonicalize(func);
        if func.blocks().any(|block| func.block_insts(block).any(|inst| func.inst(inst).op == Op::Launch)) {
            continue;
        }
        uniform_loops(func).map_err(|reason| reason.to_string())?;
        let guarded = guard(func, &divergent_branches(func)?);
        done.guarded += guarded.len();
        all.guarded.extend(guarded.into_iter().map(|block| (number, block)));
        if let Err(violations) = verify(func, Stage::Uniform) {
            return Err(violations.to_string());
        }
        let divergent = divergent_branches(func)?;
        // All lanes must reach barriers, which linearizing a branch around them does not guarantee.
        let mut folded = divergent.clone();
        if folds_more && !case.traits.barriers {
            let share = [0, 30, 100][random.below(3)];
            let free = free_branches(&Cfg::new(func));
            free.iter().filter(|_| random.chance(share)).for_each(|block| _ = folded.insert(block));
        }
        let branches =
            |func: &Function| func.blocks().filter(|&block| func.successors(block).len() > 1).count();
        let count = |func: &Function, op: Op| {
            func.blocks()
                .flat_map(|block| func.block_insts(block))
                .filter(|&inst| func.inst(inst).op == op)
                .count()
        };
        let blocks = func.blocks().count();
        let before = branches(func);
        let (selects, questions) = (count(func, Op::Select), count(func, Op::Any));
        if pass(func, &folded).is_err() && pass(func, &divergent).is_err() {
            done.functions[1] += 1;
            continue;
        }
        done.selects += count(func, Op::Select).saturating_sub(selects);
        done.guards += count(func, Op::Any).saturating_sub(questions);
        done.loops += CycleForest::new(&Cfg::new(func)).num_cycles();
        if func.blocks().count() > blocks || branches(func) > before {
            return Err(format!("@{} has got blocks or branches", func.name));
        }
        if let Err(violations) = verify(func, Stage::Linear) {
            return Err(violations.to_string());
        }
        done.functions[0] += 1;
        done.branches[1] += branches(func);
        done.branches[0] += before - branches(func);
    }
    Ok((module, all))
}
