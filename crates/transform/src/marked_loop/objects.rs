//! Gives the remainder loop its own copies of private objects.
//!
//! Full brushes access an object in all lanes, the remainder in some. With separate objects, one copy serves all lanes more often.

use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Function, Inst, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Copies each private object that only the blocks `inside` use, with the addresses computed from it before the loop. Returns the map
/// from originals to copies.
pub(super) fn copy_objects(func: &mut Function, inside: &EntitySet<Block>) -> FxHashMap<Value, Value> {
    let outside: Vec<Inst> = func
        .blocks()
        .filter(|&block| !inside.contains(block))
        .flat_map(|block| func.block_insts(block))
        .collect();
    let objects: Vec<Inst> =
        outside.iter().copied().filter(|&inst| func.inst(inst).op == Op::Alloca).collect();
    let mut copies = FxHashMap::default();
    for object in objects {
        for inst in find_address_users(func, &outside, object).unwrap_or_default() {
            let mut data = func.inst(inst).clone();
            data.map_values(|value| copies.get(&value).copied().unwrap_or(value));
            let types: Vec<Type> = func.results(inst).iter().map(|&value| func.value_type(value)).collect();
            let copy_inst = func.make_inst(data, &types);
            func.layout.insert_inst_after(copy_inst, inst);
            copies.extend(func.results(inst).iter().copied().zip(func.results(copy_inst).iter().copied()));
        }
    }
    copies
}

/// Returns an object and the instructions outside of the loop that use its address, in order. None if a use is neither address
/// arithmetic nor a `memset`.
fn find_address_users(func: &Function, outside: &[Inst], object: Inst) -> Option<Vec<Inst>> {
    let mut addresses: FxHashSet<Value> = func.result(object).into_iter().collect();
    let mut found = vec![object];
    for &inst in outside {
        let data = func.inst(inst);
        if !data.args.iter().any(|arg| addresses.contains(arg)) {
            continue;
        }
        match data.op {
            Op::SpaceCast | Op::PtrAdd if addresses.contains(&data.args[0]) => {
                addresses.extend(func.result(inst));
            }
            Op::Memset if addresses.contains(&data.args[0]) => {}
            _ => return None,
        }
        found.push(inst);
    }
    Some(found)
}
