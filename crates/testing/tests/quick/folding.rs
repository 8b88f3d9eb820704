//! Simplification of single operations on corner cases of all widths, compared with the interpreter.

use crate::common::Random;
use heddle_interp::{Argument, Datum, FaultKind, Memory, RunOptions, run};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::Signature;
use heddle_ir::ops::{Effect, InstFormat, Op};
use heddle_ir::words::{Flag, Flags, FloatPredicate, IntPredicate};
use heddle_ir::{Builder, Constant, Function, InsertPoint, Module, Scalar, Type};
use heddle_transform::simplify;

const INTEGERS: [Scalar; 6] = [Scalar::I1, Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::I128];

fn corners(scalar: Scalar) -> Vec<u128> {
    let ones = scalar.bit_mask();
    let mut bits = match scalar {
        Scalar::F32 => {
            [0.0f32, -0.0, 1.5, -2.0, f32::INFINITY, f32::NAN].map(|x| x.to_bits().into()).to_vec()
        }
        Scalar::F64 => {
            [0.0f64, -0.0, 1.5, -2.0, f64::INFINITY, f64::NAN].map(|x| x.to_bits().into()).to_vec()
        }
        _ => vec![
            0,
            1,
            2,
            3,
            u128::from(scalar.bits()) - 1,
            u128::from(scalar.bits()),
            ones,
            ones - 1,
            ones >> 1,
            (ones >> 1) + 1,
            0x55,
            ones / 3,
        ],
    };
    bits.iter_mut().for_each(|bits| *bits &= ones);
    bits.sort_unstable();
    bits.dedup();
    bits
}

/// Result of a function: bits, poison, or `Err` for a trap.
fn outcome(func: &Function, args: &[u128]) -> Result<Option<u128>, ()> {
    let module = Module { functions: vec![func.clone()], ..Module::default() };
    let args: Vec<Argument> = args.iter().map(|&bits| Argument::Uniform(Datum::Bits(bits))).collect();
    match run(&module, "f", &args, &mut Memory::new(), &RunOptions::default()) {
        Ok(outcome) => Ok(outcome.results[0][0].bits()),
        Err(fault) => match fault.kind {
            FaultKind::PoisonResult(_) => Ok(None),
            FaultKind::Trap(_) => Err(()),
            other => panic!("{other}\n{func}"),
        },
    }
}

/// Operands: constants, or parameters where there is none.
fn function(
    op: &InstData,
    from: Scalar,
    operands: &[Option<u128>],
    written: Option<Type>,
) -> Option<Function> {
    let params: Vec<Type> = operands.iter().filter(|known| known.is_none()).map(|_| from.into()).collect();
    let mut func = Function::new("f", Signature::new(&params, &[Type::I1]));
    let block = func.append_block();
    let mut params = func.params().to_vec().into_iter();
    let args: Vec<_> = operands
        .iter()
        .map(|known| match known {
            Some(bits) => func.make_const(Constant::Scalar(from, *bits)),
            None => params.next().expect("there is a parameter for each unknown operand"),
        })
        .collect();
    let mut builder = Builder::new(&mut func, InsertPoint::End(block));
    let mut data = op.clone();
    data.args = args.into();
    let inst = builder.try_inst(data, written).ok()?;
    let result = builder.func.result(inst)?;
    builder.ret(&[result]);
    let ty = func.value_type(result);
    func.signature.results[0].ty = ty;
    Some(func)
}

/// Each operation, with each flag that may make it poison, each comparison, each conversion between integers.
fn for_all_operations(mut check: impl FnMut(&InstData, Scalar, Option<Type>, usize)) {
    for &op in Op::ALL {
        let info = op.info();
        if !matches!(info.effect, Effect::Pure | Effect::Traps)
            || info.operands.is_empty()
            || info.operands.len() > 2
        {
            continue;
        }
        let details: Vec<Detail> = match info.format {
            InstFormat::Plain | InstFormat::Cast => vec![Detail::None],
            InstFormat::IntCompare => IntPredicate::ALL.iter().map(|&p| Detail::IntCompare(p)).collect(),
            InstFormat::FloatCompare => {
                FloatPredicate::ALL.iter().map(|&p| Detail::FloatCompare(p)).collect()
            }
            _ => continue,
        };
        let mut flags = vec![Flags::NONE];
        let poison =
            [Flag::Nuw, Flag::Nsw, Flag::Exact, Flag::Disjoint, Flag::Nneg, Flag::Strict, Flag::Nnan];
        flags.extend(poison.iter().filter(|&&flag| info.flags.has(flag)).map(|&flag| Flags::NONE.with(flag)));
        let written: Vec<Option<Type>> =
            std::iter::once(None).chain(INTEGERS.iter().map(|&to| Some(to.into()))).collect();
        for (detail, &flags) in
            details.iter().flat_map(|detail| flags.iter().map(move |flags| (detail, flags)))
        {
            for from in INTEGERS.into_iter().chain([Scalar::F32, Scalar::F64]) {
                for &written in &written {
                    let data = InstData { flags, ..InstData::new(op, [], detail.clone()) };
                    check(&data, from, written, info.operands.len());
                }
            }
        }
    }
}

#[test]
fn operations_on_constants_give_what_they_give() {
    let (mut folded, mut left) = (0, 0);
    for_all_operations(|data, from, written, arity| {
        for &a in &corners(from) {
            for &b in &corners(from) {
                if arity == 1 && b != 0 {
                    continue;
                }
                let operands = [Some(a), Some(b)];
                let Some(func) = function(data, from, &operands[..arity], written) else { return };
                let expected = outcome(&func, &[]);
                let mut after = func.clone();
                simplify(&mut after);
                let is_folded = after.block_insts(after.entry()).count() == 1;
                match expected {
                    Err(()) => assert!(!is_folded, "a trap became a value\n{func}\n{after}"),
                    Ok(expected) => {
                        let found = outcome(&after, &[]);
                        assert_eq!(found, Ok(expected), "\n{func}\n{after}");
                    }
                }
                folded += usize::from(is_folded);
                left += usize::from(!is_folded && from.is_int() && expected.is_ok());
            }
        }
    });
    assert!(folded > 20 * left, "{folded} folded, {left} not");
}

#[test]
fn operations_of_which_one_operand_says_enough_refine() {
    let mut random = Random(7);
    let mut folded = 0;
    for_all_operations(|data, from, written, arity| {
        if arity != 2 {
            return;
        }
        for &known in &corners(from) {
            for operands in [[Some(known), None], [None, Some(known)], [None, None]] {
                let Some(mut func) = function(data, from, &operands, written) else { return };
                if operands == [None, None] {
                    // Both operands are the same value.
                    let (first, second) = (func.params()[0], func.params()[1]);
                    func.map_values(|value| if value == second { first } else { value });
                }
                let mut after = func.clone();
                if !simplify(&mut after) {
                    continue;
                }
                folded += 1;
                let some = u128::from(random.next()) << 64 | u128::from(random.next());
                for unknown in corners(from).into_iter().chain([some & from.bit_mask()]) {
                    let args = vec![unknown; func.params().len()];
                    // Poison may become anything, and so may a trap.
                    if let Ok(Some(bits)) = outcome(&func, &args) {
                        assert_eq!(outcome(&after, &args), Ok(Some(bits)), "\n{func}\n{after}");
                    }
                }
            }
        }
    });
    assert!(folded > 200, "only {folded} were simplified");
}
