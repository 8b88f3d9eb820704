//! Uniform branches, loads, calls and returns, for printers whose target has cheaper forms of them.
//!
//! After: Coutinho et al., PACT'11, IV, "peephole optimizations": `bra.uni`, `ldu`, `call.uni`, `ret.uni` of PTX. `widen`
//! does their work unification for all uniform values.
//!
//! Uniformity is relative to the active lanes. Operations that need the whole brush check
//! [`is_nondivergent`](UniformOperations::is_nondivergent).

use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function, Inst, Op};

use crate::control_tables::ControlTables;
use crate::divergence::Divergence;

/// Operations of a function that are uniform over the active lanes.
#[derive(Clone, Debug)]
pub struct UniformOperations {
    branches: EntitySet<Block>,
    loads: EntitySet<Inst>,
    nondivergent: EntitySet<Block>,
}

impl UniformOperations {
    /// Collects them from the results of the divergence analysis.
    pub fn new(func: &Function, control: &ControlTables, facts: &Divergence) -> UniformOperations {
        let mut found = UniformOperations {
            branches: EntitySet::new(),
            loads: EntitySet::new(),
            nondivergent: facts.region_of_nondivergence(control),
        };
        for block in func.blocks().filter(|&block| control.cfg.is_reachable(block)) {
            for inst in func.block_insts(block) {
                let data = func.inst(inst);
                let has_choice = data.targets().len() > 1;
                if has_choice && !facts.is_divergent_branch(block) {
                    found.branches.insert(block);
                }
                if data.op == Op::Load && facts.fact_at(func, control, data.args[0], block).is_uniform() {
                    found.loads.insert(inst);
                }
            }
        }
        found
    }

    /// True if all lanes that execute the branch or switch at the end of the block take the same target.
    pub fn is_uniform_branch(&self, block: Block) -> bool {
        self.branches.contains(block)
    }

    /// True if all lanes that execute the load read the same address.
    pub fn is_uniform_load(&self, inst: Inst) -> bool {
        self.loads.contains(inst)
    }

    /// True if all lanes that entered the function execute the block together: a call or return there is one of the whole
    /// brush.
    pub fn is_nondivergent(&self, block: Block) -> bool {
        self.nondivergent.contains(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::divergence::{InitialShapes, divergence};
    use crate::shape::Geometry;
    use heddle_ir::entity::Entity as _;

    const TEXT: &str = "
func @f(v0: ptr(global) uniform, v1: i32 uniform, v2: i32 varying) -> i32 {
block0:
  v3 = icmp sgt v1, 0
  br v3, block1, block2
block1:
  v4 = load i32, v0 align 4
  br block2
block2:
  v5 = phi i32 [block0: 0], [block1: v4]
  v6 = icmp sgt v2, v5
  br v6, block3, block4
block3:
  v7 = load i32, v0 align 4
  v8 = zext i64, v2
  v9 = ptradd v0, v8
  v10 = load i8, v9 align 1
  br block4
block4:
  br block5
block5:
  v11 = phi i32 [block4: 0], [block5: v12]
  v12 = add v11, 4
  v14 = icmp slt v12, v2
  br v14, block5, block6
block6:
  v15 = zext i64, v12
  v16 = ptradd v0, v15
  v17 = load i32, v16 align 4
  ret v17
}
";

    #[test]
    fn uniform_are_what_lanes_do_alike() {
        let module = heddle_ir::parse_module(TEXT).expect("the text is right");
        let func = &module.functions[0];
        let control = ControlTables::new(func);
        let facts = divergence(func, &control, &InitialShapes::declared(func, Geometry::unknown()));
        let uniform = UniformOperations::new(func, &control, &facts);
        let blocks = |holds: &dyn Fn(Block) -> bool| -> Vec<usize> {
            func.blocks().filter(|&block| holds(block)).map(|block| block.index()).collect()
        };
        assert_eq!(blocks(&|block| uniform.is_uniform_branch(block)), [0]);
        assert_eq!(blocks(&|block| uniform.is_nondivergent(block)), [0, 1, 2, 4, 6]);
        // After the divergent loop each lane has its own counter, so the last address varies.
        let loads = func.blocks().flat_map(|block| func.block_insts(block));
        let loads: Vec<bool> = loads
            .filter(|&inst| func.inst(inst).op == Op::Load)
            .map(|inst| uniform.is_uniform_load(inst))
            .collect();
        assert_eq!(loads, [true, true, false, false]);
    }
}
