//! SPIR-V: changed modules are taken or refused with a reason.

use crate::folder;
use crate::spirv::{emitted, sources};
use heddle_builtins::compile_spirv;
use heddle_spirv::SpirvOptions;
use heddle_testing::generate::Random;
use std::path::Path;

/// Modules that the changed ones start from: those of a folder that `HEDDLE_FUZZ_MODULES_FROM` names, or what clang writes.
fn seeds() -> Vec<Vec<u8>> {
    if let Some(folder) = std::env::var_os("HEDDLE_FUZZ_MODULES_FROM") {
        let entries = std::fs::read_dir(folder).expect("the folder can be listed");
        let mut paths: Vec<_> =
            entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|found| found == "spv"));
        paths.sort();
        return paths.iter().map(|path| std::fs::read(path).expect("it can be read")).collect();
    }
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/opencl");
    let paths = sources(&folder()).into_iter().chain(sources(&bench));
    paths.filter_map(|path| emitted(&path, &[])).collect()
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect()
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

/// Changes a module: cuts it, flips bits, swaps words, repeats, removes or reorders instructions, exchanges ids, or takes instructions
/// of another module.
fn change(words: &mut Vec<u32>, other: &[u32], random: &mut Random) {
    let count = words.len();
    let insts = instructions(words);
    let inst = insts[random.below(insts.len())];
    let size = ((words[inst] >> 16).max(1) as usize).min(count - inst);
    match random.below(11) {
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
        7 => {
            // A run of instructions goes elsewhere: a function, a block or a few types.
            let from = random.below(insts.len());
            let to = (from + 1 + random.below(30)).min(insts.len());
            let end = insts.get(to).copied().unwrap_or(count);
            let part: Vec<u32> = words.drain(insts[from]..end).collect();
            let at = insts[random.below(from + 1)];
            words.splice(at..at, part);
        }
        8 => {
            // Two neighbours are exchanged.
            let next = inst + size;
            let second =
                words.get(next).map_or(0, |first| (first >> 16) as usize).min(count.saturating_sub(next));
            words[inst..next + second].rotate_left(size);
        }
        9 => {
            // Instructions of another module, with its ids.
            let others = instructions(other);
            let from = random.below(others.len());
            let to = (from + 1 + random.below(4)).min(others.len());
            let end = others.get(to).copied().unwrap_or(other.len());
            words.splice(inst..inst, other[others[from]..end].iter().copied());
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

fn number_of(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Changed modules are taken or refused with a reason; none crashes or hangs. `HEDDLE_FUZZ_MODULES` gives their number.
#[test]
fn changed_modules_are_taken_or_refused() {
    let count = number_of("HEDDLE_FUZZ_MODULES", 5000) as u32;
    let seeds = seeds();
    let mut random = Random::new(number_of("HEDDLE_FUZZ_SEED", 22));
    let (mut taken, mut refused) = (0u32, 0u32);
    let mut slowest = std::time::Duration::ZERO;
    for _ in 0..count {
        let seed = &seeds[random.below(seeds.len())];
        let other = words_of(&seeds[random.below(seeds.len())]);
        let mut words = words_of(seed);
        for _ in 0..1 + random.below(3) {
            if words.len() > 8 {
                change(&mut words, &other, &mut random);
            }
        }
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(bytes.len() - [0, 0, 0, 1][random.below(4)].min(bytes.len()));
        let start = std::time::Instant::now();
        match compile_spirv(&bytes, "changed.spv", &SpirvOptions::default(), &[]) {
            Ok(_) => taken += 1,
            Err(error) => {
                let text = error.to_string();
                // LLVM ends the thread where it finds a module broken; no rule is left to it.
                let is_ours = !text.contains("mistake in Heddle") && !text.contains("Broken module");
                assert!(is_ours && text.len() > 20, "{text}");
                refused += 1;
            }
        }
        slowest = slowest.max(start.elapsed());
    }
    println!("{taken} taken, {refused} refused, slowest {slowest:?}");
    assert!(slowest.as_secs() < 60, "a module takes {slowest:?}");
    assert!(taken > count / 20 && refused > count / 20, "{taken} taken, {refused} refused");
}
