//! All tests: `./x test`, and those of choices (`./x forced`) and goldens (`./x bless`).

use crate::builds::build;
use crate::fuzz::{FuzzVerbArguments, fuzz};
use crate::install::check_install;
use crate::lint::lint;
use crate::run::{
    XtaskError, XtaskResult, at, cargo, collect_not_run, fail, not_run, pass, program, read, say, target,
};
use crate::tools::ptxas;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::thread::available_parallelism;

/// Minutes that `./x test` gives to the fuzzer, all topics together; 0 runs no slice.
const FUZZ_MINUTES: f64 = 1.0;
const FUZZ_SEED: u64 = 100_000;

/// Test program, with the folder of its package.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TestProgram {
    folder: PathBuf,
    path: PathBuf,
}

/// Returns the text of a key in one of cargo's messages.
fn text<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = message.split_once(&format!("\"{key}\":\""))?;
    rest.split('"').next()
}

impl TestProgram {
    /// Reads one of cargo's messages.
    fn of_message(message: &str) -> Option<TestProgram> {
        // The profile of what was built; other messages have no such field.
        if !message.contains("\"test\":true},\"features\"") {
            return None;
        }
        let mut folder = PathBuf::from(text(message, "manifest_path")?);
        folder.pop();
        Some(TestProgram { folder, path: text(message, "executable")?.into() })
    }

    /// Name without the hash.
    fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.rsplit_once('-').map_or(name.clone(), |(name, _)| name.to_string())
    }

    /// Runs the program in the folder of its package, as cargo does, and prints what it says when it is done. False if it fails.
    fn run(&self, variables: &[(&str, &str)], printing: &Mutex<()>) -> XtaskResult<bool> {
        let log = target()
            .join("tests")
            .join(format!("{}.txt", self.path.file_name().unwrap_or_default().display()));
        let mut file = at(&log, fs::File::create(&log))?;
        at(&log, writeln!(file, "     Running {}", self.path.display()))?;
        let mut test = program(&self.path, [""; 0]);
        test.current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("HEDDLE_ABORT", "1")
            .envs(variables.iter().copied());
        let (out, err) = (at(&log, file.try_clone())?, at(&log, file.try_clone())?);
        let status = test.stdin(Stdio::null()).stdout(out).stderr(err).status();
        let passed = status.is_ok_and(|status| status.success());
        let printed = at(&log, fs::read(&log))?;
        let _printing = printing.lock();
        _ = std::io::stdout().write_all(&printed);
        Ok(passed)
    }
}

/// Runs programs side by side: many have one test that takes long, and would leave processors idle. Returns those that fail.
fn run_programs(programs: &[TestProgram], variables: &[(&str, &str)]) -> XtaskResult<Vec<PathBuf>> {
    let (queue, printing, failed) = (Mutex::new(programs.iter()), Mutex::new(()), Mutex::new(Vec::new()));
    let next = || queue.lock().ok()?.next();
    let work = || -> XtaskResult {
        while let Some(program) = next() {
            if !program.run(variables, &printing)? {
                failed.lock().map_err(|reason| reason.to_string())?.push(program.path.clone());
            }
        }
        Ok(())
    };
    let count = available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| -> XtaskResult {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().map_err(|_| "a worker of the tests panicked".to_string())??;
        }
        Ok(())
    })?;
    Ok(failed.into_inner().map_err(|reason| reason.to_string())?)
}

/// Reads what cargo prints about built test programs.
fn programs_of(mut cargo: Command) -> XtaskResult<Vec<TestProgram>> {
    let mut child = cargo.stdout(Stdio::piped()).spawn().map_err(|reason| format!("{cargo:?}: {reason}"))?;
    let messages = child.stdout.take().map(std::io::read_to_string::<ChildStdout>);
    let status = child.wait().map_err(|reason| format!("{cargo:?}: {reason}"))?;
    crate::run::ended(status)?;
    let messages = messages.transpose().map_err(|reason| reason.to_string())?.unwrap_or_default();
    let programs: Vec<TestProgram> = messages.lines().filter_map(TestProgram::of_message).collect();
    if programs.is_empty() { fail("cargo names no programs of tests") } else { Ok(programs) }
}

/// Names of programs that execute generated code.
const EXECUTING: [&str; 4] = ["native", "kernels", "driver", "library"];

/// Runs the tests that execute generated code once more for AVX2 as Zen 3 has it, where the CPU has more: they passed for the machine's own.
fn run_on_smaller_cpus(programs: &[TestProgram]) -> XtaskResult<Vec<PathBuf>> {
    // Code for CPUs without FMA calls the C library's `fma`, which drivers do not hand to the JIT yet.
    not_run("driver tests for SSE4.2 (HEDDLE_CPU=x86-64-v2): kernels that need `fma` do not link there")?;
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if !cpu.split_whitespace().any(|flag| flag == "avx512f") {
        return Ok(Vec::new());
    }
    say("test: generated code for znver3 (AVX2)");
    let executing: Vec<TestProgram> =
        programs.iter().filter(|program| EXECUTING.contains(&&*program.name())).cloned().collect();
    run_programs(&executing, &[("HEDDLE_CPU", "znver3")])
}

/// Runs all tests of all crates.
fn run_tests() -> XtaskResult {
    let logs = target().join("tests");
    at(&logs, fs::create_dir_all(&logs))?;
    let mut build = cargo("test");
    build.args(["--release", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    let programs = programs_of(build)?;
    let mut failed = run_programs(&programs, &[])?;
    failed.extend(run_on_smaller_cpus(&programs)?);
    let documented = pass(cargo("test").args(["--release", "--workspace", "--doc"]));
    let names: String = failed.iter().map(|path| format!("{} ", path.display())).collect();
    if failed.is_empty() { documented } else { fail(format!("failed: {names}")) }
}

/// `./x test`
pub(crate) fn test() -> XtaskResult {
    build()?;
    ptxas()?;
    let list = target().join("not-run.txt");
    if list.exists() {
        at(&list, fs::remove_file(&list))?;
    }
    collect_not_run(list.clone());
    run_tests()?;
    check_install()?;
    crate::site::make()?;
    lint()?;
    if FUZZ_MINUTES > 0.0 {
        fuzz(&FuzzVerbArguments::all_topics(FUZZ_MINUTES, FUZZ_SEED))?;
    } else {
        say("fuzz: no slice (FUZZ_MINUTES is 0)");
    }
    if list.exists() {
        say("test: not run here:");
        let text = read(&list)?;
        let lines: BTreeSet<&str> = text.lines().collect();
        lines.iter().for_each(|line| eprintln!("  {line}"));
    }
    say("test: all that can run here passed");
    Ok(())
}

/// Values of `HEDDLE_OPTIONS` and `HEDDLE_LANES` that take a choice from the models.
const FORCED: [(&str, &str); 20] = [
    ("HEDDLE_OPTIONS", "guards=force"),
    ("HEDDLE_OPTIONS", "guards=needed"),
    ("HEDDLE_OPTIONS", "branches=fold"),
    ("HEDDLE_OPTIONS", "versions=force"),
    ("HEDDLE_OPTIONS", "versions=none"),
    ("HEDDLE_OPTIONS", "fuse=force"),
    ("HEDDLE_OPTIONS", "fuse=no"),
    ("HEDDLE_OPTIONS", "flatten=force"),
    ("HEDDLE_OPTIONS", "flatten=no"),
    ("HEDDLE_OPTIONS", "strips=force"),
    ("HEDDLE_OPTIONS", "strips=no"),
    ("HEDDLE_OPTIONS", "refill=force"),
    ("HEDDLE_OPTIONS", "refill=no"),
    ("HEDDLE_OPTIONS", "stores=streamed"),
    ("HEDDLE_OPTIONS", "ssrqp=cost"),
    ("HEDDLE_OPTIONS", "ssrqp=no"),
    ("HEDDLE_LANES", "1"),
    ("HEDDLE_LANES", "4"),
    ("HEDDLE_LANES", "registers"),
    ("HEDDLE_LANES", "64"),
];

/// `./x forced`
pub(crate) fn forced() -> XtaskResult {
    for (variable, value) in FORCED {
        say(format!("forced: {variable}={value}"));
        let mut test = cargo("test");
        test.args(["--release", "--quiet", "-p", "heddle-opencl", "--test", "driver"]);
        // Reports name the choices, and the tests of forcing force choices of their own.
        pass(test.args(["--", "--skip", "reports::", "--skip", "forced::"]).env(variable, value))?;
    }
    Ok(())
}

/// `./x bless`
pub(crate) fn bless() -> XtaskResult {
    let mut test = cargo("test");
    test.args(["--release", "--workspace", "--test", "*", "--no-fail-fast"]);
    let tested = pass(test.env("HEDDLE_BLESS", "1"));
    if let Err(XtaskError::Message(_)) = tested {
        return tested;
    }
    pass(&mut program("git", ["status", "--short"]))?;
    say("bless: review what changed with: git diff");
    tested
}

#[cfg(test)]
mod tests {
    use super::TestProgram;
    use std::path::Path;

    #[test]
    fn messages_of_cargo_name_test_programs() {
        let message = |test: &str, executable: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/a/ir/Cargo.toml\",\"target\":{{\"test\":true}},\
                 \"profile\":{{\"opt_level\":\"3\",\"test\":{test}}},\"features\":[],\"executable\":{executable},\"fresh\":true}}"
            )
        };
        let found = TestProgram::of_message(&message("true", "\"/t/native-0a1b\"")).expect("it is a test");
        assert_eq!((&*found.folder, &*found.name()), (Path::new("/a/ir"), "native"));
        assert_eq!(TestProgram::of_message(&message("false", "\"/t/heddle\"")), None);
        assert_eq!(TestProgram::of_message(&message("true", "null")), None);
    }
}
