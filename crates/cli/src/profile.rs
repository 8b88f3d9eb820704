//! `heddle profile`: where lanes part in a run, what that costs, and what the divergence analysis says of it.

use crate::CliError;
use crate::report::{error, note, parse_stage, read_module, read_ptx, title};
use clap::Args;
use heddle_compiler::divergence::analyze_divergence;
use heddle_compiler::ir::module::DeclaredShape;
use heddle_compiler::ir::text::print_inst;
use heddle_compiler::ir::verify::Stage;
use heddle_compiler::ir::{Block, Function, Inst, Module, Op};
use heddle_compiler::transform::canonicalize;
use heddle_interp::{
    AccessProfile, CycleCosts, FunctionProfile, RunLimits, RunOptions, Scheduler, is_issued,
};
use heddle_runs::line::{Expectation, RunLine, parse_brush, parse_geometry, parse_scheduler};
use heddle_runs::trace_table::align;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

const COLUMNS: &str = "\
A warp-instruction is an instruction that the lanes of a brush execute together, however many are active. φs and jumps are
none. Cycles are estimated: 1 for each, 16 for quotients and roots, 4 for an access and 4 more for each piece of 128 bytes
after the first.

Example:
  heddle profile tests/transform/flatten-fig-5.hed --lanes 4 --arg '[1, 3, 2, 5]' --arg '[1, 2, 3, 1]'";

fn scheduler(word: &str) -> Result<Scheduler, String> {
    parse_scheduler(word).ok_or_else(|| "write `ipdom`, `greedy` or `random:SEED`".into())
}

/// Run a function on the interpreter and count where lanes part, which are active, and how memory is accessed
#[derive(Args)]
#[command(after_help = COLUMNS)]
pub(crate) struct ProfileRun {
    /// The file: `.hed` (`-` reads it from standard input), `.ll`, `.bc`, `.c`, `.cpp`, `.cl`, `.spv` or `.ptx`
    file: PathBuf,
    /// The function; may be left out where there is only one
    #[arg(long)]
    func: Option<String>,
    /// Lanes that run together, as a number or by dimension: `32`, `8x4`
    #[arg(long, default_value = "32", value_parser = parse_brush, value_name = "W")]
    lanes: std::vec::Vec<u32>,
    /// Launch over work-groups of this size: `64`, `8x8`
    #[arg(long, value_name = "SIZE")]
    local: Option<String>,
    /// Number of work-groups
    #[arg(long, default_value = "1", requires = "local", value_name = "COUNT")]
    groups: String,
    /// Bytes of dynamic shared memory of a kernel of PTX
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    shared: u64,
    /// An argument, as `heddle exec` takes it
    #[arg(long = "arg", allow_hyphen_values = true, value_name = "VALUE")]
    args: Vec<String>,
    /// An object of the memory, as `heddle exec` takes it
    #[arg(long = "mem", value_name = "NAME: TYPE VALUES")]
    objects: Vec<String>,
    /// Schedule of blocks: ipdom (a GPU's reconvergence stack), greedy, or random:SEED
    #[arg(long, default_value = "ipdom", value_parser = scheduler)]
    scheduler: Scheduler,
    /// The most blocks to execute
    #[arg(long, default_value_t = 100_000_000, value_name = "N")]
    limit: u64,
    /// The most work: about one unit for each instruction in each lane
    #[arg(long, default_value_t = 100_000_000_000, value_name = "N")]
    limit_work: u64,
    /// The stage that the file is at
    #[arg(long, default_value = "source", value_parser = parse_stage)]
    stage: Stage,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ProfileReport {
    scheduler: String,
    lanes: u32,
    functions: Vec<FunctionReport>,
    /// Branches that the analysis calls divergent and that did not diverge, of those that it calls so.
    false_positives: u64,
    called_divergent: u64,
    /// Branches that diverged although the analysis calls them uniform: there should be none.
    false_negatives: u64,
}

#[derive(Serialize)]
struct FunctionReport {
    name: String,
    warp_instructions: u64,
    cycles: u64,
    utilization: f64,
    blocks: Vec<BlockReport>,
    branches: Vec<BranchReport>,
    accesses: Vec<AccessReport>,
    loops: Vec<LoopReport>,
    lines: Vec<LineReport>,
}

#[derive(Serialize)]
struct BlockReport {
    block: String,
    line: Option<u32>,
    executions: u64,
    utilization: f64,
    /// Visits by number of active lanes: 0, 1, 2, …
    by_active_lanes: Vec<u64>,
    warp_instructions: u64,
    cycles: u64,
}

#[derive(Serialize)]
struct BranchReport {
    block: String,
    line: Option<u32>,
    executed: u64,
    diverged: u64,
    targets: Vec<(String, u64)>,
    /// Visits with an active lane on each edge.
    taken: Vec<u64>,
    /// Verdict of the divergence analysis for these arguments; none for sequential code.
    called_divergent: Option<bool>,
}

#[derive(Serialize)]
struct AccessReport {
    block: String,
    line: Option<u32>,
    inst: String,
    executed: u64,
    lanes: u64,
    uniform: u64,
    contiguous: u64,
    strided: u64,
    scattered: u64,
    segments_32: u64,
    segments_128: u64,
}

#[derive(Serialize)]
struct LoopReport {
    header: String,
    line: Option<u32>,
    /// Lanes that left it, with how many iterations each.
    trips: Vec<(u64, u64)>,
    mean: f64,
    /// Number of lanes, and iterations executed by any of them.
    lanes: u64,
    iterations: u64,
}

#[derive(Serialize, Default)]
struct LineReport {
    line: u32,
    warp_instructions: u64,
    cycles: u64,
    /// Instructions, times active lanes.
    lane_instructions: u64,
    utilization: f64,
}

impl ProfileRun {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let module = match self.file.extension().is_some_and(|extension| extension == "ptx") {
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
            brush: self.lanes.clone(),
            scheduler: self.scheduler.clone(),
            limits: RunLimits { steps: self.limit, work: self.limit_work, ..RunLimits::default() },
            profile: true,
            ..RunOptions::default()
        };
        if let Some(local) = &self.local {
            let geometry = parse_geometry(local, &self.groups, "0");
            options.geometry =
                Some(geometry.ok_or_else(|| CliError::Usage("sizes are written `64` or `8x8`".into()))?);
        }
        let lanes = options.width();
        let line = RunLine {
            func: func.clone(),
            args: self.args.clone(),
            objects: self.objects.clone(),
            options: options.clone(),
            names_scheduler: true,
            names_semantics: true,
            expected: Expectation::Runs,
        };
        let ran = line.run(&module, &options).map_err(|reason| CliError::Usage(reason.to_string()))?;
        let profile = match ran.outcome {
            Ok(outcome) => outcome.profile.unwrap_or_default(),
            Err(fault) => {
                error(&fault.located_message(&module));
                return Err(CliError::Program);
            }
        };
        let scheduler = match &self.scheduler {
            Scheduler::Ipdom => "ipdom".into(),
            Scheduler::Random(seed) => format!("random:{seed}"),
            Scheduler::Greedy | Scheduler::Replay(_) => "greedy".into(),
        };
        let mut report = ProfileReport {
            scheduler,
            lanes,
            functions: Vec::new(),
            false_positives: 0,
            called_divergent: 0,
            false_negatives: 0,
        };
        for (func, profile) in module.functions.iter().zip(&profile.functions) {
            let is_entry = func.name == line.func;
            let called = called_divergent(func, self.stage, if is_entry { &self.args } else { &[] });
            let function = function_report(func, profile, called.as_ref());
            if function.blocks.is_empty() {
                continue;
            }
            for branch in &function.branches {
                let called = branch.called_divergent == Some(true);
                report.called_divergent += u64::from(called);
                report.false_positives += u64::from(called && branch.diverged == 0);
                report.false_negatives +=
                    u64::from(branch.called_divergent == Some(false) && branch.diverged > 0);
            }
            report.functions.push(function);
        }
        if self.json {
            let text = serde_json::to_string_pretty(&report)
                .map_err(|reason| CliError::Usage(reason.to_string()))?;
            say_line!("{text}");
            return Ok(());
        }
        show(&report, &module);
        Ok(())
    }
}

/// Returns the branches that the divergence analysis finds divergent, by block; none for sequential code. Parameters
/// without a declared shape take that of their arguments.
fn called_divergent(func: &Function, stage: Stage, args: &[String]) -> Option<BTreeMap<Block, bool>> {
    let mut func = func.clone();
    for (param, arg) in func.signature.params.iter_mut().zip(args) {
        let is_varying = arg.starts_with('[') || arg.starts_with("linear");
        let shape = if is_varying { DeclaredShape::Varying } else { DeclaredShape::Uniform };
        param.shape.get_or_insert(shape);
    }
    // A switch becomes a chain of branches, the first of which stands where it stood.
    let switches: Vec<(Block, Inst)> =
        func.blocks().filter_map(|block| Some((block, func.terminator(block)?))).collect();
    let switches: Vec<(Block, heddle_compiler::ir::Value)> = (switches.into_iter())
        .filter(|&(_, inst)| func.inst(inst).op == Op::Switch)
        .map(|(block, inst)| (block, func.inst(inst).args[0]))
        .collect();
    if stage == Stage::Source {
        canonicalize(&mut func);
    }
    let (control, facts) = analyze_divergence(&func)?;
    let mut called: BTreeMap<Block, bool> =
        control.index.order().iter().map(|&block| (block, facts.is_divergent_branch(block))).collect();
    for (block, value) in switches {
        called.insert(block, !facts.shape(value).is_uniform());
    }
    Some(called)
}

fn line_of(func: &Function, inst: Option<Inst>) -> Option<u32> {
    inst.and_then(|inst| func.loc(inst)).map(|loc| loc.line)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn function_report(
    func: &Function,
    profile: &FunctionProfile,
    called: Option<&BTreeMap<Block, bool>>,
) -> FunctionReport {
    let cycles = CycleCosts::default();
    let (warp_instructions, taken) = profile.total(func, &cycles);
    let mut report = FunctionReport {
        name: func.name.clone(),
        warp_instructions,
        cycles: taken,
        utilization: 0.0,
        blocks: Vec::new(),
        branches: Vec::new(),
        accesses: Vec::new(),
        loops: Vec::new(),
        lines: Vec::new(),
    };
    let (mut active, mut all) = (0, 0);
    let mut lines: BTreeMap<u32, (LineReport, u64)> = BTreeMap::new();
    for block in func.blocks() {
        let counts = &profile.blocks[block];
        let executions = counts.executions();
        if executions == 0 {
            continue;
        }
        let (warp_instructions, taken) = profile.cost(func, block, &cycles);
        active += counts.active_lanes() * (warp_instructions / executions);
        all += counts.lanes * (warp_instructions / executions);
        let terminator = func.terminator(block);
        let name = block.to_string();
        report.blocks.push(BlockReport {
            block: name.clone(),
            line: func.block_insts(block).find_map(|inst| line_of(func, Some(inst))),
            executions,
            utilization: share(counts.active_lanes(), counts.lanes),
            by_active_lanes: counts.by_active_lanes.clone(),
            warp_instructions,
            cycles: taken,
        });
        let branch = &profile.branches[block];
        if branch.executed > 0
            && let Some(inst) = terminator
        {
            let targets = func.inst(inst).targets().iter().map(Block::to_string);
            report.branches.push(BranchReport {
                block: name.clone(),
                line: line_of(func, terminator),
                executed: branch.executed,
                diverged: branch.diverged,
                targets: targets.zip(branch.lanes.iter().copied()).collect(),
                taken: branch.taken.to_vec(),
                called_divergent: called.and_then(|called| called.get(&block).copied()),
            });
        }
        for inst in func.block_insts(block) {
            if let Some(line) = line_of(func, Some(inst)) {
                let (issued, taken) = profile.inst_cost(func, inst, executions, &cycles);
                let (sum, lanes) = lines.entry(line).or_default();
                sum.line = line;
                sum.warp_instructions += issued;
                sum.cycles += taken;
                if is_issued(func.inst(inst)) {
                    sum.lane_instructions += counts.active_lanes();
                    *lanes += counts.lanes;
                }
            }
            let access = &profile.accesses[inst];
            if access.executed > 0 {
                let &AccessProfile { executed, lanes, uniform, contiguous, strided, scattered, .. } = access;
                report.accesses.push(AccessReport {
                    block: name.clone(),
                    line: line_of(func, Some(inst)),
                    inst: print_inst(func, inst),
                    executed,
                    lanes,
                    uniform,
                    contiguous,
                    strided,
                    scattered,
                    segments_32: access.segments_32,
                    segments_128: access.segments_128,
                });
            }
        }
        let trips = &profile.loops[block].trips;
        if !trips.is_empty() {
            let left: u64 = trips.values().sum();
            let rounds: u64 = trips.iter().map(|(trips, lanes)| trips * lanes).sum();
            report.loops.push(LoopReport {
                header: name,
                line: line_of(func, terminator),
                trips: trips.iter().map(|(&trips, &lanes)| (trips, lanes)).collect(),
                mean: share(rounds, left),
                lanes: counts.lanes_each(),
                iterations: counts.executions(),
            });
        }
    }
    report.utilization = share(active, all);
    report.lines = lines
        .into_values()
        .map(|(sum, lanes)| LineReport { utilization: share(sum.lane_instructions, lanes), ..sum })
        .collect();
    report
}

/// A cell of a table.
fn cell(text: impl ToString) -> String {
    text.to_string()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn place(block: &str, line: Option<u32>) -> String {
    line.map_or(block.into(), |line| format!("{block} (line {line})"))
}

/// Visits by share of active lanes: 0, up to a quarter, a half, three quarters, below all, all.
fn histogram(counts: &[u64]) -> Vec<String> {
    let lanes = counts.len().saturating_sub(1).max(1);
    let mut buckets = [0u64; 6];
    for (active, count) in counts.iter().enumerate() {
        let bucket = match active {
            0 => 0,
            _ if active == lanes => 5,
            _ => 1 + (4 * active - 1) / lanes,
        };
        buckets[bucket.min(5)] += count;
    }
    buckets.iter().map(cell).collect()
}

fn table(name: &str, head: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    title(name);
    let mut all = vec![head.iter().map(cell).collect::<Vec<_>>()];
    all.extend(rows);
    say_line!("{}", align(&all));
}

fn show(report: &ProfileReport, module: &Module) {
    for func in &report.functions {
        title(&format!(
            "@{}: {} warp-instructions, about {} cycles; {} of {} lanes active on average ({})",
            func.name,
            func.warp_instructions,
            func.cycles,
            percent(func.utilization),
            report.lanes,
            report.scheduler
        ));
        let blocks = func.blocks.iter().map(|block| {
            let mut row =
                vec![place(&block.block, block.line), cell(block.executions), percent(block.utilization)];
            row.extend(histogram(&block.by_active_lanes));
            row.extend([cell(block.warp_instructions), cell(block.cycles)]);
            row
        });
        let head = [
            "block",
            "runs",
            "active",
            "none",
            "<=1/4",
            "<=1/2",
            "<=3/4",
            "<all",
            "all",
            "instructions",
            "cycles",
        ];
        table("blocks, by active lanes", &head, blocks.collect());
        let branches = func.branches.iter().map(|branch| {
            let ways: Vec<String> =
                branch.targets.iter().map(|(target, lanes)| format!("{target} {lanes}")).collect();
            let verdict = match branch.called_divergent {
                None => "",
                Some(true) => "divergent",
                Some(false) => "uniform",
            };
            vec![
                place(&branch.block, branch.line),
                cell(branch.executed),
                cell(branch.diverged),
                percent(share(branch.diverged, branch.executed)),
                cell(verdict),
                ways.join(", "),
            ]
        });
        table(
            "branches",
            &["block", "runs", "diverged", "share", "analysis", "lanes to"],
            branches.collect(),
        );
        let accesses = func.accesses.iter().map(|access| {
            let each = |count: u64| format!("{:.1}", share(count, access.executed));
            vec![
                place(&access.block, access.line),
                cell(access.executed),
                cell(access.uniform),
                cell(access.contiguous),
                cell(access.strided),
                cell(access.scattered),
                each(access.segments_32),
                each(access.segments_128),
                access.inst.clone(),
            ]
        });
        let head = [
            "block",
            "runs",
            "uniform",
            "contiguous",
            "strided",
            "scattered",
            "32 bytes",
            "128 bytes",
            "access",
        ];
        table("memory, with 128-byte segments per access", &head, accesses.collect());
        let loops = func.loops.iter().map(|it| {
            let words: Vec<String> =
                it.trips.iter().map(|(trips, lanes)| format!("{trips}x{lanes}")).collect();
            let shown =
                if words.len() > 8 { format!("{}/…", words[..8].join("/")) } else { words.join("/") };
            let left: u64 = it.trips.iter().map(|(_, lanes)| lanes).sum();
            vec![place(&it.header, it.line), cell(left), format!("{:.2}", it.mean), shown]
        });
        table(
            "loops, by iterations of each lane",
            &["header", "lanes", "mean", "iterations x lanes"],
            loops.collect(),
        );
        let lines = func.lines.iter().map(|line| {
            vec![cell(line.line), cell(line.warp_instructions), cell(line.cycles), percent(line.utilization)]
        });
        table("source lines", &["line", "instructions", "cycles", "active"], lines.collect());
    }
    if report.called_divergent > 0 {
        let (wrong, called) = (report.false_positives, report.called_divergent);
        say_line!(
            "false positives of the analysis: {wrong} of {called} branches that it reports as divergent did not diverge ({})",
            percent(share(wrong, called))
        );
    }
    if report.false_negatives > 0 {
        let count = report.false_negatives;
        note(&format!(
            "{count} branches diverged that the analysis reports as uniform: the analysis or a declaration is wrong, or, under `ipdom`, lanes waited in a loop for lanes of a later iteration (`--scheduler greedy` decides)"
        ));
    }
    let missing = module.functions.len() - report.functions.len();
    if missing > 0 {
        note(&format!("{missing} functions were not executed"));
    }
}
