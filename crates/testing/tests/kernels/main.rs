//! Kernels as group functions: generated ones, on the oracle and natively; faults planted into what is made of them; how
//! often their brushes wait.
#![forbid(unsafe_code)]

mod bounded;
mod dimensions;
mod divided;
mod images;
mod strides;
mod versions;
mod waiting;

use heddle_ir::inst::Detail;
use heddle_ir::{Constant, Function, Inst, Module, Op, Scalar, Space, Type, ValueDef, parse_module};
use heddle_testing::fuzz::check;
use heddle_testing::generate::{GeneratedProgram, InputArgument, ObjectShape, Owner, ProgramInput, generate};
use heddle_testing::kernels::{Machine, kernels_hold_with, profile};
use heddle_testing::properties::topic;
use heddle_transform::widen::VersioningPolicy;
use heddle_transform::{KernelOptions, lower_kernels};
use smallvec::SmallVec;

#[test]
fn group_functions_do_what_kernels_do() {
    let topic = topic("kernels").expect("there is the topic");
    for seed in 1..400 {
        let case = generate(seed, &profile());
        if let Err(reason) = check(topic, &case) {
            panic!("seed {seed}: {reason}");
        }
    }
}

type Fault = fn(&mut Module);

const FAULTS: &[(&str, Fault)] = &[
    ("what lives across a barrier is not kept", |module| {
        regions(module, |func| {
            let entry = func.entry();
            for inst in insts(func, Op::Store) {
                let address = func.def_inst(func.inst(inst).args[1]);
                let is_in_entry = address.is_some_and(|it| func.layout.block_of(it) == Some(entry));
                if is_in_entry && func.layout.block_of(inst) != Some(entry) {
                    func.remove_inst(inst);
                }
            }
        });
    }),
    ("lanes share what is kept", |module| {
        regions(module, |func| {
            for inst in insts(func, Op::Mul) {
                let is_lane = |it: &_| func.def_inst(*it).is_some_and(|def| func.inst(def).op == Op::Lane);
                if func.inst(inst).args.first().is_some_and(is_lane) {
                    let ty = func.value_type(func.inst(inst).args[1]);
                    let zero = func.make_const(Constant::splat(ty, 0));
                    func.inst_mut(inst).args[1] = zero;
                }
            }
        });
    }),
    ("brushes share what is kept", |module| {
        group(module, |func| {
            let Some(&scratch) = func.params().last() else { return };
            for inst in insts(func, Op::Launch) {
                for index in 0..func.inst(inst).args.len() {
                    let arg = func.inst(inst).args[index];
                    let is_memory = func.def_inst(arg).is_some_and(|it| {
                        func.inst(it).op == Op::PtrAdd && func.value_type(arg) == func.value_type(scratch)
                    });
                    if is_memory {
                        func.inst_mut(inst).args[index] = scratch;
                    }
                }
            }
        });
    }),
    ("variables of the group stay as they are", |module| {
        group(module, |func| {
            for inst in insts(func, Op::Store) {
                if func.value_type(func.inst(inst).args[0]) != Type::I32 {
                    func.remove_inst(inst);
                }
            }
        });
    }),
    ("a state is taken for another", |module| {
        group(module, |func| {
            for inst in insts(func, Op::Switch) {
                let targets = func.inst_mut(inst).targets_mut();
                targets.swap(0, 1);
            }
        });
    }),
    ("work-items that have exited run on", |module| {
        regions(module, |func| {
            for inst in insts(func, Op::Store) {
                let flag = func.constant(func.inst(inst).args[0]).cloned();
                if flag == Some(Constant::Scalar(Scalar::I8, 0)) && stores_to_entry_address(func, inst) {
                    func.inst_mut(inst).args[0] = func.make_int(Scalar::I8, 1);
                }
            }
        });
    }),
    ("brushes that have exited decide which state is next", |module| {
        group(module, |func| {
            for inst in insts(func, Op::Select) {
                let [condition, before, _] = [0, 1, 2].map(|index| func.inst(inst).args[index]);
                let is_exited = func.def_inst(condition).is_some_and(|it| {
                    let compared = func.inst(it).args.last().and_then(|&other| func.constant(other));
                    compared == Some(&Constant::Scalar(Scalar::I32, u32::MAX.into()))
                });
                if is_exited && func.def_inst(before).is_some_and(|it| func.inst(it).op == Op::Load) {
                    let own = func.inst(func.def_inst(condition).expect("it is computed")).args[0];
                    func.inst_mut(inst).args[1] = own;
                }
            }
        });
    }),
    ("the last brush is whole", |module| masks(module, 1)),
    ("the last brush is left out", |module| masks(module, 0)),
    ("a number of the record is the next one", |module| {
        group(module, |func| {
            for inst in insts(func, Op::PtrAdd) {
                let [base, offset] = [0, 1].map(|index| func.inst(inst).args[index]);
                let is_place = func.params().iter().rev().nth(2) == Some(&base);
                if is_place && let Some(&Constant::Scalar(scalar, bits)) = func.constant(offset) {
                    let other = func.make_int(scalar, ((bits + 8) % 152) as i128);
                    func.inst_mut(inst).args[1] = other;
                }
            }
        });
    }),
    ("work-items that run by themselves share the place of lane 0", |module| {
        group(module, |func| {
            for inst in insts(func, Op::Urem) {
                let item = func.inst(inst).args[0];
                if func.def_inst(item).is_some_and(|it| func.inst(it).op == Op::Phi) {
                    let zero = func.make_const(Constant::splat(func.value_type(item), 0));
                    func.inst_mut(inst).args[0] = zero;
                }
            }
        });
    }),
    ("a row of brushes is left out", |module| {
        group(module, |func| {
            for inst in insts(func, Op::Icmp) {
                let Some(ValueDef::Result(next, _)) =
                    func.inst(inst).args.first().map(|&it| func.value_def(it))
                else {
                    continue;
                };
                // Ends a loop after its first iteration.
                if func.inst(next).op == Op::Add {
                    let next = func.inst(inst).args[0];
                    func.inst_mut(inst).args[1] = next;
                }
            }
        });
    }),
];

/// Faults of regions with versions, and of brushes that take several rows.
const FAULTS_OF_BRUSHES: &[(&str, Fault)] = &[
    ("a version is taken whatever holds", |module| {
        regions(module, |func| {
            let entry = func.entry();
            for inst in insts(func, Op::First) {
                let is_decision = func.result(inst).is_some_and(|it| func.value_type(it) == Type::I1);
                if is_decision && func.layout.block_of(inst) == Some(entry) {
                    let yes = func.make_bool(true);
                    func.inst_mut(inst).args[0] = yes;
                }
            }
        });
    }),
    ("lanes of a version are one", |module| {
        regions(module, |func| {
            let entry = func.entry();
            if insts(func, Op::First).iter().all(|&inst| func.layout.block_of(inst) != Some(entry)) {
                return;
            }
            for inst in insts(func, Op::Add) {
                let second = func.inst(inst).args[1];
                let is_lane = func.def_inst(second).is_some_and(|it| func.inst(it).op == Op::Lane);
                if is_lane && func.layout.block_of(inst) == Some(entry) {
                    let ty = func.value_type(second);
                    let zero = func.make_const(Constant::splat(ty, 0));
                    func.inst_mut(inst).args[1] = zero;
                }
            }
        });
    }),
    ("lanes that take new work-items run one alone", |module| {
        regions(module, |func| {
            let Some(&last) = func.params().last().filter(|_| !insts(func, Op::Scan).is_empty()) else {
                return;
            };
            let one = func.make_const(Constant::splat(func.value_type(last), 1));
            func.map_values(|value| if value == last { one } else { value });
        });
    }),
    ("the rows of a tile are one", |module| {
        regions(module, |func| {
            let zero = func.make_const(Constant::Scalar(Scalar::I32, 0));
            for inst in insts(func, Op::Lane) {
                let Some(lane) = func.result(inst) else { continue };
                if func.inst(inst).detail == Detail::Dimension(Some(1)) && func.value_type(lane) == Type::I32
                {
                    func.map_values(|value| if value == lane { zero } else { value });
                }
            }
        });
    }),
];

/// True if a store's address is computed in the entry, as those of spill slots are.
fn stores_to_entry_address(func: &Function, inst: Inst) -> bool {
    let address = func.def_inst(func.inst(inst).args[1]);
    address.is_some_and(|it| func.layout.block_of(it) == Some(func.entry()))
}

fn insts(func: &Function, op: Op) -> Vec<Inst> {
    func.blocks().flat_map(|block| func.block_insts(block)).filter(|&inst| func.inst(inst).op == op).collect()
}

fn regions(module: &mut Module, fault: impl FnMut(&mut Function)) {
    module.functions.iter_mut().filter(|func| func.name.contains(".region")).for_each(fault);
}

fn group(module: &mut Module, fault: impl Fn(&mut Function)) {
    let launches = |func: &&mut Function| !insts(func, Op::Launch).is_empty();
    module.functions.iter_mut().filter(launches).for_each(fault);
}

/// Gives the masks of last brushes these bits.
fn masks(module: &mut Module, bits: u128) {
    group(module, |func| {
        for inst in insts(func, Op::Launch) {
            let Detail::Launch(launch) = &func.inst(inst).detail else { continue };
            if launch.masked && func.results(inst).is_empty() {
                let last = func.inst(inst).args.len() - 1;
                let ty = func.value_type(func.inst(inst).args[last]);
                let mask = func.make_const(Constant::splat(ty, bits));
                func.inst_mut(inst).args[last] = mask;
            }
        }
    });
}

#[test]
fn every_planted_fault_is_noticed() {
    let cases: Vec<_> = (1..400).map(|seed| generate(seed, &profile())).collect();
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let is_missed = |fault: Fault| {
        !cases.iter().any(|case| {
            let checked = std::panic::AssertUnwindSafe(|| kernels_hold_with(case, Machine::Oracle, fault));
            std::panic::catch_unwind(checked).is_ok_and(|checked| checked.is_err())
        })
    };
    let missed: Vec<&str> = FAULTS
        .iter()
        .chain(FAULTS_OF_BRUSHES)
        .filter(|(_, fault)| is_missed(*fault))
        .map(|(name, _)| *name)
        .collect();
    std::panic::set_hook(quiet);
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

/// No barrier is added, although blocks are in several states.
#[test]
fn brushes_wait_as_often_as_the_kernel_says() {
    let text = include_str!("../../../../tests/kernels/karrenberg-fig-3.hed");
    let text = text.split("\n; output").next().unwrap_or_default();
    let mut module = parse_module(text).expect("the file is right");
    let brush = SmallVec::from_slice(&[4]);
    let options = KernelOptions { versions: VersioningPolicy::Model, ..KernelOptions::rows(brush) };
    let made = lower_kernels(&mut module, &options).expect("the kernel has a group function");
    assert_eq!((made[0].barriers, made[0].synchronization_points), (3, 3));
    assert_eq!(module.functions.iter().filter(|func| func.name.contains(".region")).count(), 4);
}

/// Reads a kernel of `tests/kernels`, without its test directives.
fn kernel_named(name: &str) -> Module {
    let path = format!("{}/../../tests/kernels/{name}.hed", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the file is there");
    parse_module(&text).expect("the file is right")
}

/// Kernels whose lanes access contiguous memory under conditions; each with what it takes besides its array, first for the
/// version and then for what the version does not do, and with the elements of the array.
const INDEXED: &[(&str, &[&[u128]], u32)] = &[
    ("index-wraps", &[&[64, 3], &[64, 0]], 512),
    ("index-remainder", &[&[32], &[3]], 256),
    ("index-shifts", &[&[6, 1, 128, 1], &[3, 2, 128, 0]], 256),
    ("index-xor", &[&[32, 64], &[2, 4]], 128),
    ("index-clamped", &[&[90, 90, 90], &[23, 90, 90], &[90, 23, 90], &[90, 90, 23], &[90, 90, 64]], 192),
];

/// A kernel with its versions taken, whatever their conditions, as vector code for AVX-512; how many versions there were.
fn in_versions(name: &str, is_small: bool) -> (usize, Module) {
    let mut module = kernel_named(name);
    let brush = SmallVec::from_slice(&[16]);
    let options = KernelOptions { is_small, versions: VersioningPolicy::Model, ..KernelOptions::rows(brush) };
    lower_kernels(&mut module, &options).expect("the kernel has a group function");
    let mut versions = 0;
    regions(&mut module, |func| {
        let yes = func.make_bool(true);
        for inst in insts(func, Op::First) {
            let decision = func.result(inst).expect("it gives a value");
            if func.value_type(decision) == Type::I1 {
                versions += 1;
                func.map_values(|value| if value == decision { yes } else { value });
            }
        }
    });
    let passes = ["vectorize", "W=16", "target=avx512"];
    heddle_compiler::Session::default()
        .run_passes(&mut module, &passes, true, |_, _| {})
        .expect("passes take it");
    (versions, module)
}

fn gathers_and_scatters(func: &Function) -> usize {
    insts(func, Op::Gather).len() + insts(func, Op::Scatter).len()
}

#[test]
fn versions_have_no_gathers() {
    for &(name, ..) in INDEXED {
        let (versions, module) = in_versions(name, true);
        assert_eq!(versions, 1, "{name}");
        let divisions = |func: &Function| {
            let all = insts(func, Op::Udiv);
            all.iter()
                .filter(|&&it| func.result(it).is_some_and(|it| func.value_type(it).is_vector()))
                .count()
        };
        for func in &module.functions {
            assert_eq!((gathers_and_scatters(func), divisions(func)), (0, 0), "{name}: @{}", func.name);
        }
    }
}

/// Where numbers are small, the extension changes nothing; else one question for each brush tells.
#[test]
fn an_extension_merged_with_a_scale_takes_no_gathers() {
    for (is_small, expected) in [(true, 0), (false, 1)] {
        let (versions, module) = in_versions("index-scaled", is_small);
        let gathers: usize = module.functions.iter().map(gathers_and_scatters).sum();
        assert_eq!((versions, gathers), (expected, 0), "small: {is_small}");
    }
}

#[test]
fn versions_do_what_kernels_do() {
    for &(name, takes, len) in INDEXED {
        let module = kernel_named(name);
        let object = ObjectShape {
            name: "a".into(),
            space: Space::Global,
            scalar: Scalar::I32,
            len,
            owner: Owner::Shared,
        };
        let inputs = takes.iter().map(|takes| ProgramInput {
            brush: vec![4],
            group: Some([32, 1, 1]),
            groups: [2, if name == "index-wraps" { 4 } else { 1 }, 1],
            args: [InputArgument::Object(0)]
                .into_iter()
                .chain(takes.iter().map(|&it| InputArgument::Uniform(it)))
                .collect(),
            // Small numbers, also as floats; on the diagonal of a matrix, 0.
            contents: vec![
                (0..len)
                    .flat_map(|at| (if at == 3 * 65 { 0 } else { at * 37 % 101 }).to_le_bytes())
                    .collect(),
            ],
        });
        holds_for_layouts(&module, &object, &inputs.collect::<Vec<_>>(), 24);
    }
}

/// Checks a kernel of one array in as many layouts of work-items, on the oracle and natively.
fn holds_for_layouts(module: &Module, object: &ObjectShape, inputs: &[ProgramInput], layouts: u64) {
    let entry = module.functions[0].name.clone();
    let traits = generate(1, &profile()).traits;
    for seed in 0..layouts {
        let case = GeneratedProgram {
            seed,
            module: module.clone(),
            entry: entry.clone(),
            traits: heddle_testing::generate::ProgramTraits {
                order_dependent: false,
                fmuladd: false,
                ..traits
            },
            objects: vec![object.clone()],
            inputs: inputs.to_vec(),
        };
        for machine in [Machine::Oracle, Machine::Native] {
            if let Err(reason) = kernels_hold_with(&case, machine, |_| {}) {
                panic!("{entry}, seed {seed}: {reason}");
            }
        }
    }
}

/// Lane 0 of a brush of two rows exits before the value is computed that it represents.
#[test]
fn strided_values_survive_the_exit_of_lane_0() {
    let module = kernel_named("exit-strided");
    let object = ObjectShape {
        name: "a".into(),
        space: Space::Global,
        scalar: Scalar::I32,
        len: 32,
        owner: Owner::Shared,
    };
    let input = ProgramInput {
        brush: vec![4],
        group: Some([8, 4, 1]),
        groups: [1; 3],
        args: vec![InputArgument::Object(0)],
        contents: vec![vec![0; 128]],
    };
    holds_for_layouts(&module, &object, &[input], 64);
}
