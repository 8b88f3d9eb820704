//! The pass `spread`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::option_words::{OptionWord, describe, flag, parse_options};
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};
use heddle_transform::{LoopPromises, NestLevels, NestProjection, refill_lanes, spread_loop, spread_nest};

/// Options of the distribution of iterations.
#[derive(Clone, Copy, Default, Debug)]
pub struct SpreadOptions {
    /// Promises about the loop.
    pub promises: LoopPromises,
    /// True for lane refill ([`refill_lanes`]), where lanes would wait.
    pub refills: bool,
    /// Set for a nest, whose two levels are spread over two dimensions.
    pub nest: Option<NestLevels>,
    /// Projection of the nest's brush.
    pub projection: NestProjection,
}

pub(super) const INFO: PassInfo = PassInfo {
    name: "spread",
    doc: "distribute the iterations of each function's one outermost loop over lanes, which all enter with the same arguments",
    requires: Stage::Canonical,
    ensures: Some(Stage::Source),
    options: || describe(OPTIONS),
    parse: |words| Ok(Pass::Spread(parse_options(OPTIONS, words, SpreadOptions::default())?)),
};

const OPTIONS: &[OptionWord<SpreadOptions>] = &[
    flag("parallel", "iterations are independent", |options| options.promises.is_parallel = true),
    flag("refill", "independent iterations, with lane refill", |options| *options = SpreadOptions { promises: LoopPromises { is_parallel: true }, refills: true, ..SpreadOptions::default() }),
    flag("nest", "the inner loop along dimension 0, the outer one along dimension 1", |options| options.nest = Some(NestLevels::Both)),
    flag("outer-first", "of a nest the outer loop along dimension 0, the inner one along dimension 1", |options| options.projection = NestProjection::OuterFirst),
];

pub(super) fn run(options: &SpreadOptions, module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    for func in &mut module.functions {
        if let Some(levels) = options.nest {
            spread_nest(func, levels, options.projection)?;
        } else if !options.refills || !refill_lanes(func, options.promises)? {
            spread_loop(func, options.promises)?;
        }
    }
    Ok(())
}
