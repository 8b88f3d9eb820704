//! Restores dominance where lanes that wait in a loop join live lanes.
//!
//! A value that is defined before such a join and read after it gets a φ there; waiting lanes bring poison. A block is
//! before at most one join that it does not dominate: the next one of its own loop, on the path of its iteration. So a
//! value needs one φ, and one walk from each join up to its dominator finds the blocks before it.
//!
//! The base hint of an access is dropped where the base's definition no longer dominates it.

use heddle_analysis::{Cfg, DominatorTree};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, Inst, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::edges::prepend_phi;

/// Join of waiting and live lanes.
#[derive(Clone, Debug)]
pub(super) struct Rejoin {
    pub(super) join: Block,
    /// Predecessor with the live lanes.
    pub(super) from: Block,
    /// Predecessors with lanes that wait or have just left.
    pub(super) waiting: SmallVec<[Block; 2]>,
}

/// Inserts φs for values that cross the joins, and drops base hints that lost dominance.
pub(super) fn restore_dominance(func: &mut Function, rejoins: &[Rejoin]) {
    let cfg = Cfg::new(func);
    let dominators = DominatorTree::new(&cfg);
    let mut next_join: SecondaryMap<Block, Option<usize>> = SecondaryMap::with_len(cfg.num_blocks());
    for (number, rejoin) in rejoins.iter().enumerate() {
        let above = dominators.idom(rejoin.join);
        let mut here = Some(rejoin.from);
        while let Some(block) = here.filter(|_| here != above) {
            next_join[block] = Some(number);
            here = dominators.idom(block);
        }
    }
    let block_of_def =
        |func: &Function, value| func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
    let mut made: FxHashMap<Value, Value> = FxHashMap::default();
    let uses: Vec<(Inst, Block)> =
        func.blocks().flat_map(|block| func.block_insts(block).map(move |inst| (inst, block))).collect();
    for (inst, block) in uses {
        let sources: SmallVec<[Block; 2]> = func.inst(inst).incoming().map(|(source, _)| source).collect();
        for index in 0..func.inst(inst).args.len() {
            let value = func.inst(inst).args[index];
            let read_in = sources.get(index).copied().unwrap_or(block);
            let Some(defined_in) = block_of_def(func, value) else { continue };
            if dominators.dominates(defined_in, read_in) {
                continue;
            }
            let Some(rejoin) = next_join[defined_in].map(|number| &rejoins[number]) else { continue };
            let through = *made.entry(value).or_insert_with(|| {
                let ty = func.value_type(value);
                let nothing = func.make_poison(ty);
                let waiting = rejoin.waiting.iter().map(|&block| (block, nothing));
                let incoming = std::iter::once((rejoin.from, value)).chain(waiting);
                prepend_phi(func, rejoin.join, InstData::phi(incoming, None), ty)
            });
            func.inst_mut(inst).args[index] = through;
        }
        func.retain_bases(inst, |func, base| {
            block_of_def(func, base).is_none_or(|defined_in| dominators.dominates(defined_in, block))
        });
    }
}
