//! Kernels whose regions have fast versions, and a check that these do the same.

use crate::bounded_indices::{IndexKernel, launch};
use crate::divided::KernelText;
use crate::generate::Random;
use heddle_interp::{Argument, Datum, Memory, RunLimits, RunOptions, run};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Module, Op, Space, Type, parse_module};
use heddle_transform::kernels::{GROUP_DESCRIPTOR_WORDS, GroupDescriptorField};
use std::fmt::Write as _;

/// Lanes of a brush.
pub const LANES: u32 = 4;
/// Bytes of memory.
const MEMORY: usize = 1024;
/// Numbers that indices are compared with, divided and masked by.
const NUMBERS: [u64; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 20, 31, 32, 0x7fff_ffff];
/// Numbers of bits at whose end some launches begin: there indices wrap around.
const ENDS: [u32; 6] = [15, 16, 31, 31, 32, 32];

/// Lowers the kernel of a module to a group function whose regions have versions wherever possible.
pub type LowerVersions<'a> = &'a dyn Fn(&mut Module) -> Result<(), String>;

/// Defines `lowered`, a [`LowerVersions`] by the passes of the product, or of a woven copy.
#[macro_export]
macro_rules! lower_with_versions {
    ($($transform:ident)::+) => {
        fn lowered(module: &mut heddle_ir::Module) -> Result<(), String> {
            use $($transform)::+::VersioningPolicy;
            use $($transform)::+::kernels::{KernelOptions, lower_kernels};
            let brush = [$crate::region_versions::LANES].into_iter().collect();
            let versions = VersioningPolicy::Force;
            let options = KernelOptions { is_small: false, versions, ..KernelOptions::rows(brush) };
            lower_kernels(module, &options).map(|_| ()).map_err(|refusal| refusal.to_string())
        }
    };
}

/// Values by width: those that lanes number, and those that they share.
struct IndexValues {
    kernel: KernelText,
    strided: [Vec<u32>; 2],
    uniform: [Vec<u32>; 2],
    /// Values that the stored number depends on.
    observed: [Vec<u32>; 2],
}

impl IndexValues {
    fn strided(&self, wide: usize, random: &mut Random) -> u32 {
        random.pick(&self.strided[wide])
    }

    /// A uniform operand: a parameter, or a constant.
    fn uniform(&self, wide: usize, constants: &[i64], random: &mut Random) -> String {
        match random.chance(50) {
            true => random.pick(constants).to_string(),
            false => format!("v{}", random.pick(&self.uniform[wide])),
        }
    }

    fn keep(&mut self, wide: usize, value: u32, is_strided: bool) {
        self.observed[wide].push(value);
        if is_strided {
            self.strided[wide].push(value);
        }
    }

    /// Writes an operation on an index that a version may rewrite.
    fn operation(&mut self, random: &mut Random) {
        let wide = random.below(2);
        let bits = [32, 64][wide];
        let x = self.strided(wide, random);
        let by = self.uniform(wide, &[3, 4, 5, 8, 12], random);
        let mask = self.uniform(wide, &[3, 7, 8, 12, -4, -8, 6, 1], random);
        let bit = self.uniform(wide, &[4, 8, 2, 16, 12], random);
        let bound = self.uniform(wide, &[0, 1, 2, 3, 4, 7, 8, -1], random);
        let predicates = ["slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge", "eq", "ne"];
        let (what, result, is_strided) = match random.below(14) {
            0 | 1 => (format!("{} v{x}, {by}", random.pick(&["urem", "srem"])), wide, true),
            2 | 3 => (format!("{} v{x}, {by}", random.pick(&["udiv", "sdiv"])), wide, false),
            4 => (format!("and v{x}, {mask}"), wide, true),
            5 => {
                let number = random.pick(&self.uniform[wide]);
                let operation = random.pick(&["sub v{}, 1", "add v{}, -1", "xor v{}, -1"]);
                let mask = self.kernel.condition(&operation.replace("{}", &number.to_string()));
                (format!("and v{x}, v{mask}"), wide, true)
            }
            6 => (format!("{} v{x}, {bit}", random.pick(&["xor", "or"])), wide, true),
            7 => {
                let amount = match random.chance(50) {
                    true => random.pick(&[1, 2, 3, 4]).to_string(),
                    false => {
                        let number = random.pick(&self.uniform[wide]);
                        format!("v{}", self.kernel.condition(&format!("and v{number}, {}", bits - 1)))
                    }
                };
                (format!("{} v{x}, {amount}", random.pick(&["lshr", "ashr"])), wide, false)
            }
            8 => {
                let narrow = self.strided(0, random);
                let sum = self.kernel.condition(&format!("add v{narrow}, v{}", random.pick(&[1, 2])));
                let narrow = if random.chance(50) { sum } else { narrow };
                (format!("{} i64, v{narrow}", random.pick(&["zext", "sext"])), 1, true)
            }
            9 => {
                let cut = random.pick(&[bits / 2, bits - 16, 8]);
                let shifted = self.kernel.condition(&format!("shl v{x}, {cut}"));
                (format!("ashr v{shifted}, {cut}"), wide, true)
            }
            10 => (
                format!("{} v{x}, {bound}", random.pick(&["smin", "smax", "umin", "umax", "usub_sat"])),
                wide,
                true,
            ),
            11 => {
                let condition =
                    self.kernel.condition(&format!("icmp {} v{x}, {bound}", random.pick(&predicates)));
                let near = self.kernel.condition(&format!("add v{x}, {}", random.pick(&[1, -1, 2])));
                let arms = random.pick(&[[near, x], [x, near]]);
                (format!("select v{condition}, v{}, v{}", arms[0], arms[1]), wide, true)
            }
            12 => {
                let condition =
                    self.kernel.condition(&format!("icmp {} v{x}, {bound}", random.pick(&predicates)));
                let extension = random.pick(&["zext", "sext"]);
                (format!("{extension} i{bits}, v{condition}"), wide, false)
            }
            _ => (format!("{} v{x}, {bound}", random.pick(&["add", "sub"])), wide, true),
        };
        let mut value = self.kernel.condition(&what);
        if random.chance(10) {
            value = self.kernel.condition(&format!("freeze v{value}"));
        }
        self.keep(result, value, is_strided);
    }

    /// Writes a difference that most work-items come to only if it does not wrap around, and the number that they get.
    fn add_guarded_difference(&mut self, random: &mut Random) {
        let wide = random.below(2);
        let x = self.strided(wide, random);
        let less = self.uniform(wide, &[0, 1, 2, 4], random);
        let (bound, difference) = match random.below(3) {
            0 => ("0".to_string(), format!("add v{x}, -1")),
            1 => (self.uniform(wide, &[0, 1, 2, 4], random), format!("sub v{x}, {less}")),
            _ => (less.clone(), format!("sub v{x}, {less}")),
        };
        let predicate = random.pick(&["uge", "ugt", "uge", "ugt", "ne", "ult", "sge"]);
        let condition = self.kernel.condition(&format!("icmp {predicate} v{x}, {bound}"));
        _ = writeln!(self.kernel.text, "  br v{condition}, block1, block2\nblock1:");
        let mut difference = self.kernel.condition(&difference);
        let mut wide = wide;
        if wide == 0 && random.chance(50) {
            (wide, difference) = (1, self.kernel.condition(&format!("zext i64, v{difference}")));
        }
        let bits = [32, 64][wide];
        _ = writeln!(self.kernel.text, "  br block2\nblock2:");
        let found = self.kernel.condition(&format!("phi i{bits} [block0: 7], [block1: v{difference}]"));
        self.keep(wide, found, false);
    }

    /// Writes a loop over work-items by a step, whose index is divided.
    fn add_loop(&mut self, random: &mut Random) {
        let wide = random.below(2);
        let start = self.strided(wide, random);
        let by = self.uniform(wide, &[4, 8, 12, 3, 16], random);
        let [step, bound] = match random.chance(10) {
            // The index wraps around, and comes to its bound later.
            true => ["1073741820".to_string(), "2147483628".to_string()],
            false => [[4, 8, 16, 6, 12], [16, 40, 64, 90, 0x7fff_fff0]]
                .map(|constants| self.uniform(wide, &constants, random)),
        };
        let bits = [32, 64][wide];
        let [index, sum] = [0, 1].map(|_| self.kernel.skip());
        let [quotient, product, mixed, next] = [0, 1, 2, 3].map(|_| self.kernel.skip());
        let division = random.pick(&["udiv", "urem", "sdiv", "srem"]);
        _ = write!(
            self.kernel.text,
            "  br block1\nblock1:\n  v{index} = phi i{bits} [block0: v{start}], [block1: v{next}]\
             \n  v{sum} = phi i{bits} [block0: 0], [block1: v{mixed}]\n  v{quotient} = {division} v{index}, {by}\
             \n  v{product} = mul v{sum}, 31\n  v{mixed} = add v{product}, v{quotient}\n  v{next} = add v{index}, {step}\n"
        );
        let predicate = random.pick(&["slt", "slt", "slt", "ult", "sle"]);
        let condition = self.kernel.condition(&format!("icmp {predicate} v{next}, {bound}"));
        _ = writeln!(self.kernel.text, "  br v{condition}, block1, block2\nblock2:");
        self.keep(wide, mixed, false);
    }
}

/// Makes a kernel whose work-items compute with their indices along dimension 0, and store what they found.
pub fn version_kernel(seed: u64) -> IndexKernel {
    let mut random = Random::new(seed);
    let random = &mut random;
    let mut kernel =
        KernelText::new("kernel @k(v0: ptr(global) align 4, v1: i32, v2: i32, v3: i64) {\nblock0:");
    let item = kernel.condition("global_id i64, 0");
    let first = kernel.condition("global_offset i64, 0");
    let narrow = kernel.condition(&format!("trunc i32, v{item}"));
    let moved = kernel.condition(&format!("add v{narrow}, v1"));
    let wide_parameter = kernel.condition("zext i64, v2");
    let mut values = IndexValues {
        kernel,
        strided: [vec![narrow, narrow, moved], vec![item]],
        uniform: [vec![1, 2], vec![3, wide_parameter]],
        observed: [vec![], vec![]],
    };
    // Many conditions would seldom hold together.
    let [is_loop, is_single] = [30, 60].map(|percent| random.chance(percent));
    for _ in 0..if is_single { 1 } else { 1 + random.below(3) } {
        if !is_loop || random.chance(30) {
            values.operation(random);
        }
    }
    if is_loop {
        values.add_loop(random);
    } else if random.chance(20) {
        values.add_guarded_difference(random);
    }
    let IndexValues { mut kernel, observed: [narrow, wide], .. } = values;
    // Sums of one width each: extensions and shifts would be rewritten, too.
    let cell = kernel.condition(&format!("sub v{item}, v{first}"));
    let offset = kernel.condition(&format!("shl v{cell}, 4"));
    let address = kernel.condition(&format!("ptradd v0, v{offset}"));
    let second = kernel.condition(&format!("ptradd v{address}, i64 8"));
    let low = kernel.condition(&format!("trunc i32, v{item}"));
    for (found, mut sum, address) in [(narrow, low, address), (wide, item, second)] {
        for value in found {
            let scaled = kernel.condition(&format!("mul v{sum}, 37"));
            sum = kernel.condition(&format!("add v{scaled}, v{value}"));
        }
        _ = writeln!(kernel.text, "  store v{sum}, v{address}");
    }
    _ = writeln!(kernel.text, "  ret\n}}");
    let near_end = |random: &mut Random| {
        // Not -1, by which kernels and regions divide the least number in different ways.
        let distance = if random.chance(50) { 2 + random.below(10) } else { 4 * random.below(4) };
        (1 << random.pick(&ENDS)) - distance as u64
    };
    let numbers = [0, 1, 2].map(|_| if random.chance(20) { near_end(random) } else { random.pick(&NUMBERS) });
    let local = [random.pick(&[4, 8, 12, 16, 7]), 1, 1];
    let global = [local[0] * (1 + random.below(3) as u64), 1, 1];
    let offset = match random.below(3) {
        0 => 0,
        1 => random.below(40) as u64,
        _ => near_end(random),
    };
    let module = parse_module(&kernel.text).unwrap_or_else(|it| panic!("{it:?}\n{}", kernel.text));
    IndexKernel { text: kernel.text, module, numbers, global, offset: [offset, 0, 0], local }
}

/// Checks that a launch does the same with versions. True if there is one.
pub fn versions_hold(kernel: &IndexKernel, lower: LowerVersions<'_>) -> Result<bool, String> {
    let Ok(expected) = launch(kernel, &kernel.module) else { return Ok(false) };
    let mut module = kernel.module.clone();
    lower(&mut module)?;
    verify_module(&module, Stage::Source).map_err(|reasons| format!("{reasons:?}"))?;
    let found =
        launch_groups(kernel, &module).map_err(|fault| format!("{fault}\n{}{module}", kernel.text))?;
    if found != expected {
        return Err(format!("the results differ\n{}{module}", kernel.text));
    }
    let decides = |func: &heddle_ir::Function| {
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        insts.any(|inst| {
            let is_bool = func.result(inst).is_some_and(|it| func.value_type(it) == Type::I1);
            func.inst(inst).op == Op::First && is_bool
        })
    };
    Ok(module.functions.iter().any(decides))
}

/// Memory after a launch by the group function.
fn launch_groups(kernel: &IndexKernel, module: &Module) -> Result<Vec<u8>, String> {
    let mut memory = Memory::new();
    let out = memory.add(Space::Global, Some("out"), 16, vec![0xaa; MEMORY]);
    let descriptor = memory.add(Space::Constant, Some("group"), 8, vec![0; 8 * GROUP_DESCRIPTOR_WORDS]);
    let [local, scratch] =
        ["local", "scratch"].map(|name| memory.add(Space::Global, Some(name), 64, vec![0; 64]));
    let bits = |bits: u128| Argument::Uniform(Datum::Bits(bits));
    let mut arguments = vec![bits(out.into())];
    arguments.extend(kernel.numbers.map(|it| bits(it.into())));
    arguments.extend([descriptor, local, scratch].map(|it| bits(it.into())));
    let options =
        RunOptions { limits: RunLimits { steps: 1_000_000, ..RunLimits::default() }, ..RunOptions::lanes(1) };
    let groups = kernel.global[0] / kernel.local[0];
    for number in 0..groups {
        let mut words = [0u64; GROUP_DESCRIPTOR_WORDS];
        let mut set = |field: GroupDescriptorField, word: u64| words[field.word()] = word;
        set(GroupDescriptorField::GroupId(0), number);
        set(GroupDescriptorField::FirstId(0), kernel.offset[0] + number * kernel.local[0]);
        set(GroupDescriptorField::GlobalOffset(0), kernel.offset[0]);
        set(GroupDescriptorField::WorkDim, 1);
        for along in 0..3u8 {
            let at = usize::from(along);
            set(GroupDescriptorField::NumGroups(along), kernel.global[at] / kernel.local[at]);
            set(GroupDescriptorField::LocalSize(along), kernel.local[at]);
            set(GroupDescriptorField::EnqueuedSize(along), kernel.local[at]);
            set(GroupDescriptorField::GlobalSize(along), kernel.global[at]);
        }
        if let Some(object) = memory.object_mut("group") {
            object.bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        }
        run(module, "k", &arguments, &mut memory, &options).map_err(|fault| format!("{fault:?}"))?;
    }
    let object = memory.objects().find(|object| object.name.as_deref() == Some("out"));
    Ok(object.ok_or("no memory")?.bytes.clone())
}
