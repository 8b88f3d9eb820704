//! Each op of the table is executed by some run of a file test, by a lane that is active.

use heddle_interp::RunOptions;
use heddle_ir::ops::Op;
use heddle_ir::verify::Stage;
use heddle_ir::{Module, parse_module};
use heddle_runs::line::RunLine;
use heddle_testing::file_test::find_files;
use std::collections::BTreeSet;
use std::path::Path;

/// The ops that a run executes: those of blocks with an active lane, total ones, and the one that faults.
fn executed(module: &Module, run: &RunLine, is_wide: bool) -> BTreeSet<Op> {
    let mut options = RunOptions { trace: true, ..run.options.clone() };
    if is_wide {
        options.brush = vec![1];
    }
    let Ok(ran) = run.run(module, &options) else { return BTreeSet::new() };
    if !run.check(module, &ran).is_ok_and(|difference| difference.is_none()) {
        return BTreeSet::new();
    }
    match ran.outcome {
        Ok(outcome) => {
            let mut ops = BTreeSet::new();
            for step in &outcome.trace.steps {
                let func = &module.functions[step.func as usize];
                let insts = func.block_insts(step.block).map(|inst| func.inst(inst));
                ops.extend(
                    insts.filter(|data| !step.active.is_empty() || data.is_total()).map(|data| data.op),
                );
            }
            ops
        }
        Err(fault) => {
            let func = module.function(&fault.func);
            func.zip(fault.inst).map(|(func, inst)| func.inst(inst).op).into_iter().collect()
        }
    }
}

#[test]
fn every_op_is_executed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut ops = BTreeSet::new();
    for file in find_files(&root).expect("the repository has tests") {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let Ok(module) = parse_module(&text) else { continue };
        let is_wide = text.contains(&format!("stage={}", Stage::Wide));
        let runs = text.lines().filter_map(|line| line.trim().strip_prefix("; run:"));
        for run in runs.filter_map(|run| RunLine::parse(run.trim()).ok()) {
            ops.extend(executed(&module, &run, is_wide));
        }
    }
    let missing: Vec<&str> = Op::ALL.iter().filter(|op| !ops.contains(op)).map(|op| op.name()).collect();
    assert_eq!(missing, Vec::<&str>::new(), "no run of a file test executes these");
}
