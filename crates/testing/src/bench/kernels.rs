//! Small kernels that keep the interpreter busy, each with a reference implementation in Rust.

use heddle_interp::{Argument, Datum, Memory, RunLimits, RunOptions, RunOutcome, run};
use heddle_ir::{Module, Space, parse_module};

/// A kernel `@main(rounds, &data)`, which returns an `i32` per lane.
pub(super) struct BenchKernel {
    pub(super) name: &'static str,
    text: fn() -> String,
    /// Reference implementation: computes a lane's result from its number, the rounds, and the data, of which it
    /// updates its own elements.
    reference: fn(LaneNumber, u32, &mut [u32]) -> u32,
}

/// Lane number and number of lanes.
#[derive(Clone, Copy)]
struct LaneNumber {
    number: u32,
    lanes: u32,
}

/// A kernel ready to run.
pub(super) struct PreparedBenchKernel {
    kernel: &'static BenchKernel,
    module: Module,
}

/// The number of values in the kernel's memory; a power of two.
const DATA: u32 = 4096;

impl BenchKernel {
    pub(super) fn prepare(&'static self) -> PreparedBenchKernel {
        let text = (self.text)();
        let module = parse_module(&text).unwrap_or_else(|errors| panic!("{}: {errors:?}", self.name));
        PreparedBenchKernel { kernel: self, module }
    }
}

impl PreparedBenchKernel {
    pub(super) fn name(&self) -> &'static str {
        self.kernel.name
    }

    /// The number of instructions of all its functions.
    pub(super) fn instructions(&self) -> usize {
        self.module.functions.iter().map(|func| func.inst_count()).sum()
    }

    /// Runs the kernel; `None` where it faults.
    pub(super) fn run(&self, lanes: u32, rounds: u32, memory: &mut Memory) -> Option<RunOutcome> {
        let address = match memory.object("data") {
            Some(object) => object.address,
            None => {
                let bytes = (0..DATA).flat_map(u32::to_le_bytes).collect();
                memory.add(Space::Global, Some("data"), 64, bytes)
            }
        };
        let args = [rounds.into(), u128::from(address)].map(|bits| Argument::Uniform(Datum::Bits(bits)));
        let options = RunOptions { limits: RunLimits::NONE, ..RunOptions::lanes(lanes) };
        run(&self.module, "main", &args, memory, &options).ok()
    }

    /// True if a run agrees with the reference implementation.
    pub(super) fn is_right(&self, lanes: u32, rounds: u32) -> bool {
        let mut memory = Memory::new();
        let Some(outcome) = self.run(lanes, rounds, &mut memory) else { return false };
        let mut data: Vec<u32> = (0..DATA).collect();
        let mut reference = |number| (self.kernel.reference)(LaneNumber { number, lanes }, rounds, &mut data);
        let expected: Vec<Datum> = (0..lanes).map(|number| Datum::Bits(reference(number).into())).collect();
        let bytes: Vec<u8> = data.iter().flat_map(|value| value.to_le_bytes()).collect();
        outcome.results == [expected] && memory.object("data").is_some_and(|object| object.bytes == bytes)
    }
}

/// Generates a kernel with a single-block loop of `v0` iterations: code before it, φs and body, and code after it. `v2`
/// is the iteration number.
fn counted(before: &str, round: &str, end: &str) -> String {
    format!(
        "func @main(v0: i32, v1: ptr(global)) -> i32 {{
block0:
{before}
  br block1
block1:
  v2 = phi i32 [block0: 0], [block1: v3]
{round}
  v3 = add nuw v2, 1
  v4 = icmp ult v3, v0
  br v4, block1, block2
block2:
{end}
}}
"
    )
}

pub(super) const KERNELS: &[BenchKernel] = &[
    BenchKernel {
        name: "integers",
        text: || {
            let round = "
  v5 = phi i32 [block0: v15], [block1: v14]
  v6 = mul v5, 1664525
  v7 = add v6, 1013904223
  v8 = lshr v7, 13
  v9 = xor v7, v8
  v10 = shl v9, 3
  v11 = sub v10, v5
  v12 = and v11, 268435455
  v13 = or v12, v2
  v14 = xor v13, v7";
            counted("  v15 = lane i32", round, "  v16 = phi i32 [block1: v14]\n  ret v16")
        },
        reference: |lane, rounds, _| {
            let mut x = lane.number;
            for round in 0..rounds {
                let y = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let z = (y ^ (y >> 13)).wrapping_shl(3).wrapping_sub(x) & 0x0fff_ffff;
                x = (z | round) ^ y;
            }
            x
        },
    },
    BenchKernel {
        name: "floats",
        text: || {
            let before = "
  v5 = lane i32
  v6 = uitofp f32, v5
  v7 = uitofp f64, v5";
            let round = "
  v8 = phi f32 [block0: v6], [block1: v12]
  v9 = phi f64 [block0: v7], [block1: v16]
  v10 = fmul v8, 0.75
  v11 = fadd v10, 1.5
  v12 = fdiv v11, 1.25
  v13 = fmul v9, 0.5
  v14 = fsub v13, 3.0
  v15 = fcmp olt v14, 0.0
  v16 = select v15, f64 8.0, v14";
            let end = "
  v17 = phi f32 [block1: v12]
  v18 = phi f64 [block1: v16]
  v19 = fptrunc f32, v18
  v20 = fadd v17, v19
  v21 = bitcast i32, v20
  ret v21";
            counted(before, round, end)
        },
        reference: |lane, rounds, _| {
            let (mut x, mut y) = (lane.number as f32, f64::from(lane.number));
            for _ in 0..rounds {
                x = (x * 0.75 + 1.5) / 1.25;
                y = y * 0.5 - 3.0;
                y = if y < 0.0 { 8.0 } else { y };
            }
            (x + y as f32).to_bits()
        },
    },
    BenchKernel {
        name: "memory",
        text: || {
            let round = "
  v5 = phi i32 [block0: 0], [block1: v14]
  v6 = mul v2, v16
  v7 = add v6, v15
  v8 = and v7, 4095
  v9 = shl v8, 2
  v10 = ptradd v1, v9
  v11 = load i32, v10
  v12 = add v11, 7
  store v12, v10
  v14 = xor v5, v12";
            let end = "  v17 = phi i32 [block1: v14]\n  ret v17";
            counted("  v15 = lane i32\n  v16 = width i32", round, end)
        },
        reference: |lane, rounds, data| {
            let mut sum = 0;
            for round in 0..rounds {
                let index = (round * lane.lanes + lane.number) as usize % data.len();
                data[index] += 7;
                sum ^= data[index];
            }
            sum
        },
    },
    BenchKernel {
        name: "divergence",
        text: || {
            "
func @main(v0: i32, v1: ptr(global)) -> i32 {
block0:
  v2 = lane i32
  v3 = and v2, 7
  v4 = lshr v0, 1
  v5 = mul v3, v4
  v6 = lshr v5, 3
  v7 = sub v0, v6
  br block1
block1:
  v8 = phi i32 [block0: 0], [block4: v20]
  v9 = phi i32 [block0: v2], [block4: v19]
  v10 = mul v9, 747796405
  v11 = add v10, v8
  v12 = and v11, 64
  v13 = icmp eq v12, 0
  br v13, block2, block3
block2:
  v14 = lshr v11, 7
  v15 = xor v11, v14
  v16 = add v15, 3
  br block4
block3:
  v17 = shl v11, 1
  v18 = sub v17, v9
  br block4
block4:
  v19 = phi i32 [block2: v16], [block3: v18]
  v20 = add nuw v8, 1
  v21 = icmp ult v20, v7
  br v21, block1, block5
block5:
  v22 = phi i32 [block4: v19]
  ret v22
}
"
            .into()
        },
        reference: |lane, rounds, _| {
            let mut x = lane.number;
            for round in 0..rounds - (((lane.number & 7) * (rounds >> 1)) >> 3) {
                let y = x.wrapping_mul(747_796_405).wrapping_add(round);
                x = if y & 64 == 0 { (y ^ (y >> 7)).wrapping_add(3) } else { (y << 1).wrapping_sub(x) };
            }
            x
        },
    },
    BenchKernel {
        name: "calls",
        text: || {
            let mix = "
func @mix(v0: i32, v1: i32) -> i32 {
block0:
  v2 = mul v0, -1640531527
  v3 = lshr v2, 15
  v4 = xor v2, v3
  v5 = add v4, v1
  v6 = mul v5, -2048144777
  v7 = lshr v6, 13
  v8 = xor v6, v7
  v9 = sub v8, v0
  ret v9
}
";
            let round = "
  v5 = phi i32 [block0: v7], [block1: v6]
  v6 = call @mix(v5, v2)";
            let end = "  v8 = phi i32 [block1: v6]\n  ret v8";
            mix.to_string() + &counted("  v7 = lane i32", round, end)
        },
        reference: |lane, rounds, _| {
            let mix = |x: u32, y: u32| {
                let z = x.wrapping_mul(0x9e37_79b9);
                let z = (z ^ (z >> 15)).wrapping_add(y).wrapping_mul(0x85eb_ca77);
                (z ^ (z >> 13)).wrapping_sub(x)
            };
            (0..rounds).fold(lane.number, mix)
        },
    },
];

/// A run as fuzzing does millions of: about 60 instructions in loops, branches and memory, executed a few times.
pub(super) static SMALL: BenchKernel = BenchKernel {
    name: "small",
    text: || {
        "
func @main(v0: i32, v1: ptr(global)) -> i32 {
block0:
  v2 = lane i32
  v3 = shl v2, 2
  v4 = ptradd v1, v3
  v5 = load i32, v4
  v6 = alloca 16 align 4
  store v5, v6
  v7 = ptradd v6, i32 4
  store v2, v7
  br block1
block1:
  v8 = phi i32 [block0: 0], [block8: v40]
  v9 = phi i32 [block0: v5], [block8: v39]
  v10 = mul v9, 5
  v11 = add v10, v8
  v12 = and v11, 1
  v13 = icmp eq v12, 0
  br v13, block2, block3
block2:
  v14 = lshr v11, 1
  v15 = xor v14, 85
  v16 = add v15, v2
  v17 = and v16, 3
  br block4
block3:
  v18 = shl v11, 1
  v19 = sub v18, v9
  v20 = or v19, 1
  v21 = lshr v20, 2
  v22 = and v21, 3
  br block4
block4:
  v23 = phi i32 [block2: v17], [block3: v22]
  v24 = phi i32 [block2: v16], [block3: v20]
  br block5
block5:
  v25 = phi i32 [block4: 0], [block6: v31]
  v26 = phi i32 [block4: v24], [block6: v30]
  v27 = icmp ult v25, v23
  br v27, block6, block7
block6:
  v28 = mul v26, 3
  v29 = add v28, v25
  v30 = xor v29, v2
  v31 = add v25, 1
  br block5
block7:
  v32 = phi i32 [block5: v26]
  v33 = load i32, v6
  v34 = add v33, v32
  store v34, v6
  v35 = load i32, v7
  v36 = sub v35, v34
  store v36, v7
  v37 = icmp slt v36, 0
  v38 = select v37, v36, v34
  br block8
block8:
  v39 = phi i32 [block7: v38]
  v40 = add nuw v8, 1
  v41 = icmp ult v40, v0
  br v41, block1, block9
block9:
  v42 = phi i32 [block8: v39]
  v43 = load i32, v6
  v44 = load i32, v7
  v45 = xor v43, v44
  v46 = add v45, v42
  store v46, v4
  ret v46
}
"
        .into()
    },
    reference: |lane, rounds, data| {
        let at = lane.number as usize;
        let (mut a, mut b, mut x) = (data[at], lane.number, data[at]);
        for round in 0..rounds {
            let y = x.wrapping_mul(5).wrapping_add(round);
            let (count, mut z) = if y & 1 == 0 {
                let z = ((y >> 1) ^ 85).wrapping_add(lane.number);
                (z & 3, z)
            } else {
                let z = (y << 1).wrapping_sub(x) | 1;
                (z >> 2 & 3, z)
            };
            for inner in 0..count {
                z = z.wrapping_mul(3).wrapping_add(inner) ^ lane.number;
            }
            a = a.wrapping_add(z);
            b = b.wrapping_sub(a);
            x = if (b as i32) < 0 { b } else { a };
        }
        data[at] = (a ^ b).wrapping_add(x);
        data[at]
    },
};
