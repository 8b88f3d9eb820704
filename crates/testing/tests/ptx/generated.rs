//! Generated PTX programs: round trips preserve results, the programs cover every form of every instruction, and
//! planted faults are noticed.

use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Module, Op};
use heddle_testing::ptx::{PtxCounts, check, check_with, generate};

const PROGRAMS: u64 = 60;
/// Programs that are looked at for forms alone.
const LOOKED_AT: u64 = 400;

#[test]
fn programs_compute_the_same_all_the_way_round() {
    let mut counts = PtxCounts::default();
    for seed in 0..PROGRAMS {
        if let Err(reason) = check(&generate(seed), &mut counts) {
            panic!("seed {seed}: {reason}");
        }
    }
    println!("{counts}");
    for seed in PROGRAMS..LOOKED_AT {
        counts.look_at(&generate(seed));
    }
    assert!(counts.missing().is_empty(), "no program has {:?}", counts.missing());
}

/// Changes the first instruction of a module that a fault takes.
fn change(module: &mut Module, fault: &mut dyn FnMut(&mut InstData) -> bool) -> bool {
    for func in &mut module.functions {
        let insts: Vec<_> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
        // The values at the end are what is compared: those in the middle matter more often.
        for &inst in insts.iter().skip(insts.len() / 4) {
            if fault(func.inst_mut(inst)) {
                return true;
            }
        }
    }
    false
}

type Fault = (&'static str, fn(&mut InstData) -> bool);

fn swapped(data: &mut InstData, op: Op) -> bool {
    let takes = data.op == op && data.args[0] != data.args[1];
    if takes {
        data.args.swap(0, 1);
    }
    takes
}

const FAULTS: &[Fault] = &[
    ("operands of a difference swapped", |data| swapped(data, Op::Sub)),
    ("operands of a shift swapped", |data| swapped(data, Op::Lshr)),
    ("a product for a sum", |data| {
        let takes = data.op == Op::Add;
        if takes {
            (data.op, data.flags) = (Op::Mul, heddle_ir::words::Flags::NONE);
        }
        takes
    }),
    ("choices swapped", |data| {
        let takes = data.op == Op::Select && data.args[1] != data.args[2];
        if takes {
            data.args.swap(1, 2);
        }
        takes
    }),
    ("the other comparison", |data| {
        let Detail::IntCompare(predicate) = data.detail else { return false };
        data.detail = Detail::IntCompare(match predicate {
            IntPredicate::Eq => IntPredicate::Ne,
            IntPredicate::Ne => IntPredicate::Eq,
            IntPredicate::Slt => IntPredicate::Sge,
            _ => return false,
        });
        true
    }),
    ("waits that are over early, or never", |data| {
        let takes = data.detail == Detail::IntCompare(IntPredicate::Uge);
        if takes {
            data.detail = Detail::IntCompare(IntPredicate::Ule);
        }
        takes
    }),
    ("a branch the other way", |data| {
        let Detail::Branch(targets, _) = &mut data.detail else { return false };
        let differ = data.op == Op::Br && targets.len() == 2 && targets[0] != targets[1];
        if differ {
            targets.swap(0, 1);
        }
        differ
    }),
];

#[test]
fn planted_faults_are_noticed() {
    for (name, fault) in FAULTS {
        let noticed = (0..200).any(|seed| {
            let mut planted = false;
            let outcome =
                check_with(&generate(seed), |module| planted = change(module, &mut |data| fault(data)));
            planted && outcome.is_err()
        });
        assert!(noticed, "nothing notices: {name}");
    }
}
