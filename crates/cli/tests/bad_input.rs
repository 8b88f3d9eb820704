//! Bad input gets a diagnostic from the command, in bounded time and memory: exit code 1 if the program is wrong, 2 if
//! the command is, and never a panic.
//!
//! Each command runs in a process of its own that may use so much memory and so much time, and no more.
#![cfg(unix)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is repeated or nested comes so often.
const MANY: usize = 1_000_000;
/// The same for what goes through all passes.
const MANY_BLOCKS: usize = 100_000;
const MOST_KILOBYTES: u64 = 4 << 20;
const MOST_SECONDS: u64 = 120;

struct Done {
    code: i32,
    errors: String,
    what: String,
}

/// Runs the command with these arguments.
fn heddle(args: &[&str]) -> Done {
    let script = format!("ulimit -v {MOST_KILOBYTES}; exec timeout {MOST_SECONDS} \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_heddle")])
        .args(args)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("there is a shell");
    let what: String = format!("heddle {}", args.join(" ")).chars().take(300).collect();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    // 124: out of time; none: killed by a signal, as by an abort where memory is out.
    let code = output.status.code().unwrap_or(-1);
    assert!((0..=2).contains(&code), "{what}: {code}, {errors:.2000}");
    assert!(!errors.contains("panicked"), "{what}: {errors:.2000}");
    Done { code, errors, what }
}

/// Runs it, and it must be refused with this code, and with words that hold these.
#[track_caller]
fn refused(code: i32, args: &[&str], words: &[&str]) {
    let done = heddle(args);
    let Done { errors, what, .. } = &done;
    assert_eq!(done.code, code, "{what}: {errors:.2000}");
    assert!(errors.starts_with("error: "), "{what}: {errors:.2000}");
    assert!(errors.len() < 100_000, "{what}: {} bytes of diagnostics", errors.len());
    for word in words {
        assert!(errors.contains(word), "{what} does not say `{word}`: {errors:.2000}");
    }
}

/// A file in a directory that goes away with it.
struct File {
    path: PathBuf,
}

impl File {
    fn new(name: &str, text: impl AsRef<[u8]>) -> File {
        File::of_kind(name, "hed", text)
    }

    fn of_kind(name: &str, extension: &str, text: impl AsRef<[u8]>) -> File {
        let dir = std::env::temp_dir().join(format!("heddle-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory can be made");
        let path = dir.join(format!("input.{extension}"));
        std::fs::write(&path, text).expect("a file can be written");
        File { path }
    }

    fn name(&self) -> &str {
        self.path.to_str().expect("its name is text")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = self.path.parent().map(std::fs::remove_dir);
    }
}

fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name);
    std::fs::read(path).expect("the sample is there")
}

/// The commands that read a program, each with what it needs next to the file.
const COMMANDS: &[&[&str]] = &[
    &["opt", "-p", "canonicalize,simplify,loops,linearize", "--verify"],
    &["exec", "--limit", "1000"],
    &["analyze"],
    &["test"],
];

/// All commands report an error in the text, with its line.
#[track_caller]
fn wrong_program(name: &str, text: impl AsRef<[u8]>, line: Option<usize>, words: &[&str]) {
    let file = File::new(name, text);
    for command in COMMANDS {
        let args: Vec<&str> = command.iter().copied().chain([file.name()]).collect();
        let place = match (line, command[0]) {
            (Some(line), "opt" | "exec" | "analyze") => format!("{}:{line}:", file.name()),
            _ => file.name().to_string(),
        };
        let words: Vec<&str> = words.iter().copied().chain([place.as_str()]).collect();
        refused(1, &args, &words);
    }
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        writeln!(text, "{}", line(number)).expect("a string takes all text");
        text
    })
}

#[test]
fn truncated_programs() {
    for name in ["ir/steps-source.hed", "ir/steps-linear.hed", "text/every-op.hed", "text/every-item.hed"] {
        let whole = sample(name);
        // The parser's own tests cut at every byte; here each piece is three processes.
        for part in 0..12 {
            let text = &whole[..whole.len() * part / 12];
            let file = File::new(&format!("cut-{}-{part}", name.replace('/', "-")), text);
            let read = heddle_ir::parse_bytes(text);
            for command in &COMMANDS[..3] {
                let args: Vec<&str> = command.iter().copied().chain([file.name()]).collect();
                let done = heddle(&args);
                if let Err(diagnostics) = &read {
                    let place = format!("{}:{}:", file.name(), diagnostics[0].place.line);
                    assert!(done.code == 1 && done.errors.contains(&place), "{}: {}", done.what, done.errors);
                }
                assert!(done.code == 0 || done.errors.contains("error: "), "{}: {}", done.what, done.errors);
            }
        }
    }
}

#[test]
fn mistyped_programs() {
    let func = |lines: &str| format!("func @f(v0: i32) {{\nblock0:\n{lines}\n  ret\n}}\n");
    wrong_program("op", func("  v1 = addd v0, v0"), Some(3), &["unknown op `addd`", "did you mean `add`"]);
    wrong_program("unknown-op", func("  v1 = frobnicate v0"), Some(3), &["unknown op"]);
    wrong_program("type", func("  v1 = sext i33, v0"), Some(3), &["expected a type"]);
    wrong_program("value", func("  v1 = add v0, v9"), Some(3), &["no value v9"]);
    wrong_program("block", func("  br block7"), Some(3), &["no block7"]);
    wrong_program("twice", func("  v0 = add v0, v0"), Some(3), &["is already defined"]);
    wrong_program("two-functions", func("") + &func(""), Some(6), &["is already defined"]);
    wrong_program("bytes", b"func @f() {\nblock0:\n  ret ; \xc3\n}\n", Some(3), &["not UTF-8"]);
    wrong_program("zeros", vec![0; MANY], Some(1), &["expected"]);
    // The verifier says where in the function.
    let undominated = "func @f(v0: i1) {\nblock0:\n  br v0, block1, block2\nblock1:\n  v1 = add 1, i32 2\n  br block2\n\
                       block2:\n  v2 = add v1, v1\n  ret\n}\n";
    wrong_program("undominated", undominated, None, &["v2 = add v1, v1"]);
}

#[test]
fn a_sample_with_a_byte_changed() {
    let whole = sample("ir/steps-source.hed");
    for (number, at) in (0..whole.len()).step_by(whole.len() / 20).enumerate() {
        let mut text = whole.clone();
        text[at] = b"0({v\n\xff"[number % 6];
        let file = File::new(&format!("changed-{number}"), &text);
        for command in &COMMANDS[..3] {
            let args: Vec<&str> = command.iter().copied().chain([file.name()]).collect();
            let done = heddle(&args);
            assert!(done.code == 0 || done.errors.contains("error: "), "{}: {}", done.what, done.errors);
        }
    }
}

/// LLVM's reader crashes on seven of these files.
#[test]
fn bitcode_with_a_bit_changed() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c/arrays.c");
    let whole = File::of_kind("whole", "bc", []);
    let mut clang = Command::new("clang-22");
    clang.args(["-O1", "-emit-llvm", "-c"]).arg(source).args(["-o", whole.name()]);
    assert!(clang.status().expect("clang-22 is installed").success());
    let whole = std::fs::read(whole.name()).expect("clang wrote it");
    for (number, at) in (4..whole.len()).step_by(whole.len() / 150).enumerate() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (3 * number % 8);
        let file = File::of_kind(&format!("bent-{number}"), "bc", &bytes);
        let done = heddle(&["opt", "-p", "canonicalize", file.name()]);
        assert!(done.code == 0 || done.errors.starts_with("error: "), "{}: {}", done.what, done.errors);
    }
}

#[test]
fn a_million_of_everything() {
    for (name, open) in
        [("parentheses", "("), ("brackets", "["), ("braces", "{"), ("angles", "<"), ("quotes", "\"")]
    {
        let text = format!("func @f(v0: i32) {{\nblock0:\n  v1 = add {}\n  ret\n}}\n", open.repeat(MANY));
        wrong_program(name, text, Some(3), &[]);
    }
    wrong_program("words", "word ".repeat(MANY), Some(1), &["expected"]);
    wrong_program("unknown-ops", lines(MANY, |_| "  frobnicate".into()), Some(1), &[]);
    let functions = lines(MANY, |_| "func @f() {\nblock0:\n  ret\n}".into());
    wrong_program("functions", functions, Some(5), &["is already defined"]);
    let blocks = lines(MANY, |_| "block0:\n  ret".into());
    wrong_program("blocks", format!("func @f() {{\n{blocks}}}\n"), Some(4), &["is already defined"]);
    let values = lines(MANY, |_| "  v0 = add 1, i32 1".into());
    wrong_program(
        "values",
        format!("func @f() {{\nblock0:\n{values}  ret\n}}\n"),
        Some(4),
        &["is already defined"],
    );
}

/// What is large but right is worked on, or refused by name.
fn large_program(name: &str, text: &str, args: &[&str]) {
    let file = File::new(name, text);
    for command in &COMMANDS[..3] {
        let arguments = args.iter().filter(|_| command[0] == "exec").copied();
        let args: Vec<&str> = command.iter().copied().chain([file.name()]).chain(arguments).collect();
        let done = heddle(&args);
        assert!(done.code == 0 || done.errors.contains("error: "), "{}: {}", done.what, done.errors);
    }
}

#[test]
fn many_instructions() {
    let values = lines(MANY, |number| format!("  v{} = add v{number}, v{number}", number + 1));
    let text = format!("func @f(v0: i32) -> i32 {{\nblock0:\n{values}  ret v{MANY}\n}}\n");
    large_program("instructions", &text, &["--arg", "1"]);
}

#[test]
fn many_blocks_behind_and_in_each_other() {
    let chain = lines(MANY_BLOCKS, |number| format!("  br block{0}\nblock{0}:", number + 1));
    large_program("chain", &format!("func @f(v0: i32) {{\nblock0:\n{chain}  ret\n}}\n"), &["--arg", "1"]);
    let ifs = lines(MANY_BLOCKS, |number| format!("  br v0, block{0}, block{MANY}\nblock{0}:", number + 1));
    let text = format!("func @f(v0: i1) {{\nblock0:\n{ifs}  br block{MANY}\nblock{MANY}:\n  ret\n}}\n");
    large_program("ifs", &text, &["--arg", "true"]);
}

#[test]
fn many_loops_in_each_other() {
    let depth = MANY_BLOCKS / 10;
    let heads = lines(depth, |level| format!("  br block{0}\nblock{0}:", level + 1));
    let tails = lines(depth, |level| {
        format!("  br v0, block{}, block{1}\nblock{1}:", depth - level, depth + level + 1)
    });
    let text = format!("func @f(v0: i1) {{\nblock0:\n{heads}{tails}  ret\n}}\n");
    large_program("loops", &text, &["--arg", "true"]);
}

#[test]
fn files_that_are_none() {
    for command in COMMANDS {
        let on = |file: &'static str| -> Vec<&str> { command.iter().copied().chain([file]).collect() };
        refused(2, &on("/nowhere/at all.hed"), &["/nowhere/at all.hed"]);
        if command[0] != "test" {
            refused(2, &on("tests"), &["tests"]);
        }
    }
    refused(2, &["opt", "tests/ir/steps-source.hed", "-o", "/nowhere/out.hed"], &["/nowhere/out.hed"]);
}

#[test]
fn options_that_are_none() {
    let file = "tests/ir/steps-source.hed";
    refused(2, &["frobnicate"], &["frobnicate"]);
    for verb in ["opt", "exec", "analyze", "test"] {
        refused(2, &[verb, file, "--frobnicate"], &["--frobnicate"]);
        refused(2, &[verb], &["required"]);
    }
    refused(2, &["opt", file, "-p", "frobnicate"], &["unknown pass `frobnicate`", "canonicalize"]);
    refused(2, &["opt", file, "--stage", "frobnicate"], &["canonical"]);
    let exec = |more: &[&str], words: &[&str]| {
        let args = ["exec", file, "--mem", "a: i32 [9, 1, 6, 2]", "--arg", "&a", "--arg", "1"];
        refused(2, &[&args[..], more].concat(), words);
    };
    exec(&[], &["3 arguments"]);
    exec(&["--arg", "maybe"], &["maybe"]);
    exec(&["--arg", "true", "--arg", "true"], &["3 arguments"]);
    exec(&["--arg", "&nowhere"], &["nowhere"]);
    exec(&["--arg", "true", "--func", "nothing"], &["@nothing"]);
    for lanes in ["0", "513", "x", "8x", "1x1x1x1x1", "4294967296"] {
        exec(&["--arg", "true", "--lanes", lanes], &["--lanes"]);
    }
    for (option, value) in [("--scheduler", "chaos"), ("--semantics", "chaos"), ("--limit", "x")] {
        exec(&["--arg", "true", option, value], &[option]);
    }
    for object in ["b", "b:", "b: i32", "b: i33 [1]", "b: i32 [1", "b: i32 zero -1", "a: i32 [1]"] {
        exec(&["--arg", "true", "--mem", object], &[object]);
    }
    for object in ["b: i64 zero 18446744073709551615", "b: i8 poison 99999999999", "b: i8 zero 600000000"] {
        exec(&["--arg", "true", "--mem", object], &["--limit-memory"]);
    }
    exec(&["--arg", "true", "--local", "x"], &["8x8"]);
    exec(&["--arg", "true", "--watch", "x"], &["--watch"]);
}

#[test]
fn nobody_reads_to_the_end() {
    let values = lines(MANY_BLOCKS, |number| format!("  v{} = add v{number}, v{number}", number + 1));
    let file = File::new("unread", format!("func @f(v0: i32) {{\nblock0:\n{values}  ret\n}}\n"));
    for more in ["| head -1 >&2", ">/dev/full"] {
        let script = format!("{{ \"$0\" opt \"$1\"; echo \"code $?\" >&2; }} {more}");
        let args = ["-c", &script, env!("CARGO_BIN_EXE_heddle"), file.name()];
        let output = Command::new("sh").args(args).output().expect("there is a shell");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("panicked"), "{errors:.2000}");
        let expected = if more.contains("full") { "cannot be written" } else { "code 0" };
        assert!(errors.contains(expected), "{errors:.2000}");
    }
}

#[test]
fn runs_without_end_or_bound() {
    let run = |name: &str, body: &str, options: &[&str], words: &[&str]| {
        let file = File::new(
            name,
            format!("func @f(v0: i32) {{\nblock0:\n  br block1\nblock1:\n{body}\n  br block1\n}}\n"),
        );
        let args = [&["exec", file.name(), "--arg", "1"], options].concat();
        refused(1, &args, words);
    };
    run("endless", "", &[], &["in @f, block1", "the limit of 1000000 steps is reached", "`--limit`"]);
    let lots = ["--limit", "18446744073709551615"];
    run("endless-work", "  v1 = add v0, v0", &lots, &["is reached; `--limit-"]);
    run("allocas", "  v1 = alloca 0 align 1", &lots, &["1073741824 bytes", "`--limit-memory`"]);
    let few = [&lots[..], &["--limit-memory", "50000000"]].concat();
    run("trace", "  v1 = add v0, v0", &[&few[..], &["--trace", "text"]].concat(), &["`--limit-memory`"]);
    run("calls", "  call @f(v0)", &lots, &["256 calls", "`--limit-calls`"]);
    let deep = [&few[..], &["--limit-calls", "18446744073709551615"]].concat();
    run("deep-calls", "  call @f(v0)", &deep, &["`--limit-memory`"]);
}

#[test]
fn passes_that_are_not_for_this_program() {
    refused(1, &["opt", "tests/ir/steps-source.hed", "-p", "loops"], &["before `loops`", "stage canonical"]);
    refused(
        1,
        &["opt", "tests/ir/steps-source.hed", "-p", "linearize"],
        &["`linearize`", "@steps: loop at block1", "run `loops` first"],
    );
    let predicated = "func @f(v0: i1) {\nblock0:\n  br block1\nblock1 [v0]:\n  ret\n}\n";
    let file = File::new("predicated", predicated);
    refused(1, &["opt", file.name(), "-p", "canonicalize"], &["@f: block1 has a predicate", "`linearize`"]);
    let passive = |line: &str| {
        format!(
            "func @f(v0: i32) -> i32 {{\nblock0:\n  v5 = lane i32\n  br block1\nblock1:\n\
             \x20 v1 = phi i32 [block0: 0], [block1: v2]\n{line}\n  v2 = add v1, 1\n  v4 = icmp ult v2, v5\n\
             \x20 br v4, block1, block2\nblock2:\n  ret v3\n}}\n"
        )
    };
    for (name, line) in [("total", "  v3 = add v0, v1 total"), ("shadow", "  v3 = add v0, v1")] {
        let file = File::new(name, passive(line));
        let args = ["opt", file.name(), "-p", "canonicalize,loops", "--verify"];
        match name {
            "total" => refused(1, &args, &["`loops`", "@f", "v3", "loop at block1", "`freeze`"]),
            _ => assert_eq!(heddle(&args).code, 0),
        }
    }
}
