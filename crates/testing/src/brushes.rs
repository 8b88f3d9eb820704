//! Checks that several brushes side by side compute what each computes alone; part of the topic `widen`.
//!
//! A program of `W` lanes without cross-lane operations runs once as vector code for all lanes, and twice as vector
//! code for half of them. Memory must agree at the end. The first lane's number is a parameter, the only difference
//! between the two runs.

use crate::differential::is_deterministic;
use crate::execution::{ObservedPart, RunObservation, difference, options, prepare};
use crate::generate::{GeneratedProgram, InputArgument, ProgramClass, ProgramInput};
use heddle_compiler::Session;
use heddle_interp::{Argument as Given, Datum, Memory, RunCounters, Schedule, run};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{DeclaredShape, Param};
use heddle_ir::{Function, Inst, Module, Op, Scalar};
use heddle_runs::wide_call::{lanes_of_outcome, wide_arguments, wide_options};
use heddle_transform::find_brush_observer;
use heddle_transform::widen::wide_name;

/// Checks a program on all inputs that can be halved; returns their number.
pub fn brushes_agree(case: &GeneratedProgram) -> Result<usize, String> {
    brushes_agree_by(case, |_| {})
}

/// As `brushes_agree`, with `spoil` applied to the code for all lanes.
pub fn brushes_agree_by(case: &GeneratedProgram, spoil: fn(&mut Function)) -> Result<usize, String> {
    let mut checked = 0;
    for (index, input) in case.inputs.iter().enumerate() {
        let is_checked = halves_agree(case, input, spoil)
            .map_err(|reason| format!("input {index}, by halves: {reason}"))?;
        checked += usize::from(is_checked);
    }
    Ok(checked)
}

/// Replaces a function's lane queries by a parameter for the lane's number and a constant for the number of lanes.
fn number_lanes(func: &mut Function, lanes: u32) {
    let shape = Some(DeclaredShape::Linear([1][..].into()));
    let lane = func.add_param(Param { shape, ..Param::new(Scalar::I32.into()) });
    let all: Vec<Inst> =
        func.blocks().flat_map(|block| func.block_insts(block).collect::<Vec<_>>()).collect();
    for inst in all {
        let Some(result) = func.result(inst) else { continue };
        let scalar = func.value_type(result).scalar();
        // The brush is a row: along other dimensions there is one lane.
        let is_along = !matches!(func.inst(inst).detail, Detail::Dimension(Some(1..)));
        let new = match (func.inst(inst).op, scalar.bits()) {
            (op @ (Op::Lane | Op::Width), _) if !is_along => {
                let [number, zero] =
                    [i128::from(op == Op::Width), 0].map(|number| func.make_int(scalar, number));
                InstData::plain(Op::Add, [number, zero])
            }
            (Op::Lane, 32) => {
                let zero = func.make_int(scalar, 0);
                InstData::plain(Op::Add, [lane, zero])
            }
            (Op::Lane, ..32) => InstData::plain(Op::Trunc, [lane]),
            (Op::Lane, _) => InstData::plain(Op::Zext, [lane]),
            (Op::Width, _) => {
                let [count, zero] = [lanes.into(), 0].map(|number| func.make_int(scalar, number));
                InstData::plain(Op::Add, [count, zero])
            }
            _ => continue,
        };
        let data = func.inst_mut(inst);
        let total = data.is_total();
        *data = InstData { origin: data.origin, ..new };
        if total {
            data.flags = data.flags.union(heddle_ir::words::Flags::of(&[heddle_ir::words::Flag::Total]));
        }
    }
}

/// Declares the shapes of parameters that the input implies.
fn declare(func: &mut Function, input: &ProgramInput) {
    for (param, argument) in func.signature.params.iter_mut().zip(&input.args) {
        param.shape.get_or_insert_with(|| match argument {
            InputArgument::Object(_) | InputArgument::Uniform(_) => DeclaredShape::Uniform,
            InputArgument::Linear(_, strides) => DeclaredShape::Linear(strides.iter().copied().collect()),
            InputArgument::Varying(_) => DeclaredShape::Varying,
        });
    }
}

fn halves_agree(
    case: &GeneratedProgram,
    input: &ProgramInput,
    spoil: fn(&mut Function),
) -> Result<bool, String> {
    let is_plain =
        case.traits.class == ProgramClass::Lanes && is_deterministic(case) && input.group.is_none();
    let &[all] = &input.brush[..] else { return Ok(false) };
    if !is_plain || all < 2 || all % 2 != 0 {
        return Ok(false);
    }
    let mut module = case.module.clone();
    let Some(entry) = module.function_mut(&case.entry) else { return Ok(false) };
    if case.seed.is_multiple_of(2) {
        declare(entry, input);
    }
    number_lanes(entry, all);
    let defined = module.functions.iter().map(|func| &*func.name).collect();
    if module.functions.iter().any(|func| find_brush_observer(func, false, &defined).is_some()) {
        return Ok(false);
    }
    let half = all / 2;
    let mut together = widened(&module, half, 2)?;
    let apart = widened(&module, half, 1)?;
    if let Some(func) = together.function_mut(&wide_name(&case.entry, &[all])) {
        spoil(func);
    }
    let (mut memory, args) = prepare(case, input);
    let results = run_one(&together, case, input, all, 0, args, &mut memory)?;
    let found = observed(results, memory);
    let (mut memory, args) = prepare(case, input);
    let mut results: Vec<Vec<Datum>> = Vec::new();
    for start in [0, half] {
        let of_half = |arg: &Given| match arg {
            Given::Varying(values) => {
                Given::Varying(values.iter().skip(start as usize).take(half as usize).copied().collect())
            }
            Given::Linear { base, strides } => {
                let step = strides.first().copied().unwrap_or(0).wrapping_mul(start.into());
                let base = base.wrapping_add(step as u128);
                Given::Linear { base, strides: strides.clone() }
            }
            other => other.clone(),
        };
        let args = args.iter().map(of_half).collect();
        let given = run_one(&apart, case, input, half, start, args, &mut memory)?;
        results.resize(given.len(), Vec::new());
        results.iter_mut().zip(given).for_each(|(all, more)| all.extend(more));
    }
    match difference(case, &observed(results, memory), &found, ObservedPart::Whole) {
        Some(difference) => Err(difference),
        None => Ok(true),
    }
}

fn observed(results: Vec<Vec<Datum>>, memory: Memory) -> RunObservation {
    RunObservation {
        results,
        memory,
        race: None,
        schedule: Schedule::default(),
        counters: RunCounters::default(),
    }
}

fn widened(module: &Module, lanes: u32, brushes: u32) -> Result<Module, String> {
    let mut wide = module.clone();
    let words = ["vectorize", &format!("W={lanes}"), "params=varying", &format!("brushes={brushes}")];
    Session::default().run_passes(&mut wide, &words, false, |_, _| {}).map_err(|error| error.to_string())?;
    Ok(wide)
}

/// Runs code for `lanes` lanes from the given first lane; returns results by lane.
fn run_one(
    module: &Module,
    case: &GeneratedProgram,
    input: &ProgramInput,
    lanes: u32,
    start: u32,
    mut args: Vec<Given>,
    memory: &mut Memory,
) -> Result<Vec<Vec<Datum>>, String> {
    let name = wide_name(&case.entry, &[lanes]);
    let func = module.function(&name).ok_or("the entry has no wide form")?;
    args.push(Given::Linear { base: start.into(), strides: vec![1] });
    let brush = [lanes];
    let args = wide_arguments(args, func, &brush);
    let options = options(&ProgramInput { brush: brush.to_vec(), ..input.clone() });
    let outcome = run(module, &name, &args, memory, &wide_options(&options))
        .map_err(|fault| format!("{lanes} lanes from {start} on: {fault}\n{func}"))?;
    Ok(lanes_of_outcome(outcome, &brush).results)
}
