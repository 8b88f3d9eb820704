//! Memory operations by block, and alias analysis of addresses.
//!
//! Two accesses of one lane do not overlap if their address spaces differ, if they access different objects (private ones that do
//! not escape, globals, `noalias` parameters), or if their addresses are sums of the same values that no multiple brings
//! together. Between lanes only spaces and objects count, since the lanes' values differ.

use heddle_analysis::{AddressSum, ControlTables, underlying_object};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::ops::Effect;
use heddle_ir::types::{Scalar, Space, Type};
use heddle_ir::{Block, Constant, Detail, Function, Inst, Op, Value, ValueDef};

/// Effect of an instruction on memory.
#[derive(Clone, Debug)]
pub(super) enum MemoryEffect {
    /// Plain read of a value that another source may provide.
    Load { address: AddressSum, ty: Type, align: u32 },
    /// Write of a value.
    Store { address: AddressSum, ty: Type, value: Value },
    /// Write of a number of bytes; none is unknown.
    Fill { address: AddressSum, bytes: Option<u64> },
    /// Fence, or write to unknown memory: invalidates shared memory.
    Fence,
    /// Call that may not return: later code may not run.
    MayNotReturn,
}

/// Instruction with an effect on memory.
#[derive(Clone, Debug)]
pub(super) struct MemoryEntry {
    pub(super) inst: Inst,
    pub(super) effect: MemoryEffect,
}

/// Object that a pointer is based on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BaseObject {
    /// Private object.
    Alloca(Value),
    /// Global.
    Global(Value),
    /// Object that a parameter points to.
    Param(Value),
    /// Any object that has escaped.
    Unknown,
}

/// Memory operations of a function.
#[derive(Debug)]
pub(crate) struct MemoryTable {
    blocks: SecondaryMap<Block, Vec<MemoryEntry>>,
    /// Private objects whose addresses escape.
    escaped: EntitySet<Value>,
    /// All writes; none is unknown.
    written: Option<Vec<(AddressSum, u64)>>,
}

/// Maximum number of recorded writes.
const MAX_WRITES: usize = 32;

impl MemoryTable {
    pub(crate) fn new(func: &Function, control: &ControlTables) -> MemoryTable {
        let mut blocks = SecondaryMap::with_len(func.block_count());
        let mut written = Some(Vec::new());
        for &block in control.index.order() {
            let entries: Vec<MemoryEntry> =
                func.block_insts(block).filter_map(|inst| entry(func, inst)).collect();
            for entry in &entries {
                let write = match &entry.effect {
                    MemoryEffect::Load { .. } | MemoryEffect::MayNotReturn => continue,
                    MemoryEffect::Store { address, ty, .. } => Some((address.clone(), u64::from(ty.bytes()))),
                    MemoryEffect::Fill { address, bytes } => {
                        Some((address.clone(), bytes.unwrap_or(u64::MAX)))
                    }
                    MemoryEffect::Fence if writes(func, entry.inst) => None,
                    MemoryEffect::Fence => continue,
                };
                let known = written.as_mut().filter(|known| known.len() < MAX_WRITES);
                match known.zip(write) {
                    Some((known, write)) => known.push(write),
                    None => written = None,
                }
            }
            blocks[block] = entries;
        }
        MemoryTable { blocks, escaped: escaped(func, control), written }
    }

    /// Returns the memory operations of a block in order.
    pub(super) fn of(&self, block: Block) -> &[MemoryEntry] {
        &self.blocks[block]
    }

    /// Appends an instruction that was inserted at the end of a block.
    pub(super) fn append(&mut self, func: &Function, block: Block, inst: Inst) {
        self.blocks[block].extend(entry(func, inst));
    }

    /// True if an entry may change the memory at an address; with `observes_other_lanes`, also at other lanes' addresses.
    pub(super) fn changes(
        &self,
        func: &Function,
        entry: &MemoryEntry,
        address: &AddressSum,
        bytes: u64,
        observes_other_lanes: bool,
    ) -> bool {
        match &entry.effect {
            MemoryEffect::Load { .. } | MemoryEffect::MayNotReturn => false,
            MemoryEffect::Fence => !self.is_unescaped_private(func, address),
            MemoryEffect::Store { address: other, ty, .. } => {
                self.may_overlap(func, (address, bytes), (other, u64::from(ty.bytes())), observes_other_lanes)
            }
            MemoryEffect::Fill { address: other, bytes: length } => self.may_overlap(
                func,
                (address, bytes),
                (other, length.unwrap_or(u64::MAX)),
                observes_other_lanes,
            ),
        }
    }

    /// True if some lane may write, in this function, the memory at another lane's address.
    pub(super) fn is_written(&self, func: &Function, address: &AddressSum, bytes: u64) -> bool {
        let overlaps = |(other, length): &(AddressSum, u64)| {
            self.may_overlap(func, (address, bytes), (other, *length), true)
        };
        !is_private(func, address) && self.written.as_ref().is_none_or(|written| written.iter().any(overlaps))
    }

    /// True if an address is in a private object that does not escape.
    pub(super) fn is_unescaped_private(&self, func: &Function, address: &AddressSum) -> bool {
        matches!(object(func, address.root), BaseObject::Alloca(alloca) if !self.escaped.contains(alloca))
    }

    fn may_overlap(
        &self,
        func: &Function,
        (address, bytes): (&AddressSum, u64),
        (other, length): (&AddressSum, u64),
        observes_other_lanes: bool,
    ) -> bool {
        if self.are_apart(func, address, other, observes_other_lanes) {
            return false;
        }
        if observes_other_lanes && !is_private(func, address) || address.root != other.root {
            return true;
        }
        let distance = other.offset.wrapping_sub(address.offset);
        match address.term_stride(other) {
            // Both must fit between two multiples of `step`.
            Some(step) => {
                let step = step.unsigned_abs();
                let distance = distance as u64 % step;
                !(distance >= bytes && length <= step && distance <= step - length)
            }
            None if distance >= 0 => (distance as u64) < bytes,
            None => distance.unsigned_abs() < length,
        }
    }

    /// True if two addresses are in different spaces or objects; with `observes_other_lanes`, in any lanes.
    pub(crate) fn are_apart(
        &self,
        func: &Function,
        address: &AddressSum,
        other: &AddressSum,
        observes_other_lanes: bool,
    ) -> bool {
        let [space, other_space] = [address, other].map(|address| space(func, address.root));
        if space != other_space && space != Space::Generic && other_space != Space::Generic {
            return true;
        }
        let objects = [address, other].map(|address| object(func, address.root));
        self.are_distinct(func, objects, observes_other_lanes)
    }

    /// True if two base objects are distinct.
    fn are_distinct(&self, func: &Function, objects: [BaseObject; 2], observes_other_lanes: bool) -> bool {
        let is_hidden = |object: BaseObject| match object {
            BaseObject::Alloca(alloca) => !self.escaped.contains(alloca),
            _ => false,
        };
        let keeps_to_itself = |object: BaseObject| match object {
            BaseObject::Param(param) => match func.value_def(param) {
                ValueDef::Param(index) => {
                    func.signature.params[index as usize].noalias && !observes_other_lanes
                }
                _ => false,
            },
            _ => false,
        };
        match objects {
            [BaseObject::Unknown, other] | [other, BaseObject::Unknown] => is_hidden(other),
            [BaseObject::Alloca(one), BaseObject::Alloca(other)] => one != other,
            [BaseObject::Alloca(_), _] | [_, BaseObject::Alloca(_)] => true,
            [BaseObject::Global(one), BaseObject::Global(other)] => one != other,
            [one, other] => one != other && (keeps_to_itself(one) || keeps_to_itself(other)),
        }
    }
}

/// Returns the number of bytes from an address on that are dereferenceable.
pub(super) fn dereferenceable_bytes(func: &Function, address: &AddressSum) -> u64 {
    let bytes = match func.value_def(address.root) {
        ValueDef::Param(index) => func.signature.params[index as usize].dereferenceable,
        ValueDef::Result(inst, _) => match func.inst(inst).detail {
            Detail::Alloca { bytes, .. } => bytes,
            _ => 0,
        },
        _ => 0,
    };
    let offset = u64::try_from(address.offset).ok().filter(|_| address.terms.is_empty());
    offset.map_or(0, |offset| bytes.saturating_sub(offset))
}

/// True if an address is in memory that each lane has its own copy of.
fn is_private(func: &Function, address: &AddressSum) -> bool {
    space(func, address.root) == Space::Private || matches!(object(func, address.root), BaseObject::Alloca(_))
}

fn space(func: &Function, pointer: Value) -> Space {
    match func.value_type(pointer).scalar() {
        Scalar::Ptr(space) => space,
        _ => Space::Generic,
    }
}

/// Returns the object that a pointer is based on.
fn object(func: &Function, pointer: Value) -> BaseObject {
    let object = underlying_object(func, pointer);
    match func.value_def(object) {
        ValueDef::Param(_) => BaseObject::Param(object),
        ValueDef::Const if matches!(func.constant(object), Some(Constant::Address(..))) => {
            BaseObject::Global(object)
        }
        ValueDef::Result(inst, _) if func.inst(inst).op == Op::Alloca => BaseObject::Alloca(object),
        _ => BaseObject::Unknown,
    }
}

/// True if a fence, or an instruction with unknown effects, may write.
fn writes(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    match data.op.info().effect {
        Effect::Reads | Effect::Synchronizes => false,
        Effect::Callee => func.callee_of(data).is_none_or(|callee| callee.signature.effects.writes),
        _ => true,
    }
}

fn entry(func: &Function, inst: Inst) -> Option<MemoryEntry> {
    let data = func.inst(inst);
    let address = || data.address().map(|pointer| AddressSum::of(func, pointer));
    let effect = match data.op {
        _ if data.is_ordered() => MemoryEffect::Fence,
        Op::Load => {
            let (address, access) = address().zip(data.access())?;
            let ty = func.value_type(func.result(inst)?);
            MemoryEffect::Load { address, ty, align: access.align }
        }
        Op::Store => {
            let value = data.args[0];
            MemoryEffect::Store { address: address()?, ty: func.value_type(value), value }
        }
        Op::Memset | Op::Memcpy | Op::Memmove => {
            let bytes = func.unsigned_constant(data.args[2]).and_then(|bytes| u64::try_from(bytes).ok());
            MemoryEffect::Fill { address: address()?, bytes }
        }
        op => match op.info().effect {
            Effect::Callee => {
                let effects = func.callee_of(data).map(|callee| callee.signature.effects);
                let effects = effects.filter(|_| op == Op::Call);
                match effects {
                    Some(effects) if !effects.writes && !effects.convergent && !effects.endless => {
                        return None;
                    }
                    Some(effects) if !effects.writes && !effects.convergent => MemoryEffect::MayNotReturn,
                    _ => MemoryEffect::Fence,
                }
            }
            Effect::Writes | Effect::ReadsWrites | Effect::Synchronizes => MemoryEffect::Fence,
            _ => return None,
        },
    };
    Some(MemoryEntry { inst, effect })
}

/// Returns the private objects whose addresses escape: they have uses other than plain accesses.
fn escaped(func: &Function, control: &ControlTables) -> EntitySet<Value> {
    let mut object: SecondaryMap<Value, Option<Value>> = SecondaryMap::with_len(func.value_count());
    let mut escaped = EntitySet::new();
    for &block in control.index.order() {
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            for (index, &arg) in data.args.iter().enumerate() {
                let Some(alloca) = object[arg] else { continue };
                let is_followed = match data.op {
                    // Volatile and atomic accesses are fences.
                    _ if data.is_ordered() => false,
                    Op::PtrAdd | Op::SpaceCast | Op::Load | Op::Memset => index == 0,
                    Op::Store => index == 1,
                    Op::Memcpy | Op::Memmove => index < 2,
                    _ => false,
                };
                if !is_followed {
                    escaped.insert(alloca);
                }
            }
            let Some(result) = func.result(inst) else { continue };
            match data.op {
                Op::Alloca => object[result] = Some(result),
                Op::PtrAdd | Op::SpaceCast => object[result] = object[data.args[0]],
                _ => {}
            }
        }
    }
    escaped
}
