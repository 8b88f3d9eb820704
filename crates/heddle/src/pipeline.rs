//! The pipeline: the only place that knows the passes and their order.

use heddle_analysis::shape::Geometry;
use heddle_analysis::{Cfg, ControlTables, CycleForest, InitialShapes, divergence};
use heddle_ir::entity::EntitySet;
use heddle_ir::verify::{Stage, Violations, verify_module};
use heddle_ir::{Block, Function, Module, Op};
use heddle_transform::{LoopFacts, canonicalize, linearize, make_loops_uniform, simplify};
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
            for func in &mut module.functions {
                if let Some(block) = func.blocks().find(|&block| func.predicate(block).is_some()) {
                    return Err(format!(
                        "{block} of @{} has a predicate, which no code has before `linearize`: write a branch around it",
                        func.name
                    ));
                }
                canonicalize(func);
            }
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
            for func in &mut module.functions {
                let facts = LoopFacts::obvious(func);
                make_loops_uniform(func, &facts).map_err(|reason| format!("@{}: {reason}", func.name))?;
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
                linearize(func, &divergent);
            }
            Ok(())
        },
    },
];

/// The blocks whose branches may diverge, whatever the brush. In sequential code none does.
pub fn divergent_branches(func: &Function) -> Result<EntitySet<Block>, String> {
    let launches = |block| func.block_insts(block).any(|inst| func.inst(inst).op == Op::Launch);
    if func.blocks().any(launches) {
        return Ok(EntitySet::new());
    }
    let control = ControlTables::new(func);
    let geometry = Geometry { dimensions: 3, ..Geometry::unknown() };
    let facts = divergence(func, &control, &InitialShapes::declared(func, geometry));
    let cycles = CycleForest::new(&Cfg::new(func));
    if let Some(cycle) = cycles.cycles().find(|&cycle| facts.is_divergent_loop(cycle)) {
        return Err(format!(
            "the loop at {} of @{} may diverge: run `loops` before",
            cycles.header(cycle),
            func.name
        ));
    }
    Ok(func.blocks().filter(|&block| facts.is_divergent_branch(block)).collect())
}

/// Blocks by name, with `+` in between.
fn parse_blocks(names: &str) -> Result<EntitySet<Block>, String> {
    let block = |name: &str| {
        let number = name.strip_prefix("block").and_then(|number| number.parse().ok());
        number.map(Block::from_u32).ok_or_else(|| format!("`{name}` is no block"))
    };
    names.split('+').filter(|name| !name.is_empty()).map(block).collect()
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

/// Runs passes by name, each after the other; `watch` sees the module behind each of them. What a pass needs is checked
/// unless a pass before has ensured it; with `verify`, everything that a pass needs and ensures.
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
        let wrong = |when, stage, violations| PassError::Stage { when, name: pass.name, stage, violations };
        if verify || pass.requires > stage {
            let needed = pass.requires.max(stage);
            verify_module(module, needed).map_err(|violations| wrong("before", needed, violations))?;
        }
        (pass.run)(module, argument).map_err(|reason| PassError::Argument { name: full.into(), reason })?;
        stage = pass.ensures.unwrap_or(stage);
        if verify {
            verify_module(module, stage).map_err(|violations| wrong("behind", stage, violations))?;
        }
        watch(pass, module);
    }
    Ok(())
}
