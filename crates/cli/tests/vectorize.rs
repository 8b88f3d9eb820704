//! `heddle vectorize`: objects that other compilers call, and errors where there is none.
#![cfg(target_arch = "x86_64")]

mod common;

use common::{Folder, heddle, says, succeed};
use heddle_testing::not_run::not_run;
use std::process::Command;

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

double deep(double x, float y) { return x > y ? x * 1.5 : x - y; }

int odd(short x) { return x & 1 ? x * 3 : -x; }

void mark(int *to, int by) { *to += by; }
";

/// Loops whose calls the compiler replaces by those of wide functions.
const CALLER: &str = "\
#include <stdio.h>
#pragma omp declare simd notinbranch simdlen(LANES)
float power(float x, int n);
#pragma omp declare simd notinbranch uniform(from, count) simdlen(LANES)
float sum(const float *from, int count, float start);
#pragma omp declare simd notinbranch simdlen(LANES)
double deep(double x, float y);
double one_deep(double x, float y);
float one_power(float x, int n);
float one_sum(const float *from, int count, float start);
static float x[1000], y[1000], z[1000];
static double d[1000];
static int n[1000];
void all(void) {
#pragma omp simd
  for (int i = 0; i < 1000; i++) y[i] = power(x[i], n[i]);
#pragma omp simd
  for (int i = 0; i < 1000; i++) z[i] = sum(x, 50, y[i]);
#pragma omp simd simdlen(LANES)
  for (int i = 0; i < 1000; i++) d[i] = deep(d[i], y[i]);
}
int main(void) {
  for (int i = 0; i < 1000; i++) { x[i] = (i % 37) * 0.11f; n[i] = i % 23; d[i] = i % 19; }
  all();
  for (int i = 0; i < 1000; i++) {
    if (y[i] != one_power(x[i], n[i])) return printf(\"power %d\\n\", i), 1;
    if (z[i] != one_sum(x, 50, y[i])) return printf(\"sum %d\\n\", i), 1;
    if (d[i] != one_deep(i % 19, y[i])) return printf(\"deep %d\\n\", i), 1;
  }
  return 0;
}
";

/// CPUs, gcc's flags for them, lanes that fill a register with floats, its letter, whether this machine has it.
fn machines() -> [(&'static str, &'static str, usize, char, bool); 3] {
    [
        ("x86-64-v2", "-msse4.2", 4, 'b', is_x86_feature_detected!("sse4.2")),
        ("haswell", "-mavx2", 8, 'd', is_x86_feature_detected!("avx2")),
        ("x86-64-v4", "-march=x86-64-v4", 16, 'e', is_x86_feature_detected!("avx512bw")),
    ]
}

fn cc(folder: &Folder, arguments: &[&str]) -> String {
    let arguments = ["-ffp-contract=off"].iter().chain(arguments);
    succeed(Command::new("gcc").current_dir(&folder.0).args(arguments).output().expect("gcc runs"))
}

fn run(folder: &Folder, program: &str) -> String {
    succeed(Command::new(folder.0.join(program)).output().expect("it runs"))
}

/// Makes the wide form of a function of `f.c`.
fn wide(folder: &Folder, name: &str, lanes: usize, params: &str, target: &str, more: &[&str]) {
    let (lanes, object) = (lanes.to_string(), format!("{name}.o"));
    let plain =
        ["vectorize", "f.c", "--func", name, "--lanes", &lanes, "--param", params, "--target", target];
    succeed(heddle(&folder.0, &[&plain[..], &["-o", &object], more].concat()));
}

/// Code of other compilers calls our wide forms by their names in the vector ABI, and they compute what the scalar
/// functions do.
#[test]
fn loops_of_another_compiler_call_wide_forms() {
    for (target, flag, lanes, letter, is_here) in machines() {
        if !is_here {
            not_run("heddle vectorize", &format!("{target} is not on this machine"));
            continue;
        }
        let folder = Folder::new(target);
        folder.write("f.c", FUNCTION);
        folder.write("caller.c", &CALLER.replace("LANES", &lanes.to_string()));
        let functions =
            [("power", "varying,varying"), ("sum", "uniform,uniform,varying"), ("deep", "varying,varying")];
        for (name, params) in functions {
            wide(&folder, name, lanes, params, target, &[]);
        }
        let one =
            ["-Dpower=one_power", "-Dsum=one_sum", "-Ddeep=one_deep", "-Dodd=one_odd", "-Dmark=one_mark"];
        cc(&folder, &[&["-O1"], &one[..], &["-c", "f.c", "-o", "scalar.o"]].concat());
        cc(&folder, &["-O1", "-c", "f.c", "-o", "rest.o"]);
        cc(&folder, &["-O2", "-fopenmp-simd", flag, "-c", "caller.c", "-o", "caller.o"]);
        cc(&folder, &["caller.o", "power.o", "sum.o", "deep.o", "scalar.o", "rest.o", "-o", "all"]);
        run(&folder, "all");
        // It did call them.
        let calls = cc(&folder, &["-O2", "-fopenmp-simd", flag, "-S", "caller.c", "-o", "-"]);
        for name in ["vv_power", "uuv_sum", "vv_deep"] {
            assert!(calls.contains(&format!("_ZGV{letter}N{lanes}{name}")), "{name}: {calls}");
        }
    }
}

/// Calls of masked forms, as a compiler would write them: lanes that are not there have arguments that do harm.
const MASKED_CALLER: &str = "\
#include <stdio.h>
typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int vi __attribute__((vector_size(4 * LANES)));
typedef double vd __attribute__((vector_size(4 * LANES)));
typedef long vl __attribute__((vector_size(4 * LANES)));
typedef short vs __attribute__((vector_size(2 * LANES)));
typedef struct { vd part[2]; } Two;
#ifdef BITS
#define MASK(a) unsigned a
#define HALVES(a, b) unsigned a, unsigned b
#define GIVE(m) m
#define GIVE_HALVES(m, h) m, m >> LANES / 2
#else
#define MASK(a) vi a
#define HALVES(a, b) vl a, vl b
#define GIVE(m) lanes
#define GIVE_HALVES(m, h) halves[0], halves[1]
#endif
vf _ZGVLETTERMLANESvv_power(vf, vi, MASK(m));
Two _ZGVLETTERMLANESvv_deep(vd, vd, vf, HALVES(a, b));
vi _ZGVLETTERMLANESv_odd(vs, MASK(m));
void _ZGVLETTERMLANESvv_mark(vl, vl, vi, HALVES(a, b));
float power(float x, int n);
double deep(double x, float y);
int odd(short x);
int main(void) {
  unsigned seed = 1;
  for (int round = 0; round < 50; round++) {
    vf x, z; vi n, lanes, o; vs s; Two d, e; vl halves[2], to[2];
    int marked[LANES];
    // Whatever lies above the lanes' bits does not count.
    unsigned bits = (seed = seed * 1664525 + 1013904223) >> 7;
    if (round == 0) bits = 0;
    for (int i = 0; i < LANES; i++) {
      int here = bits >> i & 1;
      x[i] = (i * 7 + round) % 37 * 0.11f; n[i] = (i * 5 + round) % 23; s[i] = i * 311 - round * 77;
      d.part[i / (LANES / 2)][i % (LANES / 2)] = round - i;
      lanes[i] = here ? -1 : 0;
      halves[i / (LANES / 2)][i % (LANES / 2)] = here ? -1 : 0;
      marked[i] = i;
      to[i / (LANES / 2)][i % (LANES / 2)] = here ? (long)&marked[i] : 0;
    }
    z = _ZGVLETTERMLANESvv_power(x, n, GIVE(bits));
    e = _ZGVLETTERMLANESvv_deep(d.part[0], d.part[1], x, GIVE_HALVES(bits, halves));
    o = _ZGVLETTERMLANESv_odd(s, GIVE(bits));
    _ZGVLETTERMLANESvv_mark(to[0], to[1], n, GIVE_HALVES(bits, halves));
    for (int i = 0; i < LANES; i++) {
      int here = bits >> i & 1;
      if (marked[i] != i + (here ? n[i] : 0)) return printf(\"mark %d %d\\n\", round, i), 1;
      if (!here) continue;
      double from = d.part[i / (LANES / 2)][i % (LANES / 2)], given = e.part[i / (LANES / 2)][i % (LANES / 2)];
      if (z[i] != power(x[i], n[i])) return printf(\"power %d %d\\n\", round, i), 1;
      if (given != deep(from, x[i])) return printf(\"deep %d %d\\n\", round, i), 1;
      if (o[i] != odd(s[i])) return printf(\"odd %d %d\\n\", round, i), 1;
    }
  }
  return 0;
}
";

/// One program calls the masked forms that gcc makes, and ours.
#[test]
fn masks_come_as_other_compilers_pass_them() {
    for (target, flag, lanes, letter, is_here) in machines() {
        if !is_here {
            not_run("heddle vectorize", &format!("{target} is not on this machine"));
            continue;
        }
        let folder = Folder::new(&format!("masked-{target}"));
        folder.write("f.c", FUNCTION);
        let simd = format!("#pragma omp declare simd inbranch simdlen({lanes})\n");
        let theirs = ["float power", "double deep", "int odd", "void mark"]
            .iter()
            .fold(FUNCTION.to_string(), |text, start| text.replace(start, &format!("{simd}{start}")));
        folder.write("theirs.c", &theirs);
        let caller =
            MASKED_CALLER.replace("LANES", &lanes.to_string()).replace("LETTER", &letter.to_string());
        folder.write("caller.c", &caller);
        let bits = if letter == 'e' { "-DBITS" } else { "-DLANES_OF_ONES" };
        cc(&folder, &["-O1", flag, bits, "-Wno-psabi", "-c", "caller.c", "-o", "caller.o"]);
        cc(&folder, &["-O2", "-fopenmp-simd", flag, "-c", "theirs.c", "-o", "theirs.o"]);
        cc(&folder, &["caller.o", "theirs.o", "-o", "with_theirs"]);
        run(&folder, "with_theirs");
        for (name, params) in [
            ("power", "varying,varying"),
            ("deep", "varying,varying"),
            ("odd", "varying"),
            ("mark", "varying,varying"),
        ] {
            wide(&folder, name, lanes, params, target, &["--mask"]);
        }
        cc(&folder, &["-O1", "-c", "f.c", "-o", "rest.o"]);
        cc(&folder, &["caller.o", "power.o", "deep.o", "odd.o", "mark.o", "rest.o", "-o", "with_ours"]);
        run(&folder, "with_ours");
    }
}

/// What gcc makes forms of, and what calls it.
const THEIRS: &str = "\
#pragma omp declare simd simdlen(LANES)
float theirs(float x, int n);
#pragma omp declare simd simdlen(LANES)
double deeper(double x, float y);
#pragma omp declare simd notinbranch simdlen(LANES) uniform(table) linear(i:1)
int looked_up(const int *table, int i, FLAG other);
#pragma omp declare simd simdlen(LANES)
void put(int *to, short what);
#ifdef DEFINE
float theirs(float x, int n) { while (n > 3 && x < 900) { x = x * 1.5f + n; n--; } return x; }
double deeper(double x, float y) { return x > y ? x * 2.5 : y - x; }
int looked_up(const int *table, int i, FLAG other) { return other ? -table[i] : table[i]; }
void put(int *to, short what) { *to = what; }
#endif
";
const OUTER: &str = "\
float outer(float x, int n, const int *table, int i, int *to) {
  float y = theirs(x, n);
  if (n & 1) {
    y += theirs(y, n + 2);
    if (x > 1) y += (float)deeper(y, x);
    put(to, n);
  }
  return y + (float)deeper(x, y) + looked_up(table, i, n & 2);
}
";

/// External functions with declared vector forms are called by those, under masks too.
#[test]
fn vector_forms_of_another_compiler_are_called() {
    for (target, flag, lanes, letter, is_here) in machines() {
        if !is_here {
            not_run("heddle vectorize", &format!("{target} is not on this machine"));
            continue;
        }
        let folder = Folder::new(&format!("theirs-{target}"));
        // Four bools fill no register.
        let bool = if lanes == 4 { "short" } else { "_Bool" };
        let theirs = THEIRS.replace("LANES", &lanes.to_string()).replace("FLAG", bool);
        folder.write("theirs.c", &theirs);
        folder.write("f.c", &format!("{theirs}{OUTER}"));
        wide(&folder, "outer", lanes, "varying,varying,uniform,linear:1,varying", target, &[]);
        let calls =
            succeed(Command::new("nm").current_dir(&folder.0).arg("outer.o").output().expect("nm runs"));
        let forms = ["Nvv_theirs", "Mvv_theirs", "Mvv_deeper", "Nvv_deeper", "Nulv_looked_up", "Mvv_put"];
        for form in forms {
            let form = format!("U _ZGV{letter}{}{lanes}{}", &form[..1], &form[1..]);
            assert!(calls.contains(&form), "{form}: {calls}");
        }
        for scalar in ["U theirs", "U deeper", "U looked_up", "U put"] {
            assert!(!calls.contains(scalar), "{calls}");
        }
        folder.write(
            "main.c",
            &format!(
                "#include <stdio.h>
                 typedef float vf __attribute__((vector_size(4 * {lanes})));
                 typedef int vi __attribute__((vector_size(4 * {lanes})));
                 typedef long vl __attribute__((vector_size(4 * {lanes})));
                 vf _ZGV{letter}N{lanes}vvulv_outer(vf, vi, const int *, int, vl, vl);
                 float outer(float x, int n, const int *table, int i, int *to);
                 int main(void) {{
                   int table[100];
                   for (int i = 0; i < 100; i++) table[i] = i * i;
                   for (int round = 0; round < 60; round++) {{
                     vf x; vi n; vl to[2]; int ours[{lanes}], expected[{lanes}];
                     for (int i = 0; i < {lanes}; i++) {{
                       x[i] = (round * 7 + i * 3) % 11 * 0.7f; n[i] = round == 0 ? 0 : (round * 5 + i * i) % 9 - 1;
                       ours[i] = expected[i] = -7; to[i / ({lanes} / 2)][i % ({lanes} / 2)] = (long)&ours[i];
                     }}
                     vf z = _ZGV{letter}N{lanes}vvulv_outer(x, n, table, round, to[0], to[1]);
                     for (int i = 0; i < {lanes}; i++) {{
                       float one = outer(x[i], n[i], table, round + i, &expected[i]);
                       if (z[i] != one || ours[i] != expected[i]) return printf(\"%d %d: %f %f\\n\", round, i, z[i], one), 1;
                     }}
                   }}
                   return 0;
                 }}"
            ),
        );
        cc(&folder, &["-O1", flag, "-Wno-psabi", "-c", "main.c", "-o", "main.o"]);
        cc(&folder, &["-O2", "-DDEFINE", "-fopenmp-simd", flag, "-c", "theirs.c", "-o", "theirs.o"]);
        cc(&folder, &["-O1", "-c", "f.c", "-o", "rest.o"]);
        cc(&folder, &["main.o", "theirs.o", "rest.o", "outer.o", "-o", "all"]);
        run(&folder, "all");
    }
}

/// The text of a function, without the numbers of what stands elsewhere.
fn function_text(module: &str, name: &str) -> String {
    let call = format!("@{name}(");
    let is_head = |line: &&str| line.starts_with("define") && line.contains(&call);
    let head = module.lines().find(is_head).unwrap_or_else(|| panic!("@{name}: {module}"));
    let start = module.find(head).expect("it is there");
    let text = &module[start..start + module[start..].find("\n}\n").expect("it ends")];
    let mut plain = String::new();
    let mut is_number = false;
    for c in text.chars() {
        if !(is_number && c.is_ascii_digit()) {
            plain.push(c);
            is_number = c == '#' || c == '!';
        }
    }
    plain
}

const SHARED: &str = "\
static int base = 5;
int steps;
static const int table[4] = {3, 1, 4, 1};
static __attribute__((noinline, section(\".text\"))) int plain(int x) { __asm__(\"\"); return x * 2 + base; }
void set(int to) { base = to; }
int shifted(int x) { return x + base + table[x & 3]; }
int counted(int x) { return x + steps + table[x & 3]; }
int twice(int x) { return plain(x); }
typedef int v4 __attribute__((vector_size(16)));
v4 _ZGVbN4v_shifted(v4);
v4 wide_shifted(v4 x) { return _ZGVbN4v_shifted(x); }
";

/// LLVM IR has all of the source as it was, and the wide form uses what the source has.
#[test]
fn what_is_not_vectorized_is_left_as_it_was() {
    let folder = Folder::new("left");
    folder.write("f.c", SHARED);
    let flags = [
        "-O1",
        "-g",
        "-fno-vectorize",
        "-fno-slp-vectorize",
        "-fno-math-errno",
        "-fno-exceptions",
        "-fno-pic",
    ];
    let mut clang = Command::new("clang-22");
    let clang = clang.current_dir(&folder.0).args(flags).args(["-S", "-emit-llvm", "f.c", "-o", "-"]);
    let source = succeed(clang.output().expect("clang runs"));
    for (name, output) in [("shifted", "out.ll"), ("twice", "out.bc")] {
        let all = ["vectorize", "f.c", "--func", name, "--lanes", "4", "--target", "x86-64-v2", "-o", output];
        succeed(heddle(&folder.0, &all));
        let mut dis = Command::new("llvm-dis-22");
        let text = match output {
            "out.ll" => std::fs::read_to_string(folder.0.join(output)).expect("it was written"),
            _ => {
                succeed(dis.current_dir(&folder.0).args([output, "-o", "-"]).output().expect("llvm-dis runs"))
            }
        };
        for function in ["plain", "set", "shifted", "counted", "twice", "wide_shifted"] {
            assert_eq!(function_text(&source, function), function_text(&text, function));
        }
        assert!(function_text(&text, &format!("_ZGVbN4v_{name}")).contains("ret <4 x i32>"), "{text}");
        // What the source calls the wide form may be.
        let other = if name == "shifted" { "" } else { "v4 _ZGVbN4v_shifted(v4 x) { return x; }" };
        folder.write(
            "main.c",
            &format!(
                "typedef int v4 __attribute__((vector_size(16)));
                 v4 _ZGVbN4v_{name}(v4), wide_shifted(v4); int {name}(int); void set(int);
                 {other}
                 int main(void) {{
                   v4 x = {{1, 2, 3, 40}}; set(7); v4 y = _ZGVbN4v_{name}(x);
                   for (int i = 0; i < 4; i++) if (y[i] != {name}(x[i]) || wide_shifted(x)[i] < x[i]) return 1;
                   return 0;
                 }}"
            ),
        );
        let mut clang = Command::new("clang-22");
        succeed(
            clang
                .current_dir(&folder.0)
                .args(["-O1", "main.c", output, "-o", "all"])
                .output()
                .expect("clang runs"),
        );
        run(&folder, "all");
    }
    // The same once more would be there twice.
    succeed(heddle(
        &folder.0,
        &["vectorize", "f.c", "--func", "counted", "--lanes", "4", "--target", "x86-64-v2", "-o", "once.ll"],
    ));
    let again = [
        "vectorize",
        "once.ll",
        "--func",
        "counted",
        "--lanes",
        "4",
        "--target",
        "x86-64-v2",
        "-o",
        "twice.ll",
    ];
    says(&folder, &again, 1, "@_ZGVbN4v_counted: the module defines it already");
    // An object is linked with that of the source, so it can only use what that shows.
    let object = ["--lanes", "4", "--target", "x86-64-v2", "-o", "wide.o"];
    let vectorize = |name| [&["vectorize", "f.c", "--func", name], &object[..]].concat();
    says(
        &folder,
        &vectorize("shifted"),
        1,
        "@base: an object file of its own cannot access this static variable",
    );
    says(
        &folder,
        &vectorize("twice"),
        1,
        "@base: an object file of its own cannot access this static variable",
    );
    succeed(heddle(&folder.0, &vectorize("counted")));
    folder.write(
        "main.c",
        "typedef int v4 __attribute__((vector_size(16)));
         v4 _ZGVbN4v_counted(v4); int counted(int); extern int steps;
         v4 _ZGVbN4v_shifted(v4 x) { return x; }
         int main(void) {
           v4 x = {1, 2, 3, 40}; steps = 9; v4 y = _ZGVbN4v_counted(x);
           for (int i = 0; i < 4; i++) if (y[i] != counted(x[i]) || counted(1) != 11) return 1;
           return 0;
         }",
    );
    cc(&folder, &["-O1", "main.c", "f.c", "wide.o", "-o", "all"]);
    run(&folder, "all");
}

/// A program by its name, if the machine has it.
fn tool(folder: &Folder, name: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(name).current_dir(&folder.0).args(arguments).output() {
        Ok(output) => Some(succeed(output)),
        Err(_) => {
            not_run("heddle vectorize", &format!("{name} is not on this machine"));
            None
        }
    }
}

/// Debuggers and profilers find the lines of the source in vector code.
#[test]
fn vector_code_has_the_lines_of_its_source() {
    let folder = Folder::new("lines");
    folder.write("f.c", FUNCTION);
    wide(&folder, "power", 4, "varying,varying", "x86-64-v2", &[]);
    let power = ["vectorize", "f.c", "--func", "power", "--lanes", "4", "--target", "x86-64-v2"];
    let text = succeed(heddle(&folder.0, &[&power[..], &["-o", "/dev/stdout"]].concat()));
    assert!(text.contains(".loc"), "{text}");
    succeed(heddle(&folder.0, &[&power[..], &["-o", "out.ll"]].concat()));
    let text = std::fs::read_to_string(folder.0.join("out.ll")).expect("it was written");
    let is_ours = |line: &&str| line.contains("DISubprogram(name: \"_ZGVbN4vv_power\"");
    assert!(text.lines().find(is_ours).is_some_and(|line| line.contains("line: 3")), "{text}");
    if let Some(table) = tool(&folder, "llvm-dwarfdump-22", &["--debug-line", "power.o"]) {
        assert!(table.contains("name: \"f.c\""), "{table}");
        let rows = table.lines().filter(|line| line.starts_with("0x"));
        let lines: Vec<&str> = rows.filter_map(|row| row.split_whitespace().nth(1)).collect();
        for line in ["3", "4", "5", "6"] {
            assert!(lines.contains(&line), "line {line}: {table}");
        }
        assert!(!lines.contains(&"12"), "that is another function: {table}");
    }
    tool(&folder, "llvm-dwarfdump-22", &["--verify", "power.o"]);
    folder.write(
        "main.c",
        "typedef float vf __attribute__((vector_size(16))); typedef int vi __attribute__((vector_size(16)));
         vf _ZGVbN4vv_power(vf, vi);
         int main(void) { vf x = {1, 2, 3, 4}; vi n = {3, 2, 1, 0}; return _ZGVbN4vv_power(x, n)[0] != 1; }",
    );
    cc(&folder, &["-O1", "main.c", "power.o", "-o", "all"]);
    run(&folder, "all");
    let stop = ["-nx", "-batch", "-ex", "break f.c:4", "-ex", "run", "-ex", "bt", "all"];
    if let Some(printed) = tool(&folder, "gdb", &stop) {
        assert!(
            printed.contains("if (n & 1) y *= x;") && printed.contains("_ZGVbN4vv_power () at f.c"),
            "{printed}"
        );
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

/// Access facts of the source hold for the accesses of all lanes; an access for several fields touches all of them.
#[test]
fn vector_accesses_have_the_types_of_their_source() {
    let folder = Folder::new("types");
    folder.write(
        "f.c",
        "struct pair { float x, y; };\n\
         void one(const struct pair *p, float *out, long i) { out[i] = p[i].x; }\n\
         void both(const struct pair *p, float *out, long i) { out[i] = p[i].x + p[i].y; }\n",
    );
    for (name, of_loads) in [("one", true), ("both", false)] {
        let form = format!("_ZGVdN8uul_{name}");
        let requested = ["vectorize", "f.c", "--func", name, "--lanes", "8", "--target", "haswell"];
        let params = ["--param", "uniform,uniform,linear:1", "-o", "out.ll"];
        succeed(heddle(&folder.0, &[&requested[..], &params].concat()));
        let text = std::fs::read_to_string(folder.0.join("out.ll")).expect("it was written");
        let form = function_text(&text, &form);
        for (access, is_expected) in [("= load <8 x", of_loads), ("store <8 x float>", true)] {
            let mut lines = form.lines().filter(|line| line.contains(access)).peekable();
            assert!(lines.peek().is_some(), "no {access} in {form}");
            assert!(lines.all(|line| line.contains("!tbaa") == is_expected), "{access} in {form}");
        }
    }
}

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
            not_run("heddle vectorize", &format!("{target} is not on this machine"));
            continue;
        }
        let folder = Folder::new(&format!("fields-{target}-{lanes}"));
        folder.write("f.c", FIELDS);
        folder.write("driver.c", DRIVER);
        let mut link = vec!["driver.c".to_string(), "f.c".into()];
        let mut printed = String::new();
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
                    "--param",
                    "linear:1,uniform,uniform,uniform",
                    "--target",
                    target,
                    "--report",
                    "-o",
                    &object,
                ],
            );
            printed += &String::from_utf8_lossy(&output.stderr);
            succeed(output);
            link.push(object);
        }
        assert!(printed.contains("in whole vectors by 16 bytes; cost"), "{printed}");
        assert!(printed.contains("contiguous where"), "{printed}");
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

/// Heddle's own functions are in the object, which then asks for none of the C library; two such objects go together.
#[test]
fn mathematical_functions_come_along() {
    let folder = Folder::new("math");
    for name in ["f", "g"] {
        let source =
            format!("#include <math.h>\nfloat {name}(float x) {{ return x > 0 ? sinf(x) : expf(x); }}\n");
        folder.write(&format!("{name}.c"), &source);
        let object = format!("{name}.o");
        succeed(heddle(
            &folder.0,
            &["vectorize", &format!("{name}.c"), "--func", name, "--target", "x86-64-v3", "-o", &object],
        ));
    }
    let link = ["-shared", "f.o", "g.o", "-o", "both.so", "-nostdlib", "-Wl,--no-undefined"];
    succeed(Command::new("cc").current_dir(&folder.0).args(link).output().expect("cc runs"));
    let report = |math: &str| {
        let output =
            heddle(&folder.0, &["vectorize", "f.c", "--func", "f", "--math", math, "--report", "-o", "f.s"]);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(!report("exact").contains("[lane-by-lane]") && !report("fast").contains("[lane-by-lane]"));
    assert!(report("libm").contains("call of @sinf runs one lane at a time"));
}

#[test]
fn wrong_options_are_errors() {
    let folder = Folder::new("wrong");
    folder.write("f.c", FUNCTION);
    says(&folder, &["vectorize", "f.c", "--func", "pow"], 1, "no function @pow");
    let host = "func @lanes(v0: i32 linear(1)) -> i32 {\nblock0:\n  ret v0\n}\n\
                func @host() {\nblock0:\n  v0 = launch 4 @lanes(0)\n  ret\n}\n";
    folder.write("host.hed", host);
    let one_thread = "@host: one thread runs this function; lanes run @lanes, which it launches";
    says(&folder, &["vectorize", "host.hed", "--func", "host"], 1, one_thread);
    says(
        &folder,
        &["vectorize", "f.c", "--func", "power", "--param", "varying"],
        1,
        "1 shapes for 2 parameters",
    );
    says(&folder, &["vectorize", "f.c", "--func", "power", "--param", "same,varying"], 2, "write `uniform`");
    says(&folder, &["vectorize", "f.c", "--func", "power", "--lanes", "0"], 1, "not a brush");
    says(&folder, &["vectorize", "f.c", "--func", "power", "--lanes", "513"], 1, "not a brush");
    says(&folder, &["vectorize", "f.c", "--func", "power", "--math", "good"], 2, "write `exact`");
    says(&folder, &["vectorize", "g.c", "--func", "power"], 2, "g.c");
    let power = ["vectorize", "f.c", "--func", "power", "-o", "o.o", "--target", "haswell"];
    says(
        &folder,
        &[&power[..], &["--lanes", "6"]].concat(),
        1,
        "the x86 vector ABI has no signature for 6 lanes",
    );
    says(&folder, &[&power[..], &["--param", "linear:ref:4,varying"]].concat(), 2, "no `linear` references");
    let odd = ["vectorize", "f.c", "--func", "odd", "-o", "o.o", "--lanes", "2"];
    says(&folder, &odd, 1, "i16 values fill no 64-bit register; use 4 lanes");
}

/// Machines have names of instruction sets, too; an unknown name is an error before LLVM sees it.
#[test]
fn machines_have_names() {
    let folder = Folder::new("machines");
    folder.write("f.c", "int odd(short x) { return x & 1 ? x * 3 : -x; }\n");
    let vectorize = |more: &[&str]| -> Vec<String> {
        let all = ["vectorize", "f.c", "--func", "odd", "--lanes", "8", "--target"].iter().chain(more);
        all.map(ToString::to_string).collect()
    };
    let words = |all: &[String]| all.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    for (set, letter) in [("sse4.2", 'b'), ("avx2", 'd'), ("avx512", 'e')] {
        let all = vectorize(&[set]);
        let assembly = succeed(heddle(&folder.0, &all.iter().map(String::as_str).collect::<Vec<_>>()));
        assert!(assembly.contains(&format!("_ZGV{letter}N8v_odd:")), "{}", words(&all));
    }
    says(&folder, &["vectorize", "f.c", "--func", "odd", "--target", "znver"], 2, "such as `znver4`");
    says(&folder, &["vectorize", "f.c", "--func", "odd", "--target", "i386"], 2, "unknown CPU `i386`");
    // Another architecture: no form of the vector ABI, but code.
    let [all, ir] = [vectorize(&["neon", "-o", "odd.o"]), vectorize(&["neon", "-o", "odd.ll"])];
    for all in [all, ir] {
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        says(&folder, &all, 0, "vector ABI on a CPU other than x86");
    }
    let object = std::fs::read(folder.0.join("odd.o")).expect("it was written");
    const AARCH64: [u8; 2] = [183, 0];
    assert_eq!(object[18..20], AARCH64);
    // What is LLVM IR for one machine already is not code for another.
    says(
        &folder,
        &["vectorize", "odd.ll", "--func", "odd", "--target", "avx2"],
        1,
        "LLVM IR for another machine, aarch64",
    );
}

/// Several brushes next to each other are one function for all their lanes; the report has the choice with its figures.
#[test]
fn brushes_side_by_side_are_one_form() {
    let folder = Folder::new("brushes");
    folder.write("f.c", FUNCTION);
    let plain = ["vectorize", "f.c", "--func", "power", "--lanes", "4", "--param", "varying,varying"];
    let with = |brushes: &'static str| {
        [&plain[..], &["--target", "x86-64-v2", "-o", "f.ll", "--report", "--brushes", brushes]].concat()
    };
    succeed(heddle(&folder.0, &with("2")));
    let text = std::fs::read_to_string(folder.0.join("f.ll")).expect("it is written");
    assert!(text.contains("@_ZGVbN8vv_power("), "{text}");
    let output = heddle(&folder.0, &with("auto"));
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    succeed(output);
    assert!(printed.contains("occupies the machine for"), "{printed}");
    says(&folder, &with("0"), 2, "write the number of brushes next to each other, as in `2`, or `auto`");
}
