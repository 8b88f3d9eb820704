//! Replaces a kernel's launch queries by parameters.
//!
//! The runtime writes a group descriptor of [`GROUP_DESCRIPTOR_WORDS`] 64-bit words for each group. The group function loads the fields
//! that the kernel queries and passes them to regions as uniform parameters. The index in the group is one or three further parameters.

use super::inline::is_launch_query;
use super::{KernelOptions, WorkItemLayout};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{DeclaredShape, FunctionKind, Param};
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Constant, Function, Inst, Module, Op, Scalar, Space, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Field of the group descriptor. All but the number of dimensions exist once per dimension.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GroupDescriptorField {
    /// Index of the group.
    GroupId(u8),
    /// Number of groups.
    NumGroups(u8),
    /// Size of this group, which may be smaller than that of others at the end of the launch.
    LocalSize(u8),
    /// Global index of the group's first work-item, the offset of the launch included.
    FirstId(u8),
    /// Size of the launch.
    GlobalSize(u8),
    /// Minimum global index.
    GlobalOffset(u8),
    /// Number of dimensions.
    WorkDim,
    /// Size of groups that the end of the launch does not cut off.
    EnqueuedSize(u8),
}

/// Number of 64-bit words of the group descriptor.
pub const GROUP_DESCRIPTOR_WORDS: usize = 22;

impl GroupDescriptorField {
    /// Index of the field's word in the descriptor.
    pub const fn word(self) -> usize {
        match self {
            GroupDescriptorField::GroupId(along) => along as usize,
            GroupDescriptorField::NumGroups(along) => 3 + along as usize,
            GroupDescriptorField::LocalSize(along) => 6 + along as usize,
            GroupDescriptorField::FirstId(along) => 9 + along as usize,
            GroupDescriptorField::GlobalSize(along) => 12 + along as usize,
            GroupDescriptorField::GlobalOffset(along) => 15 + along as usize,
            GroupDescriptorField::WorkDim => 18,
            GroupDescriptorField::EnqueuedSize(along) => 19 + along as usize,
        }
    }
}

/// Parameters that replace launch queries, appended to the kernel's own.
pub(super) struct LaunchParams {
    /// Queried fields of the group descriptor, with their parameters.
    pub(super) fields: Vec<(GroupDescriptorField, Value)>,
    /// Index in the group along each axis of the brush, or the linear index alone.
    pub(super) items: Vec<Value>,
    /// Index in the group along each dimension that a query asks for.
    pub(super) ids: [Option<Value>; 3],
    /// Local memory of the group, if the program has local objects.
    pub(super) local: Option<Value>,
    /// Bytes that those objects take.
    pub(super) local_bytes: u64,
}

/// Maximum number of work-items in a group.
pub const MAX_WORK_ITEMS: u64 = 1 << 20;

/// Alignment of a group's local memory and of its scratch memory.
pub const LOCAL_ALIGN: u64 = 128;

struct LaunchQueryLowering<'a> {
    func: &'a mut Function,
    options: &'a KernelOptions,
    sizes: Option<[u32; 3]>,
    fields: FxHashMap<GroupDescriptorField, Value>,
    order: Vec<(GroupDescriptorField, Value)>,
    items: Vec<Value>,
    /// Indices in the group along dimensions.
    ids: [Option<Value>; 3],
}

/// Replaces launch queries by parameters: descriptor fields, the index in the group, and the group's local memory.
pub(super) fn lower_launch_queries(
    func: &mut Function,
    module: &Module,
    options: &KernelOptions,
) -> LaunchParams {
    let sizes = match func.kind {
        FunctionKind::Kernel(sizes) => sizes,
        FunctionKind::Function => None,
    };
    let mut lowering = LaunchQueryLowering {
        func,
        options,
        sizes,
        fields: FxHashMap::default(),
        order: Vec::new(),
        items: Vec::new(),
        ids: [None; 3],
    };
    let unit = options.unit();
    // A brush starts at a multiple of its extent, so no lane wraps.
    let item = |lowering: &mut LaunchQueryLowering<'_>, dimension, shape| {
        let align = 1 << options.extent(dimension).trailing_zeros();
        let param = Param { shape: Some(shape), align, ..Param::new(unit.into()) };
        let value = lowering.func.add_param(param);
        lowering.items.push(value);
    };
    // With one lane everything is uniform.
    let is_serial = options.lanes() == 1;
    item(
        &mut lowering,
        0,
        if is_serial { DeclaredShape::Uniform } else { DeclaredShape::Linear(smallvec![1]) },
    );
    if options.layout == WorkItemLayout::Rows {
        for (dimension, steps) in [(1, smallvec![0, 1]), (2, smallvec![0, 0, 1])] {
            let is_one = options.extent(dimension) == 1;
            item(
                &mut lowering,
                dimension,
                if is_one { DeclaredShape::Uniform } else { DeclaredShape::Linear(steps) },
            );
        }
    }
    lowering.replace_queries();
    let (fields, items, ids) = (lowering.order, lowering.items, lowering.ids);
    let (local, local_bytes) = lay_out_local_objects(func, module);
    LaunchParams { fields, items, ids, local, local_bytes }
}

impl LaunchQueryLowering<'_> {
    fn replace_queries(&mut self) {
        let func = &*self.func;
        let insts = func.blocks().flat_map(|block| func.block_insts(block));
        let queries: Vec<Inst> = insts.filter(|&inst| is_launch_query(func.inst(inst))).collect();
        let mut became: SecondaryMap<Value, Option<Value>> = SecondaryMap::with_len(self.func.value_count());
        for inst in queries {
            let data = self.func.inst(inst).clone();
            let Some(result) = self.func.result(inst) else { continue };
            let Detail::Dimension(along) = data.detail else { continue };
            let along = along.unwrap_or(0).min(2);
            let value = match data.op {
                Op::LocalId if self.options.single_item_groups => self.func.make_int(self.options.unit(), 0),
                Op::LocalSize | Op::EnqueuedSize if self.options.single_item_groups => {
                    self.func.make_int(self.options.unit(), 1)
                }
                Op::GroupId if self.options.single_item_groups => self.index_in_launch(along, inst),
                Op::NumGroups if self.options.single_item_groups => {
                    self.field(GroupDescriptorField::GlobalSize(along))
                }
                Op::LocalId => self.local_id(along),
                Op::GlobalId => {
                    let first = self.field(GroupDescriptorField::FirstId(along));
                    let local = self.local_id(along);
                    let flags = Flags::of(&[Flag::Nuw, Flag::Nsw]);
                    Builder::new(self.func, InsertPoint::Before(inst)).op_with(
                        Op::Add,
                        &[first, local],
                        flags,
                    )
                }
                Op::LocalSize => self.field(GroupDescriptorField::LocalSize(along)),
                Op::EnqueuedSize => self.field(GroupDescriptorField::EnqueuedSize(along)),
                Op::GroupId => self.field(GroupDescriptorField::GroupId(along)),
                Op::NumGroups => self.field(GroupDescriptorField::NumGroups(along)),
                Op::GlobalSize => self.field(GroupDescriptorField::GlobalSize(along)),
                Op::GlobalOffset => self.field(GroupDescriptorField::GlobalOffset(along)),
                _ => self.field(GroupDescriptorField::WorkDim),
            };
            let wanted = self.func.value_type(result).scalar();
            let mut builder = Builder::new(self.func, InsertPoint::Before(inst));
            became[result] = Some(convert(&mut builder, value, wanted));
        }
        let insts: Vec<Inst> = became
            .iter()
            .filter(|(_, new)| new.is_some())
            .filter_map(|(old, _)| self.func.def_inst(old))
            .collect();
        self.func.map_values(|value| became[value].unwrap_or(value));
        insts.into_iter().for_each(|inst| self.func.remove_inst(inst));
    }

    /// Returns the work-item's index from the start of the launch along a dimension.
    fn index_in_launch(&mut self, along: u8, lowering: Inst) -> Value {
        let [first, offset] =
            [GroupDescriptorField::FirstId(along), GroupDescriptorField::GlobalOffset(along)]
                .map(|it| self.field(it));
        let local = self.local_id(along);
        let mut builder = Builder::new(self.func, InsertPoint::Before(lowering));
        let first = builder.op(Op::Sub, &[first, offset]);
        builder.op_with(Op::Add, &[first, local], Flags::of(&[Flag::Nuw, Flag::Nsw]))
    }

    /// Returns a field of the group descriptor.
    fn field(&mut self, field: GroupDescriptorField) -> Value {
        let unit = self.options.unit();
        if let (
            GroupDescriptorField::LocalSize(along) | GroupDescriptorField::EnqueuedSize(along),
            Some(sizes),
        ) = (field, self.sizes)
        {
            return self.func.make_int(unit, sizes[usize::from(along)].into());
        }
        if let Some(&known) = self.fields.get(&field) {
            return known;
        }
        let param = Param { shape: Some(DeclaredShape::Uniform), ..Param::new(unit.into()) };
        let value = self.func.add_param(param);
        self.fields.insert(field, value);
        self.order.push((field, value));
        value
    }

    /// Returns the index in the group along a dimension.
    fn local_id(&mut self, along: u8) -> Value {
        if let Some(known) = self.ids[usize::from(along)] {
            return known;
        }
        let id = match self.options.layout == WorkItemLayout::Rows {
            true => self.items[self.options.axes.axis_of(along)],
            false => self.id_of_linear_index(along),
        };
        self.ids[usize::from(along)] = Some(id);
        id
    }

    /// Computes the index along a dimension from the linear index.
    fn id_of_linear_index(&mut self, along: u8) -> Value {
        let [width, height] = [0, 1].map(|along| self.field(GroupDescriptorField::LocalSize(along)));
        let linear = self.items[0];
        let start = InsertPoint::Start(self.func.entry());
        let mut builder = Builder::new(self.func, start);
        match along {
            0 => builder.op(Op::Urem, &[linear, width]),
            1 => {
                let row = builder.op(Op::Udiv, &[linear, width]);
                builder.op(Op::Urem, &[row, height])
            }
            _ => {
                let row = builder.op(Op::Udiv, &[linear, width]);
                builder.op(Op::Udiv, &[row, height])
            }
        }
    }
}

/// Replaces strided index parameters by lane 0's index plus the lane number. The sum is poison in no lane, which an analysis cannot
/// know of a parameter.
pub(super) fn rebase_on_first_lane(func: &mut Function) {
    let is_place =
        |param: &Param| matches!(param.shape, Some(DeclaredShape::Linear(_))) && param.ty.scalar().is_int();
    for at in 0..func.signature.params.len() {
        if !is_place(&func.signature.params[at]) {
            continue;
        }
        let Some(DeclaredShape::Linear(steps)) =
            func.signature.params[at].shape.replace(DeclaredShape::Uniform)
        else {
            continue;
        };
        let first = func.params()[at];
        let ty = func.value_type(first);
        let dimension = steps.iter().position(|&step| step != 0).unwrap_or(0) as u8;
        let start = func.entry();
        let mut builder = Builder::new(func, InsertPoint::Start(start));
        let along = Detail::Dimension(Some(dimension));
        let lane = builder.value(InstData::new(Op::Lane, [], along), Some(ty));
        let place = builder.op(Op::Add, &[first, lane]);
        let sum = func.def_inst(place);
        func.map_values(|value| if value == first { place } else { value });
        if let Some(sum) = sum {
            func.inst_mut(sum).args[0] = first;
        }
    }
}

/// Converts a non-negative integer to another integer type.
pub(super) fn convert(builder: &mut Builder<'_>, value: Value, wanted: Scalar) -> Value {
    let has = builder.func.value_type(value).scalar().bits();
    match wanted.bits() {
        bits if bits == has => value,
        bits if bits > has => {
            let flags = Flags::of(&[Flag::Nneg]);
            let data = InstData { flags, ..InstData::plain(Op::Zext, [value]) };
            builder.value(data, Some(wanted.into()))
        }
        _ => builder.op_to(Op::Trunc, wanted.into(), &[value]),
    }
}

/// Lays out the program's local objects from one base address, a parameter, in module order. Returns the parameter and their total size.
fn lay_out_local_objects(func: &mut Function, module: &Module) -> (Option<Value>, u64) {
    let mut named: FxHashMap<Value, &str> = FxHashMap::default();
    let mut order: Vec<Value> = Vec::new();
    let globals: FxHashMap<&str, (u64, u64)> =
        module.globals.iter().map(|it| (&*it.name, (it.bytes(), u64::from(it.align)))).collect();
    for block in func.blocks() {
        for inst in func.block_insts(block) {
            for &arg in &func.inst(inst).args {
                if let Some(Constant::Address(Space::Local, name)) = func.constant(arg)
                    && let Some((&name, _)) = globals.get_key_value(&**name)
                    && named.insert(arg, name).is_none()
                {
                    order.push(arg);
                }
            }
        }
    }
    if order.is_empty() {
        return (None, 0);
    }
    let places: FxHashMap<&str, usize> =
        module.globals.iter().enumerate().map(|(place, it)| (&*it.name, place)).collect();
    order.sort_by_key(|value| places[named[value]]);
    let shape = Some(DeclaredShape::Uniform);
    let local =
        func.add_param(Param { shape, align: LOCAL_ALIGN as u32, ..Param::new(Type::ptr(Space::Local)) });
    let mut became: FxHashMap<Value, Value> = FxHashMap::default();
    let mut end = 0u64;
    let start = InsertPoint::Start(func.entry());
    let prefix = format!("{}.", func.name);
    let mut builder = Builder::new(func, start);
    for value in order {
        let name = named[&value];
        let (bytes, align) = globals[name];
        end = end.next_multiple_of(align.max(1));
        let offset = builder.int(Scalar::I64, end.into());
        let address = builder.op(Op::PtrAdd, &[local, offset]);
        // clang prefixes the variable's name with the kernel's.
        let name = name.strip_prefix(&prefix).unwrap_or(name);
        builder.func.set_name(address, name);
        if end == 0 {
            builder.func.set_name(local, name);
        }
        became.insert(value, address);
        end = end.saturating_add(bytes);
    }
    func.map_values(|value| became.get(&value).copied().unwrap_or(value));
    (Some(local), end.next_multiple_of(LOCAL_ALIGN))
}
