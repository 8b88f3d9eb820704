//! A replay of any schedule is a legal schedule. Where the given schedule is incomplete a replay is free: it has no
//! outcome that the program does not have, and hides no fault.

use heddle_interp::{InvocationOrigin, Schedule, ScheduleStep, Scheduler};
use heddle_testing::differential::is_deterministic;
use heddle_testing::execution::{ObservedPart, difference, observe, options_with};
use heddle_testing::generate::{GeneratorProfile, ProgramClass, Random, generate};

/// Perturbs a schedule: steps dropped, emptied, duplicated, moved; and whole blocks dropped.
fn spoiled(schedule: &Schedule, random: &mut Random) -> Schedule {
    let mut schedule = schedule.clone();
    for invocation in &mut schedule.invocations {
        let unrecorded = random.below(4) as u32;
        let mut steps: Vec<ScheduleStep> = Vec::new();
        for &step in &invocation.steps {
            let is_recorded = unrecorded == 0 || step.block.as_u32() % 4 != unrecorded;
            match random.below(12) {
                0 => {}
                1 => steps.extend([step, step]),
                2 => {
                    let at = random.below(steps.len() + 1);
                    steps.insert(at, step);
                }
                _ => steps.push(ScheduleStep { is_active: step.is_active && is_recorded, ..step }),
            }
        }
        invocation.steps = steps;
    }
    schedule
}

#[test]
fn replays_run_legal_schedules_only() {
    let (mut refused, mut free, mut compared) = (0, 0, 0);
    for seed in 0..400 {
        let case = generate(seed, &GeneratorProfile { nests: 100, ..GeneratorProfile::source() });
        if case.traits.class == ProgramClass::Predicated {
            continue;
        }
        for input in &case.inputs {
            let run =
                |scheduler: Scheduler| observe(&case, &case.module, input, &options_with(input, scheduler));
            let expected =
                run(Scheduler::Random(seed)).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
            // Schedules do not determine the order of a group's brushes.
            let is_other =
                |origin: InvocationOrigin| matches!(origin, InvocationOrigin::Run { brush: 1.., .. });
            let is_recorded =
                !expected.schedule.invocations.iter().any(|invocation| is_other(invocation.origin));
            let mut random = Random::new(seed);
            for _ in 0..3 {
                let requested = spoiled(&expected.schedule, &mut random);
                let found = match run(Scheduler::Replay(requested.clone())) {
                    Ok(found) => found,
                    Err(fault) => {
                        // The launch reports refusals of its region.
                        let is_refusal = fault.to_string().contains("lanes that lead to it wait elsewhere");
                        assert!(is_refusal, "seed {seed}: {fault}");
                        refused += 1;
                        continue;
                    }
                };
                free += u32::from(found.schedule != requested);
                if is_deterministic(&case) {
                    compared += 1;
                    let difference = difference(&case, &expected, &found, ObservedPart::Whole);
                    assert!(difference.is_none(), "seed {seed}: {difference:?}");
                }
                if !is_recorded {
                    continue;
                }
                // The found schedule is complete and leaves no choice.
                let again = run(Scheduler::Replay(found.schedule.clone()))
                    .unwrap_or_else(|fault| panic!("seed {seed}: what ran is not legal: {fault}"));
                let difference = difference(&case, &found, &again, ObservedPart::Whole);
                assert!(difference.is_none(), "seed {seed}: {difference:?}");
            }
        }
    }
    println!("{refused} refused, {free} other than requested, {compared} compared");
    assert!(free > 200 && compared > 200);
}
