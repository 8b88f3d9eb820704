//! Splits copies and fills of constant size into accesses to the elements of private arrays.
//!
//! Fills of a whole array stay: widening has one fill for all lanes, and promotion takes them as definitions of all elements.

use super::uses::{ArrayUses, offset_align, transfer_bytes};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::Access;
use heddle_ir::{Function, Inst, Op, Scalar, Type, Value};

/// Maximum number of element accesses on each side of a copy.
const MAX_PIECES: usize = 64;

/// Splits the copies and fills of arrays with an element size. Returns true if there are any.
pub(super) fn split_transfers(func: &mut Function, uses: &ArrayUses) -> bool {
    let mut changed = false;
    for array in uses.arrays.iter().filter(|array| array.is_tracked && array.element.is_some()) {
        for &inst in &array.transfers {
            // A copy between two arrays is one of both.
            if func.layout.block_of(inst).is_none() {
                continue;
            }
            if let Some(pieces) = pieces_of(func, uses, inst) {
                split(func, uses, inst, &pieces);
                changed = true;
            }
        }
    }
    changed
}

/// Byte offset and size of each element access that replaces a copy or fill; none if it stays.
fn pieces_of(func: &Function, uses: &ArrayUses, inst: Inst) -> Option<Vec<(u64, u32)>> {
    let bytes = transfer_bytes(func, inst)?;
    let data = func.inst(inst);
    let sides = data.accesses().copied().collect::<Vec<_>>();
    if data.op == Op::Memset {
        let (array, ..) = uses.element_array(data.args[0])?;
        if data.args[0] == array.address && bytes == array.bytes {
            return None;
        }
    }
    let mut largest = u32::MAX;
    for (&address, access) in data.args.iter().zip(&sides) {
        if let Some((array, element, offset)) = uses.element_array(address) {
            largest = largest.min(element).min(offset_align(array, offset, access));
        }
    }
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < bytes {
        let mut size = largest.min(8);
        while at % u64::from(size) != 0 || at + u64::from(size) > bytes {
            size /= 2;
        }
        pieces.push((at, size));
        at += u64::from(size);
        if pieces.len() > MAX_PIECES {
            return None;
        }
    }
    Some(pieces)
}

/// Replaces a copy or fill by element accesses. All loads precede all stores.
fn split(func: &mut Function, uses: &ArrayUses, inst: Inst, pieces: &[(u64, u32)]) {
    let data = func.inst(inst).clone();
    let sides = data.accesses().copied().collect::<Vec<_>>();
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    builder.set_origin(data.origin);
    let mut values: Vec<Value> = Vec::with_capacity(pieces.len());
    for &(at, size) in pieces {
        let value = match sides.get(1) {
            Some(from) => {
                let (address, align) = piece(&mut builder, uses, data.args[1], from, at, size);
                let scalar = Scalar::int(8 * size).unwrap_or(Scalar::I8);
                builder.load(scalar.into(), address, align)
            }
            None => repeated_byte(&mut builder, data.args[1], size),
        };
        values.push(value);
    }
    for (&(at, size), value) in pieces.iter().zip(values) {
        let (address, align) = piece(&mut builder, uses, data.args[0], &sides[0], at, size);
        builder.store(value, address, align);
    }
    func.remove_inst(inst);
}

/// Address and alignment of a piece.
fn piece(
    builder: &mut Builder<'_>,
    uses: &ArrayUses,
    address: Value,
    access: &Access,
    at: u64,
    size: u32,
) -> (Value, u32) {
    let align = match uses.element_array(address) {
        Some(_) => size,
        None => access.align.min(1 << at.trailing_zeros().min(30)).min(size),
    };
    if at == 0 {
        return (address, align);
    }
    let offset = builder.int(Scalar::I64, at.into());
    (builder.op(Op::PtrAdd, &[address, offset]), align)
}

/// Integer of `size` bytes, each of which is `byte`.
pub(super) fn repeated_byte(builder: &mut Builder<'_>, byte: Value, size: u32) -> Value {
    let found = builder.func.value_type(byte).scalar();
    let byte = match found.bits() {
        8 => byte,
        bits if bits > 8 => builder.op_to(Op::Trunc, Type::I8, &[byte]),
        _ => builder.op_to(Op::Zext, Type::I8, &[byte]),
    };
    let scalar = Scalar::int(8 * size).unwrap_or(Scalar::I8);
    if scalar == Scalar::I8 {
        return byte;
    }
    let wide = builder.op_to(Op::Zext, scalar.into(), &[byte]);
    let ones = builder.int(scalar, (0x0101_0101_0101_0101u64 & scalar.bit_mask() as u64).into());
    builder.op(Op::Mul, &[wide, ones])
}
