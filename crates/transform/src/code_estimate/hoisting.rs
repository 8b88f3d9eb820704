//! Instructions that LLVM moves before a loop.

use super::CodeEstimate;
use crate::timing::object_offset;
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Inst, Value};
use rustc_hash::FxHashSet;

impl CodeEstimate<'_> {
    /// Instructions of an innermost loop that LLVM moves before it, since their operands are computed there: operations, and loads if the loop
    /// stores to private objects only.
    pub(super) fn hoisted(&self, blocks: &[Block]) -> FxHashSet<Inst> {
        let insts = || blocks.iter().flat_map(|&block| self.func.block_insts(block));
        let is_private = |inst: Inst| {
            let address = self.func.inst(inst).address();
            address.is_some_and(|it| object_offset(self.func, it).is_some())
        };
        let writes = insts().any(|inst| match self.func.inst(inst).op.info().effect {
            Effect::Writes => !is_private(inst),
            Effect::ReadsWrites | Effect::Synchronizes | Effect::Callee => true,
            _ => false,
        });
        let mut hoisted = FxHashSet::default();
        for inst in insts() {
            let data = self.func.inst(inst);
            let may_move = match data.op.info().effect {
                Effect::Pure => true,
                Effect::Reads => !writes && !is_private(inst),
                _ => false,
            };
            let is_inside = |value: &Value| {
                let inst = self.func.def_inst(*value).filter(|inst| !hoisted.contains(inst));
                let block = inst.and_then(|inst| self.func.layout.block_of(inst));
                block.is_some_and(|block| blocks.contains(&block))
            };
            if may_move && !data.args.iter().any(is_inside) {
                hoisted.insert(inst);
            }
        }
        hoisted
    }
}

#[cfg(test)]
mod tests {
    use crate::code_estimate::tests::kernel;

    /// A loop in which lanes load from the same places in all iterations.
    fn repeated(store: &str) -> f64 {
        kernel(
            16,
            &format!(
                "\
block0:
  v1 = load <16 x i64>, v0
  v2 = splat <16 x ptr(global)>, v0
  v20 = alloca 64 align 64
  br block1
block1:
  v10 = phi <16 x i32> [block0: splat 0], [block1: v13]
  v11 = phi i32 [block0: 0], [block1: v14]
  v3 = ptradd v2, v1
  v12 = gather <16 x i32>, v3, splat true, poison
  v13 = add v10, v12
  {store}
  v14 = add v11, 1
  v15 = icmp ult v14, 1000
  br v15, block1, block2
block2:
  store v13, v0
  ret"
            ),
        )
    }

    #[test]
    fn loads_of_the_same_places_count_once_unless_others_store() {
        let once = repeated("store v13, v20");
        assert!(once < 0.3 * repeated("store v13, v0"));
        assert!(repeated("") <= once);
    }
}
