//! Runs kernels of several dimensions by every choice of axes and tiles, on the oracle and natively, and compares them with work-items that
//! run one by one.

use crate::dimension_cases::{DimensionCase, INPUTS, dimension_case};
use crate::fuzz::quietly;
use crate::generate::Random;
use heddle_compiler::Session;
use heddle_interp::{Argument, Datum, LaunchGeometry, Memory, RunLimits, RunOptions, run};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Module, Space};
use heddle_llvm::{
    CodegenLevel, Cpu, EmitOptions, Jit, OptimizeOptions, SharedMapping, catch_fatal_errors,
    compile_host_object, emit, entry_name, internalize_except, optimize, slot_bytes,
};
use heddle_transform::GroupExecution;
use heddle_transform::kernels::{GROUP_DESCRIPTOR_WORDS, GroupDescriptorField, LOCAL_ALIGN};
use heddle_transform::widen::VersioningPolicy;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Layout of the work-items of a group in brushes, and the form of the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DimensionChoice {
    /// Work-item dimensions that the axes of a brush span.
    pub axes: [u8; 3],
    /// Lanes of a brush along each axis.
    pub brush: [u32; 3],
    /// True if lanes are in the linear order of the group.
    pub is_linear: bool,
    /// Size of all groups, if the code is for no other.
    pub fixed: Option<[u32; 3]>,
    /// Size of merged groups, if those of the source have one work-item each.
    pub merged: Option<[u32; 3]>,
    /// True if indices have 32 bits.
    pub is_small: bool,
    /// True if the pointers lead to different objects.
    pub distinct: bool,
    /// Policy for fast versions of regions.
    pub versions: VersioningPolicy,
    /// Execution strategy for the work-items.
    pub execution: GroupExecution,
    /// True if the code is widened.
    pub is_wide: bool,
}

impl DimensionChoice {
    /// Number of lanes.
    pub fn lanes(&self) -> u32 {
        self.brush.iter().product()
    }

    /// Lanes along each axis, without those of one lane at the end.
    pub fn extents(&self) -> &[u32] {
        let last = self.brush.iter().rposition(|&extent| extent > 1).unwrap_or(0);
        &self.brush[..=last]
    }

    /// Number of brushes of a group.
    fn brushes(&self, local: [u32; 3]) -> u32 {
        match self.is_linear {
            true => local.iter().product::<u32>().div_ceil(self.lanes()),
            false => {
                let of_axis = |axis: usize| local[usize::from(self.axes[axis])].div_ceil(self.brush[axis]);
                (0..3).map(of_axis).product()
            }
        }
    }
}

/// Memory that a group function takes: bytes of local memory, and of scratch memory for each brush.
pub type GroupMemory = [u64; 2];

/// Layout of groups: true if linear, axes, lanes along each axis, fixed size.
pub type ChosenLayout = (bool, [u8; 3], [u32; 3], Option<[u32; 3]>);

/// Rules of the lowering: those of the product, or of a woven copy.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it holds functions")]
pub struct DimensionRules {
    /// Lowers the kernel of a module.
    pub lower: fn(&mut Module, &DimensionChoice) -> Result<GroupMemory, String>,
    /// Chooses axes for a kernel.
    pub axes: fn(&Module) -> [u8; 3],
    /// Chooses the layout of groups with these axes and lanes.
    pub layout: fn(&DimensionCase, [u8; 3], u32) -> ChosenLayout,
}

/// Defines `RULES`, the [`DimensionRules`] of the product, or of a woven copy.
#[macro_export]
macro_rules! dimension_rules {
    ($($transform:ident)::+) => {
        /// Rules of this lowering.
        pub const RULES: $crate::dimension_runs::DimensionRules = {
            use heddle_ir::Module;
            use heddle_ir::module::FunctionKind;
            use $($transform)::+::kernels::{
                AxisOrder, GainsBySize, KernelOptions, LaunchPromises, LayoutRequest, WorkItemLayout, GroupExecution,
                group_layout, lower_kernels, vector_dimension,
            };
            use $($transform)::+::widen::VersioningPolicy;
            use $crate::dimension_cases::DimensionCase;
            use $crate::dimension_runs::{DimensionChoice, DimensionRules, GroupMemory};

            fn order(axes: [u8; 3]) -> AxisOrder {
                let is_one = |it: &AxisOrder| [0, 1, 2].map(|axis| it.dimension(axis)) == axes;
                AxisOrder::ALL.into_iter().find(is_one).unwrap_or_default()
            }
            fn lower(module: &mut Module, choice: &DimensionChoice) -> Result<GroupMemory, String> {
                if let Some(func) = module.function_mut("k") {
                    func.kind = FunctionKind::Kernel(choice.fixed);
                }
                type Versions = heddle_transform::widen::VersioningPolicy;
                let versions = match choice.versions {
                    Versions::Force => VersioningPolicy::Force,
                    Versions::None => VersioningPolicy::None,
                    _ => VersioningPolicy::Model,
                };
                type Execution = heddle_transform::GroupExecution;
                let execution = match choice.execution {
                    Execution::Brushes => GroupExecution::Brushes,
                    Execution::Mixed => GroupExecution::Mixed,
                    Execution::LaneRefill => GroupExecution::LaneRefill,
                };
                let options = KernelOptions {
                    layout: if choice.is_linear { WorkItemLayout::Linear } else { WorkItemLayout::Rows },
                    axes: order(choice.axes),
                    is_small: choice.is_small,
                    versions,
                    execution,
                    single_item_groups: choice.merged.is_some(),
                    promises: LaunchPromises { distinct_pointers: choice.distinct, ..LaunchPromises::default() },
                    ..KernelOptions::rows(choice.extents().iter().copied().collect())
                };
                let made = lower_kernels(module, &options).map_err(|refusal| refusal.to_string())?;
                let made = made.first().ok_or("no group function")?;
                Ok([made.local_bytes, made.brush_bytes])
            }
            fn axes(module: &Module) -> [u8; 3] {
                let chosen = vector_dimension(module, "k").axes;
                [0, 1, 2].map(|axis| chosen.dimension(axis))
            }
            fn layout(
                case: &DimensionCase,
                axes: [u8; 3],
                lanes: u32,
            ) -> (bool, [u8; 3], [u32; 3], Option<[u32; 3]>) {
                let request = LayoutRequest {
                    local: case.local,
                    axes: order(axes),
                    lanes,
                    observes_brush: case.observed.is_some(),
                    is_uniform: case.is_uniform(),
                    gains_by_size: GainsBySize::ForSeveralRows,
                };
                let chosen = group_layout(&request);
                let axes = [0, 1, 2].map(|axis| chosen.axes.dimension(axis));
                (chosen.layout == WorkItemLayout::Linear, axes, chosen.brush, chosen.local)
            }
            DimensionRules { lower, axes, layout }
        };
    };
}

/// The lowering of the product.
pub mod product {
    crate::dimension_rules!(heddle_transform);
}

/// Tiles that any kernel is run in, with lanes along each axis.
const TILES: [[u32; 3]; 8] =
    [[16, 1, 1], [8, 1, 1], [4, 4, 1], [8, 2, 1], [2, 8, 1], [1, 8, 1], [2, 2, 2], [1, 2, 4]];
/// Orders of axes, by their innermost dimension.
const ORDERS: [[[u8; 3]; 2]; 3] = [[[0, 1, 2], [0, 2, 1]], [[1, 0, 2], [1, 2, 0]], [[2, 1, 0], [2, 0, 1]]];
/// Sizes of groups that groups of one work-item are merged to.
const MERGED: [[u32; 3]; 4] = [[3, 2, 1], [8, 1, 1], [1, 4, 2], [2, 5, 3]];
const WORK_ITEMS: [u8; 3] = [0, 1, 2];

/// Chooses the form of the code.
fn with_form(random: &mut Random, case: &DimensionCase, choice: DimensionChoice) -> DimensionChoice {
    let fixed = choice.fixed.or((case.is_uniform() && random.chance(30)).then_some(case.local));
    let versions = [VersioningPolicy::Model, VersioningPolicy::Force, VersioningPolicy::None];
    let executions = [
        (GroupExecution::Brushes, 80),
        (GroupExecution::Mixed, 10),
        (GroupExecution::LaneRefill, if case.observed.is_some() { 0 } else { 10 }),
    ];
    let execution =
        if case.observed.is_some() { GroupExecution::Brushes } else { random.weighted(&executions) };
    DimensionChoice {
        fixed: fixed.filter(|_| choice.merged.is_none()),
        is_small: random.chance(50),
        distinct: !case.is_aliased && random.chance(30),
        versions: random.pick(&versions),
        execution,
        is_wide: random.chance(25),
        ..choice
    }
}

/// The choices for a kernel: all that kernels may have, and those that the rules make for it.
pub fn choices(case: &DimensionCase, rules: DimensionRules) -> Vec<DimensionChoice> {
    let mut random = Random::new(case.seed ^ 0x64);
    let plain = DimensionChoice {
        axes: WORK_ITEMS,
        brush: [1; 3],
        is_linear: false,
        fixed: None,
        merged: None,
        is_small: true,
        distinct: false,
        versions: VersioningPolicy::None,
        execution: GroupExecution::Brushes,
        is_wide: true,
    };
    let mut all: Vec<DimensionChoice> = Vec::new();
    let chosen = (rules.axes)(&case.module);
    let by_rules = |axes: [u8; 3], lanes: u32| {
        let (is_linear, axes, brush, fixed) = (rules.layout)(case, axes, lanes);
        DimensionChoice { axes, brush, is_linear, fixed, ..plain.clone() }
    };
    if let Some(lanes) = case.observed {
        all.push(DimensionChoice { is_linear: true, brush: [lanes, 1, 1], ..plain.clone() });
        // An order that the kernel does not permit shows as well as a layout.
        all.push(DimensionChoice { axes: chosen, is_linear: chosen == WORK_ITEMS, ..all[0].clone() });
        all.extend([[1, 0, 2], WORK_ITEMS].map(|axes| by_rules(axes, lanes)));
    } else {
        for orders in ORDERS {
            for brush in TILES {
                all.push(DimensionChoice { axes: random.pick(&orders), brush, ..plain.clone() });
            }
            all.push(by_rules(random.pick(&orders), random.pick(&[4, 8, 16, 32])));
        }
        all.push(by_rules(chosen, 16));
        all.push(DimensionChoice { is_linear: true, brush: [8, 1, 1], ..plain.clone() });
        all.push(plain.clone());
        if case.local == [1; 3] && !case.has_local {
            for choice in all.iter_mut().filter(|choice| !choice.is_linear) {
                choice.merged = Some(random.pick(&MERGED));
            }
        }
    }
    all.into_iter().map(|choice| with_form(&mut random, case, choice)).collect()
}

/// The input.
fn inputs() -> Vec<u8> {
    let mut random = Random::new(7);
    (0..INPUTS).flat_map(|_| (random.bits() as u32).to_le_bytes()).collect()
}

/// The output before a launch.
fn output(case: &DimensionCase) -> Vec<u8> {
    (0..2 * case.items()).flat_map(|at| (at * 0x0101).to_le_bytes()).collect()
}

/// Memory of a launch, and the arguments of the kernel.
fn prepare(case: &DimensionCase) -> (Memory, Vec<Argument>) {
    let mut memory = Memory::new();
    let out = memory.add(Space::Global, Some("out"), 64, output(case));
    let from = match case.is_aliased {
        true => out,
        false => memory.add(Space::Global, Some("in"), 64, inputs()),
    };
    let [first, second] = case.numbers.map(u64::from);
    let args = [out, from, first, second];
    (memory, args.map(|bits| Argument::Uniform(Datum::Bits(bits.into()))).to_vec())
}

/// The output after a launch; the error for a byte that is poison.
fn result(memory: &Memory) -> Result<Vec<u8>, String> {
    let out = memory.object("out").ok_or("the output is gone")?;
    match out.poison.iter().position(|&is_poison| is_poison) {
        Some(at) => Err(format!("byte {at} is poison")),
        None => Ok(out.bytes.clone()),
    }
}

/// Runs the kernel's work-items one by one, or in brushes if the kernel observes them.
fn expected(case: &DimensionCase) -> Result<Vec<u8>, String> {
    let (mut memory, args) = prepare(case);
    let options = RunOptions {
        brush: vec![case.observed.unwrap_or(1)],
        geometry: Some(LaunchGeometry {
            dims: case.dimensions,
            local: case.local,
            groups: case.groups,
            offset: case.offset,
        }),
        last_groups: Some(case.last),
        detect_races: true,
        limits: RunLimits { steps: 4_000_000, ..RunLimits::default() },
        ..RunOptions::default()
    };
    let outcome = run(&case.module, "k", &args, &mut memory, &options).map_err(|fault| fault.to_string())?;
    match outcome.race {
        Some(race) => Err(format!("written to be race-free, but {race}")),
        None => result(&memory),
    }
}

/// Descriptors of the groups of a launch.
fn descriptors(case: &DimensionCase, choice: &DimensionChoice) -> Vec<[u64; GROUP_DESCRIPTOR_WORDS]> {
    let global = case.global();
    let local = choice.merged.unwrap_or(case.local);
    let groups = [0, 1, 2].map(|along| global[along].div_ceil(local[along]));
    let [width, height, depth] = groups;
    let descriptor = |number: u32| {
        let group = [number % width, number / width % height, number / width / height];
        let mut words = [0; GROUP_DESCRIPTOR_WORDS];
        let mut set = |field: GroupDescriptorField, word: u64| words[field.word()] = word;
        for (along, at) in (0u8..).zip(0..3) {
            let first = group[at] * local[at];
            set(GroupDescriptorField::GroupId(along), group[at].into());
            set(GroupDescriptorField::NumGroups(along), groups[at].into());
            set(GroupDescriptorField::LocalSize(along), local[at].min(global[at] - first).into());
            set(GroupDescriptorField::EnqueuedSize(along), local[at].into());
            set(GroupDescriptorField::FirstId(along), case.offset[at] + u64::from(first));
            set(GroupDescriptorField::GlobalSize(along), global[at].into());
            set(GroupDescriptorField::GlobalOffset(along), case.offset[at]);
        }
        set(GroupDescriptorField::WorkDim, case.dimensions.into());
        words
    };
    (0..width * height * depth).map(descriptor).collect()
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Code of a kernel for a choice.
struct ChosenCode {
    module: Module,
    local_bytes: usize,
    scratch_bytes: usize,
}

/// Lowers a kernel, and widens the code if the choice or the machine wants it.
fn code(
    case: &DimensionCase,
    choice: &DimensionChoice,
    rules: DimensionRules,
    is_native: bool,
) -> Result<ChosenCode, String> {
    let mut module = case.module.clone();
    let [local_bytes, brush_bytes] = (rules.lower)(&mut module, choice)?;
    verify_module(&module, Stage::Source).map_err(|violations| format!("lowered:\n{violations}"))?;
    if is_native || choice.is_wide {
        let extents: Vec<String> = choice.extents().iter().map(u32::to_string).collect();
        let brush = format!("W={}", extents.join("x"));
        Session::default()
            .run_passes(&mut module, &["vectorize", &brush], false, |_, _| {})
            .map_err(|diagnostic| diagnostic.to_string())?;
    }
    let brushes = choice.brushes(choice.merged.unwrap_or(case.local));
    let scratch_bytes = brush_bytes as usize * brushes as usize;
    Ok(ChosenCode { module, local_bytes: local_bytes as usize, scratch_bytes })
}

fn on_oracle(case: &DimensionCase, choice: &DimensionChoice, code: &ChosenCode) -> Result<Vec<u8>, String> {
    let (mut memory, mut args) = prepare(case);
    let align = LOCAL_ALIGN as u32;
    let place = memory.add(Space::Constant, Some("place"), 8, vec![0; 8 * GROUP_DESCRIPTOR_WORDS]);
    let locals = memory.add(Space::Local, Some("locals"), align, vec![0; code.local_bytes]);
    let scratch = memory.add(Space::Global, Some("scratch"), align, vec![0; code.scratch_bytes]);
    args.extend([place, locals, scratch].map(|it| Argument::Uniform(Datum::Bits(it.into()))));
    let limits = RunLimits { steps: 4_000_000, ..RunLimits::default() };
    let options = RunOptions { limits, ..RunOptions::lanes(1) };
    for words in descriptors(case, choice) {
        // A group finds poison in local and scratch memory.
        let is_own = |space: Space, name: Option<&str>| space == Space::Local || name == Some("scratch");
        for object in memory.objects_mut().filter(|it| is_own(it.space, it.name.as_deref())) {
            object.poison.fill(true);
        }
        if let Some(object) = memory.object_mut("place") {
            object.bytes.copy_from_slice(&bytes_of(&words));
        }
        run(&code.module, "k", &args, &mut memory, &options).map_err(|fault| fault.to_string())?;
    }
    result(&memory)
}

/// Bytes of stack for what compiles.
const STACK: usize = 64 << 20;

fn natively(case: &DimensionCase, choice: &DimensionChoice, code: &ChosenCode) -> Result<Vec<u8>, String> {
    let say = |error: &dyn std::fmt::Display| error.to_string();
    let emission = EmitOptions { canonical_nans: true, fused: Some(false), exact_roots: true, entries: true };
    let (copy, entry) = (code.module.clone(), entry_name("k"));
    let is_optimized = case.seed.is_multiple_of(32) || case.is_aliased;
    let compile = move || {
        let llvm = emit(&copy, emission)?;
        internalize_except(&llvm, &[&entry]);
        if is_optimized {
            optimize(&llvm, &Cpu::host(), OptimizeOptions::default())?;
            return compile_host_object(&llvm, CodegenLevel::Default);
        }
        compile_host_object(&llvm, CodegenLevel::Minimal)
    };
    // Where LLVM would end the process, that is a find like any other.
    let object = catch_fatal_errors(STACK, compile).flatten().map_err(|error| say(&error))?;
    let jit = Jit::of_object(&object, &[]).map_err(|error| say(&error))?;
    let entry = jit.entry("k").map_err(|error| say(&error))?;
    let func = code.module.function("k").ok_or("the group function is gone")?;

    // Slots, then objects, far enough from each other.
    const GAP: usize = 4096;
    let mut end = func.signature.params.iter().map(|param| slot_bytes(param.ty)).sum::<usize>();
    let mut room = |bytes: usize| {
        let at = (end + GAP).next_multiple_of(128);
        end = at + bytes;
        at
    };
    let (out_bytes, in_bytes) = (output(case), inputs());
    let out = room(out_bytes.len());
    let from = if case.is_aliased { out } else { room(in_bytes.len()) };
    let [place, locals, scratch] =
        [8 * GROUP_DESCRIPTOR_WORDS, code.local_bytes, code.scratch_bytes].map(&mut room);
    let mut shared = SharedMapping::new(end + GAP).map_err(|error| say(&error))?;
    let base = shared.address();
    if !case.is_aliased {
        shared.bytes_mut()[from..from + in_bytes.len()].copy_from_slice(&in_bytes);
    }
    shared.bytes_mut()[out..out + out_bytes.len()].copy_from_slice(&out_bytes);
    let [out_at, from_at, place_at, locals_at, scratch_at] =
        [out, from, place, locals, scratch].map(|at| base + at as u64);
    let [first, second] = case.numbers.map(u64::from);
    let values = [out_at, from_at, first, second, place_at, locals_at, scratch_at];
    let mut at = 0;
    for (bits, param) in values.into_iter().zip(&func.signature.params) {
        let size = param.ty.bytes() as usize;
        shared.bytes_mut()[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
        at += slot_bytes(param.ty);
    }
    for words in descriptors(case, choice) {
        shared.bytes_mut()[place..place + 8 * GROUP_DESCRIPTOR_WORDS].copy_from_slice(&bytes_of(&words));
        entry
            .call_in_child(&mut shared, [0, 0], Some(Duration::from_secs(20)))
            .map_err(|error| say(&error))?;
    }
    Ok(shared.bytes()[out..out + out_bytes.len()].to_vec())
}

/// Counts of a run over generated kernels.
#[derive(Clone, Default, Debug)]
pub struct DimensionCounts {
    /// Kernels.
    pub kernels: u64,
    /// Kernels that ran natively, too.
    pub natively: u64,
    /// Comparisons on the oracle, and natively.
    pub compared: [u64; 2],
    /// Comparisons by the innermost axis' dimension.
    pub dimensions: [u64; 3],
    /// Comparisons by the lanes of the brush.
    pub brushes: BTreeMap<String, u64>,
    /// Comparisons of merged groups of one work-item.
    pub merged: u64,
    /// Kernels whose last groups are smaller.
    pub uneven: u64,
    /// Kernels with each feature, in order of their names.
    pub features: BTreeMap<&'static str, u64>,
    /// Seeds of kernels that did something else, with the difference and the kernel.
    pub finds: Vec<(u64, String)>,
}

impl DimensionCounts {
    /// Counts what another one counts, too.
    pub fn merge(&mut self, other: DimensionCounts) {
        self.kernels += other.kernels;
        self.natively += other.natively;
        self.merged += other.merged;
        self.uneven += other.uneven;
        (0..2).for_each(|at| self.compared[at] += other.compared[at]);
        (0..3).for_each(|at| self.dimensions[at] += other.dimensions[at]);
        other.brushes.into_iter().for_each(|(brush, count)| *self.brushes.entry(brush).or_default() += count);
        other.features.into_iter().for_each(|(name, count)| *self.features.entry(name).or_default() += count);
        self.finds.extend(other.finds);
    }

    fn note(&mut self, choice: &DimensionChoice, is_native: bool) {
        self.compared[usize::from(is_native)] += 1;
        self.dimensions[usize::from(choice.axes[0])] += 1;
        self.merged += u64::from(choice.merged.is_some());
        let extents: Vec<String> = choice.extents().iter().map(u32::to_string).collect();
        let order = if choice.is_linear { " linear" } else { "" };
        *self.brushes.entry(extents.join("x") + order).or_default() += 1;
    }
}

/// Checks that a kernel does in all choices what its work-items do one by one.
pub fn holds_in_all_choices(
    case: &DimensionCase,
    rules: DimensionRules,
    is_native: bool,
    counts: &mut DimensionCounts,
) -> Result<(), String> {
    let expected = expected(case).map_err(|reason| format!("source: {reason}"))?;
    counts.kernels += 1;
    counts.natively += u64::from(is_native);
    counts.uneven += u64::from(!case.is_uniform());
    case.features.iter().for_each(|&name| *counts.features.entry(name).or_default() += 1);
    for choice in choices(case, rules) {
        holds_in(case, &choice, rules, &expected, false)?;
        counts.note(&choice, false);
        if is_native {
            holds_in(case, &choice, rules, &expected, true)?;
            counts.note(&choice, true);
        }
    }
    Ok(())
}

/// Checks that a kernel does in a choice, whether it is permitted or not, what its work-items do one by one.
pub fn holds_in_choice(
    case: &DimensionCase,
    choice: &DimensionChoice,
    rules: DimensionRules,
    is_native: bool,
) -> Result<(), String> {
    let expected = expected(case).map_err(|reason| format!("source: {reason}"))?;
    holds_in(case, choice, rules, &expected, is_native)
}

fn holds_in(
    case: &DimensionCase,
    choice: &DimensionChoice,
    rules: DimensionRules,
    expected: &[u8],
    is_native: bool,
) -> Result<(), String> {
    let found = code(case, choice, rules, is_native).and_then(|code| match is_native {
        true => natively(case, choice, &code),
        false => on_oracle(case, choice, &code),
    });
    let machine = if is_native { "natively" } else { "on the oracle" };
    let found = found.map_err(|reason| format!("{machine}, {choice:?}: {reason}"))?;
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(at) => Err(format!("{machine}, {choice:?}: word {} differs", at / 4)),
    }
}

/// Number of kernels that a thread takes at once.
const BATCH: u64 = 16;

/// Checks kernels from a seed on, until the time or the number of kernels is over; one in `natively` runs natively, too.
pub fn check_dimensions(
    seed: u64,
    count: Option<u64>,
    time: Duration,
    jobs: usize,
    natively: u64,
) -> DimensionCounts {
    let start = Instant::now();
    let next = AtomicU64::new(seed);
    let end = count.map_or(u64::MAX, |count| seed.saturating_add(count));
    let all: Mutex<DimensionCounts> = Mutex::default();
    let work = || {
        let mut counts = DimensionCounts::default();
        while start.elapsed() < time {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= end {
                break;
            }
            for seed in first..(first + BATCH).min(end) {
                let case = dimension_case(seed);
                let is_native = seed.is_multiple_of(natively.max(1));
                let held = quietly(|| holds_in_all_choices(&case, product::RULES, is_native, &mut counts));
                if let Err(reason) = held.unwrap_or_else(Err) {
                    counts.finds.push((seed, format!("{reason}\n{}", case.text)));
                }
            }
        }
        all.lock().expect("no thread panics").merge(counts);
    };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    let mut counts = all.into_inner().expect("no thread panics");
    counts.finds.sort();
    counts
}

impl std::fmt::Display for DimensionCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [oracle, native] = self.compared;
        let [x, y, z] = self.dimensions;
        writeln!(
            f,
            "{} kernels, {} with smaller last groups, {} natively; {oracle} choices on the oracle, {native} natively",
            self.kernels, self.uneven, self.natively
        )?;
        writeln!(f, "  lanes along dimension 0: {x}, 1: {y}, 2: {z}; merged groups: {}", self.merged)?;
        let counted = |(name, count): (&String, &u64)| format!("{name} {count}");
        writeln!(f, "  brushes: {}", self.brushes.iter().map(counted).collect::<Vec<_>>().join(", "))?;
        let share = |(name, count): (&&str, &u64)| format!("{name} {}%", count * 100 / self.kernels.max(1));
        write!(f, "  {}", self.features.iter().map(share).collect::<Vec<_>>().join(", "))
    }
}
