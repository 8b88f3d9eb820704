//! Whether scalar replacement gives what it promises: stage Canonical, a refinement, no new fault and no new race, and no way
//! that computes more, unless values are hoisted.

use crate::differential::{Reference, is_deterministic};
use crate::execution::{options, prepare};
use crate::generate::{Case, Class, Input, Profile};
use crate::uniform_loops::canonical;
use heddle_interp::{Options as RunOptions, Semantics, run};
use heddle_ir::ops::Effect;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Block, Function, Inst, Module, Op};
use heddle_transform::scalar_replacement::{Options, Replaced, Variant};
use heddle_transform::{Races, replace_scalars};

/// Replaces the scalars of a function, in one way or another.
pub type Replace = fn(&mut Function, &Options) -> Replaced;

/// Programs that go through memory again and again.
pub fn profile() -> Profile {
    Profile {
        classes: [
            (Class::Lanes, 66),
            (Class::Racy, 10),
            (Class::Kernel, 16),
            (Class::Launch, 8),
            (Class::Predicated, 0),
        ],
        uniform_branch: 40,
        webs: 25,
        ..Profile::source()
    }
}

/// What was replaced.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counted {
    /// Programs.
    pub programs: usize,
    /// Those in which something was.
    pub changed: usize,
    /// All of it, by all variants.
    pub all: Replaced,
}

impl Counted {
    /// Adds up.
    pub fn add(&mut self, other: &Counted) {
        self.programs += other.programs;
        self.changed += other.changed;
        self.all.add(&other.all);
    }
}

/// Replaces scalars by all variants, and checks what comes out.
pub fn replaces(case: &Case) -> Result<Counted, String> {
    replaces_by(case, replace_scalars)
}

/// The same, by another way.
pub fn replaces_by(case: &Case, by: Replace) -> Result<Counted, String> {
    let mut counted = Counted { programs: 1, ..Counted::default() };
    let excluded = if is_deterministic(case) { &[Races::Excluded][..] } else { &[] };
    let before = canonical(case);
    for &races in excluded.iter().chain(&[Races::Ordered]) {
        for variant in Variant::ALL {
            let mut module = before.clone();
            let mut replaced = Replaced::default();
            for func in &mut module.functions {
                replaced.add(&by(func, &Options { variant, races }));
            }
            if replaced != Replaced::default() {
                counted.all.add(&replaced);
                counted.changed = 1;
                check(case, &before, &module, variant)
                    .map_err(|reason| format!("{}, races {races:?}: {reason}", variant.name()))?;
            }
        }
    }
    Ok(counted)
}

fn check(case: &Case, before: &Module, module: &Module, variant: Variant) -> Result<(), String> {
    verify_module(module, Stage::Canonical).map_err(|violations| violations.to_string())?;
    for (index, input) in case.inputs.iter().enumerate() {
        let fails = |reason: String| format!("input {index}: {reason}");
        Reference::new(case, &case.module, input)
            .and_then(|reference| reference.check(module, &[Semantics::Freezing]))
            .map_err(fails)?;
        if is_deterministic(case) && matches!(variant, Variant::Srqp | Variant::Esrqp) {
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

/// How many loads and operations that are worth it each lane executes.
fn work(case: &Case, module: &Module, input: &Input) -> Result<Vec<usize>, String> {
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
        for lane in (0..lanes).filter(|lane| step.active >> lane & 1 == 1) {
            work[first + lane] += count;
        }
    }
    Ok(work)
}
