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
mod model;
mod question;

use heddle_analysis::divergence::Divergence;
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, Edge, InitialShapes, PostDominators, divergence};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::types::{Scalar, Space, Type};
use heddle_ir::words::Flag;
use heddle_ir::{Block, Function, Inst, Op, Value};

use smallvec::SmallVec;
use std::fmt;

use crate::canonicalize::{lcssa, split_critical_edges};
use crate::flow::Flow;
use crate::fuse::Machine;
use crate::races::Races;
use anticipation::is_anticipated;
use memory::{MemoryTable, Touch};
use model::Frequencies;
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
    /// Inserted where that is done less often than what it saves, be it into sides of divergent branches; hoisted or not, by
    /// what the function costs then. Or nothing, if nothing pays.
    Cost,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 5] =
        [Variant::Srqp, Variant::Esrqp, Variant::SsrqpS, Variant::Ssrqp, Variant::Cost];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Srqp => "srqp",
            Variant::Esrqp => "esrqp",
            Variant::SsrqpS => "ssrqp_s",
            Variant::Ssrqp => "ssrqp",
            Variant::Cost => "cost",
        }
    }
}

/// How scalars are replaced.
#[derive(Clone, Copy, Default, Debug)]
pub struct ReplacementOptions {
    /// Where values go.
    pub variant: Variant,
    /// What is known of races.
    pub races: Races,
    /// What the code is for, if costs are asked.
    pub machine: Machine,
}

/// A rule of those that keep programs right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Stores change what they may touch.
    Aliases,
    /// Barriers, atomics and calls change what lanes share.
    Fences,
    /// Operands are what they were only as far as their definitions.
    Definitions,
    /// φs are replaced by what comes along the edge.
    Edges,
    /// What is inserted is anticipated.
    Anticipation,
    /// What is hoisted is there, for lanes that do not need it.
    Harmless,
    /// Lanes that may race are looked at.
    Races,
    /// Loads have the type of what they are replaced by.
    Types,
    /// Values that stand for others promise no more.
    Promises,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 9] = [
        Rule::Aliases,
        Rule::Fences,
        Rule::Definitions,
        Rule::Edges,
        Rule::Anticipation,
        Rule::Harmless,
        Rule::Races,
        Rule::Types,
        Rule::Promises,
    ];
}

/// Where values may be inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Insertion {
    /// Wherever they are anticipated.
    Anywhere,
    /// Where all lanes are together.
    Together,
    /// Where a brush comes by less often than where they are needed.
    Seldom,
}

/// Out of which branches values are hoisted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hoisting {
    None,
    Divergent,
    All,
}

/// Where values go.
#[derive(Clone, Copy, Debug)]
struct Policy {
    insertion: Insertion,
    hoisting: Hoisting,
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
pub fn replace_scalars(func: &mut Function, options: &ReplacementOptions) -> Replaced {
    replace_scalars_without(func, options, None)
}

/// The same without one of the rules: wrong, so that tests can see whether they notice.
pub fn replace_scalars_without(
    func: &mut Function,
    options: &ReplacementOptions,
    without: Option<Rule>,
) -> Replaced {
    if crate::divergent_loops::is_sequential(func) || !has_candidates(func) || sees_passive_lanes(func) {
        return Replaced::default();
    }
    let policies: &[Policy] = match options.variant {
        Variant::Srqp => &[Policy { insertion: Insertion::Anywhere, hoisting: Hoisting::None }],
        Variant::Esrqp => &[Policy { insertion: Insertion::Together, hoisting: Hoisting::None }],
        Variant::SsrqpS => &[Policy { insertion: Insertion::Together, hoisting: Hoisting::All }],
        Variant::Ssrqp => &[Policy { insertion: Insertion::Together, hoisting: Hoisting::Divergent }],
        Variant::Cost => &[
            Policy { insertion: Insertion::Seldom, hoisting: Hoisting::None },
            Policy { insertion: Insertion::Seldom, hoisting: Hoisting::Divergent },
        ],
    };
    if let [policy] = policies {
        return replace(func, options, *policy, without);
    }
    let costs = |func: &Function| {
        let control = ControlTables::new(func);
        model::cost(func, &control, &facts(func, &control), options.machine)
    };
    let mut least = costs(func);
    let mut best = None;
    for &policy in policies {
        let mut trial = func.clone();
        let replaced = replace(&mut trial, options, policy, without);
        if replaced != Replaced::default() {
            // What only computes addresses that nothing reads any more is no cost.
            crate::simplify::dead::remove_dead(&mut trial);
            let cost = costs(&trial);
            if cost < least {
                least = cost;
                best = Some((trial, replaced));
            }
        }
    }
    let Some((trial, replaced)) = best else { return Replaced::default() };
    *func = trial;
    replaced
}

/// What diverges, whatever the brush.
fn facts(func: &Function, control: &ControlTables) -> Divergence {
    let geometry = Geometry { dimensions: 3, ..Geometry::unknown() };
    divergence(func, control, &InitialShapes::declared(func, geometry))
}

fn replace(
    func: &mut Function,
    options: &ReplacementOptions,
    policy: Policy,
    without: Option<Rule>,
) -> Replaced {
    let mut replaced = Replaced::default();
    let blocks = func.block_count();
    let flow = Flow::new(func);
    let forest = flow.forest();
    // Exits of loops stay as they are, so that they are left from those loops only.
    let stays = |edge: Edge| forest.innermost(edge.from).is_none_or(|cycle| forest.contains(cycle, edge.to));
    split_critical_edges(func, stays);
    let control = ControlTables::new(func);
    let facts = facts(func, &control);
    let together = facts.region_of_nondivergence(&control);
    let around = Around {
        control: &control,
        post_dominators: &PostDominators::new(&control.cfg),
        facts: &facts,
        together: &together,
        frequency: &model::frequencies(func, &control, &facts),
        races: options.races,
        policy,
        inserts: true,
        without,
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
    frequency: &'a Frequencies,
    races: Races,
    policy: Policy,
    /// Whether anything may be inserted or hoisted.
    inserts: bool,
    /// The rule that is left out.
    without: Option<Rule>,
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
            between_lanes: self.around.races == Races::Ordered && self.around.without != Some(Rule::Races),
            without: self.around.without,
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
        let Around { control, post_dominators, facts, together, frequency, policy, inserts, .. } =
            self.around;
        let program = Program { func, control, memory, operations, gone };
        let mut question = Question::new(&program, subject, block, query, entry);
        let may_insert = |preds: &[Block]| match policy.insertion {
            _ if preds.iter().any(|&pred| control.cfg.succs(pred).len() > 1) => false,
            Insertion::Anywhere => true,
            Insertion::Together => preds.iter().all(|&pred| together.contains(pred)),
            Insertion::Seldom => preds.iter().map(|&pred| frequency[pred]).sum::<f64>() < frequency[block],
        };
        question.solve(|question, state| {
            let missing = |&pred: &u32| {
                let pred = &question.states[pred as usize];
                (!pred.is_available).then_some(pred.block)
            };
            let missing: SmallVec<[Block; 4]> =
                question.states[state].preds.iter().filter_map(missing).collect();
            inserts
                && may_insert(&missing)
                && (subject.without == Some(Rule::Anticipation)
                    || is_anticipated(&program, subject, question, state))
        });
        if question.is_answered() {
            self.answer(subject, &question);
            return;
        }
        let parts = |branch: Block| match policy.hoisting {
            Hoisting::None => false,
            Hoisting::All => true,
            Hoisting::Divergent => facts.is_divergent_branch(branch),
        };
        if inserts
            && policy.hoisting != Hoisting::None
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
            if subject.without != Some(Rule::Promises) {
                serve(self.func, inst, subject);
            }
        }
        self.done.inserted += emitted.inserted.len();
        if subject.op == Op::Load {
            self.done.loads += 1;
        } else {
            self.done.operations += 1;
        }
        if self.resolve(emitted.value) == old {
            return;
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
        if !self.gone.is_empty() {
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
