//! Generates computations: arithmetic, comparisons, conversions, selects, and harmless poison.

use super::random::Random;
use super::writer::{
    AllowedFeatures, FunctionGenerator, Temp, ValueConstraint, float_bits, float_type, int_type, joint,
    nan_bits, number_type,
};
use heddle_ir::words::{Flag, Flags, FloatPredicate, IntPredicate};
use heddle_ir::{Constant, Detail, InstData, Op, Scalar};

const INT_BINARY: &[Op] = &[
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Umin,
    Op::Umax,
    Op::Smin,
    Op::Smax,
    Op::UaddSat,
    Op::SaddSat,
    Op::UsubSat,
    Op::SsubSat,
];
const INT_UNARY: &[Op] = &[Op::Abs, Op::Ctpop, Op::Ctlz, Op::Cttz, Op::Bswap, Op::Bitreverse];
const FLOAT_BINARY: &[Op] = &[
    Op::Fadd,
    Op::Fsub,
    Op::Fmul,
    Op::Fdiv,
    Op::Frem,
    Op::Copysign,
    Op::Fmin,
    Op::Fmax,
    Op::Fminimum,
    Op::Fmaximum,
];
const FLOAT_UNARY: &[Op] =
    &[Op::Fneg, Op::Fabs, Op::Sqrt, Op::Rsqrt, Op::Floor, Op::Ceil, Op::Truncate, Op::Round, Op::RoundEven];
const SHIFTS: &[Op] = &[Op::Shl, Op::Lshr, Op::Ashr];
const QUERIES: &[Op] =
    &[Op::LocalId, Op::LocalSize, Op::GroupId, Op::NumGroups, Op::GlobalId, Op::GlobalSize, Op::GlobalOffset];

/// Flags that no exact operation minds, whatever its operands are.
fn harmless_fast_flags(random: &mut Random) -> Flags {
    let mut flags = Flags::NONE;
    for flag in [Flag::Arcp, Flag::Contract, Flag::Afn, Flag::Reassoc] {
        if random.chance(40) {
            flags = flags.with(flag);
        }
    }
    flags
}

#[derive(Clone, Copy)]
enum OperationKind {
    IntBinary,
    IntUnary,
    Shift,
    Divide,
    Funnel,
    IntCompare,
    FloatBinary,
    FloatUnary,
    FloatTernary,
    FloatCompare,
    FloatClass,
    Ldexp,
    Convert,
    Bitcast,
    Select,
    Promise,
    Forgiven,
    Query,
}

impl FunctionGenerator<'_> {
    /// Computes something from what is at hand.
    pub(super) fn operation(&mut self) -> Temp {
        let want = if self.random.chance(8) { ValueConstraint::ANY } else { self.want() };
        let kind = self.random.weighted(&[
            (OperationKind::IntBinary, 30),
            (OperationKind::IntUnary, 5),
            (OperationKind::Shift, 8),
            (OperationKind::Divide, 5),
            (OperationKind::Funnel, 2),
            (OperationKind::IntCompare, 9),
            (OperationKind::FloatBinary, 12),
            (OperationKind::FloatUnary, 5),
            (OperationKind::FloatTernary, 3),
            (OperationKind::FloatCompare, 4),
            (OperationKind::FloatClass, 1),
            (OperationKind::Ldexp, 1),
            (OperationKind::Convert, 8),
            (OperationKind::Bitcast, 2),
            (OperationKind::Select, 7),
            (OperationKind::Promise, 4),
            (OperationKind::Forgiven, 6),
            (OperationKind::Query, if self.allowed.lanes { 4 } else { 0 }),
        ]);
        match kind {
            OperationKind::IntBinary => self.int_binary(want),
            OperationKind::IntUnary => {
                let op = self.random.pick(INT_UNARY);
                let scalar = self.int_or_bool();
                let scalar = if op == Op::Bswap && scalar == Scalar::I1 { Scalar::I32 } else { scalar };
                let a = self.pick(scalar, want);
                self.op(op, &[a])
            }
            OperationKind::Shift => {
                let op = self.random.pick(SHIFTS);
                let scalar = self.int_or_bool();
                let (a, amount) = (self.pick(scalar, want), self.shift_amount(scalar, want));
                self.op(op, &[a, amount])
            }
            OperationKind::Divide => self.divide(want),
            OperationKind::Funnel => {
                let op = self.random.pick(&[Op::Fshl, Op::Fshr]);
                let scalar = self.int_or_bool();
                let operands = [self.pick(scalar, want), self.pick(scalar, want), self.pick(scalar, want)];
                self.op(op, &operands)
            }
            OperationKind::IntCompare => self.int_compare(want),
            OperationKind::FloatBinary => self.float_binary(want),
            OperationKind::FloatUnary => {
                let op = self.random.pick(FLOAT_UNARY);
                let scalar = float_type(self.random);
                let a = self.pick(scalar, want);
                if matches!(op, Op::Fneg | Op::Fabs) && self.random.chance(30) {
                    let flags = harmless_fast_flags(self.random);
                    let data = InstData { flags, ..InstData::plain(op, [a.value]) };
                    return self.define(data, None, a.clean, a.uniform);
                }
                self.op(op, &[a])
            }
            OperationKind::FloatTernary => {
                let scalar = float_type(self.random);
                let fused = !self.allowed.fmuladd || self.random.chance(50);
                let op = if fused { Op::Fma } else { Op::Fmuladd };
                let operands = [self.pick(scalar, want), self.pick(scalar, want), self.pick(scalar, want)];
                self.op(op, &operands)
            }
            OperationKind::FloatCompare => self.float_compare(want),
            OperationKind::FloatClass => {
                let scalar = float_type(self.random);
                let a = self.pick_known(scalar, want);
                // Quiet and signalling NaNs are not distinguished: the bits of a NaN are not defined.
                let nan = if self.random.chance(50) { 3 } else { 0 };
                let classes = (self.random.below(0x400) as u16 & !3) | nan;
                let data = InstData::new(Op::FloatClass, [a.value], Detail::FloatClass(classes));
                self.define(data, None, a.clean, a.uniform)
            }
            OperationKind::Ldexp => {
                let (float, int) = (float_type(self.random), self.random.pick(&[Scalar::I32, Scalar::I16]));
                let operands = [self.pick(float, want), self.pick(int, want)];
                self.op(Op::Ldexp, &operands)
            }
            OperationKind::Convert => {
                let from = self.pick_number(want);
                let to = number_type(self.random);
                if from.scalar == to { self.int_binary(want) } else { self.convert(from, to) }
            }
            OperationKind::Bitcast => self.bitcast(want),
            OperationKind::Select => {
                let scalar = number_type(self.random);
                let condition = self.condition(want.uniform);
                let a = self.pick(scalar, want);
                let b = self.pick_second(a, want);
                self.op(Op::Select, &[condition, a, b])
            }
            OperationKind::Promise => self.promise(want),
            OperationKind::Forgiven => self.harmless_poison(want),
            OperationKind::Query => self.query(),
        }
    }

    /// Chooses a constraint for operands; uniform operands yield uniform values.
    pub(super) fn want(&mut self) -> ValueConstraint {
        if self.random.chance(self.profile.uniform_operation) {
            ValueConstraint::UNIFORM
        } else {
            ValueConstraint::CLEAN
        }
    }

    fn int_or_bool(&mut self) -> Scalar {
        if self.random.chance(6) { Scalar::I1 } else { int_type(self.random) }
    }

    fn shift_amount(&mut self, scalar: Scalar, want: ValueConstraint) -> Temp {
        if self.random.chance(50) {
            let amount = self.random.below(scalar.bits() as usize) as i128;
            return self.int(scalar, amount);
        }
        let amount = self.pick(scalar, want);
        self.op_int(Op::And, amount, i128::from(scalar.bits() - 1))
    }

    fn int_binary(&mut self, want: ValueConstraint) -> Temp {
        let op = self.random.pick(INT_BINARY);
        let scalar = self.int_or_bool();
        let a = self.pick_known(scalar, want);
        let b = self.pick_second(a, want);
        if !want.clean && matches!(op, Op::Add | Op::Sub | Op::Mul) && self.random.chance(50) {
            let flags = Flags::NONE.with(self.random.pick(&[Flag::Nuw, Flag::Nsw]));
            let data = InstData { flags, ..InstData::plain(op, [a.value, b.value]) };
            return self.define(data, None, false, a.uniform && b.uniform);
        }
        self.op(op, &[a, b])
    }

    /// A division whose divisor is neither 0 nor, for signed ones, negative.
    fn divide(&mut self, want: ValueConstraint) -> Temp {
        let op = self.random.pick(&[Op::Udiv, Op::Urem, Op::Sdiv, Op::Srem]);
        let scalar = int_type(self.random);
        let (a, b) = (
            self.pick(scalar, ValueConstraint { clean: true, ..want }),
            self.pick(scalar, ValueConstraint::CLEAN),
        );
        let divisor = if self.random.chance(30) {
            let divisor = self.random.between(1, 9);
            self.int(scalar, divisor.into())
        } else if matches!(op, Op::Udiv | Op::Urem) && self.random.chance(50) {
            self.op_int(Op::Or, b, 1)
        } else {
            let few = self.op_int(Op::And, b, 15);
            self.op_int(Op::Or, few, 1)
        };
        self.op(op, &[a, divisor])
    }

    fn int_compare(&mut self, want: ValueConstraint) -> Temp {
        if self.random.chance(6)
            && let Some(&place) = self.places.last()
        {
            let (by, limit) = (self.random.between(0, 8), self.random.between(0, 8));
            let [left, right] = [by, limit].map(|offset| {
                let offset = self.int(Scalar::I64, offset.into());
                let data = InstData::plain(Op::PtrAdd, [place.pointer, offset.value]);
                self.define(data, None, true, true)
            });
            let predicate = self.random.pick(IntPredicate::ALL);
            return self.icmp(predicate, left, right);
        }
        let scalar = self.int_or_bool();
        let a = self.pick_known(scalar, want);
        let b = self.pick_second(a, want);
        let predicate = self.random.pick(IntPredicate::ALL);
        self.icmp(predicate, a, b)
    }

    fn float_compare(&mut self, want: ValueConstraint) -> Temp {
        let scalar = float_type(self.random);
        let a = self.pick_known(scalar, want);
        let b = self.pick_second(a, want);
        let predicate = self.random.pick(FloatPredicate::ALL);
        self.fcmp(predicate, a, b)
    }

    fn float_binary(&mut self, want: ValueConstraint) -> Temp {
        let op = self.random.pick(FLOAT_BINARY);
        let scalar = float_type(self.random);
        let a = self.pick_known(scalar, want);
        let b = self.pick_second(a, want);
        if op == Op::Copysign {
            let b = self.fixed_nan(b);
            return self.op(op, &[a, b]);
        }
        if !want.clean && self.random.chance(50) {
            let flags = Flags::NONE.with(self.random.pick(&[Flag::Nnan, Flag::Ninf]));
            let data = InstData { flags, ..InstData::plain(op, [a.value, b.value]) };
            return self.define(data, None, false, a.uniform && b.uniform);
        }
        self.op(op, &[a, b])
    }

    /// Replaces any NaN by a fixed one, so that the bits may be observed.
    pub(super) fn fixed_nan(&mut self, float: Temp) -> Temp {
        let is_nan = self.fcmp(FloatPredicate::Uno, float, float);
        let nan = self.constant(Constant::Scalar(float.scalar, nan_bits(float.scalar)));
        self.op(Op::Select, &[is_nan, nan, float])
    }

    fn bitcast(&mut self, want: ValueConstraint) -> Temp {
        let (float, int) = self.random.pick(&[
            (Scalar::F32, Scalar::I32),
            (Scalar::F64, Scalar::I64),
            (Scalar::F16, Scalar::I16),
            (Scalar::BF16, Scalar::I16),
        ]);
        if self.random.chance(50) {
            let float = self.pick(float, want);
            let float = self.fixed_nan(float);
            return self.op_to(Op::Bitcast, int, &[float]);
        }
        // The upper half of the exponent stays clear: no NaN.
        let a = self.pick(int, want);
        let top = (1i128 << (int.bits() - 2)) | (1 << (int.bits() - 1));
        let tame = self.op_int(Op::And, a, !top);
        self.op_to(Op::Bitcast, float, &[tame])
    }

    /// Generates an operation with flags that its operands satisfy by construction.
    fn promise(&mut self, want: ValueConstraint) -> Temp {
        let want = ValueConstraint { clean: true, ..want };
        let scalar = self.random.pick(&[Scalar::I32, Scalar::I32, Scalar::I64, Scalar::I16, Scalar::I128]);
        let with = |flags: &[Flag]| Flags::of(flags);
        let a = self.pick_known(scalar, want);
        let low = self.op_int(Op::And, a, 0x3f);
        let b = self.pick(scalar, want);
        let (op, operands, flags) = match self.random.below(9) {
            0 | 1 => {
                let few = self.op_int(Op::And, b, 0x3f);
                let flags = self.random.pick(&[
                    with(&[Flag::Nsw]),
                    with(&[Flag::Nuw]),
                    with(&[Flag::Nuw, Flag::Nsw]),
                ]);
                (self.random.pick(&[Op::Add, Op::Mul]), vec![low, few], flags)
            }
            2 => {
                let amount = self.int(scalar, 3);
                (Op::Shl, vec![low, amount], with(&[Flag::Nuw, Flag::Nsw]))
            }
            3 => {
                let even = self.op_int(Op::And, a, !7);
                let amount = self.int(scalar, 3);
                (self.random.pick(&[Op::Lshr, Op::Ashr]), vec![even, amount], with(&[Flag::Exact]))
            }
            4 => {
                let even = self.op_int(Op::And, a, !7);
                let divisor = self.int(scalar, 4);
                (self.random.pick(&[Op::Udiv, Op::Sdiv]), vec![even, divisor], with(&[Flag::Exact]))
            }
            5 => {
                let high = self.op_int(Op::And, b, !0x3f);
                (Op::Or, vec![low, high], with(&[Flag::Disjoint]))
            }
            6 => {
                let op = self.random.pick(&[Op::Abs, Op::Ctlz, Op::Cttz]);
                let positive = self.op_int(Op::Or, low, 1);
                (op, vec![positive], with(&[Flag::Strict]))
            }
            7 => {
                let to = if self.random.chance(50) { Scalar::I128 } else { Scalar::F64 };
                let to = if scalar == Scalar::I128 { Scalar::F32 } else { to };
                let op = if to.is_float() { Op::Uitofp } else { Op::Zext };
                let data = InstData { flags: with(&[Flag::Nneg]), ..InstData::plain(op, [low.value]) };
                return self.define(data, Some(to), true, low.uniform);
            }
            _ => {
                let flags = with(&[Flag::Nuw, Flag::Nsw]);
                let data = InstData { flags, ..InstData::plain(Op::Trunc, [low.value]) };
                return self.define(data, Some(Scalar::I8), true, low.uniform);
            }
        };
        let (_, uniform) = joint(&operands);
        let data = InstData { flags, ..InstData::plain(op, operands.iter().map(|temp| temp.value)) };
        self.define(data, None, true, uniform)
    }

    /// Creates poison and a result that does not depend on it.
    fn harmless_poison(&mut self, want: ValueConstraint) -> Temp {
        let want = ValueConstraint { clean: true, ..want };
        match self.random.below(7) {
            0 => {
                let op = self.random.pick(SHIFTS);
                let scalar = int_type(self.random);
                let (a, amount) = (self.pick(scalar, want), self.pick(scalar, want));
                let bits = self.int(scalar, scalar.bits().into());
                let fits = self.icmp(IntPredicate::Ult, amount, bits);
                let data = InstData::plain(op, [a.value, amount.value]);
                let shifted = self.define(data, None, false, a.uniform && amount.uniform);
                self.chosen_if(fits, shifted, want)
            }
            1 => {
                let float = float_type(self.random);
                let a = self.pick(float, want);
                let [low, high] =
                    [-1, 101].map(|bound| self.constant(Constant::Scalar(float, float_bits(float, bound))));
                let above = self.fcmp(FloatPredicate::Ogt, a, low);
                let below = self.fcmp(FloatPredicate::Olt, a, high);
                let no = self.constant(Constant::bool(false));
                let fits = self.op(Op::Select, &[above, below, no]);
                let to = int_type(self.random);
                let op = self.random.pick(&[Op::Fptosi, Op::Fptoui]);
                let data = InstData::plain(op, [a.value]);
                let converted = self.define(data, Some(to), false, a.uniform);
                self.chosen_if(fits, converted, want)
            }
            2 => {
                let scalar = number_type(self.random);
                let condition = self.condition(want.uniform);
                let (poison, a) = (self.poison(scalar), self.pick(scalar, want));
                let half = self.op(Op::Select, &[condition, a, poison]);
                self.chosen_if(condition, half, want)
            }
            3 | 4 => {
                // Some one value, the same at each use: a difference with itself is 0.
                let scalar = int_type(self.random);
                let (a, b) = (self.pick_known(scalar, ValueConstraint::ANY), self.pick(scalar, want));
                let open = if self.random.chance(50) {
                    let data = InstData::plain(Op::Shl, [a.value, b.value]);
                    self.define(data, None, false, a.uniform && b.uniform)
                } else {
                    let flags = Flags::NONE.with(Flag::Nsw);
                    let data = InstData { flags, ..InstData::plain(Op::Add, [a.value, b.value]) };
                    let sum = self.define(data, None, false, a.uniform && b.uniform);
                    let condition = self.condition(want.uniform);
                    let poison = self.poison(scalar);
                    self.op(Op::Select, &[condition, sum, poison])
                };
                let frozen = self.op(Op::Freeze, &[open]);
                let nothing = match self.random.below(3) {
                    0 => self.op_int(Op::And, frozen, 0),
                    1 => self.op(Op::Sub, &[frozen, frozen]),
                    _ => self.op(Op::Xor, &[frozen, frozen]),
                };
                // The frozen value itself must not be picked as if it were known.
                let nothing = self.proved(nothing);
                self.op(Op::Or, &[nothing, b])
            }
            6 if self.allowed.control => {
                // A variable that holds poison on the path that does not read it.
                let scalar = number_type(self.random);
                let condition = self.condition(want.uniform);
                let poison = self.poison(scalar);
                let slot = self.declare(poison, false, condition.uniform);
                let (then, join) = (self.func.new_block(), self.func.new_block());
                self.branch(condition.value, then, join);
                self.start_sealed(then);
                let scope = self.scope();
                let a = self.pick(scalar, want);
                self.write(slot, a);
                self.jump(join);
                self.leave_scope(scope);
                self.start_sealed(join);
                let joined = self.read(slot);
                self.chosen_if(condition, joined, want)
            }
            _ => {
                let scalar = number_type(self.random);
                let a = self.pick(scalar, want);
                self.op(Op::Freeze, &[a])
            }
        }
    }

    /// Selects the value if the condition holds, which proves it not poison there, and another value otherwise.
    pub(super) fn chosen_if(&mut self, condition: Temp, value: Temp, want: ValueConstraint) -> Temp {
        let other = self.pick(value.scalar, want);
        let chosen = if self.random.chance(75) {
            self.op(Op::Select, &[condition, value, other])
        } else {
            let yes = self.constant(Constant::bool(true));
            let not = self.op(Op::Xor, &[condition, yes]);
            self.op(Op::Select, &[not, other, value])
        };
        self.proved(chosen)
    }

    /// A question about the brush, or about the group where the program is not to see its brush.
    fn of_brush_or_group(&self, op: Op, dimension: Option<u8>) -> (Op, Option<u8>) {
        match op {
            _ if !self.is_of_group() => (op, dimension),
            Op::Lane => (Op::LocalId, Some(dimension.unwrap_or(0))),
            Op::Width => (Op::LocalSize, Some(dimension.unwrap_or(0))),
            _ => (op, dimension),
        }
    }

    /// True if lanes are numbered within the group, which is up to three times as large as a brush.
    pub(super) fn is_of_group(&self) -> bool {
        !self.allowed.lanes && self.allowed.queries
    }

    /// Returns the lane's number, or its position in the group.
    pub(super) fn lane(&mut self, scalar: Scalar, dimension: Option<u8>) -> Temp {
        let (op, dimension) = self.of_brush_or_group(Op::Lane, dimension);
        self.define(InstData::new(op, [], Detail::Dimension(dimension)), Some(scalar), true, false)
    }

    /// Queries the lane's position in the brush, the group or the launch.
    pub(super) fn query(&mut self) -> Temp {
        let scalar = self.random.pick(&[Scalar::I32, Scalar::I32, Scalar::I64]);
        let dimension = self.random.weighted(&[(0, 10), (1, 2), (2, 1)]);
        let (op, dimension, uniform) = match self.random.below(10) {
            0..=4 => {
                let dimension = if self.random.chance(75) { None } else { Some(0) };
                (Op::Lane, dimension, false)
            }
            5 => (Op::Width, if self.random.chance(75) { None } else { Some(0) }, true),
            6 if self.allowed.queries => (Op::WorkDim, None, true),
            _ if self.allowed.queries => {
                let op = match self.random.pick(QUERIES) {
                    // All groups of generated launches are whole.
                    Op::LocalSize if scalar == Scalar::I64 || dimension > 0 => Op::EnqueuedSize,
                    op => op,
                };
                (op, Some(dimension), !matches!(op, Op::LocalId | Op::GlobalId))
            }
            _ => (Op::Lane, None, false),
        };
        let (op, dimension) = self.of_brush_or_group(op, dimension);
        let data = InstData::new(op, [], Detail::Dimension(dimension));
        self.define(data, Some(scalar), true, uniform)
    }

    /// A condition to branch on.
    pub(super) fn condition(&mut self, uniform: bool) -> Temp {
        let want = ValueConstraint { clean: true, uniform };
        match self.random.below(12) {
            0..=5 => {
                let scalar = int_type(self.random);
                let a = self.pick_known(scalar, want);
                let b = self.pick_second(a, want);
                let predicate = self.random.pick(IntPredicate::ALL);
                self.icmp(predicate, a, b)
            }
            6 | 7 => {
                let scalar = int_type(self.random);
                let a = self.pick_known(scalar, want);
                let bit = 1 << self.random.below(3);
                let bit = self.op_int(Op::And, a, bit);
                let zero = self.int(scalar, 0);
                let predicate = self.random.pick(&[IntPredicate::Eq, IntPredicate::Ne]);
                self.icmp(predicate, bit, zero)
            }
            8 => {
                let scalar = float_type(self.random);
                let a = self.pick_known(scalar, want);
                let b = self.pick_second(a, want);
                let predicate = self.random.pick(FloatPredicate::ALL);
                self.fcmp(predicate, a, b)
            }
            9 if !uniform && self.allowed.lanes => {
                let lane = self.define(
                    InstData::new(Op::Lane, [], Detail::Dimension(None)),
                    Some(Scalar::I32),
                    true,
                    false,
                );
                let by = self.random.below(4) as i128;
                let limit = self.int(Scalar::I32, by);
                let predicate = self.random.pick(IntPredicate::ALL);
                self.icmp(predicate, lane, limit)
            }
            _ => self.pick_known(Scalar::I1, want),
        }
    }

    /// Says something that is true anyway.
    pub(super) fn assume(&mut self) {
        let scalar = int_type(self.random);
        let a = self.pick_known(scalar, ValueConstraint::CLEAN);
        let few = self.op_int(Op::And, a, 7);
        let bound = self.int(scalar, 7);
        let holds = self.icmp(IntPredicate::Ule, few, bound);
        self.put(InstData::plain(Op::Assume, [holds.value]), None);
    }
}

impl AllowedFeatures {
    /// Computation and control flow only; lane queries are not pure.
    pub(super) const PURE: AllowedFeatures = AllowedFeatures {
        control: true,
        horizontals: false,
        atomics: false,
        privates: false,
        gotos: true,
        nests: false,
        webs: true,
        calls: false,
        returns: true,
        unreachable: true,
        queries: false,
        memory: false,
        fmuladd: false,
        lanes: false,
        aliases: false,
    };
}
