//! OpenCL C: programs, and its builtins compared with the specification.
#![forbid(unsafe_code)]

mod layout;
mod math;
mod half;
mod conversions;
mod vectors;
mod coverage;
mod spirv;
mod spirv_fuzz;
mod spirv_instructions;
mod spirv_programs;
mod spirv_support;
mod spirv_extensions;
mod spirv_library;
mod spirv_debug;

use heddle_interp::{Argument, Datum, Memory, RunOptions, run};
use heddle_ir::Module;
use std::path::{Path, PathBuf};

/// Lanes of the oracle's widest brush.
const LANES: usize = 128;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/opencl-c")
}

/// A program that has to be taken as a whole.
fn compiled(source: &str) -> Module {
    compiled_with(source, &[])
}

/// Compiles a program with further build options.
fn compiled_with(source: &str, options: &[&str]) -> Module {
    let words: Vec<String> = ["-cl-std=CL3.0"].iter().chain(options).map(ToString::to_string).collect();
    let program =
        heddle_builtins::compile(source, "test.cl", &words).unwrap_or_else(|log| panic!("{log}\n{source}"));
    assert!(program.refused.is_empty(), "{}", program.refused[0]);
    program.module
}

/// Returns the interpreter's results for the bits of a function's arguments, one list per result.
fn by_oracle(module: &Module, name: &str, columns: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let count = columns[0].len();
    let mut results: Vec<Vec<u64>> = Vec::new();
    for first in (0..count).step_by(LANES) {
        let lanes = LANES.min(count - first);
        let column = |bits: &Vec<u64>| {
            let part = &bits[first..first + lanes];
            Argument::Varying(part.iter().map(|&bits| Datum::Bits(bits.into())).collect())
        };
        let args: Vec<Argument> = columns.iter().map(column).collect();
        let outcome = run(module, name, &args, &mut Memory::new(), &RunOptions::lanes(lanes as u32))
            .unwrap_or_else(|fault| panic!("@{name}: {fault}"));
        results.resize_with(outcome.results.len(), Vec::new);
        for (list, found) in results.iter_mut().zip(&outcome.results) {
            list.extend(found.iter().map(|datum| match datum {
                Datum::Bits(bits) => *bits as u64,
                Datum::Poison => panic!("@{name} gives poison"),
            }));
        }
    }
    results
}
