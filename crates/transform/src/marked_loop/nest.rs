//! Spreads two levels of a loop nest over the dimensions of a brush: a tensor.
//!
//! Requires: Stage::Canonical; a function with a single outermost loop, which holds a single loop, both of independent iterations.
//! Ensures: Stage::Source, in lock-step, for brushes of two dimensions: a projection says which level runs along dimension 0, whose lanes
//! are next to each other.
//! After: Moll's thesis, chapter 11. Differs in: the inner level is spread before the outer one, so each level is a marked loop of one
//! dimension, and its remainder that of any marked loop.
//!
//! ```text
//!     for j                          for j in steps of height        lane (x, y) runs the iterations
//!       for i             ──►          for i in steps of width       j + y, i + x
//!         body                           body in lanes
//!                                      rest of i under a mask
//!                                    rest of j under a mask, unless the caller runs it
//! ```
//!
//! Code of the outer loop outside of the inner one runs in all lanes of a row, with equal operands. So it must not write.

use super::pointers::declare_loaded_pointers;
use super::refusal::{SpreadRefusal, refuse};
use super::{
    HeaderPhiKind, LoopLiveOut, LoopPromises, LoopSpreader, SpreadLanes, find_live_outs, find_loop,
    find_outermost,
};
use heddle_analysis::cycles::Cycle;
use heddle_analysis::{Cfg, CycleForest};
use heddle_ir::ops::Effect;
use heddle_ir::{Diagnostic, Function, Inst, Op};

/// Levels of a nest that are spread over lanes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum NestLevels {
    /// Both; the outer level's iterations that fill no brush run under a mask.
    #[default]
    Both,
    /// Both; the outer level's trip count is a multiple of the brush's extent.
    BothInWholeBrushes,
    /// The inner one; the outer one stays a loop.
    Inner,
}

/// Projection of a brush: order in which its coordinates are numbered as lanes (section 11.5).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum NestProjection {
    /// Lanes along the inner level are next to each other: the projection vector (1, 0).
    #[default]
    InnerFirst,
    /// Lanes along the outer level are next to each other: the projection vector (0, 1).
    OuterFirst,
}

impl NestProjection {
    /// Dimensions of the inner and of the outer level.
    fn dimensions(self) -> [u8; 2] {
        match self {
            NestProjection::InnerFirst => [0, 1],
            NestProjection::OuterFirst => [1, 0],
        }
    }

    /// Returns what belongs to the inner and to the outer level in the order of dimensions.
    pub fn in_order<T>(self, inner: T, outer: T) -> [T; 2] {
        match self {
            NestProjection::InnerFirst => [inner, outer],
            NestProjection::OuterFirst => [outer, inner],
        }
    }
}

/// Spreads the outermost loop and the only loop in it over two dimensions of lanes. Of one level the lanes have dimension 0.
pub fn spread_nest(
    func: &mut Function,
    levels: NestLevels,
    projection: NestProjection,
) -> Result<(), Diagnostic> {
    declare_loaded_pointers(func);
    check_nest(func)?;
    if levels == NestLevels::Inner {
        return spread_inner(func, SpreadLanes { dimension: Some(0), is_multiple: false });
    }
    let [inner, outer] = projection.dimensions();
    spread_inner(func, SpreadLanes { dimension: Some(inner), is_multiple: false })?;
    let is_multiple = levels == NestLevels::BothInWholeBrushes;
    spread_outer(func, SpreadLanes { dimension: Some(outer), is_multiple })
}

fn spread_inner(func: &mut Function, lanes: SpreadLanes) -> Result<(), Diagnostic> {
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    let [_, inner] = nest_loops(func, &forest)?;
    spread_level(func, &cfg, &forest, inner, lanes)
}

/// Spreads the outer level, after the inner one.
fn spread_outer(func: &mut Function, lanes: SpreadLanes) -> Result<(), Diagnostic> {
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    let outer = find_outermost(func, &forest)?;
    spread_level(func, &cfg, &forest, outer, lanes)
}

/// Returns the outermost loop and the loop in it.
fn nest_loops(func: &Function, forest: &CycleForest) -> Result<[Cycle; 2], Diagnostic> {
    let outer = find_outermost(func, forest)?;
    match forest.children(outer) {
        &[inner] => Ok([outer, inner]),
        children => {
            let at = func.terminator(forest.header(outer));
            Err(refuse(func, at, SpreadRefusal::NotOneInnerLoop(children.len())))
        }
    }
}

/// Checks that what stands outside of the inner loop may run in each lane of a row, and that no object is shared by a row.
fn check_nest(func: &Function) -> Result<(), Diagnostic> {
    let forest = CycleForest::new(&Cfg::new(func));
    let [_, inner] = nest_loops(func, &forest)?;
    let is_repeatable = |inst: Inst| match func.inst(inst).op {
        Op::Load => func.inst(inst).access().is_some_and(|access| access.atomic.is_none()),
        Op::Alloca => false,
        op => matches!(
            op.info().effect,
            Effect::Pure | Effect::Traps | Effect::Assumes | Effect::Terminator | Effect::Joins
        ),
    };
    for block in func.blocks().filter(|&block| !forest.contains(inner, block)) {
        if let Some(inst) = func.block_insts(block).find(|&inst| !is_repeatable(inst)) {
            return Err(refuse(func, Some(inst), SpreadRefusal::OutsideOfInnerLoop));
        }
    }
    Ok(())
}

fn spread_level(
    func: &mut Function,
    cfg: &Cfg,
    forest: &CycleForest,
    level: Cycle,
    lanes: SpreadLanes,
) -> Result<(), Diagnostic> {
    let (marked, counter) = find_loop(func, cfg, forest, level, LoopPromises { is_parallel: true })?;
    let is_reduction = |kind: &HeaderPhiKind| matches!(kind, HeaderPhiKind::Reduction { .. });
    if let Some(header_phi) = marked.header_phis.iter().find(|header_phi| is_reduction(&header_phi.kind)) {
        return Err(refuse(func, Some(header_phi.phi), SpreadRefusal::ReductionInNest));
    }
    let live_outs = find_live_outs(func, &marked)?;
    let varies = |live_out: &LoopLiveOut| !matches!(live_out, LoopLiveOut::Invariant(_));
    if let Some(&(phi, _)) = live_outs.iter().find(|(_, live_out)| varies(live_out)) {
        return Err(refuse(func, Some(phi), SpreadRefusal::ReductionInNest));
    }
    LoopSpreader::new(func, marked, &counter, lanes).spread(&live_outs);
    Ok(())
}
