//! Recognizes reductions: sums and the like over all iterations.
//!
//! A reduction is a set of values from the header φ to its back-edge value. Each is computed from another one by the same operation,
//! or is a φ of some. The loop has no other use of them, so each lane may compute a partial result.

use heddle_ir::builder::Builder;
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::Effect;
use heddle_ir::words::{Flag, FloatPredicate, IntPredicate, Reduction};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Type, Value};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Users of each value within some blocks.
pub(super) struct LoopUses(SecondaryMap<Value, SmallVec<[Inst; 2]>>);

impl LoopUses {
    pub(super) fn new(func: &Function, blocks: &[Block]) -> LoopUses {
        let mut uses: SecondaryMap<Value, SmallVec<[Inst; 2]>> = SecondaryMap::new();
        for inst in blocks.iter().flat_map(|&block| func.block_insts(block)) {
            for &arg in &func.inst(inst).args {
                if uses[arg].last() != Some(&inst) {
                    uses[arg].push(inst);
                }
            }
        }
        LoopUses(uses)
    }

    fn of(&self, value: Value) -> &[Inst] {
        &self.0[value]
    }
}

/// Operation that combines partial results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReductionKind(Reduction);

impl ReductionKind {
    /// Returns the neutral element; none if the operation is idempotent.
    pub(super) fn neutral(self, scalar: Scalar) -> Option<Constant> {
        let float = |value: f64| Constant::Scalar(scalar, float_bits(scalar, value));
        Some(match self.0 {
            Reduction::Add | Reduction::Xor => Constant::int(scalar, 0),
            Reduction::Mul => Constant::int(scalar, 1),
            Reduction::Fadd => float(-0.0),
            Reduction::Fmul => float(1.0),
            _ => return None,
        })
    }

    /// Combines the lanes' partial results and the initial value.
    pub(super) fn combine(self, builder: &mut Builder<'_>, init: Value, lanes: Value) -> Value {
        if builder.func.value_type(lanes) == Type::I1 {
            match self.0 {
                Reduction::And => return builder.op(Op::All, &[lanes]),
                Reduction::Or => return builder.op(Op::Any, &[lanes]),
                _ => {}
            }
        }
        let mut data = InstData::new(Op::Reduce, [lanes], Detail::Reduce(self.0));
        if self.0.is_float() {
            data.flags = data.flags.with(Flag::Reassoc);
        }
        let all = builder.value(data, None);
        let op = match self.0 {
            Reduction::Add => Op::Add,
            Reduction::Xor => Op::Xor,
            Reduction::Mul => Op::Mul,
            Reduction::Fadd => Op::Fadd,
            Reduction::Fmul => Op::Fmul,
            _ => return all,
        };
        builder.op(op, &[init, all])
    }
}

fn float_bits(scalar: Scalar, value: f64) -> u128 {
    match scalar {
        Scalar::F64 => value.to_bits().into(),
        Scalar::F32 => (value as f32).to_bits().into(),
        // The upper half of an f32.
        Scalar::BF16 => u128::from((value as f32).to_bits() >> 16),
        // -0.0 and 1.0 of half precision.
        _ if value == 1.0 => 0x3c00,
        _ => 0x8000,
    }
}

/// Recognizes the reduction of a header φ. Returns the offending instruction if there is none.
pub(super) fn find_reduction(
    func: &Function,
    uses: &LoopUses,
    phi: Value,
    next: Value,
) -> Result<ReductionKind, Inst> {
    let at = func.def_inst(phi).expect("a φ defines it");
    let mut set: EntitySet<Value> = EntitySet::new();
    set.insert(phi);
    let mut work = vec![phi];
    let mut members: Vec<Inst> = Vec::new();
    let mut by: Option<Reduction> = None;
    let mut comparisons: Vec<Inst> = Vec::new();
    while let Some(value) = work.pop() {
        for &user in uses.of(value) {
            if user == at {
                continue;
            }
            let data = func.inst(user);
            let found = match data.op {
                Op::Phi => None,
                Op::Icmp | Op::Fcmp => {
                    comparisons.push(user);
                    continue;
                }
                Op::Select => extreme(func, user),
                _ => Some(combination(data, value).ok_or(user)?),
            };
            if let Some(found) = found {
                if by.is_some_and(|by| by != found) {
                    return Err(user);
                }
                by = Some(found);
            }
            let result = func.result(user).ok_or(user)?;
            if set.insert(result) {
                work.push(result);
                members.push(user);
            }
        }
    }
    for &member in &members {
        let data = func.inst(member);
        let is_whole = match data.op {
            Op::Phi => data.args.iter().all(|&arg| set.contains(arg)),
            Op::Select if extreme(func, member).is_some() => true,
            Op::Select => {
                !set.contains(data.args[0]) && set.contains(data.args[1]) && set.contains(data.args[2])
            }
            _ => data.args.iter().filter(|&&arg| set.contains(arg)).count() == 1,
        };
        if !is_whole {
            return Err(member);
        }
    }
    // A compared member may only select the minimum or maximum.
    for &comparison in &comparisons {
        let result = func.result(comparison).ok_or(comparison)?;
        let is_tested_here = |&user: &Inst| {
            func.inst(user).op == Op::Select
                && func.result(user).is_some_and(|value| set.contains(value))
                && extreme(func, user).is_some()
        };
        if !uses.of(result).iter().all(is_tested_here) {
            return Err(comparison);
        }
    }
    match by {
        Some(by) if set.contains(next) => Ok(ReductionKind(by)),
        _ => Err(at),
    }
}

/// Recognizes an `i1` that is a short-circuit `&&` or `||` over all iterations: once false (or true), it stays so.
pub(super) fn find_short_circuit(
    func: &Function,
    uses: &LoopUses,
    inside: &EntitySet<Block>,
    header: Block,
    phi: Value,
    next: Value,
) -> Option<ReductionKind> {
    if func.value_type(phi) != Type::I1 {
        return None;
    }
    let sticks = |kept: bool| stays(func, uses, inside, header, [phi, next], kept);
    match () {
        () if sticks(false) => Some(ReductionKind(Reduction::And)),
        () if sticks(true) => Some(ReductionKind(Reduction::Or)),
        () => None,
    }
}

/// True if an `i1` equal to `kept` at the start of an iteration is so at its end, and affects nothing else.
fn stays(
    func: &Function,
    uses: &LoopUses,
    inside: &EntitySet<Block>,
    header: Block,
    [phi, next]: [Value; 2],
    kept: bool,
) -> bool {
    // Edges that such an iteration may take.
    let mut edges: FxHashSet<(Block, Block)> = FxHashSet::default();
    let (mut reached, mut blocks) = (EntitySet::new(), vec![header]);
    reached.insert(header);
    while let Some(block) = blocks.pop() {
        let Some(end) = func.terminator(block) else { return false };
        let data = func.inst(end);
        let taken = match (data.op, &data.args[..], data.targets()) {
            (Op::Br, &[condition], &[then, otherwise]) if condition == phi => {
                &[if kept { then } else { otherwise }][..]
            }
            (_, _, targets) => targets,
        };
        for &target in taken.iter().filter(|&&target| inside.contains(target) && target != header) {
            edges.insert((block, target));
            if reached.insert(target) {
                blocks.push(target);
            }
        }
    }
    // All of these values must equal `kept`.
    let (mut seen, mut values) = (EntitySet::new(), vec![next]);
    while let Some(value) = values.pop() {
        let is_constant = func.constant(value).and_then(Constant::splat_bits) == Some(kept.into());
        if value == phi || is_constant || !seen.insert(value) {
            continue;
        }
        let Some(inst) = func.def_inst(value) else { return false };
        let Some(block) = func.layout.block_of(inst).filter(|&block| inside.contains(block)) else {
            return false;
        };
        let data = func.inst(inst);
        match (data.op, &data.args[..]) {
            (Op::Phi, _) => {
                let taken = data.incoming().filter(|&(from, _)| edges.contains(&(from, block)));
                values.extend(taken.map(|(_, incoming)| incoming));
            }
            (Op::Select, &[condition, then, otherwise]) if condition == phi => {
                values.push(if kept { then } else { otherwise });
            }
            (Op::Select, &[_, then, otherwise]) => values.extend([then, otherwise]),
            (Op::And, args) if !kept && args.contains(&phi) => {}
            (Op::Or, args) if kept && args.contains(&phi) => {}
            _ => return false,
        }
    }
    // No other value may observe the i1, and no skipped effect.
    let is_part = |inst: Inst| func.results(inst).iter().all(|&value| seen.contains(value));
    let others_ask = uses.of(phi).iter().any(|&user| func.inst(user).op != Op::Br && !is_part(user));
    if others_ask {
        return false;
    }
    inside.iter().filter(|&block| block != header).all(|block| {
        let is_skipped = !reached.contains(block);
        func.block_insts(block).all(|inst| {
            let data = func.inst(inst);
            match data.op.info().effect {
                Effect::Joins => {
                    is_skipped
                        || is_part(inst)
                        || data.incoming().all(|(from, _)| edges.contains(&(from, block)))
                }
                Effect::Pure | Effect::Reads | Effect::Terminator => true,
                _ => !is_skipped,
            }
        })
    })
}

/// Returns the reduction that an operation on a member performs.
fn combination(data: &InstData, member: Value) -> Option<Reduction> {
    let args = &data.args;
    let only = |index: usize| args.iter().position(|&arg| arg == member) == Some(index);
    Some(match data.op {
        Op::Add => Reduction::Add,
        Op::Sub if only(0) => Reduction::Add,
        Op::Mul => Reduction::Mul,
        Op::And => Reduction::And,
        Op::Or => Reduction::Or,
        Op::Xor => Reduction::Xor,
        Op::Umin => Reduction::Umin,
        Op::Umax => Reduction::Umax,
        Op::Smin => Reduction::Smin,
        Op::Smax => Reduction::Smax,
        Op::Fadd => Reduction::Fadd,
        Op::Fsub if only(0) => Reduction::Fadd,
        Op::Fma | Op::Fmuladd if only(2) => Reduction::Fadd,
        Op::Fmul => Reduction::Fmul,
        Op::Fmin => Reduction::Fmin,
        Op::Fmax => Reduction::Fmax,
        _ => return None,
    })
}

/// Returns the minimum or maximum that a `select` on a comparison computes.
fn extreme(func: &Function, select: Inst) -> Option<Reduction> {
    let data = func.inst(select);
    let &[condition, then, otherwise] = &data.args[..] else { return None };
    let comparison = func.inst(func.def_inst(condition)?);
    let &[left, right] = &comparison.args[..] else { return None };
    let is_straight = (left, right) == (then, otherwise);
    if !is_straight && (right, left) != (then, otherwise) {
        return None;
    }
    let (is_less, is_signed) = match comparison.detail {
        Detail::IntCompare(IntPredicate::Ult | IntPredicate::Ule) => (true, Some(false)),
        Detail::IntCompare(IntPredicate::Ugt | IntPredicate::Uge) => (false, Some(false)),
        Detail::IntCompare(IntPredicate::Slt | IntPredicate::Sle) => (true, Some(true)),
        Detail::IntCompare(IntPredicate::Sgt | IntPredicate::Sge) => (false, Some(true)),
        Detail::FloatCompare(
            FloatPredicate::Olt | FloatPredicate::Ole | FloatPredicate::Ult | FloatPredicate::Ule,
        ) => (true, None),
        Detail::FloatCompare(
            FloatPredicate::Ogt | FloatPredicate::Oge | FloatPredicate::Ugt | FloatPredicate::Uge,
        ) => (false, None),
        _ => return None,
    };
    Some(match (is_less == is_straight, is_signed) {
        (true, Some(false)) => Reduction::Umin,
        (false, Some(false)) => Reduction::Umax,
        (true, Some(true)) => Reduction::Smin,
        (false, Some(true)) => Reduction::Smax,
        (true, None) => Reduction::Fmin,
        (false, None) => Reduction::Fmax,
    })
}
