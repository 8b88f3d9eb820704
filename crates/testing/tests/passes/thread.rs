//! Jump threading keeps the meaning of programs that test every condition twice; planted faults are caught.

use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::Entity;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Block, Detail, Function, Inst, Op, Type};
use heddle_testing::differential::differential;
use heddle_testing::generate::{GeneratedProgram, GeneratorProfile, generate};
use heddle_transform::{canonicalize, thread_jumps};

/// Joins both arms of each branch in a block that tests the condition again.
fn ask_twice(func: &mut Function) {
    let blocks: Vec<Block> = func.blocks().collect();
    for block in blocks {
        let Some(branch) = func.terminator(block) else { continue };
        let data = func.inst(branch).clone();
        let (Op::Br, &[then, otherwise]) = (data.op, data.targets()) else { continue };
        if then == otherwise || func.predicate(block).is_some() {
            continue;
        }
        let by = func.insert_block_after(block);
        let again = func.insert_block_after(by);
        for target in [then, otherwise] {
            for phi in func.phis(target).collect::<Vec<Inst>>() {
                if let Detail::Phi(from) = &mut func.inst_mut(phi).detail {
                    from.iter_mut().filter(|from| **from == block).for_each(|from| *from = again);
                }
            }
        }
        Builder::new(func, InsertPoint::End(by)).jump(again);
        let mut builder = Builder::new(func, InsertPoint::End(again));
        // The second test uses the condition itself, or a φ of constants.
        let requested = match block.index() % 2 {
            0 => data.args[0],
            _ => {
                let [yes, no] = [true, false].map(|value| builder.func.make_bool(value));
                builder.phi(Type::I1, &[(by, yes), (block, no)], None)
            }
        };
        builder.branch(requested, then, otherwise);
        func.inst_mut(branch).targets_mut().copy_from_slice(&[by, again]);
    }
}

/// Pass that returns its number of changes.
type Thread = fn(&mut Function) -> usize;

/// Checks programs with a pass; how often it changed them, and which came out wrong.
fn check(count: u64, thread: Thread) -> (usize, Vec<u64>) {
    let (mut made, mut wrong) = (0, Vec::new());
    for seed in 0..count {
        let case: GeneratedProgram = generate(seed, &GeneratorProfile::source());
        let mut module = case.module.clone();
        module.functions.iter_mut().for_each(ask_twice);
        verify_module(&module, Stage::Source).unwrap_or_else(|message| panic!("seed {seed}: {message}"));
        made += module.functions.iter_mut().map(thread).sum::<usize>();
        let is_valid = verify_module(&module, Stage::Source).is_ok();
        if is_valid {
            module.functions.iter_mut().for_each(canonicalize);
        }
        let is_right = is_valid && differential(&case, &case.module, &module).is_ok();
        wrong.extend((!is_right).then_some(seed));
    }
    (made, wrong)
}

#[test]
fn repeated_tests_are_threaded() {
    let (made, wrong) = check(600, thread_jumps);
    assert!(made > 600 && wrong.is_empty(), "{made} jumps, wrong are {wrong:?}");
}

/// Lets the answers of the first branch change places.
fn turn_first(func: &mut Function) {
    let found = func.blocks().find(|&block| func.successors(block).len() == 2);
    if let Some(branch) = found.and_then(|block| func.terminator(block)) {
        func.inst_mut(branch).targets_mut().reverse();
    }
}

#[test]
fn faults_are_caught() {
    let faults: [(&str, Thread); 2] = [
        ("the other way", |func| {
            let made = thread_jumps(func);
            turn_first(func);
            made
        }),
        ("one value for what each way brings", |func| {
            let made = thread_jumps(func);
            for inst in func.blocks().flat_map(|block| func.block_insts(block)).collect::<Vec<Inst>>() {
                let count = func.inst(inst).incoming().len();
                if func.inst(inst).op == Op::Phi && count > 1 {
                    let last = func.inst(inst).args[count - 1];
                    func.inst_mut(inst).args[0] = last;
                }
            }
            made
        }),
    ];
    for (name, fault) in faults {
        let (_, wrong) = check(100, fault);
        assert!(!wrong.is_empty(), "{name}");
    }
}
