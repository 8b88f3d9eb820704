//! What lives across barriers, and where it is kept meanwhile.
//!
//! ```text
//!     one value for the group         a variable of the group function
//!     one value for the brush         once for each brush
//!     known steps from lane to lane   lane 0's, once for each brush
//!     anything else                   once for each lane, lanes side by side
//!     cheap, of parameters alone      nowhere: computed again
//!     a private object                one for each lane, as long as the group runs (`objects`)
//! ```
//!
//! A value has one home for all barriers, so what a state does not change stays where it is.

use super::continuations::ContinuationGraph;
use super::launch_params::{GroupDescriptorField, LaunchParams};
use super::private_objects::{PrivateObject, users_of};
use super::refuse_inst;
use heddle_analysis::shape::{Fact, Geometry, Level, Poison, Shape, Strides};
use heddle_analysis::{ControlTables, InitialShapes, Liveness, divergence};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::Detail;
use heddle_ir::ops::Effect;
use heddle_ir::words::Flags;
use heddle_ir::{Diagnostic, Function, Inst, Op, Value, ValueDef};
use smallvec::SmallVec;

/// Where a value is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SpillSlot {
    /// In a variable of the group function.
    GroupVariable,
    /// In the memory of a brush, at this offset.
    PerBrush(u64),
    /// Lane 0's value there, and the steps of lanes along each dimension of the brush.
    Strided(u64, Strides),
    /// All lanes' values there.
    PerLane(u64),
    /// Nowhere; it is computed again.
    Recomputed,
    /// It is the address of a private object, which each lane has there: those of lanes begin so many bytes apart.
    PrivateObject(u64, u64),
}

/// The homes of what lives across barriers.
pub(super) struct SpillPlan {
    pub(super) slots: SecondaryMap<Value, Option<SpillSlot>>,
    /// For each state what is plan where it starts, parameters apart.
    pub(super) live_in: Vec<Vec<Value>>,
    /// The memory that a brush needs.
    pub(super) brush_bytes: u64,
    /// The dimensions of a brush.
    pub(super) dimensions: usize,
    /// Whether private objects are there.
    pub(super) has_objects: bool,
    /// Variables of the group that may be ⊤.
    pub(super) may_be_poison: EntitySet<Value>,
}

/// What a brush keeps is aligned so.
pub(super) const BRUSH_ALIGN: u64 = 64;
/// A value is computed again by at most so many operations: on vectors, and where lanes step by what is known, so that they are
/// on scalars.
const CHEAP: usize = 6;
const CHEAP_OF_SCALARS: usize = 16;

/// Finds homes for what lives across the barriers of a kernel.
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
        may_be_poison: EntitySet::new(),
    };
    if states.all.len() == 1 {
        plan.live_in.push(Vec::new());
        return Ok(plan);
    }
    let control = ControlTables::new(kernel);
    let mut initial = InitialShapes::declared(kernel, Geometry::brush(brush));
    for (&param, fact) in kernel.params().iter().zip(&mut initial.params) {
        // Brushes stand at different places.
        if launch_params.items.contains(&param) {
            *fact = fact.at(Level::Brush).with_poison(Poison::Never);
        } else if launch_params.fields.iter().any(|&(_, field)| field == param) {
            *fact = fact.with_poison(Poison::Never);
        }
    }
    let facts = divergence(kernel, &control, &initial);
    plan.has_objects = !objects.is_empty();
    for &PrivateObject { alloca: inst, is_followed, element } in objects {
        let (Detail::Alloca { bytes, align }, Some(result)) =
            (&kernel.inst(inst).detail, kernel.result(inst))
        else {
            continue;
        };
        let home = kernel.layout.block_of(inst);
        if !is_followed && home.is_some_and(|block| control.cycles.innermost(block).is_some()) {
            let text = "each iteration of the loop has a private object of its own, and several may plan across a barrier";
            return Err(refuse_inst(kernel, inst, text, "declare it in front of the loop"));
        }
        let align = u64::from(*align).max(1);
        let size = bytes.next_multiple_of(align).max(1);
        let offset = plan.allocate(size.saturating_mul(lanes.into()), align.max(BRUSH_ALIGN));
        plan.slots[result] = Some(SpillSlot::PrivateObject(offset, element.map_or(size, u64::from)));
    }
    let per_lane_addresses = addresses_of_lanes(kernel, objects);
    let liveness = Liveness::new(kernel, &control.cfg);
    let sets = liveness.sets();
    let mut known: SecondaryMap<Value, Option<Fact>> = SecondaryMap::new();
    let mut poison_at_start: SecondaryMap<Value, Poison> = SecondaryMap::new();
    let mut live_values: Vec<Value> = Vec::new();
    for (number, state) in states.all.iter().enumerate() {
        let is_open = |value: &&Value| !matches!(kernel.value_def(**value), ValueDef::Param(_));
        // The entry is behind no barrier.
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
    // Lane 0 speaks for the others where it is not ⊤, and sums that tell a place in the launch never are.
    let may_step = |&value: &Value| {
        known[value].is_some_and(|fact| fact.poison == Poison::Any && fact.shape.strides().is_some())
    };
    if live_values.iter().any(may_step)
        && let Some(defined) = without_promises_of_places(kernel, launch_params)
    {
        let facts = divergence(&defined, &control, &initial);
        for (number, state) in states.all.iter().enumerate() {
            for &value in &plan.live_in[number] {
                let poison = facts.fact_at(&defined, &control, value, state.start).poison;
                poison_at_start[value] = poison_at_start[value].join(poison);
            }
        }
        for &value in &live_values {
            known[value] = known[value].map(|fact| fact.with_poison(poison_at_start[value]));
        }
    }
    for value in live_values {
        if plan.slots[value].is_none() {
            let mut fact = known[value].unwrap_or_default();
            if per_lane_addresses.contains(value) {
                (fact.shape, fact.level) = (Shape::VARYING, Level::Brush);
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

/// A kernel whose sums of a group's first index and a place in the group promise nothing: the runtime sees to it that they do not
/// wrap around, so none of them is ⊤. None if there are no such sums.
fn without_promises_of_places(kernel: &Function, launch_params: &LaunchParams) -> Option<Function> {
    let is_first = |value: Value| {
        launch_params
            .fields
            .iter()
            .any(|&(field, known)| known == value && matches!(field, GroupDescriptorField::FirstId(_)))
    };
    let is_place = |&inst: &Inst| {
        let data = kernel.inst(inst);
        let is_sum = |a: Value, b: Value| is_first(a) && launch_params.items.contains(&b);
        data.op == Op::Add && matches!(data.args[..], [a, b] if is_sum(a, b) || is_sum(b, a))
    };
    let insts = kernel.blocks().flat_map(|block| kernel.block_insts(block));
    let places: Vec<Inst> = insts.filter(is_place).collect();
    (!places.is_empty()).then(|| {
        let mut defined = kernel.clone();
        places.into_iter().for_each(|inst| defined.inst_mut(inst).flags = Flags::NONE);
        defined
    })
}

/// What is made of the address of a private object that each lane has a home for. To analyses all lanes' objects lie in one place.
fn addresses_of_lanes(kernel: &Function, objects: &[PrivateObject]) -> EntitySet<Value> {
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
            // What was written down may come back by any load.
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
    fn allocate(&mut self, bytes: u64, align: u64) -> u64 {
        let offset = self.brush_bytes.next_multiple_of(align);
        self.brush_bytes = offset.saturating_add(bytes);
        offset
    }

    fn choose_slot(&mut self, kernel: &Function, value: Value, fact: &Fact, lanes: u32) -> SpillSlot {
        let most = if fact.shape.strides().is_some() { CHEAP_OF_SCALARS } else { CHEAP };
        if self.recomputed(kernel, value).is_some_and(|order| order.len() <= most) {
            return SpillSlot::Recomputed;
        }
        let ty = kernel.value_type(value);
        let bytes = u64::from(ty.bytes());
        // A lane that holds ⊤ says nothing of the others.
        let is_one = fact.poison != Poison::Any;
        match fact.shape.strides() {
            Some(strides) if is_one && strides.is_zero() && fact.level >= Level::Group => {
                SpillSlot::GroupVariable
            }
            Some(strides) if is_one && strides.is_zero() => {
                SpillSlot::PerBrush(self.allocate(bytes, bytes.next_power_of_two()))
            }
            Some(strides) if is_one => {
                SpillSlot::Strided(self.allocate(bytes, bytes.next_power_of_two()), strides)
            }
            _ => SpillSlot::PerLane(self.allocate(bytes * u64::from(lanes), BRUSH_ALIGN)),
        }
    }

    /// The instructions that compute a value again of parameters, constants and private objects, operands first; none if they
    /// are too many, or have effects.
    pub(super) fn recomputed(&self, kernel: &Function, value: Value) -> Option<SmallVec<[Inst; CHEAP]>> {
        let mut order: SmallVec<[Inst; CHEAP]> = SmallVec::new();
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            if matches!(self.slots[value], Some(SpillSlot::PrivateObject(..))) {
                continue;
            }
            let ValueDef::Result(inst, _) = kernel.value_def(value) else { continue };
            let data = kernel.inst(inst);
            if order.contains(&inst) {
                // It is needed earlier than it was live_values.
                order.retain(|other| *other != inst);
            } else if order.len() == CHEAP_OF_SCALARS || !is_cheap(data.op) || data.is_total() {
                return None;
            }
            order.push(inst);
            work.extend(data.args.iter().copied());
        }
        order.reverse();
        Some(order)
    }
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
            | Op::PtrAdd
            | Op::SpaceCast
            | Op::Ptrtoint
            | Op::Inttoptr
            | Op::Lane
            | Op::Width
    )
}
