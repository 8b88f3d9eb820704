//! Assigns spill slots to values that live across barriers.
//!
//! ```text
//!     group-uniform                   variable of the group function
//!     brush-uniform                   one slot per brush
//!     strided                         lane 0's value, one slot per brush
//!     varying                         one slot per lane, contiguous
//!     cheap to recompute              none; group-uniform operands may have a variable for it
//!     private object                  one object per lane, allocated as long as the group runs (`private_objects`)
//! ```
//!
//! A value has one slot for all barriers, so a state that does not change it need not store it.

use super::accessed_addresses::find_accessed;
use super::continuations::ContinuationGraph;
use super::exit_plan::{ExitPlan, StateExits, plan_exits};
use super::launch_params::{GroupDescriptorField, LaunchParams};
use super::private_objects::{PrivateObject, users_of};
use super::refuse_inst;
use heddle_analysis::shape::{Fact, Geometry, Poison, Shape, Strides, UniformityLevel};
use heddle_analysis::{ControlTables, InitialShapes, Liveness, divergence};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::Detail;
use heddle_ir::ops::Effect;
use heddle_ir::words::Flags;
use heddle_ir::{Diagnostic, Function, Inst, Op, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Storage of a value across barriers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SpillSlot {
    /// Variable of the group function.
    GroupVariable,
    /// One value per brush, at this offset in the brush's memory.
    PerBrush(u64),
    /// Lane 0's value at this offset, and the strides along each dimension of the brush.
    Strided(u64, Strides),
    /// All lanes' values, from this offset on.
    PerLane(u64),
    /// No slot: the value is recomputed.
    Recomputed,
    /// Private object: offset of lane 0's copy, and the distance in bytes between the lanes' copies.
    PrivateObject(u64, u64),
}

/// Spill slots of a kernel and the liveness that they are based on.
pub(super) struct SpillPlan {
    pub(super) slots: SecondaryMap<Value, Option<SpillSlot>>,
    /// For each state, the values live at its start, without parameters.
    pub(super) live_in: Vec<Vec<Value>>,
    /// Bytes of memory per brush.
    pub(super) brush_bytes: u64,
    /// Number of dimensions of a brush.
    pub(super) dimensions: usize,
    /// True if private objects live across barriers.
    pub(super) has_objects: bool,
    /// Instructions that recompute a value, operands first.
    pub(super) recomputations: FxHashMap<Value, Recomputation>,
    /// Group variables that may be poison.
    pub(super) may_be_poison: EntitySet<Value>,
    /// Exits of each state.
    pub(super) exits: Vec<StateExits>,
    /// Exit flag of a brush or of its lanes.
    pub(super) exit_flag: Option<ExitFlag>,
    /// Offset of the group's status in the memory of its first brush.
    pub(super) status_offset: Option<u64>,
}

/// Recomputation of a value after a barrier.
#[derive(Clone, Default, Debug)]
pub(super) struct Recomputation {
    /// Instructions, operands first.
    pub(super) insts: SmallVec<[Inst; MAX_RECOMPUTED]>,
    /// Group-uniform operands that are kept in variables of the group function.
    pub(super) kept: SmallVec<[Value; 2]>,
}

/// Flag in a brush's memory, one byte: 0 if the work-item, or the brush, has exited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ExitFlag {
    /// Offset of lane 0's flag.
    pub(super) offset: u64,
    /// Bytes between lanes; 0 if a brush has one flag.
    pub(super) stride: u64,
}

/// Alignment of a brush's memory.
pub(super) const BRUSH_ALIGN: u64 = 64;
/// Maximum number of operations to recompute a varying value, and a strided one, which needs scalar operations only.
const MAX_RECOMPUTED: usize = 6;
const MAX_RECOMPUTED_SCALARS: usize = 16;

/// Assigns spill slots to the values that live across the barriers of a kernel.
pub(super) fn assign_spill_slots(
    kernel: &Function,
    launch_params: &LaunchParams,
    states: &ContinuationGraph,
    objects: &[PrivateObject],
    brush: &[u32],
) -> Result<SpillPlan, Diagnostic> {
    let lanes: u32 = brush.iter().product();
    let mut plan = SpillPlan {
        slots: SecondaryMap::with_len(kernel.value_count()),
        live_in: Vec::new(),
        brush_bytes: 0,
        dimensions: brush.len(),
        has_objects: false,
        recomputations: FxHashMap::default(),
        may_be_poison: EntitySet::new(),
        exits: vec![StateExits::TOGETHER],
        exit_flag: None,
        status_offset: None,
    };
    if states.all.len() == 1 {
        plan.live_in.push(Vec::new());
        return Ok(plan);
    }
    let control = ControlTables::new(kernel);
    let mut initial = InitialShapes::declared(kernel, Geometry::brush(brush));
    for (&param, fact) in kernel.params().iter().zip(&mut initial.params) {
        // Different brushes have different first indices.
        if launch_params.items.contains(&param) {
            *fact = fact.with_level(UniformityLevel::Brush).with_poison(Poison::Never);
        } else if launch_params.fields.iter().any(|&(_, field)| field == param) {
            *fact = fact.with_poison(Poison::Never);
        }
    }
    let facts = divergence(kernel, &control, &initial);
    let ExitPlan { states: exits, flag_per_lane, may_wait_apart } = plan_exits(kernel, states, &facts);
    plan.exit_flag = flag_per_lane.map(|is_per_lane| ExitFlag {
        offset: plan.allocate(if is_per_lane { lanes.into() } else { 1 }, BRUSH_ALIGN),
        stride: is_per_lane.into(),
    });
    plan.status_offset = may_wait_apart.then(|| plan.allocate(4, 4));
    // A variable of the group holds what all brushes have returned, and those that exited return nothing.
    plan.exits = exits;
    plan.has_objects = !objects.is_empty();
    for &PrivateObject { alloca: inst, is_followed, element } in objects {
        let (Detail::Alloca { bytes, align }, Some(result)) =
            (&kernel.inst(inst).detail, kernel.result(inst))
        else {
            continue;
        };
        let def_block = kernel.layout.block_of(inst);
        if !is_followed && def_block.is_some_and(|block| control.cycles.innermost(block).is_some()) {
            let text =
                "each iteration of the loop has a private object, several of which may live across a barrier";
            return Err(refuse_inst(kernel, inst, text, "declare the object before the loop"));
        }
        let align = u64::from(*align).max(1);
        let size = bytes.next_multiple_of(align).max(1);
        let offset = plan.allocate(size.saturating_mul(lanes.into()), align.max(BRUSH_ALIGN));
        plan.slots[result] = Some(SpillSlot::PrivateObject(offset, element.map_or(size, u64::from)));
    }
    let per_lane_addresses = find_per_lane_addresses(kernel, objects);
    let liveness = Liveness::new(kernel, &control.cfg);
    let sets = liveness.sets();
    let mut known: SecondaryMap<Value, Option<Fact>> = SecondaryMap::new();
    let mut poison_at_start: SecondaryMap<Value, Poison> = SecondaryMap::new();
    let mut live_values: Vec<Value> = Vec::new();
    for (number, state) in states.all.iter().enumerate() {
        let is_open = |value: &&Value| !matches!(kernel.value_def(**value), ValueDef::Param(_));
        // No barrier precedes the entry.
        let at_start = if number == 0 { &[] } else { sets.live_in(state.start) };
        let at_start: Vec<Value> = at_start.iter().filter(is_open).copied().collect();
        for &value in &at_start {
            let fact = facts.fact_at(kernel, &control, value, state.start);
            known[value] = Some(match known[value] {
                None => {
                    live_values.push(value);
                    fact
                }
                Some(other) => other.join(fact),
            });
        }
        plan.live_in.push(at_start);
    }
    live_values.sort_unstable();
    // Lane 0 represents the others only if it is not poison. Sums that compute an index in the launch and accessed addresses never are.
    let may_step = |&value: &Value| {
        known[value].is_some_and(|fact| fact.poison == Poison::Any && fact.shape.strides().is_some())
    };
    if live_values.iter().any(may_step) {
        let accessed = find_accessed(kernel, states);
        let defined = without_satisfied_flags(kernel, launch_params, &accessed);
        let facts = divergence(&defined, &control, &initial);
        for (number, state) in states.all.iter().enumerate() {
            for &value in &plan.live_in[number] {
                let is_accessed =
                    matches!(kernel.value_def(value), ValueDef::Result(inst, _) if accessed.contains(inst));
                if !is_accessed {
                    let poison = facts.fact_at(&defined, &control, value, state.start).poison;
                    poison_at_start[value] = poison_at_start[value].join(poison);
                }
            }
        }
        for &value in &live_values {
            known[value] = known[value].map(|fact| fact.with_poison(poison_at_start[value]));
        }
    }
    let exits_diverge = plan.exit_flag.is_some() || plan.exits.iter().any(StateExits::lanes_diverge);
    let fact_before = |state: usize, value: Value| {
        let fact = facts.fact_at(kernel, &control, value, states.all[state].start);
        Some(fact)
            .filter(|fact| !exits_diverge && is_group_uniform(fact) && !per_lane_addresses.contains(value))
    };
    for value in live_values {
        if plan.slots[value].is_none() {
            let mut fact = known[value].unwrap_or_default();
            if exits_diverge {
                fact.level = UniformityLevel::Brush;
            }
            if per_lane_addresses.contains(value) {
                (fact.shape, fact.level) = (Shape::VARYING, UniformityLevel::Brush);
            }
            if plan.recomputes(kernel, value, &fact, fact_before) {
                continue;
            }
            plan.slots[value] = Some(plan.choose_slot(kernel, value, &fact, lanes));
            if fact.poison != Poison::Never {
                plan.may_be_poison.insert(value);
            }
        }
    }
    plan.brush_bytes = plan.brush_bytes.next_multiple_of(BRUSH_ALIGN);
    Ok(plan)
}

/// Returns a copy of the kernel without flags that make no value poison in a work-item that comes to a barrier: those of sums of a group's
/// first index and an index in the group, since the runtime guarantees them, and of values that an accessed address is computed from.
fn without_satisfied_flags(
    kernel: &Function,
    launch_params: &LaunchParams,
    accessed: &EntitySet<Inst>,
) -> Function {
    let is_first = |value: Value| {
        launch_params
            .fields
            .iter()
            .any(|&(field, known)| known == value && matches!(field, GroupDescriptorField::FirstId(_)))
    };
    let mut defined = kernel.clone();
    for inst in kernel.blocks().flat_map(|block| kernel.block_insts(block)) {
        let data = kernel.inst(inst);
        let is_sum = |a: Value, b: Value| is_first(a) && launch_params.items.contains(&b);
        let is_index = data.op == Op::Add && matches!(data.args[..], [a, b] if is_sum(a, b) || is_sum(b, a));
        if is_index || accessed.contains(inst) {
            let data = defined.inst_mut(inst);
            data.flags = data.flags.without(Flags::POISON);
        }
    }
    defined
}

/// Returns the values derived from addresses of private objects with per-lane copies. Analyses take all copies for one object.
fn find_per_lane_addresses(kernel: &Function, objects: &[PrivateObject]) -> EntitySet<Value> {
    let mut live_values = EntitySet::new();
    let mut work: Vec<Value> =
        objects.iter().flat_map(|object| kernel.results(object.alloca)).copied().collect();
    if work.is_empty() {
        return live_values;
    }
    let users = users_of(kernel);
    let mut is_kept = false;
    while let Some(value) = work.pop() {
        if !live_values.insert(value) {
            continue;
        }
        for &user in &users[value] {
            let data = kernel.inst(user);
            match data.op {
                Op::Load | Op::Memset => {}
                Op::Store => is_kept |= data.args[0] == value,
                op if op.info().effect == Effect::Pure || op == Op::Phi => {
                    let is_number = |&&result: &&Value| kernel.value_type(result).scalar().bits() > 1;
                    work.extend(kernel.results(user).iter().filter(is_number));
                }
                _ => is_kept = true,
            }
        }
        if work.is_empty() && std::mem::take(&mut is_kept) {
            // A stored address may come back from any load.
            let insts = kernel.blocks().flat_map(|block| kernel.block_insts(block));
            let loads = insts.filter(|&inst| kernel.inst(inst).op == Op::Load);
            work.extend(
                loads
                    .flat_map(|inst| kernel.results(inst))
                    .filter(|&&it| kernel.value_type(it).scalar().bits() >= 64 && !live_values.contains(it)),
            );
        }
    }
    live_values
}

impl SpillPlan {
    /// True if all lanes of a brush are active at the exits of a state.
    pub(super) fn is_brush_full(&self, exits: StateExits) -> bool {
        let flag_per_lane = self.exit_flag.is_some_and(|flag| flag.stride > 0);
        !(exits.lanes_diverge() || exits.tests_flag && flag_per_lane)
    }

    fn allocate(&mut self, bytes: u64, align: u64) -> u64 {
        let offset = self.brush_bytes.next_multiple_of(align);
        self.brush_bytes = offset.saturating_add(bytes);
        offset
    }

    /// Has a value recomputed if that is cheap. `fact_before` returns the fact of a value before a state if it is group-uniform there.
    fn recomputes(
        &mut self,
        kernel: &Function,
        value: Value,
        fact: &Fact,
        fact_before: impl Fn(usize, Value) -> Option<Fact>,
    ) -> bool {
        let most = if fact.shape.strides().is_some() { MAX_RECOMPUTED_SCALARS } else { MAX_RECOMPUTED };
        let is_cheap = |it: &Recomputation| it.insts.len() <= most;
        let recomputation = self.recomputation(kernel, value, |_| false).filter(is_cheap).or_else(|| {
            let first = self.live_in.iter().position(|live_in| live_in.contains(&value))?;
            let may_keep = |operand: Value| {
                matches!(self.slots[operand], None | Some(SpillSlot::GroupVariable))
                    && fact_before(first, operand).is_some()
            };
            self.recomputation(kernel, value, may_keep).filter(|it| is_cheap(it) && !is_group_uniform(fact))
        });
        let Some(recomputation) = recomputation else { return false };
        let mut states: Vec<(Value, Vec<usize>)> = Vec::new();
        for &kept in &recomputation.kept {
            let states_of_kept = self.states_between(kernel, &recomputation, kept);
            let Some(facts) =
                states_of_kept.iter().map(|&state| fact_before(state, kept)).collect::<Option<Vec<_>>>()
            else {
                return false;
            };
            if facts.iter().any(|fact| fact.poison != Poison::Never) {
                self.may_be_poison.insert(kept);
            }
            states.push((kept, states_of_kept));
        }
        for (kept, states) in states {
            self.slots[kept] = Some(SpillSlot::GroupVariable);
            for state in states {
                if !self.live_in[state].contains(&kept) {
                    self.live_in[state].push(kept);
                }
            }
        }
        self.slots[value] = Some(SpillSlot::Recomputed);
        self.recomputations.insert(value, recomputation);
        true
    }

    /// Returns the states before which an operand has to be kept or is live: the operand, or what is recomputed from it, is live there.
    fn states_between(&self, kernel: &Function, recomputation: &Recomputation, kept: Value) -> Vec<usize> {
        let mut reached = EntitySet::new();
        reached.insert(kept);
        for &inst in &recomputation.insts {
            if kernel.inst(inst).args.iter().any(|&arg| reached.contains(arg)) {
                kernel.results(inst).iter().for_each(|&result| _ = reached.insert(result));
            }
        }
        let needs = |live_in: &[Value]| live_in.iter().any(|&value| reached.contains(value));
        self.live_in
            .iter()
            .enumerate()
            .filter(|(_, live_in)| needs(live_in))
            .map(|(state, _)| state)
            .collect()
    }

    fn choose_slot(&mut self, kernel: &Function, value: Value, fact: &Fact, lanes: u32) -> SpillSlot {
        let ty = kernel.value_type(value);
        let bytes = u64::from(ty.bytes());
        // A lane with poison does not represent the others.
        let is_one = fact.poison != Poison::Any;
        match fact.shape.strides() {
            Some(_) if is_group_uniform(fact) => SpillSlot::GroupVariable,
            Some(strides) if is_one && strides.is_zero() => {
                SpillSlot::PerBrush(self.allocate(bytes, bytes.next_power_of_two()))
            }
            Some(strides) if is_one => {
                SpillSlot::Strided(self.allocate(bytes, bytes.next_power_of_two()), strides)
            }
            _ => SpillSlot::PerLane(self.allocate(bytes * u64::from(lanes), BRUSH_ALIGN)),
        }
    }

    /// Returns the instructions that recompute a value from parameters, constants, private objects, and operands that are kept. None
    /// if they are too many or have effects.
    fn recomputation(
        &self,
        kernel: &Function,
        value: Value,
        keeps: impl Fn(Value) -> bool,
    ) -> Option<Recomputation> {
        let Recomputation { mut insts, mut kept } = Recomputation::default();
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            if matches!(self.slots[value], Some(SpillSlot::PrivateObject(..))) {
                continue;
            }
            let ValueDef::Result(inst, _) = kernel.value_def(value) else { continue };
            if keeps(value) {
                if !kept.contains(&value) {
                    kept.push(value);
                }
                continue;
            }
            let data = kernel.inst(inst);
            if insts.contains(&inst) {
                // Another operand needs it earlier.
                insts.retain(|other| *other != inst);
            } else if insts.len() == MAX_RECOMPUTED_SCALARS || !is_cheap(data.op) || data.is_total() {
                return None;
            }
            insts.push(inst);
            work.extend(data.args.iter().copied());
        }
        insts.reverse();
        Some(Recomputation { insts, kept })
    }
}

/// True if a value is the same in all work-items of a group, which lane 0 represents.
fn is_group_uniform(fact: &Fact) -> bool {
    // A lane with poison does not represent the others.
    let is_one = fact.poison != Poison::Any;
    is_one && fact.level >= UniformityLevel::Group && fact.shape.strides().is_some_and(|it| it.is_zero())
}

fn is_cheap(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Shl
            | Op::Lshr
            | Op::Ashr
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Trunc
            | Op::Zext
            | Op::Sext
            | Op::Icmp
            | Op::Select
            | Op::Smin
            | Op::Smax
            | Op::Umin
            | Op::Umax
            | Op::PtrAdd
            | Op::SpaceCast
            | Op::Ptrtoint
            | Op::Inttoptr
            | Op::Lane
            | Op::Width
    )
}
