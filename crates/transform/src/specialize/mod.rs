//! Gives each function the forms in which lanes enter it: which parameters they share, and whether all of them come.
//!
//! Requires: Stage::Canonical.  Ensures: Stage::Canonical, and all lanes of a brush enter each lock-step function.
//! After it, a call in lock-step code is of a form that declares its parameters `uniform` or `varying`; where only some
//! lanes may call, the form has one more parameter, which says for each lane whether it comes along:
//!
//! ```text
//!     block3:                          block3:
//!       v7 = call @f(v5, v6)             v8 = mask
//!                                        v7 = call @f.uvm(v5, v6, v8)
//!     func @f(v0: i32, v1: i32)        func @f.uvm(v0: i32 uniform, v1: i32 varying, v2: i1 varying)
//!     block0:                          block4:
//!       …                                br v2, block0, block5       who does not come along goes to the end
//! ```
//!
//! So a lane that is not there is one that parts from the others at once, and the passes to come need not know of it. A
//! kernel whose work-group may end within a brush asks in the same way whether the lane is a work-item at all.

mod entered;
mod entry;
mod forms;
mod results;

pub use entered::{LockStep, entered_functions, lock_step_functions};
pub(crate) use entered::{roots, sequential_functions};

use entered::insts_of;
use forms::{Form, Forms, declared};
use heddle_analysis::shape::{Activation, Geometry, Size};
use heddle_analysis::{ControlTables, Divergence, InitialShapes, divergence};
use heddle_ir::builder::{At, Builder};
use heddle_ir::inst::{Detail, InstData, Launch};
use heddle_ir::module::{DeclaredShape, Kind, Param};
use heddle_ir::{Function, Inst, Module, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

use crate::widen::may_be_private;

/// Gives every function that lanes enter its forms; `brush` enters those that nobody launches or calls. Functions that
/// are not needed any more go.
pub fn specialize(module: &mut Module, brush: &[u32]) {
    let sequential = sequential_functions(module);
    let roots: FxHashSet<String> = roots(module, &sequential).into_iter().collect();
    let mut forms = Forms::new(module);
    module.functions.retain(|func| sequential.contains(&func.name) || roots.contains(&func.name));
    for func in &mut module.functions {
        if sequential.contains(&func.name) {
            launch_forms(func, &mut forms);
            continue;
        }
        if matches!(func.kind, Kind::Kernel(_)) {
            entry::ask_whether_inside(func, brush);
        }
        let brush = SmallVec::from_slice(brush);
        call_forms(func, &mut forms, &LockStep { name: func.name.clone(), brush, is_region: false });
    }
    let mut entered_as: FxHashMap<String, LockStep> = FxHashMap::default();
    // Forms ask for further ones.
    while !forms.made.is_empty() {
        for (mut func, entered) in std::mem::take(&mut forms.made) {
            call_forms(&mut func, &mut forms, &entered);
            module.functions.push(func);
            entered_as.insert(entered.name.clone(), entered);
        }
    }
    results::declare_shared(module, &entered_as);
}

/// Lets sequential code launch forms.
fn launch_forms(func: &mut Function, forms: &mut Forms) {
    for inst in insts_of(func, Op::Launch) {
        let data = func.inst(inst).clone();
        let Detail::Launch(launch) = &data.detail else { continue };
        let declaration = Arc::clone(&func.callees[launch.callee]);
        if !forms.is_ours(&declaration.name) {
            continue;
        }
        let shapes = declaration.signature.params.iter();
        let shapes = shapes.map(|param| param.shape.clone().unwrap_or(DeclaredShape::Varying)).collect();
        let form = Form { name: declaration.name.clone(), shapes, is_masked: launch.masked };
        let name = forms.request(&form, &launch.brush, true);
        let callee = func.make_callee(&Arc::new(declared(&declaration, &form, name)));
        let launch = Launch { callee, ..(**launch).clone() };
        let mut args = data.args.clone();
        args.extend(form.is_masked.then(|| args.last().copied()).flatten());
        *func.inst_mut(inst) = InstData { args, detail: Detail::Launch(Box::new(launch)), ..data };
    }
    func.forget_unused_callees();
}

/// Lets a lock-step function call forms.
fn call_forms(func: &mut Function, forms: &mut Forms, entered: &LockStep) {
    let is_ours =
        |inst: &Inst| func.callee_of(func.inst(*inst)).is_some_and(|callee| forms.is_ours(&callee.name));
    let calls: Vec<Inst> = insts_of(func, Op::Call).into_iter().filter(is_ours).collect();
    if calls.is_empty() {
        // Code that went may have called.
        func.forget_unused_callees();
        return;
    }
    let control = ControlTables::new(func);
    let geometry = geometry_of(func, &entered.brush, entered.is_region);
    let initial = InitialShapes::declared(func, geometry).entered_by(Activation::Full);
    let facts = divergence(func, &control, &initial);
    for inst in calls {
        let form = form_of_call(func, &control, &facts, inst);
        let callee = func.callee_of(func.inst(inst)).expect("a call has a callee");
        let form = forms.bounded(form, callee, &entered.brush, entered.is_region);
        let name = forms.request(&form, &entered.brush, entered.is_region);
        replace_call(func, inst, &form, name);
    }
    func.forget_unused_callees();
}

/// The form of a function that a call needs.
fn form_of_call(func: &Function, control: &ControlTables, facts: &Divergence, inst: Inst) -> Form {
    let data = func.inst(inst);
    let callee = func.callee_of(data).expect("a call has a callee");
    let block = func.layout.block_of(inst).expect("a call stands in a block");
    let shape_of = |(param, &arg): (&Param, &Value)| match &param.shape {
        Some(shape) if *shape != DeclaredShape::Varying => shape.clone(),
        _ if may_be_private(func, arg) => DeclaredShape::Varying,
        _ if facts.fact_at(func, control, arg, block).is_uniform() => DeclaredShape::Uniform,
        _ => DeclaredShape::Varying,
    };
    Form {
        name: callee.name.clone(),
        shapes: callee.signature.params.iter().zip(&data.args).map(shape_of).collect(),
        is_masked: facts.activation(block) != Activation::Full && !data.is_total(),
    }
}

fn replace_call(func: &mut Function, inst: Inst, form: &Form, name: String) {
    let data = func.inst(inst).clone();
    let declaration = func.callee_of(&data).expect("a call has a callee").clone();
    let callee = func.make_callee(&Arc::new(declared(&declaration, form, name)));
    let mut args = data.args.clone();
    if form.is_masked {
        args.push(Builder::new(func, At::Before(inst)).op(Op::Mask, &[]));
    }
    *func.inst_mut(inst) = InstData { args, detail: Detail::Call(callee), ..data };
}

/// Gives a function one more parameter, which says for each lane whether it comes along, and makes it canonical.
pub fn enter_with_mask(func: &mut Function) {
    crate::canonicalize(func);
    let mask = func.add_param(forms::mask_param());
    entry::enter_if(func, |_| mask);
}

/// What is known of the places of lanes of a function that this brush enters.
pub fn geometry_of(func: &Function, brush: &[u32], is_region: bool) -> Geometry {
    let mut geometry = Geometry::brush(brush);
    if is_region {
        geometry.local = [0, 1, 2].map(|along| Size::Known(brush.get(along).copied().unwrap_or(1)));
        geometry.offset_align = [0; 3];
    } else if let Kind::Kernel(Some(sizes)) = func.kind {
        geometry.local = sizes.map(Size::Known);
    }
    geometry
}
