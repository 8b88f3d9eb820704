//! Generated loops for lane refill.

use crate::generate::Random;
use heddle_interp::{Argument, Datum, Memory, RunOptions, run};
use heddle_ir::{Module, Space, parse_module};

/// Elements of each array.
const ROOM: usize = 64;

/// A loop over chains of numbers, each followed to its end: some iterations pass by the inner loop, some leave it earlier, some
/// have a loop in it, some count by a pointer.
fn text(random: &mut Random) -> String {
    let start = if random.chance(40) {
        "v10 = and v7, 3\n v11 = icmp ne v10, 0\n br v11, block2, block8"
    } else {
        "br block2"
    };
    let exit = if random.chance(50) {
        "v23 = and v20, 7\n v25 = icmp eq v23, 5\n br v25, block7, block4"
    } else {
        "br block4"
    };
    let is_nest = random.chance(40);
    let work = if is_nest {
        "br block10\nblock10:\n v60 = phi i32 [block4: 0], [block10: v62]\n v61 = phi i32 [block4: v31], [block10: v63]\n \
         v62 = add v60, 1\n v63 = add v61, v62\n v64 = and v20, 3\n v65 = icmp ult v62, v64\n br v65, block10, block5\nblock5:\n \
         v66 = phi i32 [block10: v63]\n br block2"
    } else {
        "v66 = xor v31, 9\n br block5\nblock5:\n br block2"
    };
    let by_pointer = random.chance(30);
    let (pointer, address) = if by_pointer {
        ("v50 = phi ptr [block0: v0], [block9: v51]\n", "v6 = ptradd v50, i64 0")
    } else {
        ("", "v6 = ptradd v0, v5")
    };
    let next = if by_pointer { "v51 = ptradd v50, i64 4\n" } else { "" };
    let mut joined = String::from("v44 = phi i32 [block6: v21]");
    if exit.contains("block7") {
        joined += ", [block7: v20]";
    }
    if start.contains("block8") {
        joined += ", [block1: v8]";
    }
    let seventh = if exit.contains("block7") { "block7:\n br block8\n" } else { "" };
    format!(
        "func @f(v0: ptr uniform, v1: ptr uniform, v2: ptr uniform, v3: i64 uniform) {{\nblock0:\n br block1\nblock1:\n \
         v4 = phi i64 [block0: 0], [block9: v90]\n {pointer} v5 = shl v4, 2\n {address}\n v7 = load i32, v6 align 4\n \
         v8 = mul v7, 3\n {start}\nblock2:\n v20 = phi i32 [block1: v7], [block5: v30]\n \
         v21 = phi i32 [block1: 1], [block5: v66]\n v22 = icmp sgt v20, 0\n br v22, block3, block6\nblock3:\n {exit}\n\
         block4:\n v26 = sext i64, v20\n v27 = shl v26, 2\n v28 = ptradd v1, v27\n v30 = load i32, v28 align 4\n \
         v31 = add v21, v8\n {work}\nblock6:\n br block8\n{seventh}block8:\n {joined}\n v45 = add v44, v7\n \
         v46 = ptradd v2, v5\n store v45, v46 align 4\n br block9\nblock9:\n {next} v90 = add v4, 1\n v91 = icmp ne v90, v3\n \
         br v91, block1, block11\nblock11:\n ret\n}}\n"
    )
}

/// A loop, and what it works on.
#[derive(Debug)]
pub struct RefillCase {
    /// The function `f`.
    pub module: Module,
    starts: Vec<u8>,
    nexts: Vec<u8>,
    count: u64,
}

/// Generates a loop.
pub fn generate_refill_case(seed: u64) -> RefillCase {
    let mut random = Random::new(seed);
    let text = text(&mut random);
    let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let bytes = |numbers: Vec<u32>| numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let starts = bytes((0..ROOM).map(|_| random.below(ROOM) as u32).collect());
    let nexts = bytes((0..ROOM).map(|at| random.below(at.max(1)) as u32).collect());
    RefillCase { module, starts, nexts, count: 1 + random.below(ROOM) as u64 }
}

impl RefillCase {
    /// Runs a function and returns its memory, or the fault.
    pub fn outcome(&self, module: &Module, name: &str, options: &RunOptions) -> Result<Vec<u8>, String> {
        let mut memory = Memory::new();
        let starts = memory.add(Space::Global, Some("starts"), 64, self.starts.clone());
        let nexts = memory.add(Space::Global, Some("nexts"), 64, self.nexts.clone());
        let out = memory.add(Space::Global, Some("out"), 64, vec![0; ROOM * 4]);
        let args = [starts, nexts, out, self.count];
        let args = args.map(|bits| Argument::Uniform(Datum::Bits(bits.into())));
        run(module, name, &args, &mut memory, options).map_err(|fault| fault.to_string())?;
        let out = memory.object("out").ok_or("the result is gone")?;
        Ok(out.bytes.clone())
    }

    /// The memory that one thread leaves.
    pub fn expected(&self) -> Vec<u8> {
        self.outcome(&self.module, "f", &RunOptions::lanes(1)).expect("one thread runs it")
    }
}
