//! PTX: effect of passes on a GPU, measured on the CUDA kernels of `tests/cuda/kernels` as clang compiles them,
//! interpreted with a reconvergence stack and 32 lanes; and the parser's speed.
//!
//! Passes get the profile of a run, as with `heddle opt --profile`. The counts are warp instructions, 128-byte segments
//! touched by accesses, and cycles as `heddle profile` estimates them.

use super::kit::{AimBound, BenchReport, ReportTable, copies, geomean, growth_exponent, timed};
use crate::cuda_kernels::{cuda_sources, ptx_by_clang};
use crate::launches::{TestLaunch, TestLaunchObject, WarpCost, difference, measured, seen};
use heddle_compiler::context::PassContext;
use heddle_compiler::session::retain_reachable;
use heddle_compiler::{Profile, Session};
use heddle_ir::Module;
use heddle_ptx::{LowerOptions, lower, parse};
use heddle_runs::line::RunLine;
use std::sync::Arc;

/// Pass pipelines, by name, compared with control-flow ordering alone.
pub(crate) const WAYS: [(&str, &[&str]); 4] = [
    ("scalars", &["ssrqp=cost+target=warps+races=excluded", "simplify"]),
    ("fuse", &["fuse:32+target=warps+races=excluded", "simplify"]),
    ("flatten", &["flatten:lanes=32+races=excluded", "simplify"]),
    (
        "all",
        &[
            "ssrqp=cost+target=warps+races=excluded",
            "fuse:32+target=warps+races=excluded",
            "flatten:lanes=32+races=excluded",
            "simplify",
        ],
    ),
];

fn read(text: &str) -> Result<Module, String> {
    let parsed = parse(text).map_err(|errors| errors[0].to_string())?;
    let lowered = lower(&parsed, "k.ptx", LowerOptions { dynamic_shared: 1024, ..LowerOptions::default() })
        .map_err(|errors| errors[0].to_string())?;
    match lowered.refused.first() {
        Some(refused) => Err(refused.to_string()),
        None => Ok(lowered.module),
    }
}

/// Applies profile-guided passes to a module.
pub(crate) fn with_passes(
    module: &Module,
    passes: &[&str],
    seen: Option<&Arc<Profile>>,
) -> Result<Module, String> {
    let mut module = module.clone();
    let passes = Session::parse_passes(passes).map_err(|error| error.to_string())?;
    let mut context = PassContext::verifying(true);
    if let Some(seen) = seen {
        context = context.profiled(Arc::clone(seen), &mut module).map_err(|error| error.to_string())?;
    }
    Session::default().run(&mut module, &passes, &mut context).map_err(|error| error.to_string())?;
    drop(context);
    Ok(module)
}

fn run_launch(module: &Module, launch: &TestLaunch) -> Result<(WarpCost, Vec<TestLaunchObject>), String> {
    measured(module, launch).map_err(|fault| format!("@{}: {fault}", launch.kernel))
}

fn kernels(report: &mut BenchReport) -> Result<(), String> {
    let mut table = ReportTable::new(&[
        "kernel",
        "instructions",
        "pieces",
        "cycles",
        "scalars",
        "fuse",
        "flatten",
        "all",
        "instructions",
        "pieces",
    ]);
    let mut gains: Vec<Vec<f64>> = vec![Vec::new(); WAYS.len()];
    for source in cuda_sources().map_err(|reason| reason.to_string())? {
        let module = read(&ptx_by_clang(&source, "O3")?)?;
        report.progress(&source.name);
        for line in &source.launches {
            let line = RunLine::parse(line).map_err(|error| error.to_string())?;
            let launch = TestLaunch::of_line(&line, &module)?;
            let mut own = module.clone();
            retain_reachable(&mut own, &launch.kernel);
            let seen = seen(&own, &launch)?.map(Arc::new);
            let before = with_passes(&own, &["simplify", "canonicalize", "simplify"], seen.as_ref())?;
            let (cost, expected) = run_launch(&before, &launch)?;
            let mut row = vec![
                format!("{} {}", source.name, launch.kernel),
                cost.instructions.to_string(),
                cost.pieces.to_string(),
                cost.cycles.to_string(),
            ];
            let mut last = cost;
            for ((way, passes), gains) in WAYS.iter().zip(&mut gains) {
                let passes = [&["simplify", "canonicalize"], *passes].concat();
                let (fewer, found) = run_launch(&with_passes(&own, &passes, seen.as_ref())?, &launch)?;
                let differs = difference(&expected, &found);
                report.check(differs.is_none(), || {
                    format!("{} after {way}: {}", launch.kernel, differs.clone().unwrap_or_default())
                });
                let gain = cost.cycles as f64 / fewer.cycles as f64;
                gains.push(gain);
                row.push(format!("{gain:.2}"));
                last = fewer;
            }
            row.extend([last.instructions.to_string(), last.pieces.to_string()]);
            table.row(row);
        }
    }
    let means: Vec<f64> = gains.iter().map(|gains| geomean(gains)).collect();
    let mut row = vec!["geomean".to_string(), String::new(), String::new(), String::new()];
    row.extend(means.iter().map(|mean| format!("{mean:.3}")));
    row.extend([String::new(), String::new()]);
    table.row(row);
    report.say(format_args!(
        "Kernels in PTX by clang -O3, 32 lanes under a reconvergence stack: warp-instructions, pieces of 128 bytes and estimated \
         cycles; how many times fewer cycles after each way; instructions and pieces after all\n\n{table}"
    ));
    for ((way, _), gains) in WAYS.iter().zip(&gains) {
        let worst = gains.iter().copied().fold(f64::INFINITY, f64::min);
        report.aim(format!("ptx.{way}.worst"), worst, AimBound::AtLeast(0.99), "times");
    }
    report.aim("ptx.all.mean", means[3], AimBound::AtLeast(1.0), "times");
    Ok(())
}

/// Generates a kernel of `blocks` blocks, in the style of compilers.
fn large(blocks: usize, seed: usize) -> String {
    use std::fmt::Write as _;
    let mut text = String::from(
        "//\n// Generated\n//\n\n.version 8.7\n.target sm_80\n.address_size 64\n\n.visible .entry k(\n\t.param .u64 .ptr .align 1 k_param_0\n)\n{\n\t\
         .reg .pred \t%p<4>;\n\t.reg .b32 \t%r<64>;\n\t.reg .b64 \t%rd<32>;\n\n\tld.param.b64 \t%rd1, [k_param_0];\n\tmov.u32 \t%r1, %tid.x;\n\tcvta.to.global.u64 \t%rd2, %rd1;\n",
    );
    for block in 0..blocks {
        let (a, b, c) = (1 + (block * 7 + seed) % 60, 1 + block * 11 % 60, 1 + (block * 13 + seed) % 60);
        let _ = write!(
            text,
            "\t.loc\t1 {block} 7\n$L__BB0_{block}:                                // in Loop: Header=BB0_1 Depth=1\n\tmul.wide.s32 \t%rd3, %r{a}, 4;\n\t\
             add.s64 \t%rd4, %rd2, %rd3;\n\tld.global.nc.b32 \t%r{b}, [%rd4+{block}];\n\tmad.lo.s32 \t%r{c}, %r{a}, %r{b}, -12;\n\t\
             fma.rn.f32 \t%r{a}, %r{b}, %r{c}, 0f3F800000;\n\tst.global.v2.b32 \t[%rd4], {{%r{a}, %r{c}}};\n\tsetp.lt.s32 \t%p1, %r{a}, %r{b};\n\t@%p1 bra \t$L__BB0_{block};\n"
        );
    }
    text + "\tret;\n}\n"
}

fn parser(report: &mut BenchReport) -> Result<(), String> {
    let sizes = [250, 500, 1000, 2000, 4000, 8000];
    let mut table = ReportTable::new(&["blocks", "bytes", "ms", "MB/s"]);
    let mut points = Vec::new();
    let mut best = 0.0f64;
    for (&blocks, count) in sizes.iter().zip(copies(&sizes)) {
        let texts: Vec<String> = (0..count).map(|seed| large(blocks, seed)).collect();
        let bytes = texts[0].len();
        let mut least = f64::INFINITY;
        for _ in 0..7 {
            let (parsed, seconds) = timed(|| texts.iter().map(|text| parse(text)).collect::<Vec<_>>());
            if let Some(Err(errors)) = parsed.first() {
                return Err(errors[0].to_string());
            }
            least = least.min(seconds / count as f64);
        }
        let speed = bytes as f64 / least / 1e6;
        best = best.max(speed);
        points.push((bytes as f64, least));
        table.row([
            blocks.to_string(),
            bytes.to_string(),
            format!("{:.2}", least * 1e3),
            format!("{speed:.0}"),
        ]);
    }
    report.say(format_args!("The parser, text to module\n\n{table}"));
    report.aim("ptx.parser", best, AimBound::AtLeast(50.0), "MB/s");
    report.aim("exponent.ptx.parser", growth_exponent(&points), AimBound::AtMost(1.1), "");
    Ok(())
}

pub(super) fn run(report: &mut BenchReport) {
    let mut done = Ok(());
    for (family, measured) in
        [("kernels", kernels as fn(&mut BenchReport) -> Result<(), String>), ("parser", parser)]
    {
        if report.is_on(family) {
            done = done.and_then(|()| measured(report));
        }
    }
    if let Err(reason) = done {
        report.check(false, || reason);
    }
}
