//! `heddle test`.

use crate::CliError;
use crate::report::{error, note};
use clap::Args;
use heddle_compiler::Session;
use heddle_testing::file_test::{find_files, test_file};
use std::path::PathBuf;

/// Run the file tests below a directory
#[derive(Args)]
pub(crate) struct FileTests {
    /// A directory, or one `.hed` file
    dir: PathBuf,
    /// Rewrite goldens that differ
    #[arg(long, env = "HEDDLE_BLESS", value_parser = clap::builder::FalseyValueParser::new())]
    bless: bool,
}

impl FileTests {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let usage = |reason: std::io::Error| CliError::Usage(format!("{}: {reason}", self.dir.display()));
        let files = find_files(&self.dir).map_err(usage)?;
        let (mut passed, mut failed) = (0, 0);
        for file in &files {
            let passes = |module: &mut heddle_compiler::ir::Module, names: &[&str]| {
                Session::default()
                    .run_passes(module, names, true, |_, _| ())
                    .map(drop)
                    .map_err(|reason| reason.to_string())
            };
            let result = test_file(file, passes, self.bless);
            if result.blessed {
                note(&format!("{}: golden rewritten", file.display()));
            }
            match result.failures.is_empty() {
                true => passed += 1,
                false => failed += 1,
            }
            for failure in &result.failures {
                error(&format!("{}: {failure}", file.display()));
            }
        }
        say_line!("{passed} passed, {failed} failed");
        match failed {
            0 => Ok(()),
            _ => Err(CliError::Program),
        }
    }
}
