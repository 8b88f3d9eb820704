//! Each extension that the driver reports is named by a test, in a line `covers: …`, and the tests use each of its functions.
//!
//! Functions of the interface are noted as programs call them; those of the language count where a source, after the
//! preprocessor, has their names.

use crate::layer::trace;
use crate::place::{scratch, source};
use crate::programs::spirv;
use heddle_opencl::api::dispatch::EXTENSION_ENTRIES;
use heddle_opencl::core::platform::EXTENSIONS;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of a folder and of the folders in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns the files that cover each extension.
fn covered() -> BTreeMap<String, Vec<PathBuf>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in [here.join("tests"), here.join("../../tests/opencl")].iter().flat_map(|folder| files(folder))
    {
        let is_test = path.extension().is_some_and(|it| it == "c" || it == "cl" || it == "cpp" || it == "rs");
        let text = if is_test { std::fs::read_to_string(&path).expect("it is text") } else { String::new() };
        for name in
            text.lines().filter_map(|line| line.strip_prefix("// covers: ")).flat_map(str::split_whitespace)
        {
            found.entry(name.to_string()).or_default().push(path.clone());
        }
    }
    found
}

#[test]
fn each_extension_is_covered_by_a_test() {
    let covered = covered();
    let missing: Vec<&&str> = EXTENSIONS.iter().filter(|name| !covered.contains_key(**name)).collect();
    assert!(missing.is_empty(), "no test says that it covers {missing:?}");
    let unknown: Vec<&String> = covered.keys().filter(|name| !EXTENSIONS.contains(&&***name)).collect();
    assert!(unknown.is_empty(), "the driver does not report {unknown:?}, which tests cover");
}

#[test]
fn each_covering_program_is_run() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver");
    let tests: String =
        files(&here).iter().map(|path| std::fs::read_to_string(path).expect("it is text")).collect();
    for path in covered().values().flatten().filter(|path| path.extension().is_none_or(|it| it != "rs")) {
        let name = path.file_name().unwrap_or_default().display().to_string();
        assert!(tests.contains(&format!("\"{name}\"")), "no test runs {name}");
    }
}

const OPERATIONS: &str = "add mul min max and or xor logical_and logical_or logical_xor";

/// Functions of extensions: of the interface by their names, of the language, too; `*` stands for each of [`OPERATIONS`].
const FUNCTIONS: [(&str, &str); 27] = [
    (
        "cl_khr_fp16",
        "acos acosh acospi asin asinh asinpi atan atan2 atanh atanpi atan2pi cbrt ceil copysign cos cosh cospi erf erfc exp exp2 \
         exp10 expm1 fabs fdim floor fma fmax fmin fmod fract frexp hypot ilogb ldexp lgamma lgamma_r log log2 log10 log1p logb \
         mad maxmag minmag modf nan nextafter pow pown powr remainder remquo rint rootn round rsqrt sin sincos sinh sinpi sqrt \
         tan tanh tanpi tgamma trunc clamp degrees max min mix radians step smoothstep sign cross dot distance length normalize \
         isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isfinite isinf isnan isnormal isordered \
         isunordered signbit bitselect select vload2 vload3 vload4 vload8 vload16 vstore2 vstore3 vstore4 vstore8 vstore16 \
         async_work_group_copy async_work_group_strided_copy prefetch shuffle shuffle2 vec_step read_imageh write_imageh",
    ),
    (
        "cl_khr_subgroup_extended_types",
        "sub_group_broadcast sub_group_reduce_add sub_group_scan_inclusive_max",
    ),
    (
        "cl_khr_global_int32_base_atomics",
        "atomic_add atomic_sub atomic_xchg atomic_inc atomic_dec atomic_cmpxchg",
    ),
    ("cl_khr_global_int32_extended_atomics", "atomic_min atomic_max atomic_and atomic_or atomic_xor"),
    (
        "cl_khr_local_int32_base_atomics",
        "atomic_add atomic_sub atomic_xchg atomic_inc atomic_dec atomic_cmpxchg",
    ),
    ("cl_khr_local_int32_extended_atomics", "atomic_min atomic_max atomic_and atomic_or atomic_xor"),
    ("cl_khr_int64_base_atomics", "atom_add atom_sub atom_xchg atom_inc atom_dec atom_cmpxchg"),
    ("cl_khr_int64_extended_atomics", "atom_min atom_max atom_and atom_or atom_xor"),
    (
        "cl_khr_subgroups",
        "get_sub_group_size get_max_sub_group_size get_num_sub_groups get_enqueued_num_sub_groups get_sub_group_id \
         get_sub_group_local_id sub_group_barrier sub_group_all sub_group_any sub_group_broadcast sub_group_reduce_add \
         sub_group_reduce_min sub_group_reduce_max sub_group_scan_exclusive_add sub_group_scan_exclusive_min \
         sub_group_scan_exclusive_max sub_group_scan_inclusive_add sub_group_scan_inclusive_min sub_group_scan_inclusive_max",
    ),
    ("cl_khr_subgroup_shuffle", "sub_group_shuffle sub_group_shuffle_xor"),
    ("cl_khr_subgroup_shuffle_relative", "sub_group_shuffle_up sub_group_shuffle_down"),
    (
        "cl_khr_subgroup_ballot",
        "sub_group_non_uniform_broadcast sub_group_broadcast_first sub_group_ballot sub_group_inverse_ballot \
         sub_group_ballot_bit_extract sub_group_ballot_bit_count sub_group_ballot_inclusive_scan \
         sub_group_ballot_exclusive_scan sub_group_ballot_find_lsb sub_group_ballot_find_msb get_sub_group_eq_mask \
         get_sub_group_ge_mask get_sub_group_gt_mask get_sub_group_le_mask get_sub_group_lt_mask",
    ),
    (
        "cl_khr_subgroup_non_uniform_vote",
        "sub_group_elect sub_group_non_uniform_all sub_group_non_uniform_any sub_group_non_uniform_all_equal",
    ),
    (
        "cl_khr_subgroup_non_uniform_arithmetic",
        "sub_group_non_uniform_reduce_* sub_group_non_uniform_scan_inclusive_* sub_group_non_uniform_scan_exclusive_*",
    ),
    ("cl_khr_subgroup_clustered_reduce", "sub_group_clustered_reduce_*"),
    ("cl_khr_subgroup_rotate", "sub_group_rotate sub_group_clustered_rotate"),
    ("cl_khr_extended_async_copies", "async_work_group_copy_2D2D async_work_group_copy_3D3D"),
    (
        "cl_khr_extended_bit_ops",
        "bitfield_insert bitfield_extract_signed bitfield_extract_unsigned bit_reverse",
    ),
    (
        "cl_khr_integer_dot_product",
        "dot dot_acc_sat dot_4x8packed_uu_uint dot_4x8packed_ss_int dot_4x8packed_us_int dot_4x8packed_su_int \
         dot_acc_sat_4x8packed_uu_uint dot_acc_sat_4x8packed_ss_int dot_acc_sat_4x8packed_us_int \
         dot_acc_sat_4x8packed_su_int",
    ),
    (
        "cl_ext_float_atomics",
        "atomic_fetch_add_explicit atomic_fetch_sub_explicit atomic_fetch_min_explicit atomic_fetch_max_explicit \
         atomic_load_explicit atomic_store_explicit atomic_exchange_explicit",
    ),
    ("cl_khr_expect_assume", "__builtin_expect __builtin_assume"),
    ("cl_khr_il_program", "clCreateProgramWithILKHR"),
    ("cl_khr_create_command_queue", "clCreateCommandQueueWithPropertiesKHR"),
    (
        "cl_khr_suggested_local_work_size",
        "clGetKernelSuggestedLocalWorkSizeKHR clGetKernelSuggestedLocalWorkSize",
    ),
    ("cl_ext_buffer_device_address", "clSetKernelArgDevicePointerEXT"),
    ("cl_khr_command_buffer_mutable_dispatch", "clUpdateMutableCommandsKHR clGetMutableCommandInfoKHR"),
    (
        "cl_khr_unified_svm",
        "clSVMAllocWithPropertiesKHR clSVMFreeWithPropertiesKHR clGetSVMPointerInfoKHR clGetSVMSuggestedTypeIndexKHR",
    ),
];

/// Extensions that own all other entries of extensions, by parts of the entries' names.
const FAMILIES: [(&str, &str, &str); 3] = [
    ("cl_khr_command_buffer", "CommandBuffer", "KHR"),
    ("cl_khr_command_buffer", "clCommand", "KHR"),
    ("cl_intel_unified_shared_memory", "Mem", "INTEL"),
];

/// Functions of an extension.
fn functions(extension: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, list) in FUNCTIONS.iter().filter(|(name, _)| *name == extension) {
        for name in list.split_whitespace() {
            match name.strip_suffix('*') {
                Some(stem) => {
                    found.extend(OPERATIONS.split(' ').map(|operation| format!("{stem}{operation}")))
                }
                None => drop(found.insert(name.to_string())),
            }
        }
    }
    for (_, part, suffix) in FAMILIES.iter().filter(|(name, ..)| *name == extension) {
        let entries = EXTENSION_ENTRIES.iter().map(|entry| entry.name);
        found
            .extend(entries.filter(|name| name.contains(part) && name.ends_with(suffix)).map(str::to_string));
    }
    found
}

/// Returns the words of a source in OpenCL C after the preprocessor, with all extensions.
fn words(text: &str, name: &str) -> BTreeSet<String> {
    let file = scratch().join(format!("{name}.preprocessed.cl"));
    std::fs::write(&file, text).expect("the target folder can be written");
    let mut command = Command::new("clang-22");
    command.args([
        "-E",
        "-P",
        "-x",
        "cl",
        "-cl-std=CL3.0",
        "--target=spirv64-unknown-unknown",
        "-U__SPIRV__",
        "-w",
    ]);
    command
        .args(EXTENSIONS.map(|name| format!("-D{name}=1")))
        .args(["-D__OPENCL_C_VERSION__=310"])
        .arg(&file);
    let output = command.output().unwrap_or_else(|reason| panic!("clang-22 does not start: {reason}"));
    let printed = String::from_utf8_lossy(&output.stdout);
    let is_word = |it: char| it == '_' || it.is_alphanumeric();
    printed.split(|it| !is_word(it)).filter(|word| !word.is_empty()).map(str::to_string).collect()
}

/// Arguments of the programs that take some.
fn arguments(name: &str) -> Vec<String> {
    let hints =
        ["-mllvm", "--spirv-ext=+SPV_KHR_expect_assume", "-Xclang", "-disable-llvm-passes", "-cl-std=CL3.0"];
    match name {
        "math.c" => ["--numbers", "0", "--type", "half", "--width", "1"].map(str::to_string).into(),
        "versions.c" => {
            vec![source("hints.cl").display().to_string(), spirv("hints.cl", "traced.spv", &hints)]
        }
        "spirv.c" => vec![
            spirv("spirv.cl", "traced_spirv.spv", &[]),
            spirv("spirv.cl", "traced_library.spv", &["-DLIBRARY"]),
            spirv("spirv_image.cl", "traced_image.spv", &[]),
        ],
        _ => Vec::new(),
    }
}

#[test]
fn each_function_of_an_extension_is_used() {
    let covered = covered();
    let mut used: BTreeMap<&Path, BTreeSet<String>> = BTreeMap::new();
    let mut lacking = Vec::new();
    for (extension, files) in &covered {
        let wanted = functions(extension);
        let mut found = BTreeSet::new();
        for path in files.iter().filter(|_| !wanted.is_empty()) {
            let name = path.file_name().unwrap_or_default().display().to_string();
            found.extend(
                used.entry(path)
                    .or_insert_with(|| match path.extension() {
                        Some(kind) if kind == "cl" => {
                            words(&std::fs::read_to_string(path).expect("it is text"), &name)
                        }
                        Some(kind) if kind == "c" => {
                            let arguments = arguments(&name);
                            let trace =
                                trace(&name, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
                            words(&trace.sources, &name).into_iter().chain(trace.functions).collect()
                        }
                        _ => BTreeSet::new(),
                    })
                    .iter()
                    .cloned(),
            );
        }
        lacking.extend(wanted.difference(&found).map(|function| format!("{extension}: {function}")));
    }
    assert!(lacking.is_empty(), "no test uses {lacking:#?}");
}

#[test]
fn each_entry_belongs_to_an_extension() {
    let listed: BTreeSet<String> = EXTENSIONS.iter().flat_map(|extension| functions(extension)).collect();
    let missing: Vec<&str> =
        EXTENSION_ENTRIES.iter().map(|entry| entry.name).filter(|name| !listed.contains(*name)).collect();
    assert!(missing.is_empty(), "no extension has {missing:?}");
    let unknown: Vec<&str> =
        FUNCTIONS.iter().map(|(name, _)| *name).filter(|name| !EXTENSIONS.contains(name)).collect();
    assert!(unknown.is_empty(), "the driver does not report {unknown:?}");
}
