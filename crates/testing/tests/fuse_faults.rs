//! Faults planted into fused branches, one for each rule: the harness catches every one. And what generated programs cover.
#![forbid(unsafe_code)]

use heddle_ir::entity::Entity as _;
use heddle_ir::words::Flags;
use heddle_ir::{Block, Constant, Function, Inst, Op};
use heddle_testing::fused::{Fuse, Fused, fuses, fuses_by};
use heddle_testing::generate::{Profile, generate};
use heddle_transform::{FuseOptions, Fusions, Races, fuse};

const FAULTS: &[(&str, Fuse)] = &[
    ("operands of the wrong side", |func, options| {
        change(func, options, |_, func, inst| {
            if func.inst(inst).op == Op::Select {
                func.inst_mut(inst).args.swap(1, 2);
            }
        })
    }),
    ("a φ behind a gap takes the other side's value", |func, options| {
        change(func, options, |_, func, inst| {
            if func.inst(inst).op == Op::Phi && func.inst(inst).args.len() == 2 {
                func.inst_mut(inst).args.swap(0, 1);
            }
        })
    }),
    ("gaps of the wrong side", |func, options| {
        change(func, options, |_, func, inst| {
            if func.inst(inst).op == Op::Br && func.inst(inst).targets().len() == 2 {
                func.inst_mut(inst).targets_mut().swap(0, 1);
            }
        })
    }),
    ("promises of one side for both", |func, options| {
        kept(func, options, |before, func, inst| {
            let flags = before.inst(inst).flags.intersection(Flags::POISON);
            let data = func.inst_mut(inst);
            data.flags = data.flags.union(flags);
        })
    }),
    ("a difference as a sum without its sign", |func, options| {
        kept(func, options, |before, func, inst| {
            let is_sum = matches!(func.inst(inst).op, Op::Add | Op::Fadd);
            if is_sum && matches!(before.inst(inst).op, Op::Sub | Op::Fsub) {
                func.inst_mut(inst).args[1] = before.inst(inst).args[1];
            }
        })
    }),
    ("the predicate of the other side", |func, options| {
        kept(func, options, |before, func, inst| {
            let (old, new) = (before.inst(inst), func.inst(inst));
            let is_new = |func: &Function, index: usize| {
                func.def_inst(new.args[index]).is_some_and(|inst| inst.index() >= before.inst_count())
            };
            if old.op == Op::Icmp && new.op == Op::Icmp && (is_new(func, 0) || is_new(func, 1)) {
                func.inst_mut(inst).args.swap(0, 1);
            }
        })
    }),
    ("the condition of a branch that goes the other way is not negated", |func, options| {
        change(func, options, |_, func, inst| {
            let data = func.inst(inst);
            if data.op == Op::Xor && func.constant(data.args[1]) == Some(&Constant::bool(true)) {
                let no = func.make_bool(false);
                func.inst_mut(inst).args[1] = no;
            }
        })
    }),
    ("lanes that race are taken for lanes that do not", |func, options| {
        fuse(func, &FuseOptions { races: Races::Excluded, ..*options })
    }),
    ("a gap that is not harmless is executed by all lanes", |func, options| {
        let before = func.clone();
        let fusions = fuse(func, options);
        let gaps: Vec<(Block, Block)> = func
            .blocks()
            .filter(|from| func.terminator(*from).is_some_and(|inst| inst.index() >= before.inst_count()))
            .flat_map(|from| func.successors(from).iter().map(move |&to| (from, to)))
            .filter(|(_, to)| to.index() >= before.block_count() && func.phis(*to).next().is_none())
            .collect();
        for (from, to) in gaps {
            let Some(branch) = func.terminator(from) else { continue };
            let insts: Vec<Inst> =
                func.block_insts(to).filter(|&inst| !func.inst(inst).op.is_terminator()).collect();
            for inst in insts {
                func.layout.remove_inst(inst);
                func.layout.insert_inst_before(inst, branch);
            }
        }
        fusions
    }),
    ("one side's value for both", |func, options| {
        change(func, options, |_, func, inst| {
            if func.inst(inst).op == Op::Select {
                let left = func.inst(inst).args[1];
                func.inst_mut(inst).args[2] = left;
            }
        })
    }),
    ("what one side alone defines is lost behind a gap", |func, options| {
        change(func, options, |_, func, inst| {
            if func.inst(inst).op == Op::Phi {
                let poison = func.make_poison(func.value_type(func.results(inst)[0]));
                func.inst_mut(inst).args.iter_mut().for_each(|arg| *arg = poison);
            }
        })
    }),
    ("φs of loops and joins keep the operands of one side", |func, options| {
        kept(func, options, |before, func, inst| {
            let (old, new) = (before.inst(inst).clone(), func.inst(inst).clone());
            if old.op == Op::Phi && new.op == Op::Phi && old.args.len() == new.args.len() {
                for (index, &value) in old.args.iter().enumerate() {
                    let is_new = func
                        .def_inst(new.args[index])
                        .is_some_and(|made| made.index() >= before.inst_count());
                    if is_new && func.constant(value).is_some() {
                        func.inst_mut(inst).args[index] = value;
                    }
                }
            }
        })
    }),
    ("merged accesses promise what one side promised", |func, options| {
        kept(func, options, |_, func, inst| {
            if let heddle_ir::Detail::Access(access) = &mut func.inst_mut(inst).detail {
                access.align *= 16;
            }
        })
    }),
];

/// Fuses, and changes what is new.
fn change(func: &mut Function, options: &FuseOptions, change: fn(&Function, &mut Function, Inst)) -> Fusions {
    let before = func.clone();
    let fusions = fuse(func, options);
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    for inst in insts.into_iter().filter(|inst| inst.index() >= before.inst_count()) {
        change(&before, func, inst);
    }
    fusions
}

/// Fuses, and changes what was there before and is another one now.
fn kept(func: &mut Function, options: &FuseOptions, change: fn(&Function, &mut Function, Inst)) -> Fusions {
    let before = func.clone();
    let fusions = fuse(func, options);
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    for inst in insts.into_iter().filter(|inst| inst.index() < before.inst_count()) {
        if before.inst(inst) != func.inst(inst) {
            change(&before, func, inst);
        }
    }
    fusions
}

#[test]
fn every_fault_is_caught() {
    let mut missed = Vec::new();
    for (name, fault) in FAULTS {
        let is_wrong = |seed| {
            let case = generate(seed, &Profile::similar());
            std::panic::catch_unwind(|| fuses_by(&case, *fault)).map_or(true, |result| result.is_err())
        };
        match (0..1500).find(|&seed| is_wrong(seed)) {
            Some(seed) => println!("{name}: caught by seed {seed}"),
            None => missed.push(name),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

#[test]
fn fused_programs_refine_their_sources() {
    let mut sum = Fused::default();
    for seed in 0..600 {
        let done = fuses(&generate(seed, &Profile::similar()));
        sum.add(&done.unwrap_or_else(|reason| panic!("seed {seed}: {reason}")));
    }
    println!("{sum:?}");
    assert!(sum.changed * 4 > sum.programs && sum.forced > 400 && sum.paid > 100, "{sum:?}");
}
