//! Generated programs and wrong calls: `./x fuzz`.

use crate::builds::{build_installed, tool};
use crate::run::{XtaskError, XtaskResult, cargo, pass};
use clap::Args;

/// Arguments of `./x fuzz`.
#[derive(Args, Debug, Default)]
pub(crate) struct FuzzVerbArguments {
    /// Topics of programs (`--topics` lists them); without one all share the time
    ///
    /// Or one of these: `cuda` and `opencl` call all entries of a driver with wrong arguments, a million times; `spirv` changes
    /// 100,000 modules, which are taken or refused, and evaluates a tenth as many generated ones.
    #[arg(value_name = "TOPIC")]
    words: Vec<String>,
    /// Minutes after which to stop, also 0.5 (default 1)
    #[arg(long, value_name = "N")]
    minutes: Option<f64>,
    /// First seed (default 1)
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Number of programs of each topic, of calls or of modules
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Number of threads (default: one a core)
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Instruction sets of topics that run vector code, with commas between: sse4.2, avx2, avx512, neon (emulated)
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Of the topic `dimensions`: one kernel in N runs natively, too (default 4)
    #[arg(long, value_name = "N")]
    natively: Option<u64>,
    /// List the topics of programs
    #[arg(long)]
    topics: bool,
}

impl FuzzVerbArguments {
    /// Arguments of all topics together.
    pub(crate) fn all_topics(minutes: f64, seed: u64) -> FuzzVerbArguments {
        FuzzVerbArguments { minutes: Some(minutes), seed: Some(seed), ..FuzzVerbArguments::default() }
    }

    /// Returns the words of the program that generates programs.
    fn words(&self) -> Vec<String> {
        let mut words = self.words.clone();
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [format!("--{name}"), value]));
        };
        option("minutes", self.minutes.map(|number| number.to_string()));
        option("seed", self.seed.map(|number| number.to_string()));
        option("count", self.count.map(|number| number.to_string()));
        option("jobs", self.jobs.map(|number| number.to_string()));
        option("target", self.target.clone());
        option("natively", self.natively.map(|number| number.to_string()));
        if self.topics { vec!["--help".into()] } else { words }
    }

    /// Returns count and seed of a topic of its own, which takes nothing else.
    fn count_and_seed(&self, topic: &str, count: u64) -> XtaskResult<(u64, u64)> {
        let takes_more = self.minutes.is_some()
            || self.jobs.is_some()
            || self.target.is_some()
            || self.natively.is_some()
            || self.topics;
        if self.words.len() > 1 || takes_more {
            return Err(XtaskError::Usage(format!("`fuzz {topic}` takes --count N and --seed S only")));
        }
        Ok((self.count.unwrap_or(count), self.seed.unwrap_or(1)))
    }

    fn call_driver(&self, driver: &str) -> XtaskResult {
        let (count, seed) = self.count_and_seed(driver, 1_000_000)?;
        let mut test = cargo("test");
        test.args([
            "--release",
            "-p",
            &format!("heddle-{driver}"),
            "--test",
            "arguments",
            "--",
            "--nocapture",
        ]);
        pass(test.env("HEDDLE_FUZZ_CALLS", count.to_string()).env("HEDDLE_FUZZ_SEED", seed.to_string()))
    }

    fn change_modules(&self) -> XtaskResult {
        let (count, seed) = self.count_and_seed("spirv", 100_000)?;
        let mut test = cargo("test");
        test.args(["--release", "-p", "heddle-testing", "--test", "opencl_c", "--", "--nocapture"]);
        test.args(["changed_modules", "generated_modules"]);
        test.env("HEDDLE_FUZZ_MODULES", count.to_string());
        test.env("HEDDLE_FUZZ_PROGRAMS", (count / 10).to_string());
        pass(test.env("HEDDLE_FUZZ_SEED", seed.to_string()))
    }
}

/// `./x fuzz`
pub(crate) fn fuzz(arguments: &FuzzVerbArguments) -> XtaskResult {
    match arguments.words.first().map(|word| &**word) {
        Some(driver @ ("cuda" | "opencl")) => return arguments.call_driver(driver),
        Some("spirv") => return arguments.change_modules(),
        Some("marked-loops" | "marked-nests") => build_installed()?,
        _ => {}
    }
    pass(tool("fuzz")?.args(arguments.words()))
}

#[cfg(test)]
mod tests {
    use super::FuzzVerbArguments;
    use crate::run::XtaskError;

    #[test]
    fn options_go_on_to_the_program() {
        let some = FuzzVerbArguments {
            words: vec!["widen".into()],
            minutes: Some(0.5),
            seed: Some(7),
            target: Some("neon".into()),
            ..FuzzVerbArguments::default()
        };
        assert_eq!(some.words(), ["widen", "--minutes", "0.5", "--seed", "7", "--target", "neon"]);
        let list = FuzzVerbArguments { topics: true, ..some };
        assert_eq!(list.words(), ["--help"]);
    }

    #[test]
    fn wrong_calls_take_count_and_seed_only() {
        let mut calls =
            FuzzVerbArguments { words: vec!["cuda".into()], seed: Some(3), ..FuzzVerbArguments::default() };
        assert_eq!(calls.count_and_seed("cuda", 10), Ok((10, 3)));
        calls.minutes = Some(1.0);
        assert!(matches!(calls.count_and_seed("cuda", 10), Err(XtaskError::Usage(_))));
    }
}
