//! `heddle opt`.

use crate::Failure;
use crate::report::{error, parse_stage, read_module, title};
use clap::Args;
use heddle::ir::verify::{Stage, verify_module};
use heddle::pipeline::{PASSES, PassError, run_passes_with_remarks};
use std::path::PathBuf;

fn list_of_passes() -> String {
    let width = PASSES.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
    let lines = PASSES.iter().map(|pass| format!("  {:width$}  {}", pass.name, pass.doc));
    format!(
        "Passes:\n{}\n  {:width$}  all that makes vector code: `vectorize,W=8`, `vectorize,W=8x2,params=uniform`",
        lines.collect::<Vec<_>>().join("\n"),
        "vectorize"
    )
}

/// Check a file, run passes over it and print the result
#[derive(Args)]
#[command(after_help = list_of_passes())]
pub(crate) struct Opt {
    /// The file: `.hed` (`-` reads it from standard input), `.ll`, `.bc`, `.c`, `.cpp` or `.cl`
    file: PathBuf,
    /// Passes to run, in this order
    #[arg(short, long, value_delimiter = ',', value_name = "PASS,…")]
    passes: Vec<String>,
    /// The stage that the file is at
    #[arg(long, default_value = "source", value_parser = parse_stage)]
    stage: Stage,
    /// Check before and behind each pass what it needs and ensures
    #[arg(long)]
    verify: bool,
    /// Say what passes chose, and why: of `fuse` the profitability matrices
    #[arg(long)]
    explain: bool,
    /// Print the program behind each pass
    #[arg(long)]
    dump_each: bool,
    /// Write the result here instead of printing it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Opt {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut module = read_module(&self.file, self.stage)?;
        let explained = |name: &String| match (name.as_str(), self.explain) {
            ("fuse", true) => "fuse:explain".to_string(),
            (fuse, true) if fuse.starts_with("fuse:") => format!("{fuse}+explain"),
            _ => name.clone(),
        };
        let passes: Vec<String> = self.passes.iter().map(explained).collect();
        let names: Vec<&str> = passes.iter().map(String::as_str).collect();
        let done = run_passes_with_remarks(&mut module, &names, self.verify, |pass, module| {
            if self.dump_each {
                title(&format!("; behind {}", pass.name));
                say_line!("{module}");
            }
        });
        match done {
            Ok(remarks) => {
                for remark in remarks.iter().filter(|_| self.explain) {
                    let line = remark.loc.map_or(String::new(), |loc| format!(":{}", loc.line));
                    eprintln!("@{}{line}: {}", remark.func, remark.text);
                }
            }
            Err(reason @ PassError::Unknown { .. }) => return Err(Failure::Usage(reason.to_string())),
            Err(reason) => {
                error(&reason.to_string());
                return Err(Failure::Program);
            }
        }
        if names.is_empty() && self.verify && verify_module(&module, self.stage).is_err() {
            return Err(Failure::Program);
        }
        match &self.output {
            Some(path) => std::fs::write(path, module.to_string())
                .map_err(|reason| Failure::Usage(format!("{}: {reason}", path.display()))),
            None => {
                if !self.dump_each || names.is_empty() {
                    say!("{module}");
                }
                Ok(())
            }
        }
    }
}
