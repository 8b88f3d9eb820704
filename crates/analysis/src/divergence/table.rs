//! Result table of the divergence analysis.

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

/// Sharing level of a slot of a private object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotFact {
    /// `alloca` of the object.
    pub alloca: Inst,
    /// Byte range of the slot.
    pub bytes: std::ops::Range<u64>,
    /// Maximum level at which one copy can serve all lanes; none if each lane needs its own.
    pub shared: Agreement,
}

/// Effect of divergence, recorded by the fixpoint. Explanations are built from these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DivergenceEffect {
    /// Lanes meet at this φ with different values.
    MixedPhi(Inst),
    /// Lanes meet at this state with different contents.
    MixedState(SlotState),
    /// The influence region includes that of this branch.
    ContinuesAt(Block),
    /// Lanes leave the loop by this exit in different iterations.
    DivergentExit(Cycle, u32),
    /// Some lanes execute this block without others.
    PartialBlock(Block),
}

/// Origin of divergence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum DivergenceOrigin {
    /// Divergent branch of a block.
    Branch(Block),
    /// Divergent exits of a loop.
    Loop(Cycle),
}

/// Divergence of a function: facts of values, agreement on branches, exits and private objects, activation of blocks.
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
    /// Returns the fact of a value at its definition.
    pub fn fact(&self, value: Value) -> Fact {
        self.facts[value]
    }

    /// Returns the shape of a value at its definition.
    pub fn shape(&self, value: Value) -> Shape {
        self.facts[value].shape
    }

    /// Returns the fact of a value at a use in this block. It is weaker than inside if a divergent loop defines the value.
    pub fn fact_at(&self, func: &Function, control: &ControlTables, value: Value, block: Block) -> Fact {
        let limit = loop_exit_limit(func, control, value, block, |cycle| self.loop_agreement(cycle));
        limited(self.facts[value], limit, Domain::of(func.value_type(value)))
    }

    /// Returns the widest level at which lanes agree on the target of a block's branch.
    pub fn branch_agreement(&self, block: Block) -> Agreement {
        self.branches[block]
    }

    /// True if active lanes may diverge at a block's branch.
    pub fn is_divergent_branch(&self, block: Block) -> bool {
        self.branches[block].is_none()
    }

    /// Returns the exit edges of a loop, each with the widest level at which lanes take it in the same iteration.
    pub fn exits(&self, cycle: Cycle) -> &[(Edge, Agreement)] {
        &self.exits[cycle.index()]
    }

    /// Returns the widest level at which lanes leave a loop in the same iteration.
    pub fn loop_agreement(&self, cycle: Cycle) -> Agreement {
        self.exits[cycle.index()].iter().map(|&(_, agreement)| agreement).min().unwrap_or(ALL_AGREE)
    }

    /// True if lanes may leave a loop in different iterations.
    pub fn is_divergent_loop(&self, cycle: Cycle) -> bool {
        self.loop_agreement(cycle).is_none()
    }

    /// Returns the activation of a block, relative to the lanes that entered the function. `Full`: all of them, in every run
    /// that returns. `Uniform`: all of them whenever the block runs and its predicate is not false in all lanes.
    pub fn activation(&self, block: Block) -> Activation {
        self.activation[block]
    }

    /// Returns the activation of an edge, relative to the lanes that entered the function.
    pub fn edge_activation(&self, func: &Function, edge: Edge) -> Activation {
        let is_only = func.successors(edge.from).iter().all(|&to| to == edge.to);
        match self.activation[edge.from] {
            activation if is_only => activation,
            Activation::Varying => Activation::Varying,
            _ if self.is_divergent_branch(edge.from) => Activation::Varying,
            _ => Activation::Uniform,
        }
    }

    /// Returns the blocks that no divergent branch controls: if one lane runs them, all lanes that entered the function do.
    pub fn region_of_nondivergence(&self, control: &ControlTables) -> EntitySet<Block> {
        region_of_nondivergence(
            control,
            |block| self.is_divergent_branch(block),
            |cycle| self.is_divergent_loop(cycle),
        )
    }

    /// Returns the slots of the private objects that do not escape.
    pub fn slots(&self) -> &[SlotFact] {
        &self.slots
    }

    /// Returns the maximum level at which one copy of an object can serve all lanes.
    pub fn object_agreement(&self, alloca: Inst) -> Agreement {
        let escapes = self.ssa.points_to.objects().iter().any(|it| it.alloca == alloca && it.escapes);
        let slots = self.slots.iter().filter(|slot| slot.alloca == alloca).map(|slot| slot.shared);
        if escapes { None } else { slots.min().unwrap_or(ALL_AGREE) }
    }

    /// Returns the only private object that a pointer can point into, if that object does not escape.
    pub fn unique_object(&self, pointer: Value) -> Option<Inst> {
        let targets = self.ssa.points_to.targets(pointer);
        let first = targets.known.first()?.object;
        let object = &self.ssa.points_to.objects()[first.index()];
        let is_one = !targets.unknown && targets.known.iter().all(|target| target.object == first);
        (is_one && !object.escapes).then_some(object.alloca)
    }

    /// Returns the maximum level at which one copy of each private object after a pointer can serve all lanes. `None` if
    /// the pointer may point to an untracked object.
    pub fn pointee_agreement(&self, pointer: Value) -> Agreement {
        let targets = self.ssa.points_to.targets(pointer);
        if targets.unknown || targets.known.is_empty() {
            return None;
        }
        let objects = targets.known.iter().map(|target| &self.ssa.points_to.objects()[target.object.index()]);
        objects.map(|object| self.object_agreement(object.alloca)).min().unwrap_or(None)
    }

    /// True if a pointer can only point to shared memory, and to no private object.
    pub fn points_to_shared_memory(&self, pointer: Value) -> bool {
        let targets = self.ssa.points_to.targets(pointer);
        !targets.unknown && targets.known.is_empty()
    }

    /// Overrides the fact of a value: tests expect to notice a wrong one.
    #[doc(hidden)]
    pub fn claim(&mut self, value: Value, fact: Fact) {
        self.facts[value] = fact;
    }

    /// Overrides the agreement of a branch.
    #[doc(hidden)]
    pub fn claim_branch(&mut self, block: Block, agreement: Agreement) {
        self.branches[block] = agreement;
    }

    /// Overrides the agreement of all exits of a loop.
    #[doc(hidden)]
    pub fn claim_exits(&mut self, cycle: Cycle, agreement: Agreement) {
        self.exits[cycle.index()].iter_mut().for_each(|(_, claimed)| *claimed = agreement);
    }

    /// Returns the blocks that may run without some lanes.
    pub(crate) fn partial_blocks(&self) -> &EntitySet<Block> {
        &self.partial_blocks
    }
}
