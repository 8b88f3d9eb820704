//! Non-temporal stores are aligned as the machine requires: without the check of their address, runs end in a fault.

use heddle_compiler::Session;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Module, Op};
use heddle_testing::file_test::failures_with_passes;
use std::path::Path;

const PASSES: [&str; 7] =
    ["canonicalize", "specialize:8", "loops", "linearize", "widen:8", "simplify", "stream"];

fn run_passes(module: &mut Module) -> Result<(), String> {
    let session = Session::default();
    session.run_passes(module, &PASSES, true, |_, _| {}).map(|_| ()).map_err(|message| message.to_string())
}

/// Lets each address be taken for a multiple of a vector's bytes.
fn unasked(module: &mut Module) -> Result<(), String> {
    run_passes(module)?;
    for func in &mut module.functions {
        let yes = func.make_bool(true);
        let is_question = |inst: &_| {
            let data = func.inst(*inst);
            data.op == Op::Icmp && data.detail == heddle_ir::inst::Detail::IntCompare(IntPredicate::Eq)
        };
        let insts = func.blocks().flat_map(|block| func.block_insts(block));
        let requested = insts.filter(is_question).find_map(|inst| func.result(inst));
        func.map_values(|value| if Some(value) == requested { yes } else { value });
    }
    Ok(())
}

#[test]
fn addresses_are_tested() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transform/stream.hed");
    let printed = failures_with_passes(&file, |module, _| unasked(module)).expect("the file is there");
    assert!(printed.iter().any(|printed| printed.contains("align")), "{printed:#?}");
    let printed = failures_with_passes(&file, |module, _| run_passes(module)).expect("the file is there");
    assert!(printed.is_empty(), "{printed:#?}");
}
