//! Faults planted into the code that canonicalization adds, at least one for each rule that adds values or branches:
//! single return, switches, dispatch headers, loop form, LCSSA. The harness catches every one.
//!
//! A fault is planted at all sites of its kind simultaneously.

use heddle_ir::entity::EntitySet;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Constant, Detail, Function, Inst, Op, Type, Value};
use heddle_testing::caught::all_are_caught;
use heddle_testing::differential::differential;
use heddle_testing::generate::{GeneratedProgram, GeneratorProfile, generate};
use heddle_transform::canonicalize;

type Fault = (&'static str, fn(&mut Function, Inst));

const FAULTS: &[Fault] = &[
    ("a result goes back along another way", |func, inst| {
        if is_phi(func, inst) && is_returned(func, inst) {
            swap(func, inst);
        }
    }),
    ("a case is that of the next number", |func, inst| {
        if func.inst(inst).detail == Detail::IntCompare(IntPredicate::Eq) {
            count_on(func, inst, 1);
        }
    }),
    ("a lane that is not meant by a case takes it", |func, inst| {
        if is_branch(func, inst) {
            func.inst_mut(inst).targets_mut().swap(0, 1);
        }
    }),
    ("an entry has the number of another", |func, inst| {
        let numbers = func.inst(inst).args.iter().all(|&arg| func.constant(arg).is_some());
        if is_phi(func, inst) && numbers {
            swap(func, inst);
        }
    }),
    ("entries have one number", |func, inst| {
        let numbers = func.inst(inst).args.iter().all(|&arg| func.constant(arg).is_some());
        if is_phi(func, inst) && numbers {
            let first = func.inst(inst).args[0];
            func.inst_mut(inst).args.iter_mut().for_each(|arg| *arg = first);
        }
    }),
    ("what comes into a loop comes along another edge", |func, inst| {
        let differ = func.inst(inst).args.iter().any(|&arg| func.constant(arg).is_none());
        if is_phi(func, inst) && differ && !is_returned(func, inst) {
            swap(func, inst);
        }
    }),
    ("what lives out of a loop is lost", |func, inst| {
        if func.inst(inst).op == Op::Phi && func.inst(inst).args.len() == 1 {
            let ty = func.value_type(func.results(inst)[0]);
            func.inst_mut(inst).args[0] = func.make_poison(ty);
        }
    }),
    ("what lives out of a loop is what came in", |func, inst| {
        let data = func.inst(inst);
        if data.op != Op::Phi || data.args.len() != 1 {
            return;
        }
        let inner = func.def_inst(data.args[0]).filter(|&it| func.inst(it).op == Op::Phi);
        if let Some(first) = inner.and_then(|it| func.inst(it).args.first().copied())
            && func.constant(first).is_some()
        {
            func.inst_mut(inst).args[0] = first;
        }
    }),
];

/// True if the instruction is a φ with at least two predecessors.
fn is_phi(func: &Function, inst: Inst) -> bool {
    func.inst(inst).op == Op::Phi && func.inst(inst).args.len() > 1
}

fn is_branch(func: &Function, inst: Inst) -> bool {
    func.inst(inst).op == Op::Br && func.inst(inst).targets().len() == 2
}

fn is_returned(func: &Function, inst: Inst) -> bool {
    let block = func.layout.block_of(inst);
    let end = block.and_then(|block| func.terminator(block));
    end.is_some_and(|end| {
        func.inst(end).op == Op::Ret && func.inst(end).args.contains(&func.results(inst)[0])
    })
}

fn swap(func: &mut Function, phi: Inst) {
    let last = func.inst(phi).args.len() - 1;
    func.inst_mut(phi).args.swap(0, last);
}

fn count_on(func: &mut Function, inst: Inst, by: i128) {
    let number: Value = func.inst(inst).args[1];
    if let (Some(&Constant::Scalar(scalar, bits)), Type::Scalar(_)) =
        (func.constant(number), func.value_type(number))
    {
        func.inst_mut(inst).args[1] = func.make_int(scalar, bits as i128 + by);
    }
}

/// True if the fault changes the program and the harness detects it.
fn is_caught(case: &GeneratedProgram, fault: fn(&mut Function, Inst)) -> bool {
    let mut right = case.module.clone();
    let mut wrong = case.module.clone();
    for (right, wrong) in right.functions.iter_mut().zip(&mut wrong.functions) {
        let insts = |func: &Function| -> Vec<Inst> {
            func.blocks().flat_map(|block| func.block_insts(block)).collect()
        };
        let before: EntitySet<Inst> = insts(wrong).into_iter().collect();
        canonicalize(right);
        canonicalize(wrong);
        insts(wrong).into_iter().filter(|&inst| !before.contains(inst)).for_each(|inst| fault(wrong, inst));
    }
    if right.to_string() == wrong.to_string() {
        return false;
    }
    let harness = |module| {
        verify_module(module, Stage::Canonical).map_err(|violations| violations.to_string())?;
        differential(case, &case.module, module)
    };
    assert_eq!(harness(&right), Ok(()), "program {}", case.seed);
    harness(&wrong).is_err()
}

/// Maximum number of programs until a fault must show.
const MOST_PROGRAMS: u64 = 3000;

#[test]
fn every_fault_is_caught() {
    all_are_caught(FAULTS.iter().copied(), &[], MOST_PROGRAMS, |seed, fault| {
        is_caught(&generate(seed, &GeneratorProfile::source()), fault)
    });
}
