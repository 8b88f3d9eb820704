//! SPIR-V kernels: from the binary form to LLVM IR with clang's conventions for OpenCL C.
//!
//! [`lower`] reads a module, checks it, and writes the text of an LLVM module as clang would have written it for
//! `spir64`: kernels are `spir_kernel` functions with `kernel_arg_…` metadata, builtins have their mangled names
//! (`_Z3sinf`), address spaces are numbered alike. From there on, programs take the way of OpenCL C: the builtin
//! library is linked, LLVM cleans up, the importer reads the result (`heddle_llvm::compile_opencl_ir`).
//!
//! Requires: any bytes.  Ensures: no panic; an error with its word offset, or text whose types LLVM's reader accepts.
//! Text grows at most linearly with the module, beyond a fixed amount.
//!
//! Decision: LLVM IR and not Heddle's IR. Modules from LLVM's back end and from llvm-spirv have private variables,
//! structs, vectors and byte-wise addresses that LLVM's passes remove before the importer, which has no such passes.
//! The builtin library is LLVM bitcode and is inlined before them. Decision: text and not LLVM's C interface, so that
//! this crate has no unsafe code; LLVM's text reader reports what the checks here miss, where its builder would corrupt
//! memory. LLVM's reader never sees bytes of the module. Decision: a reader of our own over the opcode tables of the crate `spirv`;
//! rspirv's loader builds a module of owned instructions that the checks would walk again.
//!
//! A feature that Heddle lacks replaces the body of the function that has it by a call of a function with the reason in its
//! attributes ([`UNSUPPORTED`]). The importer refuses the kernels that reach it, as it does for OpenCL C.
#![forbid(unsafe_code)]

mod binary;
mod error;
mod types;
mod module;
mod debug_names;
mod constant;
mod chain;
mod mangle;
mod text;
mod queries;
mod dominance;
mod function;
mod instruction;
mod arithmetic;
mod conversion;
mod composite;
mod memory;
mod group;
mod image;
mod integer;
mod extended;
mod inlining;
mod output;
mod refusal;
mod support;

pub use binary::is_spirv;
pub use error::{SpirvError, SpirvErrorKind};
pub use output::{HELP, REASON, UNSUPPORTED};
pub use queries::{CAPABILITIES, EXTENDED_SETS, EXTENSIONS};
pub use support::{
    FeatureSupport, builtin_support, capability_support, decoration_support, extended_support,
    instruction_support, mode_support,
};

use binary::SpirvBinary;
use module::SpirvModule;
use spirv::{Decoration, Op};

/// Options of the lowering.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SpirvOptions {
    /// Bits of specialization constants by their `SpecId`; the last entry of an id wins.
    pub constants: Vec<(u32, u64)>,
    /// Quotients of floats are correctly rounded; otherwise they may be off by 2.5 units in the last place, as OpenCL
    /// allows.
    pub has_exact_quotients: bool,
    /// Accesses to numbers of different types reach different memory, as in C; SPIR-V itself promises nothing.
    pub has_strict_aliasing: bool,
    /// No number is infinite or a NaN, beyond what the module says of single instructions.
    pub has_finite_math: bool,
    /// Name of the module, in locations of functions that name no file; empty for `program.spv`.
    pub file: String,
}

/// Specialization constant of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpecializationConstant {
    /// `SpecId`.
    pub id: u32,
    /// Size of its value in bytes; 1 for `bool`.
    pub bytes: usize,
}

/// Lowers a module to the text of an LLVM module.
pub fn lower(bytes: &[u8], options: &SpirvOptions) -> Result<String, SpirvError> {
    let binary = SpirvBinary::read(bytes)?;
    let module = SpirvModule::read(&binary, options)?;
    output::write_module(&module, binary.len(), options)
}

/// Returns the specialization constants of a module, in order.
pub fn specialization_constants(bytes: &[u8]) -> Result<Vec<SpecializationConstant>, SpirvError> {
    let binary = SpirvBinary::read(bytes)?;
    let module = SpirvModule::read(&binary, &SpirvOptions::default())?;
    let mut found = Vec::new();
    for inst in binary.instructions()? {
        let bytes = match (inst.op, inst.words) {
            (Some(Op::SpecConstantTrue | Op::SpecConstantFalse), _) => 1,
            (Some(Op::SpecConstant), &[ty, ..]) => {
                module.types.number(ty).map_or(4, |number| number.kind.bits() as usize / 8)
            }
            _ => continue,
        };
        let words = inst.words.get(1).and_then(|&id| module.decoration(id, Decoration::SpecId));
        if let Some(&[id]) = words {
            found.push(SpecializationConstant { id, bytes });
        }
    }
    Ok(found)
}
