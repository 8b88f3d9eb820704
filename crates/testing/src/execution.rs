//! Execution of generated programs: memory layout, arguments, outcomes.

use crate::generate::{GeneratedProgram, InputArgument, Owner, ProgramInput};
use heddle_interp::{
    Datum, ExecutionFault, LaunchGeometry, Memory, Race, RunCounters, RunLimits, RunOptions, RunOutcome,
    Schedule, Scheduler, run,
};
use heddle_ir::{Module, Scalar};

/// The most blocks that a generated program executes: all of them end long before.
pub const STEP_LIMIT: u64 = 200_000;

/// Outcome of a run.
#[derive(Clone, Debug)]
pub struct RunObservation {
    /// For each result of the function each lane's value.
    pub results: Vec<Vec<Datum>>,
    /// The memory.
    pub memory: Memory,
    /// The first race, if it was looked for.
    pub race: Option<Race>,
    /// The blocks that were executed.
    pub schedule: Schedule,
    /// Counters of the run.
    pub counters: RunCounters,
}

/// The options with which a case runs on an input, greedily.
pub fn options(input: &ProgramInput) -> RunOptions {
    RunOptions {
        brush: input.brush.clone(),
        limits: RunLimits { steps: STEP_LIMIT, ..RunLimits::default() },
        geometry: input.group.map(|local| LaunchGeometry {
            dims: input.brush.len() as u32,
            local,
            groups: input.groups,
            offset: [0; 3],
        }),
        ..RunOptions::default()
    }
}

/// As [`options`], with this scheduler.
pub fn options_with(input: &ProgramInput, scheduler: Scheduler) -> RunOptions {
    RunOptions { scheduler, ..options(input) }
}

/// The memory before a run, and the arguments.
pub fn prepare(case: &GeneratedProgram, input: &ProgramInput) -> (Memory, Vec<heddle_interp::Argument>) {
    let mut memory = Memory::new();
    let addresses: Vec<u64> = case
        .objects
        .iter()
        .zip(&input.contents)
        .map(|(object, bytes)| memory.add(object.space, Some(&object.name), 16, bytes.clone()))
        .collect();
    let args = input.args.iter().map(|arg| match arg {
        InputArgument::Object(index) => {
            heddle_interp::Argument::Uniform(Datum::Bits(addresses[*index].into()))
        }
        InputArgument::Uniform(bits) => heddle_interp::Argument::Uniform(Datum::Bits(*bits)),
        InputArgument::Linear(base, strides) => {
            heddle_interp::Argument::Linear { base: *base, strides: strides.clone() }
        }
        InputArgument::Varying(values) => {
            heddle_interp::Argument::Varying(values.iter().map(|&bits| Datum::Bits(bits)).collect())
        }
    });
    (memory, args.collect())
}

/// Runs a module with the case's entry on an input.
pub fn observe(
    case: &GeneratedProgram,
    module: &Module,
    input: &ProgramInput,
    options: &RunOptions,
) -> Result<RunObservation, ExecutionFault> {
    let (mut memory, args) = prepare(case, input);
    let RunOutcome { results, race, schedule, counters, .. } =
        run(module, &case.entry, &args, &mut memory, options)?;
    Ok(RunObservation { results, memory, race, schedule, counters })
}

/// True if two values of a type are equal; all NaNs are.
fn same(scalar: Scalar, a: u128, b: u128) -> bool {
    a == b || (is_nan(scalar, a) && is_nan(scalar, b))
}

fn is_nan(scalar: Scalar, bits: u128) -> bool {
    let mantissa = match scalar {
        Scalar::F16 => 10,
        Scalar::BF16 => 7,
        Scalar::F32 => 23,
        Scalar::F64 => 52,
        _ => return false,
    };
    let infinity = (scalar.bit_mask() >> 1) & !((1 << mantissa) - 1);
    bits & (scalar.bit_mask() >> 1) > infinity
}

/// True if the second value refines the first: poison refines to anything.
pub fn refines(scalar: Scalar, before: Datum, after: Datum) -> bool {
    match (before, after) {
        (Datum::Poison, _) => true,
        (Datum::Bits(_), Datum::Poison) => false,
        (Datum::Bits(a), Datum::Bits(b)) => same(scalar, a, b),
    }
}

/// Part of an outcome to compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObservedPart {
    /// All of it.
    Whole,
    /// Effects of this lane on memory that no other lane may access.
    Lane(u32),
}

/// Describes the first difference of the second outcome that the first does not allow.
pub fn difference(
    case: &GeneratedProgram,
    before: &RunObservation,
    after: &RunObservation,
    part: ObservedPart,
) -> Option<String> {
    let func = case.module.function(&case.entry)?;
    for (index, (before, after)) in before.results.iter().zip(&after.results).enumerate() {
        let scalar = func.signature.results[index].ty.scalar();
        for (lane, (&a, &b)) in before.iter().zip(after).enumerate() {
            if matches!(part, ObservedPart::Lane(only) if only as usize != lane) {
                continue;
            }
            if !refines(scalar, a, b) {
                return Some(format!("result {index} of lane {lane}: {} became {}", show(a), show(b)));
            }
        }
    }
    for object in before.memory.objects() {
        let name = object.name.as_deref()?;
        let shape = case.objects.iter().find(|shape| shape.name == name);
        let scalar = shape.map_or(Scalar::I8, |shape| shape.scalar);
        let owner = shape.map_or(Owner::ReadOnly, |shape| shape.owner);
        let size = scalar.bytes() as usize;
        let range = match (part, owner) {
            (_, Owner::Group) | (ObservedPart::Lane(_), Owner::Shared | Owner::Counter) => continue,
            (ObservedPart::Lane(lane), Owner::Lane(bytes)) => {
                (lane * bytes) as usize / size..((lane + 1) * bytes) as usize / size
            }
            _ => 0..object.bytes.len() / size,
        };
        let Some(other) = after.memory.object(name) else { return Some(format!("object {name} is gone")) };
        if object.bytes == other.bytes && object.poison == other.poison {
            continue;
        }
        for index in range {
            let [a, b] = [object, other].map(|object| Datum::from(object.read(index * size, size)));
            if !refines(scalar, a, b) {
                return Some(format!("{name}[{index}], {scalar}: {} became {}", show(a), show(b)));
            }
        }
    }
    None
}

fn show(datum: Datum) -> String {
    match datum {
        Datum::Poison => "poison".into(),
        Datum::Bits(bits) => format!("{bits:#x}"),
    }
}
