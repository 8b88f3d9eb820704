//! Kernels that are loops over the grid, and a check that launches with a work-item for each iteration do the same.

use crate::divided::{Divide, DividedForms, DividingKernel, KernelText, lane_by_lane};
use crate::generate::Random;
use heddle_interp::{Argument, Datum, Memory, RunOptions, run};
use heddle_ir::{Module, Space, parse_module};
use std::fmt::Write as _;

/// Size in bytes of each array.
const BYTES: u64 = 512;

/// Outcome of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IterationOutcome {
    /// The iterations are not known to be independent.
    Kept,
    /// The kernel has a race of its own.
    Raced,
    /// Both launches do the same, the second one in so many dimensions.
    Equal(usize),
}

/// Makes a kernel of one dimension that is a loop up to the product of its two numbers. The array that it loads from is its last parameter.
pub fn grid_kernel(seed: u64) -> DividingKernel {
    let mut random = Random::new(seed);
    let mut kernel = KernelText::new(
        "kernel @k(v0: ptr(global) align 4, v1: i32, v2: i32, v3: i32, v4: ptr(global) align 4) {\nblock0:",
    );
    let item = kernel.condition("global_id i64, 0");
    let first = kernel.condition(&format!("trunc i32, v{item}"));
    let end = kernel.condition("mul v1, v2");
    let guarded = random.chance(80);
    if guarded {
        let end = if random.chance(90) { end } else { 3 };
        let inside = kernel.condition(&format!("icmp slt v{first}, v{end}"));
        _ = writeln!(kernel.text, "  br v{inside}, block1, block4\nblock1:");
    }
    let size = kernel.condition("global_size i64, 0");
    let size = kernel.condition(&format!("trunc i32, v{size}"));
    let address = |kernel: &mut KernelText, array: u32, index: u32| {
        let index = kernel.condition(&format!("sext i64, v{index}"));
        let offset = kernel.condition(&format!("shl v{index}, 2"));
        kernel.condition(&format!("ptradd v{array}, v{offset}"))
    };
    let before = random.chance(10).then(|| {
        let at = address(&mut kernel, 4, first);
        kernel.condition(&format!("load i32, v{at}"))
    });
    let index = kernel.skip();
    let (next, carried) = (500, random.chance(10));
    let source = if guarded { "block1" } else { "block0" };
    _ = writeln!(
        kernel.text,
        "  br block2\nblock2:\n  v{index} = phi i32 [{source}: v{first}], [block3: v{next}]"
    );
    if carried {
        _ = writeln!(kernel.text, "  v501 = phi i32 [{source}: 0], [block3: v502]");
    }
    let number = match random.chance(10) {
        true => {
            let last = kernel.condition("add v3, -1");
            kernel.condition(&format!("smin v{index}, v{last}"))
        }
        false => index,
    };
    let x = kernel.condition(&format!("urem v{number}, v1"));
    let y = kernel.condition(&format!("udiv v{number}, v1"));
    let sum = |kernel: &mut KernelText, one: u32, factor: &str, other: &str| {
        let product = kernel.condition(&format!("mul v{one}, {factor}"));
        kernel.condition(&format!("add v{product}, {other}"))
    };
    let place = match random.below(14) {
        0..4 => number,
        4 | 5 => sum(&mut kernel, x, "v2", &format!("v{y}")),
        6 => sum(&mut kernel, y, "v1", &format!("v{x}")),
        7 => x,
        8 => sum(&mut kernel, number, "2", &random.below(2).to_string()),
        9 => sum(&mut kernel, y, "v3", &format!("v{x}")),
        10 => sum(&mut kernel, x, "v3", &format!("v{y}")),
        11 => kernel.condition(&format!("lshr v{number}, 1")),
        12 => sum(&mut kernel, y, "v1", &format!("v{y}")),
        _ => first,
    };
    let mut value = kernel.condition(&format!("mul v{number}, 31"));
    if random.chance(60) {
        let place = random.pick(&[number, x, y, place]);
        let at = address(&mut kernel, 4, place);
        let loaded = kernel.condition(&format!("load i32, v{at}"));
        value = kernel.condition(&format!("add v{value}, v{loaded}"));
    }
    let to = address(&mut kernel, 0, place);
    if random.chance(30) {
        let at = if random.chance(70) { to } else { address(&mut kernel, 0, random.pick(&[x, number])) };
        let loaded = kernel.condition(&format!("load i32, v{at}"));
        value = kernel.condition(&format!("add v{value}, v{loaded}"));
    }
    let others = [before, carried.then_some(501)];
    for other in others.into_iter().flatten() {
        value = kernel.condition(&format!("add v{value}, v{other}"));
    }
    _ = writeln!(kernel.text, "  store v{value}, v{to}");
    if random.chance(25) {
        let to = kernel.condition(&format!("ptradd v{to}, i64 {}", random.pick(&[4, 4, 8])));
        _ = writeln!(kernel.text, "  store v{x}, v{to}");
    }
    if random.chance(10) {
        let leaves = kernel.condition(&format!("icmp sgt v{number}, v3"));
        _ = writeln!(kernel.text, "  br v{leaves}, block4, block3");
    } else {
        kernel.text += "  br block3\n";
    }
    _ = writeln!(kernel.text, "block3:\n  v{next} = add v{index}, v{size}");
    if carried {
        _ = writeln!(kernel.text, "  v502 = add v501, v{value}");
    }
    _ = writeln!(kernel.text, "  v503 = icmp slt v{next}, v{end}\n  br v503, block2, block4\nblock4:");
    if random.chance(8) {
        let to = kernel.condition("ptradd v0, i64 400");
        _ = writeln!(kernel.text, "  store v{first}, v{to}");
    }
    kernel.text += "  ret\n}\n";
    let numbers = [1 + random.below(6), 1 + random.below(4), 1 + random.below(6)].map(|it| it as u64);
    let module = parse_module(&kernel.text).unwrap_or_else(|it| panic!("{it:?}\n{}", kernel.text));
    DividingKernel { text: kernel.text, module, numbers, items: 1 + random.below(6) as u64 }
}

/// Checks that a launch with a work-item for each iteration does what one with fewer does, where the form says so. In a
/// fifth of the kernels both arrays are one.
pub fn spreads_iterations(kernel: &DividingKernel, divide: Divide<'_>) -> Result<IterationOutcome, String> {
    let original = kernel.module.function("k").ok_or("no kernel")?;
    let numbers = |parameter: u32| kernel.numbers.get(parameter.checked_sub(1)? as usize).copied();
    let Some(DividedForms { forms, mut extents, limits, iterations: Some(hold), .. }) =
        divide(original, &numbers)
    else {
        return Ok(IterationOutcome::Kept);
    };
    let end = limits.iter().copied().max().unwrap_or_default();
    let whole: u64 = extents.iter().product();
    extents.push(end.div_ceil(whole));
    let is_one = kernel.text.len().is_multiple_of(5);
    let object = |parameter: u32| match parameter {
        0 => Some(0..BYTES),
        4 if is_one => Some(0..BYTES),
        4 => Some(BYTES..2 * BYTES),
        _ => None,
    };
    if end <= kernel.items || !hold(&extents, &object) {
        return Ok(IterationOutcome::Kept);
    }
    let Ok(before) = launch(kernel, &kernel.module, "k", &[kernel.items], None, is_one) else {
        return Ok(IterationOutcome::Raced);
    };
    let count = (!end.is_multiple_of(whole)).then_some(end);
    let name = forms[usize::from(count.is_some())].name.clone();
    let mut module = kernel.module.clone();
    module.functions.extend(forms);
    heddle_ir::verify::verify_module(&module, heddle_ir::verify::Stage::Source)
        .map_err(|reasons| format!("{reasons:?}"))?;
    let after = launch(kernel, &module, &name, &extents, count, is_one)?;
    match before == after {
        true => Ok(IterationOutcome::Equal(extents.len())),
        false => Err(format!("{extents:?} differs from {}\n{}{}", kernel.items, kernel.text, module)),
    }
}

/// Memory after a launch; an error if work-items race.
fn launch(
    kernel: &DividingKernel,
    module: &Module,
    name: &str,
    extents: &[u64],
    count: Option<u64>,
    is_one: bool,
) -> Result<Vec<u8>, String> {
    let bytes = |factor: u64| (0..BYTES).map(|at| (at * factor % 251) as u8).collect::<Vec<u8>>();
    let mut memory = Memory::new();
    let out = memory.add(Space::Global, Some("out"), 16, bytes(7));
    let from = if is_one { out } else { memory.add(Space::Global, Some("in"), 16, bytes(13)) };
    let numbers = kernel.numbers.map(|it| Datum::Bits(it.into()));
    let arguments = [Datum::Bits(out.into())].into_iter().chain(numbers).chain([Datum::Bits(from.into())]);
    let arguments: Vec<Argument> =
        arguments.chain(count.map(|it| Datum::Bits(it.into()))).map(Argument::Uniform).collect();
    let options = RunOptions { detect_races: true, ..lane_by_lane(extents) };
    run(module, name, &arguments, &mut memory, &options).map_err(|fault| format!("{fault:?}\n{module}"))?;
    let object = memory.objects().find(|object| object.name.as_deref() == Some("out"));
    Ok(object.ok_or("no memory")?.bytes.clone())
}
