//! Programs in C++ on the driver's interface, with PTX by clang.

use crate::place::{do_or_say, package, passes, scratch, source};
use std::process::Command;

#[test]
fn a_program_on_the_drivers_interface_works() {
    let (program, ptx) = (scratch().join("driver_api"), scratch().join("driver_api.ptx"));
    let mut kernels = Command::new("clang-22");
    kernels.args(["--target=nvptx64", "-Xclang", "-target-feature", "-Xclang", "+ptx78", "-march=sm_75"]);
    kernels.args(["-O2", "-S", "-o"]).arg(&ptx).arg(source("driver_api_kernels.c"));
    do_or_say(&mut kernels, "clang makes no PTX");
    let mut compile = Command::new("c++");
    compile.args(["-std=c++17", "-O1", "-Wall", "-o"]).arg(&program).arg(source("driver_api.cpp"));
    compile
        .arg("-I")
        .arg(package("nvidia/cuda_runtime/include"))
        .arg("-L")
        .arg(crate::place::folder())
        .arg("-lcuda");
    do_or_say(compile.arg("-pthread"), "the program does not compile");
    passes(&program, &[&ptx], &[]);
}
