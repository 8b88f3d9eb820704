//! Lets the lanes of a region take further work-items when theirs are done.
//!
//! Where trip counts of work-items differ, a brush waits for the longest. Instead, the region runs all work-items of a row: they
//! become the iterations of a loop over the row, which [`refill_lanes`] spreads over lanes like a marked loop.
//!
//! Requires: lanes do not observe each other.  Ensures: the region is launched once per row, by all lanes; its last arguments are the
//! number of the first work-item and the number of work-items.

use super::region::KernelRegion;
use super::{insts_of, observes_lanes};
use crate::edges::{append_jump, set_incoming};
use crate::marked_loop::{LoopPromises, refill_lanes};
use heddle_analysis::ControlTables;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::InstData;
use heddle_ir::module::{DeclaredShape, Param};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Function, Inst, Op, Value};

/// Applies lane refill to a kernel's only region, if some lanes would wait for others. `first` is the work-item's index in the row.
/// Returns true if it was applied.
pub(super) fn refill_region(regions: &mut [KernelRegion], first: Value) -> bool {
    let [region] = regions else { return false };
    let Some(at) = region.inputs.iter().position(|&value| value == first) else { return false };
    if region.takes_brush_memory
        || region.returns_successor
        || !region.outputs.is_empty()
        || !region.has_loops
    {
        return false;
    }
    let mut func = region.func.clone();
    if observes_lanes(&func) {
        return false;
    }
    loop_over_row(&mut func, at);
    crate::simplify(&mut func);
    crate::canonicalize(&mut func);
    if !refill_lanes(&mut func, LoopPromises { is_parallel: true }).is_ok_and(|refills| refills) {
        return false;
    }
    region.func = func;
    region.refills_lanes = true;
    true
}

/// Turns a function of one work-item, with index parameter `at`, into a loop over work-items. Their number is the new last parameter.
fn loop_over_row(func: &mut Function, at: usize) {
    let cycles = ControlTables::new(func).cycles;
    let is_once = |func: &Function, inst: Inst| {
        func.layout.block_of(inst).is_some_and(|block| cycles.innermost(block).is_none())
    };
    let all = insts_of(func);
    let is_object = |&inst: &Inst| func.inst(inst).op == Op::Alloca && is_once(func, inst);
    let objects: Vec<Inst> = all.iter().copied().filter(is_object).collect();
    let ends: Vec<Inst> = all.into_iter().filter(|&inst| func.inst(inst).op == Op::Ret).collect();

    let first = func.params()[at];
    let unit = func.value_type(first);
    let param = &mut func.signature.params[at];
    (param.shape, param.align) = (Some(DeclaredShape::Uniform), 1);
    let count = func.add_param(Param { shape: Some(DeclaredShape::Uniform), ..Param::new(unit) });

    let body = func.entry();
    let before = func.new_block();
    func.layout.prepend_block(before);
    let header = func.insert_block_after(before);
    let [latch, after] = [(); 2].map(|()| func.append_block());
    // A lane has one work-item at a time, so all its work-items share its objects.
    for object in objects {
        func.layout.remove_inst(object);
        func.layout.append_inst(object, before);
    }
    append_jump(func, header, body);
    for inst in ends {
        let origin = func.inst(inst).origin;
        *func.inst_mut(inst) = InstData { origin, ..InstData::jump(latch) };
    }
    let number = Builder::new(func, InsertPoint::Start(header)).phi(unit, &[], None);
    func.map_values(|value| if value == first { number } else { value });
    let exact = Flags::of(&[Flag::Nuw, Flag::Nsw]);
    let mut builder = Builder::new(func, InsertPoint::End(before));
    let end = builder.op_with(Op::Add, &[first, count], exact);
    builder.jump(header);
    builder.set_insert_point(InsertPoint::End(latch));
    let one = builder.int(unit.scalar(), 1);
    let next = builder.op_with(Op::Add, &[number, one], exact);
    let goes_on = builder.icmp(IntPredicate::Ult, next, end);
    builder.branch(goes_on, header, after);
    builder.set_insert_point(InsertPoint::End(after));
    builder.ret(&[]);
    let phi = func.def_inst(number).expect("a φ defines it");
    set_incoming(func, phi, [(before, first), (latch, next)]);
}
