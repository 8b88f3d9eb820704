//! `heddle vectorize`.

use crate::Failure;
use crate::report::{error, note, read_module};
use clap::Args;
use heddle::ir::Module;
use heddle::ir::module::DeclaredShape;
use heddle::ir::verify::Stage;
use heddle::whole_function::{Report, Target, vector_abi_name, vectorize_function_for};
use heddle_llvm::{Cpu, EmitOptions, Output, emit, generate, optimize};
use std::path::PathBuf;

/// Make vector code of a function, for lanes that each run it
///
/// The object exports the wide form under its name in the x86 Vector Function ABI: `_ZGVeN16uv_f` is `f` for sixteen lanes,
/// its first parameter the same for all, the second different, on AVX-512.
#[derive(Args)]
pub(crate) struct Vectorize {
    /// C, C++, OpenCL C, LLVM IR (`.ll`, `.bc`) or `.hed`
    file: PathBuf,
    /// The function
    #[arg(long, value_name = "NAME")]
    func: String,
    /// How many lanes
    #[arg(long, default_value_t = 8)]
    lanes: u32,
    /// What lanes share of each parameter: `uniform`, `varying`, or `linear:S`, S more (bytes, of pointers) from lane to lane
    #[arg(long, value_delimiter = ',', value_parser = parse_shape)]
    params: Vec<DeclaredShape>,
    /// The CPU to generate code for, by LLVM's name
    #[arg(long, default_value = "native")]
    target: String,
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
        Some(("linear", text)) if stride(text).is_some() => {
            Ok(DeclaredShape::Linear(stride(text).into_iter().collect()))
        }
        _ => Err("write `uniform`, `varying` or `linear:4`".into()),
    }
}

impl Vectorize {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let fail = |message: String| {
            error(&message);
            Failure::Program
        };
        let mut module = read_module(&self.file, Stage::Source)?;
        let cpu = Cpu::named(&self.target);
        let machine = Target::of_registers(cpu.vector_bits(), cfg!(target_arch = "x86_64"));
        let report = vectorize_function_for(&mut module, &self.func, self.lanes, &self.params, &machine)
            .map_err(|reason| fail(reason.to_string()))?;
        if self.report {
            self.say(&report);
        }
        let bytes = if self.extension() == "hed" {
            module.to_string().into_bytes()
        } else {
            self.rename(&mut module, &report, &cpu);
            let llvm = emit(&module, EmitOptions::default()).map_err(|reason| fail(reason.to_string()))?;
            optimize(&llvm, &cpu).map_err(|reason| fail(reason.to_string()))?;
            let output = match self.extension() {
                "ll" => Output::Text,
                "bc" => Output::Bitcode,
                "o" => Output::Object,
                _ => Output::Assembly,
            };
            generate(&llvm, &cpu, output).map_err(|reason| fail(reason.to_string()))?
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

    fn extension(&self) -> &str {
        self.output.as_ref().and_then(|path| path.extension()?.to_str()).unwrap_or("s")
    }

    /// Gives the wide form the name by which other compilers call it.
    fn rename(&self, module: &mut Module, report: &Report, cpu: &Cpu) {
        let Some(func) = module.function_mut(&report.wide) else { return };
        let count = func.signature.params.len();
        let mut shapes = self.params.clone();
        shapes.resize(count, DeclaredShape::Varying);
        func.name = vector_abi_name(&self.func, self.lanes, &shapes, cpu.vector_bits());
    }

    fn say(&self, report: &Report) {
        let Report { branches, accesses, instructions, .. } = report;
        let lines = [
            format!("@{} for {} lanes", self.func, self.lanes),
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
