//! OpenCL C to LLVM IR by clang inside of this process: no files, no other process, from any thread.

use crate::view::LlvmModule;
use llvm_sys::prelude::*;
use std::ffi::{CStr, CString, c_char};

/// What OpenCL C is compiled with besides its source.
#[derive(Clone, Debug, Default)]
pub struct OpenClOptions {
    /// The options of `clBuildProgram`, each word by itself.
    pub words: Vec<String>,
    /// Further headers, by the names that `#include` asks for.
    pub headers: Vec<(String, String)>,
    /// Bitcode of functions that are linked where they are called.
    pub library: &'static [u8],
    /// Line tables: messages and reports show lines with them.
    pub lines: bool,
}

/// Extensions and features that programs may ask for; clang knows more for its target.
const FEATURES: &str = "-cl-ext=-all,+cl_khr_byte_addressable_store,+cl_khr_global_int32_base_atomics,\
    +cl_khr_global_int32_extended_atomics,+cl_khr_local_int32_base_atomics,\
    +cl_khr_local_int32_extended_atomics,+cl_khr_int64_base_atomics,+cl_khr_int64_extended_atomics,\
    +cl_khr_fp64,+cl_khr_subgroups,\
    +__opencl_c_atomic_order_acq_rel,+__opencl_c_atomic_order_seq_cst,\
    +__opencl_c_atomic_scope_device,+__opencl_c_atomic_scope_all_devices,+__opencl_c_generic_address_space,\
    +__opencl_c_program_scope_global_variables,+__opencl_c_work_group_collective_functions,\
    +__opencl_c_subgroups,+__opencl_c_int64,+__opencl_c_fp64,+cl_clang_storage_class_specifiers";

/// Where the headers stand that are in memory only.
const FOLDER: &str = "/heddle-opencl";

/// The header with the types of OpenCL C, as the clang that Heddle is built with has it.
const BASE_HEADER: &str = include_str!(concat!(env!("OUT_DIR"), "/opencl-c-base.h"));

#[repr(C)]
#[derive(Clone, Copy)]
struct Text {
    start: *const u8,
    size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct File {
    path: Text,
    contents: Text,
}

fn text(of: &[u8]) -> Text {
    Text { start: of.as_ptr(), size: of.len() }
}

unsafe extern "C" {
    fn heddle_clang_compile(
        arguments: *const *const c_char,
        argument_count: usize,
        files: *const File,
        file_count: usize,
        context: *mut LLVMContextRef,
        module: *mut LLVMModuleRef,
        messages: *mut *mut c_char,
    ) -> bool;
}

/// Options that mean the same to `clang -cc1`.
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

/// The arguments that build options become; the error names the first that is none.
fn arguments(options: &[String]) -> Result<Vec<String>, String> {
    let mut list = Vec::new();
    let mut standard = None;
    let mut level = "-O1";
    let mut words = options.iter();
    while let Some(word) = words.next() {
        match &**word {
            "-cl-opt-disable" | "-O0" => level = "-O0",
            // Subnormal numbers may be flushed to zero then, but need not.
            "-cl-denorms-are-zero"
            | "-cl-strict-aliasing"
            | "-cl-no-subgroup-ifp"
            | "-g"
            | "-O1"
            | "-O2"
            | "-O3"
            | "-O" => {}
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
                    "error: there is no build option `{word}`; those of clBuildProgram in OpenCL 3.0 are taken\n"
                ));
            }
        }
    }
    // Without one, a program is of OpenCL C 1.2, whatever the device knows.
    list.push(standard.unwrap_or_else(|| "-cl-std=CL1.2".into()));
    list.push(level.into());
    Ok(list)
}

/// Compiles OpenCL C of the name that messages show. Ok is the module with clang's warnings, Err the build log.
pub fn compile_opencl(source: &str, name: &str, options: &[String]) -> Result<(LlvmModule, String), String> {
    let options = OpenClOptions { words: options.to_vec(), lines: true, ..OpenClOptions::default() };
    compile_opencl_with(source, name, &options)
}

/// The same with a library of functions and more headers.
pub fn compile_opencl_with(
    source: &str,
    name: &str,
    options: &OpenClOptions,
) -> Result<(LlvmModule, String), String> {
    // Deep programs need room, and the thread that asks may have little.
    const STACK: usize = 64 << 20;
    std::thread::scope(|scope| {
        let run = || compile_here(source, name, options);
        let thread = std::thread::Builder::new().name("clang".into()).stack_size(STACK);
        match thread.spawn_scoped(scope, run) {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|_| Err("error: the compiler ended by a mistake in Heddle\n".into())),
            Err(reason) => Err(format!("error: there is no thread for the compiler: {reason}\n")),
        }
    })
}

fn compile_here(source: &str, name: &str, options: &OpenClOptions) -> Result<(LlvmModule, String), String> {
    let shown = if name.is_empty() { "<source>".into() } else { name.replace(['\n', '\r', '\0'], " ") };
    let main = format!("{FOLDER}/{}.cl", shown.replace('/', "_"));
    let mut words: Vec<String> = [
        "-triple",
        "spir64-unknown-unknown",
        "-emit-llvm-only",
        "-x",
        "cl",
        FEATURES,
        "-finclude-default-header",
        "-fdeclare-opencl-builtins",
        "-ffp-contract=on",
    ]
    .map(Into::into)
    .into();
    words.extend(["-internal-isystem".into(), FOLDER.into()]);
    words.extend(["-main-file-name".into(), shown.clone()]);
    if options.lines {
        words.extend(["-debug-info-kind=line-tables-only".into(), "-dwarf-version=5".into()]);
    }
    words.extend(arguments(&options.words)?);
    let mut headers = vec![(format!("{FOLDER}/opencl-c-base.h"), BASE_HEADER.as_bytes())];
    headers.extend(
        options.headers.iter().map(|(name, contents)| (format!("{FOLDER}/{name}"), contents.as_bytes())),
    );
    if !options.library.is_empty() {
        let path = format!("{FOLDER}/library.bc");
        words.extend(["-mlink-builtin-bitcode".into(), path.clone()]);
        headers.push((path, options.library));
    }
    // Messages and line tables show the name, whatever it is.
    let quoted = shown.replace('\\', "\\\\").replace('"', "\\\"");
    let line = format!("#line 1 \"{quoted}\"\n{source}");
    headers.push((main.clone(), line.as_bytes()));
    words.push(main);
    run(&words, &headers)
}

/// Runs `clang -cc1` on files in memory.
fn run(words: &[String], files: &[(String, &[u8])]) -> Result<(LlvmModule, String), String> {
    let mut arguments = Vec::with_capacity(words.len());
    for word in words {
        let refused =
            |_| format!("error: the build option `{}` has a zero byte in it\n", word.escape_debug());
        arguments.push(CString::new(word.as_bytes()).map_err(refused)?);
    }
    let pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    let files: Vec<File> = files
        .iter()
        .map(|(path, contents)| File { path: text(path.as_bytes()), contents: text(contents) })
        .collect();
    let (mut context, mut module, mut messages) =
        (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut::<c_char>());
    // SAFETY: all texts live during the call, arguments end in a zero byte, and there are three places to write to.
    let done = unsafe {
        heddle_clang_compile(
            pointers.as_ptr(),
            pointers.len(),
            files.as_ptr(),
            files.len(),
            &mut context,
            &mut module,
            &mut messages,
        )
    };
    let log = if messages.is_null() {
        String::new()
    } else {
        // SAFETY: the shim allocated it with the C library, and hands it over; it ends in a zero byte.
        unsafe {
            let log = CStr::from_ptr(messages).to_string_lossy().into_owned();
            libc::free(messages.cast());
            log
        }
    };
    if !done {
        return Err(log);
    }
    // SAFETY: the shim made both for this call and hands them over.
    Ok((unsafe { LlvmModule::from_raw(context, module) }, log))
}
