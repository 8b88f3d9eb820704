//! The properties that the fuzzer checks, each a topic with a name.

use crate::differential::differential;
use crate::divergence_property::divergence_holds;
use crate::execution::{ObservedPart, difference, observe, options, options_with};
use crate::generate::{GeneratedProgram, GeneratorProfile, ProgramClass, ProgramInput};
use heddle_interp::{InvocationOrigin, PassiveSemantics, RunOptions, Scheduler};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Detail, Function, Module};
use heddle_transform::{canonicalize, simplify};

/// A property of programs.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// Its name on the command line.
    pub name: &'static str,
    /// Property of every program, as a sentence.
    pub says: &'static str,
    /// The programs that it is about.
    pub profile: fn() -> GeneratorProfile,
    /// Command of a find's file test.
    pub command: &'static str,
    /// Checks a program; returns the error.
    pub check: fn(&GeneratedProgram) -> Result<(), String>,
}

/// All topics.
pub const TOPICS: &[Topic] = &[
    Topic {
        name: "roundtrip",
        says: "a printed program parses to what prints the same bytes",
        profile: GeneratorProfile::default,
        command: "verify",
        check: roundtrip,
    },
    Topic {
        name: "verify",
        says: "the verifier accepts the program at its stage",
        profile: GeneratorProfile::default,
        command: "verify",
        check: verifies,
    },
    Topic {
        name: "schedules",
        says: "race-free programs compute the same under every scheduler, and what each lane alone computes; \
               a schedule that is replayed gives itself",
        profile: GeneratorProfile::default,
        command: "verify",
        check: schedules,
    },
    Topic {
        name: "canonicalize",
        says: "canonicalized programs are canonical and refine their sources",
        profile: GeneratorProfile::source,
        command: "opt passes=canonicalize stage=canonical",
        check: |case| refines(case, Some(Stage::Canonical), &[canonicalize]),
    },
    Topic {
        name: "simplify",
        says: "simplified programs stay at their stage and refine their sources",
        profile: GeneratorProfile::source,
        command: "opt passes=simplify",
        check: |case| refines(case, None, &[simplify_one]),
    },
    Topic {
        name: "both",
        says: "canonicalize, simplify, canonicalize again: the result is canonical and refines its source",
        profile: GeneratorProfile::source,
        command: "opt passes=canonicalize,simplify,canonicalize stage=canonical",
        check: |case| refines(case, Some(Stage::Canonical), &[canonicalize, simplify_one, canonicalize]),
    },
    Topic {
        name: "inline",
        says: "programs with bodies in the place of calls refine their sources",
        profile: GeneratorProfile::default,
        command: "opt passes=inline",
        check: |case| crate::inlined::inlines(case).map(|_| ()),
    },
    Topic {
        name: "arrays",
        says: "programs whose private arrays are lowered refine their sources",
        profile: crate::arrays::profile,
        command: "opt passes=arrays",
        check: |case| crate::arrays::lowers(case).map(|_| ()),
    },
    Topic {
        name: "arrays-widen",
        says: "programs whose private arrays were lowered go through the whole pipeline like any",
        profile: crate::arrays::profile,
        command: "opt passes=arrays,canonicalize,loops,boscc:needed,linearize stage=linear",
        check: crate::arrays::widens,
    },
    Topic {
        name: "loops",
        says: "without divergent loops programs refine their sources, and FREEZING and OBLIVIOUS agree",
        profile: GeneratorProfile::source,
        command: "opt passes=canonicalize,loops stage=uniform",
        check: crate::uniform_loops::loops,
    },
    Topic {
        name: "flatten",
        says: "nests that are flattened are one loop each, lanes execute what they executed, and programs refine their sources",
        profile: crate::flattening::profile,
        command: "opt passes=canonicalize,flatten:force stage=canonical",
        check: |case| crate::flattening::flattens(case).map(|_| ()),
    },
    Topic {
        name: "flatten-widen",
        says: "programs whose nests were flattened go through the whole pipeline like any",
        profile: crate::flattening::profile,
        command: "opt passes=canonicalize,flatten:force,loops,boscc:needed,linearize stage=linear",
        check: crate::flattening::widens,
    },
    Topic {
        name: "divergence",
        says: "no run contradicts a shape, a uniform branch or exit, an activation or a shared object",
        profile: GeneratorProfile::default,
        command: "verify",
        check: |case| divergence_holds(case).map(|_| ()),
    },
    Topic {
        name: "linearize",
        says: "linearized functions are linear and refine their sources, in both semantics",
        profile: GeneratorProfile::source,
        command: "opt passes=canonicalize,loops,boscc:needed,linearize stage=linear",
        check: |case| crate::linear::linearizes(case).map(|_| ()),
    },
    Topic {
        name: "tidy",
        says: "linear functions that are cleared up stay linear and do what they did",
        profile: GeneratorProfile::default,
        command: "opt passes=canonicalize,loops,boscc:needed,linearize,tidy stage=linear",
        check: |case| crate::linear::tidies(case).map(|_| ()),
    },
    Topic {
        name: "boscc",
        says: "guarded regions do not run without lanes, and linearized functions refine their sources",
        profile: GeneratorProfile::source,
        command: "opt passes=canonicalize,loops,boscc:force,linearize stage=linear",
        check: |case| crate::linear::guards(case).map(|_| ()),
    },
    Topic {
        name: "fuse",
        says: "programs whose branches are fused stay canonical and refine their sources",
        profile: GeneratorProfile::similar,
        command: "opt passes=canonicalize,fuse:force stage=canonical",
        check: |case| crate::fused::fuses(case).map(|_| ()),
    },
    Topic {
        name: "fuse-widen",
        says: "programs whose branches were fused go through the whole pipeline like any",
        profile: GeneratorProfile::similar,
        command: "opt passes=canonicalize,fuse:force,loops,boscc:needed,linearize stage=linear",
        check: crate::fused::widens,
    },
    Topic {
        name: "ssrqp",
        says: "programs whose scalars are replaced stay canonical and refine their sources; what is not hoisted computes no more",
        profile: crate::scalars::profile,
        command: "opt passes=canonicalize,ssrqp:ssrqp stage=canonical",
        check: |case| crate::scalars::replaces(case).map(|_| ()),
    },
    Topic {
        name: "ssrqp-widen",
        says: "programs whose scalars were replaced go through the whole pipeline like any",
        profile: crate::scalars::profile,
        command: "opt passes=canonicalize,ssrqp:ssrqp,loops,boscc:needed,linearize stage=linear",
        check: crate::scalars::widens,
    },
    Topic {
        name: "strips",
        says: "programs whose loops over rows are strip-mined stay canonical and refine their sources",
        profile: crate::strips::profile,
        command: "opt passes=canonicalize,strips:8+force+races=excluded stage=canonical",
        check: |case| crate::strips::strips(case).map(|_| ()),
    },
    Topic {
        name: "strips-widen",
        says: "programs with strips go through the whole pipeline like any",
        profile: crate::strips::profile,
        command: "opt passes=canonicalize,strips:8+force+races=excluded,loops,boscc:needed,linearize stage=linear",
        check: crate::strips::widens,
    },
    Topic {
        name: "orders",
        says: "scalar replacement, fusion and flattening in any order leave programs canonical, and refine them",
        profile: crate::scalars::orders_profile,
        command: "opt passes=canonicalize,ssrqp:ssrqp,fuse:force,flatten:force stage=canonical",
        check: crate::scalars::orders,
    },
    Topic {
        name: "widen",
        says: "every stage refines its source, and wide functions compute in one thread what linear ones do in lanes",
        profile: GeneratorProfile::default,
        command: "opt passes=canonicalize,loops,boscc:needed,linearize stage=linear",
        check: crate::wide::widens,
    },
    Topic {
        name: "kernels",
        says: "group functions do, group by group, what kernels do, and have no more synchronization points than these have barriers",
        profile: crate::kernels::profile,
        command: "verify",
        check: crate::kernels::kernels_hold,
    },
];

fn simplify_one(func: &mut Function) {
    simplify(func);
}

/// Checks that passes, run on every function, yield a module of this stage (default: the case's) that refines the
/// case's.
pub fn refines(
    case: &GeneratedProgram,
    ensures: Option<Stage>,
    passes: &[fn(&mut Function)],
) -> Result<(), String> {
    let mut module = case.module.clone();
    for pass in passes {
        module.functions.iter_mut().for_each(pass);
    }
    verify_module(&module, ensures.unwrap_or(stage(case))).map_err(|violations| violations.to_string())?;
    differential(case, &case.module, &module)
}

/// The brush with which a function runs: the input's, or that of all launches that it is the region of.
pub fn brush_of(module: &Module, func: &Function, input: &ProgramInput) -> Option<Vec<u32>> {
    let mut brush = None;
    for host in &module.functions {
        for inst in host.blocks().flat_map(|block| host.block_insts(block)) {
            let Detail::Launch(launch) = &host.inst(inst).detail else { continue };
            if host.callees[launch.callee].name == func.name {
                let found = launch.brush.to_vec();
                if brush.as_ref().is_some_and(|brush| *brush != found) {
                    return None;
                }
                brush = Some(found);
            }
        }
    }
    Some(brush.unwrap_or_else(|| input.brush.clone()))
}

/// The topic of this name.
pub fn topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}

/// The stage that a generated program is at.
pub fn stage(case: &GeneratedProgram) -> Stage {
    match case.traits.class {
        ProgramClass::Predicated => Stage::Linear,
        _ => Stage::Source,
    }
}

fn roundtrip(case: &GeneratedProgram) -> Result<(), String> {
    let text = case.module.to_string();
    let module = heddle_ir::parse_module(&text)
        .map_err(|errors| errors.first().map_or(String::new(), |error| format!("does not parse: {error}")))?;
    let again = module.to_string();
    if again == text {
        return Ok(());
    }
    let line = text.lines().zip(again.lines()).find(|(a, b)| a != b);
    Err(format!("prints differently after parsing: {line:?}"))
}

fn verifies(case: &GeneratedProgram) -> Result<(), String> {
    verify_module(&case.module, stage(case)).map_err(|violations| violations.to_string())
}

fn schedules(case: &GeneratedProgram) -> Result<(), String> {
    for (index, input) in case.inputs.iter().enumerate() {
        schedules_on(case, input).map_err(|reason| format!("input {index}: {reason}"))?;
    }
    Ok(())
}

fn schedules_on(case: &GeneratedProgram, input: &ProgramInput) -> Result<(), String> {
    let traits = case.traits;
    let greedy = RunOptions { detect_races: true, ..options(input) };
    let expected = observe(case, &case.module, input, &greedy).map_err(|fault| format!("greedy: {fault}"))?;
    replays(case, input)?;
    if traits.order_dependent {
        return Ok(());
    }
    if let Some(race) = &expected.race {
        return Err(format!("written to be race-free, but {race}"));
    }
    let agrees = |name: &str, options: &RunOptions, part: ObservedPart| {
        let found =
            observe(case, &case.module, input, options).map_err(|fault| format!("{name}: {fault}"))?;
        match difference(case, &expected, &found, part) {
            Some(difference) => Err(format!("{name}: {difference}")),
            None => Ok(()),
        }
    };
    if traits.class == ProgramClass::Predicated {
        let oblivious = RunOptions { semantics: PassiveSemantics::Oblivious, ..options(input) };
        agrees("oblivious", &oblivious, ObservedPart::Whole)?;
        for seed in 0..2 {
            let random = options_with(input, Scheduler::Random(case.seed.wrapping_add(seed)));
            agrees(
                "random",
                &RunOptions { semantics: PassiveSemantics::Oblivious, ..random },
                ObservedPart::Whole,
            )?;
        }
        return Ok(());
    }
    if traits.horizontals {
        return Ok(());
    }
    for seed in 0..2 {
        let random = options_with(input, Scheduler::Random(case.seed.wrapping_add(seed)));
        agrees("random", &random, ObservedPart::Whole)?;
    }
    agrees("ipdom", &options_with(input, Scheduler::Ipdom), ObservedPart::Whole)?;
    let asks_for_lanes = matches!(traits.class, ProgramClass::Lanes);
    if asks_for_lanes && !traits.barriers {
        for lane in 0..input.lanes() {
            let alone = RunOptions { only_lane: Some(lane), ..options(input) };
            agrees(&format!("lane {lane} alone"), &alone, ObservedPart::Lane(lane))?;
        }
    }
    Ok(())
}

/// Checks that a schedule, replayed, gives itself. Lanes that pass blocks are free, and so are several brushes of a
/// group.
fn replays(case: &GeneratedProgram, input: &ProgramInput) -> Result<(), String> {
    if case.traits.class == ProgramClass::Predicated {
        return Ok(());
    }
    let observed = |scheduler: Scheduler| observe(case, &case.module, input, &options_with(input, scheduler));
    let random = observed(Scheduler::Random(case.seed)).map_err(|fault| format!("random: {fault}"))?;
    let is_other = |origin: InvocationOrigin| matches!(origin, InvocationOrigin::Run { brush: 1.., .. });
    if random.schedule.invocations.iter().any(|invocation| is_other(invocation.origin)) {
        return Ok(());
    }
    let replay = Scheduler::Replay(random.schedule.clone());
    let replayed = observed(replay).map_err(|fault| format!("replayed: {fault}"))?;
    if replayed.schedule != random.schedule {
        return Err("a schedule that is replayed gives another".into());
    }
    match difference(case, &random, &replayed, ObservedPart::Whole) {
        Some(difference) => Err(format!("replayed: {difference}")),
        None => Ok(()),
    }
}
