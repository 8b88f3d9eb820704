//! `heddle vectorize`.

use crate::Failure;
use crate::report::{error, note, read_with_source};
use clap::Args;
use heddle::ir::Module;
use heddle::ir::module::DeclaredShape;
use heddle::ir::verify::Stage;
use heddle::math::Accuracy;
use heddle::vector_abi::{Form, Isa, add_abi_form, declare_forms};
use heddle::whole_function::{Brushes, Report, Target, WholeFunction, vectorize_function};
use heddle_llvm::{
    Cpu, EmitOptions, LlvmModule, Output, cut_out, emit, generate, keep_private_but, link, optimize,
    share_globals, vector_form_names,
};
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
    /// How many lanes a brush has
    #[arg(long, default_value_t = 8)]
    lanes: u32,
    /// How many brushes of so many lanes one call runs side by side, each with live masks of its own: a number, or `auto`, as
    /// many as a loop pays that waits for itself (`--report` says the figures). The form is for all their lanes
    #[arg(long, value_name = "K|auto", default_value = "1", value_parser = parse_brushes)]
    brushes: Brushes,
    /// What lanes share of each parameter: `uniform`, `varying`, or `linear:S`, S more (bytes, of pointers) from lane to lane
    #[arg(long, value_delimiter = ',', value_parser = parse_shape)]
    params: Vec<DeclaredShape>,
    /// Make the masked form (`_ZGVeM16uv_f`): one more parameter says which lanes are there
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
    /// Say what became of branches, loads and stores
    #[arg(long)]
    report: bool,
    /// Where to: `.ll`, `.bc`, `.s`, `.o` or `.hed`; assembly is printed if nothing is said
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn parse_shape(word: &str) -> Result<DeclaredShape, String> {
    let stride = |text: &str| text.parse::<i64>().ok();
    match word.split_once(':') {
        None if word == "uniform" => Ok(DeclaredShape::Uniform),
        None if word == "varying" => Ok(DeclaredShape::Varying),
        Some(("linear", text)) if ["ref", "val", "uval"].iter().any(|kind| text.starts_with(kind)) => {
            Err("no forms are made with references that are linear: let the function take the value (`linear:1`), or the \
                 pointer (`linear:4`)"
                .into())
        }
        Some(("linear", text)) if stride(text).is_some() => {
            Ok(DeclaredShape::Linear(stride(text).into_iter().collect()))
        }
        _ => Err("write `uniform`, `varying` or `linear:4`".into()),
    }
}

fn fail(reason: &dyn std::fmt::Display) -> Failure {
    error(&reason.to_string());
    Failure::Program
}

fn parse_accuracy(word: &str) -> Result<Accuracy, String> {
    Accuracy::named(word).ok_or_else(|| "write `exact`, `fast` or `libm`".into())
}

fn parse_brushes(word: &str) -> Result<Brushes, String> {
    match (word, word.parse()) {
        ("auto", _) => Ok(Brushes::Auto),
        (_, Ok(count)) if count > 0 => Ok(Brushes::Count(count)),
        _ => Err("write a number above 0, or `auto`".into()),
    }
}

impl Vectorize {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let cpu = &self.target;
        let (mut module, source) = read_with_source(&self.file, Stage::Source, cpu.triple.as_deref())?;
        if let Some(source) = source.as_ref().filter(|it| it.is_for_host() && it.is_x86() != cpu.is_x86()) {
            let advice = cpu
                .triple
                .as_ref()
                .map_or(String::new(), |it| format!(": let clang make it with --target={it}"));
            return Err(fail(&format!(
                "{}: it is LLVM IR for {}{advice}",
                self.file.display(),
                source.triple()
            )));
        }
        let bits = cpu.vector_bits();
        if let Some(source) = source.as_ref().filter(|it| it.is_for_host() && cpu.is_x86()) {
            let names = vector_form_names(source);
            declare_forms(&mut module, names.iter().map(String::as_str), Isa::of_bits(bits));
        }
        let asked = WholeFunction {
            is_masked: self.mask,
            brushes: self.brushes,
            math: self.math,
            target: Target::of_cpu(&cpu.name, bits, cpu.is_x86()),
            ..WholeFunction::new(&self.func, self.lanes, &self.params)
        };
        let report = vectorize_function(&mut module, &asked).map_err(|reason| fail(&reason))?;
        if self.report {
            self.say(&report);
        }
        let bytes = match self.extension() {
            "hed" => module.to_string().into_bytes(),
            _ => self.compile(&mut module, source.as_ref().filter(|it| it.is_for_host()), &report)?,
        };
        match &self.output {
            Some(path) => std::fs::write(path, bytes)
                .map_err(|reason| Failure::Usage(format!("{}: {reason}", path.display()))),
            None => {
                anstream::print!("{}", String::from_utf8_lossy(&bytes));
                Ok(())
            }
        }
    }

    /// The code in the form that is asked for: beside all that the source has, as LLVM IR, or by itself.
    fn compile(
        &self,
        module: &mut Module,
        source: Option<&LlvmModule>,
        report: &Report,
    ) -> Result<Vec<u8>, Failure> {
        let cpu = &self.target;
        let output = match self.extension() {
            "ll" => Output::Text,
            "bc" => Output::Bitcode,
            "o" => Output::Object,
            _ => Output::Assembly,
        };
        let is_ir = matches!(output, Output::Text | Output::Bitcode);
        let name = match self.add_abi_form(module, report) {
            Ok(name) => name,
            Err(reason) if is_ir || !cpu.is_x86() => {
                note(&format!("{reason}: it is @{}", report.wide));
                report.wide.clone()
            }
            Err(reason) => return Err(fail(&reason)),
        };
        let code = emit(module, EmitOptions::default()).map_err(|reason| fail(&reason))?;
        keep_private_but(&code, &[&name]);
        if let Some(source) = source {
            share_globals(&code, source);
        }
        optimize(&code, cpu).map_err(|reason| fail(&reason))?;
        let Some(source) = source else {
            return generate(&code, cpu, output).map_err(|reason| fail(&reason));
        };
        link(source, &code).map_err(|reason| fail(&reason))?;
        if !is_ir {
            cut_out(source, &[&name]).map_err(|reason| fail(&reason))?;
        }
        generate(source, cpu, output).map_err(|reason| fail(&reason))
    }

    /// Adds the form of the vector ABI; its name.
    fn add_abi_form(&self, module: &mut Module, report: &Report) -> Result<String, String> {
        if !self.target.is_x86() {
            return Err(format!("@{}: the forms of the vector ABI are made for x86 only", self.func));
        }
        let mut shapes = self.params.clone();
        let own = module.function(&report.wide).map_or(0, |func| func.signature.params.len());
        shapes.resize(own - usize::from(self.mask && own > 0), DeclaredShape::Varying);
        let isa = Isa::of_bits(self.target.vector_bits());
        let form = Form { name: &self.func, lanes: report.lanes, shapes: &shapes, isa, is_masked: self.mask };
        add_abi_form(module, &report.wide, &form).map_err(|reason| reason.to_string())
    }

    fn extension(&self) -> &str {
        self.output.as_ref().and_then(|path| path.extension()?.to_str()).unwrap_or("s")
    }

    fn say(&self, report: &Report) {
        let Report { branches, accesses, instructions, .. } = report;
        let lines = [
            match report.lanes / self.lanes.max(1) {
                0 | 1 => format!("@{} for {} lanes", self.func, report.lanes),
                count => {
                    format!("@{} for {} lanes, {count} brushes of {}", self.func, report.lanes, self.lanes)
                }
            },
            format!("  branches: {} of the source, {} of the vector code", branches[0], branches[1]),
            format!("  instructions: {} on vectors, {} scalar", instructions[1], instructions[0]),
            format!(
                "  loads and stores: {} side by side, {} scattered, {} scalar",
                accesses.contiguous, accesses.scattered, accesses.scalar
            ),
        ];
        lines.iter().for_each(|line| note(line));
        for remark in &report.remarks {
            note(&format!("  {remark}"));
        }
        for what in &report.lane_by_lane {
            note(&format!("  lane by lane: {what}, which has no vector form"));
        }
    }
}
