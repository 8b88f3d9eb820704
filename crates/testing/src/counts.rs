//! Counts that file tests query by name.

use heddle_analysis::{Cfg, CycleForest};
use heddle_ir::inst::InstData;
use heddle_ir::ops::Op;
use heddle_ir::{Block, Function, Inst, Module};

/// Ops that access each lane's memory separately, or under a mask.
const MASKED: [Op; 6] = [Op::MaskedLoad, Op::MaskedStore, Op::Gather, Op::Scatter, Op::Compress, Op::Expand];

/// Returns the count of this name: an op, `blocks`, `insts`, `branches` (conditional), `predicates`, `shadow`, `total`,
/// `masked` (masked accesses, gathers and scatters), `vector` (instructions with vector results), `hot` (instructions
/// in innermost loops; without loops all).
pub(crate) fn count(module: &Module, name: &str) -> Option<usize> {
    let all = |is_counted: &dyn Fn(&InstData) -> bool| {
        insts(module).filter(|&(func, _, inst)| is_counted(func.inst(inst))).count()
    };
    Some(match name {
        "blocks" => module.functions.iter().map(|func| func.blocks().count()).sum(),
        "predicates" => {
            let predicates =
                |func: &Function| func.blocks().filter(|&it| func.predicate(it).is_some()).count();
            module.functions.iter().map(predicates).sum()
        }
        "insts" => all(&|_| true),
        "branches" => all(&|data| data.op == Op::Br && data.targets().len() == 2),
        "total" => all(&InstData::is_total),
        "shadow" => all(&|data| data.shadow().is_some()),
        "masked" => all(&|data| MASKED.contains(&data.op)),
        "vector" => {
            let is_vector = |func: &Function, inst: Inst| {
                func.results(inst).iter().any(|&result| func.value_type(result).lanes().is_some())
            };
            insts(module).filter(|&(func, _, inst)| is_vector(func, inst)).count()
        }
        "hot" => module.functions.iter().map(hot).sum(),
        _ => {
            let op = Op::from_name(name)?;
            all(&|data| data.op == op)
        }
    })
}

fn insts(module: &Module) -> impl Iterator<Item = (&Function, Block, Inst)> {
    let blocks = module.functions.iter().flat_map(|func| func.blocks().map(move |block| (func, block)));
    blocks.flat_map(|(func, block)| func.block_insts(block).map(move |inst| (func, block, inst)))
}

/// The instructions in the blocks that most loops are around.
fn hot(func: &Function) -> usize {
    let cycles = CycleForest::new(&Cfg::new(func));
    let deepest = func.blocks().map(|block| cycles.depth_of_block(block)).max();
    let is_hot = |block: &Block| Some(cycles.depth_of_block(*block)) == deepest;
    func.blocks().filter(is_hot).map(|block| func.block_insts(block).count()).sum()
}
