//! Functions of vectors give in each element what the function of scalars gives.

use crate::half::ENABLE;
use crate::{by_oracle, compiled};
use heddle_llvm::{OpenClOptions, declared_functions, f16_bits};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Functions that count bits differently on vectors than on scalars.
const OTHERS: [&str; 20] = [
    "select",
    "isequal",
    "isnotequal",
    "isgreater",
    "isgreaterequal",
    "isless",
    "islessequal",
    "islessgreater",
    "isordered",
    "isunordered",
    "isfinite",
    "isinf",
    "isnan",
    "isnormal",
    "signbit",
    "any",
    "all",
    "dot",
    "length",
    "distance",
];
const MORE: [&str; 6] = ["cross", "normalize", "fast_length", "fast_distance", "fast_normalize", "shuffle"];

/// The type of the elements, and how many there are.
fn split(ty: &str) -> (&str, usize) {
    let digits = ty.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (base, width) = ty.split_at(ty.len() - digits);
    (base, width.parse().unwrap_or(1))
}

const NUMBERS: [&str; 11] =
    ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double"];

/// Result and parameters, if all of them are numbers and vectors of such.
fn types(ty: &str) -> Option<Vec<String>> {
    let (result, params) = ty.split_once('(')?;
    let words = [result].into_iter().chain(params.trim_end_matches(')').split(','));
    let clean = |word: &str| word.trim().trim_start_matches("__private ").to_string();
    let list: Vec<String> = words.map(clean).collect();
    list.iter().all(|ty| NUMBERS.contains(&split(ty).0)).then_some(list)
}

/// The name for scalars: `convert_int_rte` of `convert_int4_rte`.
fn scalar_name(name: &str) -> String {
    let Some(rest) = name.strip_prefix("convert_") else { return name.into() };
    let (ty, mode) =
        rest.split_once('_').map_or((rest, String::new()), |(ty, mode)| (ty, format!("_{mode}")));
    format!("convert_{}{mode}", split(ty).0)
}

#[test]
fn elements_are_what_scalars_are() {
    let header = heddle_builtins::HEADER;
    let options = OpenClOptions { words: vec!["-cl-std=CL2.0".into()], ..OpenClOptions::default() };
    let declared = declared_functions(header, &options, false).unwrap_or_else(|log| panic!("{log}"));
    let all: BTreeSet<(String, Vec<String>)> =
        declared.iter().filter_map(|it| Some((it.name.clone(), types(&it.ty)?))).collect();
    let mut source = String::from(ENABLE);
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, list) in &all {
        let width = split(&list[0]).1;
        let scalar = scalar_name(name);
        let elements: Vec<String> = list.iter().map(|ty| split(ty).0.to_string()).collect();
        // Floats, halves and an integer type represent all types, which have the same patterns.
        let is_sample = ["float", "half", "short"].contains(&&*elements[0])
            && elements[1..].iter().all(|it| it != "double");
        let is_elementwise = width > 1 && is_sample && !OTHERS.contains(&&**name) && !MORE.contains(&&**name);
        let asks_lanes = name.starts_with("sub_group");
        if asks_lanes || !is_elementwise || !all.contains(&(scalar.clone(), elements.clone())) {
            continue;
        }
        let function = format!("check_{}", names.len());
        let params: Vec<String> =
            (1..list.len()).map(|index| format!("{} x{index}", elements[index])).collect();
        _ = writeln!(source, "int {function}({}) {{", params.join(", "));
        let mut vectors = Vec::new();
        for index in 1..list.len() {
            if split(&list[index]).1 == 1 {
                vectors.push(format!("x{index}"));
                continue;
            }
            let part = |k: usize| format!("({})(x{index} + {k})", elements[index]);
            let parts: Vec<String> = (0..width).map(part).collect();
            _ = writeln!(source, "  {} v{index} = ({})({});", list[index], list[index], parts.join(", "));
            vectors.push(format!("v{index}"));
        }
        _ = writeln!(source, "  {} r = {name}({});\n  int wrong = 0;", list[0], vectors.join(", "));
        for k in 0..width {
            let at =
                |text: &String| if text.starts_with('v') { format!("{text}.s{k:x}") } else { text.clone() };
            let args: Vec<String> = vectors.iter().map(at).collect();
            _ = writeln!(
                source,
                "  {{ {0} one = {scalar}({1}); wrong |= !(r.s{k:x} == one || (r.s{k:x} != r.s{k:x} && one != one)); }}",
                elements[0],
                args.join(", ")
            );
        }
        source.push_str("  return wrong;\n}\n");
        names.insert(function, vec![format!("{name}{list:?}")]);
        names.entry(format!("check_{}", names.len() - 1)).or_default().extend(elements);
    }
    assert!(names.len() > 700, "{}", names.len());
    let module = compiled(&source);
    for (function, message) in &names {
        let column = |ty: &String| -> Vec<u64> {
            let number = |lane: u64| match &**ty {
                "float" => u64::from((0.37f32 * lane as f32 - 2.1).to_bits()),
                "half" => u64::from(f16_bits(0.37 * lane as f64 - 2.1)),
                "double" => (0.37 * lane as f64 - 2.1).to_bits(),
                "char" | "uchar" => (lane * 37 + 200) & 0xff,
                "short" | "ushort" => (lane * 9000 + 30_000) & 0xffff,
                "long" | "ulong" => (lane << 61).wrapping_add(lane * 77).wrapping_sub(3),
                _ => (lane << 29).wrapping_add(lane * 77).wrapping_sub(3) & 0xffff_ffff,
            };
            (0..8).map(number).collect()
        };
        let columns: Vec<Vec<u64>> = message[2..].iter().map(column).collect();
        let found = &by_oracle(&module, function, &columns)[0];
        assert!(found.iter().all(|&wrong| wrong == 0), "{}: {found:?}", message[0]);
    }
    println!("{} functions", names.len());
}
