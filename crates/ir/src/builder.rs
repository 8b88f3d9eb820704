//! Builder: inserts instructions at a position and computes their types.

use crate::constant::Constant;
use crate::function::{Function, Origin};
use crate::inst::{Access, Detail, InstData};
use crate::ops::Op;
use crate::types::{Scalar, Type};
use crate::typing::{TypeError, result_types};
use crate::words::{Flags, IntPredicate};
use crate::{Block, Inst, Value};
use smallvec::SmallVec;

/// Insertion point of a builder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertPoint {
    /// At the end of the block.
    End(Block),
    /// At the start of the block.
    Start(Block),
    /// Before the instruction.
    Before(Inst),
    /// After the instruction.
    After(Inst),
}

/// Inserts instructions at its insertion point, in order.
#[derive(Debug)]
pub struct Builder<'f> {
    /// The function.
    pub func: &'f mut Function,
    at: InsertPoint,
    origin: Origin,
}

impl<'f> Builder<'f> {
    /// Creates a builder at an insertion point.
    pub fn new(func: &'f mut Function, at: InsertPoint) -> Builder<'f> {
        Builder { func, at, origin: Origin::NONE }
    }

    /// Moves the insertion point.
    pub fn set_insert_point(&mut self, at: InsertPoint) {
        self.at = at;
    }

    /// Sets the origin of the following instructions.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Inserts an instruction; `written` is the explicit type, for ops that have one.
    pub fn try_inst(&mut self, mut data: InstData, written: Option<Type>) -> Result<Inst, TypeError> {
        if data.origin == Origin::NONE {
            data.origin = self.origin;
        }
        let operands: SmallVec<[Type; 4]> = data.args.iter().map(|&arg| self.func.value_type(arg)).collect();
        let callee = self.func.callee_of(&data).cloned();
        let results = result_types(&data, &operands, written, callee.as_deref())?;
        let inst = self.func.make_inst(data, &results);
        match self.at {
            InsertPoint::End(block) => self.func.layout.append_inst(inst, block),
            InsertPoint::Start(block) => self.func.layout.prepend_inst(inst, block),
            InsertPoint::Before(next) => self.func.layout.insert_inst_before(inst, next),
            InsertPoint::After(prev) => self.func.layout.insert_inst_after(inst, prev),
        }
        if !matches!(self.at, InsertPoint::End(_) | InsertPoint::Before(_)) {
            self.at = InsertPoint::After(inst);
        }
        Ok(inst)
    }

    /// Inserts an instruction. Panics if the operands are ill-typed, which is a bug in the calling pass.
    pub fn inst(&mut self, data: InstData, written: Option<Type>) -> Inst {
        match self.try_inst(data, written) {
            Ok(inst) => inst,
            Err(error) => panic!("in @{}: {error}", self.func.name),
        }
    }

    /// Inserts an instruction with exactly one result and returns it.
    pub fn value(&mut self, data: InstData, written: Option<Type>) -> Value {
        let inst = self.inst(data, written);
        self.func.result(inst).expect("the instruction gives one value")
    }

    /// Inserts an operation whose type follows from its operands.
    pub fn op(&mut self, op: Op, args: &[Value]) -> Value {
        self.value(InstData::plain(op, args.iter().copied()), None)
    }

    /// Inserts an operation with flags.
    pub fn op_with(&mut self, op: Op, args: &[Value], flags: Flags) -> Value {
        self.value(InstData { flags, ..InstData::plain(op, args.iter().copied()) }, None)
    }

    /// Inserts an operation with an explicit result type, such as a cast.
    pub fn op_to(&mut self, op: Op, to: Type, args: &[Value]) -> Value {
        self.value(InstData::plain(op, args.iter().copied()), Some(to))
    }

    /// Inserts an `icmp`.
    pub fn icmp(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        self.value(InstData::new(Op::Icmp, [a, b], Detail::IntCompare(predicate)), None)
    }

    /// Inserts a `select`.
    pub fn select(&mut self, condition: Value, then: Value, otherwise: Value) -> Value {
        self.op(Op::Select, &[condition, then, otherwise])
    }

    /// Inserts a φ.
    pub fn phi(&mut self, ty: Type, incoming: &[(Block, Value)], shadow: Option<Value>) -> Value {
        self.value(InstData::phi(incoming.iter().copied(), shadow), Some(ty))
    }

    /// Inserts a non-atomic load.
    pub fn load(&mut self, ty: Type, address: Value, align: u32) -> Value {
        self.value(InstData::new(Op::Load, [address], Detail::Access(Access::aligned(align))), Some(ty))
    }

    /// Inserts a non-atomic store.
    pub fn store(&mut self, value: Value, address: Value, align: u32) -> Inst {
        self.inst(InstData::new(Op::Store, [value, address], Detail::Access(Access::aligned(align))), None)
    }

    /// Inserts `br target`.
    pub fn jump(&mut self, target: Block) -> Inst {
        self.inst(InstData::jump(target), None)
    }

    /// Inserts `br condition, then, otherwise`.
    pub fn branch(&mut self, condition: Value, then: Block, otherwise: Block) -> Inst {
        self.inst(InstData::branch(condition, then, otherwise), None)
    }

    /// Inserts a `ret`.
    pub fn ret(&mut self, values: &[Value]) -> Inst {
        self.inst(InstData::plain(Op::Ret, values.iter().copied()), None)
    }

    /// Interns an integer constant.
    pub fn int(&mut self, scalar: Scalar, value: i128) -> Value {
        self.func.make_const(Constant::int(scalar, value))
    }
}
