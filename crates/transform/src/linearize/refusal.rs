//! Diagnoses what cannot be linearized, before anything changes.
//!
//! * A divergent branch that decides which lanes exit a loop or take its back edge: the loop is divergent.
//! * A barrier, or a `total` instruction with effects, in a block that may run with an empty mask: it would run although
//!   the source did not reach it. It may follow an any-guard, which control passes only with an active lane:
//!
//! ```text
//!     block1: v5 = any v4                  block1: v5 = mask
//!             br v5, block2, block4                v6 = any v5 total
//!     block2: br v4, block3, block4                br v6, block3, block4
//!     block3: barrier group                block3: barrier group
//! ```

use heddle_analysis::{
    BlockIndex, Cfg, ControlDependence, CycleForest, DominatorTree, Edge, PostDominatorTree, SyncDependence,
};
use heddle_ir::diagnostic::{Code, Diagnostic, DiagnosticLocation};
use heddle_ir::entity::EntitySet;
use heddle_ir::inst::Detail;
use heddle_ir::ops::Effect;
use heddle_ir::words::SyncScope;
use heddle_ir::{Block, Function, Inst, InstData, Op, Value};

use super::joins::JoinPoint;
use super::{LinearGraphs, condition};

/// Error: lanes that diverge at a block leave the loop of this header apart.
fn divergent_exit(func: &Function, block: Block, header: Block) -> Diagnostic {
    let (block_name, header) = (func.describe_block(block), func.describe_block(header));
    let text = format!("divergent branch at {block_name} leaves the loop at {header}");
    let diagnostic = Diagnostic::error(Code::DivergentExit, text).help("run `loops` first");
    match func.terminator(block) {
        Some(branch) => diagnostic.at(DiagnosticLocation::line_of(func, branch)),
        None => diagnostic.of_func(&func.name),
    }
}

/// Error: an instruction must not run with an empty mask.
fn requires_lane_in(func: &Function, block: Block, inst: Inst) -> Diagnostic {
    let text = format!("not speculatable: {block} may run with an empty mask");
    let diagnostic = Diagnostic::error(Code::NeedsLanes, text).of_inst(func, inst);
    diagnostic.help("run `boscc` first")
}

/// Rejects divergent branches that influence how a loop exits.
pub(super) fn check_exits(
    func: &Function,
    cfg: &Cfg,
    cycles: &CycleForest,
    dominators: &DominatorTree,
    index: &BlockIndex,
    divergent: &EntitySet<Block>,
) -> Result<(), Diagnostic> {
    if cycles.num_cycles() == 0 {
        return Ok(());
    }
    let refuse = |block: Block| {
        let header = cycles.innermost(block).map_or(block, |cycle| cycles.header(cycle));
        divergent_exit(func, block, header)
    };
    let mut sync = SyncDependence::new(cfg, dominators, cycles, index);
    let mut seen = EntitySet::new();
    for &block in index.order() {
        let Some(cycle) = cycles.innermost(block).filter(|_| divergent.contains(block)) else { continue };
        let succs = cfg.succs(block);
        let ends =
            |&to: &Block| !cycles.contains(cycle, to) || cycles.is_retreating(Edge { from: block, to });
        if succs.iter().any(ends) {
            return Err(refuse(block));
        }
        let mut next = Some(block);
        while let Some(at) = next.filter(|&at| seen.insert(at)) {
            let region = sync.branch_region(at);
            if !region.divergent_exits.is_empty() {
                return Err(refuse(block));
            }
            next = region.continues_at;
        }
    }
    Ok(())
}

/// True if an instruction must not run with an empty mask.
pub(crate) fn requires_lane(data: &InstData) -> bool {
    let is_harmless = matches!(
        data.op.info().effect,
        Effect::Pure | Effect::Horizontal | Effect::Joins | Effect::Allocates
    );
    data.detail == Detail::Barrier(SyncScope::Group) || data.is_total() && !is_harmless
}

/// Highest dominator from which a block's lanes arrive all together or not at all: no branch in between that influences
/// the block, directly or through others, is divergent. After linearization the block runs exactly when it did before,
/// if that dominator does (Theorem 4).
pub(crate) fn lane_source(
    dependence: &ControlDependence<'_>,
    dominators: &DominatorTree,
    divergent: &EntitySet<Block>,
    block: Block,
) -> Block {
    let mut deciding = dependence.iterated([block]);
    deciding.retain(|&branch| divergent.contains(branch));
    let keeps_lanes = |above: &Block| !deciding.iter().any(|&branch| dominators.dominates(*above, branch));
    let above = std::iter::successors(Some(block), |&block| dominators.idom(block).filter(keeps_lanes));
    above.last().unwrap_or(block)
}

/// Rejects instructions that must not run with an empty mask, where the mask may be empty.
pub(super) fn check_lanes(
    func: &Function,
    graphs: &LinearGraphs<'_>,
    divergent: &EntitySet<Block>,
) -> Result<(), Diagnostic> {
    let find_requiring = |block: Block| func.block_insts(block).find(|&inst| requires_lane(func.inst(inst)));
    if !func.blocks().any(|block| find_requiring(block).is_some()) {
        return Ok(());
    }
    let post_dominators = PostDominatorTree::new(graphs.cfg);
    let dependence = ControlDependence::new(&post_dominators);
    let mut occupied: EntitySet<Block> = EntitySet::new();
    // Blocks that depend on uniform branches only; they run exactly when they did before (Theorem 4).
    let mut uniform: EntitySet<Block> = EntitySet::new();
    for &block in graphs.index.order() {
        let join = JoinPoint::new(func, graphs, block);
        let is_uniform = match graphs.dominators.idom(block) {
            None => true,
            Some(above) if graphs.shares_lanes(above, block) => uniform.contains(above),
            Some(_) => join.sources.iter().all(|&from| uniform.contains(from) && !divergent.contains(from)),
        };
        if is_uniform {
            uniform.insert(block);
        }
        let is_occupied = match graphs.dominators.idom(block) {
            _ if is_uniform => true,
            None => true,
            Some(above) if graphs.shares_lanes(above, block) => occupied.contains(above),
            Some(_) => {
                let is_occupied_edge = |&from: &Block| {
                    is_guard(func, graphs, from, block)
                        || occupied.contains(from) && !is_linearized(graphs, from)
                };
                join.is_unchanged && join.sources.iter().all(is_occupied_edge)
                    || is_guarded(func, graphs, &join.sources, block)
            }
        };
        if is_occupied {
            occupied.insert(block);
        } else if let Some(inst) = find_requiring(block) {
            let lane_source = lane_source(&dependence, graphs.dominators, divergent, block);
            if !occupied.contains(lane_source) {
                return Err(requires_lane_in(func, block, inst));
            }
        }
    }
    Ok(())
}

fn is_linearized(graphs: &LinearGraphs<'_>, block: Block) -> bool {
    let succs = graphs.cfg.succs(block);
    !graphs.edges.is_kept(block) && succs.iter().any(|&succ| succ != succs[0])
}

/// True if the block is a target of a single linearized branch that is guarded by a vote for this target.
fn is_guarded(func: &Function, graphs: &LinearGraphs<'_>, sources: &[Block], block: Block) -> bool {
    let &[from] = sources else { return false };
    let (Some(voted), &[guard]) = (condition(func, from), graphs.cfg.preds(from)) else { return false };
    let Some((op, operand, slot)) = vote_before(func, graphs, guard, from) else { return false };
    let is_target = |slot: usize| graphs.cfg.succs(from).get(slot) == Some(&block);
    let is_vote_on_branch = voted_condition(func, operand) == voted
        && match op {
            Op::Any => slot == 0 && is_target(0),
            Op::All => slot == 1 && is_target(1),
            _ => false,
        };
    is_vote_on_branch && graphs.joins.dominates(from, block)
}

/// True if a kept branch reaches the block only if a lane is active.
fn is_guard(func: &Function, graphs: &LinearGraphs<'_>, guard: Block, block: Block) -> bool {
    let mask = |value: Value| {
        let inst = func.def_inst(value)?;
        (func.inst(inst).op == Op::Mask && func.layout.block_of(inst) == Some(guard)).then_some(())
    };
    vote_before(func, graphs, guard, block)
        .is_some_and(|(op, operand, slot)| op == Op::Any && slot == 0 && mask(operand).is_some())
}

/// Condition of a vote; a total vote excludes inactive lanes by a select.
fn voted_condition(func: &Function, operand: Value) -> Value {
    match func.def_inst(operand).map(|inst| func.inst(inst)) {
        Some(data) if data.op == Op::Select && data.is_total() => {
            let is_mask = func.def_inst(data.args[0]).is_some_and(|inst| func.inst(inst).op == Op::Mask);
            if is_mask { data.args[1] } else { operand }
        }
        _ => operand,
    }
}

/// Vote, its operand and the target's slot, if a kept branch ends a block that votes.
fn vote_before(
    func: &Function,
    graphs: &LinearGraphs<'_>,
    guard: Block,
    to: Block,
) -> Option<(Op, Value, usize)> {
    if !graphs.edges.is_kept(guard) || graphs.edges.targets(guard).iter().filter(|&&it| it == to).count() != 1
    {
        return None;
    }
    let inst: Inst = func.def_inst(condition(func, guard)?)?;
    let is_here = func.layout.block_of(inst) == Some(guard);
    let slot = graphs.edges.targets(guard).iter().position(|&it| it == to)?;
    is_here.then(|| (func.inst(inst).op, func.inst(inst).args[0], slot))
}
