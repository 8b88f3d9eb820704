//! Disables runtime unrolling of loops whose trip counts differ between work-items.
//!
//! A branch predictor learns the exit of such a loop if it is a single branch. Unrolled at run time, the loop has two: one for
//! the remainder, one for blocks of iterations. Each is mispredicted once per work-item. Loops with equal trip counts are
//! predicted well in either case, so code generators may unroll them.
//!
//! Requires: a kernel after inlining, compiled for single work-items.  Ensures: only hints change.

use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, Cycle, InitialShapes, divergence};
use heddle_ir::function::MetadataKind;
use heddle_ir::module::MetadataNode;
use heddle_ir::{Function, Inst, Op};

/// Number of neighbouring work-items whose trip counts are compared.
const NEIGHBOURS: u32 = 16;

/// Adds the hint to innermost divergent loops that carry no loop hint from the source. Irreducible functions get none, since
/// divergence is unknown there. Calls `hint` only if there is such a loop.
pub(super) fn disable_runtime_unrolling(func: &mut Function, hint: impl FnOnce() -> MetadataNode) {
    let closing = divergent_loop_branches(func);
    if closing.is_empty() {
        return;
    }
    let hint = hint();
    for inst in closing {
        let mut origin = func.origin(func.inst(inst).origin).clone();
        origin.tags.push((MetadataKind::Loop, hint));
        origin.tags.sort_unstable();
        func.inst_mut(inst).origin = func.make_origin(origin);
    }
}

/// Returns the latch branches of innermost divergent loops without a hint.
fn divergent_loop_branches(func: &Function) -> Vec<Inst> {
    let control = ControlTables::new(func);
    if !control.cycles.is_graph_reducible() {
        return Vec::new();
    }
    let facts = divergence(func, &control, &InitialShapes::declared(func, Geometry::brush(&[NEIGHBOURS])));
    let is_own = |it: &Cycle| control.cycles.children(*it).is_empty() && facts.is_divergent_loop(*it);
    let latches =
        control.cycles.cycles().filter(is_own).filter_map(|it| control.cycles.unique_latch(&control.cfg, it));
    let tags = |inst: Inst| &func.origin(func.inst(inst).origin).tags;
    latches
        .filter_map(|latch| func.terminator(latch))
        .filter(|&inst| {
            func.inst(inst).op == Op::Br && tags(inst).iter().all(|(tag, _)| *tag != MetadataKind::Loop)
        })
        .collect()
}
