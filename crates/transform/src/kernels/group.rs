//! Emits the group function: sequential code that launches the regions of a kernel for each brush of a work-group.

use super::continuations::ContinuationGraph;
use super::launch_params::{
    GROUP_DESCRIPTOR_WORDS, GroupDescriptorField, LOCAL_ALIGN, LaunchParams, convert,
};
use super::region::{KernelRegion, NO_SUCCESSOR, WAIT_APART};
use super::spill_slots::SpillPlan;
use super::{KernelOptions, WorkItemLayout};
use crate::edges::set_latch_value;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::function::{MetadataKind, OriginData};
use heddle_ir::inst::{Detail, InstData, LaunchDetail, SwitchDetail};
use heddle_ir::module::{Declaration, FunctionKind, MetadataNode, Param, Signature};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Space, Type, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;

struct GroupFunctionBuilder<'a> {
    builder: Builder<'a>,
    options: &'a KernelOptions,
    launch_params: &'a LaunchParams,
    /// Values of the kernel, mapped to the group function.
    values: FxHashMap<Value, Value>,
    fields: FxHashMap<GroupDescriptorField, Value>,
    descriptor: Value,
    local_sizes: Option<[u32; 3]>,
    /// Scratch memory of the brushes, consecutively.
    scratch: Value,
    brush_bytes: u64,
    /// Addresses of group variables.
    variables: FxHashMap<Value, Value>,
    /// Variable for the number of the successor state.
    next: Option<Value>,
    /// Hint that disables unrolling of a loop.
    hint: Option<MetadataNode>,
}

/// A kernel with the results of the phases before.
pub(super) struct LoweredKernel<'a> {
    pub(super) kernel: &'a Function,
    /// Number of the kernel's own parameters.
    pub(super) own_params: usize,
    pub(super) launch_params: &'a LaunchParams,
    pub(super) states: &'a ContinuationGraph,
    pub(super) spill_plan: &'a SpillPlan,
}

/// Parameters appended to the kernel's own: group descriptor, local memory, scratch memory.
fn group_params(spill_plan: &SpillPlan) -> [Param; 3] {
    let descriptor = Param {
        align: 8,
        dereferenceable: 8 * GROUP_DESCRIPTOR_WORDS as u64,
        noalias: true,
        readonly: true,
        ..Param::new(Type::ptr(Space::Constant))
    };
    let local = Param { align: LOCAL_ALIGN as u32, ..Param::new(Type::ptr(Space::Local)) };
    let noalias = !spill_plan.has_objects;
    let scratch = Param { align: LOCAL_ALIGN as u32, noalias, ..Param::new(Type::ptr(Space::Global)) };
    [descriptor, local, scratch]
}

/// Emits the group function of a kernel. `hint` is for loops around regions that have loops.
pub(super) fn make_group_function(
    lowered: &LoweredKernel<'_>,
    regions: &[KernelRegion],
    options: &KernelOptions,
    hint: Option<MetadataNode>,
) -> Function {
    let &LoweredKernel { kernel, own_params, launch_params, states, spill_plan } = lowered;
    let params =
        kernel.signature.params[..own_params].iter().map(|param| Param { shape: None, ..param.clone() });
    let signature = Signature {
        params: params.chain(group_params(spill_plan)).collect(),
        results: Vec::new(),
        effects: kernel.signature.effects,
    };
    let mut func = Function::new(kernel.name.clone(), signature);
    let params = func.params().to_vec();
    let mut values: FxHashMap<Value, Value> =
        kernel.params()[..own_params].iter().copied().zip(params.iter().copied()).collect();
    values.extend(launch_params.local.map(|local| (local, params[own_params + 1])));
    let entry = func.append_block();
    let local_sizes = match kernel.kind {
        FunctionKind::Kernel(sizes) => sizes,
        FunctionKind::Function => None,
    };
    let mut group = GroupFunctionBuilder {
        builder: Builder::new(&mut func, InsertPoint::End(entry)),
        options,
        launch_params,
        values,
        fields: FxHashMap::default(),
        descriptor: params[own_params],
        local_sizes,
        scratch: params[own_params + 2],
        brush_bytes: spill_plan.brush_bytes,
        variables: FxHashMap::default(),
        next: None,
        hint,
    };
    for region in regions {
        for &value in &region.outputs {
            if !group.variables.contains_key(&value) {
                let variable = group.variable(kernel.value_type(value));
                group.variables.insert(value, variable);
            }
        }
        if region.returns_successor && group.next.is_none() {
            group.next = Some(group.variable(Type::I32));
        }
    }
    for &(field, value) in &launch_params.fields {
        let loaded = group.field(field);
        group.values.insert(value, loaded);
    }
    // Sizes along the axes of the brush.
    let sizes =
        options.axes.to_axes([0, 1, 2]).map(|along| group.field(GroupDescriptorField::LocalSize(along)));
    let starts: Vec<Block> = regions.iter().map(|_| group.new_block()).collect();
    group.builder.jump(starts[0]);
    let end = group.new_block();
    let wait_apart = spill_plan.status_offset.map(|_| group.new_block());
    for (number, region) in regions.iter().enumerate() {
        group.builder.set_insert_point(InsertPoint::End(starts[number]));
        // All brushes read the values that the previous state has left.
        for &value in &region.inputs {
            if let Some(&variable) = group.variables.get(&value) {
                let ty = kernel.value_type(value);
                let now = group.builder.load(ty, variable, VARIABLE_ALIGN);
                group.values.insert(value, now);
            }
        }
        if let Some(variable) = group.next.filter(|_| region.merges_successors) {
            let none = group.builder.int(Scalar::I32, NO_SUCCESSOR.into());
            group.builder.store(none, variable, VARIABLE_ALIGN);
        }
        group.run_state(region, sizes);
        let state = &states.all[number];
        match (&state.successors[..], group.next.filter(|_| region.returns_successor)) {
            (next, Some(variable)) => {
                let chosen = group.builder.load(Type::I32, variable, VARIABLE_ALIGN);
                let otherwise = if state.may_return { end } else { starts[next[0]] };
                let cases = if state.may_return { next } else { &next[1..] };
                let mut switch = SwitchDetail {
                    cases: cases.iter().map(|&next| next as u128).collect(),
                    targets: [otherwise].into_iter().chain(cases.iter().map(|&next| starts[next])).collect(),
                };
                if let Some(apart) = wait_apart.filter(|_| region.merges_successors && next.len() > 1) {
                    switch.cases.push(WAIT_APART.into());
                    switch.targets.push(apart);
                }
                let data = InstData::new(Op::Switch, [chosen], Detail::Switch(Box::new(switch)));
                group.builder.inst(data, None);
            }
            (&[next], None) => _ = group.builder.jump(starts[next]),
            (_, None) => _ = group.builder.jump(end),
        }
    }
    for (block, status) in [(Some(end), 0), (wait_apart, 1)] {
        let Some(block) = block else { continue };
        group.builder.set_insert_point(InsertPoint::End(block));
        if let Some(offset) = spill_plan.status_offset {
            let offset = group.builder.int(Scalar::I64, offset.into());
            let address = group.builder.op(Op::PtrAdd, &[group.scratch, offset]);
            let status = group.builder.int(Scalar::I32, status);
            group.builder.store(status, address, 4);
        }
        group.builder.ret(&[]);
    }
    func
}

/// Flags of arithmetic that does not wrap.
fn exact() -> Flags {
    Flags::of(&[Flag::Nuw, Flag::Nsw])
}

/// Alignment of group variables.
const VARIABLE_ALIGN: u32 = 16;

impl GroupFunctionBuilder<'_> {
    /// Allocates a group variable.
    fn variable(&mut self, ty: Type) -> Value {
        let detail = Detail::Alloca { bytes: ty.bytes().into(), align: VARIABLE_ALIGN };
        self.builder.value(InstData::new(Op::Alloca, [], detail), None)
    }

    /// Returns a field of the group descriptor, loaded in the entry block.
    fn field(&mut self, field: GroupDescriptorField) -> Value {
        let unit = self.options.unit();
        if let Some(&known) = self.fields.get(&field) {
            return known;
        }
        let value = match (field, self.local_sizes) {
            (
                GroupDescriptorField::LocalSize(along) | GroupDescriptorField::EnqueuedSize(along),
                Some(sizes),
            ) => self.builder.int(unit, sizes[usize::from(along)].into()),
            _ => {
                let offset = self.builder.int(Scalar::I64, 8 * field.word() as i128);
                let address = self.builder.op(Op::PtrAdd, &[self.descriptor, offset]);
                let word = self.builder.load(Type::I64, address, 8);
                match unit {
                    Scalar::I64 => word,
                    _ => {
                        let flags = Flags::of(&[Flag::Nuw, Flag::Nsw]);
                        let data = InstData { flags, ..InstData::plain(Op::Trunc, [word]) };
                        self.builder.value(data, Some(unit.into()))
                    }
                }
            }
        };
        self.fields.insert(field, value);
        value
    }

    /// Launches a region for all brushes of the group.
    fn run_state(&mut self, region: &KernelRegion, sizes: [Value; 3]) {
        match self.options.layout {
            WorkItemLayout::Linear => {
                let slice = self.product(sizes[0], sizes[1]);
                let size = self.product(slice, sizes[2]);
                self.run_row(region, size, &[], None);
            }
            WorkItemLayout::Rows => {
                let [rows, planes] = [1, 2].map(|along| self.brushes_along(along, sizes[along]));
                self.count_to(planes, region.has_loops, |group, plane| {
                    let z = group.times_extent(plane, 2);
                    group.count_to(rows, region.has_loops, |group, row| {
                        let y = group.times_extent(row, 1);
                        let number = region.takes_brush_memory.then(|| {
                            let before = group.product(plane, rows);
                            group.sum(before, row)
                        });
                        match group.options.extent(1) * group.options.extent(2) {
                            1 => group.run_row(region, sizes[0], &[y, z], number),
                            _ => group.run_row_of_tiles(region, sizes, [y, z], number),
                        }
                    });
                });
            }
        }
    }

    /// Returns the number of brushes along a dimension of this size.
    fn brushes_along(&mut self, dimension: usize, size: Value) -> Value {
        let extent = self.options.extent(dimension);
        if extent == 1 {
            return size;
        }
        let [width, before] = [extent, extent - 1].map(|it| self.builder.int(self.options.unit(), it.into()));
        let rounded = self.sum(size, before);
        self.builder.op(Op::Udiv, &[rounded, width])
    }

    /// Returns the first index of a brush along a dimension.
    fn times_extent(&mut self, number: Value, dimension: usize) -> Value {
        match self.options.extent(dimension) {
            1 => number,
            extent => {
                let extent = self.builder.int(self.options.unit(), extent.into());
                self.product(number, extent)
            }
        }
    }

    fn product(&mut self, a: Value, b: Value) -> Value {
        self.builder.op_with(Op::Mul, &[a, b], exact())
    }

    fn sum(&mut self, a: Value, b: Value) -> Value {
        self.builder.op_with(Op::Add, &[a, b], exact())
    }

    fn new_block(&mut self) -> Block {
        self.builder.func.append_block()
    }

    /// Emits a loop over `0..count`, where `count` is at least 1.
    fn count_to(&mut self, count: Value, has_loops: bool, body: impl FnOnce(&mut Self, Value)) {
        let unit = self.options.unit();
        let [before, header, latch, after] = [(); 4].map(|()| self.new_block());
        self.builder.jump(before);
        self.builder.set_insert_point(InsertPoint::End(before));
        self.builder.jump(header);
        self.builder.set_insert_point(InsertPoint::End(header));
        let [zero, one] = [0, 1].map(|number| self.builder.int(unit, number));
        let number = self.builder.phi(unit.into(), &[(before, zero)], None);
        body(self, number);
        self.builder.jump(latch);
        self.builder.set_insert_point(InsertPoint::End(latch));
        let next = self.sum(number, one);
        let goes_on = self.builder.icmp(IntPredicate::Ult, next, count);
        self.branch_back(goes_on, header, after, has_loops);
        set_latch_value(self.builder.func, number, latch, next);
        self.builder.set_insert_point(InsertPoint::End(after));
    }

    /// Emits the latch branch. A loop around another loop is not unrolled: the inner loop's exit is predicted best as a single branch.
    fn branch_back(&mut self, goes_on: Value, header: Block, after: Block, has_loops: bool) {
        let inst = self.builder.branch(goes_on, header, after);
        if let Some(hint) = self.hint.filter(|_| has_loops) {
            let tags = [(MetadataKind::Loop, hint)].into_iter().collect();
            self.builder.func.inst_mut(inst).origin =
                self.builder.func.make_origin(OriginData { loc: None, tags });
        }
    }

    /// Launches a region for the brushes of a row: whole brushes first, then a partial one under a mask.
    fn run_row(&mut self, region: &KernelRegion, size: Value, outer: &[Value], row: Option<Value>) {
        if region.is_serial {
            let memory = region.takes_brush_memory.then(|| self.memory_of_row(row, size));
            self.count_to(size, region.has_loops, |group, item| group.call(region, item, outer, memory));
            return;
        }
        if region.refills_lanes {
            let first = self.builder.int(self.options.unit(), 0);
            self.launch(region, first, outer, None, &[size], None);
            return;
        }
        let unit = self.options.unit();
        let lanes = self.options.extent(0);
        let [before, header, tail_check, tail, after] = [(); 5].map(|()| self.new_block());
        self.builder.jump(before);
        self.builder.set_insert_point(InsertPoint::End(before));
        let [zero, width] = [0, lanes].map(|number| self.builder.int(unit, number.into()));
        let rest = self.builder.op(Op::Urem, &[size, width]);
        let whole = self.builder.op_with(Op::Sub, &[size, rest], exact());
        let memory = region.takes_brush_memory.then(|| self.memory_of_row(row, size));
        let is_any = self.builder.icmp(IntPredicate::Ne, whole, zero);
        self.builder.branch(is_any, header, tail_check);

        self.builder.set_insert_point(InsertPoint::End(header));
        let first = self.builder.phi(unit.into(), &[(before, zero)], None);
        self.launch(region, first, outer, memory, &[], None);
        let next = self.sum(first, width);
        let goes_on = self.builder.icmp(IntPredicate::Ult, next, whole);
        self.branch_back(goes_on, header, tail_check, region.has_loops);
        set_latch_value(self.builder.func, first, header, next);

        self.builder.set_insert_point(InsertPoint::End(tail_check));
        let has_rest = self.builder.icmp(IntPredicate::Ne, rest, zero);
        self.builder.branch(has_rest, tail, after);

        self.builder.set_insert_point(InsertPoint::End(tail));
        let numbers: Vec<u128> = (0..u128::from(lanes)).collect();
        let numbers = self.builder.func.make_const(Constant::Vector(unit, numbers.into()));
        let rests = self.builder.op_to(Op::Splat, Type::Vector(unit, lanes as u16), &[rest]);
        let mask = self.builder.icmp(IntPredicate::Ult, numbers, rests);
        self.launch(region, whole, outer, memory, &[], Some(mask));
        self.builder.jump(after);
        self.builder.set_insert_point(InsertPoint::End(after));
    }

    /// Launches a region for the brushes of a row of tiles: whole tiles first, then those that the end of the group cuts.
    fn run_row_of_tiles(
        &mut self,
        region: &KernelRegion,
        sizes: [Value; 3],
        outer: [Value; 2],
        row: Option<Value>,
    ) {
        let unit = self.options.unit();
        let extents = [0, 1, 2].map(|along| self.options.extent(along));
        let [before, header, tail_check, masks, tail, after] = [(); 6].map(|()| self.new_block());
        self.builder.jump(before);
        self.builder.set_insert_point(InsertPoint::End(before));
        let [zero, width] = [0, extents[0]].map(|number| self.builder.int(unit, number.into()));
        // A row of tiles is whole if all its rows of work-items are in the group, as they are where tiles divide its size.
        let divides = |group: &Self, along: usize| {
            let size = group.builder.func.constant(sizes[along]).and_then(Constant::splat_bits);
            size.is_some_and(|size| size.is_multiple_of(extents[along].into()))
        };
        let cut: Vec<usize> =
            [1, 2].into_iter().filter(|&it| extents[it] > 1 && !divides(self, it)).collect();
        let mut is_whole = None;
        let mut remaining = Vec::new();
        for along in cut {
            let left = self.builder.op_with(Op::Sub, &[sizes[along], outer[along - 1]], exact());
            let extent = self.builder.int(unit, extents[along].into());
            let fits = self.builder.icmp(IntPredicate::Uge, left, extent);
            is_whole = Some(match is_whole {
                None => fits,
                Some(others) => self.builder.op(Op::And, &[others, fits]),
            });
            remaining.push((along, left));
        }
        let rest = self.builder.op(Op::Urem, &[sizes[0], width]);
        let mut whole = self.builder.op_with(Op::Sub, &[sizes[0], rest], exact());
        if let Some(is_whole) = is_whole {
            whole = self.builder.op(Op::Select, &[is_whole, whole, zero]);
        }
        let memory = region.takes_brush_memory.then(|| self.memory_of_row(row, sizes[0]));
        let is_any = self.builder.icmp(IntPredicate::Ne, whole, zero);
        self.builder.branch(is_any, header, tail_check);

        self.builder.set_insert_point(InsertPoint::End(header));
        let first = self.builder.phi(unit.into(), &[(before, zero)], None);
        self.launch(region, first, &outer, memory, &[], None);
        let next = self.sum(first, width);
        let goes_on = self.builder.icmp(IntPredicate::Ult, next, whole);
        self.branch_back(goes_on, header, tail_check, region.has_loops);
        set_latch_value(self.builder.func, first, header, next);

        self.builder.set_insert_point(InsertPoint::End(tail_check));
        let has_rest = self.builder.icmp(IntPredicate::Ult, whole, sizes[0]);
        self.builder.branch(has_rest, masks, after);

        self.builder.set_insert_point(InsertPoint::End(masks));
        let row_masks: Vec<Value> =
            remaining.iter().map(|&(along, left)| self.is_below(along, left)).collect();
        self.builder.jump(tail);
        self.builder.set_insert_point(InsertPoint::End(tail));
        let first = self.builder.phi(unit.into(), &[(masks, whole)], None);
        let left = self.builder.op_with(Op::Sub, &[sizes[0], first], exact());
        let mut mask = self.is_below(0, left);
        for other in row_masks {
            mask = self.builder.op(Op::And, &[mask, other]);
        }
        self.launch(region, first, &outer, memory, &[], Some(mask));
        let next = self.sum(first, width);
        let goes_on = self.builder.icmp(IntPredicate::Ult, next, sizes[0]);
        self.branch_back(goes_on, tail, after, region.has_loops);
        set_latch_value(self.builder.func, first, tail, next);
        self.builder.set_insert_point(InsertPoint::End(after));
    }

    /// Emits the mask of the lanes whose number along a dimension is below `left`.
    fn is_below(&mut self, dimension: usize, left: Value) -> Value {
        let unit = self.options.unit();
        let lanes = self.options.lanes();
        let inner: u32 = (0..dimension).map(|along| self.options.extent(along)).product();
        let number = |lane: u32| u128::from(lane / inner % self.options.extent(dimension));
        let numbers: Vec<u128> = (0..lanes).map(number).collect();
        let numbers = self.builder.func.make_const(Constant::Vector(unit, numbers.into()));
        let remaining = self.builder.op_to(Op::Splat, Type::Vector(unit, lanes as u16), &[left]);
        self.builder.icmp(IntPredicate::Ult, numbers, remaining)
    }

    /// Returns the memory of the first brush of a row.
    fn memory_of_row(&mut self, row: Option<Value>, size: Value) -> Value {
        let Some(row) = row else { return self.scratch };
        let unit = self.options.unit();
        let extent = self.options.extent(0);
        let [width, before] = [extent, extent - 1].map(|it| self.builder.int(unit, it.into()));
        let rounded = self.sum(size, before);
        let brushes = self.builder.op(Op::Udiv, &[rounded, width]);
        let first = self.product(row, brushes);
        self.memory_after(self.scratch, first)
    }

    /// Returns the memory of the brush that is `brushes` extra_args.
    fn memory_after(&mut self, memory: Value, brushes: Value) -> Value {
        let brushes = convert(&mut self.builder, brushes, Scalar::I64);
        let bytes = self.builder.int(Scalar::I64, self.brush_bytes.into());
        let offset = self.product(brushes, bytes);
        self.builder.op(Op::PtrAdd, &[memory, offset])
    }

    fn launch(
        &mut self,
        region: &KernelRegion,
        first: Value,
        outer: &[Value],
        memory: Option<Value>,
        extra_args: &[Value],
        mask: Option<Value>,
    ) {
        let mut args = self.arguments(region, first, outer, memory);
        args.extend(extra_args);
        args.extend(mask);
        let declaration: Arc<Declaration> = Arc::new(region.func.declaration());
        let callee = self.builder.func.make_callee(&declaration);
        let launch = LaunchDetail { callee, brush: self.options.brush.clone(), masked: mask.is_some() };
        let inst = self.builder.inst(InstData::new(Op::Launch, args, Detail::Launch(Box::new(launch))), None);
        self.store_results(region, inst);
    }

    /// Calls a serial region for one work-item of a row.
    fn call(&mut self, region: &KernelRegion, item: Value, outer: &[Value], memory: Option<Value>) {
        let mut args = self.arguments(region, item, outer, memory);
        if region.takes_brush_memory {
            let width = self.builder.int(self.options.unit(), self.options.extent(0).into());
            let lane = self.builder.op(Op::Urem, &[item, width]);
            args.push(convert(&mut self.builder, lane, Scalar::I64));
        }
        let callee = self.builder.func.make_callee(&Arc::new(region.func.declaration()));
        let inst = self.builder.inst(InstData::new(Op::Call, args, Detail::Call(callee)), None);
        self.store_results(region, inst);
    }

    /// Returns the arguments of a region that starts at work-item `first`.
    fn arguments(
        &mut self,
        region: &KernelRegion,
        first: Value,
        outer: &[Value],
        memory: Option<Value>,
    ) -> Vec<Value> {
        let items = std::iter::once(first).chain(outer.iter().copied());
        for (&item, value) in self.launch_params.items.iter().zip(items) {
            self.values.insert(item, value);
        }
        let mut args: Vec<Value> = region.inputs.iter().map(|value| self.values[value]).collect();
        if let Some(memory) = memory {
            let width = self.builder.int(self.options.unit(), self.options.extent(0).into());
            let number = self.builder.op(Op::Udiv, &[first, width]);
            args.push(self.memory_after(memory, number));
        }
        args
    }

    /// Stores the results of a region in their variables.
    fn store_results(&mut self, region: &KernelRegion, inst: Inst) {
        let mut results = self.builder.func.results(inst).to_vec();
        if let (Some(variable), Some(first)) =
            (self.next.filter(|_| region.merges_successors), results.first_mut())
        {
            *first = self.merge_successor(variable, *first);
        }
        let next = self.next.filter(|_| region.returns_successor);
        let places = next.into_iter().chain(region.outputs.iter().map(|value| self.variables[value]));
        let places: Vec<Value> = places.collect();
        for (result, descriptor) in results.into_iter().zip(places) {
            self.builder.store(result, descriptor, VARIABLE_ALIGN);
        }
    }

    /// Merges a brush's successor with that of the brushes before it. Brushes that have exited agree with every other.
    fn merge_successor(&mut self, variable: Value, own: Value) -> Value {
        let before = self.builder.load(Type::I32, variable, VARIABLE_ALIGN);
        let [none, apart] =
            [NO_SUCCESSOR, WAIT_APART].map(|number| self.builder.int(Scalar::I32, number.into()));
        let agree = self.builder.icmp(IntPredicate::Eq, own, before);
        let both = self.builder.op(Op::Select, &[agree, own, apart]);
        let is_first = self.builder.icmp(IntPredicate::Eq, before, none);
        let own_or_both = self.builder.op(Op::Select, &[is_first, own, both]);
        let has_exited = self.builder.icmp(IntPredicate::Eq, own, none);
        self.builder.op(Op::Select, &[has_exited, before, own_or_both])
    }
}
