//! Hoists loop-invariant masks to the preheader.
//!
//! A lane that is active in a loop has passed its preheader, so the hoisted mask is defined for it. Votes are not
//! hoisted: before the loop more lanes may be active.

use heddle_ir::{Block, Function, Inst, Op, Type, Value};

use crate::cfg_analyses::CfgAnalyses;

/// Hoists the listed masks that still exist, in dominance order; true if one moved.
pub(super) fn hoist_masks(func: &mut Function, flow: &CfgAnalyses, masks: &[Inst]) -> bool {
    let cycles = flow.forest();
    if cycles.num_cycles() == 0 {
        return false;
    }
    let preheaders: Vec<Option<Block>> =
        cycles.cycles().map(|cycle| cycles.preheader(&flow.cfg, cycle)).collect();
    let mut changed = false;
    for &inst in masks {
        let cycle = func.layout.block_of(inst).and_then(|block| cycles.innermost(block));
        let mut target = None;
        let mut around = cycle;
        while let Some(cycle) = around {
            let is_inside = |&arg: &Value| {
                let defined_in = func.def_inst(arg).and_then(|inst| func.layout.block_of(inst));
                defined_in.is_some_and(|defined_in| cycles.contains(cycle, defined_in))
            };
            if func.inst(inst).args.iter().any(is_inside) {
                break;
            }
            let Some(preheader) = preheaders[cycle.as_u32() as usize] else { break };
            target = Some(preheader);
            around = cycles.parent(cycle);
        }
        let Some(end) = target.and_then(|block| func.terminator(block)) else { continue };
        func.layout.remove_inst(inst);
        func.layout.insert_inst_before(inst, end);
        changed = true;
    }
    changed
}

/// True if an instruction computes a mask from other masks.
pub(super) fn is_mask(func: &Function, inst: Inst) -> bool {
    let is_logic = matches!(func.inst(inst).op, Op::Select | Op::Or | Op::And | Op::Xor);
    is_logic && func.value_type(func.results(inst)[0]) == Type::I1
}
