//! `heddle cache`: lists, copies, fills and deletes what is kept on disk.

use crate::report::{fail, tell};
use crate::{CliError, CliResult};
use clap::{Args, Subcommand};
use heddle_library::Program;
use heddle_llvm::{Language, ObjectCache, language_of};
use heddle_runtime::user_caches;
use std::path::{Path, PathBuf};

/// Inspect, copy, fill or delete the cache on disk
#[derive(Args)]
pub(crate) struct CacheCommand {
    #[command(subcommand)]
    verb: CacheVerb,
}

#[derive(Subcommand)]
enum CacheVerb {
    /// Print the folder, the number of objects, and the codes chosen for launches
    Info,
    /// Copy all entries to a folder, for `HEDDLE_CACHE_SEED` or `import` on other machines
    Export {
        /// The folder; it may exist
        folder: PathBuf,
    },
    /// Add the entries of an exported folder
    Import {
        /// The folder
        folder: PathBuf,
    },
    /// Compile the kernels of files in OpenCL C or SPIR-V as most launches take them
    Warm {
        /// OpenCL C, or SPIR-V (`.spv`)
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Options of clBuildProgram, in a line
        #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
        options: String,
    },
    /// Delete all entries
    Clear,
}

/// Caches of a folder as `export` writes it.
fn exported(folder: &Path, own: &[ObjectCache; 3]) -> [ObjectCache; 3] {
    own.each_ref().map(|cache| {
        let name = cache.folder().file_name().unwrap_or_default();
        ObjectCache::at(folder.join(name))
    })
}

fn copy(from: &[ObjectCache; 3], into: &[ObjectCache; 3]) -> CliResult {
    let mut count = 0;
    for (from, into) in from.iter().zip(into) {
        let copied = into.import(from);
        count +=
            copied.map_err(|reason| CliError::Usage(format!("{}: {reason}", into.folder().display())))?;
    }
    say_line!("{count} entries copied to {}", into[0].folder().parent().unwrap_or(Path::new(".")).display());
    Ok(())
}

/// Compiles the kernels of a file; prints those that have no code.
fn warm(file: &Path, options: &str) -> CliResult {
    let program = match language_of(file) {
        Some(Language::Spirv) => {
            let words = std::fs::read(file);
            let words = words.map_err(|reason| CliError::Usage(format!("{}: {reason}", file.display())))?;
            Program::from_spirv(&words, options)
        }
        _ => Program::from_opencl_c_with(&heddle_llvm::read_source(file).map_err(fail)?, options),
    };
    let program = program.map_err(fail)?;
    let refused = program.prepare_kernels();
    refused.iter().flat_map(|error| &error.diagnostics).for_each(tell);
    let kernels = program.kernel_names().count();
    say_line!("{}: {} of {kernels} kernels compiled", file.display(), kernels - refused.len());
    if refused.is_empty() { Ok(()) } else { Err(CliError::Program) }
}

impl CacheCommand {
    pub(crate) fn run(self) -> CliResult {
        let Some(caches) = user_caches() else {
            let reason = "no cache: HEDDLE_CACHE is 0, or no folder is writable";
            return Err(CliError::Usage(reason.to_string()));
        };
        match self.verb {
            CacheVerb::Info => print_summary(),
            CacheVerb::Export { folder } => copy(&caches, &exported(&folder, &caches))?,
            CacheVerb::Import { folder } => copy(&exported(&folder, &caches), &caches)?,
            CacheVerb::Warm { files, options } => files.iter().try_for_each(|file| warm(file, &options))?,
            CacheVerb::Clear => {
                let counts: Result<Vec<usize>, _> = caches.iter().map(ObjectCache::clear).collect();
                let counts = counts.map_err(|reason| CliError::Usage(reason.to_string()))?;
                say_line!("{} entries deleted", counts.iter().sum::<usize>());
            }
        }
        Ok(())
    }
}

/// Prints the cache's folder and size in a line.
pub(crate) fn print_size() {
    let Some(summary) = heddle_runtime::summarize_cache() else { return };
    let (count, bytes) = summary.objects;
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    say_line!("cache: {}, {count} objects, {mebibytes:.1} MiB", summary.folder.display());
}

fn print_summary() {
    let Some(summary) = heddle_runtime::summarize_cache() else { return };
    let (count, bytes) = summary.objects;
    say_line!("{}", summary.folder.display());
    say_line!("{count} objects, {:.1} MiB", bytes as f64 / f64::from(1 << 20));
    say_line!("{} choices of codes", summary.choices.len());
    summary.choices.iter().for_each(|choice| say_line!("{choice}"));
}
