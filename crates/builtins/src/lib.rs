//! OpenCL C: its builtin functions, and programs in it.
//!
//! `cl/` has the functions in OpenCL C, as patterns over types; the build makes bitcode of them. A program is compiled by
//! clang inside of this process, which links those that it calls, by mangled names of the same target and the same clang,
//! so by their types. What they are made of themselves is Heddle's: mathematical functions (`heddle.sinf`, from the crate
//! `math`), horizontals (`heddle.any`), work-item functions and barriers.
#![forbid(unsafe_code)]

mod coverage;
mod option_words;

pub use coverage::{BuiltinCoverage, HEADER, coverage};
pub use option_words::option_words;

use heddle_ir::{Diagnostic, Module};
use heddle_llvm::{LlvmModule, OpenClLibrary, OpenClOptions};

/// The library, a module for each part.
pub const LIBRARIES: &[OpenClLibrary] = &include!(concat!(env!("OUT_DIR"), "/libraries.rs"));

/// A program in OpenCL C.
#[derive(Debug)]
pub struct OpenClModule {
    /// Its functions and what they call, at stage Source.
    pub module: Module,
    /// What of it is not taken.
    pub refused: Vec<Diagnostic>,
    /// What clang warns of.
    pub warnings: String,
    /// The module that it was imported from.
    pub llvm: LlvmModule,
}

/// Compiles a program with the options of `clBuildProgram`, a word each; `name` is its name in messages. Err is the build
/// log.
pub fn compile(source: &str, name: &str, options: &[String]) -> Result<OpenClModule, String> {
    let options = OpenClOptions {
        words: options.to_vec(),
        libraries: LIBRARIES,
        lines: true,
        ..OpenClOptions::default()
    };
    let (llvm, warnings) = heddle_llvm::compile_opencl_with(source, name, &options)?;
    let imported = heddle_llvm::import(&llvm);
    let mut module = imported.module;
    heddle_math::provide_own(&mut module).map_err(|broken| format!("error: {broken}\n"))?;
    Ok(OpenClModule { module, refused: imported.refused, warnings, llvm })
}
