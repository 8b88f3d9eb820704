//! `heddle clc`: what it says of the files in `tests/clc`, as goldens (`HEDDLE_BLESS=1` rewrites them), and what it writes.
#![cfg(target_arch = "x86_64")]

mod common;

use common::{Folder, heddle, says, succeed};
use std::path::PathBuf;
use std::process::Command;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/clc")
}

/// The command's output for a file equals the `.txt` file next to it.
fn is_as_written(name: &str, arguments: &[&str]) {
    let target = if name == "arrays.cl" { "znver4" } else { "haswell" };
    let mut all = vec!["clc", name, "--target", target];
    all.extend(arguments);
    let output = heddle(&folder(), &all);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let found = format!(
        "; heddle {} -> {}\n{}{}",
        all.join(" "),
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr)
    );
    let path = folder().join(name).with_extension("txt");
    if std::env::var_os("HEDDLE_BLESS").is_some() {
        std::fs::write(&path, &found).expect("the golden can be written");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} says something else (HEDDLE_BLESS=1 rewrites it):\n{found}", path.display());
}

#[test]
fn kernels_are_reported() {
    is_as_written("kernels.cl", &["-cl-std=CL3.0"]);
}

#[test]
fn second_forms_are_reported() {
    is_as_written("forms.cl", &["-cl-std=CL3.0", "--report"]);
}

#[test]
fn private_arrays_are_reported() {
    is_as_written("arrays.cl", &["-cl-std=CL3.0", "--lanes", "16"]);
}

#[test]
fn unsigned_differences_are_contiguous() {
    is_as_written("differences.cl", &["--lanes", "8"]);
}

#[test]
fn small_loops_are_unrolled() {
    is_as_written("small-loops.cl", &["-cl-std=CL3.0", "--lanes", "8"]);
}

#[test]
fn tiles_of_one_dimension_have_contiguous_accesses() {
    is_as_written("flat-tiles.cl", &["--lanes", "8"]);
}

#[test]
fn accesses_of_dense_arrays_are_contiguous() {
    is_as_written("strides.cl", &["--lanes", "8", "--dense"]);
}

#[test]
fn first_launches_are_guessed() {
    is_as_written("guesses.cl", &["--lanes", "8"]);
}

#[test]
fn images_have_the_format_of_a_launch() {
    is_as_written("images.cl", &["-cl-std=CL3.0", "--lanes", "8", "--image", "unorm8x4"]);
}

#[test]
fn wrappers_of_sycl_leave_contiguous_accesses() {
    is_as_written("sycl.cl", &["-cl-std=CL3.0"]);
}

#[test]
fn kernels_have_the_lanes_that_they_require() {
    is_as_written("sub-groups.cl", &["-cl-std=CL3.0"]);
}

#[test]
fn sub_groups_of_another_size_are_refused() {
    let file = folder().join("sub-groups.cl").display().to_string();
    let run = |more: &[&str]| {
        let words = [&["clc", &file, "-cl-std=CL3.0"], more].concat();
        let output = heddle(&folder(), &words);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (passes, message) = run(&["--kernel", "eight", "--lanes", "16"]);
    let reason = "it requires sub-groups of 8 work-items, and `--lanes 16` asks for others";
    assert!(!passes && message.contains(reason) && message.contains("write `--lanes 8`"), "{message}");
    let (passes, message) = run(&["--kernel", "eight", "--kernel", "thirty_two", "--dump", "wide"]);
    let reason =
        "`eight` and `thirty_two` cannot be compiled together: their sub-groups have 8 and 32 work-items";
    assert!(!passes && message.contains(reason) && message.contains("`--kernel eight`"), "{message}");
    for words in [&["--kernel", "eight", "--lanes", "8"][..], &["--kernel", "thirty_two", "--dump", "wide"]] {
        let (passes, message) = run(words);
        assert!(passes, "{message}");
    }
}

#[test]
fn mistakes_have_the_lines_and_names_of_the_source() {
    is_as_written("mistake.cl", &[]);
}

#[test]
fn one_kernel_that_is_refused_does_not_keep_the_others() {
    is_as_written("undefined.cl", &[]);
}

#[test]
fn options_of_the_build_reach_clang() {
    let folder = Folder::new("clc-options");
    std::fs::create_dir_all(folder.0.join("headers")).expect("a folder can be made");
    folder.write("headers/by.h", "#define BY (FACTOR + 1)\n");
    folder.write("near.h", "#define NEAR 2\n");
    folder.write(
        "k.cl",
        "#include <by.h>\n#include \"near.h\"\n#if __OPENCL_C_VERSION__ != 300\n#error which one\n#endif\n\
         kernel void k(global int *a) { a[get_global_id(0)] *= BY + NEAR; }\n",
    );
    let words =
        ["clc", "k.cl", "-DFACTOR=3", "-Iheaders", "-cl-std=CL3.0", "-cl-mad-enable", "--", "-Werror"];
    let printed = succeed(heddle(&folder.0, &words));
    assert!(printed.starts_with("kernel k: "), "{printed}");
    says(&folder, &["clc", "k.cl", "-D", "FACTOR=3", "-I", "headers"], 1, "which one");
    says(&folder, &["clc", "k.cl", "-cl-nonsense"], 1, "-cl-nonsense");
}

/// LLVM warns of a loop that it does not unroll despite a pragma.
#[test]
fn loops_that_stay_are_no_warnings() {
    let folder = Folder::new("clc-unroll");
    folder.write(
        "k.cl",
        "kernel void k(global int *out) {\n  int lid = get_local_id(0);\n  local int sums[256];\n\
         #pragma unroll\n  for (int i = lid; i < 256; i += 100) sums[i] = i;\n\
         barrier(CLK_LOCAL_MEM_FENCE);\n\
         #pragma unroll\n  for (int i = lid; i < 256; i += 100) out[i] = sums[255 - i];\n}\n",
    );
    let output = heddle(&folder.0, &["clc", "k.cl", "--dump", "assembly"]);
    let warnings = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && warnings.is_empty(), "{warnings}");
}

#[test]
fn wrong_words_are_answered() {
    let folder = Folder::new("clc-wrong");
    folder.write("k.cl", "kernel void k(global int *a) { a[get_global_id(0)] = 1; }\n");
    folder.write("none.cl", "int f(int x) { return x; }\n");
    says(&folder, &["clc", "nowhere.cl"], 2, "nowhere.cl");
    says(&folder, &["clc", "none.cl"], 1, "none.cl has no kernel");
    says(&folder, &["clc", "k.cl", "--kernel", "l"], 1, "no kernel `l`");
    says(&folder, &["clc", "k.cl", "--dump", "nothing"], 2, "the stages are ");
    says(
        &folder,
        &["clc", "k.cl", "--image", "rgba"],
        2,
        "write a kind of channel, `x` and 1, 2 or 4 channels",
    );
    says(&folder, &["clc", "k.cl", "--lanes", "0"], 1, "`0` is not a brush");
    says(&folder, &["clc", "k.cl", "-o", "k.exe"], 2, "use a name that ends in .o, .s, .ll, .bc or .hed");
}

/// Calls a group function: its descriptor describes the launch, as in docs/runtime.md.
const CALLER: &str = r#"
#include <stdint.h>
#include <stdio.h>
void twice(float *to, const float *from, const uint64_t *place, void *local, void *scratch);
int main(void) {
  float from[100], to[100];
  for (int i = 0; i < 100; i++) from[i] = (float)i;
  for (uint64_t group = 0; group < 4; group++) {
    // Group, groups, size, first index, launch, offset, three dimensions each; dimensions.
    uint64_t place[19] = {group, 0, 0, 4, 1, 1, 25, 1, 1, group * 25, 0, 0, 100, 1, 1, 0, 0, 0, 1};
    twice(to, from, place, 0, 0);
  }
  for (int i = 0; i < 100; i++) if (to[i] != 2.0f * from[i]) return printf("%d: %g\n", i, to[i]), 1;
  return 0;
}
"#;

#[test]
fn objects_have_functions_that_run_groups() {
    let folder = Folder::new("clc-object");
    folder.write("caller.c", CALLER);
    folder.write(
        "twice.cl",
        "kernel void twice(global float *to, global const float *from) {\n\
           to[get_global_id(0)] = 2.0f * from[get_global_id(0)];\n}\n",
    );
    for form in ["twice.o", "twice.s"] {
        succeed(heddle(&folder.0, &["clc", "twice.cl", "-o", form]));
        let cc = Command::new("cc").current_dir(&folder.0).args(["caller.c", form, "-o", "all"]).output();
        succeed(cc.expect("cc runs"));
        let ran = Command::new("timeout").arg("20").arg(folder.0.join("all")).output();
        succeed(ran.expect("it runs"));
    }
    for (stage, text) in [
        ("source", "kernel @twice("),
        ("groups", "launch "),
        ("wide", "load <8 x f32>"),
        ("llvm", "define "),
        ("assembly", "twice:"),
    ] {
        let words = ["clc", "twice.cl", "--lanes", "8", "--target", "haswell", "--dump", stage];
        let printed = succeed(heddle(&folder.0, &words));
        assert!(printed.contains(text), "{stage}: {printed}");
    }
    let hed = succeed(heddle(&folder.0, &["clc", "twice.cl", "-o", "twice.hed", "--report"]));
    assert!(hed.starts_with("kernel twice: "), "{hed}");
    succeed(heddle(&folder.0, &["opt", "twice.hed", "--stage", "wide", "--verify"]));
}
