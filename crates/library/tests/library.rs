//! The library as its users see it.

// As users name it.
extern crate heddle_library as heddle;

use heddle::{Buffer, Element, KernelArgument, NdRange, Program, local};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

#[path = "../../../examples/rust-library/src/main.rs"]
mod example;

#[test]
fn the_example_finds_the_largest() {
    example::main();
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Step {
    by: f32,
    every: i32,
}

// SAFETY: all bits mean something in both fields, and there is nothing between them.
unsafe impl Element for Step {
    const TYPE: Option<&'static str> = None;
}

const MIXED: &str = "
typedef struct { float by; int every; } Step;
kernel void mixed(global float4 *to, constant float *from, float2 scale, Step step, local int *own) {
    size_t i = get_global_id(0);
    own[get_local_id(0)] = (int)i;
    barrier(CLK_LOCAL_MEM_FENCE);
    int other = own[get_local_size(0) - 1 - get_local_id(0)];
    to[i] = (float4)(from[i] * scale.x, scale.y, i % step.every == 0 ? step.by : OFFSET, other);
}
kernel void unsaid(global uint *to) { to[get_global_id(0)] += 1; }";

#[test]
fn arguments_of_all_kinds_arrive() {
    let program = Program::from_opencl_c_with(MIXED, "-D OFFSET=-1.0f -cl-std=CL3.0").expect("it compiles");
    assert_eq!(program.kernel_names().collect::<Vec<_>>(), ["mixed", "unsaid"]);
    let kernel = program.kernel("mixed").expect("there is the kernel");
    let mut to = Buffer::<[f32; 4]>::zeroed(20);
    let from: Vec<f32> = (0..20u8).map(f32::from).collect();
    let step = KernelArgument::value(Step { by: 0.5, every: 3 });
    let range = NdRange::new(&[20]).and_then(|range| range.with_local(&[10])).expect("a range");
    // SAFETY: there are twenty elements of each, and ten of local memory for ten work-items.
    unsafe { kernel.launch(range, (&mut to, &from, [2.0f32, 7.0], step, local::<i32>(10))) }
        .expect("it runs");
    for (at, found) in to.iter().enumerate() {
        let (own, other) = (at as f32, (at / 10 * 10 + 9 - at % 10) as f32);
        assert_eq!(*found, [own * 2.0, 7.0, if at % 3 == 0 { 0.5 } else { -1.0 }, other], "{at}");
    }
    let report = kernel.reports().pop().expect("it was compiled");
    assert_eq!((&*report.kernel, report.barriers, report.states), ("mixed", 1, 2));
}

/// Files of a cache by name, with modification times.
fn entries(folder: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let listed = std::fs::read_dir(folder.join("objects")).expect("something is kept");
    let one = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("the folder can be listed");
        let written = entry.metadata().and_then(|about| about.modified()).expect("it is there");
        (entry.path(), written)
    };
    listed.map(one).collect()
}

#[test]
fn kernels_are_kept_for_other_processes() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache-of-the-library");
    let _ = std::fs::remove_dir_all(&folder);
    let run = || {
        // The report exists whichever test compiled the kernel.
        let mut test = Command::new(std::env::current_exe().expect("a test has a path"));
        test.args(["--exact", "arguments_of_all_kinds_arrive"]);
        test.env("HEDDLE_CACHE_DIR", &folder).env("HEDDLE_CACHE", "");
        let output = test.output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        entries(&folder)
    };
    let first = run();
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!(run(), first, "what is kept is not made again");
}

#[test]
fn a_launch_has_up_to_three_dimensions() {
    let program = Program::from_opencl_c(
        "kernel void at(global int *to) {
             to[(get_global_id(2) * 3 + get_global_id(1)) * 5 + get_global_id(0)] = get_work_dim();
         }",
    )
    .expect("it compiles");
    let kernel = program.kernel("at").expect("there is the kernel");
    let mut to = [0; 30];
    // SAFETY: there are thirty elements.
    unsafe { kernel.launch([5, 3, 2], (&mut to,)) }.expect("it runs");
    assert_eq!(to, [3; 30]);
    // SAFETY: as above.
    unsafe { kernel.launch(7, (&mut to,)) }.expect("it runs");
    assert_eq!((to[6], to[7]), (1, 3));
}

/// Returns the error of launching `mixed` with these arguments.
macro_rules! refused {
    ($($argument:expr),*) => {{
        let program = Program::from_opencl_c_with(MIXED, "-DOFFSET=0").expect("it compiles");
        let kernel = program.kernel("mixed").expect("there is the kernel");
        // SAFETY: nothing is launched.
        unsafe { kernel.launch(1, ($($argument,)*)) }.expect_err("it is refused").to_string()
    }};
}

#[test]
fn wrong_arguments_are_named() {
    let mut to = Buffer::<[f32; 4]>::zeroed(1);
    let mut plain = [0.0f32; 9];
    let step = || KernelArgument::value(Step { by: 0.0, every: 1 });
    let scale = [1.0f32; 2];
    let own = || local::<i32>(1);
    assert_eq!(refused!(&mut to), "@mixed: expected 5 arguments, found 1");
    assert_eq!(
        refused!(&to, &plain, scale, step(), own()),
        "@mixed: argument 0, `to`: the kernel may write it: pass a `&mut` slice, or declare it `const`"
    );
    assert_eq!(
        refused!(&mut plain, &[1.0f32], scale, step(), own()),
        "@mixed: argument 0, `to`: expected a `float4*`, found a `float`"
    );
    assert_eq!(
        refused!(&mut to, &[1i32], scale, step(), own()),
        "@mixed: argument 1, `from`: expected a `float*`, found a `int`"
    );
    assert_eq!(
        refused!(&mut to, &plain, &plain, step(), own()),
        "@mixed: argument 2, `scale`: expected a `float2`, found a `float`"
    );
    assert_eq!(
        refused!(&mut to, &plain, scale, 1.0f32, own()),
        "@mixed: argument 3, `step`: expected 8 bytes, found 4"
    );
    assert_eq!(
        refused!(&mut to, &plain, scale, step(), &mut [1i32]),
        "@mixed: argument 4, `own`: a pointer to local memory takes `heddle::local::<T>(count)`"
    );
    let misplaced: &mut [[f32; 4]] = {
        let start = usize::from(plain.as_ptr().addr().is_multiple_of(16));
        plain[start..start + 8].as_chunks_mut().0
    };
    let printed = refused!(misplaced, &[1.0f32], scale, step(), own());
    assert!(printed.contains("argument 0, `to`: elements must be aligned to 16 bytes"), "{printed}");
}

#[test]
fn programs_say_what_is_wrong_with_them() {
    let printed = |source: &str| Program::from_opencl_c(source).expect_err("it is refused").to_string();
    let text = printed("kernel void k(global int *a) {\n  a[0] = b;\n}");
    assert!(text.contains("program.cl:2:10: error: use of undeclared identifier 'b'"), "{text}");
    let text = printed("int outside(int);\nkernel void k(global int *a) { a[0] = outside(1); }");
    assert!(text.contains("program.cl:2:39: @k: ") && text.contains("@outside"), "{text}");
    let program = Program::from_opencl_c("kernel void k(global int *a) { a[0] = 1; }").expect("it compiles");
    let text = program.kernel("l").expect_err("there is none").to_string();
    assert_eq!(text, "program.cl: no kernel `l`\n  help: the kernels are k");
}
