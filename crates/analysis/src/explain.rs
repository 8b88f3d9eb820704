//! Explanations of divergence: a shortest chain of causes for each varying value and divergent branch.
//!
//! The dependences that the fixpoint recorded form a graph from causes to effects. Its sources are values that vary
//! without a varying operand: the lane index, varying parameters, results of atomics and calls. One breadth-first search
//! from all sources gives every other node a cause that is closer to a source.
//!
//! ```text
//! values ─► branch ─► region ─► values (φs)             data dependence; a divergent branch has an influence region,
//!   │                    │  └──► loop ─► values          whose joins mix values and whose loop exits are divergent
//!   └─► states ─► values └─────► block ─► values         (memory dependence; activation of blocks)
//! ```

use std::fmt;

use heddle_ir::entity::{Entity, EntitySet};
use heddle_ir::module::Module;
use heddle_ir::{Block, Function, Inst, Op, Value, ValueDef};
use rustc_hash::FxHashMap;

use crate::alloca_ssa::{SlotState, SlotStateDef, SlotStateUser};
use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::divergence::{Divergence, DivergenceEffect, DivergenceOrigin};
use crate::uses::UseLists;

/// Node of the cause graph: an entity that varies, or that makes others vary.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CauseNode {
    /// Varying value.
    Value(Value),
    /// Divergent branch of a block.
    Branch(Block),
    /// Influence region of a divergent branch, alone or as a part of another region.
    InfluenceRegion(Block),
    /// Loop with a divergent exit.
    DivergentLoop(Cycle),
    /// Contents of a private object.
    State(SlotState),
    /// Block that may run without some lanes.
    PartialBlock(Block),
}

/// Kind of dependence of an effect on its cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DependenceKind {
    /// Data dependence.
    Data,
    /// Sync dependence: diverged lanes meet.
    Sync,
    /// Temporal dependence: lanes come from different iterations of a loop.
    Temporal,
    /// The cause determines the active lanes.
    Activation,
    /// Store to or load from private memory.
    Memory,
}

/// Chain of causes from an effect to a source of divergence, each with its dependence on the next one. The last node has
/// no cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CauseChain {
    /// The explained node, followed by the cause of each node.
    pub links: Vec<(CauseNode, Option<DependenceKind>)>,
}

/// Causes of everything that varies in a function.
#[derive(Clone, Debug)]
pub struct DivergenceExplanations<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    divergence: &'a Divergence,
    cause: FxHashMap<CauseNode, Option<(CauseNode, DependenceKind)>>,
}

impl<'a> DivergenceExplanations<'a> {
    /// Searches a shortest chain for every varying node.
    pub fn new(func: &'a Function, control: &'a ControlTables, divergence: &'a Divergence) -> Self {
        let uses = UseLists::new(func, control);
        let search = CauseSearch::new(func, control, divergence, &uses);
        let cause = search.run();
        Self { func, control, divergence, cause }
    }

    /// Returns the chain from a varying value to a source; none if the value is uniform.
    pub fn of_value(&self, value: Value) -> Option<CauseChain> {
        self.chain(CauseNode::Value(value))
    }

    /// Returns the chain from a divergent branch to a source; none if the branch is uniform.
    pub fn of_branch(&self, block: Block) -> Option<CauseChain> {
        self.chain(CauseNode::Branch(block))
    }

    /// Returns the chain of any node.
    pub fn chain(&self, node: CauseNode) -> Option<CauseChain> {
        let mut links = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next {
            let cause = *self.cause.get(&node)?;
            links.push((node, cause.map(|(_, reason)| reason)));
            next = cause.map(|(node, _)| node);
        }
        Some(CauseChain { links })
    }

    /// Returns a description of the cost of a divergent branch.
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

    /// Returns a change by the user that makes the last node of a chain uniform, if there is one.
    pub fn help(&self, chain: &CauseChain) -> Option<String> {
        let &(CauseNode::Value(value), _) = chain.links.last()? else { return None };
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

    /// Displays the chain, with source locations in the module's files.
    pub fn display<'b>(&'b self, chain: &'b CauseChain, module: Option<&'b Module>) -> CauseChainDisplay<'b> {
        CauseChainDisplay { all: self, chain, module }
    }
}

/// True if lanes may differ on a value.
fn varies(divergence: &Divergence, value: Value) -> bool {
    let shape = divergence.shape(value);
    !shape.is_uniform() && !shape.is_undefined()
}

struct CauseSearch<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    divergence: &'a Divergence,
    uses: &'a UseLists,
    /// Effects of divergent branches and loop exits.
    effects: FxHashMap<DivergenceOrigin, Vec<DivergenceEffect>>,
    /// Blocks by predicate.
    predicated: FxHashMap<Value, Vec<Block>>,
    cause: FxHashMap<CauseNode, Option<(CauseNode, DependenceKind)>>,
    queue: std::collections::VecDeque<CauseNode>,
}

impl<'a> CauseSearch<'a> {
    fn new(
        func: &'a Function,
        control: &'a ControlTables,
        divergence: &'a Divergence,
        uses: &'a UseLists,
    ) -> Self {
        let mut effects: FxHashMap<DivergenceOrigin, Vec<DivergenceEffect>> = FxHashMap::default();
        for &(source, effect) in &divergence.effects {
            effects.entry(source).or_default().push(effect);
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
            effects,
            predicated,
            cause: FxHashMap::default(),
            queue: std::collections::VecDeque::new(),
        }
    }

    fn run(mut self) -> FxHashMap<CauseNode, Option<(CauseNode, DependenceKind)>> {
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
        // Any other varying value varies through its own op.
        for &inst in &all {
            for &result in self.func.results(inst) {
                self.add_source(result);
                self.drain();
            }
        }
        self.cause
    }

    fn add_source(&mut self, value: Value) {
        if varies(self.divergence, value) && !self.cause.contains_key(&CauseNode::Value(value)) {
            self.cause.insert(CauseNode::Value(value), None);
            self.queue.push_back(CauseNode::Value(value));
        }
    }

    /// True if the results vary independently of the operands.
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
                CauseNode::Value(value) => self.follow_value(value),
                CauseNode::Branch(block) => {
                    self.reach(CauseNode::InfluenceRegion(block), node, DependenceKind::Data)
                }
                CauseNode::InfluenceRegion(block) => {
                    self.follow_source(DivergenceOrigin::Branch(block), node)
                }
                CauseNode::DivergentLoop(cycle) => self.follow_loop(cycle, node),
                CauseNode::State(state) => self.follow_state(state, node),
                CauseNode::PartialBlock(block) => self.follow_apart(block, node),
            }
        }
    }

    fn reach(&mut self, effect: CauseNode, cause: CauseNode, reason: DependenceKind) {
        let is_one = match effect {
            CauseNode::Value(value) => varies(self.divergence, value),
            CauseNode::State(state) => self.divergence.state_agreements[state.index()].is_none(),
            _ => true,
        };
        if is_one && !self.cause.contains_key(&effect) {
            self.cause.insert(effect, Some((cause, reason)));
            self.queue.push_back(effect);
        }
    }

    fn follow_value(&mut self, value: Value) {
        let node = CauseNode::Value(value);
        for &user in self.uses.of(value) {
            let data = self.func.inst(user);
            let block = self.func.layout.block_of(user).expect("a user stands in a block");
            if data.op == Op::Br || data.op == Op::Switch {
                if self.divergence.is_divergent_branch(block) {
                    self.reach(CauseNode::Branch(block), node, DependenceKind::Data);
                }
                continue;
            }
            for &result in self.func.results(user) {
                self.reach(CauseNode::Value(result), node, DependenceKind::Data);
            }
            for &state in self.divergence.ssa.written_by(user) {
                self.reach(CauseNode::State(state), node, DependenceKind::Memory);
            }
        }
        for block in self.predicated.get(&value).cloned().unwrap_or_default() {
            self.reach(CauseNode::PartialBlock(block), node, DependenceKind::Activation);
            for inst in self.func.block_insts(block) {
                for &state in self.divergence.ssa.written_by(inst) {
                    self.reach(CauseNode::State(state), node, DependenceKind::Activation);
                }
            }
        }
    }

    fn follow_source(&mut self, source: DivergenceOrigin, node: CauseNode) {
        for effect in self.effects.get(&source).cloned().unwrap_or_default() {
            match effect {
                DivergenceEffect::MixedPhi(inst) => {
                    for &result in self.func.results(inst) {
                        self.reach(CauseNode::Value(result), node, DependenceKind::Sync);
                    }
                }
                DivergenceEffect::MixedState(state) => {
                    self.reach(CauseNode::State(state), node, DependenceKind::Sync)
                }
                DivergenceEffect::ContinuesAt(block) => {
                    self.reach(CauseNode::InfluenceRegion(block), node, DependenceKind::Sync)
                }
                DivergenceEffect::DivergentExit(cycle, _) => {
                    self.reach(CauseNode::DivergentLoop(cycle), node, DependenceKind::Temporal)
                }
                DivergenceEffect::PartialBlock(block) => {
                    self.reach(CauseNode::PartialBlock(block), node, DependenceKind::Activation)
                }
            }
        }
    }

    fn follow_loop(&mut self, cycle: Cycle, node: CauseNode) {
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
                        self.reach(CauseNode::Value(result), node, DependenceKind::Temporal);
                    }
                }
            }
            for &state in self.divergence.ssa.joined_at(edge.to) {
                self.reach(CauseNode::State(state), node, DependenceKind::Temporal);
            }
        }
        if !self.divergence.is_lcssa {
            for &block in cycles.blocks(cycle) {
                for inst in self.func.block_insts(block) {
                    for &value in self.func.results(inst) {
                        for &user in self.uses.of(value) {
                            let used_in = self.func.layout.block_of(user);
                            if is_inside(used_in) {
                                continue;
                            }
                            for &result in self.func.results(user) {
                                self.reach(CauseNode::Value(result), node, DependenceKind::Temporal);
                            }
                            if let Some(block) = used_in.filter(|&block| {
                                self.func.inst(user).op.is_terminator()
                                    && self.divergence.is_divergent_branch(block)
                            }) {
                                self.reach(CauseNode::Branch(block), node, DependenceKind::Temporal);
                            }
                        }
                    }
                }
            }
        }
        self.follow_source(DivergenceOrigin::Loop(cycle), node);
        self.reach(CauseNode::PartialBlock(cycles.header(cycle)), node, DependenceKind::Activation);
    }

    fn follow_state(&mut self, state: SlotState, node: CauseNode) {
        for &user in self.divergence.ssa.users(state) {
            match user {
                SlotStateUser::State(state) => {
                    self.reach(CauseNode::State(state), node, DependenceKind::Memory)
                }
                SlotStateUser::Inst(inst) => {
                    for &result in self.func.results(inst) {
                        self.reach(CauseNode::Value(result), node, DependenceKind::Memory);
                    }
                    for &state in self.divergence.ssa.written_by(inst) {
                        self.reach(CauseNode::State(state), node, DependenceKind::Memory);
                    }
                }
            }
        }
    }

    fn follow_apart(&mut self, block: Block, node: CauseNode) {
        for inst in self.func.block_insts(block) {
            let data = self.func.inst(inst);
            if data.op == Op::Mask || data.shadow().is_some() {
                for &result in self.func.results(inst) {
                    self.reach(CauseNode::Value(result), node, DependenceKind::Activation);
                }
            }
        }
        for &below in self.control.dominators.children(block) {
            if self.divergence.partial_blocks().contains(below) {
                self.reach(CauseNode::PartialBlock(below), node, DependenceKind::Activation);
            }
        }
    }
}

/// Display adapter of a chain.
#[derive(Clone, Copy, Debug)]
pub struct CauseChainDisplay<'a> {
    all: &'a DivergenceExplanations<'a>,
    chain: &'a CauseChain,
    module: Option<&'a Module>,
}

impl CauseChainDisplay<'_> {
    fn inst_of(&self, node: CauseNode) -> Option<Inst> {
        let func = self.all.func;
        match node {
            CauseNode::Value(value) => func.def_inst(value),
            CauseNode::Branch(block) | CauseNode::InfluenceRegion(block) => func.terminator(block),
            CauseNode::State(state) => match self.all.divergence.ssa.state(state).def {
                SlotStateDef::Write { inst, .. } => Some(inst),
                _ => None,
            },
            CauseNode::DivergentLoop(_) | CauseNode::PartialBlock(_) => None,
        }
    }

    /// Returns the source line of a node, if known.
    fn line(&self, node: CauseNode) -> String {
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

    fn state(&self, state: SlotState) -> String {
        let ssa = &self.all.divergence.ssa;
        let slot = &ssa.slots()[ssa.state(state).slot.index()];
        let object =
            self.all.func.result(slot.alloca).map_or("?".into(), |value| self.all.func.describe(value));
        match &ssa.state(state).def {
            SlotStateDef::Undefined => format!("what {object} holds at first"),
            SlotStateDef::Write { inst, .. } => {
                let block =
                    self.all.func.layout.block_of(*inst).map_or("?".into(), |block| block.to_string());
                format!("what is written to {object} in {block}{}", self.line(CauseNode::State(state)))
            }
            SlotStateDef::Join { block, .. } => format!("what {object} holds at {block}"),
        }
    }

    fn is_same_in_words(&self, one: Value, other: Value) -> bool {
        let words = self.all.func.expression(one);
        words.is_some() && words == self.all.func.expression(other)
    }

    fn value(&self, value: Value) -> String {
        self.all.func.describe(value)
    }

    /// Returns the condition of a block's branch as a source expression, if it has one.
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

    /// Names a loop by its first source line if the source has names, else by its header.
    fn cycle(&self, cycle: Cycle) -> String {
        let (func, header) = (self.all.func, self.all.control.cycles.header(cycle));
        let has_names = func.params().iter().any(|&param| func.name_of(param).is_some());
        let lines = func.block_insts(header).filter_map(|inst| func.loc(inst)).map(|loc| loc.line);
        match lines.filter(|&line| has_names && line > 0).min() {
            Some(line) => format!("the loop of line {line}"),
            None => format!("the loop of {header}"),
        }
    }

    /// Returns the noun phrase for a node.
    fn name(&self, node: CauseNode) -> String {
        match node {
            CauseNode::Value(value) => format!("{}{}", self.value(value), self.line(node)),
            CauseNode::Branch(block) | CauseNode::InfluenceRegion(block) => {
                format!("{}{}", self.branch(block), self.line(node))
            }
            CauseNode::DivergentLoop(cycle) => self.cycle(cycle),
            CauseNode::State(state) => self.state(state),
            CauseNode::PartialBlock(block) => format!("{block}"),
        }
    }
}

impl fmt::Display for CauseChainDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links = &self.chain.links;
        let Some(&(first, _)) = links.first() else { return Ok(()) };
        if let Some(loc) = self.inst_of(first).and_then(|inst| self.all.func.loc(inst)) {
            let file = self.module.and_then(|module| module.files.get(loc.file)).map_or("?", String::as_str);
            write!(f, "{file}:{}:{}: ", loc.line, loc.column)?;
        }
        match first {
            CauseNode::Branch(block) => {
                let on = match links.get(1) {
                    Some(&(CauseNode::Value(value), _)) => {
                        format!(": {} differs between lanes", self.value(value))
                    }
                    _ => String::new(),
                };
                match self.condition(block) {
                    Some(_) => write!(f, "this branch diverges{on}")?,
                    None => write!(f, "the branch of {block} diverges{on}")?,
                }
            }
            CauseNode::Value(value) => write!(f, "{} differs between lanes", self.value(value))?,
            other => write!(f, "lanes differ on {}", self.name(other))?,
        }
        let mut separator = "\n  because ";
        let mut in_data = false;
        for window in links.windows(2) {
            let [(effect, reason), (cause, _)] = window else { continue };
            let (effect, cause) = (*effect, *cause);
            // The headline contains this link.
            if matches!((effect, cause), (CauseNode::Branch(_), CauseNode::Value(_)) if effect == first) {
                continue;
            }
            let was_in_data = std::mem::take(&mut in_data);
            match (effect, cause, reason) {
                // Several values may stand for one source variable.
                (CauseNode::Value(value), CauseNode::Value(from), _)
                    if was_in_data && self.is_same_in_words(value, from) =>
                {
                    in_data = true;
                    continue;
                }
                (CauseNode::Value(value), CauseNode::Value(from), _) => {
                    let verb = if was_in_data { "on" } else { "depends on" };
                    let line = if was_in_data { String::new() } else { self.line(effect) };
                    write!(f, "{separator}{}{line} {verb} {}", self.value(value), self.value(from))?;
                    in_data = true;
                }
                (CauseNode::Branch(block), CauseNode::Value(value), _) => {
                    write!(f, "{separator}{} depends on {}", self.branch(block), self.value(value))?;
                    in_data = true;
                }
                (CauseNode::Value(_), CauseNode::InfluenceRegion(_), _) => write!(
                    f,
                    "{separator}{} is a φ of lanes that diverge at {}",
                    self.name(effect),
                    self.name(cause)
                )?,
                (CauseNode::Value(_), CauseNode::DivergentLoop(_), Some(DependenceKind::Sync)) => write!(
                    f,
                    "{separator}{} is a φ of lanes that leave {} by different edges or in different iterations",
                    self.name(effect),
                    self.name(cause)
                )?,
                (CauseNode::DivergentLoop(_), CauseNode::InfluenceRegion(_), _) => {
                    write!(
                        f,
                        "{separator}lanes leave {} in different iterations by {}",
                        self.name(effect),
                        self.name(cause)
                    )?;
                }
                (CauseNode::DivergentLoop(_), _, _) => write!(
                    f,
                    "{separator}lanes leave {} in different iterations, as they do {}",
                    self.name(effect),
                    self.name(cause)
                )?,
                (_, CauseNode::DivergentLoop(_), Some(DependenceKind::Temporal)) => write!(
                    f,
                    "{separator}{} belongs to the iteration in which a lane leaves {}",
                    self.name(effect),
                    self.name(cause)
                )?,
                (CauseNode::InfluenceRegion(_), CauseNode::Branch(_), _) => continue,
                (CauseNode::InfluenceRegion(_), _, _) => write!(
                    f,
                    "{separator}lanes that diverge at {} reach {}",
                    self.name(cause),
                    self.name(effect)
                )?,
                (CauseNode::Value(_), CauseNode::State(_), _) => {
                    write!(f, "{separator}{} is loaded from {}", self.name(effect), self.name(cause))?;
                }
                (CauseNode::State(_), CauseNode::Value(_), Some(DependenceKind::Activation)) => {
                    write!(
                        f,
                        "{separator}{} is defined only in lanes where {} holds",
                        self.name(effect),
                        self.name(cause)
                    )?;
                }
                (CauseNode::State(_), CauseNode::Value(_), _) => {
                    write!(f, "{separator}{} depends on {}", self.name(effect), self.name(cause))?;
                }
                (CauseNode::State(_), CauseNode::State(_), _) => {
                    write!(f, "{separator}{} holds {}", self.name(effect), self.name(cause))?;
                }
                (CauseNode::State(_), _, _) => write!(
                    f,
                    "{separator}{} is written conditionally by lanes that diverge at {}",
                    self.name(effect),
                    self.name(cause)
                )?,
                (CauseNode::PartialBlock(block), _, _) => {
                    write!(
                        f,
                        "{separator}some lanes execute {block} without others, by {}",
                        self.name(cause)
                    )?;
                }
                (_, CauseNode::PartialBlock(block), _) => {
                    write!(f, "{separator}{} depends on the active lanes of {block}", self.name(effect))?
                }
                _ => write!(f, "{separator}{} depends on {}", self.name(effect), self.name(cause))?,
            }
            separator = ", ";
        }
        if let Some(&(CauseNode::Value(value), _)) = links.last() {
            let separator = if separator == ", " { ", and " } else { separator };
            write!(f, "{separator}{} is {}", self.value(value), self.source(value))?;
        }
        Ok(())
    }
}

/// Returns the varying nodes without an explanation; empty unless the analysis has a bug.
pub fn find_unexplained(func: &Function, control: &ControlTables, divergence: &Divergence) -> Vec<CauseNode> {
    let all = DivergenceExplanations::new(func, control, divergence);
    let mut seen: EntitySet<Value> = EntitySet::new();
    let insts = control.index.order().iter().flat_map(|&block| func.block_insts(block));
    let values = insts.flat_map(|inst| func.results(inst).iter().copied());
    let values =
        values.filter(|&value| seen.insert(value) && varies(divergence, value)).map(CauseNode::Value);
    let blocks = control.index.order().iter().copied();
    let branches = blocks.filter(|&block| divergence.is_divergent_branch(block)).map(CauseNode::Branch);
    values.chain(branches).filter(|&node| all.chain(node).is_none()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Geometry;
    use crate::{InitialShapes, divergence};
    use heddle_ir::parse_bytes;

    #[test]
    fn lanes_that_leave_two_loops_at_once_are_explained_by_both() {
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
        let why = DivergenceExplanations::new(func, &control, &found);
        let last =
            func.blocks().last().and_then(|block| func.phis(block).next()).expect("a φ stands at the end");
        let chain = why.of_value(func.results(last)[0]).expect("it varies");
        let message = why.display(&chain, None).to_string();
        assert!(
            message.contains(
                "belongs to the iteration in which a lane leaves the loop of block1, lanes leave the loop of block1 in different \
                 iterations, as they do the loop of block2, lanes leave the loop of block2 in different iterations by"
            ),
            "{message}"
        );
    }

    #[test]
    fn values_without_a_source_location_are_explained() {
        let text = "func @f() -> i32 {\nblock0:\n  v0 = lane i32\n  v1 = add v0, 1\n  v2 = icmp ult v1, 3\n  \
                    br v2, block1, block2\nblock1:\n  br block2\nblock2:\n  ret v1\n}\n";
        let module = parse_bytes(text.as_bytes()).expect("it is well-formed");
        let func = &module.functions[0];
        let control = ControlTables::new(func);
        let found = divergence(func, &control, &InitialShapes::declared(func, Geometry::lanes(4)));
        assert_eq!(find_unexplained(func, &control, &found), []);
        // Identical facts with a constant branch condition.
        let mut other = func.clone();
        let branch = func.terminator(func.entry()).expect("a block ends");
        other.inst_mut(branch).args[0] = other.make_bool(true);
        assert_eq!(find_unexplained(&other, &control, &found), [CauseNode::Branch(func.entry())]);
    }
}
