//! The topics of native code, briefly: they hold of the first programs, and notice what is wrong.

use heddle_ir::{Module, Op};
use heddle_testing::native::c::{self, FpContract};
use heddle_testing::native::hed::{self, TargetWorkshops};
use heddle_testing::native::{InstructionSet, NativePlan, NativeTally, drive, native_topic};
use std::path::PathBuf;
use std::time::Duration;

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("heddle-{name}-{}", std::process::id()))
}

fn run(name: &str, count: u64, targets: Vec<InstructionSet>) -> NativeTally {
    let topic = native_topic(name).expect("there is the topic");
    let (time, folder) = (Duration::from_secs(3600), folder(name));
    let plan =
        NativePlan { topic, seed: 1, time, count: Some(count), jobs: 1, targets, folder: folder.clone() };
    let report = drive(&plan, &|_, _| {}).expect("clang is there");
    let finds: Vec<String> = report
        .tally
        .finds
        .iter()
        .map(|find| format!("seed {}, {}: {}", find.pair.seed, find.pair.form, find.reason))
        .collect();
    assert!(finds.is_empty(), "{}\n{:?}", finds.join("\n"), report.files);
    let _ = std::fs::remove_dir_all(&folder);
    report.tally
}

#[test]
fn native_code_of_generated_programs_is_right() {
    let tally = run("native", 60, vec![InstructionSet::Sse42]);
    assert!(tally.all_pairs() >= 150, "{tally}");
}

#[test]
fn native_code_of_generated_c_is_right() {
    let tally = run("c", 16, vec![InstructionSet::Sse42]);
    assert!(tally.all_pairs() >= 100, "{tally}");
}

#[test]
fn contracted_products_may_be_rounded_either_way() {
    let tally = run("c-contract", 8, vec![InstructionSet::Sse42]);
    assert!(tally.all_pairs() >= 50, "{tally}");
}

/// Adds where it should subtract.
fn spoil(module: &mut Module) {
    for func in &mut module.functions {
        let insts: Vec<_> =
            func.blocks().flat_map(|block| func.block_insts(block).collect::<Vec<_>>()).collect();
        for inst in insts {
            let data = func.inst_mut(inst);
            match data.op {
                Op::Xor => data.op = Op::Or,
                Op::Fadd => data.op = Op::Fsub,
                _ => {}
            }
        }
    }
}

#[test]
fn wrong_vector_code_is_noticed() {
    let folder = folder("spoiled");
    let bench = TargetWorkshops::new(&folder, &[InstructionSet::Sse42]).expect("clang is there");
    let native = hed::run_batch_by(&bench, 0..24, spoil);
    let of_c = c::run_batch_by(&bench, 0..8, FpContract::Off, spoil);
    let _ = std::fs::remove_dir_all(&folder);
    assert!(native.finds.len() > 10, "{native}");
    assert!(of_c.finds.len() > 10, "{of_c}");
}
