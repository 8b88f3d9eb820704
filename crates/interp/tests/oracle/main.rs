//! Tests of the oracle that a text file cannot express: legal schedules, races, counters.

mod schedules;
mod races;
mod counters;

use heddle_interp::{Argument, Datum, ExecutionFault, Memory, RunOptions, RunOutcome, run};
use heddle_ir::{Module, Space, parse_module};

fn parse(text: &str) -> Module {
    parse_module(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]))
}

/// Runs the module's first function with an object of 64 words as its first argument.
fn run_over_words(text: &str, options: &RunOptions) -> Result<(RunOutcome, Memory), ExecutionFault> {
    let module = parse(text);
    let mut memory = Memory::new();
    let address = memory.add(Space::Global, Some("a"), 64, vec![0; 256]);
    let args = [Argument::Uniform(Datum::Bits(address.into()))];
    let outcome = run(&module, &module.functions[0].name, &args, &mut memory, options)?;
    Ok((outcome, memory))
}
