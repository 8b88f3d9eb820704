//! Checks that kernels lowered to group functions compute, group by group, the kernels' results; property of the topic
//! `kernels`. Group functions run in the interpreter at a random stage, and some natively. For one kernel in three that
//! does not observe its brush, one in ten of all, each work-item also runs alone, sharing only memory and barriers with
//! the others.

use crate::execution::{ObservedPart, RunObservation, difference, observe, options, prepare};
use crate::generate::{
    GeneratedProgram, GeneratorProfile, InputArgument, Owner, ProgramClass, ProgramInput, Random,
};
use heddle_compiler::Session;
use heddle_interp::{Datum, Memory, RunLimits, RunOptions, run};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Constant, Function, Module, Op, Scalar, Space};
use heddle_llvm::{
    CodegenLevel, EmitOptions, Jit, OptimizeOptions, SharedMapping, catch_fatal_errors, compile_host_object,
    emit, entry_name, internalize_except, optimize, slot_bytes,
};
use heddle_transform::kernels::{
    GROUP_DESCRIPTOR_WORDS, GroupDescriptorField, IndexRanges, KnownStrides, LOCAL_ALIGN, LaunchNumbers,
    LaunchPromises, stride_parameters,
};
use heddle_transform::widen::VersioningPolicy;
use heddle_transform::{
    AxisOrder, GroupExecution, GroupFunction, KernelOptions, WorkItemLayout, lower_kernels,
};
use smallvec::SmallVec;
use std::time::Duration;

/// Programs that are kernels.
pub fn profile() -> GeneratorProfile {
    let mut profile = GeneratorProfile::source();
    for (class, weight) in &mut profile.classes {
        *weight = u32::from(*class == ProgramClass::Kernel);
    }
    GeneratorProfile {
        horizontals: 30,
        lanes: 50,
        conditional_phases: 30,
        early_exits: 25,
        shared_params: true,
        views: 40,
        ..profile
    }
}

/// Execution engine of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// The group function on the oracle.
    Oracle,
    /// Compiled.
    Native,
}

/// Number of comparisons, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ComparisonCounts {
    /// Programs that are compared with the oracle, which all others are among.
    pub programs: u64,
    /// Inputs of those.
    pub inputs: u64,
    /// Programs some of whose work-items may exit before a barrier that others wait at.
    pub early_exits: u64,
    /// Programs of which each work-item runs by itself as well.
    pub apart: u64,
    /// Programs that run natively as well.
    pub natively: u64,
    /// Programs that are refused by name, and compared with nothing.
    pub refused: u64,
}

impl ComparisonCounts {
    /// Returns the comparisons to make for a program.
    pub fn of(case: &GeneratedProgram) -> ComparisonCounts {
        let inputs = case.inputs.iter().filter(|input| is_comparable(case, input)).count() as u64;
        if inputs > 0 && is_refused(case) {
            return ComparisonCounts { refused: 1, ..ComparisonCounts::default() };
        }
        let count = |is_one: bool| u64::from(inputs > 0 && is_one);
        ComparisonCounts {
            programs: count(true),
            inputs,
            early_exits: count(case.traits.early_exits),
            apart: count(runs_apart(case)),
            natively: count(runs_natively(case)),
            refused: 0,
        }
    }

    /// Counts what another one counts, too.
    pub fn merge(&mut self, other: &ComparisonCounts) {
        self.programs += other.programs;
        self.inputs += other.inputs;
        self.early_exits += other.early_exits;
        self.apart += other.apart;
        self.natively += other.natively;
        self.refused += other.refused;
    }
}

impl std::fmt::Display for ComparisonCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} programs compared with the oracle on {} inputs, {} of them with early exits, {} also with each work-item by itself, {} natively; {} refused",
            self.programs, self.inputs, self.early_exits, self.apart, self.natively, self.refused
        )
    }
}

/// Bytes of stack for what compiles.
const STACK: usize = 64 << 20;

fn runs_natively(case: &GeneratedProgram) -> bool {
    case.seed.is_multiple_of(16)
}

fn runs_apart(case: &GeneratedProgram) -> bool {
    case.seed.is_multiple_of(3) && !observes_brush(&case.module)
}

/// Start of the one refusal that generated kernels may meet.
const REFUSAL: &str = "each iteration of the loop has a private object";

/// True if lowering refuses a program. The layout of the work-items does not matter.
fn is_refused(case: &GeneratedProgram) -> bool {
    let options = KernelOptions {
        brush: SmallVec::from_slice(&[4]),
        layout: WorkItemLayout::Rows,
        axes: AxisOrder::WORK_ITEMS,
        is_small: false,
        versions: VersioningPolicy::None,
        execution: GroupExecution::Brushes,
        single_item_groups: false,
        promises: LaunchPromises::default(),
    };
    lower_kernels(&mut case.module.clone(), &options).is_err_and(|refusal| refusal.text.contains(REFUSAL))
}

/// True if a program has a single outcome on an input, and a launch for it exists.
fn is_comparable(case: &GeneratedProgram, input: &ProgramInput) -> bool {
    let is_shared = |arg: &InputArgument| matches!(arg, InputArgument::Object(_) | InputArgument::Uniform(_));
    input.group.is_some() && input.args.iter().all(is_shared) && !case.traits.order_dependent
}

/// Checks that group functions do what kernels do. One program in sixteen is compiled, too.
pub fn kernels_hold(case: &GeneratedProgram) -> Result<(), String> {
    kernels_hold_with(case, Machine::Oracle, |_| {})?;
    if runs_natively(case) { kernels_hold_with(case, Machine::Native, |_| {}) } else { Ok(()) }
}

/// As `kernels_hold`, with a change applied to the output of `lower_kernels`.
pub fn kernels_hold_with(
    case: &GeneratedProgram,
    machine: Machine,
    fault: fn(&mut Module),
) -> Result<(), String> {
    for (index, input) in case.inputs.iter().enumerate() {
        holds_on(case, input, machine, fault).map_err(|reason| format!("input {index}: {reason}"))?;
    }
    Ok(())
}

/// True if a program depends on the assignment of lanes to brushes.
fn observes_brush(module: &Module) -> bool {
    let is_one =
        |op: Op| matches!(op, Op::Lane | Op::Width) || op.info().effect == heddle_ir::ops::Effect::Horizontal;
    let functions = module.functions.iter();
    functions
        .flat_map(|func| {
            func.blocks().flat_map(|block| func.block_insts(block)).map(|inst| func.inst(inst).op)
        })
        .any(is_one)
}

/// Puts each work-item into its own group; `None` where work-items of a group share more than barriers.
fn in_single_groups(case: &GeneratedProgram, input: &ProgramInput) -> Option<ProgramInput> {
    let local = input.group?;
    let is_local = |constant: &Constant| matches!(constant, Constant::Address(Space::Local, _));
    let names_local = |func: &Function| {
        let args =
            func.blocks().flat_map(|block| func.block_insts(block)).flat_map(|inst| &func.inst(inst).args);
        args.filter_map(|&arg| func.constant(arg)).any(is_local)
    };
    let takes_local =
        |func: &Function| func.signature.params.iter().any(|it| it.ty.scalar() == Scalar::Ptr(Space::Local));
    if observes_brush(&case.module)
        || case.module.functions.iter().any(|it| takes_local(it) || names_local(it))
    {
        return None;
    }
    let groups = [0, 1, 2].map(|along| input.groups[along] * local[along]);
    // A launch has the dimensions of its brush.
    Some(ProgramInput { brush: vec![1; input.brush.len()], group: Some([1; 3]), groups, ..input.clone() })
}

/// Chooses a work-item layout: any, but the oracle's where the program observes it.
fn kernel_options(
    case: &GeneratedProgram,
    input: &ProgramInput,
    machine: Machine,
    random: &mut Random,
) -> KernelOptions {
    const BRUSHES: [&[u32]; 14] = [
        &[1],
        &[2],
        &[4],
        &[8],
        &[16],
        &[2, 2],
        &[4, 2],
        &[8, 2],
        &[2, 4],
        &[1, 8],
        &[4, 2, 2],
        &[2, 2, 2],
        &[3],
        &[3, 2],
    ];
    let count = if machine == Machine::Native { BRUSHES.len() - 2 } else { BRUSHES.len() };
    let is_small = random.chance(50);
    let mut brush = BRUSHES[random.below(count)];
    if observes_brush(&case.module) {
        brush = &input.brush;
    }
    let is_linear = if observes_brush(&case.module) { brush.len() == 1 } else { random.chance(40) };
    let fold = if is_linear { WorkItemLayout::Linear } else { WorkItemLayout::Rows };
    let brush = if is_linear { SmallVec::from_slice(&[brush.iter().product()]) } else { brush.into() };
    let versions = random.pick(&[
        VersioningPolicy::Model,
        VersioningPolicy::Force,
        VersioningPolicy::Force,
        VersioningPolicy::None,
    ]);
    let running = random.pick(&[GroupExecution::Brushes, GroupExecution::Mixed, GroupExecution::LaneRefill]);
    let axes = match is_linear || observes_brush(&case.module) {
        true => AxisOrder::WORK_ITEMS,
        false => random.pick(&AxisOrder::ALL),
    };
    KernelOptions {
        brush,
        layout: fold,
        axes,
        is_small,
        versions,
        execution: running,
        single_item_groups: false,
        // Each object has a parameter of its own.
        promises: LaunchPromises { distinct_pointers: random.chance(30), ..LaunchPromises::default() },
    }
}

/// Values of the arguments that are numbers.
fn numbers(input: &ProgramInput) -> Vec<Option<u64>> {
    let number = |arg: &InputArgument| match arg {
        InputArgument::Uniform(bits) => Some(*bits as u64),
        _ => None,
    };
    input.args.iter().map(number).collect()
}

/// Strides that a launch has.
fn known_strides(case: &GeneratedProgram, input: &ProgramInput) -> KnownStrides {
    let parameters = case.module.function(&case.entry).map(stride_parameters).unwrap_or_default();
    let numbers = numbers(input);
    KnownStrides::of_launch(&parameters, |number| numbers.get(number).copied().flatten())
}

/// True if a launch keeps the promises about the indices of its kernel.
fn has_bounded_indices(case: &GeneratedProgram, input: &ProgramInput) -> bool {
    let parameters = numbers(input);
    let local = input.group.unwrap_or([1; 3]).map(u64::from);
    let global = [0, 1, 2].map(|along| local[along] * u64::from(input.groups[along]));
    let launch = LaunchNumbers { global, offset: [0; 3], local, parameters: &parameters };
    let func = case.module.function(&case.entry);
    func.and_then(|func| Some(IndexRanges::of(func)?.hold(&launch))).unwrap_or(false)
}

fn holds_on(
    case: &GeneratedProgram,
    input: &ProgramInput,
    machine: Machine,
    fault: fn(&mut Module),
) -> Result<(), String> {
    let Some(local) = input.group else { return Ok(()) };
    if !is_comparable(case, input) {
        return Ok(());
    }
    let mut random = Random::new(case.seed ^ 0x6b);
    let mut kernel = kernel_options(case, input, machine, &mut random);
    let single = in_single_groups(case, input).filter(|_| random.chance(25));
    kernel.single_item_groups = single.is_some();
    let source = single.as_ref().unwrap_or(input);
    kernel.promises.bounded_indices = random.chance(50) && has_bounded_indices(case, source);
    if random.chance(50) {
        kernel.promises.strides = known_strides(case, source);
    }
    let mut module = case.module.clone();
    if random.chance(40)
        && !kernel.single_item_groups
        && let Some(func) = module.function_mut(&case.entry)
    {
        func.kind = heddle_ir::module::FunctionKind::Kernel(Some(local));
    }
    let mut roundings = vec![false];
    roundings.extend(case.traits.fmuladd.then_some(true));
    let made = match lower_kernels(&mut module, &kernel) {
        Err(refusal) if refusal.text.contains(REFUSAL) => return Ok(()),
        made => made.map_err(|refusal| refusal.to_string())?,
    };
    let Some(info) = made.into_iter().find(|it| it.name == case.entry) else {
        return Err("the kernel has no group function".into());
    };
    if info.synchronization_points > info.barriers {
        return Err("there are more synchronization points than barriers".into());
    }
    verify_module(&module, Stage::Source).map_err(|violations| format!("lowered:\n{violations}"))?;
    fault(&mut module);
    let extents: Vec<String> = kernel.brush.iter().map(u32::to_string).collect();
    let brush = format!("W={}", extents.join("x"));
    let is_wide = machine == Machine::Native || random.chance(60);
    let stores = random.pick(&["stores=cached", "stores=streamed"]);
    if is_wide {
        Session::default()
            .run_passes(&mut module, &["vectorize", &brush, stores], true, |_, _| {})
            .map_err(|error| error.to_string())?;
    }
    let mut reason = None;
    for fused in roundings {
        // Barriers no longer order work-items in separate groups.
        let options = RunOptions { fused, detect_races: kernel.single_item_groups, ..options(source) };
        let expected = match observe(case, &case.module, source, &options) {
            Ok(expected) if expected.race.is_some() && kernel.single_item_groups => return Ok(()),
            Ok(expected) => expected,
            // Group numbers exceed those that the program was generated for.
            Err(_) if kernel.single_item_groups => return Ok(()),
            Err(fault) => return Err(format!("source: {fault}")),
        };
        if runs_apart(case) {
            let options = RunOptions { brush: vec![1], ..options };
            let found = observe(case, &case.module, source, &options);
            let found = found.map_err(|fault| format!("each work-item by itself: {fault}"))?;
            if let Some(difference) = difference(case, &expected, &found, ObservedPart::Whole) {
                return Err(format!("each work-item by itself: {difference}"));
            }
        }
        let found = match machine {
            Machine::Oracle => on_oracle(case, &module, &info, input, &kernel, fused),
            Machine::Native => natively(case, &module, &info, input, &kernel, (&expected, fused)),
        };
        let found = found.map_err(|reason| format!("{kernel:?}, wide: {is_wide}: {reason}"))?;
        let difference = difference(case, &expected, &found, ObservedPart::Whole);
        let Some(difference) = difference else { return Ok(()) };
        reason = Some(format!("{kernel:?}, wide: {is_wide}: {difference}"));
    }
    reason.map_or(Ok(()), Err)
}

/// Returns the positions of all groups.
fn places(input: &ProgramInput, local: [u32; 3]) -> Vec<[u64; GROUP_DESCRIPTOR_WORDS]> {
    let mut all = Vec::new();
    let [width, height, depth] = input.groups;
    for number in 0..width * height * depth {
        let group = [number % width, number / width % height, number / width / height];
        let mut words = [0; GROUP_DESCRIPTOR_WORDS];
        let mut set = |field: GroupDescriptorField, word: u32| words[field.word()] = u64::from(word);
        for (along, at) in (0u8..).zip(0..3) {
            set(GroupDescriptorField::GroupId(along), group[at]);
            set(GroupDescriptorField::NumGroups(along), input.groups[at]);
            set(GroupDescriptorField::LocalSize(along), local[at]);
            set(GroupDescriptorField::EnqueuedSize(along), local[at]);
            set(GroupDescriptorField::FirstId(along), group[at] * local[at]);
            set(GroupDescriptorField::GlobalSize(along), input.groups[at] * local[at]);
        }
        set(GroupDescriptorField::WorkDim, input.brush.len() as u32);
        all.push(words);
    }
    all
}

/// The scratch memory of a group.
fn scratch_bytes(info: &GroupFunction, local: [u32; 3], kernel: &KernelOptions) -> usize {
    info.brush_bytes as usize * kernel.brushes(local) as usize
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn observed(memory: Memory) -> RunObservation {
    RunObservation {
        results: Vec::new(),
        memory,
        race: None,
        schedule: heddle_interp::Schedule::default(),
        counters: heddle_interp::RunCounters::default(),
    }
}

fn on_oracle(
    case: &GeneratedProgram,
    module: &Module,
    info: &GroupFunction,
    input: &ProgramInput,
    kernel: &KernelOptions,
    fused: bool,
) -> Result<RunObservation, String> {
    let local = input.group.unwrap_or([1; 3]);
    let (mut memory, mut args) = prepare(case, input);
    let place = memory.add(Space::Constant, Some("place"), 8, vec![0; 8 * GROUP_DESCRIPTOR_WORDS]);
    let lines =
        memory.add(Space::Local, Some("locals"), LOCAL_ALIGN as u32, vec![0; info.local_bytes as usize]);
    let scratch = vec![0; scratch_bytes(info, local, kernel)];
    let scratch = memory.add(Space::Global, Some("scratch"), LOCAL_ALIGN as u32, scratch);
    args.extend([place, lines, scratch].map(|it| heddle_interp::Argument::Uniform(Datum::Bits(it.into()))));
    let options = RunOptions {
        fused,
        limits: RunLimits { steps: 2_000_000, ..RunLimits::default() },
        ..RunOptions::lanes(1)
    };
    for words in places(input, local) {
        // A group finds poison in local and scratch memory.
        for object in memory
            .objects_mut()
            .filter(|it| it.space == Space::Local || it.name.as_deref() == Some("scratch"))
        {
            object.poison.fill(true);
        }
        if let Some(object) = memory.object_mut("place") {
            object.bytes.copy_from_slice(&bytes_of(&words));
        }
        run(module, &case.entry, &args, &mut memory, &options).map_err(|fault| fault.to_string())?;
    }
    Ok(observed(memory))
}

/// Runs it natively, rounding as it was done for what is expected; of that come the globals, which only the code sees.
fn natively(
    case: &GeneratedProgram,
    module: &Module,
    info: &GroupFunction,
    input: &ProgramInput,
    kernel: &KernelOptions,
    (expected, fused): (&RunObservation, bool),
) -> Result<RunObservation, String> {
    let say = |error: &dyn std::fmt::Display| error.to_string();
    let local = input.group.unwrap_or([1; 3]);
    let mut memory = expected.memory.clone();
    let emission = EmitOptions { canonical_nans: true, fused: Some(fused), exact_roots: true, entries: true };
    let level = if case.seed.is_multiple_of(64) { CodegenLevel::Default } else { CodegenLevel::Minimal };
    let (copy, entry) = (module.clone(), entry_name(&case.entry));
    // Where LLVM would end the process, that is a find like any other.
    let compile = move || {
        let llvm = emit(&copy, emission)?;
        internalize_except(&llvm, &[&entry]);
        if level == CodegenLevel::Default {
            optimize(&llvm, &heddle_llvm::Cpu::host(), OptimizeOptions::default())?;
        }
        compile_host_object(&llvm, level)
    };
    let object = catch_fatal_errors(STACK, compile).flatten().map_err(|error| say(&error))?;
    let jit = Jit::of_object(&object, &[]).map_err(|error| say(&error))?;
    let entry = jit.entry(&case.entry).map_err(|error| say(&error))?;
    let func = module.function(&case.entry).ok_or("the group function is gone")?;

    // Slots, then objects, far enough from each other.
    const GAP: usize = 4096;
    let mut end = func.signature.params.iter().map(|param| slot_bytes(param.ty)).sum::<usize>();
    let mut room = |bytes: usize| {
        let at = (end + GAP).next_multiple_of(128);
        end = at + bytes;
        at
    };
    let objects: Vec<usize> = input.contents.iter().map(|bytes| room(bytes.len())).collect();
    let place = room(8 * GROUP_DESCRIPTOR_WORDS);
    let locals = room(info.local_bytes as usize);
    let scratch = room(scratch_bytes(info, local, kernel));
    let mut shared = SharedMapping::new(end + GAP).map_err(|error| say(&error))?;
    let base = shared.address();
    for (&at, bytes) in objects.iter().zip(&input.contents) {
        shared.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }
    let further = [place, locals, scratch].map(|at| u128::from(base + at as u64));
    let own = input.args.iter().map(|arg| match arg {
        InputArgument::Object(index) => u128::from(base + objects[*index] as u64),
        InputArgument::Uniform(bits) => *bits,
        InputArgument::Linear(bits, _) => *bits,
        InputArgument::Varying(all) => all.first().copied().unwrap_or(0),
    });
    let mut at = 0;
    for (bits, param) in own.chain(further).zip(&func.signature.params) {
        let size = param.ty.bytes() as usize;
        shared.bytes_mut()[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
        at += slot_bytes(param.ty);
    }
    for words in places(input, local) {
        shared.bytes_mut()[place..place + 8 * GROUP_DESCRIPTOR_WORDS].copy_from_slice(&bytes_of(&words));
        entry
            .call_in_child(&mut shared, [0, 0], Some(Duration::from_secs(10)))
            .map_err(|error| say(&error))?;
    }
    for ((shape, &at), bytes) in case.objects.iter().zip(&objects).zip(&input.contents) {
        let found = shared.bytes()[at..at + bytes.len()].to_vec();
        match (memory.object_mut(&shape.name), shape.owner) {
            (Some(object), owner) if owner != Owner::Group => {
                object.bytes = found;
                object.poison.fill(false);
            }
            _ => {}
        }
    }
    Ok(observed(memory))
}
