//! Entry point of the interpreter: arguments, options, outcome.

use crate::brush::{Brush, RunContext, StopReason};
use crate::fault::{ExecutionFault, FaultKind};
use crate::lanes::{LaneMask, LaneSet, WORD};
use crate::limits::{Budget, RunLimits};
use crate::memory::{Memory, MemoryObject};
use crate::profile::RunProfile;
use crate::program::{PreparedModule, elements_of};
use crate::race::{Race, RaceDetector};
use crate::schedule::{Rng, Schedule, ScheduleRecorder, Scheduler};
use crate::trace::Trace;
use heddle_ir::module::{DeclaredShape, GlobalInit, Param};
use heddle_ir::types::{MAX_DIMENSIONS, MAX_LANES};
use heddle_ir::{Module, Space, Type};
use rustc_hash::FxHashMap;

/// Element of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Datum {
    /// Poison.
    Poison,
    /// Bits, zero above the type's width.
    Bits(u128),
}

impl Datum {
    /// Returns the bits, or none for poison.
    pub fn bits(self) -> Option<u128> {
        match self {
            Datum::Poison => None,
            Datum::Bits(bits) => Some(bits),
        }
    }
}

impl From<Option<u128>> for Datum {
    fn from(bits: Option<u128>) -> Datum {
        bits.map_or(Datum::Poison, Datum::Bits)
    }
}

/// Value of a parameter in all lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// One value for all lanes.
    Uniform(Datum),
    /// `base` plus a stride for each step along each brush dimension.
    Linear {
        /// Value of lane 0.
        base: u128,
        /// Strides.
        strides: Vec<i64>,
    },
    /// One value for each lane.
    Varying(Vec<Datum>),
    /// One vector for all lanes, by its elements.
    Vector(Vec<Datum>),
}

/// Semantics of a variable in lanes that do not execute its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PassiveSemantics {
    /// Keeps its value.
    #[default]
    Freezing,
    /// Becomes poison.
    Oblivious,
}

/// Launch geometry that work-items observe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchGeometry {
    /// Number of dimensions, 1 to 3.
    pub dims: u32,
    /// Size of a work-group along each dimension.
    pub local: [u32; 3],
    /// Number of work-groups along each dimension.
    pub groups: [u32; 3],
    /// Minimum global index along each dimension.
    pub offset: [u64; 3],
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Lanes along each dimension of the brush.
    pub brush: Vec<u32>,
    /// Semantics of variables in passive lanes.
    pub semantics: PassiveSemantics,
    /// Choice of the next block.
    pub scheduler: Scheduler,
    /// Resource limits.
    pub limits: RunLimits,
    /// Enables the race detector.
    pub detect_races: bool,
    /// Records every step.
    pub trace: bool,
    /// Records a divergence profile.
    pub profile: bool,
    /// Runs only this lane of each brush; the others never start.
    pub only_lane: Option<u32>,
    /// Launches a kernel over work-groups; none runs a single brush as its own group.
    pub geometry: Option<LaunchGeometry>,
    /// Size of the last group along each dimension; none if all groups of the launch have one size.
    pub last_groups: Option<[u32; 3]>,
    /// Runs wide code: one thread for each brush of these dimensions, at the position of the brush's first lane.
    pub stands_for: Option<Vec<u32>>,
    /// Rounds `fmuladd` once.
    pub fused: bool,
    /// Lanes that take part; the others never start.
    pub entry_mask: LaneSet,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            brush: vec![1],
            semantics: PassiveSemantics::Freezing,
            scheduler: Scheduler::Greedy,
            limits: RunLimits::default(),
            detect_races: false,
            trace: false,
            profile: false,
            only_lane: None,
            geometry: None,
            last_groups: None,
            stands_for: None,
            fused: false,
            entry_mask: LaneSet::EVERY,
        }
    }
}

impl RunOptions {
    /// Returns the defaults for a one-dimensional brush of this many lanes.
    pub fn lanes(lanes: u32) -> RunOptions {
        RunOptions { brush: vec![lanes], ..RunOptions::default() }
    }

    /// Returns the number of lanes.
    pub fn width(&self) -> u32 {
        self.brush.iter().fold(1, |lanes, &dim| lanes.saturating_mul(dim))
    }
}

/// Counters of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RunCounters {
    /// Blocks executed.
    pub steps: u64,
    /// Blocks executed without active lanes.
    pub empty_steps: u64,
    /// Branches executed whose active lanes diverge.
    pub divergent_branches: u64,
    /// Branches executed whose active lanes stay together.
    pub uniform_branches: u64,
    /// Instructions executed, times active lanes.
    pub lane_operations: u64,
    /// Barriers passed by a group.
    pub barriers: u64,
}

/// Outcome of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Elements of each result, lane by lane. Empty for kernels.
    pub results: Vec<Vec<Datum>>,
    /// First race, if the detector found one.
    pub race: Option<Race>,
    /// Counters.
    pub counters: RunCounters,
    /// Executed blocks.
    pub schedule: Schedule,
    /// Every step in detail, if requested.
    pub trace: Trace,
    /// Divergence profile, if requested.
    pub profile: Option<RunProfile>,
}

/// Position of the lanes of a brush in the launch.
#[derive(Clone, Debug)]
pub(crate) struct BrushPosition {
    pub(crate) geometry: LaunchGeometry,
    pub(crate) group: [u32; 3],
    /// Size of this group.
    pub(crate) size: [u32; 3],
    /// Size of the launch.
    pub(crate) global: [u64; 3],
    pub(crate) group_number: u32,
    /// Local index of each lane; none for a lane outside of the group.
    pub(crate) local: Vec<Option<[u32; 3]>>,
}

impl BrushPosition {
    pub(crate) fn group_size(geometry: &LaunchGeometry) -> u32 {
        geometry.local.iter().fold(1, |size, &dim| size.saturating_mul(dim))
    }

    /// Returns the linear number of a lane's work-item in the launch.
    pub(crate) fn item(&self, lane: usize) -> u32 {
        let [x, y, z] = self.local[lane].unwrap_or_default();
        let [size_x, size_y, _] = self.geometry.local;
        let local = x + size_x * (y + size_y * z);
        self.group_number.wrapping_mul(BrushPosition::group_size(&self.geometry)).wrapping_add(local)
    }
}

/// Runs a function of a module over a memory. Adds those of the module's globals that the memory lacks.
pub fn run(
    module: &Module,
    func: &str,
    args: &[Argument],
    memory: &mut Memory,
    options: &RunOptions,
) -> Result<RunOutcome, ExecutionFault> {
    let arguments = |reason: String| ExecutionFault::new(FaultKind::Arguments(reason), func);
    if [Some(&options.brush), options.stands_for.as_ref()]
        .into_iter()
        .flatten()
        .any(|b| !(1..=MAX_DIMENSIONS).contains(&b.len()))
    {
        return Err(arguments(format!("a brush has 1 to {MAX_DIMENSIONS} dimensions")));
    }
    if options.stands_for.as_ref().is_some_and(|dims| options.width() != 1 || dims.contains(&0)) {
        return Err(arguments("wide code is run by one lane, which stands for one or more".into()));
    }
    if !(1..=MAX_LANES).contains(&options.width()) {
        return Err(arguments(format!("a brush has 1 to {MAX_LANES} lanes")));
    }
    if options.scheduler == Scheduler::Ipdom && options.semantics == PassiveSemantics::Oblivious {
        let reason =
            "a reconvergence stack may run a block twice for lanes that were there: it needs FREEZING";
        return Err(arguments(reason.into()));
    }
    let mut budget = Budget::new(options.limits);
    let address_of =
        add_globals(module, memory, &mut budget).map_err(|kind| ExecutionFault::new(kind, func))?;
    let program = PreparedModule::new(module, &address_of);
    let Some(entry) = program.find(func) else {
        let defined = module.functions.iter().map(|func| format!("@{}", func.name)).collect::<Vec<_>>();
        return Err(arguments(format!("there is no such function; there are {}", defined.join(", "))));
    };
    let params = &program.functions[entry].func.signature.params;
    if params.len() != args.len() {
        return Err(arguments(format!("it takes {} arguments, not {}", params.len(), args.len())));
    }
    let mut lanes_of_args = Vec::new();
    for (index, (param, arg)) in params.iter().zip(args).enumerate() {
        let lanes = expand_argument(param, arg, options)
            .map_err(|reason| arguments(format!("argument {}: {reason}", index + 1)))?;
        lanes_of_args.push(lanes);
    }
    let profile = match options.profile {
        true => {
            let functions = program.functions.iter().map(|code| code.func);
            let made = RunProfile::new(functions, options.width() as usize, &mut budget);
            Some(made.map_err(|kind| ExecutionFault::new(kind, func))?)
        }
        false => None,
    };
    let mut cx = RunContext {
        profile,
        memory,
        detector: options.detect_races.then(RaceDetector::default),
        race: None,
        options,
        budget,
        counters: RunCounters::default(),
        recorder: ScheduleRecorder::new(&options.scheduler),
        trace: Trace::default(),
        rng: Rng::new(options.scheduler.seed()),
        epoch: 0,
        empty_streak: 0,
        nesting: 0,
    };
    let results = match program.max_launch_lanes.max(options.width() as usize) {
        ..=WORD => run_groups::<u128>(&program, entry, &lanes_of_args, &mut cx)?,
        _ => run_groups::<LaneSet>(&program, entry, &lanes_of_args, &mut cx)?,
    };
    Ok(RunOutcome {
        results,
        race: cx.race,
        counters: cx.counters,
        schedule: cx.recorder.into_schedule(),
        trace: cx.trace,
        profile: cx.profile,
    })
}

fn run_groups<M: LaneMask>(
    program: &PreparedModule<'_>,
    entry: usize,
    args: &[Vec<Datum>],
    cx: &mut RunContext<'_>,
) -> Result<Vec<Vec<Datum>>, ExecutionFault> {
    let options = cx.options;
    let name = &program.functions[entry].func.name;
    let extents = options.stands_for.as_ref().unwrap_or(&options.brush);
    let brush = tile_of(extents);
    let geometry = options.geometry.clone().unwrap_or(LaunchGeometry {
        dims: extents.len().min(3) as u32,
        local: brush,
        groups: [1; 3],
        offset: [0; 3],
    });
    let last = options.last_groups.unwrap_or(geometry.local);
    let empty = geometry.local.contains(&0) || geometry.groups.contains(&0) || last.contains(&0);
    let is_longer = (0..3).any(|along| last[along] > geometry.local[along]);
    if is_longer {
        let reason = "the last group along a dimension is not larger than the others";
        return Err(ExecutionFault::new(FaultKind::Arguments(reason.into()), name));
    }
    if empty || u64::from(BrushPosition::group_size(&geometry)) > 1 << 20 {
        let reason = "a work-group has 1 to 2^20 work-items, and there is at least one group";
        return Err(ExecutionFault::new(FaultKind::Arguments(reason.into()), name));
    }
    let mut results = Vec::new();
    let [count_x, count_y, count_z] = geometry.groups;
    let mut group_number: u32 = 0;
    let global = [0, 1, 2].map(|along| {
        let whole = u64::from(geometry.groups[along]) - 1;
        whole * u64::from(geometry.local[along]) + u64::from(last[along])
    });
    let tiles_of = |size: [u32; 3]| {
        let mut tiles = tiles(size, brush);
        if options.stands_for.is_some() {
            tiles.iter_mut().for_each(|lanes| lanes.truncate(1));
        }
        tiles
    };
    let whole = tiles_of(geometry.local);
    let fault = |kind| ExecutionFault::new(kind, name);
    for z in 0..count_z {
        for y in 0..count_y {
            for x in 0..count_x {
                let group = [x, y, z];
                let size = [0, 1, 2].map(|along| match group[along] + 1 == geometry.groups[along] {
                    true => last[along],
                    false => geometry.local[along],
                });
                let tiles = if size == geometry.local { whole.clone() } else { tiles_of(size) };
                // A group has a cost even if none of its lanes starts.
                let cost = u64::from(BrushPosition::group_size(&geometry)) + tiles.len() as u64;
                let positions = tiles.into_iter().map(|local| BrushPosition {
                    geometry: geometry.clone(),
                    group,
                    size,
                    global,
                    group_number,
                    local,
                });
                cx.budget.work(cost).map_err(fault)?;
                if group_number > 0 {
                    cx.memory.poison_local(&mut cx.budget).map_err(fault)?;
                    if let Some(detector) = &mut cx.detector {
                        detector.clear_local(&mut cx.budget);
                    }
                }
                results = run_group::<M>(program, entry, args, positions.collect(), cx)?;
                group_number = group_number.wrapping_add(1);
            }
        }
    }
    Ok(if options.geometry.is_some() { Vec::new() } else { results })
}

/// Returns the number of work-items of a brush along each dimension of a group. A group has three dimensions: the last
/// two of a four-dimensional brush run along the third, in lane order.
pub(crate) fn tile_of(brush: &[u32]) -> [u32; 3] {
    let edge_node = |dimension: usize| brush.get(dimension).copied().unwrap_or(1);
    [edge_node(0), edge_node(1), edge_node(2).saturating_mul(edge_node(3))]
}

/// Computes the local indices of the lanes of each brush of a group of this size. A one-dimensional brush runs along the linear order
/// of the group; any other is a tile of it.
fn tiles(sizes: [u32; 3], brush: [u32; 3]) -> Vec<Vec<Option<[u32; 3]>>> {
    let [size_x, size_y, size_z] = sizes;
    let width = brush[0] * brush[1] * brush[2];
    if brush[1] == 1 && brush[2] == 1 {
        let size = size_x * size_y * size_z;
        let local = |index: u32| [index % size_x, index / size_x % size_y, index / size_x / size_y];
        return (0..size.div_ceil(width))
            .map(|tile| {
                (tile * width..(tile + 1) * width).map(|index| (index < size).then(|| local(index))).collect()
            })
            .collect();
    }
    let counts = [0, 1, 2].map(|dim| sizes[dim].div_ceil(brush[dim]));
    let mut tiles = Vec::new();
    for tile in 0..counts[0] * counts[1] * counts[2] {
        let corner = [
            tile % counts[0] * brush[0],
            tile / counts[0] % counts[1] * brush[1],
            tile / counts[0] / counts[1] * brush[2],
        ];
        let lanes = (0..width).map(|lane| {
            let index = [
                corner[0] + lane % brush[0],
                corner[1] + lane / brush[0] % brush[1],
                corner[2] + lane / brush[0] / brush[1],
            ];
            (index[0] < size_x && index[1] < size_y && index[2] < size_z).then_some(index)
        });
        tiles.push(lanes.collect());
    }
    tiles
}

/// Blocks that a brush executes before others of its group go on: it may wait in a loop for them.
const BLOCKS_OF_A_TURN: u64 = 1 << 8;

/// Runs the brushes of a group to their next barriers, some blocks of each in turn.
fn run_group<M: LaneMask>(
    program: &PreparedModule<'_>,
    entry: usize,
    args: &[Vec<Datum>],
    positions: Vec<BrushPosition>,
    cx: &mut RunContext<'_>,
) -> Result<Vec<Vec<Datum>>, ExecutionFault> {
    cx.epoch = 0;
    let mut brushes = Vec::new();
    for (number, position) in positions.into_iter().enumerate() {
        brushes.push(Brush::<M>::new(program, entry, args, position, number as u32, cx)?);
    }
    let mut results = Vec::new();
    loop {
        let mut order: Vec<usize> = (0..brushes.len()).collect();
        cx.shuffle(&mut order);
        let mut stopped: Vec<Option<StopReason>> = vec![None; brushes.len()];
        let blocks = if brushes.len() > 1 { BLOCKS_OF_A_TURN } else { u64::MAX };
        loop {
            for &index in &order {
                if matches!(stopped[index], None | Some(StopReason::Preempted)) {
                    stopped[index] = Some(brushes[index].resume(blocks, cx)?);
                }
            }
            if !stopped.contains(&Some(StopReason::Preempted)) {
                break;
            }
        }
        let is_waiting = |stopped: &&StopReason| matches!(stopped, StopReason::AtBarrier { .. });
        let Some(&StopReason::AtBarrier { code, depth, inst }) = stopped.iter().flatten().find(is_waiting)
        else {
            for brush in &mut brushes {
                results = brush.take_results();
            }
            brushes.iter().for_each(|_| cx.memory.close_level(&mut cx.budget));
            return Ok(results);
        };
        let first = StopReason::AtBarrier { code, depth, inst };
        // Brushes whose lanes have all exited are not waited for.
        let waits_elsewhere = |stopped: &StopReason| *stopped != first && *stopped != StopReason::Finished;
        if stopped.iter().flatten().any(waits_elsewhere) {
            let reason = "some brushes of the group wait at this barrier, others at another one";
            let kind = FaultKind::DivergentBarrier(reason.into());
            return Err(brushes[0].fault(&program.functions[code], inst, kind, None));
        }
        cx.epoch += 1;
        cx.counters.barriers += 1;
    }
}

/// Expands an argument to its elements, lane by lane.
fn expand_argument(param: &Param, arg: &Argument, options: &RunOptions) -> Result<Vec<Datum>, String> {
    let lanes = options.width() as usize;
    let elements = elements_of(param.ty);
    let mask = param.ty.scalar().bit_mask();
    let cut = |datum: Datum| datum.bits().map(|bits| bits & mask).into();
    let datums: Vec<Datum> = match arg {
        Argument::Uniform(datum) => vec![cut(*datum); lanes * elements],
        Argument::Linear { base, strides } => {
            if strides.len() > options.brush.len() {
                return Err(format!("{} strides for {} dimensions", strides.len(), options.brush.len()));
            }
            let lane_value = |lane: usize| linear(*base, strides, lane, &options.brush) & mask;
            (0..lanes).map(|lane| Datum::Bits(lane_value(lane))).collect()
        }
        Argument::Varying(values) if values.len() == lanes * elements => {
            values.iter().map(|&datum| cut(datum)).collect()
        }
        Argument::Varying(values) => {
            return Err(format!("{} values for {} lanes", values.len(), lanes));
        }
        Argument::Vector(values) if values.len() == elements => {
            values.iter().map(|&datum| cut(datum)).cycle().take(lanes * elements).collect()
        }
        Argument::Vector(values) => {
            return Err(format!("{} elements for {}", values.len(), param.ty));
        }
    };
    if matches!(param.ty, Type::Scalar(_)) {
        check_shape(param, &datums, options)?;
    }
    Ok(datums)
}

pub(crate) fn linear(base: u128, strides: &[i64], lane: usize, brush: &[u32]) -> u128 {
    let mut rest = lane;
    let mut value = base;
    for (&stride, &dim) in strides.iter().zip(brush) {
        let step = i128::from(stride).wrapping_mul((rest % dim as usize) as i128);
        value = value.wrapping_add(step as u128);
        rest /= dim as usize;
    }
    value
}

fn check_shape(param: &Param, lanes: &[Datum], options: &RunOptions) -> Result<(), String> {
    let strides: &[i64] = match &param.shape {
        None | Some(DeclaredShape::Varying) => return Ok(()),
        Some(DeclaredShape::Uniform) => &[],
        Some(DeclaredShape::Linear(strides)) => strides,
    };
    let mask = param.ty.scalar().bit_mask();
    let base_of = |(lane, &datum): (usize, &Datum)| match datum {
        Datum::Bits(bits) => Some(bits.wrapping_sub(linear(0, strides, lane, &options.brush)) & mask),
        Datum::Poison => None,
    };
    let bases: Vec<u128> = lanes.iter().enumerate().filter_map(base_of).collect();
    // A uniform value is poison in all lanes or none. Otherwise any lane may be poison, and the rest must match.
    let are_together = !strides.is_empty() || bases.is_empty() || bases.len() == lanes.len();
    match are_together && bases.iter().all(|&base| base == bases[0]) {
        true => Ok(()),
        false => Err(format!("the values are not {:?} as the parameter is declared", param.shape)),
    }
}

/// Adds the module's globals that the memory lacks, by name. Returns the addresses of all of them.
fn add_globals<'m>(
    module: &'m Module,
    memory: &mut Memory,
    budget: &mut Budget,
) -> Result<FxHashMap<&'m str, u64>, FaultKind> {
    budget.hold(memory.cost())?;
    let mut address_of = FxHashMap::default();
    let mut new = Vec::new();
    for global in &module.globals {
        let address = match memory.object(&global.name) {
            Some(object) => object.address,
            None => {
                budget.hold(MemoryObject::cost(global.bytes()))?;
                new.push(global);
                memory.add(global.space, Some(&global.name), global.align, vec![0; global.bytes() as usize])
            }
        };
        address_of.insert(&*global.name, address);
    }
    for global in new {
        let Some(object) = memory.object_mut(&global.name) else { continue };
        if global.space == Space::Local {
            object.poison.fill(true);
            continue;
        }
        let mut offset = 0;
        for init in &global.init {
            write_init(object, offset, init, &address_of);
            offset += init.bytes() as usize;
        }
    }
    Ok(address_of)
}

fn write_init(
    object: &mut MemoryObject,
    offset: usize,
    init: &GlobalInit,
    address_of: &FxHashMap<&str, u64>,
) {
    match init {
        GlobalInit::Values(scalar, values) => {
            let size = scalar.bytes() as usize;
            for (index, &bits) in values.iter().enumerate() {
                object.write(offset + index * size, size, Some(bits));
            }
        }
        GlobalInit::Zero(_) => {}
        GlobalInit::Poison(bytes) | GlobalInit::Extern(bytes) => {
            object.poison[offset..offset + *bytes as usize].fill(true)
        }
        GlobalInit::Address(name, addend) => {
            let address = address_of.get(&**name).map(|address| address.wrapping_add_signed(*addend));
            object.write(offset, 8, address.map(u128::from));
        }
    }
}
