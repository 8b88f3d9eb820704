//! Lowers launches of regions in sequential code to calls of wide functions. A mask becomes a parameter.

use super::refusal;
use super::signature::wide_declaration;
use heddle_ir::Diagnostic;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::{Function, Inst, Op};
use std::sync::Arc;

/// Replaces launches by calls to the wide forms of their regions.
pub fn replace_launches(func: &mut Function) -> Result<(), Diagnostic> {
    let launches: Vec<Inst> = func
        .blocks()
        .flat_map(|block| func.block_insts(block))
        .filter(|&inst| func.inst(inst).op == Op::Launch)
        .collect();
    for inst in launches {
        let data = func.inst(inst).clone();
        let Detail::Launch(launch) = &data.detail else { continue };
        let mut args = data.args.clone();
        if launch.masked {
            let mask = args.pop();
            if args.last().copied() != mask {
                let reason = "the region does not know which lanes are launched: make the mask a parameter of it (`specialize`)";
                return Err(refusal(func, inst, reason));
            }
        }
        let wide = Arc::new(wide_declaration(&func.callees[launch.callee], &launch.brush));
        let callee = func.make_callee(&wide);
        *func.inst_mut(inst) = InstData { op: Op::Call, args, detail: Detail::Call(callee), ..data };
    }
    func.remove_unused_callees();
    Ok(())
}
