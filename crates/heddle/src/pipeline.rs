//! The pipeline: the only place that knows the passes and their order.

use heddle_ir::entity::EntitySet;
use heddle_ir::verify::{Stage, Violations, verify_module};
use heddle_ir::{Block, Module};
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
            for func in &mut module.functions {
                let facts = LoopFacts::obvious(func);
                make_loops_uniform(func, &facts);
            }
            Ok(())
        },
    },
    Pass {
        name: "linearize",
        doc: "folds divergent branches into predicated code; `linearize:block1+block2` says which diverge",
        requires: Stage::Uniform,
        ensures: Some(Stage::Linear),
        run: |module, blocks| {
            let divergent = parse_blocks(blocks)?;
            module.functions.iter_mut().for_each(|func| linearize(func, &divergent));
            Ok(())
        },
    },
];

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
