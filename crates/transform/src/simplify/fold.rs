//! Folds single instructions to constants or existing values.
//!
//! Every rule refines: where the instruction gives poison, the replacement may give anything, never the reverse.
//! So `and x, false` is `false` although `and poison, false` is poison, and `select c, x, x` is `x` whatever `c` is.

use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::{Effect, Op};
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Constant, Function, Scalar, Type, Value};

use super::floats;
use heddle_analysis::exact::{ExactResult, evaluate_integer};

/// Replacement for an instruction's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FoldedResult {
    Value(Value),
    Bits(u128),
    Poison,
}

/// Ops whose result in a lane depends on other lanes.
const ACROSS_LANES: [Op; 5] = [Op::Extract, Op::Insert, Op::Permute, Op::Compress, Op::Expand];

/// Folds an instruction with one result, except φs and horizontals. Vectors fold if all lanes do.
pub(crate) fn fold(func: &Function, data: &InstData, to: Type) -> Option<FoldedResult> {
    let args = &data.args;
    if data.op == Op::Splat {
        return bits(func, args[0]).map(FoldedResult::Bits);
    }
    let lanes_of = |arg: Value| func.value_type(arg).lanes();
    let chooses = data.op == Op::Select && args.first().is_some_and(|&arg| lanes_of(arg).is_none());
    let is_alike = args[usize::from(chooses)..].iter().all(|&arg| lanes_of(arg) == to.lanes());
    if args.is_empty() || !is_alike || ACROSS_LANES.contains(&data.op) {
        return None;
    }
    match data.op {
        Op::Select => return select(func, args),
        Op::Freeze => return freeze(func, args[0]),
        _ => {}
    }
    if !matches!(data.op.info().effect, Effect::Pure | Effect::Traps) {
        return None;
    }
    let constants: Option<Vec<&Constant>> = args.iter().map(|&arg| func.constant(arg)).collect();
    if args.iter().any(|&arg| matches!(func.constant(arg), Some(Constant::Poison(_)))) {
        return Some(FoldedResult::Poison);
    }
    let from = func.value_type(args[0]).scalar();
    let known: Option<Vec<u128>> =
        constants.and_then(|constants| constants.into_iter().map(Constant::splat_bits).collect());
    if let Some(known) = known {
        return exact(data, from, to.scalar(), &known);
    }
    match args[..] {
        [a] if data.op == Op::Bitcast && func.value_type(a) == to => Some(FoldedResult::Value(a)),
        [a] if data.op == Op::Trunc => {
            let narrow = extended(func, a, &[Op::Zext, Op::Sext])?;
            (func.value_type(narrow) == to).then_some(FoldedResult::Value(narrow))
        }
        [a, b] => identity(func, data, from, a, b),
        _ => None,
    }
}

/// Evaluates an operation on constant operands of type `from`. None if it has no result, or needs rounding.
fn exact(data: &InstData, from: Scalar, to: Scalar, known: &[u128]) -> Option<FoldedResult> {
    if from.is_float() {
        return floats::evaluate(data, from, known).map(FoldedResult::Bits);
    }
    // Addresses are compared, but not computed.
    if to.is_ptr() || !from.is_int() && data.op != Op::Icmp {
        return None;
    }
    match evaluate_integer(data.op, data.flags, &data.detail, from.bits(), to.bits(), known)? {
        ExactResult::Bits(bits) => Some(FoldedResult::Bits(bits)),
        ExactResult::Poison => Some(FoldedResult::Poison),
        ExactResult::Undefined => None,
    }
}

fn bits(func: &Function, value: Value) -> Option<u128> {
    func.constant(value)?.splat_bits()
}

fn select(func: &Function, args: &[Value]) -> Option<FoldedResult> {
    let &[condition, then, otherwise] = args else { return None };
    if matches!(func.constant(condition), Some(Constant::Poison(_))) {
        return Some(FoldedResult::Poison);
    }
    let is_same_type = || func.value_type(then) == func.value_type(condition);
    match (bits(func, condition), bits(func, then), bits(func, otherwise)) {
        (Some(condition), ..) => Some(FoldedResult::Value(if condition == 1 { then } else { otherwise })),
        _ if then == otherwise => Some(FoldedResult::Value(then)),
        (_, Some(1), Some(0)) if is_same_type() => Some(FoldedResult::Value(condition)),
        (_, _, Some(0)) if then == condition => Some(FoldedResult::Value(condition)),
        (_, Some(1), _) if otherwise == condition => Some(FoldedResult::Value(condition)),
        _ => None,
    }
}

fn freeze(func: &Function, value: Value) -> Option<FoldedResult> {
    match func.constant(value) {
        Some(Constant::Poison(_)) => return Some(FoldedResult::Bits(0)),
        Some(_) => return Some(FoldedResult::Value(value)),
        None => {}
    }
    let inst = func.def_inst(value)?;
    (func.inst(inst).op == Op::Freeze).then_some(FoldedResult::Value(value))
}

/// Folds operations that one constant operand, or equal operands, decide.
fn identity(func: &Function, data: &InstData, from: Scalar, a: Value, b: Value) -> Option<FoldedResult> {
    let ones = from.bit_mask();
    let (left, right) = (bits(func, a), bits(func, b));
    let same = a == b;
    let value = |value: Value| Some(FoldedResult::Value(value));
    let number = |bits: u128| Some(FoldedResult::Bits(bits));
    match (data.op, left, right) {
        (Op::PtrAdd, _, Some(0)) => value(a),
        (Op::Icmp, ..) if !from.is_float() => match data.detail {
            Detail::IntCompare(predicate) => compare(predicate, from, left, right, same),
            _ => None,
        },
        _ if !from.is_int() => None,
        (Op::Add | Op::Or | Op::Xor | Op::Umax, Some(0), _) => value(b),
        (Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Umax, _, Some(0)) => value(a),
        (Op::Shl | Op::Lshr | Op::Ashr | Op::UsubSat | Op::SsubSat, _, Some(0)) => value(a),
        (Op::UaddSat | Op::SaddSat, _, Some(0)) => value(a),
        (Op::UaddSat | Op::SaddSat, Some(0), _) => value(b),
        (Op::Mul, Some(1), _) => value(b),
        (Op::Mul | Op::Udiv, _, Some(1)) => value(a),
        // For `i1`, 1 is -1, and -1 by -1 overflows.
        (Op::Sdiv, _, Some(1)) if from != Scalar::I1 => value(a),
        (Op::Urem, _, Some(1)) => number(0),
        (Op::Srem, _, Some(1)) if from != Scalar::I1 => number(0),
        (Op::Mul | Op::And | Op::Umin, Some(0), _) | (Op::Mul | Op::And | Op::Umin, _, Some(0)) => number(0),
        (Op::And | Op::Umin, Some(bits), _) if bits == ones => value(b),
        (Op::And | Op::Umin, _, Some(bits)) if bits == ones => value(a),
        (Op::And, Some(bits), _) if has_only(func, b, bits) => value(b),
        (Op::And, _, Some(bits)) if has_only(func, a, bits) => value(a),
        (Op::Or | Op::Umax, Some(bits), _) | (Op::Or | Op::Umax, _, Some(bits)) if bits == ones => {
            number(ones)
        }
        (Op::And | Op::Or | Op::Umin | Op::Umax | Op::Smin | Op::Smax, ..) if same => value(a),
        (Op::Sub | Op::Xor, ..) if same => number(0),
        (Op::Ashr, _, Some(amount)) => sign_kept(func, a, amount),
        (Op::Xor, ..) => double_negation(func, a, b),
        _ => None,
    }
}

/// Returns the source of an extension by one of these ops.
fn extended(func: &Function, value: Value, ops: &[Op]) -> Option<Value> {
    let inst = func.inst(func.def_inst(value)?);
    if ops.contains(&inst.op) { inst.args.first().copied() } else { None }
}

/// True if a zero-extended value has no bits outside of this mask.
fn has_only(func: &Function, value: Value, bits: u128) -> bool {
    let narrow = extended(func, value, &[Op::Zext]);
    narrow.is_some_and(|narrow| func.value_type(narrow).scalar().bit_mask() & !bits == 0)
}

/// Folds `ashr (shl x, c), c` to `x` if `x` is sign-extended from no more than the remaining bits.
fn sign_kept(func: &Function, shifted: Value, amount: u128) -> Option<FoldedResult> {
    let shift = func.inst(func.def_inst(shifted)?);
    if shift.op != Op::Shl || bits(func, shift.args[1]) != Some(amount) {
        return None;
    }
    let value = shift.args[0];
    let inner = func.inst(func.def_inst(value)?);
    let keeps_sign = inner.op == Op::Sext || inner.op == Op::Zext && inner.flags.has(Flag::Nneg);
    let from = func.value_type(*inner.args.first()?).scalar().bits();
    let is_free = u128::from(from) + amount <= func.value_type(value).scalar().bits().into();
    (keeps_sign && is_free).then_some(FoldedResult::Value(value))
}

/// Folds `xor (xor x, c), c` to `x`.
fn double_negation(func: &Function, a: Value, b: Value) -> Option<FoldedResult> {
    bits(func, b)?;
    let inner = func.inst(func.def_inst(a)?);
    (inner.op == Op::Xor && inner.args[1] == b).then(|| FoldedResult::Value(inner.args[0]))
}

fn compare(
    predicate: IntPredicate,
    from: Scalar,
    left: Option<u128>,
    right: Option<u128>,
    same: bool,
) -> Option<FoldedResult> {
    use IntPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    let answer = match predicate {
        Eq | Ule | Uge | Sle | Sge if same => true,
        Ne | Ult | Ugt | Slt | Sgt if same => false,
        Ult if right == Some(0) || left == Some(from.bit_mask()) => false,
        Uge if right == Some(0) || left == Some(from.bit_mask()) => true,
        Ugt if left == Some(0) || right == Some(from.bit_mask()) => false,
        Ule if left == Some(0) || right == Some(from.bit_mask()) => true,
        _ => return None,
    };
    Some(FoldedResult::Bits(answer.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folds an instruction of a function at stage Wide, as text.
    fn folded(instruction: &str) -> Option<String> {
        let text = format!(
            "func @f(v0: <2 x i32>, v1: mask<2>, v2: i32) -> <2 x i32> {{\nblock0:\n  v3 = zext <2 x i64>, v0\n  v4 = sext <2 x i64>, v0\n  v9 = {instruction}\n  ret v0\n}}\n"
        );
        let module = heddle_ir::parse_bytes(text.as_bytes()).expect(instruction);
        let func = &module.functions[0];
        let inst = func.block_insts(func.entry()).nth(2).expect(instruction);
        let result = func.result(inst).expect(instruction);
        match fold(func, func.inst(inst), func.value_type(result))? {
            FoldedResult::Value(value) => Some(value.to_string()),
            FoldedResult::Bits(bits) => Some(format!("splat {bits}")),
            FoldedResult::Poison => Some("poison".into()),
        }
    }

    #[test]
    fn extensions_that_are_cut_off_again_fold() {
        let last = |text: &str| {
            let text = format!("func @f(v0: i32, v1: i64) -> i64 {{\nblock0:\n{text}  ret v1\n}}\n");
            let module = heddle_ir::parse_bytes(text.as_bytes()).expect("it parses");
            let func = &module.functions[0];
            let inst = func.block_insts(func.entry()).filter(|&it| func.result(it).is_some()).last()?;
            match fold(func, func.inst(inst), func.value_type(func.result(inst)?))? {
                FoldedResult::Value(value) => Some(value.to_string()),
                FoldedResult::Bits(_) | FoldedResult::Poison => None,
            }
        };
        let wide = "  v2 = zext nneg i64, v0\n";
        assert_eq!(last(&format!("{wide}  v3 = trunc i32, v2\n")).as_deref(), Some("v0"));
        assert_eq!(last(&format!("{wide}  v3 = trunc i16, v2\n")), None);
        assert_eq!(last(&format!("{wide}  v3 = and v2, 4294967295\n")).as_deref(), Some("v2"));
        assert_eq!(last(&format!("{wide}  v3 = and v2, 65535\n")), None);
        let shifts = |by: u32| format!("{wide}  v3 = shl v2, {by}\n  v4 = ashr exact v3, {by}\n");
        assert_eq!(last(&shifts(32)).as_deref(), Some("v2"));
        assert_eq!(last(&shifts(31)).as_deref(), Some("v2"));
        assert_eq!(last(&shifts(33)), None);
        // The sign is another one.
        assert_eq!(last("  v2 = zext i64, v0\n  v3 = shl v2, 32\n  v4 = ashr v3, 32\n"), None);
        assert_eq!(last("  v2 = shl v1, 32\n  v3 = ashr v2, 32\n"), None);
    }

    #[test]
    fn what_holds_in_every_lane_folds_vectors() {
        for (instruction, wanted) in [
            ("select i1 true, v0, splat 5", Some("v0")),
            ("select v1, mask<2> splat true, splat false", Some("v1")),
            ("select v1, v1, splat false", Some("v1")),
            ("select v1, splat true, v1", Some("v1")),
            ("select v1, v1, splat true", None),
            ("select <true, true>, v0, splat 5", Some("v0")),
            ("select <true, false>, v0, splat 5", None),
            ("trunc <2 x i32>, v3", Some("v0")),
            ("trunc <2 x i16>, v3", None),
            ("trunc <2 x i32>, v4", Some("v0")),
            ("and v3, splat 4294967295", Some("v3")),
            ("and v3, splat 4294967294", None),
            ("and v4, splat 4294967295", None),
            ("add v0, splat 0", Some("v0")),
            ("add v0, <0, 1>", None),
            ("mul v0, splat 0", Some("splat 0")),
            ("add <2 x i32> splat 3, splat 4", Some("splat 7")),
            ("add v0, poison", Some("poison")),
            ("splat <2 x i32>, i32 6", Some("splat 6")),
            ("splat <2 x i32>, v2", None),
            // Lanes take values from other lanes.
            ("permute <2 x i32>, v0, poison [1, 0]", None),
            ("insert v0, v2, i32 1", None),
            ("compress v0, splat true", None),
        ] {
            assert_eq!(folded(instruction).as_deref(), wanted, "{instruction}");
        }
    }
}
