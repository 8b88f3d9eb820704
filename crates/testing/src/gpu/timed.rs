//! Kernels to time: as they came, and after each way of passes, with the cycles that the oracle counts.
//!
//! A launch of a test fills no GPU. So it is repeated along the third dimension of the grid: each slice has objects of its own,
//! one stride apart, which the text of the kernel adds to its parameters.

use super::case::{GpuCase, GpuModule};
use super::sources::lowered;
use crate::bench::divergence::papers::{PAPER_KERNELS, numbers, paper_kernel, sweep_input, sweep_kernel};
use crate::bench::ptx::{WAYS, with_passes};
use crate::cuda_kernels::{cuda_sources, ptx_by_clang};
use crate::launches::{
    TestLaunch, TestLaunchArgument, TestLaunchObject, WarpCost, difference, measured, seen,
};
use heddle_compiler::session::retain_reachable;
use heddle_compiler::{Profile, Session};
use heddle_ir::{Module, parse_module};
use heddle_runs::line::RunLine;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// Threads of all slices: some that fill the largest GPUs several times.
const THREADS: u64 = 1 << 21;
/// Most bytes of all slices.
const BYTES: u64 = 1 << 28;
/// Objects of a slice lie at multiples of this.
const STRIDE: u64 = 256;

fn stride(object: &TestLaunchObject) -> u64 {
    (object.bytes.len() as u64).next_multiple_of(STRIDE)
}

/// Number of slices of a launch.
fn slices(launch: &TestLaunch) -> u64 {
    let threads: u64 = launch.local.iter().chain(&launch.groups).map(|&count| u64::from(count)).product();
    let bytes: u64 = launch.objects.iter().map(stride).sum();
    (THREADS / threads.max(1)).min(BYTES / bytes.max(1)).clamp(1, 65_535)
}

/// Names of a kernel's parameters.
fn parameters<'t>(text: &'t str, kernel: &str) -> Vec<&'t str> {
    let list = text.split_once(&format!(".entry {kernel}(")).and_then(|(_, rest)| rest.split_once(')'));
    let list = list.map_or("", |(list, _)| list);
    let name =
        |one: &'t str| one.split_whitespace().last().map(|name| name.split('[').next().unwrap_or(name));
    list.split(',').filter_map(name).collect()
}

/// Makes a kernel add its slice's offset to each parameter that is an object.
fn in_slices(text: &str, launch: &TestLaunch) -> String {
    let names = parameters(text, &launch.kernel);
    let entry = format!(".entry {}(", launch.kernel);
    let (mut out, mut is_inside) = (String::new(), false);
    for line in text.lines() {
        is_inside |= line.contains(&entry);
        out.push_str(line);
        out.push('\n');
        if is_inside && line.trim() == "{" {
            out.push_str("\t.reg .b32 %of_slice;\n\t.reg .b64 %to_slice;\n");
        }
        let loaded = line.trim().strip_prefix("ld.param.").and_then(|rest| rest.split_once(' '));
        let loaded = loaded.filter(|_| is_inside).and_then(|(_, operands)| {
            let (register, rest) = operands.trim().split_once(',')?;
            let name = rest.trim().trim_end_matches(';').trim_matches(['[', ']']);
            let index = names.iter().position(|known| *known == name)?;
            match launch.args.get(index)? {
                TestLaunchArgument::Object(object, _) => Some((register.trim(), *object)),
                TestLaunchArgument::Bits(_) => None,
            }
        });
        if let Some((register, object)) = loaded {
            let _ = write!(
                out,
                "\tmov.u32 %of_slice, %ctaid.z;\n\tmul.wide.u32 %to_slice, %of_slice, {};\n\tadd.s64 {register}, {register}, %to_slice;\n",
                stride(&launch.objects[object])
            );
        }
        is_inside &= line.trim() != "}";
    }
    out
}

/// A kernel's texts, by way.
struct TimedKernel<'a> {
    kind: &'static str,
    name: String,
    own: &'a Module,
    /// PTX as it came.
    text: Option<String>,
    launch: TestLaunch,
}

impl TimedKernel<'_> {
    fn module(&self, more_ways: &[(&'static str, Vec<&'static str>)]) -> Result<GpuModule, String> {
        let say = |error: String| format!("{}: {error}", self.name);
        let seen: Option<Arc<Profile>> = seen(self.own, &self.launch).map_err(say)?.map(Arc::new);
        let mut ways: Vec<(&str, Vec<&str>)> = vec![("none", vec!["simplify"])];
        ways.extend(WAYS.iter().map(|(way, passes)| (*way, passes.to_vec())));
        ways.extend(more_ways.iter().map(|(way, passes)| (*way, passes.clone())));
        let mut variants: Vec<Value> = Vec::new();
        let mut expected: Option<Vec<TestLaunchObject>> = None;
        let mut add = |way: &str, text: &str, cost: WarpCost| {
            variants.push(json!({
                "way": way,
                "text": in_slices(text, &self.launch).replace(".target sm_75", ".target sm_80"),
                "cycles": cost.cycles,
                "instructions": cost.instructions,
                "pieces": cost.pieces,
            }));
        };
        if let Some(text) = &self.text {
            add("source", text, measured(self.own, &self.launch).map_err(say)?.0);
        }
        for (way, passes) in ways {
            let passes = [&["simplify", "canonicalize"], &passes[..]].concat();
            let module = with_passes(self.own, &passes, seen.as_ref()).map_err(say)?;
            let (cost, found) = measured(&module, &self.launch).map_err(say)?;
            let text = Session::default().ptx(&module, true).map_err(|error| say(error.to_string()))?;
            add(way, &text, cost);
            if let Some(text) = difference(expected.get_or_insert_with(|| found.clone()), &found) {
                return Err(format!("{} after {way}: {text}", self.name));
            }
        }
        let case = GpuCase {
            name: self.name.clone(),
            forms: Vec::new(),
            text: String::new(),
            launch: self.launch.clone(),
            parameters: Vec::new(),
            shared: if self.text.is_some() { 1024 } else { 0 },
            expected: expected.unwrap_or_default(),
            columns: Vec::new(),
            rows: 0,
            more: vec![("variants", json!(variants)), ("slices", json!(slices(&self.launch)))],
        };
        Ok(GpuModule { kind: self.kind, head: String::new(), cases: vec![case] })
    }
}

fn of_kernels(take: &mut dyn FnMut(GpuModule) -> Result<(), String>) -> Result<(), String> {
    for source in cuda_sources().map_err(|reason| reason.to_string())? {
        let text = ptx_by_clang(&source, "O3")?;
        let module = lowered(&text, 1024)?;
        for line in &source.launches {
            let line = RunLine::parse(line).map_err(|error| error.to_string())?;
            let launch = TestLaunch::of_line(&line, &module)?;
            let mut own = module.clone();
            retain_reachable(&mut own, &launch.kernel);
            let name = format!("{} {}", source.name, launch.kernel);
            let timed = TimedKernel { kind: "timed", name, own: &own, text: Some(text.clone()), launch };
            take(timed.module(&[])?)?;
        }
    }
    Ok(())
}

fn of_paper(
    name: String,
    text: &str,
    read: Vec<u8>,
    ways: &[(&'static str, Vec<&'static str>)],
) -> Result<GpuModule, String> {
    let text = text.replace("func @f(", "kernel @f(");
    let module = parse_module(&text).map_err(|errors| format!("{name}: {:?}", errors.first()))?;
    let mut written = read.clone();
    written.resize(read.len().max(4096 * 4), 0);
    let launch = TestLaunch {
        kernel: "f".into(),
        args: vec![TestLaunchArgument::Object(0, 0), TestLaunchArgument::Object(1, 0)],
        objects: vec![TestLaunchObject::new("read", read), TestLaunchObject::new("written", written)],
        local: [32, 1, 1],
        groups: [1; 3],
        steps: u64::MAX / 2,
    };
    TimedKernel { kind: "papers", name, own: &module, text: None, launch }.module(ways)
}

fn of_papers(take: &mut dyn FnMut(GpuModule) -> Result<(), String>) -> Result<(), String> {
    for (name, text) in PAPER_KERNELS.iter().flat_map(|kernels| kernels.iter()) {
        let scalars = [("ssrqp", vec!["ssrqp=ssrqp+target=warps+races=excluded", "simplify"])];
        take(of_paper((*name).into(), &paper_kernel(text), numbers(), &scalars)?)?;
    }
    for ratio in [(10, 1), (1, 1), (1, 10), (1, 100)] {
        for early in [0, 8, 16, 24, 28, 31] {
            let name = format!("sweep {}/{} k={early}", ratio.0, ratio.1);
            let forced = [("forced", vec!["flatten:lanes=32+force+races=excluded", "simplify"])];
            let text = sweep_kernel(ratio, SWEEP_ROUNDS);
            take(of_paper(name, &text, sweep_input(early, 1, SWEEP_ROUNDS), &forced)?)?;
        }
    }
    Ok(())
}

/// Iterations of the outer loop of the sweep.
const SWEEP_ROUNDS: u32 = 64;

/// Hands each kernel to `take`.
pub fn export_timed(take: &mut dyn FnMut(GpuModule) -> Result<(), String>) -> Result<(), String> {
    of_papers(take)?;
    of_kernels(take)
}
