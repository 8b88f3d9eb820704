//! Instructions of a region that a fast version rewrites, and the shapes that their results have then.

use super::strided_loops::LoopDivision;
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::DeclaredShape;
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Constant, Function, Inst, Op, Type, Value};

/// Minimum index width: narrower integers may not hold all lane numbers.
const MIN_BITS: u32 = 16;

/// Condition of divisions and bit operations.
pub(super) const ONE_BLOCK: &str = "the lanes' indices are in one block";
/// Condition of extensions.
const NO_WRAP: &str = "no lane's index wraps around";

/// Shape of an index that is computed from parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IndexShape {
    /// Equal in all lanes.
    Uniform,
    /// Lane 0's value plus the lane number, modulo 2^width. Flags are ignored: lane 0 may be the lane that violates them.
    Strided,
}

/// Rewrite of an instruction whose condition holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LaneRewrite {
    /// `x % s`: the remainder is strided.
    Remainder { is_signed: bool },
    /// `x / s`: the quotient is uniform.
    Quotient { is_signed: bool },
    /// The operation on lane 0's value, plus the lane number.
    KeepsLanes,
    /// The operation on lane 0's value.
    DropsLanes,
    /// A right shift by at least log2 of the lane count.
    Shift,
    /// An extension of lane 0's value, plus the lane number.
    Extension { is_signed: bool },
    /// The low bits of lane 0's value, plus the lane number.
    LowBits,
    /// Signed low bits: `ashr (shl x, c), c`.
    SignedLowBits { cut: u32 },
    /// `freeze`: all users must see one value.
    Frozen,
    /// A minimum, a maximum or a `select` of which all lanes choose one operand: all lanes' indices compare like this with the uniform
    /// operand.
    Chosen { arm: Value, predicate: IntPredicate },
    /// A saturated difference that saturates in no lane.
    Difference,
    /// An extension of a condition that all lanes decide alike: their indices compare like this with the uniform operand, and it holds or not.
    Decided { predicate: IntPredicate, holds: bool },
}

/// Instruction to rewrite, with its strided and its uniform operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct RewriteCandidate {
    pub(super) inst: Inst,
    pub(super) rewrite: LaneRewrite,
    pub(super) steps: Value,
    pub(super) uniform: Option<Value>,
}

/// Comparison of an index with a uniform number, as most brushes decide it.
struct UsualDecision {
    pub(super) steps: Value,
    pub(super) uniform: Value,
    /// Predicate that holds in all lanes.
    predicate: IntPredicate,
    /// True if the comparison itself holds then.
    holds: bool,
}

impl LaneRewrite {
    /// The condition that the lanes' indices must meet, for users.
    pub(super) fn condition(self) -> &'static str {
        match self {
            LaneRewrite::Extension { .. } | LaneRewrite::SignedLowBits { .. } | LaneRewrite::Frozen => {
                NO_WRAP
            }
            LaneRewrite::Chosen { .. } | LaneRewrite::Difference | LaneRewrite::Decided { .. } => {
                "all lanes' indices are on one side of a bound"
            }
            _ => ONE_BLOCK,
        }
    }
}

impl RewriteCandidate {
    /// The values that its condition and its replacement are computed from.
    pub(super) fn operands(&self) -> impl Iterator<Item = Value> {
        let arm = match self.rewrite {
            LaneRewrite::Chosen { arm, .. } => Some(arm),
            _ => None,
        };
        [Some(self.steps), self.uniform, arm].into_iter().flatten()
    }
}

/// Shapes of values and the instructions that could be rewritten under a condition.
pub(super) struct RewriteCandidates {
    pub(super) shapes: SecondaryMap<Value, Option<IndexShape>>,
    pub(super) candidates: Vec<RewriteCandidate>,
    /// Candidate index of an instruction.
    pub(super) of: SecondaryMap<Inst, Option<usize>>,
    /// Divisions in loops, apart from the candidates.
    pub(super) divisions: Vec<LoopDivision>,
}

impl RewriteCandidates {
    pub(super) fn new(region: &Function, lanes: u32) -> RewriteCandidates {
        let mut found = RewriteCandidates {
            shapes: SecondaryMap::with_len(region.value_count()),
            candidates: Vec::new(),
            of: SecondaryMap::new(),
            divisions: Vec::new(),
        };
        for (&value, param) in region.params().iter().zip(&region.signature.params) {
            let scalar = param.ty.scalar();
            let is_int = scalar.is_int() && scalar.bits() >= MIN_BITS && !param.ty.is_vector();
            found.shapes[value] = match &param.shape {
                Some(DeclaredShape::Uniform) if is_int => Some(IndexShape::Uniform),
                Some(DeclaredShape::Linear(steps)) if is_int && steps[..] == [1] => Some(IndexShape::Strided),
                _ => None,
            };
        }
        for inst in region.blocks().flat_map(|block| region.block_insts(block)) {
            let Some(result) = region.result(inst) else { continue };
            found.shapes[result] = found.classify(region, inst, lanes);
        }
        // Operands that a candidate computes have these shapes under its condition only.
        let shape =
            |value: Value| found.shape(region, value).filter(|_| !found.depends_on_candidate(region, value));
        let may_hold = |by: Value| {
            region.unsigned_constant(by).is_none_or(|by| by != 0 && by.is_multiple_of(lanes.into()))
        };
        let insts = region.blocks().flat_map(|block| region.block_insts(block));
        let divisions = insts.filter_map(|inst| LoopDivision::find(region, inst, &shape));
        found.divisions = divisions.filter(|division| may_hold(division.by)).collect();
        found
    }

    pub(super) fn is_empty(&self) -> bool {
        self.candidates.is_empty() && self.divisions.is_empty()
    }

    /// True if a value, which can be computed before the region, has an operand that is rewritten.
    fn depends_on_candidate(&self, region: &Function, value: Value) -> bool {
        let mut seen: EntitySet<Value> = EntitySet::new();
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            if let Some(inst) = region.def_inst(value).filter(|_| seen.insert(value)) {
                if self.of[inst].is_some() {
                    return true;
                }
                work.extend(region.inst(inst).args.iter().copied());
            }
        }
        false
    }

    fn shape(&self, region: &Function, value: Value) -> Option<IndexShape> {
        match region.constant(value) {
            Some(Constant::Scalar(scalar, _)) if scalar.is_int() => Some(IndexShape::Uniform),
            Some(_) => None,
            None => self.shapes[value],
        }
    }

    /// Returns the shape of an instruction's result. A candidate gets the shape that it has when rewritten.
    fn classify(&mut self, region: &Function, inst: Inst, lanes: u32) -> Option<IndexShape> {
        let data = region.inst(inst);
        let result = region.result(inst)?;
        let is_wide = |value: Value| {
            let ty = region.value_type(value);
            ty.scalar().is_int() && ty.scalar().bits() >= MIN_BITS && !ty.is_vector()
        };
        if is_wide(result) && data.op == Op::Select {
            let decision = self.decision(region, data.args[0])?;
            let arm = data.args[if decision.holds { 1 } else { 2 }];
            let is_strided = self.shape(region, arm) == Some(IndexShape::Strided);
            let rewrite = LaneRewrite::Chosen { arm, predicate: decision.predicate };
            let UsualDecision { steps, uniform, .. } = decision;
            return is_strided.then(|| {
                self.add(RewriteCandidate { inst, rewrite, steps, uniform: Some(uniform) });
                IndexShape::Strided
            });
        }
        if is_wide(result)
            && matches!(data.op, Op::Zext | Op::Sext)
            && region.value_type(data.args[0]) == Type::I1
        {
            let UsualDecision { steps, uniform, predicate, holds } = self.decision(region, data.args[0])?;
            let rewrite = LaneRewrite::Decided { predicate, holds };
            self.add(RewriteCandidate { inst, rewrite, steps, uniform: Some(uniform) });
            return Some(IndexShape::Uniform);
        }
        if !is_wide(result) || !data.args.iter().all(|&arg| is_wide(arg)) || data.args.is_empty() {
            return None;
        }
        if data.is_total() {
            return None;
        }
        if let Some((steps, cut)) = match_sign_extension(region, inst)
            && self.shape(region, steps) == Some(IndexShape::Strided)
        {
            let rewrite = LaneRewrite::SignedLowBits { cut };
            self.add(RewriteCandidate { inst, rewrite, steps, uniform: None });
            return Some(IndexShape::Strided);
        }
        let mut shapes = [IndexShape::Uniform; 2];
        if data.args.len() > 2 {
            return None;
        }
        for (shape, &arg) in shapes.iter_mut().zip(&data.args) {
            *shape = self.shape(region, arg)?;
        }
        if data.op == Op::Freeze {
            self.add(RewriteCandidate {
                inst,
                rewrite: LaneRewrite::Frozen,
                steps: data.args[0],
                uniform: None,
            });
            return Some(shapes[0]);
        }
        if shapes == [IndexShape::Uniform; 2] {
            return is_cheap(region, data).then_some(IndexShape::Uniform);
        }
        match (data.op, shapes) {
            (
                Op::Add,
                [IndexShape::Strided, IndexShape::Uniform] | [IndexShape::Uniform, IndexShape::Strided],
            )
            | (Op::Sub, [IndexShape::Strided, IndexShape::Uniform]) => return Some(IndexShape::Strided),
            (Op::Trunc, _) => return Some(IndexShape::Strided),
            // In lanes without poison, the value is lane 0's, read as signed, plus the lane number.
            (Op::Zext, _) if data.flags.has(Flag::Nneg) => return Some(IndexShape::Strided),
            _ => {}
        }
        let (at, other) = match shapes {
            [IndexShape::Strided, IndexShape::Uniform] => (0, 1),
            [IndexShape::Uniform, IndexShape::Strided] => (1, 0),
            _ => return None,
        };
        let uniform = data.args.get(other).copied();
        let bits_of_lanes = u128::from(lanes - 1);
        let known = uniform.and_then(|value| region.unsigned_constant(value));
        let (rewrite, shape) = match data.op {
            Op::Urem | Op::Srem if at == 0 && known.is_none_or(|by| by >= lanes.into()) => {
                (LaneRewrite::Remainder { is_signed: data.op == Op::Srem }, IndexShape::Strided)
            }
            Op::Udiv | Op::Sdiv if at == 0 && known.is_none_or(|by| by >= lanes.into()) => {
                (LaneRewrite::Quotient { is_signed: data.op == Op::Sdiv }, IndexShape::Uniform)
            }
            Op::And => {
                let is_filled = match known {
                    Some(mask) => mask & (mask + 1) == 0 && mask >= bits_of_lanes,
                    None => uniform.is_some_and(|mask| is_low_mask(region, mask)),
                };
                match known.map(|mask| mask & bits_of_lanes) {
                    _ if is_filled => (LaneRewrite::LowBits, IndexShape::Strided),
                    None | Some(0) => (LaneRewrite::DropsLanes, IndexShape::Uniform),
                    _ => return None,
                }
            }
            Op::Xor | Op::Or if known.is_none_or(|bits| bits & bits_of_lanes == 0) => {
                (LaneRewrite::KeepsLanes, IndexShape::Strided)
            }
            Op::Lshr | Op::Ashr
                if at == 0 && known.is_none_or(|amount| amount >= lanes.trailing_zeros().into()) =>
            {
                (LaneRewrite::Shift, IndexShape::Uniform)
            }
            Op::UsubSat if at == 0 => (LaneRewrite::Difference, IndexShape::Strided),
            Op::Zext => (LaneRewrite::Extension { is_signed: false }, IndexShape::Strided),
            Op::Sext => (LaneRewrite::Extension { is_signed: true }, IndexShape::Strided),
            Op::Umin | Op::Smin | Op::Umax | Op::Smax => {
                let predicate = match data.op {
                    Op::Umin => IntPredicate::Ule,
                    Op::Smin => IntPredicate::Sle,
                    Op::Umax => IntPredicate::Uge,
                    _ => IntPredicate::Sge,
                };
                (LaneRewrite::Chosen { arm: data.args[at], predicate }, IndexShape::Strided)
            }
            _ => return None,
        };
        let uniform = uniform.filter(|_| data.args.len() == 2);
        self.add(RewriteCandidate { inst, rewrite, steps: data.args[at], uniform });
        Some(shape)
    }

    /// How most brushes decide a comparison of an index with a uniform number: below a variable, above a constant, and not equal.
    fn decision(&self, region: &Function, condition: Value) -> Option<UsualDecision> {
        let comparison = region.inst(region.def_inst(condition)?);
        let (&Detail::IntCompare(predicate), &[a, b]) = (&comparison.detail, &comparison.args[..]) else {
            return None;
        };
        let orders = [(a, b, predicate), (b, a, predicate.swapped())];
        let is_of_index = |&(index, bound, _): &(Value, Value, IntPredicate)| {
            let scalar = region.value_type(index).scalar();
            let shapes = [self.shape(region, index), self.shape(region, bound)];
            let is_wide = scalar.is_int() && scalar.bits() >= MIN_BITS;
            is_wide && shapes == [Some(IndexShape::Strided), Some(IndexShape::Uniform)]
        };
        let (steps, uniform, predicate) = orders.into_iter().find(is_of_index)?;
        let is_above = region.unsigned_constant(uniform).is_some();
        use IntPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let holds = match predicate {
            Ne => true,
            Eq => false,
            Sge | Sgt | Uge | Ugt => is_above,
            Sle | Slt | Ule | Ult => !is_above,
        };
        let predicate = if holds { predicate } else { predicate.negated() };
        Some(UsualDecision { steps, uniform, predicate, holds })
    }

    fn add(&mut self, candidate: RewriteCandidate) {
        self.of[candidate.inst] = Some(self.candidates.len());
        self.candidates.push(candidate);
    }
}

/// Matches a sign extension by two shifts. Returns its source and the number of bits cut off.
fn match_sign_extension(region: &Function, inst: Inst) -> Option<(Value, u32)> {
    let data = region.inst(inst);
    let &[shifted, amount] = &data.args[..] else { return None };
    if data.op != Op::Ashr {
        return None;
    }
    let shift = region.inst(region.def_inst(shifted)?);
    let is_pair = shift.op == Op::Shl && shift.args[1] == amount;
    let cut = region.unsigned_constant(amount)?;
    let left = u128::from(region.value_type(amount).scalar().bits()).checked_sub(cut)?;
    (is_pair && left >= MIN_BITS.into()).then(|| (shift.args[0], cut as u32))
}

/// True if a uniform operation may be recomputed before the region.
fn is_cheap(region: &Function, data: &InstData) -> bool {
    match data.op {
        Op::Add | Op::Sub | Op::Mul | Op::Shl | Op::Lshr | Op::Ashr | Op::And | Op::Or | Op::Xor => true,
        Op::Trunc | Op::Zext | Op::Sext | Op::Umin | Op::Umax | Op::Smin | Op::Smax => true,
        Op::UsubSat => true,
        Op::Udiv | Op::Urem => region.unsigned_constant(data.args[1]).is_some_and(|by| by != 0),
        _ => false,
    }
}

/// True if a mask is computed by an idiom for low-bit masks: `s - 1`, `~(-1 << k)`.
fn is_low_mask(region: &Function, mask: Value) -> bool {
    let Some(inst) = region.def_inst(mask) else { return false };
    let data = region.inst(inst);
    let is_by = |number: i128| region.signed_constant(data.args[1]) == Some(number);
    match data.op {
        Op::Add | Op::Xor => is_by(-1),
        Op::Sub => is_by(1),
        Op::Zext | Op::Sext | Op::Trunc => is_low_mask_of(region, data.args[0]),
        _ => false,
    }
}

/// [`is_low_mask`] for the source of a conversion.
fn is_low_mask_of(region: &Function, value: Value) -> bool {
    let op = region.def_inst(value).map(|inst| region.inst(inst).op);
    matches!(op, Some(Op::Add | Op::Sub | Op::Xor)) && is_low_mask(region, value)
}
