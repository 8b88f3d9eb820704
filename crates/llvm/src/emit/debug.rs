//! Debug info: source lines for debuggers and profilers.
//!
//! A function with located instructions gets a subprogram at the first location. Instructions without location get
//! line 0, since LLVM requires a location on calls that may be inlined.

use super::assembler::{Assembler, ValueHandle};
use heddle_ir::entity::Entity;
use heddle_ir::function::SourceLoc;
use heddle_ir::module::File;
use heddle_ir::{Function, Module};
use llvm_sys::LLVMModuleFlagBehavior;
use llvm_sys::core::{LLVMAddModuleFlag, LLVMSetCurrentDebugLocation2, LLVMValueAsMetadata};
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Debug info of a module under construction.
#[derive(Debug)]
pub(super) struct DebugInfo {
    builder: LLVMDIBuilderRef,
    files: Vec<LLVMMetadataRef>,
    /// Lexical scope of each (function, file) pair, for code inlined from another file.
    scopes: RefCell<FxHashMap<(usize, File), LLVMMetadataRef>>,
}

/// Debug scope of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct DebugScope {
    function: LLVMMetadataRef,
    file: File,
}

fn first_place(func: &Function) -> Option<SourceLoc> {
    func.blocks().flat_map(|block| func.block_insts(block)).find_map(|inst| func.loc(inst))
}

impl Drop for DebugInfo {
    fn drop(&mut self) {
        // SAFETY: the builder is owned here, and the module still exists: it is finished after this.
        unsafe {
            LLVMDIBuilderFinalize(self.builder);
            LLVMDisposeDIBuilder(self.builder);
        }
    }
}

impl DebugInfo {
    /// Returns the debug info of a module; none if it has no source locations.
    pub(super) fn new(asm: &Assembler, module: &Module) -> Option<DebugInfo> {
        let first = module.functions.iter().find_map(first_place)?;
        let first = first.file.index();
        if first >= module.files.len() {
            return None;
        }
        let (producer, version) = ("heddle", "Debug Info Version");
        // SAFETY: the module is live, text lengths match, and nodes live in the context.
        unsafe {
            let builder = LLVMCreateDIBuilder(asm.raw_module());
            let file = |name: &String| {
                LLVMDIBuilderCreateFile(builder, name.as_ptr().cast(), name.len(), c"".as_ptr(), 0)
            };
            let files: Vec<LLVMMetadataRef> = module.files.values().map(file).collect();
            LLVMDIBuilderCreateCompileUnit(
                builder,
                LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguageC11,
                files[first],
                producer.as_ptr().cast(),
                producer.len(),
                1,
                c"".as_ptr(),
                0,
                0,
                c"".as_ptr(),
                0,
                LLVMDWARFEmissionKind::LLVMDWARFEmissionKindLineTablesOnly,
                0,
                0,
                0,
                c"".as_ptr(),
                0,
                c"".as_ptr(),
                0,
            );
            let number = LLVMValueAsMetadata(asm.int(32, LLVMDebugMetadataVersion().into()).raw());
            let warning = LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning;
            LLVMAddModuleFlag(asm.raw_module(), warning, version.as_ptr().cast(), version.len(), number);
            Some(DebugInfo { builder, files, scopes: RefCell::default() })
        }
    }

    /// Attaches a subprogram to a function; none without source location.
    pub(super) fn enter(&self, asm: &Assembler, node: ValueHandle, func: &Function) -> Option<DebugScope> {
        let place = first_place(func).filter(|place| place.file.index() < self.files.len())?;
        let file = self.files[place.file.index()];
        // SAFETY: the function is live, text lengths match, and nodes live in the context.
        let function = unsafe {
            let ty = LLVMDIBuilderCreateSubroutineType(self.builder, file, std::ptr::null_mut(), 0, 0);
            let name = &func.name;
            let function = LLVMDIBuilderCreateFunction(
                self.builder,
                file,
                name.as_ptr().cast(),
                name.len(),
                name.as_ptr().cast(),
                name.len(),
                file,
                place.line,
                ty,
                0,
                1,
                place.line,
                0,
                1,
            );
            LLVMSetSubprogram(node.raw(), function);
            function
        };
        let scope = DebugScope { function, file: place.file };
        self.set_location(asm, Some(scope), None);
        Some(scope)
    }

    /// Sets the location of the following instructions.
    pub(super) fn set_location(&self, asm: &Assembler, scope: Option<DebugScope>, place: Option<SourceLoc>) {
        let Some(scope) = scope else {
            // SAFETY: the builder is live.
            unsafe { LLVMSetCurrentDebugLocation2(asm.raw_builder(), std::ptr::null_mut()) };
            return;
        };
        let place = place.filter(|place| place.file.index() < self.files.len());
        let (line, column) = place.map_or((0, 0), |place| (place.line, place.column));
        let file = place.map_or(scope.file, |place| place.file);
        // SAFETY: the builder is live, and nodes live in the context.
        unsafe {
            let within = match file == scope.file {
                true => scope.function,
                false => {
                    *self.scopes.borrow_mut().entry((scope.function as usize, file)).or_insert_with(|| {
                        let file = self.files[file.index()];
                        LLVMDIBuilderCreateLexicalBlockFile(self.builder, scope.function, file, 0)
                    })
                }
            };
            let none = std::ptr::null_mut();
            let location = LLVMDIBuilderCreateDebugLocation(asm.raw_context(), line, column, within, none);
            LLVMSetCurrentDebugLocation2(asm.raw_builder(), location);
        }
    }
}
