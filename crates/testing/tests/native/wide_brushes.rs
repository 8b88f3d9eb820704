//! Brushes of more lanes than an integer has bits, and of four dimensions: on the oracle at each stage, and natively.

use heddle_ir::{Function, Module, Op, parse_module};
use heddle_llvm::CodegenLevel;
use heddle_runs::line::RunLine;
use heddle_runs::native::{NativeOptions, run_native};
use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_testing::native::hed::in_brushes;
use heddle_testing::wide::{WideningFaults, widens_with};

/// Lanes along each dimension: 192, 256 and 512 in all.
const BRUSHES: [&[u32]; 6] = [&[192], &[256], &[512], &[2, 2, 4, 16], &[3, 4, 2, 8], &[8, 1, 1, 64]];

const PROGRAMS: &str = "
; How many steps a point stays near: lanes leave one by one.
func @escape(v0: f64, v1: f64) -> i32 {
block0:
  br block1
block1:
  v2 = phi f64 [block0: 0.0], [block2: v9]
  v3 = phi f64 [block0: 0.0], [block2: v10]
  v4 = phi i32 [block0: 0], [block2: v11]
  v5 = fmul v2, v2
  v6 = fmul v3, v3
  v7 = fadd v5, v6
  v8 = fcmp olt v7, 4.0
  v12 = icmp ult v4, 40
  v13 = and v8, v12
  br v13, block2, block3
block2:
  v14 = fsub v5, v6
  v9 = fadd v14, v0
  v15 = fmul v2, v3
  v16 = fadd v15, v15
  v10 = fadd v16, v1
  v11 = add v4, 1
  br block1
block3:
  ret v4
}

; What lanes tell each other; the last one has the last word.
func @across(v0: i32, v1: ptr(global) uniform) -> i32 {
block0:
  v2 = and v0, 3
  v3 = icmp eq v2, 3
  br v3, block1, block2
block1:
  v4 = first v0
  v5 = reduce add v0
  v6 = scan add v0
  v7 = popcount i32, i1 true
  v8 = mul v7, 31
  v9 = add v4, v5
  v10 = xor v6, v8
  v15 = ballot i64, v3
  v16 = trunc i32, v15
  v17 = add v10, v16
  v11 = add v9, v17
  store v0, v1
  br block2
block2:
  v12 = phi i32 [block0: v0], [block1: v11]
  v13 = any v3
  v14 = select v13, v12, i32 7
  ret v14
}

; Lanes access memory here and there, and arrays of their own.
func @around(v0: i32, v1: ptr(global) uniform) -> i32 {
block0:
  v2 = alloca 32 align 4
  v3 = lane i32
  v4 = mul v3, 7
  v5 = and v4, 511
  v6 = zext i64, v5
  v7 = shl v6, 2
  v8 = ptradd v1, v7
  v9 = and v3, 7
  v10 = zext i64, v9
  v11 = shl v10, 2
  v12 = ptradd v2, v11
  store v0, v2
  store v4, v12
  v13 = icmp ult v0, 9
  br v13, block1, block2
block1:
  v14 = load i32, v8
  v15 = load i32, v2
  v16 = add v14, v15
  store v16, v8
  br block2
block2:
  v17 = load i32, v12
  v18 = lane i32, 0
  v19 = width i32
  v20 = mul v18, v19
  v21 = add v17, v20
  ret v21
}
";

fn programs() -> Module {
    parse_module(PROGRAMS).expect("the text is well-formed")
}

fn list(numbers: impl Iterator<Item = String>) -> String {
    format!("[{}]", numbers.collect::<Vec<_>>().join(", "))
}

/// A run of each program with these lanes.
fn lines(brush: &[u32]) -> Vec<RunLine> {
    let lanes: u32 = brush.iter().product();
    let extents = brush.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
    let float = |lane: u32, scale: u32| format!("{:?}", f64::from(lane * scale % 97) / 40.0 - 1.25);
    let (x, y) = (list((0..lanes).map(|lane| float(lane, 13))), list((0..lanes).map(|lane| float(lane, 29))));
    let some = list((0..lanes).map(|lane| (lane * lane / 3 % 11).to_string()));
    // None of the lanes that the first word of a mask holds.
    let late = list((0..lanes).map(|lane| (if lane < 150 { 4 } else { lane }).to_string()));
    let none = list((0..lanes).map(|lane| (4 * lane).to_string()));
    [
        format!("@escape({x}, {y}) lanes={extents}"),
        format!("@across({some}, &o) lanes={extents} with o: i32 zero 1"),
        format!("@across({late}, &o) lanes={extents} with o: i32 zero 1"),
        format!("@across({none}, &o) lanes={extents} with o: i32 zero 1"),
        format!("@around({some}, &o) lanes={extents} with o: i32 zero 512"),
    ]
    .iter()
    .map(|line| RunLine::parse(line).unwrap_or_else(|error| panic!("{error}")))
    .collect()
}

#[test]
fn native_code_of_wide_brushes_computes_what_the_oracle_says() {
    let module = programs();
    let native = NativeOptions { limit: None, level: CodegenLevel::Minimal, cache: None };
    for brush in BRUSHES {
        for line in lines(brush) {
            let what = format!("{brush:?} @{}", line.func);
            let expected = line.run(&module, &line.options).unwrap_or_else(|error| panic!("{what}: {error}"));
            let found = run_native(&module, &line, &native).unwrap_or_else(|error| panic!("{what}: {error}"));
            let [of_oracle, of_code] = [&expected, &found].map(|ran| ran.outcome.as_ref());
            let of_oracle = of_oracle.unwrap_or_else(|fault| panic!("{what}: {fault}"));
            let of_code = of_code.unwrap_or_else(|fault| panic!("{what}: {fault}"));
            assert_eq!(of_oracle.results, of_code.results, "{what}");
            for object in &expected.objects {
                let [expected, found] = [&expected.memory, &found.memory]
                    .map(|memory| memory.object(&object.name).map(|it| &it.bytes));
                assert_eq!(expected, found, "{what}: {}", object.name);
            }
        }
    }
}

/// Checks programs generated for fewer lanes, with lane-owned data distributed anew.
fn check_generated(seeds: std::ops::RangeInclusive<u64>, faults: &WideningFaults) -> (usize, Vec<String>) {
    let (mut checked, mut wrong) = (0, Vec::new());
    for seed in seeds {
        let brush = BRUSHES[seed as usize % BRUSHES.len()];
        let Some(case) = in_brushes(&generate(seed, &GeneratorProfile::source()), &[brush]) else { continue };
        match widens_with(&case, faults) {
            // Its objects are too small for these lanes.
            Err(reason) if reason.contains("the source fails") => continue,
            Err(reason) => wrong.push(format!("{seed}, {brush:?}: {reason}")),
            Ok(()) => {}
        }
        checked += 1;
    }
    (checked, wrong)
}

#[test]
fn generated_programs_keep_their_meaning_in_wide_brushes() {
    let (checked, wrong) = check_generated(1..=150, &WideningFaults::NONE);
    assert_eq!(wrong, [""; 0]);
    assert!(checked > 60, "only {checked} programs");
}

/// Lets the first active lane of many be another one.
fn shift_numbers(func: &mut Function) {
    let all: Vec<_> = func.blocks().flat_map(|block| func.block_insts(block).collect::<Vec<_>>()).collect();
    for inst in all {
        let data = func.inst(inst);
        let Some(&shown) = data.args.first().filter(|_| data.op == Op::Reduce) else { continue };
        let Some(select) = func.def_inst(shown).filter(|&it| func.inst(it).op == Op::Select) else {
            continue;
        };
        let [_, then, otherwise] = func.inst(select).args[..] else { continue };
        func.inst_mut(select).args[1] = otherwise;
        func.inst_mut(select).args[2] = then;
    }
}

#[test]
fn a_wrong_first_lane_of_many_is_noticed() {
    let faults = WideningFaults { wide: shift_numbers, ..WideningFaults::NONE };
    let (checked, wrong) = check_generated(1..=150, &faults);
    assert!(!wrong.is_empty(), "{checked} programs");
}
