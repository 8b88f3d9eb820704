//! Lowers each kernel to a sequential group function, which runs one work-group.
//!
//! Requires: Stage::Source.  Ensures: no kernel is left; its group function has its name and launches the regions.
//! Invariant: each work-item executes the same instructions in the same order. All work-items of a group that have not exited
//! reach a source barrier before any passes it. No barrier is added, but for loops that wait for the group.
//! After: R. Karrenberg and S. Hack, *Improving Performance of OpenCL on CPUs*, 2. Differs in: group-uniform values
//! live in variables of the group function; strided values take one spill slot per brush.
//!
//! ```text
//!     kernel @k(a)                    func @k(a, descriptor, local, scratch)    called by one thread
//!       … global_id …                   for z, y, x: launch W @k.region0(a, x, y, z, …)
//!       barrier group                   for z, y, x: launch W @k.region1(a, x, y, z, …)
//!       … global_id …                   return
//! ```
//!
//! The phases, in order:
//!
//! * `known_images`, for launches whose images have known formats, removes the branches on them.
//! * `index_ranges`, for launches whose indices do not wrap around, promises that.
//! * `known_strides`, for launches whose strides are those of dense arrays, makes them constants.
//! * `distinct_pointers`, for launches whose pointers lead to different objects, makes parameters `noalias`.
//! * `inline` inlines calls to functions that query the launch, wait for their group or name local memory.
//! * `group_waits` lets brushes advance while work-items wait in loops for others of their group.
//! * `launch_forms`, before all others, makes forms of kernels for some launches: without guards and clamps of the indices, without loops over the grid,
//!   with an index for each dimension.
//! * `extensions` separates sign extensions that LLVM merged with address scales.
//! * `unroll_hints` disables runtime unrolling of loops with divergent trip counts.
//! * `launch_params` replaces launch queries by parameters.
//! * `bounds` extends operands instead of results that cannot wrap, since group sizes are bounded.
//! * `continuations` splits the kernel at its barriers into continuation states.
//! * `private_objects` finds private objects that live across barriers and interleaves the lanes' copies.
//! * `exit_plan` plans how work-items leave the states: together, or some at the end of the kernel and others at a barrier.
//! * `accessed_addresses` finds values that are not poison at barriers.
//! * `spill_slots` assigns spill slots to values that live across barriers.
//! * `region` builds a lock-step function for each state.
//! * `serial_regions` turns regions with scattered accesses into loops over work-items.
//! * `lane_refill` lets lanes that are done take further work-items.
//! * `versions` adds a fast version of a region for brushes with favourable indices.
//! * `group` emits the sequential function that launches the regions.

mod accessed_addresses;
mod serial_regions;
mod argument_bytes;
mod bounds;
mod clamped_indices;
mod extensions;
mod group;
mod group_layout;
mod group_waits;
mod independent_iterations;
mod inline;
mod known_ranges;
mod known_images;
mod known_strides;
mod spill_slots;
mod private_objects;
mod launch_forms;
mod launch_params;
mod linear_indices;
mod lane_refill;
mod region;
mod unroll_hints;
mod continuations;
mod distinct_pointers;
mod divided_index;
mod guard_comparisons;
mod guarded_differences;
mod index_digits;
mod index_extents;
mod index_guard;
mod index_ranges;
mod exit_plan;
mod single_iteration;
mod vector_dimension;
mod versions;

pub use distinct_pointers::{ObjectParameter, has_unknown_base, object_parameters, repeats_stores};
pub use group_layout::{GainsBySize, GroupLayout, LayoutRequest, group_layout};
pub use independent_iterations::IndependentIterations;
pub use index_digits::SHORTEST_ROW;
pub use index_extents::IndexExtent;
pub use index_guard::IndexBounds;
pub use index_ranges::{IndexRanges, LaunchNumbers};
pub use known_images::{DescriptorFields, KnownArgument, KnownImages, SamplingModes, descriptor_offsets};
pub use known_strides::{KnownStrides, StrideParameter, stride_parameters};
pub use launch_forms::{LaunchForm, launch_form, observes_launch};
pub use launch_params::{GROUP_DESCRIPTOR_WORDS, GroupDescriptorField, LOCAL_ALIGN, MAX_WORK_ITEMS};
pub(crate) use private_objects::{array_remark, users_of};
pub use single_iteration::MOST_ITERATIONS;
pub use vector_dimension::{AxisOrder, VectorDimension, vector_dimension};

use crate::widen::VersioningPolicy;
use heddle_ir::function::RegisterArray;
use heddle_ir::inst::Detail;
use heddle_ir::module::{DeclaredShape, FunctionKind, Param, loop_hint};
use heddle_ir::ops::Observed;
use heddle_ir::types::MAX_LANES;
use heddle_ir::words::SyncScope;
use heddle_ir::{Code, Diagnostic, Function, Inst, Module, Scalar, Space, Type};
use smallvec::SmallVec;

/// Bound of all sizes and indices of small launches. Indices a little above those of work-items still fit 31 bits.
pub const SMALL_LAUNCH: u64 = (1 << 31) - (1 << 22);

/// Layout of a work-group's work-items in brushes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum WorkItemLayout {
    /// Consecutive lanes along each dimension of the brush: a row, or a tile of rows. The last brush along a dimension may
    /// have lanes without work-items.
    #[default]
    Rows,
    /// Consecutive lanes in the linear order of the group, across the ends of its rows. Requires a one-dimensional brush.
    Linear,
}

/// Execution strategy for the work-items of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum GroupExecution {
    /// Brushes, sequentially.
    #[default]
    Brushes,
    /// Brushes, except regions with scattered accesses: these run one work-item at a time if other regions use brushes.
    Mixed,
    /// One brush whose lanes take further work-items when they are done, where some lanes would wait for others.
    LaneRefill,
}

/// Options for lowering kernels to group functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelOptions {
    /// Extent of a brush along each dimension.
    pub brush: SmallVec<[u32; 3]>,
    /// Layout of work-items in brushes.
    pub layout: WorkItemLayout,
    /// Work-item dimensions that the dimensions of the brush span. `Linear` has the order of work-item ids.
    pub axes: AxisOrder,
    /// True if all sizes and indices of a launch are below [`SMALL_LAUNCH`].
    pub is_small: bool,
    /// Policy for fast versions of regions.
    pub versions: VersioningPolicy,
    /// Execution strategy for the work-items.
    pub execution: GroupExecution,
    /// True if each source group has a single work-item. Several of them then run as one group; they have no local memory.
    pub single_item_groups: bool,
    /// Properties of the arguments of a launch.
    pub promises: LaunchPromises,
}

/// Properties of a launch's arguments that its code may rely on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct LaunchPromises {
    /// True if the pointers of a launch lead to different objects, but for those that lead to memory which nobody writes.
    pub distinct_pointers: bool,
    /// True if [`IndexRanges::hold`] in a launch.
    pub bounded_indices: bool,
    /// Strides that a launch has.
    pub strides: KnownStrides,
    /// Images and samplers of a launch.
    pub images: KnownImages,
}

impl KernelOptions {
    /// Rows of work-items along dimension 0, each region in one version.
    pub fn rows(brush: SmallVec<[u32; 3]>) -> KernelOptions {
        KernelOptions {
            brush,
            layout: WorkItemLayout::Rows,
            axes: AxisOrder::WORK_ITEMS,
            is_small: true,
            versions: VersioningPolicy::None,
            execution: GroupExecution::Brushes,
            single_item_groups: false,
            promises: LaunchPromises::default(),
        }
    }

    /// Number of lanes of a brush.
    pub fn lanes(&self) -> u32 {
        self.brush.iter().fold(1, |lanes: u32, &extent| lanes.saturating_mul(extent))
    }

    /// Extent of a brush along a dimension.
    fn extent(&self, dimension: usize) -> u32 {
        self.brush.get(dimension).copied().unwrap_or(1)
    }

    /// Number of brushes in a work-group of this size.
    pub fn brushes(&self, local: [u32; 3]) -> u64 {
        match self.layout {
            WorkItemLayout::Rows => {
                let local = self.axes.to_axes(local);
                [0, 1, 2].map(|axis| u64::from(local[axis].div_ceil(self.extent(axis)))).iter().product()
            }
            WorkItemLayout::Linear => {
                local.map(u64::from).iter().product::<u64>().div_ceil(self.lanes().into())
            }
        }
    }

    /// Integer type of indices and sizes.
    fn unit(&self) -> Scalar {
        if self.is_small { Scalar::I32 } else { Scalar::I64 }
    }
}

/// Calling convention and lowering statistics of a group function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupFunction {
    /// Name of the kernel.
    pub name: String,
    /// Bytes of local memory for the program's objects, at the start of the group's local memory.
    pub local_bytes: u64,
    /// Bytes of scratch memory per brush.
    pub brush_bytes: u64,
    /// Offset in the group's scratch memory of its status, 32 bits: not 0 if work-items waited at different barriers. None if they
    /// cannot.
    pub status_offset: Option<u64>,
    /// Number of barriers in the kernel, after inlining.
    pub barriers: usize,
    /// Number of points at which all brushes wait for each other.
    pub synchronization_points: usize,
    /// Number of regions that run one work-item at a time.
    pub serial_regions: usize,
    /// True if lanes take further work-items when they are done.
    pub refills_lanes: bool,
    /// Remarks about accesses that gain from region versions, and about private arrays that live across barriers.
    pub remarks: Vec<Diagnostic>,
    /// Private arrays of the kernel that are values.
    pub register_arrays: Vec<RegisterArray>,
}

/// Diagnostic for a kernel that cannot be lowered because of an instruction.
fn refuse_inst(func: &Function, inst: Inst, text: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::KernelForm, text).of_inst(func, inst).help(help)
}

/// Diagnostic for a kernel that cannot be lowered.
fn refuse(func: &Function, text: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::KernelForm, text).of_func(&func.name).help(help)
}

fn insts_of(func: &Function) -> Vec<Inst> {
    func.blocks().flat_map(|block| func.block_insts(block)).collect()
}

/// True if the function's result depends on which work-items share a brush.
fn observes_lanes(func: &Function) -> bool {
    insts_of(func).into_iter().any(|inst| func.inst(inst).op.observes(Observed::Lanes))
}

/// Maximum number of instructions of a kernel after inlining and after copying code that states share.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// Narrows atomic accesses to local memory to brush scope: one thread runs the brushes of a group sequentially, so only lanes
/// of one brush race.
fn narrow_local_atomics(func: &mut Function) {
    for inst in insts_of(func) {
        let data = func.inst(inst);
        let is_local =
            data.args.first().is_some_and(|&address| func.value_type(address) == Type::ptr(Space::Local));
        if !is_local {
            continue;
        }
        if let Detail::Rmw(_, access) | Detail::CompareExchange(access, _) = &mut func.inst_mut(inst).detail
            && let Some((_, scope)) = &mut access.atomic
        {
            *scope = SyncScope::Brush;
        }
    }
}

/// Replaces each kernel of a module by its group function and the regions that it launches. Removes inlined functions and
/// local-memory objects.
pub fn lower_kernels(module: &mut Module, options: &KernelOptions) -> Result<Vec<GroupFunction>, Diagnostic> {
    options.promises.images.assume_in_kernels(module);
    if !options.single_item_groups {
        group_waits::add_busy_object(module);
    }
    let to_inline = inline::functions_to_inline(module);
    let (mut lowered, mut functions) = (Vec::new(), Vec::new());
    for func in &module.functions {
        if !matches!(func.kind, FunctionKind::Kernel(_)) {
            if !to_inline.contains(&func.name) {
                functions.push(func.clone());
            }
            continue;
        }
        if !(1..=MAX_LANES).contains(&options.lanes()) || !(1..=3).contains(&options.brush.len()) {
            let extents: Vec<String> = options.brush.iter().map(u32::to_string).collect();
            let text = format!("`{}` is not a brush", extents.join("x"));
            let help = format!("write 1 to {MAX_LANES} lanes along 1 to 3 dimensions");
            return Err(refuse(func, text, help));
        }
        if options.layout == WorkItemLayout::Linear && options.brush.len() > 1 {
            let text = "the linear order of a group has one dimension, and the brush has more";
            return Err(refuse(func, text, "use the layout `rows`"));
        }
        if options.layout == WorkItemLayout::Linear && options.axes != AxisOrder::WORK_ITEMS {
            let text = "the linear order of a group follows work-item ids, and the brush has another order";
            return Err(refuse(func, text, "use the layout `rows`"));
        }
        if let Some(block) = func.blocks().find(|&block| func.predicate(block).is_some()) {
            let text = format!("{block} has a predicate before `linearize`");
            return Err(refuse(func, text, "write a branch around it"));
        }
        let is_varying = |param: &&Param| !matches!(param.shape, None | Some(DeclaredShape::Uniform));
        if func.signature.params.iter().any(|param| is_varying(&param)) {
            let text =
                "a parameter varies between lanes, but a launch passes the same value to all work-items";
            return Err(refuse(func, text, "declare its parameters `uniform`"));
        }
        let mut kernel = func.clone();
        // Promises change how addresses are computed.
        let LaunchPromises { distinct_pointers, bounded_indices, strides, images: _ } = options.promises;
        let parameters = if strides.is_empty() { Vec::new() } else { stride_parameters(&kernel) };
        if bounded_indices && let Some(ranges) = IndexRanges::of(&kernel) {
            ranges.promise(&mut kernel);
        }
        if !strides.is_empty() {
            strides.assume(&parameters, &mut kernel);
            crate::simplify(&mut kernel);
        }
        if distinct_pointers {
            distinct_pointers::assume_distinct_pointers(&mut kernel);
        }
        let own_params = kernel.params().len();
        inline::inline_calls(&mut kernel, module, &to_inline)?;
        let meets_at_hub =
            !options.single_item_groups && group_waits::meet_at_hub(&mut kernel, options.lanes());
        crate::lower_private_arrays(&mut kernel);
        guarded_differences::promise_differences(&mut kernel);
        argument_bytes::share_argument_bytes(&mut kernel);
        extensions::split_extensions(&mut kernel);
        if options.lanes() == 1 || options.execution == GroupExecution::Mixed {
            let unroll_hint = || loop_hint(&mut module.facts, "llvm.loop.unroll.runtime.disable");
            unroll_hints::disable_runtime_unrolling(&mut kernel, unroll_hint);
        }
        if options.single_item_groups {
            // A single work-item waits for no other.
            let mut barriers = insts_of(&kernel);
            barriers.retain(|&inst| inline::is_group_barrier(kernel.inst(inst)));
            barriers.into_iter().for_each(|inst| kernel.remove_inst(inst));
        }
        let launch_params = launch_params::lower_launch_queries(&mut kernel, module, options);
        bounds::extend_operands(&mut kernel, &launch_params, options.is_small);
        if continuations::has_barriers(&kernel) {
            // Recomputation of values after a barrier should take as few operations as possible.
            crate::simplify(&mut kernel);
            // Liveness across barriers is exact in LCSSA form.
            crate::canonicalize(&mut kernel);
        }
        narrow_local_atomics(&mut kernel);
        let states = continuations::split_at_barriers(&mut kernel);
        let sizes =
            states.all.iter().flat_map(|state| &state.blocks).map(|&block| kernel.block_insts(block).count());
        if sizes.sum::<usize>() > MAX_INSTRUCTIONS {
            let text = format!(
                "code between barriers is copied into several states: more than {MAX_INSTRUCTIONS} instructions"
            );
            return Err(refuse(func, text, "use fewer barriers"));
        }
        let mut objects = if states.all.len() > 1 {
            private_objects::find_objects_across_barriers(&kernel, &states)
        } else {
            Vec::new()
        };
        private_objects::interleave(&mut kernel, &mut objects, options.lanes());
        accessed_addresses::drop_flags_of_addresses(&mut kernel, &states);
        let spill_plan =
            spill_slots::assign_spill_slots(&kernel, &launch_params, &states, &objects, &options.brush)?;
        let mut remarks = private_objects::describe_objects(&kernel, &objects, options.lanes());
        let mut regions: Vec<region::KernelRegion> = (0..states.all.len())
            .map(|number| region::make_region(&kernel, &states, &spill_plan, number))
            .collect();
        let (mut serial_regions, mut refills_lanes) = (0, false);
        match options.execution {
            GroupExecution::Brushes => {}
            // The work-items of a brush share its exit flag.
            GroupExecution::Mixed if spill_plan.exit_flag.is_some() => {}
            GroupExecution::Mixed => {
                serial_regions = serial_regions::serialize_scattered(&kernel, &mut regions, options)
            }
            GroupExecution::LaneRefill if options.brush.len() > 1 || options.lanes() < 2 || meets_at_hub => {}
            GroupExecution::LaneRefill => {
                refills_lanes = lane_refill::refill_region(&mut regions, launch_params.items[0])
            }
        }
        for region in regions.iter_mut().filter(|region| !region.is_serial && !region.refills_lanes) {
            remarks.extend(versions::add_fast_version(&mut region.func, &options.brush, options.versions));
            launch_params::rebase_on_first_lane(&mut region.func);
        }
        let no_unroll = regions
            .iter()
            .any(|region| region.has_loops)
            .then(|| loop_hint(&mut module.facts, "llvm.loop.unroll.disable"));
        lowered.push(GroupFunction {
            name: func.name.clone(),
            local_bytes: launch_params.local_bytes,
            brush_bytes: spill_plan.brush_bytes,
            status_offset: spill_plan.status_offset,
            barriers: states.barriers,
            synchronization_points: states.all.len() - 1,
            serial_regions,
            refills_lanes,
            remarks,
            register_arrays: kernel.register_arrays.clone(),
        });
        let lowered_kernel = group::LoweredKernel {
            kernel: &kernel,
            own_params,
            launch_params: &launch_params,
            states: &states,
            spill_plan: &spill_plan,
        };
        let mut group = group::make_group_function(&lowered_kernel, &regions, options, no_unroll);
        let (serial, launched): (Vec<_>, Vec<_>) = regions.into_iter().partition(|region| region.is_serial);
        let serial =
            Module { functions: serial.into_iter().map(|region| region.func).collect(), ..Module::default() };
        let names = serial.functions.iter().map(|func| func.name.clone()).collect();
        inline::inline_calls(&mut group, &serial, &names)?;
        functions.push(group);
        functions.extend(launched.into_iter().map(|region| region.func));
    }
    module.functions = functions;
    module.globals.retain(|global| global.space != Space::Local);
    Ok(lowered)
}
