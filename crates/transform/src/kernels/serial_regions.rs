//! Runs regions with scattered accesses one work-item at a time, while other regions of the kernel run brushes.
//!
//! Where each lane accesses its own part of memory, vector code works lane by lane and must take vectors apart. Scalar code avoids that,
//! uses caches better and keeps loop idioms of a single work-item. Other states of the same kernel may still profit from
//! vectors. So the group function launches the latter and loops over work-items for the former.
//!
//! Requires: no communication between lanes except at barriers.  Ensures: a serial region is a function of one work-item, to be inlined.

use super::region::KernelRegion;
use super::{KernelOptions, insts_of, observes_lanes};
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, divergence};
use heddle_ir::module::Param;
use heddle_ir::ops::{Effect, Observed};
use heddle_ir::{Function, Inst, Op, Scalar, Value};

/// Turns the regions with scattered accesses into serial ones, unless all regions are scattered. Returns the number of serial regions.
pub(super) fn serialize_scattered(
    kernel: &Function,
    regions: &mut [KernelRegion],
    options: &KernelOptions,
) -> usize {
    if options.lanes() < 2 || options.brush.len() > 1 || observes_lanes(kernel) {
        return 0;
    }
    let chosen: Vec<bool> =
        regions.iter().map(|it| can_be_serialized(it) && is_scattered(&it.func, &options.brush)).collect();
    if chosen.iter().all(|&is_chosen| is_chosen) {
        return 0;
    }
    for (region, _) in regions.iter_mut().zip(&chosen).filter(|(_, is_chosen)| **is_chosen) {
        make_sequential(region);
    }
    chosen.into_iter().filter(|&is_chosen| is_chosen).count()
}

/// True if a region's effect for one work-item does not depend on when other work-items run it.
fn can_be_serialized(region: &KernelRegion) -> bool {
    let func = &region.func;
    region.spills_per_lane
        && insts_of(func).into_iter().all(|inst| {
            let data = func.inst(inst);
            !data.observes(Observed::Order)
                && !matches!(data.op.info().effect, Effect::Callee | Effect::Horizontal)
        })
}

/// True if at least half of a region's accesses, weighted by loop depth, are neither contiguous nor uniform. False for irreducible
/// control flow, where divergence is unknown: a region that starts after a barrier inside a loop may be irreducible.
fn is_scattered(func: &Function, brush: &[u32]) -> bool {
    /// Assumed trip count of a loop.
    const ROUNDS: u32 = 8;
    const MAX_DEPTH: usize = 6;
    let control = ControlTables::new(func);
    if !control.cycles.is_graph_reducible() {
        return false;
    }
    let facts = divergence(func, &control, &InitialShapes::declared(func, Geometry::brush(brush)));
    let weight_of = |address: Value, bytes: u32, times: u64| {
        let step = facts.shape(address).strides().map(|strides| strides.along(0));
        let is_together = step.is_some_and(|step| step == 0 || step.unsigned_abs() == bytes.into());
        if is_together { [times, 0] } else { [0, times] }
    };
    let [mut together, mut scattered] = [0u64; 2];
    for block in func.blocks() {
        let depth = control.cycles.depth_of_block(block).min(MAX_DEPTH) as u32;
        let times = u64::from(ROUNDS).pow(depth);
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            let (address, ty) = match (data.op, &data.args[..]) {
                (Op::Load, &[address]) => {
                    let Some(result) = func.result(inst) else { continue };
                    (address, func.value_type(result))
                }
                (Op::Store, &[stored, address]) => (address, func.value_type(stored)),
                _ => continue,
            };
            let [side_by_side, apart] = weight_of(address, ty.bytes(), times);
            together = together.saturating_add(side_by_side);
            scattered = scattered.saturating_add(apart);
        }
    }
    scattered > 0 && scattered >= together
}

/// Turns a region into a function of one work-item. If it takes brush memory, the lane number becomes its last parameter.
fn make_sequential(region: &mut KernelRegion) {
    let func = &mut region.func;
    for param in &mut func.signature.params {
        param.shape = None;
        param.align = if param.ty.scalar().is_ptr() { param.align } else { 1 };
    }
    for result in &mut func.signature.results {
        result.shape = None;
    }
    let lanes: Vec<Inst> =
        insts_of(func).into_iter().filter(|&inst| func.inst(inst).op == Op::Lane).collect();
    if region.takes_brush_memory {
        let lane = func.add_param(Param::new(Scalar::I64.into()));
        let results: Vec<Value> = lanes.iter().filter_map(|&inst| func.result(inst)).collect();
        func.map_values(|value| if results.contains(&value) { lane } else { value });
        lanes.into_iter().for_each(|inst| func.remove_inst(inst));
    }
    region.is_serial = true;
}
