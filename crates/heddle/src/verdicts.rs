//! What the divergence analysis says of a function before its brush is known, as passes ask it.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, divergence};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::entity::EntitySet;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::{Block, Code, Diagnostic, Function, Op};
use heddle_transform::linearize::find_linearizable_branches;
use heddle_transform::{LoopFacts, make_loops_uniform};

/// Whether a function is sequential code, which launches others.
fn launches(func: &Function) -> bool {
    let launches = |block| func.block_insts(block).any(|inst| func.inst(inst).op == Op::Launch);
    func.blocks().any(launches)
}

/// What diverges, whatever the brush; none in sequential code, which one thread executes.
pub fn verdicts(func: &Function) -> Option<(ControlTables, Divergence)> {
    if launches(func) {
        return None;
    }
    let control = ControlTables::new(func);
    let geometry = Geometry { dimensions: MAX_DIMENSIONS as u32, ..Geometry::unknown() };
    let facts = divergence(func, &control, &InitialShapes::declared(func, geometry));
    Some((control, facts))
}

/// Which loops lanes leave apart.
pub fn loop_facts(func: &Function) -> LoopFacts {
    match verdicts(func) {
        Some((control, facts)) => LoopFacts::by_divergence(&control, &facts),
        None => LoopFacts::none(),
    }
}

/// Makes divergent loops uniform. Behind a loop that has several exits lanes tell by masks which one they took; where all
/// took the same, that is lost, and loops may turn out divergent that were not.
pub fn uniform_loops(func: &mut Function) -> Result<(), Diagnostic> {
    uniform_loops_and_branches(func).map(drop)
}

/// The same; gives the branches that may diverge then, if the analysis has been asked.
pub(crate) fn uniform_loops_and_branches(
    func: &mut Function,
) -> Result<Option<EntitySet<Block>>, Diagnostic> {
    loop {
        let Some((control, facts)) = verdicts(func) else { return Ok(None) };
        let loops = LoopFacts::by_divergence(&control, &facts);
        if loops.divergent_loops.is_empty() {
            return Ok(Some(branches_of(func, &facts)));
        }
        let blocks = func.block_count();
        make_loops_uniform(func, &loops)?;
        if func.block_count() == blocks {
            return Ok(None);
        }
    }
}

/// The blocks whose branches may be folded, whether lanes part there or not; none in sequential code.
pub(crate) fn foldable_branches(func: &Function) -> EntitySet<Block> {
    match launches(func) {
        true => EntitySet::new(),
        false => find_linearizable_branches(func),
    }
}

/// The blocks whose branches may diverge. No loop may.
pub fn divergent_branches(func: &Function) -> Result<EntitySet<Block>, Diagnostic> {
    let Some((control, facts)) = verdicts(func) else { return Ok(EntitySet::new()) };
    let Some(cycle) = control.cycles.cycles().find(|&cycle| facts.is_divergent_loop(cycle)) else {
        return Ok(branches_of(func, &facts));
    };
    let header = control.cycles.header(cycle);
    let place = func
        .terminator(header)
        .map_or(DiagnosticLocation::of_func(&func.name), |inst| DiagnosticLocation::line_of(func, inst));
    let told = Diagnostic::error(Code::DivergentLoop, format!("the loop at {header} may diverge"));
    Err(told.at(place).help("run `loops` before"))
}

fn branches_of(func: &Function, facts: &Divergence) -> EntitySet<Block> {
    func.blocks().filter(|&block| facts.is_divergent_branch(block)).collect()
}
