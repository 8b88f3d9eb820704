//! `heddle cache info`: lists what is kept on disk.

use crate::{CliError, CliResult};
use clap::{Args, Subcommand};

/// Inspect the cache on disk
#[derive(Args)]
pub(crate) struct CacheCommand {
    #[command(subcommand)]
    verb: CacheVerb,
}

#[derive(Subcommand)]
enum CacheVerb {
    /// Print the folder, the number of objects, and the codes chosen for launches
    Info,
}

impl CacheCommand {
    pub(crate) fn run(self) -> CliResult {
        let CacheVerb::Info = self.verb;
        let Some(summary) = heddle_runtime::summarize_cache() else {
            let reason = "no cache: HEDDLE_CACHE is 0, or no folder is writable";
            return Err(CliError::Usage(reason.to_string()));
        };
        let (count, bytes) = summary.objects;
        say_line!("{}", summary.folder.display());
        say_line!("{count} objects, {:.1} MiB", bytes as f64 / f64::from(1 << 20));
        say_line!("{} choices of codes", summary.choices.len());
        summary.choices.iter().for_each(|choice| say_line!("{choice}"));
        Ok(())
    }
}
