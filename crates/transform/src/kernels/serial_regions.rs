//! Regions that run for one work-item after the other, beside others that run for a brush.
//!
//! Where lanes access memory each at a place of its own, vector code does lane by lane what scalar code does without taking
//! vectors apart, and with the caches and idioms of loops that one work-item runs through. Other states of the same kernel may well
//! be for vectors. So a group function launches those, and has these as loops over work-items.
//!
//! Requires: lanes do not see each other between barriers.  Ensures: the region is a function of one work-item, to be inlined.

use super::region::KernelRegion;
use super::{KernelOptions, insts_of, observes_lanes};
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, divergence};
use heddle_ir::module::Param;
use heddle_ir::ops::Effect;
use heddle_ir::words::Flag;
use heddle_ir::{Function, Inst, Op, Scalar, Value};

/// Makes regions run for one work-item after the other whose accesses are scattered, if others are not. `kernel` is what they were made
/// of. Gives how many do.
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

/// Whether what a region does for one work-item does not depend on when others do it.
fn can_be_serialized(region: &KernelRegion) -> bool {
    let func = &region.func;
    region.spills_per_lane
        && insts_of(func).into_iter().all(|inst| {
            let data = func.inst(inst);
            let is_atomic = data.access().is_some_and(|access| access.atomic.is_some());
            let waits = matches!(data.op, Op::Call | Op::Launch | Op::Barrier | Op::Fence);
            !is_atomic
                && !waits
                && !data.flags.has(Flag::Volatile)
                && data.op.info().effect != Effect::Horizontal
        })
}

/// Whether at least half of what a region accesses, loops counted more, is neither side by side nor at one address. Of a region whose
/// loops have several entries that is not known: one that begins behind a barrier in a loop may be such, whatever its kernel is.
fn is_scattered(func: &Function, brush: &[u32]) -> bool {
    /// How often a loop is taken to go round.
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

/// Makes a region a function of one work-item, which gets the number of its lane last if it takes memory.
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
