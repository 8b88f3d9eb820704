//! Import, optimization and emission of LLVM IR.
//!
//! [`read_ir`] reads an LLVM module, [`compile`] runs clang on a source, and [`import()`] translates an LLVM module
//! to Heddle IR at stage Source. [`emit()`] translates Heddle IR to LLVM IR, and [`Jit`] compiles it. docs/llvm.md
//! documents the mapping. Only this crate calls LLVM's C interface; the unsafe code sits in `view` and in the files
//! that rewrite LLVM modules.
#![deny(unsafe_op_in_unsafe_fn)]

mod view;
mod borrowed_module;
mod read;
mod cache_folder;
mod front_end;
mod opencl;
mod private_arrays;
mod small_loops;
mod space_queries;
mod indices;
mod spirv;
mod defined_divisions;
mod disjoint_addends;
mod debug_names;
mod native_call;
mod import;
mod image_types;
mod kernel_info;
mod emit;
mod single_lanes;
mod single_lane_params;
mod builtins;
mod jit;
mod child_process;
mod fatal_errors;
mod generate;
mod masks;
mod inverse_roots;
mod lane_shuffles;
mod lane_accesses;
mod lane_indices;
mod saturation;
mod single_calls;
mod prefetch;
mod unmasked_accesses;
mod printf;
mod join;
mod link;
mod cleanup;
mod vector_variants;
mod entry_lock;
mod object_cache;
mod coverage;
mod compiler_threads;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod signal_handlers;
mod lazy_tables;
mod cpu;
mod stack;

pub use borrowed_module::BorrowedModule;
pub use builtins::f16_bits;
pub use cache_folder::{include_folder, kept_file};
pub use child_process::{ChildFailure, SharedMapping};
pub use cleanup::cleaned_copy;
pub use compiler_threads::{CompilerThread, stop_compiler_threads};
pub use coverage::{ImportSupport, LlvmCoverage, coverage};
pub use cpu::{Cpu, HOST_VARIABLE, HostCpuError, UnknownCpu};
pub use emit::{EmitOptions, emit, emit_merged, entry_name, slot_bytes};
pub use entry_lock::EntryLock;
pub use fatal_errors::catch_fatal_errors;
pub use front_end::{Language, clang_error, compile, language_of, read_source};
pub use generate::{
    CodeFormat, LlvmPasses, OptimizeOptions, SourceLoops, generate, generate_at, optimize, simplify,
};
pub use import::work_items::is_imported_builtin;
pub use import::{ImportedModule, import, param_scalar_counts};
pub use indices::restore_indices;
pub use jit::{CodegenLevel, Jit, JitEntry, compile_host_object, limit_scheduling};
pub use join::{LinkInput, link_programs};
pub use kernel_info::{ArgumentPiece, ImageType, KernelInfo, KernelParam, ParamPassing, kernels};
pub use lazy_tables::make_lazy_tables;
pub use link::{internalize_except, link, reduce_to_functions, share_globals};
pub use masks::{MaskRepresentation, rewrite_masks};
pub use object_cache::{CacheSearch, ObjectCache};
pub use opencl::{
    DeclaredFunction, EXACT_MATH_OPTION, FAST_MATH_OPTION, OpenClLibrary, OpenClOptions, REMARKS_OPTION,
    compile_opencl, compile_opencl_with, declared_functions, load_library,
};
pub use printf::{PRINT, PRINTF, define_printf_bodies};
pub use read::{read_foreign_ir, read_ir};
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use signal_handlers::{
    Interruption, SignalHook, install_signal_handlers, interrupt_thread, set_kernel_hook,
};
pub use single_calls::inline_single_calls;
pub use spirv::compile_spirv;
pub use stack::stack_bytes;
pub use vector_variants::vector_variant_names;
pub use view::{LlvmModule, intrinsic_names, version};
