//! Position at which the emitter of wide code is.

use heddle_ir::Block;
use heddle_ir::builder::InsertPoint;
use heddle_ir::function::Origin;

/// Position of the emitter: a place in the linear function, and the one in the wide function that it has come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct WideCursor {
    /// Block of the linear function that is being widened. Its predicate holds at this position.
    pub(super) block: Block,
    /// Insertion point in the wide function.
    pub(super) at: InsertPoint,
    /// True inside code that a branch of the wide function only guards; values made there are not cached.
    pub(super) is_conditional: bool,
    /// Origin of emitted instructions.
    pub(super) origin: Origin,
}

impl WideCursor {
    /// Start of a linear block, at the end of the wide block that has its name.
    pub(super) fn start_of(block: Block) -> WideCursor {
        WideCursor { block, at: InsertPoint::End(block), is_conditional: false, origin: Origin::NONE }
    }
}
