//! State of the function being generated: insertion point, facts about values, and values available here.

use super::GeneratorProfile;
use super::random::Random;
use super::ssa::{GeneratedSsa, GeneratedVariable};
use heddle_ir::module::Declaration;
use heddle_ir::words::{FloatPredicate, IntPredicate};
use heddle_ir::{
    Block, Builder, Constant, Detail, Function, InsertPoint, Inst, InstData, Op, Scalar, Space, Type, Value,
};
use std::sync::Arc;

/// Value that dominates the insertion point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Temp {
    pub(super) value: Value,
    pub(super) scalar: Scalar,
    /// When it was defined, counted in definitions.
    pub(super) time: u32,
    /// True if the value is proved not to be poison.
    pub(super) clean: bool,
    /// True if the value tends to be uniform; not a proof.
    pub(super) uniform: bool,
}

/// A variable of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct VariableSlot {
    pub(super) variable: GeneratedVariable,
    pub(super) scalar: Scalar,
    /// True if only non-poison values are written to it.
    pub(super) clean: bool,
    /// True if only uniform values are written to it, under uniform control flow.
    pub(super) uniform: bool,
}

/// Lanes that may access a [`MemoryRegion`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// Read by all lanes, written by none.
    ReadOnly,
    /// Read and written by this lane alone, shared memory all the same.
    Own,
    /// Private to the lane.
    Private,
    /// Read and written by every lane.
    Racy,
}

/// Memory that the function may access through a pointer.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryRegion {
    pub(super) pointer: Value,
    pub(super) space: Space,
    pub(super) scalar: Scalar,
    /// Number of elements, a power of two.
    pub(super) len: u32,
    pub(super) reach: Reach,
    /// The parameter, alloca or global that the pointer is known to point into.
    pub(super) base: Option<Value>,
    pub(super) time: u32,
    /// True if no byte is poison.
    pub(super) clean: bool,
}

/// Loop over arrays: an element and its neighbours in each iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// Counts the iterations, at most [`WALKED`].
    pub(super) counter: VariableSlot,
    /// Start index, at most 7.
    pub(super) from: Option<VariableSlot>,
    /// Region mostly iterated over.
    pub(super) place: MemoryRegion,
}

/// Elements of a region that a walk needs: 7 before the first, iterations, neighbours.
pub(super) const WALKED: u32 = 16;

/// Constraint on the value to pick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ValueConstraint {
    pub(super) clean: bool,
    pub(super) uniform: bool,
}

impl ValueConstraint {
    /// Anything.
    pub(super) const ANY: ValueConstraint = ValueConstraint { clean: false, uniform: false };
    /// Not poison.
    pub(super) const CLEAN: ValueConstraint = ValueConstraint { clean: true, uniform: false };
    /// Not poison, and intended to be uniform.
    pub(super) const UNIFORM: ValueConstraint = ValueConstraint { clean: true, uniform: true };

    fn accepts(self, clean: bool, uniform: bool) -> bool {
        (clean || !self.clean) && (uniform || !self.uniform)
    }
}

/// Loop around the insertion point.
#[derive(Clone, Copy, Debug)]
pub(super) struct EnclosingLoop {
    pub(super) id: u32,
    pub(super) leave: Block,
    pub(super) again: Block,
}

/// Target of jumps that has not been placed yet.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) block: Block,
    /// When the first jump to it was written.
    pub(super) time: u32,
    /// Loops in which it may be placed: a prefix of these.
    pub(super) loops: Vec<u32>,
}

/// A function that may be called.
#[derive(Clone, Debug)]
pub(super) struct CallableFunction {
    pub(super) declaration: Arc<Declaration>,
    /// Region that each parameter's argument must point to.
    pub(super) places: Vec<Option<(Space, Scalar, u32, Reach)>>,
    /// A bound on how often it executes blocks.
    pub(super) cost: u32,
}

/// Constructs that this function may contain.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct AllowedFeatures {
    pub(super) control: bool,
    pub(super) horizontals: bool,
    pub(super) atomics: bool,
    pub(super) privates: bool,
    pub(super) gotos: bool,
    pub(super) nests: bool,
    pub(super) webs: bool,
    pub(super) calls: bool,
    pub(super) returns: bool,
    pub(super) unreachable: bool,
    pub(super) queries: bool,
    pub(super) memory: bool,
    pub(super) fmuladd: bool,
    /// True if lane numbers may be queried.
    pub(super) lanes: bool,
    /// True if two parameters, or a parameter and a global, may point to one object.
    pub(super) aliases: bool,
}

/// The function being written.
#[derive(Debug)]
pub(super) struct FunctionGenerator<'a> {
    pub(super) random: &'a mut Random,
    pub(super) profile: &'a GeneratorProfile,
    pub(super) func: Function,
    pub(super) ssa: GeneratedSsa,
    pub(super) slots: Vec<VariableSlot>,
    pub(super) pool: Vec<Temp>,
    pub(super) places: Vec<MemoryRegion>,
    /// Numbers that all lanes may add to.
    pub(super) counters: Vec<Value>,
    pub(super) known: &'a [CallableFunction],
    pub(super) allowed: AllowedFeatures,
    pub(super) loops: Vec<EnclosingLoop>,
    pub(super) walks: Vec<Walk>,
    pub(super) labels: Vec<Label>,
    pub(super) results: Vec<Scalar>,
    /// Block of the insertion point; `None` after a terminator.
    pub(super) here: Option<Block>,
    /// Statements left to write.
    pub(super) budget: i32,
    /// Bound on the executions of the current insertion point.
    pub(super) weight: u32,
    /// A bound on how often the function executes statements.
    pub(super) cost: u32,
    /// Number of divergent branches around the insertion point.
    pub(super) divergence: u32,
    pub(super) depth: u32,
    pub(super) clock: u32,
    pub(super) next_loop: u32,
    /// True if the schedule may change the function's result.
    pub(super) order_dependent: bool,
    /// Percentage of phases before which some work-items exit.
    pub(super) exits: u32,
    /// True if some work-items exit before a barrier.
    pub(super) exited: bool,
}

impl<'a> FunctionGenerator<'a> {
    /// Starts to write a function, in its entry block.
    pub(super) fn new(
        random: &'a mut Random,
        profile: &'a GeneratorProfile,
        func: Function,
        known: &'a [CallableFunction],
        allowed: AllowedFeatures,
        budget: i32,
    ) -> FunctionGenerator<'a> {
        let results = func.signature.results.iter().map(|result| result.ty.scalar()).collect();
        let mut writer = FunctionGenerator {
            random,
            profile,
            func,
            ssa: GeneratedSsa::default(),
            slots: Vec::new(),
            pool: Vec::new(),
            places: Vec::new(),
            counters: Vec::new(),
            known,
            allowed,
            loops: Vec::new(),
            walks: Vec::new(),
            labels: Vec::new(),
            results,
            here: None,
            budget,
            weight: 1,
            cost: 0,
            divergence: 0,
            depth: 0,
            clock: 0,
            next_loop: 0,
            order_dependent: false,
            exits: 0,
            exited: false,
        };
        let entry = writer.func.new_block();
        writer.start(entry);
        writer.ssa.seal(&mut writer.func, entry);
        writer
    }

    // Blocks.

    /// Returns the block of the insertion point.
    pub(super) fn block(&self) -> Block {
        self.here.expect("the function goes on here")
    }

    /// Goes on in this block.
    pub(super) fn start(&mut self, block: Block) {
        self.func.layout.append_block(block);
        self.here = Some(block);
    }

    /// Says that no more jumps to the block will come.
    pub(super) fn seal(&mut self, block: Block) {
        self.ssa.seal(&mut self.func, block);
    }

    /// Goes on in a new block that is sealed: all jumps to it are written.
    pub(super) fn start_sealed(&mut self, block: Block) {
        self.start(block);
        self.seal(block);
    }

    /// Ends the block with a jump.
    pub(super) fn jump(&mut self, target: Block) {
        self.ssa.add_edge(self.block(), target);
        self.put(InstData::jump(target), None);
        self.here = None;
    }

    /// Ends the block with a branch.
    pub(super) fn branch(&mut self, condition: Value, then: Block, otherwise: Block) {
        let block = self.block();
        self.ssa.add_edge(block, then);
        self.ssa.add_edge(block, otherwise);
        let mut data = InstData::branch(condition, then, otherwise);
        if self.random.chance(6) {
            let weights = [self.random.between(0, 100), self.random.between(1, 100)];
            if let Detail::Branch(_, counts) = &mut data.detail {
                *counts = Some(Box::new(weights));
            }
        }
        self.put(data, None);
        self.here = None;
    }

    /// Remembers what may be used here; [`leave_scope`](Self::leave_scope) forgets what came later.
    pub(super) fn scope(&self) -> u32 {
        self.clock
    }

    /// Forgets the values that were defined since.
    pub(super) fn leave_scope(&mut self, time: u32) {
        self.pool.truncate(self.pool.partition_point(|temp| temp.time < time));
        self.places.truncate(self.places.partition_point(|place| place.time < time));
    }

    // Instructions.

    /// Puts an instruction at the end of the block.
    pub(super) fn put(&mut self, data: InstData, written: Option<Type>) -> Inst {
        let at = InsertPoint::End(self.block());
        Builder::new(&mut self.func, at).inst(data, written)
    }

    /// Puts an instruction with one result, which may be picked from now on.
    pub(super) fn define(
        &mut self,
        data: InstData,
        written: Option<Scalar>,
        clean: bool,
        uniform: bool,
    ) -> Temp {
        let inst = self.put(data, written.map(Type::Scalar));
        let value = self.func.result(inst).expect("the instruction gives one value");
        self.temp(value, clean, uniform)
    }

    /// Appends an operation on these operands; the result is clean and uniform if they are.
    pub(super) fn op(&mut self, op: Op, operands: &[Temp]) -> Temp {
        let (clean, uniform) = joint(operands);
        self.define(InstData::plain(op, operands.iter().map(|temp| temp.value)), None, clean, uniform)
    }

    /// As `op`, for ops with a written result type.
    pub(super) fn op_to(&mut self, op: Op, to: Scalar, operands: &[Temp]) -> Temp {
        let (clean, uniform) = joint(operands);
        self.define(InstData::plain(op, operands.iter().map(|temp| temp.value)), Some(to), clean, uniform)
    }

    /// Puts a comparison of integers.
    pub(super) fn icmp(&mut self, predicate: IntPredicate, a: Temp, b: Temp) -> Temp {
        let (clean, uniform) = joint(&[a, b]);
        let data = InstData::new(Op::Icmp, [a.value, b.value], Detail::IntCompare(predicate));
        self.define(data, None, clean, uniform)
    }

    /// Puts a comparison of floats.
    pub(super) fn fcmp(&mut self, predicate: FloatPredicate, a: Temp, b: Temp) -> Temp {
        let (clean, uniform) = joint(&[a, b]);
        let data = InstData::new(Op::Fcmp, [a.value, b.value], Detail::FloatCompare(predicate));
        self.define(data, None, clean, uniform)
    }

    /// Appends an operation with an integer constant as its right operand.
    pub(super) fn op_int(&mut self, op: Op, a: Temp, b: i128) -> Temp {
        let b = self.int(a.scalar, b);
        self.op(op, &[a, b])
    }

    /// Makes a value one that may be picked.
    pub(super) fn temp(&mut self, value: Value, clean: bool, uniform: bool) -> Temp {
        let scalar = self.func.value_type(value).scalar();
        let temp = Temp { value, scalar, time: self.clock, clean, uniform };
        self.clock += 1;
        self.pool.push(temp);
        temp
    }

    /// Marks the temp as not poison, for a reason that its operands do not show.
    pub(super) fn proved(&mut self, temp: Temp) -> Temp {
        let proved = Temp { clean: true, ..temp };
        if let Some(entry) = self.pool.iter_mut().rev().find(|entry| entry.value == temp.value) {
            *entry = proved;
        }
        proved
    }

    // Constants.

    /// A constant, which is clean and uniform.
    pub(super) fn constant(&mut self, constant: Constant) -> Temp {
        let scalar = constant.ty().scalar();
        let clean = !matches!(constant, Constant::Poison(_));
        let value = self.func.make_const(constant);
        Temp { value, scalar, time: 0, clean, uniform: true }
    }

    /// An integer.
    pub(super) fn int(&mut self, scalar: Scalar, value: i128) -> Temp {
        self.constant(Constant::int(scalar, value))
    }

    /// Returns a poison constant.
    pub(super) fn poison(&mut self, scalar: Scalar) -> Temp {
        self.constant(Constant::Poison(scalar.into()))
    }

    /// A constant that is worth a try.
    pub(super) fn any_constant(&mut self, scalar: Scalar) -> Temp {
        let bits = interesting_bits(self.random, scalar);
        self.constant(Constant::Scalar(scalar, bits))
    }

    // Variables.

    /// Declares a variable with its first value.
    pub(super) fn declare(&mut self, first: Temp, clean: bool, uniform: bool) -> VariableSlot {
        let variable = self.ssa.declare(first.scalar.into());
        let slot = VariableSlot { variable, scalar: first.scalar, clean, uniform };
        self.ssa.write(variable, self.block(), first.value);
        slot
    }

    /// Reads the variable at the insertion point.
    pub(super) fn read(&mut self, slot: VariableSlot) -> Temp {
        let block = self.block();
        let value = self.ssa.read(&mut self.func, slot.variable, block);
        let clean = slot.clean;
        Temp { value, scalar: slot.scalar, time: self.clock, clean, uniform: slot.uniform }
    }

    /// Sets the variable.
    pub(super) fn write(&mut self, slot: VariableSlot, value: Temp) {
        assert!(value.clean || !slot.clean, "{} may be poison", value.value);
        let block = self.block();
        self.ssa.write(slot.variable, block, value.value);
    }

    // Picking.

    /// Picks a value of this type that satisfies the constraint: a recent one, a variable's, a constant, or a new one.
    pub(super) fn pick(&mut self, scalar: Scalar, want: ValueConstraint) -> Temp {
        if self.random.chance(12) {
            return self.any_constant(scalar);
        }
        self.pick_known(scalar, want)
    }

    /// Picks a second operand different from the first, unless nothing else is available.
    pub(super) fn pick_second(&mut self, first: Temp, want: ValueConstraint) -> Temp {
        for _ in 0..3 {
            let second = self.pick(first.scalar, want);
            if second.value != first.value {
                return second;
            }
        }
        self.any_constant(first.scalar)
    }

    /// As `pick`, but falls back to a constant only if nothing else is available.
    pub(super) fn pick_known(&mut self, scalar: Scalar, want: ValueConstraint) -> Temp {
        if self.random.chance(45)
            && let Some(temp) = self.pick_variable(scalar, want)
        {
            return temp;
        }
        let mut fallback = None;
        for index in (0..self.pool.len()).rev() {
            let temp = self.pool[index];
            if temp.scalar == scalar && want.accepts(temp.clean, temp.uniform) {
                if self.random.chance(45) {
                    return temp;
                }
                fallback = Some(temp);
            }
        }
        if let Some(temp) = fallback {
            return temp;
        }
        if let Some(temp) = self.pick_variable(scalar, want) {
            return temp;
        }
        self.convert_into(scalar, want).unwrap_or_else(|| self.any_constant(scalar))
    }

    fn pick_variable(&mut self, scalar: Scalar, want: ValueConstraint) -> Option<Temp> {
        let count = self.slots.len();
        if count == 0 {
            return None;
        }
        let first = self.random.below(count);
        let slot = (0..count)
            .map(|index| self.slots[(first + index) % count])
            .find(|slot| slot.scalar == scalar && want.accepts(slot.clean, slot.uniform))?;
        Some(self.read(slot))
    }

    /// Any number that is as wanted.
    pub(super) fn pick_number(&mut self, want: ValueConstraint) -> Temp {
        for _ in 0..4 {
            let len = self.pool.len().min(12);
            if len == 0 {
                break;
            }
            let temp = self.pool[self.pool.len() - 1 - self.random.below(len)];
            if !temp.scalar.is_ptr() && want.accepts(temp.clean, temp.uniform) {
                return temp;
            }
        }
        let scalar = number_type(self.random);
        self.pick_variable(scalar, want).unwrap_or_else(|| self.any_constant(scalar))
    }

    fn convert_into(&mut self, scalar: Scalar, want: ValueConstraint) -> Option<Temp> {
        if scalar.is_ptr() {
            return None;
        }
        let from = self
            .pool
            .iter()
            .rev()
            .find(|temp| !temp.scalar.is_ptr() && want.accepts(temp.clean, temp.uniform))
            .copied()?;
        Some(self.convert(from, scalar))
    }

    /// The value in another type; defined if it is.
    pub(super) fn convert(&mut self, from: Temp, to: Scalar) -> Temp {
        let signed = self.random.chance(50);
        let (from_bits, to_bits) = (from.scalar.bits(), to.bits());
        match (from.scalar.is_int(), to.is_int()) {
            _ if from.scalar == to => from,
            (true, true) if from_bits > to_bits => self.op_to(Op::Trunc, to, &[from]),
            (true, true) if signed => self.op_to(Op::Sext, to, &[from]),
            (true, true) => self.op_to(Op::Zext, to, &[from]),
            (true, false) if signed => self.op_to(Op::Sitofp, to, &[from]),
            (true, false) => self.op_to(Op::Uitofp, to, &[from]),
            (false, true) if signed => self.op_to(Op::FptosiSat, to, &[from]),
            (false, true) => self.op_to(Op::FptouiSat, to, &[from]),
            (false, false) if from_bits > to_bits => self.op_to(Op::Fptrunc, to, &[from]),
            (false, false) if from_bits < to_bits => self.op_to(Op::Fpext, to, &[from]),
            (false, false) => {
                let wide = self.op_to(Op::Fpext, Scalar::F32, &[from]);
                self.op_to(Op::Fptrunc, to, &[wide])
            }
        }
    }
}

/// Returns whether all operands are clean, and whether all are uniform.
pub(super) fn joint(operands: &[Temp]) -> (bool, bool) {
    (operands.iter().all(|temp| temp.clean), operands.iter().all(|temp| temp.uniform))
}

/// A type of numbers, the common ones more often.
pub(super) fn number_type(random: &mut Random) -> Scalar {
    random.weighted(&[
        (Scalar::I32, 40),
        (Scalar::F32, 18),
        (Scalar::I64, 10),
        (Scalar::I8, 7),
        (Scalar::I16, 6),
        (Scalar::F64, 7),
        (Scalar::I1, 4),
        (Scalar::I128, 3),
        (Scalar::F16, 3),
        (Scalar::BF16, 3),
    ])
}

/// Picks an integer type of at least eight bits.
pub(super) fn int_type(random: &mut Random) -> Scalar {
    random.weighted(&[
        (Scalar::I32, 50),
        (Scalar::I64, 15),
        (Scalar::I8, 12),
        (Scalar::I16, 12),
        (Scalar::I128, 6),
    ])
}

/// A floating-point type.
pub(super) fn float_type(random: &mut Random) -> Scalar {
    random.weighted(&[(Scalar::F32, 50), (Scalar::F64, 20), (Scalar::F16, 12), (Scalar::BF16, 12)])
}

/// The number of explicit mantissa bits.
pub(super) fn mantissa_bits(scalar: Scalar) -> u32 {
    match scalar {
        Scalar::F16 => 10,
        Scalar::BF16 => 7,
        Scalar::F32 => 23,
        _ => 52,
    }
}

/// The bits of a small whole number, which every format holds exactly.
pub(super) fn float_bits(scalar: Scalar, number: i32) -> u128 {
    let sign = u128::from(number < 0) << (scalar.bits() - 1);
    let magnitude = u128::from(number.unsigned_abs());
    if magnitude == 0 {
        return sign;
    }
    let mantissa = mantissa_bits(scalar);
    let bias = (1u128 << (scalar.bits() - 2 - mantissa)) - 1;
    let exponent = magnitude.ilog2();
    assert!(exponent <= mantissa, "{number} has too many bits for {scalar}");
    let fraction = (magnitude << (mantissa - exponent)) & ((1 << mantissa) - 1);
    sign | (bias + u128::from(exponent)) << mantissa | fraction
}

/// A quiet NaN.
pub(super) fn nan_bits(scalar: Scalar) -> u128 {
    let mantissa = mantissa_bits(scalar);
    (scalar.bit_mask() >> 1) & !((1 << (mantissa - 1)) - 1)
}

/// A value's bits: corner cases often, small numbers often, anything sometimes. NaNs are quiet.
pub(super) fn interesting_bits(random: &mut Random, scalar: Scalar) -> u128 {
    let mask = scalar.bit_mask();
    if scalar.is_float() {
        let mantissa = mantissa_bits(scalar);
        let infinity = (mask >> 1) & !((1 << mantissa) - 1);
        let sign = u128::from(random.chance(40)) << (scalar.bits() - 1);
        let bias = (1u128 << (scalar.bits() - 2 - mantissa)) - 1;
        return match random.below(16) {
            0 => sign,
            1 => sign | infinity,
            2 => nan_bits(scalar),
            3 => sign | (random.wide_bits() & ((1 << mantissa) - 1)),
            4 => sign | (infinity - 1),
            5..=9 => float_bits(scalar, random.below(20) as i32 - 6),
            _ => {
                let exponent = bias - 3 + random.below(8) as u128;
                sign | exponent << mantissa | (random.wide_bits() & ((1 << mantissa) - 1))
            }
        };
    }
    let value = match random.below(16) {
        0 | 1 => 0,
        2 => u128::MAX,
        3 => mask >> 1,
        4 => (mask >> 1) + 1,
        5..=12 => random.below(17) as u128,
        13 => (random.below(200) as u128).wrapping_sub(100),
        _ => random.wide_bits(),
    };
    value & mask
}
