//! Mathematical functions of C as IR of one lane.
//!
//! `c/` holds the C sources, `hed/` their import as IR text. A test compares both, and `HEDDLE_BLESS=1` rewrites the
//! text, so only that test needs a C compiler. `derive/` computes the coefficients. [`provide`] adds the bodies of
//! called functions to a module; passes then treat them like any other function. docs/math.md lists errors and speed.
#![forbid(unsafe_code)]

mod functions;

pub use functions::{FUNCTIONS, MathFunction};

use heddle_ir::module::{Declaration, Effects, Signature};
use heddle_ir::text::parse_module;
use heddle_ir::{Function, Module};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// Accuracy of mathematical functions, and their provider.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Accuracy {
    /// Heddle's own, within one unit in the last place; bit-identical in each lane, vector width and machine.
    #[default]
    Exact,
    /// Heddle's own, within four units in the last place.
    Fast,
    /// The C library's, called lane by lane.
    Library,
}

impl Accuracy {
    /// Parses an option value.
    pub fn named(word: &str) -> Option<Accuracy> {
        match word {
            "exact" => Some(Accuracy::Exact),
            "fast" => Some(Accuracy::Fast),
            "libm" => Some(Accuracy::Library),
            _ => None,
        }
    }

    /// Returns the option value.
    pub fn name(self) -> &'static str {
        match self {
            Accuracy::Exact => "exact",
            Accuracy::Fast => "fast",
            Accuracy::Library => "libm",
        }
    }
}

/// Prefix of the library's functions in modules; no C identifier has it.
pub const PREFIX: &str = "heddle.";

/// Second prefix of the functions within four units.
const FAST: &str = "fast.";

/// Malformed IR text of a library function, an internal error.
#[derive(Debug, Error)]
#[error("the text of the mathematical function `{name}` is broken, which is a mistake in Heddle: {reason}")]
pub struct MathTextError {
    /// Function name.
    pub name: &'static str,
    /// Parse error or other reason.
    pub reason: String,
}

/// Adds the bodies of the mathematical functions that a module calls and does not define. Functions without a body
/// here stay external.
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

/// Adds the bodies of functions called by library name: `heddle.sinf`, or `heddle.fast.sinf` for four units of error.
/// Programs cannot define these names.
pub fn provide_prefixed(module: &mut Module) -> Result<(), MathTextError> {
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

/// Adds a library function to a module unless present.
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

/// Returns the library function of this name.
fn own(name: &str) -> Option<&'static MathFunction> {
    FUNCTIONS.binary_search_by(|own| own.name.cmp(name)).ok().map(|at| &FUNCTIONS[at])
}

/// True if the declaration has the types of the C function.
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

/// Parses a function's IR text; returns it with the globals that it reads.
fn body(name: &'static str, text: &str) -> Result<(Function, Vec<heddle_ir::module::Global>), MathTextError> {
    let broken = |reason: String| MathTextError { name, reason };
    let module = parse_module(text).map_err(|messages| {
        broken(messages.first().map_or_else(String::new, |message| message.to_string()))
    })?;
    let Module { globals, functions, facts, .. } = module;
    // Fact numbers would refer to the destination module's facts.
    if !facts.is_empty() {
        return Err(broken("it has facts".into()));
    }
    let func = functions.into_iter().find(|func| func.name == name);
    func.map(|func| (func, globals)).ok_or_else(|| broken("it defines another function".into()))
}
