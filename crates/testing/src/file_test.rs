//! File tests: a function's text, the command to run on it, and the expected result, in one `.hed` file.
//!
//! ```text
//! ; test opt passes=canonicalize stage=canonical     the command (below)
//! ; One sentence that states the property.
//! ; counts: blocks=7 phi=3                           written by hand; blessing does not touch it
//! ; counts after vectorize,W=4: hot=9 masked=0      the same after other passes; runs must agree there, too
//! ; run: @f(1, [2, 3]) lanes=2 -> [5, 6]             runs before and after, under every kind of schedule
//! ; after: @f(1, [2, 3]) lanes=2 -> [5, 6]          the same, after the passes only
//! ; profile: @f(1, [2, 3]) lanes=2                  its profiles before and after are part of the golden
//! func @f…
//! ; output                                           the golden: HEDDLE_BLESS=1 rewrites what follows
//! ; func @f…
//! ```
//!
//! Commands: `verify [stage=S]` (verifies, prints and parses back; the default), `errors [stage=S]` (each
//! `; error: TEXT` is a part of one message of parser or verifier, on its own line for the parser, and there are no
//! other messages), `opt passes=P,… [stage=S]` (runs passes, verifies the result at the stage; where a `; refused: TEXT`
//! says so, a pass refuses, with this in its message), `trace [watch=v1,v2]`
//! (the trace of the first run is the golden), `divergence [lanes=W] [params=uniform|declared] [entry=all|some]`
//! (comments state uniformity claims, see `annotations.rs`), `baselines [lanes=W] [params=…]` (comments say
//! what each published analysis takes for uniform, see `baseline_annotations.rs`). Where a run names no scheduler, greedy and four random ones are tried;
//! from stage Uniform on, both semantics are.

use crate::annotations;
use crate::baseline_annotations;
use crate::baselines_oracle::UniformityObservation;
use crate::counts::count;
use crate::profiled::summary;
use crate::shapes_oracle::{Claims, check_trace};
use heddle_analysis::explain::find_unexplained;
use heddle_analysis::shape::Geometry;
use heddle_analysis::{Activation, InitialShapes, ResultSummaries};
use heddle_interp::{PassiveSemantics, RunOptions, Scheduler};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Function, Module, Value, parse_bytes};
use heddle_runs::line::{RunLine, parse_extents};
use heddle_runs::trace_table::trace_table;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Runs passes on a module, by name; `Err` names an unknown pass.
pub type RunPasses = fn(&mut Module, &[&str]) -> Result<(), String>;

/// Result of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileResult {
    /// The file.
    pub path: PathBuf,
    /// Error messages; empty on success.
    pub failures: Vec<String>,
    /// True if the golden was rewritten.
    pub blessed: bool,
}

/// True if the file is a transcript of a command (`; heddle opt FILE …`), which the command's own tests run.
fn is_of_command(path: &Path) -> bool {
    let mut start = [0; 9];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"; heddle "
}

/// All `.hed` files below a directory that are file tests (or the file itself), in order.
pub fn find_files(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    if root.is_file() {
        return Ok(vec![root.to_path_buf()]);
    }
    let (mut files, mut work) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(dir) = work.pop() {
        for entry in std::fs::read_dir(&dir)? {
            let path = entry?.path();
            if path.is_dir() {
                work.push(path);
            } else if path.extension().is_some_and(|extension| extension == "hed") && !is_of_command(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Tests one file; with `bless` rewrites its golden.
pub fn test_file(path: &Path, passes: RunPasses, bless: bool) -> FileResult {
    let mut result = FileResult { path: path.to_path_buf(), failures: Vec::new(), blessed: false };
    let source = match std::fs::read(path) {
        Ok(source) => source,
        Err(error) => {
            result.failures.push(error.to_string());
            return result;
        }
    };
    let text = String::from_utf8_lossy(&source).into_owned();
    let mut test = FileTest { text: &text, failures: Vec::new() };
    let golden = test.run(&source, passes);
    result.failures = test.failures;
    if let Some(golden) = golden {
        let (before, after) = split_golden(&text);
        if after != golden {
            if bless && result.failures.is_empty() {
                let mut new = before.trim_end().to_string();
                new.push_str("\n\n; output\n");
                for line in golden.lines() {
                    let _ = writeln!(new, "{}", format!("; {line}").trim_end());
                }
                match std::fs::write(path, new) {
                    Ok(()) => result.blessed = true,
                    Err(error) => result.failures.push(error.to_string()),
                }
            } else {
                result.failures.push(difference(&after, &golden));
            }
        }
    }
    result
}

/// Returns the failures of a file's runs under other passes than it names. Goldens and counts are not compared.
pub fn failures_with_passes(path: &Path, passes: RunPasses) -> std::io::Result<Vec<String>> {
    let text = std::fs::read_to_string(path)?;
    let lines = split_golden(&text).0.lines().filter(|line| !line.starts_with("; counts"));
    let program: String = lines.map(|line| format!("{line}\n")).collect();
    let mut test = FileTest { text: &program, failures: Vec::new() };
    test.run(program.as_bytes(), passes);
    Ok(test.failures)
}

/// The text before the golden, and the golden.
fn split_golden(text: &str) -> (&str, String) {
    let Some(at) = text.find("\n; output\n") else { return (text, String::new()) };
    let lines = text[at + "\n; output\n".len()..].lines();
    let golden =
        lines.map(|line| format!("{}\n", line.strip_prefix("; ").or(line.strip_prefix(';')).unwrap_or(line)));
    (&text[..at], golden.collect())
}

fn difference(expected: &str, found: &str) -> String {
    let mut lines = expected.lines().zip(found.lines()).enumerate();
    let first = lines.find(|(_, (expected, found))| expected != found);
    let at = match first {
        Some((at, (expected, found))) => format!("line {}: expected `{expected}`, found `{found}`", at + 1),
        None => format!("{} lines expected, {} found", expected.lines().count(), found.lines().count()),
    };
    format!("the golden differs, {at}\n{found}(HEDDLE_BLESS=1 rewrites it)")
}

/// Assumptions of a divergence test.
struct DivergenceAssumptions {
    brush: Option<Vec<u32>>,
    params_are_uniform: bool,
    some_enter: bool,
}

struct FileTest<'t> {
    text: &'t str,
    failures: Vec<String>,
}

impl FileTest<'_> {
    fn fail(&mut self, failure: impl Into<String>) {
        self.failures.push(failure.into());
    }

    fn directives(&self, name: &str) -> Vec<(usize, String)> {
        let lines = split_golden(self.text).0.lines().enumerate();
        lines
            .filter_map(|(number, line)| {
                let at = line.find(';')?;
                let comment = line[at + 1..].trim();
                Some((number + 1, comment.strip_prefix(name)?.trim().to_string()))
            })
            .collect()
    }

    fn run(&mut self, source: &[u8], passes: RunPasses) -> Option<String> {
        let command =
            self.directives("test ").into_iter().next().map_or("verify".into(), |(_, command)| command);
        let mut words = command.split_whitespace();
        let kind = words.next().unwrap_or("verify");
        let (mut stage, mut names, mut watch) = (Stage::Source, Vec::new(), Vec::new());
        let mut assumed = DivergenceAssumptions { brush: None, params_are_uniform: false, some_enter: false };
        for word in words {
            match word.split_once('=') {
                Some(("stage", name)) => match Stage::from_name(name) {
                    Some(named) => stage = named,
                    None => self.fail(format!("there is no stage `{name}`")),
                },
                Some(("passes", list)) => names = list.split(',').collect(),
                Some(("watch", list)) => {
                    let number = |name: &str| name.strip_prefix('v')?.parse().ok().map(Value::from_u32);
                    watch = list.split(',').filter_map(number).collect();
                }
                Some(("lanes", lanes)) if matches!(kind, "divergence" | "baselines") => {
                    assumed.brush = parse_extents(lanes)
                }
                Some(("params", "uniform")) => assumed.params_are_uniform = true,
                Some(("params", "declared")) => assumed.params_are_uniform = false,
                Some(("entry", "some")) => assumed.some_enter = true,
                Some(("entry", "all")) => assumed.some_enter = false,
                _ => self.fail(format!("`{word}` is no option of `{kind}`")),
            }
        }
        if kind == "errors" {
            self.check_errors(source, stage);
            return None;
        }
        let mut module = match parse_bytes(source) {
            Ok(module) => module,
            Err(diagnostics) => {
                diagnostics.iter().for_each(|diagnostic| self.fail(diagnostic.to_string()));
                return None;
            }
        };
        let before = if kind == "opt" { Stage::Source } else { stage };
        self.check_module(&module, before);
        self.check_counts_after(&module, passes);
        let before_passes = module.clone();
        let golden = match kind {
            "verify" => {
                self.check_runs(&module, stage);
                None
            }
            "opt" => {
                self.check_runs(&module, Stage::Source);
                let refused = self.directives("refused:");
                match (passes(&mut module, &names), &refused[..]) {
                    (Ok(()), []) => {}
                    (Err(error), [(_, text)]) if error.contains(text) => return None,
                    (Ok(()), _) => self.fail("nothing was refused"),
                    (Err(error), _) => self.fail(error),
                }
                self.check_module(&module, stage);
                self.check_runs(&module, stage);
                self.check_runs_of(&module, stage, "after:");
                let profiles = self.profiles([&before_passes, &module]);
                Some(module.to_string() + &profiles)
            }
            "trace" => {
                self.check_runs(&module, stage);
                self.trace(&module, &watch)
            }
            "divergence" => {
                self.check_runs(&module, stage);
                self.check_divergence(&module, &assumed);
                None
            }
            "baselines" => {
                self.check_runs(&module, stage);
                self.check_baselines(&module, &assumed);
                None
            }
            _ => {
                self.fail(format!("`{kind}` is none of verify, errors, opt, trace, divergence, baselines"));
                None
            }
        };
        self.check_counts(&module, golden.as_deref().filter(|_| kind == "trace"));
        golden
    }

    fn check_module(&mut self, module: &Module, stage: Stage) {
        if let Err(violations) = verify_module(module, stage) {
            self.fail(format!("not at stage {stage}:\n{violations}"));
        }
        let printed = module.to_string();
        match parse_bytes(printed.as_bytes()) {
            Ok(again) if again.to_string() == printed => {}
            Ok(again) => self.fail(difference(&printed, &again.to_string())),
            Err(diagnostics) => self.fail(format!("what is printed does not parse: {}", diagnostics[0])),
        }
    }

    fn check_errors(&mut self, source: &[u8], stage: Stage) {
        // Messages with the line they are about; the verifier's are about the function.
        let mut messages: Vec<(Option<usize>, String)> = match parse_bytes(source) {
            Err(diagnostics) => diagnostics
                .iter()
                .map(|diagnostic| (Some(diagnostic.place.line as usize), diagnostic.to_string()))
                .collect(),
            Ok(module) => match verify_module(&module, stage) {
                Ok(()) => Vec::new(),
                Err(violations) => violations.iter().map(|violation| (None, violation.to_string())).collect(),
            },
        };
        for (line, text) in self.directives("error:") {
            let matches = |(at, message): &(Option<usize>, String)| {
                at.is_none_or(|at| at == line) && message.contains(&text)
            };
            match messages.iter().position(matches) {
                Some(index) => _ = messages.remove(index),
                None => self.fail(format!("line {line}: no message says `{text}`")),
            }
        }
        for (_, message) in messages {
            self.fail(format!("not expected: {message}"));
        }
    }

    fn run_lines(&mut self, directive: &str) -> Vec<(usize, RunLine)> {
        let mut runs = Vec::new();
        for (line, text) in self.directives(directive) {
            match RunLine::parse(&text) {
                Ok(run) => runs.push((line, run)),
                Err(error) => self.fail(format!("line {line}: {error}")),
            }
        }
        runs
    }

    fn check_runs(&mut self, module: &Module, stage: Stage) {
        self.check_runs_of(module, stage, "run:");
    }

    fn check_runs_of(&mut self, module: &Module, stage: Stage, directive: &str) {
        for (line, run) in self.run_lines(directive) {
            let schedulers = match run.names_scheduler {
                true => vec![run.options.scheduler.clone()],
                false => std::iter::once(Scheduler::Greedy).chain((1..=4).map(Scheduler::Random)).collect(),
            };
            let semantics = match (run.names_semantics, stage) {
                (false, Stage::Uniform | Stage::Linear | Stage::Wide)
                    if run.options.scheduler != Scheduler::Ipdom =>
                {
                    vec![PassiveSemantics::Freezing, PassiveSemantics::Oblivious]
                }
                _ => vec![run.options.semantics],
            };
            let both = semantics.iter().flat_map(|&semantics| {
                schedulers.iter().map(move |scheduler| (semantics, scheduler.clone()))
            });
            for (semantics, scheduler) in both {
                let shown = format!("{semantics:?}, {scheduler:?}");
                let mut options = RunOptions { semantics, scheduler, ..run.options.clone() };
                // Wide code is sequential: its lanes are the elements of its vectors.
                if stage == Stage::Wide && module.function(&run.func).is_some() {
                    options.brush = vec![1];
                }
                let differs = run.run(module, &options).and_then(|ran| run.check(module, &ran));
                match differs {
                    Ok(None) => {}
                    Ok(Some(found)) => self.fail(format!("line {line}, {shown}: {found}")),
                    Err(error) => self.fail(format!("line {line}: {error}")),
                }
            }
        }
    }

    /// Formats the profiles before and after the passes, under a reconvergence stack.
    fn profiles(&mut self, modules: [&Module; 2]) -> String {
        let mut text = String::new();
        for (line, run) in self.run_lines("profile:") {
            let _ = writeln!(
                text,
                "\nprofile of @{}({}), {} lanes",
                run.func,
                run.args.join(", "),
                run.options.width()
            );
            for (when, module) in ["before", "after"].into_iter().zip(modules) {
                match summary(module, &run) {
                    Ok(reported) => _ = writeln!(text, "  {when}: {reported}"),
                    Err(reason) => self.fail(format!("line {line}, {when}: {reason}")),
                }
            }
        }
        text
    }

    fn check_divergence(&mut self, module: &Module, assumed: &DivergenceAssumptions) {
        let claims = |brush: Option<&[u32]>| -> Vec<Option<Claims<'_>>> {
            let geometry = brush.map_or_else(Geometry::unknown, Geometry::brush);
            let callees = ResultSummaries::infer(module, &geometry);
            let of = |func| {
                let initial = match assumed.params_are_uniform {
                    true => InitialShapes::uniform(func, geometry.clone()),
                    false => InitialShapes::declared(func, geometry.clone()),
                };
                let initial = initial.with_summaries(&callees);
                let entry = if assumed.some_enter { Activation::Varying } else { Activation::Full };
                Claims::new(func, initial.with_entry(entry), brush.unwrap_or(&[1]))
            };
            module.functions.iter().map(of).collect()
        };
        let all = claims(assumed.brush.as_deref());
        for (func, claims) in module.functions.iter().zip(&all) {
            match claims {
                None => self.fail(format!("@{} is irreducible", func.name)),
                Some(claims) => {
                    for node in find_unexplained(func, &claims.control, &claims.divergence) {
                        self.fail(format!("@{}: nothing explains {node:?}", func.name));
                    }
                }
            }
        }
        for failure in annotations::check(self.text, module, &all) {
            self.fail(failure);
        }
        for (line, run) in self.run_lines("run:") {
            let claims = claims(Some(&run.options.brush));
            for scheduler in std::iter::once(Scheduler::Greedy).chain((1..=6).map(Scheduler::Random)) {
                let options = RunOptions { trace: true, scheduler, ..run.options.clone() };
                let ran = run.run(module, &options).map(|ran| ran.outcome);
                if let Ok(Ok(outcome)) = ran
                    && let Err(reason) = check_trace(module, &claims, &outcome.trace)
                {
                    self.fail(format!("line {line}, {:?}: {reason}", options.scheduler));
                }
            }
        }
    }

    fn check_baselines(&mut self, module: &Module, assumed: &DivergenceAssumptions) {
        let mut observed = vec![UniformityObservation::default(); module.functions.len()];
        for (_, run) in self.run_lines("run:") {
            for scheduler in std::iter::once(Scheduler::Greedy).chain((1..=6).map(Scheduler::Random)) {
                let options = RunOptions { trace: true, scheduler, ..run.options.clone() };
                if let Ok(Ok(outcome)) = run.run(module, &options).map(|ran| ran.outcome) {
                    for (number, (func, observed)) in module.functions.iter().zip(&mut observed).enumerate() {
                        observed.add(func, number, &outcome.trace);
                    }
                }
            }
        }
        let geometry = assumed.brush.as_deref().map_or_else(Geometry::unknown, Geometry::brush);
        let initial = |func: &Function| match assumed.params_are_uniform {
            true => InitialShapes::uniform(func, geometry.clone()),
            false => InitialShapes::declared(func, geometry.clone()),
        };
        for failure in baseline_annotations::check(self.text, module, &observed, &initial) {
            self.fail(failure);
        }
    }

    fn trace(&mut self, module: &Module, watch: &[Value]) -> Option<String> {
        let (line, run) = self.run_lines("run:").into_iter().next()?;
        let options = RunOptions { trace: true, ..run.options.clone() };
        match run.run(module, &options) {
            Ok(ran) => match ran.outcome {
                Ok(outcome) => Some(trace_table(&outcome.trace, module, watch)),
                Err(fault) => {
                    self.fail(format!("line {line}: {fault}"));
                    None
                }
            },
            Err(error) => {
                self.fail(format!("line {line}: {error}"));
                None
            }
        }
    }

    /// Compares the counts written by hand, and of a trace its `steps`.
    fn check_counts(&mut self, module: &Module, trace: Option<&str>) {
        for (line, counts) in self.directives("counts:") {
            self.check_line_of_counts(line, &counts, |name| match (name, trace) {
                ("steps", Some(trace)) => Some(trace.lines().count().saturating_sub(1)),
                _ => count(module, name),
            });
        }
    }

    /// Compares what is written by hand of what other passes make of the module, and runs that.
    fn check_counts_after(&mut self, module: &Module, passes: RunPasses) {
        for (line, text) in self.directives("counts after ") {
            let Some((names, counts)) = text.split_once(": ") else {
                self.fail(format!("line {line}: write `counts after PASSES: NAME=COUNT…`"));
                continue;
            };
            let mut module = module.clone();
            if let Err(error) = passes(&mut module, &names.split(',').collect::<Vec<_>>()) {
                self.fail(format!("line {line}: {error}"));
                continue;
            }
            let stages = [Stage::Wide, Stage::Linear, Stage::Uniform, Stage::Canonical];
            let stage = stages.into_iter().find(|&stage| verify_module(&module, stage).is_ok());
            self.check_runs(&module, stage.unwrap_or(Stage::Source));
            self.check_line_of_counts(line, counts, |name| count(&module, name));
        }
    }

    fn check_line_of_counts(&mut self, line: usize, counts: &str, count: impl Fn(&str) -> Option<usize>) {
        for word in counts.split_whitespace() {
            let Some((name, expected)) = word.split_once('=') else {
                self.fail(format!("line {line}: `{word}` is no count"));
                continue;
            };
            match count(name) {
                Some(found) if expected == found.to_string() => {}
                Some(found) => self.fail(format!("line {line}: {name}={found}, expected {expected}")),
                None => self.fail(format!("line {line}: nothing is called `{name}`")),
            }
        }
    }
}
