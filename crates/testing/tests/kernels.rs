//! Kernels as group functions: generated ones, on the oracle and natively; faults planted into what is made of them; how
//! often their brushes wait.
#![forbid(unsafe_code)]

use heddle_ir::inst::Detail;
use heddle_ir::{Constant, Function, Inst, Module, Op, Type, ValueDef, parse_module};
use heddle_testing::fuzz::check;
use heddle_testing::generate::generate;
use heddle_testing::kernels::{Machine, kernels_hold_with, profile};
use heddle_testing::properties::topic;
use heddle_transform::{Fold, KernelOptions, lower_kernels};
use smallvec::SmallVec;

#[test]
fn group_functions_do_what_kernels_do() {
    let topic = topic("kernels").expect("there is the topic");
    for seed in 1..400 {
        let case = generate(seed, &profile());
        if let Err(reason) = check(topic, &case) {
            panic!("seed {seed}: {reason}");
        }
    }
}

type Fault = fn(&mut Module);

const FAULTS: &[(&str, Fault)] = &[
    ("what lives across a barrier is not kept", |module| {
        regions(module, |func| {
            let entry = func.entry();
            for inst in insts(func, Op::Store) {
                let address = func.def_inst(func.inst(inst).args[1]);
                let is_home = address.is_some_and(|it| func.layout.block_of(it) == Some(entry));
                if is_home && func.layout.block_of(inst) != Some(entry) {
                    func.remove_inst(inst);
                }
            }
        });
    }),
    ("lanes share what is kept", |module| {
        regions(module, |func| {
            for inst in insts(func, Op::Mul) {
                let is_lane = |it: &_| func.def_inst(*it).is_some_and(|def| func.inst(def).op == Op::Lane);
                if func.inst(inst).args.first().is_some_and(is_lane) {
                    let ty = func.value_type(func.inst(inst).args[1]);
                    let zero = func.make_const(Constant::splat(ty, 0));
                    func.inst_mut(inst).args[1] = zero;
                }
            }
        });
    }),
    ("brushes share what is kept", |module| {
        group(module, |func| {
            let Some(&scratch) = func.params().last() else { return };
            for inst in insts(func, Op::Launch) {
                for index in 0..func.inst(inst).args.len() {
                    let arg = func.inst(inst).args[index];
                    let is_memory = func.def_inst(arg).is_some_and(|it| {
                        func.inst(it).op == Op::PtrAdd && func.value_type(arg) == func.value_type(scratch)
                    });
                    if is_memory {
                        func.inst_mut(inst).args[index] = scratch;
                    }
                }
            }
        });
    }),
    ("variables of the group stay as they are", |module| {
        group(module, |func| {
            for inst in insts(func, Op::Store) {
                if func.value_type(func.inst(inst).args[0]) != Type::I32 {
                    func.remove_inst(inst);
                }
            }
        });
    }),
    ("a state is taken for another", |module| {
        group(module, |func| {
            for inst in insts(func, Op::Switch) {
                let targets = func.inst_mut(inst).targets_mut();
                targets.swap(0, 1);
            }
        });
    }),
    ("the last brush is whole", |module| masks(module, 1)),
    ("the last brush is left out", |module| masks(module, 0)),
    ("a number of the record is the next one", |module| {
        group(module, |func| {
            for inst in insts(func, Op::PtrAdd) {
                let [base, offset] = [0, 1].map(|index| func.inst(inst).args[index]);
                let is_place = func.params().iter().rev().nth(2) == Some(&base);
                if is_place && let Some(&Constant::Scalar(scalar, bits)) = func.constant(offset) {
                    let other = func.make_int(scalar, ((bits + 8) % 152) as i128);
                    func.inst_mut(inst).args[1] = other;
                }
            }
        });
    }),
    ("a row of brushes is left out", |module| {
        group(module, |func| {
            for inst in insts(func, Op::Icmp) {
                let Some(ValueDef::Result(next, _)) =
                    func.inst(inst).args.first().map(|&it| func.value_def(it))
                else {
                    continue;
                };
                // A loop ends behind its first round.
                if func.inst(next).op == Op::Add {
                    let next = func.inst(inst).args[0];
                    func.inst_mut(inst).args[1] = next;
                }
            }
        });
    }),
];

fn insts(func: &Function, op: Op) -> Vec<Inst> {
    func.blocks().flat_map(|block| func.block_insts(block)).filter(|&inst| func.inst(inst).op == op).collect()
}

fn regions(module: &mut Module, fault: impl Fn(&mut Function)) {
    module.functions.iter_mut().filter(|func| func.name.contains(".region")).for_each(fault);
}

fn group(module: &mut Module, fault: impl Fn(&mut Function)) {
    let launches = |func: &&mut Function| !insts(func, Op::Launch).is_empty();
    module.functions.iter_mut().filter(launches).for_each(fault);
}

/// Gives the masks of last brushes these bits.
fn masks(module: &mut Module, bits: u128) {
    group(module, |func| {
        for inst in insts(func, Op::Launch) {
            let Detail::Launch(launch) = &func.inst(inst).detail else { continue };
            if launch.masked && func.results(inst).is_empty() {
                let last = func.inst(inst).args.len() - 1;
                let ty = func.value_type(func.inst(inst).args[last]);
                let mask = func.make_const(Constant::splat(ty, bits));
                func.inst_mut(inst).args[last] = mask;
            }
        }
    });
}

#[test]
fn every_planted_fault_is_noticed() {
    let cases: Vec<_> = (1..400).map(|seed| generate(seed, &profile())).collect();
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let is_missed = |fault: Fault| {
        !cases.iter().any(|case| {
            let checked = std::panic::AssertUnwindSafe(|| kernels_hold_with(case, Machine::Oracle, fault));
            std::panic::catch_unwind(checked).is_ok_and(|checked| checked.is_err())
        })
    };
    let missed: Vec<&str> =
        FAULTS.iter().filter(|(_, fault)| is_missed(*fault)).map(|(name, _)| *name).collect();
    std::panic::set_hook(quiet);
    assert!(missed.is_empty(), "nobody notices: {missed:?}");
}

/// No barrier is added, although blocks are in several states.
#[test]
fn brushes_wait_as_often_as_the_kernel_says() {
    let text = include_str!("../../../tests/kernels/karrenberg-fig-3.hed");
    let text = text.split("\n; output").next().unwrap_or_default();
    let mut module = parse_module(text).expect("the file is right");
    let options = KernelOptions { brush: SmallVec::from_slice(&[4]), fold: Fold::Rows, is_small: true };
    let made = lower_kernels(&mut module, &options).expect("the kernel has a group function");
    assert_eq!((made[0].barriers, made[0].synchronization_points), (3, 3));
    assert_eq!(module.functions.iter().filter(|func| func.name.contains(".region")).count(), 4);
}
