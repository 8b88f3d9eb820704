//! Faults planted into flattened nests, one or more for each rule of the transformation: each is caught. And what the generated programs cover of it.

use heddle_ir::entity::Entity as _;
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Value};
use heddle_testing::flattening::{FlattenCounts, flatten_function, flattens, flattens_by, profile};
use heddle_testing::generate::{Random, generate};
use heddle_transform::flatten::{FlattenDecision, FlattenOptions};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Number of catches after which the next fault is tried.
const CAUGHT: u32 = 2;
/// Maximum number of programs until a fault must show; the number needed depends on the generator.
const MOST_PROGRAMS: u64 = 20_000;

/// N and L of a nest.
#[derive(Clone, Copy, Debug)]
struct Parts {
    header: Block,
    latch: Block,
}

/// Returns the flattened nests: a new block with an exit controlled by a new φ, and the loop that it closes.
fn nests(func: &Function, old_blocks: usize) -> Vec<Parts> {
    let is_new = |block: &Block| block.index() >= old_blocks;
    let mut found = Vec::new();
    for latch in func.blocks().filter(is_new) {
        let Some(branch) = func.terminator(latch) else { continue };
        let &[_, header] = func.inst(branch).targets() else { continue };
        let done = func.inst(branch).args.first().and_then(|&value| func.def_inst(value));
        let is_done = |inst: Inst| {
            let data = func.inst(inst);
            func.layout.block_of(inst) == Some(latch)
                && data.op == Op::Phi
                && data
                    .args
                    .iter()
                    .all(|&arg| matches!(func.constant(arg), Some(Constant::Scalar(Scalar::I1, _))))
        };
        if is_new(&header) && done.is_some_and(is_done) {
            found.push(Parts { header, latch });
        }
    }
    found
}

fn pick<T: Clone>(random: &mut Random, items: &[T]) -> Option<T> {
    (!items.is_empty()).then(|| items[random.below(items.len())].clone())
}

fn swap_targets(func: &mut Function, block: Block) -> Option<()> {
    let branch = func.terminator(block)?;
    let targets = func.inst_mut(branch).targets_mut();
    (targets.len() == 2 && targets[0] != targets[1]).then(|| targets.swap(0, 1))
}

/// The condition of a block's branch, if it is a φ.
fn requested(func: &Function, block: Block) -> Option<Inst> {
    let value = *func.inst(func.terminator(block)?).args.first()?;
    func.def_inst(value).filter(|&inst| func.inst(inst).op == Op::Phi)
}

/// Turns one truth value of a φ's operand.
fn flip(func: &mut Function, phi: Inst, random: &mut Random) -> Option<()> {
    let count = func.inst(phi).args.len();
    let index = random.below(count);
    let is_true = matches!(func.constant(func.inst(phi).args[index])?, Constant::Scalar(Scalar::I1, 1));
    let other = func.make_bool(!is_true);
    func.inst_mut(phi).args[index] = other;
    Some(())
}

/// The φs of N that carry more than the state, with the operand that comes from L.
fn carried(func: &Function, parts: &Parts) -> Vec<(Inst, usize, Value)> {
    let from_latch = |phi: Inst| {
        let (index, (_, value)) =
            func.inst(phi).incoming().enumerate().find(|(_, (from, _))| *from == parts.latch)?;
        func.constant(value).is_none().then_some((phi, index, value))
    };
    func.phis(parts.header).filter_map(from_latch).collect()
}

fn is_poison(func: &Function, value: Value) -> bool {
    matches!(func.constant(value), Some(Constant::Poison(_)))
}

/// The operands of φs of L that are no truth values: φ, number, value.
fn joined(func: &Function, parts: &Parts) -> Vec<(Inst, usize, Value)> {
    let done = requested(func, parts.latch);
    let phis = func.phis(parts.latch).filter(|&phi| Some(phi) != done);
    phis.flat_map(|phi| func.inst(phi).args.iter().enumerate().map(move |(index, &arg)| (phi, index, arg)))
        .filter(|&(_, _, value)| !is_poison(func, value))
        .collect()
}

type Plant = fn(&mut Function, &Parts, &mut Random) -> Option<()>;

const FAULTS: &[(&str, Plant)] = &[
    ("lanes begin in the inner loop", |func, parts, _| {
        let phi = requested(func, parts.header)?;
        let yes = func.make_bool(true);
        func.inst_mut(phi).args[0] = yes;
        Some(())
    }),
    ("the branch on the state is inverted", |func, parts, _| swap_targets(func, parts.header)),
    ("the state of one way is another", |func, parts, random| {
        let phi = func.def_inst(requested(func, parts.header).map(|phi| func.inst(phi).args[1])?)?;
        flip(func, phi, random)
    }),
    ("lanes leave that go round, or the other way", |func, parts, random| {
        let phi = requested(func, parts.latch)?;
        flip(func, phi, random)
    }),
    ("lanes leave where they go round", |func, parts, _| swap_targets(func, parts.latch)),
    ("a value is not updated", |func, parts, random| {
        let (phi, index, _) = pick(random, &carried(func, parts))?;
        let own = func.result(phi)?;
        func.inst_mut(phi).args[index] = own;
        Some(())
    }),
    ("a value is not carried", |func, parts, random| {
        let (phi, index, value) = pick(random, &carried(func, parts))?;
        let none = func.make_poison(func.value_type(value));
        func.inst_mut(phi).args[index] = none;
        Some(())
    }),
    ("a way brings nothing", |func, parts, random| {
        let (phi, index, value) = pick(random, &joined(func, parts))?;
        let none = func.make_poison(func.value_type(value));
        func.inst_mut(phi).args[index] = none;
        Some(())
    }),
    ("two ways bring each other's values", |func, parts, random| {
        let (phi, index, value) = pick(random, &joined(func, parts))?;
        let others = joined(func, parts);
        let of_phi: Vec<_> =
            others.iter().filter(|&&(other, _, arg)| other == phi && arg != value).copied().collect();
        let (_, other, _) = pick(random, &of_phi)?;
        func.inst_mut(phi).args.swap(index, other);
        Some(())
    }),
    ("a test asks for another state or exit", |func, parts, random| {
        let in_new = |inst: &Inst| {
            let data = func.inst(*inst);
            data.op == Op::Icmp
                && func
                    .def_inst(data.args[0])
                    .and_then(|phi| func.layout.block_of(phi))
                    .is_some_and(|block| block == parts.header || block == parts.latch)
                && func.constant(data.args[1]).is_some()
        };
        let insts: Vec<Inst> =
            func.blocks().flat_map(|block| func.block_insts(block)).filter(in_new).collect();
        let inst = pick(random, &insts)?;
        let other = func.make_int(Scalar::I32, 77);
        func.inst_mut(inst).args[1] = other;
        Some(())
    }),
];

/// True if the harness reports an error or panics.
fn is_caught(seed: u64, pass: &dyn Fn(&mut Function, &FlattenOptions) -> Vec<FlattenDecision>) -> bool {
    let case = generate(seed, &profile());
    !matches!(catch_unwind(AssertUnwindSafe(|| flattens_by(&case, pass))), Ok(Ok(_)))
}

#[test]
fn every_planted_fault_is_caught() {
    let mut missed = Vec::new();
    for (name, fault) in FAULTS {
        let (mut planted, mut caught) = (0, 0);
        for seed in 0..MOST_PROGRAMS {
            let random = RefCell::new(Random::new(seed));
            let is_planted = Cell::new(false);
            let pass = |func: &mut Function, options: &FlattenOptions| {
                let blocks = func.block_count();
                let decisions = flatten_function(func, options);
                let random = &mut *random.borrow_mut();
                if let Some(parts) = pick(random, &nests(func, blocks)) {
                    is_planted.set(is_planted.get() || fault(func, &parts, random).is_some());
                }
                decisions
            };
            let found = is_caught(seed, &pass);
            planted += u32::from(is_planted.get());
            caught += u32::from(found && is_planted.get());
            if caught == CAUGHT {
                break;
            }
        }
        println!("{name}: {caught} of {planted}");
        if caught < CAUGHT {
            missed.push(format!("{name}: {caught} of {planted}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn generated_programs_cover_the_forms_of_nests() {
    let mut all = FlattenCounts::default();
    for seed in 0..120 {
        let case = generate(seed, &profile());
        all.add(&flattens(&case).unwrap_or_else(|reason| panic!("seed {seed}: {reason}")));
    }
    println!("{all:?}");
    assert!(all.nests > 120 && all.deep > 10 && all.several > 6 && all.refused > 40, "{all:?}");
}
