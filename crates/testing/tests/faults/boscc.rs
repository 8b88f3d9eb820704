//! Faults planted into guards, one for each rule: the harness catches every one. And what generated programs cover.

use heddle_ir::entity::EntitySet;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Block, Constant, Function, Inst, Op};
use heddle_testing::caught::all_are_caught;
use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_testing::linear::{GuardPass, LinearizeCounts, guards, guards_by};
use heddle_transform::boscc::{GuardOptions, GuardPolicy, guard_regions};

/// Maximum number of programs until a fault must show; the number needed depends on the generator.
const MOST_PROGRAMS: u64 = 50_000;

const FAULTS: &[(&str, GuardPass)] = &[
    ("wrong vote", |func, divergent| {
        change(func, divergent, |func, inst| {
            let data = func.inst_mut(inst);
            data.op = match data.op {
                Op::Any => Op::All,
                Op::All => Op::Any,
                op => op,
            };
        })
    }),
    ("answers swapped", |func, divergent| {
        change(func, divergent, |func, inst| {
            if func.inst(inst).op == Op::Br && func.inst(inst).targets().len() == 2 {
                func.inst_mut(inst).targets_mut().swap(0, 1);
            }
        })
    }),
    ("votes over active lanes only", |func, divergent| {
        change(func, divergent, |func, inst| {
            let data = func.inst_mut(inst);
            data.flags = data.flags.without(Flags::NONE.with(Flag::Total));
        })
    }),
    ("lanes that are not there answer", |func, divergent| {
        change(func, divergent, |func, inst| {
            let data = func.inst(inst);
            if data.op == Op::Select {
                let other = func.constant(data.args[2]) != Some(&Constant::bool(true));
                func.inst_mut(inst).args[2] = func_bool(func, other);
            }
        })
    }),
    ("all lanes of the brush for the mask", |func, divergent| {
        change(func, divergent, |func, inst| {
            if func.inst(inst).op == Op::Mask {
                let (mask, always) = (func.results(inst)[0], func_bool(func, true));
                func.map_values(|value| if value == mask { always } else { value });
            }
        })
    }),
    ("what lanes bring past a region is lost", |func, divergent| {
        let before: Vec<(Inst, usize)> = phis(func);
        let guarded = guard(func, divergent);
        for (phi, count) in before {
            let data = func.inst(phi);
            if data.incoming().len() > count {
                let poison = func.make_poison(func.value_type(func.results(phi)[0]));
                let last = data_len(func, phi) - 1;
                func.inst_mut(phi).args[last - 1] = poison;
            }
        }
        guarded
    }),
    ("no guard", |func, divergent| {
        let mut other = func.clone();
        guard(&mut other, divergent)
    }),
];

fn func_bool(func: &mut Function, value: bool) -> heddle_ir::Value {
    func.make_bool(value)
}

fn data_len(func: &Function, phi: Inst) -> usize {
    func.inst(phi).incoming().len()
}

fn phis(func: &Function) -> Vec<(Inst, usize)> {
    let phis = func.blocks().flat_map(|block| func.phis(block));
    phis.map(|phi| (phi, data_len(func, phi))).collect()
}

fn guard(func: &mut Function, divergent: &EntitySet<Block>) -> Vec<Block> {
    let options = GuardOptions { policy: GuardPolicy::Force, ..GuardOptions::default() };
    guard_regions(func, divergent, &options).expect("the requested guards are possible")
}

/// Guards, and changes what is new.
fn change(func: &mut Function, divergent: &EntitySet<Block>, change: fn(&mut Function, Inst)) -> Vec<Block> {
    let insts =
        |func: &Function| -> Vec<Inst> { func.blocks().flat_map(|block| func.block_insts(block)).collect() };
    let before: EntitySet<Inst> = insts(func).into_iter().collect();
    let guarded = guard(func, divergent);
    for inst in insts(func) {
        if !before.contains(inst) {
            change(func, inst);
        }
    }
    guarded
}

#[test]
fn every_fault_is_caught() {
    let known = [("lanes that are not there answer", 1044)];
    all_are_caught(FAULTS.iter().copied(), &known, MOST_PROGRAMS, |seed, fault| {
        guards_by(&generate(seed, &GeneratorProfile::source()), fault).is_err()
    });
}

#[test]
fn guarded_regions_do_not_run_without_lanes() {
    let mut sum = LinearizeCounts::default();
    for seed in 0..600 {
        let done = guards(&generate(seed, &GeneratorProfile::source()));
        sum.add(&done.unwrap_or_else(|reason| panic!("seed {seed}: {reason}")));
    }
    println!("{sum:?}");
    assert!(sum.guarded > 1500 && sum.functions[1] * 50 < sum.functions[0], "{sum:?}");
}
