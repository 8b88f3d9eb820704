//! The properties that the fuzzer checks, each a topic with a name.

use crate::differential::{BOTH, differential, differential_in};
use crate::execution::{Part, difference, observe, options, options_with};
use crate::generate::{Case, Class, Input, Profile, Random};
use crate::uniformity::Uniformity;
use heddle_analysis::{Cfg, CycleForest};
use heddle_interp::{Options, Scheduler, Semantics};
use heddle_ir::entity::EntitySet;
use heddle_ir::verify::{Stage, verify, verify_module};
use heddle_ir::{Block, Function, Module, Op};
use heddle_transform::{LoopFacts, canonicalize, linearize, make_loops_uniform, simplify};

/// A property of programs.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// Its name on the command line.
    pub name: &'static str,
    /// What holds of every program, in a sentence.
    pub says: &'static str,
    /// The programs that it is about.
    pub profile: fn() -> Profile,
    /// What the file test of a find does.
    pub command: &'static str,
    /// Checks a program; says what is wrong.
    pub check: fn(&Case) -> Result<(), String>,
}

/// All topics.
pub const TOPICS: &[Topic] = &[
    Topic {
        name: "roundtrip",
        says: "a printed program parses to what prints the same bytes",
        profile: Profile::default,
        command: "verify",
        check: roundtrip,
    },
    Topic {
        name: "verify",
        says: "the verifier accepts the program at its stage",
        profile: Profile::default,
        command: "verify",
        check: verifies,
    },
    Topic {
        name: "schedules",
        says: "race-free programs compute the same under every scheduler, and what each lane alone computes",
        profile: Profile::default,
        command: "verify",
        check: schedules,
    },
    Topic {
        name: "canonicalize",
        says: "canonicalized programs are canonical and refine their sources",
        profile: Profile::source,
        command: "opt passes=canonicalize stage=canonical",
        check: |case| refines(case, Some(Stage::Canonical), &[canonicalize]),
    },
    Topic {
        name: "simplify",
        says: "simplified programs stay at their stage and refine their sources",
        profile: Profile::source,
        command: "opt passes=simplify",
        check: |case| refines(case, None, &[simplify_one]),
    },
    Topic {
        name: "both",
        says: "canonicalize, simplify, canonicalize again: the result is canonical and refines its source",
        profile: Profile::source,
        command: "opt passes=canonicalize,simplify,canonicalize stage=canonical",
        check: |case| refines(case, Some(Stage::Canonical), &[canonicalize, simplify_one, canonicalize]),
    },
    Topic {
        name: "loops",
        says: "without divergent loops programs refine their sources, and FREEZING and OBLIVIOUS agree",
        profile: Profile::source,
        command: "opt passes=canonicalize,loops stage=uniform",
        check: crate::uniform_loops::loops,
    },
    Topic {
        name: "linearize",
        says: "linearized functions are linear and refine their sources, in both semantics",
        profile: Profile::source,
        command: "opt passes=canonicalize,loops,linearize stage=linear",
        check: |case| linearizes(case).map(|_| ()),
    },
];

fn simplify_one(func: &mut Function) {
    simplify(func);
}

/// Checks that passes, run on every function, give a module of this stage (the case's, if none) that refines the
/// case's.
pub fn refines(case: &Case, ensures: Option<Stage>, passes: &[fn(&mut Function)]) -> Result<(), String> {
    let mut module = case.module.clone();
    for pass in passes {
        module.functions.iter_mut().for_each(pass);
    }
    verify_module(&module, ensures.unwrap_or(stage(case))).map_err(|violations| violations.to_string())?;
    differential(case, &case.module, &module)
}

/// What linearization did to a program.
#[derive(Clone, Copy, Default, Debug)]
pub struct Linearized {
    /// The functions that became linear, and those that may have a divergent loop and stayed.
    pub functions: [usize; 2],
    /// The branches folded, and those kept.
    pub branches: [usize; 2],
    /// The loops of linear functions.
    pub loops: usize,
    /// The instructions that choose, in linear functions, beyond those that were there.
    pub selects: usize,
    /// Questions whether anyone is in a loop.
    pub guards: usize,
    /// Blocks that a greedy run executes without active lanes.
    pub empty_steps: u64,
}

impl Linearized {
    /// Adds up.
    pub fn add(&mut self, other: &Linearized) {
        for at in 0..2 {
            self.functions[at] += other.functions[at];
            self.branches[at] += other.branches[at];
        }
        self.loops += other.loops;
        self.selects += other.selects;
        self.guards += other.guards;
        self.empty_steps += other.empty_steps;
    }
}

/// Checks that functions become linear, by way of uniform loops where some may diverge, and that the program refines
/// its source. Some uniform branches are folded too.
pub fn linearizes(case: &Case) -> Result<Linearized, String> {
    linearizes_by(case, linearize)
}

/// The same, with any pass.
pub fn linearizes_by(case: &Case, pass: fn(&mut Function, &EntitySet<Block>)) -> Result<Linearized, String> {
    let (module, mut done) = linear_module(case, pass)?;
    for input in &case.inputs {
        let ran = observe(case, &module, input, &options(input)).map_err(|fault| fault.to_string())?;
        done.empty_steps += ran.counters.empty_steps;
        if done.functions[1] == 0 && case.traits.class != Class::Launch && ran.counters.divergent_branches > 0
        {
            return Err("a branch diverges".into());
        }
    }
    // Functions that stayed as they were may have temporal divergence.
    let semantics = if done.functions[1] == 0 { &BOTH[..] } else { &BOTH[..1] };
    differential_in(case, &case.module, &module, semantics)?;
    Ok(done)
}

fn linear_module(
    case: &Case,
    pass: fn(&mut Function, &EntitySet<Block>),
) -> Result<(Module, Linearized), String> {
    let mut random = Random::new(case.seed ^ 0x11ed);
    let mut module = case.module.clone();
    let mut done = Linearized::default();
    for func in &mut module.functions {
        canonicalize(func);
        if func.blocks().any(|block| func.block_insts(block).any(|inst| func.inst(inst).op == Op::Launch)) {
            continue;
        }
        let mut uniformity = Uniformity::new(func);
        if uniformity.is_none() {
            make_loops_uniform(func, &LoopFacts::obvious(func));
            uniformity = Uniformity::new(func);
        }
        let Some(Uniformity { mut divergent, free }) = uniformity else {
            done.functions[1] += 1;
            continue;
        };
        // Barriers must be met by all lanes, which folding a branch around them does not grant.
        if !case.traits.barriers {
            let share = [0, 30, 100][random.below(3)];
            free.iter().filter(|_| random.chance(share)).for_each(|block| _ = divergent.insert(block));
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
        pass(func, &divergent);
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
    Ok((module, done))
}

/// The topic of this name.
pub fn topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}

/// The stage that a generated program is at.
pub fn stage(case: &Case) -> Stage {
    match case.traits.class {
        Class::Predicated => Stage::Linear,
        _ => Stage::Source,
    }
}

fn roundtrip(case: &Case) -> Result<(), String> {
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

fn verifies(case: &Case) -> Result<(), String> {
    verify_module(&case.module, stage(case)).map_err(|violations| violations.to_string())
}

fn schedules(case: &Case) -> Result<(), String> {
    for (index, input) in case.inputs.iter().enumerate() {
        schedules_on(case, input).map_err(|reason| format!("input {index}: {reason}"))?;
    }
    Ok(())
}

fn schedules_on(case: &Case, input: &Input) -> Result<(), String> {
    let traits = case.traits;
    let greedy = Options { detect_races: true, ..options(input) };
    let expected = observe(case, &case.module, input, &greedy).map_err(|fault| format!("greedy: {fault}"))?;
    if traits.order_dependent {
        return Ok(());
    }
    if let Some(race) = &expected.race {
        return Err(format!("written to be race-free, but {race}"));
    }
    let agrees = |name: &str, options: &Options, part: Part| {
        let found =
            observe(case, &case.module, input, options).map_err(|fault| format!("{name}: {fault}"))?;
        match difference(case, &expected, &found, part) {
            Some(difference) => Err(format!("{name}: {difference}")),
            None => Ok(()),
        }
    };
    if traits.class == Class::Predicated {
        let oblivious = Options { semantics: Semantics::Oblivious, ..options(input) };
        agrees("oblivious", &oblivious, Part::Whole)?;
        for seed in 0..2 {
            let random = options_with(input, Scheduler::Random(case.seed.wrapping_add(seed)));
            agrees("random", &Options { semantics: Semantics::Oblivious, ..random }, Part::Whole)?;
        }
        return Ok(());
    }
    if traits.horizontals {
        return Ok(());
    }
    for seed in 0..2 {
        let random = options_with(input, Scheduler::Random(case.seed.wrapping_add(seed)));
        agrees("random", &random, Part::Whole)?;
    }
    agrees("ipdom", &options_with(input, Scheduler::Ipdom), Part::Whole)?;
    let asks_for_lanes = matches!(traits.class, Class::Lanes);
    if asks_for_lanes && !traits.barriers {
        for lane in 0..input.lanes() {
            let alone = Options { only_lane: Some(lane), ..options(input) };
            agrees(&format!("lane {lane} alone"), &alone, Part::Lane(lane))?;
        }
    }
    Ok(())
}
