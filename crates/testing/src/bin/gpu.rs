//! `gpu export FILE [--programs N] [--short N] [--choices N] [--rows N] [--no-written] [--timed]`: writes PTX, inputs and expected
//! memory for `tests/cuda/gpu.py`.
#![forbid(unsafe_code)]

use heddle_testing::gpu::{ExportPlan, GpuModule, export, export_timed};
use heddle_testing::say_line;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::process::ExitCode;

const USAGE: &str = "usage: gpu export FILE [--programs N] [--short N] [--choices N] [--rows N] [--no-written] [--timed]

Writes PTX programs with their inputs and the memory that the oracle leaves, as JSON lines for tests/cuda/gpu.py.

  --programs N   generated programs (default 2000)
  --short N      generated programs of one to three statements (default 2000)
  --choices N    choices of modifiers for each instruction form (default 24)
  --rows N       rows of operands for each choice (default 128)
  --no-written   without the tables, files and CUDA kernels of tests/
  --timed        instead: kernels to time, before and after passes

exit code: 0 written, 1 a program does not run on the oracle or the file cannot be written, 2 usage";

struct ExportArguments {
    file: String,
    plan: ExportPlan,
    is_timed: bool,
}

fn arguments(mut words: impl Iterator<Item = String>) -> Option<ExportArguments> {
    let mut plan =
        ExportPlan { programs: 2000, short_programs: 2000, choices: 24, rows: 128, has_written: true };
    let mut is_timed = false;
    if words.next()? != "export" {
        return None;
    }
    let file = words.next()?;
    while let Some(word) = words.next() {
        match &*word {
            "--no-written" => plan.has_written = false,
            "--timed" => is_timed = true,
            _ => {
                let number: u32 = words.next()?.parse().ok()?;
                match &*word {
                    "--programs" => plan.programs = number.into(),
                    "--short" => plan.short_programs = number.into(),
                    "--choices" => plan.choices = number as usize,
                    "--rows" => plan.rows = number as usize,
                    _ => return None,
                }
            }
        }
    }
    Some(ExportArguments { file, plan, is_timed })
}

fn write(arguments: &ExportArguments) -> Result<(), String> {
    let file = File::create(&arguments.file).map_err(|reason| format!("{}: {reason}", arguments.file))?;
    let mut file = BufWriter::new(file);
    let (mut modules, mut cases) = (0u64, 0);
    let mut take = |module: GpuModule| {
        modules += 1;
        cases += module.len();
        writeln!(file, "{}", module.line()).map_err(|reason| reason.to_string())
    };
    match arguments.is_timed {
        true => export_timed(&mut take)?,
        false => export(&arguments.plan, &mut take)?,
    }
    file.flush().map_err(|reason| reason.to_string())?;
    say_line!("{}: {modules} modules, {cases} cases", arguments.file);
    Ok(())
}

fn main() -> ExitCode {
    let Some(arguments) = arguments(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match write(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("gpu: {reason}");
            ExitCode::FAILURE
        }
    }
}
