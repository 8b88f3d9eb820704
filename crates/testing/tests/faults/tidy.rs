//! Faults planted into the cleanup after linearization, one for each rule: the harness catches every one.

use heddle_ir::{Block, Constant, Detail, Function, Inst, InstData, Op, Type, Value};
use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_testing::linear::{TidyPass, tidies, tidies_by};
use heddle_transform::tidy;

const FAULTS: &[(&str, TidyPass)] = &[
    ("a mask for the edge out of its block", |func| {
        choices(func, |func, _, [mask, then, otherwise]| {
            let is_edge = func.value_type(then) == Type::I1 && is_bool(func, otherwise, false);
            is_edge.then_some(mask)
        });
    }),
    ("a condition for the edge mask", |func| {
        choices(func, |func, _, [_, then, otherwise]| {
            let is_edge = func.value_type(then) == Type::I1 && is_bool(func, otherwise, false);
            is_edge.then_some(then)
        });
    }),
    ("one arm for a blend", |func| choices(func, |_, _, [_, then, _]| Some(then))),
    ("the other arm for a blend", |func| choices(func, |_, _, [_, _, otherwise]| Some(otherwise))),
    ("a negation taken off, arms left", |func| {
        choices(func, |func, inst, [mask, ..]| {
            let data = func.inst(func.def_inst(mask)?);
            if data.op == Op::Xor {
                let positive = data.args[0];
                func.inst_mut(inst).args[0] = positive;
            }
            None
        });
    }),
    ("the wrong arm of a choice inside a choice", |func| {
        choices(func, |func, inst, [_, then, _]| {
            let inner = func.inst(func.def_inst(then)?);
            if inner.op == Op::Select {
                let other = inner.args[2];
                func.inst_mut(inst).args[1] = other;
            }
            None
        });
    }),
    ("one of two masks for both", |func| {
        for inst in insts(func) {
            if func.inst(inst).op == Op::Or && func.value_type(func.results(inst)[0]) == Type::I1 {
                let (result, one) = (func.results(inst)[0], func.inst(inst).args[0]);
                func.map_values(|value| if value == result { one } else { value });
            }
        }
        tidy(func);
    }),
    ("predicates taken for true", |func| {
        let blocks: Vec<Block> = func.blocks().collect();
        blocks.into_iter().for_each(|block| func.set_predicate(block, None));
    }),
    ("the first value of a φ for all", |func| {
        for inst in insts(func) {
            if func.inst(inst).op == Op::Phi {
                let first = func.inst(inst).args[0];
                let count = func.inst(inst).incoming().len();
                func.inst_mut(inst).args[..count].fill(first);
            }
        }
    }),
    ("kept branches go one way", |func| {
        for inst in insts(func) {
            let data = func.inst(inst);
            if let (Op::Br, Detail::Branch(targets, _)) = (data.op, &data.detail)
                && targets.len() == 2
            {
                let target = targets[1];
                func.inst_mut(inst).targets_mut().fill(target);
            }
        }
    }),
    ("effects dropped", |func| {
        for inst in
            insts(func).into_iter().filter(|&inst| func.inst(inst).op == Op::Store).collect::<Vec<_>>()
        {
            func.remove_inst(inst);
        }
        tidy(func);
    }),
    ("what changes in a loop made once", |func| {
        for block in func.blocks().collect::<Vec<_>>() {
            let masks: Vec<Inst> =
                func.phis(block).filter(|&phi| func.inst(phi).incoming().len() == 2).collect();
            for phi in masks {
                let (result, first) = (func.results(phi)[0], func.inst(phi).args[0]);
                if func.value_type(result) == Type::I1 && func.def_inst(first).is_none() {
                    *func.inst_mut(phi) = InstData {
                        args: func.inst(phi).args.iter().map(|_| first).collect(),
                        ..func.inst(phi).clone()
                    };
                }
            }
        }
        tidy(func);
    }),
];

fn insts(func: &Function) -> Vec<Inst> {
    func.blocks().flat_map(|block| func.block_insts(block)).collect()
}

fn is_bool(func: &Function, value: Value, bit: bool) -> bool {
    func.constant(value) == Some(&Constant::bool(bit))
}

/// Replaces each choice by what `by` says, and clears up.
fn choices(func: &mut Function, by: fn(&mut Function, Inst, [Value; 3]) -> Option<Value>) {
    for inst in insts(func) {
        if func.inst(inst).op != Op::Select {
            continue;
        }
        let &[mask, then, otherwise] = &func.inst(inst).args[..] else { continue };
        if let Some(other) = by(func, inst, [mask, then, otherwise]) {
            let result = func.results(inst)[0];
            func.map_values(|value| if value == result { other } else { value });
        }
    }
    tidy(func);
}

#[test]
fn every_fault_is_caught() {
    let mut missed = Vec::new();
    for (name, fault) in FAULTS {
        let is_caught =
            (0..1500).any(|seed| tidies_by(&generate(seed, &GeneratorProfile::default()), *fault).is_err());
        if !is_caught {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

#[test]
fn clearing_up_changes_nothing_but_the_size() {
    let (mut gone, mut some) = (0, 0);
    for seed in 0..600 {
        match tidies(&generate(seed, &GeneratorProfile::default())) {
            Ok(count) => {
                gone += count;
                some += usize::from(count > 0);
            }
            Err(reason) => panic!("seed {seed}: {reason}"),
        }
    }
    println!("{gone} instructions of {some} programs");
    assert!(gone > 3000 && some > 300, "{gone} instructions of {some} programs");
}
