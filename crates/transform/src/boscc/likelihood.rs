//! Likelihood of conditions, from their form.
//!
//! Two numbers are seldom equal, and a float is seldom almost zero. Bits and remainders are equal to a number as often as not.
//! Conditions on indices alone, such as those of borders, hold for whole brushes, and most brushes go the same way.

use heddle_ir::inst::Detail;
use heddle_ir::module::DeclaredShape;
use heddle_ir::ops::Effect;
use heddle_ir::words::{FloatPredicate, IntPredicate};
use heddle_ir::{Constant, Function, Inst, Op, Scalar, Value, ValueDef};
use rustc_hash::FxHashMap;

/// Share of lanes in which two integers are equal.
const EQUAL_INTEGERS: f64 = 0.25;
/// Share of lanes in which two floats are equal, or one is almost zero.
const EQUAL_FLOATS: f64 = 0.125;
/// Largest magnitude that is almost zero.
const TINY: f64 = 1e-3;
/// Values that are looked at, at most.
const BUDGET: usize = 64;

/// Source of the differences between lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LaneSource {
    /// None: equal in all lanes.
    None,
    Indices,
    Data,
}

/// True if lanes differ in a condition by their indices only, and not by what a loop changes: the rounds of a tree reduction
/// leave ever more brushes without work.
pub(super) fn is_of_indices(func: &Function, condition: Value) -> bool {
    lane_source(func, condition, &mut FxHashMap::default()) != LaneSource::Data
}

/// True if a pure value may differ between brushes: not all that it depends on is lanes and constants.
pub(super) fn differs_between_brushes(func: &Function, value: Value) -> bool {
    let mut open = vec![value];
    for _ in 0..BUDGET {
        let Some(value) = open.pop() else { return false };
        match func.value_def(value) {
            ValueDef::Const | ValueDef::None => {}
            ValueDef::Param(_) => return true,
            ValueDef::Result(inst, _) => match func.inst(inst) {
                data if matches!(data.op, Op::Lane | Op::Width) => {}
                data if data.op.info().effect != Effect::Pure || data.args.is_empty() => return true,
                data => open.extend(data.args.iter().copied()),
            },
        }
    }
    true
}

fn lane_source(func: &Function, value: Value, known: &mut FxHashMap<Value, LaneSource>) -> LaneSource {
    let inst = match func.value_def(value) {
        ValueDef::Const | ValueDef::None => return LaneSource::None,
        ValueDef::Param(index) => {
            return match func.signature.params.get(index as usize).and_then(|param| param.shape.as_ref()) {
                Some(DeclaredShape::Uniform) => LaneSource::None,
                Some(DeclaredShape::Linear(_)) => LaneSource::Indices,
                Some(DeclaredShape::Varying) | None => LaneSource::Data,
            };
        }
        ValueDef::Result(inst, _) => inst,
    };
    if let Some(&source) = known.get(&value) {
        return source;
    }
    if known.len() >= BUDGET {
        return LaneSource::Data;
    }
    let data = func.inst(inst);
    let mut of_operands =
        || data.args.iter().map(|&arg| lane_source(func, arg, known)).max().unwrap_or(LaneSource::None);
    let source = match data.op.info().effect {
        Effect::Pure if data.args.is_empty() => LaneSource::Indices,
        Effect::Pure | Effect::Traps => of_operands(),
        Effect::Reads if of_operands() == LaneSource::None => LaneSource::None,
        _ => LaneSource::Data,
    };
    known.insert(value, source);
    source
}

/// Returns the share of lanes in which a condition is expected to hold, if its form tells.
pub(super) fn expected_share(func: &Function, condition: Value) -> Option<f64> {
    let inst = func.def_inst(condition)?;
    let data = func.inst(inst);
    let is_other = match data.detail {
        Detail::IntCompare(predicate) => {
            let is_other = match predicate {
                IntPredicate::Eq => false,
                IntPredicate::Ne => true,
                _ => return None,
            };
            let is_number = data.args.iter().all(|&arg| func.value_type(arg).scalar().bits() > 1);
            return (is_number && !data.args.iter().any(|&arg| has_few_values(func, arg)))
                .then(|| share(EQUAL_INTEGERS, is_other));
        }
        Detail::FloatCompare(predicate) => match predicate {
            FloatPredicate::Oeq | FloatPredicate::Ueq => false,
            FloatPredicate::One | FloatPredicate::Une => true,
            FloatPredicate::Olt | FloatPredicate::Ole | FloatPredicate::Ult | FloatPredicate::Ule => {
                compares_magnitude(func, inst).then_some(false)?
            }
            FloatPredicate::Ogt | FloatPredicate::Oge | FloatPredicate::Ugt | FloatPredicate::Uge => {
                compares_magnitude(func, inst).then_some(true)?
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(share(EQUAL_FLOATS, is_other))
}

fn share(equal: f64, is_other: bool) -> f64 {
    if is_other { 1.0 - equal } else { equal }
}

/// True for a value that is one of a few: bits, a remainder, a truth value.
fn has_few_values(func: &Function, value: Value) -> bool {
    func.def_inst(value).is_some_and(|inst| {
        matches!(
            func.inst(inst).op,
            Op::And | Op::Urem | Op::Srem | Op::Zext | Op::Sext | Op::Select | Op::Lshr
        )
    })
}

/// True for a comparison of a magnitude with a number that is almost zero.
fn compares_magnitude(func: &Function, compare: Inst) -> bool {
    let &[value, limit] = &func.inst(compare).args[..] else { return false };
    let is_magnitude = func.def_inst(value).is_some_and(|inst| func.inst(inst).op == Op::Fabs);
    let limit = func.constant(limit).and_then(Constant::splat_bits).and_then(|bits| {
        match func.value_type(limit).scalar() {
            Scalar::F32 => Some(f64::from(f32::from_bits(bits as u32))),
            Scalar::F64 => Some(f64::from_bits(bits as u64)),
            _ => None,
        }
    });
    is_magnitude && limit.is_some_and(|limit| limit > 0.0 && limit <= TINY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of the last instruction of a function.
    fn share_of(body: &str) -> Option<f64> {
        let text = format!(
            "func @f(v0: i32 varying, v1: i32 varying, v2: f32 varying, v3: f32 varying) {{\nblock0:\n{body}\n  ret\n}}"
        );
        let module = heddle_ir::parse_bytes(text.as_bytes()).expect("the text is valid");
        let func = &module.functions[0];
        let last = func.block_insts(func.entry()).filter_map(|inst| func.result(inst)).last()?;
        expected_share(func, last)
    }

    #[test]
    fn equality_is_unlikely_and_its_opposite_likely() {
        assert_eq!(share_of("  v4 = icmp eq v0, v1"), Some(0.25));
        assert_eq!(share_of("  v4 = icmp ne v0, 7"), Some(0.75));
        assert_eq!(share_of("  v4 = fcmp oeq v2, v3"), Some(0.125));
        assert_eq!(share_of("  v4 = fabs v2\n  v5 = fcmp olt v4, 0.0001"), Some(0.125));
        assert_eq!(share_of("  v4 = fabs v2\n  v5 = fcmp uge v4, 0.0001"), Some(0.875));
    }

    #[test]
    fn indices_are_distinguished_from_data() {
        let text = "func @f(v0: ptr(global) uniform, v1: i32 uniform, v2: i32 varying) {
block0:
  v3 = lane i32
  v4 = load i32, v0
  v5 = sub v4, 1
  v6 = icmp eq v3, v5
  v7 = icmp slt v3, v1
  v8 = or v6, v7
  v9 = zext i64, v3
  v10 = ptradd v0, v9
  v11 = load i32, v10
  v12 = icmp slt v11, v1
  v13 = icmp slt v2, v1
  v14 = or v8, v12
  ret
}";
        let module = heddle_ir::parse_bytes(text.as_bytes()).expect("the text is valid");
        let func = &module.functions[0];
        let of_indices: Vec<String> = func
            .block_insts(func.entry())
            .filter_map(|inst| func.result(inst))
            .filter(|&value| func.value_type(value) == heddle_ir::Type::I1 && is_of_indices(func, value))
            .map(|value| value.to_string())
            .collect();
        assert_eq!(of_indices, ["v6", "v7", "v8"]);
        let differs = |name: &str| {
            let mut insts = func.block_insts(func.entry());
            let value = insts.find_map(|inst| func.result(inst).filter(|it| it.to_string() == name));
            differs_between_brushes(func, value.expect("the text has it"))
        };
        assert_eq!(["v3", "v9", "v7", "v6"].map(differs), [false, false, true, true]);
    }

    #[test]
    fn other_forms_tell_nothing() {
        assert_eq!(share_of("  v4 = icmp slt v0, v1"), None);
        assert_eq!(share_of("  v4 = and v0, 1\n  v5 = icmp eq v4, 0"), None);
        assert_eq!(share_of("  v4 = fcmp olt v2, 0.0001"), None);
        assert_eq!(share_of("  v4 = fabs v2\n  v5 = fcmp olt v4, 0.5"), None);
    }
}
