//! What analyses know of functions that go out as PTX.

use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, Summaries, divergence};
use heddle_ir::{Function, Module};
use heddle_ptx::{Facts, FunctionFacts};

/// The lanes of a warp.
const WARP: u32 = 32;

/// Branches that all lanes of a warp take together. Functions with irreducible control flow have none that are known.
pub(crate) fn facts(module: &Module) -> Facts {
    let geometry = Geometry::brush(&[WARP]);
    let summaries = Summaries::infer(module, &geometry);
    let of = |func: &Function| {
        let control = ControlTables::new(func);
        if !control.cycles.is_graph_reducible() {
            return FunctionFacts::default();
        }
        let initial = InitialShapes::declared(func, geometry.clone()).knowing(&summaries);
        let facts = divergence(func, &control, &initial);
        let uniform = func
            .blocks()
            .filter(|&block| control.cfg.is_reachable(block) && !facts.is_divergent_branch(block));
        FunctionFacts { uniform: uniform.collect(), ..FunctionFacts::default() }
    };
    module.functions.iter().map(|func| (func.name.clone(), of(func))).collect()
}
