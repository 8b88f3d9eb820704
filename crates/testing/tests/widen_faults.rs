//! Faults planted into widening, one for each of its rules: the harness catches every one.
//!
//! They are planted into what the pass made, at all places of one kind at once.
#![forbid(unsafe_code)]

use heddle_ir::words::{Flags, IntPredicate};
use heddle_ir::{Constant, Detail, Function, Inst, Op, Scalar, Type, Value};
use heddle_testing::generate::{Profile, generate};
use heddle_testing::wide::widens_by;

type Fault = (&'static str, fn(&mut Function));

const FAULTS: &[Fault] = &[
    ("side by side, stored without a mask", |func| unmask(func, Op::MaskedStore)),
    ("side by side, loaded without a mask", |func| unmask(func, Op::MaskedLoad)),
    ("scattered without a mask", |func| unmask(func, Op::Scatter)),
    ("gathered without a mask", |func| unmask(func, Op::Gather)),
    ("passive lanes divide", |func| {
        each(func, |func, inst| {
            if !matches!(func.inst(inst).op, Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem) {
                return;
            }
            let divisor = func.inst(inst).args[1];
            if let Some(inner) = func.def_inst(divisor).filter(|&inner| func.inst(inner).op == Op::Select) {
                let bare = func.inst(inner).args[1];
                func.inst_mut(inst).args[1] = bare;
            }
        });
    }),
    ("a guard is left out", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            let asks = |value: &Value| func.def_inst(*value).is_some_and(|it| func.inst(it).op == Op::Any);
            if data.op == Op::Br && data.args.first().is_some_and(asks) {
                let always = func.make_bool(true);
                func.inst_mut(inst).args[0] = always;
            }
        });
    }),
    ("the first lane has the last word", |func| {
        each(func, |func, inst| {
            if func.inst(inst).op == Op::Ctlz {
                let data = func.inst_mut(inst);
                data.op = Op::Cttz;
            }
        });
    }),
    ("the first lane's value is lane 0's", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            let is_found = |value: Value| func.def_inst(value).is_some_and(|it| func.inst(it).op == Op::Cttz);
            if data.op == Op::Extract && is_found(data.args[1]) {
                let first = func.make_int(Scalar::I32, 0);
                func.inst_mut(inst).args[1] = first;
            }
        });
    }),
    ("the lane loop does not ask who is active", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            let asks =
                |value: &Value| func.def_inst(*value).is_some_and(|it| func.inst(it).op == Op::Extract);
            if data.op == Op::Br && data.args.first().is_some_and(asks) {
                let always = func.make_bool(true);
                func.inst_mut(inst).args[0] = always;
            }
        });
    }),
    ("the lane loop leaves out the last lane", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            if data.op != Op::Icmp || data.detail != Detail::IntCompare(IntPredicate::Ult) {
                return;
            }
            let [next, count] = [data.args[0], data.args[1]];
            let counts = func.def_inst(next).is_some_and(|it| func.inst(it).op == Op::Add);
            if let (true, Some(&Constant::Scalar(Scalar::I32, lanes @ 2..))) = (counts, func.constant(count))
            {
                let fewer = func.make_int(Scalar::I32, lanes as i128 - 1);
                func.inst_mut(inst).args[1] = fewer;
            }
        });
    }),
    ("lanes do not step", |func| {
        each(func, |func, inst| {
            if !matches!(func.inst(inst).op, Op::Add | Op::PtrAdd) {
                return;
            }
            let steps = func.inst(inst).args[1];
            if let Some(Constant::Vector(scalar, lanes)) = func.constant(steps).cloned()
                && lanes.iter().any(|&bits| bits != lanes[0])
            {
                let none =
                    func.make_const(Constant::Vector(scalar, lanes.iter().map(|_| lanes[0]).collect()));
                func.inst_mut(inst).args[1] = none;
            }
        });
    }),
    ("lanes lie the wrong way round", |func| {
        each(func, |func, inst| {
            if let Detail::Permute(lanes) = &mut func.inst_mut(inst).detail {
                lanes.reverse();
            }
        });
    }),
    ("passive lanes take part in a reduction", |func| take_part(func, Op::Reduce)),
    ("passive lanes take part in a scan", |func| take_part(func, Op::Scan)),
    ("passive lanes take part in `any`", |func| take_part(func, Op::Any)),
    ("passive lanes take part in `all`", |func| take_part(func, Op::All)),
    ("passive lanes are counted", |func| take_part(func, Op::Popcount)),
    ("passive lanes vote", |func| take_part(func, Op::Ballot)),
    ("a private object is shared", |func| {
        each(func, |func, inst| {
            if !matches!(func.inst(inst).op, Op::PtrAdd) {
                return;
            }
            let pointer = func.inst(inst).args[0];
            let is_private = func.value_type(pointer).scalar() == Scalar::Ptr(heddle_ir::Space::Private);
            let steps = func.inst(inst).args[1];
            if let (true, Some(Constant::Vector(scalar, lanes))) = (is_private, func.constant(steps).cloned())
            {
                let none = func.make_const(Constant::Vector(scalar, lanes.iter().map(|_| 0).collect()));
                func.inst_mut(inst).args[1] = none;
            }
        });
    }),
    ("an offset into interleaved objects is that into one", |func| {
        each(func, |func, inst| {
            if !matches!(func.inst(inst).op, Op::PtrAdd) {
                return;
            }
            let [pointer, offset] = [func.inst(inst).args[0], func.inst(inst).args[1]];
            let is_private = func.value_type(pointer).scalar() == Scalar::Ptr(heddle_ir::Space::Private);
            let scaling = func.def_inst(offset).filter(|&it| is_private && func.inst(it).op == Op::Mul);
            if let Some(scaling) = scaling {
                let bare = func.inst(scaling).args[0];
                func.inst_mut(inst).args[1] = bare;
            }
        });
    }),
    ("everyone comes along to a call", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            if data.op != Op::Call {
                return;
            }
            let Some(&mask) = data.args.last() else { return };
            if let Type::Vector(Scalar::I1, _) = func.value_type(mask) {
                let all = func.make_const(Constant::splat(func.value_type(mask), 1));
                let at = func.inst(inst).args.len() - 1;
                func.inst_mut(inst).args[at] = all;
            }
        });
    }),
    ("promises are kept where lane 0 is passive", |func| {
        each(func, |func, inst| {
            let data = func.inst_mut(inst);
            if matches!(data.op, Op::Add | Op::Mul | Op::Sub | Op::Shl) {
                data.flags = data.flags.union(Flags::WRAP);
            }
        });
    }),
    ("arms of a blend swapped", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            if data.op == Op::Select && func.value_type(data.args[0]).is_vector() {
                func.inst_mut(inst).args.swap(1, 2);
            }
        });
    }),
    ("an edge's value goes along another", |func| {
        each(func, |func, inst| {
            let data = func.inst_mut(inst);
            if data.op == Op::Phi && data.args.len() == 2 {
                data.args.swap(0, 1);
            }
        });
    }),
    ("queries tell the place of the group", |func| {
        each(func, |func, inst| {
            if matches!(func.inst(inst).op, Op::GlobalId | Op::LocalId) {
                func.inst_mut(inst).op = Op::GroupId;
            }
        });
    }),
];

fn each(func: &mut Function, mut spoil: impl FnMut(&mut Function, Inst)) {
    let all: Vec<Inst> =
        func.blocks().flat_map(|block| func.block_insts(block).collect::<Vec<_>>()).collect();
    all.into_iter().for_each(|inst| spoil(func, inst));
}

/// Lets all lanes take part in an access.
fn unmask(func: &mut Function, op: Op) {
    each(func, |func, inst| {
        if func.inst(inst).op != op {
            return;
        }
        let at = if matches!(op, Op::MaskedLoad | Op::Gather) { 1 } else { 2 };
        let ty = func.value_type(func.inst(inst).args[at]);
        let all = func.make_const(Constant::splat(ty, 1));
        func.inst_mut(inst).args[at] = all;
    });
}

/// Leaves out the neutral elements of passive lanes.
fn take_part(func: &mut Function, op: Op) {
    each(func, |func, inst| {
        if func.inst(inst).op != op {
            return;
        }
        let operand = func.inst(inst).args[0];
        if let Some(inner) = func.def_inst(operand).filter(|&inner| func.inst(inner).op == Op::Select) {
            let bare = func.inst(inner).args[1];
            func.inst_mut(inst).args[0] = bare;
        }
    });
}

/// How many programs a fault may hide in.
const MOST_PROGRAMS: u64 = 20_000;

#[test]
fn every_fault_is_caught() {
    let mut missed = Vec::new();
    for (name, spoil) in FAULTS {
        let caught = (1..=MOST_PROGRAMS).find(|&seed| {
            let case = generate(seed, &Profile::default());
            widens_by(&case, *spoil).is_err()
        });
        match caught {
            Some(seed) => println!("{name}: caught by program {seed}"),
            None => missed.push(*name),
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}
