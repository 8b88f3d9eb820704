//! SPIR-V: each OpenCL.std instruction that the lowering takes is a builtin that the library has.

use heddle_builtins::LIBRARIES;
use heddle_llvm::is_imported_builtin;
use heddle_spirv::{SpirvOptions, UNSUPPORTED, lower};
use std::collections::{BTreeMap, BTreeSet};

/// Ids of scalar types in [`module`]; vectors of 2, 3, 4, 8, 16 follow each.
const BASES: [&str; 7] = ["char", "short", "int", "long", "half", "float", "double"];
const COUNTS: [u32; 6] = [1, 2, 3, 4, 8, 16];
/// First id of the types.
const FIRST: u32 = 20;
/// Storage classes of pointers: Function, CrossWorkgroup, Workgroup, Generic, UniformConstant.
const CLASSES: [u32; 5] = [7, 5, 4, 8, 0];

fn type_id(base: usize, count: usize) -> u32 {
    FIRST + (base * COUNTS.len() + count) as u32
}

fn pointer_id(class: usize, ty: u32) -> u32 {
    1000 + 100 * class as u32 + ty
}

fn inst(words: &mut Vec<u32>, op: u32, operands: &[u32]) {
    words.push(((operands.len() as u32 + 1) << 16) | op);
    words.extend_from_slice(operands);
}

fn text(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((text.len() / 4 + 1) * 4, 0);
    bytes.as_chunks().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect()
}

/// Defines a type and the types that it is made of.
fn define(words: &mut Vec<u32>, ty: u32, known: &mut BTreeSet<u32>) {
    if !known.insert(ty) {
        return;
    }
    if ty >= 1000 {
        let (class, pointee) = ((ty - 1000) / 100, (ty - 1000) % 100);
        define(words, pointee, known);
        inst(words, 32, &[ty, CLASSES[class as usize], pointee]);
        return;
    }
    let (base, count) = ((ty - FIRST) as usize / COUNTS.len(), (ty - FIRST) as usize % COUNTS.len());
    if count > 0 {
        let scalar = type_id(base, 0);
        define(words, scalar, known);
        inst(words, 23, &[ty, scalar, COUNTS[count]]);
        return;
    }
    match BASES[base] {
        "char" => inst(words, 21, &[ty, 8, 0]),
        "short" => inst(words, 21, &[ty, 16, 0]),
        "int" => inst(words, 21, &[ty, 32, 0]),
        "long" => inst(words, 21, &[ty, 64, 0]),
        "half" => inst(words, 22, &[ty, 16]),
        "float" => inst(words, 22, &[ty, 32]),
        _ => inst(words, 22, &[ty, 64]),
    }
}

/// A kernel with one instruction of OpenCL.std: result type, types of operands, literals behind them.
fn module(op: u32, result: u32, operands: &[u32], literals: &[u32]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 4000, 0];
    inst(&mut words, 11, &[&[1][..], &text("OpenCL.std")].concat());
    inst(&mut words, 14, &[2, 2]);
    inst(&mut words, 15, &[&[6, 2][..], &text("k")].concat());
    inst(&mut words, 19, &[3]);
    let mut known = BTreeSet::from([3]);
    for &ty in operands.iter().chain([&result]) {
        define(&mut words, ty, &mut known);
    }
    inst(&mut words, 33, &[&[4, 3][..], operands].concat());
    inst(&mut words, 54, &[3, 2, 0, 4]);
    let ids: Vec<u32> = (0..operands.len() as u32).map(|index| 3000 + index).collect();
    for (&id, &ty) in ids.iter().zip(operands) {
        inst(&mut words, 55, &[ty, id]);
    }
    inst(&mut words, 248, &[5]);
    inst(&mut words, 12, &[&[result, 6, 1, op][..], &ids, literals].concat());
    inst(&mut words, 253, &[]);
    inst(&mut words, 56, &[]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Names of the functions that a lowered module declares.
fn declared(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("declare spir_func "));
    lines.filter_map(|line| line.split('"').nth(1)).map(Into::into).collect()
}

/// A kernel with one reduction or scan of a group.
fn group_module(op: u32, ty: u32, scope: u32, operation: u32) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 4000, 0];
    inst(&mut words, 14, &[2, 2]);
    inst(&mut words, 15, &[&[6, 2][..], &text("k")].concat());
    inst(&mut words, 19, &[3]);
    let mut known = BTreeSet::from([3]);
    define(&mut words, type_id(2, 0), &mut known);
    match ty {
        BOOL => inst(&mut words, 20, &[BOOL]),
        _ => define(&mut words, ty, &mut known),
    }
    inst(&mut words, 33, &[4, 3]);
    inst(&mut words, 43, &[type_id(2, 0), 8, scope]);
    inst(&mut words, 43, &[type_id(2, 0), 11, 4]);
    inst(&mut words, 46, &[ty, 9]);
    inst(&mut words, 54, &[3, 2, 0, 4]);
    inst(&mut words, 248, &[5]);
    let size = (operation == CLUSTERED).then_some(11);
    inst(&mut words, op, &[&[ty, 6, 8, operation, 9][..], size.as_slice()].concat());
    inst(&mut words, 253, &[]);
    inst(&mut words, 56, &[]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// `ClusteredReduce`.
const CLUSTERED: u32 = 3;
/// Id of the type of bits in [`group_module`].
const BOOL: u32 = 10;

#[test]
fn each_reduction_of_groups_is_a_builtin() {
    let ops: Vec<u32> = (264..=271).chain(349..=364).chain(6401..=6408).collect();
    let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
    let mut missing = BTreeSet::new();
    for &op in &ops {
        let types = (0..BASES.len()).flat_map(|base| [type_id(base, 0), type_id(base, 3)]).chain([BOOL]);
        for ty in types {
            for (scope, operation) in [(2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2), (3, CLUSTERED)] {
                let lowered = lower(&group_module(op, ty, scope, operation), &SpirvOptions::default());
                let Ok(text) = lowered else { continue };
                let names = declared(&text);
                if names.iter().any(|name| name.starts_with(UNSUPPORTED)) {
                    continue;
                }
                *taken.entry(op).or_default() += 1;
                missing.extend(names.into_iter().filter(|name| {
                    !LIBRARIES.iter().any(|library| library.names.binary_search(&&**name).is_ok())
                }));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(taken.keys().copied().collect::<Vec<u32>>(), ops, "{taken:?}");
}

#[test]
fn each_instruction_of_opencl_std_is_a_builtin() {
    let (int, long, float) = (2, 3, 5);
    let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
    let mut missing = Vec::new();
    let mut attempt = |op: u32, result: u32, operands: &[u32], literals: &[u32]| {
        let Ok(text) = lower(&module(op, result, operands, literals), &SpirvOptions::default()) else {
            return;
        };
        let names = declared(&text);
        if names.iter().any(|name| name.starts_with(UNSUPPORTED)) {
            return;
        }
        *taken.entry(op).or_default() += 1;
        missing.extend(names.into_iter().filter(|name| {
            let is_known = LIBRARIES.iter().any(|library| library.names.binary_search(&&**name).is_ok());
            !is_known && !is_imported_builtin(name)
        }));
    };
    let ops: Vec<u32> = (0..=110).chain(141..=187).chain(201..=204).collect();
    for &op in &ops {
        for base in 0..BASES.len() {
            for (count, &elements) in COUNTS.iter().enumerate() {
                let ty = type_id(base, count);
                let ints = type_id(int, count);
                let same_ints = type_id([0, 1, 2, 3, 1, 2, 3][base], count);
                let mut lists =
                    vec![vec![ty], vec![ty; 2], vec![ty; 3], vec![ty, ints], vec![ty, ty, same_ints]];
                for class in 0..CLASSES.len() {
                    let pointers = [ty, ints].map(|ty| pointer_id(class, ty));
                    lists.extend(pointers.map(|pointer| vec![ty, pointer]));
                    lists.extend(pointers.map(|pointer| vec![ty, ty, pointer]));
                }
                let wide = type_id((base + 1).min(6), count);
                let floats = type_id([4, 4, 5, 6, 4, 5, 6][base], count);
                let mut results = vec![ty, type_id(base, 0), ints, wide, floats];
                results.sort_unstable();
                results.dedup();
                for list in &lists {
                    for &result in &results {
                        attempt(op, result, list, &[]);
                    }
                }
                // Masks of another length.
                for picked in 1..COUNTS.len() {
                    let mask = type_id([0, 1, 2, 3, 1, 2, 3][base], picked);
                    attempt(op, type_id(base, picked), &[ty, mask], &[]);
                    attempt(op, type_id(base, picked), &[ty, ty, mask], &[]);
                }
                // Vectors in memory.
                for class in 0..CLASSES.len() {
                    for element in [base, 4] {
                        let pointer = pointer_id(class, type_id(element, 0));
                        let offset = type_id(long, 0);
                        attempt(op, ty, &[offset, pointer], &[]);
                        attempt(op, ty, &[offset, pointer], &[elements]);
                        attempt(op, 3, &[ty, offset, pointer], &[]);
                        for mode in 0..4 {
                            attempt(op, 3, &[ty, offset, pointer], &[mode]);
                        }
                    }
                }
            }
        }
        let format = pointer_id(4, type_id(0, 0));
        attempt(op, type_id(int, 0), &[format, type_id(float, 3), type_id(int, 0)], &[]);
        attempt(op, 3, &[pointer_id(1, type_id(int, 0)), type_id(long, 0)], &[]);
    }
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "{} builtins are missing: {missing:?}", missing.len());
    let never: Vec<u32> = ops.into_iter().filter(|op| !taken.contains_key(op)).collect();
    assert!(never.is_empty(), "never taken: {never:?}");
    let total: u32 = taken.values().sum();
    println!("{total} forms of {} instructions", taken.len());
    assert!(total > 3000, "only {total} forms");
}
