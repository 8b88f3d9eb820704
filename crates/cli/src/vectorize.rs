//! `heddle vectorize`.

use crate::CliResult;
use crate::report::{fail, read_profile, say_times, tell};
use clap::Args;
use heddle_compiler::ir::diagnostic::DiagnosticLocation;
use heddle_compiler::ir::verify::Stage;
use heddle_compiler::ir::{Code, Diagnostic};
use heddle_compiler::llvm::{CodeFormat, Cpu};
use heddle_compiler::math::Accuracy;
use heddle_compiler::options::{ParamShape, parse_accuracy};
use heddle_compiler::{BrushCount, BrushExtents, Session, VectorizeOptions, VectorizeRequest};
use std::path::PathBuf;

/// Make vector code of a function, for lanes that each run it
///
/// The wide form has its name and its calling convention of the x86 Vector Function ABI: `_ZGVeN16uv_f` is `f` for sixteen
/// lanes, its first parameter the same for all, the second different, on AVX-512. An object or assembly has only that, to be
/// linked with the object of the source; LLVM IR has all that the source has, as it was, and the wide form.
#[derive(Args)]
pub(crate) struct Vectorize {
    /// C, C++, OpenCL C, LLVM IR (`.ll`, `.bc`) or `.hed`
    file: PathBuf,
    /// The function
    #[arg(long, value_name = "NAME")]
    func: String,
    /// Number of lanes of a brush
    #[arg(long, default_value_t = 8)]
    lanes: u32,
    /// Number of interleaved brushes of one call, each with its own masks, or `auto`: chosen by the cost model, which `--report` prints. The
    /// function is for all their lanes
    #[arg(long, value_name = "K|auto", default_value = "1")]
    brushes: BrushCount,
    /// Shapes of parameters: `uniform`, `varying`, or `linear:S` with a stride of S from lane to lane (bytes, for pointers); in order, or by
    /// name (`cx=varying`)
    #[arg(long = "param", value_delimiter = ',', value_name = "[NAME=]SHAPE")]
    params: Vec<ParamShape>,
    /// Generate the masked variant (`_ZGVeM16uv_f`), which takes the mask of active lanes as its last parameter
    #[arg(long)]
    mask: bool,
    /// The machine to generate code for: `native`, an instruction set (`sse4.2`, `avx2`, `avx512`, `neon`), or a CPU of x86-64
    /// by LLVM's name (`znver4`)
    #[arg(long, value_name = "CPU", default_value = "native", value_parser = Cpu::named)]
    target: Cpu,
    /// Mathematical functions: `exact` is Heddle's own, at most one unit in the last place off, with the same bits in
    /// vectors and scalars; `fast` at most four units; `libm` the C library's, lane by lane
    #[arg(long, default_value = "exact", value_parser = parse_accuracy)]
    math: Accuracy,
    /// Profile of `heddle profile FILE --json`: passes choose by its branch and trip counts
    #[arg(long, value_name = "JSON")]
    profile: Option<PathBuf>,
    /// Choices of the vectorizer: `fuse=no`, `flatten=force`, `ssrqp=cost`, `races=excluded`, `guards=needed`
    #[arg(long, value_delimiter = ',', value_name = "KEY=WORD")]
    options: Vec<String>,
    /// Report how branches, loads and stores were vectorized
    #[arg(long)]
    report: bool,
    /// Print the time of each pass
    #[arg(long)]
    time_passes: bool,
    /// Output file: `.ll`, `.bc`, `.s`, `.o` or `.hed`; default: assembly on the standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Flags for clang, after `--`: `-- -I include -DSIZE=8 -ffp-contract=off`
    #[arg(last = true, value_name = "FLAG")]
    clang: Vec<String>,
}

impl Vectorize {
    pub(crate) fn run(self) -> CliResult {
        let mut session = Session::new(self.target.clone());
        session.options =
            VectorizeOptions { math: Some(self.math), brushes: self.brushes, ..session.options };
        for word in &self.options {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let place = |diagnostic: Diagnostic| fail(diagnostic.at(DiagnosticLocation::of_option(word)));
            if !session.options.set(key, value).map_err(place)? {
                let diagnostic = Diagnostic::error(Code::PassOption, format!("unknown option `{word}`"));
                let diagnostic =
                    diagnostic.help(format!("the options are {}", VectorizeOptions::list_of_options()));
                return Err(fail(diagnostic));
            }
        }
        let profile = self.profile.as_deref().map(read_profile).transpose()?;
        let clang: Vec<&str> = self.clang.iter().map(String::as_str).collect();
        let source = session.read(&self.file, Stage::Source, &clang).map_err(fail)?;
        let brush = BrushExtents::new(&[self.lanes]).map_err(fail)?;
        let request = VectorizeRequest {
            func: self.func.clone(),
            brush,
            shapes: self.params.clone(),
            is_masked: self.mask,
            profile,
        };
        let mut artifact = session.vectorize(source, &request).map_err(fail)?;
        artifact.report.warnings.iter().for_each(tell);
        if self.report {
            artifact.report.diagnostics(&self.func).iter().for_each(tell);
        }
        let bytes = match self.extension() {
            "hed" => artifact.module.to_string().into_bytes(),
            extension => {
                let (bytes, diagnostic) = artifact.write(output_of(extension)).map_err(fail)?;
                diagnostic.iter().for_each(tell);
                bytes
            }
        };
        if self.time_passes {
            say_times(&artifact.times);
        }
        crate::report::write(self.output.as_deref(), &bytes)
    }

    fn extension(&self) -> &str {
        self.output.as_ref().and_then(|path| path.extension()?.to_str()).unwrap_or("s")
    }
}

fn output_of(extension: &str) -> CodeFormat {
    match extension {
        "ll" => CodeFormat::Text,
        "bc" => CodeFormat::Bitcode,
        "o" => CodeFormat::Object,
        _ => CodeFormat::Assembly,
    }
}
