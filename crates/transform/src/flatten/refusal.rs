//! Legality of flattening: finds instructions that could observe that lanes are in different iterations.
//!
//! Each lane executes the same operations, so only communication between lanes matters. Horizontal operations, barriers,
//! fences, `total` instructions and shadows observe which lanes are together. Atomics and volatile accesses observe the order
//! of lanes, and calls may. So do plain accesses to shared memory in case of races: a race has an outcome of some greedy
//! schedule, in which no lane is an iteration ahead. A nest has no race if it writes no shared memory and reads none that
//! lanes outside may write concurrently.
//!
//! A source language without races may promise that ([`RaceSemantics::Excluded`]); then plain accesses observe nothing.

use heddle_analysis::divergence::Divergence;
use heddle_analysis::{ControlTables, Cycle, PostDominatorTree, underlying_object};
use heddle_ir::entity::EntitySet;
use heddle_ir::ops::Effect;
use heddle_ir::words::Flag;
use heddle_ir::{Block, Function, Inst, Op, Space, Type, Value};
use thiserror::Error;

use super::RaceSemantics;
use crate::linearize::iteration_graph;

/// Reason why a nest is not flattened.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{subject} in {block}{}: {rule}", line.map_or(String::new(), |line| format!(" (line {line})")))]
pub struct FlattenRefusal {
    subject: String,
    block: Block,
    line: Option<u32>,
    rule: FlattenRule,
}

/// Legality rule that a nest violates; the text says what to write instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum FlattenRule {
    /// Horizontals, `total` instructions, shadows.
    #[error("it observes the lanes that run together, which flattening changes; move it out of the nest")]
    ObservesLanes,
    /// Barriers and fences.
    #[error("lanes wait for each other there, and would be in different iterations; move it out of the nest")]
    Waits,
    /// Atomics and volatile accesses.
    #[error(
        "other lanes can observe the order of this access; keep a private copy, and update memory after the nest"
    )]
    Ordered,
    /// An `alloca`.
    #[error("each execution makes an object for the lanes that run together; move it before the nest")]
    NewObject,
    /// A call.
    #[error(
        "the callee may access memory or observe other lanes; let it be inlined, or declare its `effects`"
    )]
    Calls,
    /// A plain write.
    #[error(
        "lanes may share the written memory, and a race would be observable; write after the nest, or exclude races (`races=excluded`)"
    )]
    SharedWrite,
    /// A plain read.
    #[error(
        "other lanes may write the memory that is read, and a race would be observable; exclude races (`races=excluded`)"
    )]
    SharedRead,
    /// Missing exit.
    #[error("no lane leaves the nest; give it an exit")]
    Endless,
}

/// Accesses of a function to memory that lanes may share.
pub(super) struct SharedMemoryEffects<'a> {
    func: &'a Function,
    control: &'a ControlTables,
    pub(super) divergence: &'a Divergence,
    /// Post-dominators of the graph of one iteration.
    post_dominators: PostDominatorTree,
    /// Blocks that may write shared memory, in the order of the block index.
    writers: Vec<Block>,
}

impl<'a> SharedMemoryEffects<'a> {
    pub(super) fn new(
        func: &'a Function,
        control: &'a ControlTables,
        divergence: &'a Divergence,
    ) -> SharedMemoryEffects<'a> {
        let post_dominators = PostDominatorTree::new(&iteration_graph(&control.cfg, &control.cycles));
        let mut memory =
            SharedMemoryEffects { func, control, divergence, post_dominators, writers: Vec::new() };
        let order = control.index.order().iter().copied();
        memory.writers =
            order.filter(|&block| func.block_insts(block).any(|inst| memory.touches(inst).1)).collect();
        memory
    }

    /// Returns two flags: an instruction may read shared memory that is not constant, and it may write shared memory.
    fn touches(&self, inst: Inst) -> (bool, bool) {
        let data = self.func.inst(inst);
        let shared = |index: usize| data.args.get(index).is_some_and(|&address| self.is_shared(address));
        match data.op.info().effect {
            Effect::Reads => (shared(0) && !data.flags.has(Flag::Invariant), false),
            Effect::Writes => (false, data.address().is_some_and(|address| self.is_shared(address))),
            Effect::ReadsWrites if matches!(data.op, Op::Memcpy | Op::Memmove) => (shared(1), shared(0)),
            Effect::ReadsWrites => (shared(0), shared(0)),
            Effect::Callee => {
                let effects = self.func.callee_of(data).map(|callee| callee.signature.effects);
                effects.map_or((true, true), |effects| (effects.reads, effects.writes))
            }
            _ => (false, false),
        }
    }

    /// True if other lanes may write the memory at an address. Objects that the lane allocates itself are not shared.
    fn is_shared(&self, address: Value) -> bool {
        let is_constant =
            matches!(self.func.value_type(address), Type::Scalar(heddle_ir::Scalar::Ptr(Space::Constant)));
        if is_constant || self.divergence.unique_object(address).is_some() {
            return false;
        }
        let object = self.func.def_inst(underlying_object(self.func, address));
        object.is_none_or(|inst| self.func.inst(inst).op != Op::Alloca)
    }

    /// True if lanes may be in a block while others are in a loop, without an order between them.
    fn is_concurrent(&self, block: Block, header: Block) -> bool {
        let (dominators, post) = (&self.control.dominators, &self.post_dominators);
        !(dominators.dominates(block, header)
            || dominators.dominates(header, block)
            || post.post_dominates(block, header)
            || post.post_dominates(header, block))
    }

    /// Refuses a nest with an instruction that observes other lanes.
    pub(super) fn check(&self, outer: Cycle, races: RaceSemantics) -> Result<(), FlattenRefusal> {
        let ControlTables { cfg, cycles, .. } = self.control;
        let func = self.func;
        let refuse = |block: Block, inst: Option<Inst>, rule: FlattenRule| FlattenRefusal {
            subject: inst.map_or("the loop".into(), |inst| format!("`{}`", func.inst(inst).op)),
            block,
            line: inst.and_then(|inst| func.loc(inst)).map(|loc| loc.line),
            rule,
        };
        let header = cycles.header(outer);
        if cycles.exiting_edges(cfg, outer).next().is_none() {
            return Err(refuse(header, None, FlattenRule::Endless));
        }
        let is_inside: EntitySet<Block> = cycles.blocks(outer).iter().copied().collect();
        let has_concurrent_writers = || {
            self.writers.iter().any(|&block| !is_inside.contains(block) && self.is_concurrent(block, header))
        };
        let mut concurrent_writers = None;
        for &block in cycles.blocks(outer) {
            for inst in func.block_insts(block) {
                let (reads, writes) = self.touches(inst);
                let found = match self.observation(inst) {
                    Some(rule) => Some(rule),
                    None if races == RaceSemantics::Excluded => None,
                    None if writes => Some(FlattenRule::SharedWrite),
                    None if reads && *concurrent_writers.get_or_insert_with(has_concurrent_writers) => {
                        Some(FlattenRule::SharedRead)
                    }
                    None => None,
                };
                if let Some(rule) = found {
                    return Err(refuse(block, Some(inst), rule));
                }
            }
        }
        Ok(())
    }

    /// Returns the rule that an instruction violates independently of races.
    fn observation(&self, inst: Inst) -> Option<FlattenRule> {
        let data = self.func.inst(inst);
        if data.is_total() || data.shadow().is_some() {
            return Some(FlattenRule::ObservesLanes);
        }
        match data.op.info().effect {
            Effect::Horizontal => Some(FlattenRule::ObservesLanes),
            Effect::Synchronizes => Some(FlattenRule::Waits),
            Effect::Allocates => Some(FlattenRule::NewObject),
            Effect::Callee => {
                let effects = self.func.callee_of(data).map(|callee| callee.signature.effects);
                let is_harmless =
                    effects.is_some_and(|effects| !effects.convergent && !effects.reads && !effects.writes);
                (!is_harmless).then_some(FlattenRule::Calls)
            }
            _ if data.is_ordered() => Some(FlattenRule::Ordered),
            _ => None,
        }
    }
}
