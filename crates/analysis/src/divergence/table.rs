//! The table of what diverges.

use heddle_ir::entity::{Entity, EntitySet, SecondaryMap};
use heddle_ir::{Block, Function, Inst, Value};

use super::facts::{limited, loop_exit_limit};
use super::{ALL_AGREE, Agreement};
use crate::alloca_ssa::{AllocaSsa, SlotState};
use crate::cfg::Edge;
use crate::control_tables::ControlTables;
use crate::cycles::Cycle;
use crate::nondivergence::region_of_nondivergence;
use crate::shape::{Activation, Domain, Fact, Shape};

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
pub(crate) enum DivergenceEffect {
    /// They meet at this φ with different values.
    MixedPhi(Inst),
    /// The same for a state.
    MixedState(SlotState),
    /// They do what lanes do that part at this branch.
    ContinuesAt(Block),
    /// They leave a loop apart by this exit.
    DivergentExit(Cycle, u32),
    /// Some execute this block without others.
    PartialBlock(Block),
}

/// Where lanes part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum DivergenceOrigin {
    /// At a branch.
    Branch(Block),
    /// Behind a loop.
    Loop(Cycle),
}

/// Shapes of values, verdicts on branches, loops, blocks and private objects.
#[derive(Clone, Debug)]
pub struct Divergence {
    pub(super) facts: SecondaryMap<Value, Fact>,
    pub(super) branches: SecondaryMap<Block, Agreement>,
    pub(super) exits: Vec<Vec<(Edge, Agreement)>>,
    pub(super) partial_blocks: EntitySet<Block>,
    pub(super) activation: SecondaryMap<Block, Activation>,
    pub(super) slots: Vec<SlotFact>,
    pub(crate) ssa: AllocaSsa,
    pub(crate) state_agreements: Vec<Agreement>,
    pub(crate) effects: Vec<(DivergenceOrigin, DivergenceEffect)>,
    pub(crate) is_lcssa: bool,
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
        let limit = loop_exit_limit(func, control, value, block, |cycle| self.loop_agreement(cycle));
        limited(self.facts[value], limit, Domain::of(func.value_type(value)))
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

    /// The blocks on which no divergent branch has a say: where one lane is, all are that entered the function.
    pub fn region_of_nondivergence(&self, control: &ControlTables) -> EntitySet<Block> {
        region_of_nondivergence(
            control,
            |block| self.is_divergent_branch(block),
            |cycle| self.is_divergent_loop(cycle),
        )
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

    /// The private object that a pointer points into, if that is certain and the object does not escape.
    pub fn only_object(&self, pointer: Value) -> Option<Inst> {
        let targets = self.ssa.points_to.targets(pointer);
        let first = targets.known.first()?.object;
        let object = &self.ssa.points_to.objects()[first.index()];
        let is_one = !targets.unknown && targets.known.iter().all(|target| target.object == first);
        (is_one && !object.escapes).then_some(object.alloca)
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

    /// Whether a pointer certainly leads to memory that lanes share, and to no private object.
    pub fn points_to_shared_memory(&self, pointer: Value) -> bool {
        let targets = self.ssa.points_to.targets(pointer);
        !targets.unknown && targets.known.is_empty()
    }

    /// Claims this of a value: tests see whether it is noticed when it is wrong.
    #[doc(hidden)]
    pub fn claim(&mut self, value: Value, fact: Fact) {
        self.facts[value] = fact;
    }

    /// Claims this of a branch.
    #[doc(hidden)]
    pub fn claim_branch(&mut self, block: Block, agreement: Agreement) {
        self.branches[block] = agreement;
    }

    /// Claims this of all exits of a loop.
    #[doc(hidden)]
    pub fn claim_exits(&mut self, cycle: Cycle, agreement: Agreement) {
        self.exits[cycle.index()].iter_mut().for_each(|(_, claimed)| *claimed = agreement);
    }

    /// The blocks that some lanes execute without others.
    pub(crate) fn partial_blocks(&self) -> &EntitySet<Block> {
        &self.partial_blocks
    }
}
