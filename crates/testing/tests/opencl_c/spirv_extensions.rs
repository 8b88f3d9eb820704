//! Extensions and capabilities of SPIR-V that the driver names: those, and only those, that the reader takes.

use crate::spirv::emitted;
use heddle_builtins::compile_spirv;
use heddle_spirv::{
    CAPABILITIES, EXTENSIONS, FeatureSupport, SpirvOptions, decoration_support, instruction_support,
    mode_support,
};
use heddle_testing::spirv_coverage::{SpirvCoverage, SpirvFeature, instructions};
use spirv::{Capability, Decoration, ExecutionMode, Op, StorageClass};
use std::collections::BTreeSet;

/// Numbers of capabilities of extensions begin here; those below are the core's.
const FIRST_OF_EXTENSIONS: u32 = 4096;

/// Extensions of the KHR, of several vendors and of Intel, with their capabilities for kernels.
const OF_CAPABILITIES: &[(&str, &[Capability])] = {
    use Capability::*;
    &[
        ("SPV_EXT_arithmetic_fence", &[ArithmeticFenceEXT]),
        ("SPV_EXT_float8", &[Float8EXT, Float8CooperativeMatrixEXT]),
        ("SPV_EXT_long_vector", &[LongVectorEXT]),
        ("SPV_EXT_optnone", &[OptNoneEXT]),
        ("SPV_EXT_replicated_composites", &[ReplicatedCompositesEXT]),
        ("SPV_EXT_shader_atomic_float16_add", &[AtomicFloat16AddEXT]),
        ("SPV_EXT_shader_atomic_float_add", &[AtomicFloat32AddEXT, AtomicFloat64AddEXT]),
        (
            "SPV_EXT_shader_atomic_float_min_max",
            &[AtomicFloat16MinMaxEXT, AtomicFloat32MinMaxEXT, AtomicFloat64MinMaxEXT],
        ),
        (
            "SPV_INTEL_2d_block_io",
            &[Subgroup2DBlockIOINTEL, Subgroup2DBlockTransformINTEL, Subgroup2DBlockTransposeINTEL],
        ),
        ("SPV_INTEL_bfloat16_conversion", &[BFloat16ConversionINTEL]),
        ("SPV_INTEL_bindless_images", &[BindlessImagesINTEL]),
        ("SPV_INTEL_cache_controls", &[CacheControlsINTEL]),
        ("SPV_INTEL_debug_module", &[DebugInfoModuleINTEL]),
        (
            "SPV_INTEL_device_side_avc_motion_estimation",
            &[
                SubgroupAvcMotionEstimationINTEL,
                SubgroupAvcMotionEstimationIntraINTEL,
                SubgroupAvcMotionEstimationChromaINTEL,
            ],
        ),
        (
            "SPV_INTEL_float_controls2",
            &[RoundToInfinityINTEL, FloatingPointModeINTEL, FunctionFloatControlINTEL],
        ),
        ("SPV_INTEL_fp_fast_math_mode", &[FPFastMathModeINTEL]),
        ("SPV_INTEL_fp_max_error", &[FPMaxErrorINTEL]),
        ("SPV_INTEL_function_pointers", &[FunctionPointersINTEL, IndirectReferencesINTEL]),
        ("SPV_INTEL_function_variants", &[FunctionVariantsINTEL, SpecConditionalINTEL]),
        ("SPV_INTEL_global_variable_host_access", &[GlobalVariableHostAccessINTEL]),
        ("SPV_INTEL_inline_assembly", &[AsmINTEL]),
        ("SPV_INTEL_int4", &[Int4TypeINTEL, Int4CooperativeMatrixINTEL]),
        ("SPV_INTEL_kernel_attributes", &[KernelAttributesINTEL]),
        ("SPV_INTEL_long_composites", &[LongCompositesINTEL]),
        ("SPV_INTEL_masked_gather_scatter", &[MaskedGatherScatterINTEL]),
        ("SPV_INTEL_maximum_registers", &[RegisterLimitsINTEL]),
        ("SPV_INTEL_media_block_io", &[SubgroupImageMediaBlockIOINTEL]),
        ("SPV_INTEL_memory_access_aliasing", &[MemoryAccessAliasingINTEL]),
        ("SPV_INTEL_optnone", &[OptNoneEXT]),
        ("SPV_INTEL_shader_integer_functions2", &[IntegerFunctions2INTEL]),
        ("SPV_INTEL_split_barrier", &[SplitBarrierINTEL]),
        ("SPV_INTEL_subgroup_buffer_prefetch", &[SubgroupBufferPrefetchINTEL]),
        ("SPV_INTEL_subgroup_matrix_multiply_accumulate", &[SubgroupMatrixMultiplyAccumulateINTEL]),
        (
            "SPV_INTEL_subgroups",
            &[SubgroupShuffleINTEL, SubgroupBufferBlockIOINTEL, SubgroupImageBlockIOINTEL],
        ),
        ("SPV_INTEL_tensor_float32_conversion", &[TensorFloat32RoundingINTEL]),
        ("SPV_INTEL_ternary_bitwise_function", &[TernaryBitwiseFunctionINTEL]),
        ("SPV_INTEL_unstructured_loop_controls", &[UnstructuredLoopControlsINTEL]),
        ("SPV_INTEL_variable_length_array", &[VariableLengthArrayINTEL, UntypedVariableLengthArrayINTEL]),
        ("SPV_INTEL_vector_compute", &[VectorComputeINTEL, VectorAnyINTEL]),
        ("SPV_KHR_bfloat16", &[BFloat16TypeKHR, BFloat16DotProductKHR, BFloat16CooperativeMatrixKHR]),
        ("SPV_KHR_bit_instructions", &[BitInstructions]),
        ("SPV_KHR_cooperative_matrix", &[CooperativeMatrixKHR]),
        ("SPV_KHR_expect_assume", &[ExpectAssumeKHR]),
        (
            "SPV_KHR_float_controls",
            &[DenormPreserve, DenormFlushToZero, SignedZeroInfNanPreserve, RoundingModeRTE, RoundingModeRTZ],
        ),
        ("SPV_KHR_float_controls2", &[FloatControls2]),
        ("SPV_KHR_fma", &[FMAKHR]),
        (
            "SPV_KHR_integer_dot_product",
            &[DotProduct, DotProductInputAll, DotProductInput4x8Bit, DotProductInput4x8BitPacked],
        ),
        ("SPV_KHR_quad_control", &[QuadControlKHR]),
        ("SPV_KHR_shader_ballot", &[SubgroupBallotKHR]),
        ("SPV_KHR_shader_clock", &[ShaderClockKHR]),
        ("SPV_KHR_subgroup_rotate", &[GroupNonUniformRotateKHR]),
        ("SPV_KHR_subgroup_vote", &[SubgroupVoteKHR]),
        ("SPV_KHR_uniform_group_instructions", &[GroupUniformArithmeticKHR]),
        ("SPV_KHR_untyped_pointers", &[UntypedPointersKHR]),
    ]
};

/// True if extensions without capabilities are taken: their instructions, decorations and modes. Linkage and instruction sets that
/// mean nothing have none.
fn without_capabilities() -> Vec<(&'static str, bool)> {
    let done = |support: FeatureSupport| support == FeatureSupport::Done;
    let wraps = [Decoration::NoSignedWrap, Decoration::NoUnsignedWrap];
    vec![
        ("SPV_EXT_relaxed_printf_string_address_space", prints_from_global_memory()),
        ("SPV_KHR_linkonce_odr", true),
        ("SPV_KHR_maximal_reconvergence", done(mode_support(ExecutionMode::MaximallyReconvergesKHR))),
        ("SPV_KHR_no_integer_wrap_decoration", wraps.into_iter().all(|it| done(decoration_support(it)))),
        ("SPV_KHR_non_semantic_info", true),
        ("SPV_KHR_relaxed_extended_instruction", done(instruction_support(Op::ExtInstWithForwardRefsKHR))),
    ]
}

/// True if a kernel's format string may be in global memory, as SYCL's and Julia's compilers write it.
fn prints_from_global_memory() -> bool {
    let path = std::env::temp_dir().join(format!("heddle-printf-{}.cl", std::process::id()));
    let source = "kernel void k(global int *a) { printf(\"value %d\\n\", a[0]); }";
    std::fs::write(&path, source).expect("it can be written");
    let bytes = emitted(&path, &["-O1"]).expect("clang writes SPIR-V");
    let _ = std::fs::remove_file(&path);
    let mut words: Vec<u32> =
        bytes.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect();
    let (mut at, mut moved) = (5, 0);
    while at < words.len() {
        let class = match words[at] & 0xffff {
            op if op == Op::TypePointer as u32 => at + 2,
            op if op == Op::Variable as u32 => at + 3,
            _ => 0,
        };
        if class > 0 && words[class] == StorageClass::UniformConstant as u32 {
            words[class] = StorageClass::CrossWorkgroup as u32;
            moved += 1;
        }
        at += (words[at] >> 16) as usize;
    }
    assert!(moved >= 2, "the format string is elsewhere");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = compile_spirv(&bytes, "printf.spv", &SpirvOptions::default(), &[]);
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    program.refused.is_empty() && program.module.to_string().contains("global @.str: ptr(global)")
}

fn names() -> BTreeSet<&'static str> {
    EXTENSIONS.iter().map(|name| name.to_str().expect("names are ASCII")).collect()
}

/// Returns the capabilities that the reader takes whole; of the core also those with refused parts, which are optional features.
fn taken_capabilities() -> Vec<Capability> {
    let coverage = SpirvCoverage::new();
    let is_taken = |capability: Capability, feature: &SpirvFeature| {
        let is_whole = feature.refused.is_empty() || (capability as u32) < FIRST_OF_EXTENSIONS;
        feature.support == FeatureSupport::Done && is_whole
    };
    let taken = coverage.chapter("capabilities").iter().filter_map(|feature| {
        let capability: Capability = feature.name.parse().expect("it is the name of a capability");
        is_taken(capability, feature).then_some(capability)
    });
    taken.collect()
}

#[test]
fn named_capabilities_are_those_that_are_taken() {
    assert_eq!(CAPABILITIES.to_vec(), taken_capabilities());
}

/// Modules declare the capabilities of an extension that they use, so that one which is taken is worth the name.
#[test]
fn named_extensions_are_those_that_are_taken() {
    let taken = taken_capabilities();
    let is_taken = |capabilities: &[Capability]| capabilities.iter().any(|it| taken.contains(it));
    let of_capabilities = OF_CAPABILITIES.iter().map(|&(name, list)| (name, is_taken(list)));
    let expected = of_capabilities.chain(without_capabilities()).filter(|&(_, is_taken)| is_taken);
    assert_eq!(names(), expected.map(|(name, _)| name).collect());
}

#[test]
fn each_taken_capability_is_one_of_an_extension() {
    let known: BTreeSet<u32> =
        OF_CAPABILITIES.iter().flat_map(|(_, list)| *list).map(|&it| it as u32).collect();
    let is_unknown = |it: &Capability| *it as u32 >= FIRST_OF_EXTENSIONS && !known.contains(&(*it as u32));
    let unknown: Vec<Capability> = taken_capabilities().into_iter().filter(is_unknown).collect();
    assert!(unknown.is_empty(), "{unknown:?} are taken: name their extensions");
}

/// The grammar has extensions of instructions.
#[test]
fn instructions_of_named_extensions_are_taken() {
    let names = names();
    let of_names = instructions().filter(|inst| inst.extensions.iter().any(|it| names.contains(it)));
    let supports = of_names.map(|inst| (inst.opname, instruction_support(inst.opcode)));
    let (mut count, mut others) = (0, Vec::new());
    for (name, support) in supports {
        count += 1;
        if support != FeatureSupport::Done {
            others.push(name);
        }
    }
    assert!(count > 15 && others.is_empty(), "{count}: {others:?}");
}
