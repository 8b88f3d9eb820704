//! Declares uniform results of specializations, so that callers need not treat them as vectors.

use heddle_analysis::divergence::{callees_first, divergence, returned_facts};
use heddle_analysis::shape::{Activation, Poison};
use heddle_analysis::{ControlTables, InitialShapes};
use heddle_ir::module::{DeclaredShape, ReturnValue};
use heddle_ir::{Function, Module, Op, Scalar, Space, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

use super::lock_step::insts_with_op;
use super::{LockStepFunction, geometry_of};

/// Declares uniform results, callees first. Masked specializations get none, since inactive lanes have no result; nor do launched
/// functions, since launches return vectors.
pub(super) fn declare_uniform_results(
    module: &mut Module,
    lock_step_functions_by_name: &FxHashMap<String, LockStepFunction>,
) {
    let launched = launched_functions(module);
    let mut known: FxHashMap<String, Vec<ReturnValue>> = FxHashMap::default();
    for number in callees_first(module) {
        let func = &mut module.functions[number];
        for declaration in func.callees.values_mut() {
            if let Some(results) = known.get(&declaration.name) {
                Arc::make_mut(declaration).signature.results.clone_from(results);
            }
        }
        let Some(lock_step) =
            lock_step_functions_by_name.get(&func.name).filter(|_| !launched.contains(&func.name))
        else {
            continue;
        };
        for index in uniform_results(func, lock_step) {
            func.signature.results[index].shape.get_or_insert(DeclaredShape::Uniform);
        }
        known.insert(func.name.clone(), func.signature.results.clone());
    }
}

fn launched_functions(module: &Module) -> FxHashSet<String> {
    let launches = module.functions.iter().flat_map(|func| {
        insts_with_op(func, Op::Launch).into_iter().filter_map(|inst| func.callee_of(func.inst(inst)))
    });
    launches.map(|callee| callee.name.clone()).collect()
}

fn uniform_results(func: &Function, lock_step: &LockStepFunction) -> Vec<usize> {
    if func.signature.results.is_empty() {
        return Vec::new();
    }
    let control = ControlTables::new(func);
    let geometry = geometry_of(func, &lock_step.brush, lock_step.is_region);
    let initial = InitialShapes::declared(func, geometry).with_entry(Activation::Full);
    let facts = divergence(func, &control, &initial);
    let results = returned_facts(func, &control, &facts).unwrap_or_default();
    // Private objects of lanes may get separate copies.
    let may_be_private = |ty: Type| matches!(ty, Type::Scalar(Scalar::Ptr(Space::Private | Space::Generic)));
    let is_uniform_result = |index: &usize| {
        results[*index].is_uniform()
            && results[*index].poison != Poison::Any
            && !may_be_private(func.signature.results[*index].ty)
    };
    (0..results.len()).filter(is_uniform_result).collect()
}
