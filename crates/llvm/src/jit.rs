//! JIT: compiles modules in memory for the host, on ORC's LLJIT.

use crate::builtins::builtins;
use crate::cpu::Cpu;
use crate::emit::{ENTRY, entry_name};
use crate::generate::{emit_object, set_target};
use crate::object_cache::ObjectCache;
use crate::view::{LlvmModule, c_text, take_error};
use heddle_ir::{Code, Diagnostic};
use llvm_sys::core::{LLVMCreateMemoryBufferWithMemoryRangeCopy, LLVMSetDataLayout, LLVMSetTarget};
use llvm_sys::error::LLVMErrorRef;
use llvm_sys::orc2::lljit::*;
use llvm_sys::orc2::*;
use llvm_sys::target_machine::*;
use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::{LazyLock, Once};

/// Optimization level of the code generator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodegenLevel {
    /// Fastest compilation; also for modules that no LLVM pass has seen.
    Minimal,
    /// LLVM's default level.
    Default,
}

/// Reports that LLVM cannot generate code for the machine.
pub(crate) fn no_machine(reason: String) -> Diagnostic {
    Diagnostic::error(Code::CodeGeneration, format!("LLVM cannot generate code for this machine: {reason}"))
}

/// Reports that LLVM failed to compile the module.
pub(crate) fn not_compiled(reason: String) -> Diagnostic {
    Diagnostic::error(Code::CodeGeneration, format!("LLVM cannot compile the module: {reason}"))
}

/// Compiled and linked modules.
#[derive(Debug)]
pub struct Jit {
    raw: LLVMOrcLLJITRef,
    is_from_cache: bool,
}

/// Compiled function that loads its arguments from memory and stores its results there, each in a slot of
/// [`slot_bytes`](crate::slot_bytes).
#[derive(Clone, Copy, Debug)]
pub struct JitEntry<'j> {
    address: u64,
    jit: std::marker::PhantomData<&'j Jit>,
}

impl JitEntry<'_> {
    /// Returns the function pointer, which must not outlive the JIT.
    pub(crate) fn function(&self) -> extern "C" fn(*const u8, *mut u8) {
        // SAFETY: the address is that of an entry, compiled with this type.
        unsafe { std::mem::transmute(self.address as usize) }
    }

    /// Calls the function.
    ///
    /// # Safety
    /// The function must have no undefined behaviour for these arguments, as judged by the oracle on the emitted
    /// program, with the objects that pointers refer to in place. Both slices hold the bytes of all slots.
    pub unsafe fn call(&self, arguments: &[u8], results: &mut [u8]) {
        // The caller guarantees the safety of the code.
        self.function()(arguments.as_ptr(), results.as_mut_ptr());
    }
}

thread_local! {
    /// Errors that JITs reported during symbol look-ups on this thread.
    static LOOKUP_ERRORS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Error reporter: collects messages that LLVM would print to the terminal.
extern "C" fn keep_message(_: *mut c_void, error: LLVMErrorRef) {
    // SAFETY: the reporter owns the error.
    if let Err(message) = unsafe { take_error(error) } {
        LOOKUP_ERRORS.with_borrow_mut(|diagnostic| diagnostic.push(message));
    }
}

/// Returns the symbols that this thread's last look-up did not find, quoted.
fn missing_symbols() -> Option<String> {
    let diagnostic = LOOKUP_ERRORS.take();
    let list =
        diagnostic.iter().find_map(|text| text.strip_prefix("Symbols not found: [")?.strip_suffix(']'))?;
    let symbols: Vec<String> = list.split(',').map(|symbol| format!("`{}`", symbol.trim())).collect();
    Some(symbols.join(", "))
}

/// Registers the targets that code is generated for.
fn initialize() {
    static DONE: Once = Once::new();
    // SAFETY: done once, before any target is used.
    DONE.call_once(|| unsafe {
        use llvm_sys::target::*;
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        LLVMInitializeAArch64TargetInfo();
        LLVMInitializeAArch64Target();
        LLVMInitializeAArch64TargetMC();
        LLVMInitializeAArch64AsmPrinter();
    });
}

// SAFETY: as the shim defines it.
unsafe extern "C" {
    fn heddle_limit_scheduling(most: u32, reduced: u32) -> bool;
}

/// Limits the memory accesses of a block that LLVM's schedulers compare with each other, for all code of the process. Returns false if
/// this LLVM has no such limit. The schedulers' time is quadratic in that number: at the default of 1000 they take 70 % of the time
/// that CUB's radix sort takes to compile.
pub fn limit_scheduling() -> bool {
    const MOST: u32 = 200;
    static IS_LIMITED: LazyLock<bool> = LazyLock::new(|| {
        // SAFETY: it sets two numbers of LLVM's, which are read when code is generated.
        unsafe { heddle_limit_scheduling(MOST, MOST / 2) }
    });
    *IS_LIMITED
}

/// Disabled features: x86's bf16 conversions treat subnormals as zero, which LLVM ignores.
const DISABLED_FEATURES: &str = ",-avx512bf16,-avxneconvert";

/// LLVM target machine.
#[derive(Debug)]
pub(crate) struct TargetMachine(LLVMTargetMachineRef);

impl TargetMachine {
    pub(crate) fn raw(&self) -> LLVMTargetMachineRef {
        self.0
    }
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: owned here.
        unsafe { LLVMDisposeTargetMachine(self.0) }
    }
}

/// Maximum number of target machines cached per thread.
const MAX_MACHINES: usize = 4;

thread_local! {
    /// This thread's target machines, most recently used last.
    static MACHINES: RefCell<Vec<(Cpu, CodegenLevel, Rc<TargetMachine>)>> = const { RefCell::new(Vec::new()) };
}

/// Returns the target machine of a CPU, cached per thread: parsing a CPU's features, once for the machine and once
/// for function attributes, takes as long as several LLVM passes.
pub(crate) fn machine(cpu: &Cpu, level: CodegenLevel) -> Result<Rc<TargetMachine>, String> {
    MACHINES.with_borrow_mut(|kept| {
        let found = kept.iter().position(|(other, its_level, _)| (other, *its_level) == (cpu, level));
        let entry = match found {
            Some(at) => kept.remove(at),
            None => (cpu.clone(), level, Rc::new(new_machine(cpu, level)?)),
        };
        let machine = entry.2.clone();
        if kept.len() == MAX_MACHINES {
            kept.remove(0);
        }
        kept.push(entry);
        Ok(machine)
    })
}

fn new_machine(cpu: &Cpu, level: CodegenLevel) -> Result<TargetMachine, String> {
    initialize();
    let without = if cpu.features.contains("+avx512bf16") { DISABLED_FEATURES } else { "" };
    let features = c_text(&format!("{}{without}", cpu.features));
    let triple = match &cpu.triple {
        Some(triple) => c_text(triple),
        // SAFETY: LLVM's text, taken over and freed.
        None => c_text(&unsafe { crate::view::take_message(LLVMGetDefaultTargetTriple()) }),
    };
    let level = match level {
        CodegenLevel::Minimal => LLVMCodeGenOptLevel::LLVMCodeGenLevelNone,
        CodegenLevel::Default => LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
    };
    // SAFETY: texts are taken over and freed, the target is LLVM's own.
    unsafe {
        let (mut target, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        let failed = LLVMGetTargetFromTriple(triple.as_ptr(), &mut target, &mut message) != 0;
        let message = crate::view::take_message(message);
        let machine = if failed {
            std::ptr::null_mut()
        } else {
            LLVMCreateTargetMachine(
                target,
                triple.as_ptr(),
                c_text(&cpu.name).as_ptr(),
                features.as_ptr(),
                level,
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelDefault,
            )
        };
        if machine.is_null() { Err(message) } else { Ok(TargetMachine(machine)) }
    }
}

/// Compiles a module to an object for [`Jit::of_object`] in any process on the same machine.
pub fn compile_host_object(module: &LlvmModule, level: CodegenLevel) -> Result<Vec<u8>, Diagnostic> {
    let machine = machine(&Cpu::host(), level).map_err(no_machine)?;
    set_target(module, &machine);
    emit_object(module, &machine, level)
}

impl Jit {
    /// Compiles a module for the host. External symbols come from `symbols`, or else from the process.
    pub fn new(
        module: LlvmModule,
        level: CodegenLevel,
        symbols: &[(&str, usize)],
    ) -> Result<Jit, Diagnostic> {
        Jit::of_object(&compile_host_object(&module, level)?, symbols)
    }

    /// Links an object that [`compile_host_object`] compiled. External symbols come from `symbols`, or else from the process.
    pub fn of_object(object: &[u8], symbols: &[(&str, usize)]) -> Result<Jit, Diagnostic> {
        let jit = Jit::empty(symbols)?;
        jit.add_object(object)?;
        Ok(jit)
    }

    /// Links a module's cached object; on a miss, compiles the module and adds its object to the cache.
    pub fn cached(
        module: LlvmModule,
        level: CodegenLevel,
        symbols: &[(&str, usize)],
        cache: &ObjectCache,
    ) -> Result<Jit, Diagnostic> {
        let mut jit = Jit::empty(symbols)?;
        // SAFETY: the module is live, and the JIT keeps its texts.
        unsafe {
            LLVMSetTarget(module.raw(), LLVMOrcLLJITGetTripleString(jit.raw));
            LLVMSetDataLayout(module.raw(), LLVMOrcLLJITGetDataLayoutStr(jit.raw));
        }
        let cpu = Cpu::host();
        let version = (env!("CARGO_PKG_VERSION"), crate::view::version());
        let key = format!("{version:?} {level:?} {cpu:?} {DISABLED_FEATURES}\n{}", module.text());
        let object = match cache.find(key.as_bytes()) {
            Some(object) => {
                jit.is_from_cache = true;
                object
            }
            None => {
                let machine = machine(&cpu, level).map_err(no_machine)?;
                let object = emit_object(&module, &machine, level)?;
                cache.keep(key.as_bytes(), &object);
                object
            }
        };
        jit.add_object(&object)?;
        Ok(jit)
    }

    /// True if the object came from the cache.
    pub fn is_from_cache(&self) -> bool {
        self.is_from_cache
    }

    fn empty(symbols: &[(&str, usize)]) -> Result<Jit, Diagnostic> {
        // The JIT only links, so any x86 or AArch64 machine does; one without features is cheap to create.
        let plain = Cpu { name: String::new(), features: String::new(), triple: None };
        let machine =
            std::mem::ManuallyDrop::new(new_machine(&plain, CodegenLevel::Default).map_err(no_machine)?);
        // SAFETY: the machine is taken over by the machine builder, and that by the JIT's builder, and that by the JIT.
        let raw = unsafe {
            let builder = LLVMOrcCreateLLJITBuilder();
            LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
                builder,
                LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(machine.raw()),
            );
            let mut raw = std::ptr::null_mut();
            take_error(LLVMOrcCreateLLJIT(&mut raw, builder)).map_err(no_machine)?;
            let session = LLVMOrcLLJITGetExecutionSession(raw);
            LLVMOrcExecutionSessionSetErrorReporter(session, keep_message, std::ptr::null_mut());
            raw
        };
        let jit = Jit { raw, is_from_cache: false };
        let is_given = |name| symbols.iter().any(|(given, _)| *given == name);
        let own = builtins().into_iter().filter(|(name, _)| !is_given(*name));
        jit.define(&own.chain(symbols.iter().copied()).collect::<Vec<_>>())?;
        jit.search_process()?;
        Ok(jit)
    }

    fn add_object(&self, object: &[u8]) -> Result<(), Diagnostic> {
        // SAFETY: the buffer is a copy, which the JIT takes over.
        unsafe {
            let buffer =
                LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), c"".as_ptr());
            let library = LLVMOrcLLJITGetMainJITDylib(self.raw);
            take_error(LLVMOrcLLJITAddObjectFile(self.raw, library, buffer)).map_err(not_compiled)
        }
    }

    fn define(&self, symbols: &[(&str, usize)]) -> Result<(), Diagnostic> {
        if symbols.is_empty() {
            return Ok(());
        }
        // SAFETY: names are interned and taken over by the unit, and the unit by the library.
        unsafe {
            let mut pairs: Vec<LLVMOrcCSymbolMapPair> = symbols
                .iter()
                .map(|&(name, address)| {
                    let flags = LLVMJITSymbolFlags {
                        GenericFlags: LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8,
                        TargetFlags: 0,
                    };
                    let sym = LLVMJITEvaluatedSymbol { Address: address as u64, Flags: flags };
                    LLVMOrcCSymbolMapPair {
                        Name: LLVMOrcLLJITMangleAndIntern(self.raw, c_text(name).as_ptr()),
                        Sym: sym,
                    }
                })
                .collect();
            let unit = LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len());
            take_error(LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(self.raw), unit))
                .map_err(not_compiled)
        }
    }

    fn search_process(&self) -> Result<(), Diagnostic> {
        // SAFETY: the generator is taken over by the library.
        unsafe {
            let mut generator = std::ptr::null_mut();
            let prefix = LLVMOrcLLJITGetGlobalPrefix(self.raw);
            take_error(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                &mut generator,
                prefix,
                None,
                std::ptr::null_mut(),
            ))
            .map_err(not_compiled)?;
            LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(self.raw), generator);
        }
        Ok(())
    }

    /// Returns the address of a symbol, linking what it needs.
    pub fn address(&self, name: &str) -> Result<u64, Diagnostic> {
        let mut address = 0;
        let symbol = c_text(name);
        // SAFETY: the JIT is live; the out-pointer is valid; the error is taken over once.
        let found = unsafe { take_error(LLVMOrcLLJITLookup(self.raw, &mut address, symbol.as_ptr())) };
        found.map_err(|reason| {
            let text = match missing_symbols() {
                Some(symbols) => format!("undefined symbols: {symbols}"),
                None => format!("no native code: {reason}"),
            };
            Diagnostic::error(Code::CodeGeneration, text).of_func(name.strip_prefix(ENTRY).unwrap_or(name))
        })?;
        Ok(address)
    }

    /// Returns the entry of a function.
    pub fn entry(&self, name: &str) -> Result<JitEntry<'_>, Diagnostic> {
        let address = self.address(&entry_name(name))?;
        Ok(JitEntry { address, jit: std::marker::PhantomData })
    }
}

impl Drop for Jit {
    fn drop(&mut self) {
        // SAFETY: owned here; entries cannot outlive it. The error is taken over once.
        let _ = unsafe { take_error(LLVMOrcDisposeLLJIT(self.raw)) };
    }
}
