//! Programs with marked loops, `tests/loops/*.c` and `*.cpp`: with the plugin they print what they print without it, and remarks are
//! those of `NAME.remarks` next to them (`HEDDLE_BLESS=1` rewrites them).
#![forbid(unsafe_code)]

mod common;

use common::{Scratch, plugin, run, sources};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Linker arguments of test programs.
const LIBRARIES: [&str; 2] = ["-lm", "-lstdc++"];

fn programs() -> Vec<PathBuf> {
    let entries = fs::read_dir(sources()).expect("tests/loops can be listed");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "cpp"));
    found.sort();
    found
}

fn clang(options: &[&str]) -> Command {
    let mut command = Command::new("clang-22");
    command.args(["-w", "-ffp-contract=off"]).args(options);
    command
}

fn with_plugin(options: &[&str]) -> Command {
    let mut command = clang(options);
    command.arg("-fopenmp-simd").arg(format!("-fpass-plugin={}", plugin().display()));
    command
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a program has a name").to_string_lossy().into_owned()
}

/// The instruction sets that this machine has, each with a level of optimization.
fn settings() -> Vec<[&'static str; 2]> {
    #[cfg(target_arch = "x86_64")]
    {
        let mut found = vec![["-O1", "-march=x86-64"]];
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            found.push(["-O2", "-march=x86-64-v3"]);
        }
        if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512vl") {
            found.push(["-O3", "-march=x86-64-v4"]);
        }
        found
    }
    #[cfg(not(target_arch = "x86_64"))]
    vec![["-O1", "-g"], ["-O2", "-g"]]
}

#[test]
fn marked_loops_compute_what_they_did() {
    for path in programs() {
        let scratch = Scratch::new(&stem(&path));
        let program = scratch.0.join("plain");
        run(clang(&["-O1"]).arg(&path).arg("-o").arg(&program).args(LIBRARIES));
        let expected = run(&mut Command::new(&program)).stdout;
        for options in settings() {
            let program = scratch.0.join("vector");
            run(with_plugin(&options).arg(&path).arg("-o").arg(&program).args(LIBRARIES));
            let found = run(&mut Command::new(&program)).stdout;
            let first = expected.iter().zip(&found).position(|(a, b)| a != b);
            assert!(
                found == expected,
                "{} {options:?}: the outputs differ at byte {first:?}",
                path.display()
            );
        }
    }
}

/// Options choose other code, not other results.
#[test]
fn what_is_forced_computes_the_same() {
    let forced = [
        "W=4,guards=force,versions=force",
        "W=16,guards=needed,versions=none",
        "interleave=2,fuse=yes,target=znver4",
        "brush=2x4",
        "brush=4x16",
        "brush=4x8,projection=01",
        "brush=auto",
    ];
    let options = settings().pop().expect("a machine has an instruction set");
    for path in programs() {
        let scratch = Scratch::new(&format!("{}-forced", stem(&path)));
        let program = scratch.0.join("plain");
        run(clang(&["-O1"]).arg(&path).arg("-o").arg(&program).args(LIBRARIES));
        let expected = run(&mut Command::new(&program)).stdout;
        for words in forced {
            let program = scratch.0.join("vector");
            let printed = format!("-heddle-loops={words}");
            run(with_plugin(&options)
                .args(["-mllvm", &printed])
                .arg(&path)
                .arg("-o")
                .arg(&program)
                .args(LIBRARIES));
            assert!(run(&mut Command::new(&program)).stdout == expected, "{}: {words}", path.display());
        }
    }
}

/// Returns the remarks on a program's loops by line.
fn remarks(path: &Path) -> String {
    let output = run(with_plugin(&["-O2", "-march=x86-64-v3", "--target=x86_64-unknown-linux-gnu"])
        .args(["-Rpass=heddle", "-Rpass-missed=heddle", "-S", "-o", "/dev/null"])
        .arg(path));
    let printed = String::from_utf8_lossy(&output.stderr);
    let mut lines: Vec<(u32, &str)> = Vec::new();
    for line in printed.lines() {
        let Some((place, remark)) = line.split_once(": remark: ") else { continue };
        let number = place.rsplit(':').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
        let text = remark.split(" [-Rpass").next().unwrap_or(remark);
        lines.push((number, text));
    }
    lines.sort();
    lines.iter().map(|(number, text)| format!("{number}: {text}\n")).collect()
}

#[test]
fn remarks_say_what_became_of_each_loop() {
    let mut wrong = Vec::new();
    for path in programs() {
        let golden = path.with_extension("remarks");
        let found = remarks(&path);
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            if std::env::var_os("HEDDLE_BLESS").is_some() {
                fs::write(&golden, found).expect("a golden can be written");
            } else {
                wrong.push(format!("{}:\n{found}", golden.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "remarks differ (HEDDLE_BLESS=1 rewrites them):\n{}", wrong.join("\n"));
}

#[test]
fn what_is_not_marked_stays_to_the_byte() {
    let path = sources().join("unmarked.c");
    let text = |mut command: Command| {
        let options =
            ["-O3", "-march=x86-64-v3", "--target=x86_64-unknown-linux-gnu", "-S", "-emit-llvm", "-o", "-"];
        run(command.args(options).arg(&path)).stdout
    };
    let plain = text(clang(&["-fopenmp-simd"]));
    assert!(!plain.is_empty());
    assert!(text(with_plugin(&[])) == plain, "the plugin changed a module without marked loops");
}

#[test]
fn records_have_the_remarks() {
    let scratch = Scratch::new("record");
    let record = scratch.0.join("record.yaml");
    run(with_plugin(&["-O2", "-fsave-optimization-record", "-c", "-o", "/dev/null"])
        .arg(format!("-foptimization-record-file={}", record.display()))
        .arg(sources().join("dependences.c")));
    let text = fs::read_to_string(&record).expect("clang wrote a record");
    let of_heddle = |kind: &str| {
        let is_ours = |entry: &&str| entry.starts_with(kind) && entry.contains("heddle\n");
        text.split("--- !").filter(is_ours).count()
    };
    let remarks = fs::read_to_string(sources().join("dependences.remarks")).expect("it can be read");
    assert_eq!(of_heddle("Passed"), remarks.matches("loop vectorized: ").count());
    assert_eq!(of_heddle("Missed"), remarks.matches("loop not vectorized: ").count());
}

/// A loop that became vector code is not warned of; LLVM's own vectorizers leave it alone.
#[test]
fn vectorized_loops_are_not_warned_of() {
    let scratch = Scratch::new("warnings");
    let path = scratch.0.join("loop.c");
    let text = "void f(int *o, const int *a, int n) {\n#pragma omp simd\n  for (int i = 0; i < n; i++) {\n    int s = 0;\n\
                for (int k = a[i]; k; k &= k - 1) s++;\n    o[i] = s;\n  }\n}\n";
    fs::write(&path, text).expect("it can be written");
    let warned = |mut command: Command| {
        let output = run(command.args(["-O2", "-c", "-o", "/dev/null"]).arg(&path));
        String::from_utf8_lossy(&output.stderr).contains("loop not vectorized")
    };
    let mut plain = Command::new("clang-22");
    plain.arg("-fopenmp-simd");
    let mut plugged = Command::new("clang-22");
    plugged.arg("-fopenmp-simd").arg(format!("-fpass-plugin={}", plugin().display()));
    assert!(warned(plain), "clang vectorizes this itself, so the test tells nothing");
    assert!(!warned(plugged));
}

/// `opt` runs the pass by name, and LLVM's verifier takes what comes out.
#[test]
fn opt_runs_the_pass_by_name() {
    let Ok(_) = Command::new("opt-22").arg("--version").output() else { return };
    let scratch = Scratch::new("opt");
    let bitcode = scratch.0.join("clauses.bc");
    let options = [
        "-fopenmp-simd",
        "-O1",
        "-g",
        "-fno-vectorize",
        "-Xclang",
        "-disable-llvm-passes",
        "-emit-llvm",
        "-c",
    ];
    run(clang(&options).arg(sources().join("clauses.c")).arg("-o").arg(&bitcode));
    let passes = "function(sroa,instcombine,simplifycfg,loop(loop-rotate,indvars)),heddle,verify";
    let output = run(Command::new("opt-22")
        .arg(format!("-load-pass-plugin={}", plugin().display()))
        .arg(format!("-passes={passes}"))
        .args(["-S", "-o", "-"])
        .arg(&bitcode));
    assert!(String::from_utf8_lossy(&output.stdout).contains("llvm.loop.isvectorized"));
}

/// Each clause that is taken, and each form of control flow, is in some program that was compared above.
#[test]
fn programs_use_every_clause() {
    let texts: Vec<String> =
        programs().iter().map(|path| fs::read_to_string(path).expect("a program can be read")).collect();
    let pragmas: Vec<&str> = (texts.iter().flat_map(|text| text.lines()))
        .filter(|line| line.contains("omp ") || line.contains("clang loop"))
        .collect();
    let clauses = [
        "simdlen(",
        "safelen(",
        "linear(",
        "reduction(+ :",
        "reduction(* :",
        "reduction(min :",
        "reduction(max :",
        "reduction(& :",
        "reduction(| :",
        "reduction(^ :",
        "reduction(&& :",
        "reduction(|| :",
        " private(",
        "lastprivate(",
        "collapse(",
        " if (",
        "aligned(",
        "vectorize(assume_safety)",
        "vectorize(enable)",
        "omp declare simd",
    ];
    let missing: Vec<&str> = (clauses.into_iter())
        .filter(|clause| !pragmas.iter().any(|pragma| pragma.contains(clause)))
        .collect();
    assert!(missing.is_empty(), "no program in tests/loops has {missing:?}");
}

/// Stencil whose nest has rows of this many columns.
fn stencil(columns: &str) -> String {
    format!(
        "#define INDEPENDENT _Pragma(\"clang loop vectorize(assume_safety)\")\n\
         void f(double *restrict out, const double *restrict in, long rows, long columns) {{\n\
         INDEPENDENT\n\
         for (long j = 1; j < rows - 1; j++)\n\
         INDEPENDENT\n\
         for (long i = 1; i < {columns} - 1; i++)\n\
         out[j * columns + i] = in[(j - 1) * columns + i] + in[j * columns + i] + in[(j + 1) * columns + i];\n\
         }}\n"
    )
}

/// Code for brushes of several rows fetches the lines that it writes next, and code for one row leaves that to the hardware.
#[cfg(target_arch = "x86_64")]
#[test]
fn nests_fetch_the_rows_that_they_write_next() {
    let scratch = Scratch::new("ahead");
    let path = scratch.0.join("stencil.c");
    let prefetches = |columns: &str, brush: &str| {
        fs::write(&path, stencil(columns)).expect("it can be written");
        let options = ["-O3", "-march=x86-64-v3", "-S", "-emit-llvm", "-o", "-"];
        let output =
            run(with_plugin(&options).arg("-mllvm").arg(format!("-heddle-loops=brush={brush}")).arg(&path));
        String::from_utf8_lossy(&output.stdout).matches("call void @llvm.prefetch").count()
    };
    assert_eq!(prefetches("columns", "4x8"), 4);
    assert_eq!(prefetches("columns", "2x16"), 4, "two lines of each row");
    assert_eq!(prefetches("columns", "none"), 0, "rows one after the other");
    assert_eq!(prefetches("20", "4x8"), 0, "rows that end before");
}

/// Brushes of several rows leave rows that evict one another to code for one row; who fixes the brush decides alone.
#[cfg(target_arch = "x86_64")]
#[test]
fn rows_that_evict_one_another_run_alone() {
    let scratch = Scratch::new("evictions");
    let path = scratch.0.join("stencil.c");
    fs::write(&path, stencil("columns")).expect("it can be written");
    let conditions = |words: &str| {
        let options = ["-O1", "-march=x86-64-v3", "-S", "-emit-llvm", "-o", "-", "-Rpass-analysis=heddle"];
        let output =
            run(with_plugin(&options).arg("-mllvm").arg(format!("-heddle-loops={words}")).arg(&path));
        let remarks = String::from_utf8_lossy(&output.stderr).into_owned();
        let counted = "one row at a time where rows are apart by multiples of 4096 bytes: 10 rows of memory";
        let asks = String::from_utf8_lossy(&output.stdout).contains("and i64 %3, 511");
        (asks, remarks.contains(counted))
    };
    assert_eq!(conditions("brush=auto"), (true, true));
    assert_eq!(conditions("brush=4x16"), (false, false));
}
