//! Widens operations across lanes; inactive lanes contribute the neutral element.

use super::widener::Widener;
use heddle_analysis::shape::Steps;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::{Flag, Flags, IntPredicate, Reduction};
use heddle_ir::{Constant, Inst, Op, Scalar, Type, Value};
use smallvec::SmallVec;

/// Maximum number of nested masks to look through below a vote.
const MAX_MASKS: usize = 4;

impl Widener<'_> {
    pub(super) fn horizontal(&mut self, inst: Inst) {
        let mut data = self.old.inst(inst).clone();
        let result = self.old.result(inst).expect("a horizontal gives a value");
        let ty = self.old.value_type(result);
        let value = match data.op {
            Op::Mask => {
                match self.old.predicate(self.old.layout.block_of(inst).expect("it stands in a block")) {
                    None => self.new.make_bool(true),
                    Some(predicate) => self.vector(predicate),
                }
            }
            Op::Any | Op::All if self.reps.is_uniform(data.args[0]) => {
                let condition = self.scalar(data.args[0]);
                let alone = self.new.make_bool(data.op == Op::All);
                match self.any_active_lane(inst) {
                    None => condition,
                    Some(any) => self.emit(InstData::plain(Op::Select, [any, condition, alone]), None),
                }
            }
            Op::Any | Op::All if let Some((masks, shared)) = self.uniform_under_masks(inst) => {
                let condition = self.scalar(shared);
                let alone = self.new.make_bool(data.op == Op::All);
                let mut active = masks.iter().fold(None, |others, &mask| {
                    let mask = self.vector(mask);
                    Some(others.map_or(mask, |others| self.both(others, mask)))
                });
                active = self.mask(inst).map_or(active, |mine| active.map(|active| self.both(mine, active)));
                let Some(active) = active else { return };
                let any = self.emit(InstData::plain(Op::Any, [active]), None);
                self.emit(InstData::plain(Op::Select, [any, condition, alone]), None)
            }
            Op::Any | Op::All | Op::Ballot | Op::Popcount => {
                let neutral = u128::from(data.op == Op::All);
                data.args[0] = self.operand_with_neutral(inst, neutral);
                let bits = ty.scalar().bits();
                if data.op == Op::Ballot && bits < self.lanes.into() {
                    // The integer has bits for the first lanes only.
                    let first = Detail::Permute((0..bits as u16).collect());
                    let both = [data.args[0]; 2];
                    let some = Type::Vector(Scalar::I1, bits as u16);
                    data.args[0] = self.emit(InstData::new(Op::Permute, both, first), Some(some));
                }
                let is_written = matches!(data.op, Op::Ballot | Op::Popcount);
                self.emit(data, is_written.then_some(ty))
            }
            Op::Reduce | Op::Scan => {
                let (Detail::Reduce(by) | Detail::Scan { by, .. }) = data.detail else { return };
                let is_before = matches!(data.detail, Detail::Scan { before: true, .. });
                data.args[0] = self.operand_with_neutral(inst, neutral(by, ty.scalar(), data.flags));
                let value = self.emit(data, None);
                let starts_otherwise = is_before && matches!(by, Reduction::Fmin | Reduction::Fmax);
                if starts_otherwise && self.predicate_of(inst).is_some() {
                    self.with_start(
                        value,
                        infinity(ty.scalar()) | if by == Reduction::Fmax { sign(ty.scalar()) } else { 0 },
                    )
                } else {
                    value
                }
            }
            Op::Shuffle => {
                data.args = data.args.iter().map(|&arg| self.vector(arg)).collect();
                self.emit(data, None)
            }
            // Broadcasts: of a numbered lane, or of the first active one.
            _ if self.reps.is_uniform(data.args[0]) => self.scalar(data.args[0]),
            _ => {
                let vector = self.vector(data.args[0]);
                let lane = match data.args.get(1) {
                    Some(&lane) => self.scalar(lane),
                    None if data.is_total() => self.new.make_int(Scalar::I32, 0),
                    None => self.first_lane(),
                };
                self.emit(InstData::plain(Op::Extract, [vector, lane]), None)
            }
        };
        self.define(inst, value);
    }

    /// Sets the first active lane of an exclusive scan: it has no operand before it whose NaN could be ignored.
    fn with_start(&mut self, scanned: Value, start: u128) -> Value {
        let ty = self.new.value_type(scanned);
        let first = self.first_lane();
        let number = self.new.value_type(first).scalar();
        let lanes = Type::Vector(number, self.lanes);
        let all = self.new.make_const(Constant::Vector(number, (0..u128::from(self.lanes)).collect()));
        let first = self.strided_vector(first, Steps::default(), lanes);
        let is_first = self.compare(IntPredicate::Eq, all, first);
        let start = self.new.make_const(Constant::splat(ty, start));
        self.emit(InstData::plain(Op::Select, [is_first, start, scanned]), None)
    }

    /// Decomposes a vote on nested selects into masks and a uniform condition, where inactive lanes are neutral. The vote
    /// becomes one on the masks, which a loop computes anyway for its live lanes.
    fn uniform_under_masks(&self, inst: Inst) -> Option<(SmallVec<[Value; 2]>, Value)> {
        let vote = self.old.inst(inst);
        let changes_nothing =
            |value: Value| self.old.constant(value) == Some(&Constant::bool(vote.op == Op::All));
        let (mut masks, mut condition) = (SmallVec::new(), vote.args[0]);
        while !self.reps.is_uniform(condition) {
            let choice = self.old.inst(self.old.def_inst(condition)?);
            let (Op::Select, &[mask, then, otherwise]) = (choice.op, &choice.args[..]) else { return None };
            if !changes_nothing(otherwise) || masks.len() == MAX_MASKS {
                return None;
            }
            masks.push(mask);
            condition = then;
        }
        (!masks.is_empty()).then_some((masks, condition))
    }

    pub(super) fn both(&mut self, a: Value, b: Value) -> Value {
        let ty = self.new.value_type(b);
        let none = self.new.make_const(Constant::splat(ty, 0));
        self.emit(InstData::plain(Op::Select, [a, b, none]), None)
    }

    /// Operand with these bits in inactive lanes.
    fn operand_with_neutral(&mut self, inst: Inst, neutral: u128) -> Value {
        self.with_inactive(inst, self.old.inst(inst).args[0], neutral)
    }

    /// Value with these bits in lanes that don't run the instruction.
    pub(super) fn with_inactive(&mut self, inst: Inst, value: Value, neutral: u128) -> Value {
        let vector = self.vector(value);
        let Some(mask) = self.mask(inst) else { return vector };
        let ty = self.new.value_type(vector);
        let neutral = self.new.make_const(Constant::splat(ty, neutral));
        self.emit(InstData::plain(Op::Select, [mask, vector, neutral]), None)
    }
}

/// Number of explicit mantissa bits.
fn mantissa(scalar: Scalar) -> u32 {
    match scalar {
        Scalar::F16 => 10,
        Scalar::BF16 => 7,
        Scalar::F32 => 23,
        _ => 52,
    }
}

fn sign(scalar: Scalar) -> u128 {
    let all = scalar.bit_mask();
    all & !(all >> 1)
}

fn infinity(scalar: Scalar) -> u128 {
    (scalar.bit_mask() >> 1) & !((1 << mantissa(scalar)) - 1)
}

/// Bits of the neutral element of a reduction under these flags. Float minimum and maximum ignore NaNs.
pub(super) fn neutral(by: Reduction, scalar: Scalar, flags: Flags) -> u128 {
    let (all, sign, infinity, mantissa) =
        (scalar.bit_mask(), sign(scalar), infinity(scalar), mantissa(scalar));
    let one = (infinity >> 1) & !((1u128 << mantissa) - 1);
    let greatest = if flags.has(Flag::Ninf) { infinity - 1 } else { infinity };
    let ignored = if flags.has(Flag::Nnan) { greatest } else { infinity | 1 << (mantissa - 1) };
    match by {
        Reduction::Add | Reduction::Or | Reduction::Xor | Reduction::Umax => 0,
        Reduction::Mul => 1,
        Reduction::And | Reduction::Umin => all,
        Reduction::Smin => all >> 1,
        Reduction::Smax => sign,
        Reduction::Fadd => sign,
        Reduction::Fmul => one,
        Reduction::Fmin => ignored,
        Reduction::Fmax if flags.has(Flag::Nnan) => ignored | sign,
        Reduction::Fmax => ignored,
    }
}
