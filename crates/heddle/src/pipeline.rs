//! The pipeline: the only place that knows the passes and their order.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, divergence};
use heddle_ir::entity::EntitySet;
use heddle_ir::verify::{Stage, Violations, verify_module};
use heddle_ir::{Block, Function, Module, Op};
use heddle_transform::{
    LoopFacts, boscc, canonicalize, guard_regions, linearize, make_loops_uniform, simplify, tidy,
};
use thiserror::Error;

/// A pass by its name.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// The stage that it needs.
    pub requires: Stage,
    /// The stage that it ensures; none leaves the stage as it was.
    pub ensures: Option<Stage>,
    /// What it does, given what its name was followed by, behind a colon.
    run: fn(&mut Module, &str) -> Result<(), String>,
}

/// All passes, in the order in which the pipeline runs them.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "canonicalize",
        doc: "reducible control flow, one return, simple loops, LCSSA, no switch",
        requires: Stage::Source,
        ensures: Some(Stage::Canonical),
        run: |module, _| {
            module.functions.iter_mut().for_each(canonicalize);
            Ok(())
        },
    },
    Pass {
        name: "simplify",
        doc: "constant folding, dead code, trivial φs, common subexpressions",
        requires: Stage::Source,
        ensures: None,
        run: |module, _| {
            for func in &mut module.functions {
                simplify(func);
            }
            Ok(())
        },
    },
    Pass {
        name: "loops",
        doc: "no divergent loop: lanes that have left wait inside, their live-outs and exits tracked",
        requires: Stage::Canonical,
        ensures: Some(Stage::Uniform),
        run: |module, _| {
            module.functions.iter_mut().for_each(uniform_loops);
            Ok(())
        },
    },
    Pass {
        name: "boscc",
        doc: "regions skipped where no lane is, if that pays (`boscc:force`, `boscc:needed`, `boscc:block3=none`; also \
              `block3`, `block3=all-true`, and several with + in between)",
        requires: Stage::Uniform,
        ensures: Some(Stage::Uniform),
        run: |module, words| {
            let options = parse_guards(words)?;
            for func in &mut module.functions {
                let divergent = divergent_branches(func)?;
                guard_regions(func, &divergent, &options).map_err(|impossible| impossible.to_string())?;
            }
            Ok(())
        },
    },
    Pass {
        name: "linearize",
        doc: "divergent branches folded into predicated code (`linearize:block1+block2`: these diverge, no others)",
        requires: Stage::Uniform,
        ensures: Some(Stage::Linear),
        run: |module, blocks| {
            let named = parse_blocks(blocks)?;
            for func in &mut module.functions {
                let divergent = if named.is_empty() { divergent_branches(func)? } else { named.clone() };
                linearize(func, &divergent).map_err(|refusal| refusal.to_string())?;
            }
            Ok(())
        },
    },
    Pass {
        name: "tidy",
        doc: "simpler masks and blends, masks hoisted, dead φs, empty regions",
        requires: Stage::Linear,
        ensures: None,
        run: |module, _| {
            for func in &mut module.functions {
                tidy(func);
            }
            Ok(())
        },
    },
];

/// What diverges, whatever the brush; none in sequential code, which one thread executes.
pub fn verdicts(func: &Function) -> Option<(ControlTables, Divergence)> {
    let launches = |block| func.block_insts(block).any(|inst| func.inst(inst).op == Op::Launch);
    if func.blocks().any(launches) {
        return None;
    }
    let control = ControlTables::new(func);
    let geometry = Geometry { dimensions: 3, ..Geometry::unknown() };
    let facts = divergence(func, &control, &InitialShapes::declared(func, geometry));
    Some((control, facts))
}

/// Which loops lanes leave apart, by the divergence analysis.
pub fn loop_facts(func: &Function) -> LoopFacts {
    match verdicts(func) {
        Some((control, facts)) => LoopFacts::by_divergence(&control, &facts),
        None => LoopFacts::none(),
    }
}

/// Makes divergent loops uniform, by the divergence analysis. Behind a loop that has several exits lanes tell by masks
/// which one they took; where all took the same, that is lost, and loops may turn out divergent that were not.
pub fn uniform_loops(func: &mut Function) {
    loop {
        let facts = loop_facts(func);
        let blocks = func.block_count();
        if !facts.divergent_loops.is_empty() {
            make_loops_uniform(func, &facts);
        }
        if func.block_count() == blocks {
            return;
        }
    }
}

/// The blocks whose branches may diverge, by the divergence analysis.
pub fn divergent_branches(func: &Function) -> Result<EntitySet<Block>, String> {
    let Some((control, facts)) = verdicts(func) else { return Ok(EntitySet::new()) };
    if let Some(cycle) = control.cycles.cycles().find(|&cycle| facts.is_divergent_loop(cycle)) {
        return Err(format!(
            "the loop at {} of @{} may diverge: run `loops` before",
            control.cycles.header(cycle),
            func.name
        ));
    }
    Ok(func.blocks().filter(|&block| facts.is_divergent_branch(block)).collect())
}

/// Blocks by name, with `+` in between.
fn parse_blocks(names: &str) -> Result<EntitySet<Block>, String> {
    names.split('+').filter(|name| !name.is_empty()).map(parse_block).collect()
}

fn parse_block(name: &str) -> Result<Block, String> {
    let number = name.strip_prefix("block").and_then(|number| number.parse().ok());
    number.map(Block::from_u32).ok_or_else(|| format!("`{name}` is no block"))
}

/// Where guards are placed.
fn parse_guards(words: &str) -> Result<boscc::Options, String> {
    let mut options = boscc::Options::default();
    for word in words.split('+').filter(|word| !word.is_empty()) {
        let (name, asked) = word.split_once('=').unwrap_or((word, "all-false"));
        let asked = match asked {
            "all-false" => boscc::Asked::AllFalse,
            "all-true" => boscc::Asked::AllTrue,
            "none" => boscc::Asked::None,
            _ => return Err(format!("`{asked}` is none of all-false, all-true, none")),
        };
        match word {
            "force" => options.policy = boscc::Policy::Force,
            "needed" => options.policy = boscc::Policy::Needed,
            _ => _ = options.asked.insert(parse_block(name)?, asked),
        }
    }
    Ok(options)
}

/// Why passes did not run to their end.
#[derive(Debug, Error)]
pub enum PassError {
    /// There is no such pass.
    #[error("there is no pass `{name}`; there are {}", PASSES.iter().map(|pass| pass.name).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// What stands behind the pass's name means nothing to it.
    #[error("`{name}`: {reason}")]
    Argument {
        /// What was asked for.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The module is not at the stage that a pass needs, or is not at the one it should have ensured.
    #[error("{when} `{name}` the module is not at stage {stage}:\n{violations}")]
    Stage {
        /// `before` or `behind`.
        when: &'static str,
        /// The pass.
        name: &'static str,
        /// The stage.
        stage: Stage,
        /// What is wrong.
        violations: Violations,
    },
}

/// Runs passes by name, each after the other; `watch` sees the module behind each of them. With `verify`, what a pass
/// needs and ensures is checked.
pub fn run_passes(
    module: &mut Module,
    names: &[&str],
    verify: bool,
    mut watch: impl FnMut(&Pass, &Module),
) -> Result<(), PassError> {
    let mut stage = Stage::Source;
    for &full in names {
        let (name, argument) = full.split_once(':').unwrap_or((full, ""));
        let pass = PASSES
            .iter()
            .find(|pass| pass.name == name)
            .ok_or_else(|| PassError::Unknown { name: name.into() })?;
        let check = |module: &Module, stage: Stage, when| match verify_module(module, stage) {
            Err(violations) if verify => Err(PassError::Stage { when, name: pass.name, stage, violations }),
            _ => Ok(()),
        };
        check(module, pass.requires.max(stage), "before")?;
        (pass.run)(module, argument).map_err(|reason| PassError::Argument { name: full.into(), reason })?;
        stage = pass.ensures.unwrap_or(stage);
        check(module, stage, "behind")?;
        watch(pass, module);
    }
    Ok(())
}
