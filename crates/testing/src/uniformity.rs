//! Which branches surely keep lanes together: a careful stand-in for the divergence analysis.
//!
//! A value is uniform if it comes from constants, uniform parameters and horizontals by operations alone, and a φ only
//! if moreover no divergent branch has it in the iterated dominance frontier of its targets. What memory and calls give
//! varies. A loop diverges if a divergent branch in it has a say in whether one of its exits is reached.

use heddle_analysis::{Cfg, ControlDependence, CycleForest, DominanceFrontier, Dominators, PostDominators};
use heddle_ir::entity::EntitySet;
use heddle_ir::module::DeclaredShape;
use heddle_ir::ops::{Effect, Op};
use heddle_ir::{Block, Function, Inst, Value};

/// The branches of a function of which it is not known that they are uniform; none if a loop may diverge.
#[derive(Clone, Debug)]
pub struct Uniformity {
    /// Blocks whose branches may diverge.
    pub divergent: EntitySet<Block>,
    /// Blocks whose branches have no say in whether a loop is left: they may be taken for divergent ones.
    pub free: EntitySet<Block>,
}

impl Uniformity {
    /// Looks at a function; none if one of its loops may diverge.
    pub fn new(func: &Function) -> Option<Uniformity> {
        let cfg = Cfg::new(func);
        let divergent = divergent_branches(func, &cfg);
        let free = free_branches(&cfg);
        let is_uniform = divergent.iter().all(|block| free.contains(block));
        is_uniform.then_some(Uniformity { divergent, free })
    }
}

/// The blocks whose branches have no say in whether a loop is left.
pub fn free_branches(cfg: &Cfg) -> EntitySet<Block> {
    let cycles = CycleForest::new(cfg);
    let post_dominators = PostDominators::new(&iteration_graph(cfg, &cycles));
    let dependence = ControlDependence::new(&post_dominators);
    let mut free: EntitySet<Block> = cfg
        .blocks()
        .filter(|&block| cfg.succs(block).iter().any(|succ| *succ != cfg.succs(block)[0]))
        .collect();
    for cycle in cycles.cycles() {
        let exiting: Vec<Block> = cycles.exiting_edges(cfg, cycle).map(|edge| edge.from).collect();
        let deciding = dependence.iterated(exiting.iter().copied());
        let all = deciding.into_iter().chain(exiting).chain(cycles.latches(cfg, cycle));
        all.filter(|&block| cycles.contains(cycle, block)).for_each(|block| _ = free.remove(block));
    }
    free
}

/// The graph as seen from within an iteration: what goes back may leave just as well.
fn iteration_graph(cfg: &Cfg, cycles: &CycleForest) -> Cfg {
    let edges = cfg.edges().flat_map(|edge| match cycles.is_retreating(edge) {
        true => {
            let cycle = cycles.headed_by(edge.to).expect("a back edge leads to a header");
            cycles.exits(cfg, cycle).into_iter().map(|exit| (edge.from, exit)).collect()
        }
        false => vec![(edge.from, edge.to)],
    });
    Cfg::from_edges(cfg.num_blocks(), cfg.entry(), edges)
}

fn divergent_branches(func: &Function, cfg: &Cfg) -> EntitySet<Block> {
    // Lanes of an iteration meet at the header again, unless the loop diverges, which makes all of this void.
    let forward = iteration_graph(cfg, &CycleForest::new(cfg));
    let dominators = Dominators::new(&forward);
    let frontier = DominanceFrontier::new(&forward, &dominators);
    let mut varying: EntitySet<Value> = EntitySet::new();
    for (index, &param) in func.params().iter().enumerate() {
        if func.signature.params[index].shape != Some(DeclaredShape::Uniform) {
            varying.insert(param);
        }
    }
    let mut divergent: EntitySet<Block> = EntitySet::new();
    let mut joins: EntitySet<Block> = EntitySet::new();
    loop {
        let before = (varying.len(), divergent.len());
        for block in func.blocks() {
            for inst in func.block_insts(block) {
                if is_varying(func, inst, &varying, joins.contains(block)) {
                    func.results(inst).iter().for_each(|&result| _ = varying.insert(result));
                }
            }
            let Some(inst) = func.terminator(block) else { continue };
            let depends = func.inst(inst).args.iter().any(|&arg| varying.contains(arg));
            if func.inst(inst).targets().len() > 1 && depends && divergent.insert(block) {
                for join in frontier.iterated(cfg.succs(block).iter().copied()) {
                    joins.insert(join);
                }
            }
        }
        if before == (varying.len(), divergent.len()) {
            return divergent;
        }
    }
}

fn is_varying(func: &Function, inst: Inst, varying: &EntitySet<Value>, is_join: bool) -> bool {
    let data = func.inst(inst);
    let depends = data.args.iter().any(|&arg| varying.contains(arg));
    match data.op.info().effect {
        Effect::Joins => {
            let first = data.args.first();
            let agree = data.args.iter().all(|arg| Some(arg) == first);
            depends || is_join && !agree || data.shadow().is_some()
        }
        Effect::Horizontal => matches!(data.op, Op::Scan | Op::Shuffle),
        Effect::Pure | Effect::Traps => depends || data.args.is_empty() && !matches!(data.op, Op::Width),
        Effect::Allocates => false,
        _ => true,
    }
}
