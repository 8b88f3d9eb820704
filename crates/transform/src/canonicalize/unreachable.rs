//! Removes unreachable blocks and their edges to φs.

use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function};

use crate::edges::{phis, set_incoming};

/// Removes unreachable blocks. Returns true if there were any.
pub(crate) fn remove_unreachable(func: &mut Function) -> bool {
    let mut reachable = EntitySet::new();
    reachable.insert(func.entry());
    let mut worklist = vec![func.entry()];
    while let Some(block) = worklist.pop() {
        for &target in func.successors(block) {
            if reachable.insert(target) {
                worklist.push(target);
            }
        }
    }
    let (stay, go): (Vec<Block>, Vec<Block>) = func.blocks().partition(|&block| reachable.contains(block));
    if go.is_empty() {
        return false;
    }
    for block in stay {
        for phi in phis(func, block) {
            let mut incoming: Vec<_> = func.inst(phi).incoming().collect();
            let before = incoming.len();
            incoming.retain(|&(source, _)| reachable.contains(source));
            if incoming.len() < before {
                set_incoming(func, phi, incoming);
            }
        }
    }
    for block in go {
        func.remove_block(block);
    }
    true
}
