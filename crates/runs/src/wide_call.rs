//! Runs of lock-step functions as runs of their wide forms.

use heddle_interp::{Argument, Datum, RunOptions, RunOutcome};
use heddle_ir::{Function, Module};
use heddle_transform::widen::wide_name;

/// The wide form of a function for this brush, where the module has that instead of the function itself.
pub fn wide_form<'m>(module: &'m Module, name: &str, brush: &[u32]) -> Option<&'m Function> {
    match module.function(name) {
        Some(_) => None,
        None => module.function(&wide_name(name, brush)),
    }
}

/// Parses the name of a wide specialization: scalar function and lanes; none for other names.
pub fn wide_form_of(name: &str) -> Option<(&str, &str)> {
    let (source_name, lanes) = name.rsplit_once(".w")?;
    let is_brush = lanes.split('x').all(|extent| extent.parse::<u32>().is_ok());
    is_brush.then_some((source_name, lanes))
}

/// Converts lock-step run options to wide code, where one thread represents a brush.
pub fn wide_options(options: &RunOptions) -> RunOptions {
    RunOptions { brush: vec![1], stands_for: Some(options.brush.clone()), ..options.clone() }
}

/// The arguments that a wide form takes for those of its lock-step function.
pub fn wide_arguments(args: Vec<Argument>, wide: &Function, brush: &[u32]) -> Vec<Argument> {
    let params = wide.signature.params.iter().map(|param| param.ty.is_vector());
    args.into_iter().zip(params).map(|(arg, is_vector)| wide_argument(arg, is_vector, brush)).collect()
}

fn wide_argument(arg: Argument, is_vector: bool, brush: &[u32]) -> Argument {
    let lanes = brush.iter().product::<u32>() as usize;
    match (arg, is_vector) {
        (Argument::Uniform(datum), true) => Argument::Vector(vec![datum; lanes]),
        (Argument::Linear { base, .. }, false) => Argument::Uniform(Datum::Bits(base)),
        (Argument::Linear { base, strides }, true) => {
            let value = |lane: usize| {
                let mut rest = lane;
                let steps = strides.iter().zip(brush).map(|(&stride, &extent)| {
                    let along = rest % extent as usize;
                    rest /= extent as usize;
                    i128::from(stride).wrapping_mul(along as i128)
                });
                Datum::Bits(steps.fold(base, |sum, step| sum.wrapping_add(step as u128)))
            };
            Argument::Vector((0..lanes).map(value).collect())
        }
        (Argument::Varying(values), true) => Argument::Vector(values),
        (Argument::Varying(values), false) => {
            Argument::Uniform(values.first().copied().unwrap_or(Datum::Poison))
        }
        (other, _) => other,
    }
}

/// Splits a wide outcome into lanes, as the lock-step function returns them.
pub fn lanes_of_outcome(outcome: RunOutcome, brush: &[u32]) -> RunOutcome {
    let lanes = brush.iter().product::<u32>() as usize;
    let spread = |data: Vec<Datum>| match data[..] {
        [one] => vec![one; lanes],
        _ => data,
    };
    RunOutcome { results: outcome.results.into_iter().map(spread).collect(), ..outcome }
}
