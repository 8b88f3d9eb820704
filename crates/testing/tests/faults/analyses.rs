//! Faults planted into generated programs: each kind is caught by the differential harness or the verifier.
//!
//! A fault is a wrong transformation of one place. It is planted into one program after the other, at random places,
//! until [`ENOUGH`] are caught or [`PLANTED`] were judged; not every one changes what its program computes, but of
//! each kind some must be caught.

use heddle_ir::ops::Op;
use heddle_ir::verify::verify_module;
use heddle_ir::words::{Flag, Flags, IntPredicate, Rmw};
use heddle_ir::{Block, Constant, Detail, Function, Inst, InstData, Module, Scalar, Value, ValueDef};
use heddle_testing::differential::differential;
use heddle_testing::generate::{GeneratedProgram, GeneratorProfile, ProgramClass, Random, generate};
use heddle_testing::properties::stage;

/// The most programs with the fault that are judged.
const PLANTED: u32 = 100;
/// Number of catches after which the next kind of fault is tried.
const ENOUGH: u32 = 5;
/// Number of programs to search for a place to plant the fault.
const SEEDS: u64 = 6000;

/// A kind of fault.
struct Fault {
    name: &'static str,
    /// The programs that it needs; none takes any.
    class: Option<ProgramClass>,
    plant: fn(&mut Function, &mut Random) -> bool,
}

const fn fault(name: &'static str, plant: fn(&mut Function, &mut Random) -> bool) -> Fault {
    Fault { name, class: None, plant }
}

const fn fault_in(
    class: ProgramClass,
    name: &'static str,
    plant: fn(&mut Function, &mut Random) -> bool,
) -> Fault {
    Fault { name, class: Some(class), plant }
}

const FAULTS: &[Fault] = &[
    fault("select arms swapped", |func, random| {
        change(
            func,
            random,
            |data| data.op == Op::Select && data.args[1] != data.args[2],
            |data| {
                data.args.swap(1, 2);
            },
        )
    }),
    fault("φ values swapped", |func, random| {
        change(
            func,
            random,
            |data| incoming(data) > 1 && data.args[0] != data.args[1],
            |data| {
                data.args.swap(0, 1);
            },
        )
    }),
    fault("φ takes one value for another", |func, random| {
        change(
            func,
            random,
            |data| incoming(data) > 1 && data.args[0] != data.args[1],
            |data| {
                data.args[1] = data.args[0];
            },
        )
    }),
    fault("latch update forgotten", |func, random| {
        let fits = |func: &Function, inst: Inst| {
            incoming(func.inst(inst)) > 1 && func.result(inst) != Some(func.inst(inst).args[1])
        };
        let Some(inst) = find(func, random, fits) else { return false };
        let itself = func.results(inst)[0];
        func.inst_mut(inst).args[1] = itself;
        true
    }),
    fault("store dropped", |func, random| drop_one(func, random, |op| op == Op::Store)),
    fault("copy or fill dropped", |func, random| {
        drop_one(func, random, |op| matches!(op, Op::Memset | Op::Memcpy | Op::Memmove))
    }),
    fault("branch inverted", |func, random| {
        change(
            func,
            random,
            |data| data.op == Op::Br && !data.args.is_empty(),
            |data| {
                data.targets_mut().swap(0, 1);
            },
        )
    }),
    fault("loop exit or arm forgotten", |func, random| {
        let fits = |func: &Function, inst: Inst| {
            let targets = func.inst(inst).targets();
            let goes_on = |block: Block| func.phis(block).next().is_none() && predecessors(func, block) > 1;
            targets.len() == 2 && targets[0] != targets[1] && goes_on(targets[1])
        };
        let Some(inst) = find(func, random, fits) else { return false };
        let target = func.inst(inst).targets()[0];
        *func.inst_mut(inst) = InstData::jump(target);
        true
    }),
    fault("switch cases exchanged", |func, random| {
        change(func, random, |data| data.op == Op::Switch, |data| data.targets_mut()[1..].rotate_left(1))
    }),
    fault("constant off by one", |func, random| {
        let is_int = |func: &Function, value: Value| matches!(func.constant(value), Some(Constant::Scalar(scalar, _)) if scalar.is_int());
        let fits = |func: &Function, inst: Inst| {
            let data = func.inst(inst);
            data.op != Op::Phi && data.args.iter().any(|&arg| is_int(func, arg))
        };
        let Some(inst) = find(func, random, fits) else { return false };
        let args = func.inst(inst).args.clone();
        let Some(index) = args.iter().position(|&arg| is_int(func, arg)) else { return false };
        let Some(Constant::Scalar(scalar, bits)) = func.constant(args[index]).cloned() else { return false };
        let other = func.make_const(Constant::int(scalar, bits.wrapping_add(1) as i128));
        func.inst_mut(inst).args[index] = other;
        true
    }),
    fault("operands of a subtraction exchanged", |func, random| {
        change(
            func,
            random,
            |data| matches!(data.op, Op::Sub | Op::Fsub | Op::Fdiv),
            |data| {
                data.args.swap(0, 1);
            },
        )
    }),
    fault("comparison with or without equality", |func, random| {
        change(
            func,
            random,
            |data| data.op == Op::Icmp,
            |data| {
                use IntPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
                let Detail::IntCompare(predicate) = &mut data.detail else { return };
                *predicate = match *predicate {
                    Eq => Ne,
                    Ne => Eq,
                    Ult => Ule,
                    Ule => Ult,
                    Ugt => Uge,
                    Uge => Ugt,
                    Slt => Sle,
                    Sle => Slt,
                    Sgt => Sge,
                    Sge => Sgt,
                };
            },
        )
    }),
    fault("signed taken for unsigned", |func, random| {
        change(
            func,
            random,
            |data| matches!(data.op, Op::Sext | Op::Ashr | Op::Smin | Op::Smax | Op::Sitofp),
            |data| {
                data.op = match data.op {
                    Op::Sext => Op::Zext,
                    Op::Ashr => Op::Lshr,
                    Op::Smin => Op::Umin,
                    Op::Smax => Op::Umax,
                    _ => Op::Uitofp,
                };
            },
        )
    }),
    fault("mask of an index or shift forgotten", |func, random| replace(func, random, |op| op == Op::And, 0)),
    fault("divisor no longer made odd", |func, random| replace(func, random, |op| op == Op::Or, 0)),
    fault("freeze dropped", |func, random| replace(func, random, |op| op == Op::Freeze, 0)),
    fault("promise invented", |func, random| {
        change(
            func,
            random,
            |data| matches!(data.op, Op::Add | Op::Sub | Op::Mul | Op::Shl) && data.flags.is_empty(),
            |data| data.flags = Flags::of(&[Flag::Nuw, Flag::Nsw]),
        )
    }),
    fault("NaN and infinity ruled out", |func, random| {
        change(
            func,
            random,
            |data| matches!(data.op, Op::Fadd | Op::Fsub | Op::Fmul | Op::Fdiv | Op::Sqrt),
            |data| data.flags = Flags::of(&[Flag::Nnan, Flag::Ninf]),
        )
    }),
    fault("poison spread by `and` in place of `select`", |func, random| {
        let fits = |func: &Function, inst: Inst| {
            let data = func.inst(inst);
            data.op == Op::Select
                && func.value_type(data.args[0]) == func.value_type(data.args[1])
                && func.constant(data.args[2]) == Some(&Constant::bool(false))
        };
        let Some(inst) = find(func, random, fits) else { return false };
        let data = func.inst(inst).clone();
        *func.inst_mut(inst) =
            InstData { flags: data.flags, ..InstData::plain(Op::And, [data.args[0], data.args[1]]) };
        true
    }),
    fault("load moved up over a store", |func, random| {
        let fits = |func: &Function, inst: Inst| {
            let before = func.layout.prev_inst(inst).map(|before| func.inst(before));
            let store = before.is_some_and(|data| matches!(data.op, Op::Store | Op::AtomicRmw));
            func.inst(inst).op == Op::Load && store
        };
        move_up(func, random, fits)
    }),
    fault("stores exchanged", |func, _| {
        // The addresses are in the way of neighbours: whole operands are exchanged where types agree.
        let stores: Vec<Inst> =
            all(func).into_iter().filter(|&inst| func.inst(inst).op == Op::Store).collect();
        for pair in stores.windows(2) {
            let [first, second] = [pair[0], pair[1]];
            let same_block = func.layout.block_of(first) == func.layout.block_of(second);
            let [a, b] = [first, second].map(|inst| func.inst(inst).args[0]);
            let is_early = |value: Value| !matches!(func.value_def(value), ValueDef::Result(..));
            if same_block && a != b && func.value_type(a) == func.value_type(b) && is_early(b) {
                func.inst_mut(first).args[0] = b;
                func.inst_mut(second).args[0] = a;
                return true;
            }
        }
        false
    }),
    fault("address off by one element", |func, random| {
        let fits = |func: &Function, inst: Inst| {
            func.inst(inst).op == Op::PtrAdd && func.constant(func.inst(inst).args[1]).is_none()
        };
        let Some(inst) = find(func, random, fits) else { return false };
        let ty = func.value_type(func.inst(inst).args[1]);
        let zero = func.make_const(Constant::splat(ty, 0));
        func.inst_mut(inst).args[1] = zero;
        true
    }),
    fault("guarded division run everywhere", |func, random| {
        let fits = |func: &Function, inst: Inst| {
            let block = func.layout.block_of(inst).expect("it was found in a block");
            matches!(func.inst(inst).op, Op::Udiv | Op::Urem)
                && func.first_non_phi(block) == Some(inst)
                && predecessors(func, block) == 1
        };
        let Some(inst) = find(func, random, fits) else { return false };
        let block = func.layout.block_of(inst).expect("it was found in a block");
        let before = func.blocks().find(|&from| func.successors(from).contains(&block));
        let Some(terminator) = before.and_then(|from| func.terminator(from)) else { return false };
        func.layout.remove_inst(inst);
        func.layout.insert_inst_before(inst, terminator);
        true
    }),
    fault("varying taken for uniform", |func, random| {
        let Some(inst) = find(func, random, |func, inst| func.inst(inst).op == Op::Lane) else {
            return false;
        };
        let result = func.results(inst)[0];
        let zero = func.make_const(Constant::splat(func.value_type(result), 0));
        func.map_values(|value| if value == result { zero } else { value });
        true
    }),
    fault("results exchanged", |func, random| {
        let fits = |func: &Function, inst: Inst| {
            let data = func.inst(inst);
            data.op == Op::Ret
                && data.args.len() > 1
                && data.args[0] != data.args[1]
                && func.value_type(data.args[0]) == func.value_type(data.args[1])
        };
        let Some(inst) = find(func, random, fits) else { return false };
        func.inst_mut(inst).args.swap(0, 1);
        true
    }),
    fault("return of an early value", |func, random| {
        let fits =
            |func: &Function, inst: Inst| func.inst(inst).op == Op::Ret && !func.inst(inst).args.is_empty();
        let Some(inst) = find(func, random, fits) else { return false };
        let ty = func.value_type(func.inst(inst).args[0]);
        let one = func.make_const(Constant::splat(ty, 1));
        func.inst_mut(inst).args[0] = one;
        true
    }),
    fault("atomic does something else", |func, random| {
        change(
            func,
            random,
            |data| matches!(data.detail, Detail::Rmw(Rmw::Add | Rmw::Or | Rmw::Umax, _)),
            |data| {
                if let Detail::Rmw(rmw, _) = &mut data.detail {
                    *rmw = if *rmw == Rmw::Add { Rmw::Sub } else { Rmw::And };
                }
            },
        )
    }),
    fault("any taken for all", |func, random| {
        change(
            func,
            random,
            |data| matches!(data.op, Op::Any | Op::All),
            |data| {
                data.op = if data.op == Op::Any { Op::All } else { Op::Any };
            },
        )
    }),
    fault("scan with or without the lane itself", |func, random| {
        change(
            func,
            random,
            |data| data.op == Op::Scan,
            |data| {
                if let Detail::Scan { before, .. } = &mut data.detail {
                    *before = !*before;
                }
            },
        )
    }),
    fault("passive lanes counted", |func, random| {
        change(
            func,
            random,
            |data| matches!(data.op, Op::Ballot | Op::Popcount | Op::Reduce),
            |data| {
                data.flags = data.flags.with(Flag::Total);
            },
        )
    }),
    fault_in(ProgramClass::Kernel, "barrier dropped", |func, random| {
        drop_one(func, random, |op| op == Op::Barrier)
    }),
    fault_in(ProgramClass::Kernel, "store moved over a barrier", |func, random| {
        let fits = |func: &Function, inst: Inst| {
            let next = func.layout.next_inst(inst);
            func.inst(inst).op == Op::Store && next.is_some_and(|next| func.inst(next).op == Op::Barrier)
        };
        let Some(inst) = find(func, random, fits) else { return false };
        let barrier = func.layout.next_inst(inst).expect("a barrier follows");
        func.layout.remove_inst(inst);
        func.layout.insert_inst_after(inst, barrier);
        true
    }),
    fault_in(ProgramClass::Predicated, "predicate dropped", |func, random| {
        let blocks: Vec<Block> = func.blocks().filter(|&block| func.predicate(block).is_some()).collect();
        if blocks.is_empty() {
            return false;
        }
        func.set_predicate(blocks[random.below(blocks.len())], None);
        true
    }),
    fault_in(ProgramClass::Predicated, "predicate of another block", |func, random| {
        let masks: Vec<(Block, Value)> =
            func.blocks().filter_map(|block| Some((block, func.predicate(block)?))).collect();
        if masks.len() < 2 {
            return false;
        }
        let (block, mask) = masks[1 + random.below(masks.len() - 1)];
        let Some(&(_, other)) = masks.iter().find(|&&(_, other)| other != mask) else { return false };
        func.set_predicate(block, Some(other));
        true
    }),
    fault_in(ProgramClass::Predicated, "total dropped", |func, random| {
        change(func, random, |data| data.is_total() && data.op == Op::Select, |data| data.flags = Flags::NONE)
    }),
    fault_in(ProgramClass::Predicated, "live mask not updated", |func, random| {
        let fits = |func: &Function, inst: Inst| {
            incoming(func.inst(inst)) == 2 && func.value_type(func.results(inst)[0]).scalar() == Scalar::I1
        };
        let Some(inst) = find(func, random, fits) else { return false };
        let itself = func.results(inst)[0];
        func.inst_mut(inst).args[1] = itself;
        true
    }),
];

fn incoming(data: &InstData) -> usize {
    data.incoming().len()
}

fn predecessors(func: &Function, block: Block) -> usize {
    func.blocks().filter(|&from| func.successors(from).contains(&block)).count()
}

fn all(func: &Function) -> Vec<Inst> {
    func.blocks().flat_map(|block| func.block_insts(block).collect::<Vec<_>>()).collect()
}

/// Some instruction that fits.
fn find(func: &Function, random: &mut Random, fits: impl Fn(&Function, Inst) -> bool) -> Option<Inst> {
    let fitting: Vec<Inst> = all(func).into_iter().filter(|&inst| fits(func, inst)).collect();
    (!fitting.is_empty()).then(|| fitting[random.below(fitting.len())])
}

fn change(
    func: &mut Function,
    random: &mut Random,
    fits: impl Fn(&InstData) -> bool,
    edit: impl FnOnce(&mut InstData),
) -> bool {
    let Some(inst) = find(func, random, |func, inst| fits(func.inst(inst))) else { return false };
    edit(func.inst_mut(inst));
    true
}

fn drop_one(func: &mut Function, random: &mut Random, fits: impl Fn(Op) -> bool) -> bool {
    let Some(inst) = find(func, random, |func, inst| fits(func.inst(inst).op)) else { return false };
    func.remove_inst(inst);
    true
}

/// Reads one of an instruction's operands where its result was read.
fn replace(func: &mut Function, random: &mut Random, fits: impl Fn(Op) -> bool, operand: usize) -> bool {
    let Some(inst) = find(func, random, |func, inst| fits(func.inst(inst).op)) else { return false };
    let (result, stand_in) = (func.results(inst)[0], func.inst(inst).args[operand]);
    func.map_values(|value| if value == result { stand_in } else { value });
    true
}

fn move_up(func: &mut Function, random: &mut Random, fits: impl Fn(&Function, Inst) -> bool) -> bool {
    let Some(inst) = find(func, random, fits) else { return false };
    let before = func.layout.prev_inst(inst).expect("something stands before it");
    func.layout.remove_inst(inst);
    func.layout.insert_inst_before(inst, before);
    true
}

/// Plants the fault into some function of the program.
fn plant(fault: &Fault, case: &GeneratedProgram, random: &mut Random) -> Option<Module> {
    let mut module = case.module.clone();
    let first = random.below(module.functions.len());
    for index in 0..module.functions.len() {
        let at = (first + index) % module.functions.len();
        if (fault.plant)(&mut module.functions[at], random) {
            return Some(module);
        }
    }
    None
}

#[test]
fn every_kind_of_fault_is_caught() {
    let mut missed = Vec::new();
    println!("{:<44} {:>8} {:>8} {:>8}", "planted fault", "programs", "oracle", "verifier");
    for fault in FAULTS {
        let mut profile = GeneratorProfile::default();
        if let Some(class) = fault.class {
            profile
                .classes
                .iter_mut()
                .filter(|(other, _)| *other != class)
                .for_each(|(_, weight)| *weight = 0);
        }
        let (mut planted, mut caught, mut by_verifier) = (0, 0, 0);
        for seed in 0..SEEDS {
            if planted == PLANTED || caught + by_verifier == ENOUGH {
                break;
            }
            let case = generate(seed, &profile);
            let Some(module) = plant(fault, &case, &mut Random::new(seed)) else { continue };
            planted += 1;
            if verify_module(&module, stage(&case)).is_err() {
                by_verifier += 1;
            } else if differential(&case, &case.module, &module).is_err() {
                caught += 1;
            }
        }
        println!("{:<44} {planted:>8} {caught:>8} {by_verifier:>8}", fault.name);
        if caught + by_verifier == 0 {
            missed.push(fault.name);
        }
    }
    assert_eq!(missed, Vec::<&str>::new(), "these kinds of faults are never caught");
}
