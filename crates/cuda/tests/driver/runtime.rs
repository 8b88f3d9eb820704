//! Programs on CUDA's runtime: in CUDA C++ by NVIDIA's compiler, and as those of CUDA 12.

use crate::place::{do_or_say, folder, package, passes, run, scratch, source, toolkit};
use std::path::PathBuf;
use std::process::Command;

/// Compiles a program of `tests/cuda`, with PTX in it that is packed in this way.
fn compile(name: &str, mode: &str) -> PathBuf {
    compile_with(name, mode, &[])
}

/// Compiles such a program with further libraries. The static runtime, which NVIDIA's compiler links, is a script of this folder that
/// has the shared one linked.
fn compile_with(name: &str, mode: &str, libraries: &[&str]) -> PathBuf {
    let (toolkit, program) = (toolkit(), scratch().join(format!("{name}-{mode}")));
    let mut compile = Command::new(toolkit.join("bin/nvcc"));
    compile.args(["-std=c++17", "-O1", "-arch=compute_75"]);
    compile.arg(format!("--compress-mode={mode}")).arg("-o").arg(&program).arg(source(&format!("{name}.cu")));
    compile.arg("-L").arg(folder()).args(libraries);
    do_or_say(&mut compile, "the program does not compile");
    program
}

#[test]
fn a_program_in_cuda_cpp_works() {
    passes(&compile("runtime_api", "default"), &[], &[]);
}

#[test]
fn cublas_gives_what_plain_loops_give() {
    let program = compile_with("blas", "default", &["-lcublas"]);
    for cpu in ["sse4.2", "avx2", "avx512"] {
        passes(&program, &[], &[("HEDDLE_CPU", cpu), ("HEDDLE_THREADS", "2")]);
    }
}

#[test]
fn curand_gives_what_kernels_compute() {
    passes(&compile_with("random", "default", &["-lcurand"]), &[], &[]);
}

#[test]
fn cufft_gives_what_its_definition_gives() {
    let program = compile_with("fft", "default", &["-lcufft"]);
    for cpu in ["sse4.2", "avx2", "avx512"] {
        passes(&program, &[], &[("HEDDLE_CPU", cpu), ("HEDDLE_THREADS", "2")]);
    }
}

#[test]
fn kernels_of_small_programs_are_compiled_when_there_is_a_context() {
    let cache = scratch().join("cache-of-a-context");
    let _ = std::fs::remove_dir_all(&cache);
    let variables = [("HEDDLE_CACHE_DIR", &*cache.display().to_string()), ("HEDDLE_THREADS", "2")];
    passes(&compile("prepared", "default"), &[&cache.join("objects")], &variables);
}

#[test]
fn device_code_is_found_however_it_is_packed() {
    for mode in ["none", "speed", "balance", "size"] {
        passes(&compile("runtime_api", mode), &[], &[]);
    }
}

#[test]
fn textures_and_surfaces_give_what_the_guide_says() {
    let program = compile("textures", "default");
    for cpu in ["znver3", "avx512"] {
        passes(&program, &[], &[("HEDDLE_CPU", cpu)]);
    }
    // The interpreter finds the same in each kernel, and the illegal access.
    let output = run(&program, &[], &[("HEDDLE_VERIFY", "1")]);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(!messages.contains("differs") && !messages.contains("not verified"), "{messages}");
    assert!(messages.matches("agree with the interpreter").count() > 200, "{messages}");
}

#[test]
fn device_code_of_several_files_is_linked() {
    let (toolkit, folder) = (toolkit(), source("relocatable"));
    for (mode, extra) in [("none", "-DPLAIN"), ("default", "-DNESTED"), ("size", "-lineinfo")] {
        let program = scratch().join(format!("relocatable-{mode}"));
        let mut compile = Command::new(toolkit.join("bin/nvcc"));
        compile.args(["-std=c++17", "-O1", "-arch=compute_75", "-cudart=shared", "-rdc=true", extra]);
        compile.arg(format!("--compress-mode={mode}")).arg("-L").arg(toolkit.join("lib"));
        compile.arg("-o").arg(&program).arg(folder.join("main.cu")).arg(folder.join("device.cu"));
        do_or_say(&mut compile, "the program does not compile");
        passes(&program, &[], &[]);
    }
}

/// Compiles a C++ program of `tests/cuda` for the runtime of CUDA 12.
fn compile_for_cuda_12(name: &str) -> PathBuf {
    let program = scratch().join(name);
    let mut compile = Command::new("c++");
    compile.args(["-std=c++17", "-O1", "-Wall", "-o"]).arg(&program).arg(source(&format!("{name}.cpp")));
    for headers in ["nvidia/cuda_runtime/include", "nvidia/cuda_nvcc/include"] {
        compile.arg("-I").arg(package(headers));
    }
    compile.arg(folder().join("libcudart.so.12"));
    do_or_say(&mut compile, "the program does not compile");
    program
}

#[test]
fn an_image_of_several_units_is_linked() {
    passes(&compile_for_cuda_12("relocatable"), &[], &[]);
}

#[test]
fn a_program_of_cuda_12_works() {
    let ptx = scratch().join("runtime_12.ptx");
    let mut kernels = Command::new("clang-22");
    kernels.args(["--target=nvptx64", "-Xclang", "-target-feature", "-Xclang", "+ptx78", "-march=sm_75"]);
    kernels.args(["-O2", "-S", "-o"]).arg(&ptx).arg(source("driver_api_kernels.c"));
    do_or_say(&mut kernels, "clang makes no PTX");
    passes(&compile_for_cuda_12("runtime_12"), &[&ptx], &[]);
}
