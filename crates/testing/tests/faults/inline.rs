//! Generated programs with bodies in the place of calls, and what is done wrong to them: the harness notices all of it.

use heddle_ir::entity::Entity;
use heddle_ir::{Block, Function, Inst, Module, Op};
use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_testing::inlined::{inlines, inlines_with};

type Fault = (&'static str, fn(&mut Module));

const FAULTS: &[Fault] = &[
    ("a result is that of another return", |module| {
        each_new(module, |func, inst| {
            if func.inst(inst).op == Op::Phi && func.inst(inst).args.len() == 2 {
                func.inst_mut(inst).args.swap(0, 1);
            }
        });
    }),
    ("a branch of the callee goes the other way", |module| {
        each_new(module, |func, inst| {
            if func.inst(inst).targets().len() == 2 && func.inst(inst).op == Op::Br {
                func.inst_mut(inst).targets_mut().swap(0, 1);
            }
        });
    }),
    ("a callee's store is left out", |module| {
        each_new(module, |func, inst| {
            if func.inst(inst).op == Op::Store {
                func.remove_inst(inst);
            }
        });
    }),
    ("bodies share their objects", |module| {
        for func in &mut module.functions {
            let entry = func.entry();
            let objects: Vec<Inst> =
                func.block_insts(entry).filter(|&inst| func.inst(inst).op == Op::Alloca).collect();
            let Some(&first) = objects.first() else { continue };
            let (kept, rest) = (func.result(first), &objects[1..]);
            let gone: Vec<_> = rest.iter().filter_map(|&inst| func.result(inst)).collect();
            // The maximum size serves all, so that no access is out of bounds.
            let Some(largest) = objects.iter().map(|&inst| func.inst(inst).detail.clone()).max_by_key(bytes)
            else {
                continue;
            };
            func.inst_mut(first).detail = largest;
            func.map_values(|value| match kept {
                Some(kept) if gone.contains(&value) => kept,
                _ => value,
            });
        }
    }),
];

fn bytes(detail: &heddle_ir::Detail) -> (u32, u64) {
    match *detail {
        heddle_ir::Detail::Alloca { bytes, align } => (align, bytes),
        _ => (0, 0),
    }
}

/// Does something to the instructions of the later half of a function's blocks: bodies that were put there are new.
fn each_new(module: &mut Module, mut spoil: impl FnMut(&mut Function, Inst)) {
    for func in &mut module.functions {
        let half = func.block_count() / 2;
        let blocks: Vec<Block> = func.blocks().filter(|block| block.index() >= half).collect();
        for block in blocks {
            let insts: Vec<Inst> = func.block_insts(block).collect();
            insts.into_iter().for_each(|inst| spoil(func, inst));
        }
    }
}

#[test]
fn programs_with_bodies_in_the_place_of_calls_refine_their_sources() {
    let mut inlined = 0;
    for seed in 0..5000 {
        let case = generate(seed, &GeneratorProfile::default());
        inlined += inlines(&case).unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
    }
    println!("{inlined} calls");
    assert!(inlined > 150, "{inlined}");
}

#[test]
fn every_fault_is_caught() {
    for (name, fault) in FAULTS {
        let caught = (0..5000).find_map(|seed| {
            let case = generate(seed, &GeneratorProfile::default());
            // Errors in programs without calls are no faults of this pass.
            let calls = inlines(&case).unwrap_or(0);
            (calls > 0).then(|| inlines_with(&case, *fault).err()).flatten().map(|reason| (seed, reason))
        });
        let (seed, reason) = caught.unwrap_or_else(|| panic!("not noticed: {name}"));
        println!("{name}: program {seed}: {reason}");
    }
}
