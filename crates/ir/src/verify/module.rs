//! Module rules: references between functions, globals and files.

use super::Stage;
use super::structure::{LayoutIndex, PlacedInst, used};
use super::types::check_signature;
use super::violation::{
    DeclarationMismatch, GlobalViolationKind, MAX_GLOBAL_BYTES, Violation, ViolationKind, ViolationLocation,
    ViolationSink,
};
use crate::constant::Constant;
use crate::entity::EntitySet;
use crate::function::Origin;
use crate::module::{Declaration, FunctionKind, Global, GlobalInit, Signature};
use crate::ops::{Effect, Op};
use crate::{Function, InstData, Module, Value, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Symbols of a module.
pub(super) struct ModuleSymbols<'m> {
    module: &'m Module,
    functions: FxHashMap<&'m str, (FunctionKind, &'m Signature)>,
    globals: FxHashMap<&'m str, &'m Global>,
    /// Call chain of each function that launches although lock-step code reaches it.
    nested: FxHashMap<usize, Vec<Arc<str>>>,
}

impl<'m> ModuleSymbols<'m> {
    pub(super) fn new(module: &'m Module) -> ModuleSymbols<'m> {
        let mut functions = FxHashMap::default();
        for func in &module.functions {
            functions.entry(&*func.name).or_insert((func.kind, &func.signature));
        }
        for declared in &module.declarations {
            functions.entry(&*declared.name).or_insert((declared.kind, &declared.signature));
        }
        let mut globals = FxHashMap::default();
        for global in &module.globals {
            globals.entry(&*global.name).or_insert(global);
        }
        ModuleSymbols { module, functions, globals, nested: nested_launches(module) }
    }

    /// Checks the module outside of its functions.
    pub(super) fn check(&self) -> Vec<Violation> {
        let mut list = Vec::new();
        let mut report =
            |kind| list.push(Violation { function: None, location: ViolationLocation::Module, kind });
        let globals = self.module.globals.iter().map(|global| ("global", &*global.name));
        let declared = self.module.declarations.iter().map(|declared| ("function", &*declared.name));
        let functions = self.module.functions.iter().map(|func| ("function", &*func.name));
        let (mut seen, mut twice) = (FxHashSet::default(), FxHashSet::default());
        for (what, name) in globals.chain(declared).chain(functions) {
            if name.is_empty() {
                report(ViolationKind::NoName(what));
            } else if !seen.insert(name) && twice.insert(name) {
                report(ViolationKind::NameTwice(name.into()));
            }
        }
        for global in &self.module.globals {
            self.check_global(global, &mut report);
        }
        for declared in &self.module.declarations {
            check_signature(&declared.signature, declared.kind, &mut |fault| {
                report(ViolationKind::Declaration { name: (*declared.name).into(), fault: Box::new(fault) });
            });
        }
        list
    }

    fn check_global(&self, global: &Global, report: &mut dyn FnMut(ViolationKind)) {
        let mut wrong = |reason| report(ViolationKind::Global { name: global.name.clone(), reason });
        if !global.align.is_power_of_two() {
            wrong(GlobalViolationKind::Align(global.align));
        }
        if global.bytes() > MAX_GLOBAL_BYTES {
            wrong(GlobalViolationKind::Bytes);
        }
        for init in &global.init {
            match init {
                GlobalInit::Values(scalar, values)
                    if values.iter().any(|bits| bits & !scalar.bit_mask() != 0) =>
                {
                    wrong(GlobalViolationKind::Bits(*scalar));
                }
                GlobalInit::Address(name, _) if !self.globals.contains_key(&**name) => {
                    wrong(GlobalViolationKind::Address(name.clone()));
                }
                GlobalInit::Extern(_) if global.init.len() > 1 => wrong(GlobalViolationKind::Extern),
                _ => {}
            }
        }
    }

    /// Checks a function's declarations of its callees, and that it does not launch from lock-step code.
    pub(super) fn check_function(&self, index: usize, func: &Function, report: &mut ViolationSink) {
        if let Some(path) = self.nested.get(&index) {
            report.at(ViolationLocation::Function, ViolationKind::NestedLaunch { path: path.clone() });
        }
        for callee in func.callees.values() {
            if let Some(fault) = self.wrong_callee(callee) {
                report.at(ViolationLocation::Function, fault);
            }
        }
    }

    fn wrong_callee(&self, callee: &Declaration) -> Option<ViolationKind> {
        let name = || callee.name.as_str().into();
        let Some(&(kind, signature)) = self.functions.get(&*callee.name) else {
            return Some(ViolationKind::UnknownFunction(name()));
        };
        let mismatch = if kind != callee.kind {
            DeclarationMismatch::Kind
        } else if signature.params != callee.signature.params {
            DeclarationMismatch::Params
        } else if signature.results != callee.signature.results {
            DeclarationMismatch::Results
        } else if signature.effects != callee.signature.effects {
            DeclarationMismatch::Effects
        } else {
            return None;
        };
        Some(ViolationKind::Differs { name: name(), mismatch })
    }
}

/// Rules for references from a function's instructions to its module.
pub(super) struct ModuleReferences<'m> {
    names: &'m ModuleSymbols<'m>,
    /// True if instructions may query active lanes. After stage Source, passes insert queries that do not affect results.
    may_query_lanes: bool,
    constants: EntitySet<Value>,
    origins: EntitySet<Origin>,
}

impl<'m> ModuleReferences<'m> {
    pub(super) fn new(names: &'m ModuleSymbols<'m>, func: &Function, stage: Stage) -> ModuleReferences<'m> {
        let may_query_lanes = stage > Stage::Source || func.signature.effects.convergent;
        ModuleReferences { names, may_query_lanes, constants: EntitySet::new(), origins: EntitySet::new() }
    }

    pub(super) fn check(
        &mut self,
        body: &LayoutIndex<'_>,
        site: &PlacedInst<'_>,
        report: &mut ViolationSink,
    ) {
        let PlacedInst { data, location, .. } = *site;
        if !self.may_query_lanes && queries_lanes(body.func, data) {
            report.at(location, ViolationKind::Convergent(data.op));
        }
        for value in used(data) {
            if body.func.value_def(value) == ValueDef::Const
                && self.constants.insert(value)
                && let Some(Constant::Address(space, name)) = body.func.constant(value)
            {
                match self.names.globals.get(&**name) {
                    None => report.at(location, ViolationKind::UnknownGlobal(name.clone())),
                    Some(global) if global.space != *space => {
                        let (expected, found) = (*space, global.space);
                        report
                            .at(location, ViolationKind::GlobalSpace { name: name.clone(), expected, found });
                    }
                    Some(_) => {}
                }
            }
        }
        if body.knows_origin(data.origin)
            && self.origins.insert(data.origin)
            && let Some(loc) = body.func.origin(data.origin).loc
            && !self.names.module.files.contains(loc.file)
        {
            report.at(location, ViolationKind::UnknownFile(loc.file));
        }
    }
}

/// Computes the functions that launch although lock-step code reaches them by calls, with the call chain from a
/// launched function or kernel. Launches in kernels are reported elsewhere.
fn nested_launches(module: &Module) -> FxHashMap<usize, Vec<Arc<str>>> {
    let mut index_of = FxHashMap::default();
    for (index, func) in module.functions.iter().enumerate() {
        index_of.entry(&*func.name).or_insert(index);
    }
    let count = module.functions.len();
    let mut calls = vec![Vec::new(); count];
    let mut launches = vec![false; count];
    let mut is_lock_step: Vec<bool> =
        module.functions.iter().map(|func| matches!(func.kind, FunctionKind::Kernel(_))).collect();
    for (index, func) in module.functions.iter().enumerate() {
        for (op, name) in callees(func) {
            let callee = index_of.get(name).copied();
            if op == Op::Launch {
                launches[index] = true;
                callee.into_iter().for_each(|callee| is_lock_step[callee] = true);
            } else {
                calls[index].extend(callee);
            }
        }
    }
    // Breadth first, so that the chains are short; a root is its own predecessor.
    let mut before: Vec<Option<usize>> =
        is_lock_step.iter().enumerate().map(|(index, &starts)| starts.then_some(index)).collect();
    let mut queue: Vec<usize> = (0..count).filter(|&index| is_lock_step[index]).collect();
    let mut next = 0;
    while let Some(&index) = queue.get(next) {
        next += 1;
        for &callee in &calls[index] {
            if before[callee].is_none() {
                before[callee] = Some(index);
                queue.push(callee);
            }
        }
    }
    let nested = queue
        .into_iter()
        .filter(|&index| launches[index] && !matches!(module.functions[index].kind, FunctionKind::Kernel(_)));
    nested.map(|index| (index, path_to(module, &before, index))).collect()
}

/// The call chain to a function, truncated if it is long.
fn path_to(module: &Module, before: &[Option<usize>], index: usize) -> Vec<Arc<str>> {
    let name = |index: usize| Arc::from(&*module.functions[index].name);
    let mut path = vec![name(index)];
    let mut at = index;
    while let Some(caller) = before[at].filter(|&caller| caller != at) {
        path.push(name(caller));
        at = caller;
        if path.len() == MAX_PATH {
            path.push(Arc::from("…"));
            break;
        }
    }
    path.reverse();
    path
}

/// Maximum number of functions in a reported call chain.
const MAX_PATH: usize = 8;

/// The calls and launches of a function: op and the callee's name.
fn callees(func: &Function) -> impl Iterator<Item = (Op, &str)> {
    // Without declarations there are no calls, so the scan is skipped.
    let blocks = (!func.callees.is_empty()).then(|| func.layout.blocks()).into_iter().flatten();
    blocks.flat_map(|block| func.layout.insts(block)).filter_map(|inst| {
        use crate::entity::Entity as _;
        let data = (inst.index() < func.inst_count()).then(|| func.inst(inst))?;
        let callee = func.callee_of(data)?;
        Some((data.op, callee.name.as_str()))
    })
}

/// True if the result depends on the lane's index or on other lanes.
fn queries_lanes(func: &Function, data: &InstData) -> bool {
    let is_of_vectors = || data.args.first().is_some_and(|&arg| func.value_type(arg).is_vector());
    match data.op {
        Op::Lane | Op::LocalId | Op::GlobalId | Op::Mask => true,
        Op::Call | Op::Launch => {
            let effects = func.callee_of(data).map(|callee| callee.signature.effects);
            data.op == Op::Call && effects.is_some_and(|effects| effects.convergent)
        }
        op => match op.info().effect {
            Effect::Horizontal => !is_of_vectors(),
            Effect::Synchronizes => true,
            _ => false,
        },
    }
}
