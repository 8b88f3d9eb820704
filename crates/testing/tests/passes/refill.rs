//! Loops whose lanes take new iterations when they are done with theirs: they leave in memory what one thread leaves there, with
//! any number of lanes, in lock-step and as vector code; and faults planted into the transformation are caught.

use heddle::Session;
use heddle_interp::{Argument, Datum, Memory, RunOptions, run};
use heddle_ir::{Module, Space, parse_module};
use heddle_testing::generate::Random;
use heddle_transform::{LoopPromises, RefillRule, canonicalize, refill_lanes, refill_lanes_without};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Elements of each array.
const ROOM: usize = 64;
const PARALLEL: LoopPromises = LoopPromises { is_parallel: true };

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
struct Case {
    module: Module,
    starts: Vec<u8>,
    nexts: Vec<u8>,
    count: u64,
}

fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let text = text(&mut random);
    let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let bytes = |numbers: Vec<u32>| numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let starts = bytes((0..ROOM).map(|_| random.below(ROOM) as u32).collect());
    let nexts = bytes((0..ROOM).map(|at| random.below(at.max(1)) as u32).collect());
    Case { module, starts, nexts, count: 1 + random.below(ROOM) as u64 }
}

impl Case {
    /// Runs a function and returns its memory, or the fault.
    fn outcome(&self, module: &Module, name: &str, options: &RunOptions) -> Result<Vec<u8>, String> {
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

    fn expected(&self) -> Vec<u8> {
        self.outcome(&self.module, "f", &RunOptions::lanes(1)).expect("one thread runs it")
    }

    fn refilled(&self, without: Option<RefillRule>) -> Module {
        let mut module = self.module.clone();
        let func = &mut module.functions[0];
        canonicalize(func);
        assert!(refill_lanes_without(func, PARALLEL, without).expect("it can be spread"), "no lane waits");
        module
    }
}

#[test]
fn refilled_loops_do_what_one_thread_does() {
    let session = Session::default();
    for seed in 0..60 {
        let case = case(seed);
        let expected = case.expected();
        let module = case.refilled(None);
        for lanes in [1, 2, 3, 4, 7, 16] {
            let found = case.outcome(&module, "f", &RunOptions::lanes(lanes));
            assert_eq!(found.as_ref(), Ok(&expected), "seed {seed}, {lanes} lanes");
        }
        let lanes = [2, 4, 8][seed as usize % 3];
        let mut wide = module.clone();
        let width = format!("W={lanes}");
        session.run_passes(&mut wide, &["vectorize", &width], true, |_, _| {}).expect("it has vector code");
        let options = RunOptions { stands_for: Some(vec![lanes]), ..RunOptions::lanes(1) };
        let found = case.outcome(&wide, &format!("f.w{lanes}"), &options);
        assert_eq!(found.as_ref(), Ok(&expected), "seed {seed}, vector code of {lanes} lanes");
    }
}

#[test]
fn every_planted_fault_is_caught() {
    use RefillRule::{GoesRound, Keeps, Leaves, OneEach, PausingKeeps};
    for rule in [PausingKeeps, OneEach, GoesRound, Keeps, Leaves] {
        let caught = (0..60).filter(|&seed| {
            let case = case(seed);
            let module = case.refilled(Some(rule));
            let found = catch_unwind(AssertUnwindSafe(|| case.outcome(&module, "f", &RunOptions::lanes(4))));
            found.ok().is_none_or(|found| found.as_ref() != Ok(&case.expected()))
        });
        let caught = caught.count();
        println!("{rule:?}: {caught} of 60");
        assert!(caught > 5, "{rule:?}: {caught} of 60");
    }
}

/// Loops in which no lane waits, or in which it would be seen which lanes are together, stay as they are.
#[test]
fn what_gains_nothing_or_would_tell_stays() {
    let with = |inner: &str| {
        format!(
            "func @f(v0: ptr uniform, v1: i64 uniform) {{\nblock0:\n br block1\nblock1:\n v2 = phi i64 [block0: 0], [block3: v9]\n \
             v3 = shl v2, 2\n v4 = ptradd v0, v3\n br block2\nblock2:\n v5 = phi i64 [block1: 0], [block2: v6]\n v6 = add v5, 1\n \
             {inner}\n br v7, block2, block3\nblock3:\n v8 = phi i64 [block2: v6]\n store v8, v4 align 4\n v9 = add v2, 1\n \
             v10 = icmp ne v9, v1\n br v10, block1, block4\nblock4:\n ret\n}}\n"
        )
    };
    for (inner, is_refilled) in [
        ("v7 = icmp ult v6, v2", true),
        ("v7 = icmp ult v6, v1", false),
        ("v20 = icmp ult v6, v2\n v7 = any v20", false),
        ("fence seq_cst device\n v7 = icmp ult v6, v2", false),
    ] {
        let text = with(inner);
        let mut module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let func = &mut module.functions[0];
        canonicalize(func);
        let before = func.clone();
        assert_eq!(refill_lanes(func, PARALLEL).expect("it can be spread"), is_refilled, "{inner}");
        assert!(is_refilled || func.to_string() == before.to_string(), "{inner}");
        let promises = LoopPromises::default();
        assert!(!refill_lanes(&mut before.clone(), promises).expect("it can be spread"), "{inner}");
    }
}
