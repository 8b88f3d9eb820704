//! Alloca SSA: the contents of private objects as if they were variables (thesis 6.6).
//!
//! An object that does not escape is cut into *slots*: the runs of bytes that its accesses tell apart, or the whole of
//! it if one of them is at an offset that is not known. Each slot is in SSA form. Its *states* are: undefined at the
//! start; written by an instruction, in part or as a whole; joined at a block. A state says what each lane's own copy
//! holds, so a join where lanes come apart from each other, by edges with different states, is where copies come to
//! differ, as at a φ.
//!
//! ```text
//!     block1: store 1, v2   #1 = write          Behind a loop there is a join at each exit, with one operand if need
//!       │        ▲                              be: lanes that leave in different rounds have different states, although
//!       ▼        │                              in each round all had the same. The thesis has no such join.
//!     block2 ────┘
//!       ▼
//!     block3: #2 = join [block2: #1]
//! ```
//!
//! Joins are not pruned, but it is known which states are *read*: an undecided join that nothing reads does no harm
//! behind a loop. Where lanes merely ran apart it does, if all of them are to share one copy: while one lane writes, the
//! other may still read. So a slot may be shared only if no join of lanes that ran apart has different states, read or
//! not.
//!
//! Where some lanes have written and others hold ⊤ yet, copies do not differ: ⊤ may be anything. So an object that is used
//! by those lanes alone that take a divergent branch may be shared.
//!
//! After: Moll, thesis, section 6.6. Differs in: exit joins; slots for fields; states that
//! replace others as a whole, or hold nothing.

use std::ops::Range;

use heddle_ir::entity::{Entity, SecondaryMap};
use heddle_ir::{Block, Constant, Detail, Function, Inst, InstData, Op, Scalar, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::control_tables::ControlTables;
use crate::frontier::DominanceFrontier;
use crate::points_to::{PointsTo, PointsToTarget, PrivateObject};
use crate::uses::UseLists;

heddle_ir::entity! {
    /// A run of bytes of a private object.
    pub AllocaSlot, "slot"
}

heddle_ir::entity! {
    /// What a slot holds at some point.
    pub SlotState, "#"
}

/// A run of bytes of an object that accesses do not tell apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotInfo {
    /// The object.
    pub object: PrivateObject,
    /// The `alloca` that makes it.
    pub alloca: Inst,
    /// The bytes.
    pub bytes: Range<u64>,
}

/// How a state comes about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SlotStateDef {
    /// Nothing has been written.
    Undefined,
    /// An instruction writes; without a state before it, it leaves nothing of that.
    Write {
        /// The instruction.
        inst: Inst,
        /// What stays where it does not write.
        before: Option<SlotState>,
    },
    /// Paths meet, or leave a loop.
    Join {
        /// Where.
        block: Block,
        /// The state at the end of each predecessor, each once, in order.
        incoming: Vec<(Block, SlotState)>,
    },
}

/// A state of a slot.
#[derive(Clone, Debug)]
pub struct SlotStateInfo {
    /// The slot.
    pub slot: AllocaSlot,
    /// How it comes about.
    pub def: SlotStateDef,
    /// Whether an instruction may read it, or something of it.
    pub is_read: bool,
    /// Whether nothing has been written: all of it is ⊤.
    pub is_undefined: bool,
}

/// The private objects of a function that can be followed.
#[derive(Clone, Debug)]
pub struct AllocaSsa {
    /// Where pointers point to.
    pub points_to: PointsTo,
    slots: Vec<SlotInfo>,
    states: Vec<SlotStateInfo>,
    reads: SecondaryMap<Inst, SmallVec<[SlotState; 2]>>,
    writes: SecondaryMap<Inst, SmallVec<[SlotState; 2]>>,
    joins: SecondaryMap<Block, Vec<SlotState>>,
    users: Vec<Vec<SlotStateUser>>,
}

/// What depends on a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotStateUser {
    /// An instruction that reads it.
    Inst(Inst),
    /// A state that holds something of it.
    State(SlotState),
}

/// What an instruction does to a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SlotAccess {
    slot: AllocaSlot,
    reads: bool,
    writes: bool,
    is_whole: bool,
}

/// A run of bytes that an instruction touches through one of its pointers.
struct AccessedBytes {
    pointer: Value,
    size: Option<u64>,
    reads: bool,
    writes: bool,
    /// Whether a lane that executes it writes all of the bytes.
    is_sure: bool,
}

/// The private memory that an instruction may touch.
fn spans(func: &Function, data: &InstData, result: Option<Value>) -> SmallVec<[AccessedBytes; 2]> {
    let bytes = |value: Value| Some(u64::from(func.value_type(value).bytes()));
    let size = |value: Value| match func.constant(value) {
        Some(Constant::Scalar(_, bits)) => u64::try_from(*bits).ok(),
        _ => None,
    };
    let read = |pointer, size| AccessedBytes { pointer, size, reads: true, writes: false, is_sure: false };
    let write = |pointer, size| AccessedBytes { pointer, size, reads: false, writes: true, is_sure: true };
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
    /// Follows the private objects of a function.
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
            let touches = this.find_slots(func, control);
            this.build(func, control, &touches);
            this.find_users(func, control);
            this.find_undefined(func);
        }
        this
    }

    /// The slots, by number.
    pub fn slots(&self) -> &[SlotInfo] {
        &self.slots
    }

    /// The states, by number.
    pub fn states(&self) -> &[SlotStateInfo] {
        &self.states
    }

    /// A state.
    pub fn state(&self, state: SlotState) -> &SlotStateInfo {
        &self.states[state.index()]
    }

    /// The states that an instruction may read.
    pub fn read_by(&self, inst: Inst) -> &[SlotState] {
        &self.reads[inst]
    }

    /// The states that an instruction makes.
    pub fn written_by(&self, inst: Inst) -> &[SlotState] {
        &self.writes[inst]
    }

    /// The states that are joined at a block.
    pub fn joined_at(&self, block: Block) -> &[SlotState] {
        &self.joins[block]
    }

    /// What depends on a state.
    pub fn users(&self, state: SlotState) -> &[SlotStateUser] {
        &self.users[state.index()]
    }

    /// The block where a state comes about, if it does not hold from the start.
    pub fn block_of(&self, func: &Function, state: SlotState) -> Option<Block> {
        match self.state(state).def {
            SlotStateDef::Undefined => None,
            SlotStateDef::Write { inst, .. } => func.layout.block_of(inst),
            SlotStateDef::Join { block, .. } => Some(block),
        }
    }

    /// Cuts objects into slots; says what each instruction does to them.
    fn find_slots(
        &mut self,
        func: &Function,
        control: &ControlTables,
    ) -> SecondaryMap<Inst, SmallVec<[SlotAccess; 2]>> {
        let count = self.points_to.objects().len();
        // Per object the runs that accesses touch; none if one of them is not known.
        let mut runs: Vec<Option<Vec<Range<u64>>>> = vec![Some(Vec::new()); count];
        let insts = || control.index.order().iter().flat_map(|&block| func.block_insts(block));
        let run_of = |target: &PointsToTarget, size: Option<u64>, bytes: u64| {
            let first = u64::try_from(target.offset?).ok()?;
            let end = first.checked_add(size?)?;
            (end <= bytes).then_some(first..end)
        };
        for inst in insts() {
            for span in spans(func, func.inst(inst), func.result(inst)) {
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
        let mut touches: SecondaryMap<Inst, SmallVec<[SlotAccess; 2]>> = SecondaryMap::new();
        for inst in insts() {
            let data = func.inst(inst);
            for span in spans(func, data, func.result(inst)) {
                let targets = self.points_to.targets(span.pointer);
                // A predicate may keep lanes from writing.
                let is_sure = span.is_sure
                    && func.layout.block_of(inst).is_some_and(|block| func.predicate(block).is_none());
                let is_only = is_sure && targets.known.len() == 1 && !targets.unknown;
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
                            touches[inst].push(SlotAccess {
                                slot: AllocaSlot::new(slot),
                                reads: span.reads,
                                writes: span.writes,
                                is_whole: covers && is_only && object.is_single,
                            });
                        }
                    }
                }
            }
            let is_single = |number: &usize| self.points_to.objects()[*number].is_single;
            if let Some(number) = object_of.get(&inst).copied().filter(is_single) {
                for slot in first_slot[number]..first_slot[number + 1] {
                    let slot = AllocaSlot::new(slot);
                    touches[inst].push(SlotAccess { slot, reads: false, writes: true, is_whole: true });
                }
            }
        }
        touches
    }

    fn add_state(&mut self, slot: AllocaSlot, def: SlotStateDef) -> SlotState {
        self.states.push(SlotStateInfo { slot, def, is_read: false, is_undefined: false });
        SlotState::new(self.states.len() - 1)
    }

    fn build(
        &mut self,
        func: &Function,
        control: &ControlTables,
        touches: &SecondaryMap<Inst, SmallVec<[SlotAccess; 2]>>,
    ) {
        self.place_joins(func, control, touches);
        let mut current: Vec<SlotState> = (0..self.slots.len())
            .map(|slot| self.add_state(AllocaSlot::new(slot), SlotStateDef::Undefined))
            .collect();
        // Down the dominator tree, with what each block has changed to be taken back behind it.
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
                let all = &touches[inst];
                for touch in all.iter().filter(|touch| touch.reads) {
                    let state = current[touch.slot.index()];
                    if !self.reads[inst].contains(&state) {
                        self.reads[inst].push(state);
                    }
                }
                for touch in all.iter().filter(|touch| touch.writes) {
                    let slot = touch.slot.index();
                    let before = (!touch.is_whole).then_some(current[slot]);
                    let state = self.add_state(touch.slot, SlotStateDef::Write { inst, before });
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

    /// Joins at the iterated dominance frontier of writes and exits, and at exits of loops that write.
    fn place_joins(
        &mut self,
        func: &Function,
        control: &ControlTables,
        touches: &SecondaryMap<Inst, SmallVec<[SlotAccess; 2]>>,
    ) {
        let mut writers: Vec<Vec<Block>> = vec![Vec::new(); self.slots.len()];
        for &block in control.index.order() {
            for inst in func.block_insts(block) {
                for touch in touches[inst].iter().filter(|touch| touch.writes) {
                    let blocks = &mut writers[touch.slot.index()];
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
                let mut around = cycles.innermost(block);
                while let Some(cycle) = around.filter(|&cycle| seen.insert(cycle)) {
                    exits.extend(cycles.exits(&control.cfg, cycle));
                    around = cycles.parent(cycle);
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

    /// What is made by an `alloca` holds nothing, and neither does a join of such.
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

/// Whether an instruction's accesses are volatile, and so each lane's own affair.
pub(crate) fn is_volatile(data: &InstData) -> bool {
    data.flags.has(heddle_ir::words::Flag::Volatile)
}

/// Whether a memory operation may read private memory of which nothing is known.
pub(crate) fn reads_unknown(func: &Function, points_to: &PointsTo, inst: Inst) -> bool {
    let data = func.inst(inst);
    let pointer = match (data.op, &data.detail) {
        (Op::Memcpy | Op::Memmove, Detail::Transfer(_)) => data.args[1],
        _ => data.args[0],
    };
    debug_assert!(matches!(func.value_type(pointer).scalar(), Scalar::Ptr(_)));
    points_to.targets(pointer).unknown
}
