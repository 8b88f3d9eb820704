//! Faults planted into widening, one for each of its rules: the harness catches every one.
//!
//! They are planted into the pass's output, at all sites of a kind simultaneously.

use heddle_compiler::Session;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::words::{Flags, IntPredicate};
use heddle_ir::{Constant, Detail, Function, Inst, InstData, Op, Scalar, Type, Value, parse_bytes};
use heddle_runs::line::RunLine;
use heddle_testing::caught::all_are_caught;
use heddle_testing::generate::{GeneratedProgram, GeneratorProfile, generate};
use heddle_testing::wide::{WideningFaults, forms, widens_with};
use heddle_transform::widen::RemarkKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

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
    ("the lane loop does not ask which lanes are active", |func| {
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
            if matches!(func.inst(inst).op, Op::Add | Op::PtrAdd) {
                no_steps(func, inst);
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

/// Faults in what becomes of accesses: lines, versions, rows.
const FAULTS_OF_ACCESSES: &[Fault] = &[
    ("lines are taken in another order", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            if data.op == Op::Permute && data.args[0] != data.args[1] {
                func.inst_mut(inst).args.swap(0, 1);
            }
        });
    }),
    ("the mask of the lanes is that of a line", |func| {
        each(func, |func, inst| {
            let at = match func.inst(inst).op {
                Op::MaskedLoad => 1,
                Op::MaskedStore => 2,
                _ => return,
            };
            let mask = func.inst(inst).args[at];
            let spread = func.def_inst(mask).filter(|&it| func.inst(it).op == Op::Permute);
            if let Some(bare) = spread.map(|it| func.inst(it).args[0])
                && func.value_type(bare) == func.value_type(mask)
            {
                func.inst_mut(inst).args[at] = bare;
            }
        });
    }),
    ("gaps are stored to", |func| {
        each(func, |func, inst| {
            if func.inst(inst).op == Op::MaskedStore
                && matches!(func.constant(func.inst(inst).args[2]), Some(Constant::Vector(..)))
            {
                let ty = func.value_type(func.inst(inst).args[2]);
                func.inst_mut(inst).args[2] = func.make_const(Constant::splat(ty, 1));
            }
        });
    }),
    ("the last line starts where it would", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            let Some(lanes) = func.result(inst).and_then(|it| func.value_type(it).lanes()) else { return };
            let line = func.result(inst).map_or(1, |it| func.value_type(it).bytes().max(1));
            let address = data.args.first().and_then(|&address| func.def_inst(address));
            let Some(ahead) = address.filter(|_| data.op == Op::Load && lanes > 1) else { return };
            if func.inst(ahead).op != Op::PtrAdd {
                return;
            }
            if let Some(&Constant::Scalar(Scalar::I64, distance)) = func.constant(func.inst(ahead).args[1])
                && distance < 1 << 32
            {
                let next = (distance as u64).next_multiple_of(line.into());
                let next = func.make_int(Scalar::I64, next.into());
                func.inst_mut(ahead).args[1] = next;
            }
        });
    }),
    ("a version runs whatever its conditions", |func| {
        each(func, |func, inst| {
            if conditions_of(func, inst).is_some() {
                let always = func.make_bool(true);
                func.inst_mut(inst).args[0] = always;
            }
        });
    }),
    ("conditions are off by one", |func| {
        each(func, |func, inst| {
            for test in conditions_of(func, inst).unwrap_or_default() {
                let Detail::IntCompare(predicate) = func.inst(test).detail else { continue };
                let by = match predicate {
                    IntPredicate::Ule | IntPredicate::Sle => 1,
                    IntPredicate::Uge | IntPredicate::Sge => -1,
                    _ => continue,
                };
                let bound = func.inst(test).args[1];
                if let Some(&Constant::Scalar(scalar, bits)) = func.constant(bound) {
                    let next = func.make_int(scalar, bits as i128 + by);
                    func.inst_mut(test).args[1] = next;
                }
            }
        });
    }),
    ("conditions are tested before a loop that changes them", |func| {
        each(func, |func, inst| {
            for test in conditions_of(func, inst).unwrap_or_default() {
                let value = func.inst(test).args[0];
                let before = |func: &Function, value: Value| {
                    let phi = func.def_inst(value).filter(|&it| func.inst(it).op == Op::Phi)?;
                    func.inst(phi).args.first().copied()
                };
                if let Some(first) = before(func, value) {
                    func.inst_mut(test).args[0] = first;
                    continue;
                }
                let Some(sum) = func.def_inst(value) else { continue };
                let data = func.inst(sum).clone();
                let args: Vec<Value> =
                    data.args.iter().map(|&arg| before(func, arg).unwrap_or(arg)).collect();
                if args[..] != data.args[..] && data.op != Op::Phi {
                    let data = InstData { args: args.into_iter().collect(), ..data };
                    let ty = func.value_type(value);
                    let inst = func.make_inst(data, &[ty]);
                    func.layout.insert_inst_before(inst, test);
                    let first = func.results(inst)[0];
                    func.inst_mut(test).args[0] = first;
                }
            }
        });
    }),
    ("each row has the mask of the first", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            let Some(result) = func.result(inst).filter(|_| data.op == Op::Permute) else { return };
            let (from, to) = (func.value_type(data.args[0]), func.value_type(result));
            if to.scalar() == Scalar::I1 && from.lanes() > to.lanes() {
                let lanes = (0..to.lanes().unwrap_or(0)).collect();
                func.inst_mut(inst).detail = Detail::Permute(lanes);
            }
        });
    }),
    ("each lane reads the structure of the first", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            let is_address = |func: &Function, value: Value| func.value_type(value).scalar().is_ptr();
            if data.op == Op::Extract
                && is_address(func, data.args[0])
                && func.constant(data.args[1]).is_some()
            {
                let first = func.make_int(Scalar::I32, 0);
                func.inst_mut(inst).args[1] = first;
            }
        });
    }),
    ("rows begin at their first active lane", |func| {
        each(func, |func, inst| {
            let data = func.inst(inst);
            if data.op != Op::Mul || func.value_type(data.args[0]) != Type::I64 {
                return;
            }
            if let Some(&Constant::Scalar(Scalar::I64, bits)) = func.constant(data.args[1])
                && (bits as i64) < 0
            {
                func.inst_mut(inst).args[1] = func.make_int(Scalar::I64, 0);
            }
        });
    }),
];

/// Faults in constructs that generated programs rarely have, each with a file test that has them.
const FAULTS_IN_FILES: &[(&str, Fault)] = &[
    ("widen-records", ("what lies after a structure is read", |func| unmask(func, Op::MaskedLoad))),
    (
        "widen-records-masked",
        ("lanes that are not there read structures", |func| {
            each(func, |func, inst| {
                let data = func.inst(inst);
                let ty = func.result(inst).map(|value| func.value_type(value));
                if data.op == Op::Select && ty.is_some_and(|ty| ty.is_vector() && ty.scalar().is_ptr()) {
                    let all = Constant::splat(func.value_type(data.args[0]), 1);
                    func.inst_mut(inst).args[0] = func.make_const(all);
                }
            });
        }),
    ),
    (
        "widen-numbers",
        ("the number of a private object is lane 0's", |func| {
            each(func, |func, inst| {
                if func.inst(inst).op == Op::Add && is_spread_number(func, func.inst(inst).args[0]) {
                    no_steps(func, inst);
                }
            });
        }),
    ),
    (
        "widen-numbers",
        ("what lanes have kept in memory comes back as lane 0's", |func| {
            each(func, |func, inst| {
                let result = func.result(inst).filter(|&it| func.value_type(it).is_vector());
                if let Some(result) = result.filter(|_| func.inst(inst).op == Op::Load) {
                    lane_0_speaks(func, inst, result);
                }
            });
        }),
    ),
    (
        "widen-lane-0-fails",
        ("lane 0 speaks for others where it shifts too far", |func| {
            each(func, |func, inst| {
                let is_shift = matches!(func.inst(inst).op, Op::Shl | Op::Lshr | Op::Ashr);
                if let Some(result) = func.result(inst).filter(|_| is_shift) {
                    lane_0_speaks(func, inst, result);
                }
            });
        }),
    ),
    (
        "widen-few",
        ("each lane chooses the element after its own", |func| {
            each(func, |func, inst| {
                let data = func.inst(inst);
                let chosen = (data.op == Op::Icmp).then(|| data.args[1]);
                if let Some(Constant::Vector(scalar, lanes)) =
                    chosen.and_then(|number| func.constant(number).cloned())
                {
                    let next = lanes.iter().map(|lane| lane.wrapping_sub(12) & scalar.bit_mask()).collect();
                    func.inst_mut(inst).args[1] = func.make_const(Constant::Vector(scalar, next));
                }
            });
        }),
    ),
    (
        "widen-few",
        ("lanes that do not run a store choose what it writes", |func| {
            each(func, |func, inst| {
                let data = func.inst(inst);
                let ty = func.result(inst).map(|value| func.value_type(value));
                if data.op == Op::Select && ty.is_some_and(|ty| ty.is_vector() && ty.scalar() == Scalar::I1) {
                    let all = Constant::splat(func.value_type(data.args[0]), 1);
                    func.inst_mut(inst).args[0] = func.make_const(all);
                }
            });
        }),
    ),
    (
        "widen-few",
        ("elements that lanes do not choose are not kept", |func| {
            each(func, |func, inst| {
                let data = func.inst(inst);
                let is_kept = data.args.get(2).and_then(|&kept| func.def_inst(kept));
                if data.op == Op::Select && is_kept.is_some_and(|it| func.inst(it).op == Op::Load) {
                    let value = data.args[1];
                    func.inst_mut(inst).args[2] = value;
                }
            });
        }),
    ),
    (
        "widen-endless",
        ("where no lane is, no lane speaks", |func| {
            each(func, |func, inst| {
                let data = func.inst(inst);
                let is_vote =
                    |&value: &Value| func.def_inst(value).is_some_and(|it| func.inst(it).op == Op::Ballot);
                if data.op == Op::Or && data.args.first().is_some_and(is_vote) {
                    let scalar = func.value_type(data.args[1]).scalar();
                    func.inst_mut(inst).args[1] = func.make_int(scalar, 0);
                }
            });
        }),
    ),
];

/// True if a value is the splat of one address, as a number.
fn is_spread_number(func: &Function, value: Value) -> bool {
    let of = |value: Value, op: Op| func.def_inst(value).filter(|&it| func.inst(it).op == op);
    let inner = of(value, Op::Splat).map(|it| func.inst(it).args[0]);
    let is_number = |value: Value| of(value, Op::Ptrtoint).is_some();
    // Rounding adds to the number of lane 0's before it is spread.
    inner.is_some_and(|inner| {
        is_number(inner) || of(inner, Op::Add).is_some_and(|it| is_number(func.inst(it).args[0]))
    })
}

/// Gives all lanes what lane 0 has.
fn lane_0_speaks(func: &mut Function, inst: Inst, result: Value) {
    let ty = func.value_type(result);
    let lane = func.make_int(Scalar::I32, 0);
    let Some(next) = func.layout.next_inst(inst) else { return };
    let mut builder = Builder::new(func, InsertPoint::Before(next));
    let first = builder.value(InstData::plain(Op::Extract, [result, lane]), None);
    let all = builder.value(InstData::plain(Op::Splat, [first]), Some(ty));
    let keeps = func.def_inst(first);
    func.map_values(|value| if value == result { all } else { value });
    if let Some(keeps) = keeps {
        func.inst_mut(keeps).args[0] = result;
    }
}

fn each(func: &mut Function, mut spoil: impl FnMut(&mut Function, Inst)) {
    let all: Vec<Inst> =
        func.blocks().flat_map(|block| func.block_insts(block).collect::<Vec<_>>()).collect();
    all.into_iter().for_each(|inst| spoil(func, inst));
}

/// Returns the comparisons of a branch on run-time conditions; `None` for other branches.
fn conditions_of(func: &Function, inst: Inst) -> Option<Vec<Inst>> {
    let data = func.inst(inst);
    let requested = data.args.first().filter(|_| data.op == Op::Br)?;
    let other = *func.successors(func.layout.block_of(inst)?).get(1)?;
    let is_far = |it: Inst| matches!(func.inst(it).op, Op::Gather | Op::Scatter);
    func.block_insts(other).any(is_far).then_some(())?;
    let frozen = func.def_inst(*requested).filter(|&it| func.inst(it).op == Op::Freeze)?;
    let mut tests = Vec::new();
    let mut work = vec![func.inst(frozen).args[0]];
    while let Some(value) = work.pop() {
        let it = func.def_inst(value)?;
        match func.inst(it).op {
            Op::And => work.extend(&func.inst(it).args),
            Op::Icmp => tests.push(it),
            _ => return None,
        }
    }
    Some(tests)
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

/// Lets lanes have what lane 0 has, where constants say how far they are from it.
fn no_steps(func: &mut Function, inst: Inst) {
    let steps = func.inst(inst).args[1];
    if let Some(Constant::Vector(scalar, lanes)) = func.constant(steps).cloned() {
        let none = lanes.iter().map(|_| lanes[0]).collect();
        func.inst_mut(inst).args[1] = func.make_const(Constant::Vector(scalar, none));
    }
}

/// Maximum number of programs until a fault must show.
const MOST_PROGRAMS: u64 = 20_000;

/// Programs that show rare faults.
const KNOWN: &[(&str, u64)] = &[
    ("passive lanes take part in a scan", 2822),
    ("passive lanes take part in `any`", 160),
    ("passive lanes take part in `all`", 1359),
    ("passive lanes are counted", 3484),
    ("passive lanes vote", 255),
    ("a private object is shared", 276),
    ("a version runs whatever its conditions", 159),
    ("conditions are off by one", 529),
    ("conditions are tested before a loop that changes them", 348),
    ("each row has the mask of the first", 3544),
    ("each lane reads the structure of the first", 517),
];

/// A fuzz run of widening is worthless if accesses are never grouped or versioned.
#[test]
fn generated_programs_have_lines_records_rows_and_versions() {
    let programs = 600;
    let mut counts: BTreeMap<RemarkKind, u64> = BTreeMap::new();
    for seed in 1..=programs {
        let case = generate(seed, &GeneratorProfile::default());
        let mut found = BTreeSet::new();
        for input in &case.inputs {
            let one = GeneratedProgram { inputs: vec![input.clone()], ..case.clone() };
            found.extend(forms(&one).unwrap_or_else(|reason| panic!("{seed}: {reason}")));
        }
        found.into_iter().for_each(|form| *counts.entry(form).or_default() += 1);
    }
    println!("of {programs} programs: {counts:?}");
    // Records and rows share what the generator has of regular accesses; programs of a thousand.
    for (form, least) in [
        (RemarkKind::Interleaved, 30),
        (RemarkKind::Structures, 5),
        (RemarkKind::Rows, 20),
        (RemarkKind::Versioned, 30),
    ] {
        let share = 1000 * counts.get(&form).copied().unwrap_or(0) / programs;
        assert!(share >= least, "{form:?}: {share} of 1000 programs");
    }
}

#[test]
fn every_fault_is_caught() {
    are_caught(FAULTS);
}

#[test]
fn every_fault_of_accesses_is_caught() {
    are_caught(FAULTS_OF_ACCESSES);
}

#[test]
fn every_fault_in_files_is_caught() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transform");
    for (name, (what, spoil)) in FAULTS_IN_FILES {
        let text = std::fs::read_to_string(root.join(name).with_extension("hed")).expect("the file is there");
        let runs = |spoil: fn(&mut Function)| -> Vec<String> { wrong_runs(&text, spoil).expect(name) };
        assert_eq!(runs(|_| {}), Vec::<String>::new(), "{name}: as it is");
        let wrong = runs(*spoil);
        println!("{name}, {what}: {}", wrong.join("; "));
        assert!(!wrong.is_empty(), "{name}: not noticed: {what}");
    }
}

/// Returns the failures of a file test's runs with a fault injected into each wide function.
fn wrong_runs(text: &str, spoil: fn(&mut Function)) -> Result<Vec<String>, String> {
    let mut module = parse_bytes(text.as_bytes()).map_err(|errors| errors[0].to_string())?;
    let head = text.lines().next().unwrap_or("");
    let passes = head.split_whitespace().find_map(|word| word.strip_prefix("passes=")).ok_or("no passes")?;
    let passes: Vec<&str> = passes.split(',').collect();
    Session::default()
        .run_passes(&mut module, &passes, true, |_, _| {})
        .map_err(|error| error.to_string())?;
    module.functions.iter_mut().for_each(spoil);
    let mut wrong = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("; run: ")) {
        let line = RunLine::parse(line).map_err(|error| error.to_string())?;
        let ran = line.run(&module, &line.options).map_err(|error| error.to_string())?;
        wrong.extend(line.check(&module, &ran).map_err(|error| error.to_string())?);
    }
    Ok(wrong)
}

fn are_caught(faults: &[Fault]) {
    all_are_caught(faults.iter().copied(), KNOWN, MOST_PROGRAMS, |seed, wide| {
        let case = generate(seed, &GeneratorProfile::default());
        widens_with(&case, &WideningFaults { wide, ..WideningFaults::NONE }).is_err()
    });
}
