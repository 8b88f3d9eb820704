//! Loops of single work-items, each with a number of rounds of its own.
//!
//! A processor foresees how such a loop ends if it is one branch. Unrolled by a number that is not known before, it has two: rounds
//! that are left over, and blocks of rounds; each is mistaken once for each work-item. Loops that have the same number of rounds for
//! neighbours are foreseen either way, and code generators unroll them as they like.
//!
//! Requires: a kernel whose calls are inlined, of which code for single work-items is made.  Ensures: nothing but hints changes.

use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, Cycle, InitialShapes, divergence};
use heddle_ir::function::MetadataKind;
use heddle_ir::module::MetadataNode;
use heddle_ir::{Function, Inst, Op};

/// Neighbours among which numbers of rounds are compared.
const NEIGHBOURS: u32 = 16;

/// Gives the hint to innermost loops in which work-items part, unless their source says something of them. Where loops have several
/// entries, it is not known in which that is so. The hint is made if there is such a loop.
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

/// What closes those loops.
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
