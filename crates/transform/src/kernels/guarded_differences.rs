//! Differences of unsigned numbers that do not wrap around, as a comparison before them says.
//!
//! ```text
//!     if (x >= s) … a[x - s] …        sub x, s       sub nuw x, s
//!     if (x > 0)  … a[x - 1] …        add x, -1      sub nuw x, 1
//!     zext (sub nuw x, s)                            sub nsw (zext x), (zext s)
//!     zext nneg (sub nsw x, s)                       sub nsw (sext x), (sext s)
//! ```
//!
//! Lanes beyond the comparison wrap around in the source. In the difference of extended numbers they lie next to the others, so the address
//! of lane 0 is one number less than that of lane 1, whichever lanes are active.
//!
//! Requires: Stage::Source.  Ensures: Stage::Source.

use super::guard_comparisons::{GuardComparison, comparisons_before};
use super::insts_of;
use heddle_analysis::ControlTables;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Function, Inst, Op, Value};
use rustc_hash::FxHashSet;

/// Number that is subtracted from another one.
#[derive(Clone, Copy, Debug)]
enum Subtracted {
    Value(Value),
    Constant(u128),
}

/// Difference that may wrap around.
#[derive(Clone, Copy, Debug)]
struct OpenDifference {
    inst: Inst,
    from: Value,
    subtracted: Subtracted,
}

impl OpenDifference {
    /// Matches a subtraction, or an addition of a negative constant.
    fn of(func: &Function, inst: Inst) -> Option<OpenDifference> {
        let data = func.inst(inst);
        let &[from, other] = &data.args[..] else { return None };
        let scalar = func.value_type(from).scalar();
        if !scalar.is_int() || func.value_type(from).is_vector() || data.flags.has(Flag::Nuw) {
            return None;
        }
        let subtracted = match (data.op, func.unsigned_constant(other), func.signed_constant(other)) {
            (Op::Sub, Some(number), _) => Subtracted::Constant(number),
            (Op::Sub, None, _) => Subtracted::Value(other),
            (Op::Add, _, Some(number)) if number < 0 => Subtracted::Constant(number.unsigned_abs()),
            _ => return None,
        };
        Some(OpenDifference { inst, from, subtracted })
    }

    /// True if a comparison that holds says that the difference does not wrap.
    fn is_whole(self, func: &Function, comparison: &GuardComparison<Value>) -> bool {
        let GuardComparison { left, predicate, right } = *comparison;
        let (predicate, other) = match (left == self.from, right == self.from) {
            (true, _) => (predicate, right),
            (_, true) => (predicate.swapped(), left),
            _ => return false,
        };
        use IntPredicate::{Ne, Uge, Ugt};
        match self.subtracted {
            Subtracted::Value(less) => matches!(predicate, Ugt | Uge) && other == less,
            Subtracted::Constant(less) => {
                let Some(bound) = func.unsigned_constant(other) else { return false };
                match predicate {
                    Ugt => bound + 1 >= less,
                    Uge => bound >= less,
                    Ne => bound == 0 && less == 1,
                    _ => false,
                }
            }
        }
    }

    /// Promises that the difference does not wrap.
    fn promise(self, func: &mut Function) {
        let unsigned = Flags::of(&[Flag::Nuw]);
        let data = func.inst(self.inst);
        if data.op == Op::Sub {
            let flags = data.flags.with(Flag::Nuw);
            func.inst_mut(self.inst).flags = flags;
        } else if let Subtracted::Constant(number) = self.subtracted {
            let scalar = func.value_type(self.from).scalar();
            let number = func.make_int(scalar, number as i128);
            let origin = func.inst(self.inst).origin;
            let difference = InstData::plain(Op::Sub, [self.from, number]);
            *func.inst_mut(self.inst) = InstData { origin, flags: unsigned, ..difference };
        }
    }
}

/// Promises of the differences in a function that they do not wrap where comparisons before them say so, and extends their operands.
pub(super) fn promise_differences(func: &mut Function) {
    let insts = insts_of(func);
    let compared: FxHashSet<Value> = insts
        .iter()
        .map(|&inst| func.inst(inst))
        .filter(|data| matches!(data.detail, Detail::IntCompare(_)))
        .flat_map(|data| data.args.iter().copied())
        .collect();
    let differences = insts.iter().filter_map(|&inst| OpenDifference::of(func, inst));
    let mut open: Vec<OpenDifference> = differences.filter(|it| compared.contains(&it.from)).collect();
    if !open.is_empty() {
        let control = ControlTables::new(func);
        open.retain(|difference| {
            let block = func.layout.block_of(difference.inst);
            let known = block.map(|block| comparisons_before(func, &control, block));
            known.is_some_and(|known| known.iter().any(|it| difference.is_whole(func, it)))
        });
        open.into_iter().for_each(|difference| difference.promise(func));
    }
    for inst in insts {
        extend_operands(func, inst);
    }
}

/// Replaces the extension of a difference that does not wrap by the difference of the extended operands.
fn extend_operands(func: &mut Function, inst: Inst) {
    let data = func.inst(inst).clone();
    let (Op::Zext, Some(result)) = (data.op, func.result(inst)) else { return };
    let Some(difference) = func.def_inst(data.args[0]).map(|it| func.inst(it).clone()) else { return };
    if difference.op != Op::Sub {
        return;
    }
    let extension = match (difference.flags.has(Flag::Nuw), difference.flags.has(Flag::Nsw)) {
        (true, _) => Op::Zext,
        // A number that is not negative is extended by its sign, too.
        (false, true) if data.flags.has(Flag::Nneg) => Op::Sext,
        _ => return,
    };
    let ty = func.value_type(result);
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    builder.set_origin(data.origin);
    let operands = [0, 1].map(|at| builder.op_to(extension, ty, &[difference.args[at]]));
    let exact = InstData::plain(Op::Sub, operands);
    *func.inst_mut(inst) = InstData { origin: data.origin, flags: Flags::of(&[Flag::Nsw]), ..exact };
}
