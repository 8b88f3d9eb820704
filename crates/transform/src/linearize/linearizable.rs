//! Uniform branches that may be linearized.

use heddle_analysis::{BlockIndex, CycleForest, DominatorTree, Edge, SyncDependence};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::{Block, Function, Op};

/// Returns the branches that may be linearized: they don't influence how a loop exits, and they are not votes, since
/// guards prevent execution with an empty mask.
pub fn find_linearizable_branches(func: &Function) -> EntitySet<Block> {
    let (cfg, _) = super::closed_graph(func);
    let cycles = CycleForest::new(&cfg);
    let dominators = DominatorTree::new(&cfg);
    let index = BlockIndex::new(&cfg, &dominators, &cycles);
    let mut sync = SyncDependence::new(&cfg, &dominators, &cycles, &index);
    let is_vote = |block: Block| {
        let branch = func.terminator(block).map(|branch| func.inst(branch));
        let condition = branch.and_then(|branch| branch.args.first().copied());
        let op = condition.and_then(|condition| func.def_inst(condition)).map(|inst| func.inst(inst).op);
        matches!(op, Some(Op::Any | Op::All))
    };
    // Per branch: true if lanes that diverge there may leave a loop apart. Influence regions nest, so results carry over.
    let mut leaves: SecondaryMap<Block, Option<bool>> = SecondaryMap::with_len(func.block_count());
    let mut found = EntitySet::new();
    for &block in index.order() {
        let targets = func.successors(block);
        if !targets.windows(2).any(|pair| pair[0] != pair[1]) || is_vote(block) {
            continue;
        }
        let mut may_leave = false;
        if let Some(cycle) = cycles.innermost(block) {
            let exits =
                |&to: &Block| !cycles.contains(cycle, to) || cycles.is_retreating(Edge { from: block, to });
            may_leave = targets.iter().any(exits);
            let (mut chain, mut next) = (Vec::new(), Some(block).filter(|_| !may_leave));
            while let Some(at) = next {
                if let Some(known) = leaves[at] {
                    may_leave = known;
                    break;
                }
                chain.push(at);
                let region = sync.branch_region(at);
                may_leave = !region.divergent_exits.is_empty();
                next = region.continues_at.filter(|_| !may_leave);
            }
            chain.into_iter().for_each(|at| leaves[at] = Some(may_leave));
        }
        if !may_leave {
            found.insert(block);
        }
    }
    found
}
