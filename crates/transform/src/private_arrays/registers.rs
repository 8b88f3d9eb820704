//! Promotes private arrays that are accessed at constant offsets only to a value for each element.
//!
//! Each element is a variable of an [`SsaBuilder`]. An element that is loaded before anything is stored is poison, as in memory.

use super::elements::is_whole_fill;
use super::transfers;
use super::uses::{ArrayInfo, ArrayOffset, ArrayUses, accessed_bytes};
use crate::ssa_builder::{SsaBuilder, SsaVariable};
use heddle_analysis::{Cfg, DepthFirstOrder};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::function::RegisterArray;
use heddle_ir::{Function, Inst, Op, Scalar, Type, Value};

/// Maximum number of elements of a promoted array.
const MAX_ELEMENTS: u64 = 64;
/// Maximum number of promoted elements of all arrays, times the number of blocks.
const MAX_WORK: usize = 1 << 22;

/// Promoted elements of a function.
#[derive(Default)]
struct PromotedElements {
    /// Type of each element's value.
    types: Vec<Type>,
    /// Loads and stores, with their element.
    element_of: SecondaryMap<Inst, Option<u32>>,
    /// Fills and `alloca`s, which make a new object, with their first element and the number of elements.
    fills: SecondaryMap<Inst, Option<(u32, u32)>>,
}

/// Promotes all arrays that can be; returns their number.
pub(super) fn promote_arrays(func: &mut Function) -> usize {
    let uses = ArrayUses::new(func);
    let cfg = Cfg::new(func);
    // No φ can stand in the entry.
    if !cfg.preds(func.entry()).is_empty() {
        return 0;
    }
    let mut elements = PromotedElements::default();
    let (mut promoted, mut arrays) = (0, Vec::new());
    for array in &uses.arrays {
        let room = MAX_WORK / func.block_count().max(1);
        if let Some(types) = element_types(func, &cfg, &uses, array)
            && elements.types.len() + types.len() <= room
        {
            elements.add(func, &uses, array, types);
            promoted += 1;
            arrays.extend(func.name_of(array.address).map(|name| RegisterArray {
                name: name.into(),
                loc: func.loc(array.alloca),
                bytes: array.bytes,
            }));
        }
    }
    func.register_arrays.extend(arrays);
    if promoted > 0 {
        rename(func, &cfg, &elements);
    }
    promoted
}

/// Types of an array's elements; none if it cannot be promoted.
fn element_types(func: &Function, cfg: &Cfg, uses: &ArrayUses, array: &ArrayInfo) -> Option<Vec<Type>> {
    let element = array.element.filter(|_| array.is_tracked)?;
    let count = array.bytes / u64::from(element);
    if count > MAX_ELEMENTS {
        return None;
    }
    let is_reached = |inst: Inst| {
        func.layout
            .block_of(inst)
            .is_some_and(|block| cfg.is_reachable(block) && func.predicate(block).is_none())
    };
    let mut types: Vec<Option<Type>> = vec![None; count as usize];
    for &inst in &array.accesses {
        let index = element_index(func, uses, inst, element)?;
        let data = func.inst(inst);
        let accessed = if data.op == Op::Load { func.result(inst)? } else { data.args[0] };
        let (ty, slot) = (func.value_type(accessed), types.get_mut(index)?);
        let merged = match *slot {
            None => ty,
            Some(other) if other == ty => ty,
            Some(other) => common_type(other, ty)?,
        };
        *slot = Some(merged);
        if accessed_bytes(func, inst) != Some(element) || !is_reached(inst) {
            return None;
        }
    }
    let is_fill = |&inst: &Inst| is_whole_fill(func, array, inst) && is_reached(inst);
    if !array.transfers.iter().all(is_fill) {
        return None;
    }
    let unused = Type::Scalar(Scalar::int(8 * element)?);
    // Booleans and pointers are no repeated bytes.
    let has_fills = !array.transfers.is_empty();
    let types: Vec<Type> = types.into_iter().map(|ty| ty.unwrap_or(unused)).collect();
    let is_number = |ty: &Type| ty.scalar() != Scalar::I1 && !ty.scalar().is_ptr();
    (!has_fills || types.iter().all(is_number)).then_some(types)
}

/// Integer type that has the bits of both types.
fn common_type(a: Type, b: Type) -> Option<Type> {
    let is_number = |ty: Type| ty.scalar() != Scalar::I1 && !ty.scalar().is_ptr();
    let scalar = Scalar::int(8 * a.bytes()).filter(|_| is_number(a) && is_number(b))?;
    Some(scalar.into())
}

/// Number of the element that a load or store accesses at a constant offset.
fn element_index(func: &Function, uses: &ArrayUses, inst: Inst, element: u32) -> Option<usize> {
    let data = func.inst(inst);
    let address = data.args[usize::from(data.op == Op::Store)];
    let (_, _, ArrayOffset::Constant(at)) = uses.element_array(address)? else { return None };
    let at = u64::try_from(at).ok()?;
    at.is_multiple_of(element.into()).then_some((at / u64::from(element)) as usize)
}

impl PromotedElements {
    fn add(&mut self, func: &Function, uses: &ArrayUses, array: &ArrayInfo, types: Vec<Type>) {
        let first = self.types.len() as u32;
        let element = array.element.unwrap_or(1);
        for &inst in &array.accesses {
            self.element_of[inst] =
                element_index(func, uses, inst, element).map(|index| first + index as u32);
        }
        for &inst in array.transfers.iter().chain([&array.alloca]) {
            self.fills[inst] = Some((first, types.len() as u32));
        }
        self.types.extend(types);
    }
}

/// Replaces loads by the values of elements, and removes stores and fills.
fn rename(func: &mut Function, cfg: &Cfg, elements: &PromotedElements) {
    let mut ssa = SsaBuilder::new(cfg);
    let variables: Vec<SsaVariable> = elements.types.iter().map(|&ty| ssa.declare_var(ty)).collect();
    for block in DepthFirstOrder::new(cfg).reverse_post_order() {
        let insts: Vec<Inst> = func.block_insts(block).collect();
        for inst in insts {
            if let Some((first, count)) = elements.fills[inst] {
                let fill = Some(func.inst(inst).clone()).filter(|fill| fill.op != Op::Alloca);
                let mut last: Option<(Type, Value)> = None;
                for element in (first..first + count).map(|element| element as usize) {
                    let ty = elements.types[element];
                    let value = match (last, &fill) {
                        (Some((other, value)), _) if other == ty => value,
                        (_, Some(fill)) => fill_value(func, inst, fill.args[1], ty),
                        (_, None) => func.make_poison(ty),
                    };
                    last = Some((ty, value));
                    ssa.def_var(block, variables[element], value);
                }
                if fill.is_some() {
                    func.remove_inst(inst);
                }
                continue;
            }
            let Some(element) = elements.element_of[inst].map(|element| element as usize) else { continue };
            let (variable, ty) = (variables[element], elements.types[element]);
            let data = func.inst(inst).clone();
            if data.op == Op::Store {
                let value = cast(func, inst, data.args[0], ty);
                ssa.def_var(block, variable, value);
                func.remove_inst(inst);
            } else if let Some(result) = func.result(inst) {
                let value = ssa.use_var(func, block, variable);
                let value = cast(func, inst, value, func.value_type(result));
                ssa.replace(result, value);
                func.remove_inst(inst);
            }
        }
        ssa.fill_block(func, block);
    }
    ssa.finish(func);
}

/// Value of an element whose bytes are all the same.
fn fill_value(func: &mut Function, inst: Inst, byte: Value, ty: Type) -> Value {
    let mut builder = Builder::new(func, InsertPoint::Before(inst));
    let bits = transfers::repeated_byte(&mut builder, byte, ty.bytes());
    cast(func, inst, bits, ty)
}

/// Value with the same bits in another type, computed before an instruction.
fn cast(func: &mut Function, before: Inst, value: Value, ty: Type) -> Value {
    if func.value_type(value) == ty {
        return value;
    }
    Builder::new(func, InsertPoint::Before(before)).op_to(Op::Bitcast, ty, &[value])
}
