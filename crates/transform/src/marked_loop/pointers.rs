//! Declares that pointers loaded in a loop address memory shared by lanes.
//!
//! The lanes' private objects are created for the loop. If none of their addresses is stored, no loaded pointer addresses one of them.
//! Loads then get the type `ptr(global)`, and equal pointers give equal values in all lanes.

use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, divergence};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::{Function, Inst, Op, Space, Type, Value};
use rustc_hash::FxHashMap;

/// Retypes loads of generic pointers to `ptr(global)` if no private address is stored.
pub(super) fn declare_loaded_pointers(func: &mut Function) {
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    let is_loaded = |inst: &Inst| {
        let pointer = func.result(*inst).filter(|_| func.inst(*inst).op == Op::Load);
        pointer.is_some_and(|pointer| func.value_type(pointer) == Type::ptr(Space::Generic))
    };
    let loads: Vec<Inst> = insts.iter().copied().filter(is_loaded).collect();
    if loads.is_empty() || stores_private_address(func, &insts) {
        return;
    }
    let mut cast: FxHashMap<Value, Value> = FxHashMap::default();
    for &load in &loads {
        let data = func.inst(load).clone();
        let origin = data.origin;
        let mut builder = Builder::new(func, InsertPoint::Before(load));
        builder.set_origin(origin);
        let pointer = builder.value(data, Some(Type::ptr(Space::Global)));
        let generic = builder.op_to(Op::SpaceCast, Type::ptr(Space::Generic), &[pointer]);
        cast.extend(func.result(load).map(|old| (old, generic)));
    }
    func.map_values(|value| cast.get(&value).copied().unwrap_or(value));
    loads.into_iter().for_each(|load| func.remove_inst(load));
}

/// True if the address of a private object may be stored, or if analysis loses track of it.
fn stores_private_address(func: &Function, insts: &[Inst]) -> bool {
    let mut objects = insts.iter().filter(|&&inst| func.inst(inst).op == Op::Alloca).peekable();
    if objects.peek().is_none() {
        return false;
    }
    let facts =
        divergence(func, &ControlTables::new(func), &InitialShapes::declared(func, Geometry::unknown()));
    objects.any(|&inst| func.result(inst).is_none_or(|address| facts.unique_object(address).is_none()))
}
