//! OpenCL C builtin library, and compilation of OpenCL C programs.
//!
//! `cl/` holds the builtins in OpenCL C, as patterns over types; the build compiles them to bitcode. The in-process
//! clang compiles a program and links the builtins that it calls by mangled name; target and clang are the same. The
//! builtins use Heddle's mathematical functions (`heddle.sinf`, from crate `math`), horizontals (`heddle.any`),
//! work-item functions and barriers.
#![forbid(unsafe_code)]

mod coverage;
mod build_options;
pub mod texel;
mod textures;

pub use build_options::split_build_options;
pub use coverage::{BuiltinCoverage, HEADER, coverage};
pub use textures::{TEXTURE_PREFIXES, provide_textures};

use heddle_ir::{Code, Diagnostic, Module};
use heddle_llvm::{LlvmModule, OpenClLibrary, OpenClOptions};
use heddle_spirv::SpirvOptions;

/// Bitcode of the library, one module per part.
pub const LIBRARIES: &[OpenClLibrary] = &include!(concat!(env!("OUT_DIR"), "/libraries.rs"));

/// Compiled and imported OpenCL C program.
#[derive(Debug)]
pub struct OpenClModule {
    /// Functions and their callees, at stage Source.
    pub module: Module,
    /// Diagnostics of refused functions and globals.
    pub refused: Vec<Diagnostic>,
    /// clang's warnings.
    pub warnings: String,
    /// Source LLVM module.
    pub llvm: LlvmModule,
}

/// Compiles a program with the options of `clBuildProgram`, split into words; `name` appears in diagnostics. Err
/// holds the build log.
pub fn compile(source: &str, name: &str, options: &[String]) -> Result<OpenClModule, String> {
    let options = OpenClOptions {
        words: options.to_vec(),
        libraries: LIBRARIES,
        lines: true,
        ..OpenClOptions::default()
    };
    let (llvm, warnings) = heddle_llvm::compile_opencl_with(source, name, &options)?;
    imported(llvm, warnings).map_err(|broken| format!("error: {broken}\n"))
}

/// Compiles a SPIR-V module with values of specialization constants and the options of `clBuildProgram`, split into
/// words; `name` appears in diagnostics.
pub fn compile_spirv(
    bytes: &[u8],
    name: &str,
    constants: &SpirvOptions,
    options: &[String],
) -> Result<OpenClModule, Diagnostic> {
    let options = OpenClOptions { words: options.to_vec(), libraries: LIBRARIES, ..OpenClOptions::default() };
    imported(heddle_llvm::compile_spirv(bytes, name, constants, &options)?, String::new())
}

/// Imports a compiled program and gives Heddle's mathematical functions their bodies.
fn imported(llvm: LlvmModule, warnings: String) -> Result<OpenClModule, Diagnostic> {
    let imported = heddle_llvm::import(&llvm);
    let mut module = imported.module;
    let internal = |broken: heddle_math::MathTextError| Diagnostic::error(Code::Internal, broken.to_string());
    heddle_math::provide_prefixed(&mut module).map_err(internal)?;
    Ok(OpenClModule { module, refused: imported.refused, warnings, llvm })
}
