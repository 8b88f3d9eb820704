//! Khronos' conformance suite, OpenCL-CTS, on the OpenCL driver: `./x conformance`.
//!
//! The suite is the user's checkout and only read: its build, its output and the results are below target/conformance. Each test of a
//! program runs in a process of its own, so that a crash or an endless test costs no other one.

use crate::builds::build_installed;
use crate::conformance_output::{TestOutcome, TestResult, judge_test, listed_tests};
use crate::run::{
    XtaskError, XtaskResult, at, fail, files_below, pass, printed, program, read, release, run, runs, say,
    target, write,
};
use clap::Args;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Arguments of `./x conformance`.
#[derive(Args, Debug)]
pub(crate) struct ConformanceArguments {
    /// Checkout of OpenCL-CTS; those of OpenCL-Headers and SPIRV-Headers are in it, or next to it
    #[arg(value_name = "DIR")]
    suite: PathBuf,
    /// Only programs with this word in their path; may be given again
    #[arg(long, value_name = "WORD")]
    only: Vec<String>,
    /// Only tests with this word in their name; may be given again
    #[arg(long, value_name = "WORD")]
    test: Vec<String>,
    /// Number of tests that run at a time (default: one a processor)
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Seconds for each test
    #[arg(long, value_name = "N", default_value_t = 600)]
    seconds: u32,
    /// Run the suite's short form of long tests (of mathematical functions, conversions and others)
    #[arg(long)]
    wimpy: bool,
    /// Folder with the suite's build, which is made if it is missing (default: target/conformance/build); one that is there stays
    /// configured as it is
    #[arg(long, value_name = "DIR")]
    build: Option<PathBuf>,
    /// Keep the results of a run that was cut off
    #[arg(long)]
    resume: bool,
}

/// Program of the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SuiteProgram {
    /// Path below `test_conformance`, in the sources and in the build.
    path: String,
}

impl SuiteProgram {
    /// Returns the name of the build's target.
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    fn is_chosen(&self, only: &[String]) -> bool {
        only.is_empty() || only.iter().any(|word| self.path.contains(word.as_str()))
    }
}

/// Row of the suite's list of runs: a program with arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SuiteRow {
    program: SuiteProgram,
    /// Arguments before the test's name.
    arguments: Vec<String>,
    /// Beginnings of the names of its tests; empty if it has all.
    beginnings: Vec<String>,
}

impl SuiteRow {
    fn title(&self) -> String {
        let words = [self.program.path.as_str()].into_iter().chain(self.arguments.iter().map(String::as_str));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Test of a row, which runs by itself.
struct SuiteTest {
    row: usize,
    name: String,
}

/// Returns the programs that the suite's build files declare, in the order of their paths.
fn declared_programs(files: &[(String, String)]) -> Vec<SuiteProgram> {
    let mut programs = Vec::new();
    for (folder, text) in files {
        for rest in text.split("set(MODULE_NAME").skip(1) {
            let name = rest.split(')').next().unwrap_or_default().trim().to_lowercase();
            programs.push(SuiteProgram { path: format!("{folder}/test_{name}") });
        }
    }
    programs.sort_by(|a, b| a.path.cmp(&b.path));
    programs
}

/// Returns the rows of the suite's list of a full run (`Name,path arguments`) for the programs, and a row for each program that the
/// list leaves out.
fn suite_rows(list: &str, programs: &[SuiteProgram]) -> Vec<SuiteRow> {
    let mut rows: Vec<SuiteRow> = Vec::new();
    for line in list.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let Some(command) = line.rsplit(',').next() else { continue };
        let mut words = command.split_whitespace().map(String::from);
        let Some(program) = words.next().and_then(|path| programs.iter().find(|it| it.path == path)) else {
            continue;
        };
        let (patterns, arguments): (Vec<_>, Vec<_>) =
            words.filter(|word| word != "all").partition(|word| word.ends_with('*'));
        let beginnings = patterns.into_iter().map(|word| word.trim_end_matches('*').into()).collect();
        rows.push(SuiteRow { program: program.clone(), arguments, beginnings });
    }
    let listed: Vec<SuiteProgram> = rows.iter().map(|row| row.program.clone()).collect();
    let others = programs.iter().filter(|program| !listed.contains(program));
    rows.extend(others.map(|program| SuiteRow {
        program: program.clone(),
        arguments: Vec::new(),
        beginnings: Vec::new(),
    }));
    rows
}

/// Returns the first folder that has a file.
fn folder_with(folders: &[PathBuf], file: &str) -> Option<PathBuf> {
    folders.iter().find(|folder| folder.join(file).is_file()).cloned()
}

/// Headers and tools that the suite's build needs.
struct SuiteTools {
    /// Folder above `CL`.
    opencl: PathBuf,
    /// Folder above `spirv`, as the suite takes it: headers are below its `include`.
    spirv: PathBuf,
    /// Folder of the loader's library.
    loader: PathBuf,
    c: &'static str,
    cpp: &'static str,
}

impl SuiteTools {
    /// Finds all of it; the error names everything that is missing, with the remedy.
    fn find(suite: &Path) -> XtaskResult<SuiteTools> {
        let parent = suite.parent().unwrap_or(suite);
        let folders = |name: &str| vec![suite.join(name), parent.join(name)];
        let mut missing = Vec::new();
        for (tool, package) in [("cmake", "cmake"), ("make", "make"), ("spirv-as", "spirv-tools")] {
            if !runs(tool, &["--version"]) {
                missing.push(format!("the program {tool}: apt-get install {package}"));
            }
        }
        // Headers of Debian 12 lack names that the suite uses.
        let opencl = folder_with(&folders("OpenCL-Headers"), "CL/cl.h").unwrap_or_else(|| {
            missing.push("OpenCL's headers: clone KhronosGroup/OpenCL-Headers next to the suite".into());
            PathBuf::new()
        });
        let spirv = [folders("SPIRV-Headers"), vec!["/usr".into()]].concat();
        let grammar = "include/spirv/unified1/spirv.core.grammar.json";
        let spirv = folder_with(&spirv, grammar).unwrap_or_else(|| {
            missing.push("SPIR-V's headers: clone KhronosGroup/SPIRV-Headers next to the suite".into());
            PathBuf::new()
        });
        let triple = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let loaders =
            [triple, "/usr/lib64".into(), "/usr/lib".into(), "/usr/local/lib".into()].map(PathBuf::from);
        let loader = folder_with(&loaders, "libOpenCL.so").unwrap_or_else(|| {
            missing.push("the ICD loader: apt-get install ocl-icd-opencl-dev".into());
            PathBuf::new()
        });
        let compilers = [("clang-22", "clang++-22"), ("cc", "c++")];
        let found = compilers.into_iter().find(|(_, cpp)| runs(cpp, &["--version"]));
        let (c, cpp) = found.unwrap_or_else(|| {
            missing.push("a C++ compiler: apt-get install clang-22".into());
            compilers[0]
        });
        if !missing.is_empty() {
            return fail(format!("the conformance suite's build lacks\n  {}", missing.join("\n  ")));
        }
        Ok(SuiteTools { opencl, spirv, loader, c, cpp })
    }

    /// Configures the suite's build; returns the names of its targets, among other words.
    fn configure(&self, suite: &Path, build: &Path) -> XtaskResult<String> {
        let define = |name: &str, value: &Path| format!("-D{name}={}", value.display());
        let mut configure = program("cmake", ["-Wno-dev", "-S"]);
        configure.arg(suite).arg("-B").arg(build).arg("-DCMAKE_BUILD_TYPE=Release").args([
            define("CMAKE_C_COMPILER", Path::new(self.c)),
            define("CMAKE_CXX_COMPILER", Path::new(self.cpp)),
            define("CL_INCLUDE_DIR", &self.opencl),
            define("CL_LIB_DIR", &self.loader),
            define("SPIRV_INCLUDE_DIR", &self.spirv),
            "-DOPENCL_LIBRARIES=OpenCL".into(),
        ]);
        if !build.join("CMakeCache.txt").exists() {
            pass(configure.stdout(Stdio::null()))?;
        }
        printed(program("cmake", ["--build"]).arg(build).args(["--target", "help"]))
    }

    /// Builds programs of the suite. Those that cannot be built end nothing: the table names them.
    fn build(&self, build: &Path, programs: &[SuiteProgram], jobs: usize) -> XtaskResult {
        let mut make = program("cmake", ["--build"]);
        make.arg(build).args(["--parallel", &jobs.to_string(), "--target"]);
        make.args(programs.iter().map(SuiteProgram::name)).arg("--");
        make.args(if build.join("build.ninja").exists() { ["-k", "0"].as_slice() } else { &["-k"] });
        if run(&mut make).is_err() {
            say(
                "not all programs of the suite are built: its sources and the headers may be of different dates",
            );
        }
        Ok(())
    }
}

/// Returns the texts of the suite's build files, each with its folder below `test_conformance`.
fn build_files(suite: &Path) -> XtaskResult<Vec<(String, String)>> {
    let top = suite.join("test_conformance");
    let mut files = Vec::new();
    for path in files_below(&top)? {
        if path.file_name().is_some_and(|name| name == "CMakeLists.txt") {
            let folder = path.parent().unwrap_or(&top).strip_prefix(&top).unwrap_or(&top);
            files.push((folder.display().to_string(), read(&path)?));
        }
    }
    Ok(files)
}

/// Environment and limits of the tests.
struct SuiteRun {
    build: PathBuf,
    output: PathBuf,
    seconds: u32,
    wimpy: bool,
    rows: Vec<SuiteRow>,
}

impl SuiteRun {
    fn program_path(&self, program: &SuiteProgram) -> PathBuf {
        self.build.join("test_conformance").join(&program.path)
    }

    /// Returns a program of the suite under a limit, in its own folder, with the driver alone.
    fn command(&self, program_of_suite: &SuiteProgram, seconds: u32) -> Command {
        let path = self.program_path(program_of_suite);
        let mut command = program("nice", ["-n", "10", "timeout", "--kill-after=5"]);
        // Lines that a crash or the limit would leave in a buffer say where the test was.
        command.arg(seconds.to_string()).args(["stdbuf", "-oL"]).arg(&path);
        command.current_dir(path.parent().unwrap_or(&self.build));
        command.env("OCL_ICD_VENDORS", self.output.join("vendors"));
        command.env("HEDDLE_CACHE_DIR", self.output.join("cache")).env_remove("CL_WIMPY_MODE");
        command.stdin(Stdio::null());
        command
    }

    /// Returns the tests of a row; none if its program is not built.
    fn tests(&self, row: &SuiteRow) -> XtaskResult<Vec<String>> {
        if !self.program_path(&row.program).is_file() {
            return Ok(Vec::new());
        }
        let text = printed(self.command(&row.program, 60).arg("--list"))?;
        let mut tests = listed_tests(&text);
        tests.retain(|test| {
            row.beginnings.is_empty() || row.beginnings.iter().any(|it| test.starts_with(it.as_str()))
        });
        Ok(tests)
    }

    /// Runs a test; its output is kept in a file.
    fn run(&self, test: &SuiteTest) -> XtaskResult<TestResult> {
        let row = &self.rows[test.row];
        let folder = self.output.join("logs").join(row.title().replace(['/', ' '], "_"));
        at(&folder, fs::create_dir_all(&folder))?;
        let log = folder.join(format!("{}.txt", test.name.replace('/', "_")));
        let file = at(&log, fs::File::create(&log))?;
        let mut command = self.command(&row.program, self.seconds);
        command.args(self.wimpy.then_some("--wimpy")).args(&row.arguments).arg(&test.name);
        command.stderr(at(&log, file.try_clone())?).stdout(file);
        let begin = Instant::now();
        let status = command.status().map_err(|reason| format!("{command:?}: {reason}"))?;
        let seconds = begin.elapsed().as_secs_f64();
        let is_late = seconds >= f64::from(self.seconds);
        let text = String::from_utf8_lossy(&at(&log, fs::read(&log))?).into_owned();
        let (outcome, message) = judge_test(&test.name, status.code(), status.signal(), is_late, &text);
        Ok(TestResult { row: row.title(), test: test.name.clone(), outcome, seconds, message })
    }
}

/// Runs tests, several at a time; appends each result to a file.
fn run_tests(
    suite: &SuiteRun,
    tests: &[SuiteTest],
    jobs: usize,
    results: &Path,
) -> XtaskResult<Vec<TestResult>> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let file = at(results, fs::OpenOptions::new().create(true).append(true).open(results))?;
    let all = Mutex::new((file, Vec::new(), None));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = suite.run(test);
                    let count = done.fetch_add(1, Ordering::Relaxed) + 1;
                    let mut all = all.lock().expect("no thread panics");
                    match result {
                        Ok(result) => {
                            if result.outcome.is_bad() || count % 100 == 0 || count == tests.len() {
                                say(format!("{count} of {}: {result}", tests.len()));
                            }
                            if let Err(reason) = writeln!(all.0, "{}", result.line()) {
                                all.2 = Some(XtaskError::Message(format!("{}: {reason}", results.display())));
                            }
                            all.1.push(result);
                        }
                        Err(reason) => all.2 = Some(reason),
                    }
                    if all.2.is_some() {
                        return;
                    }
                }
            });
        }
    });
    let (_, found, error) = all.into_inner().expect("no thread panics");
    error.map_or(Ok(found), Err)
}

/// Returns the table of rows with the totals, and the tests that did not pass.
fn summary(rows: &[SuiteRow], is_built: impl Fn(&SuiteRow) -> bool, results: &[TestResult]) -> String {
    let mut text = String::from(
        "| program | passed | failed | crashed | timed out | skipped | s |\n|---|---|---|---|---|---|---|\n",
    );
    let mut by_row: BTreeMap<String, Vec<&TestResult>> = BTreeMap::new();
    for result in results {
        by_row.entry(result.row.clone()).or_default().push(result);
    }
    let counted = |results: &[&TestResult]| {
        let count = |outcome| results.iter().filter(|it| it.outcome == outcome).count();
        let seconds: f64 = results.iter().map(|it| it.seconds).sum();
        let counts = TestOutcome::ALL.map(|outcome| count(outcome).to_string()).join(" | ");
        format!("{counts} | {seconds:.0} |\n")
    };
    for row in rows {
        match by_row.get(&row.title()) {
            Some(results) => _ = write!(text, "| {} | {}", row.title(), counted(results)),
            None if !is_built(row) => _ = writeln!(text, "| {} | not built | | | | | |", row.title()),
            None => {}
        }
    }
    _ = write!(text, "| all | {}", counted(&results.iter().collect::<Vec<_>>()));
    let mut bad: Vec<&TestResult> = results.iter().filter(|result| result.outcome.is_bad()).collect();
    bad.sort_by(|a, b| (&a.row, &a.test).cmp(&(&b.row, &b.test)));
    for result in bad {
        _ = write!(text, "\n{result}");
    }
    text.trim_end().to_string() + "\n"
}

/// `./x conformance`, called from a folder.
pub(crate) fn conformance(arguments: &ConformanceArguments, caller: &Path) -> XtaskResult {
    let suite = caller.join(&arguments.suite);
    let list = suite.join("test_conformance/opencl_conformance_tests_full.csv");
    if !list.is_file() {
        return Err(XtaskError::Usage("`conformance` takes a checkout of KhronosGroup/OpenCL-CTS".into()));
    }
    let tools = SuiteTools::find(&suite)?;
    let output = target().join("conformance");
    at(&output, fs::create_dir_all(&output))?;
    let build = arguments.build.as_ref().map_or_else(|| output.join("build"), |folder| caller.join(folder));
    let jobs = arguments.jobs.or(thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let programs = declared_programs(&build_files(&suite)?);
    let mut programs: Vec<_> = programs.into_iter().filter(|it| it.is_chosen(&arguments.only)).collect();
    if programs.is_empty() {
        return Err(XtaskError::Usage("no program of the suite has this word in its path".into()));
    }
    // Programs of interfaces that are left out, as Direct3D, are in the sources, but not in the build.
    let targets = tools.configure(&suite, &build)?;
    let targets: HashSet<&str> = targets.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    programs.retain(|program| targets.contains(program.name()));
    build_installed()?;
    tools.build(&build, &programs, jobs)?;
    let driver = release().join("libheddle_opencl.so");
    write(&output.join("vendors/heddle.icd"), format!("{}\n", driver.display()))?;
    let rows = suite_rows(&read(&list)?, &programs);
    let suite = SuiteRun { build, output, seconds: arguments.seconds, wimpy: arguments.wimpy, rows };
    let results = suite.output.join("results.tsv");
    if !arguments.resume && results.exists() {
        at(&results, fs::remove_file(&results))?;
    }
    let kept = if results.exists() { read(&results)? } else { String::new() };
    let mut kept: Vec<TestResult> = kept.lines().filter_map(TestResult::parse).collect();
    kept.retain(|result| suite.rows.iter().any(|row| row.title() == result.row));
    let mut tests = Vec::new();
    for (row, suite_row) in suite.rows.iter().enumerate() {
        for name in suite.tests(suite_row)? {
            let is_chosen =
                arguments.test.is_empty() || arguments.test.iter().any(|word| name.contains(word.as_str()));
            let is_kept = kept.iter().any(|it| it.row == suite_row.title() && it.test == name);
            if is_chosen && !is_kept {
                tests.push(SuiteTest { row, name });
            }
        }
    }
    say(format!(
        "{} tests, {} results kept; logs in {}",
        tests.len(),
        kept.len(),
        suite.output.join("logs").display()
    ));
    let mut found = kept;
    found.extend(run_tests(&suite, &tests, jobs, &results)?);
    let text = summary(&suite.rows, |row| suite.program_path(&row.program).is_file(), &found);
    print!("{text}");
    write(&suite.output.join("table.md"), &text)?;
    if found.iter().any(|result| result.outcome.is_bad()) { Err(XtaskError::Program(1)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{SuiteProgram, SuiteRow, TestOutcome, TestResult, declared_programs, suite_rows, summary};

    fn suite_program(path: &str) -> SuiteProgram {
        SuiteProgram { path: path.into() }
    }

    #[test]
    fn programs_are_declared_by_folders() {
        let files = [
            (
                "rows/wide".to_string(),
                "set(MODULE_NAME WIDE_ROWS)\nset(WIDE_ROWS_SOURCES main.cpp)\n".to_string(),
            ),
            ("columns".to_string(), "if(A)\n  set(MODULE_NAME columns )\nendif()\n".to_string()),
            (String::new(), "add_subdirectory(rows)\n".to_string()),
        ];
        let programs = ["columns/test_columns", "rows/wide/test_wide_rows"].map(suite_program);
        assert_eq!(declared_programs(&files), programs);
        assert_eq!(programs[1].name(), "test_wide_rows");
        assert!(programs[1].is_chosen(&[]) && programs[1].is_chosen(&["nothing".into(), "wide".into()]));
        assert!(!programs[1].is_chosen(&["columns".into()]));
    }

    #[test]
    fn rows_are_those_of_the_list_and_the_others() {
        let programs = ["a/test_a", "b/test_b", "c/test_c"].map(suite_program);
        let list = "# Comment, a/test_a\n\nA (one),a/test_a single 5 all\nDEVICE, A two,a/test_a\nC, c/test_c full* odd*\nD,d/test_d\n";
        let row = |program: usize, arguments: &[&str], beginnings: &[&str]| SuiteRow {
            program: programs[program].clone(),
            arguments: arguments.iter().map(|it| it.to_string()).collect(),
            beginnings: beginnings.iter().map(|it| it.to_string()).collect(),
        };
        let rows = [
            row(0, &["single", "5"], &[]),
            row(0, &[], &[]),
            row(2, &[], &["full", "odd"]),
            row(1, &[], &[]),
        ];
        assert_eq!(suite_rows(list, &programs), rows);
        assert_eq!(rows[0].title(), "a/test_a single 5");
    }

    #[test]
    fn tables_count_and_name_failures() {
        let rows = suite_rows("", &["a/test_a", "b/test_b"].map(suite_program));
        let result = |test: &str, outcome, message: &str| TestResult {
            row: "a/test_a".into(),
            test: test.into(),
            outcome,
            seconds: 1.5,
            message: message.into(),
        };
        let results = [
            result("one", TestOutcome::Passed, ""),
            result("two", TestOutcome::Crashed, "SIGSEGV"),
            result("three", TestOutcome::Skipped, "no rows"),
        ];
        let text = summary(&rows, |row| row.program.path == "a/test_a", &results);
        assert_eq!(
            text,
            "| program | passed | failed | crashed | timed out | skipped | s |\n\
             |---|---|---|---|---|---|---|\n\
             | a/test_a | 1 | 0 | 1 | 0 | 1 | 4 |\n\
             | b/test_b | not built | | | | | |\n\
             | all | 1 | 0 | 1 | 0 | 1 | 4 |\n\n\
             a/test_a two: crashed, 1.5 s: SIGSEGV\n"
        );
    }
}
