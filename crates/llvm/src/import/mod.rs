//! Import: translates an LLVM module to a module at stage Source.
//!
//! Decomposes types into scalars (`types.rs`), constants into values (`constant.rs`) and functions block by block
//! (`body.rs`); translates instructions by kind (`instruction.rs`, `memory.rs`, `lanes.rs`, `odd_width.rs`, `extension.rs`,
//! `call.rs`, `intrinsic.rs`). An unsupported function is reported as a [`Diagnostic`] and stays a declaration, so
//! its callers still import. docs/llvm.md documents the mapping.

mod refusal;
mod types;
mod global;
mod signature;
mod constant;
mod body;
mod instruction;
mod memory;
mod lanes;
mod odd_width;
mod extension;
mod call;
mod native_call;
pub(crate) mod intrinsic;
pub(crate) mod work_items;
mod horizontals;
mod metadata;

pub use signature::param_scalar_counts;

use crate::coverage::ImportSupport;
use crate::native_call::function_of_address;
use crate::view::{LlvmModule, Ty, Val};
use body::import_body;
use global::{GlobalNames, import_globals};
use heddle_ir::module::{Declaration, File, Global, GlobalInit};
use heddle_ir::verify::{Stage, verify};
use heddle_ir::{Diagnostic, Module, Space};
use metadata::MetadataInterner;
pub(crate) use refusal::ImportRefusal;
use refusal::ImportResult;
use rustc_hash::FxHashMap;
use signature::declaration;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
pub(crate) use types::{Leaf, TypeTable};

/// Result of an import.
#[derive(Clone, Debug)]
pub struct ImportedModule {
    /// The module, at stage Source.
    pub module: Module,
    /// Diagnostics of refused functions and globals, in module order.
    pub refused: Vec<Diagnostic>,
}

/// Import state shared by all functions of a module.
struct ModuleImporter<'m> {
    llvm: &'m LlvmModule,
    types: TypeTable<'m>,
    globals: GlobalNames<'m>,
    /// Declaration of each function, or the reason for its refusal.
    declarations: FxHashMap<Val<'m>, ImportResult<Arc<Declaration>>>,
    files: RefCell<(Vec<String>, FxHashMap<String, File>)>,
    facts: RefCell<MetadataInterner<'m>>,
    /// Address globals of functions whose addresses are used.
    addresses: RefCell<BTreeSet<Arc<str>>>,
    /// Possible targets of indirect calls, by function type.
    targets: OnceCell<FxHashMap<Ty<'m>, Vec<Val<'m>>>>,
    kinds: KindIds,
}

/// LLVM's kind ids of attributes and metadata.
struct KindIds {
    byval: u32,
    returns_twice: u32,
    prof: u32,
    tbaa: u32,
    fpmath: u32,
    hints: u32,
    range: u32,
    alias_scope: u32,
    noalias: u32,
    access_group: u32,
    nontemporal: u32,
    invariant: u32,
    align: u32,
    convergent: u32,
}

impl<'m> ModuleImporter<'m> {
    /// Returns the address-taken functions of a type, in module order.
    fn targets(&self, ty: Ty<'m>) -> Vec<Val<'m>> {
        let all = self.targets.get_or_init(|| {
            let mut all: FxHashMap<Ty<'m>, Vec<Val<'m>>> = FxHashMap::default();
            let functions = self.llvm.functions();
            for func in functions.filter(|func| func.intrinsic_id() == 0 && func.has_address_taken()) {
                all.entry(func.value_type()).or_default().push(func);
            }
            all
        });
        all.get(&ty).cloned().unwrap_or_default()
    }

    fn file(&self, name: String) -> File {
        let (list, known) = &mut *self.files.borrow_mut();
        if let Some(&file) = known.get(&name) {
            return file;
        }
        let file = File::from_u32(list.len() as u32);
        list.push(name.clone());
        known.insert(name, file);
        file
    }
}

/// True if a module declares a function of `heddle.h`.
pub(crate) fn uses_horizontals(llvm: &LlvmModule) -> bool {
    llvm.functions().any(|func| func.is_declaration() && is_horizontal_name(&func.name()))
}

/// True for names of `heddle.h` functions.
pub(crate) fn is_horizontal_name(name: &str) -> bool {
    name.starts_with(horizontals::PREFIX)
}

/// Imports a module; leaves out unsupported functions and globals and reports each.
pub fn import(llvm: &LlvmModule) -> ImportedModule {
    use crate::view::attribute_kind;
    let types = TypeTable::new(llvm);
    let mut refused = Vec::new();
    let (globals, names) = import_globals(llvm, &types, &mut refused);
    let mut declarations = FxHashMap::default();
    for func in llvm.functions().filter(|func| func.intrinsic_id() == 0) {
        declarations.insert(func, declaration(func, &types).map(Arc::new));
    }
    let importer = ModuleImporter {
        llvm,
        types,
        globals: names,
        declarations,
        files: RefCell::default(),
        facts: RefCell::default(),
        addresses: RefCell::default(),
        targets: OnceCell::new(),
        kinds: KindIds {
            byval: attribute_kind("byval"),
            returns_twice: attribute_kind("returns_twice"),
            prof: llvm.metadata_kind("prof"),
            tbaa: llvm.metadata_kind("tbaa"),
            fpmath: llvm.metadata_kind("fpmath"),
            hints: llvm.metadata_kind("llvm.loop"),
            range: llvm.metadata_kind("range"),
            alias_scope: llvm.metadata_kind("alias.scope"),
            noalias: llvm.metadata_kind("noalias"),
            access_group: llvm.metadata_kind("llvm.access.group"),
            nontemporal: llvm.metadata_kind("nontemporal"),
            invariant: llvm.metadata_kind("invariant.load"),
            align: attribute_kind("align"),
            convergent: attribute_kind("convergent"),
        },
    };
    let mut module = Module { globals, ..Module::default() };
    for func in llvm.functions().filter(|func| !func.is_declaration()) {
        let imported = match importer.declarations.get(&func) {
            Some(Ok(declaration)) => import_body(&importer, func, declaration),
            Some(Err(why)) => Err(why.clone().of(&func.name())),
            None => continue,
        };
        match imported.and_then(|imported| match verify(&imported, Stage::Source) {
            Ok(()) => Ok(imported),
            Err(violations) => {
                let reason = format!("internal error: malformed function\n{violations}");
                Err(ImportRefusal::new(reason, "please report it, with this file").of(&func.name()))
            }
        }) {
            Ok(imported) => module.functions.push(imported),
            Err(refusal) => refused.push(refusal),
        }
    }
    declare_callees(&mut module);
    add_addresses(&mut module, importer.addresses.into_inner());
    module.facts = importer.facts.into_inner().list;
    for name in importer.files.into_inner().0 {
        module.files.push(name);
    }
    ImportedModule { module, refused }
}

/// Returns the import status of each LLVM 22 opcode. Opcode numbers are dense.
pub(crate) fn instruction_table() -> Vec<(String, ImportSupport)> {
    let row = |number: u32| {
        let known = instruction::OPCODES.iter().find(|(code, ..)| *code as u32 == number);
        match known {
            None => (format!("opcode {number}"), ImportSupport::Missing),
            Some((_, word, None)) => ((*word).into(), ImportSupport::Done),
            Some((_, word, Some(reason))) => ((*word).into(), ImportSupport::Refused((*reason).into())),
        }
    };
    // 6 was `unwind`, which LLVM removed; 69 is the highest.
    (1..=69).filter(|&number| number != 6).map(row).collect()
}

/// Adds the address globals that function bodies and initializers use.
fn add_addresses(module: &mut Module, mut used: BTreeSet<Arc<str>>) {
    for init in module.globals.iter().flat_map(|global| &global.init) {
        if let GlobalInit::Address(name, _) = init
            && function_of_address(name).is_some()
        {
            used.insert(Arc::clone(name));
        }
    }
    let address = |name| Global { name, space: Space::Constant, align: 1, init: vec![GlobalInit::Extern(0)] };
    module.globals.extend(used.into_iter().map(address));
}

/// Declares called functions that the module does not define.
fn declare_callees(module: &mut Module) {
    let mut known: FxHashMap<String, ()> =
        module.functions.iter().map(|func| (func.name.clone(), ())).collect();
    let mut missing = Vec::new();
    for callee in module.functions.iter().flat_map(|func| func.callees.values()) {
        if known.insert(callee.name.clone(), ()).is_none() {
            missing.push(Arc::clone(callee));
        }
    }
    module.declarations.extend(missing);
}
