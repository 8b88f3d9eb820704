//! A transformed function run by many lanes refines its source: it does what the source does under the same schedule,
//! without the new blocks.

use crate::common::{Random, random_lock_step_function};
use heddle_interp::{Argument, Datum, FaultKind, Memory, RunLimits, RunOptions, RunOutcome, Scheduler, run};
use heddle_ir::{Function, Module, Space};
use heddle_transform::{canonicalize, simplify};

const LANES: u32 = 5;

fn execute(func: &Function, seed: u64, scheduler: Scheduler) -> (Result<RunOutcome, FaultKind>, Memory) {
    let module = Module { functions: vec![func.clone()], ..Module::default() };
    let mut random = Random(seed);
    let mut memory = Memory::new();
    let address = memory.add(Space::Global, Some("out"), 4, vec![0; 4 * LANES as usize]);
    let mut varying = |bound: u64| {
        Argument::Varying((0..LANES).map(|_| Datum::Bits(u128::from(random.next() % bound))).collect())
    };
    let args = [Argument::Uniform(Datum::Bits(address.into())), varying(5), varying(40), varying(2)];
    let options = RunOptions {
        scheduler,
        limits: RunLimits { steps: 400, ..RunLimits::default() },
        ..RunOptions::lanes(LANES)
    };
    let outcome = run(&module, "f", &args, &mut memory, &options).map_err(|fault| fault.kind);
    (outcome, memory)
}

/// Runs the result of a pass under some schedule and its source under the same.
fn check(before: &Function, after: &Function, seed: u64) -> Result<bool, String> {
    let scheduler = if seed.is_multiple_of(3) { Scheduler::Greedy } else { Scheduler::Random(seed) };
    let (outcome, memory) = execute(after, seed, scheduler);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(FaultKind::Limit { .. }) => return Ok(false),
        Err(fault) => {
            let (expected, _) = execute(before, seed, Scheduler::Greedy);
            return match expected {
                Ok(_) => Err(format!("only the result fails: {fault}")),
                Err(_) => Ok(false),
            };
        }
    };
    let (expected, expected_memory) = execute(before, seed, Scheduler::Replay(outcome.schedule));
    match expected {
        Err(fault @ (FaultKind::IllegalSchedule(_) | FaultKind::Limit { .. })) => {
            Err(format!("the source cannot do that: {fault}"))
        }
        Err(_) => Ok(false),
        Ok(expected) if expected.results != outcome.results => {
            Err(format!("{:?} became {:?}", expected.results, outcome.results))
        }
        Ok(_) if memory.object("out") != expected_memory.object("out") => Err("memory differs".into()),
        Ok(_) => Ok(true),
    }
}

fn check_all(pass: fn(&mut Function)) {
    let mut finished = 0;
    let mut total = 0;
    for seed in 0..4000 {
        let before = random_lock_step_function(seed, if seed % 10 == 0 { 20 } else { 10 });
        let mut after = before.clone();
        pass(&mut after);
        for run in 0..3 {
            total += 1;
            match check(&before, &after, seed * 3 + run) {
                Ok(is_finished) => finished += u32::from(is_finished),
                Err(error) => panic!("seed {seed}, run {run}: {error}\n{before}\n{after}"),
            }
        }
    }
    assert!(finished * 4 > total, "only {finished} of {total} runs finished");
}

#[test]
fn canonicalize_refines_under_every_schedule() {
    check_all(canonicalize);
}

#[test]
fn simplify_refines_under_every_schedule() {
    check_all(|func| _ = simplify(func));
}

#[test]
fn both_refine_under_every_schedule() {
    check_all(|func| {
        canonicalize(func);
        simplify(func);
    });
}
