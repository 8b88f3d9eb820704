//! Lowering of video instructions on two or four parts of a word.

use super::body::FunctionLowering;
use super::{LowerResult, layout, refuse};
use crate::check::ResolvedInst;
use crate::operation::VideoOp;
use crate::words::Word;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Op, Scalar, Value};

/// Returns the condition of a `vset`. Parts are compared as signed numbers of more bits.
fn condition(words: &[Word]) -> IntPredicate {
    let has = |word: Word| words.contains(&word);
    match () {
        () if has(Word::Eq) => IntPredicate::Eq,
        () if has(Word::Ne) => IntPredicate::Ne,
        () if has(Word::Lt) => IntPredicate::Slt,
        () if has(Word::Le) => IntPredicate::Sle,
        () if has(Word::Gt) => IntPredicate::Sgt,
        () => IntPredicate::Sge,
    }
}

impl FunctionLowering<'_, '_, '_> {
    /// Lowers an instruction that computes each part of a word: results are packed, or added to the third operand.
    pub(super) fn video(&mut self, inst: &ResolvedInst, operation: VideoOp, parts: u32) -> LowerResult<()> {
        let types: Vec<Word> = inst.words.iter().copied().filter(|word| word.is_type()).collect();
        // `vset` has no type of results.
        let (to, from) = match types[..] {
            [a, b] => (Word::U32, [a, b]),
            [to, a, b] => (to, [a, b]),
            _ => return refuse("two or three types expected", "write them"),
        };
        let is_sum = inst.words.contains(&Word::Add);
        let bits = 32 / parts;
        let [a, b] = [self.read(&inst.args[1], Word::B32)?, self.read(&inst.args[2], Word::B32)?];
        let mut result = if is_sum { self.read(&inst.args[3], Word::B32)? } else { self.emit.int32(0) };
        for index in 0..parts {
            let by = self.emit.int32((bits * index).into());
            let [left, right] = [(a, from[0]), (b, from[1])].map(|(whole, ty)| {
                let part = self.emit.op(Op::Lshr, &[whole, by]);
                let part = self.emit.resize(part, layout::int(bits), false);
                self.emit.resize(part, Scalar::I32, ty.is_signed())
            });
            let value = self.of_parts(inst, operation, [left, right]);
            let value = if inst.words.contains(&Word::Sat) { self.within(value, bits, to) } else { value };
            result = if is_sum {
                self.emit.op(Op::Add, &[result, value])
            } else {
                let part = self.emit.resize(value, layout::int(bits), false);
                let part = self.emit.resize(part, Scalar::I32, false);
                let placed = self.emit.op(Op::Shl, &[part, by]);
                self.emit.op(Op::Or, &[result, placed])
            };
        }
        self.write(&inst.args[0], result, false);
        Ok(())
    }

    /// Computes one part, in 32 bits: parts are widened by their signs, so that nothing wraps around.
    fn of_parts(&mut self, inst: &ResolvedInst, operation: VideoOp, both: [Value; 2]) -> Value {
        let e = &mut self.emit;
        match operation {
            VideoOp::Add => e.op(Op::Add, &both),
            VideoOp::Sub => e.op(Op::Sub, &both),
            VideoOp::Min => e.op(Op::Smin, &both),
            VideoOp::Max => e.op(Op::Smax, &both),
            VideoOp::Avrg => {
                // Halves are rounded away from zero.
                let sum = e.op(Op::Add, &both);
                let (zero, one) = (e.int32(0), e.int32(1));
                let is_positive = e.icmp(IntPredicate::Sge, sum, zero);
                let more = e.select(is_positive, one, zero);
                let sum = e.op(Op::Add, &[sum, more]);
                e.op(Op::Ashr, &[sum, one])
            }
            VideoOp::Set => {
                let holds = e.icmp(condition(&inst.words), both[0], both[1]);
                e.resize(holds, Scalar::I32, false)
            }
            VideoOp::Absdiff => {
                let (more, less) = (e.op(Op::Smax, &both), e.op(Op::Smin, &both));
                e.op(Op::Sub, &[more, less])
            }
        }
    }

    /// Clamps a number to the range of a part.
    fn within(&mut self, value: Value, bits: u32, to: Word) -> Value {
        let (least, most) = match to.is_signed() {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        let (least, most) = (self.emit.int32(least), self.emit.int32(most));
        let value = self.emit.op(Op::Smax, &[value, least]);
        self.emit.op(Op::Smin, &[value, most])
    }
}
