//! Emission: translates a module of scalar functions, or at stage Wide, to an LLVM module.
//!
//! The translation is mechanical and makes no decisions: `table.rs` maps ops, masks become vectors of `i1`, multiple
//! results become structs, and all spaces become one address space. docs/llvm.md documents the mapping.

mod assembler;
mod function;
mod table;
mod memory;
mod lanes;
mod bf16;
mod half_fma;
mod entry;
mod debug;
mod metadata;
mod native_call;

pub(crate) use entry::ENTRY;
pub use entry::{entry_name, slot_bytes};

use crate::native_call::{NativeSignature, function_of_address};
use crate::view::LlvmModule;
use assembler::{Assembler, TypeHandle, ValueHandle};
use debug::DebugInfo;
use function::emit_body;
use heddle_ir::module::{Declaration, Effects, GlobalInit, Signature};
use heddle_ir::{Code, Diagnostic, Module, Scalar, Space};
use metadata::MetadataTable;
use rustc_hash::{FxHashMap, FxHashSet};

/// Options of emission.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EmitOptions {
    /// Canonicalizes computed NaNs, as the oracle does.
    pub canonical_nans: bool,
    /// Rounds `fmuladd` once (`true`) or twice (`false`); none leaves the choice to the target.
    pub fused: Option<bool>,
    /// Computes `rsqrt` exactly as the oracle does; otherwise targets may estimate it.
    pub exact_roots: bool,
    /// Adds to each function an entry for the JIT, which loads arguments from memory and stores results there.
    pub entries: bool,
}

/// Prefix of Heddle's internal functions and globals, of which each module has its own copies.
const OWN: &str = "heddle.";

/// Emitter of one LLVM module.
struct ModuleEmitter<'a> {
    /// Dropped before the module that it describes.
    debug: Option<DebugInfo>,
    asm: Assembler,
    options: EmitOptions,
    facts: MetadataTable,
    /// Prefix of the names of functions and globals.
    prefix: &'a str,
    globals: FxHashMap<&'a str, ValueHandle>,
    functions: FxHashMap<&'a str, (TypeHandle, ValueHandle)>,
    /// Declarations shared by all parts.
    declared: FxHashMap<&'a str, (TypeHandle, ValueHandle)>,
}

/// Emits a module, which must verify at its stage.
pub fn emit(module: &Module, options: EmitOptions) -> Result<LlvmModule, Diagnostic> {
    emit_merged(&[("", module)], options)
}

/// Emits several modules as one LLVM module; each has a prefix for the names that it defines. Several modules are
/// emitted without debug lines.
pub fn emit_merged(parts: &[(&str, &Module)], options: EmitOptions) -> Result<LlvmModule, Diagnostic> {
    let asm = Assembler::new("heddle");
    // An LLVM module has one table of debug lines.
    let debug = match parts {
        [(_, module)] => DebugInfo::new(&asm, module),
        _ => None,
    };
    let mut emitter = ModuleEmitter {
        debug,
        asm,
        options,
        facts: MetadataTable::default(),
        prefix: "",
        globals: FxHashMap::default(),
        functions: FxHashMap::default(),
        declared: FxHashMap::default(),
    };
    for &(prefix, module) in parts {
        emitter.emit_part(prefix, module)?;
    }
    drop(emitter.debug);
    let llvm = emitter.asm.finish();
    let has_facts = parts.iter().any(|(_, module)| !module.facts.is_empty());
    llvm.verify().map_err(|reason| refused_by_llvm(&reason, has_facts))?;
    Ok(llvm)
}

/// LLVM's verifier rejects the emitted module: the module's facts are invalid, or emission has a bug.
fn refused_by_llvm(reason: &str, has_facts: bool) -> Diagnostic {
    let text = format!("LLVM's verifier rejects the generated module: {}", reason.trim_end());
    match has_facts {
        true => Diagnostic::error(Code::NotEmitted, text).help(
            "write facts (`fact0 = …`) that LLVM accepts; otherwise this is an internal error: please report it",
        ),
        false => Diagnostic::error(Code::Internal, text).help("report it, with the input"),
    }
}

fn is_intrinsic(declaration: &Declaration) -> bool {
    declaration.name.starts_with("llvm.")
}

impl<'a> ModuleEmitter<'a> {
    fn emit_part(&mut self, prefix: &'a str, module: &'a Module) -> Result<(), Diagnostic> {
        self.prefix = prefix;
        self.globals.clear();
        self.functions.clear();
        self.facts = MetadataTable::new(&self.asm, module);
        self.declare_globals(module);
        let called: FxHashSet<&str> =
            module.functions.iter().flat_map(|func| func.callees.values()).map(|it| &*it.name).collect();
        for declaration in &module.declarations {
            // The wrapper of a native call declares its callee; an unused wrapper would occupy the name.
            let is_idle =
                NativeSignature::parse(&declaration.name).is_some() && !called.contains(&*declaration.name);
            if is_idle {
                continue;
            }
            let func = match self.declared.get(&*declaration.name) {
                Some(&known) => known,
                None => match NativeSignature::parse(&declaration.name) {
                    Some(native) => self.emit_native_wrapper(declaration, &native),
                    None => self.declare_external(declaration),
                },
            };
            self.declared.insert(&declaration.name, func);
            self.functions.insert(&declaration.name, func);
        }
        for func in &module.functions {
            let declared = self.declare(&format!("{prefix}{}", func.name), &func.signature);
            if func.name.starts_with(OWN) {
                self.asm.set_internal(declared.1);
            }
            self.functions.insert(&func.name, declared);
        }
        for global in &module.globals {
            if let Some(symbol) = self.function_symbol(&global.name) {
                self.globals.insert(&global.name, symbol);
            }
        }
        self.fill_globals(module);
        for func in &module.functions {
            emit_body(self, func)?;
            if self.options.entries {
                self.emit_entry(func);
            }
        }
        Ok(())
    }

    fn declare_external(&self, declaration: &Declaration) -> (TypeHandle, ValueHandle) {
        let func = self.declare(&declaration.name, &declaration.signature);
        if declaration.signature.effects == Effects::PURE && !is_intrinsic(declaration) {
            // No memory effects.
            self.asm.add_function_attribute(func.1, "memory", 0);
            self.asm.add_function_attribute(func.1, "willreturn", 0);
        }
        func
    }

    fn declare(&self, name: &str, signature: &Signature) -> (TypeHandle, ValueHandle) {
        let params: Vec<TypeHandle> = signature.params.iter().map(|param| self.asm.ty(param.ty)).collect();
        let ty = self.asm.function_ty(self.result_ty(signature), &params);
        let func = self.asm.add_function(name, ty);
        for (index, param) in (1..).zip(&signature.params) {
            if param.noalias {
                self.asm.add_attribute(func, index, "noalias", 0);
            }
            if param.readonly {
                self.asm.add_attribute(func, index, "readonly", 0);
            }
            if param.ty.scalar().is_ptr() && !param.ty.is_vector() {
                if param.align > 1 {
                    self.asm.add_attribute(func, index, "align", param.align.into());
                }
                if param.dereferenceable > 0 {
                    self.asm.add_attribute(func, index, "dereferenceable", param.dereferenceable);
                }
            }
        }
        if !name.starts_with("llvm.") {
            self.asm.add_function_attribute(func, "nounwind", 0);
        }
        (ty, func)
    }

    fn result_ty(&self, signature: &Signature) -> TypeHandle {
        match &signature.results[..] {
            [] => self.asm.void_ty(),
            [one] => self.asm.ty(one.ty),
            all => self.asm.struct_ty(&all.iter().map(|result| self.asm.ty(result.ty)).collect::<Vec<_>>()),
        }
    }

    /// Returns the constant for a run of an initializer.
    fn piece(&self, init: &GlobalInit, address: &dyn Fn(&str, i64) -> ValueHandle) -> ValueHandle {
        let asm = &self.asm;
        match init {
            GlobalInit::Values(scalar, values) => {
                let bits = if *scalar == Scalar::I1 { 8 } else { scalar.bits() };
                let values: Vec<ValueHandle> = values.iter().map(|&value| asm.int(bits, value)).collect();
                asm.array(asm.int_ty(bits), &values)
            }
            GlobalInit::Zero(bytes) => asm.zero(asm.array_ty(asm.int_ty(8), *bytes)),
            GlobalInit::Poison(bytes) | GlobalInit::Extern(bytes) => {
                asm.undef(asm.array_ty(asm.int_ty(8), *bytes))
            }
            GlobalInit::Address(name, offset) => address(name, *offset),
        }
    }

    /// Declares globals with null addresses: types follow from contents, and addresses may be those of later globals.
    fn declare_globals(&mut self, module: &'a Module) {
        let asm = &self.asm;
        let null = asm.scalar(Scalar::Ptr(Space::Generic), 0);
        let globals = module.globals.iter();
        for global in globals.filter(|global| function_of_address(&global.name).is_none()) {
            let pieces: Vec<ValueHandle> =
                global.init.iter().map(|init| self.piece(init, &|_, _| null)).collect();
            let ty = asm.type_of(asm.packed_struct(&pieces));
            let name = format!("{}{}", self.prefix, global.name);
            let node = asm.add_global(&name, ty, global.align, global.space == Space::Constant);
            if global.name.starts_with(OWN) && !global.is_extern() {
                asm.set_internal(node);
            }
            self.globals.insert(&global.name, node);
        }
    }

    fn fill_globals(&self, module: &'a Module) {
        let asm = &self.asm;
        let null = asm.scalar(Scalar::Ptr(Space::Generic), 0);
        for global in module.globals.iter().filter(|global| !global.is_extern()) {
            let address = |name: &str, offset| {
                self.globals.get(name).map_or(null, |&global| asm.address_behind(global, offset))
            };
            let pieces: Vec<ValueHandle> =
                global.init.iter().map(|init| self.piece(init, &address)).collect();
            asm.set_initializer(self.globals[&*global.name], asm.packed_struct(&pieces));
        }
    }
}
