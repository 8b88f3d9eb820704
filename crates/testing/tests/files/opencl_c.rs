//! The files of `tests/opencl-c`: programs on the oracle, each with lines `; run:` as in .hed files.

use heddle_runs::line::RunLine;
use std::path::Path;

pub(crate) fn check(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("it can be read");
    let standard = text.lines().find_map(|line| line.strip_prefix("; options: ")).unwrap_or("-cl-std=CL3.0");
    let options: Vec<String> = standard.split(' ').map(Into::into).collect();
    let program = match heddle_builtins::compile(&text, &path.display().to_string(), &options) {
        Ok(program) => program,
        Err(log) => return vec![log],
    };
    let mut wrong: Vec<String> = program.refused.iter().map(ToString::to_string).collect();
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("; run:")).collect();
    if lines.is_empty() {
        wrong.push("it runs nothing".into());
    }
    for line in lines {
        let outcome = RunLine::parse(line.trim()).and_then(|run| {
            let ran = run.run(&program.module, &run.options)?;
            run.check(&program.module, &ran)
        });
        match outcome {
            Ok(None) => {}
            Ok(Some(found)) => wrong.push(format!("{line}\n  gives {found}")),
            Err(error) => wrong.push(format!("{line}\n  {error}")),
        }
    }
    wrong
}
