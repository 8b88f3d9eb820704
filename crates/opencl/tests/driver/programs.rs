//! The programs of `tests/opencl`, each of which says "passed" at its end.

use crate::place::{command, compile, compile_as, run, scratch, source};
use std::path::Path;
use std::process::Command;

fn passes(name: &str) {
    let program = compile(name);
    let output = run(&program.display().to_string(), &[]);
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && printed.ends_with("passed\n"),
        "{name}: {}\n{printed}{messages}",
        output.status
    );
}

#[test]
fn vectors_are_added() {
    passes("vector_add.c");
}

#[test]
fn buffers_are_made_and_moved() {
    passes("buffers.c");
}

#[test]
fn images_are_made_moved_and_read() {
    passes("images.c");
}

#[test]
fn programs_are_built_and_kernels_known() {
    passes("programs.c");
}

#[test]
fn private_arrays_hold_what_each_item_stores() {
    passes("arrays.c");
}

#[test]
fn divisions_never_trap() {
    passes("divisions.c");
}

#[test]
fn whole_programs_are_accepted() {
    passes("accepted.c");
}

/// One CPU of each kind that the machine has: halves are converted and computed in hardware or in software.
const CPUS_FOR_HALVES: [Option<&str>; 3] = [None, Some("znver3"), Some("sse4.2")];

/// Compiles the program that compares mathematical functions with true values.
fn math() -> String {
    // A contracted reference would not be rounded twice where the kernel has to be.
    compile_as("math.c", &scratch().join("math"), &["-O2", "-ffp-contract=off"]).display().to_string()
}

/// Functions of halves that depend on how the CPU computes and converts halves.
const CONVERTING: [&str; 14] = [
    "x + y",
    "x * y",
    "x / y",
    "fma",
    "mad",
    "sqrt",
    "(T)(float)x",
    "(T)(double)x",
    "sin",
    "pow",
    "fract",
    "rint",
    "isequal",
    "isfinite",
];

/// Checks functions of one type at special values and some random numbers; `./x math` takes more of them.
fn check_math(program: &str, ty: &str, cpu: Option<&str>) {
    let mut command = command(program, &["--type", ty, "--width", "1"]);
    // Run-time selection would compile each kernel for several numbers of lanes, whose bits are the same.
    command.env("HEDDLE_LANES", "registers").envs(cpu.map(|cpu| ("HEDDLE_CPU", cpu)));
    command.args(cpu.iter().flat_map(|_| CONVERTING));
    let output = command.output().expect("timeout starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    let wrong: Vec<&str> = printed.split_inclusive(" a second\n").filter(|it| it.contains("WRONG")).collect();
    assert!(
        output.status.success() && printed.ends_with("passed\n"),
        "{ty}, {cpu:?}: {}\n{}{messages}",
        output.status,
        wrong.concat()
    );
}

#[test]
fn functions_are_within_their_bounds() {
    let program = math();
    for ty in ["float", "double"] {
        check_math(&program, ty, None);
    }
    for cpu in CPUS_FOR_HALVES {
        check_math(&program, "half", cpu);
    }
}

#[test]
fn faults_of_functions_are_found() {
    let output =
        command(&math(), &["--faults"]).env("HEDDLE_LANES", "registers").output().expect("timeout starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.ends_with("passed\n"), "{}\n{printed}", output.status);
}

#[test]
fn integers_are_computed() {
    let program = compile("integers.c").display().to_string();
    for arguments in [&[][..], &["--faults"]] {
        let output =
            command(&program, arguments).env("HEDDLE_LANES", "registers").output().expect("timeout starts");
        let printed = String::from_utf8_lossy(&output.stdout);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && printed.ends_with("passed\n"),
            "{arguments:?}: {}\n{printed}{messages}",
            output.status
        );
    }
}

#[test]
fn halves_are_computed() {
    let program = compile("halves.c").display().to_string();
    for cpu in CPUS_FOR_HALVES {
        let mut command = command(&program, &[]);
        command.envs(cpu.map(|cpu| ("HEDDLE_CPU", cpu)));
        let output = command.output().expect("timeout starts");
        let printed = String::from_utf8_lossy(&output.stdout);
        let messages = String::from_utf8_lossy(&output.stderr);
        let text = "1.50 2,-3,4,0.25\npassed\n";
        assert!(
            output.status.success() && printed == text,
            "{cpu:?}: {}\n{printed}{messages}",
            output.status
        );
    }
}

#[test]
fn lanes_of_sub_groups_exchange_all_types() {
    passes("lanes.c");
}

#[test]
fn bits_of_ballots_are_right() {
    passes("values.c");
}

/// Devices are divided by their threads, and not by the machine's processors.
#[test]
fn devices_have_parts() {
    let program = compile("subdevices.c").display().to_string();
    for (threads, cpu) in [("4", None), ("7", Some("znver3"))] {
        let mut command = command(&program, &[threads]);
        command.env("HEDDLE_THREADS", threads).envs(cpu.map(|cpu| ("HEDDLE_CPU", cpu)));
        let output = command.output().expect("timeout starts");
        let printed = String::from_utf8_lossy(&output.stdout);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && printed.ends_with("passed\n"),
            "{threads}: {}\n{printed}{messages}",
            output.status
        );
    }
}

#[test]
fn questions_are_answered_in_any_room() {
    passes("queries.c");
}

#[test]
fn unified_shared_memory_is_shared() {
    passes("usm.c");
}

#[test]
fn integers_are_updated_atomically() {
    passes("atomics.c");
}

#[test]
fn lanes_of_sub_groups_shuffle_and_vote() {
    passes("ballots.c");
}

#[test]
fn recorded_commands_run_again() {
    passes("command_buffers.c");
}

#[test]
fn recorded_commands_change_between_executions() {
    passes("mutable_commands.c");
}

#[test]
fn shared_virtual_memory_has_types() {
    passes("unified_svm.c");
}

#[test]
fn addresses_are_those_of_the_host() {
    passes("addresses.c");
}

#[test]
fn commands_keep_their_order() {
    passes("events.c");
}

#[test]
fn nothing_grows_and_nothing_holds_the_process() {
    passes("growth.c");
}

/// Compiles a file of `tests/opencl` to SPIR-V and returns the module's path.
pub(crate) fn spirv(name: &str, module: &str, more: &[&str]) -> String {
    let module = scratch().join(module).display().to_string();
    let mut command = Command::new("clang-22");
    command
        .args("--target=spirv64-unknown-unknown -cl-std=CL2.0 -Xclang -finclude-default-header".split(' '));
    command.args(["-c", "-x", "cl", "-o", &module]).args(more).arg(source(name));
    let output = command.output().unwrap_or_else(|reason| panic!("clang-22 does not start: {reason}"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    module
}

/// Passes a program that takes kernels as OpenCL C and as a module that clang makes of them with more options.
fn passes_in_both_languages(name: &str, kernels: &str, more: &[&str]) {
    let program = compile(name).display().to_string();
    let module = spirv(kernels, &format!("{kernels}.spv"), more);
    let kernels = source(kernels).display().to_string();
    // Once more with the oracle, for a smaller CPU.
    for is_verified in [false, true] {
        let mut command = command(&program, &[&kernels, &module]);
        if is_verified {
            command.envs([("HEDDLE_VERIFY", "1"), ("HEDDLE_THREADS", "1"), ("HEDDLE_CPU", "znver3")]);
        }
        let output = command.output().expect("timeout starts");
        let printed = String::from_utf8_lossy(&output.stdout);
        let messages = String::from_utf8_lossy(&output.stderr);
        let agrees = !messages.contains("differs from the interpreter")
            && messages.contains("agree with the interpreter") == is_verified;
        assert!(
            output.status.success() && printed.ends_with("passed\n") && agrees,
            "{name}: {}\n{printed}{messages}",
            output.status
        );
    }
}

#[test]
fn floats_are_updated_atomically() {
    const EXTENSIONS: &str = "--spirv-ext=+SPV_EXT_shader_atomic_float_add,+SPV_EXT_shader_atomic_float_min_max,\
                              +SPV_EXT_shader_atomic_float16_add";
    let more = ["-cl-std=CL3.0", "-mllvm", EXTENSIONS];
    passes_in_both_languages("float_atomics.c", "float_atomics.cl", &more);
}

#[test]
fn kernels_require_sizes_of_sub_groups() {
    passes_in_both_languages("subgroup_sizes.c", "subgroup_sizes.cl", &["-cl-std=CL3.0"]);
}

#[test]
fn the_driver_is_of_version_3_1() {
    let more = ["-mllvm", "--spirv-ext=+SPV_KHR_expect_assume", "-Xclang", "-disable-llvm-passes"];
    passes_in_both_languages("versions.c", "hints.cl", &more);
}

#[test]
fn programs_in_spirv_run() {
    let program = compile("spirv.c").display().to_string();
    let modules = [
        spirv("spirv.cl", "spirv.spv", &[]),
        spirv("spirv.cl", "spirv_library.spv", &["-DLIBRARY"]),
        spirv("spirv_image.cl", "spirv_image.spv", &[]),
    ];
    let modules = modules.each_ref().map(String::as_str);
    // The second run takes the programs from the cache.
    for _ in 0..2 {
        let output = run(&program, &modules);
        let text_of_process = String::from_utf8_lossy(&output.stdout);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && text_of_process == "passed\n",
            "{}\n{text_of_process}{messages}",
            output.status
        );
    }
}

/// 200 kernels in the shape in which SYCL's compilers write them, from C++ for OpenCL.
#[test]
fn kernels_of_sycl_run() {
    const LINKAGE: &str = "--spirv-ext=+SPV_KHR_linkonce_odr";
    let program = compile("sycl.c").display().to_string();
    let more = ["-x", "clcpp", "-cl-std=clc++2021", "-O1", "-mllvm", LINKAGE];
    let output = run(&program, &[&spirv("sycl.clcpp", "sycl.spv", &more)]);
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && printed == "passed\n", "{}\n{printed}{messages}", output.status);
}

/// Runs a program that ends so many microseconds after a moment.
fn leaves(when: &str, who: &str, microseconds: u64) {
    let program = scratch().join("leaves").display().to_string();
    let arguments = [when, who, &microseconds.to_string()];
    let mut command = command(&program, &arguments);
    // A cached program is not recompiled. More threads compile than there are processors.
    let output = command.env("HEDDLE_CACHE", "0").env("HEDDLE_THREADS", "6").output().expect("it starts");
    let (printed, messages) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        output.status.success() && printed == "passed\n",
        "{arguments:?}: {}\n{printed}{messages}",
        output.status
    );
}

#[test]
fn the_process_ends_while_kernels_are_compiled() {
    compile("leaves.c");
    for microseconds in [0, 3_000, 30_000, 200_000] {
        leaves("launches", "main", microseconds);
        leaves("kernels", "nobody", microseconds);
    }
    // At many places of the compilation.
    for time in (0..40).step_by(3) {
        leaves("launches", "thread", time * time * 200);
        leaves("kernels", "main", time * time * 150);
        leaves("kernels", "thread", time * time * 150);
        leaves("build", "main", time * time * 100);
        leaves("build", "thread", time * time * 100);
    }
}

#[test]
fn sub_groups_are_consecutive_work_items() {
    passes("subgroups.c");
}

#[test]
fn sub_groups_advance_while_others_wait() {
    for cpu in ["znver3", "avx512"] {
        let output =
            command(&compile("progress.c").display().to_string(), &[]).env("HEDDLE_CPU", cpu).output();
        let output = output.expect("it starts");
        assert!(output.status.success(), "{cpu}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn groups_at_the_end_are_smaller() {
    passes("trailing.c");
}

#[test]
fn many_host_threads_work_at_once() {
    passes("stress.c");
}

#[test]
fn the_wrapper_for_cpp_works() {
    passes("wrapper.cpp");
}

#[test]
fn the_demo_agrees_with_c() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/opencl");
    let (program, picture) = (scratch().join("demo"), scratch().join("mandelbrot.png"));
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"])
        .arg(folder.join("demo.c"));
    let compiled = cc.args(["-lOpenCL", "-lm", "-o"]).arg(&program).output().expect("cc starts");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let (kernels, written) = (folder.join("demo.cl").display().to_string(), picture.display().to_string());
    let output = run(&program.display().to_string(), &[&kernels, &written]);
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && printed.contains("pixels are those of C"), "{printed}{messages}");
    let bytes = std::fs::read(&picture).expect("the picture is there");
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 1 << 20, "{} bytes", bytes.len());
}
