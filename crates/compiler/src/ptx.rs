//! Analysis results for the printer of PTX: uniform branches and invariant loads.

use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, PostDominatorTree, ResultSummaries, divergence};
use heddle_ir::inst::InstData;
use heddle_ir::module::FunctionKind;
use heddle_ir::{Block, Function, Inst, Module, Op, Value, ValueDef};
use heddle_ptx::{FunctionFacts, ModuleFacts};
use rustc_hash::FxHashSet;

/// Lanes of a warp.
const WARP: u32 = 32;

/// Returns uniform branches and invariant loads of all functions. No branch counts as uniform in functions with irreducible
/// control flow, in functions where lanes may meet in different iterations, and in functions that may call such ones.
pub(crate) fn analyze_for_ptx(module: &Module) -> ModuleFacts {
    let geometry = Geometry::brush(&[WARP]);
    let summaries = ResultSummaries::infer(module, &geometry);
    let uniform_branches = |func: &Function| {
        let control = ControlTables::new(func);
        if !control.cycles.is_graph_reducible() {
            return None;
        }
        let initial = InitialShapes::declared(func, geometry.clone()).with_summaries(&summaries);
        let facts = divergence(func, &control, &initial);
        let diverges = |block: Block| facts.is_divergent_branch(block);
        if mixes_iterations(func, &control, diverges) {
            return None;
        }
        Some(func.blocks().filter(|&block| control.cfg.is_reachable(block) && !diverges(block)).collect())
    };
    let uniform_branches: Vec<Option<FxHashSet<Block>>> =
        module.functions.iter().map(uniform_branches).collect();
    let is_any_unknown = uniform_branches.iter().any(Option::is_none);
    let calls = |func: &Function| {
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        insts.any(|inst| func.inst(inst).op == Op::Call)
    };
    let of = |(func, uniform): (&Function, Option<FxHashSet<Block>>)| {
        let uniform = uniform.filter(|_| !is_any_unknown || !calls(func)).unwrap_or_default();
        (func.name.clone(), FunctionFacts { uniform, invariant: invariant_loads(func) })
    };
    module.functions.iter().zip(uniform_branches).map(of).collect()
}

/// True if a GPU may reconverge lanes that are in different iterations of a loop. The divergence analysis assumes greedy
/// schedules, which never do. A reconvergence stack makes diverged lanes wait at the immediate post-dominator: if that lies in
/// the loop, and a lane can pass the back edge before it, waiting lanes are some iterations behind.
fn mixes_iterations(func: &Function, control: &ControlTables, diverges: impl Fn(Block) -> bool) -> bool {
    let ControlTables { cfg, dominators, cycles, .. } = control;
    let post_dominators = PostDominatorTree::new(cfg);
    let waits_within = |block: Block| {
        let Some(join) = post_dominators.ipdom(block) else { return cycles.innermost(block).is_some() };
        let around = std::iter::successors(cycles.innermost(block), |&cycle| cycles.parent(cycle));
        around.filter(|&cycle| cycles.contains(cycle, join)).any(|cycle| {
            // A lane that passes the back edge without the join reaches the join later in any case.
            let is_later = post_dominators.post_dominates(join, cycles.header(cycle));
            let is_behind = !dominators.dominates(join, block)
                && cycles.latches(cfg, cycle).iter().all(|&latch| dominators.dominates(join, latch));
            is_later && !is_behind
        })
    };
    func.blocks().filter(|&block| cfg.is_reachable(block) && diverges(block)).any(waits_within)
}

/// Maximum number of steps in following an address back to its base.
const MAX_STEPS: usize = 64;

/// Returns the loads of a kernel through `noalias` `readonly` parameters, whose memory does not change while it runs.
fn invariant_loads(func: &Function) -> FxHashSet<Inst> {
    if !matches!(func.kind, FunctionKind::Kernel(_)) {
        return FxHashSet::default();
    }
    let promises = |mut address: Value| {
        for _ in 0..MAX_STEPS {
            let inst = match func.value_def(address) {
                ValueDef::Param(index) => {
                    let param = func.signature.params.get(index as usize);
                    return param.is_some_and(|param| param.noalias && param.readonly);
                }
                ValueDef::Result(inst, _) => inst,
                _ => return false,
            };
            let data: &InstData = func.inst(inst);
            match data.op {
                Op::PtrAdd | Op::SpaceCast | Op::Freeze => address = data.args[0],
                _ => return false,
            }
        }
        false
    };
    let insts = func.blocks().flat_map(|block| func.block_insts(block));
    insts.filter(|&inst| func.inst(inst).op == Op::Load && promises(func.inst(inst).args[0])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_ir::parse_module;

    fn uniform(text: &str) -> Vec<u32> {
        let module = parse_module(text).expect("a program");
        let facts = analyze_for_ptx(&module);
        let of = facts.values().next().expect("a function");
        let mut blocks: Vec<u32> = of.uniform.iter().map(|block| block.as_u32()).collect();
        blocks.sort_unstable();
        blocks
    }

    /// Under a greedy schedule, lanes leave the loop at block2; a reconvergence stack keeps them there for the lanes that iterate.
    #[test]
    fn lanes_that_meet_in_different_iterations_part_at_uniform_branches() {
        let text = "func @f(v0: i32, v1: i32 uniform) -> i32 {\nblock0:\n br block1\nblock1:\n \
                    v2 = phi i32 [block0: 1], [block4: v5]\n v3 = icmp eq v2, v0\n br v3, block2, block4\nblock2:\n \
                    v4 = icmp eq v2, 1\n br v4, block5, block3\nblock3:\n v8 = icmp eq v1, 2\n br v8, block5, block4\n\
                    block4:\n v5 = add v2, 1\n br block1\nblock5:\n ret v2\n}\n";
        assert_eq!(uniform(text), [0u32; 0]);
        let joined = text.replace("br v3, block2, block4", "br v3, block2, block6");
        let joined = joined.replace("block2:\n", "block6:\n br block2\nblock2:\n");
        assert_eq!(uniform(&joined), [0, 2, 3, 4, 5, 6]);
    }
}
