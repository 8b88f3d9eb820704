//! Kernels that divide their index, and a check that those of several dimensions that are made of them do the same.

use crate::execution::STEP_LIMIT;
use crate::generate::Random;
use heddle_interp::{Argument, Datum, LaunchGeometry, Memory, RunLimits, RunOptions, run};
use heddle_ir::{Function, Module, Space, parse_module};
use std::fmt::Write as _;

/// Kernel of one dimension, and a launch. Its parameters are memory, two numbers whose product mostly divides the number of work-items, and
/// another one.
#[derive(Clone, Debug)]
pub struct DividingKernel {
    /// The text.
    pub text: String,
    module: Module,
    /// Values of the parameters after the memory.
    numbers: [u64; 3],
    items: u64,
}

/// Makes a kernel of several dimensions of one, and a bounded one, and returns the parameters that are its extents.
pub type Divide<'a> = &'a dyn Fn(&Function) -> Option<([Function; 2], Vec<u32>)>;

/// Widths in bits of values and parameters.
const BITS: [u32; 2] = [32, 64];

/// Text of a kernel that is being written.
struct KernelText {
    text: String,
    /// Values by width.
    values: [Vec<u32>; 2],
    next: u32,
}

impl KernelText {
    /// Writes an instruction with a result of this width.
    fn add(&mut self, wide: usize, what: &str) -> u32 {
        let value = self.condition(what);
        self.values[wide].push(value);
        value
    }

    /// Writes an instruction with a result that is not picked later.
    fn condition(&mut self, what: &str) -> u32 {
        let value = self.next;
        self.next += 1;
        _ = writeln!(self.text, "  v{value} = {what}");
        value
    }

    /// A value of this width, the newer ones more often.
    fn pick(&self, wide: usize, random: &mut Random) -> u32 {
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
    let mut kernel = KernelText { text: String::new(), values: [vec![], vec![]], next: 10 };
    _ = writeln!(kernel.text, "kernel @k(v0: ptr(global) align 4, v1: i{w}, v2: i{h}, v3: i32) {{\nblock0:");
    let index = kernel.add(1, "global_id i64, 0");
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
        kernel.values = [vec![narrow], vec![index, wide]];
    }
    divisors[0].push((3, 2));
    // Quotients, to be multiplied again.
    let mut quotients: Vec<(u32, usize)> = Vec::new();
    for _ in 0..4 + random.below(10) {
        let wide = random.below(2);
        let bits = BITS[wide];
        let value = kernel.pick(wide, &mut random);
        let (divisor, number) = divisors[wide][random.below(divisors[wide].len())];
        match random.below(8) {
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
    let offset = kernel.add(1, &format!("shl v{index}, 2"));
    _ = writeln!(kernel.text, "  v1000 = ptradd v0, v{offset}\n  store v{sum}, v1000\n  ret\n}}");
    let numbers = [1 + random.below(6), 1 + random.below(4), 1 + random.below(5)].map(|it| it as u64);
    let mut items = numbers[0] * numbers[1] * (1 + random.below(4) as u64);
    if random.chance(30) {
        items += random.below(9) as u64;
    }
    let module = parse_module(&kernel.text).unwrap_or_else(|it| panic!("{it:?}\n{}", kernel.text));
    DividingKernel { text: kernel.text, module, numbers, items }
}

/// Memory after a launch.
fn launch(
    kernel: &DividingKernel,
    module: &Module,
    name: &str,
    extents: &[u64],
    is_bounded: bool,
) -> Result<Vec<u8>, String> {
    let mut memory = Memory::new();
    let out = memory.add(Space::Global, Some("out"), 16, vec![0xaa; kernel.items as usize * 4]);
    let mut arguments = vec![Argument::Uniform(Datum::Bits(out.into()))];
    arguments.extend(kernel.numbers.map(|it| Argument::Uniform(Datum::Bits(it.into()))));
    if is_bounded {
        arguments.push(Argument::Uniform(Datum::Bits(kernel.items.into())));
    }
    let mut groups = [1; 3];
    groups.iter_mut().zip(extents).for_each(|(to, &extent)| *to = extent as u32);
    let geometry = LaunchGeometry { dims: extents.len() as u32, local: [1; 3], groups, offset: [0; 3] };
    let options = RunOptions {
        brush: vec![1; extents.len()],
        limits: RunLimits { steps: STEP_LIMIT, ..RunLimits::default() },
        geometry: Some(geometry),
        ..RunOptions::default()
    };
    run(module, name, &arguments, &mut memory, &options).map_err(|fault| format!("{fault:?}"))?;
    let object = memory.objects().find(|object| object.name.as_deref() == Some("out"));
    Ok(object.ok_or("no memory")?.bytes.clone())
}

/// Checks that the kernel of several dimensions does what the one of one dimension does. Returns how many it has; 1 if there is none.
pub fn divides_by(kernel: &DividingKernel, divide: Divide<'_>) -> Result<usize, String> {
    let original = kernel.module.function("k").ok_or("no kernel")?;
    let Some(([whole, bounded], widths)) = divide(original) else { return Ok(1) };
    let mut extents: Vec<u64> = widths.iter().map(|&it| kernel.numbers[it as usize - 1]).collect();
    let known: u64 = extents.iter().product();
    extents.push(kernel.items.div_ceil(known));
    let is_bounded = !kernel.items.is_multiple_of(known);
    let divided = if is_bounded { &bounded } else { &whole };
    let name = divided.name.clone();
    let mut module = kernel.module.clone();
    module.functions.extend([whole, bounded]);
    heddle_ir::verify::verify_module(&module, heddle_ir::verify::Stage::Source)
        .map_err(|reasons| format!("{reasons:?}"))?;
    let before = launch(kernel, &kernel.module, "k", &[kernel.items], false)?;
    let after = launch(kernel, &module, &name, &extents, is_bounded)?;
    match before == after {
        true => Ok(extents.len()),
        false => Err(format!("{extents:?} differs from {}\n{}{}", kernel.items, kernel.text, module)),
    }
}
