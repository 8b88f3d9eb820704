//! Divergence analysis with the inputs that passes use: declared shapes and an unknown brush.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, divergence};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::entity::EntitySet;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::{Block, Code, Diagnostic, Function, Op};
use heddle_transform::linearize::find_linearizable_branches;
use heddle_transform::{LoopFacts, make_loops_uniform};

/// True if a function launches others, so it is sequential code.
fn launches(func: &Function) -> bool {
    let launches = |block| func.block_insts(block).any(|inst| func.inst(inst).op == Op::Launch);
    func.blocks().any(launches)
}

/// Analyzes divergence for an unknown brush; none for sequential code, which one thread executes.
pub fn analyze_divergence(func: &Function) -> Option<(ControlTables, Divergence)> {
    analyze_in(func, Geometry { dimensions: MAX_DIMENSIONS as u32, ..Geometry::unknown() })
}

/// Analyzes divergence for a brush; none for sequential code.
pub fn analyze_divergence_of(func: &Function, brush: &[u32]) -> Option<(ControlTables, Divergence)> {
    analyze_in(func, Geometry::brush(brush))
}

fn analyze_in(func: &Function, geometry: Geometry) -> Option<(ControlTables, Divergence)> {
    if launches(func) {
        return None;
    }
    let control = ControlTables::new(func);
    let facts = divergence(func, &control, &InitialShapes::declared(func, geometry));
    Some((control, facts))
}

/// Returns the divergent loops of a function.
pub fn loop_facts(func: &Function) -> LoopFacts {
    match analyze_divergence(func) {
        Some((control, facts)) => LoopFacts::by_divergence(&control, &facts),
        None => LoopFacts::none(),
    }
}

/// Makes divergent loops uniform, until no loop is divergent. A loop with several exits leaves masks that hold the exit of
/// each lane; they are varying even if all lanes took one exit, so another loop may become divergent.
pub fn uniform_loops(func: &mut Function) -> Result<(), Diagnostic> {
    make_all_loops_uniform(func).map(drop)
}

/// Makes divergent loops uniform; returns the divergent branches afterwards if the analysis is up to date.
pub(crate) fn make_all_loops_uniform(func: &mut Function) -> Result<Option<EntitySet<Block>>, Diagnostic> {
    loop {
        let Some((control, facts)) = analyze_divergence(func) else { return Ok(None) };
        let loops = LoopFacts::by_divergence(&control, &facts);
        if loops.divergent_loops.is_empty() {
            return Ok(Some(collect_divergent_branches(func, &facts)));
        }
        let blocks = func.block_count();
        make_loops_uniform(func, &loops)?;
        if func.block_count() == blocks {
            return Ok(None);
        }
    }
}

/// Returns the blocks whose branches can be if-converted, uniform ones included; none in sequential code.
pub(crate) fn if_convertible_branches(func: &Function) -> EntitySet<Block> {
    match launches(func) {
        true => EntitySet::new(),
        false => find_linearizable_branches(func),
    }
}

/// Returns the blocks with divergent branches; an error if a loop is divergent.
pub fn divergent_branches(func: &Function) -> Result<EntitySet<Block>, Diagnostic> {
    let Some((control, facts)) = analyze_divergence(func) else { return Ok(EntitySet::new()) };
    let Some(cycle) = control.cycles.cycles().find(|&cycle| facts.is_divergent_loop(cycle)) else {
        return Ok(collect_divergent_branches(func, &facts));
    };
    let header = control.cycles.header(cycle);
    let place = func
        .terminator(header)
        .map_or(DiagnosticLocation::of_func(&func.name), |inst| DiagnosticLocation::line_of(func, inst));
    let diagnostic = Diagnostic::error(
        Code::DivergentLoop,
        format!("loop at {} may diverge", func.describe_block(header)),
    );
    Err(diagnostic.at(place).help("run `loops` first"))
}

fn collect_divergent_branches(func: &Function, facts: &Divergence) -> EntitySet<Block> {
    func.blocks().filter(|&block| facts.is_divergent_branch(block)).collect()
}
