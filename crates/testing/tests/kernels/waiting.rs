//! Kernels whose work-items wait in loops for others of their group.

use crate::{Fault, insts, regions};
use heddle_ir::inst::Detail;
use heddle_ir::words::{Reduction, Rmw};
use heddle_ir::{Function, Op};
use heddle_testing::kernels::{Machine, kernels_hold_with};
use heddle_testing::waiting::waiting_kernel;

#[test]
fn brushes_advance_while_others_wait() {
    for seed in 0..240 {
        let case = waiting_kernel(seed);
        for machine in [Machine::Oracle, Machine::Native] {
            if machine == Machine::Native && !seed.is_multiple_of(8) {
                continue;
            }
            if let Err(reason) = kernels_hold_with(&case, machine, |_| {}) {
                panic!("seed {seed}, {machine:?}: {reason}\n{}", case.module);
            }
        }
    }
}

/// Rules of the hub, each left out of the lowered kernel.
const FAULTS: &[(&str, Fault)] = &[
    ("work-items at barriers wait for those that poll", |module| {
        regions(module, |func| {
            let marks: Vec<_> = insts(func, Op::AtomicRmw)
                .into_iter()
                .filter(|&inst| matches!(func.inst(inst).detail, Detail::Rmw(Rmw::Umax, _)))
                .collect();
            for inst in marks {
                let zero = func.make_int(heddle_ir::Scalar::I32, 0);
                func.inst_mut(inst).args[1] = zero;
            }
        });
    }),
    ("lanes at votes wait for lanes that poll", |module| {
        regions(module, |func| {
            for inst in first_sites(func) {
                let (own, first) = (func.inst(inst).args[0], func.results(inst)[0]);
                func.map_values(|value| if value == first { own } else { value });
            }
        });
    }),
];

/// Reductions that find the first site of a brush.
fn first_sites(func: &Function) -> Vec<heddle_ir::Inst> {
    let is_one = |inst: &heddle_ir::Inst| func.inst(*inst).detail == Detail::Reduce(Reduction::Umin);
    insts(func, Op::Reduce).into_iter().filter(is_one).collect()
}

#[test]
fn each_rule_of_the_hub_is_needed() {
    for (rule, fault) in FAULTS {
        let is_wrong =
            |seed: &u64| kernels_hold_with(&waiting_kernel(*seed), Machine::Oracle, *fault).is_err();
        let found = (0..400).find(is_wrong);
        assert!(found.is_some(), "no kernel needs this: {rule}");
    }
}
