//! Builds the lock-step function of a continuation state.
//!
//! The region reloads its live-in values from their spill slots and stores those that it changes and later states read. A value that
//! a loop around a barrier defines anew has two definitions in the region: the reloaded one and its own. φs merge them
//! ([`SsaRepair`]).

use super::continuations::ContinuationGraph;
use super::exit_plan::exit_count;
use super::spill_slots::{BRUSH_ALIGN, ExitFlag, SpillPlan, SpillSlot};
use crate::block_copier::BlockCopier;
use crate::ssa_repair::{RepairVariable, SsaRepair, UseSite, UseSlot, uses_in};
use heddle_analysis::shape::Strides;
use heddle_analysis::{Cfg, ControlTables, DominatorTree};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::EntitySet;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{DeclaredShape, FunctionKind, Param, ReturnValue, Signature};
use heddle_ir::words::{IntPredicate, Reduction};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Space, Type, Value, ValueDef};
use rustc_hash::FxHashMap;

/// Lock-step function of a continuation state and its interface.
pub(super) struct KernelRegion {
    /// The lock-step function.
    pub(super) func: Function,
    /// Values of the kernel that it takes as parameters, in order.
    pub(super) inputs: Vec<Value>,
    /// True if the memory of the brush is a further parameter.
    pub(super) takes_brush_memory: bool,
    /// True if its first result is the number of the successor state.
    pub(super) returns_successor: bool,
    /// True if brushes may return different successors.
    pub(super) merges_successors: bool,
    /// Group variables that it returns, as further results.
    pub(super) outputs: Vec<Value>,
    /// True if no spill slot that it uses is shared by the lanes of a brush.
    pub(super) spills_per_lane: bool,
    /// True if it has loops.
    pub(super) has_loops: bool,
    /// True if it runs one work-item at a time.
    pub(super) is_serial: bool,
    /// True if one launch runs a whole row, whose work-items the lanes take as they get done.
    pub(super) refills_lanes: bool,
}

/// Successor number of a state that ends the kernel.
pub(super) const NO_SUCCESSOR: u32 = u32::MAX;
/// Successor number where work-items wait at different barriers.
pub(super) const WAIT_APART: u32 = u32::MAX - 1;

/// Exit of a region: the end of a state, and its successor.
struct StateExit {
    /// Block of the region.
    block: Block,
    successor: Option<usize>,
}

struct RegionBuilder<'a> {
    kernel: &'a Function,
    plan: &'a SpillPlan,
    func: Function,
    entry: Block,
    /// Memory of the brush.
    memory: Option<Value>,
    lane: Option<Value>,
    addresses: FxHashMap<u64, Value>,
}

/// True if a state computes anew what a recomputed value is computed from.
fn changes_in_state(plan: &SpillPlan, value: Value, defined: &EntitySet<Value>) -> bool {
    plan.recomputations.get(&value).is_some_and(|it| it.kept.iter().any(|&kept| defined.contains(kept)))
}

/// Builds the lock-step function of a state. Kernel parameters without a declared shape are uniform.
pub(super) fn make_region(
    kernel: &Function,
    states: &ContinuationGraph,
    plan: &SpillPlan,
    number: usize,
) -> KernelRegion {
    let state = &states.all[number];
    let mut read: EntitySet<Value> = EntitySet::new();
    let mut defined: EntitySet<Value> = EntitySet::new();
    for inst in state.blocks.iter().flat_map(|&block| kernel.block_insts(block)) {
        kernel.inst(inst).args.iter().for_each(|&arg| _ = read.insert(arg));
        kernel.results(inst).iter().for_each(|&result| _ = defined.insert(result));
    }
    let mut recomputed: Vec<Inst> = Vec::new();
    for value in &plan.live_in[number] {
        let is_needed = read.contains(*value) || defined.contains(*value);
        let Some(recomputation) = plan.recomputations.get(value).filter(|_| is_needed) else { continue };
        for &inst in &recomputation.insts {
            if !recomputed.contains(&inst) {
                recomputed.push(inst);
            }
        }
        recomputation.kept.iter().for_each(|&kept| _ = read.insert(kept));
    }
    // Live-in values that the state reads or that it may redefine on some paths only.
    let incoming: Vec<Value> = plan.live_in[number]
        .iter()
        .copied()
        .filter(|&value| read.contains(value) || defined.contains(value))
        .collect();
    for &inst in &recomputed {
        kernel.inst(inst).args.iter().for_each(|&arg| _ = read.insert(arg));
    }
    let objects: Vec<Value> = read
        .iter()
        .filter(|&value| matches!(plan.slots[value], Some(SpillSlot::PrivateObject(..))))
        .collect();
    let outputs: Vec<Value> = {
        let mut all: Vec<Value> = state
            .successors
            .iter()
            .flat_map(|&successor| &plan.live_in[successor])
            .copied()
            .filter(|&value| plan.slots[value] == Some(SpillSlot::GroupVariable) && defined.contains(value))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let is_param = |value: &Value| matches!(kernel.value_def(*value), ValueDef::Param(_));
    let mut inputs: Vec<Value> = read.iter().filter(is_param).collect();
    inputs.extend(
        incoming.iter().copied().filter(|&value| plan.slots[value] == Some(SpillSlot::GroupVariable)),
    );
    let is_spilled = |&value: &Value| {
        matches!(
            plan.slots[value],
            Some(
                SpillSlot::PerBrush(_)
                    | SpillSlot::Strided(..)
                    | SpillSlot::PerLane(_)
                    | SpillSlot::PrivateObject(..)
            )
        )
    };
    let outgoing = state
        .successors
        .iter()
        .flat_map(|&successor| &plan.live_in[successor])
        .filter(|&&value| defined.contains(value));
    let takes_brush_memory = incoming.iter().any(is_spilled)
        || outgoing.copied().any(|value| is_spilled(&value))
        || read.iter().any(|value| is_spilled(&value) && !defined.contains(value))
        || !objects.is_empty();
    let exits = plan.exits[number];
    // State 0 runs first, and once: it sets the flags of all work-items.
    let sets_flag = plan.exit_flag.is_some() && (number == 0 || exits.diverges() && state.may_return);
    let takes_brush_memory = takes_brush_memory || sets_flag || exits.tests_flag;
    let is_by_lane = |value: &Value| {
        matches!(
            plan.slots[*value],
            None | Some(
                SpillSlot::PerLane(_)
                    | SpillSlot::PrivateObject(..)
                    | SpillSlot::Recomputed
                    | SpillSlot::GroupVariable
            )
        )
    };
    let spills_per_lane = incoming
        .iter()
        .chain(state.successors.iter().flat_map(|&successor| &plan.live_in[successor]))
        .all(is_by_lane);
    let returns_successor = exit_count(state) > 1;

    let params = inputs.iter().map(|&value| match kernel.value_def(value) {
        ValueDef::Param(index) => {
            let mut param = kernel.signature.params[index as usize].clone();
            param.shape.get_or_insert(DeclaredShape::Uniform);
            param
        }
        _ => Param { shape: Some(DeclaredShape::Uniform), ..Param::new(kernel.value_type(value)) },
    });
    let memory = Param {
        shape: Some(DeclaredShape::Uniform),
        align: BRUSH_ALIGN as u32,
        // Addresses of private objects may be stored anywhere.
        noalias: !plan.has_objects,
        ..Param::new(Type::ptr(Space::Global))
    };
    let uniform = |ty| ReturnValue { ty, shape: Some(DeclaredShape::Uniform) };
    let results = returns_successor
        .then_some(Type::I32)
        .into_iter()
        .chain(outputs.iter().map(|&it| kernel.value_type(it)));
    let signature = Signature {
        params: params.chain(takes_brush_memory.then_some(memory)).collect(),
        results: results.map(uniform).collect(),
        effects: kernel.signature.effects,
    };
    let mut func = Function::new(format!("{}.region{number}", kernel.name), signature);
    func.kind = FunctionKind::Function;
    let entry = func.append_block();
    let own = func.params().to_vec();
    let mut copier = BlockCopier::new(kernel);
    inputs.iter().zip(&own).for_each(|(&value, &param)| copier.set(&mut func, value, param));
    let memory = takes_brush_memory.then(|| own[inputs.len()]);
    let mut region =
        RegionBuilder { kernel, plan, func, entry, memory, lane: None, addresses: FxHashMap::default() };

    // Reloaded values, by their name in the kernel.
    let mut reloaded: Vec<(Value, Value)> = Vec::new();
    for value in objects {
        let address = region.object(value);
        copier.set(&mut region.func, value, address);
        reloaded.push((value, address));
    }
    copier.copy_insts(&mut region.func, &recomputed, entry);
    for &value in &incoming {
        let current = match plan.slots[value] {
            Some(SpillSlot::PrivateObject(..)) => continue,
            Some(SpillSlot::GroupVariable | SpillSlot::Recomputed) => copier.value(&mut region.func, value),
            _ => region.load_from_slot(value),
        };
        copier.set(&mut region.func, value, current);
        reloaded.push((value, current));
    }
    copier.copy_blocks(&mut region.func, &state.blocks);
    let copy = |block: Block| copier.block(block).expect("blocks of the state were copied");
    let start = copy(state.start);
    let exited = region.enter(start, exits.tests_flag);
    let mut state_exits: Vec<StateExit> = Vec::new();
    for &block in &state.blocks {
        let returns = kernel.terminator(block).is_some_and(|inst| kernel.inst(inst).op == Op::Ret);
        let successor = states.state_after[block];
        if successor.is_none() && !returns {
            continue;
        }
        let block = copy(block);
        state_exits.push(StateExit { block, successor });
        // Without successors, the copy has no path past the barrier.
        region.end(block, &[]);
    }

    let cfg = Cfg::new(&region.func);
    let dominators = DominatorTree::new(&cfg);
    let repair = SsaRepair::new(&cfg, &dominators);
    let renamed: Vec<(Value, Value)> =
        reloaded.iter().copied().filter(|&(value, _)| defined.contains(value)).collect();
    let own: Vec<Value> = renamed.iter().map(|&(value, _)| copier.value(&mut region.func, value)).collect();
    let reads = reads_of(&region.func, &own);
    let mut variables: FxHashMap<Value, RepairVariable<'_>> = FxHashMap::default();
    for &(value, reloaded) in &renamed {
        let own = copier.value(&mut region.func, value);
        // A recomputed value changes with its operands.
        let is_same = match plan.slots[value] {
            Some(SpillSlot::Recomputed) => !changes_in_state(plan, value, &defined),
            slot => matches!(slot, Some(SpillSlot::PrivateObject(..))),
        };
        let def_block = region.func.def_inst(own).and_then(|inst| region.func.layout.block_of(inst));
        let Some(def_block) = def_block else { continue };
        let joins = repair.iterated_frontier(&[def_block]);
        let mut variable = repair.variable_from(&region.func, &[(entry, reloaded), (def_block, own)], joins);
        for &read in reads.get(&own).map_or(&[][..], Vec::as_slice) {
            let is_phi =
                matches!(read.slot, UseSlot::Operand(inst, _) if region.func.inst(inst).op == Op::Phi);
            let value_at_exit = match is_same {
                true => reloaded,
                false if !is_phi && read.block == def_block => own,
                false => variable.read_at(&mut region.func, read),
            };
            read.set(&mut region.func, value_at_exit);
        }
        variables.insert(value, variable);
    }
    // Values that are live after the barriers.
    let mut successors: Vec<(Block, Value)> = Vec::new();
    for exit in &state_exits {
        let mut results: Vec<Value> = Vec::new();
        if returns_successor {
            let successor = exit.successor.map_or(NO_SUCCESSOR, |successor| successor as u32);
            results.push(region.func.make_int(Scalar::I32, successor.into()));
        }
        let live_after: &[Value] = exit.successor.map_or(&[], |successor| &plan.live_in[successor]);
        let mut value_at_exit = |region: &mut RegionBuilder<'_>, value: Value| match variables.get_mut(&value)
        {
            Some(variable) => variable.read(&mut region.func, exit.block),
            None => copier.value(&mut region.func, value),
        };
        for &value in &outputs {
            // A value that is not read again is arbitrary, but a region must not return poison.
            let current = match live_after.contains(&value) {
                true => value_at_exit(&mut region, value),
                false => region.func.make_const(Constant::splat(kernel.value_type(value), 0)),
            };
            let is_frozen = live_after.contains(&value) && plan.may_be_poison.contains(value);
            results.push(if is_frozen { region.freeze(current, exit.block) } else { current });
        }
        for &value in live_after.iter().filter(|&&value| defined.contains(value) && is_spilled(&value)) {
            if !matches!(plan.slots[value], Some(SpillSlot::PrivateObject(..))) {
                let current = value_at_exit(&mut region, value);
                let is_unchanged =
                    reloaded.iter().any(|&(old, reloaded)| old == value && reloaded == current);
                if !is_unchanged {
                    region.store_to_slot(value, current, exit.block, plan.is_brush_full(exits));
                }
            }
        }
        if sets_flag && (exit.successor.is_none() || number == 0) {
            region.set_exit_flag(exit.successor.is_some(), exit.block);
        }
        region.end(exit.block, &results);
        successors.extend(results.first().filter(|_| returns_successor).map(|&next| (exit.block, next)));
    }
    if let Some(block) = exited {
        let next = region.func.make_int(Scalar::I32, NO_SUCCESSOR.into());
        let results: &[Value] = if returns_successor { &[next] } else { &[] };
        region.end(block, results);
        successors.extend(returns_successor.then_some((block, next)));
    }
    if returns_successor && exits.lanes_diverge() {
        region.merge_lanes(&successors, &state.successors);
    }
    for &(value, _) in &renamed {
        if let Some(variable) = variables.remove(&value) {
            variable.finish(&mut region.func);
        }
    }
    let moved: Vec<Value> = renamed
        .iter()
        .filter(|(value, _)| matches!(plan.slots[*value], Some(SpillSlot::PrivateObject(..))))
        .map(|&(value, _)| copier.value(&mut region.func, value))
        .collect();
    for inst in region.func.blocks().flat_map(|block| region.func.block_insts(block)).collect::<Vec<_>>() {
        region.func.retain_bases(inst, |func, base| func.is_object(base) && !moved.contains(&base));
    }
    let cycles = ControlTables::new(&region.func).cycles;
    let has_loops = region.func.blocks().any(|block| cycles.innermost(block).is_some());
    KernelRegion {
        func: region.func,
        inputs,
        takes_brush_memory,
        returns_successor,
        merges_successors: returns_successor && exits.diverges(),
        outputs,
        spills_per_lane,
        has_loops,
        is_serial: false,
        refills_lanes: false,
    }
}

/// Returns the uses of some values.
fn reads_of(func: &Function, values: &[Value]) -> FxHashMap<Value, Vec<UseSite>> {
    let mut reads: FxHashMap<Value, Vec<UseSite>> = values.iter().map(|&value| (value, Vec::new())).collect();
    for (value, read) in func.blocks().filter(|_| !values.is_empty()).flat_map(|block| uses_in(func, block)) {
        reads.entry(value).and_modify(|list| list.push(read));
    }
    reads
}

impl RegionBuilder<'_> {
    fn append(&mut self, block: Block, data: InstData) {
        let inst = self.func.make_inst(data, &[]);
        self.func.layout.append_inst(inst, block);
    }

    /// Turns the terminator of a block into a return.
    fn end(&mut self, block: Block, results: &[Value]) {
        let terminator = self.func.terminator(block).expect("a copied block has a terminator");
        let origin = self.func.inst(terminator).origin;
        *self.func.inst_mut(terminator) =
            InstData { origin, ..InstData::plain(Op::Ret, results.iter().copied()) };
    }

    /// Ends the entry block. Work-items that have exited go to the block that is returned, if there may be some.
    fn enter(&mut self, start: Block, tests_flag: bool) -> Option<Block> {
        let flag = self.plan.exit_flag.filter(|_| tests_flag);
        let Some(ExitFlag { offset, stride }) = flag else {
            self.append(self.entry, InstData::jump(start));
            return None;
        };
        let address = self.address(offset, stride);
        let exited = self.func.append_block();
        self.append(exited, InstData::plain(Op::Ret, []));
        let mut builder = Builder::new(&mut self.func, InsertPoint::End(self.entry));
        let flag = builder.load(Type::I8, address, 1);
        let zero = builder.int(Scalar::I8, 0);
        let runs = builder.icmp(IntPredicate::Ne, flag, zero);
        builder.branch(runs, start, exited);
        Some(exited)
    }

    /// Sets the exit flag at the end of a block.
    fn set_exit_flag(&mut self, runs_on: bool, block: Block) {
        let Some(ExitFlag { offset, stride }) = self.plan.exit_flag else { return };
        let address = self.address(offset, stride);
        let end = self.func.terminator(block).expect("a copied block has a terminator");
        let mut builder = Builder::new(&mut self.func, InsertPoint::Before(end));
        let flag = builder.int(Scalar::I8, runs_on.into());
        builder.store(flag, address, 1);
    }

    /// Returns one successor from all exits: that of the lanes that have not exited, if they agree.
    fn merge_lanes(&mut self, exits: &[(Block, Value)], successors: &[usize]) {
        let merged = self.func.append_block();
        for &(block, _) in exits {
            let terminator = self.func.terminator(block).expect("an exit has a terminator");
            let origin = self.func.inst(terminator).origin;
            *self.func.inst_mut(terminator) = InstData { origin, ..InstData::jump(merged) };
        }
        let mut builder = Builder::new(&mut self.func, InsertPoint::End(merged));
        let own = builder.phi(Type::I32, exits, None);
        let [none, apart] = [NO_SUCCESSOR, WAIT_APART].map(|number| builder.int(Scalar::I32, number.into()));
        let next = match *successors {
            [only] => {
                let only = builder.int(Scalar::I32, only as i128);
                let waits = builder.icmp(IntPredicate::Eq, own, only);
                let some_wait = builder.op(Op::Any, &[waits]);
                builder.op(Op::Select, &[some_wait, only, none])
            }
            _ => {
                // The number of those that have exited is the maximum, and 0 if 1 is added.
                let one = builder.int(Scalar::I32, 1);
                let reduce = |builder: &mut Builder<'_>, value, by| {
                    builder.value(InstData::new(Op::Reduce, [value], Detail::Reduce(by)), None)
                };
                let minimum = reduce(&mut builder, own, Reduction::Umin);
                let after = builder.op(Op::Add, &[own, one]);
                let maximum = reduce(&mut builder, after, Reduction::Umax);
                let maximum = builder.op(Op::Sub, &[maximum, one]);
                let agree = builder.icmp(IntPredicate::Eq, minimum, maximum);
                builder.op(Op::Select, &[agree, minimum, apart])
            }
        };
        builder.ret(&[next]);
    }

    /// Insertion point at the end of the entry block.
    fn at_entry(&self) -> InsertPoint {
        self.func.terminator(self.entry).map_or(InsertPoint::End(self.entry), InsertPoint::Before)
    }

    /// Returns the lane numbers.
    fn lane(&mut self) -> Value {
        if let Some(known) = self.lane {
            return known;
        }
        let at = self.at_entry();
        let data = InstData::new(Op::Lane, [], Detail::Dimension(None));
        let lane = Builder::new(&mut self.func, at).value(data, Some(Type::I64));
        self.lane = Some(lane);
        lane
    }

    /// Returns the address at an offset in the brush's memory, plus the lane number times `step`.
    fn address(&mut self, offset: u64, step: u64) -> Value {
        if let Some(&known) = self.addresses.get(&offset) {
            return known;
        }
        let memory = self.memory.expect("a region that keeps values has memory");
        let lane = (step > 0).then(|| self.lane());
        let at = self.at_entry();
        let mut builder = Builder::new(&mut self.func, at);
        let live_after = builder.int(Scalar::I64, offset.into());
        let mut address = builder.op(Op::PtrAdd, &[memory, live_after]);
        if let Some(lane) = lane {
            let step = builder.int(Scalar::I64, step.into());
            let further = builder.op(Op::Mul, &[lane, step]);
            address = builder.op(Op::PtrAdd, &[address, further]);
        }
        self.addresses.insert(offset, address);
        address
    }

    /// Returns the lanes' addresses of a private object.
    fn object(&mut self, value: Value) -> Value {
        let Some(SpillSlot::PrivateObject(offset, stride)) = self.plan.slots[value] else {
            unreachable!("{value} is the address of an object")
        };
        let address = self.address(offset, stride);
        let to = self.kernel.value_type(value);
        Builder::new(&mut self.func, InsertPoint::End(self.entry)).op_to(Op::SpaceCast, to, &[address])
    }

    /// Loads a value from its spill slot.
    fn load_from_slot(&mut self, value: Value) -> Value {
        let ty = self.kernel.value_type(value);
        match self.plan.slots[value] {
            Some(SpillSlot::PerLane(offset)) => {
                let address = self.address(offset, ty.bytes().into());
                Builder::new(&mut self.func, InsertPoint::End(self.entry)).load(
                    ty,
                    address,
                    natural_align(ty),
                )
            }
            Some(SpillSlot::PerBrush(offset)) => {
                let address = self.address(offset, 0);
                Builder::new(&mut self.func, InsertPoint::End(self.entry)).load(
                    ty,
                    address,
                    natural_align(ty),
                )
            }
            Some(SpillSlot::Strided(offset, strides)) => {
                let address = self.address(offset, 0);
                let mut builder = Builder::new(&mut self.func, InsertPoint::End(self.entry));
                let value = builder.load(ty, address, natural_align(ty));
                add_strides(&mut builder, value, strides, self.plan.dimensions, 1)
            }
            slot => unreachable!("{value} is not kept in memory but {slot:?}"),
        }
    }

    /// Freezes a value at the end of a block.
    fn freeze(&mut self, current: Value, block: Block) -> Value {
        let end = self.func.terminator(block).expect("a copied block has a terminator");
        Builder::new(&mut self.func, InsertPoint::Before(end)).op(Op::Freeze, &[current])
    }

    /// Stores a value to its spill slot, at the end of a block. `is_full` says that all lanes of the brush are active there.
    fn store_to_slot(&mut self, value: Value, current: Value, block: Block, is_full: bool) {
        let ty = self.kernel.value_type(value);
        let (address, strides) = match self.plan.slots[value] {
            Some(SpillSlot::PerLane(offset)) => (self.address(offset, ty.bytes().into()), None),
            Some(SpillSlot::PerBrush(offset)) => (self.address(offset, 0), None),
            Some(SpillSlot::Strided(offset, strides)) => (self.address(offset, 0), Some(strides)),
            slot => unreachable!("{value} is not kept in memory but {slot:?}"),
        };
        let end = self.func.terminator(block).expect("a copied block has a terminator");
        let mut builder = Builder::new(&mut self.func, InsertPoint::Before(end));
        let mut stored = current;
        match strides {
            Some(_) if is_full => {
                // Lane 0 is active in every brush.
                let lane = builder.int(Scalar::I32, 0);
                stored = builder.op(Op::Broadcast, &[current, lane]);
            }
            // Lane 0 may have exited; the others know its value.
            Some(strides) => stored = add_strides(&mut builder, current, strides, self.plan.dimensions, -1),
            None => {}
        }
        builder.store(stored, address, natural_align(ty));
    }
}

/// Adds a multiple of the strides from lane 0 to each lane.
fn add_strides(
    builder: &mut Builder<'_>,
    mut value: Value,
    strides: Strides,
    dimensions: usize,
    times: i128,
) -> Value {
    let ty = builder.func.value_type(value);
    let scalar = if ty.scalar().is_ptr() { Scalar::I64 } else { ty.scalar() };
    let op = if ty.scalar().is_ptr() { Op::PtrAdd } else { Op::Add };
    for (along, step) in (0u8..).zip(strides.all()).filter(|&(_, step)| step != 0) {
        let dimension = Detail::Dimension((dimensions > 1).then_some(along));
        let lane = builder.value(InstData::new(Op::Lane, [], dimension), Some(scalar.into()));
        let step = builder.int(scalar, times * i128::from(step));
        let further = builder.op(Op::Mul, &[lane, step]);
        value = builder.op(op, &[value, further]);
    }
    value
}

fn natural_align(ty: Type) -> u32 {
    ty.bytes().next_power_of_two()
}
