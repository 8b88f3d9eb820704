//! Linking of vector code with its source module: into that module, or into a separate object.

use crate::view::{LlvmModule, Val, attribute_kind, c_text, take_error, take_message};
use heddle_ir::{Code, Diagnostic};
use llvm_sys::LLVMLinkage;
use llvm_sys::comdat::LLVMSetComdat;
use llvm_sys::core::*;
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::transforms::pass_builder::*;
use rustc_hash::FxHashSet;

/// Reports a symbol that prevents linking code with its source.
fn refuse(name: &str, text: &str, help: &str) -> Diagnostic {
    Diagnostic::error(Code::NotLinked, text).of_func(name).help(help)
}

/// Reports a name that the source defines already.
fn already_defined(name: &str) -> Diagnostic {
    refuse(name, "the module defines it already", "write an object (`.o`), or remove it from the source")
}

/// Reports a function called lane by lane whose calling convention only its own module knows.
fn other_convention(name: &str) -> Diagnostic {
    let text = "it is called lane by lane, with arguments that vector code passes in another way";
    refuse(name, text, "pass structs by address")
}

/// Reports a static variable that a separate object cannot access.
fn static_variable(name: &str) -> Diagnostic {
    let text = "an object file of its own cannot access this static variable";
    refuse(name, text, "write the whole module (`.ll` or `.bc`), or remove `static`")
}

/// Reports a failure of LLVM's linker.
fn link_failure(reason: &str) -> Diagnostic {
    let text = format!("internal error: cannot link the vector code with its source: {}", reason.trim_end());
    Diagnostic::error(Code::Internal, text).help("please report it, with the input")
}

/// Name prefix of stand-ins, which linking replaces by the source's symbols.
const STANDS_FOR: &str = "heddle.stands.for.";

fn set_name(value: LLVMValueRef, name: &str) {
    // SAFETY: a live value; the number of bytes matches.
    unsafe { LLVMSetValueName2(value, name.as_ptr().cast(), name.len()) }
}

fn set_linkage(value: Val<'_>, linkage: LLVMLinkage) {
    // SAFETY: a live global value.
    unsafe { LLVMSetLinkage(value.0, linkage) }
}

/// Internalizes all functions of a module but these.
pub fn internalize_except(code: &LlvmModule, seen: &[&str]) {
    for func in code.functions().filter(|func| !func.is_declaration()) {
        if !seen.contains(&&*func.name()) {
            set_linkage(func, LLVMLinkage::LLVMInternalLinkage);
        }
    }
}

/// Makes the globals of vector code refer to the source's: variables become declarations, constants stay readable.
pub fn share_globals(code: &LlvmModule, source: &LlvmModule) {
    let known: FxHashSet<String> = source.globals().map(|global| global.name()).collect();
    for global in code.globals().filter(|global| !global.is_declaration()) {
        if known.contains(&global.name()) {
            // SAFETY: a live global; without contents it is a declaration.
            unsafe {
                if global.is_global_constant() {
                    LLVMSetLinkage(global.0, LLVMLinkage::LLVMAvailableExternallyLinkage);
                } else {
                    LLVMSetInitializer(global.0, std::ptr::null_mut());
                    LLVMSetLinkage(global.0, LLVMLinkage::LLVMExternalLinkage);
                }
            }
        } else {
            set_linkage(global, LLVMLinkage::LLVMInternalLinkage);
        }
    }
}

/// Links functions that are written as text into a module.
pub(crate) fn link_text(module: &LlvmModule, text: &str) -> Result<(), Diagnostic> {
    let name = c_text("heddle");
    let (mut raw, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the buffer is a copy, freed after parsing; the parsed module lives in the context of the other one, which is live and
    // takes it over. The parser allocated the message, or left it null.
    let failed = unsafe {
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(text.as_ptr().cast(), text.len(), name.as_ptr());
        let failed = LLVMParseIRInContext2(module.context(), buffer, &mut raw, &mut message) != 0;
        LLVMDisposeMemoryBuffer(buffer);
        failed
    };
    // SAFETY: as above.
    let message = unsafe { take_message(message) };
    if failed || raw.is_null() {
        return Err(link_failure(&message));
    }
    // SAFETY: both modules are in one context; the second is taken over.
    unsafe {
        LLVMSetTarget(raw, LLVMGetTarget(module.raw()));
        LLVMSetDataLayout(raw, LLVMGetDataLayoutStr(module.raw()));
        match LLVMLinkModules2(module.raw(), raw) {
            0 => Ok(()),
            _ => Err(link_failure("the linker rejects it")),
        }
    }
}

/// Links vector code into its source module, which otherwise stays unchanged. A variable that both define is the
/// source's; a function that both define is an error.
pub fn link(source: &LlvmModule, code: &LlvmModule) -> Result<(), Diagnostic> {
    let bitcode = code.bitcode();
    let name = c_text("heddle");
    let mut raw = std::ptr::null_mut();
    // SAFETY: the buffer is a copy, freed after parsing; the module lives in the source's context, which is live.
    let failed = unsafe {
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode.as_ptr().cast(), bitcode.len(), name.as_ptr());
        let failed = llvm_sys::bit_reader::LLVMParseBitcodeInContext2(source.context(), buffer, &mut raw);
        LLVMDisposeMemoryBuffer(buffer);
        failed != 0
    };
    if failed || raw.is_null() {
        return Err(link_failure("the module cannot be read back"));
    }
    // The triples may be different spellings of one machine.
    // SAFETY: both modules are live, and the texts live in the source.
    unsafe {
        LLVMSetTarget(raw, LLVMGetTarget(source.raw()));
        LLVMSetDataLayout(raw, LLVMGetDataLayoutStr(source.raw()));
    }
    let known: Vec<Val<'_>> = source.functions().chain(source.globals()).collect();
    let mut standing = Vec::new();
    for &theirs in &known {
        let name = theirs.name();
        let c_name = c_text(&name);
        // SAFETY: both modules are live.
        let ours = unsafe {
            let func = LLVMGetNamedFunction(raw, c_name.as_ptr());
            if func.is_null() { LLVMGetNamedGlobal(raw, c_name.as_ptr()) } else { func }
        };
        if ours.is_null() || name.starts_with("llvm.") {
            continue;
        }
        // SAFETY: a live global value of the parsed module.
        let is_defined = unsafe {
            LLVMIsDeclaration(ours) == 0
                && LLVMGetLinkage(ours) != LLVMLinkage::LLVMAvailableExternallyLinkage
        };
        // Code defines functions that the source only declares.
        if is_defined && theirs.is_declaration() {
            continue;
        }
        // SAFETY: a live global value.
        if is_defined && !unsafe { LLVMIsAFunction(ours) }.is_null() {
            // SAFETY: the parsed module is ours, and nothing keeps anything of it.
            unsafe { LLVMDisposeModule(raw) };
            return Err(already_defined(&name));
        }
        let stand_in = format!("{STANDS_FOR}{}", standing.len());
        set_name(ours, &stand_in);
        // SAFETY: a live global value. Only the name is needed any more, and what is only declared is linked by it.
        unsafe {
            if LLVMIsAFunction(ours).is_null() {
                LLVMSetInitializer(ours, std::ptr::null_mut());
                LLVMSetLinkage(ours, LLVMLinkage::LLVMExternalLinkage);
            }
        }
        standing.push((stand_in, theirs));
    }
    // SAFETY: both modules are in one context; the second is taken over.
    if unsafe { LLVMLinkModules2(source.raw(), raw) } != 0 {
        return Err(link_failure("the linker rejects it"));
    }
    for (stand_in, theirs) in standing {
        let name = c_text(&stand_in);
        // SAFETY: the module is live; all uses are replaced before the declaration is deleted.
        unsafe {
            let func = LLVMGetNamedFunction(source.raw(), name.as_ptr());
            let global = LLVMGetNamedGlobal(source.raw(), name.as_ptr());
            if !func.is_null() {
                call_as_declared(func, theirs)?;
                LLVMReplaceAllUsesWith(func, theirs.0);
                LLVMDeleteFunction(func);
            } else if !global.is_null() {
                LLVMReplaceAllUsesWith(global, theirs.0);
                LLVMDeleteGlobal(global);
            }
        }
    }
    source.verify().map_err(|reason| link_failure(&reason))
}

/// Gives calls of a stand-in the calling convention of its function, including the extension of small integers.
///
/// # Safety
/// The stand-in is a live function of the same module.
unsafe fn call_as_declared(stand_in: LLVMValueRef, theirs: Val<'_>) -> Result<(), Diagnostic> {
    let [byval, zeroext, signext] = ["byval", "zeroext", "signext"].map(attribute_kind);
    let count = theirs.params().len() as u32;
    let has = |index: u32, kind: u32| theirs.attribute_ref(index, kind);
    // SAFETY: both are live functions.
    let is_same = unsafe { LLVMGlobalGetValueType(stand_in) } == theirs.value_type().0;
    let fits = is_same && !(1..=count).any(|index| has(index, byval).is_some());
    // SAFETY: uses of a live function, each by a live user; attributes live in the context.
    unsafe {
        let mut at = LLVMGetFirstUse(stand_in);
        while !at.is_null() {
            let user = LLVMGetUser(at);
            // Uses other than calls work with any type.
            if !LLVMIsACallInst(user).is_null() && LLVMGetCalledValue(user) == stand_in {
                if !fits {
                    return Err(other_convention(&theirs.name()));
                }
                LLVMSetInstructionCallConv(user, LLVMGetFunctionCallConv(theirs.0));
                for index in 0..=count {
                    for attribute in [has(index, zeroext), has(index, signext)].into_iter().flatten() {
                        LLVMAddCallSiteAttribute(user, index, attribute);
                    }
                }
            }
            at = LLVMGetNextUse(at);
        }
    }
    Ok(())
}

/// Reduces a linked module to these functions and their dependencies, for an object linked with the source's.
pub fn reduce_to_functions(module: &LlvmModule, seen: &[&str]) -> Result<(), Diagnostic> {
    // Symbols exported by the source's own object.
    let mut outside = FxHashSet::default();
    let defined: Vec<Val<'_>> = module.functions().filter(|func| !func.is_declaration()).collect();
    for func in defined {
        if seen.contains(&&*func.name()) {
            continue;
        }
        // SAFETY: a live function.
        let is_shown = unsafe { LLVMGetLinkage(func.0) } == LLVMLinkage::LLVMExternalLinkage;
        if is_shown && func.has_address_taken() {
            use_external(module, func);
        }
        hide(func);
    }
    for alias in module.aliases() {
        set_linkage(alias, LLVMLinkage::LLVMInternalLinkage);
    }
    let globals: Vec<Val<'_>> = module.globals().filter(|global| !global.is_declaration()).collect();
    for global in globals {
        // SAFETY: a live global.
        let linkage = unsafe { LLVMGetLinkage(global.0) };
        match linkage {
            // Lists that the linker concatenates: the source's object has its own.
            // SAFETY: a live global without uses; it is collected before the loop.
            LLVMLinkage::LLVMAppendingLinkage => unsafe { LLVMDeleteGlobal(global.0) },
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage => {}
            _ => {
                outside.insert(global.name());
                hide(global);
            }
        }
    }
    // SAFETY: the module is live; a text of no bytes.
    unsafe { LLVMSetModuleInlineAsm2(module.raw(), c"".as_ptr(), 0) };
    // SAFETY: module and options are live; an error is taken over once.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        let error = LLVMRunPasses(module.raw(), c"globaldce".as_ptr(), std::ptr::null_mut(), options);
        LLVMDisposePassBuilderOptions(options);
        take_error(error).map_err(|reason| link_failure(&reason))?;
    }
    let left: Vec<Val<'_>> = module.globals().filter(|global| !global.is_declaration()).collect();
    for global in left.into_iter().filter(|global| !global.is_global_constant()) {
        let name = global.name();
        if !outside.contains(&name) {
            return Err(static_variable(&name));
        }
        // SAFETY: a live global; without contents it is a declaration.
        unsafe {
            LLVMSetInitializer(global.0, std::ptr::null_mut());
            LLVMSetLinkage(global.0, LLVMLinkage::LLVMExternalLinkage);
        }
    }
    module.verify().map_err(|reason| link_failure(&reason))
}

/// Makes all uses refer to the function in the source's object, since function addresses are compared.
fn use_external(module: &LlvmModule, func: Val<'_>) {
    let name = func.name();
    set_name(func.0, &format!("{STANDS_FOR}{name}"));
    let c_name = c_text(&name);
    // SAFETY: both functions are of the live module; only uses change.
    unsafe {
        let declared = LLVMAddFunction(module.raw(), c_name.as_ptr(), func.value_type().0);
        LLVMSetFunctionCallConv(declared, LLVMGetFunctionCallConv(func.0));
        LLVMReplaceAllUsesWith(func.0, declared);
    }
}

fn hide(value: Val<'_>) {
    // SAFETY: a live function or global, which may be in no group of the linker any more.
    unsafe {
        LLVMSetComdat(value.0, std::ptr::null_mut());
        LLVMSetVisibility(value.0, llvm_sys::LLVMVisibility::LLVMDefaultVisibility);
        LLVMSetLinkage(value.0, LLVMLinkage::LLVMInternalLinkage);
    }
}
