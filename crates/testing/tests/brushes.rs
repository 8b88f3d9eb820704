//! Brushes side by side do what each does alone, and it is noticed if they do not.
#![forbid(unsafe_code)]

use heddle_ir::builder::{At, Builder};
use heddle_ir::{Detail, Function, Inst, InstData, Op, Scalar};
use heddle_testing::brushes::{brushes_agree, brushes_agree_by};
use heddle_testing::generate::{Profile, generate};

#[test]
fn two_brushes_do_what_each_does_alone() {
    let mut checked = 0;
    for seed in 1..=600 {
        let case = generate(seed, &Profile::source());
        checked += brushes_agree(&case).unwrap_or_else(|reason| panic!("{seed}: {reason}\n{}", case.module));
    }
    assert!(checked >= 200, "only {checked} inputs can be halved");
}

/// Lets each brush blend by the mask of the other.
fn swap_masks(func: &mut Function) {
    let selects: Vec<Inst> = func
        .blocks()
        .flat_map(|block| func.block_insts(block).collect::<Vec<_>>())
        .filter(|&inst| func.inst(inst).op == Op::Select)
        .collect();
    for inst in selects {
        let mask = func.inst(inst).args[0];
        let ty = func.value_type(mask);
        let Some(lanes) = ty.lanes().filter(|_| ty.scalar() == Scalar::I1 && func.constant(mask).is_none())
        else {
            continue;
        };
        let swapped = (0..lanes).map(|lane| (lane + lanes / 2) % lanes).collect();
        let data = InstData::new(Op::Permute, [mask, mask], Detail::Permute(swapped));
        let other = Builder::new(func, At::Before(inst)).value(data, Some(ty));
        func.inst_mut(inst).args[0] = other;
    }
}

#[test]
fn masks_that_brushes_swap_are_caught() {
    let caught =
        (1..=600).find(|&seed| brushes_agree_by(&generate(seed, &Profile::source()), swap_masks).is_err());
    assert!(caught.is_some());
}
