//! Faults planted into run-time selection: the plugin's output is changed as a wrong rule would have made it, and the program prints
//! something else. `tests/loops/selection.c` runs each loop with short and long trip counts.
#![forbid(unsafe_code)]

mod common;

use common::{Scratch, plugin, run, sources};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Passes that bring clang's output to the form in which the plugin gets it.
const PASSES: &str = "function(sroa,early-cse,instcombine,simplifycfg,loop-mssa(loop-rotate,licm),loop(indvars),instcombine,\
                      simplifycfg),heddle,verify";

/// Fault: changes the lines of a function, and returns how many places it found.
type IrFault = fn(&mut [String]) -> usize;

const FAULTS: [(&str, IrFault); 4] = [
    ("iterations of trials run again", repeat_trials),
    ("an iteration after those that ran is skipped", skip_iterations),
    ("inductions do not continue where the previous code stopped", restart_inductions),
    ("a side goes on with the other side's choice", swap_sides),
];

/// Splits `%name = phi i64 [ a, %x ], [ b, %y ]` into the name and the pairs.
fn phi(line: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let (name, operands) = line.trim().split_once(" = phi i64 [ ")?;
    let operands = operands.trim_end().strip_suffix(" ]")?;
    Some((name, operands.split(" ], [ ").map(|pair| pair.split_once(", ")).collect::<Option<_>>()?))
}

/// Replaces the φ `%now`, the first iteration that has not run, by other lines.
fn replace_next(lines: &mut [String], new: impl Fn(&str, &str, &[(&str, &str)]) -> Vec<String>) -> usize {
    let mut places = 0;
    for number in 0..lines.len() {
        let text = lines[number].clone();
        let Some((name, operands)) = phi(&text).filter(|(name, _)| name.starts_with("%now")) else {
            continue;
        };
        let mut readers = lines.iter().filter_map(|line| phi(line));
        let Some((at, _)) = readers.find(|(_, pairs)| pairs.iter().any(|(value, _)| *value == name)) else {
            continue;
        };
        let at = at.to_string();
        lines[number] = new(name, &at, &operands).join("\n");
        places += 1;
    }
    places
}

fn repeat_trials(lines: &mut [String]) -> usize {
    replace_next(lines, |name, at, operands| {
        let [(_, trial), rest @ ..] = operands else { return Vec::new() };
        let rest: String = rest.iter().map(|(value, from)| format!(", [ {value}, {from} ]")).collect();
        vec![format!("  {name} = phi i64 [ {at}, {trial} ]{rest}")]
    })
}

fn skip_iterations(lines: &mut [String]) -> usize {
    replace_next(lines, |name, _, operands| {
        let pair = |number: usize, value: &str, from: &str| match number {
            0 => (format!("[ {value}, {from} ]"), format!("[ 0, {from} ]")),
            _ => (format!("[ {value}, {from} ]"), format!("[ 1, {from} ]")),
        };
        let pairs = operands.iter().enumerate().map(|(number, (value, from))| pair(number, value, from));
        let (values, skipped): (Vec<_>, Vec<_>) = pairs.unzip();
        vec![
            format!("  {name}.ran = phi i64 {}", values.join(", ")),
            format!("  {name}.skipped = phi i64 {}", skipped.join(", ")),
            format!("  {name} = add i64 {name}.ran, {name}.skipped"),
        ]
    })
}

fn restart_inductions(lines: &mut [String]) -> usize {
    let is_start = |line: &&mut String| {
        (line.contains(" = mul ") || line.contains(" = trunc ")) && line.contains("%heddle.first")
    };
    lines.iter_mut().filter(is_start).map(|line| *line = line.replace("%heddle.first", "0")).count()
}

/// Swaps the sides of branches that the plugin made of choices; the first side has an empty assembly statement.
fn swap_sides(lines: &mut [String]) -> usize {
    let (mut block, mut sides) = (String::new(), Vec::new());
    for line in lines.iter() {
        if let Some((label, _)) = line.split_once(':').filter(|_| !line.starts_with(' ')) {
            block = format!("%{label}");
        }
        if line.contains("asm sideeffect \"\"") {
            sides.push(block.clone());
        }
    }
    let mut places = 0;
    for line in lines {
        let Some((head, targets)) = line.split_once(", label ").filter(|(head, _)| head.contains("br i1 "))
        else {
            continue;
        };
        let Some((then, rest)) =
            targets.split_once(", label ").filter(|(then, _)| sides.iter().any(|it| it == then))
        else {
            continue;
        };
        let (other, end) =
            rest.split_once(", ").map_or((rest, String::new()), |(it, end)| (it, format!(", {end}")));
        *line = format!("{head}, label {other}, label {then}{end}");
        places += 1;
    }
    places
}

/// Compiles IR to a program, and returns what it prints; some faults make it run without end.
fn printed(text: &str, folder: &Path, seconds: &str) -> Vec<u8> {
    let (source, program) = (folder.join("selection.ll"), folder.join("selection"));
    fs::write(&source, text).expect("a text can be written");
    run(Command::new("clang-22")
        .args(["-w", "-O2", "-march=native"])
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .arg("-lm"));
    Command::new("timeout").args(["-s", "KILL", seconds]).arg(&program).output().expect("it runs").stdout
}

#[test]
fn faults_planted_into_the_selection_are_noticed() {
    if Command::new("opt-22").arg("--version").output().is_err() {
        return;
    }
    let (source, scratch) = (sources().join("selection.c"), Scratch::new("selection-faults"));
    let clang = |options: &[&str], made: &Path| {
        let mut command = Command::new("clang-22");
        run(command.args(["-w", "-ffp-contract=off"]).args(options).arg(&source).arg("-o").arg(made));
    };
    let plain = scratch.0.join("plain");
    clang(&["-O1", "-lm"], &plain);
    let expected = run(&mut Command::new(&plain)).stdout;
    let bitcode = scratch.0.join("selection.bc");
    let options = ["-O2", "-march=native", "-fopenmp-simd", "-fno-vectorize", "-fno-discard-value-names"];
    clang(&[&options[..], &["-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c"]].concat(), &bitcode);
    let mut opt = Command::new("opt-22");
    opt.arg(format!("-load-pass-plugin={}", plugin().display())).arg(format!("-passes={PASSES}"));
    let text = String::from_utf8(run(opt.args(["-S", "-o", "-"]).arg(&bitcode)).stdout).expect("IR is text");
    assert!(printed(&text, &scratch.0, "60") == expected, "without a fault");
    for (name, fault) in FAULTS {
        let mut places = 0;
        let functions = text.split_inclusive("\n}\n").map(|function| {
            let mut lines: Vec<String> = function.lines().map(String::from).collect();
            places += fault(&mut lines);
            lines.join("\n") + "\n"
        });
        let wrong: String = functions.collect();
        assert!(places > 0, "{name}: no place for it");
        assert!(printed(&wrong, &scratch.0, "3") != expected, "{name}: not noticed");
    }
}
