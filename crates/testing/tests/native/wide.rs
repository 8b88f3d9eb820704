//! Each op on vectors, compiled, against the oracle: all types, several widths, values at the edges.

use heddle_interp::{Argument, Datum, Memory, RunOptions, run};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::Signature;
use heddle_ir::ops::{Effect, InstFormat, OperandConstraint};
use heddle_ir::typing::result_types;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::words::{Flags, FloatPredicate, IntPredicate, Reduction};
use heddle_ir::{Function, Module, Op, Scalar, Space, Type, Value, parse_module};
use heddle_llvm::{CodegenLevel, Cpu, EmitOptions, Jit, LlvmModule, OptimizeOptions, emit, optimize};
use heddle_testing::generate::Random;
use std::collections::BTreeSet;

/// Bytes between operands in the object that they are read from.
const STEP: usize = 512;
const OPERANDS: usize = 4;
const ROUNDS: usize = 3;

/// Creates a function `(in, out)` of one op, which reads its operands from `in` and writes its result to `out`.
fn one_op(name: String, data: &InstData, operands: &[Type], written: Option<Type>) -> Function {
    let pointers = [Type::ptr(Space::Global); 2];
    let mut func = Function::new(name, Signature::new(&pointers, &[]));
    let block = func.append_block();
    let [input, output] = [func.params()[0], func.params()[1]];
    let mut builder = Builder::new(&mut func, InsertPoint::End(block));
    let mut args = Vec::new();
    for (index, &ty) in operands.iter().enumerate() {
        let offset = builder.int(Scalar::I64, (index * STEP) as i128);
        let address = builder.op(Op::PtrAdd, &[input, offset]);
        args.push(builder.load(ty, address, 1));
    }
    let inst = builder.inst(InstData { args: args.into_iter().collect(), ..data.clone() }, written);
    let results: Vec<Value> = builder.func.results(inst).to_vec();
    for result in results {
        builder.store(result, output, 1);
    }
    builder.ret(&[]);
    func
}

/// Details of an op to test.
fn details(op: Op, lanes: u16) -> Vec<Detail> {
    let reductions = Reduction::ALL.iter().copied();
    match op.info().format {
        InstFormat::Plain | InstFormat::Cast => vec![Detail::None],
        InstFormat::IntCompare => {
            IntPredicate::ALL.iter().map(|&predicate| Detail::IntCompare(predicate)).collect()
        }
        InstFormat::FloatCompare => {
            FloatPredicate::ALL.iter().map(|&predicate| Detail::FloatCompare(predicate)).collect()
        }
        InstFormat::Reduce => reductions.map(Detail::Reduce).collect(),
        InstFormat::Scan => [false, true]
            .iter()
            .flat_map(|&before| reductions.clone().map(move |by| Detail::Scan { by, before }))
            .collect(),
        InstFormat::FloatClass => [1, 2, 0x60, 0x90, 0x3fc, 0x204].map(Detail::FloatClass).to_vec(),
        InstFormat::Permute => {
            let lane = |index: u16| (index * 7 + 3) % (2 * lanes);
            vec![
                Detail::Permute((0..lanes).map(lane).collect()),
                Detail::Permute((0..lanes / 2).map(lane).collect()),
            ]
        }
        _ => Vec::new(),
    }
}

/// All functions of one op at one width.
fn functions(op: Op, lanes: u16, list: &mut Vec<(Function, Vec<Type>)>) {
    let info = op.info();
    let scalars = || Scalar::ALL.into_iter().filter(|scalar| !scalar.is_ptr());
    let is_left_out =
        matches!(op, Op::Mask | Op::Lane | Op::Assume | Op::Unreachable | Op::Broadcast | Op::First)
            || !matches!(info.effect, Effect::Pure | Effect::Traps | Effect::Horizontal);
    if is_left_out {
        return;
    }
    let poison_flags = info.flags.intersection(Flags::POISON).without(Flags::FAST);
    for detail in details(op, lanes) {
        for scalar in scalars() {
            let vector = Type::Vector(scalar, lanes);
            let operands: Vec<Type> = info
                .operands
                .iter()
                .map(|operand| match operand {
                    OperandConstraint::T(_) | OperandConstraint::SameAsResult => vector,
                    OperandConstraint::BoolOfT
                    | OperandConstraint::Choice
                    | OperandConstraint::MaskOfResult => Type::mask(lanes),
                    OperandConstraint::SameLanes(_) => Type::Vector(Scalar::I16, lanes),
                    OperandConstraint::LaneOfT => Type::Scalar(scalar),
                    OperandConstraint::Free(class) if class.contains(vector) => vector,
                    OperandConstraint::Free(_) => {
                        Type::Scalar(if op == Op::Splat { scalar } else { Scalar::I8 })
                    }
                })
                .collect();
            let written: Vec<Option<Type>> = [None]
                .into_iter()
                .chain(scalars().map(|to| Some(Type::Vector(to, lanes))))
                .chain([Some(Type::Vector(scalar, lanes / 2))])
                .chain(scalars().map(|to| Some(Type::Scalar(to))))
                .collect();
            for written in written {
                for flags in BTreeSet::from([0, 1])
                    .iter()
                    .map(|&with| if with == 1 { poison_flags } else { Flags::NONE })
                {
                    let data = InstData { flags, ..InstData::new(op, [], detail.clone()) };
                    let placed = InstData {
                        args: operands.iter().map(|_| Value::from_u32(0)).collect(),
                        ..data.clone()
                    };
                    let fits = result_types(&placed, &operands, written, None)
                        .is_ok_and(|results| results.len() == 1);
                    let is_refused = op == Op::Bitcast
                        && written.is_some_and(|to| {
                            let pair = [operands[0].scalar(), to.scalar()];
                            pair.contains(&Scalar::I1) && pair.contains(&Scalar::F16)
                        });
                    if fits && !is_refused && !(flags.is_empty() && poison_flags != Flags::NONE && lanes == 2)
                    {
                        let name = format!("f{}", list.len());
                        list.push((one_op(name, &data, &operands, written), operands.clone()));
                    }
                }
            }
        }
    }
}

fn value(random: &mut Random, scalar: Scalar) -> u128 {
    let mask = scalar.bit_mask();
    let sign = mask / 2 + 1;
    let any = (0..4).fold(0, |bits, _| bits << 32 | u128::from(random.between(0, u32::MAX)));
    let bits = match (scalar, random.below(10)) {
        (_, 0) => 0,
        (_, 1) => sign,
        (_, 2) => mask,
        (_, 3) => mask >> 1,
        (_, 4 | 5) => any,
        (Scalar::F16, 6..) => {
            [0x3c00, 0xbc00, 0x7c00, 0x7e00, 0x4248, 0x0001, 0xc500, 0x3800][any as usize & 7]
        }
        (Scalar::BF16, 6..) => {
            [0x3f80, 0xbf80, 0x7f80, 0x7fc0, 0x4049, 0x0001, 0xc0a0, 0x3f00][any as usize & 7]
        }
        (Scalar::F32, 6..) => {
            [1.0f32, -1.0, f32::INFINITY, f32::NAN, 3.1, 1e-45, -5.5, 2.5][any as usize & 7].to_bits().into()
        }
        (Scalar::F64, 6..) => {
            [1.0f64, -1.0, f64::INFINITY, f64::NAN, 3.1, 5e-324, -5.5, 2.5][any as usize & 7].to_bits().into()
        }
        _ => any % 9,
    };
    bits & mask
}

fn fill(random: &mut Random, operands: &[Type]) -> Vec<u8> {
    let mut bytes = vec![0; STEP * OPERANDS];
    for (index, ty) in operands.iter().enumerate() {
        let size = ty.scalar().bytes() as usize;
        for lane in 0..usize::from(ty.lanes().unwrap_or(1)) {
            let at = index * STEP + lane * size;
            bytes[at..at + size].copy_from_slice(&value(random, ty.scalar()).to_le_bytes()[..size]);
        }
    }
    bytes
}

/// Runs a function on both and compares `out`; whether the oracle ran it.
fn compare(module: &Module, jit: &Jit, name: &str, input: &[u8]) -> Result<bool, String> {
    let mut memory = Memory::new();
    let object =
        |memory: &mut Memory, name, bytes: &[u8]| memory.add(Space::Global, Some(name), 64, bytes.to_vec());
    let addresses = [object(&mut memory, "in", input), object(&mut memory, "out", &[0xa5; STEP])];
    let args = addresses.map(|address| Argument::Uniform(Datum::Bits(address.into())));
    if run(module, name, &args, &mut memory, &RunOptions::lanes(1)).is_err() {
        return Ok(false);
    }
    #[repr(align(64))]
    struct Room([u8; STEP * (OPERANDS + 1)]);
    let mut room = Room([0xa5; STEP * (OPERANDS + 1)]);
    room.0[..input.len()].copy_from_slice(input);
    let start = room.0.as_mut_ptr() as usize;
    let mut arguments = vec![0; 32];
    arguments[..8].copy_from_slice(&start.to_le_bytes());
    arguments[16..24].copy_from_slice(&(start + STEP * OPERANDS).to_le_bytes());
    let entry = jit.entry(name).map_err(|error| error.to_string())?;
    // SAFETY: the oracle ran the function on objects like these without fault.
    unsafe { entry.call(&arguments, &mut []) };
    for (name, room) in [("in", &room.0[..input.len()]), ("out", &room.0[STEP * OPERANDS..])] {
        let object = memory.object(name).expect("it was added");
        for (at, (&expected, &found)) in object.bytes.iter().zip(room).enumerate() {
            if !object.poison[at] && expected != found {
                return Err(format!("byte {at} of `{name}` is {found:#x} instead of {expected:#x}"));
            }
        }
    }
    Ok(true)
}

fn check(module: &Module, inputs: &[Vec<Vec<u8>>], level: CodegenLevel) -> usize {
    check_by(module, inputs, level, |_| {})
}

/// As `check`, with a change to LLVM's module.
fn check_by(
    module: &Module,
    inputs: &[Vec<Vec<u8>>],
    level: CodegenLevel,
    change: impl FnOnce(&LlvmModule),
) -> usize {
    verify_module(module, Stage::Wide).unwrap_or_else(|error| panic!("{error}"));
    let options = EmitOptions { canonical_nans: true, fused: Some(false), exact_roots: true, entries: true };
    let llvm = emit(module, options).unwrap_or_else(|error| panic!("{error}"));
    change(&llvm);
    let jit = Jit::new(llvm, level, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut ran = 0;
    let mut wrong = Vec::new();
    for (func, inputs) in module.functions.iter().zip(inputs) {
        for input in inputs {
            match compare(module, &jit, &func.name, input) {
                Ok(did) => ran += usize::from(did),
                Err(reason) => {
                    wrong.push(format!("{reason}\n{func}"));
                    break;
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} functions differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n")
    );
    ran
}

#[test]
fn each_op_on_vectors_computes_what_the_oracle_says() {
    let mut list = Vec::new();
    for lanes in [2, 4, 16] {
        Op::ALL.iter().for_each(|&op| functions(op, lanes, &mut list));
    }
    let ops: BTreeSet<Op> = list
        .iter()
        .flat_map(|(func, _)| {
            func.blocks().flat_map(|block| func.block_insts(block).map(|inst| func.inst(inst).op))
        })
        .collect();
    assert!(list.len() > 3000 && ops.len() > 80, "{} functions of {} ops", list.len(), ops.len());
    let mut random = Random::new(5);
    let mut ran = 0;
    for (number, chunk) in list.chunks(100).enumerate() {
        let module =
            Module { functions: chunk.iter().map(|(func, _)| func.clone()).collect(), ..Module::default() };
        let inputs: Vec<Vec<Vec<u8>>> = chunk
            .iter()
            .map(|(_, operands)| (0..ROUNDS).map(|_| fill(&mut random, operands)).collect())
            .collect();
        ran += check(
            &module,
            &inputs,
            if number % 4 == 0 { CodegenLevel::Default } else { CodegenLevel::Minimal },
        );
    }
    assert!(ran > 10_000, "{ran} runs");
}

/// Moves of values between lanes and memory, as programs write them.
const MEMORY: &str = "
func @masked(v0: ptr(global), v1: ptr(global)) {
block0:
  v2 = load mask<8>, v0 align 1
  v3 = ptradd v0, i64 512
  v4 = load <8 x TYPE>, v3 align 1
  v5 = ptradd v0, i64 1024
  v6 = masked_load <8 x TYPE>, v5, v2, v4 align 1
  v7 = masked_load <8 x TYPE>, v5, v2, poison align 1
  store v6, v1 align 1
  v8 = ptradd v1, i64 128
  masked_store v7, v8, v2 align 1
  v9 = ptradd v1, i64 256
  masked_store v4, v9, splat true align 1
  ret
}
func @far(v0: ptr(global), v1: ptr(global)) {
block0:
  v2 = load mask<8>, v0 align 1
  v3 = ptradd v0, i64 512
  v4 = load <8 x i8>, v3 align 1
  v5 = and v4, splat 15
  v6 = zext <8 x i64>, v5
  v7 = mul v6, splat SIZE
  v8 = splat <8 x ptr(global)>, v0
  v9 = ptradd v8, v7
  v10 = ptradd v0, i64 1024
  v11 = load <8 x TYPE>, v10 align 1
  v12 = gather <8 x TYPE>, v9, v2, v11 align 1
  store v12, v1 align 1
  v13 = splat <8 x ptr(global)>, v1
  v14 = ptradd v13, v7
  v15 = ptradd v14, <8 x i64> splat 128
  scatter v11, v15, v2 align 1
  ret
}
";

#[test]
fn masked_and_scattered_accesses_do_what_the_oracle_does() {
    let mut random = Random::new(6);
    for scalar in ["i8", "i16", "i32", "i64", "f32", "f64", "f16"] {
        let scalar_ty = Scalar::ALL.into_iter().find(|ty| ty.to_string() == scalar).expect("a type");
        let text = MEMORY.replace("TYPE", scalar).replace("SIZE", &scalar_ty.bytes().to_string());
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{error:?}"));
        let operands = [Type::mask(8), Type::Vector(scalar_ty, 8), Type::Vector(scalar_ty, 8)];
        let inputs: Vec<Vec<u8>> = (0..20).map(|_| fill(&mut random, &operands)).collect();
        let ran = check(&module, &[inputs.clone(), inputs], CodegenLevel::Default);
        assert!(ran >= 30, "{ran} runs of {scalar}");
    }
}

/// Integers next to where bf16 rounds the other way, which a rounding on the way there would move onto it.
fn near_ties(bits: u32) -> Vec<u128> {
    let mut numbers = Vec::new();
    for high in 9..bits - 1 {
        let tie = (1u128 << high) + (1 << (high - 8));
        let odd = tie + (1 << (high - 7));
        for number in [tie, odd] {
            numbers.extend([number - 1, number, number + 1, number + (1 << (high / 2))]);
        }
    }
    numbers.iter().flat_map(|&number| [number, number.wrapping_neg(), number | 1 << (bits - 1)]).collect()
}

#[test]
fn integers_are_rounded_to_bf16_once() {
    const LANES: u16 = 4;
    let mut ran = 0;
    for scalar in [Scalar::I16, Scalar::I32, Scalar::I64, Scalar::I128] {
        let from = Type::Vector(scalar, LANES);
        let bytes = scalar.bytes() as usize;
        let inputs: Vec<Vec<u8>> = near_ties(scalar.bits())
            .chunks(LANES.into())
            .map(|numbers| {
                let mut input = vec![0; STEP * OPERANDS];
                for (lane, number) in numbers.iter().enumerate() {
                    input[lane * bytes..][..bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
                }
                input
            })
            .collect();
        let to = Some(Type::Vector(Scalar::BF16, LANES));
        let func = |op: Op| one_op(op.to_string(), &InstData::new(op, [], Detail::None), &[from], to);
        let functions = [Op::Sitofp, Op::Uitofp].map(func).to_vec();
        let module = Module { functions, ..Module::default() };
        for level in [CodegenLevel::Minimal, CodegenLevel::Default] {
            ran += check(&module, &[inputs.clone(), inputs.clone()], level);
        }
    }
    assert!(ran > 1000, "{ran} runs");
}

/// Floats on ties of bf16 and next to them, of all sizes.
fn floats_near_ties() -> Vec<f64> {
    let high = [0u32, 1, 0x7f, 0x80, 0x81, 0x3f80, 0x3f81, 0x4387, 0x7f7e, 0x7f7f, 0x7f80, 0x7fc0];
    let singles = high.iter().flat_map(|high| {
        [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff].map(|low| f64::from(f32::from_bits(high << 16 | low)))
    });
    let around = |number: f64| {
        let bits = number.to_bits();
        [bits.saturating_sub(1), bits, bits + 1].map(f64::from_bits)
    };
    singles.flat_map(around).flat_map(|number| [number, -number]).collect()
}

#[test]
fn floats_are_rounded_to_bf16_once() {
    const LANES: usize = 8;
    let mut ran = 0;
    let numbers = floats_near_ties();
    for scalar in [Scalar::F32, Scalar::F64] {
        let bytes = scalar.bytes() as usize;
        let input = |numbers: &[f64]| {
            let mut input = vec![0; STEP * OPERANDS];
            for (lane, &number) in numbers.iter().enumerate() {
                let bits = match scalar {
                    Scalar::F32 => u64::from((number as f32).to_bits()),
                    _ => number.to_bits(),
                };
                input[lane * bytes..][..bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
            }
            input
        };
        let inputs: Vec<Vec<u8>> = numbers.chunks(LANES).map(input).collect();
        let [from, to] = [scalar, Scalar::BF16].map(|scalar| Type::Vector(scalar, LANES as u16));
        let func = one_op("cut".into(), &InstData::new(Op::Fptrunc, [], Detail::None), &[from], Some(to));
        let module = Module { functions: vec![func], ..Module::default() };
        for level in [CodegenLevel::Minimal, CodegenLevel::Default] {
            ran += check(&module, std::slice::from_ref(&inputs), level);
        }
    }
    assert!(ran > 100, "{ran} runs");
}

/// Returns the bits of `digits * 2^exponent` as a half; it must be normal and exact.
fn half(scalar: Scalar, digits: u32, exponent: i32) -> u128 {
    let (fraction, bias) = if scalar == Scalar::F16 { (10, 15) } else { (7, 127) };
    let first = digits.ilog2();
    let below = (digits << (fraction - first)) & ((1 << fraction) - 1);
    let above = (exponent + first as i32 + bias) as u32;
    u128::from(above << fraction | below)
}

/// Factors whose product ends half-way between two halves, and summands that are far smaller, of both signs; products that are
/// far smaller than a summand; and all of them with the other sign.
fn products_at_ties(scalar: Scalar) -> Vec<[u128; 3]> {
    let digits = if scalar == Scalar::F16 { 11 } else { 8 };
    let (least, most) = (1u32 << digits, 1u32 << (digits + 1));
    let sign = 1u128 << 15;
    let mut all = Vec::new();
    let odd = (least / 3..most / 3)
        .filter(|number| number % 2 == 1 && number.ilog2() < digits && *number * 3 > least);
    let numbers: Vec<u32> = odd.collect();
    for (at, &number) in numbers.iter().enumerate().step_by(numbers.len() / 40 + 1) {
        for exponent in [0, 2] {
            let factors = [half(scalar, 3, exponent), half(scalar, number, 0)];
            for more in 1..4 {
                // Below the last digit of f32, down to the smallest number.
                let far = if scalar == Scalar::F16 { [12, 13, 14] } else { [15, 18, 100] };
                let more = half(scalar, more, -far[at % 3]);
                all.extend([[factors[0], factors[1], more], [factors[0], factors[1], more | sign]]);
                all.push([factors[0] | sign, factors[1], more]);
                all.push([factors[0] | sign, factors[1], more | sign]);
            }
            // The sum is what is larger, and the product shows only in what is cut off.
            let small = [half(scalar, 1, -14), half(scalar, 3, -13)];
            all.extend([[small[0], small[1], factors[1]], [small[0] | sign, small[1], factors[1]]]);
        }
    }
    all
}

#[test]
fn products_of_halves_are_added_and_rounded_once() {
    const LANES: usize = 8;
    let mut random = Random::new(20);
    let mut ran = 0;
    for scalar in [Scalar::F16, Scalar::BF16] {
        let mut cases = products_at_ties(scalar);
        assert!(cases.len() > 500, "{} cases", cases.len());
        // Numbers of all kinds: subnormal ones, infinities, NaN.
        cases.extend((0..2000).map(|_| [0; 3].map(|_| u128::from(random.bits() as u16))));
        let ty = Type::Vector(scalar, LANES as u16);
        let input = |cases: &[[u128; 3]]| {
            let mut input = vec![0; STEP * OPERANDS];
            for (lane, case) in cases.iter().enumerate() {
                for (operand, bits) in case.iter().enumerate() {
                    input[operand * STEP + lane * 2..][..2].copy_from_slice(&bits.to_le_bytes()[..2]);
                }
            }
            input
        };
        let inputs: Vec<Vec<u8>> = cases.chunks(LANES).map(input).collect();
        let func = one_op("sum".into(), &InstData::new(Op::Fma, [], Detail::None), &[ty; 3], None);
        let module = Module { functions: vec![func], ..Module::default() };
        for level in [CodegenLevel::Minimal, CodegenLevel::Default] {
            ran += check(&module, std::slice::from_ref(&inputs), level);
        }
    }
    assert!(ran > 1000, "{ran} runs");
}

/// One lane of what was truncated: the mask is known at once, or only where it is known that `and` gives 0.
const SINGLE_LANES: &str = "
func @at.once(v0: ptr(global), v1: ptr(global)) {
block0:
  v2 = load <8 x i64>, v0 align 1
  v3 = trunc <8 x TYPE>, v2
  v4 = ptradd v1, i64 64
  masked_store v3, v4, <false, false, true, false, false, false, false, false> align 1
  ret
}
func @found.out(v0: ptr(global), v1: ptr(global)) {
block0:
  v2 = load <8 x i64>, v0 align 1
  v3 = trunc <8 x TYPE>, v2
  v4 = extract v2, i32 0
  v5 = and v4, 0
  v6 = add v5, 5
  v7 = splat <8 x i64>, v6
  v8 = icmp eq v7, <0, 1, 2, 3, 4, 5, 6, 7>
  v9 = ptradd v1, i64 64
  masked_store v3, v9, v8 align 1
  ret
}
";

#[test]
fn a_masked_store_of_one_lane_writes_no_more() {
    let mut random = Random::new(8);
    for scalar in ["i8", "i16", "i32"] {
        let text = SINGLE_LANES.replace("TYPE", scalar);
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{error:?}"));
        let inputs: Vec<Vec<u8>> =
            (0..4).map(|_| fill(&mut random, &[Type::Vector(Scalar::I64, 8)])).collect();
        let inputs = [inputs.clone(), inputs];
        let optimized = |llvm: &LlvmModule| {
            optimize(llvm, &Cpu::host(), OptimizeOptions::default()).expect("LLVM's passes run")
        };
        assert_eq!(check(&module, &inputs, CodegenLevel::Default), 8);
        assert_eq!(check_by(&module, &inputs, CodegenLevel::Default, optimized), 8);
    }
}

#[test]
fn another_op_is_noticed() {
    let vector = [Type::Vector(Scalar::I32, 4); 2];
    let data = |op| InstData::new(op, [], Detail::None);
    let right = one_op("f".into(), &data(Op::Add), &vector, None);
    let wrong = one_op("f".into(), &data(Op::Sub), &vector, None);
    let module = |func: Function| Module { functions: vec![func], ..Module::default() };
    let options = EmitOptions { entries: true, ..EmitOptions::default() };
    let llvm = emit(&module(wrong), options).expect("it is emitted");
    let jit = Jit::new(llvm, CodegenLevel::Minimal, &[]).expect("it is compiled");
    let mut random = Random::new(7);
    let inputs: Vec<Vec<u8>> = (0..10).map(|_| fill(&mut random, &vector)).collect();
    let right = module(right);
    assert!(inputs.iter().any(|input| compare(&right, &jit, "f", input).is_err()));
}
