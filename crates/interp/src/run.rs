//! Running a function: its arguments, its options, what comes out.

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
use heddle_ir::module::{DeclaredShape, Init, Param};
use heddle_ir::types::{MAX_DIMENSIONS, MAX_LANES};
use heddle_ir::{Module, Space, Type};
use rustc_hash::FxHashMap;

/// What an element of a value holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Datum {
    /// ⊤.
    Poison,
    /// These bits, zero above the type's width.
    Bits(u128),
}

impl Datum {
    /// The bits, unless it is ⊤.
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

/// What the lanes get for a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// The same in all lanes.
    Uniform(Datum),
    /// `base` plus a stride for each step along each brush dimension.
    Linear {
        /// Lane 0's value.
        base: u128,
        /// The strides.
        strides: Vec<i64>,
    },
    /// One for each lane.
    Varying(Vec<Datum>),
    /// The elements of a vector, the same vector in all lanes.
    Vector(Vec<Datum>),
}

/// What becomes of a variable in lanes that do not execute its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PassiveSemantics {
    /// It keeps its value.
    #[default]
    Freezing,
    /// It becomes ⊤.
    Oblivious,
}

/// The launch that work-items see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchGeometry {
    /// Number of dimensions, 1 to 3.
    pub dims: u32,
    /// Size of a work-group along each dimension.
    pub local: [u32; 3],
    /// Number of work-groups along each dimension.
    pub groups: [u32; 3],
    /// Least global index along each dimension.
    pub offset: [u64; 3],
}

/// How to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Lanes along each dimension of the brush.
    pub brush: Vec<u32>,
    /// What becomes of variables in lanes that do not execute.
    pub semantics: PassiveSemantics,
    /// Which block runs next.
    pub scheduler: Scheduler,
    /// What the run may use.
    pub limits: RunLimits,
    /// Whether to look for races.
    pub detect_races: bool,
    /// Whether to record every step.
    pub trace: bool,
    /// Whether to count where lanes part, how they access memory, and how often loops go round.
    pub profile: bool,
    /// Runs this lane of each brush alone; the others never start.
    pub only_lane: Option<u32>,
    /// Launches a kernel over work-groups; none runs one brush that is a group by itself.
    pub geometry: Option<LaunchGeometry>,
    /// Runs wide code: one thread for each such brush of a work-group. It stands where the brush's first lane does.
    pub stands_for: Option<Vec<u32>>,
    /// Whether `fmuladd` rounds once.
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
            stands_for: None,
            fused: false,
            entry_mask: LaneSet::EVERY,
        }
    }
}

impl RunOptions {
    /// The defaults, for a one-dimensional brush of this many lanes.
    pub fn lanes(lanes: u32) -> RunOptions {
        RunOptions { brush: vec![lanes], ..RunOptions::default() }
    }

    /// The number of lanes.
    pub fn width(&self) -> u32 {
        self.brush.iter().fold(1, |lanes, &dim| lanes.saturating_mul(dim))
    }
}

/// What is counted while a program runs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RunCounters {
    /// Blocks executed.
    pub steps: u64,
    /// Blocks executed with no active lane.
    pub empty_steps: u64,
    /// Branches executed whose active lanes part.
    pub divergent_branches: u64,
    /// Branches executed whose active lanes stay together.
    pub uniform_branches: u64,
    /// Instructions executed, times active lanes.
    pub lane_operations: u64,
    /// Barriers passed by a group.
    pub barriers: u64,
}

/// What comes out.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// For each result of the function each lane's elements, lane by lane. Kernels have none.
    pub results: Vec<Vec<Datum>>,
    /// The first race, if there is one and races were looked for.
    pub race: Option<Race>,
    /// What was counted.
    pub counters: RunCounters,
    /// The blocks that were executed.
    pub schedule: Schedule,
    /// Every step in detail, if asked for.
    pub trace: Trace,
    /// The profile, if asked for.
    pub profile: Option<RunProfile>,
}

/// Where the lanes of a brush stand in the launch.
#[derive(Clone, Debug)]
pub(crate) struct BrushPosition {
    pub(crate) geometry: LaunchGeometry,
    pub(crate) group: [u32; 3],
    pub(crate) group_number: u32,
    /// Local index of each lane; none for a lane outside of the group.
    pub(crate) local: Vec<Option<[u32; 3]>>,
}

impl BrushPosition {
    pub(crate) fn group_size(geometry: &LaunchGeometry) -> u32 {
        geometry.local.iter().fold(1, |size, &dim| size.saturating_mul(dim))
    }

    /// Linear number of a lane's work-item in the launch.
    pub(crate) fn item(&self, lane: usize) -> u32 {
        let [x, y, z] = self.local[lane].unwrap_or_default();
        let [size_x, size_y, _] = self.geometry.local;
        let local = x + size_x * (y + size_y * z);
        self.group_number.wrapping_mul(BrushPosition::group_size(&self.geometry)).wrapping_add(local)
    }
}

/// Runs a function of a module over a memory, to which the module's globals are added where it lacks them.
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
        place_globals(module, memory, &mut budget).map_err(|kind| ExecutionFault::new(kind, func))?;
    let program = PreparedModule::new(module, &address_of);
    let Some(entry) = program.find(func) else {
        let defined = module.functions.iter().map(|func| format!("@{}", func.name)).collect::<Vec<_>>();
        return Err(arguments(format!("there is no such function; there are {}", defined.join(", "))));
    };
    let params = &program.codes[entry].func.signature.params;
    if params.len() != args.len() {
        return Err(arguments(format!("it takes {} arguments, not {}", params.len(), args.len())));
    }
    let mut lanes_of_args = Vec::new();
    for (index, (param, arg)) in params.iter().zip(args).enumerate() {
        let lanes = spread(param, arg, options)
            .map_err(|reason| arguments(format!("argument {}: {reason}", index + 1)))?;
        lanes_of_args.push(lanes);
    }
    let profile = match options.profile {
        true => {
            let functions = program.codes.iter().map(|code| code.func);
            let made = RunProfile::new(functions, options.width() as usize, &mut budget);
            Some(made.map_err(|kind| ExecutionFault::new(kind, func))?)
        }
        false => None,
    };
    let mut world = RunContext {
        profile,
        memory,
        detector: options.detect_races.then(RaceDetector::default),
        race: None,
        options,
        budget,
        counters: RunCounters::default(),
        course: ScheduleRecorder::new(&options.scheduler),
        trace: Trace::default(),
        rng: Rng::new(options.scheduler.seed()),
        epoch: 0,
        empty_run: 0,
        nesting: 0,
    };
    let results = match program.widest.max(options.width() as usize) {
        ..=WORD => run_groups::<u128>(&program, entry, &lanes_of_args, &mut world)?,
        _ => run_groups::<LaneSet>(&program, entry, &lanes_of_args, &mut world)?,
    };
    Ok(RunOutcome {
        results,
        race: world.race,
        counters: world.counters,
        schedule: world.course.into_noted(),
        trace: world.trace,
        profile: world.profile,
    })
}

fn run_groups<M: LaneMask>(
    program: &PreparedModule<'_>,
    entry: usize,
    args: &[Vec<Datum>],
    world: &mut RunContext<'_>,
) -> Result<Vec<Vec<Datum>>, ExecutionFault> {
    let options = world.options;
    let name = &program.codes[entry].func.name;
    let extents = options.stands_for.as_ref().unwrap_or(&options.brush);
    let brush = tile_of(extents);
    let geometry = options.geometry.clone().unwrap_or(LaunchGeometry {
        dims: extents.len().min(3) as u32,
        local: brush,
        groups: [1; 3],
        offset: [0; 3],
    });
    let empty = geometry.local.contains(&0) || geometry.groups.contains(&0);
    if empty || u64::from(BrushPosition::group_size(&geometry)) > 1 << 20 {
        let reason = "a work-group has 1 to 2^20 work-items, and there is at least one group";
        return Err(ExecutionFault::new(FaultKind::Arguments(reason.into()), name));
    }
    let mut results = Vec::new();
    let [count_x, count_y, count_z] = geometry.groups;
    let mut group_number: u32 = 0;
    let mut tiles = tiles(&geometry, brush);
    if options.stands_for.is_some() {
        tiles.iter_mut().for_each(|lanes| lanes.truncate(1));
    }
    let fault = |kind| ExecutionFault::new(kind, name);
    for z in 0..count_z {
        for y in 0..count_y {
            for x in 0..count_x {
                let positions = tiles.iter().cloned().map(|local| BrushPosition {
                    geometry: geometry.clone(),
                    group: [x, y, z],
                    group_number,
                    local,
                });
                // A group may cost something even if none of its lanes starts.
                let cost = u64::from(BrushPosition::group_size(&geometry)) + tiles.len() as u64;
                world.budget.work(cost).map_err(fault)?;
                if group_number > 0 {
                    world.memory.forget_local(&mut world.budget).map_err(fault)?;
                    if let Some(detector) = &mut world.detector {
                        detector.forget_local(&mut world.budget);
                    }
                }
                results = run_group::<M>(program, entry, args, positions.collect(), world)?;
                group_number = group_number.wrapping_add(1);
            }
        }
    }
    Ok(if options.geometry.is_some() { Vec::new() } else { results })
}

/// How many work-items a brush takes along each dimension of a group. A group has three: the last two of a brush that has
/// four run along its third, and lanes stay in order.
pub(crate) fn tile_of(brush: &[u32]) -> [u32; 3] {
    let along = |dimension: usize| brush.get(dimension).copied().unwrap_or(1);
    [along(0), along(1), along(2).saturating_mul(along(3))]
}

/// The local indices of the lanes of each brush of a group. A brush of one dimension runs along the linear order
/// of the group; one of more dimensions is a tile of it.
fn tiles(geometry: &LaunchGeometry, brush: [u32; 3]) -> Vec<Vec<Option<[u32; 3]>>> {
    let [size_x, size_y, size_z] = geometry.local;
    let width = brush[0] * brush[1] * brush[2];
    if brush[1] == 1 && brush[2] == 1 {
        let size = BrushPosition::group_size(geometry);
        let local = |index: u32| [index % size_x, index / size_x % size_y, index / size_x / size_y];
        return (0..size.div_ceil(width))
            .map(|tile| {
                (tile * width..(tile + 1) * width).map(|index| (index < size).then(|| local(index))).collect()
            })
            .collect();
    }
    let counts = [0, 1, 2].map(|dim| geometry.local[dim].div_ceil(brush[dim]));
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

/// Runs the brushes of a group, each up to its next barrier in turn.
fn run_group<M: LaneMask>(
    program: &PreparedModule<'_>,
    entry: usize,
    args: &[Vec<Datum>],
    positions: Vec<BrushPosition>,
    world: &mut RunContext<'_>,
) -> Result<Vec<Vec<Datum>>, ExecutionFault> {
    world.epoch = 0;
    let mut brushes = Vec::new();
    for (number, position) in positions.into_iter().enumerate() {
        brushes.push(Brush::<M>::new(program, entry, args, position, number as u32, world)?);
    }
    let mut results = Vec::new();
    loop {
        let mut order: Vec<usize> = (0..brushes.len()).collect();
        world.shuffle(&mut order);
        let mut paused: Vec<Option<StopReason>> = vec![None; brushes.len()];
        for index in order {
            paused[index] = Some(brushes[index].resume(world)?);
        }
        let is_waiting = |paused: &&StopReason| matches!(paused, StopReason::AtBarrier { .. });
        let Some(&StopReason::AtBarrier { code, depth, inst }) = paused.iter().flatten().find(is_waiting)
        else {
            for brush in &mut brushes {
                results = brush.take_results();
            }
            brushes.iter().for_each(|_| world.memory.close_level(&mut world.budget));
            return Ok(results);
        };
        let first = StopReason::AtBarrier { code, depth, inst };
        if paused.iter().flatten().any(|paused| *paused != first) {
            let reason =
                "some brushes of the group wait at this barrier, others are elsewhere or have returned";
            let kind = FaultKind::DivergentBarrier(reason.into());
            return Err(brushes[0].fault(&program.codes[code], inst, kind, None));
        }
        world.epoch += 1;
        world.counters.barriers += 1;
    }
}

/// The elements of an argument, lane by lane.
fn spread(param: &Param, arg: &Argument, options: &RunOptions) -> Result<Vec<Datum>, String> {
    let lanes = options.width() as usize;
    let elements = elements_of(param.ty);
    let mask = param.ty.scalar().bit_mask();
    let cut = |datum: Datum| datum.bits().map(|bits| bits & mask).into();
    let spread: Vec<Datum> = match arg {
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
        check_shape(param, &spread, options)?;
    }
    Ok(spread)
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
    // Uniform lanes are ⊤ together; of others any may be, and the rest fit each other.
    let are_together = !strides.is_empty() || bases.is_empty() || bases.len() == lanes.len();
    match are_together && bases.iter().all(|&base| base == bases[0]) {
        true => Ok(()),
        false => Err(format!("the values are not {:?} as the parameter is declared", param.shape)),
    }
}

/// Adds the module's globals to the memory where it has no object of that name; says where all of them lie.
fn place_globals<'m>(
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

fn write_init(object: &mut MemoryObject, offset: usize, init: &Init, address_of: &FxHashMap<&str, u64>) {
    match init {
        Init::Values(scalar, values) => {
            let size = scalar.bytes() as usize;
            for (index, &bits) in values.iter().enumerate() {
                object.write(offset + index * size, size, Some(bits));
            }
        }
        Init::Zero(_) => {}
        Init::Poison(bytes) | Init::Extern(bytes) => {
            object.poison[offset..offset + *bytes as usize].fill(true)
        }
        Init::Address(name, addend) => {
            let address = address_of.get(&**name).map(|address| address.wrapping_add_signed(*addend));
            object.write(offset, 8, address.map(u128::from));
        }
    }
}
