//! Representation of each value of a linear function: scalar or vector.
//!
//! A scalar holds lane 0's value; the other lanes may differ by constant steps. The operations decide this, with an
//! optimistic fixed point over loops: at stage Linear control flow is uniform, so a φ of scalars is a scalar.
//! Divergence facts help where they are stronger:
//!
//! * a load from a uniform address is uniform;
//! * a private object may serve all lanes;
//! * an operation on lane 0's operands computes lane 0's result, and the result's shape gives the steps. This requires
//!   that lane 0 is active, and that neither an operand nor the result is poison for lane 0 only.
//!
//! Private objects with a copy for each lane become one array, so their addresses step from lane to lane although they
//! are uniform in the source. Values derived from such an address are *rebased*: facts about their numbers don't hold
//! in the wide function, and they must not reach other lanes. A query that needs one result for all lanes uses the
//! first lane's.

use super::WidenContext;
use super::private_objects::{PrivateObjects, derived_values, propagates};
use super::worklist::InstWorklist;
use heddle_analysis::shape::{Poison, Steps};
use heddle_analysis::{Divergence, Shape};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::inst::Detail;
use heddle_ir::module::{DeclaredShape, FunctionKind};
use heddle_ir::ops::Effect;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::{Flag, IntPredicate};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Space, Type, Value, ValueDef};

/// Representation of a value in the wide function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ValueRep {
    /// Scalar with lane 0's value. Lanes step from it along each dimension of the brush, modulo the width.
    Scalar(Steps<i64>),
    /// Vector with an element for each lane.
    Vector,
}

impl ValueRep {
    /// Scalar that all lanes share.
    pub(super) const UNIFORM: ValueRep = ValueRep::Scalar([0; MAX_DIMENSIONS]);
}

/// Representations of all values of a function.
#[derive(Debug)]
pub(super) struct ValueReps {
    reps: SecondaryMap<Value, Option<ValueRep>>,
    rebased: EntitySet<Value>,
    brush: [u32; MAX_DIMENSIONS],
}

impl ValueReps {
    /// Computes the representation of every value.
    pub(super) fn new(
        func: &Function,
        worklist: &InstWorklist,
        facts: &Divergence,
        brush: [u32; MAX_DIMENSIONS],
        objects: &PrivateObjects,
        context: &WidenContext<'_>,
    ) -> ValueReps {
        // A brush of one lane keeps its objects as they are.
        let rebased = match brush {
            [1, 1, 1, 1] => EntitySet::new(),
            _ => rebased(func, worklist, objects),
        };
        let mut solver = RepSolver {
            func,
            worklist,
            facts,
            brush,
            objects,
            context,
            reps: SecondaryMap::with_len(func.value_count()),
            rebased: &rebased,
        };
        for (&value, param) in func.params().iter().zip(&func.signature.params) {
            let shape = param.shape.as_ref();
            solver.reps[value] = Some(match (shape, func.kind) {
                (Some(DeclaredShape::Uniform), _) | (None, FunctionKind::Kernel(_)) => ValueRep::UNIFORM,
                (Some(DeclaredShape::Linear(strides)), _) => {
                    let mut steps = [0; MAX_DIMENSIONS];
                    steps.iter_mut().zip(strides).for_each(|(step, &stride)| *step = stride);
                    solver.scalar_rep(steps.map(i128::from), param.ty.scalar())
                }
                _ => ValueRep::Vector,
            });
        }
        worklist.solve(func, |block, inst| solver.update(block, inst));
        let reps = solver.reps;
        ValueReps { reps, rebased, brush }
    }

    /// Representation of a value; uniform if only poison reaches it.
    pub(super) fn of(&self, value: Value) -> ValueRep {
        self.reps[value].unwrap_or(ValueRep::UNIFORM)
    }

    /// True if the value is a scalar that all lanes share.
    pub(super) fn is_uniform(&self, value: Value) -> bool {
        self.of(value) == ValueRep::UNIFORM
    }

    /// Offset of each lane's value from lane 0's.
    pub(super) fn offsets(&self, steps: Steps<i64>) -> Vec<i128> {
        let [x, y, z, w] = self.brush.map(i128::from);
        let [along_x, along_y, along_z, along_w] = steps.map(i128::from);
        let mut offsets = Vec::with_capacity(self.brush.iter().product::<u32>() as usize);
        for l in 0..w {
            for k in 0..z {
                for j in 0..y {
                    let row = j * along_y + k * along_z + l * along_w;
                    offsets.extend((0..x).map(|i| i * along_x + row));
                }
            }
        }
        offsets
    }

    /// Constant step between neighbouring lanes, if there is one.
    pub(super) fn lane_step(&self, steps: Steps<i64>) -> Option<i64> {
        let offsets = self.offsets(steps);
        let step = offsets.get(1).copied().unwrap_or(0);
        let is_line = offsets.iter().zip(0i128..).all(|(&offset, lane)| offset == lane * step);
        is_line.then(|| i64::try_from(step).ok()).flatten()
    }

    /// True if the number of an address differs from its number in the source.
    pub(super) fn is_rebased(&self, value: Value) -> bool {
        self.rebased.contains(value)
    }
}

/// Addresses, and integers made from them, that depend on objects with a copy for each lane.
fn rebased(func: &Function, worklist: &InstWorklist, objects: &PrivateObjects) -> EntitySet<Value> {
    derived_values(func, worklist, EntitySet::new(), |inst, found| {
        let data = func.inst(inst);
        match data.op {
            Op::Alloca => objects.stride(inst) != 0,
            // Once such addresses are in memory, any load may return one.
            Op::Load => {
                let may_be = |it| may_be_private(func, it) || objects.integers_escape && is_int(func, it);
                objects.addresses_escape && func.result(inst).is_some_and(may_be)
            }
            Op::Shuffle | Op::Broadcast | Op::First => found.contains(data.args[0]),
            _ => propagates(func, inst, found),
        }
    })
}

fn is_int(func: &Function, value: Value) -> bool {
    func.value_type(value).scalar().is_int()
}

/// True if the value's type admits the address of a private object.
pub(crate) fn may_be_private(func: &Function, value: Value) -> bool {
    matches!(func.value_type(value), Type::Scalar(Scalar::Ptr(Space::Private | Space::Generic)))
}

/// Steps of the linear lane number along each dimension of the brush.
pub(super) fn steps_in_order(brush: [u32; MAX_DIMENSIONS]) -> Steps<i64> {
    std::array::from_fn(|dimension| brush[..dimension].iter().map(|&extent| i64::from(extent)).product())
}

struct RepSolver<'a> {
    func: &'a Function,
    worklist: &'a InstWorklist,
    facts: &'a Divergence,
    brush: [u32; MAX_DIMENSIONS],
    objects: &'a PrivateObjects,
    context: &'a WidenContext<'a>,
    reps: SecondaryMap<Value, Option<ValueRep>>,
    rebased: &'a EntitySet<Value>,
}

impl RepSolver<'_> {
    /// Updates the representations of an instruction's results; true if one changed.
    fn update(&mut self, block: Block, inst: Inst) -> bool {
        let mut changed = false;
        for index in 0..self.func.results(inst).len() {
            let result = self.func.results(inst)[index];
            let old = self.reps[result];
            if old == Some(ValueRep::Vector) {
                continue;
            }
            let found = self.result_rep(block, inst, index);
            let new = match (old, found) {
                (None, found) => found,
                (Some(old), Some(new)) if new == old => Some(old),
                (Some(old), None) => Some(old),
                _ => Some(ValueRep::Vector),
            };
            changed |= new != old;
            self.reps[result] = new;
        }
        changed
    }

    /// Representation of an operand; none if only poison has reached it.
    fn operand_rep(&self, value: Value) -> Option<ValueRep> {
        match self.func.value_def(value) {
            ValueDef::Const if matches!(self.func.constant(value), Some(Constant::Poison(_))) => None,
            ValueDef::Const => Some(ValueRep::UNIFORM),
            _ => self.reps[value],
        }
    }

    /// Scalar representation with these steps, reduced modulo the type's width; zero along dimensions of one lane.
    fn scalar_rep(&self, steps: Steps<i128>, scalar: Scalar) -> ValueRep {
        let bits = scalar.bits();
        let mut cut = [0; MAX_DIMENSIONS];
        for (dimension, &step) in steps.iter().enumerate() {
            if self.brush[dimension] <= 1 {
                continue;
            }
            let step = if bits < 128 { step << (128 - bits) >> (128 - bits) } else { step };
            match i64::try_from(step) {
                Ok(step) => cut[dimension] = step,
                Err(_) => return ValueRep::Vector,
            }
        }
        let is_number = scalar.is_ptr() || (scalar.is_int() && bits > 1);
        if cut == [0; MAX_DIMENSIONS] || is_number { ValueRep::Scalar(cut) } else { ValueRep::Vector }
    }

    fn result_rep(&self, block: Block, inst: Inst, index: usize) -> Option<ValueRep> {
        let data = self.func.inst(inst);
        let result = self.func.results(inst)[index];
        let scalar = self.func.value_type(result).scalar();
        match data.op {
            Op::Phi => {
                let reps = data.incoming().map(|(_, value)| self.operand_rep(value));
                return reps.flatten().reduce(|a, b| if a == b { a } else { ValueRep::Vector });
            }
            // Only the selected arm matters, so a uniform select merges like a φ.
            Op::Select if self.is_uniform(data.args[0]) => {
                let arms = data.args[1..].iter().map(|&arm| self.operand_rep(arm));
                return arms.flatten().reduce(|a, b| if a == b { a } else { ValueRep::Vector });
            }
            Op::Select => return Some(ValueRep::Vector),
            Op::Alloca => {
                let stride = i128::from(self.objects.stride(inst));
                let steps = steps_in_order(self.brush).map(|step| stride * i128::from(step));
                return Some(self.scalar_rep(steps, scalar));
            }
            Op::Load => return Some(self.load_rep(inst)),
            Op::Lane | Op::LocalId | Op::GlobalId => {
                let asks = |reader| reads_only_lane_0(self.func, reader);
                let is_lane_0_only = self.worklist.readers(result).all(asks);
                return Some(if is_lane_0_only {
                    ValueRep::UNIFORM
                } else {
                    self.strided_rep(result, scalar)
                });
            }
            Op::Mask => {
                let is_whole = self.func.predicate(block).is_none();
                return Some(if is_whole { ValueRep::UNIFORM } else { ValueRep::Vector });
            }
            Op::Any | Op::All | Op::Ballot | Op::Popcount | Op::Reduce | Op::Broadcast | Op::First => {
                return Some(ValueRep::UNIFORM);
            }
            Op::Shuffle | Op::Scan | Op::AtomicRmw | Op::CompareExchange => return Some(ValueRep::Vector),
            Op::Call => {
                let is_uniform = self.func.callee_of(data).is_some_and(|callee| {
                    let declared = callee.signature.results.get(index).and_then(|it| it.shape.as_ref());
                    let is_ours = self.context.defined.contains(&*callee.name);
                    declared == Some(&DeclaredShape::Uniform)
                        || (!is_ours && is_pure(callee) && data.args.iter().all(|&arg| self.is_uniform(arg)))
                });
                return Some(if is_uniform { ValueRep::UNIFORM } else { ValueRep::Vector });
            }
            _ => {}
        }
        if data.op.info().format == heddle_ir::ops::InstFormat::Dimension {
            return Some(ValueRep::UNIFORM);
        }
        // The remaining operations are lane-wise.
        let mut operands: smallvec::SmallVec<[Steps<i128>; 4]> = smallvec::SmallVec::new();
        let mut is_unknown = false;
        for &arg in &data.args {
            match self.operand_rep(arg) {
                None => {
                    is_unknown |= self.func.value_def(arg) != ValueDef::Const;
                    operands.push(Steps::default());
                }
                Some(ValueRep::Vector) => return Some(ValueRep::Vector),
                Some(ValueRep::Scalar(steps)) => operands.push(steps.map(i128::from)),
            }
        }
        if is_unknown {
            // A frozen poison is some value.
            return (data.op == Op::Freeze).then_some(ValueRep::UNIFORM);
        }
        if operands.iter().all(|steps| *steps == Steps::default()) {
            return Some(ValueRep::UNIFORM);
        }
        let found = self.linear_rep(inst, &operands, scalar).unwrap_or(ValueRep::Vector);
        Some(if found == ValueRep::Vector { self.rep_from_shape(inst, block, result, scalar) } else { found })
    }

    fn is_uniform(&self, value: Value) -> bool {
        matches!(self.operand_rep(value), None | Some(ValueRep::UNIFORM))
    }

    /// Representation of an operation that is linear modulo the width or only moves its operand; none for others.
    fn linear_rep(&self, inst: Inst, operands: &[Steps<i128>], scalar: Scalar) -> Option<ValueRep> {
        let data = self.func.inst(inst);
        let each = |op: fn(i128, i128) -> i128| {
            let [a, b] = [operands[0], operands[1]];
            self.scalar_rep(std::array::from_fn(|at| op(a[at], b[at])), scalar)
        };
        let number = |at: usize| self.func.signed_constant(data.args[at]);
        let from = self.func.value_type(data.args[0]).scalar();
        Some(match data.op {
            Op::Add => each(i128::wrapping_add),
            Op::Sub => each(i128::wrapping_sub),
            Op::PtrAdd if self.func.value_type(data.args[1]).scalar().bits() == 64 => {
                let scale: i128 = match self.objects.is_interleaved(data.args[0]) {
                    true => self.brush.iter().product::<u32>().into(),
                    false => 1,
                };
                let [from, by] = [operands[0], operands[1]];
                let sum = |at: usize| from[at].wrapping_add(by[at].wrapping_mul(scale));
                self.scalar_rep(std::array::from_fn(sum), scalar)
            }
            Op::PtrAdd if operands[1] == Steps::default() => self.scalar_rep(operands[0], scalar),
            Op::Mul => {
                let (steps, factor) = match (number(0), number(1)) {
                    (_, Some(factor)) => (operands[0], factor),
                    (Some(factor), _) => (operands[1], factor),
                    _ => return None,
                };
                self.scalar_rep(steps.map(|step| step.wrapping_mul(factor)), scalar)
            }
            Op::Shl => {
                let amount = number(1).filter(|&amount| (0..i128::from(scalar.bits())).contains(&amount))?;
                self.scalar_rep(operands[0].map(|step| step << amount), scalar)
            }
            Op::Trunc | Op::SpaceCast | Op::Freeze => self.scalar_rep(operands[0], scalar),
            Op::Bitcast if from == scalar => self.scalar_rep(operands[0], scalar),
            Op::Ptrtoint if scalar.bits() <= 64 => self.scalar_rep(operands[0], scalar),
            Op::Inttoptr if from.bits() == 64 => self.scalar_rep(operands[0], scalar),
            Op::Icmp if operands[0] == operands[1] => match data.detail {
                Detail::IntCompare(IntPredicate::Eq | IntPredicate::Ne) => ValueRep::UNIFORM,
                // Both addresses lie in one array.
                _ if data.args.iter().all(|&arg| self.rebased.contains(arg)) => ValueRep::UNIFORM,
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Representation derived from the result's shape, if lane 0's operands determine it.
    fn rep_from_shape(&self, inst: Inst, block: Block, result: Value, scalar: Scalar) -> ValueRep {
        let data = self.func.inst(inst);
        let whole = data.is_total() || self.func.predicate(block).is_none();
        let is_rebased = data.args.iter().any(|&arg| self.rebased.contains(arg));
        if !whole || is_rebased || !matches!(data.op.info().effect, Effect::Pure) {
            return ValueRep::Vector;
        }
        let may_be_poison = |value: Value| self.facts.fact(value).poison == Poison::Any;
        let speaks = |&arg: &Value| self.func.constant(arg).is_some() || !may_be_poison(arg);
        // The operation may create poison in lane 0 only. Poison-generating flags are dropped from scalars.
        let fails = may_create_poison(data.op) && may_be_poison(result);
        match self.facts.shape(result) {
            Shape::Strided { strides, .. } if !fails && data.args.iter().all(speaks) => {
                self.scalar_rep(strides.wide(), scalar)
            }
            _ => ValueRep::Vector,
        }
    }

    fn load_rep(&self, inst: Inst) -> ValueRep {
        let data = self.func.inst(inst);
        let is_atomic = data.access().is_some_and(|access| access.atomic.is_some());
        if is_atomic || data.flags.has(Flag::Volatile) {
            return ValueRep::Vector;
        }
        let address = data.args[0];
        match self.operand_rep(address) {
            None | Some(ValueRep::UNIFORM) => ValueRep::UNIFORM,
            _ if self.rebased.contains(address) => ValueRep::Vector,
            // In code that no lane runs, the shape of an address may contradict the operations that compute it.
            Some(ValueRep::Vector) if self.facts.shape(address).is_uniform() => ValueRep::UNIFORM,
            Some(_) => ValueRep::Vector,
        }
    }

    /// Representation of a work-item query: scalar if its shape is strided.
    fn strided_rep(&self, result: Value, scalar: Scalar) -> ValueRep {
        match self.facts.shape(result) {
            Shape::Strided { strides, .. } => self.scalar_rep(strides.wide(), scalar),
            _ => ValueRep::Vector,
        }
    }
}

/// True if the instruction reads only lane 0 of its first operand.
fn reads_only_lane_0(func: &Function, reader: Inst) -> bool {
    let data = func.inst(reader);
    let is_first = |lane: &Value| matches!(func.constant(*lane), Some(Constant::Scalar(_, 0)));
    data.op == Op::Broadcast && data.args.get(1).is_some_and(is_first)
}

/// True if some operands make the operation poison even without flags.
fn may_create_poison(op: Op) -> bool {
    matches!(op, Op::Shl | Op::Lshr | Op::Ashr | Op::Fptoui | Op::Fptosi)
}

/// True if a call has no effect and its result depends only on its arguments.
pub(super) fn is_pure(callee: &heddle_ir::module::Declaration) -> bool {
    callee.signature.effects == heddle_ir::module::Effects::PURE
}
