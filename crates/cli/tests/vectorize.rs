//! `heddle vectorize`: objects that other compilers call, and what is said where there is none.
#![cfg(target_arch = "x86_64")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder for a test, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("heddle-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("a file can be written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn heddle(folder: &Path, arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_heddle")).current_dir(folder).args(arguments).output();
    command.expect("heddle runs")
}

fn succeed(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const FUNCTION: &str = "\
float power(float x, int n) {
  float y = 1;
  while (n > 0 && y < 1e6f) {
    if (n & 1) y *= x;
    x *= x;
    n >>= 1;
  }
  return y;
}

float sum(const float *from, int count, float start) {
  for (int i = 0; i < count; i++)
    if (from[i] > start) start += from[i] * 0.5f;
  return start;
}
";

/// Loops whose calls the compiler replaces by those of wide functions.
const CALLER: &str = "\
#include <stdio.h>
#pragma omp declare simd notinbranch simdlen(LANES)
float power(float x, int n);
#pragma omp declare simd notinbranch uniform(from, count) simdlen(LANES)
float sum(const float *from, int count, float start);
float one_power(float x, int n);
float one_sum(const float *from, int count, float start);
static float x[1000], y[1000], z[1000];
static int n[1000];
void all(void) {
#pragma omp simd
  for (int i = 0; i < 1000; i++) y[i] = power(x[i], n[i]);
#pragma omp simd
  for (int i = 0; i < 1000; i++) z[i] = sum(x, 50, y[i]);
}
int main(void) {
  for (int i = 0; i < 1000; i++) { x[i] = (i % 37) * 0.11f; n[i] = i % 23; }
  all();
  for (int i = 0; i < 1000; i++) {
    if (y[i] != one_power(x[i], n[i])) return printf(\"power %d\\n\", i), 1;
    if (z[i] != one_sum(x, 50, y[i])) return printf(\"sum %d\\n\", i), 1;
  }
  return 0;
}
";

/// Code of other compilers calls our wide forms by their names in the vector ABI, and they compute what the scalar
/// functions do.
#[test]
fn loops_of_another_compiler_call_wide_forms() {
    for (target, flag, lanes, letter, is_here) in [
        ("x86-64-v2", "-msse4.2", "4", 'b', is_x86_feature_detected!("sse4.2")),
        ("haswell", "-mavx2", "8", 'd', is_x86_feature_detected!("avx2")),
    ] {
        if !is_here {
            println!("{target}: not on this machine");
            continue;
        }
        let folder = Folder::new(target);
        folder.write("f.c", FUNCTION);
        folder.write("caller.c", &CALLER.replace("LANES", lanes));
        for (name, params) in [("power", "varying,varying"), ("sum", "uniform,uniform,varying")] {
            let object = format!("{name}.o");
            succeed(heddle(
                &folder.0,
                &[
                    "vectorize",
                    "f.c",
                    "--func",
                    name,
                    "--lanes",
                    lanes,
                    "--params",
                    params,
                    "--target",
                    target,
                    "-o",
                    &object,
                ],
            ));
        }
        let cc = |arguments: &[&str]| {
            succeed(Command::new("cc").current_dir(&folder.0).args(arguments).output().expect("cc runs"))
        };
        cc(&[
            "-O1",
            "-ffp-contract=off",
            "-Dpower=one_power",
            "-Dsum=one_sum",
            "-c",
            "f.c",
            "-o",
            "scalar.o",
        ]);
        cc(&["-O1", "-ffp-contract=off", "-c", "f.c", "-o", "rest.o"]);
        cc(&["-O2", "-fopenmp-simd", flag, "-c", "caller.c", "-o", "caller.o"]);
        cc(&["caller.o", "power.o", "sum.o", "scalar.o", "rest.o", "-o", "all"]);
        succeed(Command::new(folder.0.join("all")).output().expect("it runs"));
        // It did call them.
        let calls = cc(&["-O2", "-fopenmp-simd", flag, "-S", "caller.c", "-o", "-"]);
        assert!(calls.contains(&format!("_ZGV{letter}N{lanes}vv_power")), "{calls}");
        assert!(calls.contains(&format!("_ZGV{letter}N{lanes}uuv_sum")), "{calls}");
    }
}

/// Structures, complex numbers under a condition, and an index that wraps around.
const FIELDS: &str = "\
void points(long i, const float *restrict a, float *restrict c, int n) {
  const float *p = a + 4 * i;
  c[4 * i] = p[0] + p[1];
  c[4 * i + 1] = p[1] * p[2];
  c[4 * i + 2] = p[2] - p[3];
  c[4 * i + 3] = p[3] + n;
}
void some(long i, const float *restrict a, float *restrict c, int n) {
  if (a[2 * i] > n) {
    c[2 * i] = a[2 * i] - a[2 * i + 1];
    c[2 * i + 1] = a[2 * i + 1] * 2;
  }
}
void every_third(long i, const float *restrict a, float *restrict c, int n) { c[3 * i] = a[3 * i + 1] + n; }
void wraps(long i, const float *restrict a, float *restrict c, int n) {
  unsigned char at = (unsigned char)(i + n);
  c[i] = a[at] + a[(unsigned char)(at * 2)];
}
";

/// Runs each function alone and in lanes, over objects that end where the last lane's last number does.
const DRIVER: &str = "\
#include <stdio.h>
enum { COUNT = 256 };
static float a[4 * COUNT], c[4 * COUNT], d[4 * COUNT];
typedef void F(long, const float *, float *, int);
#define KERNEL(name) F name, name##_wide __asm__(ABI #name);
KERNELS
#undef KERNEL
static int differ(const char *name, F *one, F *wide, int n) {
  for (int i = 0; i < 4 * COUNT; i++) c[i] = d[i] = -i;
  for (long i = 0; i < COUNT; i++) one(i, a, c, n);
  for (long i = 0; i < COUNT; i += LANES) wide(i, a, d, n);
  for (int i = 0; i < 4 * COUNT; i++)
    if (c[i] != d[i]) return printf(\"%s %d: %d: %g, not %g\\n\", name, n, i, d[i], c[i]);
  return 0;
}
int main(void) {
  for (int i = 0; i < 4 * COUNT; i++) a[i] = i * 37 % 101;
#define KERNEL(name) if (differ(#name, name, name##_wide, n)) return 1;
  for (int n = 0; n < 300; n += 7) { KERNELS }
  return 0;
}
";

/// Fields and versions of accesses do natively, on each machine, what a lane alone does.
#[test]
fn fields_and_wrapping_indices_are_right_on_each_machine() {
    let kernels = ["points", "some", "every_third", "wraps"];
    for (target, lanes, letter, is_here) in [
        ("x86-64-v2", "4", 'b', is_x86_feature_detected!("sse4.2")),
        ("x86-64-v2", "8", 'b', is_x86_feature_detected!("sse4.2")),
        ("haswell", "8", 'd', is_x86_feature_detected!("avx2")),
        ("x86-64-v4", "16", 'e', is_x86_feature_detected!("avx512f")),
        ("x86-64-v4", "8", 'e', is_x86_feature_detected!("avx512f")),
    ] {
        if !is_here {
            println!("{target}: not on this machine");
            continue;
        }
        let folder = Folder::new(&format!("fields-{target}-{lanes}"));
        folder.write("f.c", FIELDS);
        folder.write("driver.c", DRIVER);
        let mut link = vec!["driver.c".to_string(), "f.c".into()];
        let mut said = String::new();
        for name in kernels {
            let object = format!("{name}.o");
            let output = heddle(
                &folder.0,
                &[
                    "vectorize",
                    "f.c",
                    "--func",
                    name,
                    "--lanes",
                    lanes,
                    "--params",
                    "linear:1,uniform,uniform,uniform",
                    "--target",
                    target,
                    "--report",
                    "-o",
                    &object,
                ],
            );
            said += &String::from_utf8_lossy(&output.stderr);
            succeed(output);
            link.push(object);
        }
        assert!(said.contains("in whole lines, by 16 bytes: cost"), "{said}");
        assert!(said.contains("in lane 0"), "{said}");
        let calls: String = kernels.iter().map(|name| format!(" KERNEL({name})")).collect();
        link.extend([
            "-O1".into(),
            "-ffp-contract=off".into(),
            format!("-DLANES={lanes}"),
            format!("-DABI=\"_ZGV{letter}N{lanes}luuu_\""),
            format!("-DKERNELS={calls}"),
            "-o".into(),
            "all".into(),
        ]);
        succeed(Command::new("cc").current_dir(&folder.0).args(&link).output().expect("cc runs"));
        succeed(Command::new(folder.0.join("all")).output().expect("it runs"));
    }
}

#[test]
fn what_is_asked_for_wrongly_is_named() {
    let folder = Folder::new("wrong");
    folder.write("f.c", FUNCTION);
    let says = |arguments: &[&str], code: i32, text: &str| {
        let output = heddle(&folder.0, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(text), "{said}");
    };
    says(&["vectorize", "f.c", "--func", "pow"], 1, "there is no function @pow");
    says(&["vectorize", "f.c", "--func", "power", "--params", "varying"], 1, "2 parameters, and 1 shapes");
    says(&["vectorize", "f.c", "--func", "power", "--params", "same,varying"], 2, "write `uniform`");
    says(&["vectorize", "f.c", "--func", "power", "--lanes", "0"], 1, "no brush");
    says(&["vectorize", "f.c", "--func", "power", "--lanes", "500"], 1, "no brush");
    says(&["vectorize", "g.c", "--func", "power"], 1, "g.c");
}
