//! Native code: C functions in lanes beside the loops that clang makes of them.
//!
//! Each kernel is compiled three times: as a loop that clang may not vectorize, as a loop that it may, and as Heddle's
//! wide function, called for as many elements at once as a vector register holds floats. One process runs them in turn.

use super::kit::{Report, Table, Target, geomean};
use heddle::ir::module::DeclaredShape;
use heddle::options::ParamShape;
use heddle::{Brush, Request, Session};
use heddle_llvm::{Cpu, Output, compile, import};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const KERNELS: &[&str] = &[
    "mandelbrot",
    "collatz",
    "guarded",
    "uniform_branch",
    "search",
    "root",
    "nested",
    "points",
    "complex",
    "stencil",
];
pub(super) const SOURCE: &str = include_str!("native/kernels.c");
const DRIVER: &str = include_str!("native/driver.c");

/// What a divergent loop in lanes should gain on scalar code.
const LEAST_RATIO: f64 = 2.0;

pub(super) fn run(report: &mut Report) {
    let folder = std::env::temp_dir().join(format!("heddle-bench-{}", std::process::id()));
    let result =
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string()).and_then(|()| measured(&folder));
    let _ = std::fs::remove_dir_all(&folder);
    let rows = match result {
        Ok(rows) => rows,
        Err(reason) => {
            report.check(false, || reason);
            return;
        }
    };
    let mut table = Table::new(&[
        "kernel",
        "scalar µs",
        "clang's loop µs",
        "lanes µs",
        "scalar / lanes",
        "loop / lanes",
        "spread",
    ]);
    let mut ratios = [Vec::new(), Vec::new()];
    for row in &rows {
        report.check(row.wrong == 0, || format!("{}: {} numbers are wrong", row.name, row.wrong));
        let by_scalar = row.scalar / row.lanes;
        let by_loop = row.vectorized / row.lanes;
        ratios[0].push(by_scalar);
        ratios[1].push(by_loop);
        table.row([
            row.name.clone(),
            format!("{:.1}", row.scalar * 1e6),
            format!("{:.1}", row.vectorized * 1e6),
            format!("{:.1}", row.lanes * 1e6),
            format!("{by_scalar:.2}"),
            format!("{by_loop:.2}"),
            format!("{:.0} %", 100.0 * row.spread),
        ]);
    }
    let cpu = Cpu::host();
    report.say(format_args!(
        "C functions in {} lanes on {} (medians; 4096 elements)\n\n{table}",
        lanes(&cpu),
        cpu.name
    ));
    report.aim("native.scalar", geomean(&ratios[0]), Target::AtLeast(LEAST_RATIO), "times scalar clang -O3");
    report.aim(
        "native.loop",
        geomean(&ratios[1]),
        Target::AtLeast(1.0),
        "times clang -O3 with its vectorizer",
    );
}

struct Row {
    name: String,
    wrong: u64,
    scalar: f64,
    vectorized: f64,
    lanes: f64,
    spread: f64,
}

/// As many lanes as a register holds floats.
fn lanes(cpu: &Cpu) -> u32 {
    cpu.vector_bits() / 32
}

fn measured(folder: &Path) -> Result<Vec<Row>, String> {
    let write = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(path)
    };
    let source = write("kernels.c", SOURCE.as_bytes())?;
    write("driver.c", DRIVER.as_bytes())?;
    let list: String = KERNELS.iter().map(|name| format!("SEVERAL({name})\n")).collect();
    write("kernels.list", list.as_bytes())?;
    // Each file of loops keeps its kernels to itself.
    let mut loops =
        SOURCE.replacen("#define KERNEL(name) void", "#define KERNEL(name) static inline void", 1);
    for name in KERNELS {
        let _ = writeln!(
            loops,
            "void {name}_PEER(long count, const float *restrict a, const float *restrict b, float *restrict c, int n) {{\n  \
             for (long i = 0; i < count; i++) {name}(i, a, b, c, n);\n}}"
        );
    }
    write("scalar.c", loops.replace("PEER", "scalar").as_bytes())?;
    write("loop.c", loops.replace("PEER", "loop").as_bytes())?;

    let cpu = Cpu::host();
    let session = Session::new(cpu.clone());
    let llvm = compile(&source, 1, &[]).map_err(|error| error.to_string())?;
    let imported = import(&llvm).module;
    let shapes: Vec<ParamShape> = std::iter::once(DeclaredShape::Linear([1].into_iter().collect()))
        .chain(std::iter::repeat_n(DeclaredShape::Uniform, 4))
        .map(Into::into)
        .collect();
    let mut objects = Vec::new();
    for name in KERNELS {
        let request = Request { shapes: shapes.clone(), ..Request::new(name, Brush::new(&[lanes(&cpu)])?) };
        let mut artifact =
            session.vectorize(imported.clone(), &request).map_err(|error| error.to_string())?;
        artifact.rename(&format!("{name}_wide"));
        let object = artifact.code(Output::Object)?;
        objects.push(write(&format!("{name}.o"), &object)?);
    }
    let clang = |arguments: &[&str]| {
        let output = Command::new("clang-22")
            .current_dir(folder)
            .args(["-O3", "-march=native", "-fno-math-errno"])
            .args(arguments)
            .output()
            .map_err(|error| format!("clang-22: {error}"))?;
        let messages = || format!("clang-22: {}", String::from_utf8_lossy(&output.stderr));
        output.status.success().then_some(()).ok_or_else(messages)
    };
    clang(&["-fno-vectorize", "-fno-slp-vectorize", "-c", "scalar.c", "-o", "scalar.o"])?;
    clang(&["-c", "loop.c", "-o", "loop.o"])?;
    clang(&[&format!("-DLANES={}", lanes(&cpu)), "-c", "driver.c", "-o", "driver.o"])?;
    let mut link: Vec<String> = ["driver.o", "scalar.o", "loop.o"].map(String::from).into();
    link.extend(objects.iter().map(|object| object.display().to_string()));
    link.extend(["-lm", "-o", "bench"].map(String::from));
    clang(&link.iter().map(String::as_str).collect::<Vec<_>>())?;
    let output = Command::new(folder.join("bench")).output().map_err(|error| error.to_string())?;
    String::from_utf8_lossy(&output.stdout).lines().map(parse).collect()
}

fn parse(line: &str) -> Result<Row, String> {
    let broken = || format!("the driver says `{line}`");
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[name, wrong, scalar, vectorized, lanes, spread] = &words[..] else { return Err(broken()) };
    let number = |word: &str| word.parse::<f64>().map_err(|_| broken());
    Ok(Row {
        name: name.into(),
        wrong: wrong.parse().map_err(|_| broken())?,
        scalar: number(scalar)?,
        vectorized: number(vectorized)?,
        lanes: number(lanes)?,
        spread: number(spread)?,
    })
}
