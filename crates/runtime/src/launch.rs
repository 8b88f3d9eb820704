//! Launches: arguments, work-groups, workers.

use crate::code::{BuildError, GroupCode};
use crate::environment;
use crate::faults::{KernelFault, KernelThread, Watchdog, cancel, new_launch};
use crate::memory::AlignedMemory;
use crate::pool::{JobShare, Pool};
use crate::processors::has_idle;
use crate::program::{BOUNDED_LAUNCHES, BoundedLaunch, PreparedKernel};
use crate::range::{GroupForm, Groups, NdRange, choose_local, share_groups};
use crate::second_forms::{SecondLaunch, integer, object_of};
use crate::selection::{
    FollowUp, LaunchClass, LaunchTimes, LaunchWork, Picked, SlicePair, SliceTimes, SliceTrial, Ticket,
};
use crate::vector_code::CodeVariant;
use heddle_ir::Space;
use heddle_llvm::{ArgumentPiece, KernelInfo as SourceKernel, ParamPassing, slot_bytes};
use heddle_transform::AxisOrder;
use heddle_transform::kernels::{
    DescriptorFields, GROUP_DESCRIPTOR_WORDS, KnownArgument, KnownImages, KnownStrides, LOCAL_ALIGN,
    LaunchNumbers, LaunchPromises, ObjectParameter,
};
use rustc_hash::FxHasher;
use std::cell::RefCell;
use std::hash::{Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use thiserror::Error;

/// Argument of a launch.
#[derive(Clone, Copy, Debug)]
pub enum LaunchArgument<'a> {
    /// A value by its bytes; for a pointer to private memory, what it points to.
    Bytes(&'a [u8]),
    /// An address in global or constant memory.
    Pointer(*mut u8),
    /// An address in global or constant memory, and the number of bytes from it on that the kernel accesses through it.
    Memory(*mut u8, usize),
    /// The address of the descriptor of an image or a texture, as a pointer or as a number of 64 bits.
    Image(*mut u8, DescriptorFields),
    /// A sampler, by its bits.
    Sampler(u32),
    /// So many bytes of local memory for each group.
    Local(u64),
}

/// The arguments of an imported kernel, of those that its source has: a vector or a small structure is several there.
pub fn in_pieces<'a>(kernel: &SourceKernel, given: &[LaunchArgument<'a>]) -> Vec<LaunchArgument<'a>> {
    let mut arguments = Vec::new();
    for (parameter, &given) in kernel.params.iter().zip(given) {
        match (&parameter.passing, given) {
            (ParamPassing::Value { pieces, .. }, LaunchArgument::Bytes(bytes)) => {
                let piece = |at: &ArgumentPiece| bytes.get(at.offset..at.offset + at.scalar.bytes() as usize);
                arguments
                    .extend(pieces.iter().map(|at| LaunchArgument::Bytes(piece(at).unwrap_or_default())));
            }
            _ => arguments.push(given),
        }
    }
    arguments
}

/// Why a kernel was not launched.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// It has no code.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The number of arguments is wrong.
    #[error("@{kernel} takes {expected} arguments, not {found}")]
    Count {
        /// The kernel.
        kernel: String,
        /// Expected number of arguments.
        expected: usize,
        /// Actual number of arguments.
        found: usize,
    },
    /// An argument does not fit its parameter.
    #[error("argument {index} of @{kernel}: {reason}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// Number of the argument, from 0.
        index: usize,
        /// Reason.
        reason: String,
    },
    /// The source fixes the size of work-groups.
    #[error("@{kernel} runs in work-groups of {required:?}, not of {found:?}")]
    Local {
        /// The kernel.
        kernel: String,
        /// The size that the source says.
        required: [u32; 3],
        /// The requested size.
        found: [u32; 3],
    },
    /// A work-group is larger than the local memory of its collective functions.
    #[error(
        "@{kernel} uses collective functions of work-groups, which allow {most} work-items, not {items}\nhelp: launch it in smaller work-groups"
    )]
    Items {
        /// The kernel.
        kernel: String,
        /// The most work-items of a group.
        most: u64,
        /// Requested number.
        items: u64,
    },
    /// There are too many work-groups.
    #[error("@{0}: more than 2^64 work-groups")]
    Groups(String),
    /// There is no memory for what work-groups need.
    #[error("@{kernel}: out of memory: a work-group needs {bytes} bytes")]
    Memory {
        /// The kernel.
        kernel: String,
        /// Number of bytes that a group needs.
        bytes: u64,
    },
    /// A group did not come to its end.
    #[error("{fault} in @{kernel}, work-group {group:?}{}", help_for_fault(fault))]
    Fault {
        /// The kernel.
        kernel: String,
        /// Index of the group.
        group: [u64; 3],
        /// Reason.
        fault: KernelFault,
    },
    /// The launch took longer than the watchdog allows.
    #[error(
        "@{kernel} ran for more than {seconds} s\nhelp: let HEDDLE_WATCHDOG be larger, or unset, if it is not caught in a loop"
    )]
    Timeout {
        /// The kernel.
        kernel: String,
        /// Time that is allowed.
        seconds: f64,
    },
    /// Work-items of a group wait at different barriers, so none of them can go on.
    #[error(
        "divergent barrier in @{kernel}, work-group {group:?}: some work-items wait at one barrier, others at another\nhelp: let all work-items of a group that have not exited reach the same barriers"
    )]
    DivergentBarrier {
        /// The kernel.
        kernel: String,
        /// Index of the first such group.
        group: [u64; 3],
    },
}

impl LaunchError {
    /// The error as one of the kernel with this name, of which another one is a form.
    fn of(mut self, name: &str) -> LaunchError {
        match &mut self {
            LaunchError::Count { kernel, .. }
            | LaunchError::Argument { kernel, .. }
            | LaunchError::Local { kernel, .. }
            | LaunchError::Items { kernel, .. }
            | LaunchError::Groups(kernel)
            | LaunchError::Memory { kernel, .. }
            | LaunchError::Fault { kernel, .. }
            | LaunchError::Timeout { kernel, .. }
            | LaunchError::DivergentBarrier { kernel, .. } => *kernel = name.to_string(),
            LaunchError::Build(_) => {}
        }
        self
    }
}

fn help_for_fault(fault: &KernelFault) -> &'static str {
    match fault {
        KernelFault::Access(_) | KernelFault::Bus(_) => {
            "\nhelp: in an OpenCL or CUDA program HEDDLE_VERIFY=1 names thread and line"
        }
        _ => "",
    }
}

/// Forecast of a launch, from launches before.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaunchForecast {
    /// True if its code is compiled and fits on the stack of any thread.
    pub is_slim: bool,
    /// True if it is also likely to take less time than to wake a thread.
    pub is_brief: bool,
}

/// State of a launch that all its workers share.
struct RunningLaunch {
    code: Arc<GroupCode>,
    /// Candidate that runs slices.
    slices: Option<(SliceTrial, Arc<GroupCode>)>,
    ticket: Ticket,
    groups: Groups,
    /// Arguments, each in its slot, and slots for the memory of a worker.
    slots: Vec<u8>,
    /// Slots that get an address in the worker's local memory.
    locals: Vec<(usize, u64)>,
    /// Keeps what addresses in slots point to.
    _values: Vec<AlignedMemory>,
    local_bytes: u64,
    scratch_bytes: u64,
    is_out_of_memory: AtomicBool,
    /// Number of the first group whose work-items waited at different barriers; the maximum if there is none.
    waited_apart: AtomicU64,
    ending: Arc<LaunchEnding>,
}

/// Early end of a launch.
struct LaunchEnding {
    /// Number of the launch.
    number: u64,
    /// True once a group has failed: no other begins.
    has_failed: AtomicBool,
    /// First fault, with the number of its group.
    fault: Mutex<Option<(u64, KernelFault)>>,
}

impl LaunchEnding {
    /// Ends the launch; the first reason counts.
    fn fail(&self, group: u64, fault: KernelFault) {
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() && fault != KernelFault::Cancelled {
            *first = Some((group, fault));
        }
        drop(first);
        self.has_failed.store(true, Ordering::Release);
    }

    fn fault(&self) -> Option<(u64, KernelFault)> {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a launch failed that had begun.
enum LaunchFailure {
    Memory,
    /// In the group of this index.
    DivergentBarrier([u64; 3]),
    /// In the group of this index.
    Fault([u64; 3], KernelFault),
}

/// The memory of a worker.
#[derive(Default)]
struct WorkerMemory {
    local: AlignedMemory,
    scratch: AlignedMemory,
}

thread_local! {
    static WORKER: RefCell<WorkerMemory> = RefCell::default();
}

const SLOT: usize = 16;

/// Division of a launch into groups, and the variant of the code that runs them.
pub(crate) struct LaunchPlan {
    local: [u32; 3],
    pub(crate) groups: Groups,
    /// The number of groups.
    count: u64,
    pub(crate) variant: CodeVariant,
}

impl PreparedKernel {
    /// The size of work-groups in which a launch over a range runs; where the kernel does not see them, they may be smaller, so that
    /// all threads have some.
    pub fn local_size(&self, range: &NdRange) -> [u32; 3] {
        let info = self.info();
        match (range.local(), info.required_local) {
            (_, Some(local)) => local,
            (Some(local), None) if info.sees_groups => local,
            // Where nothing tells one size of groups from another, the requested size does not matter.
            _ => {
                let axes = self.axes(range);
                let form = if info.sees_groups { GroupForm::Seen } else { self.unseen_form(axes) };
                choose_local(range, axes, self.lanes(), form)
            }
        }
    }

    /// Form of groups that the kernel does not see.
    pub(crate) fn unseen_form(&self, axes: AxisOrder) -> GroupForm {
        let dimension = self.vector_dimension();
        match dimension.has_columns && dimension.axes == axes {
            true => GroupForm::Columns,
            false => GroupForm::Rows,
        }
    }

    /// The order of axes for launches over a range. Lanes span dimension 0 where the best dimension has fewer work-items than a small
    /// vector has lanes.
    fn axes(&self, range: &NdRange) -> AxisOrder {
        const FEWEST: u64 = 4;
        let info = self.info();
        let fixed = info.required_local.or(range.local().filter(|_| info.sees_groups));
        let extents = fixed.map_or(range.global(), |local| local.map(u64::from));
        if extents[1] * extents[2] <= 1 {
            return AxisOrder::WORK_ITEMS;
        }
        let axes = self.vector_dimension().axes;
        let innermost = extents[usize::from(axes.dimension(0))];
        if innermost < FEWEST.min(extents[0]) { AxisOrder::WORK_ITEMS } else { axes }
    }

    /// Properties of a launch that code gains by.
    fn promises(&self, args: &[LaunchArgument<'_>], range: &NdRange) -> LaunchPromises {
        LaunchPromises {
            distinct_pointers: self.has_distinct_objects(args),
            bounded_indices: self.has_bounded_indices(args, range),
            strides: self.known_strides(args),
            images: self.known_images(args),
        }
    }

    /// True if the pointers among the arguments lead to different objects, and code gains by that.
    fn has_distinct_objects(&self, args: &[LaunchArgument<'_>]) -> bool {
        let objects = &self.info().distinct_objects;
        let mut found: Vec<(Range<u64>, bool)> = Vec::with_capacity(objects.len());
        for &ObjectParameter { number, is_written } in objects {
            let Some(object) = args.get(number).and_then(object_of) else { return false };
            let is_shared = |(other, is_other_written): &(Range<u64>, bool)| {
                (is_written || *is_other_written) && object.start < other.end && other.start < object.end
            };
            if found.iter().any(is_shared) {
                return false;
            }
            found.push((object, is_written));
        }
        !objects.is_empty()
    }

    /// Strides of a launch with these arguments that code gains by.
    fn known_strides(&self, args: &[LaunchArgument<'_>]) -> KnownStrides {
        let argument = |number: usize| args.get(number).and_then(integer);
        let strides = KnownStrides::of_launch(&self.info().stride_parameters, argument);
        if strides.is_empty() || self.takes_strides(strides) { strides } else { KnownStrides::default() }
    }

    /// Images and samplers of a launch that code knows.
    fn known_images(&self, args: &[LaunchArgument<'_>]) -> KnownImages {
        let images = args.iter().enumerate().filter_map(|(number, argument)| match *argument {
            LaunchArgument::Image(_, fields) => Some((number, KnownArgument::Descriptor(fields))),
            LaunchArgument::Sampler(bits) => Some((number, KnownArgument::Sampler(bits))),
            _ => None,
        });
        let images = KnownImages::of_launch(images);
        if images.is_empty() || self.takes_formats(images) { images } else { KnownImages::default() }
    }

    /// True if no index that code gains by wraps around in a launch with these arguments.
    fn has_bounded_indices(&self, args: &[LaunchArgument<'_>], range: &NdRange) -> bool {
        let Some(ranges) = &self.info().index_ranges else { return false };
        let parameters = args.iter().map(integer);
        let sizes = [range.global(), range.offset(), self.local_size(range).map(u64::from)];
        let mut hasher = FxHasher::default();
        (sizes, args.len()).hash(&mut hasher);
        parameters.clone().for_each(|parameter| parameter.hash(&mut hasher));
        let mut launches = self.bounded_launches();
        let known = &mut launches[hasher.finish() as usize % BOUNDED_LAUNCHES];
        if let Some(it) = known
            && it.sizes == sizes
            && it.parameters.iter().copied().eq(parameters.clone())
        {
            return it.holds;
        }
        let parameters: Vec<Option<u64>> = parameters.collect();
        let [global, offset, local] = sizes;
        let holds = ranges.hold(&LaunchNumbers { global, offset, local, parameters: &parameters });
        *known = Some(BoundedLaunch { sizes, parameters, holds });
        holds
    }

    /// A plan; `at_once` says that each group runs on a thread of its own.
    pub(crate) fn plan(
        &self,
        args: &[LaunchArgument<'_>],
        range: &NdRange,
        at_once: bool,
    ) -> Result<LaunchPlan, LaunchError> {
        self.stage().launch();
        let info = self.info();
        if let (Some(found), Some(required)) = (range.local(), info.required_local)
            && found != required
        {
            return Err(LaunchError::Local { kernel: info.name.clone(), required, found });
        }
        let axes = self.axes(range);
        // Groups of one work-item with nothing else of their own run as if there were none.
        let has_groups_of_one = range.items() > 1 && self.local_size(range) == [1; 3];
        let is_single = has_groups_of_one && info.shares_nothing && !at_once;
        let local = match is_single {
            true => choose_local(range, axes, self.lanes(), self.unseen_form(axes)),
            false => self.local_size(range),
        };
        let items = local.iter().map(|&size| u64::from(size)).product();
        if let Some(most) = info.most_items.filter(|&most| items > most) {
            return Err(LaunchError::Items { kernel: info.name.clone(), most, items });
        }
        let groups = range.groups(local, axes);
        let count = groups.count().ok_or_else(|| LaunchError::Groups(info.name.clone()))?;
        let variant =
            CodeVariant::of_groups(info, self.lanes(), local, axes, groups.is_uniform(), range.is_small());
        let variant = CodeVariant { promises: self.promises(args, range), ..variant };
        let variant = if is_single { variant.of_single_items() } else { variant };
        let variant = self.chosen_variant(variant, local, groups.is_uniform(), Some(range.items()));
        Ok(LaunchPlan { local, groups, count, variant })
    }

    /// A plan in whose groups so many threads find work, where the kernel does not see groups.
    fn for_threads(
        &self,
        plan: LaunchPlan,
        range: &NdRange,
        threads: usize,
        code: &Arc<GroupCode>,
    ) -> LaunchPlan {
        if !self.chooses_groups(&plan.variant) {
            return plan;
        }
        let pace = code.pace();
        let settled_lanes = |pace: f64| {
            let share = share_threads(pace * range.items() as f64, threads);
            let settled = code.selection.settled(&self.class(&plan.variant, &plan.groups, share));
            settled.map(|(_, chosen)| chosen.as_ref().unwrap_or(code).options.lanes())
        };
        // The first launch runs this code.
        let lanes = pace.map_or(Some(code.options.lanes()), settled_lanes);
        let (axes, threads) = (plan.variant.axes, threads as u64);
        let local = share_groups(plan.local, range, axes, threads, pace, lanes, self.unseen_form(axes));
        let groups = range.groups(local, plan.variant.axes);
        match groups.count() {
            Some(count) => LaunchPlan { local, groups, count, ..plan },
            None => plan,
        }
    }

    /// Forecast of a launch with these arguments over this range.
    pub fn outlook(&self, args: &[LaunchArgument<'_>], range: &NdRange, pool: &Pool) -> LaunchForecast {
        if let Some(SecondLaunch { kernel, range, .. }) = self.second_launch(args, range) {
            return kernel.outlook_in(args, &range, pool);
        }
        self.outlook_in(args, range, pool)
    }

    fn outlook_in(&self, args: &[LaunchArgument<'_>], range: &NdRange, pool: &Pool) -> LaunchForecast {
        let Ok(plan) = self.plan(args, range, pool.is_at_once()) else { return LaunchForecast::default() };
        let code = self.code_if_ready(plan.variant);
        code.map(|code| code.outlook(range.items(), pool.threads())).unwrap_or_default()
    }

    /// Has the code for launches with these arguments over this range compiled, so that they only run it.
    pub fn prepare(&self, args: &[LaunchArgument<'_>], range: &NdRange) -> Result<(), LaunchError> {
        if let Some(SecondLaunch { kernel, range, .. }) = self.second_launch(args, range) {
            return kernel.prepare_in(args, &range);
        }
        self.prepare_in(args, range)
    }

    fn prepare_in(&self, args: &[LaunchArgument<'_>], range: &NdRange) -> Result<(), LaunchError> {
        let plan = self.plan(args, range, false)?;
        if plan.count != 0 {
            self.code(plan.variant)?;
        }
        Ok(())
    }

    /// Launches the kernel over a range, and comes back when all work-items are done.
    ///
    /// # Safety
    /// With these arguments the kernel does nothing undefined: it stays inside of the memory that they lead to, its work-items
    /// do not race, and all of a group come to the same barriers. That memory stays where it is meanwhile, and nothing
    /// else writes what the kernel reads or reads what it writes.
    pub unsafe fn launch(
        &self,
        args: &[LaunchArgument<'_>],
        range: &NdRange,
        pool: &Pool,
    ) -> Result<(), LaunchError> {
        // SAFETY: what the caller promises.
        unsafe { self.launch_with_local(args, range, 0, pool) }
    }

    /// Launches the kernel as [`launch`](Self::launch) does; each group has this much local memory after the program's own
    /// objects.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub unsafe fn launch_with_local(
        &self,
        args: &[LaunchArgument<'_>],
        range: &NdRange,
        local_bytes: u64,
        pool: &Pool,
    ) -> Result<(), LaunchError> {
        let info = self.info();
        let (expected, found) = (info.parameters.len(), args.len());
        if found != expected {
            return Err(LaunchError::Count { kernel: info.name.clone(), expected, found });
        }
        let second = (!pool.is_at_once()).then(|| self.second_launch(args, range)).flatten();
        if let Some(SecondLaunch { kernel, range, bound }) = second {
            let bound = bound.map(u64::to_ne_bytes);
            let bound = bound.as_ref().map(|bytes| LaunchArgument::Bytes(bytes));
            let args: Vec<LaunchArgument<'_>> = args.iter().copied().chain(bound).collect();
            // SAFETY: what the caller promises; the kernel does the same.
            let done = unsafe { kernel.launch_with_local(&args, &range, local_bytes, pool) };
            return done.map_err(|error| error.of(&info.name));
        }
        let plan = self.plan(args, range, pool.is_at_once())?;
        if plan.count == 0 {
            return Ok(());
        }
        let code = self.code(plan.variant)?;
        let LaunchPlan { local, groups, count, variant } =
            self.for_threads(plan, range, pool.threads(), &code);
        let share = share_of_pool(&code, &groups, count, pool);
        let share = JobShare { is_ordered: info.polls && !pool.is_at_once(), ..share };
        let class = self.class(&variant, &groups, share.threads);
        self.open_class(&code, class, &groups);
        let work = LaunchWork { items: range.items(), groups: count, threads: share.threads };
        let launch = RunningLaunch::new(self, &code, args, (groups, local), local_bytes, &class, &work)?;
        let needed = launch.local_bytes.saturating_add(launch.scratch_bytes);
        // Pairs of slices are not cut.
        let grain = launch.slices.as_ref().map_or(share.grain, |(trial, _)| 2 * trial.groups());
        let share = JobShare { grain, ..share };
        let ticket = launch.ticket;
        let watchdog = environment::watchdog();
        let _watchdog = watchdog.map(|time| {
            let ending = Arc::clone(&launch.ending);
            Watchdog::new(time, move || {
                ending.fail(u64::MAX, KernelFault::Timeout);
                cancel(ending.number);
            })
        });
        let start = Instant::now();
        let (time, (failure, slices)) = match share.threads {
            1 => {
                // SAFETY: what the caller promises of the arguments.
                unsafe { launch.run(0..count) };
                (start.elapsed(), launch.outcome())
            }
            _ => {
                let launch = Arc::new(launch);
                let worker = Arc::clone(&launch);
                // SAFETY: what the caller promises of the arguments.
                let busy = pool.run(count, share, move |numbers| unsafe { worker.run(numbers) });
                (busy, launch.outcome())
            }
        };
        code.took(range.items(), time);
        let times = LaunchTimes { items: range.items(), time: time.as_nanos() as f64, slices };
        match code.selection.add_launch(ticket, &times, || has_idle(share.threads)) {
            FollowUp::Nothing => {}
            FollowUp::Build(request) => self.build_candidate(&code, request),
            FollowUp::Settled(report) => self.end_examination(&code, &report, range.items()),
        }
        crate::print::flush();
        let kernel = info.name.clone();
        match failure {
            Some(LaunchFailure::Memory) => Err(LaunchError::Memory { kernel, bytes: needed }),
            Some(LaunchFailure::DivergentBarrier(group)) => {
                Err(LaunchError::DivergentBarrier { kernel, group })
            }
            Some(LaunchFailure::Fault(_, KernelFault::Timeout)) => {
                Err(LaunchError::Timeout { kernel, seconds: watchdog.unwrap_or_default().as_secs_f64() })
            }
            Some(LaunchFailure::Fault(group, fault)) => Err(LaunchError::Fault { kernel, group, fault }),
            None => Ok(()),
        }
    }
}

/// Nanoseconds of work that are worth another thread: a multiple of the time to wake it.
const WORTH_A_THREAD: f64 = 4_000.0;
/// Minimum nanoseconds of a chunk: long compared with the time to begin one.
pub(crate) const CHUNK: f64 = 2_000.0;

/// Shares groups, each of which takes so many nanoseconds, among up to so many threads.
fn share_of(group: f64, count: u64, threads: usize) -> JobShare {
    let threads = share_threads(group * count as f64, threads);
    JobShare { threads, grain: ((CHUNK / group.max(0.01)) as u64).max(1), is_ordered: false }
}

/// Number of threads for work that takes so many nanoseconds.
fn share_threads(time: f64, threads: usize) -> usize {
    ((time / WORTH_A_THREAD) as usize).clamp(1, threads)
}

/// Returns the share of a launch's groups among the threads of a pool.
fn share_of_pool(code: &GroupCode, groups: &Groups, count: u64, pool: &Pool) -> JobShare {
    if pool.is_at_once() {
        return JobShare { threads: pool.threads(), grain: 1, is_ordered: false };
    }
    let [x, y, z] = groups.local();
    let share = match code.pace() {
        None => JobShare { threads: pool.threads(), grain: 1, is_ordered: false },
        Some(pace) => share_of(pace * (x * y * z) as f64, count, pool.threads()),
    };
    JobShare { threads: share.threads.min(usize::try_from(count).unwrap_or(usize::MAX)), ..share }
}

fn set_address(slots: &mut [u8], at: usize, address: *const u8) {
    slots[at..at + 8].copy_from_slice(&(address as usize).to_ne_bytes());
}

impl RunningLaunch {
    fn new(
        kernel: &PreparedKernel,
        code: &Arc<GroupCode>,
        args: &[LaunchArgument<'_>],
        (groups, local): (Groups, [u32; 3]),
        more_local: u64,
        class: &LaunchClass,
        work: &LaunchWork,
    ) -> Result<RunningLaunch, LaunchError> {
        let info = kernel.info();
        let (mut slots, mut locals, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut local_bytes = code.needs.local_bytes.saturating_add(more_local);
        for (index, (parameter, argument)) in info.parameters.iter().zip(args).enumerate() {
            let refuse =
                |reason: String| Err(LaunchError::Argument { kernel: info.name.clone(), index, reason });
            let at = slots.len();
            slots.resize(at + slot_bytes(parameter.ty), 0);
            match (*argument, parameter.space) {
                (LaunchArgument::Local(bytes), Some(Space::Local)) => {
                    local_bytes = local_bytes.next_multiple_of(LOCAL_ALIGN);
                    locals.push((at, local_bytes));
                    local_bytes = local_bytes.saturating_add(bytes);
                }
                (LaunchArgument::Local(_), _) => return refuse("not a pointer to local memory".into()),
                (_, Some(Space::Local)) => {
                    return refuse("a pointer to local memory needs a size in bytes".into());
                }
                (LaunchArgument::Bytes(bytes), Some(Space::Private)) => {
                    let copy = AlignedMemory::copy_of(bytes);
                    set_address(&mut slots, at, copy.start());
                    values.push(copy);
                }
                (
                    LaunchArgument::Pointer(address)
                    | LaunchArgument::Memory(address, _)
                    | LaunchArgument::Image(address, _),
                    Some(_),
                ) => set_address(&mut slots, at, address),
                (LaunchArgument::Sampler(bits), None) if parameter.bytes == 4 => {
                    slots[at..at + 4].copy_from_slice(&bits.to_ne_bytes());
                }
                (LaunchArgument::Sampler(_), _) => return refuse("not a sampler".into()),
                (LaunchArgument::Image(address, _), None) if parameter.bytes == 8 => {
                    set_address(&mut slots, at, address);
                }
                (
                    LaunchArgument::Pointer(_) | LaunchArgument::Memory(..) | LaunchArgument::Image(..),
                    None,
                ) => {
                    return refuse(format!("type {} is not a pointer", parameter.ty));
                }
                (LaunchArgument::Bytes(bytes), _) if bytes.len() == parameter.bytes as usize => {
                    slots[at..at + bytes.len()].copy_from_slice(bytes);
                }
                (LaunchArgument::Bytes(bytes), _) => {
                    return refuse(format!(
                        "type {} takes {} bytes, not {}",
                        parameter.ty,
                        parameter.bytes,
                        bytes.len()
                    ));
                }
            }
        }
        slots.resize(slots.len() + 3 * SLOT, 0);
        let Picked { code: picked, slices, ticket } = code.selection.pick(class, work);
        let first =
            |code: &Arc<GroupCode>, other: Option<Arc<GroupCode>>| other.unwrap_or_else(|| Arc::clone(code));
        let slices = slices.map(|(trial, candidate)| (trial, first(code, candidate)));
        let picked = first(code, picked);
        let scratch_of =
            |code: &Arc<GroupCode>| code.needs.brush_bytes.saturating_mul(code.options.brushes(local));
        let candidate = slices.as_ref().map(|(_, candidate)| candidate);
        let scratch_bytes = candidate.into_iter().chain([&picked]).map(scratch_of).max().unwrap_or(0);
        Ok(RunningLaunch {
            code: picked,
            slices,
            ticket,
            groups,
            slots,
            locals,
            _values: values,
            local_bytes,
            scratch_bytes,
            is_out_of_memory: AtomicBool::new(false),
            waited_apart: AtomicU64::new(u64::MAX),
            ending: Arc::new(LaunchEnding {
                number: new_launch(),
                has_failed: AtomicBool::new(false),
                fault: Mutex::default(),
            }),
        })
    }

    /// Returns why the launch failed, if it did, and times of slices.
    fn outcome(&self) -> (Option<LaunchFailure>, SliceTimes) {
        let slices = self.slices.as_ref().map(|(trial, _)| trial.take()).unwrap_or_default();
        if let Some((number, fault)) = self.ending.fault() {
            let group = if number == u64::MAX { [0; 3] } else { self.groups.index(number) };
            return (Some(LaunchFailure::Fault(group, fault)), slices);
        }
        let failure = match self.waited_apart.load(Ordering::Relaxed) {
            _ if self.is_out_of_memory.load(Ordering::Relaxed) => Some(LaunchFailure::Memory),
            u64::MAX => None,
            number => Some(LaunchFailure::DivergentBarrier(self.groups.index(number))),
        };
        (failure, slices)
    }

    /// Runs some groups.
    ///
    /// # Safety
    /// As for [`PreparedKernel::launch`].
    unsafe fn run(&self, numbers: Range<u64>) {
        // Whatever a kernel calls may launch another one.
        let mut worker = WORKER.take();
        let memory = (worker.local.bytes(self.local_bytes), worker.scratch.bytes(self.scratch_bytes));
        let (Some(local), Some(scratch)) = memory else {
            self.is_out_of_memory.store(true, Ordering::Relaxed);
            return;
        };
        let mut place = [0u64; GROUP_DESCRIPTOR_WORDS];
        self.groups.place_all(&mut place);
        let mut slots = self.slots.clone();
        for &(at, offset) in &self.locals {
            set_address(&mut slots, at, local.wrapping_add(offset as usize));
        }
        let own = self.slots.len() - 3 * SLOT;
        let thread = KernelThread::enter(self.ending.number);
        let mut has_faulted = false;
        set_address(&mut slots, own + SLOT, local);
        set_address(&mut slots, own + 2 * SLOT, scratch);
        let mut run = |code: &GroupCode, numbers: Range<u64>| {
            let mut index = self.groups.index(numbers.start);
            for number in numbers {
                if self.ending.has_failed.load(Ordering::Relaxed) {
                    return;
                }
                self.groups.place(&index, &mut place);
                self.groups.advance(&mut index);
                set_address(&mut slots, own, place.as_ptr().cast());
                // SAFETY: the slots hold the arguments, and memory of the size that the code asks for; the caller
                // promises the rest.
                let fault = unsafe { code.call(&thread, &slots) };
                if let Some(fault) = fault {
                    self.ending.fail(number, fault);
                    has_faulted = fault != KernelFault::Cancelled;
                    return;
                }
                if let Some(offset) = code.needs.status_offset {
                    // SAFETY: each group leaves its status there, in scratch memory that is this worker's.
                    let status = unsafe { scratch.wrapping_add(offset as usize).cast::<u32>().read() };
                    if status != 0 {
                        self.waited_apart.fetch_min(number, Ordering::Relaxed);
                    }
                }
            }
        };
        match &self.slices {
            None => run(&self.code, numbers),
            Some((trial, candidate)) => self.run_slices(trial, candidate, numbers, run),
        }
        drop(thread);
        if has_faulted {
            // Other groups may wait for this one.
            cancel(self.ending.number);
        }
        // Non-temporal stores are visible to the thread that waits for the launch.
        fence(Ordering::SeqCst);
        WORKER.set(worker);
    }

    /// Runs some groups by the code of the launch, but slices of them by a candidate, and times both.
    fn run_slices(
        &self,
        trial: &SliceTrial,
        candidate: &GroupCode,
        numbers: Range<u64>,
        mut run: impl FnMut(&GroupCode, Range<u64>),
    ) {
        let size = trial.groups();
        let items = self.groups.local().iter().product::<u64>() as f64;
        // The first quarter of a slice runs with what other code left in the caches; it does not count for the pace.
        let lead = size / 4;
        let mut next = numbers.start;
        for pair in numbers.start.div_ceil(2 * size)..numbers.end / (2 * size) {
            if !trial.is_sampled(pair) {
                continue;
            }
            let Some(order) = trial.begin(pair) else { continue };
            let first = pair * 2 * size;
            run(&self.code, next..first);
            let mut slice = |code: &GroupCode, first: u64| {
                let start = Instant::now();
                run(code, first..first + lead);
                let middle = Instant::now();
                run(code, first + lead..first + size);
                let pace = middle.elapsed().as_nanos() as f64 / ((size - lead) as f64 * items);
                (pace, start.elapsed().as_nanos() as f64)
            };
            let (incumbent, (pace, time)) = if order == 0 {
                (slice(&self.code, first).0, slice(candidate, first + size))
            } else {
                let tried = slice(candidate, first);
                (slice(&self.code, first + size).0, tried)
            };
            trial.end(SlicePair { paces: [incumbent, pace], time, items: size as f64 * items });
            next = first + 2 * size;
        }
        run(&self.code, next..numbers.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_soon_is_not_shared() {
        assert_eq!(share_of(100.0, 16, 8), JobShare { threads: 1, grain: 20, is_ordered: false });
        assert_eq!(share_of(100.0, 79, 8).threads, 1);
        assert_eq!(share_of(100.0, 80, 8).threads, 2);
        assert_eq!(share_of(100.0, 200, 8).threads, 5);
        assert_eq!(share_of(1e6, 1, 8), JobShare { threads: 8, grain: 1, is_ordered: false });
        assert_eq!(share_of(0.0, u64::MAX, 2).threads, 1);
        assert_eq!(share_of(f64::MAX, u64::MAX, 2), JobShare { threads: 2, grain: 1, is_ordered: false });
    }
}
