//! Modules at stage Wide, many of them, as one object file for an instruction set.

use super::tally::{NativeTally, Phase};
use super::target::InstructionSet;
use heddle_ir::Module;
use heddle_llvm::{
    CodeFormat, CodegenLevel, EmitOptions, MaskRepresentation, OptimizeOptions, emit, emit_merged,
    entry_name, generate_at, optimize, rewrite_masks,
};
use std::ops::Range;

/// Optimization level of the machine code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeQuality {
    /// Fast compilation.
    Quick,
    /// By LLVM's passes and with care.
    Optimized,
}

impl CodeQuality {
    /// Chooses the level of a batch with these seeds: one in eight is optimized.
    pub(super) fn of_batch(seeds: &Range<u64>) -> CodeQuality {
        let batch = seeds.start / (seeds.end - seeds.start).max(1);
        if batch % 8 == 1 { CodeQuality::Optimized } else { CodeQuality::Quick }
    }
}

/// Chooses the target that the pipeline's cost model assumes. Any choice must be correct on any machine.
pub(super) fn choices(seed: u64) -> [&'static str; 2] {
    let target = ["target=avx512", "target=avx2", "target=sse4.2", "target=neon"][(seed % 4) as usize];
    [target, if seed.is_multiple_of(5) { "versions=none" } else { "versions=force" }]
}

/// Module and the prefix of its symbols.
#[derive(Debug)]
pub(super) struct WidePart {
    pub(super) prefix: String,
    pub(super) module: Module,
}

impl WidePart {
    /// The symbol to call for a function.
    pub(super) fn entry(&self, name: &str) -> String {
        entry_name(&format!("{}{name}", self.prefix))
    }
}

/// Reason why there is no object file, and the part that it concerns.
pub(super) type CompileFailure = (Option<usize>, String);

/// Compiles these parts to an object file.
pub(super) fn compile_parts(
    tally: &mut NativeTally,
    parts: &[WidePart],
    options: EmitOptions,
    target: InstructionSet,
    quality: CodeQuality,
) -> Result<Vec<u8>, CompileFailure> {
    let named: Vec<(&str, &Module)> = parts.iter().map(|part| (&*part.prefix, &part.module)).collect();
    let cpu = target.cpu();
    let llvm = tally.timed(Phase::Emit, || emit_merged(&named, options)).map_err(|error| {
        let is_culprit = |part: &WidePart| emit(&part.module, options).is_err();
        (parts.iter().position(is_culprit), error.to_string())
    })?;
    let level = match quality {
        CodeQuality::Quick => CodegenLevel::Minimal,
        CodeQuality::Optimized => CodegenLevel::Default,
    };
    tally
        .timed(Phase::Codegen, || {
            match quality {
                CodeQuality::Optimized => optimize(&llvm, &cpu, OptimizeOptions::default())?,
                CodeQuality::Quick => rewrite_masks(&llvm, MaskRepresentation::of(&cpu)),
            }
            generate_at(level, &llvm, &cpu, CodeFormat::Object)
        })
        .map_err(|error| (None, error.to_string()))
}
