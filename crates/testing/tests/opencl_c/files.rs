//! The files of `tests/opencl-c`: programs on the oracle, each with lines `; run:` as in .hed files.

use crate::folder;
use heddle_runs::line::RunLine;

#[test]
fn each_program_does_what_it_says() {
    let mut paths: Vec<_> = std::fs::read_dir(folder())
        .expect("the folder can be listed")
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|found| found == "cl"))
        .collect();
    paths.sort();
    assert!(paths.len() > 5, "{paths:?}");
    let mut wrong = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let name = path.display().to_string();
        let standard =
            text.lines().find_map(|line| line.strip_prefix("; options: ")).unwrap_or("-cl-std=CL3.0");
        let options: Vec<String> = standard.split(' ').map(Into::into).collect();
        let program = match heddle_builtins::compile(&text, &name, &options) {
            Ok(program) => program,
            Err(log) => {
                wrong.push(log);
                continue;
            }
        };
        wrong.extend(program.refused.iter().map(ToString::to_string));
        let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("; run:")).collect();
        assert!(!lines.is_empty(), "{name} runs nothing");
        for line in lines {
            let outcome = RunLine::parse(line.trim()).and_then(|run| {
                let ran = run.run(&program.module, &run.options)?;
                run.check(&program.module, &ran)
            });
            match outcome {
                Ok(None) => {}
                Ok(Some(found)) => wrong.push(format!("{name}: {line}\n  gives {found}")),
                Err(error) => wrong.push(format!("{name}: {line}\n  {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
