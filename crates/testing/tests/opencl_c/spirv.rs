//! SPIR-V: the programs of `tests/opencl-c` and of the benchmark, as clang writes them, give what their sources give.

use crate::folder;
use heddle_builtins::{OpenClModule, compile_spirv};
use heddle_ir::Module;
use heddle_ir::module::FunctionKind;
use heddle_runs::line::RunLine;
use heddle_spirv::SpirvOptions;
use heddle_testing::generate::Random;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the SPIR-V module that clang makes of a source; none if clang cannot.
fn emitted(source: &Path, more: &[&str]) -> Option<Vec<u8>> {
    let fixed =
        "--target=spirv64-unknown-unknown -cl-std=CL2.0 -Xclang -finclude-default-header -c -x cl -o -";
    let output = Command::new("clang-22").args(fixed.split(' ')).args(more).arg(source).output();
    let output = output.unwrap_or_else(|reason| panic!("clang-22 cannot be started: {reason}"));
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        let first = messages.lines().find(|line| line.contains("error")).unwrap_or_default();
        println!("skipped: clang writes no SPIR-V of {}: {first}", source.display());
    }
    output.status.success().then_some(output.stdout)
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == "cl"));
    paths.sort();
    paths
}

/// A program that is taken as a whole.
fn program(path: &Path, bytes: &[u8]) -> OpenClModule {
    let name = path.display().to_string();
    let program = compile_spirv(bytes, &name, &SpirvOptions::default(), &[]);
    let program = program.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(program.refused.is_empty(), "{name}: {}", program.refused[0]);
    program
}

fn kernels(module: &Module) -> Vec<String> {
    let kernels = module.functions.iter().filter(|func| func.kind != FunctionKind::Function);
    let mut names: Vec<String> = kernels.map(|func| func.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn programs_do_in_spirv_what_they_say() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in sources(&folder()) {
        let Some(bytes) = emitted(&path, &[]) else { continue };
        let program = program(&path, &bytes);
        let text = std::fs::read_to_string(&path).expect("it can be read");
        for line in text.lines().filter_map(|line| line.strip_prefix("; run:")) {
            count += 1;
            let outcome = RunLine::parse(line.trim()).and_then(|run| {
                let ran = run.run(&program.module, &run.options)?;
                run.check(&program.module, &ran)
            });
            match outcome {
                Ok(None) => {}
                Ok(Some(found)) => wrong.push(format!("{}: {line}\n  gives {found}", path.display())),
                Err(error) => wrong.push(format!("{}: {line}\n  {error}", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 20, "only {count} lines ran");
}

#[test]
fn benchmarks_have_their_kernels_in_spirv() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/opencl");
    let mut count = 0;
    for path in sources(&folder) {
        let Some(bytes) = emitted(&path, &[]) else { continue };
        let found = kernels(&program(&path, &bytes).module);
        let source = std::fs::read_to_string(&path).expect("it can be read");
        let name = path.display().to_string();
        let expected = heddle_builtins::compile(&source, &name, &["-cl-std=CL2.0".into()]);
        let expected = kernels(&expected.unwrap_or_else(|log| panic!("{log}")).module);
        assert_eq!(found, expected, "{name}");
        count += found.len();
    }
    assert!(count > 20, "only {count} kernels");
}

/// Modules that the changed ones start from.
fn seeds() -> Vec<Vec<u8>> {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/opencl");
    let paths = sources(&folder()).into_iter().chain(sources(&bench));
    paths.filter_map(|path| emitted(&path, &[])).collect()
}

/// Offsets of a module's instructions, in words.
fn instructions(words: &[u32]) -> Vec<usize> {
    let mut found = vec![5];
    while let Some(&first) = found.last().and_then(|&at| words.get(at)) {
        let next = found[found.len() - 1] + (first >> 16).max(1) as usize;
        found.push(next);
    }
    found.retain(|&at| at < words.len());
    found
}

/// Changes a module: cuts it, flips bits, swaps words, moves, repeats or removes instructions, or exchanges ids.
fn change(words: &mut Vec<u32>, random: &mut Random) {
    let count = words.len();
    let insts = instructions(words);
    let inst = insts[random.below(insts.len())];
    let size = ((words[inst] >> 16).max(1) as usize).min(count - inst);
    match random.below(8) {
        0 => words.truncate(random.below(count)),
        1 => words[random.below(count)] ^= 1 << random.below(32),
        2 => words.swap(random.below(count), random.below(count)),
        3 => {
            words.drain(inst..inst + size);
        }
        4 => {
            let copy = words[inst..inst + size].to_vec();
            let at = insts[random.below(insts.len())];
            words.splice(at..at, copy);
        }
        5 if size > 1 => words[inst + 1 + random.below(size - 1)] = random.below(600) as u32,
        6 => {
            let other = insts[random.below(insts.len())];
            words[inst] = words[inst] & 0xffff_0000 | words[other] & 0xffff;
        }
        _ => {
            // An operand of another instruction, which often is an id of another kind.
            let other = insts[random.below(insts.len())];
            let from = (other + 1).min(count - 1);
            if size > 1 {
                words[inst + 1 + random.below(size - 1)] = words[from];
            }
        }
    }
}

/// Changed modules are taken or refused with a reason; none crashes or hangs. `HEDDLE_FUZZ_MODULES` gives their number.
#[test]
fn changed_modules_are_taken_or_refused() {
    let count =
        std::env::var("HEDDLE_FUZZ_MODULES").ok().and_then(|count| count.parse().ok()).unwrap_or(5000);
    let seeds = seeds();
    let mut random = Random::new(22);
    let (mut taken, mut refused) = (0u32, 0u32);
    let mut slowest = std::time::Duration::ZERO;
    for _ in 0..count {
        let seed = &seeds[random.below(seeds.len())];
        let (chunks, _) = seed.as_chunks::<4>();
        let mut words: Vec<u32> = chunks.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect();
        for _ in 0..1 + random.below(3) {
            if words.len() > 8 {
                change(&mut words, &mut random);
            }
        }
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(bytes.len() - [0, 0, 0, 1][random.below(4)].min(bytes.len()));
        let start = std::time::Instant::now();
        match compile_spirv(&bytes, "changed.spv", &SpirvOptions::default(), &[]) {
            Ok(_) => taken += 1,
            Err(error) => {
                let text = error.to_string();
                assert!(!text.contains("mistake in Heddle") && text.len() > 20, "{text}");
                refused += 1;
            }
        }
        slowest = slowest.max(start.elapsed());
    }
    println!("{taken} taken, {refused} refused, slowest {slowest:?}");
    assert!(slowest.as_secs() < 60, "a module takes {slowest:?}");
    assert!(taken > count / 20 && refused > count / 20, "{taken} taken, {refused} refused");
}
