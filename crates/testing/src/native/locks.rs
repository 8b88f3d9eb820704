//! Locks, tickets, flags and work queues as native vector code: results and termination for each number of lanes.

use super::compile::{CodeQuality, WidePart, compile_parts};
use super::tally::NativeTally;
use super::target::InstructionSet;
use super::workshop::{CallObject, CallOutcome, EntryCall, Workshop};
use heddle_compiler::Session;
use heddle_compiler::session::retain_reachable;
use heddle_ir::{Code, Module, parse_bytes};
use heddle_llvm::{EmitOptions, slot_bytes};
use heddle_runs::wide_call::wide_form;
use std::path::Path;

const LOCKS: &str = include_str!("../../../../tests/transform/progress-locks.hed");
const QUEUE: &str = include_str!("../../../../tests/transform/progress-queue.hed");
const LANES: [u32; 5] = [2, 4, 8, 16, 32];

/// Function, contents of its objects before and after, and values of its per-lane parameter.
struct LockProgram {
    name: &'static str,
    text: &'static str,
    before: Vec<Vec<u32>>,
    behind: Vec<Vec<u32>>,
    own: Option<Vec<u32>>,
    /// True if a lane waits for another; the remarks must report it.
    waits: bool,
}

fn programs(lanes: u32) -> Vec<LockProgram> {
    let locked = |name, before: u32| LockProgram {
        name,
        text: LOCKS,
        before: vec![vec![0], vec![before]],
        behind: vec![vec![0], vec![before + lanes]],
        own: None,
        waits: true,
    };
    let served = (1..=lanes).fold(0u32, |sum, ticket| sum.wrapping_mul(10).wrapping_add(ticket));
    let mut flags = vec![0; lanes as usize];
    flags.push(7);
    let items: Vec<u32> = (0..3 * lanes + 5).map(|item| item * 7 + 1).collect();
    let mut head = vec![0, items.len() as u32];
    let behind =
        vec![vec![items.len() as u32 + lanes, items.len() as u32], items.iter().map(|it| it * it).collect()];
    head.truncate(2);
    vec![
        locked("spin", 10),
        locked("called", 0),
        // Tickets in reverse order: the last lane is the first.
        LockProgram {
            name: "ticket",
            text: LOCKS,
            before: vec![vec![0, 0], vec![0]],
            behind: vec![vec![lanes, lanes], vec![served]],
            own: Some((1..=lanes).rev().collect()),
            waits: true,
        },
        LockProgram {
            name: "flags",
            text: LOCKS,
            before: vec![flags],
            behind: vec![(0..=lanes).rev().map(|more| 7 + more).collect()],
            own: None,
            waits: true,
        },
        LockProgram {
            name: "queue",
            text: QUEUE,
            before: vec![head, items],
            behind,
            own: None,
            waits: false,
        },
    ]
}

fn bytes(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn widened(program: &LockProgram, lanes: u32, target: InstructionSet) -> Result<Module, String> {
    let mut module = parse_bytes(program.text.as_bytes()).map_err(|diagnostic| diagnostic[0].to_string())?;
    retain_reachable(&mut module, program.name);
    let words = ["vectorize", &format!("W={lanes}"), "params=varying", &format!("target={}", target.name())];
    let remarks = Session::default()
        .run_passes(&mut module, &words, true, |_, _| {})
        .map_err(|diagnostic| format!("@{}: {diagnostic}", program.name))?;
    let is_recorded = remarks.iter().any(|remark| remark.diagnostic.code == Code::Waits);
    match is_recorded == program.waits {
        true => Ok(module),
        false => Err(format!("@{}: the pass misjudges whether it waits", program.name)),
    }
}

/// Creates the call of a wide form with the objects of a program.
fn call(program: &LockProgram, entry: u32, func: &heddle_ir::Function) -> EntryCall {
    let (mut args, mut pointers) = (Vec::new(), Vec::new());
    for (index, param) in func.signature.params.iter().enumerate() {
        let start = args.len();
        match &program.own {
            Some(values) if index >= program.before.len() => args.extend(bytes(values)),
            _ => pointers.push((start as u32, index as u32)),
        }
        args.resize(start + slot_bytes(param.ty), 0);
    }
    let objects =
        program.before.iter().map(|numbers| CallObject { symbol: None, bytes: bytes(numbers) }).collect();
    let results = func.signature.results.iter().map(|result| slot_bytes(result.ty)).sum();
    EntryCall { entry, args, pointers, objects, results, ..EntryCall::default() }
}

/// Runs all programs natively on a target, in a folder; returns the errors and the number of calls.
pub fn check_locks(folder: &Path, target: InstructionSet) -> Result<(Vec<String>, usize), String> {
    let shop = Workshop::new(folder, target)?;
    let (mut parts, mut all) = (Vec::new(), Vec::new());
    for lanes in LANES {
        for program in programs(lanes) {
            let module = widened(&program, lanes, target)?;
            parts.push(WidePart { prefix: format!("w{lanes}.{}.", program.name), module });
            all.push((lanes, program));
        }
    }
    let (mut entries, mut calls) = (Vec::new(), Vec::new());
    for (part, (lanes, program)) in parts.iter().zip(&all) {
        let func = wide_form(&part.module, program.name, &[*lanes])
            .ok_or_else(|| format!("@{} has no form for {lanes} lanes", program.name))?;
        calls.push(call(program, entries.len() as u32, func));
        entries.push(part.entry(&func.name));
    }
    let options = EmitOptions { entries: true, ..EmitOptions::default() };
    let object = compile_parts(&mut NativeTally::default(), &parts, options, target, CodeQuality::Optimized);
    shop.write("locks.o", &object.map_err(|(_, reason)| reason)?)?;
    shop.link(&["locks.o"], &entries, &[])?;
    let outcomes = shop.run(&calls)?;
    let wrong = outcomes.iter().zip(&all).filter_map(|(outcome, (lanes, program))| {
        let reason = match outcome {
            CallOutcome::Done { is_damaged: true, .. } => "memory next to the objects is written".to_string(),
            CallOutcome::Done { objects, .. } => {
                let expected: Vec<Vec<u8>> = program.behind.iter().map(|numbers| bytes(numbers)).collect();
                let differs = objects.iter().zip(&expected).position(|(found, expected)| found != expected);
                format!("object {} holds something else", differs?)
            }
            CallOutcome::Silent => "it is not answered".into(),
            CallOutcome::Died(how) => how.clone(),
        };
        Some(format!("@{} in {lanes} lanes on {}: {reason}", program.name, target.name()))
    });
    Ok((wrong.collect(), calls.len()))
}
