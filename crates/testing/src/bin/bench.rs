//! `bench NAME` runs a benchmark, `bench NAME FAMILY` its growth on one family of programs, `bench` lists them;
//! `--resume` continues an interrupted run, `--quick` makes few launches. Exit code 1 means wrong results, 2 an unknown name.
#![forbid(unsafe_code)]

use heddle_testing::bench::BENCHES;
use heddle_testing::bench::kit::BenchReport;
use heddle_testing::say_line;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let mut take = |option: &str| {
        let count = names.len();
        names.retain(|name| name != option);
        names.len() < count
    };
    let (resumes, is_quick, asks) = (take("--resume"), take("--quick"), take("--help") | take("-h"));
    let list = || {
        let width = BENCHES.iter().map(|bench| bench.name.len()).max().unwrap_or(0);
        BENCHES.iter().map(|bench| format!("{:width$}  {}\n", bench.name, bench.about)).collect::<String>()
    };
    let usage = "usage: bench [NAME [FAMILY]] [--resume] [--quick]";
    let (name, family) = match &names[..] {
        _ if asks => {
            say_line!("{usage}\n\n{}", list().trim_end());
            return ExitCode::SUCCESS;
        }
        names if names.iter().any(|name| name.starts_with('-')) => {
            eprint!("{usage}\n\n{}", list());
            return ExitCode::from(2);
        }
        [] => {
            say_line!("{}", list().trim_end());
            return ExitCode::SUCCESS;
        }
        [name] => (name, None),
        [name, family] => (name, Some(family.clone())),
        _ => {
            eprint!("{usage}\n\n{}", list());
            return ExitCode::from(2);
        }
    };
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        eprint!("there is no benchmark `{name}`; there are:\n\n{}", list());
        return ExitCode::from(2);
    };
    let mut report = BenchReport::on(family);
    if resumes {
        report = report.resuming();
    }
    if is_quick {
        report = report.quick();
    }
    (bench.run)(&mut report);
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
