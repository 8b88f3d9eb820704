//! Kernels that multiply indices by parameters. Launches know some of these, and do the same with them.

use crate::bounded_indices::IndexKernel;
use crate::divided::KernelText;
use crate::generate::Random;
use heddle_ir::parse_module;
use std::fmt::Write as _;

/// Values of strides. The bits above the lower 32 of some are lost where they are truncated.
const STRIDES: [u64; 9] = [0, 0, 1, 1, 2, 4, 4, (1 << 32) + 1, (1 << 32) + 4];

/// Defines `promised`, a [`PromiseIndices`] by the strides that a module knows: that of the product, or of a woven copy.
///
/// [`PromiseIndices`]: crate::bounded_indices::PromiseIndices
#[macro_export]
macro_rules! promise_by_strides {
    ($($kernels:ident)::+) => {
        /// The kernel with the strides of a launch, if it has known ones.
        fn promised(
            func: &heddle_ir::Function,
            _: [[u64; 3]; 3],
            parameters: &[Option<u64>],
        ) -> Option<Option<heddle_ir::Function>> {
            use $($kernels)::+::{KnownStrides, stride_parameters};
            let known = stride_parameters(func);
            let strides = KnownStrides::of_launch(&known, |number| parameters[number]);
            if strides.is_empty() {
                return None;
            }
            let mut promised = func.clone();
            strides.assume(&known, &mut promised);
            Some(Some(promised))
        }
    };
}

/// Writes an index times a stride, in 64 bits.
fn product(kernel: &mut KernelText, ids: [u32; 2], random: &mut Random) -> u32 {
    let id = random.pick(&ids);
    let parameter = 1 + random.below(3) as u32;
    let wide = random.chance(50);
    let stride = match (parameter, wide) {
        (3, true) | (1 | 2, false) => parameter,
        (3, _) => kernel.condition("trunc i32, v3"),
        _ => kernel.condition(&format!("{} i64, v{parameter}", random.pick(&["zext", "sext"]))),
    };
    let index = if wide { id } else { kernel.condition(&format!("trunc i32, v{id}")) };
    let factors = if random.chance(50) { [index, stride] } else { [stride, index] };
    let product = kernel.condition(&format!("mul v{}, v{}", factors[0], factors[1]));
    let product = if wide { product } else { kernel.condition(&format!("sext i64, v{product}")) };
    match random.below(3) {
        // As compilers extend a number of 32 bits in place.
        0 => {
            let shifted = kernel.condition(&format!("shl v{product}, 32"));
            kernel.condition(&format!("ashr v{shifted}, 32"))
        }
        _ => product,
    }
}

/// Makes a kernel of two dimensions that stores to cells at a distance of its parameters.
pub fn stride_kernel(seed: u64) -> IndexKernel {
    let mut random = Random::new(seed);
    let mut kernel =
        KernelText::new("kernel @k(v0: ptr(global) align 4, v1: i32, v2: i32, v3: i64) {\nblock0:");
    let ids = [0, 1].map(|along| kernel.condition(&format!("global_id i64, {along}")));
    let mut offset = product(&mut kernel, ids, &mut random);
    for _ in 0..random.below(3) {
        let other = product(&mut kernel, ids, &mut random);
        offset = kernel.condition(&format!("add v{offset}, v{other}"));
    }
    if random.chance(50) {
        offset = kernel.condition(&format!("shl v{offset}, {}", 1 + random.below(2)));
    }
    // The stored number depends on all parameters.
    let address = kernel.condition(&format!("ptradd v0, v{offset}"));
    let [x, y] = ids.map(|id| kernel.condition(&format!("trunc i32, v{id}")));
    let [low, high] = ["v3".to_string(), format!("v{}", kernel.condition("lshr v3, 32"))]
        .map(|part| kernel.condition(&format!("trunc i32, {part}")));
    let mut stored = x;
    for (place, part) in [y, 1, 2, low, high].into_iter().enumerate() {
        let scaled = kernel.condition(&format!("mul v{stored}, {}", 31 + 2 * place));
        stored = kernel.condition(&format!("add v{scaled}, v{part}"));
    }
    if random.chance(50) {
        stored = kernel.condition(&format!("trunc i8, v{stored}"));
    }
    _ = writeln!(kernel.text, "  store v{stored}, v{address}\n  ret\n}}");
    let number = |random: &mut Random| random.pick(&STRIDES);
    let numbers = [number(&mut random) & 0xff, number(&mut random) & 0xff, number(&mut random)];
    let local = [1 + random.below(3), 1 + random.below(2), 1].map(|it| it as u64);
    let groups = [1 + random.below(2), 1 + random.below(2), 1].map(|it| it as u64);
    let global = [0, 1, 2].map(|along| local[along] * groups[along]);
    let module = parse_module(&kernel.text).unwrap_or_else(|it| panic!("{it:?}\n{}", kernel.text));
    IndexKernel { text: kernel.text, module, numbers, global, offset: [0; 3], local }
}
