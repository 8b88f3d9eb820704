//! Lets lanes share the bytes of arguments that are passed by value.
//!
//! An argument that is passed by value is a pointer to private memory: each lane may write its own copy. Where a kernel only reads
//! it, the copies stay what the launch has passed, so loads from it are loads from constant memory, on which lanes agree. SYCL passes
//! offsets and strides of arrays in this way, and what kernels compute addresses and branches from would differ between lanes otherwise.
//!
//! Requires: Stage::Source, calls are inlined.  Ensures: Stage::Source, and equal values.

use super::users_of;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::{Function, Inst, Op, Space, Type, Value};
use std::collections::BTreeSet;

/// Casts the addresses of loads from parameters in private memory that are only read.
pub(super) fn share_argument_bytes(func: &mut Function) {
    let is_private = |&param: &Value| func.value_type(param) == Type::ptr(Space::Private);
    let params: Vec<Value> = func.params().iter().copied().filter(is_private).collect();
    if params.is_empty() {
        return;
    }
    let users = users_of(func);
    let loads: Vec<Inst> =
        params.into_iter().filter_map(|param| loads_from(func, &users, param)).flatten().collect();
    for load in loads {
        let address = func.inst(load).args[0];
        let origin = func.inst(load).origin;
        let mut builder = Builder::new(func, InsertPoint::Before(load));
        builder.set_origin(origin);
        let shared = builder.op_to(Op::SpaceCast, Type::ptr(Space::Constant), &[address]);
        func.inst_mut(load).args[0] = shared;
    }
}

/// Returns the loads through a pointer; none if anything else uses it or an address computed from it.
fn loads_from(
    func: &Function,
    users: &SecondaryMap<Value, Vec<Inst>>,
    pointer: Value,
) -> Option<BTreeSet<Inst>> {
    let (mut loads, mut work) = (BTreeSet::new(), vec![pointer]);
    while let Some(address) = work.pop() {
        for &user in &users[address] {
            let data = func.inst(user);
            match data.op {
                Op::Load => _ = loads.insert(user),
                Op::PtrAdd => work.extend(func.result(user)),
                _ => return None,
            }
        }
    }
    Some(loads)
}
