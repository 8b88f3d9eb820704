//! Building: a place in a function, and instructions that are typed as they are put there.

use crate::constant::Constant;
use crate::function::{Function, Origin};
use crate::inst::{Access, Detail, InstData};
use crate::ops::Op;
use crate::types::{Scalar, Type};
use crate::typing::{TypeError, result_types};
use crate::words::{Flags, IntPredicate};
use crate::{Block, Inst, Value};
use smallvec::SmallVec;

/// Where the next instruction goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertPoint {
    /// At the end of the block.
    End(Block),
    /// At the start of the block.
    Start(Block),
    /// Before the instruction.
    Before(Inst),
    /// Behind the instruction.
    After(Inst),
}

/// Puts instructions into a function one behind the other.
#[derive(Debug)]
pub struct Builder<'f> {
    /// The function.
    pub func: &'f mut Function,
    at: InsertPoint,
    origin: Origin,
}

impl<'f> Builder<'f> {
    /// Starts at this place.
    pub fn new(func: &'f mut Function, at: InsertPoint) -> Builder<'f> {
        Builder { func, at, origin: Origin::NONE }
    }

    /// Goes on at another place.
    pub fn set_insert_point(&mut self, at: InsertPoint) {
        self.at = at;
    }

    /// The origin of the instructions to come.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Puts an instruction here; `written` is the type that its text names, if it names one.
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

    /// Puts an instruction here. Panics where the operands are of wrong types: a pass's own mistake.
    pub fn inst(&mut self, data: InstData, written: Option<Type>) -> Inst {
        match self.try_inst(data, written) {
            Ok(inst) => inst,
            Err(error) => panic!("in @{}: {error}", self.func.name),
        }
    }

    /// Puts an instruction with one result here.
    pub fn value(&mut self, data: InstData, written: Option<Type>) -> Value {
        let inst = self.inst(data, written);
        self.func.result(inst).expect("the instruction gives one value")
    }

    /// An operation whose type follows from its operands.
    pub fn op(&mut self, op: Op, args: &[Value]) -> Value {
        self.value(InstData::plain(op, args.iter().copied()), None)
    }

    /// The same, with flags.
    pub fn op_with(&mut self, op: Op, args: &[Value], flags: Flags) -> Value {
        self.value(InstData { flags, ..InstData::plain(op, args.iter().copied()) }, None)
    }

    /// A conversion or another operation whose result type is written.
    pub fn op_to(&mut self, op: Op, to: Type, args: &[Value]) -> Value {
        self.value(InstData::plain(op, args.iter().copied()), Some(to))
    }

    /// A comparison of integers or addresses.
    pub fn icmp(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        self.value(InstData::new(Op::Icmp, [a, b], Detail::IntCompare(predicate)), None)
    }

    /// A choice.
    pub fn select(&mut self, condition: Value, then: Value, otherwise: Value) -> Value {
        self.op(Op::Select, &[condition, then, otherwise])
    }

    /// A φ.
    pub fn phi(&mut self, ty: Type, incoming: &[(Block, Value)], shadow: Option<Value>) -> Value {
        self.value(InstData::phi(incoming.iter().copied(), shadow), Some(ty))
    }

    /// A plain load.
    pub fn load(&mut self, ty: Type, address: Value, align: u32) -> Value {
        self.value(InstData::new(Op::Load, [address], Detail::Access(Access::aligned(align))), Some(ty))
    }

    /// A plain store.
    pub fn store(&mut self, value: Value, address: Value, align: u32) -> Inst {
        self.inst(InstData::new(Op::Store, [value, address], Detail::Access(Access::aligned(align))), None)
    }

    /// `br target`.
    pub fn jump(&mut self, target: Block) -> Inst {
        self.inst(InstData::jump(target), None)
    }

    /// `br condition, then, otherwise`.
    pub fn branch(&mut self, condition: Value, then: Block, otherwise: Block) -> Inst {
        self.inst(InstData::branch(condition, then, otherwise), None)
    }

    /// `ret`.
    pub fn ret(&mut self, values: &[Value]) -> Inst {
        self.inst(InstData::plain(Op::Ret, values.iter().copied()), None)
    }

    /// The integer constant of this type.
    pub fn int(&mut self, scalar: Scalar, value: i128) -> Value {
        self.func.make_const(Constant::int(scalar, value))
    }
}
