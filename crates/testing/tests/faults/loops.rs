//! Faults planted into loops that were made uniform: each kind, one or more for each rule of the transformation, is
//! caught; and what the generated programs cover of it.

use heddle_compiler::divergence;
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Detail, Function, Inst, Module, Op, Value};
use heddle_testing::generate::{GeneratedProgram, GeneratorProfile, Random, generate};
use heddle_testing::uniform_loops::{canonical, check, facts, uniform};
use heddle_transform::{LoopFacts, make_loops_uniform};

/// Number of catches after which the next fault is tried.
const CAUGHT: u32 = 2;
/// Number of programs to try.
const SEEDS: u64 = 1500;

/// The parts of a loop that was made uniform.
#[derive(Clone, Debug)]
struct Parts {
    new_header: Block,
    guard: Block,
    header: Block,
    latch: Block,
    /// Where live lanes come from to the latch, the last ones to go round, and where those come from that leave.
    stays: Block,
    edges: Vec<Block>,
    dispatch: Block,
    /// J and K of each exit that stayed.
    joins: Vec<(Block, Block)>,
    live: Inst,
}

/// Returns the φ of a join that its `any` or `all` tests.
fn requested(func: &Function, join: Block) -> Option<Inst> {
    let vote = func.def_inst(*func.inst(func.terminator(join)?).args.first()?)?;
    func.def_inst(*func.inst(vote).args.first()?)
}

fn phi_with_shadow(func: &Function, block: Block) -> Option<Inst> {
    func.phis(block).find(|&inst| func.inst(inst).shadow().is_some())
}

/// The loops of a function that were made uniform.
fn loops(func: &Function) -> Vec<Parts> {
    func.blocks().filter_map(|block| parts(func, block)).collect()
}

fn parts(func: &Function, new_header: Block) -> Option<Parts> {
    let live = phi_with_shadow(func, new_header)?;
    if func.inst(live).incoming().len() != 2 {
        return None;
    }
    let value = func.result(live)?;
    let &[guard, dispatch] = func.successors(new_header) else { return None };
    let guard_branch = func.inst(func.terminator(guard)?);
    if guard_branch.args.first() != Some(&value) {
        return None;
    }
    let latch = func.inst(live).incoming().nth(1)?.0;
    let mut joins = Vec::new();
    let mut waiting = func.successors(guard)[1];
    while waiting != latch {
        let join = waiting;
        let behind = func.successors(join).iter().copied().find(|&block| block != dispatch)?;
        joins.push((join, behind));
        waiting = *func.successors(behind).last()?;
    }
    let update = func.phis(latch).next()?;
    let mut sources = func.inst(update).incoming().map(|(source, _)| source).skip(1);
    let stays = sources.next()?;
    let edges = sources.collect();
    let header = func.successors(guard)[0];
    Some(Parts { new_header, guard, header, latch, stays, edges, dispatch, joins, live })
}

impl Parts {
    /// The φs of NewH and their updates in L: live, then trackers and what is carried.
    fn pairs(&self, func: &Function) -> Vec<(Inst, Inst)> {
        let update = |phi: &Inst| {
            let (_, value) = func.inst(*phi).incoming().find(|&(source, _)| source == self.latch)?;
            let inst = func.def_inst(value)?;
            (func.layout.block_of(inst) == Some(self.latch)).then_some((*phi, inst))
        };
        func.phis(self.new_header).filter_map(|phi| update(&phi)).collect()
    }

    /// The trackers among them: lanes that wait keep them.
    fn trackers(&self, func: &Function, masks: bool) -> Vec<(Inst, Inst)> {
        let keeps = |&(phi, update): &(Inst, Inst)| {
            let kept = func.result(phi);
            let is_mask = func.inst(phi).args[0] == false_of(func);
            func.inst(update).incoming().next().map(|(_, value)| value) == kept && is_mask == masks
        };
        self.pairs(func).into_iter().skip(1).filter(keeps).collect()
    }

    fn carried(&self, func: &Function) -> Vec<(Inst, Inst)> {
        let others = |pair: &(Inst, Inst)| {
            !self.trackers(func, true).contains(pair) && !self.trackers(func, false).contains(pair)
        };
        self.pairs(func).into_iter().skip(1).filter(others).collect()
    }
}

/// The constant that the live mask's shadow is.
fn false_of(func: &Function) -> Value {
    let live = func.blocks().find_map(|block| parts(func, block)).map(|parts| parts.live);
    live.and_then(|live| func.inst(live).shadow()).expect("a loop was made uniform")
}

/// Sets what a φ takes along one edge.
fn set(func: &mut Function, phi: Inst, source: Block, value: Value) -> bool {
    let index = func.inst(phi).incoming().position(|(from, _)| from == source);
    let Some(index) = index.filter(|&index| func.inst(phi).args[index] != value) else { return false };
    func.inst_mut(phi).args[index] = value;
    true
}

fn get(func: &Function, phi: Inst, source: Block) -> Option<Value> {
    func.inst(phi).incoming().find(|&(from, _)| from == source).map(|(_, value)| value)
}

fn swap_targets(func: &mut Function, block: Block) -> bool {
    let Some(branch) = func.terminator(block) else { return false };
    let targets = func.inst_mut(branch).targets_mut();
    if targets.len() < 2 || targets[0] == targets[1] {
        return false;
    }
    targets.swap(0, 1);
    true
}

fn vote(func: &mut Function, block: Block) -> bool {
    let found = func.block_insts(block).filter(|&inst| matches!(func.inst(inst).op, Op::Any | Op::All));
    let Some(inst) = found.last() else { return false };
    let data = func.inst_mut(inst);
    data.op = if data.op == Op::Any { Op::All } else { Op::Any };
    true
}

fn pick<T: Clone>(random: &mut Random, items: &[T]) -> Option<T> {
    (!items.is_empty()).then(|| items[random.below(items.len())].clone())
}

type Plant = fn(&mut Function, &Parts, &mut Random) -> Option<bool>;

const FAULTS: &[(&str, Plant)] = &[
    ("the shadow of live lost", |func, parts, _| {
        let mut data: InstData = func.inst(parts.live).clone();
        data.args.pop();
        *func.inst_mut(parts.live) = data;
        Some(true)
    }),
    ("no lane is live at first", |func, parts, _| {
        let preheader = func.inst(parts.live).incoming().next()?.0;
        let no = func.make_bool(false);
        Some(set(func, parts.live, preheader, no))
    }),
    ("live not updated: a lane that leaves is live", |func, parts, random| {
        let (_, update) = *parts.pairs(func).first()?;
        let edge = pick(random, &parts.edges)?;
        let yes = func.make_bool(true);
        Some(set(func, update, edge, yes))
    }),
    ("live not updated: a lane that stays is not", |func, parts, _| {
        let (_, update) = *parts.pairs(func).first()?;
        let no = func.make_bool(false);
        Some(set(func, update, parts.stays, no))
    }),
    ("live comes back for a lane that waits", |func, parts, _| {
        let (_, update) = *parts.pairs(func).first()?;
        let waits = func.inst(update).incoming().next()?.0;
        let yes = func.make_bool(true);
        Some(set(func, update, waits, yes))
    }),
    ("the loop ends when some lane is done", |func, parts, _| Some(vote(func, parts.new_header))),
    ("the loop goes on when no lane is live", |func, parts, _| Some(swap_targets(func, parts.new_header))),
    ("guard missing", |func, parts, _| {
        let branch = func.terminator(parts.guard)?;
        if func.inst(branch).targets()[1] != parts.latch {
            return None;
        }
        *func.inst_mut(branch) = InstData::jump(parts.header);
        for phi in func.phis(parts.latch).collect::<Vec<_>>() {
            let rest: Vec<_> =
                func.inst(phi).incoming().filter(|&(source, _)| source != parts.guard).collect();
            *func.inst_mut(phi) = InstData::phi(rest, None);
        }
        Some(true)
    }),
    ("guard inverted", |func, parts, _| Some(swap_targets(func, parts.guard))),
    ("tracker not updated", |func, parts, random| {
        let (phi, update) = pick(random, &parts.trackers(func, false))?;
        let edge = pick(random, &parts.edges)?;
        let old = func.result(phi)?;
        Some(set(func, update, edge, old))
    }),
    ("tracker forgets what waiting lanes left with", |func, parts, random| {
        let (phi, update) = pick(random, &parts.trackers(func, false))?;
        let initial = func.inst(phi).args[0];
        let waits = func.inst(update).incoming().next()?.0;
        Some(set(func, update, waits, initial))
    }),
    ("tracker forgets at the next round", |func, parts, random| {
        let (phi, _) = pick(random, &parts.trackers(func, false))?;
        let initial = func.inst(phi).args[0];
        Some(set(func, phi, parts.latch, initial))
    }),
    ("tracker's edges swapped in L", |func, parts, random| {
        let (_, update) = pick(random, &parts.trackers(func, false))?;
        let edge = pick(random, &parts.edges)?;
        let waits = func.inst(update).incoming().next()?.0;
        let (a, b) = (get(func, update, waits)?, get(func, update, edge)?);
        let swapped = set(func, update, waits, b);
        Some(set(func, update, edge, a) && swapped)
    }),
    ("tracker's edges swapped in NewH", |func, parts, random| {
        let (phi, _) = pick(random, &parts.trackers(func, false))?;
        func.inst_mut(phi).args.swap(0, 1);
        Some(true)
    }),
    ("one exit edge's value for another's", |func, parts, random| {
        let (_, update) = pick(random, &parts.trackers(func, false))?;
        let [first, second] = [pick(random, &parts.edges)?, pick(random, &parts.edges)?];
        let value = get(func, update, second)?;
        Some(set(func, update, first, value))
    }),
    ("the exit's φ reads the latch's", |func, parts, random| {
        let (phi, update) = pick(random, &parts.trackers(func, false))?;
        let (inside, outside) = (func.result(update)?, func.result(phi)?);
        Some(replace_outside(func, parts, outside, inside))
    }),
    ("the exit's φ reads the loop's value", |func, parts, random| {
        let (phi, update) = pick(random, &parts.trackers(func, false))?;
        let edge = pick(random, &parts.edges)?;
        let (inside, outside) = (get(func, update, edge)?, func.result(phi)?);
        Some(inside != outside && replace_outside(func, parts, outside, inside))
    }),
    ("exit masks swapped", |func, parts, _| Some(swap_targets(func, parts.dispatch))),
    ("exit mask set at first", |func, parts, random| {
        let (phi, _) = pick(random, &parts.trackers(func, true))?;
        let preheader = func.inst(phi).incoming().next()?.0;
        let yes = func.make_bool(true);
        Some(set(func, phi, preheader, yes))
    }),
    ("exit mask not set", |func, parts, random| {
        let (phi, update) = pick(random, &parts.trackers(func, true))?;
        let edge = pick(random, &parts.edges)?;
        let old = func.result(phi)?;
        Some(set(func, update, edge, old))
    }),
    ("exit mask set for another exit", |func, parts, random| {
        let (_, update) = pick(random, &parts.trackers(func, true))?;
        let edge = pick(random, &parts.edges)?;
        let yes = func.make_bool(true);
        Some(set(func, update, edge, yes))
    }),
    ("exit mask forgotten while waiting", |func, parts, random| {
        let (_, update) = pick(random, &parts.trackers(func, true))?;
        let waits = func.inst(update).incoming().next()?.0;
        let no = func.make_bool(false);
        Some(set(func, update, waits, no))
    }),
    ("what is carried starts anew", |func, parts, random| {
        let (phi, _) = pick(random, &parts.carried(func))?;
        let first = func.inst(phi).args[0];
        Some(set(func, phi, parts.latch, first))
    }),
    ("what is carried lost for a lane that stays", |func, parts, random| {
        let (phi, update) = pick(random, &parts.carried(func))?;
        let value = func.result(phi)?;
        Some(set(func, update, parts.stays, value))
    }),
    ("uniform exit: lanes that wait hold it up", |func, parts, random| {
        let (join, _) = pick(random, &parts.joins)?;
        Some(vote(func, join))
    }),
    ("uniform exit: lanes that wait open it", |func, parts, random| {
        let (join, _) = pick(random, &parts.joins)?;
        let requested = requested(func, join)?;
        let neutral = func.inst(requested).args[1];
        let other = !func.constant(neutral)?.splat_bits()? & 1 == 1;
        let other = func.make_bool(other);
        let waits = func.inst(requested).incoming().nth(1)?.0;
        Some(set(func, requested, waits, other))
    }),
    ("uniform exit: shadow lost", |func, parts, random| {
        let (join, _) = pick(random, &parts.joins)?;
        let requested = requested(func, join)?;
        func.inst_mut(requested).args.pop();
        Some(true)
    }),
    ("uniform exit: guard inverted", |func, parts, random| {
        let (_, guard) = pick(random, &parts.joins)?;
        Some(swap_targets(func, guard))
    }),
    ("uniform exit: trackers not updated", |func, parts, random| {
        let (join, _) = pick(random, &parts.joins)?;
        let phi = pick(random, &func.phis(parts.dispatch).collect::<Vec<_>>())?;
        let old = get(func, phi, parts.new_header)?;
        Some(set(func, phi, join, old))
    }),
    ("uniform exit: trackers of waiting lanes overwritten", |func, parts, random| {
        let (join, _) = pick(random, &parts.joins)?;
        let is_kept = |&phi: &Inst| {
            let kept = func.inst(phi).args[1];
            let def_block = func.def_inst(kept).and_then(|inst| func.layout.block_of(inst));
            func.inst(phi).shadow().is_none() && def_block == Some(parts.new_header)
        };
        let phi = pick(random, &func.phis(join).filter(is_kept).collect::<Vec<_>>())?;
        let waits = func.inst(phi).incoming().nth(1)?.0;
        let poison = func.make_poison(func.value_type(func.result(phi)?));
        Some(set(func, phi, waits, poison))
    }),
    ("uniform exit: a lane that has just left is live", |func, parts, random| {
        let (phis, edge) = just_left(func, parts, random)?;
        let no = func.make_bool(false);
        let yes = func.make_bool(true);
        let is_live = |phi: &&Inst| func.inst(**phi).args[0] == yes && func.inst(**phi).shadow() == Some(no);
        let live = *phis.iter().find(is_live)?;
        Some(set(func, live, edge, yes))
    }),
    ("uniform exit: what lanes have just left with is forgotten", |func, parts, random| {
        let (phis, edge) = just_left(func, parts, random)?;
        let keeps = |phi: &Inst| {
            let data = func.inst(*phi);
            data.shadow().is_none()
                && !matches!(func.constant(data.args[1]), Some(heddle_ir::Constant::Poison(_)))
        };
        let phi = pick(random, &phis.iter().copied().filter(keeps).collect::<Vec<_>>())?;
        let kept = func.inst(phi).args[1];
        Some(set(func, phi, edge, kept))
    }),
    ("many exits: numbers mixed up", |func, parts, random| {
        let test = func.block_insts(parts.dispatch).find(|&inst| func.inst(inst).op == Op::Icmp)?;
        let taken = func.def_inst(func.inst(test).args[0])?;
        let tracker = match func.layout.block_of(taken) == Some(parts.dispatch) {
            true => func.def_inst(get(func, taken, parts.new_header)?)?,
            false => taken,
        };
        let update = func.def_inst(get(func, tracker, parts.latch)?)?;
        let edge = pick(random, &parts.edges)?;
        let other = func.make_int(heddle_ir::Scalar::I32, i128::from(random.below(3) as u32));
        Some(set(func, update, edge, other))
    }),
    ("uniform exit: its mask not set", |func, parts, random| {
        let (join, _) = pick(random, &parts.joins)?;
        let yes = func.make_bool(true);
        let is_mask = |&phi: &Inst| func.inst(phi).args[0] == yes && func.inst(phi).shadow().is_none();
        let phi = pick(random, &func.phis(join).filter(is_mask).collect::<Vec<_>>())?;
        let source = func.inst(phi).incoming().next()?.0;
        let no = func.make_bool(false);
        Some(set(func, phi, source, no))
    }),
];

/// The φs of a J that lanes come to which have just left, and one of the edges by which they come.
fn just_left(func: &Function, parts: &Parts, random: &mut Random) -> Option<(Vec<Inst>, Block)> {
    let left = |&(join, _): &(Block, Block)| func.phis(join).any(|phi| func.inst(phi).incoming().len() > 2);
    let joins: Vec<_> = parts.joins.iter().copied().filter(left).collect();
    let (join, _) = pick(random, &joins)?;
    let phis: Vec<Inst> = func.phis(join).collect();
    let edges: Vec<Block> = func.inst(phis[0]).incoming().skip(2).map(|(source, _)| source).collect();
    Some((phis, pick(random, &edges)?))
}

/// Replaces a value after the loop: in the dispatch and in φs of the exits.
fn replace_outside(func: &mut Function, parts: &Parts, old: Value, new: Value) -> bool {
    let mut blocks = vec![parts.dispatch];
    blocks.extend(func.successors(parts.dispatch));
    let mut changed = false;
    for block in blocks {
        for phi in func.phis(block).collect::<Vec<_>>() {
            let count = func.inst(phi).incoming().len();
            for arg in &mut func.inst_mut(phi).args[..count] {
                changed |= *arg == old;
                *arg = if *arg == old { new } else { *arg };
            }
        }
    }
    changed
}

/// Plants a fault somewhere in the module.
fn plant(module: &mut Module, plant: Plant, random: &mut Random) -> bool {
    let places: Vec<(usize, Parts)> = (0..)
        .zip(&module.functions)
        .flat_map(|(index, func)| loops(func).into_iter().map(move |parts| (index, parts)))
        .collect();
    let Some((index, parts)) = pick(random, &places) else { return false };
    plant(&mut module.functions[index], &parts, random) == Some(true)
}

/// The module by the facts that keep most exits.
fn best(case: &GeneratedProgram) -> Option<Module> {
    let facts = facts(case).ok()?.pop()?.1;
    uniform(case, &facts).ok()
}

#[test]
fn every_planted_fault_is_caught() {
    let mut missed = Vec::new();
    for (name, fault) in FAULTS {
        let (mut planted, mut caught) = (0, 0);
        for seed in 0..SEEDS {
            let case = generate(seed, &GeneratorProfile::source());
            let Some(mut module) = best(&case) else { continue };
            let mut random = Random::new(seed);
            if !plant(&mut module, *fault, &mut random) {
                continue;
            }
            planted += 1;
            caught += u32::from(check(&case, &module).is_err());
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

/// Wrong facts make wrong programs: claims that the analysis must not make.
#[test]
fn wrong_facts_are_caught() {
    type Lie = fn(&mut LoopFacts, &LoopFacts);
    let lies: [(&str, Lie); 2] = [
        ("a divergent loop called uniform", |facts, _| facts.divergent_loops.clear()),
        ("varying exits called uniform", |facts, all| facts.uniform_exits = all.uniform_exits.clone()),
    ];
    for (name, lie) in lies {
        let mut caught = 0;
        for seed in 0..SEEDS {
            let case = generate(seed, &GeneratorProfile::source());
            let module = canonical(&case);
            let wrong = module.functions.iter().map(|func| {
                let mut facts = LoopFacts::pessimistic(func);
                lie(&mut facts, &LoopFacts::from_uniform_branches(func, |_, _| true));
                facts
            });
            let module = uniform(&case, &wrong.collect::<Vec<_>>());
            caught += u32::from(module.and_then(|module| check(&case, &module)).is_err());
            if caught == CAUGHT {
                break;
            }
        }
        assert_eq!(caught, CAUGHT, "{name}");
    }
}

#[test]
fn generated_programs_cover_the_forms_of_loops() {
    let (mut any, mut nested, mut several, mut retained, mut crossed) = (0, 0, 0, 0, 0);
    let total = 400;
    for seed in 0..total {
        let case = generate(seed, &GeneratorProfile::source());
        let Some(module) = best(&case) else { continue };
        let found: Vec<(&Function, Parts)> = module
            .functions
            .iter()
            .flat_map(|func| loops(func).into_iter().map(move |parts| (func, parts)))
            .collect();
        let count = |holds: &dyn Fn(&Function, &Parts) -> bool| {
            u32::from(found.iter().any(|(func, parts)| holds(func, parts)))
        };
        any += count(&|_, _| true);
        several += count(&|func, parts| func.successors(parts.dispatch).len() == 2);
        retained += count(&|_, parts| !parts.joins.is_empty());
        crossed += count(&|func, parts| {
            let is_poison = |inst: Inst| {
                let last = func.inst(inst).args.last().copied();
                last.is_some_and(|value| matches!(func.constant(value), Some(heddle_ir::Constant::Poison(_))))
            };
            parts.joins.iter().any(|&(join, _)| func.phis(join).any(is_poison))
        });
        // An inner loop's NewH is reached from an outer one's H.
        nested += count(&|func, parts| {
            let inside =
                |other: &Parts| other.header == parts.header || leads_to(func, parts, other.new_header);
            found
                .iter()
                .any(|(of, other)| of.name == func.name && other.latch != parts.latch && inside(other))
        });
    }
    let shares =
        [("loops", any), ("nested", nested), ("exits", several), ("mixed", retained), ("crossed", crossed)];
    println!("{shares:?}");
    assert!(any * 2 > total as u32, "{shares:?}");
    assert!([nested, several].iter().all(|&count| count * 10 > total as u32), "{shares:?}");
    assert!(retained * 20 > total as u32 && crossed * 40 > total as u32, "{shares:?}");
}

/// True if a block lies in a loop: between its header and its latch.
fn leads_to(func: &Function, parts: &Parts, block: Block) -> bool {
    let mut seen = std::collections::BTreeSet::from([parts.header, parts.latch]);
    let mut work = vec![parts.header];
    while let Some(here) = work.pop() {
        if here == block {
            return true;
        }
        work.extend(func.successors(here).iter().copied().filter(|&next| seen.insert(next)));
    }
    false
}

#[test]
fn a_loop_that_lanes_leave_from_a_divergent_inner_one_is_divergent() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/transform/loops-two-levels.hed");
    let text = std::fs::read_to_string(path).expect("the file test is there");
    let mut module = heddle_ir::parse_module(&text).expect("it parses");
    let func = &mut module.functions[0];
    let mut facts = LoopFacts::pessimistic(func);
    assert_eq!(facts.divergent_loops.iter().collect::<Vec<_>>(), [1, 2].map(Block::from_u32));
    facts.divergent_loops.remove(Block::from_u32(1));
    make_loops_uniform(func, &facts).expect("nothing passive lives out");
    assert_eq!(loops(func).len(), 2);
}

/// Poison from waiting lanes is harmless: uniform values stay uniform, except the contents of private objects, and
/// values after loops whose exits are distinguished by masks.
#[test]
fn uniform_values_stay_uniform() {
    let (mut uniform, mut lost, mut lost_loops) = (0, 0, 0);
    for seed in 0..600 {
        let case = generate(seed, &GeneratorProfile { privates: 0, ..GeneratorProfile::source() });
        for func in &mut canonical(&case).functions {
            let Some((_, before)) = divergence::analyze_divergence(func) else { continue };
            let values: Vec<Value> = func
                .blocks()
                .flat_map(|block| func.block_insts(block))
                .filter_map(|inst| func.result(inst))
                .filter(|&value| before.fact(value).is_uniform())
                .collect();
            divergence::uniform_loops(func).expect("nothing passive lives out");
            let Some((control, after)) = divergence::analyze_divergence(func) else { continue };
            lost_loops += control.cycles.cycles().filter(|&cycle| after.is_divergent_loop(cycle)).count();
            uniform += values.len();
            lost += values.iter().filter(|&&value| !after.fact(value).is_uniform()).count();
        }
    }
    println!("{lost} of {uniform} values");
    assert!(lost_loops == 0 && uniform > 10_000 && lost * 100 < uniform, "{lost} of {uniform} values");
}

#[test]
fn nothing_but_header_phis_moves() {
    for seed in 0..200 {
        let case = generate(seed, &GeneratorProfile::source());
        let before = canonical(&case);
        let facts: Vec<LoopFacts> = before.functions.iter().map(LoopFacts::pessimistic).collect();
        let after = uniform(&case, &facts).expect("no generated program is refused");
        for (before, after) in before.functions.iter().zip(&after.functions) {
            for block in before.blocks() {
                let stays = |inst: &Inst| !matches!(before.inst(*inst).op, Op::Phi | Op::Br);
                let insts = before.block_insts(block).filter(stays);
                let mut here = after.block_insts(block);
                for inst in insts {
                    assert!(here.any(|other| other == inst), "seed {seed}: {inst} left {block}");
                }
            }
            let is_new = |inst: &Inst| before.layout.block_of(*inst).is_none();
            for inst in after.blocks().flat_map(|block| after.block_insts(block)).filter(is_new) {
                let data = after.inst(inst);
                let is_control = matches!(data.detail, Detail::Phi(_) | Detail::Branch(..))
                    || matches!(data.op, Op::Any | Op::All | Op::Icmp);
                assert!(is_control, "seed {seed}: {inst} is new");
            }
        }
        // The pass is deterministic.
        let again = uniform(&case, &facts).expect("no generated program is refused");
        assert_eq!(after.to_string(), again.to_string(), "seed {seed}");
    }
}
