//! Kernels that read fields of descriptors, some in functions. Launches know some of the fields, and do the same with them.

use crate::divided::KernelText;
use crate::generate::Random;
use heddle_interp::{Argument, Datum, LaunchGeometry, Memory, RunOptions, run};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Module, Space, parse_module};
use std::fmt::Write as _;

/// Bytes of a descriptor.
const DESCRIPTOR: usize = 128;
/// Offsets that code knows, and some next to them.
const OFFSETS: [usize; 12] = [48, 52, 72, 76, 80, 100, 104, 44, 56, 60, 84, 108];
/// Number of descriptors: two pointers, and a number of 64 bits.
const DESCRIPTORS: usize = 3;

/// Descriptor of a launch.
#[derive(Clone, Copy, Debug)]
pub struct TestDescriptor {
    /// Its 32-bit words.
    pub words: [u32; DESCRIPTOR / 4],
    /// True if it is a texture's.
    pub is_texture: bool,
    /// True if code knows it.
    pub is_known: bool,
}

impl TestDescriptor {
    /// Returns the word at an offset.
    pub fn word(&self, offset: usize) -> u32 {
        self.words[offset / 4]
    }
}

/// Kernel and the descriptors of a launch.
#[derive(Debug)]
pub struct ImageKernel {
    text: String,
    module: Module,
    /// Its descriptors: parameters 1 to 3.
    pub descriptors: [TestDescriptor; DESCRIPTORS],
    /// Its sampler, parameter 4, if code knows it.
    pub sampler: Option<u32>,
    sampler_bits: u32,
}

/// Gives a module the known arguments of a launch of the kernel.
pub type AssumeImages<'a> = &'a dyn Fn(&ImageKernel, &mut Module);

/// Defines `assume`, an [`AssumeImages`] of the product, or of a woven copy.
#[macro_export]
macro_rules! assume_images {
    ($($kernels:ident)::+) => {
        /// Gives a module the known arguments of a launch of the kernel.
        fn assume(kernel: &heddle_testing::known_images::ImageKernel, module: &mut heddle_ir::Module) {
            use $($kernels)::+::{DescriptorFields, KnownArgument, KnownImages, SamplingModes};
            let images = kernel.descriptors.iter().enumerate().filter(|(_, it)| it.is_known);
            let images = images.map(|(number, it)| {
                let modes = it.is_texture.then(|| SamplingModes {
                    samplers: [72, 76, 80].map(|at| it.word(at)),
                    has_border: it.word(100) != 0,
                    is_float: it.word(104) != 0,
                });
                let fields = DescriptorFields { layout: it.word(48) as i32, order: it.word(52) as i32, modes };
                (1 + number, KnownArgument::Descriptor(fields))
            });
            let sampler = kernel.sampler.map(|bits| (4, KnownArgument::Sampler(bits)));
            KnownImages::of_launch(images.chain(sampler)).assume_in_kernels(module);
        }
    };
}

/// Writes the load of a field.
fn field(text: &mut KernelText, pointer: u32, random: &mut Random) -> u32 {
    let offset = random.pick(&OFFSETS);
    let address = match random.below(4) {
        0 => {
            let part = random.pick(&[4, 40, -4]);
            let first = text.condition(&format!("ptradd v{pointer}, i64 {part}"));
            text.condition(&format!("ptradd v{first}, i64 {}", offset as i64 - part))
        }
        1 => {
            let number = text.condition(&format!("ptrtoint i64, v{pointer}"));
            let sum = text.condition(&format!("add v{number}, {offset}"));
            text.condition(&format!("inttoptr ptr(constant), v{sum}"))
        }
        _ => text.condition(&format!("ptradd v{pointer}, i64 {offset}")),
    };
    match random.below(6) {
        0 if offset.is_multiple_of(8) => {
            let wide = text.condition(&format!("load i64, v{address}"));
            text.condition(&format!("trunc i32, v{wide}"))
        }
        1 => {
            let byte = text.condition(&format!("load i8, v{address}"));
            text.condition(&format!("zext i32, v{byte}"))
        }
        _ => text.condition(&format!("load i32, v{address}")),
    }
}

/// Mixes a value into another one.
fn mixed(text: &mut KernelText, into: u32, value: u32) -> u32 {
    let scaled = text.condition(&format!("mul v{into}, 31"));
    text.condition(&format!("xor v{scaled}, v{value}"))
}

/// Writes `count` reads and calls of a function with two pointers to descriptors and a number, and returns the mixture.
fn body(
    text: &mut KernelText,
    pointers: [u32; 2],
    number: u32,
    callees: &[&str],
    random: &mut Random,
) -> u32 {
    let mut mixture = number;
    for _ in 0..1 + random.below(3) {
        let pointer = random.pick(&pointers);
        let value = match (callees.is_empty(), random.below(3)) {
            (false, 0 | 1) => {
                let other = random.pick(&pointers);
                let other = match random.chance(20) {
                    true => text.condition(&format!("ptradd v{other}, i64 8")),
                    false => other,
                };
                let passed = match random.below(3) {
                    0 => "5".to_string(),
                    1 => format!("v{mixture}"),
                    _ => format!("v{number}"),
                };
                text.condition(&format!("call @{}(v{pointer}, v{other}, {passed})", random.pick(callees)))
            }
            _ => field(text, pointer, random),
        };
        mixture = mixed(text, mixture, value);
    }
    mixture
}

/// Makes a kernel that reads fields of three descriptors.
pub fn image_kernel(seed: u64) -> ImageKernel {
    let mut random = Random::new(seed);
    let signature = "(v0: ptr(constant), v1: ptr(constant), v2: i32) -> i32";
    let mut all = String::new();
    let callees: [&[&str]; 3] = [&[], &["first"], &["first", "second"]];
    for (name, callees) in ["first", "second"].iter().zip(callees) {
        let mut text = KernelText::new(&format!("func @{name}{signature} {{\nblock0:"));
        let result = body(&mut text, [0, 1], 2, callees, &mut random);
        _ = writeln!(text.text, "  ret v{result}\n}}\n");
        all.push_str(&text.text);
    }
    let mut text = KernelText::new(
        "kernel @k(v0: ptr(global), v1: ptr(constant), v2: ptr(constant), v3: i64, v4: i32) {\nblock0:",
    );
    let handle = text.condition("inttoptr ptr(constant), v3");
    let chosen = text.condition("icmp eq v4, 1");
    let either = text.condition(&format!("select v{chosen}, v1, v2"));
    let pointers = match random.below(4) {
        0 => [1, handle],
        1 => [either, 2],
        2 => [2, 1],
        _ => [1, 2],
    };
    let result = body(&mut text, pointers, 4, callees[2], &mut random);
    let again = body(&mut text, [handle, 1], 4, callees[2], &mut random);
    let result = mixed(&mut text, result, again);
    _ = writeln!(text.text, "  store v{result}, v0\n  ret\n}}");
    all.push_str(&text.text);
    let descriptors = std::array::from_fn(|_| {
        let mut words = std::array::from_fn(|_| random.below(60) as u32);
        (words[25], words[26]) = (random.below(2) as u32, random.below(2) as u32);
        TestDescriptor { words, is_texture: random.chance(60), is_known: random.chance(80) }
    });
    let sampler_bits = random.below(8) as u32;
    let sampler = random.chance(60).then_some(sampler_bits);
    let module = parse_module(&all).unwrap_or_else(|it| panic!("{it:?}\n{all}"));
    ImageKernel { text: all, module, descriptors, sampler, sampler_bits }
}

/// Checks that a launch does the same with what its code knows.
pub fn does_the_same(kernel: &ImageKernel, assume: AssumeImages<'_>) -> Result<(), String> {
    let mut module = kernel.module.clone();
    assume(kernel, &mut module);
    verify_module(&module, Stage::Source).map_err(|reasons| format!("{reasons:?}\n{module}"))?;
    let before = launch(kernel, &kernel.module)?;
    let after = launch(kernel, &module).map_err(|fault| format!("{fault}\n{}{module}", kernel.text))?;
    match before == after {
        true => Ok(()),
        false => Err(format!("the results differ\n{}{module}", kernel.text)),
    }
}

/// Memory after a launch of one work-item.
fn launch(kernel: &ImageKernel, module: &Module) -> Result<Vec<u8>, String> {
    let mut memory = Memory::new();
    let out = memory.add(Space::Global, Some("out"), 16, vec![0xaa; 16]);
    let mut arguments = vec![out];
    for descriptor in &kernel.descriptors {
        let bytes = descriptor.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        arguments.push(memory.add(Space::Constant, None, 16, bytes));
    }
    arguments.push(kernel.sampler_bits.into());
    let arguments: Vec<Argument> =
        arguments.into_iter().map(|bits| Argument::Uniform(Datum::Bits(bits.into()))).collect();
    let options = RunOptions {
        brush: vec![1, 1],
        geometry: Some(LaunchGeometry { dims: 1, local: [1; 3], groups: [1; 3], offset: [0; 3] }),
        ..RunOptions::default()
    };
    run(module, "k", &arguments, &mut memory, &options).map_err(|fault| format!("{fault:?}"))?;
    let object = memory.objects().find(|object| object.name.as_deref() == Some("out"));
    Ok(object.ok_or("no memory")?.bytes.clone())
}
