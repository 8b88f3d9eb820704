//! Exits kept loops whose mask is empty (design §4.2).
//!
//! ```text
//!     block1 [v9]: br v5, block2, block3      block1 [v9]: v20 = select v19, v5, false total
//!      ▲ │      │                              ▲ │      │  br v20, block2, block3           v19: any lane has v9
//!      │ ▼      ▼                              │ ▼      ▼
//!     block2    block3                        block2    block3
//! ```
//!
//! A loop after a linearized branch runs even if no lane enters it. With an empty mask a branch may go anywhere, but the
//! loop must terminate. Consider the blocks from which a loop can be left without its back edge. A branch from one of
//! them to another block gets a condition that exits if the loop's mask is empty. Control starts at the header and so
//! stays among these blocks. All lanes that enter a uniform loop iterate together, so the mask is the predicate of the
//! header, and it is loop-invariant.
//!
//! The vote runs once, at the definition of the mask. `any` ranges over active lanes, so it is placed where all lanes of
//! the function are active. If there is no such position, the vote is total and excludes lanes that never entered the
//! function.

use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, Inst, Op, Type, Value};
use rustc_hash::FxHashMap;

use super::masks::insert_at_end;
use super::{LinearGraphs, condition};

/// Guards the branches of loops that may run with an empty mask.
pub(super) fn exit_empty_loops(func: &mut Function, graphs: &LinearGraphs<'_>) {
    if graphs.cycles.num_cycles() == 0 {
        return;
    }
    let mut votes = MaskVotes::default();
    let levels = levels(graphs);
    for &block in graphs.index.order() {
        let &[first, second] = graphs.edges.targets(block) else { continue };
        let [first, second] = [first, second].map(|to| level_of_edge(graphs, &levels, block, to));
        let depth = graphs.cycles.depth_of_block(block);
        let (out, stays) = (first.min(second), first.max(second).min(depth));
        if out >= stays {
            continue;
        }
        // The innermost loop that one edge can still leave and the other cannot.
        let mut cycle = graphs.cycles.innermost(block);
        for _ in stays..depth {
            cycle = cycle.and_then(|cycle| graphs.cycles.parent(cycle));
        }
        let header = cycle.map(|cycle| graphs.cycles.header(cycle));
        let Some(mask) = header.and_then(|header| func.predicate(header)) else { continue };
        let any = votes.has(func, mask);
        let condition = condition(func, block).expect("a branch has a condition");
        let out = func.make_bool(first < second);
        let data = InstData::plain(Op::Select, [any, condition, out]).total();
        let guarded = insert_at_end(func, block, data, Type::I1);
        let terminator = func.terminator(block).expect("a complete block has a terminator");
        func.inst_mut(terminator).args[0] = guarded;
    }
}

/// Per block: number of surrounding loops that cannot be left from there without a back edge.
fn levels(graphs: &LinearGraphs<'_>) -> SecondaryMap<Block, usize> {
    let mut levels: SecondaryMap<Block, usize> = SecondaryMap::with_len(graphs.cfg.num_blocks());
    for &block in graphs.index.order().iter().rev() {
        let targets = graphs.edges.targets(block);
        let level = targets.iter().map(|&to| level_of_edge(graphs, &levels, block, to)).min();
        levels[block] = level.unwrap_or(0);
    }
    levels
}

fn level_of_edge(
    graphs: &LinearGraphs<'_>,
    levels: &SecondaryMap<Block, usize>,
    from: Block,
    to: Block,
) -> usize {
    if graphs.is_back_edge(from, to) {
        return graphs.cycles.depth_of_block(from);
    }
    let shared = match graphs.cycles.outermost_without(from, to) {
        Some(left) => graphs.cycles.depth(left),
        None => graphs.cycles.depth_of_block(from),
    };
    shared.min(levels[to])
}

#[derive(Default)]
struct MaskVotes {
    /// Mask of the lanes that entered the function.
    entered: Option<Value>,
    cache: FxHashMap<Value, Value>,
}

impl MaskVotes {
    /// Vote on a mask over all lanes.
    fn has(&mut self, func: &mut Function, mask: Value) -> Value {
        if let Some(&any) = self.cache.get(&mask) {
            return any;
        }
        let any = InstData::plain(Op::Any, [mask]);
        let any = match func.def_inst(mask) {
            None => {
                let first = first_of_entry(func);
                insert_before(func, first, any)
            }
            Some(inst) => {
                let block = func.layout.block_of(inst).expect("a mask stands in a block");
                let next = match func.inst(inst).op {
                    Op::Phi => func.first_non_phi(block),
                    _ => func.layout.next_inst(inst),
                };
                let next = next.expect("a complete block has a terminator");
                match func.predicate(block) {
                    None => insert_before(func, next, any),
                    Some(_) => {
                        let entered = *self.entered.get_or_insert_with(|| {
                            let first = first_of_entry(func);
                            insert_before(func, first, InstData::plain(Op::Mask, []))
                        });
                        let never = func.make_bool(false);
                        let here = InstData::plain(Op::Select, [entered, mask, never]).total();
                        let here = insert_before(func, next, here);
                        insert_before(func, next, InstData::plain(Op::Any, [here]).total())
                    }
                }
            }
        };
        self.cache.insert(mask, any);
        any
    }
}

fn first_of_entry(func: &Function) -> Inst {
    func.layout.first_inst(func.entry()).expect("a complete block has a terminator")
}

fn insert_before(func: &mut Function, next: Inst, data: InstData) -> Value {
    let inst = func.make_inst(data, &[Type::I1]);
    func.layout.insert_inst_before(inst, next);
    func.results(inst)[0]
}
