//! `heddle opt`.

use crate::analyze::with_facts;
use crate::report::{error, fail, note, parse_stage, read, read_profile, say_times, tell, title};
use crate::{CliError, CliResult};
use clap::Args;
use heddle_compiler::Session;
use heddle_compiler::context::PassContext;
use heddle_compiler::ir::Module;
use heddle_compiler::ir::verify::{Stage, verify_module};
use heddle_compiler::passes::{PASSES, Pass};
use heddle_runs::side_by_side::side_by_side;
use std::path::PathBuf;

fn list_of_passes() -> String {
    let width = PASSES.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
    let lines = PASSES.iter().map(|pass| {
        let options = (pass.options)().into_iter();
        let options = options.map(|word| format!("\n  {:width$}    {}: {}", "", word.form, word.help));
        format!("  {:width$}  {}{}", pass.name, pass.doc, options.collect::<String>())
    });
    format!(
        "Passes, with the words of their arguments (`PASS:WORD+WORD`):\n{}\n  {:width$}  the whole pipeline to vector code: `vectorize,W=8`, `vectorize,W=8x2,params=uniform`",
        lines.collect::<Vec<_>>().join("\n"),
        "vectorize"
    )
}

/// Check a file, run passes over it and print the result
#[derive(Args)]
#[command(after_help = list_of_passes())]
pub(crate) struct Opt {
    /// The file: `.hed` (`-` reads it from standard input), `.ll`, `.bc`, `.c`, `.cpp`, `.cl`, `.spv` or `.ptx`
    file: PathBuf,
    /// Passes to run, in this order
    #[arg(short, long, value_delimiter = ',', value_name = "PASS,…")]
    passes: Vec<String>,
    /// The stage that the file is at
    #[arg(long, default_value = "source", value_parser = parse_stage)]
    stage: Stage,
    /// Verify the stage before and after each pass
    #[arg(long)]
    verify: bool,
    /// Print the choices of passes with their reasons; for `fuse` with the profitability matrices
    #[arg(long)]
    explain: bool,
    /// Profile of `heddle profile FILE --json`: `boscc`, `fuse`, `flatten` and `ssrqp` choose by its branch and trip counts
    #[arg(long, value_name = "JSON")]
    profile: Option<PathBuf>,
    /// Print the program after each pass, with shapes and divergence in comments
    #[arg(long)]
    dump_each: bool,
    /// Print the time of each pass
    #[arg(long)]
    time_passes: bool,
    /// Run the kernels (or functions) before and after the passes on random inputs, and compare the results
    #[arg(long)]
    check: bool,
    /// Write the result here instead of printing it; of a `.ptx` file as PTX
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Flags for clang, after `--`
    #[arg(last = true, value_name = "FLAG")]
    clang: Vec<String>,
}

/// Number of inputs that a function is run on.
const INPUTS: u32 = 12;

/// Compares each function before and after the passes.
fn compare(before: &Module, after: &Module) -> CliResult {
    let mut differs = false;
    for compared in side_by_side(before, after, INPUTS) {
        let name = &compared.func;
        match (&compared.difference, &compared.reason) {
            (Some(difference), _) => {
                differs = true;
                error(&format!("@{name} computes something else after the passes: {difference}"));
            }
            (None, Some(reason)) => note(&format!(
                "@{name}: the same on {} inputs; {} inputs are not accepted ({reason})",
                compared.agreed, compared.skipped
            )),
            (None, None) => note(&format!("@{name}: the same on {} inputs", compared.agreed)),
        }
    }
    if differs { Err(CliError::Program) } else { Ok(()) }
}

impl Opt {
    pub(crate) fn run(self) -> CliResult {
        let session = Session::default();
        let mut module = read(&session, &self.file, self.stage, &self.clang)?.module;
        let source = self.check.then(|| module.clone());
        let names: Vec<&str> = self.passes.iter().map(String::as_str).collect();
        let mut passes = Session::parse_passes(&names).map_err(fail)?;
        for pass in &mut passes {
            if let Pass::Fuse(options) = pass {
                options.explain |= self.explain;
            }
        }
        let mut stage = self.stage;
        let mut context = PassContext::verifying(self.verify);
        if let Some(path) = &self.profile {
            context = context.profiled(read_profile(path)?, &mut module).map_err(fail)?;
        }
        let mut context = context.watched(|pass, module| {
            stage = pass.ensures.unwrap_or(stage);
            if self.dump_each {
                title(&format!("; after {}", pass.name));
                say_line!("{}", with_facts(module, stage));
            }
        });
        session.run(&mut module, &passes, &mut context).map_err(fail)?;
        if self.explain {
            context.remarks.iter().for_each(|remark| tell(&remark.diagnostic));
        }
        if self.time_passes {
            say_times(&context.times);
        }
        if let Some(source) = &source {
            compare(source, &module)?;
        }
        if names.is_empty() && self.verify && verify_module(&module, self.stage).is_err() {
            return Err(CliError::Program);
        }
        if self.output.is_none() && self.dump_each && !names.is_empty() {
            return Ok(());
        }
        let is_ptx = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "ptx");
        let text = match self.output.as_ref().is_some_and(is_ptx) {
            true => session.ptx(&module, is_ptx(&self.file)).map_err(fail)?,
            false => module.to_string(),
        };
        crate::report::write(self.output.as_deref(), text.as_bytes())
    }
}
