//! Memory SSA of private objects (thesis 6.6).
//!
//! An object that does not escape is split into *slots*: the byte ranges that its accesses distinguish, or the whole
//! object if an access has an unknown offset. Each slot is in SSA form. A *state* of a slot is undefined at the start,
//! written by an instruction (in part or as a whole), or joined at a block. It stands for the contents of each lane's own
//! copy. Copies come to differ at joins of diverged lanes with different states, as values do at φs.
//!
//! ```text
//!     block1: store 1, v2   #1 = write          Each exit of a loop has a join, with one operand if need be: lanes that
//!       │        ▲                              leave in different iterations have different states, although they
//!       ▼        │                              agree within each iteration. The thesis has no such join.
//!     block2 ────┘
//!       ▼
//!     block3: #2 = join [block2: #1]
//! ```
//!
//! Joins are not pruned, but states know if they are *read*. A varying join after a loop is harmless if nothing reads it.
//! A join of diverged lanes is not, if all lanes share one copy: one lane may write while another one still reads. A slot
//! can therefore be shared only if no join of diverged lanes has different states, read or not.
//!
//! Copies do not differ where some lanes have written and others still hold poison, since poison may be any value. An
//! object that only the lanes on one side of a divergent branch use can thus be shared.
//!
//! After: Moll, thesis, section 6.6. Differs in: exit joins; slots for fields; writes of the whole slot; undefined states.

use std::ops::Range;

use heddle_ir::entity::{Entity, SecondaryMap};
use heddle_ir::{Block, Detail, Function, Inst, InstData, Op, Scalar, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::control_tables::ControlTables;
use crate::frontier::DominanceFrontier;
use crate::points_to::{PointsTo, PointsToTarget, PrivateObject};
use crate::uses::UseLists;

heddle_ir::entity! {
    /// Byte range of a private object.
    pub AllocaSlot, "slot"
}

heddle_ir::entity! {
    /// Contents of a slot at a program point.
    pub SlotState, "#"
}

/// Byte range of an object that its accesses do not split further.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotInfo {
    /// The object.
    pub object: PrivateObject,
    /// `alloca` of the object.
    pub alloca: Inst,
    /// Byte range within the object.
    pub bytes: Range<u64>,
}

/// Definition of a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SlotStateDef {
    /// Nothing is written yet.
    Undefined,
    /// An instruction writes.
    Write {
        /// The writing instruction.
        inst: Inst,
        /// State before a partial write; none if the whole slot is overwritten.
        before: Option<SlotState>,
    },
    /// Control flow joins, or leaves a loop.
    Join {
        /// Block of the join.
        block: Block,
        /// State at the end of each distinct predecessor, in order.
        incoming: Vec<(Block, SlotState)>,
    },
}

/// Properties of a state.
#[derive(Clone, Debug)]
pub struct SlotStateInfo {
    /// Slot of the state.
    pub slot: AllocaSlot,
    /// Definition of the state.
    pub def: SlotStateDef,
    /// True if an instruction may read the state, or a later one that keeps part of it.
    pub is_read: bool,
    /// True if the slot holds only poison.
    pub is_undefined: bool,
}

/// Memory SSA of the tracked private objects of a function.
#[derive(Clone, Debug)]
pub struct AllocaSsa {
    /// Points-to sets of all pointers.
    pub points_to: PointsTo,
    slots: Vec<SlotInfo>,
    states: Vec<SlotStateInfo>,
    reads: SecondaryMap<Inst, SmallVec<[SlotState; 2]>>,
    writes: SecondaryMap<Inst, SmallVec<[SlotState; 2]>>,
    joins: SecondaryMap<Block, Vec<SlotState>>,
    users: Vec<Vec<SlotStateUser>>,
}

/// User of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotStateUser {
    /// Instruction that reads the state.
    Inst(Inst),
    /// State that keeps part of the state.
    State(SlotState),
}

/// Access of an instruction to a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SlotAccess {
    slot: AllocaSlot,
    reads: bool,
    writes: bool,
    covers_slot: bool,
}

/// Bytes that an instruction accesses through one of its pointers.
struct AccessedBytes {
    pointer: Value,
    size: Option<u64>,
    reads: bool,
    writes: bool,
    /// True if each executing lane writes all of the bytes.
    is_definite: bool,
}

/// Returns the private memory that an instruction may access.
fn accessed_bytes(func: &Function, data: &InstData, result: Option<Value>) -> SmallVec<[AccessedBytes; 2]> {
    let bytes = |value: Value| Some(u64::from(func.value_type(value).bytes()));
    let size = |value: Value| u64::try_from(func.unsigned_constant(value)?).ok();
    let read =
        |pointer, size| AccessedBytes { pointer, size, reads: true, writes: false, is_definite: false };
    let write =
        |pointer, size| AccessedBytes { pointer, size, reads: false, writes: true, is_definite: true };
    match data.op {
        Op::Load => result.map(|result| read(data.args[0], bytes(result))).into_iter().collect(),
        Op::Store => SmallVec::from_iter([write(data.args[1], bytes(data.args[0]))]),
        Op::Memset => SmallVec::from_iter([write(data.args[0], size(data.args[2]))]),
        Op::Memcpy | Op::Memmove => {
            let size = size(data.args[2]);
            SmallVec::from_iter([write(data.args[0], size), read(data.args[1], size)])
        }
        Op::AtomicRmw | Op::CompareExchange => {
            let span = read(data.args[0], bytes(data.args[1]));
            SmallVec::from_iter([AccessedBytes { writes: true, ..span }])
        }
        _ => SmallVec::new(),
    }
}

impl AllocaSsa {
    /// Builds memory SSA for the private objects of a function.
    pub(crate) fn new(func: &Function, control: &ControlTables, uses: &UseLists) -> Self {
        let points_to = PointsTo::new(func, control, uses);
        let mut this = Self {
            points_to,
            slots: Vec::new(),
            states: Vec::new(),
            reads: SecondaryMap::new(),
            writes: SecondaryMap::new(),
            joins: SecondaryMap::with_len(control.cfg.num_blocks()),
            users: Vec::new(),
        };
        if this.points_to.objects().iter().any(|object| !object.escapes) {
            let accesses = this.find_slots(func, control);
            this.build(func, control, &accesses);
            this.find_users(func, control);
            this.find_undefined(func);
        }
        this
    }

    /// Returns the slots, by number.
    pub fn slots(&self) -> &[SlotInfo] {
        &self.slots
    }

    /// Returns the states, by number.
    pub fn states(&self) -> &[SlotStateInfo] {
        &self.states
    }

    /// Returns the properties of a state.
    pub fn state(&self, state: SlotState) -> &SlotStateInfo {
        &self.states[state.index()]
    }

    /// Returns the states that an instruction may read.
    pub fn read_by(&self, inst: Inst) -> &[SlotState] {
        &self.reads[inst]
    }

    /// Returns the states that an instruction defines.
    pub fn written_by(&self, inst: Inst) -> &[SlotState] {
        &self.writes[inst]
    }

    /// Returns the states that a block joins.
    pub fn joined_at(&self, block: Block) -> &[SlotState] {
        &self.joins[block]
    }

    /// Returns the users of a state.
    pub fn users(&self, state: SlotState) -> &[SlotStateUser] {
        &self.users[state.index()]
    }

    /// Returns the block that defines a state; none for the initial state.
    pub fn block_of(&self, func: &Function, state: SlotState) -> Option<Block> {
        match self.state(state).def {
            SlotStateDef::Undefined => None,
            SlotStateDef::Write { inst, .. } => func.layout.block_of(inst),
            SlotStateDef::Join { block, .. } => Some(block),
        }
    }

    /// Splits objects into slots; returns the slot accesses of each instruction.
    fn find_slots(
        &mut self,
        func: &Function,
        control: &ControlTables,
    ) -> SecondaryMap<Inst, SmallVec<[SlotAccess; 2]>> {
        let count = self.points_to.objects().len();
        // Byte ranges of the accesses to each object; none if one of them is unknown.
        let mut runs: Vec<Option<Vec<Range<u64>>>> = vec![Some(Vec::new()); count];
        let insts = || control.index.order().iter().flat_map(|&block| func.block_insts(block));
        let run_of = |target: &PointsToTarget, size: Option<u64>, bytes: u64| {
            let first = u64::try_from(target.offset?).ok()?;
            let end = first.checked_add(size?)?;
            (end <= bytes).then_some(first..end)
        };
        for inst in insts() {
            for span in accessed_bytes(func, func.inst(inst), func.result(inst)) {
                for target in &self.points_to.targets(span.pointer).known {
                    let number = target.object.index();
                    let run = run_of(target, span.size, self.points_to.objects()[number].bytes);
                    match (&mut runs[number], run) {
                        (Some(runs), Some(run)) => runs.push(run),
                        (runs, _) => *runs = None,
                    }
                }
            }
        }
        let mut first_slot = Vec::with_capacity(count);
        for (number, runs) in runs.into_iter().enumerate() {
            first_slot.push(self.slots.len());
            let object = &self.points_to.objects()[number];
            if object.escapes {
                continue;
            }
            let (alloca, whole) = (object.alloca, 0..object.bytes);
            let mut runs = runs.unwrap_or_else(|| vec![whole]);
            runs.retain(|run| !run.is_empty());
            runs.sort_unstable_by_key(|run| run.start);
            let mut merged: Vec<Range<u64>> = Vec::new();
            for run in runs {
                match merged.last_mut() {
                    Some(last) if run.start < last.end => last.end = last.end.max(run.end),
                    _ => merged.push(run),
                }
            }
            let object = PrivateObject::new(number);
            self.slots.extend(merged.into_iter().map(|bytes| SlotInfo { object, alloca, bytes }));
        }
        first_slot.push(self.slots.len());
        let objects = self.points_to.objects().iter().enumerate();
        let object_of: FxHashMap<Inst, usize> =
            objects.map(|(number, object)| (object.alloca, number)).collect();
        let mut accesses: SecondaryMap<Inst, SmallVec<[SlotAccess; 2]>> = SecondaryMap::new();
        for inst in insts() {
            let data = func.inst(inst);
            for span in accessed_bytes(func, data, func.result(inst)) {
                let targets = self.points_to.targets(span.pointer);
                // A predicate may mask off the write.
                let is_definite = span.is_definite
                    && func.layout.block_of(inst).is_some_and(|block| func.predicate(block).is_none());
                let is_only = is_definite && targets.known.len() == 1 && !targets.unknown;
                for target in &targets.known {
                    let number = target.object.index();
                    let object = &self.points_to.objects()[number];
                    let run = run_of(target, span.size, object.bytes);
                    for slot in first_slot[number]..first_slot[number + 1] {
                        let bytes = &self.slots[slot].bytes;
                        let overlaps =
                            run.as_ref().is_none_or(|run| run.start < bytes.end && bytes.start < run.end);
                        if overlaps {
                            let covers = run
                                .as_ref()
                                .is_some_and(|run| run.start <= bytes.start && bytes.end <= run.end);
                            accesses[inst].push(SlotAccess {
                                slot: AllocaSlot::new(slot),
                                reads: span.reads,
                                writes: span.writes,
                                covers_slot: covers && is_only && object.is_single,
                            });
                        }
                    }
                }
            }
            let is_single = |number: &usize| self.points_to.objects()[*number].is_single;
            if let Some(number) = object_of.get(&inst).copied().filter(is_single) {
                for slot in first_slot[number]..first_slot[number + 1] {
                    let slot = AllocaSlot::new(slot);
                    accesses[inst].push(SlotAccess { slot, reads: false, writes: true, covers_slot: true });
                }
            }
        }
        accesses
    }

    fn add_state(&mut self, slot: AllocaSlot, def: SlotStateDef) -> SlotState {
        self.states.push(SlotStateInfo { slot, def, is_read: false, is_undefined: false });
        SlotState::new(self.states.len() - 1)
    }

    fn build(
        &mut self,
        func: &Function,
        control: &ControlTables,
        accesses: &SecondaryMap<Inst, SmallVec<[SlotAccess; 2]>>,
    ) {
        self.place_joins(func, control, accesses);
        let mut current: Vec<SlotState> = (0..self.slots.len())
            .map(|slot| self.add_state(AllocaSlot::new(slot), SlotStateDef::Undefined))
            .collect();
        // Walks the dominator tree, and undoes the changes of each block after its subtree.
        enum Visit {
            Enter(Block),
            Leave(usize),
        }
        let mut changes: Vec<(usize, SlotState)> = Vec::new();
        let mut work = vec![Visit::Enter(control.cfg.entry())];
        while let Some(visit) = work.pop() {
            let block = match visit {
                Visit::Enter(block) => block,
                Visit::Leave(mark) => {
                    for (slot, state) in changes.drain(mark..).rev() {
                        current[slot] = state;
                    }
                    continue;
                }
            };
            work.push(Visit::Leave(changes.len()));
            for at in 0..self.joins[block].len() {
                let state = self.joins[block][at];
                let slot = self.state(state).slot.index();
                changes.push((slot, std::mem::replace(&mut current[slot], state)));
            }
            for inst in func.block_insts(block) {
                let all = &accesses[inst];
                for access in all.iter().filter(|access| access.reads) {
                    let state = current[access.slot.index()];
                    if !self.reads[inst].contains(&state) {
                        self.reads[inst].push(state);
                    }
                }
                for access in all.iter().filter(|access| access.writes) {
                    let slot = access.slot.index();
                    let before = (!access.covers_slot).then_some(current[slot]);
                    let state = self.add_state(access.slot, SlotStateDef::Write { inst, before });
                    self.writes[inst].push(state);
                    changes.push((slot, std::mem::replace(&mut current[slot], state)));
                }
            }
            let mut succs: SmallVec<[Block; 4]> = SmallVec::from_slice(control.cfg.succs(block));
            succs.sort_unstable();
            succs.dedup();
            for succ in succs {
                for at in 0..self.joins[succ].len() {
                    let join = self.joins[succ][at];
                    let state = current[self.state(join).slot.index()];
                    if let SlotStateDef::Join { incoming, .. } = &mut self.states[join.index()].def {
                        incoming.push((block, state));
                    }
                }
            }
            work.extend(control.dominators.children(block).iter().rev().map(|&child| Visit::Enter(child)));
        }
        for info in &mut self.states {
            if let SlotStateDef::Join { incoming, .. } = &mut info.def {
                incoming.sort_unstable();
            }
        }
    }

    /// Places joins at the iterated dominance frontier of writes and exits, and at exits of loops that write.
    fn place_joins(
        &mut self,
        func: &Function,
        control: &ControlTables,
        accesses: &SecondaryMap<Inst, SmallVec<[SlotAccess; 2]>>,
    ) {
        let mut writers: Vec<Vec<Block>> = vec![Vec::new(); self.slots.len()];
        for &block in control.index.order() {
            for inst in func.block_insts(block) {
                for access in accesses[inst].iter().filter(|access| access.writes) {
                    let blocks = &mut writers[access.slot.index()];
                    if blocks.last() != Some(&block) {
                        blocks.push(block);
                    }
                }
            }
        }
        let frontier = DominanceFrontier::new(&control.cfg, &control.dominators);
        let cycles = &control.cycles;
        for (number, blocks) in writers.into_iter().enumerate() {
            let mut exits: Vec<Block> = Vec::new();
            let mut seen = rustc_hash::FxHashSet::default();
            for &block in &blocks {
                let mut enclosing = cycles.innermost(block);
                while let Some(cycle) = enclosing.filter(|&cycle| seen.insert(cycle)) {
                    exits.extend(cycles.exits(&control.cfg, cycle));
                    enclosing = cycles.parent(cycle);
                }
            }
            let mut joined = frontier.iterated(blocks.iter().chain(&exits).copied());
            joined.extend(exits);
            joined.sort_unstable();
            joined.dedup();
            for block in joined {
                let def = SlotStateDef::Join { block, incoming: Vec::new() };
                let state = self.add_state(AllocaSlot::new(number), def);
                self.joins[block].push(state);
            }
        }
    }

    /// Marks the states that hold only poison: those of an `alloca`, and joins of such states.
    fn find_undefined(&mut self, func: &Function) {
        let mut work = Vec::new();
        for (number, info) in self.states.iter_mut().enumerate() {
            info.is_undefined = match info.def {
                SlotStateDef::Write { inst, .. } => func.inst(inst).op == Op::Alloca,
                SlotStateDef::Undefined | SlotStateDef::Join { .. } => true,
            };
            if !info.is_undefined {
                work.push(SlotState::new(number));
            }
        }
        while let Some(state) = work.pop() {
            for user in &self.users[state.index()] {
                let SlotStateUser::State(user) = *user else { continue };
                let info = &mut self.states[user.index()];
                if matches!(info.def, SlotStateDef::Join { .. }) && std::mem::take(&mut info.is_undefined) {
                    work.push(user);
                }
            }
        }
    }

    fn find_users(&mut self, func: &Function, control: &ControlTables) {
        self.users = vec![Vec::new(); self.states.len()];
        let mut work: Vec<SlotState> = Vec::new();
        for inst in control.index.order().iter().flat_map(|&block| func.block_insts(block)) {
            for &state in &self.reads[inst] {
                self.users[state.index()].push(SlotStateUser::Inst(inst));
                work.push(state);
            }
        }
        for number in 0..self.states.len() {
            let user = SlotStateUser::State(SlotState::new(number));
            match &self.states[number].def {
                SlotStateDef::Undefined | SlotStateDef::Write { before: None, .. } => {}
                SlotStateDef::Write { before: Some(before), .. } => self.users[before.index()].push(user),
                SlotStateDef::Join { incoming, .. } => {
                    incoming.iter().for_each(|(_, state)| self.users[state.index()].push(user));
                }
            }
        }
        while let Some(state) = work.pop() {
            if std::mem::replace(&mut self.states[state.index()].is_read, true) {
                continue;
            }
            match &self.states[state.index()].def {
                SlotStateDef::Write { before: Some(before), .. } => work.push(*before),
                SlotStateDef::Join { incoming, .. } => work.extend(incoming.iter().map(|&(_, state)| state)),
                _ => {}
            }
        }
    }
}

/// True if the instruction's accesses are volatile, and thus separate for each lane.
pub(crate) fn is_volatile(data: &InstData) -> bool {
    data.flags.has(heddle_ir::words::Flag::Volatile)
}

/// True if a memory operation may read unknown private memory.
pub(crate) fn reads_unknown(func: &Function, points_to: &PointsTo, inst: Inst) -> bool {
    let data = func.inst(inst);
    let pointer = match (data.op, &data.detail) {
        (Op::Memcpy | Op::Memmove, Detail::Transfer(_)) => data.args[1],
        _ => data.args[0],
    };
    debug_assert!(matches!(func.value_type(pointer).scalar(), Scalar::Ptr(_)));
    points_to.targets(pointer).unknown
}
