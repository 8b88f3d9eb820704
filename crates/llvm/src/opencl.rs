//! In-process clang: compiles OpenCL C to LLVM IR without files or processes, from any thread.

use crate::compiler_threads::{CompilerThread, while_waiting};
use crate::defined_divisions::define_divisions;
use crate::disjoint_addends::pair_disjoint_addends;
use crate::fatal_errors::{catch_fatal_errors, handle_diagnostics};
use crate::image_types::replace_image_types;
use crate::indices::restore_indices;
use crate::kernel_info::{SPIR_FUNCTION, SPIR_KERNEL};
use crate::private_arrays::locate_arrays;
use crate::read::read_ir;
use crate::small_loops::unroll_small_loops;
use crate::space_queries::{inline_space_queries, resolve_space_queries};
use crate::view::{LlvmModule, Val, attribute_kind, take_error};
use heddle_ir::{Code, Diagnostic};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::transforms::pass_builder::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};

/// Compiler options of an OpenCL C source.
#[derive(Clone, Debug, Default)]
pub struct OpenClOptions {
    /// Options of `clBuildProgram`, split into words.
    pub words: Vec<String>,
    /// Additional headers: name in `#include`, contents.
    pub headers: Vec<(String, String)>,
    /// Libraries whose called functions are linked, in this order.
    pub libraries: &'static [OpenClLibrary],
    /// Emits line tables for diagnostics and reports.
    pub lines: bool,
    /// Leaves the functions as clang has them, for [`link_programs`](crate::link_programs).
    pub is_object: bool,
}

/// Library of functions in bitcode.
#[derive(Clone, Copy, Debug)]
pub struct OpenClLibrary {
    /// Bitcode of the module.
    pub bitcode: &'static [u8],
    /// Mangled names of its exported functions, sorted.
    pub names: &'static [&'static str],
}

/// Build option that adds Heddle's remarks to the build log.
pub const REMARKS_OPTION: &str = "-Rpass-missed=heddle";

/// Build option for mathematical functions within one unit in the last place.
pub const EXACT_MATH_OPTION: &str = "-heddle-math=exact";
/// Build option for mathematical functions within four units, or what OpenCL allows if it is less: the default.
pub const FAST_MATH_OPTION: &str = "-heddle-math=fast";

/// Prefix of the mathematical functions that builtins call, and of those within four units among them.
const MATH_PREFIX: &str = "heddle.";
const FAST_MATH_PREFIX: &str = "heddle.fast.";

/// Offered extensions and features, a subset of clang's for the target.
const FEATURES: &str = "-cl-ext=-all,+cl_khr_byte_addressable_store,+cl_khr_global_int32_base_atomics,\
    +cl_khr_global_int32_extended_atomics,+cl_khr_local_int32_base_atomics,\
    +cl_khr_local_int32_extended_atomics,+cl_khr_int64_base_atomics,+cl_khr_int64_extended_atomics,\
    +cl_khr_fp16,+cl_khr_fp64,+cl_khr_subgroups,+cl_khr_subgroup_shuffle,+cl_khr_subgroup_shuffle_relative,\
    +cl_khr_subgroup_ballot,+cl_khr_subgroup_non_uniform_vote,+cl_khr_subgroup_extended_types,\
    +cl_khr_subgroup_non_uniform_arithmetic,+cl_khr_subgroup_clustered_reduce,+cl_khr_subgroup_rotate,\
    +cl_khr_extended_bit_ops,+cl_khr_integer_dot_product,+__opencl_c_integer_dot_product_input_4x8bit,\
    +__opencl_c_integer_dot_product_input_4x8bit_packed,\
    +__opencl_c_atomic_order_acq_rel,+__opencl_c_atomic_order_seq_cst,\
    +__opencl_c_atomic_scope_device,+__opencl_c_atomic_scope_all_devices,+__opencl_c_generic_address_space,\
    +__opencl_c_program_scope_global_variables,+__opencl_c_work_group_collective_functions,\
    +__opencl_c_subgroups,+__opencl_c_int64,+__opencl_c_fp64,+cl_clang_storage_class_specifiers,\
    +cl_khr_3d_image_writes,+cl_khr_depth_images,\
    +__opencl_c_images,+__opencl_c_3d_image_writes,+__opencl_c_read_write_images,\
    +cl_ext_float_atomics,+__opencl_c_ext_fp16_global_atomic_load_store,\
    +__opencl_c_ext_fp16_global_atomic_add,+__opencl_c_ext_fp16_global_atomic_min_max,\
    +__opencl_c_ext_fp16_local_atomic_load_store,+__opencl_c_ext_fp16_local_atomic_add,\
    +__opencl_c_ext_fp16_local_atomic_min_max,+__opencl_c_ext_fp32_global_atomic_add,\
    +__opencl_c_ext_fp32_global_atomic_min_max,+__opencl_c_ext_fp32_local_atomic_add,\
    +__opencl_c_ext_fp32_local_atomic_min_max,+__opencl_c_ext_fp64_global_atomic_add,\
    +__opencl_c_ext_fp64_global_atomic_min_max,+__opencl_c_ext_fp64_local_atomic_add,\
    +__opencl_c_ext_fp64_local_atomic_min_max";

/// Features of programs with pipes or device-side enqueue, which the importer refuses by kernel.
const REFUSED_FEATURES: &str = ",+__opencl_c_pipes,+__opencl_c_device_enqueue";
/// Words of such programs.
const REFUSED_WORDS: [&str; 5] = ["pipe", "enqueue_kernel", "queue_t", "get_default_queue", "clk_event_t"];
/// Suffix of the kernels that clang makes of enqueued blocks.
const BLOCK_KERNEL: &str = "_block_invoke_kernel";

/// Extensions that clang knows from OpenCL C 2.0 on only, but whose functions it declares in older versions as well.
const OLD_EXTENSIONS: [&str; 11] = [
    "cl_khr_subgroups",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_non_uniform_vote",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_clustered_reduce",
    "cl_khr_subgroup_rotate",
    "cl_khr_extended_bit_ops",
    "cl_ext_float_atomics",
];

/// Declarations of functions that clang's header lacks.
const OWN_DECLARATIONS: &str = include_str!("opencl_declarations.h");

/// Warnings of older clang versions, which many programs trigger, and which are errors in today's clang.
const ONCE_WARNED: [&str; 3] = ["incompatible-pointer-types", "int-conversion", "implicit-int"];

/// Version of OpenCL C that clang does not know: it is 3.0 with extensions that are part of the language.
const NEWEST_STANDARD: &str = "-cl-std=CL3.1";
/// clang's arguments for the newest version.
const NEWEST_ARGUMENTS: [&str; 4] =
    ["-cl-std=CL3.0", "-Wno-builtin-macro-redefined", "-U__OPENCL_C_VERSION__", "-D__OPENCL_C_VERSION__=310"];

/// Virtual folder of the in-memory headers.
const FOLDER: &str = "/heddle-opencl";

/// Prefix of the stubs that clang emits for kernels called from other kernels.
const KERNEL_STUB: &str = "__clang_ocl_kern_imp_";

/// OpenCL C base header of the clang that Heddle is built with.
const BASE_HEADER: &str = include_str!(concat!(env!("OUT_DIR"), "/opencl-c-base.h"));

#[repr(C)]
#[derive(Clone, Copy)]
struct ShimStr {
    start: *const u8,
    size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct ShimFile {
    path: ShimStr,
    contents: ShimStr,
}

fn text(of: &[u8]) -> ShimStr {
    ShimStr { start: of.as_ptr(), size: of.len() }
}

// SAFETY: as the shim defines them.
unsafe extern "C" {
    fn heddle_clang_compile(
        arguments: *const *const c_char,
        argument_count: usize,
        files: *const ShimFile,
        file_count: usize,
        context: *mut LLVMContextRef,
        module: *mut LLVMModuleRef,
        messages: *mut *mut c_char,
    ) -> bool;
    fn heddle_clang_declared(
        arguments: *const *const c_char,
        argument_count: usize,
        files: *const ShimFile,
        file_count: usize,
        text: *mut *mut c_char,
    ) -> bool;
    fn heddle_link_needed(into: LLVMModuleRef, bitcode: *const c_char, size: usize) -> *mut c_char;
}

/// Options passed on to `clang -cc1` unchanged.
const PLAIN: [&str; 13] = [
    "-cl-single-precision-constant",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-mad-enable",
    "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only",
    "-cl-fast-relaxed-math",
    "-cl-uniform-work-group-size",
    "-cl-kernel-arg-info",
    "-w",
    "-Werror",
    "-Wall",
    "-Wextra",
];

/// Stack of compilations. Deeply nested programs need a large one, which the calling thread may lack.
pub(crate) const STACK: usize = 64 << 20;

/// Translates build options to clang arguments; the error names the first invalid one.
fn arguments(options: &[String]) -> Result<Vec<String>, String> {
    let mut list = Vec::new();
    let mut standard = None;
    let mut level = "-O1";
    let mut words = options.iter();
    while let Some(word) = words.next() {
        match &**word {
            "-cl-opt-disable" | "-O0" => level = "-O0",
            // These options permit flushing subnormals or other optimizations, but do not require them.
            "-cl-denorms-are-zero"
            | "-cl-strict-aliasing"
            | "-cl-no-subgroup-ifp"
            | "-g"
            | "-O1"
            | "-O2"
            | "-O3"
            | "-O"
            | EXACT_MATH_OPTION
            | FAST_MATH_OPTION
            | REMARKS_OPTION => {}
            plain if PLAIN.contains(&plain) => list.push(word.clone()),
            "-D" | "-I" | "-U" => {
                let Some(value) = words.next() else {
                    return Err(format!(
                        "error: the build option `{word}` lacks its value; write `{word} VALUE`\n"
                    ));
                };
                list.extend([word.clone(), value.clone()]);
            }
            _ if ["-D", "-I", "-U", "-W"].iter().any(|short| word.starts_with(short)) => {
                list.push(word.clone())
            }
            _ if word.starts_with("-cl-std=") => standard = Some(word.clone()),
            _ => {
                return Err(format!(
                    "error: unknown build option `{word}`\nhelp: write options of clBuildProgram in OpenCL 3.1\n"
                ));
            }
        }
    }
    // The default is OpenCL C 1.2, whatever the device supports.
    let standard = standard.unwrap_or_else(|| "-cl-std=CL1.2".into());
    if standard == NEWEST_STANDARD {
        list.extend(NEWEST_ARGUMENTS.map(Into::into));
    } else {
        list.push(standard);
    }
    list.push(level.into());
    // Otherwise clang marks each loop as not to be unrolled.
    list.push("-funroll-loops".into());
    // In C99 an `inline` definition is not external: another file must provide it. OpenCL C programs have no other
    // file.
    list.push("-fgnu89-inline".into());
    Ok(list)
}

/// Compiles OpenCL C; `name` appears in diagnostics. Ok holds the module and clang's warnings, Err the build log.
pub fn compile_opencl(source: &str, name: &str, options: &[String]) -> Result<(LlvmModule, String), String> {
    let options = OpenClOptions { words: options.to_vec(), lines: true, ..OpenClOptions::default() };
    compile_opencl_with(source, name, &options)
}

/// Compiles OpenCL C with libraries and additional headers.
pub fn compile_opencl_with(
    source: &str,
    name: &str,
    options: &OpenClOptions,
) -> Result<(LlvmModule, String), String> {
    std::thread::scope(|scope| {
        let run = || {
            let _registered = CompilerThread::enter();
            compile_here(source, name, options)
        };
        let thread = std::thread::Builder::new().name("clang".into()).stack_size(STACK);
        match thread.spawn_scoped(scope, run) {
            Ok(thread) => while_waiting(|| thread.join())
                .unwrap_or_else(|_| Err("error: internal error of the compiler: please report it\n".into())),
            Err(reason) => Err(format!("error: no thread for the compiler: {reason}\n")),
        }
    })
}

fn compile_here(source: &str, name: &str, options: &OpenClOptions) -> Result<(LlvmModule, String), String> {
    let plain = compile_with_features(source, name, options, FEATURES);
    if plain.is_ok() || !REFUSED_WORDS.iter().any(|word| source.contains(word)) {
        return plain;
    }
    // Only the kernels that reach pipes or queues are refused, so clang must take them.
    compile_with_features(source, name, options, &format!("{FEATURES}{REFUSED_FEATURES}"))
}

fn compile_with_features(
    source: &str,
    name: &str,
    options: &OpenClOptions,
    features: &str,
) -> Result<(LlvmModule, String), String> {
    let call = ClangInvocation::new(
        source,
        name,
        options,
        features,
        &["-emit-llvm-only", "-disable-llvm-passes", "-fblocks"],
    )?;
    let (mut context, mut module, mut messages) =
        (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    let (words, files) = (call.words(), call.files());
    // SAFETY: all texts live during the call, arguments end in a zero byte, and the out-pointers are valid.
    let done = unsafe {
        heddle_clang_compile(
            words.as_ptr(),
            words.len(),
            files.as_ptr(),
            files.len(),
            &mut context,
            &mut module,
            &mut messages,
        )
    };
    // SAFETY: the shim allocated it, and hands it over.
    let log = unsafe { take_text(messages) };
    if !done {
        return Err(log);
    }
    // SAFETY: the shim made both for this call and hands them over.
    let module = unsafe { LlvmModule::from_raw(context, module) };
    handle_diagnostics(module.context());
    hide_block_kernels(&module);
    let module = replace_image_types(module).map_err(|reason| format!("{log}error: {reason}\n"))?;
    match finish(&module, options) {
        Ok(()) => Ok((module, log)),
        Err(reason) => Err(format!("{log}error: {reason}\n")),
    }
}

/// Compiles LLVM IR that follows clang's conventions for OpenCL C on `spir64`. `options` gives the level and the
/// libraries.
///
/// The text is read on a thread with a stack of its own, and a fatal error of LLVM ends this thread alone.
pub(crate) fn compile_opencl_ir(
    text: String,
    name: &str,
    options: &OpenClOptions,
) -> Result<LlvmModule, Diagnostic> {
    let (file, options) = (name.to_string(), options.clone());
    let work = move || {
        let module = read_ir(&file, text.as_bytes())?;
        if level_of(&options) > 0 {
            restore_indices(&module);
        }
        let failed = |reason| Diagnostic::error(Code::FrontEnd, reason);
        finish(&module, &options).map_err(failed)?;
        Ok(module)
    };
    catch_fatal_errors(STACK, work).flatten()
}

/// Reads a library as a module, and cleans it up; all of its exported functions stay.
pub fn load_library(library: &OpenClLibrary) -> Result<LlvmModule, Diagnostic> {
    let bitcode = library.bitcode;
    let work = move || {
        let module = read_ir("library", bitcode)?;
        finish_functions(&module, &OpenClOptions::default())
            .map_err(|reason| Diagnostic::error(Code::FrontEnd, reason))?;
        Ok(module)
    };
    catch_fatal_errors(STACK, work).flatten()
}

/// Prepares a module as clang left it: an object for its link, all others for the importer.
fn finish(module: &LlvmModule, options: &OpenClOptions) -> Result<(), String> {
    if options.is_object {
        share_inline_functions(module);
        return Ok(());
    }
    delete_unreached_functions(module)?;
    finish_functions(module, options)
}

/// Links the called builtins into a module as clang left it, and cleans it up.
pub(crate) fn finish_functions(module: &LlvmModule, options: &OpenClOptions) -> Result<(), String> {
    define_divisions(module);
    for library in options.libraries {
        let is_called =
            |func: Val<'_>| func.is_declaration() && library.names.binary_search(&&*func.name()).is_ok();
        if module.functions().any(is_called) {
            // SAFETY: the module is live and nothing else uses it meanwhile; the bytes are static.
            let broken = unsafe {
                take_text(heddle_link_needed(
                    module.raw(),
                    library.bitcode.as_ptr().cast(),
                    library.bitcode.len(),
                ))
            };
            if !broken.is_empty() {
                return Err(format!("internal error: cannot link the builtin library: {broken}"));
            }
        }
    }
    if wants_exact_functions(options) {
        use_exact_functions(module)?;
    }
    share_inline_functions(module);
    let level = level_of(options);
    inline_space_queries(module);
    locate_arrays(module);
    if level > 0 {
        unroll_small_loops(module).map_err(|reason| format!("LLVM's passes fail: {reason}"))?;
    }
    simplify(module, level).map_err(|reason| format!("LLVM's passes fail: {reason}"))?;
    resolve_space_queries(module);
    if level > 0 {
        pair_disjoint_addends(module);
    }
    Ok(())
}

/// Replaces calls of mathematical functions within four units by those within one.
fn use_exact_functions(module: &LlvmModule) -> Result<(), String> {
    let is_fast = |func: &Val<'_>| func.is_declaration() && func.name().starts_with(FAST_MATH_PREFIX);
    let all: Vec<Val<'_>> = module.functions().filter(is_fast).collect();
    for func in all {
        let fast = func.name();
        let exact = format!("{MATH_PREFIX}{}", &fast[FAST_MATH_PREFIX.len()..]);
        let name = CString::new(exact.as_str()).map_err(|reason| format!("{exact}: {reason}"))?;
        // SAFETY: a live declaration of the module, which nothing uses after its deletion; both have the type of
        // their C function, and pointers to functions have one type.
        unsafe {
            let known = LLVMGetNamedFunction(module.raw(), name.as_ptr());
            if known.is_null() {
                LLVMSetValueName2(func.0, name.as_ptr(), exact.len());
            } else {
                LLVMReplaceAllUsesWith(func.0, known);
                LLVMDeleteFunction(func.0);
            }
        }
    }
    Ok(())
}

/// True if the options ask for functions within one unit in the last place.
fn wants_exact_functions(options: &OpenClOptions) -> bool {
    let math = options.words.iter().rfind(|word| [EXACT_MATH_OPTION, FAST_MATH_OPTION].contains(&&***word));
    math.is_some_and(|word| word == EXACT_MATH_OPTION)
}

/// True if two objects are finished in the same way.
pub(crate) fn finish_alike(one: &OpenClOptions, other: &OpenClOptions) -> bool {
    level_of(one) == level_of(other) && wants_exact_functions(one) == wants_exact_functions(other)
}

/// Returns LLVM's optimization level.
fn level_of(options: &OpenClOptions) -> u8 {
    let is_off = options.words.iter().any(|word| word == "-cl-opt-disable" || word == "-O0");
    u8::from(!is_off)
}

/// Gives kernel stubs internal linkage, which lets LLVM delete unused ones. clang emits a stub of each kernel for calls
/// from other kernels.
fn hide_kernel_stubs(module: &LlvmModule) {
    let is_stub = |func: &Val<'_>| !func.is_declaration() && func.name().starts_with(KERNEL_STUB);
    for func in module.functions().filter(is_stub) {
        // SAFETY: a live function.
        unsafe { LLVMSetLinkage(func.0, LLVMLinkage::LLVMInternalLinkage) };
    }
}

/// Makes functions of the kernels of enqueued blocks: programs do not launch them.
fn hide_block_kernels(module: &LlvmModule) {
    let is_one = |func: &Val<'_>| func.call_conv() == SPIR_KERNEL && func.name().ends_with(BLOCK_KERNEL);
    for func in module.functions().filter(is_one) {
        // SAFETY: a live function, which nothing calls.
        unsafe {
            LLVMSetFunctionCallConv(func.0, SPIR_FUNCTION);
            LLVMSetLinkage(func.0, LLVMLinkage::LLVMInternalLinkage);
        }
    }
}

/// Deletes the functions that no kernel of an executable reaches. Functions that stay keep their linkage, but for kernel stubs, which
/// become internal. Without kernels, all functions stay.
///
/// Headers define hundreds of functions that are not `static`: to optimize those, and to read them again from a binary, took most of
/// the time of such programs.
pub(crate) fn delete_unreached_functions(module: &LlvmModule) -> Result<(), String> {
    let defined = || module.functions().filter(|func| !func.is_declaration());
    if !defined().any(|func| func.call_conv() == SPIR_KERNEL) {
        return Ok(());
    }
    let mut linkages = FxHashMap::default();
    for func in defined().filter(|func| func.call_conv() != SPIR_KERNEL) {
        // SAFETY: a live function.
        unsafe {
            linkages.insert(func.name(), LLVMGetLinkage(func.0));
            LLVMSetLinkage(func.0, LLVMLinkage::LLVMInternalLinkage);
        }
    }
    run_passes(module, c"globaldce")?;
    for func in defined() {
        if let Some(&linkage) = linkages.get(&func.name()) {
            // SAFETY: a live function.
            unsafe { LLVMSetLinkage(func.0, linkage) };
        }
    }
    hide_kernel_stubs(module);
    Ok(())
}

/// Gives `inline` functions ODR linkage, so that linked programs may share them.
fn share_inline_functions(module: &LlvmModule) {
    let hint = attribute_kind("inlinehint");
    for func in module.functions().filter(|func| !func.is_declaration()) {
        // SAFETY: a live function.
        unsafe {
            let is_seen = LLVMGetLinkage(func.0) == LLVMLinkage::LLVMExternalLinkage;
            if is_seen && func.attribute(LLVMAttributeFunctionIndex, hint).is_some() {
                LLVMSetLinkage(func.0, LLVMLinkage::LLVMLinkOnceODRLinkage);
            }
        }
    }
}

/// Runs LLVM's pipeline of an optimization level, without vectorizers and unrolling.
fn simplify(module: &LlvmModule, level: u8) -> Result<(), String> {
    run_passes(module, if level == 0 { c"default<O0>" } else { c"default<O1>" })
}

fn run_passes(module: &LlvmModule, passes: &CStr) -> Result<(), String> {
    // SAFETY: module and options are live; an error is taken over once.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
        LLVMPassBuilderOptionsSetSLPVectorization(options, 0);
        LLVMPassBuilderOptionsSetLoopUnrolling(options, 0);
        let error = LLVMRunPasses(module.raw(), passes.as_ptr(), std::ptr::null_mut(), options);
        LLVMDisposePassBuilderOptions(options);
        take_error(error)
    }
}

/// Function declared in an OpenCL C source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DeclaredFunction {
    /// Name.
    pub name: String,
    /// Mangled name.
    pub mangled: String,
    /// Type as clang prints it.
    pub ty: String,
}

/// Returns the functions that a source declares, in order. `all_extensions` enables all of clang's extensions.
pub fn declared_functions(
    source: &str,
    options: &OpenClOptions,
    all_extensions: bool,
) -> Result<Vec<DeclaredFunction>, String> {
    let features = if all_extensions { "-cl-ext=+all" } else { FEATURES };
    let call = ClangInvocation::new(source, "", options, features, &["-fsyntax-only"])?;
    let (words, files) = (call.words(), call.files());
    let mut text = std::ptr::null_mut();
    // SAFETY: all texts live during the call, arguments end in a zero byte, and the out-pointer is valid.
    let done =
        unsafe { heddle_clang_declared(words.as_ptr(), words.len(), files.as_ptr(), files.len(), &mut text) };
    // SAFETY: the shim allocated it, and hands it over.
    let text = unsafe { take_text(text) };
    if !done {
        return Err(text);
    }
    let parts = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, '\t').map(str::to_string);
        Some(DeclaredFunction { name: parts.next()?, mangled: parts.next()?, ty: parts.next()? })
    });
    Ok(parts.collect())
}

/// Takes ownership of a shim string.
///
/// # Safety
/// The string is null, or allocated by the C library, NUL-terminated, and owned by nobody else.
unsafe fn take_text(text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let taken = CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        taken
    }
}

/// Arguments and in-memory files of a clang invocation.
struct ClangInvocation<'a> {
    words: Vec<CString>,
    files: Vec<(String, Cow<'a, [u8]>)>,
}

impl<'a> ClangInvocation<'a> {
    fn new(
        source: &str,
        name: &str,
        options: &'a OpenClOptions,
        features: &str,
        action: &[&str],
    ) -> Result<ClangInvocation<'a>, String> {
        let shown = if name.is_empty() { "<source>".into() } else { name.replace(['\n', '\r', '\0'], " ") };
        let main = format!("{FOLDER}/{}.cl", shown.replace('/', "_"));
        let fixed = ["-triple", "spir64-unknown-unknown", "-x", "cl", features, "-ffp-contract=on"];
        let mut words: Vec<String> = fixed.iter().chain(action).map(ToString::to_string).collect();
        words.extend(["-finclude-default-header", "-fdeclare-opencl-builtins"].map(Into::into));
        words.extend(["-internal-isystem".into(), FOLDER.into()]);
        // Device version, which clang leaves to the driver, and the name of a version that clang does not know.
        words.extend(["-D__OPENCL_VERSION__=310", "-DCL_VERSION_3_1=310"].map(Into::into));
        // Extensions that clang does not know: of the host only, and an attribute that clang has anyway.
        let others = [
            "-Dcl_khr_image2d_from_buffer=1",
            "-Dcl_intel_required_subgroup_size=1",
            "-Dcl_khr_extended_async_copies=1",
        ];
        words.extend(others.map(Into::into));
        // Downgrade these errors to warnings, unless all warnings are errors.
        if !options.words.iter().any(|word| word == "-Werror") {
            words.extend(ONCE_WARNED.map(|warning| format!("-Wno-error={warning}")));
        }
        words.extend(["-main-file-name".into(), shown.clone()]);
        if options.lines {
            words.extend(["-debug-info-kind=line-tables-only".into(), "-dwarf-version=5".into()]);
        }
        let last = options.words.iter().rev().find(|word| word.starts_with("-cl-std="));
        let is_old = last.is_none_or(|word| word.starts_with("-cl-std=CL1"));
        if is_old {
            words.extend(OLD_EXTENSIONS.map(|name| format!("-D{name}=1")));
            if OLD_EXTENSIONS.iter().any(|name| source.contains(name)) {
                words.push("-Wno-ignored-pragmas".into());
            }
        }
        words.extend(arguments(&options.words)?);
        let header = format!("{BASE_HEADER}{OWN_DECLARATIONS}");
        let mut files = vec![(format!("{FOLDER}/opencl-c-base.h"), Cow::Owned(header.into_bytes()))];
        files.extend(
            options
                .headers
                .iter()
                .map(|(name, contents)| (format!("{FOLDER}/{name}"), Cow::Borrowed(contents.as_bytes()))),
        );
        // Makes diagnostics and line tables show the given name.
        let quoted = shown.replace('\\', "\\\\").replace('"', "\\\"");
        // clang skips a byte order mark at the start of a file only.
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        let text = format!("#line 1 \"{quoted}\"\n{source}");
        files.push((main.clone(), Cow::Owned(text.into_bytes())));
        words.push(main);
        let c_text = |word: String| {
            CString::new(word).map_err(|broken| {
                format!("error: zero byte in the build option `{}`\n", broken.to_string().escape_debug())
            })
        };
        Ok(ClangInvocation { words: words.into_iter().map(c_text).collect::<Result<_, _>>()?, files })
    }

    fn words(&self) -> Vec<*const c_char> {
        self.words.iter().map(|word| word.as_ptr()).collect()
    }

    fn files(&self) -> Vec<ShimFile> {
        let files = self.files.iter();
        files
            .map(|(path, contents)| ShimFile { path: text(path.as_bytes()), contents: text(contents) })
            .collect()
    }
}
