//! Table of specializations: their keys, names and bodies.

use heddle_ir::module::{Declaration, DeclaredShape, FunctionKind, Param};
use heddle_ir::{Function, Module, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::entry::add_entry_mask;
use super::lock_step::LockStepFunction;

/// Maximum number of specializations of a function. Further calls use one without facts about its arguments.
const MAX_SPECIALIZATIONS: usize = 16;

/// Known shape and alignment of an argument.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ArgumentFact {
    /// Shape of its lanes.
    pub(super) shape: DeclaredShape,
    /// Alignment of lane 0's value; 1 if unknown.
    pub(super) align: u32,
}

impl ArgumentFact {
    /// Returns the declared facts of a parameter.
    pub(super) fn declared(param: &Param) -> ArgumentFact {
        let shape = param.shape.clone().unwrap_or(DeclaredShape::Varying);
        ArgumentFact { shape, align: param.align }
    }

    fn add_to(&self, param: &mut Param) {
        param.shape = Some(self.shape.clone());
        param.align = self.align.max(param.align);
    }
}

/// Key of a specialization.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Specialization {
    /// Name of the original function.
    pub(super) name: String,
    /// Facts about each parameter.
    pub(super) params: Vec<ArgumentFact>,
    /// True if only some lanes may call.
    pub(super) is_masked: bool,
}

/// Requested specializations.
pub(super) struct SpecializationTable {
    sources: FxHashMap<String, Function>,
    names: FxHashMap<(Specialization, SmallVec<[u32; 3]>, bool), String>,
    used_names: FxHashSet<String>,
    /// Number of specializations of each function.
    counts: FxHashMap<String, usize>,
    /// Bodies created since the last look.
    pub(super) created: Vec<(Function, LockStepFunction)>,
}

impl SpecializationTable {
    /// Returns an empty table for a module.
    pub(super) fn new(module: &Module) -> SpecializationTable {
        let sources: FxHashMap<String, Function> =
            module.functions.iter().map(|func| (func.name.clone(), func.clone())).collect();
        let declare = module.declarations.iter().map(|declaration| declaration.name.clone());
        let used_names = sources.keys().cloned().chain(declare).collect();
        let (names, counts) = (FxHashMap::default(), FxHashMap::default());
        SpecializationTable { sources, names, used_names, counts, created: Vec::new() }
    }

    /// Returns the given specialization, or, if its function has too many already, one without facts about arguments.
    pub(super) fn limit(
        &self,
        specialization: Specialization,
        declaration: &Declaration,
        brush: &SmallVec<[u32; 3]>,
        is_region: bool,
    ) -> Specialization {
        let is_known = self.names.contains_key(&(specialization.clone(), brush.clone(), is_region));
        if is_known || self.counts.get(&specialization.name).is_none_or(|&count| count < MAX_SPECIALIZATIONS)
        {
            return specialization;
        }
        Specialization {
            params: declaration.signature.params.iter().map(ArgumentFact::declared).collect(),
            ..specialization
        }
    }

    /// True if the module defines the function.
    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.sources.contains_key(name)
    }

    /// Returns the name of a specialization for this brush; creates it if needed.
    pub(super) fn get_or_create(
        &mut self,
        specialization: &Specialization,
        brush: &SmallVec<[u32; 3]>,
        is_region: bool,
    ) -> String {
        let key = (specialization.clone(), brush.clone(), is_region);
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let source = &self.sources[&specialization.name];
        let mut name = specialization_name(source, specialization);
        while !self.used_names.insert(name.clone()) {
            name.push('_');
        }
        let lock_step = LockStepFunction { name: name.clone(), brush: brush.clone(), is_region };
        self.created.push((build_specialization(source, specialization, &name), lock_step));
        *self.counts.entry(specialization.name.clone()).or_default() += 1;
        self.names.insert(key, name.clone());
        name
    }
}

/// Builds the name after the vector ABI: `u`, `v`, `l4` for a stride of 4, `n` before a negative stride, `a16` after an argument
/// aligned to 16.
fn specialization_name(source: &Function, specialization: &Specialization) -> String {
    let mut name = format!("{}.", source.name);
    let prefix = name.len();
    for (known, param) in specialization.params.iter().zip(&source.signature.params) {
        match &known.shape {
            DeclaredShape::Uniform => name.push('u'),
            DeclaredShape::Varying => name.push('v'),
            DeclaredShape::Linear(strides) => {
                let step =
                    |stride: &i64| format!("{}{}", if *stride < 0 { "n" } else { "" }, stride.unsigned_abs());
                let steps: Vec<String> = strides.iter().map(step).collect();
                name += &format!("l{}", steps.join("_"));
            }
        }
        if known.align > param.align {
            name += &format!("a{}", known.align);
        }
    }
    if specialization.is_masked {
        name.push('m');
    }
    if name.len() == prefix {
        name += "lanes";
    }
    name
}

/// Returns the declaration of a specialization.
pub(super) fn declare(
    declaration: &Declaration,
    specialization: &Specialization,
    name: String,
) -> Declaration {
    let mut signature = declaration.signature.clone();
    for (param, known) in signature.params.iter_mut().zip(&specialization.params) {
        known.add_to(param);
    }
    if specialization.is_masked {
        signature.params.push(mask_param());
    }
    Declaration { name, kind: FunctionKind::Function, signature }
}

pub(super) fn mask_param() -> Param {
    Param { shape: Some(DeclaredShape::Varying), ..Param::new(Type::I1) }
}

/// Creates the body of a specialization.
fn build_specialization(source: &Function, specialization: &Specialization, name: &str) -> Function {
    let mut func = source.clone();
    func.name = name.to_string();
    func.kind = FunctionKind::Function;
    for (param, known) in func.signature.params.iter_mut().zip(&specialization.params) {
        known.add_to(param);
    }
    if specialization.is_masked {
        let mask = func.add_param(mask_param());
        add_entry_mask(&mut func, |_| mask);
    }
    func
}

#[cfg(test)]
mod tests {
    use super::MAX_SPECIALIZATIONS;
    use crate::specialize;
    use heddle_ir::parse_bytes;
    use heddle_ir::verify::{Stage, verify_module};
    use std::fmt::Write as _;

    /// Calls a function with each of the 64 combinations of shapes of six arguments.
    #[test]
    fn a_function_has_a_bounded_number_of_forms() {
        let mut text = String::from(
            "func @callee(v0: i32, v1: i32, v2: i32, v3: i32, v4: i32, v5: i32) {\nblock0:\n  ret\n}\n\n",
        );
        text += "func @f(v0: i32 uniform, v1: i32 varying) {\nblock0:\n";
        for way in 0..64u32 {
            let args: Vec<String> = (0..6).map(|bit| format!("v{}", way >> bit & 1)).collect();
            writeln!(text, "  call @callee({})", args.join(", ")).expect("a string takes all text");
        }
        text += "  ret\n}\n";
        let mut module = parse_bytes(text.as_bytes()).expect("it is well-formed");
        specialize(&mut module, &[8]);
        verify_module(&module, Stage::Canonical).expect("it is canonical");
        let count = module.functions.len() - 1;
        assert!((MAX_SPECIALIZATIONS..=MAX_SPECIALIZATIONS + 2).contains(&count), "{count} forms");
        assert!(module.function("callee.vvvvvv").is_some(), "{module}");
    }
}
