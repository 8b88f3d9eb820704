//! Times one function from LLVM IR to callable code, compiled in this process by a session; clang is not counted.

use super::kit::{AimBound, BenchReport, ReportTable, Sample, timed};
use heddle_compiler::{Session, VectorizeRequest};
use heddle_llvm::compile;
use std::path::Path;

// Functions to compile, of about fifty instructions, as clang emits them at -O1.
const SHADE: &str = "\
float shade(const float *tex, float u, float v, float lx, float ly, int n) {
  float sum = 0, w = 1;
  for (int i = 0; i < n; i++) {
    float du = u * (1 << i), dv = v * (1 << i);
    int x = (int)du & 63, y = (int)dv & 63;
    float a = tex[y * 64 + x], b = tex[y * 64 + ((x + 1) & 63)];
    float c = a + (b - a) * (du - (float)(int)du);
    if (c > 0.5f) sum += w * c * (dv - (float)(int)dv); else sum -= w * c * 0.25f;
    w *= 0.5f;
  }
  float d = lx * lx + ly * ly;
  return d > 0 ? sum * lx / d : sum;
}
";
const ESCAPE: &str = "\
int escape(float cx, float cy, int most) {
  float x = 0, y = 0, r = 0, i = 0;
  int n = 0;
  while (n < most && r + i <= 4) {
    y = 2 * x * y + cy; x = r - i + cx; r = x * x; i = y * y; n++;
    y = 2 * x * y + cy; x = r - i + cx; r = x * x; i = y * y; n++;
  }
  return r + i > 4 ? n : -n + (int)(r * 8) - (int)(i * 8);
}
";
const MIXED: &str = "\
unsigned mixed(const unsigned *from, unsigned *to, unsigned key, int n) {
  unsigned a = key * 2654435761u, b = a ^ (a >> 15), c = b * 2246822519u;
  for (int i = 0; i < n; i++) {
    unsigned x = from[i] + a;
    x ^= x << 13; x ^= x >> 17; x ^= x << 5;
    if (x & 1) { b += x * 3; c ^= b >> 7; } else { c += x; b ^= c << 9; }
    a = (a << 3 | a >> 29) + (b ^ c);
  }
  to[key & 15] = b;
  return a ^ b ^ c;
}
";
const FUNCTIONS: [(&str, &str, &str); 3] = [
    ("shade", "uniform,varying,varying,varying,varying,uniform", SHADE),
    ("escape", "varying,varying,uniform", ESCAPE),
    ("mixed", "uniform,uniform,varying,uniform", MIXED),
];
const LANES: &str = "8";
const ROUNDS: usize = 21;
/// The most milliseconds that one of them may take.
const MOST: f64 = 8.0;

/// Measures each function, phase by phase.
pub(super) fn measure(folder: &Path, report: &mut BenchReport) -> Result<(), String> {
    let session = Session::default();
    let mut table = ReportTable::new(&[
        "function",
        "instructions",
        "import",
        "our passes",
        "LLVM's passes",
        "code generation",
        "in all",
        "least",
        "spread",
    ]);
    let mut by_pass: Vec<(&str, Vec<f64>)> = Vec::new();
    let mut worst: f64 = 0.0;
    for (name, shapes, text) in FUNCTIONS {
        let mut request = VectorizeRequest::new(
            name,
            LANES.parse().map_err(|diagnostic: heddle_compiler::ir::Diagnostic| diagnostic.to_string())?,
        );
        for shape in shapes.split(',') {
            request.shapes.push(
                shape
                    .parse()
                    .map_err(|diagnostic: heddle_compiler::ir::Diagnostic| diagnostic.to_string())?,
            );
        }
        let path = folder.join(format!("{name}.c"));
        std::fs::write(&path, text).map_err(|reason| format!("{}: {reason}", path.display()))?;
        let bitcode = &compile(&path, 1, &[]).map_err(|diagnostic| diagnostic.to_string())?.bitcode();
        let (mut rounds, mut instructions) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            let llvm = heddle_llvm::read_ir("in_process.bc", bitcode)
                .map_err(|diagnostic| diagnostic.to_string())?;
            let (source, import) = timed(|| session.import(llvm, "in_process.c"));
            let source = source.map_err(|failure| failure.to_string())?;
            instructions = source.module.function(name).map_or(0, |func| func.inst_count());
            let (artifact, passes) = timed(|| session.vectorize(source, &request));
            let mut artifact = artifact.map_err(|failure| failure.to_string())?;
            let ours = artifact.times.len();
            let (jit, compiled) = timed(|| artifact.jit());
            jit.map_err(|diagnostic| diagnostic.to_string())?;
            // On another clock: shares of what was measured.
            let of_llvm: Vec<f64> = artifact.times[ours..].iter().map(|it| it.time.as_secs_f64()).collect();
            let share = of_llvm.first().copied().unwrap_or(0.0) / of_llvm.iter().sum::<f64>().max(1e-9);
            rounds.push([import, passes, compiled * share, compiled * (1.0 - share)]);
            for time in &artifact.times[..ours] {
                let taken = time.time.as_secs_f64();
                match by_pass.iter_mut().find(|(name, _)| *name == time.name) {
                    Some((_, all)) => all.push(taken),
                    None => by_pass.push((time.name, vec![taken])),
                }
            }
        }
        let sample = |part: &dyn Fn(&[f64; 4]) -> f64| Sample::of(rounds.iter().map(part).collect());
        let all = sample(&|parts| parts.iter().sum()).ok_or("nothing was measured")?;
        let mut row = vec![name.to_string(), instructions.to_string()];
        for part in 0..4 {
            row.push(
                sample(&|parts| parts[part]).map_or(String::new(), |it| format!("{:.2}", it.median() * 1e3)),
            );
        }
        row.extend([all.median(), all.least()].map(|time| format!("{:.2}", time * 1e3)));
        row.push(format!("{:.0} %", all.spread() * 100.0));
        table.row(row);
        worst = worst.max(all.median() * 1e3);
    }
    report.say(format_args!(
        "one function in {LANES} lanes, from LLVM IR to callable code in this process: milliseconds (medians of {ROUNDS})\n\n{table}"
    ));
    let mut passes = ReportTable::new(&["our pass", "µs (median of a run)"]);
    for (name, times) in by_pass {
        if let Some(sample) = Sample::of(times) {
            passes.row([name.to_string(), format!("{:.0}", sample.median() * 1e6)]);
        }
    }
    report.say(&passes);
    report.aim("compile-time.in-process", worst, AimBound::AtMost(MOST), "ms");
    Ok(())
}
