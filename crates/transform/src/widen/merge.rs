//! Merges straight-line chains of blocks. Sequential code doesn't wait at block boundaries.

use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::Detail;
use heddle_ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashMap;

/// Appends each block to its only predecessor if that has no other successor. For functions of stage Wide.
pub(super) fn merge_chains(func: &mut Function) {
    let mut edges_to: SecondaryMap<Block, u32> = SecondaryMap::new();
    for block in func.blocks() {
        func.successors(block).iter().for_each(|&to| edges_to[to] += 1);
    }
    let blocks: Vec<Block> = func.blocks().collect();
    let mut merged_into: FxHashMap<Block, Block> = FxHashMap::default();
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for block in blocks {
        if merged_into.contains_key(&block) {
            continue;
        }
        while let &[next] = func.successors(block) {
            if next == block || next == func.entry() || edges_to[next] != 1 {
                break;
            }
            append(func, block, next, &mut renamed);
            merged_into.insert(next, block);
        }
    }
    if merged_into.is_empty() {
        return;
    }
    func.map_values(|value| last(&renamed, value));
    let all: Vec<Inst> = func.blocks().flat_map(|block| func.phis(block).collect::<Vec<_>>()).collect();
    for phi in all {
        if let Detail::Phi(from) = &mut func.inst_mut(phi).detail {
            from.iter_mut().for_each(|block| *block = last(&merged_into, *block));
        }
    }
}

fn append(func: &mut Function, block: Block, next: Block, renamed: &mut FxHashMap<Value, Value>) {
    let jump = func.terminator(block).expect("the block is complete");
    func.remove_inst(jump);
    while let Some(inst) = func.layout.first_inst(next) {
        func.layout.remove_inst(inst);
        if func.inst(inst).op == Op::Phi {
            let only = func.inst(inst).args[0];
            let result = func.result(inst).expect("a φ gives a value");
            renamed.insert(result, only);
            func.remove_inst(inst);
            continue;
        }
        func.layout.append_inst(inst, block);
    }
    func.remove_block(next);
}

/// Follows a chain of replacements to its end.
fn last<T: Copy + Eq + std::hash::Hash>(replaced: &FxHashMap<T, T>, mut at: T) -> T {
    while let Some(&next) = replaced.get(&at) {
        at = next;
    }
    at
}
