//! The mathematical functions of C, each as the text of a function for one lane.
//!
//! `c/` has them in C, and `hed/` what Heddle's importer makes of that: a test compares, and `HEDDLE_BLESS=1` rewrites it, so
//! nothing else needs a C compiler for them. `derive/` makes the coefficients. [`provide`] gives a module the bodies
//! of those that it calls; from then on they are functions like any other. docs/math.md has errors and speed.
#![forbid(unsafe_code)]

mod functions;

pub use functions::{FUNCTIONS, MathFunction};

use heddle_ir::module::{Declaration, Effects, Signature};
use heddle_ir::text::parse_module;
use heddle_ir::{Function, Module};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// Whose mathematical functions a program calls.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Accuracy {
    /// Heddle's own, at most one unit in the last place off: the same bits in each lane of any vector, on any machine.
    #[default]
    Exact,
    /// Heddle's own, at most four units off.
    Fast,
    /// Those of the C library, lane by lane.
    Library,
}

impl Accuracy {
    /// The one of this name.
    pub fn named(word: &str) -> Option<Accuracy> {
        match word {
            "exact" => Some(Accuracy::Exact),
            "fast" => Some(Accuracy::Fast),
            "libm" => Some(Accuracy::Library),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Accuracy::Exact => "exact",
            Accuracy::Fast => "fast",
            Accuracy::Library => "libm",
        }
    }
}

/// What names begin with in modules that are the library's own: no name of a C program does.
pub const PREFIX: &str = "heddle.";

/// What stands behind that for those that are at most four units off.
const FAST: &str = "fast.";

/// The text of a function is broken, which is a mistake in Heddle.
#[derive(Debug, Error)]
#[error("the text of the mathematical function `{name}` is broken, which is a mistake in Heddle: {reason}")]
pub struct MathTextError {
    /// The function.
    pub name: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

/// Gives bodies to the mathematical functions that a module calls and does not define. Those of which there is none stay
/// what they were.
pub fn provide(module: &mut Module, accuracy: Accuracy) -> Result<(), MathTextError> {
    if accuracy == Accuracy::Library {
        return Ok(());
    }
    let defined: BTreeSet<String> = module.functions.iter().map(|func| func.name.clone()).collect();
    let mut wanted: BTreeSet<&'static str> = BTreeSet::new();
    for func in &mut module.functions {
        let takes_own = |callee: &Declaration| {
            let own = own(&callee.name).filter(|own| !defined.contains(own.name))?;
            is_of_types(&callee.signature, own).then_some(own)
        };
        let mut renamed = Vec::new();
        for (callee, declaration) in func.callees.iter() {
            if let Some(own) = takes_own(declaration) {
                renamed.push((callee, own));
            }
        }
        for (callee, own) in renamed {
            wanted.insert(own.name);
            let signature = Signature { effects: Effects::PURE, ..func.callees[callee].signature.clone() };
            let name = format!("{PREFIX}{}", own.name);
            let kind = func.callees[callee].kind;
            func.rename_callee(callee, Arc::new(Declaration { name, kind, signature }));
        }
    }
    for name in wanted {
        let Some(own) = own(name) else { continue };
        let text = if accuracy == Accuracy::Fast { own.fast.unwrap_or(own.exact) } else { own.exact };
        define(module, format!("{PREFIX}{name}"), own, text)?;
    }
    let called: BTreeSet<&str> =
        module.functions.iter().flat_map(|func| func.callees.values()).map(|callee| &*callee.name).collect();
    module
        .declarations
        .retain(|declaration| own(&declaration.name).is_none() || called.contains(&*declaration.name));
    Ok(())
}

/// Gives bodies to the functions of the library that a module calls by the library's own names, `heddle.sinf`, or
/// `heddle.fast.sinf` for four units of error. No program has such names, so whatever it defines itself is not meant.
pub fn provide_own(module: &mut Module) -> Result<(), MathTextError> {
    let mut wanted: BTreeMap<String, (&'static MathFunction, &'static str)> = BTreeMap::new();
    for func in &mut module.functions {
        let mut pure = Vec::new();
        for (callee, declaration) in func.callees.iter() {
            let Some(name) = declaration.name.strip_prefix(PREFIX) else { continue };
            let (name, is_fast) = name.strip_prefix(FAST).map_or((name, false), |name| (name, true));
            let Some(own) = own(name).filter(|own| is_of_types(&declaration.signature, own)) else {
                continue;
            };
            let text = own.fast.filter(|_| is_fast).unwrap_or(own.exact);
            wanted.insert(declaration.name.clone(), (own, text));
            pure.push(callee);
        }
        for callee in pure {
            let mut declaration = (*func.callees[callee]).clone();
            declaration.signature.effects = Effects::PURE;
            func.rename_callee(callee, Arc::new(declaration));
        }
    }
    for (name, (own, text)) in &wanted {
        define(module, name.clone(), own, text)?;
    }
    module.declarations.retain(|declaration| !wanted.contains_key(&declaration.name));
    Ok(())
}

/// Adds a function of the library to a module that does not have it.
fn define(module: &mut Module, name: String, own: &MathFunction, text: &str) -> Result<(), MathTextError> {
    if module.function(&name).is_some() {
        return Ok(());
    }
    let (mut func, globals) = body(own.name, text)?;
    func.name = name;
    func.signature.effects = Effects::PURE;
    for global in globals {
        if module.global(&global.name).is_none() {
            module.globals.push(global);
        }
    }
    module.functions.push(func);
    Ok(())
}

/// The function of this name.
fn own(name: &str) -> Option<&'static MathFunction> {
    FUNCTIONS.binary_search_by(|own| own.name.cmp(name)).ok().map(|at| &FUNCTIONS[at])
}

/// Whether what is declared is the function of C, and no other one of its name.
fn is_of_types(signature: &Signature, own: &MathFunction) -> bool {
    signature.params.len() == own.params
        && signature.results.len() == 1
        && signature
            .params
            .iter()
            .map(|param| param.ty)
            .chain([signature.results[0].ty])
            .all(|ty| ty == own.ty)
}

/// The function that a text defines, and what it reads.
fn body(name: &'static str, text: &str) -> Result<(Function, Vec<heddle_ir::module::Global>), MathTextError> {
    let broken = |reason: String| MathTextError { name, reason };
    let module = parse_module(text).map_err(|messages| {
        broken(messages.first().map_or_else(String::new, |message| message.to_string()))
    })?;
    let Module { globals, functions, facts, .. } = module;
    // They would mean others in the module that the function goes to.
    if !facts.is_empty() {
        return Err(broken("it has facts".into()));
    }
    let func = functions.into_iter().find(|func| func.name == name);
    func.map(|func| (func, globals)).ok_or_else(|| broken("it defines another function".into()))
}
