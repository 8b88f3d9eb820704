//! `heddle exec --native`, and C programs whose lanes ask each other, as a user meets them.
#![cfg(target_arch = "x86_64")]

mod common;

use common::{Folder, heddle, says, succeed};
use std::path::Path;
use std::process::Command;

fn tests() -> String {
    format!("{}/../../tests", env!("CARGO_MANIFEST_DIR"))
}

/// Arguments of every kind are accepted, and results are printed as the interpreter prints them.
#[test]
fn native_runs_say_what_the_oracle_says() {
    let folder = Folder::new("native-exec");
    folder.write(
        "f.c",
        "#include <stdint.h>
         typedef struct { int32_t *to; float by; } Pair;
         int32_t *scale(const int32_t *from, int32_t *to, int32_t n, float by) {
           for (int32_t i = 0; i < n; i++) to[i] = (int32_t)((float)from[i] * by);
           return to + n;
         }
         int64_t through(Pair *pair, int64_t *const *table) { return *pair->to + *table[1]; }",
    );
    let numbers = "from: i32 [3, -5, 7, 0x7f, 11, 13, 17, 19]";
    let runs: [&[&str]; 4] = [
        &[
            "--func",
            "scale",
            "--mem",
            numbers,
            "--mem",
            "to: i32 zero 16",
            "--arg",
            "&from",
            "--arg",
            "linear(&to, 16)",
            "--arg",
            "[0, 1, 4, 3]",
            "--arg",
            "1.5",
        ],
        &[
            "--func",
            "scale",
            "--mem",
            numbers,
            "--mem",
            "to: i32 zero 16",
            "--arg",
            "linear(&from, 4)",
            "--arg",
            "[&to, &to+16, &to+32, &to+48]",
            "--arg",
            "4",
            "--arg",
            "[0.5, -2.0, 1.25, 3.0]",
        ],
        &[
            "--func",
            "scale",
            "--lanes",
            "1",
            "--mem",
            numbers,
            "--mem",
            "to: i32 zero 16",
            "--arg",
            "&from",
            "--arg",
            "&to",
            "--arg",
            "8",
            "--arg",
            "-1.0",
        ],
        &[
            "--func",
            "through",
            "--lanes",
            "8",
            "--mem",
            "a: i64 [5, 7]",
            "--mem",
            "p: ptr [&a+8, null]",
            "--mem",
            "t: i64 [1, &a]",
            "--arg",
            "&p",
            "--arg",
            "&t",
        ],
    ];
    for run in runs {
        let all = [&["exec", "f.c"], run].concat();
        let oracle = succeed(heddle(&folder.0, &all));
        let native = succeed(heddle(&folder.0, &[&all[..], &["--native"]].concat()));
        assert_eq!(oracle, native, "{run:?}");
        assert!(oracle.contains("result 0"), "{oracle}");
    }
    // What is vector code already runs as it is.
    succeed(heddle(
        &folder.0,
        &[
            "vectorize",
            "f.c",
            "--func",
            "scale",
            "--lanes",
            "4",
            "--param",
            "uniform,varying,uniform,varying",
            "-o",
            "wide.hed",
        ],
    ));
    let run = [
        "exec",
        "wide.hed",
        "--stage",
        "wide",
        "--func",
        "scale",
        "--mem",
        numbers,
        "--mem",
        "to: i32 zero 16",
        "--arg",
        "&from",
        "--arg",
        "[&to, &to+16, &to+32, &to+48]",
        "--arg",
        "4",
        "--arg",
        "[0.5, -2.0, 1.25, 3.0]",
    ];
    let oracle = succeed(heddle(&folder.0, &run));
    assert_eq!(oracle, succeed(heddle(&folder.0, &[&run[..], &["--native"]].concat())));
}

#[test]
fn what_goes_wrong_natively_is_named() {
    let folder = Folder::new("native-wrong");
    folder.write(
        "f.c",
        "int read(const int *from, long at) { return from[at]; }
         int divide(int a, int b) { return a / b; }
         void stop(int n) { if (n > 2) __builtin_trap(); }",
    );
    folder.write("spin.hed", "func @spin(v0: i32) -> i32 {\nblock0:\n  br block1\nblock1:\n  br block1\n}\n");
    folder.write("k.hed", "kernel @k(v0: ptr(global)) {\nblock0:\n  ret\n}\n");
    says(&folder, &["exec", "spin.hed", "--arg", "1", "--native", "--timeout", "0.2"], 1, "exceeded 0.2 s");
    let read =
        ["exec", "f.c", "--func", "read", "--mem", "a: i32 zero 4", "--arg", "&a", "--native", "--arg"];
    says(&folder, &[&read[..], &["1000000000"]].concat(), 1, "signal 11: access to unmapped memory");
    says(&folder, &[&read[..], &["[1, 2]"]].concat(), 2, "argument 1 of @read has 2 values for 4 lanes");
    says(&folder, &[&read[..], &["1", "--trace", "text"]].concat(), 2, "cannot be used with");
    says(&folder, &["exec", "f.c", "--func", "read", "--timeout", "3"], 2, "--native");
    says(&folder, &["exec", "f.c", "--func", "none", "--native"], 2, "no function @none");
    let divide = ["exec", "f.c", "--func", "divide", "--native", "--arg", "7", "--arg", "0"];
    says(&folder, &divide, 1, "signal 8: division by zero");
    says(&folder, &["exec", "f.c", "--func", "stop", "--native", "--arg", "[1, 2, 3, 4]"], 1, ": trap");
    says(&folder, &["exec", "k.hed", "--native", "--arg", "null"], 1, "no native run of kernels");
}

/// The same program, by other compilers for one lane, and by Heddle.
#[test]
fn without_heddle_there_is_one_lane() {
    let folder = Folder::new("one-lane");
    let include = succeed(heddle(&folder.0, &["--print-include-dir"]));
    let source = format!("{}/c/lanes/horizontals.c", tests());
    let names = ["find", "compact", "parted", "moved", "words", "long_words", "floats"];
    let inputs =
        [("7", "3"), ("2", "0xfffffffffffffff5"), ("0xdeadbeefcafebabe", "21"), ("12", "0x123456789abcdef0")];
    let calls = names.map(|name| {
        let call = |(a, b)| format!("  reset(); printf(\"%lld\\n\", (long long){name}({a}u, {b}u, mem));\n");
        inputs.map(call).concat()
    });
    folder.write(
        "main.c",
        &format!(
            "#include <stdio.h>\n#include \"{source}\"\nstatic int32_t mem[2 * COUNT];\n\
             static void reset(void) {{ for (int i = 0; i < 2 * COUNT; i++) mem[i] = i < COUNT ? i * 7 % 31 : 0; }}\n\
             int main(void) {{\n{}  return 0;\n}}\n",
            calls.concat()
        ),
    );
    let mem: Vec<String> = (0..128).map(|i| if i < 64 { i * 7 % 31 } else { 0 }.to_string()).collect();
    let mem = format!("mem: i32 [{}]", mem.join(", "));
    let mut expected = String::new();
    for name in names {
        for (a, b) in inputs {
            let arguments = [
                "exec", &source, "--func", name, "--lanes", "1", "--mem", &mem, "--arg", a, "--arg", b,
                "--arg", "&mem",
            ];
            let printed = succeed(heddle(&folder.0, &arguments));
            let result = printed.lines().next().and_then(|line| line.strip_prefix("result 0: "));
            expected.push_str(&format!("{}\n", result.unwrap_or_else(|| panic!("{printed}"))));
        }
    }
    for (compiler, language) in [("gcc", "c"), ("clang-22", "c"), ("gcc", "c++"), ("clang-22", "c++")] {
        let mut command = Command::new(compiler);
        command.current_dir(&folder.0).args([
            "-x",
            language,
            "-O1",
            "-ffp-contract=off",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]);
        let built = command.args(["-I", include.trim(), "main.c", "-o", "all"]).output();
        match built {
            Ok(built) => succeed(built),
            Err(_) => {
                heddle_testing::not_run::not_run("heddle.h", &format!("{compiler} is not on this machine"));
                continue;
            }
        };
        let output = Command::new(folder.0.join("all")).output().expect("it runs");
        assert_eq!(succeed(output), expected, "{compiler} for {language}");
    }
    assert!(Path::new(include.trim()).join("heddle.h").exists());
}

#[test]
fn wrong_lane_arguments_are_errors() {
    let folder = Folder::new("wrong-arguments");
    let wrong = |name: &str, text: &str, printed: &str| {
        folder.write(name, text);
        says(&folder, &["opt", name], 1, printed);
    };
    let header = "#include <heddle.h>\n";
    wrong("a.c", &format!("{header}short f(short x) {{ return heddle_shuffle(x, 0); }}"), "'short'");
    wrong("b.c", &format!("{header}float f(float x) {{ return heddle_reduce_and(x); }}"), "'float'");
    wrong(
        "c.c",
        &format!("{header}struct S {{ int x; }} s; int f(void) {{ return heddle_first(s).x; }}"),
        "'struct S'",
    );
    wrong("d.cpp", &format!("{header}int *f(int *x) {{ return heddle_first(x); }}"), "no matching function");
    wrong(
        "e.c",
        "float heddle_any(float); float f(float x) { return heddle_any(x); }",
        "@heddle_any has type (f32) -> (f32); in <heddle.h> it has type (i1) -> (i1)",
    );
    wrong(
        "g.ll",
        "declare i1 @heddle_any(i1)\ndefine i1 @f(i1 %x) {\n  %y = call i1 @heddle_any(i1 %x)\n  ret i1 %y\n}\n",
        "@heddle_any is not `convergent`",
    );
    wrong("f.c", "int heddle_sum(int); int f(int x) { return heddle_sum(x); }", "has no @heddle_sum");
}

#[test]
fn native_code_is_kept_unless_it_is_not_to_be() {
    let folder = Folder::new("kept");
    folder.write("f.c", "int f(int x) { return x * 3; }");
    let run = ["exec", "f.c", "--func", "f", "--arg", "[1, 2, 3, 4]", "--native"];
    let kept = || std::fs::read_dir(folder.0.join("cache/objects")).map_or(0, Iterator::count);
    let first = succeed(heddle(&folder.0, &[&run[..], &["--no-cache"]].concat()));
    assert_eq!(kept(), 0);
    for _ in 0..2 {
        assert_eq!(succeed(heddle(&folder.0, &run)), first);
        assert_eq!(kept(), 1);
    }
    succeed(heddle(&folder.0, &[&run[..], &["--lanes", "4", "--fused"]].concat()));
    assert_eq!(kept(), 1, "rounding does not matter here");
    folder.write("f.c", "int f(int x) { return x * 4; }");
    assert_eq!(succeed(heddle(&folder.0, &run)), "result 0: [4, 8, 12, 16]\n");
    assert_eq!(kept(), 2);
}
