//! Kernels that compute indices, and a check that launches which keep their promises do the same with these.

use crate::divided::KernelText;
use crate::generate::Random;
use heddle_interp::{Argument, Datum, LaunchGeometry, Memory, RunLimits, RunOptions, run};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Function, Module, Space, parse_module};
use std::fmt::Write as _;

/// Maximum number of steps of a launch. Some loops do not end.
const MOST_STEPS: u64 = 20_000;
/// Number of cells that a kernel stores to.
const CELLS: u64 = 64;
/// Bytes of memory.
const MEMORY: usize = 1024;

/// Kernel and a launch of it.
#[derive(Clone, Debug)]
pub struct IndexKernel {
    pub(crate) text: String,
    pub(crate) module: Module,
    pub(crate) numbers: [u64; 3],
    pub(crate) global: [u64; 3],
    pub(crate) offset: [u64; 3],
    pub(crate) local: [u64; 3],
}

/// Outcome of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexOutcome {
    /// Nothing is promised.
    None,
    /// The launch does not keep a promise.
    Broken,
    /// The kernel itself faults, or does not end.
    Faulty,
    /// The launch does the same with the promises.
    Equal,
}

/// Makes a kernel promise what launches of these extents, offsets, group sizes and parameters keep: none if nothing is promised, `Some(None)` if
/// the launch does not keep it.
pub type PromiseIndices<'a> =
    &'a dyn Fn(&Function, [[u64; 3]; 3], &[Option<u64>]) -> Option<Option<Function>>;

/// Defines `promised`, a [`PromiseIndices`] by the ranges that a module computes: that of the product, or of a woven copy.
#[macro_export]
macro_rules! promise_by_ranges {
    ($($kernels:ident)::+) => {
        /// The kernel with its promises, if a launch keeps them.
        fn promised(
            func: &heddle_ir::Function,
            [global, offset, local]: [[u64; 3]; 3],
            parameters: &[Option<u64>],
        ) -> Option<Option<heddle_ir::Function>> {
            use $($kernels)::+::{IndexRanges, LaunchNumbers};
            let ranges = IndexRanges::of(func)?;
            if !ranges.hold(&LaunchNumbers { global, offset, local, parameters }) {
                return Some(None);
            }
            let mut promised = func.clone();
            ranges.promise(&mut promised);
            Some(Some(promised))
        }
    };
}

/// Writes an operation on values of one width. Returns its result.
fn operation(kernel: &mut KernelText, wide: usize, random: &mut Random) -> u32 {
    let [a, b] = [0, 1].map(|_| kernel.pick(wide, random));
    let constant = random.pick(&["1", "-1", "2", "8", "7", "256", "65536", "-3"]);
    let b = if random.chance(40) { constant.to_string() } else { format!("v{b}") };
    let promise = if random.chance(10) { " nsw" } else { "" };
    let positive = |kernel: &mut KernelText, random: &mut Random| match random.below(3) {
        0 => random.pick(&["3", "16", "64"]).to_string(),
        _ => {
            let by = kernel.pick(wide, random);
            format!("v{}", kernel.condition(&format!("{} v{by}, 1", random.pick(&["umax", "smax"]))))
        }
    };
    let what = match random.below(14) {
        0..3 => format!("add{promise} v{a}, {b}"),
        3 => format!("sub{promise} v{a}, {b}"),
        4..6 => format!("mul{promise} v{a}, {b}"),
        6 => format!("shl{promise} v{a}, {}", random.pick(&[1, 3, 10])),
        7 => format!("{} v{a}, {}", random.pick(&["urem", "srem"]), positive(kernel, random)),
        8 => format!("{} v{a}, {}", random.pick(&["udiv", "sdiv"]), positive(kernel, random)),
        9 => format!("{} v{a}, {b}", random.pick(&["smin", "smax", "umin", "umax"])),
        10 => format!("{} v{a}, {}", random.pick(&["lshr", "ashr"]), random.pick(&[1, 4])),
        11 => format!("{} v{a}, {}", random.pick(&["and", "or", "xor"]), random.pick(&[1, 15, 255])),
        12 => {
            let by = kernel.pick(wide, random);
            let positive = kernel.condition(&format!("umax v{by}, 1"));
            let quotient = kernel.condition(&format!("udiv v{a}, v{positive}"));
            let product = kernel.condition(&format!("mul v{quotient}, v{by}"));
            format!("sub v{a}, v{product}")
        }
        _ => {
            let condition =
                kernel.condition(&format!("icmp {} v{a}, {b}", random.pick(&["slt", "eq", "ugt"])));
            format!("select v{condition}, v{a}, {b}")
        }
    };
    kernel.add(wide, &what)
}

/// Bodies of kernels, each with the two numbers of a launch that keeps a promise only by mistake, and with the index that it stores to.
const BROKEN: &[(&str, [u32; 2], &str)] = &[
    // A counter passes the largest signed number, up to an unsigned bound.
    (
        "block0:\n  br block1\nblock1:\n  v10 = phi i32 [block0: v1], [block1: v11]\n  v11 = add v10, 1\n{store}\
         \n  v12 = icmp ult v11, v2\n  br v12, block1, block2\n",
        [0x7fff_fffd, 0x8000_0002],
        "zext i64, v10",
    ),
    // A counter comes to its bound, which is the largest signed number.
    (
        "block0:\n  br block1\nblock1:\n  v10 = phi i32 [block0: v1], [block1: v11]\n  v11 = add v10, 1\
         \n  v13 = add v10, 1\n{store}\n  v12 = icmp ule v11, v2\n  br v12, block1, block2\n",
        [0x7fff_fffc, 0x7fff_ffff],
        "sext i64, v13",
    ),
    // The number after a counter wraps around, and is below the bound.
    (
        "block0:\n  br block1\nblock1:\n  v10 = phi i32 [block0: v1], [block3: v11]\n  v11 = add v10, 2\n{store}\
         \n  v12 = icmp slt v11, 2147483647\n  br v12, block3, block2\
         \nblock3:\n  v13 = icmp slt v10, 0\n  br v13, block2, block1\n",
        [0x7fff_fffc, 0x7fff_ffff],
        "zext i64, v10",
    ),
    // Few iterations come to the comparison.
    (
        "block0:\n  br block1\nblock1:\n  v10 = phi i32 [block0: v1], [block4: v11]\n  v11 = add v10, 1\
         \n  v13 = add v10, 1\n{store}\n  v12 = icmp eq v2, 0\n  br v12, block3, block4\
         \nblock3:\n  v14 = icmp slt v10, 5\n  br v14, block4, block2\
         \nblock4:\n  v15 = and v11, 7\n  v16 = icmp ne v15, 0\n  br v16, block1, block2\n",
        [0x7fff_fffd, 1],
        "sext i64, v13",
    ),
    // The guarded block is that of work-items for which the comparison does not hold.
    (
        "block0:\n  v10 = global_id i32, 0\n  v11 = add v10, v1\n  v12 = icmp sgt v11, 0\n  br v12, block2, block1\
         \nblock1:\n{store}\n  br block2\n",
        [0xffff_fffe, 0],
        "zext i64, v11",
    ),
    // A counter begins behind the number at which its loop is left, and wraps around to it.
    (
        "block0:\n  br block1\nblock1:\n  v10 = phi i32 [block0: v1], [block3: v11]\n  v11 = add v10, 1\n{store}\
         \n  v12 = icmp ne v11, v2\n  br v12, block3, block2\
         \nblock3:\n  v13 = icmp eq v10, -2147483647\n  br v13, block2, block1\n",
        [0x7fff_fffd, 3],
        "zext i64, v10",
    ),
    // The guarded block is also that of work-items for which the comparison does not hold.
    (
        "block0:\n  v10 = global_id i32, 0\n  v11 = add v10, v1\n  v12 = icmp sgt v11, -1\n  br v12, block1, block3\
         \nblock3:\n  v13 = icmp eq v2, 0\n  br v13, block1, block2\nblock1:\n{store}\n  br block2\n",
        [0xffff_fffe, 0],
        "zext i64, v11",
    ),
    // A negative number is large where it is compared as an unsigned one.
    (
        "block0:\n  v10 = global_id i32, 0\n  v11 = add v10, v1\n  v12 = icmp ugt v11, 0\n  br v12, block1, block2\
         \nblock1:\n{store}\n  br block2\n",
        [0xffff_fffe, 0],
        "zext i64, v11",
    ),
    // The remainder of a large unsigned number, which is negative as a signed one.
    (
        "block0:\n  v10 = umax v2, 1\n  v11 = udiv v1, v10\n  v12 = mul nsw v11, v2\n  v13 = sub v1, v12\n{store}\n  br block2\n",
        [0x8000_0005, 0x7fff_ffff],
        "zext i64, v13",
    ),
    // A number that differs from the last one of a range may be the first one.
    (
        "block0:\n  v10 = global_id i32, 0\n  v11 = add v10, v1\n  v12 = icmp ne v11, 2\n  br v12, block1, block2\
         \nblock1:\n{store}\n  br block2\n",
        [0xffff_ffff, 0],
        "zext i64, v11",
    ),
];

/// Makes the kernels whose promises launches keep only by mistake.
pub fn broken_kernels() -> Vec<IndexKernel> {
    let make = |&(body, [one, other], index): &(&str, [u32; 2], &str)| {
        let store = format!(
            "  v50 = {index}\n  v51 = lshr v50, 32\n  v52 = add v50, v51\n  v53 = and v52, {}\n  v54 = shl v53, 2\
             \n  v55 = ptradd v0, v54\n  store i32 1, v55",
            CELLS - 1
        );
        let body = body.replace("{store}", &store);
        let text = format!(
            "kernel @k(v0: ptr(global) align 4, v1: i32, v2: i32, v3: i64) {{\n{body}block2:\n  ret\n}}\n"
        );
        let module = parse_module(&text).unwrap_or_else(|it| panic!("{it:?}\n{text}"));
        let (global, local) = ([4, 1, 1], [4, 1, 1]);
        IndexKernel { text, module, numbers: [one.into(), other.into(), 0], global, offset: [0; 3], local }
    };
    BROKEN.iter().map(make).collect()
}

/// Makes a kernel of two dimensions whose work-items store to cells that they compute.
pub fn index_kernel(seed: u64) -> IndexKernel {
    let mut random = Random::new(seed);
    let mut kernel =
        KernelText::new("kernel @k(v0: ptr(global) align 4, v1: i32, v2: i32, v3: i64) {\nblock0:");
    kernel.adopt(0, &[1, 2]);
    kernel.adopt(1, &[3]);
    // Loops with little but their counter show what is known about it.
    let is_plain = random.chance(30);
    let [is_loop, is_guarded] = [60, 40].map(|percent| random.chance(percent) != is_plain);
    let (is_loop, is_guarded) = (is_loop || is_plain, is_guarded && !is_plain);
    let mut ids = Vec::new();
    for along in 0..2 {
        let id = kernel.add(1, &format!("global_id i64, {along}"));
        ids.push(kernel.add(0, &format!("trunc i32, v{id}")));
    }
    if random.chance(50) && !is_plain {
        for query in ["local_id", "group_id", "local_size", "num_groups", "global_size", "global_offset"] {
            kernel.add(0, &format!("{query} i32, {}", random.below(2)));
        }
    }
    let operations = |kernel: &mut KernelText, random: &mut Random, count: usize| {
        for _ in 0..count {
            let wide = random.below(2);
            match random.below(6) {
                0 => {
                    let value = kernel.pick(1, random);
                    kernel.add(0, &format!("trunc i32, v{value}"));
                }
                1 => {
                    let value = kernel.pick(0, random);
                    kernel.add(1, &format!("{} i64, v{value}", random.pick(&["zext", "sext"])));
                }
                _ => _ = operation(kernel, wide, random),
            }
        }
    };
    let count = if is_plain { 0 } else { random.below(5) };
    operations(&mut kernel, &mut random, count);
    let mut latch = None;
    // Values that comparisons are about.
    let mut counter = [ids[0]; 2];
    let mut guarded = ids[1];
    if is_loop {
        let known = format!("v{}", kernel.pick(0, &mut random));
        let init = random.pick(&["0", "1", "9", &known, "v1", "v1", "v1"]);
        let bound = random.pick(&["0", "12", &known, "v2", "v2", "v2", "v1"]);
        let step = random.pick(&[1, 1, 1, 2, 2, -1, -1, -3]);
        let promise = if random.chance(30) { " nsw" } else { "" };
        let [index, next] = [kernel.next(), kernel.next() + 1];
        _ = writeln!(kernel.text, "  br block1\nblock1:");
        // The counter is one of the values that are picked, its successor as well.
        let last = if is_guarded { "block5" } else { "block2" };
        kernel.add(0, &format!("phi i32 [block0: {init}], [{last}: v{next}]"));
        kernel.add(0, &format!("add{promise} v{index}, {step}"));
        counter = [index, next];
        let predicates = match (step > 0, random.below(10)) {
            (_, 0) => ["eq", "ule"],
            (true, _) => ["slt", "ult"],
            (false, _) => ["sgt", "ugt"],
        };
        let predicate =
            random.pick(&[predicates[0], predicates[1], "ne", if step > 0 { "sle" } else { "sge" }]);
        let compared = if random.chance(50) { index } else { next };
        let comparison = match random.chance(80) {
            true => format!("icmp {predicate} v{compared}, {bound}"),
            false => format!("icmp {predicate} {bound}, v{compared}"),
        };
        // The loop is left before its body, or after.
        if random.chance(50) {
            let test = kernel.condition(&comparison);
            _ = writeln!(kernel.text, "  br v{test}, block2, block3\nblock2:");
        } else {
            _ = writeln!(kernel.text, "  br block2\nblock2:");
            latch = Some((comparison, format!("icmp {predicate} v{compared}, v")));
        }
    }
    if is_loop && random.chance(50) {
        operations(&mut kernel, &mut random, 2);
    }
    let first_guarded = kernel.next();
    if is_guarded {
        let negated = random.chance(50);
        let mut condition = 0;
        for part in 0..1 + random.below(2) {
            let wide = random.below(2);
            let [a, b] = [0, 1].map(|_| kernel.pick(wide, &mut random));
            let a = if wide == 0 && random.chance(30) { counter[1] } else { a };
            guarded = if wide == 0 { a } else { guarded };
            let b = if random.chance(60) { random.pick(&["0", "1", "-1", "5"]) } else { &format!("v{b}") };
            let predicates = ["sgt", "sge", "slt", "sle", "ugt", "uge", "ult", "ule", "eq", "ne", "ne"];
            let compared = kernel.condition(&format!("icmp {} v{a}, {b}", random.pick(&predicates)));
            let joins = if random.chance(70) != negated { "and" } else { "or" };
            condition = match part {
                0 => compared,
                _ => kernel.condition(&format!("{joins} v{condition}, v{compared}")),
            };
        }
        // Control comes to the guarded block from another branch as well.
        let is_joined = random.chance(20);
        let other = if is_joined { "block6" } else { "block5" };
        let targets = if negated { format!("{other}, block4") } else { format!("block4, {other}") };
        _ = writeln!(kernel.text, "  br v{condition}, {targets}");
        if is_joined {
            let compared = kernel.pick(0, &mut random);
            _ = writeln!(kernel.text, "block6:");
            let condition = kernel.condition(&format!("icmp slt v{compared}, 3"));
            _ = writeln!(kernel.text, "  br v{condition}, block4, block5");
        }
        _ = writeln!(kernel.text, "block4:");
    }
    let count = if is_plain { random.below(2) } else { 1 + random.below(6) };
    operations(&mut kernel, &mut random, count);
    let narrow = match random.below(4) {
        _ if is_plain => counter[random.below(2)],
        0 => kernel.pick(0, &mut random),
        1 => counter[random.below(2)],
        number => {
            let value = if number == 2 { counter[random.below(2)] } else { guarded };
            kernel.add(0, &format!("{} v{value}, {}", random.pick(&["add", "mul"]), random.pick(&[-1, 1, 3])))
        }
    };
    let wide = kernel.pick(1, &mut random);
    let index = match random.below(5) {
        0 | 1 => kernel.condition(&format!("zext i64, v{narrow}")),
        2 => kernel.condition(&format!("sext i64, v{narrow}")),
        3 => kernel.condition(&format!("and v{wide}, {}", 0xffff_ffff_u32)),
        _ => {
            let shifted = kernel.condition(&format!("shl v{wide}, 32"));
            kernel.condition(&format!("ashr v{shifted}, 32"))
        }
    };
    // Bits beyond the lower 32 show in the cell as well.
    let high = kernel.condition(&format!("lshr v{index}, 32"));
    let mixed = kernel.condition(&format!("add v{index}, v{high}"));
    let cell = kernel.condition(&format!("and v{mixed}, {}", CELLS - 1));
    let offset = kernel.condition(&format!("shl v{cell}, 2"));
    let address = kernel.condition(&format!("ptradd v0, v{offset}"));
    let low = kernel.condition(&format!("trunc i32, v{wide}"));
    let scaled = kernel.condition(&format!("mul v{}, 31", ids[1]));
    let sum = kernel.condition(&format!("add v{scaled}, v{}", ids[0]));
    let stored = kernel.condition(&format!("xor v{sum}, v{low}"));
    _ = writeln!(kernel.text, "  store v{stored}, v{address}");
    if is_guarded {
        // A loop may be left in iterations that come to a place.
        match is_loop && random.chance(30) {
            true => {
                let compared = counter[random.below(2)];
                let test = kernel.condition(&format!("icmp {} v{compared}, 5", random.pick(&["slt", "sgt"])));
                _ = writeln!(kernel.text, "  br v{test}, block5, block3\nblock5:");
            }
            false => _ = writeln!(kernel.text, "  br block5\nblock5:"),
        }
    }
    if let Some((comparison, with)) = latch {
        let before: Vec<u32> =
            kernel.values(0).iter().copied().filter(|&value| value < first_guarded).collect();
        let test = kernel.condition(&match random.chance(25) {
            true => format!("{with}{}", random.pick(&before)),
            false => comparison,
        });
        _ = writeln!(kernel.text, "  br v{test}, block1, block3");
    } else if is_loop {
        _ = writeln!(kernel.text, "  br block1");
    }
    _ = writeln!(kernel.text, "{}  ret\n}}", if is_loop { "block3:\n" } else { "" });
    let number = |random: &mut Random| match random.below(8) {
        0..3 => random.pick(&[
            0,
            1,
            u32::MAX.into(),
            u64::from(u32::MAX) - 2,
            1 << 31,
            (1 << 31) + 2,
            (1 << 31) - 1,
            (1 << 31) - 3,
        ]),
        3 => random.below(1 << 20) as u64,
        _ => random.below(20) as u64,
    };
    let numbers = [0, 1, 2].map(|_| number(&mut random));
    let local = [1 + random.below(3), 1 + random.below(3), 1].map(|it| it as u64);
    let groups = [1 + random.below(3), 1 + random.below(2), 1].map(|it| it as u64);
    let global = [0, 1, 2].map(|along| local[along] * groups[along]);
    let far = if random.chance(10) { u64::from(u32::MAX) - 9 } else { 3 };
    let offset = if random.chance(30) { [far, 1, 0] } else { [0; 3] };
    let module = parse_module(&kernel.text).unwrap_or_else(|it| panic!("{it:?}\n{}", kernel.text));
    IndexKernel { text: kernel.text, module, numbers, global, offset, local }
}

/// Checks that a launch does the same with the promises that it keeps.
pub fn keeps_promises(kernel: &IndexKernel, promise: PromiseIndices<'_>) -> Result<IndexOutcome, String> {
    let original = kernel.module.function("k").ok_or("no kernel")?;
    let [one, other, third] = kernel.numbers;
    let parameters = [None, Some(one), Some(other), Some(third)];
    let promised = match promise(original, [kernel.global, kernel.offset, kernel.local], &parameters) {
        None => return Ok(IndexOutcome::None),
        Some(None) => return Ok(IndexOutcome::Broken),
        Some(Some(promised)) => promised,
    };
    let Ok(before) = launch(kernel, &kernel.module) else { return Ok(IndexOutcome::Faulty) };
    let mut module = kernel.module.clone();
    module.functions = vec![promised];
    verify_module(&module, Stage::Source).map_err(|reasons| format!("{reasons:?}"))?;
    let after = launch(kernel, &module).map_err(|fault| format!("{fault}\n{}{module}", kernel.text))?;
    match before == after {
        true => Ok(IndexOutcome::Equal),
        false => Err(format!("the results differ\n{}{module}", kernel.text)),
    }
}

/// Memory after a launch.
pub(crate) fn launch(kernel: &IndexKernel, module: &Module) -> Result<Vec<u8>, String> {
    let mut memory = Memory::new();
    let out = memory.add(Space::Global, Some("out"), 16, vec![0xaa; MEMORY]);
    let mut arguments = vec![Argument::Uniform(Datum::Bits(out.into()))];
    arguments.extend(kernel.numbers.map(|it| Argument::Uniform(Datum::Bits(it.into()))));
    let groups = [0, 1, 2].map(|along| (kernel.global[along] / kernel.local[along]) as u32);
    let local = kernel.local.map(|size| size as u32);
    let options = RunOptions {
        brush: vec![1, 1],
        limits: RunLimits { steps: MOST_STEPS, ..RunLimits::default() },
        geometry: Some(LaunchGeometry { dims: 2, local, groups, offset: kernel.offset }),
        ..RunOptions::default()
    };
    run(module, "k", &arguments, &mut memory, &options).map_err(|fault| format!("{fault:?}"))?;
    let object = memory.objects().find(|object| object.name.as_deref() == Some("out"));
    Ok(object.ok_or("no memory")?.bytes.clone())
}
