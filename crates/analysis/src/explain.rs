//! Why something varies: for each varying value and divergent branch a shortest chain of causes.
//!
//! The fixpoint leaves behind what depends on what. Read from causes to effects this is a graph whose sources are the
//! values that vary by themselves: the lane's index, varying parameters, what atomics and calls give. One breadth-first
//! search from all of them gives every other node a cause that is closer to a source.
//!
//! ```text
//! values ─► branch ─► parting ─► values (φs)            data, then: this branch diverges, so lanes part, so they meet
//!   │                    │  └──► leaving ─► values       and mix values, or leave a loop in different rounds
//!   └─► states ─► values └─────► apart ─► values         (stored and loaded; and which lanes are active where)
//! ```

use std::fmt;

use heddle_ir::entity::{Entity, EntitySet};
use heddle_ir::module::Module;
use heddle_ir::{Block, Function, Inst, Op, Value, ValueDef};
use rustc_hash::FxHashMap;

use crate::alloca_ssa::{State, StateDef, StateUser};
use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::divergence::{Divergence, Outcome, Source};
use crate::uses::Uses;

/// Something that varies, or that makes others vary.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A value whose lanes differ.
    Value(Value),
    /// A branch where lanes part.
    Branch(Block),
    /// Lanes that have parted, at this branch or so that they do what lanes do that part there.
    Parting(Block),
    /// A loop that lanes leave in different rounds.
    Leaving(Cycle),
    /// What a private object holds.
    State(State),
    /// A block that some lanes execute without others.
    Apart(Block),
}

/// Why an effect follows from its cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Computed from it.
    Data,
    /// Lanes that parted meet.
    Sync,
    /// Lanes come from different rounds of a loop.
    Temporal,
    /// It tells which lanes are active.
    Activation,
    /// Written to or read from private memory.
    Memory,
}

/// A chain from an effect to a source of variance: each node, and why it follows from the next one. The last one
/// follows from nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The first node, which is to be explained, and then each one's cause.
    pub links: Vec<(Node, Option<Reason>)>,
}

/// The causes of everything that varies in a function.
#[derive(Clone, Debug)]
pub struct Explanations<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    divergence: &'a Divergence,
    cause: FxHashMap<Node, Option<(Node, Reason)>>,
}

impl<'a> Explanations<'a> {
    /// Finds a shortest chain for everything at once.
    pub fn new(func: &'a Function, control: &'a ControlTables, divergence: &'a Divergence) -> Self {
        let uses = Uses::new(func, control);
        let search = Search::new(func, control, divergence, &uses);
        let cause = search.run();
        Self { func, control, divergence, cause }
    }

    /// The chain from a varying value to a source; none if the value is uniform.
    pub fn of_value(&self, value: Value) -> Option<Chain> {
        self.chain(Node::Value(value))
    }

    /// The chain from a divergent branch to a source; none if the branch is uniform.
    pub fn of_branch(&self, block: Block) -> Option<Chain> {
        self.chain(Node::Branch(block))
    }

    /// The chain of any node.
    pub fn chain(&self, node: Node) -> Option<Chain> {
        let mut links = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next {
            let cause = *self.cause.get(&node)?;
            links.push((node, cause.map(|(_, reason)| reason)));
            next = cause.map(|(node, _)| node);
        }
        Some(Chain { links })
    }

    /// What a divergent branch costs.
    pub fn cost(&self, block: Block) -> Option<String> {
        if !self.divergence.is_divergent_branch(block) {
            return None;
        }
        let leaves = |cycle: Cycle| {
            let exits = self.divergence.exits(cycle).iter();
            exits.into_iter().any(|(edge, agreement)| edge.from == block && agreement.is_none())
        };
        Some(match self.control.cycles.cycles().any(leaves) {
            true => {
                "the loop runs until its last lane leaves it; lanes that have left wait under a mask".into()
            }
            false => {
                "both sides run, one after the other, each under the mask of the lanes that take it".into()
            }
        })
    }

    /// What could be changed so that the last link of a chain does not vary, if that is for the user to say.
    pub fn way_out(&self, chain: &Chain) -> Option<String> {
        let &(Node::Value(value), _) = chain.links.last()? else { return None };
        let name = self.func.describe(value);
        match self.func.value_def(value) {
            ValueDef::Param(_) => Some(format!("if {name} is the same for all lanes, declare it `uniform`")),
            ValueDef::Result(inst, _) => match self.func.inst(inst).op {
                Op::Call => {
                    let callee = self.func.callee_of(self.func.inst(inst))?;
                    Some(format!("define @{} in the same module, so that its result is known", callee.name))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The chain in words, with places in the source as the module names them.
    pub fn in_words<'b>(&'b self, chain: &'b Chain, module: Option<&'b Module>) -> InWords<'b> {
        InWords { all: self, chain, module }
    }
}

/// Whether lanes may differ on a value.
fn varies(divergence: &Divergence, value: Value) -> bool {
    let shape = divergence.shape(value);
    !shape.is_uniform() && !shape.is_undefined()
}

struct Search<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    divergence: &'a Divergence,
    uses: &'a Uses,
    /// What lanes that part, or leave a loop apart, lead to.
    outcomes: FxHashMap<Source, Vec<Outcome>>,
    /// Blocks that have one of these as their predicate.
    predicated: FxHashMap<Value, Vec<Block>>,
    cause: FxHashMap<Node, Option<(Node, Reason)>>,
    queue: std::collections::VecDeque<Node>,
}

impl<'a> Search<'a> {
    fn new(
        func: &'a Function,
        control: &'a ControlTables,
        divergence: &'a Divergence,
        uses: &'a Uses,
    ) -> Self {
        let mut outcomes: FxHashMap<Source, Vec<Outcome>> = FxHashMap::default();
        for &(source, outcome) in &divergence.outcomes {
            outcomes.entry(source).or_default().push(outcome);
        }
        let mut predicated: FxHashMap<Value, Vec<Block>> = FxHashMap::default();
        for &block in control.index.order() {
            if let Some(predicate) = func.predicate(block) {
                predicated.entry(predicate).or_default().push(block);
            }
        }
        Self {
            func,
            control,
            divergence,
            uses,
            outcomes,
            predicated,
            cause: FxHashMap::default(),
            queue: std::collections::VecDeque::new(),
        }
    }

    fn run(mut self) -> FxHashMap<Node, Option<(Node, Reason)>> {
        for &param in self.func.params() {
            self.add_source(param);
        }
        let insts = || self.control.index.order().iter().flat_map(|&block| self.func.block_insts(block));
        let all: Vec<Inst> = insts().collect();
        for &inst in &all {
            if self.is_source(inst) {
                self.func.results(inst).iter().for_each(|&result| self.add_source(result));
            }
        }
        self.drain();
        // What is left varies by an op of its own.
        for &inst in &all {
            for &result in self.func.results(inst) {
                self.add_source(result);
                self.drain();
            }
        }
        self.cause
    }

    fn add_source(&mut self, value: Value) {
        if varies(self.divergence, value) && !self.cause.contains_key(&Node::Value(value)) {
            self.cause.insert(Node::Value(value), None);
            self.queue.push_back(Node::Value(value));
        }
    }

    /// Whether results vary whatever the operands are.
    fn is_source(&self, inst: Inst) -> bool {
        let data = self.func.inst(inst);
        match data.op {
            Op::Lane | Op::LocalId | Op::GlobalId | Op::Launch | Op::AtomicRmw | Op::CompareExchange => true,
            Op::Call => !data.args.iter().any(|&arg| varies(self.divergence, arg)),
            Op::Load => {
                !varies(self.divergence, data.args[0]) && self.divergence.ssa.read_by(inst).is_empty()
            }
            _ => false,
        }
    }

    fn drain(&mut self) {
        while let Some(node) = self.queue.pop_front() {
            match node {
                Node::Value(value) => self.follow_value(value),
                Node::Branch(block) => self.reach(Node::Parting(block), node, Reason::Data),
                Node::Parting(block) => self.follow_source(Source::Branch(block), node),
                Node::Leaving(cycle) => self.follow_loop(cycle, node),
                Node::State(state) => self.follow_state(state, node),
                Node::Apart(block) => self.follow_apart(block, node),
            }
        }
    }

    fn reach(&mut self, effect: Node, cause: Node, reason: Reason) {
        let is_one = match effect {
            Node::Value(value) => varies(self.divergence, value),
            Node::State(state) => self.divergence.agreement[state.index()].is_none(),
            _ => true,
        };
        if is_one && !self.cause.contains_key(&effect) {
            self.cause.insert(effect, Some((cause, reason)));
            self.queue.push_back(effect);
        }
    }

    fn follow_value(&mut self, value: Value) {
        let node = Node::Value(value);
        for &user in self.uses.of(value) {
            let data = self.func.inst(user);
            let block = self.func.layout.block_of(user).expect("a user stands in a block");
            if data.op == Op::Br || data.op == Op::Switch {
                if self.divergence.is_divergent_branch(block) {
                    self.reach(Node::Branch(block), node, Reason::Data);
                }
                continue;
            }
            for &result in self.func.results(user) {
                self.reach(Node::Value(result), node, Reason::Data);
            }
            for &state in self.divergence.ssa.written_by(user) {
                self.reach(Node::State(state), node, Reason::Memory);
            }
        }
        for block in self.predicated.get(&value).cloned().unwrap_or_default() {
            self.reach(Node::Apart(block), node, Reason::Activation);
            for inst in self.func.block_insts(block) {
                for &state in self.divergence.ssa.written_by(inst) {
                    self.reach(Node::State(state), node, Reason::Activation);
                }
            }
        }
    }

    fn follow_source(&mut self, source: Source, node: Node) {
        for outcome in self.outcomes.get(&source).cloned().unwrap_or_default() {
            match outcome {
                Outcome::Mixes(inst) => {
                    for &result in self.func.results(inst) {
                        self.reach(Node::Value(result), node, Reason::Sync);
                    }
                }
                Outcome::MixesState(state) => self.reach(Node::State(state), node, Reason::Sync),
                Outcome::Leads(block) => self.reach(Node::Parting(block), node, Reason::Sync),
                Outcome::Leaves(cycle, _) => self.reach(Node::Leaving(cycle), node, Reason::Temporal),
                Outcome::RunsApart(block) => self.reach(Node::Apart(block), node, Reason::Activation),
            }
        }
    }

    fn follow_loop(&mut self, cycle: Cycle, node: Node) {
        let cycles = &self.control.cycles;
        let is_inside = |block: Option<Block>| block.is_some_and(|block| cycles.contains(cycle, block));
        let exits: Vec<_> = self
            .divergence
            .exits(cycle)
            .iter()
            .filter(|(_, agreement)| agreement.is_none())
            .map(|&(edge, _)| edge)
            .collect();
        for edge in exits {
            for inst in self.func.phis(edge.to) {
                let comes_from_inside = |value: Value| {
                    is_inside(self.func.def_inst(value).and_then(|inst| self.func.layout.block_of(inst)))
                };
                let data = self.func.inst(inst);
                if data.incoming().any(|(from, value)| from == edge.from && comes_from_inside(value)) {
                    for &result in self.func.results(inst) {
                        self.reach(Node::Value(result), node, Reason::Temporal);
                    }
                }
            }
            for &state in self.divergence.ssa.joined_at(edge.to) {
                self.reach(Node::State(state), node, Reason::Temporal);
            }
        }
        if !self.divergence.is_closed {
            for &block in cycles.blocks(cycle) {
                for inst in self.func.block_insts(block) {
                    for &value in self.func.results(inst) {
                        for &user in self.uses.of(value) {
                            let used_in = self.func.layout.block_of(user);
                            if is_inside(used_in) {
                                continue;
                            }
                            for &result in self.func.results(user) {
                                self.reach(Node::Value(result), node, Reason::Temporal);
                            }
                            if let Some(block) = used_in.filter(|&block| {
                                self.func.inst(user).op.is_terminator()
                                    && self.divergence.is_divergent_branch(block)
                            }) {
                                self.reach(Node::Branch(block), node, Reason::Temporal);
                            }
                        }
                    }
                }
            }
        }
        self.follow_source(Source::Loop(cycle), node);
        self.reach(Node::Apart(cycles.header(cycle)), node, Reason::Activation);
    }

    fn follow_state(&mut self, state: State, node: Node) {
        for &user in self.divergence.ssa.users(state) {
            match user {
                StateUser::State(state) => self.reach(Node::State(state), node, Reason::Memory),
                StateUser::Inst(inst) => {
                    for &result in self.func.results(inst) {
                        self.reach(Node::Value(result), node, Reason::Memory);
                    }
                    for &state in self.divergence.ssa.written_by(inst) {
                        self.reach(Node::State(state), node, Reason::Memory);
                    }
                }
            }
        }
    }

    fn follow_apart(&mut self, block: Block, node: Node) {
        for inst in self.func.block_insts(block) {
            let data = self.func.inst(inst);
            if data.op == Op::Mask || data.shadow().is_some() {
                for &result in self.func.results(inst) {
                    self.reach(Node::Value(result), node, Reason::Activation);
                }
            }
        }
        for &below in self.control.dominators.children(block) {
            if self.divergence.apart().contains(below) {
                self.reach(Node::Apart(below), node, Reason::Activation);
            }
        }
    }
}

/// A chain in words.
#[derive(Clone, Copy, Debug)]
pub struct InWords<'a> {
    all: &'a Explanations<'a>,
    chain: &'a Chain,
    module: Option<&'a Module>,
}

impl InWords<'_> {
    fn inst_of(&self, node: Node) -> Option<Inst> {
        let func = self.all.func;
        match node {
            Node::Value(value) => func.def_inst(value),
            Node::Branch(block) | Node::Parting(block) => func.terminator(block),
            Node::State(state) => match self.all.divergence.ssa.state(state).def {
                StateDef::Write { inst, .. } => Some(inst),
                _ => None,
            },
            Node::Leaving(_) | Node::Apart(_) => None,
        }
    }

    /// The line of a node, where it is known.
    fn line(&self, node: Node) -> String {
        let loc = self.inst_of(node).and_then(|inst| self.all.func.loc(inst));
        loc.map_or(String::new(), |loc| format!(" (line {})", loc.line))
    }

    fn source(&self, value: Value) -> String {
        let func = self.all.func;
        match func.value_def(value) {
            ValueDef::Param(_) => "a parameter that differs between lanes".into(),
            ValueDef::Result(inst, _) => match func.inst(inst).op {
                Op::Load => "a load from memory of which each lane has its own".into(),
                Op::Call | Op::Launch => {
                    let callee = func.callee_of(func.inst(inst)).map_or("?", |callee| &callee.name);
                    format!("a result of @{callee}, which is not known to be the same for all lanes")
                }
                op => format!("`{op}`"),
            },
            _ => "a constant".into(),
        }
    }

    fn state(&self, state: State) -> String {
        let ssa = &self.all.divergence.ssa;
        let slot = &ssa.slots()[ssa.state(state).slot.index()];
        let object =
            self.all.func.result(slot.alloca).map_or("?".into(), |value| self.all.func.describe(value));
        match &ssa.state(state).def {
            StateDef::Undefined => format!("what {object} holds at first"),
            StateDef::Write { inst, .. } => {
                let block =
                    self.all.func.layout.block_of(*inst).map_or("?".into(), |block| block.to_string());
                format!("what is written to {object} in {block}{}", self.line(Node::State(state)))
            }
            StateDef::Join { block, .. } => format!("what {object} holds at {block}"),
        }
    }

    fn is_same_in_words(&self, one: Value, other: Value) -> bool {
        let words = self.all.func.expression(one);
        words.is_some() && words == self.all.func.expression(other)
    }

    fn value(&self, value: Value) -> String {
        self.all.func.describe(value)
    }

    /// What a block branches on, in the words of the source; none if it has none.
    fn condition(&self, block: Block) -> Option<String> {
        let func = self.all.func;
        let condition = *func.inst(func.terminator(block)?).args.first()?;
        func.expression(condition)
    }

    fn branch(&self, block: Block) -> String {
        match self.condition(block) {
            Some(condition) => format!("the branch on `{condition}`"),
            None => format!("the branch of {block}"),
        }
    }

    /// A loop by the line that it starts at, if the source has names; by its header otherwise.
    fn cycle(&self, cycle: Cycle) -> String {
        let (func, header) = (self.all.func, self.all.control.cycles.header(cycle));
        let has_names = func.params().iter().any(|&param| func.name_of(param).is_some());
        let lines = func.block_insts(header).filter_map(|inst| func.loc(inst)).map(|loc| loc.line);
        match lines.filter(|&line| has_names && line > 0).min() {
            Some(line) => format!("the loop of line {line}"),
            None => format!("the loop of {header}"),
        }
    }

    /// The noun phrase of a node.
    fn name(&self, node: Node) -> String {
        match node {
            Node::Value(value) => format!("{}{}", self.value(value), self.line(node)),
            Node::Branch(block) | Node::Parting(block) => {
                format!("{}{}", self.branch(block), self.line(node))
            }
            Node::Leaving(cycle) => self.cycle(cycle),
            Node::State(state) => self.state(state),
            Node::Apart(block) => format!("{block}"),
        }
    }
}

impl fmt::Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links = &self.chain.links;
        let Some(&(first, _)) = links.first() else { return Ok(()) };
        if let Some(loc) = self.inst_of(first).and_then(|inst| self.all.func.loc(inst)) {
            let file = self.module.and_then(|module| module.files.get(loc.file)).map_or("?", String::as_str);
            write!(f, "{file}:{}:{}: ", loc.line, loc.column)?;
        }
        match first {
            Node::Branch(block) => {
                let on = match links.get(1) {
                    Some(&(Node::Value(value), _)) => {
                        format!(": {} differs between lanes", self.value(value))
                    }
                    _ => String::new(),
                };
                match self.condition(block) {
                    Some(_) => write!(f, "this branch diverges{on}")?,
                    None => write!(f, "the branch of {block} diverges{on}")?,
                }
            }
            Node::Value(value) => write!(f, "{} differs between lanes", self.value(value))?,
            other => write!(f, "lanes differ on {}", self.name(other))?,
        }
        let mut separator = "\n  because ";
        let mut in_data = false;
        for window in links.windows(2) {
            let [(effect, reason), (cause, _)] = window else { continue };
            let (effect, cause) = (*effect, *cause);
            // The headline has said this.
            if matches!((effect, cause), (Node::Branch(_), Node::Value(_)) if effect == first) {
                continue;
            }
            let was_in_data = std::mem::take(&mut in_data);
            match (effect, cause, reason) {
                // One variable of the source may be several values.
                (Node::Value(value), Node::Value(from), _)
                    if was_in_data && self.is_same_in_words(value, from) =>
                {
                    in_data = true;
                    continue;
                }
                (Node::Value(value), Node::Value(from), _) => {
                    let verb = if was_in_data { "on" } else { "depends on" };
                    let line = if was_in_data { String::new() } else { self.line(effect) };
                    write!(f, "{separator}{}{line} {verb} {}", self.value(value), self.value(from))?;
                    in_data = true;
                }
                (Node::Branch(block), Node::Value(value), _) => {
                    write!(f, "{separator}{} depends on {}", self.branch(block), self.value(value))?;
                    in_data = true;
                }
                (Node::Value(_), Node::Parting(_), _) => write!(
                    f,
                    "{separator}{} joins what lanes bring that part at {}",
                    self.name(effect),
                    self.name(cause)
                )?,
                (Node::Value(_), Node::Leaving(_), Some(Reason::Sync)) => write!(
                    f,
                    "{separator}{} joins what lanes bring that leave {} by different edges or rounds",
                    self.name(effect),
                    self.name(cause)
                )?,
                (Node::Leaving(_), Node::Parting(_), _) => {
                    write!(
                        f,
                        "{separator}lanes leave {} in different rounds by {}",
                        self.name(effect),
                        self.name(cause)
                    )?;
                }
                (Node::Leaving(_), _, _) => write!(
                    f,
                    "{separator}lanes leave {} in different rounds, as they do {}",
                    self.name(effect),
                    self.name(cause)
                )?,
                (_, Node::Leaving(_), Some(Reason::Temporal)) => write!(
                    f,
                    "{separator}{} is of the round in which a lane leaves {}",
                    self.name(effect),
                    self.name(cause)
                )?,
                (Node::Parting(_), Node::Branch(_), _) => continue,
                (Node::Parting(_), _, _) => write!(
                    f,
                    "{separator}lanes that part at {} come to {}",
                    self.name(cause),
                    self.name(effect)
                )?,
                (Node::Value(_), Node::State(_), _) => {
                    write!(f, "{separator}{} is loaded from {}", self.name(effect), self.name(cause))?;
                }
                (Node::State(_), Node::Value(_), Some(Reason::Activation)) => {
                    write!(
                        f,
                        "{separator}{} is only in lanes where {} holds",
                        self.name(effect),
                        self.name(cause)
                    )?;
                }
                (Node::State(_), Node::Value(_), _) => {
                    write!(f, "{separator}{} depends on {}", self.name(effect), self.name(cause))?;
                }
                (Node::State(_), Node::State(_), _) => {
                    write!(f, "{separator}{} holds {}", self.name(effect), self.name(cause))?;
                }
                (Node::State(_), _, _) => write!(
                    f,
                    "{separator}{} is written or not by lanes that part at {}",
                    self.name(effect),
                    self.name(cause)
                )?,
                (Node::Apart(block), _, _) => {
                    write!(
                        f,
                        "{separator}some lanes execute {block} without others, by {}",
                        self.name(cause)
                    )?;
                }
                (_, Node::Apart(block), _) => {
                    write!(f, "{separator}{} tells which lanes are in {block}", self.name(effect))?
                }
                _ => write!(f, "{separator}{} depends on {}", self.name(effect), self.name(cause))?,
            }
            separator = ", ";
        }
        if let Some(&(Node::Value(value), _)) = links.last() {
            let separator = if separator == ", " { ", and " } else { separator };
            write!(f, "{separator}{} is {}", self.value(value), self.source(value))?;
        }
        Ok(())
    }
}

/// The nodes that vary without an explanation: none, if all is well.
pub fn unexplained(func: &Function, control: &ControlTables, divergence: &Divergence) -> Vec<Node> {
    let all = Explanations::new(func, control, divergence);
    let mut seen: EntitySet<Value> = EntitySet::new();
    let insts = control.index.order().iter().flat_map(|&block| func.block_insts(block));
    let values = insts.flat_map(|inst| func.results(inst).iter().copied());
    let values = values.filter(|&value| seen.insert(value) && varies(divergence, value)).map(Node::Value);
    let blocks = control.index.order().iter().copied();
    let branches = blocks.filter(|&block| divergence.is_divergent_branch(block)).map(Node::Branch);
    values.chain(branches).filter(|&node| all.chain(node).is_none()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Geometry;
    use crate::{InitialShapes, divergence};
    use heddle_ir::parse_bytes;

    #[test]
    fn lanes_that_leave_two_loops_at_once_are_told_of_both() {
        let text = "func @f(v0: i32 varying, v1: i32 uniform) -> i32 {
            block0:
              br block1
            block1:
              v2 = phi i32 [block0: 0], [block4: v6]
              br block2
            block2:
              v3 = phi i32 [block1: 0], [block3: v4]
              v7 = icmp eq v3, v0
              br v7, block5, block3
            block3:
              v4 = add v3, 1
              v5 = icmp ult v4, v1
              br v5, block2, block4
            block4:
              v6 = add v2, 1
              br block1
            block5:
              v8 = phi i32 [block2: v2]
              ret v8
            }";
        let module = parse_bytes(text.as_bytes()).expect("it is well-formed");
        let func = &module.functions[0];
        let control = ControlTables::new(func);
        let found = divergence(func, &control, &InitialShapes::declared(func, Geometry::lanes(4)));
        let why = Explanations::new(func, &control, &found);
        let last =
            func.blocks().last().and_then(|block| func.phis(block).next()).expect("a φ stands at the end");
        let chain = why.of_value(func.results(last)[0]).expect("it varies");
        let told = why.in_words(&chain, None).to_string();
        assert!(
            told.contains(
                "is of the round in which a lane leaves the loop of block1, lanes leave the loop of block1 in different \
                 rounds, as they do the loop of block2, lanes leave the loop of block2 in different rounds by"
            ),
            "{told}"
        );
    }

    #[test]
    fn what_varies_without_a_source_is_told() {
        let text = "func @f() -> i32 {\nblock0:\n  v0 = lane i32\n  v1 = add v0, 1\n  v2 = icmp ult v1, 3\n  \
                    br v2, block1, block2\nblock1:\n  br block2\nblock2:\n  ret v1\n}\n";
        let module = parse_bytes(text.as_bytes()).expect("it is well-formed");
        let func = &module.functions[0];
        let control = ControlTables::new(func);
        let found = divergence(func, &control, &InitialShapes::declared(func, Geometry::lanes(4)));
        assert_eq!(unexplained(func, &control, &found), []);
        // The same facts, where lanes have nothing to part by.
        let mut other = func.clone();
        let branch = func.terminator(func.entry()).expect("a block ends");
        other.inst_mut(branch).args[0] = other.make_bool(true);
        assert_eq!(unexplained(&other, &control, &found), [Node::Branch(func.entry())]);
    }
}
