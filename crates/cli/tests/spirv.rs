//! SPIR-V files: `clc`, `analyze`, `profile`, `exec` and `opt` take them, and name lines and parameters as their debug information does.
#![cfg(target_arch = "x86_64")]

mod common;

use common::{Folder, heddle, says, succeed};
use std::path::Path;
use std::process::Command;

const SOURCE: &str = "kernel void sums(global float *to, global const float *from, float by, int count) {
  int i = get_global_id(0);
  if (i < count) {
    float sum = 0;
    for (int k = 0; k < (int)from[3 * i]; k++) sum += by;
    to[i] += sum;
  }
}
";

/// Opcodes of the instructions that get a line, and their lines in [`SOURCE`].
const OP_STORE: u32 = 62;
const OP_LOAD: u32 = 61;
const OP_STRING: u32 = 7;
const OP_LINE: u32 = 8;
const OP_MEMORY_MODEL: u32 = 14;
const OP_ENTRY_POINT: u32 = 15;

/// Returns what clang writes for a source file.
fn emitted(file: &Path) -> Vec<u32> {
    let flags =
        "--target=spirv64-unknown-unknown -cl-std=CL2.0 -Xclang -finclude-default-header -O1 -c -x cl -o -";
    let output = Command::new("clang-22").args(flags.split(' ')).arg(file).output().expect("clang-22 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect()
}

/// Adds the name of a source, and lines of loads and stores through parameters, as `OpLine`. clang's back end writes none.
fn with_lines(words: &[u32]) -> Vec<u8> {
    let file = words[3];
    let mut changed = words[..5].to_vec();
    changed[3] += 1;
    let (mut at, mut is_named, mut loads) = (5, false, 0);
    while at < words.len() {
        let (size, op) = ((words[at] >> 16) as usize, words[at] & 0xffff);
        if !is_named
            && op != OP_MEMORY_MODEL
            && op != OP_ENTRY_POINT
            && changed.iter().any(|&word| word & 0xffff == OP_ENTRY_POINT && word >> 16 > 3)
        {
            let name = *b"sums.cl\0";
            let halves: Vec<u32> =
                name.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect();
            changed.push(4 << 16 | OP_STRING);
            changed.extend([file, halves[0], halves[1]]);
            is_named = true;
        }
        // Aligned accesses of four bytes: the load of `from`, the load of `to`, the store.
        let is_access = matches!(op, OP_LOAD | OP_STORE) && words[at + size - 1] == 4;
        if is_access {
            loads += u32::from(op == OP_LOAD);
            let line = if loads == 1 { 5 } else { 6 };
            changed.extend([4 << 16 | OP_LINE, file, line, 7]);
        }
        changed.extend_from_slice(&words[at..at + size]);
        at += size;
    }
    assert!(is_named && loads >= 2, "clang writes other accesses");
    changed.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn all_verbs_take_modules_with_lines_and_names() {
    let folder = Folder::new("spirv-verbs");
    folder.write("sums.cl", SOURCE);
    let bytes = with_lines(&emitted(&folder.0.join("sums.cl")));
    std::fs::write(folder.0.join("sums.spv"), bytes).expect("it can be written");
    let call = ["--arg", "&to", "--arg", "&from", "--arg", "2.0", "--arg", "4"];
    let objects = [
        "--mem",
        "to: f32 [1.0, 2.0, 3.0, 4.0]",
        "--mem",
        "from: f32 [0.0, 0, 0, 1.0, 0, 0, 2.0, 0, 0, 3.0]",
    ];
    let objects = objects.map(|word| word.replace(" 0,", " 0.0,"));
    let run = |verb: &str, size: [&str; 2]| {
        let mut words = vec![verb, "sums.spv", size[0], size[1]];
        words.extend(call);
        words.extend(objects.iter().map(String::as_str));
        succeed(heddle(&folder.0, &words))
    };
    assert!(run("exec", ["--local", "4"]).contains("to: [1.0, 4.0, 7.0, 10.0]"));
    let profile = run("profile", ["--local", "4"]);
    assert!(profile.starts_with("@sums: ") && profile.contains("file0:5:7"), "{profile}");
    let report = succeed(heddle(&folder.0, &["clc", "sums.spv", "--target", "haswell"]));
    assert!(report.starts_with("kernel sums: 8 lanes") && report.contains("sums.cl:5:7: load"), "{report}");
    let facts = succeed(heddle(&folder.0, &["analyze", "sums.spv"]));
    assert!(
        facts.contains("kernel @sums(") && facts.contains(":6:7") && facts.contains("divergent"),
        "{facts}"
    );
    let text = succeed(heddle(&folder.0, &["opt", "sums.spv", "-p", "canonicalize", "--verify", "--check"]));
    assert!(text.contains("file0 = \"sums.cl\"") && text.contains("file0:6:7"), "{text}");
}

#[test]
fn refused_modules_are_answered_with_the_reason() {
    let folder = Folder::new("spirv-refused");
    std::fs::write(folder.0.join("cut.spv"), 0x0723_0203u32.to_le_bytes()).expect("it can be written");
    for verb in ["clc", "analyze", "opt", "exec"] {
        says(&folder, &[verb, "cut.spv"], 1, "invalid SPIR-V at word 1: the header ends early");
    }
}

/// Reports of `tests/clc/sycl.cl` in SPIR-V: all accesses to buffers are contiguous, as from its source.
#[test]
fn wrappers_of_sycl_leave_contiguous_accesses() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clc/sycl.cl");
    let folder = Folder::new("spirv-sycl");
    let bytes: Vec<u8> = emitted(&source).iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(folder.0.join("sycl.spv"), bytes).expect("it can be written");
    let report = succeed(heddle(&folder.0, &["clc", "sycl.spv", "--target", "haswell"]));
    let accesses: Vec<&str> = report.lines().filter(|line| line.contains("loads and stores")).collect();
    assert_eq!(accesses.len(), 3, "{report}");
    for line in accesses {
        assert!(line.contains("; 0 gathers or scatters;"), "{report}");
    }
}

#[test]
fn kernels_have_the_lanes_that_they_require() {
    let folder = Folder::new("spirv-lanes");
    let kernel = |size: u32| {
        format!(
            "__attribute__((intel_reqd_sub_group_size({size}))) kernel void k{size}(global int *to) {{\n\
             to[get_global_id(0)] = 1; }}\n"
        )
    };
    folder.write("k.cl", &[8, 16, 32, 12].map(kernel).concat());
    let bytes: Vec<u8> = emitted(&folder.0.join("k.cl")).iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(folder.0.join("k.spv"), bytes).expect("the folder can be written");
    for lanes in ["8", "16", "32"] {
        let printed = succeed(heddle(&folder.0, &["clc", "k.spv", "--kernel", &format!("k{lanes}")]));
        assert!(printed.starts_with(&format!("kernel k{lanes}: {lanes} lanes")), "{printed}");
    }
    says(&folder, &["clc", "k.spv", "--kernel", "k12"], 1, "it requires sub-groups of 12 work-items");
}
