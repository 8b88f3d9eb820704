//! Divergence: the shape of every value, and which branches, loop exits and private objects lanes share.
//!
//! An optimistic fixpoint: nothing is reached and all lanes agree, until an instruction says otherwise (thesis 6.4).
//! What makes a value vary:
//!
//! * *data*: its operands ([`transfer`]);
//! * *sync dependence*: it is a φ where lanes meet that have parted, and different values come along their edges;
//! * *temporal dependence*: it was defined in a loop that lanes leave in different rounds, and is used outside;
//! * *activation*: it tells which lanes are active (`mask`, a shadow), and some lanes come here without others;
//! * *memory*: it is loaded from where each lane has its own.
//!
//! Lanes that are in a loop together share its round. So in a divergent loop values stay uniform, and vary behind it.
//! Every branch that is not uniform has its parting (see [`SyncDependence`]) applied once, later blocks first, so that
//! partings are shared; each loop that lanes leave apart acts like a branch with many targets.
//!
//! What holds for lanes of a brush holds for brushes of a work-group too, and for groups of a launch: a branch that is
//! uniform in the brush only parts the brushes. So each effect has a *limit*, the widest level at which lanes still
//! agree, none if not even those of a brush do.
//!
//! Masks: a shape speaks of the lanes in its instruction's definition mask that do not hold ⊤ (see [`shape`]). An operand
//! that was defined under a smaller mask than its use's counts as possibly ⊤.
//!
//! Requires a reducible function. Values may be used outside of the loop that defines them; with LCSSA, what varies
//! behind the loop and what does not is told apart by names.
//!
//! After: Moll, thesis, chapter 6. Differs in: the stride lattice; levels; exits apart from each other; φs whose edges
//! from parted lanes bring one value, or ⊤ beside it, and exit φs of values from outside of the loop, do not vary;
//! states of private objects have shapes, not just objects; activation is transitive and inherited by dominance.
//!
//! [`shape`]: crate::shape

use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use heddle_ir::entity::{Entity, EntitySet, SecondaryMap};
use heddle_ir::module::{DeclaredShape, Kind};
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Constant, Function, Inst, Op, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::alloca_ssa::{self, AllocaSsa, Slot, State, StateDef, StateUser};
use crate::cfg::Edge;
use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::dominators::PostDominators;
use crate::shape::{
    Activation, Contents, Context, Domain, Fact, Geometry, Level, Poison, Shape, declared_fact, transfer,
};
use crate::sync_dependence::{Join, Parting, SyncDependence};
use crate::uses::Uses;

/// The widest level at which lanes agree; none if those of a brush may not.
pub type Agreement = Option<Level>;

/// All lanes of the launch agree.
pub const ALL_AGREE: Agreement = Some(Level::Launch);

/// What is known before.
#[derive(Clone, Debug)]
pub struct InitialShapes {
    /// Of each parameter.
    pub params: Vec<Fact>,
    /// The lanes' places.
    pub geometry: Geometry,
    /// Which lanes enter the function.
    pub entry: Activation,
}

impl InitialShapes {
    /// What the function itself declares; of a kernel, parameters are the same for the whole launch. Any lanes may
    /// enter.
    pub fn declared(func: &Function, geometry: Geometry) -> Self {
        Self::with(func, geometry, None)
    }

    /// The same, and parameters of which nothing is declared are uniform.
    pub fn uniform(func: &Function, geometry: Geometry) -> Self {
        Self::with(func, geometry, Some(DeclaredShape::Uniform))
    }

    fn with(func: &Function, geometry: Geometry, otherwise: Option<DeclaredShape>) -> Self {
        let is_kernel = matches!(func.kind, Kind::Kernel(_));
        let otherwise = if is_kernel { Some(DeclaredShape::Uniform) } else { otherwise };
        let context = Context::new(geometry.clone());
        let params = func.signature.params.iter().map(|param| {
            let shape = param.shape.as_ref().or(otherwise.as_ref());
            let fact = declared_fact(param.ty, shape, param.align, &context);
            if is_kernel && fact.is_uniform() { fact.at(Level::Launch) } else { fact }
        });
        Self { params: params.collect(), geometry, entry: Activation::Varying }
    }

    /// The same, entered by these lanes.
    #[must_use]
    pub fn entered_by(self, entry: Activation) -> Self {
        Self { entry, ..self }
    }
}

/// What a slot of a private object is to the lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotFact {
    /// The `alloca` that makes the object.
    pub alloca: Inst,
    /// The bytes of it.
    pub bytes: std::ops::Range<u64>,
    /// The level up to which one copy can serve all lanes; none if each lane needs its own.
    pub shared: Agreement,
}

/// What becomes of lanes that part, as the fixpoint came upon it. Chains of causes are built of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// They meet at this φ with different values.
    Mixes(Inst),
    /// The same for a state.
    MixesState(State),
    /// They do what lanes do that part at this branch.
    Leads(Block),
    /// They leave a loop apart by this exit.
    Leaves(Cycle, u32),
    /// Some execute this block without others.
    RunsApart(Block),
}

/// Where lanes part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Source {
    /// At a branch.
    Branch(Block),
    /// Behind a loop.
    Loop(Cycle),
}

/// Shapes of values, verdicts on branches, loops, blocks and private objects.
#[derive(Clone, Debug)]
pub struct Divergence {
    facts: SecondaryMap<Value, Fact>,
    branches: SecondaryMap<Block, Agreement>,
    exits: Vec<Vec<(Edge, Agreement)>>,
    apart: EntitySet<Block>,
    activation: SecondaryMap<Block, Activation>,
    slots: Vec<SlotFact>,
    pub(crate) ssa: AllocaSsa,
    pub(crate) agreement: Vec<Agreement>,
    pub(crate) outcomes: Vec<(Source, Outcome)>,
    pub(crate) is_closed: bool,
}

impl Divergence {
    /// What is known of a value, where its instruction is executed.
    pub fn fact(&self, value: Value) -> Fact {
        self.facts[value]
    }

    /// The shape of a value, where its instruction is executed.
    pub fn shape(&self, value: Value) -> Shape {
        self.facts[value].shape
    }

    /// What is known of a value at a use in this block: of one from a loop that lanes leave apart less than inside.
    pub fn fact_at(&self, func: &Function, control: &ControlTables, value: Value, block: Block) -> Fact {
        let limit = left_limit(func, control, value, block, |cycle| self.loop_agreement(cycle));
        temporal(self.facts[value], limit, Domain::of(func.value_type(value)))
    }

    /// The widest level at which lanes agree on where a block's branch goes.
    pub fn branch(&self, block: Block) -> Agreement {
        self.branches[block]
    }

    /// Whether active lanes may part at a block's branch.
    pub fn is_divergent_branch(&self, block: Block) -> bool {
        self.branches[block].is_none()
    }

    /// The edges that leave a loop, each with the widest level at which lanes take it in the same round.
    pub fn exits(&self, cycle: Cycle) -> &[(Edge, Agreement)] {
        &self.exits[cycle.index()]
    }

    /// The widest level at which lanes leave a loop in the same round.
    pub fn loop_agreement(&self, cycle: Cycle) -> Agreement {
        self.exits[cycle.index()].iter().map(|&(_, agreement)| agreement).min().unwrap_or(ALL_AGREE)
    }

    /// Whether lanes may leave a loop in different rounds.
    pub fn is_divergent_loop(&self, cycle: Cycle) -> bool {
        self.loop_agreement(cycle).is_none()
    }

    /// Which of the lanes that entered the function are active in a block. `Full`: all of them, in every run that
    /// returns. `Uniform`: all, whenever control comes here without its predicate being false for all.
    pub fn activation(&self, block: Block) -> Activation {
        self.activation[block]
    }

    /// Which of the lanes that entered the function go along an edge, whenever one of them does.
    pub fn edge_activation(&self, func: &Function, edge: Edge) -> Activation {
        let is_only = func.successors(edge.from).iter().all(|&to| to == edge.to);
        match self.activation[edge.from] {
            activation if is_only => activation,
            Activation::Varying => Activation::Varying,
            _ if self.is_divergent_branch(edge.from) => Activation::Varying,
            _ => Activation::Uniform,
        }
    }

    /// The private objects that do not escape, cut as far as their accesses allow.
    pub fn slots(&self) -> &[SlotFact] {
        &self.slots
    }

    /// The level up to which one copy of an object can serve all lanes.
    pub fn object(&self, alloca: Inst) -> Agreement {
        let escapes = self.ssa.points_to.objects().iter().any(|it| it.alloca == alloca && it.escapes);
        let slots = self.slots.iter().filter(|slot| slot.alloca == alloca).map(|slot| slot.shared);
        if escapes { None } else { slots.min().unwrap_or(ALL_AGREE) }
    }

    /// The level up to which one copy can serve all lanes of each private object that this pointer may point to: none if
    /// that may be no object that is followed.
    pub fn shared_memory(&self, pointer: Value) -> Agreement {
        let targets = self.ssa.points_to.targets(pointer);
        if targets.unknown || targets.known.is_empty() {
            return None;
        }
        let objects = targets.known.iter().map(|target| &self.ssa.points_to.objects()[target.object.index()]);
        objects.map(|object| self.object(object.alloca)).min().unwrap_or(None)
    }

    /// The blocks that some lanes execute without others.
    pub(crate) fn apart(&self) -> &EntitySet<Block> {
        &self.apart
    }
}

/// The level at which lanes agree on a value: one that nobody holds divides nobody.
pub(crate) fn agreement_on(fact: Fact) -> Agreement {
    if fact.shape.is_undefined() { ALL_AGREE } else { fact.uniform_level() }
}

/// What is left of a fact about values of one round where lanes bring them from different ones.
fn temporal(fact: Fact, limit: Agreement, domain: Domain) -> Fact {
    match limit {
        None => fact.mixed(fact, domain),
        Some(limit) => fact.at(fact.level.join(limit)),
    }
}

/// How far lanes agree that leave the loops around the definition of a value on the way to a use.
fn left_limit(
    func: &Function,
    control: &ControlTables,
    value: Value,
    block: Block,
    loop_agreement: impl Fn(Cycle) -> Agreement,
) -> Agreement {
    let defined_in = func.def_inst(value).and_then(|inst| func.layout.block_of(inst));
    let mut around = defined_in.and_then(|defined_in| control.cycles.innermost(defined_in));
    let mut limit = ALL_AGREE;
    while let Some(cycle) = around.filter(|&cycle| !control.cycles.contains(cycle, block)) {
        limit = limit.min(loop_agreement(cycle));
        around = control.cycles.parent(cycle);
    }
    limit
}

/// The rules by which something comes to vary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// φs where parted lanes meet mix what they bring.
    Sync,
    /// A parting may go on as that at another branch.
    Leads,
    /// Exit φs mix what lanes bring from different rounds.
    Temporal,
    /// Lanes that leave a loop apart are parted behind it.
    Leaving,
    /// Blocks that lanes execute apart are not for all.
    Apart,
    /// In a loop that lanes leave apart, some are missing later.
    Late,
    /// A predicate that varies makes a block not for all.
    Predicate,
    /// A shadow φ varies where lanes are missing.
    Shadow,
    /// What was defined under a smaller mask may be ⊤.
    SmallerMask,
    /// φs that mix ⊤ with a value may be ⊤ in some lanes.
    MixedPoison,
    /// Private objects hold what is written to them.
    Written,
    /// Lanes that a predicate keeps from writing keep what was there.
    PredicatedWrite,
    /// Private objects differ where parted lanes meet that wrote differently.
    MixedState,
    /// Private objects differ behind a loop that lanes leave apart.
    TemporalState,
    /// Private memory of which nothing is known differs.
    Unknown,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 15] = [
        Rule::Sync,
        Rule::Leads,
        Rule::Temporal,
        Rule::Leaving,
        Rule::Apart,
        Rule::Late,
        Rule::Predicate,
        Rule::Shadow,
        Rule::SmallerMask,
        Rule::MixedPoison,
        Rule::Written,
        Rule::PredicatedWrite,
        Rule::MixedState,
        Rule::TemporalState,
        Rule::Unknown,
    ];
}

/// Finds what diverges.
pub fn divergence(func: &Function, control: &ControlTables, initial: &InitialShapes) -> Divergence {
    divergence_without(func, control, initial, None)
}

/// The same without one of the rules: wrong, so that tests can see whether they notice.
#[doc(hidden)]
pub fn divergence_without(
    func: &Function,
    control: &ControlTables,
    initial: &InitialShapes,
    without: Option<Rule>,
) -> Divergence {
    let mut solver = Solver::new(func, control, initial);
    solver.without = without;
    solver.solve();
    solver.finish()
}

/// How many branches that lead to each other are followed where ⊤ meets a value.
const MOST_LED: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    Inst(Inst),
    State(State),
}

struct Solver<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    initial: &'a InitialShapes,
    sync: SyncDependence<'a>,
    uses: Uses,
    ssa: AllocaSsa,
    facts: SecondaryMap<Value, Fact>,
    queue: VecDeque<Item>,
    is_queued: SecondaryMap<Inst, bool>,
    is_state_queued: Vec<bool>,
    /// Per block, the agreement at its branch that has been seen.
    branches: SecondaryMap<Block, Agreement>,
    /// Branches whose agreement has fallen, by block index.
    parting: BinaryHeap<(usize, Block)>,
    /// Per block, the limit with which its parting was applied.
    parted: SecondaryMap<Block, Agreement>,
    exits: Vec<Vec<Agreement>>,
    /// Per loop, the least of these.
    loops: Vec<Agreement>,
    /// Loops with an exit whose agreement has fallen, by block index of the header.
    leaving: BTreeMap<usize, Cycle>,
    /// Per φ, how far the lanes agree that meet there with different values.
    mixed: SecondaryMap<Inst, Agreement>,
    /// φs where lanes meet of which some bring ⊤.
    mixed_with_poison: EntitySet<Inst>,
    mixed_states: Vec<Agreement>,
    /// States where lanes meet of which some hold ⊤.
    mixed_states_with_poison: EntitySet<State>,
    agreement: Vec<Agreement>,
    may_hold_poison: Vec<bool>,
    apart: EntitySet<Block>,
    activation: SecondaryMap<Block, Activation>,
    /// The blocks that every complete run executes.
    always: EntitySet<Block>,
    /// Per predicate, the instructions under it that write to private objects.
    predicated: FxHashMap<Value, Vec<Inst>>,
    /// Uses outside of the loop that defines the value.
    open: FxHashMap<Cycle, Vec<Inst>>,
    outcomes: Vec<(Source, Outcome)>,
    without: Option<Rule>,
}

impl<'a> Solver<'a> {
    fn new(func: &'a Function, control: &'a ControlTables, initial: &'a InitialShapes) -> Self {
        let sync = SyncDependence::new(&control.cfg, &control.dominators, &control.cycles, &control.index);
        let uses = Uses::new(func, control);
        let ssa = AllocaSsa::new(func, control, &uses);
        let exits = control.cycles.cycles().map(|cycle| vec![ALL_AGREE; sync.exits(cycle).len()]).collect();
        let (num_states, num_blocks) = (ssa.states().len(), control.cfg.num_blocks());
        let mut solver = Self {
            func,
            control,
            initial,
            sync,
            uses,
            facts: SecondaryMap::with_len(func.value_count()),
            queue: VecDeque::new(),
            is_queued: SecondaryMap::with_len(func.inst_count()),
            is_state_queued: vec![false; num_states],
            branches: SecondaryMap::filled(ALL_AGREE, num_blocks),
            parting: BinaryHeap::new(),
            parted: SecondaryMap::filled(ALL_AGREE, num_blocks),
            loops: vec![ALL_AGREE; control.cycles.num_cycles()],
            exits,
            leaving: BTreeMap::new(),
            mixed: SecondaryMap::with_default(ALL_AGREE),
            mixed_with_poison: EntitySet::new(),
            mixed_states: vec![ALL_AGREE; num_states],
            mixed_states_with_poison: EntitySet::new(),
            agreement: vec![ALL_AGREE; num_states],
            may_hold_poison: vec![false; num_states],
            ssa,
            apart: EntitySet::new(),
            activation: SecondaryMap::filled(Activation::Full, num_blocks),
            always: always_executed(control),
            predicated: FxHashMap::default(),
            open: FxHashMap::default(),
            outcomes: Vec::new(),
            without: None,
        };
        solver.start();
        solver
    }

    fn start(&mut self) {
        for (&param, &fact) in self.func.params().iter().zip(&self.initial.params) {
            self.facts[param] = fact;
        }
        for &block in self.control.index.order() {
            for inst in self.func.block_insts(block) {
                for &arg in &self.func.inst(inst).args {
                    self.note_constant(arg);
                }
                self.find_open_uses(inst, block);
                self.push(Item::Inst(inst));
            }
            if let Some(predicate) = self.func.predicate(block) {
                self.note_constant(predicate);
                let writes = |inst: &Inst| !self.ssa.written_by(*inst).is_empty();
                let writing = self.func.block_insts(block).filter(writes);
                self.predicated.entry(predicate).or_default().extend(writing);
            }
        }
        (0..self.ssa.states().len()).for_each(|state| self.push(Item::State(State::new(state))));
    }

    fn follows(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn note_constant(&mut self, value: Value) {
        if let Some(constant) = self.func.constant(value) {
            self.facts[value] = Fact::of_constant(constant);
        }
    }

    fn find_open_uses(&mut self, inst: Inst, block: Block) {
        let data = self.func.inst(inst);
        let places = data.incoming().map(|(from, _)| from).chain(std::iter::repeat(block));
        for (&arg, used_in) in data.args.iter().zip(places) {
            let Some(defined_in) = self.func.def_inst(arg).and_then(|inst| self.func.layout.block_of(inst))
            else {
                continue;
            };
            let mut around = self.control.cycles.innermost(defined_in);
            while let Some(cycle) = around.filter(|&cycle| !self.control.cycles.contains(cycle, used_in)) {
                self.open.entry(cycle).or_default().push(inst);
                around = self.control.cycles.parent(cycle);
            }
        }
    }

    fn push(&mut self, item: Item) {
        let is_queued = match item {
            Item::Inst(inst) => &mut self.is_queued[inst],
            Item::State(state) => &mut self.is_state_queued[state.index()],
        };
        if !std::mem::replace(is_queued, true) {
            self.queue.push_back(item);
        }
    }

    fn solve(&mut self) {
        loop {
            self.settle();
            if !self.update_activation() {
                break;
            }
        }
    }

    /// Data first, then branches, later ones first, then loops, inner ones first.
    fn settle(&mut self) {
        loop {
            if let Some(item) = self.queue.pop_front() {
                match item {
                    Item::Inst(inst) => {
                        self.is_queued[inst] = false;
                        self.visit(inst);
                    }
                    Item::State(state) => {
                        self.is_state_queued[state.index()] = false;
                        self.visit_state(state);
                    }
                }
            } else if let Some((_, block)) = self.parting.pop() {
                let limit = self.branches[block];
                if limit < self.parted[block] {
                    self.part(block, limit);
                }
            } else if let Some((_, cycle)) = self.leaving.pop_last() {
                self.leave(cycle);
            } else {
                return;
            }
        }
    }

    fn visit(&mut self, inst: Inst) {
        let data = self.func.inst(inst);
        let block = self.func.layout.block_of(inst).expect("a queued instruction stands in a block");
        let facts = match data.op {
            Op::Br | Op::Switch => {
                self.visit_branch(inst, block);
                return;
            }
            Op::Phi => SmallVec::from_iter([self.phi(inst, block)]),
            _ if self.func.results(inst).is_empty() => {
                self.push_written(inst);
                return;
            }
            _ => self.results(inst, block),
        };
        for (&result, fact) in self.func.results(inst).iter().zip(facts) {
            let old = self.facts[result];
            let new = old.join(fact);
            if new != old {
                self.facts[result] = new;
                for at in 0..self.uses.of(result).len() {
                    let user = self.uses.of(result)[at];
                    self.push(Item::Inst(user));
                }
                for inst in self.predicated.get(&result).cloned().unwrap_or_default() {
                    self.push_written(inst);
                }
            }
        }
        self.push_written(inst);
    }

    fn push_written(&mut self, inst: Inst) {
        for at in 0..self.ssa.written_by(inst).len() {
            self.push(Item::State(self.ssa.written_by(inst)[at]));
        }
    }

    /// What is known of an operand where it is used.
    fn seen(&self, value: Value, inst: Inst, block: Block) -> Fact {
        let mut fact = self.facts[value];
        let ValueDef::Result(defined_by, _) = self.func.value_def(value) else { return fact };
        let Some(defined_in) = self.func.layout.block_of(defined_by) else { return fact };
        if !self.open.is_empty() {
            let limit = left_limit(self.func, self.control, value, block, |cycle| self.loop_agreement(cycle));
            fact = temporal(fact, limit, Domain::of(self.func.value_type(value)));
        }
        let definition = self.func.inst(defined_by);
        if !definition.is_total() && definition.op != Op::Mask && definition.shadow().is_none() {
            let predicate = self.func.predicate(defined_in).filter(|_| definition.op != Op::Phi);
            let data = self.func.inst(inst);
            let is_wider = if data.is_total() {
                predicate.is_some()
                    || self.initial.entry == Activation::Varying
                    || self.activation[defined_in] == Activation::Varying
            } else {
                let has_same =
                    defined_in == block && data.op != Op::Phi || predicate == self.func.predicate(block);
                predicate.is_some() && (data.op == Op::Phi || !has_same)
            };
            if is_wider && !fact.is_bottom() && self.follows(Rule::SmallerMask) {
                fact = fact.with_poison(Poison::Any);
            }
        }
        fact
    }

    fn loop_agreement(&self, cycle: Cycle) -> Agreement {
        self.loops[cycle.index()]
    }

    fn results(&mut self, inst: Inst, block: Block) -> SmallVec<[Fact; 2]> {
        let data = self.func.inst(inst);
        let operands: SmallVec<[Fact; 4]> =
            data.args.iter().map(|&arg| self.seen(arg, inst, block)).collect();
        let activation = match (data.is_total(), self.initial.entry) {
            (true, _) => Activation::Full,
            (_, Activation::Varying) => Activation::Varying,
            (_, Activation::Uniform) if self.activation[block] == Activation::Full => Activation::Uniform,
            _ => self.activation[block],
        };
        let states = self.ssa.read_by(inst);
        let is_private = !states.is_empty();
        let agreement = states.iter().map(|state| self.agreement[state.index()]).min().unwrap_or(ALL_AGREE);
        let reads = matches!(data.op, Op::Load | Op::AtomicRmw | Op::CompareExchange);
        let is_unknown = reads && alloca_ssa::reads_unknown(self.func, &self.ssa.points_to, inst);
        let is_alike = reads && agreement.is_some() && !(is_unknown && self.follows(Rule::Unknown));
        let context = Context {
            geometry: self.initial.geometry.clone(),
            activation,
            contents: if is_alike { Contents::Alike } else { Contents::PerLane },
            results: None,
        };
        let mut facts = transfer(self.func, inst, &operands, &context);
        if data.op == Op::Load && is_private {
            let may_be_poison = states.iter().any(|state| self.may_hold_poison[state.index()]);
            for fact in &mut facts {
                if may_be_poison && !fact.is_bottom() {
                    *fact = fact.with_poison(Poison::Any);
                }
            }
        }
        facts
    }

    /// A φ: one of its values if all lanes come along one edge; a mixture if they may not.
    fn phi(&self, inst: Inst, block: Block) -> Fact {
        let data = self.func.inst(inst);
        let domain = self
            .func
            .results(inst)
            .first()
            .map_or(Domain::Opaque, |&result| Domain::of(self.func.value_type(result)));
        let limit = self.mixed[inst];
        let mut fact = Fact::BOTTOM;
        let mut values: SmallVec<[Value; 8]> = SmallVec::new();
        for (from, value) in data.incoming() {
            let seen = temporal(
                self.seen(value, inst, from),
                self.edge_limit(Edge { from, to: block }, value),
                domain,
            );
            if limit.is_none() && !values.contains(&value) {
                fact = if values.is_empty() { seen } else { fact.mixed(seen, domain) };
                values.push(value);
            } else {
                fact = fact.join(seen);
            }
        }
        if let Some(limit) = limit {
            fact = fact.at(fact.level.join(limit));
        }
        if self.mixed_with_poison.contains(inst) && !fact.is_bottom() {
            fact = fact.with_poison(Poison::Any);
        }
        if let Some(shadow) = data.shadow()
            && self.follows(Rule::Shadow)
            && (self.initial.entry == Activation::Varying || self.activation[block] == Activation::Varying)
        {
            fact = fact.mixed(self.seen(shadow, inst, block).with_poison(Poison::Any), domain);
        }
        fact
    }

    /// How far lanes agree on the round in which a value was defined that they bring along an exit edge.
    fn edge_limit(&self, edge: Edge, value: Value) -> Agreement {
        let defined_in = self.func.def_inst(value).and_then(|inst| self.func.layout.block_of(inst));
        match defined_in.filter(|_| self.follows(Rule::Temporal)) {
            Some(defined_in) => self.edge_limit_from(edge, defined_in),
            None => ALL_AGREE,
        }
    }

    fn edge_limit_from(&self, edge: Edge, defined_in: Block) -> Agreement {
        let cycles = &self.control.cycles;
        let mut limit = ALL_AGREE;
        let mut around = cycles.innermost(edge.from);
        while let Some(cycle) = around.filter(|&cycle| !cycles.contains(cycle, edge.to)) {
            if cycles.contains(cycle, defined_in) {
                let number = self.sync.exits(cycle).binary_search(&edge).expect("an exit is listed");
                limit = limit.min(self.exits[cycle.index()][number]);
            }
            around = cycles.parent(cycle);
        }
        limit
    }

    fn visit_branch(&mut self, inst: Inst, block: Block) {
        let data = self.func.inst(inst);
        let (Some(&condition), [first, others @ ..]) = (data.args.first(), data.targets()) else { return };
        if others.iter().all(|to| to == first) {
            return;
        }
        let agreement = agreement_on(self.seen(condition, inst, block));
        if agreement < self.branches[block] {
            self.branches[block] = agreement;
            let number = self.control.index.number(block).expect("queued blocks are reachable");
            self.parting.push((number, block));
        }
    }

    /// Lanes part at this block, or as if they did.
    fn part(&mut self, block: Block, limit: Agreement) {
        let mut at = block;
        loop {
            self.parted[at] = limit;
            let parting = self.sync.of_branch(at);
            let source = Source::Branch(at);
            self.apply(source, &parting, self.control.cycles.innermost(at), limit);
            let Some(then) = parting.then.filter(|_| self.follows(Rule::Leads)) else { return };
            if limit.is_none() {
                self.outcomes.push((source, Outcome::Leads(then)));
            }
            if self.parted[then] <= limit {
                return;
            }
            at = then;
        }
    }

    /// Lanes leave a loop apart.
    fn leave(&mut self, cycle: Cycle) {
        if !self.follows(Rule::Leaving) {
            return;
        }
        let mut before: Option<Vec<bool>> = None;
        for limit in [None, Some(Level::Brush), Some(Level::Group)] {
            let exits = &self.exits[cycle.index()];
            let apart: Vec<bool> = exits.iter().map(|&agreement| agreement <= limit).collect();
            if !apart.contains(&true) || before.as_ref() == Some(&apart) {
                continue;
            }
            let parting = self.sync.of_loop(cycle, |number| apart[number as usize]);
            let source = Source::Loop(cycle);
            self.apply(source, &parting, self.control.cycles.parent(cycle), limit);
            if let Some(then) = parting.then.filter(|_| self.follows(Rule::Leads)) {
                if limit.is_none() {
                    self.outcomes.push((source, Outcome::Leads(then)));
                }
                if limit < self.parted[then] {
                    self.part(then, limit);
                }
            }
            before = Some(apart);
        }
    }

    fn apply(&mut self, source: Source, parting: &Parting, around: Option<Cycle>, limit: Agreement) {
        if limit.is_none() && self.follows(Rule::Apart) {
            for &block in &parting.apart {
                if self.apart.insert(block) {
                    self.outcomes.push((source, Outcome::RunsApart(block)));
                }
            }
        }
        for join in &parting.joins {
            for inst in self.func.phis(join.block) {
                let data = self.func.inst(inst);
                let incoming = data.incoming().filter(|(from, _)| join.from.contains(from));
                let mut values: SmallVec<[Value; 4]> = incoming.map(|(_, value)| value).collect();
                values.sort_unstable();
                values.dedup();
                if values.len() < 2 {
                    continue;
                }
                let func = self.func;
                let is_poison = |value: &Value| matches!(func.constant(*value), Some(Constant::Poison(_)));
                // The branch that this one leads to looks at some of the edges only.
                let is_alone = values.iter().any(is_poison) && {
                    let from = self.all_from(parting, join);
                    let incoming = data.incoming().filter(|(pred, _)| from.contains(pred));
                    values.extend(incoming.map(|(_, value)| value));
                    values.sort_unstable();
                    values.dedup();
                    values.iter().filter(|value| !is_poison(value)).count() < 2
                };
                if is_alone {
                    if limit.is_none()
                        && self.follows(Rule::MixedPoison)
                        && self.mixed_with_poison.insert(inst)
                    {
                        self.push(Item::Inst(inst));
                    }
                    continue;
                }
                if limit.is_none() {
                    self.outcomes.push((source, Outcome::Mixes(inst)));
                }
                if limit < self.mixed[inst] && self.follows(Rule::Sync) {
                    self.mixed[inst] = limit;
                    self.push(Item::Inst(inst));
                }
            }
            for at in 0..self.ssa.joined_at(join.block).len() {
                let state = self.ssa.joined_at(join.block)[at];
                let StateDef::Join { incoming, .. } = &self.ssa.state(state).def else { continue };
                let mut states: SmallVec<[State; 4]> = incoming
                    .iter()
                    .filter(|(from, _)| join.from.contains(from))
                    .map(|&(_, state)| state)
                    .collect();
                states.sort_unstable();
                states.dedup();
                if states.len() < 2 {
                    continue;
                }
                // As with φs: ⊤ beside one state is no difference.
                let is_undefined = |state: &State| self.ssa.state(*state).is_undefined;
                let is_alone = states.iter().any(is_undefined) && {
                    let incoming = incoming.clone();
                    let from = self.all_from(parting, join);
                    let incoming = incoming.iter().filter(|(pred, _)| from.contains(pred));
                    states.extend(incoming.map(|&(_, state)| state));
                    states.sort_unstable();
                    states.dedup();
                    let is_undefined = |state: &State| self.ssa.state(*state).is_undefined;
                    states.iter().filter(|state| !is_undefined(state)).count() < 2
                };
                if is_alone {
                    if limit.is_none() && self.follows(Rule::MixedPoison) {
                        self.mixed_states_with_poison.insert(state);
                        self.push(Item::State(state));
                    }
                    continue;
                }
                if limit.is_none() {
                    self.outcomes.push((source, Outcome::MixesState(state)));
                }
                if limit < self.mixed_states[state.index()] && self.follows(Rule::MixedState) {
                    self.mixed_states[state.index()] = limit;
                    self.push(Item::State(state));
                }
            }
        }
        let Some(cycle) = around else { return };
        for &number in &parting.exits {
            if limit.is_none() {
                self.outcomes.push((source, Outcome::Leaves(cycle, number)));
            }
            if limit < self.exits[cycle.index()][number as usize] {
                self.exits[cycle.index()][number as usize] = limit;
                let header = self.control.cycles.header(cycle);
                let key = self.control.index.number(header).expect("a header is reachable");
                self.leaving.insert(key, cycle);
                let edge = self.sync.exits(cycle)[number as usize];
                self.func.phis(edge.to).for_each(|inst| self.push(Item::Inst(inst)));
                for at in 0..self.ssa.joined_at(edge.to).len() {
                    self.push(Item::State(self.ssa.joined_at(edge.to)[at]));
                }
                if limit < self.loops[cycle.index()] {
                    self.loops[cycle.index()] = limit;
                    for inst in self.open.get(&cycle).cloned().unwrap_or_default() {
                        self.push(Item::Inst(inst));
                    }
                }
            }
        }
    }

    /// The predecessors of a join that lanes come from which part like this, those after a branch that it leads to
    /// included; after a few such branches all of them.
    fn all_from(&mut self, parting: &Parting, join: &Join) -> SmallVec<[Block; 4]> {
        let mut from = join.from.clone();
        let mut next = parting.then;
        for _ in 0..MOST_LED {
            let Some(at) = next else { return from };
            let parting = self.sync.of_branch(at);
            let same = parting.joins.iter().filter(|other| other.block == join.block);
            same.for_each(|other| from.extend_from_slice(&other.from));
            next = parting.then;
        }
        SmallVec::from_slice(self.control.cfg.preds(join.block))
    }

    fn visit_state(&mut self, state: State) {
        let (new, may_hold_poison) = match &self.ssa.state(state).def {
            StateDef::Undefined => (ALL_AGREE, false),
            StateDef::Write { inst, before } => {
                let (written, poison) = self.written(*inst);
                let old = before.map_or(ALL_AGREE, |before| self.agreement[before.index()]);
                let had = before.is_some_and(|before| self.may_hold_poison[before.index()]);
                (written.min(old), poison || had)
            }
            StateDef::Join { block, incoming } => {
                let limit = self.mixed_states[state.index()];
                let mut poison = limit.is_none() || self.mixed_states_with_poison.contains(state);
                let mut agreement = limit;
                for &(from, incoming) in incoming {
                    agreement = agreement.min(self.agreement[incoming.index()]);
                    poison |= self.may_hold_poison[incoming.index()];
                    let is_defined = !self.ssa.state(incoming).is_undefined;
                    let defined_in = self.ssa.block_of(self.func, incoming).filter(|_| is_defined);
                    if let Some(defined_in) = defined_in.filter(|_| self.follows(Rule::TemporalState)) {
                        let limit = self.edge_limit_from(Edge { from, to: *block }, defined_in);
                        agreement = agreement.min(limit);
                        poison |= limit.is_none();
                    }
                }
                (agreement, poison)
            }
        };
        let agreement = new.min(self.agreement[state.index()]);
        let may_hold_poison = may_hold_poison || self.may_hold_poison[state.index()];
        if agreement != self.agreement[state.index()]
            || may_hold_poison != self.may_hold_poison[state.index()]
        {
            self.agreement[state.index()] = agreement;
            self.may_hold_poison[state.index()] = may_hold_poison;
            for at in 0..self.ssa.users(state).len() {
                match self.ssa.users(state)[at] {
                    StateUser::Inst(inst) => self.push(Item::Inst(inst)),
                    StateUser::State(state) => self.push(Item::State(state)),
                }
            }
        }
    }

    /// How far lanes agree on what an instruction writes, and where; and whether it may be ⊤ in some of them.
    fn written(&self, inst: Inst) -> (Agreement, bool) {
        let data = self.func.inst(inst);
        let block = self.func.layout.block_of(inst).expect("a writing instruction stands in a block");
        if data.op == Op::Alloca || !self.follows(Rule::Written) {
            return (ALL_AGREE, false);
        }
        if alloca_ssa::is_volatile(data) || data.is_total() {
            return (None, true);
        }
        let mut agreement = ALL_AGREE;
        let mut poison = false;
        for &arg in &data.args {
            let fact = self.seen(arg, inst, block);
            agreement = agreement.min(agreement_on(fact));
            poison |= fact.poison == Poison::Any;
        }
        if let Some(predicate) = self.func.predicate(block).filter(|_| self.follows(Rule::PredicatedWrite)) {
            let fact = self.facts[predicate];
            agreement = agreement.min(agreement_on(fact));
            poison |= !fact.is_uniform();
        }
        if matches!(data.op, Op::Memcpy | Op::Memmove) {
            for state in self.ssa.read_by(inst) {
                agreement = agreement.min(self.agreement[state.index()]);
                poison |= self.may_hold_poison[state.index()];
            }
            if alloca_ssa::reads_unknown(self.func, &self.ssa.points_to, inst) {
                (agreement, poison) = (None, true);
            } else if self.ssa.read_by(inst).is_empty() {
                // Shared memory, read at one moment by the lanes of one brush.
                agreement = agreement.min(Some(Level::Brush));
            }
        }
        (agreement, poison)
    }

    /// Finds which lanes are active where; tells whether something that depends on it must be looked at again.
    fn update_activation(&mut self) -> bool {
        let is_late = |cycle| self.loop_agreement(cycle).is_none() && self.follows(Rule::Late);
        let lacks = self.sync.spread(&self.apart, is_late);
        let mut is_new = false;
        for at in 0..self.control.index.order().len() {
            let block = self.control.index.order()[at];
            let new = self.block_activation(block, &lacks);
            if new == self.activation[block] {
                continue;
            }
            self.activation[block] = new;
            for inst in self.func.block_insts(block) {
                let data = self.func.inst(inst);
                let asks = data.op.info().effect == Effect::Horizontal || data.shadow().is_some();
                // What it defines may be missing where a `total` instruction uses it.
                let users = self.func.results(inst).iter().flat_map(|&result| self.uses.of(result));
                let total: Vec<Inst> =
                    users.copied().filter(|&user| self.func.inst(user).is_total()).collect();
                for user in total.into_iter().chain(asks.then_some(inst)) {
                    is_new = true;
                    self.push(Item::Inst(user));
                }
            }
        }
        is_new
    }

    fn block_activation(&self, block: Block, lacks: &EntitySet<Block>) -> Activation {
        let by_predicate = match self.func.predicate(block).filter(|_| self.follows(Rule::Predicate)) {
            None => Activation::Full,
            Some(predicate) => {
                let fact = self.facts[predicate];
                match (fact.shape.constant(1), agreement_on(fact)) {
                    (Some(1), _) => Activation::Full,
                    (_, Some(_)) => Activation::Uniform,
                    _ => Activation::Varying,
                }
            }
        };
        match by_predicate {
            Activation::Varying => Activation::Varying,
            _ if lacks.contains(block) => Activation::Varying,
            Activation::Full if self.always.contains(block) => Activation::Full,
            _ => Activation::Uniform,
        }
    }

    fn finish(self) -> Divergence {
        let exits = self.control.cycles.cycles().map(|cycle| {
            let edges = self.sync.exits(cycle).iter().copied();
            edges.zip(self.exits[cycle.index()].iter().copied()).collect()
        });
        let exits: Vec<Vec<(Edge, Agreement)>> = exits.collect();
        let slots = self.slots();
        let apart = self.sync.spread(&self.apart, |cycle| self.loop_agreement(cycle).is_none());
        Divergence {
            slots,
            exits,
            apart,
            facts: self.facts,
            branches: self.branches,
            activation: self.activation,
            ssa: self.ssa,
            agreement: self.agreement,
            outcomes: self.outcomes,
            is_closed: self.open.is_empty(),
        }
    }

    /// Which slots one copy can serve.
    fn slots(&self) -> Vec<SlotFact> {
        let infos = self.ssa.slots().iter();
        let mut slots: Vec<SlotFact> = infos
            .map(|info| SlotFact { alloca: info.alloca, bytes: info.bytes.clone(), shared: ALL_AGREE })
            .collect();
        let mut lower = |slot: Slot, agreement: Agreement| {
            let shared = &mut slots[slot.index()].shared;
            *shared = (*shared).min(agreement);
        };
        let num_ends = self.control.cfg.blocks().filter(|&block| {
            self.control.cfg.is_reachable(block) && self.control.cfg.succs(block).is_empty()
        });
        let is_endless = self.control.cycles.cycles().any(|cycle| self.sync.exits(cycle).is_empty());
        // Lanes that run apart and never meet show at no join.
        let may_not_meet = (is_endless || num_ends.count() > 1)
            .then(|| self.control.index.order().iter().map(|&block| self.branches[block]).min())
            .flatten();
        for (number, info) in self.ssa.states().iter().enumerate() {
            match &info.def {
                StateDef::Undefined => {}
                StateDef::Write { inst, .. } => {
                    lower(info.slot, self.written(*inst).0);
                    lower(info.slot, may_not_meet.unwrap_or(ALL_AGREE));
                }
                StateDef::Join { block, incoming } => {
                    lower(info.slot, self.mixed_states[number]);
                    for &(from, incoming) in incoming.iter().filter(|_| info.is_read) {
                        let is_defined = !self.ssa.state(incoming).is_undefined;
                        let defined_in = self.ssa.block_of(self.func, incoming).filter(|_| is_defined);
                        if let Some(defined_in) = defined_in.filter(|_| self.follows(Rule::TemporalState)) {
                            lower(info.slot, self.edge_limit_from(Edge { from, to: *block }, defined_in));
                        }
                    }
                }
            }
        }
        slots
    }
}

/// The blocks that every run executes that comes to a return.
fn always_executed(control: &ControlTables) -> EntitySet<Block> {
    let post_dominators = PostDominators::new(&control.cfg);
    let entry = control.cfg.entry();
    std::iter::successors(Some(entry), |&block| post_dominators.ipdom(block)).collect()
}
