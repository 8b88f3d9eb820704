//! Gives the function an entry that nothing branches to, so that every loop can have a preheader.

use heddle_ir::{Block, Function};

use crate::edges::append_jump;

/// Puts an empty block before an entry that has predecessors. Such an entry has no φ: lanes that come from the
/// caller come over no edge.
pub(crate) fn isolate_entry(func: &mut Function) {
    let entry = func.entry();
    let is_target = |block: Block| func.successors(block).contains(&entry);
    if func.blocks().any(is_target) {
        let first = func.prepend_block();
        append_jump(func, first, entry);
    }
}
