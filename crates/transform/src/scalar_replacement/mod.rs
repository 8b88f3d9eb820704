//! Scalar replacement: values that a lane has loaded, stored or computed before are kept, also from one iteration to the next.
//!
//! Requires: Stage::Canonical.  Ensures: Stage::Canonical.
//! Invariant: blocks and calls keep their names; what is new is loads, operations, address arithmetic, φs, and empty blocks on
//! critical edges where something is inserted. A lane loads nothing that it did not load before, unless that is proved to be
//! there: so no lane can fault where it did not. Unless values are hoisted out of branches, no way through the function
//! computes more than before.
//! After: Fukuhara & Takimoto, Scalar Replacement Considering Branch Divergence (2021). Differs in: solutions are fixed
//! points, where the algorithm of A.1 keeps answers that were given while others were open; loads are hoisted only where they
//! are anticipated or cannot fault, and not in front of loops that hold nothing; values are forwarded from stores; hoisting
//! has one target, a branch that dominates; insertion by costs.
//!
//! Each load, and each operation that costs something, asks what its value is on the ways that lead to it (`question`). If it
//! is there on all, or on some and may be inserted on the others, φs take its place (`emit`). If not, it may be hoisted out of
//! divergent branches (`hoist`): a warp passes both sides anyway.
//!
//! What lanes write is between two loads of another lane in no order that the code tells of, if they race. Where they may
//! ([`Races::Ordered`]), memory that lanes share and the function writes is followed inside of a block only.

mod address;
mod anticipation;
mod emit;
mod hoist;
mod memory;
mod question;

use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, Edge, InitialShapes, PostDominators, divergence};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::types::{Scalar, Space, Type};
use heddle_ir::words::Flag;
use heddle_ir::{Block, Function, Inst, Op, Value};

use std::fmt;

use crate::canonicalize::{lcssa, split_critical_edges};
use crate::flow::Flow;
use crate::races::Races;
use anticipation::is_anticipated;
use memory::{MemoryTable, Touch};
use question::{Operations, Program, Query, Question, Subject, operands};

/// Where values are inserted and hoisted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Inserted wherever that lengthens no way: scalar replacement as for sequential code.
    Srqp,
    /// Inserted only where no divergent branch decides.
    Esrqp,
    /// The same, and hoisted out of all branches.
    SsrqpS,
    /// The same, and hoisted out of divergent branches.
    #[default]
    Ssrqp,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 4] = [Variant::Srqp, Variant::Esrqp, Variant::SsrqpS, Variant::Ssrqp];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Srqp => "srqp",
            Variant::Esrqp => "esrqp",
            Variant::SsrqpS => "ssrqp_s",
            Variant::Ssrqp => "ssrqp",
        }
    }
}

/// How scalars are replaced.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    /// Where values go.
    pub variant: Variant,
    /// What is known of races.
    pub races: Races,
}

/// What was done to a function.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Replaced {
    /// Loads that are gone.
    pub loads: usize,
    /// Operations that are gone.
    pub operations: usize,
    /// Instructions that were inserted at the ends of blocks.
    pub inserted: usize,
    /// Instructions that were hoisted out of branches.
    pub hoisted: usize,
    /// φs that carry values.
    pub phis: usize,
}

impl Replaced {
    /// Adds up.
    pub fn add(&mut self, other: &Replaced) {
        self.loads += other.loads;
        self.operations += other.operations;
        self.inserted += other.inserted;
        self.hoisted += other.hoisted;
        self.phis += other.phis;
    }
}

impl fmt::Display for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Replaced { loads, operations, inserted, hoisted, phis } = self;
        write!(
            f,
            "{loads} loads and {operations} operations are replaced by values that are there; {inserted} are inserted, \
             {hoisted} hoisted, {phis} φs carry values"
        )
    }
}

/// The most often that a function is looked at with insertions, and then without.
const MOST_ROUNDS: usize = 4;

/// Replaces loads and operations by values that are there.
pub fn replace_scalars(func: &mut Function, options: &Options) -> Replaced {
    let mut replaced = Replaced::default();
    if crate::divergent_loops::is_sequential(func) || !has_candidates(func) || sees_passive_lanes(func) {
        return replaced;
    }
    let blocks = func.block_count();
    let flow = Flow::new(func);
    let forest = flow.forest();
    // Exits of loops stay as they are, so that they are left from those loops only.
    let stays = |edge: Edge| forest.innermost(edge.from).is_none_or(|cycle| forest.contains(cycle, edge.to));
    split_critical_edges(func, stays);
    let control = ControlTables::new(func);
    let geometry = Geometry { dimensions: 3, ..Geometry::unknown() };
    let facts = divergence(func, &control, &InitialShapes::declared(func, geometry));
    let together = facts.region_of_nondivergence(&control);
    let around = Around {
        control: &control,
        post_dominators: &PostDominators::new(&control.cfg),
        facts: &facts,
        together: &together,
        options,
        inserts: true,
    };
    for inserts in [true, false] {
        for _ in 0..MOST_ROUNDS {
            let mut round = Round::new(func, Around { inserts, ..around });
            round.run();
            let found = round.finish();
            replaced.add(&found);
            if found == Replaced::default() {
                break;
            }
        }
    }
    drop_empty_blocks(func, blocks);
    lcssa::close_loops(func, &Flow::new(func));
    replaced
}

/// What a round is told.
#[derive(Clone, Copy)]
struct Around<'a> {
    control: &'a ControlTables,
    post_dominators: &'a PostDominators,
    facts: &'a Divergence,
    /// Where all lanes are together.
    together: &'a EntitySet<Block>,
    options: &'a Options,
    /// Whether anything may be inserted or hoisted.
    inserts: bool,
}

/// One look at all instructions.
struct Round<'a> {
    func: &'a mut Function,
    around: Around<'a>,
    memory: MemoryTable,
    operations: Operations,
    /// What stands for a value now.
    now: SecondaryMap<Value, Option<Value>>,
    /// What values stand for that are in `now`.
    gone: EntitySet<Inst>,
    done: Replaced,
}

impl<'a> Round<'a> {
    fn new(func: &'a mut Function, around: Around<'a>) -> Round<'a> {
        let memory = MemoryTable::new(func, around.control);
        let mut operations = Operations::default();
        for &block in around.control.index.order() {
            for inst in func.block_insts(block).filter(|&inst| is_costly(func, inst)) {
                operations.insert(func, block, inst);
            }
        }
        let now = SecondaryMap::with_len(func.value_count());
        Round { func, around, memory, operations, now, gone: EntitySet::new(), done: Replaced::default() }
    }

    /// Asks for each instruction, in an order in which definitions come first.
    fn run(&mut self) {
        for &block in self.around.control.index.order() {
            let mut entry = 0;
            let mut next = self.func.layout.first_inst(block);
            while let Some(inst) = next {
                next = self.func.layout.next_inst(inst);
                let is_entry = self.memory.of(block).get(entry).is_some_and(|known| known.inst == inst);
                if let Some((subject, query)) = self.subject(block, inst, entry) {
                    self.ask(block, &subject, query, entry);
                }
                entry += usize::from(is_entry);
            }
        }
    }

    /// What an instruction asks for, if it does.
    fn subject(&self, block: Block, inst: Inst, entry: usize) -> Option<(Subject, Query)> {
        let func = &*self.func;
        let data = func.inst(inst);
        let ty = func.value_type(func.result(inst)?);
        let subject = Subject {
            inst,
            op: data.op,
            ty,
            detail: data.detail.clone(),
            flags: data.flags,
            align: 0,
            is_constant: false,
            keeps_to_block: false,
            between_lanes: self.around.options.races == Races::Ordered,
        };
        if is_costly(func, inst) {
            return Some((subject, Query::Operation(operands(data.op, &data.args))));
        }
        let known = self.memory.of(block).get(entry).filter(|known| known.inst == inst)?;
        let Touch::Load { address, align, .. } = &known.touch else { return None };
        let is_constant = data.flags.has(Flag::Invariant)
            || func.value_type(address.root) == Type::Scalar(Scalar::Ptr(Space::Constant));
        let between_lanes = subject.between_lanes;
        let keeps_to_block =
            between_lanes && !is_constant && self.memory.is_written(func, address, ty.bytes().into());
        Some((
            Subject { align: *align, is_constant, keeps_to_block, ..subject },
            Query::Load(address.clone()),
        ))
    }

    fn ask(&mut self, block: Block, subject: &Subject, query: Query, entry: usize) {
        let Round { func, memory, operations, gone, .. } = &*self;
        let Around { control, post_dominators, facts, together, options, inserts } = self.around;
        let program = Program { func, control, memory, operations, gone };
        let mut question = Question::new(&program, subject, block, query, entry);
        let is_free = |pred: Block| match options.variant {
            _ if control.cfg.succs(pred).len() > 1 => false,
            Variant::Srqp => true,
            _ => together.contains(pred),
        };
        question.solve(|question, state| {
            let missing = |&pred: &u32| {
                let pred = &question.states[pred as usize];
                (!pred.is_available).then_some(pred.block)
            };
            inserts
                && question.states[state].preds.iter().filter_map(missing).all(is_free)
                && is_anticipated(&program, subject, question, state)
        });
        if question.is_answered() {
            self.answer(subject, &question);
            return;
        }
        let parts = |branch: Block| match options.variant {
            Variant::Srqp | Variant::Esrqp => false,
            Variant::SsrqpS => true,
            Variant::Ssrqp => facts.is_divergent_branch(branch),
        };
        let may_hoist = inserts && matches!(options.variant, Variant::SsrqpS | Variant::Ssrqp);
        if may_hoist
            && let Some(target) = hoist::target(&program, subject, &mut question, post_dominators, parts)
        {
            self.hoist(subject, &target);
        }
    }

    /// Computes the value of an instruction at the end of a block that dominates it, and there only.
    fn hoist(&mut self, subject: &Subject, target: &hoist::Target) {
        let hoisted = Subject { align: target.align, ..subject.clone() };
        let made = emit::compute(self.func, &hoisted, &target.query, target.block);
        let Some((inst, old)) = made.zip(self.func.result(subject.inst)) else { return };
        self.know(subject, target.block, inst);
        self.now[old] = self.func.result(inst);
        self.gone.insert(subject.inst);
        self.done.hoisted += 1;
    }

    /// Lets what was put at the end of a block be an answer.
    fn know(&mut self, subject: &Subject, block: Block, inst: Inst) {
        if subject.op == Op::Load {
            self.memory.append(self.func, block, inst);
        } else {
            self.operations.insert(self.func, block, inst);
        }
    }

    /// Puts the answer in the place of an instruction.
    fn answer(&mut self, subject: &Subject, question: &Question) {
        let Some(emitted) = emit::emit(self.func, subject, question) else { return };
        let Some(old) = self.func.result(subject.inst) else { return };
        for &(block, inst) in &emitted.inserted {
            self.know(subject, block, inst);
        }
        for inst in emitted.sources {
            serve(self.func, inst, subject);
        }
        self.done.inserted += emitted.inserted.len();
        if subject.op == Op::Load {
            self.done.loads += 1;
        } else {
            self.done.operations += 1;
        }
        self.now[old] = Some(emitted.value);
        self.gone.insert(subject.inst);
        self.done.phis += self.drop_trivial(&emitted.phis);
    }

    /// What stands for a value now.
    fn resolve(&mut self, mut value: Value) -> Value {
        while let Some(next) = self.now[value] {
            if let Some(behind) = self.now[next] {
                self.now[value] = Some(behind);
            }
            value = next;
        }
        value
    }

    /// Replaces φs that join one value only. Gives how many are left.
    fn drop_trivial(&mut self, phis: &[Inst]) -> usize {
        let mut left = phis.to_vec();
        loop {
            let before = left.len();
            left.retain(|&phi| {
                let Some(own) = self.func.result(phi) else { return false };
                let values: Vec<Value> = self.func.inst(phi).args.iter().copied().collect();
                let mut only = None;
                for value in values {
                    let value = self.resolve(value);
                    if value != own && *only.get_or_insert(value) != value {
                        return true;
                    }
                }
                let Some(only) = only else { return true };
                self.now[own] = Some(only);
                self.gone.insert(phi);
                false
            });
            if left.len() == before {
                return before;
            }
        }
    }

    /// Lets all reads see what stands for values now.
    fn finish(mut self) -> Replaced {
        if self.gone.len() > 0 {
            let mut now = std::mem::take(&mut self.now);
            for number in 0..self.func.value_count() {
                let value = Value::from_u32(number as u32);
                let mut at = value;
                while let Some(next) = now[at] {
                    at = next;
                }
                if at != value {
                    now[value] = Some(at);
                }
            }
            self.func.map_values(|value| now[value].unwrap_or(value));
            for inst in self.gone.iter() {
                self.func.remove_inst(inst);
            }
        }
        self.done
    }
}

/// Lets an instruction, or what it stored, stand for another as well: it keeps the promises that both make.
fn serve(func: &mut Function, inst: Inst, subject: &Subject) {
    let (kept, dropped) = (func.inst(inst), func.inst(subject.inst));
    if kept.op == Op::Store || inst == subject.inst {
        return;
    }
    let (flags, origin) = (kept.flags, kept.origin);
    let merged = func.origin(origin).merged(func.origin(dropped.origin));
    let promised = flags.intersection(dropped.flags);
    let flags = if kept.op == Op::Load { flags } else { promised };
    let origin = func.make_origin(merged);
    let kept = func.inst_mut(inst);
    (kept.flags, kept.origin) = (flags, origin);
}

/// Whether an operation is worth being kept. Products by constants are address arithmetic, as cheap as what keeps them.
fn is_costly(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    if data.op == Op::Mul {
        return data.args.iter().all(|&arg| func.constant(arg).is_none());
    }
    matches!(
        data.op,
        Op::Udiv
            | Op::Sdiv
            | Op::Urem
            | Op::Srem
            | Op::Fadd
            | Op::Fsub
            | Op::Fmul
            | Op::Fdiv
            | Op::Frem
            | Op::Sqrt
            | Op::Fma
            | Op::Fmuladd
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::RoundEven
            | Op::Truncate
    )
}

fn has_candidates(func: &Function) -> bool {
    let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
    insts.any(|inst| func.inst(inst).op == Op::Load || is_costly(func, inst))
}

/// Whether lanes read what they did not compute.
fn sees_passive_lanes(func: &Function) -> bool {
    func.blocks().any(|block| {
        func.predicate(block).is_some() || crate::simplify::values::sees_passive_lanes(func, block)
    })
}

/// Takes out blocks that were put on edges, where nothing was inserted.
fn drop_empty_blocks(func: &mut Function, before: usize) {
    use crate::edges::{phis, retarget, set_incoming};
    let flow = Flow::new(func);
    let new: Vec<Block> = func.blocks().filter(|block| block.as_u32() as usize >= before).collect();
    for block in new {
        let (&[from], &[to]) = (flow.cfg.preds(block), func.successors(block)) else { continue };
        let is_empty = func.layout.first_inst(block) == func.terminator(block);
        if !is_empty || func.successors(from).contains(&to) {
            continue;
        }
        for phi in phis(func, to) {
            let incoming: Vec<(Block, Value)> = func
                .inst(phi)
                .incoming()
                .map(|(pred, value)| (if pred == block { from } else { pred }, value))
                .collect();
            set_incoming(func, phi, incoming);
        }
        retarget(func, from, block, to);
        func.remove_block(block);
    }
}
