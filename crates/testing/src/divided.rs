//! Kernels that divide their index, and a check that those of several dimensions that are made of them do the same.

use crate::execution::STEP_LIMIT;
use crate::generate::Random;
use heddle_interp::{Argument, Datum, LaunchGeometry, Memory, RunLimits, RunOptions, run};
use heddle_ir::{Function, Module, Space, parse_module};
use std::fmt::Write as _;
use std::ops::Range;

/// Kernel of one dimension, and a launch. Its parameters are memory, two numbers whose product mostly divides the number of work-items, and
/// another one.
#[derive(Clone, Debug)]
pub struct DividingKernel {
    /// The text.
    pub text: String,
    pub(crate) module: Module,
    /// Values of the parameters after the memory.
    pub(crate) numbers: [u64; 3],
    pub(crate) items: u64,
}

/// Tells whether the iterations of a loop are independent in launches of these extents, of where objects lie that parameters point to.
pub type HoldIterations = Box<dyn Fn(&[u64], &dyn Fn(u32) -> Option<Range<u64>>) -> bool>;

/// Kernels of several dimensions that are made of one, for values of its parameters.
#[expect(missing_debug_implementations, reason = "it holds a closure")]
pub struct DividedForms {
    /// The one for launches whose rows are whole, and the bounded one if it divides the index.
    pub forms: Vec<Function>,
    /// Extents but the last.
    pub extents: Vec<u64>,
    /// Minimum of work-items.
    pub limits: Vec<u64>,
    /// Iterations, if launches of fewer work-items may have one for each.
    pub iterations: Option<HoldIterations>,
    /// Numbers by dimension from which on work-items do nothing.
    pub bounds: [Option<u64>; 3],
}

/// Makes kernels of several dimensions of one, for values of the parameters.
pub type Divide<'a> = &'a dyn Fn(&Function, &dyn Fn(u32) -> Option<u64>) -> Option<DividedForms>;

/// Defines `forms`, a [`Divide`] by the forms of kernels that a module makes: that of the product, or of a woven copy.
#[macro_export]
macro_rules! divide_by_forms {
    ($($kernels:ident)::+) => {
        /// Forms of a kernel for these values of its parameters.
        fn forms(
            func: &heddle_ir::Function,
            parameter: &dyn Fn(u32) -> Option<u64>,
        ) -> Option<$crate::divided::DividedForms> {
            use $($kernels)::+::{IndexExtent, LaunchForm, launch_form};
            let LaunchForm { kernel, bounded, extents, limits, iterations, bounds } = launch_form(func, |_| false)?;
            let value = |extent: &IndexExtent| extent.value(parameter);
            let values = |extents: &[IndexExtent]| extents.iter().map(value).collect::<Option<Vec<u64>>>();
            let mut ends = [None; 3];
            for (end, bound) in ends.iter_mut().zip(&bounds) {
                *end = bound.as_ref().map(|bound| value(bound).ok_or(())).transpose().ok()?;
            }
            let known: Vec<Option<u64>> = (0..func.params().len() as u32).map(parameter).collect();
            let iterations = iterations.map(|iterations| -> $crate::divided::HoldIterations {
                Box::new(move |extents, object| {
                    iterations.hold(extents, |parameter| known[parameter as usize], object)
                })
            });
            Some($crate::divided::DividedForms {
                forms: [Some(kernel), bounded].into_iter().flatten().collect(),
                extents: values(&extents)?,
                limits: values(&limits)?,
                iterations,
                bounds: ends,
            })
        }
    };
}

/// Constants that an index is divided by. Those below 64 are no extents of dimension 0.
const CONSTANTS: [u32; 6] = [2, 3, 64, 64, 96, 128];

/// Widths in bits of values and parameters.
const BITS: [u32; 2] = [32, 64];

/// Text of a kernel that is being written.
pub(crate) struct KernelText {
    pub(crate) text: String,
    /// Values by width.
    values: [Vec<u32>; 2],
    next: u32,
}

impl KernelText {
    /// Writes an instruction with a result of this width.
    pub(crate) fn add(&mut self, wide: usize, what: &str) -> u32 {
        let value = self.condition(what);
        self.values[wide].push(value);
        value
    }

    /// A kernel that begins with this text.
    pub(crate) fn new(text: &str) -> KernelText {
        KernelText { text: format!("{text}\n"), values: [vec![], vec![]], next: 10 }
    }

    /// Writes an instruction with a result that is not picked later.
    pub(crate) fn condition(&mut self, what: &str) -> u32 {
        let value = self.next;
        self.next += 1;
        _ = writeln!(self.text, "  v{value} = {what}");
        value
    }

    /// Takes parameters among the values of this width.
    pub(crate) fn adopt(&mut self, wide: usize, values: &[u32]) {
        self.values[wide].extend(values);
    }

    /// Values of this width.
    pub(crate) fn values(&self, wide: usize) -> &[u32] {
        &self.values[wide]
    }

    /// Number of the next value.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Number of a value that is written without [`condition`](Self::condition).
    pub(crate) fn skip(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// A value of this width, the newer ones more often.
    pub(crate) fn pick(&self, wide: usize, random: &mut Random) -> u32 {
        let values = &self.values[wide];
        let [one, other] = [random.below(values.len()), random.below(values.len())];
        values[one.max(other)]
    }
}

/// Makes a kernel.
pub fn dividing_kernel(seed: u64) -> DividingKernel {
    let mut random = Random::new(seed);
    let widths: [usize; 2] = [random.below(2), random.below(2)];
    let [w, h] = widths.map(|wide| BITS[wide]);
    let mut kernel = KernelText::new(&format!(
        "kernel @k(v0: ptr(global) align 4, v1: i{w}, v2: i{h}, v3: i32) {{\nblock0:"
    ));
    let item = kernel.add(1, "global_id i64, 0");
    let mut index = item;
    // A loop over the grid, up to the product of the two numbers.
    let [is_loop, is_guarded] = [20, 20].map(|percent| random.chance(percent));
    let has_constants = random.chance(25);
    let mut end = String::new();
    if is_loop || is_guarded {
        let [w, h] = [(1, w), (2, h)].map(|(parameter, bits)| match bits {
            64 => parameter,
            _ => kernel.condition(&format!("zext i64, v{parameter}")),
        });
        end = format!("v{}", kernel.condition(&format!("mul v{w}, v{h}")));
        if has_constants && random.chance(60) {
            end = random.pick(&["64", "128", "192", "448", "2000"]).to_string();
        }
    }
    let mut before = "block0";
    if is_guarded {
        let negated = random.chance(50);
        let guarded = match random.chance(70) {
            true => item,
            false => kernel.condition(&format!("add v{item}, {}", random.pick(&[1, 2]))),
        };
        let guarded = format!("v{guarded}");
        let (a, b) = if random.chance(50) { (&guarded, &end) } else { (&end, &guarded) };
        let less = if *a == guarded { ["slt", "ult"] } else { ["sgt", "ugt"] };
        let more = if *a == guarded { ["sge", "uge"] } else { ["sle", "ule"] };
        let predicate = random.pick(if negated { &more } else { &less });
        let condition = kernel.condition(&format!("icmp {predicate} {a}, {b}"));
        let targets = if negated { "block4, block3" } else { "block3, block4" };
        let stored = kernel.condition(&format!("trunc i32, v{item}"));
        let idle = if random.chance(80) { String::new() } else { format!("  store v{stored}, v0\n") };
        _ = writeln!(kernel.text, "  br v{condition}, {targets}\nblock4:\n{idle}  ret\nblock3:");
        before = "block3";
    }
    let mut is_next = 0;
    if is_loop {
        let size = kernel.condition("global_size i64, 0");
        let first = if random.chance(20) {
            kernel.condition(&format!("add v{item}, {}", random.pick(&[-1, -3])))
        } else {
            item
        };
        _ = writeln!(kernel.text, "  br block1\nblock1:");
        index = kernel.condition(&format!("phi i64 [{before}: v{first}], [block1: v{}]", kernel.next + 1));
        let next = kernel.condition(&format!("add v{index}, v{size}"));
        // Values of the work-item, and of the iteration.
        kernel.values[1] = vec![item, index];
        is_next = match random.below(2) {
            0 => kernel.condition(&format!("icmp {} v{next}, {end}", random.pick(&["slt", "ult"]))),
            _ => kernel.condition(&format!("icmp {} {end}, v{next}", random.pick(&["sgt", "ugt"]))),
        };
    }
    let narrow = kernel.add(0, &format!("trunc i32, v{index}"));
    let wide = if random.chance(50) { kernel.add(1, &format!("sext i64, v{narrow}")) } else { index };
    // Divisors, in both widths, and at least 1 as divisions that trap nothing have them.
    let mut divisors = [vec![], vec![]];
    for (number, of) in widths.into_iter().enumerate() {
        let parameter = number as u32 + 1;
        let least = kernel.add(of, &format!("umax v{parameter}, 1"));
        let op = match of {
            0 => random.pick(&["zext i64", "sext i64"]),
            _ => "trunc i32",
        };
        let converted = kernel.add(1 - of, &format!("{op}, v{}", random.pick(&[parameter, least])));
        let is_zero = kernel.condition(&format!("icmp eq v{parameter}, 0"));
        let chosen = kernel.add(of, &format!("select v{is_zero}, 1, v{parameter}"));
        divisors[of].extend([(parameter, number), (least, number), (chosen, number)]);
        divisors[1 - of].push((converted, number));
        kernel.values = [vec![narrow], vec![index, wide, item]];
    }
    divisors[0].push((3, 2));
    // Products of parameters, and parameters less a constant.
    if random.chance(40) {
        let wide = random.below(2);
        let [w, h] = [0, 1].map(|of| divisors[wide].iter().find(|it| it.1 == of).map_or(3, |it| it.0));
        divisors[wide].push((kernel.condition(&format!("mul v{w}, v{h}")), 3));
        let less = kernel.condition(&format!("add v{w}, {}", random.pick(&[-1, 1, 2])));
        divisors[wide].push((kernel.condition(&format!("umax v{less}, 1")), 4));
    }
    let mut masked: Vec<(u32, usize)> = Vec::new();
    // Quotients, to be multiplied again.
    let mut quotients: Vec<(u32, usize)> = Vec::new();
    for _ in 0..4 + random.below(10) {
        let wide = random.below(2);
        let bits = BITS[wide];
        let value = kernel.pick(wide, &mut random);
        let (divisor, number) = divisors[wide][random.below(divisors[wide].len())];
        if has_constants && random.chance(60) {
            if random.chance(20) {
                // A product that wraps around before it is converted.
                let product = kernel.condition(&format!("shl v{narrow}, {}", random.pick(&[20, 30])));
                let product =
                    kernel.condition(&format!("{} i64, v{product}", random.pick(&["sext", "zext"])));
                kernel.add(1, &format!("and v{product}, {}", random.pick(&[-64, -2])));
            }
            let value = if random.chance(50) { kernel.values[wide][0] } else { value };
            let op = match random.below(10) {
                // Neighbours in a field of bits.
                9 => {
                    let added = random.pick(&[1, 64, 64, 128, -64, 192, 96]);
                    let sum = kernel.condition(&format!("add v{value}, {added}"));
                    format!("and v{sum}, {}", random.pick(&[64, 192, 192, 448, -64, -128, 63]))
                }
                0 => format!("{} v{value}, {}", random.pick(&["sdiv", "udiv"]), random.pick(&CONSTANTS)),
                1 => format!("{} v{value}, {}", random.pick(&["srem", "urem"]), random.pick(&CONSTANTS)),
                2 => format!("{} v{value}, {}", random.pick(&["lshr", "ashr"]), random.pick(&[1, 2, 6, 7])),
                3 => format!(
                    "and v{value}, {}",
                    random.pick(&[1, 3, 63, 127, 64, 192, 448, -64, -128, -2, 95])
                ),
                4 => format!("shl v{value}, {}", random.pick(&[1, 6, 7, 30])),
                5 => format!("mul v{value}, {}", random.pick(&CONSTANTS)),
                6 => format!("freeze v{value}"),
                _ if masked.iter().any(|it| it.1 == wide) => {
                    let of_width: Vec<u32> = masked.iter().filter(|it| it.1 == wide).map(|it| it.0).collect();
                    format!("{} v{value}, v{}", random.pick(&["add", "sub"]), random.pick(&of_width))
                }
                _ => format!("and v{value}, {}", random.pick(&[-64, 63])),
            };
            masked.push((kernel.add(wide, &op), wide));
            continue;
        }
        match random.below(10) {
            // As compilers write comparisons of quotients and remainders with 0.
            8.. => {
                let other = match random.chance(50) {
                    true => divisor,
                    false => kernel.pick(wide, &mut random),
                };
                let (a, b) = if random.chance(50) { (value, other) } else { (other, value) };
                let predicate =
                    random.pick(&["ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge", "eq", "ne"]);
                let compared = kernel.condition(&format!("icmp {predicate} v{a}, v{b}"));
                let chosen = kernel.pick(wide, &mut random);
                kernel.add(wide, &format!("select v{compared}, v{chosen}, {}", random.pick(&[0, 1])));
            }
            0..3 => {
                let op = random.pick(&["sdiv", "udiv"]);
                let mut quotient = kernel.add(wide, &format!("{op} v{value}, v{divisor}"));
                if random.chance(30) {
                    // As GPUs divide by 0, or with a condition that may hold.
                    let other = kernel.pick(wide, &mut random);
                    let tested = random.pick(&[divisor, divisor, other]);
                    let is_zero = kernel.condition(&format!("icmp eq v{tested}, {}", random.pick(&[0, -1])));
                    quotient = kernel.add(wide, &format!("select v{is_zero}, -1, v{quotient}"));
                }
                quotients.push((quotient, wide));
                // As compilers write remainders.
                if random.chance(60) {
                    let (factor, _) =
                        *divisors[wide].iter().find(|it| it.1 == number).unwrap_or(&(divisor, 0));
                    let mut taken = kernel.add(wide, &format!("mul v{quotient}, v{factor}"));
                    if random.chance(30) {
                        let more = kernel.pick(wide, &mut random);
                        taken = kernel.add(wide, &format!("add v{taken}, v{more}"));
                    }
                    kernel.add(wide, &format!("sub v{value}, v{taken}"));
                }
            }
            3 => _ = kernel.add(wide, &format!("{} v{value}, v{divisor}", random.pick(&["srem", "urem"]))),
            4 if !quotients.is_empty() => {
                let (quotient, wide) = quotients[random.below(quotients.len())];
                let (divisor, _) = divisors[wide][random.below(divisors[wide].len())];
                let product = kernel.add(wide, &format!("mul v{quotient}, v{divisor}"));
                let value = kernel.pick(wide, &mut random);
                kernel.add(wide, &format!("sub v{value}, v{product}"));
            }
            5 => {
                let other = kernel.pick(wide, &mut random);
                kernel.add(wide, &format!("{} v{value}, v{other}", random.pick(&["add", "sub", "xor"])));
            }
            6 if bits == 32 => {
                _ = kernel.add(1, &format!("{} i64, v{value}", random.pick(&["sext", "zext"])))
            }
            6 => _ = kernel.add(0, &format!("trunc i32, v{value}")),
            _ => _ = kernel.add(wide, &format!("add v{value}, {}", random.below(5))),
        }
    }
    let all = kernel.values.clone();
    let mut sum = narrow;
    for (wide, values) in all.into_iter().enumerate() {
        for value in values {
            let value = if wide == 1 { kernel.add(0, &format!("trunc i32, v{value}")) } else { value };
            let scaled = kernel.add(0, &format!("mul v{sum}, 31"));
            sum = kernel.add(0, &format!("add v{scaled}, v{value}"));
        }
    }
    let offset = kernel.add(1, &format!("shl v{item}, 2"));
    _ = writeln!(kernel.text, "  v1000 = ptradd v0, v{offset}\n  store v{sum}, v1000");
    kernel.text.push_str(&match is_loop {
        true => format!("\n  br v{is_next}, block1, block2\nblock2:\n  ret\n}}\n"),
        false => "\n  ret\n}\n".to_string(),
    });
    let numbers = [1 + random.below(6), 1 + random.below(4), 1 + random.below(5)].map(|it| it as u64);
    let mut items = numbers[0] * numbers[1] * (1 + random.below(4) as u64);
    if random.chance(30) {
        items += random.below(9) as u64;
    }
    if has_constants {
        items = items * 64 + random.pick(&[0, 0, 0, 7]);
    }
    let module = parse_module(&kernel.text).unwrap_or_else(|it| panic!("{it:?}\n{}", kernel.text));
    DividingKernel { text: kernel.text, module, numbers, items }
}

/// Makes a kernel of two dimensions whose guards are the two numbers, and other conditions.
pub fn guarded_kernel(seed: u64) -> DividingKernel {
    let mut random = Random::new(seed);
    let mut kernel =
        KernelText::new("kernel @k(v0: ptr(global) align 4, v1: i32, v2: i32, v3: i32) {\nblock0:");
    let ids = [0, 1].map(|along| {
        let id = kernel.add(1, &format!("global_id i64, {along}"));
        kernel.add(0, &format!("trunc i32, v{id}"))
    });
    let start = kernel.condition(&format!("shl v{}, 4", ids[1]));
    let place = kernel.condition(&format!("add v{start}, v{}", ids[0]));
    let place = kernel.condition(&format!("zext i64, v{place}"));
    let offset = kernel.condition(&format!("shl v{place}, 2"));
    let address = kernel.condition(&format!("ptradd v0, v{offset}"));
    let is_inside = |kernel: &mut KernelText, random: &mut Random, negated: bool| {
        let along = random.below(2);
        let index = match random.chance(85) {
            true => ids[along],
            false => kernel.condition(&format!("add v{}, {}", ids[along], random.pick(&[-1, 1]))),
        };
        let end = if random.chance(85) { along as u32 + 1 } else { 3 };
        let end = match random.below(8) {
            0 => kernel.condition(&format!("sub v{end}, v3")),
            1 => {
                let less = kernel.condition("xor v3, -1");
                kernel.condition(&format!("add v{end}, v{less}"))
            }
            _ => end,
        };
        let (a, b) = if random.chance(50) { (index, end) } else { (end, index) };
        let predicates = match (a == index, negated) {
            (true, false) => ["slt", "ult", "sle"],
            (false, false) => ["sgt", "ugt", "sge"],
            (true, true) => ["sge", "uge", "sgt"],
            (false, true) => ["sle", "ule", "slt"],
        };
        let predicate = if random.chance(90) { predicates[random.below(2)] } else { predicates[2] };
        kernel.condition(&format!("icmp {predicate} v{a}, v{b}"))
    };
    let count = 1 + random.below(3);
    for guard in 0..count {
        let negated = random.chance(50);
        let mut condition = is_inside(&mut kernel, &mut random, negated);
        for _ in 0..random.below(3) {
            let other = is_inside(&mut kernel, &mut random, negated);
            condition = match (negated, random.below(5)) {
                (false, 0 | 1) => kernel.condition(&format!("and v{condition}, v{other}")),
                (false, 2 | 3) => kernel.condition(&format!("select v{condition}, v{other}, false")),
                (true, 0 | 1) => kernel.condition(&format!("or v{condition}, v{other}")),
                (true, 2 | 3) => kernel.condition(&format!("select v{condition}, true, v{other}")),
                (false, _) => kernel.condition(&format!("or v{condition}, v{other}")),
                (true, _) => kernel.condition(&format!("and v{condition}, v{other}")),
            };
        }
        if random.chance(10) {
            _ = writeln!(kernel.text, "  store {}, v{address}", format_args!("v{}", ids[0]));
        }
        let (body, end) = (format!("block{}", 2 * guard + 1), format!("block{}", 2 * guard + 2));
        let targets = if negated { format!("{end}, {body}") } else { format!("{body}, {end}") };
        let idle =
            if random.chance(85) { String::new() } else { format!("  store v{}, v{address}\n", ids[1]) };
        _ = writeln!(kernel.text, "  br v{condition}, {targets}\n{end}:\n{idle}  ret\n{body}:");
    }
    let scaled = kernel.condition(&format!("mul v{}, 31", ids[1]));
    let value = kernel.condition(&format!("add v{scaled}, v{}", ids[0]));
    _ = writeln!(kernel.text, "  store v{value}, v{address}\n  ret\n}}");
    let numbers = [random.below(7), random.below(7), 1 + random.below(5)].map(|it| it as u64);
    let module = parse_module(&kernel.text).unwrap_or_else(|it| panic!("{it:?}\n{}", kernel.text));
    DividingKernel { text: kernel.text, module, numbers, items: 16 * 6 }
}

/// Makes a kernel of two dimensions that clamps its indices, or does not.
pub fn clamping_kernel(seed: u64) -> DividingKernel {
    let mut random = Random::new(seed);
    let mut kernel =
        KernelText::new("kernel @k(v0: ptr(global) align 4, v1: i32, v2: i32, v3: i32) {\nblock0:");
    let mut raw = [0; 2];
    let indices = [0, 1].map(|along| {
        let id = kernel.add(1, &format!("global_id i64, {along}"));
        let index = kernel.add(0, &format!("trunc i32, v{id}"));
        raw[along] = index;
        if random.chance(25) {
            return index;
        }
        let number = if random.chance(85) { along as u32 + 1 } else { 3 };
        let added = random.pick(&[-1, -1, -1, -1, 0, 1]);
        let mut sum = |added: i32| match added {
            0 => number,
            _ => kernel.condition(&format!("add v{number}, {added}")),
        };
        let (last, end) = (sum(added), sum(added + 1));
        let index = match random.chance(80) {
            true => index,
            false => kernel.condition(&format!("smax v{index}, {}", random.pick(&[0, 0, 0, 1]))),
        };
        if random.chance(50) {
            let (a, b) = if random.chance(50) { (index, last) } else { (last, index) };
            let op = if random.chance(95) { random.pick(&["smin", "umin"]) } else { "smax" };
            return kernel.condition(&format!("{op} v{a}, v{b}"));
        }
        let (below, last, then, otherwise) = match random.below(4) {
            0 => ("slt", end, index, last),
            1 => ("ult", end, index, last),
            2 => ("sle", last, index, last),
            _ => ("sgt", last, last, index),
        };
        let compared = if random.chance(95) { last } else { end };
        let compared = kernel.condition(&format!("icmp {below} v{index}, v{compared}"));
        let clamped = kernel.condition(&format!("select v{compared}, v{then}, v{otherwise}"));
        if random.chance(95) {
            return clamped;
        }
        let more = kernel.condition(&format!("zext i32, v{compared}"));
        kernel.condition(&format!("add v{clamped}, v{more}"))
    });
    let start = kernel.condition(&format!("mul v{}, 6", indices[1]));
    let place = kernel.condition(&format!("add v{start}, v{}", indices[0]));
    let place = kernel.condition(&format!("and v{place}, 63"));
    let place = kernel.condition(&format!("zext i64, v{place}"));
    let offset = kernel.condition(&format!("shl v{place}, 2"));
    let address = kernel.condition(&format!("ptradd v0, v{offset}"));
    let scaled = kernel.condition(&format!("mul v{}, 31", indices[1]));
    let along = random.below(2);
    let other = if random.chance(10) { raw[along] } else { indices[0] };
    let value = kernel.condition(&format!("add v{scaled}, v{other}"));
    match random.chance(85) {
        true => _ = writeln!(kernel.text, "  store v{value}, v{address}"),
        false => _ = kernel.condition(&format!("atomic_rmw add v{address}, v{value} relaxed device")),
    }
    kernel.text.push_str("  ret\n}\n");
    let numbers = [random.below(7), random.below(7), 1 + random.below(5)].map(|it| it as u64);
    let module = parse_module(&kernel.text).unwrap_or_else(|it| panic!("{it:?}\n{}", kernel.text));
    DividingKernel { text: kernel.text, module, numbers, items: 64 }
}

/// Checks that a launch that is cut at the guards and clamps of a kernel does what the whole launch does. Returns the number of dimensions that are cut.
pub fn cuts_at_guards(kernel: &DividingKernel, divide: Divide<'_>) -> Result<usize, String> {
    const ITEMS: [u64; 2] = [5, 6];
    let original = kernel.module.function("k").ok_or("no kernel")?;
    let numbers = |parameter: u32| kernel.numbers.get(parameter.checked_sub(1)? as usize).copied();
    let Some(DividedForms { forms, bounds, .. }) = divide(original, &numbers) else { return Ok(0) };
    let name = forms[0].name.clone();
    let mut module = kernel.module.clone();
    module.functions.extend(forms);
    heddle_ir::verify::verify_module(&module, heddle_ir::verify::Stage::Source)
        .map_err(|reasons| format!("{reasons:?}"))?;
    let cut = [0, 1].map(|along| bounds[along].map_or(ITEMS[along], |bound| bound.min(ITEMS[along])));
    let before = launch(kernel, &kernel.module, "k", &ITEMS, None)?;
    let after = launch(kernel, &module, &name, &cut, None)?;
    match before == after {
        true => Ok(bounds.iter().flatten().count()),
        false => Err(format!("{cut:?} differs from {ITEMS:?}\n{}{}", kernel.text, module)),
    }
}

/// Options of a launch of these extents in groups of one work-item.
pub(crate) fn lane_by_lane(extents: &[u64]) -> RunOptions {
    let mut groups = [1; 3];
    groups.iter_mut().zip(extents).for_each(|(to, &extent)| *to = extent as u32);
    RunOptions {
        brush: vec![1; extents.len()],
        limits: RunLimits { steps: STEP_LIMIT, ..RunLimits::default() },
        geometry: Some(LaunchGeometry { dims: extents.len() as u32, local: [1; 3], groups, offset: [0; 3] }),
        ..RunOptions::default()
    }
}

/// Memory after a launch.
fn launch(
    kernel: &DividingKernel,
    module: &Module,
    name: &str,
    extents: &[u64],
    count: Option<u64>,
) -> Result<Vec<u8>, String> {
    let mut memory = Memory::new();
    let out = memory.add(Space::Global, Some("out"), 16, vec![0xaa; kernel.items as usize * 4]);
    let mut arguments = vec![Argument::Uniform(Datum::Bits(out.into()))];
    arguments.extend(kernel.numbers.map(|it| Argument::Uniform(Datum::Bits(it.into()))));
    arguments.extend(count.map(|it| Argument::Uniform(Datum::Bits(it.into()))));
    let options = lane_by_lane(extents);
    run(module, name, &arguments, &mut memory, &options).map_err(|fault| format!("{fault:?}"))?;
    let object = memory.objects().find(|object| object.name.as_deref() == Some("out"));
    Ok(object.ok_or("no memory")?.bytes.clone())
}

/// Checks that the kernel of several dimensions does what the one of one dimension does. Returns how many it has; 1 if there is none.
pub fn divides_by(kernel: &DividingKernel, divide: Divide<'_>) -> Result<usize, String> {
    let original = kernel.module.function("k").ok_or("no kernel")?;
    let numbers = |parameter: u32| kernel.numbers.get(parameter.checked_sub(1)? as usize).copied();
    let Some(DividedForms { forms, mut extents, limits, bounds, .. }) = divide(original, &numbers) else {
        return Ok(1);
    };
    if limits.iter().any(|&it| it > kernel.items) {
        return Ok(1);
    }
    let items = bounds[0].map_or(kernel.items, |bound| bound.min(kernel.items));
    let known: u64 = extents.iter().product();
    extents.push(items.div_ceil(known));
    let count = (!items.is_multiple_of(known)).then_some(items);
    let name = forms[usize::from(count.is_some())].name.clone();
    let mut module = kernel.module.clone();
    module.functions.extend(forms);
    heddle_ir::verify::verify_module(&module, heddle_ir::verify::Stage::Source)
        .map_err(|reasons| format!("{reasons:?}"))?;
    let before = launch(kernel, &kernel.module, "k", &[kernel.items], None)?;
    let after = launch(kernel, &module, &name, &extents, count)?;
    match before == after {
        true => Ok(extents.len()),
        false => Err(format!("{extents:?} differs from {}\n{}{}", kernel.items, kernel.text, module)),
    }
}
