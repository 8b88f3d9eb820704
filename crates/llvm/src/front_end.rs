//! Front end: runs clang on C, C++ and OpenCL C.

use crate::cache_folder::include_folder;
use crate::import::{is_horizontal_name, uses_horizontals};
use crate::opencl::{OpenClOptions, compile_opencl};
use crate::read::read_ir;
use crate::spirv::compile_spirv;
use crate::view::{LlvmModule, Val, attribute_kind};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::{Code, Diagnostic};
use heddle_spirv::SpirvOptions;
use rustc_hash::FxHashSet;
use std::path::Path;
use std::process::Command;

/// Source language, by file extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// LLVM IR as text or bitcode.
    Ir,
    /// C.
    C,
    /// C++.
    Cpp,
    /// OpenCL C.
    OpenCl,
    /// SPIR-V.
    Spirv,
}

/// Returns the language of a file; none for an unknown extension.
pub fn language_of(path: &Path) -> Option<Language> {
    Some(match path.extension()?.to_str()? {
        "ll" | "bc" => Language::Ir,
        "c" => Language::C,
        "cc" | "cpp" | "cxx" => Language::Cpp,
        "cl" => Language::OpenCl,
        "spv" => Language::Spirv,
        _ => return None,
    })
}

/// Reports that no clang was found.
fn no_clang(file: &str, reason: &str) -> Diagnostic {
    let text = format!("cannot run `clang-22` (or `clang` of that version): {reason}");
    Diagnostic::error(Code::FrontEnd, text)
        .at(DiagnosticLocation::of_line(Some(file), 0, 0))
        .help("`./x setup` installs it")
}

/// Reports an unreadable file.
fn unreadable(file: &str, reason: &std::io::Error) -> Diagnostic {
    Diagnostic::error(Code::Unreadable, reason.to_string()).at(DiagnosticLocation::of_line(Some(file), 0, 0))
}

/// Reports clang's diagnostics: the first error as text, the full log as notes.
pub fn clang_error(file: &str, messages: &str) -> Diagnostic {
    let place = DiagnosticLocation::of_line(Some(file), 0, 0);
    messages
        .trim_end()
        .lines()
        .fold(Diagnostic::error(Code::FrontEnd, "clang reports errors").at(place), |diagnostic, line| {
            diagnostic.note(line)
        })
}

const CLANGS: [&str; 2] = ["clang-22", "clang"];

/// Reads LLVM IR, or compiles a source at this optimization level without vectorizers; `extra` is passed to clang.
pub fn compile(path: &Path, level: u8, extra: &[&str]) -> Result<LlvmModule, Diagnostic> {
    let file = path.display().to_string();
    let mut arguments: Vec<String> =
        ["-c", "-emit-llvm", "-g", "-fno-vectorize", "-fno-slp-vectorize"].map(Into::into).into();
    arguments.push(format!("-O{level}"));
    match language_of(path) {
        None | Some(Language::Ir) => {
            let bytes = std::fs::read(path).map_err(|reason| unreadable(&file, &reason))?;
            return read_ir(&file, &bytes);
        }
        // Vectorized code does not read `errno`. Position-independent code would contain relative address tables.
        Some(Language::C | Language::Cpp) => {
            arguments.extend(
                ["-fno-math-errno", "-fno-exceptions", "-fno-pic", "-fopenmp-simd", "-D__HEDDLE__=1"]
                    .map(Into::into),
            );
            // Without the folder, clang reports the missing header.
            if let Ok(folder) = include_folder() {
                arguments.extend(["-isystem".into(), folder.display().to_string()]);
            }
        }
        Some(Language::OpenCl) => {
            let source = read_source(path)?;
            let mut words = vec!["-cl-std=CL3.0".into(), format!("-O{}", level.min(3))];
            words.extend(extra.iter().map(ToString::to_string));
            let compiled = compile_opencl(&source, &file, &words);
            return compiled.map(|(module, _)| module).map_err(|log| clang_error(&file, &log));
        }
        Some(Language::Spirv) => {
            let bytes = std::fs::read(path).map_err(|reason| unreadable(&file, &reason))?;
            let options =
                OpenClOptions { words: vec![format!("-O{}", level.min(3))], ..OpenClOptions::default() };
            return compile_spirv(&bytes, &file, &SpirvOptions::default(), &options);
        }
    }
    arguments.extend(extra.iter().map(ToString::to_string));
    let module = run_clang(&file, &arguments)?;
    if !uses_horizontals(&module) {
        return Ok(module);
    }
    // Calls that communicate between lanes, and their callers, must not be moved; elsewhere convergence would only
    // block optimization.
    arguments.push("-fconvergent-functions".into());
    let convergent_module = run_clang(&file, &arguments)?;
    let convergent = |module: &LlvmModule| -> FxHashSet<String> {
        let declared = module.functions().filter(|func| func.is_declaration() && is_convergent(*func));
        declared.map(|func| func.name()).collect()
    };
    let kept = convergent(&module);
    for func in convergent_module.functions().filter(|func| func.is_declaration()) {
        let name = func.name();
        if !kept.contains(&name) && !is_horizontal_name(&name) {
            forget_convergent(func);
        }
    }
    Ok(convergent_module)
}

fn is_convergent(func: Val<'_>) -> bool {
    func.attribute(llvm_sys::LLVMAttributeFunctionIndex, attribute_kind("convergent")).is_some()
}

/// Removes the `convergent` attribute that the option gave a declaration.
fn forget_convergent(func: Val<'_>) {
    let kind = attribute_kind("convergent");
    // SAFETY: a live function.
    unsafe {
        llvm_sys::core::LLVMRemoveEnumAttributeAtIndex(func.0, llvm_sys::LLVMAttributeFunctionIndex, kind);
    }
}

/// Returns the text of a source file.
pub fn read_source(path: &Path) -> Result<String, Diagnostic> {
    let bytes = std::fs::read(path).map_err(|reason| unreadable(&path.display().to_string(), &reason))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs clang on a file.
fn run_clang(file: &str, arguments: &[String]) -> Result<LlvmModule, Diagnostic> {
    let mut missing = None;
    for clang in CLANGS {
        let output = match Command::new(clang).args(arguments).args(["-o", "-", "--", file]).output() {
            Ok(output) => output,
            Err(reason) => {
                missing.get_or_insert(reason.to_string());
                continue;
            }
        };
        if !output.status.success() {
            return Err(clang_error(file, &String::from_utf8_lossy(&output.stderr)));
        }
        return read_ir(file, &output.stdout);
    }
    Err(no_clang(file, &missing.unwrap_or_default()))
}
