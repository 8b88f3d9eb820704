//! Instruction sets, extensions and capabilities that a device names (`cl_khr_spirv_queries`).
//!
//! Extensions that only FPGAs use are accepted and not named.

use spirv::Capability;
use std::ffi::CStr;

/// Extended instruction sets.
pub const EXTENDED_SETS: [&CStr; 3] =
    [c"OpenCL.std", c"OpenCL.DebugInfo.100", c"NonSemantic.Shader.DebugInfo.100"];

/// Extensions, in the order of their names.
pub const EXTENSIONS: [&CStr; 39] = [
    c"SPV_EXT_arithmetic_fence",
    c"SPV_EXT_optnone",
    c"SPV_EXT_relaxed_printf_string_address_space",
    c"SPV_EXT_replicated_composites",
    c"SPV_EXT_shader_atomic_float16_add",
    c"SPV_EXT_shader_atomic_float_add",
    c"SPV_EXT_shader_atomic_float_min_max",
    c"SPV_INTEL_bfloat16_conversion",
    c"SPV_INTEL_cache_controls",
    c"SPV_INTEL_debug_module",
    c"SPV_INTEL_fp_fast_math_mode",
    c"SPV_INTEL_fp_max_error",
    c"SPV_INTEL_global_variable_host_access",
    c"SPV_INTEL_kernel_attributes",
    c"SPV_INTEL_maximum_registers",
    c"SPV_INTEL_memory_access_aliasing",
    c"SPV_INTEL_optnone",
    c"SPV_INTEL_shader_integer_functions2",
    c"SPV_INTEL_split_barrier",
    c"SPV_INTEL_subgroup_buffer_prefetch",
    c"SPV_INTEL_subgroups",
    c"SPV_INTEL_ternary_bitwise_function",
    c"SPV_INTEL_unstructured_loop_controls",
    c"SPV_KHR_bfloat16",
    c"SPV_KHR_bit_instructions",
    c"SPV_KHR_expect_assume",
    c"SPV_KHR_float_controls",
    c"SPV_KHR_float_controls2",
    c"SPV_KHR_fma",
    c"SPV_KHR_integer_dot_product",
    c"SPV_KHR_linkonce_odr",
    c"SPV_KHR_maximal_reconvergence",
    c"SPV_KHR_no_integer_wrap_decoration",
    c"SPV_KHR_non_semantic_info",
    c"SPV_KHR_relaxed_extended_instruction",
    c"SPV_KHR_shader_ballot",
    c"SPV_KHR_subgroup_rotate",
    c"SPV_KHR_subgroup_vote",
    c"SPV_KHR_uniform_group_instructions",
];

/// Capabilities, in the order of their numbers.
pub const CAPABILITIES: [Capability; 70] = {
    use Capability::*;
    [
        Addresses,
        Linkage,
        Kernel,
        Vector16,
        Float16Buffer,
        Float16,
        Float64,
        Int64,
        Int64Atomics,
        ImageBasic,
        ImageReadWrite,
        Groups,
        LiteralSampler,
        Int16,
        GenericPointer,
        Int8,
        Sampled1D,
        Image1D,
        SampledBuffer,
        ImageBuffer,
        SubgroupDispatch,
        GroupNonUniform,
        GroupNonUniformVote,
        GroupNonUniformArithmetic,
        GroupNonUniformBallot,
        GroupNonUniformShuffle,
        GroupNonUniformShuffleRelative,
        GroupNonUniformClustered,
        UniformDecoration,
        SubgroupBallotKHR,
        SubgroupVoteKHR,
        DenormPreserve,
        DenormFlushToZero,
        SignedZeroInfNanPreserve,
        BFloat16TypeKHR,
        SubgroupShuffleINTEL,
        SubgroupBufferBlockIOINTEL,
        IntegerFunctions2INTEL,
        AtomicFloat32MinMaxEXT,
        AtomicFloat64MinMaxEXT,
        AtomicFloat16MinMaxEXT,
        ExpectAssumeKHR,
        FPFastMathModeINTEL,
        UnstructuredLoopControlsINTEL,
        KernelAttributesINTEL,
        MemoryAccessAliasingINTEL,
        DotProductInputAll,
        DotProductInput4x8Bit,
        DotProductInput4x8BitPacked,
        DotProduct,
        ReplicatedCompositesEXT,
        BitInstructions,
        GroupNonUniformRotateKHR,
        FloatControls2,
        FMAKHR,
        AtomicFloat32AddEXT,
        AtomicFloat64AddEXT,
        OptNoneEXT,
        AtomicFloat16AddEXT,
        DebugInfoModuleINTEL,
        BFloat16ConversionINTEL,
        SplitBarrierINTEL,
        ArithmeticFenceEXT,
        FPMaxErrorINTEL,
        GlobalVariableHostAccessINTEL,
        SubgroupBufferPrefetchINTEL,
        TernaryBitwiseFunctionINTEL,
        GroupUniformArithmeticKHR,
        CacheControlsINTEL,
        RegisterLimitsINTEL,
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_order_without_duplicates() {
        assert!(EXTENSIONS.is_sorted_by(|a, b| a < b));
        assert!(CAPABILITIES.is_sorted_by(|a, b| (*a as u32) < *b as u32));
    }
}
