//! `heddle exec`: on the oracle, or natively.

use crate::CliError;
use crate::report::{error, fail, note, parse_stage, read_module, read_ptx};
use clap::{Args, ValueEnum};
use heddle_compiler::ir::Value;
use heddle_compiler::ir::verify::Stage;
use heddle_interp::{PassiveSemantics, RunLimits, RunOptions, Scheduler};
use heddle_llvm::ObjectCache;
use heddle_runs::line::{
    Expectation, RunLine, RunLineOutcome, parse_brush, parse_geometry, parse_scheduler, parse_semantics,
};
use heddle_runs::native::{NativeError, NativeOptions, run_native};
use heddle_runs::spec::{object_values, show_data, show_result};
use heddle_runs::trace_table::{trace_json, trace_table};
use std::path::PathBuf;
use std::time::Duration;

const LITERALS: &str = "\
Arguments (--arg, one for each parameter, in order):
  5  -3  0xff  1.5  true  null  poison   the same value in all lanes
  [9, 1, 6, 2]                           one value for each lane
  linear(0, 4)                           a base, and a stride for each step along each brush dimension
  <1, 2, 3, 4>                           a vector
  &a  &a+8                               the address of an object of the memory

Memory (--mem, one for each object):
  'a: i32 [9, 1, 6, 2]'                  an object in global memory, by its values
  'b: local f32 zero 16'                 16 zeros in local memory; also `constant`
  'c: i8 poison 64'                      64 bytes that were never written
  'd: i64 [&a, &a+4]'                    addresses of objects named before

Example:
  heddle exec tests/ir/steps-source.hed --func steps --lanes 4 \\
      --mem 'a: i32 [9, 1, 6, 2]' --arg '&a' --arg 1 --arg true --trace text";

#[derive(Clone, Copy, ValueEnum)]
enum TraceFormat {
    /// A table
    Text,
    /// JSON
    Json,
}

fn scheduler(word: &str) -> Result<Scheduler, String> {
    parse_scheduler(word).ok_or_else(|| "write `greedy`, `random:SEED` or `ipdom`".into())
}

fn semantics(word: &str) -> Result<PassiveSemantics, String> {
    parse_semantics(word).ok_or_else(|| "write `freezing` or `oblivious`".into())
}

fn seconds(word: &str) -> Result<Duration, String> {
    let seconds = word.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "write seconds: `2`, `0.5`, or `0` for no limit".into())
}

/// Options that only the oracle supports.
const OF_THE_ORACLE: [&str; 11] = [
    "trace",
    "watch",
    "scheduler",
    "semantics",
    "local",
    "groups",
    "offset",
    "limit",
    "limit_work",
    "limit_calls",
    "stats",
];

/// Run a function on the interpreter, all lanes in lock-step
#[derive(Args)]
#[command(after_help = LITERALS)]
pub(crate) struct Exec {
    /// The file: `.hed` (`-` reads it from standard input), `.ll`, `.bc`, `.c`, `.cpp`, `.cl`, `.spv` or `.ptx`
    file: PathBuf,
    /// The function; may be left out where there is only one
    #[arg(long)]
    func: Option<String>,
    /// Lanes of the brush, as a number or by dimension: `8`, `4x2` [default: 4; of PTX 32, a warp]
    #[arg(long, value_parser = parse_brush, value_name = "W")]
    lanes: Option<std::vec::Vec<u32>>,
    /// Bytes of dynamic shared memory of a kernel of PTX
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    shared: u64,
    /// An argument
    #[arg(long = "arg", allow_hyphen_values = true, value_name = "VALUE")]
    args: Vec<String>,
    /// An object of the memory
    #[arg(long = "mem", value_name = "NAME: TYPE VALUES")]
    objects: Vec<String>,
    /// Print every step
    #[arg(long, value_name = "FORMAT")]
    trace: Option<TraceFormat>,
    /// Values to show in the trace, all lanes of each
    #[arg(long, value_delimiter = ',', value_name = "v1,v2")]
    watch: Vec<String>,
    /// Schedule of blocks: greedy, random:SEED, or ipdom (a GPU's reconvergence stack)
    #[arg(long, default_value = "greedy", value_parser = scheduler)]
    scheduler: Scheduler,
    /// Variables of lanes that do not execute: freezing keeps them, oblivious makes them poison
    #[arg(long, default_value = "freezing", value_parser = semantics)]
    semantics: PassiveSemantics,
    /// Launch over work-groups of this size: `64`, `8x8`
    #[arg(long, value_name = "SIZE")]
    local: Option<String>,
    /// Number of work-groups
    #[arg(long, default_value = "1", requires = "local", value_name = "COUNT")]
    groups: String,
    /// Least global index
    #[arg(long, default_value = "0", requires = "local", value_name = "INDEX")]
    offset: String,
    /// The most blocks to execute
    #[arg(long, default_value_t = RunLimits::default().steps, value_name = "N")]
    limit: u64,
    /// The most work: about one unit for each instruction in each lane
    #[arg(long, default_value_t = RunLimits::default().work, value_name = "N")]
    limit_work: u64,
    /// The most bytes held at once, with what tracing and looking for races take
    #[arg(long, default_value_t = RunLimits::default().memory, value_name = "N")]
    limit_memory: u64,
    /// The most calls inside of each other
    #[arg(long, default_value_t = RunLimits::default().calls, value_name = "N")]
    limit_calls: u64,
    /// Round `fmuladd` once
    #[arg(long)]
    fused: bool,
    /// Print what was counted
    #[arg(long)]
    stats: bool,
    /// The stage that the file is at
    #[arg(long, default_value = "source", value_parser = parse_stage)]
    stage: Stage,
    /// Run it as compiled vector code instead, in a process of its own. Nothing is checked there: that the program stays
    /// inside of its objects is your promise
    #[arg(long, conflicts_with_all = OF_THE_ORACLE)]
    native: bool,
    /// Time limit of native code in seconds; 0 is no limit
    #[arg(long, default_value = "10", value_parser = seconds, requires = "native", value_name = "SECONDS")]
    timeout: Duration,
    /// Compile native code anew, and keep none
    #[arg(long, requires = "native")]
    no_cache: bool,
}

impl Exec {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let is_ptx = self.file.extension().is_some_and(|extension| extension == "ptx");
        let module = match is_ptx {
            true => read_ptx(&self.file, self.shared)?,
            false => read_module(&self.file, self.stage)?,
        };
        let func = match (&self.func, &module.functions[..]) {
            (Some(name), _) => name.trim_start_matches('@').to_string(),
            (None, [only]) => only.name.clone(),
            (None, all) => {
                let names: Vec<String> = all.iter().map(|func| format!("@{}", func.name)).collect();
                return Err(CliError::Usage(format!("choose a function with --func: {}", names.join(", "))));
            }
        };
        let mut options = RunOptions {
            brush: self.lanes.clone().unwrap_or_else(|| vec![if is_ptx { 32 } else { 4 }]),
            semantics: self.semantics,
            scheduler: self.scheduler.clone(),
            limits: RunLimits {
                steps: self.limit,
                work: self.limit_work,
                memory: self.limit_memory,
                calls: self.limit_calls,
            },
            detect_races: true,
            trace: self.trace.is_some(),
            fused: self.fused,
            ..RunOptions::default()
        };
        if let Some(local) = &self.local {
            let geometry = parse_geometry(local, &self.groups, &self.offset);
            let usage = || CliError::Usage("sizes are written `64` or `8x8`".into());
            options.geometry = Some(geometry.ok_or_else(usage)?);
        }
        let run = RunLine {
            func,
            args: self.args.clone(),
            objects: self.objects.clone(),
            options: options.clone(),
            names_scheduler: true,
            names_semantics: true,
            expected: Expectation::Runs,
        };
        if self.native {
            let limit = Some(self.timeout).filter(|limit| !limit.is_zero());
            let cache = if self.no_cache { None } else { ObjectCache::of_user() };
            let native = NativeOptions { limit, cache, ..NativeOptions::default() };
            let ran = run_native(&module, &run, &native).map_err(|reason| match reason {
                NativeError::Line(_) | NativeError::Lanes { .. } => CliError::Usage(reason.to_string()),
                NativeError::Refused(message) => fail(message),
                _ => {
                    error(&reason.to_string());
                    CliError::Program
                }
            })?;
            return self.show(&module, &run, &ran);
        }
        let ran = run.run(&module, &options).map_err(|reason| CliError::Usage(reason.to_string()))?;
        self.show(&module, &run, &ran)
    }

    fn show(
        &self,
        module: &heddle_compiler::ir::Module,
        run: &RunLine,
        ran: &RunLineOutcome,
    ) -> Result<(), CliError> {
        let outcome = match &ran.outcome {
            Ok(outcome) => outcome,
            Err(fault) => {
                error(&fault.located_message(module));
                return Err(CliError::Program);
            }
        };
        let number = |name: &String| name.trim().strip_prefix('v')?.parse().ok().map(Value::from_u32);
        let watched: Option<Vec<Value>> = self.watch.iter().map(number).collect();
        let watched = watched.ok_or_else(|| CliError::Usage("--watch takes values: v1,v2".into()))?;
        match self.trace {
            Some(TraceFormat::Text) => {
                say!("{}", trace_table(&outcome.trace, module, &watched));
            }
            Some(TraceFormat::Json) => say!("{}", trace_json(&outcome.trace, module)),
            None => {}
        }
        if let Some(race) = &outcome.race {
            note(&format!("race: {race}"));
        }
        if matches!(self.trace, Some(TraceFormat::Json)) {
            return Ok(());
        }
        if let Some(func) = module.function(&run.func) {
            let lanes = run.options.width() as usize;
            for (index, (data, result)) in outcome.results.iter().zip(&func.signature.results).enumerate() {
                say_line!("result {index}: {}", show_result(data, result.ty, lanes));
            }
        }
        for spec in &ran.objects {
            say_line!("{}: {}", spec.name, show_data(&object_values(spec, &ran.memory), spec.element));
        }
        if self.stats {
            let counters = outcome.counters;
            say_line!(
                "{} blocks ({} with no active lane), {} uniform and {} divergent branches, {} lane operations",
                counters.steps,
                counters.empty_steps,
                counters.uniform_branches,
                counters.divergent_branches,
                counters.lane_operations
            );
        }
        Ok(())
    }
}
