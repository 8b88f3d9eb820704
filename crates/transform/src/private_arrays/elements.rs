//! Rewrites accesses to private arrays whose size is not the array's element size.
//!
//! ```text
//!     v5 = load i8, a+i        v7 = load i32, a + (i & -4);  lshr v7, 8*(i & 3);  trunc
//!     store i8 v5, a+i         the same load, the byte replaced, and a store
//!     v5 = load i64, a+8       two loads, joined
//! ```
//!
//! A store of a part loads its element, so one byte that is poison would spoil its neighbours: arrays that are accessed in several
//! sizes start with a frozen value, and stored values are frozen.

use super::uses::{ArrayInfo, ArrayOffset, ArrayUses, accessed_bytes, transfer_bytes};
use crate::cfg_analyses::CfgAnalyses;
use crate::edges::{prepend_phi, set_incoming};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::inst::Access;
use heddle_ir::{Detail, Function, Inst, InstData, Op, Scalar, Type, Value};

/// Maximum number of instructions between an `alloca` and its first fill.
const MAX_STEPS: usize = 4;

/// Rewrites the accesses of arrays with an element size. Returns true if anything changed.
pub(super) fn rewrite_accesses(func: &mut Function, uses: &ArrayUses) -> bool {
    let mut changed = false;
    let mut order = None;
    let mut replaced: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    for array in uses.arrays.iter().filter(|array| array.is_tracked) {
        let Some(element) = array.element else { continue };
        align_elements(func, uses, array, element);
        let is_other = |&inst: &Inst| accessed_bytes(func, inst) != Some(element);
        let others: Vec<Inst> = array.accesses.iter().copied().filter(is_other).collect();
        let is_fill = |&inst: &Inst| is_whole_fill(func, array, inst);
        if others.is_empty() || !array.transfers.iter().all(is_fill) {
            continue;
        }
        let order = order.get_or_insert_with(|| {
            let flow = CfgAnalyses::new(func);
            flow.dominator_preorder(func)
        });
        let offsets = offset_values(func, uses, array, order);
        freeze_contents(func, array);
        for inst in others {
            let address = func.inst(inst).args[usize::from(func.inst(inst).op == Op::Store)];
            let Some(offset) = offsets[address] else { continue };
            let size = accessed_bytes(func, inst).unwrap_or(element);
            let value = match size < element {
                true => access_part(func, array, inst, offset, element),
                false => access_several(func, inst, address, element, size),
            };
            if let Some(result) = func.result(inst) {
                replaced[result] = value;
            }
            func.remove_inst(inst);
        }
        changed = true;
    }
    if changed {
        replace_values(func, &replaced);
    }
    changed
}

/// Replaces values, which may be replaced by others in turn.
fn replace_values(func: &mut Function, replaced: &SecondaryMap<Value, Option<Value>>) {
    func.map_values(|mut value| {
        while let Some(next) = replaced[value] {
            value = next;
        }
        value
    });
}

/// True for a fill of all of an array.
pub(super) fn is_whole_fill(func: &Function, array: &ArrayInfo, inst: Inst) -> bool {
    let data = func.inst(inst);
    data.op == Op::Memset && data.args[0] == array.address && transfer_bytes(func, inst) == Some(array.bytes)
}

/// Aligns an array and its accesses to its elements.
fn align_elements(func: &mut Function, uses: &ArrayUses, array: &ArrayInfo, element: u32) {
    if let Detail::Alloca { align, .. } = &mut func.inst_mut(array.alloca).detail {
        *align = (*align).max(element);
    }
    for &inst in &array.accesses {
        let address = func.inst(inst).args[usize::from(func.inst(inst).op == Op::Store)];
        let is_constant = matches!(uses.element_array(address), Some((_, _, ArrayOffset::Constant(at))) if at % i64::from(element) == 0);
        if let (Detail::Access(access), true) = (&mut func.inst_mut(inst).detail, is_constant) {
            access.align = access.align.max(element);
        }
    }
}

/// Offset of each address of an array, as a 64-bit value. `order` holds the reachable blocks, dominators first.
fn offset_values(
    func: &mut Function,
    uses: &ArrayUses,
    array: &ArrayInfo,
    order: &[heddle_ir::Block],
) -> SecondaryMap<Value, Option<Value>> {
    let mut offsets: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    let mut phis: Vec<(Inst, Inst)> = Vec::new();
    for &address in &array.addresses {
        if let Some((_, _, ArrayOffset::Constant(at))) = uses.element_array(address) {
            offsets[address] = Some(func.make_int(Scalar::I64, at.into()));
            continue;
        }
        let Some(inst) = func.def_inst(address).filter(|&inst| func.inst(inst).op == Op::Phi) else {
            continue;
        };
        let Some(block) = func.layout.block_of(inst) else { continue };
        let offset = prepend_phi(func, block, InstData::phi([], None), Type::I64);
        offsets[address] = Some(offset);
        phis.extend(func.def_inst(offset).map(|own| (inst, own)));
    }
    for &block in order {
        let insts: Vec<Inst> = func.block_insts(block).collect();
        for inst in insts {
            let Some(address) = func.result(inst).filter(|&it| is_open(uses, array, &offsets, it)) else {
                continue;
            };
            let data = func.inst(inst).clone();
            let mut builder = Builder::new(func, InsertPoint::After(inst));
            let offset = match (data.op, data.args.get(1)) {
                (Op::PtrAdd, Some(&more)) => offsets[data.args[0]].map(|before| {
                    let more = wide_offset(&mut builder, more);
                    builder.op(Op::Add, &[before, more])
                }),
                (Op::SpaceCast, _) => offsets[data.args[0]],
                (Op::Freeze, _) => offsets[data.args[0]].map(|it| builder.op(Op::Freeze, &[it])),
                (Op::Select, _) => match (offsets[data.args[1]], offsets[data.args[2]]) {
                    (Some(a), Some(b)) => Some(builder.select(data.args[0], a, b)),
                    _ => None,
                },
                _ => None,
            };
            offsets[address] = offset;
        }
    }
    for (pointers, own) in phis {
        let incoming: Vec<_> = func.inst(pointers).incoming().collect();
        let zero = func.make_int(Scalar::I64, 0);
        // Addresses of unreachable blocks have no offset.
        set_incoming(func, own, incoming.into_iter().map(|(from, it)| (from, offsets[it].unwrap_or(zero))));
    }
    offsets
}

/// True for an address of the array whose offset is still to be computed.
fn is_open(
    uses: &ArrayUses,
    array: &ArrayInfo,
    offsets: &SecondaryMap<Value, Option<Value>>,
    address: Value,
) -> bool {
    let is_own = uses.element_array(address).is_some_and(|(other, ..)| other.alloca == array.alloca);
    is_own && offsets[address].is_none()
}

/// Signed offset in 64 bits.
fn wide_offset(builder: &mut Builder<'_>, offset: Value) -> Value {
    if let Some(number) = builder.func.i64_constant(offset) {
        return builder.int(Scalar::I64, number.into());
    }
    match builder.func.value_type(offset).scalar().bits() {
        64 => offset,
        bits if bits < 64 => builder.op_to(Op::Sext, Type::I64, &[offset]),
        _ => builder.op_to(Op::Trunc, Type::I64, &[offset]),
    }
}

/// Freezes the initial content of an array, and all values that are stored to it.
fn freeze_contents(func: &mut Function, array: &ArrayInfo) {
    for &inst in array.accesses.iter().chain(&array.transfers) {
        let data = func.inst(inst);
        let at = match data.op {
            Op::Store => 0,
            Op::Memset => 1,
            _ => continue,
        };
        let stored = data.args[at];
        if is_defined(func, stored) {
            continue;
        }
        let frozen = Builder::new(func, InsertPoint::Before(inst)).op(Op::Freeze, &[stored]);
        func.inst_mut(inst).args[at] = frozen;
    }
    let mut next = func.layout.next_inst(array.alloca);
    for _ in 0..MAX_STEPS {
        let Some(inst) = next else { break };
        if is_whole_fill(func, array, inst) {
            return;
        }
        if func.inst(inst).args.contains(&array.address) {
            break;
        }
        next = func.layout.next_inst(inst);
    }
    let mut builder = Builder::new(func, InsertPoint::After(array.alloca));
    let poison = builder.func.make_poison(Type::I8);
    let byte = builder.op(Op::Freeze, &[poison]);
    let bytes = builder.int(Scalar::I64, array.bytes.into());
    let access = Detail::Access(Access::aligned(array.align));
    builder.inst(InstData::new(Op::Memset, [array.address, byte, bytes], access), None);
}

/// True if a value is never poison: a number, or frozen.
fn is_defined(func: &Function, value: Value) -> bool {
    let is_frozen = func.def_inst(value).is_some_and(|inst| func.inst(inst).op == Op::Freeze);
    is_frozen || matches!(func.constant(value), Some(heddle_ir::Constant::Scalar(..)))
}

/// Emits an access to a part of an element; returns the loaded value.
fn access_part(
    func: &mut Function,
    array: &ArrayInfo,
    inst: Inst,
    offset: Value,
    element: u32,
) -> Option<Value> {
    let data = func.inst(inst).clone();
    let scalar = Scalar::int(8 * element).unwrap_or(Scalar::I64);
    let is_load = data.op == Op::Load;
    let accessed = if is_load { func.result(inst) } else { Some(data.args[0]) };
    let ty = func.value_type(accessed?);
    let bits = 8 * ty.bytes();
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    builder.set_origin(data.origin);
    // The shift depends on the lowest bits of the offset, the address on all others.
    let (start, shift) = match builder.func.i64_constant(offset) {
        Some(at) => {
            let low = at & i64::from(element - 1);
            (builder.int(Scalar::I64, (at - low).into()), builder.int(scalar, (8 * low).into()))
        }
        None => {
            let high = builder.int(Scalar::I64, -i128::from(element));
            let start = builder.op(Op::And, &[offset, high]);
            let ones = builder.int(Scalar::I64, (element - 1).into());
            let low = builder.op(Op::And, &[offset, ones]);
            let low =
                if scalar == Scalar::I64 { low } else { builder.op_to(Op::Trunc, scalar.into(), &[low]) };
            let three = builder.int(scalar, 3);
            (start, builder.op(Op::Shl, &[low, three]))
        }
    };
    let address = builder.op(Op::PtrAdd, &[array.address, start]);
    let word = builder.load(scalar.into(), address, element);
    if is_load {
        let shifted = builder.op(Op::Lshr, &[word, shift]);
        return Some(from_bits(&mut builder, shifted, ty));
    }
    let part = to_bits(&mut builder, data.args[0], ty);
    let part = builder.op_to(Op::Zext, scalar.into(), &[part]);
    let part = builder.op(Op::Shl, &[part, shift]);
    let ones = builder.int(scalar, (1i128 << bits) - 1);
    let covered = builder.op(Op::Shl, &[ones, shift]);
    let all = builder.int(scalar, -1);
    let kept = builder.op(Op::Xor, &[covered, all]);
    let kept = builder.op(Op::And, &[word, kept]);
    let merged = builder.op(Op::Or, &[kept, part]);
    builder.store(merged, address, element);
    None
}

/// Emits an integer access to several elements; returns the loaded value.
fn access_several(func: &mut Function, inst: Inst, address: Value, element: u32, size: u32) -> Option<Value> {
    let data = func.inst(inst).clone();
    let part = Scalar::int(8 * element).unwrap_or(Scalar::I8);
    let whole = Scalar::int(8 * size).unwrap_or(Scalar::I64);
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    builder.set_origin(data.origin);
    let mut joined: Option<Value> = None;
    for at in (0..size).step_by(element as usize) {
        let distance = builder.int(Scalar::I64, at.into());
        let shift = builder.int(whole, (8 * at).into());
        let address = if at == 0 { address } else { builder.op(Op::PtrAdd, &[address, distance]) };
        if data.op == Op::Store {
            let shifted = builder.op(Op::Lshr, &[data.args[0], shift]);
            let value = builder.op_to(Op::Trunc, part.into(), &[shifted]);
            builder.store(value, address, element);
            continue;
        }
        let loaded = builder.load(part.into(), address, element);
        let wide = builder.op_to(Op::Zext, whole.into(), &[loaded]);
        let placed = builder.op(Op::Shl, &[wide, shift]);
        joined = Some(match joined {
            Some(before) => builder.op(Op::Or, &[before, placed]),
            None => placed,
        });
    }
    joined
}

/// Value of this type in the lowest bits of an integer.
fn from_bits(builder: &mut Builder<'_>, word: Value, ty: Type) -> Value {
    let bits = Scalar::int(8 * ty.bytes()).unwrap_or(Scalar::I8);
    match ty.scalar() {
        Scalar::I1 => builder.op_to(Op::Trunc, Type::I1, &[word]),
        scalar if scalar == bits => builder.op_to(Op::Trunc, ty, &[word]),
        _ => {
            let cut = builder.op_to(Op::Trunc, bits.into(), &[word]);
            builder.op_to(Op::Bitcast, ty, &[cut])
        }
    }
}

/// Bits of a value as an integer of its size.
fn to_bits(builder: &mut Builder<'_>, value: Value, ty: Type) -> Value {
    let bits = Scalar::int(8 * ty.bytes()).unwrap_or(Scalar::I8);
    match ty.scalar() {
        Scalar::I1 => builder.op_to(Op::Zext, Type::I8, &[value]),
        scalar if scalar == bits => value,
        _ => builder.op_to(Op::Bitcast, bits.into(), &[value]),
    }
}
