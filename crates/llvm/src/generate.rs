//! Optimization and code generation: LLVM's passes, then text, bitcode, assembly or an object.

use crate::cpu::Cpu;
use crate::inverse_roots::estimate_roots;
use crate::jit::{CodegenLevel, TargetMachine, machine, no_machine, not_compiled};
use crate::lane_accesses::split_scattered_accesses;
use crate::lane_indices::freeze_lane_indices;
use crate::lane_shuffles::permute_registers;
use crate::masks::{MaskRepresentation, rewrite_masks};
use crate::prefetch::prefetch_masked_accesses;
use crate::saturation::saturate_vectors;
use crate::single_lane_params::pass_single_lanes;
use crate::single_lanes::{prepare_for_codegen, store_single_lanes};
use crate::unmasked_accesses::lower_unmasked_accesses;
use crate::view::{LlvmModule, take_error, take_message};
use heddle_ir::Diagnostic;
use llvm_sys::core::*;
use llvm_sys::target_machine::*;
use llvm_sys::transforms::pass_builder::*;
use std::ffi::{CStr, CString};
use std::rc::Rc;

/// Output format of code generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeFormat {
    /// LLVM IR as text.
    Text,
    /// LLVM IR as bitcode.
    Bitcode,
    /// Assembly.
    Assembly,
    /// An object file.
    Object,
}

/// Sets a module's target triple and data layout.
pub(crate) fn set_target(module: &LlvmModule, machine: &TargetMachine) {
    // SAFETY: module and machine are live; the texts are LLVM's, taken over and freed.
    unsafe {
        let triple = LLVMGetTargetMachineTriple(machine.raw());
        LLVMSetTarget(module.raw(), triple);
        take_message(triple);
        let layout = LLVMCreateTargetDataLayout(machine.raw());
        llvm_sys::target::LLVMSetModuleDataLayout(module.raw(), layout);
        llvm_sys::target::LLVMDisposeTargetData(layout);
    }
}

/// LLVM passes of vector code, in two parts: those of `default<O2>` without which the code of the benchmark's kernels changes.
/// `default<O2>` takes up to 1.3 times the instructions for them.
const VECTOR_CODE_PASSES: [&str; 2] = [
    "function<eager-inv>(simplifycfg,early-cse,instcombine<no-verify-fixpoint>),\
cgscc(inline,function<eager-inv;no-rerun>(\
early-cse<memssa>,jump-threading,correlated-propagation,instcombine<no-verify-fixpoint>,\
simplifycfg<switch-range-to-icmp>,reassociate,\
loop-mssa(licm<no-allowspeculation>,loop-rotate<header-duplication>,licm<allowspeculation>),\
simplifycfg<switch-range-to-icmp>,instcombine<no-verify-fixpoint>,loop(indvars,loop-unroll-full),\
vector-combine,gvn,sccp,dse,loop-mssa(licm<allowspeculation>),\
simplifycfg<switch-range-to-icmp;switch-to-arithmetic;hoist-common-insts;sink-common-insts>,\
instcombine<no-verify-fixpoint>)),\
function<eager-inv>(loop(loop-deletion),simplifycfg,instcombine<no-verify-fixpoint>,",
    "loop-unroll<O2>,\
instcombine<no-verify-fixpoint>,loop-mssa(licm<allowspeculation>),instsimplify,simplifycfg),\
globaldce",
];

/// Passes between the parts of [`VECTOR_CODE_PASSES`] that vectorize loops of one-lane code.
const LOOP_VECTORIZATION: &str =
    "loop-simplify,lcssa,loop-vectorize,instcombine<no-verify-fixpoint>,simplifycfg,";

/// Treatment of the source's loops by LLVM.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SourceLoops {
    /// They stay scalar.
    #[default]
    Scalar,
    /// They are vectorized where LLVM can.
    Vectorized,
}

/// LLVM pass pipeline for a target machine.
#[derive(Debug)]
pub struct LlvmPasses {
    machine: Rc<TargetMachine>,
    names: CString,
    /// True if the loop and SLP vectorizers of a default pipeline run.
    vectorizes: bool,
}

impl LlvmPasses {
    fn new(cpu: &Cpu, parts: &[&str], vectorizes: bool) -> Result<LlvmPasses, Diagnostic> {
        let machine = machine(cpu, CodegenLevel::Default).map_err(no_machine)?;
        let names = CString::new(parts.concat()).expect("names of passes have no NUL");
        Ok(LlvmPasses { machine, names, vectorizes })
    }

    /// Returns the pipeline for vector code.
    fn of_vector_code(cpu: &Cpu, loops: SourceLoops) -> Result<LlvmPasses, Diagnostic> {
        let [before, after] = VECTOR_CODE_PASSES;
        match loops {
            SourceLoops::Scalar => LlvmPasses::new(cpu, &[before, after], false),
            SourceLoops::Vectorized => LlvmPasses::new(cpu, &[before, LOOP_VECTORIZATION, after], false),
        }
    }

    /// Returns the pipeline that inlines `alwaysinline` functions and deletes unused ones.
    pub(crate) fn of_inlining(cpu: &Cpu) -> Result<LlvmPasses, Diagnostic> {
        LlvmPasses::new(cpu, &["always-inline,globaldce"], false)
    }

    /// Returns the pipeline that inlines lowered accesses, whose masks have much in common.
    pub(crate) fn of_lowered_accesses(cpu: &Cpu) -> Result<LlvmPasses, Diagnostic> {
        LlvmPasses::new(cpu, &["always-inline,function(early-cse),globaldce"], false)
    }

    /// Returns the pipeline of `clang -O3`, vectorizers included.
    pub fn of_clang_o3(cpu: &Cpu) -> Result<LlvmPasses, Diagnostic> {
        LlvmPasses::new(cpu, &["default<O3>"], true)
    }

    /// Runs the pipeline on a module.
    pub fn run(&self, module: &LlvmModule) -> Result<(), Diagnostic> {
        set_target(module, &self.machine);
        // SAFETY: module, machine and options are live; an error is taken over once.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            LLVMPassBuilderOptionsSetLoopVectorization(options, self.vectorizes.into());
            LLVMPassBuilderOptionsSetSLPVectorization(options, self.vectorizes.into());
            let error = LLVMRunPasses(module.raw(), self.names.as_ptr(), self.machine.raw(), options);
            LLVMDisposePassBuilderOptions(options);
            take_error(error).map_err(not_compiled)
        }
    }
}

/// Simplifies a module that no LLVM pass has seen: with AVX-512, LLVM 22.1's code generator does not terminate on
/// some shifts whose amount is zero by known bits only.
pub fn simplify(module: &LlvmModule) {
    run_pass(module, c"instsimplify");
}

/// Runs a target-independent LLVM pass.
pub(crate) fn run_pass(module: &LlvmModule, pass: &CStr) {
    // SAFETY: module and options are live.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        // LLVM has the pass, so there is no error.
        llvm_sys::error::LLVMConsumeError(LLVMRunPasses(
            module.raw(),
            pass.as_ptr(),
            std::ptr::null_mut(),
            options,
        ));
        LLVMDisposePassBuilderOptions(options);
    }
}

/// Options of [`optimize`].
#[derive(Clone, Copy, Default, Debug)]
pub struct OptimizeOptions {
    /// Treatment of the source's loops.
    pub loops: SourceLoops,
    /// Representation of masks; none for the CPU's.
    pub masks: Option<MaskRepresentation>,
}

/// Optimizes a module with LLVM's passes. Also replaces inverse square roots by estimates, permutes registers, splits gathers and
/// scatters, lowers masked accesses that the CPU lacks, gives masks the machine's representation, and prefetches masked accesses, each
/// where the CPU profits, and freezes lane numbers.
pub fn optimize(module: &LlvmModule, cpu: &Cpu, options: OptimizeOptions) -> Result<(), Diagnostic> {
    set_target_attributes(module, cpu);
    estimate_roots(module, cpu);
    saturate_vectors(module, cpu);
    permute_registers(module, cpu);
    LlvmPasses::of_vector_code(cpu, options.loops)?.run(module)?;
    store_single_lanes(module);
    split_scattered_accesses(module, cpu);
    lower_unmasked_accesses(module, cpu)?;
    rewrite_masks(module, options.masks.unwrap_or_else(|| MaskRepresentation::of(cpu)));
    prefetch_masked_accesses(module, cpu);
    freeze_lane_indices(module);
    Ok(())
}

/// Writes a module at the default code generation level.
pub fn generate(module: &LlvmModule, cpu: &Cpu, output: CodeFormat) -> Result<Vec<u8>, Diagnostic> {
    generate_at(CodegenLevel::Default, module, cpu, output)
}

/// Writes a module at a code generation level.
pub fn generate_at(
    level: CodegenLevel,
    module: &LlvmModule,
    cpu: &Cpu,
    output: CodeFormat,
) -> Result<Vec<u8>, Diagnostic> {
    let file = match output {
        CodeFormat::Text => return Ok(module.text().into_bytes()),
        CodeFormat::Bitcode => return Ok(module.bitcode()),
        CodeFormat::Assembly => LLVMCodeGenFileType::LLVMAssemblyFile,
        CodeFormat::Object => LLVMCodeGenFileType::LLVMObjectFile,
    };
    // Modules at the default level have been through LLVM's passes; running one again would undo the mask
    // representation.
    match level {
        CodegenLevel::Minimal => prepare_for_codegen(module, level),
        CodegenLevel::Default => {
            store_single_lanes(module);
            pass_single_lanes(module);
        }
    }
    let machine = machine(cpu, level).map_err(no_machine)?;
    set_target(module, &machine);
    emit_file(module, &machine, file)
}

/// Compiles a module to an object.
pub(crate) fn emit_object(
    module: &LlvmModule,
    machine: &TargetMachine,
    level: CodegenLevel,
) -> Result<Vec<u8>, Diagnostic> {
    prepare_for_codegen(module, level);
    emit_file(module, machine, LLVMCodeGenFileType::LLVMObjectFile)
}

fn emit_file(
    module: &LlvmModule,
    machine: &TargetMachine,
    file: LLVMCodeGenFileType,
) -> Result<Vec<u8>, Diagnostic> {
    // SAFETY: module and machine are live; message and buffer are LLVM's, taken over here.
    unsafe {
        let (mut message, mut buffer) = (std::ptr::null_mut(), std::ptr::null_mut());
        let failed =
            LLVMTargetMachineEmitToMemoryBuffer(machine.raw(), module.raw(), file, &mut message, &mut buffer)
                != 0;
        if failed || buffer.is_null() {
            return Err(not_compiled(take_message(message)));
        }
        let bytes =
            std::slice::from_raw_parts(LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer));
        let bytes = bytes.to_vec();
        LLVMDisposeMemoryBuffer(buffer);
        Ok(bytes)
    }
}

/// Sets the target attributes of each function, and prefers full-width vectors: LLVM would halve the widest.
fn set_target_attributes(module: &LlvmModule, cpu: &Cpu) {
    let bits = cpu.vector_bits().to_string();
    let attributes = [
        ("target-cpu", &*cpu.name),
        ("target-features", &*cpu.features),
        ("prefer-vector-width", &*bits),
        ("min-legal-vector-width", &*bits),
    ];
    // SAFETY: module, functions and texts are live; an attribute belongs to the context.
    unsafe {
        let mut func = LLVMGetFirstFunction(module.raw());
        while !func.is_null() {
            if LLVMIsDeclaration(func) == 0 {
                for (key, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
                    let attribute = LLVMCreateStringAttribute(
                        module.context(),
                        key.as_ptr().cast(),
                        key.len() as u32,
                        value.as_ptr().cast(),
                        value.len() as u32,
                    );
                    LLVMAddAttributeAtIndex(func, llvm_sys::LLVMAttributeFunctionIndex, attribute);
                }
            }
            func = LLVMGetNextFunction(func);
        }
    }
}
