//! Adds a fast version of a region for brushes whose index arithmetic is uniform or strided.
//!
//! ```text
//!     x % s, x / s        lanes are in one block of s work-items         x₀ % s + lane, x₀ / s
//!     x & m, x >> k       brushes begin at multiples of their lanes      x₀ & m, x₀ >> k
//!     x & (2ⁿ - 1)        lanes are in one block of 2ⁿ work-items        (x₀ & m) + lane
//!     x ^ j, x | j        and j has no bit among those of lanes          (x₀ ^ j) + lane
//!     zext x, sext x, …   no lane of the brush wraps around              zext x₀ + lane
//!     min(x, u), …        all lanes choose x                             x₀ + lane
//!     x < u ? x + 1 : x   all lanes choose x + 1                         x₀ + 1 + lane
//!     zext (x < u)        x is below u in all lanes                      1
//! ```
//!
//! The left column is the operation, the middle one its condition, the right one the replacement. Here `x` is `x₀ + lane`, and
//! the other operand is uniform. Both are computed from the region's parameters, so a block before the region tests the
//! conditions once per brush. In the fast version addresses are contiguous, conditions uniform, and divisions scalar.
//!
//! Divisions in loops over work-items have conditions of their own ([`super::strided_loops`]).
//!
//! Each condition is frozen on its own: it is poison only where its operation is.

use super::strided_loops::{LoopDivision, StridedLoops};
use crate::block_copier::BlockCopier;
use crate::widen::VersioningPolicy;
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, divergence};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::diagnostic::{AccessLowering, DiagnosticLocation};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{DeclaredShape, Effects};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Block, Constant, Diagnostic, Function, Inst, Op, Scalar, Type, Value, ValueDef};

/// Maximum size of a region that gets a fast version.
const MAX_INSTRUCTIONS: usize = 600;
/// Maximum size if only extensions might wrap: each access tests those anyway.
const MAX_INSTRUCTIONS_FOR_EXTENSIONS: usize = 200;
/// Minimum index width: narrower integers may not hold all lane numbers.
const MIN_BITS: u32 = 16;
/// Maximum number of conditions of a version.
const MAX_CONDITIONS: usize = 12;

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
enum LaneRewrite {
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
    /// An extension of a condition that all lanes decide alike: their indices compare like this with the uniform operand, and it holds or not.
    Decided { predicate: IntPredicate, holds: bool },
}

/// Instruction to rewrite, with its strided and its uniform operand.
#[derive(Clone, Copy, Debug)]
struct RewriteCandidate {
    inst: Inst,
    rewrite: LaneRewrite,
    steps: Value,
    uniform: Option<Value>,
}

/// Comparison of an index with a uniform number, as most brushes decide it.
struct UsualDecision {
    steps: Value,
    uniform: Value,
    /// Predicate that holds in all lanes.
    predicate: IntPredicate,
    /// True if the comparison itself holds then.
    holds: bool,
}

impl RewriteCandidate {
    /// The values that its condition and its replacement are computed from.
    fn operands(&self) -> impl Iterator<Item = Value> {
        let arm = match self.rewrite {
            LaneRewrite::Chosen { arm, .. } => Some(arm),
            _ => None,
        };
        [Some(self.steps), self.uniform, arm].into_iter().flatten()
    }
}

/// Adds a fast version to a region if it may make addresses contiguous. Returns a remark for each access that gains.
pub(super) fn add_fast_version(
    region: &mut Function,
    brush: &[u32],
    versions: VersioningPolicy,
) -> Vec<Diagnostic> {
    let lanes = brush[0];
    if versions == VersioningPolicy::None || lanes < 2 || !lanes.is_power_of_two() {
        return Vec::new();
    }
    let blocks: Vec<Block> = region.blocks().collect();
    let count = blocks.iter().map(|&block| region.block_insts(block).count()).sum::<usize>();
    if count > MAX_INSTRUCTIONS || may_wait(region) {
        return Vec::new();
    }
    if RewriteCandidates::new(region, lanes).is_empty() {
        return Vec::new();
    }
    // Simplification exposes the sources of extensions, which determine whether they wrap.
    crate::simplify(region);
    let blocks: Vec<Block> = region.blocks().collect();
    let found = RewriteCandidates::new(region, lanes);
    let (mut chosen, mut divisions) = (found.candidates.clone(), found.divisions.clone());
    if versions == VersioningPolicy::Model {
        // `reach` contains the operands of these candidates, too.
        let reach = find_address_operands(region);
        let is_reached = |inst: Inst| region.results(inst).iter().any(|&it| reach.contains(it));
        chosen.retain(|candidate| is_reached(candidate.inst));
        divisions.retain(|division| is_reached(division.inst));
    }
    let is_extension = |it: &RewriteCandidate| match it.rewrite {
        LaneRewrite::Extension { .. } | LaneRewrite::SignedLowBits { .. } | LaneRewrite::Frozen => true,
        LaneRewrite::LowBits => it.uniform.is_some_and(|mask| region.constant(mask).is_some()),
        _ => false,
    };
    let gains = versions == VersioningPolicy::Force
        || !divisions.is_empty()
        || !chosen.iter().all(is_extension)
        || count <= MAX_INSTRUCTIONS_FOR_EXTENSIONS && wraps_around(region, &chosen, brush);
    let number = chosen.len() + divisions.len();
    if number == 0 || number > MAX_CONDITIONS || !gains {
        return Vec::new();
    }
    let made = VersionBuilder::new(region, &found, lanes).write(&blocks, &chosen, &divisions);
    let rewritten = chosen.iter().map(|it| it.inst).chain(divisions.iter().map(|it| it.inst));
    let remark = remarks(region, rewritten);
    *region = made;
    remark
}

/// Returns remarks for the accesses whose addresses depend on rewritten instructions.
fn remarks(region: &Function, rewritten: impl Iterator<Item = Inst>) -> Vec<Diagnostic> {
    let mut users: SecondaryMap<Value, Vec<Inst>> = SecondaryMap::new();
    for inst in region.blocks().flat_map(|block| region.block_insts(block)) {
        region.inst(inst).args.iter().for_each(|&arg| users[arg].push(inst));
    }
    let mut reached: EntitySet<Value> = EntitySet::new();
    let mut work: Vec<Value> = rewritten.filter_map(|inst| region.result(inst)).collect();
    while let Some(value) = work.pop() {
        if reached.insert(value) {
            let passing = users[value].iter().filter(|&&user| region.inst(user).op != Op::Load);
            work.extend(passing.flat_map(|&user| region.results(user)));
        }
    }
    let insts = region.blocks().flat_map(|block| region.block_insts(block));
    let accesses = insts.filter_map(|inst| {
        let data = region.inst(inst);
        let (is_store, address) = match data.op {
            Op::Load => (false, data.args[0]),
            Op::Store => (true, data.args[1]),
            _ => return None,
        };
        let remark = Diagnostic::access(AccessLowering {
            accesses: 1,
            is_store,
            objects: region.describe_object(address).into_iter().collect(),
            lowering: "strided in the fast version of its region".into(),
            condition: "the lanes' indices are in one block".into(),
            is_wrap_test: false,
            is_chosen: true,
            costs: None,
        });
        let remark = remark.at(DiagnosticLocation::line_of(region, inst));
        reached.contains(address).then_some(remark)
    });
    accesses.collect()
}

/// True if some result may wrap without the conditions. True for irreducible control flow, where divergence is unknown.
fn wraps_around(region: &Function, chosen: &[RewriteCandidate], brush: &[u32]) -> bool {
    if chosen.is_empty() {
        return false;
    }
    let control = ControlTables::new(region);
    if !control.cycles.is_graph_reducible() {
        return true;
    }
    let initial = InitialShapes::declared(region, Geometry::brush(brush));
    let facts = divergence(region, &control, &initial);
    let steps = |result: Value| facts.shape(result).strides().is_some();
    chosen.iter().any(|candidate| region.result(candidate.inst).is_some_and(|result| !steps(result)))
}

/// True if lanes may wait for each other in a loop. Lanes then proceed one by one, and none represents the others.
fn may_wait(region: &Function) -> bool {
    region.blocks().flat_map(|block| region.block_insts(block)).any(|inst| {
        let data = region.inst(inst);
        let calls = region.callee_of(data).is_some_and(|callee| callee.signature.effects != Effects::PURE);
        calls || data.is_ordered()
    })
}

/// Returns the values that addresses are computed from.
fn find_address_operands(region: &Function) -> EntitySet<Value> {
    let mut reach: EntitySet<Value> = EntitySet::new();
    let mut work: Vec<Value> = Vec::new();
    for inst in region.blocks().flat_map(|block| region.block_insts(block)) {
        let data = region.inst(inst);
        match data.op {
            Op::Load | Op::AtomicRmw | Op::CompareExchange => work.push(data.args[0]),
            Op::Store => work.push(data.args[1]),
            _ => {}
        }
    }
    while let Some(value) = work.pop() {
        if !reach.insert(value) {
            continue;
        }
        if let Some(inst) = region.def_inst(value)
            && !matches!(region.inst(inst).op, Op::Load | Op::Call | Op::Phi)
        {
            work.extend(region.inst(inst).args.iter().copied());
        }
    }
    reach
}

/// Shapes of values and the instructions that could be rewritten under a condition.
struct RewriteCandidates {
    shapes: SecondaryMap<Value, Option<IndexShape>>,
    candidates: Vec<RewriteCandidate>,
    /// Candidate index of an instruction.
    of: SecondaryMap<Inst, Option<usize>>,
    /// Divisions in loops, apart from the candidates.
    divisions: Vec<LoopDivision>,
}

impl RewriteCandidates {
    fn new(region: &Function, lanes: u32) -> RewriteCandidates {
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

    fn is_empty(&self) -> bool {
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

pub(super) struct VersionBuilder<'a> {
    pub(super) old: &'a Function,
    found: &'a RewriteCandidates,
    pub(super) lanes: u32,
    pub(super) func: Function,
    /// Block that tests the conditions.
    entry: Block,
    /// Values computed before the region: uniform ones, and lane 0's of strided ones.
    bases: SecondaryMap<Value, Option<Value>>,
    /// Safe divisors, by original divisor and signedness.
    divisors: Vec<(Value, bool, Value)>,
}

impl<'a> VersionBuilder<'a> {
    fn new(old: &'a Function, found: &'a RewriteCandidates, lanes: u32) -> VersionBuilder<'a> {
        let mut func = Function::new(old.name.clone(), old.signature.clone());
        func.kind = old.kind;
        let entry = func.append_block();
        VersionBuilder {
            old,
            found,
            lanes,
            func,
            entry,
            bases: SecondaryMap::with_len(old.value_count()),
            divisors: Vec::new(),
        }
    }

    fn write(
        mut self,
        blocks: &[Block],
        chosen: &[RewriteCandidate],
        divisions: &[LoopDivision],
    ) -> Function {
        self.make_bases(chosen, divisions);
        let mut all: Option<Value> = None;
        let mut known: Vec<(LaneRewrite, Value, Option<Value>)> = Vec::new();
        for candidate in chosen {
            let RewriteCandidate { rewrite, steps, uniform, .. } = *candidate;
            if rewrite == LaneRewrite::Frozen {
                continue;
            }
            // A remainder and its quotient share one condition.
            let launch_params = match rewrite {
                LaneRewrite::Quotient { is_signed } => LaneRewrite::Remainder { is_signed },
                other => other,
            };
            if known.contains(&(launch_params, steps, uniform)) {
                continue;
            }
            known.push((launch_params, steps, uniform));
            let holds = self.condition(candidate);
            all = Some(self.and_frozen(all, holds));
        }
        let loops = self.add_loops(divisions, &mut all);
        let rewritten: Vec<(Inst, Value)> =
            chosen.iter().map(|candidate| (candidate.inst, self.rewritten(candidate))).collect();
        let holds = all.unwrap_or_else(|| self.func.make_bool(true));
        // A frozen value may differ between lanes, so lane 0 decides.
        let holds = self.emit(Op::First, &[holds], Flags::NONE);
        let fast = self.copy(blocks, &rewritten, &loops);
        let slow = self.copy(blocks, &[], &StridedLoops::default());
        Builder::new(&mut self.func, InsertPoint::End(self.entry)).branch(holds, fast, slow);
        self.func
    }

    /// Freezes a condition and adds it to others.
    pub(super) fn and_frozen(&mut self, others: Option<Value>, holds: Value) -> Value {
        let holds = self.emit(Op::Freeze, &[holds], Flags::NONE);
        others.map_or(holds, |others| self.emit(Op::And, &[others, holds], Flags::NONE))
    }

    /// Returns lane 0's value before the region, frozen.
    pub(super) fn frozen_base(&mut self, value: Value) -> Value {
        let base = self.base(value);
        let frozen = self.emit(Op::Freeze, &[base], Flags::NONE);
        self.emit(Op::First, &[frozen], Flags::NONE)
    }

    /// Emits the test that a value is a multiple of the number of lanes, and not 0 if it is a divisor of at least 1.
    pub(super) fn is_multiple_of_lanes(&mut self, value: Value) -> Value {
        let scalar = self.func.value_type(value).scalar();
        let bits = self.func.make_int(scalar, i128::from(self.lanes) - 1);
        let low = self.emit(Op::And, &[value, bits], Flags::NONE);
        let zero = self.func.make_int(scalar, 0);
        self.compare(IntPredicate::Eq, low, zero)
    }

    /// Computes the operands of conditions and rewritten operations before the region.
    fn make_bases(&mut self, chosen: &[RewriteCandidate], divisions: &[LoopDivision]) {
        let mut needed: EntitySet<Value> = EntitySet::new();
        let mut work: Vec<Value> = chosen.iter().flat_map(RewriteCandidate::operands).collect();
        for LoopDivision { index, by, .. } in divisions {
            work.extend([index.start, index.step, *by].into_iter().chain(index.bound));
        }
        while let Some(value) = work.pop() {
            if !needed.insert(value) {
                continue;
            }
            let Some(inst) = self.old.def_inst(value) else { continue };
            match self.found.of[inst] {
                Some(number) => work.extend(self.found.candidates[number].operands()),
                None => work.extend(self.old.inst(inst).args.iter().copied()),
            }
        }
        for (&old, &new) in self.old.params().iter().zip(self.func.params().to_vec().iter()) {
            if !needed.contains(old) {
                continue;
            }
            self.bases[old] = Some(match self.found.shapes[old] {
                Some(IndexShape::Strided) => {
                    let lane = self.lane(self.old.value_type(old).scalar());
                    self.emit(Op::Sub, &[new, lane], Flags::NONE)
                }
                _ => new,
            });
        }
        let insts: Vec<Inst> = self.old.blocks().flat_map(|block| self.old.block_insts(block)).collect();
        for inst in insts {
            let Some(result) = self.old.result(inst).filter(|&it| needed.contains(it)) else { continue };
            let base = match self.found.of[inst] {
                Some(number) => self.base_of(&self.found.candidates[number]),
                None => {
                    let data = self.old.inst(inst).clone();
                    let args: Vec<Value> = data.args.iter().map(|&arg| self.base(arg)).collect();
                    let is_step = self.found.shapes[result] == Some(IndexShape::Strided);
                    let op = if data.op == Op::Zext && is_step { Op::Sext } else { data.op };
                    self.insert(InstData::plain(op, args), self.old.value_type(result))
                }
            };
            self.bases[result] = Some(base);
        }
    }

    /// Returns the value that represents `value` before the region.
    pub(super) fn base(&mut self, value: Value) -> Value {
        match (self.bases[value], self.old.constant(value)) {
            (Some(base), _) => base,
            (None, Some(constant)) => self.func.make_const(constant.clone()),
            (None, None) => self.func.make_poison(self.old.value_type(value)),
        }
    }

    /// Returns lane 0's result of a rewritten operation.
    fn base_of(&mut self, candidate: &RewriteCandidate) -> Value {
        let RewriteCandidate { inst, rewrite, steps, uniform } = *candidate;
        if let LaneRewrite::Chosen { arm, .. } = rewrite {
            return self.base(arm);
        }
        let op = self.old.inst(inst).op;
        if let LaneRewrite::Decided { holds, .. } = rewrite {
            let number = match (holds, op) {
                (false, _) => 0,
                (true, Op::Sext) => -1,
                (true, _) => 1,
            };
            let ty = self.old.value_type(self.old.result(inst).expect("it gives a value"));
            return self.func.make_int(ty.scalar(), number);
        }
        let first = self.base(steps);
        let ty = self.old.value_type(self.old.result(inst).expect("it gives a value"));
        if rewrite == LaneRewrite::Frozen {
            // One frozen value for all lanes.
            let frozen = self.emit(Op::Freeze, &[first], Flags::NONE);
            return self.emit(Op::First, &[frozen], Flags::NONE);
        }
        if let LaneRewrite::SignedLowBits { cut } = rewrite {
            let cut = self.func.make_int(ty.scalar(), cut.into());
            let shifted = self.emit(Op::Shl, &[first, cut], Flags::NONE);
            return self.emit(Op::Ashr, &[shifted, cut], Flags::NONE);
        }
        let Some(uniform) = uniform else {
            return self.insert(InstData::plain(op, [first]), ty);
        };
        let mut other = self.base(uniform);
        if let LaneRewrite::Remainder { is_signed } | LaneRewrite::Quotient { is_signed } = rewrite {
            other = self.divisor(other, is_signed);
        }
        self.emit(op, &[first, other], Flags::NONE)
    }

    /// Returns a divisor that is replaced by 1 where the fast version does not divide by it.
    pub(super) fn divisor(&mut self, by: Value, is_signed: bool) -> Value {
        if self.func.constant(by).is_some() {
            return by;
        }
        let known = self.divisors.iter().find(|&&(old, signed, _)| (old, signed) == (by, is_signed));
        if let Some(&(_, _, divisor)) = known {
            return divisor;
        }
        let scalar = self.func.value_type(by).scalar();
        let one = self.func.make_int(scalar, 1);
        let predicate = if is_signed { IntPredicate::Sge } else { IntPredicate::Uge };
        let frozen = self.emit(Op::Freeze, &[by], Flags::NONE);
        let frozen = self.emit(Op::First, &[frozen], Flags::NONE);
        let divides = self.compare(predicate, frozen, one);
        let divisor = self.emit(Op::Select, &[divides, frozen, one], Flags::NONE);
        self.divisors.push((by, is_signed, divisor));
        divisor
    }

    /// Emits the condition under which a candidate may be rewritten.
    fn condition(&mut self, candidate: &RewriteCandidate) -> Value {
        let first = self.base(candidate.steps);
        let scalar = self.func.value_type(first).scalar();
        let reach = i128::from(self.lanes) - 1;
        let other = candidate.uniform.map(|uniform| self.base(uniform));
        match (candidate.rewrite, other) {
            (LaneRewrite::Extension { is_signed }, _) => self.is_below_end(first, is_signed),
            (LaneRewrite::Remainder { is_signed } | LaneRewrite::Quotient { is_signed }, Some(by)) => {
                let (least, below) = match is_signed {
                    true => (IntPredicate::Sge, IntPredicate::Sle),
                    false => (IntPredicate::Uge, IntPredicate::Ule),
                };
                let fits = self.is_below_end(first, is_signed);
                let lanes = self.func.make_int(scalar, self.lanes.into());
                let is_wide = self.compare(least, by, lanes);
                let divisor = self.divisor(by, is_signed);
                let remainder = if is_signed { Op::Srem } else { Op::Urem };
                let rest = self.emit(remainder, &[first, divisor], Flags::NONE);
                let last = self.emit(Op::Sub, &[by, lanes], Flags::NONE);
                let is_within = self.compare(below, rest, last);
                let mut all = self.emit(Op::And, &[fits, is_wide], Flags::NONE);
                all = self.emit(Op::And, &[all, is_within], Flags::NONE);
                if is_signed {
                    let zero = self.func.make_int(scalar, 0);
                    let is_positive = self.compare(IntPredicate::Sge, first, zero);
                    all = self.emit(Op::And, &[all, is_positive], Flags::NONE);
                }
                all
            }
            (LaneRewrite::Shift, Some(amount)) => {
                let is_aligned = self.is_multiple_of_lanes(first);
                let bits = self.func.make_int(scalar, self.lanes.trailing_zeros().into());
                let drops = self.compare(IntPredicate::Uge, amount, bits);
                self.emit(Op::And, &[is_aligned, drops], Flags::NONE)
            }
            (LaneRewrite::KeepsLanes | LaneRewrite::DropsLanes, Some(mask)) => {
                let is_aligned = self.is_multiple_of_lanes(first);
                let has_none = self.is_multiple_of_lanes(mask);
                self.emit(Op::And, &[is_aligned, has_none], Flags::NONE)
            }
            (LaneRewrite::LowBits, Some(mask)) => {
                let [zero, one, reach] = [0, 1, reach].map(|number| self.func.make_int(scalar, number));
                let next = self.emit(Op::Add, &[mask, one], Flags::NONE);
                let both = self.emit(Op::And, &[mask, next], Flags::NONE);
                let is_filled = self.compare(IntPredicate::Eq, both, zero);
                let is_wide = self.compare(IntPredicate::Uge, mask, reach);
                let last = self.emit(Op::Sub, &[mask, reach], Flags::NONE);
                let low = self.emit(Op::And, &[first, mask], Flags::NONE);
                let fits = self.compare(IntPredicate::Ule, low, last);
                let all = self.emit(Op::And, &[is_filled, is_wide], Flags::NONE);
                self.emit(Op::And, &[all, fits], Flags::NONE)
            }
            (LaneRewrite::SignedLowBits { cut }, _) => {
                let number = self.base_of(candidate);
                let greatest = (scalar.bit_mask() >> 1 >> cut) - u128::from(self.lanes - 1);
                let last = self.func.make_const(Constant::Scalar(scalar, greatest));
                self.compare(IntPredicate::Sle, number, last)
            }
            (LaneRewrite::Chosen { predicate, .. } | LaneRewrite::Decided { predicate, .. }, Some(bound)) => {
                self.all_compare(first, predicate, bound)
            }
            (LaneRewrite::Frozen, _) => self.func.make_bool(true),
            (_, None) => self.func.make_bool(false),
        }
    }

    /// Emits the test that the indices of all lanes compare in this way with a number, given lane 0's.
    fn all_compare(&mut self, first: Value, predicate: IntPredicate, bound: Value) -> Value {
        let scalar = self.func.value_type(first).scalar();
        use IntPredicate::{Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        // The distance has no sign: below the number it is exact, and where lanes pass the end of the type it is small.
        let least = match predicate {
            Ne | Slt | Ult => self.lanes,
            Sle | Ule => self.lanes - 1,
            Sgt | Sge | Ugt | Uge => {
                let is_signed = matches!(predicate, Sgt | Sge);
                let compares = self.compare(predicate, first, bound);
                let fits = self.is_below_end(first, is_signed);
                return self.emit(Op::And, &[compares, fits], Flags::NONE);
            }
            IntPredicate::Eq => return self.func.make_bool(false),
        };
        let distance = self.emit(Op::Sub, &[bound, first], Flags::NONE);
        let least = self.func.make_int(scalar, least.into());
        let is_apart = self.compare(Uge, distance, least);
        if predicate == Ne {
            return is_apart;
        }
        let compares = self.compare(predicate, first, bound);
        self.emit(Op::And, &[compares, is_apart], Flags::NONE)
    }

    /// Emits the test that no lane wraps, given lane 0's value.
    fn is_below_end(&mut self, first: Value, is_signed: bool) -> Value {
        let scalar = self.func.value_type(first).scalar();
        let end = if is_signed { scalar.bit_mask() >> 1 } else { scalar.bit_mask() };
        let last = self.func.make_const(Constant::Scalar(scalar, end - u128::from(self.lanes - 1)));
        let predicate = if is_signed { IntPredicate::Sle } else { IntPredicate::Ule };
        self.compare(predicate, first, last)
    }

    /// Returns the replacement for a candidate's result in each lane.
    fn rewritten(&mut self, candidate: &RewriteCandidate) -> Value {
        let result = self.old.result(candidate.inst).expect("what is rewritten gives a value");
        // A `freeze` must be evaluated only once.
        let base = match self.bases[result] {
            Some(base) => base,
            None => self.base_of(candidate),
        };
        let flags = match candidate.rewrite {
            LaneRewrite::Frozen if self.found.shapes[result] == Some(IndexShape::Uniform) => return base,
            LaneRewrite::Frozen | LaneRewrite::Chosen { .. } => Flags::NONE,
            LaneRewrite::Quotient { .. }
            | LaneRewrite::DropsLanes
            | LaneRewrite::Shift
            | LaneRewrite::Decided { .. } => return base,
            LaneRewrite::Remainder { is_signed: false } | LaneRewrite::LowBits => Flags::of(&[Flag::Nuw]),
            LaneRewrite::Extension { is_signed: true } => Flags::of(&[Flag::Nsw]),
            _ => Flags::of(&[Flag::Nuw, Flag::Nsw]),
        };
        let lane = self.lane(self.func.value_type(base).scalar());
        self.emit(Op::Add, &[base, lane], flags)
    }

    /// Copies the region's blocks with these replacements. Returns the entry of the copy.
    fn copy(&mut self, blocks: &[Block], rewritten: &[(Inst, Value)], loops: &StridedLoops) -> Block {
        let mut copier = BlockCopier::new(self.old);
        for (&old, &new) in self.old.params().iter().zip(self.func.params().to_vec().iter()) {
            copier.set(&mut self.func, old, new);
        }
        copier.copy_blocks(&mut self.func, blocks);
        let mut instead: Vec<(Value, Value)> = Vec::new();
        for &(inst, value) in rewritten {
            let result = self.old.result(inst).expect("what is rewritten gives a value");
            instead.push((copier.value(&mut self.func, result), value));
        }
        for rewrite in &loops.divisions {
            for pair in self.rewrite_division(&mut copier, rewrite) {
                if !instead.contains(&pair) {
                    instead.push(pair);
                }
            }
        }
        let start = copier.block(blocks[0]).expect("all blocks were copied");
        let mut replaced: SecondaryMap<Value, Option<Value>> =
            SecondaryMap::with_len(self.func.value_count());
        instead.iter().for_each(|&(from, to)| replaced[from] = Some(to));
        let copies: Vec<Block> = blocks.iter().filter_map(|&block| copier.block(block)).collect();
        for &block in &copies {
            self.func.map_values_of_block(block, |value| replaced[value].unwrap_or(value));
        }
        for rewrite in &loops.indices {
            self.rewrite_loop(&mut copier, rewrite);
        }
        for (from, _) in instead {
            if let ValueDef::Result(inst, _) = self.func.value_def(from) {
                self.func.remove_inst(inst);
            }
        }
        // Allocas belong to the entry block.
        let objects: Vec<Inst> =
            self.func.block_insts(start).filter(|&inst| self.func.inst(inst).op == Op::Alloca).collect();
        for inst in objects.into_iter().rev() {
            self.func.layout.remove_inst(inst);
            self.func.layout.prepend_inst(inst, self.entry);
        }
        start
    }

    /// Emits the lane number along the first dimension.
    pub(super) fn lane(&mut self, scalar: Scalar) -> Value {
        let data = InstData::new(Op::Lane, [], Detail::Dimension(Some(0)));
        self.insert(data, scalar.into())
    }

    fn insert(&mut self, data: InstData, to: Type) -> Value {
        let is_written = matches!(data.op.info().gives, heddle_ir::ops::ResultConstraint::Written(_));
        Builder::new(&mut self.func, InsertPoint::End(self.entry)).value(data, is_written.then_some(to))
    }

    pub(super) fn emit(&mut self, op: Op, args: &[Value], flags: Flags) -> Value {
        Builder::new(&mut self.func, InsertPoint::End(self.entry)).op_with(op, args, flags)
    }

    pub(super) fn compare(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        Builder::new(&mut self.func, InsertPoint::End(self.entry)).icmp(predicate, a, b)
    }
}
