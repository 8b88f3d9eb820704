//! All tests: `./x test`, and those of choices (`./x forced`) and goldens (`./x bless`).

use crate::builds::link_cuda;
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
use std::sync::{Condvar, Mutex};
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

    /// Package and name, as [`LONG`] has them.
    fn key(&self) -> (String, String) {
        let package = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (package, self.name())
    }
}

/// Programs that take more than ten seconds, those that take longest first: package and name.
const LONG: [(&str, &str); 20] = [
    ("cuda", "driver"),
    ("opencl", "driver"),
    ("testing", "native"),
    ("testing", "ptx"),
    ("plugin", "loops"),
    ("bundle", "python"),
    ("cli", "bad_input"),
    ("testing", "opencl_c"),
    ("testing", "shapes"),
    ("testing", "harness"),
    ("testing", "faults"),
    ("testing", "quick"),
    ("testing", "figures"),
    ("faults", "planted"),
    ("ir", "bad_input"),
    ("testing", "math"),
    ("analysis", "cfg"),
    ("opencl", "images"),
    ("testing", "passes"),
    ("ptx", "bad_input"),
];

/// Programs that execute generated code: package, name, and tests that do the same for each value of `HEDDLE_CPU`.
const EXECUTING: [(&str, &str, &[&str]); 6] = [
    (
        "cuda",
        "driver",
        &["library::", "device_code_of_several_files", "device_code_is_found", "kernels_of_small"],
    ),
    // These are about processes, the loader and the cache.
    (
        "opencl",
        "driver",
        &["cache::", "layer::", "loader::", "the_process_ends", "nothing_grows", "the_wrapper", "covered::"],
    ),
    // These compile for SSE4.2, whatever the machine has.
    ("testing", "native", &["topics::", "marked_loops::", "marked_nests::"]),
    ("testing", "kernels", &[]),
    ("library", "library", &[]),
    ("cli", "native", &[]),
];

/// A program to run: for the machine's own CPU, or for another one without the tests that do not depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ScheduledTest {
    program: TestProgram,
    cpu: Option<&'static str>,
    skipped: &'static [&'static str],
}

impl ScheduledTest {
    /// Runs the program in the folder of its package, as cargo does, and prints what it says when it is done. False if it fails.
    fn run(&self, printing: &Mutex<()>) -> XtaskResult<bool> {
        let TestProgram { folder, path } = &self.program;
        let cpu = self.cpu.map(|cpu| format!("-{cpu}")).unwrap_or_default();
        let name = path.file_name().unwrap_or_default();
        let log = target().join("tests").join(format!("{}{cpu}.txt", name.display()));
        let mut file = at(&log, fs::File::create(&log))?;
        let cpu = self.cpu.map(|cpu| format!(" (HEDDLE_CPU={cpu})")).unwrap_or_default();
        at(&log, writeln!(file, "     Running {}{cpu}", path.display()))?;
        let mut test = program(path, self.skipped.iter().flat_map(|name| ["--skip", name]));
        test.current_dir(folder).env("CARGO_MANIFEST_DIR", folder).env("HEDDLE_ABORT", "1");
        test.envs(self.cpu.map(|cpu| ("HEDDLE_CPU", cpu)));
        let (out, err) = (at(&log, file.try_clone())?, at(&log, file.try_clone())?);
        let status = test.stdin(Stdio::null()).stdout(out).stderr(err).status();
        let passed = status.is_ok_and(|status| status.success());
        let printed = at(&log, fs::read(&log))?;
        let _printing = printing.lock();
        _ = std::io::stdout().write_all(&printed);
        Ok(passed)
    }
}

/// Returns all programs, and those that execute generated code once more for another CPU; those that take longest come first.
fn schedule(programs: &[TestProgram], other_cpu: Option<&'static str>) -> Vec<ScheduledTest> {
    let mut tests = Vec::new();
    for program in programs {
        tests.push(ScheduledTest { program: program.clone(), cpu: None, skipped: &[] });
        let (package, name) = program.key();
        let executing = EXECUTING.iter().find(|(of, executing, _)| (*of, *executing) == (&*package, &*name));
        if let (Some((_, _, skipped)), Some(_)) = (executing, other_cpu) {
            tests.push(ScheduledTest { program: program.clone(), cpu: other_cpu, skipped });
        }
    }
    // The order of cargo is kept otherwise.
    tests.sort_by_key(|test| {
        let (package, name) = test.program.key();
        LONG.iter().position(|&long| long == (&*package, &*name)).unwrap_or(LONG.len())
    });
    tests
}

/// Tests that wait, and programs that run. A program runs once at a time: its tests write the same files.
#[derive(Debug, Default)]
struct TestQueue {
    waiting: Vec<ScheduledTest>,
    running: Vec<PathBuf>,
}

impl TestQueue {
    /// Takes the first test whose program does not run.
    fn take(&mut self) -> Option<ScheduledTest> {
        let first = self.waiting.iter().position(|test| !self.running.contains(&test.program.path))?;
        let test = self.waiting.remove(first);
        self.running.push(test.program.path.clone());
        Some(test)
    }
}

/// Runs programs side by side: many have one test that takes long, and would leave processors idle. Returns those that fail.
fn run_programs(tests: Vec<ScheduledTest>) -> XtaskResult<Vec<PathBuf>> {
    let queue = Mutex::new(TestQueue { waiting: tests, running: Vec::new() });
    let (ended, printing, failed) = (Condvar::new(), Mutex::new(()), Mutex::new(Vec::new()));
    let poisoned = |_| "a worker of the tests panicked".to_string();
    let work = || -> XtaskResult {
        loop {
            let mut queued = queue.lock().map_err(|_| poisoned(()))?;
            let test = loop {
                match queued.take() {
                    Some(test) => break test,
                    None if queued.waiting.is_empty() => return Ok(()),
                    None => queued = ended.wait(queued).map_err(|_| poisoned(()))?,
                }
            };
            drop(queued);
            let passed = test.run(&printing);
            queue.lock().map_err(|_| poisoned(()))?.running.retain(|path| *path != test.program.path);
            ended.notify_all();
            if !passed? {
                failed.lock().map_err(|_| poisoned(()))?.push(test.program.path);
            }
        }
    };
    let count = available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| -> XtaskResult {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().map_err(|_| poisoned(()))??;
        }
        Ok(())
    })?;
    failed.into_inner().map_err(|_| poisoned(()).into())
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

/// Returns the CPU for which tests that execute generated code run once more: AVX2 as Zen 3 has it, where this CPU has more.
fn smaller_cpu() -> XtaskResult<Option<&'static str>> {
    // Code for CPUs without FMA calls the C library's `fma`, which drivers do not hand to the JIT yet.
    not_run("driver tests for SSE4.2 (HEDDLE_CPU=x86-64-v2): kernels that need `fma` do not link there")?;
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    Ok(cpu.split_whitespace().any(|flag| flag == "avx512f").then_some("znver3"))
}

/// Builds libraries, programs and tests. One call of cargo keeps all processors busy to its end; two would wait twice for the last crate.
fn build_tests() -> XtaskResult<Vec<TestProgram>> {
    let mut build = cargo("build");
    // All targets would be benchmarks, too: each library once more as a test.
    build.args(["--release", "--workspace", "--lib", "--bins", "--examples", "--tests"]);
    build.arg("--message-format=json-render-diagnostics");
    let programs = programs_of(build)?;
    link_cuda()?;
    Ok(programs)
}

/// Runs all tests of all crates.
fn run_tests(programs: &[TestProgram]) -> XtaskResult {
    let logs = target().join("tests");
    at(&logs, fs::create_dir_all(&logs))?;
    let failed = run_programs(schedule(programs, smaller_cpu()?))?;
    let documented = pass(cargo("test").args(["--release", "--workspace", "--doc"]));
    let names: String = failed.iter().map(|path| format!("{} ", path.display())).collect();
    if failed.is_empty() { documented } else { fail(format!("failed: {names}")) }
}

/// `./x test`
pub(crate) fn test() -> XtaskResult {
    let programs = build_tests()?;
    ptxas()?;
    let list = target().join("not-run.txt");
    if list.exists() {
        at(&list, fs::remove_file(&list))?;
    }
    collect_not_run(list.clone());
    run_tests(&programs)?;
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
    use super::{EXECUTING, LONG, TestProgram, TestQueue, schedule};
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

    fn program(package: &str, name: &str) -> TestProgram {
        TestProgram { folder: format!("/a/{package}").into(), path: format!("/t/{name}-0a1b").into() }
    }

    #[test]
    fn long_programs_come_first_and_run_once_at_a_time() {
        let programs = [program("ir", "text"), program("testing", "native"), program("cuda", "driver")];
        let tests = schedule(&programs, Some("znver3"));
        let order: Vec<_> = tests.iter().map(|test| (test.program.key().0, test.cpu)).collect();
        let order: Vec<_> = order.iter().map(|(package, cpu)| (&**package, *cpu)).collect();
        let other = Some("znver3");
        let wanted = [("cuda", None), ("cuda", other), ("testing", None), ("testing", other), ("ir", None)];
        assert_eq!(order, wanted);
        assert!(tests[3].skipped.contains(&"topics::"), "these tests name their instruction set");
        let mut queue = TestQueue { waiting: tests, running: Vec::new() };
        let taken: Vec<_> = std::iter::from_fn(|| queue.take()).map(|test| test.program.key().0).collect();
        assert_eq!(taken, ["cuda", "testing", "ir"]);
        queue.running.clear();
        assert_eq!(queue.take().and_then(|test| test.cpu), Some("znver3"));
        assert_eq!(schedule(&programs, None).len(), 3);
    }

    #[test]
    fn named_programs_are_there() {
        let executing = EXECUTING.iter().map(|(package, name, _)| (*package, *name));
        for (package, name) in LONG.into_iter().chain(executing) {
            let folder = crate::run::root().join("crates").join(package).join("tests");
            let is_there =
                folder.join(name).join("main.rs").exists() || folder.join(format!("{name}.rs")).exists();
            assert!(is_there, "{package} has no tests {name}");
        }
    }

    #[test]
    fn tests_that_run_for_one_cpu_are_there() {
        for (package, name, skipped) in EXECUTING {
            let folder = crate::run::root().join("crates").join(package).join("tests").join(name);
            let files = if skipped.is_empty() { Vec::new() } else { sources(&folder) };
            for filter in skipped {
                let module = filter.strip_suffix("::").map(|module| folder.join(module).with_extension("rs"));
                let function = format!("fn {filter}");
                let is_there =
                    module.map_or(files.iter().any(|text| text.contains(&function)), |file| file.exists());
                assert!(is_there, "{package} has no tests {filter} in {name}");
            }
        }
    }

    fn sources(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        let paths = entries.map(|entry| entry.expect("it is there").path());
        paths
            .filter(|path| path.is_file())
            .map(|path| std::fs::read_to_string(path).expect("it is text"))
            .collect()
    }
}
