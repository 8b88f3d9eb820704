//! `heddle cache info`: lists what is kept on disk.

use crate::{CliError, CliResult};
use clap::{Args, Subcommand};

/// Look at what is kept on disk
#[derive(Args)]
pub(crate) struct CacheCommand {
    #[command(subcommand)]
    verb: CacheVerb,
}

#[derive(Subcommand)]
enum CacheVerb {
    /// Say where the cache is, what it holds, and which codes were chosen for launches
    Info,
}

impl CacheCommand {
    pub(crate) fn run(self) -> CliResult {
        let CacheVerb::Info = self.verb;
        let Some(summary) = heddle_runtime::summarize_cache() else {
            let reason = "there is no cache: HEDDLE_CACHE is 0, or there is no folder for it";
            return Err(CliError::Usage(reason.to_string()));
        };
        let (count, bytes) = summary.objects;
        say_line!("{}", summary.folder.display());
        say_line!("{count} objects, {:.1} MiB", bytes as f64 / f64::from(1 << 20));
        say_line!("{} choices among codes", summary.choices.len());
        summary.choices.iter().for_each(|choice| say_line!("{choice}"));
        Ok(())
    }
}
