//! Runs a kernel in all modes: interpreted, as vector code, and after a round trip through PTX.

use crate::kernels::Machine;
use crate::launches::{TestLaunch, TestLaunchArgument, TestLaunchObject, as_vectors, on_oracle, vectors};
use heddle_interp::Scheduler;
use heddle_ir::Module;
use heddle_ptx::{LowerOptions, ModuleFacts, RaiseOptions, lower, parse, raise};

fn read(text: &str) -> Result<Module, String> {
    let parsed = parse(text).map_err(|errors| format!("{}\n{text}", errors[0]))?;
    let lowered = lower(&parsed, "m.ptx", LowerOptions::default()).map_err(|errors| errors[0].to_string())?;
    match lowered.refused.first() {
        Some(refusal) => Err(refusal.to_string()),
        None => Ok(lowered.module),
    }
}

/// Returns the contents of `out`, zero-initialized words of 64 bits, after a kernel `k(input, out)`, for each mode.
pub fn run_in_all_modes(
    text: &str,
    threads: u32,
    input: &[u64],
    results: usize,
) -> Result<Vec<(String, Vec<u64>)>, String> {
    let launch = TestLaunch {
        kernel: "k".into(),
        args: vec![TestLaunchArgument::Object(0, 0), TestLaunchArgument::Object(1, 0)],
        objects: vec![
            TestLaunchObject::new("input", input.iter().flat_map(|word| word.to_le_bytes()).collect()),
            TestLaunchObject::new("out", vec![0; results * 8]),
        ],
        local: [threads, 1, 1],
        groups: [1; 3],
        steps: 1_000_000,
    };
    let words = |held: &[TestLaunchObject]| -> Vec<u64> {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        held[1].bytes.chunks_exact(8).map(word).collect()
    };
    let oracle =
        |module: &Module| on_oracle(module, &launch, Scheduler::Greedy).map_err(|fault| fault.to_string());
    let module = read(text)?;
    let mut all = vec![("lowered".to_string(), words(&oracle(&module)?.0))];
    let code = vectors(&module, "k").map_err(|error| error.to_string())?;
    for machine in [Machine::Oracle, Machine::Native] {
        let found = as_vectors(&code, &launch, machine).map_err(|error| error.to_string())?;
        all.push((format!("vector code, {machine:?}"), words(&found)));
    }
    let options = RaiseOptions { target: "sm_80".into(), ..RaiseOptions::default() };
    let out = raise(&module, &ModuleFacts::default(), &options).map_err(|errors| errors[0].to_string())?;
    all.push(("raised".to_string(), words(&oracle(&read(&out)?)?.0)));
    Ok(all)
}
