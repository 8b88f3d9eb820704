//! Plans of memory instructions: the lowering of each, chosen by the target's costs before any code is emitted.
//!
//! Groups are found first: interleave groups, then cell groups, then structure groups. Each other access has a plan of its own, by the
//! pattern of its addresses. `memory` emits the plans; nothing is decided there.

use super::blended_stores::InactiveElements;
use super::candidate_elements::CandidateElements;
use super::cell_groups::{self, CellGroup};
use super::cell_stores::CellStore;
use super::combined_atomics::{UpdateCombination, combined_update};
use super::interleave_groups::{self, InterleaveGroup};
use super::lane_updates::{self, LaneUpdate};
use super::lookup_tables::{LookupTables, TableLookup};
use super::private_objects::PrivateObjects;
use super::row_facts::{RowFacts, RowPattern};
use super::structure_groups::{self, StructureGroup};
use super::value_reps::{ValueRep, ValueReps};
use super::worklist::InstWorklist;
use super::{Remark, RemarkKind, WidenOptions, refusal};
use crate::address_pattern::AddressPattern;
use crate::target::{AccessDirection, AccessLanes, TargetInfo};
use heddle_analysis::shape::Steps;
use heddle_analysis::{AccessGroups, ControlTables, Divergence, Shape, underlying_object};
use heddle_ir::diagnostic::{AccessLowering, DiagnosticLocation, LoweringCosts};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::Detail;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::Flag;
use heddle_ir::{Diagnostic, Function, Inst, Op, Scalar, Space, Type, Value};
use rustc_hash::FxHashMap;

/// Lowering of a memory instruction.
#[derive(Clone, Debug)]
pub(super) enum AccessPlan {
    /// By the pattern of its addresses.
    Addresses(AddressPattern),
    /// By rows or columns of lanes.
    Rows(RowPattern),
    /// Emitted with the first load or the last store of its group, which has the group.
    Member,
    /// Contiguous vectors of memory, and permutations.
    InterleaveGroup(Box<InterleaveGroup>),
    /// Several fields of each lane's structure in one access.
    StructureGroup(Box<StructureGroup>),
    /// Each cell that several lanes or loads read is loaded once.
    CellGroup(Box<CellGroup>),
    /// Cells of a few lines, stored together.
    CellStore(Box<CellStore>),
    /// A permutation of a table in registers.
    LookupTable(TableLookup),
    /// Accesses to all elements that a lane may access.
    CandidateElements(CandidateElements),
    /// A gather of 32 bits for each lane, of which narrow elements are a part.
    GatherWords,
    /// One atomic update for all lanes.
    CombinedUpdate(UpdateCombination),
    /// A copy or fill that is equal in all lanes.
    UniformTransfer,
    /// A fill of the lanes' objects, of this many bytes together.
    FillObjects(u64),
    /// A fill of interleaved objects.
    FillInterleaved,
    /// A fill of the interleaved objects of active lanes, element by element.
    FillInterleavedMasked,
    /// A store of a whole vector, in which inactive lanes store what is there.
    BlendedStore(AddressPattern, InactiveElements),
    /// An element of each lane, loaded, changed and stored, with what the store completes.
    LaneUpdate(LaneUpdate),
    /// A loop over the lanes.
    LaneLoop,
}

/// Plans of all memory instructions of a function.
#[derive(Debug)]
pub(super) struct AccessPlans {
    plans: SecondaryMap<Inst, Option<AccessPlan>>,
    /// Remarks on the plans of single accesses.
    single_remarks: FxHashMap<Inst, Vec<Remark>>,
    /// Tables in registers.
    pub(super) tables: LookupTables,
    /// Remarks on groups.
    pub(super) remarks: Vec<Remark>,
}

impl AccessPlans {
    /// Plans all accesses of a function.
    pub(super) fn new(
        planner: &AccessPlanner<'_>,
        groups: &AccessGroups,
        control: &ControlTables,
    ) -> Result<AccessPlans, Diagnostic> {
        let tables = LookupTables::new(planner);
        let mut plans = AccessPlans {
            plans: SecondaryMap::new(),
            single_remarks: FxHashMap::default(),
            tables,
            remarks: Vec::new(),
        };
        let interleaved = interleave_groups::find_groups(planner, groups, &mut plans);
        let cells = cell_groups::find_groups(planner, groups, &mut plans);
        let structures = structure_groups::find_groups(planner, groups, &mut plans);
        plans.remarks = [interleaved, structures, cells].concat();
        lane_updates::find_updates(planner, &mut plans);
        for inst in control.index.order().iter().flat_map(|&block| planner.func.block_insts(block)) {
            if plans.is_planned(inst) {
                continue;
            }
            let mut remarks = Vec::new();
            if let Some(plan) = planner.plan(inst, &plans.tables, &mut remarks)? {
                plans.plans[inst] = Some(plan);
            }
            if !remarks.is_empty() {
                plans.single_remarks.insert(inst, remarks);
            }
        }
        Ok(plans)
    }

    /// Adds a group with its members in block order: loads are emitted at the first one, stores at the last one.
    pub(super) fn add_group(&mut self, members: &[Inst], direction: AccessDirection, plan: AccessPlan) {
        members.iter().for_each(|&member| self.plans[member] = Some(AccessPlan::Member));
        let at = match direction {
            AccessDirection::Load => members.first(),
            AccessDirection::Store => members.last(),
        };
        if let Some(&member) = at {
            self.plans[member] = Some(plan);
        }
    }

    /// Adds an update, which is emitted at its store.
    pub(super) fn add_update(&mut self, members: [Inst; 2], store: Inst, plan: AccessPlan) {
        members.into_iter().for_each(|member| self.plans[member] = Some(AccessPlan::Member));
        self.plans[store] = Some(plan);
    }

    /// True if an access has a plan already.
    pub(super) fn is_planned(&self, inst: Inst) -> bool {
        self.plans[inst].is_some()
    }

    /// Plan of a memory instruction, with the remarks on it; none for other instructions.
    pub(super) fn of(&self, inst: Inst) -> Option<(&AccessPlan, &[Remark])> {
        let plan = self.plans[inst].as_ref()?;
        Some((plan, self.single_remarks.get(&inst).map_or(&[], |remarks| &remarks[..])))
    }
}

/// Properties of a function that plans are made from.
#[derive(Clone, Copy)]
pub(super) struct AccessPlanner<'a> {
    pub(super) func: &'a Function,
    pub(super) control: &'a ControlTables,
    pub(super) facts: &'a Divergence,
    pub(super) worklist: &'a InstWorklist,
    pub(super) reps: &'a ValueReps,
    pub(super) objects: &'a PrivateObjects,
    pub(super) brush: [u32; MAX_DIMENSIONS],
    pub(super) options: &'a WidenOptions,
}

/// Load or store of an element by each lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneAccess {
    pub(super) inst: Inst,
    pub(super) address: Value,
    pub(super) scalar: Scalar,
    pub(super) direction: AccessDirection,
    pub(super) active: AccessLanes,
}

impl LaneAccess {
    pub(super) fn element_bits(&self) -> u32 {
        self.scalar.bytes() * 8
    }
}

impl<'a> AccessPlanner<'a> {
    pub(super) fn lanes(&self) -> u32 {
        self.brush.iter().product()
    }

    pub(super) fn rows(&self) -> RowFacts<'a> {
        RowFacts { func: self.func, facts: self.facts, reps: self.reps, brush: self.brush }
    }

    /// True if a value of 64 bits is one scalar for all lanes, and computed before the block of an instruction.
    pub(super) fn is_scalar_before(&self, value: Value, inst: Inst) -> bool {
        let is_earlier = match self.func.def_inst(value) {
            Some(def) => self.func.layout.block_of(def) != self.func.layout.block_of(inst),
            None => true,
        };
        is_earlier && self.func.value_type(value) == Type::I64 && self.reps.is_uniform(value)
    }

    /// Cost of an access with an address for each lane.
    pub(super) fn scattered_cost(&self, access: &LaneAccess, active: AccessLanes) -> u32 {
        let target = &self.options.target;
        target.scattered_cost(access.direction, active, self.lanes(), access.element_bits())
    }

    /// Lowering of some accesses with its cost, and that of the accesses by themselves. It is chosen if it is cheaper.
    pub(super) fn lowering(
        &self,
        direction: AccessDirection,
        accesses: usize,
        lowering: String,
        [together, separate]: [u32; 2],
    ) -> AccessLowering {
        let target = self.options.target.name;
        AccessLowering {
            accesses,
            is_store: direction.is_store(),
            objects: Vec::new(),
            lowering,
            condition: String::new(),
            is_wrap_test: false,
            is_chosen: together < separate,
            costs: Some(LoweringCosts { together, separate, target, times: 1 }),
        }
    }

    /// Remark on a lowering, of this kind if it was chosen; located at its first access.
    pub(super) fn remark(
        &self,
        inst: Inst,
        address: Value,
        kind: RemarkKind,
        lowering: AccessLowering,
    ) -> Remark {
        let kind = if lowering.is_chosen { kind } else { RemarkKind::PerLane };
        let (accesses, objects) =
            (lowering.accesses, self.func.describe_object(address).into_iter().collect());
        let diagnostic = Diagnostic::access(AccessLowering { objects, ..lowering })
            .at(DiagnosticLocation::line_of(self.func, inst));
        Remark { kind, accesses, diagnostic }
    }

    /// True if a lowering is cheaper than the access with an address for each lane; adds a remark with the costs.
    pub(super) fn pays(
        &self,
        access: &LaneAccess,
        kind: RemarkKind,
        lowering: String,
        costs: [u32; 2],
        remarks: &mut Vec<Remark>,
    ) -> bool {
        let lowering = self.lowering(access.direction, 1, lowering, costs);
        let is_chosen = lowering.is_chosen;
        remarks.push(self.remark(access.inst, access.address, kind, lowering));
        is_chosen
    }

    /// Plans a memory instruction that is in no group; none for other instructions.
    fn plan(
        &self,
        inst: Inst,
        tables: &LookupTables,
        remarks: &mut Vec<Remark>,
    ) -> Result<Option<AccessPlan>, Diagnostic> {
        let data = self.func.inst(inst);
        Ok(Some(match data.op {
            Op::Load if self.is_volatile_or_atomic(inst) => self.ordered_access(inst, data.args[0]),
            Op::Load => {
                let result = self.func.result(inst).expect("a load gives a value");
                let access = self.lane_access(inst, data.args[0], self.func.value_type(result));
                match self.lane_plan(&access, remarks) {
                    AccessPlan::Addresses(AddressPattern::Scattered) => {
                        self.scattered_load(&access, tables, remarks)
                    }
                    plan => plan,
                }
            }
            Op::Store => {
                let [stored, address] = [data.args[0], data.args[1]];
                self.check_private_address(inst, stored, address)?;
                if self.is_volatile_or_atomic(inst) {
                    return Ok(Some(self.ordered_access(inst, address)));
                }
                let access = self.lane_access(inst, address, self.func.value_type(stored));
                match self.lane_plan(&access, remarks) {
                    AccessPlan::Addresses(AddressPattern::Scattered) => {
                        self.scattered_store(&access, remarks)
                    }
                    AccessPlan::Addresses(
                        pattern @ (AddressPattern::Contiguous | AddressPattern::Reversed),
                    ) => match self.inactive_elements(&access) {
                        Some(inactive) => AccessPlan::BlendedStore(pattern, inactive),
                        None => AccessPlan::Addresses(pattern),
                    },
                    plan => plan,
                }
            }
            Op::AtomicRmw | Op::CompareExchange => {
                if let [address, .., stored] = data.args[..] {
                    self.check_private_address(inst, stored, address)?;
                }
                combined_update(self.func, self.reps, inst)
                    .map_or(AccessPlan::LaneLoop, AccessPlan::CombinedUpdate)
            }
            Op::Memcpy | Op::Memmove | Op::Memset => self.transfer(inst),
            _ => return Ok(None),
        }))
    }

    fn lane_access(&self, inst: Inst, address: Value, ty: Type) -> LaneAccess {
        let is_masked = predicate_of(self.func, inst).is_some();
        LaneAccess {
            inst,
            address,
            scalar: ty.scalar(),
            direction: AccessDirection::of(self.func.inst(inst).op),
            active: AccessLanes::under(is_masked),
        }
    }

    /// True if an access has an address for each lane.
    pub(super) fn is_scattered(&self, inst: Inst, address: Value, ty: Type) -> bool {
        let plan = self.lane_plan(&self.lane_access(inst, address, ty), &mut Vec::new());
        matches!(plan, AccessPlan::Addresses(AddressPattern::Scattered))
    }

    /// Plans an access by the pattern of its addresses, or by rows.
    fn lane_plan(&self, access: &LaneAccess, remarks: &mut Vec<Remark>) -> AccessPlan {
        let size = i64::from(access.scalar.bytes());
        let steps = match (self.reps.of(access.address), self.facts.shape(access.address)) {
            (ValueRep::Scalar(steps), _) => steps,
            (ValueRep::Vector, _) if self.reps.is_rebased(access.address) => {
                return AccessPlan::Addresses(AddressPattern::Scattered);
            }
            // Shapes hold for active lanes; a total access has all lanes active, lane 0 included.
            (ValueRep::Vector, Shape::Strided { strides, .. }) => strides.all(),
            (ValueRep::Vector, _) => return self.row_plan(access, remarks),
        };
        AccessPlan::Addresses(match self.reps.lane_step(steps) {
            _ if steps == Steps::default() => AddressPattern::Uniform,
            Some(step) if step == size => AddressPattern::Contiguous,
            Some(step) if step == -size => AddressPattern::Reversed,
            _ => return self.row_plan(access, remarks),
        })
    }

    /// Plans an access by rows or columns, if that is cheaper than an address for each lane.
    fn row_plan(&self, access: &LaneAccess, remarks: &mut Vec<Remark>) -> AccessPlan {
        match self.row_pattern(access, remarks) {
            Some(pattern) => AccessPlan::Rows(pattern),
            None => AccessPlan::Addresses(AddressPattern::Scattered),
        }
    }

    /// Plans a load from an address for each lane.
    fn scattered_load(
        &self,
        access: &LaneAccess,
        tables: &LookupTables,
        remarks: &mut Vec<Remark>,
    ) -> AccessPlan {
        if let Some(lookup) = tables.lookup(access.inst) {
            let costs = [lookup.cost, self.scattered_cost(access, AccessLanes::All)];
            self.pays(access, RemarkKind::Interleaved, "permuted in registers".into(), costs, remarks);
            return AccessPlan::LookupTable(lookup);
        }
        match self.candidate_elements(access, remarks) {
            Some(candidates) => AccessPlan::CandidateElements(candidates),
            None if self.words_pay(access) => AccessPlan::GatherWords,
            None => AccessPlan::Addresses(AddressPattern::Scattered),
        }
    }

    /// Plans a store to an address for each lane.
    fn scattered_store(&self, access: &LaneAccess, remarks: &mut Vec<Remark>) -> AccessPlan {
        if let Some(plan) = self.cell_store(access, remarks) {
            return plan;
        }
        match self.candidate_elements(access, remarks) {
            Some(candidates) => AccessPlan::CandidateElements(candidates),
            None => AccessPlan::Addresses(AddressPattern::Scattered),
        }
    }

    /// True if a gather of 32 bits for each lane costs less than what code generators make of a narrower one: a load for each
    /// lane, under a mask behind a branch.
    fn words_pay(&self, access: &LaneAccess) -> bool {
        let (target, lanes) = (&self.options.target, self.lanes());
        let branch = if access.active == AccessLanes::Masked { target.branch } else { 0 };
        gathers_words(self.objects, target, access.address, access.scalar)
            && target.scattered_cost(AccessDirection::Load, access.active, lanes, 32)
                < (target.lane + branch) * lanes
    }

    /// Plans a copy or fill: once for all lanes if operands are uniform and repetition is idempotent.
    fn transfer(&self, inst: Inst) -> AccessPlan {
        let data = self.func.inst(inst);
        if self.objects.is_interleaved(data.args[0]) {
            if self.objects.is_masked_fill(inst) {
                return AccessPlan::FillInterleavedMasked;
            }
            return AccessPlan::FillInterleaved;
        }
        if let Some(bytes) = self.filled_bytes(inst) {
            return AccessPlan::FillObjects(bytes);
        }
        let is_same = data.args.iter().all(|&arg| self.reps.is_uniform(arg));
        match data.flags.has(Flag::Volatile) || !is_same || data.op == Op::Memmove {
            true => AccessPlan::LaneLoop,
            false => AccessPlan::UniformTransfer,
        }
    }

    /// Total size of the lanes' objects, if every lane fills its whole object with the same byte. Padding between them
    /// may be overwritten: it belongs to no lane.
    fn filled_bytes(&self, inst: Inst) -> Option<u64> {
        let data = self.func.inst(inst);
        let alloca = self.func.def_inst(data.args[0])?;
        let Detail::Alloca { bytes, .. } = self.func.inst(alloca).detail else { return None };
        let size = self.func.constant(*data.args.get(2)?)?.splat_bits()?;
        let all = self.objects.stride(alloca) * u64::from(self.lanes());
        let is_filled =
            data.op == Op::Memset && size == u128::from(bytes) && self.reps.is_uniform(data.args[1]);
        let block = self.func.layout.block_of(inst)?;
        let is_plain = !data.flags.has(Flag::Volatile) && self.func.predicate(block).is_none();
        let fits = u128::from(all) <= self.func.value_type(data.args[2]).scalar().bit_mask() >> 1;
        (is_filled && is_plain && all != 0 && fits).then_some(all)
    }

    /// Rejects stores of a private object's address to memory that other lanes may read.
    fn check_private_address(&self, inst: Inst, stored: Value, address: Value) -> Result<(), Diagnostic> {
        let object = underlying_object(self.func, address);
        let is_private = self.func.value_type(object).scalar() == Scalar::Ptr(Space::Private);
        if self.reps.is_rebased(stored) && !is_private {
            let reason = "the address of a private object is stored where other lanes may read it, and their objects have other addresses; store an index instead";
            return Err(refusal(self.func, inst, reason));
        }
        Ok(())
    }

    /// Plans a volatile or atomic access. Lanes that access one address together do so without another thread in between: all of them load the
    /// same value, and of their stores the last one stays. Each volatile access counts.
    fn ordered_access(&self, inst: Inst, address: Value) -> AccessPlan {
        let is_volatile = self.func.inst(inst).flags.has(Flag::Volatile);
        match !is_volatile && self.reps.is_uniform(address) {
            true => AccessPlan::Addresses(AddressPattern::Uniform),
            false => AccessPlan::LaneLoop,
        }
    }

    /// True for volatile and atomic accesses.
    fn is_volatile_or_atomic(&self, inst: Inst) -> bool {
        let data = self.func.inst(inst);
        data.flags.has(Flag::Volatile) || data.access().is_some_and(|access| access.atomic.is_some())
    }
}

/// Predicate of an instruction; none if all lanes run it.
pub(super) fn predicate_of(func: &Function, inst: Inst) -> Option<Value> {
    let block = func.layout.block_of(inst).filter(|_| !func.inst(inst).is_total())?;
    func.predicate(block)
}

/// True if gathers of elements of this type from an interleaved object may read 32 bits for each lane: machines have no
/// gathers of less. The object is padded, so that these are within it.
pub(super) fn gathers_words(
    objects: &PrivateObjects,
    target: &TargetInfo,
    address: Value,
    scalar: Scalar,
) -> bool {
    let is_narrow = matches!(scalar, Scalar::I8 | Scalar::I16 | Scalar::F16 | Scalar::BF16);
    is_narrow && target.vector_bits >= 512 && objects.is_interleaved(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widen::WidenContext;
    use crate::widen::widening_plan::WideningPlan;
    use heddle_analysis::shape::Geometry;
    use heddle_analysis::{Activation, InitialShapes, divergence};
    use heddle_ir::text::parse_module;

    /// Plans of the memory instructions of a function in 8 lanes, in block order, without the data of groups.
    fn plans(text: &str) -> Vec<String> {
        let module = parse_module(text).expect("it is well-formed");
        let func = &module.functions[0];
        let control = ControlTables::new(func);
        let initial = InitialShapes::declared(func, Geometry::brush(&[8])).with_entry(Activation::Full);
        let facts = divergence(func, &control, &initial);
        let groups = AccessGroups::new(func, &control, &facts, &initial.geometry);
        let context = WidenContext {
            defined: Default::default(),
            is_region: false,
            vector_variants: Default::default(),
            keep_lane_loops: None,
        };
        let options = WidenOptions::default();
        let plan = WideningPlan::new(func, &facts, &groups, [8, 1, 1, 1], &context, &options);
        let plan = plan.expect("nothing is refused");
        let describe = |inst: Inst| match plan.accesses.of(inst)?.0 {
            AccessPlan::InterleaveGroup(group) => Some(format!("InterleaveGroup({})", group.members.len())),
            plan => Some(format!("{plan:?}")),
        };
        func.blocks().flat_map(|block| func.block_insts(block)).filter_map(describe).collect()
    }

    #[test]
    fn accesses_are_planned_by_the_pattern_of_their_addresses() {
        let text = "func @f(v0: ptr(global) uniform, v1: ptr(global) varying) {\nblock0:\n  v2 = lane i64\n  v3 = shl v2, 2\n  \
                    v4 = ptradd v0, v3\n  v5 = load i32, v4\n  v6 = load i32, v0\n  v7 = sub 12, v3\n  v8 = ptradd v0, v7\n  \
                    store v5, v8\n  v9 = load i32, v1\n  v10 = load volatile i32, v4\n  ret\n}\n";
        let expected = [
            "Addresses(Contiguous)",
            "Addresses(Uniform)",
            "Addresses(Reversed)",
            "Addresses(Scattered)",
            "LaneLoop",
        ];
        assert_eq!(plans(text), expected);
    }

    #[test]
    fn the_first_load_of_a_group_has_its_plan() {
        let text = "func @f(v0: ptr(global) uniform) {\nblock0:\n  v1 = lane i64\n  v2 = shl v1, 3\n  v3 = ptradd v0, v2\n  \
                    v4 = load i32, v3\n  v5 = ptradd v3, i64 4\n  v6 = load i32, v5\n  ret\n}\n";
        assert_eq!(plans(text), ["InterleaveGroup(2)", "Member"]);
    }
}
