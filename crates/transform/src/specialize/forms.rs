//! Forms of functions: which there are, what they are called, how they come about.

use heddle_ir::module::{Declaration, DeclaredShape, Kind, Param};
use heddle_ir::{Function, Module, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::entered::LockStep;
use super::entry::enter_if;

/// How a function is entered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Form {
    /// The function.
    pub(super) name: String,
    /// Of each parameter, whether lanes share it or come with a line; else it varies.
    pub(super) shapes: Vec<DeclaredShape>,
    /// Whether only some lanes may come.
    pub(super) is_masked: bool,
}

/// The forms that have been asked for.
pub(super) struct Forms {
    sources: FxHashMap<String, Function>,
    named: FxHashMap<(Form, SmallVec<[u32; 3]>, bool), String>,
    taken: FxHashSet<String>,
    /// Those that were made since they were looked at.
    pub(super) made: Vec<(Function, LockStep)>,
}

impl Forms {
    /// Of the functions of a module; none has been asked for.
    pub(super) fn new(module: &Module) -> Forms {
        let sources: FxHashMap<String, Function> =
            module.functions.iter().map(|func| (func.name.clone(), func.clone())).collect();
        let declared = module.declarations.iter().map(|declaration| declaration.name.clone());
        let taken = sources.keys().cloned().chain(declared).collect();
        Forms { sources, named: FxHashMap::default(), taken, made: Vec::new() }
    }

    /// Whether a function is one of the module's own.
    pub(super) fn is_ours(&self, name: &str) -> bool {
        self.sources.contains_key(name)
    }

    /// The name of a form, which this brush enters.
    pub(super) fn request(&mut self, form: &Form, brush: &SmallVec<[u32; 3]>, is_region: bool) -> String {
        let key = (form.clone(), brush.clone(), is_region);
        if let Some(name) = self.named.get(&key) {
            return name.clone();
        }
        let source = &self.sources[&form.name];
        let mut name = form_name(source, form);
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        let entered = LockStep { name: name.clone(), brush: brush.clone(), is_region };
        self.made.push((instance(source, form, &name), entered));
        self.named.insert(key, name.clone());
        name
    }
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

/// What callers know of a form.
pub(super) fn declared(declaration: &Declaration, form: &Form, name: String) -> Declaration {
    let mut signature = declaration.signature.clone();
    for (param, shape) in signature.params.iter_mut().zip(&form.shapes) {
        param.shape = Some(shape.clone());
    }
    if form.is_masked {
        signature.params.push(mask_param());
    }
    Declaration { name, kind: Kind::Function, signature }
}

pub(super) fn mask_param() -> Param {
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
