//! Ways to compile nests, and programs that time them: one for each file of nests, with the objects of all ways.

use crate::bench::kit::BenchReport;
use crate::bench::loops::{TimedLoop, done, plugin, read};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One way to compile the nests. Its name ends names in C.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NestWay {
    pub(super) name: String,
    compiler: &'static str,
    options: Vec<String>,
    pub(super) has_plugin: bool,
}

impl NestWay {
    fn new(name: &str, compiler: &'static str, options: &[&str]) -> NestWay {
        let options = options.iter().map(|&option| option.into()).collect();
        NestWay { name: name.into(), compiler, options, has_plugin: false }
    }

    pub(super) fn by_clang(name: &str, options: &[&str]) -> NestWay {
        NestWay::new(name, "clang-22", options)
    }

    pub(super) fn by_gcc(name: &str, options: &[&str]) -> NestWay {
        NestWay::new(name, "gcc", options)
    }

    pub(super) fn ours(name: &str, options: &[&str]) -> NestWay {
        NestWay { has_plugin: true, ..NestWay::by_clang(name, options) }
    }

    /// True if results have the bits of clang's scalar code: one front end decides where operations are contracted.
    pub(super) fn is_exact(&self) -> bool {
        self.compiler != "gcc"
    }

    fn command(&self) -> Result<Command, String> {
        let mut command = Command::new(self.compiler);
        if self.has_plugin {
            command.arg(format!("-fpass-plugin={}", plugin()?.display()));
        }
        command.args(["-O3", "-fno-math-errno", "-w", "-c"]).arg(format!("-march={}", machine()));
        command.args(&self.options).arg(format!("-DWAY={}", self.name));
        Ok(command)
    }
}

/// One file of nests, and its type `REAL` if it has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NestFile {
    name: &'static str,
    text: &'static str,
    real: Option<&'static str>,
}

macro_rules! nest_file {
    ($name:literal, $real:expr) => {
        NestFile { name: $name, text: include_str!($name), real: $real }
    };
}

/// Stencils on doubles, as the thesis has them.
pub(super) const THESIS: NestFile = nest_file!("stencils.c", Some("double"));

pub(super) const FILES: &[NestFile] = &[
    nest_file!("nests.c", None),
    THESIS,
    nest_file!("stencils.c", Some("float")),
    nest_file!("grids.c", Some("double")),
    nest_file!("grids.c", Some("float")),
    nest_file!("images.c", None),
    nest_file!("products.c", Some("double")),
    nest_file!("products.c", Some("float")),
];

impl NestFile {
    /// Names of its nests: the first text of each row of its table.
    pub(super) fn families(self) -> impl Iterator<Item = &'static str> {
        let rows = self.text.lines().map(str::trim_start);
        let names =
            rows.filter_map(|row| row.strip_prefix("{\"").or_else(|| row.strip_prefix("ON_REALS(\"")));
        names.filter_map(|row| row.split('"').next())
    }
}

/// Least operations of a step of a nest (`nest_counts` in `nests.h`), and the memory that a run touches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct StepCounts {
    /// Number of steps of a run.
    pub(super) steps: f64,
    pub(super) loads: f64,
    pub(super) cells: f64,
    pub(super) stores: f64,
    pub(super) operations: f64,
    /// Bytes of a number that is computed, loaded and stored.
    pub(super) lane: f64,
    pub(super) loaded: f64,
    pub(super) stored: f64,
    /// Bytes that a run touches.
    pub(super) footprint: f64,
}

impl StepCounts {
    fn read(fields: &[&str]) -> Option<StepCounts> {
        let numbers: Vec<f64> = fields.iter().map(|field| field.parse().ok()).collect::<Option<_>>()?;
        let &[steps, loads, cells, stores, operations, lane, loaded, stored, footprint] = &*numbers else {
            return None;
        };
        Some(StepCounts { steps, loads, cells, stores, operations, lane, loaded, stored, footprint })
    }
}

/// Times of one nest and size.
pub(super) struct NestTimes {
    pub(super) counts: StepCounts,
    pub(super) timed: TimedLoop,
}

/// Rows of all nests, and the version of the library, if one was timed.
#[derive(Default)]
pub(super) struct NestRows {
    pub(super) rows: Vec<NestTimes>,
    pub(super) library: Option<String>,
}

/// The machine to compile for: `HEDDLE_CPU` as for the front ends, else this one.
pub(super) fn machine() -> String {
    std::env::var("HEDDLE_CPU").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "native".into())
}

/// A folder that is removed with the value.
pub(super) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub(super) fn new(name: &str) -> Result<ScratchFolder, String> {
        let folder = std::env::temp_dir().join(format!("heddle-bench-tensor-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|reason| format!("{}: {reason}", folder.display()))?;
        Ok(ScratchFolder(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/tensor")
}

/// True if clang has Polly.
pub(super) fn has_polly() -> bool {
    let mut command = Command::new("clang-22");
    command.args(["-O3", "-mllvm", "-polly", "-x", "c", "-c", "-o", "/dev/null", "/dev/null"]);
    command.output().is_ok_and(|output| output.status.success())
}

/// OpenBLAS: the file that `HEDDLE_OPENBLAS` names, or the wheel's below the target folder.
fn library() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("HEDDLE_OPENBLAS") {
        return Some(named.into());
    }
    let release = std::env::current_exe().ok()?;
    let library =
        release.parent()?.parent()?.join("tools/openblas/scipy_openblas64/lib/libscipy_openblas64_.so");
    library.exists().then_some(library)
}

/// True if nests are compiled for this machine, and it has AVX-512.
fn has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    return machine() == "native" && std::is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Times all nests of these files, or the one of this name.
pub(super) fn measure<'a>(
    report: &mut BenchReport,
    ways: &[NestWay],
    files: impl Iterator<Item = &'a NestFile>,
    only: Option<&str>,
) -> Result<NestRows, String> {
    let folder = ScratchFolder::new("nests")?;
    let mut rows = NestRows::default();
    for file in files {
        let program = program_of(report, ways, file, folder.path())?;
        report.progress(format!("timing: {}", file.name));
        let mut command = Command::new(&program);
        // OpenBLAS takes a Zen 5 for a Haswell.
        let is_named = std::env::var_os("OPENBLAS_CORETYPE").is_some();
        command.envs((has_avx512() && !is_named).then_some(("OPENBLAS_CORETYPE", "SkylakeX")));
        let output = done(command.arg(only.unwrap_or("")).args(library()))?;
        read_rows(&String::from_utf8_lossy(&output), ways.len(), &mut rows)?;
    }
    Ok(rows)
}

fn program_of(
    report: &mut BenchReport,
    ways: &[NestWay],
    file: &NestFile,
    folder: &Path,
) -> Result<PathBuf, String> {
    let mut objects = Vec::new();
    for way in ways {
        report.progress(format!("compiling: {}, {}", file.name, way.name));
        let object = folder.join(format!("{}.o", way.name));
        let mut command = way.command()?;
        command.args(file.real.map(|real| format!("-DREAL={real}")));
        done(command.arg(sources().join(file.name)).arg("-o").arg(&object))?;
        objects.push(object);
    }
    let applied: Vec<String> = ways.iter().map(|way| format!("apply({})", way.name)).collect();
    let program = folder.join("tensor");
    let mut command = Command::new("clang-22");
    command.arg("-O2").arg(format!("-DNEST_WAYS(apply)={}", applied.join(" "))).arg("-o").arg(&program);
    let around = ["driver.c", "library.c", "../loops/ways.c", "../loops/given.c"];
    done(command.args(around.map(|name| sources().join(name))).args(&objects).arg("-lm"))?;
    Ok(program)
}

fn read_rows(text: &str, ways: usize, rows: &mut NestRows) -> Result<(), String> {
    let mut counted: Option<(&str, StepCounts)> = None;
    for line in text.lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let misread = || format!("not understood: {line}");
        match &*fields {
            ["library", version] => rows.library = Some((*version).into()),
            ["counts", name, counts @ ..] => {
                counted = Some((name, StepCounts::read(counts).ok_or_else(misread)?));
            }
            _ => {
                let timed = read(line).filter(|one| (ways..=ways + 1).contains(&one.samples.len()));
                let timed = timed.ok_or_else(misread)?;
                let (_, counts) =
                    counted.take().filter(|(name, _)| *name == timed.name).ok_or_else(misread)?;
                rows.rows.push(NestTimes { counts, timed });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_the_rows_of_tables() {
        assert!(THESIS.families().eq([
            "jacobi-5",
            "jacobi-9",
            "seidel-9",
            "seidel-25",
            "sparse jacobi-5",
            "star of 9",
            "jacobi-5 in tiles",
            "jacobi-9 in tiles",
            "seidel-9 in tiles",
            "seidel-25 in tiles",
            "sparse jacobi-5 in tiles",
            "matrix transpose"
        ]));
        assert!(FILES.iter().all(|file| file.families().count() > 3));
    }

    #[test]
    fn rows_have_counts_of_their_own() {
        let text = "library;One 1.0\ncounts;a, 4x4;16;5;1;1;5;8;8;8;256\na, 4x4;5;0;0;0;0;0;1;2;3;4;5\n";
        let mut rows = NestRows::default();
        read_rows(text, 5, &mut rows).expect("it is understood");
        assert_eq!((rows.library.as_deref(), rows.rows[0].counts.footprint), (Some("One 1.0"), 256.0));
        assert_eq!(rows.rows[0].timed.samples[4].median(), 5.0);
        assert!(read_rows("a, 4x4;5;0;0;0;0;0;1;2;3;4;5\n", 5, &mut rows).is_err());
        assert!(read_rows(text, 3, &mut rows).is_err());
    }
}
