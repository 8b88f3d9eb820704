//! `heddle exec --native` against `heddle exec`: every C program of `tests/c`, and cross-lane operations.

use heddle_compiler::ir::{Function, Module, Space, Type};
use heddle_interp::Datum;
use heddle_llvm::{CodegenLevel, compile, import};
use heddle_runs::line::RunLine;
use heddle_runs::native::{NativeOptions, run_native};
use heddle_testing::generate::Random;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NATIVE: NativeOptions = NativeOptions { limit: None, level: CodegenLevel::Default, cache: None };

fn sources(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    files
}

fn read(path: &Path, level: u8) -> Module {
    let llvm = compile(path, level, &["-ffp-contract=off"]).unwrap_or_else(|error| panic!("{error}"));
    let imported = import(&llvm);
    assert!(imported.refused.is_empty(), "{}: {}", path.display(), imported.refused[0]);
    imported.module
}

fn list<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn number(random: &mut Random) -> u64 {
    match random.below(3) {
        0 => random.below(64) as u64,
        1 => u64::from(random.between(0, u32::MAX)),
        _ => u64::from(random.between(0, u32::MAX)) << 32 | u64::from(random.between(0, u32::MAX)),
    }
}

/// The results and all objects, of the oracle or natively.
fn outcome(module: &Module, line: &RunLine, is_native: bool) -> (Vec<Vec<Datum>>, Vec<Vec<u8>>) {
    let name = &line.func;
    let ran = match is_native {
        true => run_native(module, line, &NATIVE).unwrap_or_else(|error| panic!("@{name}: {error}")),
        false => line.run(module, &line.options).unwrap_or_else(|error| panic!("@{name}: {error}")),
    };
    let outcome = ran.outcome.unwrap_or_else(|fault| panic!("@{name}: {fault}"));
    let object = |name: &str| ran.memory.object(name).expect("it is there").bytes.clone();
    (outcome.results, ran.objects.iter().map(|spec| object(&spec.name)).collect())
}

/// True if the function takes two numbers and an address.
fn is_under_test(func: &&Function) -> bool {
    let params: Vec<Type> = func.signature.params.iter().map(|param| param.ty).collect();
    params == [Type::I64, Type::I64, Type::ptr(Space::Generic)] && func.signature.results.len() == 1
}

#[test]
fn native_runs_of_c_programs_are_those_of_the_oracle() {
    let mut runs = 0;
    for path in sources("c") {
        let module = read(&path, 1);
        for func in module.functions.iter().filter(is_under_test) {
            for lanes in [1, 4, 8, 16] {
                let mut random = Random::new(lanes as u64);
                let column =
                    |random: &mut Random| -> Vec<u64> { (0..lanes).map(|_| number(random)).collect() };
                let mems = (0..lanes).map(|lane| {
                    let mem: Vec<u64> = (0..64).map(|_| random.below(100) as u64).collect();
                    format!("mem{lane}: i32 [{}]", list(&mem))
                });
                let mems: Vec<String> = mems.collect();
                let addresses: Vec<String> = (0..lanes).map(|lane| format!("&mem{lane}")).collect();
                let args = [list(&column(&mut random)), list(&column(&mut random)), list(&addresses)];
                let mut line =
                    RunLine::parse(&format!("@{}() lanes={lanes}", func.name)).expect("it is a run");
                line.args = args.iter().map(|arg| format!("[{arg}]")).collect();
                line.objects = mems;
                let (oracle, native) = (outcome(&module, &line, false), outcome(&module, &line, true));
                assert_eq!(oracle, native, "{} @{} of {lanes} lanes, {args:?}", path.display(), func.name);
                runs += 1;
            }
        }
    }
    assert!(runs >= 100, "{runs} runs");
}

/// Returns the results by lane.
fn results(outcome: &(Vec<Vec<Datum>>, Vec<Vec<u8>>)) -> Vec<u64> {
    outcome.0[0].iter().map(|datum| datum.bits().expect("it is defined") as u64).collect()
}

fn numbers(object: &[u8]) -> Vec<i32> {
    object.chunks(4).map(|word| i32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

struct Input {
    a: Vec<u64>,
    b: Vec<u64>,
    mem: Vec<i32>,
}

/// Reference implementation of the functions of `horizontals.c`, by lane.
fn expected(name: &str, Input { a, b, mem }: &Input) -> Vec<u64> {
    let lanes = a.len();
    let all = |value: u64| vec![value; lanes];
    match name {
        "find" => all(mem[..64].iter().position(|&number| number == b[0] as i32).unwrap_or(1000) as u64),
        "compact" => all(mem[..64].iter().filter(|&number| number & 1 != 0).count() as u64),
        "parted" => parted(a, b),
        "moved" => {
            let of = |lane: usize| {
                let next = a[(lane + 1) % lanes];
                next ^ b[lanes - 1] ^ i64::from(next as i32) as u64
            };
            (0..lanes).map(of).collect()
        }
        "words" => {
            let mut hash = all(1);
            let signed: Vec<i32> = a.iter().map(|&a| a as i32).collect();
            let unsigned: Vec<u32> = b.iter().map(|&b| b as u32).collect();
            integers(&mut hash, &signed, &I32, |it| i64::from(it) as u64);
            integers(&mut hash, &unsigned, &U32, u64::from);
            hash
        }
        "long_words" => {
            let mut hash = all(2);
            let signed: Vec<i64> = a.iter().map(|&a| a as i64).collect();
            integers(&mut hash, &signed, &I64, |it| it as u64);
            integers(&mut hash, b, &U64, |it| it);
            integers(&mut hash, &signed, &I64, |it| it as u64);
            hash
        }
        _ => {
            let mut hash = all(3);
            let single: Vec<f32> = a.iter().map(|&a| (a & 0xffff) as i32 as f32 * 0.37 - 9000.0).collect();
            let twice: Vec<f64> = b.iter().map(|&b| (b >> 20) as i64 as f64 * 1.7).collect();
            arithmetic(&mut hash, &single, &F32, |it| u64::from(it.to_bits()));
            arithmetic(&mut hash, &twice, &F64, f64::to_bits);
            hash
        }
    }
}

fn parted(a: &[u64], b: &[u64]) -> Vec<u64> {
    let lanes = a.len();
    let mut given = vec![0; lanes];
    let those =
        |is_here: &dyn Fn(usize) -> bool| (0..lanes).filter(|&lane| is_here(lane)).collect::<Vec<_>>();
    let odd = those(&|lane| a[lane] & 1 != 0);
    let sum = odd.iter().fold(0u64, |sum, &lane| sum.wrapping_add(b[lane]));
    let all_odd = odd.iter().all(|&lane| b[lane] & 1 != 0);
    odd.iter().for_each(|&lane| given[lane] = sum.wrapping_mul(2).wrapping_add(all_odd.into()));
    let second = those(&|lane| a[lane] & 1 == 0 && a[lane] & 2 != 0);
    let mask: u64 = second.iter().map(|&lane| 1 << lane).sum();
    let odd_count = second.iter().filter(|&&lane| b[lane] & 1 != 0).count() as u64;
    for &lane in &second {
        given[lane] = mask << 32 | odd_count << 16 | u64::from(b[second[0]] as u32 & 255);
    }
    let rest = those(&|lane| a[lane] & 3 == 0);
    let mut left: Vec<u64> = a.iter().map(|a| a & 31).collect();
    loop {
        let live: Vec<usize> = rest.iter().copied().filter(|&lane| left[lane] > 0).collect();
        if live.is_empty() {
            break;
        }
        let ballot: u64 = live.iter().filter(|&&lane| left[lane] & 1 != 0).map(|&lane| 1u64 << lane).sum();
        let mut before = 0;
        for &lane in &live {
            given[lane] = given[lane].wrapping_add(ballot + before);
            before += left[lane];
        }
        live.iter().for_each(|&lane| left[lane] >>= 1);
    }
    let most = rest.iter().map(|&lane| b[lane] as i32).max().unwrap_or(0);
    rest.iter().for_each(|&lane| given[lane] = given[lane].wrapping_add(i64::from(most) as u64));
    given
}

/// Combining function of a reduction, and its initial value.
type Way<T> = (fn(T, T) -> T, T);
type Ways<T, const N: usize> = [Way<T>; N];
const I32: Ways<i32, 7> = [
    (i32::wrapping_add, 0),
    (i32::wrapping_mul, 1),
    (Ord::min, i32::MAX),
    (Ord::max, i32::MIN),
    (|a, b| a & b, -1),
    (|a, b| a | b, 0),
    (|a, b| a ^ b, 0),
];
const U32: Ways<u32, 7> = [
    (u32::wrapping_add, 0),
    (u32::wrapping_mul, 1),
    (Ord::min, u32::MAX),
    (Ord::max, 0),
    (|a, b| a & b, u32::MAX),
    (|a, b| a | b, 0),
    (|a, b| a ^ b, 0),
];
const I64: Ways<i64, 7> = [
    (i64::wrapping_add, 0),
    (i64::wrapping_mul, 1),
    (Ord::min, i64::MAX),
    (Ord::max, i64::MIN),
    (|a, b| a & b, -1),
    (|a, b| a | b, 0),
    (|a, b| a ^ b, 0),
];
const U64: Ways<u64, 7> = [
    (u64::wrapping_add, 0),
    (u64::wrapping_mul, 1),
    (Ord::min, u64::MAX),
    (Ord::max, 0),
    (|a, b| a & b, u64::MAX),
    (|a, b| a | b, 0),
    (|a, b| a ^ b, 0),
];
const F32: Ways<f32, 4> =
    [(|a, b| a + b, -0.0), (|a, b| a * b, 1.0), (f32::min, f32::INFINITY), (f32::max, f32::NEG_INFINITY)];
const F64: Ways<f64, 4> =
    [(|a, b| a + b, -0.0), (|a, b| a * b, 1.0), (f64::min, f64::INFINITY), (f64::max, f64::NEG_INFINITY)];

fn mix(hash: &mut [u64], values: &[u64]) {
    for (hash, value) in hash.iter_mut().zip(values) {
        *hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(*value);
    }
}

fn combined<T: Copy>(hash: &mut [u64], values: &[T], ways: &[Way<T>], bits: fn(T) -> u64) {
    for &(combine, neutral) in ways {
        let (mut up_to, mut before, mut sum) = (Vec::new(), Vec::new(), neutral);
        for &value in values {
            before.push(bits(sum));
            sum = combine(sum, value);
            up_to.push(bits(sum));
        }
        mix(hash, &vec![bits(sum); values.len()]);
        mix(hash, &up_to);
        mix(hash, &before);
    }
}

fn arithmetic<T: Copy>(hash: &mut [u64], values: &[T], ways: &[Way<T>], bits: fn(T) -> u64) {
    combined(hash, values, &ways[..4], bits);
    mix(hash, &vec![bits(values[0]); values.len()]);
}

fn integers<T: Copy>(hash: &mut [u64], values: &[T], ways: &[Way<T>], bits: fn(T) -> u64) {
    arithmetic(hash, values, ways, bits);
    combined(hash, values, &ways[4..], bits);
}

#[test]
fn lanes_of_c_programs_ask_each_other() {
    let folder = std::env::temp_dir().join(format!("heddle-lanes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let [c] = &sources("c/lanes")[..] else { panic!("one file") };
    let cpp = folder.join("horizontals.cpp");
    let text = format!(
        "#include <heddle.h>\n#include <string.h>\nextern \"C\" {{\n#include \"{}\"\n}}\n",
        c.display()
    );
    std::fs::write(&cpp, text).expect("it can be written");
    let mut runs = 0;
    for (path, level) in [(c, 0), (c, 1), (c, 2), (&cpp, 1)] {
        let module = read(path, level);
        for name in ["find", "compact", "parted", "moved", "words", "long_words", "floats"] {
            for lanes in [4, 8, 16] {
                for round in 0..3 {
                    let mut random = Random::new(lanes as u64 * 10 + round);
                    let column =
                        |random: &mut Random| -> Vec<u64> { (0..lanes).map(|_| number(random)).collect() };
                    let (a, mut b) = (column(&mut random), column(&mut random));
                    let mut mem: Vec<i32> = (0..64).map(|_| random.below(90) as i32 - 20).collect();
                    mem.resize(128, 0);
                    if name == "find" {
                        b = vec![random.below(90) as u64; lanes];
                    }
                    let mut line = RunLine::parse(&format!("@{name}() lanes={lanes}")).expect("it is a run");
                    line.args = vec![format!("[{}]", list(&a)), format!("[{}]", list(&b)), "&mem".into()];
                    line.objects = vec![format!("mem: i32 [{}]", list(&mem))];
                    let (oracle, native) = (outcome(&module, &line, false), outcome(&module, &line, true));
                    let what = format!("{} at -O{level}, @{name} of {lanes} lanes", path.display());
                    assert_eq!(oracle, native, "{what}: oracle and native");
                    if name == "compact" {
                        let odd: Vec<i32> = mem.iter().copied().filter(|number| number & 1 != 0).collect();
                        assert_eq!(numbers(&native.1[0])[64..64 + odd.len()], odd, "{what}");
                    }
                    assert_eq!(results(&native), expected(name, &Input { a, b, mem }), "{what}");
                    runs += 1;
                }
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(runs, 4 * 7 * 3 * 3);
}

/// LLVM's own loop for these does not end where one of the smallest numbers is in memory.
#[test]
fn arithmetic_on_bf16_in_memory_ends() {
    const LIMITED: NativeOptions = NativeOptions { limit: Some(Duration::from_secs(20)), ..NATIVE };
    for op in ["fadd", "fsub", "fmin", "fmax"] {
        let text = format!(
            "func @at(v0: ptr(global) uniform, v1: bf16 uniform) -> bf16 {{
block0:
  v2 = lane i64
  v3 = shl v2, 1
  v4 = ptradd v0, v3
  v5 = atomic_rmw {op} v4, v1 acquire group
  ret v5
}}"
        );
        let module = heddle_compiler::ir::parse_module(&text).expect("it is a module");
        let line =
            "@at(&a, 2e-39) lanes=8 with a: bf16 [5.4e-39, 1e-40, 3.0, -7.5e-39, 0.0, inf, -2e-39, 1e-38]";
        let line = RunLine::parse(line).expect("it is a run");
        let expected = outcome(&module, &line, false);
        for level in [CodegenLevel::Default, CodegenLevel::Minimal] {
            let ran = run_native(&module, &line, &NativeOptions { level, ..LIMITED }).expect("it ends");
            let results = ran.outcome.expect("it runs").results;
            let memory = ran.memory.object("a").expect("it is there").bytes.clone();
            assert_eq!((results, vec![memory]), expected, "{op}, {level:?}");
        }
    }
}

/// Without earlier simplification, LLVM's code generator does not terminate here: it derives known zero bits in one
/// place, and misses them in the next.
#[test]
fn bits_that_are_known_to_be_zero_compile() {
    let text = "func @at(v0: i64, v10: i1 uniform) -> i1 {
block0:
  v1 = mul v0, 16
  v2 = and v1, 1
  v3 = lshr 1, v2
  v4 = trunc i1, v3
  v5 = xor v4, true
  v6 = sext i32, v5
  v7 = zext i32, v5
  v8 = add v7, 1
  br v10, block1, block2

block1:
  v9 = icmp eq v8, v6
  ret v9

block2:
  ret v5
}";
    let module = heddle_compiler::ir::parse_module(text).expect("it is a module");
    let line = RunLine::parse("@at([0, 1, 2, 3], true) lanes=4").expect("it is a run");
    let (expected, _) = outcome(&module, &line, false);
    for level in [CodegenLevel::Default, CodegenLevel::Minimal] {
        let ran = run_native(&module, &line, &NativeOptions { level, ..NATIVE }).expect("it is compiled");
        assert_eq!(ran.outcome.expect("it runs").results, expected, "{level:?}");
    }
}
