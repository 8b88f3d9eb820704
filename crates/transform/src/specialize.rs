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

use heddle_analysis::shape::{Activation, Geometry, Size};
use heddle_analysis::{ControlTables, Divergence, InitialShapes, divergence};
use heddle_ir::builder::{At, Builder};
use heddle_ir::inst::{Detail, InstData, Launch};
use heddle_ir::module::{Declaration, DeclaredShape, Kind, Param};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Function, Inst, Module, Op, Scalar, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

use crate::widen::{may_be_private, wide_name};

/// How a function is entered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Form {
    name: String,
    /// Of each parameter, whether lanes share it or come with a line; else it varies.
    shapes: Vec<DeclaredShape>,
    is_masked: bool,
}

/// A lock-step function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockStep {
    /// Its name.
    pub name: String,
    /// The brush that enters it.
    pub brush: SmallVec<[u32; 3]>,
    /// Whether the brush is a work-group by itself: it is part of a region that sequential code launches.
    pub is_region: bool,
}

/// Gives every function that lanes enter its forms; `brush` enters those that nobody launches or calls. Functions that
/// are not needed any more go.
pub fn specialize(module: &mut Module, brush: &[u32]) {
    let sequential = sequential_functions(module);
    let mut pending = Vec::new();
    let mut forms: FxHashMap<(Form, SmallVec<[u32; 3]>), String> = FxHashMap::default();
    let sources: FxHashMap<String, Function> =
        module.functions.iter().map(|func| (func.name.clone(), func.clone())).collect();
    let mut names: FxHashSet<String> = sources.keys().cloned().collect();
    names.extend(module.declarations.iter().map(|declaration| declaration.name.clone()));
    let roots: Vec<String> = roots(module, &sequential);
    module.functions.retain(|func| sequential.contains(&func.name) || roots.contains(&func.name));
    for name in &roots {
        let func = module.function_mut(name).expect("a root is a function");
        if matches!(func.kind, Kind::Kernel(_)) {
            ask_whether_inside(func, brush);
        }
        pending.push(LockStep { name: name.clone(), brush: SmallVec::from_slice(brush), is_region: false });
    }
    let mut request = |form: Form,
                       brush: &SmallVec<[u32; 3]>,
                       is_region: bool,
                       made: &mut Vec<Function>,
                       pending: &mut Vec<LockStep>| {
        if let Some(name) = forms.get(&(form.clone(), brush.clone())) {
            return name.clone();
        }
        let source = &sources[&form.name];
        let mut name = form_name(source, &form);
        while !names.insert(name.clone()) {
            name.push('_');
        }
        made.push(instance(source, &form, &name));
        pending.push(LockStep { name: name.clone(), brush: brush.clone(), is_region });
        forms.insert((form, brush.clone()), name.clone());
        name
    };
    let mut made = Vec::new();
    for func in module.functions.iter_mut().filter(|func| sequential.contains(&func.name)) {
        for inst in insts_of(func, Op::Launch) {
            let data = func.inst(inst).clone();
            let Detail::Launch(launch) = &data.detail else { continue };
            let declaration = Arc::clone(&func.callees[launch.callee]);
            if !sources.contains_key(&declaration.name) {
                continue;
            }
            let shapes = declaration.signature.params.iter();
            let shapes = shapes.map(|param| param.shape.clone().unwrap_or(DeclaredShape::Varying)).collect();
            let form = Form { name: declaration.name.clone(), shapes, is_masked: launch.masked };
            let name = request(form.clone(), &launch.brush, true, &mut made, &mut pending);
            let callee = func.make_callee(&Arc::new(declared(&declaration, &form, name)));
            let launch = Launch { callee, ..(**launch).clone() };
            let mut args = data.args.clone();
            args.extend(form.is_masked.then(|| args.last().copied()).flatten());
            *func.inst_mut(inst) = InstData { args, detail: Detail::Launch(Box::new(launch)), ..data };
        }
    }
    module.functions.iter_mut().for_each(Function::forget_unused_callees);
    module.functions.append(&mut made);
    while let Some(next) = pending.pop() {
        let func = module.function_mut(&next.name).expect("what waits is a function");
        let calls: Vec<Inst> = insts_of(func, Op::Call);
        let is_ours = |inst: &Inst| {
            func.callee_of(func.inst(*inst)).is_some_and(|callee| sources.contains_key(&callee.name))
        };
        let calls: Vec<Inst> = calls.into_iter().filter(is_ours).collect();
        if !calls.is_empty() {
            let control = ControlTables::new(func);
            let geometry = geometry_of(func, &next.brush, next.is_region);
            let initial = InitialShapes::declared(func, geometry).entered_by(Activation::Full);
            let facts = divergence(func, &control, &initial);
            for inst in calls {
                let form = form_of_call(func, &control, &facts, inst);
                let name = request(form.clone(), &next.brush, next.is_region, &mut made, &mut pending);
                replace_call(func, inst, &form, name);
            }
            func.forget_unused_callees();
        }
        module.functions.append(&mut made);
    }
}

/// The lock-step functions of a module after specialization, or of one that calls nothing; `brush` enters those that
/// nobody launches or calls. Fails if two brushes enter one function.
pub fn lock_step_functions(module: &Module, brush: &[u32]) -> Result<Vec<LockStep>, String> {
    let sequential = sequential_functions(module);
    let mut work: Vec<LockStep> = roots(module, &sequential)
        .into_iter()
        .map(|name| LockStep { name, brush: SmallVec::from_slice(brush), is_region: false })
        .collect();
    for func in module.functions.iter().filter(|func| sequential.contains(&func.name)) {
        for inst in insts_of(func, Op::Launch) {
            let Detail::Launch(launch) = &func.inst(inst).detail else { continue };
            let name = func.callees[launch.callee].name.clone();
            work.push(LockStep { name, brush: launch.brush.clone(), is_region: true });
        }
    }
    let mut found: FxHashMap<String, LockStep> = FxHashMap::default();
    while let Some(next) = work.pop() {
        let Some(func) = module.function(&next.name) else { continue };
        match found.get(&next.name) {
            Some(known) if *known == next => continue,
            Some(_) => {
                return Err(format!(
                    "@{} is entered by different brushes: run `specialize` before",
                    next.name
                ));
            }
            None => {}
        }
        let called = insts_of(func, Op::Call);
        work.extend(called.iter().filter_map(|&inst| {
            Some(LockStep { name: func.callee_of(func.inst(inst))?.name.clone(), ..next.clone() })
        }));
        found.insert(next.name.clone(), next);
    }
    Ok(module.functions.iter().filter_map(|func| found.remove(&func.name)).collect())
}

/// The lock-step functions that are entered from outside of the module.
pub fn entered_functions(module: &Module) -> Vec<String> {
    roots(module, &sequential_functions(module))
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

fn insts_of(func: &Function, op: Op) -> Vec<Inst> {
    func.blocks().flat_map(|block| func.block_insts(block)).filter(|&inst| func.inst(inst).op == op).collect()
}

/// The functions that one thread executes: those that launch, and what they call.
fn sequential_functions(module: &Module) -> FxHashSet<String> {
    let mut found: FxHashSet<String> = FxHashSet::default();
    let mut work: Vec<&Function> =
        module.functions.iter().filter(|func| !insts_of(func, Op::Launch).is_empty()).collect();
    while let Some(func) = work.pop() {
        if !found.insert(func.name.clone()) {
            continue;
        }
        let callees = insts_of(func, Op::Call);
        work.extend(
            callees.iter().filter_map(|&inst| module.function(&func.callee_of(func.inst(inst))?.name)),
        );
    }
    found
}

/// The lock-step functions that are entered from outside: kernels, and what nobody here calls. Of functions that only
/// call each other, the first.
fn roots(module: &Module, sequential: &FxHashSet<String>) -> Vec<String> {
    let mut called: FxHashSet<String> = FxHashSet::default();
    for func in &module.functions {
        // Who only calls itself is called by nobody else.
        called.extend(callees(func).filter(|name| *name != func.name));
    }
    let is_root = |func: &&Function| matches!(func.kind, Kind::Kernel(_)) || !called.contains(&func.name);
    let candidates: Vec<&Function> =
        module.functions.iter().filter(|func| !sequential.contains(&func.name)).collect();
    let mut roots: Vec<String> =
        candidates.iter().copied().filter(is_root).map(|func| func.name.clone()).collect();
    let launched = module.functions.iter().filter(|func| sequential.contains(&func.name)).flat_map(callees);
    let mut work: Vec<String> = roots.iter().cloned().chain(launched).collect();
    let mut reached: FxHashSet<String> = FxHashSet::default();
    let mut rest = candidates.iter();
    loop {
        while let Some(name) = work.pop() {
            if let Some(func) = module.function(&name).filter(|_| reached.insert(name)) {
                work.extend(callees(func));
            }
        }
        let Some(left) = rest.find(|func| !reached.contains(&func.name)) else { return roots };
        roots.push(left.name.clone());
        work.push(left.name.clone());
    }
}

/// The functions that a function calls or launches.
fn callees(func: &Function) -> impl Iterator<Item = String> + '_ {
    let all = insts_of(func, Op::Call).into_iter().chain(insts_of(func, Op::Launch));
    all.filter_map(|inst| Some(func.callee_of(func.inst(inst))?.name.clone()))
}

fn form_name(source: &Function, form: &Form) -> String {
    let letter = |shape: &DeclaredShape| match shape {
        DeclaredShape::Uniform => 'u',
        DeclaredShape::Linear(_) => 'l',
        DeclaredShape::Varying => 'v',
    };
    let shapes: String = form.shapes.iter().map(letter).chain(form.is_masked.then_some('m')).collect();
    match shapes.is_empty() {
        true => format!("{}.lanes", source.name),
        false => format!("{}.{shapes}", source.name),
    }
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

/// What callers know of a form.
fn declared(declaration: &Declaration, form: &Form, name: String) -> Declaration {
    let mut signature = declaration.signature.clone();
    for (param, shape) in signature.params.iter_mut().zip(&form.shapes) {
        param.shape = Some(shape.clone());
    }
    if form.is_masked {
        signature.params.push(mask_param());
    }
    Declaration { name, kind: Kind::Function, signature }
}

fn mask_param() -> Param {
    Param { shape: Some(DeclaredShape::Varying), ..Param::new(Type::I1) }
}

/// A form of a function.
fn instance(source: &Function, form: &Form, name: &str) -> Function {
    let mut func = source.clone();
    func.name = name.to_string();
    func.kind = Kind::Function;
    for (param, shape) in func.signature.params.iter_mut().zip(&form.shapes) {
        param.shape = Some(shape.clone());
    }
    if form.is_masked {
        let mask = func.add_param(mask_param());
        enter_if(&mut func, |_| mask);
    }
    func
}

/// Lets lanes in only where a condition, written at the start, holds; the others go to the end at once.
fn enter_if(func: &mut Function, condition: impl FnOnce(&mut Builder<'_>) -> Value) {
    let old_entry = func.entry();
    let results: Vec<Type> = func.signature.results.iter().map(|result| result.ty).collect();
    let old_ret = func.blocks().find_map(|block| {
        let inst = func.terminator(block)?;
        (func.inst(inst).op == Op::Ret).then_some((block, inst))
    });
    let entry = func.new_block();
    func.layout.prepend_block(entry);
    let end = func.append_block();
    let mut builder = Builder::new(func, At::End(entry));
    let condition = condition(&mut builder);
    builder.branch(condition, old_entry, end);
    let mut values: Vec<Value> = results.iter().map(|&ty| builder.func.make_poison(ty)).collect();
    if let Some((block, inst)) = old_ret {
        let given = builder.func.inst(inst).args.clone();
        let origin = builder.func.inst(inst).origin;
        *builder.func.inst_mut(inst) = InstData { origin, ..InstData::jump(end) };
        builder.go(At::End(end));
        for (value, &given) in values.iter_mut().zip(&given) {
            let ty = builder.func.value_type(given);
            *value = builder.phi(ty, &[(entry, *value), (block, given)], None);
        }
    }
    builder.go(At::End(end));
    builder.ret(&values);
}

/// Lets only lanes in that are work-items, unless the group is known to be whole brushes. A brush along the linear
/// order of a group runs out of it in the last dimension, a tile in each.
fn ask_whether_inside(func: &mut Function, brush: &[u32]) {
    let lanes: u32 = brush.iter().product();
    let is_linear = brush.iter().skip(1).all(|&extent| extent == 1);
    if let Kind::Kernel(Some(sizes)) = func.kind {
        let is_whole = match is_linear {
            true => sizes.iter().fold(1u32, |size, &along| size.saturating_mul(along)).is_multiple_of(lanes),
            false => brush.iter().zip(sizes).all(|(&extent, size)| size.is_multiple_of(extent)),
        };
        if is_whole {
            return;
        }
    }
    let dimensions: Vec<u8> = if is_linear { vec![2] } else { (0..brush.len() as u8).collect() };
    enter_if(func, |builder| {
        let mut inside = None;
        for along in dimensions {
            let mut ask = |op| {
                let data = InstData::new(op, [], Detail::Dimension(Some(along)));
                builder.value(data, Some(Scalar::I32.into()))
            };
            let [place, size] = [Op::LocalId, Op::LocalSize].map(&mut ask);
            let here = builder.icmp(IntPredicate::Ult, place, size);
            inside = Some(inside.map_or(here, |before| builder.op(Op::And, &[before, here])));
        }
        inside.expect("a brush has a dimension")
    });
}

impl LockStep {
    /// The name that its wide form gets.
    pub fn wide_name(&self) -> String {
        wide_name(&self.name, &self.brush)
    }
}
