//! Specializes functions for the shapes of their arguments and for masked calls.
//!
//! Requires: Stage::Canonical.  Ensures: Stage::Canonical, and all lanes of a brush enter each lock-step function.
//! Afterwards each call in lock-step code is to a specialization that declares its parameters `uniform`, `linear` or `varying`, and
//! their alignment. So the callee is vectorized as well as if it were inlined. Where only some lanes may call, the specialization has
//! one more parameter, a mask of the calling lanes:
//!
//! ```text
//!     block3:                          block3:
//!       v7 = call @f(v5, v6)             v8 = mask
//!                                        v7 = call @f.uvm(v5, v6, v8)
//!     func @f(v0: i32, v1: i32)        func @f.uvm(v0: i32 uniform, v1: i32 varying, v2: i1 varying)
//!     block0:                          block4:
//!       …                                br v2, block0, block5       lanes that do not call branch to the end
//! ```
//!
//! An inactive lane thus diverges at the entry, and later passes need no entry masks. A kernel whose work-group may end within a brush
//! masks the lanes without work-items in the same way.

mod lock_step;
mod entry;
mod specializations;
mod results;

pub use lock_step::{LockStepFunction, lock_step_functions, root_functions};
pub(crate) use lock_step::{roots, sequential_functions};

use heddle_analysis::shape::{Activation, Geometry, GroupExtent, Poison};
use heddle_analysis::{ControlTables, Divergence, InitialShapes, Shape, divergence};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Detail, InstData, LaunchDetail};
use heddle_ir::module::{DeclaredShape, FunctionKind, Param};
use heddle_ir::{Function, Inst, Module, Op, Value, ValueDef};
use lock_step::insts_with_op;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use specializations::{ArgumentFact, Specialization, SpecializationTable, declare};
use std::sync::Arc;

use crate::widen::may_be_private;

/// Minimum alignment worth specializing for, of pointers and of strided integers; and the maximum that any access gains from.
const MIN_ALIGN: [u32; 2] = [16, 4];
const MAX_ALIGN: u32 = 64;
/// Maximum number of operations through which an argument is traced.
const MAX_TRACE_STEPS: usize = 32;

/// Specializes all functions that lanes enter. `brush` enters those that nothing launches or calls. Removes functions without users.
pub fn specialize(module: &mut Module, brush: &[u32]) {
    let sequential = sequential_functions(module);
    let roots: FxHashSet<String> = roots(module, &sequential).into_iter().collect();
    let mut table = SpecializationTable::new(module);
    module.functions.retain(|func| sequential.contains(&func.name) || roots.contains(&func.name));
    for func in &mut module.functions {
        if sequential.contains(&func.name) {
            launch_specializations(func, &mut table);
            continue;
        }
        if matches!(func.kind, FunctionKind::Kernel(_)) {
            entry::mask_lanes_outside_group(func, brush);
        }
        let brush = SmallVec::from_slice(brush);
        call_specializations(
            func,
            &mut table,
            &LockStepFunction { name: func.name.clone(), brush, is_region: false },
        );
    }
    let mut lock_step_functions_by_name: FxHashMap<String, LockStepFunction> = FxHashMap::default();
    // Specializations request further ones.
    while !table.created.is_empty() {
        for (mut func, lock_step) in std::mem::take(&mut table.created) {
            call_specializations(&mut func, &mut table, &lock_step);
            module.functions.push(func);
            lock_step_functions_by_name.insert(lock_step.name.clone(), lock_step);
        }
    }
    results::declare_uniform_results(module, &lock_step_functions_by_name);
}

/// Replaces the launches of sequential code by launches of specializations.
fn launch_specializations(func: &mut Function, table: &mut SpecializationTable) {
    for inst in insts_with_op(func, Op::Launch) {
        let data = func.inst(inst).clone();
        let Detail::Launch(launch) = &data.detail else { continue };
        let declaration = Arc::clone(&func.callees[launch.callee]);
        if !table.is_defined(&declaration.name) {
            continue;
        }
        let params = declaration.signature.params.iter().map(ArgumentFact::declared).collect();
        let specialization =
            Specialization { name: declaration.name.clone(), params, is_masked: launch.masked };
        let name = table.get_or_create(&specialization, &launch.brush, true);
        let callee = func.make_callee(&Arc::new(declare(&declaration, &specialization, name)));
        let launch = LaunchDetail { callee, ..(**launch).clone() };
        let mut args = data.args.clone();
        args.extend(specialization.is_masked.then(|| args.last().copied()).flatten());
        *func.inst_mut(inst) = InstData { args, detail: Detail::Launch(Box::new(launch)), ..data };
    }
    func.remove_unused_callees();
}

/// Replaces the calls of a lock-step function by calls of specializations.
fn call_specializations(func: &mut Function, table: &mut SpecializationTable, lock_step: &LockStepFunction) {
    let is_defined =
        |inst: &Inst| func.callee_of(func.inst(*inst)).is_some_and(|callee| table.is_defined(&callee.name));
    let calls: Vec<Inst> = insts_with_op(func, Op::Call).into_iter().filter(is_defined).collect();
    if calls.is_empty() {
        // Removed code may have had calls.
        func.remove_unused_callees();
        return;
    }
    let control = ControlTables::new(func);
    let geometry = geometry_of(func, &lock_step.brush, lock_step.is_region);
    let initial = InitialShapes::declared(func, geometry).with_entry(Activation::Full);
    let facts = divergence(func, &control, &initial);
    let has_private_integers = converts_private_addresses(func, &facts);
    for inst in calls {
        let specialization = specialization_of_call(func, &control, &facts, has_private_integers, inst);
        let callee = func.callee_of(func.inst(inst)).expect("a call has a callee");
        let specialization = table.limit(specialization, callee, &lock_step.brush, lock_step.is_region);
        let name = table.get_or_create(&specialization, &lock_step.brush, lock_step.is_region);
        replace_call(func, inst, &specialization, name);
    }
    func.remove_unused_callees();
}

/// Returns the specialization that fits a call.
fn specialization_of_call(
    func: &Function,
    control: &ControlTables,
    facts: &Divergence,
    has_private_integers: bool,
    inst: Inst,
) -> Specialization {
    let data = func.inst(inst);
    let callee = func.callee_of(data).expect("a call has a callee");
    let block = func.layout.block_of(inst).expect("a call stands in a block");
    let fact_of = |(param, &arg): (&Param, &Value)| {
        let declared = ArgumentFact::declared(param);
        let fact = facts.fact_at(func, control, arg, block);
        let is_number = func.value_type(arg).scalar().is_int();
        let Shape::Strided { strides, base } = fact.shape else { return declared };
        if may_be_private(func, arg) && !facts.points_to_shared_memory(arg) {
            return declared;
        }
        let is_open = declared.shape == DeclaredShape::Varying;
        let shape = match () {
            () if !is_open => declared.shape,
            () if strides.is_zero() => DeclaredShape::Uniform,
            () if is_number && has_private_integers => return declared,
            () if fact.poison != Poison::Any || is_scalar_sum(func, arg) => {
                DeclaredShape::Linear(strides.shown().into())
            }
            () => return declared,
        };
        // The alignment of a uniform integer affects no access.
        let matters = !is_number || !strides.is_zero();
        let align = base.align().min(MAX_ALIGN.into()) as u32;
        let is_useful = align >= MIN_ALIGN[usize::from(is_number)];
        let align = if matters && is_useful { align.max(declared.align) } else { declared.align };
        ArgumentFact { shape, align }
    };
    Specialization {
        name: callee.name.clone(),
        params: callee.signature.params.iter().zip(&data.args).map(fact_of).collect(),
        is_masked: facts.activation(block) != Activation::Full && !data.is_total(),
    }
}

/// True if vector code computes a strided value as a scalar even if some lanes are poison: a sum of scalar parameters and constants.
fn is_scalar_sum(func: &Function, value: Value) -> bool {
    let mut open: SmallVec<[Value; 8]> = SmallVec::from_slice(&[value]);
    for _ in 0..MAX_TRACE_STEPS {
        let Some(value) = open.pop() else { return true };
        match func.value_def(value) {
            ValueDef::Const => {}
            ValueDef::Param(index) => {
                let shape = func.signature.params.get(index as usize).and_then(|param| param.shape.as_ref());
                if !matches!(shape, Some(DeclaredShape::Uniform | DeclaredShape::Linear(_))) {
                    return false;
                }
            }
            ValueDef::Result(inst, _) => {
                let data = func.inst(inst);
                let is_sum = matches!(data.op, Op::Add | Op::Sub)
                    || data.op == Op::PtrAdd && func.value_type(data.args[1]).scalar().bits() == 64;
                let is_line = is_sum && data.args.iter().all(|&arg| func.value_type(arg).lanes().is_none());
                if !is_line {
                    return false;
                }
                open.extend(data.args.iter().copied());
            }
            ValueDef::None => return false,
        }
    }
    open.is_empty()
}

/// True if the program converts possibly private addresses to integers: these differ between lanes in vector code.
fn converts_private_addresses(func: &Function, facts: &Divergence) -> bool {
    insts_with_op(func, Op::Ptrtoint).into_iter().any(|inst| {
        let address = func.inst(inst).args[0];
        may_be_private(func, address) && !facts.points_to_shared_memory(address)
    })
}

fn replace_call(func: &mut Function, inst: Inst, specialization: &Specialization, name: String) {
    let data = func.inst(inst).clone();
    let declaration = func.callee_of(&data).expect("a call has a callee").clone();
    let callee = func.make_callee(&Arc::new(declare(&declaration, specialization, name)));
    let mut args = data.args.clone();
    if specialization.is_masked {
        args.push(Builder::new(func, InsertPoint::Before(inst)).op(Op::Mask, &[]));
    }
    *func.inst_mut(inst) = InstData { args, detail: Detail::Call(callee), ..data };
}

/// Adds a mask parameter for the entering lanes to a function, and canonicalizes it.
pub fn enter_with_mask(func: &mut Function) {
    crate::canonicalize(func);
    let mask = func.add_param(specializations::mask_param());
    entry::add_entry_mask(func, |_| mask);
}

/// Returns the geometry of a function that this brush enters.
pub fn geometry_of(func: &Function, brush: &[u32], is_region: bool) -> Geometry {
    let mut geometry = Geometry::brush(brush);
    if is_region {
        geometry.local = entry::tile_of(brush).map(GroupExtent::Known);
        geometry.offset_align = [0; 3];
    } else if let FunctionKind::Kernel(Some(sizes)) = func.kind {
        geometry.local = sizes.map(GroupExtent::Known);
    }
    geometry
}
