//! Functions of CUDA's textures and surfaces, which lowered PTX calls by name.

use heddle_ir::module::Declaration;
use heddle_ir::{Diagnostic, Function, Module};
use heddle_llvm::OpenClLibrary;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

const LIBRARY: OpenClLibrary = include!(concat!(env!("OUT_DIR"), "/textures.rs"));

/// Prefixes of the functions' names, which no PTX name has.
pub const TEXTURE_PREFIXES: [&str; 2] = ["heddle.texture.", "heddle.surface."];

fn is_own(name: &str) -> bool {
    TEXTURE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Gives each function the declarations that `of` knows for its callees.
fn declare_callees(func: &mut Function, of: impl Fn(&str) -> Option<Declaration>) {
    let known: Vec<_> =
        func.callees.iter().filter_map(|(callee, old)| Some((callee, of(&old.name)?))).collect();
    for (callee, declaration) in known {
        func.rename_callee(callee, Arc::new(declaration));
    }
}

/// Returns the imported library. Names of internal functions have a prefix, too.
fn library() -> Result<&'static Module, Diagnostic> {
    static MODULE: OnceLock<Result<Module, Diagnostic>> = OnceLock::new();
    let made = MODULE.get_or_init(|| {
        let llvm = heddle_llvm::load_library(&LIBRARY)?;
        let imported = heddle_llvm::import(&llvm);
        if let Some(refused) = imported.refused.into_iter().next() {
            return Err(refused);
        }
        let mut module = imported.module;
        let names: BTreeSet<String> = module.functions.iter().map(|func| func.name.clone()).collect();
        let prefixed = |name: &str| format!("{}{name}", TEXTURE_PREFIXES[0]);
        for func in &mut module.functions {
            let renamed: Vec<_> = func
                .callees
                .iter()
                .filter(|(_, callee)| names.contains(&callee.name) && !is_own(&callee.name))
                .map(|(callee, old)| (callee, Declaration { name: prefixed(&old.name), ..(**old).clone() }))
                .collect();
            for (callee, declaration) in renamed {
                func.rename_callee(callee, Arc::new(declaration));
            }
            if !is_own(&func.name) {
                func.name = prefixed(&func.name);
            }
        }
        Ok(module)
    });
    made.as_ref().map_err(Clone::clone)
}

/// Adds the bodies of the functions of textures and surfaces that a module calls.
pub fn provide_textures(module: &mut Module) -> Result<(), Diagnostic> {
    let callees_of = |func: &Function| -> Vec<String> {
        func.callees.values().map(|callee| callee.name.clone()).filter(|name| is_own(name)).collect()
    };
    let mut work: Vec<String> = module.functions.iter().flat_map(callees_of).collect();
    if work.is_empty() {
        return Ok(());
    }
    let library = library()?;
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    while let Some(name) = work.pop() {
        if let Some(func) = library.function(&name).filter(|_| wanted.insert(name)) {
            work.extend(callees_of(func));
        }
    }
    let declaration = |name: &str| {
        let func = library.function(name)?;
        Some(Declaration { name: name.into(), kind: func.kind, signature: func.signature.clone() })
    };
    module.functions.iter_mut().for_each(|func| declare_callees(func, declaration));
    let bodies = library.functions.iter().filter(|func| wanted.contains(&func.name));
    module.functions.extend(bodies.cloned());
    for global in &library.globals {
        if module.global(&global.name).is_none() {
            module.globals.push(global.clone());
        }
    }
    module.declarations.retain(|declaration| !is_own(&declaration.name));
    Ok(())
}
