//! Lanes that wait for each other, as vector code for few and many lanes: right results on the oracle and natively, and an end.

use heddle_compiler::Session;
use heddle_interp::{Argument, Datum, Memory, RunOptions, run};
use heddle_ir::{Code, Module, Space, parse_bytes};
use heddle_runs::wide_call::{lanes_of_outcome, wide_arguments, wide_form, wide_options};
use heddle_testing::native::{InstructionSet, check_locks};
use heddle_testing::not_run::not_run;
use heddle_transform::keep_progress;

const TEXT: &str = include_str!("../../../../tests/transform/progress-locks.hed");

fn source() -> Module {
    parse_bytes(TEXT.as_bytes()).unwrap_or_else(|message| panic!("{}", message[0]))
}

fn widened(name: &str, lanes: u32, target: &str) -> Module {
    let mut module = source();
    heddle_compiler::session::retain_reachable(&mut module, name);
    let words = ["vectorize", &format!("W={lanes}"), "params=varying", &format!("target={target}")];
    let remarks = Session::default()
        .run_passes(&mut module, &words, true, |_, _| {})
        .unwrap_or_else(|message| panic!("{message}"));
    assert!(remarks.iter().any(|remark| remark.diagnostic.code == Code::Waits), "@{name} says that it waits");
    module
}

/// Runs the wide form with these arguments and returns the contents of the objects.
fn left(name: &str, lanes: u32, target: &str, objects: &[&[u32]], more: Option<Vec<u64>>) -> Vec<Vec<u32>> {
    let module = widened(name, lanes, target);
    let func = wide_form(&module, name, &[lanes]).unwrap_or_else(|| panic!("@{name} has a wide form"));
    let mut memory = Memory::new();
    let mut args = Vec::new();
    for (index, numbers) in objects.iter().enumerate() {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let address = memory.add(Space::Global, Some(&format!("o{index}")), 4, bytes);
        args.push(Argument::Uniform(Datum::Bits(address.into())));
    }
    args.extend(more.map(|values| {
        Argument::Varying(values.into_iter().map(|value| Datum::Bits(value.into())).collect())
    }));
    let args = wide_arguments(args, func, &[lanes]);
    let outcome = run(&module, &func.name, &args, &mut memory, &wide_options(&RunOptions::lanes(lanes)))
        .unwrap_or_else(|fault| panic!("@{name} in {lanes} lanes for {target}: {fault}"));
    lanes_of_outcome(outcome, &[lanes]);
    let numbers = |index: usize| {
        let object = memory.object(&format!("o{index}")).expect("the object is there");
        (0..objects[index].len()).map(|at| object.read(at * 4, 4).expect("it is no poison") as u32).collect()
    };
    (0..objects.len()).map(numbers).collect()
}

#[test]
fn locks_tickets_and_flags_come_to_an_end_in_all_widths() {
    for target in ["sse4.2", "avx2", "avx512", "neon"] {
        for lanes in [1, 2, 4, 8, 16, 32] {
            let sum = left("spin", lanes, target, &[&[0], &[10]], None);
            assert_eq!(sum, [vec![0], vec![10 + lanes]], "spin, {lanes} lanes, {target}");
            let sum = left("called", lanes, target, &[&[0], &[0]], None);
            assert_eq!(sum, [vec![0], vec![lanes]], "called, {lanes} lanes, {target}");
            // Tickets in reverse order: the last lane is the first.
            let tickets: Vec<u64> = (1..=u64::from(lanes)).rev().collect();
            let found = left("ticket", lanes, target, &[&[0, 0], &[0]], Some(tickets));
            let sum = (1..=lanes).fold(0u32, |sum, ticket| sum.wrapping_mul(10).wrapping_add(ticket));
            assert_eq!(found, [vec![lanes, lanes], vec![sum]], "ticket, {lanes} lanes, {target}");
            let mut flags = vec![0; lanes as usize];
            flags.push(7);
            let found = left("flags", lanes, target, &[&flags], None);
            let expected: Vec<u32> = (0..=lanes).rev().map(|more| 7 + more).collect();
            assert_eq!(found, [expected], "flags, {lanes} lanes, {target}");
        }
    }
}

/// As above, as machine code, with a queue that records which lanes take items.
#[test]
fn locks_come_to_an_end_natively_on_all_instruction_sets() {
    for target in InstructionSet::ALL {
        if let Some(reason) = target.missing() {
            not_run("locks as native code", &format!("{}: {reason}", target.name()));
            continue;
        }
        let folder =
            std::env::temp_dir().join(format!("heddle-locks-{}-{}", target.name(), std::process::id()));
        let checked = check_locks(&folder, target);
        let _ = std::fs::remove_dir_all(&folder);
        let (wrong, calls) = checked.unwrap_or_else(|reason| panic!("{}: {reason}", target.name()));
        assert!(wrong.is_empty() && calls == 25, "{calls} calls\n{}", wrong.join("\n"));
    }
}

/// Without the pass lanes wait for ever, which a limit ends.
#[test]
fn in_lock_step_they_would_wait_for_ever() {
    let module = source();
    for name in ["spin", "called", "flags"] {
        let mut memory = Memory::new();
        let mut args = Vec::new();
        for index in 0..if name == "flags" { 1 } else { 2 } {
            let mut bytes = vec![0; 20];
            bytes[16] = 7;
            let address = memory.add(Space::Global, Some(&format!("o{index}")), 4, bytes);
            args.push(Argument::Uniform(Datum::Bits(address.into())));
        }
        let fault = run(&module, name, &args, &mut memory, &RunOptions::lanes(4)).expect_err(name);
        assert!(fault.to_string().contains("limit"), "{name}: {fault}");
    }
    let mut other = module;
    other.functions.retain(|func| func.name == "lock");
    assert_eq!(keep_progress(&mut other).expect("it is taken").len(), 1);
}
