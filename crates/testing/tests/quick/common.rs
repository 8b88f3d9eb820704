//! Helpers shared by the tests of passes: random functions, a small sequential evaluator, a check of stage Canonical.

use heddle_analysis::{Cfg, DominatorTree};
use heddle_ir::inst::{Detail, InstData, SwitchDetail};
use heddle_ir::module::Signature;
use heddle_ir::words::{Flag, Flags, IntPredicate, Reduction};
use heddle_ir::{
    Block, Builder, Constant, Function, InsertPoint, Inst, Op, Scalar, Space, Stage, Type, Value, verify,
};
use std::collections::{BTreeSet, HashMap};

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

const COMPARISONS: [IntPredicate; 6] = [
    IntPredicate::Eq,
    IntPredicate::Ne,
    IntPredicate::Ult,
    IntPredicate::Ugt,
    IntPredicate::Slt,
    IntPredicate::Sge,
];

/// A random function `(ptr(global), i32, i32, i1) -> i32` of stage Source whose stores and branches show what it
/// computes. Any graph, with φs, with values that cross loops, with parallel edges; some blocks may be unreachable.
pub(crate) fn random_function(seed: u64, max_blocks: usize) -> Function {
    generate(seed, max_blocks, false)
}

/// As above for many lanes, with horizontals; each lane combines its stores into its own four bytes.
pub(crate) fn random_lock_step_function(seed: u64, max_blocks: usize) -> Function {
    generate(seed, max_blocks, true)
}

/// Shows a value: stores it, or mixes it into the lane's own memory. Gives a number that hardly ever repeats.
fn show(func: &mut Function, block: Block, value: Value, own: Option<Value>) -> Option<Value> {
    let address = func.params()[0];
    let mut builder = Builder::new(func, InsertPoint::End(block));
    let Some(own) = own else {
        builder.store(value, address, 4);
        return None;
    };
    let old = builder.load(Type::I32, own, 4);
    let factor = builder.int(Scalar::I32, 31);
    let mixed = builder.op(Op::Mul, &[old, factor]);
    // A number of the block shows how often which block ran.
    let number = builder.int(Scalar::I32, i128::from(block.as_u32()) * 1000);
    let value = builder.op(Op::Freeze, &[value]);
    let value = builder.op(Op::Add, &[value, number]);
    let mixed = builder.op(Op::Add, &[mixed, value]);
    builder.store(mixed, own, 4);
    let shift = builder.int(Scalar::I32, 5);
    let far = builder.op(Op::Lshr, &[mixed, shift]);
    Some(builder.op(Op::Xor, &[mixed, far]))
}

fn generate(seed: u64, max_blocks: usize, lock_step: bool) -> Function {
    let mut random = Random(seed);
    let params = [Type::ptr(Space::Global), Type::I32, Type::I32, Type::I1];
    let mut func = Function::new("f", Signature::new(&params, &[Type::I32]));
    let count = 2 + random.below(max_blocks - 1);
    let blocks: Vec<Block> = (0..count).map(|_| func.append_block()).collect();
    let is_local = random.chance(60);
    let mut targets: Vec<Vec<Block>> = Vec::new();
    for index in 0..count {
        let target = |random: &mut Random| {
            let low = 1;
            if lock_step && random.chance(15) {
                blocks[count - 1]
            } else if is_local && random.chance(75) {
                let near = (index + random.below(5)).saturating_sub(1);
                blocks[near.clamp(low, count - 1)]
            } else {
                blocks[low + random.below(count - low)]
            }
        };
        let outgoing = match random.below(100) {
            0..12 => 0,
            12..35 => 1,
            35..85 => 2,
            _ => 2 + random.below(4),
        };
        // The entry must have a successor, and many lanes must all terminate.
        let outgoing = match index {
            0 => outgoing.max(1),
            _ if lock_step && index == count - 1 => 0,
            _ => outgoing,
        };
        targets.push((0..outgoing).map(|_| target(&mut random)).collect());
    }
    let edges = targets.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |&to| (from, to)));
    let edges: Vec<(Block, Block)> = edges.map(|(from, to)| (blocks[from], to)).collect();
    let cfg = Cfg::from_edges(count, blocks[0], edges);
    let dominators = DominatorTree::new(&cfg);

    let constants: Vec<Value> =
        [0, 1, 2, 3, -1, 7, 31, 32].iter().map(|&value| func.make_int(Scalar::I32, value)).collect();
    let bools = [func.make_bool(false), func.make_bool(true)];
    let mut defined: HashMap<Block, Vec<Value>> = HashMap::new();
    let params = func.params().to_vec();
    // φs first, empty: they are values for everybody.
    let mut phis: Vec<(Block, Inst)> = Vec::new();
    for &block in &blocks {
        let mut own = Vec::new();
        if cfg.is_reachable(block) && block != blocks[0] {
            for _ in 0..random.below(4) {
                let ty = if random.chance(75) { Type::I32 } else { Type::I1 };
                let phi = func.make_inst(InstData::phi([], None), &[ty]);
                func.layout.append_inst(phi, block);
                own.push(func.results(phi)[0]);
                phis.push((block, phi));
            }
        }
        defined.insert(block, own);
    }
    // Blocks are filled dominators first; what dominates a block is complete then.
    let mut order = dominators.pre_order().to_vec();
    order.extend(blocks.iter().copied().filter(|&block| !cfg.is_reachable(block)));
    let available = |func: &Function,
                     random: &mut Random,
                     defined: &HashMap<Block, Vec<Value>>,
                     block: Block,
                     ty: Type| {
        let mut pool: Vec<Value> = Vec::new();
        let mut above = Some(block);
        while let Some(here) = above {
            pool.extend(defined[&here].iter().copied().filter(|&value| func.value_type(value) == ty));
            above = dominators.idom(here);
        }
        pool.extend(params.iter().copied().filter(|&value| func.value_type(value) == ty));
        if random.chance(25) || pool.is_empty() {
            return random.pick(if ty == Type::I1 { &bools } else { &constants });
        }
        random.pick(&pool)
    };
    // Loop-variant numbers: loops whose branches test them terminate.
    let mut changing: HashMap<Block, Value> = HashMap::new();
    let own = lock_step.then(|| {
        let mut builder = Builder::new(&mut func, InsertPoint::End(blocks[0]));
        let lane = builder.value(InstData::new(Op::Lane, [], Detail::Dimension(None)), Some(Type::I32));
        let four = builder.int(Scalar::I32, 4);
        let offset = builder.op(Op::Mul, &[lane, four]);
        let own = builder.op(Op::PtrAdd, &[params[0], offset]);
        defined.entry(blocks[0]).or_default().push(lane);
        own
    });
    for &block in &order {
        for _ in 0..random.below(5) {
            let value =
                |func: &Function, random: &mut Random, ty| available(func, random, &defined, block, ty);
            let a = value(&func, &mut random, Type::I32);
            let b = value(&func, &mut random, Type::I32);
            let c = value(&func, &mut random, Type::I1);
            let d = value(&func, &mut random, Type::I1);
            let mut builder = Builder::new(&mut func, InsertPoint::End(block));
            let kinds = if lock_step { 26 } else { 20 };
            let new = match random.below(kinds) {
                20 => Some(builder.op(random.pick(&[Op::Any, Op::All]), &[c])),
                21 => Some(builder.op(Op::Mask, &[])),
                22 => Some(builder.op_to(random.pick(&[Op::Ballot, Op::Popcount]), Type::I32, &[c])),
                23 => Some(builder.op(Op::First, &[a])),
                24 | 25 => {
                    Some(builder.value(InstData::new(Op::Reduce, [a], Detail::Reduce(Reduction::Add)), None))
                }
                0..8 => {
                    let ops = [Op::Add, Op::Sub, Op::Xor, Op::And, Op::Or, Op::Mul, Op::Umin, Op::Smax];
                    let op = random.pick(&ops);
                    let mut flags = Flags::NONE;
                    if matches!(op, Op::Add | Op::Sub | Op::Mul) && !lock_step && random.chance(15) {
                        flags = flags.with(if random.chance(50) { Flag::Nuw } else { Flag::Nsw });
                    }
                    Some(builder.op_with(op, &[a, b], flags))
                }
                8 if !lock_step => Some(builder.op(random.pick(&[Op::Shl, Op::Lshr, Op::Ashr]), &[a, b])),
                9..13 => Some(builder.icmp(random.pick(&COMPARISONS), a, b)),
                13 | 14 => Some(builder.select(c, a, b)),
                15 => Some(builder.op(random.pick(&[Op::And, Op::Or, Op::Xor]), &[c, d])),
                16 => Some(builder.op_to(random.pick(&[Op::Zext, Op::Sext]), Type::I32, &[c])),
                17 => Some(builder.op(Op::Freeze, &[a])),
                18 => Some(builder.op_to(Op::Trunc, Type::I1, &[a])),
                _ => {
                    if cfg.is_reachable(block) {
                        show(&mut func, block, a, own);
                    }
                    None
                }
            };
            defined.entry(block).or_default().extend(new);
        }
        let shown = available(&func, &mut random, &defined, block, Type::I32);
        // Where the own address is not defined, nothing runs.
        if cfg.is_reachable(block)
            && let Some(number) = show(&mut func, block, shown, own)
        {
            changing.insert(block, number);
        }
    }
    for &block in &order {
        let condition = available(&func, &mut random, &defined, block, Type::I1);
        let number = available(&func, &mut random, &defined, block, Type::I32);
        let to = &targets[heddle_ir::entity::Entity::index(block)];
        let mut builder = Builder::new(&mut func, InsertPoint::End(block));
        let (mut condition, mut number) = (condition, number);
        if let Some(&changing) = changing.get(&block) {
            number = builder.op(Op::Freeze, &[number]);
            condition = builder.op(Op::Freeze, &[condition]);
            if random.chance(70) {
                condition = builder.op_to(Op::Trunc, Type::I1, &[changing]);
                number = changing;
            }
        }
        match to[..] {
            [] if random.chance(if lock_step { 1 } else { 10 }) => {
                builder.inst(InstData::plain(Op::Unreachable, []), None);
            }
            [] => {
                builder.ret(&[number]);
            }
            [target] => {
                builder.jump(target);
            }
            [then, otherwise] if random.chance(90) => {
                builder.branch(condition, then, otherwise);
            }
            _ => {
                let switch = SwitchDetail { cases: (0..to.len() as u128 - 1).collect(), targets: to.clone() };
                // A small number makes the cases likely.
                let three = builder.int(Scalar::I32, 3);
                let number = builder.op(Op::And, &[number, three]);
                builder.inst(InstData::new(Op::Switch, [number], Detail::Switch(Box::new(switch))), None);
            }
        }
    }
    for (block, phi) in phis {
        let preds: BTreeSet<Block> = edges_into(&func, block);
        let ty = func.value_type(func.results(phi)[0]);
        let incoming: Vec<(Block, Value)> =
            preds.into_iter().map(|pred| (pred, available(&func, &mut random, &defined, pred, ty))).collect();
        *func.inst_mut(phi) = InstData::phi(incoming, None);
    }
    func
}

fn edges_into(func: &Function, block: Block) -> BTreeSet<Block> {
    func.blocks().filter(|&pred| func.successors(pred).contains(&block)).collect()
}

/// Observable event of a run. `None` is poison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Block(Block),
    Store(Option<u128>),
    Return(Vec<Option<u128>>),
}

/// Termination of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Returned,
    Undefined,
    Limit,
}

/// Runs one lane. Blocks numbered `num_old` and above do not show.
pub(crate) fn run(
    func: &Function,
    args: &[u128],
    num_old: usize,
    limit: usize,
    max_events: usize,
) -> (Vec<Event>, End) {
    let mut values: HashMap<Value, Option<u128>> = HashMap::new();
    for (&param, &arg) in func.params().iter().zip(args) {
        values.insert(param, Some(arg & func.value_type(param).scalar().bit_mask()));
    }
    let mut events = Vec::new();
    let mut from: Option<Block> = None;
    let mut block = func.entry();
    for _ in 0..limit {
        if events.len() > max_events {
            break;
        }
        if (block.as_u32() as usize) < num_old {
            events.push(Event::Block(block));
        }
        let read = |values: &HashMap<Value, Option<u128>>, value: Value| match func.constant(value) {
            Some(Constant::Scalar(_, bits)) => Some(*bits),
            Some(_) => None,
            None => *values
                .get(&value)
                .unwrap_or_else(|| panic!("{value} is read before its definition\n{func:?}")),
        };
        let joined: Vec<(Value, Option<u128>)> = func
            .phis(block)
            .map(|phi| {
                let data = func.inst(phi);
                let (_, value) = data.incoming().find(|&(pred, _)| Some(pred) == from).unwrap_or_else(|| {
                    panic!("a φ of {block} has no value from {from:?}");
                });
                (func.results(phi)[0], read(&values, value))
            })
            .collect();
        values.extend(joined);
        let mut next = None;
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            let args: Vec<Option<u128>> = match data.op {
                Op::Phi => continue,
                _ => data.args.iter().map(|&arg| read(&values, arg)).collect(),
            };
            match data.op {
                Op::Br => {
                    next = Some(match args[..] {
                        [] => data.targets()[0],
                        [Some(condition)] => data.targets()[usize::from(condition == 0)],
                        _ => return (events, End::Undefined),
                    });
                }
                Op::Switch => {
                    let Detail::Switch(switch) = &data.detail else { unreachable!() };
                    let Some(number) = args[0] else { return (events, End::Undefined) };
                    let case = switch.cases.iter().position(|&case| case == number);
                    next = Some(switch.targets[case.map_or(0, |case| case + 1)]);
                }
                Op::Ret => {
                    let end = if args.contains(&None) { End::Undefined } else { End::Returned };
                    events.push(Event::Return(args));
                    return (events, end);
                }
                Op::Unreachable => return (events, End::Undefined),
                Op::Store => events.push(Event::Store(args[0])),
                _ => {
                    let result = func.results(inst)[0];
                    let from = data.args.first().map(|&arg| func.value_type(arg).scalar());
                    let to = func.value_type(result).scalar();
                    match evaluate(data, from.unwrap_or(to), to, &args) {
                        Ok(value) => values.insert(result, value),
                        Err(()) => return (events, End::Undefined),
                    };
                }
            }
        }
        (from, block) = (Some(block), next.expect("a block ends in a terminator"));
    }
    (events, End::Limit)
}

fn signed(value: u128, scalar: Scalar) -> i128 {
    let shift = 128 - scalar.bits();
    ((value << shift) as i128) >> shift
}

fn compare(predicate: IntPredicate, scalar: Scalar, a: u128, b: u128) -> bool {
    let (x, y) = (signed(a, scalar), signed(b, scalar));
    match predicate {
        IntPredicate::Eq => a == b,
        IntPredicate::Ne => a != b,
        IntPredicate::Ult => a < b,
        IntPredicate::Ule => a <= b,
        IntPredicate::Ugt => a > b,
        IntPredicate::Uge => a >= b,
        IntPredicate::Slt => x < y,
        IntPredicate::Sle => x <= y,
        IntPredicate::Sgt => x > y,
        IntPredicate::Sge => x >= y,
    }
}

/// One instruction, at up to 32 bits; `Err` is undefined behaviour.
fn evaluate(data: &InstData, from: Scalar, to: Scalar, args: &[Option<u128>]) -> Result<Option<u128>, ()> {
    match data.op {
        // Poison freezes to any value: nothing to compare.
        Op::Freeze => return args[0].map(Some).ok_or(()),
        Op::Select => {
            return Ok(match args[0] {
                None => None,
                Some(0) => args[2],
                Some(_) => args[1],
            });
        }
        _ => {}
    }
    let Some(args) = args.iter().copied().collect::<Option<Vec<u128>>>() else { return Ok(None) };
    let s = |index: usize| signed(args[index], from);
    let fits = |exact: i128, bits: u128| {
        let nsw = data.flags.has(Flag::Nsw) && signed(bits, to) != exact;
        !nsw
    };
    let bits = match data.op {
        Op::Add | Op::Sub | Op::Mul => {
            let (unsigned, exact) = match data.op {
                Op::Add => (args[0] as i128 + args[1] as i128, s(0) + s(1)),
                Op::Sub => (args[0] as i128 - args[1] as i128, s(0) - s(1)),
                _ => (args[0] as i128 * args[1] as i128, s(0) * s(1)),
            };
            let bits = unsigned as u128 & to.bit_mask();
            if !fits(exact, bits) || data.flags.has(Flag::Nuw) && unsigned != bits as i128 {
                return Ok(None);
            }
            bits
        }
        Op::Xor => args[0] ^ args[1],
        Op::And => args[0] & args[1],
        Op::Or => args[0] | args[1],
        Op::Umin => args[0].min(args[1]),
        Op::Smax => s(0).max(s(1)) as u128,
        Op::Shl | Op::Lshr | Op::Ashr if args[1] >= from.bits().into() => return Ok(None),
        Op::Shl => args[0] << args[1],
        Op::Lshr => args[0] >> args[1],
        Op::Ashr => (s(0) >> args[1]) as u128,
        Op::Zext | Op::Trunc => args[0],
        Op::Sext => s(0) as u128,
        Op::Icmp => {
            let Detail::IntCompare(predicate) = data.detail else { unreachable!() };
            compare(predicate, from, args[0], args[1]).into()
        }
        other => panic!("the evaluator does not know {other}"),
    };
    Ok(Some(bits & to.bit_mask()))
}

/// Checks that `after` shows the events of `before` where they are defined.
pub(crate) fn refines(before: &Function, after: &Function, seed: u64) -> Result<End, String> {
    let mut random = Random(seed ^ 0xABCD);
    let num_old = before.block_count();
    let args: Vec<u128> = (0..4).map(|_| u128::from(random.next() % 40)).collect();
    let (expected, end) = run(before, &args, num_old, 200, usize::MAX);
    let (found, _) = run(after, &args, num_old, 200 * 40 + 1000, expected.len());
    for (index, expected) in expected.iter().enumerate() {
        let agrees = match (expected, found.get(index)) {
            (Event::Block(a), Some(Event::Block(b))) => a == b,
            (Event::Store(None), Some(Event::Store(_))) => true,
            (Event::Store(a), Some(Event::Store(b))) => a == b,
            (Event::Return(a), Some(Event::Return(b))) => a.iter().zip(b).all(|(a, b)| a.is_none() || a == b),
            _ => false,
        };
        if !agrees {
            return Err(format!("event {index} for {args:?}: {expected:?} became {:?}", found.get(index)));
        }
    }
    if end == End::Returned && found.len() != expected.len() {
        return Err(format!("for {args:?} more happens than should: {:?}", &found[expected.len()..]));
    }
    Ok(end)
}

/// Returns the reasons why a function is not of a stage.
pub(crate) fn faults(func: &Function, stage: Stage) -> Vec<String> {
    verify(func, stage).err().map_or(Vec::new(), |faults| faults.iter().map(ToString::to_string).collect())
}
