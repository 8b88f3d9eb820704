//! Brushes side by side do what each does alone, and it is noticed if they do not.

use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::{Constant, Detail, Function, Inst, InstData, Op, Scalar};
use heddle_testing::brushes::{brushes_agree, brushes_agree_by};
use heddle_testing::generate::{GeneratorProfile, generate};

#[test]
fn two_brushes_do_what_each_does_alone() {
    let mut checked = 0;
    for seed in 1..=600 {
        let case = generate(seed, &GeneratorProfile::source());
        checked += brushes_agree(&case).unwrap_or_else(|reason| panic!("{seed}: {reason}\n{}", case.module));
    }
    assert!(checked >= 200, "only {checked} inputs can be halved");
}

type Fault = (&'static str, fn(&mut Function));

const FAULTS: &[Fault] = &[
    ("each blends by the mask of the other", swap_masks),
    ("the second begins where the first does", begin_together),
    ("both end with the first", end_together),
];

fn each(func: &mut Function, mut spoil: impl FnMut(&mut Function, Inst)) {
    let all: Vec<Inst> =
        func.blocks().flat_map(|block| func.block_insts(block).collect::<Vec<_>>()).collect();
    all.into_iter().for_each(|inst| spoil(func, inst));
}

/// Lets each brush blend by the mask of the other.
fn swap_masks(func: &mut Function) {
    each(func, |func, inst| {
        let Some(&mask) = func.inst(inst).args.first().filter(|_| func.inst(inst).op == Op::Select) else {
            return;
        };
        let ty = func.value_type(mask);
        let Some(lanes) = ty.lanes().filter(|_| ty.scalar() == Scalar::I1 && func.constant(mask).is_none())
        else {
            return;
        };
        let swapped = (0..lanes).map(|lane| (lane + lanes / 2) % lanes).collect();
        let data = InstData::new(Op::Permute, [mask, mask], Detail::Permute(swapped));
        let other = Builder::new(func, InsertPoint::Before(inst)).value(data, Some(ty));
        func.inst_mut(inst).args[0] = other;
    });
}

/// Lets the second brush begin where the first one does.
fn begin_together(func: &mut Function) {
    each(func, |func, inst| {
        for at in 0..func.inst(inst).args.len() {
            let Some(Constant::Vector(scalar, lanes)) = func.constant(func.inst(inst).args[at]) else {
                continue;
            };
            let again = lanes.iter().take(lanes.len() / 2).cycle().take(lanes.len()).copied().collect();
            let again = Constant::Vector(*scalar, again);
            func.inst_mut(inst).args[at] = func.make_const(again);
        }
    });
}

/// Lets a loop end for both brushes where no lane of the first is left.
fn end_together(func: &mut Function) {
    each(func, |func, inst| {
        let mask = func.inst(inst).args.first().copied().filter(|_| func.inst(inst).op == Op::Any);
        let Some(mask) = mask.filter(|&mask| func.constant(mask).is_none()) else { return };
        let ty = func.value_type(mask);
        let lanes = ty.lanes().unwrap_or(1);
        let of_first = (0..lanes).map(|lane| lane % (lanes / 2).max(1)).collect();
        let data = InstData::new(Op::Permute, [mask, mask], Detail::Permute(of_first));
        let first = Builder::new(func, InsertPoint::Before(inst)).value(data, Some(ty));
        func.inst_mut(inst).args[0] = first;
    });
}

#[test]
fn what_brushes_take_of_each_other_is_caught() {
    for (name, spoil) in FAULTS {
        let caught = (1..=2000)
            .find(|&seed| brushes_agree_by(&generate(seed, &GeneratorProfile::source()), *spoil).is_err());
        println!("{name}: caught by program {caught:?}");
        assert!(caught.is_some(), "not noticed: {name}");
    }
}
