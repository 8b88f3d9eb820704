//! SPIR-V: lowered by crate `spirv` to LLVM IR as clang writes it, then compiled as OpenCL C is.

use crate::import::ImportRefusal;
use crate::opencl::{OpenClOptions, compile_opencl_ir};
use crate::view::{LlvmModule, Val};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::{Code, Diagnostic};
use heddle_spirv::{HELP, REASON, SpirvError, SpirvOptions, UNSUPPORTED, lower};

/// Build option that asks for correctly rounded quotients and roots.
const EXACT_QUOTIENTS: &str = "-cl-fp32-correctly-rounded-divide-sqrt";

/// Build option that lets types of numbers tell memory apart.
const STRICT_ALIASING: &str = "-cl-strict-aliasing";

/// Build options that promise finite numbers.
const FINITE_MATH: [&str; 2] = ["-cl-finite-math-only", "-cl-fast-relaxed-math"];

/// Compiles a SPIR-V module; `name` appears in diagnostics.
pub fn compile_spirv(
    bytes: &[u8],
    name: &str,
    constants: &SpirvOptions,
    options: &OpenClOptions,
) -> Result<LlvmModule, Diagnostic> {
    let has = |option: &str| options.words.iter().any(|word| word == option);
    let constants = SpirvOptions {
        has_exact_quotients: has(EXACT_QUOTIENTS),
        has_strict_aliasing: has(STRICT_ALIASING),
        has_finite_math: FINITE_MATH.into_iter().any(has),
        file: name.to_string(),
        ..constants.clone()
    };
    let text = lower(bytes, &constants).map_err(|error| spirv_error(name, &error))?;
    compile_opencl_ir(text, name, options)
}

/// Returns the diagnostic of an error of the reader.
fn spirv_error(name: &str, error: &SpirvError) -> Diagnostic {
    Diagnostic::error(Code::FrontEnd, error.to_string())
        .at(DiagnosticLocation::of_line(Some(name), 0, 0))
        .help(error.help.clone())
}

/// Returns the reason of a function that stands for an unsupported feature; none for other functions.
pub(crate) fn unsupported_feature(callee: Val<'_>) -> Option<ImportRefusal> {
    if !callee.name().starts_with(UNSUPPORTED) {
        return None;
    }
    Some(ImportRefusal::new(callee.text_attribute(REASON)?, callee.text_attribute(HELP)?))
}
