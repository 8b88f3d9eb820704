//! Programs under a layer between them and the driver (`tests/opencl/layer.c`): what they call, and faults that they notice.

use crate::place::{command, compile_as, scratch};
use std::path::PathBuf;
use std::process::Output;
use std::sync::OnceLock;

fn layer() -> &'static PathBuf {
    static LAYER: OnceLock<PathBuf> = OnceLock::new();
    LAYER.get_or_init(|| {
        compile_as(
            "layer.c",
            &scratch().join("layer.so"),
            &["-shared", "-fPIC", "-Wl,--no-as-needed", "-ldl"],
        )
    })
}

/// Calls of a program, and the sources that it built.
pub(crate) struct CallTrace {
    /// Functions of extensions.
    pub(crate) functions: Vec<String>,
    /// All sources of programs.
    pub(crate) sources: String,
}

/// Runs a compiled program under the layer.
fn under_layer(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = command("env", &[]);
    command.arg(format!("LD_PRELOAD={}", layer().display())).arg(program).args(arguments);
    command.envs(variables.iter().copied()).output().expect("timeout starts")
}

/// Compiles a program, runs it, and returns what it called. It must pass.
pub(crate) fn trace(name: &str, arguments: &[&str]) -> CallTrace {
    let program = compile_as(name, &scratch().join(format!("{name}.traced")), &[]);
    let place = scratch().join(format!("{name}.trace"));
    let place_name = place.display().to_string();
    let output = under_layer(&program.display().to_string(), arguments, &[("LAYER_TRACE", &place_name)]);
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && printed.ends_with("passed\n"), "{name}: {printed}{messages}");
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let functions = read(format!("{place_name}.functions")).lines().map(str::to_string).collect();
    CallTrace { functions, sources: read(format!("{place_name}.sources")) }
}

/// Faults of the layer, each with a program that must notice it.
const FAULTS: [(&str, &str); 19] = [
    ("command_buffers.c", "reversed"),
    ("command_buffers.c", "arguments late"),
    ("command_buffers.c", "sync points unchecked"),
    ("command_buffers.c", "sync points equal"),
    ("command_buffers.c", "executed once"),
    ("mutable_commands.c", "arguments late"),
    ("mutable_commands.c", "updates lost"),
    ("mutable_commands.c", "first update only"),
    ("mutable_commands.c", "updates one by one"),
    ("mutable_commands.c", "captured late"),
    ("mutable_commands.c", "executed once"),
    ("unified_svm.c", "frees anything"),
    ("unified_svm.c", "suggests the first"),
    ("unified_svm.c", "desires ignored"),
    ("unified_svm.c", "type ignored"),
    ("unified_svm.c", "base as given"),
    ("unified_svm.c", "device forgotten"),
    ("unified_svm.c", "access forgotten"),
    ("unified_svm.c", "properties lost"),
];

#[test]
fn programs_notice_planted_faults() {
    let known = std::fs::read_to_string(crate::place::source("layer.c")).expect("the layer is there");
    for name in ["command_buffers.c", "mutable_commands.c", "unified_svm.c"] {
        let program = compile_as(name, &scratch().join(format!("{name}.faulty")), &[]);
        let program = program.display().to_string();
        let faults = FAULTS.iter().filter(|(of, _)| *of == name).map(|(_, fault)| *fault);
        for fault in [""].into_iter().chain(faults) {
            assert!(
                fault.is_empty() || known.contains(&format!("has_fault(\"{fault}\")")),
                "no fault {fault}"
            );
            let output = under_layer(&program, &[], &[("LAYER_FAULT", fault)]);
            let messages = String::from_utf8_lossy(&output.stderr);
            // A program that notices ends with 1 and says which expectation does not hold.
            let expected = if fault.is_empty() { 0 } else { 1 };
            assert_eq!(output.status.code(), Some(expected), "{name} with '{fault}': {messages}");
            assert!(fault.is_empty() || messages.contains(&format!("{name}:")), "{name}: {messages}");
        }
    }
}
