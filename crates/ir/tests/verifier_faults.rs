//! Planted faults: a valid function is mutated at random, and the verifier must agree with a slow reference that
//! follows the definitions: paths instead of trees, sets instead of intervals.

use heddle_ir::function::{Callee, Origin};
use heddle_ir::inst::{Access, LaunchDetail, SwitchDetail};
use heddle_ir::module::Signature;
use heddle_ir::verify::verify;
use heddle_ir::words::{AtomicOrdering, Flag, Flags, IntPredicate, Reduction, Rmw, SyncScope};
use heddle_ir::{
    Block, Builder, Constant, Detail, Function, InsertPoint, Inst, InstData, Op, Scalar, Space, Stage, Type,
    Value, ValueDef, parse_module,
};
use std::collections::BTreeSet;

/// A small deterministic stream of numbers.
struct Stream(u64);

impl Stream {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Writes a random function in canonical form.
struct Writer<'f, 's> {
    b: Builder<'f>,
    here: Block,
    stream: &'s mut Stream,
}

impl Writer<'_, '_> {
    fn start(&mut self, block: Block) {
        self.here = block;
        self.b.set_insert_point(InsertPoint::End(block));
    }

    fn condition(&mut self, scope: &[Value]) -> Value {
        let (a, b) = (self.stream.pick(scope), self.stream.pick(scope));
        self.b.icmp(IntPredicate::Ult, a, b)
    }

    fn statements(&mut self, depth: usize, scope: &mut Vec<Value>) {
        for _ in 0..1 + self.stream.below(3) {
            match self.stream.below(if depth == 0 { 1 } else { 4 }) {
                0 => {
                    let (a, b) = (self.stream.pick(scope), self.stream.pick(scope));
                    scope.push(self.b.op(Op::Add, &[a, b]));
                }
                1 => self.branches(depth - 1, scope),
                _ => self.repeats(depth - 1, scope),
            }
        }
    }

    fn branches(&mut self, depth: usize, scope: &mut Vec<Value>) {
        let condition = self.condition(scope);
        let from = self.here;
        let (then, join) = (self.b.func.append_block(), self.b.func.append_block());
        self.b.branch(condition, then, join);
        self.start(then);
        let mut inner = scope.clone();
        self.statements(depth, &mut inner);
        self.b.jump(join);
        let end = self.here;
        self.start(join);
        let (a, b) = (self.stream.pick(scope), self.stream.pick(&inner));
        scope.push(self.b.phi(Type::I32, &[(from, a), (end, b)], None));
    }

    fn repeats(&mut self, depth: usize, scope: &mut Vec<Value>) {
        let before = self.here;
        let new = |w: &mut Self| w.b.func.append_block();
        let (header, exit) = (new(self), new(self));
        self.b.jump(header);
        self.start(header);
        let first = self.stream.pick(scope);
        let counter = self.b.phi(Type::I32, &[(before, first)], None);
        let mut inner = scope.clone();
        inner.push(counter);
        let mut leaves = None;
        if self.stream.below(2) == 0 {
            let condition = self.condition(&inner);
            let (early, body) = (new(self), new(self));
            self.b.branch(condition, early, body);
            leaves = Some((early, self.here, self.stream.pick(&inner)));
            self.start(body);
        }
        self.statements(depth, &mut inner);
        let condition = self.condition(&inner);
        self.b.branch(condition, header, exit);
        let latch = self.here;
        let again = self.stream.pick(&inner);
        let phi = self.b.func.def_inst(counter).unwrap();
        *self.b.func.inst_mut(phi) = InstData::phi([(before, first), (latch, again)], None);
        self.start(exit);
        let out = self.stream.pick(&inner);
        let out = self.b.phi(Type::I32, &[(latch, out)], None);
        scope.push(out);
        if let Some((early, from, value)) = leaves {
            let behind = new(self);
            self.b.jump(behind);
            self.start(early);
            let value = self.b.phi(Type::I32, &[(from, value)], None);
            self.b.jump(behind);
            self.start(behind);
            scope.pop();
            scope.push(self.b.phi(Type::I32, &[(exit, out), (early, value)], None));
        }
    }
}

fn random_function(stream: &mut Stream) -> Function {
    let mut func = Function::new("f", Signature::new(&[Type::I32, Type::I32], &[Type::I32]));
    let entry = func.append_block();
    let mut scope = func.params().to_vec();
    scope.push(func.make_int(Scalar::I32, 1));
    let mut writer = Writer { b: Builder::new(&mut func, InsertPoint::End(entry)), here: entry, stream };
    writer.statements(2, &mut scope);
    let value = writer.stream.pick(&scope);
    writer.b.ret(&[value]);
    func
}

/// Reference verifier: sets and paths of a function.
struct Reference<'f> {
    func: &'f Function,
    blocks: Vec<Block>,
}

impl Reference<'_> {
    fn succs(&self, block: Block) -> BTreeSet<Block> {
        self.func.successors(block).iter().copied().collect()
    }

    fn preds(&self, block: Block) -> BTreeSet<Block> {
        self.blocks.iter().copied().filter(|&from| self.succs(from).contains(&block)).collect()
    }

    fn reach(&self, from: Block, without: Option<Block>) -> BTreeSet<Block> {
        let mut seen = BTreeSet::new();
        let mut work = if Some(from) == without { vec![] } else { vec![from] };
        while let Some(block) = work.pop() {
            if seen.insert(block) {
                work.extend(self.succs(block).into_iter().filter(|&next| Some(next) != without));
            }
        }
        seen
    }

    fn entry(&self) -> Block {
        self.blocks[0]
    }

    fn is_reachable(&self, block: Block) -> bool {
        self.reach(self.entry(), None).contains(&block)
    }

    fn dominates(&self, above: Block, below: Block) -> bool {
        self.is_reachable(below)
            && (above == below || !self.reach(self.entry(), Some(above)).contains(&below))
    }

    /// True if a value is defined before this instruction of the block; at its end for `None`.
    fn is_defined_at(&self, value: Value, block: Block, before: Option<Inst>) -> bool {
        let Some(def) = self.func.def_inst(value) else { return true };
        let def_block = self.func.layout.block_of(def).unwrap();
        match before {
            Some(user) if def_block == block => {
                let place = |inst| self.func.block_insts(block).position(|other| other == inst);
                place(def) < place(user)
            }
            _ => self.dominates(def_block, block),
        }
    }

    fn is_known(&self, value: Value) -> bool {
        match self.func.value_def(value) {
            ValueDef::None => false,
            ValueDef::Result(inst, _) => self.func.layout.block_of(inst).is_some(),
            ValueDef::Param(_) | ValueDef::Const => true,
        }
    }

    /// Typing of the few ops in these functions.
    fn is_well_typed(&self, inst: Inst) -> bool {
        let data = self.func.inst(inst);
        let args: Vec<Type> = data.args.iter().map(|&arg| self.func.value_type(arg)).collect();
        let results: Vec<Type> =
            self.func.results(inst).iter().map(|&value| self.func.value_type(value)).collect();
        let int = |ty: Type| [Type::I1, Type::I32].contains(&ty);
        let (flags, holds) = match (data.op, &data.detail) {
            (Op::Add, Detail::None) => (
                vec![Flag::Nuw, Flag::Nsw, Flag::Total],
                matches!(args[..], [a, b] if a == b && int(a)) && results == args[..1],
            ),
            (Op::Xor, Detail::None) => {
                (vec![Flag::Total], matches!(args[..], [a, b] if a == b && int(a)) && results == args[..1])
            }
            (Op::Mask, Detail::None) => (vec![], args.is_empty() && results == [Type::I1]),
            (Op::Icmp, Detail::IntCompare(_)) => {
                (vec![Flag::Total], matches!(args[..], [a, b] if a == b && int(a)) && results == [Type::I1])
            }
            (Op::Phi, Detail::Phi(blocks)) => (
                vec![],
                results.len() == 1
                    && args.iter().all(|&arg| arg == results[0])
                    && [blocks.len(), blocks.len() + 1].contains(&args.len()),
            ),
            (Op::Br, Detail::Branch(targets, None)) => (
                vec![],
                results.is_empty()
                    && match targets.len() {
                        1 => args.is_empty(),
                        2 => args == [Type::I1],
                        _ => false,
                    },
            ),
            (Op::Ret, Detail::None) => (vec![], args == [Type::I32] && results.is_empty()),
            (Op::Unreachable, Detail::None) => (vec![], args.is_empty() && results.is_empty()),
            _ => (vec![], false),
        };
        holds && data.flags.iter().all(|flag| flags.contains(&flag))
    }

    fn accepts(&self, stage: Stage) -> bool {
        self.hangs_together() && self.is_ssa() && (stage == Stage::Source || self.keeps(stage))
    }

    fn hangs_together(&self) -> bool {
        let placed: BTreeSet<Block> = self.blocks.iter().copied().collect();
        self.blocks.iter().all(|&block| {
            let insts: Vec<Inst> = self.func.block_insts(block).collect();
            let ops: Vec<Op> = insts.iter().map(|&inst| self.func.inst(inst).op).collect();
            let phis = ops.iter().take_while(|&&op| op == Op::Phi).count();
            let terminators = ops.iter().filter(|op| op.is_terminator()).count();
            let preds = self.preds(block);
            terminators == 1
                && ops.last().unwrap().is_terminator()
                && !ops[phis..].contains(&Op::Phi)
                && self.succs(block).is_subset(&placed)
                && (block != self.entry() || preds.is_empty() && phis == 0)
                && insts.iter().all(|&inst| {
                    let data = self.func.inst(inst);
                    data.args.iter().all(|&arg| self.is_known(arg)) && self.is_well_typed(inst)
                })
                && insts[..phis].iter().all(|&phi| {
                    let mut named: Vec<Block> =
                        self.func.inst(phi).incoming().map(|(from, _)| from).collect();
                    named.sort();
                    named == preds.iter().copied().collect::<Vec<_>>()
                })
                && self
                    .func
                    .predicate(block)
                    .is_none_or(|value| self.is_known(value) && self.func.value_type(value) == Type::I1)
        })
    }

    fn is_ssa(&self) -> bool {
        self.blocks.iter().all(|&block| {
            let of_block = self.func.block_insts(block).all(|inst| {
                let data = self.func.inst(inst);
                let first = self.func.layout.first_inst(block);
                match data.op {
                    Op::Phi => {
                        data.incoming().all(|(from, value)| {
                            !self.is_reachable(from) || self.is_defined_at(value, from, None)
                        }) && (!self.is_reachable(block)
                            || data.shadow().is_none_or(|value| self.is_defined_at(value, block, first)))
                    }
                    _ => {
                        !self.is_reachable(block)
                            || data.args.iter().all(|&arg| self.is_defined_at(arg, block, Some(inst)))
                    }
                }
            });
            let of_predicate = self.func.predicate(block).is_none_or(|value| {
                let Some(def) = self.func.def_inst(value) else { return true };
                if self.func.layout.block_of(def) != Some(block) {
                    return !self.is_reachable(block) || self.is_defined_at(value, block, None);
                }
                let until: Vec<Inst> = self.func.block_insts(block).take_while(|&inst| inst != def).collect();
                until.into_iter().chain([def]).all(|inst| {
                    let data = self.func.inst(inst);
                    data.op == Op::Phi || data.flags.has(Flag::Total)
                })
            });
            of_block && of_predicate
        })
    }

    /// The blocks of the natural loop of a header.
    fn natural_loop(&self, header: Block) -> BTreeSet<Block> {
        let latches: Vec<Block> =
            self.preds(header).into_iter().filter(|&latch| self.dominates(header, latch)).collect();
        let reaches_latch = |block: Block| {
            let reached = self.reach(block, Some(header));
            latches.iter().any(|latch| reached.contains(latch))
        };
        let inside = self
            .blocks
            .iter()
            .copied()
            .filter(|&block| self.is_reachable(block) && (block == header || reaches_latch(block)));
        if latches.is_empty() { BTreeSet::new() } else { inside.collect() }
    }

    fn keeps(&self, stage: Stage) -> bool {
        let ops = |op: Op| {
            let last = self.blocks.iter().filter_map(|&block| self.func.terminator(block));
            last.filter(|&inst| self.func.inst(inst).op == op).count()
        };
        // Without back edges, a block must not reach itself.
        let goes_round = |start: Block| {
            let mut seen = BTreeSet::new();
            let mut work = vec![start];
            while let Some(block) = work.pop() {
                for next in self.succs(block).into_iter().filter(|&next| !self.dominates(next, block)) {
                    if next == start {
                        return true;
                    }
                    if seen.insert(next) {
                        work.push(next);
                    }
                }
            }
            false
        };
        let flows = self.blocks.iter().all(|&block| self.is_reachable(block) && !goes_round(block))
            && ops(Op::Ret) == 1
            && ops(Op::Switch) == 0;
        if stage == Stage::Linear || !flows {
            return flows;
        }
        let loops: Vec<(Block, BTreeSet<Block>)> =
            self.blocks.iter().map(|&header| (header, self.natural_loop(header))).collect();
        self.blocks.iter().all(|&block| self.func.predicate(block).is_none())
            && loops.iter().filter(|(_, inside)| !inside.is_empty()).all(|(header, inside)| {
                let (latches, entering): (Vec<Block>, Vec<Block>) =
                    self.preds(*header).into_iter().partition(|pred| inside.contains(pred));
                let exits: BTreeSet<Block> = inside
                    .iter()
                    .flat_map(|&block| self.succs(block))
                    .filter(|block| !inside.contains(block))
                    .collect();
                latches.len() == 1
                    && entering.len() == 1
                    && self.succs(entering[0]).len() == 1
                    && exits.iter().all(|&exit| self.preds(exit).is_subset(inside))
                    && (stage == Stage::Uniform || self.is_closed(inside))
            })
    }

    /// True if nothing defined inside is used outside.
    fn is_closed(&self, inside: &BTreeSet<Block>) -> bool {
        self.blocks.iter().all(|&block| {
            self.func.block_insts(block).all(|inst| {
                let data = self.func.inst(inst);
                let from = |index: usize| match &data.detail {
                    Detail::Phi(blocks) => blocks.get(index).copied().unwrap_or(block),
                    _ => block,
                };
                data.args.iter().enumerate().all(|(index, &arg)| {
                    let def_block = self.func.def_inst(arg).and_then(|def| self.func.layout.block_of(def));
                    !def_block.is_some_and(|def_block| inside.contains(&def_block))
                        || inside.contains(&from(index))
                })
            })
        })
    }
}

fn random_inst(func: &Function, stream: &mut Stream) -> Option<Inst> {
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    if insts.is_empty() { None } else { Some(stream.pick(&insts)) }
}

fn random_value(func: &Function, stream: &mut Stream) -> Value {
    Value::from_u32(stream.below(func.value_count() + 1) as u32)
}

fn random_block(func: &Function, stream: &mut Stream) -> Block {
    Block::from_u32(stream.below(func.block_count()) as u32)
}

/// One random change. Some have no effect on validity.
fn mutate(func: &mut Function, stream: &mut Stream) {
    let Some(inst) = random_inst(func, stream) else { return };
    let value = random_value(func, stream);
    let place = random_block(func, stream);
    match stream.below(16) {
        0..=2 => {
            let args = func.inst(inst).args.len();
            if args > 0 {
                func.inst_mut(inst).args[stream.below(args)] = value;
            }
        }
        3 => {
            let data = func.inst_mut(inst);
            if let Detail::Phi(blocks) = &mut data.detail
                && !blocks.is_empty()
            {
                let index = stream.below(blocks.len());
                blocks.remove(index);
                data.args.remove(index);
            }
        }
        4 | 5 => {
            let Some(other) = random_inst(func, stream).filter(|&other| other != inst) else { return };
            func.layout.remove_inst(inst);
            func.layout.insert_inst_before(inst, other);
        }
        6 | 7 => {
            let last = func.layout.block_of(inst).and_then(|block| func.terminator(block)).unwrap_or(inst);
            let targets = func.inst_mut(last).targets_mut();
            if !targets.is_empty() {
                let index = stream.below(targets.len());
                targets[index] = place;
            }
        }
        8 => {
            let flag = stream.pick(Flag::ALL);
            let data = func.inst_mut(inst);
            data.flags = data.flags.with(flag);
        }
        9 => {
            let data = func.inst_mut(inst);
            data.op = stream.pick(&[Op::Add, Op::Icmp, Op::Phi, Op::Br, Op::Ret, Op::Xor, Op::Unreachable]);
        }
        10 => {
            let data = func.inst_mut(inst);
            data.detail = match stream.below(3) {
                0 => Detail::None,
                1 => Detail::IntCompare(IntPredicate::Eq),
                _ => Detail::Phi([place].into()),
            };
        }
        11 => {
            if func.layout.is_placed(place) {
                func.remove_block(place);
            }
        }
        12 => {
            let data = func.inst_mut(inst);
            if let Detail::Phi(blocks) = &mut data.detail
                && !blocks.is_empty()
            {
                let index = stream.below(blocks.len());
                blocks[index] = place;
            } else {
                func.remove_inst(inst);
            }
        }
        13 => {
            if func.layout.is_placed(place) {
                func.set_predicate(place, Some(value));
            }
        }
        14 => {
            let data = func.inst_mut(inst);
            if data.op == Op::Phi {
                data.args.push(value);
            }
        }
        _ => {
            // Replaces the instruction by a copy with results of another type.
            let data = func.inst(inst).clone();
            let ty = stream.pick(&[Type::I1, Type::I32]);
            let types = if stream.below(3) == 0 { vec![] } else { vec![ty] };
            let new = func.make_inst(data, &types);
            func.layout.insert_inst_before(new, inst);
            func.layout.remove_inst(inst);
            let results = (func.results(inst).first().copied(), func.results(new).first().copied());
            if let (Some(old), Some(new)) = results
                && stream.below(2) == 0
            {
                func.map_values(|value| if value == old { new } else { value });
            }
        }
    }
}

#[test]
fn planted_faults_are_found_and_nothing_else() {
    let mut stream = Stream(11);
    let stages = [Stage::Source, Stage::Canonical, Stage::Uniform, Stage::Linear];
    let mut message = [[0; 2]; 4];
    for _ in 0..400 {
        let func = random_function(&mut stream);
        for stage in stages {
            verify(&func, stage).unwrap();
        }
        for _ in 0..12 {
            let mut func = func.clone();
            for _ in 0..1 + stream.below(2) {
                mutate(&mut func, &mut stream);
            }
            for (index, stage) in stages.into_iter().enumerate() {
                let verdict = verify(&func, stage);
                let blocks: Vec<Block> = func.blocks().collect();
                let expected = !blocks.is_empty() && Reference { func: &func, blocks }.accepts(stage);
                match verdict {
                    Ok(()) => assert!(expected, "wrongly accepted at stage {stage}:\n{func}"),
                    Err(violations) => assert!(!expected, "wrongly refused: {violations}"),
                }
                message[index][usize::from(expected)] += 1;
            }
        }
    }
    assert!(message.iter().flatten().all(|&count| count > 500), "refused and accepted by stage: {message:?}");
}

/// Any detail that the public interface can build.
fn random_detail(func: &Function, stream: &mut Stream) -> Detail {
    let small = |stream: &mut Stream| stream.pick(&[0u32, 1, 3, 4, 8, u32::MAX]);
    let ordering = stream.pick(AtomicOrdering::ALL);
    let scope = stream.pick(SyncScope::ALL);
    let access = Access {
        align: small(stream),
        dereferenceable: small(stream),
        base: (stream.below(2) == 0).then(|| random_value(func, stream)),
        atomic: (stream.below(2) == 0).then_some((ordering, scope)),
    };
    let blocks: Vec<Block> = (0..stream.below(4)).map(|_| random_block(func, stream)).collect();
    let callee = Callee::from_u32(stream.below(3) as u32);
    match stream.below(20) {
        0 => Detail::None,
        1 => Detail::IntCompare(IntPredicate::Eq),
        2 => Detail::Dimension((stream.below(2) == 0).then_some(stream.below(5) as u8)),
        3 | 4 => Detail::Access(access),
        5 => Detail::Transfer(Box::new((access, access))),
        6 => Detail::Rmw(stream.pick(Rmw::ALL), access),
        7 => Detail::CompareExchange(access, ordering),
        8 => Detail::Fence(ordering, scope),
        9 => Detail::Barrier(scope),
        10 => Detail::Alloca { bytes: u64::MAX >> stream.below(64), align: small(stream) },
        11 => Detail::Reduce(stream.pick(Reduction::ALL)),
        12 => Detail::Scan { by: stream.pick(Reduction::ALL), before: stream.below(2) == 0 },
        13 => Detail::Permute((0..stream.below(200)).map(|_| stream.below(1 << 16) as u16).collect()),
        14 => Detail::FloatClass(stream.below(1 << 16) as u16),
        15 => Detail::Phi(blocks.into_iter().collect()),
        16 => Detail::Branch(blocks.into_iter().collect(), (stream.below(2) == 0).then(|| Box::new([0, 0]))),
        17 => {
            let cases = (0..stream.below(3)).map(|_| stream.below(2) as u128).collect();
            Detail::Switch(Box::new(SwitchDetail { cases, targets: blocks }))
        }
        18 => Detail::Call(callee),
        _ => {
            let brush = (0..stream.below(5)).map(|_| small(stream)).collect();
            Detail::Launch(Box::new(LaunchDetail { callee, brush, masked: stream.below(2) == 0 }))
        }
    }
}

#[test]
fn nothing_that_can_be_built_makes_the_verifier_panic() {
    let mut stream = Stream(3);
    let types = [
        Type::I1,
        Type::I8,
        Type::I32,
        Type::F32,
        Type::I128,
        Type::ptr(Space::Private),
        Type::ptr(Space::Constant),
        Type::mask(4),
        Type::Vector(Scalar::I32, 4),
        Type::Vector(Scalar::Ptr(Space::Global), 4),
        Type::Vector(Scalar::F64, 0),
        Type::Vector(Scalar::I128, u16::MAX),
    ];
    for round in 0..4000 {
        let param = stream.pick(&types);
        let mut func = Function::new("f", Signature::new(&[param, Type::I32], &[stream.pick(&types)]));
        let declared = Signature::new(&[stream.pick(&types)], &[stream.pick(&types)]);
        let mut declaration = func.declaration();
        (declaration.name, declaration.signature) = ("g".into(), declared);
        func.make_callee(&std::sync::Arc::new(declaration));
        if round % 5 == 0 {
            func.signature.params.pop();
        }
        if round % 7 == 0 {
            func.signature.params.push(heddle_ir::module::Param::new(param));
        }
        for _ in 0..3 {
            let ty = stream.pick(&types);
            func.make_poison(ty);
            func.make_const(Constant::Scalar(ty.scalar(), 1 << stream.below(128)));
            func.make_const(Constant::Vector(ty.scalar(), vec![3; stream.below(200)].into()));
        }
        func.reserve_values(func.value_count() + 1);
        for _ in 0..1 + stream.below(4) {
            func.append_block();
        }
        func.new_block();
        for _ in 0..stream.below(16) {
            let op = stream.pick(Op::ALL);
            let args: Vec<Value> = (0..stream.below(5)).map(|_| random_value(&func, &mut stream)).collect();
            let detail = random_detail(&func, &mut stream);
            let mut data = InstData::new(op, args, detail);
            if stream.below(4) == 0 {
                data.flags = Flags::of(&[stream.pick(Flag::ALL), stream.pick(Flag::ALL)]);
            }
            if stream.below(20) == 0 {
                data.origin = Origin::from_u32(stream.below(3) as u32);
            }
            let results: Vec<Type> = (0..stream.below(3)).map(|_| stream.pick(&types)).collect();
            let inst = func.make_inst(data, &results);
            let block = random_block(&func, &mut stream);
            if func.layout.is_placed(block) {
                func.layout.append_inst(inst, block);
            }
        }
        if stream.below(20) == 0 {
            func.layout.append_inst(Inst::from_u32(1000), func.entry());
        }
        let predicated = func.entry();
        func.set_predicate(predicated, Some(random_value(&func, &mut stream)));
        for &stage in Stage::ALL {
            if let Err(violations) = verify(&func, stage) {
                assert!(!violations.to_string().is_empty());
            }
        }
    }
}

#[test]
fn the_steps_of_the_example_verify_at_their_stages() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ir");
    // Expected validity of each text at each stage. Divergence is not visible to the verifier.
    let table = [
        ("source", "source uniform linear"),
        ("canonical", "source canonical uniform linear"),
        ("uniform", "source uniform linear"),
        ("linear", "source linear"),
        ("wide", "wide"),
    ];
    for (name, good) in table {
        let source = std::fs::read_to_string(format!("{directory}/steps-{name}.hed")).unwrap();
        let module = parse_module(&source).unwrap();
        for &stage in Stage::ALL {
            let verdict = heddle_ir::verify_module(&module, stage);
            match good.split(' ').any(|word| word == stage.name()) {
                true => verdict.unwrap(),
                false => assert!(verdict.is_err(), "steps-{name} at stage {stage}"),
            }
        }
    }
}

/// A function of `count` blocks with these targets; all branch on the parameter.
fn flow(count: usize, targets: impl Fn(usize) -> Vec<usize>) -> Function {
    let mut func = Function::new("f", Signature::new(&[Type::I1], &[]));
    let flag = func.params()[0];
    let blocks: Vec<Block> = (0..count).map(|_| func.append_block()).collect();
    for (index, &block) in blocks.iter().enumerate() {
        let data = match targets(index)[..] {
            [] => InstData::plain(Op::Ret, []),
            [one] => InstData::jump(blocks[one]),
            [one, two] => InstData::branch(flag, blocks[one], blocks[two]),
            _ => unreachable!("two targets at most"),
        };
        Builder::new(&mut func, InsertPoint::End(block)).inst(data, None);
    }
    func
}

/// These inputs time out if a search climbs trees block by block or scans a list for each block.
#[test]
fn large_functions_of_any_form_are_done_at_once() {
    const COUNT: usize = 100_000;
    let last = COUNT - 1;
    // All blocks leave to one.
    let early_outs = flow(COUNT, |i| if i == last { vec![] } else { vec![i + 1, last] });
    verify(&early_outs, Stage::Canonical).unwrap();
    // Nested loops: headers first, then as many latches.
    let nest = flow(COUNT + 2, |i| match i {
        i if i <= COUNT / 2 => vec![i + 1],
        i if i <= COUNT => vec![COUNT + 1 - i, i + 1],
        _ => vec![],
    });
    verify(&nest, Stage::Linear).unwrap();
    // Edges alternate between far ahead and one back: small cycles with two entries.
    let ladder = flow(COUNT, |i| match i {
        i if i == last => vec![],
        0 => vec![1, COUNT / 2],
        i if i % 2 == 0 => vec![i + 1, (i + COUNT / 2 + 1).min(last)],
        i => vec![i + 1, (i - 1).max(1)],
    });
    assert!(verify(&ladder, Stage::Source).is_ok());
    assert!(verify(&ladder, Stage::Linear).is_err());
    // Many φs without values, in a block with many predecessors.
    let mut joined = early_outs;
    let target = Block::from_u32(last as u32);
    for _ in 0..COUNT {
        let phi = joined.make_inst(InstData::phi([], None), &[Type::I32]);
        joined.layout.prepend_inst(phi, target);
    }
    assert_eq!(verify(&joined, Stage::Source).unwrap_err().as_slice().len(), COUNT);
}
