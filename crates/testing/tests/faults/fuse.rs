//! Faults planted into fused branches, one for each rule: the harness catches every one. And what generated programs cover.

use heddle_ir::entity::Entity as _;
use heddle_ir::words::Flags;
use heddle_ir::{Block, Constant, Function, Inst, Module, Op};
use heddle_testing::caught::all_are_caught;
use heddle_testing::file_test::{RunPasses, failures_with_passes};
use heddle_testing::fused::{FuseCounts, FusePass, fuses, fuses_by};
use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_transform::{FuseOptions, FusionResult, RaceSemantics, canonicalize, fuse};
use std::path::Path;

/// Maximum number of programs until a fault must show; the number needed depends on the generator.
const MOST_PROGRAMS: u64 = 50_000;

const FAULTS: &[(&str, FusePass)] = &[
    ("operands of the wrong side", |func, options| {
        change(func, options, |_, func, inst| {
            if func.inst(inst).op == Op::Select {
                func.inst_mut(inst).args.swap(1, 2);
            }
        })
    }),
    ("a φ after a gap takes the other side's value", |func, options| {
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
    ("what one side alone defines is lost after a gap", |func, options| {
        change(func, options, |_, func, inst| {
            if func.inst(inst).op == Op::Phi {
                let poison = func.make_poison(func.value_type(func.results(inst)[0]));
                func.inst_mut(inst).args.iter_mut().for_each(|arg| *arg = poison);
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

/// Faults that programs rarely show: each with the file whose runs do.
const RARE: &[(&str, &str, RunPasses)] = &[
    ("promises of one side for both", "fuse-promises", |module, _| {
        each(module, |func, options| {
            kept(func, options, |before, func, inst| {
                let flags = before.inst(inst).flags.intersection(Flags::POISON);
                let data = func.inst_mut(inst);
                data.flags = data.flags.union(flags);
            })
        })
    }),
    ("a difference as a sum without its sign", "fuse-identities", |module, _| {
        each(module, |func, options| {
            kept(func, options, |before, func, inst| {
                if func.inst(inst).op == Op::Add && before.inst(inst).op == Op::Sub {
                    let chosen = func.def_inst(func.inst(inst).args[1]);
                    let old = before.inst(inst).args[1];
                    chosen.into_iter().for_each(|select| func.inst_mut(select).args[1] = old);
                }
            })
        })
    }),
    ("a shift as a product by its amount", "fuse-identities", |module, _| {
        each(module, |func, options| {
            kept(func, options, |before, func, inst| {
                if func.inst(inst).op == Op::Mul && before.inst(inst).op == Op::Shl {
                    let chosen = func.def_inst(func.inst(inst).args[1]);
                    let old = before.inst(inst).args[1];
                    chosen.into_iter().for_each(|select| func.inst_mut(select).args[1] = old);
                }
            })
        })
    }),
    ("a product as `fma` with a sum of 1", "fuse-identities", |module, _| {
        each(module, |func, options| {
            kept(func, options, |_, func, inst| {
                if func.inst(inst).op == Op::Fma {
                    let chosen = func.def_inst(func.inst(inst).args[2]);
                    let one = func.make_const(Constant::Scalar(heddle_ir::Scalar::F32, 0x3f80_0000));
                    chosen.into_iter().for_each(|select| func.inst_mut(select).args[1] = one);
                }
            })
        })
    }),
    ("the condition of a branch that goes the other way is not negated", "fuse-turned", |module, _| {
        each(module, |func, options| {
            change(func, options, |_, func, inst| {
                let data = func.inst(inst);
                if data.op == Op::Xor && func.constant(data.args[1]) == Some(&Constant::bool(true)) {
                    let no = func.make_bool(false);
                    func.inst_mut(inst).args[1] = no;
                }
            })
        })
    }),
    ("lanes that race are taken for lanes that do not", "fuse-races", |module, _| {
        each(module, |func, options| fuse(func, &FuseOptions { races: RaceSemantics::Excluded, ..*options }))
    }),
    ("φs of loops keep the operands of one side", "fuse-loops", |module, _| {
        each(module, |func, options| {
            let before = func.clone();
            let fusions = fuse(func, options);
            let phis: Vec<Inst> = func.blocks().flat_map(|block| func.phis(block)).collect();
            for phi in phis.into_iter().filter(|phi| phi.index() < before.inst_count()) {
                for index in 0..func.inst(phi).args.len() {
                    let chosen =
                        func.def_inst(func.inst(phi).args[index]).map(|inst| func.inst(inst).clone());
                    if let Some(chosen) = chosen.filter(|data| data.op == Op::Select) {
                        func.inst_mut(phi).args[index] = chosen.args[1];
                    }
                }
            }
            fusions
        })
    }),
];

/// Canonicalizes a module and applies a faulty fusion to all of its functions.
fn each(module: &mut Module, by: FusePass) -> Result<(), String> {
    for func in &mut module.functions {
        canonicalize(func);
        by(func, &FuseOptions { force: true, ..FuseOptions::default() });
    }
    Ok(())
}

fn failures(name: &str, passes: RunPasses) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transform");
    failures_with_passes(&folder.join(name).with_extension("hed"), passes).expect("the file is there")
}

#[test]
fn every_rare_fault_is_caught() {
    for (name, file, fault) in RARE {
        let right = failures(file, |module, _| each(module, fuse));
        assert!(right.is_empty(), "{file}: {right:?}");
        assert!(!failures(file, *fault).is_empty(), "not caught: {name}");
    }
}

/// Fuses, and changes what is new.
fn change(
    func: &mut Function,
    options: &FuseOptions,
    change: fn(&Function, &mut Function, Inst),
) -> FusionResult {
    let before = func.clone();
    let fusions = fuse(func, options);
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    for inst in insts.into_iter().filter(|inst| inst.index() >= before.inst_count()) {
        change(&before, func, inst);
    }
    fusions
}

/// Fuses, and changes what was there before and is another one now.
fn kept(
    func: &mut Function,
    options: &FuseOptions,
    change: fn(&Function, &mut Function, Inst),
) -> FusionResult {
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
    let known = [("the predicate of the other side", 5837)];
    all_are_caught(FAULTS.iter().copied(), &known, MOST_PROGRAMS, |seed, fault| {
        let case = generate(seed, &GeneratorProfile::similar());
        std::panic::catch_unwind(|| fuses_by(&case, fault)).map_or(true, |result| result.is_err())
    });
}

#[test]
fn fused_programs_refine_their_sources() {
    let mut sum = FuseCounts::default();
    for seed in 0..600 {
        let done = fuses(&generate(seed, &GeneratorProfile::similar()));
        sum.add(&done.unwrap_or_else(|reason| panic!("seed {seed}: {reason}")));
    }
    println!("{sum:?}");
    assert!(sum.changed * 4 > sum.programs && sum.forced > 400 && sum.paid > 100, "{sum:?}");
}

/// The bitonic kernel's second branch: a row for each element of the left side, the chosen alignment marked.
#[test]
fn the_matrix_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transform/fuse-bitonic.hed");
    let text = std::fs::read(path).expect("the file is there");
    let mut module = heddle_ir::parse_bytes(&text).expect("the file is right");
    let func = &mut module.functions[0];
    canonicalize(func);
    let options = FuseOptions { races: RaceSemantics::Excluded, explain: true, ..FuseOptions::default() };
    let fusions = fuse(func, &options);
    let fused: Vec<&str> = fusions.fused().map(|fusion| &*fusion.text).collect();
    let [message] = fused[..] else { panic!("one branch is fused: {fusions:?}") };
    let lines: Vec<&str> = message.lines().collect();
    assert!(
        lines[0].starts_with(
            "branch at block1: merging 3 instructions and 1 blocks of its 4 and 4 elements, with 0 gaps, gains "
        ),
        "{message}"
    );
    let marks = |line: &str| line.matches('*').count();
    assert_eq!(lines[1..6].iter().map(|line| marks(line)).collect::<Vec<_>>(), [1; 5], "{message}");
    assert!(lines[1].starts_with("      0*") && lines[5].ends_with("1 blocks to block10"), "{message}");
    let alignment = ["v20 = load | v30 = load", "v21 = load | v31 = load", "v22 = icmp | v32 = icmp"];
    let found: Vec<String> =
        lines[6..9].iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(found, alignment, "{message}");
}
