//! C programs through clang at three levels, imported, run by the oracle lane by lane and together, and natively.

use heddle_compiler::Session;
use heddle_interp::{Argument, Datum, Memory, RunOptions, run};
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Module, Scalar, Space, Type};
use heddle_llvm::{CodegenLevel, EmitOptions, Jit, compile, emit, import, slot_bytes};
use heddle_runs::wide_call::wide_form;
use heddle_testing::generate::Random;
use std::path::{Path, PathBuf};

/// All functions under test are `uint64_t f(uint64_t a, uint64_t b, int32_t *mem)`; `mem` has this many numbers.
const NUMBERS: usize = 64;
const LANES: usize = 4;
const ROUNDS: usize = 12;

fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c");
    let entries = std::fs::read_dir(folder).expect("tests/c can be listed");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("tests/c can be listed").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    files
}

fn under_test(module: &Module) -> Vec<String> {
    let is_one = |params: &[Type], results: &[Type]| {
        params == [Type::I64, Type::I64, Type::ptr(Space::Generic)] && results == [Type::I64]
    };
    let types = |func: &heddle_ir::Function| {
        let params: Vec<Type> = func.signature.params.iter().map(|param| param.ty).collect();
        let results: Vec<Type> = func.signature.results.iter().map(|result| result.ty).collect();
        is_one(&params, &results)
    };
    module.functions.iter().filter(|func| types(func)).map(|func| func.name.clone()).collect()
}

/// Numbers aligned for accesses of four.
#[repr(align(16))]
struct Aligned([i32; NUMBERS]);

/// Arguments of one lane.
#[derive(Clone, Debug)]
struct Lane {
    a: u64,
    b: u64,
    mem: [i32; NUMBERS],
}

impl Lane {
    fn new(random: &mut Random) -> Lane {
        let number = |random: &mut Random| match random.below(3) {
            0 => random.below(64) as u64,
            1 => u64::from(random.between(0, u32::MAX)),
            _ => u64::from(random.between(0, u32::MAX)) << 32 | u64::from(random.between(0, u32::MAX)),
        };
        let mut mem = [0; NUMBERS];
        mem.fill_with(|| match random.below(3) {
            0 => random.below(40) as i32 - 20,
            _ => random.between(0, u32::MAX) as i32,
        });
        Lane { a: number(random), b: number(random), mem }
    }

    fn native(&self, address: u64) -> (u64, [i32; NUMBERS]) {
        let mut mem = Aligned(self.mem);
        // SAFETY: the address is that of a C function of this type that has no undefined behaviour for any number and
        // touches no more of `mem` than there is.
        let result = unsafe {
            let function: extern "C" fn(u64, u64, *mut i32) -> u64 = std::mem::transmute(address as usize);
            function(self.a, self.b, mem.0.as_mut_ptr())
        };
        (result, mem.0)
    }
}

/// Interprets these lanes together, each on its own numbers.
fn interpreted(module: &Module, name: &str, lanes: &[Lane]) -> Vec<(u64, [i32; NUMBERS])> {
    let mut memory = Memory::new();
    let mut addresses = Vec::new();
    for (index, lane) in lanes.iter().enumerate() {
        let bytes = lane.mem.iter().flat_map(|number| number.to_le_bytes()).collect();
        addresses.push(memory.add(Space::Global, Some(&format!("mem{index}")), 16, bytes));
    }
    let column = |values: Vec<u64>| {
        Argument::Varying(values.into_iter().map(|value| Datum::Bits(value.into())).collect())
    };
    let args = [
        column(lanes.iter().map(|lane| lane.a).collect()),
        column(lanes.iter().map(|lane| lane.b).collect()),
        column(addresses),
    ];
    let options = RunOptions { detect_races: true, ..RunOptions::lanes(lanes.len() as u32) };
    let outcome = run(module, name, &args, &mut memory, &options).unwrap_or_else(|fault| {
        panic!(
            "{name} of {lanes:?}: {fault}\n{}",
            module.function(name).map_or(String::new(), ToString::to_string)
        )
    });
    assert!(outcome.race.is_none(), "{name}: {:?}", outcome.race);
    let of_lane = |lane: usize| {
        let Datum::Bits(result) = outcome.results[0][lane] else { panic!("{name} gives poison") };
        let object = memory.object(&format!("mem{lane}")).expect("the object is there");
        let mut mem = [0; NUMBERS];
        for (index, number) in mem.iter_mut().enumerate() {
            *number = object
                .read(index * 4, 4)
                .unwrap_or_else(|| panic!("{name} leaves poison in mem[{index}], {lanes:?}"))
                as u32 as i32;
        }
        (result as u64, mem)
    };
    (0..lanes.len()).map(of_lane).collect()
}

#[test]
fn c_programs_compute_what_clang_makes_of_them() {
    let mut functions = 0;
    for path in sources() {
        for level in 0..=2 {
            let llvm =
                compile(&path, level, &["-ffp-contract=off"]).unwrap_or_else(|error| panic!("{error}"));
            let imported = import(&llvm);
            let shown = path.display();
            assert!(imported.refused.is_empty(), "{shown} at -O{level}: {}", imported.refused[0]);
            verify_module(&imported.module, Stage::Source).unwrap_or_else(|error| panic!("{shown}: {error}"));
            let jit = Jit::new(llvm, CodegenLevel::Default, &[]).unwrap_or_else(|error| panic!("{error}"));
            for name in under_test(&imported.module) {
                functions += 1;
                let address = jit.address(&name).unwrap_or_else(|error| panic!("{error}"));
                let mut random = Random::new(functions);
                for _ in 0..ROUNDS {
                    let lanes: Vec<Lane> = (0..LANES).map(|_| Lane::new(&mut random)).collect();
                    let native: Vec<_> = lanes.iter().map(|lane| lane.native(address)).collect();
                    let alone: Vec<_> = lanes
                        .iter()
                        .map(|lane| {
                            interpreted(&imported.module, &name, std::slice::from_ref(lane)).remove(0)
                        })
                        .collect();
                    assert_eq!(native, alone, "{shown} at -O{level}, @{name}, each lane alone, {lanes:?}");
                    let together = interpreted(&imported.module, &name, &lanes);
                    assert_eq!(native, together, "{shown} at -O{level}, @{name}, lanes together, {lanes:?}");
                }
            }
        }
    }
    assert!(functions >= 70, "{functions} functions");
}

/// Vectorizes a function and its callees for `lanes` lanes, all parameters varying.
fn widened(module: &Module, name: &str, lanes: usize) -> Result<Module, String> {
    let mut wanted = vec![name.to_string()];
    let mut at = 0;
    while at < wanted.len() {
        let callees = module.function(&wanted[at]).into_iter().flat_map(|func| func.callees.values());
        for callee in callees {
            if !wanted.contains(&callee.name) {
                wanted.push(callee.name.clone());
            }
        }
        at += 1;
    }
    let mut part = module.clone();
    part.functions.retain(|func| wanted.contains(&func.name));
    Session::default()
        .run_passes(&mut part, &["vectorize", &format!("W={lanes}"), "params=varying"], true, |_, _| {})
        .map_err(|error| error.to_string())?;
    Ok(part)
}

/// Runs the wide form natively on these lanes.
fn native_wide(wide: &Module, name: &str, lanes: &[Lane]) -> Vec<(u64, [i32; NUMBERS])> {
    let brush = [lanes.len() as u32];
    let func = wide_form(wide, name, &brush).unwrap_or_else(|| panic!("@{name} has no wide form"));
    let options = EmitOptions { entries: true, ..EmitOptions::default() };
    let llvm = emit(wide, options).unwrap_or_else(|error| panic!("{error}\n{func}"));
    let jit = Jit::new(llvm, CodegenLevel::Default, &[]).unwrap_or_else(|error| panic!("{error}\n{func}"));
    let entry = jit.entry(&func.name).unwrap_or_else(|error| panic!("{error}\n{func}"));
    let mut mems: Vec<Aligned> = lanes.iter().map(|lane| Aligned(lane.mem)).collect();
    let mut arguments = Vec::new();
    let columns: [Vec<u64>; 3] = [
        lanes.iter().map(|lane| lane.a).collect(),
        lanes.iter().map(|lane| lane.b).collect(),
        mems.iter_mut().map(|mem| mem.0.as_mut_ptr() as u64).collect(),
    ];
    for (column, param) in columns.iter().zip(&func.signature.params) {
        assert_eq!(param.ty.lanes(), Some(lanes.len() as u16), "@{name}: parameters are varying");
        column.iter().for_each(|value| arguments.extend(value.to_le_bytes()));
        arguments.resize(arguments.len().next_multiple_of(16), 0);
    }
    let ty = func.signature.results[0].ty;
    let mut results = vec![0; slot_bytes(ty)];
    // SAFETY: each lane of the C function is defined for any numbers, and accesses only its own.
    unsafe { entry.call(&arguments, &mut results) };
    let result = |lane: usize| {
        let at = if ty.is_vector() { lane * 8 } else { 0 };
        u64::from_le_bytes(results[at..at + 8].try_into().expect("eight bytes"))
    };
    mems.into_iter().enumerate().map(|(lane, mem)| (result(lane), mem.0)).collect()
}

#[test]
fn vector_code_of_c_programs_is_right_in_every_lane() {
    let (mut right, mut refused) = (0, Vec::new());
    for path in sources() {
        for level in 1..=2 {
            let llvm =
                compile(&path, level, &["-ffp-contract=off"]).unwrap_or_else(|error| panic!("{error}"));
            let module = import(&llvm).module;
            let jit = Jit::new(llvm, CodegenLevel::Default, &[]).unwrap_or_else(|error| panic!("{error}"));
            for name in under_test(&module) {
                let address = jit.address(&name).unwrap_or_else(|error| panic!("{error}"));
                for lanes in [4, 8, 16] {
                    let wide = match widened(&module, &name, lanes) {
                        Ok(wide) => wide,
                        Err(reason) => {
                            refused.push(format!("@{name} at -O{level}, {lanes} lanes: {reason}"));
                            continue;
                        }
                    };
                    let mut random = Random::new(lanes as u64);
                    for _ in 0..4 {
                        let lanes: Vec<Lane> = (0..lanes).map(|_| Lane::new(&mut random)).collect();
                        let expected: Vec<_> = lanes.iter().map(|lane| lane.native(address)).collect();
                        assert_eq!(
                            expected,
                            native_wide(&wide, &name, &lanes),
                            "@{name} at -O{level}, {lanes:?}"
                        );
                    }
                    right += 1;
                }
            }
        }
    }
    println!("{right} right; refused:\n{}", refused.join("\n"));
    assert!(right > 100, "{right} right; refused:\n{}", refused.join("\n"));
}

#[test]
fn a_program_that_differs_is_noticed() {
    let path = sources().remove(0);
    let llvm = compile(&path, 1, &[]).expect("it compiles");
    let mut module = import(&llvm).module;
    let name = under_test(&module).remove(0);
    let jit = Jit::new(llvm, CodegenLevel::Default, &[]).expect("it compiles");
    let func = module.function_mut(&name).expect("it is there");
    let ret = func
        .blocks()
        .filter_map(|block| func.terminator(block))
        .find(|&inst| func.inst(inst).op == heddle_ir::Op::Ret);
    let seven = func.make_int(Scalar::I64, 7);
    func.inst_mut(ret.expect("it returns")).args[0] = seven;
    let lane = Lane::new(&mut Random::new(1));
    let native = lane.native(jit.address(&name).expect("it is compiled"));
    assert_ne!(interpreted(&module, &name, &[lane]), [native]);
}
