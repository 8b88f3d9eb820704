//! `heddle-mutants LIST TREE PLAN`: mutation testing with one build for many mutants.
//!
//! A build for each mutant would take minutes. So all mutants of a sample are *woven* into one copy of the sources, each
//! after a condition (`crate::mutated(7)`) that the environment selects, and one build serves them all.
//!
//! `LIST` is the output of `cargo mutants --list --json`, which defines the mutants. `TREE` is a copy of the sources,
//! which is overwritten.
#![forbid(unsafe_code)]

mod list;
mod equivalent;
mod weave;
mod build;
mod suites;
mod judge;

use list::{read_list, sample};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: heddle-mutants LIST TREE [--sample N] [--shard K] [--same FILE] [--out FILE]

  LIST         what `cargo mutants --list --json` printed
  TREE         a copy of the sources, which is overwritten
  --sample N   N mutants of each crate; default: all
  --shard K    the K-th such sample, from 1 on; no two have a mutant in common
  --weave M    weave in the first M samples, so that another one of them needs no other build; default: K
  --same FILE  mutants that mean the same as the program, and why
  --out FILE   where to write what became of each mutant

exit code: 0 every crate has its share, 1 one has not, or something failed, 2 usage";

struct MutantArguments {
    list: PathBuf,
    tree: PathBuf,
    sample: Option<usize>,
    shard: usize,
    woven: usize,
    same: Option<PathBuf>,
    out: Option<PathBuf>,
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<MutantArguments, String> {
    let (mut paths, mut sample, mut shard, mut woven) = (Vec::new(), None, 1, 1);
    let (mut same, mut out) = (None, None);
    while let Some(word) = words.next() {
        let mut number = || {
            let number = words.next().and_then(|it| it.parse::<usize>().ok()).filter(|&it| it > 0);
            number.ok_or(format!("{word} takes a number above 0"))
        };
        match &*word {
            "--sample" => sample = Some(number()?),
            "--shard" => shard = number()?,
            "--weave" => woven = number()?,
            "--same" => same = Some(words.next().ok_or("--same takes a file")?.into()),
            "--out" => out = Some(words.next().ok_or("--out takes a file")?.into()),
            word if word.starts_with('-') => return Err(format!("there is no option {word}")),
            _ => paths.push(PathBuf::from(word)),
        }
    }
    match <[PathBuf; 2]>::try_from(paths) {
        Ok([list, tree]) => {
            Ok(MutantArguments { list, tree, sample, shard, woven: woven.max(shard), same, out })
        }
        Err(_) => Err("a list and a tree are needed".into()),
    }
}

fn run(arguments: &MutantArguments) -> Result<bool, String> {
    let tree = &arguments.tree;
    let mut all = read_list(&arguments.list)?;
    if let Some(same) = &arguments.same {
        equivalent::mark(same, tree, &mut all)?;
    }
    let mut mutants = sample(&all, arguments.sample, arguments.woven);
    let suites = build::build(tree, &mut mutants)?;
    mutants.retain(|mutant| mutant.shard == arguments.shard);
    judge::judge(tree, &suites, &mut mutants)?;
    let report: String =
        mutants.iter().map(|mutant| format!("{}: {}\n", mutant.outcome, mutant.name)).collect();
    if let Some(out) = &arguments.out {
        std::fs::write(out, report).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    let mut ok = list::summarize(&all, &mutants);
    for mutant in equivalent::noticed(&mutants) {
        println!("it does not mean the same, a test notices it: {}", mutant.name);
        ok = false;
    }
    Ok(ok)
}

fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("heddle-mutants: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("heddle-mutants: {error}");
            ExitCode::FAILURE
        }
    }
}
