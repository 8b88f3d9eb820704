//! Programs on CUDA's runtime: in CUDA C++ by NVIDIA's compiler, and as those of CUDA 12.

use crate::place::{do_or_say, folder, package, passes, scratch, source, toolkit};
use std::path::PathBuf;
use std::process::Command;

/// Compiles `runtime_api.cu`, with PTX in it that is packed in this way.
fn compile(mode: &str) -> PathBuf {
    let (toolkit, program) = (toolkit(), scratch().join(format!("runtime_api-{mode}")));
    let mut compile = Command::new(toolkit.join("bin/nvcc"));
    compile.args(["-std=c++17", "-O1", "-arch=compute_75", "-cudart=shared"]);
    compile.arg(format!("--compress-mode={mode}")).arg("-o").arg(&program).arg(source("runtime_api.cu"));
    do_or_say(&mut compile, "the program does not compile");
    program
}

#[test]
fn a_program_in_cuda_cpp_works() {
    passes(&compile("default"), &[], &[]);
}

#[test]
fn device_code_is_found_however_it_is_packed() {
    for mode in ["none", "speed", "balance", "size"] {
        passes(&compile(mode), &[], &[]);
    }
}

#[test]
fn a_program_of_cuda_12_works() {
    let (program, ptx) = (scratch().join("runtime_12"), scratch().join("runtime_12.ptx"));
    let mut kernels = Command::new("clang-22");
    kernels.args(["--target=nvptx64", "-Xclang", "-target-feature", "-Xclang", "+ptx78", "-march=sm_75"]);
    kernels.args(["-O2", "-S", "-o"]).arg(&ptx).arg(source("driver_api_kernels.c"));
    do_or_say(&mut kernels, "clang makes no PTX");
    let mut compile = Command::new("c++");
    compile.args(["-std=c++17", "-O1", "-Wall", "-o"]).arg(&program).arg(source("runtime_12.cpp"));
    for headers in ["nvidia/cuda_runtime/include", "nvidia/cuda_nvcc/include"] {
        compile.arg("-I").arg(package(headers));
    }
    compile.arg(folder().join("libcudart.so.12"));
    do_or_say(&mut compile, "the program does not compile");
    passes(&program, &[&ptx], &[]);
}
