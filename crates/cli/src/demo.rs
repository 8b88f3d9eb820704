//! `heddle demo`: what the compiler does, on one small loop and one C function. `./x demo` shows what it is good for.

use crate::CliError;
use crate::analyze::show_example;
use crate::report::title;
use heddle_compiler::ir::module::DeclaredShape;
use heddle_compiler::ir::verify::Stage;
use heddle_compiler::ir::{Module, Value, parse_module};
use heddle_compiler::{BrushExtents, Session, VectorizeRequest};
use heddle_interp::{PassiveSemantics, RunOptions};
use heddle_llvm::CodeFormat;
use heddle_runs::line::RunLine;
use heddle_runs::trace_table::trace_table;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = include_str!("../../../tests/thesis/logstar.hed");
const TRACKED: &str = include_str!("../../../tests/thesis/logstar-tracked.hed");
const WIDE: &str = include_str!("../../../tests/thesis/logstar-wide.hed");

const STEPS: &str = include_str!("../../../tests/ir/steps-source.hed");

const MANDELBROT: &str = "\
int mandelbrot(float cx, float cy, int most) {
  float x = 0, y = 0;
  int n = 0;
  while (n < most && x * x + y * y < 4.0f) {
    float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    n++;
  }
  return n;
}
";

/// Times it as scalar code and as vector code, in turn.
const DRIVER: &str = include_str!("demo/driver.c");

const LANES: &str = "([88.38, 1.5]) lanes=2";
const VECTOR: &str = "(<88.38, 1.5>) lanes=1";

/// Shows one function: its text, and what it does.
struct Scene {
    title: &'static str,
    text: &'static str,
    say: &'static str,
    runs: &'static [(&'static str, PassiveSemantics)],
    watch: &'static [u32],
}

const SCENES: &[Scene] = &[
    Scene {
        title: "1. A loop that lanes leave at different times",
        text: SOURCE,
        say: "How often can the logarithm be taken before the number is at most 1? Two lanes compute it, for 88.38 and 1.5.\nFREEZING is what one expects: a lane that has left keeps its values. Lane 1 leaves after one iteration with\nv3 = 1, and block2 waits for lane 0.\nOBLIVIOUS is what SIMD registers do: iterations that a lane does not take part in overwrite its values with\npoison. Nothing in this text protects lane 1's, and the interpreter reports it.",
        runs: &[(LANES, PassiveSemantics::Freezing), (LANES, PassiveSemantics::Oblivious)],
        watch: &[4, 3],
    },
    Scene {
        title: "2. Trackers keep the values of lanes that have left",
        text: TRACKED,
        say: "v13 takes v3 where a lane leaves (v11) and keeps its own value elsewhere. Now both readings agree.",
        runs: &[(LANES, PassiveSemantics::Freezing), (LANES, PassiveSemantics::Oblivious)],
        watch: &[8, 4, 13],
    },
    Scene {
        title: "3. The same as SIMD code: one thread, vectors",
        text: WIDE,
        say: "The counter v2 stays one scalar for all lanes; only what can differ is a vector.",
        runs: &[(VECTOR, PassiveSemantics::Freezing)],
        watch: &[8, 3, 13],
    },
];

pub(crate) fn run() -> Result<(), CliError> {
    for scene in SCENES {
        scene.show()?;
    }
    let broken = |what: String| CliError::Usage(format!("the demo is broken: {what}"));
    show_example(STEPS, &[4], "4. What diverges, and why").map_err(broken)?;
    say_line!(
        "  The counter v10 is one number for all lanes in the loop, and four after it. The branch on v2 stays whole\n  \
         inside a divergent `if`. A compiler that knows this keeps the one scalar and jumps over the other.\n"
    );
    show_stages().map_err(broken)?;
    show_c_function().map_err(broken)?;
    title("What next");
    say_line!(
        "  heddle exec tests/ir/steps-source.hed --lanes 4 --mem 'a: i32 [9, 1, 6, 2]' \\\n      \
         --arg '&a' --arg 1 --arg true --trace text\n  heddle analyze tests/ir/steps-source.hed --lanes 4 --why v15\n  heddle opt tests/ir/steps-source.hed -p vectorize,W=4,params=uniform --dump-each\n  \
         heddle vectorize tests/c/loops.c --func collatz --lanes 8 --report\n  ./x bench native\n  heddle --help"
    );
    Ok(())
}

/// One kernel on its way from lanes to vectors, two stages next to each other at a time.
fn show_stages() -> Result<(), String> {
    let mut module = parse_module(STEPS).map_err(|errors| errors[0].to_string())?;
    let mut stages = vec![("Source: what one lane does", text_of(&module))];
    let names = ["vectorize", "W=4", "params=uniform"];
    Session::default()
        .run_passes(&mut module, &names, true, |pass, module| {
            let heading = match pass.name {
                "canonicalize" => "Canonical: simple loops",
                "loops" => "Uniform: lanes that have left wait",
                "linearize" => "Linear: divergent branches linearized",
                "widen" => "Wide: one thread, vectors",
                _ => return,
            };
            stages.push((heading, text_of(module)));
        })
        .map_err(|error| error.to_string())?;
    title("5. The same kernel in five stages");
    for pair in stages.chunks(2) {
        let width = pair[0].1.iter().map(|line| line.chars().count()).max().unwrap_or(0).max(36) + 4;
        say_line!("");
        let height = pair.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
        let headings: Vec<String> = pair.iter().map(|(heading, _)| format!("{heading:width$}")).collect();
        say_line!("    {}", headings.concat().trim_end());
        for row in 0..height {
            let cell = |(_, lines): &(&str, Vec<String>)| lines.get(row).cloned().unwrap_or_default();
            let cells: Vec<String> = pair.iter().map(|stage| format!("{:width$}", cell(stage))).collect();
            say_line!("    {}", cells.concat().trim_end());
        }
    }
    say_line!(
        "\n  In Wide the counter is one scalar, the branch on v2 is a branch, and the addresses are one address.\n"
    );
    Ok(())
}

fn text_of(module: &Module) -> Vec<String> {
    let text = module.to_string();
    let cut = |line: &str| match line.char_indices().nth(62) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_string(),
    };
    text.trim_end().lines().map(cut).collect()
}

/// A C function, what becomes of it, and the machine code.
fn show_c_function() -> Result<(), String> {
    title("6. A C function as vector code");
    let indented: Vec<String> = MANDELBROT.trim_end().lines().map(|line| format!("    {line}")).collect();
    say_line!("\n{}\n", indented.join("\n"));
    let path = std::env::temp_dir().join(format!("heddle-demo-{}.c", std::process::id()));
    std::fs::write(&path, MANDELBROT).map_err(|error| error.to_string())?;
    let session = Session::default();
    let source = session.read(&path, Stage::Source, &[]);
    let _ = std::fs::remove_file(&path);
    let shapes = [DeclaredShape::Varying, DeclaredShape::Uniform, DeclaredShape::Uniform];
    let shapes = shapes.into_iter().map(Into::into).collect();
    let lanes = session.cpu.vector_bits() / 32;
    let request =
        VectorizeRequest { shapes, ..VectorizeRequest::new("mandelbrot", BrushExtents::new(&[lanes])?) };
    let artifact = source.and_then(|source| session.vectorize(source, &request));
    let artifact = artifact.map_err(|failure| failure.to_string())?;
    let report = &artifact.report;
    say_line!(
        "  heddle vectorize mandelbrot.c --func mandelbrot --lanes {lanes} --param varying,uniform,uniform --report\n    {} branches in the source, {} in the vector code; {} vector instructions, {} scalar\n",
        report.branches[0],
        report.branches[1],
        report.instructions[1],
        report.instructions[0]
    );
    let assembly = artifact.code(CodeFormat::Assembly)?;
    let assembly = String::from_utf8_lossy(&assembly).into_owned();
    let is_code = |line: &&str| {
        line.starts_with("\t") && !line.trim_start().starts_with('.') || line.starts_with(".LBB")
    };
    assembly.lines().filter(is_code).for_each(|line| say_line!("    {}", line.replace('\t', "  ")));
    let object = artifact.code(CodeFormat::Object)?;
    let folder = std::env::temp_dir().join(format!("heddle-demo-{}", std::process::id()));
    let ratio = ratio(&folder, &artifact.wide, lanes, &object);
    let _ = std::fs::remove_dir_all(&folder);
    let [ratio, scalar, wide] = ratio?;
    say_line!(
        "\n  8192 points take {wide:.0} µs instead of {scalar:.0} by clang -O3's scalar code: {ratio:.1} times as fast (medians).\n  \
         `./x bench native` measures more functions, next to clang's vectorizer, too.\n"
    );
    Ok(())
}

/// Speedup of vector code over clang's scalar code, and the microseconds that each takes for all points. Both count the same.
fn ratio(folder: &Path, wide: &str, lanes: u32, object: &[u8]) -> Result<[f64; 3], String> {
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).map_err(|error| format!("{name}: {error}"))
    };
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    write("wide.o", object)?;
    write("scalar.c", MANDELBROT.as_bytes())?;
    write("driver.c", DRIVER.as_bytes())?;
    let checked = |command: &mut Command| {
        let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
        let printed =
            String::from_utf8_lossy(if output.status.success() { &output.stdout } else { &output.stderr });
        if output.status.success() { Ok(printed.into_owned()) } else { Err(printed.into_owned()) }
    };
    let (wide, lanes) = (format!("-DWIDE=\"{wide}\""), format!("-DLANES={lanes}"));
    checked(Command::new("clang-22").current_dir(folder).args([
        "-O3",
        "-march=native",
        &wide,
        &lanes,
        "driver.c",
        "scalar.c",
        "wide.o",
        "-o",
        "driver",
    ]))?;
    let printed = checked(&mut Command::new(folder.join("driver")))?;
    let numbers: Vec<f64> = printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [0.0, scalar, wide] => Ok([scalar / wide, scalar, wide]),
        _ => Err(format!("the vector code counts something else: {printed}")),
    }
}

impl Scene {
    fn show(&self) -> Result<(), CliError> {
        let broken = |what: String| CliError::Usage(format!("the demo is broken: {what}"));
        let module = parse_module(self.text).map_err(|errors| broken(errors[0].to_string()))?;
        title(self.title);
        let text = module.to_string();
        let indented: Vec<String> = text.trim_end().lines().map(|line| format!("    {line}")).collect();
        say_line!("\n{}\n\n{}\n", indented.join("\n"), self.say);
        for &(call, semantics) in self.runs {
            self.run(&module, call, semantics).map_err(broken)?;
        }
        Ok(())
    }

    fn run(&self, module: &Module, call: &str, semantics: PassiveSemantics) -> Result<(), String> {
        let name = module.functions.first().map_or("", |func| &func.name);
        let line = RunLine::parse(&format!("@{name}{call}")).map_err(|error| error.to_string())?;
        let options = RunOptions { trace: true, semantics, ..line.options.clone() };
        let ran = line.run(module, &options).map_err(|error| error.to_string())?;
        let reading = match semantics {
            _ if call == VECTOR => "one thread",
            PassiveSemantics::Freezing => "FREEZING",
            PassiveSemantics::Oblivious => "OBLIVIOUS",
        };
        say_line!("  {reading}: {}", line.show(module, &ran));
        if let Ok(outcome) = &ran.outcome {
            let watched: Vec<Value> = self.watch.iter().map(|&number| Value::from_u32(number)).collect();
            let table = trace_table(&outcome.trace, module, &watched);
            table.lines().for_each(|line| say_line!("    {line}"));
        }
        say_line!("");
        Ok(())
    }
}
