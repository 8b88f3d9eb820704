//! A case, and how it is written.

use crate::launches::{TestLaunch, TestLaunchArgument, TestLaunchObject};
use crate::ptx::probe::{Probe, ProbeResult};
use heddle_ptx::Word;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Kernel, launch and expected memory.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct GpuCase {
    /// Name in reports.
    pub(super) name: String,
    /// Instruction forms that the kernel has.
    pub(super) forms: Vec<String>,
    /// Text of the kernel.
    pub(super) text: String,
    pub(super) launch: TestLaunch,
    /// Number of words of each parameter, and the bytes of each word; empty where each argument is a parameter.
    pub(super) parameters: Vec<(usize, u64)>,
    pub(super) shared: u64,
    pub(super) expected: Vec<TestLaunchObject>,
    /// Types of the results in `out`, eight bytes each, row by row; none where objects are compared byte by byte.
    pub(super) columns: Vec<ProbeResult>,
    /// Rows of `out` that count.
    pub(super) rows: usize,
    /// Further keys.
    pub(super) more: Vec<(&'static str, Value)>,
}

/// Texts of kernels that share a head, with a name for the kind of their cases.
#[derive(Clone, PartialEq, Debug)]
pub struct GpuModule {
    pub(super) kind: &'static str,
    pub(super) head: String,
    pub(super) cases: Vec<GpuCase>,
}

/// Version and target of exported modules.
pub(super) const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Bytes as hexadecimal digits; their count where all are zero.
fn bytes_of(bytes: &[u8]) -> Value {
    match bytes.iter().all(|&byte| byte == 0) {
        true => json!(bytes.len()),
        false => json!(hexadecimal(bytes)),
    }
}

/// An argument: object and offset, or a number.
fn argument(argument: &TestLaunchArgument) -> Value {
    match *argument {
        TestLaunchArgument::Object(index, offset) => json!([index, offset]),
        TestLaunchArgument::Bits(bits) => json!(format!("{bits:x}")),
    }
}

impl GpuCase {
    /// The case of a probe whose results are known.
    pub(super) fn of_probe(
        probe: &Probe,
        name: &str,
        form: &str,
        expected: Vec<TestLaunchObject>,
    ) -> GpuCase {
        GpuCase {
            name: probe.instruction.clone(),
            forms: vec![form.into()],
            text: probe.text(name),
            launch: probe.launch(name),
            parameters: Vec::new(),
            shared: 0,
            expected,
            columns: probe.results(),
            rows: probe.rows.len(),
            more: Vec::new(),
        }
    }

    /// Arguments of the launch: object and offset, a number, or the words of a structure and the bytes of each.
    fn arguments(&self) -> Vec<Value> {
        let single = (1, 0);
        let each = std::iter::repeat_n(&single, self.launch.args.len());
        let parameters: Vec<&(usize, u64)> =
            if self.parameters.is_empty() { each.collect() } else { self.parameters.iter().collect() };
        let mut rest = self.launch.args.iter();
        let arguments = parameters.into_iter().filter_map(|&(count, bytes)| {
            if count > 1 {
                let words: Vec<Value> = rest.by_ref().take(count).map(argument).collect();
                return Some(json!({"words": words, "bytes": bytes}));
            }
            rest.next().map(argument)
        });
        arguments.collect()
    }

    fn value(&self) -> Value {
        let objects = self.launch.objects.iter().zip(&self.expected).map(|(before, after)| {
            let mut value = json!({"name": before.name, "before": bytes_of(&before.bytes)});
            if before.bytes != after.bytes {
                value["after"] = json!(hexadecimal(&after.bytes));
            }
            if after.poison.contains(&true) {
                let free: Vec<u8> = after.poison.iter().map(|&free| u8::from(free)).collect();
                value["free"] = json!(hexadecimal(&free));
            }
            value
        });
        let mut value = json!({
            "name": self.name,
            "forms": self.forms,
            "text": self.text,
            "kernel": self.launch.kernel,
            "block": self.launch.local,
            "grid": self.launch.groups,
            "shared": self.shared,
            "args": self.arguments(),
            "objects": objects.collect::<Vec<_>>(),
        });
        if !self.columns.is_empty() {
            let columns = self.columns.iter().map(|column| {
                let ty = if column.ty == Word::Pred { "pred" } else { column.ty.text() };
                json!([ty, column.ty.bits().unwrap_or(32), column.is_approximate])
            });
            value["columns"] = columns.collect();
            value["rows"] = json!(self.rows);
        }
        for (key, more) in &self.more {
            value[*key] = more.clone();
        }
        value
    }
}

impl GpuModule {
    /// The module's line.
    pub fn line(&self) -> String {
        let cases: Vec<Value> = self.cases.iter().map(GpuCase::value).collect();
        json!({"kind": self.kind, "head": self.head, "cases": cases}).to_string()
    }

    /// Number of its cases.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// True without cases.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }
}
