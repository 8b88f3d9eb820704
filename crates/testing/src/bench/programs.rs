//! Families of programs of any size, each with a shape that makes a careless algorithm quadratic.
//!
//! All verify, and all have linear size: a few instructions per block.

use heddle_ir::inst::SwitchDetail;
use heddle_ir::module::Signature;
use heddle_ir::words::IntPredicate;
use heddle_ir::{
    Block, Builder, Detail, Function, InsertPoint, InstData, Module, Op, Scalar, Stage, Type, Value,
};

/// Family: a name, and a builder for members of about a given number of blocks.
pub(super) struct ProgramFamily {
    pub(super) name: &'static str,
    build: fn(&mut FunctionDraft<'_>, usize),
    /// The stage at which its members verify.
    pub(super) stage: Stage,
    /// Factor on the sizes of the other families.
    pub(super) scale: usize,
}

pub(super) const FAMILIES: &[ProgramFamily] = &[
    ProgramFamily { name: "chain", build: chain, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "if cascade", build: if_cascade, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "nested loops", build: nested_loops, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "loops 100 deep", build: loops_100_deep, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "dense φ", build: dense_phi, stage: Stage::Source, scale: 1 },
    ProgramFamily { name: "big switch", build: big_switch, stage: Stage::Source, scale: 1 },
    ProgramFamily { name: "irreducible mesh", build: mesh, stage: Stage::Source, scale: 1 },
    ProgramFamily { name: "one block", build: one_block, stage: Stage::Canonical, scale: 10 },
];

/// Families for analyses of divergence, ten instructions to a block, with branches that diverge by the first parameter.
/// Stages are those before canonicalization.
pub(super) const DIVERGING: &[ProgramFamily] = &[
    ProgramFamily { name: "if cascade", build: heavy_cascade, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "nested ifs", build: nested_ifs, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "early outs", build: early_exits, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "uniform outs", build: uniform_exits, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "nested loops", build: nested_loops, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "loops 100 deep", build: loops_100_deep, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "exits of one loop", build: exits_of_one_loop, stage: Stage::Source, scale: 1 },
    ProgramFamily { name: "exits of all loops", build: exits_of_all_loops, stage: Stage::Source, scale: 1 },
    ProgramFamily { name: "dense φ", build: dense_phi, stage: Stage::Source, scale: 1 },
    ProgramFamily { name: "many φs", build: many_phis, stage: Stage::Canonical, scale: 1 },
    ProgramFamily { name: "one block", build: one_block, stage: Stage::Canonical, scale: 10 },
];

impl ProgramFamily {
    /// Builds the member of about `size` blocks (or instructions, where there is one block).
    pub(super) fn build(&self, size: usize) -> Module {
        let signature = Signature::new(&[Type::I32, Type::I32], &[Type::I32]);
        let mut func = Function::new("f", signature);
        let entry = func.append_block();
        let (a, b) = (func.params()[0], func.params()[1]);
        let builder = Builder::new(&mut func, InsertPoint::End(entry));
        (self.build)(&mut FunctionDraft { builder, here: entry, a, b }, size);
        Module { functions: vec![func], ..Module::default() }
    }
}

/// A function being built, at the end of a block.
struct FunctionDraft<'f> {
    builder: Builder<'f>,
    here: Block,
    a: Value,
    b: Value,
}

impl FunctionDraft<'_> {
    fn block(&mut self) -> Block {
        self.builder.func.append_block()
    }

    fn go(&mut self, block: Block) {
        self.here = block;
        self.builder.set_insert_point(InsertPoint::End(block));
    }

    /// Some work on the value, which is different from block to block.
    fn work(&mut self, value: Value, number: usize) -> Value {
        let constant = self.builder.int(Scalar::I32, number as i128 % 1000);
        let sum = self.builder.op(Op::Add, &[value, constant]);
        self.builder.op(Op::Xor, &[sum, self.a])
    }

    fn condition(&mut self, value: Value) -> Value {
        self.builder.icmp(IntPredicate::Ult, value, self.b)
    }

    fn switch(&mut self, value: Value, targets: Vec<Block>) {
        let cases = (1..targets.len() as u128).collect();
        let detail = Detail::Switch(Box::new(SwitchDetail { cases, targets }));
        self.builder.inst(InstData::new(Op::Switch, [value], detail), None);
    }

    fn phi(&mut self, incoming: &[(Block, Value)]) -> Value {
        self.builder.phi(Type::I32, incoming, None)
    }
}

fn chain(draft: &mut FunctionDraft<'_>, size: usize) {
    let mut value = draft.a;
    for number in 1..size {
        value = draft.work(value, number);
        let next = draft.block();
        draft.builder.jump(next);
        draft.go(next);
    }
    draft.builder.ret(&[value]);
}

/// `if (..) .. else ..` again and again, joined by φs.
fn if_cascade(draft: &mut FunctionDraft<'_>, size: usize) {
    let mut value = draft.a;
    for number in 0..size / 3 {
        let (then, otherwise, join) = (draft.block(), draft.block(), draft.block());
        let condition = draft.condition(value);
        draft.builder.branch(condition, then, otherwise);
        draft.go(then);
        let one = draft.work(value, number);
        draft.builder.jump(join);
        draft.go(otherwise);
        let other = draft.work(value, number + 1);
        draft.builder.jump(join);
        draft.go(join);
        value = draft.phi(&[(then, one), (otherwise, other)]);
    }
    draft.builder.ret(&[value]);
}

/// Eight instructions that depend on the value.
fn heavy_work(draft: &mut FunctionDraft<'_>, value: Value, number: usize) -> Value {
    (0..4).fold(value, |value, part| draft.work(value, number + part))
}

/// A cascade with more work. Every second condition depends on the parameter and diverges; the others are uniform.
fn heavy_cascade(draft: &mut FunctionDraft<'_>, size: usize) {
    let mut values = [draft.a, draft.b];
    for number in 0..size / 3 {
        let (then, otherwise, join) = (draft.block(), draft.block(), draft.block());
        let which = number % 2;
        let condition = draft.condition(values[which]);
        draft.builder.branch(condition, then, otherwise);
        draft.go(then);
        let one = heavy_work(draft, values[which], number);
        draft.builder.jump(join);
        draft.go(otherwise);
        let other = heavy_work(draft, values[which], number + 1);
        draft.builder.jump(join);
        draft.go(join);
        values[which] = draft.phi(&[(then, one), (otherwise, other)]);
    }
    draft.builder.ret(&[values[0]]);
}

/// `if (..) if (..) if (..) …`, joined from the inside out.
fn nested_ifs(draft: &mut FunctionDraft<'_>, size: usize) {
    let depth = size / 2;
    let mut above = Vec::new();
    let mut value = draft.a;
    for number in 0..depth {
        let (then, join) = (draft.block(), draft.block());
        value = heavy_work(draft, value, number);
        let condition = draft.condition(value);
        draft.builder.branch(condition, then, join);
        above.push((draft.here, value, join));
        draft.go(then);
    }
    for (from, before, join) in above.into_iter().rev() {
        let here = draft.here;
        draft.builder.jump(join);
        draft.go(join);
        value = draft.phi(&[(from, before), (here, value)]);
        value = heavy_work(draft, value, 0);
    }
    draft.builder.ret(&[value]);
}

/// `if (..) goto out;` again and again.
fn early_exits(draft: &mut FunctionDraft<'_>, size: usize) {
    let value = draft.a;
    exits(draft, size, value, |_, here, out| (out, here));
}

/// All lanes take the same exit, each through an empty block.
fn uniform_exits(draft: &mut FunctionDraft<'_>, size: usize) {
    draft.a = draft.b;
    let value = draft.b;
    exits(draft, size / 2, value, |draft, _, out| {
        let (here, way) = (draft.here, draft.block());
        draft.go(way);
        draft.builder.jump(out);
        draft.go(here);
        (way, way)
    });
}

/// Builds a chain of exits. `exit` gets an exit's source block and the common end, and returns the exit's target and
/// the predecessor that reaches the end.
fn exits(
    draft: &mut FunctionDraft<'_>,
    size: usize,
    mut value: Value,
    exit: impl Fn(&mut FunctionDraft<'_>, Block, Block) -> (Block, Block),
) {
    let out = draft.block();
    let mut incoming = Vec::new();
    for number in 0..size {
        let next = draft.block();
        value = heavy_work(draft, value, number);
        let condition = draft.condition(value);
        let here = draft.here;
        let (target, from) = exit(draft, here, out);
        draft.builder.branch(condition, target, next);
        incoming.push((from, value));
        draft.go(next);
    }
    draft.builder.jump(out);
    incoming.push((draft.here, value));
    draft.go(out);
    let result = draft.phi(&incoming);
    draft.builder.ret(&[result]);
}

/// A loop with a `break` in every block of its body.
fn exits_of_one_loop(draft: &mut FunctionDraft<'_>, size: usize) {
    let value = loop_with_exits(draft, size / 2);
    draft.builder.ret(&[value]);
}

/// Consecutive loops of ten blocks, each with a `break`.
fn exits_of_all_loops(draft: &mut FunctionDraft<'_>, size: usize) {
    for _ in 0..size / 20 {
        let first = draft.a;
        draft.a = loop_with_exits(draft, 10);
        let value = heavy_work(draft, first, 1);
        draft.a = draft.builder.op(Op::Xor, &[draft.a, value]);
    }
    draft.builder.ret(&[draft.a]);
}

fn loop_with_exits(draft: &mut FunctionDraft<'_>, breaks: usize) -> Value {
    let (header, out) = (draft.block(), draft.block());
    let before = draft.here;
    draft.builder.jump(header);
    draft.go(header);
    let counter = draft.phi(&[(before, draft.b)]);
    let mut value = draft.builder.op(Op::Add, &[counter, draft.a]);
    let mut incoming = Vec::new();
    for number in 0..breaks {
        value = heavy_work(draft, value, number);
        let condition = draft.condition(value);
        let next = draft.block();
        draft.builder.branch(condition, out, next);
        incoming.push((draft.here, value));
        draft.go(next);
    }
    let again = draft.work(counter, 1);
    complete(draft, counter, draft.here, again);
    draft.builder.jump(header);
    draft.go(out);
    draft.phi(&incoming)
}

/// The cascade with eight φs at each join.
fn many_phis(draft: &mut FunctionDraft<'_>, size: usize) {
    let mut values = [draft.a; 8];
    for number in 0..size / 3 {
        let (then, otherwise, join) = (draft.block(), draft.block(), draft.block());
        let condition = draft.condition(values[number % 8]);
        draft.builder.branch(condition, then, otherwise);
        draft.go(then);
        let one = heavy_work(draft, values[0], number);
        draft.builder.jump(join);
        draft.go(otherwise);
        let other = heavy_work(draft, values[7], number + 1);
        draft.builder.jump(join);
        draft.go(join);
        values.rotate_left(1);
        for (place, value) in values.iter_mut().enumerate() {
            *value = match place {
                0 => draft.phi(&[(then, one), (otherwise, other)]),
                _ => draft.phi(&[(then, *value), (otherwise, one_of(place, other, *value))]),
            };
        }
    }
    draft.builder.ret(&[values[0]]);
}

fn one_of(place: usize, one: Value, other: Value) -> Value {
    if place.is_multiple_of(2) { one } else { other }
}

/// Consecutive nests of √n loops.
fn nested_loops(draft: &mut FunctionDraft<'_>, size: usize) {
    nests(draft, size, size.isqrt());
}

fn loops_100_deep(draft: &mut FunctionDraft<'_>, size: usize) {
    nests(draft, size, 100);
}

/// Nests of loops, this many in one another:
///
/// ```text
///     header 0 ──► header 1 ──► … ──► latch 1 ──► latch 0 ──► exit
///        ▲            ▲                  │           │
///        │            └──────────────────┘           │
///        └───────────────────────────────────────────┘
/// ```
fn nests(draft: &mut FunctionDraft<'_>, size: usize, depth: usize) {
    let mut value = draft.a;
    for _ in 0..size.div_ceil(2 * depth + 1) {
        let headers: Vec<Block> = (0..depth).map(|_| draft.block()).collect();
        let latches: Vec<Block> = (0..depth).map(|_| draft.block()).collect();
        let exit = draft.block();
        let mut phis = Vec::new();
        for (level, &header) in headers.iter().enumerate() {
            let from = draft.here;
            draft.builder.jump(header);
            draft.go(header);
            phis.push(draft.phi(&[(from, value)]));
            value = draft.work(phis[level], level);
        }
        draft.builder.jump(latches[depth - 1]);
        for level in (0..depth).rev() {
            let from = draft.here;
            draft.go(latches[level]);
            let joined = draft.phi(&[(from, value)]);
            value = draft.work(joined, level);
            complete(draft, phis[level], latches[level], value);
            let condition = draft.condition(value);
            let behind = if level == 0 { exit } else { latches[level - 1] };
            draft.builder.branch(condition, headers[level], behind);
        }
        let from = draft.here;
        draft.go(exit);
        value = draft.phi(&[(from, value)]);
    }
    draft.builder.ret(&[value]);
}

/// Adds what comes along the back edge to the φ of a header.
fn complete(draft: &mut FunctionDraft<'_>, phi: Value, latch: Block, value: Value) {
    let func = &mut *draft.builder.func;
    let inst = func.def_inst(phi).expect("a φ is an instruction");
    let data = func.inst_mut(inst);
    data.args.push(value);
    if let Detail::Phi(blocks) = &mut data.detail {
        blocks.push(latch);
    }
}

/// A switch whose arms all meet in one block, which has eight φs with a value from each of them.
fn dense_phi(draft: &mut FunctionDraft<'_>, size: usize) {
    let arms: Vec<Block> = (0..size).map(|_| draft.block()).collect();
    let join = draft.block();
    draft.switch(draft.a, arms.clone());
    let mut results = Vec::new();
    for (number, &arm) in arms.iter().enumerate() {
        draft.go(arm);
        results.push(draft.work(draft.a, number));
        draft.builder.jump(join);
    }
    draft.go(join);
    let incoming: Vec<(Block, Value)> = arms.into_iter().zip(results).collect();
    let phis: Vec<Value> = (0..8).map(|_| draft.phi(&incoming)).collect();
    let sum = phis.into_iter().reduce(|sum, phi| draft.builder.op(Op::Add, &[sum, phi]));
    draft.builder.ret(&[sum.expect("there are eight φs")]);
}

/// A switch whose arms return.
fn big_switch(draft: &mut FunctionDraft<'_>, size: usize) {
    let arms: Vec<Block> = (0..size).map(|_| draft.block()).collect();
    draft.switch(draft.a, arms.clone());
    for (number, &arm) in arms.iter().enumerate() {
        draft.go(arm);
        let value = draft.work(draft.b, number);
        draft.builder.ret(&[value]);
    }
}

/// A grid of blocks with edges to the right and down, and some up and left: cycles with many headers.
fn mesh(draft: &mut FunctionDraft<'_>, size: usize) {
    let side = size.isqrt();
    let first = draft.here;
    let blocks: Vec<Block> = (0..side * side).map(|_| draft.block()).collect();
    draft.go(first);
    draft.builder.jump(blocks[0]);
    for (at, &block) in blocks.iter().enumerate() {
        let (row, column) = (at / side, at % side);
        draft.go(block);
        let value = draft.work(draft.a, at);
        let mut targets = Vec::new();
        targets.extend((column + 1 < side).then(|| blocks[at + 1]));
        targets.extend((row + 1 < side).then(|| blocks[at + side]));
        if row > 0 && column > 0 && (row * 7 + column * 3) % 5 == 0 {
            targets.push(blocks[at - side - 1]);
        }
        match targets[..] {
            [] => _ = draft.builder.ret(&[value]),
            [target] => _ = draft.builder.jump(target),
            [one, other] => {
                let condition = draft.condition(value);
                draft.builder.branch(condition, one, other);
            }
            _ => draft.switch(value, targets),
        }
    }
}

/// A block of `size` instructions.
fn one_block(draft: &mut FunctionDraft<'_>, size: usize) {
    let mut value = draft.a;
    for number in 0..size / 2 {
        value = draft.work(value, number);
    }
    draft.builder.ret(&[value]);
}
